//! What would have helped: where the scenario's figures come from, and what came of many runs.

use herdscope_sim::Figures;

use super::{Block, Cell, or_dash};
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
    // The remedies stand side by side: they are few, and a pane is narrow.
    let mut head = vec![String::new()];
    let mut lines: Vec<Vec<Cell>> = LINES.iter().map(|&it| vec![it.into()]).collect();
    for (name, figures) in rows {
        let together = name.contains('+');
        head.push(if together {
            "together".to_owned()
        } else {
            name.replace('_', " ")
        });
        let cells = figures.as_ref().map(cells).unwrap_or_default();
        for (line, cell) in lines.iter_mut().zip(cells) {
            line.push(cell.into());
        }
    }
    blocks.push(Block::Table { head, rows: lines });
    blocks.push(Block::Note(
        "Recovered: the share of the runs, and where its probability is. After: the median of those that did. \
         Wasted: workers held for callers that had given up."
            .to_owned(),
    ));
    blocks
}

/// What is said of each.
const LINES: [&str; 8] = [
    "recovered",
    "95 % sure",
    "after",
    "served",
    "withheld",
    "failed",
    "wasted",
    "pod minutes",
];

fn cells(it: &Figures) -> Vec<String> {
    let whole = |share: f64| format::fixed(share * 100.0, 0);
    let share = |n: u64| format::share(n, it.requests);
    let [low, high] = it.interval.map(whole);
    vec![
        whole(it.recovered) + " %",
        [&low, "\u{2013}", &high, " %"].concat(),
        or_dash(it.recovery_ns.map(|it| it[0])),
        share(it.served),
        share(it.withheld),
        share(it.failed + it.shed),
        format::duration(it.wasted_ns),
        format::count(it.pod_ns / 60_000_000_000),
    ]
}
