//! Advice on timeouts and pools, edge by edge, and the work done for callers that had gone.
//!
//! Owns percentiles with their uncertainty at this sample size, the timeouts evidently in use, a
//! proposed one, and calls in flight, counted and by Little's law. Invariant: what the sample is too
//! small to tell is `None`, never zero. Cost: O(calls log calls) an edge, O(spans x depth) for work
//! that went on. Sources: Little, "A proof for the queuing formula L = lambda W" (1961); intervals of
//! percentiles from the ranks of a binomial count. Pinned by `tests/it/advise.rs`.

use crate::calls::{CallOutcome, Calls, Edge, just_above, timeouts_in_use};
use crate::dataset::Dataset;
use crate::order;
use crate::outcome::Outcome;
use crate::rows::{Kind, UNKNOWN_DURATION};
use crate::spans::{Parent, SpanIdx, SpanTable};

/// Advice on one edge.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeAdvice {
    /// Calls with a known duration.
    pub calls: u64,
    /// Of all calls, the 50th, 90th, 99th and 99.9th percentile of duration.
    pub percentiles: [Percentile; 4],
    /// The timeouts evidently in use, the shortest first, and how many calls each cut.
    pub timeouts_in_use: Vec<(u64, u64)>,
    /// A timeout that today's good calls would bear, nanoseconds; `None` without enough of them.
    pub proposed_timeout_ns: Option<u64>,
    /// The share of the good calls that it would cut.
    pub cut_share: Option<f64>,
    /// The time to connect, where spans tell it apart: 50th and 99.9th percentile, nanoseconds.
    pub connect: Option<[u64; 2]>,
    /// Calls at the same time.
    pub in_flight: InFlight,
    /// The pool that the calls evidently wait for.
    pub pool: Option<Pool>,
    /// Calls a second; `None` where they all began at once.
    pub rate: Option<f64>,
    /// Calls of the busiest second, which is what a pool has to bear; `None` like `rate`.
    pub busiest: Option<f64>,
    /// Other services that the caller calls, which wait when its threads are all taken here.
    pub also_waits: Vec<String>,
}

/// A percentile of the calls' durations, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percentile {
    /// As the sample has it; `None` for no calls.
    pub ns: Option<u64>,
    /// With 95 % confidence it is no less than this; `None` where the sample is too small to tell.
    pub low: Option<u64>,
    /// With 95 % confidence it is no more than this; `None` where the sample is too small to tell.
    pub high: Option<u64>,
}

/// Calls at the same time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InFlight {
    /// Counted, over the time from the first start to the last end.
    pub mean: f64,
    /// Rate times mean duration.
    pub littles_law: f64,
    /// The most.
    pub max: u32,
}

/// A pool that is evidently exhausted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pool {
    /// Calls that it lets through at a time.
    pub size: u32,
    /// The share of the time in which all are taken.
    pub saturated_share: f64,
}

/// Work that a service did after its caller had gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abandoned {
    /// The service.
    pub service: String,
    /// Calls it worked on so.
    pub calls: u64,
    /// For how long in all, nanoseconds.
    pub total_ns: u64,
    /// The longest, nanoseconds.
    pub longest_ns: u64,
    /// The span that went on the longest.
    pub longest: SpanIdx,
}

/// The percentiles that are told, in thousandths.
const PERCENTILES: [u64; 4] = [500, 900, 990, 999];

/// Fewer good calls than this propose no timeout.
const FEWEST_GOOD: usize = 100;

/// A proposed timeout is so many times the 99.9th percentile of the good calls.
const MARGIN: f64 = 1.5;

/// Fewer calls than this in flight at most are no pool.
const SMALLEST_POOL: usize = 3;

/// The timeout that [`advise`] proposes, alone.
pub fn proposed_timeout(calls: &Calls) -> Option<u64> {
    propose(&durations(calls, |it| it == CallOutcome::Success))
}

/// The timeout that cut the most calls.
pub fn timeout_in_use(calls: &Calls) -> Option<u64> {
    let in_use = timeouts(calls);
    in_use.into_iter().max_by_key(|it| it.1).map(|it| it.0)
}

