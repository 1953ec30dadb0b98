//! A query and the server that it goes to, as links say it.
//!
//! `clickhouse:URL,user=U,table=T,from=NS,to=NS,service=S,sample=N`, each value escaped as in links.
//! Invariants: there is no password in it; what is printed reads back. Pinned by `tests/it/clickhouse.rs`.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use super::Query;
use crate::format;
use crate::parts;
use crate::percent::{escape, unescape};

/// See the module. In messages it is its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Asked {
    /// The server's HTTP interface.
    pub url: String,
    /// Who asks; empty where the server is left to know.
    pub user: String,
    /// What is asked; the limits are not in a link.
    pub query: Query,
}

/// What the text begins with.
pub const SCHEME: &str = "clickhouse:";

impl Asked {
    /// Reads the text; `None` when it is none. Keys that this version does not know are passed over.
    pub fn parse(text: &str) -> Option<Asked> {
        let mut parts = text.strip_prefix(SCHEME)?.split(',');
        let url = parts.next().map(unescape).filter(|it| !it.is_empty())?;
        let (mut user, mut query) = (String::new(), Query::default());
        for part in parts {
            let (key, value) = part.split_once('=')?;
            let value = unescape(value);
            match key {
                "user" => user = value,
                "table" => query.table = value,
                "from" => query.from = Some(value.parse().ok()?),
                "to" => query.to = Some(value.parse().ok()?),
                "service" => query.services.push(value),
                "sample" => query.sample = Some(value.parse().ok()?),
                _ => {}
            }
        }
        Some(Asked { url, user, query })
    }

    /// The table and the server, for people.
    pub fn name(&self) -> String {
        let (_, rest) = parts::split(&self.url, "://").unwrap_or(("", &self.url));
        let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        format::printable(&format!("{} at {host}", self.query.table))
    }

    /// The address that the query is posted to, with these parameters.
    pub fn address(&self, parameters: &[&str]) -> String {
        let joint = if self.url.contains('?') { "&" } else { "?" };
        [&self.url, joint, &parameters.join("&")].concat()
    }
}

impl Display for Asked {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let query = &self.query;
        let value = |text: &str| escape(text).replace(',', "%2C");
        let mut add = |key: &str, text: &str| {
            to.write_str(key)?;
            to.write_str(&value(text))
        };
        add(SCHEME, &self.url)?;
        if !self.user.is_empty() {
            add(",user=", &self.user)?;
        }
        add(",table=", &query.table)?;
        if let Some(from) = query.from {
            add(",from=", &from.to_string())?;
        }
        if let Some(to) = query.to {
            add(",to=", &to.to_string())?;
        }
        for service in &query.services {
            add(",service=", service)?;
        }
        if let Some(sample) = query.sample {
            add(",sample=", &sample.to_string())?;
        }
        Ok(())
    }
}

impl From<Asked> for String {
    fn from(asked: Asked) -> String {
        asked.to_string()
    }
}

impl TryFrom<String> for Asked {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Asked, &'static str> {
        Asked::parse(&text).ok_or("this says no query")
    }
}
