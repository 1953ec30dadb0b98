//! The words of the documentation, one small script each.
//!
//! A script is events with their time in nanoseconds. A lower-case letter is a
//! call that begins; `a=S` is how call `a` ends: `S`uccess, `F`ailure,
//! `I`gnored, or `x` for cancelled. `=S` alone begins and ends at once. `:5`
//! is a duration, `*3` repeats, `.` is time that passes, `!` a change by hand.
//! The answer is what happened: rejections (`no`), and transitions with their
//! cause and figures (calls/failures/slow).

use std::collections::HashMap;
use std::fmt::Write;

use halfopen::{Config, Machine, Outcome, Permit, State};

#[test]
fn rates_trip_at_their_threshold() {
    let half = "window=4 min=2 fail=50%";
    check(half, "0 =S, 0 =F", "0 closed>open failure_rate 2/1/0");
    check(half, "0 =S*2, 0 =F", "");
    check(half, "0 =F", "");
    check(
        "window=4 min=3 fail=100%",
        "0 =F*3",
        "0 closed>open failure_rate 3/3/0",
    );
    check(
        "window=3 min=3 fail=33.3333%",
        "0 =S*2, 0 =F",
        "0 closed>open failure_rate 3/1/0",
    );
    check("window=3 min=3 fail=33.3334%", "0 =S*2, 0 =F", "");
    // A good result can trip: it is what completes the minimum.
    check(
        "window=4 min=4 fail=50%",
        "0 =F*2, 0 =S*2",
        "0 closed>open failure_rate 4/2/0",
    );
    check("window=4 min=4 fail=off judge=first-failure", "0 =F*9", "");
}

#[test]
fn slow_is_longer_than_its_threshold() {
    let slow = "window=4 min=2 slow=100%@5ns";
    check(slow, "0 =S:5*9", "");
    check(slow, "0 =S:6*2", "0 closed>open slow_rate 2/0/2");
    check(
        "window=4 min=2 slow=50%@5ns fail=60%",
        "0 =F:6, 0 =S",
        "0 closed>open slow_rate 2/1/1",
    );
    // Both at once: the failures are named.
    check(slow, "0 =F:6*2", "0 closed>open failure_rate 2/2/2");
    check("window=4 min=2 slow=off", "0 =S:18446744073709551615*9", "");
}

#[test]
fn a_call_is_cut_at_its_timeout() {
    let timeout = "window=4 min=2 timeout=5ns";
    check(timeout, "0 =S:4*9", "");
    check(timeout, "0 =S:5*2", "0 closed>open failure_rate 2/2/0");
    check(timeout, "0 =I:4*9", "");
    check(timeout, "0 =I:5*2", "0 closed>open failure_rate 2/2/0");
}

#[test]
fn failures_in_a_row_trip_without_the_minimum() {
    let row = "window=100 min=100 consecutive=3";
    check(row, "0 =F*2, 0 =I, 0 =F", "0 closed>open consecutive 3/3/0");
    check(row, "0 =F*2, 0 =S, 0 =F*2", "");
    check(
        "window=100 min=100 consecutive=2 timeout=5ns",
        "0 =S:9*2",
        "0 closed>open consecutive 2/2/0",
    );
}

#[test]
fn a_time_window_forgets_whole_buckets() {
    let window = "window=50ns/10ns min=2 fail=100%";
    check(window, "9 =F, 49 =F", "49 closed>open failure_rate 2/2/0");
    check(window, "9 =F, 50 =F", "");
    check(window, "-11 =F, 29 =F", "29 closed>open failure_rate 2/2/0");
    check(window, "-11 =F, 30 =F", "");
    check(window, "0 =F, 9000000000000000000 =F", "");
    // What has left the window is not in the figures of a change by hand.
    check(window, "9 =F, 50 !open", "50 closed>open manual 0/0/0");
}

/// One failure trips, for 10 ns.
const ONE: &str = "window=1 min=1 open=10ns";
const TRIP: &str = "0 closed>open failure_rate 1/1/0";

/// As [`check`], for a breaker that has tripped at 0.
#[track_caller]
fn check_open(settings: &str, script: &str, wanted: &str) {
    check(
        &format!("{ONE} {settings}"),
        &format!("0 =F, {script}"),
        &format!("{TRIP}, {wanted}"),
    );
}

