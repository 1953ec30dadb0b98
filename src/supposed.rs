//! What is to be simulated, as a person chooses it and a link says it.
//!
//! Owns the text: where the scenario comes from, then the remedies and the figures given by hand, as in
//! `file,with=ramp_2m+shed,pods=4`. Invariant: a printed choice reads back to itself. Pinned by `tests/it/supposed.rs`.

use std::fmt;
use std::str::FromStr;

pub use herdscope_sim::Remedy;

use crate::estimate::Key;

/// A choice of what to simulate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supposed {
    /// The name of a scenario that comes with the page; `None`: the one that the loaded file tells.
    pub scenario: Option<String>,
    /// What is done about it.
    pub remedies: Vec<Remedy>,
    /// Figures instead of the file's.
    pub given: Vec<(Key, String)>,
}

/// What the loaded file's scenario is called.
pub const FILE: &str = "file";

/// What cannot be read: a sentence follows from the place that has the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unread;

impl FromStr for Supposed {
    type Err = Unread;

    fn from_str(text: &str) -> Result<Supposed, Unread> {
        let mut parts = text.split(',');
        let scenario = match parts.next() {
            Some(FILE) => None,
            Some(name) if herdscope_sim::samples::sample(name).is_some() => Some(name.to_owned()),
            _ => return Err(Unread),
        };
        let mut supposed = Supposed {
            scenario,
            remedies: Vec::new(),
            given: Vec::new(),
        };
        for part in parts {
            let (key, value) = part.split_once('=').ok_or(Unread)?;
            if key == "with" {
                for name in value.split('+') {
                    let remedy = Remedy::of_name(name).ok_or(Unread)?;
                    supposed.switch(remedy, true);
                }
                continue;
            }
            let key = Key::ALL
                .into_iter()
                .find(|it| it.name() == key)
                .ok_or(Unread)?;
            let value = key.read(value).ok_or(Unread)?;
            supposed.give(key, Some(value));
        }
        Ok(supposed)
    }
}

impl fmt::Display for Supposed {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.scenario.as_deref().unwrap_or(FILE))?;
        for (at, remedy) in self.remedies.iter().enumerate() {
            to.write_str(if at == 0 { ",with=" } else { "+" })?;
            to.write_str(remedy.name())?;
        }
        for (key, value) in &self.given {
            for piece in [",", key.name(), "=", value] {
                to.write_str(piece)?;
            }
        }
        Ok(())
    }
}

impl Supposed {
    /// Adds a remedy, or takes it away.
    pub fn switch(&mut self, remedy: Remedy, on: bool) {
        self.remedies.retain(|&it| it != remedy);
        if on {
            let place = self.remedies.partition_point(|&it| it < remedy);
            self.remedies.insert(place, remedy);
        }
    }

    /// Gives a figure by hand, or takes the file's again.
    pub fn give(&mut self, key: Key, value: Option<String>) {
        self.given.retain(|it| it.0 != key);
        if let Some(value) = value {
            let place = self.given.partition_point(|it| it.0 < key);
            self.given.insert(place, (key, value));
        }
    }
}
