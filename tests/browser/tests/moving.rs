//! Moving about: wheel, drags, keys, the strip above the plot, the legend; and Back and Forward.
//!
//! What a gesture should come to is computed with the library's own arithmetic, from the places where the mouse
//! was.

use std::ops::Range;

use herdscope::view::{MILLI, View, Viewport};
use herdscope::viewport::{self, Axes};
use herdscope_browser_tests::{Button, Held, Page, Picture, Result, Truth, is_near, suite};

suite!(
    the_wheel_zooms_at_the_cursor,
    a_drag_selects_an_area,
    shift_drag_and_middle_drag_move,
    double_click_and_0_show_everything,
    keys_move_and_zoom,
    keys_are_left_to_fields,
    the_window_of_the_overview_is_dragged_and_resized,
    legend_entries_hide_and_show,
    back_undoes_and_forward_redoes,
);

/// A part of the sample in which the breaker closes for good.
fn somewhere() -> Result<Viewport> {
    let home = Truth::of_sample()?.summary.home;
    let (time, ranks) = (home.t1 - home.t0, home.y1 - home.y0);
    Ok(Viewport {
        t0: home.t0 + time * 6 / 10,
        t1: home.t0 + time * 8 / 10,
        y0: ranks / 10,
        y1: ranks * 4 / 10,
    })
}

fn address_of(viewport: Viewport) -> String {
    let view = View {
        viewport: Some(viewport),
        ..View::default()
    };
    // Without a source, a link's part of the plot is not used.
    format!("/#{}&src=sample:incident", view.to_hash())
}

fn show_somewhere(page: &Page) -> Result<Viewport> {
    let there = somewhere()?;
    page.show(&address_of(there))?;
    page.must_be_silent()?;
    assert_eq!(page.view()?.viewport, Some(there));
    Ok(there)
}

fn the_wheel_zooms_at_the_cursor(page: &mut Page) -> Result<()> {
    let limits = Truth::of_sample()?.summary.limits;
    let plot_at = |page: &Page| page.plot();
    for (across, down, dy, held, axes) in [
        (0.3, 0.6, -240.0, Held::NOTHING, Axes::Both),
        (0.8, 0.2, 120.0, Held::NOTHING, Axes::Both),
        (0.5, 0.9, -120.0, Held::SHIFT, Axes::Time),
        (0.1, 0.5, -120.0, Held::ALT, Axes::Traces),
    ] {
        let before = show_somewhere(page)?;
        let plot = plot_at(page)?;
        let cursor = plot.pixel(across, down);
        page.wheel(cursor, 0.0, dy, held)?;
        let after = page
            .wait_for_view("a zoom", |view| view.viewport != Some(before))?
            .viewport
            .ok_or("the zoom shows everything")?;

        let [x, y] = plot.fractions(cursor);
        let time = viewport::time_at(after, x) - viewport::time_at(before, x);
        let rank = viewport::rank_at(after, y) - viewport::rank_at(before, y);
        assert!(
            time.abs() <= 2 && rank.abs() <= 2,
            "under the cursor, {time} ns and {rank} thousandths of a rank have moved by"
        );
        let factor = |before: i64, after: i64| after as f64 / before as f64;
        let by_time = factor(before.t1 - before.t0, after.t1 - after.t0);
        let by_rank = factor(before.y1 - before.y0, after.y1 - after.y0);
        for (by, zooms) in [
            (by_time, axes != Axes::Traces),
            (by_rank, axes != Axes::Time),
        ] {
            match zooms {
                true => assert_eq!(by < 1.0, dy < 0.0, "{axes:?} by {by}"),
                false => assert_eq!(by, 1.0, "{axes:?}"),
            }
        }
        assert_eq!(viewport::clamp(after, limits), after);
        page.wait_until_still()?;
    }
    Ok(())
}

