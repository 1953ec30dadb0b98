//! The rate limiter.

use super::*;

pub(crate) fn limiter(calls: u32, per: u64, burst: u32) -> RateLimiter {
    RateLimiter::new(RateSettings { calls, per, burst }).unwrap()
}

#[test]
fn a_burst_and_then_the_rate() {
    // 10 a second, 5 at once: 5 at 0, then one each 100 ms.
    let mut it = limiter(10, S_U, 5);
    assert_eq!((0..9).filter(|_| it.acquire(0).is_ok()).count(), 5);
    assert_eq!(
        it.acquire(100 * MS - 1).unwrap_err().retry_at,
        Some(100 * MS)
    );
    assert!(it.acquire(100 * MS).is_ok());
    assert_eq!(it.available(399 * MS), 2);
    assert_eq!(it.available(400 * MS), 3);
    // At most the burst is saved up, and the clock going back gives nothing.
    assert_eq!(it.available(60 * S), 5);
    assert!(it.acquire_many(0, 5).is_ok());
    assert!(it.acquire(0).is_err());
    assert_eq!(it.limited(), 6);
}

#[test]
fn thirds_are_exact() {
    // 3 a second, two at once. The next after those are due at 1/3 s, 2/3 s,
    // 1 s, rounded up to the nanosecond, without drift over a million.
    let mut it = limiter(3, S_U, 2);
    assert!(it.acquire_many(0, 2).is_ok());
    let calls = if cfg!(miri) { 1_000 } else { 1_000_000 };
    for n in 1..calls {
        let due = (n * S + 2) / 3;
        let early = it.acquire(due - 1).unwrap_err();
        assert_eq!(early.retry_at, Some(due));
        assert!(it.acquire(due).is_ok());
    }
}

#[test]
fn many_at_once_take_all_or_nothing() {
    let mut it = limiter(10, S_U, 5);
    assert!(it.acquire_many(0, 3).is_ok());
    // 2 are left; 4 need 2 more, at 200 ms.
    assert_eq!(it.acquire_many(0, 4).unwrap_err().retry_at, Some(200 * MS));
    assert_eq!(it.acquire_many(0, 6).unwrap_err().retry_at, None);
    assert_eq!(it.available(0), 2);
    assert!(it.acquire_many(0, 0).is_ok());
    assert!(it.acquire_many(200 * MS, 4).is_ok());
}

#[test]
fn the_largest_rate_at_the_ends_of_time() {
    let year = 365 * 24 * 3600 * S_U;
    let mut it = limiter(1_000_000_000, year, 1_000_000_000);
    assert!(it.acquire_many(i64::MIN, 1_000_000_000).is_ok());
    assert!(it.acquire(i64::MIN).is_err());
    assert_eq!(it.available(i64::MAX), 1_000_000_000);
    assert!(it.acquire_many(i64::MAX, 1_000_000_000).is_ok());
    // The next would be admitted after the end of time.
    assert_eq!(it.acquire(i64::MAX).unwrap_err().retry_at, None);
    assert_eq!(
        it.acquire_many(i64::MAX, u32::MAX).unwrap_err().retry_at,
        None
    );
}
