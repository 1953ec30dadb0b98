//! The picked trace: its spans as a small waterfall, and the words for a span.
//!
//! Invariant: the view names the trace, the engine tells its spans; a timeout has a mark besides its
//! colour.

use std::cell::Cell;
use std::rc::Rc;

use web_sys::HtmlElement;

use crate::dom;
use crate::history::Gesture;
use crate::page::App;
use crate::{header, notices, plot, row};
use herdscope::format;
use herdscope::messages::{Request, SpanLabel, Swatch, TraceDetail};
use herdscope::view::{MILLI, Pane, Viewport};
use herdscope::viewport;

/// The question for a trace that is under way.
#[derive(Default)]
pub struct Question {
    asked: Cell<Option<(u32, Why)>>,
    /// The plot goes there when it is answered.
    goes: Cell<bool>,
    /// The span of the picked trace that the keys are at.
    cursor: Cell<Option<usize>>,
}

/// Keys that go from trace to trace, and from span to span.
const WALK: Gesture = Gesture::Burst("walk");

/// What a trace is asked for.
#[derive(Clone, Copy, PartialEq)]
enum Why {
    /// The view names it.
    Named,
    /// A click picks it.
    Clicked,
    /// It is next to the picked one.
    Stepped,
    /// It has a span that the filter means.
    Matched,
}

pub fn install(app: &Rc<App>) {
    app.on("trace-copy", "click", |app, _| {
        let id = app.state().view.trace.clone();
        if let Some(id) = id {
            header::copy(app, "trace-copy", &id, "The trace's id, to copy:");
        }
    });
    app.on("trace-show", "click", |app, _| {
        show(app);
    });
    app.on("trace-above", "click", |app, _| step(app, false));
    app.on("trace-below", "click", |app, _| step(app, true));
    app.on("trace-clear", "click", |app, _| {
        app.change(Gesture::Step, |view| view.trace = None);
    });
}

/// A click asked for the trace at a place.
pub fn await_pick(app: &App, id: u32) {
    app.question.asked.set(Some((id, Why::Clicked)));
}

/// The filter's field asked for the trace of another match.
pub fn await_match(app: &App, id: u32) {
    app.question.asked.set(Some((id, Why::Matched)));
}

/// The click was half of a double-click.
pub fn forget_pick(app: &App) {
    app.question.asked.set(None);
}

/// The view names another trace: its spans are asked for, unless they are here.
pub fn picked(app: &App) {
    let wanted = {
        let mut state = app.state_mut();
        let wanted = state.view.trace.clone();
        let here = state
            .detail
            .as_ref()
            .is_some_and(|it| Some(&it.trace_id) == wanted.as_ref());
        if !here {
            state.detail = None;
        }
        if wanted.is_none() {
            plot::hide_hover(app);
        }
        wanted.filter(|_| !here && state.summary.is_some())
    };
    let sent = wanted.and_then(|it| app.report(app.client.send(&Request::Trace(it))));
    if let Some(id) = sent {
        app.question.asked.set(Some((id, Why::Named)));
    }
}

/// Picks a trace and goes there.
pub fn go_to(app: &App, id: String) {
    let here = app.state().view.trace.as_ref() == Some(&id);
    app.question.goes.set(!here);
    app.change(Gesture::Step, |view| {
        view.trace = Some(id);
        view.pane = Pane::Trace;
    });
    if here {
        show(app);
    }
}

/// The engine's answer.
pub fn arrived(app: &App, id: u32, detail: Option<TraceDetail>) {
    let Some((expected, why)) = app.question.asked.get() else {
        return;
    };
    if expected != id {
        return;
    }
    app.question.asked.set(None);
    app.question.cursor.set(None);
    match (detail, why) {
        (Some(detail), Why::Named) => {
            app.state_mut().detail = Some(Rc::new(detail));
            render(app);
            if app.question.goes.take() {
                show(app);
            }
        }
        (Some(detail), _) => {
            let (trace, picked) = (detail.trace_id.clone(), detail.picked);
            app.state_mut().detail = Some(Rc::new(detail));
            let gesture = match why {
                Why::Clicked => Gesture::Step,
                _ => WALK,
            };
            app.change(gesture, |view| {
                view.trace = Some(trace);
                view.pane = Pane::Trace;
            });
            render(app);
            row::open_picked(app);
            if why != Why::Clicked {
                point_at(app, picked.unwrap_or(0) as usize);
            }
        }
        // A click beside all spans lets go of the trace; there is none above the first and below the last.
        (None, Why::Clicked) => app.change(Gesture::Step, |view| view.trace = None),
        (None, Why::Stepped | Why::Matched) => {}
        (None, Why::Named) => {
            let missing = app.state().view.trace.clone().unwrap_or_default();
            notices::add(
                &app.dom,
                notices::LINK,
                &format!(
                    "The link marks trace {missing}, which is not in this file; the rest of the view is shown."
                ),
            );
            app.change(Gesture::Settle, |view| view.trace = None);
        }
    }
}

