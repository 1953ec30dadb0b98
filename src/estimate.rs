//! A scenario from a file: what the simulator needs to know of a service and its callers, told from their spans.
//!
//! Owns each figure's source. Invariants: nothing is taken from what the file does not show, but said to be assumed;
//! what a person gives instead is taken as it is. What spans never tell (queues' lengths, autoscalers, cold starts,
//! limits on processors) is off: a worker is held for as long as the throughput of full pods tells. O(spans · log).
//! Pinned by `tests/it/estimate.rs`, against scenarios that are known.

use std::ops::Range;

use halfopen::Config;
use herdscope_sim::{Demand, Group, Policy, Scenario, Service, Spread};

use crate::advise;
use crate::calls::{CallOutcome, Calls, Edge};
use crate::column::Column;
use crate::dataset::Dataset;
use crate::format;
use crate::ingest::time::{Told, Unit, parse_duration};
use crate::observed::observe;
use crate::order;
use crate::rows::{Kind, NONE};
use crate::spans::SpanTable;

/// A figure that can be given instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// Requests of all instances, a second.
    Demand,
    /// The age at which calls are cut.
    Timeout,
    /// Pods of the service.
    Pods,
    /// Requests that a pod works on at once.
    Workers,
    /// The median of its spans.
    Work,
    /// How long a worker is held for a request.
    Held,
    /// How long a message takes.
    Network,
}

impl Key {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Key; 7] = [
        Key::Demand,
        Key::Timeout,
        Key::Pods,
        Key::Workers,
        Key::Work,
        Key::Held,
        Key::Network,
    ];

    /// Its name in links and forms.
    pub fn name(self) -> &'static str {
        match self {
            Key::Demand => "demand",
            Key::Timeout => "timeout",
            Key::Pods => "pods",
            Key::Workers => "workers",
            Key::Work => "work",
            Key::Held => "held",
            Key::Network => "network",
        }
    }

    /// What is expected of it.
    pub fn expected(self) -> &'static str {
        match self {
            Key::Demand => "requests a second, as in 200/s",
            Key::Pods | Key::Workers => "a whole number from 1",
            _ => "a time with its unit, as in 20ms",
        }
    }

    /// Whether this can be given, in its canonical form.
    pub fn read(self, text: &str) -> Option<String> {
        let text = text.trim();
        match self {
            Key::Demand => rate(text).map(print_rate),
            Key::Pods | Key::Workers => count(text).map(|it| it.to_string()),
            _ => time(text).map(print_time),
        }
    }
}

/// A figure, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Which.
    pub key: Key,
    /// What it is, as text that [`Key::read`] reads.
    pub value: String,
    /// A sentence on where it comes from.
    pub source: String,
    /// A person gave it.
    pub given: bool,
}

/// A scenario, and the facts that it is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// As it was: the file's callers of a service, for as long as the file.
    pub scenario: Scenario,
    /// Each figure of the edge.
    pub facts: Vec<Fact>,
}

const S: f64 = 1e9;

/// Where demand changes, it does so in steps of this, nanoseconds.
const STEP: u64 = 10_000_000_000;

/// Of a longer file the steps would be more than anybody looks at, nanoseconds.
const LONGEST: u64 = DAY;

