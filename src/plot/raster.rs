//! The spans of a viewport as pixels.
//!
//! Owns the order of painting. What shares a row of pixels is painted ink by ink - a layer and a colour -, and of
//! what one ink covers in a pixel the most opaque counts, so that a picture is as bright from afar as from near.
//! The inks lie from the outermost tier inwards, then failures, then timeouts: no success ever hides a failing
//! span, however many traces share a pixel. Where rows are tall enough to tell single spans apart, deeper tiers
//! are inset instead and timeouts carry a hatch and an end mark, since colour alone must not tell them.
//!
//! Every span is at least one pixel wide and high. Cost: O(pixels) and the logarithm of the spans: blocks whose
//! spans begin within one pixel are drawn as one ([`crate::levels`]). Pinned by `tests/it/plot.rs`: exact pictures,
//! and a naive renderer.

use std::ops::Range;

use crate::column::Column;
use crate::levels::{Levels, Part, Visitor, kind};
use crate::messages::Rgb;
use crate::order;
use crate::outcome::Outcome;
use crate::plot::look::Look;
use crate::plot::pixels::Pixels;
use crate::plot::scale::Scale;
use crate::rows::NONE;
use crate::spans::{ServiceIdx, SpanTable};
use crate::view::{MILLI, Viewport};

/// Rows at least this high, in device pixels, show the tiers of a trace nested.
pub const NESTED_FROM: f64 = 8.0;

/// By how much the opacity of a span that is to be passed over is divided: less than the faintest of others has.
const FAINT: u8 = 6;

/// Paints the spans of a viewport on a transparent image of that many device pixels.
pub fn spans(
    table: &SpanTable,
    levels: &Levels,
    look: &Look,
    viewport: Viewport,
    size: [u32; 2],
) -> Pixels {
    let mut pixels = Pixels::transparent(size[0], size[1]);
    let all = [0..size[0], 0..size[1]];
    part(table, levels, look, viewport, all, &mut pixels);
    pixels
}

/// Paints a part of the image of a viewport, its columns and rows, over what is there.
pub fn part(
    table: &SpanTable,
    levels: &Levels,
    look: &Look,
    viewport: Viewport,
    [columns, rows]: [Range<u32>; 2],
    pixels: &mut Pixels,
) {
    if columns.is_empty() || rows.is_empty() {
        return;
    }
    let size = [pixels.width, pixels.height];
    let scale = Scale::new(viewport, size);
    let nested = scale.row_height() >= NESTED_FROM;
    let (inks, ink_of) = inks(table, look, nested);
    // A pixel more at either side: what is seen of it is decided by its pixels.
    let time = |x: u32, more: f64| scale.time(f64::from(x) + more);
    let rank = |y: u32, more: f64| {
        let rank = scale.milli_rank(f64::from(y) + more).div_euclid(MILLI);
        rank.clamp(0, u32::MAX.into()) as u32
    };
    let shown = scale.ranks();
    let ranks = rank(rows.start, -1.0).max(shown.start)
        ..rank(rows.end, 1.0).saturating_add(1).min(shown.end);
    let mut raster = Raster {
        table,
        look,
        time: time(columns.start, -1.0).max(viewport.t0)..time(columns.end, 1.0).min(viewport.t1),
        pixel_ns: viewport.t1.abs_diff(viewport.t0) / u64::from(size[0].max(1)),
        scale,
        columns,
        nested,
        inks,
        ink_of,
        rank: NONE,
        rows: 0..0,
        band: i64::MIN,
        seen: rows,
        pixels,
    };
    levels.walk(table.band(ranks), &mut raster);
    raster.settle();
}

