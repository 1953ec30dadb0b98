//! Text to records: header and rows.
//!
//! Owns what becomes of each record that is cut ([`Cutter`]), and the head of the file, of which a bounded
//! piece is held back until the dialect is settled. Invariant: nothing depends on how the text is cut into
//! pushes: all sniffing looks at the same first bytes. Memory is bounded by the longest row; of a longer one nothing is kept, and reading goes on at its next line break. O(bytes).
//! Pinned by `tests/ingest/properties.rs`.

use std::sync::Arc;

use herdscope_cells::cut::Cutter;

use super::Limits;
use super::documents::Documents;
use super::exporters::Field;
use super::head::{delimiter, escapes_by_backslash, is_json, refuse_foreign, separator_line};
use super::intake::{Intake, Record};
use super::plan::{Cells, Plan, plan, recognise_headerless};
use super::quick::{Quick, Taken};
use super::row::{EVERY, Places};
use super::told::Told;
use super::unmapped::Unmapped;
use super::unreadable::Unreadable;
use super::waiting::Texts;
use crate::column::Column;
use crate::issues::Code;
use crate::order;

/// A byte order mark.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// How many rows the sample takes that units are guessed from.
const SAMPLE: usize = 100;

/// The table of a file, as far as it was pushed.
pub(super) struct Sheet {
    limits: Limits,
    /// The text so far, until the plan is made.
    head: Option<Vec<u8>>,
    delimiter: u8,
    /// What escapes quotes that are not doubled.
    escape: Option<u8>,
    cutter: Cutter,
    /// What there is of a record that goes on in the next piece of the text.
    held: Vec<u8>,
    /// The line breaks before the record that is being read.
    lines: u64,
    /// The records begun so far: the header is row 1.
    row: u64,
    /// Where the record that is being read begins in the text, or line breaks before it.
    at: u64,
    /// See [`Places`].
    begins: Column<u64>,
    /// Where to begin, when rows are read again, and the one that is wanted; 0 for all.
    from: u64,
    wanted: u64,
    /// A row was too long: what is left of its line is passed over.
    skipping: bool,
    /// What a person says about the file.
    pub(super) told: Told,
    plan: Option<Arc<Plan>>,
    /// The first rows, where no plan could be made, or a person has told the columns.
    pub(super) first_rows: Vec<Cells>,
    /// The first record is a row.
    headerless: bool,
    header: Vec<Vec<u8>>,
    pub(super) intake: Intake,
    /// A record written anew, where its cells must change.
    scratch: Texts,
    /// What reads the text when it is no table.
    documents: Option<Box<Documents>>,
}

impl Sheet {
    pub(super) fn new(limits: Limits) -> Sheet {
        Sheet {
            limits,
            head: Some(Vec::new()),
            delimiter: b',',
            escape: None,
            cutter: Cutter::new(b',', None),
            held: Vec::new(),
            lines: 0,
            row: 0,
            at: 0,
            begins: Column::default(),
            from: 0,
            wanted: 0,
            skipping: false,
            told: Told::default(),
            plan: None,
            first_rows: Vec::new(),
            headerless: false,
            header: Vec::new(),
            intake: Intake::default(),
            scratch: Texts::default(),
            documents: None,
        }
    }

    /// Reads one row again, from a place on, before which so many rows stand.
    pub(super) fn again(&mut self, places: &Places, row: u64, wanted: u64, from: u64) {
        self.head = None;
        (self.delimiter, self.escape) = (places.delimiter, places.escape);
        self.cutter = Cutter::new(self.delimiter, self.escape);
        self.plan = Some(places.plan.clone());
        self.headerless = places.headerless;
        (self.row, self.from, self.wanted) = (row, from, wanted);
        self.intake.kept = Some(Vec::new());
    }

    /// What it takes to read rows of this table again; `None` for documents.
    pub(super) fn places(&mut self, plan: Arc<Plan>, direct: bool) -> Option<Arc<Places>> {
        self.documents.is_none().then(|| {
            Arc::new(Places {
                limits: self.limits,
                plan,
                delimiter: self.delimiter,
                escape: self.escape,
                headerless: self.headerless,
                begins: std::mem::take(&mut self.begins),
                direct,
            })
        })
    }

