//! What a column of times or durations tells as a whole.

use herdscope::ingest::time::print_time;
use herdscope::ingest::{Limits, Reader, Reading};

use crate::support::{check, print, read, read_with};

/// The starts of a table with one span a start.
fn dated(starts: &[&str]) -> String {
    let mut csv = "trace_id,span_id,start,duration_ms\n".to_owned();
    for (at, start) in starts.iter().enumerate() {
        csv.push_str(&format!("t,{at},{start},5\n"));
    }
    csv
}

fn starts(reading: &Reading) -> Vec<String> {
    let starts = reading.rows.start.iter().map(|&it| print_time(it));
    starts.map(|it| it[..19].to_owned()).collect()
}

fn issues(reading: &Reading) -> Vec<String> {
    let lines = print(reading);
    let lines = lines.lines().filter_map(|it| it.strip_prefix("! "));
    lines.map(str::to_owned).collect()
}

#[track_caller]
fn check_dates(written: &[&str], expected: &[&str], assumed: Option<&str>) {
    let csv = dated(written);
    let reading = read(csv.as_bytes()).unwrap();
    assert_eq!(starts(&reading), expected);
    assert_eq!(reading.assumed.dates, assumed);
    for piece in [1, 7, 64] {
        let pieces = read_with(csv.as_bytes(), Limits::TIGHT, piece).unwrap();
        assert_eq!(print(&pieces), print(&reading), "in pieces of {piece}");
    }
}

#[test]
fn dates_of_a_file_have_one_order() {
    // Nothing tells it.
    check_dates(
        &["3/4/2026 10:00:00.5Z", "3/3/2026 10:00:00.5Z"],
        &["2026-03-04T10:00:00", "2026-03-03T10:00:00"],
        Some("month_first"),
    );
    check_dates(&["3/3/2026 10:00:00.5Z"], &["2026-03-03T10:00:00"], None);
    // A date in the middle tells those before it, too.
    check_dates(
        &[
            "01/03/2026 10:00:00.5Z",
            "3/4/2026 10:00:00.5Z",
            "2026-03-04 10:00:00.5Z",
            "29/3/2026 10:00:00.5Z",
            "3/4/2026 10:00:00.5Z",
        ],
        &[
            "2026-03-01T10:00:00",
            "2026-04-03T10:00:00",
            "2026-03-04T10:00:00",
            "2026-03-29T10:00:00",
            "2026-04-03T10:00:00",
        ],
        None,
    );
    check_dates(
        &["3/4/2026 10:00:00.5Z", "3/29/2026 10:00:00.5Z"],
        &["2026-03-04T10:00:00", "2026-03-29T10:00:00"],
        None,
    );
    // Clocks and zones stay as they are, across midnight, too.
    check_dates(
        &[
            "3/4/2026 01:00:00.5 +02:00",
            "12/12/2026 11:30:00.5 PM",
            "29/3/2026 10:00:00.5Z",
        ],
        &[
            "2026-04-02T23:00:00",
            "2026-12-12T23:30:00",
            "2026-03-29T10:00:00",
        ],
        None,
    );
    // Of both orders that of the first clear date.
    check_dates(
        &[
            "2/13/2026 10:00:00.5Z",
            "3/2/2026 10:00:00.5Z",
            "13/2/2026 10:00:00.5Z",
        ],
        &[
            "2026-02-13T10:00:00",
            "2026-03-02T10:00:00",
            "2026-02-13T10:00:00",
        ],
        Some("month_first"),
    );
    check_dates(
        &[
            "3/2/2026 10:00:00.5Z",
            "13/2/2026 10:00:00.5Z",
            "2/13/2026 10:00:00.5Z",
        ],
        &[
            "2026-02-03T10:00:00",
            "2026-02-13T10:00:00",
            "2026-02-13T10:00:00",
        ],
        Some("day_first"),
    );
}