/// Picks the trace below the picked one, or above it; without one, the first in view, or the last.
pub fn step(app: &App, down: bool) {
    let picked = app.state().detail.as_ref().map(|it| i64::from(it.rank));
    let (Some(view), Some(limits)) = (app.viewport(), app.limits()) else {
        return;
    };
    let rank = match (picked, down) {
        (Some(rank), true) => rank + 1,
        (Some(rank), false) => rank - 1,
        (None, true) => view.y0.max(limits.y0) / MILLI,
        (None, false) => (view.y1.min(limits.y1) - 1) / MILLI,
    };
    let Ok(rank) = u32::try_from(rank) else {
        return;
    };
    if let Some(id) = app.report(app.client.send(&Request::Rank(rank))) {
        app.question.asked.set(Some((id, Why::Stepped)));
    }
}

/// To the next span of the picked trace, parents before children, or the one before; it is pointed out, in view.
pub fn walk(app: &App, forward: bool) {
    let n_spans = app.state().detail.as_ref().map(|it| it.spans.len());
    let Some(n_spans) = n_spans else {
        return step(app, forward);
    };
    let at = match (app.question.cursor.get(), forward) {
        (Some(at), true) => (at + 1).min(n_spans.saturating_sub(1)),
        (at, _) => at.unwrap_or(0).saturating_sub(1),
    };
    point_at(app, at);
}

/// To that span of the picked trace.
fn point_at(app: &App, at: usize) {
    app.question.cursor.set(Some(at));
    let detail = app.state().detail.clone();
    let label = detail.and_then(|it| it.spans.get(at).cloned());
    if let Some(label) = label {
        let (start, rank) = (label.start, i64::from(label.rank) * MILLI);
        app.move_by(WALK, |it, limits| viewport::reveal(it, start, rank, limits));
        plot::point_out(app, label);
    }
}

/// Brings the picked trace into view: all of its time, and some traces around it. Whether there is one.
pub fn show(app: &App) -> bool {
    let detail = app.state().detail.clone();
    let Some(detail) = detail else { return false };
    let width = (detail.end - detail.start).max(1000);
    let margin = width / 10;
    let rank = i64::from(detail.rank) * MILLI;
    let around = Viewport {
        t0: detail.start - margin,
        t1: detail.end + margin,
        y0: rank - 12 * MILLI,
        y1: rank + 13 * MILLI,
    };
    app.move_by(Gesture::Step, |_, limits| viewport::clamp(around, limits));
    true
}

/// What its outcome is called, and the class that colours the word.
pub fn outcome(label: &SpanLabel) -> (&'static str, &'static str) {
    match label.outcome.as_str() {
        "success" => ("done", ""),
        "timed_out" => ("⨯ timed out", "timed-out"),
        "rejected" => ("⊘ rejected", ""),
        _ => ("! failed", ""),
    }
}

/// What else there is to say about a span, a line each.
pub fn more(label: &SpanLabel) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(late) = label.late_ns {
        lines.push(format!(
            "late by {}: the server went on after this call had ended",
            format::duration(late)
        ));
    }
    if let Some(waited) = label.waited_ns {
        lines.push(format!(
            "began {} after it was called",
            format::duration(waited)
        ));
    }
    if let Some(abandoned) = label.abandoned_ns {
        let all = label.duration.is_some_and(|it| it <= abandoned);
        let part = if all {
            "all".to_owned()
        } else {
            format::duration(abandoned)
        };
        lines.push([&part, " of it for nobody: a caller had given up"].concat());
    }
    let mut facts = vec![format!("at {}", format::time_of_day(label.start, 6))];
    facts.extend(label.instance.clone());
    facts.push(format!("row {}", format::count(label.row.into())));
    if label.orphan {
        facts.push("its parent is not in the file".to_owned());
    }
    lines.push(facts.join(" · "));
    if !label.message.is_empty() {
        lines.push(label.message.clone());
    }
    lines
}

