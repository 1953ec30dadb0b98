//! What is simulated: the scenario, what is done about it, and the figures that a person may correct.
//!
//! Invariant: the controls show the view's choice, and each press changes that alone. A figure that cannot be read
//! changes nothing and says what is expected.

use std::rc::Rc;

use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlElement, HtmlInputElement};

use crate::dom;
use crate::history::Gesture;
use crate::page::App;
use herdscope::estimate::Key;
use herdscope::panes::Block;
use herdscope::samples::SAMPLES;
use herdscope::supposed::{FILE, Remedy, Supposed};

pub fn install(app: &Rc<App>) {
    let dom = &app.dom;
    let select = dom.select("simulate");
    for sample in &SAMPLES {
        let option = dom.add(&select, "option", "", sample.title);
        dom::set(&option, "value", sample.name);
    }
    for remedy in Remedy::all().skip(1) {
        let label = remedy.name().replace('_', " ");
        let button = dom.button("small", &label, "data-remedy", remedy.name());
        dom::fill(&dom.html("remedies"), &[&button]);
    }
    app.on("simulate", "change", |app, _| {
        let name = app.dom.select("simulate").value();
        let before = chosen(app);
        let supposed = Supposed {
            scenario: (name != FILE).then(|| name.clone()),
            remedies: before.map_or_else(Vec::new, |it| it.remedies),
            given: Vec::new(),
        };
        choose(app, Some(supposed).filter(|_| !name.is_empty()));
    });
    app.on("remedies", "click", |app, event| {
        let name = dom::pressed(event, "data-remedy");
        let remedy = name.as_deref().and_then(Remedy::of_name);
        if let (Some(mut supposed), Some(remedy)) = (chosen(app), remedy) {
            supposed.switch(remedy, !supposed.remedies.contains(&remedy));
            choose(app, Some(supposed));
        }
    });
    app.on("supposed", "change", |app, event| correct(app, event));
}

/// The view's choice.
#[inline(never)]
fn chosen(app: &App) -> Option<Supposed> {
    app.state().view.simulate.as_deref()?.parse().ok()
}

/// Makes a choice the view's; nothing is simulated where there is none.
#[inline(never)]
fn choose(app: &App, supposed: Option<Supposed>) {
    let text = supposed.map(|it| it.to_string());
    app.change(Gesture::Step, |view| view.simulate = text);
}

/// A person has typed a figure; an empty one is the file's again.
fn correct(app: &App, event: &Event) {
    let input = event
        .target()
        .and_then(|it| it.dyn_into::<HtmlInputElement>().ok());
    let Some(input) = input else {
        return;
    };
    let name = input.get_attribute("data-key");
    let key = Key::ALL
        .into_iter()
        .find(|it| Some(it.name()) == name.as_deref());
    let Some(key) = key else {
        return;
    };
    let text = input.value();
    let read = key.read(&text);
    let wrong = read.is_none() && !text.trim().is_empty();
    dom::flag(&input, "aria-invalid", wrong);
    input.set_title(if wrong { key.expected() } else { "" });
    if let Some(mut supposed) = chosen(app).filter(|_| !wrong) {
        supposed.give(key, read);
        choose(app, Some(supposed));
    }
}

/// Shows the choice, and makes room for its plot.
pub fn render(app: &App) {
    let supposed = chosen(app);
    let dom = &app.dom;
    let name = supposed
        .as_ref()
        .map_or("", |it| it.scenario.as_deref().unwrap_or(FILE));
    dom.select("simulate").set_value(name);
    let on = |remedy: &str| {
        supposed
            .as_ref()
            .is_some_and(|it| it.remedies.iter().any(|it| it.name() == remedy))
    };
    let buttons = dom.html("remedies").children();
    for at in 0..buttons.length() {
        if let Some(button) = buttons.item(at)
            && let Some(remedy) = button.get_attribute("data-remedy")
        {
            dom::flag(&button, "aria-pressed", on(&remedy));
        }
    }
    let shown = supposed.is_some();
    for id in ["supposing", "beside"] {
        dom.show(id, shown);
    }
    dom.html("stage")
        .set_class_name(if shown { "stage two" } else { "stage" });
    let title = supposed.map_or_else(String::new, |it| {
        let remedies: Vec<String> = it
            .remedies
            .iter()
            .map(|it| it.name().replace('_', " "))
            .collect();
        let done = if remedies.is_empty() {
            "as it was".to_owned()
        } else {
            remedies.join(" + ")
        };
        ["Simulated: ", &done].concat()
    });
    dom.text("beside-title", &title);
}

/// The figures, unless they are there already: a person may be typing.
pub fn render_figures(app: &App, blocks: &[Block]) {
    let dom = &app.dom;
    let pane: HtmlElement = dom.html("supposed");
    let fields = blocks.iter().filter_map(|it| match it {
        Block::Field {
            key,
            value,
            note,
            given,
        } => Some((key, value, note, given)),
        _ => None,
    });
    let fields: Vec<_> = fields.collect();
    let text = fields
        .iter()
        .fold(String::new(), |text, it| text + it.0 + it.1 + it.2 + ";");
    if pane.get_attribute("data-of").as_deref() == Some(&text) {
        return;
    }
    dom::set(&pane, "data-of", &text);
    dom::clear(&pane);
    for (key, value, note, &given) in fields {
        let row = dom.add(&pane, "div", "setting", "");
        let label = dom.new_element("label", "", key);
        let input = dom.new_element("input", if given { "given" } else { "" }, "");
        let id = ["supposed-", key].concat();
        for (name, value) in [
            ("type", "text"),
            ("id", &id),
            ("data-key", key),
            ("value", value),
            ("spellcheck", "false"),
        ] {
            dom::set(&input, name, value);
        }
        dom::set(&label, "for", &id);
        dom::fill(
            &row,
            &[&label, &dom.new_element("span", "says", note), &input],
        );
    }
}
