//! What is taken away: our own reader makes the same of it.

use herdscope::dataset::Dataset;
use herdscope::engine::Engine;
use herdscope::export::json::Json;
use herdscope::filter::{Filter, Matches};
use herdscope::ingest::{Limits, Reader};
use herdscope::messages::Export;
use herdscope::outcome::Outcome;
use herdscope::rows::NONE;
use herdscope::spans::{Parent, SpanIdx, SpanTable};
use herdscope::view::{View, Viewport};
use proptest::prelude::*;
use serde_json::Value;

use crate::cli::{self, json};
use crate::given::{dataset, fixture, herd};

/// What a view shows, or a trace, and how many spans that is: texts have one line here.
fn csv(engine: &Engine, view: &View, trace: Option<&str>) -> (String, u64) {
    let what = trace.map_or(Export::Spans, |it| Export::Trace(it.to_owned()));
    let text = taken(engine, view, &what);
    let spans = text.lines().count() as u64 - 1;
    (text, spans)
}

/// All pieces of it.
fn taken(engine: &Engine, view: &View, what: &Export) -> String {
    let mut exporting = engine.export(view.clone(), what, |it| Value::from(it).to_string());
    let mut text = String::new();
    while engine
        .step_export(&mut exporting, &mut text)
        .expect("the same data")
    {}
    text
}

fn read(text: &str) -> Dataset {
    let mut reader = Reader::new(Limits::default());
    reader.push(text.as_bytes()).expect("a readable file");
    let read = reader.finish().expect("a readable file");
    Dataset::new("taken".to_owned(), None, read)
}

/// All that a table says of its spans, in words.
fn told(table: &SpanTable) -> Vec<String> {
    let name = |text: u32| match text {
        NONE => "",
        text => table.names.get(text),
    };
    let span = |at: usize| {
        let span = SpanIdx(at as u32);
        let parent = match table.parent(span) {
            Parent::Span(it) => String::from(&*table.span_id(it)),
            other => format!("{other:?}"),
        };
        format!(
            "{} {} {parent} {}+{} {} {} {:?} {:?} @{} >{} {:?} {:?}",
            &*table.trace_id(table.rank[at]),
            &*table.span_id(span),
            table.start[at],
            table.duration[at],
            table.service_name(table.service[at]),
            name(table.operation(at)),
            table.kind[at],
            table.outcome[at],
            name(table.instance(at)),
            name(table.peer(at)),
            name(table.message(at)),
            table.recorded(span),
        )
    };
    (0..table.len()).map(span).collect()
}

#[test]
fn a_file_is_read_back_to_the_same_spans() {
    let engine = Engine::with(herd());
    let (text, written) = csv(&engine, &View::default(), None);
    let (before, after) = (herd().table, read(&text));
    assert_eq!(after.exporter, "clickhouse");
    assert_eq!(written, before.len() as u64);
    assert_eq!(told(&after.table), told(&before));
    assert_eq!(after.issues.iter().count(), 0, "{:?}", after.issues);
}

#[test]
fn what_spans_say_is_written() {
    let given = dataset(
        "a 1 - web client 0+5 >db :GET,/a timed_out @pod-1 %half_open/3/0/db
         a 2 1 api server 1+? failed
         a 3 9 api internal 2+3 @it's
         b 1 - web producer 4+1 rejected %open/4/1/db
         b 2 1 web consumer 5+1 :\"x\"
         b 3 1 web unset 5+1",
    );
    let engine = Engine::with(given.clone());
    let (text, _) = csv(&engine, &View::default(), None);
    assert_eq!(told(&read(&text).table), told(&given.table), "{text}");
}

#[test]
fn what_is_in_view_and_meant_is_written_alone() {
    let whole = herd();
    let engine = Engine::with(herd());
    let table = &whole.table;
    let [from, to] = [40_u32, 60];
    let viewport = Viewport {
        t0: table.start[table.band(from..from + 1).start],
        t1: table.start[table.band(to..to + 1).start],
        y0: i64::from(from) * 1000,
        y1: i64::from(to) * 1000,
    };
    let view = View {
        viewport: Some(viewport),
        filter: Some("kind=client".to_owned()),
        ..View::default()
    };
    let filter: Filter = "kind=client".parse().expect("a filter");
    let matches = Matches::of(&filter, table);
    let meant = table.band(from..to).filter(|&at| {
        let end = table.end(SpanIdx(at as u32));
        matches.bits.has(at) && table.start[at] < viewport.t1 && end >= viewport.t0
    });
    let all = told(table);
    let mut expected: Vec<&str> = meant.map(|at| ids(&all[at])).collect();
    let (text, written) = csv(&engine, &view, None);
    let read = told(&read(&text).table);
    let mut got: Vec<&str> = read.iter().map(|it| ids(it)).collect();
    expected.sort_unstable();
    got.sort_unstable();
    assert_eq!(got, expected);
    assert_eq!(written, got.len() as u64);
    assert!(got.len() > 10, "{}", got.len());
}

