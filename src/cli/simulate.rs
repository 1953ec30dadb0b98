//! `herdscope simulate`: one run of a scenario, its figures and its spans.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use herdscope::export::csv::{self, Line};
use herdscope::format;
use herdscope::recorded;
use herdscope::rows::{NONE, SpanRows};
use herdscope_sim::{Run, Sample, Scenario, Simulation};
use serde_json::{Value, json};

use super::{Failure, input, ns, print, print_json, runs};

#[derive(Debug, Args)]
pub struct Options {
    /// A scenario: a TOML file, as in scenarios/; - reads standard input.
    scenario: PathBuf,
    /// The seed of all chance: the same one gives the same run.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Writes the spans as a CSV in ClickHouse's columns, which all other commands and the page read.
    #[arg(long, value_name = "OUT.csv")]
    csv: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let scenario = read(&options.scenario)?;
    let fail = |why: String| Failure::Input(format!("{}: {why}", input::name(&options.scenario)));
    runs::can_be_kept(&scenario).map_err(fail)?;
    let run = Simulation::new(scenario.clone(), options.seed);
    let run = run.map_err(|error| fail(error.to_string()))?;
    let ended = runs::to_end(run, &scenario, runs::MOST_KEPT, || true).map_err(fail)?;
    let Some(run) = ended else {
        return Ok(());
    };
    if let Some(path) = &options.csv {
        write_csv(path, &run.rows(&scenario)).map_err(|error| {
            let why = format!("the spans cannot be written: {error}; choose another place");
            Failure::Input(format!("{}: {why}", input::name(path)))
        })?;
    }
    match options.json {
        true => print_json(&as_json(&scenario, &run)),
        false => print(&as_text(&scenario, &run)),
    }
}

/// Reads a scenario file.
pub(super) fn read(path: &Path) -> Result<Scenario, Failure> {
    let fail = |why: String| Failure::Input(format!("{}: {why}", input::name(path)));
    let text = match path == Path::new("-") {
        true => io::read_to_string(io::stdin().lock()),
        false => fs::read_to_string(path),
    };
    let text = text.map_err(|error| {
        fail(match error.kind() {
            io::ErrorKind::InvalidData => "it is no text in UTF-8; save it as such".to_owned(),
            io::ErrorKind::IsADirectory => "this is a directory; name a file in it".to_owned(),
            _ => input::unopened(&error),
        })
    })?;
    Scenario::from_toml(&text).map_err(|error| fail(error.to_string()))
}

const SECOND: f64 = 1e9;

fn as_json(scenario: &Scenario, run: &Run) -> Value {
    let it = &run.summary;
    let time = |at: i64| ns(scenario.starts_at.saturating_add(at));
    // As `replay` has them, so that the two can be compared.
    let mut breakers: Vec<(String, Vec<Value>)> = Vec::new();
    for it in &run.states {
        let group = &scenario.groups[it.group as usize];
        let instance = format!("{}-{}", group.name, it.instance);
        let transition = json!({
            "t_ns": time(it.at),
            "from": it.from.as_str(),
            "to": it.to.as_str(),
            "cause": it.cause.as_str(),
        });
        match breakers.iter_mut().find(|of| of.0 == instance) {
            Some(of) => of.1.push(transition),
            None => breakers.push((instance, vec![transition])),
        }
    }
    breakers.sort_by(|a, b| a.0.cmp(&b.0));
    let breaker =
        |(instance, transitions)| json!({ "instance": instance, "transitions": transitions });
    let sample = |it: &Sample| {
        json!({
            "t_ns": time(it.at),
            "service": scenario.services[it.service as usize].name,
            "pods": it.pods,
            "ready": it.ready,
            "waiting": it.waiting,
            "cpu": it.busy,
        })
    };
    json!({
        "breakers": breakers.into_iter().map(breaker).collect::<Vec<_>>(),
        "samples": run.samples.iter().map(sample).collect::<Vec<_>>(),
        "seed": it.seed,
        "requests": it.requests,
        "served": it.served,
        "failed": it.failed,
        "withheld": it.withheld,
        "shed": it.shed,
        "in_flight_at_end": it.in_flight_at_end,
        "wasted": it.wasted,
        "wasted_ns": ns(it.wasted_ns),
        "recovered": it.recovered_at.is_some(),
        "recover_s": it.recovery().map(|it| it as f64 / SECOND),
        "pod_minutes": it.pod_ns as f64 / SECOND / 60.0,
    })
}

fn as_text(scenario: &Scenario, run: &Run) -> String {
    let it = &run.summary;
    let count = |what: &str, n: u64| {
        let share = 100.0 * n as f64 / it.requests.max(1) as f64;
        format!("  {what:<10} {:>12}  {share:5.1} %\n", format::count(n))
    };
    let lasts = format::duration(scenario.duration);
    let recovered = match (it.bad_at, it.recovered_at) {
        (None, _) => "It was well all the time.".to_owned(),
        (Some(bad), Some(well)) => format!(
            "It was bad from {} and well from {} on: it took {} to recover.",
            format::duration(bad),
            format::duration(well),
            format::duration(it.recovery().unwrap_or(0))
        ),
        (Some(bad), None) => format!(
            "It was bad from {} on and did not recover: at the end not even a minute was well.",
            format::duration(bad)
        ),
    };
    [
        format!("{}, seed {}, {lasts}\n", scenario.name, it.seed),
        format!("  {:<10} {:>12}\n", "requests", format::count(it.requests)),
        count("served", it.served),
        count("failed", it.failed),
        count("withheld", it.withheld),
        count("shed", it.shed),
        count("in flight", it.in_flight_at_end),
        format!("{recovered}\n"),
        format!(
            "Workers were held for {} for callers that had given up; {:.1} pod minutes.\n",
            format::duration(it.wasted_ns),
            it.pod_ns as f64 / SECOND / 60.0
        ),
        format!("Breakers changed their state {} times.\n", run.states.len()),
    ]
    .concat()
}

fn write_csv(path: &Path, rows: &SpanRows) -> io::Result<()> {
    let mut out = io::BufWriter::new(fs::File::create(path)?);
    out.write_all(csv::HEADER.as_bytes())?;
    let mut text = String::new();
    for at in 0..rows.len() {
        let set = rows.label_set(at);
        let name = |text: u32| match text {
            NONE => "",
            text => rows.names.get(text),
        };
        text.clear();
        let (trace, span, parent) = (rows.trace_id(at), rows.span_id(at), rows.parent_id(at));
        let line = Line {
            trace: &trace,
            span: &span,
            parent: parent.as_deref().unwrap_or_default(),
            start: rows.start[at],
            duration: rows.duration[at],
            service: name(set.service),
            operation: name(set.operation),
            kind: set.kind,
            outcome: set.outcome,
            instance: name(set.instance),
            peer: name(set.peer),
            message: name(set.message),
            breaker: (set.breaker != NONE).then(|| recorded::read(name(set.breaker))),
        };
        csv::write(&mut text, &line);
        out.write_all(text.as_bytes())?;
    }
    out.flush()
}
