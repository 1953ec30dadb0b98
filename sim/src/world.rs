//! The run: what each event does.
//!
//! Owns what callers do: they ask their stacks, send attempts, get answers or give up, and try again; what
//! happens at the services is in `serving`, and the life of their pods in `fleet`. Invariant: each request has
//! one fate. O(events · log). Pinned by `tests/conservation.rs`, `tests/queues.rs` and `tests/incidents.rs`.

use std::rc::Rc;

use halfopen::ConfigError;
use halfopen::companions::{Ended, Failure, Retried};
use herdscope_reader::column::Column;
use herdscope_reader::order;

use crate::calls::{Answer, Attempt, Caller, Fate, NONE, NotMade, Of, Request};
use crate::draw::{Draws, Stream};
use crate::events::Events;
use crate::fleet::{Running, SAMPLED};
use crate::health::Health;
use crate::pods::{Phase, Pod};
use crate::run::{Run, Sample, StateChange};
use crate::scenario::{Act, Scenario};
use crate::summary::{self, Summary};

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A caller has a new request.
    Arrive(u32),
    /// An attempt reaches the service.
    Reach(u32),
    /// The worker of an attempt has done its own part.
    Worked(u32),
    /// An answer reaches its caller.
    Answered(u32, bool),
    /// The caller of an attempt hears that it was not taken.
    Refused(u32),
    /// An attempt is as old as it may get.
    Limit(u32),
    /// The service hears that the caller of an attempt has gone.
    GoneAway(u32),
    /// A request is to be attempted again.
    Again(u32),
    Started(u32),
    Decide(u32),
    Sample,
    Hand(u32),
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) scenario: Rc<Scenario>,
    pub(crate) draws: Draws,
    pub(crate) now: i64,
    pub(crate) events: Events<Event>,
    pub(crate) callers: Column<Caller>,
    /// Those of each group.
    of_group: Column<std::ops::Range<u32>>,
    pub(crate) requests: Column<Request>,
    pub(crate) attempts: Column<Attempt>,
    pub(crate) pods: Column<Pod>,
    pub(crate) services: Column<Running>,
    states: Vec<StateChange>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) health: Health,
}

impl World {
    pub(crate) fn new(scenario: Scenario, seed: u64) -> Result<World, ConfigError> {
        let scenario = Rc::new(scenario);
        let mut world = World {
            scenario: scenario.clone(),
            draws: Draws::new(seed),
            now: 0,
            events: Events::new(),
            callers: Column::default(),
            of_group: Column::default(),
            requests: Column::default(),
            attempts: Column::default(),
            pods: Column::default(),
            services: scenario.services.iter().map(Running::new).collect(),
            states: Vec::new(),
            samples: Vec::new(),
            health: Health::default(),
        };
        for (at, hand) in scenario.hands.iter().enumerate() {
            world.events.put(hand.at as i64, Event::Hand(at as u32));
        }
        for (at, service) in scenario.services.iter().enumerate() {
            for _ in 0..service.pods {
                let pod = world.create_pod(at as u32)?;
                world.make_ready(pod);
            }
            if let Some(hpa) = &service.autoscaler {
                world.events.put(hpa.every as i64, Event::Decide(at as u32));
            }
        }
        for (at, group) in scenario.groups.iter().enumerate() {
            let first = world.callers.len() as u32;
            for instance in 0..group.instances {
                let name = instance_name(&group.name, instance);
                let of = Of::Group(at as u32);
                let caller = Caller::new(of, instance, group.calls as u32, &group.policy, &name)?;
                world.callers.push(caller);
                world.next_arrival(world.callers.len() as u32 - 1);
            }
            world.of_group.push(first..world.callers.len() as u32);
        }
        world.events.put(SAMPLED, Event::Sample);
        Ok(world)
    }

