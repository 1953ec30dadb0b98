//! Mouse, wheel and fingers on the span plot, and what lies over it: selection, hovered span, picked trace.
//!
//! Invariant: gestures turn into viewports in [`herdscope::viewport`]; here are only the places where they
//! happen. One question about the pointer's place is under way at a time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, MouseEvent, PointerEvent, WheelEvent};

use crate::dom;
use crate::history::Gesture;
use crate::page::App;
use crate::{theme, trace};
use herdscope::format;
use herdscope::messages::{PointRequest, Request, Scene, SpanLabel};
use herdscope::view::{MILLI, Pane, Viewport};
use herdscope::viewport::{self, Axes, CLICK_PX};

/// What the pointer is doing.
#[derive(Default)]
pub struct Pointer {
    drag: Cell<Option<Drag>>,
    /// Where it is, CSS pixels within the plot area.
    at: Cell<Option<[f64; 2]>>,
    hovered: RefCell<Option<SpanLabel>>,
    /// The press that ends moved nothing: the click that follows picks a trace.
    clicks: Cell<bool>,
    /// When the middle button was let go, which pastes on some systems.
    middle_at: Cell<f64>,
    /// What was picked before a click that may become a double-click.
    before_click: RefCell<Option<(Option<String>, Pane)>>,
    /// Fingers that are down, at most two, and where, CSS pixels within the plot area.
    fingers: RefCell<Vec<(i32, [f64; 2])>>,
    pinch: Cell<Option<Pinch>>,
    /// How many presses there were, so that a long one is told from the next.
    presses: Cell<u32>,
}

/// What was between two fingers when the second came down.
#[derive(Clone, Copy)]
struct Pinch {
    middle: [f64; 2],
    apart: f64,
    viewport: Viewport,
}

#[derive(Clone, Copy)]
struct Drag {
    /// CSS pixels within the plot area.
    from: [f64; 2],
    viewport: Viewport,
    pans: bool,
    moved: bool,
}

/// How far off a span may be, in CSS pixels.
const REACH_PX: f64 = 6.0;
/// How strongly the wheel zooms, per CSS pixel that it would scroll.
const WHEEL: f64 = 0.0018;
/// The same while Ctrl is held, or for two fingers on a trackpad, which browsers tell as that: smaller steps, of
/// which the largest is one of a wheel.
const PINCH: f64 = 0.01;
const PINCH_MOST: f64 = 25.0;
/// How long a finger rests for what hovering would show, in milliseconds.
const LONG_PRESS_MS: i32 = 500;
/// What the wheel does is kept on this device.
const WHEEL_KEY: &str = "herdscope-wheel";

/// How soon after a middle click a paste is taken for its consequence, in milliseconds.
const MIDDLE_PASTE_MS: f64 = 300.0;

pub fn install(app: &Rc<App>) {
    let kept = theme::storage(&app.dom).and_then(|it| it.get_item(WHEEL_KEY).ok()?);
    if kept.as_deref() == Some("pan") {
        app.dom.select("wheel").set_value("pan");
    }
    app.on("wheel", "change", |app, _| {
        if let Some(storage) = theme::storage(&app.dom) {
            // A browser that keeps nothing begins with zooming next time.
            let _ = storage.set_item(WHEEL_KEY, &app.dom.select("wheel").value());
        }
    });
    // A long press has a meaning of its own.
    app.on("plot", "contextmenu", |app, event| {
        if !app.plot.fingers.borrow().is_empty() {
            event.prevent_default();
        }
    });
    // The middle button would scroll by itself.
    app.on("plot", "mousedown", |_, event| {
        if event.unchecked_ref::<MouseEvent>().button() == 1 {
            event.prevent_default();
        }
    });
    app.on("plot", "click", |app, it| click(app, it.unchecked_ref()));
    app.on("plot", "wheel", |app, it| wheel(app, it.unchecked_ref()));
    app.on("plot", "pointerdown", |app, it| {
        press(app, it.unchecked_ref())
    });
    app.on("plot", "pointermove", |app, it| {
        moved(app, it.unchecked_ref())
    });
    app.on("plot", "pointerup", |app, it| {
        release(app, it.unchecked_ref())
    });
    app.on("plot", "pointercancel", |app, it| {
        lift(app, it.unchecked_ref());
        end_drag(app);
    });
    app.on("plot", "pointerleave", |app, _| leave(app));
    app.on("plot", "dblclick", |app, it| {
        double_click(app, it.unchecked_ref())
    });
}

