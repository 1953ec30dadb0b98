//! How many requests a second are simulated, scenario by scenario: `cargo xtask bench simulator`.
//!
//! A run is timed without reading its file and without its spans. It prints rows for who collects them; each round has a
//! seed of its own. What a request costs is what is done for it: three calls in the cascade, four attempts in the storm,
//! nothing for what is withheld.

use std::time::Instant;

use herdscope_sim::{Scenario, simulate};
use xtask::bench::row::{Row, Target};

const ROUNDS: u64 = 9;

const SCENARIOS: [(&str, &str); 4] = [
    ("herd", include_str!("../../scenarios/herd.toml")),
    (
        "thundering-herd",
        include_str!("../../scenarios/thundering-herd.toml"),
    ),
    ("cascade", include_str!("../../scenarios/cascade.toml")),
    (
        "retry-storm",
        include_str!("../../scenarios/retry-storm.toml"),
    ),
];

fn main() {
    for (name, text) in SCENARIOS {
        let scenario = Scenario::from_toml(text).expect("a scenario of the project");
        let round = |seed| {
            let begun = Instant::now();
            let run = simulate(&scenario, seed).expect("settings that are allowed");
            let seconds = begun.elapsed().as_secs_f64();
            (run.summary.requests as f64 / seconds, run.summary.requests)
        };
        let rounds: Vec<(f64, u64)> = (1..=ROUNDS).map(round).collect();
        let paces: Vec<f64> = rounds.iter().map(|it| it.0 / 1e6).collect();
        let requests = rounds[0].1;
        Row::of(format!("{name}, natively, M requests/s"), &paces)
            .aim(Target::AtLeast(1.0))
            .or_because("every event is simulated, and what a request costs is what is done for it")
            .or_noting(format!("{requests} requests with the first seed"))
            .print();
    }
}
