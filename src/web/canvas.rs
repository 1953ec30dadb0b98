//! A canvas for plotters to draw on.
//!
//! Ours because the one there is prints fractions and brings std's machinery for them along: nine kilobytes.
//! Invariant: coordinates are device pixels, and a stroke covers whole ones. What no chart uses is left to
//! plotters' defaults. Cost: some calls into the browser a primitive.

use std::fmt;

use plotters::style::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    FontTransform,
};
use wasm_bindgen::prelude::*;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use crate::web::dom;

/// What plotters draws on.
pub struct Canvas {
    canvas: HtmlCanvasElement,
    context: CanvasRenderingContext2d,
}

/// The browser refused to draw.
#[derive(Debug)]
pub struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("the browser refused to draw")
    }
}

impl std::error::Error for Refused {}

type Drawn = Result<(), DrawingErrorKind<Refused>>;

impl Canvas {
    pub fn new(canvas: &HtmlCanvasElement) -> Result<Canvas, JsValue> {
        let context = canvas.get_context("2d")?.ok_or("no canvas to paint on")?;
        Ok(Canvas {
            canvas: canvas.clone(),
            context: context.dyn_into()?,
        })
    }

    fn fill_with(&self, color: BackendColor) {
        self.context.set_fill_style_str(&css(color));
    }

    fn stroke_with<S: BackendStyle>(&self, style: &S) {
        self.context.set_stroke_style_str(&css(style.color()));
        self.context.set_line_width(style.stroke_width().into());
    }

    /// A line through points; `shift` moves it between the pixels or into their middle.
    fn trace(&self, points: impl Iterator<Item = BackendCoord>, shift: f64) {
        self.context.begin_path();
        // The first one moves, too: a path without a point has no line yet.
        for (x, y) in points {
            self.context
                .line_to(f64::from(x) + shift, f64::from(y) + shift);
        }
    }
}

impl DrawingBackend for Canvas {
    type ErrorType = Refused;

    fn get_size(&self) -> (u32, u32) {
        (self.canvas.width(), self.canvas.height())
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, color: BackendColor) -> Drawn {
        self.fill_with(color);
        self.context.fill_rect(x.into(), y.into(), 1.0, 1.0);
        Ok(())
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let (x, y) = (from.0.into(), from.1.into());
        let (width, height) = ((to.0 - from.0).into(), (to.1 - from.1).into());
        if fill {
            self.fill_with(style.color());
            self.context.fill_rect(x, y, width, height);
        } else {
            self.stroke_with(style);
            self.context.stroke_rect(x, y, width, height);
        }
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        self.stroke_with(style);
        // A stroke lies to both sides of its line.
        let shift = f64::from(style.stroke_width() % 2) / 2.0;
        self.trace(path.into_iter(), shift);
        self.context.stroke();
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        self.fill_with(style.color());
        self.trace(path.into_iter(), 0.0);
        self.context.fill();
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Drawn {
        debug_assert!(matches!(style.transform(), FontTransform::None));
        let anchor = style.anchor();
        self.context.set_text_align(match anchor.h_pos {
            HPos::Left => "left",
            HPos::Center => "center",
            HPos::Right => "right",
        });
        self.context.set_text_baseline(match anchor.v_pos {
            VPos::Top => "top",
            VPos::Center => "middle",
            VPos::Bottom => "bottom",
        });
        let family = style.family();
        self.context
            .set_font(&format!("{} {}", dom::px(style.size()), family.as_str()));
        self.fill_with(style.color());
        self.context
            .fill_text(text, x.into(), y.into())
            .map_err(|_| DrawingErrorKind::DrawingError(Refused))
    }
}

fn css(color: BackendColor) -> String {
    let (r, g, b) = color.rgb;
    let alpha = (color.alpha * 255.0).round() as u8;
    format!("#{r:02x}{g:02x}{b:02x}{alpha:02x}")
}
