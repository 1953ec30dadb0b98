//! Scenarios told from spans: of scenarios that are known, and of real incidents' files.

use std::fs;

use halfopen::Config;
use herdscope::dataset::Dataset;
use herdscope::estimate::{Estimate, Key, estimate};
use herdscope_sim::{Remedy, Scenario, Variant, simulate};

use crate::cli::{self, herd, json, scratch};

const SETTINGS: &str = "window=100,min=20,fail=50%,open=60s,probes=10";

fn dataset(seed: u64) -> Dataset {
    let path = format!(
        "{}/scenarios/thundering-herd.toml",
        env!("CARGO_MANIFEST_DIR")
    );
    let scenario = Scenario::from_toml(&fs::read_to_string(path).expect("the scenario"));
    let scenario = scenario.expect("a scenario");
    let run = simulate(&scenario, seed).expect("a run");
    Dataset::of_rows("the herd".to_owned(), run.rows(&scenario))
}

fn told(dataset: &Dataset, given: &[(Key, String)]) -> Estimate {
    let edge = dataset.edge(Some(&("shop-web".to_owned(), "catalog".to_owned())));
    let breaker: Config = SETTINGS.parse().expect("settings");
    estimate(dataset, edge.expect("the edge"), Some(&breaker), given)
}

fn value(estimate: &Estimate, key: Key) -> &str {
    let fact = estimate.facts.iter().find(|it| it.key == key);
    &fact.expect("each has a fact").value
}

#[test]
fn a_known_scenario_is_found_again() {
    for seed in 1..=3 {
        let it = told(&dataset(seed), &[]);
        let exact = [Key::Pods, Key::Workers, Key::Timeout, Key::Work].map(|key| value(&it, key));
        assert_eq!(exact, ["3", "1", "200ms", "2.5ms"], "seed {seed}");
        let shop = &it.scenario.groups[0];
        let basket = &it.scenario.groups[1];
        assert_eq!((shop.instances, basket.instances), (4, 2));
        let near = |got: f64, expected: f64, by: f64| (got / expected - 1.0).abs() < by;
        assert!(
            near(shop.demand.0[0].rate, 141.0, 0.05),
            "seed {seed}: {:?}",
            shop.demand
        );
        assert!(
            near(basket.demand.0[0].rate, 7.8, 0.05),
            "seed {seed}: {:?}",
            basket.demand
        );
        assert_eq!(
            basket.demand.0.len(),
            1,
            "what comes independently is steady"
        );
        // 36 requests a second use up the limit of a pod.
        let held = it.scenario.services[0].held.expect("the pods were full");
        let herdscope_sim::Spread::LogNormal { median, .. } = held else {
            panic!("{held:?}");
        };
        assert!(
            near(median as f64, 1e9 / 36.0, 0.1),
            "seed {seed}: {median}"
        );
    }
}

#[test]
fn what_is_told_runs_as_what_it_was_told_from() {
    let it = told(&dataset(1), &[]);
    for (remedy, recovers) in [(Remedy::AsItWas, false), (Remedy::PreScale, true)] {
        let variant = Variant::new(&it.scenario, &[remedy]).expect("settings");
        let run = variant.run(1).expect("a run");
        assert_eq!(
            run.recovery().is_some(),
            recovers,
            "{}: {run:?}",
            variant.name
        );
    }
}

#[test]
fn the_file_says_the_same_scenario() {
    let dataset = dataset(1);
    let mut told = told(&dataset, &[]);
    told.scenario.name = "a \"name\" \\ with\na \u{7}".to_owned();
    let read = Scenario::from_toml(&told.to_toml()).expect("a scenario");
    assert_eq!(read.name, told.scenario.name);
    assert_eq!(read.groups, told.scenario.groups);
    assert_eq!(read.services, told.scenario.services);
    assert_eq!(read.network, told.scenario.network);
}

