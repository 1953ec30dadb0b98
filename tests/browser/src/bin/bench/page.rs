//! The page as it is served, with marks around its own messages.
//!
//! A request for a frame leaves for the worker, its answer comes back, and the number of painted pictures
//! (`data-frames`) changes when the last canvas call is done: `marks.js` notes all three, from outside.

use std::path::Path;
use std::time::Duration;

use herdscope_browser_tests::{Browser, Page, Point, Result, Site};
use serde_json::{Value, json};
use xtask::bench::input::Input;

/// The window's inside that gives a plot of about 1600 x 1000 pixels.
const WINDOW: (u32, u32) = (2062, 1430);

const MARKS: &str = include_str!("marks.js");

/// Somewhere in the plot.
const PLACE: Point = Point { x: 600.0, y: 600.0 };

/// The page with what an address names drawn, in a new tab with the marks in place.
pub fn marked<'a>(browser: &'a Browser, site: &'a Site, path: &str) -> Result<Page<'a>> {
    browser.fresh_tab()?;
    let page = Page::new(browser, Some(site));
    page.resize(WINDOW.0, WINDOW.1, 1.0)?;
    page.run_first(&format!("{{ {MARKS} }}"))?;
    page.show(path)?;
    Ok(page)
}

/// Drops a file.
pub fn drop_file(page: &Page, path: &Path) -> Result<()> {
    page.run(
        "marks.long.length = 0; delete marks.first; delete marks.dropped",
        Vec::new(),
    )?;
    page.drop_file(path, PLACE)
}

/// Waits until an input is open and drawn, however large.
pub fn wait_for(page: &Page, input: &Input) -> Result<()> {
    let open = format!(
        "document.documentElement.dataset.state == 'idle' && document.documentElement.dataset.spans == {}",
        input.spans
    );
    page.wait_at_most(Duration::from_secs(900), &open)
        .map_err(|error| match page.messages() {
            Ok(said) => format!("{error}; the page says {said:?}").into(),
            Err(_) => error,
        })?;
    page.wait_until_still()
}

/// Opens an input.
pub fn open(page: &Page, input: &Input) -> Result<()> {
    drop_file(page, &input.path)?;
    wait_for(page, input)
}

/// The frames of a pan and zoom, in milliseconds, and the tasks over 50 ms meanwhile.
pub struct Move {
    /// From a request to the last canvas call.
    pub frames: Vec<f64>,
    /// Of it, from the answer on.
    pub painting: Vec<f64>,
    /// Tasks over 50 ms on the page's thread.
    pub long: Vec<f64>,
    /// The plot's size.
    pub plot: [f64; 2],
}

/// Pans and zooms until so many pictures are painted; `reach` is how far, as a share of the plot.
pub fn pan_and_zoom(page: &Page, pictures: usize, reach: f64) -> Result<Move> {
    let marks = page.run(
        "return move(...arguments)",
        vec![json!(pictures), json!(reach)],
    )?;
    page.wait_until_still()?;
    let of = |key: &str| numbers(&marks[key]);
    let (asked, answered, painted, plot) = (of("asked"), of("answered"), of("painted"), of("plot"));
    Ok(Move {
        frames: to_painted(&asked, &answered, &painted),
        painting: to_painted(&answered, &answered, &painted),
        long: of("long"),
        plot: [0, 1].map(|at| plot.get(at).copied().unwrap_or_default()),
    })
}

/// To the paint, from the request, or from its answer. One request is under way at a time; what is painted is the last
/// answer.
fn to_painted(from: &[f64], answered: &[f64], painted: &[f64]) -> Vec<f64> {
    let of_paint = |&at: &f64| {
        let nth = answered.partition_point(|&it| it <= at).checked_sub(1)?;
        from.get(nth).map(|from| at - from)
    };
    painted.iter().filter_map(of_paint).collect()
}

/// The numbers of a list.
pub fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().into_iter().flatten();
    list.filter_map(Value::as_f64).collect()
}

/// The longest; 0 of none.
pub fn worst(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}
