//! Axes, states and rates, drawn with plotters over any of its backends.
//!
//! Owns the layout within each card. Every function draws one card from a [`Scene`] alone: the page
//! calls them with a canvas, the command line with a bitmap or an SVG, and both show the same. All
//! lengths are CSS pixels times `scale`, rounded, so lines are crisp at any pixel ratio. Cost: a few
//! hundred primitives, bounded by the width in pixels. Pinned by the golden pictures of
//! `tests/it/plot.rs`.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::format;
use crate::messages::{Band, BandState, Lane, NO_RATE, Rgb, Scene, Style};
use crate::order::sorted;
use crate::plot::scale::Scale;
use crate::view::{MILLI, Viewport};

/// What drawing returns.
pub type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// The family of all texts.
pub const FAMILY: FontFamily<'static> = FontFamily::SansSerif;

/// Where the plot area lies in its card, in device pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlotArea {
    /// From the card's left edge.
    pub x: i32,
    /// From its upper edge.
    pub y: i32,
    /// Width, at least 1.
    pub width: u32,
    /// Height, at least 1.
    pub height: u32,
}

/// CSS pixels left of every plot, for labels; the same in all cards, so that times line up.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 26.0;
const TEXT: f64 = 11.0;
/// Half the width of a digit of that size, amply.
const HALF_DIGIT: f64 = 3.6;

/// The plot area of a card of that many device pixels.
pub fn plot_area(card: [u32; 2], scale: f64) -> PlotArea {
    let [x, y, right, bottom] = [LEFT, TOP, RIGHT, BOTTOM].map(|css| (css * scale).round() as i32);
    let size = |whole: u32, taken: i32| (whole as i32 - taken).max(1) as u32;
    PlotArea {
        x,
        y,
        width: size(card[0], x + right),
        height: size(card[1], y + bottom),
    }
}

/// Draws grid, axes and labels of the span plot, and the mark at the picked trace.
pub fn draw_plot_axes<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    viewport: Viewport,
    marked: Option<u32>,
    style: &Style,
    scale: f64,
) -> Drawn<DB> {
    let pen = Pen::new(area, style, scale);
    let plot = plot_area(pen.size(), scale);
    let on = Scale::new(viewport, [plot.width, plot.height]);
    let (left, right) = (plot.x, plot.x + plot.width as i32);
    let (top, bottom) = (plot.y, plot.y + plot.height as i32);
    pen.rect(
        [0, 0],
        [pen.size()[0] as i32, pen.size()[1] as i32],
        style.plot,
        1.0,
    )?;
    let ticks = time_ticks(viewport, f64::from(plot.width) / scale);
    for &time in &ticks.times {
        let x = left + on.x(time).round() as i32;
        pen.line([x, top], [x, bottom], style.grid)?;
        let midnight = time.rem_euclid(DAY) == 0;
        let label = match midnight {
            true => format::date(time),
            false => format::time_of_day(time, ticks.decimals),
        };
        // A label at the edge moves in rather than being cut off.
        let half = pen.px(label.len() as f64 * HALF_DIGIT);
        let middle = x.min(pen.size()[0] as i32 - half);
        let at = [middle, bottom + pen.px(7.0)];
        pen.text(&label, at, (HPos::Center, VPos::Top), style.ink_3)?;
    }
    for rank in rank_ticks(viewport, f64::from(plot.height) / scale) {
        let y = top + on.y(rank).round() as i32;
        pen.line([left, y], [right, y], style.grid)?;
        let label = format!("#{}", format::count(rank.into()));
        pen.text(
            &label,
            [left - pen.px(8.0), y],
            (HPos::Right, VPos::Center),
            style.ink_3,
        )?;
    }
    if let Some(rank) = marked {
        let y = top + (on.y(rank) + on.row_height() / 2.0).round() as i32;
        if (top..bottom).contains(&y) {
            let half = pen.px(4.0);
            let tip = [left, y];
            pen.triangle(
                tip,
                [left - 2 * half, y - half],
                [left - 2 * half, y + half],
                style.ink,
            )?;
        }
    }
    Ok(())
}

/// The height that [`draw_states`] wants, in CSS pixels.
pub fn states_height(lanes: usize, expanded: bool) -> f64 {
    TOP + Rows::new(lanes, expanded).height() + RATE_GAP + RATE + TOP
}