#[test]
fn what_is_given_is_taken() {
    let given = [
        (Key::Pods, "7".to_owned()),
        (Key::Demand, "20/s".to_owned()),
        (Key::Held, "5ms".to_owned()),
    ];
    let it = told(&dataset(1), &given);
    assert_eq!(it.scenario.services[0].pods, 7);
    assert_eq!(
        it.scenario.groups[0].demand,
        herdscope_sim::Demand::steady(20.0)
    );
    let by_hand: Vec<&str> = it
        .facts
        .iter()
        .filter(|it| it.given)
        .map(|it| it.key.name())
        .collect();
    assert_eq!(by_hand, ["demand", "pods", "held"]);

    for (key, text, expected) in [
        (Key::Pods, " 4 ", Some("4")),
        (Key::Pods, "0", None),
        (Key::Pods, "2.5", None),
        (Key::Demand, "200/s", Some("200/s")),
        (Key::Demand, "-1/s", None),
        (Key::Demand, "200", None),
        (Key::Timeout, "0.5s", Some("500ms")),
        (Key::Timeout, "1m30s", Some("1min30s")),
        (Key::Timeout, "soon", None),
        (Key::Held, "20", None),
        (Key::Held, "none", Some("none")),
        (Key::Timeout, " none", Some("none")),
        (Key::Timeout, "0s", None),
        (Key::Work, "none", None),
    ] {
        let read = key.read(text);
        assert_eq!(read.as_deref(), expected, "{} of {text}", key.name());
        // What is printed reads as itself.
        assert_eq!(read.as_deref().and_then(|it| key.read(it)), read);
    }
}

#[test]
fn a_file_of_centuries_has_no_steps() {
    let text = "trace_id,span_id,parent_span_id,service.name,name,kind,start_time,duration_ms,status\n\
        a,1,,web,GET,client,1900-01-05T10:00:00.000Z,30,OK\na,2,1,shop,GET,server,1900-01-05T10:00:00.001Z,20,OK\n\
        b,3,,web,GET,client,2100-01-05T10:00:00.000Z,30,OK\nb,4,3,shop,GET,server,2100-01-05T10:00:00.001Z,20,OK\n";
    let path = scratch("estimate").join("centuries.csv");
    fs::write(&path, text).expect("a file");
    let dataset = crate::given::read(&path);
    let it = estimate(&dataset, &dataset.edges[0], None, &[]);
    assert_eq!(it.scenario.groups[0].demand.0.len(), 1);
    assert!(it.scenario.groups[0].policy.breaker.is_none());
}

#[test]
fn workers_are_told_in_any_century() {
    // Three at once, then one.
    let calls = [(0, 30), (10, 30), (20, 30), (60, 30)];
    for shift in [0, -40i64, -2_000_000_000_000] {
        let lines = calls.iter().enumerate().map(|(at, (start, took))| {
            let start = start + shift;
            format!("t{at} c{at} - web client {start}+{took}\nt{at} s{at} c{at} shop server {start}+{took} @shop-1\n")
        });
        let rows = crate::given::rows(&lines.collect::<String>());
        let dataset = Dataset::of_rows("x".to_owned(), rows);
        let it = estimate(&dataset, &dataset.edges[0], None, &[]);
        assert_eq!(it.scenario.services[0].workers, 3, "{shift}");
    }
}

#[test]
fn tries_of_one_call_are_one_request() {
    // Each second a request, of which every second one needs three tries.
    let lines = (0..40).map(|at| {
        let start = at * 1_000;
        let call = |nth: i64, took: i64, how: &str| {
            let start = start + nth * 200;
            format!(
                "t{at} c{at}-{nth} p{at} web client {start}+{took} {how} :GET\n\
                 t{at} s{at}-{nth} c{at}-{nth} shop server {start}+{took} @shop-1 :GET\n"
            )
        };
        let parent = format!("t{at} p{at} - web server {start}+900\n");
        let calls = match at % 2 {
            0 => call(0, 20, ""),
            _ => call(0, 100, "timed_out") + &call(1, 100, "timed_out") + &call(2, 20, ""),
        };
        parent + &calls
    });
    let rows = crate::given::rows(&lines.collect::<String>());
    let dataset = Dataset::of_rows("x".to_owned(), rows);
    let edge = dataset.edge(Some(&("web".to_owned(), "shop".to_owned())));
    let edge = edge.expect("the edge");
    assert_eq!(edge.calls.len(), 80);
    let it = estimate(&dataset, edge, None, &[]);
    let web = &it.scenario.groups[0];
    assert_eq!(value(&it, Key::Demand), "1.00/s");
    assert_eq!(web.demand, herdscope_sim::Demand::steady(1.0));
    assert_eq!(web.policy.retries.map(|it| it.settings.attempts), Some(3));
    let source = it.facts.iter().find(|it| it.key == Key::Demand);
    assert!(source.is_some_and(|it| it.source.contains("tries of one counted once")));
    let read = Scenario::from_toml(&it.to_toml()).expect("a scenario");
    assert_eq!(read.groups, it.scenario.groups);
}

