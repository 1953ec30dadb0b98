//! The bar of messages below the header: the one way in which anything is said that went wrong.
//!
//! Invariant: a message stays until the person dismisses it, another with the same key replaces it,
//! or what it was about is over; nothing on screen is covered by it.

use wasm_bindgen::prelude::*;
use web_sys::{Element, HtmlElement, HtmlInputElement};

use crate::dom::{self, Dom};

/// What a button of a message does; the message is gone afterwards.
pub type Action = (&'static str, Box<dyn FnOnce()>);

/// Messages about opening and reading.
pub const READING: &str = "reading";
/// What a link says and this page or this data cannot follow: one message of a sentence each.
pub const LINK: &str = "link";
/// Where the data of a link is.
pub const SOURCE: &str = "source";
/// A link that waits for its file, or for leave to fetch.
pub const WANTED: &str = "wanted";
/// What the columns of a file are.
pub const COLUMNS: &str = "columns";
/// What another page sent.
pub const SENT: &str = "sent";
/// What a link cannot hold.
pub const COPY: &str = "copy";
/// A file that is being written.
pub const EXPORT: &str = "export";
/// Anything else.
pub const OTHER: &str = "other";

/// Says what went wrong, and what to do.
pub fn error(dom: &Dom, key: &str, text: &str) {
    show(dom, key, true, text, Vec::new());
}

/// Says something that is no error.
pub fn tell(dom: &Dom, key: &str, text: &str) {
    show(dom, key, false, text, Vec::new());
}

/// Says something that is no error, after what a message of the same key says already.
pub fn add(dom: &Dom, key: &str, text: &str) {
    match find(dom, key).and_then(|it| it.query_selector("span").ok().flatten()) {
        Some(said) => {
            let before = said.text_content().unwrap_or_default();
            said.set_text_content(Some(&format!("{before} {text}")));
        }
        None => tell(dom, key, text),
    }
}

/// Says something and offers what can be done about it.
pub fn ask(dom: &Dom, key: &str, is_error: bool, text: &str, actions: Vec<Action>) {
    show(dom, key, is_error, text, actions);
}

/// Shows a text that the person can copy by hand.
pub fn offer(dom: &Dom, key: &str, text: &str, value: &str) {
    let notice = show(dom, key, false, text, Vec::new());
    let input: HtmlInputElement = dom.new_element("input", "", "").unchecked_into();
    input.set_type("text");
    input.set_read_only(true);
    input.set_value(value);
    dom::set(&input, "aria-label", "Link");
    // Before the button that closes.
    let _ = notice.insert_before(&input, notice.last_child().as_ref());
    let _ = input.focus();
    input.select();
}

/// Takes a message away.
pub fn dismiss(dom: &Dom, key: &str) {
    if let Some(notice) = find(dom, key) {
        notice.remove();
    }
}

fn find(dom: &Dom, key: &str) -> Option<Element> {
    let selector = format!("#notices > [data-key={key}]");
    dom.document.query_selector(&selector).ok().flatten()
}

fn show(dom: &Dom, key: &str, is_error: bool, text: &str, actions: Vec<Action>) -> HtmlElement {
    dismiss(dom, key);
    let notice = dom.new_element("div", if is_error { "notice error" } else { "notice" }, "");
    dom::set(&notice, "data-key", key);
    dom::set(&notice, "role", if is_error { "alert" } else { "status" });
    dom.add(&notice, "span", "", text);
    for (label, run) in actions {
        let button = dom.add(&notice, "button", "", label);
        dom::set(&button, "type", "button");
        on_press(&button, &notice, run);
    }
    let close = dom.add(&notice, "button", "close", "×");
    dom::set(&close, "type", "button");
    dom::set(&close, "aria-label", "Dismiss");
    on_press(&close, &notice, || ());
    dom::fill(&dom.html("notices"), &[&notice]);
    notice
}

fn on_press(button: &HtmlElement, notice: &HtmlElement, run: impl FnOnce() + 'static) {
    let notice = notice.clone();
    let run = Closure::once_into_js(move || {
        notice.remove();
        run();
    });
    button.set_onclick(Some(run.unchecked_ref()));
}
