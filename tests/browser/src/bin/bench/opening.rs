//! The page's start, and the opening of a file, by size: the first spans, all of them, memory, and what keeps the page's
//! thread busy meanwhile.

use std::time::Duration;

use herdscope_browser_tests::{Brand, Browser, Page, Result, Site};
use xtask::bench::input::{Input, Options};
use xtask::bench::row::{Row, Target};

use crate::page;

/// From there on one opening is enough: the first spans are waited for as often as ever.
const LONG: u64 = 10_000_000;

pub fn measure(options: &Options) -> Result<()> {
    let site = Site::start()?;
    let browser = Browser::of(Brand::Chromium)?;
    let mut starts = Vec::new();
    for _ in 0..options.rounds {
        let page = page::marked(&browser, &site, "/")?;
        starts.push(page.number("marks.idle")?);
    }
    Row::of("start: navigation to the sample drawn, ms", &starts)
        .aim(Target::AtMost(1000.0))
        .or_because("the sample is simulated and read by the page itself")
        .print();
    for spans in options.sizes() {
        one_size(
            options,
            &browser,
            &site,
            &Input::of(options, "herd", spans)?,
        )?;
    }
    Ok(())
}

fn one_size(options: &Options, browser: &Browser, site: &Site, input: &Input) -> Result<()> {
    let (mut first, mut whole, mut long) = (Vec::new(), Vec::new(), Vec::new());
    let mut memory = Vec::new();
    for round in 0..options.rounds {
        let page = page::marked(browser, site, "/")?;
        page::drop_file(&page, &input.path)?;
        let last = round + 1 == options.rounds;
        if input.spans < LONG || last {
            page::wait_for(&page, input)?;
            whole.push(page.number("marks.last - marks.dropped")? / 1e3);
            memory.push(bytes(&page)? / input.spans as f64);
        } else {
            page.wait_at_most(Duration::from_secs(60), "marks.first")?;
            page.press("Escape")?;
            page.wait_until_still()?;
        }
        first.push(page.number("marks.first - marks.dropped")?);
        long.push(page::worst(&page::numbers(&page.value("marks.long")?)));
    }
    let size = input.size();
    Row::of(format!("{size}: first ones drawn after a drop, ms"), &first)
        .aim(Target::AtMost(300.0))
        .or_because("a preview is a table built of what is read so far, and a frame")
        .print();
    Row::of(format!("{size}: all of them drawn, s"), &whole)
        .at("opening, s", input.spans)
        .print();
    let speeds: Vec<f64> = whole.iter().map(|s| input.bytes as f64 / s / 1e6).collect();
    Row::of(format!("{size}: the file, MB/s"), &speeds).print();
    Row::of(
        format!("{size}: longest task of the page's thread over 50 ms, ms (0: none)"),
        &long,
    )
    .aim(Target::AtMost(50.0))
    .or_because("a task of layout and painting after a picture")
    .print();
    let whole_memory: Vec<f64> = memory
        .iter()
        .map(|it| it * input.spans as f64 / 1e6)
        .collect();
    Row::of(format!("{size}: memory of the worker, MB"), &whole_memory)
        .at("memory, MB", input.spans)
        .print();
    Row::of(
        format!("{size}: memory of the worker, bytes a span"),
        &memory,
    )
    .print();
    Ok(())
}

fn bytes(page: &Page) -> Result<f64> {
    let bytes = page.run("return memory()", Vec::new())?;
    bytes
        .as_f64()
        .ok_or_else(|| "the worker does not tell its memory".into())
}
