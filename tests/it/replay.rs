//! Replay and herds: what real breakers did, to the nanosecond, and the order of events.

use halfopen::{Config, State};
use herdscope::calls::Edge;
use herdscope::dataset::Dataset;
use herdscope::herds::{self, AttemptResult};
use herdscope::replay::{self, Options, Replay};
use serde_json::Value;

use crate::given::{dataset, fixture, herd, json, other_herd, read};

fn run(edge: &Edge, settings: &str, shared: bool) -> Replay {
    let config: Config = settings.parse().expect("settings");
    replay::replay(&edge.calls, &Options { config, shared })
}

/// Instance, time, and the states left and entered of every transition, by time.
fn transitions(replay: &Replay) -> Vec<(i64, String, String, String)> {
    let mut all: Vec<_> = replay
        .breakers
        .iter()
        .flat_map(|breaker| {
            breaker.transitions.iter().map(|it| {
                let instance = breaker.instance.clone().unwrap_or_default();
                (
                    it.at,
                    instance,
                    it.from.as_str().to_owned(),
                    it.to.as_str().to_owned(),
                )
            })
        })
        .collect();
    all.sort();
    all
}

/// The transitions that were written down, with the keys they have there.
fn truth(
    json: &Value,
    instance: impl Fn(&Value) -> String,
    from: &str,
) -> Vec<(i64, String, String, String)> {
    let text = |it: &Value| it.as_str().expect("a string").to_lowercase();
    let mut all: Vec<_> = json["transitions"]
        .as_array()
        .expect("transitions")
        .iter()
        .map(|it| {
            let at = it["t_ns"].as_i64().expect("a time");
            (at, instance(it), text(&it[from]), text(&it["to"]))
        })
        .collect();
    all.sort();
    all
}

fn herd_settings(truth: &Value) -> String {
    let it = &truth["config"];
    format!(
        "window={},min={},fail=50%,open={}s,probes={}",
        it["window"], it["min_calls"], it["open_s"], it["half_open_calls"]
    )
}

fn check_herd(dataset: &Dataset, json: &Value) {
    let edge = &dataset.edges[0];
    let replay = run(edge, &herd_settings(json), false);
    let expected = truth(json, |it| format!("shop-web-{}", it["client"]), "frm");
    assert_eq!(transitions(&replay), expected);
    assert_eq!((replay.withheld, replay.outcome_unknown), (0, 0));
    assert_eq!(
        edge.calls.len() as u64,
        json["calls"].as_u64().expect("a count")
    );
    check_attempts(dataset, edge, &replay, json);
}

fn check_attempts(dataset: &Dataset, edge: &Edge, replay: &Replay, json: &Value) {
    let found = herds::attempts(&dataset.table, &edge.calls, &replay.into());
    let expected = json["attempts"].as_array().expect("attempts");
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let found = serde_json::to_value(found).expect("an attempt is JSON");
        for (key, expected) in expected.as_object().expect("an attempt") {
            let of_key = match key.as_str() {
                "instances" => found[key].as_array().expect("instances").len().into(),
                _ => found[key].clone(),
            };
            assert_eq!(&of_key, expected, "{key}");
        }
    }
}

#[test]
fn four_instances_to_the_nanosecond() {
    let json = json("herd/four.truth.json");
    assert_eq!(json["transitions"].as_array().map(Vec::len), Some(36));
    check_herd(&herd(), &json);
}

#[test]
fn breakers_with_recorded_rejections_to_the_nanosecond() {
    let json = json("herd/twins.truth.json");
    let dataset = read(&fixture("herd/twins.csv.gz"));
    let edge = dataset
        .edges
        .iter()
        .find(|it| it.is_named("checkout", "inventory"))
        .expect("the edge");
    let settings = "window=5,min=5,fail=100%,open=10s,probes=2,judge=first-failure";
    let replay = run(edge, settings, false);
    let expected = truth(
        &json,
        |it| it["pod"].as_str().expect("a pod").to_owned(),
        "from_",
    );
    assert_eq!(expected.len(), 20);
    assert_eq!(transitions(&replay), expected);
    // 154 rejections were recorded; the replayed breaker refuses most of them, too, and of the
    // others nobody knows how they would have ended.
    assert_eq!(replay.withheld + replay.outcome_unknown, 154);
}

#[test]
fn one_instance_to_the_nanosecond() {
    if let Some((dataset, truth)) = other_herd() {
        assert_eq!(truth["transitions"].as_array().map(Vec::len), Some(9));
        check_herd(&dataset, &truth);
    }
}

/// Runs settings over calls written as spans, and tells the transitions as `ms from>to`.
fn check(spans: &str, settings: &str, expected: &[&str]) -> Replay {
    let dataset = dataset(spans);
    let replay = run(&dataset.edges[0], settings, true);
    let told: Vec<String> = transitions(&replay)
        .into_iter()
        .map(|(at, _, from, to)| format!("{} {from}>{to}", at / 1_000_000))
        .collect();
    assert_eq!(told, expected, "{spans}");
    replay
}

#[test]
fn at_one_time_settles_come_before_acquires() {
    // The third call starts when the second failure settles: it meets an open breaker.
    let replay = check(
        "a 1 - web client 0+10 failed >api
         b 1 - web client 5+15 failed >api
         c 1 - web client 20+5 >api",
        "window=2,min=2,fail=50%,open=1s,probes=1",
        &["20 closed>open"],
    );
    assert_eq!(
        (replay.rejected.to_vec(), replay.withheld),
        (vec![false, false, true], 1)
    );
}

