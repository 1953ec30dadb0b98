//! `herdscope estimate`: a scenario from a file, for `simulate` and `remedies`.

use clap::Args;
use halfopen::Config;
use herdscope::calls::Edge;
use herdscope::dataset::Dataset;
use herdscope::estimate::{Estimate, Key, estimate};
use herdscope::observed;
use serde_json::{Value, json};

use super::edge::{self, Asked};
use super::{Failure, print, print_json};

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    pub asked: Asked,
    /// The breaker of each caller; by default the one that explains best what breakers did.
    #[arg(long, value_name = "TEXT")]
    breaker: Option<String>,
    /// A figure instead of the file's, as in pods=4 or held=20ms; of demand, timeout, pods, workers,
    /// work, held and network. Several times, or separated by commas.
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
    given: Vec<String>,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let given: Vec<(Key, String)> = options
        .given
        .iter()
        .map(|it| figure(it))
        .collect::<Result<_, Failure>>()?;
    for (at, (key, _)) in given.iter().enumerate() {
        if given[..at].iter().any(|it| it.0 == *key) {
            let name = key.name();
            let why = format!("--given: got {name} twice, expected each figure once");
            return Err(Failure::Usage(why));
        }
    }
    let told = options.breaker.as_deref().map(edge::config).transpose()?;
    let dataset = options.asked.read()?;
    if dataset.table.is_empty() {
        let why = "no spans, so no scenario can be told";
        return Err(Failure::Input(format!("{}: {why}", dataset.name)));
    }
    let edge = options.asked.find(&dataset)?;
    let breaker = told.or_else(|| explaining(&dataset, edge));
    let estimate = estimate(&dataset, edge, breaker.as_ref(), &given);
    match options.asked.files.json {
        true => print_json(&as_json(edge, breaker.as_ref(), &estimate)),
        false => print(&estimate.to_toml()),
    }
}

fn figure(text: &str) -> Result<(Key, String), Failure> {
    let read = || {
        let (name, value) = text.split_once('=')?;
        let key = Key::ALL.into_iter().find(|it| it.name() == name.trim())?;
        Some((key, key.read(value)?))
    };
    read().ok_or_else(|| {
        let name = text.split_once('=').map_or(text, |it| it.0).trim();
        if let Some(key) = Key::ALL.into_iter().find(|it| it.name() == name) {
            let expected = key.expected();
            return Failure::Usage(format!(
                "--given: got \u{201c}{text}\u{201d}, expected {name} as {expected}"
            ));
        }
        let names: Vec<&str> = Key::ALL.into_iter().map(Key::name).collect();
        let names = names.join(", ");
        Failure::Usage(format!(
            "--given: got \u{201c}{text}\u{201d}, expected one of {names} with a value, as in demand=200/s, pods=4 or \
             held=20ms"
        ))
    })
}

/// The settings that explain best what was observed.
fn explaining(dataset: &Dataset, edge: &Edge) -> Option<Config> {
    let mut observed = observed::observe(&dataset.table, &edge.calls, false);
    let fits = observed::fit(&mut observed, &edge.calls);
    fits.into_iter().next().map(|it| it.settings)
}

fn as_json(edge: &Edge, breaker: Option<&Config>, estimate: &Estimate) -> Value {
    let facts = estimate.facts.iter().map(|it| {
        json!({ "key": it.key.name(), "value": it.value, "source": it.source, "given": it.given })
    });
    json!({
        "edge": { "from": edge.from, "to": edge.to, "via": edge.via },
        "breaker": breaker.map(Config::to_string),
        "figures": facts.collect::<Vec<_>>(),
        "scenario": estimate.to_toml(),
    })
}
