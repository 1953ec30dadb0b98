//! Why and when a state changed, and the changes nobody has drained yet.
//!
//! Owns the causes and the log. Invariants: each generation has one
//! transition; those kept are the latest, oldest first, and those overwritten
//! are counted. Cost: O(1), no allocation after construction, 24 bytes a
//! transition that is kept: its generation follows from its place. Pinned by
//! `tests/machine.rs` (what nobody drains is counted) and `tests/model.rs`
//! (time, cause and figures of each).

use alloc::boxed::Box;
use alloc::vec;
use core::fmt;

use super::State;
use crate::window::Figures;

/// Why a state changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Cause {
    /// The share of failures reached its threshold.
    FailureRate,
    /// The share of slow calls reached its threshold.
    SlowRate,
    /// So many failures in a row.
    Consecutive,
    /// The half-open round was good.
    ProbesPassed,
    /// The half-open round was bad.
    ProbesFailed,
    /// A probe did not report in time, which decided the round.
    LeaseExpired,
    /// The time to stay open is over.
    WaitOver,
    /// The last step of the ramp is over.
    RampDone,
    /// A step of the ramp was bad at its end.
    RampFailed,
    /// Somebody asked for it.
    Manual,
}

impl Cause {
    /// The name in logs and JSON, such as `failure_rate`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Cause::FailureRate => "failure_rate",
            Cause::SlowRate => "slow_rate",
            Cause::Consecutive => "consecutive",
            Cause::ProbesPassed => "probes_passed",
            Cause::ProbesFailed => "probes_failed",
            Cause::LeaseExpired => "lease_expired",
            Cause::WaitOver => "wait_over",
            Cause::RampDone => "ramp_done",
            Cause::RampFailed => "ramp_failed",
            Cause::Manual => "manual",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One change of state. By hand, `from` and `to` can be the same: the state
/// was started anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Transition {
    /// When, in nanoseconds; a deadline's due time even if it was noticed
    /// later.
    pub at: i64,
    /// The generation that began with it.
    pub generation: u64,
    /// The state before.
    pub from: State,
    /// The state after.
    pub to: State,
    /// Why.
    pub cause: Cause,
    /// The results that led to it: those of the window, of the half-open
    /// round, or of the ramp's step. When the wait is over, those that opened
    /// the breaker.
    pub figures: Figures,
}

/// A [`Transition`] less its generation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) at: i64,
    pub(super) from: State,
    pub(super) to: State,
    pub(super) cause: Cause,
    pub(super) figures: Figures,
}

impl Entry {
    const UNUSED: Entry = Entry {
        at: 0,
        from: State::Closed,
        to: State::Closed,
        cause: Cause::Manual,
        figures: Figures {
            calls: 0,
            failures: 0,
            slow: 0,
        },
    };
}

/// The transitions that nobody has drained yet, in a ring.
#[derive(Clone, Debug)]
pub(super) struct Log {
    kept: Box<[Entry]>,
    first: u16,
    len: u16,
    /// Stops at four billion.
    lost: u32,
}

impl Log {
    /// Keeps so many; with 0 none, and none count as lost.
    pub(super) fn new(len: usize) -> Log {
        Log {
            kept: vec![Entry::UNUSED; len].into_boxed_slice(),
            first: 0,
            len: 0,
            lost: 0,
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many were overwritten.
    pub(super) fn lost(&self) -> u32 {
        self.lost
    }

    pub(super) fn push(&mut self, entry: Entry) {
        if self.kept.is_empty() {
            return;
        }
        if usize::from(self.len) == self.kept.len() {
            self.forget_first();
            self.lost = self.lost.saturating_add(1);
        }
        let last = usize::from(self.first + self.len) % self.kept.len();
        self.kept[last] = entry;
        self.len += 1;
    }

    /// The oldest, where the latest began `generation`: each generation has
    /// one, so that theirs follow from how many are left.
    pub(super) fn pop(&mut self, generation: u64) -> Option<Transition> {
        if self.len == 0 {
            return None;
        }
        let Entry {
            at,
            from,
            to,
            cause,
            figures,
        } = self.kept[usize::from(self.first)];
        let generation = generation + 1 - u64::from(self.len);
        self.forget_first();
        Some(Transition {
            at,
            generation,
            from,
            to,
            cause,
            figures,
        })
    }

    fn forget_first(&mut self) {
        self.first = ((usize::from(self.first) + 1) % self.kept.len()) as u16;
        self.len -= 1;
    }
}
