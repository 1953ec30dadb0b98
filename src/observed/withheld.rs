//! How much of the demand never was sent, because breakers were open.
//!
//! Refusals that were recorded are counted. Where none were, the calls that did not come are estimated
//! from those that came before a breaker opened and after it closed, and the estimate has an interval:
//! from the lower to the higher of the two rates, with three standard deviations of a count of
//! independent calls at either side. Invariant: low <= mid <= high. O(calls). Pinned by
//! `tests/it/observed.rs`, against incidents in which what was withheld is known.

use std::ops::Range;

use super::{Observed, Seen, Traffic};

/// An estimate of the demand that was withheld.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Withheld {
    /// The share of all calls that were asked for, 0 to 1: at least, most likely, at most.
    pub share: [f64; 3],
    /// Calls: at least, most likely, at most.
    pub calls: [f64; 3],
    /// How long breakers were open in all, nanoseconds.
    pub open_ns: u64,
    /// Refusals were recorded, and this is their count.
    pub counted: bool,
}

/// As much of the neighbouring closed periods tells the demand.
const TELLING_NS: i64 = 60_000_000_000;

/// Standard deviations at either side.
const WIDE: f64 = 3.0;

/// What the breakers withheld; `None` where none was open, or nothing tells what was asked for.
pub fn withheld(observed: &Observed) -> Option<Withheld> {
    let traffic = &observed.evidence.traffic;
    let mut open_ns = 0;
    let (mut low, mut mid, mut high) = (0.0, 0.0, 0.0);
    for (breaker, traffic) in observed.breakers.iter().zip(traffic) {
        let states = &breaker.states;
        for (at, stretch) in states.iter().enumerate() {
            if !matches!(stretch.state, Seen::Open | Seen::HalfOpen) {
                continue;
            }
            let length = stretch.to - stretch.from;
            if stretch.state == Seen::Open {
                open_ns += length.max(0) as u64;
            }
            // Probes are let through, whatever else is asked for is not.
            let let_through = made(traffic, stretch.from..stretch.to) as f64;
            let closed = |it: &&super::Stretch| it.state == Seen::Closed;
            let before = states[..at].iter().rev().find(closed);
            let after = states[at..].iter().find(closed);
            let before = before.map(|it| it.from.max(it.to - TELLING_NS)..it.to);
            let after = after.map(|it| it.from..it.to.min(it.from + TELLING_NS));
            let rates: Vec<[f64; 3]> = [before, after]
                .into_iter()
                .flatten()
                .filter_map(|time| rate(traffic, time))
                .collect();
            let n = rates.len() as f64;
            if rates.is_empty() {
                continue;
            }
            let length = length as f64;
            let of = |place: usize| {
                let counts = rates.iter().map(move |it| it[place] * length - let_through);
                counts.map(|it| it.max(0.0))
            };
            let count = of(1).sum::<f64>() / n;
            // Half sure is as well none at all.
            if stretch.sure > 0.5 {
                low += (of(0).fold(f64::INFINITY, f64::min) - WIDE * count.sqrt()).max(0.0);
            }
            mid += count;
            high += of(2).fold(0.0, f64::max) + WIDE * count.sqrt();
        }
    }
    let refused: usize = traffic.iter().map(|it| it.refused.len()).sum();
    let counted = refused > 0;
    if counted {
        (low, mid, high) = (refused as f64, refused as f64, refused as f64);
    }
    let made: usize = traffic.iter().map(|it| it.start.len()).sum();
    let share = |withheld: f64| withheld / (withheld + made as f64).max(1.0);
    (open_ns > 0 && high > 0.0).then(|| Withheld {
        share: [share(low), share(mid), share(high)],
        calls: [low, mid, high],
        open_ns,
        counted,
    })
}

/// Calls that were made in some time.
fn made(traffic: &Traffic, time: Range<i64>) -> usize {
    let before = |time: i64| traffic.start.partition_point(|&it| it < time);
    before(time.end) - before(time.start)
}

/// Calls a nanosecond in some time: at least, most likely, at most.
fn rate(traffic: &Traffic, time: Range<i64>) -> Option<[f64; 3]> {
    let count = made(traffic, time.clone());
    let length = time.end.saturating_sub(time.start);
    if length <= 0 || count == 0 {
        return None;
    }
    let (count, length) = (count as f64, length as f64);
    let wide = WIDE * count.sqrt();
    Some([(count - wide).max(0.0), count, count + wide].map(|it| it / length))
}
