//! What distinguishes a selection from the rest: counts, rates, percentiles, and attribute by attribute the
//! values that are more or less frequent in it.
//!
//! Owns which spans are selected (those of its traces that start in its time), and how telling a difference
//! of shares is: by how much it is there for sure. A handful of traces has any shares by chance, so four
//! standard errors are taken off (with one success and one failure added to either side: Agresti and Caffo,
//! "Simple and effective confidence intervals for proportions", 2000). The sample is the traces: spans of
//! one are no independent witnesses. Invariant: what the sample cannot tell
//! is `None` or zero telling, and the sample is told. Cost: O(spans) an attribute, and one sort of the calls'
//! durations. Pinned by `tests/it/compare.rs`.

use std::borrow::Cow;

use halfopen::State;

use crate::advise::{Percentile, percentile};
use crate::calls::{CallOutcome, Calls};
use crate::column::Column;
use crate::order;
use crate::outcome::Outcome;
use crate::rows::{Kind, NONE};
use crate::spans::{Rank, ServiceIdx, SpanIdx, SpanTable};
use crate::strings::Strings;
use crate::view::{MILLI, Viewport};

/// A selection and the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The selection.
    pub inside: Side,
    /// Everything else.
    pub outside: Side,
    /// All attributes that spans have, the most telling first.
    pub attributes: Vec<Attribute>,
}

/// One side of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// Its spans.
    pub spans: u64,
    /// Traces with at least one of them.
    pub traces: u64,
    /// Those that failed, timeouts included.
    pub failed_spans: u64,
    /// Calls of the edge.
    pub calls: u64,
    /// Calls that failed, timeouts included.
    pub failed: u64,
    /// Calls that timed out.
    pub timed_out: u64,
    /// Calls of which the file does not tell the outcome.
    pub without_outcome: u64,
    /// Calls a second; `None` outside of a selection of some traces only, as it has no time of its own.
    pub rate: Option<f64>,
    /// The 50th, 90th, 99th and 99.9th percentile of the calls' durations.
    pub percentiles: [Percentile; 4],
}

/// An attribute, and how frequent its values are on either side.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// Its name.
    pub name: &'static str,
    /// How many values it has in all.
    pub n_values: usize,
    /// The most telling ones, the first first; at most [`MOST_VALUES`].
    pub values: Vec<Frequency>,
}

/// How frequent a value is.
#[derive(Clone, Debug, PartialEq)]
pub struct Frequency {
    /// The value, for people.
    pub value: String,
    /// Spans with it, inside and outside.
    pub spans: [u64; 2],
    /// Their shares of all spans of that side, 0 to 1; `None` of a side without spans.
    pub share: [Option<f64>; 2],
    /// By how much these shares differ for sure, or those of the traces that have it, whichever is more; 0
    /// where that may be chance.
    pub telling: f64,
}

/// As many values of an attribute are given.
pub const MOST_VALUES: usize = 5;

/// Standard errors that may be chance.
const CHANCE: f64 = 4.0;

const ATTRIBUTES: [&str; 9] = [
    "service",
    "operation",
    "instance",
    "peer",
    "outcome",
    "message",
    "kind",
    "tier",
    "breaker.state",
];
const OUTCOMES: [Outcome; 4] = [
    Outcome::Success,
    Outcome::Failure,
    Outcome::TimedOut,
    Outcome::Rejected,
];
const KINDS: [Kind; 6] = [
    Kind::Unset,
    Kind::Server,
    Kind::Client,
    Kind::Internal,
    Kind::Producer,
    Kind::Consumer,
];

