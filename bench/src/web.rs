//! The same as exports, and plotters-canvas alone.

use plotters::prelude::*;
use plotters_canvas::CanvasBackend;
use wasm_bindgen::prelude::*;
use web_sys::HtmlCanvasElement;

use crate::loaded::Bar;

/// See [`crate::table`].
#[wasm_bindgen]
pub fn table(bytes: &[u8]) -> Result<usize, String> {
    crate::table(bytes)
}

/// See [`crate::rows`].
#[wasm_bindgen]
pub fn rows(bytes: &[u8]) -> Result<usize, String> {
    crate::rows(bytes)
}

/// See [`crate::records`].
#[wasm_bindgen]
pub fn records(bytes: &[u8]) -> Result<usize, String> {
    crate::records(bytes)
}

/// See [`crate::Loaded`].
#[wasm_bindgen]
#[derive(Default)]
pub struct Loaded {
    it: crate::Loaded,
    bars: Vec<Bar>,
}

#[wasm_bindgen]
#[allow(missing_docs, reason = "as the ones without a browser")]
impl Loaded {
    #[wasm_bindgen(constructor)]
    pub fn new() -> Loaded {
        Loaded::default()
    }

    pub fn push(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.it.push(bytes)
    }

    pub fn finish(&mut self, bars: bool) -> Result<usize, String> {
        self.bars = self.it.finish(bars)?;
        Ok(self.bars.len())
    }

    pub fn calls(&self) -> usize {
        self.it.calls()
    }

    pub fn replay(&self) -> usize {
        self.it.replay()
    }

    pub fn view(&self, x0: f64, x1: f64, y0: f64, y1: f64) -> Vec<f64> {
        self.it.view([x0, x1, y0, y1]).to_vec()
    }

    #[allow(clippy::too_many_arguments, reason = "JavaScript has no tuples")]
    pub fn frame(
        &mut self,
        x0: f64,
        x1: f64,
        y0: f64,
        y1: f64,
        width: u32,
        height: u32,
    ) -> Vec<u8> {
        self.it.frame([x0, x1, y0, y1], [width, height])
    }

    pub fn from(&self) -> Vec<f64> {
        self.bars.iter().map(|it| it.from).collect()
    }

    pub fn to(&self) -> Vec<f64> {
        self.bars.iter().map(|it| it.to).collect()
    }

    pub fn row(&self) -> Vec<u32> {
        self.bars.iter().map(|it| it.row).collect()
    }

    pub fn color(&self) -> Vec<u32> {
        self.bars.iter().map(|it| it.color).collect()
    }

    pub fn alpha(&self) -> Vec<u8> {
        self.bars.iter().map(|it| it.alpha).collect()
    }

    /// A chart of rectangles, as the library's users draw one.
    pub fn plotters(&self, canvas: HtmlCanvasElement, view: &[f64]) -> Result<(), String> {
        let &[from, to, top, bottom] = view else {
            return Err("a view has four sides".to_owned());
        };
        let said = |error: DrawingAreaErrorKind<_>| error.to_string();
        let backend = CanvasBackend::with_canvas_object(canvas).ok_or("that is no canvas")?;
        let area = backend.into_drawing_area();
        area.fill(&WHITE).map_err(said)?;
        let mut chart = ChartBuilder::on(&area)
            .set_label_area_size(LabelAreaPosition::Left, 60)
            .set_label_area_size(LabelAreaPosition::Bottom, 30)
            .build_cartesian_2d(from..to, bottom..top)
            .map_err(said)?;
        chart.configure_mesh().draw().map_err(said)?;
        let in_view = |it: &&Bar| {
            let row = f64::from(it.row);
            it.to >= from && it.from < to && row + 1.0 > top && row < bottom
        };
        let rectangle = |it: &Bar| {
            let [_, red, green, blue] = it.color.to_be_bytes();
            let color = RGBAColor(red, green, blue, f64::from(it.alpha) / 255.0);
            let row = f64::from(it.row);
            Rectangle::new([(it.from, row), (it.to, row + 1.0)], color.filled())
        };
        chart
            .draw_series(self.bars.iter().filter(in_view).map(rectangle))
            .map_err(said)?;
        area.present().map_err(said)
    }
}
