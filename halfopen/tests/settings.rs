//! The settings text: every key, every mistake, one canonical printing.

use halfopen::{
    Config, ConfigErrorKind, Jitter, Judge, MAX_DURATION, Ramp, Rate, Settings, Slow, Window,
};
use proptest::collection::vec;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

#[test]
fn every_key_is_read() {
    let default = Settings::default;
    let steps = |shares: &[u32], hold| Ramp::Steps {
        shares: shares.iter().map(|&it| Rate::ppm(it)).collect(),
        hold,
    };
    let time = |length, bucket| Window::Time { length, bucket };
    let table: &[(&str, Settings)] = &[
        ("", default()),
        (" , ,, ", default()),
        (
            "window=200",
            Settings {
                window: Window::Calls(200),
                ..default()
            },
        ),
        (
            "window=10s/1s",
            Settings {
                window: time(10 * S, S),
                ..default()
            },
        ),
        (
            "window=10s",
            Settings {
                window: time(10 * S, S),
                ..default()
            },
        ),
        (
            "window=1m/500ms",
            Settings {
                window: time(60 * S, 500 * MS),
                ..default()
            },
        ),
        (
            "min=20",
            Settings {
                min: 20,
                ..default()
            },
        ),
        (
            "fail=33.3%",
            Settings {
                fail: Some(Rate::ppm(333_000)),
                ..default()
            },
        ),
        (
            "fail=0.0001%",
            Settings {
                fail: Some(Rate::ppm(1)),
                ..default()
            },
        ),
        (
            "fail=off judge=first-failure",
            Settings {
                fail: None,
                judge: Judge::FirstFailure,
                ..default()
            },
        ),
        (
            "slow=50%@2s",
            Settings {
                slow: Some(Slow {
                    rate: Rate::percent(50),
                    over: 2 * S,
                }),
                ..default()
            },
        ),
        (
            "slow=off",
            Settings {
                slow: None,
                ..default()
            },
        ),
        (
            "consecutive=5",
            Settings {
                consecutive: Some(5),
                ..default()
            },
        ),
        ("consecutive=off", default()),
        (
            "timeout=500ms",
            Settings {
                timeout: Some(500 * MS),
                ..default()
            },
        ),
        ("timeout=off", default()),
        (
            "open=1.5s",
            Settings {
                open: 1_500 * MS,
                ..default()
            },
        ),
        (
            "open=1h",
            Settings {
                open: 3_600 * S,
                ..default()
            },
        ),
        (
            "open=7us",
            Settings {
                open: 7_000,
                ..default()
            },
        ),
        (
            "open=0.000000001s",
            Settings {
                open: 1,
                ..default()
            },
        ),
        (
            "backoff=2x",
            Settings {
                backoff: 2_000,
                ..default()
            },
        ),
        (
            "backoff=1.125x",
            Settings {
                backoff: 1_125,
                ..default()
            },
        ),
        (
            "max-open=5m",
            Settings {
                max_open: Some(300 * S),
                ..default()
            },
        ),
        ("max-open=off", default()),
        ("jitter=none", default()),
        (
            "jitter=equal",
            Settings {
                jitter: Jitter::Equal,
                ..default()
            },
        ),
        (
            "jitter=full",
            Settings {
                jitter: Jitter::Full,
                ..default()
            },
        ),
        (
            "seed=18446744073709551615",
            Settings {
                seed: u64::MAX,
                ..default()
            },
        ),
        (
            "probes=3",
            Settings {
                probes: 3,
                ..default()
            },
        ),
        ("judge=rate", default()),
        (
            "judge=first-failure",
            Settings {
                judge: Judge::FirstFailure,
                ..default()
            },
        ),
        (
            "lease=5s",
            Settings {
                lease: Some(5 * S),
                ..default()
            },
        ),
        (
            "lease=off",
            Settings {
                lease: None,
                ..default()
            },
        ),
        (
            "auto=yes",
            Settings {
                auto: true,
                ..default()
            },
        ),
        ("auto=no", default()),
        ("ramp=off", default()),
        (
            "ramp=30s",
            Settings {
                ramp: Ramp::Curve { over: 30 * S },
                ..default()
            },
        ),
        (
            "ramp=10%/25%/50%/100%@5s",
            Settings {
                ramp: steps(&[100_000, 250_000, 500_000, 1_000_000], 5 * S),
                ..default()
            },
        ),
        (
            "min=20 open=5s,probes=2",
            Settings {
                min: 20,
                open: 5 * S,
                probes: 2,
                ..default()
            },
        ),
        (
            "min=20, open=5s\n\tprobes=2",
            Settings {
                min: 20,
                open: 5 * S,
                probes: 2,
                ..default()
            },
        ),
    ];
    for (text, wanted) in table {
        let config: Config = text.parse().unwrap_or_else(|err| panic!("{text:?}: {err}"));
        let mut wanted = wanted.clone();
        if let Window::Calls(size) = wanted.window {
            wanted.min = wanted.min.min(size);
        }
        assert_eq!(config.settings(), wanted, "{text:?}");
        assert_eq!(Config::new(wanted), Ok(config), "{text:?}");
    }
}

