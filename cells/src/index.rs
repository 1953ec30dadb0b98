//! Numbers by hash.
//!
//! Owns a table that holds for each number its hash, so that it grows without asking for what the numbers stand
//! for: one code for all that is looked up. Invariant: what was added is found, by whoever says that it is the
//! one. A number costs 11 to 21 bytes. Pinned by `tests`.

use crate::words;

/// Numbers below 2^32 - 1, each under a hash.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// The low half of the hash, and above it the number and one more; 0 where nothing stands.
    slots: Vec<u64>,
    n_held: usize,
}

impl Index {
    /// The number under that hash which is the one.
    #[inline(always)]
    pub fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as u32 as usize & mask;
        loop {
            let slot = self.slots[at];
            let number = ((slot >> 32) as u32).checked_sub(1)?;
            if slot as u32 == hash as u32 && is_it(number) {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a number.
    #[inline(never)]
    pub fn add(&mut self, hash: u64, number: u32) {
        // At most three of four are taken.
        if 4 * self.n_held >= 3 * self.slots.len() {
            let n_slots = (2 * self.slots.len()).max(16);
            let slots = std::mem::replace(&mut self.slots, vec![0; n_slots]);
            for slot in slots.into_iter().filter(|&it| it != 0) {
                self.place(slot);
            }
        }
        self.place((u64::from(number) + 1) << 32 | u64::from(hash as u32));
        self.n_held += 1;
    }

    #[inline(always)]
    fn place(&mut self, slot: u64) {
        let mask = self.slots.len() - 1;
        let mut at = slot as u32 as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u64>()
    }
}

/// A number for each key, in the order in which keys were met.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    keys: Vec<u64>,
    index: Index,
}

impl Numbers {
    /// The number of a key, the next one if it is new.
    #[inline(never)]
    pub fn of(&mut self, key: u64) -> u32 {
        self.find(key).unwrap_or_else(|| {
            let number = self.keys.len() as u32;
            self.keys.push(key);
            self.index.add(hash(key), number);
            number
        })
    }

    /// The number of a key that was met.
    #[inline(never)]
    pub fn find(&self, key: u64) -> Option<u32> {
        let is_it = |number: u32| self.keys.get(number as usize) == Some(&key);
        self.index.find(hash(key), is_it)
    }

    /// The keys, by their numbers.
    pub fn keys(&self) -> &[u64] {
        &self.keys
    }
}

fn hash(key: u64) -> u64 {
    words::finished(words::mix_word(0, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_numbered_as_they_are_met() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.find(7), None);
        let met = [7, 0, u64::MAX, 7, 1 << 32, 0].map(|key| numbers.of(key));
        assert_eq!(met, [0, 1, 2, 0, 3, 1]);
        assert_eq!(numbers.keys(), [7, 0, u64::MAX, 1 << 32]);
        assert_eq!(numbers.find(u64::MAX), Some(2));
    }

    #[test]
    fn what_was_added_is_found() {
        let mut index = Index::default();
        assert_eq!(index.find(0, |_| true), None);
        // Hashes that share their low bits, and some that are the same.
        let hash = |number: u32| u64::from(number / 2 % 700) << 6;
        for number in 0..5_000 {
            assert_eq!(index.find(hash(number), |it| it == number), None);
            index.add(hash(number), number);
            let found = index.find(hash(number / 3), |it| it == number / 3);
            assert_eq!(found, Some(number / 3));
        }
        assert!((0..5_000).all(|it| index.find(hash(it), |found| found == it) == Some(it)));
        assert!(index.bytes() <= 5_000 * 22);
    }
}
