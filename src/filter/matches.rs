//! The spans of a table that a filter means.
//!
//! Owns the decision. Each text of the table is looked at once, then spans are integers, 64 at a time: O(texts + tests of
//! the filter times spans).

use super::bits::{self, Bits, WORD};
use super::{FIELDS, Field, Filter, Status, Test};
use crate::labels::LabelSet;
use crate::outcome::Outcome;
use crate::rows::UNKNOWN_DURATION;
use crate::spans::{SpanIdx, SpanTable};

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Matches {
    /// Which spans.
    pub bits: Bits,
    /// How many.
    pub spans: u64,
    /// In how many traces.
    pub traces: u64,
}

impl Matches {
    /// What a filter means in a table.
    pub fn of(filter: &Filter, table: &SpanTable) -> Matches {
        let bound = Bound::of(filter, table);
        let mut bits = Bits::room(table.len());
        for from in (0..table.len()).step_by(WORD) {
            bits.push(bound.word(from, table.len()));
        }
        Matches {
            spans: bits.count(),
            traces: traces(table, &bits),
            bits,
        }
    }

    /// The next of them after a span, or before it, in the order of the plot; after the last comes the first. Without a
    /// span, the first or the last.
    pub fn step(&self, from: Option<SpanIdx>, back: bool) -> Option<SpanIdx> {
        let from = from.map(|it| it.0 as usize);
        let (bits, end) = (&self.bits, self.bits.len());
        let found = match (from, back) {
            (None, false) => bits.next(0),
            (None, true) => bits.previous(end),
            (Some(at), false) => bits.next(at + 1).or_else(|| bits.next(0)),
            (Some(at), true) => bits.previous(at).or_else(|| bits.previous(end)),
        };
        found.map(|at| SpanIdx(at as u32))
    }
}

#[inline(never)]
fn traces(table: &SpanTable, bits: &Bits) -> u64 {
    let (mut n_traces, mut at) = (0, 0);
    while let Some(found) = bits.next(at) {
        n_traces += 1;
        // Past its trace.
        at = table.trace(table.rank[found]).end.max(found + 1);
    }
    n_traces
}

