//! `herdscope herds`: the recovery attempts, what the breakers evidently did, and the settings that
//! explain it.

use clap::Args;
use halfopen::Config;
use herdscope::calls::Edge;
use herdscope::dataset::Dataset;
use herdscope::format;
use herdscope::herds::{self, Attempt, AttemptResult};
use herdscope::observed::{self, Fit, Observed, Seen, Withheld};
use herdscope::panes;
use herdscope::replay::{self, Replay};
use herdscope::scene;
use serde_json::{Map, Value, json};

use super::edge::{self, Asked};
use super::{Failure, ns, print, print_json};

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    pub asked: Asked,
    /// Settings to replay, as in window=100,min=20,fail=50%,open=60s,probes=10, or the name of a
    /// preset. Without them the states are told from the calls alone.
    #[arg(long, value_name = "TEXT")]
    breaker: Option<String>,
}

/// All that is said of an edge.
struct Answer<'a> {
    edge: &'a Edge,
    /// With settings, the replay; its states then stand for the observed ones.
    replayed: Option<(Config, Replay)>,
    observed: Observed,
    attempts: Vec<Attempt>,
    withheld: Option<Withheld>,
    fits: Vec<Fit>,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let config = options.breaker.as_deref().map(edge::config).transpose()?;
    let dataset = options.asked.read()?;
    let json = options.asked.files.json;
    if dataset.table.is_empty() {
        return options.asked.answer_nothing(&dataset, &nothing(&dataset));
    }
    let edge = options.asked.find(&dataset)?;
    let answer = answer(&dataset, edge, config, options.asked.shared());
    if json {
        print_json(&as_json(&dataset, &answer))
    } else {
        print(&as_text(&answer))
    }
}

fn answer<'a>(
    dataset: &Dataset,
    edge: &'a Edge,
    config: Option<Config>,
    shared: bool,
) -> Answer<'a> {
    let mut observed = observed::observe(&dataset.table, &edge.calls, shared);
    let fits = observed::fit(&mut observed, &edge.calls);
    let withheld = observed::withheld(&observed);
    let replayed = config.map(|config| {
        let how = replay::Options { config, shared };
        let replay = replay::replay(&edge.calls, &how);
        (how.config, replay)
    });
    let timelines = match &replayed {
        Some((_, replay)) => replay.into(),
        None => (&observed).into(),
    };
    let attempts = herds::attempts(&dataset.table, &edge.calls, &timelines);
    Answer {
        edge,
        replayed,
        observed,
        attempts,
        withheld,
        fits,
    }
}

/// A file with a header and no rows is an answer, too.
fn nothing(dataset: &Dataset) -> Value {
    json!({
        "edge": null,
        "attempts": [],
        "withheld_share": null,
        "observed": [],
        "fitted": [],
        "issues": dataset.issues,
    })
}

fn as_json(dataset: &Dataset, answer: &Answer<'_>) -> Value {
    let edge = answer.edge;
    json!({
        "edge": { "from": edge.from, "to": edge.to, "via": edge.via },
        "breaker": answer.replayed.as_ref().map(|it| it.0.to_string()),
        "per_instance": answer.observed.per_instance,
        "attempts": answer.attempts.iter().map(attempt_json).collect::<Vec<_>>(),
        "withheld_share": answer.withheld.map(|it| json!({
            "low": it.share[0],
            "mid": it.share[1],
            "high": it.share[2],
            "open_ns": ns(it.open_ns),
            "counted": it.counted,
        })),
        "observed": states_json(answer),
        "agreement": answer
            .replayed
            .as_ref()
            .map(|(_, replay)| observed::agreement(&answer.observed, replay)),
        "agreement_of_time": answer.replayed.as_ref().and_then(|(_, replay)| {
            let observed = scene::observed_lanes(&answer.observed);
            let share = scene::agree(&observed, &scene::lanes(replay))?;
            Some(f64::from(share) / 1e6)
        }),
        "fitted": answer.fits.iter().map(fit_json).collect::<Vec<_>>(),
        "issues": dataset.issues,
    })
}

/// An attempt with its times as strings.
fn attempt_json(attempt: &Attempt) -> Value {
    let mut value = serde_json::to_value(attempt).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        times_as_text(object);
    }
    value
}

/// Nanoseconds become texts, here and in what lies below.
fn times_as_text(object: &mut Map<String, Value>) {
    for (key, value) in object {
        match value {
            Value::Object(below) => times_as_text(below),
            Value::Array(list) => {
                for it in list {
                    match it {
                        Value::Object(below) => times_as_text(below),
                        _ if key.ends_with("_ns") => *it = ns(&*it),
                        _ => {}
                    }
                }
            }
            _ if key.ends_with("_ns") && value.is_number() => *value = ns(&*value),
            _ => {}
        }
    }
}

