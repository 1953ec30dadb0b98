//! What a shared breaker does without its lock.
//!
//! Owns a copy of the machine's state, written under the lock when it changes
//! and read without it, and the good results that the machine has not counted
//! yet. While everything is admitted, or nothing is, the copy is all that an
//! arriving call needs; a probe or a share of a ramp has to be taken from the
//! machine, under the lock. While closed and judged already, a good result
//! over a count window cannot trip: it waits here, as one more in a counter,
//! until somebody takes the lock. Invariants: state, generation and deadline
//! that a call is answered with are of one transition; a result counts in its
//! generation, before whatever takes the lock next, or is late. Cost: an
//! admission is two loads and a store, such a result one exchange, a
//! rejection five loads, a store and a counter. Pinned by `tests/loom.rs`,
//! which runs the interleavings, and `tests/identical.rs`: the answers are the
//! machine's.
//!
//! # Why nothing is torn
//!
//! State, generation and the counter are one word, so that an admission rests
//! on a single load, and a result on a single exchange that fails if the state
//! has changed. The counter is emptied under the lock, before each step of the
//! machine. Results that come between that and a transition met the old state
//! but found it leaving; `publish` takes them out with the old word, and they
//! are late, as if they had come after it.
//!
//! A rejection needs the end of the wait too. It reads the word, the end, and
//! the word again, and asks the lock unless the word is the same: a generation
//! is published as open once, so that the same word is the same publication,
//! and no other has begun in between. Had the end been that of a later one,
//! then its store, which the load of it has acquired, would have come after
//! the word was taken down for it (first line of `publish`), and the second
//! load of the word would have seen that.
//!
//! An admission by a copy that a transition replaces at that moment is one
//! that came before the transition. Its result meets a later generation and
//! is dropped, as that of every call which the transition overtook.
//!
//! The largest time seen is written with a load and a store, not with one
//! operation, which would be an exchange more for each call. Calls at the same
//! moment can so forget the latest of their times, down to the earliest of them. A call's own time is never forgotten for that call, so this shows
//! where the clock has gone back as well: such a call goes by a time that is
//! behind the largest seen by as much as those calls' times differ. Its rejection
//! is dated, and its admission decided, as if it had come that much earlier. Under
//! the lock the machine clamps again, so that its own time never goes back.

use crate::machine::{Machine, Rejected, State};
use crate::sync::{AtomicI64, AtomicU64, Ordering};

// The word: the kind, the good results that wait, the generation.
const KINDS: u64 = 7;
const ONE_GOOD: u64 = KINDS + 1;
const GOOD: u64 = MOST_GOOD as u64 * ONE_GOOD;
const GENERATION: u32 = 15;
/// How many good results wait at most: so many that threads seldom meet at
/// the lock because the counter is full.
const MOST_GOOD: u32 = 4095;

const ASK: u64 = 0;
const CLOSED: u64 = 1;
/// Closed, and good results wait.
const JUDGED: u64 = 2;
const DISABLED: u64 = 3;
const METRICS_ONLY: u64 = 4;
const OPEN: u64 = 5;
const FORCED_OPEN: u64 = 6;

pub(crate) struct Gate {
    /// Kind, good results that wait, and generation.
    word: AtomicU64,
    /// The end of the wait, while the kind is `OPEN`.
    until: AtomicI64,
    /// The largest time seen.
    seen: AtomicI64,
    /// Rejections by this gate in the current generation. One that races
    /// with a transition may count in the next.
    rejections: AtomicU64,
    /// A call that took no longer than this is neither slow nor cut.
    quick: u64,
}

