//! Timeouts of one call, connect and read apart, and the deadline of a chain.
//!
//! A connection on a healthy network takes a few round trips, so its timeout
//! is short (typically 100 to 500 ms) and says whether anybody is there. The
//! read timeout is a little above what the callee's slowest good answers take.
//! Neither bounds what the *caller's caller* is still waiting for: that is the
//! [`Deadline`], which is handed on and only ever shrinks along the chain.
//! Without it a call that nobody waits for any more still costs its callees.
//!
//! Owns when a call is to be cut. Invariants: a call over its timeout is a
//! failure, at `>=`, whatever it returned and however late that is noticed; no
//! operation makes a deadline later. Cost: a comparison; nothing is allocated.
//! Source: gRPC's deadline propagation (what goes over the wire is the time
//! that *remains*, as clocks differ). Pinned by `tests/companions/` and
//! `tests/companions_models.rs`.

use core::fmt;

use super::{Latest, check};
use crate::config::{ConfigError, NEVER};
use crate::machine::Outcome;

/// The timeouts as a person writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeoutSettings {
    /// How long a connection may take, in nanoseconds; `None`: for ever.
    /// Default 500 ms.
    pub connect: Option<u64>,
    /// How long the answer may take once connected, in nanoseconds; `None`:
    /// for ever. Default 1 s.
    pub read: Option<u64>,
}

impl Default for TimeoutSettings {
    fn default() -> TimeoutSettings {
        TimeoutSettings {
            connect: Some(500_000_000),
            read: Some(1_000_000_000),
        }
    }
}

/// Checked timeouts: starts a [`Timer`] for each call.
///
/// ```
/// use halfopen::companions::{Deadline, TimedOut, Timeout, TimeoutSettings};
///
/// const MS: i64 = 1_000_000;
/// let timeout = Timeout::new(TimeoutSettings::default())?;
/// // The caller has 800 ms left, and keeps 50 ms for its own answer.
/// let deadline = Deadline::after(0, 800_000_000).reserving(50_000_000);
///
/// let mut call = timeout.start(0, deadline);
/// assert_eq!(call.limit(), Some(500 * MS)); // the connection
/// call.connected(20 * MS)?;
/// assert_eq!(call.limit(), Some(750 * MS)); // the deadline comes first
/// assert_eq!(call.finish(750 * MS), Err(TimedOut::Deadline));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    connect: u64,
    read: u64,
}

impl Timeout {
    /// Checks settings.
    ///
    /// # Errors
    ///
    /// A timeout is nothing or longer than 365 days.
    pub fn new(settings: TimeoutSettings) -> Result<Timeout, ConfigError> {
        for (key, it) in [("connect", settings.connect), ("read", settings.read)] {
            if let Some(timeout) = it {
                check::duration(key, timeout)?;
            }
        }
        Ok(Timeout {
            connect: settings.connect.unwrap_or(NEVER),
            read: settings.read.unwrap_or(NEVER),
        })
    }

    /// The longest a call can take, in nanoseconds: what one call can hold a
    /// thread for. `None` when there is no end.
    pub fn longest(&self) -> Option<u64> {
        (self.connect != NEVER && self.read != NEVER).then(|| self.connect + self.read)
    }

    /// Starts the timer of a call whose connection begins now.
    pub fn start(&self, now: i64, deadline: Deadline) -> Timer {
        Timer {
            now: Latest(now),
            began: now,
            phase_due: now.saturating_add_unsigned(self.connect),
            read: self.read,
            deadline,
            phase: TimedOut::Connect,
        }
    }
}

/// Which limit a call has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimedOut {
    /// No connection in time.
    Connect,
    /// No answer in time.
    Read,
    /// The chain's deadline came first.
    Deadline,
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TimedOut::Connect => "the connection timed out",
            TimedOut::Read => "the answer timed out",
            TimedOut::Deadline => "the deadline is over",
        })
    }
}

impl core::error::Error for TimedOut {}

/// One call's timer. It starts with the connection; a call on a connection
/// from a pool is [`connected`](Timer::connected) at once.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    now: Latest,
    began: i64,
    /// When the current phase times out; `i64::MAX` for never.
    phase_due: i64,
    read: u64,
    deadline: Deadline,
    /// What the current phase times out as.
    phase: TimedOut,
}

