//! One span, one trace: what a hover says, what a click picks, and that no figure loses a digit on its way from
//! the file over the engine's thread to the page.

use herdscope::format;
use herdscope::messages::{PointRequest, SpanLabel, TraceDetail};
use herdscope::view::{ColorBy, MILLI, Pane, View, Viewport};
use herdscope_browser_tests::{Held, Page, Point, Result, Truth, suite};
use serde_json::json;

suite!(
    a_hover_names_the_span,
    a_click_picks_the_trace,
    a_trace_is_let_go_and_shown,
    times_are_whole_nanoseconds,
);

/// A trace of the first herd, with a call that timed out.
fn a_trace(truth: &Truth) -> Result<TraceDetail> {
    let ranks = truth.summary.home.y1 / MILLI;
    let timed_out = |it: &TraceDetail| it.spans.iter().any(|label| label.outcome == "timed_out");
    let mut traces = (0..ranks).filter_map(|rank| truth.trace_of_rank(rank));
    let found = traces.find(timed_out);
    found.ok_or_else(|| format!("none of {ranks} traces timed out").into())
}

/// The trace in the middle of nine, over all of the width.
fn around(detail: &TraceDetail) -> Viewport {
    let margin = (detail.end - detail.start) / 10;
    let rank = i64::from(detail.rank) * MILLI;
    let above = (4 * MILLI).min(rank);
    Viewport {
        t0: detail.start - margin,
        t1: detail.end + margin,
        y0: rank - above,
        y1: rank - above + 9 * MILLI,
    }
}

fn show_around(page: &Page, detail: &TraceDetail) -> Result<Viewport> {
    let viewport = around(detail);
    let view = View {
        viewport: Some(viewport),
        ..View::default()
    };
    page.show(&format!("/#{}&src=sample:incident", view.to_hash()))?;
    page.must_be_silent()?;
    Ok(viewport)
}

/// The window's point at the middle of a trace's row, at a share of its time.
fn on_the_row(page: &Page, viewport: Viewport, detail: &TraceDetail, share: f64) -> Result<Point> {
    let time = detail.start + ((detail.end - detail.start) as f64 * share) as i64;
    let rank = i64::from(detail.rank) * MILLI + MILLI / 2;
    let across = (time - viewport.t0) as f64 / (viewport.t1 - viewport.t0) as f64;
    let down = (rank - viewport.y0) as f64 / (viewport.y1 - viewport.y0) as f64;
    Ok(page.plot()?.pixel(across, down))
}

/// What the library finds at a point of the window.
fn hovered(page: &Page, truth: &Truth, viewport: Viewport, at: Point) -> Result<SpanLabel> {
    let plot = page.plot()?;
    let request = PointRequest {
        viewport,
        plot: [plot.width.round() as u32, plot.height.round() as u32],
        at: [at.x - plot.x, at.y - plot.y],
        reach: 6.0,
        hidden: Vec::new(),
        color_by: ColorBy::Tier,
    };
    truth
        .ask(|engine| engine.hover(&request))
        .ok_or_else(|| format!("no span is at {at:?}").into())
}

/// What a span's words must hold.
fn facts(label: &SpanLabel) -> Result<Vec<String>> {
    let duration = label.duration.ok_or("the sample knows all durations")?;
    let mut facts = vec![
        label.service.clone(),
        label.operation.clone(),
        format::duration(duration),
        format!("at {}", format::time_of_day(label.start, 6)),
        format!("row {}", format::count(label.row.into())),
    ];
    facts.extend(label.instance.clone());
    if label.outcome == "timed_out" {
        facts.push("⨯ timed out".to_owned());
    }
    Ok(facts)
}

fn a_hover_names_the_span(page: &mut Page) -> Result<()> {
    let truth = Truth::of_sample()?;
    let detail = a_trace(truth)?;
    let viewport = show_around(page, &detail)?;
    for share in [0.1, 0.5, 0.9] {
        let at = on_the_row(page, viewport, &detail, share)?;
        let expected = hovered(page, truth, viewport, at)?;
        assert_eq!(expected.trace_id, detail.trace_id);
        page.hover(at)?;
        let facts = facts(&expected)?;
        page.wait_for(&format!(
            "!document.getElementById('tip').hidden && \
             {}.every((it) => document.getElementById('tip').textContent.includes(it))",
            json!(facts)
        ))
        .map_err(|error| {
            format!(
                "{error}; it says {:?}",
                page.text("#tip").unwrap_or_default()
            )
        })?;
        assert!(page.is_shown("#hovered")?);
    }
    // Beside the plot there is nothing to name.
    page.hover(Point { x: 5.0, y: 5.0 })?;
    page.wait_for("document.getElementById('tip').hidden")?;
    assert!(!page.is_shown("#hovered")?);
    Ok(())
}

