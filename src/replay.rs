//! Replay: the `halfopen` breaker run over the calls of one edge.
//!
//! Owns the order of events: by time, at one time settles before acquires, then by start, trace id
//! and span id; a call acquires at its start and settles at its end, never before its own acquire.
//! A `timeout` in the settings ends the calls that outlive it at that age ([`end_under`]).
//! Invariant: the machine is the one that services run; nothing here decides a state. One pass over
//! the calls, O(1) each. Pinned by `tests/it/replay.rs`, which compares with what real breakers did,
//! to the nanosecond.

use std::borrow::Cow;

use halfopen::{Config, Machine, Outcome, Permit, State, Transition};

use crate::calls::{CallOutcome, Calls, just_above};
use crate::column::Column;

/// How to replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The settings of each breaker.
    pub config: Config,
    /// One breaker for all instances, also where the file tells them apart.
    pub shared: bool,
}

/// What the breakers did.
#[derive(Clone, Debug)]
pub struct Replay {
    /// One an instance, in the order of `Calls::instances`; a single one when shared.
    pub breakers: Vec<Breaker>,
    /// Whether there was one breaker an instance.
    pub per_instance: bool,
    /// From the first call's start to the last call's end.
    pub from: i64,
    /// See `from`.
    pub to: i64,
    /// For each call, whether its breaker rejected it.
    pub rejected: Column<bool>,
    /// How many calls were rejected.
    pub withheld: u64,
    /// Calls that were admitted and of which the file does not tell the outcome.
    pub outcome_unknown: u64,
    /// The failure rate after each call that was counted.
    pub rates: Vec<RateSample>,
}

/// One breaker and its timeline.
#[derive(Clone, Debug)]
pub struct Breaker {
    /// Whose it is; `None` for a shared one.
    pub instance: Option<String>,
    /// Its transitions in order; it begins closed.
    pub transitions: Vec<Transition>,
}

/// The failure rate of a breaker's window at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Nanoseconds since 1970.
    pub at: i64,
    /// Index into `Replay::breakers`.
    pub breaker: u32,
    /// Millionths; `None` below the minimum of calls.
    pub rate: Option<u32>,
}

/// Runs the breakers over the calls. O(calls) time; one permit a call in flight.
pub fn replay(calls: &Calls, options: &Options) -> Replay {
    let per_instance = !options.shared && calls.instances.iter().any(Option::is_some);
    let mut run = Run::new(calls, options, per_instance);
    let Ends { end, order } = Ends::under(calls, options.config.settings().timeout);
    let mut ends = order.iter().map(|&at| at as usize).peekable();
    for at in 0..calls.len() {
        let now = calls.start[at];
        // A call of no duration settles in its acquire's place, which comes after this.
        let due =
            |&next: &usize| end[next] <= now && calls.start[next] < end[next] || end[next] < now;
        while let Some(ended) = ends.next_if(due) {
            run.settle(ended, end[ended]);
        }
        run.acquire(at);
        if end[at] <= calls.start[at] {
            run.settle(at, end[at]);
        }
    }
    ends.for_each(|ended| run.settle(ended, end[ended]));
    run.finish(calls, per_instance)
}

/// When a call ends under a timeout: at that age, if it outlives it. A failure that ended just above
/// the timeout was evidently cut by it when it was recorded, and ended when it did.
pub fn end_under(calls: &Calls, at: usize, timeout: u64) -> i64 {
    let outlives = match calls.outcome[at] {
        CallOutcome::Success => timeout,
        CallOutcome::Failure | CallOutcome::TimedOut => just_above(timeout).end,
        CallOutcome::Rejected | CallOutcome::Unknown => u64::MAX,
    };
    if calls.duration(at) >= outlives {
        calls.start[at].saturating_add_unsigned(timeout)
    } else {
        calls.end[at]
    }
}

/// Nanoseconds that a breaker spent closed, open, half-open and ramping.
pub fn time_in(breaker: &Breaker, replay: &Replay) -> [i64; 4] {
    let mut time = [0; 4];
    for (from, to, state) in bands(breaker, replay.from, replay.to) {
        time[match state {
            State::Open => 1,
            State::HalfOpen => 2,
            State::Ramping => 3,
            // A replay sets no state by hand.
            _ => 0,
        }] += to - from;
    }
    time
}

/// When the calls end, and in which order.
struct Ends<'a> {
    end: Cow<'a, [i64]>,
    order: Cow<'a, [u32]>,
}

