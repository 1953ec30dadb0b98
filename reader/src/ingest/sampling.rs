//! How many of the spans were kept, where a file tells; and which traces are kept here.
//!
//! Owns the two ways to tell: OpenTelemetry's threshold in the trace state (`ot=th:c`) and a column of
//! rates. Invariant: integers; a rate is how many spans one stands for, in hundredths. O(length). Pinned
//! by `tests` and `tests/ingest/edge.rs`.

use herdscope_cells::words;

use super::time::{self, Unit, parse_duration};
use crate::parts;

/// Whether a trace is not the one of so many that is read.
pub(super) fn is_left_out(trace: &[u8], of: Option<u32>) -> bool {
    of.is_some_and(|of| !words::hash(trace).is_multiple_of(of.into()))
}

/// The rates met.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rates {
    lowest: u64,
    highest: u64,
}

impl Rates {
    pub(super) fn note(&mut self, rate: u64) {
        self.lowest = if self.highest == 0 {
            rate
        } else {
            self.lowest.min(rate)
        };
        self.highest = self.highest.max(rate);
    }

    /// `1 in 10`, or from the lowest to the highest.
    pub(super) fn words(self) -> String {
        let mut words = String::new();
        for rate in [self.lowest, self.highest] {
            if !words.is_empty() {
                words.push_str(" to ");
            }
            words.push_str("1 in ");
            words.push_str(&(rate / 100).to_string());
            if rate % 100 > 0 {
                let hundredths = (rate % 100 + 100).to_string();
                words.push('.');
                words.push_str(hundredths.strip_prefix('1').unwrap_or_default());
            }
            if self.lowest == self.highest {
                break;
            }
        }
        words
    }
}

const ALL: u64 = 100;

/// The rate that a trace state tells; `None` where nothing was left out.
pub(super) fn of_trace_state(state: &str) -> Option<u64> {
    if !parts::holds(state, "th:") {
        return None;
    }
    let mut members = state
        .split(',')
        .filter_map(|it| it.trim().strip_prefix("ot="));
    let threshold = members
        .next()?
        .split(';')
        .find_map(|it| it.strip_prefix("th:"))?;
    if threshold.is_empty() || threshold.len() > 14 {
        return None;
    }
    let rejected = u64::from_str_radix(threshold, 16).ok()? << (4 * (14 - threshold.len()));
    let all = 1 << 56;
    above_all(u128::from(all) * u128::from(ALL) / u128::from(all - rejected))
}

/// The rate that a cell tells: 10 for one of ten, or 0.1 for a tenth.
pub(super) fn of_cell(cell: &str) -> Option<u64> {
    // Read as seconds, the number comes in billionths.
    const ONE: u128 = 1_000_000_000;
    match parse_duration(cell, Unit::S, false) {
        time::Told::Ns(0) => None,
        time::Told::Ns(number) => match u128::from(number) {
            number @ ..ONE => above_all(ONE * u128::from(ALL) / number),
            number => above_all(number * u128::from(ALL) / ONE),
        },
        _ => None,
    }
}

fn above_all(rate: u128) -> Option<u64> {
    u64::try_from(rate).ok().filter(|&it| it > ALL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds() {
        let cases = [
            ("", None),
            ("ot=th:0", None),
            ("ot=th:0;rv:123", None),
            ("vendor=th:c", None),
            ("ot=th:c", Some(400)),
            ("ot=th:8;rv:abc,x=y", Some(200)),
            ("x=y, ot=rv:1;th:4", Some(133)),
            (
                "ot=th:fffffffffffff8",
                Some(720_575_940_379_279_360 * 10 / 8),
            ),
            ("ot=th:xyz", None),
            ("ot=th:", None),
        ];
        for (state, expected) in cases {
            assert_eq!(of_trace_state(state), expected, "{state}");
        }
    }

    #[test]
    fn cells() {
        let cases = [
            ("", None),
            ("1", None),
            ("0", None),
            ("10", Some(1_000)),
            ("0.1", Some(1_000)),
            ("0.75", Some(133)),
            ("often", None),
        ];
        for (cell, expected) in cases {
            assert_eq!(of_cell(cell), expected, "{cell}");
        }
    }

    #[test]
    fn words() {
        let mut rates = Rates::default();
        rates.note(1_000);
        assert_eq!(rates.words(), "1 in 10");
        rates.note(105);
        assert_eq!(rates.words(), "1 in 1.05 to 1 in 10");
    }
}