#[test]
fn printing_is_canonical() {
    let table = [
        ("", "window=100,min=100,fail=50%,open=60s,probes=10"),
        ("window=10", "window=10,min=10,fail=50%,open=60s,probes=10"),
        (
            "window=10s min=200",
            "window=10s/1s,min=200,fail=50%,open=60s,probes=10",
        ),
        (
            "fail=050.0%",
            "window=100,min=100,fail=50%,open=60s,probes=10",
        ),
        (
            "fail=0.0701%",
            "window=100,min=100,fail=0.0701%,open=60s,probes=10",
        ),
        (
            "slow=100%@1m",
            "window=100,min=100,fail=50%,open=60s,probes=10",
        ),
        (
            "open=1500000us max-open=5m",
            "window=100,min=100,fail=50%,open=1500ms,max-open=300s,probes=10",
        ),
        (
            "backoff=1.50x",
            "window=100,min=100,fail=50%,open=60s,backoff=1.5x,probes=10",
        ),
        (
            "ramp=10%/100%@5s auto=yes lease=off judge=first-failure seed=1 jitter=full max-open=2m backoff=2x \
             timeout=500ms consecutive=5 slow=off fail=off probes=1 open=1m min=1 window=2",
            "window=2,min=1,fail=off,slow=off,consecutive=5,timeout=500ms,open=60s,backoff=2x,max-open=120s,\
             jitter=full,seed=1,probes=1,judge=first-failure,lease=off,auto=yes,ramp=10%/100%@5s",
        ),
    ];
    for (text, wanted) in table {
        let config: Config = text.parse().unwrap_or_else(|err| panic!("{text:?}: {err}"));
        assert_eq!(config.to_string(), wanted, "{text:?}");
        assert_eq!(wanted.parse(), Ok(config), "{text:?}");
    }
}

