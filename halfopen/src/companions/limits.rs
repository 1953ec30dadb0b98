//! Envoy's limits: connections, pending requests, active requests, retries.
//!
//! Owns four counts. Unlike a [`Bulkhead`](super::Bulkhead) nothing waits
//! here: what is over a limit is refused at once, which is what keeps a queue
//! in front of a slow callee short. Invariant: no count exceeds its limit, and
//! what was taken is given back at most once, because [`Held`] is consumed.
//! Cost: a comparison. No time is passed in, as nothing depends on it. Source:
//! Envoy, `circuit_breaker.proto` (1024, 1024, 1024, 3). Pinned by
//! `tests/companions/`.

use core::fmt;

use super::check;
use crate::config::ConfigError;

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// Open connections.
    Connection,
    /// Requests that wait for a connection.
    Pending,
    /// Requests that are being answered.
    Request,
    /// Retries that are outstanding. (A [`RetryBudget`](super::RetryBudget)
    /// grows with the traffic; this does not.)
    Retry,
}

/// The limits as a person writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitSettings {
    /// Open connections, 1 to a billion. Default 1024.
    pub max_connections: u32,
    /// Requests that wait for a connection, 1 to a billion. Default 1024.
    pub max_pending_requests: u32,
    /// Requests that are being answered, 1 to a billion. Default 1024.
    pub max_requests: u32,
    /// Outstanding retries, up to a billion; 0: none. Default 3.
    pub max_retries: u32,
}

impl Default for LimitSettings {
    fn default() -> LimitSettings {
        LimitSettings {
            max_connections: 1_024,
            max_pending_requests: 1_024,
            max_requests: 1_024,
            max_retries: 3,
        }
    }
}

/// The answer when a limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitReached {
    /// What there is too much of.
    pub resource: Resource,
    /// How much is allowed.
    pub limit: u32,
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.resource {
            Resource::Connection => "connections",
            Resource::Pending => "pending requests",
            Resource::Request => "requests",
            Resource::Retry => "retries",
        };
        write!(f, "{} {what} are the limit", self.limit)
    }
}

impl core::error::Error for LimitReached {}

/// One of a [`Resource`]. [`Limits::give`] takes it back; dropped, it stays
/// taken for ever.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "give it back, or it stays taken"]
pub struct Held(Resource);

impl Held {
    /// What it is one of.
    pub fn resource(&self) -> Resource {
        self.0
    }
}

/// The limits towards one callee.
///
/// ```
/// use halfopen::companions::{LimitSettings, Limits, Resource};
///
/// let settings = LimitSettings { max_requests: 1, ..LimitSettings::default() };
/// let mut limits = Limits::new(settings)?;
/// let request = limits.take(Resource::Request).expect("the first");
/// assert_eq!(limits.take(Resource::Request).unwrap_err().limit, 1);
/// limits.give(request);
/// assert!(limits.take(Resource::Request).is_ok());
/// # Ok::<(), halfopen::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Limits {
    max: [u32; 4],
    used: [u32; 4],
    refused: [u64; 4],
}

impl Limits {
    /// Checks settings.
    ///
    /// # Errors
    ///
    /// The first setting that is out of its range.
    pub fn new(settings: LimitSettings) -> Result<Limits, ConfigError> {
        let s = settings;
        let max = check::MAX_COUNT;
        check::count("max_connections", s.max_connections, 1, max)?;
        check::count("max_pending_requests", s.max_pending_requests, 1, max)?;
        check::count("max_requests", s.max_requests, 1, max)?;
        check::count("max_retries", s.max_retries, 0, max)?;
        Ok(Limits {
            max: [
                s.max_connections,
                s.max_pending_requests,
                s.max_requests,
                s.max_retries,
            ],
            used: [0; 4],
            refused: [0; 4],
        })
    }

    /// Takes one.
    ///
    /// # Errors
    ///
    /// The limit is reached.
    pub fn take(&mut self, resource: Resource) -> Result<Held, LimitReached> {
        let nth = resource as usize;
        if self.used[nth] >= self.max[nth] {
            self.refused[nth] = self.refused[nth].saturating_add(1);
            return Err(LimitReached {
                resource,
                limit: self.max[nth],
            });
        }
        self.used[nth] += 1;
        Ok(Held(resource))
    }

    /// Gives one back.
    pub fn give(&mut self, held: Held) {
        let used = &mut self.used[held.0 as usize];
        *used = used.saturating_sub(1);
    }

    /// A pending request has its connection and becomes an active one. Refused,
    /// it is no longer pending either.
    ///
    /// # Errors
    ///
    /// The limit of active requests is reached.
    pub fn start(&mut self, pending: Held) -> Result<Held, LimitReached> {
        self.give(pending);
        self.take(Resource::Request)
    }

    /// How much is taken.
    pub fn used(&self, resource: Resource) -> u32 {
        self.used[resource as usize]
    }

    /// How much is free.
    pub fn remaining(&self, resource: Resource) -> u32 {
        self.max[resource as usize] - self.used[resource as usize]
    }

    /// How often the limit was reached. Since construction.
    pub fn refused(&self, resource: Resource) -> u64 {
        self.refused[resource as usize]
    }
}
