//! The reader: bytes of exported spans, in whatever form, to rows.
//!
//! [`ingest`] is fed bytes, recognises who wrote them, and appends [`rows`]; what it noticed goes to
//! [`issues`]. Owns what every byte and every row passes through, and is built to be quick; what looks at
//! the rows afterwards is built to be small. Invariant: no I/O, no panic on input, a bad row costs that row.
//! Pinned by `tests/ingest/`.

pub mod format;
pub mod ingest;
pub mod issues;
pub mod labels;
pub mod outcome;
pub mod parts;
pub mod percent;
pub mod recorded;
pub mod rows;

pub use herdscope_cells::{column, ids, index, order, strings};
