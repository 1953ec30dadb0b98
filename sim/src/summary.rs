//! The figures of a run.
//!
//! Owns what they mean. Invariant: `requests` is the sum of `served`, `failed`, `withheld`, `shed` and
//! `in_flight_at_end`. O(requests + attempts). Pinned by `tests/conservation.rs`.

use crate::calls::{Answer, Fate, NEVER, NONE, Of};
use crate::scenario::Scenario;
use crate::world::Run;

/// The figures of a run. Requests are those of the groups; what services ask of each other is in none of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The seed of its chance.
    pub seed: u64,
    /// What somebody wanted.
    pub requests: u64,
    /// Those that were answered well.
    pub served: u64,
    /// Those that were sent and not answered well.
    pub failed: u64,
    /// Those that their own process did not send.
    pub withheld: u64,
    /// Those that the service refused for lack of room.
    pub shed: u64,
    /// Those without a fate when the scenario ended.
    pub in_flight_at_end: u64,
    /// How long workers were held for attempts whose callers had given up, in all, nanoseconds.
    pub wasted_ns: u64,
    /// When it was well for the rest, or for a minute at least: nanoseconds since the beginning. `None`: never.
    pub recovered_at: Option<u64>,
    /// Pods, times nanoseconds.
    pub pod_ns: u64,
}

/// So much of a second's requests is served when it is well.
const WELL: f64 = 0.99;

/// It is well again after so many such seconds.
const FOR_SECONDS: usize = 60;

pub(crate) fn of(run: &Run, scenario: &Scenario, seed: u64) -> Summary {
    let mut summary = Summary {
        seed,
        ..Summary::default()
    };
    // Of each second, what was wanted, and what of it was served.
    let n_seconds = scenario.duration.div_ceil(1_000_000_000) as usize;
    let mut seconds = vec![(0u32, 0u32); n_seconds];
    for request in &run.requests {
        if request.parent != NONE
            || !matches!(run.callers[request.caller as usize].of, Of::Group(_))
        {
            continue;
        }
        summary.requests += 1;
        *match request.fate {
            Fate::Served => &mut summary.served,
            Fate::Failed => &mut summary.failed,
            Fate::Withheld => &mut summary.withheld,
            Fate::Shed => &mut summary.shed,
            Fate::InFlight => &mut summary.in_flight_at_end,
        } += 1;
        if let Some(second) = seconds.get_mut((request.at / 1_000_000_000) as usize)
            && request.fate != Fate::InFlight
        {
            second.0 += 1;
            second.1 += u32::from(request.fate == Fate::Served);
        }
    }
    for attempt in &run.attempts {
        let gave_up = matches!(attempt.answer, Answer::TimedOut | Answer::Cancelled);
        if gave_up && attempt.taken != NEVER {
            // Work that has not ended yet is done so far.
            let end = attempt.work_end.min(scenario.duration as i64);
            summary.wasted_ns += (end - attempt.end.max(attempt.taken)).max(0) as u64;
        }
    }
    let well = |it: &(u32, u32)| f64::from(it.1) >= WELL * f64::from(it.0);
    let last_bad = seconds.iter().rposition(|it| !well(it));
    let from = last_bad.map_or(0, |it| it + 1);
    let minute = n_seconds - from >= FOR_SECONDS.min(n_seconds);
    summary.recovered_at = minute.then_some(from as u64 * 1_000_000_000);
    let pods = run
        .pods
        .iter()
        .map(|it| (it.gone_at - it.created_at).max(0) as u64);
    summary.pod_ns = pods.sum();
    summary
}
