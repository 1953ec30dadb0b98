//! The span plot: time on X, ranks on Y, one row a trace.
//!
//! How it works: the spans of the visible ranks are one range of the table. Each becomes a rectangle
//! at least one pixel wide and high, put into the bucket of its layer; the buckets are painted from
//! the outermost tier inwards, then failures, then timeouts, so that no success ever hides a failing
//! span, however many traces share a pixel. Where rows are tall enough to tell single spans apart,
//! deeper tiers are inset instead and timeouts carry a hatch and an end mark, since colour alone
//! must not tell them.
//!
//! Cost: O(spans of the visible ranks) and O(pixels they cover). Pinned by `tests/it/plot.rs`: exact
//! pictures, and a naive renderer.

use std::ops::Range;

use crate::messages::Rgb;
use crate::outcome::Outcome;
use crate::plot::look::{Look, TIMED_OUT_LAYER};
use crate::plot::pixels::Pixels;
use crate::plot::scale::Scale;
use crate::spans::{SpanTable, end_of};
use crate::view::Viewport;

/// Rows at least this high, in device pixels, show the tiers of a trace nested.
pub const NESTED_FROM: f64 = 8.0;

/// Paints the spans of a viewport on a transparent image of that many device pixels.
pub fn spans(table: &SpanTable, look: &Look, viewport: Viewport, size: [u32; 2]) -> Pixels {
    let mut pixels = Pixels::transparent(size[0], size[1]);
    let scale = Scale::new(viewport, size);
    let mut layers: Vec<Vec<Bar>> = vec![Vec::new(); TIMED_OUT_LAYER as usize + 1];
    for at in table.band(scale.ranks()) {
        if let Some((layer, bar)) = bar(table, look, viewport, &scale, at) {
            layers[layer as usize].push(bar);
        }
    }
    for bar in layers.iter().flatten() {
        bar.paint(&mut pixels);
    }
    pixels
}

/// The rows of pixels of a span, for drawing and for hit tests.
pub fn rows(scale: &Scale, rank: u32, tier: u8) -> Range<i32> {
    let (top, height) = (scale.y(rank), scale.row_height());
    if height < NESTED_FROM {
        let from = top.floor() as i32;
        let gap = if height >= 3.0 { 1 } else { 0 };
        return from..((top + height).floor() as i32 - gap).max(from + 1);
    }
    // A trace reads as one bar with what went on inside it along its middle.
    let share = match tier {
        0 => 1.0,
        1 => 0.36,
        _ => 0.2,
    };
    let inset = (height - 1.0) * (1.0 - share) / 2.0;
    let from = (top + 1.0 + inset).round() as i32;
    from..((top + height - inset).round() as i32).max(from + 1)
}

#[derive(Clone, Copy, Debug)]
struct Bar {
    x: [i32; 2],
    y: [i32; 2],
    color: Rgb,
    alpha: u8,
    hatched: bool,
}

fn bar(
    table: &SpanTable,
    look: &Look,
    viewport: Viewport,
    scale: &Scale,
    at: usize,
) -> Option<(u8, Bar)> {
    let (start, duration, outcome) = (table.start[at], table.duration[at], table.outcome[at]);
    let end = end_of(start, duration);
    if start >= viewport.t1 || end < viewport.t0 {
        return None;
    }
    let service = table.service[at];
    let paint = look.paint(service, outcome)?;
    let nested = scale.row_height() >= NESTED_FROM;
    let tier = table.tier(service);
    let from = scale.x(start).floor() as i32;
    let to = (scale.x(end).ceil() as i32).max(from + 1);
    let y = rows(scale, table.rank[at].0, tier);
    // Inside a bar of another colour, a see-through one would show a third.
    let inside = nested && tier > 0;
    let known = if end == start { 0 } else { duration };
    let bar = Bar {
        x: [from, to],
        y: [y.start, y.end],
        color: paint.color,
        alpha: if inside {
            255
        } else {
            look.alpha(service, known, outcome)
        },
        hatched: nested && outcome == Outcome::TimedOut,
    };
    // Nested, nothing hides anything: the order is that of the tiers.
    Some((if nested { tier } else { paint.layer }, bar))
}

impl Bar {
    fn paint(&self, pixels: &mut Pixels) {
        let ([x0, x1], [y0, y1]) = (self.x, self.y);
        pixels.fill(x0..x1, y0..y1, self.color, self.alpha);
        if self.hatched {
            self.hatch(pixels);
        }
    }

    /// Diagonal lines, and a bar where the time was up.
    fn hatch(&self, pixels: &mut Pixels) {
        const EVERY: i32 = 6;
        const END_MARK: i32 = 2;
        let dark = self.color.map(|channel| channel / 2);
        let ([x0, x1], [y0, y1]) = (self.x, self.y);
        for y in y0.max(0)..y1.min(pixels.height as i32) {
            // The lines hang on the span, so that panning moves them along.
            let first = x0 + (y - y0).rem_euclid(EVERY);
            let skipped = (-first).max(0) / EVERY;
            let mut x = first + skipped * EVERY;
            while x < x1.min(pixels.width as i32) {
                pixels.fill(x..x + 1, y..y + 1, dark, 110);
                x += EVERY;
            }
        }
        pixels.fill((x1 - END_MARK).max(x0)..x1, y0..y1, dark, 255);
    }
}
