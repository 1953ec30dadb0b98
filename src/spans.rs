//! The span table: every span of the loaded files in columns, in one canonical order.
//!
//! Spans stand trace by trace, traces by rank (their first client span; ties by trace id), and
//! within a trace by start, so that a trace is a range of indices and a band of ranks is one too.
//! Invariant: the table is a function of the set of rows, not of their order, and every index in it
//! is in range. Building costs O(n log n) once; nothing in it is looked up by hash afterwards.
//! Pinned by `tests/it/table.rs`, where any shuffle of the rows must give the same table.

use std::cmp::Ordering;
use std::ops::Range;

use herdscope_cells::table::{Parents, ends_everywhere, take_i64, take_u32, take_u64};

use crate::column::Column;
use crate::ids::{Id, SpanIds, TraceIds};
use crate::issues::{Code, Issues};
use crate::labels::{LabelSet, LabelSets};
use crate::order::{self, Sorting};
use crate::outcome::Outcome;
use crate::recorded::{self, Recorded};
use crate::rows::{Kind, NO_PARENT, NONE, SpanRows, UNKNOWN_DURATION};
use crate::strings::Strings;
use crate::turns::{at_once, pause};

/// A span's place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanIdx(pub u32);

/// A trace's rank: its place in the Y order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(pub u32);

/// A service's number, in the order of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceIdx(pub u16);

/// How a span hangs in its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parent {
    /// It has none: a root.
    Root,
    /// It names one that is not in the file (or is its own ancestor): an orphan.
    Missing,
    /// This span.
    Span(SpanIdx),
}

/// All spans. Column `x` of span `i` is `table.x[i]`.
#[derive(Clone, Debug, Default)]
pub struct SpanTable {
    /// Nanoseconds since 1970, UTC.
    pub start: Column<i64>,
    /// Nanoseconds; [`UNKNOWN_DURATION`] where the file does not tell.
    pub duration: Column<u64>,
    /// The rank of the span's trace.
    pub rank: Column<Rank>,
    /// The service that recorded the span.
    pub service: Column<ServiceIdx>,
    /// Client, server, ...
    pub kind: Column<Kind>,
    /// How it ended.
    pub outcome: Column<Outcome>,
    /// Index of the parent span; [`NONE`] for roots, `MISSING` for orphans. See [`SpanTable::parent`].
    parent: Column<u32>,
    /// The span's id, in `span_ids`.
    pub span_id: Column<u64>,
    /// Its other labels, in `label_sets`.
    pub labels: Column<u32>,
    /// The row in its file; the header is row 1.
    pub row: Column<u32>,
    /// Which of several files it stands in; no entries where there is one.
    pub file: Column<u16>,
    /// Where the spans of each trace begin, one entry more than there are traces.
    trace_start: Column<u32>,
    /// The id of each trace, in `trace_ids`.
    trace_id: Column<u32>,
    /// The name of each service, in `names`.
    service_name: Column<u32>,
    /// The depth of each service in the call chain: 0 for the outermost caller.
    tier: Column<u8>,
    trace_ids: TraceIds,
    span_ids: SpanIds,
    /// What the spans say beside ids and times, in the words of the file: its outcomes are not those of `outcome`
    /// once a person has said something about them.
    pub label_sets: LabelSets,
    /// The texts of labels, and the names of breakers.
    pub names: Strings,
}

const MISSING: u32 = u32::MAX - 1;

/// So many traces, or rows, are gone through in a turn.
const A_TURN: u32 = 1 << 18;

impl SpanTable {
    /// Orders, deduplicates and links the rows. What is wrong with their structure goes to
    /// `issues`: `duplicate_row`, `parent_missing`, `parent_cycle`, `all_failed`.
    pub fn build(mut rows: SpanRows, issues: &mut Issues) -> SpanTable {
        at_once(SpanTable::building(&mut rows, false, issues))
    }

