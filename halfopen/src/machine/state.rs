//! Where a breaker is.
//!
//! Owns the names of the states, and what may not be made of which by hand.
//! Invariant: these are all; a name in logs and JSON does not change within a
//! major version. Cost: none. Pinned by the table of `tests/machine.rs` that
//! tries each change by hand on each state.

use core::fmt;

/// Where a breaker is.
///
/// These are all there are, and a `match` of them is complete: a dashboard or
/// a router that left one out would be wrong.
///
/// # By hand
///
/// What a change by hand makes of each state; it is a transition with
/// [`Cause::Manual`](super::Cause::Manual), also from a state to itself, which then starts anew.
///
/// | from | `open`, `open_for` | `half_open` | `close`, `reset` | `force_open` | `disable` | `metrics_only` |
/// |---|---|---|---|---|---|---|
/// | closed | open | not allowed | closed | forced-open | disabled | metrics-only |
/// | open, half-open, ramping | open | half-open | closed | forced-open | disabled | metrics-only |
/// | forced-open | open | half-open | closed | forced-open | disabled | metrics-only |
/// | disabled | open | half-open | closed | forced-open | disabled | metrics-only |
/// | metrics-only | not allowed | not allowed | closed | forced-open | disabled | metrics-only |
///
/// Neither time nor calls leave forced-open, disabled and metrics-only, but
/// every change by hand that is allowed does: **`open` on a breaker that is
/// forced open ends that**, as the wait then ends, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum State {
    /// Everything is admitted, results are judged.
    Closed,
    /// Nothing is admitted until the wait is over.
    Open,
    /// A few probes are admitted and decide.
    HalfOpen,
    /// The probes have passed; a growing share is admitted and judged.
    Ramping,
    /// By hand: nothing is admitted.
    ForcedOpen,
    /// By hand: everything is admitted, nothing is counted.
    Disabled,
    /// By hand: everything is admitted and counted, nothing is judged.
    MetricsOnly,
}

impl State {
    /// All of them: those of its own, then those by hand.
    pub const ALL: [State; 7] = [
        State::Closed,
        State::Open,
        State::HalfOpen,
        State::Ramping,
        State::ForcedOpen,
        State::Disabled,
        State::MetricsOnly,
    ];

    /// The name in logs and JSON, such as `half_open`.
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Closed => "closed",
            State::Open => "open",
            State::HalfOpen => "half_open",
            State::Ramping => "ramping",
            State::ForcedOpen => "forced_open",
            State::Disabled => "disabled",
            State::MetricsOnly => "metrics_only",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A change of state by hand that makes no sense; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotAllowed {
    /// The state the machine is in.
    pub from: State,
    /// The state that was asked for.
    pub to: State,
}

impl fmt::Display for NotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a circuit breaker cannot be made {} while it is {}",
            self.to, self.from
        )
    }
}

impl core::error::Error for NotAllowed {}