#[test]
fn what_failed_by_itself_is_a_fault() {
    // A call each 100 ms. From 5 s to 15 s three of four are answered badly; one in a while
    // is cut.
    let lines = (0..300).map(|at| {
        let how = match at {
            _ if at % 50 == 49 => "timed_out",
            50..150 if at % 4 > 0 => "failed",
            _ => "",
        };
        let start = at * 100;
        let took = if how == "timed_out" { 200 } else { 30 };
        format!("t{at} c{at} - web client {start}+{took} {how}\nt{at} s{at} c{at} shop server {start}+20 {how}\n")
    });
    let dataset = Dataset::of_rows(
        "x".to_owned(),
        crate::given::rows(&lines.collect::<String>()),
    );
    let it = estimate(&dataset, &dataset.edges[0], None, &[]);
    let [fault] = &it.scenario.faults[..] else {
        panic!("{:?}", it.scenario.faults);
    };
    // From the 50th to the 147th 24 went well, and one was cut.
    assert_eq!((fault.at, fault.lasts), (5_000_000_000, 9_701_000_000));
    assert_eq!(fault.fails, 0.753);
    let read = Scenario::from_toml(&it.to_toml()).expect("a scenario");
    assert_eq!(
        (read.faults[0].at, read.faults[0].lasts),
        (fault.at, fault.lasts)
    );
    assert!((read.faults[0].fails - fault.fails).abs() < 1e-9);
    let run = simulate(&read, 1).expect("a run");
    let share = run.summary.failed as f64 / run.summary.requests as f64;
    assert!((share - 0.24).abs() < 0.06, "{:?}", run.summary);
}

#[test]
fn what_failed_until_the_end_is_not_over() {
    // A call a second, for half an hour; some fail from the 20th on, the last one at 1,780 s.
    let lines = (0..1_800).map(|at| {
        let how = if at % 20 == 0 && at > 0 { "failed" } else { "" };
        let start = at * 1_000;
        format!("t{at} c{at} - web client {start}+30 {how}\nt{at} s{at} c{at} shop server {start}+20 {how}\n")
    });
    let dataset = Dataset::of_rows(
        "x".to_owned(),
        crate::given::rows(&lines.collect::<String>()),
    );
    let it = estimate(&dataset, &dataset.edges[0], None, &[]).scenario;
    let fault = it.faults[0];
    assert_eq!((fault.at, fault.fails), (20_000_000_000, 0.051));
    assert!(fault.at + fault.lasts >= it.duration, "{fault:?}");
    // So that remedies are judged within ten minutes.
    let variant = Variant::new(&it, &[Remedy::AsItWas]).expect("settings");
    assert_eq!(variant.scenario.duration, herdscope_sim::HORIZON);
}

#[test]
fn where_all_failed_the_time_is_assumed_for_that() {
    let text = "a c - web client 0+30 failed\na s c shop server 0+20 failed";
    let dataset = Dataset::of_rows("x".to_owned(), crate::given::rows(text));
    let it = estimate(&dataset, &dataset.edges[0], None, &[]);
    let text = it.to_toml();
    assert!(
        text.contains("work = \"1ms\"  # assumed: all spans of the service failed"),
        "{text}"
    );
    assert!(text.contains("fails = \"100.0%\""), "{text}");
}