    /// Passes over text that is none of the sheet's.
    pub(super) fn pass(&mut self, n_bytes: u64) {
        self.at += n_bytes;
    }

    /// Whether all of that row has been read.
    pub(super) fn has_begun(&self, row: u64) -> bool {
        self.row >= row
    }

    pub(super) fn push(&mut self, text: &[u8]) -> Result<(), Unreadable> {
        if let Some(documents) = &mut self.documents {
            return documents.push(text, &mut self.intake);
        }
        let Some(head) = &mut self.head else {
            let before = self.from.saturating_sub(self.at);
            let before = before.min(text.len() as u64);
            self.at += before;
            return self.records(&text[before as usize..]);
        };
        // The rest of a large push goes the usual way, whatever its size.
        let wanted = self.limits.sniffed.saturating_sub(head.len());
        let (now, later) = text.split_at(wanted.min(text.len()));
        head.extend_from_slice(now);
        if head.len() < self.limits.sniffed {
            return Ok(());
        }
        self.settle(false)?;
        match &mut self.documents {
            Some(documents) => documents.push(later, &mut self.intake),
            None => self.records(later),
        }
    }

    /// The end of the text. The plan, when there is one, is there to be taken.
    pub(super) fn finish(&mut self) -> Result<(), Unreadable> {
        if self.head.is_some() {
            self.settle(true)?;
        }
        if !self.held.is_empty() {
            self.last_record()?;
        }
        if let Some(documents) = &mut self.documents {
            self.plan = documents.finish(&mut self.intake)?.map(Arc::new);
        }
        match self.plan.take() {
            None if self.row == 0 => Err(Unreadable::empty()),
            None => Err(self.unknown_columns()),
            Some(plan) => {
                if self.intake.met == 0 {
                    self.intake.issues.note(Code::NoRows, None, None, None);
                }
                self.intake.finish(&plan);
                self.plan = Some(plan);
                Ok(())
            }
        }
    }

    pub(super) fn take_plan(&mut self) -> Option<Arc<Plan>> {
        self.plan.take()
    }

    fn unknown_columns(&self) -> Unreadable {
        let header: Vec<_> = self
            .header
            .iter()
            .map(|it| String::from_utf8_lossy(it))
            .collect();
        let header = header.iter().map(|it| &**it);
        Unreadable::unknown_columns(Unmapped::new(header, &self.first_rows))
    }

    /// Looks at the head, makes the plan, and reads the head's records.
    fn settle(&mut self, whole: bool) -> Result<(), Unreadable> {
        let head = self.head.take().unwrap_or_default();
        if is_json(&head) {
            let documents = self.documents.insert(Box::new(Documents::new(
                self.limits,
                std::mem::take(&mut self.told),
            )));
            return documents.push(&head, &mut self.intake);
        }
        refuse_foreign(&head)?;
        let (skipped, separator) = separator_line(&head);
        let body = &head[skipped..];
        // Written twice, as where files are put together, it belongs to no name either.
        let body = body.strip_prefix(MARK).unwrap_or(body);
        self.at += (head.len() - body.len()) as u64;
        self.delimiter = separator.unwrap_or_else(|| delimiter(body));
        self.escape = escapes_by_backslash(body, self.delimiter).then_some(b'\\');
        self.cutter = Cutter::new(self.delimiter, self.escape);
        let mut sample = sample(self.cutter.clone(), body, whole).into_iter();
        if let Some(header) = sample.next() {
            self.settle_plan(header, sample.as_slice());
        }
        self.records(body)
    }

    fn settle_plan(&mut self, header: Cells, sample: &[Cells]) {
        let decimal_comma = self.delimiter == b';';
        if let Some(layout) = recognise_headerless(&header) {
            let mut rows = vec![header];
            rows.extend_from_slice(sample);
            let plan = plan(None, layout, &rows, decimal_comma, &self.told);
            self.plan = plan.map(Arc::new);
            self.headerless = true;
        } else {
            // A line of a megabyte has hundreds of thousands of names.
            let name = |at: u32| &header[at as usize];
            let by_name = order::sorted_indices(header.len(), &mut |a, b| name(a).cmp(name(b)));
            let same = by_name.windows(2).filter(|it| name(it[0]) == name(it[1]));
            let mut again: Vec<u32> = same.map(|it| it[1]).collect();
            order::sort(&mut again, &mut |a, b| a.cmp(&b));
            for at in again.into_iter().filter(|&at| !name(at).is_empty()) {
                let issues = &mut self.intake.issues;
                issues.note(Code::DuplicateHeader, Some(1), Some(name(at)), None);
            }
            let plan = plan(None, header, sample, decimal_comma, &self.told);
            self.plan = plan.map(Arc::new);
            let shown = self.plan.is_none() || !self.told.columns.is_empty();
            if shown && self.first_rows.is_empty() {
                self.first_rows = sample.iter().take(8).cloned().collect();
            }
        }
        self.intake.quick = self.plan.as_deref().and_then(Quick::new);
    }

