//! `herdscope replay`: the breaker over the calls of an edge.

use clap::Args;
use halfopen::Config;
use herdscope::calls::Edge;
use herdscope::dataset::Dataset;
use herdscope::export::json;
use herdscope::format;
use herdscope::herds::{self, Attempt};
use herdscope::replay::{self, Replay};

use super::edge::{self, Asked};
use super::herds::attempt_line;
use super::{Failure, print, print_known};

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
        let nothing = || print_known(|to| json::replay(to, &dataset, &config, None));
        return options.asked.answer_nothing(&dataset, nothing);
    }
    let edge = options.asked.find(&dataset)?;
    let how = replay::Options {
        config,
        shared: options.asked.shared(),
    };
    let replay = replay::replay(&edge.calls, &how);
    if options.asked.files.json {
        let of = Some((edge, &replay));
        print_known(|to| json::replay(to, &dataset, &how.config, of))
    } else {
        let attempts = herds::attempts(&dataset.table, &edge.calls, &(&replay).into());
        print(&as_text(edge, &how.config, &replay, &attempts))
    }
}

/// Says on standard error that a count window over a sample misleads.
pub fn warn_if_sampled(config: &Config, dataset: &Dataset) {
    if json::counts_sampled_calls(config, dataset) {
        eprintln!(
            "herdscope: note: the window counts calls and the spans are sampled: it took longer to fill \
             than in production, so the replay trips late or not at all; a time window and a lower min \
             are less wrong"
        );
    }
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
