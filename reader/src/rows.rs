//! Spans as a reader met them: columns in the order of the file, texts interned, nothing resolved.
//!
//! Owns what ingest writes and the span table reads. Invariant: every column has one entry a row, or none
//! at all where few files have it. Adding a row allocates nothing beyond the growth of the columns. Pinned by
//! the tests of the table, which are written as rows.

use std::ops::Range;

use crate::column::Column;
use crate::ids::{Id, SpanIds, TraceIds};
use crate::labels::{LabelSet, LabelSets};
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
    /// What the row says beside that, in `label_sets`.
    pub labels: Column<u32>,
    pub row: Column<u32>,
    /// Where the rows of each file but the first begin, ascending.
    pub later_files: Column<u32>,
    /// The ids that `trace` has indices of.
    pub trace_ids: TraceIds,
    /// The ids that `span` and `parent` hold.
    pub span_ids: SpanIds,
    /// The sets that `labels` has indices of.
    pub label_sets: LabelSets,
    /// Texts of the label sets, and the names of breakers.
    pub names: Strings,
}

impl SpanRows {
    /// Appends one row.
    pub fn push(&mut self, row: SpanRow<'_>) {
        let names = &mut self.names;
        let mut or_none = |text: Option<&str>| text.map_or(NONE, |it| names.intern(it));
        let set = LabelSet {
            service: or_none(Some(row.service)),
            operation: or_none(Some(row.operation)),
            instance: or_none(row.instance),
            peer: or_none(row.peer),
            message: or_none(Some(row.message)),
            breaker: {
                or_none(row.breaker.map(|it| recorded::read(it).name));
                or_none(row.breaker)
            },
            kind: row.kind,
            outcome: row.outcome,
        };
        let labels = self.label_sets.intern(set);
        let ids = [row.trace, row.span, row.parent.unwrap_or("")].map(str::as_bytes);
        let duration = row.duration.unwrap_or(UNKNOWN_DURATION);
        self.push_labelled(ids, row.start, duration, labels, row.row);
    }

    /// Appends a row of which all but the ids, the times and the place is known; an empty parent is none.
    #[inline(never)]
    pub fn push_labelled(
        &mut self,
        ids: [&[u8]; 3],
        start: i64,
        duration: u64,
        labels: u32,
        row: u32,
    ) {
        self.push_ids(ids);
        self.start.push(start);
        self.duration.push(duration);
        self.labels.push(labels);
        self.row.push(row);
    }

    /// What a row says beside its ids and times.
    #[inline(always)]
    pub fn label_set(&self, at: usize) -> &LabelSet {
        self.label_sets.get(self.labels[at])
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
            let set = other.label_set(at);
            let name = |text: u32| other.names.get(text);
            let if_any = |text: u32| (text != NONE).then(|| name(text));
            self.push(SpanRow {
                trace: &other.trace_id(at),
                span: &other.span_id(at),
                parent: other.parent_id(at).as_deref(),
                start: other.start[at],
                duration: Some(other.duration[at]).filter(|&it| it != UNKNOWN_DURATION),
                service: name(set.service),
                operation: name(set.operation),
                kind: set.kind,
                outcome: set.outcome,
                instance: if_any(set.instance),
                peer: if_any(set.peer),
                message: name(set.message),
                row: other.row[at],
                breaker: if_any(set.breaker),
            });
        }
    }

    /// Leaves out the rows from `n_rows` on.
    pub fn truncate(&mut self, n_rows: usize) {
        for column in [&mut self.trace, &mut self.labels, &mut self.row] {
            column.truncate(n_rows);
        }
        self.span.truncate(n_rows);
        self.parent.truncate(n_rows);
        self.start.truncate(n_rows);
        self.duration.truncate(n_rows);
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
        let places = [&self.trace, &self.labels, &self.row, &self.later_files];
        let places: usize = places.iter().map(|it| it.bytes()).sum();
        let ids = self.span.bytes() + self.parent.bytes();
        let times = self.start.bytes() + self.duration.bytes();
        let texts = self.trace_ids.bytes() + self.span_ids.bytes() + self.names.bytes();
        places + ids + times + self.label_sets.bytes() + texts
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
