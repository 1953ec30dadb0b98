//! What a person tells about a file: which column is what, and what had to be assumed.

use std::path::PathBuf;

use herdscope_browser_tests::files::Folder;
use herdscope_browser_tests::{Page, Point, Result, suite};
use serde_json::{Value, json};

suite!(
    unknown_columns_are_asked_for_and_drawn,
    columns_are_remembered_for_the_same_headers,
    an_assumption_is_told_otherwise,
    failures_are_told_without_reading_again,
);

const OPEN: Point = Point { x: 300.0, y: 450.0 };
const ADD: Point = Point { x: 900.0, y: 450.0 };

/// Calls of which no rule knows the columns.
fn unknown(folder: &Folder, name: &str, head: &str, from: u32) -> Result<PathBuf> {
    let rows = (from..from + 60).fold(head.to_owned(), |text, at| {
        let when = 1_767_607_200_000_u64 + u64::from(at) * 250;
        text + &format!("\nkey-{at},web,{when},{},GET /,fine", 20 + at)
    });
    folder.write(name, rows)
}

const HEAD: &str = "correlation,who,moment,lasted,what,verdict";

fn wait_for_dialog(page: &Page) -> Result<()> {
    page.wait_for("document.getElementById('columns-dialog').open")
}

/// Chooses what a column is, and its unit.
fn choose(page: &Page, column: &str, field: &str, unit: &str) -> Result<()> {
    page.set(&format!("[aria-label='What is {column}']"), field)?;
    page.set(&format!("[aria-label='Unit of {column}']"), unit)
}

fn tell_columns(page: &Page) -> Result<()> {
    choose(page, "correlation", "trace", "")?;
    choose(page, "who", "service", "")?;
    choose(page, "moment", "start", "ms")?;
    choose(page, "lasted", "duration", "us")?;
    choose(page, "what", "operation", "")?;
    choose(page, "verdict", "", "")
}

fn problem(page: &Page) -> Result<String> {
    match page.is_shown("#columns-problem")? {
        true => page.text("#columns-problem"),
        false => Ok(String::new()),
    }
}

