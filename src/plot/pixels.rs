//! An image in memory: rows of red, green, blue, alpha.
//!
//! Invariant: every operation is cut to the image; blending is integer arithmetic, so the same calls
//! give the same bytes on every target. Pinned by `tests::blending_is_exact`.

use std::ops::Range;

use crate::messages::Rgb;

/// An image; alpha is not premultiplied, as a canvas wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        let bytes = width as usize * height as usize * 4;
        Pixels {
            width,
            height,
            rgba: vec![0; bytes],
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
