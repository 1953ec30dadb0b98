//! Hands: every key of the table of commands, the menu and the help, fingers, the wheel; and Back after each.
//!
//! Keys are pressed as a keyboard does it, by their place and what they write there. What they should come to is
//! computed with the library's own arithmetic.

use herdscope::commands::{COMMANDS, Command};
use herdscope::messages::{SpanLabel, TraceDetail};
use herdscope::view::{MILLI, Pane, View, Viewport};
use herdscope::viewport::{self, Axes};
use herdscope_browser_tests::{Failure, Held, Page, Point, Result, Truth, is_near, suite};
use serde_json::{Value, json};

suite!(
    every_command_has_its_key_and_back_undoes_it,
    the_ends_of_the_window_move_by_the_same_keys,
    places_are_places_on_every_layout,
    fields_dialogs_and_the_browser_keep_their_keys,
    dialogs_hold_the_focus_and_give_it_back,
    the_menu_runs_commands,
    escape_closes_what_is_innermost,
    neighbouring_traces_come_into_view,
    keys_go_from_span_to_span_and_say_so,
    two_fingers_zoom_about_what_is_between_them,
    one_finger_moves_and_a_long_press_names_the_span,
    the_wheel_zooms_or_moves,
);

// ---- Hands

/// A key of the table as keyboards tell it: its place, what it writes, whether Shift is down.
fn strike(page: &Page, key: &str) -> Result<()> {
    let (name, shift) = match key.strip_prefix("Shift+") {
        Some(name) => (name, true),
        None => (key, false),
    };
    let digit = name.len() == 1 && name.as_bytes()[0].is_ascii_digit();
    let (code, writes) = match name.strip_prefix("Key") {
        Some(letter) => (name.to_owned(), letter.to_ascii_lowercase()),
        None if digit => (format!("Digit{name}"), name.to_owned()),
        None if name.len() == 1 => (String::new(), name.to_owned()),
        None => (name.to_owned(), name.to_owned()),
    };
    let held = if shift { Held::SHIFT } else { Held::NOTHING };
    page.strike(&code, &writes, held)
}

// ---- Places

/// A trace in the middle of the sample.
fn a_trace(truth: &Truth) -> Result<TraceDetail> {
    let ranks = truth.summary.limits.y1 / MILLI;
    truth
        .trace_of_rank(ranks / 2)
        .ok_or_else(|| Failure::new("the sample has no trace in its middle"))
}

/// Some of the sample around that trace, well within the limits.
fn around(detail: &TraceDetail) -> Viewport {
    let rank = i64::from(detail.rank) * MILLI;
    Viewport {
        t0: detail.start - 20_000_000_000,
        t1: detail.start + 30_000_000_000,
        y0: rank - 60 * MILLI,
        y1: rank + 40 * MILLI,
    }
}

/// Shows the surroundings of a trace, which is picked or not.
fn show_around(page: &Page, detail: &TraceDetail, picked: bool) -> Result<View> {
    show_at(page, around(detail), detail, picked)
}

/// Shows a part of the sample, without the hint that lies over it.
fn show_at(page: &Page, at: Viewport, detail: &TraceDetail, picked: bool) -> Result<View> {
    let view = View {
        viewport: Some(at),
        trace: picked.then(|| detail.trace_id.clone()),
        ..View::default()
    };
    page.show(&format!("/#{}&src=sample:incident", view.to_hash()))?;
    page.must_be_silent()?;
    page.run("document.getElementById('hint-close').click()", Vec::new())?;
    if picked {
        let here = format!(
            "document.getElementById('trace-id').textContent == '{}'",
            detail.trace_id
        );
        page.wait_for(&here)?;
    }
    page.view()
}

fn is_open(page: &Page, dialog: &str) -> Result<bool> {
    Ok(page.value(&format!("document.getElementById('{dialog}').open"))? == Value::Bool(true))
}

fn focus(page: &Page, selector: &str) -> Result<()> {
    let focus = "document.querySelector(arguments[0]).focus()";
    page.run(focus, vec![selector.into()]).map(|_| ())
}

// ---- Tests

