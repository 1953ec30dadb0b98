//! Retry budgets.

use super::*;

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

#[test]
fn envoy_counts_what_is_outstanding_and_retries_by_themselves() {
    // 20 calls are out, and 4 retries: floor(0.2 * 24) = 4 is reached.
    let mut budget = budget(BudgetSettings::ENVOY);
    let mut firsts: Vec<Attempt> = (0..20).map(|_| budget.begin(0)).collect();
    let mut retries = drain(&mut budget, 0, Failure::Timeout);
    assert_eq!(retries.len(), 4);
    // Ten calls are over, none of them a retry: 4 of max(3, floor(0.2 * 14)).
    failed(&mut budget, firsts.split_off(10));
    // Then 3 of max(3, floor(0.2 * 13)), and 2.
    for allowed in [false, false, true] {
        assert_eq!(budget.allows(0, Failure::Timeout), allowed);
        failed(&mut budget, retries.pop().into_iter().collect());
    }
}
