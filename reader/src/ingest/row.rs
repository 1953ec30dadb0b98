//! A row that has been read, read once more: all of its cells, for whoever asks about one span.
//!
//! The rows of a reading hold what pictures are made of. What else stands in a file stays there; where every 64th
//! row of a table begins is noted instead. Owns these [`Places`] and the way back. Invariants: a row is
//! read by the same code and the same plan as the first time, from any of the places; what it says is given only if
//! it is the row of the span that was asked for. Memory is 8 bytes for 64 rows; asking costs the bytes from the
//! place to the row, and of files that are packed those before it, too. Pinned by `tests/ingest/row.rs`.

use std::sync::Arc;

use super::attributes;
use super::plan::Plan;
use super::unreadable::Unreadable;
use super::{Limits, Reader, Stage};
use crate::column::Column;

/// The rows from one place to the next.
pub const EVERY: u64 = 64;

/// How to read rows of a table again.
#[derive(Debug)]
pub struct Places {
    pub(super) limits: Limits,
    pub(super) plan: Arc<Plan>,
    pub(super) delimiter: u8,
    pub(super) escape: Option<u8>,
    pub(super) headerless: bool,
    /// Where, in the text, each 64th row begins; the first one is the header.
    pub(super) begins: Column<u64>,
    /// The text is what stands in the file: reading can begin at a place.
    pub(super) direct: bool,
}

impl Places {
    /// How many bytes they take.
    pub fn bytes(&self) -> usize {
        self.begins.bytes()
    }

    /// Whether a row costs what stands near it, and not what stands before it.
    pub fn are_direct(&self) -> bool {
        self.direct
    }
}

/// The reading of one row.
pub struct Again {
    places: Arc<Places>,
    reader: Reader,
    row: u64,
    /// From which byte of the file on it is to be fed.
    pub from: u64,
}

/// One thing that a row says: the header of the column where its cell holds several, else nothing; the name, which is
/// the header or stands for the value in the cell; and the text.
pub type Said = [String; 3];

impl Again {
    /// Begins; the header is row 1. Bytes of a `whole` file come from its beginning, whatever it is.
    #[inline(never)]
    pub fn new(places: Arc<Places>, row: u32, whole: bool) -> Again {
        let row = u64::from(row);
        let last = (places.begins.len() as u64).saturating_sub(1);
        let nth = (row.saturating_sub(1) / EVERY).min(last);
        let place = places.begins.get(nth as usize).copied().unwrap_or(0);
        let from = if places.direct && !whole { place } else { 0 };
        let mut reader = Reader::new(places.limits);
        if let Stage::Start(decoder, _) = &mut reader.stage {
            decoder.sheet.again(&places, nth * EVERY, row, place);
            if from > 0 {
                decoder.begin_at(from);
            }
        }
        Again {
            reader,
            row,
            from,
            places,
        }
    }

    /// Takes the next bytes. Whether the row is there, and no more are needed.
    pub fn push(&mut self, bytes: &[u8]) -> Result<bool, Unreadable> {
        self.reader.push(bytes)?;
        Ok(self.reader.decoder().sheet.has_begun(self.row))
    }

    /// What the row says, if it is that of this span of this trace.
    #[inline(never)]
    pub fn finish(mut self, trace: &str, span: &str) -> Option<Vec<Said>> {
        self.reader.end().ok()?;
        let intake = &self.reader.decoder().sheet.intake;
        let rows = &intake.rows;
        let is_it = rows.len() == 1 && *rows.trace_id(0) == *trace && *rows.span_id(0) == *span;
        let kept = intake.kept.as_ref().filter(|_| is_it)?;
        Some(said(&self.places.plan, kept))
    }
}

/// The cells of a row that say something, and after them attributes, one by one.
#[inline(never)]
fn said(plan: &Plan, cells: &[String]) -> Vec<Said> {
    let (mut said, mut attributes) = (Vec::new(), Vec::new());
    for (at, (column, cell)) in plan.headers.iter().zip(cells).enumerate() {
        let is_blank = matches!(cell.trim_ascii(), "" | "[]" | "{}");
        match attributes::pairs(cell, plan.attributes.contains(&(at as u32))) {
            None if is_blank => {}
            None => said.push([String::new(), column.clone(), cell.clone()]),
            Some(pairs) => {
                for [key, value] in pairs {
                    let [key, value] = [key, value].map(attributes::bare);
                    attributes.push([column.clone(), key, value]);
                }
            }
        }
    }
    said.append(&mut attributes);
    said
}
