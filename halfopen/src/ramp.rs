//! Ramping: after the probes have passed, a growing share of the calls.
//!
//! A breaker that closes lets all withheld traffic through at once, and a
//! service that has just come back may not carry it. Ramping admits a share
//! instead, which grows in steps or along Envoy's slow-start curve.
//!
//! Owns which call of a ramp is admitted. It is decided by counting, not by
//! chance: every arriving call adds the share to a credit, and a call is
//! admitted when the credit reaches one. Invariant: at a share `p`, any `n`
//! calls in a row have at most `n*p + 1` admitted ones, so there is no burst
//! inside a step, nor at the change to the next (the credit is kept). The share
//! is one of the calls that ask, whatever becomes of them: a call that is
//! ignored or cancelled has had its turn, as it may well have reached the
//! callee. Cost: an addition per call, and a division on the curve. Source of the curve: Envoy,
//! `slow_start.rst`, with aggression 1 and a minimum weight of 10 %; Envoy's
//! floor of one second on the elapsed time is left out, because the minimum
//! does its work. Pinned by the tests below and by `tests/model.rs`.

use alloc::vec::Vec;

use crate::config::Rate;
use crate::window::Figures;

/// The share at which Envoy's curve starts, in parts per million.
const CURVE_START: u32 = 100_000;
/// One whole call, in the credit's unit.
const ONE: u32 = 1_000_000;

/// How calls are admitted between half-open and closed.
///
/// The share is of the calls that ask. What becomes of them does not matter:
/// ignored or cancelled ones make no room for others.
///
/// Each step is judged at its end, by the failure and slow-call rates of the
/// results that came in during it: if they are reached, the breaker opens
/// again. With fewer results than `probes` there is no verdict, and the ramp
/// goes on with the next step. With `fail=off`, where no rate says how many
/// failures are too many, half of a step's results are, however few they are:
/// there as elsewhere, a callee that fails does not get through a ramp. All the
/// while the rules of the closed state hold too, over a window that began with
/// the ramp, so that a bad step does not have to end. The place in the backoff
/// is kept until the last step is over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ramp {
    /// No ramp: passing probes close the breaker.
    Off,
    /// One share after the other, each held for the same time.
    Steps {
        /// The shares of calls admitted, growing.
        shares: Vec<Rate>,
        /// How long each is held, in nanoseconds.
        hold: u64,
    },
    /// Envoy's slow start: `max(10 %, elapsed / over)`. It is one step.
    Curve {
        /// How long until all calls are admitted, in nanoseconds.
        over: u64,
    },
}

/// A ramp that has been checked; see [`Ramp`]. A curve has no shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    shares: Vec<Rate>,
    hold: u64,
}

impl Plan {
    pub(crate) fn new(ramp: Ramp) -> Option<Plan> {
        match ramp {
            Ramp::Off => None,
            Ramp::Steps { shares, hold } => Some(Plan { shares, hold }),
            Ramp::Curve { over } => Some(Plan {
                shares: Vec::new(),
                hold: over,
            }),
        }
    }

    pub(crate) fn ramp(&self) -> Ramp {
        if self.shares.is_empty() {
            Ramp::Curve { over: self.hold }
        } else {
            Ramp::Steps {
                shares: self.shares.clone(),
                hold: self.hold,
            }
        }
    }

    /// The share of calls admitted `elapsed` nanoseconds into step `step`, in
    /// parts per million.
    fn share(&self, step: usize, elapsed: u64) -> u32 {
        match self.shares.get(step) {
            Some(share) => share.as_ppm(),
            None if elapsed >= self.hold => ONE,
            None => {
                // Below `ONE`, because `elapsed` is below `hold`.
                let share = u128::from(elapsed) * u128::from(ONE) / u128::from(self.hold);
                (share as u32).max(CURVE_START)
            }
        }
    }
}

/// Where a ramp stands. Kept over its steps, started anew by each ramp.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    /// When the ramp began, which is when a curve's only step did.
    since: i64,
    credit: u32,
    step: u16,
    /// The results that came in during the current step.
    pub(crate) results: Figures,
}

impl Run {
    /// Starts a ramp at `at`; gives the end of its first step.
    pub(crate) fn start(&mut self, plan: &Plan, at: i64) -> i64 {
        *self = Run {
            since: at,
            ..Run::default()
        };
        at.saturating_add_unsigned(plan.hold)
    }

    /// Goes to the next step at `at`; gives its end, or nothing when the ramp
    /// is over.
    pub(crate) fn next_step(&mut self, plan: &Plan, at: i64) -> Option<i64> {
        self.step += 1;
        self.results = Figures::default();
        (usize::from(self.step) < plan.shares.len()).then(|| at.saturating_add_unsigned(plan.hold))
    }

    /// Counts a result for the current step. Stops at four billion.
    pub(crate) fn count(&mut self, failed: bool, slow: bool) {
        if self.results.calls < u32::MAX {
            self.results.add(failed, slow);
        }
    }

    /// Whether a call that arrived at `now` would be admitted.
    #[cfg(feature = "tower")]
    pub(crate) fn would_admit(&self, plan: &Plan, now: i64) -> bool {
        self.clone().admit(plan, now)
    }

    /// Whether the call that arrives at `now` is admitted.
    pub(crate) fn admit(&mut self, plan: &Plan, now: i64) -> bool {
        self.credit += plan.share(usize::from(self.step), now.abs_diff(self.since));
        let admitted = self.credit >= ONE;
        if admitted {
            self.credit -= ONE;
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const S: u64 = 1_000_000_000;

    fn steps() -> Plan {
        let shares = vec![Rate::percent(10), Rate::percent(25), Rate::percent(100)];
        Plan {
            shares,
            hold: 5 * S,
        }
    }

    #[test]
    fn a_step_admits_its_share_evenly() {
        let plan = steps();
        for (step, every) in [(0u16, 10), (1, 4), (2, 1)] {
            let mut run = Run {
                step,
                ..Run::default()
            };
            let admitted: Vec<usize> = (1..=100).filter(|_| run.admit(&plan, 0)).collect();
            let expected: Vec<usize> = (1..=100 / every).map(|n| n * every).collect();
            assert_eq!(admitted, expected, "step {step}");
        }
    }

    #[test]
    fn a_step_change_makes_no_burst() {
        let plan = steps();
        let mut run = Run::default();
        run.start(&plan, 0);
        let mut row = 0;
        for call in 0..100 {
            if call == 57 {
                run.next_step(&plan, 0);
            }
            row = if run.admit(&plan, 0) { row + 1 } else { 0 };
            assert!(row <= 1);
        }
    }

    #[test]
    fn the_curve_is_envoys() {
        let plan = Plan {
            shares: Vec::new(),
            hold: 30 * S,
        };
        for (elapsed, share) in [
            (0, 100_000),
            (S, 100_000),
            (3 * S, 100_000),
            (6 * S, 200_000),
            (15 * S, 500_000),
        ] {
            assert_eq!(plan.share(0, elapsed), share);
        }
        assert_eq!(plan.share(0, 30 * S), ONE);
        assert_eq!(plan.share(0, u64::MAX), ONE);
    }

    #[test]
    fn steps_end_where_the_plan_says() {
        let plan = steps();
        let mut run = Run::default();
        assert_eq!(run.start(&plan, -1), 5 * S as i64 - 1);
        assert_eq!(run.next_step(&plan, 10), Some(5 * S as i64 + 10));
        assert_eq!(run.next_step(&plan, 20), Some(5 * S as i64 + 20));
        assert_eq!(run.next_step(&plan, 30), None);
    }
}