#[test]
fn every_mistake_is_named() {
    use ConfigErrorKind::{Conflict, Malformed, OutOfRange, Repeated, UnknownKey};
    let table = [
        // text, kind, key, got
        ("windows=10", UnknownKey, "windows", "10"),
        ("Window=10", UnknownKey, "Window", "10"),
        ("=10", UnknownKey, "", "10"),
        ("half open", UnknownKey, "half", ""),
        ("min=1 min=1", Repeated, "min", "1"),
        ("min", Malformed, "min", ""),
        ("min=", Malformed, "min", ""),
        ("min=ten", Malformed, "min", "ten"),
        ("min=-1", Malformed, "min", "-1"),
        ("min=1.0", Malformed, "min", "1.0"),
        ("min=off", Malformed, "min", "off"),
        ("min=0", OutOfRange, "min", "0"),
        ("min=1000000001", OutOfRange, "min", "1000000001"),
        (
            "min=99999999999999999999999999999999999999999999",
            OutOfRange,
            "min",
            "99999999999999999999999999999999999999999999",
        ),
        ("window=0", OutOfRange, "window", "0"),
        ("window=1000001", OutOfRange, "window", "1000001"),
        ("window=10s/", Malformed, "window", "10s/"),
        ("window=10/1", Malformed, "window", "10/1"),
        ("window=10s/3s", OutOfRange, "window", "10s/3s"),
        ("window=1s/2s", OutOfRange, "window", "1s/2s"),
        ("window=10s/0s", OutOfRange, "window", "10s/0s"),
        ("window=0s/1s", OutOfRange, "window", "0s/1s"),
        ("window=3601s/1s", OutOfRange, "window", "3601s/1s"),
        ("window=1500ms", OutOfRange, "window", "1500ms"),
        ("fail=50", Malformed, "fail", "50"),
        ("fail=%", Malformed, "fail", "%"),
        ("fail=.5%", Malformed, "fail", ".5%"),
        ("fail=5.%", Malformed, "fail", "5.%"),
        ("fail=0.00001%", Malformed, "fail", "0.00001%"),
        ("fail=0%", OutOfRange, "fail", "0%"),
        ("fail=100.0001%", OutOfRange, "fail", "100.0001%"),
        ("fail=off slow=off", Conflict, "fail", "off"),
        ("slow=50%", Malformed, "slow", "50%"),
        ("slow=2s@50%", Malformed, "slow", "2s@50%"),
        ("slow=0%@2s", OutOfRange, "slow", "0%@2s"),
        ("slow=50%@0s", OutOfRange, "slow", "50%@0s"),
        ("consecutive=0", OutOfRange, "consecutive", "0"),
        ("consecutive=5x", Malformed, "consecutive", "5x"),
        ("timeout=0ms", OutOfRange, "timeout", "0ms"),
        ("timeout=500", Malformed, "timeout", "500"),
        ("timeout=500msec", Malformed, "timeout", "500msec"),
        ("timeout=0.5ns", Malformed, "timeout", "0.5ns"),
        ("open=0s", OutOfRange, "open", "0s"),
        ("open=off", Malformed, "open", "off"),
        ("open=8761h", OutOfRange, "open", "8761h"),
        (
            "open=99999999999999999999h",
            OutOfRange,
            "open",
            "99999999999999999999h",
        ),
        ("backoff=2", Malformed, "backoff", "2"),
        ("backoff=0.999x", OutOfRange, "backoff", "0.999x"),
        ("backoff=100.001x", OutOfRange, "backoff", "100.001x"),
        ("max-open=59s", Conflict, "max-open", "59s"),
        ("max-open=0s", OutOfRange, "max-open", "0s"),
        ("jitter=some", Malformed, "jitter", "some"),
        ("seed=-1", Malformed, "seed", "-1"),
        ("seed=+5", Malformed, "seed", "+5"),
        ("seed=", Malformed, "seed", ""),
        (
            "seed=18446744073709551616",
            Malformed,
            "seed",
            "18446744073709551616",
        ),
        ("probes=0", OutOfRange, "probes", "0"),
        ("probes=10001", OutOfRange, "probes", "10001"),
        ("judge=count", Malformed, "judge", "count"),
        ("fail=off slow=off consecutive=3", Conflict, "judge", "rate"),
        ("fail=off slow=50%@2s", Conflict, "judge", "rate"),
        (
            "fail=off consecutive=3 judge=rate",
            Conflict,
            "judge",
            "rate",
        ),
        ("lease=0s", OutOfRange, "lease", "0s"),
        ("lease=no", Malformed, "lease", "no"),
        ("auto=true", Malformed, "auto", "true"),
        ("ramp=10%", Malformed, "ramp", "10%"),
        ("ramp=@5s", Malformed, "ramp", "@5s"),
        ("ramp=10%/@5s", Malformed, "ramp", "10%/@5s"),
        ("ramp=0%/50%@5s", OutOfRange, "ramp", "0%/50%@5s"),
        ("ramp=50%/101%@5s", OutOfRange, "ramp", "50%/101%@5s"),
        ("ramp=50%/50%@5s", OutOfRange, "ramp", "50%/50%@5s"),
        ("ramp=50%/100%@0s", OutOfRange, "ramp", "50%/100%@0s"),
        ("ramp=0s", OutOfRange, "ramp", "0s"),
        (
            "open=99999999999999999999999999ns",
            OutOfRange,
            "open",
            "99999999999999999999999999ns",
        ),
    ];
    for (text, kind, key, got) in table {
        let err = text.parse::<Config>().expect_err(text);
        assert_eq!(
            (err.kind(), err.key(), err.got()),
            (kind, key, got),
            "{text}: {err}"
        );
        assert!(!err.allowed().is_empty(), "{text}");
        let sentence = err.to_string();
        assert!(
            sentence.contains(key) && sentence.contains(err.allowed()),
            "{sentence}"
        );
    }
}