fn a_drag_selects_an_area(page: &mut Page) -> Result<()> {
    let limits = Truth::of_sample()?.summary.limits;
    let before = show_somewhere(page)?;
    let plot = page.plot()?;
    let picture = page.picture()?;
    for (from, to) in [((0.25, 0.3), (0.7, 0.6)), ((0.7, 0.3), (0.25, 0.6))] {
        let (from, to) = (plot.pixel(from.0, from.1), plot.pixel(to.0, to.1));
        page.drag(from, to, Button::Left, Held::NOTHING)?;
        let corners = (plot.fractions(from), plot.fractions(to));
        let selected = viewport::select(before, corners.0, corners.1, limits);
        page.wait_for_viewport("the area", selected)?;
        assert!(!page.is_shown("#selection")?);
        page.back()?;
        page.wait_for_viewport("what was before", before)?;
        page.picture()?.must_be(&picture, "after Back")?;
    }
    Ok(())
}

fn shift_drag_and_middle_drag_move(page: &mut Page) -> Result<()> {
    let limits = Truth::of_sample()?.summary.limits;
    for (button, held) in [(Button::Left, Held::SHIFT), (Button::Middle, Held::NOTHING)] {
        let before = show_somewhere(page)?;
        let plot = page.plot()?;
        let (from, to) = (plot.pixel(0.6, 0.5), plot.pixel(0.35, 0.6));
        page.drag(from, to, button, held)?;
        let by = [(from.x - to.x) / plot.width, (from.y - to.y) / plot.height];
        page.wait_for_viewport("the place", viewport::pan(before, by, limits))?;
        page.must_be_silent()?;
        // One drag is one entry.
        page.back()?;
        page.wait_for_viewport("what was before", before)?;
    }
    Ok(())
}

fn double_click_and_0_show_everything(page: &mut Page) -> Result<()> {
    page.show("/")?;
    let everything = page.picture()?;
    type Way = fn(&Page) -> Result<()>;
    let ways: [Way; 2] = [
        |page| page.double_click(page.plot()?.pixel(0.5, 0.4)),
        |page| page.press("0"),
    ];
    for home in ways {
        page.wheel(page.plot()?.pixel(0.75, 0.4), 0.0, -300.0, Held::NOTHING)?;
        page.wait_for_view("a zoom", |view| view.viewport.is_some())?;
        page.wait_until_still()?;
        home(page)?;
        let view = page.wait_for_view("everything", |view| view.viewport.is_none())?;
        assert_eq!(view.trace, None);
        // The mouse that zoomed leaves no mark on the plot.
        page.picture()?.must_be(&everything, "at home again")?;
    }
    Ok(())
}

fn keys_move_and_zoom(page: &mut Page) -> Result<()> {
    const STEP: f64 = 0.1;
    let limits = Truth::of_sample()?.summary.limits;
    let mut at = show_somewhere(page)?;
    for (keys, by) in [
        (["d", "ArrowRight"], [STEP, 0.0]),
        (["a", "ArrowLeft"], [-STEP, 0.0]),
        (["s", "ArrowDown"], [0.0, STEP]),
        (["w", "ArrowUp"], [0.0, -STEP]),
    ] {
        for key in keys {
            page.press(key)?;
            at = viewport::pan(at, by, limits);
            page.wait_for_viewport(key, at)?;
        }
    }
    for (key, is_closer) in [("Plus", true), ("=", true), ("-", false), ("-", false)] {
        page.press(key)?;
        let closer = |view: &View| {
            view.viewport
                .is_some_and(|it| it != at && (it.t1 - it.t0 < at.t1 - at.t0) == is_closer)
        };
        let view = page.wait_for_view(key, closer)?;
        let after = view.viewport.unwrap_or(at);
        let middle = |it: Viewport| viewport::time_at(it, 0.5);
        assert!((middle(after) - middle(at)).abs() <= 2, "{key}");
        at = after;
        page.wait_until_still()?;
    }
    Ok(())
}

