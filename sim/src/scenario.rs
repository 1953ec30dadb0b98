//! What is simulated, as plain data.
//!
//! Owns the words of a scenario: who calls whom and how often, what a service is able to do, who scales it,
//! what breaks and what hands do. Invariant: times are nanoseconds since its beginning, and places are those
//! of its own lists. Each part that is `None` or empty is off. The TOML form is in
//! `text.rs`, key by key the same. Pinned by `tests/scenario.rs`.

use halfopen::companions::{BudgetSettings, RetrySettings, ShedderSettings, ThrottleSettings};
use halfopen::{Config, ConfigError, Settings};

pub use halfopen::companions::Priority;

use crate::autoscaler::Hpa;
use crate::remedies::HORIZON;

/// When scenarios begin that do not say when, nanoseconds since 1970: 2026-09-26, 08:00 UTC.
pub(crate) const STARTS_AT: i64 = 1_790_409_600_000_000_000;

/// A simulated incident.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What it is called.
    pub name: String,
    /// When it begins, nanoseconds since 1970; the spans have such times.
    pub starts_at: i64,
    /// How long it lasts, nanoseconds.
    pub duration: u64,
    /// How long a message takes from one process to the next, nanoseconds.
    pub network: u64,
    /// Who calls.
    pub groups: Vec<Group>,
    /// Who is called.
    pub services: Vec<Service>,
    /// What breaks, and when.
    pub faults: Vec<Fault>,
    /// What people do, and when.
    pub hands: Vec<Hand>,
}

/// Processes that call a service with a demand of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The service that its spans name.
    pub name: String,
    /// How many processes; each has its own breaker, and an equal share of the demand.
    pub instances: u32,
    /// Requests of all of them.
    pub demand: Demand,
    /// What they call: a place in [`Scenario::services`].
    pub calls: usize,
    /// How they call.
    pub policy: Policy,
    /// How much their requests matter to a service that sheds.
    pub priority: Priority,
    /// The last service that their requests need, which answers without calling another: a place in
    /// [`Scenario::services`]. `None`: all of those that call each other.
    pub needs: Option<usize>,
}

/// How many requests come: independently of each other, at a rate that is linear between points.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand(pub Vec<Point>);

/// A rate from some time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Nanoseconds since the beginning.
    pub at: u64,
    /// Requests a second at that time.
    pub rate: f64,
    /// Whether the rate has gone there linearly from the point before; else it jumps.
    pub ramp: bool,
}

/// How a process calls: the layers of a `halfopen` stack, and who is told when it gives up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    /// An attempt is cut at this age, nanoseconds; `None`: never.
    pub timeout: Option<u64>,
    /// The breaker; `None`: calls are always made.
    pub breaker: Option<Config>,
    /// Failed attempts are made again.
    pub retries: Option<Retries>,
    /// Calls at once; more are withheld.
    pub max_concurrent: Option<u32>,
    /// Calls are withheld by chance when too few are accepted.
    pub throttle: Option<ThrottleSettings>,
    /// The callee learns that its caller has given up, and stops.
    pub cancel: bool,
}

/// When failed attempts are made again, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// When.
    pub settings: RetrySettings,
    /// How many among all; `None`: as many as there are failures.
    pub budget: Option<BudgetSettings>,
}

/// A service on pods behind a load balancer.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// The service that its spans name.
    pub name: String,
    /// The proxy in front of it, if its spans are wanted.
    pub proxy: Option<String>,
    /// Pods at the beginning.
    pub pods: u32,
    /// The share of its requests that goes to the pod with the fewest; the others go to any.
    pub least_loaded: f64,
    /// Requests that a pod works on at once.
    pub workers: u32,
    /// What its span takes.
    pub work: Spread,
    /// How long a worker is held for a request, if longer than the span.
    pub held: Option<Spread>,
    /// How much of a processor each pod may use; `None`: as much as its workers can.
    pub cpu: Option<Quota>,
    /// Pods that have just started hold their workers longer.
    pub cold: Option<Cold>,
    /// By which share of itself each busy worker beside it prolongs a request.
    pub slowing: f64,
    /// How long a pod takes to start.
    pub start: Spread,
    /// Which requests are refused; `None`: all wait.
    pub shedding: Option<Shedding>,
    /// What each of its requests calls while it holds its worker.
    pub calls: Option<(usize, Policy)>,
    /// Who changes the number of pods.
    pub autoscaler: Option<Hpa>,
}

impl Scenario {
    /// How everybody calls.
    pub(crate) fn policies(&mut self) -> impl Iterator<Item = &mut Policy> {
        let groups = self.groups.iter_mut().map(|it| &mut it.policy);
        let services = self.services.iter_mut();
        groups.chain(services.filter_map(|it| it.calls.as_mut().map(|it| &mut it.1)))
    }

