//! The herd beside a second model of it, which shares no line with this one.
//!
//! That one is a script in Python of a hundred lines with a breaker of its own: the same four callers, three pods
//! and settings as `scenarios/herd.toml`. It ran once with each of the seeds 1 to 50, and what it wrote of its runs is
//! here as numbers. Each run had three attempts; the first two were trampled, and the third, after the scaling out,
//! held, by all four breakers each time.
//!
//! What differs, and should not matter: its requests are at a pod after one message of 2.5 ms instead of two, and its
//! answers take 8.5 ms altogether on the way instead of 10, of a timeout of 500 ms; its spans take 2.5 to 3.5 ms with
//! equal probability instead of a logarithm that is normal, while workers are held for 24 ms on average in both.

use std::fs;

use halfopen::State;
use herdscope_reader::outcome::Outcome;
use herdscope_sim::{Run, Scenario, StateChange, simulate};

/// From one attempt's half-open to the next one's, milliseconds.
#[rustfmt::skip]
const CYCLES: [f64; 100] = [
    61_688.0, 61_745.0, 61_770.0, 61_844.0, 61_865.0, 61_874.0, 61_891.0, 61_909.0, 61_912.0,
    61_936.0, 61_940.0, 61_947.0, 61_967.0, 61_984.0, 61_986.0, 61_988.0, 61_990.0, 62_006.0,
    62_013.0, 62_016.0, 62_017.0, 62_027.0, 62_031.0, 62_056.0, 62_056.0, 62_074.0, 62_076.0,
    62_085.0, 62_100.0, 62_124.0, 62_136.0, 62_140.0, 62_147.0, 62_148.0, 62_156.0, 62_161.0,
    62_170.0, 62_174.0, 62_192.0, 62_200.0, 62_204.0, 62_204.0, 62_205.0, 62_213.0, 62_226.0,
    62_234.0, 62_239.0, 62_256.0, 62_261.0, 62_261.0, 62_266.0, 62_266.0, 62_268.0, 62_268.0,
    62_283.0, 62_291.0, 62_303.0, 62_327.0, 62_330.0, 62_333.0, 62_353.0, 62_358.0, 62_380.0,
    62_388.0, 62_394.0, 62_395.0, 62_424.0, 62_428.0, 62_428.0, 62_434.0, 62_435.0, 62_439.0,
    62_445.0, 62_465.0, 62_512.0, 62_516.0, 62_522.0, 62_558.0, 62_568.0, 62_583.0, 62_589.0,
    62_626.0, 62_638.0, 62_651.0, 62_659.0, 62_666.0, 62_681.0, 62_685.0, 62_688.0, 62_722.0,
    62_754.0, 62_767.0, 62_770.0, 62_783.0, 62_804.0, 62_809.0, 62_885.0, 62_982.0, 63_109.0,
    63_160.0,
];

/// Timeouts of the attempts that were trampled.
#[rustfmt::skip]
const TIMEOUTS: [f64; 100] = [
    208.0, 216.0, 217.0, 218.0, 220.0, 221.0, 222.0, 224.0, 224.0, 224.0, 225.0, 225.0, 225.0,
    225.0, 227.0, 228.0, 229.0, 229.0, 229.0, 229.0, 230.0, 231.0, 232.0, 232.0, 232.0, 233.0,
    234.0, 239.0, 239.0, 240.0, 240.0, 242.0, 242.0, 242.0, 243.0, 243.0, 243.0, 243.0, 243.0,
    244.0, 245.0, 246.0, 246.0, 247.0, 247.0, 247.0, 248.0, 248.0, 248.0, 249.0, 249.0, 249.0,
    249.0, 249.0, 250.0, 250.0, 251.0, 251.0, 251.0, 252.0, 252.0, 252.0, 253.0, 254.0, 255.0,
    257.0, 258.0, 259.0, 259.0, 260.0, 262.0, 262.0, 262.0, 263.0, 263.0, 263.0, 265.0, 265.0,
    265.0, 266.0, 266.0, 266.0, 268.0, 268.0, 268.0, 268.0, 268.0, 270.0, 270.0, 275.0, 275.0,
    275.0, 277.0, 282.0, 282.0, 282.0, 286.0, 286.0, 291.0, 303.0,
];

/// The share of the requests that were withheld, in each run, parts of ten thousand.
#[rustfmt::skip]
const WITHHELD: [f64; 50] = [
    6884.0, 6891.0, 6895.0, 6899.0, 6912.0, 6914.0, 6917.0, 6918.0, 6920.0, 6924.0, 6925.0, 6925.0,
    6925.0, 6925.0, 6925.0, 6926.0, 6928.0, 6930.0, 6932.0, 6935.0, 6936.0, 6937.0, 6938.0, 6939.0,
    6939.0, 6940.0, 6940.0, 6941.0, 6941.0, 6942.0, 6943.0, 6943.0, 6946.0, 6946.0, 6947.0, 6948.0,
    6950.0, 6952.0, 6953.0, 6956.0, 6957.0, 6957.0, 6961.0, 6961.0, 6963.0, 6963.0, 6966.0, 6967.0,
    6967.0, 6971.0,
];

/// Closings that are so near to each other are of one attempt, nanoseconds.
const TOGETHER: i64 = 5_000_000_000;

