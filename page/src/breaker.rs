//! The breaker's pane: its settings as text, as a form and as presets, and what they come to.
//!
//! Invariant: the view holds the canonical text of settings that can be used; a text that cannot be
//! stays in its field with the reason beside it, and the picture stays that of the settings before.

use std::rc::Rc;

use halfopen::{Config, presets};
use wasm_bindgen::JsCast;
use web_sys::{
    Element, Event, HtmlElement, HtmlInputElement, HtmlSelectElement, HtmlTextAreaElement,
};

use crate::dom;
use crate::history::Gesture;
use crate::page::App;
use crate::settings::{self, Control, FIELDS, Field};
use herdscope::format;
use herdscope::messages::{BandState, ReplayScene, Scene};
use herdscope::parts;
use herdscope::view::Pane;

pub fn install(app: &Rc<App>) {
    let form = app.dom.html("breaker-form");
    for field in &FIELDS {
        dom::fill(&form, &[&row(app, field)]);
    }
    let list = app.dom.html("presets");
    for preset in presets::ALL {
        let button = app.dom.add(&list, "button", "small", short(preset.title));
        dom::set(&button, "type", "button");
        dom::set(&button, "data-preset", preset.name);
        dom::set(
            &button,
            "title",
            &format!("{}: {}", preset.title, preset.note),
        );
    }
    app.on("presets", "click", |app, event| {
        let name = dom::pressed(event, "data-preset");
        if let Some(preset) = name.and_then(|it| presets::find(&it)) {
            app.change(Gesture::Step, |view| {
                view.breaker = Some(preset.config().to_string())
            });
            render(app);
        }
    });
    app.on("breaker-text", "input", |app, _| text_edited(app));
    app.on("breaker-form", "input", |app, event| {
        field_edited(app, event)
    });
    for id in ["breaker-form", "breaker-text"] {
        app.on(id, "change", |app, _| {
            app.report(app.history.end_gesture());
            render(app);
        });
    }
    // Enter in a field of the form would load the page anew.
    app.on("breaker-form", "submit", |_, event| event.prevent_default());
    app.on("shared", "change", |app, _| {
        let shared = app.dom.input("shared").checked();
        app.change(Gesture::Step, |view| view.shared = shared);
    });
}

/// What a preset's button says: the name without its remarks.
fn short(title: &str) -> &str {
    let name = parts::split(title, " (").map_or(title, |it| it.0);
    name.strip_suffix(" outlier detection").unwrap_or(name)
}

fn row(app: &App, field: &Field) -> HtmlElement {
    let dom = &app.dom;
    let row = dom.new_element("div", "setting", "");
    dom::set(&row, "title", field.title);
    let id = format!("setting-{}", field.key);
    let label = dom.add(&row, "label", "", field.label);
    dom::set(&label, "for", &id);
    let input = match field.control {
        Control::Choice(options) => {
            let select = dom.new_element("select", "wide", "");
            for option in options {
                dom.add(&select, "option", "", option);
            }
            select
        }
        Control::Slider { .. } => text_input(app, ""),
        Control::Text(_) => text_input(app, "wide"),
    };
    dom::set(&input, "id", &id);
    dom::set(&input, "data-key", field.key);
    dom::set(&input, "aria-describedby", &format!("{id}-problem"));
    let problem = dom.new_element("p", "problem", "");
    dom::set(&problem, "id", &format!("{id}-problem"));
    dom::set(&problem, "role", "alert");
    problem.set_hidden(true);
    match field.control {
        Control::Slider { from, to, .. } => {
            let slider: HtmlInputElement = dom.new_element("input", "", "").unchecked_into();
            slider.set_type("range");
            dom::set(&slider, "min", &from.to_string());
            dom::set(&slider, "max", &to.to_string());
            dom::set(&slider, "data-slider", field.key);
            dom::set(&slider, "aria-label", field.title);
            dom::fill(&row, &[&slider]);
        }
        Control::Text(examples) => {
            let list = dom.add(&row, "datalist", "", "");
            dom::set(&list, "id", &format!("{id}-examples"));
            for example in examples {
                let option = dom.add(&list, "option", "", "");
                dom::set(&option, "value", example);
            }
            dom::set(&input, "list", &format!("{id}-examples"));
        }
        Control::Choice(_) => {}
    }
    dom::fill(&row, &[&input, &problem]);
    row
}