/// Where the pointer is in the plot area, CSS pixels, and the size of the area.
fn place(app: &App, event: &MouseEvent) -> ([f64; 2], [f64; 2]) {
    let ([left, top], size) = rect(app);
    let at = [
        f64::from(event.client_x()) - left,
        f64::from(event.client_y()) - top,
    ];
    (at, size)
}

/// Where the plot area begins in the window, and its size.
fn rect(app: &App) -> ([f64; 2], [f64; 2]) {
    let rect = app.dom.html("plot-over").get_bounding_client_rect();
    let size = [rect.width().max(1.0), rect.height().max(1.0)];
    ([rect.left(), rect.top()], size)
}

fn share([x, y]: [f64; 2], [width, height]: [f64; 2]) -> [f64; 2] {
    [(x / width).clamp(0.0, 1.0), (y / height).clamp(0.0, 1.0)]
}

/// Whether the event is about something that lies over the plot and has its own use of the mouse.
fn is_elsewhere(event: &MouseEvent) -> bool {
    dom::closest(event, ".hint").is_some()
}

fn wheel(app: &App, event: &WheelEvent) {
    if is_elsewhere(event) {
        return;
    }
    event.prevent_default();
    let unit = match event.delta_mode() {
        WheelEvent::DOM_DELTA_LINE => 24.0,
        WheelEvent::DOM_DELTA_PAGE => 400.0,
        _ => 1.0,
    };
    // Browsers turn the wheel sideways while Shift is down.
    let (dx, dy) = match event.shift_key() && event.delta_y() == 0.0 {
        true => (0.0, event.delta_x() * unit),
        false => (event.delta_x() * unit, event.delta_y() * unit),
    };
    let axes = match (event.shift_key(), event.alt_key()) {
        (true, false) => Axes::Time,
        (false, true) => Axes::Traces,
        _ => Axes::Both,
    };
    let (at, size) = place(app, event);
    let pinches = event.ctrl_key();
    let pans = app.dom.select("wheel").value() == "pan" && axes == Axes::Both;
    if !pinches && (pans || dx.abs() > dy.abs()) {
        let by = [dx / size[0], if pans { dy / size[1] } else { 0.0 }];
        app.move_by(Gesture::Burst("wheel"), |it, limits| {
            viewport::pan(it, by, limits)
        });
    } else {
        let by = match pinches {
            true => dy.clamp(-PINCH_MOST, PINCH_MOST) * PINCH,
            false => dy.clamp(-600.0, 600.0) * WHEEL,
        };
        let factor = by.exp();
        app.move_by(Gesture::Burst("wheel"), |it, limits| {
            viewport::zoom(it, share(at, size), factor, axes, limits)
        });
    }
    hide_hover(app);
}

fn press(app: &App, event: &PointerEvent) {
    if is_elsewhere(event) || !matches!(event.button(), 0 | 1) {
        return;
    }
    let Some(viewport) = app.viewport().filter(|_| app.limits().is_some()) else {
        return;
    };
    let touches = event.pointer_type() == "touch";
    let pans = event.button() == 1 || event.shift_key() || touches;
    let (from, _) = place(app, event);
    app.plot.presses.set(app.plot.presses.get() + 1);
    // A pointer that is gone already cannot be followed out of the plot; the drag works all the same.
    let _ = app.dom.html("plot").set_pointer_capture(event.pointer_id());
    app.plot.drag.set(Some(Drag {
        from,
        viewport,
        pans,
        moved: false,
    }));
    if touches {
        hide_hover(app);
        put_down(app, event.pointer_id(), from, viewport);
    }
}

/// Another finger: with a second one the drag becomes a pinch, a third has no meaning.
fn put_down(app: &App, id: i32, at: [f64; 2], viewport: Viewport) {
    let mut fingers = app.plot.fingers.borrow_mut();
    fingers.retain(|it| it.0 != id);
    if fingers.len() < 2 {
        fingers.push((id, at));
    }
    if let [(_, a), (_, b)] = fingers[..] {
        app.plot.drag.set(None);
        if app.plot.pinch.get().is_some() {
            return;
        }
        app.plot.pinch.set(Some(Pinch {
            middle: middle(a, b),
            apart: apart(a, b),
            viewport,
        }));
        return;
    }
    let (app, press) = (app.rc(), app.plot.presses.get());
    app.clone().dom.later(LONG_PRESS_MS, move || {
        let rests = app.plot.drag.get().is_some_and(|it| !it.moved);
        if rests && app.plot.presses.get() == press {
            look_under_finger(&app, at);
        }
    });
}