/// The replayed states of an instance, with their gap.
const ROW: f64 = 18.0;
/// The observed ones above them.
const HALF_ROW: f64 = 8.0;
/// All instances together, observed or replayed.
const BAND: f64 = 16.0;
/// Between the two.
const APART: f64 = 4.0;
const RATE_GAP: f64 = 8.0;
/// The failure rate's strip.
const RATE: f64 = 32.0;

/// How the bands of the states stand: those of all instances together, the observed above the replayed,
/// or a row for each instance with both.
struct Rows {
    lanes: f64,
    expanded: bool,
}

impl Rows {
    fn new(lanes: usize, expanded: bool) -> Rows {
        Rows {
            lanes: lanes.max(1) as f64,
            expanded,
        }
    }

    fn height(&self) -> f64 {
        match self.expanded {
            true => self.lanes * (HALF_ROW + ROW),
            false => 2.0 * BAND + APART,
        }
    }

    /// From the first row's top: where a lane begins, and its height with its gap.
    fn place(&self, at: usize, observed: bool) -> (f64, f64) {
        let (whole, first) = match self.expanded {
            true => (HALF_ROW + ROW, HALF_ROW),
            false => (BAND / self.lanes, if observed { 0.0 } else { BAND + APART }),
        };
        let top = at as f64 * whole;
        match (self.expanded, observed) {
            (true, true) => (top, HALF_ROW),
            (true, false) => (top + first, ROW - 2.0),
            (false, _) => (first + top, whole),
        }
    }
}

/// Draws the observed and the replayed states, one band an instance, and the failure rate against its
/// threshold.
pub fn draw_states<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    scene: &Scene,
    style: &Style,
    scale: f64,
    expanded: bool,
) -> Drawn<DB> {
    let pen = Pen::new(area, style, scale);
    let [width, height] = pen.size().map(|it| it as i32);
    pen.rect([0, 0], [width, height], style.plot, 1.0)?;
    let plot = plot_area(pen.size(), scale);
    let replay = &scene.replay;
    let rows = Rows::new(replay.lanes.len(), expanded);
    let name = |text: &str, middle: f64| {
        let at = [plot.x - pen.px(8.0), pen.px(TOP + middle)];
        pen.text(text, at, (HPos::Right, VPos::Center), style.ink_3)
    };
    for (lanes, observed) in [(&replay.observed, true), (&replay.lanes, false)] {
        for (at, lane) in lanes.iter().enumerate() {
            let (top, height) = rows.place(at, observed);
            let gap = if height >= 4.0 { 1.0 } else { 0.0 };
            let y = pen.px(TOP + top);
            let y = [y, pen.px(TOP + top + height - gap).max(y + 1)];
            draw_lane(&pen, scene.viewport, plot, lane, y)?;
            if expanded && !observed {
                let instance = lane.instance.as_deref().unwrap_or("all");
                name(&ending(instance, 8), top + (height - gap) / 2.0)?;
            }
        }
    }
    if !expanded {
        name("observed", BAND * 0.5)?;
        name("replayed", BAND * 1.5 + APART)?;
    }
    draw_failure_rate(&pen, scene, plot, TOP + rows.height() + RATE_GAP)
}

