//! What one cell tells of its whole column, long after the rows before it were read.
//!
//! Owns the order of dates and the kind of commas. Invariant: a column is read one way from its first row to
//! its last, wherever the cell stands that decides; the rows before it are mended in place. O(rows) once a
//! file, and some bytes a row until it is decided. Pinned by `tests/ingest/times.rs`.

use super::intake::LONGEST;
use super::time::{Told, Unit, parse_duration, tells_decimal_comma};
use crate::rows::{SpanRows, UNKNOWN_DURATION};

/// Whether dates like 3/4/2026 begin with the day. A file has one order: that of its first date that
/// can only be read one way. Those before it were read month first, and are turned round by it.
#[derive(Debug, Default)]
pub(super) struct Dates {
    pub(super) day_first: Option<bool>,
    /// Dates of both orders were met.
    pub(super) mixed: bool,
    /// Until the order is known: how many days later a row would begin the other way round, and how
    /// many longer it would last.
    pub(super) turns: Vec<(u32, i16, i16)>,
}

/// Nanoseconds.
pub(super) const DAY: i64 = 86_400_000_000_000;

impl Dates {
    /// The order is known now.
    pub(super) fn settle(&mut self, day_first: bool, rows: &mut SpanRows) {
        self.day_first = Some(day_first);
        let turns = std::mem::take(&mut self.turns);
        for (at, later, longer) in turns.into_iter().filter(|_| day_first) {
            rows.start[at as usize] += i64::from(later) * DAY;
            let duration = &mut rows.duration[at as usize];
            let turned = duration.checked_add_signed(i64::from(longer) * DAY);
            // The largest number stands for an unknown duration.
            *duration = match turned {
                Some(turned) if *duration != UNKNOWN_DURATION => turned,
                _ => UNKNOWN_DURATION,
            };
        }
    }
}

/// Whether commas in durations are decimal. A column has one kind: until a cell tells that they are, they
/// separate thousands, and those read so are read again by it.
#[derive(Debug, Default)]
pub(super) struct Commas {
    decimal: bool,
    /// Rows, and how long they last if the commas are decimal.
    otherwise: Vec<(u32, u64)>,
}

impl Commas {
    /// Reads the duration of the row that is next.
    #[cold]
    #[inline(never)]
    pub(super) fn read(&mut self, text: &str, unit: Unit, rows: &mut SpanRows) -> Told {
        if !self.decimal && tells_decimal_comma(text) {
            self.decimal = true;
            for (at, otherwise) in std::mem::take(&mut self.otherwise) {
                rows.duration[at as usize] = otherwise;
            }
        }
        if !self.decimal
            && let Told::Ns(ns) = parse_duration(text, unit, true)
        {
            let at = u32::try_from(rows.len()).unwrap_or(u32::MAX);
            self.otherwise.push((at, ns.min(LONGEST)));
        }
        parse_duration(text, unit, self.decimal)
    }
}
