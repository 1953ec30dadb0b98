//! The companions against their formulas, worked by hand in the comments, at
//! their boundaries, at the ends of their types, and with clocks that go back.

mod budget;
mod bulkhead;
mod clocks;
mod limits;
mod outlier;
mod rate;
mod retry;
mod settings;
mod shed;
mod stack;
mod throttle;
mod timeout;

use halfopen::companions::*;
use halfopen::{Config, ConfigError, Jitter, Outcome, Rate, State};
use outlier::outliers;
use rate::limiter;
use shed::{ALL, shedder};
use stack::{call, stack, two_failures_trip};
use throttle::throttle;

const MS: i64 = 1_000_000;
const S: i64 = 1_000 * MS;
const MS_U: u64 = MS as u64;
const S_U: u64 = S as u64;

#[test]
fn nothing_is_allocated_after_construction() {
    let settings = BulkheadSettings {
        max_concurrent: 2,
        max_waiting: 2,
        max_wait: Some(5),
    };
    let mut bulkhead = Bulkhead::new(settings).unwrap();
    let mut queue = shedder(8);
    let mut throttle = throttle(ThrottleSettings::default());
    let mut hosts = outliers(OutlierSettings::default(), 10);
    let mut rate = limiter(10, S_U, 5);
    let mut stack = stack(StackSettings {
        max_concurrent: Some(3),
        retry: Some(RetrySettings::default()),
        budget: Some(BudgetSettings::FINAGLE),
        breaker: two_failures_trip(),
        ..StackSettings::default()
    });
    let calls = if cfg!(miri) { 100 } else { 10_000 };
    let info = allocation_counter::measure(|| {
        for n in 0..calls {
            let now = n * 7 * MS;
            match bulkhead.acquire(now) {
                Ok(Entry::Admitted(place)) if n % 3 == 0 => drop(bulkhead.release(now, place)),
                Ok(Entry::Waiting(ticket)) => drop(bulkhead.claim(now, ticket)),
                _ => {}
            }
            let _ = queue.offer(now, ALL[(n % 4) as usize]);
            let _ = queue.take(now);
            if let Ok(permit) = throttle.acquire(now) {
                throttle.settle(now, permit, Outcome::Failure);
            }
            hosts.settle(now, (n % 10) as u32, Outcome::Failure);
            let _ = rate.acquire(now);
            let mut call = call();
            if let Ok(permit) = stack.acquire(now, &call) {
                stack.settle(now, permit, &mut call, Ended::Failed(Failure::Timeout));
                let _ = stack.acquire(now, &call);
            }
        }
    });
    assert_eq!(info.count_total, 0);
}