/// The scenario of an edge: its callers with this breaker, if any, the callee on pods, and whoever else calls it.
pub fn estimate(
    dataset: &Dataset,
    edge: &Edge,
    breaker: Option<&Config>,
    given: &[(Key, String)],
) -> Estimate {
    let served = Served::of(&dataset.table, &edge.to);
    let withheld = withheld_calls(dataset, edge);
    let facts: Vec<Fact> = Key::ALL
        .into_iter()
        .map(|key| match given.iter().find(|it| it.0 == key) {
            Some((_, value)) => Fact {
                key,
                value: value.clone(),
                source: "given by hand".to_owned(),
                given: true,
            },
            None => {
                let (value, source) = told(dataset, edge, &served, withheld, key);
                Fact {
                    key,
                    value,
                    source,
                    given: false,
                }
            }
        })
        .collect();
    let value = |key: Key| {
        facts
            .iter()
            .find(|it| it.key == key)
            .map_or("", |it| &it.value)
    };
    let extent = dataset.table.extent().unwrap_or(0..1);
    let curve = !given.iter().any(|it| it.0 == Key::Demand) && withheld == 0.0;
    let demand = match curve {
        true => steps(&edge.calls, &extent),
        false => Demand::steady(rate(value(Key::Demand)).unwrap_or(0.0)),
    };
    let policy = Policy {
        timeout: time(value(Key::Timeout)),
        breaker: breaker.cloned(),
        ..Policy::default()
    };
    let mut groups = vec![group(edge, demand, policy)];
    let others = dataset
        .edges
        .iter()
        .filter(|it| it.to == edge.to && it.from != edge.from);
    groups.extend(others.map(|it| {
        let policy = Policy {
            timeout: advise::timeout_in_use(&it.calls),
            ..Policy::default()
        };
        group(it, steps(&it.calls, &extent), policy)
    }));
    let work = Spread::LogNormal {
        median: time(value(Key::Work)).unwrap_or(0),
        sigma: served.sigma(),
    };
    let service = Service {
        proxy: edge.via.first().cloned(),
        least_loaded: 0.5,
        workers: count(value(Key::Workers)).unwrap_or(1),
        held: time(value(Key::Held)).map(Spread::same),
        start: Spread::same(20_000_000_000),
        ..Service::new(&edge.to, count(value(Key::Pods)).unwrap_or(1), work)
    };
    Estimate {
        scenario: Scenario {
            name: dataset.name.clone(),
            starts_at: extent.start,
            duration: extent.end.abs_diff(extent.start).max(1),
            network: time(value(Key::Network)).unwrap_or(0),
            groups,
            services: vec![service],
            faults: Vec::new(),
            hands: Vec::new(),
        },
        facts,
    }
}

impl Estimate {
    /// The scenario as a file, each figure with its source.
    pub fn to_toml(&self) -> String {
        let it = &self.scenario;
        let source = |key: Key| {
            let fact = self.facts.iter().find(|it| it.key == key);
            fact.map_or_else(String::new, |it| ["  # ", &it.source].concat())
        };
        let time = |ns: u64| quoted(&print_time(ns));
        let mut text = format!(
            "name = {}\nduration = {}\nnetwork = {}{}\n",
            quoted(&it.name),
            quoted(&format!(
                "{}s",
                it.duration.div_ceil(1_000_000_000).min(YEAR_S)
            )),
            time(it.network),
            source(Key::Network)
        );
        for (at, group) in it.groups.iter().enumerate() {
            let source = |key: Key| if at == 0 { source(key) } else { String::new() };
            text += &format!(
                "\n[[client]]\nname = {}\ninstances = {}\ncalls = {}\nrate = {}{}\n",
                quoted(&group.name),
                group.instances,
                quoted(&it.services[group.calls].name),
                demand(&group.demand),
                source(Key::Demand)
            );
            if let Some(timeout) = group.policy.timeout {
                text += &format!("timeout = {}{}\n", time(timeout), source(Key::Timeout));
            }
            if let Some(breaker) = &group.policy.breaker {
                text += &format!("breaker = {}\n", quoted(&breaker.to_string()));
            }
        }
        for service in &it.services {
            text += &format!("\n[[service]]\nname = {}\n", quoted(&service.name));
            if let Some(proxy) = &service.proxy {
                text += &format!("proxy = {}\n", quoted(proxy));
            }
            text += &format!("pods = {}{}\n", service.pods, source(Key::Pods));
            text += &format!("workers = {}{}\n", service.workers, source(Key::Workers));
            let spread = |it: &Spread| match it {
                Spread::LogNormal { median, sigma: 0.0 } => time(*median),
                Spread::LogNormal { median, sigma } => {
                    format!("{{ median = {}, sigma = {sigma} }}", time(*median))
                }
                Spread::Exponential { mean } => format!("{{ mean = {} }}", time(*mean)),
            };
            text += &format!("work = {}{}\n", spread(&service.work), source(Key::Work));
            if let Some(held) = &service.held {
                text += &format!("held = {}{}\n", spread(held), source(Key::Held));
            }
            text += &format!("start = {}\n", spread(&service.start));
            text += &format!("least_loaded = \"{}%\"\n", service.least_loaded * 100.0);
        }
        text
    }
}

