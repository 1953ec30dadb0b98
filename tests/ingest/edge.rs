//! The small awkward files, one by one, and the rules that they stand for.

use crate::support::{check, files, fixtures, print, read};

/// The texts beside the awkward files hold all that is read; `UPDATE_EXPECT=1` writes them anew.
#[test]
fn every_awkward_file_reads_as_its_text_says() {
    for file in files(fixtures().join("edge"), "csv") {
        let got = match read(&std::fs::read(&file).unwrap()) {
            Ok(reading) => print(&reading),
            Err(why) => format!("{why}\n"),
        };
        let expected = file.with_extension("txt");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&expected, &got).unwrap();
        }
        assert_eq!(got, std::fs::read_to_string(&expected).unwrap(), "{file:?}");
    }
}

/// A name that a million letters and a NUL are part of.
#[test]
fn a_huge_cell() {
    let name = "x".repeat(1_000_000);
    let csv = format!(
        "trace_id,span_id,service,name,start_ms,duration_ms\nt,s,s\0vc,\"{name}\",1767607200123,5\n"
    );
    let reading = read(csv.as_bytes()).unwrap();
    assert_eq!(reading.rows.len(), 1);
    assert_eq!(
        reading
            .rows
            .names
            .get(reading.rows.label_set(0).operation)
            .len(),
        1_000_000
    );
    assert_eq!(
        reading.rows.names.get(reading.rows.label_set(0).service),
        "s\0vc"
    );
}

const HEADER: &str = "trace_id,span_id,start_ms,duration_ms,attributes\n";

#[test]
fn a_cut_in_a_quoted_cell_is_a_cut() {
    check(
        format!("{HEADER}t,a,1767607200123,5,{{}}\nt,b,1767607200123,5,\"{{\"\"k"),
        r#"generic
           ! row_truncated x1 row 3
           t/a<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #2"#,
    );
}

#[test]
fn a_quote_that_never_ends_is_told_with_its_line() {
    check(
        format!(
            "{HEADER}t,a,1767607200123,5,{{}}\nt,\"b,1767607200123,5,{{}}\nt,c,1767607200123,5,{{}}\n"
        ),
        r#"generic
           ! quote_open x1 row 3 "a quote in the row of line 3"
           t/a<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #2"#,
    );
}

#[test]
fn short_and_long_rows_cost_themselves() {
    check(
        format!(
            "{HEADER}t,a\nt,b,1767607200123,5,x,y,z\nt,c,1767607200123,5,x,,\n\n   \nt,d,1767607200123,5,x"
        ),
        r#"generic
           ! row_short x1 row 2
           ! row_long x1 row 3
           t/b<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #3
           t/c<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #4
           t/d<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #5"#,
    );
}

#[test]
fn joined_cells_keep_their_delimiters() {
    check(
        format!("{HEADER}t,a,1767607200123,5,{{\"x\":1,\"k8s.pod.name\":\"web-1\"}}\n"),
        r#"generic
           ! row_long x1 row 2
           t/a<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @web-1 >- "" #2"#,
    );
}

#[test]
fn line_ends_of_all_kinds() {
    let row = r#"t/a<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #2"#;
    for end in ["\n", "\r\n", "\r", "\n\n", "\r\n\r\n", ""] {
        let header = HEADER.trim_end();
        let between = if end.is_empty() { "\n" } else { end };
        check(
            format!("{header}{between}t,a,1767607200123,5,x{end}"),
            &format!("generic\n{row}"),
        );
    }
}

#[test]
fn headers_twice_and_unnamed() {
    check(
        "trace_id,span_id,start_ms,duration_ms,name,name,,\nt,a,1767607200123,5,first,second,x,y\n",
        r#"generic
           ! duplicate_header x1 row 1 name
           t/a<- 2026-01-05T10:00:00.123000000Z 5ms  "first" unset success @- >- "" #2"#,
    );
}

#[test]
fn two_files_joined_with_their_marks() {
    let file = format!("\u{feff}{HEADER}t,a,1767607200123,5,x\n");
    check(
        file.repeat(2),
        r#"generic
           ! repeated_header x1 row 3
           t/a<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #2
           t/a<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #4"#,
    );
}

#[test]
fn bad_times_and_durations() {
    check(
        format!(
            "{HEADER}t,a,soon,5,x\nt,b,99999999999999999999,5,x\nt,c,1767607200123,99999999999999999999,x\n\
             t,d,1767607200123,quick,x\nt,e,1767607200123,-5,x\nt,f,1767607200123,NaN,x\n"
        ),
        r#"generic
           ! bad_time x2 row 2 start_ms "soon"
           ! bad_duration x3 row 4 duration_ms "99999999999999999999"
           ! negative_duration x1 row 6 duration_ms "-5"
           t/c<- 2026-01-05T10:00:00.123000000Z ?  "" unset success @- >- "" #4
           t/d<- 2026-01-05T10:00:00.123000000Z ?  "" unset success @- >- "" #5
           t/e<- 2026-01-05T10:00:00.123000000Z ?  "" unset success @- >- "" #6
           t/f<- 2026-01-05T10:00:00.123000000Z ?  "" unset success @- >- "" #7"#,
    );
}

