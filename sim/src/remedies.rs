//! What would have helped: a scenario with one thing changed, over many seeds.
//!
//! Owns which remedies there are and what each changes. Invariants: a remedy changes the
//! scenario and never the draws, so that each seed gives all of them the very same requests; what nobody did is
//! not done, hence [`as it was`](Remedy::AsItWas) is without the hands that are remedies themselves. Cost: that of the
//! runs. Pinned by `tests/remedies.rs`.

use halfopen::companions::{BudgetSettings, ShedderSettings, ThrottleSettings};
use halfopen::{ConfigError, Jitter, MAX_PROBES, Ramp, Settings};

use crate::autoscaler::{Hpa, Metric};
use crate::draw::mix;
use crate::scenario::{Act, Hand, Scenario, Shedding, Spread};
use crate::simulation::Simulation;
use crate::summary::Summary;

/// How long each run lasts at most, nanoseconds.
pub const HORIZON: u64 = 600 * S;

const S: u64 = 1_000_000_000;

/// When hands act in a scenario that has none, nanoseconds.
const HANDS_ACT: u64 = 120 * S;

/// The largest bulkhead.
const MOST_AT_ONCE: u32 = 1_000_000;

/// To how many times as many pods hands and autoscalers go in a scenario that does not say it.
const MORE: u32 = 4;

/// One change that might help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remedy {
    /// Nothing is changed.
    AsItWas,
    /// Breakers admit a growing share for 20 s after the probes, Envoy's curve from 10 %.
    Ramp20s,
    /// The same for two minutes.
    Ramp2m,
    /// The same for ten minutes.
    Ramp10m,
    /// Ten times as many probes decide.
    HalfOpenHeavier,
    /// The autoscaler looks at what waits, a pod and worker, in the last 15 s.
    ScaleOnQueue,
    /// The autoscaler looks at what is at a pod, a worker, in the last 15 s.
    ScaleOnConcurrency,
    /// The autoscaler looks at 15 s instead of a minute.
    HpaFast,
    /// Nobody changes the number of pods.
    ScaleNever,
    /// Somebody adds pods.
    PreScale,
    /// Somebody keeps the breakers closed.
    ForceClose,
    /// Pods refuse what waited too long.
    Shed,
    /// Callees hear that their callers have given up.
    Cancel,
    /// Timeouts are half as long.
    TimeoutShorter,
    /// Retries have a budget.
    RetryBudget,
    /// Google's adaptive throttle in the place of the breaker.
    AdaptiveThrottle,
    /// Each instance waits for a time of its own before it probes.
    JitteredWait,
    /// Each instance has no more than twice the calls under way that it has when all is well.
    Bulkhead,
}

use Remedy::*;

/// Each remedy alone, in the order of tables.
const ALONE: [Remedy; 17] = [
    AsItWas,
    Ramp20s,
    Ramp2m,
    Ramp10m,
    HalfOpenHeavier,
    ScaleOnQueue,
    ScaleOnConcurrency,
    HpaFast,
    PreScale,
    ForceClose,
    Shed,
    Cancel,
    TimeoutShorter,
    RetryBudget,
    AdaptiveThrottle,
    JitteredWait,
    Bulkhead,
];

/// Those that might help each other: ramps with each way to scale, what adds load with what keeps it useful, and
/// what spreads the herd with what scales for it.
const PAIRS: [[Remedy; 2]; 20] = [
    [Ramp20s, ScaleNever],
    [Ramp2m, ScaleNever],
    [Ramp10m, ScaleNever],
    [Ramp20s, ScaleOnQueue],
    [Ramp2m, ScaleOnQueue],
    [Ramp10m, ScaleOnQueue],
    [Ramp20s, ScaleOnConcurrency],
    [Ramp2m, ScaleOnConcurrency],
    [Ramp10m, ScaleOnConcurrency],
    [Ramp20s, HpaFast],
    [Ramp2m, HpaFast],
    [Ramp10m, HpaFast],
    [HalfOpenHeavier, ScaleOnQueue],
    [JitteredWait, HpaFast],
    [JitteredWait, ScaleOnQueue],
    [PreScale, Ramp20s],
    [PreScale, ForceClose],
    [ForceClose, Cancel],
    [ForceClose, Shed],
    [Shed, Cancel],
];

