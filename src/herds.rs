//! Herds: the recovery attempts of a whole client, found in the timelines of its breakers,
//! replayed or observed.
//!
//! Owns the grouping: an attempt is one chain of closings (or of failed probe phases), each less
//! than [`TOGETHER_NS`] after the one before, one an instance. Invariant: every probe phase that
//! came to a verdict is in exactly one attempt. Cost: O(transitions · log + calls of the attempts).
//! Pinned by `tests/it/replay.rs`, against figures that another model wrote down.

mod detail;

use halfopen::State;
use serde::{Deserialize, Serialize};

use crate::calls::{CallOutcome, Calls};
use crate::order::sorted;
use crate::rows::Kind;
use crate::spans::{Parent, SpanIdx, SpanTable};
use crate::timeline::{Change, Timelines};

pub use self::detail::{Burst, Detail, TierLatency, averages};

/// Closings closer together than this belong to one attempt.
pub const TOGETHER_NS: i64 = 5_000_000_000;

/// An attempt is trampled when an instance re-opens this soon after it closed.
pub const TRAMPLED_WITHIN_NS: i64 = 20_000_000_000;

/// How long after its closing the calls of an instance that held are counted.
pub const HELD_FOR_NS: i64 = 30_000_000_000;

/// One recovery attempt of the whole client, with the figures of the page's cards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The instances that took part, in the order of their verdicts; empty when one breaker was
    /// shared.
    pub instances: Vec<String>,
    /// When the first of them went half-open, nanoseconds since 1970.
    pub half_open_ns: i64,
    /// When the first of them closed; `None` when none did.
    pub close_ns: Option<i64>,
    /// When the last of them closed.
    pub close_last_ns: Option<i64>,
    /// When the first of them opened again.
    pub reopen_ns: Option<i64>,
    /// When the last of them opened again.
    pub reopen_last_ns: Option<i64>,
    /// Probes sent.
    pub probes: u64,
    /// Probes that went well.
    pub probes_ok: u64,
    /// Calls from half-open to re-opening (held: up to 30 s after the close).
    pub calls: u64,
    /// Of these, timed out.
    pub timed_out: u64,
    /// Of these, those whose deepest server span ended after the client span.
    pub wasted: u64,
    /// How long those server spans went on in all.
    pub wasted_ns: u64,
    /// Requests per second over the half-open phase.
    pub rate_before: Option<f64>,
    /// Requests per second over the first second after the close.
    pub rate_after: Option<f64>,
    /// When the first call of the herd timed out.
    pub first_timeout_ns: Option<i64>,
    /// What came of it.
    pub result: AttemptResult,
    /// What else is known of it.
    pub detail: Detail,
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptResult {
    /// Re-opened from half-open.
    Refused,
    /// Closed, then some instance re-opened within 20 s.
    Trampled,
    /// Closed and stayed so.
    Held,
}

/// The attempts in order of time.
pub fn attempts(table: &SpanTable, calls: &Calls, timelines: &Timelines<'_>) -> Vec<Attempt> {
    let mut phases: Vec<Phase> = Vec::new();
    for (breaker, it) in timelines.breakers.iter().enumerate() {
        phases.extend(phases_of(breaker, &it.changes));
    }
    let key = |phase: &Phase| (phase.verdict, phase.breaker);
    let phases = sorted(phases, &mut |a, b| key(a).cmp(&key(b)));
    let sent = (0..calls.len()).filter(|&at| !timelines.rejected[at]);
    let sent: Vec<i64> = sent.map(|at| calls.start[at]).collect();
    let attempts = chains(phases)
        .into_iter()
        .map(|chain| attempt(table, calls, timelines, &sent, &chain));
    sorted(attempts.collect(), &mut |a, b| {
        a.half_open_ns.cmp(&b.half_open_ns)
    })
}

