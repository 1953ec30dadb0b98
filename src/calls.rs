//! Calls: the client spans of each edge, as a breaker on that edge sees them.
//!
//! Owns who calls whom. A call is a client span (in files without span kinds: a span whose child
//! belongs to another service), or what a breaker recorded of one that it refused; its callee is the
//! service of its child, else the peer that its attributes name, else that of the same operation's
//! other calls. Where a span without a kind has several such children while it lasts, it is the span of
//! none of these calls, and each child stands for its own, as the callee saw it. A service that only
//! passes calls on stands in `via` and is no callee. Invariant: each call is on exactly one edge.
//! O(spans · log). Pinned by `tests/it/calls.rs`.

use std::cmp::Reverse;
use std::ops::Range;

use crate::column::Column;
use crate::index::Numbers;
use crate::order::{self, sorted};
use crate::outcome::Outcome;
use crate::retries::Retries;
use crate::rows::{Kind, NONE, UNKNOWN_DURATION};
use crate::spans::{Parent, ServiceIdx, SpanIdx, SpanTable};
use crate::strings::Strings;
use crate::turns::{at_once, pause};

/// A caller, a callee and the calls between them.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The calling service.
    pub from: String,
    /// The called service, or the peer's name where the callee recorded no spans.
    pub to: String,
    /// The pass-through services between them, the caller's side first.
    pub via: Vec<String>,
    /// The calls.
    pub calls: Calls,
    /// How often they were tried.
    pub retries: Retries,
}

/// The calls of one edge in columns, by start; ties by trace id and span id.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// The client span; the callee's where no span of its caller stands for the call alone.
    pub span: Column<SpanIdx>,
    /// Nanoseconds since 1970.
    pub start: Column<i64>,
    /// Nanoseconds since 1970; equal to `start` where the duration is unknown.
    pub end: Column<i64>,
    /// How it ended.
    pub outcome: Column<CallOutcome>,
    /// Index into `instances`.
    pub instance: Column<u32>,
    /// The calls by end; ties by place in these columns, which is by start.
    pub by_end: Column<u32>,
    /// The caller's processes by name; a last `None` for calls that do not tell theirs.
    pub instances: Vec<Option<String>>,
}

/// How a call ended, for a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// It went well.
    Success,
    /// It failed before its time was up.
    Failure,
    /// Its time was up.
    TimedOut,
    /// An arrival that a breaker refused in production: it has no outcome, no latency, and held no thread.
    Rejected,
    /// An arrival without an outcome: the file does not tell how long it took.
    Unknown,
}

impl CallOutcome {
    /// Whether it went badly; a timeout is a failure, too.
    pub fn is_failure(self) -> bool {
        matches!(self, CallOutcome::Failure | CallOutcome::TimedOut)
    }

    /// Whether the file tells how it ended.
    pub fn is_known(self) -> bool {
        !matches!(self, CallOutcome::Rejected | CallOutcome::Unknown)
    }
}

impl Edge {
    /// Whether a person who names `from` and `to` means this edge: either end of a pass-through
    /// service may be named.
    pub fn is_named(&self, from: &str, to: &str) -> bool {
        self.from == from && (self.to == to || self.via.iter().any(|it| it == to))
    }

    /// The caller's processes, if the file tells them apart.
    pub fn n_instances(&self) -> Option<usize> {
        let named = self.calls.instances.iter().flatten().count();
        (named > 0).then_some(named)
    }
}

impl Calls {
    /// How many calls there are.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// How long a call took, in nanoseconds; 0 where that is unknown.
    pub fn duration(&self, at: usize) -> u64 {
        self.end[at].saturating_sub(self.start[at]).max(0) as u64
    }

    /// How many ended so.
    pub fn count(&self, outcome: CallOutcome) -> usize {
        self.outcome.iter().filter(|&&it| it == outcome).count()
    }
}

/// All edges of a table, the one with the most calls first; ties by name.
pub fn edges(table: &SpanTable) -> Vec<Edge> {
    at_once(finding_edges(table))
}