impl Remedy {
    /// Its name in tables, JSON and links.
    pub fn name(self) -> &'static str {
        match self {
            AsItWas => "as_it_was",
            Ramp20s => "ramp_20s",
            Ramp2m => "ramp_2m",
            Ramp10m => "ramp_10m",
            HalfOpenHeavier => "half_open_heavier",
            ScaleOnQueue => "scale_on_queue",
            ScaleOnConcurrency => "scale_on_concurrency",
            HpaFast => "hpa_fast",
            ScaleNever => "scale_never",
            PreScale => "pre_scale",
            ForceClose => "force_close",
            Shed => "shed",
            Cancel => "cancel",
            TimeoutShorter => "timeout_shorter",
            RetryBudget => "retry_budget",
            AdaptiveThrottle => "adaptive_throttle",
            JitteredWait => "jittered_wait",
            Bulkhead => "bulkhead",
        }
    }

    /// The remedy of a name.
    pub fn of_name(name: &str) -> Option<Remedy> {
        Remedy::all().find(|it| it.name() == name)
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Remedy> {
        ALONE.into_iter().chain([ScaleNever])
    }

    /// Changes a scenario. `as_told` is the scenario with its hands, which say what people would have done and when.
    ///
    /// # Errors
    ///
    /// Settings that `halfopen` refuses.
    fn apply(self, scenario: &mut Scenario, as_told: &Scenario) -> Result<(), ConfigError> {
        let ramp = |over| move |it: &mut Settings| it.ramp = Ramp::Curve { over };
        match self {
            AsItWas => {}
            Ramp20s => scenario.each_breaker(&ramp(20 * S))?,
            Ramp2m => scenario.each_breaker(&ramp(120 * S))?,
            Ramp10m => scenario.each_breaker(&ramp(600 * S))?,
            HalfOpenHeavier => {
                scenario.each_breaker(&|it| it.probes = (10 * it.probes).min(MAX_PROBES))?
            }
            JitteredWait => scenario.each_breaker(&|it| it.jitter = Jitter::Full)?,
            ScaleOnQueue => each_autoscaler(scenario, as_told, &|it, workers| {
                it.metric = Metric::Queue { target: workers };
                it.window = it.every;
            }),
            ScaleOnConcurrency => each_autoscaler(scenario, as_told, &|it, workers| {
                it.metric = Metric::Concurrency { target: workers };
                it.window = it.every;
            }),
            HpaFast => {
                for hpa in scenario
                    .services
                    .iter_mut()
                    .flat_map(|it| &mut it.autoscaler)
                {
                    hpa.window = hpa.window.min(15 * S);
                }
            }
            ScaleNever => scenario
                .services
                .iter_mut()
                .for_each(|it| it.autoscaler = None),
            PreScale => {
                for service in called_by_groups(scenario) {
                    let pods = most_pods(as_told, service);
                    hand(scenario, as_told, Act::Scale { service, pods });
                }
            }
            ForceClose => {
                for group in 0..scenario.groups.len() {
                    hand(scenario, as_told, Act::Close { group });
                }
            }
            Shed => {
                for service in called_by_groups(scenario) {
                    let settings = ShedderSettings::default();
                    scenario.services[service].shedding = Some(Shedding::Age(settings));
                }
            }
            Cancel => scenario.policies().for_each(|it| it.cancel = true),
            TimeoutShorter => {
                scenario
                    .policies()
                    .for_each(|it| it.timeout = it.timeout.map(|it| (it / 2).max(1)));
            }
            RetryBudget => {
                for retries in scenario.policies().filter_map(|it| it.retries.as_mut()) {
                    retries.budget = Some(BudgetSettings::AWS);
                }
            }
            AdaptiveThrottle => {
                for policy in scenario.policies().filter(|it| it.breaker.is_some()) {
                    policy.breaker = None;
                    policy.throttle = Some(ThrottleSettings::default());
                }
            }
            Bulkhead => {
                for at in 0..scenario.groups.len() {
                    let most = scenario.under_way(at) * 2.0;
                    let most = (most.ceil() as u32).clamp(1, MOST_AT_ONCE);
                    let policy = &mut scenario.groups[at].policy;
                    policy.max_concurrent =
                        Some(policy.max_concurrent.map_or(most, |it| it.min(most)));
                }
            }
        }
        Ok(())
    }
}

/// A scenario with remedies.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The names of its remedies, joined by `+`.
    pub name: String,
    /// What is run.
    pub scenario: Scenario,
}

impl Variant {
    /// A scenario with these remedies instead of what people did, over the horizon.
    ///
    /// # Errors
    ///
    /// Settings that `halfopen` refuses.
    pub fn new(told: &Scenario, remedies: &[Remedy]) -> Result<Variant, ConfigError> {
        let mut scenario = told.clone();
        // What is to come has to come.
        scenario.duration = match told.changes_until() < HORIZON {
            true => HORIZON,
            false => told.duration.max(HORIZON),
        };
        scenario.hands.retain(|it| !ends_it(told, it));
        for remedy in remedies {
            remedy.apply(&mut scenario, told)?;
        }
        let names: Vec<&str> = remedies.iter().map(|it| it.name()).collect();
        Ok(Variant {
            name: names.join("+"),
            scenario,
        })
    }

    /// A run until a minute after it has recovered.
    ///
    /// # Errors
    ///
    /// Settings that `halfopen` refuses.
    pub fn start(&self, seed: u64) -> Result<Simulation, ConfigError> {
        Ok(Simulation::new(self.scenario.clone(), seed)?.until_recovered())
    }