fn every_command_has_its_key_and_back_undoes_it(page: &mut Page) -> Result<()> {
    const STEP: f64 = 0.1;
    const ZOOM: f64 = 0.8;
    let truth = Truth::of_sample()?;
    let limits = truth.summary.limits;
    let detail = a_trace(truth)?;
    for line in &COMMANDS {
        for key in line.keys.split(' ') {
            // There are attempts after the beginning and before the end.
            let around = around(&detail);
            let width = around.t1 - around.t0;
            let at = match line.command {
                Command::NextAttempt => {
                    viewport::with_time(around, limits.t0, limits.t0 + width, limits)
                }
                Command::PreviousAttempt => {
                    viewport::with_time(around, limits.t1 - width, limits.t1, limits)
                }
                _ => around,
            };
            let before = show_at(page, at, &detail, true)?;
            strike(page, key)?;
            let to = |there: Viewport| page.wait_for_viewport(key, there);
            let zoomed = |by| viewport::zoom(at, [0.5, 0.5], by, Axes::Both, limits);
            let trace = |rank: i64| {
                let expected = truth.trace_of_rank(rank).map(|it| it.trace_id);
                page.wait_for_view(key, |it| it.trace == expected)
                    .map(|_| ())
            };
            let opens = |dialog: &str| page.wait_for(&format!("{dialog}.open"));
            let rank = i64::from(detail.rank);
            match line.command {
                Command::Left => to(viewport::pan(at, [-STEP, 0.0], limits))?,
                Command::Right => to(viewport::pan(at, [STEP, 0.0], limits))?,
                Command::Up => to(viewport::pan(at, [0.0, -STEP], limits))?,
                Command::Down => to(viewport::pan(at, [0.0, STEP], limits))?,
                Command::Closer => to(zoomed(ZOOM))?,
                Command::Further => to(zoomed(1.0 / ZOOM))?,
                Command::Everything => {
                    page.wait_for_view(key, |it| it.viewport.is_none())?;
                }
                Command::Fit => {
                    let long = detail.end - detail.start;
                    page.wait_for_view(key, |it| {
                        it.viewport.is_some_and(|it| {
                            it.t0 < detail.start && it.t1 > detail.end && it.t1 - it.t0 < 2 * long
                        })
                    })?;
                }
                Command::NextAttempt => {
                    page.wait_for_view(key, |it| it.viewport.is_some_and(|it| it.t0 > at.t0))?;
                }
                Command::PreviousAttempt => {
                    page.wait_for_view(key, |it| it.viewport.is_some_and(|it| it.t0 < at.t0))?;
                }
                Command::NextTrace => trace(rank + 1)?,
                Command::PreviousTrace => trace(rank - 1)?,
                // From where nothing is pointed at, either way is the first.
                Command::NextSpan | Command::PreviousSpan => {
                    page.wait_for("document.getElementById('span-says').textContent")?;
                    let first = page.text("#span-says")?;
                    let service = detail.spans[0].service.as_str();
                    assert!(first.starts_with(service), "{first}");
                }
                Command::Show(pane) => {
                    page.wait_for_view(key, |it| it.pane == pane)?;
                }
                Command::Filter => page.wait_for("document.activeElement.id == 'filter'")?,
                // There is no filter; `filter.rs` has one.
                Command::NextMatch | Command::PreviousMatch => {}
                Command::Menu => opens("document.getElementById('menu-dialog')")?,
                Command::Help => opens("document.getElementById('help-dialog')")?,
                Command::Export => opens("document.getElementById('export-dialog')")?,
                Command::Close => {
                    page.wait_for_view(key, |it| it.trace.is_none())?;
                }
            }
            page.wait_until_still()?;
            page.must_be_silent()?;
            let after = page.view()?;
            if after == before {
                continue;
            }
            page.back()?;
            page.wait_for_view(&format!("Back after {key}"), |it| *it == before)?;
            page.wait_until_still()?;
            page.forward()?;
            page.wait_for_view(&format!("Forward to {key}"), |it| *it == after)?;
        }
    }
    Ok(())
}

