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
            for pixel in self.rgba[from..to].chunks_exact_mut(4) {
                over(pixel, color, alpha);
            }
        }
    }
}

/// Lays a colour over a pixel ("source over", alpha not premultiplied).
fn over(pixel: &mut [u8], color: Rgb, alpha: u8) {
    if alpha == 255 || pixel[3] == 0 {
        pixel[..3].copy_from_slice(&color);
        pixel[3] = alpha;
        return;
    }
    let (above, below) = (u32::from(alpha), u32::from(pixel[3]));
    // Weights of both in 255ths of 255ths.
    let (above, below) = (above * 255, below * (255 - above));
    let total = above + below;
    for (channel, color) in pixel[..3].iter_mut().zip(color) {
        let mixed = u32::from(color) * above + u32::from(*channel) * below;
        *channel = ((mixed + total / 2) / total) as u8;
    }
    pixel[3] = ((total + 127) / 255) as u8;
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
    }
}
