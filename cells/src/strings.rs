//! Interned text: each distinct string once, named by a small index.
//!
//! Owns the bytes of every id, name and message of a file in one arena. Invariant: two indices of
//! one [`Strings`] are equal exactly when their texts are. Looking up or adding costs one hash of
//! the text; an index costs 4 bytes, a distinct string its bytes and 15 to 25 more. Pinned by
//! `tests::equal_texts_share_an_index`.

use crate::index::Index;
use crate::words;

/// A growing set of distinct strings.
#[derive(Clone, Debug)]
pub struct Strings {
    text: String,
    /// Where each string ends in `text`; it begins where the one before ends.
    ends: Vec<u32>,
    /// The longest text that fits is 4 GiB: beyond it every string becomes `OVERFLOW`.
    table: Index,
}

/// What a string is replaced by once the arena is full.
const OVERFLOW: &str = "(more text than fits)";

impl Default for Strings {
    fn default() -> Strings {
        let mut strings = Strings {
            text: String::new(),
            ends: Vec::new(),
            table: Index::default(),
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
        let hash = words::hash(text.as_bytes());
        if let Some(index) = self.held(hash, text) {
            return index;
        }
        let Ok(end) = u32::try_from(self.text.len() + text.len()) else {
            return self.find(OVERFLOW).unwrap_or(Strings::EMPTY);
        };
        let index = self.ends.len() as u32;
        self.text.push_str(text);
        self.ends.push(end);
        self.table.add(hash, index);
        index
    }

    /// The index of `text`, if it is there.
    pub fn find(&self, text: &str) -> Option<u32> {
        self.held(words::hash(text.as_bytes()), text)
    }

    #[inline(never)]
    fn held(&self, hash: u64, text: &str) -> Option<u32> {
        let (arena, ends) = (&self.text, &self.ends);
        let is_it = |index| words::same(slice(arena, ends, index), text.as_bytes());
        self.table.find(hash, is_it)
    }

    /// The text of an index; empty for an index of another table.
    pub fn get(&self, index: u32) -> &str {
        let (from, to) = range(&self.ends, index);
        self.text.get(from..to).unwrap_or_default()
    }

    /// How many distinct strings there are, the empty one included.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<u32>() + self.table.bytes()
    }

    /// Whether nothing was added yet.
    pub fn is_empty(&self) -> bool {
        self.ends.len() <= 2
    }
}

/// Where the text of an index stands.
#[inline(always)]
fn range(ends: &[u32], index: u32) -> (usize, usize) {
    let index = index as usize;
    let end = ends.get(index).map_or(0, |&it| it as usize);
    let before = index.checked_sub(1).and_then(|it| ends.get(it));
    (before.map_or(0, |&it| it as usize), end)
}

#[inline(always)]
fn slice<'a>(text: &'a str, ends: &[u32], index: u32) -> &'a [u8] {
    let (from, to) = range(ends, index);
    text.as_bytes().get(from..to).unwrap_or_default()
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