#[test]
fn a_mistake_is_one_sentence() {
    let table = [
        (
            "probs=3",
            "there is no setting `probs`: allowed is probes, perhaps, of window, min, fail, slow, consecutive, \
             timeout, open, backoff, max-open, jitter, seed, probes, judge, lease, auto, ramp",
        ),
        (
            "fail=33.33333%",
            "fail cannot be read from `33.33333%`: allowed is a share of at most four decimals (50%, 33.3333%) or off",
        ),
        (
            "window=500ms",
            "window cannot be `500ms`: allowed is 1 to 3600 whole buckets; one is 1s if none is named, as in \
             500ms/100ms",
        ),
        (
            "window=10s/0s",
            "window cannot be `10s/0s`: allowed is a bucket of 1ns to 365 days (31536000s)",
        ),
        (
            "window=0s/1s",
            "window cannot be `0s/1s`: allowed is a length of 1ns to 365 days (31536000s)",
        ),
        (
            "window = 100",
            "window has no value, written window=... without spaces around =: allowed is calls (100), or time and \
             bucket, their unit ns, us, ms, s, m or h (10s/1s)",
        ),
        (
            "open=10",
            "open cannot be read from `10`: allowed is a duration in ns, us, ms, s, m or h (60s)",
        ),
        (
            "open=10sec",
            "open cannot be read from `10sec`: allowed is a duration in ns, us, ms, s, m or h (60s)",
        ),
        (
            "seed=+5",
            "seed cannot be read from `+5`: allowed is a whole number below 2^64",
        ),
        (
            "fail=off,slow=off,consecutive=3",
            "judge cannot be `rate`: allowed is first-failure while fail is off: judge=rate, the default, has no rate \
             then by which failed probes would be too many",
        ),
        ("fail=0%", "fail cannot be `0%`: allowed is 0.0001% to 100%"),
        (
            "seed=1,seed=2",
            "seed is set twice, again to `2`: allowed is one value",
        ),
        (
            "max-open=1s",
            "max-open cannot be `1s`: allowed is off, or at least the value of open",
        ),
    ];
    for (text, sentence) in table {
        assert_eq!(text.parse::<Config>().unwrap_err().to_string(), sentence);
    }
}

#[test]
fn the_nearest_key_is_proposed() {
    for (text, near) in [
        ("windw=1", "window"),
        ("Window=1", "window"),
        ("minimum=1", "min"),
        ("MIN=1", "min"),
        ("con=1", "consecutive"),
        ("maxopen=1", "max-open"),
        ("max_open=1", "max-open"),
        ("lesae=1", "lease"),
        ("time-out=1", "timeout"),
        ("half=1", ""),
        ("=1", ""),
        ("permittedNumberOfCallsInHalfOpenState=1", ""),
    ] {
        let err = text.parse::<Config>().unwrap_err();
        let proposed = err.allowed().split_once(", perhaps, of ");
        assert_eq!(proposed.map_or("", |it| it.0), near, "{text}");
    }
}

