//! Sorting, compiled once.
//!
//! std's sorts are compiled anew for every type and comparison, some ten kilobytes each: a tenth of
//! the page's budget for what takes no time. Here the comparison is an object, and so costly to ask that
//! merging, which asks least often, is the quickest way. Invariant: equal items stay in their order, so a
//! result depends on the input alone. O(n log n) comparisons, O(n) where the input is in order. Pinned by
//! the tests below.

use std::cmp::Ordering;

/// Sorts indices by `compare`; equal ones stand by their value.
pub fn sort(order: &mut [u32], compare: &mut dyn FnMut(u32, u32) -> Ordering) {
    let mut left = order.to_vec();
    merge_sort(order, &mut left, &mut |a, b| {
        compare(a, b).then(a.cmp(&b)).is_le()
    });
}

/// Sorts by a comparison that says whether two are in order; `left` has room for as many.
fn merge_sort(order: &mut [u32], left: &mut [u32], in_order: &mut dyn FnMut(u32, u32) -> bool) {
    let middle = order.len() / 2;
    if middle == 0 {
        return;
    }
    merge_sort(&mut order[..middle], left, in_order);
    merge_sort(&mut order[middle..], left, in_order);
    if in_order(order[middle - 1], order[middle]) {
        return;
    }
    let left = &mut left[..middle];
    left.copy_from_slice(&order[..middle]);
    let (mut at, mut right) = (0, middle);
    for &next in &*left {
        while right < order.len() && !in_order(next, order[right]) {
            order[at] = order[right];
            (at, right) = (at + 1, right + 1);
        }
        order[at] = next;
        at += 1;
    }
}

/// The indices below `n`, sorted by `compare`; equal ones stand by their value.
pub fn sorted_indices(n: usize, compare: &mut dyn FnMut(u32, u32) -> Ordering) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    sort(&mut order, compare);
    order
}

/// The items sorted by `compare`; equal ones keep their order.
pub fn sorted<T>(items: Vec<T>, compare: &mut dyn FnMut(&T, &T) -> Ordering) -> Vec<T> {
    let order = sorted_indices(items.len(), &mut |a, b| {
        compare(&items[a as usize], &items[b as usize])
    });
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    let taken = order.into_iter().filter_map(|at| items[at as usize].take());
    taken.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_short_order() {
        // All sequences of up to six of three values, each against std's stable sort.
        for n in 0..=6u32 {
            for code in 0..3usize.pow(n) {
                let values: Vec<usize> = (0..n).map(|at| code / 3usize.pow(at) % 3).collect();
                let mut expected: Vec<u32> = (0..n).collect();
                expected.sort_by_key(|&at| values[at as usize]);
                let order = sorted_indices(values.len(), &mut |a, b| {
                    values[a as usize].cmp(&values[b as usize])
                });
                assert_eq!(order, expected, "{values:?}");
            }
        }
    }

    #[test]
    fn what_is_in_order_is_asked_once() {
        let mut asked = 0;
        let order = sorted_indices(1_000, &mut |a, b| {
            asked += 1;
            a.cmp(&b)
        });
        assert!(order.is_sorted());
        assert_eq!(asked, 999);
    }

    #[test]
    fn equal_items_keep_their_order() {
        let items = vec![(2, 'a'), (1, 'b'), (2, 'c'), (1, 'd')];
        let by_number = sorted(items, &mut |a, b| a.0.cmp(&b.0));
        assert_eq!(by_number, [(1, 'b'), (1, 'd'), (2, 'a'), (2, 'c')]);
        assert!(sorted(Vec::<u8>::new(), &mut Ord::cmp).is_empty());
    }
}
