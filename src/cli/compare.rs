//! `herdscope compare`: what distinguishes the spans of some time from all others.

use std::ops::Range;

use clap::Args;
use herdscope::calls::Edge;
use herdscope::compare::{self, Attribute, Comparison, Frequency, Side};
use herdscope::dataset::Dataset;
use herdscope::format;
use herdscope::view::{MILLI, Viewport};
use serde_json::{Value, json};

use super::edge::Asked;
use super::{Failure, ns, print, print_json};

#[derive(Debug, Args)]
#[command(after_help = "--from and --to are the time that is compared with the rest of the files.")]
pub struct Options {
    #[command(flatten)]
    pub asked: Asked,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let times = options.asked.files.input.clickhouse.selection()?;
    let dataset = options.asked.read()?;
    let edge = options.asked.find_any(&dataset)?;
    let selected = Viewport {
        t0: times.start,
        t1: times.end,
        y0: 0,
        y1: i64::from(dataset.table.n_traces()) * MILLI,
    };
    let it = compare::compare(&dataset.table, dataset.calls(edge), selected);
    if options.asked.files.json {
        print_json(&as_json(&dataset, edge, selected, &it))
    } else {
        print(&as_text(edge, selected, &it, dataset.table.extent()))
    }
}

fn as_json(dataset: &Dataset, edge: Option<&Edge>, selected: Viewport, it: &Comparison) -> Value {
    let frequency = |it: &Frequency| {
        json!({
            "value": it.value,
            "spans": it.spans,
            "share": it.share,
            "telling": it.telling,
        })
    };
    let attribute = |it: &Attribute| {
        json!({
            "name": it.name,
            "n_values": it.n_values,
            "values": it.values.iter().map(frequency).collect::<Vec<_>>(),
        })
    };
    json!({
        "edge": edge.map(|edge| json!({ "from": edge.from, "to": edge.to, "via": edge.via })),
        "from_ns": ns(selected.t0),
        "to_ns": ns(selected.t1),
        "inside": side_json(&it.inside),
        "outside": side_json(&it.outside),
        "attributes": it.attributes.iter().map(attribute).collect::<Vec<_>>(),
        "issues": dataset.issues,
    })
}

fn side_json(it: &Side) -> Value {
    let [p50, p90, p99, p999] = it.percentiles.map(|it| it.ns.map(ns));
    json!({
        "spans": it.spans,
        "traces": it.traces,
        "failed_spans": it.failed_spans,
        "calls": it.calls,
        "failed": it.failed,
        "timed_out": it.timed_out,
        "without_outcome": it.without_outcome,
        "rate": it.rate,
        "p50_ns": p50,
        "p90_ns": p90,
        "p99_ns": p99,
        "p999_ns": p999,
    })
}

fn as_text(
    edge: Option<&Edge>,
    selected: Viewport,
    it: &Comparison,
    extent: Option<Range<i64>>,
) -> String {
    let mut text = String::new();
    let mut line = |it: String| text.extend([it.as_str(), "\n"]);
    line(format!(
        "{} {} to {} {}",
        format::date(selected.t0),
        format::time_of_day(selected.t0, 9),
        format::date(selected.t1),
        format::time_of_day(selected.t1, 9),
    ));
    if let Some(edge) = edge {
        line(format!("calls {} -> {}", edge.from, edge.to));
    }
    if it.inside.spans == 0
        && let Some(extent) = extent
    {
        line(format!(
            "no span starts in that time: they are from {} {} to {} {}",
            format::date(extent.start),
            format::time_of_day(extent.start, 0),
            format::date(extent.end),
            format::time_of_day(extent.end, 0),
        ));
    }
    line(format!("inside:  {}", side(&it.inside)));
    line(format!("outside: {}", side(&it.outside)));
    let sure = it.attributes.iter().filter(|it| is_telling(it)).count();
    if sure == 0 {
        line("no attribute differs by more than chance would at this sample".to_owned());
    }
    for attribute in &it.attributes[..sure] {
        line(format!(
            "{} ({})",
            attribute.name,
            format::counted(attribute.n_values as u64, "value")
        ));
        for value in attribute.values.iter().filter(|it| it.telling > 0.0) {
            let share = |side: usize| {
                value.share[side].map_or("unknown".to_owned(), |it| format!("{:.1} %", 100.0 * it))
            };
            line(format!(
                "  {} inside, {} outside: {}",
                share(0),
                share(1),
                value.value.replace(char::is_control, " ")
            ));
        }
    }
    text
}

fn is_telling(attribute: &Attribute) -> bool {
    attribute.values.first().is_some_and(|it| it.telling > 0.0)
}

fn side(it: &Side) -> String {
    let names = ["p50", "p90", "p99", "p99.9"];
    let percentiles: Vec<String> = names
        .iter()
        .zip(it.percentiles)
        .filter_map(|(name, it)| Some(format!("{name} {}", format::duration(it.ns?))))
        .collect();
    let rate = it
        .rate
        .map_or(String::new(), |it| format!(" ({})", format::rate(it)));
    format!(
        "{} in {}, {}{rate}, {} failed, {} timed out; {}",
        format::counted(it.spans, "span"),
        format::counted(it.traces, "trace"),
        format::counted(it.calls, "call"),
        format::count(it.failed),
        format::count(it.timed_out),
        match percentiles.is_empty() {
            true => "no duration is known".to_owned(),
            false => percentiles.join(", "),
        },
    )
}
