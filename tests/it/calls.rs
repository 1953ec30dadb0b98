//! Edges and calls: who calls whom, and how it ended.

use herdscope::calls::{self, CallOutcome, Edge};
use herdscope::outcome::Outcome;
use proptest::prelude::*;

use crate::given::{dataset, table};

/// Each edge as `from>via>to calls/failed/timed out/unknown xinstances`.
fn told(edge: &Edge) -> String {
    let mut path = vec![edge.from.clone()];
    path.extend(edge.via.iter().cloned());
    path.push(edge.to.clone());
    let count = |outcome| edge.calls.count(outcome);
    let instances = edge.n_instances().map_or("?".to_owned(), |n| n.to_string());
    format!(
        "{} {}/{}/{}/{} x{instances}",
        path.join(">"),
        edge.calls.len(),
        count(CallOutcome::Failure),
        count(CallOutcome::TimedOut),
        count(CallOutcome::Unknown) + count(CallOutcome::Rejected),
    )
}

fn check(text: &str, expected: &[&str]) {
    let edges: Vec<String> = calls::edges(&table(text)).iter().map(told).collect();
    assert_eq!(edges, expected, "{text}");
}

#[test]
fn the_callee_is_the_service_of_the_child() {
    check(
        "a 1 - web client 0+9 @web-0
         a 2 1 api server 1+5
         b 1 - web client 2+9 @web-1
         b 2 1 api server 3+5",
        &["web>api 2/0/0/0 x2"],
    );
}

#[test]
fn without_a_child_it_is_the_peer() {
    check("a 1 - web client 0+9 >db", &["web>db 1/0/0/0 x?"]);
}

#[test]
fn a_peer_stands_for_the_service_that_answers_to_it() {
    check(
        "a 1 - web client 0+9 >api.prod:80
         a 2 1 api server 1+5
         b 1 - web client 2+9 failed >api.prod:80",
        &["web>api 2/1/0/0 x?"],
    );
}

#[test]
fn without_a_peer_it_is_that_of_the_same_operations_other_calls() {
    check(
        "a 1 - web client 0+9 :GET
         a 2 1 api server 1+5
         b 1 - web client 2+9 timed_out :GET
         c 1 - web client 3+9 :PUT",
        &["web>api 2/0/1/0 x?", "web>unknown 1/0/0/0 x?"],
    );
}

#[test]
fn a_proxy_is_passed_through() {
    let text = "a 1 - web client 0+9
         a 2 1 proxy server 1+7
         a 3 2 api server 2+3
         b 1 - web client 10+9
         b 2 1 proxy server 11+7
         b 3 2 api server 12+3";
    check(text, &["web>proxy>api 2/0/0/0 x?"]);
    let edges = calls::edges(&table(text));
    assert!(edges[0].is_named("web", "api") && edges[0].is_named("web", "proxy"));
    assert!(!edges[0].is_named("proxy", "api"));
}

#[test]
fn a_call_that_the_proxy_kept_still_goes_where_the_others_went() {
    let whole = |at: usize| {
        format!(
            "t{at} 1 - web client {at}+9
             t{at} 2 1 proxy server {at}+7
             t{at} 3 2 api server {at}+3\n"
        )
    };
    let kept = "x 1 - web client 99+9 timed_out\n x 2 1 proxy server 99+7\n";
    let text: String = (0..9).map(whole).chain([kept.to_owned()]).collect();
    check(&text, &["web>proxy>api 10/0/1/0 x?"]);
}

#[test]
fn a_service_with_work_of_its_own_is_no_proxy() {
    check(
        "a 1 - web client 0+90
         a 2 1 shop server 1+70
         a 3 2 shop internal 2+3 :price
         a 4 2 shop client 5+30 :stock
         a 5 4 stock server 6+20",
        &["shop>stock 1/0/0/0 x?", "web>shop 1/0/0/0 x?"],
    );
}

#[test]
fn a_sidecar_with_a_client_span_of_the_same_name_is_a_proxy() {
    check(
        "a 1 - web client 0+90
         a 2 1 mesh server 1+70 :GET
         a 3 2 mesh client 2+60 :GET
         a 4 3 api server 6+20",
        &["web>mesh>api 1/0/0/0 x?"],
    );
}

#[test]
fn without_kinds_a_span_whose_child_is_of_another_service_is_a_call() {
    check(
        "a 1 - web unset 0+90
         a 2 1 web unset 1+70
         a 3 2 api unset 2+60
         a 4 3 api unset 3+10",
        &["web>api 1/0/0/0 x?"],
    );
}

