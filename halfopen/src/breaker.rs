//! The breaker that threads share: one machine, a lock around each step, and
//! a clock.
//!
//! Owns who may touch the machine and when listeners hear of it. Invariants:
//! the lock is held for single steps of the machine, never during a call, a
//! listener or a reading of the clock; listeners hear a transition once, in
//! order, one at a time, whatever becomes of other listeners, and what they are
//! too slow for is counted; state goes by the largest time seen. Cost: while
//! closed, an admission takes no lock, nor does a good result over a count window
//! (see [`gate`](crate::gate)), and any other result takes it once; a breaker at
//! defaults is 512 bytes at most, all told. Pinned by `tests/breaker.rs`, `tests/identical.rs` (the
//! transitions are the machine's), `tests/allocations.rs` (bytes, and none
//! allocated per call) and `tests/loom.rs`.

use std::boxed::Box;
use std::fmt;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind, resume_unwind};
use std::thread;
use std::vec::Vec;

use crate::clock::Clock;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use crate::clock::SystemClock;
use crate::config::Config;
use crate::gate::Gate;
use crate::guard::Guard;
use crate::machine::{Machine, NotAllowed, Outcome, Permit, Rejected, Snapshot, State, Transition};
use crate::sync::{Arc, AtomicBool, Mutex, Ordering, lock};
use crate::trace;

/// Transitions that wait while a listener runs; those beyond are lost and
/// counted. One call makes three at most.
const WAITING: usize = 16;

type Listener = Box<dyn Fn(&Breaker, &Transition) + Send + Sync>;

/// A circuit breaker shared between threads. Clones are the same breaker and
/// cost a reference count.
///
/// ```
/// use halfopen::{Breaker, CallError, Config};
///
/// # fn fetch() -> Result<String, std::io::Error> { Ok("fresh".into()) }
/// let breaker = Breaker::new("window=10s/1s min=20 slow=80%@500ms open=5s ramp=30s".parse()?);
///
/// let page = breaker.call_or_else(fetch, |err| match err {
///     CallError::Rejected(rejected) => format!("cached ({rejected})"),
///     CallError::Failed(err) => format!("cached ({err})"),
/// });
/// assert_eq!(page, "fresh");
/// # Ok::<(), halfopen::ConfigError>(())
/// ```
///
/// Every method that needs the time reads the breaker's [`Clock`], and has a
/// form with `_at` to which the time is passed instead. Use one or the other
/// with a breaker: times of different epochs do not mix.
///
/// # Threads
///
/// Everything here can be called at any time from any thread, also from a
/// listener and while a [`Guard`] is held. There is one lock; it is taken for
/// single steps of the state machine, which are O(1), and never while a call,
/// a listener or a clock runs. A panic in those leaves the breaker as it was.
#[derive(Clone)]
pub struct Breaker(Arc<Shared>);

struct Shared {
    gate: Gate,
    machine: Mutex<Machine>,
    /// What a breaker at defaults does without.
    extras: Option<Box<Extras>>,
}

struct Extras {
    name: Box<str>,
    clock: Option<Box<dyn Clock>>,
    listeners: Vec<Listener>,
    /// Whether somebody is telling the listeners. Changed under the lock only.
    telling: AtomicBool,
}

// The machine is whole whenever nobody holds the lock, and what runs without
// it does so by shared reference.
impl UnwindSafe for Breaker {}
impl RefUnwindSafe for Breaker {}

/// Makes a [`Breaker`] that has a name, a clock or listeners.
///
/// ```
/// use halfopen::{Breaker, Builder, Config, ManualClock};
///
/// let breaker = Builder::with_clock(Config::default(), ManualClock::new(0))
///     .name("catalog")
///     .on_transition(|breaker, it| {
///         println!("{} {} -> {}: {}", breaker.name(), it.from, it.to, it.cause);
///     })
///     .build();
/// assert_eq!(breaker.name(), "catalog");
/// ```
#[must_use]
pub struct Builder {
    config: Config,
    name: Box<str>,
    clock: Option<Box<dyn Clock>>,
    listeners: Vec<Listener>,
}