fn unknown_columns_are_asked_for_and_drawn(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let file = unknown(&folder, "odd.csv", HEAD, 0)?;
    page.show("/")?;
    let sample = page.picture()?;
    page.run("document.getElementById('help').focus()", Vec::new())?;
    page.drop_file(&file, OPEN)?;
    wait_for_dialog(page)?;
    let shown = page.text("#columns-table")?;
    for part in ["correlation", "verdict", "key-0", "key-4", "1767607200000"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // Guesses are filled in, units only where there are times.
    let value = |label: &str| {
        page.string(&format!(
            "document.querySelector(\"[aria-label='{label}']\").value"
        ))
    };
    assert_eq!(value("What is correlation")?, "trace");
    page.set("[aria-label='What is moment']", "start")?;
    assert!(page.is_shown("[aria-label='Unit of moment']")?);
    assert!(!page.is_shown("[aria-label='Unit of who']")?);
    page.set("[aria-label='What is moment']", "")?;

    // What is missing is said in the dialog, where the focus stays.
    page.click("#columns-draw")?;
    page.wait_for("!document.getElementById('columns-problem').hidden")?;
    assert!(problem(page)?.contains("start"), "{}", problem(page)?);
    choose(page, "moment", "start", "ms")?;
    choose(page, "who", "start", "")?;
    page.click("#columns-draw")?;
    page.wait_for(
        "document.getElementById('columns-problem').textContent.includes('Two columns')",
    )?;
    assert!(problem(page)?.contains("Two columns"), "{}", problem(page)?);
    for _ in 0..40 {
        page.press("Tab")?;
        assert_eq!(
            page.value("document.activeElement == document.body || document.getElementById('columns-dialog').contains(document.activeElement)")?,
            Value::Bool(true)
        );
    }
    // Esc leaves everything as it was.
    page.press("Escape")?;
    page.wait_for("!document.getElementById('columns-dialog').open")?;
    assert_eq!(page.string("document.activeElement.id")?, "help");
    assert_eq!(page.text("#file-name")?, "sample incident");
    page.must_be_silent()?;
    page.picture()?
        .must_be(&sample, "after the question was left")?;

    page.drop_file(&file, OPEN)?;
    wait_for_dialog(page)?;
    tell_columns(page)?;
    page.click("#columns-draw")?;
    page.wait_for_file("odd.csv")?;
    page.must_be_silent()?;
    assert_eq!(page.spans()?, 60.0);
    let told = page.view()?.files[0].told.clone().unwrap_or_default();
    for part in [
        "trace=correlation",
        "start=moment@ms",
        "duration=lasted@us",
        "service=who",
    ] {
        assert!(told.split(',').any(|it| it == part), "{part}: {told}");
    }
    let (link, picture) = (page.address()?, page.picture()?);

    // Nothing is asked where the link says it, though this device remembers nothing.
    page.run("localStorage.clear()", Vec::new())?;
    page.new_tab()?;
    page.open(&link)?;
    page.wait_for_message(&["odd.csv", "drop it here"])?;
    page.drop_file(&file, OPEN)?;
    page.wait_for_file("odd.csv")?;
    page.must_be_silent()?;
    page.picture()?.must_be(&picture, "from its link")?;
    assert_eq!(page.address()?, link);
    Ok(())
}

fn columns_are_remembered_for_the_same_headers(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    page.show("/")?;
    page.drop_file(&unknown(&folder, "one.csv", HEAD, 0)?, OPEN)?;
    wait_for_dialog(page)?;
    tell_columns(page)?;
    page.click("#columns-draw")?;
    page.wait_for_file("one.csv")?;
    page.must_be_silent()?;
    // Another file with these headers, beside it.
    page.drop_file(&unknown(&folder, "two.csv", HEAD, 100)?, ADD)?;
    page.wait_for_file("one.csv + two.csv")?;
    page.wait_for_message(&["two.csv", "as you have told"])?;
    assert_eq!(page.spans()?, 120.0);

    // Told otherwise: a mistake that makes it unreadable is said inside, and nothing is lost.
    page.click("#notices button:not(.close)")?;
    wait_for_dialog(page)?;
    assert_eq!(
        page.string("document.querySelector(\"[aria-label='Unit of lasted']\").value")?,
        "us"
    );
    assert_eq!(page.text("#file-name")?, "one.csv + two.csv");
    choose(page, "lasted", "duration", "ms")?;
    page.click("#columns-draw")?;
    page.wait_for_view("the other unit", |view| {
        let told = view.files.get(1).and_then(|it| it.told.clone());
        told.is_some_and(|it| it.contains("lasted@ms"))
    })?;
    page.wait_for_file("one.csv + two.csv")?;
    assert!(
        page.view()?.files[0]
            .told
            .as_deref()
            .is_some_and(|it| it.contains("lasted@us"))
    );

    // From the line under the name, too.
    page.click("#assumptions [data-part=columns]")?;
    wait_for_dialog(page)?;
    page.press("Escape")?;
    page.wait_until_still()?;
    assert_eq!(page.spans()?, 120.0);
    Ok(())
}

fn assume_dialog(page: &Page, part: &str) -> Result<()> {
    page.click(&format!("#assumptions [data-part={part}]"))?;
    page.wait_for("document.getElementById('assume-dialog').open")
}

fn an_assumption_is_told_otherwise(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let head = "trace_id,span_id,parent_span_id,service,name,kind,start,duration,status";
    let rows = (0..50).fold(head.to_owned(), |text, at| {
        text + &format!("\nt{at},s{at},,web,GET,client,2026-01-05 10:00:{at:02}.5,30,OK")
    });
    page.show("/")?;
    page.drop_file(&folder.write("local.csv", rows)?, OPEN)?;
    page.wait_for_file("local.csv")?;
    let first = |page: &Page| page.text("#foot-time");
    let (utc, line) = (first(page)?, page.text("#assumptions")?);
    assert!(
        utc.contains("10:00:") && line.contains("times in UTC"),
        "{utc} {line}"
    );
    assert!(line.contains("durations in ms"), "{line}");

    assume_dialog(page, "zone")?;
    page.write("#assume-text", "two hours")?;
    page.press("Enter")?;
    page.wait_for("!document.getElementById('assume-problem').hidden")?;
    assert!(page.text("#assume-problem")?.contains("+02:00"));
    page.click("#assume-choices [data-value='+02:00']")?;
    page.wait_for_view("the zone", |view| {
        view.files[0].told.as_deref() == Some("zone=+02:00")
    })?;
    page.wait_until_still()?;
    assert!(first(page)?.contains("08:00:"), "{}", first(page)?);
    assert!(page.text("#assumptions")?.contains("times in +02:00"));
    assert_eq!(
        page.value("document.getElementById('assume-dialog').open")?,
        json!(false)
    );

    assume_dialog(page, "duration")?;
    page.click("#assume-choices [data-value='@s']")?;
    page.wait_for_view("the unit", |view| {
        view.files[0].told.as_deref() == Some("duration=@s,zone=+02:00")
    })?;
    page.wait_until_still()?;
    // Back takes it back, and what was told can be left again.
    page.back()?;
    page.wait_for_view("the view of before", |view| {
        view.files[0].told.as_deref() == Some("zone=+02:00")
    })?;
    page.wait_until_still()?;
    assume_dialog(page, "zone")?;
    page.press("Escape")?;
    page.wait_for("!document.getElementById('assume-dialog').open")?;
    assume_dialog(page, "zone")?;
    page.click("#assume-choices [data-value='']")?;
    page.wait_for_view("nothing told", |view| view.files[0].told.is_none())?;
    page.wait_until_still()?;
    assert_eq!(first(page)?, utc);
    page.must_be_silent()
}

/// Calls without a status, each tenth cut at three seconds.
fn without_status() -> String {
    let head = "trace_id,span_id,parent_span_id,service,kind,peer.service,start_ms,duration_ms";
    (0..100).fold(head.to_owned(), |text, at| {
        let start = 1_767_607_200_000_u64 + at * 100;
        let took = if at % 10 == 0 {
            3_000 + at / 10
        } else {
            40 + at
        };
        text + &format!("\nt{at},s{at},,web,client,stock,{start},{took}")
    })
}

fn failures_are_told_without_reading_again(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let file = folder.write("bare.csv", without_status())?;
    page.show("/")?;
    page.drop_file(&file, OPEN)?;
    page.wait_for_file("bare.csv")?;
    let before = page.picture()?;
    assert!(page.text("#assumptions")?.contains("failed from 3s?"));
    let has_timeouts = "document.querySelector('#legend [data-key=timed_out]') != null";
    assert_eq!(page.value(has_timeouts)?, json!(false));
    // The file is gone: whoever would read it again could not.
    std::fs::remove_file(&file).map_err(|it| it.to_string())?;

    assume_dialog(page, "failed")?;
    page.click("#assume-choices [data-value='3s']")?;
    page.wait_for(has_timeouts)?;
    page.wait_for_view("the duration", |view| {
        view.files[0].told.as_deref() == Some("failed=3s")
    })?;
    page.must_be_silent()?;
    assert!(!page.picture()?.differing(&before).is_empty());
    assert!(
        page.value("document.querySelector('#issues-list [data-code=no_status]')")?
            .is_null()
    );
    assume_dialog(page, "failed")?;
    page.set("#assume-text", "100ms")?;
    page.click("#assume-free button")?;
    page.wait_for_view("another duration", |view| {
        view.files[0].told.as_deref() == Some("failed=100ms")
    })?;
    page.wait_until_still()?;
    for _ in 0..2 {
        page.back()?;
    }
    page.wait_for_view("nothing told", |view| view.files[0].told.is_none())?;
    page.picture()?.must_be(&before, "after Back")?;
    page.must_be_silent()
}
