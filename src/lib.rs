//! Herdscope: every trace of an incident at once, and the circuit breaker replayed over it.
//!
//! The road from bytes to picture: [`ingest`] reads a span CSV into [`rows`], [`spans`] orders them
//! into a table, [`calls`] finds who calls whom, [`replay`] runs the `halfopen` breaker over the
//! calls of one edge, [`plot`] draws. [`engine`] is the one door to all of it, for the page and for
//! the command line alike. ARCHITECTURE.md has the map.

pub mod advise;
pub mod calls;
pub mod clickhouse;
pub mod commands;
pub mod compare;
pub mod dataset;
pub mod engine;
pub mod estimate;
pub mod export;
pub mod files;
pub mod filter;
pub mod herds;
pub mod levels;
pub mod messages;
pub mod observed;
pub mod packed;
pub mod panes;
pub mod plot;
pub mod rates;
pub mod replay;
pub mod report;
pub mod retries;
pub mod samples;
pub mod scene;
pub mod spans;
pub mod standing;
pub mod supposed;
pub mod tiers;
pub mod timeline;
pub mod turns;
mod twins;
pub mod view;
pub mod viewport;
pub mod what_if;

pub use herdscope_reader::{
    column, format, ids, index, ingest, issues, labels, order, outcome, parts, percent, recorded,
    rows, strings,
};