/// The stylesheet's colour of a swatch.
pub fn color(swatch: Swatch) -> String {
    match swatch {
        Swatch::Series(at) => format!("var(--series-{at})"),
        Swatch::Failed => "var(--failed)".to_owned(),
        Swatch::TimedOut => "var(--timed-out)".to_owned(),
    }
}

/// The pane.
pub fn render(app: &App) {
    let detail = app.state().detail.clone();
    let dom = &app.dom;
    dom.show("trace-none", detail.is_none());
    dom.show("trace-some", detail.is_some());
    let Some(detail) = detail else { return };
    let list = dom.html("trace-spans");
    if dom.html("trace-id").text_content().as_deref() == Some(&detail.trace_id)
        && list.child_element_count() as usize == detail.spans.len()
    {
        return;
    }
    dom.text(
        "trace-rank",
        &format!("#{}", format::count(detail.rank.into())),
    );
    dom.text("trace-id", &detail.trace_id);
    let took = u64::try_from(detail.end - detail.start).unwrap_or(0);
    dom.text(
        "trace-facts",
        &format!(
            "{} · {}",
            format::counted(detail.spans.len() as u64, "span"),
            format::duration(took)
        ),
    );
    row::close(app);
    dom::clear(&list);
    for (nth, label) in detail.spans.iter().enumerate() {
        dom::fill(&list, &[&line(app, &detail, label, nth)]);
    }
}

fn line(app: &App, detail: &TraceDetail, label: &SpanLabel, nth: usize) -> HtmlElement {
    let dom = &app.dom;
    let row = dom.new_element("li", "", "");
    // Deep traces stay readable: what is deeper than this stands below one another.
    dom::style(&row, "--depth", &label.depth.min(12).to_string());
    let (says, class) = outcome(label);
    let name = row::button(dom, nth);
    dom::set(
        &name,
        "title",
        &format!("{} {}", label.service, label.operation),
    );
    dom::fill(
        &name,
        &[
            &dom.new_element("b", "", &label.service),
            &dom.document
                .create_text_node(&format!(" {}", label.operation)),
        ],
    );
    let duration = label
        .duration
        .map_or_else(|| "?".to_owned(), format::duration);
    let time = dom.new_element("span", "time", "");
    let success = label.outcome == "success";
    if !success {
        dom::fill(
            &time,
            &[
                &dom.new_element("b", class, says),
                &dom.document.create_text_node(" · "),
            ],
        );
    }
    dom::fill(&time, &[&dom.document.create_text_node(&duration)]);
    let what = dom.new_element("div", "what", "");
    dom::fill(&what, &[&name, &time]);
    dom::fill(&row, &[&what, &lane(app, detail, label)]);
    for line in more(label) {
        dom.add(&row, "div", "more", &line);
    }
    row
}

/// The span in the time of its trace.
fn lane(app: &App, detail: &TraceDetail, label: &SpanLabel) -> HtmlElement {
    let whole = (detail.end - detail.start).max(1) as f64;
    let share = |ns: f64| dom::percent((ns / whole).clamp(0.0, 1.0));
    let success = label.outcome == "success";
    let bar = app
        .dom
        .new_element("i", if success { "" } else { "hatched" }, "");
    let begins = (label.start - detail.start) as f64;
    let lasts = label.duration.unwrap_or(0) as f64;
    let place = |it: &HtmlElement, from: f64, ns: f64| {
        dom::style(it, "--from", &share(from));
        dom::style(it, "--width", &share(ns));
    };
    place(&bar, begins, lasts);
    let swatch = match label.outcome.as_str() {
        "success" => color(label.swatch),
        "timed_out" => color(Swatch::TimedOut),
        _ => color(Swatch::Failed),
    };
    dom::style(&bar, "--swatch", &swatch);
    let lane = app.dom.new_element("div", "lane", "");
    dom::fill(&lane, &[&bar]);
    // What is not its own work: until it began, and since somebody gave up.
    if let Some(ns) = label.waited_ns {
        let waited = app.dom.add(&lane, "i", "waited", "");
        place(&waited, begins - ns as f64, ns as f64);
    }
    if let Some(ns) = label.abandoned_ns {
        let abandoned = (ns as f64).min(lasts);
        let late = app.dom.add(&lane, "i", "abandoned", "");
        place(&late, begins + lasts - abandoned, abandoned);
    }
    lane
}
