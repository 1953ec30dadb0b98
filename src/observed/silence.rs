//! Where calls stop coming although they are asked for.
//!
//! Owns the decision whether a gap between two calls is chance, an open breaker, or unclear.
//! Calls that come independently leave a gap of `g` with probability `exp(-rate g)`, so among `n`
//! gaps one of `ln(n) + 7` mean gaps comes by chance once in a thousand files. A breaker opens on bad
//! results, so that a silence after good ones is a pause of whoever calls. Invariant: with refusals
//! recorded, what they say goes before any statistics. O(calls log calls). Pinned by
//! `tests/it/observed.rs`.

use std::f64::consts::LN_2;

use super::{Seen, Traffic};
use crate::order;

/// A gap between two calls that chance does not explain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Silence {
    /// The last call before it, as a place in [`Traffic`].
    pub(super) after: usize,
    /// When the breaker tripped, as far as the calls tell: the first bad result after the last call.
    pub(super) trip: i64,
    /// It tripped before this time: here the first call did not come, or was refused.
    pub(super) before: i64,
    /// Open, or unknown.
    pub(super) seen: Seen,
    /// How sure that is, 0 to 1.
    pub(super) sure: f64,
}

/// Mean gaps beyond `ln(n)` at which a gap is no chance: one file in a thousand.
const NO_CHANCE: f64 = 7.0;

/// From here on a gap may be chance or not: one file in twenty.
const UNCLEAR: f64 = 3.0;

/// The shortest wait in use, nanoseconds: a shorter gap that chance explains is chance.
const SHORTEST_WAIT: u64 = 5_000_000_000;

/// How many gaps at either side tell the rate at which calls come.
const NEIGHBOURS: usize = 64;

/// A breaker may have opened at a result when a fifth of so many up to it is bad, be its window short or
/// long.
const RESULTS: [usize; 2] = [10, 100];

/// The silences of an instance; others called until `until`, so that one at its end is told, too.
pub(super) fn silences(traffic: &Traffic, until: i64) -> Vec<Silence> {
    let n = traffic.start.len();
    let starts = &traffic.start;
    if n < 2 {
        return Vec::new();
    }
    let next_to = |at: usize| starts.get(at + 1).copied().unwrap_or(until);
    let gap = |at: usize| next_to(at).saturating_sub(starts[at]).max(0) as u64;
    let usual = usual(&mut (0..n - 1).map(gap).collect::<Vec<_>>());
    // Rounded down to a power of two: the same number on every machine.
    let chance = f64::from(n.ilog2()) * LN_2;
    let by_end = order::sorted_indices(n, &mut |a, b| {
        traffic.end[a as usize].cmp(&traffic.end[b as usize])
    });

    // How many of the first calls went badly.
    let mut bad_among: Vec<u32> = vec![0];
    for &bad in &traffic.bad {
        bad_among.push(bad_among[bad_among.len() - 1] + u32::from(bad));
    }

    let mut found = Vec::new();
    let (mut pauses, mut told) = (0, 0);
    // Where the calls since the last open silence began, and the last of their ends.
    let (mut began, mut last_end, mut probed) = (0, i64::MIN, false);
    let mut refusals = 0;
    for at in 0..n {
        last_end = last_end.max(traffic.end[at]);
        let (last, next) = (starts[at], next_to(at));
        if next <= last {
            continue;
        }
        refusals += traffic.refused[refusals..].partition_point(|&it| it < last);
        let refused = traffic.refused[refusals..]
            .iter()
            .take_while(|&&it| it < next);
        let (first_refused, last_refused) = ends_of(refused);
        // A wait may hide in it, or calls come so rarely here because a breaker opens again and again.
        let long = gap(at) >= SHORTEST_WAIT || gap(at) as f64 - chance * usual >= NO_CHANCE * usual;
        if first_refused.is_none() && (gap(at) as f64) < 3.0 * LN_2 * usual && !long {
            continue;
        }
        let mean = mean_gap(starts, at);
        let means = |ns: i64| ns.max(0) as f64 / mean;
        let beyond = gap(at) as f64 / mean - chance;
        if first_refused.is_none() && beyond < UNCLEAR && !long {
            continue;
        }
        let ended = |before: i64| by_end.partition_point(|&it| traffic.end[it as usize] < before);
        let bad_enough = bad_enough(
            traffic,
            &by_end,
            began,
            ended(last.saturating_add(1))..ended(next),
        );
        // Probes are out, and nothing comes until they have ended: that is half-open still.
        let after_results = means(next.saturating_sub(last_end.max(last))) - chance;
        let phase_bad = (bad_among[at + 1] - bad_among[began]) as usize;
        let waits = probed
            && 2 * phase_bad < at + 1 - began
            && match last_refused {
                Some(refused) => refused <= last_end,
                None => after_results < UNCLEAR,
            };
        if waits {
            continue;
        }
        let sure = match first_refused {
            Some(_) => 1.0,
            // Chance explains it, and so does a breaker that opened on those results.
            None if beyond < UNCLEAR && !bad_enough => continue,
            None if beyond < UNCLEAR => 0.0,
            // It may be gone for good: that is no pause, and tells nothing.
            None if !bad_enough && at + 1 == n => 0.0,
            None if !bad_enough => {
                pauses += usize::from(beyond >= NO_CHANCE);
                continue;
            }
            // It may have opened or be gone: nobody saw it resume.
            None if at + 1 == n => no_chance(beyond).min(0.5),
            None => no_chance(beyond),
        };
        let open = first_refused.is_some() || bad_enough && beyond >= NO_CHANCE;
        told += usize::from(first_refused.is_some() || beyond >= UNCLEAR);
        let before = first_refused.unwrap_or(next);
        let results = &by_end[ended(last.saturating_add(1))..ended(before.saturating_add(1))];
        let trip = trip(traffic, results, began..at + 1, before);
        // Who waits for a result before the next call is not held back by a breaker.
        let held_back = means(next.saturating_sub(trip)) - chance;
        if first_refused.is_none() && beyond >= UNCLEAR && held_back < UNCLEAR {
            continue;
        }
        found.push(Silence {
            after: at,
            trip,
            before,
            seen: if open { Seen::Open } else { Seen::Unknown },
            sure,
        });
        if open {
            (began, last_end, probed) = (at + 1, i64::MIN, true);
        }
    }
    // Where calls pause by themselves as often, their silences tell nothing.
    if traffic.refused.is_empty() && 2 * pauses > told {
        for silence in &mut found {
            (silence.seen, silence.sure) = (Seen::Unknown, 0.0);
        }
    }
    found
}

