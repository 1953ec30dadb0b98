//! Outlier ejection.

use super::*;

pub(crate) fn outliers(settings: OutlierSettings, hosts: u32) -> OutlierDetector {
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
