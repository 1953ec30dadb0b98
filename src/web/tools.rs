//! The row above the plot (legend, colours, edge, lanes) and the tabs of the panes.
//!
//! Invariant: a control shows the view, and a press changes nothing else.

use std::rc::Rc;

use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlElement, HtmlOptionElement, KeyboardEvent};

use crate::format;
use crate::messages::{EdgeLine, LegendEntry};
use crate::view::{ColorBy, Pane};
use crate::web::dom;
use crate::web::history::Gesture;
use crate::web::page::App;
use crate::web::trace;

const PANES: [(Pane, &str); 3] = [
    (Pane::Herds, "herds"),
    (Pane::Breaker, "breaker"),
    (Pane::Trace, "trace"),
];

pub fn install(app: &Rc<App>) {
    let it = app.clone();
    app.dom.on("legend", "click", move |event: Event| {
        let key = dom::closest(&event, "[data-key]").and_then(|it| it.get_attribute("data-key"));
        if let Some(key) = key {
            it.change(Gesture::Step, |view| {
                match view.hidden.iter().position(|it| *it == key) {
                    Some(at) => {
                        view.hidden.remove(at);
                    }
                    None => view.hidden.push(key),
                }
            });
        }
    });
    let it = app.clone();
    app.dom.on("color-by", "change", move |_: Event| {
        let color_by = match it.dom.select("color-by").value().as_str() {
            "service" => ColorBy::Service,
            _ => ColorBy::Tier,
        };
        it.change(Gesture::Step, |view| {
            view.color_by = color_by;
            // Failures stay as they are; tiers are no services.
            view.hidden.retain(|key| !key.contains(':'));
        });
    });
    let it = app.clone();
    app.dom.on("edge", "change", move |_: Event| {
        let at = it.dom.select("edge").selected_index();
        let edge = it.state.borrow().summary.as_ref().and_then(|summary| {
            let edge = summary.edges.get(usize::try_from(at).ok()?)?;
            Some((edge.from.clone(), edge.to.clone()))
        });
        it.change(Gesture::Step, |view| view.edge = edge.filter(|_| at > 0));
    });
    let it = app.clone();
    app.dom.on("lanes", "click", move |_: Event| {
        it.change(Gesture::Step, |view| view.lanes = !view.lanes);
    });
    for (at, (pane, name)) in PANES.into_iter().enumerate() {
        let it = app.clone();
        app.dom
            .on(&format!("tab-{name}"), "click", move |_: Event| {
                it.change(Gesture::Step, |view| view.pane = pane);
            });
        let it = app.clone();
        app.dom.on(
            &format!("tab-{name}"),
            "keydown",
            move |event: KeyboardEvent| turn(&it, at, &event),
        );
    }
}

/// Arrow keys go from tab to tab.
fn turn(app: &App, at: usize, event: &KeyboardEvent) {
    let next = match event.key().as_str() {
        "ArrowLeft" => (at + PANES.len() - 1) % PANES.len(),
        "ArrowRight" => (at + 1) % PANES.len(),
        "Home" => 0,
        "End" => PANES.len() - 1,
        _ => return,
    };
    event.prevent_default();
    let (pane, name) = PANES[next];
    app.change(Gesture::Step, |view| view.pane = pane);
    // An element that cannot be focused stays as it is.
    let _ = app.dom.html(&format!("tab-{name}")).focus();
}

pub fn render(app: &App) {
    let dom = &app.dom;
    let state = app.state.borrow();
    let view = &state.view;
    for (pane, name) in PANES {
        let on = view.pane == pane;
        let tab = dom.html(&format!("tab-{name}"));
        dom::set(&tab, "aria-selected", if on { "true" } else { "false" });
        tab.set_tab_index(if on { 0 } else { -1 });
        dom.show(&format!("pane-{name}"), on);
    }
    dom::set(
        &dom.html("lanes"),
        "aria-pressed",
        if view.lanes { "true" } else { "false" },
    );
    dom.select("color-by")
        .set_value(if view.color_by == ColorBy::Service {
            "service"
        } else {
            "tier"
        });
    let Some(summary) = &state.summary else {
        return;
    };
    let legend = match view.color_by {
        ColorBy::Tier => &summary.legend_by_tier,
        ColorBy::Service => &summary.legend_by_service,
    };
    render_legend(app, legend, &view.hidden);
    render_edges(app, &summary.edges, view.edge.as_ref());
}

