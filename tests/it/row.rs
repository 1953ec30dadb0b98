//! The row of a span, read again from its file: which file, from where on, and why there may be none.

use herdscope::clickhouse::Asked;
use herdscope::engine::Engine;
use herdscope::ingest::Told;
use herdscope::messages::SpanLabel;
use herdscope::panes::Block;
use herdscope::samples;
use herdscope::view::{FileMark, Source};

use crate::given::loaded;

const HEAD: &str = "trace_id,span_id,service.name,name,start_time,duration_ms,note,attributes\n";

/// A file of traces whose names begin so.
fn csv(name: &str, rows: usize) -> String {
    let row = |at: usize| {
        format!(
            "{name}{at},s,web,GET,2026-01-05T10:00:{:02}.000Z,30,\"note\n{name}{at}\",\"{{'k':'{name}{at}','l':'x'}}\"\n",
            at % 60
        )
    };
    (0..rows).fold(HEAD.to_owned(), |text, at| text + &row(at))
}

fn mark(name: &str) -> Source {
    Source::File(FileMark {
        name: name.to_owned(),
        size: 1,
        hash: 1,
    })
}

fn opened(files: &[(&str, Option<Source>, &str)]) -> Engine {
    let mut engine = Engine::new();
    engine.start();
    for (name, source, text) in files {
        engine.next_file((*name).to_owned(), source.clone(), None, Told::default());
        engine.push(text.as_bytes(), 0.0).unwrap();
    }
    loaded(&mut engine).unwrap();
    engine
}

/// The first span of a trace.
fn span(engine: &Engine, trace: &str) -> SpanLabel {
    engine.trace(trace).unwrap().spans.remove(0)
}

/// What is said of a span, its file given in pieces.
fn said(engine: &Engine, span: &SpanLabel, files: &[&str]) -> Result<Vec<String>, String> {
    let mut row = engine.row(span.at)?;
    let bytes = files[usize::from(span.file)].as_bytes();
    let bytes = bytes.get(row.from as usize..).unwrap_or_default();
    for piece in bytes.chunks(100) {
        if row.push(piece) {
            break;
        }
    }
    let mut lines = Vec::new();
    for block in row.finish()? {
        match block {
            Block::Heading(text) => lines.push(text),
            Block::Table { rows, .. } => {
                let line =
                    |it: Vec<herdscope::panes::Cell>| [&it[0].text, "=", &it[1].text].concat();
                lines.extend(rows.into_iter().map(line));
            }
            other => panic!("{other:?}"),
        }
    }
    Ok(lines)
}

#[test]
fn the_row_of_a_span_is_read_from_its_own_file() {
    let (a, b) = (csv("a", 300), csv("b", 500));
    let engine = opened(&[("a.csv", Some(mark("a.csv")), &a), ("b.csv", None, &b)]);
    for (trace, second) in [
        ("a0", 0),
        ("a299", 59),
        ("b0", 0),
        ("b63", 3),
        ("b64", 4),
        ("b499", 19),
    ] {
        let span = span(&engine, trace);
        let expected = [
            format!("trace_id={trace}"),
            "span_id=s".to_owned(),
            "service.name=web".to_owned(),
            "name=GET".to_owned(),
            format!("start_time=2026-01-05T10:00:{second:02}.000Z"),
            "duration_ms=30".to_owned(),
            format!("note=note\n{trace}"),
            "attributes".to_owned(),
            format!("k={trace}"),
            "l=x".to_owned(),
        ];
        assert_eq!(said(&engine, &span, &[&a, &b]).unwrap(), expected);
    }
    // Of a large file what stands near the row, however far in it is.
    let last = engine.row(span(&engine, "b499").at).unwrap();
    assert!(last.from as usize > b.len() * 4 / 5 && last.url.is_none());
}

#[test]
fn what_comes_from_an_address_comes_from_its_beginning() {
    let text = csv("a", 200);
    let url = "https://a.example/a.csv".to_owned();
    let engine = opened(&[("a.csv", Some(Source::Url(url.clone())), &text)]);
    let span = span(&engine, "a199");
    let row = engine.row(span.at).unwrap();
    assert_eq!((row.from, row.url), (0, Some(url)));
    assert!(said(&engine, &span, &[&text]).is_ok());
}

#[test]
fn a_file_that_has_changed_says_nothing_wrong() {
    let text = csv("a", 200);
    let engine = opened(&[("a.csv", Some(mark("a.csv")), &text)]);
    let span = span(&engine, "a150");
    for changed in [
        text.replace("a150", "c150"),
        text.replacen('\n', "\n\n\nx\n", 1),
        text[..9_000].to_owned(),
    ] {
        let why = said(&engine, &span, &[&changed]).unwrap_err();
        assert!(
            why.starts_with("a.csv has changed since it was read"),
            "{why}"
        );
    }
}

#[test]
fn what_has_no_rows_says_so() {
    let json = r#"{"data":[{"traceID":"a0","spans":[{"traceID":"a0","spanID":"s","operationName":"o","startTime":1767607200123000,"duration":5}]}]}"#;
    let asked = Source::ClickHouse(Box::new(
        Asked::parse("clickhouse:http://localhost:8123").unwrap(),
    ));
    for (source, text, why) in [
        (
            None,
            json,
            "it is no table: rows are read again of CSV and other tables only.",
        ),
        (
            Some(asked),
            &*csv("a", 3),
            "it is an answer that is not kept",
        ),
    ] {
        let engine = opened(&[("it", source, text)]);
        let said = said(&engine, &span(&engine, "a0"), &[text]).unwrap_err();
        assert!(said.starts_with(why), "{said}");
    }
    let engine = Engine::with(samples::dataset("incident").unwrap());
    let why = engine.row(0).err().unwrap();
    assert!(
        why.contains("is simulated: its spans stand in no file."),
        "{why}"
    );
    // Neither is there one of a span that is not there.
    assert!(engine.row(u32::MAX).is_err());
    assert!(Engine::new().row(0).is_err());
}

#[test]
fn no_row_is_read_while_files_are() {
    let text = csv("a", 3);
    let mut engine = opened(&[("a.csv", None, &text)]);
    let span = span(&engine, "a0");
    engine.start();
    let why = said(&engine, &span, &[&text]).unwrap_err();
    assert!(why.starts_with("Rows are read again when"), "{why}");
    engine.cancel();
    assert!(said(&engine, &span, &[&text]).is_ok());
}