/// One probe phase of one breaker, and what came after.
#[derive(Clone, Copy, Debug)]
struct Phase {
    breaker: usize,
    half_open: i64,
    /// When it closed or opened again.
    verdict: i64,
    closed: bool,
    /// For one that closed: when it opened again, if that was soon.
    reopened: Option<i64>,
}

impl Phase {
    /// When its calls end to count.
    fn until(&self) -> i64 {
        match (self.closed, self.reopened) {
            (false, _) => self.verdict,
            (true, Some(reopened)) => reopened,
            (true, None) => self.verdict.saturating_add(HELD_FOR_NS),
        }
    }
}

fn phases_of(breaker: usize, changes: &[Change]) -> Vec<Phase> {
    let mut phases = Vec::new();
    let mut half_open = None;
    for (place, it) in changes.iter().enumerate() {
        if it.to == State::HalfOpen {
            half_open = Some(it.at);
        }
        let Some(began) = half_open.filter(|_| it.from == State::HalfOpen) else {
            continue;
        };
        half_open = None;
        let closed = matches!(it.to, State::Closed | State::Ramping);
        if !closed && it.to != State::Open {
            continue;
        }
        let soon = it.at.saturating_add(TRAMPLED_WITHIN_NS);
        let next_open = changes[place + 1..]
            .iter()
            .find(|next| next.to == State::Open);
        phases.push(Phase {
            breaker,
            half_open: began,
            verdict: it.at,
            closed,
            reopened: next_open
                .filter(|next| closed && next.at < soon)
                .map(|next| next.at),
        });
    }
    phases
}

/// Chains of phases with one verdict, each soon after the one before, one a breaker.
fn chains(phases: Vec<Phase>) -> Vec<Vec<Phase>> {
    let mut chains: Vec<Vec<Phase>> = Vec::new();
    for phase in phases {
        let joins = |chain: &&mut Vec<Phase>| {
            let last = chain[chain.len() - 1];
            let soon = phase.verdict - last.verdict < TOGETHER_NS;
            let again = chain.iter().any(|it| it.breaker == phase.breaker);
            last.closed == phase.closed && soon && !again
        };
        match chains.iter_mut().rev().find(joins) {
            Some(chain) => chain.push(phase),
            None => chains.push(vec![phase]),
        }
    }
    chains
}

fn attempt(
    table: &SpanTable,
    calls: &Calls,
    timelines: &Timelines<'_>,
    sent: &[i64],
    chain: &[Phase],
) -> Attempt {
    let first = |time: fn(&Phase) -> Option<i64>| chain.iter().filter_map(time).min();
    let last = |time: fn(&Phase) -> Option<i64>| chain.iter().filter_map(time).max();
    let half_open_ns = chain.iter().map(|it| it.half_open).min().unwrap_or(0);
    let closed = |it: &Phase| it.closed.then_some(it.verdict);
    let reopened = |it: &Phase| {
        if it.closed {
            it.reopened
        } else {
            Some(it.verdict)
        }
    };
    let close_ns = first(closed);
    let verdict = chain[0].verdict;
    let mut attempt = Attempt {
        instances: chain
            .iter()
            .filter_map(|it| timelines.breakers[it.breaker].instance.map(str::to_owned))
            .collect(),
        half_open_ns,
        close_ns,
        close_last_ns: last(closed),
        reopen_ns: first(reopened),
        reopen_last_ns: last(reopened),
        probes: 0,
        probes_ok: 0,
        calls: 0,
        timed_out: 0,
        wasted: 0,
        wasted_ns: 0,
        rate_before: rate(sent, half_open_ns, verdict),
        rate_after: close_ns.and_then(|it| rate(sent, it, it.saturating_add(SECOND))),
        first_timeout_ns: None,
        result: match close_ns {
            None => AttemptResult::Refused,
            Some(_) if chain.iter().any(|it| it.reopened.is_some()) => AttemptResult::Trampled,
            Some(_) => AttemptResult::Held,
        },
        detail: Detail::default(),
    };
    let members = members(table, calls, timelines, chain);
    count_calls(&mut attempt, table, calls, &members);
    attempt.detail = detail::detail(&attempt, table, calls, sent, &members);
    attempt
}