fn states_json(answer: &Answer<'_>) -> Vec<Value> {
    let Some((_, replay)) = &answer.replayed else {
        let breakers = answer.observed.breakers.iter();
        return breakers
            .map(|it| {
                let states = it.states.iter().map(|it| {
                    json!({
                        "from_ns": ns(it.from),
                        "to_ns": ns(it.to),
                        "state": it.state.as_str(),
                        "sure": it.sure,
                    })
                });
                json!({ "instance": it.instance, "states": states.collect::<Vec<_>>() })
            })
            .collect();
    };
    let breakers = replay.breakers.iter();
    breakers
        .map(|it| {
            let bands = replay::bands(it, replay.from, replay.to).into_iter();
            let states = bands.map(|(from, to, state)| {
                json!({ "from_ns": ns(from), "to_ns": ns(to), "state": state.as_str() })
            });
            json!({ "instance": it.instance, "states": states.collect::<Vec<_>>() })
        })
        .collect()
}

fn fit_json(fit: &Fit) -> Value {
    let ranges: Map<String, Value> = fit
        .ranges
        .iter()
        .map(|it| {
            let range = json!({ "low": it.low, "high": it.high });
            (it.setting.to_owned(), range)
        })
        .collect();
    json!({
        "breaker": fit.settings.to_string(),
        "agreement": fit.agreement,
        "ranges": ranges,
    })
}

fn as_text(answer: &Answer<'_>) -> String {
    let mut text = String::new();
    let mut line = |it: String| text.extend([it.as_str(), "\n"]);
    let edge = answer.edge;
    let how = match &answer.replayed {
        Some((config, _)) => format!("replayed with {config}"),
        None => "told from the calls alone".to_owned(),
    };
    line(format!("{} -> {}, {how}", edge.from, edge.to));
    if !answer.observed.per_instance {
        line("one breaker for all instances: real ones trip apart".to_owned());
    }
    if let Some(withheld) = &answer.withheld {
        line(panes::withheld(withheld));
    }
    if answer.attempts.is_empty() {
        line("no recovery attempts".to_owned());
    }
    for (at, it) in answer.attempts.iter().enumerate() {
        line(attempt_line(at + 1, it));
        for said in it.story() {
            line(format!("  {said}"));
        }
    }
    match &answer.replayed {
        Some((_, replay)) => {
            let share = 100.0 * observed::agreement(&answer.observed, replay);
            line(format!(
                "{share:.0} % of the transitions agree with those that the calls show"
            ));
        }
        None => {
            for breaker in &answer.observed.breakers {
                let name = breaker.instance.as_deref().unwrap_or("all instances");
                line(format!("{name}:"));
                for it in &breaker.states {
                    line(format!(
                        "  {} {} {}{}",
                        format::date(it.from),
                        format::time_of_day(it.from, 3),
                        it.state.as_str(),
                        sureness(it.state, it.sure),
                    ));
                }
            }
        }
    }
    for (at, fit) in answer.fits.iter().enumerate() {
        let rank = if at == 0 { "explained by" } else { "or by" };
        line(format!(
            "{rank} {}: {:.0} % of the transitions agree",
            fit.settings,
            100.0 * fit.agreement
        ));
        let ranges: Vec<String> = fit.ranges.iter().map(range_text).collect();
        line(format!("  others, together, within {}", ranges.join(", ")));
    }
    text
}

fn range_text(range: &observed::Range) -> String {
    let text = match panes::range(range) {
        [Some(low), Some(high)] if low == high => low,
        [Some(low), Some(high)] => format!("{low} to {high}"),
        [None, Some(high)] => format!("up to {high}"),
        [_, None] => "anything".to_owned(),
    };
    format!("{} {text}", range.setting)
}

fn sureness(state: Seen, sure: f64) -> String {
    match state {
        Seen::Unknown => ": the calls do not tell".to_owned(),
        _ if sure >= 0.995 => String::new(),
        _ => format!(" ({:.0} % sure)", 100.0 * sure),
    }
}

/// An attempt in one line.
pub(super) fn attempt_line(number: usize, attempt: &Attempt) -> String {
    let jump = match (attempt.rate_before, attempt.rate_after) {
        (Some(before), Some(after)) if before > 0.0 => {
            format!(", rate \u{d7}{:.1}", after / before)
        }
        _ => String::new(),
    };
    let outcome = match (attempt.result, attempt.close_ns, attempt.reopen_ns) {
        (AttemptResult::Held, ..) => "held".to_owned(),
        (AttemptResult::Trampled, Some(closed), Some(opened)) => {
            format!(
                "trampled {} after closing",
                format::duration(opened.abs_diff(closed))
            )
        }
        (AttemptResult::Trampled, ..) => "trampled".to_owned(),
        (AttemptResult::Refused, ..) => "refused: the probes failed".to_owned(),
    };
    format!(
        "attempt {number} at {} {}: {} of {} probes ok{jump}, {} of {} timed out, {outcome}",
        format::date(attempt.half_open_ns),
        format::time_of_day(attempt.half_open_ns, 3),
        attempt.probes_ok,
        attempt.probes,
        attempt.timed_out,
        format::counted(attempt.calls, "call"),
    )
}
