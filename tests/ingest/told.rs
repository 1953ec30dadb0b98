//! What a person says about a file: its text, and what it makes of the file; and the tables that
//! nothing can be made of without.

use herdscope::ingest::exporters::Field;
use herdscope::ingest::time::Unit;
use herdscope::ingest::{Limits, Reader, Reading, Told, Unmapped, Unreadable, UnreadableKind};
use herdscope::issues::Code;
use proptest::prelude::*;

use crate::support::{print, read};

fn told(text: &str) -> Told {
    text.parse().unwrap_or_else(|why| panic!("{text}: {why}"))
}

fn read_told(csv: &str, text: &str) -> Result<Reading, Unreadable> {
    let mut reader = Reader::new(Limits::default()).telling(told(text));
    reader.push(csv.as_bytes())?;
    reader.finish()
}

#[track_caller]
fn check(csv: &str, text: &str, expect: &str) {
    let got = read_told(csv, text).map_or_else(|why| why.to_string(), |it| print(&it));
    let lines =
        |text: &str| -> Vec<String> { text.lines().map(|it| it.trim().to_owned()).collect() };
    assert_eq!(lines(&got), lines(expect), "{text}\n{got}");
}

#[test]
fn the_text_is_canonical() {
    let same = [
        "",
        "trace=Trace ID,start=when@ms,duration=took@us,zone=+02:00,failed=2s",
        "parent=,start=@ms",
        "start=@timestamp",
        "start=%40ms",
        "service=a%2Cb,operation=50%25,attributes=one,attributes=two",
        "zone=UTC,dates=day-first,failed=1.5s,http-failed=400,logical=yes,sample=8",
        "zone=-03:30,dates=month-first,http-failed=500,logical=no",
    ];
    for text in same {
        assert_eq!(told(text).to_string(), text);
    }
    let others = [
        (
            "duration=took @us , start=when@ms,",
            "start=when@ms,duration=took@us",
        ),
        ("zone=Z", "zone=UTC"),
        ("zone=+0200", "zone=+02:00"),
        ("failed=2000ms", "failed=2s"),
    ];
    for (text, canonical) in others {
        assert_eq!(told(text).to_string(), canonical, "{text}");
    }
}

#[test]
fn an_error_names_its_part() {
    let cases = [
        ("trace", "\u{201c}trace\u{201d}, expected FIELD=COLUMN"),
        (
            "zone=UTC,color=blue",
            "\u{201c}color=blue\u{201d}, expected FIELD=COLUMN",
        ),
        (
            "start=when@min",
            "\u{201c}start=when@min\u{201d}, expected a column and the unit",
        ),
        (
            "trace=id@ms",
            "\u{201c}trace=id@ms\u{201d}, expected a column and the unit",
        ),
        ("zone=Europe/Berlin", "expected a zone like +02:00 or UTC"),
        ("zone=", "expected a zone"),
        ("dates=mixed", "expected dates=day-first"),
        (
            "failed=2",
            "\u{201c}failed=2\u{201d}, expected a duration like 2s",
        ),
        ("failed=0s", "expected a duration like 2s"),
        ("http-failed=404", "expected http-failed=400"),
        ("logical=maybe", "expected logical=yes"),
        ("sample=1", "expected sample=8"),
        ("sample=0.5", "expected sample=8"),
        (
            "trace=a,trace=b",
            "\u{201c}trace=b\u{201d}, expected each part once",
        ),
        ("zone=UTC,zone=UTC", "expected each part once"),
    ];
    for (text, expected) in cases {
        let why = text.parse::<Told>().unwrap_err().to_string();
        assert!(why.contains(expected), "{text}: {why}");
    }
}

#[test]
fn what_is_told_later_is_right() {
    let both = told("trace=a,start=b@ms,zone=UTC").and(told("start=c,zone=+01:00,logical=yes"));
    assert_eq!(both, told("trace=a,start=c@ms,zone=+01:00,logical=yes"));
}

const STRANGE: &str =
    "Korrelation,Schritt,wann,dauer,Wer\nt,a,1767607200123,5,web\nt,b,1767607200124,3,api\n";

