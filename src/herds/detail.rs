//! What else is known of an attempt: how long each tier took, how the queue grew, who served, and the
//! burst beside the averages that dashboards and autoscalers read.
//!
//! Invariant: what the calls do not tell is `None`, never zero. O(calls of the attempt x spans of their
//! traces). Pinned by `tests/it/replay.rs`.

use serde::{Deserialize, Serialize};

use super::{Attempt, AttemptResult, HELD_FOR_NS, Member, SECOND, TRAMPLED_WITHIN_NS};
use crate::calls::Calls;
use crate::column::Column;
use crate::format;
use crate::order;
use crate::rows::{Kind, NONE, UNKNOWN_DURATION};
use crate::spans::{SpanIdx, SpanTable};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Detail {
    /// The services on the way of these calls, the caller's first.
    pub tiers: Vec<TierLatency>,
    /// Client time minus the deepest server's, trace by trace, nanoseconds: the medians of the first and
    /// of the last tenth of the herd.
    pub queued_ns: Option<[u64; 2]>,
    /// The processes that served them; `None` where the file does not tell.
    pub served_by: Option<u64>,
    /// `None` for one that was refused.
    pub burst: Option<Burst>,
    /// For one that held: how long after its last closing the calls end, where that is too soon to tell
    /// whether it was trampled, nanoseconds.
    pub seen_ns: Option<u64>,
}

/// How long a service took in an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TierLatency {
    /// Its name.
    pub service: String,
    /// Median over the probes, nanoseconds.
    pub probes_p50_ns: Option<u64>,
    /// Median over the calls after the closing, nanoseconds.
    pub herd_p50_ns: Option<u64>,
}

/// The calls after a closing, beside what averages make of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Burst {
    /// The most that began within a second.
    pub busiest_second: u64,
    /// Calls a second, on average over the clock minute in which the breaker closed.
    pub minute_average: f64,
    /// Calls a second, as an autoscaler read them the next time or the one after, whichever is more.
    pub autoscaler: f64,
    /// The burst's share of the minute's calls.
    pub share_of_minute: f64,
}

/// What an autoscaler's reading is averaged over: metrics-server's default resolution.
pub const AUTOSCALER_WINDOW_NS: i64 = 60 * SECOND;

/// How often it reads: the synchronisation period of Kubernetes' horizontal pod autoscaler.
pub const AUTOSCALER_SYNC_NS: i64 = 15 * SECOND;

/// What a dashboard's average over the clock minute and an autoscaler's last reading say at a time, in
/// calls a second. `starts` ascend. O(log calls).
pub fn averages(starts: &[i64], at: i64) -> [f64; 2] {
    const MINUTE: i64 = 60 * SECOND;
    let minute = at.div_euclid(MINUTE).saturating_mul(MINUTE);
    let read = at
        .div_euclid(AUTOSCALER_SYNC_NS)
        .saturating_mul(AUTOSCALER_SYNC_NS);
    [
        average(starts, minute, minute.saturating_add(MINUTE)),
        average(starts, read.saturating_sub(AUTOSCALER_WINDOW_NS), read),
    ]
}

/// Calls a second from one time to another, over the part of it that the calls cover.
fn average(starts: &[i64], from: i64, to: i64) -> f64 {
    let (Some(&first), Some(&last)) = (starts.first(), starts.last()) else {
        return 0.0;
    };
    let covered = to.min(last).saturating_sub(from.max(first)).max(SECOND);
    (before(starts, to) - before(starts, from)) as f64 / (covered as f64 / SECOND as f64)
}

fn before(starts: &[i64], time: i64) -> usize {
    starts.partition_point(|&start| start < time)
}

/// What else is known of an attempt of these calls.
pub(super) fn detail(
    attempt: &Attempt,
    table: &SpanTable,
    calls: &Calls,
    sent: &[i64],
    members: &[Member],
) -> Detail {
    let mut servers: Vec<u32> = Vec::new();
    let mut queued: Vec<u64> = Vec::new();
    for member in members {
        let client = calls.span[member.at];
        let Some(server) = member.server else {
            continue;
        };
        servers.push(table.instance(server.0 as usize));
        if let Some((whole, served)) = duration(table, client).zip(duration(table, server))
            && !member.probe
        {
            queued.push(whole.saturating_sub(served));
        }
    }
    let mut servers = order::sorted(servers, &mut u32::cmp);
    servers.dedup();
    let last_end = calls.by_end.last().map(|&at| calls.end[at as usize]);
    let seen = last_end.zip(attempt.close_last_ns);
    let seen = seen.map(|(end, closed)| end.saturating_sub(closed).max(0));
    let cut = seen.filter(|&it| attempt.result == AttemptResult::Held && it < TRAMPLED_WITHIN_NS);
    let known = !servers.is_empty() && !servers.contains(&NONE);
    Detail {
        tiers: tiers(table, calls, members),
        queued_ns: grown(&mut queued),
        served_by: known.then_some(servers.len() as u64),
        burst: attempt
            .close_ns
            .and_then(|closed| burst(attempt, sent, closed)),
        seen_ns: cut.map(|it| it as u64),
    }
}

fn duration(table: &SpanTable, span: SpanIdx) -> Option<u64> {
    Some(table.duration[span.0 as usize]).filter(|&it| it != UNKNOWN_DURATION)
}

/// The medians of the first and of the last tenth; `None` for too few.
fn grown(values: &mut [u64]) -> Option<[u64; 2]> {
    let tenth = values.len() / 10;
    let (first, last) = (tenth >= 3).then(|| {
        let (first, rest) = values.split_at_mut(tenth);
        let last = rest.len() - tenth;
        (first, &mut rest[last..])
    })?;
    Some([order::median(first)?, order::median(last)?])
}