    fn records(&mut self, mut input: &[u8]) -> Result<(), Unreadable> {
        while !input.is_empty() {
            if self.skipping {
                let end = memchr::memchr2(b'\r', b'\n', input);
                let skipped = end.unwrap_or(input.len());
                self.at += skipped as u64;
                self.skipping = end.is_none();
                input = &input[skipped..];
                if self.skipping {
                    return Ok(());
                }
            }
            if !self.held.is_empty() {
                input = self.go_on(input)?;
                continue;
            }
            // Line breaks between records belong to none.
            if let b'\r' | b'\n' = input[0] {
                self.lines += u64::from(input[0] == b'\n');
                self.at += 1;
                input = &input[1..];
                continue;
            }
            // Never beyond the limit, so that where a row is given up depends on its bytes alone.
            let room = input.len().min(self.longest() + 1);
            match self.cutter.scan(&input[..room]) {
                None if room <= self.longest() => {
                    self.held.extend_from_slice(input);
                    return Ok(());
                }
                end => {
                    let (record, rest) = input.split_at(end.unwrap_or(room));
                    input = rest;
                    self.settle_record(record, end.is_some())?;
                }
            }
        }
        Ok(())
    }

    /// Goes on with a record that the text before has begun; what is left of the input.
    fn go_on<'a>(&mut self, input: &'a [u8]) -> Result<&'a [u8], Unreadable> {
        /// What is copied of the records after it is copied for nothing.
        const PIECE: usize = 512;
        let mut held = std::mem::take(&mut self.held);
        let before = held.len();
        let room = (self.longest() + 1).saturating_sub(before);
        let (piece, rest) = input.split_at(input.len().min(PIECE).min(room));
        held.extend_from_slice(piece);
        match self.cutter.scan(&held) {
            None if held.len() <= self.longest() => {
                self.held = held;
                Ok(rest)
            }
            end => {
                held.truncate(end.unwrap_or(held.len()));
                self.settle_record(&held, end.is_some())?;
                let used = held.len() - before;
                held.clear();
                self.held = held;
                Ok(&input[used..])
            }
        }
    }

    /// Takes a record that has ended, or is too long.
    fn settle_record(&mut self, record: &[u8], ended: bool) -> Result<(), Unreadable> {
        if self.row.is_multiple_of(EVERY) && self.begins.len() as u64 == self.row / EVERY {
            self.begins.push(self.at);
        }
        self.at += record.len() as u64;
        let result = match record.len() > self.longest() {
            true => self.give_up(ended, record.last().copied()),
            false => self.record(record, End::Line),
        };
        self.lines += self.cutter.quoted_breaks();
        self.lines += u64::from(ended && record.ends_with(b"\n"));
        self.cutter.clear();
        result
    }

    /// Whether a row is the header again, maybe with the byte order mark of the file it began.
    fn is_header(&self, text: &[u8]) -> bool {
        let cuts = self.cutter.cuts();
        let mut cells = cuts.iter().map(|it| it.of(text, self.cutter.rewritten()));
        let mut header = self.header.iter();
        let is_first = |first: &[u8]| {
            let bare = first.strip_prefix(MARK).unwrap_or(first);
            header.next().is_some_and(|it| it == bare)
        };
        !self.headerless
            && cuts.len() == self.header.len()
            && cells.next().is_some_and(is_first)
            && cells.eq(self.header.iter().skip(1))
    }

    fn longest(&self) -> usize {
        match self.row {
            0 => self.limits.longest_header,
            _ => self.limits.longest_row,
        }
    }

    /// Leaves a row out that is too long. A quote that is never closed makes one of all that follows,
    /// so unless it has ended, reading goes on at the next line break, whatever stands there.
    fn give_up(&mut self, ended: bool, last: Option<u8>) -> Result<(), Unreadable> {
        if self.row == 0 {
            return Err(Unreadable::header_too_long(self.limits.longest_header));
        }
        self.row += 1;
        self.intake.met += 1;
        let got = format!("the row that begins in line {}", self.lines + 1);
        let issues = &mut self.intake.issues;
        issues.note(Code::RowTooLong, Some(self.row), None, Some(&got));
        if !ended {
            self.skipping = !matches!(last, Some(b'\r' | b'\n'));
        }
        Ok(())
    }

    /// The record that the text breaks off in.
    fn last_record(&mut self) -> Result<(), Unreadable> {
        let held = std::mem::take(&mut self.held);
        let end = match self.cutter.finish(&held) {
            true => End::Text,
            false if self.cutter.quoted_breaks() > 0 => End::OpenQuote,
            false => End::Cut,
        };
        self.record(&held, end)
    }

    /// A whole record, which has been cut.
    fn record(&mut self, text: &[u8], end: End) -> Result<(), Unreadable> {
        self.row += 1;
        let row = self.row;
        let cells = self.cutter.cuts().len();
        if row == 1 && !self.headerless {
            let cut = self.cutter.cuts().iter();
            let header: Vec<Vec<u8>> = cut
                .map(|it| it.of(text, self.cutter.rewritten()).to_vec())
                .collect();
            if self.plan.is_none() {
                // The head held no whole header, or none of spans.
                self.settle_plan(header.iter().map(|it| cell_text(it)).collect(), &[]);
            }
            if !self.headerless {
                self.header = header;
                return if self.plan.is_some() {
                    Ok(())
                } else {
                    Err(self.unknown_columns())
                };
            }
        }
        let Some(plan) = &self.plan else {
            return Err(self.unknown_columns());
        };
        let width = plan.headers.len();
        let cutter = &self.cutter;
        if cells == 1 && width > 1 {
            let only = cutter
                .cuts()
                .first()
                .map(|it| it.of(text, cutter.rewritten()));
            if only.is_none_or(|it| it.trim_ascii().is_empty()) {
                self.row -= 1;
                return Ok(());
            }
        }
        if self.wanted > 0 && row != self.wanted {
            return Ok(());
        }
        let mut unknown = None;
        if cells == width && end == End::Line {
            match self.intake.take_known(plan, text, cutter, row) {
                Taken::Yes => {
                    self.intake.met += 1;
                    return Ok(());
                }
                Taken::No => {}
                Taken::Unknown(hash) => unknown = Some(hash),
            }
        }
        let repeated = self.is_header(text);
        let intake = &mut self.intake;
        if end == End::OpenQuote {
            let got = format!("a quote in the row of line {}", self.lines + 1);
            intake
                .issues
                .note(Code::QuoteOpen, Some(row), None, Some(&got));
        }
        if repeated {
            intake
                .issues
                .note(Code::RepeatedHeader, Some(row), None, None);
            return Ok(());
        }
        intake.met += 1;
        if end == End::Cut || (cells < width && end == End::Text) {
            intake
                .issues
                .note(Code::RowTruncated, Some(row), None, None);
            return Ok(());
        }
        if cells < width {
            if end != End::OpenQuote {
                intake.issues.note(Code::RowShort, Some(row), None, None);
            }
            return Ok(());
        }
        let as_text = std::str::from_utf8(text);
        let rewritten = std::str::from_utf8(cutter.rewritten());
        let record = match (as_text, rewritten) {
            (Ok(text), Ok(rewritten)) => {
                let record = Record {
                    text,
                    rewritten,
                    cuts: cutter.cuts(),
                };
                if let Some(hash) = unknown {
                    intake.learn(plan, record, row, hash);
                    return Ok(());
                }
                record
            }
            _ => {
                if self.scratch.latin_1(text, cutter) {
                    intake.issues.note(Code::Encoding, Some(row), None, None);
                }
                self.scratch.record()
            }
        };
        if cells == width {
            intake.take(plan, record, row);
            return Ok(());
        }
        let mut joined = Texts::default();
        let record = thousands_joined(&mut joined, record, plan, self.delimiter);
        let blank = |column| record.get(column).trim_ascii().is_empty();
        if (width..record.len()).all(blank) {
            let cuts = &record.cuts[..width];
            intake.take(plan, Record { cuts, ..record }, row);
            return Ok(());
        }
        intake.issues.note(Code::RowLong, Some(row), None, None);
        let mut glued = Texts::default();
        let record = glue(&mut glued, record, width, char::from(self.delimiter));
        intake.take(plan, record, row);
        Ok(())
    }
}

