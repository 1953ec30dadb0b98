//! What the results say: whether to open, to close, or to go on.
//!
//! Owns the comparisons of rates, in integers: of the window with each result,
//! of a half-open round, of a ramp's step at its end. Invariants: a rate trips
//! at its threshold, and never below the minimum of its state; no verdict
//! without a cause and the figures that led to it. Cost: two multiplications;
//! none for most good results. Pinned by `tests/machine.rs` (each verdict at
//! its boundary), `tests/vectors.rs` and `tests/model.rs`.

use super::{Cause, Machine};
use crate::config::{Judge, OFF};
use crate::window::Figures;

/// Rates are compared in these units.
pub(crate) const PPM: u64 = 1_000_000;
/// The share of failures that fails a step of the ramp where no rate is set.
const HALF: u32 = 500_000;

impl Machine {
    /// Counts a result in the window and trips if it has to.
    ///
    /// A good result does not raise a rate that was judged before it, unless
    /// others have left the window. So most results end with the window.
    #[inline(always)]
    pub(super) fn record(&mut self, now: i64, failed: bool, slow: bool) {
        let before = self.counts.calls;
        self.window.record(now, failed, slow, &mut self.counts);
        let lower = before >= self.floor && self.counts.calls >= before;
        if failed || slow || !lower {
            return self.judge(now, failed);
        }
        self.streak = 0;
    }

    #[inline(never)]
    fn judge(&mut self, now: i64, failed: bool) {
        self.streak = if failed {
            (self.streak + 1).min(OFF - 1)
        } else {
            0
        };
        let judged = self.counts.calls >= self.floor;
        if (judged && self.rates_reached(self.counts)) || self.streak >= self.config.consecutive {
            self.trip(now);
        }
    }

    #[inline]
    fn rates_reached(&self, results: Figures) -> bool {
        reached(results.failures, results.calls, self.config.fail)
            || reached(results.slow, results.calls, self.config.slow)
    }

    #[cold]
    fn trip(&mut self, now: i64) {
        let Figures {
            calls,
            failures,
            slow,
        } = self.counts;
        let judged = calls >= self.floor;
        let cause = if judged && reached(failures, calls, self.config.fail) {
            Cause::FailureRate
        } else if judged && reached(slow, calls, self.config.slow) {
            Cause::SlowRate
        } else {
            Cause::Consecutive
        };
        self.enter_open(now, cause);
    }

    /// Counts the result of a probe and decides the round if it has to; `bad`
    /// is the cause if it opens the breaker.
    pub(super) fn probe_result(&mut self, at: i64, failed: bool, slow: bool, bad: Cause) {
        self.due = self.probes.first_due();
        self.counts.add(failed, slow);
        let complete = self.counts.calls >= self.config.probes;
        let opens = match self.config.judge {
            Judge::Rate => complete && self.rates_reached(self.counts),
            Judge::FirstFailure => failed || slow,
        };
        if opens {
            self.enter_open(at, bad);
        } else if complete && self.config.ramp.is_some() {
            self.enter_ramping(at);
        } else if complete {
            self.enter_closed(at, Cause::ProbesPassed);
        }
    }

    /// Judges a step of the ramp at its end. Too few results say nothing: the
    /// ramp then goes on, so that a breaker with little traffic, or whose
    /// results are ignored, is not kept at a low share for ever. Where no rate
    /// judges failures, few say enough: see [`Ramp`](crate::Ramp).
    pub(super) fn end_step(&mut self, at: i64) {
        let (Some(run), Some(plan)) = (self.ramp.as_deref_mut(), self.config.ramp.as_deref())
        else {
            return self.enter_closed(at, Cause::RampDone);
        };
        let results = run.results;
        let next = run.next_step(plan, at);
        let judged = results.calls >= self.config.probes;
        let failed = self.config.fail == OFF && reached(results.failures, results.calls, HALF);
        if failed || judged && self.rates_reached(results) {
            self.counts = results;
            self.floor = self.config.probes;
            self.enter_open(at, Cause::RampFailed);
        } else if let Some(end) = next {
            self.due = end;
        } else {
            self.counts = results;
            self.enter_closed(at, Cause::RampDone);
        }
    }
}

/// Whether `part` of `all` is at least `rate`, in integers. No rate is reached
/// by nothing, and `OFF` by nothing at all.
#[inline]
pub(crate) fn reached(part: u32, all: u32, rate: u32) -> bool {
    u64::from(part) * PPM >= u64::from(rate) * u64::from(all) && all > 0
}
