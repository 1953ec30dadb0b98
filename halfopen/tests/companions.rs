//! The companions against their formulas, worked by hand in the comments, at
//! their boundaries, at the ends of their types, and with clocks that go back.

use halfopen::companions::*;
use halfopen::{Config, ConfigError, Jitter, Outcome, Rate, State};

const MS: i64 = 1_000_000;
const S: i64 = 1_000 * MS;
const MS_U: u64 = MS as u64;
const S_U: u64 = S as u64;

// Timeouts and deadlines.

fn timeout(connect: Option<u64>, read: Option<u64>) -> Timeout {
    Timeout::new(TimeoutSettings { connect, read }).unwrap()
}

#[test]
fn connect_and_read_time_out_apart_and_at_their_end() {
    let both = timeout(Some(100), Some(1_000));
    assert_eq!(both.longest(), Some(1_100));
    assert_eq!(timeout(None, Some(1)).longest(), None);
    // Connection at, end at, and what came of it. Connect is over at 100, read
    // at the connection's time + 1000.
    for (connected, end, wanted) in [
        (0, 999, Ok(999)),
        (0, 1_000, Err(TimedOut::Read)),
        (99, 1_098, Ok(1_098)),
        (99, 1_099, Err(TimedOut::Read)),
        (100, 101, Err(TimedOut::Connect)),
        (100, 5_000, Err(TimedOut::Connect)),
    ] {
        let mut timer = both.start(0, Deadline::NEVER);
        let _ = timer.connected(connected);
        assert_eq!(timer.finish(end), wanted, "{connected} {end}");
    }
}

#[test]
fn the_deadline_counts_where_it_is_first() {
    let both = timeout(Some(100), Some(1_000));
    for (deadline, limit, at, wanted) in [
        (50, 50, 50, TimedOut::Deadline),
        // At the same time the callee's own limit is named.
        (100, 100, 100, TimedOut::Connect),
        (101, 100, 500, TimedOut::Connect),
        (99, 99, 500, TimedOut::Deadline),
    ] {
        let mut timer = both.start(0, Deadline::at(deadline));
        assert_eq!(timer.limit(), Some(limit));
        assert_eq!(timer.check(limit - 1), Ok(()));
        assert_eq!(timer.remaining(limit - 1), Some(1));
        assert_eq!(timer.check(at), Err(wanted));
        assert_eq!(timer.remaining(at), Some(0));
        assert_eq!(timer.judge(at, Outcome::Success), Outcome::Failure);
    }
    let mut free = timeout(None, None).start(i64::MIN, Deadline::NEVER);
    assert_eq!((free.limit(), free.remaining(0)), (None, None));
    assert_eq!(free.finish(i64::MAX), Ok(u64::MAX));
}

#[test]
fn a_timer_is_over_once_and_for_all() {
    let mut timer = timeout(Some(100), Some(100)).start(0, Deadline::NEVER);
    assert_eq!(timer.connected(150), Err(TimedOut::Connect));
    // The clock goes back, and the connection that came too late is no start.
    assert_eq!(timer.connected(10), Err(TimedOut::Connect));
    assert_eq!(timer.finish(10), Err(TimedOut::Connect));
    // A second connection does not give more time; a clock that goes back
    // stands still.
    let mut timer = timeout(Some(100), Some(100)).start(0, Deadline::NEVER);
    timer.connected(50).unwrap();
    timer.connected(60).unwrap();
    assert_eq!(timer.limit(), Some(150));
    timer.check(120).unwrap();
    assert_eq!(timer.remaining(0), Some(30));
    assert_eq!(timer.finish(0), Ok(120));
}

#[test]
fn a_budget_shrinks_along_the_chain() {
    // 1 s at the edge, 100 ms kept there: 900 ms. The next may take 600 ms of
    // it, and keeps 50 ms: 550 ms. Its callee may take 2 s: still 550 ms.
    let edge = Deadline::after(0, S_U).reserving(100 * MS_U);
    assert_eq!(edge.remaining(0), Some(900 * MS_U));
    let next = edge.within(0, 600 * MS_U).reserving(50 * MS_U);
    assert_eq!(next.remaining(0), Some(550 * MS_U));
    assert_eq!(next.within(0, 2 * S_U), next);
    assert_eq!(next.remaining(500 * MS), Some(50 * MS_U));
    assert_eq!(next.remaining(600 * MS), Some(0));
    assert!(!next.is_over(550 * MS - 1) && next.is_over(550 * MS));
    assert_eq!(Deadline::NEVER.remaining(0), None);
    assert_eq!(Deadline::NEVER.reserving(u64::MAX), Deadline::NEVER);
    assert_eq!(Deadline::after(1, u64::MAX), Deadline::NEVER);
    assert!(!Deadline::NEVER.is_over(i64::MAX));
    let past = Deadline::at(0).reserving(u64::MAX);
    assert!(past.is_over(i64::MIN));
    assert_eq!(Deadline::at(5).remaining(i64::MIN), Some(5 + (1 << 63)));
}

// Retries.

fn retry(settings: RetrySettings) -> Retry {
    Retry::new(settings).unwrap()
}

#[test]
fn waits_are_base_doubled_up_to_the_cap() {
    let aws = retry(RetrySettings::default());
    // 100 ms * 2^n, at most 10 s.
    let waits = [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000];
    for (n, wait) in waits.into_iter().enumerate() {
        assert_eq!(aws.longest(n as u32), wait * MS_U, "{n}");
    }
    assert_eq!(aws.longest(u32::MAX), 10 * S_U);
    let year = 365 * 24 * 3600 * S_U;
    let long = retry(RetrySettings {
        base: year,
        cap: year,
        ..RetrySettings::default()
    });
    assert_eq!(long.longest(64), year);
}

#[test]
fn jitter_fills_its_range() {
    // Full: [0, d]. Equal: [d/2, d]. None: d. With d = 100 ms, 200 ms.
    for (jitter, low) in [(Jitter::Full, 0), (Jitter::Equal, 50), (Jitter::None, 100)] {
        let mut retry = retry(RetrySettings {
            jitter,
            ..RetrySettings::default()
        });
        for n in 0..2 {
            let (mut least, mut most) = (i64::MAX, 0);
            for _ in 0..2_000 {
                let mut call = Attempts::new(Request::Idempotent, Deadline::NEVER);
                for _ in 0..n {
                    retry.again(0, &mut call, Failure::Transient).unwrap();
                }
                let wait = retry.again(0, &mut call, Failure::Transient).unwrap();
                (least, most) = (least.min(wait), most.max(wait));
            }
            let (low, high) = ((low * MS) << n, (100 * MS) << n);
            assert!((low..=low + MS).contains(&least), "{jitter:?} {n} {least}");
            assert!((high - MS..=high).contains(&most), "{jitter:?} {n} {most}");
        }
    }
}