#[test]
fn columns_and_units_are_as_told() {
    check(
        STRANGE,
        "trace=Korrelation,span=schritt,start=wann,duration=dauer@ms,service=Wer",
        r#"generic start=ms
           t/a<- 2026-01-05T10:00:00.123000000Z 5ms web "" unset success @- >- "" #2
           t/b<- 2026-01-05T10:00:00.124000000Z 3ms api "" unset success @- >- "" #3"#,
    );
    check(
        "trace_id,span_id,other_id,start,duration\nt,a,x,1000.5,5\n",
        "span=other_id,start=@s,duration=@us",
        r#"generic
           t/x<- 1970-01-01T00:16:40.500000000Z 5us  "" unset success @- >- "" #2"#,
    );
    // A column's own suffix tells its unit, and `=` without a name that there is none.
    check(
        "trace_id,span_id,parent_id,start_ms,duration_ms,took_us\nt,a,b,1767607200123,5,7\n",
        "parent=,duration=took_us",
        r#"generic
           t/a<- 2026-01-05T10:00:00.123000000Z 7us  "" unset success @- >- "" #2"#,
    );
    // What an exporter's columns mean says nothing of another column.
    check(
        "traceID,spanID,parentSpanID,operationName,serviceName,startTime,duration,took\n\
         t,a,,n,s,1767607200123,5,7\n",
        "duration=took@s",
        r#"grafana start=ms
           t/a<- 2026-01-05T10:00:00.123000000Z 7s s "n" unset success @- >- "" #2"#,
    );
}

#[test]
fn a_column_that_is_not_there_is_said() {
    check(
        "trace_id,span_id,start_ms,duration_ms\nt,a,1767607200123,5\n",
        "trace=Trace,service=who",
        r#"generic
           ! told_missing x1 Trace "trace"
           ! told_missing x1 who "service"
           t/a<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #2"#,
    );
}

#[test]
fn the_unit_of_a_column_that_is_not_there_is_that_of_no_other() {
    check(
        "trace_id,span_id,start_ms,duration_ms\nt,a,1767607200123,5\n",
        "duration=Dauer@us",
        r#"generic
           ! told_missing x1 Dauer "duration"
           t/a<- 2026-01-05T10:00:00.123000000Z 5ms  "" unset success @- >- "" #2"#,
    );
}

#[test]
fn zones_and_orders_of_dates_are_as_told() {
    let csv = "trace_id,span_id,start,end\nt,a,3/4/2026 10:00:00.5,3/4/2026 10:00:01.5\n";
    check(
        csv,
        "",
        r#"generic zone=UTC dates=month_first
           ! zone_assumed x1 row 2 start
           t/a<- 2026-03-04T10:00:00.500000000Z 1s  "" unset success @- >- "" #2"#,
    );
    check(
        csv,
        "zone=+02:00,dates=day-first",
        r#"generic
           t/a<- 2026-04-03T08:00:00.500000000Z 1s  "" unset success @- >- "" #2"#,
    );
    // A zone in the file is right.
    check(
        "trace_id,span_id,start,duration_ms\nt,a,2026-01-05T10:00:00.5+01:00,5\n",
        "zone=+02:00",
        r#"generic
           t/a<- 2026-01-05T09:00:00.500000000Z 5ms  "" unset success @- >- "" #2"#,
    );
}

#[test]
fn an_http_status_from_400_can_be_a_failure() {
    let csv = "trace_id,span_id,start_ms,duration_ms,http_status_code\nt,a,1767607200123,5,404\n";
    let outcome = |text| {
        read_told(csv, text)
            .unwrap()
            .rows
            .label_set(0)
            .outcome
            .as_str()
    };
    assert_eq!(
        ["", "http-failed=500", "http-failed=400"].map(outcome),
        ["success", "success", "failure"]
    );
}

fn unmapped(csv: &str) -> Unmapped {
    match read(csv.as_bytes()).unwrap_err().kind {
        UnreadableKind::UnknownColumns(table) => *table,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_table_of_unknown_columns_shows_its_head() {
    let table = unmapped(STRANGE);
    assert_eq!(
        table.headers,
        ["Korrelation", "Schritt", "wann", "dauer", "Wer"]
    );
    assert_eq!(table.rows.len(), 2);
    assert_eq!(table.rows[0], ["t", "a", "1767607200123", "5", "web"]);
    let guesses = |csv| -> Vec<String> {
        let table = unmapped(csv);
        let guess =
            |(field, at): &(String, u32)| format!("{field}={}", table.headers[*at as usize]);
        table.guesses.iter().map(guess).collect()
    };
    assert_eq!(
        guesses("Correlation Id,Called At Time,Took,App\nx,2026-01-05 10:00:00,5ms,web\n"),
        [
            "trace=Correlation Id",
            "start=Called At Time",
            "duration=Took",
            "service=App"
        ]
    );
    // What cannot be a time is not guessed to be one.
    assert_eq!(guesses("trace,uptime\nx,often\n"), ["trace=trace"]);
}

#[test]
fn the_head_is_bounded() {
    let wide = |cell: &str| vec![cell; 66].join(",");
    let mut csv = wide(&"h".repeat(90));
    for _ in 0..20 {
        csv.push('\n');
        csv.push_str(&wide(&"\u{e9}".repeat(81)));
    }
    let table = unmapped(&csv);
    assert_eq!(
        (table.headers.len(), table.rows.len(), table.rows[0].len()),
        (64, 5, 64)
    );
    let cells = table.headers.iter().chain(table.rows.iter().flatten());
    assert!(cells.into_iter().all(|it| it.chars().count() == 80));
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z@%, ._=:é\u{3000}-]{0,12}",
        Just("@ms".to_owned()),
        Just("a@us".to_owned()),
        Just(" spaced ".to_owned()),
    ]
}

