//! How quick the page is, in figures: `cargo run -p herdscope-browser-tests --bin pace`.
//!
//! All clocks are the page's, so only the page has to be built for release. It measures the built page in headless Chromium, from outside: the time from the drop of a file to the first
//! and the last painted spans, what a frame costs while the plot is dragged, and how many requests a second are
//! simulated for the table of What if. It never fails because something is slow: it prints.
//!
//! The marks are set around the page's own messages: a request for a frame leaves for the worker, its answer
//! comes back, and the number of painted pictures (`data-frames`) changes when the last canvas call is done.

use std::process::ExitCode;

use herdscope::engine::RUNS;
use herdscope::view::{MILLI, View, Viewport};
use herdscope_browser_tests::files::{self, Folder};
use herdscope_browser_tests::{Browser, Page, Point, Result, Site, Truth};
use herdscope_sim::samples::sample;
use herdscope_sim::{Remedy, Variant};
use serde_json::{Value, json};

const HELP: &str = "\
Usage: pace [--rounds N] [--frames N]

  --rounds N   drops of the file (7)
  --frames N   frames of the pan (300)
";

/// The window's inside that gives a plot of about 1600 x 1000 pixels.
const WINDOW: (u32, u32) = (2062, 1430);

/// Runs before the page's own scripts: notes when frames are asked for, answered and painted.
const MARKS: &str = "\
    window.marks = { asked: [], answered: [], painted: [], painting: [], long: [] }; \
    const isFrame = (message) => message && (message.buffers || message.pixels); \
    const post = Worker.prototype.postMessage; \
    Worker.prototype.postMessage = function (message, ...rest) { \
      if (isFrame(message)) marks.asked.push(performance.now()); \
      return post.call(this, message, ...rest); \
    }; \
    const RealWorker = Worker; \
    window.Worker = class extends RealWorker { \
      constructor(...all) { \
        super(...all); \
        this.addEventListener('message', ({ data }) => { \
          if (isFrame(data)) marks.answered.push(performance.now()); }); \
      } \
    }; \
    const requestFrame = window.requestAnimationFrame; \
    window.requestAnimationFrame = (run) => requestFrame.call(window, (now) => { \
      const root = document.documentElement, frames = root.dataset.frames, from = performance.now(); \
      run(now); \
      if (root.dataset.frames != frames) marks.painting.push(performance.now() - from); \
    }); \
    addEventListener('drop', () => { marks.dropped = performance.now(); }, true); \
    new PerformanceObserver((list) => list.getEntries().forEach((it) => marks.long.push(it.duration))) \
      .observe({ type: 'longtask' }); \
    document.addEventListener('DOMContentLoaded', () => { \
      const root = document.documentElement; \
      let frames = root.dataset.frames; \
      new MutationObserver(() => { \
        const now = performance.now(); \
        if (root.dataset.frames != frames) { \
          frames = root.dataset.frames; \
          const part = !document.querySelector('#foot-spans').textContent.includes(' of '); \
          marks.painted.push(now); \
          if (marks.dropped && (part || root.dataset.state != 'reading')) { \
            marks.first ??= now; \
            marks.last = now; \
          } \
        } \
      }).observe(root, { attributes: true }); \
    })";

