//! Client-side adaptive throttling: send a struggling callee less.
//!
//! A callee that is overloaded pays for refusing, too. So a client keeps count
//! of what it asked for and of what was accepted, and rejects locally with
//! the probability `max(0, (requests - K * accepts) / (requests + 1))`: as
//! long as at least one in `K` is accepted, nothing is rejected.
//!
//! Where a breaker has states, this bends: it never stops asking altogether,
//! and needs no probes. It suits a callee that is overloaded rather than dead.
//!
//! Owns the two counts over the window and the decision. `requests` counts
//! calls that were rejected locally, too; `accepts` counts those that the
//! callee took on, whatever came of them, so that only its own "too much" (and
//! silence) is no accept. Invariants: the probability never exceeds
//! `max_reject`; with [`Draw::Credit`], `n` calls in a row at a probability of
//! at most `p` have at most `n*p + 1` rejections. Cost: O(1) per call; a slice that ends costs
//! one pass per slice gone. `K` is in thousandths, the probability a 32-bit
//! fraction, rounded down. Source: Google SRE, chapter 21 (2 minutes, `K` = 2;
//! 1.1 is stricter). Pinned by `tests/companions/` and
//! `tests/companions_models.rs`.

use core::fmt;

use super::slices::Slices;
use super::{Latest, check};
use crate::backoff::{fnv1a, splitmix64};
use crate::config::{ConfigError, MAX_BUCKETS, Rate};
use crate::machine::Outcome;

/// One, as the fraction that probabilities are.
const ONE: u64 = 1 << 32;

const REQUESTS: usize = 0;
const ACCEPTS: usize = 1;

/// How a probability becomes a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Draw {
    /// Each call adds the probability to a credit; where that reaches one, a
    /// call is rejected. Even, and the same every time.
    Credit,
    /// By chance, from this seed.
    Seeded(u64),
}

/// A throttle as a person writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThrottleSettings {
    /// The window, in nanoseconds, a multiple of `bucket`. Default 2 minutes.
    pub window: u64,
    /// How finely calls leave it, in nanoseconds. Default 1 s.
    pub bucket: u64,
    /// `K` in thousandths, 1000 to a million. Default 2000.
    pub k: u32,
    /// The most that is rejected. Default everything, as the formula always
    /// leaves a little: one in `requests + 1`.
    pub max_reject: Rate,
    /// How the probability becomes a decision. Default by credit.
    pub draw: Draw,
}

impl Default for ThrottleSettings {
    fn default() -> ThrottleSettings {
        ThrottleSettings {
            window: 120_000_000_000,
            bucket: 1_000_000_000,
            k: 2_000,
            max_reject: Rate::ONE,
            draw: Draw::Credit,
        }
    }
}

/// The answer to a call that is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled;

impl fmt::Display for Throttled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("throttled: the callee has accepted too little")
    }
}

impl core::error::Error for Throttled {}

/// The right to make one call. [`Throttle::settle`] takes it back; dropped, the
/// call counts as not accepted.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "settle the permit, or the call counts as not accepted"]
pub struct ThrottlePermit {
    /// When the request was counted.
    at: i64,
}

/// A throttle in front of one callee.
///
/// ```
/// use halfopen::companions::{Throttle, ThrottleSettings};
/// use halfopen::Outcome;
///
/// let mut throttle = Throttle::new(ThrottleSettings::default())?;
/// // The callee refuses everything: after 99 calls p is 99 of 100.
/// for n in 0..99 {
///     if let Ok(permit) = throttle.acquire(0) {
///         throttle.settle(0, permit, Outcome::Failure);
///     }
/// }
/// assert_eq!(throttle.reject_ppm(0), 989_999); // rounded down
/// # Ok::<(), halfopen::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Throttle {
    now: Latest,
    counts: Slices<2>,
    k: u32,
    /// The most that is rejected, as a fraction.
    most: u64,
    draw: Draw,
    credit: u64,
    draws: u64,
    rejected: u64,
}

