//! A [`Stack`] that threads share: a lock around each step, a clock, and a
//! guard that gives back what it took.
//!
//! Owns nothing else. Invariants: the lock is held for single steps, never
//! during an attempt or a reading of the clock; a guard gives its permit back
//! exactly once, dropped or not. Cost: that of the stack and an uncontended
//! lock. Pinned by `tests/companions/`; `examples/stack.rs` is a host.

use std::boxed::Box;
use std::fmt;

use super::{Call, Ended, Retried, Stack, StackPermit, StackRejected, TimedOut, Timer};
use crate::clock::Clock;
use crate::sync::{Arc, Mutex, lock};

/// A [`Stack`] between threads. Clones are the same stack.
///
/// The loop of a host: ask, attempt, say how it went, and wait if another
/// attempt follows.
///
/// ```
/// use std::{thread, time::Duration};
///
/// use halfopen::companions::*;
/// use halfopen::{Clock, SystemClock};
///
/// fn call<T>(
///     stack: &SharedStack,
///     request: Request,
///     budget: Duration,
///     attempt: impl Fn(Option<u64>) -> Result<T, Failure>,
/// ) -> Result<T, Box<dyn std::error::Error>> {
///     let deadline = Deadline::after(stack.now(), budget.as_nanos() as u64);
///     let mut call = Call::new(request, deadline);
///     loop {
///         let guard = stack.acquire(&call)?;
///         // How long the attempt may take: for the socket's timeouts.
///         let result = attempt(guard.timer().remaining(stack.now()));
///         let ended = match &result {
///             Ok(_) => Ended::Success,
///             Err(failure) => Ended::Failed(*failure),
///         };
///         match (guard.settle(&mut call, ended), result) {
///             (Retried::At(at), _) => {
///                 let wait = at.saturating_sub(stack.now()).max(0);
///                 thread::sleep(Duration::from_nanos(wait as u64));
///             }
///             (Retried::Done, Ok(answer)) => return Ok(answer),
///             (Retried::GivenUp(why), _) => return Err(why.into()),
///             (Retried::Done, Err(_)) => unreachable!("a failure is retried or given up"),
///         }
///     }
/// }
///
/// let stack = Stack::new(StackSettings {
///     breaker: "window=20 min=5 open=5s".parse()?,
///     max_concurrent: Some(10),
///     retry: Some(RetrySettings { base: 1_000_000, ..RetrySettings::default() }),
///     budget: Some(BudgetSettings::AWS),
///     ..StackSettings::default()
/// })?;
/// let stack = SharedStack::new(stack, SystemClock);
/// let tries = std::cell::Cell::new(0);
/// let answer = call(&stack, Request::Idempotent, Duration::from_secs(2), |_| {
///     tries.set(tries.get() + 1);
///     if tries.get() < 3 { Err(Failure::Transient) } else { Ok("fresh") }
/// });
/// assert_eq!((answer?, tries.get()), ("fresh", 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SharedStack(Arc<Shared>);

struct Shared {
    stack: Mutex<Stack>,
    clock: Box<dyn Clock>,
}

impl SharedStack {
    /// Shares a stack, on a clock: the system's, or one of your own.
    pub fn new(stack: Stack, clock: impl Clock + 'static) -> SharedStack {
        SharedStack(Arc::new(Shared {
            stack: Mutex::new(stack),
            clock: Box::new(clock),
        }))
    }

    /// The time, on the stack's clock: what deadlines and retries are counted
    /// from.
    pub fn now(&self) -> i64 {
        self.0.clock.now()
    }

    /// Asks to make an attempt; see [`Stack::acquire`].
    ///
    /// # Errors
    ///
    /// A layer rejects it; nothing is taken at any other.
    pub fn acquire(&self, call: &Call) -> Result<StackGuard, StackRejected> {
        let permit = self.with(|stack, now| stack.acquire(now, call))?;
        Ok(StackGuard {
            stack: self.clone(),
            permit: Some(permit),
        })
    }

    /// One step of the stack, under the lock, with the time: to look at its
    /// breaker, to drain transitions, to change a state by hand. Others wait
    /// meanwhile.
    pub fn with<R>(&self, step: impl FnOnce(&mut Stack, i64) -> R) -> R {
        let now = self.now();
        step(&mut lock(&self.0.stack), now)
    }
}

impl fmt::Debug for SharedStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedStack")
            .field("breaker", &lock(&self.0.stack).breaker().snapshot())
            .finish_non_exhaustive()
    }
}

/// The right to make one attempt. Dropped, it counts nothing and gives back
/// all it took, but for a ramp's share.
#[must_use = "a guard that is dropped counts nothing"]
pub struct StackGuard {
    stack: SharedStack,
    /// Nothing once reported.
    permit: Option<StackPermit>,
}

impl StackGuard {
    /// The timer: when to cut the attempt.
    pub fn timer(&self) -> &Timer {
        // There until the guard is consumed.
        self.permit
            .as_ref()
            .map_or(&Timer::UNLIMITED, StackPermit::timer)
    }

    /// The connection stands; see [`Timer::connected`].
    ///
    /// # Errors
    ///
    /// A limit has been reached: settle the guard.
    pub fn connected(&mut self) -> Result<(), TimedOut> {
        let now = self.stack.now();
        self.permit.as_mut().map_or(Ok(()), |it| it.connected(now))
    }

    /// Reports how the attempt went; what follows. See [`Stack::settle`].
    pub fn settle(mut self, call: &mut Call, ended: Ended) -> Retried {
        match self.permit.take() {
            Some(permit) => self
                .stack
                .with(|stack, now| stack.settle(now, permit, call, ended)),
            None => Retried::Done,
        }
    }
}

impl Drop for StackGuard {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            self.stack.with(|stack, now| stack.cancel(now, permit));
        }
    }
}

impl fmt::Debug for StackGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StackGuard")
            .field("permit", &self.permit)
            .finish_non_exhaustive()
    }
}
