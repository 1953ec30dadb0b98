//! What building a table does with each of its rows.
//!
//! Owns loops over columns: putting them in an order, finding parents by their ids. Invariant: an index outside
//! of its column gives nothing, and does not stop the program. O(rows). Pinned by `tests`.

/// So many spans of one trace are looked through one by one.
pub const FEW: usize = 24;

/// The values at those places, in that order.
#[inline(never)]
pub fn take_u32(column: &[u32], order: &[u32]) -> Vec<u32> {
    take(column, order)
}

/// The values at those places, in that order.
#[inline(never)]
pub fn take_u64(column: &[u64], order: &[u32]) -> Vec<u64> {
    take(column, order)
}

/// The values at those places, in that order.
#[inline(never)]
pub fn take_i64(column: &[i64], order: &[u32]) -> Vec<i64> {
    take(column, order)
}

#[inline(always)]
fn take<T: Copy + Default>(column: &[T], order: &[u32]) -> Vec<T> {
    let value = |&at: &u32| column.get(at as usize).copied().unwrap_or_default();
    order.iter().map(value).collect()
}

/// What a search for parents found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parents {
    /// For a span without one.
    pub none: u32,
    /// For one whose parent is not there.
    pub missing: u32,
}

impl Parents {
    /// Finds the parent of each span of a trace by its id, 0 being none, as is its own; the places of parents
    /// count from `first`. `false`, and nothing is written, where spans share an id or are more than [`FEW`].
    #[inline(never)]
    pub fn find(self, ids: &[u64], parents: &[u64], first: u32, found: &mut [u32]) -> bool {
        if ids.len() > FEW {
            return false;
        }
        for (at, id) in ids.iter().enumerate() {
            if ids.iter().take(at).any(|it| it == id) {
                return false;
            }
        }
        for ((found, &parent), &id) in found.iter_mut().zip(parents).zip(ids) {
            *found = match parent {
                0 => self.none,
                parent if parent == id => self.none,
                parent => match ids.iter().position(|&it| it == parent) {
                    Some(at) => first + at as u32,
                    None => self.missing,
                },
            };
        }
        true
    }
}

/// Whether following parents never leads back: `parent[i]` is that of `i`, from `end` on there is none.
#[inline(never)]
pub fn ends_everywhere(parent: &[u32], end: u32) -> bool {
    // A way back has a step to a later place, or to the same one.
    let mut seen = Vec::new();
    for (first, &to) in parent.iter().enumerate() {
        if to >= end || (to as usize) < first {
            continue;
        }
        seen.resize(parent.len(), u32::MAX);
        let mut at = first;
        while let Some(&to) = parent.get(at) {
            match seen[at] {
                u32::MAX => seen[at] = first as u32,
                it if it == first as u32 => return false,
                _ => break,
            }
            at = to as usize;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn columns_are_put_in_order() {
        assert_eq!(take_u32(&[1, 2, 3], &[2, 0, 0]), [3, 1, 1]);
        assert_eq!(take_u64(&[1, 2, 3], &[1, 7]), [2, 0]);
        assert_eq!(take_i64(&[-1], &[0]), [-1]);
    }

    #[test]
    fn parents_are_found() {
        let parents = Parents {
            none: 98,
            missing: 99,
        };
        let mut found = [0; 4];
        assert!(parents.find(&[5, 6, 7, 8], &[0, 5, 9, 8], 40, &mut found));
        assert_eq!(found, [98, 40, 99, 98]);
        assert!(!parents.find(&[5, 6, 5], &[0, 5, 5], 40, &mut found));
        assert!(!parents.find(&[1; FEW + 1], &[0; FEW + 1], 40, &mut found));
        assert_eq!(found, [98, 40, 99, 98]);
    }

    proptest! {
        #[test]
        fn ways_back_are_found(parent in vec(0u32..14, 0..10)) {
            let end = parent.len() as u32;
            let leads_back = |first: u32| {
                let mut at = first;
                (0..=end).all(|_| match parent.get(at as usize) {
                    Some(&to) if to < end => {
                        at = to;
                        true
                    }
                    _ => false,
                })
            };
            prop_assert_eq!(ends_everywhere(&parent, end), !(0..end).any(leads_back));
        }
    }
}
