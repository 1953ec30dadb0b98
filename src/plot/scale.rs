//! Which pixel a time and a rank fall on, and back.
//!
//! Time runs to the right, ranks downwards:
//!
//! ```text
//!   (t0, y0) ┌────────────┐
//!            │            │ height, device pixels
//!            └────────────┘ (t1, y1)
//!             width
//! ```
//!
//! Invariant: times stay integers until the left edge is subtracted. Pinned by
//! `tests::there_and_back`.

use crate::view::{MILLI, Viewport};

/// A viewport on an image.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    viewport: Viewport,
    width: f64,
    height: f64,
}

impl Scale {
    /// Maps `viewport` to an image of that many device pixels.
    pub fn new(viewport: Viewport, size: [u32; 2]) -> Scale {
        let [width, height] = size.map(f64::from);
        Scale {
            viewport,
            width,
            height,
        }
    }

    /// The X of a time; far outside the image it is cut to just outside.
    pub fn x(&self, time: i64) -> f64 {
        let span = nanos_between(self.viewport.t0, self.viewport.t1);
        let x = nanos_between(self.viewport.t0, time) * self.width / span;
        x.max(-1.0).min(self.width + 1.0)
    }

    /// The Y of the upper edge of a rank's row.
    pub fn y(&self, rank: u32) -> f64 {
        let above = i64::from(rank) * MILLI - self.viewport.y0;
        let span = self.viewport.y1 - self.viewport.y0;
        // Multiplied first: the row at the lower edge must not fall short of it by a rounding.
        (above as f64 * self.height / span as f64).clamp(-1.0e6, 1.0e6)
    }

    /// The time at an X.
    pub fn time(&self, x: f64) -> i64 {
        let span = nanos_between(self.viewport.t0, self.viewport.t1);
        let after = (x / self.width * span).round();
        self.viewport.t0.saturating_add(after as i64)
    }

    /// The place among the ranks at a Y, in thousandths.
    pub fn milli_rank(&self, y: f64) -> i64 {
        let span = (self.viewport.y1 - self.viewport.y0) as f64;
        self.viewport
            .y0
            .saturating_add((y / self.height * span).round() as i64)
    }

    /// Device pixels of one rank's row.
    pub fn row_height(&self) -> f64 {
        self.height * MILLI as f64 / (self.viewport.y1 - self.viewport.y0) as f64
    }

    /// The ranks that the image shows, whole or in part.
    pub fn ranks(&self) -> std::ops::Range<u32> {
        let rank = |milli: i64| milli.clamp(0, i64::from(u32::MAX)) as u32;
        let from = self.viewport.y0.div_euclid(MILLI);
        let to = self.viewport.y1.saturating_add(MILLI - 1).div_euclid(MILLI);
        rank(from)..rank(to)
    }
}

fn nanos_between(from: i64, to: i64) -> f64 {
    to.saturating_sub(from) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let t0 = 1_790_409_600_123_456_789;
        let viewport = Viewport {
            t0,
            t1: t0 + 4_000,
            y0: 1_500,
            y1: 3_500,
        };
        let scale = Scale::new(viewport, [400, 100]);
        assert_eq!(
            (scale.x(t0 + 1_000), scale.time(100.0)),
            (100.0, t0 + 1_000)
        );
        assert_eq!((scale.y(2), scale.milli_rank(25.0)), (25.0, 2_000));
        assert_eq!((scale.row_height(), scale.ranks()), (50.0, 1..4));
        assert_eq!((scale.x(i64::MIN), scale.x(i64::MAX)), (-1.0, 401.0));
    }
}
