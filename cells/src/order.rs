//! Sorting, compiled once.
//!
//! std's sorts are compiled anew for every type and comparison, some ten kilobytes each: a tenth of
//! the page's budget for what takes no time. Here the comparison is an object, and a call of it dearer
//! than what is around it, so a merge sort does: no sort compares less. Invariant: equal items stay in
//! their order, so a result depends on the input alone. O(n log n). Pinned by the tests below, against
//! std's.

use std::cmp::Ordering;

/// So many are put in their places one by one, without room beside them.
const FEW: usize = 8;

/// Sorts indices by `compare`; equal ones stand by their value.
#[inline(never)]
pub fn sort(order: &mut [u32], compare: &mut dyn FnMut(u32, u32) -> Ordering) {
    let n = order.len();
    for few in order.chunks_mut(FEW) {
        for at in 1..few.len() {
            let mut at = at;
            while at > 0
                && compare(few[at], few[at - 1])
                    .then(few[at].cmp(&few[at - 1]))
                    .is_lt()
            {
                few.swap(at, at - 1);
                at -= 1;
            }
        }
    }
    if n <= FEW {
        return;
    }
    let (mut from, mut to) = (order.to_vec(), Vec::with_capacity(n));
    let mut width = FEW;
    while width < n {
        for pair in from.chunks(2 * width) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            // What is in order already, as files mostly are, is not compared.
            if let (Some(&a), Some(&b)) = (left.last(), right.first())
                && compare(a, b).then(a.cmp(&b)).is_le()
            {
                to.extend_from_slice(pair);
                continue;
            }
            while let (Some(&a), Some(&b)) = (left.first(), right.first()) {
                let in_order = compare(a, b).then(a.cmp(&b)).is_le();
                let taken = if in_order { &mut left } else { &mut right };
                to.push(taken[0]);
                *taken = &taken[1..];
            }
            to.extend_from_slice(left);
            to.extend_from_slice(right);
        }
        std::mem::swap(&mut from, &mut to);
        to.clear();
        width *= 2;
    }
    order.copy_from_slice(&from);
}

/// Sorts indices by a number of each; those of one number by `ties`, and equal ones of them stand by their value.
/// O(n) for the numbers.
#[inline(never)]
pub fn sort_by(
    order: &mut [u32],
    key: &dyn Fn(u32) -> u64,
    ties: &mut dyn FnMut(u32, u32) -> Ordering,
) {
    let keyed = sort_by_number(order, key);
    let mut from = 0;
    for run in keyed.chunk_by(|a, b| a.0 == b.0) {
        let to = from + run.len();
        if run.len() > 1 {
            sort(&mut order[from..to], ties);
        }
        from = to;
    }
}

/// Sorts indices by a number of each; those of one number keep their order. The numbers, with their indices.
#[inline(never)]
pub fn sort_by_number(order: &mut [u32], key: &dyn Fn(u32) -> u64) -> Vec<(u64, u32)> {
    let mut keyed: Vec<(u64, u32)> = order.iter().map(|&it| (key(it), it)).collect();
    sort_keyed(&mut keyed);
    for (place, &(_, it)) in order.iter_mut().zip(&keyed) {
        *place = it;
    }
    keyed
}

/// Sorts by the first number; what has the same keeps its order.
fn sort_keyed(keyed: &mut Vec<(u64, u32)>) {
    let mut sorting = Sorting::of(std::mem::take(keyed));
    while sorting.step() {}
    *keyed = sorting.keyed;
}

/// Sorting indices by a number of each, of which a step is a pass over all of them; those of one number keep their
/// order. At most nine steps, 32 bytes an index.
pub struct Sorting {
    keyed: Vec<(u64, u32)>,
    other: Vec<(u64, u32)>,
    /// The bits in which numbers differ that no pass has sorted by.
    differing: u64,
}

impl Sorting {
    /// Begins with indices in the order in which those of one number are to stay.
    #[inline(never)]
    pub fn new(order: &[u32], key: &dyn Fn(u32) -> u64) -> Sorting {
        Sorting::of(order.iter().map(|&it| (key(it), it)).collect())
    }

