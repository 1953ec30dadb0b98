//! The figures of a run.
//!
//! Owns what they mean. Invariant: `requests` is the sum of `served`, `failed`, `withheld`, `shed` and
//! `in_flight_at_end`. O(requests + attempts). Pinned by `tests/conservation.rs`.

use crate::calls::{Answer, Fate, NEVER, NONE, Of};
use crate::run::Run;
use crate::scenario::Scenario;

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
    /// Attempts that workers were held for when their callers had given up.
    pub wasted: u64,
    /// For how long, in all, nanoseconds.
    pub wasted_ns: u64,
    /// The first second in which it was not well: nanoseconds since the beginning. `None`: it always was.
    pub bad_at: Option<u64>,
    /// From when on it was well, for a minute at least: nanoseconds since the beginning. `None`: never.
    pub recovered_at: Option<u64>,
    /// Pods, times nanoseconds.
    pub pod_ns: u64,
    /// Workers of pods that take requests, times nanoseconds, and what of that they had nothing to do.
    pub worker_ns: u64,
    /// See `worker_ns`.
    pub idle_ns: u64,
}

impl Summary {
    /// How long it took from the first bad second until it was well, nanoseconds; 0 if there was none.
    pub fn recovery(&self) -> Option<u64> {
        let from = self.bad_at.unwrap_or(0);
        self.recovered_at.map(|it| it.saturating_sub(from))
    }
}

pub(crate) fn of(run: &Run, scenario: &Scenario, seed: u64) -> Summary {
    let mut summary = Summary {
        seed,
        ..Summary::default()
    };
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
    }
    for attempt in &run.attempts {
        let gave_up = matches!(attempt.answer, Answer::TimedOut | Answer::Cancelled);
        if gave_up && attempt.taken != NEVER {
            // Work that has not ended yet is done so far.
            let end = attempt.work_end.min(run.end);
            let wasted = (end - attempt.end.max(attempt.taken)).max(0) as u64;
            summary.wasted += u64::from(wasted > 0);
            summary.wasted_ns = summary.wasted_ns.saturating_add(wasted);
        }
    }
    (summary.bad_at, summary.recovered_at) = run.health.verdict(run.end);
    for pod in &run.pods {
        let until = pod.gone_at;
        let alive = until.saturating_sub(pod.created_at).max(0) as u64;
        summary.pod_ns = summary.pod_ns.saturating_add(alive);
        let workers = scenario.services[pod.service as usize].workers;
        let ready = until.saturating_sub(pod.ready_at.min(until)) as u64;
        let worker_ns = u64::from(workers).saturating_mul(ready);
        summary.worker_ns = summary.worker_ns.saturating_add(worker_ns);
        let idle_ns = worker_ns.saturating_sub(pod.integrals().busy as u64);
        summary.idle_ns = summary.idle_ns.saturating_add(idle_ns);
    }
    summary
}
