//! What a person says about a file, which overrides what is assumed.
//!
//! Owns the text form: `trace=Trace ID,start=when@ms,duration=took@us,zone=+02:00,failed=2s`, parts
//! separated by commas, versioned by the link that carries it. A column may be followed by `@` and a
//! unit; `@ms` alone tells the unit and leaves the column as it is found; nothing tells that there is
//! no such column. In names `%`, `,` and a `@` that is not the first character are written as percent
//! and two digits. Invariant: what is printed parses back, and an error names its part. Pinned by
//! `tests/ingest/told.rs`.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::exporters::Field;
use super::time::{self, Unit, parse_duration, print_duration};
use crate::{order, percent};

/// What a person says about a file; nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The header of a field's column, by field; empty where the file has none. Only
    /// [`Field::Attributes`] can stand more than once.
    pub columns: Vec<(Field, String)>,
    /// The unit of starts that are plain numbers.
    pub start_unit: Option<Unit>,
    /// The unit of ends that are plain numbers; without one that of starts.
    pub end_unit: Option<Unit>,
    /// The unit of durations that are plain numbers.
    pub duration_unit: Option<Unit>,
    /// How far east of UTC times without a zone are, in seconds.
    pub zone: Option<i32>,
    /// In dates like 3/4/2026 the day comes first.
    pub day_first: Option<bool>,
    /// A span that took this long or longer, in nanoseconds, failed.
    pub failed_over: Option<u64>,
    /// The HTTP status from which on a call failed: 400 or, without a word, 500.
    pub http_failed: Option<u16>,
    /// The attempts of one logical call are counted as one call.
    pub logical: Option<bool>,
    /// Of so many traces one is read, as a whole; which, their ids decide.
    pub sample: Option<u32>,
}

/// A part of the text that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldError {
    /// The part as it was written.
    pub part: String,
    /// What would have been right.
    pub expected: &'static str,
}

impl fmt::Display for ToldError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("got \u{201c}")?;
        to.write_str(&crate::issues::shortened(&self.part))?;
        to.write_str("\u{201d}, expected ")?;
        to.write_str(self.expected)
    }
}

impl std::error::Error for ToldError {}

const A_PART: &str = "FIELD=COLUMN with a field of trace, span, parent, start, end, duration, service, operation, \
     kind, status, error, success, http, grpc, message, instance, peer, attributes \u{2026}, or one of \
     zone=+02:00, dates=day-first, failed=2s, http-failed=400, logical=yes, sample=8";

impl Told {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Told::default()
    }

    /// This, and what `other` says; where both say something, `other` is right.
    pub fn and(mut self, other: Told) -> Told {
        let replaced = |it: &(Field, String)| other.columns.iter().any(|of| of.0 == it.0);
        self.columns.retain(|it| !replaced(it));
        self.columns.extend(other.columns);
        Told {
            columns: in_order(self.columns),
            start_unit: other.start_unit.or(self.start_unit),
            end_unit: other.end_unit.or(self.end_unit),
            duration_unit: other.duration_unit.or(self.duration_unit),
            zone: other.zone.or(self.zone),
            day_first: other.day_first.or(self.day_first),
            failed_over: other.failed_over.or(self.failed_over),
            http_failed: other.http_failed.or(self.http_failed),
            logical: other.logical.or(self.logical),
            sample: other.sample.or(self.sample),
        }
    }

    /// The unit that is told for a field.
    pub fn unit(&self, field: Field) -> Option<Unit> {
        match field {
            Field::Start => self.start_unit,
            Field::End => self.end_unit,
            Field::Duration => self.duration_unit,
            _ => None,
        }
    }

    fn unit_mut(&mut self, field: Field) -> Option<&mut Option<Unit>> {
        match field {
            Field::Start => Some(&mut self.start_unit),
            Field::End => Some(&mut self.end_unit),
            Field::Duration => Some(&mut self.duration_unit),
            _ => None,
        }
    }

    fn take(&mut self, part: &str) -> Result<(), &'static str> {
        let (key, value) = part.split_once('=').ok_or(A_PART)?;
        let (key, value) = (key.trim(), value.trim());
        match key {
            "zone" => once(&mut self.zone, zone(value), "a zone like +02:00 or UTC"),
            "dates" => {
                let first = match value {
                    "day-first" => Some(true),
                    "month-first" => Some(false),
                    _ => None,
                };
                once(
                    &mut self.day_first,
                    first,
                    "dates=day-first or dates=month-first",
                )
            }
            "failed" => once(
                &mut self.failed_over,
                long(value),
                "a duration like 2s or 500ms",
            ),
            "http-failed" => {
                let from = match value {
                    "400" => Some(400),
                    "500" => Some(500),
                    _ => None,
                };
                once(
                    &mut self.http_failed,
                    from,
                    "http-failed=400 or http-failed=500",
                )
            }
            "logical" => {
                let yes = match value {
                    "yes" => Some(true),
                    "no" => Some(false),
                    _ => None,
                };
                once(&mut self.logical, yes, "logical=yes or logical=no")
            }
            "sample" => once(
                &mut self.sample,
                value.parse().ok().filter(|it| SAMPLES.contains(it)),
                "sample=8 for one of 8 traces, 2 to 1,000,000",
            ),
            _ => self.take_column(Field::named(key).ok_or(A_PART)?, value),
        }
    }

    fn take_column(&mut self, field: Field, value: &str) -> Result<(), &'static str> {
        const A_UNIT: &str = "a column and the unit of its numbers, as in start=when@ms: ns, us, ms or s, \
             for start, end and duration (a @ of the column's name is written %40)";
        const ONCE: &str = "each part once";
        let (name, unit) = match value.rsplit_once('@') {
            None => (value, None),
            Some((name, unit)) => match (name, Unit::named(unit)) {
                (_, Some(unit)) => (name.trim(), Some(unit)),
                ("", None) => (value, None),
                _ => return Err(A_UNIT),
            },
        };
        if let Some(unit) = unit {
            once(self.unit_mut(field).ok_or(A_UNIT)?, Some(unit), A_UNIT)?;
            if name.is_empty() {
                return Ok(());
            }
        }
        let again = self.columns.iter().any(|it| it.0 == field);
        if again && field != Field::Attributes {
            return Err(ONCE);
        }
        self.columns.push((field, percent::unescape(name)));
        Ok(())
    }
}