fn keys_are_left_to_fields(page: &mut Page) -> Result<()> {
    show_somewhere(page)?;
    page.click("#tab-breaker")?;
    page.wait_for("!document.getElementById('pane-breaker').hidden")?;
    for field in ["#breaker-text", "#setting-window", "#edge"] {
        let before = page.view()?;
        page.run(
            "document.querySelector(arguments[0]).focus()",
            vec![field.into()],
        )?;
        for key in ["d", "w", "ArrowLeft", "-"] {
            page.press(key)?;
        }
        // What these keys wrote is no setting, or moved nothing that the address holds.
        page.wait_until_still()?;
        assert_eq!(page.view()?.viewport, before.viewport, "{field}");
    }
    // Beside them, they work.
    page.run("document.activeElement.blur()", Vec::new())?;
    let before = page.view()?;
    page.press("d")?;
    page.wait_for_view("a move", |view| view.viewport != before.viewport)?;
    Ok(())
}

fn the_window_of_the_overview_is_dragged_and_resized(page: &mut Page) -> Result<()> {
    let truth = Truth::of_sample()?;
    let home = truth.summary.home;
    let width = home.t1 - home.t0;
    for (grip, moves_left, moves_right) in [
        ("#window-hold", true, true),
        ("#window-left", true, false),
        ("#window-right", false, true),
    ] {
        let before = show_somewhere(page)?;
        let (strip, grip_at) = (page.rect("#overview-canvas")?, page.rect(grip)?);
        let from = grip_at.pixel(0.5, 0.5);
        let to = herdscope_browser_tests::Point {
            x: from.x + 40.0,
            ..from
        };
        page.drag(from, to, Button::Left, Held::NOTHING)?;
        let by = (width as f64 * 40.0 / strip.width) as i64;
        let expected_t0 = before.t0 + if moves_left { by } else { 0 };
        let expected_t1 = before.t1 + if moves_right { by } else { 0 };
        // A pixel of the strip, for where exactly in the grip the mouse was.
        let slack = (width as f64 / strip.width) as u64;
        let there = page.wait_for_view(grip, |view| {
            view.viewport.is_some_and(|it| {
                it.t0.abs_diff(expected_t0) <= slack && it.t1.abs_diff(expected_t1) <= slack
            })
        })?;
        page.wait_until_still()?;
        let window = page.rect("#window")?;
        let shown = truth.viewport(&there);
        let left = strip.x + strip.width * (shown.t0 - home.t0) as f64 / width as f64;
        assert!(
            (window.x - left).abs() < 3.0,
            "{grip}: the window is at {}, its time at {left}",
            window.x
        );
        let begun = ranks_begun_in(truth, shown);
        let n = begun.end - begun.start;
        assert!(
            shown.y0 <= begun.start && begun.end <= shown.y1 && shown.y1 - shown.y0 < n + n / 5,
            "{grip}: the traces that begin in that time are {begun:?}, in view are {shown:?}"
        );
    }
    Ok(())
}

/// The ranks, in thousandths, of the traces that begin in a viewport's time.
fn ranks_begun_in(truth: &Truth, viewport: Viewport) -> Range<i64> {
    let ranks = truth.summary.limits.y1 / MILLI;
    let starts = (0..ranks).map(|rank| truth.trace_of_rank(rank).map_or(0, |it| it.start));
    let within: Vec<bool> = starts
        .map(|start| (viewport.t0..viewport.t1).contains(&start))
        .collect();
    let first = within.iter().position(|&it| it).unwrap_or_default() as i64;
    let n = within.iter().filter(|&&it| it).count() as i64;
    first * MILLI..(first + n) * MILLI
}