fn the_ends_of_the_window_move_by_the_same_keys(page: &mut Page) -> Result<()> {
    let truth = Truth::of_sample()?;
    let detail = a_trace(truth)?;
    for (end, key, left, right) in [
        ("#window-left", "ArrowRight", 1, 0),
        ("#window-left", "KeyA", -1, 0),
        ("#window-right", "ArrowUp", 0, 1),
        ("#window-right", "KeyS", 0, -1),
        ("#window-hold", "ArrowLeft", -1, -1),
        ("#window-hold", "KeyD", 1, 1),
    ] {
        show_around(page, &detail, false)?;
        let at = around(&detail);
        focus(page, end)?;
        strike(page, key)?;
        let moved = |it: &View| it.viewport.filter(|it| (it.t0, it.t1) != (at.t0, at.t1));
        let view = page.wait_for_view(key, |it| moved(it).is_some())?;
        let there = moved(&view).unwrap_or(at);
        assert_eq!((there.t0 - at.t0).signum(), left, "{end} {key}: {there:?}");
        assert_eq!((there.t1 - at.t1).signum(), right, "{end} {key}: {there:?}");
    }
    Ok(())
}

fn places_are_places_on_every_layout(page: &mut Page) -> Result<()> {
    let truth = Truth::of_sample()?;
    let limits = truth.summary.limits;
    let detail = a_trace(truth)?;
    // What the keys left of the home row write in France, and with the alphabet of Dvorak.
    for (code, writes, by) in [
        ("KeyW", "z", [0.0, -0.1]),
        ("KeyA", "q", [-0.1, 0.0]),
        ("KeyW", ",", [0.0, -0.1]),
        ("KeyD", "e", [0.1, 0.0]),
    ] {
        show_around(page, &detail, false)?;
        page.strike(code, writes, Held::NOTHING)?;
        let there = viewport::pan(around(&detail), by, limits);
        page.wait_for_viewport(writes, there)?;
    }
    Ok(())
}

fn fields_dialogs_and_the_browser_keep_their_keys(page: &mut Page) -> Result<()> {
    let detail = a_trace(Truth::of_sample()?)?;
    let before = show_around(page, &detail, true)?;
    let nothing = |page: &Page, what: &str| -> Result<()> {
        page.wait_until_still()?;
        assert_eq!(page.view()?, before, "{what}");
        for dialog in ["menu-dialog", "help-dialog"] {
            assert!(!is_open(page, dialog)?, "{what}: {dialog}");
        }
        Ok(())
    };
    let keys = || COMMANDS.iter().flat_map(|it| it.keys.split(' '));
    let add = "for (const tag of ['input', 'textarea', 'p']) { const it = document.createElement(tag); \
               it.className = 'mine ' + tag; if (tag == 'p') { it.contentEditable = 'true'; it.tabIndex = 0 } \
               document.body.append(it) }";
    page.run(add, Vec::new())?;
    for field in [".mine.input", ".mine.textarea", ".mine.p"] {
        focus(page, field)?;
        for key in keys() {
            strike(page, key)?;
        }
        nothing(page, field)?;
    }
    page.run("document.activeElement.blur()", Vec::new())?;
    for held in [Held::CTRL, Held::ALT, Held::META] {
        for key in keys() {
            let code = if key.starts_with("Key") { key } else { "" };
            page.strike(code, key, held)?;
        }
        nothing(page, "with a modifier")?;
    }
    Ok(())
}

fn dialogs_hold_the_focus_and_give_it_back(page: &mut Page) -> Result<()> {
    let detail = a_trace(Truth::of_sample()?)?;
    let before = show_around(page, &detail, true)?;
    for (key, dialog) in [("?", "help-dialog"), ("k", "menu-dialog")] {
        focus(page, "#copy")?;
        strike(page, key)?;
        page.wait_for(&format!("document.getElementById('{dialog}').open"))?;
        // It begins at its beginning.
        let scrolled = format!("document.getElementById('{dialog}').scrollTop");
        assert_eq!(page.number(&scrolled)?, 0.0, "{dialog}");
        for _ in 0..COMMANDS.len() + 8 {
            page.press("Tab")?;
            let within = format!(
                "document.activeElement == document.body || \
                 document.getElementById('{dialog}').contains(document.activeElement)"
            );
            assert_eq!(page.value(&within)?, Value::Bool(true), "{dialog}");
        }
        // The plot below is out of reach.
        for key in ["KeyD", "0", "n", "6"] {
            strike(page, key)?;
        }
        page.press("Escape")?;
        page.wait_for(&format!("!document.getElementById('{dialog}').open"))?;
        assert_eq!(page.string("document.activeElement.id")?, "copy");
        page.wait_until_still()?;
        assert_eq!(page.view()?, before, "{dialog}");
    }
    Ok(())
}

