//! The recovery attempts as cards; a press goes there.
//!
//! Those that were observed, or those of the last picture's replay. Invariant: a card is marked when the
//! plot shows its time, however it came there.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use web_sys::HtmlElement;

use crate::dom;
use crate::history::Gesture;
use crate::page::App;
use crate::{panes, seek};
use herdscope::format;
use herdscope::herds::{Attempt, AttemptResult, HELD_FOR_NS as HELD_FOR};
use herdscope::messages::{Scene, Topic};
use herdscope::view::Viewport;
use herdscope::viewport;

/// Shown before the first probe, nanoseconds.
const BEFORE: i64 = 1_500_000_000;
/// Shown after the re-opening, nanoseconds.
const AFTER: i64 = 2_500_000_000;

/// What the cards show.
#[derive(Default)]
pub struct Herds {
    shown: RefCell<Vec<Attempt>>,
    /// The first of them is to be looked at as soon as they are here.
    first: Cell<bool>,
}

pub fn install(app: &Rc<App>) {
    app.on("herds-of", "click", |app, event| {
        if let Some(of) = dom::pressed(event, "data-of") {
            app.change(Gesture::Step, |view| view.replayed = Some(of == "replayed"));
        }
    });
    app.on("herds-list", "click", |app, event| {
        let at = dom::pressed(event, "data-attempt");
        if let Some(at) = at.and_then(|it| it.parse().ok()) {
            go_to(app, at);
        }
    });
    app.on("hint-herd", "click", |app, _| {
        let there = go_to(app, 0);
        app.herds.first.set(!there);
    });
}

/// Looks at an attempt; whether it is there.
fn go_to(app: &App, at: usize) -> bool {
    let attempt = app.herds.shown.borrow().get(at).cloned();
    let (Some(attempt), Some(limits)) = (attempt, app.limits()) else {
        return false;
    };
    let there = shown_time(&attempt, limits);
    seek::seek(app, there.t0, there.t1, Gesture::Step);
    true
}