/// [`edges`] in turns.
pub async fn finding_edges(table: &SpanTable) -> Vec<Edge> {
    let links = Links::of(table);
    pause().await;
    let passing = pass_through(table, &links);
    pause().await;
    let routes = Routes::learn(table, &links, &passing);
    pause().await;
    let mut found = Found::default();
    for first in (0..table.len()).step_by(A_TURN) {
        let last = table.len().min(first + A_TURN);
        found.add(table, &links, &routes, first..last);
        pause().await;
    }
    drop(links);
    let name = |service: ServiceIdx| table.service_name(service).to_owned();
    let mut edges = Vec::with_capacity(found.edges.len());
    for it in found.edges {
        let calls = calls(table, Some(it.from), it.spans).await;
        pause().await;
        let retries = Retries::of(table, &calls);
        edges.push(Edge {
            from: name(it.from),
            to: match it.to {
                NONE => UNKNOWN_CALLEE.to_owned(),
                to => table.names.get(to).to_owned(),
            },
            via: it.via.into_iter().map(name).collect(),
            retries,
            calls,
        });
        pause().await;
    }
    sorted(edges, &mut |a, b| {
        let key = |edge: &Edge| Reverse(edge.calls.len());
        key(a)
            .cmp(&key(b))
            .then_with(|| (&a.from, &a.to).cmp(&(&b.from, &b.to)))
    })
}

/// So many calls are gone through in a turn.
const A_TURN: usize = 1 << 18;

/// Edges while their spans are gathered.
#[derive(Default)]
struct Found {
    number: Numbers,
    edges: Vec<FoundEdge>,
}

/// One of them.
struct FoundEdge {
    from: ServiceIdx,
    to: u32,
    spans: Vec<u32>,
    via: Vec<ServiceIdx>,
}

impl Found {
    /// Adds the calls that some of the spans stand for.
    #[inline(never)]
    fn add(&mut self, table: &SpanTable, links: &Links, routes: &Routes<'_>, part: Range<usize>) {
        for (at, from) in links.calls(table, part) {
            if routes.passing[from.0 as usize].is_some() {
                continue;
            }
            let (to, via) = match table.service[at] == from {
                true => routes.callee(table, links, at),
                false => routes.follow(table, links, at),
            };
            let number = self.number.of(u64::from(from.0) << 32 | u64::from(to)) as usize;
            if number == self.edges.len() {
                self.edges.push(FoundEdge {
                    from,
                    to,
                    spans: Vec::new(),
                    via: Vec::new(),
                });
            }
            let edge = &mut self.edges[number];
            edge.spans.push(at as u32);
            if via.len() > edge.via.len() {
                edge.via = via;
            }
        }
    }
}

/// The traces as calls from outside: their roots and orphans, in columns like those of an edge. What
/// there is to count where no service calls another.
pub async fn arrivals(table: &SpanTable) -> Calls {
    let spans = (0..table.len() as u32).map(SpanIdx);
    let tops = spans.filter(|&span| !matches!(table.parent(span), Parent::Span(_)));
    calls(table, None, tops.map(|it| it.0).collect()).await
}

/// What the callee is called when nothing tells it.
pub const UNKNOWN_CALLEE: &str = "unknown";

/// Marks errors that end just above a timeout evidently in use as timeouts: exporters that only say
/// "error" do not tell them from others. Changes `table.outcome` and the edges' calls alike.
pub async fn mark_timeouts(table: &mut SpanTable, edges: &mut [Edge]) {
    for edge in edges {
        mark_timeouts_of(table, &mut edge.calls);
        pause().await;
    }
}

#[inline(never)]
fn mark_timeouts_of(table: &mut SpanTable, calls: &mut Calls) {
    let of = |outcome: CallOutcome| -> Vec<u64> {
        let those = (0..calls.len()).filter(|&at| calls.outcome[at] == outcome);
        let mut durations: Vec<u64> = those.map(|at| calls.duration(at)).collect();
        order::sort_numbers(&mut durations);
        durations
    };
    let in_use = timeouts_in_use(&of(CallOutcome::Failure), &of(CallOutcome::Success));
    for at in 0..calls.len() {
        let cut = in_use
            .iter()
            .any(|&timeout| just_above(timeout).contains(&calls.duration(at)));
        if calls.outcome[at] == CallOutcome::Failure && cut {
            calls.outcome[at] = CallOutcome::TimedOut;
            table.outcome[calls.span[at].0 as usize] = Outcome::TimedOut;
        }
    }
}

