//! One span as several exporters wrote it.
//!
//! Owns the rule: rows of different files with the ids, the kind and the service of one span, whose starts
//! agree to the step of the coarser clock, are that span. Invariants: all of them are made to say what the
//! finest says and, where it says nothing, the others, so that the table drops all but the earliest
//! file's; rows of one file are never joined. O(n log n) over the rows of traces that several files have, and
//! O(rows of an id) for each of those. Pinned by `tests/it/files.rs`.

use crate::order;
use crate::rows::{Kind, NONE, SpanRows, UNKNOWN_DURATION};
use crate::spans::says_the_same;
use crate::strings::Strings;

/// An id that more rows have is none of a span, and is left as it is.
const MOST: usize = 16;

/// Joins the rows that are one span.
pub(crate) fn join(rows: &mut SpanRows) {
    let steps = steps(rows);
    let mut order = shared(rows);
    let id = |rows: &SpanRows, at: u32| (rows.trace[at as usize], rows.span[at as usize]);
    let key = |at: u32| {
        let (file, i) = (rows.file_of(at as usize), at as usize);
        let row = (rows.start[i], rows.duration[i], rows.outcome[i]);
        (id(rows, at), steps[usize::from(file)], file, row)
    };
    order::sort(&mut order, &mut |a, b| key(a).cmp(&key(b)));
    let mut twins = Vec::new();
    for of_id in order.chunk_by(|&a, &b| id(rows, a) == id(rows, b)) {
        // Without an id of its own a span is named by its row.
        let named = !rows.span_ids.get(id(rows, of_id[0]).1).starts_with("row:");
        if named && (2..=MOST).contains(&of_id.len()) {
            find(rows, &steps, of_id, &mut twins);
        }
    }
    for &(head, twin) in &twins {
        complete(rows, head, twin);
    }
    for &(head, twin) in &twins {
        copy(rows, head, twin);
    }
}

/// The step of each file's clock: the largest of seconds, milliseconds and so on that fits all its starts.
fn steps(rows: &SpanRows) -> Vec<u64> {
    let ends = rows.later_files.iter().map(|&it| it as usize);
    let mut from = 0;
    let of_file = |to: usize| {
        let starts = &rows.start[std::mem::replace(&mut from, to)..to];
        starts.iter().fold(1_000_000_000, |mut step, start| {
            while start.unsigned_abs() % step != 0 {
                step /= 1_000;
            }
            step
        })
    };
    ends.chain([rows.len()]).map(of_file).collect()
}

/// The rows of traces that are in several files.
fn shared(rows: &SpanRows) -> Vec<u32> {
    const FRESH: u16 = u16::MAX;
    let mut first = vec![FRESH; rows.trace_ids.len()];
    let mut several = vec![false; first.len()];
    for (at, &trace) in rows.trace.iter().enumerate() {
        let (file, trace) = (rows.file_of(at), trace as usize);
        several[trace] |= first[trace] != FRESH && first[trace] != file;
        first[trace] = file;
    }
    let shared = |&at: &u32| several[rows.trace[at as usize] as usize];
    (0..rows.len() as u32).filter(shared).collect()
}

/// Of the rows of one id, finest first, each with the one that it is told again by.
fn find(rows: &SpanRows, steps: &[u64], of_id: &[u32], twins: &mut Vec<(u32, u32)>) {
    let before = twins.len();
    for (n, &at) in of_id.iter().enumerate() {
        let file = rows.file_of(at as usize);
        let same = |other: u32| says_the_same(rows, other as usize, at as usize);
        let mut heads = of_id[..n].iter().filter(|&&head| {
            let found = &twins[before..];
            // A span of one file is one of another.
            let taken = |it: &(u32, u32)| {
                it.0 == head && rows.file_of(it.1 as usize) == file && !same(it.1)
            };
            let of_head = rows.file_of(head as usize);
            let step = steps[usize::from(file)].max(steps[usize::from(of_head)]);
            !found.iter().any(|it| it.1 == head || taken(it))
                && match of_head == file {
                    true => same(head),
                    false => fits(rows, head as usize, at as usize, step),
                }
        });
        if let Some(&head) = heads.next() {
            twins.push((head, at));
        }
    }
}

fn fits(rows: &SpanRows, a: usize, b: usize, step: u64) -> bool {
    let (kinds, services) = (
        [rows.kind[a], rows.kind[b]],
        [rows.service[a], rows.service[b]],
    );
    rows.start[a].abs_diff(rows.start[b]) < step
        && (kinds[0] == kinds[1] || kinds.contains(&Kind::Unset))
        && (services[0] == services[1] || services.contains(&Strings::EMPTY))
}

/// Adds what only the other row says.
fn complete(rows: &mut SpanRows, head: u32, twin: u32) {
    let (head, twin) = (head as usize, twin as usize);
    for (column, nothing) in [
        (&mut rows.parent, NONE),
        (&mut rows.instance, NONE),
        (&mut rows.peer, NONE),
        (&mut rows.service, Strings::EMPTY),
        (&mut rows.operation, Strings::EMPTY),
        (&mut rows.message, Strings::EMPTY),
        (&mut rows.breaker, NONE),
    ] {
        if column.get(head) == Some(&nothing) {
            column[head] = column[twin];
        }
    }
    if rows.kind[head] == Kind::Unset {
        rows.kind[head] = rows.kind[twin];
    }
    if rows.duration[head] == UNKNOWN_DURATION {
        rows.duration[head] = rows.duration[twin];
    }
    // A failure that only one of them tells is one.
    rows.outcome[head] = rows.outcome[head].max(rows.outcome[twin]);
}

fn copy(rows: &mut SpanRows, head: u32, twin: u32) {
    let (head, twin) = (head as usize, twin as usize);
    for column in [
        &mut rows.parent,
        &mut rows.instance,
        &mut rows.peer,
        &mut rows.service,
        &mut rows.operation,
        &mut rows.message,
        &mut rows.breaker,
    ] {
        if !column.is_empty() {
            column[twin] = column[head];
        }
    }
    rows.kind[twin] = rows.kind[head];
    rows.start[twin] = rows.start[head];
    rows.duration[twin] = rows.duration[head];
    rows.outcome[twin] = rows.outcome[head];
}