    /// [`SpanTable::build`] in turns. Where rows are not to be kept, each of their columns goes when it has been read
    /// for the last time, so that there is no moment with all rows and the whole table in memory.
    pub async fn building(rows: &mut SpanRows, keep: bool, issues: &mut Issues) -> SpanTable {
        let ranks = rank_traces(rows);
        pause().await;
        let order = span_order(rows, &ranks, issues).await;
        let services = service_numbers(rows);
        pause().await;
        let (mut table, parents) = gather(rows, keep, &ranks, &order, &services).await;
        drop((ranks, order));
        table.link(&parents, issues).await;
        drop(parents);
        pause().await;
        table.tier = crate::tiers::tiers(&table);
        pause().await;
        table.note_all_failed(issues);
        table
    }

    /// How many bytes it takes, those included that it has taken to grow.
    pub fn bytes(&self) -> usize {
        let names = [
            &self.parent,
            &self.labels,
            &self.row,
            &self.trace_start,
            &self.trace_id,
            &self.service_name,
        ];
        let names: usize = names.iter().map(|it| it.bytes()).sum();
        let times = self.start.bytes() + self.duration.bytes();
        let ended = self.kind.bytes() + self.outcome.bytes();
        let places = self.rank.bytes() + self.service.bytes() + self.file.bytes();
        let ids = self.trace_ids.bytes() + self.span_ids.bytes();
        let texts = self.label_sets.bytes() + self.names.bytes();
        names + times + ended + places + self.span_id.bytes() + self.tier.bytes() + ids + texts
    }

    /// How many spans there are.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// Whether there is no span.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// How many traces there are: ranks go from 0 to this, exclusive.
    pub fn n_traces(&self) -> u32 {
        self.trace_id.len() as u32
    }

    /// The spans of one trace; empty for a rank that does not exist.
    pub fn trace(&self, rank: Rank) -> Range<usize> {
        let at = rank.0 as usize;
        match (self.trace_start.get(at), self.trace_start.get(at + 1)) {
            (Some(&from), Some(&to)) => from as usize..to as usize,
            _ => 0..0,
        }
    }

    /// The ranks of the traces that began from `from` to `to`, exclusive. O(log traces), and their spans.
    pub fn began_between(&self, from: i64, to: i64) -> Range<u32> {
        let before = |time: i64| {
            let mut ranks = 0..self.n_traces();
            while !ranks.is_empty() {
                let middle = ranks.start.midpoint(ranks.end);
                match self.began(Rank(middle)) < time {
                    true => ranks.start = middle + 1,
                    false => ranks.end = middle,
                }
            }
            ranks.start
        };
        before(from)..before(to.max(from))
    }

    /// When a trace began, for the order: its first client span, or its first span. O(its spans).
    fn began(&self, rank: Rank) -> i64 {
        let spans = self.trace(rank);
        let client = |&at: &usize| self.kind[at] == Kind::Client;
        // Spans of a trace stand by start.
        let first = spans.clone().find(client).unwrap_or(spans.start);
        self.start[first]
    }

    /// The spans of the traces from `ranks.start` to `ranks.end`, exclusive, cut to what exists.
    pub fn band(&self, ranks: Range<u32>) -> Range<usize> {
        let edge = |rank: u32| {
            let at = rank.min(self.n_traces()) as usize;
            self.trace_start.get(at).map_or(0, |&it| it as usize)
        };
        edge(ranks.start)..edge(ranks.end.max(ranks.start))
    }