#[test]
fn the_wait_is_over_at_its_end() {
    check_open("", "9 a", "9 no");
    check_open("", "10 a", "10 open>half_open wait_over 1/1/0");
    check_open("", "99 ., 99 a", "99 open>half_open wait_over 1/1/0");
    check_open("auto=yes", "9 .", "");
    check_open("auto=yes", "99 .", "10 open>half_open wait_over 1/1/0");
}

#[test]
fn results_while_open_change_nothing() {
    let script = "0 a, 0 b, 0 =F, 5 a=F, 9 b=S, 9 c, 10 c";
    check(
        ONE,
        script,
        &format!("{TRIP}, 9 no, 10 open>half_open wait_over 1/1/0"),
    );
}

#[test]
fn the_last_probe_decides_by_rate() {
    let round = |ends: &str| format!("10 a, 10 b, 10 c, {ends}");
    let begun = "10 open>half_open wait_over 1/1/0";
    check_open("probes=2", &round("11 a=F"), &format!("{begun}, 10 no"));
    check_open(
        "probes=2",
        &round("11 a=F, 12 b=S"),
        &format!("{begun}, 10 no, 12 half_open>open probes_failed 2/1/0"),
    );
    check_open(
        "probes=2 fail=51%",
        &round("11 a=F, 12 b=S"),
        &format!("{begun}, 10 no, 12 half_open>closed probes_passed 2/1/0"),
    );
    check_open(
        "probes=2 slow=50%@5ns",
        &round("11 a=S:6, 12 b=S"),
        &format!("{begun}, 10 no, 12 half_open>open probes_failed 2/0/1"),
    );
}

#[test]
fn the_first_bad_probe_decides_otherwise() {
    let begun = "10 open>half_open wait_over 1/1/0";
    let first = "probes=2 judge=first-failure";
    check_open(
        first,
        "10 a, 11 a=F",
        &format!("{begun}, 11 half_open>open probes_failed 1/1/0"),
    );
    check_open(
        first,
        "10 a, 10 b, 11 a=S, 12 b=S",
        &format!("{begun}, 12 half_open>closed probes_passed 2/0/0"),
    );
    check_open(
        &format!("{first} slow=100%@5ns"),
        "10 a, 11 a=S:6",
        &format!("{begun}, 11 half_open>open probes_failed 1/0/1"),
    );
}

#[test]
fn a_probe_given_back_is_another_probe() {
    let begun = "10 open>half_open wait_over 1/1/0";
    check_open(
        "probes=1",
        "10 a, 10 b, 11 a=x, 11 b, 11 c",
        &format!("{begun}, 10 no, 11 no"),
    );
    check_open(
        "probes=1",
        "10 a, 11 a=I, 11 b, 12 b=S",
        &format!("{begun}, 12 half_open>closed probes_passed 1/0/0"),
    );
}

#[test]
fn a_lease_runs_out_when_it_is_due() {
    let begun = "10 open>half_open wait_over 1/1/0";
    let expired = "30 half_open>open lease_expired 1/1/0";
    let lease = "probes=1 lease=20ns";
    check_open(
        lease,
        "10 a, 29 a=S",
        &format!("{begun}, 29 half_open>closed probes_passed 1/0/0"),
    );
    // What is due goes before what happens at the same time.
    check_open(lease, "10 a, 30 a=S", &format!("{begun}, {expired}"));
    // Noticed late, it still counts from when it was due: open since 30, so
    // the wait is over at 40.
    check_open(lease, "10 a, 39 b", &format!("{begun}, {expired}, 39 no"));
    check_open(
        lease,
        "10 a, 40 b",
        &format!("{begun}, {expired}, 40 open>half_open wait_over 1/1/0"),
    );
    check_open(
        &format!("{lease} auto=yes"),
        "10 ., 10 a, 99 .",
        &format!("{begun}, {expired}, 40 open>half_open wait_over 1/1/0"),
    );
    check_open(
        "probes=1 lease=off",
        "10 a, 9000000000000000000 b",
        &format!("{begun}, 9000000000000000000 no"),
    );
    // It is one failed result among the others.
    check_open(
        "probes=2 lease=20ns fail=51%",
        "10 a, 10 b, 11 a=S, 99 ., 99 b=F",
        &format!("{begun}, 30 half_open>closed probes_passed 2/1/0"),
    );
    check_open("probes=2 lease=20ns", "10 a, 99 .", begun);
    check_open(
        "probes=2 lease=20ns judge=first-failure",
        "10 a, 99 .",
        &format!("{begun}, {expired}"),
    );
}

