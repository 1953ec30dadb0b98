//! The pods of each service: who is there, who takes requests, and who decides how many there are.
//!
//! Owns the life of pods and what an autoscaler is shown of them. Invariant: who takes requests is ready, who is
//! told to end takes none and ends when it has answered everything. O(pods) a decision and a sample. Pinned by
//! `tests/conservation.rs` and `tests/it/simulate.rs` of the workspace.

use halfopen::ConfigError;

use crate::autoscaler::{Autoscaler, Metric, PodSeen};
use crate::calls::{Caller, Of};
use crate::draw::Stream;
use crate::pods::{Phase, Pod};
use crate::run::Sample;
use crate::scenario::Service;
use crate::world::{Event, World, instance_name};

/// How often services are sampled, nanoseconds.
pub(crate) const SAMPLED: i64 = 1_000_000_000;

/// A pod that is not ready yet counts as such for so long, unless a whole window has been seen of it:
/// Kubernetes' `--horizontal-pod-autoscaler-cpu-initialization-period`.
const INITIALISING: i64 = 300_000_000_000;

/// A service while it runs.
#[derive(Debug)]
pub(crate) struct Running {
    /// Pods that are not gone: places in `pods`.
    pub(crate) alive: Vec<u32>,
    /// Those of them that take requests.
    pub(crate) ready: Vec<u32>,
    started: u32,
    autoscaler: Option<Autoscaler>,
    /// Hands have asked for so many at least.
    pub(crate) least: u32,
    /// Draws of the balancer.
    pub(crate) balanced: u64,
}

impl Running {
    pub(crate) fn new(service: &Service) -> Running {
        Running {
            alive: Vec::new(),
            ready: Vec::new(),
            started: 0,
            autoscaler: service.autoscaler.clone().map(Autoscaler::new),
            least: 0,
            balanced: 0,
        }
    }
}

impl World {
    pub(crate) fn create_pod(&mut self, service: u32) -> Result<u32, ConfigError> {
        let scenario = self.scenario.clone();
        let of = &scenario.services[service as usize];
        let running = &mut self.services[service as usize];
        let number = running.started;
        running.started += 1;
        let mut pod = Pod::new(service, number, self.now, of.shedding)?;
        if let Some((called, policy)) = &of.calls {
            let name = instance_name(&of.name, number);
            let caller = Caller::new(Of::Service(service), number, *called as u32, policy, &name)?;
            pod.caller = self.callers.len() as u32;
            self.callers.push(caller);
        }
        let at = self.pods.len() as u32;
        self.pods.push(pod);
        self.services[service as usize].alive.push(at);
        Ok(at)
    }

    pub(crate) fn make_ready(&mut self, pod: u32) {
        let it = &mut self.pods[pod as usize];
        if it.phase != Phase::Starting {
            return;
        }
        (it.phase, it.ready_at) = (Phase::Ready, self.now);
        let service = it.service as usize;
        self.services[service].ready.push(pod);
    }

    pub(crate) fn scale(&mut self, service: u32, wanted: u32) -> Result<(), ConfigError> {
        let scenario = self.scenario.clone();
        let of = &scenario.services[service as usize];
        let staying = |world: &World| -> Vec<u32> {
            let alive = world.services[service as usize].alive.iter().copied();
            alive
                .filter(|&it| world.pods[it as usize].phase != Phase::Ending)
                .collect()
        };
        let mut pods = staying(self);
        while (pods.len() as u32) < wanted {
            let pod = self.create_pod(service)?;
            let number = self.pods[pod as usize].number.into();
            let start = self.draws.time(Stream::Start(service), number, of.start);
            self.events
                .put(self.now.saturating_add_unsigned(start), Event::Started(pod));
            pods.push(pod);
        }
        // Those that are not ready yet go first, then the youngest.
        let is_starting = |it: &u32| self.pods[*it as usize].phase == Phase::Starting;
        let (starting, others): (Vec<u32>, Vec<u32>) = pods.into_iter().partition(is_starting);
        for &pod in others.iter().chain(&starting).skip(wanted as usize) {
            self.pods[pod as usize].phase = Phase::Ending;
            self.services[service as usize]
                .ready
                .retain(|&it| it != pod);
            self.end_pod_if_idle(pod);
        }
        Ok(())
    }

    pub(crate) fn end_pod_if_idle(&mut self, pod: u32) {
        let it = &mut self.pods[pod as usize];
        if it.phase == Phase::Ending && it.load() == 0 {
            it.count(self.now);
            (it.phase, it.gone_at) = (Phase::Gone, self.now);
            let service = it.service as usize;
            self.services[service].alive.retain(|&other| other != pod);
        }
    }

    pub(crate) fn decide(&mut self, service: u32) -> Result<(), ConfigError> {
        let scenario = self.scenario.clone();
        let of = &scenario.services[service as usize];
        let Some(hpa) = &of.autoscaler else {
            return Ok(());
        };
        self.events
            .put(self.now + hpa.every as i64, Event::Decide(service));
        let to = self.now - hpa.lag as i64;
        let from = to - hpa.window as i64;
        let seen = |pod: u32| {
            let pod = &self.pods[pod as usize];
            let mean = pod.mean(from, to);
            let metric = mean.map(|it| match hpa.metric {
                Metric::Cpu { .. } => 100.0 * it.working / of.processors(),
                Metric::Queue { .. } => it.waiting,
                Metric::Concurrency { .. } => it.busy + it.waiting,
            });
            let whole = pod.ready_at <= from;
            let initialised = pod.created_at.saturating_add(INITIALISING) <= self.now;
            PodSeen {
                ready: pod.phase == Phase::Ready && (whole || initialised),
                metric,
            }
        };
        let alive = &self.services[service as usize].alive;
        let pods: Vec<PodSeen> = alive
            .iter()
            .filter(|&&it| self.pods[it as usize].phase != Phase::Ending)
            .map(|&it| seen(it))
            .collect();
        let running = &mut self.services[service as usize];
        let Some(autoscaler) = &mut running.autoscaler else {
            return Ok(());
        };
        let wanted = autoscaler.decide(self.now as u64, &pods).max(running.least);
        self.scale(service, wanted)
    }

    pub(crate) fn sample(&mut self) {
        self.events.put(self.now + SAMPLED, Event::Sample);
        for (service, running) in self.services.iter().enumerate() {
            let of = &self.scenario.services[service];
            let kept = of.autoscaler.as_ref().map_or(0, |it| it.window + it.lag) as i64;
            let (mut working, mut waiting) = (0.0, 0);
            for &pod in &running.alive {
                let it = &mut self.pods[pod as usize];
                it.sample(self.now, self.now - kept - SAMPLED);
                waiting += it.waiting();
                let mean = it.mean(self.now - SAMPLED, self.now);
                working += mean.map_or(0.0, |it| it.working);
            }
            let processors = running.alive.len() as f64 * of.processors();
            self.samples.push(Sample {
                at: self.now,
                service: service as u32,
                pods: running.alive.len() as u32,
                ready: running.ready.len() as u32,
                waiting,
                busy: 100.0 * working / processors.max(1e-9),
            });
        }
    }
}
