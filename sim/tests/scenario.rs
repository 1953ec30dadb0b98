//! Scenario files: what they say, and what is said of those that are wrong.

use herdscope_sim::samples::{SAMPLES, sample};
use herdscope_sim::{Act, Metric, Scenario, Shedding, Spread};

const SMALL: &str = r#"
name = "small"
duration = "1m30s"
network = "500us"

[[client]]
name = "web"
rate = [["0s", "10/s"], ["30s", "40/s", "ramp"]]
calls = "shop"
timeout = "250ms"
breaker = "window=20,min=5,open=2s"
needs = "shop"

[[service]]
name = "shop"
work = { median = "3ms", sigma = 0.5 }
held = { mean = "8ms" }
shed = { queue = 7 }
autoscaler = { metric = "cpu", target = 80, min = 2, max = 9 }

[service.calls]
service = "stock"
retry = { attempts = 2, budget = "grpc" }

[[service]]
name = "stock"
work = "1ms"

[[fault]]
service = "stock"
at = "10s"
lasts = "5s"
fails = "25%"

[[hand]]
at = "1m"
scale = "shop"
pods = 4
"#;

#[test]
fn a_file_says_what_is_simulated() {
    let scenario = Scenario::from_toml(SMALL).expect("a scenario");
    assert_eq!(
        (scenario.name.as_str(), scenario.duration),
        ("small", 90_000_000_000)
    );
    let group = &scenario.groups[0];
    assert_eq!(
        (group.instances, group.calls, group.policy.timeout),
        (1, 0, Some(250_000_000))
    );
    assert_eq!(
        (
            group.demand.rate(15_000_000_000),
            group.demand.rate(60_000_000_000)
        ),
        (25.0, 40.0)
    );
    let shop = &scenario.services[0];
    assert_eq!(
        shop.work,
        Spread::LogNormal {
            median: 3_000_000,
            sigma: 0.5
        }
    );
    assert_eq!(shop.held, Some(Spread::Exponential { mean: 8_000_000 }));
    assert_eq!(shop.shedding, Some(Shedding::Length(7)));
    let hpa = shop.autoscaler.as_ref().expect("an autoscaler");
    assert_eq!(
        (hpa.metric, hpa.min, hpa.max),
        (Metric::Cpu { target: 80.0 }, 2, 9)
    );
    assert_eq!(
        (hpa.every, hpa.down_after),
        (15_000_000_000, 300_000_000_000)
    );
    let (called, policy) = shop.calls.as_ref().expect("a callee");
    assert_eq!((*called, policy.timeout), (1, None));
    assert_eq!(policy.retries.map(|it| it.settings.attempts), Some(2));
    assert_eq!(group.needs, Some(0));
    let fault = &scenario.faults[0];
    assert_eq!((fault.service, fault.takes, fault.fails), (1, None, 0.25));
    assert_eq!(
        scenario.hands[0].act,
        Act::Scale {
            service: 0,
            pods: 4
        }
    );
}

#[test]
fn a_breaker_is_settings_or_a_preset() {
    let text = SMALL.replace("window=20,min=5,open=2s", "envoy");
    let scenario = Scenario::from_toml(&text).expect("a scenario");
    assert_eq!(
        scenario.groups[0].policy.breaker,
        Some(halfopen::presets::ENVOY.config())
    );
    let error = Scenario::from_toml(&text.replace("envoy", "envoyy")).expect_err("no preset");
    assert!(
        error
            .to_string()
            .ends_with("or a preset: resilience4j, hystrix, polly, gobreaker, envoy"),
        "{error}"
    );
}