#[test]
fn sampling_is_told_by_the_trace_state() {
    let row = "t,a,1767607200123,5,";
    check(
        format!(
            "trace_id,span_id,start_ms,duration_ms,trace_state\n{row}ot=th:c\n{row}ot=th:0\n{row}x=y\n"
        ),
        r#"generic
           ! sampled x1 row 2 trace_state "1 in 4"
           t/a<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #2
           t/a<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #3
           t/a<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #4"#,
    );
}

#[test]
fn utf_16_of_both_kinds() {
    let csv = format!("{HEADER}t,\u{1f600}é,1767607200123,5,x\n");
    let expected = "generic\nt/\u{1f600}é<- 2026-01-05T10:00:00.123000000Z 5ms  \"\" unset success @- >- \"\" #2";
    for mark in ["\u{feff}", ""] {
        let units: Vec<u16> = mark.encode_utf16().chain(csv.encode_utf16()).collect();
        let little: Vec<u8> = units.iter().flat_map(|it| it.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|it| it.to_be_bytes()).collect();
        check(little, expected);
        check(big, expected);
    }
}

#[test]
fn a_column_of_rates_tells_sampling_too() {
    check(
        "trace_id,span_id,start_ms,duration_ms,SampleRate\n\
         t,a,1767607200123,5,1\nt,b,1767607200123,5,20\nt,c,1767607200123,5,0.5\n",
        r#"generic
           ! sampled x2 row 3 SampleRate "1 in 2 to 1 in 20"
           t/a<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #2
           t/b<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #3
           t/c<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #4"#,
    );
}

#[test]
fn ids_that_cannot_be_ids_join_nothing() {
    check(
        "trace_id,span_id,parent_id,start_ms,duration_ms\n\
         [object Object],a,,1767607200123,5\n#REF!,b,a,1767607200123,5\nt,#NAME?,#N/A,1767607200123,5\n",
        r##"generic
           ! bad_id x2 row 2 trace_id "[object Object]"
           ! bad_id x1 row 4 span_id "#NAME?"
           ! bad_id x1 row 4 parent_id "#N/A"
           ! missing_id x2 row 2 trace_id
           row:2/a<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #2
           row:3/b<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #3
           t/row:4<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #4"##,
    );
}

/// Columns that tell how a span ended: header and cells, the outcome, the issue.
#[test]
fn words_that_tell_failures_and_words_that_do_not() {
    let unknown = |column: &str, got: &str| Some(format!("unknown_status row 2 {column} {got}"));
    let cases = [
        ("status", "DEADLINE_EXCEEDED", "timed_out", None),
        ("status", "StatusCode.DeadlineExceeded", "timed_out", None),
        ("status", "Unavailable", "failure", None),
        ("status", "CANCELLED", "failure", None),
        ("status", "KO", "failure", None),
        ("status", "504 Gateway Timeout", "timed_out", None),
        ("status", "Unset", "success", None),
        ("status", "null", "success", None),
        ("status", "0", "success", None),
        ("outcome", "unknown", "success", None),
        ("outcome", "SERVER_ERROR", "failure", None),
        ("outcome", "CLIENT_ERROR", "success", None),
        ("status", "kaputt", "success", unknown("status", "kaputt")),
        ("status", "UNKNOWN", "success", unknown("status", "UNKNOWN")),
        ("status", "14", "success", unknown("status", "14")),
        ("error", "KO", "failure", None),
        (
            "error",
            "no answer",
            "success",
            unknown("error", "no answer"),
        ),
        ("success", "FAILED", "failure", None),
        ("grpc_status", "UNKNOWN", "failure", None),
        ("grpc_status", "DeadlineExceeded", "timed_out", None),
        ("grpc_status", "OK", "success", None),
        (
            "grpc_status",
            "odd",
            "success",
            unknown("grpc_status", "odd"),
        ),
        // What another column tells is enough.
        ("status,success", "kaputt,true", "success", None),
        ("status,error", "kaputt,true", "failure", None),
        ("status,http_status", "kaputt,504", "timed_out", None),
    ];
    for (header, cells, outcome, expected) in cases {
        let csv = format!(
            "trace_id,span_id,start_ms,duration_ms,{header}\nt,a,1767607200123,5,{cells}\n"
        );
        let reading = read(csv.as_bytes()).unwrap();
        let noticed = reading.issues.iter().next().map(|it| {
            let (row, column) = (it.first_row.unwrap(), it.column.as_deref().unwrap());
            let got = it.got.as_deref().unwrap();
            format!("{} row {row} {column} {got}", it.code.as_str())
        });
        assert_eq!(reading.rows.label_set(0).outcome.as_str(), outcome, "{csv}");
        assert_eq!(noticed, expected, "{csv}");
    }
}

