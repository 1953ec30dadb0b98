//! One span, one trace: what a hover says, what a click picks, and that no figure loses a digit on its way from
//! the file over the engine's thread to the page.

use herdscope::format;
use herdscope::messages::{PointRequest, SpanLabel, TraceDetail};
use herdscope::view::{ColorBy, MILLI, Pane, View, Viewport};
use herdscope_browser_tests::files::{self, Folder};
use herdscope_browser_tests::{Held, Page, Point, Result, Truth, suite};
use serde_json::json;

suite!(
    a_hover_names_the_span,
    a_click_picks_the_trace,
    a_trace_is_let_go_and_shown,
    times_are_whole_nanoseconds,
    a_span_opens_to_its_row,
    a_row_is_searched_and_copied_and_leads_to_others_like_it,
    a_trace_has_a_place_and_neighbours,
    the_span_that_is_picked_is_open,
    a_file_without_rows_says_so,
    a_file_that_has_changed_shows_no_row,
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

/// Where files are let go that are to be opened.
const OPEN: Point = Point { x: 300.0, y: 450.0 };

/// A table with attributes and a note of two lines; the second trace stands behind a hundred others.
fn table() -> String {
    let mut text =
        "trace_id,span_id,parent_span_id,service.name,name,kind,start_time,duration_ms,note,attributes\n"
            .to_owned();
    for at in 0..102 {
        let (second, ms) = (at / 10, at % 10 * 100);
        for (span, parent, kind) in [("caller", "", "client"), ("called", "caller", "server")] {
            text += &format!(
                "trace{at},{span}{at},{parent}{},{span},GET,{kind},2026-01-05T10:00:{second:02}.{ms:03}Z,50,\"first line\nof {span} {at}\",\"{{'db.statement':'SELECT {at}','http.route':'/{span}'}}\"\n",
                if parent.is_empty() {
                    String::new()
                } else {
                    at.to_string()
                }
            );
        }
    }
    text
}

/// Marks a trace of what is open, as a link does.
fn mark(page: &Page, trace: &str) -> Result<()> {
    let pick = format!("location.hash = location.hash + '&trace={trace}&pane=trace'");
    page.run(&pick, Vec::new())?;
    page.wait_for(&format!(
        "document.getElementById('trace-id').textContent === '{trace}'"
    ))?;
    page.wait_until_still()
}

/// What is said below a span, once it is there: a line for each row of its tables, without what can be done about it.
fn said(page: &Page) -> Result<String> {
    page.wait_for("document.querySelector('#cells tr, #cells p')")?;
    page.string(
        "[...document.querySelectorAll('#cells tr, #cells h3, #cells p')] \
         .map((it) => [...it.childNodes].slice(0, 2).map((it) => it.textContent).join('=')) \
         .filter((it) => it).join('|')",
    )
}

const SAID: &str = "trace_id=trace101|span_id=called101|parent_span_id=caller101|service.name=called|name=GET|\
    kind=server|start_time=2026-01-05T10:00:10.100Z|duration_ms=50|note=first line\nof called 101|attributes|\
    db.statement=SELECT 101|http.route=/called";

fn a_span_opens_to_its_row(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let plain = folder.write("plain.csv", table())?;
    let packed = folder.write("packed.csv.gz", files::gz(table().as_bytes())?)?;
    for (file, name) in [(plain, "plain.csv"), (packed, "packed.csv.gz")] {
        page.show("/")?;
        page.drop_file(&file, OPEN)?;
        page.wait_for_file(name)?;
        mark(page, "trace101")?;
        let open = "[...document.querySelectorAll('#trace-spans .open')].map((it) => it.ariaExpanded).join()";
        assert_eq!(page.string(open)?, "false,false");
        // By a click and by the keyboard; one at a time.
        page.click("#trace-spans li:nth-child(2) .open")?;
        assert_eq!(said(page)?, SAID);
        assert_eq!(page.string(open)?, "false,true");
        page.run(
            "document.querySelector('#trace-spans li:nth-child(1) .open').focus()",
            Vec::new(),
        )?;
        page.press("Enter")?;
        page.wait_for("document.querySelector('#trace-spans li:nth-child(1) #cells tr')")?;
        assert!(
            said(page)?.contains("|http.route=/caller"),
            "{}",
            said(page)?
        );
        assert_eq!(page.string(open)?, "true,false");
        page.press("Enter")?;
        page.wait_for("!document.getElementById('cells')")?;
        assert_eq!(page.string(open)?, "false,false");
        // Another trace begins closed.
        page.click("#trace-spans li:nth-child(1) .open")?;
        mark(page, "trace3")?;
        assert_eq!(page.string(open)?, "false,false");
        page.must_be_silent()?;
    }
    Ok(())
}

fn a_row_is_searched_and_copied_and_leads_to_others_like_it(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    page.allow_clipboard()?;
    page.show("/")?;
    page.drop_file(&folder.write("plain.csv", table())?, OPEN)?;
    page.wait_for_file("plain.csv")?;
    mark(page, "trace101")?;
    page.click("#trace-spans li:nth-child(2) .open")?;
    assert_eq!(said(page)?, SAID);
    let shown = "[...document.querySelectorAll('#cells tr')].filter((it) => !it.hidden) \
                 .flatMap((it) => it.firstChild?.textContent ?? []).join()";
    page.write("#cells input", "SELECT")?;
    assert_eq!(page.string(shown)?, "db.statement");
    let line = |name: &str, nth: u8| {
        format!(
            "[...document.querySelectorAll('#cells tr')].find((it) => it.firstChild?.textContent == '{name}') \
             .querySelectorAll('button')[{nth}].click()"
        )
    };
    page.run(&line("db.statement", 0), Vec::new())?;
    page.wait_for("document.getElementById('trace-copy').textContent.includes('Copied')")?;
    assert_eq!(page.clipboard()?, "SELECT 101");
    page.write("#cells input", "")?;
    assert_eq!(page.string(shown)?.split(',').count(), 9 + 2);
    // What the table keeps can be filtered by, beside what the filter says.
    page.run(&line("service.name", 0), Vec::new())?;
    let of = |filter: &'static str| move |view: &View| view.filter.as_deref() == Some(filter);
    page.wait_for_view("a filter", of("service=called"))?;
    page.run(&line("name", 0), Vec::new())?;
    page.wait_for_view("both", of("(service=called) operation=GET"))?;
    page.wait_until_still()?;
    assert_eq!(page.text("#filter-count")?, "102 spans in 102 traces");
    page.run(&line("name", 0), Vec::new())?;
    page.back()?;
    page.wait_for_view("the one before", of("service=called"))?;
    page.must_be_silent()
}

fn a_trace_has_a_place_and_neighbours(page: &mut Page) -> Result<()> {
    let truth = Truth::of_sample()?;
    let detail = a_trace(truth)?;
    page.show(&format!(
        "/#v=1&src=sample:incident&pane=trace&trace={}",
        detail.trace_id
    ))?;
    page.wait_for("document.querySelector('#standing table')")?;
    let place = page.text("#standing")?;
    let took = format::duration((detail.end - detail.start) as u64);
    assert!(
        place.starts_with(&format!("Its {took} are longer than")),
        "{place}"
    );
    // Waits and work for nobody are drawn where their words stand.
    for (lane, words) in [
        (".lane .waited", "after it was called"),
        (".lane .abandoned", "for nobody"),
    ] {
        let agrees = format!(
            "[...document.querySelectorAll('#trace-spans > li')] \
             .every((it) => !!it.querySelector('{lane}') == it.textContent.includes('{words}'))"
        );
        assert_eq!(page.value(&agrees)?, true, "{words}");
    }
    page.click("#trace-below")?;
    let below = truth.trace_of_rank(i64::from(detail.rank) + 1);
    let below = below.ok_or("no trace below")?.trace_id;
    page.wait_for_view("the one below", |view| view.trace.as_ref() == Some(&below))?;
    page.click("#trace-above")?;
    page.wait_for_view("it again", |view| {
        view.trace.as_ref() == Some(&detail.trace_id)
    })?;
    page.wait_until_still()?;
    page.must_be_silent()
}

fn the_span_that_is_picked_is_open(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let text = table();
    let truth = Truth::of(text.as_bytes())?;
    let detail = truth
        .ask(|engine| engine.trace("trace101"))
        .ok_or("no trace")?;
    let viewport = around(&detail);
    let view = View {
        viewport: Some(viewport),
        ..View::default()
    };
    for (name, bytes, opens) in [
        ("plain.csv", text.clone().into_bytes(), true),
        // What would have to be unpacked from its beginning waits to be asked for.
        ("packed.csv.gz", files::gz(text.as_bytes())?, false),
    ] {
        page.show("/")?;
        page.drop_file(&folder.write(name, bytes)?, OPEN)?;
        page.wait_for_file(name)?;
        let look = format!(
            "location.hash = '{}&src=' + new URLSearchParams(location.hash.slice(1)).get('src')",
            view.to_hash()
        );
        page.run(&look, Vec::new())?;
        page.wait_for_viewport("the last trace", viewport)?;
        let at = on_the_row(page, viewport, &detail, 0.5)?;
        let picked = hovered(page, &truth, viewport, at)?;
        page.click_at(at, Held::NOTHING)?;
        page.wait_for_view("the trace", |view| view.trace.is_some())?;
        page.wait_until_still()?;
        if opens {
            let said = said(page)?;
            assert!(
                said.contains(&format!("span_id={}|", picked.span_id)),
                "{said}"
            );
        } else {
            assert!(!page.is_shown("#cells").unwrap_or(false));
        }
        page.must_be_silent()?;
    }
    Ok(())
}

fn a_file_without_rows_says_so(page: &mut Page) -> Result<()> {
    page.show("/")?;
    let json = xtask::workspace().join("tests/fixtures/ingest/jaeger-json.json");
    let truth = Truth::of(&std::fs::read(&json).map_err(|error| error.to_string())?)?;
    let trace = truth.trace_of_rank(0).ok_or("no trace")?.trace_id;
    page.drop_file(&json, OPEN)?;
    page.wait_for_file("jaeger-json.json")?;
    mark(page, &trace)?;
    page.click("#trace-spans .open")?;
    let why = said(page)?;
    assert!(why.starts_with("jaeger-json.json is no table"), "{why}");

    let detail = a_trace(Truth::of_sample()?)?;
    page.show(&format!(
        "/#v=1&src=sample:incident&trace={}&pane=trace",
        detail.trace_id
    ))?;
    page.wait_for("!document.getElementById('trace-some').hidden")?;
    page.click("#trace-spans .open")?;
    let why = said(page)?;
    assert!(why.contains("is simulated"), "{why}");
    page.must_be_silent()
}

fn a_file_that_has_changed_shows_no_row(page: &mut Page) -> Result<()> {
    let folder = Folder::new()?;
    let file = folder.write("a.csv", table())?;
    page.show("/")?;
    page.drop_file(&file, OPEN)?;
    page.wait_for_file("a.csv")?;
    folder.write("a.csv", table().replace("called101", "called1x1"))?;
    mark(page, "trace101")?;
    page.click("#trace-spans li:nth-child(2) .open")?;
    let why = said(page)?;
    assert!(why.contains("changed"), "{why}");
    page.must_be_silent()
}