fn render_legend(app: &App, entries: &[LegendEntry], hidden: &[String]) {
    let dom = &app.dom;
    let legend = dom.html("legend");
    let keys: Vec<&str> = entries.iter().map(|it| it.key.as_str()).collect();
    let keys = keys.join("\n");
    // Buttons that stay the same keep the focus.
    if legend.get_attribute("data-keys").as_deref() != Some(&keys) {
        dom::set(&legend, "data-keys", &keys);
        dom::clear(&legend);
        for entry in entries {
            dom::fill(&legend, &[&legend_button(app, entry)]);
        }
    }
    let buttons = legend.children();
    for (at, entry) in entries.iter().enumerate() {
        let shown = !hidden.contains(&entry.key);
        if let Some(button) = buttons.item(at as u32) {
            dom::set(
                &button,
                "aria-pressed",
                if shown { "true" } else { "false" },
            );
        }
    }
}

fn legend_button(app: &App, entry: &LegendEntry) -> HtmlElement {
    let dom = &app.dom;
    let button = dom.new_element("button", "", "");
    dom::set(&button, "type", "button");
    dom::set(&button, "data-key", &entry.key);
    dom::set(&button, "title", &entry.title);
    dom::style(&button, "--swatch", &trace::color(entry.color));
    dom::fill(
        &button,
        &[
            &dom.new_element("i", "", ""),
            &dom.document.create_text_node(&entry.label),
        ],
    );
    button
}

fn render_edges(app: &App, edges: &[EdgeLine], chosen: Option<&(String, String)>) {
    let dom = &app.dom;
    let select = dom.select("edge");
    let label = |edge: &EdgeLine| format!("{} → {}", edge.from, edge.to);
    let labels: Vec<String> = edges.iter().map(label).collect();
    let known = labels.join("\n");
    if select.get_attribute("data-edges").as_deref() != Some(&known) {
        dom::set(&select, "data-edges", &known);
        dom::clear(&select);
        for (edge, label) in edges.iter().zip(&labels) {
            let option: HtmlOptionElement = dom.new_element("option", "", label).unchecked_into();
            dom::set(&option, "title", &about(edge));
            dom::fill(&select, &[&option]);
        }
        if edges.is_empty() {
            dom::fill(
                &select,
                &[&dom.new_element("option", "", "no calls between services")],
            );
        }
    }
    select.set_disabled(edges.is_empty());
    let at = place_of(edges, chosen);
    select.set_selected_index(if edges.is_empty() { 0 } else { at as i32 });
    dom::set(
        &select,
        "title",
        &edges.get(at).map(about).unwrap_or_default(),
    );
}

/// Which of the edges a view means.
fn place_of(edges: &[EdgeLine], chosen: Option<&(String, String)>) -> usize {
    let named = |(from, to): &(String, String)| edges.iter().position(|it| is_named(it, from, to));
    chosen.and_then(named).unwrap_or(0)
}

/// Whether a person who names these two services means that edge: either end of a pass-through
/// service may be named.
pub fn is_named(edge: &EdgeLine, from: &str, to: &str) -> bool {
    edge.from == from && (edge.to == to || edge.via.iter().any(|it| it == to))
}

fn about(edge: &EdgeLine) -> String {
    let via = match edge.via.is_empty() {
        true => String::new(),
        false => format!(", via {}", edge.via.join(" and ")),
    };
    let from = match edge.instances {
        0 => "the file does not tell the caller's instances apart".to_owned(),
        n => format!("from {}", format::counted(n, "instance")),
    };
    format!(
        "{} from {} to {}{via}, {from}",
        format::counted(edge.calls, "call"),
        edge.from,
        edge.to
    )
}
