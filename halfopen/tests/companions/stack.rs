//! The stack, alone and shared.

use super::*;

pub(crate) fn stack(settings: StackSettings) -> Stack {
    Stack::new(settings).unwrap()
}

pub(crate) fn call() -> Call {
    Call::new(Request::Idempotent, Deadline::NEVER)
}

pub(crate) fn two_failures_trip() -> Config {
    "window=10 min=2 fail=50% open=5s probes=1 ramp=10%/100%@5s"
        .parse()
        .unwrap()
}

/// A failed attempt that took no time.
fn fail(stack: &mut Stack, now: i64) -> Retried {
    let mut call = call();
    let permit = stack.acquire(now, &call).unwrap();
    stack.settle(now, permit, &mut call, Ended::Failed(Failure::Transient))
}

#[test]
fn an_attempt_over_its_timeout_is_a_failure_for_the_breaker() {
    let settings = || StackSettings {
        timeout: TimeoutSettings {
            connect: Some(100),
            read: Some(1_000),
        },
        breaker: two_failures_trip(),
        ..StackSettings::default()
    };
    // Over the connect timeout, or the read timeout, though both came back
    // well; and what would have been ignored.
    for (connected, end, ended, failures) in [
        (None, 99, Ended::Success, 0),
        (None, 100, Ended::Success, 1),
        (Some(50), 1_049, Ended::Success, 0),
        (Some(50), 1_050, Ended::Success, 1),
        (Some(50), 1_050, Ended::Ignored, 1),
    ] {
        let mut it = stack(settings());
        let mut call = call();
        let mut permit = it.acquire(0, &call).unwrap();
        if let Some(at) = connected {
            permit.connected(at).unwrap();
        }
        let next = it.settle(end, permit, &mut call, ended);
        assert_eq!(it.breaker().snapshot().failures, failures, "{end}");
        let wanted = if failures > 0 {
            Retried::GivenUp(GiveUp::Off)
        } else {
            Retried::Done
        };
        assert_eq!(next, wanted);
    }
}

#[test]
fn a_stack_measures_by_the_clock_that_went_back() {
    let mut it = stack(StackSettings {
        timeout: TimeoutSettings {
            connect: Some(100 * MS_U),
            read: None,
        },
        breaker: "window=10 min=10 slow=100%@50ms".parse().unwrap(),
        retry: Some(RetrySettings {
            jitter: Jitter::None,
            ..RetrySettings::default()
        }),
        ..StackSettings::default()
    });
    it.advance(3_600 * S);
    let mut call = Call::new(Request::Idempotent, Deadline::after(0, S_U));
    let permit = it.acquire(0, &call).unwrap();
    assert_eq!(permit.timer().limit(), Some(100 * MS));
    let next = it.settle(60 * MS, permit, &mut call, Ended::Success);
    assert_eq!((next, it.breaker().snapshot().slow), (Retried::Done, 1));
    // Cut, and 100 ms until the retry.
    let permit = it.acquire(200 * MS, &call).unwrap();
    let next = it.settle(300 * MS, permit, &mut call, Ended::Success);
    assert_eq!(next, Retried::At(400 * MS));
    assert_eq!(it.breaker().snapshot().failures, 1);
}

#[test]
#[cfg(feature = "std")]
fn a_shared_stack_gives_back_what_is_dropped() {
    let clock = halfopen::ManualClock::new(0);
    let shared = SharedStack::new(
        stack(StackSettings {
            breaker: "window=2 min=2 open=5s probes=1 lease=off".parse().unwrap(),
            max_concurrent: Some(1),
            ..StackSettings::default()
        }),
        clock.clone(),
    );
    let other = shared.clone();
    let mut it = call();
    shared
        .with(|stack, now| stack.breaker_mut().open(now))
        .unwrap();
    clock.set(5 * S);
    // The only probe and the only place, dropped: in a panic, too.
    for _ in 0..3 {
        let guard = shared.acquire(&it).unwrap();
        assert_eq!(guard.timer().limit(), Some(5 * S + 500 * MS));
        assert!(other.acquire(&it).is_err());
        drop(guard);
    }
    let guard = shared.acquire(&it).unwrap();
    std::thread::spawn(|| {
        let _guard = guard;
        panic!("in the call");
    })
    .join()
    .unwrap_err();
    let mut guard = other.acquire(&it).unwrap();
    guard.connected().unwrap();
    assert_eq!(guard.settle(&mut it, Ended::Success), Retried::Done);
    shared.with(|stack, _| {
        assert_eq!(stack.breaker().state(), State::Closed);
        assert_eq!(stack.bulkhead().unwrap().active(), 0);
    });
}

#[test]
fn breaker_and_ramp_reject() {
    let mut it = stack(StackSettings {
        breaker: two_failures_trip(),
        ..StackSettings::default()
    });
    fail(&mut it, 0);
    assert_eq!(fail(&mut it, 0), Retried::GivenUp(GiveUp::Off));
    let Err(StackRejected::Breaker(rejected)) = it.acquire(0, &call()) else {
        panic!()
    };
    assert_eq!(
        (rejected.state, rejected.retry_at),
        (State::Open, Some(5 * S))
    );
    let mut probing = call();
    let probe = it.acquire(5 * S, &probing).unwrap();
    it.settle(5 * S, probe, &mut probing, Ended::Success);
    assert_eq!(it.breaker().state(), State::Ramping);
    assert_eq!(it.next_deadline(), Some(10 * S));
    let admitted = (0..50)
        .filter(|_| it.acquire(6 * S, &call()).is_ok())
        .count();
    assert_eq!(admitted, 5);
    it.advance(15 * S);
    assert_eq!(it.breaker().state(), State::Closed);
}

