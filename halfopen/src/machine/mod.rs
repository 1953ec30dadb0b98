//! The breaker itself: a state machine with time passed in.
//!
//! Owns what is asked of it per call, and its deadlines. What results say is in
//! [`verdicts`], what leads from one state to another in [`changes`], what is
//! shown of it in [`snapshot`]. Invariants: a result counts only in the
//! generation that admitted it; a deadline acts at its due time, however late it
//! is noticed; every generation has its transition. Cost: O(1) time per call and
//! no allocation after construction; while closed, an admission is three
//! comparisons, a result the window's update and two multiplications. Pinned by
//! `tests/vectors.rs` (the behaviour of resilience4j and the bugs of other
//! breakers as event sequences) and `tests/model.rs` (a naive model that keeps
//! everything).
//!
//! # How it works, and what to change together
//!
//! `due` is the next time at which the machine has to act by itself, and
//! `i64::MAX` when there is none. Every public method that takes a time first
//! clamps it (`see`), then lets the deadlines up to it act, each at its own
//! time (`catch_up`), and only then does what it was called for. A new kind of
//! deadline therefore has to be set in `due`, handled in `catch_up`, and
//! counted in `LOG_LEN`: the most transitions that one call can make.

mod changes;
mod permit;
#[cfg(feature = "std")]
mod shared;
mod snapshot;
mod state;
mod transition;
mod verdicts;

pub use permit::{Outcome, Permit, Rejected};
pub use snapshot::Snapshot;
pub use state::{NotAllowed, State};
pub use transition::{Cause, Transition};
pub(crate) use verdicts::{PPM, reached};

use alloc::boxed::Box;

use crate::config::Config;
use crate::probes::Probes;
use crate::ramp::Run;
use crate::window::{Figures, Sliding};
use transition::Log;

/// The most transitions of one call: a lease opens the breaker, the wait is
/// over, and what was asked for (or a hand) changes the state once more.
const LOG_LEN: usize = 3;

/// A circuit breaker without clock, thread or lock.
///
/// `now` is nanoseconds from any epoch, the same for all calls; when it goes
/// back it counts as the largest time seen. Deadlines (leases, the wait with
/// `auto`, the steps of a ramp) act at their due time: whenever the machine is
/// told the time, what was due before it happens first, as of then. Nothing
/// panics on any sequence of calls, and a permit of another machine is at
/// worst a wrong result.
///
/// ```
/// use halfopen::{Config, Machine, Outcome, State};
///
/// const S: i64 = 1_000_000_000;
/// let config: Config = "window=10,min=4,open=5s,probes=1".parse()?;
/// let mut breaker = Machine::new(config);
///
/// for _ in 0..4 {
///     let permit = breaker.acquire(0).expect("closed");
///     breaker.settle(S, permit, Outcome::Failure, S as u64);
/// }
/// assert_eq!(breaker.state(), State::Open);
/// let rejected = breaker.acquire(2 * S).unwrap_err();
/// assert_eq!(rejected.retry_at, Some(6 * S));
///
/// let probe = breaker.acquire(6 * S).expect("the wait is over");
/// breaker.settle(6 * S, probe, Outcome::Success, 1_000_000);
/// assert_eq!(breaker.state(), State::Closed);
/// # Ok::<(), halfopen::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Machine {
    /// The largest time seen.
    now: i64,
    /// The next deadline, `i64::MAX` for none. While open, the end of the
    /// wait, which without `auto` waits for a call.
    due: i64,
    generation: u64,
    state: State,
    /// Failures in a row.
    streak: u32,
    /// Results below which the rates of `counts` are not judged.
    floor: u32,
    /// Results in the window of the current state.
    counts: Figures,
    window: Sliding,
    config: Config,
    probes: Probes,
    ramp: Option<Box<Run>>,
    /// The wait of the current or next opening, before jitter.
    wait: u64,
    /// Openings since the last close.
    openings: u32,
    /// Openings ever: where the jitter's sequence stands.
    all_openings: u32,
    not_permitted: u64,
    late_results: u64,
    ignored: u64,
    log: Log,
}

impl Machine {
    /// A closed breaker. Allocates all that it will ever use.
    pub fn new(config: Config) -> Machine {
        Machine::with_log(config, LOG_LEN)
    }