/// The round numbers of nanoseconds that failing calls pile up just above, the shortest first. Both
/// lists are sorted. A timeout is believed when at least five failures end just above it, few just
/// below, and hardly a success outlives it; where successes do, as other callers have a longer one, when
/// the pile stands alone.
pub fn timeouts_in_use(failures: &[u64], successes: &[u64]) -> Vec<u64> {
    const FEWEST: usize = 5;
    let between = |sorted: &[u64], from: u64, to: u64| {
        sorted.partition_point(|&it| it < to) - sorted.partition_point(|&it| it < from)
    };
    let believed = |timeout: &u64| {
        let above = just_above(*timeout);
        let width = above.end - above.start;
        let pile = between(failures, above.start, above.end);
        // The shortest of them is cut at once.
        let at_it = between(
            failures,
            above.start,
            above.start + (timeout / 50).max(10_000_000),
        );
        let below = between(failures, above.start.saturating_sub(width), above.start);
        let outlived = between(successes, above.end, u64::MAX);
        let after = between(failures, above.end, above.end + width);
        let inside = between(successes, above.start, above.end);
        let alone =
            pile >= 2 * FEWEST && after * 10 <= pile && below * 10 <= pile && inside <= pile;
        pile >= FEWEST && at_it > 0 && below * 4 <= pile && (outlived * 10 <= pile || alone)
    };
    ROUND_MS
        .iter()
        .map(|ms| ms * 1_000_000)
        .filter(believed)
        .collect()
}

/// The duration from which on calls evidently failed, for files that tell no outcome: the round time
/// that most calls of one edge pile up just above, few just below, and hardly any outlives. Below half
/// a second slow answers look the same.
pub fn proposed_failed_over(edges: &[Edge]) -> Option<u64> {
    let mut best: Option<(usize, Reverse<u64>)> = None;
    for Edge { calls, .. } in edges {
        let known = (0..calls.len()).filter(|&at| calls.outcome[at].is_known());
        let mut durations: Vec<u64> = known.map(|at| calls.duration(at)).collect();
        order::sort_numbers(&mut durations);
        let in_use = timeouts_in_use(&durations, &[]);
        for timeout in in_use.into_iter().filter(|&it| it >= 500_000_000) {
            let from = durations.partition_point(|&it| it < timeout);
            let above = just_above(timeout);
            let pile = durations.partition_point(|&it| it < above.end) - from;
            let outlived = durations.len() - from - pile;
            if outlived * 10 <= pile {
                best = best.max(Some((pile, Reverse(timeout))));
            }
        }
    }
    best.map(|(_, Reverse(timeout))| timeout)
}

/// Where calls end that a timeout cut: up to 2 % or 50 ms above it, whichever is more.
pub(crate) fn just_above(timeout: u64) -> Range<u64> {
    timeout..timeout + (timeout / 50).max(50_000_000)
}

/// Timeouts that people configure, in milliseconds.
const ROUND_MS: &[u64] = &[
    100, 150, 200, 250, 300, 350, 400, 450, 500, 600, 700, 750, 800, 900, 1_000, 1_200, 1_500,
    2_000, 2_500, 3_000, 4_000, 5_000, 6_000, 8_000, 10_000, 12_000, 15_000, 20_000, 25_000,
    30_000, 40_000, 45_000, 50_000, 60_000, 90_000, 120_000, 180_000, 300_000, 600_000,
];

/// For each span, the first of its children that received a call: one of another service, or the server
/// span under a client span where a service calls itself.
struct Links {
    child: Column<u32>,
    /// Spans without a kind under which several calls were received while they lasted.
    fans_out: Column<bool>,
}

