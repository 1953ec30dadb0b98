//! The scene: what a picture shows beside the pixels of the spans, cut to one viewport.
//!
//! Owns the reduction of timelines to what a screen shows. Invariant: a state band shorter than a pixel is still
//! in the scene. Cost: O(transitions). Pinned by `tests/it/engine.rs`.

use std::ops::Range;

use crate::levels::{Levels, Part, Visitor};
use crate::messages::{Band, BandState, Lane};
use crate::observed::{Observed, ObservedBreaker, Seen, Stretch};
use crate::plot::scale::Scale;
use crate::replay::{Replay, bands};
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
