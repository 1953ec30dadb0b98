//! Frames of the page over a scripted pan and zoom, by size, from the request for a view to the last canvas call; what
//! hovering and clicking take.

use herdscope_browser_tests::{Brand, Browser, Page, Result, Site};
use serde_json::json;
use xtask::bench::input::{Input, Options, size};
use xtask::bench::row::{Row, Target, percentile};

use crate::page;

/// Pictures of a pan and zoom.
const PICTURES: usize = 200;

/// What the wheel turns by to get there from everything, and how far is panned.
const VIEWS: [(&str, &[f64], f64); 2] = [
    ("nearly everything", &[-24.0], 0.01),
    ("a tenth", &[-600.0, -600.0, -79.0], 0.3),
];

/// What the 95th percentile is to be, in milliseconds.
const AIMS: [(u64, f64); 2] = [(1_000_000, 8.0), (10_000_000, 16.0)];

pub fn measure(options: &Options) -> Result<()> {
    let site = Site::start()?;
    let mut medians: Vec<(u64, Vec<f64>)> = Vec::new();
    for spans in options.sizes() {
        // A browser each: what the one before held would be in the way.
        let browser = Browser::of(Brand::Chromium)?;
        let page = page::marked(&browser, &site, "/")?;
        let input = Input::of(options, "herd", spans)?;
        page::open(&page, &input)?;
        let full = one_size(options, &page, spans)?;
        medians.push((spans, full));
    }
    let of = |size: u64| medians.iter().find(|it| it.0 == size).map(|it| &it.1);
    if let (Some(large), Some(small)) = (of(10_000_000), of(1_000_000)) {
        let ratios: Vec<f64> = large
            .iter()
            .zip(small)
            .map(|(large, small)| large / small)
            .collect();
        Row::of(
            "nearly everything of 10 M spans, as a multiple of 1 M's",
            &ratios,
        )
        .aim(Target::AtMost(1.5))
        .or_because("spans at the edges of rows of pixels are painted one by one, and the pixels go from the worker to the page")
        .print();
    }
    Ok(())
}

/// The medians of the full view, round by round.
fn one_size(options: &Options, page: &Page, spans: u64) -> Result<Vec<f64>> {
    let size = size(spans);
    let aim = AIMS.iter().find(|it| it.0 == spans).map(|it| it.1);
    let mut of_full = Vec::new();
    for (nth, (view, turns, reach)) in VIEWS.iter().enumerate() {
        page.press("0")?;
        page.wait_until_still()?;
        for turn in *turns {
            page.run("wheel(arguments[0])", vec![json!(turn)])?;
            page.wait_until_still()?;
        }
        let [
            mut p50,
            mut p95,
            mut worst,
            mut painting,
            mut long,
            mut nothing,
        ] = [const { Vec::new() }; 6];
        let (mut n, mut plot) = (usize::MAX, [0.0; 2]);
        for _ in 0..options.rounds {
            let moved = page::pan_and_zoom(page, PICTURES, *reach)?;
            p50.push(percentile(&moved.frames, 50.0));
            p95.push(percentile(&moved.frames, 95.0));
            worst.push(percentile(&moved.frames, 100.0));
            painting.push(percentile(&moved.painting, 95.0));
            long.push(page::worst(&moved.long));
            n = n.min(moved.frames.len());
            plot = moved.plot;
            let [width, height] = plot.map(f64::round);
            let took = page.run(
                "return nothing(...arguments)",
                vec![json!(PICTURES), json!(width), json!(height)],
            )?;
            nothing.push(percentile(&page::numbers(&took), 95.0));
        }
        let what = |figure: &str| format!("{view} of {size}: {figure}, ms");
        let [width, height] = plot;
        Row::of(what("frame, p50"), &p50)
            .noting(format!(
                "at least {n} frames a round, {width:.0} x {height:.0} pixels"
            ))
            .print();
        let mut row = Row::of(what("frame, p95"), &p95);
        if let Some(aim) = aim {
            row = row
                .aim(Target::AtMost(aim))
                .or_because("the browser alone takes about as long for as many pixels, see the next row, and zooming paints all of them anew");
        }
        if nth == 0 {
            row = row.at("frame p95, ms", spans);
            of_full.clone_from(&p50);
        }
        row.print();
        Row::of(what("as many pixels without any content, p95"), &nothing).print();
        Row::of(what("frame, worst"), &worst).print();
        Row::of(what("of it on the page's thread, p95"), &painting).print();
        Row::of(
            what("longest task of the page's thread over 50 ms (0: none)"),
            &long,
        )
        .aim(Target::AtMost(50.0))
        .or_because("a task of layout and painting after a picture")
        .print();
    }
    for (what, clicks, times) in [("hover", false, 60), ("click", true, 20)] {
        let mut answers = Vec::new();
        for _ in 0..options.rounds {
            let took = page.run(
                "return ask(...arguments)",
                vec![json!(times), json!(clicks)],
            )?;
            answers.push(percentile(&page::numbers(&took), 95.0));
        }
        Row::of(
            format!("{what}, {size}: the engine's answer, p95, ms"),
            &answers,
        )
        .print();
    }
    Ok(of_full)
}
