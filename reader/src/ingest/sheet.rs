//! Text to records: header and rows.
//!
//! Owns the csv parser (the core of the `csv` crate, which can be fed) and the head of the file, of
//! which a bounded piece is held back until the dialect is settled. Invariant: nothing depends on how
//! the text is cut into pushes: all sniffing looks at the same first bytes. Memory is bounded by the
//! longest row; of a longer one nothing is kept, and reading goes on at its next line break. O(bytes).
//! Pinned by `tests/ingest/properties.rs`.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::Limits;
use super::documents::Documents;
use super::exporters::Field;
use super::head::{delimiter, escapes_by_backslash, is_json, refuse_foreign, separator_line};
use super::intake::{Intake, Record};
use super::plan::{Cells, Plan, plan, recognise_headerless};
use super::told::Told;
use super::unmapped::Unmapped;
use super::unreadable::Unreadable;
use crate::issues::Code;
use crate::order;

/// How many rows the sample takes that units are guessed from.
const SAMPLE: usize = 100;

/// The table of a file, as far as it was pushed.
pub(super) struct Sheet {
    limits: Limits,
    /// The text so far, until the plan is made.
    head: Option<Vec<u8>>,
    delimiter: u8,
    csv: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
    /// How much of `text` and `ends` the record that is being read has filled.
    filled: usize,
    cells: usize,
    /// Bytes of the record that is being read, and the line that it began in.
    raw: usize,
    line: u64,
    /// The records begun so far: the header is row 1.
    row: u64,
    /// A row was too long: what is left of its line is passed over.
    skipping: bool,
    /// What a person says about the file.
    pub(super) told: Told,
    plan: Option<Plan>,
    /// The first rows, where no plan could be made, or a person has told the columns.
    pub(super) first_rows: Vec<Cells>,
    /// The first record is a row.
    headerless: bool,
    header: Vec<u8>,
    header_ends: Vec<usize>,
    pub(super) intake: Intake,
    scratch: Scratch,
    /// What reads the text when it is no table.
    documents: Option<Box<Documents>>,
}

/// A record written anew, where its cells must change.
#[derive(Default)]
struct Scratch {
    text: String,
    ends: Vec<usize>,
}

impl Sheet {
    pub(super) fn new(limits: Limits) -> Sheet {
        Sheet {
            limits,
            head: Some(Vec::new()),
            delimiter: b',',
            csv: Reader::new(),
            text: vec![0; 1 << 12],
            ends: vec![0; 64],
            filled: 0,
            cells: 0,
            raw: 0,
            line: 1,
            row: 0,
            skipping: false,
            told: Told::default(),
            plan: None,
            first_rows: Vec::new(),
            headerless: false,
            header: Vec::new(),
            header_ends: Vec::new(),
            intake: Intake::default(),
            scratch: Scratch::default(),
            documents: None,
        }
    }