    /// The trace's id as the file writes it.
    pub fn trace_id(&self, rank: Rank) -> Id<'_> {
        let id = self.trace_id.get(rank.0 as usize);
        id.map_or(Id::Text(""), |&id| self.trace_ids.get(id))
    }

    /// The trace of that id. O(number of traces).
    pub fn find_trace(&self, id: &str) -> Option<Rank> {
        let id = self.trace_ids.find(id)?;
        let at = self.trace_id.iter().position(|&it| it == id)?;
        Some(Rank(at as u32))
    }

    /// The span's id as the file writes it.
    pub fn span_id(&self, span: SpanIdx) -> Id<'_> {
        self.span_ids.get(self.span_id[span.0 as usize])
    }

    /// In which order the ids of two spans stand, those of their traces first.
    #[inline(never)]
    pub fn compare_ids(&self, a: SpanIdx, b: SpanIdx) -> Ordering {
        let trace = |span: SpanIdx| self.trace_id[self.rank[span.0 as usize].0 as usize];
        let value = |span: SpanIdx| self.span_id[span.0 as usize];
        let traces = self.trace_ids.compare(trace(a), trace(b));
        traces.then_with(|| self.span_ids.compare(value(a), value(b)))
    }

    /// The span's name, in `names`.
    #[inline]
    pub fn operation(&self, at: usize) -> u32 {
        self.labels_of(at).operation
    }

    /// The process that recorded the span, in `names`; [`NONE`] where unknown.
    #[inline]
    pub fn instance(&self, at: usize) -> u32 {
        self.labels_of(at).instance
    }

    /// The service that the span's attributes name as called, in `names`; [`NONE`] where they do not.
    #[inline]
    pub fn peer(&self, at: usize) -> u32 {
        self.labels_of(at).peer
    }

    /// The status message, in `names`.
    #[inline]
    pub fn message(&self, at: usize) -> u32 {
        self.labels_of(at).message
    }

    /// Whether any span records anything of a breaker.
    pub fn records_breakers(&self) -> bool {
        self.label_sets.all().iter().any(|it| it.breaker != NONE)
    }

    fn labels_of(&self, at: usize) -> &LabelSet {
        self.label_sets.get(self.labels[at])
    }

    /// What the span hangs under.
    pub fn parent(&self, span: SpanIdx) -> Parent {
        match self.parent[span.0 as usize] {
            NONE => Parent::Root,
            MISSING => Parent::Missing,
            at => Parent::Span(SpanIdx(at)),
        }
    }

    /// What the span records of a breaker.
    pub fn recorded(&self, span: SpanIdx) -> Option<Recorded<'_>> {
        let text = self.labels_of(span.0 as usize).breaker;
        (text != NONE).then(|| recorded::read(self.names.get(text)))
    }

    /// What is recorded of the breaker that a call passed, and by which span: its own, or the one around
    /// it in the same service.
    #[inline(never)]
    pub fn recorded_of_call(&self, span: SpanIdx) -> Option<(SpanIdx, Recorded<'_>)> {
        let own = self.recorded(span).map(|it| (span, it));
        own.or_else(|| match self.parent(span) {
            Parent::Span(parent)
                if self.service[parent.0 as usize] == self.service[span.0 as usize] =>
            {
                self.recorded(parent).map(|it| (parent, it))
            }
            _ => None,
        })
    }

    /// When the span ended, if its duration is known; otherwise when it started.
    pub fn end(&self, span: SpanIdx) -> i64 {
        let at = span.0 as usize;
        end_of(self.start[at], self.duration[at])
    }

    /// Every service, in the order of names.
    pub fn services(&self) -> impl Iterator<Item = (ServiceIdx, &str)> {
        let names = self.service_name.iter().map(|&name| self.names.get(name));
        names
            .enumerate()
            .map(|(at, name)| (ServiceIdx(at as u16), name))
    }

    /// A service's name.
    pub fn service_name(&self, service: ServiceIdx) -> &str {
        let name = self.service_name.get(service.0 as usize);
        name.map_or("", |&name| self.names.get(name))
    }

    /// A service's name, as an index into `names`.
    pub fn service_name_idx(&self, service: ServiceIdx) -> u32 {
        self.service_name[service.0 as usize]
    }

    /// The service of that name.
    pub fn find_service(&self, name: &str) -> Option<ServiceIdx> {
        let mut services = self.services();
        services.find(|(_, it)| *it == name).map(|(at, _)| at)
    }

    /// A service's depth in the call chain: 0 for the outermost caller.
    pub fn tier(&self, service: ServiceIdx) -> u8 {
        self.tier.get(service.0 as usize).copied().unwrap_or(0)
    }

    /// How many roots and orphans there are.
    pub fn roots_and_orphans(&self) -> (usize, usize) {
        let count = |what: u32| self.parent.iter().filter(|&&it| it == what).count();
        (count(NONE), count(MISSING))
    }

    /// From the first start to the last end; `None` without spans.
    pub fn extent(&self) -> Option<Range<i64>> {
        let from = self.start.iter().min()?;
        let ends = self.start.iter().zip(&self.duration);
        let to = ends
            .map(|(&start, &duration)| end_of(start, duration))
            .max()?;
        Some(*from..to)
    }

    /// From the first start to the last end of a root, an orphan or a client span: the extent
    /// without work that went on after everybody had gone, which can be a hundred times longer.
    pub fn awaited_extent(&self) -> Option<Range<i64>> {
        let from = self.start.iter().min()?;
        let awaited = (0..self.len() as u32).map(SpanIdx).filter(|&span| {
            self.kind[span.0 as usize] == Kind::Client
                || !matches!(self.parent(span), Parent::Span(_))
        });
        let to = awaited.map(|span| self.end(span)).max()?;
        Some(*from..to)
    }

    /// When the last root or orphan started; `None` without spans.
    pub fn last_arrival(&self) -> Option<i64> {
        let tops = (0..self.len() as u32).map(SpanIdx);
        let tops = tops.filter(|&span| !matches!(self.parent(span), Parent::Span(_)));
        tops.map(|span| self.start[span.0 as usize]).max()
    }

    #[inline(never)]
    fn take_files(&mut self, rows: &SpanRows, order: &[u32]) {
        if !rows.later_files.is_empty() {
            let file = |&at: &u32| rows.file_of(at as usize);
            self.file = order.iter().map(file).collect();
        }
    }

    /// `trace` is of rows in the order of `ranks`.
    #[inline(never)]
    fn take_traces(&mut self, trace: &Column<u32>, ranks: &Column<u32>) {
        self.rank = trace.iter().map(|&it| Rank(ranks[it as usize])).collect();
        let room = || Column::from(Vec::with_capacity(ranks.len() + 1));
        (self.trace_start, self.trace_id) = (room(), room());
        for (at, &id) in trace.iter().enumerate() {
            if at == 0 || trace[at - 1] != id {
                self.trace_start.push(at as u32);
                self.trace_id.push(id);
            }
        }
        self.trace_start.push(trace.len() as u32);
    }

    /// The labels that are asked for again and again have columns of their own.
    #[inline(never)]
    fn take_labels(&mut self, sets: &LabelSets, services: &ServiceNumbers) {
        let all = || self.labels.iter().map(|&it| sets.get(it));
        let number = |it: &LabelSet| ServiceIdx(services.number[it.service as usize]);
        let service = all().map(number).collect();
        let kind = all().map(|it| it.kind).collect();
        let outcome = all().map(|it| it.outcome).collect();
        (self.service, self.kind, self.outcome) = (service, kind, outcome);
        self.service_name = services.names.clone();
    }

    /// Resolves parents, given by their ids, within each trace, and breaks cycles.
    async fn link(&mut self, named: &[u64], issues: &mut Issues) {
        self.parent = Column::of(NONE, self.len());
        for first in (0..self.n_traces()).step_by(A_TURN as usize) {
            let last = self.n_traces().min(first + A_TURN);
            self.link_traces(first..last, named, issues);
            pause().await;
        }
        self.break_cycles(issues);
    }

    #[inline(never)]
    fn link_traces(&mut self, ranks: Range<u32>, named: &[u64], issues: &mut Issues) {
        let mut by_id: Vec<u32> = Vec::new();
        let mut parent = std::mem::take(&mut self.parent);
        let parents = Parents {
            none: NONE,
            missing: MISSING,
        };
        for rank in ranks {
            let spans = self.trace(Rank(rank));
            let (ids, named) = (&self.span_id[spans.clone()], &named[spans.clone()]);
            let first = spans.start as u32;
            if parents.find(ids, named, first, &mut parent[spans.clone()]) {
                for at in spans {
                    if parent[at] == MISSING {
                        issues.note(Code::ParentMissing, Some(self.row[at].into()), None, None);
                    }
                }
                continue;
            }
            by_id.clear();
            by_id.extend(spans.clone().map(|at| at as u32));
            // Of spans that share an id (a client and a server may), children hang under the
            // server's; of several, under the first to start.
            let key = |at: u32| {
                let at = at as usize;
                (self.span_id[at], self.kind[at] == Kind::Client)
            };
            order::sort(&mut by_id, &mut |a, b| key(a).cmp(&key(b)));
            let same = |a: usize, b: usize| {
                (self.span_id[a], self.kind[a], self.service[a])
                    == (self.span_id[b], self.kind[b], self.service[b])
            };
            for pair in by_id.windows(2) {
                let [a, b] = [pair[0] as usize, pair[1] as usize];
                if same(a, b) {
                    issues.note(Code::SameId, Some(self.row[b].into()), None, None);
                }
            }
            for at in spans {
                // A server span with its client's id is that call's other end.
                if self.kind[at] == Kind::Server {
                    let id = self.span_id[at];
                    let client = by_id.partition_point(|&it| key(it) < (id, true));
                    if let Some(&client) = by_id.get(client)
                        && key(client) == (id, true)
                    {
                        parent[at] = client;
                        continue;
                    }
                }
                let id = named[at - first as usize];
                if id == NO_PARENT || id == self.span_id[at] {
                    continue;
                }
                let found = by_id.partition_point(|&it| self.span_id[it as usize] < id);
                match by_id.get(found) {
                    Some(&it) if self.span_id[it as usize] == id => parent[at] = it,
                    _ => {
                        parent[at] = MISSING;
                        issues.note(Code::ParentMissing, Some(self.row[at].into()), None, None);
                    }
                }
            }
        }
        self.parent = parent;
    }

    /// Makes an orphan of the first span of every cycle of parents.
    #[inline(never)]
    fn break_cycles(&mut self, issues: &mut Issues) {
        if !ends_everywhere(&self.parent, MISSING) {
            break_cycles(&mut self.parent, &self.row, issues);
        }
    }

    /// Takes spans that lasted `ns` or longer as failed, for files that do not tell.
    pub fn fail_from(&mut self, ns: u64, issues: &mut Issues) {
        for (outcome, &duration) in self.outcome.iter_mut().zip(&self.duration) {
            let long = duration >= ns && duration != UNKNOWN_DURATION;
            if long && *outcome == Outcome::Success {
                *outcome = Outcome::Failure;
            }
        }
        if issues.count(Code::AllFailed) == 0 {
            self.note_all_failed(issues);
        }
    }

    fn note_all_failed(&self, issues: &mut Issues) {
        const FEWEST: u32 = 20;
        let failed = |rank| {
            self.trace(Rank(rank))
                .any(|at| self.outcome[at].is_failure())
        };
        if self.n_traces() >= FEWEST && (0..self.n_traces()).all(failed) {
            issues.note(Code::AllFailed, None, None, None);
        }
    }
}

