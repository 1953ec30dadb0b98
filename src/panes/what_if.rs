//! What other settings would have done to the calls of an edge: side by side, and two settings against
//! each other.

use halfopen::Config;

use super::{Act, Block, Cell, DASH, head, percent};
use crate::calls::Calls;
use crate::format;
use crate::what_if::{Case, Figures, Grid};

/// What there is to say of these cases, and of a grid.
pub fn what_if(calls: &Calls, present: &Config, cases: &[Case], grid: Option<&Grid>) -> Vec<Block> {
    let n_calls = calls.len() as u64;
    let mut blocks = vec![
        Block::Note(
            [
                "The same ",
                &format::counted(n_calls, "call"),
                " with other settings. Open loop: what callers and the service would have done otherwise is in \
                 no figure, nor are calls that a breaker refused when this was recorded: a shorter wait changes nothing.",
            ]
            .concat(),
        ),
        Block::Table {
            head: head(&["settings", "withheld", "failed", "held", "opens"]),
            rows: cases.iter().map(|it| row(it, present, n_calls)).collect(),
        },
        Block::Note(
            "Failed: calls let through that failed or were cut. Held: callers\u{2019} threads, in all. Opens: \
             after so long from the first bad call. Press settings to use them."
                .to_owned(),
        ),
    ];
    if let Some(grid) = grid {
        let [x, y] = &grid.axes;
        blocks.push(Block::Heading(
            ["Withheld, by ", x.key, " (across) and ", y.key, " (down)"].concat(),
        ));
        let mut names = vec![String::new()];
        names.extend(x.values.iter().cloned());
        let rows = grid.cells.cases.chunks(x.values.len().max(1));
        let row = |(at, cells): (usize, &[Case])| {
            let mut row = vec![Cell::from(y.values[at].as_str())];
            row.extend(cells.iter().map(|it| cell(it, present, n_calls)));
            row
        };
        blocks.push(Block::Table {
            head: names,
            rows: rows.enumerate().map(row).collect(),
        });
    }
    blocks
}

fn row(case: &Case, present: &Config, n_calls: u64) -> Vec<Cell> {
    let name = match (&case.settings, case.name) {
        (None, _) => Cell::from("as it was"),
        (_, "present") => Cell {
            present: true,
            ..Cell::from("the breaker\u{2019}s")
        },
        (Some(settings), _) => {
            let act = Act::Settings(settings.to_string());
            Cell::with(difference(settings, present), Some(act))
        }
    };
    let Some(it) = &case.figures else {
        return vec![name];
    };
    vec![
        name,
        withheld(it, n_calls).into(),
        format::count(it.failed).into(),
        format::duration(it.held_ns).into(),
        opens(it).into(),
    ]
}

fn withheld(it: &Figures, n_calls: u64) -> String {
    it.withheld
        .map_or_else(|| DASH.to_owned(), |it| percent(share(it, n_calls)))
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn opens(it: &Figures) -> String {
    match (it.to_trip_ns, it.trips) {
        (Some(ns), _) => format::duration(ns),
        (None, Some(0)) => "never".to_owned(),
        _ => DASH.to_owned(),
    }
}

/// The settings that are not as in the present ones.
fn difference(settings: &Config, present: &Config) -> String {
    let (settings, present) = (settings.to_string(), present.to_string());
    let has = |all: &str, pair: &str| all.split(',').any(|it| it == pair);
    let other: Vec<&str> = settings
        .split(',')
        .filter(|it| !has(&present, it))
        .collect();
    match other.is_empty() {
        // Only what the text leaves out.
        true => settings.replace(',', ", "),
        false => other.join(", "),
    }
}

fn cell(case: &Case, present: &Config, n_calls: u64) -> Cell {
    let known = case.settings.as_ref().zip(case.figures.as_ref());
    let Some((settings, it)) = known else {
        return Cell::from(DASH);
    };
    let share = share(it.withheld.unwrap_or(0), n_calls);
    Cell {
        text: format::fixed(share * 100.0, 0),
        act: Some(Act::Settings(settings.to_string())),
        shade: Some((share * 100.0) as u8),
        present: settings == present,
    }
}
