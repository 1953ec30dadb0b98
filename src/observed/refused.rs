//! Calls that a breaker evidently refused, although nothing in their spans says so.
//!
//! A sidecar or a library without a message leaves short failing spans without a server span below them.
//! So does a service that is down. Owns the difference: refusals come in long runs with nothing between
//! them, and on results that were bad, yet took their time. Invariant: what the file records goes first.
//! O(calls + spans). Pinned by `tests/it/observed.rs`.

use crate::calls::{CallOutcome, Calls};
use crate::order;
use crate::spans::{Parent, SpanIdx, SpanTable};

/// A refusal takes so many times less than a usual call, at least.
const TIMES: u64 = 8;

/// So many in a row, at least: where two of five calls fail at once, they come once in a hundred million.
const RUN: usize = 20;

/// After a run, shorter ones are refusals, too, until so many calls were made: while probes are out.
const PROBES: usize = 100;

/// Of so many calls before the run...
const BEFORE: usize = 10;

/// ...so many failed, at least.
const BAD_BEFORE: usize = 2;

/// For each call, whether it was refused: as recorded, or evidently.
pub(super) fn refused(table: &SpanTable, calls: &Calls, per_instance: bool) -> Vec<bool> {
    let rejected = |it: &CallOutcome| *it == CallOutcome::Rejected;
    let mut refused: Vec<bool> = calls.outcome.iter().map(rejected).collect();
    if !refused.contains(&true)
        && let Some(at_once) = at_once(table, calls)
    {
        let n = if per_instance {
            calls.instances.len()
        } else {
            1
        };
        let mut of_instance: Vec<Vec<usize>> = vec![Vec::new(); n];
        for at in 0..calls.len() {
            of_instance[if per_instance {
                calls.instance[at] as usize
            } else {
                0
            }]
            .push(at);
        }
        for own in of_instance {
            runs(calls, &own, &at_once, &mut refused);
        }
    }
    refused
}

/// For each call, whether it failed at once and never got there; `None` where none did, or where the file
/// does not tell which calls got there.
fn at_once(table: &SpanTable, calls: &Calls) -> Option<Vec<bool>> {
    let failed = |at: usize| calls.outcome[at] == CallOutcome::Failure;
    let well = |at: &usize| calls.outcome[*at] == CallOutcome::Success;
    let took: Vec<u64> = (0..calls.len())
        .filter(well)
        .map(|at| calls.duration(at))
        .collect();
    let usual = order::median(&took)?;
    let quick = |at: usize| failed(at) && calls.duration(at).saturating_mul(TIMES) <= usual;
    if !(0..calls.len()).any(quick) {
        return None;
    }
    let mut has_child = vec![false; table.len()];
    for at in (0..table.len() as u32).map(SpanIdx) {
        if let Parent::Span(parent) = table.parent(at) {
            has_child[parent.0 as usize] = true;
        }
    }
    let arrived = |at: usize| has_child[calls.span[at].0 as usize];
    let answered = (0..calls.len())
        .filter(well)
        .filter(|&at| arrived(at))
        .count();
    (answered * 10 >= took.len() * 9).then(|| {
        (0..calls.len())
            .map(|at| quick(at) && !arrived(at))
            .collect()
    })
}

/// Marks the runs of an instance's calls.
fn runs(calls: &Calls, own: &[usize], at_once: &[bool], refused: &mut [bool]) {
    let mut made: Vec<usize> = Vec::new();
    // How many were made when the last run ended.
    let mut refusing: Option<usize> = None;
    for run in own.chunk_by(|&a, &b| at_once[a] == at_once[b]) {
        if !at_once[run[0]] {
            made.extend(run);
            continue;
        }
        let before = &made[made.len().saturating_sub(BEFORE)..];
        let bad = |at: &&usize| calls.outcome[**at].is_failure();
        let opened = run.len() >= RUN && before.iter().filter(bad).count() >= BAD_BEFORE;
        let probing = refusing.is_some_and(|it| made.len() - it <= PROBES);
        if opened || probing {
            refusing = Some(made.len());
            run.iter().for_each(|&at| refused[at] = true);
        }
    }
}
