//! The adaptive throttle.

use super::*;

pub(crate) fn throttle(settings: ThrottleSettings) -> Throttle {
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
