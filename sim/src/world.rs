//! The run: what each event does.
//!
//! Owns the way of a request: its caller asks its stack, the attempt travels, waits for a worker, is worked
//! on (perhaps while another service is called), and its answer travels back, to a caller that may have gone
//! by then. Invariant: each request has one fate, and each attempt leaves the service once. O(events · log).
//! Pinned by `tests/conservation.rs`, `tests/queues.rs` and `tests/herd.rs`.

use std::rc::Rc;

use halfopen::companions::{Ended, Failure, Retried};
use halfopen::{Cause, ConfigError, State};
use herdscope_reader::column::Column;
use herdscope_reader::order;

use crate::calls::{Answer, AtCallee, Attempt, Caller, Fate, NONE, NotMade, Of, Request};
use crate::draw::{Draws, Stream};
use crate::events::Events;
use crate::fleet::{Running, SAMPLED};
use crate::health::Health;
use crate::pods::{Offer, Phase, Pod, Taken};
use crate::scenario::{Act, Fault, Scenario, Spread};
use crate::summary::{self, Summary};

/// What happened.
#[derive(Debug)]
pub struct Run {
    /// The figures.
    pub summary: Summary,
    /// Each change of a breaker of a group, by time.
    pub states: Vec<StateChange>,
    /// The services, a second apart.
    pub samples: Vec<Sample>,
    /// When it was over, nanoseconds since the beginning.
    pub end: i64,
    pub(crate) health: Health,
    pub(crate) callers: Column<Caller>,
    pub(crate) requests: Column<Request>,
    pub(crate) attempts: Column<Attempt>,
    pub(crate) pods: Column<Pod>,
}

/// A change of state of a breaker, as the breaker itself tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// Nanoseconds since the beginning.
    pub at: i64,
    /// A place in [`Scenario::groups`].
    pub group: u32,
    /// The process.
    pub instance: u32,
    /// The state that it left.
    pub from: State,
    /// The state that it entered.
    pub to: State,
    /// Why.
    pub cause: Cause,
}

/// A service at some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Nanoseconds since the beginning.
    pub at: i64,
    /// A place in [`Scenario::services`].
    pub service: u32,
    /// Pods that are there, and those of them that take requests.
    pub pods: u32,
    /// See `pods`.
    pub ready: u32,
    /// Requests that wait at them.
    pub waiting: u32,
    /// How busy their workers were in the second before, per cent.
    pub busy: f64,
}

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

impl Run {
    /// Requests at each pod, times nanoseconds, as its integrals have it.
    #[doc(hidden)]
    pub fn time_at_pods(&self) -> Vec<i64> {
        let time = |it: &Pod| it.integrals().busy + it.integrals().waiting;
        self.pods.iter().map(time).collect()
    }

    /// The same, by the attempts: Little's law without a limit (Little, 1961).
    #[doc(hidden)]
    pub fn time_of_attempts(&self) -> Vec<i64> {
        let mut times = vec![0; self.pods.len()];
        for attempt in self.attempts.iter().filter(|it| it.pod != NONE) {
            let end = attempt.left.min(self.end);
            times[attempt.pod as usize] += (end - attempt.reached).max(0);
        }
        times
    }
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
    requests: Column<Request>,
    attempts: Column<Attempt>,
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

    // Callers.

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