fn a_click_picks_the_trace(page: &mut Page) -> Result<()> {
    let truth = Truth::of_sample()?;
    let detail = a_trace(truth)?;
    let viewport = show_around(page, &detail)?;
    page.click_at(on_the_row(page, viewport, &detail, 0.5)?, Held::NOTHING)?;
    let view = page.wait_for_view("the trace", |view| view.trace.is_some())?;
    assert_eq!(view.trace.as_deref(), Some(detail.trace_id.as_str()));
    assert_eq!((view.pane, view.viewport), (Pane::Trace, Some(viewport)));
    page.wait_until_still()?;

    assert_eq!(page.text("#trace-id")?, detail.trace_id);
    let list = page
        .value("[...document.querySelectorAll('#trace-spans > li')].map((it) => it.textContent)")?;
    let list: Vec<String> = serde_json::from_value(list).map_err(|error| error.to_string())?;
    assert_eq!(list.len(), detail.spans.len());
    for (line, label) in list.iter().zip(&detail.spans) {
        for fact in facts(label)? {
            assert!(line.contains(&fact), "`{fact}` is not in `{line}`");
        }
    }
    let n = format::counted(detail.spans.len() as u64, "span");
    assert!(page.text("#trace-facts")?.starts_with(&n));

    let (mark, plot) = (page.rect("#marked")?, page.plot()?);
    let row = viewport.y0..viewport.y1;
    let middle = i64::from(detail.rank) * MILLI + MILLI / 2;
    let at = plot.y + plot.height * (middle - row.start) as f64 / (row.end - row.start) as f64;
    assert!(page.is_shown("#marked")?);
    assert!(
        mark.y <= at + 1.0 && at <= mark.y + mark.height + 1.0,
        "the mark is at {mark:?}, the trace at {at}"
    );
    page.must_be_silent()
}

fn a_trace_is_let_go_and_shown(page: &mut Page) -> Result<()> {
    let truth = Truth::of_sample()?;
    let detail = a_trace(truth)?;
    let link = format!(
        "/#v=1&src=sample:incident&trace={}&pane=trace",
        detail.trace_id
    );
    page.show(&link)?;
    page.wait_for("!document.getElementById('trace-some').hidden")?;
    page.click("#trace-show")?;
    let view = page.wait_for_view("the trace's part of the plot", |view| {
        view.viewport.is_some()
    })?;
    let shown = truth.viewport(&view);
    let rank = i64::from(detail.rank) * MILLI;
    assert!(
        shown.t0 < detail.start && detail.end < shown.t1,
        "{shown:?}"
    );
    assert!(shown.y0 <= rank && rank + MILLI <= shown.y1, "{shown:?}");
    assert!(shown.t1 - shown.t0 < 2 * (detail.end - detail.start));

    type Way = fn(&Page) -> Result<()>;
    let ways: [Way; 2] = [
        |page| page.press("Escape"),
        |page| page.click("#trace-clear"),
    ];
    for let_go in ways {
        let_go(page)?;
        page.wait_for_view("no trace", |view| view.trace.is_none())?;
        page.wait_until_still()?;
        assert!(!page.is_shown("#marked")? && page.is_shown("#trace-none")?);
        page.back()?;
        page.wait_for_view("the trace again", |view| view.trace.is_some())?;
        page.wait_for("!document.getElementById('trace-some').hidden")?;
        assert_eq!(page.text("#trace-id")?, detail.trace_id);
    }

    page.show("/#v=1&src=sample:incident&trace=0123456789abcdef")?;
    page.wait_for_message(&["0123456789abcdef", "not in this file"])?;
    page.wait_for_view("no trace", |view| view.trace.is_none())?;
    Ok(())
}

/// Neighbours in this range are 256 ns apart for a floating-point number: whatever passes through one is seen.
fn times_are_whole_nanoseconds(page: &mut Page) -> Result<()> {
    let truth = Truth::of_sample()?;
    let detail = a_trace(truth)?;
    let rank = i64::from(detail.rank) * MILLI;
    for odd in [1, 128, 255] {
        let viewport = Viewport {
            t0: detail.start + odd,
            t1: detail.start + odd + 801,
            y0: rank + 1,
            y1: rank + 2 * MILLI,
        };
        let view = View {
            viewport: Some(viewport),
            ..View::default()
        };
        page.show(&format!("/#{}&src=sample:incident", view.to_hash()))?;
        // There through the engine and back in the footer, to the last digit.
        let range = format::time_range(viewport.t0, viewport.t1);
        assert!(
            range.contains(&format::time_of_day(viewport.t0, 9)),
            "{range}"
        );
        assert_eq!(page.text("#foot-time")?, range);
        assert_eq!(page.view()?.viewport, Some(viewport));
        assert_eq!(
            page.text("#foot-spans")?,
            format!(
                "{} of {}",
                format::count(truth.scene(&view).spans),
                format::counted(truth.summary.spans, "span")
            )
        );
    }
    // A trace of one span, whose neighbours in floating-point are far off, between two others.
    let (start, duration) = (1_790_409_600_123_456_789_i64, 123_457_u64);
    let csv = format!(
        "trace_id,span_id,start_time_unix_nano,duration_nano,service.name,name\n\
         t0,s0,{},1000,shop,GET /\n\
         t1,s1,{start},{duration},shop,GET /\n\
         t2,s2,{},1000,shop,GET /\n",
        start - 200_000,
        start + 300_000,
    );
    page.paste(&csv)?;
    page.wait_for_file("pasted text")?;
    page.click_at(page.plot()?.pixel(0.5, 0.5), Held::NOTHING)?;
    let view = page.wait_for_view("the trace", |view| view.trace.is_some())?;
    assert_eq!(view.trace.as_deref(), Some("t1"));
    page.click("#trace-show")?;
    let view = page.wait_for_view("its part of the plot", |view| view.viewport.is_some())?;
    let margin = duration as i64 / 10;
    let times = view.viewport.map(|it| (it.t0, it.t1));
    assert_eq!(
        times,
        Some((start - margin, start + duration as i64 + margin))
    );
    Ok(())
}
