//! A canvas that plotters draws on.
//!
//! Owns how its shapes and texts become strokes and fills of the browser's context. What plotters-canvas does by
//! itself prints numbers, and what prints them is a fiftieth of the page; here the browser prints them. The pixels are
//! the same. Pinned by the pictures of the browser tests.

use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};
use plotters_canvas::CanvasBackend;
use wasm_bindgen::JsCast;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use crate::dom;

/// See the module.
pub struct Canvas {
    whole: CanvasBackend,
    context: CanvasRenderingContext2d,
    /// What is told already: telling it again takes as long as drawing a shape.
    fill: Option<Told>,
    stroke: Option<(Told, u32)>,
    font: String,
}

/// A colour and its opacity.
type Told = ((u8, u8, u8), f64);

type Drawn = Result<(), DrawingErrorKind<<CanvasBackend as DrawingBackend>::ErrorType>>;

impl Canvas {
    /// `None` where a canvas has no context to draw with.
    pub fn new(canvas: HtmlCanvasElement) -> Option<Canvas> {
        let context = canvas.get_context("2d").ok()??;
        Some(Canvas {
            context: context.dyn_into().ok()?,
            whole: CanvasBackend::with_canvas_object(canvas)?,
            fill: None,
            stroke: None,
            font: String::new(),
        })
    }

    fn fill_with(&mut self, color: BackendColor) {
        let color = (color.rgb, color.alpha);
        if self.fill.replace(color) != Some(color) {
            self.context.set_fill_style_str(&css(color));
        }
    }

    /// Goes along points; whether there are any.
    fn go(&self, path: impl IntoIterator<Item = BackendCoord>) {
        self.context.begin_path();
        for (x, y) in path {
            // The first one begins the path.
            self.context.line_to(x.into(), y.into());
        }
    }
}

fn css(((r, g, b), alpha): Told) -> String {
    let [r, g, b] = [r, g, b].map(|it| it.to_string());
    let alpha = dom::number(alpha);
    ["rgba(", &r, ",", &g, ",", &b, ",", &alpha, ")"].concat()
}

impl DrawingBackend for Canvas {
    type ErrorType = <CanvasBackend as DrawingBackend>::ErrorType;

    fn get_size(&self) -> (u32, u32) {
        self.whole.get_size()
    }

    fn ensure_prepared(&mut self) -> Drawn {
        self.whole.ensure_prepared()
    }

    fn present(&mut self) -> Drawn {
        self.whole.present()
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
        _fill: bool,
    ) -> Drawn {
        self.fill_with(style.color());
        let (width, height) = (to.0 - from.0, to.1 - from.1);
        self.context
            .fill_rect(from.0.into(), from.1.into(), width.into(), height.into());
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        let (color, width) = (style.color(), style.stroke_width());
        let stroke = ((color.rgb, color.alpha), width);
        if self.stroke.replace(stroke) != Some(stroke) {
            self.context.set_stroke_style_str(&css(stroke.0));
            self.context.set_line_width(width.into());
        }
        self.go(path);
        self.context.stroke();
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        self.fill_with(style.color());
        self.go(path);
        self.context.fill();
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: BackendCoord) -> Drawn {
        self.context.set_text_baseline(match style.anchor().v_pos {
            VPos::Top => "top",
            VPos::Center => "middle",
            VPos::Bottom => "bottom",
        });
        self.context.set_text_align(match style.anchor().h_pos {
            HPos::Left => "start",
            HPos::Right => "end",
            HPos::Center => "center",
        });
        self.fill_with(style.color());
        let font = [&dom::number(style.size()), "px ", style.family().as_str()].concat();
        if self.font != font {
            self.context.set_font(&font);
            self.font = font;
        }
        // A text that the browser does not draw is none.
        let _ = self.context.fill_text(text, at.0.into(), at.1.into());
        Ok(())
    }
}