    fn request(&mut self, caller: u32, parent: u32, priority: halfopen::companions::Priority) {
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

    // Services.

    /// How long a message takes to a service.
    fn way(&self, service: u32) -> i64 {
        let hops = 1 + u64::from(self.scenario.services[service as usize].proxy.is_some());
        (hops * self.scenario.network) as i64
    }

    fn reach(&mut self, attempt: u32) {
        let request = self.attempts[attempt as usize].request;
        let service = self.callers[self.requests[request as usize].caller as usize].service;
        let Some(pod) = self.balance(service) else {
            self.refuse(attempt);
            return;
        };
        let priority = self.requests[request as usize].priority;
        let it = &mut self.attempts[attempt as usize];
        (it.pod, it.at_callee, it.reached) = (pod, AtCallee::Queued, self.now);
        match self.pods[pod as usize].offer(self.now, attempt, priority) {
            Offer::Waits => {}
            Offer::InsteadOf(other) => self.refuse(other),
            Offer::Refused => self.refuse(attempt),
        }
        self.begin(pod);
    }

    /// A pod for a request: the one with the fewest of all, or any.
    fn balance(&mut self, service: u32) -> Option<u32> {
        let running = &mut self.services[service as usize];
        let nth = running.balanced;
        running.balanced += 1;
        let ready = &running.ready;
        let stream = Stream::Balance(service);
        let any = *ready.get(self.draws.below(stream, 2 * nth, ready.len() as u64) as usize)?;
        let share = self.scenario.services[service as usize].least_loaded;
        if self.draws.unit(stream, 2 * nth + 1) >= share {
            return Some(any);
        }
        // Of equals the one that chance has chosen, or the next after it.
        let first = ready.iter().position(|&it| it == any)?;
        let from_there = ready[first..].iter().chain(&ready[..first]);
        from_there
            .copied()
            .min_by_key(|&it| self.pods[it as usize].load())
    }

    /// Lets the free workers of a pod begin.
    fn begin(&mut self, pod: u32) {
        let service = self.pods[pod as usize].service;
        let workers = self.scenario.services[service as usize].workers;
        while self.pods[pod as usize].busy < workers {
            match self.pods[pod as usize].take(self.now) {
                None => break,
                Some(Taken::Shed(attempt)) => self.refuse(attempt),
                Some(Taken::Serve(attempt)) => self.work(pod, attempt),
            }
        }
    }

    fn work(&mut self, pod: u32, attempt: u32) {
        let service = self.pods[pod as usize].service;
        self.pods[pod as usize].work(self.now, true);
        let scenario = self.scenario.clone();
        let of = &scenario.services[service as usize];
        let key = self.key(attempt);
        let draw = |stream, spread: Spread| self.draws.time(stream, key, spread);
        let work = match self.fault(service).and_then(|it| it.takes) {
            Some(takes) => takes,
            None => draw(Stream::Work(service), of.work),
        };
        let held = of.held.map_or(0, |it| draw(Stream::Held(service), it));
        let beside = f64::from(self.pods[pod as usize].busy - 1);
        let slower = self.cold(pod) * (1.0 + of.slowing * beside);
        let held = ((held.max(work) as f64 * slower) as u64).max(work);
        let it = &mut self.attempts[attempt as usize];
        (it.at_callee, it.taken) = (AtCallee::Working, self.now);
        let end = self.pods[pod as usize].work_until(self.now, held, of.cpu);
        (it.work_start, it.work_end) = (end.saturating_sub_unsigned(work), end);
        self.events.put(end, Event::Worked(attempt));
    }

    /// Names what an attempt draws.
    fn key(&self, attempt: u32) -> u64 {
        let it = &self.attempts[attempt as usize];
        self.requests[it.request as usize].key | u64::from(it.nth)
    }

    /// How many times longer a pod holds a worker because it has just started.
    fn cold(&self, pod: u32) -> f64 {
        let it = &self.pods[pod as usize];
        let Some(cold) = self.scenario.services[it.service as usize].cold else {
            return 1.0;
        };
        let few = self.services[it.service as usize].ready.len() as u32 <= cold.pods;
        if few || it.done < cold.requests {
            return cold.factor;
        }
        let warm = f64::from(it.done - cold.requests) / f64::from(cold.warming.max(1));
        1.0 + (cold.factor - 1.0) * (1.0 - warm).max(0.0)
    }

    fn fault(&self, service: u32) -> Option<&Fault> {
        let now = self.now as u64;
        let mut faults = self.scenario.faults.iter();
        faults.find(|it| {
            it.service == service as usize && (it.at..it.at.saturating_add(it.lasts)).contains(&now)
        })
    }

    /// A worker has done its own part: it answers, or calls another service first.
    fn worked(&mut self, attempt: u32) {
        if self.attempts[attempt as usize].at_callee != AtCallee::Working {
            return;
        }
        let pod = self.attempts[attempt as usize].pod;
        let (service, caller) = (
            self.pods[pod as usize].service,
            self.pods[pod as usize].caller,
        );
        let chance = self.fault(service).map_or(0.0, |it| it.fails);
        let fails =
            chance > 0.0 && self.draws.unit(Stream::Fails(service), self.key(attempt)) < chance;
        if caller == NONE || fails || self.needs(attempt) == Some(service as usize) {
            self.leave(attempt, !fails);
            return;
        }
        self.pods[pod as usize].call(self.now, true);
        let it = &mut self.attempts[attempt as usize];
        (it.at_callee, it.child) = (AtCallee::Calling, self.requests.len() as u32);
        let request = self.attempts[attempt as usize].request;
        let priority = self.requests[request as usize].priority;
        self.request(caller, attempt, priority);
    }

    /// The last service that is needed for what an attempt was made for. O(tiers).
    fn needs(&self, mut attempt: u32) -> Option<usize> {
        loop {
            let request = &self.requests[self.attempts[attempt as usize].request as usize];
            if let Of::Group(group) = self.callers[request.caller as usize].of {
                return self.scenario.groups[group as usize].needs;
            }
            attempt = request.parent;
        }
    }

    /// An attempt leaves its worker with an answer.
    fn leave(&mut self, attempt: u32, good: bool) {
        if self.free(attempt) {
            let request = self.attempts[attempt as usize].request;
            let caller = self.requests[request as usize].caller;
            let back = self.way(self.callers[caller as usize].service);
            self.events
                .put(self.now + back, Event::Answered(attempt, good));
        }
    }

    /// The worker of an attempt is free for the next one; whether there was one.
    fn free(&mut self, attempt: u32) -> bool {
        let it = &mut self.attempts[attempt as usize];
        let calling = match it.at_callee {
            AtCallee::Working => false,
            AtCallee::Calling => true,
            _ => return false,
        };
        let end = it.work_end;
        (it.at_callee, it.work_end, it.left) = (AtCallee::Done, self.now, self.now);
        it.work_start = it.work_start.min(self.now);
        let pod = it.pod;
        if !calling && end > self.now {
            let service = self.pods[pod as usize].service as usize;
            let quota = self.scenario.services[service].cpu;
            self.pods[pod as usize].give_back(self.now, end, quota);
        }
        if calling {
            self.pods[pod as usize].call(self.now, false);
        }
        self.pods[pod as usize].work(self.now, false);
        self.begin(pod);
        self.end_pod_if_idle(pod);
        true
    }

    /// A service does not take an attempt.
    fn refuse(&mut self, attempt: u32) {
        let it = &mut self.attempts[attempt as usize];
        (it.at_callee, it.left) = (AtCallee::Gone, self.now);
        let caller = self.requests[it.request as usize].caller;
        let back = self.way(self.callers[caller as usize].service);
        self.events.put(self.now + back, Event::Refused(attempt));
    }

    /// The caller of an attempt has gone, and its service hears of it.
    fn gone_away(&mut self, attempt: u32) {
        let it = &mut self.attempts[attempt as usize];
        let (pod, child) = (it.pod, it.child);
        if it.at_callee == AtCallee::Queued {
            (it.at_callee, it.left) = (AtCallee::Gone, self.now);
            self.pods[pod as usize].cancel(self.now, attempt);
            self.end_pod_if_idle(pod);
        } else if self.free(attempt) && child != NONE {
            self.give_up(child);
        }
    }

    /// Nobody waits for a request any more.
    fn give_up(&mut self, request: u32) {
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
