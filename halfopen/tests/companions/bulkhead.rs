//! The bulkhead.

use super::*;

fn bulkhead(max_concurrent: u32, max_waiting: u32, max_wait: Option<u64>) -> Bulkhead {
    Bulkhead::new(BulkheadSettings {
        max_concurrent,
        max_waiting,
        max_wait,
    })
    .unwrap()
}

fn admitted(entry: Result<Entry, BulkheadFull>) -> Place {
    match entry {
        Ok(Entry::Admitted(place)) => place,
        other => panic!("{other:?}"),
    }
}

fn waits(entry: Result<Entry, BulkheadFull>) -> Ticket {
    match entry {
        Ok(Entry::Waiting(ticket)) => ticket,
        other => panic!("{other:?}"),
    }
}

#[test]
fn so_many_at_once_and_so_many_wait() {
    let mut it = bulkhead(2, 1, None);
    let a = admitted(it.acquire(0));
    let _b = admitted(it.acquire(0));
    let c = waits(it.acquire(0));
    assert_eq!(it.acquire(0), Err(BulkheadFull));
    assert_eq!(it.try_acquire(0), Err(BulkheadFull));
    assert_eq!((it.active(), it.waiting(), it.refused()), (2, 1, 2));
    assert_eq!(it.next_deadline(), None);
    let Claim::Waiting(c) = it.claim(0, c) else {
        panic!()
    };
    // The place is given to the one that waits, and nobody is let past it.
    assert_eq!(it.release(0, a), Some(c.id()));
    assert_eq!(it.try_acquire(0), Err(BulkheadFull));
    assert!(matches!(it.claim(i64::MAX, c), Claim::Admitted(_)));
    assert_eq!((it.active(), it.waiting()), (2, 0));
}

#[test]
fn the_wait_is_over_at_its_end() {
    // Waits since 0 and 10, for 100; the place is free at 99, 100 or 110.
    for (free, first, second) in [
        (99, true, false),
        (100, false, true),
        (109, false, true),
        (110, false, false),
    ] {
        let mut it = bulkhead(1, 2, Some(100));
        let place = admitted(it.acquire(0));
        let a = waits(it.acquire(0));
        let b = waits(it.acquire(10));
        assert_eq!(it.next_deadline(), Some(100));
        let wanted = [(first, a.id()), (second, b.id())];
        let wanted = wanted.iter().find(|it| it.0).map(|it| it.1);
        assert_eq!(it.release(free, place), wanted);
        // However late they ask.
        for (ticket, granted) in [(a, first), (b, second)] {
            match it.claim(500, ticket) {
                Claim::Admitted(place) => {
                    assert!(granted, "{free}");
                    it.release(500, place);
                }
                Claim::TimedOut => assert!(!granted, "{free}"),
                Claim::Waiting(_) => panic!(),
            }
        }
        assert_eq!((it.active(), it.waiting()), (0, 0), "{free}");
        assert_eq!(it.timed_out(), if wanted.is_some() { 1 } else { 2 });
    }
}

#[test]
fn one_that_leaves_passes_its_place_on() {
    let mut it = bulkhead(1, 3, None);
    let place = admitted(it.acquire(0));
    let [a, b, c] = [0; 3].map(|_| waits(it.acquire(0)));
    assert_eq!(it.leave(0, b), None);
    it.release(0, place);
    assert_eq!(it.leave(0, a), Some(c.id()));
    let Claim::Admitted(place) = it.claim(0, c) else {
        panic!()
    };
    assert_eq!(it.release(0, place), None);
    assert_eq!((it.active(), it.waiting()), (0, 0));
    // A place of another bulkhead: at worst a wrong count.
    let mut other = bulkhead(1, 0, None);
    let foreign = other.try_acquire(0).unwrap();
    assert_eq!(it.release(0, foreign), None);
    assert_eq!(it.active(), 0);
}
