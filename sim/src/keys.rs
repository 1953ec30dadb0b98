//! A table of a TOML file, key by key.
//!
//! Owns the errors of scenario files: the line, the whole key, what was got and what is expected. Invariant: a
//! key that nobody asks for is an error that names those that somebody did. O(keys). Pinned by
//! `tests/scenario.rs`.

use std::fmt;

use herdscope_reader::ingest::time::{Told, Unit, parse_duration};
use toml_span::value::{Table, ValueInner};
use toml_span::{Span, Value};

/// What is wrong with a scenario file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// Counted from 1; 0 where it is about the whole file.
    pub line: usize,
    /// The key with the tables that it stands in, as `service.work`; empty where the file is no TOML.
    pub key: String,
    /// What stands there.
    pub got: String,
    /// What is expected.
    pub expected: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        if !self.key.is_empty() {
            write!(f, "{} ", self.key)?;
        }
        write!(f, "is {}; expected {}", self.got, self.expected)
    }
}

impl std::error::Error for ScenarioError {}

pub(crate) type Result<T> = std::result::Result<T, ScenarioError>;

/// The keys of a table that nobody has asked for yet.
pub(crate) struct Keys<'a> {
    text: &'a str,
    path: String,
    span: Span,
    table: Table<'a>,
    asked: Vec<&'static str>,
}

/// A value, and where it stands.
pub(crate) struct Place<'a> {
    text: &'a str,
    pub(crate) path: String,
    span: Span,
    value: ValueInner<'a>,
}

impl<'a> Keys<'a> {
    /// The whole file.
    pub(crate) fn parse(text: &'a str) -> Result<Keys<'a>> {
        let mut value = toml_span::parse(text).map_err(|error| ScenarioError {
            line: line(text, error.span.start),
            key: String::new(),
            got: format!("no TOML: {error}"),
            expected: "TOML, such as name = \"an incident\"".to_owned(),
        })?;
        Place::of(text, String::new(), &mut value).table()
    }

    /// A value that may be absent.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<Place<'a>> {
        self.asked.push(key);
        let mut value = self.table.remove(key)?;
        let path = match self.path.is_empty() {
            true => key.to_owned(),
            false => format!("{}.{key}", self.path),
        };
        Some(Place::of(self.text, path, &mut value))
    }

