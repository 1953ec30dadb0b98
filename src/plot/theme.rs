//! The colours of the page's themes, where there is no stylesheet to read them from.
//!
//! Owns the same values as `www/style.css`. Pinned by `tests/it/picture.rs`, which compares them with it.

use crate::messages::{Rgb, Style};

/// The colours of the page's light theme.
pub fn light() -> Style {
    Style {
        series: [
            0x0072b2, 0x56b4e9, 0x009e73, 0xa5609a, 0x8a7a12, 0x3b3fa0, 0x3f8f99, 0x7a5540,
        ]
        .map(rgb),
        failed: rgb(0xe69f00),
        timed_out: rgb(0xd5431a),
        closed: rgb(0x138a8a),
        open: rgb(0xd5431a),
        half_open: rgb(0xe0a100),
        ramping: rgb(0x7a5bd0),
        plot: rgb(0xffffff),
        grid: rgb(0xeef1f4),
        ink: rgb(0x16202c),
        ink_2: rgb(0x526070),
        ink_3: rgb(0x6b7787),
    }
}

/// The colours of the page's dark theme.
pub fn dark() -> Style {
    Style {
        series: [
            0x4aa8e8, 0x86cdf5, 0x3cc79b, 0xd79ccb, 0xd8ca5c, 0x8f94f0, 0x7fd0d8, 0xc9a088,
        ]
        .map(rgb),
        failed: rgb(0xf2b134),
        timed_out: rgb(0xff7452),
        closed: rgb(0x37bdbd),
        open: rgb(0xff7452),
        half_open: rgb(0xf2b134),
        ramping: rgb(0xa38bf0),
        plot: rgb(0x10161d),
        grid: rgb(0x1a222c),
        ink: rgb(0xe8edf3),
        ink_2: rgb(0xa3b0be),
        ink_3: rgb(0x7f8d9c),
    }
}

fn rgb(hex: u32) -> Rgb {
    let [_, r, g, b] = hex.to_be_bytes();
    [r, g, b]
}