#[test]
fn a_trace_is_written_whole_whatever_is_in_view() {
    let engine = Engine::with(dataset(
        "a 1 - web client 0+5
         a 2 1 api server 1+2
         b 1 - web client 4+1",
    ));
    let view = View {
        filter: Some("service=nobody".to_owned()),
        ..View::default()
    };
    assert_eq!(csv(&engine, &view, Some("a")).1, 2);
    let (text, written) = csv(&engine, &view, Some("c"));
    assert_eq!((text.lines().count(), written), (1, 0));
}

#[test]
fn an_export_about_other_data_is_void() {
    let mut engine = Engine::with(herd());
    let mut exporting = engine.export(View::default(), &Export::Spans, |_| String::new());
    engine.judge(None, None);
    let step = engine.step_export(&mut exporting, &mut String::new());
    assert_eq!(step, None);
}

#[test]
fn the_json_is_that_of_the_command_line() {
    let path = fixture("herd/four.csv.gz");
    let path = path.to_str().expect("a path");
    let engine = Engine::with(herd());
    let cases = [
        (None, false),
        (Some("window=100,min=20,fail=50%,open=60s,probes=10"), true),
    ];
    for (breaker, shared) in cases {
        let view = View {
            breaker: breaker.map(str::to_owned),
            shared,
            ..View::default()
        };
        let text = taken(&engine, &view, &Export::Json);
        let text = text.replace("\"given\"", "\"four.csv.gz\"");
        let mut taken: Value = serde_json::from_str(&text).expect("JSON");
        let said = |command: &str| {
            let mut arguments = vec![command, path, "--json"];
            if command != "inspect" {
                arguments.extend(breaker.iter().flat_map(|it| ["--breaker", it]));
                arguments.extend(["--per-instance", if shared { "no" } else { "yes" }]);
            }
            json(&cli::run(&arguments))
        };
        for command in ["inspect", "herds", "replay"] {
            assert_eq!(taken[command].take(), said(command), "{command}");
        }
    }
    let nothing = taken(&Engine::new(), &View::default(), &Export::Json);
    let nothing: Value = serde_json::from_str(&nothing).expect("JSON");
    assert_eq!(nothing["herds"]["edge"], Value::Null);
}

#[test]
fn texts_in_json_are_escaped() {
    let text = "a\"b\\c\n\u{1}\u{e9}";
    let printed = Json::print(|_| String::new(), |to| to.object(text, |_| ()));
    let read: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(read, serde_json::json!({ text: {} }));
}

fn ids(told: &str) -> &str {
    let end = told.match_indices(' ').nth(1).map_or(0, |it| it.0);
    &told[..end]
}

proptest! {
    #[test]
    fn texts_come_back(texts in proptest::collection::vec("[a-zß][ -~äß\n\t]{0,12}", 3)) {
        use herdscope::export::csv::{HEADER, Line, write};
        let mut text = HEADER.to_owned();
        let [operation, message, service] = [0, 1, 2].map(|at: usize| texts[at].trim());
        write(&mut text, &Line {
            trace: "00000000000000000000000000000001",
            span: "0000000000000001",
            parent: "",
            start: 1_700_000_000_000_000_000,
            duration: 5,
            service,
            operation,
            kind: herdscope::rows::Kind::Client,
            outcome: Outcome::Failure,
            instance: "pod",
            peer: "",
            message,
            breaker: None,
        });
        let read = read(&text).table;
        prop_assert_eq!(read.len(), 1);
        let name = |text: u32| read.names.get(text);
        prop_assert_eq!(name(read.operation(0)), operation);
        prop_assert_eq!(name(read.message(0)), message);
        prop_assert_eq!(read.service_name(read.service[0]), service);
    }
}
