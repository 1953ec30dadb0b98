//! Documents of Jaeger and OpenTelemetry: the same incident as its table, cut, broken, too large, and
//! any bytes at all.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

use herdscope::ingest::time::parse_time;
use herdscope::ingest::{Limits, Reader, Reading, UnreadableKind};
use herdscope::issues::Code;
use herdscope::rows::{Kind, NONE};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{check, files, fixtures, print, read, read_with};

/// A span of the table that the twins are made from.
struct Span {
    ids: [String; 3],
    name: String,
    kind: String,
    start: i64,
    duration: i64,
    failed: bool,
    message: String,
    resource: Vec<(String, String)>,
    attributes: Vec<(String, String)>,
}

fn table() -> Vec<u8> {
    let packed = std::fs::read(fixtures().join("../herd/twins.csv.gz")).unwrap();
    let mut table = Vec::new();
    let mut gz = flate2::read::GzDecoder::new(&packed[..]);
    gz.read_to_end(&mut table).unwrap();
    table
}

/// `{'k':'v'}`, quotes escaped with backslashes.
fn map(text: &str) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    let mut chars = text.chars();
    while chars.by_ref().any(|c| c == '\'') {
        let mut text = String::new();
        while let Some(c) = chars.next().filter(|&c| c != '\'') {
            text.push(if c == '\\' { chars.next().unwrap() } else { c });
        }
        texts.push(text);
    }
    let pairs = texts.chunks(2);
    pairs.map(|it| (it[0].clone(), it[1].clone())).collect()
}

fn spans() -> Vec<Span> {
    let table = table();
    let mut csv = csv::Reader::from_reader(&table[..]);
    let headers = csv.headers().unwrap().clone();
    let spans = csv.records().map(|record| {
        let record = record.unwrap();
        let cell = |name: &str| {
            let at = headers.iter().position(|it| it == name).unwrap();
            record[at].to_owned()
        };
        Span {
            ids: [cell("TraceId"), cell("SpanId"), cell("ParentSpanId")],
            name: cell("SpanName"),
            kind: cell("SpanKind"),
            start: parse_time(&cell("Timestamp"), None).unwrap().ns,
            duration: cell("Duration").parse().unwrap(),
            failed: cell("StatusCode") == "Error",
            message: cell("StatusMessage"),
            resource: map(&cell("ResourceAttributes")),
            attributes: map(&cell("SpanAttributes")),
        }
    });
    spans.collect()
}

/// One group of resource spans a resource, in the order of the spans.
fn otlp(spans: &[Span]) -> Value {
    let attributes = |pairs: &[(String, String)]| -> Value {
        let one = |(key, value): &(String, String)| match value.parse::<u32>() {
            Ok(_) => json!({"key": key, "value": {"intValue": value}}),
            Err(_) => json!({"key": key, "value": {"stringValue": value}}),
        };
        pairs.iter().map(one).collect()
    };
    let groups = spans.chunk_by(|a, b| a.resource == b.resource);
    let groups = groups.map(|group| {
        let spans = group.iter().map(|span| {
            let kind = ["Internal", "Server", "Client"]
                .iter()
                .position(|it| *it == span.kind);
            let status = if span.failed {
                json!({"code": 2, "message": span.message})
            } else {
                json!({})
            };
            json!({
                "traceId": span.ids[0],
                "spanId": span.ids[1],
                "parentSpanId": span.ids[2],
                "name": span.name,
                "kind": kind.unwrap() + 1,
                "startTimeUnixNano": span.start.to_string(),
                "endTimeUnixNano": span.start + span.duration,
                "attributes": attributes(&span.attributes),
                "status": status,
            })
        });
        json!({
            "resource": {"attributes": attributes(&group[0].resource)},
            "scopeSpans": [{"scope": {"name": "io.otel"}, "spans": spans.collect::<Value>()}],
        })
    });
    json!({"resourceSpans": groups.collect::<Value>()})
}