    /// Sets all breakers.
    pub(crate) fn each_breaker(
        &mut self,
        change: &dyn Fn(&mut Settings),
    ) -> Result<(), ConfigError> {
        for breaker in self.policies().filter_map(|it| it.breaker.as_mut()) {
            let mut settings = breaker.settings();
            change(&mut settings);
            *breaker = Config::new(settings)?;
        }
        Ok(())
    }

    /// When the last fault is over, the last hand has acted, and the last rate within the horizon of remedies has
    /// been reached, nanoseconds. Demand may go on changing for ever, and a fault that lasts to the end is never over.
    pub(crate) fn changes_until(&self) -> u64 {
        let faults = self.faults.iter().map(|it| {
            let end = it.at.saturating_add(it.lasts);
            if end < self.duration { end } else { it.at }
        });
        let hands = self.hands.iter().map(|it| it.at);
        let rates = self.groups.iter().flat_map(|it| &it.demand.0);
        let rates = rates.map(|it| it.at).filter(|&it| it < HORIZON);
        let changes = faults.chain(hands).chain(rates);
        changes.max().unwrap_or(0)
    }
}

impl Group {
    /// Processes that call the first service at a steady rate, requests a second of all of them.
    pub fn new(name: &str, instances: u32, rate: f64, policy: Policy) -> Group {
        Group {
            name: name.to_owned(),
            instances,
            demand: Demand::steady(rate),
            calls: 0,
            policy,
            priority: Priority::Critical,
            needs: None,
        }
    }
}

impl Service {
    /// A service with all else off.
    pub fn new(name: &str, pods: u32, work: Spread) -> Service {
        Service {
            name: name.to_owned(),
            proxy: None,
            pods,
            least_loaded: 1.0,
            workers: 1,
            work,
            held: None,
            cpu: None,
            cold: None,
            slowing: 0.0,
            start: Spread::same(0),
            shedding: None,
            calls: None,
            autoscaler: None,
        }
    }

    /// How many processors' work a pod can do.
    pub(crate) fn processors(&self) -> f64 {
        let workers = f64::from(self.workers.max(1));
        let quota = self.cpu.map(|it| it.quota as f64 / it.period as f64);
        quota.map_or(workers, |it| it.min(workers))
    }
}

/// A time that differs from request to request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// Its logarithm is normal.
    LogNormal {
        /// Half of them are shorter, nanoseconds.
        median: u64,
        /// The standard deviation of the natural logarithm; 0: all are the same.
        sigma: f64,
    },
    /// It is over at any moment with the same probability.
    Exponential {
        /// Nanoseconds.
        mean: u64,
    },
}

impl Spread {
    /// Always the same time, nanoseconds.
    pub fn same(time: u64) -> Spread {
        Spread::LogNormal {
            median: time,
            sigma: 0.0,
        }
    }
}

/// A limit on processor time as Linux enforces it (CFS bandwidth control, `cpu.max`): once a pod has worked for
/// its quota within a period, it stands still until the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// How long its workers may work in all, nanoseconds.
    pub quota: u64,
    /// In each such time, nanoseconds.
    pub period: u64,
}

/// What a pod lacks at first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cold {
    /// How many times longer a worker is held.
    pub factor: f64,
    /// For so many requests of the pod.
    pub requests: u32,
    /// Over so many further ones it gets warm.
    pub warming: u32,
    /// A pod never gets warm while there are so few or fewer: each then sees too much of everything.
    pub pods: u32,
}

/// Which requests a pod refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shedding {
    /// Those that find so many waiting.
    Length(u32),
    /// Those that waited too long, the least important first.
    Age(ShedderSettings),
}

/// Something breaks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// When, nanoseconds.
    pub at: u64,
    /// For how long, nanoseconds.
    pub lasts: u64,
    /// A place in [`Scenario::services`].
    pub service: usize,
    /// Its requests take this long instead, nanoseconds; `None`: as long as ever.
    pub takes: Option<u64>,
    /// The share of its requests that fail.
    pub fails: f64,
}

/// Somebody does something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hand {
    /// When, nanoseconds.
    pub at: u64,
    /// What.
    pub act: Act,
}

/// What somebody does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Keeps the breakers of a group closed, whatever happens.
    Close {
        /// A place in [`Scenario::groups`].
        group: usize,
    },
    /// Opens the breakers of a group until they are closed by hand.
    Open {
        /// A place in [`Scenario::groups`].
        group: usize,
    },
    /// Starts or stops pods until there are so many, and keeps at least as many from then on.
    Scale {
        /// A place in [`Scenario::services`].
        service: usize,
        /// How many.
        pods: u32,
    },
}