fn the_menu_runs_commands(page: &mut Page) -> Result<()> {
    let truth = Truth::of_sample()?;
    let detail = a_trace(truth)?;
    show_around(page, &detail, false)?;
    let listed = page.value(
        "[...document.querySelectorAll('#menu-list button')].map((it) => it.firstChild.textContent)",
    )?;
    let listed: Vec<String> = serde_json::from_value(listed).map_err(|it| it.to_string())?;
    let expected: Vec<&str> = COMMANDS
        .iter()
        .filter(|it| it.command != Command::Menu)
        .filter(|it| it.command != Command::Filter || listed.iter().any(|of| of == it.title))
        .map(|it| it.title)
        .collect();
    assert_eq!(listed, expected);

    focus(page, "#copy")?;
    strike(page, "k")?;
    page.wait_for("document.getElementById('menu-dialog').open")?;
    // The first has the focus.
    page.press("Enter")?;
    let there = viewport::pan(around(&detail), [-0.1, 0.0], truth.summary.limits);
    page.wait_for_viewport("one to the left", there)?;
    assert!(!is_open(page, "menu-dialog")?);
    assert_eq!(page.string("document.activeElement.id")?, "copy");

    page.click("#menu")?;
    page.wait_for("document.getElementById('menu-dialog').open")?;
    page.run(
        "[...document.querySelectorAll('#menu-list button')].find((it) => it.textContent.startsWith('Compare')).click()",
        Vec::new(),
    )?;
    page.wait_for_view("a pane", |it| it.pane == Pane::Compare)?;
    page.click("#menu")?;
    page.wait_for("document.getElementById('menu-dialog').open")?;
    page.run(
        "[...document.querySelectorAll('#menu-list button')].find((it) => it.textContent.startsWith('Help')).click()",
        Vec::new(),
    )?;
    page.wait_for("document.getElementById('help-dialog').open")?;
    assert!(!is_open(page, "menu-dialog")?);
    page.press("Escape")?;
    page.wait_for("!document.getElementById('help-dialog').open")?;
    assert_eq!(page.string("document.activeElement.id")?, "menu");
    Ok(())
}

fn escape_closes_what_is_innermost(page: &mut Page) -> Result<()> {
    let detail = a_trace(Truth::of_sample()?)?;
    let before = show_around(page, &detail, true)?;
    page.run("document.getElementById('files').open = true", Vec::new())?;
    page.press("Escape")?;
    page.wait_for("!document.getElementById('files').open")?;
    assert_eq!(page.view()?, before);
    assert_eq!(page.string("document.activeElement.id")?, "files-count");
    page.press("Escape")?;
    page.wait_for_view("no trace", |it| it.trace.is_none())
        .map(|_| ())
}

fn neighbouring_traces_come_into_view(page: &mut Page) -> Result<()> {
    let truth = Truth::of_sample()?;
    let limits = truth.summary.limits;
    let detail = a_trace(truth)?;
    // None is picked: the first in view, or the last.
    let at = around(&detail);
    for (key, rank) in [(".", at.y0 / MILLI), (",", at.y1 / MILLI - 1)] {
        show_around(page, &detail, false)?;
        strike(page, key)?;
        let expected = truth.trace_of_rank(rank).map(|it| it.trace_id);
        let view = page.wait_for_view(key, |it| it.trace == expected)?;
        assert_eq!(view.pane, Pane::Trace);
    }
    // One beside the view: the plot follows.
    let rank = i64::from(detail.rank);
    let beside = Viewport {
        y0: (rank - 10) * MILLI,
        y1: (rank + 1) * MILLI,
        ..at
    };
    let view = View {
        viewport: Some(beside),
        trace: Some(detail.trace_id.clone()),
        ..View::default()
    };
    page.show(&format!("/#{}&src=sample:incident", view.to_hash()))?;
    page.wait_for("!document.getElementById('trace-some').hidden")?;
    strike(page, ".")?;
    let next = truth
        .trace_of_rank(rank + 1)
        .ok_or("there is no trace below")?;
    let there = viewport::reveal(beside, next.start, (rank + 1) * MILLI, limits);
    assert_ne!(there, beside);
    page.wait_for_viewport("the trace below", there)?;
    assert!(page.is_shown("#marked")?);
    Ok(())
}