#[test]
fn waits_grow_until_a_close() {
    check(
        "window=1 min=1 open=10ns backoff=2x max-open=30ns probes=1",
        "0 =F, 10 =F, 29 =F, 30 =F, 59 =F, 60 =S, 60 =F, 69 =F, 70 =F",
        "0 closed>open failure_rate 1/1/0, \
         10 open>half_open wait_over 1/1/0, 10 half_open>open probes_failed 1/1/0, 29 no, \
         30 open>half_open wait_over 1/1/0, 30 half_open>open probes_failed 1/1/0, 59 no, \
         60 open>half_open wait_over 1/1/0, 60 half_open>closed probes_passed 1/0/0, \
         60 closed>open failure_rate 1/1/0, 69 no, \
         70 open>half_open wait_over 1/1/0, 70 half_open>open probes_failed 1/1/0",
    );
}

/// A breaker that begins to ramp at 10, opened by hand so that its window
/// can be large enough to leave the verdict to the steps.
#[track_caller]
fn check_ramp(settings: &str, script: &str, wanted: &str) {
    check(
        &format!("open=10ns backoff=2x probes=1 {settings}"),
        &format!("0 !open, 10 =S, {script}"),
        &format!(
            "0 closed>open manual 0/0/0, 10 open>half_open wait_over 0/0/0, \
             10 half_open>ramping probes_passed 1/0/0, {wanted}"
        ),
    );
}

#[test]
fn a_ramp_admits_a_growing_share() {
    let no = |at: i64, n: usize| vec![format!("{at} no"); n].join(", ");
    check_ramp(
        "ramp=10%/50%/100%@10ns",
        "11 =S*10, 20 =S*10, 30 =S*10",
        &[no(11, 9), no(20, 5)].join(", "),
    );
    check_ramp(
        "ramp=20ns",
        "10 =S*10, 12 =S*10, 20 =S*10",
        &[no(10, 9), no(12, 9), no(20, 5)].join(", "),
    );
    check_ramp("ramp=20ns", "29 =S*20", &no(29, 1));
    // The share is of the calls that ask: those that are ignored or were not
    // made make no room for others.
    for ended in ["x", "I"] {
        check_ramp("ramp=10%@10ns", &format!("11 ={ended}*1000"), &no(11, 900));
    }
}

#[test]
fn a_ramp_step_is_judged_at_its_end() {
    let failed = "20 ramping>open ramp_failed 1/1/0";
    check_ramp("ramp=100%@10ns", "11 =F, 19 .", "");
    check_ramp("ramp=100%@10ns", "11 =F, 20 .", failed);
    check_ramp(
        "ramp=100%@10ns",
        "11 =S, 99 .",
        "20 ramping>closed ramp_done 1/0/0",
    );
    check_ramp(
        "ramp=100%@10ns slow=100%@5ns",
        "11 =S:6, 99 .",
        "20 ramping>open ramp_failed 1/0/1",
    );
    check_ramp(
        "ramp=10ns",
        "19 a, 19 b, 19 b=F, 99 .",
        "19 no, 20 ramping>open ramp_failed 1/1/0",
    );
    // On its own results: those that come in during it.
    check_ramp("ramp=50%/100%@10ns", "11 a*2, 20 a=F, 25 .", "11 no");
    check_ramp(
        "ramp=50%/100%@10ns",
        "11 a*2, 20 a=F, 30 .",
        "11 no, 30 ramping>open ramp_failed 1/1/0",
    );
    check_ramp(
        "ramp=50%/100%@10ns",
        "11 =S*2, 21 =F, 30 .",
        "11 no, 30 ramping>open ramp_failed 1/1/0",
    );
    // The wait goes on growing.
    check_ramp(
        "ramp=100%@10ns",
        "11 =F, 39 a, 40 a",
        &format!("{failed}, 39 no, 40 open>half_open wait_over 1/1/0"),
    );
}

#[test]
fn a_ramp_without_enough_results_goes_on() {
    let script = "0 !open, 10 =S*2, 11 =F*2, 99 .";
    let wanted = "0 closed>open manual 0/0/0, 10 open>half_open wait_over 0/0/0, \
                  10 half_open>ramping probes_passed 2/0/0, 11 no, 30 ramping>closed ramp_done 0/0/0";
    check("open=10ns probes=2 ramp=50%/100%@10ns", script, wanted);
}

