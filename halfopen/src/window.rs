//! The sliding windows that the rates are taken over.
//!
//! Two kinds: the last N calls, and the last T in fixed buckets. Owns what
//! leaves a window and when; the running totals belong to the machine, which
//! judges them. Invariant: the totals are exactly the results in the window.
//! Cost: O(1) per call and no allocation after construction. A count window
//! takes two bits a call. A time window takes twelve bytes a bucket, and
//! visits each bucket at most once per lap; a gap of any length costs one
//! pass over the buckets. Pinned by the tests below and by `tests/model.rs`.
//!
//! Granularity of the time window: buckets are aligned to time 0 and leave
//! whole, so a result lives between `length - bucket` (exclusive) and
//! `length`: with `10s/1s`, more than 9 s and at most 10 s.

use alloc::boxed::Box;
use alloc::vec;

/// Which results the rates are taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Window {
    /// The last so many calls.
    Calls(u32),
    /// The last so many nanoseconds, in buckets.
    Time {
        /// The length of the window in nanoseconds, a multiple of `bucket`.
        length: u64,
        /// The length of a bucket in nanoseconds: how finely results expire.
        bucket: u64,
    },
}

/// Counts of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Figures {
    /// Results counted: successes and failures, not ignored ones.
    pub calls: u32,
    /// Of these, failures; calls over their timeout are among them.
    pub failures: u32,
    /// Of these, slow calls, successful or not.
    pub slow: u32,
}

impl Figures {
    #[inline]
    pub(crate) fn add(&mut self, failed: bool, slow: bool) {
        self.calls += 1;
        self.failures += u32::from(failed);
        self.slow += u32::from(slow);
    }

    fn subtract(&mut self, other: Figures) {
        self.calls -= other.calls;
        self.failures -= other.failures;
        self.slow -= other.slow;
    }
}

/// What a window remembers in order to forget it in time.
#[derive(Clone, Debug)]
pub(crate) enum Sliding {
    Count(Ring),
    // In a box, as it is twice as large and a breaker has the larger of both.
    Time(Box<Buckets>),
}

impl Sliding {
    pub(crate) fn new(kind: Window) -> Sliding {
        match kind {
            Window::Calls(size) => Sliding::Count(Ring::new(size)),
            Window::Time { length, bucket } => {
                // `Config` holds both to ranges that fit.
                Sliding::Time(Box::new(Buckets::new(
                    (length / bucket) as usize,
                    bucket as i64,
                )))
            }
        }
    }

    /// Empties the window; the caller empties the totals.
    pub(crate) fn clear(&mut self) {
        match self {
            // How full a ring is, the totals say: it has nothing to forget.
            Sliding::Count(_) => {}
            Sliding::Time(buckets) => buckets.clear(),
        }
    }

    /// Counts a result at `now`, which never goes back, and takes what has
    /// left the window out of `totals`.
    #[inline]
    pub(crate) fn record(&mut self, now: i64, failed: bool, slow: bool, totals: &mut Figures) {
        match self {
            Sliding::Count(ring) => ring.record(failed, slow, totals),
            Sliding::Time(buckets) => buckets.record(now, failed, slow, totals),
        }
    }

    /// Counts so many good results at once in a window of calls. O(results),
    /// sixteen a step, and never more than the ring is long.
    #[cfg(feature = "std")]
    pub(crate) fn record_good(&mut self, results: u32, totals: &mut Figures) {
        if let Sliding::Count(ring) = self {
            ring.record_good(results, totals);
        }
    }

    /// Takes what has left the window by `now` out of `totals`.
    pub(crate) fn expire(&mut self, now: i64, totals: &mut Figures) {
        if let Sliding::Time(buckets) = self
            && now >= buckets.end
        {
            buckets.turn(now, totals);
        }
    }

    /// What `totals` would be at `now`, without changing anything.
    pub(crate) fn totals_at(&self, now: i64, totals: Figures) -> Figures {
        match self {
            Sliding::Count(_) => totals,
            Sliding::Time(buckets) => buckets.totals_at(now, totals),
        }
    }
}