#[test]
fn the_seed_decides_the_waits() {
    let waits = |mut retry: Retry| -> Vec<i64> {
        (0..5)
            .map(|_| {
                let mut call = Attempts::new(Request::Idempotent, Deadline::NEVER);
                retry.again(0, &mut call, Failure::Transient).unwrap()
            })
            .collect()
    };
    let one = || retry(RetrySettings::default());
    assert_eq!(waits(one()), waits(one()));
    assert_ne!(waits(one()), waits(one().for_instance("shop-web-1")));
    // The first output of splitmix64 for seed 0 is e220a8397b1dcdaf: of 100 ms
    // that is 0.883311 of the range.
    assert_eq!(waits(one())[0] / 100, 883_310);
}

#[test]
fn only_what_may_be_retried_is() {
    let again = |request, deadline, failure| {
        let mut retry = retry(RetrySettings {
            jitter: Jitter::None,
            ..RetrySettings::default()
        });
        retry.again(0, &mut Attempts::new(request, deadline), failure)
    };
    let (yes, no) = (Request::Idempotent, Request::NotIdempotent);
    let asked = |retry_after| Failure::Throttled { retry_after };
    for (request, deadline, failure, wanted) in [
        (yes, Deadline::NEVER, Failure::Transient, Ok(100 * MS)),
        (yes, Deadline::NEVER, Failure::Timeout, Ok(100 * MS)),
        (yes, Deadline::NEVER, asked(None), Ok(100 * MS)),
        (yes, Deadline::NEVER, asked(Some(S_U)), Ok(1_100 * MS)),
        (yes, Deadline::NEVER, asked(Some(u64::MAX)), Ok(i64::MAX)),
        (
            yes,
            Deadline::NEVER,
            Failure::Permanent,
            Err(GiveUp::Permanent),
        ),
        (
            no,
            Deadline::NEVER,
            Failure::Transient,
            Err(GiveUp::NotIdempotent),
        ),
        (no, Deadline::NEVER, asked(None), Err(GiveUp::NotIdempotent)),
        (
            yes,
            Deadline::at(100 * MS),
            Failure::Timeout,
            Err(GiveUp::Deadline),
        ),
        (
            yes,
            Deadline::at(100 * MS + 1),
            Failure::Timeout,
            Ok(100 * MS),
        ),
    ] {
        assert_eq!(
            again(request, deadline, failure),
            wanted,
            "{request:?} {failure:?}"
        );
    }
    for (method, request) in [
        ("GET", yes),
        ("DELETE", yes),
        ("PATCH", no),
        ("get", no),
        ("", no),
    ] {
        assert_eq!(Request::of_http_method(method), request);
    }
}

#[test]
fn attempts_are_counted_with_the_first() {
    for attempts in [1, 2, 5] {
        let mut retry = retry(RetrySettings {
            attempts,
            ..RetrySettings::default()
        });
        let mut call = Attempts::new(Request::Idempotent, Deadline::NEVER);
        let retries = (0..9)
            .filter(|_| retry.again(0, &mut call, Failure::Transient).is_ok())
            .count();
        assert_eq!(retries as u32, attempts - 1);
        assert_eq!(
            retry.again(0, &mut call, Failure::Timeout),
            Err(GiveUp::Attempts)
        );
        assert_eq!(call.failed(), 10);
    }
}

#[test]
fn a_clock_that_goes_back_makes_no_longer_wait() {
    let mut retry = retry(RetrySettings {
        jitter: Jitter::None,
        ..RetrySettings::default()
    });
    let mut call = Attempts::new(Request::Idempotent, Deadline::NEVER);
    assert_eq!(
        retry.again(S, &mut call, Failure::Timeout),
        Ok(S + 100 * MS)
    );
    assert_eq!(retry.again(0, &mut call, Failure::Timeout), Ok(200 * MS));
}

// Retry budgets.

fn budget(settings: BudgetSettings) -> RetryBudget {
    RetryBudget::new(settings).unwrap()
}

/// Takes retries until there are no more; they stay outstanding.
fn drain(budget: &mut RetryBudget, now: i64, failure: Failure) -> Vec<Attempt> {
    std::iter::from_fn(|| budget.retry(now, failure).ok())
        .take(1_000_000)
        .collect()
}

fn failed(budget: &mut RetryBudget, attempts: Vec<Attempt>) {
    for attempt in attempts {
        budget.settle(0, attempt, Outcome::Failure);
    }
}

#[test]
fn aws_pays_in_tokens() {
    // 500 / 5 = 100 retries, 500 / 10 = 50 after timeouts.
    let throttled = Failure::Throttled { retry_after: None };
    for (failure, retries) in [
        (Failure::Transient, 100),
        (throttled, 100),
        (Failure::Timeout, 50),
    ] {
        let mut budget = budget(BudgetSettings::AWS);
        let taken = drain(&mut budget, 0, failure);
        assert_eq!(taken.len(), retries);
        assert_eq!(budget.denied(), 1);
        // Failures give nothing back.
        failed(&mut budget, taken);
        assert!(!budget.allows(0, failure));
    }
}

#[test]
fn aws_gives_back_what_a_success_cost() {
    let mut budget = budget(BudgetSettings::AWS);
    let mut taken = drain(&mut budget, 0, Failure::Timeout);
    // A retry after a timeout that succeeds gives its 10 back: two retries of
    // 5.
    budget.settle(0, taken.pop().unwrap(), Outcome::Success);
    failed(&mut budget, taken);
    let taken = drain(&mut budget, 0, Failure::Transient);
    assert_eq!(taken.len(), 2);
    failed(&mut budget, taken);
    // Five successes without a retry pay for one retry, four do not.
    for _ in 0..4 {
        let first = budget.begin(0);
        budget.settle(0, first, Outcome::Success);
    }
    assert!(!budget.allows(0, Failure::Transient));
    let first = budget.begin(0);
    budget.settle(0, first, Outcome::Success);
    assert_eq!(drain(&mut budget, 0, Failure::Transient).len(), 1);
}

#[test]
fn aws_holds_no_more_than_its_capacity() {
    let mut budget = budget(BudgetSettings::AWS);
    for _ in 0..50 {
        let first = budget.begin(0);
        budget.settle(0, first, Outcome::Success);
    }
    assert_eq!(drain(&mut budget, 0, Failure::Transient).len(), 100);
    let mut one = RetryBudget::new(BudgetSettings::Aws {
        capacity: 1,
        retry_cost: 1,
        timeout_cost: 1,
        refund: 1,
    })
    .unwrap();
    let retry = one.retry(0, Failure::Timeout).unwrap();
    one.cancel(0, retry);
    assert_eq!(drain(&mut one, 0, Failure::Timeout).len(), 1);
}

