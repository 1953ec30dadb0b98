//! A bulkhead: so many calls at once, so many waiting, so long.
//!
//! A slow callee takes a thread per call for as long as it likes; without a
//! limit it ends up with all of them, and callers that never use it find none.
//!
//! Owns who is in and who is next. A place that becomes free goes to the call
//! that has waited longest, never past it. Invariants: calls that are in, or
//! have been given a place and not yet claimed it, never exceed
//! `max_concurrent`; calls wait only while all places are taken; a call whose
//! wait is over is not given a place, however late that is noticed. A place
//! has no lease: a call that has not come back still holds its thread. Cost:
//! O(1); each call whose wait is over is looked at once. 32 bytes for each call
//! that may wait, and where calls may wait also for each place. Source: resilience4j, `SemaphoreBulkhead` (25 calls,
//! no wait). Pinned by `tests/companions/` and `tests/companions_models.rs`.

use core::fmt;

use super::lanes::{Key, Lanes};
use super::{Latest, check};
use crate::config::{ConfigError, NEVER};

/// The most calls that can be in, or wait.
pub const MAX_CONCURRENT: u32 = 1_000_000;

/// Lanes: those that wait, and those that were given a place.
const WAITING: usize = 0;
const GRANTED: usize = 1;

/// A bulkhead as a person writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkheadSettings {
    /// Calls at once, 1 to [`MAX_CONCURRENT`]. Default 25.
    pub max_concurrent: u32,
    /// Calls that may wait for a place, up to [`MAX_CONCURRENT`]. Default 0.
    pub max_waiting: u32,
    /// How long a call waits, in nanoseconds; `None`: for ever. Default
    /// `None`.
    pub max_wait: Option<u64>,
}

impl Default for BulkheadSettings {
    fn default() -> BulkheadSettings {
        BulkheadSettings {
            max_concurrent: 25,
            max_waiting: 0,
            max_wait: None,
        }
    }
}

/// The answer when there is neither a place nor room to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkheadFull;

impl fmt::Display for BulkheadFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bulkhead is full")
    }
}

impl core::error::Error for BulkheadFull {}

/// A place in the bulkhead. [`Bulkhead::release`] takes it back; dropped, it
/// stays taken for ever.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "release the place, or it stays taken"]
pub struct Place(());

/// A call that waits. [`Bulkhead::claim`] asks how it stands,
/// [`Bulkhead::leave`] gives up.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "claim the place or leave, or it stays taken"]
pub struct Ticket(Key);

impl Ticket {
    /// What [`Bulkhead::release`] calls it.
    pub fn id(&self) -> u64 {
        self.0.serial
    }
}

/// What became of a call that asked.
#[derive(Debug, PartialEq, Eq)]
pub enum Entry {
    /// It may go.
    Admitted(Place),
    /// It has to wait.
    Waiting(Ticket),
}

/// How a call that waits stands.
#[derive(Debug, PartialEq, Eq)]
pub enum Claim {
    /// It may go.
    Admitted(Place),
    /// It has to wait longer.
    Waiting(Ticket),
    /// Its wait is over.
    TimedOut,
}

/// A bulkhead around one callee.
///
/// ```
/// use halfopen::companions::{Bulkhead, BulkheadSettings, Claim, Entry};
///
/// let settings = BulkheadSettings { max_concurrent: 1, max_waiting: 1, max_wait: Some(100) };
/// let mut bulkhead = Bulkhead::new(settings)?;
/// let Ok(Entry::Admitted(place)) = bulkhead.acquire(0) else { panic!() };
/// let Ok(Entry::Waiting(ticket)) = bulkhead.acquire(0) else { panic!() };
/// assert!(bulkhead.acquire(0).is_err());
///
/// // The place goes to the call that waits; the host wakes it by its id.
/// assert_eq!(bulkhead.release(50, place), Some(ticket.id()));
/// assert!(matches!(bulkhead.claim(200, ticket), Claim::Admitted(_)));
/// # Ok::<(), halfopen::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bulkhead {
    now: Latest,
    max: u32,
    /// Calls that are in, and those that were given a place.
    taken: u32,
    max_wait: u64,
    lanes: Lanes<2>,
    max_waiting: u32,
    refused: u64,
    timed_out: u64,
}

