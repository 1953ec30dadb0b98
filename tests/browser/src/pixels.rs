//! Pictures as rows of pixels, to compare and to keep.

use std::path::Path;

use crate::{Failure, Result};

/// A picture: red, green, blue, alpha of each pixel, row by row from the top left.
#[derive(Clone, PartialEq, Eq)]
pub struct Pixels {
    /// Device pixels from left to right.
    pub width: u32,
    /// Device pixels from top to bottom.
    pub height: u32,
    /// Four bytes a pixel.
    pub rgba: Vec<u8>,
}

impl Pixels {
    /// Reads a PNG of 8 bits a channel, as browsers write them.
    pub fn from_png(png: &[u8]) -> Result<Pixels> {
        let unreadable = |error: png::DecodingError| {
            Failure::new(format!("the browser's picture is no PNG: {error}"))
        };
        let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
        decoder.set_transformations(
            png::Transformations::normalize_to_color8() | png::Transformations::ALPHA,
        );
        let mut reader = decoder.read_info().map_err(unreadable)?;
        let size = reader
            .output_buffer_size()
            .ok_or_else(|| Failure::new("the browser's picture is too large"))?;
        let mut rgba = vec![0; size];
        let info = reader.next_frame(&mut rgba).map_err(unreadable)?;
        if info.color_type != png::ColorType::Rgba {
            return Err("the browser's picture has no colours".into());
        }
        rgba.truncate(info.buffer_size());
        Ok(Pixels {
            width: info.width,
            height: info.height,
            rgba,
        })
    }

    /// The colour at a device pixel; nothing outside the picture.
    pub fn at(&self, x: u32, y: u32) -> Option<[u8; 4]> {
        if x >= self.width || y >= self.height {
            return None;
        }
        let start = (y as usize * self.width as usize + x as usize) * 4;
        self.rgba.get(start..start + 4)?.try_into().ok()
    }

    /// How many pixels satisfy a condition.
    pub fn count(&self, condition: impl Fn([u8; 4]) -> bool) -> usize {
        self.rgba
            .chunks_exact(4)
            .filter(|it| condition([it[0], it[1], it[2], it[3]]))
            .count()
    }

    /// How many pixels differ from those of another picture; all of them if the sizes do.
    pub fn differing(&self, other: &Pixels) -> usize {
        if (self.width, self.height) != (other.width, other.height) {
            return (self.rgba.len().max(other.rgba.len())) / 4;
        }
        self.rgba
            .chunks_exact(4)
            .zip(other.rgba.chunks_exact(4))
            .filter(|(a, b)| a != b)
            .count()
    }

    /// Keeps the picture as a PNG.
    pub fn save(&self, path: &Path) -> Result<()> {
        let cannot = |error: &dyn std::fmt::Display| {
            Failure::new(format!("cannot write {}: {error}", path.display()))
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| cannot(&error))?;
        }
        let file = std::fs::File::create(path).map_err(|error| cannot(&error))?;
        let mut encoder = png::Encoder::new(std::io::BufWriter::new(file), self.width, self.height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(|error| cannot(&error))?;
        writer
            .write_image_data(&self.rgba)
            .map_err(|error| cannot(&error))?;
        writer.finish().map_err(|error| cannot(&error))
    }
}

/// Short, so that a failed comparison prints no million numbers.
impl std::fmt::Debug for Pixels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pixels({} x {})", self.width, self.height)
    }
}
