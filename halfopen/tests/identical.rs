//! The shared breaker against the machine: the same log of events gives the
//! same answers, figures and transitions, to the nanosecond.
//!
//! The logs are drawn from seeds (`events/draw.rs`) and read back from their
//! text. The breaker gets the time from a manual clock or passed in, in turn.
//! In a browser, the machine without a system is played the same logs: see
//! the browser tests' `bare`.
#![cfg(feature = "std")]

extern crate alloc;

mod events;

use std::collections::BTreeMap;

use events::draw::{self, Draw};
use events::shared::{self, OnBreaker};
use events::{Log, OnMachine};

#[test]
fn the_breaker_is_the_machine() {
    let mut causes = BTreeMap::<String, usize>::new();
    for seed in 0..4_000 {
        let log = draw::log(seed);
        let told = compare(&log, Draw(seed));
        assert_eq!(events::replay(&log.to_string()).as_ref(), Ok(&told));
        assert_eq!(shared::replay(&log, !seed), told);
        for cause in told.lines().filter_map(|it| it.split(' ').nth(4)) {
            *causes.entry(cause.to_owned()).or_default() += 1;
        }
    }
    // What the last lines have there are figures.
    causes.retain(|it, _| it.parse::<u32>().is_err());
    // The logs reach every edge, or this says nothing about it.
    assert_eq!(causes.len(), 10, "causes not reached: {causes:?}");
    assert!(causes.values().all(|&n| n >= 20), "{causes:?}");
}

/// Plays one log on both, side by side, with a look at each after every event;
/// gives what came of it.
fn compare(log: &Log, mut draw: Draw) -> String {
    let mut left = OnBreaker::new(log.config.clone());
    let mut right = OnMachine::new(log.config.clone());
    for &event in &log.events {
        let answer = left.step(event, draw.one_in(2));
        assert_eq!(answer, right.step(event), "{event}");
        assert_eq!(left.told(), right.told, "{event}");
        // What is due by now, such as the end of a wait of 0 ns, happens when
        // the time is told again, and not by looking.
        assert_eq!(left.breaker.snapshot(), right.machine.snapshot());
        assert_eq!(left.told(), right.told);
        left.look();
        right.look();

        let (breaker, machine) = (&left.breaker, &right.machine);
        assert_eq!(breaker.snapshot(), machine.snapshot());
        assert_eq!(left.told(), right.told);
        assert_eq!(breaker.state(), machine.state());
        assert_eq!(breaker.retry_at(), machine.retry_at());
        assert_eq!(breaker.next_deadline(), machine.next_deadline());
    }
    right.end()
}

#[test]
fn a_log_is_read_as_it_was_written() {
    for seed in 0..200 {
        let log = draw::log(seed);
        assert_eq!(Log::parse(&log.to_string()), Ok(log));
    }
    let log = "window=4 min=2 open=20ns probes=1\n0 acquire\n0 acquire\n5 failure 0\n7 failure 1\n27 advance\n";
    let told = "7 1 closed open failure_rate 2 2 0\nend open 1 2 2 0 1000000 0 0 0 0 1 0\n";
    assert_eq!(events::replay(log).as_deref(), Ok(told));
    assert_eq!(
        events::replay("").as_deref(),
        Ok("end closed 0 0 0 0 - - 0 0 0 0 0\n")
    );
}

#[test]
fn what_is_no_log_is_told_by_its_line() {
    let error = |text: &str| events::replay(text).unwrap_err();
    assert!(error("open=soon").starts_with("line 1: "));
    for line in [
        "",
        "acquire",
        "x acquire",
        "1 sucess 0",
        "1 success",
        "1 success -1",
        "1 acquire 0",
        "9223372036854775808 acquire",
    ] {
        let text = format!("\n0 acquire\n{line}\n");
        assert!(error(&text).starts_with("line 3: "), "{line}");
    }
    // Nothing comes of a result for no call.
    let text = "\n0 success 0\n1 acquire\n2 success 0\n3 failure 0\n4 cancel 7\n";
    assert_eq!(
        events::replay(text).as_deref(),
        Ok("end closed 0 1 0 0 - - 0 0 0 0 0\n")
    );
}
