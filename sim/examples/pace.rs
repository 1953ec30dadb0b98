//! How many requests a second are simulated, scenario by scenario: `cargo xtask bench simulator`.
//!
//! A run is timed without reading its file and without its spans. The median of rounds counts, with the slowest and
//! the fastest beside it; each round has a seed of its own. What a request costs is what is done for it: three calls in
//! the cascade, four attempts in the storm, nothing for what is withheld.

use std::time::Instant;

use herdscope_sim::{Scenario, simulate};

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
        let mut paces: Vec<(f64, u64)> = (1..=ROUNDS).map(round).collect();
        paces.sort_by(|a, b| a.0.total_cmp(&b.0));
        let million = |at: usize| paces[at].0 / 1e6;
        let (slowest, median, fastest) = (
            million(0),
            million(paces.len() / 2),
            million(paces.len() - 1),
        );
        let requests = paces[paces.len() / 2].1;
        println!(
            "  {name:<16} {median:5.2} M requests/s  ({slowest:.2} to {fastest:.2}; {requests})"
        );
    }
}
