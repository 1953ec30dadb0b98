//! Several files as one, and what is said about each.

use std::path::Path;

use herdscope::dataset::Dataset;
use herdscope::engine::{Engine, Turn};
use herdscope::files::{Files, refs, said};
use herdscope::ingest::{Limits, Reader, Reading, Told};
use herdscope::issues::Code;
use herdscope::outcome::Outcome;
use herdscope::view::{FileMark, FileRef, Source};

use crate::given::{fixture, loaded, turns};

const HEAD: &str =
    "trace_id,span_id,parent_span_id,service.name,name,kind,start_time,duration_ms,status";

fn rows(traces: std::ops::Range<u32>) -> String {
    traces.fold(HEAD.to_owned(), |text, at| {
        let second = at % 60;
        text + &format!("\nt{at},s{at},,web,GET,client,2026-01-05T10:00:{second:02}.000Z,30,OK")
    })
}

fn reading(text: &str, told: &str) -> Reading {
    let mut reader = Reader::new(Limits::default()).telling(told.parse().expect("what is told"));
    reader.push(text.as_bytes()).expect("a readable file");
    reader.finish().expect("a readable file")
}

fn of_fixture(name: &str) -> Reading {
    let path = fixture(&Path::new("ingest").join(name).to_string_lossy());
    let bytes = std::fs::read_to_string(path).expect("a fixture");
    reading(&bytes, "")
}

fn merged(readings: Vec<(&str, Reading)>) -> Dataset {
    let named = |(name, it): (&str, Reading)| (name.to_owned(), it);
    Dataset::merged(readings.into_iter().map(named).collect())
}

#[test]
fn any_mix_of_exporters_is_one_dataset() {
    let alone = |name: &str| merged(vec![(name, of_fixture(name))]);
    let names = ["dash0.csv", "jaeger-json.json", "otlp-json.json"];
    let all = merged(names.iter().map(|&name| (name, of_fixture(name))).collect());
    assert_eq!(all.exporter, "dash0 + jaeger-json + otlp-json");
    assert_eq!(all.name, names.join(" + "));
    let spans: Vec<usize> = names.iter().map(|name| alone(name).table.len()).collect();
    let said: Vec<usize> = all.files.iter().map(|it| it.spans as usize).collect();
    assert_eq!(said, spans);
    assert_eq!(all.table.len(), spans.iter().sum::<usize>());
    let edges: usize = names.iter().map(|name| alone(name).edges.len()).sum();
    assert!(all.edges.len() <= edges && !all.edges.is_empty());
}

#[test]
fn what_two_files_say_is_the_earlier_ones() {
    // A different order of rows: the number of the row does not decide.
    let twice = rows(0..30) + "\n" + rows(20..50).split_once('\n').expect("rows").1;
    for (a, b, spans, duplicates) in [
        (rows(0..40), rows(20..60), [40, 20], [0, 20]),
        (rows(20..60), rows(0..40), [40, 20], [0, 20]),
        (rows(0..10), twice, [10, 40], [0, 20]),
    ] {
        let both = merged(vec![("a.csv", reading(&a, "")), ("b.csv", reading(&b, ""))]);
        let of = |at: usize| {
            (
                both.files[at].spans,
                both.files[at].rows - both.files[at].spans,
            )
        };
        assert_eq!([of(0).0, of(1).0], spans);
        assert_eq!([of(0).1, of(1).1], duplicates);
        assert_eq!(both.table.len() as u64, of(0).0 + of(1).0);
    }
}

