//! What the panes say, worked out in steps from a recorded herd, whose breakers are known.

use herdscope::engine::{Engine, Step};
use herdscope::herds::{self, averages};
use herdscope::messages::{Answer, Question, Topic};
use herdscope::observed;
use herdscope::panes::{Act, Block, Cell};
use herdscope::view::{View, Viewport};
use herdscope::what_if::KEYS;

use crate::given::herd;

/// What an engine with the herd answers on a topic, for a view.
fn answer(topic: Topic, view: &View) -> Answer {
    let mut engine = Engine::with(herd().clone());
    let answer = engine.answer(Question::of(view, topic));
    answer.expect("the data stays")
}

/// The rows of the table that begins with this head.
fn rows<'a>(answer: &'a Answer, first: &str) -> &'a [Vec<Cell>] {
    let rows = answer.blocks.iter().find_map(|it| match it {
        Block::Table { head, rows } if head[0] == first => Some(rows),
        _ => None,
    });
    rows.unwrap_or_else(|| panic!("no table of {first} in {:?}", answer.blocks))
}

fn said(answer: &Answer) -> String {
    let text = |it: &Block| match it {
        Block::Heading(text) | Block::Text(text) | Block::Note(text) => text.clone(),
        Block::Table { .. } | Block::Field { .. } => String::new(),
    };
    let said: Vec<String> = answer.blocks.iter().map(text).collect();
    said.join("\n")
}

#[test]
fn what_happened_is_what_the_library_tells() {
    let answer = answer(Topic::Happened, &View::default());
    let dataset = herd();
    let edge = &dataset.edges[0];
    let mut seen = observed::observe(&dataset.table, &edge.calls, false);
    let fits = observed::fit(&mut seen, &edge.calls);
    assert_eq!(
        answer.attempts,
        herds::attempts(&dataset.table, &edge.calls, &(&seen).into())
    );
    let first = &rows(&answer, "settings")[0][0];
    assert_eq!(first.act, Some(Act::Settings(fits[0].settings.to_string())));
    assert_eq!(rows(&answer, "setting").len(), fits[0].ranges.len());
    assert!(said(&answer).starts_with("About "), "{}", said(&answer));
}

#[test]
fn a_task_tells_how_far_it_is_and_ends_with_other_data() {
    for topic in [Topic::Happened, Topic::Timeouts, Topic::WhatIf] {
        let mut engine = Engine::with(herd().clone());
        let mut task = engine.task(Question::of(&View::default(), topic));
        let Step::More([done, of]) = engine.step(&mut task) else {
            panic!("{topic:?} is worked out in steps");
        };
        assert!(done <= of, "{topic:?}: {done} of {of}");
        engine.judge(None, None);
        assert!(matches!(engine.step(&mut task), Step::Void), "{topic:?}");
    }
}

#[test]
fn an_attempt_tells_its_story() {
    let answer = answer(Topic::Happened, &View::default());
    let [first, .., last] = &answer.attempts[..] else {
        panic!("the herd has attempts");
    };
    let services: Vec<&str> = first.detail.tiers.iter().map(|it| &*it.service).collect();
    assert_eq!(services, ["shop-web", "edge-proxy", "catalog"]);
    // Three pods until more were started, of which those that came meanwhile serve the last herd.
    assert_eq!(first.detail.served_by, Some(3));
    assert!(last.detail.served_by > Some(3));
    let [before, after] = first.detail.queued_ns.expect("enough calls");
    assert!(after > 2 * before, "{before} to {after}");
    let burst = first.detail.burst.expect("it closed");
    assert!(burst.busiest_second as f64 > 10.0 * burst.minute_average);
    assert!(burst.autoscaler < burst.busiest_second as f64 / 5.0);
    assert!(burst.share_of_minute > 0.9 && burst.share_of_minute <= 1.0);
    let story = first.story().join("\n");
    for part in [
        "Median of the probes",
        "Served by 3 instances",
        "Why dashboards missed it",
    ] {
        assert!(story.contains(part), "{part} is not in {story}");
    }
}

#[test]
fn averages_are_those_of_the_clock_minute_and_of_the_minute_before_the_last_reading() {
    const S: i64 = 1_000_000_000;
    // Ten calls a second from 60 s to 90 s, none before or after, but one at 300 s.
    let mut starts: Vec<i64> = (0..300).map(|at| 60 * S + at * S / 10).collect();
    starts.push(300 * S);
    let cases = [
        // The minute that is looked at, whole.
        (60, 5.0, 0.0),
        (89, 5.0, 10.0),
        // Read at 105 s: from 45 s on, of which the calls cover 45 s.
        (110, 5.0, 300.0 / 45.0),
        (119, 5.0, 300.0 / 45.0),
        (150, 0.0, 0.0),
    ];
    for (second, minute, read) in cases {
        let [got_minute, got_read] = averages(&starts, second * S);
        assert!(
            (got_minute - minute).abs() < 0.2,
            "{second} s: {got_minute}"
        );
        assert!((got_read - read).abs() < 0.4, "{second} s: {got_read}");
    }
    assert_eq!(averages(&[], 0), [0.0, 0.0]);
}