/// A filter over the integers of a table.
enum Bound<'a> {
    Test(Box<dyn Fn(usize) -> bool + 'a>),
    Not(Box<Bound<'a>>),
    All(Vec<Bound<'a>>),
    Any(Vec<Bound<'a>>),
}

impl<'a> Bound<'a> {
    fn of(filter: &Filter, table: &'a SpanTable) -> Bound<'a> {
        let all = |of: &[Filter]| of.iter().map(|it| Bound::of(it, table)).collect();
        match filter {
            Filter::Test(test) => Bound::Test(bound(test, table)),
            Filter::Not(of) => Bound::Not(Box::new(Bound::of(of, table))),
            Filter::All(of) => Bound::All(all(of)),
            Filter::Any(of) => Bound::Any(all(of)),
        }
    }

    /// The spans from one on; bits past the last one say nothing.
    fn word(&self, from: usize, len: usize) -> u64 {
        match self {
            Bound::Test(is_so) => bits::word(from..len.min(from + WORD), is_so),
            Bound::Not(of) => !of.word(from, len),
            Bound::All(of) => {
                let mut word = u64::MAX;
                for it in of {
                    if word != 0 {
                        word &= it.word(from, len);
                    }
                }
                word
            }
            Bound::Any(of) => {
                let mut word = 0;
                for it in of {
                    if word != u64::MAX {
                        word |= it.word(from, len);
                    }
                }
                word
            }
        }
    }
}

/// The text that labels have in a field, in the table's names.
pub(crate) fn text_of(set: &LabelSet, field: Field) -> u32 {
    match field {
        Field::Service => set.service,
        Field::Operation => set.operation,
        Field::Instance => set.instance,
        Field::Peer => set.peer,
        Field::Message => set.message,
    }
}

#[inline(never)]
fn bound<'a>(test: &Test, table: &'a SpanTable) -> Box<dyn Fn(usize) -> bool + 'a> {
    match test {
        Test::Word(word) => {
            let names = names(table, &|text| holds(text, word));
            let sets = label_sets(table, &|set| {
                let has = |(_, field): &(&str, Field)| names.has(text_of(set, *field) as usize);
                FIELDS.iter().any(has)
            });
            let trace = table.find_trace(word);
            Box::new(move |at| sets.has(table.labels[at] as usize) || Some(table.rank[at]) == trace)
        }
        Test::Is(field, value) => texts(table, *field, &|text| text.eq_ignore_ascii_case(value)),
        Test::Like(field, value) => texts(table, *field, &|text| is_like(text, value)),
        Test::Duration(compare, ns) => {
            let (compare, ns) = (*compare, *ns);
            Box::new(move |at| {
                let duration = table.duration[at];
                duration != UNKNOWN_DURATION && compare.holds(duration, ns)
            })
        }
        Test::Tier(compare, tier) => {
            let n_services = table.services().count();
            let is_so = |service: usize| {
                let its = table.tier(crate::spans::ServiceIdx(service as u16));
                compare.holds(its.into(), (*tier).into())
            };
            let services = Bits::of(n_services, &is_so);
            Box::new(move |at| services.has(table.service[at].0.into()))
        }
        Test::Status(status) => {
            let status = *status;
            Box::new(move |at| {
                let outcome = table.outcome[at];
                match status {
                    Status::Ok => outcome == Outcome::Success,
                    Status::Error => outcome != Outcome::Success,
                    Status::Timeout => outcome == Outcome::TimedOut,
                    Status::Rejected => outcome == Outcome::Rejected,
                }
            })
        }
        Test::Kind(kind) => {
            let kind = *kind;
            Box::new(move |at| table.kind[at] == kind)
        }
        Test::Trace(id) => {
            let trace = table.find_trace(id);
            Box::new(move |at| Some(table.rank[at]) == trace)
        }
    }
}

/// The spans whose field is such a text.
fn texts<'a>(
    table: &'a SpanTable,
    field: Field,
    is_such: &dyn Fn(&str) -> bool,
) -> Box<dyn Fn(usize) -> bool + 'a> {
    let names = names(table, is_such);
    let sets = label_sets(table, &|set| names.has(text_of(set, field) as usize));
    Box::new(move |at| sets.has(table.labels[at] as usize))
}

fn label_sets(table: &SpanTable, is_such: &dyn Fn(&LabelSet) -> bool) -> Bits {
    let sets = table.label_sets.all();
    Bits::of(sets.len(), &|at| is_such(&sets[at]))
}

fn names(table: &SpanTable, is_such: &dyn Fn(&str) -> bool) -> Bits {
    let names = &table.names;
    Bits::of(names.len(), &|at| is_such(names.get(at as u32)))
}

/// Whether a text holds another, whatever the case of letters (of ASCII). O(product of the lengths), at worst.
#[inline(never)]
pub fn holds(text: &str, part: &str) -> bool {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    part.is_empty()
        || text
            .windows(part.len())
            .any(|it| it.eq_ignore_ascii_case(part))
}

/// Whether a text is like a pattern. O(length of the one times length of the other), at worst.
#[inline(never)]
fn is_like(text: &str, pattern: &str) -> bool {
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    let (mut at, mut of) = (0, 0);
    // Where the last `*` stands, and what it has taken so far.
    let mut star: Option<(usize, usize)> = None;
    loop {
        match pattern.get(of) {
            Some(b'*') => {
                star = Some((of, at));
                of += 1;
                continue;
            }
            Some(b'?') if at < text.len() => {
                at = after(text, at);
                of += 1;
                continue;
            }
            Some(c) if text.get(at).is_some_and(|it| it.eq_ignore_ascii_case(c)) => {
                at += 1;
                of += 1;
                continue;
            }
            None if at == text.len() => return true,
            _ => {}
        }
        match star {
            Some((place, taken)) if taken < text.len() => {
                let taken = after(text, taken);
                star = Some((place, taken));
                (at, of) = (taken, place + 1);
            }
            _ => return false,
        }
    }
}

/// The place after the character at one.
fn after(text: &[u8], at: usize) -> usize {
    let rest = text.get(at + 1..).unwrap_or_default();
    let within = rest.iter().take_while(|it| **it & 0xc0 == 0x80).count();
    at + 1 + within
}