fn text_input(app: &App, class: &str) -> HtmlElement {
    let input = app.dom.new_element("input", class, "");
    dom::set(&input, "type", "text");
    dom::set(&input, "spellcheck", "false");
    input
}

/// The canonical text of the settings in use.
fn text(app: &App) -> String {
    let set = app.state().view.breaker.clone();
    set.unwrap_or_else(|| Config::default().to_string())
}

fn text_edited(app: &App) {
    let written = app.dom.get::<HtmlTextAreaElement>("breaker-text").value();
    let result: Result<Config, _> = written.parse();
    say(
        app,
        "breaker-text",
        "breaker-problem",
        result.as_ref().err(),
    );
    if let Ok(config) = result {
        use_settings(app, config.to_string());
    }
}

fn field_edited(app: &App, event: &Event) {
    let Some(target) = event.target().and_then(|it| it.dyn_into::<Element>().ok()) else {
        return;
    };
    let slider = target.get_attribute("data-slider");
    let Some(key) = slider.clone().or_else(|| target.get_attribute("data-key")) else {
        return;
    };
    let field = FIELDS.iter().find(|it| it.key == key);
    let value = match (
        target.dyn_ref::<HtmlInputElement>(),
        target.dyn_ref::<HtmlSelectElement>(),
    ) {
        (Some(input), _) => input.value(),
        (_, Some(select)) => select.value(),
        _ => return,
    };
    let value = match (slider.is_some(), field.map(|it| &it.control)) {
        (true, Some(Control::Slider { unit, .. })) => format!("{value}{unit}"),
        _ => value,
    };
    let result = settings::with(&text(app), &key, &value);
    let id = format!("setting-{key}");
    say(app, &id, &format!("{id}-problem"), result.as_ref().err());
    if let Ok(settings) = result {
        use_settings(app, settings);
    }
}

/// Gives a key of the settings another value, and shows the settings.
pub fn set(app: &App, key: &str, value: &str) {
    if let Ok(settings) = settings::with(&text(app), key, value) {
        app.change(Gesture::Step, |view| {
            view.breaker = Some(settings);
            view.pane = Pane::Breaker;
        });
    }
}

fn use_settings(app: &App, settings: String) {
    app.change(Gesture::Drag("breaker"), |view| {
        view.breaker = Some(settings)
    });
}

/// Shows beside a field why its value cannot be used.
fn say(app: &App, field: &str, problem: &str, error: Option<&halfopen::ConfigError>) {
    let text = error.map(|it| format!("{it}.")).unwrap_or_default();
    app.dom.text(problem, &text);
    app.dom.show(problem, error.is_some());
    dom::flag(&app.dom.html(field), "aria-invalid", error.is_some());
}

/// The settings in use, in every field but the one that the person is writing in.
pub fn render(app: &App) {
    let dom = &app.dom;
    let text = text(app);
    let active = dom
        .document
        .active_element()
        .map(|it| it.id())
        .unwrap_or_default();
    if active != "breaker-text" {
        dom.get::<HtmlTextAreaElement>("breaker-text")
            .set_value(&text);
        say(app, "breaker-text", "breaker-problem", None);
    }
    for field in &FIELDS {
        let value = settings::value(&text, field.key).unwrap_or(field.default);
        let id = format!("setting-{}", field.key);
        if active != id {
            let element = dom.html(&id);
            match (
                element.dyn_ref::<HtmlInputElement>(),
                element.dyn_ref::<HtmlSelectElement>(),
            ) {
                (Some(input), _) => input.set_value(value),
                (_, Some(select)) => select.set_value(value),
                _ => {}
            }
            say(app, &id, &format!("{id}-problem"), None);
        }
        if let Control::Slider { unit, .. } = field.control {
            let slider = dom
                .document
                .query_selector(&format!("[data-slider={}]", field.key));
            let slider = slider
                .ok()
                .flatten()
                .and_then(|it| it.dyn_into::<HtmlInputElement>().ok());
            let at = settings::position(value, unit);
            if let Some(slider) = slider {
                // A value that is no number has no place on the slider.
                slider.set_class_name(if at.is_some() { "" } else { "off" });
                if let Some(at) = at {
                    slider.set_value(&at.to_string());
                }
            }
        }
    }
    let preset = presets::ALL.iter().find(|it| it.text == text);
    dom.text("preset-note", preset.map_or("", |it| it.note));
    dom.show("preset-note", preset.is_some());
    let buttons = dom.html("presets").children();
    for (at, it) in presets::ALL.iter().enumerate() {
        let on = preset.is_some_and(|preset| preset.name == it.name);
        if let Some(button) = buttons.item(at as u32) {
            dom::flag(&button, "aria-pressed", on);
        }
    }
    dom.input("shared").set_checked(app.state().view.shared);
}

