//! The breaker itself: a state machine with time passed in.
//!
//! Owns the state, its deadline and the count of generations, which change
//! together and nowhere else than in `enter`. Invariants: a result counts
//! only in the generation that admitted it; a deadline acts at its due time,
//! however late it is noticed; every generation has its transition. Cost: O(1)
//! time per call and no allocation after construction; while closed, an
//! admission is three comparisons, a result the window's update and two
//! multiplications. Pinned by `tests/vectors.rs` (the behaviour of
//! resilience4j and the bugs of other breakers as event sequences) and
//! `tests/model.rs` (a naive model that keeps everything).
//!
//! # How it works, and what to change together
//!
//! `due` is the next time at which the machine has to act by itself, and
//! `i64::MAX` when there is none. Every public method that takes a time first
//! clamps it (`see`), then lets the deadlines up to it act, each at its own
//! time (`catch_up`), and only then does what it was called for. A new kind of
//! deadline therefore has to be set in `due`, handled in `catch_up`, and
//! counted in `LOG_LEN`: the most transitions that one call can make.

use alloc::boxed::Box;
use alloc::vec;
use core::fmt;
use core::time::Duration;

use crate::config::{Config, Judge, NEVER, OFF};
use crate::probes::Probes;
use crate::ramp::Run;
use crate::window::{Figures, Sliding};

/// Rates are compared in these units.
const PPM: u64 = 1_000_000;
/// The share of failures that fails a step of the ramp where no rate is set.
const HALF: u32 = 500_000;

/// The most transitions of one call: a lease opens the breaker, the wait is
/// over, and what was asked for (or a hand) changes the state once more.
const LOG_LEN: usize = 3;

/// Where a breaker is.
///
/// These are all there are, and a `match` of them is complete: a dashboard or
/// a router that left one out would be wrong.
///
/// # By hand
///
/// What a change by hand makes of each state; it is a transition with
/// [`Cause::Manual`], also from a state to itself, which then starts anew.
///
/// | from | `open`, `open_for` | `half_open` | `close`, `reset` | `force_open` | `disable` | `metrics_only` |
/// |---|---|---|---|---|---|---|
/// | closed | open | not allowed | closed | forced-open | disabled | metrics-only |
/// | open, half-open, ramping | open | half-open | closed | forced-open | disabled | metrics-only |
/// | forced-open | open | half-open | closed | forced-open | disabled | metrics-only |
/// | disabled | open | half-open | closed | forced-open | disabled | metrics-only |
/// | metrics-only | not allowed | not allowed | closed | forced-open | disabled | metrics-only |
///
/// Neither time nor calls leave forced-open, disabled and metrics-only, but
/// every change by hand that is allowed does: **`open` on a breaker that is
/// forced open ends that**, as the wait then ends, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum State {
    /// Everything is admitted, results are judged.
    Closed,
    /// Nothing is admitted until the wait is over.
    Open,
    /// A few probes are admitted and decide.
    HalfOpen,
    /// The probes have passed; a growing share is admitted and judged.
    Ramping,
    /// By hand: nothing is admitted.
    ForcedOpen,
    /// By hand: everything is admitted, nothing is counted.
    Disabled,
    /// By hand: everything is admitted and counted, nothing is judged.
    MetricsOnly,
}

impl State {
    /// The name in logs and JSON, such as `half_open`.
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Closed => "closed",
            State::Open => "open",
            State::HalfOpen => "half_open",
            State::Ramping => "ramping",
            State::ForcedOpen => "forced_open",
            State::Disabled => "disabled",
            State::MetricsOnly => "metrics_only",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a state changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Cause {
    /// The share of failures reached its threshold.
    FailureRate,
    /// The share of slow calls reached its threshold.
    SlowRate,
    /// So many failures in a row.
    Consecutive,
    /// The half-open round was good.
    ProbesPassed,
    /// The half-open round was bad.
    ProbesFailed,
    /// A probe did not report in time, which decided the round.
    LeaseExpired,
    /// The time to stay open is over.
    WaitOver,
    /// The last step of the ramp is over.
    RampDone,
    /// A step of the ramp was bad at its end.
    RampFailed,
    /// Somebody asked for it.
    Manual,
}

impl Cause {
    /// The name in logs and JSON, such as `failure_rate`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Cause::FailureRate => "failure_rate",
            Cause::SlowRate => "slow_rate",
            Cause::Consecutive => "consecutive",
            Cause::ProbesPassed => "probes_passed",
            Cause::ProbesFailed => "probes_failed",
            Cause::LeaseExpired => "lease_expired",
            Cause::WaitOver => "wait_over",
            Cause::RampDone => "ramp_done",
            Cause::RampFailed => "ramp_failed",
            Cause::Manual => "manual",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a call went, in the caller's judgement. Whether it was slow or over its
/// timeout the machine derives from the duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It went well.
    Success,
    /// It failed.
    Failure,
    /// It says nothing about the callee (a caller's mistake, say): not
    /// counted, and a probe's slot is free again.
    Ignored,
}

/// The right to make one call. [`Machine::settle`] or [`Machine::cancel`]
/// takes it back; it cannot be reported twice.
///
/// A permit that is dropped counts nothing, but a probe's slot then stays
/// taken until its lease runs out: cancel it instead.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "settle or cancel the permit, or a probe's slot is taken until its lease runs out"]
pub struct Permit {
    generation: u64,
    slot: u32,
}

impl Permit {
    /// A permit of a generation that admits everything.
    #[cfg(feature = "std")]
    pub(crate) fn new(generation: u64) -> Permit {
        Permit {
            generation,
            slot: 0,
        }
    }