/// Draws requests per second: sent, timed out, withheld, and what a dashboard would show.
pub fn draw_rates<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    scene: &Scene,
    style: &Style,
    scale: f64,
) -> Drawn<DB> {
    const HEAD: f64 = 24.0;
    const FOOT: f64 = 12.0;
    let pen = Pen::new(area, style, scale);
    let [width, height] = pen.size().map(|it| it as i32);
    pen.rect([0, 0], [width, height], style.plot, 1.0)?;
    let plot = plot_area(pen.size(), scale);
    let rates = &scene.rates;
    let on = Scale::new(scene.viewport, [plot.width, 1]);
    let (top, bottom) = (pen.px(HEAD), height - pen.px(FOOT));
    let seconds = rates.step as f64 / 1e9;
    let highest = |bins: &[u32]| bins.iter().copied().max().unwrap_or(0);
    let stacked = rates
        .sent
        .iter()
        .zip(&rates.withheld)
        .map(|(sent, withheld)| sent + withheld);
    let most = stacked
        .max()
        .unwrap_or(0)
        .max(highest(&rates.timed_out))
        .max(highest(&rates.failed));
    let average = rates.minute_average.iter().copied().fold(0.0, f32::max);
    let most = f64::from(most.max(1)).max(f64::from(average) * seconds);
    let y = |count: f64| bottom - (count / most * f64::from(bottom - top)).round() as i32;
    let title = rates_title(f64::from(pen.size()[0]) / scale);
    pen.text(
        title,
        [pen.px(10.0), pen.px(6.0)],
        (HPos::Left, VPos::Top),
        style.ink_3,
    )?;
    let x = |bin: usize| {
        let time = rates
            .from
            .saturating_add(rates.step.saturating_mul(bin as i64));
        plot.x + on.x(time).round().max(0.0).min(plot.width.into()) as i32
    };
    for bin in 0..rates.sent.len() {
        let (from, to) = (x(bin), x(bin + 1));
        let to = if to - from > 3 {
            to - pen.px(1.0).min(1)
        } else {
            to.max(from + 1)
        };
        if from >= plot.x + plot.width as i32 {
            continue;
        }
        let (sent, withheld) = (f64::from(rates.sent[bin]), f64::from(rates.withheld[bin]));
        if withheld > 0.0 {
            pen.rect([from, y(sent + withheld)], [to, y(sent)], style.ink_3, 0.35)?;
        }
        if sent > 0.0 {
            pen.rect(
                [from, y(sent).min(bottom - 1)],
                [to, bottom],
                style.series[0],
                0.6,
            )?;
        }
        let narrow = (to - from) / 4;
        let over = [
            (rates.failed[bin], style.failed),
            (rates.timed_out[bin], style.timed_out),
        ];
        for (count, color) in over.into_iter().filter(|(count, _)| *count > 0) {
            let top = y(count.into()).min(bottom - 1);
            pen.rect([from + narrow, top], [to - narrow, bottom], color, 0.95)?;
        }
    }
    let averages = [
        (&rates.autoscaler, style.ink_3),
        (&rates.minute_average, style.ink),
    ];
    for (average, color) in averages {
        let mut first = 0;
        for same in average.chunk_by(|a, b| a == b) {
            let end = first + same.len();
            let at = y(f64::from(same[0]) * seconds);
            pen.dashes([x(first), x(end)], at, color)?;
            first = end;
        }
    }
    let label = format::rate(most / seconds);
    let right = plot.x - pen.px(8.0);
    pen.text(
        &label,
        [right, top],
        (HPos::Right, VPos::Center),
        style.ink_3,
    )?;
    pen.text(
        "0",
        [right, bottom],
        (HPos::Right, VPos::Center),
        style.ink_3,
    )
}

/// What the rates are, in as many words as a card of that many CSS pixels has room for.
fn rates_title(width: f64) -> &'static str {
    match width {
        680.0.. => {
            "requests/s \u{2013} sent \u{b7} timed out \u{b7} failed \u{b7} withheld by the replay (grey) \u{b7} \
             dashes: a dashboard\u{2019}s 1-minute average, an autoscaler\u{2019}s (pale)"
        }
        420.0.. => {
            "requests/s \u{2013} sent \u{b7} timed out \u{b7} failed \u{b7} withheld (grey) \u{b7} 1-minute \
             averages (dashes)"
        }
        _ => "requests/s \u{2013} 1-minute average dashed",
    }
}

/// The name that a state band carries.
pub fn state_name(state: BandState) -> &'static str {
    match state {
        BandState::Closed => "closed",
        BandState::Open => "open",
        BandState::HalfOpen => "half-open",
        BandState::Ramping => "ramping",
        BandState::Unknown => "cannot tell",
    }
}

/// The colour of a state.
pub fn state_color(state: BandState, style: &Style) -> Rgb {
    match state {
        BandState::Closed => style.closed,
        BandState::Open => style.open,
        BandState::HalfOpen => style.half_open,
        BandState::Ramping => style.ramping,
        BandState::Unknown => style.grid,
    }
}

