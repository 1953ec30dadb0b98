//! The chart of how things grow with the number of spans, in the colours, the font and by the library of the project's
//! own pictures.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;

use herdscope::plot::charts::FAMILY;
use herdscope::plot::picture::{bundle_font, light};
use plotters::coord::Shift;
use plotters::prelude::*;
use xtask::bench::row::Row;

use super::Result;

const WIDTH: u32 = 360;
const HEIGHT: u32 = 300;

/// Points by the number of spans.
type Line = BTreeMap<u64, f64>;

/// Reads rows from standard input, draws those with a place.
pub fn run(mut words: impl Iterator<Item = String>) -> Result<()> {
    let file = match (words.next().as_deref(), words.next()) {
        (Some("--into"), Some(file)) => file,
        _ => return Err("chart --into FILE".to_owned()),
    };
    let rows: Vec<Row> = serde_json::from_reader(io::stdin()).map_err(|error| error.to_string())?;
    let svg = draw(&rows)?;
    fs::write(&file, svg).map_err(|error| format!("cannot write {file}: {error}"))
}

/// One panel a line, both axes logarithmic: what grows as the number of spans does is a straight line.
fn draw(rows: &[Row]) -> Result<String> {
    bundle_font();
    let mut lines: Vec<(&str, Line)> = Vec::new();
    for row in rows {
        let (Some(point), Some(value)) = (&row.point, row.ours) else {
            continue;
        };
        if !lines.iter().any(|it| it.0 == point.line) {
            lines.push((&point.line, Line::new()));
        }
        let line = lines.iter_mut().find(|it| it.0 == point.line);
        if let Some((_, points)) = line {
            points.insert(point.spans, value);
        }
    }
    let panels = lines.len().max(1);
    let mut svg = String::new();
    {
        let size = (WIDTH * panels as u32, HEIGHT);
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let [red, green, blue] = light().plot;
        area.fill(&RGBColor(red, green, blue))
            .map_err(|error| error.to_string())?;
        let spans = decades(
            lines
                .iter()
                .flat_map(|it| it.1.keys().map(|&spans| spans as f64)),
        );
        for (panel, (name, points)) in area.split_evenly((1, panels)).iter().zip(&lines) {
            draw_panel(panel, name, points, spans.clone()).map_err(|error| error.to_string())?;
        }
        area.present().map_err(|error| error.to_string())?;
    }
    Ok(svg)
}

type Drawn<'a> =
    std::result::Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

fn draw_panel<'a>(
    area: &DrawingArea<SVGBackend<'a>, Shift>,
    name: &str,
    points: &Line,
    spans: Range<f64>,
) -> Drawn<'a> {
    let style = light();
    let color = |[red, green, blue]: [u8; 3]| RGBColor(red, green, blue);
    let font = |size: i32| (FAMILY, size).into_font().color(&color(style.ink_2));
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .caption(name, font(14))
        .set_label_area_size(LabelAreaPosition::Left, 44)
        .set_label_area_size(LabelAreaPosition::Bottom, 36)
        .build_cartesian_2d(
            spans.log_scale(),
            decades(points.values().copied()).log_scale(),
        )?;
    chart
        .configure_mesh()
        .x_desc("spans")
        .x_labels(4)
        .y_labels(5)
        .axis_style(color(style.ink_3))
        .bold_line_style(color(style.grid))
        .light_line_style(TRANSPARENT)
        .label_style(font(11))
        .x_label_formatter(&|it| shown(*it))
        .y_label_formatter(&|it| shown(*it))
        .draw()?;
    let line = color(style.series[0]);
    let places = || points.iter().map(|(&spans, &value)| (spans as f64, value));
    chart.draw_series(LineSeries::new(places(), line.stroke_width(2)))?;
    chart.draw_series(places().map(|it| Circle::new(it, 3, line.filled())))?;
    chart.draw_series(places().map(|it| {
        let text = font(11).pos(plotters::style::text_anchor::Pos::new(
            plotters::style::text_anchor::HPos::Center,
            plotters::style::text_anchor::VPos::Bottom,
        ));
        EmptyElement::at(it) + Text::new(shown(it.1), (0, -6), text)
    }))?;
    Ok(())
}

/// Whole decades around the values, and a little room.
fn decades(values: impl Iterator<Item = f64> + Clone) -> Range<f64> {
    let positive = values.filter(|it| *it > 0.0);
    let low = positive.clone().fold(f64::INFINITY, f64::min);
    let high = positive.fold(0.0, f64::max);
    if low > high {
        return 0.8..12.5;
    }
    10_f64.powf(low.log10().floor()) * 0.8
        ..10_f64.powf(high.log10().ceil().max(low.log10().floor() + 1.0)) * 1.25
}

/// `10 k`, `1 M`; small numbers with two digits that count.
fn shown(value: f64) -> String {
    match value {
        1e6.. => format!("{} M", round(value / 1e6)),
        1e3.. => format!("{} k", round(value / 1e3)),
        _ => round(value),
    }
}

fn round(value: f64) -> String {
    match value {
        10.0.. => format!("{value:.0}"),
        1.0.. => format!("{:.1}", value).trim_end_matches(".0").to_owned(),
        _ => format!("{value:.2}").trim_end_matches('0').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_a_panel_with_its_points() {
        let row = |line: &str, spans: u64, value: f64| Row::of("x", &[value]).at(line, spans);
        let rows = [
            row("reading, s", 10_000, 0.05),
            row("reading, s", 1_000_000, 4.7),
            row("frame, ms", 10_000, 2.0),
            Row::of("of no line", &[1.0]),
        ];
        let svg = draw(&rows).expect("a chart");
        for text in ["reading, s", "frame, ms", "10 k", "4.7", "0.05"] {
            assert!(svg.contains(text), "{text} is not in {svg}");
        }
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(!svg.contains("of no line"));
    }

    #[test]
    fn decades_hold_all_values() {
        let range = decades([0.05, 30.0].into_iter());
        assert!(range.start <= 0.01 && range.end >= 100.0, "{range:?}");
        assert!(decades([5.0].into_iter()).contains(&5.0));
        assert!(!decades(std::iter::empty()).is_empty());
    }
}
