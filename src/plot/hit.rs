//! Which span is under the pointer.
//!
//! Uses the plot's own scale and rows, so that what is named is what is drawn there. Of several
//! spans, the one that is painted last wins. Cost: O(spans of the traces within reach). Pinned by
//! `tests/it/plot.rs`.

use crate::plot::look::Look;
use crate::plot::raster::{NESTED_FROM, rows};
use crate::plot::scale::Scale;
use crate::spans::{SpanIdx, SpanTable};
use crate::view::{MILLI, Viewport};

/// The span at a place of the plot, in device pixels, or within `reach` of it.
pub fn span_at(
    table: &SpanTable,
    look: &Look,
    viewport: Viewport,
    size: [u32; 2],
    at: [f64; 2],
    reach: f64,
) -> Option<SpanIdx> {
    let scale = Scale::new(viewport, size);
    let [x, y] = at;
    let rank = |y: f64| {
        scale
            .milli_rank(y)
            .div_euclid(MILLI)
            .clamp(0, u32::MAX.into()) as u32
    };
    let ranks = rank(y - reach)..rank(y + reach).saturating_add(1);
    let nested = scale.row_height() >= NESTED_FROM;
    let candidates = table.band(ranks).filter_map(|at| {
        let service = table.service[at];
        let paint = look.paint(service, table.outcome[at])?;
        let span = SpanIdx(at as u32);
        let (from, to) = (scale.x(table.start[at]), scale.x(table.end(span)));
        let tier = table.tier(service);
        let rows = rows(&scale, table.rank[at].0, tier);
        let off_x = distance(x, from, to.max(from + 1.0));
        let off_y = distance(y, rows.start.into(), rows.end.into());
        let off = off_x.max(off_y);
        let layer = if nested { tier } else { paint.layer };
        (off <= reach).then_some((off, layer, span))
    });
    // The nearest; on the same spot, the one on top.
    let best = candidates.min_by(|a, b| {
        let near = |it: &(f64, u8, SpanIdx)| it.0;
        near(a)
            .total_cmp(&near(b))
            .then(b.1.cmp(&a.1))
            .then(b.2.cmp(&a.2))
    });
    best.map(|(.., span)| span)
}

fn distance(at: f64, from: f64, to: f64) -> f64 {
    (from - at).max(at - to).max(0.0)
}