/// A rate, or its points.
fn demand(it: &Demand) -> String {
    let rate = |rate: f64| quoted(&format!("{rate}/s"));
    if let [only] = &it.0[..] {
        return rate(only.rate);
    }
    let point =
        |it: &herdscope_sim::Point| format!("[\"{}ms\", {}]", it.at / 1_000_000, rate(it.rate));
    format!(
        "[{}]",
        it.0.iter().map(point).collect::<Vec<_>>().join(", ")
    )
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let escaped = text.chars().map(|it| match it {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        it if it.is_control() => format!("\\u{:04X}", it as u32),
        it => it.to_string(),
    });
    ["\"", &escaped.collect::<String>(), "\""].concat()
}

/// The callers of an edge.
fn group(edge: &Edge, demand: Demand, policy: Policy) -> Group {
    Group {
        demand,
        ..Group::new(
            &edge.from,
            (edge.n_instances().unwrap_or(1) as u32).min(MOST),
            0.0,
            policy,
        )
    }
}

/// What the file tells of a figure, and how.
fn told(
    dataset: &Dataset,
    edge: &Edge,
    served: &Served,
    withheld: f64,
    key: Key,
) -> (String, String) {
    let calls = &edge.calls;
    match key {
        Key::Demand => {
            let extent = dataset.table.extent().unwrap_or(0..1);
            let seconds = extent.end.abs_diff(extent.start).max(1) as f64 / S;
            let all = (calls.len() as f64 + withheld) / seconds;
            let source = match withheld > 0.0 {
                false => "the calls of the file, as they came".to_owned(),
                true => format!(
                    "{} and some {} that breakers withheld, estimated from the rates around",
                    format::counted(calls.len() as u64, "call"),
                    format::count(withheld.round() as u64)
                ),
            };
            (print_rate(all), source)
        }
        Key::Timeout => match advise::timeout_in_use(calls) {
            Some(ns) => (print_time(ns), "calls are cut at this age".to_owned()),
            None => ("none".to_owned(), "no calls are cut at one age".to_owned()),
        },
        Key::Pods => match served.pods(calls) {
            Some((pods, full)) => (
                pods.min(MOST).to_string(),
                match full {
                    true => "so many instances serve while calls time out".to_owned(),
                    false => "so many instances serve in half of the time".to_owned(),
                },
            ),
            None => (
                "1".to_owned(),
                "assumed: the file does not tell pods apart".to_owned(),
            ),
        },
        Key::Workers => (
            served.workers().min(MOST).to_string(),
            "the most spans at once at an instance".to_owned(),
        ),
        Key::Work => match served.median() {
            Some(ns) => (
                print_time(ns),
                format!(
                    "the median of {}",
                    format::counted(served.starts.len() as u64, "span")
                ),
            ),
            None => (
                "1ms".to_owned(),
                "assumed: the service has no spans".to_owned(),
            ),
        },
        Key::Held => match served.held(calls) {
            Some(ns) => (
                print_time(ns),
                "so few were served a second while calls timed out".to_owned(),
            ),
            None => (
                "none".to_owned(),
                "never full: as long as its span".to_owned(),
            ),
        },
        Key::Network => {
            let good = (0..calls.len()).filter(|&at| calls.outcome[at] == CallOutcome::Success);
            let durations: Vec<u64> = good.map(|at| calls.duration(at)).collect();
            // Of the quick ones, which did not queue.
            let quick = durations.len() / 10;
            let whole = order::nth(&durations, quick).unwrap_or(0);
            let ways = 2 * (1 + u64::from(!edge.via.is_empty()));
            let work = served
                .good
                .get(served.good.len() / 10)
                .copied()
                .unwrap_or(0);
            let way = whole.saturating_sub(work) / ways;
            (
                print_time(way),
                "what quick calls took besides, by the messages each way".to_owned(),
            )
        }
    }
}

fn withheld_calls(dataset: &Dataset, edge: &Edge) -> f64 {
    let observed = observe(&dataset.table, &edge.calls, false);
    crate::observed::withheld(&observed).map_or(0.0, |it| it.calls[1])
}

