//! Golden files: exact bytes or pixels, written anew with UPDATE_GOLDEN=1.

use std::fs;
use std::path::{Path, PathBuf};

use herdscope::plot::picture::encode;
use herdscope::plot::pixels::Pixels;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

/// Compares an image with `tests/golden/NAME.png`, pixel by pixel.
pub fn check_pixels(name: &str, pixels: &Pixels) {
    let size = [pixels.width, pixels.height];
    let file = encode(&pixels.rgba, size, png::ColorType::Rgba).expect("a PNG");
    check_png(name, &file);
}

/// Compares a PNG file with `tests/golden/NAME.png`, by its pixels: the compression may differ.
pub fn check_png(name: &str, file: &[u8]) {
    let path = path(&format!("{name}.png"));
    if update(&path, file) {
        return;
    }
    let golden = fs::read(&path).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; make it with UPDATE_GOLDEN=1 and look at it",
            path.display()
        )
    });
    let (expected, got) = (decode(&golden), decode(file));
    assert_eq!(got.0, expected.0, "{name}: the size differs");
    let differ = expected
        .1
        .chunks(4)
        .zip(got.1.chunks(4))
        .filter(|(a, b)| a != b)
        .count();
    if differ > 0 {
        let actual = std::env::temp_dir().join(format!("{name}.actual.png"));
        fs::write(&actual, file).expect("the temporary folder can be written");
        panic!(
            "{name}: {differ} pixels differ from {}; what was drawn is {}; \
             if it is right, UPDATE_GOLDEN=1",
            path.display(),
            actual.display()
        );
    }
}

/// Compares text with `tests/golden/NAME`.
pub fn check_text(name: &str, text: &str) {
    let path = path(name);
    if update(&path, text.as_bytes()) {
        return;
    }
    let golden = fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; make it with UPDATE_GOLDEN=1 and read it",
            path.display()
        )
    });
    assert!(
        golden == text,
        "{name} differs; if it is right, UPDATE_GOLDEN=1\n{text}"
    );
}

fn update(path: &Path, bytes: &[u8]) -> bool {
    let wanted = std::env::var_os("UPDATE_GOLDEN").is_some();
    if wanted {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("the golden file can be written");
    }
    wanted
}

fn decode(file: &[u8]) -> ([u32; 2], Vec<u8>) {
    let decoder = png::Decoder::new(std::io::Cursor::new(file));
    let mut reader = decoder.read_info().expect("a PNG");
    let mut bytes = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut bytes).expect("a PNG");
    bytes.truncate(info.buffer_size());
    ([info.width, info.height], bytes)
}
