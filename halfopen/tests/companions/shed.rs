//! The load shedder.

use super::*;

pub(crate) fn shedder(max_queue: u32) -> Shedder {
    Shedder::new(ShedderSettings {
        max_queue,
        ..ShedderSettings::default()
    })
    .unwrap()
}

pub(crate) const ALL: [Priority; 4] = [
    Priority::CriticalPlus,
    Priority::Critical,
    Priority::SheddablePlus,
    Priority::Sheddable,
];

#[test]
fn a_full_queue_sheds_the_least_important() {
    let mut queue = shedder(4);
    let ids: Vec<QueueId> = ALL
        .iter()
        .rev()
        .map(|&it| queue.offer(0, it).unwrap().id)
        .collect();
    assert_eq!((queue.len(), queue.is_empty()), (4, false));
    // No less important one to drop.
    assert_eq!(queue.offer(0, Priority::Sheddable), Err(QueueFull));
    // Sheddable goes first, then SheddablePlus, then Critical.
    for &id in &ids[..3] {
        let offered = queue.offer(1, Priority::CriticalPlus).unwrap();
        assert_eq!(offered.shed, Some(id));
        assert!(!queue.cancel(id));
    }
    assert_eq!(queue.offer(1, Priority::CriticalPlus), Err(QueueFull));
    assert_eq!((queue.refused(), queue.shed_for_others()), (2, 3));
    assert!(queue.cancel(ids[3]));
    assert_eq!(queue.len(), 3);
}

#[test]
fn the_important_are_served_first_and_equals_in_order() {
    let mut queue = shedder(10);
    let mut ids = Vec::new();
    for priority in [3, 1, 0, 1, 2] {
        ids.push(queue.offer(0, ALL[priority]).unwrap().id);
    }
    for nth in [2, 1, 3, 4, 0] {
        assert_eq!(queue.take(0), Next::Serve(ids[nth]));
    }
    assert_eq!(queue.take(0), Next::Empty);
}

#[test]
fn a_standing_queue_sheds_what_is_older_than_twice_the_target() {
    let mut queue = shedder(1_000);
    for ms in 0..200 {
        let _ = queue.offer(ms * MS, Priority::Critical).unwrap();
    }
    // The first interval begins with the first wait seen, at 200 ms, and is
    // over when it is more than 100 ms later: until then everything is served,
    // however old.
    for ms in [200, 250, 300] {
        assert!(matches!(queue.take(ms * MS), Next::Serve(_)), "{ms}");
    }
    assert!(!queue.is_overloaded());
    // The shortest wait was 200 ms, above 5 ms: overloaded. The first of an
    // interval is served all the same.
    assert!(matches!(queue.take(300 * MS + 1), Next::Serve(_)));
    assert!(queue.is_overloaded());
    let late = queue.offer(301 * MS, Priority::Critical).unwrap().id;
    // Now those go that have waited more than 10 ms, all 196 of them.
    for _ in 4..200 {
        assert!(matches!(queue.take(311 * MS), Next::Shed(_)));
    }
    // This one has waited 10 ms, which is not more.
    assert_eq!(queue.take(311 * MS), Next::Serve(late));
    assert_eq!(queue.shed_by_age(), 196);
    // With nothing waiting the shortest wait is none: the next interval is
    // good.
    assert_eq!(queue.take(320 * MS), Next::Empty);
    assert_eq!(queue.take(401 * MS), Next::Empty);
    assert!(!queue.is_overloaded());
}

#[test]
fn a_wait_at_the_target_is_healthy() {
    for (wait, overloaded) in [(5 * MS, false), (5 * MS + 1, true)] {
        let mut queue = shedder(10);
        for ms in [0, 60, 120] {
            let _ = queue.offer(ms * MS, Priority::Critical).unwrap();
            let _ = queue.take(ms * MS + wait);
        }
        assert_eq!(queue.is_overloaded(), overloaded, "{wait}");
    }
}

#[test]
fn by_age_too_the_least_important_go_first() {
    let mut queue = shedder(10);
    let mut ids = Vec::new();
    for priority in [3, 0, 2, 1, 3] {
        ids.push(queue.offer(0, ALL[priority]).unwrap().id);
    }
    let mut first = |at: i64, nth: usize| {
        assert_eq!(queue.take(at * MS), Next::Serve(ids[nth]), "{at}");
    };
    first(50, 1);
    first(151, 3);
    assert!(queue.is_overloaded());
    for nth in [0, 4, 2] {
        assert_eq!(queue.take(151 * MS), Next::Shed(ids[nth]));
    }
    // A clock that goes back: nobody is younger for it.
    let _ = queue.offer(0, Priority::Critical).unwrap();
    assert!(matches!(queue.take(i64::MIN), Next::Serve(_)));
}
