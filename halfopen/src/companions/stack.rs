//! Several companions around one [`Machine`], as one machine: timeout,
//! breaker, ramp, and where wanted a bulkhead and retries with a budget.
//!
//! The order, from the caller inwards, is the one that the field recommends:
//!
//! 1. **Deadline**: a call that nobody waits for is not made.
//! 2. **Retry budget**, for retries only: they are rationed before they reach
//!    anything.
//! 3. **Breaker and ramp**: a callee known to be bad is not called. Inside the
//!    retries, so that it sees every attempt.
//! 4. **Bulkhead**: what the breaker lets through is limited in number. Inside
//!    the breaker, so that rejected calls take no place, and a full bulkhead
//!    is no failure of the callee: the breaker's permit is given back.
//! 5. **Timeout**, innermost: each attempt has its own, and one over it is a
//!    failure, for the breaker too.
//!
//! Owns that order and the giving back: a call that is rejected at one layer
//! has taken nothing at any other. Invariants: what [`Stack::acquire`] took is
//! in the [`StackPermit`] and nowhere else, so [`Stack::settle`] and
//! [`Stack::cancel`] give back all of it (but for a ramp's share, which is of
//! the calls that ask); without the optional layers a stack is its breaker;
//! layers that keep time go by the largest they have seen, and how long a call
//! takes, has left or waits is counted from the time as it is given. Cost: the sum of its layers', O(1). Pinned by
//! `tests/companions/`, and against its parts by `tests/companions_models.rs`.

use core::fmt;

use super::{
    Attempt, Attempts, BudgetSettings, Bulkhead, BulkheadSettings, Deadline, Failure, GiveUp,
    Place, Request, Retry, RetryBudget, RetrySettings, TimedOut, Timeout, TimeoutSettings, Timer,
    check,
};
use crate::config::{Config, ConfigError};
use crate::machine::{Machine, Outcome, Permit, Rejected};

/// The layers of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackSettings {
    /// The timeouts of each attempt.
    pub timeout: TimeoutSettings,
    /// The breaker, and its ramp. A timeout in it acts besides, on the whole
    /// attempt.
    pub breaker: Config,
    /// How much of a call's budget must be left for an attempt to be made, in
    /// nanoseconds. Default 0: any.
    pub min_remaining: u64,
    /// Calls at once; `None`: any number. The stack does not let calls wait.
    pub max_concurrent: Option<u32>,
    /// Retries; `None`: none.
    pub retry: Option<RetrySettings>,
    /// How many retries; `None`: as many as `retry` says.
    pub budget: Option<BudgetSettings>,
}

/// One call through a stack, over all its attempts.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    attempts: Attempts,
    /// How the last attempt failed: any further one is a retry.
    failed: Option<Failure>,
}

impl Call {
    /// A call that has not been attempted yet. The classifier says whether it
    /// can be made twice.
    pub fn new(request: Request, deadline: Deadline) -> Call {
        Call {
            attempts: Attempts::new(request, deadline),
            failed: None,
        }
    }

    /// How many attempts have failed.
    pub fn failed(&self) -> u32 {
        self.attempts.failed()
    }
}

/// How an attempt ended, in the caller's judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ended {
    /// It went well.
    Success,
    /// It failed.
    Failed(Failure),
    /// It says nothing about the callee; see [`Outcome::Ignored`]. So it is
    /// with a caller's own mistake, a 400 or a 404, say: as a
    /// [`Failure::Permanent`] it would open the breaker.
    Ignored,
}

/// What follows an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Retried {
    /// Nothing: it has not failed.
    Done,
    /// Another attempt, which asks [`Stack::acquire`] at this time.
    At(i64),
    /// Nothing: it has failed for good, and why it is not retried.
    GivenUp(GiveUp),
}

/// The layer that rejected an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StackRejected {
    /// Too little of the budget of time is left.
    Deadline,
    /// The retry budget is empty.
    Budget,
    /// The breaker.
    Breaker(Rejected),
    /// All places are taken.
    Bulkhead,
}

impl fmt::Display for StackRejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StackRejected::Deadline => f.write_str("too little time is left"),
            StackRejected::Budget => super::BudgetExhausted.fmt(f),
            StackRejected::Breaker(rejected) => rejected.fmt(f),
            StackRejected::Bulkhead => super::BulkheadFull.fmt(f),
        }
    }
}

impl core::error::Error for StackRejected {}