impl Builder {
    /// A breaker on the [`SystemClock`].
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub fn new(config: Config) -> Builder {
        Builder::with(config, None)
    }

    /// A breaker on a clock of your own.
    pub fn with_clock(config: Config, clock: impl Clock + 'static) -> Builder {
        Builder::with(config, Some(Box::new(clock)))
    }

    fn with(config: Config, clock: Option<Box<dyn Clock>>) -> Builder {
        Builder {
            config,
            name: Box::default(),
            clock,
            listeners: Vec::new(),
        }
    }

    /// What the breaker guards: its name in logs and traces.
    pub fn name(mut self, name: &str) -> Builder {
        self.name = name.into();
        self
    }

    /// Calls `listener` after each transition.
    ///
    /// It runs without the lock, and may use the breaker that it is given in
    /// every way: a transition that it causes is told after the one it hears
    /// of. Transitions are told in order and one at a time, so by whichever
    /// thread is at it: a thread that makes a transition while another is
    /// telling leaves it to that one. Sixteen wait at most; if a listener is
    /// slower than that, the oldest are counted in
    /// [`Snapshot::transitions_lost`].
    ///
    /// If it panics, the other listeners hear of everything all the same, and
    /// then the call that made the transition panics. A thread that is
    /// panicking itself, and makes a transition as it drops a guard, tells
    /// nobody, as a second panic would end the process: whoever takes the
    /// breaker's next step does.
    pub fn on_transition(
        mut self,
        listener: impl Fn(&Breaker, &Transition) + Send + Sync + 'static,
    ) -> Builder {
        self.listeners.push(Box::new(listener));
        self
    }

    /// The breaker, closed. Allocates all that it will ever use.
    pub fn build(self) -> Breaker {
        let told = trace::ENABLED || !self.listeners.is_empty();
        let machine = Machine::with_log(self.config, if told { WAITING } else { 0 });
        let plain = !told && self.name.is_empty() && self.clock.is_none();
        let extras = Extras {
            name: self.name,
            clock: self.clock,
            listeners: self.listeners,
            telling: AtomicBool::new(false),
        };
        Breaker(Arc::new(Shared {
            gate: Gate::new(&machine),
            machine: Mutex::new(machine),
            extras: (!plain).then(|| Box::new(extras)),
        }))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("config", &self.config)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Breaker {
    /// A closed breaker on the [`SystemClock`], without a name.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub fn new(config: Config) -> Breaker {
        Builder::new(config).build()
    }

    /// A closed breaker on a clock of your own, without a name.
    pub fn with_clock(config: Config, clock: impl Clock + 'static) -> Breaker {
        Builder::with_clock(config, clock).build()
    }

    /// The name it was built with, or nothing.
    pub fn name(&self) -> &str {
        self.0.extras.as_deref().map_or("", |it| &it.name)
    }

    /// Asks to make a call. The [`Guard`] takes its result, and gives the
    /// permit back when it is dropped.
    ///
    /// # Errors
    ///
    /// The call is rejected: the breaker is open, all probes are out, or the
    /// ramp's share is used up.
    #[inline(always)]
    pub fn acquire(&self) -> Result<Guard<&Breaker>, Rejected> {
        self.acquire_at(self.now())
    }

    /// As [`acquire`](Breaker::acquire), at a time passed in.
    ///
    /// # Errors
    ///
    /// The same.
    #[inline(always)]
    pub fn acquire_at(&self, now: i64) -> Result<Guard<&Breaker>, Rejected> {
        Guard::acquire(self, now)
    }

    /// As [`acquire`](Breaker::acquire), with a guard that has its own handle
    /// of the breaker, to be kept or sent to another thread.
    ///
    /// # Errors
    ///
    /// The same.
    #[inline]
    pub fn acquire_owned(&self) -> Result<Guard, Rejected> {
        self.acquire_owned_at(self.now())
    }

    /// As [`acquire_owned`](Breaker::acquire_owned), at a time passed in.
    ///
    /// # Errors
    ///
    /// The same.
    #[inline]
    pub fn acquire_owned_at(&self, now: i64) -> Result<Guard, Rejected> {
        // Admitted first: a rejection does not count references.
        let guard = Guard::acquire(self, now)?;
        Ok(guard.into_owned())
    }

    /// What the breaker was told.
    pub fn config(&self) -> Config {
        lock(&self.0.machine).config().clone()
    }

    /// The state at the last time seen. Changes nothing, and so does not know
    /// that a wait, a lease or a step has ended since: call
    /// [`advance`](Breaker::advance) first where that matters.
    pub fn state(&self) -> State {
        lock(&self.0.machine).state()
    }

    /// The figures now. Changes nothing: as for [`state`](Breaker::state), the
    /// state in it is that of the last time seen. O(1), for a time window
    /// O(buckets).
    ///
    /// For a dashboard, before each scrape:
    ///
    /// ```
    /// # let breaker = halfopen::Breaker::new(halfopen::Config::default());
    /// breaker.advance();
    /// let seen = breaker.snapshot();
    /// println!("{} {}/{}", seen.state, seen.failures, seen.calls);
    /// ```
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot_at(self.now())
    }