/// Whether an instance calls so rarely at first that not calling for so long before is chance.
pub(super) fn is_chance(traffic: &Traffic, before: i64) -> bool {
    let n = traffic.start.len().max(1);
    let mean = mean_gap(&traffic.start, 0);
    before.max(0) as f64 / mean - f64::from(n.ilog2()) * LN_2 < NO_CHANCE
}

/// The share of such evidence that is not chance: of `exp(-weight)`, rounded to a power of two.
pub(super) fn no_chance(weight: f64) -> f64 {
    let halvings = (weight.max(0.0) / LN_2) as u32;
    1.0 - 1.0 / (1u64 << halvings.min(52)) as f64
}

/// When a breaker that made the last of these `calls` tripped: at one of the `results` between that call
/// and the first one that did not come, which stand by time, and most likely at the first bad one.
fn trip(traffic: &Traffic, results: &[u32], calls: std::ops::Range<usize>, before: i64) -> i64 {
    let own = || {
        results
            .iter()
            .map(|&at| at as usize)
            .filter(|at| calls.contains(at))
    };
    let bad = own().find(|&at| traffic.bad[at]);
    let last = traffic.start[calls.end - 1];
    bad.or_else(|| own().next())
        .map_or(last.saturating_add(1).min(before), |at| traffic.end[at])
}

/// Whether a fifth of the last results is bad, and one at least: before the results of `those`, places in
/// `by_end`, or after any of them. Calls before `began` count no more: their results came too late.
fn bad_enough(
    traffic: &Traffic,
    by_end: &[u32],
    began: usize,
    those: std::ops::Range<usize>,
) -> bool {
    let own = |at: &&u32| **at as usize >= began;
    let since = traffic.start[began];
    let before = by_end[..those.start].iter().rev();
    let before = before.take_while(|&&at| traffic.end[at as usize] >= since);
    let before: Vec<&u32> = before.filter(own).take(RESULTS[1]).collect();
    let n_before = before.len();
    let results = before
        .into_iter()
        .rev()
        .chain(by_end[those].iter().filter(own));
    let bad: Vec<bool> = results.map(|&at| traffic.bad[at as usize]).collect();
    (n_before.max(1)..=bad.len()).any(|to| {
        RESULTS.iter().any(|window| {
            let last = &bad[to.saturating_sub(*window)..to];
            let bad = last.iter().filter(|it| **it).count();
            bad > 0 && bad * 5 >= last.len()
        })
    })
}

/// The first and the last of some times.
fn ends_of<'a>(mut times: impl Iterator<Item = &'a i64>) -> (Option<i64>, Option<i64>) {
    let first = times.next().copied();
    (first, times.last().copied().or(first))
}

/// The mean time between calls around one.
pub(super) fn mean_gap(starts: &[i64], at: usize) -> f64 {
    let from = at.saturating_sub(NEIGHBOURS);
    let to = (at + 1 + NEIGHBOURS).min(starts.len().saturating_sub(1));
    let mut gaps: Vec<u64> = (from..to)
        .filter(|&it| it != at)
        .map(|it| starts[it + 1].abs_diff(starts[it]))
        .collect();
    usual(&mut gaps)
}

/// The mean of gaps from their median, which silences do not move; where a clock is too coarse to tell that,
/// from their sum. Without any time between calls nothing tells how soon the next one is due.
fn usual(gaps: &mut [u64]) -> f64 {
    if let Some(median) = order::median(gaps).filter(|&it| it > 0) {
        return median as f64 / LN_2;
    }
    match gaps.iter().sum::<u64>() {
        0 => f64::INFINITY,
        sum => sum as f64 / gaps.len() as f64,
    }
}
