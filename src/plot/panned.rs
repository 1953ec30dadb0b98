//! The picture of the spans, of which panning paints only what comes in.
//!
//! Owns the pixels that were painted last and what they show. Invariant: what is kept is off by less than a
//! hundredth of a pixel from where it would be painted anew. Costs the pixels that come in, and moving the others.
//! Pinned by `tests/it/plot.rs`.

use std::sync::Arc;

use crate::levels::Levels;
use crate::plot::look::Look;
use crate::plot::pixels::{Pixels, incoming};
use crate::plot::raster;
use crate::plot::scale::Scale;
use crate::spans::SpanTable;
use crate::view::Viewport;

/// See the module. What it was painted of must be the same at each call: other data, another one.
#[derive(Default)]
pub struct Panned {
    pixels: Arc<Pixels>,
    painted: Option<(Viewport, Look)>,
    /// Whether some of the pixels were painted where they are not now.
    carried: bool,
    /// How far off those are, in pixels.
    off: [f64; 2],
}

/// What is painted.
#[derive(Clone, Copy)]
pub struct Painted<'a> {
    /// The spans.
    pub table: &'a SpanTable,
    /// Those that are meant.
    pub levels: &'a Levels,
    /// Those that are to be passed over, faint and below all others.
    pub below: Option<&'a Levels>,
}

/// So far off, in pixels, may be what is kept.
const TOLERANCE: f64 = 0.01;

impl Panned {
    /// The spans of a viewport, and whether some were painted for another one. In `anew` they are not.
    pub fn paint(
        &mut self,
        of: Painted<'_>,
        look: Look,
        viewport: Viewport,
        size: [u32; 2],
        anew: bool,
    ) -> (Arc<Pixels>, bool) {
        let kept = self.painted.take().filter(|it| !anew && it.1 == look);
        let by = kept.and_then(|(before, _)| self.moved(before, viewport, size));
        // Nobody has the last picture any more, usually.
        let pixels = Arc::make_mut(&mut self.pixels);
        let parts = match by {
            Some(by) => {
                self.carried |= by != [0; 2] || self.off != [0.0; 2];
                pixels.shift(by);
                let [columns, rows] = incoming(by, size);
                // The corner is among the rows.
                let others = match rows.start {
                    0 => rows.end..size[1],
                    start => 0..start,
                };
                [[columns, others], [0..size[0], rows]]
            }
            None => {
                (self.carried, self.off) = (false, [0.0; 2]);
                pixels.clear(size);
                [[0..size[0], 0..size[1]], [0..0, 0..0]]
            }
        };
        for part in parts {
            if let Some(below) = of.below {
                let faint = look.faint();
                raster::part(of.table, below, &faint, viewport, part.clone(), pixels);
            }
            raster::part(of.table, of.levels, &look, viewport, part, pixels);
        }
        self.painted = Some((viewport, look));
        (self.pixels.clone(), self.carried)
    }

    /// By how many whole pixels, to the right and down, a viewport has moved and not otherwise changed.
    fn moved(&mut self, from: Viewport, to: Viewport, size: [u32; 2]) -> Option<[i32; 2]> {
        let extent = |it: Viewport| [it.t1 - it.t0, it.y1 - it.y0];
        let same = extent(from) == extent(to) && size == [self.pixels.width, self.pixels.height];
        // Of higher rows a picture has few.
        if !same || Scale::new(to, size).row_height() >= 1.0 {
            return None;
        }
        let by = [to.t0 - from.t0, to.y0 - from.y0];
        let mut whole = [0; 2];
        for at in 0..2 {
            let exact = by[at] as f64 * f64::from(size[at]) / extent(to)[at] as f64;
            whole[at] = exact.round() as i32;
            self.off[at] += exact - exact.round();
        }
        let near = self.off.iter().all(|it| it.abs() < TOLERANCE);
        let kept = (0..2).all(|at| whole[at].unsigned_abs() < size[at]);
        (near && kept).then_some(whole)
    }
}
