//! Requests and failure rates over time, ready to be cut to any viewport.
//!
//! Owns lists of times in order, in which what lies in a bin is the distance of two places, and the failure rate
//! with the highest of every stretch of it. Invariant: a cut says what a count of all calls would. Building costs
//! O(calls), a cut O(pixels log calls). Pinned by `tests/it/rates.rs`, against such counts.

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
    /// When calls started, in order: all, and those that the replay refused.
    started: Column<i64>,
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
            started: calls.start.clone(),
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

    /// Requests over time in bins of a few pixels: 100 ms or a round number of seconds and minutes.
    pub fn requests(&self, viewport: Viewport, width: u32) -> RatesScene {
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
            sent: count(&self.started),
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
            let [minute, read] = herds::averages(&self.started, edge(bin));
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

/// Rates in order, with the place of the highest of every so many, and of so many of those.
#[derive(Clone, Debug, Default)]
struct Peaks {
    rates: Column<Option<u32>>,
    /// Each level has the places of the first highest rate of every [`STRETCH`] of the level below.
    levels: Vec<Column<u32>>,
}

const STRETCH: usize = 16;

impl Peaks {
    fn of(rates: Column<Option<u32>>) -> Peaks {
        let mut peaks = Peaks {
            rates,
            levels: Vec::new(),
        };
        let mut below: Column<u32> = (0..peaks.rates.len() as u32).collect();
        while below.len() > STRETCH {
            let stretches = below.chunks(STRETCH);
            let level = stretches.map(|it| peaks.first_of(it.iter().copied()));
            let level: Column<u32> = level.collect();
            peaks.levels.push(level.clone());
            below = level;
        }
        peaks
    }

    fn get(&self, at: usize) -> Option<u32> {
        self.rates.get(at).copied().flatten()
    }

    /// The place of the first highest rate of some that are not none. O(log n).
    fn first_peak(&self, mut from: usize, mut to: usize) -> usize {
        let mut best = from as u32;
        let mut below: Option<&Column<u32>> = None;
        for level in self.levels.iter().map(Some).chain([None]) {
            let place = |at: usize| below.map_or(at as u32, |it| it[at]);
            // What is not whole stretches is looked at one by one.
            let [whole_from, whole_to] = match level {
                Some(_) => [from.next_multiple_of(STRETCH), to / STRETCH * STRETCH],
                None => [to, to],
            };
            let rest = match whole_from < whole_to {
                true => [from..whole_from, whole_to..to],
                false => [from..to, to..to],
            };
            best = self.first_of(
                [best]
                    .into_iter()
                    .chain(rest.into_iter().flatten().map(place)),
            );
            if whole_from >= whole_to {
                break;
            }
            (from, to) = (whole_from / STRETCH, whole_to / STRETCH);
            below = level;
        }
        best as usize
    }

    /// Of some places the one with the highest rate; of several the first.
    fn first_of(&self, places: impl Iterator<Item = u32>) -> u32 {
        let highest = places.max_by_key(|&at| (self.rates[at as usize], std::cmp::Reverse(at)));
        highest.unwrap_or(0)
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