/// One trace a trace, spans and processes as Jaeger's own query gives them.
fn jaeger(spans: &[Span]) -> Value {
    let mut traces: BTreeMap<&str, Vec<&Span>> = BTreeMap::new();
    for span in spans {
        traces.entry(&span.ids[0]).or_default().push(span);
    }
    let tag = |key: &str, value: &str| match value.parse::<u32>() {
        Ok(number) => json!({"key": key, "type": "int64", "value": number}),
        Err(_) => json!({"key": key, "type": "string", "value": value}),
    };
    let traces = traces.iter().map(|(id, spans)| {
        let mut processes: Vec<&Vec<(String, String)>> =
            spans.iter().map(|it| &it.resource).collect();
        processes.sort();
        processes.dedup();
        let spans = spans.iter().map(|span| {
            let mut tags: Vec<Value> = span.attributes.iter().map(|(k, v)| tag(k, v)).collect();
            tags.push(tag("span.kind", &span.kind.to_lowercase()));
            if span.failed {
                tags.push(tag("otel.status_code", "ERROR"));
                tags.push(json!({"key": "error", "type": "bool", "value": true}));
            }
            if !span.message.is_empty() {
                tags.push(tag("otel.status_description", &span.message));
            }
            let process = processes
                .iter()
                .position(|it| **it == span.resource)
                .unwrap();
            let parent = json!({"refType": "CHILD_OF", "spanID": span.ids[2]});
            let references = if span.ids[2].is_empty() {
                json!([])
            } else {
                json!([parent])
            };
            json!({
                "traceID": span.ids[0],
                "spanID": span.ids[1],
                "operationName": span.name,
                "references": references,
                "startTime": span.start / 1_000,
                "duration": span.duration / 1_000,
                "tags": tags,
                "logs": [],
                "processID": format!("p{process}"),
                "warnings": null,
            })
        });
        let spans: Value = spans.collect();
        let processes = processes.iter().enumerate().map(|(at, resource)| {
            let service = resource.iter().find(|it| it.0 == "service.name").unwrap();
            let tags = resource.iter().filter(|it| it.0 != "service.name");
            let tags: Value = tags.map(|(k, v)| tag(k, v)).collect();
            (
                format!("p{at}"),
                json!({"serviceName": service.1, "tags": tags}),
            )
        });
        let processes: serde_json::Map<String, Value> = processes.collect();
        json!({"traceID": id, "spans": spans, "processes": processes, "warnings": null})
    });
    json!({"data": traces.collect::<Value>(), "total": 0, "errors": null})
}

/// All that a reading says of its spans, by trace and span, times in a unit of so many nanoseconds.
fn told(reading: &Reading, unit: i64) -> BTreeMap<(String, String), String> {
    let rows = &reading.rows;
    let name = |index: u32| {
        if index == NONE {
            "-"
        } else {
            rows.names.get(index)
        }
    };
    let one = |i: usize| {
        let parent = rows.parent_id(i);
        let told = format!(
            "<{} {} {} {} {:?} {:?} {:?} @{} >{} {:?}",
            parent.as_deref().unwrap_or("-"),
            rows.start[i].div_euclid(unit),
            rows.duration[i] / unit as u64,
            name(rows.label_set(i).service),
            name(rows.label_set(i).operation),
            rows.label_set(i).kind,
            rows.label_set(i).outcome,
            name(rows.label_set(i).instance),
            name(rows.label_set(i).peer),
            name(rows.label_set(i).message),
        );
        let (trace, span) = (rows.trace_id(i), rows.span_id(i));
        ((trace.to_owned(), span.to_owned()), told)
    };
    (0..rows.len()).map(one).collect()
}

#[test]
fn an_incident_is_the_same_in_all_formats() {
    let (expected, spans) = (read(&table()).unwrap(), spans());
    assert_eq!(expected.rows.len(), 1_904);
    let twins = [
        (otlp(&spans), 1, "otlp-json"),
        (jaeger(&spans), 1_000, "jaeger-json"),
    ];
    for (twin, unit, exporter) in twins {
        // serde_json writes keys in their order: processes come before spans, resources before scopes.
        let sorted = twin.to_string();
        let spread = serde_json::to_string_pretty(&twin).unwrap();
        let turned = sorted
            .replace("\"processes\":{", "\"spans\":[],\"processes\":{")
            .replace("\"scopeSpans\":[", "\"scopeSpans\":[],\"scope_spans\":[");
        for text in [&sorted, &spread, &turned, &format!("\u{feff}\n {sorted}\n")] {
            let reading = read(text.as_bytes()).unwrap();
            assert_eq!(reading.exporter, exporter);
            assert!(reading.issues.is_empty(), "{:?}", reading.issues);
            assert!(reading.assumed == herdscope::ingest::Assumed::default());
            let (got, expected) = (told(&reading, unit), told(&expected, unit));
            assert_eq!(got.len(), expected.len());
            for (id, told) in &expected {
                assert_eq!(&got[id], told, "{exporter} {id:?}");
            }
        }
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(sorted.as_bytes()).unwrap();
        let packed = read(&gz.finish().unwrap()).unwrap();
        assert_eq!(print(&packed), print(&read(sorted.as_bytes()).unwrap()));
    }
}

