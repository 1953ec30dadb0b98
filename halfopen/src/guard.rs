//! The permit of a shared breaker, which gives itself back.
//!
//! Owns that it is taken back exactly once, whatever becomes of the call, and
//! from when to when a call's duration goes. Invariants: a guard that is dropped
//! counts nothing; a duration is the difference of what the clock showed, and
//! nothing where it went back. Cost: that of the admission and of the result; a
//! guard that borrows the breaker counts no reference. Pinned by
//! `tests/breaker.rs` and `tests/loom.rs`.

use std::borrow::Borrow;
use std::fmt;

use crate::breaker::Breaker;
use crate::machine::{Outcome, Permit, Rejected, State};
use crate::trace;

/// The right to make one call, taken back whatever happens.
///
/// Say how the call went with [`success`](Guard::success),
/// [`failure`](Guard::failure), [`ignore`](Guard::ignore) or
/// [`settle`](Guard::settle); its duration is counted from the guard's own
/// acquire, by the clock as it was read then and now.
///
/// **A guard that is dropped counts nothing** and gives a probe's slot back:
/// that is what a call does that is cancelled, or that panics. So a callee that
/// hangs is not seen if whoever waits for it gives up and drops the call: let
/// the timeout that cuts a call off be *inside* what the guard spans, where it
/// is a result. See [Timeouts go inside](crate#timeouts-go-inside).
///
/// ```
/// use halfopen::{Breaker, Config};
///
/// let breaker = Breaker::new(Config::default());
/// if let Ok(guard) = breaker.acquire() {
///     match "3".parse::<u32>() {
///         Ok(_) => guard.success(),
///         Err(_) => guard.failure(),
///     }
/// }
/// assert_eq!(breaker.snapshot().calls, 1);
/// ```
#[must_use = "a guard that is dropped counts nothing"]
pub struct Guard<B: Borrow<Breaker> = Breaker> {
    breaker: B,
    /// Nothing once reported.
    permit: Option<Permit>,
    state: State,
    since: i64,
}

impl<B: Borrow<Breaker>> Guard<B> {
    // Inlined whatever it costs, and so is `settle_at`: a guard that is
    // handed over in memory costs more than the admission.
    #[inline(always)]
    pub(crate) fn acquire(breaker: B, now: i64) -> Result<Guard<B>, Rejected> {
        let gate = breaker.borrow().gate();
        let seen = gate.see(now);
        let (permit, state) = match gate.admission() {
            Some((generation, state)) => (Permit::new(generation), state),
            None => {
                if let Some(rejected) = gate.rejection(seen) {
                    trace::rejected(breaker.borrow(), &rejected);
                    return Err(rejected);
                }
                breaker.borrow().acquire_elsewhere(seen)?
            }
        };
        trace::admitted(breaker.borrow(), state, permit.generation());
        Ok(Guard {
            breaker,
            permit: Some(permit),
            state,
            since: now,
        })
    }

    /// The state that admitted the call.
    pub fn state(&self) -> State {
        self.state
    }

    /// The generation that admitted the call.
    pub fn generation(&self) -> u64 {
        self.permit.as_ref().map_or(0, Permit::generation)
    }

    /// When the call was admitted: what the breaker's clock showed, even if it
    /// had shown more before.
    pub fn since(&self) -> i64 {
        self.since
    }

    /// The call went well.
    #[inline(always)]
    pub fn success(self) {
        self.settle(Outcome::Success);
    }

    /// As [`success`](Guard::success), at a time passed in.
    #[inline(always)]
    pub fn success_at(self, now: i64) {
        self.settle_at(now, Outcome::Success);
    }

    /// The call failed.
    #[inline(always)]
    pub fn failure(self) {
        self.settle(Outcome::Failure);
    }

    /// As [`failure`](Guard::failure), at a time passed in.
    #[inline(always)]
    pub fn failure_at(self, now: i64) {
        self.settle_at(now, Outcome::Failure);
    }

    /// The call says nothing about the callee.
    #[inline(always)]
    pub fn ignore(self) {
        self.settle(Outcome::Ignored);
    }

    /// As [`ignore`](Guard::ignore), at a time passed in.
    #[inline(always)]
    pub fn ignore_at(self, now: i64) {
        self.settle_at(now, Outcome::Ignored);
    }

    /// How the call went; see [`Machine::settle`](crate::Machine::settle).
    #[inline(always)]
    pub fn settle(self, outcome: Outcome) {
        let now = self.breaker.borrow().now();
        self.settle_at(now, outcome);
    }

    /// As [`settle`](Guard::settle), at a time passed in.
    #[inline(always)]
    pub fn settle_at(mut self, now: i64, outcome: Outcome) {
        if let Some(permit) = self.permit.take() {
            let duration = now.max(self.since).abs_diff(self.since);
            self.breaker.borrow().settle(now, permit, outcome, duration);
        }
    }

    /// Gives the permit back as dropping does, at a time passed in.
    #[inline(always)]
    pub fn cancel_at(mut self, now: i64) {
        if let Some(permit) = self.permit.take() {
            self.breaker.borrow().cancel(now, permit);
        }
    }
}

impl Guard<&Breaker> {
    /// The same permit, with its own handle of the breaker.
    #[inline]
    pub fn into_owned(mut self) -> Guard {
        Guard {
            breaker: self.breaker.clone(),
            permit: self.permit.take(),
            state: self.state,
            since: self.since,
        }
    }
}

impl<B: Borrow<Breaker>> Drop for Guard<B> {
    #[inline]
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            let breaker = self.breaker.borrow();
            breaker.cancel(breaker.now(), permit);
        }
    }
}

impl<B: Borrow<Breaker>> fmt::Debug for Guard<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("state", &self.state)
            .field("generation", &self.generation())
            .field("since", &self.since)
            .finish_non_exhaustive()
    }
}