fn draw_lane<DB: DrawingBackend>(
    pen: &Pen<'_, DB>,
    viewport: Viewport,
    plot: PlotArea,
    lane: &Lane,
    y: [i32; 2],
) -> Drawn<DB> {
    let on = Scale::new(viewport, [plot.width, 1]);
    let x = |time: i64| plot.x + on.x(time).round().max(0.0).min(plot.width.into()) as i32;
    // Short states are painted last and at least two pixels wide: a probe phase must be seen.
    let length = |band: &Band| band.to - band.from;
    let bands = sorted(lane.bands.clone(), &mut |a, b| length(b).cmp(&length(a)));
    for band in bands {
        let (from, to) = (x(band.from), x(band.to));
        let narrowest = pen.px(2.0).max(1);
        let end = to.max(from + narrowest);
        pen.rect(
            [from, y[0]],
            [end, y[1]],
            state_color(band.state, pen.style),
            0.88,
        )?;
        if end - from >= pen.px(64.0) && y[1] - y[0] >= pen.px(13.0) {
            let at = [from + pen.px(8.0), (y[0] + y[1]) / 2];
            pen.text(
                state_name(band.state),
                at,
                (HPos::Left, VPos::Center),
                pen.style.plot,
            )?;
        }
    }
    Ok(())
}

fn draw_failure_rate<DB: DrawingBackend>(
    pen: &Pen<'_, DB>,
    scene: &Scene,
    plot: PlotArea,
    top: f64,
) -> Drawn<DB> {
    const WHOLE: f64 = 1e6;
    let style = pen.style;
    let (top, bottom) = (pen.px(top), pen.px(top + RATE));
    let on = Scale::new(scene.viewport, [plot.width, 1]);
    let y = |rate: u32| bottom - (f64::from(rate) / WHOLE * f64::from(bottom - top)).round() as i32;
    let right = plot.x + plot.width as i32;
    let middle = (top + bottom) / 2;
    pen.text(
        "fail rate",
        [plot.x - pen.px(8.0), middle],
        (HPos::Right, VPos::Center),
        style.ink_3,
    )?;
    if let Some(threshold) = scene.replay.threshold {
        pen.dashes([plot.x, right], y(threshold), style.open)?;
        let label = format::percent(threshold);
        pen.text(
            &label,
            [right, y(threshold) - pen.px(2.0)],
            (HPos::Right, VPos::Bottom),
            style.ink_3,
        )?;
    }
    // A step line: the rate stays until it changes, and is broken where there is none.
    let line = &scene.replay.failure_rate;
    let mut steps: Vec<(i32, i32)> = Vec::new();
    for (&time, &rate) in line.at.iter().zip(&line.rate) {
        let x = plot.x + on.x(time).round().max(0.0).min(plot.width.into()) as i32;
        if let Some(&(_, before)) = steps.last() {
            steps.push((x, before));
        }
        if rate == NO_RATE {
            pen.path(std::mem::take(&mut steps), style.ink_2)?;
        } else {
            steps.push((x, y(rate)));
        }
    }
    pen.path(steps, style.ink_2)
}

const DAY: i64 = 86_400 * 1_000_000_000;

/// The times that get a label.
struct TimeTicks {
    times: Vec<i64>,
    decimals: u32,
}

/// Round times about 110 CSS pixels apart.
fn time_ticks(viewport: Viewport, width: f64) -> TimeTicks {
    const APART_PX: f64 = 110.0;
    const SECOND: i64 = 1_000_000_000;
    let span = viewport.t1.saturating_sub(viewport.t0);
    let least = (span as f64 / (width / APART_PX).max(1.0)) as i64;
    let step = if least < SECOND {
        round_decimal(least)
    } else {
        let whole = [
            1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200,
        ];
        let enough = whole
            .into_iter()
            .map(|it| it * SECOND)
            .find(|&step| step >= least);
        enough.unwrap_or(86_400 * SECOND * (least / (86_400 * SECOND) + 1))
    };
    let decimals = (0..=9)
        .find(|&it| step % 10i64.pow(9 - it) == 0)
        .unwrap_or(9);
    let first = viewport
        .t0
        .div_euclid(step)
        .saturating_add(1)
        .saturating_mul(step);
    let times = (0..).map_while(|n| first.checked_add(step.checked_mul(n)?));
    TimeTicks {
        times: times
            .take_while(|&time| time < viewport.t1)
            .take(100)
            .collect(),
        decimals,
    }
}

