//! Bytes to UTF-8: byte order marks, UTF-16.
//!
//! Owns the encodings. Invariant: what goes on to the sheet does not depend on how the bytes were cut.
//! Text that is no UTF-8 passes as it is: cells, not files, are Latin-1. O(bytes), no copy of UTF-8.
//! Pinned by `tests/ingest/properties.rs`.

use super::sheet::Sheet;
use super::unreadable::Unreadable;
use crate::issues::Code;

/// What stands between the bytes and the sheet.
pub(super) struct Decoder {
    pub(super) sheet: Sheet,
    encoding: Encoding,
    /// The first bytes, until the encoding is known.
    held: Vec<u8>,
    /// Half a UTF-16 unit, and the first half of a pair.
    odd: Option<u8>,
    high: Option<u16>,
    /// Units that stand for nothing. Noted at the end: a piece is decoded before its rows are read, so
    /// that the place among their issues would tell how the bytes were cut.
    lone: u64,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Unknown,
    Utf8,
    Utf16 { big: bool },
}

impl Decoder {
    pub(super) fn new(sheet: Sheet) -> Decoder {
        Decoder {
            sheet,
            encoding: Encoding::Unknown,
            held: Vec::new(),
            odd: None,
            high: None,
            lone: 0,
            text: String::new(),
        }
    }

    /// What comes is UTF-8, without a mark, from this byte of the file on.
    pub(super) fn begin_at(&mut self, from: u64) {
        self.encoding = Encoding::Utf8;
        self.sheet.pass(from);
    }

    /// Whether what comes out stands in the file as it is.
    pub(super) fn is_plain(&self) -> bool {
        self.encoding == Encoding::Utf8
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        match self.encoding {
            Encoding::Utf8 => self.sheet.push(bytes),
            Encoding::Utf16 { big } => self.utf16(bytes, big),
            Encoding::Unknown => {
                let wanted = 4usize.saturating_sub(self.held.len()).min(bytes.len());
                let (now, later) = bytes.split_at(wanted);
                self.held.extend_from_slice(now);
                if self.held.len() < 4 {
                    return Ok(());
                }
                self.settle()?;
                if later.is_empty() {
                    Ok(())
                } else {
                    self.push(later)
                }
            }
        }
    }

    pub(super) fn finish(&mut self) -> Result<(), Unreadable> {
        if self.encoding == Encoding::Unknown {
            self.settle()?;
        }
        if self.odd.is_some() || self.high.is_some() {
            self.sheet.push("\u{fffd}".as_bytes())?;
            self.lone += 1;
        }
        self.sheet.finish()?;
        if self.lone > 0 {
            let issues = &mut self.sheet.intake.issues;
            issues.add(Code::Encoding, self.lone, None, None, None);
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), Unreadable> {
        let held = std::mem::take(&mut self.held);
        let (encoding, mark) = match held[..] {
            [0xEF, 0xBB, 0xBF, ..] => (Encoding::Utf8, 3),
            [0xFF, 0xFE, ..] => (Encoding::Utf16 { big: false }, 2),
            [0xFE, 0xFF, ..] => (Encoding::Utf16 { big: true }, 2),
            [1..=255, 0, 1..=255, 0] => (Encoding::Utf16 { big: false }, 0),
            [0, 1..=255, 0, 1..=255] => (Encoding::Utf16 { big: true }, 0),
            _ => (Encoding::Utf8, 0),
        };
        self.encoding = encoding;
        self.sheet.pass(mark as u64);
        self.push(&held[mark..])
    }

    fn utf16(&mut self, bytes: &[u8], big: bool) -> Result<(), Unreadable> {
        let mut text = std::mem::take(&mut self.text);
        for chunk in bytes.chunks(1 << 14) {
            text.clear();
            for &byte in chunk {
                let Some(first) = self.odd.take() else {
                    self.odd = Some(byte);
                    continue;
                };
                let pair = [first, byte];
                let unit = if big {
                    u16::from_be_bytes(pair)
                } else {
                    u16::from_le_bytes(pair)
                };
                self.unit(unit, &mut text);
            }
            self.sheet.push(text.as_bytes())?;
        }
        self.text = text;
        Ok(())
    }

    fn unit(&mut self, unit: u16, text: &mut String) {
        let units = [self.high.take().unwrap_or(0), unit];
        let units = if units[0] == 0 {
            &units[1..]
        } else {
            &units[..]
        };
        if matches!(units, [0xD800..=0xDBFF]) {
            self.high = Some(unit);
            return;
        }
        for decoded in char::decode_utf16(units.iter().copied()) {
            match decoded {
                Ok(c) => text.push(c),
                Err(lone)
                    if lone.unpaired_surrogate() == unit && matches!(unit, 0xD800..=0xDBFF) =>
                {
                    self.high = Some(unit);
                }
                Err(_) => {
                    text.push('\u{fffd}');
                    self.lone += 1;
                }
            }
        }
    }
}
