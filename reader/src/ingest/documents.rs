//! The documents of tracing tools to records: Jaeger's JSON and OTLP's.
//!
//! Owns which values of a document are spans, what they belong to (a process of the trace, a
//! resource), and which cells they fill; what the cells mean is `intake`'s. A place in a document is
//! told by the keys on the way there, in any of their spellings; a list stands in the place of its
//! elements. Invariants: a span waits until what it belongs to has been read, in whatever order they
//! come, and goes on as soon as it has; of attributes only those are kept that mean something.
//! Memory is bounded by [`Limits::longest_row`] for a span and by [`Limits::waiting`] for those that
//! wait. O(bytes). Pinned by `tests/ingest/json.rs`.

use super::Limits;
use super::intake::{Attribute, Intake, attribute};
use super::json::{Tokens, Visitor};
use super::places::*;
use super::plan::Plan;
use super::sheet::push_text;
use super::told::Told;
use super::unreadable::{NAMES, Unreadable, after_byte};
use super::waiting::{Format, Queue, Texts};
use crate::issues::Code;

/// A file of documents, as far as it was pushed.
pub(super) struct Documents {
    tokens: Tokens,
    spans: Spans,
}

impl Documents {
    pub(super) fn new(limits: Limits, told: Told) -> Documents {
        Documents {
            tokens: Tokens::new(),
            spans: Spans {
                limits,
                queue: Queue::new(told),
                ..Spans::default()
            },
        }
    }

    pub(super) fn push(&mut self, text: &[u8], intake: &mut Intake) -> Result<(), Unreadable> {
        let spans = &mut self.spans;
        if self.tokens.push(text, &mut Taking { spans, intake }) {
            Ok(())
        } else {
            Err(Unreadable::trace_too_long(self.spans.limits.waiting))
        }
    }

    /// The end of the text. Gives back what the records were taken by.
    pub(super) fn finish(&mut self, intake: &mut Intake) -> Result<Option<Plan>, Unreadable> {
        let spans = &mut self.spans;
        let whole = self.tokens.is_whole();
        if !whole {
            let row = spans.row();
            intake.issues.note(Code::RowTruncated, row, None, None);
        }
        spans.queue.settle(intake);
        let format = spans.told.or(spans.no_traces.then_some(Format::Jaeger));
        match format {
            Some(format) => Ok(spans.queue.plan(format)),
            None if whole && spans.broken_at.is_none() => Err(Unreadable::json(&spans.keys)),
            None => Err(Unreadable::json_broken(spans.broken_at)),
        }
    }
}

/// The spans that were found, and where in the document the walk is.
#[derive(Default)]
struct Spans {
    limits: Limits,
    told: Option<Format>,
    /// The keys of the first documents, for the refusal.
    keys: Vec<String>,
    broken_at: Option<u64>,
    /// The only list of traces is empty.
    no_traces: bool,
    /// The places of the open values, and whether they are objects.
    open: Vec<(Place, bool)>,
    way: Way,
    said: Said,
    attributes: Texts,
    references: String,
    /// The span or owner that is being read is larger than any may be: of the rest nothing is kept.
    too_long: bool,
    /// Spans met, and whether one is being read.
    met: u64,
    in_span: bool,
    /// The id of the process that is being read.
    process: String,
    queue: Queue,
}

/// What the plain values of a span, or of what it belongs to, say.
#[derive(Default)]
struct Said {
    text: String,
    cells: [(usize, usize); NO_CELL as usize],
    /// Where the text ended before the attribute or reference that is being read.
    mark: usize,
}

impl Said {
    fn get(&self, cell: u8) -> &str {
        let (start, end) = self.cells[usize::from(cell)];
        self.text.get(start..end).unwrap_or("")
    }

    fn clear(&mut self) {
        self.text.clear();
        self.cells = [(0, 0); NO_CELL as usize];
    }

    /// An attribute or a reference begins.
    fn mark(&mut self) {
        self.mark = self.text.len();
        for cell in [KEY, VALUE, TYPE, TARGET] {
            self.cells[usize::from(cell)] = (0, 0);
        }
    }