/// Breakers that close together, until they open again.
struct Attempt {
    /// The first half-open.
    from: i64,
    /// The last closing.
    last: i64,
    instances: Vec<u32>,
    trampled: bool,
    timeouts: usize,
}

fn attempts(scenario: &Scenario, run: &Run) -> Vec<Attempt> {
    let rows = run.rows(scenario);
    let timeout = |at: usize| {
        let instance = rows.names.get(rows.label_set(at).instance);
        let number = instance.rsplit('-').next()?.parse::<u32>().ok()?;
        Some((number, rows.start[at] - scenario.starts_at))
    };
    let timeouts: Vec<(u32, i64)> = (0..rows.len())
        .filter(|&at| rows.label_set(at).outcome == Outcome::TimedOut)
        .filter_map(timeout)
        .collect();
    let mut attempts: Vec<Attempt> = Vec::new();
    for closed in run.states.iter().filter(|it| it.to == State::Closed) {
        let mine: Vec<&StateChange> = run
            .states
            .iter()
            .filter(|it| it.instance == closed.instance)
            .collect();
        let half_open = |it: &&&StateChange| it.to == State::HalfOpen && it.at <= closed.at;
        let from = mine.iter().rfind(half_open).expect("probes").at;
        let opened = |it: &&&StateChange| it.to == State::Open && it.at > closed.at;
        let opened = mine.iter().find(opened).map(|it| it.at);
        let until = from..=opened.unwrap_or(i64::MAX);
        let of = timeouts.iter().filter(|it| it.0 == closed.instance);
        let one = Attempt {
            from,
            last: closed.at,
            instances: vec![closed.instance],
            trampled: opened.is_some(),
            timeouts: of.filter(|it| until.contains(&it.1)).count(),
        };
        match attempts.last_mut() {
            Some(it)
                if one.last - it.last < TOGETHER && !it.instances.contains(&closed.instance) =>
            {
                it.from = it.from.min(one.from);
                it.last = one.last;
                it.instances.extend(one.instances);
                it.trampled |= one.trampled;
                it.timeouts += one.timeouts;
            }
            _ => attempts.push(one),
        }
    }
    attempts
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

fn variance(of: &[f64]) -> f64 {
    let mean = mean(of);
    of.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / (of.len() - 1) as f64
}

/// The largest distance between two empirical distributions (Kolmogorov and Smirnov's statistic).
fn distance(one: &[f64], other: &[f64]) -> f64 {
    let share =
        |of: &[f64], at: f64| of.iter().filter(|it| **it <= at).count() as f64 / of.len() as f64;
    let all = one.iter().chain(other);
    all.map(|&at| (share(one, at) - share(other, at)).abs())
        .fold(0.0, f64::max)
}

/// Two samples of what would be the same: means, spreads and distributions.
fn agree(what: &str, ours: &[f64], theirs: &[f64]) {
    let (n, m) = (ours.len() as f64, theirs.len() as f64);
    let error = (variance(ours) / n + variance(theirs) / m).sqrt();
    let off = (mean(ours) - mean(theirs)) / error;
    // The logarithm of a normal sample's variance has a variance of about 2 / n.
    let ratio = variance(ours) / variance(theirs);
    let spread = ratio.ln() / (2.0 / n + 2.0 / m).sqrt();
    // Smirnov's critical value for a hundredth: 1.628.
    let (distance, critical) = (distance(ours, theirs), 1.628 * ((n + m) / (n * m)).sqrt());
    println!(
        "{what}: {:.2} and {:.2}, {off:+.2} standard errors apart; deviations {:.2} and {:.2}, {spread:+.2}; \
         distance {distance:.3} of {critical:.3}",
        mean(ours),
        mean(theirs),
        variance(ours).sqrt(),
        variance(theirs).sqrt()
    );
    assert!(
        off.abs() < 3.0,
        "{what}: means are {off} standard errors apart"
    );
    assert!(
        spread.abs() < 3.0,
        "{what}: variances are {ratio} times each other"
    );
    assert!(
        distance < critical,
        "{what}: distance {distance}, critical is {critical}"
    );
}

#[test]
fn the_herd_is_that_of_an_independent_model() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/herd.toml");
    let scenario = Scenario::from_toml(&fs::read_to_string(path).expect("the scenario"));
    let scenario = scenario.expect("a scenario");
    let (mut cycles, mut timeouts, mut withheld) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 1..=50 {
        let run = simulate(&scenario, seed).expect("settings that are allowed");
        let attempts = attempts(&scenario, &run);
        let trampled: Vec<bool> = attempts.iter().map(|it| it.trampled).collect();
        assert_eq!(trampled, [true, true, false], "seed {seed}");
        assert!(
            attempts.iter().all(|it| it.instances.len() == 4),
            "seed {seed}"
        );
        assert_eq!(attempts[2].timeouts, 0, "seed {seed}");
        cycles.extend(
            attempts
                .windows(2)
                .map(|it| (it[1].from - it[0].from) as f64 / 1e6),
        );
        timeouts.extend(attempts[..2].iter().map(|it| it.timeouts as f64));
        let it = &run.summary;
        let share = it.withheld as f64 / (it.requests - it.in_flight_at_end) as f64;
        withheld.push(share * 10_000.0);
    }
    agree("cycle, ms", &cycles, &CYCLES);
    agree("timeouts of an attempt", &timeouts, &TIMEOUTS);
    agree("withheld, of 10,000", &withheld, &WITHHELD);
}
