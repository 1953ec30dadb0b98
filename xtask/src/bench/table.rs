//! Rows as a table, for the terminal and as Markdown.

use std::fmt::Write as _;

use super::row::{Row, Target};

/// The headings of both.
const HEADINGS: [&str; 7] = [
    "what",
    "ours",
    "peer",
    "",
    "times better (from to)",
    "target",
    "",
];

/// The cells of a row, in the order of the headings.
fn cells(row: &Row) -> [String; 7] {
    let number = |it: Option<f64>| it.map_or_else(String::new, shown);
    let spread = |[low, high]: [f64; 2]| format!(" ({} to {})", shown(low), shown(high));
    let range = row.spread.filter(|it| it[0] != it[1]);
    let (mut ours, mut ratio) = (number(row.ours), number(row.ratio));
    match (range, &row.of) {
        (Some(range), Some(_)) => ratio += &spread(range),
        (Some(range), None) => ours += &spread(range),
        (None, _) => {}
    }
    let target = row.target.map_or_else(String::new, |target| match target {
        Target::AtLeast(bound) => format!("≥ {}", shown(bound)),
        Target::AtMost(bound) => format!("≤ {}", shown(bound)),
    });
    let mut verdict = match (row.met, row.missed_by()) {
        (Some(true), _) => "met".to_owned(),
        (Some(false), Some(share)) => format!("missed by {:.0} %", share * 100.0),
        (Some(false), None) => "missed".to_owned(),
        (None, _) => String::new(),
    };
    if let Some(why) = &row.why {
        if !verdict.is_empty() {
            verdict += ": ";
        }
        verdict += why;
    }
    let of = row.of.clone().unwrap_or_default();
    [
        row.what.clone(),
        ours,
        of,
        number(row.peer),
        ratio,
        target,
        verdict,
    ]
}

/// A number with three digits that count.
fn shown(value: f64) -> String {
    let size = value.abs();
    if value == value.trunc() && size < 1e6 {
        return format!("{value:.0}");
    }
    match size {
        1e6.. => format!("{:.1} M", value / 1e6),
        1e2.. => format!("{value:.0}"),
        1e1.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// For the terminal: columns under each other, what there is to say at the end of its line.
pub fn text(rows: &[Row]) -> String {
    let mut lines = vec![HEADINGS.map(str::to_owned)];
    lines.extend(rows.iter().map(cells));
    let width = |at: usize| {
        lines
            .iter()
            .map(|it| it[at].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
    let mut out = String::new();
    for line in &lines {
        let mut cells = String::new();
        for (at, cell) in line.iter().enumerate() {
            let pad = " ".repeat(widths[at] - cell.chars().count() + 2);
            // Numbers end under each other.
            match at {
                1 | 3 => cells.extend([&pad, cell.as_str()]),
                2 | 4 | 5 => cells.extend(["  ", cell, &pad[2..]]),
                6 => cells.extend(["  ", cell]),
                _ => cells.extend([cell, &pad[2..]]),
            }
        }
        let _ = writeln!(out, "{}", cells.trim_end());
    }
    out
}

/// As Markdown.
pub fn markdown(rows: &[Row]) -> String {
    let mut out = String::new();
    let mut line = |cells: &[String; 7]| {
        let [what, ours, of, peer, ratio, target, verdict] =
            cells.each_ref().map(|it| it.replace('|', "\\|"));
        let peer = [of, peer].join(" ");
        let _ = writeln!(
            out,
            "| {what} | {ours} | {} | {ratio} | {target} | {verdict} |",
            peer.trim()
        );
    };
    line(&HEADINGS.map(str::to_owned));
    line(&["---", "--:", "---", "", "---", "---", "---"].map(str::to_owned));
    rows.iter().for_each(|row| line(&cells(row)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::row::Better;

    #[test]
    fn a_missed_target_says_by_how_much_and_why() {
        let row = Row::beside(
            "reading, MB/s",
            &[30.0, 32.0],
            "csv",
            &[100.0, 100.0],
            Better::More,
        )
        .aim(Target::AtLeast(0.5))
        .or_because("it is slow");
        let line = text(std::slice::from_ref(&row));
        for part in [
            "reading, MB/s",
            "32",
            "csv",
            "100",
            "0.32 (0.30 to 0.32)",
            "≥ 0.50",
            "missed by 36 %: it is slow",
        ] {
            assert!(line.contains(part), "{part} is not in {line}");
        }
        assert_eq!(
            markdown(&[row]).lines().last(),
            Some(
                "| reading, MB/s | 32 | csv 100 | 0.32 (0.30 to 0.32) | ≥ 0.50 | missed by 36 %: it is slow |"
            )
        );
    }

    #[test]
    fn numbers_have_three_digits_that_count() {
        let numbers = [0.318_2, 3.0, 47.11, 511.7, 1_234_567.0, 350_000.0];
        assert_eq!(
            numbers.map(shown),
            ["0.32", "3", "47.1", "512", "1.2 M", "350000"]
        );
    }
}