    pub(super) fn push(&mut self, text: &[u8]) -> Result<(), Unreadable> {
        if let Some(documents) = &mut self.documents {
            return documents.push(text, &mut self.intake);
        }
        let Some(head) = &mut self.head else {
            return self.records(text);
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
        if self.raw > 0 {
            self.last_record()?;
        }
        if let Some(documents) = &mut self.documents {
            self.plan = documents.finish(&mut self.intake)?;
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

    pub(super) fn take_plan(&mut self) -> Option<Plan> {
        self.plan.take()
    }

    fn unknown_columns(&self) -> Unreadable {
        let text = String::from_utf8_lossy(&self.header);
        let header = Record {
            text: &text,
            ends: &self.header_ends,
        };
        Unreadable::unknown_columns(Unmapped::new(header.iter(), &self.first_rows))
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
        self.delimiter = separator.unwrap_or_else(|| delimiter(body));
        let escape = escapes_by_backslash(body, self.delimiter).then_some(b'\\');
        self.csv = parser(self.delimiter, escape);
        let mut sample = sample(self.delimiter, escape, body, whole).into_iter();
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
            self.plan = plan(None, layout, &rows, decimal_comma, &self.told);
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
            self.plan = plan(None, header, sample, decimal_comma, &self.told);
            let shown = self.plan.is_none() || !self.told.columns.is_empty();
            if shown && self.first_rows.is_empty() {
                self.first_rows = sample.iter().take(8).cloned().collect();
            }
        }
    }

    fn records(&mut self, mut input: &[u8]) -> Result<(), Unreadable> {
        while !input.is_empty() {
            if self.skipping {
                let Some(at) = memchr::memchr2(b'\r', b'\n', input) else {
                    return Ok(());
                };
                self.skipping = false;
                input = &input[at..];
            }
            if self.raw == 0 {
                // Line breaks between records belong to none.
                let breaks = input
                    .iter()
                    .take_while(|b| matches!(b, b'\r' | b'\n'))
                    .count();
                if breaks > 0 {
                    let (skipped, rest) = input.split_at(breaks);
                    input = rest;
                    self.step(skipped);
                    continue;
                }
                self.line = self.csv.line();
            }
            // Never beyond the limit, so that where a row is given up depends on its bytes alone.
            let room = self.longest().saturating_sub(self.raw) + 1;
            let (result, read) = self.step(&input[..room.min(input.len())]);
            self.raw += read;
            let last = input[..read].last().copied();
            input = &input[read..];
            self.settle_step(result, last)?;
        }
        Ok(())
    }

    /// Whether a row is the header again, maybe with the byte order mark of the file it began.
    fn is_header(&self, text: &[u8], ends: &[usize]) -> bool {
        let mark = if text.starts_with(b"\xEF\xBB\xBF") {
            3
        } else {
            0
        };
        let same = |(end, header): (&usize, &usize)| *end == header + mark;
        !self.headerless
            && text[mark..] == self.header
            && ends.len() == self.header_ends.len()
            && ends.iter().zip(&self.header_ends).all(same)
    }

    fn step(&mut self, input: &[u8]) -> (ReadRecordResult, usize) {
        let text = &mut self.text[self.filled..];
        let ends = &mut self.ends[self.cells..];
        let (result, read, filled, cells) = self.csv.read_record(input, text, ends);
        self.filled += filled;
        self.cells += cells;
        (result, read)
    }

    fn settle_step(
        &mut self,
        result: ReadRecordResult,
        last: Option<u8>,
    ) -> Result<(), Unreadable> {
        if self.raw > self.longest() {
            return self.give_up(result == ReadRecordResult::Record, last);
        }
        match result {
            ReadRecordResult::InputEmpty | ReadRecordResult::End => {}
            ReadRecordResult::OutputFull => self.text.resize(self.text.len() * 2, 0),
            ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
            ReadRecordResult::Record => self.record(End::Line)?,
        }
        Ok(())
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
        let got = format!("the row that begins in line {}", self.line);
        let issues = &mut self.intake.issues;
        issues.note(Code::RowTooLong, Some(self.row), None, Some(&got));
        (self.filled, self.cells, self.raw) = (0, 0, 0);
        if !ended {
            let line = self.csv.line();
            self.csv.reset();
            self.csv.set_line(line);
            self.skipping = !matches!(last, Some(b'\r' | b'\n'));
        }
        Ok(())
    }

    /// The record that the text breaks off in.
    fn last_record(&mut self) -> Result<(), Unreadable> {
        // Inside quotes a line break is text, outside it ends the record.
        let lines = self.csv.line();
        let result = loop {
            match self.step(b"\n").0 {
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => self.grow(),
                other => break other,
            }
        };
        if result == ReadRecordResult::Record {
            return self.record(End::Text);
        }
        while self.step(&[]).0 == ReadRecordResult::OutputEndsFull {
            self.grow();
        }
        // The break that was put in belongs to no cell.
        if let Some(end) = self.ends[..self.cells].last_mut() {
            self.filled = self.filled.saturating_sub(1);
            *end = self.filled.min(*end);
        }
        self.record(if lines > self.line {
            End::OpenQuote
        } else {
            End::Cut
        })
    }

    fn grow(&mut self) {
        self.text.resize(self.text.len() * 2, 0);
        self.ends.resize(self.ends.len() * 2, 0);
    }

    /// A whole record stands in `text` and `ends`.
    fn record(&mut self, end: End) -> Result<(), Unreadable> {
        let (filled, cells) = (self.filled, self.cells);
        (self.filled, self.cells, self.raw) = (0, 0, 0);
        self.row += 1;
        let row = self.row;
        let (text, ends) = (&self.text[..filled], &self.ends[..cells]);
        if row == 1 && !self.headerless {
            let cells = cells_of(text, ends);
            let (text, ends) = (text.to_vec(), ends.to_vec());
            if self.plan.is_none() {
                // The head held no whole header, or none of spans.
                self.settle_plan(cells, &[]);
            }
            if !self.headerless {
                (self.header, self.header_ends) = (text, ends);
                return if self.plan.is_some() {
                    Ok(())
                } else {
                    Err(self.unknown_columns())
                };
            }
        }
        let (text, ends) = (&self.text[..filled], &self.ends[..cells]);
        let Some(plan) = &self.plan else {
            return Err(self.unknown_columns());
        };
        let width = plan.headers.len();
        let repeated = self.is_header(text, ends);
        let intake = &mut self.intake;
        if cells == 1 && width > 1 && text.trim_ascii().is_empty() {
            self.row -= 1;
            return Ok(());
        }
        if end == End::OpenQuote {
            let got = format!("a quote in the row of line {}", self.line);
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
        let text = std::str::from_utf8(text).ok();
        let text = text.filter(|it| ends.iter().all(|&end| it.is_char_boundary(end)));
        let record = match text {
            Some(text) => Record { text, ends },
            None => {
                let text = &self.text[..filled];
                intake.issues.note(Code::Encoding, Some(row), None, None);
                self.scratch.latin_1(text, ends)
            }
        };
        if cells == width {
            intake.take(plan, record, row);
            return Ok(());
        }
        let mut joined = Scratch::default();
        let record = joined.thousands(record, plan, self.delimiter);
        let blank = |column| record.get(column).trim_ascii().is_empty();
        if (width..record.len()).all(blank) {
            let ends = &record.ends[..width];
            intake.take(plan, Record { ends, ..record }, row);
            return Ok(());
        }
        intake.issues.note(Code::RowLong, Some(row), None, None);
        let mut glued = Scratch::default();
        let record = glued.glue(record, width, char::from(self.delimiter));
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

impl Scratch {
    /// The cells that are no UTF-8 as Latin-1.
    fn latin_1(&mut self, text: &[u8], ends: &[usize]) -> Record<'_> {
        self.text.clear();
        self.ends.clear();
        let mut start = 0;
        for &end in ends {
            let cell = text.get(start..end).unwrap_or_default();
            push_text(cell, &mut self.text);
            self.ends.push(self.text.len());
            start = end;
        }
        Record {
            text: &self.text,
            ends: &self.ends,
        }
    }

    /// A record with too many cells, its duration put together again when it was cut at its
    /// separator of thousands.
    fn thousands<'a>(&'a mut self, record: Record<'a>, plan: &Plan, delimiter: u8) -> Record<'a> {
        let duration = plan.column(Field::Duration) as usize;
        let cut = |cell, next| delimiter == b',' && thousands(cell, next);
        if !cut(record.get(duration), record.get(duration.saturating_add(1))) {
            return record;
        }
        for (column, cell) in record.iter().enumerate() {
            self.text.push_str(cell);
            if column == duration {
                self.text.push(',');
            } else {
                self.ends.push(self.text.len());
            }
        }
        Record {
            text: &self.text,
            ends: &self.ends,
        }
    }

    /// A record with too many cells, what is too much joined to its last column.
    fn glue(&mut self, record: Record<'_>, width: usize, delimiter: char) -> Record<'_> {
        for (column, cell) in record.iter().enumerate() {
            if column >= width {
                self.text.push(delimiter);
                self.ends.pop();
            }
            self.text.push_str(cell);
            self.ends.push(self.text.len());
        }
        Record {
            text: &self.text,
            ends: &self.ends,
        }
    }
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

fn cells_of(text: &[u8], ends: &[usize]) -> Cells {
    let mut start = 0;
    let cells = ends.iter().map(|&end| {
        let cell = text.get(start..end).unwrap_or_default();
        start = end;
        cell_text(cell)
    });
    cells.collect()
}

fn cell_text(cell: &[u8]) -> String {
    let mut text = String::new();
    match push_text(cell, &mut text) {
        true => text.trim().to_owned(),
        false => text,
    }
}

fn parser(delimiter: u8, escape: Option<u8>) -> Reader {
    ReaderBuilder::new()
        .delimiter(delimiter)
        .escape(escape)
        .build()
}

/// The header and the first rows. Of the last one, which the head may cut, only when it is whole.
fn sample(delimiter: u8, escape: Option<u8>, head: &[u8], whole: bool) -> Vec<Cells> {
    let mut csv = parser(delimiter, escape);
    // A record is never longer than the head, and has no more cells than bytes and one.
    let (mut text, mut ends) = (vec![0; head.len()], vec![0; head.len() + 1]);
    let (mut filled, mut cells, mut input) = (0, 0, head);
    let mut sample: Vec<Cells> = Vec::new();
    while sample.len() <= SAMPLE {
        let ended = input.is_empty();
        let (result, read, n_text, n_cells) =
            csv.read_record(input, &mut text[filled..], &mut ends[cells..]);
        (filled, cells, input) = (filled + n_text, cells + n_cells, &input[read..]);
        match result {
            ReadRecordResult::Record if ended && !whole => break,
            ReadRecordResult::Record => {
                let starts = std::iter::once(&0).chain(&ends[..cells]);
                let cell = |(&from, &to): (&usize, &usize)| cell_text(&text[from..to]);
                sample.push(starts.zip(&ends[..cells]).map(cell).collect());
                (filled, cells) = (0, 0);
            }
            ReadRecordResult::InputEmpty if !ended => {}
            _ => break,
        }
    }
    sample
}
