//! Recovery attempts (to come).
use serde::{Deserialize, Serialize};

/// One recovery attempt of the whole client, as DESIGN's `herds` JSON has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The instances that took part.
    pub instances: Vec<String>,
    /// When the first of them went half-open, nanoseconds since 1970.
    pub half_open_ns: i64,
    /// When the first of them closed; `None` when none did.
    pub close_ns: Option<i64>,
    /// When the last of them closed.
    pub close_last_ns: Option<i64>,
    /// When the first of them opened again.
    pub reopen_ns: Option<i64>,
    /// When the last of them opened again.
    pub reopen_last_ns: Option<i64>,
    /// Probes sent.
    pub probes: u64,
    /// Probes that went well.
    pub probes_ok: u64,
    /// Calls from half-open to re-opening (held: up to 30 s after the close).
    pub calls: u64,
    /// Of these, timed out.
    pub timed_out: u64,
    /// Of these, those whose deepest server span ended after the client span.
    pub wasted: u64,
    /// How long those server spans went on in all.
    pub wasted_ns: u64,
    /// Requests per second over the half-open phase.
    pub rate_before: Option<f64>,
    /// Requests per second over the first second after the close.
    pub rate_after: Option<f64>,
    /// When the first call of the herd timed out.
    pub first_timeout_ns: Option<i64>,
    /// What came of it.
    pub result: AttemptResult,
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptResult {
    /// Re-opened from half-open.
    Refused,
    /// Closed, then some instance re-opened within 20 s.
    Trampled,
    /// Closed and stayed so.
    Held,
}
