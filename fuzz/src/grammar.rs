//! Times and durations, whatever the text.
//!
//! Holds: a text is a time, or it is none, in every unit that plain numbers may have; printed, a time
//! reads as itself, and so does a duration; white space around them says nothing; a minus before a
//! duration makes it one that is less than nothing.

use herdscope::ingest::time::{Told, Unit, parse_duration, parse_time, print_duration, print_time};

const UNITS: [Unit; 4] = [Unit::Ns, Unit::Us, Unit::Ms, Unit::S];

/// Panics where it does not hold.
pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let padded = format!(" {text}\t");
    for unit in [None].into_iter().chain(UNITS.map(Some)) {
        let time = parse_time(&text, unit);
        assert_eq!(parse_time(&padded, unit), time, "{text:?}");
        if let Some(time) = time {
            let printed = print_time(time.ns);
            let again = parse_time(&printed, unit).map(|it| (it.ns, it.zoned));
            assert_eq!(again, Some((time.ns, true)), "{text:?}, printed {printed}");
        }
    }
    for (unit, comma) in UNITS.into_iter().flat_map(|it| [(it, false), (it, true)]) {
        let told = parse_duration(&text, unit, comma);
        assert_eq!(parse_duration(&padded, unit, comma), told, "{text:?}");
        if let Told::Ns(ns) = told {
            let printed = print_duration(ns);
            let again = parse_duration(&printed, unit, comma);
            assert_eq!(again, told, "{text:?}, printed {printed}");
            if text.starts_with(|it: char| it.is_ascii_digit()) {
                let below = parse_duration(&format!("-{text}"), unit, comma);
                let wanted = if ns > 0 { Told::Negative } else { Told::Ns(0) };
                assert_eq!(below, wanted, "{text:?}");
            }
        }
    }
}

/// Every shape that is read, and some that nearly are.
pub fn seeds() -> Vec<Vec<u8>> {
    crate::owned(&[
        "2026-01-05T10:00:00.000000001Z",
        "2026-01-05 10:00:00,5 UTC",
        "2026-01-05T04:30:00.0-0530",
        "2026-01-05 10:00:00 +0000 UTC",
        "2262-04-11T23:47:16.854775807Z",
        "1677-09-21T00:12:43.145224192Z",
        "1969-12-31T23:59:60+18:00",
        "1767607200000000000",
        "1.7676072E+12",
        "-99999999999999999999999e-3",
        "1/5/2026, 10:00:00.000 AM",
        "29/3/2026 1:00 pm",
        "Jan 5, 2026 @ 10:00:00.000",
        "5.1.2026 10:00",
        "2026/01/05 10:00:00",
        "27.9964ms",
        "1,304.44ms",
        "1m 2.5s",
        "850.4\u{b5}s",
        "2h 3min 4sec 5us 6ns",
        "PT1.5S",
        "P1W2DT3H4M5S",
        "1.02:03:04.567",
        "59:59",
        "18446744073709551615",
        "+0.000000000000000000000000000000000000001e999",
        "-",
    ])
}