#[test]
fn brookers_bucket_bounds_the_work_at_a_tenth() {
    // Under full failure after n good calls there are n / 10 retries, at most
    // the bucket: 1.1 times the work.
    let mut budget = budget(BudgetSettings::Aws {
        capacity: 1_000,
        retry_cost: 10,
        timeout_cost: 10,
        refund: 1,
    });
    let taken = drain(&mut budget, 0, Failure::Transient);
    failed(&mut budget, taken);
    for _ in 0..250 {
        let first = budget.begin(0);
        budget.settle(0, first, Outcome::Success);
    }
    assert_eq!(drain(&mut budget, 0, Failure::Transient).len(), 25);
}

#[test]
fn grpc_stops_at_half() {
    // 10 tokens: after n failures 10 - n, and retries while that is over 5.
    for (failures, allowed) in [(0, true), (4, true), (5, false), (20, false)] {
        let mut budget = budget(BudgetSettings::GRPC);
        for _ in 0..failures {
            let first = budget.begin(0);
            budget.settle(0, first, Outcome::Failure);
        }
        assert_eq!(budget.allows(0, Failure::Transient), allowed, "{failures}");
    }
    // From nothing, a tenth a success: 50 make 5.0, which is not over half; 51
    // are.
    let mut budget = budget(BudgetSettings::GRPC);
    for _ in 0..30 {
        let first = budget.begin(0);
        budget.settle(0, first, Outcome::Failure);
    }
    for n in 1..=51 {
        let retry = budget.begin(0);
        budget.settle(0, retry, Outcome::Success);
        assert_eq!(budget.allows(0, Failure::Timeout), n > 50, "{n}");
    }
    // Retries count as any other attempt; the top is the start.
    for _ in 0..1_000 {
        let retry = budget.retry(0, Failure::Timeout).unwrap();
        budget.settle(0, retry, Outcome::Success);
    }
    let taken: Vec<Attempt> = (0..5).map(|_| budget.begin(0)).collect();
    failed(&mut budget, taken);
    assert!(!budget.allows(0, Failure::Timeout));
    // An odd maximum: 3 tokens, half is 1.5, so 2 are over it and 1 is not.
    let mut odd = RetryBudget::new(BudgetSettings::Grpc {
        max_tokens: 3,
        token_ratio: 1,
    })
    .unwrap();
    for allowed in [true, false] {
        let first = odd.begin(0);
        odd.settle(0, first, Outcome::Failure);
        assert_eq!(odd.allows(0, Failure::Timeout), allowed);
    }
}

#[test]
fn finagle_is_a_share_and_a_reserve() {
    // deposit 1000, withdrawal 1000 / 0.2 = 5000, reserve 10 * 10 * 5000 =
    // 500,000: 100 retries without any request, and 20 more for 100 requests.
    for (requests, retries) in [(0, 100), (4, 100), (5, 101), (100, 120), (1_000, 300)] {
        let mut budget = budget(BudgetSettings::FINAGLE);
        for _ in 0..requests {
            let _ = budget.begin(0);
        }
        let taken = drain(&mut budget, 0, Failure::Timeout);
        assert_eq!(taken.len(), retries, "{requests}");
        // Outcomes change nothing.
        failed(&mut budget, taken);
        assert!(!budget.allows(0, Failure::Timeout));
    }
}

#[test]
fn finagle_forgets_after_its_time_to_live() {
    let mut budget = budget(BudgetSettings::FINAGLE);
    for _ in 0..100 {
        let _ = budget.begin(0);
    }
    assert_eq!(drain(&mut budget, 5 * S, Failure::Timeout).len(), 120);
    // At 10 s the requests of 0 s leave: 100,000 less, 20 retries in debt.
    // The retries of 5 s leave at 15 s, and the reserve is whole.
    assert!(!budget.allows(10 * S, Failure::Timeout));
    assert!(!budget.allows(15 * S - 1, Failure::Timeout));
    assert_eq!(drain(&mut budget, 15 * S, Failure::Timeout).len(), 100);
    // The clock goes back: nothing comes back with it.
    assert!(!budget.allows(0, Failure::Timeout));
    assert_eq!(drain(&mut budget, i64::MAX, Failure::Timeout).len(), 100);
}

#[test]
fn finagle_takes_back_where_it_was_put() {
    // The reserve is 100 retries. A request that was not made, told late, or
    // when it has left by itself: the window is as if it had not been.
    for told in [0, 5 * S, 10 * S, 15 * S] {
        let mut it = budget(BudgetSettings::FINAGLE);
        let attempt = it.begin(0);
        it.cancel(told, attempt);
        let now = told.max(10 * S);
        assert_eq!(drain(&mut it, now, Failure::Timeout).len(), 100, "{told}");
    }
    // So with a retry that was not made.
    for told in [0, 5 * S, 10 * S, 15 * S] {
        let mut it = budget(BudgetSettings::FINAGLE);
        let attempt = it.retry(0, Failure::Timeout).unwrap();
        it.cancel(told, attempt);
        let now = told.max(10 * S);
        assert_eq!(drain(&mut it, now, Failure::Timeout).len(), 100, "{told}");
    }
}

#[test]
fn finagle_without_a_share_is_a_rate() {
    // Withdrawal 1, no deposit, reserve 3 * 2 = 6.
    let mut budget = budget(BudgetSettings::Finagle {
        ttl: 2 * S_U,
        min_retries_per_sec: 3,
        percent_can_retry: Rate::percent(0),
    });
    let _ = budget.begin(0);
    assert_eq!(drain(&mut budget, 0, Failure::Timeout).len(), 6);
    // Without a reserve, 1000 / 10.0 = 100 a retry: ten a request.
    let mut tenfold = RetryBudget::new(BudgetSettings::Finagle {
        ttl: S_U,
        min_retries_per_sec: 0,
        percent_can_retry: Rate::percent(1_000),
    })
    .unwrap();
    assert!(!tenfold.allows(0, Failure::Timeout));
    let _ = tenfold.begin(0);
    // A request that was not made is no deposit.
    let unmade = tenfold.begin(0);
    tenfold.cancel(0, unmade);
    let mut taken = drain(&mut tenfold, 0, Failure::Timeout);
    assert_eq!(taken.len(), 10);
    // A retry that was not made is no withdrawal.
    tenfold.cancel(0, taken.remove(0));
    assert_eq!(drain(&mut tenfold, 0, Failure::Timeout).len(), 1);
}

