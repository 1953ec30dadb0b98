//! Retries.

use super::*;

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
