//! What the panes beside the plot say: headings, sentences and tables as plain data.
//!
//! Owns the words of the answers, so that they are tested without a browser and the page only lays them
//! out. Invariants: a figure that is unknown is a dash, never zero; what a press on a figure does is an
//! [`Act`] that leads to the spans it came from, or to settings. Pinned by `tests/it/panes.rs`.

mod compare;
mod happened;
mod row;
mod simulated;
mod standing;
mod timeouts;
mod what_if;

use serde::{Deserialize, Serialize};

pub use self::compare::compare;
pub use self::happened::{happened, range, withheld};
pub use self::row::row;
pub use self::simulated::simulated;
pub use self::standing::standing;
pub use self::timeouts::{Callers, MOST_EDGES, asked_pool, censored, in_flight, timeouts};
pub use self::what_if::what_if;
use crate::view::Viewport;

/// A piece of a pane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Block {
    /// What the pieces after it are about.
    Heading(String),
    /// A sentence or a few.
    Text(String),
    /// What the sample is, and what cannot be told.
    Note(String),
    /// Rows under a head; the first cell of a row names it.
    Table {
        /// As many as a row has cells; empty for none.
        head: Vec<String>,
        /// The rows.
        rows: Vec<Vec<Cell>>,
    },
    /// A figure that a person may correct.
    Field {
        /// What it is called, in links too.
        key: String,
        /// What it is.
        value: String,
        /// Where it comes from.
        note: String,
        /// The person has corrected it.
        given: bool,
    },
}

/// A figure or a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// What a press on it does.
    pub act: Option<Act>,
    /// How dark it is, in per cent of the whole.
    pub shade: Option<u8>,
    /// It is of the present settings.
    pub present: bool,
}

/// What a press on a figure does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Act {
    /// Puts these settings into the breaker.
    Settings(String),
    /// Gives this key of the breaker's settings this value.
    Setting(String, String),
    /// Looks at this part of the plot.
    Look(Viewport),
    /// Picks the trace of this id.
    Trace(String),
    /// Means only spans that this test of a filter means, too.
    Filter(String),
    /// Copies this.
    Copy(String),
}

impl From<String> for Cell {
    #[inline(never)]
    fn from(text: String) -> Cell {
        Cell {
            text,
            ..Cell::default()
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        text.to_owned().into()
    }
}

impl Cell {
    fn with(text: String, act: Option<Act>) -> Cell {
        Cell {
            text,
            act,
            ..Cell::default()
        }
    }
}

/// Something that is not known.
const DASH: &str = "\u{2014}";

fn or_dash(ns: Option<u64>) -> String {
    ns.map_or_else(|| DASH.to_owned(), crate::format::duration)
}

fn head(names: &[&str]) -> Vec<String> {
    names.iter().map(|&it| it.to_owned()).collect()
}

/// A share of 0 to 1, to a tenth of a per cent.
fn percent(share: f64) -> String {
    crate::format::percent((share * 1e3).round() as u32 * 1_000)
}
