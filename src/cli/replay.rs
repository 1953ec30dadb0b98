//! `herdscope replay`: the breaker over the calls of an edge.

use clap::{Args, ValueEnum};
use halfopen::{Config, State};
use herdscope::calls::Edge;
use herdscope::dataset::Dataset;
use herdscope::format;
use herdscope::replay::{self, Breaker, Replay};
use serde_json::{Value, json};

use super::{Failure, Files, input, ns, print, print_json};

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    files: Files,
    /// The edge, CALLER->CALLEE; by default the one with the most calls.
    #[arg(long, value_name = "A->B")]
    edge: Option<String>,
    /// The breaker's settings, as in window=100,min=20,fail=50%,open=60s,probes=10.
    #[arg(long, value_name = "TEXT", default_value = "")]
    breaker: String,
    /// One breaker an instance, as in production; with no, one for all.
    #[arg(long, value_name = "yes|no", default_value = "yes")]
    per_instance: YesNo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum YesNo {
    Yes,
    No,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let config: Config = options
        .breaker
        .parse()
        .map_err(|error: halfopen::ConfigError| Failure::Usage(format!("--breaker: {error}")))?;
    let named = options.edge.as_deref().map(named_edge).transpose()?;
    let dataset = input::read(&options.files.files)?;
    let edge = find_edge(&dataset, named.as_ref())?;
    let how = replay::Options {
        config,
        shared: options.per_instance == YesNo::No,
    };
    let replay = replay::replay(&edge.calls, &how);
    if options.files.json {
        print_json(&as_json(edge, &how.config, &replay))
    } else {
        print(&as_text(edge, &how.config, &replay))
    }
}

fn named_edge(text: &str) -> Result<(String, String), Failure> {
    match text.split_once("->") {
        Some((from, to)) if !from.trim().is_empty() && !to.trim().is_empty() => {
            Ok((from.trim().to_owned(), to.trim().to_owned()))
        }
        _ => Err(Failure::Usage(format!(
            "--edge: got \u{201c}{text}\u{201d}, expected CALLER->CALLEE (quoted, because of the >)"
        ))),
    }
}

fn find_edge<'a>(
    dataset: &'a Dataset,
    named: Option<&(String, String)>,
) -> Result<&'a Edge, Failure> {
    dataset.edge(named).ok_or_else(|| {
        let edges: Vec<String> =
            dataset.edges.iter().map(|it| format!("{}->{}", it.from, it.to)).collect();
        Failure::Input(match named {
            _ if edges.is_empty() => format!(
                "{}: no calls between services are in it, so there is nothing that a breaker guards; \
                 export client spans too",
                dataset.name
            ),
            Some((from, to)) => format!(
                "{}: there is no edge {from}->{to}; it has {}",
                dataset.name,
                edges.join(", ")
            ),
            None => format!("{}: it has no edge", dataset.name),
        })
    })
}

fn as_json(edge: &Edge, config: &Config, replay: &Replay) -> Value {
    let breaker = |it: &Breaker| {
        let transition = |it: &halfopen::Transition| {
            json!({
                "t_ns": ns(it.at),
                "from": it.from.as_str(),
                "to": it.to.as_str(),
                "cause": it.cause.as_str(),
            })
        };
        let time_in = TimeIn::of(it, replay);
        json!({
            "instance": it.instance,
            "transitions": it.transitions.iter().map(transition).collect::<Vec<_>>(),
            "time_in": {
                "closed": ns(time_in.closed),
                "open": ns(time_in.open),
                "half_open": ns(time_in.half_open),
                "ramping": ns(time_in.ramping),
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
        "breakers": replay.breakers.iter().map(breaker).collect::<Vec<_>>(),
    })
}

/// Nanoseconds in each state.
#[derive(Default)]
struct TimeIn {
    closed: i64,
    open: i64,
    half_open: i64,
    ramping: i64,
}

impl TimeIn {
    fn of(breaker: &Breaker, replay: &Replay) -> TimeIn {
        let mut time = TimeIn::default();
        for (from, to, state) in replay::bands(breaker, replay.from, replay.to) {
            let of_state = match state {
                State::Open => &mut time.open,
                State::HalfOpen => &mut time.half_open,
                State::Ramping => &mut time.ramping,
                // A replay sets no state by hand.
                _ => &mut time.closed,
            };
            *of_state += to - from;
        }
        time
    }
}

fn as_text(edge: &Edge, config: &Config, replay: &Replay) -> String {
    let mut text = String::new();
    let mut line = |it: String| text.extend([it.as_str(), "\n"]);
    line(format!("{} -> {}, {config}", edge.from, edge.to));
    line(format!(
        "{}, {} withheld, {} without an outcome",
        format::counted(edge.calls.len() as u64, "call"),
        format::count(replay.withheld),
        format::count(replay.outcome_unknown),
    ));
    if !replay.per_instance {
        line("one breaker for all instances: real ones trip apart".to_owned());
    }
    for breaker in &replay.breakers {
        let name = breaker.instance.as_deref().unwrap_or("all instances");
        let time_in = TimeIn::of(breaker, replay);
        let share = |time: i64| 100.0 * time as f64 / (replay.to - replay.from).max(1) as f64;
        line(format!(
            "{name}: {}, closed {:.1} %, open {:.1} %, half-open {:.1} %, ramping {:.1} % of the time",
            format::counted(breaker.transitions.len() as u64, "transition"),
            share(time_in.closed),
            share(time_in.open),
            share(time_in.half_open),
            share(time_in.ramping),
        ));
        for it in &breaker.transitions {
            line(format!(
                "  {} {} -> {} ({})",
                format::time_of_day(it.at, 9),
                it.from.as_str(),
                it.to.as_str(),
                it.cause.as_str(),
            ));
        }
    }
    text
}