    /// The generation of the machine that admitted the call.
    pub fn generation(&self) -> u64 {
        self.generation
    }
}

/// The answer to a call that is not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejected {
    /// The state that rejected it.
    pub state: State,
    /// The generation of that state.
    pub generation: u64,
    /// When it was rejected.
    pub at: i64,
    /// When a call may be admitted again, if that is known: the end of the
    /// wait while open. While half-open or ramping it depends on others.
    pub retry_at: Option<i64>,
}

impl Rejected {
    /// How long after the rejection a call may be admitted again, if that is
    /// known: a `Retry-After`.
    pub fn retry_after(&self) -> Option<Duration> {
        let wait = |until: i64| until.max(self.at).abs_diff(self.at);
        self.retry_at.map(|it| Duration::from_nanos(wait(it)))
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the circuit breaker is {}", self.state)?;
        match self.retry_after() {
            Some(wait) => write!(f, ": try again in {wait:?}"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for Rejected {}

/// A change of state by hand that makes no sense; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotAllowed {
    /// The state the machine is in.
    pub from: State,
    /// The state that was asked for.
    pub to: State,
}

impl fmt::Display for NotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a circuit breaker cannot be made {} while it is {}",
            self.to, self.from
        )
    }
}

impl core::error::Error for NotAllowed {}

/// One change of state. By hand, `from` and `to` can be the same: the state
/// was started anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Transition {
    /// When, in nanoseconds; a deadline's due time even if it was noticed
    /// later.
    pub at: i64,
    /// The generation that began with it.
    pub generation: u64,
    /// The state before.
    pub from: State,
    /// The state after.
    pub to: State,
    /// Why.
    pub cause: Cause,
    /// The results that led to it: those of the window, of the half-open
    /// round, or of the ramp's step. When the wait is over, those that opened
    /// the breaker.
    pub figures: Figures,
}