/// Advice on an edge of a dataset.
pub fn advise(dataset: &Dataset, edge: &Edge) -> EdgeAdvice {
    let calls = &edge.calls;
    let of = |wanted: fn(CallOutcome) -> bool| durations(calls, wanted);
    let all = of(CallOutcome::is_known);
    let good = of(|it| it == CallOutcome::Success);
    let proposed = propose(&good);
    let (in_flight, pool, rate) = in_flight(calls);
    let others = dataset
        .edges
        .iter()
        .filter(|it| it.from == edge.from && it.to != edge.to);
    EdgeAdvice {
        calls: all.len() as u64,
        percentiles: PERCENTILES.map(|thousandths| percentile(&all, thousandths)),
        timeouts_in_use: timeouts(calls),
        proposed_timeout_ns: proposed,
        cut_share: proposed.map(|timeout| cut_share(&good, timeout)),
        connect: connect(&dataset.table, calls),
        in_flight,
        pool,
        busiest: rate.map(|_| busiest(calls)),
        rate,
        also_waits: others.map(|it| it.to.clone()).collect(),
    }
}

/// The timeouts in use, and how many calls each cut.
fn timeouts(calls: &Calls) -> Vec<(u64, u64)> {
    let good = durations(calls, |it| it == CallOutcome::Success);
    let failed = durations(calls, CallOutcome::is_failure);
    let timed_out = durations(calls, |it| it == CallOutcome::TimedOut);
    let in_use = timeouts_in_use(&failed, &good).into_iter().map(|timeout| {
        let above = just_above(timeout);
        let cut = failed.iter().filter(|it| above.contains(it)).count();
        (timeout, cut as u64)
    });
    short_timeouts(&timed_out)
        .into_iter()
        .chain(in_use)
        .collect()
}

/// Timeouts below a tenth of a second, and how many calls each cut: round numbers just above which calls pile
/// up that are told to have timed out. Errors that only may have are told from timeouts by longer ones alone.
fn short_timeouts(timed_out: &[u64]) -> Vec<(u64, u64)> {
    const ROUND_MS: [u64; 12] = [5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 80, 90];
    let between = |from: u64, to: u64| {
        let before = |time: u64| timed_out.partition_point(|&it| it < time);
        (before(to) - before(from)) as u64
    };
    let piles = ROUND_MS.map(|ms| {
        let (timeout, width) = (ms * 1_000_000, ms * 50_000);
        (
            timeout,
            between(timeout, timeout + width),
            between(timeout - width, timeout),
        )
    });
    let believed = piles
        .into_iter()
        .filter(|&(_, pile, below)| pile >= 5 && below * 4 <= pile);
    believed.map(|(timeout, pile, _)| (timeout, pile)).collect()
}

/// The most calls that began within a second. O(calls).
fn busiest(calls: &Calls) -> f64 {
    let made = |at: &usize| calls.outcome[*at] != CallOutcome::Rejected;
    let starts: Vec<i64> = (0..calls.len())
        .filter(made)
        .map(|at| calls.start[at])
        .collect();
    let (mut from, mut most) = (0, 0);
    for (at, start) in starts.iter().enumerate() {
        while start.saturating_sub(starts[from]) >= 1_000_000_000 {
            from += 1;
        }
        most = most.max(at + 1 - from);
    }
    most as f64
}

/// The durations of the calls that ended so, sorted.
fn durations(calls: &Calls, wanted: fn(CallOutcome) -> bool) -> Vec<u64> {
    let those = (0..calls.len()).filter(|&at| wanted(calls.outcome[at]));
    let mut durations: Vec<u64> = those.map(|at| calls.duration(at)).collect();
    order::sort_numbers(&mut durations);
    durations
}

/// A percentile of sorted durations, in thousandths, with its interval of 95 % confidence. O(1).
pub fn percentile(sorted: &[u64], thousandths: u64) -> Percentile {
    let n = sorted.len() as u64;
    if n == 0 {
        return Percentile::default();
    }
    let share = thousandths as f64 / 1000.0;
    // How many of n calls lie below it is a binomial count; these are its ranks.
    let middle = n as f64 * share;
    let wide = 1.96 * (middle * (1.0 - share)).sqrt();
    let at = |rank: f64| {
        let place = (rank >= 1.0 && rank <= n as f64).then(|| rank as usize - 1);
        place.map(|it| sorted[it])
    };
    let rank = (n * thousandths).div_ceil(1000).max(1);
    Percentile {
        ns: Some(sorted[rank as usize - 1]),
        low: at((middle - wide).floor()),
        high: at((middle + wide).ceil() + 1.0),
    }
}

