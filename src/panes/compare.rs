//! What distinguishes the part in view from the rest.

use super::{Block, Cell, DASH, head, or_dash, percent};
use crate::compare::{Attribute, Comparison, Side};
use crate::format;

/// What there is to say of a comparison; `all` is whether everything is in view.
pub fn compare(it: &Comparison, all: bool) -> Vec<Block> {
    if all {
        return vec![Block::Text(
            "Everything is in view. Drag over a part of the plot: it is compared with the rest here.".to_owned(),
        )];
    }
    let sides = [&it.inside, &it.outside];
    let row = |name: &str, of: &dyn Fn(&Side) -> String| {
        let mut row = vec![Cell::from(name)];
        row.extend(sides.map(|it| Cell::from(of(it))));
        row
    };
    let mut rows = vec![
        row("spans", &|it| format::count(it.spans)),
        row("traces", &|it| format::count(it.traces)),
        row("calls", &|it| format::count(it.calls)),
        row("calls a second", &|it| {
            it.rate.map_or_else(|| DASH.to_owned(), format::rate)
        }),
        row("calls failed", &|it| format::share(it.failed, it.calls)),
        row("calls timed out", &|it| {
            format::share(it.timed_out, it.calls)
        }),
    ];
    for (place, name) in ["p50", "p90", "p99", "p99.9"].iter().enumerate() {
        rows.push(row(name, &|it| or_dash(it.percentiles[place].ns)));
    }
    let mut blocks = vec![Block::Table {
        head: head(&["", "in view", "the rest"]),
        rows,
    }];
    let telling = |it: &&Attribute| it.values.first().is_some_and(|it| it.telling > 0.0);
    let found: Vec<&Attribute> = it.attributes.iter().filter(telling).collect();
    blocks.push(match found.is_empty() {
        true => {
            Block::Note("No attribute differs by more than chance would at this sample.".to_owned())
        }
        false => Block::Note(
            "What differs by more than chance would, in shares of the spans, the most telling first:".to_owned(),
        ),
    });
    for attribute in found {
        let values = attribute.values.iter().filter(|it| it.telling > 0.0);
        let share = |it: Option<f64>| Cell::from(it.map_or_else(|| DASH.to_owned(), percent));
        blocks.push(Block::Table {
            head: head(&[attribute.name, "in view", "the rest"]),
            rows: values
                .map(|it| {
                    vec![
                        it.value.as_str().into(),
                        share(it.share[0]),
                        share(it.share[1]),
                    ]
                })
                .collect(),
        });
    }
    blocks
}