/// The rows of pixels of a span, for drawing and for hit tests. Those of two ranks overlap only where they are the
/// same.
pub fn rows(scale: &Scale, rank: u32, tier: u8) -> Range<i32> {
    let (top, height) = (scale.y(rank), scale.row_height());
    if height < NESTED_FROM {
        let from = top.floor() as i32;
        let gap = if height >= 3.0 { 1 } else { 0 };
        let next = scale.y(rank.saturating_add(1)).floor() as i32;
        return from..(next - gap).max(from + 1);
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

/// What spans are painted with, and what of it is wet: not on the image yet.
struct Ink {
    color: Rgb,
    /// How opaque each pixel of the rows is.
    line: Vec<u8>,
    /// The rows of pixels.
    y: Range<i32>,
    /// From where to where the line is not empty.
    x: Range<usize>,
    /// The last bar, which may hide the next one.
    last: (Range<usize>, u8),
    /// Bars that are to be hatched.
    hatched: Vec<Range<i32>>,
}

const NO_INK: u16 = u16::MAX;

/// The inks in the order of painting, and the one of each [`kind`] of span; [`NO_INK`] for hidden ones.
fn inks(table: &SpanTable, look: &Look, nested: bool) -> (Vec<Ink>, Column<u16>) {
    const OUTCOMES: [Outcome; 3] = [Outcome::Success, Outcome::Failure, Outcome::TimedOut];
    const HIDDEN: u64 = u64::MAX;
    let key = |service: ServiceIdx, outcome: Outcome| {
        let Some(paint) = look.paint(service, outcome) else {
            return HIDDEN;
        };
        // Nested, nothing hides anything: the order is that of the tiers.
        let layer = if nested {
            table.tier(service)
        } else {
            paint.layer
        };
        let [r, g, b] = paint.color;
        u64::from_be_bytes([0, 0, 0, layer, outcome as u8, r, g, b])
    };
    let services = table.services().map(|it| it.0);
    let kinds = services.flat_map(|service| OUTCOMES.map(|outcome| key(service, outcome)));
    let kinds: Vec<u64> = kinds.collect();
    let mut keys = kinds.clone();
    order::sort_numbers(&mut keys);
    keys.dedup();
    keys.retain(|&it| it != HIDDEN);
    let ink_of = kinds.iter().map(|it| {
        let at = keys.binary_search(it).ok();
        at.map_or(NO_INK, |at| at as u16)
    });
    let ink = |key: &u64| {
        let [.., r, g, b] = key.to_be_bytes();
        Ink {
            color: [r, g, b],
            line: Vec::new(),
            y: 0..0,
            x: 0..0,
            last: (0..0, 0),
            hatched: Vec::new(),
        }
    };
    (keys.iter().map(ink).collect(), ink_of.collect())
}

struct Raster<'a> {
    table: &'a SpanTable,
    look: &'a Look,
    /// When what is seen happens.
    time: Range<i64>,
    /// Nanoseconds of a pixel, rounded down.
    pixel_ns: u64,
    scale: Scale,
    /// The columns of pixels that are painted.
    columns: Range<u32>,
    nested: bool,
    inks: Vec<Ink>,
    ink_of: Column<u16>,
    /// The rank that is being painted, and its rows unless they are nested.
    rank: u32,
    rows: Range<i32>,
    /// What shares those rows: a row of pixels, or a rank where each has rows of its own.
    band: i64,
    /// The rows of pixels that are painted.
    seen: Range<u32>,
    pixels: &'a mut Pixels,
}

impl Visitor for Raster<'_> {
    fn block(&mut self, spans: Range<usize>, whole: bool, parts: &[Part]) -> bool {
        let time = self.time.clone();
        let seen = |it: &&Part| it.overlaps(time.start, time.end);
        if !parts.iter().any(|it| seen(&it)) {
            return true;
        }
        let [first, last] = [spans.start, spans.end - 1].map(|at| self.table.rank[at].0);
        let within_a_pixel = |it: &Part| it.first_start.abs_diff(it.last_start) <= self.pixel_ns;
        // Of the parts that are not seen, too: a picture must not depend on how much of it is painted at once.
        let enough =
            whole && self.band(first) == self.band(last) && parts.iter().all(within_a_pixel);
        if enough {
            for part in parts.iter().filter(seen) {
                self.bar(first, part);
            }
        }
        enough
    }

    fn spans(&mut self, spans: Range<usize>) {
        for at in spans {
            let span = Part::of(self.table, at);
            if span.overlaps(self.time.start, self.time.end) {
                self.bar(self.table.rank[at].0, &span);
            }
        }
    }
}