    /// A breaker that keeps `len` transitions for draining; with 0 none, and
    /// none count as lost.
    pub(crate) fn with_log(config: Config, len: usize) -> Machine {
        Machine {
            now: i64::MIN,
            due: i64::MAX,
            generation: 0,
            state: State::Closed,
            streak: 0,
            floor: config.min,
            counts: Figures::default(),
            window: Sliding::new(config.window),
            probes: Probes::new(config.probes),
            ramp: config.ramp.is_some().then(Box::default),
            wait: config.backoff.first,
            openings: 0,
            all_openings: 0,
            not_permitted: 0,
            late_results: 0,
            ignored: 0,
            log: Log::new(len),
            config,
        }
    }

    /// A closed breaker whose jitter is its own: [`Config::for_instance`].
    pub fn for_instance(config: Config, name: &str) -> Machine {
        Machine::new(config.for_instance(name))
    }

    /// Asks to make a call.
    ///
    /// # Errors
    ///
    /// The call is rejected: the breaker is open, all probes are out, or the
    /// ramp's share is used up.
    #[inline]
    pub fn acquire(&mut self, now: i64) -> Result<Permit, Rejected> {
        let now = self.see(now);
        if self.state == State::Closed {
            return Ok(Permit {
                generation: self.generation,
                slot: 0,
            });
        }
        self.acquire_elsewhere(now)
    }

    /// Reports how a call went that took `duration` nanoseconds.
    ///
    /// A duration that reaches the timeout makes it a failure, whatever
    /// `outcome` says: a caller with that timeout would not have seen another
    /// outcome. A result of an earlier generation is dropped and counted.
    #[inline]
    pub fn settle(&mut self, now: i64, permit: Permit, outcome: Outcome, duration: u64) {
        let now = self.see(now);
        if permit.generation != self.generation {
            self.late_results += 1;
            return;
        }
        let cut = duration > self.config.cut_over;
        if outcome == Outcome::Ignored && !cut {
            return self.ignore(permit);
        }
        let failed = outcome == Outcome::Failure || cut;
        let slow = duration > self.config.slow_over;
        if self.state != State::Closed {
            return self.settle_elsewhere(now, permit, failed, slow);
        }
        self.record(now, failed, slow);
    }

    /// Takes back a permit whose call was not made, or whose outcome nobody
    /// will know. A probe's slot is free again; nothing is counted. A ramp gives
    /// nothing back: its share is one of the calls that ask.
    pub fn cancel(&mut self, now: i64, permit: Permit) {
        self.see(now);
        if permit.generation == self.generation {
            self.give_back(permit);
        }
    }

    /// Lets the deadlines up to `now` act. The other methods do so too; a host
    /// that wants to see a change when it is due calls this at
    /// [`next_deadline`](Machine::next_deadline).
    #[inline]
    pub fn advance(&mut self, now: i64) {
        self.see(now);
    }

    /// When the machine will next change by itself, if nothing else happens:
    /// a lease, the end of a ramp's step, with `auto` the end of the wait.
    /// Without `auto` the end of the wait is no deadline, as only a call
    /// leaves open; see [`retry_at`](Machine::retry_at).
    #[inline]
    pub fn next_deadline(&self) -> Option<i64> {
        let acts = self.state != State::Open || self.config.auto;
        (self.due != i64::MAX && acts).then_some(self.due)
    }

    /// While open, when the wait is over.
    #[inline]
    pub fn retry_at(&self) -> Option<i64> {
        (self.state == State::Open).then_some(self.due)
    }

    /// The state at the last time passed in.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// How many times the state has changed.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// What the machine was told.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Whether there are transitions to drain. Worth asking after each call:
    /// it is one comparison.
    #[inline]
    pub fn has_transitions(&self) -> bool {
        !self.log.is_empty()
    }

