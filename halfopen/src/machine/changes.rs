//! From one state to another.
//!
//! Owns the changes by hand, and what entering a state does to deadline,
//! window, probes and backoff. Invariants: `enter` is the only place where the
//! state changes, and writes generation, deadline and log with it; what has
//! left the window by then is not in the figures of a transition; the place in
//! the backoff falls back on closing alone. Cost: O(1), for a time window
//! O(buckets). Pinned by `tests/machine.rs` (each change by hand on each state,
//! waits that grow) and `tests/model.rs`.

use super::transition::Entry;
use super::{Cause, Machine, NotAllowed, State};
use crate::window::Figures;

impl Machine {
    /// Opens by hand, for as long as the settings say. While open already,
    /// the wait starts anew.
    ///
    /// # Errors
    ///
    /// Not while metrics-only.
    pub fn open(&mut self, now: i64) -> Result<(), NotAllowed> {
        let now = self.see(now);
        self.refuse(State::MetricsOnly, State::Open)?;
        self.expire();
        self.enter_open(now, Cause::Manual);
        Ok(())
    }

    /// Opens by hand for `wait` nanoseconds. The backoff stays where it is.
    ///
    /// # Errors
    ///
    /// Not while metrics-only.
    pub fn open_for(&mut self, now: i64, wait: u64) -> Result<(), NotAllowed> {
        let now = self.see(now);
        self.refuse(State::MetricsOnly, State::Open)?;
        self.expire();
        let kept = (self.wait, self.openings, self.all_openings);
        self.enter_open(now, Cause::Manual);
        (self.wait, self.openings, self.all_openings) = kept;
        self.due = now.saturating_add_unsigned(wait);
        Ok(())
    }

    /// Starts a half-open round by hand.
    ///
    /// # Errors
    ///
    /// Not while closed or metrics-only.
    pub fn half_open(&mut self, now: i64) -> Result<(), NotAllowed> {
        let now = self.see(now);
        self.refuse(State::Closed, State::HalfOpen)?;
        self.refuse(State::MetricsOnly, State::HalfOpen)?;
        self.expire();
        self.enter_half_open(now, Cause::Manual);
        Ok(())
    }

    /// Closes by hand, without a ramp, with an empty window.
    pub fn close(&mut self, now: i64) {
        let now = self.see(now);
        self.expire();
        self.enter_closed(now, Cause::Manual);
    }

    /// Rejects everything until the next change by hand.
    pub fn force_open(&mut self, now: i64) {
        let now = self.see(now);
        self.expire();
        self.enter_empty(State::ForcedOpen, now, Cause::Manual);
    }

    /// Admits everything and counts nothing until the next change by hand.
    pub fn disable(&mut self, now: i64) {
        let now = self.see(now);
        self.expire();
        self.enter_empty(State::Disabled, now, Cause::Manual);
    }

    /// Admits and counts everything, and never opens, until the next change by
    /// hand.
    pub fn metrics_only(&mut self, now: i64) {
        let now = self.see(now);
        self.expire();
        self.enter_empty(State::MetricsOnly, now, Cause::Manual);
    }

    /// Closes by hand and sets all counters to zero.
    pub fn reset(&mut self, now: i64) {
        self.close(now);
        self.late_results = 0;
        self.ignored = 0;
    }

    pub(super) fn enter_open(&mut self, at: i64, cause: Cause) {
        // By hand while open: the same wait once more.
        if self.state != State::Open {
            if self.openings > 0 {
                self.wait = self.config.backoff.after(self.wait);
            }
            self.openings = self.openings.saturating_add(1);
        }
        let wait = self
            .config
            .backoff
            .spread(self.wait, self.all_openings.into());
        self.all_openings = self.all_openings.wrapping_add(1);
        // The figures stay, to be seen until the breaker leaves open.
        self.enter(State::Open, at, cause);
        self.due = at.saturating_add_unsigned(wait);
    }

    pub(super) fn enter_half_open(&mut self, at: i64, cause: Cause) {
        self.enter_empty(State::HalfOpen, at, cause);
        self.floor = self.config.probes;
        self.probes.clear();
    }

    pub(super) fn enter_ramping(&mut self, at: i64) {
        self.enter_empty(State::Ramping, at, Cause::ProbesPassed);
        if let (Some(run), Some(plan)) = (&mut self.ramp, &self.config.ramp) {
            self.due = run.start(plan, at);
        }
    }

    pub(super) fn enter_closed(&mut self, at: i64, cause: Cause) {
        self.openings = 0;
        self.wait = self.config.backoff.first;
        self.enter_empty(State::Closed, at, cause);
    }

    fn enter_empty(&mut self, state: State, at: i64, cause: Cause) {
        self.enter(state, at, cause);
        self.counts = Figures::default();
        self.floor = self.config.min;
        self.window.clear();
    }

    /// The only place where the state changes. Leaves no deadline.
    fn enter(&mut self, to: State, at: i64, cause: Cause) {
        let from = self.state;
        self.log.push(Entry {
            at,
            from,
            to,
            cause,
            figures: self.counts,
        });
        self.state = to;
        self.generation += 1;
        self.due = i64::MAX;
        self.streak = 0;
        self.not_permitted = 0;
    }

    fn refuse(&self, from: State, to: State) -> Result<(), NotAllowed> {
        if self.state == from {
            Err(NotAllowed { from, to })
        } else {
            Ok(())
        }
    }
}