#[test]
fn envoy_is_a_share_of_what_is_outstanding() {
    // A retry is allowed while those that are out, r, are fewer than
    // max(3, floor(0.2 * (n + r))). With n = 16 and r = 3: floor(3.8) = 3, no;
    // n = 17: floor(4.0) = 4, yes, and then floor(4.2) = 4, no. n = 100: r = 24
    // is the first with floor(24.8) = r.
    for (outstanding, retries) in [
        (0, 3),
        (10, 3),
        (16, 3),
        (17, 4),
        (20, 4),
        (21, 5),
        (100, 24),
    ] {
        let mut budget = budget(BudgetSettings::ENVOY);
        let firsts: Vec<Attempt> = (0..outstanding).map(|_| budget.begin(0)).collect();
        let taken = drain(&mut budget, 0, Failure::Timeout);
        assert_eq!(taken.len(), retries, "{outstanding}");
        // When they are over, as many are allowed again.
        failed(&mut budget, taken);
        assert_eq!(drain(&mut budget, 0, Failure::Timeout).len(), retries);
        drop(firsts);
    }
    let mut budget = budget(BudgetSettings::ENVOY);
    let first = budget.begin(0);
    budget.cancel(0, first);
    let mut other = RetryBudget::new(BudgetSettings::ENVOY).unwrap();
    // An attempt of another budget: at worst a wrong count.
    let foreign = other.retry(0, Failure::Timeout).unwrap();
    budget.settle(0, foreign, Outcome::Success);
    assert_eq!(drain(&mut budget, 0, Failure::Timeout).len(), 3);
}

// Limits.

#[test]
fn envoys_limits_are_counts() {
    let mut limits = Limits::new(LimitSettings::default()).unwrap();
    for (resource, max) in [
        (Resource::Connection, 1_024),
        (Resource::Pending, 1_024),
        (Resource::Request, 1_024),
        (Resource::Retry, 3),
    ] {
        let held: Vec<Held> = (0..max).map(|_| limits.take(resource).unwrap()).collect();
        let reached = limits.take(resource).unwrap_err();
        assert_eq!((reached.resource, reached.limit), (resource, max));
        assert_eq!(
            (limits.used(resource), limits.remaining(resource)),
            (max, 0)
        );
        assert_eq!(limits.refused(resource), 1);
        for one in held {
            limits.give(one);
        }
        assert_eq!(
            (limits.used(resource), limits.remaining(resource)),
            (0, max)
        );
    }
}

#[test]
fn a_pending_request_becomes_an_active_one() {
    let mut limits = Limits::new(LimitSettings {
        max_pending_requests: 2,
        max_requests: 1,
        max_retries: 0,
        ..LimitSettings::default()
    })
    .unwrap();
    let [a, b] = [0; 2].map(|_| limits.take(Resource::Pending).unwrap());
    let a = limits.start(a).unwrap();
    assert_eq!(a.resource(), Resource::Request);
    assert_eq!(limits.start(b).unwrap_err().resource, Resource::Request);
    assert_eq!(
        (
            limits.used(Resource::Pending),
            limits.used(Resource::Request)
        ),
        (0, 1)
    );
    assert!(limits.take(Resource::Retry).is_err());
}

// Bulkhead.

fn bulkhead(max_concurrent: u32, max_waiting: u32, max_wait: Option<u64>) -> Bulkhead {
    Bulkhead::new(BulkheadSettings {
        max_concurrent,
        max_waiting,
        max_wait,
    })
    .unwrap()
}

fn admitted(entry: Result<Entry, BulkheadFull>) -> Place {
    match entry {
        Ok(Entry::Admitted(place)) => place,
        other => panic!("{other:?}"),
    }
}

fn waits(entry: Result<Entry, BulkheadFull>) -> Ticket {
    match entry {
        Ok(Entry::Waiting(ticket)) => ticket,
        other => panic!("{other:?}"),
    }
}

#[test]
fn so_many_at_once_and_so_many_wait() {
    let mut it = bulkhead(2, 1, None);
    let a = admitted(it.acquire(0));
    let _b = admitted(it.acquire(0));
    let c = waits(it.acquire(0));
    assert_eq!(it.acquire(0), Err(BulkheadFull));
    assert_eq!(it.try_acquire(0), Err(BulkheadFull));
    assert_eq!((it.active(), it.waiting(), it.refused()), (2, 1, 2));
    assert_eq!(it.next_deadline(), None);
    let Claim::Waiting(c) = it.claim(0, c) else {
        panic!()
    };
    // The place is given to the one that waits, and nobody is let past it.
    assert_eq!(it.release(0, a), Some(c.id()));
    assert_eq!(it.try_acquire(0), Err(BulkheadFull));
    assert!(matches!(it.claim(i64::MAX, c), Claim::Admitted(_)));
    assert_eq!((it.active(), it.waiting()), (2, 0));
}

#[test]
fn the_wait_is_over_at_its_end() {
    // Waits since 0 and 10, for 100; the place is free at 99, 100 or 110.
    for (free, first, second) in [
        (99, true, false),
        (100, false, true),
        (109, false, true),
        (110, false, false),
    ] {
        let mut it = bulkhead(1, 2, Some(100));
        let place = admitted(it.acquire(0));
        let a = waits(it.acquire(0));
        let b = waits(it.acquire(10));
        assert_eq!(it.next_deadline(), Some(100));
        let wanted = [(first, a.id()), (second, b.id())];
        let wanted = wanted.iter().find(|it| it.0).map(|it| it.1);
        assert_eq!(it.release(free, place), wanted);
        // However late they ask.
        for (ticket, granted) in [(a, first), (b, second)] {
            match it.claim(500, ticket) {
                Claim::Admitted(place) => {
                    assert!(granted, "{free}");
                    it.release(500, place);
                }
                Claim::TimedOut => assert!(!granted, "{free}"),
                Claim::Waiting(_) => panic!(),
            }
        }
        assert_eq!((it.active(), it.waiting()), (0, 0), "{free}");
        assert_eq!(it.timed_out(), if wanted.is_some() { 1 } else { 2 });
    }
}

#[test]
fn one_that_leaves_passes_its_place_on() {
    let mut it = bulkhead(1, 3, None);
    let place = admitted(it.acquire(0));
    let [a, b, c] = [0; 3].map(|_| waits(it.acquire(0)));
    assert_eq!(it.leave(0, b), None);
    it.release(0, place);
    assert_eq!(it.leave(0, a), Some(c.id()));
    let Claim::Admitted(place) = it.claim(0, c) else {
        panic!()
    };
    assert_eq!(it.release(0, place), None);
    assert_eq!((it.active(), it.waiting()), (0, 0));
    // A place of another bulkhead: at worst a wrong count.
    let mut other = bulkhead(1, 0, None);
    let foreign = other.try_acquire(0).unwrap();
    assert_eq!(it.release(0, foreign), None);
    assert_eq!(it.active(), 0);
}

// Load shedder.

fn shedder(max_queue: u32) -> Shedder {
    Shedder::new(ShedderSettings {
        max_queue,
        ..ShedderSettings::default()
    })
    .unwrap()
}

const ALL: [Priority; 4] = [
    Priority::CriticalPlus,
    Priority::Critical,
    Priority::SheddablePlus,
    Priority::Sheddable,
];

