//! What the spans of a service tell of it.
//!
//! Owns how many pods there are, on how much each works at once and for how long. Invariant: a worker is held for longer
//! than its span only where calls timed out, which tells that all were busy. O(spans · log). Pinned by
//! `tests/it/estimate.rs`.

use super::STEP;
use crate::calls::{CallOutcome, Calls};
use crate::column::Column;
use crate::order;
use crate::rows::{Kind, NONE};
use crate::spans::SpanTable;

/// The spans of a service, by start.
pub(super) struct Served {
    pub(super) starts: Column<i64>,
    ends: Column<i64>,
    instances: Column<u32>,
    /// The durations of those that went well, sorted.
    pub(super) good: Vec<u64>,
}

impl Served {
    pub(super) fn of(table: &SpanTable, service: &str) -> Served {
        let of = table.find_service(service);
        let its = |&at: &u32| {
            Some(table.service[at as usize]) == of && table.kind[at as usize] != Kind::Client
        };
        let mut spans: Vec<u32> = (0..table.len() as u32).filter(its).collect();
        order::sort(&mut spans, &mut |a, b| {
            table.start[a as usize].cmp(&table.start[b as usize])
        });
        let good = spans
            .iter()
            .filter(|&&it| !table.outcome[it as usize].is_failure());
        let mut good: Vec<u64> = good.map(|&it| table.duration[it as usize]).collect();
        order::sort_numbers(&mut good);
        Served {
            starts: spans.iter().map(|&it| table.start[it as usize]).collect(),
            ends: spans
                .iter()
                .map(|&it| table.end(crate::spans::SpanIdx(it)))
                .collect(),
            instances: spans
                .iter()
                .map(|&it| table.instance(it as usize))
                .collect(),
            good,
        }
    }

    pub(super) fn median(&self) -> Option<u64> {
        self.good.get(self.good.len() / 2).copied()
    }

    /// The deviation of the logarithm: 84 of a hundred are shorter than the median times its exponential.
    pub(super) fn sigma(&self) -> f64 {
        let at = |percent: usize| self.good.get(self.good.len() * percent / 100);
        let (Some(&middle), Some(&high)) = (at(50), at(84)) else {
            return 0.0;
        };
        let sigma = (high.max(1) as f64 / middle.max(1) as f64).ln();
        // Rounded, since logarithms differ in their last digits from machine to machine.
        (sigma * 100.0).round().clamp(0.0, 300.0) / 100.0
    }

    /// The median of how many instances serve within ten seconds: of those in which calls timed out, if there are any,
    /// which comes second.
    pub(super) fn pods(&self, calls: &Calls) -> Option<(u32, bool)> {
        let ten_seconds = |at: i64| at.div_euclid(STEP as i64);
        let full = timed_out(calls, STEP as i64);
        let (mut bad, mut all): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
        let mut from = 0;
        while let Some(&first) = self.starts.get(from) {
            let step = ten_seconds(first);
            let to = self.starts.partition_point(|&it| ten_seconds(it) <= step);
            let mut instances = distinct(&self.instances[from..to]);
            instances.retain(|&it| it != u64::from(NONE));
            all.push(instances.len() as u64);
            if full.binary_search(&step).is_ok() {
                bad.push(instances.len() as u64);
            }
            from = to;
        }
        let of_bad = order::median(&bad).filter(|&it| it > 0);
        let pods = of_bad.or_else(|| order::median(&all).filter(|&it| it > 0))?;
        Some((pods as u32, of_bad.is_some()))
    }

    /// The most spans at once at an instance.
    pub(super) fn workers(&self) -> u32 {
        // At each instance, how many began so far and how many of them have ended.
        let mut most = 1;
        for instance in self.by_instance() {
            let mut ends: Vec<u64> = instance
                .iter()
                .map(|&at| ascending(self.ends[at as usize]))
                .collect();
            order::sort_numbers(&mut ends);
            let mut ended = 0;
            for (begun, &at) in instance.iter().enumerate() {
                let start = ascending(self.starts[at as usize]);
                while ended < begun && ends[ended] <= start {
                    ended += 1;
                }
                most = most.max(begun + 1 - ended);
            }
        }
        most as u32
    }

    /// How long a worker is held, from the most that an instance began in a second in which calls timed out.
    pub(super) fn held(&self, calls: &Calls) -> Option<u64> {
        let second = |at: i64| at.div_euclid(1_000_000_000);
        let full = timed_out(calls, 1_000_000_000);
        let mut busiest: Vec<u64> = Vec::new();
        for instance in self.by_instance() {
            let seconds = instance.chunk_by(|&a, &b| {
                second(self.starts[a as usize]) == second(self.starts[b as usize])
            });
            let full = seconds.filter(|it| {
                let at = second(self.starts[it[0] as usize]);
                full.binary_search(&at).is_ok()
            });
            busiest.extend(full.map(|it| it.len() as u64).max());
        }
        let most = order::median(&busiest)?;
        let held = u64::from(self.workers()) * 1_000_000_000 / most;
        (Some(held) > self.median()).then_some(held)
    }

    /// The spans of each instance, by start.
    fn by_instance(&self) -> Vec<Vec<u32>> {
        let names = distinct(&self.instances);
        let mut spans = vec![Vec::new(); names.len()];
        for (at, instance) in self.instances.iter().enumerate() {
            if let Ok(place) = names.binary_search(&u64::from(*instance)) {
                spans[place].push(at as u32);
            }
        }
        spans
    }
}

/// A time, before 1970, too, as a number that is the larger the later it is.
fn ascending(time: i64) -> u64 {
    time as u64 ^ 1 << 63
}

/// Those that there are, in order.
fn distinct(numbers: &[u32]) -> Vec<u64> {
    let mut numbers: Vec<u64> = numbers.iter().map(|&it| it.into()).collect();
    order::sort_numbers(&mut numbers);
    numbers.dedup();
    numbers
}

/// The steps of time in which half of the calls that ended timed out, in order: what does so is full.
fn timed_out(calls: &Calls, step: i64) -> Vec<i64> {
    let of = |at: &u32| calls.end[*at as usize].div_euclid(step);
    let steps = calls.by_end.chunk_by(|a, b| of(a) == of(b));
    let full = steps.filter(|those| {
        let timed_out = |at: &&u32| calls.outcome[**at as usize] == CallOutcome::TimedOut;
        those.iter().filter(timed_out).count() * 2 >= those.len()
    });
    full.map(|those| of(&those[0])).collect()
}
