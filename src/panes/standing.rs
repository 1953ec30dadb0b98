//! What the pane of the picked trace says of its place among all.

use super::{Block, head, percent};
use crate::format;
use crate::order;
use crate::spans::{SpanIdx, SpanTable};
use crate::standing::{Standing, Standings};

/// So many spans are listed, the most unusual first.
const MOST: usize = 5;

/// With fewer to compare it with, a place says nothing.
const FEW: u64 = 20;

/// The trace in a sentence, and its spans that took longer than most others like them.
pub fn standing(table: &SpanTable, of: &Standings) -> Vec<Block> {
    let (lasted, trace) = of.trace;
    let text = match share(trace) {
        None => "There is no other trace to compare it with.".to_owned(),
        Some(share) => format!(
            "Its {} are longer than {share} of the {}.",
            format::duration(lasted),
            format::counted(trace.of, "other trace"),
        ),
    };
    let mut blocks = vec![Block::Text(text)];
    let compared = of.spans.iter().filter(|it| it.1.of >= FEW).copied();
    let sorted = order::sorted(compared.collect(), &mut |a: &(SpanIdx, Standing), b| {
        // Of two fractions the larger one first, without dividing.
        let product = |a: Standing, b: Standing| u128::from(a.shorter) * u128::from(b.of);
        product(b.1, a.1).cmp(&product(a.1, b.1))
    });
    let rows: Vec<_> = sorted
        .into_iter()
        .take(MOST)
        .map(|(span, standing)| {
            let at = span.0 as usize;
            let service = table.service_name(table.service[at]);
            let operation = table.names.get(table.operation(at));
            vec![
                [service, " ", operation].concat().into(),
                format::duration(table.duration[at]).into(),
                share(standing).unwrap_or_default().into(),
                format::count(standing.of).into(),
            ]
        })
        .collect();
    if !rows.is_empty() {
        blocks.push(Block::Table {
            head: head(&["span", "took", "longer than", "of others like it"]),
            rows,
        });
    }
    blocks
}

/// The share of the others that are shorter; `None` without others.
fn share(of: Standing) -> Option<String> {
    (of.of > 0).then(|| percent(of.shorter as f64 / of.of as f64))
}