#[test]
fn dates_of_both_orders_are_said() {
    let csv = dated(&[
        "2/13/2026 10:00:00.5Z",
        "3/2/2026 10:00:00.5Z",
        "13/2/2026 10:00:00.5Z",
    ]);
    let said = |told: &str| {
        let mut reader = Reader::new(Limits::default()).telling(told.parse().unwrap());
        reader.push(csv.as_bytes()).unwrap();
        let reading = reader.finish().unwrap();
        (starts(&reading)[1].clone(), issues(&reading))
    };
    let of = |start: &str, issue: &str| (start.to_owned(), vec![issue.to_owned()]);
    let month = "mixed_dates x1 row 4 start \"13/2/2026 10:00:00.5Z\"";
    assert_eq!(said(""), of("2026-03-02T10:00:00", month));
    assert_eq!(said("dates=month-first"), of("2026-03-02T10:00:00", month));
    let day = "mixed_dates x1 row 2 start \"2/13/2026 10:00:00.5Z\"";
    assert_eq!(said("dates=day-first"), of("2026-02-03T10:00:00", day));
}

#[track_caller]
fn check_ends(rows: &[[&str; 2]], seconds: &[u64]) {
    let mut csv = "trace_id,span_id,start,end\n".to_owned();
    for (at, [start, end]) in rows.iter().enumerate() {
        csv.push_str(&format!("t,{at},{start},{end}\n"));
    }
    let reading = read(csv.as_bytes()).unwrap();
    let expected: Vec<u64> = seconds.iter().map(|it| it * 1_000_000_000).collect();
    assert_eq!(reading.rows.duration, expected);
}

#[test]
fn ends_turn_with_their_starts() {
    let midnight = ["3/4/2026 23:59:59.5Z", "4/4/2026 00:00:00.5Z"];
    let clear = ["29/3/2026 10:00:00.5Z", "29/3/2026 10:00:02.5Z"];
    check_ends(&[midnight], &[30 * 86_400 + 1]);
    check_ends(&[midnight, clear], &[1, 2]);
    // An end that tells the order of its own row, one that is no such date, one that is turned alone.
    check_ends(&[["12/4/2026 23:59:59.5Z", "13/4/2026 00:00:01.5Z"]], &[2]);
    let iso = ["3/4/2026 10:00:00.5Z", "2026-04-03T10:00:01.5Z"];
    check_ends(&[iso, clear], &[1, 2]);
    let same = ["3/3/2026 23:59:59.5Z", "4/3/2026 00:00:01.5Z"];
    check_ends(&[same], &[30 * 86_400 + 2]);
    check_ends(&[same, clear], &[2, 2]);
}

#[test]
fn times_that_a_spreadsheet_rewrote_are_said() {
    let said = |starts: &[&str]| issues(&read(dated(starts).as_bytes()).unwrap());
    let exact = "1.774746045020290255E18";
    let rounded = "1.77475E+18";
    let lost =
        |count: u64, row: u64| format!("spreadsheet_times x{count} row {row} start \"{rounded}\"");
    assert_eq!(said(&[rounded, rounded]), [lost(2, 2)]);
    assert_eq!(said(&[exact, rounded, rounded]), [lost(2, 3)]);
    // A round time now and then.
    assert_eq!(said(&[exact, rounded, exact]), [""; 0]);
    // Durations are not told by such ends, and no rate or row is lost.
    check(
        "trace_id,span_id,service,start_ns,end_ns,duration_us\n\
         t,a,s,1.77475E+18,1.77476E+18,25296\n\
         t,b,s,1.77475E+18,1.77475E+18,\n",
        r#"generic
           ! spreadsheet_times x2 row 2 start_ns "1.77475E+18"
           ! spreadsheet_times x2 row 2 end_ns "1.77476E+18"
           ! bad_duration x1 row 3 end_ns "1.77475E+18"
           t/a<- 2026-03-29T02:06:40.000000000Z 25.296ms s "" unset success @- >- "" #2
           t/b<- 2026-03-29T02:06:40.000000000Z ? s "" unset success @- >- "" #3"#,
    );
}

