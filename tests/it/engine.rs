//! The engine: what the page asks for, without a page.

use herdscope::engine::{Engine, Frame, Turn};
use herdscope::messages::{BandState, FrameRequest, Latency, PointRequest, Summary, TraceDetail};
use herdscope::plot::picture;
use herdscope::view::{ColorBy, Pane, Source, View, Viewport};

use crate::given::{self, herd, loaded, turns};

const HERD_BREAKER: &str = "window=100,min=20,fail=50%,open=60s,probes=10";

fn request(viewport: Option<Viewport>) -> FrameRequest {
    FrameRequest {
        viewport,
        plot: [300, 200],
        overview: [300, 40],
        style: picture::light(),
        color_by: ColorBy::Tier,
        hidden: Vec::new(),
        edge: None,
        breaker: Some(HERD_BREAKER.to_owned()),
        shared: false,
        trace: None,
        simulate: None,
        simulated: [0, 0],
        filter: None,
        rest_hidden: false,
        rests: false,
    }
}

fn csv(rows: usize) -> String {
    let head =
        "trace_id,span_id,parent_span_id,service.name,name,kind,start_time,duration_ms,status\n";
    let row = |at: usize| {
        let (minute, second) = (at / 60 % 60, at % 60);
        format!("t{at},s,,web,GET,client,2026-01-05T10:{minute:02}:{second:02}.000Z,30,OK\n")
    };
    (0..rows).fold(head.to_owned(), |text, at| text + &row(at))
}

fn open(engine: &mut Engine, name: &str, text: &str) -> Result<Summary, String> {
    engine.begin(name.to_owned(), None, Some(text.len() as u64));
    // What is wrong with the bytes is said at the end, too.
    let _ = engine.push(text.as_bytes(), 1.0);
    loaded(engine).map_err(|refused| refused.into_iter().map(|it| it.text).collect())
}

fn n_painted(frame: &Frame) -> usize {
    frame
        .plot
        .rgba
        .chunks(4)
        .filter(|pixel| pixel[3] > 0)
        .count()
}

#[test]
fn a_frame_holds_everything_of_one_viewport() {
    let mut engine = Engine::with(herd());
    let home = engine.frame(&request(None)).scene.viewport;
    let frame = engine.frame(&request(Some(home)));
    let scene = &frame.scene;
    assert_eq!(
        (frame.plot.rgba.len(), frame.overview.len()),
        (300 * 200 * 4, 300 * 40 * 4)
    );
    assert_eq!((scene.viewport, scene.spans), (home, 48_711));
    let replay = &scene.replay;
    assert_eq!(
        (replay.calls, replay.withheld, replay.transitions),
        (16_237, 0, 36)
    );
    assert_eq!(
        (replay.lanes.len(), replay.attempts.len(), replay.shared),
        (4, 3, false)
    );
    assert_eq!(
        (replay.breaker.as_str(), replay.threshold),
        (HERD_BREAKER, Some(500_000))
    );
    assert!((2..=2 * 300).contains(&replay.failure_rate.at.len()));
    assert_eq!(scene.rates.sent.iter().sum::<u32>(), 16_237);
    assert_eq!(scene.rates.timed_out.iter().sum::<u32>(), 695);
    // The 99.9th percentile is the timeout.
    let Latency::Known { p999_ns, .. } = scene.latency else {
        panic!("{:?}", scene.latency);
    };
    assert_eq!(p999_ns, 500_000_000);
}

#[test]
fn bands_shorter_than_a_pixel_are_in_the_scene() {
    let mut engine = Engine::with(herd());
    let scene = engine.frame(&request(None)).scene;
    for lane in &scene.replay.lanes {
        let of = |state| lane.bands.iter().filter(|band| band.state == state).count();
        assert_eq!(
            (of(BandState::HalfOpen), of(BandState::Open)),
            (3, 3),
            "{:?}",
            lane.instance
        );
    }
}

