//! Keys, the menu of commands and the list of keys in the help.
//!
//! All three are made of [`herdscope::commands`]; here is what each command does. Invariant: a key is the
//! page's only where nothing else has a use for it: no field has the focus, no dialog is open, and neither Ctrl
//! nor Alt nor the command key is held. Pinned by the browser tests of keys.

use std::rc::Rc;

use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlDialogElement, KeyboardEvent};

use crate::dom;
use crate::history::Gesture;
use crate::page::App;
use crate::{export, filter, header, herds, overview, plot, reading, trace};
use herdscope::commands::{COMMANDS, Command, Line, label, of_key};
use herdscope::viewport::{self, Axes};

/// What a step moves by, as a share of what is in view.
const STEP: f64 = 0.1;
/// What a step zooms by.
const ZOOM_STEP: f64 = 0.8;

/// Where keys are the person's text.
const FIELDS: &str = "input, select, textarea, [contenteditable]";

/// What Enter presses.
const PRESSED: &str = "button, a, summary, [role=button], [role=tab], [role=option]";

pub fn install(app: &Rc<App>) {
    app.listen(&app.dom.document, "keydown", |app, it| {
        key(app, it.unchecked_ref())
    });
    app.on("help", "click", |app, _| run(app, Command::Help));
    app.on("menu", "click", |app, _| run(app, Command::Menu));
    app.on("menu-list", "click", |app, event| {
        let at = dom::pressed(event, "data-command").and_then(|it| it.parse().ok());
        if let Some(line) = at.and_then(|at: usize| COMMANDS.get(at)) {
            // The focus goes back first, so that what the command opens gives it back there, too.
            dialog(app, "menu-dialog").close();
            run(app, line.command);
        }
    });
    let dom = &app.dom;
    let (menu, help) = (dom.html("menu-list"), dom.html("help-keys"));
    let mut group = "";
    for (at, line) in COMMANDS.iter().enumerate() {
        if line.group != group {
            group = line.group;
            dom.add(&menu, "h3", "", group);
            dom.add(&help, "dt", "", group);
        }
        let item = dom.button("item", line.title, "data-command", &at.to_string());
        add_keys(app, &item, line);
        let says = dom.add(&help, "dd", "", line.title);
        add_keys(app, &says, line);
        if line.command != Command::Menu {
            dom::fill(&menu, &[&item]);
        }
    }
}

fn add_keys(app: &App, to: &Element, line: &Line) {
    let keys = app.dom.add(to, "span", "", "");
    for key in line.keys.split(' ') {
        app.dom.add(&keys, "kbd", "", &label(key));
    }
}

fn dialog(app: &App, id: &str) -> HtmlDialogElement {
    app.dom.get(id)
}

fn is_there(app: &App, selector: &str) -> bool {
    matches!(app.dom.document.query_selector(selector), Ok(Some(_)))
}

fn key(app: &App, event: &KeyboardEvent) {
    let for_others = event.default_prevented()
        || event.ctrl_key()
        || event.meta_key()
        || event.alt_key()
        || is_there(app, "dialog[open]");
    let command = of_key(&event.code(), &event.key(), event.shift_key());
    let Some(command) = command.filter(|_| !for_others) else {
        return;
    };
    if dom::closest(event, FIELDS).is_some() {
        if command == Command::Close {
            reading::cancel(app);
        }
        return;
    }
    // What has the focus is pressed by Enter.
    if event.key() == "Enter" && dom::closest(event, PRESSED).is_some() {
        return;
    }
    event.prevent_default();
    let end = dom::closest(event, "#window button");
    if !end.is_some_and(|it| overview::step(app, &it, command)) {
        run(app, command);
    }
}

/// Does it.
fn run(app: &App, command: Command) {
    let pan = |dx: f64, dy: f64| {
        app.move_by(Gesture::Burst("move"), |it, limits| {
            viewport::pan(it, [dx * STEP, dy * STEP], limits)
        });
    };
    let zoom = |factor: f64| {
        app.move_by(Gesture::Burst("zoom"), |it, limits| {
            viewport::zoom(it, [0.5, 0.5], factor, Axes::Both, limits)
        });
    };
    match command {
        Command::Left => pan(-1.0, 0.0),
        Command::Right => pan(1.0, 0.0),
        Command::Up => pan(0.0, -1.0),
        Command::Down => pan(0.0, 1.0),
        Command::Closer => zoom(ZOOM_STEP),
        Command::Further => zoom(1.0 / ZOOM_STEP),
        Command::Everything => app.home(),
        Command::Fit => {
            if !trace::show(app) {
                app.home();
            }
        }
        Command::NextAttempt => herds::step(app, true),
        Command::PreviousAttempt => herds::step(app, false),
        Command::NextTrace => trace::step(app, true),
        Command::PreviousTrace => trace::step(app, false),
        Command::NextSpan => trace::walk(app, true),
        Command::PreviousSpan => trace::walk(app, false),
        Command::Show(pane) => app.change(Gesture::Step, |view| view.pane = pane),
        Command::Filter => filter::focus(app),
        Command::NextMatch => filter::step(app, false),
        Command::PreviousMatch => filter::step(app, true),
        Command::Export => export::open(app),
        Command::Menu => open(app, "menu-dialog"),
        Command::Help => open(app, "help-dialog"),
        Command::Close => {
            let closed = plot::give_up(app) || header::close_lists(app) || reading::cancel(app);
            if !closed {
                app.change(Gesture::Step, |view| view.trace = None);
            }
        }
    }
}

fn open(app: &App, id: &str) {
    let dialog = dialog(app, id);
    if !dialog.open() {
        app.report(dialog.show_modal());
    }
}