impl Timer {
    #[cfg(feature = "std")]
    pub(super) const UNLIMITED: Timer = Timer {
        now: Latest::NONE,
        began: 0,
        phase_due: i64::MAX,
        read: NEVER,
        deadline: Deadline::NEVER,
        phase: TimedOut::Connect,
    };

    /// The connection stands; the answer's time begins. A second time it
    /// changes nothing.
    ///
    /// # Errors
    ///
    /// A limit has been reached.
    pub fn connected(&mut self, now: i64) -> Result<(), TimedOut> {
        self.check(now)?;
        if self.phase == TimedOut::Connect {
            self.phase = TimedOut::Read;
            self.phase_due = self.now.0.saturating_add_unsigned(self.read);
        }
        Ok(())
    }

    /// When the call has to be cut: the end of the current phase or the
    /// deadline, whichever is first. `None` when nothing limits it.
    pub fn limit(&self) -> Option<i64> {
        let limit = self.phase_due.min(self.deadline.0);
        (limit != i64::MAX).then_some(limit)
    }

    /// How long the current phase may still take, in nanoseconds: what to tell
    /// a socket. Nothing left is `Some(0)`; no limit is `None`.
    pub fn remaining(&self, now: i64) -> Option<u64> {
        let now = now.max(self.now.0);
        self.limit().map(|limit| limit.max(now).abs_diff(now))
    }

    /// Whether the call may go on.
    ///
    /// # Errors
    ///
    /// A limit has been reached. Where both have, the earlier is named; of two
    /// at the same time, the callee's own.
    pub fn check(&mut self, now: i64) -> Result<(), TimedOut> {
        // A limit that is reached stays so: time does not go back, and nothing
        // moves a limit after it.
        let now = self.now.see(now);
        match self.limit() {
            Some(limit) if now >= limit && self.phase_due <= self.deadline.0 => Err(self.phase),
            Some(limit) if now >= limit => Err(TimedOut::Deadline),
            _ => Ok(()),
        }
    }

    /// The call has ended: how long it took, in nanoseconds.
    ///
    /// # Errors
    ///
    /// A limit has been reached: whatever came back, the call is a failure.
    pub fn finish(&mut self, now: i64) -> Result<u64, TimedOut> {
        self.check(now)?;
        Ok(self.elapsed(now))
    }

    /// How long the call has been going on, in nanoseconds.
    pub fn elapsed(&self, now: i64) -> u64 {
        now.max(self.now.0).abs_diff(self.began)
    }

    /// The outcome for a breaker: `outcome`, or a failure over a limit.
    pub fn judge(&mut self, now: i64, outcome: Outcome) -> Outcome {
        match self.check(now) {
            Ok(()) => outcome,
            Err(_) => Outcome::Failure,
        }
    }
}

/// The time by which an answer is of use to whoever asked first.
///
/// Received as the time that remains ([`Deadline::after`]), handed on as the
/// time that remains ([`Deadline::remaining`]). Ordered: the earlier is less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deadline(i64);

impl Deadline {
    /// No deadline.
    pub const NEVER: Deadline = Deadline(i64::MAX);

    /// A deadline on this process's clock. The largest time is never.
    pub const fn at(at: i64) -> Deadline {
        Deadline(at)
    }

    /// `budget` nanoseconds from now.
    pub const fn after(now: i64, budget: u64) -> Deadline {
        Deadline(now.saturating_add_unsigned(budget))
    }

    /// When it is, on this process's clock; `None` for never.
    pub fn when(self) -> Option<i64> {
        (self != Deadline::NEVER).then_some(self.0)
    }

    /// What is left of the budget, in nanoseconds; `None` when there is no
    /// deadline.
    pub fn remaining(self, now: i64) -> Option<u64> {
        self.when().map(|at| at.max(now).abs_diff(now))
    }

    /// Whether it is over, at `>=`.
    pub fn is_over(self, now: i64) -> bool {
        self != Deadline::NEVER && now >= self.0
    }

    /// The budget of a call that may take `limit` nanoseconds: never later
    /// than this one.
    #[must_use]
    pub fn within(self, now: i64, limit: u64) -> Deadline {
        self.min(Deadline::after(now, limit))
    }

    /// The budget of a callee when `reserve` nanoseconds are kept for what
    /// comes after its answer.
    #[must_use]
    pub fn reserving(self, reserve: u64) -> Deadline {
        match self {
            Deadline::NEVER => self,
            Deadline(at) => Deadline(at.saturating_sub_unsigned(reserve)),
        }
    }
}
