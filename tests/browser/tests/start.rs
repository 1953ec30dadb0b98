//! The page as it comes: the sample drawn, in every theme and size, from any folder of a host; and why it does not
//! start, where it cannot.

use std::fs;
use std::path::{Path, PathBuf};

use herdscope::format;
use herdscope::view::View;
use herdscope_browser_tests::files::Folder;
use herdscope_browser_tests::{Failure, Page, Point, Result, Site, Truth, suite};
use serde_json::json;

suite!(
    the_sample_is_drawn,
    a_folder_below_the_root_does_as_well,
    dark_is_another_picture_of_the_same,
    nothing_is_wider_than_the_window,
    the_tools_fit_in_a_row,
    fields_look_alike,
    a_file_without_calls_says_so,
    what_keeps_it_from_starting_is_said,
);

fn texts(page: &Page, selector: &str) -> Result<Vec<String>> {
    let read =
        "return [...document.querySelectorAll(arguments[0])].map((it) => it.textContent.trim())";
    let found = page.run(read, vec![json!(selector)])?;
    let texts = found.as_array().into_iter().flatten();
    Ok(texts
        .filter_map(|it| it.as_str().map(str::to_owned))
        .collect())
}

fn the_sample_is_drawn(page: &mut Page) -> Result<()> {
    page.show("/")?;
    page.must_be_silent()?;
    let truth = Truth::of_sample()?;
    let summary = &truth.summary;
    assert_eq!(page.spans()?, summary.spans as f64);
    assert_eq!(
        page.string("document.title")?,
        "sample incident — herdscope"
    );
    let facts = page.text("#file-facts")?;
    for fact in [
        summary.exporter.clone(),
        format::counted(summary.spans, "span"),
        format::counted(summary.traces, "trace"),
        format::duration((summary.extent[1] - summary.extent[0]) as u64),
    ] {
        assert!(facts.contains(&fact), "`{fact}` is not in `{facts}`");
    }

    let legend: Vec<&str> = summary
        .legend_by_tier
        .iter()
        .map(|it| it.label.as_str())
        .collect();
    assert!(legend.len() > 2, "{legend:?}");
    assert_eq!(texts(page, "#legend button")?, legend);
    let edges: Vec<String> = summary
        .edges
        .iter()
        .map(|it| format!("{} → {}", it.from, it.to))
        .collect();
    assert_eq!(texts(page, "#edge option")?, edges);

    let scene = truth.scene(&page.view()?);
    let attempts = texts(page, "#herds-list > button")?;
    assert!(!attempts.is_empty());
    assert_eq!(attempts.len(), scene.replay.attempts.len());
    for (card, attempt) in attempts.iter().zip(&scene.replay.attempts) {
        let time = format::time_of_day(attempt.half_open_ns, 0);
        assert!(card.contains(&time), "`{time}` is not in `{card}`");
    }
    assert!(page.is_shown("#hint")?);
    assert!(!page.is_shown("#reading")?);

    let picture = page.picture()?;
    let timed_out = page.color("--timed-out")?;
    let of_color = |it: [u8; 4]| it == timed_out;
    assert!(picture.spans()?.count(|[.., alpha]| alpha > 0) > 300);
    assert!(picture.spans()?.count(of_color) > 20);
    for (canvas, colors) in [
        ("#states-canvas", vec!["--open", "--closed"]),
        ("#overview-canvas", vec!["--timed-out"]),
        ("#rates-canvas", vec!["--timed-out"]),
    ] {
        for name in colors {
            let color = page.color(name)?;
            let n = picture.canvas(canvas)?.count(|it| is_like(it, color));
            assert!(n > 20, "{canvas} has {n} pixels like {name}");
        }
    }
    Ok(())
}

/// The same colour, or laid thinly over the background.
fn is_like(pixel: [u8; 4], color: [u8; 4]) -> bool {
    let parts = pixel.iter().zip(color);
    pixel[3] == 255 && parts.into_iter().all(|(a, b)| a.abs_diff(b) < 60)
}

fn a_folder_below_the_root_does_as_well(page: &mut Page) -> Result<()> {
    page.show("/")?;
    let at_the_root = page.picture()?;
    page.show("/any/sub/path/")?;
    assert!(page.address()?.contains("/any/sub/path/#"));
    page.picture()?.must_be(&at_the_root, "below the root")
}

fn dark_is_another_picture_of_the_same(page: &mut Page) -> Result<()> {
    let mut pictures = Vec::new();
    let background = "getComputedStyle(document.body).backgroundColor";
    let mut backgrounds = Vec::new();
    for theme in ["light", "dark"] {
        page.prefer(&[("prefers-color-scheme", theme)])?;
        page.show("/")?;
        page.must_be_silent()?;
        let picture = page.picture()?;
        let timed_out = page.color("--timed-out")?;
        let n = picture.spans()?.count(|it| it == timed_out);
        assert!(n > 20, "{theme}: {n} pixels are those of timeouts");
        pictures.push(picture);
        backgrounds.push(page.string(background)?);
    }
    assert_ne!(backgrounds[0], backgrounds[1]);
    assert!(!pictures[0].differing(&pictures[1]).is_empty());

    // Changed under the open page, too, and by its own button.
    page.prefer(&[("prefers-color-scheme", "light")])?;
    page.wait_for(&format!("{background} == {}", json!(backgrounds[0])))?;
    page.picture()?.must_be(&pictures[0], "light again")?;
    page.click("#theme")?;
    page.click("#theme")?;
    page.wait_for("document.documentElement.dataset.theme == 'dark'")?;
    page.picture()?
        .must_be(&pictures[1], "dark by the page's own button")
}

