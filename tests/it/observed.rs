//! What breakers evidently did, beside what they did.

use std::collections::{BTreeMap, BTreeSet};

use herdscope::calls::Edge;
use herdscope::dataset::Dataset;
use herdscope::herds::{self, AttemptResult};
use herdscope::observed::{self, Observed, Seen, observe};
use herdscope::replay::{Options, replay};
use serde_json::Value;

use crate::given::{dataset, fixture, herd, json, other_herd, read};
use crate::made;

const MS: i64 = 1_000_000;

/// The transitions of one breaker: when, to what.
type Changes = Vec<(i64, String)>;

fn seen(observed: &Observed) -> BTreeMap<String, Changes> {
    let of = |states: &[herdscope::observed::Stretch]| {
        let mut changes = Changes::new();
        let mut last = Seen::Closed;
        for stretch in states {
            if stretch.state != last {
                changes.push((stretch.from, stretch.state.as_str().to_owned()));
            }
            last = stretch.state;
        }
        changes
    };
    observed
        .breakers
        .iter()
        .map(|it| (it.instance.clone().unwrap_or_default(), of(&it.states)))
        .collect()
}

fn truth(json: &Value, instance: impl Fn(&Value) -> String) -> BTreeMap<String, Changes> {
    let mut truth: BTreeMap<String, Changes> = BTreeMap::new();
    for it in json["transitions"].as_array().expect("transitions") {
        let at = it["t_ns"].as_i64().expect("a time");
        let to = it["to"].as_str().expect("a state").to_lowercase();
        truth.entry(instance(it)).or_default().push((at, to));
    }
    truth
}

/// What differs between what was seen and the truth: kinds and numbers of transitions, and times by
/// more than `open`, `closed`; half-open to the nanosecond.
fn differences(
    seen: &BTreeMap<String, Changes>,
    truth: &BTreeMap<String, Changes>,
    (half_open, open, closed): (i64, i64, i64),
) -> Vec<String> {
    let mut differences = Vec::new();
    let nothing = Changes::new();
    let instances: BTreeSet<&String> = seen.keys().chain(truth.keys()).collect();
    for instance in instances {
        let expected = truth.get(instance).unwrap_or(&nothing);
        let found = seen.get(instance).unwrap_or(&nothing);
        let states =
            |changes: &Changes| -> Vec<String> { changes.iter().map(|it| it.1.clone()).collect() };
        if states(found) != states(expected) {
            differences.push(format!(
                "{instance}: {:?} instead of {:?}",
                states(found),
                states(expected)
            ));
            continue;
        }
        for ((found, state), (expected, _)) in found.iter().zip(expected) {
            let bound = match state.as_str() {
                "half_open" => half_open,
                "open" => open,
                _ => closed,
            };
            if (found - expected).abs() > bound {
                differences.push(format!(
                    "{instance}: {state} {} ms late",
                    (found - expected) as f64 / MS as f64
                ));
            }
        }
    }
    differences
}

/// Each opening lies in the stretch of time in which the calls alone put it.
fn check_openings(observed: &Observed, truth: &BTreeMap<String, Changes>) {
    for breaker in &observed.breakers {
        let instance = breaker.instance.clone().unwrap_or_default();
        let opened = truth.get(&instance).into_iter().flatten();
        let opened = opened.filter(|it| it.1 == "open");
        let seen = breaker.states.iter().filter(|it| it.state == Seen::Open);
        for (stretch, &(at, _)) in seen.zip(opened) {
            assert!(
                (stretch.from..=stretch.latest).contains(&at),
                "{instance}: {stretch:?}, {at}"
            );
        }
    }
}

/// As many attempts as there were, with the same results, closings within 300 ms.
fn check_attempts(what: &str, dataset: &Dataset, observed: &Observed, json: &Value) {
    let calls = &dataset.edges[0].calls;
    let found = herds::attempts(&dataset.table, calls, &observed.into());
    let found: Vec<_> = found
        .iter()
        .filter(|it| it.result != AttemptResult::Refused)
        .collect();
    let expected = json["attempts"].as_array().expect("attempts");
    assert_eq!(found.len(), expected.len(), "{what}: {found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        let result = serde_json::to_value(found.result).expect("JSON");
        assert_eq!(result, expected["result"], "{what}: {found:#?}");
        let closed = expected["close_ns"].as_i64().expect("a time");
        let off = found.close_ns.map(|it| (it - closed).abs());
        assert!(off.is_some_and(|it| it < 300 * MS), "{what}: {found:#?}");
    }
}

