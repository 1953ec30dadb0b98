//! How many probes a half-open breaker lets through.
//!
//! The number is the same in every round, and after so many calls none comes until they all have
//! ended. For each number the calls either contradict that or leave pauses which it explains and
//! chance would not; the number whose pauses are the least likely by chance is taken. Invariant: a
//! number that any round contradicts is never taken. O(calls of the rounds). Pinned by
//! `tests/it/observed.rs`.

use super::silence::no_chance;
use super::{Phase, Traffic};
use crate::order;

/// The probes of a half-open round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Probes {
    /// How many.
    pub(super) count: u32,
    /// How sure, 0 to 1.
    pub(super) sure: f64,
    /// The first failure decides.
    pub(super) first_failure: bool,
    /// The numbers around it that are nearly as likely: the smallest and the largest.
    pub(super) range: (u32, u32),
}

/// The most probes that are tried.
const MOST: usize = 1_000;

/// What a refused round of exactly so many calls counts, or a refusal while probes are out: once by
/// chance in 150.
const TELLING: f64 = 5.0;

/// Less sure than this is a guess.
const LEAST_SURE: f64 = 0.5;

/// What a round counts that ends too early for the number, as it can only by a first failure.
const EARLY: f64 = -3.0;

impl Probes {
    /// When the results of a round were judged; `None` if the file ends before.
    pub(super) fn verdict(self, traffic: &Traffic, phase: &Phase) -> Option<i64> {
        let count = self.count as usize;
        let to = phase.end.min(phase.first + count);
        let ends = (phase.first..to).map(|at| traffic.end[at]);
        let refused = phase.cut.is_some() && phase.end <= phase.first + count;
        let first_bad = (phase.first..to)
            .filter(|&at| traffic.bad[at])
            .map(|at| traffic.end[at])
            .min();
        match first_bad {
            Some(bad) if refused && self.first_failure => Some(bad),
            _ if refused || to - phase.first == count => ends.max(),
            _ => None,
        }
    }
}

impl Probes {
    /// When a round closed the breaker; `None` if it opened again or the file ends before.
    pub(super) fn closing(self, traffic: &Traffic, phase: &Phase) -> Option<i64> {
        let refused = phase.cut.is_some() && phase.end <= phase.first + self.count as usize;
        self.verdict(traffic, phase).filter(|_| !refused)
    }
}

/// The number that all rounds agree with, if there is one that chance does not explain as well.
pub(super) fn infer(traffic: &[Traffic], phases: &[Vec<Phase>]) -> Option<Probes> {
    let rounds: Vec<(&Traffic, &Phase)> = traffic
        .iter()
        .zip(phases)
        .flat_map(|(traffic, phases)| phases.iter().map(move |phase| (traffic, phase)))
        .filter(|(_, phase)| phase.probed && phase.first < phase.end)
        .collect();
    let longest = rounds.iter().map(|(_, it)| it.end - it.first).max()?;
    let most = longest.min(MOST);
    // The evidence for each number, from one; nothing once a round contradicts it.
    let mut evidence = vec![Some(0.0); most];
    let mut early = vec![false; most];
    for (traffic, phase) in rounds {
        weigh(traffic, phase, &mut evidence, &mut early);
    }
    let mut best: Option<(usize, f64)> = None;
    let mut second = f64::NEG_INFINITY;
    for (place, weight) in evidence.iter().enumerate() {
        let Some(weight) = weight.map(|it| it - oddness(place + 1)) else {
            continue;
        };
        match best {
            Some((_, most)) if weight <= most => second = second.max(weight),
            _ => {
                second = best.map_or(second, |(_, most)| most);
                best = Some((place, weight));
            }
        }
    }
    let (place, weight) = best.filter(|&(_, weight)| weight > 0.0)?;
    let ahead = weight - second.max(0.0);
    if no_chance(ahead) < LEAST_SURE {
        return None;
    }
    let least = evidence[place].unwrap_or(weight) - TELLING;
    let likely = |it: &usize| evidence[*it].is_some_and(|it| it >= least);
    let smallest = (0..=place).rev().take_while(likely).last().unwrap_or(place);
    let largest = (place..most).take_while(likely).last().unwrap_or(place);
    let range = (smallest, largest);
    Some(Probes {
        count: place as u32 + 1,
        sure: no_chance(ahead),
        first_failure: early[place],
        range: (range.0 as u32 + 1, range.1 as u32 + 1),
    })
}

/// How unusual a number is, in natural logarithms of its odds: libraries let through one or ten unless
/// they are told otherwise, and people choose round numbers. Any round that is cut has some number of
/// calls: one that nobody chooses takes two rounds of it.
fn oddness(count: usize) -> f64 {
    match count {
        1 | 10 => 0.0,
        2 | 3 | 5 | 20 | 50 | 100 => 1.0,
        4 | 6..10 => 2.0,
        _ if count.is_multiple_of(5) && count < 50 || count.is_multiple_of(50) => 2.0,
        _ => TELLING + 1.0,
    }
}

/// Adds what one round says of each number.
fn weigh(traffic: &Traffic, phase: &Phase, evidence: &mut [Option<f64>], early: &mut [bool]) {
    let size = phase.end - phase.first;
    let (starts, ends) = (&traffic.start, &traffic.end);
    let mean = mean_gap(&starts[phase.first..phase.end], traffic);
    let bad = (phase.first..phase.end).any(|at| traffic.bad[at]);
    let began = starts[phase.first];
    let refused_from = traffic.refused.partition_point(|&it| it < began);
    let first_refused = traffic.refused.get(refused_from).copied();
    let mut verdict = i64::MIN;
    for (place, weight) in evidence.iter_mut().enumerate() {
        let count = place + 1;
        if count > size {
            // The round is shorter than that.
            if phase.cut.is_some() && !bad {
                *weight = None;
            } else if phase.cut.is_some() {
                *weight = weight.map(|it| it + EARLY);
                early[place] = true;
            }
            continue;
        }
        let last = phase.first + place;
        verdict = verdict.max(ends[last]);
        // A call is not refused while a permit is left.
        if first_refused.is_some_and(|refused| refused < starts[last]) {
            *weight = None;
            continue;
        }
        if count == size {
            let gain = if phase.cut.is_some() { TELLING } else { 0.0 };
            *weight = weight.map(|it| it + gain);
            continue;
        }
        let next = starts[last + 1];
        if next < verdict {
            *weight = None;
            continue;
        }
        let waited = verdict.saturating_sub(starts[last]).max(0) as f64 / mean;
        let told = first_refused.is_some_and(|it| it < verdict);
        *weight = weight.map(|it| it + waited + if told { TELLING } else { 0.0 });
    }
}

/// The mean time between the calls of a round, from its median; of all calls if it is short.
fn mean_gap(starts: &[i64], traffic: &Traffic) -> f64 {
    let of = |starts: &[i64]| {
        let gaps: Vec<u64> = starts.windows(2).map(|it| it[1].abs_diff(it[0])).collect();
        order::median(&gaps).unwrap_or(0).max(1) as f64 / std::f64::consts::LN_2
    };
    if starts.len() > 16 {
        of(starts)
    } else if traffic.start.len() > 1 {
        of(&traffic.start)
    } else {
        f64::INFINITY
    }
}
