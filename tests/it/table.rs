//! The span table: order, parents, duplicates, tiers.

use herdscope::ingest::{Limits, Reader};
use herdscope::issues::{Code, Issues};
use herdscope::rows::SpanRows;
use herdscope::spans::{Parent, Rank, SpanIdx, SpanTable};
use proptest::prelude::*;

use crate::given::{rows, table};

/// Each span as `trace/span<parent`, in the order of the table.
fn told(table: &SpanTable) -> Vec<String> {
    let tell = |at: usize| {
        let span = SpanIdx(at as u32);
        let parent = match table.parent(span) {
            Parent::Root => "root".to_owned(),
            Parent::Missing => "missing".to_owned(),
            Parent::Span(parent) => table.span_id(parent).to_owned(),
        };
        format!(
            "{}/{}<{parent}",
            table.trace_id(table.rank[at]),
            table.span_id(span)
        )
    };
    (0..table.len()).map(tell).collect()
}

fn check(text: &str, expected: &[&str], issues: &[(Code, u64)]) {
    let mut found = Issues::default();
    let table = SpanTable::build(rows(text), &mut found);
    assert_eq!(told(&table), expected, "{text}");
    let found: Vec<(Code, u64)> = found
        .iter()
        .map(|issue| (issue.code, issue.count))
        .collect();
    assert_eq!(found, issues, "{text}");
}

#[test]
fn traces_stand_by_their_first_client_span() {
    check(
        "late  r - web server 0+100
         late  c r web client 50+20
         early r - web server 10+100
         early c r web client 20+20
         none  r - web server 30+100",
        &[
            "early/r<root",
            "early/c<r",
            "none/r<root",
            "late/r<root",
            "late/c<r",
        ],
        &[],
    );
}

#[test]
fn equal_starts_go_by_trace_id() {
    check(
        "b r - web client 0+1
         a r - web client 0+1",
        &["a/r<root", "b/r<root"],
        &[],
    );
}

#[test]
fn parents_are_of_the_same_trace() {
    check(
        "a 1 - web client 0+9
         b 1 - web client 5+9
         b 2 1 api server 6+1",
        &["a/1<root", "b/1<root", "b/2<1"],
        &[],
    );
}

#[test]
fn orphans_are_kept_and_counted() {
    check(
        "a 2 9 web server 0+9
         a 3 2 web client 1+1",
        &["a/2<missing", "a/3<2"],
        &[(Code::ParentMissing, 1)],
    );
}

#[test]
fn a_span_that_is_its_own_parent_is_a_root() {
    check("a 1 1 web server 0+9", &["a/1<root"], &[]);
}

#[test]
fn a_cycle_is_cut_once() {
    check(
        "a 1 3 web server 0+9
         a 2 1 web server 1+9
         a 3 2 web server 2+9
         a 4 3 web server 3+9",
        &["a/1<missing", "a/2<1", "a/3<2", "a/4<3"],
        &[(Code::ParentCycle, 1)],
    );
}

#[test]
fn equal_rows_are_dropped_and_counted() {
    check(
        "a 1 - web server 0+9
         a 1 - web server 0+9
         a 1 - web client 0+9
         a 1 - web server 0+9",
        // A server span with its client's id is that call's other end.
        &["a/1<1", "a/1<root"],
        &[(Code::DuplicateRow, 2)],
    );
}

#[test]
fn children_of_a_shared_id_hang_under_its_server_span() {
    let table = table(
        "a 1 - web client 0+50
         a 1 - api server 10+30
         a 2 1 api internal 11+5",
    );
    let Parent::Span(parent) = table.parent(SpanIdx(2)) else {
        panic!("no parent")
    };
    assert_eq!(table.service_name(table.service[parent.0 as usize]), "api");
}

#[test]
fn every_trace_failed_is_noted() {
    let text: String = (0..20)
        .map(|at| format!("t{at} 1 - web client {at}+1 failed\n"))
        .collect();
    let mut issues = Issues::default();
    SpanTable::build(rows(&text), &mut issues);
    assert_eq!(issues.count(Code::AllFailed), 1);
    SpanTable::build(rows(&text.replacen(" failed", "", 1)), &mut issues);
    assert_eq!(issues.count(Code::AllFailed), 1);
}

