//! What the simulator makes up, as everything else sees it.

use std::collections::BTreeMap;
use std::fs;

use herdscope::dataset::Dataset;
use herdscope::herds::{self, AttemptResult};
use herdscope::observed::{self, Observed, Seen, observe};
use herdscope::replay::{Options, Replay, replay};
use herdscope_sim::{Run, Scenario, simulate};

use crate::cli::{self, json, scratch};
use crate::given::read;

const HERD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/herd.toml");
const SETTINGS: &str = "window=100,min=20,fail=50%,open=60s,probes=10";

/// The transitions of each instance: when, to what.
type Changes = BTreeMap<String, Vec<(i64, String)>>;

fn simulated(seed: u64) -> (Scenario, Run, Dataset) {
    let text = fs::read_to_string(HERD).expect("the scenario");
    let scenario = Scenario::from_toml(&text).expect("a scenario");
    let run = simulate(&scenario, seed).expect("a run");
    let dataset = Dataset::of_rows(scenario.name.clone(), run.rows(&scenario));
    (scenario, run, dataset)
}

fn truth(scenario: &Scenario, run: &Run) -> Changes {
    let mut changes = Changes::new();
    for it in &run.states {
        let group = &scenario.groups[it.group as usize];
        let of = changes.entry(format!("{}-{}", group.name, it.instance));
        let change = (scenario.starts_at + it.at, it.to.as_str().to_owned());
        of.or_default().push(change);
    }
    changes
}

fn replayed(replay: &Replay) -> Changes {
    let of = |it: &herdscope::replay::Breaker| {
        let changes = it.transitions.iter();
        let changes = changes.map(|it| (it.at, it.to.as_str().to_owned()));
        (it.instance.clone().unwrap_or_default(), changes.collect())
    };
    replay.breakers.iter().map(of).collect()
}

fn seen(observed: &Observed) -> Changes {
    let of = |it: &observed::ObservedBreaker| {
        let changed = it.states.iter().skip_while(|it| it.state == Seen::Closed);
        let changes = changed.map(|it| (it.from, it.state.as_str().to_owned()));
        (it.instance.clone().unwrap_or_default(), changes.collect())
    };
    observed.breakers.iter().map(of).collect()
}

#[test]
fn its_own_settings_replay_to_its_own_states() {
    let (scenario, run, dataset) = simulated(1);
    let options = Options {
        config: SETTINGS.parse().expect("settings"),
        shared: false,
    };
    let replay = replay(&dataset.edges[0].calls, &options);
    let truth = truth(&scenario, &run);
    assert_eq!(
        truth.values().map(Vec::len).sum::<usize>(),
        run.states.len()
    );
    assert!(run.states.len() > 20);
    assert_eq!(replayed(&replay), truth);
}

#[test]
fn the_command_line_replays_what_it_has_simulated() {
    let csv = scratch("simulate_states").join("herd.csv");
    let csv = csv.to_str().expect("a path");
    let told = json(&cli::run(&["simulate", HERD, "--csv", csv, "--json"]));
    let replayed = json(&cli::run(&["replay", csv, "--breaker", SETTINGS, "--json"]));
    let transitions = |it: &serde_json::Value| -> Vec<(String, serde_json::Value)> {
        let breakers = it["breakers"].as_array().expect("breakers").iter();
        let of = |it: &serde_json::Value| (it["instance"].to_string(), it["transitions"].clone());
        breakers.map(of).collect()
    };
    let truth = transitions(&told);
    assert_eq!(truth.len(), 4);
    assert_eq!(transitions(&replayed), truth);
    // A second and a service each.
    let samples = told["samples"].as_array().expect("samples");
    let (_, run, _) = simulated(1);
    assert_eq!(samples.len(), run.samples.len());
    assert_eq!(samples[0]["service"], "catalog");
    assert_eq!(samples[0]["pods"], run.samples[0].pods);
}

#[test]
fn its_states_are_observed_from_its_calls_alone() {
    for seed in 1..4 {
        let (scenario, run, dataset) = simulated(seed);
        let calls = &dataset.edges[0].calls;
        let mut observed = observe(&dataset.table, calls, false);
        let fits = observed::fit(&mut observed, calls);
        assert!(fits[0].agreement >= 0.95, "seed {seed}: {:#?}", fits[0]);
        let (seen, truth) = (seen(&observed), truth(&scenario, &run));
        for (instance, expected) in &truth {
            let seen = &seen[instance];
            assert_eq!(
                seen.len(),
                expected.len(),
                "seed {seed}, {instance}: {seen:?}"
            );
            for (seen, expected) in seen.iter().zip(expected) {
                let within = match expected.1.as_str() {
                    "open" => 100_000_000,
                    "half_open" => 0,
                    _ => 300_000_000,
                };
                assert_eq!(seen.1, expected.1, "seed {seed}, {instance}");
                assert!(
                    (seen.0 - expected.0).abs() <= within,
                    "{instance}: {seen:?} {expected:?}"
                );
            }
        }
    }
}