#[test]
fn numbers_of_another_unit_than_their_column_are_read_by_their_digits() {
    let said = |column: &str, numbers: &[&str]| {
        let mut csv = format!("trace_id,span_id,{column},duration_ms\n");
        for (at, number) in numbers.iter().enumerate() {
            csv.push_str(&format!("t,{at},{number},5\n"));
        }
        let reading = read(csv.as_bytes()).unwrap();
        let at_ten = |it: &&String| *it == "2026-01-05T10:00:00";
        (
            starts(&reading).iter().filter(at_ten).count(),
            issues(&reading),
        )
    };
    let of = |at_ten: usize, issues: &[&str]| {
        (
            at_ten,
            issues.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>(),
        )
    };
    let [s, ms, us, ns] = [
        "1767607200",
        "1767607200001",
        "1767607200000001",
        "1767607200000000001",
    ];
    assert_eq!(said("start", &[ms, ms, ms]), of(3, &[]));
    assert_eq!(
        said("start", &[ms, ms, ms, s]),
        of(4, &["unit_assumed x1 row 5 start \"1767607200\""])
    );
    assert_eq!(
        said("start", &[s, ms, ns, us, ms, us, ms, ms]),
        of(8, &["unit_assumed x4 row 2 start \"1767607200\""])
    );
    // A header or a person is right.
    assert_eq!(said("start_ms", &[ms, s]), of(1, &[]));
    let mut reader = Reader::new(Limits::default()).telling("start=@ms".parse().unwrap());
    reader.push(dated(&[ms, s]).as_bytes()).unwrap();
    assert_eq!(starts(&reader.finish().unwrap())[1], "1970-01-21T11:00:07");
    // Of times since some beginning the digits tell nothing.
    assert_eq!(
        said("start", &["0", "250", "300000000"]),
        of(0, &["unit_assumed x1 row 2 start \"ms\""])
    );
}

#[test]
fn an_exporters_unit_gives_way_to_the_digits() {
    check(
        "timestamp,cmdb_id,parent_id,span_id,trace_id,duration\n\
         1767607200,c,,a,t,25\n\
         1767607200123,c,,b,t,25\n\
         1767607201,c,,c,t,25\n",
        r#"openrca-bank start=s duration=ms
           ! unit_assumed x2 row 2 timestamp "s"
           t/a<- 2026-01-05T10:00:00.000000000Z 25ms c "" unset success @c >- "" #2
           t/b<- 2026-01-05T10:00:00.123000000Z 25ms c "" unset success @c >- "" #3
           t/c<- 2026-01-05T10:00:01.000000000Z 25ms c "" unset success @c >- "" #4"#,
    );
    // Durations are then in the unit of a finer clock.
    check(
        "traceID,spanID,parentSpanID,operationName,serviceName,startTime,duration\n\
         t,a,,n,s,1767607200000290,25296\n",
        r#"grafana start=us duration=us
           ! unit_assumed x1 row 2 startTime "us"
           ! unit_assumed x1 row 2 duration "us"
           t/a<- 2026-01-05T10:00:00.000290000Z 25.296ms s "n" unset success @- >- "" #2"#,
    );
    check(
        "StartTime,EndTime,URL,SpanType,Service,SpanId,TraceId,Peer,ParentSpan,Component,IsError\n\
         1767607200000,1767607200020,u,Entry,s,a,t,,-1,C,False\n\
         1767607200000,1767607202,u,Entry,s,b,t,,-1,C,False\n\
         1767607200000,1767607200020,u,Entry,s,c,t,,-1,C,False\n\
         1767607200,1767607202,u,Entry,s,d,t,,-1,C,False\n",
        r#"skywalking start=ms
           ! unit_assumed x1 row 5 StartTime "1767607200"
           ! unit_assumed x1 row 5 EndTime "1767607202"
           t/a<- 2026-01-05T10:00:00.000000000Z 20ms s "u" server success @- >- "" #2
           t/b<- 2026-01-05T10:00:00.000000000Z 2s s "u" server success @- >- "" #3
           t/c<- 2026-01-05T10:00:00.000000000Z 20ms s "u" server success @- >- "" #4
           t/d<- 2026-01-05T10:00:00.000000000Z 2s s "u" server success @- >- "" #5"#,
    );
}

