//! The contenders: each a loop of calls that do nothing, as its own
//! documentation makes them, with its defaults unless said otherwise.
//!
//! A failing run fails every third call, below every threshold: failsafe's
//! default trips at a fifth, so that its rate is set to a half there.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, Ready, ready};
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use failsafe::{CircuitBreaker as _, backoff, failure_policy};
use halfopen::tower::BreakerLayer;
use halfopen::{Breaker, Config};
use tower_layer::Layer;
use tower_resilience_circuitbreaker::CircuitBreakerLayer;
use tower_service::Service;

const HOUR: Duration = Duration::from_secs(3600);

/// Somebody who makes calls: thread number and how many.
pub struct Contender {
    pub name: &'static str,
    /// What the breaker takes when new, handle and heap.
    pub bytes: Option<u64>,
    /// Makes so many times fewer calls in a round.
    pub slowness: u32,
    pub calls: Box<dyn Fn(u32, u32) + Sync>,
}

fn contender(
    name: &'static str,
    slowness: u32,
    calls: impl Fn(u32, u32) + Sync + 'static,
) -> Contender {
    Contender {
        name,
        bytes: None,
        slowness,
        calls: Box::new(calls),
    }
}

impl Contender {
    fn of_bytes(mut self, bytes: u64) -> Contender {
        self.bytes = Some(bytes);
        self
    }
}

/// Makes a breaker and measures it: the value itself, and what of its
/// allocations it keeps.
fn weighed<T>(make: impl FnOnce() -> T) -> (T, u64) {
    let mut made = None;
    let heap = allocation_counter::measure(|| made = Some(make()));
    let bytes = size_of::<T>() as u64 + heap.bytes_current as u64;
    (made.expect("made above"), bytes)
}

#[derive(Debug)]
struct Down;

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("down")
    }
}

impl std::error::Error for Down {}

#[inline]
fn answer(n: u32, failing: bool) -> Result<u32, Down> {
    if failing && n.is_multiple_of(3) {
        Err(Down)
    } else {
        Ok(black_box(n))
    }
}

/// Everybody, closed; ours first. With `failing`, every third call fails.
pub fn all(failing: bool) -> Vec<Contender> {
    let (passed_in, passed_in_bytes) = weighed(|| Breaker::new(Config::default()));
    let clocked = passed_in.clone();
    let (timed, timed_bytes) = weighed(|| Breaker::new("window=10s/1s".parse().expect("settings")));
    let (recloser, recloser_bytes) = weighed(|| recloser::Recloser::custom().build());
    let (consecutive, consecutive_bytes) = weighed(|| {
        failsafe::Config::new()
            .failure_policy(failure_policy::consecutive_failures(
                5,
                backoff::constant(HOUR),
            ))
            .build()
    });
    let rate = if failing { 0.5 } else { 0.8 };
    let (ema, ema_bytes) = weighed(|| {
        failsafe::Config::new()
            .failure_policy(failure_policy::success_rate_over_time_window(
                rate,
                5,
                Duration::from_secs(30),
                backoff::constant(HOUR),
            ))
            .build()
    });
    let (rs, rs_bytes) = weighed(|| {
        circuitbreaker_rs::CircuitBreaker::<circuitbreaker_rs::DefaultPolicy, Down>::builder()
            .build()
    });
    let mut all = vec![
        contender("halfopen, time passed in", 1, move |_, calls| {
            for n in 0..calls {
                if let Ok(guard) = passed_in.acquire_at(i64::from(n)) {
                    match answer(n, failing) {
                        Ok(_) => guard.success_at(i64::from(n)),
                        Err(_) => guard.failure_at(i64::from(n)),
                    }
                }
            }
        })
        .of_bytes(passed_in_bytes),
        contender("halfopen, system clock", 1, move |_, calls| {
            for n in 0..calls {
                let _ = black_box(clocked.call(|| answer(n, failing)));
            }
        })
        .of_bytes(passed_in_bytes),
        contender("halfopen, time window, passed in", 1, move |_, calls| {
            for n in 0..calls {
                if let Ok(guard) = timed.acquire_at(i64::from(n)) {
                    match answer(n, failing) {
                        Ok(_) => guard.success_at(i64::from(n)),
                        Err(_) => guard.failure_at(i64::from(n)),
                    }
                }
            }
        })
        .of_bytes(timed_bytes),
        contender("recloser", 1, move |_, calls| {
            for n in 0..calls {
                let _ = black_box(recloser.call(|| answer(n, failing)));
            }
        })
        .of_bytes(recloser_bytes),
        contender("failsafe, consecutive failures", 1, move |_, calls| {
            for n in 0..calls {
                let _ = black_box(consecutive.call(|| answer(n, failing)));
            }
        })
        .of_bytes(consecutive_bytes),
        contender("failsafe, success rate (default)", 2, move |_, calls| {
            for n in 0..calls {
                let _ = black_box(ema.call(|| answer(n, failing)));
            }
        })
        .of_bytes(ema_bytes),
        contender("circuitbreaker-rs", 4, move |_, calls| {
            for n in 0..calls {
                let _ = black_box(rs.call(|| answer(n, failing)));
            }
        })
        .of_bytes(rs_bytes),
    ];
    if !failing {
        all.push(tower_resilience());
    }
    all
}

