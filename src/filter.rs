//! Filters: which spans a person means, as a text of a small language.
//!
//! Owns the expression and what it is written as; [`mod@matches`] decides it over a table, [`complete`] tells what may
//! follow. Invariant: what is printed of a filter reads as that filter, and a text that is none has an [`Error`] with
//! its place; nothing panics. Letters are compared whatever their case (of ASCII). Reading costs O(length of the text).
//! Pinned by `tests/it/filter.rs`, against a list of spans and their texts; `docs/filter.md` has the language.

mod bits;
pub mod complete;
pub mod matches;
mod read;

use std::fmt::{Display, Formatter, Result, Write};
use std::ops::Range;

use crate::ingest::time::print_duration;
use crate::rows::Kind;

pub use self::bits::Bits;
pub use self::matches::{Matches, holds};

/// Which spans are meant. `All` and `Any` have two parts or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Those that pass a test.
    Test(Test),
    /// All others.
    Not(Box<Filter>),
    /// Those that all of these mean.
    All(Vec<Filter>),
    /// Those that one of these means.
    Any(Vec<Filter>),
}

/// What is asked of one span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// One of its [`Field`]s holds this, or it is the id of its trace.
    Word(String),
    /// The field is this.
    Is(Field, String),
    /// The field is like this, as a whole: `*` stands for any text, `?` for a character.
    Like(Field, String),
    /// Its duration in nanoseconds; false where that is unknown.
    Duration(Compare, u64),
    /// The tier of its service.
    Tier(Compare, u8),
    /// How it ended.
    Status(Status),
    /// Client, server, ...
    Kind(Kind),
    /// The id of its trace.
    Trace(String),
}

/// The texts of a span that are kept. One that it has not is never like anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `service`
    Service,
    /// `operation`
    Operation,
    /// `instance`
    Instance,
    /// `peer`
    Peer,
    /// `message`
    Message,
}

/// How numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "`<`, `<=`, `=`, `>=` and `>`")]
pub enum Compare {
    Less,
    AtMost,
    Equal,
    AtLeast,
    More,
}

/// How a span ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// `ok`
    Ok,
    /// `error`: in any way but well, timeouts and rejections included.
    Error,
    /// `timeout`
    Timeout,
    /// `rejected`
    Rejected,
}

/// Why a text is no filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Where, in bytes of the text; empty at its end.
    pub at: Range<usize>,
    /// What stands there.
    pub got: String,
    /// What may stand there.
    pub expected: &'static str,
}

/// See [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Something else belongs here.
    Unexpected,
    /// A quote or a parenthesis that nothing ends.
    Open,
    /// An attribute that the table does not keep.
    NotKept,
    /// A value that its key cannot have.
    Value,
    /// Too many parentheses within each other.
    Deep,
}

/// The fields by their keys, then by other names, as OpenTelemetry and others have them.
pub(crate) const FIELDS: [(&str, Field); 11] = [
    ("service", Field::Service),
    ("operation", Field::Operation),
    ("instance", Field::Instance),
    ("peer", Field::Peer),
    ("message", Field::Message),
    ("name", Field::Operation),
    ("service.name", Field::Service),
    ("service.instance.id", Field::Instance),
    ("k8s.pod.name", Field::Instance),
    ("peer.service", Field::Peer),
    ("status.message", Field::Message),
];

pub(crate) const COMPARES: [(&str, Compare); 5] = [
    (">=", Compare::AtLeast),
    ("<=", Compare::AtMost),
    (">", Compare::More),
    ("<", Compare::Less),
    ("=", Compare::Equal),
];

pub(crate) const STATUSES: [(&str, Status); 4] = [
    ("error", Status::Error),
    ("timeout", Status::Timeout),
    ("rejected", Status::Rejected),
    ("ok", Status::Ok),
];

pub(crate) const KINDS: [Kind; 6] = [
    Kind::Client,
    Kind::Server,
    Kind::Internal,
    Kind::Producer,
    Kind::Consumer,
    Kind::Unset,
];

