//! The shared breaker as a service uses it: calls, guards, listeners, threads.
//! Under Miri, which is slow, threads make fewer calls:
//!
//! ```sh
//! cargo +nightly miri test -p halfopen --lib --test breaker --test machine --test companions
//! ```
#![cfg(feature = "std")]

use std::cell::Cell;
use std::error::Error;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use halfopen::{
    Breaker, Builder, CallError, Cause, Config, Guard, ManualClock, Outcome, State, Transition,
};

const S: i64 = 1_000_000_000;

/// Trips at the second of two failures, for 5 s; one probe.
const TWO: &str = "window=2 min=2 open=5s probes=1 lease=30s";

fn breaker(settings: &str) -> (Breaker, ManualClock) {
    let clock = ManualClock::new(0);
    let config: Config = settings.parse().unwrap();
    (Breaker::with_clock(config, clock.clone()), clock)
}

fn trip(breaker: &Breaker) {
    while breaker.state() != State::Open {
        let _ = breaker.call(|| Err::<(), _>("down"));
    }
}

#[test]
fn calls_count_what_they_return() {
    let (breaker, _) = breaker("window=10 min=10");
    assert_eq!(breaker.call(|| Ok::<_, &str>(3)), Ok(3));
    assert_eq!(
        breaker.call(|| Err::<(), _>("down")),
        Err(CallError::Failed("down"))
    );
    let fallback = breaker.call_or_else(|| Err("down"), |err| err.failed().unwrap());
    assert_eq!(fallback, "down");
    let seen = breaker.snapshot();
    assert_eq!((seen.calls, seen.failures), (3, 2));
}

#[test]
fn classification_decides_what_counts() {
    let (breaker, _) = breaker("window=10 min=10");
    let classify = |result: &Result<u16, &str>| match result {
        Ok(404) => Outcome::Ignored,
        Ok(500..) | Err(_) => Outcome::Failure,
        Ok(_) => Outcome::Success,
    };
    for result in [Ok(200), Ok(404), Ok(503), Err("reset")] {
        let got = breaker.call_with(|| result, classify);
        assert_eq!(got, result.map_err(CallError::Failed));
    }
    let seen = breaker.snapshot();
    assert_eq!((seen.calls, seen.failures, seen.ignored), (3, 2, 1));
}

#[test]
fn rejections_say_why_and_until_when() {
    let (breaker, clock) = breaker(TWO);
    trip(&breaker);
    clock.set(S);
    let made = Cell::new(false);
    let rejected = breaker
        .call(|| {
            made.set(true);
            Ok::<_, &str>(())
        })
        .unwrap_err();
    assert!(!made.get());
    let rejected = *rejected.rejected().unwrap();
    assert_eq!(rejected.state, State::Open);
    assert_eq!((rejected.at, rejected.retry_at), (S, Some(5 * S)));
    assert_eq!(rejected.retry_after(), Some(Duration::from_secs(4)));
    assert_eq!(
        rejected.to_string(),
        "the circuit breaker is open: try again in 4s"
    );
    assert_eq!(
        breaker.call_or_else(|| Ok::<_, &str>("fresh"), |_| "cached"),
        "cached"
    );
    assert_eq!(breaker.snapshot().not_permitted, 2);

    breaker.force_open();
    let rejected = breaker.acquire().unwrap_err();
    assert_eq!(rejected.retry_after(), None);
    assert_eq!(rejected.to_string(), "the circuit breaker is forced_open");
}

#[test]
fn errors_keep_their_source() {
    #[derive(Debug)]
    struct Outer(std::num::ParseIntError);
    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("outer")
        }
    }
    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }
    let (breaker, _) = breaker(TWO);
    let err = breaker
        .call(|| Err::<(), _>(Outer("x".parse::<u8>().unwrap_err())))
        .unwrap_err();
    assert_eq!(err.to_string(), "outer");
    assert!(err.source().unwrap().to_string().contains("invalid digit"));
}

#[test]
fn a_guard_measures_from_its_own_acquire() {
    let (breaker, clock) = breaker("window=10 min=10 slow=100%@2s timeout=4s");
    for (begin, end) in [(0, 2), (10, 13), (20, 24), (30, 29)] {
        clock.set(begin * S);
        let guard = breaker.acquire().unwrap();
        clock.set(end * S);
        guard.success();
    }
    let seen = breaker.snapshot();
    // Two are longer than 2 s, one of them at its timeout, and none negative.
    assert_eq!((seen.calls, seen.slow, seen.failures), (4, 2, 1));
}

