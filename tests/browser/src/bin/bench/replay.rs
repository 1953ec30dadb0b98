//! Calls that are replayed a second in the browser, causes included.

use herdscope_browser_tests::{Brand, Browser, Result};
use xtask::bench::input::{Input, Options};
use xtask::bench::row::{Row, Target};

use crate::peers;

const TURN: &str = "\
    const begun = performance.now(), transitions = spans.loaded.replay(); \
    if (!transitions) throw new Error('no breaker opened'); \
    return performance.now() - begun";

pub fn measure(options: &Options) -> Result<()> {
    let site = peers::site(options)?;
    let browser = Browser::of(Brand::Chromium)?;
    let page = peers::open(&browser, &site)?;
    let input = Input::of(options, "herd", options.spans.min(3_500_000))?;
    peers::load(&page, &input, false)?;
    let calls = page.number("spans.loaded.calls()")?;
    let mut paces = Vec::new();
    for round in 0..=options.rounds {
        let ms = page.run(TURN, Vec::new())?;
        let ms = ms.as_f64().ok_or("no time was taken")?;
        if round > 0 {
            paces.push(calls / ms / 1e3);
        }
    }
    Row::of(
        format!("replay in the browser, {calls:.0} calls, M calls/s"),
        &paces,
    )
    .aim(Target::AtLeast(15.0))
    .or_because("the page's code is built to be small where no byte or row of a file passes")
    .print();
    Ok(())
}
