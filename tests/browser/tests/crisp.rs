//! Every canvas has exactly the device pixels that it covers, whatever the pixel ratio.

use herdscope_browser_tests::{CANVASES, Page, Result, suite};
use serde_json::json;

suite!(
    canvases_have_the_pixels_that_they_cover,
    a_change_of_the_ratio_is_followed
);

/// The device pixels that an element covers, as the browser measures them.
const MEASURE: &str = "\
    const element = document.querySelector(arguments[0]); \
    return new Promise((done) => new ResizeObserver(([entry], observer) => { \
      observer.disconnect(); \
      const box = entry.devicePixelContentBoxSize[0]; \
      done([box.inlineSize, box.blockSize, element.width, element.height]); \
    }).observe(element, { box: 'device-pixel-content-box' }))";

fn must_be_crisp(page: &Page, ratio: f64) -> Result<()> {
    page.wait_until_still()?;
    assert_eq!(page.number("devicePixelRatio")?, ratio);
    for canvas in CANVASES {
        let rect = page.rect(canvas)?;
        let size: Vec<f64> = serde_json::from_value(page.run(MEASURE, vec![json!(canvas)])?)
            .map_err(|error| error.to_string())?;
        let [covers_x, covers_y, width, height] = size[..] else {
            return Err(format!("{canvas} has no size: {size:?}").into());
        };
        let css = [rect.width * ratio, rect.height * ratio];
        let told = format!(
            "{canvas} at {ratio}: it has {width} x {height} pixels, covers {covers_x} x {covers_y}, \
             and is {css:?} device pixels large"
        );
        assert!(width > 0.0 && height > 0.0, "{told}");
        // Under a pretended ratio the browser measures in CSS pixels still; then they are worked out.
        let measured = (width, height) == (covers_x, covers_y);
        let worked_out = (width - css[0]).abs() < 0.51 && (height - css[1]).abs() < 0.51;
        assert!(measured || worked_out, "{told}");
        assert!(
            (width - css[0]).abs() < 1.0 && (height - css[1]).abs() < 1.0,
            "{told}"
        );
    }
    Ok(())
}

fn canvases_have_the_pixels_that_they_cover(page: &mut Page) -> Result<()> {
    for ratio in [1.0, 1.5, 2.0] {
        for (width, height) in [(1200, 800), (1333, 777)] {
            page.resize(width, height, ratio)?;
            page.show("/")?;
            must_be_crisp(page, ratio)?;
        }
    }
    Ok(())
}

fn a_change_of_the_ratio_is_followed(page: &mut Page) -> Result<()> {
    page.show("/")?;
    // The size changes, too: of a ratio that is only pretended, the browser says nothing by itself.
    for (width, height, ratio) in [(1300, 820, 2.0), (1200, 800, 1.5), (1000, 700, 1.0)] {
        page.resize(width, height, ratio)?;
        page.wait_for(
            "(() => { const canvas = document.querySelector('#chart-canvas'); \
               return Math.abs(canvas.width - canvas.getBoundingClientRect().width * devicePixelRatio) < 1 })()",
        )?;
        must_be_crisp(page, ratio)?;
    }
    page.must_be_silent()
}
