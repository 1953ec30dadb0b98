//! `herdscope advise`: timeouts and pools, edge by edge, and work done for callers that had gone.

use clap::Args;
use herdscope::advise::{self, Abandoned, EdgeAdvice, Percentile};
use herdscope::calls::Edge;
use herdscope::dataset::Dataset;
use herdscope::format;
use herdscope::panes;
use serde_json::{Value, json};

use super::{Failure, Files, input, ns, print, print_json};

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    pub files: Files,
    /// The caller's threads or connections for each edge: says when they are all taken at today's rate
    /// and latency.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pool: Option<u32>,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let dataset = input::read(&options.files.input, &options.files.told.told())?;
    input::warn(&dataset);
    let edges: Vec<(&Edge, EdgeAdvice)> = dataset
        .edges
        .iter()
        .map(|edge| (edge, advise::advise(&dataset, edge)))
        .collect();
    let abandoned = advise::abandoned(&dataset.table);
    if options.files.json {
        print_json(&as_json(&dataset, &edges, &abandoned, options.pool))
    } else {
        print(&as_text(&dataset, &edges, &abandoned, options.pool))
    }
}

fn as_json(
    dataset: &Dataset,
    edges: &[(&Edge, EdgeAdvice)],
    abandoned: &[Abandoned],
    pool: Option<u32>,
) -> Value {
    let edge = |(edge, advice): &(&Edge, EdgeAdvice)| {
        let mut value = edge_json(edge, advice);
        if let Some(pool) = pool {
            value["asked_pool"] = pool_json(pool, advice);
        }
        value
    };
    let service = |it: &Abandoned| {
        json!({
            "service": it.service,
            "calls": it.calls,
            "total_ns": ns(it.total_ns),
            "longest_ns": ns(it.longest_ns),
        })
    };
    json!({
        "edges": edges.iter().map(edge).collect::<Vec<_>>(),
        "abandoned": abandoned.iter().map(service).collect::<Vec<_>>(),
        "issues": dataset.issues,
    })
}

/// Nanoseconds as text, unknown as null.
fn known(value: Option<u64>) -> Value {
    value.map_or(Value::Null, ns)
}

fn edge_json(edge: &Edge, advice: &EdgeAdvice) -> Value {
    let [p50, p90, p99, p999] = advice.percentiles;
    let interval = |it: Percentile| json!([known(it.low), known(it.high)]);
    let timeout = |&(timeout, calls): &(u64, u64)| json!({ "ns": ns(timeout), "calls": calls });
    json!({
        "from": edge.from,
        "to": edge.to,
        "calls": edge.calls.len(),
        "p50_ns": known(p50.ns),
        "p90_ns": known(p90.ns),
        "p99_ns": known(p99.ns),
        "p999_ns": known(p999.ns),
        "intervals_ns": {
            "p50": interval(p50),
            "p90": interval(p90),
            "p99": interval(p99),
            "p999": interval(p999),
        },
        "timeouts_in_use": advice.timeouts_in_use.iter().map(timeout).collect::<Vec<_>>(),
        "proposed_timeout_ns": known(advice.proposed_timeout_ns),
        "cut_share": advice.cut_share,
        "connect": advice.connect.map(|[p50, p999]| json!({ "p50_ns": ns(p50), "p999_ns": ns(p999) })),
        "rate": advice.rate,
        "in_flight": {
            "mean": advice.in_flight.mean,
            "littles_law": advice.in_flight.littles_law,
            "max": advice.in_flight.max,
        },
        "pool": advice.pool.map(|it| json!({
            "size": it.size,
            "saturated_share": it.saturated_share,
        })),
        "also_waits": advice.also_waits,
    })
}

