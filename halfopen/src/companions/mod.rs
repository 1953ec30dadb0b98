//! What stands beside a breaker in a service: timeouts, retries and their
//! budgets, limits, shedding, throttling, ejection.
//!
//! Each is a small machine of its own with the manners of
//! [`Machine`](crate::Machine): time passed in as nanoseconds from any epoch
//! and clamped to the largest seen, constant work per call, no allocation
//! after construction, no clock, thread or random source (a seed where chance
//! is wanted), integers where rates are compared, settings that are checked
//! once and refused by name. None of them panics. None locks: the host that
//! shares one between threads puts its own lock around it. Only the
//! [`SharedStack`] has one, and a clock.
//!
//! | to | use | source |
//! |---|---|---|
//! | stop waiting | [`Timeout`], [`Deadline`] | connect and read apart, a budget along the chain |
//! | try again | [`Retry`] | AWS, full jitter |
//! | not try again too often | [`RetryBudget`] | AWS SDKs, gRPC A6, Finagle, Envoy |
//! | keep one callee from taking all threads | [`Bulkhead`] | resilience4j, with a fair queue |
//! | cap connections, pending and active requests | [`Limits`] | Envoy |
//! | drop what comes too late, least important first | [`Shedder`] | Folly's CoDel, SRE criticality |
//! | send a struggling callee less | [`Throttle`] | Google SRE, client-side throttling |
//! | leave out one bad host of many | [`OutlierDetector`] | Envoy |
//! | hold a rate | [`RateLimiter`] | GCRA |
//! | several of these around a breaker | [`Stack`], [`SharedStack`] | timeout, breaker, ramp |
//!
//! Which to take first: a timeout on every call, then a breaker with a ramp;
//! retries only with a budget; a bulkhead where a callee is not essential. A
//! [`Stack`] is that, in that order.
//!
//! Owns nothing but what several share: sums over a sliding window (`slices`),
//! queues in fixed memory (`lanes`).

mod lanes;
mod slices;

pub mod budget;
pub mod bulkhead;
pub mod limits;
pub mod outlier;
pub mod rate;
pub mod retry;
#[cfg(feature = "std")]
pub mod shared;
pub mod shed;
pub mod stack;
pub mod throttle;
pub mod timeout;

pub use budget::{Attempt, BudgetExhausted, BudgetSettings, RetryBudget};
pub use bulkhead::{
    Bulkhead, BulkheadFull, BulkheadSettings, Claim, Entry, MAX_CONCURRENT, Place, Ticket,
};
pub use limits::{Held, LimitReached, LimitSettings, Limits, Resource};
pub use outlier::{
    Ejection, EjectionCause, FailurePercentage, MAX_HOSTS, OutlierDetector, OutlierSettings,
    SuccessRate,
};
pub use rate::{RateLimited, RateLimiter, RateSettings};
pub use retry::{Attempts, Failure, GiveUp, Request, Retry, RetrySettings};
#[cfg(feature = "std")]
pub use shared::{SharedStack, StackGuard};
pub use shed::{MAX_QUEUE, Next, Offered, Priority, QueueFull, QueueId, Shedder, ShedderSettings};
pub use stack::{Call, Ended, Retried, Stack, StackPermit, StackRejected, StackSettings};
pub use throttle::{Draw, Throttle, ThrottlePermit, ThrottleSettings, Throttled};
pub use timeout::{Deadline, TimedOut, Timeout, TimeoutSettings, Timer};

use crate::check;

/// The largest time seen: a clock that goes back stands still instead.
#[derive(Clone, Copy, Debug)]
struct Latest(i64);

impl Latest {
    const NONE: Latest = Latest(i64::MIN);

    #[inline]
    fn see(&mut self, now: i64) -> i64 {
        self.0 = self.0.max(now);
        self.0
    }
}