#[test]
fn an_error_says_line_key_value_and_what_is_allowed() {
    let cases = [
        (
            "name = \"small\"",
            "",
            "line 1: name is missing; expected a text",
        ),
        (
            "\"1m30s\"",
            "90",
            "line 3: duration is 90; expected a time with its unit, such as \"500ms\" or \"1m30s\", up to 365 days",
        ),
        (
            "network",
            "netwrok",
            "line 4: netwrok is no key; expected one of name, duration, network, client, service, fault, hand",
        ),
        (
            "\"10/s\"]",
            "\"10\"]",
            "line 8: client.rate is \u{201c}10\u{201d}; expected a rate such as \"200/s\", up to 1000000/s",
        ),
        (
            "[\"30s\"",
            "[\"0s\"",
            "line 8: client.rate is a list; expected points such as [\"0s\", \"20/s\"] or [\"1m\", \"50/s\", \"ramp\"], by time",
        ),
        (
            "calls = \"shop\"",
            "calls = \"shpo\"",
            "line 9: client.calls is \u{201c}shpo\u{201d}; expected one of shop, stock",
        ),
        ("min=5,", "min=five,", "line 11: client.breaker is"),
        (
            "sigma = 0.5",
            "sigma = -1",
            "line 16: service.work.sigma is -1; expected a number from 0 to 5",
        ),
        (
            "target = 80,",
            "",
            "line 19: service.autoscaler.target is missing; expected a number, per cent for cpu",
        ),
        (
            "max = 9",
            "max = 1",
            "line 19: service.autoscaler.max is 1; expected a whole number from 2 to 10000",
        ),
        (
            "needs = \"shop\"",
            "needs = \"shpo\"",
            "line 12: client.needs is \u{201c}shpo\u{201d}; expected one of shop, stock",
        ),
        (
            "fails = \"25%\"",
            "",
            "line 29: fault.takes is missing; expected a time such as \"5s\", or fails",
        ),
        (
            "\"25%\"",
            "1",
            "line 33: fault.fails is 1; expected true, or a share such as \"50%\"",
        ),
        // Who is called stands below.
        (
            "service = \"stock\"\nretry",
            "service = \"shop\"\nretry",
            "line 22: service.calls.service is \u{201c}shop\u{201d}; expected a service that stands below this one: stock",
        ),
        (
            "\"grpc\"",
            "\"free\"",
            "line 23: service.calls.retry.budget is \u{201c}free\u{201d}; expected one of aws, grpc, finagle, envoy",
        ),
        (
            "pods = 4",
            "pods = -4",
            "line 38: hand.pods is -4; expected a whole number from 0 to 10000",
        ),
        (
            "scale = \"shop\"",
            "",
            "line 35: hand.scale is missing; expected close or open with a client, or scale with a service and pods",
        ),
        (
            "timeout = \"250ms\"",
            "timeout = \"0s\"",
            "line 10: client.timeout is \u{201c}0s\u{201d}; expected a time that is longer than 0",
        ),
        (
            "target = 80,",
            "target = 80, every = \"1us\",",
            "line 19: service.autoscaler.every is \u{201c}1us\u{201d}; expected a time from \"1s\"",
        ),
        // Names tell apart.
        (
            "name = \"stock\"",
            "name = \"shop\"",
            "line 26: service.name is \u{201c}shop\u{201d}; expected a name that no other service has",
        ),
        (
            "needs = \"shop\"",
            "[[client]]\nname = \"web\"\nrate = \"1/s\"\ncalls = \"shop\"",
            "line 13: client.name is \u{201c}web\u{201d}; expected a name that no other client has",
        ),
        (
            "held =",
            "proxy = \"stock\"\nheld =",
            "line 17: service.proxy is \u{201c}stock\u{201d}; expected a name that no service has",
        ),
        (
            "held =",
            "proxy = \"web\"\nheld =",
            "line 7: client.name is \u{201c}web\u{201d}; expected a name that no proxy has",
        ),
        (
            "[\"0s\", \"10/s\"]",
            "[\"0s\", \"10/s\", \"ramp\"]",
            "line 8: client.rate is \u{201c}ramp\u{201d}; expected no ramp to the first point: there is no rate before it",
        ),
        // What comes after the end.
        (
            "at = \"1m\"",
            "at = \"90s\"",
            "line 36: hand.at is \u{201c}90s\u{201d}; expected a time before the end, 1 min 30 s",
        ),
        (
            "at = \"10s\"",
            "at = \"2m\"",
            "line 31: fault.at is \u{201c}2m\u{201d}; expected a time before the end, 1 min 30 s",
        ),
        // Nothing would come of it.
        (
            "scale = \"shop\"\npods = 4",
            "open = \"cron\"\n[[client]]\nname = \"cron\"\nrate = \"1/s\"\ncalls = \"shop\"",
            "line 37: hand.open is \u{201c}cron\u{201d}; expected a client that has a breaker",
        ),
        // One thing at a time.
        (
            "scale = \"shop\"\npods = 4",
            "close = \"web\"\nopen = \"web\"",
            "line 38: hand.open is \u{201c}web\u{201d}; expected one thing: close or open with a client, or scale with a service \
             and pods; each hand does one",
        ),
        (
            "scale = \"shop\"",
            "scale = \"shop\"\nopen = \"web\"",
            "line 38: hand.open is \u{201c}web\u{201d}; expected one thing:",
        ),
        (
            "mean = \"8ms\"",
            "mean = \"8ms\", median = \"7ms\"",
            "line 17: service.held.median is \u{201c}7ms\u{201d}; expected either median, with sigma, or mean: not both",
        ),
        (
            "median = \"3ms\", sigma",
            "sigma",
            "line 16: service.work.median is missing; expected a time such as \"3ms\", or mean with one",
        ),
        (
            "held =",
            "cpu = { quota = \"1ms\", period = \"0s\" }\nheld =",
            "line 17: service.cpu.period is \u{201c}0s\u{201d}; expected a time that is longer than 0",
        ),
        (
            "[[client]]",
            "[client]",
            "line 6: client is a table; expected tables, each below a line [[client]]",
        ),
        (
            "work = \"1ms\"",
            "work = \"1ms\"\ncalls = { service = \"shop\" }",
            "line 28: service.calls.service is \u{201c}shop\u{201d}; expected a service that stands below this one: there is none",
        ),
        // What can be read can be run.
        (
            "budget = \"grpc\"",
            "base = \"0s\"",
            "line 23: service.calls.retry.base is \u{201c}0s\u{201d}; expected a time that is longer than 0",
        ),
        (
            "budget = \"grpc\"",
            "cap = \"1ms\"",
            "line 23: service.calls.retry.cap is \u{201c}1ms\u{201d}; expected cap to be no shorter than base: here they are \
             1 ms and 100 ms",
        ),
        (
            "budget = \"grpc\"",
            "base = \"20s\"",
            "line 23: service.calls.retry.base is \u{201c}20s\u{201d}; expected cap to be no shorter than base: here they are \
             10.00 s and 20.00 s",
        ),
        (
            "timeout = \"250ms\"",
            "throttle = { window = \"1500ms\" }",
            "line 10: client.throttle.window is \u{201c}1500ms\u{201d}; expected a time of whole seconds, from \"1s\" to \"1h\"",
        ),
        (
            "queue = 7",
            "target = \"0s\"",
            "line 18: service.shed.target is \u{201c}0s\u{201d}; expected a time that is longer than 0",
        ),
        (
            "queue = 7",
            "interval = \"5ms\"",
            "line 18: service.shed.interval is \u{201c}5ms\u{201d}; expected interval to be longer than target: here they are \
             5 ms and 5 ms",
        ),
        (
            "queue = 7",
            "queue = 0, target = \"1ms\"",
            "line 18: service.shed.queue is 0; expected a whole number from 1 to 1000000",
        ),
        (
            "target = 80,",
            "target = 80, window = \"61m\",",
            "line 19: service.autoscaler.window is \u{201c}61m\u{201d}; expected a time up to \"1h\"",
        ),
        (
            "\"1m30s\"",
            "\"365d\"",
            "line 3: duration is \u{201c}365d\u{201d}; expected a time up to 231 d 11 h with so many services",
        ),
        ("[[hand]]", "[[hand", "line 35: is no TOML:"),
    ];
    for (old, new, expected) in cases {
        let text = SMALL.replacen(old, new, 1);
        assert_ne!(text, SMALL, "{old}");
        let error = Scenario::from_toml(&text).expect_err(old).to_string();
        assert!(error.starts_with(expected), "{old} -> {new}: {error}");
    }
}