#[test]
fn settings_are_checked_like_text() {
    let table = [
        (
            "window",
            Settings {
                window: Window::Calls(0),
                ..Settings::default()
            },
        ),
        (
            "window",
            Settings {
                window: Window::Time {
                    length: S,
                    bucket: 0,
                },
                ..Settings::default()
            },
        ),
        (
            "min",
            Settings {
                min: 0,
                ..Settings::default()
            },
        ),
        (
            "fail",
            Settings {
                fail: Some(Rate::ppm(u32::MAX)),
                ..Settings::default()
            },
        ),
        (
            "open",
            Settings {
                open: MAX_DURATION + 1,
                ..Settings::default()
            },
        ),
        (
            "backoff",
            Settings {
                backoff: u32::MAX,
                ..Settings::default()
            },
        ),
        (
            "lease",
            Settings {
                lease: Some(u64::MAX),
                ..Settings::default()
            },
        ),
        (
            "ramp",
            Settings {
                ramp: Ramp::Steps {
                    shares: vec![],
                    hold: 1,
                },
                ..Settings::default()
            },
        ),
        (
            "ramp",
            Settings {
                ramp: Ramp::Steps {
                    shares: (1..=17).map(Rate::percent).collect(),
                    hold: 1,
                },
                ..Settings::default()
            },
        ),
    ];
    for (key, settings) in table {
        assert_eq!(Config::new(settings).unwrap_err().key(), key);
    }
    assert_eq!(Config::new(Settings::default()), Ok(Config::default()));
}

#[test]
fn an_instance_has_its_own_seed() {
    let config: Config = "seed=1 jitter=full".parse().unwrap();
    let a = config.clone().for_instance("web-1");
    let b = config.clone().for_instance("web-2");
    assert_ne!(a.settings().seed, b.settings().seed);
    // The hash is fixed: FNV-1a of the name, combined by exclusive or.
    assert_eq!(
        config.for_instance("a").settings().seed,
        1 ^ 0xaf63_dc4c_8601_ec8c
    );
}

/// Text out of the grammar's own pieces, right and wrong.
fn scraps() -> impl Strategy<Value = String> {
    let scraps = [
        "window",
        "min",
        "fail",
        "slow",
        "ramp",
        "open",
        "seed",
        "=",
        "=",
        "=",
        ",",
        " ",
        "10",
        "5",
        "0",
        ".",
        "%",
        "%",
        "/",
        "@",
        "s",
        "ms",
        "x",
        "off",
        "-",
        "é",
        "99999999999999999999",
        "\u{a0}",
    ];
    vec(proptest::sample::select(scraps.to_vec()), 0..24).prop_map(|it| it.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(text in scraps()) {
        if let Ok(config) = text.parse::<Config>() {
            prop_assert_eq!(config.to_string().parse(), Ok(config));
        }
    }

    #[test]
    fn what_is_printed_parses_back(
        (calls, length, bucket) in (1..1_000u32, 1..3_600u64, 1..10 * S),
        timed in any::<bool>(),
        (min, probes, consecutive) in (1..1_000_000u32, 1..10_000u32, proptest::option::of(1..9u32)),
        (fail, slow) in (1..=1_000_000u32, proptest::option::of((1..=1_000_000u32, 1..MAX_DURATION))),
        (open, backoff, longer) in (1..S * 1_000, 1_000..=100_000u32, proptest::option::of(0..S)),
        (timeout, lease) in (proptest::option::of(1..MAX_DURATION), proptest::option::of(1..MAX_DURATION)),
        (seed, auto, judge) in (any::<u64>(), any::<bool>(), any::<bool>()),
        (steps, hold) in (proptest::collection::btree_set(1..=1_000_000u32, 0..5), 1..MAX_DURATION),
    ) {
        let window = if timed { Window::Time { length: length * bucket, bucket } } else { Window::Calls(calls) };
        let ramp = match steps.len() {
            0 => Ramp::Off,
            1 => Ramp::Curve { over: hold },
            _ => Ramp::Steps { shares: steps.into_iter().map(Rate::ppm).collect(), hold },
        };
        let settings = Settings {
            window, min, fail: Some(Rate::ppm(fail)), slow: slow.map(|(it, over)| Slow { rate: Rate::ppm(it), over }),
            consecutive, timeout, open, backoff, max_open: longer.map(|it| open + it), jitter: Jitter::Equal, seed,
            probes, judge: if judge { Judge::Rate } else { Judge::FirstFailure }, lease, auto, ramp,
        };
        let config = Config::new(settings).unwrap();
        let text = config.to_string();
        let again: Config = text.parse().unwrap();
        prop_assert_eq!(again.to_string(), text);
        prop_assert_eq!(again, config);
    }
}
