//! Every interleaving of a few threads on one breaker, run by loom:
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test -p halfopen --test loom --release
//! ```
//!
//! Times are passed in, so that the schedule is the only thing that varies.
//! Threads are preempted twice at most, which is where such bugs show, unless
//! `LOOM_MAX_PREEMPTIONS` says otherwise.
#![cfg(loom)]

use halfopen::{Breaker, Builder, Config, ManualClock, Outcome, State, Transition};
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

/// Opens at the first failure, for 10 ns.
const ONE: &str = "window=2 min=1 fail=50% open=10ns probes=1 lease=100ns";

fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    builder.check(run);
}

fn breaker(settings: &str) -> Breaker {
    Breaker::with_clock(config(settings), ManualClock::new(0))
}

fn config(settings: &str) -> Config {
    settings.parse().unwrap()
}

/// A breaker with the transitions its listener has heard. Their log is loom's
/// own mutex: two listeners at once would show as an order that is not that of
/// the generations.
fn listened(settings: &str) -> (Breaker, Arc<Mutex<Vec<Transition>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    let breaker = Builder::with_clock(config(settings), ManualClock::new(0))
        .on_transition(move |_, it| log.lock().unwrap().push(*it))
        .build();
    (breaker, heard)
}

fn fail(breaker: &Breaker, now: i64) {
    if let Ok(guard) = breaker.acquire_at(now) {
        guard.failure_at(now);
    }
}

fn in_order(heard: &[Transition]) {
    for (nth, it) in heard.iter().enumerate() {
        assert_eq!(it.generation, nth as u64 + 1);
        if nth > 0 {
            assert_eq!(it.from, heard[nth - 1].to);
        }
    }
}

#[test]
fn a_probe_is_given_out_once() {
    model(|| {
        let breaker = breaker(ONE);
        fail(&breaker, 0);
        let out = Arc::new(AtomicUsize::new(0));
        let probe = |breaker: Breaker, out: Arc<AtomicUsize>| {
            move || {
                let guard = breaker.acquire_owned_at(10).ok();
                if guard.is_some() {
                    out.fetch_add(1, Ordering::Relaxed);
                }
                guard
            }
        };
        let a = thread::spawn(probe(breaker.clone(), Arc::clone(&out)));
        let b = thread::spawn(probe(breaker.clone(), Arc::clone(&out)));
        let here = probe(breaker.clone(), Arc::clone(&out))();
        let guards = [a.join().unwrap(), b.join().unwrap(), here];
        assert_eq!(out.load(Ordering::Relaxed), 1);
        assert_eq!(breaker.state(), State::HalfOpen);
        guards
            .into_iter()
            .flatten()
            .for_each(|it| it.success_at(11));
        assert_eq!(breaker.state(), State::Closed);
    });
}

#[test]
fn permits_given_back_are_never_more_than_there_are() {
    model(|| {
        let breaker = breaker("window=2 min=1 fail=50% open=10ns probes=2 lease=off");
        fail(&breaker, 0);
        let out = Arc::new(AtomicUsize::new(0));
        let user = |breaker: Breaker, out: Arc<AtomicUsize>| {
            move || {
                for _ in 0..2 {
                    if let Ok(guard) = breaker.acquire_at(10) {
                        assert!(out.fetch_add(1, Ordering::Relaxed) < 2);
                        out.fetch_sub(1, Ordering::Relaxed);
                        guard.cancel_at(10);
                    }
                }
            }
        };
        let a = thread::spawn(user(breaker.clone(), Arc::clone(&out)));
        let b = thread::spawn(user(breaker.clone(), Arc::clone(&out)));
        a.join().unwrap();
        b.join().unwrap();
        // Both slots are back, and nothing has been counted.
        let both = [breaker.acquire_at(10), breaker.acquire_at(10)];
        assert!(both.iter().all(Result::is_ok));
        assert!(breaker.acquire_at(10).is_err());
        assert_eq!(breaker.snapshot().calls, 0);
    });
}

#[test]
fn a_rejection_is_of_one_generation() {
    model(|| {
        let breaker = breaker(ONE);
        let other = breaker.clone();
        let changes = thread::spawn(move || {
            // Generations 1 and 2 are open until 15 and 25, 3 is closed, and
            // 4 is open until 40.
            other.open_at(5).unwrap();
            other.open_for_at(5, 20).unwrap();
            other.close_at(5);
            other.open_for_at(5, 35).unwrap();
        });
        for _ in 0..2 {
            match breaker.acquire_at(5) {
                Ok(guard) => {
                    assert!(matches!(guard.generation(), 0 | 3), "{guard:?}");
                    assert_eq!(guard.state(), State::Closed);
                    guard.cancel_at(5);
                }
                Err(rejected) => {
                    assert_eq!(rejected.state, State::Open);
                    let until = match rejected.generation {
                        1 => 15,
                        2 => 25,
                        4 => 40,
                        it => panic!("generation {it} is not open"),
                    };
                    assert_eq!(rejected.retry_at, Some(until), "{rejected:?}");
                }
            }
        }
        changes.join().unwrap();
        assert_eq!(breaker.retry_at(), Some(40));
    });
}

#[test]
fn a_rejection_is_behind_by_no_more_than_calls_race() {
    // Whether a rejection was behind the largest time seen: the documentation
    // of `Rejected::at` says that it may be.
    let behind = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = std::sync::Arc::clone(&behind);
    model(move || {
        let breaker = breaker(ONE);
        breaker.open_for_at(0, 100).unwrap();
        let rejected = |breaker: &Breaker, now: i64| {
            let rejected = breaker.acquire_at(now).unwrap_err();
            assert_eq!((rejected.generation, rejected.retry_at), (1, Some(100)));
            assert!((now..=30).contains(&rejected.at), "{now}: {rejected:?}");
            rejected.at
        };
        let other = breaker.clone();
        let later = thread::spawn(move || rejected(&other, 30));
        rejected(&breaker, 20);
        later.join().unwrap();
        // The clock has gone back, behind both.
        let at = rejected(&breaker, 10);
        assert!((20..=30).contains(&at), "{at}");
        seen.fetch_or(at < 30, Ordering::Relaxed);
    });
    assert!(behind.load(Ordering::Relaxed));
}

