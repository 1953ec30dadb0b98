//! Spans as CSV, in the columns of ClickHouse's OpenTelemetry exporter.
//!
//! Owns the columns, and which spans are meant. Invariant: our own reader makes the same spans of it, which end in the
//! same way; a parent that is left out keeps its id. A piece costs the spans that it goes through. Pinned by
//! `tests/it/export.rs`.

use std::ops::Range;

use crate::filter::{Bits, Filter, Matches};
use crate::ingest::time::print_time;
use crate::levels::Part;
use crate::outcome::{Evidence, Outcome, outcome};
use crate::plot::scale::Scale;
use crate::recorded::Recorded;
use crate::rows::{Kind, NONE, UNKNOWN_DURATION};
use crate::spans::{Parent, SpanIdx, SpanTable};
use crate::view::{View, Viewport};

/// The first line: the columns that say something here.
pub const HEADER: &str = "Timestamp,TraceId,SpanId,ParentSpanId,SpanName,SpanKind,ServiceName,ResourceAttributes,\
                          SpanAttributes,Duration,StatusCode,StatusMessage\n";

/// The parent of an orphan: which it was, nobody knows any more.
const UNKNOWN_PARENT: &str = "ffffffffffffffff";

/// So many spans are gone through for a piece, most of which is then some megabytes.
const A_PIECE: usize = 1 << 14;

/// A span as it is written.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the columns of SpanRow, by the same names")]
pub struct Line<'a> {
    pub trace: &'a str,
    pub span: &'a str,
    /// Empty for a root.
    pub parent: &'a str,
    pub start: i64,
    /// [`UNKNOWN_DURATION`] where nobody knows.
    pub duration: u64,
    pub service: &'a str,
    pub operation: &'a str,
    pub kind: Kind,
    pub outcome: Outcome,
    pub instance: &'a str,
    pub peer: &'a str,
    pub message: &'a str,
    pub breaker: Option<Recorded<'a>>,
}

/// Writes a span as a line.
pub fn write(to: &mut String, it: &Line<'_>) {
    let failed = it.outcome != Outcome::Success;
    cell(to, &print_time(it.start));
    for text in [it.trace, it.span, it.parent, it.operation] {
        to.push(',');
        cell(to, text);
    }
    let kind = match it.kind {
        Kind::Unset => "Unspecified",
        Kind::Server => "Server",
        Kind::Client => "Client",
        Kind::Internal => "Internal",
        Kind::Producer => "Producer",
        Kind::Consumer => "Consumer",
    };
    to.extend([",", kind, ","]);
    cell(to, it.service);
    to.push(',');
    cell(to, &map(&[("k8s.pod.name", it.instance)]));
    to.push(',');
    cell(to, &attributes(it));
    to.push(',');
    if it.duration != UNKNOWN_DURATION {
        to.push_str(&it.duration.to_string());
    }
    to.push_str(if failed { ",Error," } else { ",Unset," });
    cell(to, it.message);
    to.push('\n');
}

/// What the other columns do not say.
fn attributes(it: &Line<'_>) -> String {
    let generation = it.breaker.and_then(|it| it.generation);
    let generation = generation.map_or_else(String::new, |it| it.to_string());
    let state = it.breaker.and_then(|it| it.state);
    let mut rejected = it.breaker.is_some_and(|it| it.rejected);
    // The message alone would say something else: the outcome was told by a code, or by other calls.
    let told = outcome(Evidence {
        failed: Some(it.outcome != Outcome::Success),
        message: it.message,
        ..Evidence::default()
    });
    let mut code = "";
    if told != it.outcome {
        match it.outcome {
            Outcome::TimedOut => code = "4",
            Outcome::Rejected => rejected = true,
            _ => {}
        }
    }
    map(&[
        ("peer.service", it.peer),
        ("rpc.grpc.status_code", code),
        ("breaker.state", state.map_or("", |it| it.as_str())),
        ("breaker.generation", &generation),
        ("breaker.rejected", if rejected { "true" } else { "" }),
        ("breaker.name", it.breaker.map_or("", |it| it.name)),
    ])
}

