//! Numbers as a person reads them: durations, times of day, counts, sizes.
//!
//! Invariant: what is printed is rounded, never cut, and a unit is always there. Times are UTC.
//! Fractions go through [`fixed`]. Constant time. Pinned by the tables in the tests.

const US: u64 = 1_000;
const MS: u64 = 1_000 * US;
const S: u64 = 1_000 * MS;
const DAY_S: i64 = 86_400;

/// A duration in nanoseconds, to three or four digits: `480 ns`, `52 ms`, `1.000 s`, `10 min 00 s`.
pub fn duration(ns: u64) -> String {
    match ns {
        0..US => format!("{ns} ns"),
        US..MS => scaled(ns, US, "µs"),
        MS..S => scaled(ns, MS, "ms"),
        _ if ns < 60 * S - 5 * MS => {
            let decimals = if ns < 10 * S { 3 } else { 2 };
            format!("{} s", decimal(ns, S, decimals))
        }
        _ => long(ns.saturating_add(S / 2) / S),
    }
}

/// Whole seconds of a minute and more: `10 min 00 s`, `2 h 05 min`, `3 d 04 h`.
fn long(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match () {
        () if hours == 0 => format!("{minutes} min {:02} s", seconds % 60),
        () if days == 0 => format!("{hours} h {:02} min", minutes % 60),
        () => format!("{days} d {:02} h", hours % 24),
    }
}

/// Three digits of `ns` in a unit that it has less than a thousand of.
fn scaled(ns: u64, unit: u64, name: &str) -> String {
    let decimals = match ns / unit {
        0..10 => 2,
        10..100 => 1,
        _ => 0,
    };
    let text = decimal(ns, unit, decimals);
    format!("{} {name}", shortened(&text))
}

