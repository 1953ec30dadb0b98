//! The recovery attempts as cards; a press goes there.
//!
//! Invariant: a card shows figures of the last picture's replay, and is marked when the plot shows its
//! time, however it came there.

use std::rc::Rc;

use web_sys::{Event, HtmlElement};

use crate::dom;
use crate::history::Gesture;
use crate::page::App;
use crate::seek;
use herdscope::format;
use herdscope::herds::{Attempt, AttemptResult};
use herdscope::messages::Scene;
use herdscope::view::Viewport;
use herdscope::viewport;

/// Shown before the first probe, nanoseconds.
const BEFORE: i64 = 1_500_000_000;
/// Shown after the re-opening, nanoseconds.
const AFTER: i64 = 2_500_000_000;
/// How long an attempt that held is followed, nanoseconds.
const HELD_FOR: i64 = 30_000_000_000;

pub fn install(app: &Rc<App>) {
    let it = app.clone();
    app.dom.on("herds-list", "click", move |event: Event| {
        let card = dom::closest(&event, "[data-attempt]");
        let at = card.and_then(|card| card.get_attribute("data-attempt")?.parse().ok());
        if let Some(at) = at {
            go_to(&it, at);
        }
    });
    let it = app.clone();
    app.dom
        .on("hint-herd", "click", move |_: Event| go_to(&it, 0));
}

/// Looks at an attempt.
fn go_to(app: &App, at: usize) {
    let attempt = app
        .state
        .borrow()
        .scene
        .as_ref()
        .and_then(|it| it.replay.attempts.get(at).cloned());
    if let (Some(attempt), Some(limits)) = (attempt, app.limits()) {
        let there = shown_time(&attempt, limits);
        seek::seek(app, there.t0, there.t1, Gesture::Step);
    }
}

/// The time that a card goes to.
fn shown_time(attempt: &Attempt, limits: Viewport) -> Viewport {
    let from = attempt.half_open_ns.saturating_sub(BEFORE);
    let end = attempt.reopen_last_ns.or(attempt.reopen_ns);
    let to = end.map_or(attempt.half_open_ns.saturating_add(HELD_FOR), |it| {
        it.saturating_add(AFTER)
    });
    viewport::with_time(limits, from, to, limits)
}

/// After a picture.
pub fn render(app: &App, scene: &Scene, before: Option<&Scene>) {
    let attempts = &scene.replay.attempts;
    let list = app.dom.html("herds-list");
    let same = before.is_some_and(|it| it.replay.attempts == *attempts);
    if !same || list.child_element_count() as usize != attempts.len() {
        let (title, about) = summary(scene);
        app.dom.text("herds-title", &title);
        app.dom.text("herds-about", &about);
        dom::clear(&list);
        let days = several_days(app);
        for (at, attempt) in attempts.iter().enumerate() {
            dom::fill(&list, &[&card(app, at, attempt, days)]);
        }
    }
    let Some(limits) = app.limits() else { return };
    let cards = list.children();
    for (at, attempt) in attempts.iter().enumerate() {
        let there = shown_time(attempt, limits);
        let shown = (there.t0, there.t1) == (scene.viewport.t0, scene.viewport.t1);
        if let Some(card) = cards.item(at as u32) {
            dom::set(&card, "aria-pressed", if shown { "true" } else { "false" });
        }
    }
}

/// Whether a time of day alone could be of more than one day of the file.
fn several_days(app: &App) -> bool {
    let state = app.state.borrow();
    let extent = state.summary.as_ref().map(|it| it.extent);
    extent.is_some_and(|[start, end]| format::date(start) != format::date(end))
}

fn summary(scene: &Scene) -> (String, String) {
    let attempts = &scene.replay.attempts;
    let of =
        |result: AttemptResult| attempts.iter().filter(|it| it.result == result).count() as u64;
    let (refused, trampled, held) = (
        of(AttemptResult::Refused),
        of(AttemptResult::Trampled),
        of(AttemptResult::Held),
    );
    if attempts.is_empty() {
        let about = match scene.replay.edge {
            None => {
                "These spans show no service that calls another, so there is nothing a breaker could guard."
            }
            Some(_) => {
                "With these settings the breaker never probes: it stays closed, or nothing calls after it has opened."
            }
        };
        return ("No recovery attempts".to_owned(), about.to_owned());
    }
    let title = format::counted(attempts.len() as u64, "recovery attempt");
    let parts = [(trampled, "trampled"), (refused, "refused"), (held, "held")];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{n} {word}"))
        .collect();
    let about = match () {
        () if trampled > 0 => {
            "The probes passed, the breaker closed, and the traffic it had withheld arrived at once. Press an attempt to see it."
        }
        () if held > 0 => {
            "The probes passed, and the breaker stayed closed. Press an attempt to see it."
        }
        () => "The probes failed, and the breaker opened again. Press an attempt to see it.",
    };
    (format!("{title}: {}", parts.join(", ")), about.to_owned())
}