#[test]
fn a_clock_that_went_back_still_measures() {
    let (breaker, clock) = breaker("window=10 min=10 slow=100%@2s timeout=4s");
    clock.set(100 * S);
    breaker.acquire().unwrap().success();
    // Back by most of it: calls of 1, 3 and 5 seconds, and one that it goes
    // back in.
    for (begin, end) in [(10, 11), (20, 23), (30, 35), (50, 40)] {
        clock.set(begin * S);
        let guard = breaker.acquire().unwrap();
        assert_eq!(guard.since(), begin * S);
        clock.set(end * S);
        guard.success();
    }
    let seen = breaker.snapshot();
    assert_eq!((seen.calls, seen.slow, seen.failures), (5, 2, 1));
    // The state goes by the largest time all the same.
    breaker.open().unwrap();
    assert_eq!(breaker.retry_at(), Some(160 * S));
}

#[test]
fn looking_changes_nothing_and_sees_the_figures_of_now() {
    let (breaker, clock, heard) = listened("window=10s/1s min=2 open=5s probes=1 auto=yes");
    for _ in 0..3 {
        let _ = breaker.call(|| Ok::<_, ()>(()));
    }
    assert_eq!(breaker.snapshot().calls, 3);
    clock.set(60 * S);
    assert_eq!(breaker.snapshot().calls, 0);
    assert_eq!(breaker.snapshot_at(9 * S).calls, 3);

    breaker.open().unwrap();
    let seen = breaker.snapshot();
    assert_eq!(seen.retry_at, Some(65 * S));
    assert_eq!(seen.next_deadline, Some(65 * S));
    clock.set(70 * S);
    assert_eq!(breaker.snapshot(), seen);
    assert_eq!(breaker.state(), State::Open);
    assert_eq!(heard.lock().unwrap().len(), 1);
    breaker.advance();
    assert_eq!(breaker.snapshot().state, State::HalfOpen);
    assert_eq!(breaker.snapshot().retry_at, None);
    assert_eq!(heard.lock().unwrap()[1].at, 65 * S);
}

#[test]
fn errors_of_any_kind_can_be_boxed() {
    type Any = Box<dyn Error + Send + Sync>;
    fn call<E: Into<Any>>(breaker: &Breaker, err: E) -> Result<(), Any> {
        breaker.call(|| Err(err)).map_err(CallError::into_boxed)?;
        Ok(())
    }
    fn of_an_error(breaker: &Breaker) -> Result<u8, Any> {
        Ok(breaker.call(|| "x".parse::<u8>())?)
    }
    let (breaker, _) = breaker("window=10 min=10");
    let boxed: Any = "down".into();
    assert_eq!(call(&breaker, boxed).unwrap_err().to_string(), "down");
    assert_eq!(call(&breaker, "down").unwrap_err().to_string(), "down");
    assert!(of_an_error(&breaker).is_err());
    breaker.force_open();
    let err = call(&breaker, "down").unwrap_err();
    assert!(err.is::<halfopen::Rejected>());
}

#[test]
fn a_fallback_may_have_a_classifier() {
    let (breaker, _) = breaker("window=10 min=10");
    assert_eq!(breaker.config(), "window=10 min=10".parse().unwrap());
    let classify = |result: &Result<u16, &str>| match result {
        Ok(503) => Outcome::Failure,
        Err("mine") => Outcome::Ignored,
        _ => Outcome::Success,
    };
    for (result, wanted) in [(Ok(200), 200), (Ok(503), 503), (Err("mine"), 0)] {
        let got = breaker.call_or_else_with(|| result, classify, |_| 0);
        assert_eq!(got, wanted);
    }
    let seen = breaker.snapshot();
    assert_eq!((seen.calls, seen.failures, seen.ignored), (2, 1, 1));
}

