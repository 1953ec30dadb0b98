//! The filter above the plot: its field, what may be written in it, what it means, and the way from match to match.
//!
//! Invariants: the view has what the field says as soon as that is a filter, and the field what the view says when
//! something else has changed it; a text that is none has its place marked, and the filter before it stays. Keys
//! within the field stay there. Cost a key: a filter that is read, a question to the engine, and a picture.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use js_sys::JsString;
use wasm_bindgen::JsCast;
use web_sys::{Event, KeyboardEvent};

use crate::dom;
use crate::history::Gesture;
use crate::page::App;
use crate::trace;
use herdscope::filter::Filter;
use herdscope::filter::holds;
use herdscope::format;
use herdscope::messages::{Request, Scene};

/// What is known of the field.
#[derive(Default)]
pub struct Field {
    /// The view's filter when the field was last made to say it.
    said: RefCell<String>,
    /// The question for what may follow.
    asked: Cell<Option<u32>>,
    /// What is proposed, and the bytes of the text that it would replace.
    proposed: RefCell<(Range<usize>, Vec<String>)>,
    /// The one of it that Enter takes.
    active: Cell<Option<usize>>,
}

const FIELD: &str = "filter";
const LIST: &str = "filter-list";

pub fn install(app: &Rc<App>) {
    app.on(FIELD, "input", |app, _| typed(app));
    app.on(FIELD, "keydown", |app, event| {
        key(app, event.unchecked_ref())
    });
    app.on(FIELD, "blur", |app, _| close(app));
    // Pressing a proposal leaves the focus in the field.
    app.on(LIST, "pointerdown", |_, event| event.prevent_default());
    app.on(LIST, "click", |app, event| {
        if let Some(nth) = dom::pressed(event, "data-nth") {
            choose(app, nth.parse().unwrap_or(0));
        }
    });
    app.on("rest", "click", |app, _| {
        app.change(Gesture::Step, |view| view.rest_hidden = !view.rest_hidden);
    });
}

/// Goes to the field, to write in it.
pub fn focus(app: &App) {
    let input = app.dom.input(FIELD);
    // An element that cannot be focused stays as it is.
    let _ = input.focus();
    input.select();
}

fn typed(app: &App) {
    let text = app.dom.input(FIELD).value();
    if show_problem(app, &text) {
        let filter = Some(text.clone()).filter(|it| !it.trim().is_empty());
        app.filter.said.replace(filter.clone().unwrap_or_default());
        app.change(Gesture::Burst("filter"), |view| view.filter = filter);
    }
    render_count(app);
    ask(app);
}

/// Asks what may follow.
fn ask(app: &App) {
    let before = before_cursor(app);
    let asked = app.client.send(&Request::Complete(before));
    app.filter.asked.set(app.report(asked));
}

/// The text up to the cursor, which counts as the browser does.
fn before_cursor(app: &App) -> String {
    let input = app.dom.input(FIELD);
    let text = JsString::from(input.value());
    let at = input.selection_end().ok().flatten();
    String::from(text.slice(0, at.unwrap_or_else(|| text.length())))
}

/// The engine's answer.
pub fn completed(app: &App, id: u32, from: u32, proposed: Vec<String>) {
    if app.filter.asked.get() != Some(id) {
        return;
    }
    app.filter.asked.set(None);
    let dom = &app.dom;
    let list = dom.html(LIST);
    dom::clear(&list);
    for (nth, says) in proposed.iter().enumerate() {
        let line = dom.add(&list, "li", "", says);
        line.set_id(&option(nth));
        dom::set(&line, "role", "option");
        dom::set(&line, "data-nth", &nth.to_string());
    }
    let open = !proposed.is_empty();
    let replaced = from as usize..before_cursor(app).len();
    app.filter.proposed.replace((replaced, proposed));
    show_list(app, open);
}

fn option(nth: usize) -> String {
    ["filter-", &nth.to_string()].concat()
}

fn show_list(app: &App, open: bool) {
    app.dom.show(LIST, open);
    dom::flag(&app.dom.html(FIELD), "aria-expanded", open);
    activate(app, None);
}

fn close(app: &App) {
    app.filter.asked.set(None);
    show_list(app, false);
}

fn activate(app: &App, nth: Option<usize>) {
    app.filter.active.set(nth);
    let id = nth.map(option).unwrap_or_default();
    dom::set(&app.dom.html(FIELD), "aria-activedescendant", &id);
    let lines = app.dom.html(LIST).children();
    for at in 0..lines.length() {
        if let Some(line) = lines.item(at) {
            dom::flag(&line, "aria-selected", Some(at as usize) == nth);
        }
    }
}