#[test]
fn a_full_queue_sheds_the_least_important() {
    let mut queue = shedder(4);
    let ids: Vec<QueueId> = ALL
        .iter()
        .rev()
        .map(|&it| queue.offer(0, it).unwrap().id)
        .collect();
    assert_eq!((queue.len(), queue.is_empty()), (4, false));
    // No less important one to drop.
    assert_eq!(queue.offer(0, Priority::Sheddable), Err(QueueFull));
    // Sheddable goes first, then SheddablePlus, then Critical.
    for &id in &ids[..3] {
        let offered = queue.offer(1, Priority::CriticalPlus).unwrap();
        assert_eq!(offered.shed, Some(id));
        assert!(!queue.cancel(id));
    }
    assert_eq!(queue.offer(1, Priority::CriticalPlus), Err(QueueFull));
    assert_eq!((queue.refused(), queue.shed_for_others()), (2, 3));
    assert!(queue.cancel(ids[3]));
    assert_eq!(queue.len(), 3);
}

#[test]
fn the_important_are_served_first_and_equals_in_order() {
    let mut queue = shedder(10);
    let mut ids = Vec::new();
    for priority in [3, 1, 0, 1, 2] {
        ids.push(queue.offer(0, ALL[priority]).unwrap().id);
    }
    for nth in [2, 1, 3, 4, 0] {
        assert_eq!(queue.take(0), Next::Serve(ids[nth]));
    }
    assert_eq!(queue.take(0), Next::Empty);
}

#[test]
fn a_standing_queue_sheds_what_is_older_than_twice_the_target() {
    let mut queue = shedder(1_000);
    for ms in 0..200 {
        let _ = queue.offer(ms * MS, Priority::Critical).unwrap();
    }
    // The first interval begins with the first wait seen, at 200 ms, and is
    // over when it is more than 100 ms later: until then everything is served,
    // however old.
    for ms in [200, 250, 300] {
        assert!(matches!(queue.take(ms * MS), Next::Serve(_)), "{ms}");
    }
    assert!(!queue.is_overloaded());
    // The shortest wait was 200 ms, above 5 ms: overloaded. The first of an
    // interval is served all the same.
    assert!(matches!(queue.take(300 * MS + 1), Next::Serve(_)));
    assert!(queue.is_overloaded());
    let late = queue.offer(301 * MS, Priority::Critical).unwrap().id;
    // Now those go that have waited more than 10 ms, all 196 of them.
    for _ in 4..200 {
        assert!(matches!(queue.take(311 * MS), Next::Shed(_)));
    }
    // This one has waited 10 ms, which is not more.
    assert_eq!(queue.take(311 * MS), Next::Serve(late));
    assert_eq!(queue.shed_by_age(), 196);
    // With nothing waiting the shortest wait is none: the next interval is
    // good.
    assert_eq!(queue.take(320 * MS), Next::Empty);
    assert_eq!(queue.take(401 * MS), Next::Empty);
    assert!(!queue.is_overloaded());
}

#[test]
fn a_wait_at_the_target_is_healthy() {
    for (wait, overloaded) in [(5 * MS, false), (5 * MS + 1, true)] {
        let mut queue = shedder(10);
        for ms in [0, 60, 120] {
            let _ = queue.offer(ms * MS, Priority::Critical).unwrap();
            let _ = queue.take(ms * MS + wait);
        }
        assert_eq!(queue.is_overloaded(), overloaded, "{wait}");
    }
}

#[test]
fn by_age_too_the_least_important_go_first() {
    let mut queue = shedder(10);
    let mut ids = Vec::new();
    for priority in [3, 0, 2, 1, 3] {
        ids.push(queue.offer(0, ALL[priority]).unwrap().id);
    }
    let mut first = |at: i64, nth: usize| {
        assert_eq!(queue.take(at * MS), Next::Serve(ids[nth]), "{at}");
    };
    first(50, 1);
    first(151, 3);
    assert!(queue.is_overloaded());
    for nth in [0, 4, 2] {
        assert_eq!(queue.take(151 * MS), Next::Shed(ids[nth]));
    }
    // A clock that goes back: nobody is younger for it.
    let _ = queue.offer(0, Priority::Critical).unwrap();
    assert!(matches!(queue.take(i64::MIN), Next::Serve(_)));
}

// Adaptive throttle.

fn throttle(settings: ThrottleSettings) -> Throttle {
    Throttle::new(settings).unwrap()
}

/// Brings a throttle's window to these counts, at time 0.
fn with_counts(k: u32, requests: u32, accepts: u32) -> Throttle {
    let mut it = throttle(ThrottleSettings {
        k,
        max_reject: Rate::ONE,
        ..ThrottleSettings::default()
    });
    let mut accepted = 0;
    for _ in 0..requests {
        if let Ok(permit) = it.acquire(0) {
            let outcome = if accepted < accepts {
                Outcome::Success
            } else {
                Outcome::Failure
            };
            it.settle(0, permit, outcome);
            accepted += u32::from(outcome == Outcome::Success);
        }
    }
    assert_eq!(it.counts(0), (u64::from(requests), u64::from(accepts)));
    it
}

#[test]
fn the_probability_is_googles() {
    // max(0, (requests - K * accepts) / (requests + 1)), in parts per million.
    // The fraction has 32 bits, so that the last digit is rounded down.
    for (k, requests, accepts, ppm) in [
        (2_000, 0, 0, 0),
        (2_000, 100, 100, 0),
        // (100 - 2*50) / 101 = 0
        (2_000, 100, 50, 0),
        // (100 - 2*49) / 101 = 2/101 = 0.0198019
        (2_000, 100, 49, 19_801),
        // (99 - 2*12) / 100 = 0.75
        (2_000, 99, 12, 750_000),
        // (999 - 0) / 1000
        (2_000, 999, 0, 998_999),
        // (99 - 1.1*80) / 100 = 0.11
        (1_100, 99, 80, 109_999),
        (1_100, 99, 90, 0),
        // (100 - 1*99) / 101 = 0.0099009
        (1_000, 100, 99, 9_900),
    ] {
        let mut it = with_counts(k, requests, accepts);
        assert_eq!(it.reject_ppm(0), ppm, "{k} {requests} {accepts}");
    }
}

#[test]
fn rejected_calls_count_as_requests() {
    let mut it = throttle(ThrottleSettings::default());
    for _ in 0..1_000 {
        if let Ok(permit) = it.acquire(0) {
            it.settle(0, permit, Outcome::Failure);
        }
    }
    assert_eq!(it.counts(0), (1_000, 0));
    // With nothing accepted the n-th call is rejected with (n-1)/n: what is let
    // through is the sum of 1/n, which for 1000 is 7.485.
    let admitted = 1_000 - it.rejected();
    assert!((7..=8).contains(&admitted), "{admitted}");
}

#[test]
fn the_window_is_two_minutes_in_seconds() {
    let mut it = with_counts(2_000, 99, 12);
    assert_eq!(it.reject_ppm(120 * S - 1), 750_000);
    assert_eq!(it.reject_ppm(120 * S), 0);
    // A clock that goes back does not bring them back.
    assert_eq!(it.reject_ppm(0), 0);
    assert_eq!(it.counts(i64::MAX), (0, 0));
}

