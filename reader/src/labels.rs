//! What rows say beside their ids and times.
//!
//! Owns the distinct combinations of it. A million spans say a few hundred things: a row costs the four bytes of
//! an index. Invariant: two indices of one [`LabelSets`] are equal exactly when all labels are. Looking up costs one
//! hash of a set; a distinct set costs 28 bytes and 11 to 21 more. Pinned by `tests`.

use herdscope_cells::words;

use crate::column::Column;
use crate::index::Index;
use crate::outcome::Outcome;
use crate::rows::Kind;

/// What a row says; texts are indices into the names beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields of SpanRow, by the same names")]
pub struct LabelSet {
    pub service: u32,
    pub operation: u32,
    /// [`NONE`](crate::rows::NONE) where the row does not tell, as in the next one and in `breaker`.
    pub instance: u32,
    pub peer: u32,
    pub message: u32,
    pub breaker: u32,
    pub kind: Kind,
    pub outcome: Outcome,
}

impl LabelSet {
    /// The labels that are texts, in the order of the fields.
    pub fn texts(&self) -> [u32; 6] {
        [
            self.service,
            self.operation,
            self.instance,
            self.peer,
            self.message,
            self.breaker,
        ]
    }
}

/// Distinct label sets, in the order in which they were met.
#[derive(Clone, Debug, Default)]
pub struct LabelSets {
    sets: Column<LabelSet>,
    index: Index,
}

impl LabelSets {
    /// The index of a set, which is added when it is new.
    #[inline(never)]
    pub fn intern(&mut self, set: LabelSet) -> u32 {
        let hash = hash(&set);
        let held = self.index.find(hash, |at| self.sets[at as usize] == set);
        held.unwrap_or_else(|| {
            let at = self.sets.len() as u32;
            self.sets.push(set);
            self.index.add(hash, at);
            at
        })
    }

    /// The set of an index.
    #[inline(always)]
    pub fn get(&self, at: u32) -> &LabelSet {
        &self.sets[at as usize]
    }

    /// All of them. A set that no row has any more may be among them.
    pub fn all(&self) -> &Column<LabelSet> {
        &self.sets
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.sets.bytes() + self.index.bytes()
    }
}

fn hash(set: &LabelSet) -> u64 {
    let [a, b, c, d, e, f] = set.texts();
    let ended = u32::from(set.kind as u8) << 8 | u32::from(set.outcome as u8);
    words::hash(
        [a, b, c, d, e, f, ended]
            .map(u32::to_le_bytes)
            .as_flattened(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::NONE;

    #[test]
    fn sets_that_differ_in_any_label_have_indices_of_their_own() {
        let first = LabelSet {
            service: 2,
            operation: 3,
            instance: NONE,
            peer: NONE,
            message: 0,
            breaker: NONE,
            kind: Kind::Client,
            outcome: Outcome::Success,
        };
        let changes: [fn(&mut LabelSet); 9] = [
            |_| {},
            |it| it.service = 3,
            |it| it.operation = 2,
            |it| it.instance = 2,
            |it| it.peer = 2,
            |it| it.message = 2,
            |it| it.breaker = 2,
            |it| it.kind = Kind::Server,
            |it| it.outcome = Outcome::TimedOut,
        ];
        let mut sets = LabelSets::default();
        for _ in 0..2 {
            for (at, change) in changes.iter().enumerate() {
                let mut set = first;
                change(&mut set);
                assert_eq!(sets.intern(set), at as u32);
                assert_eq!(*sets.get(at as u32), set);
            }
        }
        assert_eq!(sets.all().len(), changes.len());
    }
}