#[test]
fn the_herd_is_trampled_twice_and_holds_when_scaled_out() {
    let (_, run, dataset) = simulated(1);
    let calls = &dataset.edges[0].calls;
    let mut observed = observe(&dataset.table, calls, false);
    observed::fit(&mut observed, calls);
    let attempts = herds::attempts(&dataset.table, calls, &(&observed).into());
    let results: Vec<AttemptResult> = attempts.iter().map(|it| it.result).collect();
    use AttemptResult::{Held, Trampled};
    assert_eq!(results, [Trampled, Trampled, Held]);
    let summary = &run.summary;
    assert!(
        summary.withheld * 2 > summary.requests && summary.served > 0,
        "{summary:?}"
    );
    let recovered = summary.recovered_at.expect("it recovers");
    assert!(
        (185_000_000_000..200_000_000_000).contains(&recovered),
        "{summary:?}"
    );
}

#[test]
fn the_thundering_herd_is_the_one_that_was_seen() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/scenarios/thundering-herd.toml"
    );
    let scenario = Scenario::from_toml(&fs::read_to_string(path).expect("the scenario"));
    let scenario = scenario.expect("a scenario");
    let mut withheld = Vec::new();
    for seed in 1..=10 {
        let run = simulate(&scenario, seed).expect("a run");
        let dataset = Dataset::of_rows(String::new(), run.rows(&scenario));
        let edge = dataset
            .edges
            .iter()
            .find(|it| it.is_named("shop-web", "catalog"));
        let calls = &edge.expect("the edge").calls;
        let mut observed = observe(&dataset.table, calls, false);
        observed::fit(&mut observed, calls);
        let attempts = herds::attempts(&dataset.table, calls, &(&observed).into());
        let results: Vec<AttemptResult> = attempts.iter().map(|it| it.result).collect();
        use AttemptResult::{Held, Trampled};
        assert_eq!(results, [Trampled, Trampled, Trampled, Held], "seed {seed}");
        // Until somebody acted, the autoscaler saw nothing.
        let before = 220_000_000_000;
        let pods = run
            .samples
            .iter()
            .filter(|it| it.at < before)
            .map(|it| it.pods);
        assert!(pods.clone().all(|it| it == 3), "seed {seed}");
        let wanted = 141.0 * before as f64 / 1e9;
        let sent = calls
            .start
            .partition_point(|&it| it - scenario.starts_at < before) as f64;
        withheld.push(1.0 - sent / wanted);
    }
    // And some 94 % of the shop's requests were withheld: fewer where one of its breakers is lucky.
    let mean = withheld.iter().sum::<f64>() / withheld.len() as f64;
    assert!((0.92..0.96).contains(&mean), "{withheld:?}");
}

#[test]
fn a_seed_gives_the_same_run_on_every_machine() {
    let (_, run, dataset) = simulated(1);
    let it = &run.summary;
    let fates = [
        it.requests,
        it.served,
        it.failed,
        it.withheld,
        it.shed,
        it.in_flight_at_end,
    ];
    assert_eq!(fates, [52_142, 15_244, 796, 36_100, 0, 2]);
    assert_eq!(
        (it.wasted_ns, it.pod_ns),
        (19_279_884_057, 1_605_000_000_000)
    );
    let sum = dataset
        .table
        .start
        .iter()
        .fold(0i64, |sum, it| sum.wrapping_mul(31).wrapping_add(*it));
    assert_eq!(
        (dataset.table.len(), sum),
        (48_120, -7_179_436_876_380_476_856)
    );
}

#[test]
fn its_csv_is_read_back_to_the_same_table() {
    let path = scratch("simulate").join("herd.csv");
    let csv = path.to_str().expect("a path");
    let told = json(&cli::run(&[
        "simulate", HERD, "--seed", "3", "--csv", csv, "--json",
    ]));
    let (_, run, dataset) = simulated(3);
    assert_eq!(told["requests"], run.summary.requests);
    assert_eq!(told["recovered"], true);
    let read = read(&path);
    let (made, read) = (&dataset.table, &read.table);
    assert_eq!(made.start, read.start);
    assert_eq!(made.duration, read.duration);
    assert_eq!(made.outcome, read.outcome);
    assert_eq!(made.kind, read.kind);
    for at in (0..made.len()).step_by(997) {
        let at = herdscope::spans::SpanIdx(at as u32);
        assert_eq!(made.span_id(at), read.span_id(at));
        assert_eq!(made.parent(at), read.parent(at));
    }
}

#[test]
fn a_scenario_that_is_wrong_is_refused_in_one_line() {
    let folder = scratch("simulate");
    let path = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).expect("a file");
        path.display().to_string()
    };
    let utf_16: Vec<u8> = "name = \"x\""
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for (scenario, expected) in [
        (
            path("wrong.toml", b"name = \"x\"\nduration = \"soon\"\n"),
            "herdscope: wrong.toml: line 2: duration is \u{201c}soon\u{201d}; expected a time",
        ),
        (
            path("utf-16.toml", &[b"\xff\xfe", &utf_16[..]].concat()),
            "herdscope: utf-16.toml: it is no text in UTF-8; save it as such",
        ),
        (
            folder.display().to_string(),
            "herdscope: simulate: this is a directory; name a file in it",
        ),
        (
            "no/such.toml".to_owned(),
            "herdscope: such.toml: there is no such file; check the path",
        ),
    ] {
        let output = cli::run(&["simulate", &scenario]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(
            error.starts_with(expected) && error.lines().count() == 1,
            "{error}"
        );
    }
}

#[test]
fn a_scenario_comes_from_standard_input() {
    let text = fs::read(HERD).expect("the scenario");
    let piped = json(&cli::run_with_input(&["simulate", "-", "--json"], &text));
    assert_eq!(piped["requests"], simulated(1).1.summary.requests);
}
