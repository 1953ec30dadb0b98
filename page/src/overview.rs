//! The strip above the plot: all of the time, and a window that is what the plot shows.
//!
//! The window is dragged, resized by its handles, or moved by the keys that move; the ranks follow, so
//! that the traces of the new time are in view. Invariant: the window is drawn from the last picture.

use std::cell::Cell;
use std::rc::Rc;

use wasm_bindgen::JsCast;
use web_sys::{Element, PointerEvent};

use crate::dom;
use crate::history::Gesture;
use crate::page::App;
use crate::seek;
use herdscope::commands::Command;
use herdscope::format;
use herdscope::messages::Scene;
use herdscope::view::Viewport;
use herdscope::viewport;

/// The part of the window that is moved.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Left,
    Right,
    Whole,
}

#[derive(Clone, Copy)]
struct Drag {
    part: Part,
    /// The time under the pointer at the start.
    from: i64,
    viewport: Viewport,
}

/// What a key moves an edge by, as a share of the strip, and the window as a share of itself.
const EDGE_STEP: f64 = 0.01;
const WINDOW_STEP: f64 = 0.2;

/// A window that has no room for its handles, CSS pixels.
const NARROW_PX: f64 = 28.0;

/// What is dragged.
#[derive(Default)]
pub struct Strip(Cell<Option<Drag>>);

pub fn install(app: &Rc<App>) {
    app.on("overview", "pointerdown", |app, event| {
        let event: &PointerEvent = event.unchecked_ref();
        let drag = press(app, event);
        app.strip.0.set(drag);
        if drag.is_some() {
            // As in the plot: without it the drag ends at the strip's edge.
            let _ = app
                .dom
                .html("overview")
                .set_pointer_capture(event.pointer_id());
        }
    });
    app.on("overview", "pointermove", |app, event| {
        let time = time_under(app, event.unchecked_ref());
        if let (Some(drag), Some(time)) = (app.strip.0.get(), time) {
            let by = time.saturating_sub(drag.from);
            shift(app, drag.viewport, drag.part, by, Gesture::Drag("overview"));
        }
    });
    for end in ["pointerup", "pointercancel"] {
        app.on("overview", end, |app, _| {
            if app.strip.0.take().is_some() {
                seek::end_gesture(app);
            }
        });
    }
    app.on("overview", "dblclick", |app, _| app.home());
}

/// The part of the window that a button of it moves.
fn part(button: &Element) -> Part {
    match button.id().as_str() {
        "window-left" => Part::Left,
        "window-right" => Part::Right,
        _ => Part::Whole,
    }
}

fn press(app: &App, event: &PointerEvent) -> Option<Drag> {
    let viewport = app.viewport()?;
    app.limits()?;
    let from = time_under(app, event)?;
    let button = dom::closest(event, "#window button");
    let part = match (event.button(), button) {
        (0, Some(button)) => part(&button),
        (0, None) => {
            let middle = viewport.t0 + (viewport.t1 - viewport.t0) / 2;
            shift(
                app,
                viewport,
                Part::Whole,
                from - middle,
                Gesture::Drag("overview"),
            );
            let moved = Viewport {
                t0: viewport.t0 + from - middle,
                t1: viewport.t1 + from - middle,
                ..viewport
            };
            return Some(Drag {
                part: Part::Whole,
                from,
                viewport: moved,
            });
        }
        _ => return None,
    };
    Some(Drag {
        part,
        from,
        viewport,
    })
}

fn time_under(app: &App, event: &PointerEvent) -> Option<i64> {
    let rect = app.dom.html("overview-canvas").get_bounding_client_rect();
    let share = (f64::from(event.client_x()) - rect.left()) / rect.width().max(1.0);
    let state = app.state();
    let [t0, t1] = state.scene.as_ref()?.overview_time;
    Some(viewport::time_at(
        Viewport {
            t0,
            t1,
            y0: 0,
            y1: 1,
        },
        share.clamp(0.0, 1.0),
    ))
}

/// Moves a part of the window of `viewport` by a time.
fn shift(app: &App, viewport: Viewport, part: Part, by: i64, gesture: Gesture) {
    let Some(limits) = app.limits() else { return };
    let (t0, t1) = match part {
        Part::Left => (viewport.t0.saturating_add(by), viewport.t1),
        Part::Right => (viewport.t0, viewport.t1.saturating_add(by)),
        Part::Whole => (
            viewport.t0.saturating_add(by),
            viewport.t1.saturating_add(by),
        ),
    };
    // An edge that is pulled over the other one takes its place.
    let (t0, t1) = (t0.min(t1), t0.max(t1));
    let there = viewport::with_time(viewport, t0, t1, limits);
    seek::seek(app, there.t0, there.t1, gesture);
}

/// Moves the part of the window that a button stands for, if the command moves at all.
pub fn step(app: &App, button: &Element, command: Command) -> bool {
    let sign = match command {
        Command::Left | Command::Down => -1.0,
        Command::Right | Command::Up => 1.0,
        _ => return false,
    };
    let part = part(button);
    let whole = app.state().scene.as_ref().map(|it| it.overview_time);
    if let (Some(viewport), Some([t0, t1])) = (app.viewport(), whole) {
        let by = match part {
            Part::Whole => (viewport.t1 - viewport.t0) as f64 * WINDOW_STEP,
            Part::Left | Part::Right => (t1 - t0) as f64 * EDGE_STEP,
        };
        let gesture = Gesture::Burst("overview");
        shift(app, viewport, part, (sign * by) as i64, gesture);
    }
    true
}

/// After a picture: the window where the picture is.
pub fn render(app: &App, scene: &Scene) {
    let dom = &app.dom;
    let [t0, t1] = scene.overview_time;
    let whole = Viewport {
        t0,
        t1,
        y0: 0,
        y1: 1,
    };
    let share = |time: i64| viewport::x_of(whole, time).clamp(0.0, 1.0);
    let (left, right) = (share(scene.viewport.t0), share(scene.viewport.t1));
    let window = dom.html("window");
    dom::style(&window, "left", &dom::percent(left));
    dom::style(&window, "width", &dom::percent(right - left));
    let px = (right - left) * f64::from(dom.html("overview").client_width());
    window.set_class_name(if px < NARROW_PX {
        "window narrow"
    } else {
        "window"
    });
    window.set_hidden(t1 <= t0);
    let range = format::time_range(scene.viewport.t0, scene.viewport.t1);
    let decimals = format::decimals_for(scene.viewport.t1 - scene.viewport.t0);
    let says = [
        (
            "window-left",
            left,
            format::time_of_day(scene.viewport.t0, decimals),
        ),
        ("window-hold", left, range),
        (
            "window-right",
            right,
            format::time_of_day(scene.viewport.t1, decimals),
        ),
    ];
    for (id, at, text) in says {
        let part = dom.html(id);
        dom::set(&part, "aria-valuenow", &dom::number((at * 1000.0).round()));
        dom::set(&part, "aria-valuetext", &text);
    }
}
