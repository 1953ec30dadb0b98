//! The settings that explain what was seen, beside those that were in use.

use herdscope::dataset::Dataset;
use herdscope::observed::{self, Fit, observe};
use serde_json::Value;

use crate::given::{fixture, herd, json, other_herd, read};
use crate::made;

fn range<'a>(fit: &'a Fit, setting: &str) -> (&'a str, &'a str) {
    let range = fit.ranges.iter().find(|it| it.setting == setting);
    let range = range.unwrap_or_else(|| panic!("no range of {setting}"));
    (&range.low, &range.high)
}

/// A number in front of its unit.
fn number(text: &str) -> f64 {
    let digits = text.trim_end_matches(|it: char| !it.is_ascii_digit());
    digits
        .parse()
        .unwrap_or_else(|_| panic!("no number: {text}"))
}

fn contains(fit: &Fit, setting: &str, value: f64) -> bool {
    let (low, high) = range(fit, setting);
    (number(low)..=number(high)).contains(&value)
}

fn check_herd(what: &str, dataset: &Dataset, truth: &Value) {
    let calls = &dataset.edges[0].calls;
    let mut observed = observe(&dataset.table, calls, false);
    let fits = observed::fit(&mut observed, calls);
    let best = fits.first().unwrap_or_else(|| panic!("{what}: no fit"));
    let told = format!("{what}: {best:#?}");
    assert!(best.agreement >= 0.95, "{told}");
    let config = |key: &str| truth["config"][key].as_f64().expect("a number");
    let open_ns = number(range(best, "open").1);
    let wait = open_ns / (config("open_s") * 1e9);
    assert!((0.98..=1.02).contains(&wait), "{told}");
    for (setting, key) in [
        ("window", "window"),
        ("min", "min_calls"),
        ("fail", "failure_rate"),
        ("probes", "half_open_calls"),
    ] {
        assert!(contains(best, setting, config(key)), "{setting} of {told}");
    }
}

#[test]
fn the_settings_of_the_sample_are_found() {
    check_herd("four", &herd(), &json("herd/four.truth.json"));
}

#[test]
fn the_settings_of_the_other_herd_are_found() {
    if let Some((dataset, truth)) = other_herd() {
        check_herd("one", &dataset, &truth);
    }
}

#[test]
fn the_settings_of_other_incidents_are_found() {
    for arguments in made::INCIDENTS {
        if let Some(incident) = made::incident(arguments) {
            check_herd(arguments, &incident.0, &incident.1);
        }
    }
}

#[test]
fn the_end_of_a_file_is_no_evidence() {
    // It ends seconds after a breaker has closed again, in the middle of the timeouts.
    let Some(incident) = made::incident("--seed 101 --dur 70 --scale-at 400") else {
        return;
    };
    check_herd("cut", &incident.0, &incident.1);
}

#[test]
fn recorded_rejections_narrow_the_wait() {
    let dataset = read(&fixture("herd/twins.csv.gz"));
    let edge = dataset
        .edges
        .iter()
        .find(|it| it.is_named("checkout", "inventory"))
        .expect("the edge");
    let mut observed = observe(&dataset.table, &edge.calls, false);
    let fits = observed::fit(&mut observed, &edge.calls);
    assert!(contains(&fits[0], "open", 10e9), "{:#?}", fits[0]);
}