/// One and a half times the 99.9th percentile of the good calls, rounded up to two digits.
fn propose(good: &[u64]) -> Option<u64> {
    if good.len() < FEWEST_GOOD {
        return None;
    }
    // A clock without resolution tells no durations.
    let bears = percentile(good, 999).ns.filter(|&it| it > 0)? as f64 * MARGIN;
    let mut unit = 1u64;
    while bears / unit as f64 >= 100.0 {
        unit = unit.saturating_mul(10);
    }
    Some(
        ((bears / unit as f64).ceil() as u64)
            .max(1)
            .saturating_mul(unit),
    )
}

/// The share of the good calls that a timeout would cut: those that take as long or longer.
pub fn cut_share(good: &[u64], timeout: u64) -> f64 {
    let borne = good.partition_point(|&it| it < timeout);
    (good.len() - borne) as f64 / good.len().max(1) as f64
}

/// Whether a timeout that was proposed earlier no longer is what would be proposed: by a quarter or
/// more.
pub fn drifted(earlier: u64, now: u64) -> bool {
    4 * earlier.abs_diff(now) >= earlier
}

/// Threads that calls take at a rate a second when each takes so many nanoseconds, by Little's law.
pub fn threads_taken(rate: f64, duration_ns: u64) -> f64 {
    rate * duration_ns as f64 / 1e9
}

/// After how many seconds a pool of threads is dry at a rate and a duration; `None` if it never is.
pub fn dry_after(pool: u32, rate: f64, duration_ns: u64) -> Option<f64> {
    (threads_taken(rate, duration_ns) > f64::from(pool)).then(|| f64::from(pool) / rate)
}

/// Work that went on for callers that had gone, the longest in all first. A span counts if it was
/// called by another service, and any of its callers ended before it; what was sent to be worked on
/// later does not.
pub fn abandoned(table: &SpanTable) -> Vec<Abandoned> {
    let nothing = |(_, service): (_, &str)| Abandoned {
        service: service.to_owned(),
        calls: 0,
        total_ns: 0,
        longest_ns: 0,
        longest: SpanIdx(0),
    };
    let mut found: Vec<Abandoned> = table.services().map(nothing).collect();
    for at in (0..table.len() as u32).map(SpanIdx) {
        if let Some(late) = abandoned_ns(table, at) {
            let it = &mut found[table.service[at.0 as usize].0 as usize];
            it.calls += 1;
            it.total_ns = it.total_ns.saturating_add(late);
            if late > it.longest_ns {
                (it.longest_ns, it.longest) = (late, at);
            }
        }
    }
    found.retain(|it| it.calls > 0);
    order::sorted(found, &mut |a, b| {
        b.total_ns
            .cmp(&a.total_ns)
            .then_with(|| a.service.cmp(&b.service))
    })
}

/// How long a span that another service called went on after the first of its callers had ended, nanoseconds. O(depth).
pub fn abandoned_ns(table: &SpanTable, span: SpanIdx) -> Option<u64> {
    let Parent::Span(mut caller) = table.parent(span) else {
        return None;
    };
    let service = |it: SpanIdx| table.service[it.0 as usize];
    if service(caller) == service(span) || table.duration[span.0 as usize] == UNKNOWN_DURATION {
        return None;
    }
    let mut gone = i64::MAX;
    loop {
        if table.kind[caller.0 as usize] == Kind::Producer {
            return None;
        }
        // Who got a good answer has not given up: a server that ends after it has another clock.
        let at = caller.0 as usize;
        let well = table.kind[at] == Kind::Client && table.outcome[at] == Outcome::Success;
        if table.duration[at] != UNKNOWN_DURATION && !well {
            gone = gone.min(table.end(caller));
        }
        match table.parent(caller) {
            Parent::Span(next) => caller = next,
            Parent::Root | Parent::Missing => break,
        }
    }
    let late = table.end(span).saturating_sub(gone);
    (late > 0).then_some(late as u64)
}