#[test]
fn a_failed_callee_passes_no_step_where_failures_have_no_rate() {
    let off = "fail=off slow=100%@5ns judge=first-failure ramp=100%@10ns";
    let failed = "20 ramping>open ramp_failed 1/1/0";
    check_ramp(off, "11 =F, 20 .", failed);
    check_ramp(
        off,
        "11 =S, 11 =F, 20 .",
        "20 ramping>open ramp_failed 2/1/0",
    );
    check_ramp(
        off,
        "11 =S*2, 11 =F, 20 .",
        "20 ramping>closed ramp_done 3/1/0",
    );
    // One of five is enough to say so.
    check(
        &format!("open=10ns probes=5 {off}"),
        "0 !open, 10 =S*5, 11 =F, 20 .",
        &format!(
            "0 closed>open manual 0/0/0, 10 open>half_open wait_over 0/0/0, \
             10 half_open>ramping probes_passed 5/0/0, {failed}"
        ),
    );
    // The probes before it: a failed one, and one that does not report.
    for (script, at, cause, figures) in [
        ("10 =F", 10, "probes_failed", "1/1/0"),
        ("10 a, 99 .", 20, "lease_expired", "1/1/0"),
    ] {
        check(
            &format!("open=10ns probes=2 lease=10ns {off}"),
            &format!("0 !open, {script}"),
            &format!(
                "0 closed>open manual 0/0/0, 10 open>half_open wait_over 0/0/0, \
                 {at} half_open>open {cause} {figures}"
            ),
        );
    }
}

#[test]
fn a_trip_ends_a_ramp_at_once() {
    check_ramp("window=2 min=2 ramp=100%@10ns", "11 =F*2, 30 a, 31 a", {
        "11 ramping>open failure_rate 2/2/0, 30 no, 31 open>half_open wait_over 2/2/0"
    });
    check_ramp(
        "consecutive=2 ramp=100%@10ns",
        "11 =F*2",
        "11 ramping>open consecutive 2/2/0",
    );
    // The window is the ramp's own, and so is the closed one after it.
    check_ramp("window=2 min=2 ramp=100%@10ns fail=100%", "11 =F, 20 =F", {
        "20 ramping>open ramp_failed 1/1/0, 20 no"
    });
    check_ramp("window=2 min=2 ramp=100%@10ns fail=100%", "11 =S, 20 =F", {
        "20 ramping>closed ramp_done 1/0/0"
    });
}

#[test]
fn changes_by_hand() {
    check(
        ONE,
        "0 !force-open, 99 =F, 99 .",
        "0 closed>forced_open manual 0/0/0, 99 no",
    );
    check(ONE, "0 !disable, 0 =F*9", "0 closed>disabled manual 0/0/0");
    check(
        ONE,
        "0 !metrics-only, 0 =F*9",
        "0 closed>metrics_only manual 0/0/0",
    );
    check(ONE, "0 !half-open", "");
    check(
        ONE,
        "0 !metrics-only, 0 !open, 0 !half-open, 0 !open-for:5",
        "0 closed>metrics_only manual 0/0/0",
    );
    check(
        &format!("{ONE} probes=1"),
        "0 !force-open, 1 !half-open, 1 =F",
        {
            "0 closed>forced_open manual 0/0/0, 1 forced_open>half_open manual 0/0/0, \
         1 half_open>open probes_failed 1/1/0"
        },
    );
    check(ONE, "0 !open-for:50, 49 a, 50 a", {
        "0 closed>open manual 0/0/0, 49 no, 50 open>half_open wait_over 0/0/0"
    });
    // Opened again, it waits as long again.
    check(ONE, "0 !open, 5 !open, 14 a, 15 a", {
        "0 closed>open manual 0/0/0, 5 open>open manual 0/0/0, 14 no, 15 open>half_open wait_over 0/0/0"
    });
    check(
        ONE,
        "0 =S, 1 !reset, 2 !close",
        "1 closed>closed manual 1/0/0, 2 closed>closed manual 0/0/0",
    );
}

