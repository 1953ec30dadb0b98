//! An engine that stopped, or a page that did: what happened, what to do, and a report to copy.
//!
//! Owns the dialog, whose texts are in index.html: those for each kind of end. Invariants: what is looked at stays in
//! the address; the report holds nothing of the data, for which `herdscope::report` answers; of a page that stopped
//! nothing runs but the button that loads it again, which `www/start.js` listens to. Pinned by
//! `tests/browser/tests/stopped.rs`.

use std::rc::Rc;

use web_sys::HtmlDialogElement;

use crate::dom::{self, Dom};
use crate::page::App;
use crate::{header, open, panes};
use herdscope::format;
use herdscope::messages::Input;
use herdscope::report::{is_mute, report};

pub fn install(app: &Rc<App>) {
    app.on("stopped-again", "click", |app, _| open::again(app));
    app.on("stopped-copy", "click", |app, _| {
        let report = app.dom.html("stopped-report").text_content();
        header::copy(
            app,
            "stopped-copy",
            &report.unwrap_or_default(),
            "The browser does not let this page copy: here is the report.",
        );
    });
}

/// The engine has stopped; another will run, unless this one did not even begin.
pub fn engine(app: &App, why: &str) {
    let (mut doing, mut files) = (String::new(), String::new());
    let named = {
        let state = app.state();
        let mut inputs = &state.inputs;
        if let Some(reading) = &state.reading {
            doing.push_str("reading ");
            inputs = &reading.plan.inputs;
        }
        for it in inputs {
            match &it.input {
                Input::File { size, .. } => files.push_str(&format::bytes(*size)),
                _ => files.push_str("no file"),
            }
            files.push(' ');
        }
        !state.view.files.is_empty()
    };
    for (name, is_done) in [
        ("drawing ", app.client.is_drawing()),
        ("working out a pane", panes::is_waiting(app)),
    ] {
        if is_done {
            doing.push_str(name);
        }
    }
    let end = match () {
        () if !app.client.is_ready() => "start",
        () if is_mute(why) => "mute",
        () => "panic",
    };
    app.dom.show("stopped-again", named);
    show(&app.dom, end, [&doing, &files], why);
}

/// The page's own thread has panicked: nothing of it runs any more.
pub fn page(dom: &Dom, why: &str) {
    show(dom, "page", [""; 2], why);
}

#[inline(never)]
fn show(dom: &Dom, end: &str, [doing, files]: [&str; 2], why: &str) {
    let root = dom.root();
    let browser = dom.window.navigator().user_agent().unwrap_or_default();
    let known = [
        ["build", &dom::attribute(&root, "data-version")],
        ["browser", &browser],
        ["spans", &dom::attribute(&root, "data-spans")],
        ["doing", doing],
        ["files", files],
    ];
    dom.text("stopped-report", &report(&known, why));
    let dialog: HtmlDialogElement = dom.get("stopped-dialog");
    dom::set(&dialog, "data-end", end);
    if !dialog.open() {
        // A browser without dialogs shows none.
        let _ = dialog.show_modal();
    }
}
