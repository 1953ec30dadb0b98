//! `herdscope what-if`: what other settings would have done to the same calls.

use clap::Args;
use halfopen::Config;
use herdscope::advise;
use herdscope::calls::Edge;
use herdscope::dataset::Dataset;
use herdscope::format;
use herdscope::what_if::{Axis, Case, Cases, Figures, Grid, KEYS};
use serde_json::{Value, json};

use super::edge::{self, Asked};
use super::{Failure, ns, print, print_json, replay};

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    pub asked: Asked,
    /// The present settings, as in window=100,min=20,fail=50%,open=60s,probes=10, or the name of a
    /// preset. Given again: others to stand beside them.
    #[arg(long, value_name = "TEXT")]
    breaker: Vec<String>,
    /// Two settings to vary around the present ones, as in fail,open; of window, min, fail, slow,
    /// consecutive, timeout, open, probes and ramp.
    #[arg(long, value_name = "KEY,KEY")]
    grid: Option<String>,
}

/// Said with every answer.
const OPEN_LOOP: &str = "open loop: these very calls, replayed; what callers and service would have \
    done otherwise (retries, load, latency) is not modelled";

pub fn run(options: &Options) -> Result<(), Failure> {
    let texts = options.breaker.iter();
    let mut settings = texts
        .map(|it| edge::config(it))
        .collect::<Result<Vec<Config>, Failure>>()?;
    let asked = settings.split_off(settings.len().min(1));
    let present = settings.pop().unwrap_or_default();
    let keys = options.grid.as_deref().map(keys).transpose()?;
    let dataset = options.asked.read()?;
    replay::warn_if_sampled(&present, &dataset);
    let json = options.asked.files.json;
    if dataset.table.is_empty() {
        return options
            .asked
            .answer_nothing(&dataset, || print_json(&nothing(&dataset)));
    }
    let edge = options.asked.find(&dataset)?;
    let timeout = advise::proposed_timeout(&edge.calls);
    let shared = options.asked.shared();
    let mut cases = Cases::side_by_side(&edge.calls, &present, &asked, timeout, shared);
    while cases.step(&edge.calls) {}
    let mut grid = keys.and_then(|keys| Grid::new(&present, keys, timeout, shared));
    if let Some(grid) = &mut grid {
        while grid.cells.step(&edge.calls) {}
    }
    let answer = Answer {
        edge,
        present,
        timeout,
        cases,
        grid,
    };
    if json {
        print_json(&as_json(&dataset, &answer))
    } else {
        print(&as_text(&answer))
    }
}

struct Answer<'a> {
    edge: &'a Edge,
    present: Config,
    timeout: Option<u64>,
    cases: Cases,
    grid: Option<Grid>,
}

/// Two different settings that a grid can vary.
fn keys(text: &str) -> Result<[&str; 2], Failure> {
    let keys = text.split_once(',').map(|(x, y)| [x.trim(), y.trim()]);
    match keys {
        Some([x, y]) if x != y && KEYS.contains(&x) && KEYS.contains(&y) => Ok([x, y]),
        _ => Err(Failure::Usage(format!(
            "--grid: got \u{201c}{text}\u{201d}, expected two different ones of {}, as in fail,open",
            KEYS.join(", ")
        ))),
    }
}

/// A file with a header and no rows is an answer, too.
fn nothing(dataset: &Dataset) -> Value {
    json!({
        "edge": null,
        "open_loop": OPEN_LOOP,
        "calls": 0,
        "proposed_timeout_ns": null,
        "cases": [],
        "grid": null,
        "issues": dataset.issues,
    })
}

fn as_json(dataset: &Dataset, answer: &Answer<'_>) -> Value {
    let edge = answer.edge;
    json!({
        "edge": { "from": edge.from, "to": edge.to, "via": edge.via },
        "open_loop": OPEN_LOOP,
        "breaker": answer.present.to_string(),
        "calls": edge.calls.len(),
        "proposed_timeout_ns": answer.timeout.map(ns),
        "cases": answer.cases.cases.iter().map(case_json).collect::<Vec<_>>(),
        "grid": answer.grid.as_ref().map(grid_json),
        "issues": dataset.issues,
    })
}

fn case_json(case: &Case) -> Value {
    let mut value = figures_json(case.figures.as_ref());
    value["name"] = case.name.into();
    value["breaker"] = case.settings.as_ref().map(Config::to_string).into();
    value
}

