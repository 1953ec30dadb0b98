//! A load shedder: a short queue in front of a service, which drops what
//! comes too late, the least important first.
//!
//! A server that answers requests in the order in which they came, and is too
//! slow for them, ends up answering only those whose callers have gone. Owns
//! which request is next and which is shed:
//!
//! * **by length**: a full queue refuses the newcomer, or, if that is more
//!   important, drops the oldest of the least important (it has waited
//!   longest, so its caller is closest to giving up);
//! * **by age**: when the *shortest* wait seen in an interval (100 ms) was
//!   above the target (5 ms), the queue is standing and not a burst. Then
//!   requests that have waited more than twice the target are dropped, until
//!   an interval is good again. The first request of an interval is always
//!   served. What is measured is the age of the oldest request in the queue.
//!
//! Requests are served by importance, and in order of arrival among equals.
//! Invariants: at most `max_queue` are in the queue; none is shed by age while
//! a less important one is that old too. Cost: O(1), 32 bytes a request that
//! may wait. Sources: Folly's `Codel` (100 ms, 5 ms, twice the target), which
//! simplifies CoDel (RFC 8289) for requests; the criticality classes of Google
//! SRE, chapter 21. Pinned by `tests/companions/` and
//! `tests/companions_models.rs`.

use core::fmt;

use super::lanes::{Key, Lanes};
use super::{Latest, check};
use crate::config::ConfigError;

/// The most requests that can wait.
pub const MAX_QUEUE: u32 = 1_000_000;

/// How important a request is, most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// What people see at once when it fails.
    CriticalPlus,
    /// The default of production traffic.
    Critical,
    /// Partial failure is expected: batch work that will be tried again.
    SheddablePlus,
    /// Full failure is expected now and then.
    Sheddable,
}

/// Number of priorities.
const LANES: usize = 4;

/// A load shedder as a person writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShedderSettings {
    /// The most requests that wait, 1 to [`MAX_QUEUE`]. Default 1024.
    pub max_queue: u32,
    /// The wait that is healthy, in nanoseconds. Default 5 ms.
    pub target: u64,
    /// How long the wait may be above it, in nanoseconds, more than `target`.
    /// Default 100 ms.
    pub interval: u64,
}

impl Default for ShedderSettings {
    fn default() -> ShedderSettings {
        ShedderSettings {
            max_queue: 1_024,
            target: 5_000_000,
            interval: 100_000_000,
        }
    }
}

/// The name of a request in the queue. Never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueueId(Key);

/// A request is in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "another request may have been shed for it"]
pub struct Offered {
    /// Its name.
    pub id: QueueId,
    /// The request that was dropped to make room: refuse it.
    pub shed: Option<QueueId>,
}

/// The answer to a request that finds the queue full of others at least as
/// important.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueFull;

impl fmt::Display for QueueFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the queue is full")
    }
}

impl core::error::Error for QueueFull {}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the request has left the queue"]
pub enum Next {
    /// Answer this request.
    Serve(QueueId),
    /// Refuse this request, it has waited too long, and ask again.
    Shed(QueueId),
    /// Nothing waits.
    Empty,
}

/// A queue in front of a service.
///
/// ```
/// use halfopen::companions::{Next, Priority, Shedder, ShedderSettings};
///
/// let mut queue = Shedder::new(ShedderSettings { max_queue: 1, ..ShedderSettings::default() })?;
/// let batch = queue.offer(0, Priority::Sheddable)?;
/// // A page view is worth more, and the queue is full.
/// let page = queue.offer(0, Priority::Critical)?;
/// assert_eq!(page.shed, Some(batch.id));
/// assert!(queue.offer(0, Priority::Critical).is_err());
/// assert_eq!(queue.take(0), Next::Serve(page.id));
/// assert_eq!(queue.take(0), Next::Empty);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Shedder {
    now: Latest,
    target: u64,
    interval: u64,
    lanes: Lanes<LANES>,
    /// When the current interval is over; nothing before the first request.
    interval_end: Option<i64>,
    /// The shortest wait of the current interval.
    shortest: u64,
    /// Whether no wait has been seen in the current interval.
    fresh: bool,
    overloaded: bool,
    refused: u64,
    shed_for_others: u64,
    shed_by_age: u64,
}