impl Bulkhead {
    /// Checks settings and allocates the queue.
    ///
    /// # Errors
    ///
    /// The first setting that is out of its range.
    pub fn new(settings: BulkheadSettings) -> Result<Bulkhead, ConfigError> {
        let s = settings;
        check::count("max_concurrent", s.max_concurrent, 1, MAX_CONCURRENT)?;
        check::count("max_waiting", s.max_waiting, 0, MAX_CONCURRENT)?;
        if let Some(wait) = s.max_wait {
            check::duration("max_wait", wait)?;
        }
        // Those who were given a place and have not claimed it keep their slot.
        let slots = s.max_waiting.saturating_add(match s.max_waiting {
            0 => 0,
            _ => s.max_concurrent,
        });
        Ok(Bulkhead {
            now: Latest::NONE,
            max: s.max_concurrent,
            taken: 0,
            max_wait: s.max_wait.unwrap_or(NEVER),
            lanes: Lanes::new(slots),
            max_waiting: s.max_waiting,
            refused: 0,
            timed_out: 0,
        })
    }

    /// Asks for a place, or to wait for one.
    ///
    /// # Errors
    ///
    /// There is neither a place nor room to wait.
    pub fn acquire(&mut self, now: i64) -> Result<Entry, BulkheadFull> {
        let now = self.see(now);
        if self.taken < self.max {
            self.taken += 1;
            return Ok(Entry::Admitted(Place(())));
        }
        if self.waiting() < self.max_waiting {
            let due = now.saturating_add_unsigned(self.max_wait);
            if let Some(key) = self.lanes.push(WAITING, due) {
                return Ok(Entry::Waiting(Ticket(key)));
            }
        }
        self.refused = self.refused.saturating_add(1);
        Err(BulkheadFull)
    }

    /// Asks for a place now or not at all.
    ///
    /// # Errors
    ///
    /// All places are taken.
    pub fn try_acquire(&mut self, now: i64) -> Result<Place, BulkheadFull> {
        self.see(now);
        if self.taken < self.max {
            self.taken += 1;
            return Ok(Place(()));
        }
        self.refused = self.refused.saturating_add(1);
        Err(BulkheadFull)
    }

    /// The call is over. If another waits, it has the place now: its
    /// [`Ticket::id`], for the host to wake it.
    pub fn release(&mut self, now: i64, _place: Place) -> Option<u64> {
        self.see(now);
        self.pass_on()
    }

    /// How a call that waits stands. A place it was given in time is its own
    /// even when it asks late.
    pub fn claim(&mut self, now: i64, ticket: Ticket) -> Claim {
        self.see(now);
        match self.lanes.lane_of(ticket.0) {
            Some(GRANTED) => {
                self.lanes.remove(ticket.0);
                Claim::Admitted(Place(()))
            }
            Some(_) => Claim::Waiting(ticket),
            None => Claim::TimedOut,
        }
    }

    /// A call no longer waits. If it had been given a place, that goes on: to
    /// the call whose [`Ticket::id`] this gives.
    pub fn leave(&mut self, now: i64, ticket: Ticket) -> Option<u64> {
        self.see(now);
        let granted = self.lanes.lane_of(ticket.0) == Some(GRANTED);
        self.lanes.remove(ticket.0);
        if granted { self.pass_on() } else { None }
    }

    /// When the wait of the call that has waited longest is over.
    pub fn next_deadline(&self) -> Option<i64> {
        let (_, due) = self.lanes.front(WAITING)?;
        (due != i64::MAX).then_some(due)
    }

    /// Calls that are in, and those that were given a place.
    pub fn active(&self) -> u32 {
        self.taken
    }

    /// Calls that wait, as of the last time passed in.
    pub fn waiting(&self) -> u32 {
        self.lanes.len(WAITING)
    }

    /// Calls that found neither a place nor room to wait. Since construction.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Calls whose wait was over first. Since construction.
    pub fn timed_out(&self) -> u64 {
        self.timed_out
    }

    /// Drops those whose wait is over; as all wait equally long, they are at
    /// the front.
    fn see(&mut self, now: i64) -> i64 {
        let now = self.now.see(now);
        while let Some((key, due)) = self.lanes.front(WAITING)
            && due <= now
            && due != i64::MAX
        {
            self.lanes.remove(key);
            self.timed_out = self.timed_out.saturating_add(1);
        }
        now
    }

    /// Gives a place that has become free to the next, or takes it back.
    fn pass_on(&mut self) -> Option<u64> {
        match self.lanes.front(WAITING) {
            Some((key, _)) => {
                self.lanes.move_to(key, GRANTED);
                Some(key.serial)
            }
            None => {
                self.taken = self.taken.saturating_sub(1);
                None
            }
        }
    }
}