/// How a record ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// With a line break.
    Line,
    /// With the text, outside quotes.
    Text,
    /// With the text, inside a quote that holds no line break.
    Cut,
    /// With the text, inside a quote that swallowed lines.
    OpenQuote,
}

impl Texts {
    /// The cells that are no UTF-8 as Latin-1. Whether there are any.
    fn latin_1(&mut self, text: &[u8], cutter: &Cutter) -> bool {
        self.clear();
        let mut any = false;
        for cut in cutter.cuts() {
            let cell = cut.of(text, cutter.rewritten());
            any |= !push_text(cell, &mut self.text);
            self.end_cell();
        }
        any
    }

    fn record(&self) -> Record<'_> {
        Record {
            text: &self.text,
            rewritten: "",
            cuts: &self.cuts,
        }
    }
}

/// A record with too many cells, its duration put together again when it was cut at its separator of
/// thousands.
fn thousands_joined<'a>(
    to: &'a mut Texts,
    record: Record<'a>,
    plan: &Plan,
    delimiter: u8,
) -> Record<'a> {
    let duration = plan.column(Field::Duration) as usize;
    let cut = |cell, next| delimiter == b',' && thousands(cell, next);
    if !cut(record.get(duration), record.get(duration.saturating_add(1))) {
        return record;
    }
    for (column, cell) in record.iter().enumerate() {
        to.text.push_str(cell);
        if column == duration {
            to.text.push(',');
        } else {
            to.end_cell();
        }
    }
    to.record()
}