#[test]
fn the_most_that_is_rejected_and_calls_not_made() {
    // 80 % of the last calls, and a little less of the first five. By chance,
    // 8000 of 10,000 with a deviation of 40.
    for (draw, least, most) in [
        (Draw::Credit, 7_990, 8_000),
        (Draw::Seeded(7), 7_840, 8_160),
    ] {
        let mut it = throttle(ThrottleSettings {
            max_reject: Rate::percent(80),
            draw,
            ..ThrottleSettings::default()
        });
        for _ in 0..10_000 {
            if let Ok(permit) = it.acquire(0) {
                it.settle(0, permit, Outcome::Failure);
            }
        }
        let rejected = it.rejected();
        assert!((least..=most).contains(&rejected), "{draw:?} {rejected}");
    }
    // A call that is not made is no request, whenever that is told.
    for told in [0, 60 * S, 119 * S, 120 * S, 500 * S] {
        let mut it = throttle(ThrottleSettings::default());
        let permit = it.acquire(0).unwrap();
        it.settle(told, permit, Outcome::Ignored);
        assert_eq!(it.counts(told), (0, 0));
        let now = told.max(120 * S);
        let _ = it.acquire(now);
        assert_eq!(it.counts(now), (1, 0), "{told}");
    }
}

#[test]
fn chance_and_credit_reject_the_same_share() {
    // (requests - 2*accepts) / (requests + 1) with one in four accepted: the
    // callee takes on a quarter of all, so half are rejected in the long run.
    let run = |draw| {
        let mut it = throttle(ThrottleSettings {
            draw,
            ..ThrottleSettings::default()
        });
        for n in 0..40_000 {
            if let Ok(permit) = it.acquire(0) {
                // Half of what comes through, as long as that is a quarter.
                let (requests, accepts) = it.counts(0);
                let outcome = if accepts * 4 < requests {
                    Outcome::Success
                } else {
                    Outcome::Failure
                };
                it.settle(n, permit, outcome);
            }
        }
        it.rejected()
    };
    for draw in [Draw::Credit, Draw::Seeded(7)] {
        let rejected = run(draw);
        assert!((19_600..=20_400).contains(&rejected), "{draw:?} {rejected}");
        assert_eq!(rejected, run(draw));
    }
}

// Outlier ejection.

fn outliers(settings: OutlierSettings, hosts: u32) -> OutlierDetector {
    let mut it = OutlierDetector::new(settings, hosts).unwrap();
    it.advance(0);
    it
}

/// `failures` of `calls` fail, never two in a row if that can be.
fn results(it: &mut OutlierDetector, now: i64, host: u32, calls: u32, failures: u32) {
    for nth in 0..calls {
        let failed = (nth + 1) * failures / calls > nth * failures / calls;
        let outcome = if failed {
            Outcome::Failure
        } else {
            Outcome::Success
        };
        assert_eq!(it.settle(now, host, outcome), None);
    }
}

fn all_may_be_ejected() -> OutlierSettings {
    OutlierSettings {
        consecutive: None,
        max_ejected: Rate::ONE,
        ..OutlierSettings::default()
    }
}

#[test]
fn five_failures_in_a_row_eject() {
    let mut it = outliers(OutlierSettings::default(), 10);
    for outcome in [Outcome::Failure; 4] {
        assert_eq!(it.settle(S, 0, outcome), None);
    }
    assert_eq!(it.settle(S, 0, Outcome::Ignored), None);
    let ejection = it.settle(S, 0, Outcome::Failure).unwrap();
    assert_eq!((ejection.at, ejection.until), (S, 31 * S));
    assert_eq!(ejection.cause, EjectionCause::Consecutive);
    assert_eq!((it.ejected(), it.ejection(0)), (1, Some(ejection)));
    // A success begins the row anew.
    let row = [Outcome::Failure; 4].into_iter().chain([Outcome::Success]);
    for outcome in row.cycle().take(50) {
        assert_eq!(it.settle(S, 1, outcome), None);
    }
    assert!(it.is_ejected(0, 99));
    assert_eq!(it.settle(S, 99, Outcome::Failure), None);
}

#[test]
fn no_more_than_the_share_is_ejected() {
    // One more than are out, of the hosts: 1/10 = 10 %, 2/10 = 20 %; 1/9 and
    // 2/19 are more than 10 %, 2/20 is not.
    for (hosts, always, wanted) in [
        (10, false, 1),
        (9, false, 0),
        (9, true, 1),
        (19, false, 1),
        (20, false, 2),
        (1, true, 1),
    ] {
        let mut it = outliers(
            OutlierSettings {
                always_eject_one: always,
                ..OutlierSettings::default()
            },
            hosts,
        );
        for host in 0..hosts {
            for _ in 0..5 {
                it.settle(S, host, Outcome::Failure);
            }
        }
        assert_eq!(it.ejected(), wanted, "{hosts} {always}");
        assert_eq!(it.refused(), u64::from(hosts - wanted));
    }
}

#[test]
fn the_success_rate_is_compared_with_the_others() {
    // Envoy's own example: success rates 50, 100, 100, 100, 100 have mean 90,
    // variance (40^2 + 4 * 10^2) / 5 = 400, deviation 20; 90 - 1.9 * 20 = 52,
    // and 50 is below it. With a factor of 2 the threshold is 50, and 50 is
    // not below it. At 0, 100 x 4: mean 80, deviation 40, 80 - 76 = 4.
    for (factor, failures, out) in [
        (1_900, 50, true),
        (2_000, 50, false),
        (1_999, 50, true),
        (1_900, 100, true),
    ] {
        let mut it = outliers(
            OutlierSettings {
                success_rate: Some(SuccessRate {
                    stdev_factor: factor,
                    minimum_hosts: 5,
                    request_volume: 100,
                }),
                ..all_may_be_ejected()
            },
            5,
        );
        results(&mut it, S, 0, 100, failures);
        for host in 1..5 {
            results(&mut it, S, host, 100, 0);
        }
        assert!(!it.is_ejected(10 * S - 1, 0));
        assert_eq!(it.is_ejected(10 * S, 0), out, "{factor} {failures}");
        assert_eq!(it.ejected(), u32::from(out));
        if out {
            let ejection = it.ejection(0).unwrap();
            assert_eq!((ejection.at, ejection.until), (10 * S, 40 * S));
            assert_eq!(ejection.cause, EjectionCause::SuccessRate);
        }
    }
}

