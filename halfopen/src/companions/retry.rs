//! Whether and when to try again.
//!
//! Owns the count of attempts and the wait between them. A retry is a second
//! copy of the work, so it is made only for what the caller's classifier calls
//! idempotent, only for failures that may pass, and only as long as its start
//! is before the call's [`Deadline`]. How many are healthy for the callee is
//! not decided here: that is a [`RetryBudget`](super::RetryBudget).
//!
//! Invariants: at most `attempts` attempts; the `n`-th wait (from 0) lies in
//! `[0, min(cap, base * 2^n)]` with full jitter and in its upper half with
//! equal jitter; the same seed gives the same waits. Cost: a multiplication
//! per retry. Sources: AWS, "Exponential backoff and jitter" (base 100 ms, cap
//! 10 s); gRPC A6, where the callee may say how long to wait. Pinned by
//! `tests/companions/`.

use core::fmt;

use super::{Deadline, check};
use crate::backoff::{Backoff, Jitter, fnv1a};
use crate::config::ConfigError;

/// When to try again, as a person writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetrySettings {
    /// The most attempts, the first included, 1 to 100. Default 3.
    pub attempts: u32,
    /// The wait before the first retry, before jitter, in nanoseconds; it
    /// doubles with each. Default 100 ms.
    pub base: u64,
    /// The longest wait, in nanoseconds. Default 10 s.
    pub cap: u64,
    /// How the wait is spread. Default full.
    pub jitter: Jitter,
    /// Where the jitter comes from. Default 0.
    pub seed: u64,
}

impl Default for RetrySettings {
    fn default() -> RetrySettings {
        RetrySettings {
            attempts: 3,
            base: 100_000_000,
            cap: 10_000_000_000,
            jitter: Jitter::Full,
            seed: 0,
        }
    }
}

/// What the classifier says of a request: whether making it twice is the same
/// as making it once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// It can be made again. So can a request that certainly has not left, on
    /// a connection that was refused, say.
    Idempotent,
    /// It must not be made again.
    NotIdempotent,
}

impl Request {
    /// What HTTP says of a method (RFC 9110, 9.2.2): GET, HEAD, OPTIONS,
    /// TRACE, PUT and DELETE are idempotent, others are not.
    ///
    /// ```
    /// use halfopen::companions::Request;
    /// assert_eq!(Request::of_http_method("PUT"), Request::Idempotent);
    /// assert_eq!(Request::of_http_method("POST"), Request::NotIdempotent);
    /// ```
    pub fn of_http_method(method: &str) -> Request {
        match method {
            "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE" => Request::Idempotent,
            _ => Request::NotIdempotent,
        }
    }
}

/// What the classifier says of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// It may pass: a connection that broke, a 503.
    Transient,
    /// The call was over its timeout.
    Timeout,
    /// The callee asks for less.
    Throttled {
        /// How long it asks to wait, in nanoseconds (`Retry-After`), if it
        /// does. The jittered wait is added, so that callers who were told the
        /// same second do not all come back in it.
        retry_after: Option<u64>,
    },
    /// It will not pass: a certificate that has expired, a version that the
    /// callee no longer speaks. It is a failure of the callee all the same, and
    /// a breaker counts it. A caller's own mistake (a 400, a login that is
    /// refused) says nothing about the callee: in a [`Stack`](super::Stack)
    /// that is [`Ended::Ignored`](super::Ended::Ignored), or callers with bad
    /// requests open the breaker for all others.
    Permanent,
}

/// Why there is no further attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GiveUp {
    /// The request must not be made twice.
    NotIdempotent,
    /// The failure will not pass.
    Permanent,
    /// All attempts are made.
    Attempts,
    /// The next attempt would begin when the deadline is over.
    Deadline,
    /// The retry budget is empty.
    Budget,
    /// Retries are not set up.
    Off,
}

impl fmt::Display for GiveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GiveUp::NotIdempotent => "the request must not be made twice",
            GiveUp::Permanent => "the failure will not pass",
            GiveUp::Attempts => "all attempts are made",
            GiveUp::Deadline => "there is no time left for another attempt",
            GiveUp::Budget => "the retry budget is empty",
            GiveUp::Off => "retries are not set up",
        })
    }
}

