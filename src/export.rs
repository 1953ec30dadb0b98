//! What can be taken away: spans as CSV, what is known of them as JSON.
//!
//! Owns the forms in which data leaves, apart from links and pictures. Invariant: the page and the command line write
//! the same by the same code. [`csv`] writes in pieces, so that memory does not grow with the spans. Pinned by
//! `tests/it/export.rs`.

pub mod csv;
pub mod json;
