//! Sums over the last T, in fixed slices.
//!
//! Owns what has left the window. Slices are aligned to time 0 and leave
//! whole, as those of [`Window::Time`](crate::Window): what was added lives
//! between `length - slice` (exclusive) and `length`. Invariant: the totals
//! are the sums of the cells. Cost: O(1) per addition; a gap of any length
//! costs one pass over the slices, and each is passed once per lap. Pinned by
//! the tests below.

use alloc::boxed::Box;
use alloc::vec;

#[derive(Clone, Debug)]
pub(super) struct Slices<const N: usize> {
    cells: Box<[[i64; N]]>,
    totals: [i64; N],
    head: usize,
    width: i64,
    number: i64,
}

impl<const N: usize> Slices<N> {
    /// `count` and `width` are more than nothing.
    pub(super) fn new(count: usize, width: i64) -> Slices<N> {
        Slices {
            cells: vec![[0; N]; count].into_boxed_slice(),
            totals: [0; N],
            head: 0,
            width,
            number: i64::MIN,
        }
    }

    /// Adds `by` to sum `nth` at `now`, which never goes back.
    #[inline]
    pub(super) fn add(&mut self, now: i64, nth: usize, by: i64) {
        self.turn(now);
        self.put(self.head, nth, by);
    }

    /// Takes what was added at `then` back out, at `now`: from the slice it
    /// was put in, and not if that has left the window.
    pub(super) fn take_back(&mut self, now: i64, then: i64, nth: usize, by: i64) {
        self.turn(now);
        let len = self.cells.len();
        let slices = self.number.saturating_sub(then.div_euclid(self.width)) as u64;
        if slices < len as u64 {
            self.put((self.head + len - slices as usize) % len, nth, -by);
        }
    }

    #[inline]
    fn put(&mut self, slice: usize, nth: usize, by: i64) {
        // What no longer fits is not counted, here as there.
        let (total, cell) = (&mut self.totals[nth], &mut self.cells[slice][nth]);
        if let (Some(sum), Some(part)) = (total.checked_add(by), cell.checked_add(by)) {
            (*total, *cell) = (sum, part);
        }
    }

    /// The sums at `now`, which never goes back.
    #[inline]
    pub(super) fn totals(&mut self, now: i64) -> [i64; N] {
        self.turn(now);
        self.totals
    }

    #[inline]
    fn turn(&mut self, now: i64) {
        let number = now.div_euclid(self.width);
        if number != self.number {
            self.pass(number);
        }
    }

    #[cold]
    fn pass(&mut self, number: i64) {
        let gap = number.saturating_sub(self.number) as u64;
        for _ in 0..gap.min(self.cells.len() as u64) {
            self.head += 1;
            if self.head == self.cells.len() {
                self.head = 0;
            }
            for (total, gone) in self.totals.iter_mut().zip(&mut self.cells[self.head]) {
                *total = total.saturating_sub(core::mem::take(gone));
            }
        }
        self.number = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_leave_whole_and_are_aligned_to_zero() {
        for (at, gone) in [(0, 50), (9, 50), (10, 60), (-1, 40), (-11, 30)] {
            let mut slices = Slices::<2>::new(5, 10);
            slices.add(at, 1, 7);
            assert_eq!(slices.totals(gone - 1), [0, 7], "at {at}");
            assert_eq!(slices.totals(gone), [0, 0], "at {at}");
        }
    }

    #[test]
    fn what_is_taken_back_leaves_the_slice_it_was_put_in() {
        for (then, now) in [(0, 0), (0, 9), (0, 10), (-1, 39), (7, 49)] {
            let mut slices = Slices::<1>::new(5, 10);
            slices.add(then, 0, 7);
            slices.take_back(now, then, 0, 7);
            // Nothing now, and nothing less than that once it would have left.
            for later in [now, 50, 60, 90] {
                assert_eq!(slices.totals(later), [0], "{then} {now} {later}");
            }
        }
        let mut slices = Slices::<1>::new(5, 10);
        slices.add(0, 0, 7);
        for now in [50, i64::MAX] {
            slices.take_back(now, 0, 0, 7);
            assert_eq!(slices.totals(now), [0]);
        }
    }

    #[test]
    fn full_sums_stay_full_and_come_back() {
        let mut slices = Slices::<1>::new(2, 1);
        slices.add(i64::MIN, 0, i64::MAX);
        slices.add(i64::MIN + 1, 0, 5);
        assert_eq!(slices.totals(i64::MIN + 1), [i64::MAX]);
        assert_eq!(slices.totals(i64::MAX), [0]);
        slices.add(i64::MAX, 0, -3);
        assert_eq!(slices.totals(i64::MAX), [-3]);
    }
}
