//! Several files at once: any mix of exporters, more added, one taken away, and their link.

use std::path::PathBuf;

use herdscope::view::Source;
use herdscope_browser_tests::files::{self, Folder};
use herdscope_browser_tests::{Page, Point, Result, suite};

suite!(
    files_are_added_and_taken_away,
    files_are_dropped_together,
    a_bad_one_is_named_and_the_others_open,
    a_stopped_addition_leaves_what_was_there,
    a_link_to_several_files_takes_them_in_any_order,
    json_opens_like_csv,
);

/// Where files are let go that are to be opened, and that are to be added.
const OPEN: Point = Point { x: 300.0, y: 450.0 };
const ADD: Point = Point { x: 900.0, y: 450.0 };

/// A file of the reader's tests.
fn fixture(name: &str) -> PathBuf {
    xtask::workspace().join("tests/fixtures/ingest").join(name)
}

/// What the list of files says, one text a file.
fn listed(page: &Page) -> Result<Vec<String>> {
    let texts = page.value(
        "[...document.querySelectorAll('#files-list > li > span')].map((it) => it.textContent)",
    )?;
    let texts = texts.as_array().into_iter().flatten();
    Ok(texts
        .filter_map(|it| it.as_str().map(str::to_owned))
        .collect())
}

fn files_are_added_and_taken_away(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let a = folder.write("a.csv", files::first_rows(2_000)?)?;
    let more = folder.write("more.csv", files::first_rows(2_500)?)?;
    page.show("/")?;
    // There is nothing of one's own to add to.
    page.drag_files(&[a.as_path()], ADD)?;
    page.wait_for("!document.getElementById('drop').hidden")?;
    assert!(!page.is_shown("#drop-add")?);
    page.drop_file(&a, ADD)?;
    page.wait_for_file("a.csv")?;
    assert_eq!(page.text("#files-count")?, "1 file");
    let alone = page.picture()?;

    page.drag_files(&[more.as_path()], ADD)?;
    page.wait_for("!document.getElementById('drop-add').hidden")?;
    page.drop_file(&fixture("jaeger-json.json"), ADD)?;
    page.wait_for_file("a.csv + jaeger-json.json")?;
    page.must_be_silent()?;
    let both = page.spans()?;
    assert!(both > 2_000.0);
    assert!(
        page.text("#file-facts")?
            .contains("clickhouse + jaeger-json")
    );

    // By the list, from the keyboard, too.
    page.click("#files-count")?;
    assert!(page.is_shown("#add")?);
    for width in [480, 1200] {
        page.resize(width, 800, 1.0)?;
        page.wait_for_frame()?;
        let list = page.rect("#files .popup")?;
        assert!(
            list.x >= 0.0 && list.x + list.width <= f64::from(width),
            "{list:?}"
        );
    }
    page.run("document.getElementById('add').focus()", Vec::new())?;
    page.run(
        "document.getElementById('chooser').addEventListener('click', (it) => { it.preventDefault(); window.asked = true })",
        Vec::new(),
    )?;
    page.press("Enter")?;
    page.wait_for("window.asked")?;
    page.choose_file("#chooser", &more)?;
    page.wait_for_file("a.csv + jaeger-json.json + more.csv")?;
    assert_eq!(page.spans()?, both + 500.0);
    let said = listed(page)?;
    assert!(
        said[0].starts_with("a.csv") && said[0].contains("2,000 spans"),
        "{said:?}"
    );
    assert!(
        said[1].contains("jaeger-json") && !said[1].contains("dropped"),
        "{said:?}"
    );
    assert!(
        said[2].contains("500 spans") && said[2].contains("2,000 rows dropped"),
        "{said:?}"
    );
    let colors = page.value(
        "new Set([...document.querySelectorAll('#files-list i')].map((it) => getComputedStyle(it).backgroundColor)).size",
    )?;
    assert_eq!(colors, 3);

    for (remove, left) in [(2, "a.csv + jaeger-json.json"), (1, "a.csv")] {
        page.run("document.getElementById('files').open = true", Vec::new())?;
        page.click(&format!("#files-list [data-file='{remove}']"))?;
        page.wait_for_file(left)?;
    }
    assert_eq!(
        page.value("document.querySelector('[data-file]')")?,
        serde_json::Value::Null
    );
    page.must_be_silent()?;
    page.picture()?
        .must_be(&alone, "with the first file alone again")?;
    // Back brings the others back, without asking.
    page.back()?;
    page.wait_for_file("a.csv + jaeger-json.json")?;
    assert_eq!(page.spans()?, both);
    page.must_be_silent()
}

fn files_are_dropped_together(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let a = folder.write("a.csv", files::first_rows(600)?)?;
    let (b, c) = (fixture("otlp-json.json"), fixture("dash0.csv"));
    page.show("/")?;
    page.drop_files(&[&a, &b, &c], OPEN)?;
    page.wait_for_file("a.csv + otlp-json.json + dash0.csv")?;
    page.must_be_silent()?;
    let spans = page.spans()?;
    assert_eq!(page.view()?.files.len(), 3);
    page.choose_files("#chooser", &[&c, &a, &b])?;
    page.wait_for_file("dash0.csv + a.csv + otlp-json.json")?;
    assert_eq!(page.spans()?, spans);
    // Let go on the left, other files are opened instead.
    page.drop_file(&a, OPEN)?;
    page.wait_for_file("a.csv")?;
    assert_eq!(page.spans()?, 600.0);
    Ok(())
}