/// The fixtures, each of which a cut leaves with the rows before it.
#[test]
fn a_cut_file_gives_what_it_holds() {
    for file in files(fixtures(), "json") {
        let bytes = std::fs::read(&file).unwrap();
        let whole = read(&bytes).unwrap();
        let mut most = 0;
        for end in 0..bytes.trim_ascii_end().len() {
            let reading = match read(&bytes[..end]) {
                Ok(reading) => reading,
                Err(why) => {
                    assert_eq!(most, 0, "{file:?} cut at {end}: {why}");
                    continue;
                }
            };
            let rows = reading.rows.len();
            assert!(rows >= most, "{file:?} cut at {end}");
            most = rows;
            let lines = bytes[..end].ends_with(b"}") || bytes[..end].ends_with(b"\n");
            let cut = reading.issues.count(Code::RowTruncated);
            assert!(cut == 1 || lines && cut == 0, "{file:?} cut at {end}");
        }
        assert_eq!(most, whole.rows.len(), "{file:?}");
    }
}

#[test]
fn what_holds_no_spans_is_refused_in_one_sentence() {
    let read_are = "expected Jaeger's JSON (data, spans, processes), OpenTelemetry's (resourceSpans, or \
                    batches as of Tempo) or a table of spans (CSV): download the trace itself from Jaeger \
                    or Tempo, or export the spans as CSV";
    for (text, got) in [
        ("{}", "this JSON has no traces"),
        ("[1,2,{\"a\":\"b\"}]", "this JSON has no traces, but a"),
        (
            "{\"resourceMetrics\":[{\"resource\":{}}],\"x\\ny\":null}",
            "this JSON has no traces, but resourceMetrics, x y",
        ),
        (
            "{\"data\":[\"frontend\",\"checkout\"],\"total\":2}",
            "this JSON has no traces, but data, total",
        ),
        (
            "{\"data\":null,\"errors\":[{\"code\":404,\"msg\":\"trace not found\"}]}",
            "this JSON has no traces, but data, errors",
        ),
        ("{\"resourceSp", "this JSON ends before its first span"),
        (
            "{name: \"x\"}",
            "after byte 1: this is no JSON any more, and no span came before",
        ),
        (
            "[object Object],[object Object]\n",
            "after byte 8: this is no JSON any more, and no span came before",
        ),
    ] {
        check(text, &format!("{got}; {read_are}"));
        let why = read(text.as_bytes()).unwrap_err();
        assert_eq!(why.kind, UnreadableKind::Json);
    }
}

#[test]
fn no_spans_are_no_refusal() {
    for (text, exporter) in [
        ("{\"data\":[],\"total\":0,\"errors\":null}", "jaeger-json"),
        (
            "{\"data\":[{\"traceID\":\"1\",\"spans\":[]}]}",
            "jaeger-json",
        ),
        ("{\"resourceSpans\":[]}", "otlp-json"),
        ("{\"batches\":[{}]}", "otlp-json"),
        ("{\"trace\":{\"resourceSpans\":[{}]}}", "otlp-json"),
    ] {
        let reading = read(text.as_bytes()).unwrap();
        assert_eq!(
            (reading.exporter, reading.rows.len()),
            (exporter, 0),
            "{text}"
        );
        assert_eq!(reading.issues.count(Code::NoRows), 1, "{text}");
    }
}

const HEAD: &str = "{\"data\":[{\"spans\":[";
const SPAN: &str =
    "{\"traceID\":\"t\",\"spanID\":\"s\",\"startTime\":1767607200123456,\"duration\":7}";
const TAIL: &str = "]}]}";

