//! Tries of one logical call, and what they make of an edge.

use herdscope::calls::{self, CallOutcome};
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
