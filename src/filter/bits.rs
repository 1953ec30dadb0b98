//! A bit of each row.
//!
//! Invariant: bits past the last row are 0. An eighth of a byte a row.

use crate::column::Column;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Bits {
    words: Column<u64>,
    len: usize,
}

/// Rows of a word.
pub(super) const WORD: usize = 64;

impl Bits {
    /// Those rows for which it is so.
    pub fn of(len: usize, is_so: &dyn Fn(usize) -> bool) -> Bits {
        let mut bits = Bits::room(len);
        for from in (0..len).step_by(WORD) {
            bits.words.push(word(from..len.min(from + WORD), is_so));
        }
        bits
    }

    /// Of so many rows, of which [`Bits::push`] adds the words.
    pub(super) fn room(len: usize) -> Bits {
        Bits {
            words: Vec::with_capacity(len.div_ceil(WORD)).into(),
            len,
        }
    }

    /// The next word. What is past the last row is left out.
    pub(super) fn push(&mut self, word: u64) {
        let left = self.len.saturating_sub(self.words.len() * WORD);
        let mask = match left < WORD {
            true => (1 << left) - 1,
            false => u64::MAX,
        };
        self.words.push(word & mask);
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether it is so of a row; false past the last one.
    #[inline]
    pub fn has(&self, at: usize) -> bool {
        let word = self.words.get(at / WORD).copied().unwrap_or(0);
        word >> (at % WORD) & 1 == 1
    }

    /// Rows from 64 times `at` on, the first in the lowest bit.
    pub fn word(&self, at: usize) -> u64 {
        self.words.get(at).copied().unwrap_or(0)
    }

    /// How many rows it is so of.
    pub fn count(&self) -> u64 {
        self.words.iter().map(|it| u64::from(it.count_ones())).sum()
    }

    /// All other rows.
    pub fn inverted(&self) -> Bits {
        let mut bits = Bits::room(self.len);
        for word in self.words.iter() {
            bits.push(!word);
        }
        bits
    }

    /// The first row at or after one.
    pub fn next(&self, from: usize) -> Option<usize> {
        let mut word = self.word(from / WORD) & (u64::MAX << (from % WORD));
        let mut at = from / WORD;
        while word == 0 {
            at += 1;
            word = *self.words.get(at)?;
        }
        Some(at * WORD + word.trailing_zeros() as usize)
    }

    /// The last row before one.
    pub fn previous(&self, to: usize) -> Option<usize> {
        let to = to.min(self.len);
        let mut word = self.word(to / WORD) & !(u64::MAX << (to % WORD));
        let mut at = to / WORD;
        while word == 0 {
            at = at.checked_sub(1)?;
            word = self.word(at);
        }
        Some(at * WORD + WORD - 1 - word.leading_zeros() as usize)
    }
}

/// The rows of a word for which it is so.
#[inline(never)]
pub(super) fn word(rows: std::ops::Range<usize>, is_so: &dyn Fn(usize) -> bool) -> u64 {
    let mut word = 0;
    for (bit, at) in rows.enumerate() {
        word |= u64::from(is_so(at)) << bit;
    }
    word
}
