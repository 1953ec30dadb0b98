//! The figures that a person can give instead of the file's, as text.
//!
//! Owns their names, and how they are read and printed. Invariant: what is printed reads back to itself, and lies within
//! what a scenario file may say. Pinned by `tests/it/estimate.rs`.

use crate::format;
use crate::ingest::time::{Told, Unit, parse_duration};

/// A figure that can be given instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// Requests of all instances, a second.
    Demand,
    /// The age at which calls are cut.
    Timeout,
    /// Pods of the service.
    Pods,
    /// Requests that a pod works on at once.
    Workers,
    /// The median of its spans.
    Work,
    /// How long a worker is held for a request.
    Held,
    /// How long a message takes.
    Network,
}

impl Key {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Key; 7] = [
        Key::Demand,
        Key::Timeout,
        Key::Pods,
        Key::Workers,
        Key::Work,
        Key::Held,
        Key::Network,
    ];

    /// Its name in links and forms.
    pub fn name(self) -> &'static str {
        match self {
            Key::Demand => "demand",
            Key::Timeout => "timeout",
            Key::Pods => "pods",
            Key::Workers => "workers",
            Key::Work => "work",
            Key::Held => "held",
            Key::Network => "network",
        }
    }

    /// What is expected of it.
    pub fn expected(self) -> &'static str {
        match self {
            Key::Demand => "requests a second, up to 1000000/s and to the thousandth, as in 200/s",
            Key::Pods | Key::Workers => "a whole number from 1 to 10000",
            Key::Timeout | Key::Held => "a time with its unit, up to a day, as in 20ms, or none",
            _ => "a time with its unit, up to a day, as in 20ms",
        }
    }

    /// Whether this can be given, in its canonical form.
    pub fn read(self, text: &str) -> Option<String> {
        let text = text.trim();
        match self {
            Key::Demand => rate(text).map(print_rate),
            Key::Pods | Key::Workers => count(text).map(|it| it.to_string()),
            Key::Timeout | Key::Held if text == NONE => Some(NONE.to_owned()),
            Key::Timeout if time(text) == Some(0) => None,
            _ => time(text).map(print_time),
        }
    }
}

/// There is no such time.
pub(super) const NONE: &str = "none";

/// More than this is no small model.
pub(super) const MOST_A_SECOND: f64 = 1e6;
pub(super) const MOST: u32 = 10_000;
pub(super) const DAY: u64 = 86_400_000_000_000;

pub(super) fn print_time(ns: u64) -> String {
    format::duration(ns.min(DAY)).replace(' ', "")
}

pub(super) fn print_rate(per_second: f64) -> String {
    let decimals = match per_second {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    format::fixed(per_second.min(MOST_A_SECOND), decimals) + "/s"
}

pub(super) fn round_rate(per_second: f64) -> f64 {
    rate(&print_rate(per_second)).unwrap_or(per_second)
}

/// Digits with a point among them, to a thousandth.
pub(super) fn rate(text: &str) -> Option<f64> {
    let number = text.strip_suffix("/s")?.trim_end();
    let (whole, rest) = number.split_once('.').unwrap_or((number, ""));
    let mut thousandths: u64 = whole.parse().ok().filter(|&it| it <= 1_000_000)?;
    for place in 0..3 {
        let digit = rest.as_bytes().get(place).copied().unwrap_or(b'0');
        thousandths = thousandths * 10 + u64::from(char::from(digit).to_digit(10)?);
    }
    (rest.len() <= 3).then_some(thousandths as f64 / 1e3)
}

pub(super) fn count(text: &str) -> Option<u32> {
    text.parse().ok().filter(|it| (1..=MOST).contains(it))
}

pub(super) fn time(text: &str) -> Option<u64> {
    match parse_duration(text, Unit::Ns, false) {
        Told::Ns(ns) if ns <= DAY && text.bytes().any(|b| b.is_ascii_alphabetic()) => Some(ns),
        _ => None,
    }
}
