//! The dialog of what can be taken away, and the files that come of it.
//!
//! Owns the list and what is under way. Invariants: each is one press; what is written is what the view shows at that
//! moment; nothing leaves this browser but as a file that the person is given. Pinned by
//! `tests/browser/tests/export.rs`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use wasm_bindgen::JsCast;
use web_sys::{Blob, HtmlDialogElement, Url};

use crate::dom;
use crate::notices;
use crate::page::App;
use herdscope::format;
use herdscope::messages::{Export, Request};

/// What is under way: the request's id, and the name of the file that comes.
#[derive(Default)]
pub struct Exports {
    id: Cell<u32>,
    name: RefCell<String>,
}

/// An address of a file is good for so many milliseconds, in which the browser takes it.
const KEPT_MS: i32 = 60_000;

pub fn install(app: &Rc<App>) {
    app.on("export", "click", |app, _| open(app));
    app.on("export-list", "click", |app, event| {
        if let Some(what) = dom::pressed(event, "data-export") {
            dialog(app).close();
            run(app, &what);
        }
    });
}

fn dialog(app: &App) -> HtmlDialogElement {
    app.dom.get("export-dialog")
}

/// Shows the list, of what is there now.
pub fn open(app: &App) {
    let dialog = dialog(app);
    if dialog.open() || app.limits().is_none() {
        return;
    }
    let (spans, trace) = {
        let state = app.state();
        let scene = state.scene.as_ref();
        let meant = scene.map_or(0, |it| it.spans);
        let spans = match &state.view.filter {
            // How many of them are in view is not known before they are written.
            Some(_) => "those that match".to_owned(),
            None => format::counted(meant, "span"),
        };
        let trace = state.view.trace.as_ref().and(state.detail.as_ref());
        let trace = trace.map(|it| format::counted(it.spans.len() as u64, "span"));
        (spans, trace)
    };
    app.dom.text("export-spans", &spans);
    app.dom.show("export-trace", trace.is_some());
    app.dom
        .text("export-trace-spans", &trace.unwrap_or_default());
    app.report(dialog.show_modal());
}

fn run(app: &Rc<App>, what: &str) {
    let view = app.view();
    let (export, ending) = match what {
        "trace" => match view.trace.clone() {
            Some(id) => (Export::Trace(id), "-trace.csv"),
            None => return,
        },
        "spans" => (Export::Spans, ".csv"),
        _ => (Export::Json, ".json"),
    };
    let request = Request::Export(view.to_hash(), export);
    if let Some(id) = app.report(app.client.send(&request)) {
        let name = file_name(app, ending);
        let text = ["Writing ", &name, "…"].concat();
        notices::tell(&app.dom, notices::EXPORT, &text);
        app.exports.id.set(id);
        app.exports.name.replace(name);
    }
}

/// What was asked for is there.
pub fn arrived(app: &App, id: u32, file: Option<Blob>) {
    if app.exports.id.get() != id {
        return;
    }
    notices::dismiss(&app.dom, notices::EXPORT);
    if let Some(file) = file {
        give(app, &app.exports.name.take(), &file);
    }
}

/// A name for a file about what is loaded.
pub fn file_name(app: &App, ending: &str) -> String {
    let state = app.state();
    let name = state.summary.as_ref().map_or("", |it| it.name.as_str());
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || !c.is_ascii() {
            c
        } else {
            '-'
        }
    };
    // Without what tells the form of the file that was read.
    let stem = name.split('.').next().unwrap_or(name);
    let stem: String = stem.chars().take(60).map(plain).collect();
    ["herdscope-", stem.trim_matches('-'), ending].concat()
}

/// Gives the person a file.
pub fn give(app: &App, name: &str, file: &Blob) {
    let Some(address) = app.report(Url::create_object_url_with_blob(file)) else {
        return;
    };
    let link = app.dom.new_element("a", "", "");
    dom::set(&link, "href", &address);
    dom::set(&link, "download", name);
    link.unchecked_ref::<web_sys::HtmlElement>().click();
    app.dom.later(KEPT_MS, move || {
        // Let go of, or gone with the page.
        let _ = Url::revoke_object_url(&address);
    });
}