/// Everybody, open for an hour; first ours admitting, for comparison.
pub fn rejecting() -> Vec<Contender> {
    let ours = Breaker::new("window=10 min=10 open=1h".parse().expect("settings"));
    let recloser = recloser::Recloser::custom().open_wait(HOUR).build();
    let failsafe = failsafe::Config::new()
        .failure_policy(failure_policy::consecutive_failures(
            5,
            backoff::constant(HOUR),
        ))
        .build();
    for _ in 0..300 {
        if let Ok(guard) = ours.acquire_at(0) {
            guard.failure_at(0);
        }
        let _ = recloser.call(|| Err::<(), _>(Down));
        let _ = failsafe.call(|| Err::<(), _>(Down));
    }
    let rs = circuitbreaker_rs::CircuitBreaker::<circuitbreaker_rs::DefaultPolicy, Down>::builder()
        .cooldown(HOUR)
        .build();
    rs.force_open();
    let clocked = ours.clone();
    let admitting = Breaker::new(Config::default());
    vec![
        contender("halfopen, rejected, time passed in", 1, move |_, calls| {
            for n in 0..calls {
                if let Err(rejected) = ours.acquire_at(i64::from(n)) {
                    black_box(rejected.retry_at);
                }
            }
        }),
        contender("halfopen, admitted, time passed in", 1, move |_, calls| {
            for n in 0..calls {
                if let Ok(guard) = admitting.acquire_at(i64::from(n)) {
                    guard.success_at(i64::from(n));
                }
            }
        }),
        contender("halfopen, rejected, system clock", 1, move |_, calls| {
            for n in 0..calls {
                let _ = black_box(clocked.call(|| answer(n, false)));
            }
        }),
        contender("recloser", 1, move |_, calls| {
            for n in 0..calls {
                let _ = black_box(recloser.call(|| answer(n, false)));
            }
        }),
        contender("failsafe, consecutive failures", 1, move |_, calls| {
            for n in 0..calls {
                let _ = black_box(failsafe.call(|| answer(n, false)));
            }
        }),
        contender("circuitbreaker-rs", 1, move |_, calls| {
            for n in 0..calls {
                let _ = black_box(rs.call(|| answer(n, false)));
            }
        }),
    ]
}

/// A service that is always ready and answers at once.
#[derive(Clone)]
struct Echo;

impl Service<u32> for Echo {
    type Response = u32;
    type Error = Infallible;
    type Future = Ready<Result<u32, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, n: u32) -> Self::Future {
        ready(Ok(black_box(n)))
    }
}

/// The tower services, and what they are put around.
pub fn tower() -> Vec<Contender> {
    let layer = BreakerLayer::new(Breaker::new(Config::default()));
    vec![
        contender("halfopen, system clock", 1, move |_, calls| {
            serve(layer.layer(Echo), calls);
        }),
        contender("the inner service alone", 1, |_, calls| serve(Echo, calls)),
        tower_resilience(),
    ]
}

fn tower_resilience() -> Contender {
    let (service, bytes) = weighed(|| {
        let layer = CircuitBreakerLayer::builder().build().expect("defaults");
        layer.layer(Echo)
    });
    let service = std::sync::Mutex::new(service);
    contender("tower-resilience", 10, move |_, calls| {
        let service = service.lock().expect("no panic").clone();
        serve(service, calls);
    })
    .of_bytes(bytes)
}

fn serve<S: Service<u32>>(mut service: S, calls: u32) {
    let mut context = Context::from_waker(Waker::noop());
    for n in 0..calls {
        let _ = black_box(service.poll_ready(&mut context));
        let mut call = pin!(service.call(n));
        // A lock of the service may make it wait for another thread.
        while call.as_mut().poll(&mut context).is_pending() {
            std::thread::yield_now();
        }
    }
}
