//! Spans as a reader met them: columns in the order of the file, texts interned, nothing resolved.
//!
//! Owns what ingest writes and the span table reads. Invariant: every column has one entry a row, or none
//! at all where few files have it. Adding a row allocates nothing beyond the growth of the columns. Pinned by
//! the tests of the table, which are written as rows.

use std::ops::Range;

use crate::column::Column;
use crate::ids::{Id, SpanIds, TraceIds};
use crate::outcome::Outcome;
use crate::recorded;
use crate::strings::Strings;

/// The index that stands for "none" in the columns that can be empty.
pub const NONE: u32 = u32::MAX;

/// The value that stands for "none" in the column of parents.
pub const NO_PARENT: u64 = 0;

/// A duration that the file does not tell.
pub const UNKNOWN_DURATION: u64 = u64::MAX;

/// The role of a span in a call, as in OpenTelemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The file does not say.
    Unset,
    /// Receives a request.
    Server,
    /// Sends a request.
    Client,
    /// Neither.
    Internal,
    /// Sends a message.
    Producer,
    /// Receives a message.
    Consumer,
}

impl Kind {
    /// The name in JSON and on the page.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Unset => "unset",
            Kind::Server => "server",
            Kind::Client => "client",
            Kind::Internal => "internal",
            Kind::Producer => "producer",
            Kind::Consumer => "consumer",
        }
    }
}

/// What a reader understood of one row.
#[derive(Clone, Copy, Debug)]
pub struct SpanRow<'a> {
    /// The trace's id as text.
    pub trace: &'a str,
    /// The span's id as text, unique in its trace.
    pub span: &'a str,
    /// The parent's id; `None` where the file says that there is none, in whatever way.
    pub parent: Option<&'a str>,
    /// Nanoseconds since 1970, UTC.
    pub start: i64,
    /// Nanoseconds; `None` where it cannot be told.
    pub duration: Option<u64>,
    /// The service that recorded the span.
    pub service: &'a str,
    /// The span's name.
    pub operation: &'a str,
    /// Client, server, ...
    pub kind: Kind,
    /// How it ended.
    pub outcome: Outcome,
    /// The process that recorded the span: a pod, a `service.instance.id`.
    pub instance: Option<&'a str>,
    /// The service that a client span's attributes name as the one it calls.
    pub peer: Option<&'a str>,
    /// The status message.
    pub message: &'a str,
    /// What it records of the breaker that its call passed, as [`crate::recorded`] writes it.
    pub breaker: Option<&'a str>,
    /// The row in the file; the header is row 1.
    pub row: u32,
}

/// What is made of a row's cells other than its ids and times; names are indices, as in the columns.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the columns of SpanRow, by the same names")]
pub struct Made {
    pub service: u32,
    pub operation: u32,
    pub instance: u32,
    pub peer: u32,
    pub message: u32,
    pub breaker: u32,
    pub kind: Kind,
    pub outcome: Outcome,
}

fn text(id: &[u8]) -> &str {
    std::str::from_utf8(id).unwrap_or_default()
}

/// All rows read so far, in columns. Names are indices into the table at the end.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "the columns of SpanRow, by the same names")]
pub struct SpanRows {
    pub trace: Column<u32>,
    pub span: Column<u64>,
    /// [`NO_PARENT`] where there is none.
    pub parent: Column<u64>,
    pub start: Column<i64>,
    pub duration: Column<u64>,
    pub service: Column<u32>,
    pub operation: Column<u32>,
    pub instance: Column<u32>,
    pub peer: Column<u32>,
    pub message: Column<u32>,
    pub kind: Column<Kind>,
    pub outcome: Column<Outcome>,
    pub row: Column<u32>,
    /// No entries where no row has any.
    pub breaker: Column<u32>,
    /// Where the rows of each file but the first begin, ascending.
    pub later_files: Column<u32>,
    /// The ids that `trace` has indices of.
    pub trace_ids: TraceIds,
    /// The ids that `span` and `parent` hold.
    pub span_ids: SpanIds,
    /// Texts of `service`, `operation`, `instance`, `peer`, `message` and `breaker`, and the names of breakers.
    pub names: Strings,
}

