//! `herdscope replay`: the breaker over the calls of an edge.

use clap::Args;
use halfopen::{Config, Window};
use herdscope::calls::Edge;
use herdscope::dataset::Dataset;
use herdscope::format;
use herdscope::herds::{self, Attempt};
use herdscope::issues::Code;
use herdscope::replay::{self, Breaker, Replay};
use serde_json::{Value, json};

use super::edge::{self, Asked};
use super::herds::attempt_line;
use super::{Failure, ns, print, print_json};

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    pub asked: Asked,
    /// The breaker's settings, as in window=100,min=20,fail=50%,open=60s,probes=10, or the name of a
    /// preset: resilience4j (the default), hystrix, polly, gobreaker, envoy.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    breaker: String,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let config = edge::config(&options.breaker)?;
    let dataset = options.asked.read()?;
    warn_if_sampled(&config, &dataset);
    if dataset.table.is_empty() {
        return options
            .asked
            .answer_nothing(&dataset, &nothing(&config, &dataset));
    }
    let edge = options.asked.find(&dataset)?;
    let how = replay::Options {
        config,
        shared: options.asked.shared(),
    };
    let replay = replay::replay(&edge.calls, &how);
    if options.asked.files.json {
        print_json(&as_json(&dataset, edge, &how.config, &replay))
    } else {
        let attempts = herds::attempts(&dataset.table, &edge.calls, &(&replay).into());
        print(&as_text(edge, &how.config, &replay, &attempts))
    }
}

/// Says on standard error that a count window over a sample misleads.
pub fn warn_if_sampled(config: &Config, dataset: &Dataset) {
    if counts_sampled_calls(config, dataset) {
        eprintln!(
            "herdscope: note: the window counts calls and the spans are sampled: it took longer to fill \
             than in production, so the replay trips late or not at all; a time window and a lower min \
             are less wrong"
        );
    }
}

/// Whether the breaker's window counts calls of which only a part is in the file.
fn counts_sampled_calls(config: &Config, dataset: &Dataset) -> bool {
    let counts = matches!(config.settings().window, Window::Calls(_));
    counts && dataset.issues.count(Code::Sampled) > 0
}

fn nothing(config: &Config, dataset: &Dataset) -> Value {
    json!({
        "edge": null,
        "breaker": config.to_string(),
        "per_instance": null,
        "calls": 0,
        "withheld": 0,
        "outcome_unknown": 0,
        "count_window_unreliable": false,
        "breakers": [],
        "issues": dataset.issues,
    })
}

fn as_json(dataset: &Dataset, edge: &Edge, config: &Config, replay: &Replay) -> Value {
    let breaker = |it: &Breaker| {
        let transition = |it: &halfopen::Transition| {
            json!({
                "t_ns": ns(it.at),
                "from": it.from.as_str(),
                "to": it.to.as_str(),
                "cause": it.cause.as_str(),
            })
        };
        let [closed, open, half_open, ramping] = replay::time_in(it, replay);
        json!({
            "instance": it.instance,
            "transitions": it.transitions.iter().map(transition).collect::<Vec<_>>(),
            "time_in": {
                "closed": ns(closed),
                "open": ns(open),
                "half_open": ns(half_open),
                "ramping": ns(ramping),
            },
        })
    };
    json!({
        "edge": { "from": edge.from, "to": edge.to, "via": edge.via },
        "breaker": config.to_string(),
        "per_instance": replay.per_instance,
        "calls": edge.calls.len(),
        "withheld": replay.withheld,
        "outcome_unknown": replay.outcome_unknown,
        "count_window_unreliable": counts_sampled_calls(config, dataset),
        "breakers": replay.breakers.iter().map(breaker).collect::<Vec<_>>(),
        "issues": dataset.issues,
    })
}

fn as_text(edge: &Edge, config: &Config, replay: &Replay, attempts: &[Attempt]) -> String {
    let mut text = String::new();
    let mut line = |it: String| text.extend([it.as_str(), "\n"]);
    line(format!("{} -> {}, {config}", edge.from, edge.to));
    line(format!(
        "{}, {} withheld, {} admitted without an outcome",
        format::counted(edge.calls.len() as u64, "call"),
        format::count(replay.withheld),
        format::count(replay.outcome_unknown),
    ));
    if !replay.per_instance {
        line("one breaker for all instances: real ones trip apart".to_owned());
    }
    for (at, it) in attempts.iter().enumerate() {
        line(attempt_line(at + 1, it));
    }
    for breaker in &replay.breakers {
        let unnamed = if replay.per_instance {
            "calls of unknown instance"
        } else {
            "all instances"
        };
        let name = breaker.instance.as_deref().unwrap_or(unnamed);
        let [closed, open, half_open, ramping] = replay::time_in(breaker, replay);
        let share = |time: i64| 100.0 * time as f64 / (replay.to - replay.from).max(1) as f64;
        line(format!(
            "{name}: {}, closed {:.1} %, open {:.1} %, half-open {:.1} %, ramping {:.1} % of the time",
            format::counted(breaker.transitions.len() as u64, "transition"),
            share(closed),
            share(open),
            share(half_open),
            share(ramping),
        ));
        for it in &breaker.transitions {
            line(format!(
                "  {} {} {} -> {} ({})",
                format::date(it.at),
                format::time_of_day(it.at, 9),
                it.from.as_str(),
                it.to.as_str(),
                it.cause.as_str(),
            ));
        }
    }
    text
}
