//! Waiting times beside what queueing theory says, to five standard errors over independent runs.

use herdscope_sim::{
    Demand, Group, Policy, Priority, Scenario, Service, Shedding, Spread, simulate,
};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// One queue before so many workers, which work ten milliseconds on average.
fn queue(rate: f64, workers: u32, work: Spread) -> Scenario {
    Scenario {
        name: "a queue".to_owned(),
        starts_at: 0,
        duration: 120 * SECOND,
        network: 0,
        groups: vec![Group {
            name: "all".to_owned(),
            instances: 1,
            demand: Demand::steady(rate),
            calls: 0,
            policy: Policy::default(),
            priority: Priority::Critical,
            needs: None,
        }],
        services: vec![Service {
            workers,
            ..Service::new("service", 1, work)
        }],
        faults: Vec::new(),
        hands: Vec::new(),
    }
}

/// The mean time between a call and its service's beginning in each of some runs, in milliseconds.
fn waits(scenario: &Scenario) -> Vec<f64> {
    let mean = |seed: u64| {
        let run = simulate(scenario, seed).expect("a scenario");
        let rows = run.rows(scenario);
        // A call is followed by the work on it.
        let pairs: Vec<(i64, i64)> = (1..rows.len())
            .filter(|&at| rows.parent[at] == rows.span[at - 1])
            .map(|at| (rows.start[at - 1], rows.start[at]))
            .collect();
        assert!(pairs.len() > 1_000);
        let sum: i64 = pairs.iter().map(|it| it.1 - it.0).sum();
        sum as f64 / pairs.len() as f64 / MS as f64
    };
    (0..20).map(mean).collect()
}

fn check(name: &str, scenario: &Scenario, expected: f64) {
    check_mean(name, &waits(scenario), expected);
}

fn check_mean(name: &str, found: &[f64], expected: f64) {
    let n = found.len() as f64;
    let mean = found.iter().sum::<f64>() / n;
    let variance = found.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let error = (variance / n).sqrt();
    println!("{name}: {mean:.3}, {expected:.3} expected, standard error {error:.3}");
    assert!(
        (mean - expected).abs() < 5.0 * error,
        "{name}: {mean} instead of {expected}"
    );
    assert!(error < expected / 10.0, "{name}: {error} ms tells little");
}

const EXPONENTIAL: Spread = Spread::Exponential { mean: 10 * MS };

#[test]
fn one_worker_with_exponential_work() {
    // rho / (mu - lambda)
    check("M/M/1 at 0.5", &queue(50.0, 1, EXPONENTIAL), 10.0);
    check("M/M/1 at 0.8", &queue(80.0, 1, EXPONENTIAL), 40.0);
}

#[test]
fn one_worker_with_the_same_work_each_time() {
    // rho / (2 mu (1 - rho))
    check("M/D/1 at 0.8", &queue(80.0, 1, Spread::same(10 * MS)), 20.0);
}

#[test]
fn several_workers_with_exponential_work() {
    // Erlang's C over (c mu - lambda), with mu = 0.1 a millisecond.
    let (workers, load) = (4, 3.2);
    let mut term = 1.0;
    let mut sum = 1.0;
    for k in 1..workers {
        term *= load / f64::from(k);
        sum += term;
    }
    let all = term * load / f64::from(workers) / (1.0 - load / f64::from(workers));
    let waiting = all / (sum + all);
    let expected = waiting / (f64::from(workers) * 0.1 - load * 0.1);
    check(
        "M/M/4 at 0.8",
        &queue(320.0, workers, EXPONENTIAL),
        expected,
    );
}

/// A call that finds all workers busy is shed where nobody may wait: Erlang's loss formula, whatever the work's spread.
#[test]
fn no_room_to_wait() {
    for work in [Spread::same(10 * MS), Spread::Exponential { mean: 10 * MS }] {
        let mut scenario = queue(200.0, 2, work);
        scenario.services[0].shedding = Some(Shedding::Length(0));
        let shares: Vec<f64> = (0..20)
            .map(|seed| {
                let summary = simulate(&scenario, seed).expect("a scenario").summary;
                summary.shed as f64 / summary.requests as f64
            })
            .collect();
        check_mean(&format!("{work:?}"), &shares, 0.4);
    }
}