/// Drags the plot with Shift, to and fro, one step an animation frame.
const PAN: &str = "\
    const [steps, reach] = arguments, plot = document.querySelector('#plot'); \
    const box = document.querySelector('#plot-over').getBoundingClientRect(); \
    const middle = [box.x + box.width / 2, box.y + box.height / 2]; \
    const send = (type, x, y) => plot.dispatchEvent(new PointerEvent(type, { \
      bubbles: true, cancelable: true, clientX: x, clientY: y, pointerId: 1, pointerType: 'mouse', isPrimary: true, \
      shiftKey: true, button: type == 'pointermove' ? -1 : 0, buttons: type == 'pointerup' ? 0 : 1 })); \
    for (const key of ['asked', 'answered', 'painted', 'painting', 'long']) marks[key].length = 0; \
    send('pointerdown', ...middle); \
    const beats = []; \
    return new Promise((done) => { \
      let step = 0; \
      const next = (now) => { \
        beats.push(now); \
        if (step++ == steps) { \
          send('pointerup', ...middle); \
          return setTimeout(() => done({ ...marks, beats, plot: [box.width, box.height] }), 500); \
        } \
        const angle = step / 40; \
        send('pointermove', middle[0] + Math.sin(angle) * box.width * reach, \
                            middle[1] + Math.sin(angle * 0.7) * box.height * reach); \
        requestAnimationFrame(next); \
      }; \
      requestAnimationFrame(next); \
    })";

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

fn main() -> ExitCode {
    match options(std::env::args().skip(1)).and_then(|(rounds, frames)| measure(rounds, frames)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pace: {error}");
            ExitCode::FAILURE
        }
    }
}

fn options(mut words: impl Iterator<Item = String>) -> Result<(usize, usize)> {
    let (mut rounds, mut frames) = (7, 300);
    while let Some(word) = words.next() {
        let number = words.next().and_then(|it| it.parse::<usize>().ok());
        match (word.as_str(), number) {
            ("--rounds", Some(n)) if n > 0 => rounds = n,
            ("--frames", Some(n)) if n > 0 => frames = n,
            _ => return Err(HELP.into()),
        }
    }
    Ok((rounds, frames))
}

fn measure(rounds: usize, frames: usize) -> Result<()> {
    let site = Site::start()?;
    let browser = Browser::start()?;
    let folder = Folder::new()?;
    let csv = files::herd_csv()?;
    let herd = folder.write("herd.csv", csv)?;
    println!(
        "herd.csv: {:.1} MB, {} spans\n",
        csv.len() as f64 / 1e6,
        csv.lines().count() - 1
    );
    println!(
        "{:<46}{:>9}{:>9}{:>9}{:>9}",
        "milliseconds", "p50", "p95", "worst", "n"
    );

    let (mut first, mut last, mut long) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let page = marked_page(&browser, &site, "/")?;
        page.run("marks.long.length = 0", Vec::new())?;
        page.drop_file(&herd, Point { x: 600.0, y: 600.0 })?;
        page.wait_for_file("herd.csv")?;
        first.push(page.number("marks.first - marks.dropped")?);
        last.push(page.number("marks.last - marks.dropped")?);
        long.extend(numbers(&page.value("marks.long")?));
    }
    row("drop to the first painted spans", &first);
    row("drop to the last painted spans", &last);
    row("tasks over 50 ms on the page's thread", &long);

    // Everything cannot be moved, nearly everything can.
    for (name, ranks, reach) in [
        ("nearly all traces in view", [5, 95], 0.05),
        ("a tenth of the traces in view", [45, 55], 0.3),
    ] {
        let page = marked_page(&browser, &site, &address(ranks)?)?;
        let in_view = page.text("#foot-spans")?;
        let marks = page.run(PAN, vec![json!(frames), json!(reach)])?;
        let of = |key: &str| numbers(&marks[key]);
        let (asked, answered, painted) = (of("asked"), of("answered"), of("painted"));
        println!(
            "\npan, {name}; the plot is {} x {} pixels; {in_view}",
            marks["plot"][0], marks["plot"][1],
        );
        row(
            "view request to the engine's answer",
            &between(&asked, &answered),
        );
        row(
            "view request to the finished canvas call",
            &to_painted(&asked, &answered, &painted),
        );
        row("of it, painting on the page's thread", &of("painting"));
        let beats = of("beats");
        row(
            "one animation frame to the next",
            &between(&beats, &beats[1..]),
        );
        row("tasks over 50 ms on the page's thread", &of("long"));
    }
    simulate(&browser, &site, rounds)
}

