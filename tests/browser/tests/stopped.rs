//! An engine that stops, and a page that does: what is said, and that the way back is a press.

use herdscope_browser_tests::files::{self, Folder};
use herdscope_browser_tests::{Page, Point, Result, suite};
use serde_json::{Value, json};

suite!(
    an_engine_that_panics_is_started_again,
    an_engine_that_ends_without_a_word_is_told_apart,
    an_engine_that_does_not_start_is_not_tried_for_ever,
    a_page_that_panics_says_so,
    a_page_that_ends_without_a_word_says_so,
);

const SHOWN: &str = "document.getElementById('stopped-dialog').open";

/// Keeps the workers of the next page where the test can reach them.
fn watch_workers(page: &Page, before: &str) -> Result<()> {
    let source = format!(
        "{{ const Of = Worker; window.workers = []; window.Worker = function (...it) {{ {before}; \
         const worker = new Of(...it); window.workers.push(worker); return worker }} }}"
    );
    page.run_first(&source)
}

/// A message that the engine cannot read, which is a panic.
const PANIC: &str =
    "window.workers.at(-1).postMessage({ id: 1, body: new Uint8Array([255, 255, 255, 255]) })";

fn run(page: &Page, statements: &str) -> Result<()> {
    page.run(statements, Vec::new()).map(|_| ())
}

fn an_engine_that_panics_is_started_again(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let csv = files::first_rows(300)?;
    let file = folder.write("secret-name.csv", &csv)?;
    watch_workers(page, "")?;
    page.show("/")?;
    page.drop_file(&file, Point { x: 300.0, y: 450.0 })?;
    page.wait_for_file("secret-name.csv")?;
    page.click("#tab-breaker")?;
    page.wait_until_still()?;
    let (picture, address) = (page.picture()?, page.address()?);

    run(page, PANIC)?;
    page.wait_for(SHOWN)?;
    assert!(page.text("#stopped-title")?.contains("engine has stopped"));
    let text = page.text("#stopped-text")?;
    assert!(
        text.contains("Another has been started") && text.contains("Open it again"),
        "{text}"
    );
    let report = page.text("#stopped-report")?;
    for words in [
        "herdscope 0.",
        "build: ",
        "browser: Mozilla",
        "spans: 300",
        "panicked at src/packed.rs:",
        "cannot be read",
    ] {
        assert!(report.contains(words), "`{words}` is not in {report}");
    }
    assert!(
        report.contains(&herdscope::format::bytes(csv.len() as u64)),
        "{report}"
    );
    assert!(
        !report.contains("secret") && !report.contains("shop"),
        "{report}"
    );
    assert_eq!(page.address()?, address);
    assert!(!page.is_shown("#reload")?);
    page.allow_clipboard()?;
    page.click("#stopped-copy")?;
    page.wait_for("document.getElementById('stopped-copy').textContent.includes('Copied')")?;
    assert_eq!(page.clipboard()?.trim(), report.trim());

    page.click("#stopped-again")?;
    page.wait_for_file("secret-name.csv")?;
    assert_eq!(page.value(SHOWN)?, json!(false));
    page.picture()?.must_be(&picture, "opened again")?;
    assert_eq!(page.address()?, address);
    page.must_be_silent()?;
    // What the engine ended with is logged, perhaps.
    page.take_errors()?;
    Ok(())
}

fn an_engine_that_ends_without_a_word_is_told_apart(page: &mut Page) -> Result<()> {
    watch_workers(page, "")?;
    page.show("/")?;
    let picture = page.picture()?;
    let end = "const worker = window.workers.at(-1); \
               worker.dispatchEvent(new ErrorEvent('error', { message: 'RuntimeError: unreachable', cancelable: true }))";
    run(page, end)?;
    page.wait_for(SHOWN)?;
    let text = page.text("#stopped-text")?;
    assert!(text.contains("no memory left"), "{text}");
    page.press("Escape")?;
    page.wait_for(&format!("!{SHOWN}"))?;
    assert!(page.is_shown("#empty")?);
    page.show("/")?;
    page.picture()?.must_be(&picture, "loaded again")?;
    page.take_errors()?;
    Ok(())
}

fn an_engine_that_does_not_start_is_not_tried_for_ever(page: &mut Page) -> Result<()> {
    let broken =
        "it[0] = URL.createObjectURL(new Blob(['throw Error(1)'], { type: 'text/javascript' }))";
    watch_workers(page, broken)?;
    page.open("/")?;
    page.wait_for(SHOWN)?;
    assert!(page.text("#stopped-title")?.contains("does not start"));
    assert!(page.is_shown("#reload")? && !page.is_shown("#stopped-again")?);
    assert_eq!(page.value("window.workers.length")?, json!(1));
    page.take_errors()?;
    Ok(())
}

fn a_page_that_panics_says_so(page: &mut Page) -> Result<()> {
    page.show("/#v=1&pane=breaker")?;
    let address = page.address()?;
    // It misses a part of its own document.
    run(page, "document.getElementById('foot-time').remove()")?;
    page.press("Plus")?;
    page.wait_for(SHOWN)?;
    assert!(page.text("#stopped-title")?.contains("page has stopped"));
    let report = page.text("#stopped-report")?;
    assert!(
        report.contains("panicked at page/src/dom.rs") && report.contains("build: "),
        "{report}"
    );
    assert!(!page.is_shown("#stopped-copy")? && !page.is_shown("#stopped-again")?);
    page.click("#reload")?;
    page.wait_for("document.getElementById('foot-time') != null")?;
    page.wait_until_still()?;
    assert!(
        page.address()?
            .starts_with(address.split('&').next().unwrap_or_default())
    );
    assert!(page.is_shown("#pane-breaker")?);
    assert_ne!(page.value("window.workers")?, Value::Bool(true));
    page.take_errors()?;
    Ok(())
}

fn a_page_that_ends_without_a_word_says_so(page: &mut Page) -> Result<()> {
    // Its own kinds of errors: those of a test's statements may be of another realm.
    page.run_first(
        "window.end = (make) => dispatchEvent(new ErrorEvent('error', { error: make() })); \
         window.other = () => new Error('of somebody else'); \
         window.trap = () => new WebAssembly.RuntimeError('unreachable')",
    )?;
    page.show("/")?;
    let end = |error: &str| run(page, &format!("window.end(window.{error})"));
    // Not one of another script, an extension's for instance.
    end("other")?;
    assert_eq!(page.value(SHOWN)?, json!(false));
    end("trap")?;
    page.wait_for(SHOWN)?;
    assert!(page.text("#stopped-title")?.contains("page has stopped"));
    assert!(page.text("#stopped-report")?.contains("unreachable"));
    page.wait_for("document.activeElement.id == 'reload'")?;
    page.take_errors()?;
    Ok(())
}