/// The arrivals as they were, step by step, and as many as on average after them.
fn steps(calls: &Calls, time: &Range<i64>) -> Demand {
    let length = time.end.abs_diff(time.start).max(1);
    let mean = calls.len() as f64 * S / length as f64;
    if length > LONGEST {
        return Demand::steady(round_rate(mean));
    }
    let mut counts = vec![0u32; length.div_ceil(STEP) as usize];
    for at in &calls.start {
        let step = (at.abs_diff(time.start) / STEP) as usize;
        if let Some(count) = counts.get_mut(step) {
            *count += 1;
        }
    }
    // What varies no more than independent calls do is steady: the variance of their counts is the mean, and twice that
    // comes by chance once in thousands. The last step may be cut short.
    let (last, whole) = counts.split_last().unwrap_or((&0, &[]));
    let n = whole.len() as f64;
    let usual = whole.iter().map(|&it| f64::from(it)).sum::<f64>() / n;
    let squares = whole.iter().map(|&it| (f64::from(it) - usual).powi(2));
    if whole.len() < 2 || squares.sum::<f64>() / n < 2.0 * usual {
        return Demand::steady(round_rate(mean));
    }
    let point = |at: u64, rate: f64| herdscope_sim::Point {
        at,
        rate: rate.min(MOST_A_SECOND),
        ramp: false,
    };
    let begins = whole.len() as u64 * STEP;
    let mut points: Vec<_> = (0..)
        .zip(whole)
        .map(|(step, &count)| point(step * STEP, f64::from(count) * S / STEP as f64))
        .collect();
    let rest = length - begins;
    points.push(point(
        begins,
        f64::from(*last) * S / rest.max(STEP / 10) as f64,
    ));
    points.push(point(length, round_rate(mean)));
    Demand(points)
}

/// The spans of a service, by start.
struct Served {
    starts: Column<i64>,
    ends: Column<i64>,
    instances: Column<u32>,
    /// The durations of those that went well, sorted.
    good: Vec<u64>,
}

impl Served {
    fn of(table: &SpanTable, service: &str) -> Served {
        let of = table.find_service(service);
        let its = |&at: &u32| {
            Some(table.service[at as usize]) == of && table.kind[at as usize] != Kind::Client
        };
        let mut spans: Vec<u32> = (0..table.len() as u32).filter(its).collect();
        order::sort(&mut spans, &mut |a, b| {
            table.start[a as usize].cmp(&table.start[b as usize])
        });
        let good = spans
            .iter()
            .filter(|&&it| !table.outcome[it as usize].is_failure());
        let mut good: Vec<u64> = good.map(|&it| table.duration[it as usize]).collect();
        order::sort_numbers(&mut good);
        Served {
            starts: spans.iter().map(|&it| table.start[it as usize]).collect(),
            ends: spans
                .iter()
                .map(|&it| table.end(crate::spans::SpanIdx(it)))
                .collect(),
            instances: spans
                .iter()
                .map(|&it| table.instance[it as usize])
                .collect(),
            good,
        }
    }

    fn median(&self) -> Option<u64> {
        self.good.get(self.good.len() / 2).copied()
    }

    /// The deviation of the logarithm: 84 of a hundred are shorter than the median times its exponential.
    fn sigma(&self) -> f64 {
        let at = |percent: usize| self.good.get(self.good.len() * percent / 100);
        let (Some(&middle), Some(&high)) = (at(50), at(84)) else {
            return 0.0;
        };
        let sigma = (high.max(1) as f64 / middle.max(1) as f64).ln();
        // Rounded, since logarithms differ in their last digits from machine to machine.
        (sigma * 100.0).round().clamp(0.0, 300.0) / 100.0
    }

    /// The median of how many instances serve within ten seconds: of those in which calls timed out, if there are any,
    /// which comes second.
    fn pods(&self, calls: &Calls) -> Option<(u32, bool)> {
        let ten_seconds = |at: i64| at.div_euclid(STEP as i64);
        let full = timed_out(calls, STEP as i64);
        let (mut bad, mut all): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
        let mut from = 0;
        while let Some(&first) = self.starts.get(from) {
            let step = ten_seconds(first);
            let to = self.starts.partition_point(|&it| ten_seconds(it) <= step);
            let mut instances = distinct(&self.instances[from..to]);
            instances.retain(|&it| it != u64::from(NONE));
            all.push(instances.len() as u64);
            if full.binary_search(&step).is_ok() {
                bad.push(instances.len() as u64);
            }
            from = to;
        }
        let of_bad = order::median(&bad).filter(|&it| it > 0);
        let pods = of_bad.or_else(|| order::median(&all).filter(|&it| it > 0))?;
        Some((pods as u32, of_bad.is_some()))
    }