/// The table of What if over all seeds, from its choice to its last figure; the plot's own run is in that time, too.
fn simulate(browser: &Browser, site: &Site, rounds: usize) -> Result<()> {
    let refused = |error: halfopen::ConfigError| error.to_string();
    let name = "thundering-herd";
    let scenario = sample(name).ok_or("there is no such scenario")?;
    let as_it_was = Variant::new(&scenario, &[Remedy::AsItWas]).map_err(refused)?;
    let mut requests = 0;
    for seed in 1..=RUNS as u64 {
        let mut run = as_it_was.start(seed).map_err(refused)?;
        while run.step().map_err(refused)? {}
        requests += run.finish().summary.requests;
    }
    let mut paces = Vec::new();
    for _ in 0..rounds {
        let page = marked_page(browser, site, "/#v=1&src=sample:incident&pane=what-if")?;
        let milliseconds = page.run(
            SIMULATE,
            vec![json!(name), json!(format!("{RUNS} of {RUNS}"))],
        )?;
        let seconds = milliseconds.as_f64().ok_or("no time was taken")? / 1e3;
        paces.push(requests as f64 / seconds / 1e3);
    }
    println!(
        "\n{:<46}{:>9}{:>9}{:>9}",
        "thousand requests a second", "p50", "slowest", "n"
    );
    paces.sort_by(f64::total_cmp);
    println!(
        "{:<46}{:>9.0}{:>9.0}{:>9}",
        format!("{requests} requests simulated for What if"),
        paces[paces.len() / 2],
        paces[0],
        paces.len()
    );
    Ok(())
}

/// The page with what an address names drawn, in a new tab with the marks in place.
fn marked_page<'a>(browser: &'a Browser, site: &'a Site, path: &str) -> Result<Page<'a>> {
    browser.fresh_tab()?;
    let page = Page::new(browser, Some(site));
    page.resize(WINDOW.0, WINDOW.1, 1.0)?;
    browser.devtools(
        "Page.addScriptToEvaluateOnNewDocument",
        json!({ "source": MARKS }),
    )?;
    page.show(path)?;
    Ok(page)
}

/// The page's sample with so many per cent of its traces in view, from and to, and the time of those.
fn address(ranks: [i64; 2]) -> Result<String> {
    let truth = Truth::of_sample()?;
    let all = truth.summary.home.y1;
    let [y0, y1] = ranks.map(|percent| all / 100 * percent);
    let start = |y: i64| truth.trace_of_rank(y / MILLI).map(|it| it.start);
    let (Some(t0), Some(t1)) = (start(y0), start(y1)) else {
        return Err("the sample has fewer traces than it says".into());
    };
    let view = View {
        viewport: Some(Viewport { t0, t1, y0, y1 }),
        ..View::default()
    };
    Ok(format!("/#{}&src=sample:incident", view.to_hash()))
}

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().into_iter().flatten();
    list.filter_map(Value::as_f64).collect()
}

fn between(from: &[f64], to: &[f64]) -> Vec<f64> {
    from.iter().zip(to).map(|(from, to)| to - from).collect()
}

/// From request to paint. One request is under way at a time; what is painted is the last answer.
fn to_painted(asked: &[f64], answered: &[f64], painted: &[f64]) -> Vec<f64> {
    let of_paint = |&at: &f64| {
        let nth = answered.partition_point(|&it| it <= at).checked_sub(1)?;
        asked.get(nth).map(|from| at - from)
    };
    painted.iter().filter_map(of_paint).collect()
}

fn row(name: &str, values: &[f64]) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let last = sorted.len().saturating_sub(1) as f64;
        let value = sorted.get((last * share).round() as usize);
        value.map_or_else(|| "-".to_owned(), |it| format!("{it:.1}"))
    };
    println!(
        "{name:<46}{:>9}{:>9}{:>9}{:>9}",
        at(0.5),
        at(0.95),
        at(1.0),
        values.len()
    );
}
