//! Spans that another page sends: one that has this page in a frame, or that has opened its window.
//!
//! `PING` is answered with `PONG`. `{ herdscope: { buffer, fileName, title, view } }` is opened after the person has
//! agreed to the origin that sends it, and answered with `{ herdscope: { accepted: true } }` or
//! `{ herdscope: { refused: SENTENCE } }`. Invariants: nothing is read before there is leave; every message of that form
//! is answered; an origin that is none (`null`) has no name that a person could agree to, and is refused. What is
//! documented is in docs/embedding.md; pinned by `tests/browser/tests/embedding.rs`. Cost: the bytes are handed to a
//! file, once.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, ArrayBuffer, Object, Reflect};
use wasm_bindgen::prelude::*;
use web_sys::{File, HtmlDialogElement, MessageEvent, Window};

use crate::page::App;
use crate::reading::Given;
use crate::{leave, notices, open};
use herdscope::format;

/// More bytes than this are refused: they are in memory twice while they are read.
const MOST: u64 = 512_000_000;

const DECLINED: &str = "the person has declined to open it";

/// What was sent and waits for leave.
#[derive(Default)]
pub struct Offered(RefCell<Option<Offer>>);

struct Offer {
    from: Sender,
    given: Given,
    view: Option<String>,
}

struct Sender {
    window: Window,
    origin: String,
}

pub fn install(app: &Rc<App>) {
    app.listen(&app.dom.window, "message", |app, event| {
        receive(app, event.unchecked_ref());
    });
    app.on("sent-dialog", "close", |app, _| {
        let dialog = dialog(app);
        let Some(offer) = app.offered.0.take() else {
            return;
        };
        let gives = dialog.return_value() == "open";
        if app.dom.input("sent-always").checked() {
            leave::keep(app, leave::SENT, &offer.from.origin, gives);
        }
        match gives {
            true => accept(app, offer),
            false => refuse(app, &offer.from, DECLINED),
        }
    });
}

fn dialog(app: &App) -> HtmlDialogElement {
    app.dom.get("sent-dialog")
}

fn receive(app: &App, event: &MessageEvent) {
    let Some(window) = event.source() else { return };
    let from = Sender {
        window: window.unchecked_into(),
        origin: event.origin(),
    };
    let data = event.data();
    if data.as_string().as_deref() == Some("PING") {
        return post(app, &from, &"PONG".into());
    }
    let part = |of: &JsValue, name: &str| Reflect::get(of, &name.into()).unwrap_or_default();
    let sent = part(&data, "herdscope");
    // Two of these pages would answer each other's answers for ever.
    let is_answer = ["accepted", "refused"];
    if !sent.is_object() || is_answer.iter().any(|it| part(&sent, it).is_truthy()) {
        return;
    }
    let Ok(buffer) = part(&sent, "buffer").dyn_into::<ArrayBuffer>() else {
        return refuse(
            app,
            &from,
            "its `buffer` is no ArrayBuffer: the bytes of a span file are expected there",
        );
    };
    if from.origin == "null" {
        return refuse(
            app,
            &from,
            "the page that sent it has no origin (a file, or a frame in a sandbox), so that nobody could agree to it: \
             send from a page of a host",
        );
    }
    // As a number: there are buffers of more bytes than 32 bits can count.
    let size = part(&buffer, "byteLength").as_f64().unwrap_or_default() as u64;
    if size > MOST {
        let why = [
            "it has ",
            &format::bytes(size),
            ", and at most ",
            &format::bytes(MOST),
            " are taken this way: save it as a file and drop that here",
        ];
        return refuse(app, &from, &why.concat());
    }
    let text = |name: &str| part(&sent, name).as_string().filter(|it| !it.is_empty());
    let (name, title) = (text("fileName"), text("title"));
    let has_name = name.is_some();
    let shown = name.or(title.clone());
    let shown = shown.unwrap_or_else(|| ["data of ", &from.origin].concat());
    let parts = Array::of1(&buffer);
    let Some(file) = app.report(File::new_with_buffer_source_sequence(&parts, &shown)) else {
        return;
    };
    let offer = Offer {
        from,
        // Without a file's name there is none that a link could ask for.
        given: Given::file(file, !has_name),
        view: text("view"),
    };
    match leave::has(app, leave::SENT, &offer.from.origin) {
        Some(true) => accept(app, offer),
        Some(false) => refuse(app, &offer.from, DECLINED),
        None => ask(app, offer, size, title.as_deref().unwrap_or(&shown)),
    }
}

#[inline(never)]
fn ask(app: &App, offer: Offer, size: u64, what: &str) {
    let dom = &app.dom;
    let size = format::bytes(size);
    let title = ["Open ", &size, " from ", &offer.from.origin, "?"];
    dom.text("sent-title", &title.concat());
    dom.text("sent-what", what);
    if let Some(before) = app.offered.0.replace(Some(offer)) {
        refuse(
            app,
            &before.from,
            "something else was sent before the person had answered",
        );
    }
    dom.input("sent-always").set_checked(false);
    let dialog = dialog(app);
    // Esc closes it with the value that it has.
    dialog.set_return_value("");
    if !dialog.open() {
        app.report(dialog.show_modal());
    }
}

fn accept(app: &App, offer: Offer) {
    answer(app, &offer.from, "accepted", &true.into());
    open::read_sent(app, offer.given, offer.view.as_deref());
}

/// Says so here, and to the page that sent it.
#[inline(never)]
fn refuse(app: &App, from: &Sender, why: &str) {
    let text = ["What ", &from.origin, " sent was not opened: ", why, "."].concat();
    notices::tell(&app.dom, notices::SENT, &text);
    answer(app, from, "refused", &text.into());
}

fn answer(app: &App, to: &Sender, key: &str, value: &JsValue) {
    let (message, inner) = (Object::new(), Object::new());
    // Nothing keeps a new object from getting a property.
    let _ = Reflect::set(&inner, &key.into(), value);
    let _ = Reflect::set(&message, &"herdscope".into(), &inner);
    post(app, to, &message);
}

/// To that origin alone; one without a name can only be told without one.
fn post(app: &App, to: &Sender, message: &JsValue) {
    let target = if to.origin == "null" { "*" } else { &to.origin };
    app.report(to.window.post_message(message, target));
}