fn check_herd(what: &str, dataset: &Dataset, json: &Value) {
    let edge = &dataset.edges[0];
    let mut observed = observe(&dataset.table, &edge.calls, false);
    let truth = truth(json, |it| format!("shop-web-{}", it["client"]));
    check_openings(&observed, &truth);
    observed::fit(&mut observed, &edge.calls);
    let estimate = observed::withheld(&observed).expect("something was withheld");
    let withheld = json["withheld"].as_f64().expect("a count");
    let [low, mid, high] = estimate.calls;
    assert!(
        low <= withheld && withheld <= high,
        "{what}: {withheld}, {estimate:?}"
    );
    assert!(
        (0.75..1.25).contains(&(mid / withheld)),
        "{what}: {withheld}, {estimate:?}"
    );
    check_attempts(what, dataset, &observed, json);
    let bounds = (0, 100 * MS, 300 * MS);
    let differences = differences(&seen(&observed), &truth, bounds);
    assert!(differences.is_empty(), "{what}: {differences:#?}");
    assert_eq!(
        observed.probes.map(u64::from),
        json["config"]["half_open_calls"].as_u64(),
        "{what}"
    );
}

#[test]
fn every_transition_of_the_sample_is_seen_and_none_is_made_up() {
    check_herd("four", &herd(), &json("herd/four.truth.json"));
}

#[test]
fn the_other_herd_is_seen_as_well() {
    if let Some((dataset, truth)) = other_herd() {
        check_herd("one", &dataset, &truth);
    }
}

#[test]
fn incidents_of_other_seeds_and_settings_are_seen() {
    for arguments in made::INCIDENTS {
        if let Some(incident) = made::incident(arguments) {
            check_herd(arguments, &incident.0, &incident.1);
        }
    }
}

#[test]
fn recorded_rejections_tell_the_states() {
    let json = json("herd/twins.truth.json");
    let dataset = read(&fixture("herd/twins.csv.gz"));
    let edge: &Edge = dataset
        .edges
        .iter()
        .find(|it| it.is_named("checkout", "inventory"))
        .expect("the edge");
    let observed = observe(&dataset.table, &edge.calls, false);
    let (seen, truth) = (
        seen(&observed),
        truth(&json, |it| it["pod"].as_str().expect("a pod").to_owned()),
    );
    for (place, (instance, expected)) in truth.iter().enumerate() {
        let found = &seen[instance];
        let calls = &edge.calls;
        for ((found, state), (expected, expected_state)) in found.iter().zip(expected) {
            assert_eq!(state, expected_state, "{instance}");
            // Times differ at most where no call tells them apart: between the two none was made
            // where an open breaker is at issue, and none was refused where a closed one is.
            let between = (*found.min(expected)..*found.max(expected)).clone();
            let tells = (0..calls.len()).any(|at| {
                calls.instance[at] as usize == place
                    && between.contains(&calls.start[at])
                    && observed.refused[at] == (state == "closed")
            });
            assert!(
                !tells,
                "{instance}: {state} at {found} instead of {expected}"
            );
            assert!(state != "half_open" || found == expected, "{instance}");
        }
        assert_eq!(found.len(), expected.len(), "{instance}");
    }
}

/// Calls of one client to one service: starts and durations in milliseconds, and whether they timed out.
fn calls_of(calls: &[(i64, i64, bool)]) -> Dataset {
    let lines: String = calls
        .iter()
        .enumerate()
        .map(|(at, (start, took, failed))| {
            let outcome = if *failed { "timed_out" } else { "" };
            format!("t{at:05} s - web client {start}+{took} {outcome} @web-0 >api\n")
        })
        .collect();
    dataset(&lines)
}

/// The states of its breaker.
fn told(calls: &[(i64, i64, bool)]) -> Vec<(i64, &'static str)> {
    let dataset = calls_of(calls);
    let observed = observe(&dataset.table, &dataset.edges[0].calls, false);
    let states = &observed.breakers[0].states;
    states
        .iter()
        .map(|it| (it.from / MS, it.state.as_str()))
        .collect()
}

