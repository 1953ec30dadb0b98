//! From a time to the traces of that time.
//!
//! Ranks follow the traces' starts, so the first and the last trace that began in a time are found by
//! bisection: the engine is asked for the trace of a rank, about fifteen times each, a fraction of a
//! millisecond a time. Invariant: one search is under way; of those that wait, the latest.

use std::cell::{Cell, RefCell};

use crate::messages::{PointRequest, Request, TraceDetail};
use crate::view::{ColorBy, MILLI, Viewport};
use crate::viewport;
use crate::web::history::Gesture;
use crate::web::page::App;

/// The search under way.
#[derive(Default)]
pub struct Seek {
    search: Cell<Option<Search>>,
    next: Cell<Option<Goal>>,
    /// The gesture is over as soon as the search is.
    ends: RefCell<bool>,
}

#[derive(Clone, Copy)]
struct Goal {
    t0: i64,
    t1: i64,
    gesture: Gesture,
}

#[derive(Clone, Copy)]
struct Search {
    goal: Goal,
    /// The question under way, and the rank it is about.
    question: u32,
    rank: i64,
    /// The answer is in `low..=high`.
    low: i64,
    high: i64,
    /// The first trace of the time, once it is found.
    first: Option<i64>,
}

/// Room above and below the traces, as a share of their number.
const MARGIN: f64 = 0.03;

/// Looks at a time, and at the traces that began in it.
pub fn seek(app: &App, t0: i64, t1: i64, gesture: Gesture) {
    let goal = Goal { t0, t1, gesture };
    if app.seek.search.get().is_some() {
        app.seek.next.set(Some(goal));
        return;
    }
    let Some(limits) = app.limits() else { return };
    let (low, high) = (limits.y0 / MILLI, limits.y1 / MILLI);
    step(
        app,
        Search {
            goal,
            question: 0,
            rank: 0,
            low,
            high,
            first: None,
        },
    );
}

/// The person has let go.
pub fn end_gesture(app: &App) {
    match app.seek.search.get() {
        Some(_) => *app.seek.ends.borrow_mut() = true,
        None => {
            app.report(app.history.end_gesture());
        }
    }
}

/// Other data: what was sought is not there any more.
pub fn forget(app: &App) {
    app.seek.search.set(None);
    app.seek.next.set(None);
}

/// Takes an answer, if it is to a question of the search.
pub fn sought(app: &App, id: u32, detail: Option<&TraceDetail>) -> bool {
    let Some(mut search) = app.seek.search.get().filter(|it| it.question == id) else {
        return false;
    };
    let edge = if search.first.is_none() {
        search.goal.t0
    } else {
        search.goal.t1
    };
    match detail.is_some_and(|it| it.start < edge) {
        true => search.low = search.rank + 1,
        false => search.high = search.rank,
    }
    app.seek.search.set(None);
    step(app, search);
    true
}

fn step(app: &App, mut search: Search) {
    let Some(limits) = app.limits() else { return };
    if search.low >= search.high && search.first.is_none() {
        search.first = Some(search.low);
        search.high = limits.y1 / MILLI;
    }
    if search.low >= search.high {
        return arrive(app, search, limits);
    }
    search.rank = search.low + (search.high - search.low) / 2;
    let request = Request::Pick(trace_of(search.rank, limits));
    if let Some(id) = app.report(app.client.send(&request)) {
        search.question = id;
        app.seek.search.set(Some(search));
    }
}

/// A question that hits the trace of a rank wherever its spans are: all of the time is one pixel.
fn trace_of(rank: i64, limits: Viewport) -> PointRequest {
    let width = limits.t1 - limits.t0;
    let viewport = Viewport {
        t0: limits.t0.saturating_sub(width),
        t1: limits.t1.saturating_add(width),
        y0: rank * MILLI,
        y1: (rank + 1) * MILLI,
    };
    PointRequest {
        viewport,
        plot: [1, 1],
        at: [0.5, 0.5],
        reach: 0.4,
        hidden: Vec::new(),
        color_by: ColorBy::Tier,
    }
}

fn arrive(app: &App, search: Search, limits: Viewport) {
    let Goal { t0, t1, gesture } = search.goal;
    let (first, end) = (search.first.unwrap_or(search.low), search.low);
    let (y0, y1) = (first * MILLI, end.max(first + 1) * MILLI);
    let margin = ((y1 - y0) as f64 * MARGIN) as i64;
    let there = Viewport {
        t0,
        t1,
        y0: y0 - margin,
        y1: y1 + margin,
    };
    app.look_at(gesture, viewport::clamp(cut(there, limits), limits));
    if let Some(next) = app.seek.next.take() {
        seek(app, next.t0, next.t1, next.gesture);
    } else if app.seek.ends.replace(false) {
        app.report(app.history.end_gesture());
    }
}

/// Without the margins that lie outside.
fn cut(view: Viewport, limits: Viewport) -> Viewport {
    Viewport {
        y0: view.y0.max(limits.y0),
        y1: view.y1.min(limits.y1),
        ..view
    }
}
