//! The whole picture as a PNG or an SVG file, natively.
//!
//! Owns the composition: title, legend, overview, states, plot and rates under each other, as on the
//! page and by the same drawing code, with one bundled font, so that a picture is the same on every
//! machine. In an SVG the spans are one embedded PNG and everything else is vectors. Pinned by the
//! exact golden pictures of `tests/it/picture.rs`.

use std::fmt::Write;
use std::sync::Once;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::engine::{Engine, Frame};
use crate::format;
use crate::messages::{FrameRequest, LegendEntry, Question, Rgb, Style, Swatch, Topic};
use crate::plot::charts::{self, FAMILY};
use crate::plot::pixels::Pixels;

pub use crate::plot::theme::{dark, light};
use crate::view::{ColorBy, View};

/// How a picture is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// CSS pixels: width and height.
    pub size: [u32; 2],
    /// Device pixels of a CSS pixel.
    pub scale: f64,
    /// The colours.
    pub style: Style,
}

/// The view as a PNG file.
pub fn png(engine: &mut Engine, view: &View, options: &Options) -> Result<Vec<u8>, String> {
    let picture = Picture::new(engine, view, options);
    let [width, height] = picture.size;
    let mut rgb = vec![0; width as usize * height as usize * 3];
    {
        let backend = BitMapBackend::with_buffer(&mut rgb, (width, height));
        picture
            .draw(&backend.into_drawing_area())
            .map_err(|error| error.to_string())?;
    }
    for (image, at) in picture.images() {
        lay_over(&mut rgb, width, &image, at);
    }
    encode(&rgb, picture.size, png::ColorType::Rgb)
}

/// The view as an SVG file.
pub fn svg(engine: &mut Engine, view: &View, options: &Options) -> Result<String, String> {
    let picture = Picture::new(engine, view, options);
    let [width, height] = picture.size;
    let mut text = String::new();
    {
        let backend = SVGBackend::with_string(&mut text, (width, height));
        let area = backend.into_drawing_area();
        picture.draw(&area).map_err(|error| error.to_string())?;
        area.present().map_err(|error| error.to_string())?;
    }
    let mut images = String::new();
    for (image, [x, y]) in picture.images() {
        let size = [image.width, image.height];
        let png = encode(&image.rgba, size, png::ColorType::Rgba)?;
        let [width, height] = size;
        let data = BASE64_STANDARD.encode(png);
        writeln!(
            images,
            "<image x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
             href=\"data:image/png;base64,{data}\"/>"
        )
        .map_err(|error| error.to_string())?;
    }
    let end = text.rfind("</svg>").ok_or("the SVG has no end")?;
    text.insert_str(end, &images);
    Ok(text)
}

/// An image as a PNG file.
pub fn encode(bytes: &[u8], size: [u32; 2], color: png::ColorType) -> Result<Vec<u8>, String> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, size[0], size[1]);
    encoder.set_color(color);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(|error| error.to_string())?;
    writer
        .write_image_data(bytes)
        .map_err(|error| error.to_string())?;
    writer.finish().map_err(|error| error.to_string())?;
    Ok(file)
}

/// A card's place in device pixels.
#[derive(Clone, Copy)]
struct Card {
    x: i32,
    y: i32,
    width: u32,
    height: u32,
}

struct Picture {
    size: [u32; 2],
    scale: f64,
    style: Style,
    lanes: bool,
    title: String,
    facts: String,
    legend: Vec<LegendEntry>,
    overview: Card,
    states: Card,
    plot: Card,
    rates: Card,
    frame: Frame,
}

const PAD: f64 = 12.0;
const GAP: f64 = 8.0;
const HEAD: f64 = 52.0;
const OVERVIEW: f64 = 46.0;
const RATES: f64 = 96.0;

impl Picture {
    fn new(engine: &mut Engine, view: &View, options: &Options) -> Picture {
        let scale = options.scale;
        let px = |css: f64| (css * scale).round();
        let [width, height] = options.size.map(|css| px(css.into()));
        let summary = engine.summary();
        let edge = engine.edge(view.edge.as_ref());
        let n_lanes = edge.map_or(1, |it| it.calls.instances.len().max(1));
        let lanes = view.lanes && !view.shared;
        engine.answer(Question::of(view, Topic::Happened));
        let states_height = charts::states_height(n_lanes, lanes);
        let mut top = HEAD;
        let mut card = |css_height: f64| {
            let y = px(top);
            top += css_height + GAP;
            Card {
                x: px(PAD) as i32,
                y: y as i32,
                width: (width - 2.0 * px(PAD)).max(1.0) as u32,
                height: px(css_height).max(1.0) as u32,
            }
        };
        let overview = card(OVERVIEW);
        let states = card(states_height);
        let taken = HEAD + OVERVIEW + states_height + RATES + PAD + 3.0 * GAP;
        let plot = card((f64::from(options.size[1]) - taken).max(60.0));
        let rates = card(RATES);
        let area = charts::plot_area([plot.width, plot.height], scale);
        let frame = engine.frame(&FrameRequest::of(
            view,
            [area.width, area.height],
            [overview.width, overview.height],
            options.style.clone(),
        ));
        let scene = &frame.scene;
        let edge = scene.replay.edge.as_ref();
        let edge = edge.map_or(String::new(), |(from, to)| {
            format!(" \u{b7} breaker on {from} \u{2192} {to}")
        });
        Picture {
            size: [width as u32, height as u32],
            scale,
            style: options.style.clone(),
            lanes,
            title: summary.name.clone(),
            facts: format!(
                "{} \u{b7} {} \u{b7} {} \u{b7} {}{edge}",
                summary.exporter,
                format::counted(summary.spans, "span"),
                format::counted(summary.traces, "trace"),
                format::time_range(scene.viewport.t0, scene.viewport.t1),
            ),
            legend: match view.color_by {
                ColorBy::Tier => summary.legend_by_tier,
                ColorBy::Service => summary.legend_by_service,
            },
            overview,
            states,
            plot,
            rates,
            frame,
        }
    }