#[test]
fn timeouts_lead_to_their_spans_and_to_settings() {
    let view = View {
        pool: Some(200),
        ..View::default()
    };
    let answer = self::answer(Topic::Timeouts, &view);
    let rows = rows(&answer, "");
    let row = |name: &str| rows.iter().find(|it| it[0].text == name);
    let p50 = row("p50").expect("a percentile");
    let Some(Act::Trace(id)) = &p50[1].act else {
        panic!("{p50:?} leads to no trace");
    };
    assert!(herd().table.find_trace(id).is_some());
    let cut = row("timeout in use").expect("the herd has one");
    assert_eq!(cut[1].text, "500 ms");
    let Some(Act::Look(there)) = cut[2].act else {
        panic!("{cut:?} leads nowhere");
    };
    assert!(there.t0 < there.t1 && there.y0 < there.y1);
    let proposed = row("timeout proposed").expect("a proposal");
    assert!(matches!(&proposed[1].act, Some(Act::Setting(key, _)) if key == "timeout"));
    assert!(said(&answer).contains("A pool of 200: when every call hangs"));

    // One that fits is not remarked on, one that no longer does is.
    for (timeout, remarked) in [
        ("730ms", false),
        ("800ms", false),
        ("5s", true),
        ("50ms", true),
    ] {
        let view = View {
            breaker: Some(format!("window=100,min=20,timeout={timeout}")),
            ..View::default()
        };
        let said = said(&self::answer(Topic::Timeouts, &view));
        assert_eq!(
            said.contains("does not fit these calls"),
            remarked,
            "{timeout}"
        );
    }
}

#[test]
fn other_settings_stand_side_by_side_and_against_each_other() {
    let present = "window=100,min=20,fail=50%,open=60s,probes=10";
    let view = View {
        breaker: Some(present.to_owned()),
        ..View::default()
    };
    let answer = answer(Topic::WhatIf, &view);
    let cases = rows(&answer, "settings");
    assert_eq!(cases[0][0].text, "as it was");
    // What was withheld then is not among the calls: unknown, not zero.
    assert_eq!(cases[0][1].text, "\u{2014}");
    assert!(cases[1][0].present && cases.iter().filter(|it| it[0].present).count() == 1);
    assert!(cases[2..].iter().all(|it| it[0].act.is_some()));
    let grid = rows(&answer, "");
    let here: Vec<&Cell> = grid.iter().flatten().filter(|it| it.present).collect();
    assert_eq!(here.len(), 1);
    assert_eq!(here[0].act, Some(Act::Settings(present.to_owned())));
    assert!(said(&answer).contains("by fail (across) and open (down)"));

    // Every pair of settings is worked out.
    for (x, y) in (0..KEYS.len() as u8).zip((0..KEYS.len() as u8).cycle().skip(1)) {
        let view = View {
            grid: [x, y],
            ..view.clone()
        };
        let answer = self::answer(Topic::WhatIf, &view);
        assert!(!rows(&answer, "").is_empty(), "{x}, {y}");
    }
}

#[test]
fn what_is_in_view_is_compared_with_the_rest() {
    let whole = answer(Topic::Compare, &View::default());
    assert!(said(&whole).starts_with("Everything is in view"));
    let happened = answer(Topic::Happened, &View::default());
    let herd = &happened.attempts[0];
    let view = View {
        viewport: Some(Viewport {
            t0: herd.half_open_ns,
            t1: herd.reopen_last_ns.expect("it was trampled"),
            y0: 0,
            y1: 1_000_000_000,
        }),
        ..View::default()
    };
    let compared = answer(Topic::Compare, &view);
    let spans = &rows(&compared, "")[0];
    assert!(spans[1].text != "0" && spans[2].text != "0");
    // Three pods served the herd, and all others did not.
    let pods = ["catalog-0", "catalog-1", "catalog-2"];
    for it in rows(&compared, "instance") {
        let served = pods.contains(&&*it[0].text) || it[0].text.starts_with("shop-web");
        assert!(
            served || it[1].text == herdscope::format::percent(0),
            "{it:?}"
        );
    }
}
