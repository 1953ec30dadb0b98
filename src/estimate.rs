//! A scenario from a file: what the simulator needs to know of a service and its callers, told from their spans.
//!
//! Owns each figure's source (`key`: which there are; `served`: what the service's spans tell; `demand`; `failures`; `toml`:
//! the file). Invariants: nothing is taken from what the file does not show, but said to be assumed; what a person gives
//! instead is taken as it is. What spans never tell (queues' lengths, autoscalers, cold starts, limits on processors) is
//! off: a worker is held for as long as the throughput of full pods tells. O(spans · log). Pinned by
//! `tests/it/estimate.rs`, against scenarios that are known.

mod demand;
mod failures;
mod key;
mod served;
mod toml;

use halfopen::Config;
use herdscope_sim::{Demand, Group, Policy, Scenario, Service, Spread};

use crate::advise;
use crate::calls::{CallOutcome, Edge};
use crate::dataset::Dataset;
use crate::format;
use crate::order;
use demand::{requests, steps, withheld_calls};
pub use key::Key;
use key::{MOST, NONE, count, print_rate, print_time, rate, time};
use served::Served;

/// A figure, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Which.
    pub key: Key,
    /// What it is, as text that [`Key::read`] reads.
    pub value: String,
    /// A sentence on where it comes from.
    pub source: String,
    /// A person gave it.
    pub given: bool,
}

/// A scenario, and the facts that it is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// As it was: the file's callers of a service, for as long as the file.
    pub scenario: Scenario,
    /// Each figure of the edge.
    pub facts: Vec<Fact>,
}

const S: f64 = 1e9;

/// Where demand changes, it does so in steps of this, nanoseconds.
const STEP: u64 = 10_000_000_000;

/// The scenario of an edge: its callers with this breaker, if any, the callee on pods, and whoever else calls it.
pub fn estimate(
    dataset: &Dataset,
    edge: &Edge,
    breaker: Option<&Config>,
    given: &[(Key, String)],
) -> Estimate {
    let served = Served::of(&dataset.table, &edge.to);
    let withheld = withheld_calls(dataset, edge);
    let (calls, retries) = requests(dataset, edge);
    let facts: Vec<Fact> = Key::ALL
        .into_iter()
        .map(|key| match given.iter().find(|it| it.0 == key) {
            Some((_, value)) => Fact {
                key,
                value: value.clone(),
                source: "given by hand".to_owned(),
                given: true,
            },
            None => {
                let (value, source) = told(dataset, edge, &served, calls.len(), withheld, key);
                Fact {
                    key,
                    value,
                    source,
                    given: false,
                }
            }
        })
        .collect();
    let value = |key: Key| {
        facts
            .iter()
            .find(|it| it.key == key)
            .map_or("", |it| &it.value)
    };
    let extent = dataset.table.extent().unwrap_or(0..1);
    let curve = !given.iter().any(|it| it.0 == Key::Demand) && withheld == 0.0;
    let demand = match curve {
        true => steps(&calls, &extent),
        false => Demand::steady(rate(value(Key::Demand)).unwrap_or(0.0)),
    };
    let policy = Policy {
        timeout: time(value(Key::Timeout)),
        breaker: breaker.cloned(),
        retries,
        ..Policy::default()
    };
    let mut groups = vec![group(edge, demand, policy)];
    let others = dataset
        .edges
        .iter()
        .filter(|it| it.to == edge.to && it.from != edge.from);
    groups.extend(others.map(|it| {
        let (calls, retries) = requests(dataset, it);
        let policy = Policy {
            timeout: advise::timeout_in_use(&it.calls),
            retries,
            ..Policy::default()
        };
        group(it, steps(&calls, &extent), policy)
    }));
    let work = Spread::LogNormal {
        median: time(value(Key::Work)).unwrap_or(0),
        sigma: served.sigma(),
    };
    let service = Service {
        proxy: edge.via.first().cloned(),
        least_loaded: 0.5,
        workers: count(value(Key::Workers)).unwrap_or(1),
        held: time(value(Key::Held)).map(Spread::same),
        start: Spread::same(20_000_000_000),
        ..Service::new(&edge.to, count(value(Key::Pods)).unwrap_or(1), work)
    };
    Estimate {
        scenario: Scenario {
            name: dataset.name.clone(),
            starts_at: extent.start,
            duration: extent.end.abs_diff(extent.start).max(1),
            network: time(value(Key::Network)).unwrap_or(0),
            groups,
            services: vec![service],
            faults: failures::fault(&edge.calls, &extent).into_iter().collect(),
            hands: Vec::new(),
        },
        facts,
    }
}

