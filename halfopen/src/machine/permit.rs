//! What passes between a caller and the machine for one call: the permit or
//! the rejection, and the outcome.
//!
//! Owns that a permit is reported once: it is neither copied nor cloned, and
//! whoever takes it back consumes it. Invariant: a permit names the generation
//! that admitted it and, while half-open, its probe's slot; elsewhere slots
//! mean nothing. Cost: sixteen bytes. Pinned by `tests/machine.rs` (permits of
//! another machine, results that come late) and `tests/breaker.rs` (what a
//! rejection says).

use core::fmt;
use core::time::Duration;

use super::State;

/// How a call went, in the caller's judgement. Whether it was slow or over its
/// timeout the machine derives from the duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It went well.
    Success,
    /// It failed.
    Failure,
    /// It says nothing about the callee (a caller's mistake, say): not
    /// counted, and a probe's slot is free again.
    Ignored,
}

/// The right to make one call. [`Machine::settle`](super::Machine::settle) or [`Machine::cancel`](super::Machine::cancel)
/// takes it back; it cannot be reported twice.
///
/// A permit that is dropped counts nothing, but a probe's slot then stays
/// taken until its lease runs out: cancel it instead.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "settle or cancel the permit, or a probe's slot is taken until its lease runs out"]
pub struct Permit {
    pub(super) generation: u64,
    pub(super) slot: u32,
}

impl Permit {
    /// A permit of a generation that admits everything.
    #[cfg(feature = "std")]
    pub(crate) fn new(generation: u64) -> Permit {
        Permit {
            generation,
            slot: 0,
        }
    }

    /// The generation of the machine that admitted the call.
    pub fn generation(&self) -> u64 {
        self.generation
    }
}

/// The answer to a call that is not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejected {
    /// The state that rejected it.
    pub state: State,
    /// The generation of that state.
    pub generation: u64,
    /// When it was rejected: the largest time seen, so the call's own, or a
    /// later one if the clock has gone back.
    ///
    /// A [`Machine`](super::Machine) knows that exactly, and so does a shared
    /// [`Breaker`](crate::Breaker) while half-open or ramping. While open or
    /// forced open that answers without its lock: then this is never before the
    /// call's own time, but may be behind the largest seen by as much as the
    /// times of calls differ that ask or report at the same moment. (Without a
    /// clock that goes back, a call's own time is the largest.)
    pub at: i64,
    /// When a call may be admitted again, if that is known: the end of the
    /// wait while open, of exactly this generation. While half-open or ramping
    /// it depends on others.
    pub retry_at: Option<i64>,
}

impl Rejected {
    /// How long after [`at`](Rejected::at) a call may be admitted again, if that
    /// is known: a `Retry-After`. Longer than need be by as much as `at` is
    /// behind. While a clock that went back has not come to `at` again, the
    /// breaker stands still, and the wait takes as much longer.
    pub fn retry_after(&self) -> Option<Duration> {
        let wait = |until: i64| until.max(self.at).abs_diff(self.at);
        self.retry_at.map(|it| Duration::from_nanos(wait(it)))
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the circuit breaker is {}", self.state)?;
        match self.retry_after() {
            Some(wait) => write!(f, ": try again in {wait:?}"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for Rejected {}
