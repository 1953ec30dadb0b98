//! A CSV of over 2 GB in the page: it opens with progress, can be cancelled, and pans.

use std::thread::sleep;
use std::time::{Duration, Instant};

use herdscope_browser_tests::{Brand, Browser, Page, Result, Site};
use serde_json::json;
use xtask::bench::input::{Input, Options};
use xtask::bench::row::{Row, Target, percentile};

use crate::page;

/// Of herd's rows, over 2 GiB.
const SPANS: u64 = 8_200_000;

/// How far the page says that it is, in per cent.
const PROGRESS: &str = "document.getElementById('reading').hidden ? null : \
                        Number(document.getElementById('reading-bar').getAttribute('aria-valuenow') ?? NaN)";

pub fn measure(options: &Options) -> Result<()> {
    // The largest input of the others, where it is large enough: it may be there already.
    let spans = options
        .sizes()
        .into_iter()
        .find(|&it| it >= SPANS)
        .unwrap_or(SPANS);
    let input = Input::of(options, "herd", spans)?;
    let size = format!("{:.1} GB, {}", input.bytes as f64 / 1e9, input.size());
    let site = Site::start()?;
    let browser = Browser::of(Brand::Chromium)?;
    let page = page::marked(&browser, &site, "/")?;
    let before = page.spans()?;

    choose(&page, &input)?;
    page.wait_at_most(Duration::from_secs(60), "marks.first")?;
    let first = page.number("marks.first - marks.dropped")?;
    Row::of(format!("{size}: first spans drawn, ms"), &[first])
        .aim(Target::AtMost(300.0))
        .or_because("a preview is a table built of what is read so far, and a frame")
        .print();

    sleep(Duration::from_secs(2));
    let begun = Instant::now();
    page.press("Escape")?;
    page.wait_for_message(&[&input.name, "stopped"])?;
    page.wait_until_still()?;
    let back = page.spans()? == before;
    Row::of(
        format!("{size}: cancelled after 2 s, ms until the picture of before"),
        &[begun.elapsed().as_secs_f64() * 1e3],
    )
    .noting(if back {
        "what was there is back"
    } else {
        "what was there is not back"
    })
    .print();
    page.dismiss_messages()?;

    choose(&page, &input)?;
    let mut steps = Vec::new();
    while page.value("document.documentElement.dataset.state == 'reading'")? == true {
        steps.extend(page.value(PROGRESS)?.as_f64());
        sleep(Duration::from_millis(200));
    }
    page::wait_for(&page, &input)?;
    steps.dedup();
    let whole = page.number("marks.last - marks.dropped")? / 1e3;
    Row::of(format!("{size}: all of it drawn, s"), &[whole])
        .noting(format!(
            "{} steps of progress were seen, ascending: {}",
            steps.len(),
            steps.is_sorted()
        ))
        .print();
    let memory = page.run("return memory()", Vec::new())?;
    let memory = memory
        .as_f64()
        .ok_or("the worker does not tell its memory")?;
    Row::of(format!("{size}: memory of the worker, MB"), &[memory / 1e6]).print();

    // From everything there is nowhere to pan to.
    page.run("wheel(arguments[0])", vec![json!(-24)])?;
    page.wait_until_still()?;
    let rounds: Result<Vec<f64>> = (0..options.rounds)
        .map(|_| {
            Ok(percentile(
                &page::pan_and_zoom(&page, 200, 0.01)?.frames,
                95.0,
            ))
        })
        .collect();
    Row::of(
        format!("{size}: frame of a pan and zoom, p95, ms"),
        &rounds?,
    )
    .aim(Target::AtMost(16.0))
    .or_because("spans at the edges of rows of pixels are painted one by one, and the pixels go from the worker to the page")
    .print();
    Ok(())
}

/// As a person does in the dialog: the browser reads it from the disk.
fn choose(page: &Page, input: &Input) -> Result<()> {
    page.run(
        "marks.long.length = 0; delete marks.first; delete marks.dropped",
        Vec::new(),
    )?;
    page.choose_file("#chooser", &input.path)
}