/// When a span ended, if its duration is known; otherwise when it started.
pub fn end_of(start: i64, duration: u64) -> i64 {
    if duration == UNKNOWN_DURATION {
        start
    } else {
        start.saturating_add_unsigned(duration)
    }
}

/// The rank of each trace, by its index in `rows.trace_ids`.
#[inline(never)]
fn rank_traces(rows: &SpanRows) -> Column<u32> {
    let n = rows.trace_ids.end();
    let mut first = Column::of(i64::MAX, n);
    let mut first_client = first.clone();
    let mut seen = Column::of(false, n);
    for at in 0..rows.len() {
        let trace = rows.trace[at] as usize;
        seen[trace] = true;
        first[trace] = first[trace].min(rows.start[at]);
        if rows.label_set(at).kind == Kind::Client {
            first_client[trace] = first_client[trace].min(rows.start[at]);
        }
    }
    let key = |trace: u32| {
        let at = trace as usize;
        match first_client[at] {
            i64::MAX => first[at],
            start => start,
        }
    };
    let mut traces: Vec<u32> = (0..n as u32).filter(|&it| seen[it as usize]).collect();
    order::sort_by(&mut traces, &|it| order::of_time(key(it)), &mut |a, b| {
        rows.trace_ids.compare(a, b)
    });
    let mut ranks = Column::of(NONE, n);
    for (rank, &trace) in traces.iter().enumerate() {
        ranks[trace as usize] = rank as u32;
    }
    ranks
}