/// The states after the settings that explain them were looked for.
fn weighed(calls: &[(i64, i64, bool)]) -> Vec<(i64, &'static str, f64)> {
    let dataset = calls_of(calls);
    let calls = &dataset.edges[0].calls;
    let mut observed = observe(&dataset.table, calls, false);
    observed::fit(&mut observed, calls);
    let states = &observed.breakers[0].states;
    states
        .iter()
        .map(|it| (it.from / MS, it.state.as_str(), it.sure))
        .collect()
}

/// A call each `gap` ms on average, irregularly, from `from` to `to`.
fn steady(from: i64, to: i64, gap: i64, failed: bool) -> Vec<(i64, i64, bool)> {
    let mut calls = Vec::new();
    let (mut at, mut noise) = (from, 7u64);
    while at < to {
        calls.push((at, 5, failed));
        noise = noise
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        at += 1 + (noise >> 33) as i64 % (2 * gap);
    }
    calls
}

#[test]
fn what_thin_traffic_does_not_tell_is_unknown() {
    // Twenty calls are too few for anything.
    assert_eq!(told(&steady(0, 20_000, 1_000, true)), [(0, "unknown")]);
    // A pause after good results is one of the caller's.
    let mut paused = steady(0, 10_000, 20, false);
    paused.extend(steady(60_000, 70_000, 20, false));
    assert_eq!(told(&paused), [(0, "closed")]);
    // After bad ones it is none...
    let mut opened = steady(0, 10_000, 20, false);
    opened.extend(steady(10_000, 11_000, 20, true));
    opened.extend(steady(60_000, 70_000, 20, false));
    let states: Vec<&str> = told(&opened).iter().map(|it| it.1).collect();
    assert!(states.contains(&"open"), "{states:?}");
    // ...unless the caller pauses as often after good ones: a batch.
    let mut batch = Vec::new();
    for minute in 0..10 {
        batch.extend(steady(
            minute * 60_000,
            minute * 60_000 + 2_000,
            10,
            minute == 4,
        ));
    }
    let states: Vec<&str> = told(&batch).iter().map(|it| it.1).collect();
    assert_eq!(states, ["closed", "unknown", "closed"]);
}

#[test]
fn a_wait_that_may_hide_between_rare_calls_is_unknown() {
    // A call in ten seconds, and a hundred seconds of failures: a breaker may have been open in them.
    let mut rare = steady(0, 1_000_000, 10_000, false);
    rare.extend(steady(1_000_000, 1_100_000, 10_000, true));
    rare.extend(steady(1_100_000, 2_000_000, 10_000, false));
    let states = told(&rare);
    let names: Vec<&str> = states.iter().map(|it| it.1).collect();
    assert_eq!(names, ["closed", "unknown", "closed"], "{states:?}");
    assert!((1_000_000..1_100_000).contains(&states[1].0), "{states:?}");
    // Without failures nothing can have opened it.
    assert_eq!(told(&steady(0, 2_000_000, 10_000, false)), [(0, "closed")]);
}

#[test]
fn calls_of_one_instant_leave_no_silence() {
    // Their results are in when the last of them begins.
    let at_once: Vec<(i64, i64, bool)> = (0..40).map(|_| (0, 0, true)).collect();
    assert_eq!(told(&at_once), []);
    let later: Vec<(i64, i64, bool)> = at_once.iter().copied().chain([(9, 0, true)]).collect();
    assert_eq!(told(&later), [(0, "unknown")]);
    // Ten a second by a clock of seconds, of which half fail: its step is no silence for sure.
    let coarse: Vec<(i64, i64, bool)> = (0..600)
        .map(|at| (at / 10 * 1_000, 0, at % 2 == 0))
        .collect();
    assert_eq!(told(&coarse), [(0, "unknown")]);
}

#[test]
fn who_waits_for_each_result_is_not_held_back() {
    // One thread: its calls hang for thirty seconds, and after each it goes on as ever.
    let mut calls = Vec::new();
    let mut at = 0;
    while at < 600_000 {
        let hangs = (200_000..400_000).contains(&at);
        let took = if hangs { 30_000 } else { 50 };
        calls.push((at, took, hangs));
        at += took + 50 + at % 97;
    }
    assert_eq!(told(&calls), [(0, "closed")]);
}

