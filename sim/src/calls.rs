//! Who calls, what is called for, and each attempt at it.
//!
//! Owns the callers, which are `halfopen` stacks, and the columns of requests and attempts. Invariant: what a
//! caller's stack took for an attempt is in that attempt until it is settled or cancelled, once. O(1) an
//! operation. Pinned by `tests/conservation.rs`.

use halfopen::companions::{
    Call, Deadline, Ended, Retried, Stack, StackPermit, StackRejected, StackSettings, Throttle,
    ThrottlePermit, TimeoutSettings,
};
use halfopen::{ConfigError, Outcome};

use crate::scenario::{Policy, Priority};

/// No request, attempt or pod.
pub(crate) const NONE: u32 = u32::MAX;

/// Not yet.
pub(crate) const NEVER: i64 = i64::MAX;

/// A process that calls a service.
#[derive(Debug)]
pub(crate) struct Caller {
    /// The group, or the service whose pod it is.
    pub(crate) of: Of,
    /// Its number among the processes of that.
    pub(crate) instance: u32,
    /// The service that it calls.
    pub(crate) service: u32,
    /// The callee learns when it gives up.
    pub(crate) cancel: bool,
    /// How many requests it has made.
    pub(crate) requests: u64,
    stack: Stack,
    throttle: Option<Throttle>,
}

/// What a caller is a process of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Group(u32),
    Service(u32),
}

/// What somebody wants, over all attempts at it.
#[derive(Debug)]
pub(crate) struct Request {
    /// When it was wanted.
    pub(crate) at: i64,
    pub(crate) caller: u32,
    /// The attempt whose worker waits for it.
    pub(crate) parent: u32,
    pub(crate) priority: Priority,
    /// Names its draws.
    pub(crate) key: u64,
    pub(crate) call: Call,
    /// The newest attempt at it.
    pub(crate) attempt: u32,
    pub(crate) fate: Fate,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    InFlight,
    Served,
    Failed,
    /// Its caller did not make it.
    Withheld,
    /// The service did not take it.
    Shed,
}

/// One attempt at a request.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) request: u32,
    /// How many were made before it.
    pub(crate) nth: u32,
    pub(crate) permit: Option<(StackPermit, Option<ThrottlePermit>)>,
    pub(crate) at_callee: AtCallee,
    pub(crate) answer: Answer,
    pub(crate) start: i64,
    /// When its caller had an answer, or gave up.
    pub(crate) end: i64,
    /// The callee's.
    pub(crate) pod: u32,
    /// The request that its worker waits for.
    pub(crate) child: u32,
    /// When it reached its pod, and left it.
    pub(crate) reached: i64,
    pub(crate) left: i64,
    /// When a worker took it.
    pub(crate) taken: i64,
    pub(crate) work_start: i64,
    pub(crate) work_end: i64,
    /// How long its worker is held without a limit on the processor.
    pub(crate) held: u64,
}

/// How an attempt ended for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Waiting,
    Good,
    Bad,
    Shed,
    TimedOut,
    /// Its own caller had gone.
    Cancelled,
}

/// Where an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtCallee {
    OnTheWay,
    Queued,
    Working,
    /// Its worker waits for another service.
    Calling,
    Done,
    Gone,
}

/// Why an attempt was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotMade {
    Withheld,
    /// It is a retry beyond the budget, or there is no time left.
    GivenUp,
}

impl Caller {
    pub(crate) fn new(
        of: Of,
        instance: u32,
        service: u32,
        policy: &Policy,
        name: &str,
    ) -> Result<Caller, ConfigError> {
        let retries = policy.retries;
        let settings = StackSettings {
            // The whole attempt has one limit: connections are not simulated.
            timeout: TimeoutSettings {
                connect: policy.timeout,
                read: None,
            },
            breaker: policy.breaker.clone().unwrap_or_default(),
            min_remaining: 0,
            max_concurrent: policy.max_concurrent,
            retry: retries.map(|it| it.settings),
            budget: retries.and_then(|it| it.budget),
        };
        let mut stack = Stack::for_instance(settings, name)?;
        if policy.breaker.is_none() {
            stack.breaker_mut().disable(0);
            stack.breaker_mut().drain_transitions().for_each(drop);
        }
        let throttle = policy.throttle.map(Throttle::new).transpose()?;
        Ok(Caller {
            of,
            instance,
            service,
            cancel: policy.cancel,
            requests: 0,
            stack,
            throttle: throttle.map(|it| it.for_instance(name)),
        })
    }

    /// Asks to make an attempt.
    pub(crate) fn acquire(
        &mut self,
        now: i64,
        call: &Call,
    ) -> Result<(StackPermit, Option<ThrottlePermit>), NotMade> {
        let throttled = match self.throttle.as_mut().map(|it| it.acquire(now)) {
            None => None,
            Some(Ok(permit)) => Some(permit),
            Some(Err(_)) => return Err(NotMade::Withheld),
        };
        match self.stack.acquire(now, call) {
            Ok(permit) => Ok((permit, throttled)),
            Err(StackRejected::Breaker(_) | StackRejected::Bulkhead) => Err(NotMade::Withheld),
            Err(_) => Err(NotMade::GivenUp),
        }
    }

    /// An attempt has ended; what follows.
    pub(crate) fn settle(
        &mut self,
        now: i64,
        (permit, throttled): (StackPermit, Option<ThrottlePermit>),
        call: &mut Call,
        ended: Ended,
    ) -> Retried {
        if let (Some(throttle), Some(permit)) = (&mut self.throttle, throttled) {
            let outcome = match ended {
                Ended::Success => Outcome::Success,
                _ => Outcome::Failure,
            };
            throttle.settle(now, permit, outcome);
        }
        self.stack.settle(now, permit, call, ended)
    }

    /// An attempt is not wanted any more.
    pub(crate) fn cancel(&mut self, now: i64, permit: (StackPermit, Option<ThrottlePermit>)) {
        self.stack.cancel(now, permit.0);
    }

    pub(crate) fn breaker(&mut self) -> &mut halfopen::Machine {
        self.stack.breaker_mut()
    }
}

impl Request {
    pub(crate) fn new(at: i64, caller: u32, parent: u32, priority: Priority, key: u64) -> Request {
        Request {
            at,
            caller,
            parent,
            priority,
            key,
            call: Call::new(halfopen::companions::Request::Idempotent, Deadline::NEVER),
            attempt: NONE,
            fate: Fate::InFlight,
        }
    }
}

impl Attempt {
    pub(crate) fn new(
        request: u32,
        nth: u32,
        now: i64,
        permit: (StackPermit, Option<ThrottlePermit>),
    ) -> Attempt {
        Attempt {
            request,
            nth,
            permit: Some(permit),
            at_callee: AtCallee::OnTheWay,
            answer: Answer::Waiting,
            start: now,
            end: NEVER,
            pod: NONE,
            child: NONE,
            reached: NEVER,
            left: NEVER,
            taken: NEVER,
            work_start: NEVER,
            work_end: NEVER,
            held: 0,
        }
    }

    /// When it is to be cut.
    pub(crate) fn limit(&self) -> Option<i64> {
        self.permit.as_ref().and_then(|it| it.0.timer().limit())
    }
}