impl Raster<'_> {
    /// See the field.
    fn band(&self, rank: u32) -> i64 {
        match self.scale.row_height() < 1.0 {
            true => self.scale.y(rank).floor() as i64,
            false => rank.into(),
        }
    }

    /// Paints spans that begin within one pixel.
    fn bar(&mut self, rank: u32, part: &Part) {
        let ink = self.ink_of[kind(part.service, part.outcome)];
        if ink == NO_INK {
            return;
        }
        self.go_to(rank);
        let tier = self.table.tier(part.service);
        let from = self.scale.x(part.first_start).floor() as i32;
        let to = (self.scale.x(part.last_end).ceil() as i32).max(from + 1);
        // Inside a bar of another colour, a see-through one would show a third.
        let alpha = match self.nested && tier > 0 {
            true => 255,
            false => self.look.alpha(part.service, part.longest, part.outcome),
        };
        let alpha = match self.look.is_faint() {
            true => alpha / FAINT,
            false => alpha,
        };
        let ink = &mut self.inks[ink as usize];
        ink.y = match self.nested {
            true => rows(&self.scale, rank, tier),
            false => self.rows.clone(),
        };
        if self.nested && part.outcome == Outcome::TimedOut && !self.look.is_faint() {
            ink.hatched.push(from..to);
        }
        ink.add(from..to, alpha, &self.columns);
    }

    fn go_to(&mut self, rank: u32) {
        if rank == self.rank {
            return;
        }
        let band = self.band(rank);
        if band != self.band {
            self.settle();
            self.band = band;
            self.rows = rows(&self.scale, rank, 0);
        }
        self.rank = rank;
    }

    /// The band is at its end: its inks go on the image.
    fn settle(&mut self) {
        for ink in &mut self.inks {
            if ink.x.is_empty() {
                continue;
            }
            let seen = self.seen.start as i32..self.seen.end as i32;
            for y in ink.y.start.max(seen.start)..ink.y.end.min(seen.end) {
                self.pixels
                    .lay(ink.x.start, y, &ink.line[ink.x.clone()], ink.color);
            }
            ink.line[ink.x.clone()].fill(0);
            (ink.x, ink.last) = (0..0, (0..0, 0));
            for x in ink.hatched.drain(..) {
                hatch(self.pixels, x, ink.y.clone(), ink.color);
            }
        }
    }
}

impl Ink {
    fn add(&mut self, x: Range<i32>, alpha: u8, columns: &Range<u32>) {
        let cut = |x: i32| x.clamp(columns.start as i32, columns.end as i32) as usize;
        let x = cut(x.start)..cut(x.end);
        let (last, last_alpha) = &self.last;
        let hidden = last.start <= x.start && x.end <= last.end && alpha <= *last_alpha;
        if hidden || x.is_empty() {
            return;
        }
        self.line.resize(columns.end as usize, 0);
        for pixel in &mut self.line[x.clone()] {
            *pixel = alpha.max(*pixel);
        }
        self.x = match self.x.is_empty() {
            true => x.clone(),
            false => self.x.start.min(x.start)..self.x.end.max(x.end),
        };
        self.last = (x, alpha);
    }
}

/// Diagonal lines over a bar, and a mark where the time was up.
fn hatch(pixels: &mut Pixels, x: Range<i32>, y: Range<i32>, color: Rgb) {
    const EVERY: i32 = 6;
    const END_MARK: i32 = 2;
    let dark = color.map(|channel| channel / 2);
    for row in y.start.max(0)..y.end.min(pixels.height as i32) {
        // The lines hang on the span, so that panning moves them along.
        let first = x.start + (row - y.start).rem_euclid(EVERY);
        let skipped = (-first).max(0) / EVERY;
        let mut at = first + skipped * EVERY;
        while at < x.end.min(pixels.width as i32) {
            pixels.fill(at..at + 1, row..row + 1, dark, 110);
            at += EVERY;
        }
    }
    pixels.fill((x.end - END_MARK).max(x.start)..x.end, y, dark, 255);
}
