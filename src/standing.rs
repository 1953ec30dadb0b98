//! Where a trace stands among all: how many others it, and each of its spans, took longer than.
//!
//! Owns what is compared with what: a trace with all traces, from its first start to its last end; a span with the
//! spans of the same service, operation and kind. What lasted unknown long is compared with nothing. Invariant: a
//! [`Standing`] counts the others alone; of the definitions of a percentile that there are it is the share of the others
//! that are shorter, equals are not. Costs one pass over the spans, O(log of the trace's spans that are alike) each, in
//! steps of 262,144, and a number for each combination of labels. Pinned by `tests/it/standing.rs`, against lists.

use crate::column::Column;
use crate::labels::LabelSet;
use crate::order;
use crate::rows::{Kind, NONE, UNKNOWN_DURATION};
use crate::spans::{Rank, SpanIdx, SpanTable};

/// So many spans are gone through in a step, and the rest of a trace.
const A_STEP: usize = 1 << 18;

/// How many others took less time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Others that took less.
    pub shorter: u64,
    /// All others of which it is known.
    pub of: u64,
}

/// A trace and its spans, each among those like it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standings {
    /// The trace; it lasted so many nanoseconds.
    pub trace: (u64, Standing),
    /// Its spans of known duration, in the table's order.
    pub spans: Vec<(SpanIdx, Standing)>,
}

/// The work on one trace.
pub struct Counting {
    rank: Rank,
    lasted: u64,
    trace: Standing,
    alike: Vec<Alike>,
    /// For each combination of labels that the table has, the place in `alike`; [`NONE`] where the trace has none.
    place: Column<u32>,
    next: Rank,
}

/// Spans of the trace that are compared with the same others.
struct Alike {
    of: (u32, u32, Kind),
    /// How long they took, in order.
    durations: Vec<u64>,
    /// How many spans of the table last as long as those before each of them, and no longer; at the end those that
    /// last as long as all.
    counts: Vec<u64>,
}

impl Counting {
    /// Begins. O(spans of the trace, combinations of labels, and the product of the trace's kinds of spans and both).
    pub fn new(table: &SpanTable, rank: Rank) -> Counting {
        let sets = table.label_sets.all();
        let mut alike: Vec<Alike> = Vec::new();
        for at in known(table, rank) {
            let of = kind_of(table.label_sets.get(table.labels[at]));
            let it = match alike.iter_mut().position(|it| it.of == of) {
                Some(it) => it,
                None => {
                    alike.push(Alike {
                        of,
                        durations: Vec::new(),
                        counts: Vec::new(),
                    });
                    alike.len() - 1
                }
            };
            alike[it].durations.push(table.duration[at]);
        }
        for it in &mut alike {
            order::sort_numbers(&mut it.durations);
            it.counts = vec![0; it.durations.len() + 1];
        }
        let mut place = Column::of(NONE, sets.len());
        for (at, set) in sets.iter().enumerate() {
            let of = kind_of(set);
            if let Some(it) = alike.iter().position(|it| it.of == of) {
                place[at] = it as u32;
            }
        }
        Counting {
            rank,
            lasted: lasted(table, rank),
            trace: Standing::default(),
            alike,
            place,
            next: Rank(0),
        }
    }

    /// Goes on with some traces; whether there are more.
    #[inline(never)]
    pub fn step(&mut self, table: &SpanTable) -> bool {
        let mut n_spans = 0;
        while n_spans < A_STEP && self.next.0 < table.n_traces() {
            let rank = self.next;
            self.next = Rank(rank.0 + 1);
            if rank != self.rank {
                self.trace.shorter += u64::from(lasted(table, rank) < self.lasted);
                self.trace.of += 1;
            }
            for at in table.trace(rank) {
                n_spans += 1;
                let place = self.place[table.labels[at] as usize];
                let duration = table.duration[at];
                if let Some(it) = self.alike.get_mut(place as usize)
                    && duration != UNKNOWN_DURATION
                {
                    let not_longer = it.durations.partition_point(|&it| it <= duration);
                    it.counts[not_longer] += 1;
                }
            }
        }
        self.next.0 < table.n_traces()
    }

    /// Traces done, and in all.
    pub fn progress(&self, table: &SpanTable) -> [u32; 2] {
        [self.next.0, table.n_traces()]
    }

    /// What was counted, when there is no more.
    pub fn finish(self, table: &SpanTable) -> Standings {
        let standing = |at: usize| {
            let place = self.place[table.labels[at] as usize];
            let it = &self.alike[place as usize];
            let before = it.durations.partition_point(|&it| it < table.duration[at]);
            Standing {
                shorter: it.counts[..=before].iter().sum(),
                // Itself is no other.
                of: it.counts.iter().sum::<u64>() - 1,
            }
        };
        Standings {
            trace: (self.lasted, self.trace),
            spans: known(table, self.rank)
                .map(|at| (SpanIdx(at as u32), standing(at)))
                .collect(),
        }
    }
}

/// What makes spans comparable: service, operation and kind.
fn kind_of(set: &LabelSet) -> (u32, u32, Kind) {
    (set.service, set.operation, set.kind)
}

/// The spans of a trace that lasted known long.
fn known(table: &SpanTable, rank: Rank) -> impl Iterator<Item = usize> {
    table
        .trace(rank)
        .filter(|&at| table.duration[at] != UNKNOWN_DURATION)
}

/// From the first start of a trace to its last end, nanoseconds.
#[inline(never)]
fn lasted(table: &SpanTable, rank: Rank) -> u64 {
    let (mut start, mut end) = (i64::MAX, i64::MIN);
    for at in table.trace(rank) {
        start = start.min(table.start[at]);
        end = end.max(table.end(SpanIdx(at as u32)));
    }
    if start > end { 0 } else { end.abs_diff(start) }
}