fn figures_json(figures: Option<&Figures>) -> Value {
    let Some(it) = figures else {
        return json!({});
    };
    json!({
        "withheld": it.withheld,
        "without_outcome": it.without_outcome,
        "failed": it.failed,
        "cut": it.cut,
        "held_ns": ns(it.held_ns),
        "trips": it.trips,
        "opened_ns": it.opened.map(ns),
        "to_trip_ns": it.to_trip_ns.map(ns),
        "time_in": it.time_in.map(|[closed, open, half_open, ramping]| json!({
            "closed": ns(closed),
            "open": ns(open),
            "half_open": ns(half_open),
            "ramping": ns(ramping),
        })),
    })
}

fn grid_json(grid: &Grid) -> Value {
    let axis = |it: &Axis| json!({ "key": it.key, "values": it.values, "present": it.present });
    let [x, y] = &grid.axes;
    // A cell whose values do not go together is null.
    let cell = |it: &Case| it.settings.as_ref().map(|_| case_json(it));
    let rows = grid.cells.cases.chunks(x.values.len().max(1));
    json!({
        "x": axis(x),
        "y": axis(y),
        "rows": rows.map(|row| row.iter().map(cell).collect()).collect::<Vec<Vec<_>>>(),
    })
}

fn as_text(answer: &Answer<'_>) -> String {
    let mut text = String::new();
    let mut line = |it: String| text.extend([it.as_str(), "\n"]);
    let edge = answer.edge;
    line(format!(
        "{} -> {}, {}, {}",
        edge.from,
        edge.to,
        format::counted(edge.calls.len() as u64, "call"),
        OPEN_LOOP,
    ));
    for case in &answer.cases.cases {
        let settings = case.settings.as_ref().map(Config::to_string);
        line(format!(
            "{}{}",
            case.name.replace('_', " "),
            settings.map_or(String::new(), |it| format!(": {it}"))
        ));
        if let Some(it) = &case.figures {
            line(format!("  {}", sentence(it)));
        }
    }
    if answer.timeout.is_none() {
        line("too few calls went well to propose a timeout".to_owned());
    }
    if let Some(grid) = &answer.grid {
        grid_text(grid, edge.calls.len() as u64, &mut line);
    }
    text
}

fn sentence(it: &Figures) -> String {
    let withheld = it.withheld.map_or("unknown".to_owned(), format::count);
    let cut = match it.cut {
        0 => String::new(),
        n => format!(" ({} of them good, but cut)", format::count(n)),
    };
    let trips = match (it.trips, it.to_trip_ns) {
        (None, _) => String::new(),
        (Some(0), _) => ", never opens".to_owned(),
        (Some(n), after) => {
            let times = format::counted(n, "time");
            let after = after.map_or(String::new(), |ns| {
                format!(", first {} after the first bad call", format::duration(ns))
            });
            format!(", opens {times}{after}")
        }
    };
    let unknown = match it.without_outcome {
        0 => String::new(),
        n => format!(", {} let through without an outcome", format::count(n)),
    };
    format!(
        "{withheld} withheld, {} failed{cut}{unknown}, threads held for {}{trips}",
        format::count(it.failed),
        format::duration(it.held_ns),
    )
}

fn grid_text(grid: &Grid, calls: u64, line: &mut impl FnMut(String)) {
    let [x, y] = &grid.axes;
    line(format!(
        "share withheld / failed / trips, by {} (across) and {} (down); [present]",
        x.key, y.key
    ));
    let head = x.values.iter().map(|it| format!("{it:>WIDTH$}"));
    line(format!("{:>WIDTH$}{}", "", head.collect::<String>()));
    let rows = grid.cells.cases.chunks(x.values.len().max(1));
    for (at, row) in rows.enumerate() {
        let cells = row.iter().enumerate().map(|(place, case)| {
            let cell = case.figures.map_or("-".to_owned(), |it| {
                format!(
                    "{} / {} / {}",
                    format::share(it.withheld.unwrap_or(0), calls),
                    format::count(it.failed),
                    format::count(it.trips.unwrap_or(0)),
                )
            });
            let here = Some(place) == x.present && Some(at) == y.present;
            let cell = if here { format!("[{cell}]") } else { cell };
            format!("{cell:>WIDTH$}")
        });
        let cells: String = cells.collect();
        line(format!("{:>WIDTH$}{cells}", y.values[at]));
    }
}

/// Of a column.
const WIDTH: usize = 24;
