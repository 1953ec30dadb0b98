//! One fixture an exporter: `NAME.csv` or `NAME.json` (or `NAME-variant.csv`) and, in `NAME.txt`, what is
//! read from it.
//! `UPDATE_EXPECT=1` writes the texts anew.

use herdscope::ingest::exporters::{EXPORTERS, GENERIC, JAEGER_JSON, OTLP_JSON};

use crate::support::{check, files, fixtures, print, read};

#[test]
fn every_fixture_reads_as_its_text_says() {
    let documents = files(fixtures(), "json");
    for file in files(fixtures(), "csv").into_iter().chain(documents) {
        let reading = read(&std::fs::read(&file).unwrap());
        let got = print(&reading.unwrap_or_else(|why| panic!("{file:?}: {why}")));
        let expected = file.with_extension("txt");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&expected, &got).unwrap();
        }
        assert_eq!(got, std::fs::read_to_string(&expected).unwrap(), "{file:?}");
    }
}

#[test]
fn every_exporter_has_a_fixture_and_a_line_in_the_docs() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/formats.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let documents = [&JAEGER_JSON, &OTLP_JSON];
    let all = EXPORTERS.iter().chain([&GENERIC]).map(|it| (it, "csv"));
    for (exporter, ending) in all.chain(documents.map(|it| (it, "json"))) {
        let fixture = fixtures().join(exporter.name).with_extension(ending);
        let reading = read(&std::fs::read(fixture).unwrap()).unwrap();
        assert_eq!(reading.exporter, exporter.name);
        let line = format!("| `{}` |", exporter.name);
        assert!(
            docs.contains(&line),
            "docs/formats.md has no line that begins {line}"
        );
    }
}

#[test]
fn the_order_of_columns_does_not_matter() {
    for file in files(fixtures(), "csv") {
        let bytes = std::fs::read(&file).unwrap();
        let expected = read(&bytes).unwrap();
        if expected.rows.row.first() == Some(&1) {
            continue; // Without a header the order is all there is.
        }
        let text = String::from_utf8(bytes).unwrap();
        let text = text.trim_start_matches('\u{feff}');
        let semicolon = text.lines().next().unwrap().contains(';');
        let delimiter = if semicolon { b';' } else { b',' };
        let mut csv = csv::ReaderBuilder::new();
        let mut csv = csv
            .has_headers(false)
            .delimiter(delimiter)
            .from_reader(text.as_bytes());
        let mut turned = csv::WriterBuilder::new()
            .delimiter(delimiter)
            .from_writer(Vec::new());
        for record in csv.records() {
            let record = record.unwrap();
            turned.write_record(record.iter().rev()).unwrap();
        }
        let turned = read(&turned.into_inner().unwrap()).unwrap();
        assert_eq!(print(&turned), print(&expected), "{file:?}");
    }
}

#[test]
fn clickhouse_in_any_subset_of_its_spelling() {
    check(
        "Timestamp,TraceId,SpanId,ParentSpanId,ServiceName,Duration\n\
         2026-01-05 10:00:00.000000001,t,s,,api,1500\n",
        r#"clickhouse zone=UTC duration=ns
           ! zone_assumed x1 row 2 Timestamp
           t/s<- 2026-01-05T10:00:00.000000001Z 1.5us api "" unset success @- >- "" #2"#,
    );
    check(
        "Duration,SpanName,Timestamp\n1500.0,GET,2026-01-05 10:00:00.000000001\n",
        r#"clickhouse zone=UTC duration=ns
           ! missing_id x1 row 2
           ! zone_assumed x1 row 2 Timestamp
           row:2/row:2<- 2026-01-05T10:00:00.000000001Z 1.5us  "GET" unset success @- >- "" #2"#,
    );
}

