//! From a time to the traces of that time.
//!
//! The engine knows which traces began in it; the viewport follows when it has answered. Invariant:
//! one question is under way; of those that wait, the latest.

use std::cell::Cell;

use crate::history::Gesture;
use crate::page::App;
use herdscope::messages::Request;
use herdscope::viewport;

/// The question under way and the one that waits.
#[derive(Default)]
pub struct Seek {
    asked: Cell<Option<(u32, Goal)>>,
    next: Cell<Option<Goal>>,
    /// The gesture is over as soon as the answer is there.
    ends: Cell<bool>,
}

#[derive(Clone, Copy)]
struct Goal {
    t0: i64,
    t1: i64,
    gesture: Gesture,
}

/// Room above and below the traces, as a share of their number.
const MARGIN: f64 = 0.03;

/// Looks at a time, and at the traces that began in it.
pub fn seek(app: &App, t0: i64, t1: i64, gesture: Gesture) {
    ask(app, Goal { t0, t1, gesture });
}

/// The person has let go.
pub fn end_gesture(app: &App) {
    match app.seek.asked.get() {
        Some(_) => app.seek.ends.set(true),
        None => {
            app.report(app.history.end_gesture());
        }
    }
}

/// Other data: what was sought is not there any more.
pub fn forget(app: &App) {
    app.seek.asked.set(None);
    app.seek.next.set(None);
}

/// Takes the answer to a question.
pub fn arrived(app: &App, id: u32, [first, end]: [u32; 2]) {
    let Some((_, goal)) = app.seek.asked.get().filter(|it| it.0 == id) else {
        return;
    };
    app.seek.asked.set(None);
    if let Some(limits) = app.limits() {
        let there = viewport::around(goal.t0, goal.t1, [first, end], MARGIN, limits);
        app.look_at(goal.gesture, there);
    }
    if let Some(next) = app.seek.next.take() {
        ask(app, next);
    } else if app.seek.ends.replace(false) {
        app.report(app.history.end_gesture());
    }
}

fn ask(app: &App, goal: Goal) {
    if app.seek.asked.get().is_some() {
        app.seek.next.set(Some(goal));
        return;
    }
    let request = Request::Ranks([goal.t0, goal.t1]);
    if let Some(id) = app.report(app.client.send(&request)) {
        app.seek.asked.set(Some((id, goal)));
    }
}