/// The rows in the table's order, without those that say the same as another.
async fn span_order(rows: &SpanRows, ranks: &Column<u32>, issues: &mut Issues) -> Vec<u32> {
    let all: Vec<u32> = (0..rows.len() as u32).collect();
    let mut sorting = Sorting::new(&all, &|at| order::of_time(rows.start[at as usize]));
    drop(all);
    pause().await;
    while sorting.step() {
        pause().await;
    }
    let order = sorting.sorted();
    pause().await;
    let mut order = by_rank(rows, ranks, &order);
    pause().await;
    let (mut any, mut from) = (false, 0);
    while from < order.len() {
        // No tie is cut.
        let mut to = order.len().min(from + A_TURN as usize);
        while to < order.len() && begin_together(rows, order[to - 1], order[to]) {
            to += 1;
        }
        any |= settle_ties(rows, &mut order[from..to]);
        from = to;
        pause().await;
    }
    if any {
        drop_repeated(rows, &mut order, issues);
    }
    order
}

/// Whether rows are of one trace and begin at one time.
fn begin_together(rows: &SpanRows, a: u32, b: u32) -> bool {
    let (a, b) = (a as usize, b as usize);
    rows.start[a] == rows.start[b] && rows.trace[a] == rows.trace[b]
}

/// Orders what begins together; whether anything does.
#[inline(never)]
fn settle_ties(rows: &SpanRows, order: &mut [u32]) -> bool {
    // The texts settle what times leave open, so that the order of rows decides nothing.
    let mut compare = |a: u32, b: u32| {
        let (i, j) = (a as usize, b as usize);
        rows.duration[j].cmp(&rows.duration[i]).then_with(|| {
            let key = |at: usize| rows.label_set(at).texts().map(|it| rows.names.get(it));
            let ids = |column: &Column<u64>| rows.span_ids.compare(column[i], column[j]);
            let ended = |at: usize| {
                let set = rows.label_set(at);
                (set.kind, set.outcome)
            };
            let place = |at: usize| (rows.file_of(at), rows.row[at]);
            ids(&rows.span)
                .then_with(|| ended(i).cmp(&ended(j)))
                .then_with(|| ids(&rows.parent))
                .then_with(|| key(i).cmp(&key(j)))
                .then_with(|| place(i).cmp(&place(j)))
        })
    };
    let mut any = false;
    for tied in order.chunk_by_mut(|&a, &b| begin_together(rows, a, b)) {
        if tied.len() > 1 {
            order::sort(tied, &mut compare);
            any = true;
        }
    }
    any
}