/// Of how many traces one can be read.
const SAMPLES: RangeInclusive<u32> = 2..=1_000_000;

fn in_order(columns: Vec<(Field, String)>) -> Vec<(Field, String)> {
    order::sorted(columns, &mut Ord::cmp)
}

/// Sets what may be said once.
fn once<T>(
    to: &mut Option<T>,
    value: Option<T>,
    expected: &'static str,
) -> Result<(), &'static str> {
    match (&to, value) {
        (None, Some(value)) => {
            *to = Some(value);
            Ok(())
        }
        (Some(_), _) => Err("each part once"),
        _ => Err(expected),
    }
}

fn zone(value: &str) -> Option<i32> {
    let seconds = time::zone(value.as_bytes()).flatten()?;
    i32::try_from(seconds).ok()
}

fn long(value: &str) -> Option<u64> {
    let bare = value.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    match parse_duration(value, Unit::Ms, false) {
        time::Told::Ns(ns) if ns > 0 && !bare => Some(ns),
        _ => None,
    }
}

impl FromStr for Told {
    type Err = ToldError;

    fn from_str(text: &str) -> Result<Told, ToldError> {
        let mut told = Told::default();
        for part in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            told.take(part).map_err(|expected| ToldError {
                part: part.to_owned(),
                expected,
            })?;
        }
        told.columns = in_order(told.columns);
        Ok(told)
    }
}

impl fmt::Display for Told {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        let mut units = TIMED.map(|field| self.unit(field));
        for (field, name) in &self.columns {
            add(&mut text, field.as_str(), &escaped(name));
            let unit = TIMED.iter().position(|it| it == field && !name.is_empty());
            if let Some(unit) = unit.and_then(|at| units[at].take()) {
                text.push('@');
                text.push_str(unit.as_str());
            }
        }
        for (field, unit) in TIMED.iter().zip(units) {
            if let Some(unit) = unit {
                add(&mut text, field.as_str(), "@");
                text.push_str(unit.as_str());
            }
        }
        if let Some(seconds) = self.zone {
            add(&mut text, "zone", &zone_name(seconds));
        }
        if let Some(first) = self.day_first {
            let order = if first { "day-first" } else { "month-first" };
            add(&mut text, "dates", order);
        }
        if let Some(ns) = self.failed_over {
            add(&mut text, "failed", &print_duration(ns));
        }
        if let Some(from) = self.http_failed {
            add(
                &mut text,
                "http-failed",
                if from == 400 { "400" } else { "500" },
            );
        }
        if let Some(yes) = self.logical {
            add(&mut text, "logical", if yes { "yes" } else { "no" });
        }
        if let Some(of) = self.sample {
            add(&mut text, "sample", &of.to_string());
        }
        to.write_str(text.strip_prefix(',').unwrap_or(&text))
    }
}

#[inline(never)]
fn add(text: &mut String, key: &str, value: &str) {
    for part in [",", key, "=", value] {
        text.push_str(part);
    }
}

const TIMED: [Field; 3] = [Field::Start, Field::End, Field::Duration];

/// A column's name as a part can hold it.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for (at, c) in name.char_indices() {
        let outer = at == 0 || at + c.len_utf8() == name.len();
        let unit = || at > 0 || name.get(1..).and_then(Unit::named).is_some();
        match c {
            '%' | ',' => percent::escape_byte(&mut text, c as u8),
            '@' if unit() => percent::escape_byte(&mut text, b'@'),
            _ if outer && c.is_whitespace() => {
                let mut bytes = [0; 4];
                let bytes = c.encode_utf8(&mut bytes).bytes();
                bytes.for_each(|byte| percent::escape_byte(&mut text, byte));
            }
            _ => text.push(c),
        }
    }
    text
}

/// An offset from UTC as people write it.
fn zone_name(seconds: i32) -> String {
    let (sign, minutes) = (if seconds < 0 { '-' } else { '+' }, seconds.abs() / 60);
    match minutes {
        0 => "UTC".to_owned(),
        _ => format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60),
    }
}