/// What a breaker has seen, all of one moment. The figures are those of the
/// current state's window; while open, those that opened it.
///
/// The state is that of the last time the breaker was told, as looking at it
/// changes nothing: a wait, a lease or a step that has ended since is still
/// there. [`Machine::advance`] and [`Breaker::advance`](crate::Breaker::advance)
/// let those happen first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Snapshot {
    /// The state.
    pub state: State,
    /// How many times the state has changed.
    pub generation: u64,
    /// Results in the window.
    pub calls: u32,
    /// Of these, failures.
    pub failures: u32,
    /// Of these, slow.
    pub slow: u32,
    /// Failures in parts per million of the results, rounded down; `None`
    /// below the minimum that is judged.
    pub failure_rate: Option<u32>,
    /// Slow calls in parts per million of the results, rounded down; `None`
    /// below the minimum that is judged.
    pub slow_rate: Option<u32>,
    /// Rejections since the state last changed.
    pub not_permitted: u64,
    /// Results dropped because a later generation than theirs was current, or
    /// their probe's lease had run out. Since construction or reset.
    pub late_results: u64,
    /// Results that were ignored. Since construction or reset.
    pub ignored: u64,
    /// How many times the breaker has opened since it was last closed: the
    /// place in the backoff.
    pub openings: u32,
    /// Transitions overwritten before anybody drained them. Since
    /// construction.
    pub transitions_lost: u64,
    /// While open, when the wait is over, on the breaker's clock.
    pub retry_at: Option<i64>,
    /// When the breaker will next change by itself; see
    /// [`Machine::next_deadline`]. In the past if it was not told the time
    /// since.
    pub next_deadline: Option<i64>,
}

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

    /// Whether a call at `now` would be rejected. Changes nothing; where
    /// something is due by then that may admit it, the answer is no.
    #[cfg(feature = "tower")]
    pub(crate) fn rejects(&self, now: i64) -> bool {
        let now = now.max(self.now);
        match self.state {
            State::ForcedOpen => true,
            State::Closed | State::Disabled | State::MetricsOnly => false,
            _ if now >= self.due => false,
            State::Open => true,
            State::HalfOpen => self.probes.are_taken(),
            State::Ramping => {
                let ramp = self.ramp.as_deref().zip(self.config.ramp.as_deref());
                ramp.is_some_and(|(run, plan)| !run.would_admit(plan, now))
            }
        }
    }

    /// Rejects a call that cannot be made now whatever the answer. If it would
    /// have been admitted nothing is taken, and it may ask again at once.
    #[cfg(feature = "tower")]
    pub(crate) fn turn_away(&mut self, now: i64) -> Rejected {
        let now = self.see(now);
        if self.rejects(now)
            && let Err(rejected) = self.acquire(now)
        {
            return rejected;
        }
        self.not_permitted += 1;
        Rejected {
            state: self.state,
            generation: self.generation,
            at: now,
            retry_at: Some(now),
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

    /// The figures at the last time passed in. Changes nothing; O(1), for a
    /// time window O(buckets).
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot_at(self.now)
    }

    /// The figures at `now`: what has left the window by then is not in them.
    /// Changes nothing, so that the state is still that of the last time
    /// passed in. O(1), for a time window O(buckets).
    pub fn snapshot_at(&self, now: i64) -> Snapshot {
        let counts = if self.counts_in_window() {
            self.window.totals_at(now.max(self.now), self.counts)
        } else {
            self.counts
        };
        let rate = |part: u32| {
            let judged = counts.calls >= self.floor;
            judged.then(|| (u64::from(part) * PPM / u64::from(counts.calls)) as u32)
        };
        Snapshot {
            state: self.state,
            generation: self.generation,
            calls: counts.calls,
            failures: counts.failures,
            slow: counts.slow,
            failure_rate: rate(counts.failures),
            slow_rate: rate(counts.slow),
            not_permitted: self.not_permitted,
            late_results: self.late_results,
            ignored: self.ignored,
            openings: self.openings,
            transitions_lost: self.log.lost.into(),
            retry_at: self.retry_at(),
            next_deadline: self.next_deadline(),
        }
    }

    /// Whether there are transitions to drain. Worth asking after each call:
    /// it is one comparison.
    #[inline]
    pub fn has_transitions(&self) -> bool {
        self.log.len != 0
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

    /// Whether a good result changes nothing but the window: none can trip
    /// while one that is counted does not make others leave.
    #[cfg(feature = "std")]
    pub(crate) fn good_results_wait(&self) -> bool {
        self.state == State::Closed
            && self.counts.calls >= self.floor
            && matches!(self.window, Sliding::Count(_))
    }

    /// Counts good results that waited while
    /// [`good_results_wait`](Machine::good_results_wait): as many calls of
    /// `record` would.
    #[cfg(feature = "std")]
    pub(crate) fn count_good(&mut self, results: u32) {
        self.window.record_good(results, &mut self.counts);
        self.streak = 0;
    }

    /// Counts results of an earlier generation that waited.
    #[cfg(feature = "std")]
    pub(crate) fn count_late(&mut self, results: u32) {
        self.late_results += u64::from(results);
    }

    /// The oldest transition that is kept. Each generation has one, so that
    /// theirs follow from how many are left.
    pub(crate) fn pop_transition(&mut self) -> Option<Transition> {
        let left = u64::from(self.log.len);
        let Entry {
            at,
            from,
            to,
            cause,
            figures,
        } = self.log.pop()?;
        Some(Transition {
            at,
            generation: self.generation + 1 - left,
            from,
            to,
            cause,
            figures,
        })
    }

    /// Opens by hand, for as long as the settings say. While open already,
    /// the wait starts anew.
    ///
    /// # Errors
    ///
    /// Not while metrics-only.
    pub fn open(&mut self, now: i64) -> Result<(), NotAllowed> {
        let now = self.see(now);
        self.refuse(State::MetricsOnly, State::Open)?;
        self.expire();
        self.enter_open(now, Cause::Manual);
        Ok(())
    }

    /// Opens by hand for `wait` nanoseconds. The backoff stays where it is.
    ///
    /// # Errors
    ///
    /// Not while metrics-only.
    pub fn open_for(&mut self, now: i64, wait: u64) -> Result<(), NotAllowed> {
        let now = self.see(now);
        self.refuse(State::MetricsOnly, State::Open)?;
        self.expire();
        let kept = (self.wait, self.openings, self.all_openings);
        self.enter_open(now, Cause::Manual);
        (self.wait, self.openings, self.all_openings) = kept;
        self.due = now.saturating_add_unsigned(wait);
        Ok(())
    }

    /// Starts a half-open round by hand.
    ///
    /// # Errors
    ///
    /// Not while closed or metrics-only.
    pub fn half_open(&mut self, now: i64) -> Result<(), NotAllowed> {
        let now = self.see(now);
        self.refuse(State::Closed, State::HalfOpen)?;
        self.refuse(State::MetricsOnly, State::HalfOpen)?;
        self.expire();
        self.enter_half_open(now, Cause::Manual);
        Ok(())
    }

    /// Closes by hand, without a ramp, with an empty window.
    pub fn close(&mut self, now: i64) {
        let now = self.see(now);
        self.expire();
        self.enter_closed(now, Cause::Manual);
    }

    /// Rejects everything until the next change by hand.
    pub fn force_open(&mut self, now: i64) {
        let now = self.see(now);
        self.expire();
        self.enter_empty(State::ForcedOpen, now, Cause::Manual);
    }

    /// Admits everything and counts nothing until the next change by hand.
    pub fn disable(&mut self, now: i64) {
        let now = self.see(now);
        self.expire();
        self.enter_empty(State::Disabled, now, Cause::Manual);
    }

    /// Admits and counts everything, and never opens, until the next change by
    /// hand.
    pub fn metrics_only(&mut self, now: i64) {
        let now = self.see(now);
        self.expire();
        self.enter_empty(State::MetricsOnly, now, Cause::Manual);
    }

    /// Closes by hand and sets all counters to zero.
    pub fn reset(&mut self, now: i64) {
        self.close(now);
        self.late_results = 0;
        self.ignored = 0;
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
        let due = match self.config.lease {
            NEVER => i64::MAX,
            lease => now.saturating_add_unsigned(lease),
        };
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

    /// Counts a result in the window and trips if it has to.
    ///
    /// A good result does not raise a rate that was judged before it, unless
    /// others have left the window. So most results end with the window.
    #[inline(always)]
    fn record(&mut self, now: i64, failed: bool, slow: bool) {
        let before = self.counts.calls;
        self.window.record(now, failed, slow, &mut self.counts);
        let lower = before >= self.floor && self.counts.calls >= before;
        if failed || slow || !lower {
            return self.judge(now, failed);
        }
        self.streak = 0;
    }

    #[inline(never)]
    fn judge(&mut self, now: i64, failed: bool) {
        self.streak = if failed {
            (self.streak + 1).min(OFF - 1)
        } else {
            0
        };
        let judged = self.counts.calls >= self.floor;
        if (judged && self.rates_reached(self.counts)) || self.streak >= self.config.consecutive {
            self.trip(now);
        }
    }

    #[inline]
    fn rates_reached(&self, results: Figures) -> bool {
        reached(results.failures, results.calls, self.config.fail)
            || reached(results.slow, results.calls, self.config.slow)
    }

    #[cold]
    fn trip(&mut self, now: i64) {
        let Figures {
            calls,
            failures,
            slow,
        } = self.counts;
        let judged = calls >= self.floor;
        let cause = if judged && reached(failures, calls, self.config.fail) {
            Cause::FailureRate
        } else if judged && reached(slow, calls, self.config.slow) {
            Cause::SlowRate
        } else {
            Cause::Consecutive
        };
        self.enter_open(now, cause);
    }

    /// Counts the result of a probe and decides the round if it has to; `bad`
    /// is the cause if it opens the breaker.
    fn probe_result(&mut self, at: i64, failed: bool, slow: bool, bad: Cause) {
        self.due = self.probes.first_due();
        self.counts.add(failed, slow);
        let complete = self.counts.calls >= self.config.probes;
        let opens = match self.config.judge {
            Judge::Rate => complete && self.rates_reached(self.counts),
            Judge::FirstFailure => failed || slow,
        };
        if opens {
            self.enter_open(at, bad);
        } else if complete && self.config.ramp.is_some() {
            self.enter_ramping(at);
        } else if complete {
            self.enter_closed(at, Cause::ProbesPassed);
        }
    }

    /// Judges a step of the ramp at its end. Too few results say nothing: the
    /// ramp then goes on, so that a breaker with little traffic, or whose
    /// results are ignored, is not kept at a low share for ever. Where no rate
    /// judges failures, few say enough: see [`Ramp`](crate::Ramp).
    fn end_step(&mut self, at: i64) {
        let (Some(run), Some(plan)) = (self.ramp.as_deref_mut(), self.config.ramp.as_deref())
        else {
            return self.enter_closed(at, Cause::RampDone);
        };
        let results = run.results;
        let next = run.next_step(plan, at);
        let judged = results.calls >= self.config.probes;
        let failed = self.config.fail == OFF && reached(results.failures, results.calls, HALF);
        if failed || judged && self.rates_reached(results) {
            self.counts = results;
            self.floor = self.config.probes;
            self.enter_open(at, Cause::RampFailed);
        } else if let Some(end) = next {
            self.due = end;
        } else {
            self.counts = results;
            self.enter_closed(at, Cause::RampDone);
        }
    }

    fn enter_open(&mut self, at: i64, cause: Cause) {
        // By hand while open: the same wait once more.
        if self.state != State::Open {
            if self.openings > 0 {
                self.wait = self.config.backoff.after(self.wait);
            }
            self.openings = self.openings.saturating_add(1);
        }
        let wait = self
            .config
            .backoff
            .spread(self.wait, self.all_openings.into());
        self.all_openings = self.all_openings.wrapping_add(1);
        // The figures stay, to be seen until the breaker leaves open.
        self.enter(State::Open, at, cause);
        self.due = at.saturating_add_unsigned(wait);
    }

    fn enter_half_open(&mut self, at: i64, cause: Cause) {
        self.enter_empty(State::HalfOpen, at, cause);
        self.floor = self.config.probes;
        self.probes.clear();
    }

    fn enter_ramping(&mut self, at: i64) {
        self.enter_empty(State::Ramping, at, Cause::ProbesPassed);
        if let (Some(run), Some(plan)) = (&mut self.ramp, &self.config.ramp) {
            self.due = run.start(plan, at);
        }
    }

    fn enter_closed(&mut self, at: i64, cause: Cause) {
        self.openings = 0;
        self.wait = self.config.backoff.first;
        self.enter_empty(State::Closed, at, cause);
    }

    fn enter_empty(&mut self, state: State, at: i64, cause: Cause) {
        self.enter(state, at, cause);
        self.counts = Figures::default();
        self.floor = self.config.min;
        self.window.clear();
    }

    /// The only place where the state changes. Leaves no deadline.
    fn enter(&mut self, to: State, at: i64, cause: Cause) {
        let from = self.state;
        self.log.push(Entry {
            at,
            from,
            to,
            cause,
            figures: self.counts,
        });
        self.state = to;
        self.generation += 1;
        self.due = i64::MAX;
        self.streak = 0;
        self.not_permitted = 0;
    }

    fn refuse(&self, from: State, to: State) -> Result<(), NotAllowed> {
        if self.state == from {
            Err(NotAllowed { from, to })
        } else {
            Ok(())
        }
    }
}

/// Whether `part` of `all` is at least `rate`, in integers. No rate is reached
/// by nothing, and `OFF` by nothing at all.
#[inline]
fn reached(part: u32, all: u32, rate: u32) -> bool {
    u64::from(part) * PPM >= u64::from(rate) * u64::from(all) && all > 0
}

/// A [`Transition`] less its generation.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: i64,
    from: State,
    to: State,
    cause: Cause,
    figures: Figures,
}

impl Entry {
    const UNUSED: Entry = Entry {
        at: 0,
        from: State::Closed,
        to: State::Closed,
        cause: Cause::Manual,
        figures: Figures {
            calls: 0,
            failures: 0,
            slow: 0,
        },
    };
}

/// The transitions that nobody has drained yet, in a ring.
#[derive(Clone, Debug)]
struct Log {
    kept: Box<[Entry]>,
    first: u16,
    len: u16,
    /// Stops at four billion.
    lost: u32,
}

impl Log {
    fn new(len: usize) -> Log {
        Log {
            kept: vec![Entry::UNUSED; len].into_boxed_slice(),
            first: 0,
            len: 0,
            lost: 0,
        }
    }

    fn push(&mut self, entry: Entry) {
        if self.kept.is_empty() {
            return;
        }
        if usize::from(self.len) == self.kept.len() {
            self.pop();
            self.lost = self.lost.saturating_add(1);
        }
        let last = usize::from(self.first + self.len) % self.kept.len();
        self.kept[last] = entry;
        self.len += 1;
    }

    fn pop(&mut self) -> Option<Entry> {
        if self.len == 0 {
            return None;
        }
        let entry = self.kept[usize::from(self.first)];
        self.first = ((usize::from(self.first) + 1) % self.kept.len()) as u16;
        self.len -= 1;
        Some(entry)
    }
}
