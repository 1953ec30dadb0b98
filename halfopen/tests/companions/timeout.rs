//! Timeouts and deadlines.

use super::*;

fn timeout(connect: Option<u64>, read: Option<u64>) -> Timeout {
    Timeout::new(TimeoutSettings { connect, read }).unwrap()
}

#[test]
fn connect_and_read_time_out_apart_and_at_their_end() {
    let both = timeout(Some(100), Some(1_000));
    assert_eq!(both.longest(), Some(1_100));
    assert_eq!(timeout(None, Some(1)).longest(), None);
    // Connection at, end at, and what came of it. Connect is over at 100, read
    // at the connection's time + 1000.
    for (connected, end, wanted) in [
        (0, 999, Ok(999)),
        (0, 1_000, Err(TimedOut::Read)),
        (99, 1_098, Ok(1_098)),
        (99, 1_099, Err(TimedOut::Read)),
        (100, 101, Err(TimedOut::Connect)),
        (100, 5_000, Err(TimedOut::Connect)),
    ] {
        let mut timer = both.start(0, Deadline::NEVER);
        let _ = timer.connected(connected);
        assert_eq!(timer.finish(end), wanted, "{connected} {end}");
    }
}

#[test]
fn the_deadline_counts_where_it_is_first() {
    let both = timeout(Some(100), Some(1_000));
    for (deadline, limit, at, wanted) in [
        (50, 50, 50, TimedOut::Deadline),
        // At the same time the callee's own limit is named.
        (100, 100, 100, TimedOut::Connect),
        (101, 100, 500, TimedOut::Connect),
        (99, 99, 500, TimedOut::Deadline),
    ] {
        let mut timer = both.start(0, Deadline::at(deadline));
        assert_eq!(timer.limit(), Some(limit));
        assert_eq!(timer.check(limit - 1), Ok(()));
        assert_eq!(timer.remaining(limit - 1), Some(1));
        assert_eq!(timer.check(at), Err(wanted));
        assert_eq!(timer.remaining(at), Some(0));
        assert_eq!(timer.judge(at, Outcome::Success), Outcome::Failure);
    }
    let mut free = timeout(None, None).start(i64::MIN, Deadline::NEVER);
    assert_eq!((free.limit(), free.remaining(0)), (None, None));
    assert_eq!(free.finish(i64::MAX), Ok(u64::MAX));
}

#[test]
fn a_timer_is_over_once_and_for_all() {
    let mut timer = timeout(Some(100), Some(100)).start(0, Deadline::NEVER);
    assert_eq!(timer.connected(150), Err(TimedOut::Connect));
    // The clock goes back, and the connection that came too late is no start.
    assert_eq!(timer.connected(10), Err(TimedOut::Connect));
    assert_eq!(timer.finish(10), Err(TimedOut::Connect));
    // A second connection does not give more time; a clock that goes back
    // stands still.
    let mut timer = timeout(Some(100), Some(100)).start(0, Deadline::NEVER);
    timer.connected(50).unwrap();
    timer.connected(60).unwrap();
    assert_eq!(timer.limit(), Some(150));
    timer.check(120).unwrap();
    assert_eq!(timer.remaining(0), Some(30));
    assert_eq!(timer.finish(0), Ok(120));
}

#[test]
fn a_budget_shrinks_along_the_chain() {
    // 1 s at the edge, 100 ms kept there: 900 ms. The next may take 600 ms of
    // it, and keeps 50 ms: 550 ms. Its callee may take 2 s: still 550 ms.
    let edge = Deadline::after(0, S_U).reserving(100 * MS_U);
    assert_eq!(edge.remaining(0), Some(900 * MS_U));
    let next = edge.within(0, 600 * MS_U).reserving(50 * MS_U);
    assert_eq!(next.remaining(0), Some(550 * MS_U));
    assert_eq!(next.within(0, 2 * S_U), next);
    assert_eq!(next.remaining(500 * MS), Some(50 * MS_U));
    assert_eq!(next.remaining(600 * MS), Some(0));
    assert!(!next.is_over(550 * MS - 1) && next.is_over(550 * MS));
    assert_eq!(Deadline::NEVER.remaining(0), None);
    assert_eq!(Deadline::NEVER.reserving(u64::MAX), Deadline::NEVER);
    assert_eq!(Deadline::after(1, u64::MAX), Deadline::NEVER);
    assert!(!Deadline::NEVER.is_over(i64::MAX));
    let past = Deadline::at(0).reserving(u64::MAX);
    assert!(past.is_over(i64::MIN));
    assert_eq!(Deadline::at(5).remaining(i64::MIN), Some(5 + (1 << 63)));
}
