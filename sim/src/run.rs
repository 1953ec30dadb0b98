//! What happened in a run.
//!
//! Owns what is told of it: figures, changes of breakers, samples of the services; its spans are in `spans`. Invariant:
//! all times are nanoseconds since the beginning of the scenario. Costs nothing by itself. Pinned by
//! `tests/conservation.rs`.

use halfopen::{Cause, State};
use herdscope_reader::column::Column;

use crate::calls::{Attempt, Caller, NONE, Request};
use crate::health::Health;
use crate::pods::Pod;
use crate::summary::Summary;

/// What happened.
#[derive(Debug)]
pub struct Run {
    /// The figures.
    pub summary: Summary,
    /// Each change of a breaker of a group, by time.
    pub states: Vec<StateChange>,
    /// The services, a second apart.
    pub samples: Vec<Sample>,
    /// When it was over, nanoseconds since the beginning.
    pub end: i64,
    pub(crate) health: Health,
    pub(crate) callers: Column<Caller>,
    pub(crate) requests: Column<Request>,
    pub(crate) attempts: Column<Attempt>,
    pub(crate) pods: Column<Pod>,
}

/// A change of state of a breaker, as the breaker itself tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// Nanoseconds since the beginning.
    pub at: i64,
    /// A place in [`Scenario::groups`](crate::Scenario::groups).
    pub group: u32,
    /// The process.
    pub instance: u32,
    /// The state that it left.
    pub from: State,
    /// The state that it entered.
    pub to: State,
    /// Why.
    pub cause: Cause,
}

/// A service at some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Nanoseconds since the beginning.
    pub at: i64,
    /// A place in [`Scenario::services`](crate::Scenario::services).
    pub service: u32,
    /// Pods that are there, and those of them that take requests.
    pub pods: u32,
    /// See `pods`.
    pub ready: u32,
    /// Requests that wait at them.
    pub waiting: u32,
    /// How busy their workers were in the second before, per cent.
    pub busy: f64,
}

impl Run {
    /// Requests at each pod, times nanoseconds, as its integrals have it.
    #[doc(hidden)]
    pub fn time_at_pods(&self) -> Vec<i64> {
        let time = |it: &Pod| it.integrals().busy + it.integrals().waiting;
        self.pods.iter().map(time).collect()
    }

    /// The same, by the attempts: Little's law without a limit (Little, 1961).
    #[doc(hidden)]
    pub fn time_of_attempts(&self) -> Vec<i64> {
        let mut times = vec![0; self.pods.len()];
        for attempt in self.attempts.iter().filter(|it| it.pod != NONE) {
            let end = attempt.left.min(self.end);
            times[attempt.pod as usize] += (end - attempt.reached).max(0);
        }
        times
    }
}