#[test]
fn settings_change_the_states_and_bad_ones_say_why() {
    let mut engine = Engine::with(herd());
    let mut wanted = request(None);
    wanted.breaker = Some("window=100,min=20,fail=50%,open=10m,probes=10".to_owned());
    let scene = engine.frame(&wanted).scene;
    assert_eq!(
        (scene.replay.transitions, scene.replay.withheld),
        (4, 15_862)
    );
    wanted.breaker = Some("window=100,probes=0".to_owned());
    let problem = engine
        .frame(&wanted)
        .scene
        .replay
        .problem
        .expect("a problem");
    assert!(
        problem.contains("probes") && problem.contains('0'),
        "{problem}"
    );
    wanted.breaker = None;
    wanted.edge = Some(("web".to_owned(), "nowhere".to_owned()));
    let replay = engine.frame(&wanted).scene.replay;
    assert_eq!(
        replay.edge,
        Some(("shop-web".to_owned(), "catalog".to_owned()))
    );
    assert!(replay.problem.is_some_and(|it| it.contains("nowhere")));
}

#[test]
fn the_picture_fills_while_the_file_is_read() {
    let mut engine = Engine::new();
    let text = csv(5_000);
    engine.begin("big.csv".to_owned(), None, Some(text.len() as u64));
    let mut painted = Vec::new();
    for chunk in text.as_bytes().chunks(20_000) {
        engine.push(chunk, 1.0).expect("rows");
        if let Turn::Preview(viewport) = turns(&mut engine) {
            painted.push(n_painted(&engine.frame(&request(Some(viewport)))));
        }
    }
    assert!(
        painted.len() >= 3 && painted.iter().all(|&n| n > 0),
        "{painted:?}"
    );
    assert_eq!(loaded(&mut engine).map(|it| it.spans), Ok(5_000));
}

#[test]
fn what_was_loaded_stays_until_the_next_file_is_read() {
    let mut engine = Engine::with(herd());
    let before = engine.frame(&request(None));
    let same = |engine: &mut Engine| {
        let now = engine.frame(&request(None));
        now.plot == before.plot && now.scene == before.scene
    };

    engine.begin("next.csv".to_owned(), None, None);
    engine.push(csv(2_000).as_bytes(), 1.0).expect("rows");
    let mut n_turns = 0;
    while let Turn::More = engine.turn() {
        assert!(same(&mut engine), "what is read is not ready to be drawn");
        n_turns += 1;
    }
    assert!(n_turns > 10, "{n_turns}");
    assert!(!same(&mut engine), "the preview is on screen");
    engine.cancel();
    assert!(same(&mut engine), "cancelled");

    // At any time.
    for n_turns in [0, 1, 5, 20] {
        engine.begin("next.csv".to_owned(), None, None);
        engine.push(csv(400).as_bytes(), 1.0).expect("rows");
        engine.finish().expect("spans");
        for _ in 0..n_turns {
            assert!(matches!(engine.turn(), Turn::More), "{n_turns}");
            assert!(same(&mut engine), "{n_turns}");
        }
        engine.cancel();
        assert!(matches!(engine.turn(), Turn::Idle));
        assert!(same(&mut engine), "{n_turns}");
    }

    for (name, text) in [
        ("page.csv", "<!DOCTYPE html><html><body>no</body></html>"),
        ("empty.csv", ""),
    ] {
        let sentence = open(&mut engine, name, text).expect_err("unreadable");
        assert!(sentence.starts_with(name), "{sentence}");
        assert!(same(&mut engine), "{name}");
    }
    let header =
        "trace_id,span_id,parent_span_id,service.name,name,start_time,duration_ms,status\n";
    let sentence = open(&mut engine, "header.csv", header).expect_err("no spans");
    assert!(sentence.contains("no spans"), "{sentence}");
    assert!(same(&mut engine), "header only");

    assert_eq!(
        open(&mut engine, "next.csv", &csv(3)).map(|it| it.spans),
        Ok(3)
    );
    assert!(!same(&mut engine), "read to its end");
}

#[test]
fn what_a_link_says_of_a_file_is_kept() {
    let mut engine = Engine::new();
    let source = Source::Sample("incident".to_owned());
    engine.begin("a.csv".to_owned(), Some(source), None);
    engine.push(csv(3).as_bytes(), 1.0).expect("rows");
    let summary = loaded(&mut engine).expect("spans");
    assert_eq!(
        summary.files[0].source,
        Some(Source::Sample("incident".to_owned()))
    );
}