impl Gate {
    pub(crate) fn new(machine: &Machine) -> Gate {
        let config = machine.config();
        Gate {
            word: AtomicU64::new(word(machine)),
            until: AtomicI64::new(i64::MIN),
            seen: AtomicI64::new(i64::MIN),
            rejections: AtomicU64::new(0),
            quick: config.slow_over.min(config.cut_over),
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

    /// The same without taking note of `now`.
    #[inline]
    pub(crate) fn latest(&self, now: i64) -> i64 {
        now.max(self.seen.load(Ordering::Relaxed))
    }

    /// The generation and the state that admit everything, if one does.
    #[inline]
    pub(crate) fn admission(&self) -> Option<(u64, State)> {
        let word = self.word.load(Ordering::Acquire);
        let state = match word & KINDS {
            CLOSED | JUDGED => State::Closed,
            DISABLED => State::Disabled,
            METRICS_ONLY => State::MetricsOnly,
            _ => return None,
        };
        Some((word >> GENERATION, state))
    }

    /// The answer to a call that arrives at `now`, a time from `see`, if it is
    /// rejected; otherwise the machine has to be asked.
    #[inline]
    pub(crate) fn rejection(&self, now: i64) -> Option<Rejected> {
        let rejected = self.look(now)?;
        self.rejections.fetch_add(1, Ordering::Relaxed);
        Some(rejected)
    }

    /// What [`rejection`](Gate::rejection) would say, which is not counted.
    #[inline]
    pub(crate) fn look(&self, now: i64) -> Option<Rejected> {
        let word = self.word.load(Ordering::Acquire);
        let (state, retry_at) = match word & KINDS {
            OPEN => {
                let until = self.until.load(Ordering::Acquire);
                if now >= until || self.word.load(Ordering::Relaxed) != word {
                    return None;
                }
                (State::Open, Some(until))
            }
            FORCED_OPEN => (State::ForcedOpen, None),
            _ => return None,
        };
        Some(Rejected {
            state,
            generation: word >> GENERATION,
            at: now,
            retry_at,
        })
    }

    /// Takes a success of that generation, if it is a good result and those
    /// wait; otherwise it is for the machine.
    #[inline]
    pub(crate) fn take_success(&self, generation: u64, duration: u64) -> bool {
        let one_more = |word: u64| {
            let waits = word & KINDS == JUDGED && word >> GENERATION == generation;
            (waits && word & GOOD != GOOD).then_some(word + ONE_GOOD)
        };
        duration <= self.quick
            && self
                .word
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more)
                .is_ok()
    }

    /// Whether everything is admitted still, in that generation. A permit of
    /// it that is given back changes nothing.
    #[inline]
    pub(crate) fn admits(&self, generation: u64) -> bool {
        self.admission().is_some_and(|(it, _)| it == generation)
    }

    /// Rejections since the state last changed, less those by the machine.
    pub(crate) fn rejections(&self) -> u64 {
        self.rejections.load(Ordering::Relaxed)
    }

    /// Lets the machine count the good results that wait. Under the lock only.
    #[inline]
    pub(crate) fn hand_over(&self, machine: &mut Machine) {
        if self.word.load(Ordering::Relaxed) & GOOD != 0 {
            let word = self.word.fetch_and(!GOOD, Ordering::AcqRel);
            machine.count_good(good(word));
        }
    }

    /// Copies the machine's state if it is another. Under the lock only.
    #[inline]
    pub(crate) fn follow(&self, machine: &mut Machine) {
        let word = word(machine);
        if self.word.load(Ordering::Relaxed) & !GOOD != word {
            self.publish(machine, word);
        }
    }

    #[cold]
    fn publish(&self, machine: &mut Machine, word: u64) {
        let old = self.word.swap(word & !KINDS | ASK, Ordering::AcqRel);
        machine.count_late(good(old));
        let until = machine.retry_at().unwrap_or(i64::MIN);
        self.until.store(until, Ordering::Release);
        self.rejections.store(0, Ordering::Relaxed);
        self.word.store(word, Ordering::Release);
    }
}

fn good(word: u64) -> u32 {
    ((word & GOOD) / ONE_GOOD) as u32
}

/// The machine's state as a word, with no results waiting.
#[inline]
fn word(machine: &Machine) -> u64 {
    let kind = match machine.state() {
        State::Closed if machine.good_results_wait() => JUDGED,
        State::Closed => CLOSED,
        State::Disabled => DISABLED,
        State::MetricsOnly => METRICS_ONLY,
        State::Open => OPEN,
        State::ForcedOpen => FORCED_OPEN,
        State::HalfOpen | State::Ramping => ASK,
    };
    machine.generation() << GENERATION | kind
}
