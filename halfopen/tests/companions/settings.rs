//! Settings that are refused: field, value, and what is allowed.

use super::*;

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
