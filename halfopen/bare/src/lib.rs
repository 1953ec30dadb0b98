//! The breaker for a host that has no system: an event log goes in, the
//! transitions come out.
//!
//! Owns what such a host lacks, and nothing of the breaker: an allocator, what
//! a panic does, and an interface that C has. Invariants: it is linked of
//! `core`, `alloc`, halfopen and the allocator alone, so that a `std` that
//! slips in brings a second panic handler and fails the build; the module
//! imports nothing. Cost: some tens of kilobytes. Pinned by the check `bare`
//! of `cargo xtask test`, and by the browser tests' `bare`: what the module
//! says in a browser is what `Machine` and `Breaker` say natively.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod abi;
#[path = "../../tests/events/mod.rs"]
pub mod events;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod system;