    /// As [`snapshot`](Breaker::snapshot), at a time passed in.
    pub fn snapshot_at(&self, now: i64) -> Snapshot {
        let gate = &self.0.gate;
        let mut machine = lock(&self.0.machine);
        gate.hand_over(&mut machine);
        let mut snapshot = machine.snapshot_at(gate.latest(now));
        snapshot.not_permitted += gate.rejections();
        snapshot
    }

    /// While open, when the wait is over.
    pub fn retry_at(&self) -> Option<i64> {
        lock(&self.0.machine).retry_at()
    }

    /// When the breaker will next change by itself if nothing else happens;
    /// see [`Machine::next_deadline`].
    pub fn next_deadline(&self) -> Option<i64> {
        lock(&self.0.machine).next_deadline()
    }

    /// Lets the deadlines up to now act: the end of a lease or of a ramp's
    /// step, and with `auto` that of the wait.
    ///
    /// A call does so too, and nothing else: there is no thread that waits. A
    /// host that wants to see a change when it is due has one that does:
    ///
    /// ```no_run
    /// # let breaker = halfopen::Breaker::new("auto=yes".parse().unwrap());
    /// use halfopen::{Clock, SystemClock};
    /// use std::{thread, time::Duration};
    ///
    /// thread::spawn(move || loop {
    ///     breaker.advance();
    ///     let wait = breaker.next_deadline().map_or(i64::MAX, |at| at - SystemClock.now());
    ///     thread::sleep(Duration::from_nanos(wait.clamp(1_000_000, 100_000_000) as u64));
    /// });
    /// ```
    pub fn advance(&self) {
        self.advance_at(self.now());
    }

    /// As [`advance`](Breaker::advance), at a time passed in.
    pub fn advance_at(&self, now: i64) {
        self.step(now, Machine::advance);
    }

    /// Opens by hand, for as long as the settings say. While open already,
    /// the wait starts anew.
    ///
    /// # Errors
    ///
    /// Not while metrics-only.
    pub fn open(&self) -> Result<(), NotAllowed> {
        self.open_at(self.now())
    }