#[test]
fn a_dropped_guard_counts_nothing_and_gives_the_slot_back() {
    let (breaker, clock) = breaker(TWO);
    drop(breaker.acquire().unwrap());
    assert_eq!(breaker.snapshot().calls, 0);
    trip(&breaker);
    clock.set(5 * S);
    for _ in 0..3 {
        let probe = breaker.acquire().unwrap();
        assert_eq!(probe.state(), State::HalfOpen);
        assert!(breaker.acquire().is_err());
        drop(probe);
    }
    let probe = breaker.acquire_owned().unwrap();
    let panicked = catch_unwind(|| {
        let _probe = probe;
        panic!("in the call");
    });
    assert!(panicked.is_err());
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn a_dropped_probe_meets_the_lease_that_ran_out_before() {
    let (breaker, clock) = breaker("window=2 min=2 open=5s probes=1 lease=30s");
    trip(&breaker);
    clock.set(5 * S);
    let probe = breaker.acquire().unwrap();
    clock.set(36 * S);
    drop(probe);
    // The lease ran out at 35 s, and the wait ends at 40 s.
    assert_eq!(breaker.state(), State::Open);
    assert_eq!(breaker.retry_at(), Some(40 * S));
}

#[test]
fn results_of_earlier_generations_are_late() {
    let (breaker, _) = breaker(TWO);
    let old = breaker.acquire().unwrap();
    breaker.reset();
    old.failure();
    let seen = breaker.snapshot();
    assert_eq!((seen.calls, seen.late_results), (0, 1));
}

#[test]
fn a_panic_in_a_call_leaves_the_breaker_as_it_was() {
    let (breaker, _) = breaker("window=10 min=10");
    let call = || breaker.call(|| -> Result<(), ()> { panic!("in the call") });
    assert!(catch_unwind(call).is_err());
    assert_eq!(breaker.snapshot().calls, 0);
    assert!(breaker.call(|| Ok::<_, ()>(())).is_ok());
}

/// Polls once.
fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn futures_are_asked_for_when_polled_and_forgotten_when_dropped() {
    let (breaker, clock) = breaker(TWO);
    trip(&breaker);
    clock.set(5 * S);
    let call = || breaker.call_async(std::future::pending::<Result<(), &str>>);
    {
        let unpolled = call();
        let mut first = pin!(call());
        assert!(poll(first.as_mut()).is_pending());
        assert_eq!(breaker.state(), State::HalfOpen);
        let mut second = pin!(call());
        let Poll::Ready(Err(CallError::Rejected(rejected))) = poll(second.as_mut()) else {
            panic!("one probe only");
        };
        assert_eq!(rejected.state, State::HalfOpen);
        drop(unpolled);
    }
    let mut done = pin!(breaker.call_async(|| async { Ok::<_, &str>(3) }));
    assert_eq!(poll(done.as_mut()), Poll::Ready(Ok(3)));
    assert_eq!(breaker.state(), State::Closed);

    let classify = |_: &Result<u8, &str>| Outcome::Ignored;
    let mut ignored = pin!(breaker.call_async_with(|| async { Err("mine") }, classify));
    assert_eq!(
        poll(ignored.as_mut()),
        Poll::Ready(Err(CallError::Failed("mine")))
    );
    assert_eq!(breaker.snapshot().ignored, 1);
}

/// A breaker and the transitions that its listener has heard.
fn listened(settings: &str) -> (Breaker, ManualClock, Arc<Mutex<Vec<Transition>>>) {
    let clock = ManualClock::new(0);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    let breaker = Builder::with_clock(settings.parse().unwrap(), clock.clone())
        .name("catalog")
        .on_transition(move |breaker, it| {
            assert_eq!(breaker.name(), "catalog");
            log.lock().unwrap().push(*it);
        })
        .build();
    (breaker, clock, heard)
}

#[test]
fn listeners_hear_causes_figures_and_generations() {
    let (breaker, clock, heard) = listened(TWO);
    trip(&breaker);
    clock.set(6 * S);
    breaker.acquire().unwrap().success();
    let heard = heard.lock().unwrap();
    let seen: Vec<_> = heard
        .iter()
        .map(|it| (it.at, it.generation, it.to, it.cause, it.figures.failures))
        .collect();
    assert_eq!(
        seen,
        [
            (0, 1, State::Open, Cause::FailureRate, 2),
            (6 * S, 2, State::HalfOpen, Cause::WaitOver, 2),
            (6 * S, 3, State::Closed, Cause::ProbesPassed, 0),
        ]
    );
}

#[test]
fn a_listener_may_use_the_breaker() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&order);
    let breaker = Builder::with_clock(TWO.parse().unwrap(), ManualClock::new(0))
        .on_transition(move |breaker, it| {
            log.lock().unwrap().push((it.from, it.to));
            // What is read is the state now, not that of the transition.
            assert_eq!(breaker.snapshot().state, breaker.state());
            match it.to {
                State::Open => breaker.force_open(),
                State::ForcedOpen => {
                    assert!(breaker.acquire().is_err());
                    breaker.reset();
                }
                State::Closed => breaker.acquire().unwrap().success(),
                _ => {}
            }
        })
        .build();
    trip_once(&breaker);
    assert_eq!(
        *order.lock().unwrap(),
        [
            (State::Closed, State::Open),
            (State::Open, State::ForcedOpen),
            (State::ForcedOpen, State::Closed),
        ]
    );
    assert_eq!(breaker.snapshot().calls, 1);
}

