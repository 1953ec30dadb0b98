//! Opening data: a drop, the chooser, a paste; what is seen meanwhile; and changing one's mind.

use std::path::{Path, PathBuf};
use std::time::Duration;

use herdscope::view::{Source, fingerprint};
use herdscope_browser_tests::files::{self, Folder};
use herdscope_browser_tests::{Failure, Held, Page, Picture, Point, Result, Truth, suite};
use serde_json::{Value, json};

suite!(
    a_dropped_file_opens,
    a_chosen_file_opens,
    pasted_rows_open,
    the_plot_fills_while_the_file_is_read,
    cancel_brings_the_old_picture_back,
    another_file_may_be_opened_in_mid_read,
);

/// Somewhere in the plot.
const PLACE: Point = Point { x: 500.0, y: 450.0 };

/// Large enough for a hand to be quicker than the reading.
fn large_file(folder: &Folder) -> Result<PathBuf> {
    folder.write("large.csv", files::repeated(5)?)
}

fn a_dropped_file_opens(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let csv = files::first_rows(2_000)?;
    let truth = Truth::of(csv.as_bytes())?;
    page.show("/")?;
    let sample = page.picture()?;
    page.drag_files(&[folder.path()], PLACE)?;
    page.wait_for("!document.getElementById('drop').hidden")?;

    for (name, bytes) in [
        ("plain.csv", csv.clone().into_bytes()),
        ("packed.csv.gz", files::gz(csv.as_bytes())?),
    ] {
        page.drop_file(&folder.write(name, &bytes)?, PLACE)?;
        page.wait_for_file(name)?;
        page.must_be_silent()?;
        assert!(!page.is_shown("#drop")? && !page.is_shown("#hint")?);
        assert_eq!(page.spans()?, truth.summary.spans as f64);
        assert!(!page.picture()?.differing(&sample).is_empty());
        let Some(Source::File(mark)) = page
            .view()?
            .files
            .into_iter()
            .next()
            .and_then(|it| it.source)
        else {
            return Err(format!("the address does not name the file: {}", page.address()?).into());
        };
        let end = bytes.len().min(64 * 1024);
        let (head, tail) = (&bytes[..end], &bytes[bytes.len() - end..]);
        let size = bytes.len() as u64;
        assert_eq!((mark.name.as_str(), mark.size), (name, size));
        assert_eq!(mark.hash, fingerprint(size, head, tail));
    }
    Ok(())
}

fn a_chosen_file_opens(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    page.show("/")?;
    for (name, rows) in [("first.csv", 300), ("second.csv", 500)] {
        page.choose_file("#chooser", &folder.write(name, files::first_rows(rows)?)?)?;
        page.wait_for_file(name)?;
        page.must_be_silent()?;
        assert_eq!(page.spans()?, f64::from(rows as u32));
    }
    Ok(())
}

fn pasted_rows_open(page: &mut Page) -> Result<()> {
    page.show("/")?;
    page.paste(&files::first_rows(120)?)?;
    page.wait_for_file("pasted text")?;
    page.must_be_silent()?;
    assert_eq!(page.spans()?, 120.0);
    assert_eq!(page.view()?.files, []);
    Ok(())
}

/// What the page shows from one moment to the next, noted by the page itself.
const NOTE_MOMENTS: &str = "\
    window.moments = []; \
    const root = document.documentElement, canvas = document.querySelector('#span-canvas'); \
    let frames = root.dataset.frames; \
    new MutationObserver(() => { \
      if (root.dataset.state != 'reading' || root.dataset.frames == frames) return; \
      frames = root.dataset.frames; \
      const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data; \
      let drawn = 0; \
      for (let at = 3; at < pixels.length; at += 4) drawn += pixels[at] > 0; \
      window.moments.push({ \
        drawn, spans: Number(root.dataset.spans), text: document.querySelector('#reading-text').textContent, \
        done: Number(document.querySelector('#reading-bar').getAttribute('aria-valuenow')), \
        seen: document.querySelector('#reading').getClientRects().length > 0 }); \
    }).observe(root, { attributes: true })";