impl Compare {
    /// Whether `a` compares so to `b`.
    pub fn holds(self, a: u64, b: u64) -> bool {
        match self {
            Compare::Less => a < b,
            Compare::AtMost => a <= b,
            Compare::Equal => a == b,
            Compare::AtLeast => a >= b,
            Compare::More => a > b,
        }
    }
}

impl Display for Filter {
    fn fmt(&self, to: &mut Formatter<'_>) -> Result {
        match self {
            Filter::Test(test) => test.fmt(to),
            Filter::Not(of) => {
                to.write_char('-')?;
                of.write(to, matches!(**of, Filter::All(_) | Filter::Any(_)))
            }
            Filter::All(of) => write_all(to, of, " ", |it| {
                matches!(it, Filter::All(_) | Filter::Any(_))
            }),
            Filter::Any(of) => write_all(to, of, " or ", |it| matches!(it, Filter::Any(_))),
        }
    }
}

impl Filter {
    fn write(&self, to: &mut Formatter<'_>, apart: bool) -> Result {
        if !apart {
            return self.fmt(to);
        }
        to.write_char('(')?;
        self.fmt(to)?;
        to.write_char(')')
    }
}

fn write_all(
    to: &mut Formatter<'_>,
    of: &[Filter],
    between: &str,
    apart: fn(&Filter) -> bool,
) -> Result {
    for (at, it) in of.iter().enumerate() {
        if at > 0 {
            to.write_str(between)?;
        }
        it.write(to, apart(it))?;
    }
    Ok(())
}

impl Display for Test {
    fn fmt(&self, to: &mut Formatter<'_>) -> Result {
        let (key, with, value) = match self {
            Test::Word(word) => ("", "", quoted(word)),
            Test::Is(field, value) => (name(&FIELDS, *field), "=", quoted(value)),
            Test::Like(field, value) => (name(&FIELDS, *field), "~", quoted(value)),
            Test::Duration(compare, ns) => {
                ("duration", name(&COMPARES, *compare), print_duration(*ns))
            }
            Test::Tier(compare, tier) => ("tier", name(&COMPARES, *compare), tier.to_string()),
            Test::Status(status) => ("status", "=", name(&STATUSES, *status).to_owned()),
            Test::Kind(kind) => ("kind", "=", kind.as_str().to_owned()),
            Test::Trace(id) => ("trace", "=", quoted(id)),
        };
        for part in [key, with, &value] {
            to.write_str(part)?;
        }
        Ok(())
    }
}

fn name<T: PartialEq>(names: &[(&'static str, T)], of: T) -> &'static str {
    names.iter().find(|it| it.1 == of).map_or("", |it| it.0)
}

/// The test whether a field is a text, as it is written.
pub fn is(field: Field, text: &str) -> String {
    [name(&FIELDS, field), "=", &quoted(text)].concat()
}

/// A text as it is written, in quotes where it would be taken for something else.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| {
        c.is_ascii_alphanumeric()
            || !c.is_ascii() && !c.is_whitespace()
            || matches!(
                c,
                '-' | '_' | '.' | '/' | ':' | '*' | '?' | '@' | '#' | '+' | ','
            )
    };
    let bare = !text.is_empty()
        && text.chars().all(plain)
        && !text.starts_with('-')
        && !read::WORDS.iter().any(|it| it.eq_ignore_ascii_case(text));
    if bare {
        return text.to_owned();
    }
    let mut to = String::from('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            to.push('\\');
        }
        to.push(c);
    }
    to.push('"');
    to
}

impl Display for Error {
    fn fmt(&self, to: &mut Formatter<'_>) -> Result {
        let says: [&str; 3] = match (self.kind, self.got.as_str()) {
            (ErrorKind::NotKept, got) => ["\u{201c}", got, "\u{201d} is not kept in memory; "],
            (ErrorKind::Deep, _) => ["", "", "Too many parentheses within each other; "],
            (ErrorKind::Open, got) => ["Nothing ends ", got, "; "],
            (_, "") => ["", "", "It ends too early; "],
            (_, got) => ["\u{201c}", got, "\u{201d} does not belong here; "],
        };
        for part in says {
            to.write_str(part)?;
        }
        to.write_str("expected ")?;
        to.write_str(self.expected)
    }
}

impl std::error::Error for Error {}
