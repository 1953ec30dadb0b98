//! The scenarios that come with the page, where no TOML is read.
//!
//! Owns nothing: each is what the file of its name in `scenarios/` says. Pinned by `tests/scenario.rs`, which reads
//! the files.

use halfopen::Config;

use crate::autoscaler::{Hpa, Metric};
use crate::scenario::{
    Act, Group, Hand, Policy, Quota, STARTS_AT, Scenario, Service, Shedding, Spread,
};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// A scenario that comes with the page: a herd, whose settings vary.
pub struct Sample {
    /// The name of its file, without the ending.
    pub name: &'static str,
    /// The name of its scenario.
    pub title: &'static str,
    /// The settings of its breakers.
    pub breaker: &'static str,
    /// How long their callers wait for an answer.
    timeout: u64,
    /// When somebody scales the service out.
    by_hand: u64,
}

/// All of them; the first one is the one to begin with.
pub const SAMPLES: [Sample; 2] = [
    Sample {
        name: "incident",
        title: "incident",
        breaker: "window=100,min=20,fail=50%,open=120s,probes=10",
        timeout: 500 * MS,
        by_hand: 440 * S,
    },
    Sample {
        name: "thundering-herd",
        title: "thundering herd",
        breaker: "window=100,min=20,fail=50%,open=60s,probes=10",
        timeout: 200 * MS,
        by_hand: 220 * S,
    },
];

/// The scenario of that name.
pub fn sample(name: &str) -> Option<Scenario> {
    SAMPLES.iter().find(|it| it.name == name).map(herd)
}

fn herd(sample: &Sample) -> Scenario {
    let breaker: Option<Config> = sample.breaker.parse().ok();
    let shop = Policy {
        timeout: Some(sample.timeout),
        breaker,
        ..Policy::default()
    };
    let basket = Policy {
        timeout: Some(2 * S),
        ..Policy::default()
    };
    Scenario {
        name: sample.title.to_owned(),
        starts_at: STARTS_AT,
        duration: 600 * S,
        network: 2_500_000,
        groups: vec![
            Group::new("shop-web", 4, 141.0, shop),
            Group::new("basket", 2, 7.8, basket),
        ],
        services: vec![Service {
            proxy: Some("edge-proxy".to_owned()),
            held: Some(Spread::LogNormal {
                median: 5 * MS,
                sigma: 0.15,
            }),
            cpu: Some(Quota {
                quota: 18 * MS,
                period: 100 * MS,
            }),
            start: Spread::LogNormal {
                median: 20 * S,
                sigma: 0.2,
            },
            least_loaded: 0.5,
            shedding: Some(Shedding::Length(100)),
            autoscaler: Some(Hpa::new(Metric::Cpu { target: 80.0 }, 3, 20)),
            ..Service::new(
                "catalog",
                3,
                Spread::LogNormal {
                    median: 2_500_000,
                    sigma: 0.15,
                },
            )
        }],
        faults: Vec::new(),
        hands: vec![Hand {
            at: sample.by_hand,
            act: Act::Scale {
                service: 0,
                pods: 12,
            },
        }],
    }
}
