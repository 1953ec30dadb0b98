//! The place of a trace among all, against lists.

use herdscope::dataset::Dataset;
use herdscope::engine::Engine;
use herdscope::messages::{Question, Topic};
use herdscope::panes::Block;
use herdscope::rows::UNKNOWN_DURATION;
use herdscope::spans::{Rank, SpanIdx, SpanTable};
use herdscope::standing::{Counting, Standing, Standings};
use herdscope::view::{Pane, View};
use proptest::prelude::*;

use crate::given::{dataset, herd};

fn counted(table: &SpanTable, rank: Rank) -> Standings {
    let mut counting = Counting::new(table, rank);
    while counting.step(table) {}
    counting.finish(table)
}

fn lasted(table: &SpanTable, rank: Rank) -> u64 {
    let spans = || table.trace(rank);
    let start = spans().map(|at| table.start[at]).min().unwrap();
    let end = spans().map(|at| table.end(SpanIdx(at as u32))).max();
    end.unwrap().abs_diff(start)
}

/// The same by comparing each with each.
fn naive(table: &SpanTable, rank: Rank) -> Standings {
    let all = (0..table.n_traces()).map(Rank);
    let others: Vec<u64> = all
        .filter(|&it| it != rank)
        .map(|it| lasted(table, it))
        .collect();
    let shorter = |of: &[u64], than: u64| Standing {
        shorter: of.iter().filter(|&&it| it < than).count() as u64,
        of: of.len() as u64,
    };
    let known = |at: &usize| table.duration[*at] != UNKNOWN_DURATION;
    let kind = |at: usize| (table.service[at], table.operation(at), table.kind[at]);
    let span = |at: usize| {
        let others = (0..table.len()).filter(|&it| it != at && kind(it) == kind(at));
        let others: Vec<u64> = others.filter(known).map(|it| table.duration[it]).collect();
        (SpanIdx(at as u32), shorter(&others, table.duration[at]))
    };
    let own = lasted(table, rank);
    Standings {
        trace: (own, shorter(&others, own)),
        spans: table.trace(rank).filter(known).map(span).collect(),
    }
}

/// Rows of some traces, whose spans last so many milliseconds; what is more than 90 is unknown.
fn traces(durations: &[Vec<u64>]) -> Dataset {
    let mut lines = String::new();
    for (trace, spans) in durations.iter().enumerate() {
        for (span, ms) in spans.iter().enumerate() {
            let (service, name) = (["web", "shop"][span % 2], ["GET", "PUT"][span / 2 % 2]);
            let ms = Some(ms).filter(|&&it| it <= 90).map(u64::to_string);
            let ms = ms.unwrap_or_else(|| "?".to_owned());
            lines.push_str(&format!(
                "t{trace} s{span} - {service} server {trace}000+{ms} :{name}\n"
            ));
        }
    }
    dataset(&lines)
}

proptest! {
    #[test]
    fn a_place_is_what_comparing_with_each_gives(
        durations in prop::collection::vec(prop::collection::vec(0u64..100, 1..9), 1..20),
    ) {
        let data = traces(&durations);
        let table = &data.table;
        for rank in (0..table.n_traces()).map(Rank) {
            prop_assert_eq!(counted(table, rank), naive(table, rank));
        }
    }
}

#[test]
fn a_trace_says_its_place() {
    let durations: Vec<Vec<u64>> = (0..30).map(|it| vec![it, 5]).collect();
    let mut engine = Engine::with(traces(&durations));
    let view = View {
        trace: Some("t24".to_owned()),
        pane: Pane::Trace,
        ..View::default()
    };
    let answer = engine.answer(Question::of(&view, Topic::Standing)).unwrap();
    let [Block::Text(text), Block::Table { rows, .. }] = &answer.blocks[..] else {
        panic!("{:?}", answer.blocks);
    };
    // 5 ms are the longest span of six traces.
    assert_eq!(
        text,
        "Its 24 ms are longer than 82.8 % of the 29 other traces."
    );
    let texts: Vec<Vec<&str>> = rows
        .iter()
        .map(|it| it.iter().map(|it| it.text.as_str()).collect())
        .collect();
    assert_eq!(
        texts,
        [
            ["web GET", "24 ms", "82.8 %", "29"],
            ["shop GET", "5 ms", "0 %", "29"]
        ]
    );
    let alone = Engine::with(traces(&[vec![7]]))
        .answer(Question::of(
            &View {
                trace: Some("t0".to_owned()),
                ..View::default()
            },
            Topic::Standing,
        ))
        .unwrap();
    assert_eq!(
        alone.blocks,
        [Block::Text(
            "There is no other trace to compare it with.".to_owned()
        )]
    );
}

#[test]
fn the_waits_of_a_trace_are_those_between_its_spans() {
    let herd = herd();
    let n_traces = herd.table.n_traces();
    let engine = Engine::with(herd);
    let (mut n_waited, mut n_abandoned) = (0, 0);
    for rank in (0..n_traces).step_by(97) {
        let detail = engine.trace_of_rank(rank).unwrap();
        for (nth, label) in detail.spans.iter().enumerate() {
            let caller = detail.spans[..nth]
                .iter()
                .rev()
                .find(|it| it.depth + 1 == label.depth);
            let called = caller.filter(|it| it.service != label.service);
            let waited = called.map(|it| label.start - it.start).filter(|&it| it > 0);
            assert_eq!(label.waited_ns.map(|it| it as i64), waited);
            n_waited += u32::from(waited.is_some());
            if let (Some(abandoned), Some(duration)) = (label.abandoned_ns, label.duration) {
                n_abandoned += 1;
                let gone = label.start + duration as i64 - abandoned as i64;
                assert!(detail.spans.iter().any(|it| {
                    let ended = it.start + it.duration.unwrap_or(0) as i64;
                    ended == gone && it.outcome != "success"
                }));
            }
        }
    }
    assert!(
        n_waited > 100 && n_abandoned > 0,
        "{n_waited} {n_abandoned}"
    );
}
