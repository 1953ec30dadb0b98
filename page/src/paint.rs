//! The canvases: their sizes in device pixels, and what is painted on them.
//!
//! Invariant: a canvas has exactly the device pixels that it covers, at any pixel ratio and zoom of
//! the browser. Cost a frame: one copy of the pixels, and a few hundred primitives of the charts.

use std::cell::Cell;
use std::rc::Rc;

use js_sys::{Array, ArrayBuffer, Reflect, Uint8ClampedArray};
use plotters::prelude::IntoDrawingArea;
use wasm_bindgen::prelude::*;
use web_sys::{
    CanvasRenderingContext2d, Element, HtmlCanvasElement, HtmlElement, ImageData, ResizeObserver,
    ResizeObserverBoxOptions, ResizeObserverEntry, ResizeObserverOptions,
};

use crate::canvas::Canvas;
use crate::dom::{self, Dom};
use crate::page::App;
use herdscope::messages::{Scene, Style};
use herdscope::plot::charts;

/// Pixels of the pictures that the engine draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// Of the plot area, device pixels.
    pub plot: [u32; 2],
    /// Of the overview strip, device pixels.
    pub overview: [u32; 2],
    /// Of the simulated run's plot area, device pixels; nothing where it is not shown.
    pub simulated: [u32; 2],
}

/// A canvas, and the device pixels that it covers.
struct Surface {
    canvas: HtmlCanvasElement,
    size: Cell<[u32; 2]>,
}

/// All canvases.
pub struct Painter {
    dom: Dom,
    chart: Surface,
    beside: Surface,
    states: Surface,
    rates: Surface,
    overview: Surface,
    spans: HtmlCanvasElement,
    simulated: HtmlCanvasElement,
}

impl Painter {
    pub fn new(dom: &Dom) -> Result<Painter, JsValue> {
        let surface = |id: &str| Surface {
            canvas: dom.get(id),
            size: Cell::new([0, 0]),
        };
        Ok(Painter {
            dom: dom.clone(),
            chart: surface("chart-canvas"),
            beside: surface("beside-canvas"),
            states: surface("states-canvas"),
            rates: surface("rates-canvas"),
            overview: surface("overview-canvas"),
            spans: dom.get("span-canvas"),
            simulated: dom.get("simulated-canvas"),
        })
    }

    /// Follows the sizes of the canvases.
    pub fn install(&self, app: &Rc<App>) {
        let watched = app.clone();
        let on_resize = Closure::<dyn FnMut(Array)>::new(move |entries: Array| {
            let mut changed = false;
            for entry in entries.iter() {
                let entry: ResizeObserverEntry = entry.unchecked_into();
                changed |= watched.painter.resized(&entry);
            }
            if changed {
                watched.request_frame();
            }
        });
        let Some(observer) = app.report(ResizeObserver::new(on_resize.as_ref().unchecked_ref()))
        else {
            return;
        };
        on_resize.forget();
        for surface in self.surfaces() {
            let options = ResizeObserverOptions::new();
            options.set_box(ResizeObserverBoxOptions::DevicePixelContentBox);
            let observed = Reflect::get(&observer, &"observe".into())
                .and_then(|observe| observe.dyn_into::<js_sys::Function>())
                .and_then(|observe| observe.call2(&observer, &surface.canvas, &options));
            if observed.is_err() {
                // A browser that does not measure device pixels: the size is worked out.
                observer.observe(&surface.canvas);
            }
        }
        app.listen(&app.dom.window, "resize", |app, _| remeasure(app));
        follow_ratio(app);
    }

    /// What the engine is to draw; `None` while there is no room for it.
    pub fn sizes(&self) -> Option<Sizes> {
        let scale = self.dom.scale();
        let [width, height] = self.chart.size.get();
        if width == 0 || height == 0 {
            return None;
        }
        let area = |size: [u32; 2]| match size {
            [0, _] | [_, 0] => [0, 0],
            size => {
                let area = charts::plot_area(size, scale);
                [area.width, area.height]
            }
        };
        Some(Sizes {
            plot: area([width, height]),
            overview: self.overview.size.get(),
            simulated: area(self.beside.size.get()),
        })
    }

    /// Paints one viewport, spans and axes together.
    pub fn paint(
        &self,
        scene: &Scene,
        pixels: &[ArrayBuffer],
        style: &Style,
        lanes: bool,
    ) -> Result<(), JsValue> {
        let scale = self.dom.scale();
        self.lay_out(scene, scale, lanes);
        if let [plot, overview, simulated, ..] = pixels {
            put(&self.spans, plot, scene.plot)?;
            put(&self.overview.canvas, overview, scene.overview)?;
            put(
                &self.simulated,
                simulated,
                scene.simulated.map_or([0, 0], |it| it.size),
            )?;
        }
        let failed = |_| JsValue::from_str("a chart cannot be drawn");
        if let Some(area) = self.chart.begin()? {
            charts::draw_plot_axes(&area, scene.viewport, scene.marked, style, scale)
                .map_err(failed)?;
        }
        if let Some(it) = scene.simulated
            && let Some(area) = self.beside.begin()?
        {
            charts::draw_plot_axes(&area, it.viewport, None, style, scale).map_err(failed)?;
        }
        if let Some(area) = self.states.begin()? {
            charts::draw_states(&area, scene, style, scale, lanes).map_err(failed)?;
        }
        if let Some(area) = self.rates.begin()? {
            charts::draw_rates(&area, scene, style, scale).map_err(failed)?;
        }
        Ok(())
    }