proptest! {
    #[test]
    fn what_is_printed_parses_back(
        columns in prop::collection::btree_map(0usize..24, name(), 0..6),
        attributes in prop::collection::btree_set(name(), 0..3),
        units in prop::array::uniform3(prop::option::of(0usize..4)),
        minutes in prop::option::of(-18 * 60..18 * 60i32),
        day_first: Option<bool>,
        failed in prop::option::of(1u64..u64::MAX),
        http in prop::option::of(prop::sample::select(vec![400u16, 500])),
        logical: Option<bool>,
        sample in prop::option::of(2u32..=1_000_000),
    ) {
        let fields: Vec<Field> = Field::all().collect();
        let unit = |at: usize| units[at].map(|it| [Unit::Ns, Unit::Us, Unit::Ms, Unit::S][it]);
        let mut told = Told {
            columns: columns.into_iter().map(|(at, name)| (fields[at], name)).collect(),
            start_unit: unit(0),
            end_unit: unit(1),
            duration_unit: unit(2),
            zone: minutes.map(|it| it * 60),
            day_first,
            failed_over: failed,
            http_failed: http,
            logical,
            sample,
        };
        told.columns.extend(attributes.into_iter().map(|it| (Field::Attributes, it)));
        let text = told.to_string();
        prop_assert_eq!(text.parse::<Told>(), Ok(told), "{}", text);
    }

    #[test]
    fn any_text_is_told_or_an_error(text in "\\PC{0,40}") {
        let _ = text.parse::<Told>();
    }
}

#[test]
fn of_a_sample_traces_are_whole_and_the_same_in_every_file() {
    // In one exporter's words and another's, with ids that are read quickly and others that are not.
    let ids = |at: u32| match at % 3 {
        0 => format!("{at:032x}"),
        1 => format!("{:032x}", u128::from(at) << 90),
        _ => format!("trace-{at}"),
    };
    let mut files = [
        "trace_id,span_id,parent_span_id,service.name,name,kind,start_time,duration_ms,status\n"
            .to_owned(),
        "Trace ID,Span ID,Parent ID,service,operation,start,duration\n".to_owned(),
    ];
    for at in 0..3_000 {
        let [trace, second] = [ids(at), format!("{:02}:{:02}", at / 60 % 60, at % 60)];
        for span in 0..3 {
            let (id, parent) = (
                format!("{span:016x}"),
                if span == 0 { "" } else { "0000000000000000" },
            );
            let time = format!("2026-01-05T10:{second}.00{span}Z");
            files[0] += &format!(
                "{trace},a{},{parent},web,GET,client,{time},30,OK\n",
                &id[1..]
            );
            files[1] += &format!("{trace},b{},{parent},shop,GET,{time},30ms\n", &id[1..]);
        }
    }
    let kept = |file: &str, as_text: &str| -> Vec<String> {
        let reading = read_told(file, as_text).expect("spans");
        let rows = &reading.rows;
        let issue = reading.issues.iter().find(|it| it.code == Code::Sampled);
        let left_out = issue.map_or(0, |it| it.count);
        assert_eq!(rows.len() as u64 + left_out, 9_000, "{as_text}");
        let mut traces: Vec<String> = (0..rows.len())
            .map(|at| rows.trace_id(at).to_owned())
            .collect();
        traces.sort();
        assert!(
            traces.chunk_by(|a, b| a == b).all(|it| it.len() == 3),
            "a trace is not whole"
        );
        traces.dedup();
        traces
    };
    let columns = "trace=Trace ID,span=Span ID,parent=Parent ID,";
    let [first, second] = ["sample=8".to_owned(), format!("{columns}sample=8")];
    let traces = kept(&files[0], &first);
    assert_eq!(traces, kept(&files[1], &second));
    assert!(
        (280..480).contains(&traces.len()),
        "{} of 3,000",
        traces.len()
    );
    assert_eq!(kept(&files[0], "").len(), 3_000);
}