/// Round ranks about 80 CSS pixels apart.
fn rank_ticks(viewport: Viewport, height: f64) -> Vec<u32> {
    const APART: f64 = 80.0;
    let span = viewport.y1.saturating_sub(viewport.y0);
    let least = (span as f64 / (height / APART).max(1.0)) as i64;
    let step = round_decimal(least.max(MILLI)).max(MILLI);
    let first = viewport.y0.max(0).div_euclid(step).saturating_mul(step);
    let places = (0..100).map(|n| first.saturating_add(step * n));
    let shown = places.filter(|place| (viewport.y0..viewport.y1).contains(place));
    shown
        .filter_map(|place| u32::try_from(place / MILLI).ok())
        .collect()
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `value`.
fn round_decimal(value: i64) -> i64 {
    let mut unit = 1i64;
    loop {
        for times in [1, 2, 5] {
            match unit.checked_mul(times) {
                Some(step) if step >= value => return step,
                Some(_) => {}
                None => return i64::MAX,
            }
        }
        let Some(next) = unit.checked_mul(10) else {
            return i64::MAX;
        };
        unit = next;
    }
}

/// The last characters of a name, since pods differ at the end.
fn ending(name: &str, longest: usize) -> String {
    let n = name.chars().count();
    if n <= longest {
        return name.to_owned();
    }
    let tail: String = name.chars().skip(n + 1 - longest).collect();
    format!("\u{2026}{tail}")
}

/// Plain strokes in device pixels.
struct Pen<'a, DB: DrawingBackend> {
    area: &'a DrawingArea<DB, Shift>,
    style: &'a Style,
    scale: f64,
}

impl<'a, DB: DrawingBackend> Pen<'a, DB> {
    fn new(area: &'a DrawingArea<DB, Shift>, style: &'a Style, scale: f64) -> Pen<'a, DB> {
        Pen { area, style, scale }
    }

    fn size(&self) -> [u32; 2] {
        self.area.dim_in_pixel().into()
    }

    /// CSS pixels as device pixels.
    fn px(&self, css: f64) -> i32 {
        (css * self.scale).round() as i32
    }

    fn rect(&self, from: [i32; 2], to: [i32; 2], color: Rgb, alpha: f64) -> Drawn<DB> {
        // The element includes its last pixel on some backends and not on others; a rectangle
        // without a pixel draws nothing on the canvas.
        let corners = [
            (from[0], from[1]),
            (to[0].max(from[0] + 1), to[1].max(from[1] + 1)),
        ];
        self.area
            .draw(&Rectangle::new(corners, solid(color).mix(alpha).filled()))
    }

    fn line(&self, from: [i32; 2], to: [i32; 2], color: Rgb) -> Drawn<DB> {
        self.path(vec![(from[0], from[1]), (to[0], to[1])], color)
    }

    fn path(&self, points: Vec<(i32, i32)>, color: Rgb) -> Drawn<DB> {
        if points.len() < 2 {
            return Ok(());
        }
        let width = self.px(1.0).max(1) as u32;
        self.area
            .draw(&PathElement::new(points, solid(color).stroke_width(width)))
    }

    /// A horizontal dashed line. The dashes hang on the area's left edge.
    fn dashes(&self, x: [i32; 2], y: i32, color: Rgb) -> Drawn<DB> {
        let period = self.px(7.0).max(2);
        let dash = self.px(4.0).max(1);
        let mut from = x[0].div_euclid(period) * period;
        while from < x[1] {
            let (start, end) = (from.max(x[0]), (from + dash).min(x[1]));
            if start < end {
                self.line([start, y], [end, y], color)?;
            }
            from += period;
        }
        Ok(())
    }

    fn triangle(&self, a: [i32; 2], b: [i32; 2], c: [i32; 2], color: Rgb) -> Drawn<DB> {
        let corners = [a, b, c].map(|[x, y]| (x, y)).to_vec();
        self.area.draw(&Polygon::new(corners, solid(color)))
    }

    fn text(&self, text: &str, at: [i32; 2], anchor: (HPos, VPos), color: Rgb) -> Drawn<DB> {
        let font = FontDesc::new(FAMILY, TEXT * self.scale, FontStyle::Normal);
        let (color, anchor) = (solid(color), Pos::new(anchor.0, anchor.1));
        let style = TextStyle::from(font).color(&color).pos(anchor);
        let text = format::printable(text);
        self.area.draw(&Text::new(text, (at[0], at[1]), style))
    }
}

fn solid([r, g, b]: Rgb) -> RGBColor {
    RGBColor(r, g, b)
}