    /// As [`open`](Breaker::open), at a time passed in.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn open_at(&self, now: i64) -> Result<(), NotAllowed> {
        self.step(now, Machine::open)
    }

    /// Opens by hand for `wait` nanoseconds. The backoff stays where it is.
    ///
    /// # Errors
    ///
    /// Not while metrics-only.
    pub fn open_for(&self, wait: u64) -> Result<(), NotAllowed> {
        self.open_for_at(self.now(), wait)
    }

    /// As [`open_for`](Breaker::open_for), at a time passed in.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn open_for_at(&self, now: i64, wait: u64) -> Result<(), NotAllowed> {
        self.step(now, |machine, now| machine.open_for(now, wait))
    }

    /// Starts a half-open round by hand.
    ///
    /// # Errors
    ///
    /// Not while closed or metrics-only.
    pub fn half_open(&self) -> Result<(), NotAllowed> {
        self.half_open_at(self.now())
    }

    /// As [`half_open`](Breaker::half_open), at a time passed in.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn half_open_at(&self, now: i64) -> Result<(), NotAllowed> {
        self.step(now, Machine::half_open)
    }

    /// Closes by hand, without a ramp, with an empty window.
    pub fn close(&self) {
        self.close_at(self.now());
    }

    /// As [`close`](Breaker::close), at a time passed in.
    pub fn close_at(&self, now: i64) {
        self.step(now, Machine::close);
    }

    /// Rejects everything until the next change by hand.
    pub fn force_open(&self) {
        self.force_open_at(self.now());
    }

    /// As [`force_open`](Breaker::force_open), at a time passed in.
    pub fn force_open_at(&self, now: i64) {
        self.step(now, Machine::force_open);
    }

    /// Admits everything and counts nothing until the next change by hand.
    pub fn disable(&self) {
        self.disable_at(self.now());
    }

    /// As [`disable`](Breaker::disable), at a time passed in.
    pub fn disable_at(&self, now: i64) {
        self.step(now, Machine::disable);
    }

    /// Admits and counts everything, and never opens, until the next change
    /// by hand.
    pub fn metrics_only(&self) {
        self.metrics_only_at(self.now());
    }

    /// As [`metrics_only`](Breaker::metrics_only), at a time passed in.
    pub fn metrics_only_at(&self, now: i64) {
        self.step(now, Machine::metrics_only);
    }

    /// Closes by hand and sets all counters to zero.
    pub fn reset(&self) {
        self.reset_at(self.now());
    }

    /// As [`reset`](Breaker::reset), at a time passed in.
    pub fn reset_at(&self, now: i64) {
        self.step(now, Machine::reset);
    }

    #[inline]
    pub(crate) fn now(&self) -> i64 {
        match self.0.extras.as_deref() {
            Some(Extras {
                clock: Some(clock), ..
            }) => clock.now(),
            _ => system_now(),
        }
    }

    /// What answers without the lock.
    #[inline(always)]
    pub(crate) fn gate(&self) -> &Gate {
        &self.0.gate
    }

    /// Asks the machine, where the gate has no answer.
    #[inline(never)]
    pub(crate) fn acquire_elsewhere(&self, now: i64) -> Result<(Permit, State), Rejected> {
        let answer = self.step(now, |machine, now| {
            let permit = machine.acquire(now)?;
            Ok((permit, machine.state()))
        });
        if let Err(rejected) = &answer {
            trace::rejected(self, rejected);
        }
        answer
    }

    /// Whether a call would be rejected now. Takes nothing and changes nothing;
    /// while everything is admitted it is one load.
    #[cfg(feature = "tower")]
    pub(crate) fn rejects(&self) -> bool {
        let gate = &self.0.gate;
        if gate.admission().is_some() {
            return false;
        }
        let now = gate.latest(self.now());
        gate.look(now).is_some() || lock(&self.0.machine).rejects(now)
    }

    /// Rejects a call that cannot be made whatever the answer; see
    /// [`Machine::turn_away`].
    #[cfg(feature = "tower")]
    pub(crate) fn turn_away(&self) -> Rejected {
        let gate = &self.0.gate;
        let now = gate.see(self.now());
        let rejection = gate.rejection(now);
        let rejected = rejection.unwrap_or_else(|| self.step(now, Machine::turn_away));
        trace::rejected(self, &rejected);
        rejected
    }

    #[inline]
    pub(crate) fn settle(&self, now: i64, permit: Permit, outcome: Outcome, duration: u64) {
        let gate = &self.0.gate;
        let now = gate.see(now);
        let taken = outcome == Outcome::Success && gate.take_success(permit.generation(), duration);
        if !taken {
            self.settle_elsewhere(now, permit, outcome, duration);
        }
    }

    #[inline(never)]
    fn settle_elsewhere(&self, now: i64, permit: Permit, outcome: Outcome, duration: u64) {
        self.step(now, |machine, now| {
            machine.settle(now, permit, outcome, duration);
        });
    }

    /// Takes a permit back. While everything is admitted it stands for nothing.
    #[inline(never)]
    pub(crate) fn cancel(&self, now: i64, permit: Permit) {
        if self.0.gate.admits(permit.generation()) {
            self.0.gate.see(now);
        } else {
            self.step(now, |machine, now| machine.cancel(now, permit));
        }
    }

    /// One step of the machine under the lock, and what follows from it. Not
    /// before the largest time seen.
    #[inline]
    fn step<R>(&self, now: i64, step: impl FnOnce(&mut Machine, i64) -> R) -> R {
        let now = self.0.gate.see(now);
        let mut machine = lock(&self.0.machine);
        self.0.gate.hand_over(&mut machine);
        let result = step(&mut machine, now);
        let untold = machine.has_transitions();
        self.0.gate.follow(&mut machine);
        drop(machine);
        if untold {
            self.tell();
        }
        result
    }

    /// Tells the listeners what they have not heard, unless somebody is at it
    /// or this is a drop in a panic, in which another would end the process.
    #[cold]
    fn tell(&self) {
        let Some(extras) = self.0.extras.as_deref() else {
            return;
        };
        if thread::panicking() {
            return;
        }
        let mut turn = Turn {
            machine: &self.0.machine,
            telling: &extras.telling,
            mine: false,
        };
        let mut panicked = None;
        while let Some(transition) = turn.next() {
            trace::transition(&extras.name, &transition);
            for listener in &extras.listeners {
                let told = catch_unwind(AssertUnwindSafe(|| listener(self, &transition)));
                panicked = panicked.or(told.err());
            }
        }
        if let Some(panic) = panicked {
            resume_unwind(panic);
        }
    }
}

