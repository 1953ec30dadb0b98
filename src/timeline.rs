//! Timelines: the states of each breaker of an edge over time, replayed or observed.
//!
//! Owns the form in which both are looked at, so that what is found in the one is found in the other.
//! Invariant: the changes of a breaker are in order of time, and each leaves the state that the one
//! before entered. O(transitions). Pinned by `tests/it/replay.rs` and `tests/it/observed.rs`.

use halfopen::State;

use crate::observed::{Observed, Seen};
use crate::replay::Replay;

/// The timelines of all breakers of an edge.
#[derive(Clone, Debug)]
pub struct Timelines<'a> {
    /// One an instance, in the order of `Calls::instances`; a single one when shared.
    pub breakers: Vec<Timeline<'a>>,
    /// Whether there is one an instance.
    pub per_instance: bool,
    /// For each call of the edge, whether its breaker rejected it.
    pub rejected: &'a [bool],
}

/// The states of one breaker; it begins closed.
#[derive(Clone, Debug)]
pub struct Timeline<'a> {
    /// Whose it is; `None` for a shared one.
    pub instance: Option<&'a str>,
    /// Its changes.
    pub changes: Vec<Change>,
}

/// A change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Nanoseconds since 1970.
    pub at: i64,
    /// The state that it left.
    pub from: State,
    /// The state that it entered.
    pub to: State,
}

impl<'a> From<&'a Replay> for Timelines<'a> {
    fn from(replay: &'a Replay) -> Timelines<'a> {
        let timeline = |it: &'a crate::replay::Breaker| Timeline {
            instance: it.instance.as_deref(),
            changes: it
                .transitions
                .iter()
                .map(|it| Change {
                    at: it.at,
                    from: it.from,
                    to: it.to,
                })
                .collect(),
        };
        Timelines {
            breakers: replay.breakers.iter().map(timeline).collect(),
            per_instance: replay.per_instance,
            rejected: &replay.rejected,
        }
    }
}

impl<'a> From<&'a Observed> for Timelines<'a> {
    /// Where nothing tells, the state from before is taken to go on.
    fn from(observed: &'a Observed) -> Timelines<'a> {
        let timeline = |it: &'a crate::observed::ObservedBreaker| {
            let mut changes = Vec::new();
            let mut from = State::Closed;
            for stretch in &it.states {
                let Some(to) = state(stretch.state).filter(|&to| to != from) else {
                    continue;
                };
                changes.push(Change {
                    at: stretch.from,
                    from,
                    to,
                });
                from = to;
            }
            Timeline {
                instance: it.instance.as_deref(),
                changes,
            }
        };
        Timelines {
            breakers: observed.breakers.iter().map(timeline).collect(),
            per_instance: observed.per_instance,
            rejected: &observed.refused,
        }
    }
}

fn state(seen: Seen) -> Option<State> {
    match seen {
        Seen::Closed => Some(State::Closed),
        Seen::Open => Some(State::Open),
        Seen::HalfOpen => Some(State::HalfOpen),
        Seen::Ramping => Some(State::Ramping),
        Seen::Unknown => None,
    }
}