/// Calls in flight, the pool that they evidently fill, and calls a second.
fn in_flight(calls: &Calls) -> (InFlight, Option<Pool>, Option<f64>) {
    let nothing = InFlight {
        mean: 0.0,
        littles_law: 0.0,
        max: 0,
    };
    // Who is refused holds no thread.
    let made = |at: &usize| calls.outcome[*at] != CallOutcome::Rejected;
    let starts = || (0..calls.len()).filter(made).map(|at| calls.start[at]);
    let by_end = calls.by_end.iter().map(|&at| at as usize).filter(made);
    let (Some(first), Some(last)) = (starts().next(), by_end.clone().next_back()) else {
        return (nothing, None, None);
    };
    let n_calls = starts().count() as f64;
    let time = calls.end[last].saturating_sub(first).max(1) as f64;
    // How long so many were in flight; ends before starts, as a thread that is given back serves the
    // next call.
    let mut time_at: Vec<u64> = vec![0];
    let (mut now, mut running) = (first, 0usize);
    let mut step = |to: i64, running: usize| {
        if time_at.len() <= running {
            time_at.resize(running + 1, 0);
        }
        time_at[running] += to.saturating_sub(now).max(0) as u64;
        now = now.max(to);
    };
    let mut ends = by_end.map(|at| calls.end[at]).peekable();
    let mut max = 0;
    for start in starts() {
        while let Some(end) = ends.next_if(|&end| end <= start && running > 0) {
            step(end, running);
            running -= 1;
        }
        step(start, running);
        running += 1;
        max = max.max(running);
    }
    for end in ends {
        step(end, running);
        running = running.saturating_sub(1);
    }
    let durations = (0..calls.len()).filter(made).map(|at| calls.duration(at));
    let total: f64 = durations.map(|it| it as f64).sum();
    let rate = n_calls / time * 1e9;
    let counted: f64 = time_at
        .iter()
        .enumerate()
        .map(|(running, &ns)| running as f64 * ns as f64)
        .sum();
    let in_flight = InFlight {
        mean: counted / time,
        littles_law: threads_taken(rate, (total / n_calls) as u64),
        max: max as u32,
    };
    // Without a limit the most is seldom reached and one less more often; at a limit it is the other
    // way round.
    let at = |running: usize| time_at.get(running).copied().unwrap_or(0);
    let limited = max >= SMALLEST_POOL && at(max) >= 2 * at(max - 1) && at(max) >= 2 * at(max - 2);
    let pool = limited.then(|| Pool {
        size: max as u32,
        saturated_share: at(max) as f64 / time,
    });
    // Calls that all began at once come at no rate, and wait for nothing.
    match starts().next_back() > Some(first) {
        true => (in_flight, pool, Some(rate)),
        false => (in_flight, None, None),
    }
}

/// Names of spans below a call in which it connects (OpenTelemetry's instrumentations of sockets).
const CONNECTS: [&str; 4] = ["tcp.connect", "tls.connect", "dns.lookup", "connect"];

/// The 50th and 99.9th percentile of the time to connect; `None` where no span tells it apart.
fn connect(table: &SpanTable, calls: &Calls) -> Option<[u64; 2]> {
    let connects: Vec<bool> = (0..table.names.len() as u32)
        .map(|name| CONNECTS.contains(&table.names.get(name)))
        .collect();
    if !connects.contains(&true) {
        return None;
    }
    let mut times = Vec::new();
    for &call in &calls.span {
        let spans = table.trace(table.rank[call.0 as usize]);
        let connecting = spans.filter(|&at| {
            connects[table.operation(at) as usize]
                && table.parent(SpanIdx(at as u32)) == Parent::Span(call)
                && table.duration[at] != UNKNOWN_DURATION
        });
        let time: u64 = connecting.map(|at| table.duration[at]).sum();
        times.extend((time > 0).then_some(time));
    }
    order::sort_numbers(&mut times);
    Some([percentile(&times, 500).ns?, percentile(&times, 999).ns?])
}