/// The table at [`State`].
#[test]
fn what_a_hand_makes_of_each_state() {
    type Hand = fn(&mut Machine) -> bool;
    let hands: [(Hand, State); 7] = [
        (|it| it.open(0).is_ok(), State::Open),
        (|it| it.open_for(0, 9).is_ok(), State::Open),
        (|it| it.half_open(0).is_ok(), State::HalfOpen),
        (|it| (it.close(0), true).1, State::Closed),
        (|it| (it.force_open(0), true).1, State::ForcedOpen),
        (|it| (it.disable(0), true).1, State::Disabled),
        (|it| (it.metrics_only(0), true).1, State::MetricsOnly),
    ];
    let made = |state: State| {
        let mut machine = Machine::new("probes=1 ramp=9ns".parse().unwrap());
        match state {
            State::Closed => {}
            State::Open => machine.open(0).unwrap(),
            State::ForcedOpen => machine.force_open(0),
            State::Disabled => machine.disable(0),
            State::MetricsOnly => machine.metrics_only(0),
            State::HalfOpen | State::Ramping => {
                machine.open(0).unwrap();
                machine.half_open(0).unwrap();
            }
        }
        if state == State::Ramping {
            let probe = machine.acquire(0).unwrap();
            machine.settle(0, probe, Outcome::Success, 0);
        }
        assert_eq!(machine.state(), state);
        machine
    };
    for from in State::ALL {
        for (hand, to) in hands {
            let refused = match from {
                State::Closed => to == State::HalfOpen,
                State::MetricsOnly => matches!(to, State::Open | State::HalfOpen),
                _ => false,
            };
            let allowed = !refused;
            let mut machine = made(from);
            assert_eq!(hand(&mut machine), allowed, "{from} to {to}");
            assert_eq!(machine.state(), if allowed { to } else { from });
        }
        // By itself only what has a deadline or a wait.
        let mut machine = made(from);
        machine.advance(i64::MAX);
        let _ = machine.acquire(i64::MAX);
        let stays = matches!(
            from,
            State::ForcedOpen | State::Disabled | State::MetricsOnly
        );
        assert!(!stays || machine.state() == from);
    }
}

#[test]
fn time_does_not_go_back() {
    check_open("", "100 ., 0 a", "100 open>half_open wait_over 1/1/0");
    check(
        "window=50ns/10ns min=2",
        "100 =F, 0 =F",
        "100 closed>open failure_rate 2/2/0",
    );
    check(ONE, "9223372036854775807 =F, 0 a", {
        "9223372036854775807 closed>open failure_rate 1/1/0, \
         9223372036854775807 open>half_open wait_over 1/1/0"
    });
}

#[test]
fn reset_forgets_everything() {
    let mut machine = Machine::new("window=4 min=4".parse().unwrap());
    run(&mut machine, "0 a, 0 =I, 0 =F*3, 0 !open, 1 =S, 1 a=F");
    let seen = machine.snapshot();
    assert_eq!(
        (
            seen.not_permitted,
            seen.ignored,
            seen.late_results,
            seen.openings
        ),
        (1, 1, 1, 1)
    );
    run(&mut machine, "2 !reset");
    let seen = machine.snapshot();
    assert_eq!(
        (seen.state, seen.calls, seen.failure_rate),
        (State::Closed, 0, None)
    );
    assert_eq!(
        (
            seen.not_permitted,
            seen.ignored,
            seen.late_results,
            seen.openings
        ),
        (0, 0, 0, 0)
    );
}

#[test]
fn snapshots_say_what_opened_the_breaker() {
    let mut machine = Machine::new("window=4 min=4 fail=50%".parse().unwrap());
    run(&mut machine, "0 =F, 0 =S*2");
    assert_eq!(machine.snapshot().failure_rate, None);
    run(&mut machine, "0 =F");
    let seen = machine.snapshot();
    assert_eq!((seen.state, seen.calls, seen.failures), (State::Open, 4, 2));
    assert_eq!(
        (seen.failure_rate, seen.slow_rate),
        (Some(500_000), Some(0))
    );
}

#[test]
fn what_nobody_drains_is_counted() {
    let mut machine = Machine::new(Config::default());
    assert!(!machine.has_transitions());
    for now in 0..5 {
        machine.reset(now);
    }
    assert!(machine.has_transitions());
    assert_eq!(machine.snapshot().transitions_lost, 2);
    assert_eq!(
        machine
            .drain_transitions()
            .take(1)
            .map(|it| it.at)
            .collect::<Vec<_>>(),
        [2]
    );
    assert_eq!(
        machine
            .drain_transitions()
            .map(|it| it.at)
            .collect::<Vec<_>>(),
        [3, 4]
    );
    assert!(!machine.has_transitions());
}