/// A record with too many cells, what is too much joined to its last column.
fn glue<'a>(to: &'a mut Texts, record: Record<'_>, width: usize, delimiter: char) -> Record<'a> {
    for (column, cell) in record.iter().enumerate() {
        if column >= width {
            to.text.push(delimiter);
            to.cuts.pop();
        }
        to.text.push_str(cell);
        to.end_cell();
    }
    to.record()
}

/// Whether `1` and `304.44ms` are one duration.
fn thousands(cell: &str, next: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let unit = next.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let three = next.get(..3).is_some_and(digits)
        && !next.as_bytes().get(3).is_some_and(u8::is_ascii_digit);
    matches!(cell.len(), 1..=3) && digits(cell) && three && !unit.is_empty() && unit.len() <= 3
}

/// Appends bytes as UTF-8, or else as Latin-1, which reads every byte. Tells whether they were UTF-8.
pub(super) fn push_text(bytes: &[u8], to: &mut String) -> bool {
    let text = std::str::from_utf8(bytes);
    match text {
        Ok(text) => to.push_str(text),
        Err(_) => bytes.iter().for_each(|&b| to.push(char::from(b))),
    }
    text.is_ok()
}

fn cell_text(cell: &[u8]) -> String {
    let mut text = String::new();
    match push_text(cell, &mut text) {
        true => text.trim().to_owned(),
        false => text,
    }
}

/// The header and the first rows. Of the last one, which the head may cut, only when it is whole.
fn sample(mut cutter: Cutter, mut head: &[u8], whole: bool) -> Vec<Cells> {
    let mut sample: Vec<Cells> = Vec::new();
    while sample.len() <= SAMPLE && !head.is_empty() {
        if let b'\r' | b'\n' = head[0] {
            head = &head[1..];
            continue;
        }
        let end = cutter.scan(head);
        if end.is_none() {
            if !whole {
                break;
            }
            cutter.finish(head);
        }
        let cells = cutter.cuts().iter();
        sample.push(
            cells
                .map(|it| cell_text(it.of(head, cutter.rewritten())))
                .collect(),
        );
        cutter.clear();
        head = &head[end.unwrap_or(head.len())..];
    }
    sample
}
