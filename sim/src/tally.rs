//! The figures of many runs.
//!
//! Owns what is said of a variant over its seeds: a share with its interval, times of those that recovered, and
//! medians of the rest. Invariant: the order of the runs does not matter. O(runs · log(runs)). Pinned by the tests
//! below.

use crate::summary::Summary;

/// The figures of the runs of a variant so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    runs: Vec<Summary>,
}

const S: f64 = 1e9;

/// What came of the runs of a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// How many there were.
    pub runs: usize,
    /// The share that recovered.
    pub recovered: f64,
    /// Where the probability of that is with a confidence of 95 % (Wilson, 1927).
    pub interval: [f64; 2],
    /// How long it took those that did, seconds: the median and the 90th percentile. `None`: there were none.
    pub recover_s: Option<[f64; 2]>,
    /// The median of the requests that were wanted.
    pub requests: f64,
    /// Those that were answered well.
    pub served: f64,
    /// Those that were withheld.
    pub withheld: f64,
    /// Those that failed.
    pub failed: f64,
    /// Those that the service refused.
    pub shed: f64,
    /// Attempts that workers were held for when nobody waited any more.
    pub wasted: f64,
    /// For how long, seconds.
    pub wasted_s: f64,
    /// Pods, times minutes.
    pub pod_minutes: f64,
    /// The share of the workers' time in which they had nothing to do.
    pub idle: f64,
}

impl Tally {
    /// Another run.
    pub fn add(&mut self, run: Summary) {
        self.runs.push(run);
    }

    /// How many there are.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// What came of them, whatever their order; `None` without any.
    pub fn figures(&self) -> Option<Figures> {
        let runs = self.runs.len();
        if runs == 0 {
            return None;
        }
        let seconds = |it: u64| it as f64 / S;
        let mut recovery: Vec<f64> = self
            .runs
            .iter()
            .filter_map(|it| it.recovery().map(seconds))
            .collect();
        recovery.sort_by(f64::total_cmp);
        let median = |of: &dyn Fn(&Summary) -> f64| {
            let mut values: Vec<f64> = self.runs.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            quantile(&values, 0.5)
        };
        Some(Figures {
            runs,
            recovered: recovery.len() as f64 / runs as f64,
            interval: wilson(recovery.len(), runs),
            recover_s: (!recovery.is_empty())
                .then(|| [quantile(&recovery, 0.5), quantile(&recovery, 0.9)]),
            requests: median(&|it| it.requests as f64),
            served: median(&|it| it.served as f64),
            withheld: median(&|it| it.withheld as f64),
            failed: median(&|it| it.failed as f64),
            shed: median(&|it| it.shed as f64),
            wasted: median(&|it| it.wasted as f64),
            wasted_s: median(&|it| seconds(it.wasted_ns)),
            pod_minutes: median(&|it| seconds(it.pod_ns) / 60.0),
            idle: median(&|it| it.idle_ns as f64 / it.worker_ns.max(1) as f64),
        })
    }
}

/// Of sorted values, between two neighbours where it falls between them.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let below = place as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

/// Wilson's score interval at 95 %.
fn wilson(successes: usize, runs: usize) -> [f64; 2] {
    const Z: f64 = 1.959_964;
    let n = runs as f64;
    let p = successes as f64 / n;
    let middle = p + Z * Z / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let whole = 1.0 + Z * Z / n;
    [
        ((middle - half) / whole).max(0.0),
        ((middle + half) / whole).min(1.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_wilsons() {
        // By hand, to a ten-thousandth: none of ten, half of ten, all of fifty.
        for (successes, runs, low, high) in [
            (0, 10, 0.0, 0.2775),
            (5, 10, 0.2366, 0.7634),
            (50, 50, 0.9287, 1.0),
        ] {
            let [got_low, got_high] = wilson(successes, runs);
            assert!(
                (got_low - low).abs() < 1e-4,
                "{successes} of {runs}: {got_low}"
            );
            assert!(
                (got_high - high).abs() < 1e-4,
                "{successes} of {runs}: {got_high}"
            );
        }
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        let values = [1.0, 2.0, 4.0, 8.0];
        for (share, expected) in [(0.0, 1.0), (0.5, 3.0), (0.9, 6.8), (1.0, 8.0)] {
            assert!(
                (quantile(&values, share) - expected).abs() < 1e-12,
                "{share}"
            );
        }
        assert_eq!(quantile(&[7.0], 0.9), 7.0);
    }
}
