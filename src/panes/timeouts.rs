//! Timeouts and pools of each edge, and the work that went on for nobody.

use super::{Act, Block, Cell, head, or_dash, percent};
use crate::advise::{self, Abandoned, EdgeAdvice};
use crate::calls::{Calls, Edge, just_above};
use crate::dataset::Dataset;
use crate::format;
use crate::spans::SpanIdx;
use crate::view::{MILLI, Viewport};

/// The most edges that are told; those with the most calls.
pub const MOST_EDGES: usize = 20;

/// What a person says of the callers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Callers<'a> {
    /// The number of their threads.
    pub pool: Option<u32>,
    /// The timeout that they have on an edge: one that was proposed earlier, for instance.
    pub timeout: Option<(&'a Edge, u64)>,
}

/// What there is to say about these edges.
pub fn timeouts(
    dataset: &Dataset,
    advice: &[EdgeAdvice],
    abandoned: &[Abandoned],
    callers: Callers<'_>,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    if advice.is_empty() {
        blocks.push(Block::Text(
            "No calls between services in this file, so there is nothing to advise on.".to_owned(),
        ));
    }
    for (edge, it) in dataset.edges.iter().zip(advice) {
        of_edge(dataset, edge, it, callers, &mut blocks);
    }
    if dataset.edges.len() > advice.len() {
        let more = format::count((dataset.edges.len() - advice.len()) as u64);
        blocks.push(Block::Note(
            [
                &more,
                " more edges, with fewer calls, are told by the command line.",
            ]
            .concat(),
        ));
    }
    if !abandoned.is_empty() {
        blocks.push(Block::Heading("Work for nobody".to_owned()));
        blocks.push(Block::Text(
            "These services went on with calls whose callers had gone.".to_owned(),
        ));
        let row = |it: &Abandoned| {
            let trace = Act::Trace(trace_of(dataset, it.longest));
            vec![
                it.service.as_str().into(),
                format::count(it.calls).into(),
                format::duration(it.total_ns).into(),
                Cell::with(format::duration(it.longest_ns), Some(trace)),
            ]
        };
        blocks.push(Block::Table {
            head: head(&["service", "calls", "in all", "longest"]),
            rows: abandoned.iter().map(row).collect(),
        });
    }
    blocks
}

fn of_edge(
    dataset: &Dataset,
    edge: &Edge,
    advice: &EdgeAdvice,
    callers: Callers<'_>,
    blocks: &mut Vec<Block>,
) {
    let calls = &edge.calls;
    blocks.push(Block::Heading(
        [&edge.from, " \u{2192} ", &edge.to].concat(),
    ));
    blocks.push(Block::Note(
        [
            &format::counted(advice.calls, "call"),
            " with a known duration",
            &advice
                .rate
                .map_or(String::new(), |it| [", ", &format::rate(it)].concat()),
        ]
        .concat(),
    ));
    let mut rows = Vec::new();
    for (name, it) in ["p50", "p90", "p99", "p99.9"]
        .iter()
        .zip(&advice.percentiles)
    {
        let between = [or_dash(it.low), " \u{2013} ".to_owned(), or_dash(it.high)].concat();
        let act = it.ns.and_then(|ns| {
            let at = (0..calls.len()).find(|&at| calls.duration(at) == ns)?;
            Some(Act::Trace(trace_of(dataset, calls.span[at])))
        });
        rows.push(vec![
            (*name).into(),
            Cell::with(or_dash(it.ns), act),
            between.into(),
        ]);
    }
    if let Some([p50, p999]) = advice.connect {
        let all = [
            format::duration(p50),
            " (p50), ".to_owned(),
            format::duration(p999),
            " (p99.9)".to_owned(),
        ];
        rows.push(vec![
            "to connect".into(),
            all.concat().into(),
            Cell::default(),
        ]);
    }
    for &(timeout, cut) in &advice.timeouts_in_use {
        rows.push(vec![
            "timeout in use".into(),
            format::duration(timeout).into(),
            Cell::with(
                ["cut ", &format::counted(cut, "call")].concat(),
                cut_by(dataset, calls, timeout).map(Act::Look),
            ),
        ]);
    }
    let proposed = advice.proposed_timeout_ns;
    let act = proposed.map(|ns| {
        let value = crate::ingest::time::print_duration(ns);
        Act::Setting("timeout".to_owned(), value)
    });
    let cuts = match advice.cut_share {
        Some(share) => ["would cut ", &percent(share), " of the good calls"].concat(),
        None => "too few good calls to propose one".to_owned(),
    };
    rows.push(vec![
        "timeout proposed".into(),
        Cell::with(or_dash(proposed), act),
        cuts.into(),
    ]);
    blocks.push(Block::Table {
        head: head(&["", "", "95\u{a0}% sure it is"]),
        rows,
    });
    blocks.extend(censored(advice).map(|it| Block::Note(it.to_owned())));
    blocks.push(Block::Text(in_flight(advice)));
    let own = callers.timeout.filter(|it| std::ptr::eq(it.0, edge));
    blocks.extend(own.and_then(|it| drifted(it.1, advice)).map(Block::Text));
    if let Some(size) = callers.pool {
        blocks.push(Block::Text(asked_pool(size, advice)));
    }
}

