//! A blocking client with all layers: deadline, retries with a budget, breaker
//! with a ramp, bulkhead, timeout.
//!
//! ```text
//! cargo run -p halfopen --example stack
//! ```
//!
//! The callee is a closure that fails for a while.

use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use halfopen::companions::{
    BudgetSettings, Call, Deadline, Ended, Failure, Request, Retried, RetrySettings, SharedStack,
    Stack, StackSettings, TimeoutSettings,
};
use halfopen::{Clock, SystemClock};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// What a callee answers: an error of its own, or that the request is wrong.
enum Answer {
    Price(u32),
    NotFound,
    Down,
}

fn main() -> Result<(), Error> {
    let stack = Stack::new(StackSettings {
        timeout: TimeoutSettings {
            connect: Some(100_000_000),
            read: Some(200_000_000),
        },
        breaker: "window=20 min=5 fail=50% open=500ms probes=2 ramp=25%/50%@300ms".parse()?,
        max_concurrent: Some(4),
        retry: Some(RetrySettings {
            base: 20_000_000,
            ..RetrySettings::default()
        }),
        budget: Some(BudgetSettings::AWS),
        ..StackSettings::default()
    })?;
    let catalog = SharedStack::new(stack, SystemClock);
    let begin = Instant::now();
    let callee = |_: Duration| match begin.elapsed().as_millis() {
        ms @ 200..600 if ms % 7 > 0 => Answer::Down,
        ms if ms % 11 == 0 => Answer::NotFound,
        ms => Answer::Price(100 + (ms / 1_000) as u32),
    };
    thread::scope(|scope| {
        for thread in 0..3 {
            let catalog = &catalog;
            scope.spawn(move || {
                for _ in 0..25 {
                    let ms = begin.elapsed().as_millis();
                    match price(catalog, Duration::from_millis(500), callee) {
                        Ok(Some(price)) => println!("{ms:5} ms, thread {thread}: {price}"),
                        Ok(None) => println!("{ms:5} ms, thread {thread}: no such thing"),
                        Err(err) => println!("{ms:5} ms, thread {thread}: unknown, {err}"),
                    }
                    sleep(Duration::from_millis(60));
                }
            });
        }
    });
    catalog.with(|stack, now| {
        stack.advance(now);
        println!("{:?}", stack.breaker().snapshot());
    });
    Ok(())
}

/// The loop of a host: ask, attempt, say how it went, wait for the next attempt.
fn price(
    catalog: &SharedStack,
    budget: Duration,
    callee: impl Fn(Duration) -> Answer,
) -> Result<Option<u32>, Error> {
    let deadline = Deadline::after(catalog.now(), budget.as_nanos() as u64);
    let mut call = Call::new(Request::of_http_method("GET"), deadline);
    loop {
        let guard = catalog.acquire(&call)?;
        let limit = guard.timer().remaining(catalog.now()).unwrap_or(u64::MAX);
        let (ended, answer) = match callee(Duration::from_nanos(limit)) {
            Answer::Price(price) => (Ended::Success, Some(price)),
            // The caller's mistake says nothing about the callee.
            Answer::NotFound => (Ended::Ignored, None),
            Answer::Down => (Ended::Failed(Failure::Transient), None),
        };
        match guard.settle(&mut call, ended) {
            Retried::Done => return Ok(answer),
            Retried::GivenUp(why) => return Err(why.into()),
            Retried::At(at) => {
                let wait = at.saturating_sub(SystemClock.now()).max(0);
                sleep(Duration::from_nanos(wait as u64));
            }
        }
    }
}