/// After a picture.
pub fn render_figures(app: &App, scene: &Scene) {
    let replay = &scene.replay;
    // What is half read has no edges yet.
    let unguarded = replay.edge.is_none() && app.limits().is_some();
    let class = if unguarded {
        "card states none"
    } else {
        "card states"
    };
    app.dom.html("states").set_class_name(class);
    app.dom.show("states-none", unguarded);
    app.dom.text("breaker-about", &about(replay));
    let share = format::share(replay.withheld, replay.calls);
    fill_figures(
        app,
        "breaker-figures",
        &[
            ("withheld", format::count(replay.withheld), share),
            ("of calls", format::count(replay.calls), String::new()),
            (
                "transitions",
                format::count(replay.transitions),
                String::new(),
            ),
        ],
    );
    let agree = replay.agree.map_or_else(String::new, |it| {
        let share = format::share(it.into(), 1_000_000);
        [
            "The observed state is the same for ",
            &share,
            " of the time.",
        ]
        .concat()
    });
    app.dom.text("breaker-agree", &agree);
    let states = [
        (BandState::Open, "open"),
        (BandState::HalfOpen, "half-open"),
        (BandState::Closed, "closed"),
        (BandState::Ramping, "ramping"),
    ];
    let in_view = states.map(|(state, name)| (name, share_in(scene, state), String::new()));
    fill_figures(app, "breaker-states", &in_view);
}

/// A name, a figure and a remark each. Figures that stay the same are left alone.
fn fill_figures(app: &App, id: &str, values: &[(&str, String, String)]) {
    let figures = app.dom.html(id);
    let now: Vec<String> = values
        .iter()
        .map(|(_, value, more)| format!("{value} {more}"))
        .collect();
    let now = now.join("|");
    if figures.get_attribute("data-now").as_deref() == Some(&now) {
        return;
    }
    dom::set(&figures, "data-now", &now);
    dom::clear(&figures);
    for (name, value, more) in values {
        let figure = app.dom.add(&figures, "div", "", "");
        let term = app.dom.new_element("dt", "", name);
        let number = app.dom.new_element("dd", "", value);
        dom::set(&number, "data-figure", name);
        if !more.is_empty() {
            let remark = app.dom.new_element("small", "", more);
            dom::fill(&number, &[&app.dom.document.create_text_node(" "), &remark]);
        }
        dom::fill(&figure, &[&term, &number]);
    }
}

fn about(replay: &ReplayScene) -> String {
    let Some((from, to)) = &replay.edge else {
        return "No service calls another in these spans: there is nothing to guard.".to_owned();
    };
    let breakers = match (replay.shared, replay.lanes.len() as u64) {
        (true, _) => "one breaker for all instances; real ones trip apart".to_owned(),
        (false, n) => format!("{}, one for each instance", format::counted(n, "breaker")),
    };
    let problem = replay
        .problem
        .as_ref()
        .map_or_else(String::new, |it| format!(" {it}"));
    format!(
        "What a breaker with these settings does on the calls from {from} to {to}: {breakers}.{problem}"
    )
}

/// The share of the time in view that breakers are in a state.
fn share_in(scene: &Scene, state: BandState) -> String {
    let bands = scene.replay.lanes.iter().flat_map(|lane| &lane.bands);
    let (mut inside, mut whole) = (0u64, 0u64);
    for band in bands {
        let from = band.from.max(scene.viewport.t0);
        let took = u64::try_from(band.to.min(scene.viewport.t1).saturating_sub(from)).unwrap_or(0);
        whole = whole.saturating_add(took);
        if band.state == state {
            inside = inside.saturating_add(took);
        }
    }
    format::share(inside, whole)
}