#[test]
fn hosts_that_are_alike_are_not_outliers() {
    // Deviation 0: the threshold is the mean, and nobody is below it.
    let mut it = outliers(all_may_be_ejected(), 5);
    for host in 0..5 {
        results(&mut it, S, host, 100, 90);
    }
    it.advance(10 * S);
    assert_eq!(it.ejected(), 0);
    // Four hosts with enough requests are too few, and 99 are too few of them.
    for (hosts, calls, out) in [(5, 100, 1), (4, 100, 0), (5, 99, 0)] {
        let mut it = outliers(all_may_be_ejected(), hosts);
        results(&mut it, S, 0, 100, 50);
        for host in 1..hosts {
            results(&mut it, S, host, calls, 0);
        }
        it.advance(10 * S);
        assert_eq!(it.ejected(), out, "{hosts} {calls}");
    }
    // The counts are an interval's: what was in the last one is gone.
    let mut it = outliers(all_may_be_ejected(), 5);
    results(&mut it, S, 0, 60, 60);
    it.advance(10 * S);
    for host in 0..5 {
        results(&mut it, 11 * S, host, 60, 0);
    }
    it.advance(20 * S);
    assert_eq!(it.ejected(), 0);
}

#[test]
fn the_failure_percentage_has_a_threshold() {
    // 85 of 100 is 85 %; 42 of 50 is 84 %, 43 of 50 is 86 %; 49 are too few.
    for (calls, failures, out) in [
        (100, 85, true),
        (100, 84, false),
        (50, 42, false),
        (50, 43, true),
        (49, 49, false),
    ] {
        let mut it = outliers(
            OutlierSettings {
                success_rate: None,
                failure_percentage: Some(FailurePercentage {
                    threshold: Rate::percent(85),
                    minimum_hosts: 5,
                    request_volume: 50,
                }),
                ..all_may_be_ejected()
            },
            6,
        );
        results(&mut it, S, 0, calls, failures);
        for host in 1..6 {
            results(&mut it, S, host, 50, 25);
        }
        it.advance(10 * S);
        assert_eq!(it.ejection(0).is_some(), out, "{calls} {failures}");
        assert_eq!(it.ejected(), u32::from(out));
        if out {
            assert_eq!(
                it.ejection(0).unwrap().cause,
                EjectionCause::FailurePercentage
            );
        }
    }
}

/// Five failures in a row of host 0, at `now`.
fn strike(it: &mut OutlierDetector, now: i64) -> Option<Ejection> {
    (0..5).find_map(|_| it.settle(now, 0, Outcome::Failure))
}

#[test]
fn each_ejection_is_longer_up_to_the_longest() {
    // 30 s * n, at most 300 s. Ejected again in the second it is back, so no
    // interval is good.
    let mut it = outliers(OutlierSettings::default(), 10);
    let mut now = S;
    for n in 1..=14 {
        let ejection = strike(&mut it, now).unwrap();
        assert_eq!(ejection.until - ejection.at, 30 * S * n.min(10), "{n}");
        // Back at the next multiple of 10 s.
        let back = (ejection.until + 10 * S - 1) / (10 * S) * (10 * S);
        assert!(it.is_ejected(back - 1, 0) && !it.is_ejected(back, 0), "{n}");
        now = back + S;
    }
    assert_eq!(it.ejections(), 14);
    // The count has stopped at 11, the first that is over the longest. It came
    // back a second before `now`; three good intervals leave 8, and the next is
    // the ninth.
    let ejection = strike(&mut it, now + 30 * S).unwrap();
    assert_eq!(ejection.until - ejection.at, 9 * 30 * S);
}

#[test]
fn each_good_interval_makes_the_next_ejection_shorter() {
    // Ejected three times: the fourth would be 120 s. Back at `back`; each
    // full interval after that takes 30 s off, down to 30 s.
    for (intervals, lasts) in [(0, 120), (1, 90), (2, 60), (3, 30), (9, 30), (1 << 40, 30)] {
        for at_once in [false, true] {
            if !at_once && intervals > 9 {
                continue;
            }
            let mut it = outliers(OutlierSettings::default(), 10);
            let mut now = S;
            for n in 1..=3 {
                strike(&mut it, now).unwrap();
                now += 30 * S * n + 10 * S;
            }
            // At 1, 41, 111: until 31, 101, 201; back at 40, 110, 210.
            assert!(it.is_ejected(210 * S - 1, 0) && !it.is_ejected(210 * S, 0));
            // An interval at a time, or all of them slept through.
            if !at_once {
                for n in 0..intervals {
                    it.advance((210 + 10 * n) * S);
                }
            }
            let ejection = strike(&mut it, 210 * S + S * (10 * intervals).min(1 << 33)).unwrap();
            assert_eq!(
                ejection.until - ejection.at,
                lasts * S,
                "{intervals} {at_once}"
            );
        }
    }
}

#[test]
fn ejections_are_spread_by_the_jitter() {
    let mut lengths = Vec::new();
    for seed in 0..200 {
        let mut it = outliers(
            OutlierSettings {
                jitter: 10 * S_U,
                seed,
                ..OutlierSettings::default()
            },
            10,
        );
        let ejection = strike(&mut it, 0).unwrap();
        lengths.push(ejection.until - ejection.at);
    }
    let (least, most) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
    assert!((30 * S..31 * S).contains(least) && (39 * S..=40 * S).contains(most));
}

#[test]
fn the_ends_of_time_are_survived() {
    let mut it = OutlierDetector::new(OutlierSettings::default(), 10).unwrap();
    it.advance(i64::MIN);
    strike(&mut it, i64::MIN).unwrap();
    it.advance(i64::MAX);
    assert_eq!(it.ejected(), 0);
    strike(&mut it, 0).unwrap();
    assert!(it.is_ejected(i64::MAX, 0));
    assert_eq!(it.next_deadline(), None);
}

// Rate limiter.