/// Compares the spans of the viewport's traces that start in its time, and the calls of an edge among them,
/// with all others.
pub fn compare(table: &SpanTable, calls: &Calls, selected: Viewport) -> Comparison {
    let selection = Selection::new(table, selected);
    let mut sides = [Side::default(), Side::default()];
    for rank in 0..table.n_traces() {
        let mut any = [false; 2];
        for at in table.trace(Rank(rank)) {
            let side = selection.side(table, at);
            any[side] = true;
            sides[side].spans += 1;
            sides[side].failed_spans += u64::from(table.outcome[at].is_failure());
        }
        (0..2).for_each(|side| sides[side].traces += u64::from(any[side]));
    }
    count_calls(table, calls, &selection, &mut sides);
    let attributes = (0..ATTRIBUTES.len()).map(|it| attribute(table, &selection, it, &sides));
    let found: Vec<Attribute> = attributes.filter(|it| it.n_values > 0).collect();
    let telling = |it: &Attribute| it.values.first().map_or(0.0, |it| it.telling);
    let [inside, outside] = sides;
    Comparison {
        inside,
        outside,
        attributes: order::sorted(found, &mut |a, b| telling(b).total_cmp(&telling(a))),
    }
}

/// The selected traces and times.
struct Selection {
    ranks: std::ops::Range<u32>,
    times: std::ops::Range<i64>,
    /// Not all traces.
    some_traces: bool,
}

impl Selection {
    fn new(table: &SpanTable, selected: Viewport) -> Selection {
        let n = table.n_traces();
        let rank = |milli: i64| milli.div_euclid(MILLI).clamp(0, n.into()) as u32;
        let ranks = rank(selected.y0)..rank(selected.y1.saturating_add(MILLI - 1));
        Selection {
            some_traces: ranks != (0..n),
            ranks,
            times: selected.t0..selected.t1,
        }
    }

    /// 0 inside, 1 outside.
    fn side(&self, table: &SpanTable, at: usize) -> usize {
        let inside =
            self.ranks.contains(&table.rank[at].0) && self.times.contains(&table.start[at]);
        usize::from(!inside)
    }
}

fn count_calls(table: &SpanTable, calls: &Calls, selection: &Selection, sides: &mut [Side; 2]) {
    let mut durations = [Vec::new(), Vec::new()];
    for at in 0..calls.len() {
        let side = selection.side(table, calls.span[at].0 as usize);
        let of = &mut sides[side];
        of.calls += 1;
        match calls.outcome[at] {
            CallOutcome::Success => {}
            CallOutcome::Failure => of.failed += 1,
            CallOutcome::TimedOut => {
                of.failed += 1;
                of.timed_out += 1;
            }
            CallOutcome::Rejected | CallOutcome::Unknown => {
                of.without_outcome += 1;
                continue;
            }
        }
        durations[side].push(calls.duration(at));
    }
    let (Some(&first), Some(&last)) = (calls.start.first(), calls.start.last()) else {
        return;
    };
    let times = &selection.times;
    let all = last.saturating_sub(first);
    let within = times.end.min(last).saturating_sub(times.start.max(first));
    let within = within.clamp(0, all);
    let lengths = [
        Some(within),
        (!selection.some_traces).then_some(all - within),
    ];
    for side in 0..2 {
        let it = &mut sides[side];
        let length = lengths[side].filter(|&it| it > 0);
        it.rate = length.map(|length| it.calls as f64 * 1e9 / length as f64);
        order::sort_numbers(&mut durations[side]);
        it.percentiles = [500, 900, 990, 999].map(|it| percentile(&durations[side], it));
    }
}