/// A finger has rested: from now on it points and does not move the plot.
fn look_under_finger(app: &App, at: [f64; 2]) {
    app.plot.drag.set(None);
    app.plot.at.set(Some(at));
    let (_, size) = rect(app);
    if let Some(point) = point_at(app, at, size) {
        app.report(app.client.hover(point));
    }
}

fn middle(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [(a[0] + b[0]) / 2.0, (a[1] + b[1]) / 2.0]
}

/// How far apart two fingers are; never nothing.
fn apart(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1]).max(1.0)
}

/// A finger has moved; whether that is all there is to do about it.
fn pinched(app: &App, event: &PointerEvent, at: [f64; 2], size: [f64; 2]) -> bool {
    let mut fingers = app.plot.fingers.borrow_mut();
    let Some(pinch) = app.plot.pinch.get() else {
        // A third finger that outlasts the others moves nothing.
        let is_known = fingers.iter().any(|it| it.0 == event.pointer_id());
        return event.pointer_type() == "touch" && !is_known;
    };
    for finger in fingers.iter_mut() {
        if finger.0 == event.pointer_id() {
            finger.1 = at;
        }
    }
    let now = match fingers[..] {
        [(_, a), (_, b)] => Some([a, b]),
        _ => None,
    };
    drop(fingers);
    if let Some([a, b]) = now {
        let (from, to) = (share(pinch.middle, size), share(middle(a, b), size));
        let factor = pinch.apart / apart(a, b);
        app.move_by(Gesture::Drag("pan"), |_, limits| {
            viewport::pinch(pinch.viewport, from, to, factor, limits)
        });
    }
    true
}

/// A finger is gone; of two, the other one goes on moving the plot, as a part of the same gesture.
fn lift(app: &App, event: &PointerEvent) {
    let mut fingers = app.plot.fingers.borrow_mut();
    fingers.retain(|it| it.0 != event.pointer_id());
    if fingers.len() > 1 || app.plot.pinch.take().is_none() {
        return;
    }
    if let (Some(&(_, from)), Some(viewport)) = (fingers.first(), app.viewport()) {
        app.plot.drag.set(Some(Drag {
            from,
            viewport,
            pans: true,
            moved: true,
        }));
    }
}

fn moved(app: &App, event: &PointerEvent) {
    let (at, size) = place(app, event);
    if pinched(app, event, at, size) {
        return;
    }
    let Some(mut drag) = app.plot.drag.get() else {
        app.plot.at.set(Some(at));
        return ask_what_is_here(app, event, at, size);
    };
    let by = [at[0] - drag.from[0], at[1] - drag.from[1]];
    drag.moved |= by[0].hypot(by[1]) >= CLICK_PX;
    app.plot.drag.set(Some(drag));
    if !drag.moved {
        return;
    }
    hide_hover(app);
    if drag.pans {
        app.dom.html("plot").set_class_name("card plot panning");
        let by = [-by[0] / size[0], -by[1] / size[1]];
        app.move_by(Gesture::Drag("pan"), |_, limits| {
            viewport::pan(drag.viewport, by, limits)
        });
    } else {
        show_selection(app, drag.from, at, size);
    }
}

fn release(app: &App, event: &PointerEvent) {
    let pinched = app.plot.pinch.get().is_some();
    lift(app, event);
    if pinched {
        return;
    }
    let Some(drag) = app.plot.drag.get() else {
        return;
    };
    let (at, size) = place(app, event);
    if event.button() == 1 {
        app.plot.middle_at.set(app.dom.now());
    }
    end_drag(app);
    match (drag.moved, drag.pans) {
        (true, true) => {}
        (true, false) => app.move_by(Gesture::Step, |it, limits| {
            viewport::select(it, share(drag.from, size), share(at, size), limits)
        }),
        (false, _) => app.plot.clicks.set(event.button() == 0),
    }
}

fn end_drag(app: &App) {
    app.plot.drag.set(None);
    app.dom.show("selection", false);
    app.dom.html("plot").set_class_name("card plot");
    app.report(app.history.end_gesture());
}