/// The last N calls as two bits each: failed, slow.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    bits: Box<[u32]>,
    size: u32,
    /// Where the next result goes, which is where the oldest is once the
    /// ring is full: its bits are read then and not before.
    next: u32,
    /// Words that were looked at.
    #[cfg(test)]
    visits: u64,
}

impl Ring {
    /// Results in a word.
    const PER_WORD: u32 = u32::BITS / 2;

    fn new(size: u32) -> Ring {
        let words = size.div_ceil(Ring::PER_WORD) as usize;
        Ring {
            bits: vec![0; words].into_boxed_slice(),
            size,
            next: 0,
            #[cfg(test)]
            visits: 0,
        }
    }

    #[inline]
    fn record(&mut self, failed: bool, slow: bool, totals: &mut Figures) {
        #[cfg(test)]
        {
            self.visits += 1;
        }
        let shift = self.next % Ring::PER_WORD * 2;
        let word = &mut self.bits[(self.next / Ring::PER_WORD) as usize];
        self.next += 1;
        if self.next == self.size {
            self.next = 0;
        }
        let new = u32::from(failed) | u32::from(slow) << 1;
        if totals.calls == self.size {
            let old = *word >> shift & 3;
            // Most results are like the one that they replace.
            if old == new {
                return;
            }
            totals.calls -= 1;
            totals.failures -= old & 1;
            totals.slow -= old >> 1;
        }
        *word = *word & !(3 << shift) | new << shift;
        totals.add(failed, slow);
    }

    #[cfg(feature = "std")]
    fn record_good(&mut self, results: u32, totals: &mut Figures) {
        const FAILED: u32 = u32::MAX / 3;
        let mut left = results;
        if left >= self.size {
            // What is overwritten again within this call never counts.
            left %= self.size;
            #[cfg(test)]
            {
                self.visits += self.bits.len() as u64;
            }
            self.bits.fill(0);
            *totals = Figures {
                calls: self.size,
                ..Figures::default()
            };
        }
        while left > 0 {
            #[cfg(test)]
            {
                self.visits += 1;
            }
            let place = self.next % Ring::PER_WORD;
            let free = self.size - totals.calls;
            let here = (Ring::PER_WORD - place).min(self.size - self.next);
            let n = left.min(here).min(if free > 0 { free } else { here });
            let mask = u32::MAX >> (u32::BITS - 2 * n) << (2 * place);
            let word = &mut self.bits[(self.next / Ring::PER_WORD) as usize];
            if free > 0 {
                totals.calls += n;
            } else {
                totals.failures -= (*word & mask & FAILED).count_ones();
                totals.slow -= (*word & mask & !FAILED).count_ones();
            }
            *word &= !mask;
            self.next += n;
            if self.next == self.size {
                self.next = 0;
            }
            left -= n;
        }
    }
}

/// The last T as counts in a ring of buckets.
#[derive(Clone, Debug)]
pub(crate) struct Buckets {
    cells: Box<[Figures]>,
    /// The cell of the current bucket.
    head: u32,
    /// Length of a bucket in nanoseconds.
    width: i64,
    /// The number of the current bucket, counted from time 0.
    number: i64,
    /// Where the current bucket ends; the past when there is none.
    end: i64,
    /// Cells that were looked at in order to forget them.
    #[cfg(test)]
    visits: u64,
}

impl Buckets {
    fn new(cells: usize, width: i64) -> Buckets {
        let cells = vec![Figures::default(); cells].into_boxed_slice();
        Buckets {
            cells,
            head: 0,
            width,
            number: i64::MIN,
            end: i64::MIN,
            #[cfg(test)]
            visits: 0,
        }
    }

    fn clear(&mut self) {
        self.cells.fill(Figures::default());
        self.number = i64::MIN;
        self.end = i64::MIN;
    }

    #[inline]
    fn record(&mut self, now: i64, failed: bool, slow: bool, totals: &mut Figures) {
        if now >= self.end {
            self.turn(now, totals);
        }
        // Four billion calls in a window: no more are counted until some
        // leave. No counter can overflow, as none exceeds the total.
        if totals.calls < u32::MAX {
            self.cells[self.head as usize].add(failed, slow);
            totals.add(failed, slow);
        }
    }