#[test]
fn a_call_of_no_duration_settles_in_its_acquires_place() {
    // It starts at the time at which another settles, and comes after it.
    check(
        "a 1 - web client 0+20 failed >api
         b 1 - web client 20+0 failed >api
         c 1 - web client 20+5 >api",
        "window=2,min=2,fail=50%,open=1s,probes=1",
        &["20 closed>open"],
    );
}

#[test]
fn rejected_calls_have_no_outcome() {
    let replay = check(
        "a 1 - web client 0+10 failed >api
         b 1 - web client 20+10 >api
         c 1 - web client 1011+10 >api
         d 1 - web client 1030+10 >api",
        "window=1,min=1,fail=50%,open=1s,probes=1",
        &[
            "10 closed>open",
            "1011 open>half_open",
            "1021 half_open>closed",
        ],
    );
    assert_eq!(replay.rates.len(), 3);
}

#[test]
fn a_recorded_rejection_gives_its_permit_back() {
    // As a probe it must neither close nor open the breaker, nor keep the only permit.
    let replay = check(
        "a 1 - web client 0+10 failed >api
         b 1 - web client 1010+1 rejected >api
         c 1 - web client 1020+10 >api",
        "window=1,min=1,fail=50%,open=1s,probes=1",
        &[
            "10 closed>open",
            "1010 open>half_open",
            "1030 half_open>closed",
        ],
    );
    assert_eq!(replay.outcome_unknown, 1);
}

#[test]
fn each_instance_has_its_own_breaker() {
    let spans = "a 1 - web client 0+10 failed >api @w-0
         b 1 - web client 1+10 >api @w-1
         c 1 - web client 20+10 >api @w-0
         d 1 - web client 21+10 >api @w-1";
    let dataset = dataset(spans);
    let settings = "window=2,min=1,fail=50%,open=1s,probes=1";
    let own = run(&dataset.edges[0], settings, false);
    assert!(own.per_instance);
    assert_eq!(own.rejected, [false, false, true, false]);
    let shared = run(&dataset.edges[0], settings, true);
    assert!(!shared.per_instance);
    assert_eq!(shared.rejected, [false, false, true, true]);
}

#[test]
fn bands_have_no_gaps() {
    let dataset = herd();
    let replay = run(
        &dataset.edges[0],
        "window=100,min=20,fail=50%,open=60s,probes=10",
        false,
    );
    for breaker in &replay.breakers {
        let bands = replay::bands(breaker, replay.from, replay.to);
        assert_eq!((bands[0].0, bands[0].2), (replay.from, State::Closed));
        assert_eq!(bands[bands.len() - 1].1, replay.to);
        assert!(bands.windows(2).all(|pair| pair[0].1 == pair[1].0));
    }
}

/// The attempts of a breaker that a single failure opens for a second.
fn attempts(spans: &str) -> Vec<herds::Attempt> {
    let dataset = dataset(spans);
    let edge = &dataset.edges[0];
    let replay = run(edge, "window=1,min=1,fail=50%,open=1s,probes=1", true);
    herds::attempts(&dataset.table, &edge.calls, &(&replay).into())
}

#[test]
fn failed_probe_phases_are_refused_attempts() {
    let spans = "a 1 - web client 0+10 failed >api
         b 1 - web client 1010+10 failed >api
         c 1 - web client 2030+10 timed_out >api
         d 1 - web client 3050+10 >api";
    let attempts = attempts(spans);
    let told: Vec<_> = attempts
        .iter()
        .map(|it| {
            (
                it.half_open_ns / 1_000_000,
                it.probes,
                it.probes_ok,
                it.timed_out,
                it.result,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (1010, 1, 0, 0, AttemptResult::Refused),
            (2030, 1, 0, 1, AttemptResult::Refused),
            (3050, 1, 1, 0, AttemptResult::Held),
        ]
    );
    assert_eq!(attempts[1].first_timeout_ns, Some(2_040_000_000));
    assert_eq!((attempts[0].close_ns, attempts[0].rate_after), (None, None));
    // The last call is the end of the file: nobody knows whether it held.
    assert_eq!(attempts[2].detail.seen_ns, Some(0));
    let story = attempts[2].story().join(" ");
    assert!(
        story.contains("whether it held for longer is not seen"),
        "{story}"
    );
}

#[test]
fn an_attempt_that_is_seen_for_twenty_seconds_held() {
    let spans = "a 1 - web client 0+10 failed >api
         b 1 - web client 1010+10 >api
         c 1 - web client 21000+20 >api";
    let attempts = attempts(spans);
    let told: Vec<_> = attempts
        .iter()
        .map(|it| (it.result, it.detail.seen_ns))
        .collect();
    assert_eq!(told, [(AttemptResult::Held, None)]);
}

#[test]
fn an_edge_without_calls_gives_an_empty_replay() {
    let dataset = Dataset::default();
    let config = Config::default();
    let replay = replay::replay(
        dataset.calls(None),
        &Options {
            config,
            shared: false,
        },
    );
    assert_eq!((replay.withheld, replay.rates.len()), (0, 0));
    assert!(herds::attempts(&dataset.table, dataset.calls(None), &(&replay).into()).is_empty());
}
