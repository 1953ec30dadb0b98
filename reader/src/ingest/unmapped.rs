//! A table of which no rule understands the columns, as a person needs it to tell what they are.
//!
//! Owns the guesses. Invariant: bounded whatever the file: some rows, columns and characters. O(shown
//! cells · names). Pinned by `tests/ingest/told.rs`.

use serde::{Deserialize, Serialize};

use super::exporters::{COMMON, Field, Words, normal};
use super::time::{self, Unit, parse_duration, parse_time};
use crate::order;
use crate::parts;

const ROWS: usize = 5;
const COLUMNS: usize = 64;
const CHARACTERS: usize = 80;

/// The head of such a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmapped {
    /// The first headers. A long one is cut, and then cannot be told.
    pub headers: Vec<String>,
    /// The cells under them of the first rows.
    pub rows: Vec<Vec<String>>,
    /// A field as [`Told`](super::Told) names it, and which column could be it. At most one column a
    /// field and one field a column.
    pub guesses: Vec<(String, u32)>,
}

impl Unmapped {
    pub(super) fn new<'a>(
        headers: impl Iterator<Item = &'a str>,
        rows: &[Vec<String>],
    ) -> Unmapped {
        let headers: Vec<String> = headers.take(COLUMNS).map(cut).collect();
        let row = |row: &Vec<String>| row.iter().take(COLUMNS).map(|it| cut(it)).collect();
        let rows: Vec<Vec<String>> = rows.iter().take(ROWS).map(row).collect();
        let guesses = guesses(&headers, &rows);
        Unmapped {
            headers,
            rows,
            guesses,
        }
    }
}

fn cut(text: &str) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    text.trim().chars().take(CHARACTERS).map(clean).collect()
}

/// Parts of headers that hint at a field, where no common name is found.
const HINTS: &[(Field, Words)] = &[
    (Field::Trace, Words("trace correlation requestid")),
    (Field::Parent, Words("parent")),
    (Field::Span, Words("span")),
    (Field::Start, Words("start begin time date when")),
    (Field::End, Words("end finish stop")),
    (
        Field::Duration,
        Words("dur elapsed took latency response ms"),
    ),
    (Field::Service, Words("service app component module")),
    (
        Field::Operation,
        Words("operation endpoint name method path url"),
    ),
    (Field::Kind, Words("kind type")),
    (Field::Status, Words("status result code level")),
    (Field::Error, Words("error fail")),
    (Field::Instance, Words("pod host instance node container")),
];

fn guesses(headers: &[String], rows: &[Vec<String>]) -> Vec<(String, u32)> {
    let normals: Vec<String> = headers.iter().map(|it| normal(it)).collect();
    let mut guesses: Vec<(Field, usize)> = Vec::new();
    let holds = |field: Field, column: usize| {
        let mut cells = rows.iter().filter_map(|row| row.get(column));
        match field {
            Field::Start | Field::End => cells.all(|it| parse_time(it, None).is_some()),
            Field::Duration => {
                cells.all(|it| parse_duration(it, Unit::Ms, false) != time::Told::Nothing)
            }
            _ => true,
        }
    };
    let names = COMMON.iter().filter(|it| it.0 != Field::Attributes);
    let exact = names.map(|&(field, names)| (field, names, true));
    let hints = HINTS.iter().map(|&(field, names)| (field, names, false));
    for (field, names, whole) in exact.chain(hints) {
        let free = |column: &usize| {
            holds(field, *column) && !guesses.iter().any(|it| it.0 == field || it.1 == *column)
        };
        let named = |column: &usize| {
            let header = &normals[*column];
            let mut names = names.iter();
            names.any(|name| {
                if whole {
                    header == name
                } else {
                    parts::holds(header, name)
                }
            })
        };
        let found = (0..headers.len()).find(|column| named(column) && free(column));
        if let Some(column) = found {
            guesses.push((field, column));
        }
    }
    let guesses = order::sorted(guesses, &mut Ord::cmp);
    let named = |(field, column): (Field, usize)| (field.as_str().to_owned(), column as u32);
    guesses.into_iter().map(named).collect()
}
