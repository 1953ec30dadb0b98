//! A rate limiter: so many calls per time, with a burst.
//!
//! Owns the time at which the next call would be due at an even rate (the
//! *theoretical arrival time* of GCRA, the generic cell rate algorithm, ITU-T
//! I.371). That one number is a token bucket: full with `burst` tokens, filled
//! at `calls / per`, a token a call. Invariant: in any span of time `t` at most
//! `burst + t * calls / per` calls are admitted. Exact: times are counted in
//! units of `1/calls` nanoseconds, so that three calls a second are not 333
//! ms apart but a third of a second. Cost: a multiplication and an addition.
//! Pinned by `tests/companions/`, and against a token bucket in
//! `tests/companions_models.rs`.

use core::fmt;

use super::{Latest, check};
use crate::config::ConfigError;

/// A rate as a person writes it. There is no default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSettings {
    /// So many calls, 1 to a billion,
    pub calls: u32,
    /// in so much time, in nanoseconds,
    pub per: u64,
    /// and so many at once after a pause, 1 to a billion.
    pub burst: u32,
}

/// The answer to a call that comes too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimited {
    /// The first time at which it would be admitted, if no other is before;
    /// `None` when it never will be: it asks for more than the burst, or time
    /// ends before.
    pub retry_at: Option<i64>,
}

impl fmt::Display for RateLimited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the rate limit is reached")
    }
}

impl core::error::Error for RateLimited {}

/// A rate limiter. Full at the start.
///
/// ```
/// use halfopen::companions::{RateLimiter, RateSettings};
///
/// // Three a second, two at once.
/// let settings = RateSettings { calls: 3, per: 1_000_000_000, burst: 2 };
/// let mut limiter = RateLimiter::new(settings)?;
/// assert!(limiter.acquire(0).is_ok() && limiter.acquire(0).is_ok());
/// assert_eq!(limiter.acquire(0).unwrap_err().retry_at, Some(333_333_334));
/// assert!(limiter.acquire(333_333_334).is_ok());
/// # Ok::<(), halfopen::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RateLimiter {
    now: Latest,
    settings: RateSettings,
    /// The theoretical arrival time, in `1/calls` nanoseconds.
    tat: i128,
    limited: u64,
}

impl RateLimiter {
    /// Checks settings.
    ///
    /// # Errors
    ///
    /// The first setting that is out of its range.
    pub fn new(settings: RateSettings) -> Result<RateLimiter, ConfigError> {
        check::count("calls", settings.calls, 1, check::MAX_COUNT)?;
        check::duration("per", settings.per)?;
        check::count("burst", settings.burst, 1, check::MAX_COUNT)?;
        Ok(RateLimiter {
            now: Latest::NONE,
            settings,
            tat: i128::MIN,
            limited: 0,
        })
    }

    /// Asks for one call.
    ///
    /// # Errors
    ///
    /// It comes too early, and takes nothing.
    pub fn acquire(&mut self, now: i64) -> Result<(), RateLimited> {
        self.acquire_many(now, 1)
    }

    /// Asks for `n` calls at once, or for one that counts as `n`.
    ///
    /// # Errors
    ///
    /// They come too early, and take nothing.
    pub fn acquire_many(&mut self, now: i64, n: u32) -> Result<(), RateLimited> {
        let now = self.now.see(now);
        let RateSettings { calls, per, burst } = self.settings;
        // Below 2^94 and 2^85: neither these nor their sum overflow.
        let here = i128::from(now) * i128::from(calls);
        let full = i128::from(per) * i128::from(burst);
        let after = self.tat.max(here) + i128::from(per) * i128::from(n);
        if after - here <= full {
            self.tat = after;
            return Ok(());
        }
        self.limited = self.limited.saturating_add(1);
        let at = (after - full + i128::from(calls) - 1).div_euclid(i128::from(calls));
        Err(RateLimited {
            retry_at: (n <= burst).then(|| i64::try_from(at).ok()).flatten(),
        })
    }

    /// How many calls would be admitted now.
    pub fn available(&mut self, now: i64) -> u32 {
        let now = self.now.see(now);
        let RateSettings { calls, per, burst } = self.settings;
        let here = i128::from(now) * i128::from(calls);
        let used = self.tat.max(here) - here;
        let free = i128::from(per) * i128::from(burst) - used;
        // Between nothing and `burst`.
        (free / i128::from(per)) as u32
    }

    /// Calls that came too early. Since construction.
    pub fn limited(&self) -> u64 {
        self.limited
    }
}