#[test]
fn a_bad_span_costs_itself() {
    let bad = |change: (&str, &str)| SPAN.replacen(change.0, change.1, 1);
    let spans = [
        SPAN.to_owned(),
        bad(("1767607200123456", "\"soon\"")),
        bad(("1767607200123456", "99999999999999999999")),
        bad((",\"startTime\":1767607200123456", "")),
        bad(("7}", "\"quick\"}")),
        bad(("7}", "null}")),
        bad(("7}", "-7}")),
        bad(("\"t\"", "{\"traceID\":[\"t\"]}")),
        "null".to_owned(),
        bad(("\"s\"", "\"\u{e9}\\u00e9\"")),
    ];
    check(
        format!("{HEAD}{}{TAIL}", spans.join(",")),
        r#"jaeger-json
           ! bad_time x3 row 2 startTime "soon"
           ! bad_duration x2 row 5 duration "quick"
           ! negative_duration x1 row 7 duration "-7"
           ! missing_id x1 row 8 traceID
           t/s<- 2026-01-05T10:00:00.123456000Z 7us  "" unset success @- >- "" #1
           t/s<- 2026-01-05T10:00:00.123456000Z ?  "" unset success @- >- "" #5
           t/s<- 2026-01-05T10:00:00.123456000Z ?  "" unset success @- >- "" #6
           t/s<- 2026-01-05T10:00:00.123456000Z ?  "" unset success @- >- "" #7
           row:8/s<- 2026-01-05T10:00:00.123456000Z 7us  "" unset success @- >- "" #8
           t/éé<- 2026-01-05T10:00:00.123456000Z 7us  "" unset success @- >- "" #9"#,
    );
}

#[test]
fn broken_text_costs_its_document() {
    let line = format!("{HEAD}{SPAN}{TAIL}");
    let broken = format!(
        "{HEAD}{SPAN},{}",
        SPAN.replace("\"duration\":", "\"duration\"")
    );
    check(
        format!("{line}\n{broken}{TAIL}\n{line}\n{broken}"),
        r#"jaeger-json
           ! json_broken x2 row 3 "after byte 251"
           t/s<- 2026-01-05T10:00:00.123456000Z 7us  "" unset success @- >- "" #1
           t/s<- 2026-01-05T10:00:00.123456000Z 7us  "" unset success @- >- "" #2
           t/s<- 2026-01-05T10:00:00.123456000Z 7us  "" unset success @- >- "" #4
           t/s<- 2026-01-05T10:00:00.123456000Z 7us  "" unset success @- >- "" #5"#,
    );
}

#[test]
fn texts_that_are_no_utf_8_are_latin_1() {
    let text = format!("{HEAD}{SPAN}{TAIL}");
    let (before, after) = text.split_once("\"s\"").unwrap();
    let bytes = [before.as_bytes(), b"\"\xE9\"", after.as_bytes()].concat();
    check(
        bytes,
        r#"jaeger-json
           ! encoding x1 row 1
           t/é<- 2026-01-05T10:00:00.123456000Z 7us  "" unset success @- >- "" #1"#,
    );
}

#[test]
fn nesting_costs_no_stack() {
    for open in ["[", "{\"data\":", "{\"data\":[", "[{\"spans\":"] {
        let deep = open.repeat(300_000);
        let _ = read(deep.as_bytes()).map(|it| print(&it));
        let tags = SPAN.replace("7}", &format!("7,\"tags\":[{{\"value\":{deep}"));
        let reading = read(format!("{HEAD}{SPAN},{tags}").as_bytes()).unwrap();
        assert_eq!(reading.rows.len(), 1);
        assert_eq!(reading.issues.count(Code::RowTruncated), 1);
    }
}

