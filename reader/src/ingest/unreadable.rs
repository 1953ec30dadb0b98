//! Why a file cannot be read at all, as one sentence for a tired person.
//!
//! Owns the kinds of refusal. Invariant: whatever costs only a row is an issue
//! ([`crate::issues`]), not one of these; each kind says what the person can do next. Pinned by
//! `tests/ingest/bad_input.rs`.

use std::fmt;

use super::unmapped::Unmapped;
use crate::issues::shortened;

/// What is wrong with the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnreadableKind {
    /// No bytes, or only blanks.
    Empty,
    /// A web page or other markup.
    Html,
    /// JSON that holds no spans.
    Json,
    /// A picture, a document, an archive; its name.
    Binary(&'static str),
    /// A table of which no rule understands the columns; a person can tell what they are.
    UnknownColumns(Box<Unmapped>),
    /// The first line does not end.
    HeaderTooLong,
    /// Too many spans wait for what they belong to.
    TraceTooLong,
    /// The gz data are damaged.
    GzBroken,
    /// The gz data unpack to far more than spans would.
    GzBomb,
}

/// A file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// What is wrong.
    pub kind: UnreadableKind,
    /// Where, when that can be told: `line 17`, `after byte 4096`.
    pub place: Option<String>,
    /// What was found.
    pub got: String,
    /// What would have been right.
    pub expected: &'static str,
    /// What the person can do.
    pub remedy: &'static str,
}

const A_TABLE: &str = "a table of spans (CSV)";
const SOME_JSON: &str = "Jaeger's JSON (data, spans, processes), OpenTelemetry's (resourceSpans, or \
                         batches as of Tempo) or a table of spans (CSV)";
const EXPORT_JSON: &str =
    "download the trace itself from Jaeger or Tempo, or export the spans as CSV";

/// So many names are told.
pub(super) const NAMES: usize = 12;

impl Unreadable {
    pub(super) fn empty() -> Unreadable {
        Unreadable {
            kind: UnreadableKind::Empty,
            place: None,
            got: "the file is empty".into(),
            expected: A_TABLE,
            remedy: "export the spans again",
        }
    }

    pub(super) fn html() -> Unreadable {
        Unreadable {
            kind: UnreadableKind::Html,
            place: None,
            got: "this is an HTML page, not a CSV".into(),
            expected: A_TABLE,
            remedy: "the link probably led to a login or preview page, download the file itself",
        }
    }

    pub(super) fn json(keys: &[String]) -> Unreadable {
        let but = if keys.is_empty() { "" } else { ", but " };
        Unreadable {
            kind: UnreadableKind::Json,
            place: None,
            got: ["this JSON has no traces", but, &names(keys)].concat(),
            expected: SOME_JSON,
            remedy: EXPORT_JSON,
        }
    }

    pub(super) fn json_broken(at: Option<u64>) -> Unreadable {
        Unreadable {
            kind: UnreadableKind::Json,
            place: at.map(after_byte),
            got: match at {
                Some(_) => "this is no JSON any more, and no span came before",
                None => "this JSON ends before its first span",
            }
            .into(),
            expected: SOME_JSON,
            remedy: EXPORT_JSON,
        }
    }

    pub(super) fn binary(name: &'static str) -> Unreadable {
        let remedy = match name {
            "an Excel workbook or another zip archive" => {
                "unpack it, or save the sheet as CSV (better: take the exporter's own file)"
            }
            "a zstd file" | "a bzip2 file" | "an xz file" | "a 7z archive" => {
                "unpack it first (gz is read as it is)"
            }
            _ => "choose the file that the exporter wrote",
        };
        Unreadable {
            kind: UnreadableKind::Binary(name),
            place: None,
            got: format!("this is {name}"),
            expected: A_TABLE,
            remedy,
        }
    }

    pub(super) fn unknown_columns(table: Unmapped) -> Unreadable {
        let names = names(&table.headers);
        Unreadable {
            kind: UnreadableKind::UnknownColumns(Box::new(table)),
            place: Some("line 1".into()),
            got: format!("this table has no columns of spans, but {names}"),
            expected: "a start time, a duration or an end time, and ids, services or names \
                       (such as start_time, duration, trace_id, span_id, parent_id, service.name, name)",
            remedy: "tell which columns hold them (trace=COLUMN,start=COLUMN@ms,\u{2026}), or export the spans \
                     themselves, with a header line",
        }
    }

    pub(super) fn header_too_long(limit: usize) -> Unreadable {
        Unreadable {
            kind: UnreadableKind::HeaderTooLong,
            place: Some("line 1".into()),
            got: format!("the first line does not end within {}", bytes(limit)),
            expected: "a header line with the names of the columns",
            remedy: "this is no CSV, or it lost its line breaks: export it again",
        }
    }

    pub(super) fn trace_too_long(limit: usize) -> Unreadable {
        Unreadable {
            kind: UnreadableKind::TraceTooLong,
            place: None,
            got: [
                &bytes(limit),
                " of spans came before the processes or the resource that they belong to",
            ]
            .concat(),
            expected: "one trace after the other",
            remedy: "export shorter traces, or put `processes` and `resource` before `spans`",
        }
    }

    pub(super) fn gz_broken(at: u64) -> Unreadable {
        Unreadable {
            kind: UnreadableKind::GzBroken,
            place: Some(after_byte(at)),
            got: "the gz data are damaged or cut off".into(),
            expected: "a whole .gz file",
            remedy: "download or export it again",
        }
    }

    pub(super) fn gz_bomb(ratio: u64) -> Unreadable {
        Unreadable {
            kind: UnreadableKind::GzBomb,
            place: None,
            got: format!("the gz data unpack to more than {ratio} times their size"),
            expected: "spans, which never do",
            remedy: "if you trust the file, unpack it first",
        }
    }
}

/// Names in a sentence.
fn names(all: &[String]) -> String {
    let mut names = String::new();
    for (i, name) in all.iter().enumerate() {
        if i == NAMES {
            names.push_str(", \u{2026}");
            break;
        }
        let comma = if i == 0 { "" } else { ", " };
        names.push_str(comma);
        names.push_str(&shortened(name));
    }
    names
}

/// A place in the bytes.
pub(super) fn after_byte(at: u64) -> String {
    format!("after byte {at}")
}

fn bytes(n: usize) -> String {
    match n {
        n if n >= 1 << 20 => format!("{} MiB", n >> 20),
        n if n >= 1 << 10 => format!("{} KiB", n >> 10),
        n => format!("{n} bytes"),
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        write!(
            f,
            "{}; expected {}: {}",
            self.got, self.expected, self.remedy
        )
    }
}

impl std::error::Error for Unreadable {}
