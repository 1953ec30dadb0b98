//! Where a shared breaker has its time from.
//!
//! Owns the clocks, and no time: the machines have none of their own.
//! Invariant: a clock that goes back undoes nothing: the breaker's state goes
//! by the largest time it has seen, and stands still until the clock is there
//! again. Durations are differences of what the clock showed, so that only a
//! call during which it goes back seems to take no time. Cost: one read when a call begins and one
//! when it ends, which for the system's clock is most of what a breaker costs;
//! the `_at` methods of [`Breaker`](crate::Breaker) do without. Pinned by the
//! tests below.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A source of time: nanoseconds from any epoch, the same for all calls.
///
/// Closures are clocks: `|| my_time()`.
pub trait Clock: Send + Sync {
    /// The time now, in nanoseconds. Not meant to go back.
    fn now(&self) -> i64;
}

impl<F: Fn() -> i64 + Send + Sync> Clock for F {
    fn now(&self) -> i64 {
        self()
    }
}

/// The system's monotonic clock, in nanoseconds since the process first asked
/// it: the same for all breakers of a process.
///
/// It is [`std::time::Instant`], and therefore not there on
/// `wasm32-unknown-unknown`, where that panics: pass a clock of the page.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SystemClock;

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> i64 {
        use std::sync::OnceLock;
        use std::time::Instant;

        static FIRST: OnceLock<Instant> = OnceLock::new();
        let passed = FIRST.get_or_init(Instant::now).elapsed();
        // 292 years fit.
        passed.as_nanos() as i64
    }
}

/// A clock that stands still until it is told otherwise, for tests. Clones
/// show the same time.
///
/// ```
/// use halfopen::{Clock, ManualClock};
/// let clock = ManualClock::new(0);
/// let same = clock.clone();
/// clock.advance(5_000_000_000);
/// assert_eq!(same.now(), 5_000_000_000);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that shows `now`, in nanoseconds.
    pub fn new(now: i64) -> ManualClock {
        ManualClock(Arc::new(AtomicI64::new(now)))
    }

    /// Sets the time. It may go back.
    pub fn set(&self, now: i64) {
        self.0.store(now, Ordering::Release);
    }

    /// Lets `by` nanoseconds pass, up to the end of time.
    pub fn advance(&self, by: u64) {
        let later = |now: i64| Some(now.saturating_add_unsigned(by));
        // It has a value for every time, so that this does not fail.
        let _ = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, later);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manual_time_passes_by_hand() {
        let clock = ManualClock::new(i64::MAX - 5);
        clock.advance(3);
        assert_eq!(clock.now(), i64::MAX - 2);
        clock.advance(u64::MAX);
        assert_eq!(clock.clone().now(), i64::MAX);
        clock.set(-7);
        assert_eq!(clock.now(), -7);
    }

    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    #[test]
    fn system_time_starts_with_the_process_and_passes() {
        let first = SystemClock.now();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let passed = SystemClock.now() - first;
        assert!(first >= 0 && (2_000_000..60_000_000_000).contains(&passed));
    }
}