#[test]
fn a_full_bulkhead_gives_the_probe_back() {
    let mut it = stack(StackSettings {
        breaker: two_failures_trip(),
        max_concurrent: Some(1),
        ..StackSettings::default()
    });
    let slow = it.acquire(0, &call()).unwrap();
    assert_eq!(it.acquire(0, &call()).unwrap_err(), StackRejected::Bulkhead);
    assert_eq!(it.breaker().snapshot().calls, 0);
    it.breaker_mut().open(0).unwrap();
    // The wait is over, and there is one probe, but no place for it.
    assert_eq!(
        it.acquire(5 * S, &call()).unwrap_err(),
        StackRejected::Bulkhead
    );
    assert_eq!(it.breaker().state(), State::HalfOpen);
    it.cancel(5 * S, slow);
    assert_eq!(it.bulkhead().unwrap().active(), 0);
    assert!(it.acquire(5 * S, &call()).is_ok());
}

#[test]
fn retries_pay_when_they_are_made() {
    let mut it = stack(StackSettings {
        breaker: "window=100 min=100".parse().unwrap(),
        retry: Some(RetrySettings {
            jitter: Jitter::None,
            ..RetrySettings::default()
        }),
        budget: Some(BudgetSettings::Aws {
            capacity: 10,
            retry_cost: 5,
            timeout_cost: 10,
            refund: 1,
        }),
        ..StackSettings::default()
    });
    let failure = Ended::Failed(Failure::Transient);
    // First attempt, and two retries at 100 ms and 100 + 200 ms: the budget
    // of 10 is used up, and the attempts too.
    let mut one = call();
    let permit = it.acquire(0, &one).unwrap();
    assert_eq!(
        it.settle(0, permit, &mut one, failure),
        Retried::At(100 * MS)
    );
    let mut two = call();
    let permit = it.acquire(0, &two).unwrap();
    assert_eq!(
        it.settle(0, permit, &mut two, failure),
        Retried::At(100 * MS)
    );
    let permit = it.acquire(100 * MS, &one).unwrap();
    assert_eq!(
        it.settle(100 * MS, permit, &mut one, failure),
        Retried::At(300 * MS)
    );
    let permit = it.acquire(300 * MS, &one).unwrap();
    // Nothing is left for the other, nor for a new one.
    assert_eq!(
        it.acquire(300 * MS, &two).unwrap_err(),
        StackRejected::Budget
    );
    let mut three = call();
    let first = it.acquire(300 * MS, &three).unwrap();
    let next = it.settle(300 * MS, first, &mut three, failure);
    assert_eq!(next, Retried::GivenUp(GiveUp::Budget));
    // The retry in flight succeeds and gives its 5 back.
    assert_eq!(
        it.settle(400 * MS, permit, &mut one, Ended::Success),
        Retried::Done
    );
    let permit = it.acquire(400 * MS, &two).unwrap();
    // Not made after all.
    it.cancel(400 * MS, permit);
    assert!(it.acquire(400 * MS, &two).is_ok());
    assert_eq!(it.budget().unwrap().denied(), 1);
}

#[test]
fn a_rejected_retry_has_cost_nothing() {
    let mut it = stack(StackSettings {
        breaker: two_failures_trip(),
        retry: Some(RetrySettings::default()),
        budget: Some(BudgetSettings::Aws {
            capacity: 5,
            retry_cost: 5,
            timeout_cost: 5,
            refund: 0,
        }),
        ..StackSettings::default()
    });
    let mut one = call();
    let permit = it.acquire(0, &one).unwrap();
    it.settle(0, permit, &mut one, Ended::Failed(Failure::Transient));
    it.breaker_mut().open(0).unwrap();
    for _ in 0..3 {
        assert!(matches!(
            it.acquire(S, &one),
            Err(StackRejected::Breaker(_))
        ));
    }
    assert!(it.acquire(5 * S, &one).is_ok());
}

#[test]
fn a_call_that_nobody_waits_for_is_not_made() {
    let mut it = stack(StackSettings {
        min_remaining: 50,
        retry: Some(RetrySettings::default()),
        ..StackSettings::default()
    });
    let mut late = Call::new(Request::Idempotent, Deadline::at(1_000));
    assert_eq!(it.acquire(951, &late).unwrap_err(), StackRejected::Deadline);
    // The clock went back: there is time again.
    let permit = it.acquire(950, &late).unwrap();
    it.cancel(950, permit);
    let mut it = stack(StackSettings {
        retry: Some(RetrySettings::default()),
        ..StackSettings::default()
    });
    let permit = it.acquire(950, &late).unwrap();
    assert_eq!(permit.timer().limit(), Some(1_000));
    // Cut by the deadline: a failure, and no time for another attempt.
    let next = it.settle(1_000, permit, &mut late, Ended::Success);
    assert_eq!(next, Retried::GivenUp(GiveUp::Deadline));
    assert_eq!(it.breaker().snapshot().failures, 1);
    assert_eq!(
        it.acquire(1_000, &late).unwrap_err(),
        StackRejected::Deadline
    );
}

#[test]
fn instances_have_waits_of_their_own() {
    let wait = |name| {
        let settings = StackSettings {
            breaker: "window=2 min=1 jitter=full".parse().unwrap(),
            retry: Some(RetrySettings::default()),
            ..StackSettings::default()
        };
        let mut it = Stack::for_instance(settings, name).unwrap();
        (fail(&mut it, 0), it.breaker().retry_at())
    };
    let (a, b) = (wait("shop-web-1"), wait("shop-web-2"));
    assert!(a.0 != b.0 && a.1 != b.1);
    assert_eq!(a, wait("shop-web-1"));
}
