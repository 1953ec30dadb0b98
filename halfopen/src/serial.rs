//! The feature `serde`: settings as their text, what was seen as structs.
//!
//! Owns the form of [`Config`], which is its settings text, a string such as
//! `window=10s/1s,min=20,fail=50%,open=60s,probes=10`: that grammar is the
//! versioned interface (see [`text`](crate::text)), the struct is not, and one
//! form is enough. [`Snapshot`](crate::Snapshot),
//! [`Transition`](crate::Transition) and [`Figures`](crate::Figures) are
//! structs with the names of their fields, states and causes the names of
//! [`State::as_str`](crate::State::as_str), times nanoseconds as integers
//! (beyond 2^53 some readers of JSON round those). Invariant: what is read is
//! checked as [`Config::new`] checks it, and the error is the one it gives.
//! Pinned by `tests/serde.rs`.

use core::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::config::Config;

impl Serialize for Config {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Config, D::Error> {
        deserializer.deserialize_str(SettingsText)
    }
}

struct SettingsText;

impl Visitor<'_> for SettingsText {
    type Value = Config;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the settings text of a breaker, such as `window=100 fail=50% open=60s`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Config, E> {
        text.parse().map_err(E::custom)
    }
}
