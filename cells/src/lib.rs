//! What every byte and every row passes on its way from a file to the table: plain functions over bytes and
//! numbers.
//!
//! Owns the loops that decide how long reading takes, and nothing of what their results mean. It is a crate of
//! its own so that it is built to be quick in a page that is built to be small (`[profile.small.package]`): what
//! stands here weighs twice as much as elsewhere. Nothing here panics on any bytes.

pub mod clock;
pub mod column;
pub mod cut;
pub mod ids;
pub mod index;
pub mod known;
pub mod order;
pub mod strings;
pub mod table;
pub mod words;