impl core::error::Error for GiveUp {}

/// Where one call stands. Made by [`Attempts::new`], for each call one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempts {
    request: Request,
    deadline: Deadline,
    failed: u32,
}

impl Attempts {
    /// A call that has not been attempted yet.
    pub fn new(request: Request, deadline: Deadline) -> Attempts {
        Attempts {
            request,
            deadline,
            failed: 0,
        }
    }

    /// How many attempts have failed.
    pub fn failed(&self) -> u32 {
        self.failed
    }

    /// When an answer is no longer of use.
    pub fn deadline(&self) -> Deadline {
        self.deadline
    }
}

/// Decides about retries.
///
/// ```
/// use halfopen::companions::{Attempts, Deadline, Failure, GiveUp, Request, Retry, RetrySettings};
///
/// let mut retry = Retry::new(RetrySettings::default())?;
/// let mut call = Attempts::new(Request::Idempotent, Deadline::NEVER);
///
/// let at = retry.again(0, &mut call, Failure::Transient)?;
/// assert!((0..=100_000_000).contains(&at));
/// let at = retry.again(at, &mut call, Failure::Timeout)? - at;
/// assert!((0..=200_000_000).contains(&at));
/// assert_eq!(retry.again(0, &mut call, Failure::Timeout), Err(GiveUp::Attempts));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Retry {
    attempts: u32,
    backoff: Backoff,
    /// Retries ever: where the jitter's sequence stands.
    draws: u64,
}

impl Retry {
    /// Checks settings.
    ///
    /// # Errors
    ///
    /// The first setting that is out of its range, or a cap below the base.
    pub fn new(settings: RetrySettings) -> Result<Retry, ConfigError> {
        let s = settings;
        check::count("attempts", s.attempts, 1, 100)?;
        check::duration("base", s.base)?;
        check::duration("cap", s.cap)?;
        if s.cap < s.base {
            let got = crate::text::duration(s.cap);
            return Err(check::conflict("cap", got, "at least the value of base"));
        }
        Ok(Retry {
            attempts: s.attempts,
            backoff: Backoff {
                first: s.base,
                max: s.cap,
                seed: s.seed,
                multiplier: 2_000,
                jitter: s.jitter,
            },
            draws: 0,
        })
    }

    /// The same with the name of an instance hashed into the seed; see
    /// [`Config::for_instance`](crate::Config::for_instance).
    #[must_use]
    pub fn for_instance(mut self, name: &str) -> Retry {
        self.backoff.seed ^= fnv1a(name.as_bytes());
        self
    }

    /// An attempt has failed: when to make the next, counted from `now` as it
    /// is given, even if it went back.
    ///
    /// # Errors
    ///
    /// There is to be none, and why.
    pub fn again(
        &mut self,
        now: i64,
        call: &mut Attempts,
        failure: Failure,
    ) -> Result<i64, GiveUp> {
        let nth = call.failed;
        call.failed = call.failed.saturating_add(1);
        if failure == Failure::Permanent {
            return Err(GiveUp::Permanent);
        }
        if call.request == Request::NotIdempotent {
            return Err(GiveUp::NotIdempotent);
        }
        if call.failed >= self.attempts {
            return Err(GiveUp::Attempts);
        }
        let wait = self.backoff.spread(self.longest(nth), self.draws);
        self.draws = self.draws.wrapping_add(1);
        let asked = match failure {
            Failure::Throttled { retry_after } => retry_after.unwrap_or(0),
            _ => 0,
        };
        let at = now.saturating_add_unsigned(asked.saturating_add(wait));
        if call.deadline.is_over(at) {
            return Err(GiveUp::Deadline);
        }
        Ok(at)
    }

    /// The wait of the `nth` retry (from 0) before jitter, in nanoseconds:
    /// `min(cap, base * 2^nth)`.
    pub fn longest(&self, nth: u32) -> u64 {
        // The base is below 2^55, so nothing is shifted out.
        let grown = u128::from(self.backoff.first) << nth.min(64);
        u64::try_from(grown)
            .unwrap_or(u64::MAX)
            .min(self.backoff.max)
    }
}