    fn of(mut keyed: Vec<(u64, u32)>) -> Sorting {
        let mut differing = 0;
        if keyed.is_sorted_by_key(|it| it.0) {
            // Nothing to be done.
        } else if keyed.len() <= 4 * FEW {
            for at in 1..keyed.len() {
                let mut at = at;
                while at > 0 && keyed[at].0 < keyed[at - 1].0 {
                    keyed.swap(at, at - 1);
                    at -= 1;
                }
            }
        } else {
            let first = keyed[0].0;
            differing = keyed.iter().fold(0, |bits, it| bits | (it.0 ^ first));
        }
        Sorting {
            keyed,
            other: Vec::new(),
            differing,
        }
    }

    /// Sorts by the lowest byte that is left; whether there is more to be done.
    #[inline(never)]
    pub fn step(&mut self) -> bool {
        if self.differing == 0 {
            return false;
        }
        let shift = self.differing.trailing_zeros() / 8 * 8;
        self.differing &= !(0xFF << shift);
        let byte = |key: u64| usize::from((key >> shift) as u8);
        self.other.resize(self.keyed.len(), (0, 0));
        let mut place = [0u32; 257];
        for it in &self.keyed {
            place[byte(it.0) + 1] += 1;
        }
        for at in 1..place.len() {
            place[at] += place[at - 1];
        }
        for &it in &self.keyed {
            let place = &mut place[byte(it.0)];
            self.other[*place as usize] = it;
            *place += 1;
        }
        std::mem::swap(&mut self.keyed, &mut self.other);
        true
    }

    /// The indices in order, when there is nothing more to be done.
    pub fn sorted(self) -> Vec<u32> {
        self.keyed.iter().map(|it| it.1).collect()
    }
}

/// The number of each row, by what it belongs to.
#[inline(never)]
pub fn ranked(of: &[u32], numbers: &[u32]) -> Vec<u32> {
    let number = |&it: &u32| numbers.get(it as usize).copied().unwrap_or(0);
    of.iter().map(number).collect()
}

/// Indices in the order of their numbers, which are below `n`; those of one number keep their order. O(n).
#[inline(never)]
pub fn by_small_number(order: &[u32], numbers: &[u32], n: usize) -> Vec<u32> {
    let mut place = vec![0u32; n + 1];
    for &it in order {
        place[numbers[it as usize] as usize + 1] += 1;
    }
    for at in 1..place.len() {
        place[at] += place[at - 1];
    }
    let mut sorted = vec![0; order.len()];
    for &it in order {
        let place = &mut place[numbers[it as usize] as usize];
        sorted[*place as usize] = it;
        *place += 1;
    }
    sorted
}

/// The number that orders as a time does.
#[inline(always)]
pub const fn of_time(time: i64) -> u64 {
    time as u64 ^ 1 << 63
}

/// The indices below `n`, sorted by `compare`; equal ones stand by their value.
pub fn sorted_indices(n: usize, compare: &mut dyn FnMut(u32, u32) -> Ordering) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    sort(&mut order, compare);
    order
}

/// The items sorted by `compare`; equal ones keep their order.
pub fn sorted<T>(mut items: Vec<T>, compare: &mut dyn FnMut(&T, &T) -> Ordering) -> Vec<T> {
    let order = sorted_indices(items.len(), &mut |a, b| {
        compare(&items[a as usize], &items[b as usize])
    });
    for [at, from] in swaps(order) {
        items.swap(at, from);
    }
    items
}

/// The places to swap, one pair after the other, to bring an order about. O(n).
#[inline(never)]
fn swaps(mut order: Vec<u32>) -> Vec<[usize; 2]> {
    let mut swaps = Vec::new();
    for first in 0..order.len() {
        // What belongs at a place is brought there, to what was in its place next, until the ring is closed.
        let mut at = first;
        loop {
            let from = std::mem::replace(&mut order[at], at as u32) as usize;
            if from == first {
                break;
            }
            swaps.push([at, from]);
            at = from;
        }
    }
    swaps
}

/// Sorts numbers, byte by byte from the lowest. O(n).
#[inline(never)]
pub fn sort_numbers(numbers: &mut Vec<u64>) {
    let mut other = vec![0; numbers.len()];
    for shift in (0..64).step_by(8) {
        let byte = |number: u64| usize::from((number >> shift) as u8);
        let mut place = [0usize; 257];
        for &number in numbers.iter() {
            place[byte(number) + 1] += 1;
        }
        if place.contains(&numbers.len()) {
            // The same everywhere.
            continue;
        }
        for at in 1..place.len() {
            place[at] += place[at - 1];
        }
        for &number in numbers.iter() {
            let place = &mut place[byte(number)];
            other[*place] = number;
            *place += 1;
        }
        std::mem::swap(numbers, &mut other);
    }
}

