//! States that the spans themselves tell, because the breaker recorded them on its calls.
//!
//! A span tells the state and the generation that admitted or refused its call. Between the last span of
//! one generation and the first of the next lies the transition: an opening or a closing came with a
//! result that ended between them, and half-open begins with its first call. A breaker whose refusals are
//! not spans skips the generation in which it was open. Owns that. Invariant: a state that no span tells
//! and that does not follow is [`Seen::Unknown`]. O(calls), but for one sort of those that tell. Pinned by
//! `tests/it/recorded.rs`.

use std::ops::Range;

use halfopen::State;

use super::silence::Silence;
use super::{Seen, Stretch, Traffic};
use crate::calls::Calls;
use crate::order;
use crate::spans::SpanTable;

/// What one call tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    at: i64,
    state: Seen,
    generation: Option<u64>,
    /// When the call ended and whether badly; nothing if it was refused.
    result: Option<(i64, bool)>,
}

/// What the calls of each instance tell, by time. Of several breakers the one that most calls name.
pub(super) fn told(table: &SpanTable, calls: &Calls) -> Vec<Vec<Told>> {
    let mut told = vec![Vec::new(); calls.instances.len()];
    if !table.records_breakers() {
        return told;
    }
    let recorded = |at: usize| table.recorded_of_call(calls.span[at]);
    let name = |text| table.names.find(text).unwrap_or(0);
    let named = (0..calls.len()).filter_map(recorded);
    let most = most_frequent(table, named.map(|it| name(it.1.name)).collect());
    for at in 0..calls.len() {
        let Some((span, it)) = recorded(at).filter(|it| name(it.1.name) == most) else {
            continue;
        };
        let Some(state) = it.state else {
            continue;
        };
        let bad = calls.outcome[at].is_failure();
        told[calls.instance[at] as usize].push(Told {
            at: table.start[span.0 as usize],
            state: seen(state),
            generation: it.generation,
            result: (!it.rejected).then_some((calls.end[at], bad)),
        });
    }
    for it in &mut told {
        let by_time = std::mem::take(it);
        *it = order::sorted(by_time, &mut |a, b| {
            (a.at, a.generation).cmp(&(b.at, b.generation))
        });
    }
    told
}

/// The name that comes most often, of equals the first in the alphabet.
fn most_frequent(table: &SpanTable, mut names: Vec<u32>) -> u32 {
    let text = |name: u32| table.names.get(name);
    order::sort(&mut names, &mut |a, b| text(a).cmp(text(b)));
    let mut best = (0, 0);
    for same in names.chunk_by(|a, b| a == b) {
        if same.len() > best.0 {
            best = (same.len(), same[0]);
        }
    }
    best.1
}

fn seen(state: State) -> Seen {
    match state {
        State::Open | State::ForcedOpen => Seen::Open,
        State::HalfOpen => Seen::HalfOpen,
        State::Ramping => Seen::Ramping,
        State::Closed | State::Disabled | State::MetricsOnly => Seen::Closed,
    }
}

/// The states of a breaker from what its calls tell, which is something.
pub(super) fn states(told: &[Told], span: Range<i64>) -> Vec<Stretch> {
    let mut line = Line(Vec::new());
    let Some(first) = told.first() else {
        return line.0;
    };
    // Nothing has changed before the first generation.
    let before = if first.generation == Some(0) {
        first.state
    } else {
        Seen::Unknown
    };
    line.enter(span.start, span.start, before);
    line.enter(first.at, first.at, first.state);
    // Where the calls of the present state began, and the last of them.
    let (mut began, mut last) = (0, 0);
    for at in 1..told.len() {
        let (now, next) = (&told[last], &told[at]);
        if is_straggler(now, next, told.get(at + 1)) {
            continue;
        }
        let change = change(now, next);
        if change != Change::None {
            let span = &told[began..at];
            match change {
                Change::Direct => line.enter(moment(span, now, next), next.at, next.state),
                Change::ThroughOpen => {
                    let open = Told {
                        state: Seen::Open,
                        ..*next
                    };
                    line.enter(moment(span, now, &open), next.at, Seen::Open);
                    line.enter(next.at, next.at, next.state);
                }
                Change::None | Change::Unclear => {
                    line.enter(now.at + 1, now.at + 1, Seen::Unknown);
                    line.enter(next.at, next.at, next.state);
                }
            }
            began = at;
        }
        last = at;
    }
    if let Some(last) = line.0.last_mut() {
        last.to = span.end.max(last.from);
    }
    line.0
}

