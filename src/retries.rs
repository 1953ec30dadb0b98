//! Retries: which calls of an edge are tries of one logical call.
//!
//! Owns the rule. Calls under one parent span, of one operation and one callee, are tries of one
//! logical call when each but the last did not go well and the next began after it had ended; calls
//! that overlap, and calls after one that went well, are calls of their own. Invariant: each call is
//! a try of exactly one logical call. O(calls · log). Pinned by `tests/it/retries.rs`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::calls::{CallOutcome, Calls};
use crate::order;
use crate::spans::{Parent, SpanTable};

/// How often the calls of an edge were tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retries {
    /// Calls as they were sent.
    pub tries: usize,
    /// Calls as somebody wanted them.
    pub logical: usize,
}

impl Retries {
    /// How often the calls of an edge were tried.
    #[inline(never)]
    pub fn of(table: &SpanTable, calls: &Calls) -> Retries {
        let before = earlier_tries(table, calls);
        Retries {
            tries: calls.len(),
            logical: before.iter().filter(|it| it.is_none()).count(),
        }
    }

    /// Calls sent per logical call; `None` without any.
    pub fn amplification(self) -> Option<f64> {
        (self.logical > 0).then(|| self.tries as f64 / self.logical as f64)
    }
}

/// The most tries of one logical call.
pub fn most_tries(table: &SpanTable, calls: &Calls) -> u32 {
    let before = earlier_tries(table, calls);
    let mut tries = vec![1; before.len()];
    for (at, before) in before.iter().enumerate() {
        if let Some(earlier) = *before {
            tries[at] += tries[earlier as usize];
        }
    }
    tries.into_iter().max().unwrap_or(0)
}

/// Each logical call as one: from the start of its first try to the end of its last one, whose span
/// and outcome it has.
pub fn logical(table: &SpanTable, calls: &Calls) -> Calls {
    let before = earlier_tries(table, calls);
    let mut made = Calls {
        instances: calls.instances.clone(),
        ..Calls::default()
    };
    // Where the logical call of each call stands in `made`. An earlier try starts earlier, so it
    // has been placed before its later ones.
    let mut place: Vec<u32> = Vec::with_capacity(calls.len());
    for (at, before) in before.iter().enumerate() {
        match *before {
            Some(earlier) => {
                let it = place[earlier as usize];
                place.push(it);
                let it = it as usize;
                made.span[it] = calls.span[at];
                made.end[it] = calls.end[at];
                made.outcome[it] = calls.outcome[at];
            }
            None => {
                place.push(made.start.len() as u32);
                made.span.push(calls.span[at]);
                made.start.push(calls.start[at]);
                made.end.push(calls.end[at]);
                made.outcome.push(calls.outcome[at]);
                made.instance.push(calls.instance[at]);
            }
        }
    }
    let end = &made.end;
    let mut by_end: Vec<u32> = (0..end.len() as u32).collect();
    order::sort_by_number(&mut by_end, &|at| order::of_time(end[at as usize]));
    made.by_end = by_end.into();
    made
}

/// For each call the one before it of the same logical call.
fn earlier_tries(table: &SpanTable, calls: &Calls) -> Vec<Option<u32>> {
    let key = |at: u32| {
        let span = calls.span[at as usize];
        let parent = match table.parent(span) {
            Parent::Span(parent) => Some(parent),
            _ => None,
        };
        (parent, table.operation(span.0 as usize))
    };
    // The calls stand by start, and of equals the one that stands first comes first.
    let mut order: Vec<u32> = (0..calls.len() as u32).collect();
    order::sort_by_number(&mut order, &|at| {
        let (parent, operation) = key(at);
        parent.map_or(0, |it| u64::from(it.0) << 32 | u64::from(operation))
    });
    let mut earlier = vec![None; calls.len()];
    let mut unfinished: BinaryHeap<Reverse<(i64, u32)>> = BinaryHeap::new();
    let mut siblings = None;
    for at in order {
        let key = key(at);
        if key.0.is_none() {
            continue;
        }
        if siblings != Some(key) {
            unfinished.clear();
            siblings = Some(key);
        }
        // The failure that has waited longest is tried again first.
        let waiting = unfinished.peek().map(|it| it.0);
        if let Some((end, before)) = waiting
            && end <= calls.start[at as usize]
        {
            unfinished.pop();
            earlier[at as usize] = Some(before);
        }
        if calls.outcome[at as usize] != CallOutcome::Success {
            unfinished.push(Reverse((calls.end[at as usize], at)));
        }
    }
    earlier
}