fn legend_entries_hide_and_show(page: &mut Page) -> Result<()> {
    page.show("/")?;
    let all = page.picture()?;
    let entries = page.value(
        "[...document.querySelectorAll('#legend button')].map((it) => \
         [it.dataset.key, it.style.getPropertyValue('--swatch').slice(4, -1)])",
    )?;
    let entries: Vec<(String, String)> =
        serde_json::from_value(entries).map_err(|error| error.to_string())?;
    assert!(entries.len() >= 4, "{entries:?}");
    for (key, property) in entries {
        let color = page.color(&property)?;
        let pixels = |picture: &Picture| -> Result<usize> {
            Ok(picture.spans()?.count(|it| is_tint_of(it, color)))
        };
        let button = format!("#legend [data-key='{key}']");
        page.click(&button)?;
        page.wait_for_view(&key, |view| view.hidden == [key.clone()])?;
        let without = page.picture()?;
        assert!(
            !without.differing(&all).is_empty(),
            "{key} hides nothing at all"
        );
        assert_eq!(pixels(&without)?, 0, "{key} is hidden, its pixels are not");
        assert_eq!(
            page.string(&format!(
                "document.querySelector(\"{button}\").getAttribute('aria-pressed')"
            ))?,
            "false"
        );
        page.click(&button)?;
        page.wait_for_view(&key, |view| view.hidden.is_empty())?;
        page.picture()?
            .must_be(&all, &format!("with {key} shown again"))?;
        if key == "timed_out" {
            assert!(pixels(&all)? > 20, "{key} has pixels when it is shown");
        }
    }
    Ok(())
}

/// A solid pixel of this colour, or nearly: pixels of half solid spans lose a digit.
fn is_tint_of(pixel: [u8; 4], color: [u8; 4]) -> bool {
    let parts = pixel[..3].iter().zip(&color[..3]);
    pixel[3] > 200 && parts.into_iter().all(|(a, b)| a.abs_diff(*b) <= 2)
}

fn back_undoes_and_forward_redoes(page: &mut Page) -> Result<()> {
    page.show("/")?;
    let plot = page.plot()?;
    type Step = Box<dyn Fn(&Page) -> Result<()>>;
    let (from, to) = (plot.pixel(0.6, 0.1), plot.pixel(0.9, 0.7));
    let steps: Vec<Step> = vec![
        Box::new(move |page| page.drag(from, to, Button::Left, Held::NOTHING)),
        Box::new(move |page| {
            // A burst is one entry, whose last address comes late.
            const TURNS: i32 = 5;
            let width = |view: &View| view.viewport.map_or(0.0, |it| (it.t1 - it.t0) as f64);
            let before = width(&page.view()?);
            page.wheel(from, 0.0, -60.0, Held::NOTHING)?;
            let by_one = width(&page.wait_for_view("a turn", |it| width(it) < before)?) / before;
            (1..TURNS).try_for_each(|_| page.wheel(from, 0.0, -60.0, Held::NOTHING))?;
            let by_all = by_one.powi(TURNS) * 1.000_001;
            page.wait_for_view("all turns", |it| width(it) / before <= by_all)?;
            Ok(())
        }),
        Box::new(|page| page.click("#legend button")),
        Box::new(|page| page.click("#lanes")),
        Box::new(|page| page.set("#color-by", "service")),
        Box::new(|page| page.click("#tab-breaker")),
        Box::new(|page| page.press("0")),
    ];
    let mut states = vec![(page.view()?, page.picture()?)];
    for step in &steps {
        let (before, _) = &states[states.len() - 1];
        step(page)?;
        page.wait_for_view("something else", |view| view != before)?;
        page.wait_until_still()?;
        states.push((page.view()?, page.picture()?));
    }
    let n = states.len();
    let there = (0..n - 1).rev().map(|at| (at, "Back"));
    let again = (1..n).map(|at| (at, "Forward"));
    for (at, way) in there.chain(again) {
        match way {
            "Back" => page.back()?,
            _ => page.forward()?,
        }
        let (view, picture) = &states[at];
        page.wait_for_view(&format!("step {at} by {way}"), |it| it == view)?;
        page.picture()?
            .must_be(picture, &format!("at step {at} by {way}"))?;
    }
    page.must_be_silent()?;
    assert!(is_near(
        Truth::of_sample()?.viewport(&page.view()?),
        Truth::of_sample()?.summary.home
    ));
    Ok(())
}
