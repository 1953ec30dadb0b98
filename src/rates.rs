//! Requests and failure rates over time, ready to be cut to any viewport.
//!
//! Owns lists of times in order, in which what lies in a bin is the distance of two places, and the failure rate
//! with the highest of every stretch of it. Invariant: a cut says what a count of all calls would. Building costs
//! O(calls), a cut O(pixels log calls), and
//! a sixty-fourth of the rates in it. Pinned by `tests/it/rates.rs`, against such counts.

use std::ops::Range;

use crate::calls::{CallOutcome, Calls};
use crate::column::Column;
use crate::herds;
use crate::messages::{NO_RATE, RateLine, RatesScene};
use crate::plot::scale::Scale;
use crate::replay::{RateSample, Replay};
use crate::view::Viewport;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    /// When the calls started that the replay refused, in order.
    withheld: Column<i64>,
    /// When calls that were sent ended badly, in order.
    timed_out: Column<i64>,
    failed: Column<i64>,
    /// When the failure rate was told, in order, and the highest of all breakers' from then on.
    told: Column<i64>,
    highest: Peaks,
}

impl Rates {
    /// Of the calls of an edge and their replay, of which the samples of failure rates are taken out.
    pub fn new(calls: &Calls, replay: &mut Replay) -> Rates {
        let withheld = |at: usize| replay.rejected.get(at).copied().unwrap_or(false);
        let ended = |as_told: CallOutcome| {
            let by_end = calls.by_end.iter().map(|&at| at as usize);
            let ended = by_end.filter(|&at| calls.outcome[at] == as_told && !withheld(at));
            ended.map(|at| calls.end[at]).collect()
        };
        let mut of_breaker = vec![None; replay.breakers.len()];
        let highest = replay.rates.iter().map(|sample: &RateSample| {
            of_breaker[sample.breaker as usize] = sample.rate;
            of_breaker.iter().copied().max().flatten()
        });
        let highest = Peaks::of(highest.collect());
        Rates {
            withheld: (0..calls.len())
                .filter(|&at| withheld(at))
                .map(|at| calls.start[at])
                .collect(),
            timed_out: ended(CallOutcome::TimedOut),
            failed: ended(CallOutcome::Failure),
            told: std::mem::take(&mut replay.rates)
                .iter()
                .map(|it| it.at)
                .collect(),
            highest,
        }
    }

    /// Requests over time, of the same calls, in bins of a few pixels: 100 ms or a round number of seconds and
    /// minutes.
    pub fn requests(&self, calls: &Calls, viewport: Viewport, width: u32) -> RatesScene {
        const PIXELS_A_BIN: u32 = 4;
        let bins_wanted = i64::from((width / PIXELS_A_BIN).max(1));
        let span = viewport.t1.saturating_sub(viewport.t0);
        let step = round_step(span / bins_wanted);
        let from = viewport.t0.div_euclid(step).saturating_mul(step);
        let n = viewport.t1.saturating_sub(from) / step + 1;
        let edge = |bin: i64| from.saturating_add(step.saturating_mul(bin));
        let count = |times: &Column<i64>| -> Vec<u32> {
            let before = |bin: i64| times.partition_point(|&it| it < edge(bin));
            let mut from = before(0);
            let bins = (1..=n).map(|bin| {
                let to = before(bin);
                (to - std::mem::replace(&mut from, to)) as u32
            });
            bins.collect()
        };
        let mut scene = RatesScene {
            from,
            step,
            sent: count(&calls.start),
            timed_out: count(&self.timed_out),
            failed: count(&self.failed),
            withheld: count(&self.withheld),
            minute_average: Vec::with_capacity(n as usize),
            autoscaler: Vec::with_capacity(n as usize),
        };
        for (sent, withheld) in scene.sent.iter_mut().zip(&scene.withheld) {
            *sent -= withheld;
        }
        for bin in 0..n {
            let [minute, read] = herds::averages(&calls.start, edge(bin));
            scene.minute_average.push(minute as f32);
            scene.autoscaler.push(read as f32);
        }
        scene
    }