fn keys_go_from_span_to_span_and_say_so(page: &mut Page) -> Result<()> {
    let truth = Truth::of_sample()?;
    let detail = a_trace(truth)?;
    show_around(page, &detail, true)?;
    let last = detail.spans.len() - 1;
    let ways = (0..=last).map(|at| (at, "Shift+ArrowRight"));
    let ends = [(last, "Shift+ArrowRight")];
    let back = (0..last).rev().map(|at| (at, "Shift+ArrowLeft"));
    for (at, key) in ways.chain(ends).chain(back) {
        strike(page, key)?;
        let label = &detail.spans[at];
        let name = json!([&label.service, " ", &label.operation].concat()).to_string();
        let says = |id: &str| {
            page.wait_for(&format!(
                "document.querySelector('#{id} > div')?.textContent == {name}"
            ))
        };
        says("span-says")?;
        says("tip")?;
        assert!(page.is_shown("#tip")? && page.is_shown("#hovered")?);
        let mark = page.rect("#hovered")?;
        let plot = page.plot()?;
        let x = plot.x + plot.width * viewport::x_of(around(&detail), label.start);
        assert!((mark.x - x).abs() < 3.0, "{mark:?}, the span is at {x}");
    }
    // The next trace begins with its first span.
    strike(page, "Shift+ArrowDown")?;
    let next = truth.trace_of_rank(i64::from(detail.rank) + 1);
    page.wait_for_view("the trace below", |it| {
        it.trace == next.as_ref().map(|it| it.trace_id.clone())
    })?;
    Ok(())
}

fn two_fingers_zoom_about_what_is_between_them(page: &mut Page) -> Result<()> {
    let truth = Truth::of_sample()?;
    let limits = truth.summary.limits;
    let detail = a_trace(truth)?;
    for (from, to) in [
        // Apart, together, and apart while they move.
        ([[0.4, 0.5], [0.6, 0.5]], [[0.3, 0.5], [0.7, 0.5]]),
        ([[0.3, 0.3], [0.7, 0.6]], [[0.4, 0.4], [0.6, 0.5]]),
        ([[0.4, 0.4], [0.5, 0.6]], [[0.4, 0.3], [0.7, 0.7]]),
    ] {
        let before = show_around(page, &detail, false)?;
        let plot = page.plot()?;
        let points = |at: [[f64; 2]; 2]| at.map(|[x, y]| plot.pixel(x, y));
        let (from, to) = (points(from), points(to));
        let apart = |[a, b]: [Point; 2]| (a.x - b.x).hypot(a.y - b.y);
        let middle = |[a, b]: [Point; 2]| {
            plot.fractions(Point {
                x: (a.x + b.x) / 2.0,
                y: (a.y + b.y) / 2.0,
            })
        };
        page.finger_down(&from[..1])?;
        page.finger_down(&from)?;
        let half = [0, 1].map(|at| Point {
            x: (from[at].x + to[at].x) / 2.0,
            y: (from[at].y + to[at].y) / 2.0,
        });
        page.fingers_move(&half)?;
        page.fingers_move(&to)?;
        let factor = apart(from) / apart(to);
        let there = viewport::pinch(around(&detail), middle(from), middle(to), factor, limits);
        page.wait_for_viewport("a pinch", there)?;
        page.fingers_up(&to)?;
        page.wait_until_still()?;
        assert!(page.view()?.viewport.is_some_and(|it| is_near(it, there)));
        assert_eq!(page.view()?.trace, None, "a pinch picks nothing");
        // And the way back, from where the fingers were.
        let pinched = page.view()?;
        page.finger_down(&to[..1])?;
        page.finger_down(&to)?;
        page.fingers_move(&half)?;
        page.fingers_move(&from)?;
        let again = viewport::pinch(there, middle(to), middle(from), 1.0 / factor, limits);
        page.wait_for_viewport("a pinch back", again)?;
        page.fingers_up(&from)?;
        page.wait_until_still()?;
        // One pinch is one entry.
        page.back()?;
        page.wait_for_view("the first pinch", |it| *it == pinched)?;
        page.back()?;
        page.wait_for_view("what was before", |it| *it == before)?;
        page.new_tab()?;
    }
    Ok(())
}

