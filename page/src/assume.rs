//! The line under the file's name: what was assumed to read it, each a button that tells it otherwise.
//!
//! Invariant: what is told is a part of the view. Only what is about cells reads the files again.

use std::cell::RefCell;
use std::rc::Rc;

use web_sys::HtmlDialogElement;

use crate::page::App;
use crate::reading::{self, Plan, told_of};
use crate::{columns, dom};
use herdscope::files::{Said, choices, needs_reading, said, without};
use herdscope::ingest::{Told, ToldError};
use herdscope::messages::Summary;
use herdscope::view::View;

/// What stands in the line.
#[derive(Default)]
pub struct Assume(RefCell<Vec<Said>>);

/// How a part is said in the line, and asked in the dialog.
fn words(part: &str) -> (&'static str, &'static str) {
    match part {
        "zone" => ("times in", "The zone of times that name none"),
        "dates" => ("dates", "Dates like 3/4/2026"),
        "start" => ("starts in", "The unit of starts"),
        "end" => ("ends in", "The unit of ends"),
        "duration" => ("durations in", "The unit of durations"),
        "failed" => ("failed from", "How long a span took that failed"),
        "http-failed" => ("failed from HTTP", "The HTTP status of calls that failed"),
        "logical" => ("tries as one call:", "Tries of one call count as one call"),
        "sample" => ("traces read: 1 of", "Of how many traces one is read"),
        _ => ("columns as told", ""),
    }
}

pub fn install(app: &Rc<App>) {
    app.on("assumptions", "click", |app, event| {
        let at = dom::pressed(event, "data-at").and_then(|it| it.parse().ok());
        if let Some(at) = at {
            open(app, at);
        }
    });
    // Enter in the field is a press of its button.
    app.on("assume-form", "click", |app, event| {
        if dom::closest(event, ".primary").is_some() {
            event.prevent_default();
            apply(app, &app.dom.input("assume-text").value());
        } else if let Some(value) = dom::pressed(event, "data-value") {
            apply(app, &value);
        }
    });
}

fn dialog(app: &App) -> HtmlDialogElement {
    app.dom.get("assume-dialog")
}

/// The line.
pub fn render(app: &App, summary: &Summary) {
    let dom = &app.dom;
    let line = dom.html("assumptions");
    dom::clear(&line);
    let all = said(&summary.files, &summary.offered);
    dom.show("assumptions", !all.is_empty());
    for (at, it) in all.iter().enumerate() {
        let value = it.value.trim_start_matches('@');
        let (name, colon) = match it.files[..] {
            [file] if summary.files.len() > 1 => (&*summary.files[file].name, ": "),
            _ => ("", ""),
        };
        let asked = it.part == "failed" && !it.told;
        let text = match asked && value.is_empty() {
            true => "no failures told".to_owned(),
            false => {
                let mark = if asked { "?" } else { "" };
                [name, colon, words(&it.part).0, " ", value, mark].concat()
            }
        };
        let button = dom.button("", &text, "data-at", &at.to_string());
        dom::set(&button, "data-part", &it.part);
        dom::fill(&line, &[&button]);
    }
    app.assume.0.replace(all);
}

fn open(app: &App, at: usize) {
    let Some(it) = app.assume.0.borrow().get(at).cloned() else {
        return;
    };
    if it.part == "columns" {
        return columns::change(app, it.files[0]);
    }
    let dom = &app.dom;
    dom.text("assume-title", words(&it.part).1);
    let list = dom.html("assume-choices");
    dom::clear(&list);
    let mut known = choices(&it.part).to_vec();
    if !known.contains(&&*it.value) && !it.value.is_empty() {
        known.push(&it.value);
    }
    for value in known {
        let label = value.trim_start_matches('@');
        let button = dom.button("small", label, "data-value", value);
        let pressed = it.value == value && (it.told || it.part != "failed");
        dom::flag(&button, "aria-pressed", pressed);
        dom::fill(&list, &[&button]);
    }
    if it.told {
        dom::fill(
            &list,
            &[&dom.button("small", "take it back", "data-value", "")],
        );
    }
    let free = matches!(
        it.part.as_str(),
        "zone" | "failed" | "http-failed" | "sample"
    );
    dom.show("assume-free", free);
    dom.input("assume-text").set_value(&it.value);
    dom.show("assume-problem", false);
    dom::set(&dom.html("assume-form"), "data-at", &at.to_string());
    app.report(dialog(app).show_modal());
}

/// Tells a value; the empty one takes back what was told.
fn apply(app: &App, value: &str) {
    let at = dom::attribute(&app.dom.html("assume-form"), "data-at").parse();
    let Some(line) = at
        .ok()
        .and_then(|at: usize| app.assume.0.borrow().get(at).cloned())
    else {
        return;
    };
    let value = value.trim();
    let part = match value {
        "" => Ok(Told::default()),
        value => [&line.part, "=", value].concat().parse(),
    };
    let now: Told = match part {
        Ok(now) => now,
        Err(problem) => {
            app.dom
                .text("assume-problem", &ToldError::to_string(&problem));
            return app.dom.show("assume-problem", true);
        }
    };
    let mut inputs = app.state().inputs.clone();
    let mut reads = false;
    for (at, given) in inputs.iter_mut().enumerate() {
        if line.files.contains(&at) {
            let before: Told = told_of(&given.told);
            let after = without(before.clone(), &line.part).and(now.clone());
            reads |= needs_reading(&before, &after);
            given.told = after.to_string();
        }
    }
    dialog(app).close();
    let view = app.view();
    // Another zone or unit is another time.
    let viewport = view.viewport.filter(|_| !reads);
    let plan = Plan::new(inputs, View { viewport, ..view });
    match reads {
        true => reading::read_given(app, plan),
        false => reading::judge(app, plan),
    }
}