fn a_bad_one_is_named_and_the_others_open(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let a = folder.write("a.csv", files::first_rows(600)?)?;
    let photo = folder.write("photo.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")?;
    let empty = folder.write("empty.csv", b"")?;
    page.show("/")?;
    page.drop_files(&[&photo, &a, &empty, &fixture("dash0.csv")], OPEN)?;
    page.wait_for_file("a.csv + dash0.csv")?;
    page.wait_for_message(&["photo.csv", "picture", "empty.csv"])?;
    assert_eq!(page.text("#files-count")?, "2 files");
    // What is taken away is the one that is pressed, though files before it could not be read.
    page.run("document.getElementById('files').open = true", Vec::new())?;
    page.click("#files-list [data-file='0']")?;
    page.wait_for_file("dash0.csv")?;
    page.must_be_silent()
}

fn a_stopped_addition_leaves_what_was_there(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let a = folder.write("a.csv", files::first_rows(600)?)?;
    let large = folder.write("large.csv", files::repeated(5)?)?;
    page.show("/")?;
    page.drop_file(&a, OPEN)?;
    page.wait_for_file("a.csv")?;
    let (picture, address) = (page.picture()?, page.address()?);
    page.drop_file(&large, ADD)?;
    page.wait_for(
        "document.getElementById('reading-text').textContent.includes('large.csv (2 of 2)')",
    )?;
    page.press("Escape")?;
    page.wait_for_message(&["large.csv", "was stopped"])?;
    page.wait_until_still()?;
    assert_eq!(
        (page.text("#file-name")?, page.spans()?),
        ("a.csv".to_owned(), 600.0)
    );
    assert_eq!(page.address()?, address);
    page.dismiss_messages()?;
    page.picture()?
        .must_be(&picture, "after an addition was stopped")
}

fn a_link_to_several_files_takes_them_in_any_order(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let a = folder.write("a.csv", files::first_rows(900)?)?;
    let b = folder.write(
        "b: 2.csv",
        files::repeated(2)?
            .lines()
            .take(1_500)
            .collect::<Vec<_>>()
            .join("\n"),
    )?;
    let c = fixture("otlp-json.json");
    page.show("/")?;
    page.drop_files(&[&a, &b, &c], OPEN)?;
    page.wait_for_file("a.csv + b: 2.csv + otlp-json.json")?;
    let (link, picture) = (page.address()?, page.picture()?);
    let sources = page.view()?.files;
    assert!(
        sources
            .iter()
            .all(|it| matches!(it.source, Some(Source::File(_))))
    );

    let follow = |page: &Page| -> Result<()> {
        page.new_tab()?;
        page.open(&link)?;
        page.wait_for_message(&["a.csv", "b: 2.csv", "otlp-json.json", "in any order"])?;
        Ok(())
    };
    follow(page)?;
    page.drop_files(&[&c, &b, &a], OPEN)?;
    page.wait_for_file("a.csv + b: 2.csv + otlp-json.json")?;
    page.must_be_silent()?;
    page.picture()?
        .must_be(&picture, "with all files given at once")?;
    assert_eq!(page.address()?, link);

    // One after the other, one of them under another name.
    follow(page)?;
    page.drop_file(&c, OPEN)?;
    page.wait_for("!document.getElementById('notices').textContent.includes('otlp-json.json')")?;
    assert_eq!(page.text("#empty-text")?, "Drop a.csv and b: 2.csv here.");
    let renamed = folder.write(
        "renamed.csv",
        std::fs::read(&b).map_err(|it| it.to_string())?,
    )?;
    page.drop_file(&renamed, OPEN)?;
    page.wait_for("document.getElementById('empty-text').textContent == 'Drop a.csv here.'")?;
    page.drop_file(&a, OPEN)?;
    page.wait_for_file("a.csv + renamed.csv + otlp-json.json")?;
    page.picture()?.must_be(&picture, "with one file renamed")
}

fn json_opens_like_csv(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let read = |name: &str| std::fs::read(fixture(name)).map_err(|it| it.to_string());
    page.show("/")?;
    let accepts = page.string("document.getElementById('chooser').accept")?;
    for end in [".csv", ".json", ".jsonl", ".ndjson", ".gz"] {
        assert!(accepts.split(',').any(|it| it == end), "{accepts}");
    }
    for (name, from, exporter) in [
        ("traces.json", "jaeger-json.json", "jaeger-json"),
        ("spans.jsonl", "otlp-json-lines.json", "otlp-json"),
        ("spans.ndjson", "otlp-json-lines.json", "otlp-json"),
    ] {
        page.drop_file(&folder.write(name, read(from)?)?, OPEN)?;
        page.wait_for_file(name)?;
        let packed = format!("{name}.gz");
        let spans = page.spans()?;
        page.choose_file(
            "#chooser",
            &folder.write(&packed, files::gz(&read(from)?)?)?,
        )?;
        page.wait_for_file(&packed)?;
        page.must_be_silent()?;
        assert!(spans > 0.0 && page.spans()? == spans);
        assert!(page.text("#file-facts")?.starts_with(exporter), "{name}");
    }
    page.paste(&String::from_utf8_lossy(&read("jaeger-json.json")?))?;
    page.wait_for_file("pasted text")?;
    page.must_be_silent()
}