impl Links {
    #[inline(never)]
    fn of(table: &SpanTable) -> Links {
        let mut child = Column::of(NONE, table.len());
        let mut fans_out = Column::of(false, table.len());
        // Spans of a trace stand by start, so the first to be met is the first to start.
        for at in 0..table.len() {
            if let Parent::Span(SpanIdx(parent)) = table.parent(SpanIdx(at as u32)) {
                let parent = parent as usize;
                let crosses = table.service[parent] != table.service[at];
                let calls_itself =
                    table.kind[parent] == Kind::Client && table.kind[at] == Kind::Server;
                if (crosses || calls_itself) && child[parent] == NONE {
                    child[parent] = at as u32;
                } else if crosses && table.kind[parent] == Kind::Unset {
                    // What begins later was told by a message, which several may heed.
                    fans_out[parent] |= table.start[at] < table.end(SpanIdx(parent as u32));
                }
            }
        }
        Links { child, fans_out }
    }

    /// Every call among some spans: the span that stands for it, and its caller.
    fn calls(
        &self,
        table: &SpanTable,
        part: Range<usize>,
    ) -> impl Iterator<Item = (usize, ServiceIdx)> {
        let received = |at: usize| match table.parent(SpanIdx(at as u32)) {
            Parent::Span(SpanIdx(parent)) => {
                let parent = parent as usize;
                let caller = table.service[parent];
                (self.fans_out[parent] && caller != table.service[at]).then_some((at, caller))
            }
            Parent::Root | Parent::Missing => None,
        };
        let made = |at: usize| self.is_call(table, at).then(|| (at, table.service[at]));
        part.flat_map(move |at| received(at).into_iter().chain(made(at)))
    }

    fn child(&self, at: usize) -> Option<usize> {
        (self.child[at] != NONE).then_some(self.child[at] as usize)
    }

    fn is_call(&self, table: &SpanTable, at: usize) -> bool {
        match table.kind[at] {
            Kind::Client => true,
            Kind::Unset => self.child(at).is_some() && !self.fans_out[at] || is_refused(table, at),
            Kind::Internal => is_refused(table, at),
            Kind::Server | Kind::Producer | Kind::Consumer => false,
        }
    }
}

/// Whether the span stands for a call that a breaker refused, so that there is no client span.
fn is_refused(table: &SpanTable, at: usize) -> bool {
    let span = SpanIdx(at as u32);
    let refused = table.recorded(span).is_some_and(|it| it.rejected);
    refused
        && match table.parent(span) {
            Parent::Span(SpanIdx(parent)) => table.kind[parent as usize] != Kind::Client,
            Parent::Root | Parent::Missing => true,
        }
}

/// Where each service passes its calls on to, if passing on is all it does: every span of it is a
/// call received (or that call's one client span of the same name), none makes more than one call,
/// and nine in ten make one.
#[inline(never)]
fn pass_through(table: &SpanTable, links: &Links) -> Column<Option<ServiceIdx>> {
    #[derive(Clone, Default)]
    struct Seen {
        received: u32,
        passed_on: u32,
        does_more: bool,
        to: Tally,
    }
    let mut seen = Column::of(Seen::default(), table.services().count());
    let mut calls_made = Column::of(0u8, table.len());
    // Whether a span stands for a call received: its parent belongs to another service.
    let entry = |at: usize| match table.parent(SpanIdx(at as u32)) {
        Parent::Span(parent) => table.service[parent.0 as usize] != table.service[at],
        Parent::Missing => table.kind[at] == Kind::Server,
        Parent::Root => false,
    };
    let forwards = |at: usize| match table.parent(SpanIdx(at as u32)) {
        Parent::Span(SpanIdx(parent)) => {
            let parent = parent as usize;
            let client = table.kind[at] == Kind::Client;
            client && entry(parent) && table.operation(parent) == table.operation(at)
        }
        _ => false,
    };
    for at in 0..table.len() {
        let it = &mut seen[table.service[at].0 as usize];
        if entry(at) {
            it.received += 1;
        } else if !forwards(at) {
            it.does_more = true;
        }
        if let Parent::Span(SpanIdx(parent)) = table.parent(SpanIdx(at as u32)) {
            let made = &mut calls_made[parent as usize];
            *made = made.saturating_add(1);
            let of = &mut seen[table.service[parent as usize].0 as usize];
            of.does_more |= *made > 1;
        }
        if let Some(child) = links.child(at) {
            let it = &mut seen[table.service[at].0 as usize];
            it.passed_on += 1;
            it.to.add(table.service[child].0.into());
        }
    }
    let target = |it: &Seen| {
        let passes = it.received > 0 && !it.does_more && it.passed_on * 10 >= it.received * 9;
        passes
            .then(|| it.to.most_common().map(|it| ServiceIdx(it as u16)))
            .flatten()
    };
    seen.iter().map(target).collect()
}

