//! What a setting may be, of a breaker and of a companion.
//!
//! Owns the ranges that several share, and the errors that name field, value
//! and what is allowed. Cost: construction only. Pinned by `tests/settings.rs`
//! and `tests/companions/settings.rs`.

use alloc::string::ToString;
use core::fmt::Display;

use crate::config::{ConfigError, ConfigErrorKind, MAX_DURATION, Rate};

/// The largest count that a setting takes, if it has no limit of its own.
pub(crate) const MAX_COUNT: u32 = 1_000_000_000;

pub(crate) fn out_of_range(key: &str, got: impl Display, allowed: &str) -> ConfigError {
    ConfigError::new(ConfigErrorKind::OutOfRange, key, &got.to_string(), allowed)
}

pub(crate) fn conflict(key: &str, got: impl Display, allowed: &str) -> ConfigError {
    ConfigError::new(ConfigErrorKind::Conflict, key, &got.to_string(), allowed)
}

pub(crate) fn count(key: &str, got: u32, min: u32, max: u32) -> Result<(), ConfigError> {
    if (min..=max).contains(&got) {
        return Ok(());
    }
    Err(out_of_range(key, got, &alloc::format!("{min} to {max}")))
}

pub(crate) fn duration(key: &str, got: u64) -> Result<(), ConfigError> {
    duration_from(key, got, 1, "1ns to 365 days (31536000s)")
}

/// A duration that can be nothing.
pub(crate) fn span(key: &str, got: u64) -> Result<(), ConfigError> {
    duration_from(key, got, 0, "0s to 365 days (31536000s)")
}

fn duration_from(key: &str, got: u64, min: u64, allowed: &str) -> Result<(), ConfigError> {
    if (min..=MAX_DURATION).contains(&got) {
        return Ok(());
    }
    Err(out_of_range(key, crate::text::duration(got), allowed))
}

pub(crate) fn share(key: &str, got: Rate) -> Result<(), ConfigError> {
    if got.as_ppm() > 0 && got <= Rate::ONE {
        return Ok(());
    }
    Err(out_of_range(key, got, "0.0001% to 100%"))
}