/// The callers of an edge.
fn group(edge: &Edge, demand: Demand, policy: Policy) -> Group {
    Group {
        demand,
        ..Group::new(
            &edge.from,
            (edge.n_instances().unwrap_or(1) as u32).min(MOST),
            0.0,
            policy,
        )
    }
}

/// What the file tells of a figure, and how.
fn told(
    dataset: &Dataset,
    edge: &Edge,
    served: &Served,
    requests: usize,
    withheld: f64,
    key: Key,
) -> (String, String) {
    let calls = &edge.calls;
    match key {
        Key::Demand => {
            let extent = dataset.table.extent().unwrap_or(0..1);
            let seconds = extent.end.abs_diff(extent.start).max(1) as f64 / S;
            let all = (requests as f64 + withheld) / seconds;
            let source = match withheld > 0.0 {
                false if requests < calls.len() => {
                    "the calls of the file, tries of one counted once".to_owned()
                }
                false => "the calls of the file, as they came".to_owned(),
                true => format!(
                    "{} and some {} that breakers withheld, estimated from the rates around",
                    format::counted(requests as u64, "call"),
                    format::count(withheld.round() as u64)
                ),
            };
            (print_rate(all), source)
        }
        Key::Timeout => match advise::timeout_in_use(calls) {
            Some(ns) => (print_time(ns), "calls are cut at this age".to_owned()),
            None => (NONE.to_owned(), "no calls are cut at one age".to_owned()),
        },
        Key::Pods => match served.pods(calls) {
            Some((pods, full)) => (
                pods.min(MOST).to_string(),
                match full {
                    true => "so many instances serve while calls time out".to_owned(),
                    false => "so many instances serve in half of the time".to_owned(),
                },
            ),
            None => (
                "1".to_owned(),
                "assumed: the file does not tell pods apart".to_owned(),
            ),
        },
        Key::Workers => (
            served.workers().min(MOST).to_string(),
            "the most spans at once at an instance".to_owned(),
        ),
        Key::Work => match served.median() {
            Some(ns) => (
                print_time(ns),
                format!(
                    "the median of {}",
                    format::counted(served.starts.len() as u64, "span")
                ),
            ),
            None => (
                "1ms".to_owned(),
                match served.starts.is_empty() {
                    true => "assumed: the service has no spans".to_owned(),
                    false => "assumed: all spans of the service failed".to_owned(),
                },
            ),
        },
        Key::Held => match served.held(calls) {
            Some(ns) => (
                print_time(ns),
                "so few were served a second while calls timed out".to_owned(),
            ),
            None => (
                NONE.to_owned(),
                "never full: as long as its span".to_owned(),
            ),
        },
        Key::Network => {
            let good = (0..calls.len()).filter(|&at| calls.outcome[at] == CallOutcome::Success);
            let durations: Vec<u64> = good.map(|at| calls.duration(at)).collect();
            // Of the quick ones, which did not queue.
            let quick = durations.len() / 10;
            let whole = order::nth(&durations, quick).unwrap_or(0);
            let ways = 2 * (1 + u64::from(!edge.via.is_empty()));
            let work = served
                .good
                .get(served.good.len() / 10)
                .copied()
                .unwrap_or(0);
            let way = whole.saturating_sub(work) / ways;
            (
                print_time(way),
                "what quick calls took besides, by the messages each way".to_owned(),
            )
        }
    }
}
