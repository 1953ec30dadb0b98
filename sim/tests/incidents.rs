//! The scenarios that come with the project show what they say, whatever the seed.

use std::fs;

use halfopen::State;
use herdscope_reader::outcome::Outcome;
use herdscope_reader::rows::Kind;
use herdscope_sim::{Run, Scenario, simulate};

/// A file of `scenarios/`, with some texts replaced.
fn text(file: &str, changes: &[(&str, &str)]) -> String {
    let path = format!("{}/../scenarios/{file}.toml", env!("CARGO_MANIFEST_DIR"));
    let mut text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    for (old, new) in changes {
        assert_eq!(text.matches(old).count(), 1, "{file}: {old}");
        text = text.replace(old, new);
    }
    text
}

struct Seen {
    run: Run,
    spans: Vec<Span>,
}

/// A span, times in seconds since the beginning.
struct Span {
    service: String,
    client: bool,
    from: f64,
    to: f64,
    good: bool,
}

fn seen(text: &str, seed: u64) -> Seen {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|error| panic!("{error}"));
    let run = simulate(&scenario, seed).expect("settings that are allowed");
    let rows = run.rows(&scenario);
    let span = |at: usize| {
        let from = (rows.start[at] - scenario.starts_at) as f64 / 1e9;
        Span {
            service: rows.names.get(rows.label_set(at).service).to_owned(),
            client: rows.label_set(at).kind == Kind::Client,
            from,
            to: from + rows.duration[at] as f64 / 1e9,
            good: rows.label_set(at).outcome == Outcome::Success,
        }
    };
    let spans = (0..rows.len()).map(span).collect();
    Seen { run, spans }
}

impl Seen {
    /// The calls of a client that begin between two times.
    fn calls(&self, client: &str, from: f64, to: f64) -> impl Iterator<Item = &Span> {
        let of = self.spans.iter();
        of.filter(move |it| it.client && it.service == client && (from..to).contains(&it.from))
    }

    /// The share of those that are answered well.
    fn served(&self, client: &str, from: f64, to: f64) -> f64 {
        let good = self.calls(client, from, to).filter(|it| it.good).count();
        good as f64 / self.calls(client, from, to).count() as f64
    }

    /// The workers of a service that are held, each time that the number changes.
    fn held(&self, service: &str) -> Vec<(f64, i32)> {
        let of = self.spans.iter();
        let mut changes: Vec<(f64, i32)> = of
            .filter(|it| !it.client && it.service == service)
            .flat_map(|it| [(it.from, 1), (it.to, -1)])
            .collect();
        changes.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        let mut held = 0;
        for change in &mut changes {
            held += change.1;
            change.1 = held;
        }
        changes
    }

    /// When so many of its workers are held for the first time.
    fn all_held(&self, service: &str, workers: i32) -> Option<f64> {
        let held = self.held(service);
        Some(held.iter().find(|it| it.1 >= workers)?.0)
    }

    fn recovered(&self) -> Option<f64> {
        self.run.summary.recovered_at.map(|it| it as f64 / 1e9)
    }
}

/// When breakers entered a state, in seconds.
fn entered(run: &Run, state: State) -> Vec<f64> {
    let of = run.states.iter().filter(|it| it.to == state);
    of.map(|it| it.at as f64 / 1e9).collect()
}

/// The number of threads that work on average, as Little's law has it, between two times.
fn mean(changes: &[(f64, i32)], from: f64, to: f64) -> f64 {
    let part = |it: &[(f64, i32)]| {
        let length = it[1].0.min(to) - it[0].0.max(from);
        f64::from(it[0].1) * length.max(0.0)
    };
    changes.windows(2).map(part).sum::<f64>() / (to - from)
}

/// A value is what a file says, give or take.
fn near(what: &str, seed: u64, got: f64, expected: f64, give: f64) {
    let off = (got - expected).abs();
    assert!(
        off <= give,
        "seed {seed}, {what}: {got}, not {expected} within {give}"
    );
}