#[test]
fn what_is_kept_is_bounded() {
    let limits = Limits {
        longest_row: 10_000,
        waiting: 100_000,
        ..Limits::default()
    };
    let kind = |text: &str| {
        let kinds = [1, 700, text.len()].map(|piece| {
            let reading = read_with(text.as_bytes(), limits, piece);
            reading
                .map(|it| (it.rows.len(), it.issues.count(Code::RowTooLong)))
                .map_err(|why| (why.kind, why.place))
        });
        assert_eq!(kinds[0], kinds[1]);
        assert_eq!(kinds[0], kinds[2]);
        kinds[0].clone()
    };
    let long = "x".repeat(20_000);
    let with = |name: &str, value: &str| SPAN.replace("7}", &format!("7,\"{name}\":{value}}}"));

    // What is not read may have any length.
    let tag = |key: &str, value: &str| format!("{{\"key\":\"{key}\",\"value\":\"{value}\"}}");
    let unread = with("tags", &format!("[{}]", tag("db.statement", &long)));
    let unread = unread.replace("7,", &format!("7,\"warnings\":[\"{long}\"],"));
    assert_eq!(kind(&format!("{HEAD}{unread},{SPAN}{TAIL}")), Ok((2, 0)));

    // One text, and many that add up.
    let named = with("operationName", &format!("\"{long}\""));
    let tags = vec![tag("k8s.pod.name", "pod"); 1_000].join(",");
    let tagged = with("tags", &format!("[{tags}]"));
    let again = format!("\"0\"{}", ",\"spanID\":\"0123456789\"".repeat(2_000));
    let again = with("spanID", &again);
    let refers = with(
        "references",
        &format!("[{}]", vec!["{\"spanID\":\"a\"}"; 1_000].join(",")),
    );
    for span in [named, tagged, again, refers] {
        let got = kind(&format!("{HEAD}{SPAN},{span},{SPAN}{TAIL}"));
        assert_eq!(got, Ok((2, 1)));
    }

    // What a span belongs to costs itself, too.
    let process = format!("\"p\":{{\"serviceName\":\"{long}\"}}");
    let got = kind(&format!("{HEAD}{SPAN}],\"processes\":{{{process}}}}}]}}"));
    assert_eq!(got, Ok((1, 1)));

    // Spans that wait, and processes that nobody needs.
    let many = vec![SPAN; 3_000].join(",");
    let got = kind(&format!("{HEAD}{many}{TAIL}"));
    assert!(
        matches!(got, Err((UnreadableKind::TraceTooLong, _))),
        "{got:?}"
    );
    let processes: Vec<String> = (0..9_000)
        .map(|i| format!("\"p{i}\":{{\"serviceName\":\"s\"}}"))
        .collect();
    let processes = format!("\"processes\":{{{}}}", processes.join(","));
    let got = kind(&format!("{{\"data\":[{{{processes}}}]}}"));
    assert!(
        matches!(got, Err((UnreadableKind::TraceTooLong, _))),
        "{got:?}"
    );

    // After their processes spans do not wait, and traces do not add up.
    let settled = HEAD.replace("\"spans\"", "\"processes\":{},\"spans\"");
    assert_eq!(kind(&format!("{settled}{many}{TAIL}")), Ok((3_000, 0)));
    let traces = vec![format!("{{\"spans\":[{SPAN}]}}"); 3_000].join(",");
    assert_eq!(kind(&format!("{{\"data\":[{traces}]}}")), Ok((3_000, 0)));
}

#[test]
fn what_a_person_says_is_heeded() {
    let text = format!(
        "{HEAD}{}{TAIL}",
        SPAN.replace("7}", "7000,\"operationName\":\"n\"}")
    );
    let telling = |told: &str| {
        let mut reader = Reader::new(Limits::default()).telling(told.parse().unwrap());
        reader.push(text.as_bytes()).unwrap();
        print(&reader.finish().unwrap())
    };
    let told = telling("duration=@ns,service=operationName");
    assert!(told.contains(" 7us n \"n\" "), "{told}");
    // Documents have no such column, and a span has to have a start.
    for part in ["start=when", "start="] {
        let told = telling(part);
        assert!(
            told.contains("! told_missing x1") && told.contains(" 7ms  \"n\" "),
            "{told}"
        );
    }
}

#[test]
fn rows_are_there_while_reading() {
    let mut reader = Reader::new(Limits {
        sniffed: 10,
        ..Limits::default()
    });
    reader.push(HEAD.as_bytes()).unwrap();
    reader.push(SPAN.as_bytes()).unwrap();
    assert_eq!(reader.rows().len(), 0, "its process may come yet");
    reader.push(b"]},").unwrap();
    assert_eq!(reader.rows().len(), 1);
    assert_eq!(reader.rows().label_set(0).kind, Kind::Unset);
}