impl fmt::Debug for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breaker")
            .field("name", &self.name())
            .field("snapshot", &self.snapshot())
            .finish_non_exhaustive()
    }
}

/// The turn to tell the listeners, which one thread has at a time.
///
/// Whether there is something to tell and whether somebody is at it are
/// decided under one lock. So a transition made meanwhile is either found by
/// the thread that is at it, or that thread has stopped and its maker goes on.
struct Turn<'a> {
    machine: &'a Mutex<Machine>,
    telling: &'a AtomicBool,
    mine: bool,
}

impl Turn<'_> {
    fn next(&mut self) -> Option<Transition> {
        let mut machine = lock(self.machine);
        if !self.mine && self.telling.load(Ordering::Relaxed) {
            return None;
        }
        let next = machine.pop_transition();
        self.mine = next.is_some();
        self.telling.store(self.mine, Ordering::Relaxed);
        next
    }
}

impl Drop for Turn<'_> {
    /// Ends the turn when a subscriber has panicked.
    fn drop(&mut self) {
        if self.mine {
            let _machine = lock(self.machine);
            self.telling.store(false, Ordering::Relaxed);
        }
    }
}

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
#[inline]
fn system_now() -> i64 {
    SystemClock.now()
}

/// Where there is no system clock every breaker is built with one.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
fn system_now() -> i64 {
    i64::MIN
}