/// That a proposal is drawn from calls of which the slowest were cut.
pub fn censored(advice: &EdgeAdvice) -> Option<&'static str> {
    let proposed = advice.proposed_timeout_ns?;
    let shortest = advice.timeouts_in_use.first()?.0;
    (proposed >= shortest).then_some(
        "The timeout in use cut the slowest calls: how long they would have taken is not seen.",
    )
}

/// That a timeout no longer is what would be proposed.
fn drifted(timeout: u64, advice: &EdgeAdvice) -> Option<String> {
    let now = advice.proposed_timeout_ns?;
    advise::drifted(timeout, now).then(|| {
        [
            "The breaker\u{2019}s timeout of ",
            &format::duration(timeout),
            " does not fit these calls: ",
            &format::duration(now),
            " would be proposed.",
        ]
        .concat()
    })
}

/// Calls in flight, and the pool that they evidently fill.
pub fn in_flight(advice: &EdgeAdvice) -> String {
    let it = &advice.in_flight;
    let mut said = [
        "In flight: ",
        &format::fixed(it.mean, 1),
        " on average (",
        &format::fixed(it.littles_law, 1),
        " by Little\u{2019}s law), ",
        &format::count(it.max.into()),
        " at most.",
    ]
    .concat();
    if let Some(pool) = advice.pool {
        said.push_str(" A pool of ");
        said.push_str(&format::count(pool.size.into()));
        said.push_str(" is evidently in use, and all of it for ");
        said.push_str(&percent(pool.saturated_share));
        said.push_str(" of the time.");
    }
    said
}

/// What a pool of that size would stand, with hanging calls and with a timeout.
pub fn asked_pool(size: u32, advice: &EdgeAdvice) -> String {
    let longest = advice.timeouts_in_use.last().map(|it| it.0);
    let hang = longest.or(advice.percentiles[3].ns);
    let Some((hang, rate)) = hang.zip(advice.busiest) else {
        return "Too few calls to tell what a pool bears.".to_owned();
    };
    let stands = |ns: u64| match advise::dry_after(size, rate, ns) {
        Some(seconds) => ["is dry after ", &format::duration((seconds * 1e9) as u64)].concat(),
        None => {
            let taken = advise::threads_taken(rate, ns).ceil() as u64;
            ["holds, with ", &format::count(taken.max(1)), " taken"].concat()
        }
    };
    let mut said = [
        "A pool of ",
        &format::count(size.into()),
        ": when every call hangs for ",
        &format::duration(hang),
        ", at the ",
        &format::rate(rate),
        " of the busiest second, it ",
        &stands(hang),
        "; when an open breaker refuses them in 1\u{a0}ms it ",
        &stands(1_000_000),
    ]
    .concat();
    if let Some(timeout) = advice.proposed_timeout_ns.filter(|&it| it < hang) {
        said.push_str("; with a timeout of ");
        said.push_str(&format::duration(timeout));
        said.push_str(" it ");
        said.push_str(&stands(timeout));
    }
    said.push('.');
    if advice.in_flight.max > size {
        said.push_str(" This file has more calls at once: ");
        said.push_str(&format::count(advice.in_flight.max.into()));
        said.push('.');
    }
    let dry = advise::dry_after(size, rate, hang).is_some();
    if dry && !advice.also_waits.is_empty() {
        said.push_str(" When it is dry, calls to ");
        said.push_str(&advice.also_waits.join(", "));
        said.push_str(" wait, too, if they share it.");
    }
    said
}

fn trace_of(dataset: &Dataset, span: SpanIdx) -> String {
    let table = &dataset.table;
    table.trace_id(table.rank[span.0 as usize]).to_owned()
}

/// The part of the plot with all calls that a timeout cut.
fn cut_by(dataset: &Dataset, calls: &Calls, timeout: u64) -> Option<Viewport> {
    let above = just_above(timeout);
    let failed = |&at: &usize| {
        let bad = calls.outcome[at].is_failure();
        bad && above.contains(&calls.duration(at))
    };
    let mut found: Option<Viewport> = None;
    for at in (0..calls.len()).filter(failed) {
        let rank = i64::from(dataset.table.rank[calls.span[at].0 as usize].0) * MILLI;
        let one = Viewport {
            t0: calls.start[at],
            t1: calls.end[at],
            y0: rank,
            y1: rank + MILLI,
        };
        found = Some(found.map_or(one, |it| Viewport {
            t0: it.t0.min(one.t0),
            t1: it.t1.max(one.t1),
            y0: it.y0.min(one.y0),
            y1: it.y1.max(one.y1),
        }));
    }
    found
}
