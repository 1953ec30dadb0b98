//! The primitives that the shared breaker is built on, so that loom can put
//! its own in their place.
//!
//! Owns that choice and nothing else: no other module names `std::sync` or
//! `loom`. Pinned by `tests/loom.rs`.

#[cfg(loom)]
pub(crate) use loom::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
};

use std::sync::PoisonError;

/// Locks, whether or not somebody panicked with the lock. Only steps of the
/// machine run under it, which do not panic and leave nothing half done.
#[inline]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