#[test]
fn a_proxy_cut_off_in_some_traces_keeps_its_tier() {
    let whole = |at| {
        format!(
            "t{at} 1 - web client 0+90
             t{at} 2 1 proxy server 10+70
             t{at} 3 2 items server 20+5\n"
        )
    };
    let cut = |at| format!("t{at} 1 - web client 0+90\n t{at} 3 1 items server 20+5\n");
    let text: String = (0..3).map(whole).chain((3..5).map(cut)).collect();
    let table = table(&text);
    let tier = |name| table.tier(table.find_service(name).expect("a service"));
    assert_eq!([tier("web"), tier("proxy"), tier("items")], [0, 1, 2]);
}

#[test]
fn a_time_has_the_traces_that_began_in_it() {
    let table = table(
        "a 1 - web server 0+90
         a 2 1 web client 10+9
         b 1 - web client 20+9
         c 1 - web client 30+9",
    );
    let ms = |from: i64, to: i64| table.began_between(from * 1_000_000, to * 1_000_000);
    assert_eq!(
        (ms(0, 99), ms(10, 30), ms(11, 30), ms(31, 99)),
        (0..3, 0..2, 1..2, 3..3)
    );
    assert_eq!(ms(30, 10), 2..2);
}

#[test]
fn late_work_is_outside_of_what_was_awaited() {
    let table = table(
        "a 1 - web client 0+20
         a 2 1 api server 5+6000000",
    );
    let ms = |range: std::ops::Range<i64>| (range.start / 1_000_000)..(range.end / 1_000_000);
    assert_eq!(table.awaited_extent().map(ms), Some(0..20));
    assert_eq!(table.extent().map(ms), Some(0..6_000_005));
}

#[test]
fn an_empty_table_answers() {
    let table = table("");
    assert_eq!(
        (table.len(), table.n_traces(), table.extent()),
        (0, 0, None)
    );
    assert_eq!(table.band(0..9), 0..0);
    assert_eq!(table.trace(Rank(0)), 0..0);
}

proptest! {
    /// The table is a function of the set of rows.
    #[test]
    fn the_order_of_rows_decides_nothing(
        (spans, shuffled) in prop::collection::vec(span_line(), 1..40)
            .prop_flat_map(|lines| (Just(lines.clone()), Just(lines).prop_shuffle()))
    ) {
        let build = |lines: &[String]| {
            let mut issues = Issues::default();
            let table = SpanTable::build(without_row_numbers(rows(&lines.join("\n"))), &mut issues);
            let columns = (table.start.clone(), table.duration.clone(), table.service.clone());
            let counts: Vec<u64> = [Code::DuplicateRow, Code::ParentMissing, Code::ParentCycle]
                .map(|code| issues.count(code)).to_vec();
            (told(&table), columns, table.outcome, table.kind, counts)
        };
        prop_assert_eq!(build(&spans), build(&shuffled));
    }
}

#[test]
fn a_span_takes_few_bytes() {
    let bytes = std::fs::read(crate::given::fixture("herd/four.csv.gz")).expect("the herd");
    let mut reader = Reader::new(Limits::default());
    reader.push(&bytes).expect("a readable file");
    let rows = reader.finish().expect("a readable file").rows;
    // The span's own id and attributes included; the trace's id, 16 bytes, once a trace, and distinct names once.
    let (n_spans, of_names) = (rows.len(), rows.names.bytes());
    let of_traces = 16 * rows.trace_ids.len() + of_names;
    let per_span = |bytes: usize| (bytes - of_traces).div_ceil(n_spans);
    // A column that grows has up to as much room again.
    let of_rows = per_span(rows.bytes());
    assert!(of_rows <= 2 * 44, "{of_rows}");
    assert!(of_names < 64 << 10, "{of_names}");
    let of_table = per_span(SpanTable::build(rows, &mut Issues::default()).bytes());
    assert!(of_table <= 48, "{of_table}");
}

/// Row numbers are of the file's order by nature.
fn without_row_numbers(mut rows: SpanRows) -> SpanRows {
    rows.row.fill(0);
    rows
}

/// Few ids and times, so that spans collide in every way.
fn span_line() -> impl Strategy<Value = String> {
    let kinds = prop::sample::select(vec!["client", "server", "unset"]);
    let services = prop::sample::select(vec!["a", "b", "c"]);
    let parents = prop::sample::select(vec!["-", "0", "1", "2", "3", "9"]);
    (0..3u8, 0..4u8, parents, services, kinds, 0..4i64, 0..3u64).prop_map(
        |(trace, span, parent, service, kind, start, duration)| {
            format!("t{trace} {span} {parent} {service} {kind} {start}+{duration}")
        },
    )
}