    /// The failure rate within the viewport: of all breakers the highest, and for each pixel column its peak and
    /// its last value, where they change.
    pub fn failure_rate(&self, viewport: Viewport, width: u32) -> RateLine {
        let scale = Scale::new(viewport, [width.max(1), 1]);
        let column = |at: usize| scale.x(self.told[at]).floor();
        let before = |time: i64| self.told.partition_point(|&it| it < time);
        let (mut at, end) = (before(viewport.t0), before(viewport.t1));
        let mut line = RateLine::default();
        let mut add = |time: i64, at: usize| {
            let rate = self.highest.get(at).unwrap_or(NO_RATE);
            if line.rate.last() != Some(&rate) {
                line.at.push(time);
                line.rate.push(rate);
            }
        };
        // What holds at the left edge was told before it.
        if let Some(held) = at.checked_sub(1) {
            add(viewport.t0, held);
        }
        while at < end {
            let x = column(at);
            let next = at + self.told[at..end].partition_point(|&it| scale.x(it).floor() <= x);
            for at in [self.highest.first_peak(at, next), next - 1] {
                add(self.told[at], at);
            }
            at = next;
        }
        // The line reaches as far as it is known.
        if let Some(last) = end.checked_sub(1) {
            let last = (self.told[last].max(viewport.t0), last);
            if line.at.last().is_some_and(|&it| it < last.0) {
                line.at.push(last.0);
                line.rate.push(self.highest.get(last.1).unwrap_or(NO_RATE));
            }
        }
        line
    }
}

/// Rates in order, with the place of the first highest of every [`STRETCH`].
#[derive(Clone, Debug, Default)]
struct Peaks {
    rates: Column<Option<u32>>,
    peaks: Column<u32>,
}

/// A whole picture looks at each peak, and along the edges of its columns at twice as many rates each.
const STRETCH: usize = 64;

impl Peaks {
    fn of(rates: Column<Option<u32>>) -> Peaks {
        let mut peaks = Peaks {
            rates,
            peaks: Column::default(),
        };
        for from in (0..peaks.rates.len()).step_by(STRETCH) {
            let to = peaks.rates.len().min(from + STRETCH);
            let highest = peaks.highest_of(from as u32, from..to);
            peaks.peaks.push(highest);
        }
        peaks
    }

    fn get(&self, at: usize) -> Option<u32> {
        self.rates.get(at).copied().flatten()
    }

    /// The place of the first highest rate of some that are not none. O(n / [`STRETCH`]).
    fn first_peak(&self, from: usize, to: usize) -> usize {
        let whole = from.div_ceil(STRETCH)..to / STRETCH;
        let (before, after) = match whole.is_empty() {
            true => (to, to),
            false => (whole.start * STRETCH, whole.end * STRETCH),
        };
        let mut best = self.highest_of(from as u32, from..before);
        for stretch in whole {
            let peak = self.peaks[stretch] as usize;
            best = self.highest_of(best, peak..peak + 1);
        }
        self.highest_of(best, after..to) as usize
    }

    /// The place of the highest rate, `best` or the first one in a range that is higher.
    fn highest_of(&self, mut best: u32, range: Range<usize>) -> u32 {
        for at in range {
            if self.rates[at] > self.rates[best as usize] {
                best = at as u32;
            }
        }
        best
    }
}

/// The shortest round step that is at least `nanos` long.
fn round_step(nanos: i64) -> i64 {
    const MS: i64 = 1_000_000;
    const SECOND: i64 = 1_000 * MS;
    const STEPS: &[i64] = &[
        MS / 10,
        MS / 5,
        MS / 2,
        MS,
        2 * MS,
        5 * MS,
        10 * MS,
        20 * MS,
        50 * MS,
        100 * MS,
        200 * MS,
        500 * MS,
        SECOND,
        2 * SECOND,
        5 * SECOND,
        10 * SECOND,
        30 * SECOND,
        60 * SECOND,
        300 * SECOND,
        600 * SECOND,
        1_800 * SECOND,
        3_600 * SECOND,
        86_400 * SECOND,
    ];
    let enough = STEPS.iter().copied().find(|&step| step >= nanos);
    // Beyond days, whatever it takes.
    enough.unwrap_or(nanos).max(1)
}
