//! The figures of many runs.
//!
//! Owns what is said of a variant over its seeds: a share with its interval, times of those that recovered, and
//! medians of the rest. Invariant: the order of the runs does not matter. O(runs · log(runs)). Pinned by the tests
//! below.

use herdscope_reader::order;

use crate::summary::Summary;

/// The figures of the runs of a variant so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    runs: Vec<Summary>,
}

/// What came of the runs of a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// How many there were.
    pub runs: usize,
    /// The share that recovered.
    pub recovered: f64,
    /// Where the probability of that is with a confidence of 95 % (Wilson, 1927).
    pub interval: [f64; 2],
    /// How long it took those that did, nanoseconds: the median and the 90th percentile. `None`: there were none.
    pub recovery_ns: Option<[u64; 2]>,
    /// The median of the requests that were wanted.
    pub requests: u64,
    /// Those that were answered well.
    pub served: u64,
    /// Those that were withheld.
    pub withheld: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that the service refused.
    pub shed: u64,
    /// Attempts that workers were held for when nobody waited any more.
    pub wasted: u64,
    /// For how long.
    pub wasted_ns: u64,
    /// Pods, times nanoseconds.
    pub pod_ns: u64,
    /// The share of the workers' time in which they had nothing to do, millionths.
    pub idle_ppm: u64,
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
        let median = |of: &dyn Fn(&Summary) -> u64| {
            let values: Vec<u64> = self.runs.iter().map(of).collect();
            quantile(&values, 50)
        };
        let recovered = self.runs.iter().filter_map(Summary::recovery);
        let recovered: Vec<u64> = recovered.collect();
        let recovery_ns = quantile(&recovered, 50).zip(quantile(&recovered, 90));
        Some(Figures {
            runs,
            requests: median(&|it| it.requests)?,
            recovered: recovered.len() as f64 / runs as f64,
            interval: wilson(recovered.len(), runs),
            recovery_ns: recovery_ns.map(|(median, p90)| [median, p90]),
            served: median(&|it| it.served)?,
            withheld: median(&|it| it.withheld)?,
            failed: median(&|it| it.failed)?,
            shed: median(&|it| it.shed)?,
            wasted: median(&|it| it.wasted)?,
            wasted_ns: median(&|it| it.wasted_ns)?,
            pod_ns: median(&|it| it.pod_ns)?,
            idle_ppm: median(&|it| (it.idle_ns as f64 * 1e6 / it.worker_ns.max(1) as f64) as u64)?,
        })
    }
}

/// The smallest value that is not less than so many per cent of them (nearest rank); `None` without any.
fn quantile(values: &[u64], percent: usize) -> Option<u64> {
    let place = (values.len() * percent).div_ceil(100).checked_sub(1)?;
    order::nth(values, place)
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
    fn a_quantile_is_one_of_the_values() {
        for (values, percent, expected) in [
            (&[][..], 50, None),
            (&[7], 90, Some(7)),
            (&[8, 1, 4, 2], 50, Some(2)),
            (&[8, 1, 4, 2], 90, Some(8)),
            (&[5, 3, 1], 50, Some(3)),
            (&[10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 90, Some(9)),
        ] {
            assert_eq!(quantile(values, percent), expected, "{values:?}");
        }
    }
}