fn trip_once(breaker: &Breaker) {
    for _ in 0..2 {
        let _ = breaker.call(|| Err::<(), _>("down"));
    }
}

#[test]
fn a_listener_that_panics_does_not_silence_the_next_transition() {
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    let breaker = Builder::new(TWO.parse().unwrap())
        .on_transition(move |_, it| {
            count.fetch_add(1, Ordering::Relaxed);
            assert_ne!(it.to, State::Open, "as meant");
        })
        .build();
    assert!(catch_unwind(AssertUnwindSafe(|| trip_once(&breaker))).is_err());
    assert_eq!(breaker.state(), State::Open);
    breaker.reset();
    assert_eq!(heard.load(Ordering::Relaxed), 2);
}

#[test]
fn every_listener_hears_everything_though_others_panic() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let logs = [Arc::clone(&heard), Arc::clone(&heard)];
    let [first, last] =
        logs.map(|log| move |_: &Breaker, it: &Transition| log.lock().unwrap().push(it.to));
    let breaker = Builder::new(TWO.parse().unwrap())
        .on_transition(first)
        // The second transition happens while the first is told.
        .on_transition(|breaker, it| {
            if it.to == State::Open {
                breaker.force_open();
            }
            panic!("{} as meant", it.to);
        })
        .on_transition(last)
        .build();
    let caught = catch_unwind(AssertUnwindSafe(|| breaker.open())).unwrap_err();
    assert_eq!(*caught.downcast::<String>().unwrap(), "open as meant");
    let twice = [
        State::Open,
        State::Open,
        State::ForcedOpen,
        State::ForcedOpen,
    ];
    assert_eq!(*heard.lock().unwrap(), twice);
}

#[test]
fn a_drop_in_a_panic_leaves_the_telling_to_the_next_step() {
    let clock = ManualClock::new(0);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    let breaker = Builder::with_clock(TWO.parse().unwrap(), clock.clone())
        .on_transition(move |_, it| {
            log.lock().unwrap().push(it.cause);
            assert_ne!(it.cause, Cause::LeaseExpired, "as meant");
        })
        .build();
    trip(&breaker);
    clock.set(5 * S);
    let probe = breaker.acquire().unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _probe = probe;
        // Dropped, it finds its lease run out.
        clock.set(40 * S);
        panic!("in the call");
    }));
    assert_eq!(
        *panicked.unwrap_err().downcast::<&str>().unwrap(),
        "in the call"
    );
    let before = [Cause::FailureRate, Cause::WaitOver];
    assert_eq!(*heard.lock().unwrap(), before);
    assert!(catch_unwind(AssertUnwindSafe(|| breaker.advance())).is_err());
    assert_eq!(heard.lock().unwrap()[2..], [Cause::LeaseExpired]);
}

#[test]
fn a_slow_listener_loses_the_oldest_and_says_so() {
    let (release, wait) = mpsc::channel::<()>();
    let (entered, entering) = mpsc::channel::<()>();
    let wait = Mutex::new(Some((wait, entered)));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    let breaker = Builder::new(TWO.parse().unwrap())
        .on_transition(move |_, it| {
            log.lock().unwrap().push(it.generation);
            if let Some((wait, entered)) = wait.lock().unwrap().take() {
                entered.send(()).unwrap();
                wait.recv().unwrap();
            }
        })
        .build();
    let other = breaker.clone();
    let slow = thread::spawn(move || other.reset());
    entering.recv().unwrap();
    for _ in 0..20 {
        // Does not wait for the listener.
        breaker.reset();
    }
    release.send(()).unwrap();
    slow.join().unwrap();
    let expected: Vec<u64> = std::iter::once(1).chain(6..=21).collect();
    assert_eq!(*heard.lock().unwrap(), expected);
    assert_eq!(breaker.snapshot().transitions_lost, 4);
}

