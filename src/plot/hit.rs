//! Which span is under the pointer.
//!
//! Uses the plot's own scale and rows, so that what is named is what is drawn there. Of several
//! spans, the one that is painted last wins. Cost: O(spans within reach), found by the
//! levels of detail. Pinned by
//! `tests/it/plot.rs`.

use std::ops::Range;

use crate::levels::{Levels, Part, Visitor};
use crate::plot::look::Look;
use crate::plot::raster::{NESTED_FROM, rows};
use crate::plot::scale::Scale;
use crate::spans::{SpanIdx, SpanTable};
use crate::view::{MILLI, Viewport};

/// The span at a place of the plot, in device pixels, or within `reach` of it.
pub fn span_at(
    table: &SpanTable,
    levels: &Levels,
    look: &Look,
    viewport: Viewport,
    size: [u32; 2],
    at: [f64; 2],
    reach: f64,
) -> Option<SpanIdx> {
    let scale = Scale::new(viewport, size);
    let y = at[1];
    let rank = |y: f64| {
        scale
            .milli_rank(y)
            .div_euclid(MILLI)
            .clamp(0, u32::MAX.into()) as u32
    };
    // Rows begin and end at whole pixels.
    let ranks = rank(y - reach - 1.0)..rank(y + reach + 1.0).saturating_add(1);
    let mut nearest = Nearest {
        table,
        look,
        scale,
        at,
        reach,
        nested: scale.row_height() >= NESTED_FROM,
        best: None,
    };
    levels.walk(table.band(ranks), &mut nearest);
    nearest.best.map(|(.., span)| span)
}

struct Nearest<'a> {
    table: &'a SpanTable,
    look: &'a Look,
    scale: Scale,
    at: [f64; 2],
    reach: f64,
    nested: bool,
    /// How far off it is, its layer, and itself.
    best: Option<(f64, u8, SpanIdx)>,
}

impl Nearest<'_> {
    /// How far off a time is, in pixels along X.
    fn off_x(&self, part: &Part) -> f64 {
        let [from, to] = [part.first_start, part.last_end].map(|it| self.scale.x(it));
        distance(self.at[0], from, to.max(from + 1.0))
    }
}

impl Visitor for Nearest<'_> {
    fn block(&mut self, _: Range<usize>, _: bool, parts: &[Part]) -> bool {
        parts.iter().all(|it| self.off_x(it) > self.reach)
    }

    fn spans(&mut self, spans: Range<usize>) {
        for at in spans {
            let service = self.table.service[at];
            let Some(paint) = self.look.paint(service, self.table.outcome[at]) else {
                continue;
            };
            let tier = self.table.tier(service);
            let rows = rows(&self.scale, self.table.rank[at].0, tier);
            let off_y = distance(self.at[1], rows.start.into(), rows.end.into());
            let off = self.off_x(&Part::of(self.table, at)).max(off_y);
            let layer = if self.nested { tier } else { paint.layer };
            let span = SpanIdx(at as u32);
            // The nearest; on the same spot, the one on top.
            let better = |(best_off, best_layer, _): (f64, u8, SpanIdx)| {
                off < best_off || off == best_off && layer >= best_layer
            };
            if off <= self.reach && self.best.is_none_or(better) {
                self.best = Some((off, layer, span));
            }
        }
    }
}

fn distance(at: f64, from: f64, to: f64) -> f64 {
    (from - at).max(at - to).max(0.0)
}