/// What a reader of JSON minds.
const SCRAPS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\n",
    "\n{",
    " ",
    "null",
    "1",
    "-",
    "\u{feff}",
    "\\u00",
    "\\ud83d",
    "é",
    "{\"data\":[",
    "\"spans\":[",
    "{\"resourceSpans\":[",
    "{\"scopeSpans\":[{\"spans\":[",
    "]}]}]}",
    "\"processes\":{\"p\":{\"serviceName\":\"web\"}}",
    "\"resource\":{\"attributes\":[",
    "\"processID\":\"p\"",
    "\"traceID\":\"t\"",
    "\"spanID\":\"s\"",
    "\"startTime\":1767607200123456",
    "\"duration\":7",
    "\"startTimeUnixNano\":\"1767607200123456789\"",
    "\"endTimeUnixNano\":1767607200123456790",
    "\"traceId\":\"ej9cHpstQGiMHw5Ka32eIQ==\"",
    "\"attributes\":[",
    "{\"key\":\"k8s.pod.name\",\"value\":",
    "{\"stringValue\":\"pod\"}",
    "\"references\":[{\"refType\":\"CHILD_OF\",\"spanID\":\"r\"}]",
    "\"tags\":[",
];

/// All that a reader says of bytes, read in pieces.
fn shown(bytes: &[u8], limits: Limits, piece: usize) -> String {
    match read_with_no_count(bytes, limits, piece) {
        Ok(reading) => print(&reading),
        Err(why) => why.to_string(),
    }
}

fn read_with_no_count(
    bytes: &[u8],
    limits: Limits,
    piece: usize,
) -> Result<Reading, herdscope::ingest::Unreadable> {
    let mut reader = Reader::new(limits);
    for piece in bytes.chunks(piece) {
        reader.push(piece)?;
    }
    reader.finish()
}

const TIGHT: Limits = Limits {
    longest_row: 60,
    longest_header: 200,
    gz_ratio: 3,
    gz_free: 500,
    sniffed: 16,
    waiting: 500,
};

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_gives_the_same(
        scraps in prop::collection::vec(prop::sample::select(SCRAPS), 0..60),
        list in any::<bool>(),
        piece in 1usize..40,
    ) {
        let bytes = format!("{}{}", if list { "[" } else { "{" }, scraps.concat());
        for limits in [TIGHT, Limits::default()] {
            let whole = shown(bytes.as_bytes(), limits, bytes.len());
            prop_assert_eq!(&shown(bytes.as_bytes(), limits, piece), &whole);
            prop_assert_eq!(&shown(bytes.as_bytes(), limits, 1), &whole);
        }
    }

    /// Bytes of good documents changed, left out, doubled.
    #[test]
    fn documents_with_errors_are_survived(
        which in 0usize..5,
        errors in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..12),
        piece in 1usize..400,
    ) {
        let mut bytes = std::fs::read(&files(fixtures(), "json")[which]).unwrap();
        for (from, to, byte, change) in errors {
            let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
            match change {
                0 => bytes[from] = byte,
                1 => bytes[from] = SCRAPS[usize::from(byte) % SCRAPS.len()].as_bytes()[0],
                2 => drop(bytes.drain(from.min(to)..from.max(to).min(from.min(to) + 50))),
                _ => {
                    let copied = bytes[from.min(to)..from.max(to).min(from.min(to) + 200)].to_vec();
                    bytes.splice(from..from, copied);
                }
            }
            if bytes.is_empty() {
                bytes.push(b'{');
            }
        }
        let whole = shown(&bytes, Limits::default(), bytes.len());
        prop_assert_eq!(&shown(&bytes, Limits::default(), piece), &whole);
        let _ = shown(&bytes, TIGHT, piece);
    }

    /// What is printed by the one who wrote the grammar is read as it stands.
    #[test]
    fn any_texts_are_read_as_they_were_written(name in ".{0,30}", pod in "[^-]{1,9}", start in 0i64..1 << 62, dense in any::<bool>()) {
        let document = json!({"resourceSpans": [{
            "resource": {"attributes": [{"key": "k8s.pod.name", "value": {"stringValue": pod}}]},
            "scopeSpans": [{"spans": [{"traceId": "t", "spanId": "s", "name": name, "startTimeUnixNano": start}]}],
        }]});
        let text = if dense { document.to_string() } else { serde_json::to_string_pretty(&document).unwrap() };
        let rows = read(text.as_bytes()).unwrap().rows;
        prop_assert_eq!(&rows.start, &[start]);
        prop_assert_eq!(rows.names.get(rows.label_set(0).instance), pod.as_str());
        // Exporters guard formulas with an apostrophe, marks stand for nothing, and spaces around belong
        // to nobody.
        let name = name.trim_ascii();
        if !name.starts_with('\'') && name != "undefined" && name.len() > 4 {
            prop_assert_eq!(rows.names.get(rows.label_set(0).operation), name);
        }
    }
}