impl Throttle {
    /// Checks settings.
    ///
    /// # Errors
    ///
    /// The first setting that is out of its range.
    pub fn new(settings: ThrottleSettings) -> Result<Throttle, ConfigError> {
        let s = settings;
        check::duration("window", s.window)?;
        check::duration("bucket", s.bucket)?;
        let buckets = s.window / s.bucket;
        if !s.window.is_multiple_of(s.bucket) || buckets > u64::from(MAX_BUCKETS) {
            let got = alloc::format!(
                "{}/{}",
                crate::text::duration(s.window),
                crate::text::duration(s.bucket)
            );
            let allowed = "a length of 1 to 3600 whole buckets";
            return Err(check::out_of_range("window", got, allowed));
        }
        if !(1_000..=1_000_000).contains(&s.k) {
            let got = crate::text::multiplier(s.k);
            return Err(check::out_of_range("k", got, "1x to 1000x"));
        }
        check::share("max_reject", s.max_reject)?;
        Ok(Throttle {
            now: Latest::NONE,
            counts: Slices::new(buckets as usize, s.bucket as i64),
            k: s.k,
            most: u64::from(s.max_reject.as_ppm()) * ONE / 1_000_000,
            draw: s.draw,
            credit: 0,
            draws: 0,
            rejected: 0,
        })
    }

    /// The same with the name of an instance hashed into the seed; see
    /// [`Config::for_instance`](crate::Config::for_instance).
    #[must_use]
    pub fn for_instance(mut self, name: &str) -> Throttle {
        if let Draw::Seeded(seed) = &mut self.draw {
            *seed ^= fnv1a(name.as_bytes());
        }
        self
    }

    /// Asks to make a call.
    ///
    /// # Errors
    ///
    /// The call is rejected. It counts as a request all the same.
    pub fn acquire(&mut self, now: i64) -> Result<ThrottlePermit, Throttled> {
        let now = self.now.see(now);
        let probability = self.probability(now);
        let rejected = self.decide(probability);
        self.counts.add(now, REQUESTS, 1);
        if rejected {
            self.rejected = self.rejected.saturating_add(1);
            return Err(Throttled);
        }
        Ok(ThrottlePermit { at: now })
    }

    /// How a call went. [`Outcome::Success`]: the callee took it on, whatever
    /// it answered. [`Outcome::Failure`]: it refused or did not answer.
    /// [`Outcome::Ignored`]: the call was not made, and is no request either.
    pub fn settle(&mut self, now: i64, permit: ThrottlePermit, outcome: Outcome) {
        let now = self.now.see(now);
        match outcome {
            Outcome::Success => self.counts.add(now, ACCEPTS, 1),
            Outcome::Failure => {}
            Outcome::Ignored => self.counts.take_back(now, permit.at, REQUESTS, 1),
        }
    }

    /// The probability of a rejection now, in parts per million, rounded down.
    pub fn reject_ppm(&mut self, now: i64) -> u32 {
        let now = self.now.see(now);
        (self.probability(now) * 1_000_000 / ONE) as u32
    }

    /// Calls and accepted calls in the window.
    pub fn counts(&mut self, now: i64) -> (u64, u64) {
        let now = self.now.see(now);
        let [requests, accepts] = self.counts.totals(now);
        (requests.max(0) as u64, accepts.max(0) as u64)
    }

    /// Calls that were rejected. Since construction.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// As a fraction of [`ONE`], below it or `most`.
    fn probability(&mut self, now: i64) -> u64 {
        let (requests, accepts) = self.counts(now);
        let (requests, accepts) = (u128::from(requests), u128::from(accepts));
        let over = (requests * 1_000).saturating_sub(u128::from(self.k) * accepts);
        let share = over * u128::from(ONE) / ((requests + 1) * 1_000);
        (share as u64).min(self.most)
    }

    fn decide(&mut self, probability: u64) -> bool {
        match self.draw {
            Draw::Credit => {
                self.credit += probability;
                let rejected = self.credit >= ONE;
                if rejected {
                    self.credit -= ONE;
                }
                rejected
            }
            Draw::Seeded(seed) => {
                let random = splitmix64(seed, self.draws) >> 32;
                self.draws = self.draws.wrapping_add(1);
                random < probability
            }
        }
    }
}
