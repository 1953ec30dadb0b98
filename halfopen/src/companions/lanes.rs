//! Queues in memory that is allocated once: `L` lanes share a pool of slots,
//! and an entry can leave from any place of its lane.
//!
//! Owns which slot is in which lane and in what order. An entry is named by
//! its slot and a serial number that is never used again, so that a name which
//! is out of date finds nothing. Invariant: a slot is in one lane or free.
//! Cost: O(1) per operation, 32 bytes a slot. Pinned by the tests below and,
//! through its users, by `tests/companions_models.rs`.

use alloc::boxed::Box;
use alloc::vec;

const NONE: u32 = u32::MAX;

/// The name of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) serial: u64,
    slot: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Lanes<const L: usize> {
    slots: Box<[Slot]>,
    /// Slots from here on have never been used.
    fresh: u32,
    /// First of the slots that are free again, linked by `next`.
    free: u32,
    lanes: [Lane; L],
    serial: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    serial: u64,
    at: i64,
    older: u32,
    next: u32,
    /// Where it is; nothing when it is free.
    lane: Option<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Lane {
    oldest: u32,
    newest: u32,
    len: u32,
}

impl<const L: usize> Lanes<L> {
    /// Room for `n` entries in all lanes together.
    pub(super) fn new(n: u32) -> Lanes<L> {
        let slot = Slot {
            serial: 0,
            at: 0,
            older: NONE,
            next: NONE,
            lane: None,
        };
        let lane = Lane {
            oldest: NONE,
            newest: NONE,
            len: 0,
        };
        Lanes {
            slots: vec![slot; n as usize].into_boxed_slice(),
            fresh: 0,
            free: NONE,
            lanes: [lane; L],
            serial: 0,
        }
    }

    /// Puts an entry behind all others of `lane`; nothing when there is no
    /// room.
    pub(super) fn push(&mut self, lane: usize, at: i64) -> Option<Key> {
        let slot = if self.free != NONE {
            let slot = self.free;
            self.free = self.slots[slot as usize].next;
            slot
        } else if (self.fresh as usize) < self.slots.len() {
            self.fresh += 1;
            self.fresh - 1
        } else {
            return None;
        };
        self.serial += 1;
        self.slots[slot as usize].serial = self.serial;
        self.slots[slot as usize].at = at;
        self.link(lane, slot);
        Some(self.key(slot))
    }

    /// The first entry of `lane`, and what it was pushed with.
    pub(super) fn front(&self, lane: usize) -> Option<(Key, i64)> {
        match self.lanes[lane].oldest {
            NONE => None,
            slot => Some((self.key(slot), self.slots[slot as usize].at)),
        }
    }

    /// Takes an entry out of its lane; `false` when there is no such entry.
    pub(super) fn remove(&mut self, key: Key) -> bool {
        if self.lane_of(key).is_none() {
            return false;
        }
        self.unlink(key.slot);
        self.slots[key.slot as usize].lane = None;
        self.slots[key.slot as usize].next = self.free;
        self.free = key.slot;
        true
    }

    /// Puts an entry behind all others of another lane; the name stays.
    pub(super) fn move_to(&mut self, key: Key, lane: usize) {
        if self.lane_of(key).is_some() {
            self.unlink(key.slot);
            self.link(lane, key.slot);
        }
    }

    /// Where an entry is.
    pub(super) fn lane_of(&self, key: Key) -> Option<usize> {
        let slot = self.slots.get(key.slot as usize)?;
        let lane = slot.lane.filter(|_| slot.serial == key.serial)?;
        Some(usize::from(lane))
    }

    pub(super) fn len(&self, lane: usize) -> u32 {
        self.lanes[lane].len
    }

    fn key(&self, slot: u32) -> Key {
        Key {
            serial: self.slots[slot as usize].serial,
            slot,
        }
    }

    fn link(&mut self, nth: usize, slot: u32) {
        let lane = &mut self.lanes[nth];
        let older = lane.newest;
        lane.newest = slot;
        lane.len += 1;
        match older {
            NONE => lane.oldest = slot,
            older => self.slots[older as usize].next = slot,
        }
        let entry = &mut self.slots[slot as usize];
        entry.older = older;
        entry.next = NONE;
        entry.lane = Some(nth as u8);
    }

    fn unlink(&mut self, slot: u32) {
        let Slot {
            older, next, lane, ..
        } = self.slots[slot as usize];
        let Some(lane) = lane else { return };
        let lane = &mut self.lanes[usize::from(lane)];
        lane.len -= 1;
        match older {
            NONE => lane.oldest = next,
            older => self.slots[older as usize].next = next,
        }
        match next {
            NONE => lane.newest = older,
            next => self.slots[next as usize].older = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn drain(lanes: &mut Lanes<2>, lane: usize) -> Vec<i64> {
        let mut seen = Vec::new();
        while let Some((key, at)) = lanes.front(lane) {
            seen.push(at);
            assert!(lanes.remove(key));
        }
        seen
    }

    #[test]
    fn lanes_are_first_in_first_out() {
        let mut lanes = Lanes::<2>::new(4);
        let keys: Vec<Key> = (0..4).map(|at| lanes.push(0, at).unwrap()).collect();
        assert_eq!(lanes.push(1, 9), None);
        assert!(lanes.remove(keys[1]));
        assert!(!lanes.remove(keys[1]));
        lanes.move_to(keys[3], 1);
        lanes.move_to(keys[0], 1);
        lanes.move_to(keys[1], 1);
        assert_eq!((lanes.len(0), lanes.len(1)), (1, 2));
        assert_eq!(drain(&mut lanes, 0), [2]);
        assert_eq!(drain(&mut lanes, 1), [3, 0]);
        assert_eq!((lanes.len(0), lanes.len(1)), (0, 0));
    }

    #[test]
    fn a_slot_is_as_small_as_it_says() {
        assert_eq!(size_of::<Slot>(), 32);
    }

    #[test]
    fn old_names_find_nothing() {
        let mut lanes = Lanes::<2>::new(1);
        let old = lanes.push(0, 1).unwrap();
        assert!(lanes.remove(old));
        let new = lanes.push(1, 2).unwrap();
        assert_eq!((lanes.lane_of(old), lanes.lane_of(new)), (None, Some(1)));
        assert!(!lanes.remove(old));
        let elsewhere = Key { serial: 2, slot: 7 };
        assert!(!lanes.remove(elsewhere));
    }
}