fn card(app: &App, at: usize, attempt: &Attempt, days: bool) -> HtmlElement {
    let dom = &app.dom;
    let clock = format::time_of_day(attempt.half_open_ns, 0);
    let when = match days {
        true => format!("{} {clock}", format::date(attempt.half_open_ns)),
        false => clock,
    };
    let card = dom.new_element("button", "attempt", "");
    dom::set(&card, "type", "button");
    dom::set(&card, "data-attempt", &at.to_string());
    let (word, color) = match attempt.result {
        AttemptResult::Refused => ("refused", "var(--open)"),
        AttemptResult::Trampled => ("trampled", "var(--open)"),
        AttemptResult::Held => ("held", "var(--closed)"),
    };
    let name = dom.new_element("span", "", &format!("Attempt {}", at + 1));
    dom::fill(&name, &[&dom.new_element("small", "", &when)]);
    let pill = dom.new_element("span", "pill", word);
    dom::style(&pill, "--color", color);
    let head = dom.new_element("span", "head", "");
    dom::fill(&head, &[&name, &pill]);
    let figures = dom.new_element("span", "phase", "");
    for (figure, what) in figures_of(attempt) {
        let cell = dom.new_element("span", "", "");
        dom::fill(
            &cell,
            &[
                &dom.new_element("b", "", &figure),
                &dom.document.create_text_node(what),
            ],
        );
        dom::fill(&figures, &[&cell]);
    }
    dom::fill(&card, &[&head, &phases(app, attempt), &figures]);
    if attempt.wasted > 0 {
        let text = format!(
            "{} went on at the server for {} in all, after their callers had given up",
            format::counted(attempt.wasted, "call"),
            format::duration(attempt.wasted_ns)
        );
        dom::fill(&card, &[&dom.new_element("span", "more", &text)]);
    }
    card
}

fn figures_of(attempt: &Attempt) -> [(String, &'static str); 4] {
    let dash = || "\u{2014}".to_owned();
    let probes = match attempt.probes_ok == attempt.probes {
        true => format!("{} ok", format::count(attempt.probes)),
        false => format!(
            "{} of {} ok",
            format::count(attempt.probes_ok),
            format::count(attempt.probes)
        ),
    };
    let jump = match (attempt.rate_before, attempt.rate_after) {
        (Some(before), Some(after)) if before > 0.0 => format::times(after / before),
        _ => dash(),
    };
    let cycle = attempt.reopen_ns.map_or_else(dash, |it| {
        format::duration(u64::try_from(it.saturating_sub(attempt.half_open_ns)).unwrap_or(0))
    });
    [
        (probes, "probes"),
        (jump, "rate jump"),
        (format::count(attempt.timed_out), "timed out"),
        (cycle, "cycle"),
    ]
}

/// How long it was half-open, closed and well, and closed with timeouts, to scale.
fn phases(app: &App, attempt: &Attempt) -> HtmlElement {
    let strip = app.dom.new_element("span", "phases", "");
    let end = match attempt.result {
        AttemptResult::Held => attempt.half_open_ns.saturating_add(HELD_FOR),
        _ => attempt.reopen_ns.unwrap_or(attempt.half_open_ns),
    };
    let closed = attempt.close_ns.unwrap_or(end);
    let well = attempt
        .first_timeout_ns
        .unwrap_or(end)
        .clamp(closed, end.max(closed));
    let parts = [
        (
            closed - attempt.half_open_ns,
            "var(--half-open)",
            "half-open",
        ),
        (well - closed, "var(--closed)", "closed"),
        (end - well, "var(--timed-out)", "closed, calls time out"),
    ];
    for (ns, color, what) in parts {
        if ns <= 0 {
            continue;
        }
        let part = app.dom.new_element("i", "", "");
        dom::style(&part, "--share", &dom::number(ns as f64 / 1e9));
        dom::style(&part, "--color", color);
        dom::set(
            &part,
            "title",
            &format!("{what}: {}", format::duration(ns as u64)),
        );
        dom::fill(&strip, &[&part]);
    }
    strip
}
