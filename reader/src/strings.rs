//! Interned text: each distinct string once, named by a small index.
//!
//! Owns the bytes of every id, name and message of a file in one arena. Invariant: two indices of
//! one [`Strings`] are equal exactly when their texts are. Looking up or adding costs one hash of
//! the text; an index costs 4 bytes, a distinct string its bytes and about 9 more. Pinned by
//! `tests::equal_texts_share_an_index`.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// A growing set of distinct strings.
#[derive(Clone, Debug)]
pub struct Strings {
    text: String,
    /// Where each string ends in `text`; it begins where the one before ends.
    ends: Vec<u32>,
    /// The longest text that fits is 4 GiB: beyond it every string becomes `OVERFLOW`.
    table: HashTable<u32>,
}

/// What a string is replaced by once the arena is full.
const OVERFLOW: &str = "(more text than fits)";

impl Default for Strings {
    fn default() -> Strings {
        let mut strings = Strings {
            text: String::new(),
            ends: Vec::new(),
            table: HashTable::new(),
        };
        strings.intern("");
        strings.intern(OVERFLOW);
        strings
    }
}

impl Strings {
    /// The index of the empty string, in every table.
    pub const EMPTY: u32 = 0;

    /// The index of `text`, which is added when it is new.
    pub fn intern(&mut self, text: &str) -> u32 {
        if text.is_empty() && !self.ends.is_empty() {
            return Strings::EMPTY;
        }
        let hash = FxBuildHasher.hash_one(text);
        let found = self
            .table
            .find(hash, |&index| slice(&self.text, &self.ends, index) == text);
        if let Some(&index) = found {
            return index;
        }
        let Ok(end) = u32::try_from(self.text.len() + text.len()) else {
            return self.find(OVERFLOW).unwrap_or(Strings::EMPTY);
        };
        let index = self.ends.len() as u32;
        self.text.push_str(text);
        self.ends.push(end);
        let (arena, ends) = (&self.text, &self.ends);
        self.table.insert_unique(hash, index, |&index| {
            FxBuildHasher.hash_one(slice(arena, ends, index))
        });
        index
    }

    /// The index of `text`, if it is there.
    pub fn find(&self, text: &str) -> Option<u32> {
        let hash = FxBuildHasher.hash_one(text);
        let same = |&index: &u32| slice(&self.text, &self.ends, index) == text;
        self.table.find(hash, same).copied()
    }

    /// The text of an index; empty for an index of another table.
    pub fn get(&self, index: u32) -> &str {
        slice(&self.text, &self.ends, index)
    }

    /// How many distinct strings there are, the empty one included.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether nothing was added yet.
    pub fn is_empty(&self) -> bool {
        self.ends.len() <= 2
    }
}

fn slice<'a>(text: &'a str, ends: &[u32], index: u32) -> &'a str {
    let index = index as usize;
    let Some(&end) = ends.get(index) else {
        return "";
    };
    let start = if index == 0 { 0 } else { ends[index - 1] };
    text.get(start as usize..end as usize).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_share_an_index() {
        let mut strings = Strings::default();
        let a = strings.intern("checkout");
        let b = strings.intern("inventory");
        assert_eq!(strings.intern("checkout"), a);
        assert_ne!(a, b);
        assert_eq!((strings.get(a), strings.get(b)), ("checkout", "inventory"));
        assert_eq!(strings.find("inventory"), Some(b));
        assert_eq!(strings.find("payment"), None);
        assert_eq!(strings.intern(""), Strings::EMPTY);
        assert_eq!(strings.get(u32::MAX), "");
    }
}
