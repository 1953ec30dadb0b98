//! The scene: what a picture shows beside the pixels of the spans, cut to one viewport.
//!
//! Owns the reduction of timelines and calls to what a screen can hold: at most two points and one
//! bin a few pixels, so that the page's work is bounded by pixels. Invariant: a state band shorter
//! than a pixel is still in the scene. Cost: O(calls + transitions). Pinned by `tests/it/engine.rs`.

use std::ops::Range;

use crate::calls::{CallOutcome, Calls};
use crate::herds;
use crate::levels::{Levels, Part, Visitor};
use crate::messages::{Band, BandState, Lane, NO_RATE, RateLine, RatesScene};
use crate::observed::{Observed, ObservedBreaker, Seen, Stretch};
use crate::plot::scale::Scale;
use crate::replay::{RateSample, Replay, bands};
use crate::spans::SpanTable;
use crate::view::Viewport;

/// The states of each replayed breaker, in order and without gaps.
pub fn lanes(replay: &Replay) -> Vec<Lane> {
    let lane = |breaker: &crate::replay::Breaker| Lane {
        instance: breaker.instance.clone(),
        bands: bands(breaker, replay.from, replay.to)
            .into_iter()
            .map(|(from, to, state)| Band {
                from,
                to,
                state: band_state(state),
            })
            .collect(),
    };
    replay.breakers.iter().map(lane).collect()
}

/// The observed states of each breaker, in order and without gaps.
pub fn observed_lanes(observed: &Observed) -> Vec<Lane> {
    let band = |it: &Stretch| Band {
        from: it.from,
        to: it.to,
        state: match it.state {
            Seen::Closed => BandState::Closed,
            Seen::Open => BandState::Open,
            Seen::HalfOpen => BandState::HalfOpen,
            Seen::Ramping => BandState::Ramping,
            Seen::Unknown => BandState::Unknown,
        },
    };
    let lane = |breaker: &ObservedBreaker| Lane {
        instance: breaker.instance.clone(),
        bands: breaker.states.iter().map(band).collect(),
    };
    observed.breakers.iter().map(lane).collect()
}

/// The lanes within the viewport.
pub fn cut(lanes: &[Lane], viewport: Viewport) -> Vec<Lane> {
    let cut = |band: &Band| {
        let (from, to) = (band.from.max(viewport.t0), band.to.min(viewport.t1));
        (from <= to).then_some(Band { from, to, ..*band })
    };
    let lane = |lane: &Lane| Lane {
        instance: lane.instance.clone(),
        bands: lane.bands.iter().filter_map(cut).collect(),
    };
    lanes.iter().map(lane).collect()
}

/// The share of the time, where the observed state is known and calls are replayed, in which the replayed
/// one is the same, in millionths; `None` where none is known. O(bands).
pub fn agree(observed: &[Lane], replayed: &[Lane]) -> Option<u32> {
    let (mut same, mut known) = (0i64, 0i64);
    for (seen, replayed) in observed.iter().zip(replayed) {
        let mut after = replayed.bands.as_slice();
        let end = after.last().map_or(i64::MIN, |it| it.to);
        for band in seen
            .bands
            .iter()
            .filter(|it| it.state != BandState::Unknown)
        {
            known = known.saturating_add(band.to.min(end).saturating_sub(band.from).max(0));
            while after.first().is_some_and(|it| it.to <= band.from) {
                after = &after[1..];
            }
            for it in after.iter().take_while(|it| it.from < band.to) {
                if it.state == band.state {
                    let both = it.to.min(band.to).saturating_sub(it.from.max(band.from));
                    same = same.saturating_add(both.max(0));
                }
            }
        }
    }
    (known > 0).then(|| (same as f64 / known as f64 * 1e6) as u32)
}

fn band_state(state: halfopen::State) -> BandState {
    match state {
        halfopen::State::Open | halfopen::State::ForcedOpen => BandState::Open,
        halfopen::State::HalfOpen => BandState::HalfOpen,
        halfopen::State::Ramping => BandState::Ramping,
        _ => BandState::Closed,
    }
}

/// How many spans the viewport shows, in whole or in part. O(log spans) and those that its edges cut.
pub fn n_spans(table: &SpanTable, levels: &Levels, viewport: Viewport) -> u64 {
    let mut count = Count {
        table,
        viewport,
        n_spans: 0,
    };
    let ranks = Scale::new(viewport, [1, 1]).ranks();
    levels.walk(table.band(ranks), &mut count);
    count.n_spans
}

struct Count<'a> {
    table: &'a SpanTable,
    viewport: Viewport,
    n_spans: u64,
}