/// Goes to the next attempt after the time in view, or to the one before.
pub fn step(app: &App, forward: bool) {
    let (Some(view), Some(limits)) = (app.viewport(), app.limits()) else {
        return;
    };
    let middle = |it: Viewport| it.t0 / 2 + it.t1 / 2;
    let now = middle(view);
    let shown = app.herds.shown.borrow();
    let mut places = shown.iter().map(|it| shown_time(it, limits));
    let is_here = |it: Viewport| (it.t0, it.t1) == (view.t0, view.t1);
    let at = match forward {
        true => places.position(|it| middle(it) > now && !is_here(it)),
        false => places.rposition(|it| middle(it) < now && !is_here(it)),
    };
    // Everything in view: the first, or the last.
    let at = match view.t1 - view.t0 >= limits.t1 - limits.t0 {
        true if forward => Some(0),
        true => shown.len().checked_sub(1),
        false => at,
    };
    drop(places);
    drop(shown);
    if let Some(at) = at {
        go_to(app, at);
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
    let same = before.is_some_and(|it| it.replay.attempts == scene.replay.attempts);
    if !same || app.dom.html("herds-list").child_element_count() == 0 {
        update(app);
    }
    mark(app, scene);
}

/// Shows the attempts, of the breakers that were observed or of the replayed one.
pub fn update(app: &App) {
    let scene = app.state().scene.clone();
    let Some(scene) = scene else { return };
    let happened = panes::answer(app, Topic::Happened);
    let replayed = {
        let view = &app.state().view;
        view.replayed.unwrap_or(view.breaker.is_some())
    };
    let buttons = app.dom.html("herds-of").children();
    for at in 0..2 {
        if let Some(button) = buttons.item(at) {
            let on = (at == 1) == replayed;
            dom::flag(&button, "aria-pressed", on);
        }
    }
    let (attempts, title, about) = match (&happened, replayed) {
        // On its way: what was observed before was of something else.
        (None, false) => (Vec::new(), "Recovery attempts".to_owned(), String::new()),
        _ => {
            let attempts = match &happened {
                Some(answer) if !replayed => answer.attempts.clone(),
                _ => scene.replay.attempts.clone(),
            };
            let (title, about) = summary(&attempts, scene.replay.edge.is_some(), replayed);
            (attempts, title, about)
        }
    };
    app.dom.text("herds-title", &title);
    app.dom.text("herds-about", &about);
    let list = app.dom.html("herds-list");
    if list.child_element_count() as usize != attempts.len()
        || *app.herds.shown.borrow() != attempts
    {
        dom::clear(&list);
        let days = several_days(app);
        for (at, attempt) in attempts.iter().enumerate() {
            dom::fill(&list, &[&card(app, at, attempt, days)]);
        }
        app.herds.shown.replace(attempts);
        mark(app, &scene);
    }
    let is_told = replayed || happened.is_some();
    if is_told && app.herds.first.take() {
        go_to(app, 0);
    }
}

/// Marks the cards whose time is in view.
fn mark(app: &App, scene: &Scene) {
    let Some(limits) = app.limits() else { return };
    let cards = app.dom.html("herds-list").children();
    for (at, attempt) in app.herds.shown.borrow().iter().enumerate() {
        let there = shown_time(attempt, limits);
        let shown = (there.t0, there.t1) == (scene.viewport.t0, scene.viewport.t1);
        if let Some(card) = cards.item(at as u32) {
            dom::flag(&card, "aria-pressed", shown);
        }
    }
}

/// Whether a time of day alone could be of more than one day of the file.
fn several_days(app: &App) -> bool {
    let state = app.state();
    let extent = state.summary.as_ref().map(|it| it.extent);
    extent.is_some_and(|[start, end]| format::date(start) != format::date(end))
}

/// Title and sentence above the cards.
fn summary(attempts: &[Attempt], edge: bool, replayed: bool) -> (String, String) {
    let of =
        |result: AttemptResult| attempts.iter().filter(|it| it.result == result).count() as u64;
    let (refused, trampled, held) = (
        of(AttemptResult::Refused),
        of(AttemptResult::Trampled),
        of(AttemptResult::Held),
    );
    if attempts.is_empty() {
        let about = match (edge, replayed) {
            (false, _) => {
                "These spans show no service that calls another, so there is nothing a breaker could guard."
            }
            (true, true) => {
                "With these settings the breaker never probes: it stays closed, or nothing calls after it has opened."
            }
            (true, false) => {
                "As far as the calls tell, no breaker probed: none opened, or nothing called after it had."
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
        () if held > 0 && refused == 0 => {
            "The probes passed, and the breaker stayed closed. Press an attempt to see it."
        }
        () if held > 0 => "Probes failed, then passed. Press an attempt to see it.",
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
    dom.add(&name, "small", "", &when);
    let pill = dom.new_element("span", "pill", word);
    dom::style(&pill, "--color", color);
    let head = dom.new_element("span", "head", "");
    dom::fill(&head, &[&name, &pill]);
    let figures = dom.new_element("span", "phase", "");
    for (figure, what) in figures_of(attempt) {
        let cell = dom.add(&figures, "span", "", "");
        dom::fill(
            &cell,
            &[
                &dom.new_element("b", "", &figure),
                &dom.document.create_text_node(what),
            ],
        );
    }
    dom::fill(&card, &[&head, &phases(app, attempt), &figures]);
    let story = dom.add(&card, "span", "story", "");
    for said in attempt.story() {
        dom.add(&story, "span", "more", &said);
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
        let part = app.dom.add(&strip, "i", "", "");
        dom::style(&part, "--share", &dom::number(ns as f64 / 1e9));
        dom::style(&part, "--color", color);
        dom::set(
            &part,
            "title",
            &format!("{what}: {}", format::duration(ns as u64)),
        );
    }
    strip
}
