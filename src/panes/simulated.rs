//! What would have helped: where the scenario's figures come from, and what came of many runs.

use herdscope_sim::Figures;

use super::{Block, Cell, head, or_dash};
use crate::estimate::Fact;
use crate::format;

/// What there is to say of a scenario's facts and of the runs so far of each variant.
pub fn simulated(facts: &[Fact], rows: &[(&str, Option<Figures>)], of: usize) -> Vec<Block> {
    let field = |it: &Fact| Block::Field {
        key: it.key.name().to_owned(),
        value: it.value.clone(),
        note: it.source.clone(),
        given: it.given,
    };
    let mut blocks: Vec<Block> = facts.iter().map(field).collect();
    let runs = rows.iter().filter_map(|it| Some(it.1.as_ref()?.runs));
    let runs = runs.min().unwrap_or(0);
    blocks.push(Block::Note(
        [
            &format::count(runs as u64),
            " of ",
            &format::counted(of as u64, "run"),
            " of each, ten minutes or until a minute after recovery, all with the same requests.",
        ]
        .concat(),
    ));
    blocks.push(Block::Table {
        head: head(&[
            "remedy",
            "recovered",
            "after",
            "served",
            "withheld",
            "failed",
            "wasted",
            "pods",
        ]),
        rows: rows
            .iter()
            .map(|(name, it)| row(name, it.as_ref()))
            .collect(),
    });
    blocks.push(Block::Note(
        "Recovered: the share of the runs, and where its probability is with 95 %. After: the median of those that did. \
         Wasted: workers held for callers that had given up. Pods: times minutes."
            .to_owned(),
    ));
    blocks
}

fn row(name: &str, it: Option<&Figures>) -> Vec<Cell> {
    let mut row = vec![Cell::from(name.replace('_', " ").replace('+', " + "))];
    let Some(it) = it else {
        return row;
    };
    let whole = |share: f64| format::fixed(share * 100.0, 0);
    let share = |n: u64| format::share(n, it.requests).into();
    let [low, high] = it.interval.map(whole);
    let recovered = [&whole(it.recovered), " % (", &low, "\u{2013}", &high, ")"].concat();
    row.extend([
        recovered.into(),
        or_dash(it.recovery_ns.map(|it| it[0])).into(),
        share(it.served),
        share(it.withheld),
        share(it.failed + it.shed),
        format::duration(it.wasted_ns).into(),
        format::count(it.pod_ns / 60_000_000_000).into(),
    ]);
    row
}
