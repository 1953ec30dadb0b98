//! What the shared breaker asks of its machine beyond what any host may.
//!
//! Owns no state. Invariants: what is looked at changes nothing; good results
//! that waited count as the same calls of `settle` would have. Cost: that of
//! one step; for results that waited see
//! [`record_good`](crate::window::Sliding::record_good). Pinned by
//! `tests/identical.rs`, `tests/tower.rs` and `tests/loom.rs`.

#[cfg(feature = "tower")]
use super::Rejected;
use super::{Machine, State};
use crate::window::Sliding;

impl Machine {
    /// Whether a call at `now` would be rejected. Changes nothing; where
    /// something is due by then that may admit it, the answer is no.
    #[cfg(feature = "tower")]
    pub(crate) fn rejects(&self, now: i64) -> bool {
        let now = now.max(self.now);
        match self.state {
            State::ForcedOpen => true,
            State::Closed | State::Disabled | State::MetricsOnly => false,
            _ if now >= self.due => false,
            State::Open => true,
            State::HalfOpen => self.probes.are_taken(),
            State::Ramping => {
                let ramp = self.ramp.as_deref().zip(self.config.ramp.as_deref());
                ramp.is_some_and(|(run, plan)| !run.would_admit(plan, now))
            }
        }
    }

    /// Rejects a call that cannot be made now whatever the answer. If it would
    /// have been admitted nothing is taken, and it may ask again at once.
    #[cfg(feature = "tower")]
    pub(crate) fn turn_away(&mut self, now: i64) -> Rejected {
        let now = self.see(now);
        if self.rejects(now)
            && let Err(rejected) = self.acquire(now)
        {
            return rejected;
        }
        self.not_permitted += 1;
        Rejected {
            state: self.state,
            generation: self.generation,
            at: now,
            retry_at: Some(now),
        }
    }

    /// Whether a good result changes nothing but the window: none can trip
    /// while one that is counted does not make others leave.
    pub(crate) fn good_results_wait(&self) -> bool {
        self.state == State::Closed
            && self.counts.calls >= self.floor
            && matches!(self.window, Sliding::Count(_))
    }

    /// Counts good results that waited while
    /// [`good_results_wait`](Machine::good_results_wait): as many calls of
    /// `record` would.
    pub(crate) fn count_good(&mut self, results: u32) {
        self.window.record_good(results, &mut self.counts);
        self.streak = 0;
    }

    /// Counts results of an earlier generation that waited.
    pub(crate) fn count_late(&mut self, results: u32) {
        self.late_results += u64::from(results);
    }
}
