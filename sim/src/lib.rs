//! A service, its callers and its autoscaler, event by event.
//!
//! [`simulate`] runs a [`Scenario`], which is plain data or a small TOML file ([`Scenario::from_toml`]), and
//! gives what happened as spans, states, samples of the service and a summary. The callers run `halfopen`
//! itself. Owns everything that is made up; what is read from files is the reader's. Invariants: the same
//! scenario and seed give the same result to the bit on every machine, since times are integers as soon as
//! they are drawn and all logarithms and powers are `libm`'s; each request is exactly one of served, failed,
//! withheld, shed and in flight. Cost: O(events · log(events under way)). Pinned by `tests/`.

mod autoscaler;
mod calls;
mod demand;
mod draw;
mod events;
mod fleet;
mod health;
#[cfg(feature = "text")]
mod keys;
mod pods;
mod remedies;
mod run;
pub mod samples;
mod scenario;
mod serving;
mod simulation;
mod spans;
mod summary;
mod tally;
#[cfg(feature = "text")]
mod text;
mod world;

pub use autoscaler::{Hpa, Metric};
#[cfg(feature = "text")]
pub use keys::ScenarioError;
pub use remedies::{HORIZON, Remedy, Variant, fingerprint, variants};
pub use run::{Run, Sample, StateChange};
pub use scenario::{
    Act, Cold, Demand, Fault, Group, Hand, Point, Policy, Priority, Retries, Scenario, Service,
    Shedding, Spread,
};
pub use simulation::{Simulation, simulate};
pub use summary::Summary;
pub use tally::{Figures, Tally};