/// The number that stands at `place` when they are sorted; `None` where there are not so many. Of those that
/// may be it, the highest byte tells which may still be. O(n).
#[inline(never)]
pub fn nth(numbers: &[u64], mut place: usize) -> Option<u64> {
    if place >= numbers.len() {
        return None;
    }
    let mut left = numbers.to_vec();
    for shift in (0..64).step_by(8).rev() {
        let byte = |number: u64| usize::from((number >> shift) as u8);
        let mut count = [0usize; 256];
        for &number in &left {
            count[byte(number)] += 1;
        }
        if count.contains(&left.len()) {
            // The same everywhere.
            continue;
        }
        let mut wanted = 0;
        while place >= count[wanted] {
            place -= count[wanted];
            wanted += 1;
        }
        left.retain(|&it| byte(it) == wanted);
    }
    left.first().copied()
}

/// The median, of two the higher; `None` of none. O(n).
pub fn median(numbers: &[u64]) -> Option<u64> {
    nth(numbers, numbers.len() / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_sorted_as_std_sorts_them() {
        let mut state = 7u32;
        for n in (0..40).chain([1_000, 4_097]) {
            let mut random = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state >> 28
            };
            let keys: Vec<u32> = (0..n).map(|_| random()).collect();
            let mut expected: Vec<u32> = (0..n).rev().collect();
            let mut sorted = expected.clone();
            sort(&mut sorted, &mut |a, b| {
                keys[a as usize].cmp(&keys[b as usize])
            });
            expected.sort_unstable_by_key(|&it| (keys[it as usize], it));
            assert_eq!(sorted, expected);
        }
    }

    #[test]
    fn indices_are_sorted_by_numbers_and_then_by_what_settles_ties() {
        let mut state = 7u64;
        for (n, bits) in [
            (0, 1),
            (5, 2),
            (20, 1),
            (33, 64),
            (200, 3),
            (4_000, 9),
            (3_000, 40),
        ] {
            let mut random = || {
                state = state
                    .wrapping_mul(0x5851_F42D_4C95_7F2D)
                    .wrapping_add(0x1405_7B7E_F767_814F);
                state >> (64 - bits)
            };
            let keys: Vec<i64> = (0..n).map(|_| random() as i64 - (1 << 8)).collect();
            let tie = |it: u32| it % 3;
            let mut order: Vec<u32> = (0..n as u32).rev().collect();
            let mut expected = order.clone();
            sort_by(&mut order, &|it| of_time(keys[it as usize]), &mut |a, b| {
                tie(a).cmp(&tie(b))
            });
            expected.sort_by_key(|&it| (keys[it as usize], tie(it), it));
            assert_eq!(order, expected);
            sort_by(&mut order, &|it| of_time(keys[it as usize]), &mut |a, b| {
                tie(a).cmp(&tie(b))
            });
            assert_eq!(order, expected);
        }
    }

    #[test]
    fn numbers_are_sorted() {
        let cases: [&[u64]; 5] = [
            &[],
            &[7],
            &[3, 1, 2, 1],
            &[u64::MAX, 0, 1 << 40, 255, 256, 1 << 63],
            &[9, 9, 9],
        ];
        for case in cases {
            let (mut sorted, mut expected) = (case.to_vec(), case.to_vec());
            sort_numbers(&mut sorted);
            expected.sort_unstable();
            assert_eq!(sorted, expected);
        }
    }

    #[test]
    fn equal_items_keep_their_order() {
        let items = vec![(2, 'a'), (1, 'b'), (2, 'c'), (1, 'd')];
        let by_number = sorted(items, &mut |a, b| a.0.cmp(&b.0));
        assert_eq!(by_number, [(1, 'b'), (1, 'd'), (2, 'a'), (2, 'c')]);
        assert!(sorted(Vec::<u8>::new(), &mut Ord::cmp).is_empty());
        let items: Vec<u32> = (0..1_000).map(|it| it * 7_919 % 64).collect();
        let mut expected = items.clone();
        expected.sort();
        assert_eq!(sorted(items, &mut Ord::cmp), expected);
    }
}