#[test]
fn pointing_and_picking_agree() {
    let mut engine = Engine::with(herd());
    let viewport = Viewport {
        t0: 1_790_409_662_500_000_000,
        t1: 1_790_409_663_500_000_000,
        y0: 520_000,
        y1: 560_000,
    };
    let frame = engine.frame(&request(Some(viewport)));
    let painted = frame
        .plot
        .rgba
        .chunks(4)
        .position(|pixel| pixel[3] == 255)
        .expect("a span");
    let point = PointRequest {
        viewport,
        plot: [300, 200],
        at: [(painted % 300) as f64 + 0.5, (painted / 300) as f64 + 0.5],
        reach: 2.0,
        hidden: Vec::new(),
        color_by: ColorBy::Tier,
    };
    let label = engine.hover(&point).expect("a span");
    let trace = engine.pick(&point).expect("its trace");
    assert_eq!(label.trace_id, trace.trace_id);
    let picked = trace.picked.expect("the picked span") as usize;
    assert_eq!(trace.spans[picked].span_id, label.span_id);
    let found = TraceDetail {
        picked: None,
        ..trace.clone()
    };
    assert_eq!(engine.trace(&trace.trace_id), Some(found.clone()));
    assert_eq!(engine.trace_of_rank(trace.rank), Some(found));
    let depths: Vec<u32> = trace.spans.iter().map(|span| span.depth).collect();
    assert_eq!(depths, [0, 1, 2]);

    let mut marked = request(Some(viewport));
    marked.trace = Some(trace.trace_id);
    assert_eq!(engine.frame(&marked).scene.marked, Some(trace.rank));
    assert_eq!(engine.trace("nothing like it"), None);
    assert_eq!(engine.trace_of_rank(u32::MAX), None);
}

#[test]
fn without_an_edge_the_traces_are_counted() {
    let dataset = crate::given::dataset("a 1 - web server 0+10\n b 1 - web server 5+10 timed_out");
    let mut engine = Engine::with(dataset);
    let frame = engine.frame(&request(None));
    assert_eq!(
        (frame.scene.replay.edge.clone(), frame.scene.replay.calls),
        (None, 0)
    );
    assert_eq!(frame.scene.rates.sent.iter().sum::<u32>(), 2);
    assert_eq!(frame.scene.rates.timed_out.iter().sum::<u32>(), 1);
    assert!(frame.overview.chunks(4).any(|pixel| pixel[3] > 0));
}

#[test]
fn views_that_do_not_fit_are_said_to() {
    let dataset = herd();
    let mut notices = Vec::new();
    let (view, _) = View::parse("t=1..2&y=5..6&edge=a->b&trace=none&pane=trace");
    let settled = dataset.settle(view, &mut notices);
    assert_eq!(
        settled,
        View {
            pane: Pane::Trace,
            ..View::default()
        }
    );
    assert_eq!(notices.len(), 3);
    let (view, _) = View::parse("edge=shop-web->edge-proxy");
    assert_eq!(dataset.settle(view.clone(), &mut notices), view);
    assert_eq!(notices.len(), 3);
}

#[test]
fn many_calls_are_gone_through_when_the_view_rests() {
    let call = |at: usize| format!("t{at} 1 - web client {at}+20 >api\n");
    let text: String = (0..40_000).map(call).collect();
    let mut engine = Engine::with(given::dataset(&text));
    let latency = |engine: &mut Engine, viewport, rests| {
        let request = FrameRequest {
            rests,
            ..request(viewport)
        };
        engine.frame(&request).scene.latency
    };
    let known = Latency::Known {
        p50_ns: 20_000_000,
        p999_ns: 20_000_000,
    };
    assert_eq!(latency(&mut engine, None, false), Latency::NotYet);
    assert_eq!(latency(&mut engine, None, true), known);
    let few = Viewport {
        t1: 1_000_000_000,
        ..engine.summary().home
    };
    assert_eq!(latency(&mut engine, Some(few), false), known);
}

#[test]
fn an_engine_with_nothing_loaded_answers() {
    let mut engine = Engine::new();
    let frame = engine.frame(&request(None));
    assert_eq!(
        (n_painted(&frame), frame.scene.spans, frame.scene.latency),
        (0, 0, Latency::OfNone)
    );
    assert!(engine.push(b"a", 0.0).is_err());
    assert!(engine.finish().is_err());
    engine.cancel();
}