    /// Everything but the span pixels.
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> charts::Drawn<DB> {
        bundle_font();
        let (scene, style, scale) = (&self.frame.scene, &self.style, self.scale);
        area.fill(&color(style.plot))?;
        let px = |css: f64| (css * scale).round() as i32;
        let text = |text: &str, at: (i32, i32), size: f64, ink: Rgb| {
            let text = format::printable(text);
            let ink = color(ink);
            let font = FontDesc::new(FAMILY, size * scale, FontStyle::Normal);
            let style = TextStyle::from(font).color(&ink);
            area.draw(&Text::new(
                text,
                at,
                style.pos(Pos::new(HPos::Left, VPos::Top)),
            ))
        };
        text(&self.title, (px(PAD), px(8.0)), 14.0, style.ink)?;
        text(&self.facts, (px(PAD), px(27.0)), 11.0, style.ink_2)?;
        self.draw_legend(area)?;
        charts::draw_states(
            &self.card(area, self.states),
            scene,
            style,
            scale,
            self.lanes,
        )?;
        let card = self.card(area, self.plot);
        charts::draw_plot_axes(&card, scene.viewport, scene.marked, style, scale)?;
        charts::draw_rates(&self.card(area, self.rates), scene, style, scale)?;
        let line = color(style.grid);
        for card in [self.overview, self.states, self.plot, self.rates] {
            let (x, y) = (card.x, card.y);
            let corner = (x + card.width as i32 - 1, y + card.height as i32 - 1);
            area.draw(&Rectangle::new([(x, y), corner], line))?;
        }
        Ok(())
    }

    fn card<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        card: Card,
    ) -> DrawingArea<DB, Shift> {
        area.clone()
            .shrink((card.x, card.y), (card.width as i32, card.height as i32))
    }

    /// The legend, from the right edge leftwards.
    fn draw_legend<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> charts::Drawn<DB> {
        let px = |css: f64| (css * self.scale).round() as i32;
        let ink = color(self.style.ink_2);
        let style = TextStyle::from(FontDesc::new(FAMILY, 11.0 * self.scale, FontStyle::Normal))
            .color(&ink);
        let mut right = self.size[0] as i32 - px(PAD);
        for entry in self.legend.iter().rev() {
            let label = legend_label(&entry.label);
            let (width, _) = area.estimate_text_size(&label, &style)?;
            let left = right - width as i32;
            // The title has the left half.
            if left < self.size[0] as i32 / 2 {
                break;
            }
            area.draw(&Text::new(label, (left, px(8.0)), style.clone()))?;
            let swatch = [(left - px(22.0), px(10.0)), (left - px(6.0), px(18.0))];
            let fill = match entry.color {
                Swatch::Series(at) => self.style.series[at as usize % self.style.series.len()],
                Swatch::Failed => self.style.failed,
                Swatch::TimedOut => self.style.timed_out,
            };
            area.draw(&Rectangle::new(swatch, color(fill).filled()))?;
            right = left - px(36.0);
        }
        Ok(())
    }

    /// The pixels to lay over what was drawn, and where.
    fn images(&self) -> [(Pixels, [i32; 2]); 2] {
        let scene = &self.frame.scene;
        let pixels = |[width, height]: [u32; 2], rgba: &[u8]| Pixels {
            width,
            height,
            rgba: rgba.to_vec(),
        };
        let area = charts::plot_area([self.plot.width, self.plot.height], self.scale);
        [
            (
                pixels(scene.overview, &self.frame.overview),
                [self.overview.x, self.overview.y],
            ),
            (
                pixels(scene.plot, &self.frame.plot.rgba),
                [self.plot.x + area.x, self.plot.y + area.y],
            ),
        ]
    }
}

/// A name in the legend, shortened.
fn legend_label(name: &str) -> String {
    const LONGEST: usize = 28;
    let name = format::printable(name);
    match name.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}\u{2026}", &name[..cut]),
        None => name,
    }
}

/// Blends an image with alpha over an image without.
fn lay_over(rgb: &mut [u8], width: u32, image: &Pixels, at: [i32; 2]) {
    for (place, pixel) in image.rgba.chunks_exact(4).enumerate() {
        let (x, y) = (
            place as i32 % image.width as i32,
            place as i32 / image.width as i32,
        );
        let to = ((at[1] + y) as usize * width as usize + (at[0] + x) as usize) * 3;
        let Some(below) = rgb.get_mut(to..to + 3) else {
            continue;
        };
        let alpha = u32::from(pixel[3]);
        for (below, &above) in below.iter_mut().zip(&pixel[..3]) {
            let mixed = u32::from(above) * alpha + u32::from(*below) * (255 - alpha);
            *below = ((mixed + 127) / 255) as u8;
        }
    }
}

/// Makes the bundled font known to plotters, once a process.
pub fn bundle_font() {
    static ONCE: Once = Once::new();
    static BYTES: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");
    ONCE.call_once(|| {
        // The font is bundled and tested: it is valid.
        let known = plotters::style::register_font(FAMILY.as_str(), FontStyle::Normal, BYTES);
        debug_assert!(known.is_ok());
    });
}

fn color([r, g, b]: Rgb) -> RGBColor {
    RGBColor(r, g, b)
}
