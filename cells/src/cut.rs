//! Text to cells: where each cell of a record stands.
//!
//! Owns the grammar of csv: a cell that begins with a quote goes on to the next one that is neither doubled nor
//! escaped, whatever stands between; after it, and in cells that begin otherwise, a quote is text like any other.
//! A record ends with any line break outside quotes. Invariants: cells are what `csv_core` makes of the same
//! bytes, and do not depend on where a scan was broken off. O(bytes), a word at a time; only what was escaped is
//! copied. Pinned by `tests`, against `csv_core`.

use crate::words;

/// The quote of all dialects.
pub const QUOTE: u8 = b'"';

/// Where one cell stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Where its text begins; with [`REWRITTEN`], in [`Cutter::rewritten`].
    pub from: u32,
    /// Where its text ends.
    pub to: u32,
    /// Where, in the record, what ends the cell stands.
    pub end: u32,
}

/// Marks a cell that does not stand in the record as it is.
pub const REWRITTEN: u32 = 1 << 31;

impl Cut {
    /// The text of the cell.
    #[inline]
    pub fn of<'a>(&self, record: &'a [u8], rewritten: &'a [u8]) -> &'a [u8] {
        let (text, from) = match self.from & REWRITTEN {
            0 => (record, self.from),
            _ => (rewritten, self.from & !REWRITTEN),
        };
        text.get(from as usize..self.to as usize)
            .unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Where a cell begins.
    Begin,
    /// In a cell, outside quotes.
    Plain,
    /// Inside quotes.
    Quoted,
    /// After what escapes the next byte.
    Escaped,
    /// After a quote that ends a cell, unless another follows.
    Closed,
}

/// Cuts one record after the other.
#[derive(Clone, Debug)]
pub struct Cutter {
    delimiter: u8,
    escape: Option<u8>,
    mode: Mode,
    /// How far the record has been looked at.
    at: usize,
    /// Where what is not yet rewritten of the cell begins.
    from: usize,
    /// Where the cell begins in `rewritten`, if it does not stand in the record as it is.
    moved: Option<usize>,
    seen: u64,
    quoted_breaks: u64,
    cuts: Vec<Cut>,
    rewritten: Vec<u8>,
}

impl Cutter {
    /// Cuts records of that delimiter, inside quotes of which that byte escapes.
    pub fn new(delimiter: u8, escape: Option<u8>) -> Cutter {
        Cutter {
            delimiter,
            escape,
            mode: Mode::Begin,
            at: 0,
            from: 0,
            moved: None,
            seen: 0,
            quoted_breaks: 0,
            cuts: Vec::new(),
            rewritten: Vec::new(),
        }
    }

    /// The cells of the record so far.
    pub fn cuts(&self) -> &[Cut] {
        &self.cuts
    }

    /// What cells were rewritten to.
    pub fn rewritten(&self) -> &[u8] {
        &self.rewritten
    }

    /// How many line breaks stand inside the quotes of the record, those of `\r` alone not counted.
    pub fn quoted_breaks(&self) -> u64 {
        self.quoted_breaks
    }

    /// Whether all of the record is ASCII. It may be, too, where this says that it is not.
    pub fn is_ascii(&self) -> bool {
        words::is_ascii(self.seen)
    }

    /// Whether anything of a record was looked at.
    pub fn has_begun(&self) -> bool {
        self.at > 0
    }

    /// Forgets the record.
    pub fn clear(&mut self) {
        self.mode = Mode::Begin;
        (self.at, self.from, self.moved) = (0, 0, None);
        (self.seen, self.quoted_breaks) = (0, 0);
        self.cuts.clear();
        self.rewritten.clear();
    }

    /// Looks at a record on from where the last scan stopped: `text` begins where it begins, and whatever of it
    /// was there has not changed. Where it ends, after its line break; `None` if it goes on after the text.
    #[inline(never)]
    pub fn scan(&mut self, text: &[u8]) -> Option<usize> {
        loop {
            let at = self.at;
            match self.mode {
                Mode::Begin if *text.get(at)? == QUOTE => {
                    (self.at, self.from) = (at + 1, at + 1);
                    self.mode = Mode::Quoted;
                }
                Mode::Begin => {
                    self.from = at;
                    self.mode = Mode::Plain;
                }
                Mode::Plain => {
                    if self.plain(text) {
                        return Some(self.at);
                    }
                    if self.mode == Mode::Plain {
                        return None;
                    }
                }
                Mode::Quoted => {
                    let found = self.quoted(text)?;
                    self.at = found + 1;
                    self.mode = Mode::Closed;
                    if text[found] != QUOTE {
                        self.take(text, found);
                        self.from = found + 1;
                        self.mode = Mode::Escaped;
                    }
                }
                Mode::Escaped => {
                    let escaped = *text.get(at)?;
                    self.quoted_breaks += u64::from(escaped == b'\n');
                    self.seen |= u64::from(escaped);
                    self.at = at + 1;
                    self.mode = Mode::Quoted;
                }
                Mode::Closed => {
                    let next = *text.get(at)?;
                    if next == self.delimiter {
                        self.end_cell(text, at - 1, at);
                        self.mode = Mode::Begin;
                    } else if matches!(next, b'\r' | b'\n') {
                        self.end_cell(text, at - 1, at);
                        return Some(at + 1);
                    } else {
                        // Doubled, it is text itself; else it has ended the quotes and not the cell.
                        self.take(text, at - 1);
                        self.from = at;
                        let is_doubled = next == QUOTE;
                        self.mode = if is_doubled {
                            Mode::Quoted
                        } else {
                            Mode::Plain
                        };
                        if !is_doubled {
                            continue;
                        }
                    }
                    self.at = at + 1;
                }
            }
        }
    }