impl Shedder {
    /// Checks settings and allocates the queue.
    ///
    /// # Errors
    ///
    /// The first setting that is out of its range, or a target that is not
    /// below the interval.
    pub fn new(settings: ShedderSettings) -> Result<Shedder, ConfigError> {
        let s = settings;
        check::count("max_queue", s.max_queue, 1, MAX_QUEUE)?;
        check::duration("target", s.target)?;
        check::duration("interval", s.interval)?;
        if s.target >= s.interval {
            let got = crate::text::duration(s.target);
            let allowed = "less than the value of interval";
            return Err(check::conflict("target", got, allowed));
        }
        Ok(Shedder {
            now: Latest::NONE,
            target: s.target,
            interval: s.interval,
            lanes: Lanes::new(s.max_queue),
            interval_end: None,
            shortest: 0,
            fresh: true,
            overloaded: false,
            refused: 0,
            shed_for_others: 0,
            shed_by_age: 0,
        })
    }

    /// A request has come.
    ///
    /// # Errors
    ///
    /// The queue is full of requests at least as important: refuse it.
    pub fn offer(&mut self, now: i64, priority: Priority) -> Result<Offered, QueueFull> {
        let now = self.now.see(now);
        let lane = priority as usize;
        if let Some(key) = self.lanes.push(lane, now) {
            let id = QueueId(key);
            return Ok(Offered { id, shed: None });
        }
        let less = (lane + 1..LANES)
            .rev()
            .find_map(|less| self.lanes.front(less));
        if let Some((old, _)) = less {
            self.lanes.remove(old);
            if let Some(key) = self.lanes.push(lane, now) {
                self.shed_for_others = self.shed_for_others.saturating_add(1);
                return Ok(Offered {
                    id: QueueId(key),
                    shed: Some(QueueId(old)),
                });
            }
        }
        self.refused = self.refused.saturating_add(1);
        Err(QueueFull)
    }

    /// A worker is free.
    pub fn take(&mut self, now: i64) -> Next {
        let now = self.now.see(now);
        let oldest = (0..LANES)
            .filter_map(|lane| self.lanes.front(lane))
            .map(|(_, at)| now.abs_diff(at))
            .max();
        let may_shed = self.observe(now, oldest.unwrap_or(0));
        for lane in (0..LANES).rev() {
            if let Some((key, at)) = self.lanes.front(lane)
                && may_shed
                && now.abs_diff(at) > self.target.saturating_mul(2)
            {
                self.lanes.remove(key);
                self.shed_by_age = self.shed_by_age.saturating_add(1);
                return Next::Shed(QueueId(key));
            }
        }
        match (0..LANES).find_map(|lane| self.lanes.front(lane)) {
            Some((key, _)) => {
                self.lanes.remove(key);
                Next::Serve(QueueId(key))
            }
            None => Next::Empty,
        }
    }

    /// The caller of a request has gone. `false` when it is not in the queue
    /// any more.
    pub fn cancel(&mut self, id: QueueId) -> bool {
        self.lanes.remove(id.0)
    }

    /// Requests that wait.
    pub fn len(&self) -> u32 {
        (0..LANES).map(|lane| self.lanes.len(lane)).sum()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the last full interval had no wait at or below the target.
    pub fn is_overloaded(&self) -> bool {
        self.overloaded
    }

    /// Requests that found the queue full. Since construction.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Requests dropped for more important ones. Since construction.
    pub fn shed_for_others(&self) -> u64 {
        self.shed_for_others
    }

    /// Requests dropped because they had waited too long. Since construction.
    pub fn shed_by_age(&self) -> u64 {
        self.shed_by_age
    }

    /// Takes note of a wait; whether requests may be shed by age now.
    fn observe(&mut self, now: i64, wait: u64) -> bool {
        let end = self.interval_end;
        if end.is_none_or(|end| now > end && !self.fresh) {
            self.interval_end = Some(now.saturating_add_unsigned(self.interval));
            self.overloaded = self.shortest > self.target;
            self.fresh = true;
        }
        if core::mem::take(&mut self.fresh) {
            self.shortest = wait;
            return false;
        }
        self.shortest = self.shortest.min(wait);
        self.overloaded
    }
}
