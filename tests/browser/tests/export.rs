//! What is taken away: files of exactly what is looked at, the same as the library makes.

use herdscope::messages::Export;
use herdscope::view::View;
use herdscope_browser_tests::{Page, Result, Truth, suite};
use serde_json::Value;

suite!(
    spans_in_view_are_given_as_csv,
    the_picked_trace_is_given_alone,
    what_is_known_is_given_as_json,
);

const LINK: &str = "/#v=1&src=sample:incident";

/// Files go to the test instead of to the disk: the names and the files that the page gives.
const CATCH: &str = "if (!window.taken) { const address = URL.createObjectURL; \
    URL.createObjectURL = file => { taken.push({ file }); return address.call(URL, file); }; \
    HTMLAnchorElement.prototype.click = function () { taken.at(-1).name = this.download; }; } \
    window.taken = [];";

/// Presses an entry of the dialog; the name and the text of the file that comes.
fn take(page: &Page, what: &str) -> Result<(String, String)> {
    page.run(CATCH, Vec::new())?;
    page.press("e")?;
    page.wait_for("document.getElementById('export-dialog').open")?;
    page.click(&format!("#export-list [data-export={what}]"))?;
    page.wait_for("window.taken.length == 1 && taken[0].name")?;
    page.must_be_silent()?;
    let name = page.string("taken[0].name")?;
    let text = page.run("return taken[0].file.text()", Vec::new())?;
    Ok((name, text.as_str().unwrap_or_default().to_owned()))
}

/// The same as the library makes it.
fn made(view: &View, what: &Export) -> Result<String> {
    let mut text = String::new();
    Truth::of_sample()?.ask(|engine| {
        let mut exporting = engine.export(view.clone(), what, |it| Value::from(it).to_string());
        while engine.step_export(&mut exporting, &mut text) == Some(true) {}
    });
    Ok(text)
}

fn spans_in_view_are_given_as_csv(page: &mut Page) -> Result<()> {
    page.show(LINK)?;
    let (name, all) = take(page, "spans")?;
    assert_eq!(name, "herdscope-sample-incident.csv");
    assert!(
        all == made(&View::default(), &Export::Spans)?,
        "{} bytes",
        all.len()
    );
    // A herd, and some of it.
    page.press("n")?;
    page.wait_for_view("an attempt", |view| view.viewport.is_some())?;
    page.write("#filter", "timeout")?;
    let view = page.wait_for_view("a filter", |view| view.filter.is_some())?;
    // Out of the field, where keys are letters.
    page.run("document.activeElement.blur()", Vec::new())?;
    page.wait_until_still()?;
    let (_, some) = take(page, "spans")?;
    assert!(some == made(&view, &Export::Spans)?, "{some}");
    assert!(some.lines().count() > 1 && some.len() < all.len());
    Ok(())
}

fn the_picked_trace_is_given_alone(page: &mut Page) -> Result<()> {
    page.show(LINK)?;
    page.press("e")?;
    page.wait_for("document.getElementById('export-dialog').open")?;
    assert!(!page.is_shown("#export-trace")?, "no trace is picked");
    page.press("Escape")?;
    page.press(".")?;
    let view = page.wait_for_view("a trace", |view| view.trace.is_some())?;
    page.wait_until_still()?;
    let (name, text) = take(page, "trace")?;
    assert_eq!(name, "herdscope-sample-incident-trace.csv");
    let id = view.trace.clone().unwrap_or_default();
    assert!(
        text.lines().skip(1).all(|line| line.contains(&id)),
        "{text}"
    );
    assert_eq!(text, made(&view, &Export::Trace(id))?);
    Ok(())
}

fn what_is_known_is_given_as_json(page: &mut Page) -> Result<()> {
    page.show(&format!(
        "{LINK}&breaker=window=100,min=20,fail=50%25,open=60s,probes=10"
    ))?;
    let view = page.view()?;
    let (name, text) = take(page, "json")?;
    assert_eq!(name, "herdscope-sample-incident.json");
    let (got, expected): (Value, Value) = (
        serde_json::from_str(&text).map_err(|error| error.to_string())?,
        serde_json::from_str(&made(&view, &Export::Json)?).map_err(|error| error.to_string())?,
    );
    assert!(!expected["herds"]["attempts"][0].is_null());
    must_be_same(&got, &expected, "");
    Ok(())
}

/// Numbers are the same whether they are written 3 or 3.0.
fn must_be_same(a: &Value, b: &Value, place: &str) {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            assert_eq!(a.len(), b.len(), "{place}");
            for (key, it) in a {
                must_be_same(it, &b[key], &format!("{place}.{key}"));
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{place}");
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                must_be_same(a, b, &format!("{place}[{at}]"));
            }
        }
        (Value::Number(a), Value::Number(b)) => assert_eq!(a.as_f64(), b.as_f64(), "{place}"),
        _ => assert_eq!(a, b, "{place}"),
    }
}