    /// The transitions since the last time, oldest first. One call makes three
    /// at most and three are kept: a host that drains after each call sees
    /// all. If more come, the oldest are overwritten and counted in
    /// [`Snapshot::transitions_lost`]. What is not taken from the iterator
    /// stays.
    #[inline]
    pub fn drain_transitions(&mut self) -> impl Iterator<Item = Transition> + '_ {
        core::iter::from_fn(|| self.pop_transition())
    }

    /// The oldest transition that is kept.
    pub(crate) fn pop_transition(&mut self) -> Option<Transition> {
        self.log.pop(self.generation)
    }

    /// The time to go by: the largest seen, with everything due before it
    /// done.
    #[inline]
    fn see(&mut self, now: i64) -> i64 {
        let now = now.max(self.now);
        self.now = now;
        if now >= self.due {
            self.catch_up(now);
        }
        now
    }

    /// Lets the deadlines up to `now` act, in their order. Ends, as each round
    /// uses up a probe or a step, or leads to a state without a deadline.
    #[cold]
    #[inline(never)]
    fn catch_up(&mut self, now: i64) {
        while self.due <= now && self.due != i64::MAX {
            let at = self.due;
            match self.state {
                State::HalfOpen => {
                    self.probes.expire();
                    self.probe_result(at, true, false, Cause::LeaseExpired);
                }
                State::Open if !self.config.auto => return,
                State::Open => self.enter_half_open(at, Cause::WaitOver),
                State::Ramping => self.end_step(at),
                _ => self.due = i64::MAX,
            }
        }
    }

    /// Whether `counts` are the window's; otherwise they are those of a
    /// half-open round, or what opened the breaker.
    fn counts_in_window(&self) -> bool {
        matches!(
            self.state,
            State::Closed | State::Ramping | State::MetricsOnly
        )
    }

    /// Takes out of `counts` what has left the window by now.
    fn expire(&mut self) {
        if self.counts_in_window() {
            self.window.expire(self.now, &mut self.counts);
        }
    }

    fn acquire_elsewhere(&mut self, now: i64) -> Result<Permit, Rejected> {
        if self.state == State::Open && now >= self.due {
            self.enter_half_open(now, Cause::WaitOver);
        }
        let slot = match self.state {
            State::Closed | State::Disabled | State::MetricsOnly => Some(0),
            State::Open | State::ForcedOpen => None,
            State::HalfOpen => self.issue_probe(now),
            State::Ramping => self.admit_share(now),
        };
        match slot {
            Some(slot) => Ok(Permit {
                generation: self.generation,
                slot,
            }),
            None => {
                self.not_permitted += 1;
                Err(Rejected {
                    state: self.state,
                    generation: self.generation,
                    at: now,
                    retry_at: self.retry_at(),
                })
            }
        }
    }

    fn issue_probe(&mut self, now: i64) -> Option<u32> {
        let due = now.saturating_add_unsigned(self.config.lease);
        let slot = self.probes.issue(due);
        self.due = self.probes.first_due();
        slot
    }

    fn admit_share(&mut self, now: i64) -> Option<u32> {
        let (run, plan) = self.ramp.as_deref_mut().zip(self.config.ramp.as_deref())?;
        run.admit(plan, now).then_some(0)
    }

    #[cold]
    fn ignore(&mut self, permit: Permit) {
        if self.give_back(permit) {
            self.ignored += u64::from(self.state != State::Disabled);
        } else {
            self.late_results += 1;
        }
    }

    /// Takes back a permit of this generation; `false` when its lease has run
    /// out.
    fn give_back(&mut self, permit: Permit) -> bool {
        match self.state {
            State::HalfOpen => {
                let was_out = self.probes.give_back(permit.slot);
                self.due = self.probes.first_due();
                was_out
            }
            _ => true,
        }
    }

    #[inline(never)]
    fn settle_elsewhere(&mut self, now: i64, permit: Permit, failed: bool, slow: bool) {
        match self.state {
            State::HalfOpen if self.probes.finish(permit.slot) => {
                self.probe_result(now, failed, slow, Cause::ProbesFailed);
            }
            State::HalfOpen => self.late_results += 1,
            State::Ramping => {
                if let Some(run) = &mut self.ramp {
                    run.count(failed, slow);
                }
                self.record(now, failed, slow);
            }
            State::MetricsOnly => self.window.record(now, failed, slow, &mut self.counts),
            State::Closed | State::Open | State::ForcedOpen | State::Disabled => {}
        }
    }
}
