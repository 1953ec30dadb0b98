//! What may follow in a filter that is being written: keys, and the values that a table has.
//!
//! Invariant: what is proposed reads as a filter when a key has its value. O(spans) where values are counted.

use super::matches::{holds, text_of};
use super::{FIELDS, Field, KINDS, STATUSES, quoted};
use crate::column::Column;
use crate::order;
use crate::spans::SpanTable;

/// So many are proposed at most.
pub const MOST: usize = 9;

const KEYS: [&str; 12] = [
    "service=",
    "operation=",
    "name~",
    "status=",
    "duration>",
    "instance=",
    "peer=",
    "message~",
    "tier=",
    "kind=",
    "trace=",
    "timeout",
];

const TIERS: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];

const DURATIONS: [&str; 5] = ["10ms", "100ms", "1s", "3s", "10s"];

/// For a text up to where the person writes: from which byte on it would be replaced, and by what, the likeliest first.
#[inline(never)]
pub fn complete(table: &SpanTable, text: &str) -> (usize, Vec<String>) {
    let (from, key) = place(text);
    let written = text.get(from..).unwrap_or_default();
    let quoted_part = written.strip_prefix('"');
    let (opens, written) = (quoted_part.is_some(), quoted_part.unwrap_or(written));
    // What stands before the value, and that.
    let mut of: Vec<(&str, &str)> = Vec::new();
    let mut add = |before, values: &[&'static str]| {
        of.extend(values.iter().map(|&it| (before, it)));
    };
    let tiers = table.services().map(|it| table.tier(it.0)).max();
    let n_tiers = usize::from(tiers.unwrap_or(0)) + 1;
    match key {
        None if opens => {}
        None => add("", &KEYS),
        Some("duration") => add("", &DURATIONS),
        Some("status") => add("", &STATUSES.map(|it| it.0)),
        Some("kind") => add("", &KINDS.map(|it| it.as_str())),
        Some("tier") => add("", TIERS.get(..n_tiers).unwrap_or(&TIERS)),
        Some(_) => {}
    }
    let mut counted = None;
    for (name, field) in &FIELDS {
        let before = match key {
            Some(key) if key == *name => "=",
            None if !opens && !written.is_empty() && *name == "service" => "service=",
            None if !opens && !written.is_empty() && *name == "operation" => "operation=",
            _ => continue,
        };
        let spans = counted.get_or_insert_with(|| spans_of_sets(table));
        let values = values(table, *field, spans);
        of.extend(values.into_iter().map(|it| (before, it)));
    }
    let mut found = Vec::new();
    for first in [true, false] {
        for (before, value) in &of {
            let fits = begins(value, written) == first && holds(value, written);
            if fits && found.len() < MOST && *value != written {
                found.push(match *before {
                    "" => (*value).to_owned(),
                    "=" => quoted(value),
                    _ => [before, quoted(value).as_str()].concat(),
                });
            }
        }
    }
    (from, found)
}

fn begins(text: &str, with: &str) -> bool {
    let start = text.as_bytes().get(..with.len());
    start.is_some_and(|it| it.eq_ignore_ascii_case(with.as_bytes()))
}

/// Where what is being written begins, and the key that it is a value of.
fn place(text: &str) -> (usize, Option<&str>) {
    let (mut from, mut key, mut quotes, mut escaped) = (0, None, false, false);
    let mut before = "";
    for (at, c) in text.char_indices() {
        let next = at + c.len_utf8();
        match c {
            _ if escaped => escaped = false,
            '\\' if quotes => escaped = true,
            '"' => quotes = !quotes,
            _ if quotes => {}
            '(' | ')' => (from, key) = (next, None),
            // Spaces may stand around the sign between a key and its value.
            _ if c.is_whitespace() => {
                if from < at {
                    before = text.get(from..at).unwrap_or_default();
                    key = None;
                }
                from = next;
            }
            '=' | '~' | '<' | '>' if key.is_none() => {
                let word = match from < at {
                    true => text.get(from..at).unwrap_or_default(),
                    false => before,
                };
                key = Some(word.strip_suffix('!').unwrap_or(word));
                from = next;
            }
            '=' if from == at => from = next,
            '-' if from == at && key.is_none() => from = next,
            _ => {}
        }
    }
    (from, key)
}

/// How many spans have each label set.
#[inline(never)]
fn spans_of_sets(table: &SpanTable) -> Column<u32> {
    let mut spans = Column::of(0, table.label_sets.all().len());
    for &labels in &table.labels {
        spans[labels as usize] += 1;
    }
    spans
}

/// The values of a field, those of most spans first.
#[inline(never)]
fn values<'a>(table: &'a SpanTable, field: Field, of_sets: &Column<u32>) -> Vec<&'a str> {
    let names = &table.names;
    let mut spans = Column::of(0u32, names.len());
    for (set, n_spans) in table.label_sets.all().iter().zip(of_sets) {
        if let Some(it) = spans.get_mut(text_of(set, field) as usize) {
            *it += n_spans;
        }
    }
    // The empty text is none.
    let mut found: Vec<u32> = (1..names.len() as u32)
        .filter(|&it| spans[it as usize] > 0)
        .collect();
    order::sort(&mut found, &mut |a, b| {
        spans[b as usize].cmp(&spans[a as usize]).then(a.cmp(&b))
    });
    found.into_iter().map(|it| names.get(it)).collect()
}