impl SpanRows {
    /// Appends one row.
    pub fn push(&mut self, row: SpanRow<'_>) {
        let or_none = |text: Option<&str>, strings: &mut Strings| match text {
            Some(text) => strings.intern(text),
            None => NONE,
        };
        self.push_ids([row.trace, row.span, row.parent.unwrap_or("")].map(str::as_bytes));
        self.start.push(row.start);
        self.duration.push(row.duration.unwrap_or(UNKNOWN_DURATION));
        self.service.push(self.names.intern(row.service));
        self.operation.push(self.names.intern(row.operation));
        self.instance.push(or_none(row.instance, &mut self.names));
        self.peer.push(or_none(row.peer, &mut self.names));
        self.message.push(self.names.intern(row.message));
        self.kind.push(row.kind);
        self.outcome.push(row.outcome);
        self.row.push(row.row);
        if row.breaker.is_some() || !self.breaker.is_empty() {
            self.note_breaker(row.breaker);
        }
    }

    /// Appends a row of which all but the ids, the times and the place is known; an empty parent is none. Ids
    /// are ASCII.
    #[inline(never)]
    pub fn push_made(&mut self, ids: [&[u8]; 3], start: i64, duration: u64, made: Made, row: u32) {
        self.push_ids(ids);
        self.start.push(start);
        self.duration.push(duration);
        self.service.push(made.service);
        self.operation.push(made.operation);
        self.instance.push(made.instance);
        self.peer.push(made.peer);
        self.message.push(made.message);
        self.kind.push(made.kind);
        self.outcome.push(made.outcome);
        self.row.push(row);
        if made.breaker != NONE || !self.breaker.is_empty() {
            let n_before = self.len() - 1;
            self.breaker.resize(n_before, NONE);
            self.breaker.push(made.breaker);
        }
    }

    /// What was made of a row.
    pub fn made(&self, at: usize) -> Made {
        Made {
            service: self.service[at],
            operation: self.operation[at],
            instance: self.instance[at],
            peer: self.peer[at],
            message: self.message[at],
            breaker: self.breaker_of(at),
            kind: self.kind[at],
            outcome: self.outcome[at],
        }
    }

    /// Appends the ids of one row: of its trace, of its span, and of its parent, where the empty one is none.
    #[inline(never)]
    fn push_ids(&mut self, [trace, span, parent]: [&[u8]; 3]) {
        let index = self.trace_ids.of_number(trace);
        let index = index.unwrap_or_else(|| self.trace_ids.intern(text(trace), &mut self.trace));
        self.trace.push(index);
        let value = self.id(span);
        self.span.push(value);
        let mut value = NO_PARENT;
        if !parent.is_empty() {
            value = self.id(parent);
            if value == NO_PARENT {
                // As a number it would be none.
                self.turn_to_texts();
                value = self.id(parent);
            }
        }
        self.parent.push(value);
    }

    fn id(&mut self, id: &[u8]) -> u64 {
        if let Some(number) = self.span_ids.of_number(id) {
            return number;
        }
        if self.span_ids.are_numbers() {
            self.turn_to_texts();
        }
        self.span_ids.intern(text(id))
    }

    fn turn_to_texts(&mut self) {
        let columns = [&mut self.span[..], &mut self.parent[..]];
        self.span_ids.turn_to_texts(columns);
    }

    #[cold]
    fn note_breaker(&mut self, text: Option<&str>) {
        // The rows so far had none.
        let n_before = self.len() - 1;
        self.breaker.resize(n_before, NONE);
        self.breaker.push(match text {
            Some(text) => {
                self.names.intern(recorded::read(text).name);
                self.names.intern(text)
            }
            None => NONE,
        });
    }

