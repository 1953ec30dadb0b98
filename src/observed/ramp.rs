//! Whether a share that grows came after the probes, instead of everything at once.
//!
//! Owns the end of a ramp. While calls are held back they fall behind what is asked for; the ramp ends
//! where they are furthest behind nine tenths of it: behind all of it they stay as far by chance. Fewer by
//! five standard deviations and by a quarter is no chance: a ramp that begins at a tenth admits half of what
//! is asked for. O(calls of the phase). Pinned by `tests/it/observed.rs`.

use super::silence::no_chance;
use super::{Phase, Traffic};

/// Standard deviations by which the calls are fewer than asked for.
const FEWER: f64 = 5.0;

/// The share of the calls asked for that is missing at least.
const MISSING: f64 = 0.25;

/// The share of the calls asked for that comes when the ramp is over.
const ALL: f64 = 0.9;

/// Calls at the end of a phase that tell the demand, at least.
const DEMAND: usize = 50;

/// When the ramp that begins at `from` ends, and how sure it is one.
pub(super) fn end(traffic: &Traffic, phase: &Phase, from: i64) -> Option<(i64, f64)> {
    let per_ns = demand(traffic, phase)?;
    let first = traffic.start[phase.first..phase.end].partition_point(|&it| it < from);
    // How far behind, of how many, and when.
    let mut most = (0.0, 0.0, from);
    for (came, &start) in traffic.start[phase.first + first..phase.end]
        .iter()
        .enumerate()
    {
        let asked = per_ns * start.saturating_sub(from) as f64;
        let behind = ALL * asked - came as f64;
        if behind > most.0 {
            most = (behind, asked, start);
        }
    }
    let (behind, asked, end) = most;
    let deviations = behind / (asked + 1.0).sqrt();
    // At the end of the calls nothing tells whether it was over.
    let caught_up = end < traffic.start[phase.end - 1];
    (deviations > FEWER && behind > MISSING * asked && caught_up)
        .then(|| (end, no_chance(deviations)))
}

/// Calls a nanosecond that are asked for: those of the later half of the phase, where nothing holds
/// them back any more.
fn demand(traffic: &Traffic, phase: &Phase) -> Option<f64> {
    let starts = &traffic.start[phase.first..phase.end];
    let (first, last) = (*starts.first()?, *starts.last()?);
    let middle = first + last.saturating_sub(first) / 2;
    let later = starts.len() - starts.partition_point(|&it| it < middle);
    let time = last.saturating_sub(middle);
    (later >= DEMAND && time > 0).then(|| later as f64 / time as f64)
}