#[test]
fn days_of_a_spreadsheet_are_days() {
    let file = |starts: [&str; 2]| {
        let [a, b] = starts;
        format!("trace_id,span_id,start,duration_ms,service\nt,a,{a},5,s\nt,b,{b},5,s\n")
    };
    check(
        file(["46086.5445101725", "46086.5445101840"]),
        r#"generic zone=UTC start=ms
           ! unit_assumed x3 row 2 start "46086.5445101725"
           ! zone_assumed x2 row 2 start
           t/a<- 2026-03-05T13:04:05.678904000Z 5ms s "" unset success @- >- "" #2
           t/b<- 2026-03-05T13:04:05.679897600Z 5ms s "" unset success @- >- "" #3"#,
    );
    // Milliseconds since something began.
    let reading = read(file(["30000.2501", "46086.5445"]).as_bytes()).unwrap();
    assert_eq!(starts(&reading)[1], "1970-01-01T00:00:46");
}

#[test]
fn a_duration_is_in_the_unit_in_which_children_end_before_their_parents() {
    // Starts in milliseconds; a parent of 50 ms, and a child of 30 that begins 10 later.
    let lasts = |parent: &str, child: &str, later: u64| {
        let mut csv = "trace_id,span_id,parent_id,start,duration,service\n".to_owned();
        for trace in 0..4 {
            let start = 1_767_607_200_123 + trace * 100;
            let begins = start + later;
            csv.push_str(&format!(
                "t{trace},a,,{start},{parent},s\nt{trace},b,a,{begins},{child},s\n"
            ));
        }
        let reading = read(csv.as_bytes()).unwrap();
        assert!(
            issues(&reading)
                .iter()
                .any(|it| it.starts_with("unit_assumed")),
            "{parent}"
        );
        [reading.rows.duration[0], reading.rows.duration[1]]
    };
    let expected = [50_000_000, 30_000_000];
    assert_eq!(lasts("50000", "30000", 10), expected);
    assert_eq!(lasts("50000000", "30000000", 10), expected);
    assert_eq!(lasts("50", "30", 10), expected);
    assert_eq!(lasts("0.05", "0.03", 10), expected);
    // Children that begin with their parents tell nothing: then it is the unit of the starts.
    assert_eq!(lasts("50", "30", 0), expected);
}

#[test]
fn a_narrow_space_before_am_and_pm() {
    let csv = "trace_id,span_id,start,duration_ms\nt,a,\"3/29/2026, 1:00:45.020\u{202f}PM\",5\n";
    assert_eq!(
        starts(&read(csv.as_bytes()).unwrap()),
        ["2026-03-29T13:00:45"]
    );
}

#[test]
fn commas_of_a_column_are_of_one_kind() {
    let lasts = |duration: &str, cells: &[&str]| {
        let mut csv = format!("trace_id,span_id,start,{duration}\n");
        for (at, cell) in cells.iter().enumerate() {
            csv.push_str(&format!("t,{at},2026-01-05T10:00:00.5Z,\"{cell}\"\n"));
        }
        let reading = read(csv.as_bytes()).unwrap();
        reading
            .rows
            .duration
            .iter()
            .map(|it| it / 1_000)
            .collect::<Vec<_>>()
    };
    let of = |cells| lasts("duration_ms", cells);
    assert_eq!(of(&["25,296", "25,29"]), [25_296, 25_290]);
    assert_eq!(of(&["25,296", "1,500 ms", "0,5ms"]), [25_296, 1_500, 500]);
    // Also where the first cell that tells stands far behind the head.
    let mut late = vec!["25,296"; 500];
    late.push("25,29");
    assert_eq!(lasts("duration_ms", &late)[..2], [25_296, 25_296]);
    // Separators of thousands, as far as can be seen.
    assert_eq!(of(&["25,296", "25.5"]), [25_296_000, 25_500]);
    // A unit is judged from what the numbers are.
    assert_eq!(
        lasts("duration", &["25,296", "30,123", "7,1"]),
        [25_296, 30_123, 7_100]
    );
    assert_eq!(lasts("duration", &["25,296", "30,123"]), [25_296, 30_123]);
}