#[test]
fn without_kinds_several_children_are_calls_of_their_own() {
    let cases: [(&str, &str, &[&str]); 4] = [
        (
            "to several services",
            "a 1 - web unset 0+90 @web-0
             a 2 1 cart unset 10+20 failed
             a 3 1 pay unset 40+20",
            &["web>cart 1/1/0/0 x1", "web>pay 1/0/0/0 x1"],
        ),
        (
            "tries, of which each calls on",
            "a 1 - web unset 0+90
             a 2 1 api unset 10+20 failed
             a 3 2 db unset 11+18 failed
             a 6 2 api unset 12+10
             a 4 1 api unset 40+20
             a 5 4 db unset 41+18",
            &["api>db 2/1/0/0 x?", "web>api 2/1/0/0 x?"],
        ),
        (
            "beside spans of its own",
            "a 1 - web unset 0+90
             a 2 1 web unset 10+20
             a 3 1 api unset 40+20",
            &["web>api 1/0/0/0 x?"],
        ),
        (
            "but not those that heed one message later",
            "a 1 - web unset 0+5
             a 2 1 mail unset 10+20
             a 3 1 mail unset 40+20",
            &["web>mail 1/0/0/0 x?"],
        ),
    ];
    for (name, text, expected) in cases {
        println!("{name}");
        check(text, expected);
    }
}

#[test]
fn a_service_that_calls_itself_is_its_own_callee() {
    check(
        "a 1 - web client 0+90
         a 2 1 web server 1+70
         a 3 2 web internal 2+60",
        &["web>web 1/0/0/0 x?"],
    );
}

#[test]
fn rejections_and_unknown_durations_are_arrivals_without_an_outcome() {
    check(
        "a 1 - web client 0+1 rejected >api
         b 1 - web client 2+? >api
         c 1 - web client 3+4 >api",
        &["web>api 3/0/0/2 x?"],
    );
}

#[test]
fn instances_stand_by_name_and_strangers_last() {
    let edges = calls::edges(&table(
        "a 1 - web client 0+1 >api @web-1
         b 1 - web client 2+1 >api
         c 1 - web client 3+4 >api @web-0",
    ));
    let names = [Some("web-0".to_owned()), Some("web-1".to_owned()), None];
    assert_eq!(edges[0].calls.instances, names);
    assert_eq!(edges[0].calls.instance, [1, 2, 0]);
}

#[test]
fn errors_just_above_a_round_time_are_timeouts() {
    let cut = |at: i64| format!("t{at} 1 - web client {at}+{} failed >api\n", 3001 + at * 3);
    let quick = |at: i64| format!("q{at} 1 - web client {at}+40 failed >api\n");
    let well = |at: i64| format!("w{at} 1 - web client {at}+200 >api\n");
    let text: String = (0..8)
        .map(cut)
        .chain((0..3).map(quick))
        .chain((0..50).map(well))
        .collect();
    let dataset = dataset(&text);
    assert_eq!(told(&dataset.edges[0]), "web>api 61/3/8/0 x?");
    let marked = dataset
        .table
        .outcome
        .iter()
        .filter(|&&it| it == Outcome::TimedOut);
    assert_eq!(marked.count(), 8);
}

#[test]
fn timeouts_in_use_are_believed_on_evidence_alone() {
    let ms = |all: &[u64]| -> Vec<u64> { all.iter().map(|it| it * 1_000_000).collect() };
    let pile = ms(&[3001, 3004, 3010, 3020, 3027]);
    let none: &[u64] = &[];
    let cases = [
        ("a pile", pile.clone(), ms(&[20, 900]), &[3000][..]),
        ("too few", ms(&[3001, 3004, 3010, 3020]), ms(&[20]), none),
        (
            "a slope, no pile",
            ms(&[2950, 2960, 2970, 2980, 3001, 3004, 3010, 3020, 3027]),
            vec![],
            none,
        ),
        ("successes outlive it", pile, ms(&[3500, 4000, 9000]), none),
        ("nothing", vec![], vec![], none),
    ];
    for (what, failures, successes, expected) in cases {
        assert_eq!(
            calls::timeouts_in_use(&failures, &successes),
            ms(expected),
            "{what}"
        );
    }
}

proptest! {
    /// Every client span is on exactly one edge, and the columns agree with each other.
    #[test]
    fn each_call_is_on_one_edge(starts in prop::collection::vec((0..50i64, 0..30u64, 0..3u8), 1..60)) {
        let line = |(at, (start, duration, to)): (usize, &(i64, u64, u8))| {
            format!("t{at} 1 - web client {start}+{duration} >to{to} @i{}\n", at % 4)
        };
        let text: String = starts.iter().enumerate().map(line).collect();
        let edges = calls::edges(&table(&text));
        prop_assert_eq!(edges.iter().map(|edge| edge.calls.len()).sum::<usize>(), starts.len());
        for Edge { calls, .. } in &edges {
            prop_assert!(calls.start.is_sorted());
            let ends: Vec<i64> = calls.by_end.iter().map(|&at| calls.end[at as usize]).collect();
            prop_assert!(ends.is_sorted());
            prop_assert_eq!(ends.len(), calls.len());
        }
    }
}
