//! The row above the plot (legend, colours, edge, lanes) and the tabs of the panes.
//!
//! Invariant: a control shows the view, and a press changes nothing else.

use std::rc::Rc;

use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlElement, HtmlOptionElement, KeyboardEvent};

use crate::dom;
use crate::history::Gesture;
use crate::page::App;
use crate::trace;
use herdscope::format;
use herdscope::messages::{EdgeLine, LegendEntry, Swatch};
use herdscope::parts;
use herdscope::view::{ColorBy, Pane, View};

const PANES: [(Pane, &str); 6] = [
    (Pane::Herds, "herds"),
    (Pane::Breaker, "breaker"),
    (Pane::WhatIf, "what-if"),
    (Pane::Timeouts, "timeouts"),
    (Pane::Compare, "compare"),
    (Pane::Trace, "trace"),
];

pub fn install(app: &Rc<App>) {
    app.on("legend", "click", |app, event| {
        if let Some(key) = dom::pressed(event, "data-key") {
            app.change(Gesture::Step, |view| {
                match view.hidden.iter().position(|it| *it == key) {
                    Some(at) => {
                        view.hidden.remove(at);
                    }
                    None => view.hidden.push(key),
                }
            });
        }
    });
    app.on("color-by", "change", |app, _| {
        let color_by = match app.dom.select("color-by").value().as_str() {
            "service" => ColorBy::Service,
            _ => ColorBy::Tier,
        };
        app.change(Gesture::Step, |view| {
            view.color_by = color_by;
            // Failures stay as they are; tiers are no services.
            view.hidden.retain(|key| !key.contains(':'));
        });
    });
    app.on("edge", "change", |app, _| {
        let at = app.dom.select("edge").selected_index();
        let edge = app.state().summary.as_ref().and_then(|summary| {
            let edge = summary.edges.get(usize::try_from(at).ok()?)?;
            Some((edge.from.clone(), edge.to.clone()))
        });
        app.change(Gesture::Step, |view| view.edge = edge.filter(|_| at > 0));
    });
    app.on("lanes", "click", |app, _| {
        app.change(Gesture::Step, |view| view.lanes = !view.lanes);
    });
    for (_, name) in PANES {
        let tab = app.dom.html(&format!("tab-{name}"));
        app.listen(&tab, "click", |app, event| {
            let (pane, _) = PANES[place(event)];
            app.change(Gesture::Step, |view| view.pane = pane);
        });
        app.listen(&tab, "keydown", |app, event| {
            turn(app, place(event), event.unchecked_ref())
        });
    }
}

/// The place of the tab that hears the event.
fn place(event: &Event) -> usize {
    let id = dom::listening(event).id();
    let is_it = |it: &(Pane, &str)| id.strip_prefix("tab-") == Some(it.1);
    PANES.iter().position(is_it).unwrap_or(0)
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
    let state = app.state();
    let view = &state.view;
    for (pane, name) in PANES {
        let on = view.pane == pane;
        let tab = dom.html(&format!("tab-{name}"));
        dom::flag(&tab, "aria-selected", on);
        tab.set_tab_index(if on { 0 } else { -1 });
        dom.show(&format!("pane-{name}"), on);
    }
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
    render_lanes(app, &summary.edges, view);
}

/// The button that tells instances apart, where the file does.
fn render_lanes(app: &App, edges: &[EdgeLine], view: &View) {
    let edge = edges.get(place_of(edges, view.edge.as_ref()));
    let (apart, title) = match edge {
        None => (
            false,
            "No calls between services in this file, so there is no breaker to replay".to_owned(),
        ),
        Some(edge) if edge.instances == 0 => (
            false,
            format!(
                "The file does not tell the instances of {} apart (it names none), so one breaker stands for all of them",
                edge.from
            ),
        ),
        Some(_) => (
            true,
            "One line for each instance, which has a breaker of its own".to_owned(),
        ),
    };
    let lanes = app.dom.html("lanes");
    // Fails only on an attribute name that is no name.
    let _ = lanes.toggle_attribute_with_force("disabled", !apart);
    dom::set(&lanes, "title", &title);
    let pressed = apart && view.lanes;
    dom::flag(&lanes, "aria-pressed", pressed);
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
        // Many names scroll; failures and timeouts stay in sight beside them.
        let (names, ends) = (
            dom.new_element("span", "names", ""),
            dom.new_element("span", "ends", ""),
        );
        for entry in entries {
            let group = match entry.color {
                Swatch::Series(_) => &names,
                Swatch::Failed | Swatch::TimedOut => &ends,
            };
            dom::fill(group, &[&legend_button(app, entry)]);
        }
        dom::fill(&legend, &[&names, &ends]);
    }
    let groups = legend.children();
    let groups = (0..groups.length()).filter_map(|at| groups.item(at));
    let buttons = groups.flat_map(|group| {
        let buttons = group.children();
        (0..buttons.length()).filter_map(move |at| buttons.item(at))
    });
    for button in buttons {
        let key = button.get_attribute("data-key").unwrap_or_default();
        dom::set(
            &button,
            "aria-pressed",
            if hidden.contains(&key) {
                "false"
            } else {
                "true"
            },
        );
    }
}

fn legend_button(app: &App, entry: &LegendEntry) -> HtmlElement {
    let dom = &app.dom;
    let button = dom.new_element("button", "", "");
    dom::set(&button, "type", "button");
    dom::set(&button, "data-key", &entry.key);
    let title = match parts::holds(&entry.title, &entry.label) {
        true => entry.title.clone(),
        false => format!("{}: {}", entry.label, entry.title),
    };
    dom::set(&button, "title", title.strip_suffix(": ").unwrap_or(&title));
    dom::style(&button, "--swatch", &trace::color(entry.color));
    dom::fill(
        &button,
        &[
            &dom.new_element("i", "", ""),
            &dom.new_element("span", "", &entry.label),
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
            dom.add(&select, "option", "", "no calls");
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