#[test]
fn a_job_that_fails_each_minute_is_half_sure_at_most() {
    let job = |minute: i64| (0..30).map(move |at| (minute * 60_000 + at * 100, 80, at >= 12));
    let states = weighed(&(0..8).flat_map(job).collect::<Vec<_>>());
    assert!(states.iter().any(|it| it.1 == "open"), "{states:?}");
    for (from, state, sure) in states {
        assert!(
            state == "closed" || sure <= 0.5,
            "{state} at {from} ms: {sure}"
        );
    }
}

#[test]
fn a_round_that_the_file_cuts_ends_with_it() {
    let mut calls = Vec::new();
    for begin in [0, 100_000] {
        calls.extend(steady(begin, begin + 38_000, 20, false));
        calls.extend(steady(begin + 38_000, begin + 39_000, 20, true));
        // Ten probes, and then their results.
        calls.extend((0..10).map(|at| (begin + 99_000 + at * 20, 600, false)));
    }
    // The second round has half of them.
    calls.truncate(calls.len() - 5);
    let dataset = calls_of(&calls);
    let observed = observe(&dataset.table, &dataset.edges[0].calls, false);
    let last = observed.breakers[0].states.last().unwrap();
    assert_eq!((last.state, last.to), (Seen::HalfOpen, observed.to));
}

#[test]
fn what_no_settings_explain_is_no_breaker() {
    // Bursts each minute of which half fails: no window trips at the end of each and not before.
    let mut calls = Vec::new();
    for minute in 0..20i64 {
        let burst = steady(
            minute * 60_000,
            minute * 60_000 + 2_000 + minute * 31,
            10,
            false,
        );
        let fails = |at: usize| (at * 7 + minute as usize) % 13 < 6;
        calls.extend(
            burst
                .iter()
                .enumerate()
                .map(|(at, it)| (it.0, it.1, fails(at))),
        );
    }
    assert!(
        told(&calls).iter().any(|it| it.1 == "open"),
        "the silences are seen"
    );
    let states = weighed(&calls);
    assert!(
        states
            .iter()
            .all(|it| ["closed", "unknown"].contains(&it.1)),
        "{states:?}"
    );
}

fn config(settings: &str) -> halfopen::Config {
    settings.parse().expect("settings")
}

/// The calls that a breaker with these settings lets through, and its transitions, of which there are some.
fn behind(settings: &str, asked: &[(i64, i64, bool)]) -> (Dataset, Changes) {
    let options = Options {
        config: config(settings),
        shared: false,
    };
    let replay = replay(&calls_of(asked).edges[0].calls, &options);
    let sent: Vec<(i64, i64, bool)> = asked
        .iter()
        .zip(&replay.rejected)
        .filter(|it| !it.1)
        .map(|it| *it.0)
        .collect();
    let transitions = replay.breakers[0].transitions.iter();
    let truth: Changes = transitions
        .map(|it| (it.at, it.to.as_str().to_owned()))
        .collect();
    assert!(sent.len() < asked.len() && truth.len() > 4);
    (calls_of(&sent), truth)
}

#[test]
fn windows_of_seconds_are_explained_in_buckets_of_a_second_and_of_a_tenth() {
    // Thirty calls a second, of which ever more fail for two minutes.
    let failed = |at: i64| (100_000..220_000).contains(&at) && at * 7919 % 120_000 < at - 100_000;
    let asked: Vec<(i64, i64, bool)> = steady(0, 600_000, 33, false)
        .into_iter()
        .map(|(at, ..)| (at, 40 + at % 50, failed(at)))
        .collect();
    let explained = |settings: &str| {
        let (dataset, _) = behind(settings, &asked);
        let calls = &dataset.edges[0].calls;
        let mut observed = observe(&dataset.table, calls, false);
        let fits = observed::fit(&mut observed, calls);
        let of_time = |fit: &observed::Fit| fit.settings.to_string().contains("s/");
        let fit = fits.into_iter().find(of_time).expect("a window of time");
        assert!(fit.agreement >= 1.0, "{fit:#?}");
        fit
    };
    let of_a_second = "window=60s/1s,min=20,fail=30%,open=20s,probes=10";
    assert_eq!(explained(of_a_second).settings, config(of_a_second));
    // Here others explain it as well, and are more usual.
    let of_a_tenth = explained("window=60s/6s,min=20,fail=30%,open=20s,probes=10");
    let window = &of_a_tenth.ranges[0];
    let seconds = |text: &str| text.trim_end_matches('s').parse::<u32>().expect("seconds");
    assert!(
        (seconds(&window.low)..=seconds(&window.high)).contains(&60),
        "{window:?}"
    );
}