fn the_plot_fills_while_the_file_is_read(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let large = large_file(&folder)?;
    page.show("/")?;
    page.run(NOTE_MOMENTS, Vec::new())?;
    page.drop_file(&large, PLACE)?;
    page.wait_for_file("large.csv")?;
    page.must_be_silent()?;
    let all = 5.0 * (files::herd_csv()?.lines().count() - 1) as f64;
    assert_eq!(page.spans()?, all);
    assert!(!page.is_shown("#reading")?);

    let moments = page.value("window.moments")?;
    let moments = moments.as_array().ok_or("no moments were noted")?;
    let of = |key: &str| -> Vec<f64> { moments.iter().filter_map(|it| it[key].as_f64()).collect() };
    let (spans, drawn, done) = (of("spans"), of("drawn"), of("done"));
    assert!(
        spans.len() >= 3 && spans.len() == drawn.len() && spans.len() == done.len(),
        "pictures of a half-read file: {moments:?}"
    );
    assert!(
        spans.is_sorted() && spans[0] > 0.0 && spans[0] < all / 10.0,
        "{spans:?}"
    );
    assert!(done.is_sorted() && done[0] < 50.0, "{done:?}");
    assert!(drawn.iter().all(|&n| n > 0.0), "{drawn:?}");
    for moment in moments {
        assert_eq!(moment["seen"], Value::Bool(true), "{moment}");
        let text = moment["text"].as_str().unwrap_or_default();
        for part in ["large.csv", " %", "MB/s", "spans"] {
            assert!(text.contains(part), "`{part}` is not in `{text}`");
        }
    }
    Ok(())
}

/// Drops the file and waits until a part of it is painted, and no more.
fn drop_and_wait_for_a_part(page: &Page, file: &Path) -> Result<()> {
    let before = page.frames()?;
    page.drop_file(file, PLACE)?;
    page.wait_at_most(
        Duration::from_secs(60),
        &format!(
            "document.documentElement.dataset.state == 'reading' && \
             document.documentElement.dataset.frames > {before} && \
             !document.querySelector('#foot-spans').textContent.includes(' of ')"
        ),
    )
}

fn cancel_brings_the_old_picture_back(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let large = large_file(&folder)?;
    page.show("/#v=1&hide=failed&pane=breaker")?;
    let plot = page.plot()?;
    page.wheel(plot.pixel(0.6, 0.5), 0.0, -300.0, Held::NOTHING)?;
    let view = page.wait_for_view("the zoom", |view| view.viewport.is_some())?;
    let (picture, spans) = (page.picture()?, page.spans()?);

    type Cancel = fn(&Page) -> Result<()>;
    let ways: [(&str, Cancel); 2] = [
        ("the button", |page| page.click("#cancel")),
        ("Esc", |page| page.press("Escape")),
    ];
    for (way, cancel) in ways {
        drop_and_wait_for_a_part(page, &large)?;
        cancel(page)?;
        page.wait_for_message(&["large.csv", "stopped"])
            .map_err(|error| Failure::new(format!("by {way}: {error}")))?;
        page.wait_until_still()?;
        assert_eq!(page.view()?, view, "by {way}");
        assert_eq!(page.spans()?, spans, "by {way}");
        assert_eq!(page.text("#file-name")?, "sample incident");
        page.dismiss_messages()?;
        page.picture()?
            .must_be(&picture, &format!("after a cancel by {way}"))?;
        is_usable(page, &picture)?;
    }
    Ok(())
}

/// Another look, and back.
fn is_usable(page: &Page, picture: &Picture) -> Result<()> {
    let before = page.view()?;
    page.click("[data-key='tier:2']")?;
    page.wait_for_view("a hidden entry", |view| *view != before)?;
    assert!(!page.picture()?.differing(picture).is_empty());
    page.back()?;
    page.wait_for_view("the view of before", |view| *view == before)?;
    page.picture()?.must_be(picture, "after Back")
}

fn another_file_may_be_opened_in_mid_read(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let (large, small) = (
        large_file(&folder)?,
        folder.write("small.csv", files::first_rows(400)?)?,
    );
    page.show("/")?;
    page.drop_file(&small, PLACE)?;
    page.wait_for_file("small.csv")?;
    let expected = page.picture()?;

    page.new_tab()?;
    page.show("/")?;
    drop_and_wait_for_a_part(page, &large)?;
    page.drop_file(&small, PLACE)?;
    page.wait_for_file("small.csv")?;
    page.must_be_silent()?;
    assert_eq!(page.spans()?, 400.0);
    page.picture()?
        .must_be(&expected, "after a reading was given up for another")?;
    let named = page.value(&format!(
        "decodeURIComponent(location.hash).includes({})",
        json!("file:small.csv:")
    ))?;
    assert_eq!(named, Value::Bool(true));
    Ok(())
}