/// The right to make one attempt, with its timer. [`Stack::settle`] or
/// [`Stack::cancel`] takes it back.
///
/// **Never drop it:** what it took then stays taken. A probe's slot is free
/// again when its lease runs out, the place in the bulkhead never. Where an
/// attempt can be cancelled or panic, take a [`SharedStack`](super::SharedStack),
/// whose guard gives back what it has when it is dropped.
#[derive(Debug)]
#[must_use = "a permit that is dropped keeps its place in the bulkhead for ever: settle or cancel it"]
pub struct StackPermit {
    breaker: Permit,
    place: Option<Place>,
    attempt: Option<Attempt>,
    timer: Timer,
}

impl StackPermit {
    /// The timer: when to cut the attempt.
    pub fn timer(&self) -> &Timer {
        &self.timer
    }

    /// The connection stands; see [`Timer::connected`].
    ///
    /// # Errors
    ///
    /// A limit has been reached: settle the permit.
    pub fn connected(&mut self, now: i64) -> Result<(), TimedOut> {
        self.timer.connected(now)
    }
}

/// All layers in front of one callee.
///
/// For hosts with a clock and a lock of their own: simulations, event loops,
/// one thread. Between threads take a [`SharedStack`](super::SharedStack). For
/// a service that has tower already, its own layers do as well, with the one
/// of the feature `tower` among them: a stack's advantage is that
/// nothing is taken at any layer by what another rejects, that it can be
/// replayed, and that it needs neither futures nor a runtime.
///
/// ```
/// use halfopen::companions::*;
/// use halfopen::{Config, State};
///
/// const MS: i64 = 1_000_000;
/// let mut stack = Stack::new(StackSettings {
///     timeout: TimeoutSettings { connect: Some(250_000_000), read: Some(500_000_000) },
///     breaker: "window=20 min=2 fail=50% open=5s ramp=10%/50%/100%@5s".parse::<Config>()?,
///     max_concurrent: Some(10),
///     retry: Some(RetrySettings::default()),
///     budget: Some(BudgetSettings::AWS),
///     ..StackSettings::default()
/// })?;
///
/// let mut call = Call::new(Request::of_http_method("GET"), Deadline::after(0, 2_000_000_000));
/// let permit = stack.acquire(0, &call)?;
/// assert_eq!(permit.timer().limit(), Some(250 * MS));
/// // The answer came back well, but after 250 ms without a connection: a failure.
/// let Retried::At(at) = stack.settle(300 * MS, permit, &mut call, Ended::Success) else { panic!() };
///
/// let permit = stack.acquire(at, &call)?;
/// stack.settle(at, permit, &mut call, Ended::Failed(Failure::Transient));
/// assert_eq!(stack.breaker().state(), State::Open);
/// assert!(matches!(stack.acquire(at, &call), Err(StackRejected::Breaker(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stack {
    timeout: Timeout,
    breaker: Machine,
    min_remaining: u64,
    bulkhead: Option<Bulkhead>,
    retry: Option<Retry>,
    budget: Option<RetryBudget>,
}

impl Stack {
    /// Checks settings.
    ///
    /// # Errors
    ///
    /// The first setting that a layer refuses, by its name there.
    pub fn new(settings: StackSettings) -> Result<Stack, ConfigError> {
        let s = settings;
        check::span("min_remaining", s.min_remaining)?;
        let places = |max_concurrent| {
            Bulkhead::new(BulkheadSettings {
                max_concurrent,
                ..BulkheadSettings::default()
            })
        };
        if s.budget.is_some() && s.retry.is_none() {
            return Err(check::conflict("budget", "on", "off while retry is off"));
        }
        Ok(Stack {
            timeout: Timeout::new(s.timeout)?,
            breaker: Machine::new(s.breaker),
            min_remaining: s.min_remaining,
            bulkhead: s.max_concurrent.map(places).transpose()?,
            retry: s.retry.map(Retry::new).transpose()?,
            budget: s.budget.map(RetryBudget::new).transpose()?,
        })
    }

    /// A stack with the name of an instance hashed into the seeds of breaker
    /// and retry; see [`Config::for_instance`].
    ///
    /// # Errors
    ///
    /// As [`Stack::new`].
    pub fn for_instance(mut settings: StackSettings, name: &str) -> Result<Stack, ConfigError> {
        settings.breaker = settings.breaker.for_instance(name);
        let stack = Stack::new(settings)?;
        Ok(Stack {
            retry: stack.retry.map(|it| it.for_instance(name)),
            ..stack
        })
    }