/// Leaves out rows that say the same as the one before.
#[inline(never)]
fn drop_repeated(rows: &SpanRows, order: &mut Vec<u32>, issues: &mut Issues) {
    order.dedup_by(|&mut later, &mut earlier| {
        let same = begin_together(rows, later, earlier)
            && says_the_same(rows, later as usize, earlier as usize);
        if same {
            let row = rows.row[later as usize];
            issues.note(Code::DuplicateRow, Some(row.into()), None, None);
        }
        same
    });
}

/// Those of the first trace, then those of the second, and so on, in the order in which they are given. O(rows).
#[inline(never)]
fn by_rank(rows: &SpanRows, ranks: &Column<u32>, given: &[u32]) -> Vec<u32> {
    let rank = order::ranked(&rows.trace, ranks);
    order::by_small_number(given, &rank, ranks.len())
}

pub(crate) fn says_the_same(rows: &SpanRows, a: usize, b: usize) -> bool {
    fn same<T: PartialEq>(column: &Column<T>, a: usize, b: usize) -> bool {
        column[a] == column[b]
    }
    same(&rows.trace, a, b)
        && same(&rows.span, a, b)
        && same(&rows.start, a, b)
        && same(&rows.duration, a, b)
        && same(&rows.parent, a, b)
        && same(&rows.labels, a, b)
}