#[test]
fn the_command_line_writes_a_scenario_that_it_runs() {
    let path = scratch("estimate").join("told.toml");
    let output = cli::run(&["estimate", &herd(), "--given", "pods=4,held=20ms"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("pods = 4  # given by hand"), "{text}");
    fs::write(&path, text).expect("a file");
    let run = json(&cli::run(&[
        "simulate",
        &path.display().to_string(),
        "--json",
    ]));
    assert!(run["requests"].as_u64() > Some(10_000), "{run}");

    let told = json(&cli::run(&["estimate", &herd(), "--json"]));
    assert_eq!(told["figures"].as_array().map(Vec::len), Some(7), "{told}");
    assert!(
        told["breaker"]
            .as_str()
            .is_some_and(|it| it.contains("open=60s")),
        "{told}"
    );
}

#[test]
fn services_without_a_name_have_one_in_the_scenario() {
    let text = "trace_id,span_id,parent_span_id,service.name,name,kind,start_time,duration_ms,status\n\
        a,1,,web,GET,client,2026-01-05T10:00:00.000Z,30,OK\na,2,1,,GET,server,2026-01-05T10:00:00.001Z,20,OK\n\
        b,3,,web,GET,client,2026-01-05T10:00:01.000Z,30,OK\nb,4,3,,GET,server,2026-01-05T10:00:01.001Z,20,OK\n";
    let path = scratch("estimate").join("unnamed.csv");
    fs::write(&path, text).expect("a file");
    let output = cli::run(&["estimate", &path.display().to_string()]);
    let scenario =
        Scenario::from_toml(&String::from_utf8_lossy(&output.stdout)).expect("a scenario");
    assert_eq!(scenario.services[0].name, "unnamed");
}

#[test]
fn a_figure_that_cannot_be_given_is_said_with_what_can() {
    for (given, expected) in [
        (
            "pods=many",
            "pods=many\u{201d}, expected pods as a whole number from 1 to 10000",
        ),
        (
            "pods=10001",
            "expected pods as a whole number from 1 to 10000",
        ),
        (
            "demand=0.0001/s",
            "expected demand as requests a second, up to 1000000/s and to the thousandth",
        ),
        (
            "timeout=25h",
            "expected timeout as a time with its unit, up to a day, as in 20ms, or none",
        ),
        (
            "pods=4,work=1ms,pods=5",
            "got pods twice, expected each figure once",
        ),
    ] {
        let wrong = cli::run(&["estimate", &herd(), "--given", given]);
        let error = String::from_utf8_lossy(&wrong.stderr);
        assert_eq!(wrong.status.code(), Some(2), "{given}: {error}");
        assert!(error.contains(expected), "{given}: {error}");
    }
    let given = ["--given", "timeout=none,held=none"];
    let output = cli::run(&[&["estimate", &herd()][..], &given].concat());
    let scenario =
        Scenario::from_toml(&String::from_utf8_lossy(&output.stdout)).expect("a scenario");
    assert_eq!(scenario.groups[0].policy.timeout, None);
    assert_eq!(scenario.services[0].held, None);
}

#[test]
fn an_edge_may_have_arrows_in_its_names() {
    let text = "trace_id,span_id,parent_span_id,service.name,name,kind,start_time,duration_ms,status\n\
        a,1,,a->b,GET,client,2026-01-05T10:00:00.000Z,30,OK\na,2,1,b->c,GET,server,2026-01-05T10:00:00.001Z,20,OK\n";
    let path = scratch("estimate").join("arrows.csv");
    fs::write(&path, text).expect("a file");
    let path = path.display().to_string();
    let it = json(&cli::run(&[
        "estimate",
        &path,
        "--edge",
        "a->b->b->c",
        "--json",
    ]));
    assert_eq!(
        (&it["edge"]["from"], &it["edge"]["to"]),
        (&"a->b".into(), &"b->c".into())
    );
    let wrong = cli::run(&["estimate", &path, "--edge", "a->x"]);
    assert!(
        String::from_utf8_lossy(&wrong.stderr).contains("there is no edge a->x; it has a->b->b->c")
    );
}
