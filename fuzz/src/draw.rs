//! Numbers out of bytes, and bytes out of a number.
//!
//! Owns [`Draw`], which reads an input as choices, and [`Random`], which makes inputs from a seed.
//! Invariant: both give the same from the same, so that an input that was kept shows again what it
//! showed. Cost: a few instructions a number. Pinned by the tests that use them.

/// An input as a sequence of choices. At its end every choice is the first.
pub struct Draw<'a>(pub &'a [u8]);

impl Draw<'_> {
    /// Whether nothing is left.
    pub fn is_done(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }

    /// A number below `n`, of at most 256.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }

    /// A number from 1 to `n`, of at most 256.
    pub fn one_to(&mut self, n: usize) -> usize {
        1 + self.below(n)
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Eight bytes as a number.
    pub fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }
}

/// Numbers from a seed (SplitMix64).
pub struct Random(pub u64);

impl Random {
    /// A random whose seed is a hash (FNV-1a) of an input: choices that an input makes about itself.
    pub fn of(bytes: &[u8]) -> Random {
        let hash = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        Random(bytes.iter().fold(0xcbf2_9ce4_8422_2325, hash))
    }

    /// The next number.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.word() % n.max(1) as u64) as usize
    }

    /// That many bytes.
    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.word() as u8).collect()
    }

    /// One of the seeds with a few bytes changed, taken out, repeated, or come from another.
    pub fn spoiled(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            let most = 1 << self.below(8);
            let to = (at + self.below(most)).min(bytes.len());
            match self.below(6) {
                0 => bytes.truncate(at),
                1 => drop(bytes.drain(at..to)),
                2 => bytes.insert(at, self.word() as u8),
                3 => bytes[at..to]
                    .iter_mut()
                    .for_each(|it| *it = self.word() as u8),
                4 => {
                    let again = bytes[at..to].to_vec();
                    bytes.splice(at..at, again);
                }
                _ => {
                    let other = &seeds[self.below(seeds.len())];
                    let from = self.below(other.len() + 1);
                    let end = (from + self.below(64)).min(other.len());
                    bytes.splice(at..to, other[from..end].iter().copied());
                }
            }
        }
        bytes
    }
}