    /// Makes the bucket of `now` the current one.
    #[cold]
    fn turn(&mut self, now: i64, totals: &mut Figures) {
        let number = now.div_euclid(self.width);
        for _ in 0..self.passed(number) {
            self.head += 1;
            if self.head as usize == self.cells.len() {
                self.head = 0;
            }
            totals.subtract(core::mem::take(&mut self.cells[self.head as usize]));
            #[cfg(test)]
            {
                self.visits += 1;
            }
        }
        self.number = number;
        self.end = number.saturating_add(1).saturating_mul(self.width);
    }

    fn totals_at(&self, now: i64, mut totals: Figures) -> Figures {
        if now >= self.end {
            let passed = self.passed(now.div_euclid(self.width));
            let len = self.cells.len();
            for back in 1..=passed {
                totals.subtract(self.cells[(self.head as usize + back) % len]);
            }
        }
        totals
    }

    /// How many buckets have to be emptied to get to bucket `number`.
    fn passed(&self, number: i64) -> usize {
        let gap = number.saturating_sub(self.number) as u64;
        gap.min(self.cells.len() as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls of a large window; Miri would take an hour for as many.
    const MANY: u32 = if cfg!(miri) { 20_000 } else { 1_000_000 };

    fn figures(calls: u32, failures: u32, slow: u32) -> Figures {
        Figures {
            calls,
            failures,
            slow,
        }
    }

    #[test]
    fn ring_forgets_the_oldest_call() {
        for size in [1, 2, 15, 16, 17, 64, 100] {
            let mut window = Sliding::new(Window::Calls(size));
            let mut totals = Figures::default();
            for _ in 0..size {
                window.record(0, true, true, &mut totals);
            }
            assert_eq!(totals, figures(size, size, size));
            for gone in 1..=size {
                window.record(0, false, gone == 1, &mut totals);
                assert_eq!(
                    totals,
                    figures(size, size - gone, size - gone + 1),
                    "size {size}"
                );
            }
        }
    }

    #[test]
    fn cleared_ring_reads_no_stale_bits() {
        let mut window = Sliding::new(Window::Calls(3));
        let mut totals = Figures::default();
        for _ in 0..5 {
            window.record(0, true, true, &mut totals);
        }
        window.clear();
        totals = Figures::default();
        for _ in 0..7 {
            window.record(0, false, false, &mut totals);
        }
        assert_eq!(totals, figures(3, 0, 0));
    }

    #[cfg(feature = "std")]
    #[test]
    fn many_good_results_count_as_one_by_one() {
        for size in [1, 2, 15, 16, 17, 31, 64, 100] {
            for filled in [0, 1, size / 2, size - 1, size, 2 * size + 3] {
                for results in [0, 1, 15, 16, 17, size - 1, size, size + 1, 3 * size + 5] {
                    let (mut ours, mut totals) = (Ring::new(size), Figures::default());
                    for n in 0..filled {
                        ours.record(n % 3 == 0, n % 5 < 2, &mut totals);
                    }
                    let (mut naive, mut expected) = (ours.clone(), totals);
                    ours.record_good(results, &mut totals);
                    for _ in 0..results {
                        naive.record(false, false, &mut expected);
                    }
                    // All that either remembers comes out in the next lap.
                    for n in 0..=size {
                        let case = (size, filled, results, n);
                        assert_eq!(totals, expected, "{case:?}");
                        ours.record(n % 2 == 0, n % 7 == 0, &mut totals);
                        naive.record(n % 2 == 0, n % 7 == 0, &mut expected);
                    }
                }
            }
        }
    }

    #[test]
    fn buckets_leave_whole_and_are_aligned_to_zero() {
        let kind = Window::Time {
            length: 50,
            bucket: 10,
        };
        // When a failure happens, and the first time it is out of the window.
        for (at, gone) in [(0, 50), (9, 50), (10, 60), (-1, 40), (-10, 40), (-11, 30)] {
            let mut window = Sliding::new(kind);
            let mut totals = Figures::default();
            window.record(at, true, false, &mut totals);
            assert_eq!(
                window.totals_at(gone - 1, totals),
                figures(1, 1, 0),
                "at {at}"
            );
            assert_eq!(window.totals_at(gone, totals), figures(0, 0, 0), "at {at}");
            assert_eq!(
                window.totals_at(i64::MAX, totals),
                figures(0, 0, 0),
                "at {at}"
            );
            window.record(gone, false, true, &mut totals);
            assert_eq!(totals, figures(1, 0, 1), "at {at}");
        }
    }

    #[test]
    fn idle_gaps_cost_one_pass() {
        let mut buckets = Buckets::new(10, 1);
        let mut totals = Figures::default();
        for now in [i64::MIN, 0, 3, i64::MAX - 1, i64::MAX] {
            buckets.record(now, true, false, &mut totals);
            assert!(buckets.passed(i64::MAX) <= 10);
        }
        assert_eq!(totals, figures(2, 2, 0));
    }

    #[test]
    fn work_does_not_grow_with_the_calls_in_a_time_window() {
        const LENGTH: i64 = 1_000_000_000;
        let visits = |calls: i64| {
            let mut buckets = Buckets::new(10, LENGTH / 10);
            let mut totals = Figures::default();
            // Three lengths of the window, so many calls in each.
            for n in 0..3 * calls {
                buckets.record(n * (LENGTH / calls), n % 3 == 0, false, &mut totals);
            }
            assert_eq!(i64::from(totals.calls), calls);
            buckets.visits
        };
        // The first lap empties all ten, and each turn after it one.
        assert_eq!((visits(1_000), visits(MANY.into())), (39, 39));
    }

    #[test]
    fn work_does_not_grow_with_the_calls_in_a_count_window() {
        let visits = |size: u32| {
            let (mut ring, mut totals) = (Ring::new(size), Figures::default());
            for n in 0..2 * size {
                ring.record(n % 3 == 0, false, &mut totals);
            }
            assert_eq!((totals.calls, ring.visits), (size, u64::from(2 * size)));
            ring.visits = 0;
            for n in 0..3_000 {
                ring.record(n % 3 == 0, n % 5 == 0, &mut totals);
            }
            ring.visits
        };
        assert_eq!((visits(1_000), visits(MANY)), (3_000, 3_000));
    }

    #[cfg(feature = "std")]
    #[test]
    fn good_results_that_wait_are_no_more_work_in_a_large_window() {
        // The most visits for so many good results at a time, a bad one between,
        // which begin at every place of a word.
        let visits = |size: u32, waiting: u32| {
            let (mut ring, mut totals) = (Ring::new(size), Figures::default());
            ring.record_good(size, &mut totals);
            let once = |_| {
                let before = ring.visits;
                ring.record_good(waiting, &mut totals);
                let visits = ring.visits - before;
                ring.record(true, false, &mut totals);
                visits
            };
            (0..50).map(once).max().unwrap()
        };
        // As many as wait at most, see `gate`; a word has sixteen results. One
        // word more where they begin in the middle of one, and one more where
        // they come to the end of a ring whose last word is not full.
        for waiting in [0, 1, 15, 16, 17, 100, 999, 1_000, 4_095] {
            let bound = u64::from(waiting).div_ceil(16) + 2;
            for size in [1, 100, 1_000, MANY] {
                let got = visits(size, waiting);
                assert!(got <= bound, "{waiting} in {size}: {got}, over {bound}");
            }
        }
        assert_eq!((visits(1_000, 100), visits(MANY, 100)), (8, 8));
    }

    #[test]
    fn a_full_counter_stops_counting() {
        let mut window = Sliding::new(Window::Time {
            length: 10,
            bucket: 10,
        });
        let mut totals = figures(u32::MAX, 3, 0);
        let Sliding::Time(buckets) = &mut window else {
            unreachable!()
        };
        buckets.turn(0, &mut Figures::default());
        buckets.cells[0] = totals;
        window.record(0, true, false, &mut totals);
        assert_eq!(totals, figures(u32::MAX, 3, 0));
        window.record(10, true, false, &mut totals);
        assert_eq!(totals, figures(1, 1, 0));
    }
}