    fn back_to_mark(&mut self) {
        self.text.truncate(self.mark);
    }
}

impl Spans {
    /// Where the value leads that comes next.
    fn way(&self) -> Way {
        let (cell, place) = match self.open.last() {
            None => (NO_CELL, Place::Document),
            Some((_, true)) => return self.way,
            Some(&(place, false)) => (NO_CELL, place),
        };
        Way { cell, place }
    }

    fn row(&self) -> Option<u64> {
        self.in_span.then_some(self.met)
    }

    fn clear(&mut self) {
        self.said.clear();
        self.attributes.clear();
        self.references.clear();
        self.too_long = false;
    }

    /// Tells whether what is kept of the span or owner has become too long.
    fn measure(&mut self) {
        let size = self.said.text.len() + self.attributes.size() + self.references.len();
        self.too_long |= size > self.limits.longest_row;
    }

    /// Whether the span or owner that ends is left out for its length.
    fn is_left_out(&mut self, intake: &mut Intake) -> bool {
        if self.too_long {
            let row = self.row();
            intake.issues.note(Code::RowTooLong, row, None, None);
        }
        self.too_long
    }

    /// Whether the attribute that is being read is known to mean nothing.
    fn is_idle(&self) -> bool {
        let key = self.said.get(KEY);
        !key.is_empty() && attribute(key).is_none()
    }

    fn attribute_ends(&mut self) {
        let (key, value) = (self.said.get(KEY), self.said.get(VALUE));
        if !value.is_empty() && !self.too_long && attribute(key).is_some() {
            self.attributes.push(key);
            self.attributes.push(value);
        }
        self.measure();
        self.said.back_to_mark();
    }

    /// Writes a reference as cells of tables have them.
    fn reference_ends(&mut self) {
        let (kind, target) = (self.said.get(TYPE), self.said.get(TARGET));
        let pieces = ["refType=", kind, ";spanID=", target, ";"];
        for piece in pieces.iter().filter(|_| !self.too_long) {
            self.references.push_str(piece);
        }
        self.measure();
        self.said.back_to_mark();
    }

    fn span_ends(&mut self, format: Format, intake: &mut Intake) {
        let left_out = self.is_left_out(intake);
        self.in_span = false;
        if left_out {
            return;
        }
        let cells = self.queue.cells();
        for cell in TRACE..OWNER {
            let said = self.said.get(cell);
            match (format, cell) {
                (Format::Jaeger, REFERENCES_KIND) => cells.push(&self.references),
                (Format::Jaeger, STATE..) => break,
                (Format::Otlp, ..=PARENT) if said.ends_with('=') => {
                    if !hex_of_base64(said, &mut cells.text) {
                        cells.text.push_str(said);
                    }
                    cells.push("");
                }
                _ => cells.push(said),
            }
        }
        cells.append(&self.attributes, 0..self.attributes.len());
        let owner = self.said.get(OWNER);
        self.queue.span(format, owner, self.met, intake);
    }

    fn owner_ends(&mut self, intake: &mut Intake) {
        if self.is_left_out(intake) {
            return;
        }
        let attributes = &self.attributes;
        let mut service = self.said.get(SERVICE);
        for at in (0..attributes.len()).step_by(2) {
            if service.is_empty() && attribute(attributes.get(at)) == Some(Attribute::Service) {
                service = attributes.get(at + 1);
            }
        }
        self.queue.owner(&self.process, service, attributes);
    }
}

/// Takes what the tokens tell.
struct Taking<'a> {
    spans: &'a mut Spans,
    intake: &'a mut Intake,
}