    /// Asks to make an attempt: the first, or one that [`Stack::settle`] has
    /// put at this time.
    ///
    /// # Errors
    ///
    /// A layer rejects it; nothing is taken at any other.
    pub fn acquire(&mut self, now: i64, call: &Call) -> Result<StackPermit, StackRejected> {
        let deadline = call.attempts.deadline();
        let left = deadline.remaining(now);
        if left.is_some_and(|left| left == 0 || left < self.min_remaining) {
            return Err(StackRejected::Deadline);
        }
        let attempt = match (&mut self.budget, call.failed) {
            (None, _) => None,
            (Some(budget), None) => Some(budget.begin(now)),
            (Some(budget), Some(failure)) => {
                let retry = budget.retry(now, failure);
                Some(retry.map_err(|_| StackRejected::Budget)?)
            }
        };
        let breaker = match self.breaker.acquire(now) {
            Ok(permit) => permit,
            Err(rejected) => {
                self.give_back(now, attempt, None);
                return Err(StackRejected::Breaker(rejected));
            }
        };
        let place = match self.bulkhead.as_mut().map(|it| it.try_acquire(now)) {
            None => None,
            Some(Ok(place)) => Some(place),
            Some(Err(_)) => {
                self.breaker.cancel(now, breaker);
                self.give_back(now, attempt, None);
                return Err(StackRejected::Bulkhead);
            }
        };
        Ok(StackPermit {
            breaker,
            place,
            attempt,
            timer: self.timeout.start(now, deadline),
        })
    }

    /// Reports how an attempt went; what follows.
    ///
    /// One over its timeout, or over the call's deadline, has failed, whatever
    /// `ended` says. Its duration is the time since it was admitted.
    pub fn settle(
        &mut self,
        now: i64,
        permit: StackPermit,
        call: &mut Call,
        ended: Ended,
    ) -> Retried {
        let mut timer = permit.timer;
        let ended = match timer.check(now) {
            Ok(()) => ended,
            Err(_) => Ended::Failed(Failure::Timeout),
        };
        let outcome = match ended {
            Ended::Success => Outcome::Success,
            Ended::Failed(_) => Outcome::Failure,
            Ended::Ignored => Outcome::Ignored,
        };
        let duration = timer.elapsed(now);
        self.breaker.settle(now, permit.breaker, outcome, duration);
        if let (Some(budget), Some(attempt)) = (&mut self.budget, permit.attempt) {
            budget.settle(now, attempt, outcome);
        }
        self.give_back(now, None, permit.place);
        let Ended::Failed(failure) = ended else {
            return Retried::Done;
        };
        call.failed = Some(failure);
        match self.retry_at(now, call, failure) {
            Ok(at) => Retried::At(at),
            Err(why) => Retried::GivenUp(why),
        }
    }

    /// Takes back a permit whose attempt was not made, or whose outcome nobody
    /// will know.
    pub fn cancel(&mut self, now: i64, permit: StackPermit) {
        self.breaker.cancel(now, permit.breaker);
        self.give_back(now, permit.attempt, permit.place);
    }

    /// The breaker: its state, figures and transitions.
    pub fn breaker(&self) -> &Machine {
        &self.breaker
    }

    /// The breaker, to drain its transitions or change its state by hand.
    pub fn breaker_mut(&mut self) -> &mut Machine {
        &mut self.breaker
    }

    /// The bulkhead, if there is one.
    pub fn bulkhead(&self) -> Option<&Bulkhead> {
        self.bulkhead.as_ref()
    }

    /// The retry budget, if there is one.
    pub fn budget(&self) -> Option<&RetryBudget> {
        self.budget.as_ref()
    }

    /// When the stack will next change by itself; see
    /// [`Machine::next_deadline`].
    pub fn next_deadline(&self) -> Option<i64> {
        self.breaker.next_deadline()
    }

    /// Lets the deadlines up to `now` act.
    pub fn advance(&mut self, now: i64) {
        self.breaker.advance(now);
    }

    /// The budget is only looked at here: the retry pays when it is made, so
    /// that one given up while it waits has cost nothing.
    fn retry_at(&mut self, now: i64, call: &mut Call, failure: Failure) -> Result<i64, GiveUp> {
        let retry = self.retry.as_mut().ok_or(GiveUp::Off)?;
        let at = retry.again(now, &mut call.attempts, failure)?;
        let budget = self.budget.as_mut();
        if budget.is_none_or(|it| it.allows(now, failure)) {
            Ok(at)
        } else {
            Err(GiveUp::Budget)
        }
    }

    fn give_back(&mut self, now: i64, attempt: Option<Attempt>, place: Option<Place>) {
        if let (Some(budget), Some(attempt)) = (&mut self.budget, attempt) {
            budget.cancel(now, attempt);
        }
        if let (Some(bulkhead), Some(place)) = (&mut self.bulkhead, place) {
            bulkhead.release(now, place);
        }
    }
}