#[test]
fn openings_on_slow_calls_are_seen_and_explained() {
    // Thirty calls a second, which take three seconds for two minutes: none fails.
    let took = |at: i64| {
        if (100_000..220_000).contains(&at) {
            2_400 + at * 7 % 1_500
        } else {
            40 + at % 50
        }
    };
    let asked: Vec<(i64, i64, bool)> = steady(0, 400_000, 33, false)
        .into_iter()
        .map(|(at, ..)| (at, took(at), false))
        .collect();
    let settings = "window=100,min=20,slow=50%@2s,open=60s,probes=10";
    let (dataset, truth) = behind(settings, &asked);
    let calls = &dataset.edges[0].calls;
    let mut observed = observe(&dataset.table, calls, false);
    let fits = observed::fit(&mut observed, calls);
    let told = seen(&observed).remove("web-0").expect("its states");
    assert_eq!(told, truth);
    assert_eq!(
        (fits[0].agreement, &fits[0].settings),
        (1.0, &config(settings))
    );
    let slow = fits[0].ranges.iter().find(|it| it.setting == "slow");
    let slow = slow.expect("a range of the slow calls");
    assert!(
        slow.low.contains('@') && slow.high.contains('@'),
        "{slow:?}"
    );
}

#[test]
fn refusals_without_a_word_are_told_from_a_service_that_is_down() {
    // Thirty calls a second of 40 ms, of which all fail from 50 s to 90 s.
    let asked: Vec<(i64, i64, bool)> = steady(0, 200_000, 33, false)
        .into_iter()
        .map(|(at, ..)| (at, 40 + at % 9, (50_000..90_000).contains(&at)))
        .collect();
    let all = calls_of(&asked);
    let config: halfopen::Config = "window=100,min=20,fail=50%,open=20s,probes=10"
        .parse()
        .expect("settings");
    let replay = replay(
        &all.edges[0].calls,
        &Options {
            config,
            shared: false,
        },
    );
    // A span of a call, and with it the server's, unless it never got there.
    let file = |never: &dyn Fn(usize) -> bool| -> Dataset {
        let line = |(at, (start, took, failed)): (usize, &(i64, i64, bool))| match never(at) {
            true => format!("t{at:05} 1 - web client {start}+1 failed @web-0 >api\n"),
            false => format!(
                "t{at:05} 1 - web client {start}+{took} {} @web-0 >api\nt{at:05} 2 1 api server {}+20\n",
                if *failed { "failed" } else { "" },
                start + 5,
            ),
        };
        dataset(&asked.iter().enumerate().map(line).collect::<String>())
    };
    let sidecar = file(&|at| replay.rejected[at]);
    let observed = observe(&sidecar.table, &sidecar.edges[0].calls, false);
    assert_eq!(replay.rejected, observed.refused);
    let truth: Changes = replay.breakers[0]
        .transitions
        .iter()
        .map(|it| (it.at, it.to.as_str().to_owned()))
        .collect();
    assert_eq!(seen(&observed)["web-0"], truth);

    // Nobody guards this one: it just is not there for forty seconds.
    let down = file(&|at| asked[at].2);
    let observed = observe(&down.table, &down.edges[0].calls, false);
    assert!(!observed.refused.contains(&true));
    assert!(seen(&observed)["web-0"].is_empty());
}