/// What a pool of that size bears at the rate of the busiest second: when each call lasts as long as the
/// longest timeout lets it, and with the proposed one.
fn pool_json(pool: u32, advice: &EdgeAdvice) -> Value {
    let longest = advice.timeouts_in_use.last().map(|it| it.0);
    let slow = longest.or(advice.percentiles[3].ns);
    let proposed = advice.proposed_timeout_ns;
    let taken = |ns: Option<u64>| {
        ns.zip(advice.busiest)
            .map(|(ns, rate)| advise::threads_taken(rate, ns))
    };
    let dry = |ns: Option<u64>| {
        ns.zip(advice.busiest)
            .and_then(|(ns, rate)| advise::dry_after(pool, rate, ns))
    };
    json!({
        "size": pool,
        "rate": advice.busiest,
        "threads_when_slow": taken(slow),
        "dry_after_s_when_slow": dry(slow),
        "threads_with_proposed_timeout": taken(proposed),
        "dry_after_s_with_proposed_timeout": dry(proposed),
    })
}

fn as_text(
    dataset: &Dataset,
    edges: &[(&Edge, EdgeAdvice)],
    abandoned: &[Abandoned],
    pool: Option<u32>,
) -> String {
    let mut text = String::new();
    let mut line = |it: String| text.extend([it.as_str(), "\n"]);
    if edges.is_empty() {
        line(format!(
            "{}: no calls between services, so nothing to advise on",
            dataset.name
        ));
    }
    for (edge, advice) in edges {
        line(format!(
            "{} -> {}: {}{}",
            edge.from,
            edge.to,
            format::counted(edge.calls.len() as u64, "call"),
            advice
                .rate
                .map_or(String::new(), |it| format!(", {}/s", significant(it)))
        ));
        line(format!("  {}", percentiles(advice)));
        for &(timeout, calls) in &advice.timeouts_in_use {
            line(format!(
                "  a timeout of {} is in use: it cut {}",
                format::duration(timeout),
                format::counted(calls, "call")
            ));
        }
        line(format!("  {}", proposal(advice)));
        if let Some(censored) = panes::censored(advice) {
            line(format!("  {censored}"));
        }
        if let Some([p50, p999]) = advice.connect {
            line(format!(
                "  connecting takes {} (p50) to {} (p99.9): give it a timeout of its own",
                format::duration(p50),
                format::duration(p999)
            ));
        }
        line(format!("  {}", panes::in_flight(advice)));
        if let Some(size) = pool {
            line(format!("  {}", panes::asked_pool(size, advice)));
        }
    }
    for it in abandoned {
        line(format!(
            "{} worked on {} after a caller had gone, {} in all, {} at most",
            it.service,
            format::counted(it.calls, "call"),
            format::duration(it.total_ns),
            format::duration(it.longest_ns),
        ));
    }
    text
}

/// A rate with at least two digits that say something.
fn significant(rate: f64) -> String {
    if rate >= 1.0 {
        format!("{rate:.1}")
    } else {
        format!("{rate:.3}")
    }
}

fn percentiles(advice: &EdgeAdvice) -> String {
    let names = ["p50", "p90", "p99", "p99.9"];
    let parts: Vec<String> = names
        .iter()
        .zip(advice.percentiles)
        .map(|(name, it)| {
            let value = it.ns.map_or("unknown".to_owned(), format::duration);
            let interval = match (it.low, it.high) {
                (Some(low), Some(high)) if low == high => String::new(),
                (Some(low), Some(high)) => {
                    format!(" ({} to {})", format::duration(low), format::duration(high))
                }
                _ if it.ns.is_some() => " (too few calls to be sure)".to_owned(),
                _ => String::new(),
            };
            format!("{name} {value}{interval}")
        })
        .collect();
    parts.join(", ")
}

fn proposal(advice: &EdgeAdvice) -> String {
    match (advice.proposed_timeout_ns, advice.cut_share) {
        (Some(timeout), Some(cut)) => format!(
            "a timeout of {} would cut {:.2} % of the calls that went well",
            format::duration(timeout),
            100.0 * cut
        ),
        _ => "too few calls went well to propose a timeout".to_owned(),
    }
}