impl Visitor for Taking<'_> {
    fn begin(&mut self, object: bool) -> bool {
        let spans = &mut *self.spans;
        let place = spans.way().place;
        if place == Place::Document {
            spans.no_traces = !object && matches!(spans.open.last(), Some((_, true)));
        }
        match place {
            Place::Nowhere => return false,
            Place::Value if spans.is_idle() => return false,
            Place::ResourceSpans => spans.told = spans.told.or(Some(Format::Otlp)),
            Place::JaegerSpan => spans.told = spans.told.or(Some(Format::Jaeger)),
            _ => {}
        }
        spans.open.push((place, object));
        spans.way = NO_WAY;
        if !object {
            return true;
        }
        match place {
            Place::Document | Place::ResourceSpans => spans.queue.begin(self.intake),
            Place::Process | Place::Resource => spans.clear(),
            Place::JaegerSpan | Place::OtlpSpan => {
                spans.clear();
                spans.met += 1;
                self.intake.met += 1;
                spans.in_span = true;
            }
            Place::Attribute | Place::Reference => spans.said.mark(),
            _ => {}
        }
        true
    }

    fn end(&mut self) -> bool {
        let spans = &mut *self.spans;
        let Some((place, true)) = spans.open.pop() else {
            return true;
        };
        match place {
            Place::Attribute => spans.attribute_ends(),
            Place::Reference => spans.reference_ends(),
            Place::JaegerSpan => spans.span_ends(Format::Jaeger, self.intake),
            Place::OtlpSpan => spans.span_ends(Format::Otlp, self.intake),
            Place::Process => spans.owner_ends(self.intake),
            Place::Resource => {
                spans.process.clear();
                spans.owner_ends(self.intake);
                spans.queue.settle(self.intake);
            }
            Place::Processes | Place::ResourceSpans | Place::Document => {
                spans.queue.settle(self.intake);
            }
            _ => {}
        }
        spans.queue.size() <= spans.limits.waiting
    }

    fn key(&mut self, key: &[u8]) {
        let spans = &mut *self.spans;
        let place = spans.open.last().map_or(Place::Nowhere, |it| it.0);
        if place == Place::Processes {
            spans.process.clear();
            push_text(key, &mut spans.process);
            spans.way = Way {
                cell: NO_CELL,
                place: Place::Process,
            };
            return;
        }
        if place == Place::Document && spans.keys.len() <= NAMES {
            let mut name = String::new();
            push_text(key, &mut name);
            spans.keys.push(name);
        }
        spans.way = way(place, key);
    }

    fn wanted(&self) -> usize {
        match self.spans.way().cell {
            NO_CELL => 0,
            VALUE if self.spans.is_idle() => 0,
            _ if self.spans.too_long => 0,
            _ => self.spans.limits.longest_row + 1,
        }
    }

    fn value(&mut self, value: &[u8]) {
        let spans = &mut *self.spans;
        let Way { cell, place } = spans.way();
        if cell == NO_CELL {
            spans.no_traces &= place != Place::Document;
            return;
        }
        let row = spans.row();
        let said = &mut spans.said;
        let start = said.text.len();
        if !push_text(value, &mut said.text) {
            self.intake.issues.note(Code::Encoding, row, None, None);
        }
        said.cells[usize::from(cell)] = (start, said.text.len());
        spans.measure();
    }

    fn broken(&mut self, byte: u64) {
        let spans = &mut *self.spans;
        spans.broken_at.get_or_insert(byte);
        let (row, got) = (spans.row(), after_byte(byte));
        let issues = &mut self.intake.issues;
        issues.note(Code::JsonBroken, row, None, Some(&got));
        spans.queue.settle(self.intake);
        spans.open.clear();
        spans.in_span = false;
    }
}

/// Writes an id that protobuf's own JSON has in base64 as all others are written.
fn hex_of_base64(text: &str, to: &mut String) -> bool {
    let before = to.len();
    let (mut bits, mut held) = (0u32, 0u32);
    for byte in text.trim_end_matches('=').bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => {
                to.truncate(before);
                return false;
            }
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            for shift in [held + 4, held] {
                let digit = b"0123456789abcdef"[(bits >> shift & 15) as usize];
                to.push(char::from(digit));
            }
        }
    }
    true
}