#[test]
fn an_instance_that_stops_or_begins_while_others_call_is_not_told_closed() {
    let of = |instance: &str, calls: &[(i64, i64, bool)]| -> String {
        let line = |(start, took, failed): &(i64, i64, bool)| {
            let outcome = if *failed { "timed_out" } else { "" };
            format!("{instance}{start} s - web client {start}+{took} {outcome} @{instance} >api\n")
        };
        calls.iter().map(line).collect()
    };
    let all = steady(0, 100_000, 20, false);
    let mut tripped = steady(0, 30_000, 20, false);
    tripped.extend(steady(30_000, 31_000, 20, true));
    let gone = steady(0, 40_000, 20, false);
    let late = steady(60_000, 100_000, 20, false);
    let text = [
        of("all", &all),
        of("gone", &gone),
        of("late", &late),
        of("tripped", &tripped),
    ];
    let dataset = dataset(&text.concat());
    let observed = observe(&dataset.table, &dataset.edges[0].calls, false);
    let expected: [(&str, &[&str]); 4] = [
        ("all", &["closed"]),
        ("gone", &["closed", "unknown"]),
        ("late", &["unknown", "closed"]),
        ("tripped", &["closed", "open"]),
    ];
    for (breaker, (instance, states)) in observed.breakers.iter().zip(expected) {
        assert_eq!(breaker.instance.as_deref(), Some(instance));
        let told: Vec<&str> = breaker.states.iter().map(|it| it.state.as_str()).collect();
        assert_eq!(told, states, "{instance}");
    }
    // It never resumed, so it may as well be gone.
    let last = observed.breakers[3].states[1];
    assert!(last.sure <= 0.5, "{last:?}");
}

#[test]
fn an_edge_that_nobody_calls_any_more_stays_open_while_the_file_goes_on() {
    let of = |callee: &str, calls: &[(i64, i64, bool)]| -> String {
        let line = |(start, took, failed): &(i64, i64, bool)| {
            let outcome = if *failed { "timed_out" } else { "" };
            format!("{callee}{start} s - web client {start}+{took} {outcome} @web-0 >{callee}\n")
        };
        calls.iter().map(line).collect()
    };
    let mut tripped = steady(0, 60_000, 20, false);
    tripped.extend(steady(60_000, 61_000, 20, true));
    let others = steady(0, 90_000, 30, false);
    let dataset = dataset(&[of("api", &tripped), of("db", &others)].concat());
    let edge = dataset.edges.iter().find(|it| it.to == "api").unwrap();
    let mut observed = observe(&dataset.table, &edge.calls, false);
    observed::fit(&mut observed, &edge.calls);
    let states = &observed.breakers[0].states;
    let told: Vec<&str> = states.iter().map(|it| it.state.as_str()).collect();
    assert_eq!(told, ["closed", "open"]);
    assert_eq!(
        states[1].to / 1_000_000_000,
        others.last().unwrap().0 / 1_000
    );
    // It may as well not be wanted any more.
    let withheld = observed::withheld(&observed).unwrap();
    let [low, mid, high] = withheld.share;
    assert!(
        low == 0.0 && (0.29..0.36).contains(&mid) && high < 0.4,
        "{withheld:?}"
    );
}

#[test]
fn a_growing_share_after_the_probes_is_a_ramp() {
    let mut calls = steady(0, 30_000, 10, false);
    calls.extend(steady(30_000, 30_500, 10, true));
    // Five probes, their results, a tenth, a quarter, a half, everything.
    calls.extend((0..5).map(|at| (90_000 + at, 40, false)));
    for (from, gap) in [(90_050, 100), (95_000, 40), (100_000, 20), (105_000, 10)] {
        let to = if gap == 10 { 140_000 } else { from + 5_000 };
        calls.extend(steady(from, to, gap, false));
    }
    let told = told(&calls);
    let states: Vec<&str> = told.iter().map(|it| it.1).collect();
    assert_eq!(
        states,
        ["closed", "open", "half_open", "ramping", "closed"],
        "{told:?}"
    );
    let over = told[4].0;
    assert!((104_000..106_000).contains(&over), "{told:?}");
    // The settings that explain it have a ramp as long.
    let dataset = calls_of(&calls);
    let calls = &dataset.edges[0].calls;
    let mut observed = observe(&dataset.table, calls, false);
    let fits = observed::fit(&mut observed, calls);
    let settings = fits[0].settings.to_string();
    assert!(settings.ends_with(",ramp=15s"), "{settings}");
}
