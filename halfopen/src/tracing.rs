//! The feature `tracing`: what a subscriber is told, by name.
//!
//! A trace export that has these has the breaker's states exactly. The names
//! are an interface: they do not change within a major version. Without a
//! subscriber the cost is a look at whether there is one.
//!
//! # A span for each call
//!
//! [`Breaker::call`](crate::Breaker::call) and its like, and the tower service,
//! open a span of their own around each call, inside the current one:
//!
//! | | |
//! |---|---|
//! | name | `breaker.call` |
//! | target, level | `halfopen`, INFO |
//! | `breaker.name` | what the breaker guards, left out if it has no name |
//! | `breaker.state` | the state that admitted or rejected the call, such as `half_open` |
//! | `breaker.generation` | how many times the state had changed |
//! | `breaker.rejected` | whether the call was not made |
//!
//! [`Breaker::acquire`](crate::Breaker::acquire) opens none. It records the
//! same fields on the current span, as far as that declares them:
//!
//! ```
//! use halfopen::{Breaker, Config};
//! use tracing::field::Empty;
//!
//! let breaker = Breaker::new(Config::default());
//! let span = tracing::info_span!("http.client", breaker.state = Empty, breaker.rejected = Empty);
//! span.in_scope(|| breaker.acquire().map(|it| it.success()))?;
//! # Ok::<(), halfopen::Rejected>(())
//! ```
//!
//! # An event for each transition
//!
//! | | |
//! |---|---|
//! | message | `breaker.transition` |
//! | target | `halfopen` |
//! | level | WARN when the breaker opens, otherwise INFO |
//! | `breaker.name` | as above |
//! | `breaker.from`, `breaker.to` | the states |
//! | `breaker.cause` | why, such as `failure_rate` |
//! | `breaker.generation` | the one that begins |
//! | `breaker.at_ns` | when, on the breaker's clock: for a deadline its due time, which may be before the event |
//! | `breaker.calls`, `breaker.failures`, `breaker.slow` | the figures that led to it |
//!
//! It is told in the span of the call that made the transition, or that let it
//! happen when its time had come. Pinned by `tests/tracing.rs`.