/// What other calls teach about calls that have no child.
struct Routes<'a> {
    passing: &'a Column<Option<ServiceIdx>>,
    /// The place of each clue.
    clues: Numbers,
    /// The service that was called, by the place of its clue.
    called: Column<u32>,
}

/// What tells the callee of a call.
#[derive(Clone, Copy)]
enum Clue {
    /// The peer that it names.
    Peer(u32),
    /// The name of its breaker.
    Breaker(u32),
    /// Its caller's operation.
    Operation(ServiceIdx, u32),
}

impl Clue {
    /// Different ones have different keys.
    fn key(self) -> u64 {
        match self {
            Clue::Peer(name) => name.into(),
            Clue::Breaker(name) => 1 << 32 | u64::from(name),
            Clue::Operation(service, name) => ((u64::from(service.0) + 2) << 32) | u64::from(name),
        }
    }
}

impl<'a> Routes<'a> {
    #[inline(never)]
    fn learn(
        table: &SpanTable,
        links: &Links,
        passing: &'a Column<Option<ServiceIdx>>,
    ) -> Routes<'a> {
        let mut routes = Routes {
            passing,
            clues: Numbers::default(),
            called: Column::default(),
        };
        let mut called: Column<Tally> = Column::default();
        let mut places = Numbers::default();
        for at in (0..table.len()).filter(|&at| links.is_call(table, at)) {
            let Some(child) = links.child(at) else {
                continue;
            };
            let (to, _) = routes.follow(table, links, child);
            let clues = [
                Some(Clue::Operation(table.service[at], table.operation(at))),
                Some(Clue::Peer(table.peer(at))).filter(|_| table.peer(at) != NONE),
                breaker_name(table, at).map(Clue::Breaker),
            ];
            for clue in clues.into_iter().flatten() {
                let place = places.of(clue.key()) as usize;
                if place == called.len() {
                    called.push(Tally::default());
                }
                called[place].add(to);
            }
        }
        let called = called.iter().map(|it| favourite(table, it));
        (routes.clues, routes.called) = (places, called.collect());
        routes
    }

    /// The callee's name and the services that pass the call on.
    fn callee(&self, table: &SpanTable, links: &Links, at: usize) -> (u32, Vec<ServiceIdx>) {
        if let Some(child) = links.child(at) {
            return self.follow(table, links, child);
        }
        let peer = table.peer(at);
        let called = |clue: Clue| {
            let place = self.clues.find(clue.key())?;
            Some(self.called[place as usize])
        };
        if peer != NONE && peer != Strings::EMPTY {
            return (called(Clue::Peer(peer)).unwrap_or(peer), Vec::new());
        }
        let guarded = breaker_name(table, at).and_then(|it| called(Clue::Breaker(it)));
        let operation = || called(Clue::Operation(table.service[at], table.operation(at)));
        (guarded.or_else(operation).unwrap_or(NONE), Vec::new())
    }

    /// From the span that received a call to the service that the call was for.
    fn follow(&self, table: &SpanTable, links: &Links, child: usize) -> (u32, Vec<ServiceIdx>) {
        let mut via = Vec::new();
        let (mut at, mut service) = (Some(child), table.service[child]);
        while let Some(usual) = self.passing[service.0 as usize] {
            if via.contains(&service) {
                break;
            }
            via.push(service);
            at = at.and_then(|at| links.child(at));
            service = at.map_or(usual, |at| table.service[at]);
        }
        (table.service_name_idx(service), via)
    }
}

/// The name of the breaker that a call passed.
fn breaker_name(table: &SpanTable, at: usize) -> Option<u32> {
    let (_, recorded) = table.recorded_of_call(SpanIdx(at as u32))?;
    let name = table.names.find(recorded.name)?;
    (name != Strings::EMPTY).then_some(name)
}

