//! Clocks that go back: what keeps time stands still meanwhile, and goes on
//! from there.

use std::fmt::Debug;

use super::*;

/// What a companion answers at these times, one after the other.
type Play = fn(&[i64]) -> Vec<String>;

/// In milliseconds: forwards, back by a little and by a lot, before the
/// beginning, and on again past where it had been.
const STEPPED: [i64; 24] = [
    0, 40, 80, 120, 110, 121, 40, 130, -500, -1_000, 131, 170, 171, 20, 210, 300, 299, 301, -1,
    340, 341, 10, 420, 500,
];

#[test]
fn a_clock_stepped_back_stands_still() {
    let stepped: Vec<i64> = STEPPED.map(|ms| ms * MS).into();
    let mut latest = i64::MIN;
    let standing: Vec<i64> = stepped
        .iter()
        .map(|&now| {
            latest = latest.max(now);
            latest
        })
        .collect();
    // A clock that had been at the later times all along, to see that the
    // play minds the time at all.
    let other: Vec<i64> = (0..stepped.len() as i64).map(|n| n * 300 * MS).collect();

    let rows: [(&str, Play); 10] = [
        ("timer", timer),
        ("budget, Finagle", finagle),
        ("bulkhead", bulkhead),
        ("shedder", shed),
        ("throttle", throttled),
        ("outliers", ejected),
        ("rate limiter", limited),
        ("stack", breaker_of_a_stack),
        ("shared stack", breaker_of_a_shared_stack),
        ("breaker", breaker),
    ];
    let wrong: Vec<&str> = rows
        .iter()
        .filter(|(_, play)| play(&stepped) != play(&standing) || play(&stepped) == play(&other))
        .map(|it| it.0)
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// What `step` gives at each time, with which it is called and its place.
fn play<R: Debug>(times: &[i64], mut step: impl FnMut(i64, usize) -> R) -> Vec<String> {
    let answers = times.iter().enumerate();
    answers
        .map(|(nth, &now)| format!("{:?}", step(now, nth)))
        .collect()
}

fn timer(times: &[i64]) -> Vec<String> {
    let settings = TimeoutSettings {
        connect: Some(100 * MS_U),
        read: Some(150 * MS_U),
    };
    let timeout = Timeout::new(settings).unwrap();
    let mut timer = timeout.start(times[0], Deadline::at(times[0] + 400 * MS));
    play(times, |now, nth| {
        let connected = (nth == 2).then(|| timer.connected(now));
        let (left, took) = (timer.remaining(now), timer.elapsed(now));
        (connected, left, took, timer.check(now), timer.limit())
    })
}

fn finagle(times: &[i64]) -> Vec<String> {
    let mut budget = RetryBudget::new(BudgetSettings::Finagle {
        ttl: S_U,
        min_retries_per_sec: 0,
        percent_can_retry: Rate::percent(40),
    })
    .unwrap();
    // Ten times as slow, for the least time to live.
    play(times, |now, nth| {
        let first = budget.begin(now * 10);
        let retry = budget.retry(now * 10, Failure::Transient);
        let got = retry.is_ok();
        if let (Ok(retry), 0) = (retry, nth % 5) {
            budget.cancel(now * 10, retry);
        }
        budget.settle(now * 10, first, Outcome::Failure);
        (got, budget.denied())
    })
}

fn bulkhead(times: &[i64]) -> Vec<String> {
    let mut it = Bulkhead::new(BulkheadSettings {
        max_concurrent: 1,
        max_waiting: 2,
        max_wait: Some(100 * MS_U),
    })
    .unwrap();
    let (mut places, mut tickets) = (Vec::new(), Vec::new());
    play(times, |now, nth| {
        match it.acquire(now) {
            Ok(Entry::Admitted(place)) => places.push(place),
            Ok(Entry::Waiting(ticket)) => tickets.push(ticket),
            Err(BulkheadFull) => {}
        }
        if nth % 4 == 3
            && let Some(ticket) = tickets.pop()
        {
            match it.claim(now, ticket) {
                Claim::Admitted(place) => places.push(place),
                Claim::Waiting(ticket) => tickets.push(ticket),
                Claim::TimedOut => {}
            }
        }
        let woken = (nth % 7 == 6).then(|| places.pop().map(|place| it.release(now, place)));
        let left = (nth % 9 == 8).then(|| tickets.pop().map(|ticket| it.leave(now, ticket)));
        let counts = (it.active(), it.waiting(), it.refused(), it.timed_out());
        (woken, left, counts, it.next_deadline())
    })
}

fn shed(times: &[i64]) -> Vec<String> {
    let mut it = Shedder::new(ShedderSettings {
        max_queue: 8,
        target: 5 * MS_U,
        interval: 20 * MS_U,
    })
    .unwrap();
    play(times, |now, nth| {
        let offered = [0, 1].map(|n| it.offer(now, ALL[(nth + n) % 4]));
        (offered, it.take(now), it.is_overloaded(), it.shed_by_age())
    })
}

fn throttled(times: &[i64]) -> Vec<String> {
    let mut it = throttle(ThrottleSettings {
        window: 200 * MS_U,
        bucket: 20 * MS_U,
        ..ThrottleSettings::default()
    });
    play(times, |now, nth| {
        let permit = it.acquire(now);
        let admitted = permit.is_ok();
        if let Ok(permit) = permit {
            let outcomes = [Outcome::Success, Outcome::Failure, Outcome::Ignored];
            it.settle(now, permit, outcomes[nth % 3]);
        }
        (admitted, it.reject_ppm(now), it.counts(now))
    })
}

fn ejected(times: &[i64]) -> Vec<String> {
    let mut it = outliers(
        OutlierSettings {
            consecutive: Some(2),
            interval: 50 * MS_U,
            base_ejection: 60 * MS_U,
            max_ejection: 200 * MS_U,
            max_ejected: Rate::percent(100),
            ..OutlierSettings::default()
        },
        6,
    );
    play(times, |now, nth| {
        let ejection = it.settle(now, (nth / 2 % 6) as u32, Outcome::Failure);
        let out = [0, 1, 2, 3, 4, 5].map(|host| it.is_ejected(now, host));
        (ejection, out, it.ejections(), it.next_deadline())
    })
}

fn limited(times: &[i64]) -> Vec<String> {
    let mut it = limiter(15, S_U, 2);
    play(times, |now, _| (it.acquire(now), it.available(now)))
}

fn breaker_of_a_stack(times: &[i64]) -> Vec<String> {
    let mut it = stack(opens_for_90_ms());
    play(times, |now, nth| {
        // The budget of time is counted from the time as it is given.
        let mut call = call();
        let admitted = it.acquire(now, &call);
        let rejected = admitted.as_ref().err().copied();
        if let Ok(permit) = admitted {
            it.settle(now, permit, &mut call, bad_at_first(nth));
        }
        (rejected, it.breaker().snapshot())
    })
}

fn breaker_of_a_shared_stack(times: &[i64]) -> Vec<String> {
    let clock = halfopen::ManualClock::new(0);
    let it = SharedStack::new(stack(opens_for_90_ms()), clock.clone());
    play(times, |now, nth| {
        clock.set(now);
        let mut call = call();
        let admitted = it.acquire(&call);
        let rejected = admitted.as_ref().err().copied();
        if let Ok(guard) = admitted {
            guard.settle(&mut call, bad_at_first(nth));
        }
        (rejected, it.with(|stack, _| stack.breaker().snapshot()))
    })
}

fn breaker(times: &[i64]) -> Vec<String> {
    let clock = halfopen::ManualClock::new(0);
    let it = halfopen::Breaker::with_clock(opens_for_90_ms().breaker, clock.clone());
    play(times, |now, nth| {
        clock.set(now);
        let admitted = it.acquire();
        let rejected = admitted.as_ref().err().copied();
        if let Ok(guard) = admitted {
            guard.settle(if nth < 6 {
                Outcome::Failure
            } else {
                Outcome::Success
            });
        }
        (rejected, it.snapshot())
    })
}

fn opens_for_90_ms() -> StackSettings {
    let breaker = "window=50ms/10ms min=2 open=90ms probes=2 ramp=50%/100%@60ms";
    StackSettings {
        breaker: breaker.parse().unwrap(),
        ..StackSettings::default()
    }
}

fn bad_at_first(nth: usize) -> Ended {
    match nth {
        0..6 => Ended::Failed(Failure::Transient),
        _ => Ended::Success,
    }
}
