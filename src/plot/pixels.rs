//! An image in memory: rows of red, green, blue, alpha.
//!
//! Invariant: every operation is cut to the image; blending is integer arithmetic, so the same calls
//! give the same bytes on every target. Pinned by `tests::blending_is_exact`.

use std::ops::Range;

use crate::messages::Rgb;

/// An image; alpha is not premultiplied, as a canvas wants it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pixels {
    /// Pixels a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Four bytes a pixel.
    pub rgba: Vec<u8>,
}

impl Pixels {
    /// A transparent image.
    pub fn transparent(width: u32, height: u32) -> Pixels {
        let mut pixels = Pixels::default();
        pixels.clear([width, height]);
        pixels
    }

    /// Makes it transparent, of that size.
    pub fn clear(&mut self, [width, height]: [u32; 2]) {
        (self.width, self.height) = (width, height);
        self.rgba.clear();
        self.rgba.resize(width as usize * height as usize * 4, 0);
    }

    /// Moves what is on it to the left and up, by so many pixels; what comes in is transparent.
    pub fn shift(&mut self, [x, y]: [i32; 2]) {
        let (width, height) = (self.width as i32, self.height as i32);
        let by = (y * width + x) * 4;
        let all = 0..self.rgba.len();
        let kept = by.unsigned_abs() as usize;
        if kept >= all.end {
            return self.rgba.fill(0);
        }
        match by < 0 {
            true => self.rgba.copy_within(..all.end - kept, kept),
            false => self.rgba.copy_within(kept.., 0),
        }
        // What went over an edge comes in at the other.
        let [columns, rows] = incoming([x, y], [self.width, self.height]);
        for y in 0..height {
            let seen = if rows.contains(&(y as u32)) {
                0..self.width
            } else {
                columns.clone()
            };
            let row = (y * width) as usize * 4;
            self.rgba[row + seen.start as usize * 4..row + seen.end as usize * 4].fill(0);
        }
    }

    /// Lays `color` with `alpha` over a rectangle.
    pub fn fill(&mut self, x: Range<i32>, y: Range<i32>, color: Rgb, alpha: u8) {
        let (width, height) = (self.width as i32, self.height as i32);
        let (x0, x1) = (x.start.clamp(0, width), x.end.clamp(0, width));
        let (y0, y1) = (y.start.clamp(0, height), y.end.clamp(0, height));
        if x0 >= x1 {
            return;
        }
        for y in y0..y1 {
            let from = (y * width + x0) as usize * 4;
            let to = (y * width + x1) as usize * 4;
            for pixel in self.rgba[from..to].as_chunks_mut().0 {
                *pixel = over(*pixel, color, alpha);
            }
        }
    }

    /// Lays `color` over a row, from `x` on, each pixel with its own alpha. Pixels outside of the image are cut off.
    pub fn lay(&mut self, x: usize, y: i32, alphas: &[u8], color: Rgb) {
        let row = self.width as usize * 4;
        let mut rows = self.rgba.chunks_exact_mut(row.max(1));
        let Some(row) = usize::try_from(y).ok().and_then(|y| rows.nth(y)) else {
            return;
        };
        let row = row.get_mut(x * 4..).unwrap_or_default();
        // Most pixels are as the one before them.
        let (mut below, mut above, mut laid) = ([0; 4], 0, [0; 4]);
        for (pixel, &alpha) in row.as_chunks_mut().0.iter_mut().zip(alphas) {
            if (*pixel, alpha) != (below, above) {
                (below, above) = (*pixel, alpha);
                laid = if alpha == 0 {
                    below
                } else {
                    over(below, color, alpha)
                };
            }
            *pixel = laid;
        }
    }
}

/// The columns and the rows that come in when an image of that size moves to the left and up.
pub fn incoming(by: [i32; 2], size: [u32; 2]) -> [Range<u32>; 2] {
    let side = |at: usize| {
        let new = by[at].unsigned_abs().min(size[at]);
        if by[at] < 0 {
            0..new
        } else {
            size[at] - new..size[at]
        }
    };
    [side(0), side(1)]
}

/// A colour over a pixel ("source over", alpha not premultiplied).
fn over(pixel: [u8; 4], color: Rgb, alpha: u8) -> [u8; 4] {
    let [mut r, mut g, mut b] = color;
    if alpha == 255 || pixel[3] == 0 {
        return [r, g, b, alpha];
    }
    let (above, below) = (u32::from(alpha), u32::from(pixel[3]));
    // Weights of both in 255ths of 255ths.
    let (above, below) = (above * 255, below * (255 - above));
    let total = above + below;
    for (color, channel) in [&mut r, &mut g, &mut b].into_iter().zip(pixel) {
        let mixed = u32::from(*color) * above + u32::from(channel) * below;
        *color = ((mixed + total / 2) / total) as u8;
    }
    [r, g, b, ((total + 127) / 255) as u8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_out_is_gone_and_what_comes_in_is_transparent() {
        let size = 3;
        for (x, y) in (-4..=4).flat_map(|x| (-4..=4).map(move |y| (x, y))) {
            let mut pixels = Pixels::transparent(size, size);
            for at in 0..9 {
                pixels.fill(at % 3..at % 3 + 1, at / 3..at / 3 + 1, [at as u8; 3], 255);
            }
            let before = pixels.clone();
            pixels.shift([x, y]);
            let of = |pixels: &Pixels, x: i32, y: i32| -> [u8; 4] {
                let inside = (0..3).contains(&x) && (0..3).contains(&y);
                let at = ((y * 3 + x) * 4) as usize;
                let pixel = inside.then(|| pixels.rgba[at..at + 4].try_into());
                pixel.map_or([0; 4], |it| it.expect("four bytes"))
            };
            for at in 0..9 {
                let (to_x, to_y) = (at % 3, at / 3);
                assert_eq!(of(&pixels, to_x, to_y), of(&before, to_x + x, to_y + y));
            }
        }
    }

    #[test]
    fn blending_is_exact() {
        let mut pixels = Pixels::transparent(3, 1);
        pixels.fill(-5..2, -1..9, [200, 100, 0], 128);
        pixels.fill(1..99, 0..1, [0, 100, 200], 255);
        pixels.fill(0..1, 0..1, [0, 100, 200], 128);
        assert_eq!(
            pixels.rgba,
            [66, 100, 134, 192, 0, 100, 200, 255, 0, 100, 200, 255]
        );
        let mut laid = Pixels::transparent(3, 2);
        laid.lay(0, 1, &[128, 128], [200, 100, 0]);
        laid.lay(1, 1, &[255, 255, 9, 9], [0, 100, 200]);
        laid.lay(0, 1, &[128, 0], [0, 100, 200]);
        for (x, y) in [(0, -1), (0, 2), (9, 1)] {
            laid.lay(x, y, &[9], [9; 3]);
        }
        assert_eq!(
            (&laid.rgba[..12], &laid.rgba[12..]),
            (&[0; 12][..], &pixels.rgba[..])
        );
    }
}