/// Lets go of a drag that is under way, where it is now; whether there is one.
pub fn give_up(app: &App) -> bool {
    let drags = app.plot.drag.get().is_some();
    if drags {
        end_drag(app);
    }
    drags
}

/// Whether a paste now comes from the middle button and not from the person.
pub fn is_middle_paste(app: &App) -> bool {
    let at = app.plot.middle_at.get();
    at > 0.0 && app.dom.now() - at < MIDDLE_PASTE_MS
}

fn leave(app: &App) {
    app.plot.at.set(None);
    hide_hover(app);
}

fn double_click(app: &App, event: &MouseEvent) {
    if is_elsewhere(event) {
        return;
    }
    trace::forget_pick(app);
    let before = app.plot.before_click.take();
    app.change(Gesture::Step, |view| {
        view.viewport = None;
        if let Some((trace, pane)) = before {
            (view.trace, view.pane) = (trace, pane);
        }
    });
}

fn click(app: &App, event: &MouseEvent) {
    // The second click of two is no pick: it is half of a double-click.
    if !app.plot.clicks.take() || event.detail() > 1 {
        return;
    }
    let (at, size) = place(app, event);
    let Some(point) = point_at(app, at, size) else {
        return;
    };
    let before = {
        let view = &app.state().view;
        (view.trace.clone(), view.pane)
    };
    app.plot.before_click.replace(Some(before));
    if let Some(id) = app.report(app.client.send(&Request::Pick(point))) {
        trace::await_pick(app, id);
    }
}

/// A question about a place of the last picture.
fn point_at(app: &App, at: [f64; 2], size: [f64; 2]) -> Option<PointRequest> {
    let state = app.state();
    let scene = state.scene.as_ref()?;
    let inside = (-REACH_PX..=size[0] + REACH_PX).contains(&at[0])
        && (-REACH_PX..=size[1] + REACH_PX).contains(&at[1]);
    let scale = f64::from(scene.plot[0]) / size[0];
    inside.then(|| PointRequest {
        viewport: scene.viewport,
        plot: scene.plot,
        at: at.map(|css| css * scale),
        reach: REACH_PX * scale,
        hidden: state.view.hidden.clone(),
        color_by: state.view.color_by,
    })
}

fn ask_what_is_here(app: &App, event: &PointerEvent, at: [f64; 2], size: [f64; 2]) {
    let point = (!is_elsewhere(event) && app.limits().is_some()).then(|| point_at(app, at, size));
    match point.flatten() {
        Some(point) => {
            app.report(app.client.hover(point));
        }
        None => hide_hover(app),
    }
}

/// The engine's answer.
pub fn hovered(app: &App, label: Option<SpanLabel>) {
    let at = app.plot.at.get().filter(|_| app.plot.drag.get().is_none());
    let (Some(label), Some(at)) = (label, at) else {
        return hide_hover(app);
    };
    let same = app.plot.hovered.borrow().as_ref() == Some(&label);
    if !same {
        fill_tip(app, "tip", &label);
        app.plot.hovered.replace(Some(label));
        place_hover(app);
    }
    place_tip(app, at);
}

/// Nothing is pointed at any more.
pub fn hide_hover(app: &App) {
    app.plot.hovered.replace(None);
    app.dom.show("tip", false);
    app.dom.show("hovered", false);
}

/// Frames a span and names it, as a pointer does that is over it, and tells those who do not see it.
pub fn point_out(app: &App, label: SpanLabel) {
    let Some(view) = app.viewport() else { return };
    fill_tip(app, "tip", &label);
    fill_tip(app, "span-says", &label);
    app.plot.at.set(None);
    app.plot.hovered.replace(Some(label));
    place_hover(app);
    place_pointed(app, view);
}

/// The tooltip of a span that the keys point out stands beside it, and goes with it out of view.
fn place_pointed(app: &App, view: Viewport) {
    let hovered = app.plot.hovered.borrow();
    let Some(label) = hovered.as_ref().filter(|_| app.plot.at.get().is_none()) else {
        return;
    };
    let (_, size) = rect(app);
    let row = i64::from(label.rank) * MILLI + MILLI / 2;
    let (x, y) = (viewport::x_of(view, label.start), viewport::y_of(view, row));
    let in_view = |it: f64| (0.0..=1.0).contains(&it);
    match in_view(x) && in_view(y) {
        true => place_tip(app, [x * size[0], y * size[1]]),
        false => app.dom.show("tip", false),
    }
}