/// A map as ClickHouse writes it, of the keys that have a value.
fn map(pairs: &[(&str, &str)]) -> String {
    let mut text = String::from("{");
    for (key, value) in pairs.iter().filter(|it| !it.1.is_empty()) {
        if text.len() > 1 {
            text.push(',');
        }
        text.extend(["'", key, "':"]);
        // Quotes of the other kind need no backslash.
        let quote = if value.contains('\'') { '"' } else { '\'' };
        text.push(quote);
        for c in value.chars() {
            if c == '\\' || c == quote {
                text.push('\\');
            }
            text.push(c);
        }
        text.push(quote);
    }
    text.push('}');
    text
}

/// A text as a cell, in quotes where it needs them.
fn cell(to: &mut String, text: &str) {
    let special = |b: u8| matches!(b, b',' | b'"' | b'\n' | b'\r');
    if !text.bytes().any(special) {
        return to.push_str(text);
    }
    to.push('"');
    for (at, part) in text.split('"').enumerate() {
        to.extend([if at > 0 { "\"\"" } else { "" }, part]);
    }
    to.push('"');
}

/// The spans that are meant, and how far the writing is.
pub struct Writing {
    spans: Range<usize>,
    /// The time in view; `None` for all of it.
    time: Option<[i64; 2]>,
    matches: Option<Bits>,
    begun: bool,
}

impl Writing {
    /// The spans of a trace of that id, or else those in view that the view's filter means. What is switched off in the
    /// legend counts: it hides colours, not spans.
    pub fn new(table: &SpanTable, view: &View, home: Viewport, trace: Option<&str>) -> Writing {
        if let Some(id) = trace {
            let rank = table.find_trace(id);
            return Writing {
                spans: rank.map_or(0..0, |it| table.trace(it)),
                time: None,
                matches: None,
                begun: false,
            };
        }
        let viewport = view.viewport.unwrap_or(home);
        let filter = view.filter.as_deref();
        let filter = filter.and_then(|it| it.parse::<Filter>().ok());
        Writing {
            spans: table.band(Scale::new(viewport, [1, 1]).ranks()),
            // What everybody looks at is not all that there is.
            time: view.viewport.map(|it| [it.t0, it.t1]),
            matches: filter.map(|it| Matches::of(&it, table).bits),
            begun: false,
        }
    }

    /// Writes the next piece, the first line before the first one; whether there is more.
    pub fn step(&mut self, table: &SpanTable, to: &mut String) -> bool {
        if !std::mem::replace(&mut self.begun, true) {
            to.push_str(HEADER);
        }
        let end = self.spans.end.min(self.spans.start + A_PIECE);
        for at in self.spans.start..end {
            let in_view = |[from, to]: [i64; 2]| Part::of(table, at).overlaps(from, to);
            let meant = self.matches.as_ref().is_none_or(|it| it.has(at));
            if meant && self.time.is_none_or(in_view) {
                write_span(to, table, SpanIdx(at as u32));
            }
        }
        self.spans.start = end;
        end < self.spans.end
    }
}

fn write_span(to: &mut String, table: &SpanTable, span: SpanIdx) {
    let at = span.0 as usize;
    let name = |text: u32| match text {
        NONE => "",
        text => table.names.get(text),
    };
    let (trace, id) = (table.trace_id(table.rank[at]), table.span_id(span));
    let parent = match table.parent(span) {
        Parent::Span(parent) => Some(table.span_id(parent)),
        _ => None,
    };
    let parent = match (&parent, table.parent(span)) {
        (Some(id), _) => id,
        (None, Parent::Missing) => UNKNOWN_PARENT,
        _ => "",
    };
    let line = Line {
        trace: &trace,
        span: &id,
        parent,
        start: table.start[at],
        duration: table.duration[at],
        service: table.service_name(table.service[at]),
        operation: name(table.operation(at)),
        kind: table.kind[at],
        outcome: table.outcome[at],
        instance: name(table.instance(at)),
        peer: name(table.peer(at)),
        message: name(table.message(at)),
        breaker: table.recorded(span),
    };
    write(to, &line);
}