#[test]
fn when_memory_is_full_what_was_read_is_whole_and_some_of_all_traces_are_offered() {
    let text = csv(40_000);
    let read = |room: u64, told: &str| {
        let mut engine = Engine::with_room(room);
        engine.start();
        let told = told.parse().expect("what can be told");
        engine.next_file("big.csv".to_owned(), None, Some(text.len() as u64), told);
        for chunk in text.as_bytes().chunks(10_001) {
            engine.push(chunk, 1.0).expect("rows");
            turns(&mut engine);
            if engine.is_full() {
                break;
            }
        }
        let summary = loaded(&mut engine).expect("spans");
        let n_seen = engine.frame(&request(None)).scene.spans;
        assert_eq!(n_seen, summary.spans, "a valid table");
        summary
    };
    // A push is thought to bring 65,536 rows.
    let room = 8 << 20;
    let full = read(room, "");
    assert!((1_000..30_000).contains(&full.spans), "{}", full.spans);
    let codes: Vec<&str> = full.issues.iter().map(|it| it.code.as_str()).collect();
    assert_eq!(codes, ["memory_full"]);
    let last = format!("row {} ", full.spans + 1);
    assert!(
        full.issues[0].message.starts_with(&last),
        "{:?}",
        full.issues
    );
    let of = full.full.expect("a sample");
    let some = read(room, &format!("sample={of}"));
    assert_eq!((some.full, some.issues[0].code.as_str()), (None, "sampled"));
    let expected = 40_000 / u64::from(of);
    assert!(
        (expected / 2..expected * 2).contains(&some.spans),
        "{of}: {}",
        some.spans
    );
    let all = read(u64::MAX, "");
    assert_eq!((all.spans, all.full), (40_000, None));
}

#[test]
fn a_filter_changes_what_is_drawn_found_and_gone_through_and_no_figures() {
    let mut engine = Engine::with(herd());
    let all = engine.frame(&request(None));
    let with = |filter: &str, rest_hidden: bool| FrameRequest {
        filter: Some(filter.to_owned()),
        rest_hidden,
        ..request(None)
    };
    let hidden = engine.frame(&with("timeout", true));
    let dimmed = engine.frame(&with("timeout", false));
    let [spans, traces] = hidden.scene.matches.expect("matches");
    assert!(
        spans >= traces && traces > 0 && spans < 48_711,
        "{spans} {traces}"
    );
    assert!(n_painted(&hidden) < n_painted(&dimmed));
    let timed_out = picture::light().timed_out;
    assert!(
        hidden
            .plot
            .rgba
            .chunks(4)
            .all(|it| it[3] == 0 || it[..3] == timed_out),
        "something else is drawn"
    );
    assert_eq!(hidden.scene.matches, dimmed.scene.matches);
    for other in [&hidden, &dimmed] {
        assert_eq!(other.overview, all.overview);
        assert_eq!(other.scene.replay, all.scene.replay);
        assert_eq!(other.scene.rates, all.scene.rates);
        assert_eq!(other.scene.spans, all.scene.spans);
    }

    // One after the other comes by its trace, forth and back.
    let mut met = Vec::new();
    engine.frame(&with("tier=0 timeout", true));
    for back in [false, false, true, true] {
        met.push(engine.step_match(back).expect("a match").rank);
    }
    assert_eq!(met[0], met[2]);
    assert!(met[0] < met[1] && met[1] < met[3], "{met:?}");

    // One that means all of them, and one that cannot be read: the picture is that of no filter.
    for (filter, matches) in [("-nothing-like-it", true), ("duration>", false)] {
        let frame = engine.frame(&with(filter, false));
        assert!(frame.plot.rgba == all.plot.rgba, "{filter}");
        assert_eq!(frame.scene.matches.is_some(), matches);
    }
    assert!(engine.step_match(false).is_none());
    assert_eq!(engine.frame(&request(None)).scene.matches, None);
}

#[test]
fn a_hidden_span_is_not_found_and_a_faint_one_is() {
    let mut engine = Engine::with(given::dataset(
        "a 1 - web client 0+100\n b 1 - web client 0+100 timed_out",
    ));
    let viewport = Viewport {
        t0: 0,
        t1: 100_000_000,
        y0: 0,
        y1: 2_000,
    };
    let point = |y: f64| PointRequest {
        viewport,
        plot: [100, 40],
        at: [50.0, y],
        reach: 1.0,
        hidden: Vec::new(),
        color_by: ColorBy::Tier,
    };
    for (rest_hidden, expected) in [(true, None), (false, Some("success"))] {
        engine.frame(&FrameRequest {
            filter: Some("timeout".to_owned()),
            rest_hidden,
            ..request(Some(viewport))
        });
        let at = |y: f64| engine.hover(&point(y)).map(|it| it.outcome);
        assert_eq!(at(10.0).as_deref(), expected);
        assert_eq!(at(30.0).as_deref(), Some("timed_out"));
    }
}
