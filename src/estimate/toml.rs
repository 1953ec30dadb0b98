//! An estimate as a scenario file.
//!
//! Owns its text, with the source of each figure behind it. Invariant: the simulator reads it back to the same scenario.
//! Pinned by `tests/it/estimate.rs`.

use herdscope_sim::{Demand, Point, Spread};

use super::key::print_time;
use super::{Estimate, Key};

const YEAR_S: u64 = 365 * 86_400;

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
                name(&group.name),
                group.instances,
                name(&it.services[group.calls].name),
                demand(&group.demand),
                source(Key::Demand)
            );
            if let Some(timeout) = group.policy.timeout {
                text += &format!("timeout = {}{}\n", time(timeout), source(Key::Timeout));
            }
            if let Some(retries) = &group.policy.retries {
                text += &format!(
                    "retry = {{ attempts = {} }}  # the most tries of one call; the waits between them are assumed\n",
                    retries.settings.attempts
                );
            }
            if let Some(breaker) = &group.policy.breaker {
                text += &format!("breaker = {}\n", quoted(&breaker.to_string()));
            }
        }
        for service in &it.services {
            text += &format!("\n[[service]]\nname = {}\n", name(&service.name));
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
        for fault in &it.faults {
            let thousandths = (fault.fails * 1e3).round() as u32;
            text += &format!(
                "\n[[fault]]  # from the first call that failed by itself to the last one\nservice = {}\nat = \"{}ms\"\n\
                 lasts = \"{}ms\"\nfails = \"{}.{}%\"  # of the calls that were answered then, well or not\n",
                name(&it.services[fault.service].name),
                fault.at / 1_000_000,
                fault.lasts / 1_000_000,
                thousandths / 10,
                thousandths % 10
            );
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
    let point = |it: &Point| format!("[\"{}ms\", {}]", it.at / 1_000_000, rate(it.rate));
    format!(
        "[{}]",
        it.0.iter().map(point).collect::<Vec<_>>().join(", ")
    )
}

/// The name of a service, of which the file may have told none.
fn name(text: &str) -> String {
    quoted(if text.is_empty() { "unnamed" } else { text })
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