/// A call of an attempt: its place among the calls of the edge.
struct Member {
    at: usize,
    /// Its breaker was half-open.
    probe: bool,
    /// The server span that did its work, if the file has it.
    server: Option<SpanIdx>,
}

/// The calls of an attempt, from half-open to re-opening.
fn members(
    table: &SpanTable,
    calls: &Calls,
    timelines: &Timelines<'_>,
    chain: &[Phase],
) -> Vec<Member> {
    let mut members = Vec::new();
    for phase in chain {
        let before = |time: i64| calls.start.partition_point(|&start| start < time);
        let own = |&at: &usize| {
            (!timelines.per_instance || calls.instance[at] as usize == phase.breaker)
                && !timelines.rejected[at]
        };
        let these = before(phase.half_open)..before(phase.until().saturating_add(1));
        members.extend(these.filter(own).map(|at| Member {
            at,
            probe: calls.start[at] < phase.verdict,
            server: deepest_server(table, calls.span[at]),
        }));
    }
    members
}

const SECOND: i64 = 1_000_000_000;

fn count_calls(attempt: &mut Attempt, table: &SpanTable, calls: &Calls, members: &[Member]) {
    for &Member { at, probe, server } in members {
        let outcome = calls.outcome[at];
        attempt.calls += 1;
        if probe {
            attempt.probes += 1;
            attempt.probes_ok += u64::from(outcome == CallOutcome::Success);
        }
        if outcome == CallOutcome::TimedOut {
            attempt.timed_out += 1;
            let first = attempt.first_timeout_ns.unwrap_or(i64::MAX);
            attempt.first_timeout_ns = Some(first.min(calls.end[at]));
        }
        let late = server.map_or(0, |it| late_after(table, it, calls.span[at]));
        attempt.wasted += u64::from(late > 0);
        attempt.wasted_ns += late;
    }
}

/// How long the deepest server span under a client span went on after it, nanoseconds. O(spans of
/// the trace x depth).
pub fn late_ns(table: &SpanTable, client: SpanIdx) -> u64 {
    deepest_server(table, client).map_or(0, |server| late_after(table, server, client))
}

/// How long a server span went on after its client's.
fn late_after(table: &SpanTable, server: SpanIdx, client: SpanIdx) -> u64 {
    let late = table.end(server).saturating_sub(table.end(client));
    late.max(0) as u64
}

/// The server span most levels under a client span; of several the one that ended last.
fn deepest_server(table: &SpanTable, client: SpanIdx) -> Option<SpanIdx> {
    let levels_below = |span: SpanIdx| {
        let (mut at, mut levels) = (span, 0u32);
        while at != client {
            match table.parent(at) {
                Parent::Span(parent) => at = parent,
                Parent::Root | Parent::Missing => return None,
            }
            levels += 1;
        }
        Some(levels)
    };
    let spans = table.trace(table.rank[client.0 as usize]);
    let servers = spans.filter(|&at| table.kind[at] != Kind::Client);
    servers
        .map(|at| SpanIdx(at as u32))
        .filter_map(|span| Some((levels_below(span)?, table.end(span), span)))
        .filter(|&(levels, _, _)| levels > 0)
        .max()
        .map(|(_, _, span)| span)
}

/// Requests per second that were let through from `from` to `to`, exclusive.
fn rate(sent: &[i64], from: i64, to: i64) -> Option<f64> {
    let before = |time: i64| sent.partition_point(|&start| start < time);
    let seconds = to.saturating_sub(from) as f64 / SECOND as f64;
    (from < to).then(|| (before(to) - before(from)) as f64 / seconds)
}