#[test]
fn durations_of_what_is_not_clickhouse_are_judged() {
    let unit = |header: &str, duration: &str| {
        let csv = format!("{header}\n2026-01-05T10:00:00.020Z,t,s,n,client,{duration}\n");
        let reading = read(csv.as_bytes()).unwrap();
        let guessed = reading.issues.count(herdscope::issues::Code::UnitAssumed);
        (reading.exporter, reading.rows.duration[0], guessed)
    };
    // The same words in other capitals are somebody else's.
    let others = [
        "timestamp,traceId,spanId,spanName,spanKind,duration",
        "timestamp,traceid,spanid,spanname,spankind,duration",
        "TIMESTAMP,TRACEID,SPANID,SPANNAME,SPANKIND,DURATION",
        "timestamp,trace_id,span_id,span_name,span_kind,duration",
    ];
    for header in others {
        assert_eq!(unit(header, "250"), ("generic", 250_000_000, 1), "{header}");
        assert_eq!(
            unit(header, "25296404"),
            ("generic", 25_296_404, 1),
            "{header}"
        );
    }
    // And what has a fraction is no count of nanoseconds.
    let pascal = "Timestamp,TraceId,SpanId,SpanName,SpanKind,Duration";
    assert_eq!(unit(pascal, "12.5"), ("generic", 12_500_000, 1));
    assert_eq!(unit(pascal, "12"), ("clickhouse", 12, 0));
    assert_eq!(unit(pascal, "1.5E+3"), ("clickhouse", 1_500, 0));
}

#[test]
fn dash0_with_attributes_as_columns() {
    check(
        "otel.trace.id,otel.span.id,otel.span.start_time,otel.span.duration,otel.span.kind,\
         otel.span.status.message,k8s.pod.name,peer.service,http.response.status_code\n\
         t,s,2026-01-05T10:00:00.000Z,3.00s,CLIENT,deadline exceeded,web-1,stock,504\n",
        r#"dash0
           t/s<- 2026-01-05T10:00:00.000000000Z 3s  "" client timed_out @web-1 >stock "deadline exceeded" #2"#,
    );
}

#[test]
fn dash0_without_a_header() {
    check(
        "2026-02-16T09:12:03.456Z,150ms,GET /api,OK,web,,0af76519,b7ad6b71,\n",
        r#"dash0
           0af76519/b7ad6b71<- 2026-02-16T09:12:03.456000000Z 150ms web "GET /api" unset success @- >- "" #1"#,
    );
}

#[test]
fn exactly_the_limit_of_rows_is_said() {
    let header = "otel.span.start_time,otel.span.duration,otel.trace.id,otel.span.id\n";
    let file = |rows: usize| {
        let mut text = header.to_owned();
        for row in 0..rows {
            text.push_str(&format!("2026-02-16T09:12:03.456Z,150ms,{row},1\n"));
        }
        let reading = read(text.as_bytes()).unwrap();
        reading.issues.count(herdscope::issues::Code::Capped)
    };
    assert_eq!([file(4_999), file(5_000), file(5_001)], [0, 5_000, 0]);
}

#[test]
fn end_minus_start_wins_over_a_coarser_duration() {
    check(
        "trace_id,span_id,service,start_time_unix_nano,end_time_unix_nano,duration_us\n\
         t,a,s,1786000000123456789,1786000000123457890,1\n\
         t,b,s,1786000000123456789,1786000000123456788,1\n\
         t,c,s,1786000000123456789,,7\n",
        r#"generic
           ! negative_duration x1 row 3 end_time_unix_nano "1786000000123456788"
           t/a<- 2026-08-06T07:06:40.123456789Z 1.101us s "" unset success @- >- "" #2
           t/b<- 2026-08-06T07:06:40.123456789Z ? s "" unset success @- >- "" #3
           t/c<- 2026-08-06T07:06:40.123456789Z 7us s "" unset success @- >- "" #4"#,
    );
}

#[test]
fn a_root_is_written_in_many_ways() {
    let marks = [
        "",
        "root",
        "-1",
        "0",
        "0000000000000000",
        "None",
        "null",
        "nan",
        "-",
        "undefined",
        "(null)",
        "N/A",
        "<nil>",
        "0x0",
        "00000000-0000-0000-0000-000000000000",
        "\\N",
        "NULL",
        "s",
    ];
    for mark in marks {
        check(
            format!("trace_id,span_id,parent_id,start,duration_ms\nt,s,{mark},1767607200123,5\n"),
            r#"generic start=ms
               t/s<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #2"#,
        );
    }
}

#[test]
fn a_unit_without_a_sign_is_a_guess_and_said() {
    check(
        "trace_id,span_id,start,duration\nt,s,2026-01-05T10:00:00.5Z,30\n",
        r#"generic duration=ms
           ! unit_assumed x1 row 2 duration "ms"
           t/s<- 2026-01-05T10:00:00.500000000Z 30ms  "" unset success @- >- "" #2"#,
    );
    check(
        "trace_id,span_id,start_ns,duration_ns\nt,s,250,30\n",
        r#"generic
           t/s<- 1970-01-01T00:00:00.000000250Z 30ns  "" unset success @- >- "" #2"#,
    );
}