fn nothing_is_wider_than_the_window(page: &mut Page) -> Result<()> {
    let panes = [
        "herds", "breaker", "timeouts", "what-if", "compare", "trace",
    ];
    for (width, height) in [(1440, 900), (1024, 700), (800, 900), (400, 800)] {
        page.resize(width, height, 1.0)?;
        page.show("/")?;
        for pane in panes {
            page.click(&format!("#tab-{pane}"))?;
            page.wait_for_view(pane, |view| is_open(view, pane))?;
            page.wait_until_still()?;
            let wide = page.number("document.scrollingElement.scrollWidth")?;
            let inside = page.number("innerWidth")?;
            assert!(
                wide <= inside,
                "{width} x {height}, pane {pane}: the page is {wide} wide, the window {inside}"
            );
        }
        assert!(page.plot()?.height >= 100.0);
    }
    Ok(())
}

fn is_open(view: &View, pane: &str) -> bool {
    format!("{:?}", view.pane).to_lowercase() == pane.replace('-', "")
}

/// The row above the plot is one line, and nothing of it is cut off.
fn the_tools_fit_in_a_row(page: &mut Page) -> Result<()> {
    for width in [1280, 1440] {
        page.resize(width, 800, 1.0)?;
        page.show("/")?;
        let height = page.rect(".tools")?.height;
        assert!(height < 40.0, "{width}: the tools are {height} high");
    }
    Ok(())
}

/// A field of the page's own looks, wherever it is, and not the browser's.
fn fields_look_alike(page: &mut Page) -> Result<()> {
    page.show("/")?;
    let looks = |field: &str| {
        page.string(&format!(
            "(({{ backgroundColor, border }}) => backgroundColor + border)(getComputedStyle(document.querySelector('{field}')))"
        ))
    };
    let expected = looks("#ch-password")?;
    for field in ["#ch-url", "#ch-services", "#pool", "#assume-text"] {
        assert_eq!(looks(field)?, expected, "{field}");
    }
    Ok(())
}

/// Spans of a service that calls no other: a sentence in the place of the breaker, and why no instance is shown.
fn a_file_without_calls_says_so(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let mut csv = "trace_id,span_id,service,start_ms,duration_ms,status\n".to_owned();
    for at in 1..50 {
        csv += &format!(
            "{at:032x},{at:016x},shop,{},5,ERROR\n",
            1_790_409_600_000u64 + at * 40_000_000
        );
    }
    page.show("/")?;
    assert!(!page.is_shown("#states-none")? && page.text("#herds-cautions")?.is_empty());
    page.drop_file(
        &folder.write("alone.csv", csv)?,
        Point { x: 500.0, y: 450.0 },
    )?;
    page.wait_for_file("alone.csv")?;
    assert!(
        page.text("#states-none")?
            .contains("No calls between services")
    );
    assert_eq!(
        page.value("document.getElementById('lanes').disabled")?,
        json!(true)
    );
    assert!(page.text("#herds-cautions")?.contains("Every trace failed"));
    assert!(
        page.text("#file-facts")?.contains("22 d 05 h"),
        "{}",
        page.text("#file-facts")?
    );
    // Back to the sample, where there is a breaker.
    page.show("/")?;
    assert!(!page.is_shown("#states-none")?);
    Ok(())
}

/// The page with a file of it other than it was built, or missing.
fn what_keeps_it_from_starting_is_said(page: &mut Page) -> Result<()> {
    type Change = fn(&[u8]) -> Option<Vec<u8>>;
    let one_byte: Change = |it| {
        let mut other = it.to_vec();
        other[it.len() / 3] ^= 1;
        Some(other)
    };
    let cut_off: Change = |it| Some(it[..it.len() - 1].to_vec());
    let missing: Change = |_| None;
    let other = "is not the file that this page was built with";
    for (ending, change, said) in [
        (".wasm.xz", cut_off, other),
        (".wasm.xz", one_byte, other),
        (".wasm.xz", missing, "404"),
        (".wasm", one_byte, other),
        (".wasm", missing, "404"),
        (".js", one_byte, other),
        (".js", missing, "404"),
        (".css", one_byte, other),
        (".css", missing, "404"),
    ] {
        let folder = Folder::new()?;
        let mut changed = String::new();
        for file in files_of(&Site::built())? {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let content = fs::read(&file).map_err(|it| it.to_string())?;
            let content = match name.ends_with(ending) && name != "sw.js" {
                true => {
                    changed = name.to_string();
                    change(&content)
                }
                false => Some(content),
            };
            content.map(|it| folder.write(&name, it)).transpose()?;
        }
        let site = Site::of(folder.path())?;
        page.open(&site.url("/"))?;
        let words = ["cannot start", &changed, said, "Load the page again"];
        let text = page.wait_for_message(&words);
        text.map_err(|error| Failure::new(format!("{ending}, {said}: {error}")))?;
        page.take_errors()?;
    }
    Ok(())
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|it| it.to_string())?;
    let paths = entries.flatten().map(|it| it.path());
    Ok(paths.filter(|it| it.is_file()).collect())
}