impl<'a> Ends<'a> {
    fn under(calls: &'a Calls, timeout: Option<u64>) -> Ends<'a> {
        let Some(timeout) = timeout else {
            return Ends {
                end: Cow::Borrowed(&calls.end),
                order: Cow::Borrowed(&calls.by_end),
            };
        };
        let end: Vec<i64> = (0..calls.len())
            .map(|at| end_under(calls, at, timeout))
            .collect();
        let is_cut = |&at: &u32| end[at as usize] != calls.end[at as usize];
        // Calls that are cut end in the order in which they start, the others in the order that is
        // known: nothing has to be sorted.
        let mut cut = (0..calls.len() as u32).filter(is_cut).peekable();
        let mut order = Vec::with_capacity(calls.len());
        let by = |at: u32| (end[at as usize], at);
        for &next in calls.by_end.iter().filter(|at| !is_cut(at)) {
            order.extend(std::iter::from_fn(|| cut.next_if(|&at| by(at) < by(next))));
            order.push(next);
        }
        order.extend(cut);
        Ends {
            end: Cow::Owned(end),
            order: Cow::Owned(order),
        }
    }
}

/// The states of a breaker from `from` to `to`, without gaps.
pub fn bands(breaker: &Breaker, from: i64, to: i64) -> Vec<(i64, i64, State)> {
    let mut bands = Vec::with_capacity(breaker.transitions.len() + 1);
    let (mut since, mut state) = (from, State::Closed);
    for transition in &breaker.transitions {
        bands.push((since, transition.at, state));
        (since, state) = (transition.at, transition.to);
    }
    bands.push((since, to.max(since), state));
    bands
}

struct Run<'a> {
    calls: &'a Calls,
    machines: Column<Machine>,
    transitions: Vec<Vec<Transition>>,
    permits: Column<Option<Permit>>,
    rejected: Column<bool>,
    rates: Vec<RateSample>,
    withheld: u64,
    outcome_unknown: u64,
}

impl<'a> Run<'a> {
    fn new(calls: &'a Calls, options: &Options, per_instance: bool) -> Run<'a> {
        let machine = |name: &Option<String>| match name {
            Some(name) => Machine::for_instance(options.config.clone(), name),
            None => Machine::new(options.config.clone()),
        };
        let machines: Vec<Machine> = if per_instance {
            calls.instances.iter().map(machine).collect()
        } else {
            vec![Machine::new(options.config.clone())]
        };
        Run {
            calls,
            transitions: vec![Vec::new(); machines.len()],
            machines: machines.into(),
            permits: (0..calls.len()).map(|_| None).collect(),
            rejected: Column::of(false, calls.len()),
            rates: Vec::with_capacity(calls.len()),
            withheld: 0,
            outcome_unknown: 0,
        }
    }

    fn breaker(&self, at: usize) -> usize {
        if self.machines.len() == 1 {
            0
        } else {
            self.calls.instance[at] as usize
        }
    }

    fn acquire(&mut self, at: usize) {
        let breaker = self.breaker(at);
        match self.machines[breaker].acquire(self.calls.start[at]) {
            Ok(permit) => self.permits[at] = Some(permit),
            Err(_) => {
                self.rejected[at] = true;
                self.withheld += 1;
            }
        }
        self.keep_transitions(breaker);
    }

    fn settle(&mut self, at: usize, end: i64) {
        let Some(permit) = self.permits[at].take() else {
            return;
        };
        let breaker = self.breaker(at);
        let duration = end.saturating_sub(self.calls.start[at]).max(0) as u64;
        let machine = &mut self.machines[breaker];
        let outcome = match self.calls.outcome[at] {
            CallOutcome::Success => Outcome::Success,
            CallOutcome::Failure | CallOutcome::TimedOut => Outcome::Failure,
            CallOutcome::Rejected | CallOutcome::Unknown => {
                machine.cancel(end, permit);
                self.outcome_unknown += 1;
                return self.keep_transitions(breaker);
            }
        };
        machine.settle(end, permit, outcome, duration);
        self.rates.push(RateSample {
            at: end,
            breaker: breaker as u32,
            rate: machine.snapshot().failure_rate,
        });
        self.keep_transitions(breaker);
    }

    fn keep_transitions(&mut self, breaker: usize) {
        let machine = &mut self.machines[breaker];
        if machine.has_transitions() {
            self.transitions[breaker].extend(machine.drain_transitions());
        }
    }

    fn finish(mut self, calls: &Calls, per_instance: bool) -> Replay {
        let from = calls.start.first().copied().unwrap_or(0);
        let to = calls.end.iter().copied().max().unwrap_or(from);
        for breaker in 0..self.machines.len() {
            // What fell due before the end of the file happened, though nobody called to notice.
            self.machines[breaker].advance(to);
            self.keep_transitions(breaker);
        }
        let instance = |at: usize| {
            let name = calls.instances.get(at).filter(|_| per_instance);
            name.cloned().flatten()
        };
        let breakers = self.transitions.into_iter().enumerate();
        Replay {
            breakers: breakers
                .map(|(at, transitions)| Breaker {
                    instance: instance(at),
                    transitions,
                })
                .collect(),
            per_instance,
            from,
            to,
            rejected: self.rejected,
            withheld: self.withheld,
            outcome_unknown: self.outcome_unknown,
            rates: self.rates,
        }
    }
}