#[test]
fn who_is_served_when() {
    // The client, its calls from when to when, and which share of them is answered well, from and to.
    type Claim = (&'static str, f64, f64, f64, f64);
    let cases: [(&str, &[Claim]); 4] = [
        (
            "cascade",
            &[
                ("checkout", 0.0, 19.0, 1.0, 1.0),
                ("checkout", 21.0, 48.0, 0.0, 0.01),
                ("checkout", 56.0, 117.0, 1.0, 1.0),
                ("status", 0.0, 19.0, 1.0, 1.0),
                ("status", 21.0, 48.0, 0.0, 0.02),
                ("status", 56.0, 117.0, 1.0, 1.0),
            ],
        ),
        (
            "dependency-dead",
            &[
                ("checkout", 0.0, 19.9, 1.0, 1.0),
                ("checkout", 20.0, 49.9, 0.0, 0.0),
                ("checkout", 50.0, 117.0, 1.0, 1.0),
                ("status", 0.0, 117.0, 1.0, 1.0),
            ],
        ),
        (
            "pool-200",
            &[
                ("app", 0.0, 9.8, 1.0, 1.0),
                ("app", 10.3, 25.0, 0.0, 0.0),
                ("app", 27.5, 88.0, 1.0, 1.0),
            ],
        ),
        (
            "never-trips",
            &[
                ("shop", 0.0, 240.0, 0.75, 1.0),
                ("shop", 240.0, 420.0, 1.0, 1.0),
            ],
        ),
    ];
    for (file, claims) in cases {
        for seed in 1..=2 {
            let seen = seen(&text(file, &[]), seed);
            for &(client, from, to, least, most) in claims {
                let served = seen.served(client, from, to);
                assert!(
                    (least..=most).contains(&served),
                    "{file}, seed {seed}: {client} from {from} s to {to} s: {served}"
                );
            }
        }
    }
}

#[test]
fn a_slow_dependency_holds_every_tier_and_a_dead_one_none() {
    for seed in 1..=3 {
        let slow = seen(&text("cascade", &[]), seed);
        // 400/s, for 20 ms at the store, 2 ms of its own and two messages of 500 us.
        let web = slow.held("web");
        near(
            "web's workers",
            seed,
            mean(&web, 1.0, 20.0),
            400.0 * 0.023,
            0.5,
        );
        // (200 - 9) / 400 after the fault, and so many more requests later.
        let web = slow.all_held("web", 200).expect("a cascade");
        near("web is held", seed, web, 20.5, 0.15);
        let gateway = slow.all_held("gateway", 400).expect("a cascade");
        near("the gateway is held", seed, gateway, 21.05, 0.25);
        assert!(slow.recovered().is_some_and(|it| it < 56.0), "seed {seed}");

        let dead = seen(&text("dependency-dead", &[]), seed);
        assert_eq!(dead.all_held("web", 50), None, "seed {seed}");
        assert_eq!(dead.all_held("gateway", 50), None, "seed {seed}");
        let during = mean(&dead.held("web"), 21.0, 49.0);
        near("web's workers", seed, during, 400.0 * 0.004, 0.2);
    }
}

/// For how long threads of the caller are held for the calls of each burst, in seconds.
fn bursts(seen: &Seen) -> Vec<f64> {
    let burst = |nth: i32| -> f64 {
        let from = f64::from(nth) * 60.0;
        let calls = seen.calls("shop", from, from + 60.0);
        calls.map(|it| it.to - it.from).sum()
    };
    (0..4).map(burst).collect()
}

#[test]
fn long_timeouts_hold_threads_and_breakers_that_see_no_failure_keep_them() {
    let (mut patient, mut first, mut later) = (Vec::new(), Vec::new(), Vec::new());
    const RUNS: u64 = 20;
    let mut tripped = 0;
    for seed in 1..=RUNS {
        let never = seen(&text("never-trips", &[]), seed);
        tripped += usize::from(!never.run.states.is_empty());
        patient.extend(bursts(&never));
        let fast = seen(&text("fails-fast", &[]), seed);
        let opened = entered(&fast.run, State::Open);
        near("it opens", seed, opened[0], 31.0, 0.7);
        let bursts = bursts(&fast);
        first.push(bursts[0]);
        later.extend_from_slice(&bursts[1..]);
        // It ramps up once the search is well.
        let ramps = entered(&fast.run, State::Ramping);
        assert!(ramps.len() == 1 && ramps[0] > 240.0, "seed {seed}");
    }
    let mean = |it: &[f64]| it.iter().sum::<f64>() / it.len() as f64;
    // 80 bursts of 20 requests, Poisson, of 14 s: a standard error of 14 * sqrt(20 / 80) = 7.
    near(
        "thread-seconds of a burst",
        0,
        mean(&patient),
        280.0,
        3.0 * 7.0,
    );
    near("with a short timeout", 0, mean(&first), 4.5, 1.0);
    let most = later.iter().fold(0.0, |most: f64, it| most.max(*it));
    near("and an open breaker", 0, most, 0.5, 0.001);
    // Five failures in a row, of 80 requests with a tenth of them: 80 * 0.1^5 = 0.0008 a run.
    assert_eq!(tripped, 0);
}

#[test]
fn a_pool_of_200_threads_lasts_a_fifth_of_a_second() {
    let mut full = Vec::new();
    for seed in 1..=4 {
        let seen = seen(&text("pool-200", &[]), seed);
        let held = seen.held("api");
        // Nine seconds of 1,000 requests/s: a standard error of 150 ms * sqrt(9,000) / 9 s = 1.6.
        near(
            "threads at work",
            seed,
            mean(&held, 1.0, 10.0),
            150.0,
            3.0 * 1.6,
        );
        let before = held.iter().take_while(|it| it.0 < 10.0);
        assert!(before.map(|it| it.1).max() < Some(200), "seed {seed}");
        full.push(seen.all_held("api", 200).expect("they are held") - 10.0);
        // (5,000 - 1,000/s * 1 s) / (200 / 150 ms - 1,000/s) after the ledger is well.
        near(
            "it is well",
            seed,
            seen.recovered().unwrap_or(0.0),
            26.5,
            1.0,
        );
    }
    // 200 arrivals at 1,000/s: each run is off by sqrt(200) / 1,000 = 14 ms.
    let mean = full.iter().sum::<f64>() / full.len() as f64;
    near(
        "seconds until all are held",
        0,
        mean,
        0.2,
        3.0 * 0.014 / 2.0,
    );
}

fn recovered(text: &str, seed: u64) -> Option<u64> {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|error| panic!("{error}"));
    let run = simulate(&scenario, seed).expect("settings that are allowed");
    run.summary.recovered_at.map(|it| it / 1_000_000_000)
}

