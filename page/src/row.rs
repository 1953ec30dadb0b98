//! What the row of a span says, below the span in the list of its trace; it can be searched.
//!
//! Invariants: at most one span is open, and it shows its own row, a sentence, or that it is being read; what is
//! asked for another, or not any more, is let go.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, HtmlInputElement};

use crate::dom::{self, Dom};
use crate::page::App;
use crate::panes;
use herdscope::filter::holds;
use herdscope::messages::Request;
use herdscope::panes::Block;

/// The row of the span that is open.
#[derive(Default)]
pub struct Row {
    /// It is under way, by the id of its request.
    asked: Cell<Option<u32>>,
    said: RefCell<Vec<Block>>,
}

/// So many lines are searched by eye.
const FEW: u32 = 8;

pub fn install(app: &Rc<App>) {
    app.on("trace-spans", "click", |app, event| {
        if let Some(button) = dom::closest(event, "[data-nth]") {
            let was_open = dom::attribute(&button, "aria-expanded") == "true";
            close(app);
            if !was_open {
                open(app, &button);
            }
        } else if let Some(nth) = dom::pressed(event, "data-act") {
            let said = app.row.said.borrow();
            let act = panes::acts(&said)
                .nth(nth.parse().unwrap_or(usize::MAX))
                .cloned();
            drop(said);
            if let Some(act) = act {
                panes::press(app, act);
            }
        }
    });
    app.on("trace-spans", "input", |app, event| {
        if let Some(field) = dom::closest(event, "#cells input") {
            let field: HtmlInputElement = field.unchecked_into();
            show_lines_with(app, &field.value());
        }
    });
}

/// Shows the lines of the row that hold a text.
fn show_lines_with(app: &App, part: &str) {
    let lines = app.dom.html("cells").get_elements_by_tag_name("tr");
    for line in (0..lines.length()).filter_map(|at| lines.item(at)) {
        let text = line.text_content().unwrap_or_default();
        let line: HtmlElement = line.unchecked_into();
        line.set_hidden(!holds(&text, part));
    }
}

/// What opens and closes a span.
pub fn button(dom: &Dom, nth: usize) -> HtmlElement {
    let button = dom.button("open", "", "data-nth", &nth.to_string());
    dom::flag(&button, "aria-expanded", false);
    button
}

/// Opens the span that was picked, where that is quickly done.
pub fn open_picked(app: &App) {
    let detail = app.state().detail.clone();
    let picked = detail.filter(|it| it.at_hand).and_then(|it| it.picked);
    let button = picked.and_then(|nth| {
        let buttons = app.dom.html("trace-spans").children();
        let line = buttons.item(nth)?;
        line.query_selector("[aria-expanded=false]").ok()?
    });
    if let Some(button) = button {
        close(app);
        open(app, &button);
    }
}

/// Asks for the row of a span.
fn open(app: &App, button: &Element) {
    let file_and_place = || {
        let state = app.state();
        let nth: usize = dom::attribute(button, "data-nth").parse().ok()?;
        let label = state.detail.as_ref()?.spans.get(nth)?;
        let given = state.inputs.get(usize::from(label.file));
        Some((label.at, given.and_then(|it| it.file.clone())))
    };
    let Some((at, file)) = file_and_place() else {
        return;
    };
    let asked = app.client.open(&Request::Row(Some(at)), file.as_slice());
    app.row.asked.set(app.report(asked));
    dom::flag(button, "aria-expanded", true);
    if let Ok(Some(line)) = button.closest("li") {
        let cells = app.dom.add(&line, "div", "", "Reading its row …");
        cells.set_id("cells");
        dom::set(&cells, "aria-live", "polite");
    }
}

/// Closes the span that is open.
pub fn close(app: &App) {
    if app.row.asked.take().is_some() {
        app.report(app.client.send(&Request::Row(None)));
    }
    if let Some(cells) = app.dom.document.get_element_by_id("cells") {
        let line = cells.parent_element();
        if let Some(button) = line.and_then(|it| it.query_selector("[aria-expanded]").ok()?) {
            dom::flag(&button, "aria-expanded", false);
        }
        cells.remove();
    }
}

/// The engine's answer.
pub fn arrived(app: &App, id: u32, blocks: Vec<Block>) {
    if app.row.asked.get() != Some(id) {
        return;
    }
    app.row.asked.set(None);
    panes::render(app, "cells", &blocks);
    app.row.said.replace(blocks);
    let cells = app.dom.html("cells");
    if cells.get_elements_by_tag_name("tr").length() > FEW {
        let field = app.dom.new_element("input", "", "");
        dom::set(&field, "type", "text");
        dom::set(&field, "placeholder", "search in this row");
        dom::set(&field, "aria-label", "Search in this row");
        // It stands above the lines.
        app.report(cells.prepend_with_node_1(&field));
    }
}
