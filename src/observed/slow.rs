//! Calls that went well and took too long for a breaker.
//!
//! Where nothing failed before silences, a breaker may have opened on slow calls. Owns when a call is slow:
//! several times as long as most, and no longer than the results were on which it opened. Invariant: it is
//! asked for only where failures explain no silence. O(calls). Pinned by `tests/it/observed.rs`.

use super::{Phase, Traffic};
use crate::order;

/// When a call is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slow {
    /// When it takes longer than this, nanoseconds.
    pub(super) over: u64,
    /// Values that explain the silences as well: from here...
    pub(super) low: u64,
    /// ...to here.
    pub(super) high: u64,
}

/// So many times as long as most calls.
const TIMES: u64 = 4;

/// The last results of a phase, on which it opened.
const RESULTS: usize = 10;

/// The shortest time that may be too long; `None` without calls.
pub(super) fn suspected(traffic: &[Traffic]) -> Option<u64> {
    let well = |it: &'_ Traffic, at: usize| (!it.bad[at]).then(|| took(it, at));
    let all = traffic
        .iter()
        .flat_map(|it| (0..it.start.len()).filter_map(move |at| well(it, at)));
    let took: Vec<u64> = all.collect();
    order::median(&took).map(|it| it.saturating_mul(TIMES).max(1))
}

/// Counts slow calls as bad.
pub(super) fn mark(traffic: &[Traffic], over: u64) -> Vec<Traffic> {
    let mark = |it: &Traffic| {
        let bad = (0..it.start.len()).map(|at| it.bad[at] || took(it, at) > over);
        Traffic {
            bad: bad.collect(),
            ..it.clone()
        }
    };
    traffic.iter().map(mark).collect()
}

/// Where the limit lies, given the phases that end in silences when calls over `low` count as bad: below
/// most of the results on which each of them ended, and a round number of them.
pub(super) fn between(traffic: &[Traffic], phases: &[Vec<Phase>], low: u64) -> Slow {
    let mut high = u64::MAX;
    for (traffic, phases) in traffic.iter().zip(phases) {
        for phase in phases.iter().filter(|it| it.cut.is_some()) {
            let mut last: Vec<(i64, u64)> = (phase.first..phase.end)
                .map(|at| (traffic.end[at], took(traffic, at)))
                .collect();
            last = order::sorted(last, &mut |a, b| b.cmp(a));
            last.truncate(RESULTS);
            let mut took: Vec<u64> = last
                .into_iter()
                .map(|it| it.1)
                .filter(|&it| it > low)
                .collect();
            order::sort_numbers(&mut took);
            // Three in four are above it: quick ones may have come back meanwhile.
            high = took.get(took.len() / 4).map_or(high, |&it| high.min(it));
        }
    }
    let high = high.saturating_sub(1).max(low);
    let over = round_below(high).filter(|&it| it >= low).unwrap_or(high);
    Slow { over, low, high }
}

fn took(traffic: &Traffic, at: usize) -> u64 {
    traffic.end[at].saturating_sub(traffic.start[at]).max(0) as u64
}

/// The largest of 1, 2, 5, 10, 20, 50... that is not above it.
fn round_below(value: u64) -> Option<u64> {
    let tens = std::iter::successors(Some(1u64), |it| it.checked_mul(10));
    let rounds = tens.flat_map(|it| [1, 2, 5].map(|by| it.saturating_mul(by)));
    rounds.take_while(|&it| it <= value).last()
}