fn fill_tip(app: &App, id: &str, label: &SpanLabel) {
    let dom = &app.dom;
    let tip = dom.html(id);
    dom::clear(&tip);
    let line = |class: &str, text: &str| dom.new_element("div", class, text);
    let first = line("", "");
    dom::fill(
        &first,
        &[
            &dom.new_element("b", "", &label.service),
            &text(app, &format!(" {}", label.operation)),
        ],
    );
    let second = line("", "");
    let (says, class) = trace::outcome(label);
    let after = label.duration.map_or_else(
        || "after an unknown time".to_owned(),
        |ns| format!("after {}", format::duration(ns)),
    );
    dom::fill(
        &second,
        &[
            &text(app, &format!("{} span · ", label.kind)),
            &dom.new_element("b", class, says),
            &text(app, &format!(" {after}")),
        ],
    );
    dom::fill(&tip, &[&first, &second]);
    for more in trace::more(label) {
        dom::fill(&tip, &[&line("quiet", &more)]);
    }
}

fn text(app: &App, text: &str) -> web_sys::Text {
    app.dom.document.create_text_node(text)
}

/// Puts the tooltip beside the pointer, on the side where there is room.
fn place_tip(app: &App, at: [f64; 2]) {
    let tip = app.dom.html("tip");
    tip.set_hidden(false);
    let (over, plot) = (app.dom.html("plot-over"), app.dom.html("plot"));
    let at = [
        at[0] + f64::from(over.offset_left()),
        at[1] + f64::from(over.offset_top()),
    ];
    let (tip_size, room) = (size_of(&tip), size_of(&plot));
    let beside = |at: f64, tip: f64, room: f64| {
        let after = at + 16.0;
        let place = if after + tip <= room - 4.0 {
            after
        } else {
            at - 16.0 - tip
        };
        place.max(4.0)
    };
    dom::style(&tip, "left", &dom::px(beside(at[0], tip_size[0], room[0])));
    dom::style(&tip, "top", &dom::px(beside(at[1], tip_size[1], room[1])));
}

fn size_of(element: &HtmlElement) -> [f64; 2] {
    [
        element.offset_width().into(),
        element.offset_height().into(),
    ]
}

/// Frames the hovered span.
fn place_hover(app: &App) {
    let hovered = app.plot.hovered.borrow();
    let state = app.state();
    let (Some(label), Some(scene)) = (hovered.as_ref(), state.scene.as_ref()) else {
        return;
    };
    let view = scene.viewport;
    let end = label
        .start
        .saturating_add_unsigned(label.duration.unwrap_or(0));
    let rank = i64::from(label.rank) * MILLI;
    let (left, right) = (viewport::x_of(view, label.start), viewport::x_of(view, end));
    let (top, bottom) = (
        viewport::y_of(view, rank),
        viewport::y_of(view, rank + MILLI),
    );
    let mark = app.dom.html("hovered");
    for (property, share) in [
        ("left", left),
        ("top", top),
        ("width", right - left),
        ("height", bottom - top),
    ] {
        dom::style(&mark, property, &dom::percent(share.clamp(-1.0, 2.0)));
    }
    mark.set_hidden(false);
}

fn show_selection(app: &App, from: [f64; 2], to: [f64; 2], size: [f64; 2]) {
    let selection = app.dom.html("selection");
    let (from, to) = (share(from, size), share(to, size));
    for (axis, start, extent) in [(0, "left", "width"), (1, "top", "height")] {
        let (low, high) = (from[axis].min(to[axis]), from[axis].max(to[axis]));
        dom::style(&selection, start, &dom::percent(low));
        dom::style(&selection, extent, &dom::percent(high - low));
    }
    selection.set_hidden(false);
}

/// After a picture: what lies over it, in its place.
pub fn render(app: &App, scene: &Scene) {
    let mark = app.dom.html("marked");
    let at = scene.marked.and_then(|rank| {
        let y = |part: i64| viewport::y_of(scene.viewport, i64::from(rank) * MILLI + part);
        // A row that is cut off by an edge is in view, too.
        (y(0) <= 1.0 && y(MILLI) >= 0.0).then(|| y(MILLI / 2).clamp(0.0, 1.0))
    });
    if let Some(at) = at {
        dom::style(&mark, "top", &dom::percent(at));
    }
    mark.set_hidden(at.is_none());
    place_hover(app);
    place_pointed(app, scene.viewport);
}
