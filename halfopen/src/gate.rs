//! What a shared breaker answers without its lock.
//!
//! Owns a copy of the machine's state, written under the lock at each
//! transition and read without it. While everything is admitted, or nothing
//! is, that copy is all an arriving call needs; a probe or a share of a ramp
//! has to be taken from the machine, under the lock. Invariant: state,
//! generation and deadline that a call is answered with are of one
//! transition. Cost: an admission is two loads and a store, a rejection four
//! loads, a store and a counter. Pinned by `tests/loom.rs`, which runs the
//! interleavings, and `tests/identical.rs`: the answers are the machine's.
//!
//! # Why nothing is torn
//!
//! State and generation are one word, so that an admission, which needs no
//! more, rests on a single load. A rejection needs the end of the wait too.
//! It reads the word, the end, and the word again, and asks the lock unless
//! the word is the same: a generation is published once, so that the same
//! word is the same publication, and no other has begun in between. Had the
//! end been that of a later one, then its store, which the load of it has
//! acquired, would have come after the word was taken down for it (first line
//! of `publish`), and the second load of the word would have seen that.
//!
//! An admission by a copy that a transition replaces at that moment is one
//! that came before the transition. Its result meets a later generation and
//! is dropped, as that of every call which the transition overtook.
//!
//! The largest time seen is written with a load and a store, not with one
//! operation. Two calls at the same moment can so forget the later of their
//! two times, by as much as they race; under the lock the machine clamps
//! again, so that its own time never goes back.

use crate::machine::{Machine, Rejected, State};
use crate::sync::{AtomicI64, AtomicU64, Ordering};

/// The low bits of the word; the generation is in those above.
const KIND_BITS: u32 = 3;
const ASK: u64 = 0;
const CLOSED: u64 = 1;
const DISABLED: u64 = 2;
const METRICS_ONLY: u64 = 3;
const OPEN: u64 = 4;
const FORCED_OPEN: u64 = 5;

pub(crate) struct Gate {
    /// Generation and kind.
    word: AtomicU64,
    /// The end of the wait, while the kind is `OPEN`.
    until: AtomicI64,
    /// The largest time seen.
    seen: AtomicI64,
    /// Rejections by this gate in the current generation. One that races
    /// with a transition may count in the next.
    rejections: AtomicU64,
}

/// The gate's answer to an arriving call.
pub(crate) enum Answer {
    Admitted {
        generation: u64,
        state: State,
    },
    Rejected(Rejected),
    /// The machine has to be asked.
    Ask,
}

impl Gate {
    pub(crate) fn new(machine: &Machine) -> Gate {
        Gate {
            word: AtomicU64::new(word(machine)),
            until: AtomicI64::new(i64::MIN),
            seen: AtomicI64::new(i64::MIN),
            rejections: AtomicU64::new(0),
        }
    }

    /// The time to go by: the largest seen.
    #[inline]
    pub(crate) fn see(&self, now: i64) -> i64 {
        let seen = self.seen.load(Ordering::Relaxed);
        if now > seen {
            self.seen.store(now, Ordering::Relaxed);
            now
        } else {
            seen
        }
    }

    /// Answers a call that arrives at `now`, a time from `see`.
    #[inline]
    pub(crate) fn answer(&self, now: i64) -> Answer {
        let word = self.word.load(Ordering::Acquire);
        let generation = word >> KIND_BITS;
        let state = match word & ((1 << KIND_BITS) - 1) {
            CLOSED => State::Closed,
            DISABLED => State::Disabled,
            METRICS_ONLY => State::MetricsOnly,
            OPEN => return self.answer_open(word, now),
            FORCED_OPEN => {
                return self.reject(State::ForcedOpen, generation, now, None);
            }
            _ => return Answer::Ask,
        };
        Answer::Admitted { generation, state }
    }

    #[inline]
    fn answer_open(&self, word: u64, now: i64) -> Answer {
        let until = self.until.load(Ordering::Acquire);
        if now >= until || self.word.load(Ordering::Relaxed) != word {
            return Answer::Ask;
        }
        self.reject(State::Open, word >> KIND_BITS, now, Some(until))
    }

    #[inline]
    fn reject(&self, state: State, generation: u64, at: i64, retry_at: Option<i64>) -> Answer {
        self.rejections.fetch_add(1, Ordering::Relaxed);
        Answer::Rejected(Rejected {
            state,
            generation,
            at,
            retry_at,
        })
    }

    /// Whether everything is admitted still, in that generation. A permit of
    /// it that is given back changes nothing.
    #[inline]
    pub(crate) fn admits(&self, generation: u64) -> bool {
        let word = self.word.load(Ordering::Acquire);
        let kind = word & ((1 << KIND_BITS) - 1);
        word >> KIND_BITS == generation && (CLOSED..=METRICS_ONLY).contains(&kind)
    }

    /// Rejections since the state last changed, less those by the machine.
    pub(crate) fn rejections(&self) -> u64 {
        self.rejections.load(Ordering::Relaxed)
    }

    /// Copies a new generation of the machine. Under the lock only.
    #[cold]
    pub(crate) fn publish(&self, machine: &Machine) {
        self.word
            .store(machine.generation() << KIND_BITS | ASK, Ordering::Relaxed);
        self.until
            .store(machine.retry_at().unwrap_or(i64::MIN), Ordering::Release);
        self.rejections.store(0, Ordering::Relaxed);
        self.word.store(word(machine), Ordering::Release);
    }
}

fn word(machine: &Machine) -> u64 {
    let kind = match machine.state() {
        State::Closed => CLOSED,
        State::Disabled => DISABLED,
        State::MetricsOnly => METRICS_ONLY,
        State::Open => OPEN,
        State::ForcedOpen => FORCED_OPEN,
        State::HalfOpen | State::Ramping => ASK,
    };
    machine.generation() << KIND_BITS | kind
}
