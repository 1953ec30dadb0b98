//! What a breaker has seen, for dashboards.
//!
//! Owns how the figures are shown: nothing here changes the machine. Invariant:
//! all of one moment. Cost: O(1), for a time window O(buckets). Pinned by
//! `tests/model.rs`, which compares each, and `tests/machine.rs`.

use super::verdicts::PPM;
use super::{Machine, State};

/// What a breaker has seen, all of one moment. The figures are those of the
/// current state's window; while open, those that opened it.
///
/// The state is that of the last time the breaker was told, as looking at it
/// changes nothing: a wait, a lease or a step that has ended since is still
/// there. [`Machine::advance`] and [`Breaker::advance`](crate::Breaker::advance)
/// let those happen first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Snapshot {
    /// The state.
    pub state: State,
    /// How many times the state has changed.
    pub generation: u64,
    /// Results in the window.
    pub calls: u32,
    /// Of these, failures.
    pub failures: u32,
    /// Of these, slow.
    pub slow: u32,
    /// Failures in parts per million of the results, rounded down; `None`
    /// below the minimum that is judged.
    pub failure_rate: Option<u32>,
    /// Slow calls in parts per million of the results, rounded down; `None`
    /// below the minimum that is judged.
    pub slow_rate: Option<u32>,
    /// Rejections since the state last changed.
    pub not_permitted: u64,
    /// Results dropped because a later generation than theirs was current, or
    /// their probe's lease had run out. Since construction or reset.
    pub late_results: u64,
    /// Results that were ignored. Since construction or reset.
    pub ignored: u64,
    /// How many times the breaker has opened since it was last closed: the
    /// place in the backoff.
    pub openings: u32,
    /// Transitions overwritten before anybody drained them. Since
    /// construction.
    pub transitions_lost: u64,
    /// While open, when the wait is over, on the breaker's clock.
    pub retry_at: Option<i64>,
    /// When the breaker will next change by itself; see
    /// [`Machine::next_deadline`]. In the past if it was not told the time
    /// since.
    pub next_deadline: Option<i64>,
}

impl Machine {
    /// The figures at the last time passed in. Changes nothing; O(1), for a
    /// time window O(buckets).
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot_at(self.now)
    }

    /// The figures at `now`: what has left the window by then is not in them.
    /// Changes nothing, so that the state is still that of the last time
    /// passed in. O(1), for a time window O(buckets).
    pub fn snapshot_at(&self, now: i64) -> Snapshot {
        let counts = if self.counts_in_window() {
            self.window.totals_at(now.max(self.now), self.counts)
        } else {
            self.counts
        };
        let rate = |part: u32| {
            let judged = counts.calls >= self.floor;
            judged.then(|| (u64::from(part) * PPM / u64::from(counts.calls)) as u32)
        };
        Snapshot {
            state: self.state,
            generation: self.generation,
            calls: counts.calls,
            failures: counts.failures,
            slow: counts.slow,
            failure_rate: rate(counts.failures),
            slow_rate: rate(counts.slow),
            not_permitted: self.not_permitted,
            late_results: self.late_results,
            ignored: self.ignored,
            openings: self.openings,
            transitions_lost: self.log.lost().into(),
            retry_at: self.retry_at(),
            next_deadline: self.next_deadline(),
        }
    }
}