#[test]
fn permits_of_another_machine_do_no_harm() {
    let mut other = Machine::new("probes=9 open=1ns".parse().unwrap());
    let mut machine = Machine::new("probes=1 open=1ns".parse().unwrap());
    for it in [&mut other, &mut machine] {
        it.open(0).unwrap();
    }
    let own = machine.acquire(1).unwrap();
    let foreign: Vec<Permit> = (0..9).map(|_| other.acquire(1).unwrap()).collect();
    for (nth, permit) in foreign.into_iter().enumerate().skip(1) {
        match nth % 2 {
            0 => machine.settle(1, permit, Outcome::Failure, 0),
            _ => machine.cancel(1, permit),
        }
    }
    assert_eq!(machine.state(), State::HalfOpen);
    machine.settle(1, own, Outcome::Success, 0);
    assert_eq!(machine.state(), State::Closed);
}

#[test]
fn instances_wait_differently_and_repeatably() {
    let waits = |name: &str| -> Vec<i64> {
        let mut machine = Machine::for_instance("open=1s jitter=full".parse().unwrap(), name);
        let wait = |now| {
            machine.reset(now);
            machine.open(now).unwrap();
            machine.retry_at().unwrap() - now
        };
        (0..8).map(wait).collect()
    };
    assert_eq!(waits("web-1"), waits("web-1"));
    assert_ne!(waits("web-1"), waits("web-2"));
    let distinct: std::collections::HashSet<i64> = waits("web-1").into_iter().collect();
    assert_eq!(distinct.len(), 8);
}

#[test]
#[cfg(target_pointer_width = "64")]
fn a_machine_is_small() {
    // Besides it, a default breaker has 32 bytes of window and 160 of probes.
    assert!(size_of::<Machine>() <= 384, "{}", size_of::<Machine>());
    assert_eq!(size_of::<Permit>(), 16);
}

#[track_caller]
fn check(settings: &str, script: &str, wanted: &str) {
    let mut machine = Machine::new(settings.parse().unwrap());
    assert_eq!(
        run(&mut machine, script),
        wanted.trim_end_matches(", "),
        "\n{settings}\n{script}"
    );
}

fn run(machine: &mut Machine, script: &str) -> String {
    let mut log = String::new();
    let mut permits = HashMap::new();
    for event in script.split(", ").filter(|it| !it.is_empty()) {
        let (now, op) = event.split_once(' ').unwrap();
        let (op, repeat) = op.split_once('*').unwrap_or((op, "1"));
        let (op, duration) = op.split_once(':').unwrap_or((op, "0"));
        let (now, duration) = (now.parse().unwrap(), duration.parse().unwrap());
        for _ in 0..repeat.parse().unwrap() {
            let mut rejected = false;
            match op {
                "." => machine.advance(now),
                "!open" => drop(machine.open(now)),
                "!open-for" => drop(machine.open_for(now, duration)),
                "!half-open" => drop(machine.half_open(now)),
                "!close" => machine.close(now),
                "!force-open" => machine.force_open(now),
                "!disable" => machine.disable(now),
                "!metrics-only" => machine.metrics_only(now),
                "!reset" => machine.reset(now),
                _ => {
                    let (call, end) = op.split_once('=').unwrap_or((op, ""));
                    if call.is_empty() || end.is_empty() {
                        match machine.acquire(now) {
                            Ok(permit) => drop(permits.insert(call, permit)),
                            Err(_) => rejected = true,
                        }
                    }
                    if !end.is_empty()
                        && let Some(permit) = permits.remove(call)
                    {
                        match end {
                            "S" => machine.settle(now, permit, Outcome::Success, duration),
                            "F" => machine.settle(now, permit, Outcome::Failure, duration),
                            "I" => machine.settle(now, permit, Outcome::Ignored, duration),
                            "x" => machine.cancel(now, permit),
                            _ => panic!("{event}"),
                        }
                    }
                }
            }
            for it in machine.drain_transitions() {
                let f = it.figures;
                let figures = format!("{}/{}/{}", f.calls, f.failures, f.slow);
                write!(
                    log,
                    "{} {}>{} {} {figures}, ",
                    it.at, it.from, it.to, it.cause
                )
                .unwrap();
            }
            if rejected {
                write!(log, "{now} no, ").unwrap();
            }
        }
    }
    log.trim_end_matches(", ").to_string()
}