/// Spaces around ids and names belong to neither.
#[test]
fn spaces_around_cells_are_no_text() {
    check(
        "trace_id , span_id,parent_id, service ,name,start_ms,duration_ms,status\n\
         t,a1, ,fe,op,1767607200123,5,OK\nt ,a2,a1 ,  fe\t,\" op x \",1767607200123 , 5,ERROR \n",
        r#"generic
           t/a1<- 2026-01-05T10:00:00.123000000Z 5ms fe "op" unset success @- >- "" #2
           t/a2<a1 2026-01-05T10:00:00.123000000Z 5ms fe "op x" unset failure @- >- "" #3"#,
    );
}

/// Kibana writes several values as a list, and some versions a single one, too.
#[test]
fn lists_of_one_text_are_that_text() {
    check(
        r#""@timestamp","service.name","transaction.name","transaction.duration.us","event.outcome","trace.id","transaction.id","parent.id"
"Mar 29, 2026 @ 01:00:45.020","[""fe""]","[""GET""]","[""30000""]","[""failure""]","[""t""]","[""t1""]","-"
"Mar 29, 2026 @ 01:00:45.020","[""a"",""b""]","[object Object]","5","success","t"," [""t2""]","[""t1""]"
"#,
        r#"elastic zone=UTC
           ! zone_assumed x2 row 2 @timestamp
           t/t1<- 2026-03-29T01:00:45.020000000Z 30ms fe "GET" unset failure @- >- "" #2
           t/t2<t1 2026-03-29T01:00:45.020000000Z 5us ["a","b"] "[object Object]" unset success @- >- "" #3"#,
    );
    // Of others a list is what it says.
    check(
        "trace_id,span_id,start_ms,duration_ms\nt,\"[\"\"a\"\"]\",1767607200123,5\n",
        r#"generic
           t/["a"]<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #2"#,
    );
}

/// Services by the names that stand below a resource or a process.
#[test]
fn services_of_resources() {
    for header in [
        "resource.attributes.service.name",
        "resource.service.name",
        "resource_string_service$$name",
        "ResourceAttributes['service.name']",
        "process.serviceName",
    ] {
        let csv =
            format!("traceId,spanId,start_ms,durationNano,{header}\nt,a,1767607200123,5,fe\n");
        let reading = read(csv.as_bytes()).unwrap();
        assert_eq!(
            reading.rows.names.get(reading.rows.label_set(0).service),
            "fe",
            "{header}"
        );
    }
}

#[test]
fn a_failure_of_any_status_column_is_one() {
    for (header, cells) in [
        ("status,otel.status_code", "200,ERROR"),
        ("otel.status_code,status", "ERROR,200"),
        ("status,status_code", "OK,2"),
    ] {
        let csv = format!(
            "trace_id,span_id,start_ms,duration_ms,{header}\nt,a,1767607200123,5,{cells}\n"
        );
        let reading = read(csv.as_bytes()).unwrap();
        assert_eq!(reading.rows.len(), 1);
        assert_eq!(
            reading.rows.label_set(0).outcome,
            herdscope::outcome::Outcome::Failure,
            "{header}"
        );
    }
}

#[test]
fn parents_that_a_table_made_numbers_of_are_found() {
    let csv = "trace_id,span_id,parent_id,start_ms,duration_ms\n\
        t,12,,1767607200123,5\nt,13,12.0,1767607200123,5\n";
    let rows = read(csv.as_bytes()).unwrap().rows;
    assert_eq!(rows.parent[1], rows.span[0]);
}

/// What a file lacks altogether, by header, rows and traces.
#[test]
fn what_a_whole_file_lacks_is_said() {
    let codes = |header: &str, rows: usize, traces: usize, more: &str| -> String {
        let mut csv = format!("{header}\n");
        for row in 0..rows {
            csv.push_str(&format!("t{},{row},1767607200123,5{more}\n", row % traces));
        }
        let reading = read(csv.as_bytes()).unwrap();
        let codes: Vec<&str> = reading.issues.iter().map(|it| it.code.as_str()).collect();
        codes.join(" ")
    };
    let bare = "trace_id,span_id,start_ms,duration_ms,service";
    assert_eq!(codes(bare, 20, 5, ",s"), "no_parents no_status");
    assert_eq!(codes(bare, 20, 5, ","), "no_parents no_status no_service");
    assert_eq!(codes(bare, 19, 5, ","), "");
    // Nothing is lost of traces that are one span each.
    assert_eq!(codes(bare, 20, 20, ",s"), "no_status");
    let full = "trace_id,span_id,start_ms,duration_ms,service,parent_id,status";
    assert_eq!(codes(full, 20, 5, ",s,,OK"), "");
    assert_eq!(codes(full, 20, 5, ",s,,"), "no_status");
}