/// Without the zeros at its end that say nothing.
fn shortened(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

/// `value / unit` with that many decimals, rounded to the nearest.
fn decimal(value: u64, unit: u64, decimals: u32) -> String {
    let parts = 10u64.pow(decimals);
    let rest = (value % unit * parts + unit / 2) / unit;
    pointed(value / unit * parts + rest, decimals)
}

/// A number with that many decimals, rounded to the nearest: `-0.5`, `12`.
pub fn fixed(value: f64, decimals: u32) -> String {
    let scaled = (value.abs() * f64::from(10u32.pow(decimals))).round() as u64;
    let sign = if value < 0.0 && scaled > 0 { "-" } else { "" };
    format!("{sign}{}", pointed(scaled, decimals))
}

/// A count of the smallest decimals, with its point.
fn pointed(scaled: u64, decimals: u32) -> String {
    let parts = 10u64.pow(decimals);
    match decimals {
        0 => scaled.to_string(),
        _ => format!(
            "{}.{:0width$}",
            scaled / parts,
            scaled % parts,
            width = decimals as usize
        ),
    }
}

/// Millionths as a share of a hundred: `50 %`, `33.3 %`.
pub fn percent(millionths: u32) -> String {
    format!("{} %", shortened(&decimal(millionths.into(), 10_000, 4)))
}

/// The decimals of a second that times need so that a thousandth of this width can be told apart.
pub fn decimals_for(width_ns: i64) -> u32 {
    let step = (width_ns / 1000).max(1) as u64;
    match step {
        _ if step >= S => 0,
        _ if step >= MS => 3,
        _ if step >= US => 6,
        _ => 9,
    }
}

/// The time of day in UTC: `08:14:02.100`.
pub fn time_of_day(ns: i64, decimals: u32) -> String {
    let (_, of_day) = day_and_rest(rounded(ns, decimals));
    let (seconds, rest) = (of_day / S as i64, of_day % S as i64);
    let clock = format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    match decimals {
        0 => clock,
        _ => {
            let rest = rest / 10i64.pow(9 - decimals.min(9));
            format!("{clock}.{rest:0width$}", width = decimals.min(9) as usize)
        }
    }
}

/// The day in UTC: `2026-09-26`.
pub fn date(ns: i64) -> String {
    let (day, _) = day_and_rest(ns);
    let (year, month, day) = civil(day);
    format!("{year:04}-{month:02}-{day:02}")
}

/// From one time to another: the second one has its day only where it is another one.
pub fn time_range(from: i64, to: i64) -> String {
    let decimals = decimals_for(to.saturating_sub(from));
    // Rounded before it is split, lest the half second before midnight shows the wrong day.
    let (from, to) = (rounded(from, decimals), rounded(to, decimals));
    let (first, last) = (date(from), date(to));
    let (from, to) = (time_of_day(from, decimals), time_of_day(to, decimals));
    if first == last {
        format!("{first} {from} \u{2013} {to} UTC")
    } else {
        format!("{first} {from} \u{2013} {last} {to} UTC")
    }
}

fn rounded(ns: i64, decimals: u32) -> i64 {
    let unit = 10i64.pow(9 - decimals.min(9));
    ns.saturating_add(unit / 2).div_euclid(unit) * unit
}

fn day_and_rest(ns: i64) -> (i64, i64) {
    let day_ns = DAY_S * S as i64;
    (ns.div_euclid(day_ns), ns.rem_euclid(day_ns))
}

/// Days since 1970 as year, month and day (after Howard Hinnant's `civil_from_days`).
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// A rate: `240/s`, `2.5/s`, `18/min`.
pub fn rate(per_second: f64) -> String {
    match per_second {
        10.0.. => format!("{}/s", count(per_second.round() as u64)),
        1.0.. => format!("{}/s", fixed(per_second, 1)),
        _ => format!("{}/min", fixed(per_second * 60.0, 1)),
    }
}

/// A text that may come from a file, safe on a terminal and in a picture: control characters, which
/// would be obeyed or refused there, are replaced.
pub fn printable(text: &str) -> String {
    let safe = |c: char| {
        if c.is_control() && c != '\n' {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        }
    };
    text.chars().map(safe).collect()
}

/// A count in groups of three: `72,165`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count and what is counted: `1 trace`, `72,165 spans`.
pub fn counted(n: u64, one: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {one}{s}", count(n))
}

/// A size: `812 B`, `13.1 MB`. Decimal units, as file managers have them.
pub fn bytes(n: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    for (unit, name) in UNITS {
        if n >= unit {
            return format!("{} {name}", decimal(n, unit, 1));
        }
    }
    format!("{n} B")
}

/// Bytes in a time, as `MB/s`.
pub fn speed(bytes: u64, elapsed_ms: f64) -> String {
    let rate = bytes as f64 / 1000.0 / elapsed_ms.max(1.0);
    let decimals = if rate < 10.0 { 1 } else { 0 };
    format!("{} MB/s", fixed(rate, decimals))
}

/// A share of a whole: `95 %`, `6.1 %`, `0 %`; never a rounded-off `0 %` or `100 %`.
pub fn share(part: u64, whole: u64) -> String {
    let percent = part as f64 * 100.0 / whole.max(1) as f64;
    match () {
        () if part == 0 => "0 %".to_owned(),
        () if part == whole => "100 %".to_owned(),
        () if percent < 0.1 => "< 0.1 %".to_owned(),
        () if percent > 99.9 => "> 99.9 %".to_owned(),
        () if (10.0..99.0).contains(&percent) => format!("{} %", fixed(percent, 0)),
        () => format!("{} %", fixed(percent, 1)),
    }
}

/// How many times larger: `×34`, `×1.6`.
pub fn times(factor: f64) -> String {
    let decimals = if factor < 9.95 { 1 } else { 0 };
    format!("×{}", fixed(factor, decimals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions() {
        let cases = [
            (0.0, 0, "0"),
            (0.04, 1, "0.0"),
            (-0.04, 1, "0.0"),
            (-0.05, 1, "-0.1"),
            (9.96, 1, "10.0"),
            (1234.5678, 3, "1234.568"),
            (2.5e12, 0, "2500000000000"),
            (f64::NAN, 1, "0.0"),
        ];
        for (value, decimals, expected) in cases {
            assert_eq!(fixed(value, decimals), expected);
        }
        let shares = [0, 1, 333_000, 500_000, 1_000_000].map(percent);
        assert_eq!(shares, ["0 %", "0.0001 %", "33.3 %", "50 %", "100 %"]);
        // The largest values do not overflow.
        assert_eq!(decimal(u64::MAX, 1_000, 3), "18446744073709551.615");
        assert_eq!(decimal(u64::MAX, S, 3), "18446744073.710");
    }

    #[test]
    fn durations() {
        let cases = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1 µs"),
            (1_234, "1.23 µs"),
            (52_000, "52 µs"),
            (52_340_000, "52.3 ms"),
            (52_000_000, "52 ms"),
            (500_000_000, "500 ms"),
            (1_000_000_000, "1.000 s"),
            (3_141_592_653, "3.142 s"),
            (12_345_678_901, "12.35 s"),
            (59_990_000_000, "59.99 s"),
            (59_999_000_000, "1 min 00 s"),
            (600_000_000_000, "10 min 00 s"),
            (3_599_600_000_000, "1 h 00 min"),
            (7_500_000_000_000, "2 h 05 min"),
            (90_000_000_000_000, "1 d 01 h"),
            (u64::MAX, "213503 d 23 h"),
        ];
        for (ns, expected) in cases {
            assert_eq!(duration(ns), expected, "{ns}");
        }
    }

    #[test]
    fn times_of_day() {
        let t = 1_790_409_600_123_456_789;
        let cases = [
            (t, 0, "08:00:00"),
            (t, 3, "08:00:00.123"),
            (t, 6, "08:00:00.123457"),
            (t, 9, "08:00:00.123456789"),
            (-1, 9, "23:59:59.999999999"),
            (-1, 3, "00:00:00.000"),
        ];
        for (ns, decimals, expected) in cases {
            assert_eq!(time_of_day(ns, decimals), expected, "{ns} {decimals}");
        }
        assert_eq!(time_of_day(i64::MAX, 9), "23:47:16.854775807");
        assert_eq!(time_of_day(i64::MIN, 9), "00:12:43.145224192");
    }

    #[test]
    fn midnight_is_rounded_into_once() {
        let before = 20_000 * 86_400 * S as i64 - 400_000_000;
        let range = time_range(before, before + 3 * 3_600 * S as i64);
        assert_eq!(range, "2024-10-04 00:00:00 \u{2013} 03:00:00 UTC");
    }

    #[test]
    fn rates_have_a_unit_that_suits_them() {
        let cases = [
            (240.4, "240/s"),
            (2.54, "2.5/s"),
            (0.3, "18.0/min"),
            (0.0, "0.0/min"),
        ];
        for (per_second, text) in cases {
            assert_eq!(rate(per_second), text);
        }
    }

    #[test]
    fn control_characters_are_not_printed() {
        assert_eq!(printable("a\u{1b}[31m\0\nb"), "a\u{fffd}[31m\u{fffd}\nb");
    }

    #[test]
    fn days() {
        let day = DAY_S * S as i64;
        let cases = [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (59 * day, "1970-03-01"),
            (11_016 * day, "2000-02-29"),
            (1_790_409_600_123_456_789, "2026-09-26"),
        ];
        for (ns, expected) in cases {
            assert_eq!(date(ns), expected, "{ns}");
        }
    }

    #[test]
    fn ranges_name_a_second_day_only_when_there_is_one() {
        let t = 1_790_409_600_123_456_789;
        let hour = 3_600 * S as i64;
        assert_eq!(
            time_range(t, t + 10 * S as i64),
            "2026-09-26 08:00:00.123 – 08:00:10.123 UTC"
        );
        let expected = "2026-09-26 08:00:00 – 2026-09-27 08:00:00 UTC";
        assert_eq!(time_range(t, t + 24 * hour), expected);
    }

    #[test]
    fn counts_sizes_and_shares() {
        let counts = [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (72_165, "72,165"),
            (1_234_567, "1,234,567"),
        ];
        for (n, expected) in counts {
            assert_eq!(count(n), expected);
        }
        assert_eq!(counted(1, "trace"), "1 trace");
        assert_eq!(counted(1_001, "span"), "1,001 spans");
        let sizes = [
            (812, "812 B"),
            (2_593_620, "2.6 MB"),
            (13_149_000, "13.1 MB"),
            (2_000_000_000, "2.0 GB"),
        ];
        for (n, expected) in sizes {
            assert_eq!(bytes(n), expected);
        }
        assert_eq!(speed(100_000_000, 1000.0), "100 MB/s");
        assert_eq!(speed(5_000_000, 1000.0), "5.0 MB/s");
        let shares = [
            (0, 9, "0 %"),
            (9, 9, "100 %"),
            (1, 10_000, "< 0.1 %"),
            (9_999, 10_000, "> 99.9 %"),
        ];
        for (part, whole, expected) in shares {
            assert_eq!(share(part, whole), expected);
        }
        assert_eq!([share(35, 100), share(61, 1000)], ["35 %", "6.1 %"]);
        assert_eq!(
            [times(34.2), times(1.62), times(9.97)],
            ["×34", "×1.6", "×10"]
        );
    }
}
