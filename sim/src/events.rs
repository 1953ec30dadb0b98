//! What happens next.
//!
//! Owns the order of events: by time, and at the same time in the order in which they were put. Invariant:
//! that order is total, so that nothing depends on how a heap is laid out. O(log events). Pinned by
//! `tests::equal_times_keep_their_order`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events of a kind, by time.
#[derive(Clone, Debug)]
pub(crate) struct Events<E> {
    heap: BinaryHeap<Reverse<(i64, u64, E)>>,
    put: u64,
}

impl<E: Ord> Events<E> {
    pub(crate) fn new() -> Events<E> {
        Events {
            heap: BinaryHeap::new(),
            put: 0,
        }
    }

    /// Puts an event at a time, nanoseconds since the beginning.
    pub(crate) fn put(&mut self, at: i64, event: E) {
        self.put += 1;
        self.heap.push(Reverse((at, self.put, event)));
    }

    /// The next event, if it comes before `end`.
    pub(crate) fn next_before(&mut self, end: i64) -> Option<(i64, E)> {
        if self.heap.peek()?.0.0 >= end {
            return None;
        }
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_keep_their_order() {
        let mut events = Events::new();
        for (at, event) in [(5, 'c'), (3, 'b'), (5, 'a'), (9, 'z'), (3, 'a')] {
            events.put(at, event);
        }
        let all: Vec<_> = std::iter::from_fn(|| events.next_before(9)).collect();
        assert_eq!(all, [(3, 'b'), (3, 'a'), (5, 'c'), (5, 'a')]);
    }
}