fn attribute(
    table: &SpanTable,
    selection: &Selection,
    which: usize,
    sides: &[Side; 2],
) -> Attribute {
    // Values are small numbers: places in a list, no hashing.
    let mut counts: Column<[u64; 2]> = Column::default();
    // Of the traces with a value, how many there are and the last one.
    let mut in_traces: Column<[(u64, u32); 2]> = Column::default();
    for at in 0..table.len() {
        let Some(value) = value(table, which, at) else {
            continue;
        };
        if counts.len() <= value {
            counts.resize(value + 1, [0; 2]);
            in_traces.resize(value + 1, [(0, u32::MAX); 2]);
        }
        let (side, rank) = (selection.side(table, at), table.rank[at].0);
        counts[value][side] += 1;
        let (traces, last) = &mut in_traces[value][side];
        *traces += u64::from(*last != rank);
        *last = rank;
    }
    let traces = [sides[0].traces, sides[1].traces];
    let share = |spans: [u64; 2]| {
        [0, 1].map(|side| {
            let all = sides[side].spans;
            (all > 0).then(|| spans[side] as f64 / all as f64)
        })
    };
    let met = (0..counts.len()).filter(|&it| counts[it] != [0; 2]);
    let of_traces = |it: usize| {
        [0, 1].map(|side| {
            let all = traces[side];
            (all > 0).then(|| in_traces[it][side].0 as f64 / all as f64)
        })
    };
    let met: Vec<(usize, [u64; 2], f64)> = met
        .map(|it| {
            let tells = |share| telling(share, traces);
            (
                it,
                counts[it],
                tells(share(counts[it])).max(tells(of_traces(it))),
            )
        })
        .collect();
    let n_values = met.len();
    let mut met = order::sorted(met, &mut |a, b| {
        // Of values that tell the same, those that are more frequent inside first.
        let more = |it: [u64; 2]| share(it)[0] > share(it)[1];
        let by = (b.2.total_cmp(&a.2)).then(more(b.1).cmp(&more(a.1)));
        let by = by.then(b.1.cmp(&a.1));
        by.then_with(|| text(table, which, a.0).cmp(&text(table, which, b.0)))
    });
    met.truncate(MOST_VALUES);
    let values = met.into_iter().map(|(value, spans, telling)| Frequency {
        value: text(table, which, value).into_owned(),
        spans,
        share: share(spans),
        telling,
    });
    Attribute {
        name: ATTRIBUTES[which],
        n_values,
        values: values.collect(),
    }
}

/// The number of a span's value of an attribute; `None` where it has none.
fn value(table: &SpanTable, which: usize, at: usize) -> Option<usize> {
    let number = match ATTRIBUTES[which] {
        "service" => table.service[at].0.into(),
        "operation" => table.operation(at),
        "instance" => table.instance(at),
        "peer" => table.peer(at),
        "message" => table.message(at),
        "outcome" => return OUTCOMES.iter().position(|&it| it == table.outcome[at]),
        "kind" => return KINDS.iter().position(|&it| it == table.kind[at]),
        "tier" => return Some(table.tier(table.service[at]).into()),
        _ => {
            let state = table.recorded(SpanIdx(at as u32))?.state?;
            return State::ALL.iter().position(|&it| it == state);
        }
    };
    let is_empty = number == NONE || number == Strings::EMPTY && which != 0;
    (!is_empty).then_some(number as usize)
}

/// What a value of an attribute is called.
fn text(table: &SpanTable, which: usize, value: usize) -> Cow<'_, str> {
    match ATTRIBUTES[which] {
        "service" => table.service_name(ServiceIdx(value as u16)),
        "outcome" => OUTCOMES[value].as_str(),
        "kind" => KINDS[value].as_str(),
        "tier" => return Cow::Owned(value.to_string()),
        "breaker.state" => State::ALL[value].as_str(),
        _ => table.names.get(value as u32),
    }
    .into()
}

/// By how much two shares differ, less what may be chance; millionths, so that equal ones are.
fn telling(share: [Option<f64>; 2], traces: [u64; 2]) -> f64 {
    let [(inside, a), (outside, b)] = [0, 1].map(|side| {
        let n = traces[side] as f64;
        let share = (share[side].unwrap_or(0.0) * n + 1.0) / (n + 2.0);
        (share, share * (1.0 - share) / (n + 2.0))
    });
    let sure = (inside - outside).abs() - CHANCE * (a + b).sqrt();
    (sure.max(0.0) * 1e6).round() / 1e6
}
