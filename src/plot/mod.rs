//! From spans to pixels, and from figures to charts.
//!
//! [`raster`] colours the pixels of the span plot itself, [`overview`] those of the strip above it;
//! [`charts`] draws axes, states and rates with plotters, over whatever backend it is given;
//! [`picture`] composes all of them into one image. [`scale`] alone knows which pixel a time or a
//! rank falls on, for drawing and for [`hit`] alike.

pub mod charts;
pub mod hit;
pub mod look;
pub mod overview;
pub mod panned;
#[cfg(not(target_arch = "wasm32"))]
pub mod picture;
pub mod pixels;
pub mod raster;
pub mod scale;
pub mod theme;