impl Visitor for Count<'_> {
    fn block(&mut self, spans: Range<usize>, whole: bool, parts: &[Part]) -> bool {
        let (t0, t1) = (self.viewport.t0, self.viewport.t1);
        if !parts.iter().any(|it| it.overlaps(t0, t1)) {
            return true;
        }
        let starts_within = |it: &Part| t0 <= it.first_start && it.last_start < t1;
        let all = whole && parts.iter().all(starts_within);
        if all {
            self.n_spans += spans.len() as u64;
        }
        all
    }

    fn spans(&mut self, spans: Range<usize>) {
        let shown =
            |&at: &usize| Part::of(self.table, at).overlaps(self.viewport.t0, self.viewport.t1);
        self.n_spans += spans.filter(shown).count() as u64;
    }
}

/// The failure rate within the viewport: of all breakers the highest, and for each pixel column its
/// peak and its last value, where they change.
pub fn failure_rate(replay: &Replay, viewport: Viewport, width: u32) -> RateLine {
    let scale = Scale::new(viewport, [width.max(1), 1]);
    let mut of_breaker: Vec<Option<u32>> = vec![None; replay.breakers.len()];
    let mut line = RateLine::default();
    let mut column: Option<Column> = None;
    for &RateSample { at, breaker, rate } in &replay.rates {
        if at >= viewport.t1 {
            break;
        }
        of_breaker[breaker as usize] = rate;
        let point = (
            at.max(viewport.t0),
            of_breaker.iter().copied().max().flatten(),
        );
        let x = scale.x(point.0).floor() as i64;
        match &mut column {
            Some(it) if it.x == x => it.add(point),
            _ => {
                let next = Column {
                    x,
                    peak: point,
                    last: point,
                };
                if let Some(done) = column.replace(next) {
                    done.finish(&mut line);
                }
            }
        }
    }
    if let Some(done) = column {
        let end = done.last;
        done.finish(&mut line);
        // The line reaches as far as it is known.
        if line.at.last().is_some_and(|&at| at < end.0) {
            line.at.push(end.0);
            line.rate.push(end.1.unwrap_or(NO_RATE));
        }
    }
    line
}

type RatePoint = (i64, Option<u32>);

/// The samples of one pixel column.
struct Column {
    x: i64,
    peak: RatePoint,
    last: RatePoint,
}

impl Column {
    fn add(&mut self, point: RatePoint) {
        if point.1 > self.peak.1 {
            self.peak = point;
        }
        self.last = point;
    }

    fn finish(self, line: &mut RateLine) {
        for (at, rate) in [self.peak, self.last] {
            let rate = rate.unwrap_or(NO_RATE);
            if line.rate.last() != Some(&rate) {
                line.at.push(at);
                line.rate.push(rate);
            }
        }
    }
}

/// Requests over time in bins of a few pixels: 100 ms or a round number of seconds and minutes.
pub fn rates(calls: &Calls, replay: &Replay, viewport: Viewport, width: u32) -> RatesScene {
    const PIXELS_A_BIN: u32 = 4;
    let bins_wanted = i64::from((width / PIXELS_A_BIN).max(1));
    let span = viewport.t1.saturating_sub(viewport.t0);
    let step = round_step(span / bins_wanted);
    let from = viewport.t0.div_euclid(step).saturating_mul(step);
    let n = (viewport.t1.saturating_sub(from) / step + 1) as usize;
    let mut scene = RatesScene {
        from,
        step,
        sent: vec![0; n],
        timed_out: vec![0; n],
        failed: vec![0; n],
        withheld: vec![0; n],
        minute_average: Vec::with_capacity(n),
        autoscaler: Vec::with_capacity(n),
    };
    let bin = |at: i64| usize::try_from(at.saturating_sub(from).div_euclid(step)).ok();
    let count = |bins: &mut Vec<u32>, at: i64| {
        if let Some(bin) = bin(at).and_then(|at| bins.get_mut(at)) {
            *bin += 1;
        }
    };
    for at in 0..calls.len() {
        let withheld = replay.rejected.get(at).copied().unwrap_or(false);
        count(
            if withheld {
                &mut scene.withheld
            } else {
                &mut scene.sent
            },
            calls.start[at],
        );
        match calls.outcome[at] {
            CallOutcome::TimedOut if !withheld => count(&mut scene.timed_out, calls.end[at]),
            CallOutcome::Failure if !withheld => count(&mut scene.failed, calls.end[at]),
            _ => {}
        }
    }
    for bin in 0..n as i64 {
        let at = from.saturating_add(step.saturating_mul(bin));
        let [minute, read] = herds::averages(&calls.start, at);
        scene.minute_average.push(minute as f32);
        scene.autoscaler.push(read as f32);
    }
    scene
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
