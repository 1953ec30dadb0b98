//! How soon a slider of the breaker is answered: from its move to the picture with the replay of all calls.

use herdscope_browser_tests::{Brand, Browser, Result, Site};
use serde_json::json;
use xtask::bench::input::{Input, Options};
use xtask::bench::row::{Row, Target};

use crate::page;

const SLIDER: &str = "[data-slider=fail]";

pub fn measure(options: &Options) -> Result<()> {
    let site = Site::start()?;
    let browser = Browser::of(Brand::Chromium)?;
    let page = page::marked(&browser, &site, "/#v=1&src=sample:incident&pane=breaker")?;
    let input = Input::of(options, "herd", options.spans.min(3_500_000))?;
    page::open(&page, &input)?;
    page.click("#tab-breaker")?;
    page.wait_until_still()?;
    let calls = page.text("[data-figure=withheld]")?;
    let (mut took, mut long) = (Vec::new(), Vec::new());
    for nth in 0..options.rounds.max(5) {
        let value = 40 + 5 * (nth % 7);
        let ms = page.run(
            "return slide(...arguments)",
            vec![json!(SLIDER), json!(value)],
        )?;
        took.push(ms.as_f64().ok_or("no time was taken")?);
        page.wait_until_still()?;
        long.push(page::worst(&page::numbers(&page.value("marks.long")?)));
    }
    Row::of(format!("a slider's answer, {}, ms", input.size()), &took)
        .aim(Target::AtMost(100.0))
        .or_because("all calls are replayed, attempts are found again and a picture is painted")
        .or_noting(format!("withheld {calls}"))
        .print();
    Row::of(
        "longest task of the page's thread over 50 ms while it moves, ms (0: none)",
        &long,
    )
    .aim(Target::AtMost(50.0))
    .or_because("a task of layout and painting after a picture")
    .print();
    Ok(())
}
