//! One span as several exporters wrote it.
//!
//! Owns the rule: rows of different files with the ids, the kind and the service of one span, whose starts
//! agree to the step of the coarser clock, are that span. Invariants: all of them are made to say what the
//! finest says and, where it says nothing, the others, so that the table drops all but the earliest file's;
//! what only one file has stays as it is. O(n log n) over the rows of traces that several files have. Pinned
//! by `tests/it/files.rs`.

use crate::column::Column;
use crate::order;
use crate::rows::{Kind, NO_PARENT, NONE, SpanRows, UNKNOWN_DURATION};
use crate::spans::says_the_same;
use crate::strings::Strings;

/// Of rows with one id that are not each other's, so many are looked at.
const MOST: usize = 16;

/// Joins the rows that are one span.
#[inline(never)]
pub(crate) fn join(rows: &mut SpanRows) {
    const FRESH: u32 = u32::MAX;
    const SEVERAL: u32 = FRESH - 1;
    // Of each file the step of its clock, the largest that fits all its starts; of each trace its file.
    let mut steps = Column::of(1_000_000_000, rows.later_files.len() + 1);
    let mut file_of_trace = Column::of(FRESH, rows.trace_ids.end());
    for (at, (start, &trace)) in rows.start.iter().zip(&rows.trace).enumerate() {
        let file = rows.file_of(at);
        let step = &mut steps[usize::from(file)];
        while start.unsigned_abs() % *step != 0 {
            *step /= 10;
        }
        let of_trace = &mut file_of_trace[trace as usize];
        *of_trace = match *of_trace {
            FRESH => file.into(),
            it if it == u32::from(file) => it,
            _ => SEVERAL,
        };
    }
    let step = |rows: &SpanRows, at: u32| steps[usize::from(rows.file_of(at as usize))];
    let id = |rows: &SpanRows, at: u32| (rows.trace[at as usize], rows.span[at as usize]);
    let mut order = Vec::new();
    for (at, &trace) in rows.trace.iter().enumerate() {
        if file_of_trace[trace as usize] == SEVERAL {
            order.push(at as u32);
        }
    }
    order::sort(&mut order, &mut |a, b| {
        let ids = id(rows, a).cmp(&id(rows, b));
        ids.then_with(|| step(rows, a).cmp(&step(rows, b)))
    });
    let (mut heads, mut twins) = (Vec::new(), Vec::new());
    for &at in &order {
        if heads.first().is_none_or(|&it| id(rows, it) != id(rows, at)) {
            heads.clear();
        }
        let step = step(rows, at);
        match heads
            .iter()
            .find(|&&it| is_one(rows, it as usize, at as usize, step))
        {
            Some(&head) => {
                tell(rows, at as usize, head as usize, false);
                twins.extend([head, at]);
            }
            None if heads.len() < MOST => heads.push(at),
            None => {}
        }
    }
    for &[head, at] in twins.as_chunks().0 {
        tell(rows, head as usize, at as usize, true);
    }
}

/// Whether a row is told again by one of a clock of that step.
fn is_one(rows: &SpanRows, a: usize, b: usize, step: u64) -> bool {
    if rows.file_of(a) == rows.file_of(b) {
        return says_the_same(rows, a, b);
    }
    // Without an id of its own a span is named by its row.
    let named = !rows.span_id(a).starts_with("row:");
    let sets = [a, b].map(|it| rows.label_set(it));
    let (kinds, services) = (sets.map(|it| it.kind), sets.map(|it| it.service));
    // Milliseconds as a floating point number are known to a fraction of a microsecond, and rounded.
    const FLOAT: u64 = 1_000;
    named
        && rows.start[a].abs_diff(rows.start[b]) < step + FLOAT
        && (kinds[0] == kinds[1] || kinds.contains(&Kind::Unset))
        && (services[0] == services[1] || services.contains(&Strings::EMPTY))
}

/// Tells one row what another says: all of it, or what it does not say itself.
fn tell(rows: &mut SpanRows, from: usize, to: usize, all: bool) {
    let (said, mut set) = (*rows.label_set(from), *rows.label_set(to));
    for (said, own, nothing) in [
        (said.instance, &mut set.instance, NONE),
        (said.peer, &mut set.peer, NONE),
        (said.service, &mut set.service, Strings::EMPTY),
        (said.operation, &mut set.operation, Strings::EMPTY),
        (said.message, &mut set.message, Strings::EMPTY),
        (said.breaker, &mut set.breaker, NONE),
    ] {
        if all || *own == nothing {
            *own = said;
        }
    }
    if all || set.kind == Kind::Unset {
        set.kind = said.kind;
    }
    // A failure that only one of them tells is one.
    set.outcome = set.outcome.max(said.outcome);
    rows.labels[to] = rows.label_sets.intern(set);
    if all || rows.parent[to] == NO_PARENT {
        rows.parent[to] = rows.parent[from];
    }
    if all || rows.duration[to] == UNKNOWN_DURATION {
        rows.duration[to] = rows.duration[from];
    }
    if all {
        rows.start[to] = rows.start[from];
    }
}