fn one_finger_moves_and_a_long_press_names_the_span(page: &mut Page) -> Result<()> {
    let truth = Truth::of_sample()?;
    let limits = truth.summary.limits;
    let detail = a_trace(truth)?;
    show_around(page, &detail, false)?;
    let plot = page.plot()?;
    let (from, to) = (plot.pixel(0.6, 0.5), plot.pixel(0.4, 0.6));
    page.finger_down(&[from])?;
    page.fingers_move(&[plot.pixel(0.5, 0.55)])?;
    page.fingers_move(&[to])?;
    page.fingers_up(&[to])?;
    let by = [(from.x - to.x) / plot.width, (from.y - to.y) / plot.height];
    page.wait_for_viewport("a move", viewport::pan(around(&detail), by, limits))?;

    // In the middle of the first span of the trace, near enough for it to be told apart.
    let shown = Viewport {
        t0: detail.start - 1_000_000_000,
        t1: detail.end + 1_000_000_000,
        y0: i64::from(detail.rank) * MILLI - 5 * MILLI,
        y1: i64::from(detail.rank) * MILLI + 6 * MILLI,
    };
    show_at(page, shown, &detail, false)?;
    let middle = detail.start + (detail.end - detail.start) / 2;
    let rank = i64::from(detail.rank) * MILLI + MILLI / 2;
    let at = page
        .plot()?
        .pixel(viewport::x_of(shown, middle), viewport::y_of(shown, rank));
    // A finger that comes and goes picks.
    page.finger_down(&[at])?;
    page.fingers_up(&[at])?;
    page.wait_for_view("the trace", |it| {
        it.trace.as_ref() == Some(&detail.trace_id)
    })?;
    // One that stays does not.
    page.new_tab()?;
    show_at(page, shown, &detail, false)?;
    page.finger_down(&[at])?;
    page.wait_for("!document.getElementById('tip').hidden")?;
    let tip = page.text("#tip")?;
    let named = |it: &SpanLabel| tip.starts_with(&[&it.service, " ", &it.operation].concat());
    assert!(detail.spans.iter().any(named), "{tip}");
    page.fingers_up(&[at])?;
    page.wait_until_still()?;
    let after = page.view()?;
    assert_eq!((after.trace, after.viewport), (None, Some(shown)));
    Ok(())
}

fn the_wheel_zooms_or_moves(page: &mut Page) -> Result<()> {
    let truth = Truth::of_sample()?;
    let limits = truth.summary.limits;
    let detail = a_trace(truth)?;
    let at = around(&detail);
    let width = |it: Viewport| it.t1 - it.t0;
    for mode in ["zoom", "pan", "zoom"] {
        show_around(page, &detail, false)?;
        page.set("#wheel", mode)?;
        // It is remembered.
        page.new_tab()?;
        show_around(page, &detail, false)?;
        assert_eq!(page.string("document.getElementById('wheel').value")?, mode);
        let plot = page.plot()?;
        let cursor = plot.pixel(0.25, 0.5);
        page.wheel(cursor, 30.0, 60.0, Held::NOTHING)?;
        if mode == "pan" {
            let by = [30.0 / plot.width, 60.0 / plot.height];
            page.wait_for_viewport("a move", viewport::pan(at, by, limits))?;
        } else {
            page.wait_for_view("a zoom", |it| {
                it.viewport.is_some_and(|it| width(it) > width(at))
            })?;
        }
        // A pinch on a trackpad zooms in either.
        show_around(page, &detail, false)?;
        page.wheel(cursor, 0.0, -10.0, Held::CTRL)?;
        let view = page.wait_for_view("a pinch", |it| {
            it.viewport.is_some_and(|it| width(it) < width(at))
        })?;
        let there = view.viewport.unwrap_or(at);
        let x = plot.fractions(cursor)[0];
        let moved = viewport::time_at(there, x) - viewport::time_at(at, x);
        assert!(
            moved.abs() <= 2,
            "the time at the cursor moved by {moved} ns"
        );
        // Sideways is a move in either.
        show_around(page, &detail, false)?;
        page.wheel(cursor, 50.0, 0.0, Held::NOTHING)?;
        let by = [50.0 / plot.width, 0.0];
        page.wait_for_viewport("sideways", viewport::pan(at, by, limits))?;
    }
    Ok(())
}
