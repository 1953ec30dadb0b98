//! What happens to an attempt at a service.
//!
//! Owns its way there: the balancer chooses a pod, where it waits for a worker, is worked on (perhaps while another
//! service is called), and is answered, to a caller that may have gone by then. Invariant: each attempt leaves its
//! service once. O(events · log), and O(pods) to balance. Pinned by `tests/conservation.rs` and `tests/queues.rs`.

use crate::calls::{AtCallee, NONE, Of};
use crate::draw::Stream;
use crate::pods::{Offer, Taken};
use crate::scenario::{Fault, Spread};
use crate::world::{Event, World};

impl World {
    /// How long a message takes to a service.
    pub(crate) fn way(&self, service: u32) -> i64 {
        let hops = 1 + u64::from(self.scenario.services[service as usize].proxy.is_some());
        (hops * self.scenario.network) as i64
    }

    pub(crate) fn reach(&mut self, attempt: u32) {
        let request = self.attempts[attempt as usize].request;
        let service = self.callers[self.requests[request as usize].caller as usize].service;
        let Some(pod) = self.balance(service) else {
            self.refuse(attempt);
            return;
        };
        let priority = self.requests[request as usize].priority;
        let it = &mut self.attempts[attempt as usize];
        (it.pod, it.at_callee, it.reached) = (pod, AtCallee::Queued, self.now);
        let workers = self.scenario.services[service as usize].workers;
        match self.pods[pod as usize].offer(self.now, attempt, priority, workers) {
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
        let work = match self
            .faults(service, self.now)
            .filter_map(|it| it.takes)
            .max()
        {
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
        it.held = held;
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

    /// What is wrong with a service for what begins at that time.
    fn faults(&self, service: u32, at: i64) -> impl Iterator<Item = &Fault> {
        let now = at as u64;
        self.scenario.faults.iter().filter(move |it| {
            it.service == service as usize && (it.at..it.at.saturating_add(it.lasts)).contains(&now)
        })
    }

    /// A worker has done its own part: it answers, or calls another service first.
    pub(crate) fn worked(&mut self, attempt: u32) {
        if self.attempts[attempt as usize].at_callee != AtCallee::Working {
            return;
        }
        let pod = self.attempts[attempt as usize].pod;
        let (service, caller) = (
            self.pods[pod as usize].service,
            self.pods[pod as usize].caller,
        );
        let begun = self.attempts[attempt as usize].taken;
        let chances = self.faults(service, begun).map(|it| it.fails);
        let chance = chances.fold(0.0, f64::max);
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
    pub(crate) fn leave(&mut self, attempt: u32, good: bool) {
        if self.free(attempt) {
            let request = self.attempts[attempt as usize].request;
            let caller = self.requests[request as usize].caller;
            let back = self.way(self.callers[caller as usize].service);
            self.events
                .put(self.now + back, Event::Answered(attempt, good));
        }
    }

    /// The worker of an attempt is free for the next one; whether there was one.
    pub(crate) fn free(&mut self, attempt: u32) -> bool {
        let it = &mut self.attempts[attempt as usize];
        let calling = match it.at_callee {
            AtCallee::Working => false,
            AtCallee::Calling => true,
            _ => return false,
        };
        let (held, end) = (it.held, it.work_end);
        (it.at_callee, it.work_end, it.left) = (AtCallee::Done, self.now, self.now);
        it.work_start = it.work_start.min(self.now);
        let pod = it.pod;
        if !calling && end > self.now {
            let service = self.pods[pod as usize].service as usize;
            let quota = self.scenario.services[service].cpu;
            self.pods[pod as usize].give_back(self.now, held, end, quota);
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
    pub(crate) fn gone_away(&mut self, attempt: u32) {
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
}