    /// The most spans at once at an instance.
    fn workers(&self) -> u32 {
        // At each instance, how many began so far and how many of them have ended.
        let mut most = 1;
        for instance in self.by_instance() {
            let mut ends: Vec<u64> = instance
                .iter()
                .map(|&at| self.ends[at as usize].max(0) as u64)
                .collect();
            order::sort_numbers(&mut ends);
            let mut ended = 0;
            for (begun, &at) in instance.iter().enumerate() {
                let start = self.starts[at as usize].max(0) as u64;
                while ended < begun && ends[ended] <= start {
                    ended += 1;
                }
                most = most.max(begun + 1 - ended);
            }
        }
        most as u32
    }

    /// How long a worker is held, from the most that an instance began in a second in which calls timed out.
    fn held(&self, calls: &Calls) -> Option<u64> {
        let second = |at: i64| at.div_euclid(1_000_000_000);
        let full = timed_out(calls, 1_000_000_000);
        let mut busiest: Vec<u64> = Vec::new();
        for instance in self.by_instance() {
            let seconds = instance.chunk_by(|&a, &b| {
                second(self.starts[a as usize]) == second(self.starts[b as usize])
            });
            let full = seconds.filter(|it| {
                let at = second(self.starts[it[0] as usize]);
                full.binary_search(&at).is_ok()
            });
            busiest.extend(full.map(|it| it.len() as u64).max());
        }
        let most = order::median(&busiest)?;
        let held = u64::from(self.workers()) * 1_000_000_000 / most;
        (Some(held) > self.median()).then_some(held)
    }

    /// The spans of each instance, by start.
    fn by_instance(&self) -> Vec<Vec<u32>> {
        let names = distinct(&self.instances);
        let mut spans = vec![Vec::new(); names.len()];
        for (at, instance) in self.instances.iter().enumerate() {
            if let Ok(place) = names.binary_search(&u64::from(*instance)) {
                spans[place].push(at as u32);
            }
        }
        spans
    }
}

/// Those that there are, in order.
fn distinct(numbers: &[u32]) -> Vec<u64> {
    let mut numbers: Vec<u64> = numbers.iter().map(|&it| it.into()).collect();
    order::sort_numbers(&mut numbers);
    numbers.dedup();
    numbers
}

/// The steps of time in which half of the calls that ended timed out, in order: what does so is full.
fn timed_out(calls: &Calls, step: i64) -> Vec<i64> {
    let of = |at: &u32| calls.end[*at as usize].div_euclid(step);
    let steps = calls.by_end.chunk_by(|a, b| of(a) == of(b));
    let full = steps.filter(|those| {
        let timed_out = |at: &&u32| calls.outcome[**at as usize] == CallOutcome::TimedOut;
        those.iter().filter(timed_out).count() * 2 >= those.len()
    });
    full.map(|those| of(&those[0])).collect()
}

/// More than this is no small model.
const MOST_A_SECOND: f64 = 1e6;
const MOST: u32 = 10_000;
const DAY: u64 = 86_400_000_000_000;
const YEAR_S: u64 = 365 * 86_400;

// Figures as texts: what is shown is what is taken.

fn print_time(ns: u64) -> String {
    format::duration(ns.min(DAY)).replace(' ', "")
}

fn print_rate(per_second: f64) -> String {
    let decimals = match per_second {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    format::fixed(per_second.min(MOST_A_SECOND), decimals) + "/s"
}

fn round_rate(per_second: f64) -> f64 {
    rate(&print_rate(per_second)).unwrap_or(per_second)
}

/// Digits with a point among them, to a thousandth.
fn rate(text: &str) -> Option<f64> {
    let number = text.strip_suffix("/s")?.trim_end();
    let (whole, rest) = number.split_once('.').unwrap_or((number, ""));
    let mut thousandths: u64 = whole.parse().ok().filter(|&it| it <= 1_000_000)?;
    for place in 0..3 {
        let digit = rest.as_bytes().get(place).copied().unwrap_or(b'0');
        thousandths = thousandths * 10 + u64::from(char::from(digit).to_digit(10)?);
    }
    (rest.len() <= 3).then_some(thousandths as f64 / 1e3)
}

fn count(text: &str) -> Option<u32> {
    text.parse().ok().filter(|it| (1..=MOST).contains(it))
}

fn time(text: &str) -> Option<u64> {
    match parse_duration(text, Unit::Ns, false) {
        Told::Ns(ns) if ns <= DAY && text.bytes().any(|b| b.is_ascii_alphabetic()) => Some(ns),
        _ => None,
    }
}