    /// The id of a row's trace.
    pub fn trace_id(&self, at: usize) -> Id<'_> {
        self.trace_ids.get(self.trace[at])
    }

    /// The id of a row's span.
    pub fn span_id(&self, at: usize) -> Id<'_> {
        self.span_ids.get(self.span[at])
    }

    /// The id of a row's parent, if it has one.
    pub fn parent_id(&self, at: usize) -> Option<Id<'_>> {
        let parent = Some(self.parent[at]).filter(|&it| it != NO_PARENT);
        parent.map(|it| self.span_ids.get(it))
    }

    /// What a row records of a breaker, in `names`; [`NONE`] where it does not.
    pub fn breaker_of(&self, at: usize) -> u32 {
        self.breaker.get(at).copied().unwrap_or(NONE)
    }

    /// Which of the files a row stands in. O(log files).
    #[inline(never)]
    pub fn file_of(&self, at: usize) -> u16 {
        let file = self.later_files.partition_point(|&it| it as usize <= at);
        u16::try_from(file).unwrap_or(u16::MAX)
    }

    /// Appends the rows of another file, whose texts have other indices.
    pub fn append(&mut self, other: &SpanRows) {
        self.begin_file();
        self.append_part(other, 0..other.len());
    }

    /// Another file's rows come next.
    pub fn begin_file(&mut self) {
        let first = self.len() as u32;
        self.later_files.push(first);
    }

    /// Appends some rows of another file.
    pub fn append_part(&mut self, other: &SpanRows, part: Range<usize>) {
        for at in part {
            let name = |column: &[u32]| other.names.get(column[at]);
            let if_any = |column: &[u32]| (column[at] != NONE).then(|| name(column));
            self.push(SpanRow {
                trace: &other.trace_id(at),
                span: &other.span_id(at),
                parent: other.parent_id(at).as_deref(),
                start: other.start[at],
                duration: Some(other.duration[at]).filter(|&it| it != UNKNOWN_DURATION),
                service: name(&other.service),
                operation: name(&other.operation),
                kind: other.kind[at],
                outcome: other.outcome[at],
                instance: if_any(&other.instance),
                peer: if_any(&other.peer),
                message: name(&other.message),
                row: other.row[at],
                breaker: Some(other.breaker_of(at))
                    .filter(|&it| it != NONE)
                    .map(|it| other.names.get(it)),
            });
        }
    }

    /// Leaves out the rows from `n_rows` on.
    pub fn truncate(&mut self, n_rows: usize) {
        for column in [
            &mut self.trace,
            &mut self.service,
            &mut self.operation,
            &mut self.instance,
            &mut self.peer,
            &mut self.message,
            &mut self.row,
            &mut self.breaker,
        ] {
            column.truncate(n_rows);
        }
        self.span.truncate(n_rows);
        self.parent.truncate(n_rows);
        self.start.truncate(n_rows);
        self.duration.truncate(n_rows);
        self.kind.truncate(n_rows);
        self.outcome.truncate(n_rows);
    }

    /// How many bytes it will take when it has `n_more` rows, and when a table is made of it: columns grow to twice
    /// their size, and sorting takes 40 bytes a row.
    pub fn bytes_ahead(&self, n_more: usize) -> u64 {
        let n_rows = self.len() + n_more;
        let grows = n_rows > self.start.capacity();
        self.bytes() as u64 * if grows { 2 } else { 1 } + 40 * n_rows as u64
    }

    /// How many bytes it takes, those included that it has taken to grow.
    pub fn bytes(&self) -> usize {
        let names = [
            &self.trace,
            &self.service,
            &self.operation,
            &self.instance,
            &self.peer,
            &self.message,
            &self.row,
            &self.breaker,
            &self.later_files,
        ];
        let names: usize = names.iter().map(|it| it.bytes()).sum();
        let ids = self.span.bytes() + self.parent.bytes();
        let times = self.start.bytes() + self.duration.bytes();
        let ended = self.kind.bytes() + self.outcome.bytes();
        let texts = self.trace_ids.bytes() + self.span_ids.bytes() + self.names.bytes();
        names + ids + times + ended + texts
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }
}