/// The median durations of the services under these calls. Of each trace the longest span of a service
/// counts.
fn tiers(table: &SpanTable, calls: &Calls, members: &[Member]) -> Vec<TierLatency> {
    let n_services = table.services().count();
    let mut took: Column<[Vec<u64>; 2]> = Column::of([Vec::new(), Vec::new()], n_services);
    let mut longest: Column<u64> = Column::of(0, n_services);
    for member in members {
        let client = calls.span[member.at];
        let caller = table.service[client.0 as usize].0 as usize;
        longest[caller] = duration(table, client).unwrap_or(0);
        for at in table.trace(table.rank[client.0 as usize]) {
            let service = table.service[at].0 as usize;
            let own = table.kind[at] != Kind::Client && service != caller;
            if own && table.duration[at] != UNKNOWN_DURATION {
                longest[service] = longest[service].max(table.duration[at]);
            }
        }
        // Only what this trace has: a file may name hundreds of services.
        for at in table.trace(table.rank[client.0 as usize]) {
            let service = table.service[at].0 as usize;
            let longest = std::mem::take(&mut longest[service]);
            if longest > 0 {
                took[service][usize::from(!member.probe)].push(longest);
            }
        }
    }
    let mut found: Vec<(u8, TierLatency)> = Vec::new();
    for ((service, name), [probes, herd]) in table.services().zip(took.iter_mut()) {
        let (probes_p50_ns, herd_p50_ns) = (order::median(probes), order::median(herd));
        if probes_p50_ns.or(herd_p50_ns).is_some() {
            let latency = TierLatency {
                service: name.to_owned(),
                probes_p50_ns,
                herd_p50_ns,
            };
            found.push((table.tier(service), latency));
        }
    }
    let found = order::sorted(found, &mut |a, b| a.0.cmp(&b.0));
    found.into_iter().map(|(_, it)| it).collect()
}

/// `starts` are those of all calls that were sent, ascending.
fn burst(attempt: &Attempt, starts: &[i64], closed: i64) -> Option<Burst> {
    const MINUTE: i64 = 60 * SECOND;
    let end = match attempt.result {
        AttemptResult::Held => closed.saturating_add(HELD_FOR_NS),
        _ => attempt.reopen_last_ns?,
    };
    let these = &starts[before(starts, closed)..before(starts, end)];
    let busiest = these
        .iter()
        .enumerate()
        .map(|(at, &start)| before(these, start.saturating_add(SECOND)) - at)
        .max()?;
    let minute = closed.div_euclid(MINUTE).saturating_mul(MINUTE);
    let within = before(starts, minute)..before(starts, minute.saturating_add(MINUTE));
    let inside = before(starts, closed)..before(starts, end.min(minute.saturating_add(MINUTE)));
    let read = |ago: i64| averages(starts, end.saturating_add(ago * AUTOSCALER_SYNC_NS))[1];
    Some(Burst {
        busiest_second: busiest as u64,
        minute_average: averages(starts, closed)[0],
        autoscaler: (0..=1).map(read).fold(0.0, f64::max),
        share_of_minute: inside.len() as f64 / within.len().max(1) as f64,
    })
}

impl Attempt {
    /// What else is known of it, a sentence each, in the order in which it happened.
    pub fn story(&self) -> Vec<String> {
        let mut said = Vec::new();
        let latency = |it: Option<u64>| it.map_or("\u{2014}".to_owned(), format::duration);
        let tiers = self.detail.tiers.iter().map(|it| {
            [
                &it.service,
                " ",
                &latency(it.probes_p50_ns),
                " \u{2192} ",
                &latency(it.herd_p50_ns),
            ]
            .concat()
        });
        let tiers: Vec<String> = tiers.collect();
        if !tiers.is_empty() {
            said.push(
                [
                    "Median of the probes \u{2192} of the herd: ",
                    &tiers.join(", "),
                    ".",
                ]
                .concat(),
            );
        }
        if let Some([first, last]) = self.detail.queued_ns {
            let [first, last] = [first, last].map(format::duration);
            said.push(
                [
                    "Waiting before the service\u{2019}s own work: ",
                    &first,
                    " at first, ",
                    &last,
                    " at last.",
                ]
                .concat(),
            );
        }
        if let Some((closed, first)) = self.close_ns.zip(self.first_timeout_ns) {
            let after = format::duration(first.saturating_sub(closed).max(0) as u64);
            said.push(["The first call timed out ", &after, " after the close."].concat());
        }
        if let Some(seen) = self.detail.seen_ns {
            let seen = format::duration(seen);
            said.push(
                [
                    "The calls end ",
                    &seen,
                    " after the close: whether it held for longer is not seen.",
                ]
                .concat(),
            );
        }
        if let Some(pods) = self.detail.served_by {
            said.push(["Served by ", &format::counted(pods, "instance"), "."].concat());
        }
        if self.wasted > 0 {
            said.push(
                [
                    &format::counted(self.wasted, "call"),
                    " went on at the server for ",
                    &format::duration(self.wasted_ns),
                    " in all, after their callers had given up.",
                ]
                .concat(),
            );
        }
        let trampled = self.result == AttemptResult::Trampled;
        if let Some(burst) = self.detail.burst.filter(|_| trampled) {
            said.push(
                [
                    "Why dashboards missed it: ",
                    &format::count(burst.busiest_second),
                    " calls came within one second, but the minute\u{2019}s average says ",
                    &format::rate(burst.minute_average),
                    ", and an autoscaler that averages over a minute read ",
                    &format::rate(burst.autoscaler),
                    " at most. The burst is ",
                    &format::fixed(burst.share_of_minute * 100.0, 0),
                    "\u{a0}% of that minute\u{2019}s calls.",
                ]
                .concat(),
            );
        }
        said
    }
}