    /// The text ends, and with it the record. Whether it does so outside quotes.
    pub fn finish(&mut self, text: &[u8]) -> bool {
        let end = text.len();
        let to = match self.mode {
            Mode::Begin => {
                self.from = end;
                end
            }
            Mode::Plain | Mode::Quoted | Mode::Escaped => end,
            Mode::Closed => end - 1,
        };
        let is_open = matches!(self.mode, Mode::Quoted | Mode::Escaped);
        self.end_cell(text, to, end);
        !is_open
    }

    /// Goes on outside quotes, to the end of the record (`true`), of the text, or to where a cell begins with a
    /// quote.
    #[inline(always)]
    fn plain(&mut self, text: &[u8]) -> bool {
        let (delimiter, escape) = (self.delimiter, QUOTE);
        let wanted = [words::of(delimiter), words::of(b'\n'), words::of(b'\r')];
        let mut at = self.at;
        let mut seen = self.seen;
        while let Some(word) = words::at(text, at) {
            seen |= word;
            let [a, b, c] = wanted.map(|it| words::equal(word, it));
            let mut marks = a | b | c;
            while marks != 0 {
                let found = at + words::first(marks);
                marks &= marks - 1;
                let byte = text[found];
                if byte != delimiter && !matches!(byte, b'\n' | b'\r') {
                    continue;
                }
                self.end_cell(text, found, found);
                self.at = found + 1;
                if byte != delimiter {
                    self.seen = seen;
                    return true;
                }
                self.from = found + 1;
                if text.get(found + 1).is_none_or(|&it| it == escape) {
                    self.seen = seen;
                    self.mode = Mode::Begin;
                    return false;
                }
            }
            at += words::WIDTH;
        }
        self.seen = seen;
        while let Some(&byte) = text.get(at) {
            self.seen |= u64::from(byte);
            at += 1;
            if byte == delimiter || matches!(byte, b'\n' | b'\r') {
                self.end_cell(text, at - 1, at - 1);
                self.at = at;
                self.mode = Mode::Begin;
                return byte != delimiter;
            }
        }
        self.at = at;
        false
    }

    /// Where, inside quotes, the next quote or escape stands.
    #[inline(always)]
    fn quoted(&mut self, text: &[u8]) -> Option<usize> {
        let escape = self.escape.unwrap_or(QUOTE);
        let wanted = [QUOTE, escape, b'\n'];
        let mut at = self.at;
        let mut seen = self.seen;
        while let Some(word) = words::at(text, at) {
            seen |= word;
            let [a, b, c] = wanted.map(|it| words::equal(word, words::of(it)));
            let mut marks = a | b | c;
            while marks != 0 {
                let found = at + words::first(marks);
                marks &= marks - 1;
                let byte = text[found];
                if byte == QUOTE || byte == escape {
                    self.seen = seen;
                    return Some(found);
                }
                self.quoted_breaks += u64::from(byte == b'\n');
            }
            at += words::WIDTH;
        }
        self.seen = seen;
        while let Some(&byte) = text.get(at) {
            self.seen |= u64::from(byte);
            if byte == QUOTE || byte == escape {
                return Some(at);
            }
            self.quoted_breaks += u64::from(byte == b'\n');
            at += 1;
        }
        self.at = at;
        None
    }

    /// The cell ends at `to`, and at `end` stands what ends it.
    #[inline(always)]
    fn end_cell(&mut self, text: &[u8], to: usize, end: usize) {
        let (mut from, mut to) = (self.from as u32, to as u32);
        if self.moved.is_some() {
            (from, to) = self.rewrite(text, to as usize);
        }
        let end = end as u32;
        self.cuts.push(Cut { from, to, end });
    }

    #[cold]
    #[inline(never)]
    fn rewrite(&mut self, text: &[u8], to: usize) -> (u32, u32) {
        self.take(text, to);
        let from = self.moved.take().unwrap_or(0);
        (from as u32 | REWRITTEN, self.rewritten.len() as u32)
    }