fn limiter(calls: u32, per: u64, burst: u32) -> RateLimiter {
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
    for n in 1..1_000_000 {
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

// Stack.

fn stack(settings: StackSettings) -> Stack {
    Stack::new(settings).unwrap()
}

fn call() -> Call {
    Call::new(Request::Idempotent, Deadline::NEVER)
}

fn two_failures_trip() -> Config {
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

// Settings.

#[test]
fn a_mistake_is_named() {
    fn named<T: std::fmt::Debug>(result: Result<T, ConfigError>) -> String {
        result.unwrap_err().to_string()
    }
    let year = 365 * 24 * 3600 * S_U;
    let day = "1ns to 365 days (31536000s)";
    let t = TimeoutSettings::default();
    let r = RetrySettings::default();
    let b = BulkheadSettings::default();
    let s = ShedderSettings::default();
    let h = ThrottleSettings::default();
    let o = OutlierSettings::default();
    let l = LimitSettings::default();
    let rate = RateSettings {
        calls: 1,
        per: 1,
        burst: 1,
    };
    let aws = |capacity, retry_cost, timeout_cost, refund| {
        named(RetryBudget::new(BudgetSettings::Aws {
            capacity,
            retry_cost,
            timeout_cost,
            refund,
        }))
    };
    let grpc = |max_tokens, token_ratio| {
        named(RetryBudget::new(BudgetSettings::Grpc {
            max_tokens,
            token_ratio,
        }))
    };
    let finagle = |ttl, min_retries_per_sec, percent_can_retry| {
        named(RetryBudget::new(BudgetSettings::Finagle {
            ttl,
            min_retries_per_sec,
            percent_can_retry,
        }))
    };
    let envoy = |budget_percent, min_retry_concurrency| {
        named(RetryBudget::new(BudgetSettings::Envoy {
            budget_percent,
            min_retry_concurrency,
        }))
    };
    let cases = [
        (
            named(Timeout::new(TimeoutSettings {
                connect: Some(0),
                ..t
            })),
            "connect",
            "0s",
            day,
        ),
        (
            named(Timeout::new(TimeoutSettings {
                read: Some(year + 1),
                ..t
            })),
            "read",
            "31536000000000001ns",
            day,
        ),
        (
            named(Retry::new(RetrySettings { attempts: 0, ..r })),
            "attempts",
            "0",
            "1 to 100",
        ),
        (
            named(Retry::new(RetrySettings { attempts: 101, ..r })),
            "attempts",
            "101",
            "1 to 100",
        ),
        (
            named(Retry::new(RetrySettings { base: 0, ..r })),
            "base",
            "0s",
            day,
        ),
        (
            named(Retry::new(RetrySettings { cap: 1, ..r })),
            "cap",
            "1ns",
            "at least the value of base",
        ),
        (aws(0, 1, 1, 1), "capacity", "0", "1 to 1000000000"),
        (aws(5, 6, 1, 1), "retry_cost", "6", "1 to 5"),
        (aws(5, 5, 0, 1), "timeout_cost", "0", "1 to 5"),
        (aws(5, 5, 5, 6), "refund", "6", "0 to 5"),
        (grpc(1_001, 1), "max_tokens", "1001", "1 to 1000"),
        (grpc(1, 0), "token_ratio", "0", "1 to 1000000"),
        (
            finagle(S_U - 1, 1, Rate::ONE),
            "ttl",
            "999999999ns",
            "1s to 60s",
        ),
        (finagle(61 * S_U, 1, Rate::ONE), "ttl", "61s", "1s to 60s"),
        (
            finagle(S_U, 1_000_001, Rate::ONE),
            "min_retries_per_sec",
            "1000001",
            "0 to 1000000",
        ),
        (
            finagle(S_U, 0, Rate::percent(1_001)),
            "percent_can_retry",
            "1001%",
            "0% to 1000%",
        ),
        (
            finagle(S_U, 0, Rate::percent(0)),
            "percent_can_retry",
            "0%",
            "more than 0% while min_retries_per_sec is 0",
        ),
        (
            envoy(Rate::percent(0), 3),
            "budget_percent",
            "0%",
            "0.0001% to 100%",
        ),
        (
            envoy(Rate::ONE, u32::MAX),
            "min_retry_concurrency",
            "4294967295",
            "0 to 1000000000",
        ),
        (
            named(Bulkhead::new(BulkheadSettings {
                max_concurrent: 0,
                ..b
            })),
            "max_concurrent",
            "0",
            "1 to 1000000",
        ),
        (
            named(Bulkhead::new(BulkheadSettings {
                max_waiting: 1_000_001,
                ..b
            })),
            "max_waiting",
            "1000001",
            "0 to 1000000",
        ),
        (
            named(Bulkhead::new(BulkheadSettings {
                max_wait: Some(0),
                ..b
            })),
            "max_wait",
            "0s",
            day,
        ),
        (
            named(Limits::new(LimitSettings {
                max_connections: 0,
                ..l
            })),
            "max_connections",
            "0",
            "1 to 1000000000",
        ),
        (
            named(Limits::new(LimitSettings {
                max_retries: u32::MAX,
                ..l
            })),
            "max_retries",
            "4294967295",
            "0 to 1000000000",
        ),
        (
            named(Shedder::new(ShedderSettings { max_queue: 0, ..s })),
            "max_queue",
            "0",
            "1 to 1000000",
        ),
        (
            named(Shedder::new(ShedderSettings {
                target: 100 * MS_U,
                ..s
            })),
            "target",
            "100ms",
            "less than the value of interval",
        ),
        (
            named(Throttle::new(ThrottleSettings {
                bucket: 7 * S_U,
                ..h
            })),
            "window",
            "120s/7s",
            "a length of 1 to 3600 whole buckets",
        ),
        (
            named(Throttle::new(ThrottleSettings {
                window: 3_601 * S_U,
                ..h
            })),
            "window",
            "3601s/1s",
            "a length of 1 to 3600 whole buckets",
        ),
        (
            named(Throttle::new(ThrottleSettings { k: 999, ..h })),
            "k",
            "0.999x",
            "1x to 1000x",
        ),
        (
            named(Throttle::new(ThrottleSettings {
                max_reject: Rate::percent(101),
                ..h
            })),
            "max_reject",
            "101%",
            "0.0001% to 100%",
        ),
        (
            named(OutlierDetector::new(o, 0)),
            "hosts",
            "0",
            "1 to 10000",
        ),
        (
            named(OutlierDetector::new(
                OutlierSettings {
                    consecutive: Some(0),
                    ..o
                },
                1,
            )),
            "consecutive",
            "0",
            "1 to 1000000000",
        ),
        (
            named(OutlierDetector::new(
                OutlierSettings {
                    max_ejection: 1,
                    ..o
                },
                1,
            )),
            "max_ejection",
            "1ns",
            "at least the value of base_ejection",
        ),
        (
            named(OutlierDetector::new(
                OutlierSettings {
                    jitter: year + 1,
                    ..o
                },
                1,
            )),
            "jitter",
            "31536000000000001ns",
            "0s to 365 days (31536000s)",
        ),
        (
            named(OutlierDetector::new(
                OutlierSettings {
                    consecutive: None,
                    success_rate: None,
                    ..o
                },
                1,
            )),
            "consecutive",
            "off",
            "on, or success_rate or failure_percentage on: one must be able to eject",
        ),
        (
            named(RateLimiter::new(RateSettings { calls: 0, ..rate })),
            "calls",
            "0",
            "1 to 1000000000",
        ),
        (
            named(RateLimiter::new(RateSettings { per: 0, ..rate })),
            "per",
            "0s",
            day,
        ),
        (
            named(RateLimiter::new(RateSettings { burst: 0, ..rate })),
            "burst",
            "0",
            "1 to 1000000000",
        ),
        (
            named(Stack::new(StackSettings {
                max_concurrent: Some(0),
                ..StackSettings::default()
            })),
            "max_concurrent",
            "0",
            "1 to 1000000",
        ),
        (
            named(Stack::new(StackSettings {
                budget: Some(BudgetSettings::AWS),
                ..StackSettings::default()
            })),
            "budget",
            "on",
            "off while retry is off",
        ),
    ];
    for (got, key, value, allowed) in cases {
        assert_eq!(
            got,
            format!("{key} cannot be `{value}`: allowed is {allowed}")
        );
    }
}

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
    let info = allocation_counter::measure(|| {
        for n in 0..10_000i64 {
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