    /// Lays the span canvas over the plot area, and gives the states the height that they need.
    fn lay_out(&self, scene: &Scene, scale: f64, lanes: bool) {
        let plots = [
            ("plot", &self.chart, Some(scene.plot)),
            ("beside", &self.beside, scene.simulated.map(|it| it.size)),
        ];
        for (id, surface, size) in plots {
            let Some(size) = size else {
                continue;
            };
            let area = charts::plot_area(surface.size.get(), scale);
            let lengths = [
                ("--x", f64::from(area.x)),
                ("--y", f64::from(area.y)),
                ("--width", f64::from(size[0])),
                ("--height", f64::from(size[1])),
            ];
            let plot: HtmlElement = self.dom.html(id);
            for (name, device_px) in lengths {
                dom::style(&plot, name, &dom::px(device_px / scale));
            }
        }
        let height = charts::states_height(scene.replay.lanes.len(), lanes);
        dom::style(&self.dom.html("states"), "--height", &dom::px(height + 2.0));
    }

    fn surfaces(&self) -> [&Surface; 5] {
        [
            &self.chart,
            &self.beside,
            &self.states,
            &self.rates,
            &self.overview,
        ]
    }

    /// Takes a size; whether it is a new one.
    fn resized(&self, entry: &ResizeObserverEntry) -> bool {
        let target: Element = entry.target();
        let surface = self
            .surfaces()
            .into_iter()
            .find(|it| it.canvas.is_same_node(Some(&target)));
        let size = device_size(entry, self.dom.scale());
        surface.is_some_and(|it| it.size.replace(size) != size)
    }
}

impl Surface {
    /// An empty canvas of the right size to draw a chart on; `None` while it has no room.
    fn begin(&self) -> Result<Option<Area>, JsValue> {
        let [width, height] = self.size.get();
        if width == 0 || height == 0 {
            return Ok(None);
        }
        resize(&self.canvas, [width, height]);
        let backend = Canvas::new(self.canvas.clone());
        Ok(backend.map(IntoDrawingArea::into_drawing_area))
    }
}

type Area = plotters::drawing::DrawingArea<Canvas, plotters::coord::Shift>;

/// The pixel ratio has changed, perhaps, and nothing else: another screen.
fn remeasure(app: &App) {
    let scale = app.dom.scale();
    let mut changed = false;
    for surface in app.painter.surfaces() {
        let rect = surface.canvas.get_bounding_client_rect();
        let size = worked_out([rect.width(), rect.height()], scale);
        if !is_near(size, surface.size.get()) {
            surface.size.set(size);
            changed = true;
        }
    }
    if changed {
        app.request_frame();
    }
}

/// Hears of the next change of the pixel ratio, and of all that follow.
fn follow_ratio(app: &Rc<App>) {
    let query = format!("(resolution: {}dppx)", dom::number(app.dom.scale()));
    if let Ok(Some(media)) = app.dom.window.match_media(&query) {
        let (app, passed) = (app.clone(), media.clone());
        let on_change = Closure::once_into_js(move || {
            passed.set_onchange(None);
            remeasure(&app);
            follow_ratio(&app);
        });
        media.set_onchange(Some(on_change.unchecked_ref()));
    }
}

/// Device pixels of an element, as the browser measures them where it does.
fn device_size(entry: &ResizeObserverEntry, scale: f64) -> [u32; 2] {
    let rect = entry.content_rect();
    let expected = worked_out([rect.width(), rect.height()], scale);
    let measured = || -> Option<[u32; 2]> {
        let boxes = Reflect::get(entry, &"devicePixelContentBoxSize".into()).ok()?;
        let size = Reflect::get_u32(&boxes, 0).ok()?;
        let side = |name: &str| Some(Reflect::get(&size, &name.into()).ok()?.as_f64()? as u32);
        Some([side("inlineSize")?, side("blockSize")?])
    };
    // A browser that pretends to another pixel ratio measures by its own.
    let measured = measured().filter(|it| is_near(*it, expected));
    measured.unwrap_or(expected)
}

fn worked_out(css: [f64; 2], scale: f64) -> [u32; 2] {
    css.map(|it| (it * scale).round() as u32)
}

/// Whether two sizes differ by no more than rounding.
fn is_near(a: [u32; 2], b: [u32; 2]) -> bool {
    a[0].abs_diff(b[0]) <= 1 && a[1].abs_diff(b[1]) <= 1
}

fn resize(canvas: &HtmlCanvasElement, [width, height]: [u32; 2]) {
    if canvas.width() != width {
        canvas.set_width(width);
    }
    if canvas.height() != height {
        canvas.set_height(height);
    }
}

/// Puts pixels on a canvas, which takes their size.
fn put(
    canvas: &HtmlCanvasElement,
    pixels: &ArrayBuffer,
    [width, height]: [u32; 2],
) -> Result<(), JsValue> {
    if width == 0 || height == 0 {
        return Ok(());
    }
    resize(canvas, [width, height]);
    let context = canvas.get_context("2d")?.ok_or("no canvas to paint on")?;
    let context: CanvasRenderingContext2d = context.dyn_into()?;
    let bytes = Uint8ClampedArray::new(pixels);
    let image = ImageData::new_with_js_u8_clamped_array_and_sh(&bytes, width, height)?;
    context.put_image_data(&image, 0.0, 0.0)
}