#[test]
fn every_key_is_documented() {
    let docs = include_str!("../../docs/scenarios.md");
    let source = [
        include_str!("../src/text.rs"),
        include_str!("../src/text/policy.rs"),
    ]
    .concat();
    let asked = ["get(", "need(", "tables(", "time("]
        .into_iter()
        .flat_map(|how| {
            let after = source.split(how).skip(1);
            after.filter_map(|it| it.trim_start().strip_prefix('"')?.split('"').next())
        });
    let asked: Vec<&str> = asked.collect();
    assert!(asked.len() > 50, "{asked:?}");
    for key in asked {
        let documented =
            docs.contains(&format!("`{key}`")) || docs.contains(&format!("`[[{key}]]`"));
        assert!(documented, "{key}");
    }
}

#[test]
fn all_scenarios_of_the_project_can_be_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).expect("scenarios/") {
        let path = entry.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        Scenario::from_toml(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        read += 1;
    }
    assert!(read > 0);
}

#[test]
fn the_samples_are_what_their_files_say() {
    for name in SAMPLES.map(|it| it.name) {
        let path = format!("{}/../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).expect("its file");
        let read = Scenario::from_toml(&text).expect("a scenario");
        assert_eq!(sample(name), Some(read), "{name}");
    }
    assert_eq!(sample("herd"), None);
}