#[test]
fn without_a_budget_it_stays_down_above_a_quarter_of_the_capacity() {
    // Capacity is 100/s, and a request is made four times.
    for (rate, alone) in [(15, true), (22, true), (28, false), (60, false)] {
        let rates = [("\"60/s\"", format!("\"{rate}/s\""))];
        let rates = rates.each_ref().map(|it| (it.0, it.1.as_str()));
        for seed in 1..=3 {
            let storm = recovered(&text("retry-storm", &rates), seed);
            assert_eq!(storm.is_some(), alone, "{rate}/s, seed {seed}: {storm:?}");
            let budget = recovered(&text("retry-budget", &rates), seed);
            let soon = budget.is_some_and(|it| (65..95).contains(&it));
            assert!(soon, "{rate}/s, seed {seed}: {budget:?}");
        }
    }
}

/// The most of some times that are within a second of each other.
fn within_a_second(times: &[f64]) -> usize {
    let from = |first: &f64| {
        let within = times.iter().filter(|it| (*first..first + 1.0).contains(it));
        within.count()
    };
    times.iter().map(from).max().unwrap_or(0)
}

#[test]
fn jitter_brings_the_load_back_bit_by_bit() {
    for seed in 1..=4 {
        for (file, least, most) in [("in-step", 39, 40), ("jittered", 2, 8)] {
            let scenario = Scenario::from_toml(&text(file, &[])).expect("a scenario");
            let run = simulate(&scenario, seed).expect("settings that are allowed");
            let opened = entered(&run, State::Open);
            let together = opened[..40].last().map(|it| it - opened[0]);
            assert!(
                together.is_some_and(|it| it < 1.0),
                "{file}, seed {seed}: {opened:?}"
            );
            let closed = entered(&run, State::Closed);
            assert_eq!(closed.len(), 40, "{file}, seed {seed}");
            let back = within_a_second(&closed);
            assert!(
                (least..=most).contains(&back),
                "{file}, seed {seed}: {back} of 40 within a second"
            );
        }
    }
}

#[test]
fn a_breaker_that_judges_few_calls_flaps() {
    let (mut opened, mut lost) = (Vec::new(), [0, 0]);
    for seed in 1..=20 {
        let few = seen(&text("low-traffic", &[]), seed);
        opened.push(entered(&few.run, State::Open).len());
        let summary = &few.run.summary;
        lost = [lost[0] + summary.withheld, lost[1] + summary.failed];
        let more = text("low-traffic", &[("window=4,min=2", "window=20,min=20")]);
        assert_eq!(seen(&more, seed).run.states, [], "seed {seed}");
    }
    let mean = opened.iter().sum::<usize>() as f64 / opened.len() as f64;
    near("openings", 0, mean, 14.0, 2.5);
    assert!(opened.iter().all(|&it| it >= 3), "{opened:?}");
    let ratio = lost[0] as f64 / lost[1] as f64;
    near("withheld for each that failed", 0, ratio, 1.2, 0.3);
}