#[test]
fn threads_hear_every_transition_once_in_order() {
    const THREADS: usize = 8;
    const CALLS: usize = if cfg!(miri) { 400 } else { 4_000 };
    let (breaker, clock, heard) =
        listened("window=4 min=2 open=3ns probes=2 lease=20ns judge=first-failure ramp=50%@4ns");
    let start = Barrier::new(THREADS);
    thread::scope(|scope| {
        for nth in 0..THREADS {
            let (breaker, clock, start) = (&breaker, &clock, &start);
            scope.spawn(move || {
                start.wait();
                for n in 0..CALLS {
                    clock.advance(1);
                    if let Ok(guard) = breaker.acquire() {
                        match (n + nth) % 4 {
                            0 => guard.failure(),
                            1 if n % 64 == 1 => drop(guard),
                            _ => guard.success(),
                        }
                    }
                }
            });
        }
    });
    // A thread that is stopped while it tells lets more than sixteen wait:
    // those are lost, counted, and a gap in the generations.
    let heard = heard.lock().unwrap();
    let seen = breaker.snapshot();
    assert_eq!(seen.generation, heard.len() as u64 + seen.transitions_lost);
    assert!(heard.len() > 100, "{} transitions", heard.len());
    for pair in heard.windows(2) {
        assert!(pair[0].generation < pair[1].generation);
        assert!(pair[0].at <= pair[1].at);
        if pair[0].generation + 1 == pair[1].generation {
            assert_eq!(pair[0].to, pair[1].from);
        }
    }
    assert_eq!(heard[heard.len() - 1].generation, seen.generation);
    assert_eq!(heard[heard.len() - 1].to, seen.state);
}

#[test]
fn threads_never_get_more_probes_than_there_are() {
    const THREADS: usize = 16;
    let (breaker, clock) = breaker("window=2 min=2 open=5s probes=3");
    for round in 1..=50 {
        trip(&breaker);
        clock.set(round * 10 * S);
        let start = Barrier::new(THREADS);
        let probes: Vec<Guard> = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        breaker.acquire_owned().ok()
                    })
                })
                .collect();
            threads
                .into_iter()
                .filter_map(|it| it.join().unwrap())
                .collect()
        });
        assert_eq!(probes.len(), 3);
        for probe in probes {
            probe.success();
        }
        assert_eq!(breaker.state(), State::Closed);
    }
}

#[test]
fn results_of_threads_are_all_counted() {
    const THREADS: u32 = 8;
    const CALLS: u32 = if cfg!(miri) { 100 } else { 10_000 };
    let (breaker, _) = breaker("window=1h/1h min=1000000 fail=100%");
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for n in 0..CALLS {
                    let _ = breaker.call(|| if n % 4 == 0 { Err(()) } else { Ok(()) });
                }
            });
        }
    });
    let seen = breaker.snapshot();
    assert_eq!(
        (seen.calls, seen.failures),
        (THREADS * CALLS, THREADS * CALLS / 4)
    );
}

#[test]
fn rejections_of_threads_are_all_counted() {
    const CALLS: u64 = if cfg!(miri) { 100 } else { 10_000 };
    let (breaker, _) = breaker(TWO);
    trip(&breaker);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..CALLS).for_each(|_| assert!(breaker.acquire().is_err())));
        }
    });
    assert_eq!(breaker.snapshot().not_permitted, 8 * CALLS);
}

#[test]
fn handles_can_go_anywhere() {
    fn anywhere<T: Send + Sync + 'static + std::panic::UnwindSafe>() {}
    anywhere::<Breaker>();
    fn sent<T: Send>() {}
    sent::<Guard>();
    sent::<Guard<&Breaker>>();
    let shown = format!("{:?}", Breaker::new(Config::default()));
    assert!(shown.contains("Closed"), "{shown}");
}
