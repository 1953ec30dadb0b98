//! The permits of a half-open round: who has one, and until when.
//!
//! A round hands out `probes` permits. Each has a slot; a permit given back
//! frees its slot, a result or an expired lease uses it up. Owns the order in
//! which leases run out: all leases are equally long and time does not go
//! back, so that is the order of issue, kept as a list through the slots.
//! Invariant: a slot is free, out, or used up, and `out` ones are exactly the
//! list. Cost: O(1) per operation, twelve bytes a slot, a new round is O(1).
//! Pinned by the tests below and by `tests/model.rs`.

use alloc::boxed::Box;
use alloc::vec;

/// No slot. More than `MAX_PROBES`.
const NONE: u16 = u16::MAX;
/// In place of the older neighbour of a slot that is not out.
const NOT_OUT: u16 = u16::MAX - 1;

#[derive(Clone, Debug)]
pub(crate) struct Probes {
    slots: Box<[Slot]>,
    /// Slots from here on have not been used in this round.
    fresh: u16,
    /// First of the slots given back, linked by `next`.
    free: u16,
    /// Ends of the list of slots that are out, in order of issue.
    oldest: u16,
    newest: u16,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// When the lease runs out, as two halves: aligned to four bytes, a slot
    /// takes twelve of them and not sixteen.
    due: [u32; 2],
    /// The next older slot that is out, or `NOT_OUT`.
    older: u16,
    /// The next younger slot that is out, or the next free one.
    next: u16,
}

impl Slot {
    const UNUSED: Slot = Slot {
        due: [0; 2],
        older: NOT_OUT,
        next: NONE,
    };

    fn new(due: i64, older: u16) -> Slot {
        Slot {
            due: [due as u32, (due >> 32) as u32],
            older,
            next: NONE,
        }
    }

    fn due(self) -> i64 {
        i64::from(self.due[1] as i32) << 32 | i64::from(self.due[0])
    }
}

impl Probes {
    /// `n` is at most `MAX_PROBES`.
    pub(crate) fn new(n: u32) -> Probes {
        let slots = vec![Slot::UNUSED; n as usize].into_boxed_slice();
        Probes {
            slots,
            fresh: 0,
            free: NONE,
            oldest: NONE,
            newest: NONE,
        }
    }

    /// Starts a new round.
    pub(crate) fn clear(&mut self) {
        self.fresh = 0;
        self.free = NONE;
        self.oldest = NONE;
        self.newest = NONE;
    }

    /// Hands out a slot whose lease runs out at `due`, which is not before
    /// that of the last one; `None` when all are out or used up.
    pub(crate) fn issue(&mut self, due: i64) -> Option<u32> {
        let slot = if self.free != NONE {
            let slot = self.free;
            self.free = self.slots[usize::from(slot)].next;
            slot
        } else if usize::from(self.fresh) < self.slots.len() {
            self.fresh += 1;
            self.fresh - 1
        } else {
            return None;
        };
        let older = self.newest;
        self.slots[usize::from(slot)] = Slot::new(due, older);
        match older {
            NONE => self.oldest = slot,
            older => self.slots[usize::from(older)].next = slot,
        }
        self.newest = slot;
        Some(u32::from(slot))
    }

    /// Whether all are out or used up.
    #[cfg(feature = "tower")]
    pub(crate) fn are_taken(&self) -> bool {
        self.free == NONE && usize::from(self.fresh) == self.slots.len()
    }

    /// Frees a slot that is out; `false` when it is not.
    pub(crate) fn give_back(&mut self, slot: u32) -> bool {
        let taken = self.finish(slot);
        if taken {
            self.slots[slot as usize].next = self.free;
            self.free = slot as u16;
        }
        taken
    }

    /// Uses up a slot that is out; `false` when it is not.
    pub(crate) fn finish(&mut self, slot: u32) -> bool {
        // Slots above `fresh` hold what an earlier round left.
        if slot >= u32::from(self.fresh) {
            return false;
        }
        let Slot { older, next, .. } = self.slots[slot as usize];
        if older == NOT_OUT {
            return false;
        }
        self.slots[slot as usize].older = NOT_OUT;
        match older {
            NONE => self.oldest = next,
            older => self.slots[usize::from(older)].next = next,
        }
        match next {
            NONE => self.newest = older,
            next => self.slots[usize::from(next)].older = older,
        }
        true
    }

    /// Uses up the slot that has been out longest.
    pub(crate) fn expire(&mut self) -> bool {
        self.finish(u32::from(self.oldest))
    }

    /// When the first lease runs out; `i64::MAX` when none is out.
    pub(crate) fn first_due(&self) -> i64 {
        match self.oldest {
            NONE => i64::MAX,
            oldest => self.slots[usize::from(oldest)].due(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn no_more_than_n_are_out_or_used_up() {
        let mut probes = Probes::new(2);
        let a = probes.issue(1).unwrap();
        let b = probes.issue(2).unwrap();
        assert_eq!(probes.issue(3), None);
        assert!(probes.give_back(a));
        assert!(!probes.give_back(a));
        let c = probes.issue(3).unwrap();
        assert!(probes.finish(c) && probes.finish(b));
        assert!(!probes.finish(b));
        assert_eq!(probes.issue(4), None);
    }

    #[cfg(feature = "tower")]
    #[test]
    fn all_are_taken_when_none_is_issued() {
        let mut probes = Probes::new(3);
        let mut out = Vec::new();
        for n in 0..100u32 {
            match probes.issue(n.into()) {
                Some(slot) => out.push(slot),
                None => {
                    for slot in out.drain(n as usize % 3..) {
                        assert!(probes.give_back(slot));
                    }
                }
            }
            assert_eq!(probes.are_taken(), out.len() == 3, "{n}");
        }
    }

    #[test]
    fn leases_run_out_in_order_of_issue() {
        let mut probes = Probes::new(4);
        let slots: Vec<u32> = (0..4).map(|due| probes.issue(due).unwrap()).collect();
        probes.give_back(slots[0]);
        probes.finish(slots[2]);
        assert_eq!(probes.first_due(), 1);
        let again = probes.issue(9).unwrap();
        assert_eq!(again, slots[0]);
        let mut dues = Vec::new();
        while probes.first_due() != i64::MAX {
            dues.push(probes.first_due());
            assert!(probes.expire());
        }
        assert_eq!(dues, [1, 3, 9]);
        assert!(!probes.expire());
    }

    #[test]
    fn a_slot_is_twelve_bytes_and_keeps_every_time() {
        assert_eq!(size_of::<Slot>(), 12);
        for due in [i64::MIN, -1 << 32, -1, 0, 1, u32::MAX.into(), i64::MAX] {
            assert_eq!(Slot::new(due, NONE).due(), due);
        }
    }

    #[test]
    fn a_new_round_knows_nothing_of_the_old() {
        let mut probes = Probes::new(3);
        let old = [probes.issue(1).unwrap(), probes.issue(1).unwrap()];
        probes.clear();
        assert!(old.iter().all(|&slot| !probes.finish(slot)));
        assert!(!probes.finish(u32::MAX) && !probes.finish(3));
        assert_eq!(probes.first_due(), i64::MAX);
        assert_eq!((0..5).filter_map(|due| probes.issue(due)).count(), 3);
    }
}