/// Files, a line each: `digits of the second / span / parent / service / kind / status`, and what is left
/// of them in whatever order they come.
#[test]
fn a_span_of_several_exporters_is_one() {
    let files = |texts: &[&str]| -> Dataset {
        let file = |text: &&str| {
            let head =
                "trace_id,span_id,parent_span_id,service.name,kind,status,start_time,duration_ms";
            let rows = text.split(';').map(|row| {
                let mut cells = row.split('/');
                let time = cells.next().expect("a time");
                let cells: Vec<&str> = cells.collect();
                format!("\nt,{},2026-01-05T10:00:00.{time}Z,30", cells.join(","))
            });
            (
                "a.csv",
                reading(&(head.to_owned() + &rows.collect::<String>()), ""),
            )
        };
        merged(texts.iter().map(file).collect())
    };
    let left = |texts: &[&str]| -> Vec<String> {
        let all = files(texts);
        let table = &all.table;
        let line = |at: usize| {
            let service = table.service_name(table.service[at]);
            let (ns, kind) = (table.start[at] % 1_000_000_000, table.kind[at].as_str());
            format!("{ns} {service} {kind} {}", table.outcome[at].as_str())
        };
        (0..table.len()).map(line).collect()
    };
    let cases: &[(&[&str], &[&str])] = &[
        // What either says, at the finer time.
        (
            &["123456789/a/p/web//", "123/a//web/client/ERROR"],
            &["123456789 web client failure"],
        ),
        // Rounded and cut, of three clocks.
        (
            &[
                "123956789/a//web/client/OK",
                "123956/a//web/client/OK",
                "124/a//web/client/OK",
            ],
            &["123956789 web client success"],
        ),
        // Milliseconds as a floating point number.
        (
            &["123456789/a//web/client/OK", "123456700/a//web/client/OK"],
            &["123456789 web client success"],
        ),
        // Farther apart than the coarser clock's step.
        (
            &["123456789/a//web/client/OK", "122/a//web/client/OK"],
            &[
                "122000000 web client success",
                "123456789 web client success",
            ],
        ),
        // A client and a server that share an id are two, whether their kinds are told or not.
        (
            &[
                "123456789/a//web/client/OK;123556789/a//db/server/OK",
                "123/a//web/client/OK;123/a//db/server/OK",
            ],
            &[
                "123456789 web client success",
                "123556789 db server success",
            ],
        ),
        (
            &[
                "123456789/a//web/client/OK;123556789/a//db/server/OK",
                "123/a//db//OK;123/a//web//OK",
            ],
            &[
                "123456789 web client success",
                "123556789 db server success",
            ],
        ),
        (
            &["123456789/a//web/client/OK", "123/a//web/server/OK"],
            &[
                "123000000 web server success",
                "123456789 web client success",
            ],
        ),
        // Of one file that has an id twice, the finer one decides how many spans these are.
        (
            &[
                "123456789/a//web/client/OK;123556789/a//web/client/OK",
                "123/a//web/client/OK",
            ],
            &[
                "123456789 web client success",
                "123556789 web client success",
            ],
        ),
        (
            &[
                "123456/a//web/client/OK",
                "123/a//web/client/OK;123/a//web/client/ERROR",
            ],
            &["123456000 web client failure"],
        ),
        (
            &[
                "123456/a//web/client/OK",
                "123/a//web/client/OK;123/a//web/client/OK",
            ],
            &["123456000 web client success"],
        ),
        (
            &[
                "123456/a//web/client/OK;123456/a//web/client/OK",
                "123/a//web/client/ERROR",
            ],
            &["123456000 web client failure"],
        ),
        // Ids that the file does not have.
        (
            &["123456///web/client/OK", "123///web/client/OK"],
            &[
                "123000000 web client success",
                "123456000 web client success",
            ],
        ),
    ];
    for (texts, expected) in cases {
        let reversed: Vec<&str> = texts.iter().rev().copied().collect();
        for texts in [texts.to_vec(), reversed] {
            assert_eq!(left(&texts), *expected, "{texts:?}");
            let all = files(&texts);
            let twins: u64 = all.files.iter().map(|it| it.rows - it.spans).sum();
            assert_eq!(all.issues.count(Code::DuplicateRow), twins);
        }
    }
}

#[test]
fn each_file_is_told_its_own() {
    let local = rows(0..5).replace(".000Z", "");
    let both = merged(vec![
        ("a.csv", reading(&rows(0..5), "")),
        ("b.csv", reading(&local, "zone=+02:00")),
    ]);
    // Ten o'clock two hours east of UTC is eight.
    let start = both.table.start.iter().min().copied();
    let alone = merged(vec![("a.csv", reading(&rows(0..5), ""))]);
    assert_eq!(
        start,
        alone
            .table
            .start
            .iter()
            .min()
            .map(|it| it - 7_200_000_000_000)
    );
    let told: Vec<String> = both.files.iter().map(|it| it.told.to_string()).collect();
    assert_eq!(told, ["", "zone=+02:00"]);
    assert!(both.told.is_empty());
    let lines = said(&both.file_lines(), &both.offered());
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(
        (lines[0].part.as_str(), &lines[0].files[..]),
        ("zone", &[1][..])
    );
    assert!(lines[0].told);
}

#[test]
fn issues_of_several_files_name_theirs() {
    let bad = rows(0..3).replace(
        "t1,s1,,web,GET,client,2026",
        "t1,s1,,web,GET,client,soon-2026",
    );
    let both = merged(vec![
        ("a.csv", reading(&rows(0..3), "")),
        ("b.csv", reading(&bad, "")),
    ]);
    let said: Vec<String> = both.issues.iter().map(|it| it.message()).collect();
    assert!(
        said.iter()
            .any(|it| it.starts_with("b.csv, row 3, column start_time")),
        "{said:?}"
    );
}