/// The most frequent name; of equals the first in the alphabet, so that the order of rows decides nothing.
fn favourite(table: &SpanTable, names: &Tally) -> u32 {
    let key = |&(name, count): &(u32, u32)| (count, Reverse(table.names.get(name)));
    let best = names.0.iter().copied().max_by(|a, b| key(a).cmp(&key(b)));
    best.map_or(NONE, |it| it.0)
}

/// How often each of a few came, by their number.
#[derive(Clone, Default)]
struct Tally(Vec<(u32, u32)>);

impl Tally {
    fn add(&mut self, it: u32) {
        match self.0.binary_search_by_key(&it, |of| of.0) {
            Ok(at) => self.0[at].1 += 1,
            Err(at) => self.0.insert(at, (it, 1)),
        }
    }

    /// Of equals the first.
    fn most_common(&self) -> Option<u32> {
        let mut best = None;
        for &(it, count) in &self.0 {
            if best.is_none_or(|(_, most)| count > most) {
                best = Some((it, count));
            }
        }
        best.map(|(it, _)| it)
    }
}

/// The columns of calls that `caller` made, which is the parent where the span is the callee's; without
/// a caller, each span is its own.
async fn calls(table: &SpanTable, caller: Option<ServiceIdx>, spans: Vec<u32>) -> Calls {
    let mut calls = Calls::begun(table, spans);
    pause().await;
    calls.take_instances(table, caller);
    pause().await;
    calls.take_ends(table);
    calls
}

impl Calls {
    #[inline(never)]
    fn begun(table: &SpanTable, mut spans: Vec<u32>) -> Calls {
        let start = |at: u32| order::of_time(table.start[at as usize]);
        order::sort_by(&mut spans, &start, &mut |a, b| {
            table.compare_ids(SpanIdx(a), SpanIdx(b))
        });
        Calls {
            start: spans.iter().map(|&at| table.start[at as usize]).collect(),
            span: spans.into_iter().map(SpanIdx).collect(),
            ..Calls::default()
        }
    }

    #[inline(never)]
    fn take_instances(&mut self, table: &SpanTable, caller: Option<ServiceIdx>) {
        let mut numbers = Numbers::default();
        self.instance.reserve_exact(self.span.len());
        for &span in &self.span {
            let at = span.0 as usize;
            let name = match table.parent(span) {
                Parent::Span(parent) if caller.is_some_and(|it| it != table.service[at]) => {
                    table.instance(parent.0 as usize)
                }
                _ => table.instance(at),
            };
            self.instance.push(numbers.of(name.into()));
        }
        let name_of = |number: u32| numbers.keys()[number as usize] as u32;
        let key = |number: u32| {
            let name = name_of(number);
            (name == NONE, table.names.get(name))
        };
        let by_name = order::sorted_indices(numbers.keys().len(), &mut |a, b| key(a).cmp(&key(b)));
        let mut place = Column::of(0, by_name.len());
        for (at, &number) in by_name.iter().enumerate() {
            place[number as usize] = at as u32;
            let name = name_of(number);
            let text = (name != NONE).then(|| table.names.get(name).to_owned());
            self.instances.push(text);
        }
        for number in self.instance.iter_mut() {
            *number = place[*number as usize];
        }
    }

    #[inline(never)]
    fn take_ends(&mut self, table: &SpanTable) {
        self.end = self.span.iter().map(|&it| table.end(it)).collect();
        let mut by_end: Vec<u32> = (0..self.end.len() as u32).collect();
        let end = &self.end;
        order::sort_by_number(&mut by_end, &|at| order::of_time(end[at as usize]));
        self.by_end = by_end.into();
        let outcome = |span: &SpanIdx| {
            let at = span.0 as usize;
            match table.outcome[at] {
                Outcome::Rejected => CallOutcome::Rejected,
                _ if table.duration[at] == UNKNOWN_DURATION => CallOutcome::Unknown,
                Outcome::Success => CallOutcome::Success,
                Outcome::Failure => CallOutcome::Failure,
                Outcome::TimedOut => CallOutcome::TimedOut,
            }
        };
        self.outcome = self.span.iter().map(outcome).collect();
    }
}
