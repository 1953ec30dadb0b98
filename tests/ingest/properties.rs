//! What holds for any bytes.

use std::io::Write as _;

use herdscope::ingest::Limits;
use herdscope::ingest::time::{Told, Unit, parse_duration, parse_time, print_duration, print_time};
use proptest::prelude::*;

use crate::support::{files, fixtures, print, read, read_with};

fn shown(bytes: &[u8], limits: Limits, piece: usize) -> String {
    let mut reader = herdscope::ingest::Reader::new(limits);
    for piece in bytes.chunks(piece) {
        if let Err(why) = reader.push(piece) {
            return why.to_string();
        }
    }
    match reader.finish() {
        Ok(reading) => print(&reading),
        Err(why) => why.to_string(),
    }
}

/// What a reader minds.
const SCRAPS: &[&[u8]] = &[
    b"trace_id,span_id,start_ms,duration_ms,attributes\n",
    b"Timestamp,TraceId,SpanId,SpanName,Duration\n",
    b"\"t\",\"s\",1767607200123,5,{'a':'b'}\n",
    b"2026-01-05 10:00:00.5,t,s,n,7\n",
    b"t,s,1767607200123,1,304.44ms,x\n",
    b"\xEF\xBB\xBF",
    b"\xFF\xFE",
    b"sep=;\n",
    b"\"",
    b"\\\"",
    b"\"\"",
    b",",
    b";",
    b"\r",
    b"\n",
    b"\0",
    b"\xE9",
    b"{\"k8s.pod.name\":",
    b"[object Object]",
    b"1e30",
    b"1.2E+31",
    b"-1",
    b"'=x",
    b"3/29/2026, 1:00:45.020 AM",
    b"3/4/2026 10:00:00.5,t,s,n,7\n",
    b"29/3/2026 10:00:00.5 +02:00,t,s,n,7\n",
    b"\x1F\x8B\x08",
];

/// Pieces of text that a reader minds, in any order.
fn scraps() -> impl Strategy<Value = Vec<u8>> {
    let scrap = prop::sample::select(SCRAPS);
    prop::collection::vec(scrap, 0..40).prop_map(|it| it.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_gives_the_same(bytes in scraps(), piece in 1usize..40) {
        for limits in [Limits::TIGHT, Limits::default()] {
            let whole = shown(&bytes, limits, bytes.len().max(1));
            prop_assert_eq!(&shown(&bytes, limits, piece), &whole);
            prop_assert_eq!(&shown(&bytes, limits, 1), &whole);
        }
    }

    #[test]
    fn any_split_of_gz_gives_the_same(bytes in scraps(), piece in 1usize..40) {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&bytes).unwrap();
        let gz = gz.finish().unwrap();
        let plain = shown(&bytes, Limits::default(), bytes.len().max(1));
        // A gz in a gz is not opened again.
        prop_assume!(!bytes.starts_with(b"\x1F\x8B\x08"));
        prop_assert_eq!(&shown(&gz, Limits::default(), piece), &plain);
        prop_assert_eq!(&shown(&gz, Limits::default(), gz.len()), &plain);
    }

    #[test]
    fn any_bytes_give_a_reading_or_a_refusal(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = read_with(&bytes, Limits::TIGHT, 13).map(|it| print(&it));
    }

    #[test]
    fn any_row_after_a_header_is_survived(row in "[ -~\u{80}-\u{ff}\n\"]{0,200}") {
        let header = "Timestamp,TraceId,SpanId,SpanName,SpanAttributes,Duration\n";
        let csv = format!("{header}{row}");
        prop_assert!(read(csv.as_bytes()).is_ok());
    }

    #[test]
    fn times_are_printed_as_they_are_read(ns in any::<i64>()) {
        let text = print_time(ns);
        // Of the 20-digit range of i64, all but the years before 1970 that it cannot reach.
        prop_assert_eq!(parse_time(&text, None).map(|it| it.ns), Some(ns), "{}", text);
        let number = ns.to_string();
        prop_assert_eq!(parse_time(&number, Some(Unit::Ns)).map(|it| it.ns), Some(ns).filter(|it| *it != i64::MIN));
    }

    #[test]
    fn durations_are_printed_as_they_are_read(ns in 0u64..u64::MAX) {
        prop_assert_eq!(parse_duration(&print_duration(ns), Unit::Ms, false), Told::Ns(ns));
        prop_assert_eq!(parse_duration(&ns.to_string(), Unit::Ns, false), Told::Ns(ns));
    }

    #[test]
    fn any_text_is_a_time_or_none(text in "\\PC{0,40}", comma in any::<bool>()) {
        let _ = parse_time(&text, None);
        let _ = parse_duration(&text, Unit::S, comma);
    }

    #[test]
    fn any_digits_are_a_time_or_none(text in "[-+0-9.,:eETZ PmsuhD/@]{0,30}", comma in any::<bool>()) {
        let _ = parse_time(&text, None);
        let _ = parse_duration(&text, Unit::S, comma);
    }
}

#[test]
fn half_a_pair_of_utf16_is_noted_at_the_same_place_in_any_pieces() {
    let row = "a,b,1767607200123,5\n";
    let text = format!("trace_id,span_id,start_ms,duration_ms\na,b\n{row}{row}a,?{row}");
    let mut units: Vec<u16> = text.encode_utf16().collect();
    let at = units.iter().position(|&it| it == u16::from(b'?')).unwrap();
    units[at] = 0xD800;
    let bytes: Vec<u8> = units.iter().flat_map(|it| it.to_le_bytes()).collect();
    let whole = shown(&bytes, Limits::TIGHT, bytes.len());
    assert!(
        whole.contains("row_short") && whole.contains("encoding"),
        "{whole}"
    );
    for piece in 1..bytes.len() {
        assert_eq!(
            shown(&bytes, Limits::TIGHT, piece),
            whole,
            "in pieces of {piece}"
        );
    }
}

#[test]
fn fixtures_read_the_same_in_any_pieces() {
    let all = [
        files(fixtures(), "csv"),
        files(fixtures().join("edge"), "csv"),
        files(fixtures(), "json"),
    ]
    .concat();
    assert!(all.len() > 40);
    for file in all {
        let bytes = std::fs::read(&file).unwrap();
        let limits = Limits {
            sniffed: 2_000,
            ..Limits::default()
        };
        let whole = shown(&bytes, limits, bytes.len().max(1));
        for piece in [1, 2, 3, 7, 64, 1_000] {
            assert_eq!(
                shown(&bytes, limits, piece),
                whole,
                "{file:?} in pieces of {piece}"
            );
        }
    }
}
