//! Tries of one logical call, and what they make of an edge.

use herdscope::calls::{self, CallOutcome};
use herdscope::dataset::Dataset;
use herdscope::ingest::{Limits, Reader};
use herdscope::retries::{self, Retries};
use proptest::prelude::*;

use crate::given::table;

/// The logical calls of the first edge as `start..end outcome`, in milliseconds.
fn logical(text: &str) -> Vec<String> {
    let table = table(text);
    let edge = &calls::edges(&table)[0];
    let calls = retries::logical(&table, &edge.calls);
    assert_eq!(calls.len(), edge.retries.logical, "{text}");
    assert_eq!(edge.calls.len(), edge.retries.tries, "{text}");
    let line = |at: usize| {
        let ms = |ns: i64| ns / 1_000_000;
        format!(
            "{}..{} {:?}",
            ms(calls.start[at]),
            ms(calls.end[at]),
            calls.outcome[at]
        )
    };
    (0..calls.len()).map(line).collect()
}

#[test]
fn tries_under_one_parent_are_one_call() {
    let text = "a 0 - web server 0+900
        a 1 0 web client 10+100 timed_out >api :GET
        a 2 0 web client 130+100 failed >api :GET
        a 3 0 web client 300+40 >api :GET
        a 4 0 web client 400+40 >api :GET";
    assert_eq!(logical(text), ["10..340 Success", "400..440 Success"]);
    let edge = &calls::edges(&table(text))[0];
    assert_eq!(
        edge.retries,
        Retries {
            tries: 4,
            logical: 2
        }
    );
    assert_eq!(edge.retries.amplification(), Some(2.0));
    assert_eq!(retries::most_tries(&table(text), &edge.calls), 3);
}

#[test]
fn tries_that_only_the_callee_recorded_are_one_call() {
    let text = "a 0 - web unset 0+900
        a 1 0 api unset 10+100 failed :GET
        a 2 0 api unset 130+40 :GET";
    assert_eq!(logical(text), ["10..170 Success"]);
}

#[test]
fn other_parents_operations_and_overlaps_are_other_calls() {
    let cases = [
        (
            "no parent",
            "a 1 - web client 0+9 failed >api\n a 2 - web client 10+9 >api",
            2,
        ),
        (
            "other operations",
            "a 0 - web server 0+90\n a 1 0 web client 0+9 failed >api :GET\n a 2 0 web client 10+9 >api :PUT",
            2,
        ),
        (
            "at the same time",
            "a 0 - web server 0+90\n a 1 0 web client 0+9 failed >api\n a 2 0 web client 8+9 >api",
            2,
        ),
        (
            "a loop that goes well",
            "a 0 - web server 0+90\n a 1 0 web client 0+9 >api\n a 2 0 web client 10+9 >api",
            2,
        ),
        (
            "a refusal is tried again",
            "a 0 - web server 0+90\n a 1 0 web client 0+1 rejected >api\n a 2 0 web client 10+9 >api",
            1,
        ),
        (
            "two at the same time, each tried again",
            "a 0 - web server 0+90
             a 1 0 web client 0+9 failed >api\n a 2 0 web client 1+9 failed >api
             a 3 0 web client 10+9 >api\n a 4 0 web client 11+9 >api",
            2,
        ),
    ];
    for (what, text, expected) in cases {
        assert_eq!(logical(text).len(), expected, "{what}");
    }
}

/// A file without status whose calls pile up just above three seconds.
fn cut_at_three_seconds() -> String {
    let mut csv =
        "trace_id,span_id,parent_id,service,kind,peer_service,start_ms,duration_ms\n".to_owned();
    for at in 0..100 {
        let took = if at % 10 == 0 {
            3_000 + at / 10
        } else {
            40 + at
        };
        let start = 1_767_607_200_000i64 + at * 100;
        csv.push_str(&format!("t{at},s{at},,web,client,stock,{start},{took}\n"));
    }
    csv
}

fn read(csv: &str, told: &str) -> Dataset {
    let mut reader = Reader::new(Limits::default()).telling(told.parse().expect("what is told"));
    reader.push(csv.as_bytes()).expect("a readable file");
    Dataset::new(
        "given".to_owned(),
        None,
        reader.finish().expect("a readable file"),
    )
}