/// The silences that told openings are: no call was made from the opening on.
pub(super) fn silences(states: &[Stretch], traffic: &Traffic) -> Vec<Silence> {
    let opens = states.iter().filter(|it| it.state == Seen::Open);
    let mut silences: Vec<Silence> = Vec::new();
    for open in opens {
        let made = traffic.start.partition_point(|&it| it <= open.from);
        let last = silences.last().map(|it| it.after + 1);
        if made > last.unwrap_or(0) {
            silences.push(Silence {
                after: made - 1,
                trip: open.from,
                before: open.latest,
                seen: Seen::Open,
                sure: 1.0,
            });
        }
    }
    silences
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    None,
    Direct,
    /// It was open in between, and nobody told.
    ThroughOpen,
    Unclear,
}

/// A call that was admitted earlier and whose span begins a little later.
fn is_straggler(now: &Told, next: &Told, after: Option<&Told>) -> bool {
    next.generation < now.generation && after.is_some_and(|it| it.generation >= now.generation)
}

fn change(now: &Told, next: &Told) -> Change {
    let to_half_open = next.state == Seen::HalfOpen && now.state != Seen::Open;
    match now.generation.zip(next.generation) {
        Some((from, to)) if from == to => Change::None,
        Some((from, to)) if from.checked_add(1) == Some(to) => Change::Direct,
        Some((from, to)) if from.checked_add(2) == Some(to) && to_half_open => Change::ThroughOpen,
        Some(_) => Change::Unclear,
        None if now.state == next.state => Change::None,
        None if to_half_open => Change::ThroughOpen,
        None => Change::Direct,
    }
}

/// When the state changed, as far as the results of its calls tell: with the last probe, or with the first
/// bad result after the last call that was still admitted.
fn moment(span: &[Told], now: &Told, next: &Told) -> i64 {
    let own = span.iter().filter(|it| it.generation == now.generation);
    let results = own.filter_map(|it| it.result);
    // A good result opens a breaker, too, when it is the one that the minimum of calls lacked.
    let first = |after: i64, bad: bool| {
        let ends = results.clone().filter(|it| it.1 >= bad && it.0 > after);
        ends.map(|it| it.0).min().filter(|&it| it <= next.at)
    };
    let moment = match (now.state, next.state) {
        (Seen::HalfOpen, to) => {
            let last = results.clone().map(|it| it.0).max();
            let judged = last.filter(|&it| it <= next.at);
            judged.or_else(|| first(i64::MIN, true).filter(|_| to == Seen::Open))
        }
        (_, Seen::Open) => first(now.at, true).or_else(|| first(now.at, false)),
        _ => None,
    };
    moment.unwrap_or(next.at)
}

struct Line(Vec<Stretch>);

impl Line {
    fn enter(&mut self, from: i64, latest: i64, state: Seen) {
        let sure = if state == Seen::Unknown { 0.0 } else { 1.0 };
        if let Some(last) = self.0.last_mut() {
            last.to = from.max(last.from);
            if last.state == state {
                return;
            }
        }
        // What lasts no time is no state.
        self.0.pop_if(|last| last.to == last.from);
        let from = self.0.last().map_or(from, |last| last.to);
        self.0.push(Stretch {
            from,
            to: from,
            latest: latest.max(from),
            state,
            sure,
        });
    }
}
