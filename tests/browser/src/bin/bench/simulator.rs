//! The table of What if over all seeds, from its choice to its last figure; the plot's own run is in that time, too.

use herdscope::engine::RUNS;
use herdscope_browser_tests::{Brand, Browser, Result, Site};
use herdscope_sim::samples::sample;
use herdscope_sim::{Remedy, Variant};
use serde_json::json;
use xtask::bench::input::Options;
use xtask::bench::row::{Row, Target};

use crate::page;

/// Chooses a scenario; the milliseconds until the table of What if is full.
const SIMULATE: &str = "\
    const [name, full] = arguments, select = document.getElementById('simulate'); \
    const table = document.getElementById('simulated'), begun = performance.now(); \
    return new Promise((done) => { \
      new MutationObserver(() => table.textContent.startsWith(full) && done(performance.now() - begun)) \
        .observe(table, { childList: true, subtree: true, characterData: true }); \
      select.value = name; \
      select.dispatchEvent(new Event('change', { bubbles: true })); \
    })";

const SCENARIO: &str = "thundering-herd";

pub fn measure(options: &Options) -> Result<()> {
    let site = Site::start()?;
    let browser = Browser::of(Brand::Chromium)?;
    let requests = requests()?;
    let mut paces = Vec::new();
    for _ in 0..options.rounds {
        let page = page::marked(&browser, &site, "/#v=1&src=sample:incident&pane=what-if")?;
        let full = format!("{RUNS} of {RUNS}");
        let ms = page.run(SIMULATE, vec![json!(SCENARIO), json!(full)])?;
        let ms = ms.as_f64().ok_or("no time was taken")?;
        paces.push(requests as f64 / ms / 1e3);
    }
    Row::of(
        format!("{requests} requests simulated for What if, M requests/s"),
        &paces,
    )
    .aim(Target::AtLeast(1.0))
    .or_because("the page's code is built to be small, and its plot's own run is in that time")
    .print();
    Ok(())
}

/// How many there are in all runs.
fn requests() -> Result<u64> {
    let refused = |error: halfopen::ConfigError| error.to_string();
    let scenario = sample(SCENARIO).ok_or("there is no such scenario")?;
    let as_it_was = Variant::new(&scenario, &[Remedy::AsItWas]).map_err(refused)?;
    let mut requests = 0;
    for seed in 1..=RUNS as u64 {
        let mut run = as_it_was.start(seed).map_err(refused)?;
        while run.step().map_err(refused)? {}
        requests += run.finish().summary.requests;
    }
    Ok(requests)
}
