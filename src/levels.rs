//! Levels of detail: what blocks of spans look like from afar.
//!
//! Owns a tree over the table's order. Its leaves stand for 64 spans each, a block above for four below it. Of
//! every service and way to end, a block keeps from when to when its spans start, when the last one ends, and how
//! long the longest is. That is enough to draw a block whose spans all begin within one pixel: the longest is the
//! most opaque, and what it covers all of them cover. Invariant: each span is told by exactly one part of each of
//! its blocks, so what a walk skips or takes as a whole has nothing that its parts do not tell, and a failing span
//! is never averaged away. Levels of some of the spans tell those alone, to every visitor. Building costs O(n), 40
//! bytes a part: some 4 bytes a span where traces are alike. Pinned by `tests/it/levels.rs`, against lists.

use std::ops::Range;
use std::sync::Arc;

use crate::column::Column;
use crate::filter::Bits;
use crate::outcome::Outcome;
use crate::rows::NONE;
use crate::spans::{ServiceIdx, SpanIdx, SpanTable};
use crate::turns::{at_once, pause};

/// Spans of a leaf. Along the edges of rows of pixels spans are looked at one by one, these many an edge.
pub const LEAF: usize = 64;

/// Blocks of a block.
const FAN: usize = 4;

/// So many spans are gone through in a turn.
const A_TURN: usize = 1 << 20;

/// The ways to end that are told apart: as they are drawn.
const OUTCOMES: usize = 3;

/// The spans of a block that one service recorded and that ended one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Who recorded them.
    pub service: ServiceIdx,
    /// How they ended; [`Outcome::Failure`] for rejected ones.
    pub outcome: Outcome,
    /// When the first of them starts, nanoseconds since 1970.
    pub first_start: i64,
    /// When the last of them starts.
    pub last_start: i64,
    /// When the last of them ends.
    pub last_end: i64,
    /// The longest duration in nanoseconds; 0 where none is known.
    pub longest: u64,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    /// The leaves first; the last level is one block.
    levels: Vec<Level>,
    /// The spans that they are of; all where it is missing.
    of: Option<Arc<Bits>>,
}

#[derive(Clone, Debug, Default)]
struct Level {
    /// Where the parts of each block begin.
    begins: Column<u32>,
    parts: Column<Part>,
}

/// Who walks over the spans of a range, in the table's order, taking in as much at a time as is enough.
pub trait Visitor {
    /// A block, `whole` if all of its spans are in the range: whether its parts are enough.
    fn block(&mut self, spans: Range<usize>, whole: bool, parts: &[Part]) -> bool;

    /// Spans that no block was enough for.
    fn spans(&mut self, spans: Range<usize>);
}

impl Levels {
    /// The levels of a table. O(n).
    pub fn of(table: &SpanTable) -> Levels {
        at_once(Levels::building(table, None))
    }

    /// The levels of some of a table's spans. O(n).
    #[inline(never)]
    pub fn of_some(table: &SpanTable, spans: Bits) -> Levels {
        at_once(Levels::building(table, Some(Arc::new(spans))))
    }

    /// [`Levels::of`] in turns.
    pub async fn building(table: &SpanTable, of: Option<Arc<Bits>>) -> Levels {
        let n_kinds = table.services().count() * OUTCOMES;
        let mut latest = Column::of(NONE, n_kinds);
        let mut leaves = Level::default();
        for first in (0..table.len()).step_by(A_TURN) {
            let spans = first..table.len().min(first + A_TURN);
            leaves.add_spans(table, spans, of.as_deref(), &mut latest);
            pause().await;
        }
        leaves.settle();
        let mut levels = vec![leaves];
        while let Some(below) = levels.last().filter(|it| it.begins.len() > 1) {
            latest.fill(NONE);
            let level = Level::above(below, &mut latest);
            levels.push(level);
            pause().await;
        }
        Levels { levels, of }
    }

    /// Goes over a range of spans.
    pub fn walk(&self, range: Range<usize>, visitor: &mut dyn Visitor) {
        if !range.is_empty() && !self.levels.is_empty() {
            self.descend(self.levels.len() - 1, 0, &range, visitor);
        }
    }