    /// A value that has to be there.
    pub(crate) fn need(&mut self, key: &'static str, expected: &str) -> Result<Place<'a>> {
        let missing = self.missing(key, expected);
        self.get(key).ok_or(missing)
    }

    /// The error that a value is not there.
    pub(crate) fn missing(&self, key: &str, expected: &str) -> ScenarioError {
        ScenarioError {
            line: line(self.text, self.span.start),
            key: match self.path.is_empty() {
                true => key.to_owned(),
                false => format!("{}.{key}", self.path),
            },
            got: "missing".to_owned(),
            expected: expected.to_owned(),
        }
    }

    /// The tables of an array, `[[key]]`; none where it is absent.
    pub(crate) fn tables(&mut self, key: &'static str) -> Result<Vec<Keys<'a>>> {
        let Some(place) = self.get(key) else {
            return Ok(Vec::new());
        };
        if !place.is_list() {
            let expected = format!("tables, each below a line [[{key}]]");
            return Err(place.wrong(expected));
        }
        place.list()?.into_iter().map(Place::table).collect()
    }

    /// Every key has been asked for, or it is none.
    pub(crate) fn finish(self) -> Result<()> {
        let Some((key, _)) = self.table.first_key_value() else {
            return Ok(());
        };
        let dot = if self.path.is_empty() { "" } else { "." };
        Err(ScenarioError {
            line: line(self.text, key.span.start),
            key: format!("{}{dot}{}", self.path, key.name),
            got: "no key".to_owned(),
            expected: format!("one of {}", self.asked.join(", ")),
        })
    }
}

impl<'a> Place<'a> {
    fn of(text: &'a str, path: String, value: &mut Value<'a>) -> Place<'a> {
        Place {
            text,
            path,
            span: value.span,
            value: value.take(),
        }
    }

    /// The error that something else was expected here.
    pub(crate) fn wrong(&self, expected: impl Into<String>) -> ScenarioError {
        let got = self.text.get(self.span.start..self.span.end).unwrap_or("");
        ScenarioError {
            line: line(self.text, self.span.start),
            key: self.path.clone(),
            got: match self.value {
                ValueInner::Table(_) => "a table".to_owned(),
                ValueInner::Array(_) => "a list".to_owned(),
                ValueInner::String(_) => format!("\u{201c}{got}\u{201d}"),
                _ => got.to_owned(),
            },
            expected: expected.into(),
        }
    }

    pub(crate) fn text(&self) -> Result<&str> {
        match &self.value {
            ValueInner::String(text) if !text.is_empty() => Ok(text),
            _ => Err(self.wrong("a text")),
        }
    }

    pub(crate) fn yes(&self) -> Result<bool> {
        match self.value {
            ValueInner::Boolean(yes) => Ok(yes),
            _ => Err(self.wrong("true or false")),
        }
    }

    /// A whole number.
    pub(crate) fn count(&self, range: std::ops::RangeInclusive<u32>) -> Result<u32> {
        let expected = || format!("a whole number from {} to {}", range.start(), range.end());
        match self.value {
            ValueInner::Integer(it) => u32::try_from(it).ok().filter(|it| range.contains(it)),
            _ => None,
        }
        .ok_or_else(|| self.wrong(expected()))
    }

    /// A number.
    pub(crate) fn number(&self, range: std::ops::RangeInclusive<f64>) -> Result<f64> {
        let expected = || format!("a number from {} to {}", range.start(), range.end());
        let number = match self.value {
            ValueInner::Integer(it) => it as f64,
            ValueInner::Float(it) => it,
            _ => f64::NAN,
        };
        match range.contains(&number) {
            true => Ok(number),
            false => Err(self.wrong(expected())),
        }
    }

    /// A share as `"50%"`.
    pub(crate) fn share(&self) -> Result<f64> {
        let expected = "a share such as \"50%\", from 0% to 100%";
        self.suffixed("%", 0.0..=100.0)
            .map(|it| it / 100.0)
            .ok_or_else(|| self.wrong(expected))
    }

    /// A rate as `"200/s"`, requests a second.
    pub(crate) fn rate(&self) -> Result<f64> {
        let expected = "a rate such as \"200/s\", up to 1000000/s";
        self.suffixed("/s", 0.0..=1e6)
            .ok_or_else(|| self.wrong(expected))
    }

    fn suffixed(&self, suffix: &str, range: std::ops::RangeInclusive<f64>) -> Option<f64> {
        let ValueInner::String(text) = &self.value else {
            return None;
        };
        let number = text.strip_suffix(suffix)?.trim_end();
        let plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let number = number.parse().ok().filter(|_| plain)?;
        range.contains(&number).then_some(number)
    }

    /// A time as `"500ms"` or `"1m30s"`, nanoseconds, up to a year.
    pub(crate) fn time(&self) -> Result<u64> {
        const YEAR: u64 = 365 * 86_400 * 1_000_000_000;
        let expected = "a time with its unit, such as \"500ms\" or \"1m30s\", up to 365 days";
        let told = match &self.value {
            ValueInner::String(text) if text.bytes().any(|b| b.is_ascii_alphabetic()) => {
                parse_duration(text, Unit::Ns, false)
            }
            _ => Told::Nothing,
        };
        match told {
            Told::Ns(ns) if ns <= YEAR => Ok(ns),
            _ => Err(self.wrong(expected)),
        }
    }

    /// The same, and not 0.
    pub(crate) fn some_time(&self) -> Result<u64> {
        match self.time()? {
            0 => Err(self.wrong("a time that is longer than 0")),
            time => Ok(time),
        }
    }

    pub(crate) fn is_list(&self) -> bool {
        matches!(self.value, ValueInner::Array(_))
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self.value, ValueInner::Table(_))
    }

    /// The values of a list.
    pub(crate) fn list(mut self) -> Result<Vec<Place<'a>>> {
        let ValueInner::Array(values) = &mut self.value else {
            return Err(self.wrong("a list"));
        };
        let (text, path) = (self.text, &self.path);
        let place = |value: &mut Value<'a>| Place::of(text, path.clone(), value);
        Ok(values.iter_mut().map(place).collect())
    }

    pub(crate) fn table(self) -> Result<Keys<'a>> {
        match self.value {
            ValueInner::Table(table) => Ok(Keys {
                text: self.text,
                path: self.path,
                span: self.span,
                table,
                asked: Vec::new(),
            }),
            _ => Err(self.wrong("a table")),
        }
    }
}

fn line(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    1 + before.iter().filter(|&&b| b == b'\n').count()
}