#[test]
fn a_file_without_status_has_a_proposal_that_can_be_told() {
    let csv = cut_at_three_seconds();
    let dataset = read(&csv, "");
    assert_eq!(dataset.failed_over_proposed, Some(3_000_000_000));
    let offered = dataset.assumptions();
    let failed = offered
        .iter()
        .find(|it| it.part == "failed")
        .expect("an offer");
    assert_eq!(failed.value, "3s");
    assert!(
        dataset.assumed_line().contains("(failed=3s)"),
        "{}",
        dataset.assumed_line()
    );
    assert_eq!(dataset.edges[0].calls.count(CallOutcome::Success), 100);

    let told = read(&csv, &format!("{}={}", failed.part, failed.value));
    assert_eq!(
        (told.failed_over_proposed, told.assumed_line()),
        (None, String::new())
    );
    let calls = &told.edges[0].calls;
    assert_eq!(calls.count(CallOutcome::TimedOut), 10);
    assert_eq!(calls.count(CallOutcome::Success), 90);
    // A span of exactly that duration failed, too.
    let exact = read(&csv, "failed=3.009s");
    assert_eq!(exact.edges[0].calls.count(CallOutcome::Success), 99);
}

#[test]
fn no_duration_is_proposed_without_a_pile() {
    let csv = cut_at_three_seconds();
    let slope = csv.replace(",300", ",30");
    assert_eq!(read(&slope, "").failed_over_proposed, None);
    let outlived = csv.replace(",13", ",900013");
    assert_eq!(read(&outlived, "").failed_over_proposed, None);
}

#[test]
fn assumptions_are_parts_of_what_can_be_told() {
    let csv = "trace_id,span_id,service,start,end,duration\nt,a,web,3/4/2026 10:00:00.5,,30\n";
    let dataset = read(csv, "");
    let said: Vec<String> = dataset
        .assumptions()
        .iter()
        .map(|it| format!("{}={}", it.part, it.value))
        .collect();
    assert_eq!(said, ["zone=UTC", "dates=month-first", "duration=@ms"]);
    assert_eq!(
        dataset.assumed_line(),
        "assumed: times in UTC, dates month-first, durations in ms"
    );
    for it in dataset.assumptions() {
        for choice in it.choices {
            let told = format!("{}={choice}", it.part);
            let told = read(csv, &told);
            let left = told.assumptions();
            assert!(left.iter().all(|left| left.part != it.part), "{}", it.part);
        }
    }
}

#[test]
fn told_so_tries_count_as_one_call() {
    let csv = "trace_id,span_id,parent_id,service,kind,peer_service,start_ms,duration_ms,status\n\
               t,r,,web,server,,1767607200000,900,OK\n\
               t,1,r,web,client,stock,1767607200010,100,ERROR\n\
               t,2,r,web,client,stock,1767607200200,50,OK\n";
    let calls = |told| read(csv, told).edges[0].calls.clone();
    assert_eq!((calls("").len(), calls("logical=no").len()), (2, 2));
    let one = calls("logical=yes");
    assert_eq!(
        (one.len(), one.outcome[0], one.duration(0)),
        (1, CallOutcome::Success, 240_000_000)
    );
}

proptest! {
    /// Each call is a try of one logical call, which begins with its first and ends with its last.
    #[test]
    fn logical_calls_cover_all_calls(
        sent in prop::collection::vec((0..60i64, 0..9u64, 0..3u8, 0..3u8), 1..40)
    ) {
        let mut text = "t 0 - web server 0+99\n t 9 - web server 0+99\n".to_owned();
        for (at, (start, took, parent, outcome)) in sent.iter().enumerate() {
            let parent = ["0", "9", "-"][usize::from(*parent)];
            let outcome = ["", "failed", "timed_out"][usize::from(*outcome)];
            text.push_str(&format!("t c{at} {parent} web client {start}+{took} {outcome} >api\n"));
        }
        let table = table(&text);
        let edge = &calls::edges(&table)[0];
        let made = retries::logical(&table, &edge.calls);
        prop_assert!(made.start.is_sorted());
        let ends: Vec<i64> = made.by_end.iter().map(|&at| made.end[at as usize]).collect();
        prop_assert!(ends.is_sorted() && ends.len() == made.len());
        let well = |calls: &calls::Calls| calls.count(CallOutcome::Success);
        // A call that went well is the last of its tries.
        prop_assert_eq!(well(&made), well(&edge.calls));
        prop_assert!(made.len() <= edge.calls.len());
        prop_assert!((0..made.len()).all(|at| made.start[at] <= made.end[at]));
    }
}