    fn descend(&self, level: usize, block: usize, range: &Range<usize>, visitor: &mut dyn Visitor) {
        let Some(at) = self.levels.get(level) else {
            return;
        };
        let size = LEAF * FAN.pow(level as u32);
        let (from, to) = (block * size, (block + 1) * size);
        let shown = from.max(range.start)..to.min(range.end);
        if block >= at.begins.len() || shown.is_empty() {
            return;
        }
        let whole = from >= range.start && to <= range.end;
        if visitor.block(shown.clone(), whole, at.block(block)) {
            return;
        }
        match level.checked_sub(1) {
            None => self.visit(block, shown, visitor),
            Some(below) => {
                for block in block * FAN..(block + 1) * FAN {
                    self.descend(below, block, range, visitor);
                }
            }
        }
    }

    /// Spans of a leaf, of which there are as many as bits of a word.
    fn visit(&self, leaf: usize, shown: Range<usize>, visitor: &mut dyn Visitor) {
        let Some(of) = &self.of else {
            return visitor.spans(shown);
        };
        let mut at = shown.start;
        while at < shown.end {
            let rest = of.word(leaf) >> (at % LEAF);
            if rest == 0 {
                return;
            }
            let from = at + rest.trailing_zeros() as usize;
            let run = (rest >> (from - at)).trailing_ones() as usize;
            at = from + run;
            if from < shown.end {
                visitor.spans(from..at.min(shown.end));
            }
        }
    }
}

impl Level {
    /// The parts of a block.
    fn block(&self, block: usize) -> &[Part] {
        let to = self.begins.get(block + 1);
        let to = to.map_or(self.parts.len(), |&it| it as usize);
        &self.parts[self.begins[block] as usize..to]
    }

    /// Adds leaves for some spans, of which the first begins a leaf.
    #[inline(never)]
    fn add_spans(
        &mut self,
        table: &SpanTable,
        spans: Range<usize>,
        of: Option<&Bits>,
        latest: &mut Column<u32>,
    ) {
        for at in spans {
            if at.is_multiple_of(LEAF) {
                self.begins.push(self.parts.len() as u32);
            }
            if of.is_none_or(|it| it.has(at)) {
                self.add(Part::of(table, at), latest);
            }
        }
    }

    /// The level above one.
    #[inline(never)]
    fn above(below: &Level, latest: &mut Column<u32>) -> Level {
        let mut level = Level::default();
        for block in 0..below.begins.len() {
            if block.is_multiple_of(FAN) {
                level.begins.push(level.parts.len() as u32);
            }
            for &part in below.block(block) {
                level.add(part, latest);
            }
        }
        level.settle();
        level
    }

    /// Gives back the room that was taken to grow.
    fn settle(&mut self) {
        self.begins.shrink_to_fit();
        self.parts.shrink_to_fit();
    }

    /// Adds to the last block. `latest` is where in this level a part of each kind was added last.
    fn add(&mut self, part: Part, latest: &mut Column<u32>) {
        let kind = kind(part.service, part.outcome);
        let begin = self.begins.last().copied().unwrap_or(0);
        let at = latest[kind];
        match self.parts.get_mut(at as usize).filter(|_| at >= begin) {
            Some(same) => same.join(&part),
            None => {
                latest[kind] = self.parts.len() as u32;
                self.parts.push(part);
            }
        }
    }
}

impl Part {
    /// One span.
    #[inline]
    pub fn of(table: &SpanTable, at: usize) -> Part {
        let (start, end) = (table.start[at], table.end(SpanIdx(at as u32)));
        Part {
            service: table.service[at],
            outcome: match table.outcome[at] {
                Outcome::Rejected => Outcome::Failure,
                it => it,
            },
            first_start: start,
            last_start: start,
            last_end: end,
            longest: if end == start { 0 } else { table.duration[at] },
        }
    }

    fn join(&mut self, other: &Part) {
        self.first_start = self.first_start.min(other.first_start);
        self.last_start = self.last_start.max(other.last_start);
        self.last_end = self.last_end.max(other.last_end);
        self.longest = self.longest.max(other.longest);
    }

    /// Whether some of it may be seen in a time, its end excluded. Spans end within it that end as it begins.
    #[inline]
    pub fn overlaps(&self, from: i64, to: i64) -> bool {
        self.first_start < to && self.last_end >= from
    }
}

/// A number for each service and way to end, below three times the number of services.
#[inline]
pub fn kind(service: ServiceIdx, outcome: Outcome) -> usize {
    let outcome = match outcome {
        Outcome::Success => 0,
        Outcome::Failure | Outcome::Rejected => 1,
        Outcome::TimedOut => 2,
    };
    service.0 as usize * OUTCOMES + outcome
}