    pub(crate) fn happen(&mut self, event: Event) -> Result<(), ConfigError> {
        match event {
            Event::Arrive(caller) => {
                self.next_arrival(caller);
                let Of::Group(group) = self.callers[caller as usize].of else {
                    return Ok(());
                };
                let priority = self.scenario.groups[group as usize].priority;
                self.health.came(self.now);
                self.request(caller, NONE, priority);
            }
            Event::Reach(attempt) => self.reach(attempt),
            Event::Worked(attempt) => self.worked(attempt),
            Event::Answered(attempt, good) => {
                let answer = if good { Answer::Good } else { Answer::Bad };
                self.answered(attempt, answer);
            }
            Event::Refused(attempt) => self.answered(attempt, Answer::Shed),
            Event::Limit(attempt) => self.answered(attempt, Answer::TimedOut),
            Event::GoneAway(attempt) => self.gone_away(attempt),
            Event::Again(request) => self.attempt(request, true),
            Event::Started(pod) => self.make_ready(pod),
            Event::Decide(service) => self.decide(service)?,
            Event::Sample => self.sample(),
            Event::Hand(hand) => self.hand(self.scenario.hands[hand as usize].act)?,
        }
        Ok(())
    }

    fn next_arrival(&mut self, caller: u32) {
        let Of::Group(group) = self.callers[caller as usize].of else {
            return;
        };
        let group = &self.scenario.groups[group as usize];
        let nth = self.callers[caller as usize].requests;
        let amount = self.draws.exponential(Stream::Arrival(caller), nth);
        self.callers[caller as usize].requests += 1;
        if let Some(at) = group.demand.next(self.now as u64, group.instances, amount) {
            self.events.put(at as i64, Event::Arrive(caller));
        }
    }

    pub(crate) fn request(
        &mut self,
        caller: u32,
        parent: u32,
        priority: halfopen::companions::Priority,
    ) {
        let key = match parent {
            NONE => u64::from(caller) << 40 | self.callers[caller as usize].requests << 7,
            parent => {
                let attempt = &self.attempts[parent as usize];
                let of = &self.requests[attempt.request as usize];
                self.draws
                    .bits(Stream::Nested, of.key | u64::from(attempt.nth))
            }
        };
        self.requests
            .push(Request::new(self.now, caller, parent, priority, key));
        self.attempt(self.requests.len() as u32 - 1, false);
    }

    fn attempt(&mut self, request: u32, again: bool) {
        let it = &self.requests[request as usize];
        if it.fate != Fate::InFlight {
            return;
        }
        let caller = it.caller;
        let acquired = self.callers[caller as usize].acquire(self.now, &it.call);
        self.note_states(caller);
        match acquired {
            Ok(permit) => {
                let nth = self.requests[request as usize].call.failed();
                let attempt = Attempt::new(request, nth, self.now, permit);
                let at = self.attempts.len() as u32;
                if let Some(limit) = attempt.limit() {
                    self.events.put(limit, Event::Limit(at));
                }
                self.attempts.push(attempt);
                self.requests[request as usize].attempt = at;
                let there = self.now + self.way(self.callers[caller as usize].service);
                self.events.put(there, Event::Reach(at));
            }
            Err(NotMade::Withheld) if !again => self.end(request, Fate::Withheld),
            Err(_) => self.end(request, Fate::Failed),
        }
    }