/// Forty calls, each fourth of them cut at three seconds, and nothing that says so.
fn without_status() -> String {
    let head = "trace_id,span_id,parent_span_id,service,kind,peer.service,start_ms,duration_ms";
    (0..100u32).fold(head.to_owned(), |text, at| {
        let start = 1_767_607_200_000i64 + i64::from(at) * 100;
        let took = if at % 10 == 0 {
            3_000 + at / 10
        } else {
            40 + at
        };
        text + &format!("\nt{at},s{at},,web,client,stock,{start},{took}")
    })
}

#[test]
fn failures_are_judged_without_reading_again() {
    let csv = without_status();
    let fresh = |told: &str| merged(vec![("a.csv", reading(&csv, told))]);
    let mut dataset = fresh("");
    let outcomes = |it: &Dataset| {
        (
            it.table.outcome.clone(),
            it.issues.clone(),
            it.failed_over_proposed,
        )
    };
    assert_eq!(dataset.failed_over_proposed, Some(3_000_000_000));
    for told in ["failed=3s", "failed=100ms", "", "failed=3s,logical=yes", ""] {
        let told_now: Told = told.parse().expect("told");
        dataset.judge(told_now.failed_over, told_now.logical);
        let expected = fresh(told);
        assert_eq!(outcomes(&dataset), outcomes(&expected), "{told}");
        assert_eq!(dataset.told, expected.told);
        assert_eq!(
            said(&dataset.file_lines(), &dataset.offered()),
            said(&expected.file_lines(), &expected.offered()),
            "{told}"
        );
    }
    assert!(!dataset.table.outcome.contains(&Outcome::TimedOut));
}

#[test]
fn a_link_names_each_file_with_what_is_said_about_it() {
    let mark = |name: &str| {
        Source::File(FileMark {
            name: name.to_owned(),
            size: 5,
            hash: 7,
        })
    };
    let mut files = Files::default();
    files.add(0, "a".to_owned(), Some(mark("a")), reading(&rows(0..2), ""));
    files.add(
        1,
        "pasted text".to_owned(),
        None,
        reading(&rows(2..4), "zone=+02:00"),
    );
    files.add(
        2,
        "b".to_owned(),
        Some(mark("b")),
        reading(&rows(4..6), "zone=UTC"),
    );
    let refs = refs(&files.build().file_lines());
    let file = |name: &str, told: Option<&str>| FileRef {
        source: Some(mark(name)),
        told: told.map(str::to_owned),
    };
    assert_eq!(refs, [file("a", None), file("b", Some("zone=UTC"))]);
}

#[test]
fn a_bad_file_costs_itself() {
    let mut engine = Engine::new();
    engine.start();
    engine.next_file("a.csv".to_owned(), None, None, Told::default());
    engine.push(rows(0..3).as_bytes(), 1.0).expect("rows");
    engine.next_file("bad.csv".to_owned(), None, None, Told::default());
    engine
        .push(b"name,age\nAda,36\n", 1.0)
        .expect("too short to be judged");
    engine.skip(false, "gone.csv cannot be fetched.".to_owned());
    engine.next_file("page.csv".to_owned(), None, None, Told::default());
    let html = "<!DOCTYPE html><html><body>no</body></html>".repeat(3_000);
    assert!(engine.push(html.as_bytes(), 1.0).is_err());
    engine.next_file("b.csv".to_owned(), None, None, Told::default());
    let progress = engine.push(rows(3..3_000).as_bytes(), 1.0).expect("rows");
    assert!(progress.spans > 2_000);
    assert!(matches!(turns(&mut engine), Turn::Preview(_)));
    let summary = loaded(&mut engine).expect("two files");
    let read: Vec<(u32, u64)> = summary
        .files
        .iter()
        .map(|it| (it.input, it.spans))
        .collect();
    assert_eq!(read, [(0, 3), (4, 2_997)]);
    let refused: Vec<(u32, &str)> = summary
        .refused
        .iter()
        .map(|it| (it.input, it.text.as_str()))
        .collect();
    assert_eq!(refused.len(), 3, "{refused:?}");
    assert!(refused[0].1.starts_with("bad.csv: ") && refused[0].0 == 1);
    assert_eq!(refused[1], (2, "gone.csv cannot be fetched."));
    assert!(refused[2].1.starts_with("page.csv: ") && refused[2].0 == 3);
    assert!(summary.refused[0].unmapped.is_some() && summary.refused[2].unmapped.is_none());
}