#[test]
fn a_result_counts_in_its_generation_or_is_late() {
    for outcome in [Outcome::Success, Outcome::Failure] {
        model(move || {
            let breaker = breaker("window=4 min=1 fail=100%");
            let guard = breaker.acquire_owned_at(0).unwrap();
            let other = breaker.clone();
            let settle = thread::spawn(move || guard.settle_at(1, outcome));
            other.open_at(1).unwrap();
            other.close_at(1);
            for _ in 0..2 {
                other.acquire_at(1).unwrap().success_at(1);
            }
            settle.join().unwrap();
            let seen = breaker.snapshot();
            // Before the changes it was counted and forgotten with the window,
            // or tripped; after them it is late. It never counts with the
            // fresh ones.
            assert_eq!((seen.calls, seen.failures), (2, 0), "{seen:?}");
            assert!(seen.late_results <= 1);
        });
    }
}

#[test]
fn reset_and_drop_leave_no_slot_taken() {
    model(|| {
        let breaker = breaker(ONE);
        fail(&breaker, 0);
        let probe = breaker.acquire_owned_at(10).unwrap();
        let other = breaker.clone();
        let dropped = thread::spawn(move || drop(probe));
        let reset = thread::spawn(move || other.reset_at(11));
        fail(&breaker, 11);
        dropped.join().unwrap();
        reset.join().unwrap();
        // Wherever that has left it, a wait later there is one probe.
        breaker.open_at(20).unwrap();
        let probe = breaker.acquire_at(30).unwrap();
        assert_eq!(probe.state(), State::HalfOpen);
        assert!(breaker.acquire_at(30).is_err());
        probe.settle_at(30, Outcome::Success);
        assert_eq!(breaker.state(), State::Closed);
    });
}

#[test]
fn listeners_hear_everything_in_order() {
    model(|| {
        let (breaker, heard) = listened(ONE);
        let other = breaker.clone();
        let a = thread::spawn(move || fail(&other, 0));
        let other = breaker.clone();
        let b = thread::spawn(move || other.force_open_at(0));
        breaker.close_at(0);
        a.join().unwrap();
        b.join().unwrap();
        let heard = heard.lock().unwrap();
        in_order(&heard);
        assert_eq!(breaker.snapshot().generation, heard.len() as u64);
    });
}

#[test]
fn a_listener_that_calls_back_does_not_deadlock() {
    model(|| {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heard);
        let breaker = Builder::with_clock(config(ONE), ManualClock::new(0))
            .on_transition(move |breaker, it| {
                log.lock().unwrap().push(*it);
                if it.to == State::Open {
                    breaker.reset_at(0);
                }
                assert!(breaker.snapshot().generation >= it.generation);
            })
            .build();
        let other = breaker.clone();
        let a = thread::spawn(move || fail(&other, 0));
        let _ = breaker.open_at(0);
        a.join().unwrap();
        let heard = heard.lock().unwrap();
        in_order(&heard);
        assert_eq!(breaker.snapshot().generation, heard.len() as u64);
        assert_eq!(breaker.state(), State::Closed);
    });
}

#[test]
fn rejections_are_counted_once() {
    model(|| {
        let breaker = breaker(ONE);
        breaker.force_open_at(0);
        let other = breaker.clone();
        let a = thread::spawn(move || assert!(other.acquire_at(0).is_err()));
        assert!(breaker.acquire_at(0).is_err());
        a.join().unwrap();
        assert_eq!(breaker.snapshot().not_permitted, 2);
    });
}

#[test]
fn good_results_that_wait_are_all_counted() {
    model(|| {
        let breaker = breaker("window=3 min=1 fail=60%");
        breaker.acquire_at(0).unwrap().success_at(0);
        let guards = [
            breaker.acquire_owned_at(0).unwrap(),
            breaker.acquire_owned_at(0).unwrap(),
        ];
        let [good, bad] = guards;
        let a = thread::spawn(move || good.success_at(1));
        let b = thread::spawn(move || bad.failure_at(1));
        let seen = breaker.snapshot();
        assert!((1..=3).contains(&seen.calls));
        a.join().unwrap();
        b.join().unwrap();
        let seen = breaker.snapshot();
        assert_eq!((seen.calls, seen.failures, seen.late_results), (3, 1, 0));
        assert_eq!(seen.state, State::Closed);
    });
}

#[test]
fn good_results_that_wait_do_not_outlive_their_generation() {
    model(|| {
        let breaker = breaker("window=4 min=1");
        breaker.acquire_at(0).unwrap().success_at(0);
        let one = breaker.acquire_owned_at(0).unwrap();
        let two = breaker.acquire_owned_at(0).unwrap();
        let other = breaker.clone();
        let a = thread::spawn(move || one.success_at(1));
        let b = thread::spawn(move || other.close_at(1));
        two.success_at(1);
        a.join().unwrap();
        b.join().unwrap();
        // Before the change they were counted, and forgotten with the window;
        // after it they are late. The new window has none of them.
        let seen = breaker.snapshot();
        assert_eq!((seen.generation, seen.calls), (1, 0));
        assert!(seen.late_results <= 2);
        breaker.acquire_at(1).unwrap().success_at(1);
        assert_eq!(breaker.snapshot().calls, 1);
    });
}