    /// The figures of such a run.
    ///
    /// # Errors
    ///
    /// Settings that `halfopen` refuses.
    pub fn run(&self, seed: u64) -> Result<Summary, ConfigError> {
        let mut simulation = self.start(seed)?;
        while simulation.step()? {}
        Ok(simulation.finish().summary)
    }
}

/// As it was, each remedy alone, and the pairs. Where a pair is the same as one of its parts, since the other has
/// nothing to change here, it is left out; a remedy alone never is.
///
/// # Errors
///
/// Settings that `halfopen` refuses.
pub fn variants(told: &Scenario) -> Result<Vec<Variant>, ConfigError> {
    let mut variants = Vec::new();
    for remedy in ALONE {
        variants.push(Variant::new(told, &[remedy])?);
    }
    for pair in PAIRS {
        let variant = Variant::new(told, &pair)?;
        if !variants.iter().any(|it| it.scenario == variant.scenario) {
            variants.push(variant);
        }
    }
    Ok(variants)
}

/// What runs come to, each with the name of its variant, as one number: it changes with whatever changes a figure.
pub fn fingerprint<'a>(runs: impl Iterator<Item = (&'a str, &'a Summary)>) -> u64 {
    runs.fold(0, |print, (name, it)| {
        let figures = [
            it.requests,
            it.served,
            it.failed,
            it.withheld,
            it.shed,
            it.wasted_ns,
            it.recovered_at.unwrap_or(u64::MAX),
            it.pod_ns,
            it.idle_ns,
        ];
        let name = name.bytes().map(u64::from);
        name.chain(figures).fold(print, |print, it| mix(print ^ it))
    })
}

/// Whether a hand is a remedy: it added pods, or closed breakers that no hand had opened before.
fn ends_it(scenario: &Scenario, hand: &Hand) -> bool {
    match hand.act {
        Act::Close { group } => {
            let opened = |it: &Hand| it.act == Act::Open { group } && it.at <= hand.at;
            !scenario.hands.iter().any(opened)
        }
        Act::Open { .. } => false,
        Act::Scale { service, pods } => pods > scenario.services[service].pods,
    }
}

/// Somebody does something when the first hand of the scenario did.
fn hand(scenario: &mut Scenario, told: &Scenario, act: Act) {
    let ended = told.hands.iter().filter(|it| ends_it(told, it));
    let at = ended.map(|it| it.at).min().unwrap_or(HANDS_ACT);
    scenario.hands.push(Hand { at, act });
}

/// The services that stand in front.
fn called_by_groups(scenario: &Scenario) -> Vec<usize> {
    let called = |at: &usize| scenario.groups.iter().any(|it| it.calls == *at);
    (0..scenario.services.len()).filter(called).collect()
}

/// As many pods as people gave a service, or several times those of the beginning.
fn most_pods(told: &Scenario, of: usize) -> u32 {
    let given = told.hands.iter().filter_map(|it| match it.act {
        Act::Scale { service, pods } if service == of => Some(pods),
        _ => None,
    });
    let usual = told.services[of].pods.max(1).saturating_mul(MORE);
    given
        .filter(|&it| it > told.services[of].pods)
        .max()
        .unwrap_or(usual)
}

/// The autoscalers of the services in front, which get one if they have none. The change is told the workers
/// of a pod.
fn each_autoscaler(scenario: &mut Scenario, told: &Scenario, change: &dyn Fn(&mut Hpa, f64)) {
    for at in called_by_groups(scenario) {
        let most = most_pods(told, at);
        let service = &mut scenario.services[at];
        let usual = Hpa::new(Metric::Cpu { target: 80.0 }, service.pods, most);
        change(
            service.autoscaler.get_or_insert(usual),
            service.workers.into(),
        );
    }
}

impl Scenario {
    /// The calls that an instance of a group has under way at its highest rate while all is well: rate times
    /// time (Little, 1961).
    fn under_way(&self, group: usize) -> f64 {
        let group = &self.groups[group];
        let rates = group.demand.0.iter().map(|it| it.rate);
        let rate = rates.fold(0.0, f64::max) / f64::from(group.instances.max(1));
        rate * self.takes(group.calls) as f64 / S as f64
    }

    /// What a call of a service takes while all is well, nanoseconds.
    fn takes(&self, service: usize) -> u64 {
        let it = &self.services[service];
        let middle = |it: &Spread| match *it {
            Spread::LogNormal { median, .. } => median,
            Spread::Exponential { mean } => mean,
        };
        let held = it.held.as_ref().map_or(0, middle).max(middle(&it.work));
        let hops = 2 * (1 + u64::from(it.proxy.is_some()));
        let below = it.calls.as_ref().map_or(0, |it| self.takes(it.0));
        held + hops * self.network + below
    }
}