fn choose(app: &App, nth: usize) {
    let (at, says) = {
        let proposed = app.filter.proposed.borrow();
        let Some(says) = proposed.1.get(nth) else {
            return;
        };
        (proposed.0.clone(), says.clone())
    };
    let input = app.dom.input(FIELD);
    let text = input.value();
    let before = text.get(..at.start).unwrap_or_default();
    let after = text.get(at.end..).unwrap_or_default();
    // A key waits for its value.
    let last = says.as_bytes().last();
    let whole = !matches!(last, Some(b'=' | b'~' | b'>'));
    let space = if whole && !after.starts_with(' ') {
        " "
    } else {
        ""
    };
    let written = [before, &says, space].concat();
    let cursor = JsString::from(written.as_str()).length();
    input.set_value(&[&written, after].concat());
    // Refused by fields without text alone.
    let _ = input.set_selection_range(cursor, cursor);
    typed(app);
    if whole {
        close(app);
    }
}

fn key(app: &App, event: &KeyboardEvent) {
    let n_proposed = match app.dom.html(LIST).hidden() {
        true => 0,
        false => app.filter.proposed.borrow().1.len(),
    };
    let active = app.filter.active.get();
    match event.key().as_str() {
        "ArrowDown" | "ArrowUp" if n_proposed == 0 => ask(app),
        "ArrowDown" => activate(app, Some(active.map_or(0, |it| (it + 1) % n_proposed))),
        "ArrowUp" => {
            let last = n_proposed - 1;
            activate(
                app,
                Some(active.map_or(last, |it| it.checked_sub(1).unwrap_or(last))),
            );
        }
        "Enter" => match active.filter(|_| n_proposed > 0) {
            Some(nth) => choose(app, nth),
            None => {
                close(app);
                step(app, event.shift_key());
            }
        },
        "Escape" if n_proposed > 0 => close(app),
        "Escape" => {
            // The plot can be focused.
            let _ = app.dom.html("plot").focus();
        }
        _ => return,
    }
    event.prevent_default();
    Event::stop_propagation(event);
}

/// Means only spans that this test means, too.
pub fn narrow(app: &App, test: &str) {
    let before = app.state().view.filter.clone().unwrap_or_default();
    if holds(&before, test) {
        return;
    }
    let narrowed = match before.trim() {
        "" => test.to_owned(),
        before => ["(", before, ") ", test].concat(),
    };
    app.change(Gesture::Step, |view| view.filter = Some(narrowed));
}

/// Picks the trace of the next match, or of the one before.
pub fn step(app: &App, back: bool) {
    if app.state().view.filter.is_some()
        && let Some(id) = app.report(app.client.send(&Request::Step { back }))
    {
        trace::await_match(app, id);
    }
}

/// Says what is wrong with a text; whether it is a filter, or none at all.
fn show_problem(app: &App, text: &str) -> bool {
    let dom = &app.dom;
    let problem = dom.html("filter-problem");
    let error = match text.trim().is_empty() {
        true => None,
        false => text.parse::<Filter>().err(),
    };
    dom::clear(&problem);
    problem.set_hidden(error.is_none());
    dom::flag(&dom.html(FIELD), "aria-invalid", error.is_some());
    let Some(error) = error else {
        return true;
    };
    let before = text.get(..error.at.start).unwrap_or_default();
    let after = text.get(error.at.end..).unwrap_or_default();
    let said = dom.add(&problem, "code", "", before);
    // At the end there is nothing to be marked.
    let marked = match error.got.as_str() {
        "" => "\u{2003}",
        marked => marked,
    };
    dom.add(&said, "mark", "", marked);
    dom.add(&said, "span", "", after);
    dom.add(&problem, "span", "", &error.to_string());
    false
}

pub fn render(app: &App) {
    let (filter, hidden) = {
        let view = &app.state().view;
        (view.filter.clone(), view.rest_hidden)
    };
    let dom = &app.dom;
    dom.show("rest", filter.is_some());
    dom::flag(&dom.html("rest"), "aria-pressed", hidden);
    let filter = filter.unwrap_or_default();
    if *app.filter.said.borrow() != filter {
        dom.input(FIELD).set_value(&filter);
        show_problem(app, &filter);
        app.filter.said.replace(filter);
        render_count(app);
    }
}

/// How much the filter of the last picture means, unless the field has another one.
pub fn render_count(app: &App) {
    let matches = app
        .state()
        .scene
        .as_ref()
        .and_then(|it: &Rc<Scene>| it.matches);
    let same = app.dom.input(FIELD).value() == *app.filter.said.borrow();
    let text = match matches.filter(|_| same) {
        None => String::new(),
        Some([0, _]) => "no span".to_owned(),
        Some([spans, traces]) => [
            &format::counted(spans, "span"),
            " in ",
            &format::counted(traces, "trace"),
        ]
        .concat(),
    };
    app.dom.text("filter-count", &text);
}