    /// Takes what there is of the cell, up to `to`, as text that is rewritten.
    fn take(&mut self, text: &[u8], to: usize) {
        self.moved.get_or_insert(self.rewritten.len());
        let part = text.get(self.from..to).unwrap_or_default();
        self.rewritten.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    use csv_core::{ReadRecordResult, ReaderBuilder};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    type Cells = Vec<Vec<u8>>;

    fn of_csv_core(text: &[u8], delimiter: u8, escape: Option<u8>) -> Vec<Cells> {
        let mut csv = ReaderBuilder::new()
            .delimiter(delimiter)
            .escape(escape)
            .build();
        let (mut output, mut ends) = (vec![0; text.len() + 1], vec![0; text.len() + 2]);
        let (mut records, mut filled, mut cells, mut rest) = (Vec::new(), 0, 0, text);
        loop {
            let (result, read, n_text, n_cells) =
                csv.read_record(rest, &mut output[filled..], &mut ends[cells..]);
            (filled, cells, rest) = (filled + n_text, cells + n_cells, &rest[read..]);
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::Record => {
                    let starts = std::iter::once(&0).chain(&ends[..cells]);
                    let cut = |(&from, &to): (&usize, &usize)| output[from..to].to_vec();
                    records.push(starts.zip(&ends[..cells]).map(cut).collect());
                    (filled, cells) = (0, 0);
                }
                ReadRecordResult::End => return records,
                full => panic!("{full:?}"),
            }
        }
    }

    fn cells(cutter: &Cutter, record: &[u8]) -> Cells {
        let cut = |it: &Cut| it.of(record, cutter.rewritten()).to_vec();
        cutter.cuts().iter().map(cut).collect()
    }

    /// The records, looked at in pieces that end where `ends` tells.
    fn of_cutter(text: &[u8], delimiter: u8, escape: Option<u8>, ends: &[usize]) -> Vec<Cells> {
        let mut cutter = Cutter::new(delimiter, escape);
        let (mut records, mut rest) = (Vec::new(), text);
        let mut ends = ends.iter().cycle();
        while let Some(&first) = rest.first() {
            if matches!(first, b'\r' | b'\n') {
                rest = &rest[1..];
                continue;
            }
            let mut length = 0;
            let end = loop {
                length = (length + ends.next().unwrap()).min(rest.len());
                match cutter.scan(&rest[..length]) {
                    None if length == rest.len() => {
                        cutter.finish(rest);
                        break length;
                    }
                    None => {}
                    Some(end) => break end,
                }
            };
            records.push(cells(&cutter, rest));
            let (record, after) = rest.split_at(end);
            let breaks = record.iter().filter(|&&it| it == b'\n').count();
            let last =
                usize::from(record.ends_with(b"\n") && breaks as u64 != cutter.quoted_breaks());
            assert_eq!(cutter.quoted_breaks(), (breaks - last) as u64);
            assert!(record.is_ascii() || !cutter.is_ascii());
            cutter.clear();
            assert!(!cutter.has_begun());
            rest = after;
        }
        records
    }

    fn texts() -> impl Strategy<Value = Vec<u8>> {
        let few = prop_oneof![
            4 => Just(b"\"".to_vec()),
            3 => Just(b",".to_vec()),
            2 => Just(b"\n".to_vec()),
            1 => Just(b"\r\n".to_vec()),
            1 => Just(b"\r".to_vec()),
            1 => Just(b"\\".to_vec()),
            1 => Just(b";".to_vec()),
            1 => Just(b"\"\"".to_vec()),
            4 => vec(b'a'..=b'z', 1..20),
            1 => vec(any::<u8>(), 1..4),
        ];
        vec(few, 0..60).prop_map(|it| it.concat())
    }

    proptest! {
        #[test]
        fn cells_are_those_of_csv_core(
            text in texts(),
            delimiter in prop_oneof![Just(b','), Just(b';'), Just(b'\t')],
            escape in prop_oneof![Just(None), Just(Some(b'\\'))],
            ends in vec(1usize..30, 1..8),
        ) {
            // It passes over a byte order mark, which is none of the cells' business here.
            let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&text);
            let expected = of_csv_core(text, delimiter, escape);
            prop_assert_eq!(&of_cutter(text, delimiter, escape, &ends), &expected);
            prop_assert_eq!(&of_cutter(text, delimiter, escape, &[usize::MAX / 2]), &expected);
        }
    }

    #[test]
    fn cells_stand_where_they_are_unless_escaped() {
        let text = b"plain,\"quoted, too\",\"a \"\"b\"\"\",,\"c\"d\r\n";
        let mut cutter = Cutter::new(b',', None);
        assert_eq!(cutter.scan(text), Some(text.len() - 1));
        let moved = cutter.cuts().iter().map(|it| it.from & REWRITTEN != 0);
        assert_eq!(moved.collect::<Vec<_>>(), [false, false, true, false, true]);
        let expected = ["plain", "quoted, too", "a \"b\"", "", "cd"];
        assert_eq!(
            cells(&cutter, text),
            expected.map(|it| it.as_bytes().to_vec())
        );
        let ends = cutter.cuts().iter().map(|it| text[it.end as usize]);
        assert_eq!(ends.collect::<Vec<_>>(), b",,,,\r");
    }
}