/// The services in the order of their names, and the number of each by its index in `names`.
struct ServiceNumbers {
    names: Column<u32>,
    number: Column<u16>,
}

/// More services than a file ever has; those beyond it share the last number.
const MOST_SERVICES: usize = u16::MAX as usize;

#[inline(never)]
fn service_numbers(rows: &SpanRows) -> ServiceNumbers {
    let sets = rows.label_sets.all();
    let mut has_rows = Column::of(false, sets.len());
    for &labels in &rows.labels {
        has_rows[labels as usize] = true;
    }
    let mut seen = Column::of(false, rows.names.len());
    for (set, has_rows) in sets.iter().zip(&has_rows) {
        seen[set.service as usize] |= has_rows;
    }
    let mut names: Column<u32> = (0..seen.len() as u32)
        .filter(|&it| seen[it as usize])
        .collect();
    order::sort(&mut names, &mut |a, b| {
        rows.names.get(a).cmp(rows.names.get(b))
    });
    names.truncate(MOST_SERVICES);
    let last = names.len().saturating_sub(1) as u16;
    let mut number = Column::of(last, rows.names.len());
    for (at, &name) in names.iter().enumerate() {
        number[name as usize] = at as u16;
    }
    ServiceNumbers { names, number }
}

/// The columns in their order, but for what is found out of them; and the ids of the parents.
async fn gather(
    rows: &mut SpanRows,
    keep: bool,
    ranks: &Column<u32>,
    order: &[u32],
    services: &ServiceNumbers,
) -> (SpanTable, Column<u64>) {
    let mut table = SpanTable::default();
    table.take_files(rows, order);
    table.take_traces(&taken(&mut rows.trace, keep, order, take_u32), ranks);
    pause().await;
    table.row = taken(&mut rows.row, keep, order, take_u32);
    pause().await;
    table.labels = taken(&mut rows.labels, keep, order, take_u32);
    pause().await;
    table.take_labels(&rows.label_sets, services);
    pause().await;
    table.start = taken(&mut rows.start, keep, order, take_i64);
    pause().await;
    table.duration = taken(&mut rows.duration, keep, order, take_u64);
    pause().await;
    table.span_id = taken(&mut rows.span, keep, order, take_u64);
    pause().await;
    let parents = taken(&mut rows.parent, keep, order, take_u64);
    table.trace_ids = rows.trace_ids.settled();
    let rest = match keep {
        true => SpanRows {
            span_ids: rows.span_ids.clone(),
            label_sets: rows.label_sets.clone(),
            names: rows.names.clone(),
            ..SpanRows::default()
        },
        false => std::mem::take(rows),
    };
    table.span_ids = rest.span_ids;
    (table.label_sets, table.names) = (rest.label_sets, rest.names);
    pause().await;
    (table, parents)
}

/// A column in that order, which goes where it is not to be kept.
fn taken<T>(
    column: &mut Column<T>,
    keep: bool,
    order: &[u32],
    take: fn(&[T], &[u32]) -> Vec<T>,
) -> Column<T> {
    let taken = take(column, order);
    if !keep {
        *column = Column::default();
    }
    taken.into()
}

/// Makes an orphan of the first span of every cycle of parents.
fn break_cycles(parent: &mut Column<u32>, row: &Column<u32>, issues: &mut Issues) {
    const FRESH: u8 = 0;
    const ON_PATH: u8 = 1;
    const DONE: u8 = 2;
    let mut state = Column::of(FRESH, parent.len());
    let mut path = Vec::new();
    for first in 0..parent.len() {
        let mut at = first;
        while state[at] == FRESH {
            state[at] = ON_PATH;
            path.push(at);
            match parent[at] {
                NONE | MISSING => break,
                next => at = next as usize,
            }
        }
        // The walk stopped on its own path: a cycle, and not the end of a chain.
        let in_cycle = state[at] == ON_PATH && !matches!(parent[at], NONE | MISSING);
        if in_cycle {
            parent[at] = MISSING;
            issues.note(Code::ParentCycle, Some(row[at].into()), None, None);
        }
        for at in path.drain(..) {
            state[at] = DONE;
        }
    }
}