    /// An attempt has an answer, or is given up; if that has not been so before.
    fn answered(&mut self, attempt: u32, answer: Answer) {
        let it = &mut self.attempts[attempt as usize];
        let Some(permit) = it.permit.take() else {
            return;
        };
        (it.answer, it.end) = (answer, self.now);
        let request = it.request;
        let caller = self.requests[request as usize].caller;
        if answer == Answer::Cancelled {
            self.callers[caller as usize].cancel(self.now, permit);
            self.note_states(caller);
            return;
        }
        let ended = match answer {
            Answer::Good => Ended::Success,
            Answer::TimedOut => Ended::Failed(Failure::Timeout),
            Answer::Shed => Ended::Failed(Failure::Throttled { retry_after: None }),
            _ => Ended::Failed(Failure::Transient),
        };
        let call = &mut self.requests[request as usize].call;
        let next = self.callers[caller as usize].settle(self.now, permit, call, ended);
        self.note_states(caller);
        if answer == Answer::TimedOut && self.callers[caller as usize].cancel {
            let there = self.now + self.way(self.callers[caller as usize].service);
            self.events.put(there, Event::GoneAway(attempt));
        }
        match next {
            Retried::Done => self.end(request, Fate::Served),
            Retried::At(at) => self.events.put(at.max(self.now), Event::Again(request)),
            Retried::GivenUp(_) if answer == Answer::Shed => self.end(request, Fate::Shed),
            Retried::GivenUp(_) => self.end(request, Fate::Failed),
        }
    }

    /// What is known of a request now; who waits for it goes on.
    fn end(&mut self, request: u32, fate: Fate) {
        let it = &mut self.requests[request as usize];
        it.fate = fate;
        let (parent, served) = (it.parent, fate == Fate::Served);
        match parent {
            NONE => self.health.ended(it.at, served),
            parent => self.leave(parent, served),
        }
    }

    fn note_states(&mut self, caller: u32) {
        let it = &mut self.callers[caller as usize];
        if !it.breaker().has_transitions() {
            return;
        }
        let (of, instance) = (it.of, it.instance);
        for change in it.breaker().drain_transitions() {
            if let Of::Group(group) = of {
                self.states.push(StateChange {
                    at: change.at,
                    group,
                    instance,
                    from: change.from,
                    to: change.to,
                    cause: change.cause,
                });
            }
        }
    }

    /// Nobody waits for a request any more.
    pub(crate) fn give_up(&mut self, request: u32) {
        let it = &mut self.requests[request as usize];
        if it.fate != Fate::InFlight {
            return;
        }
        it.fate = Fate::Failed;
        let (attempt, caller) = (it.attempt, &self.callers[it.caller as usize]);
        let (service, cancels) = (caller.service, caller.cancel);
        if attempt == NONE || self.attempts[attempt as usize].answer != Answer::Waiting {
            return;
        }
        self.answered(attempt, Answer::Cancelled);
        if cancels {
            let there = self.now + self.way(service);
            self.events.put(there, Event::GoneAway(attempt));
        }
    }

    fn hand(&mut self, act: Act) -> Result<(), ConfigError> {
        match act {
            Act::Close { group } | Act::Open { group } => {
                for caller in self.of_group[group].clone() {
                    let breaker = self.callers[caller as usize].breaker();
                    match act {
                        Act::Close { .. } => breaker.disable(self.now),
                        _ => breaker.force_open(self.now),
                    }
                    self.note_states(caller);
                }
                Ok(())
            }
            Act::Scale { service, pods } => {
                self.services[service].least = pods;
                self.scale(service as u32, pods)
            }
        }
    }

    pub(crate) fn kept(&self) -> usize {
        self.requests.len() + self.attempts.len() + self.states.len()
    }

    pub(crate) fn finish(mut self, seed: u64) -> Run {
        for pod in self.pods.iter_mut() {
            if pod.phase != Phase::Gone {
                pod.count(self.now);
                pod.gone_at = self.now;
            }
        }
        // Breakers tell what came due before somebody noticed.
        let place = |it: &StateChange| (it.at, it.group, it.instance);
        self.states = order::sorted(self.states, &mut |a, b| place(a).cmp(&place(b)));
        let mut run = Run {
            summary: Summary::default(),
            states: self.states,
            samples: self.samples,
            end: self.now,
            health: self.health,
            callers: self.callers,
            requests: self.requests,
            attempts: self.attempts,
            pods: self.pods,
        };
        run.summary = summary::of(&run, &self.scenario, seed);
        run
    }
}

/// What a process is called in spans.
pub(crate) fn instance_name(of: &str, number: u32) -> String {
    format!("{of}-{number}")
}
