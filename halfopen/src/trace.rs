//! What the feature `tracing` adds; without it, nothing.
//!
//! Owns the names, which the page `src/tracing.rs` lists for users: change them
//! together. Invariants: nothing here runs under the lock; a field is recorded
//! once on a span, as exporters may keep each time. Cost: without the feature
//! none; with it and no subscriber, a look at whether there is one. Pinned by
//! `tests/tracing.rs`.

#[cfg(not(feature = "tracing"))]
pub(crate) use off::*;
#[cfg(feature = "tracing")]
pub(crate) use on::*;

#[cfg(feature = "tracing")]
mod on {
    use std::future::Future;

    pub(crate) use tracing::Span;
    use tracing::field::Empty;
    use tracing::{Instrument, Metadata, info_span};

    use crate::breaker::Breaker;
    use crate::machine::{Rejected, State, Transition};

    /// Whether transitions are wanted by somebody who is no listener.
    pub(crate) const ENABLED: bool = true;

    pub(crate) fn call_span(breaker: &Breaker) -> Span {
        info_span!(
            target: "halfopen",
            "breaker.call",
            breaker.name = name(breaker.name()),
            breaker.state = Empty,
            breaker.generation = Empty,
            breaker.rejected = Empty,
        )
    }

    pub(crate) fn in_span<F: Future>(span: Span, future: F) -> impl Future<Output = F::Output> {
        future.instrument(span)
    }

    #[cfg(feature = "tower")]
    pub(crate) fn within<R>(span: &Span, f: impl FnOnce() -> R) -> R {
        span.in_scope(f)
    }

    pub(crate) fn admitted(breaker: &Breaker, state: State, generation: u64) {
        record(breaker, state, generation, false);
    }

    pub(crate) fn rejected(breaker: &Breaker, rejected: &Rejected) {
        record(breaker, rejected.state, rejected.generation, true);
    }

    fn record(breaker: &Breaker, state: State, generation: u64, rejected: bool) {
        let span = Span::current();
        if span.is_disabled() {
            return;
        }
        // Our own has had it since it was opened.
        if !span.metadata().is_some_and(is_ours) {
            span.record("breaker.name", name(breaker.name()));
        }
        span.record("breaker.state", state.as_str());
        span.record("breaker.generation", generation);
        span.record("breaker.rejected", rejected);
    }

    fn is_ours(it: &Metadata<'_>) -> bool {
        it.name() == "breaker.call" && it.target() == "halfopen"
    }

    /// What has no name records none.
    fn name(it: &str) -> Option<&str> {
        (!it.is_empty()).then_some(it)
    }

    pub(crate) fn transition(of: &str, it: &Transition) {
        // A macro, as the level is part of the event's constant description.
        macro_rules! event {
            ($level:ident) => {
                tracing::event!(
                    target: "halfopen",
                    tracing::Level::$level,
                    breaker.name = name(of),
                    breaker.from = it.from.as_str(),
                    breaker.to = it.to.as_str(),
                    breaker.cause = it.cause.as_str(),
                    breaker.generation = it.generation,
                    breaker.at_ns = it.at,
                    breaker.calls = it.figures.calls,
                    breaker.failures = it.figures.failures,
                    breaker.slow = it.figures.slow,
                    "breaker.transition"
                )
            };
        }
        match it.to {
            State::Open => event!(WARN),
            _ => event!(INFO),
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod off {
    use std::future::Future;

    use crate::breaker::Breaker;
    use crate::machine::{Rejected, State, Transition};

    pub(crate) const ENABLED: bool = false;

    pub(crate) struct Span;

    impl Span {
        pub(crate) fn entered(self) -> Span {
            self
        }
    }

    pub(crate) fn call_span(_: &Breaker) -> Span {
        Span
    }

    pub(crate) fn in_span<F: Future>(_: Span, future: F) -> F {
        future
    }

    #[cfg(feature = "tower")]
    pub(crate) fn within<R>(_: &Span, f: impl FnOnce() -> R) -> R {
        f()
    }

    pub(crate) fn admitted(_: &Breaker, _: State, _: u64) {}

    pub(crate) fn rejected(_: &Breaker, _: &Rejected) {}

    pub(crate) fn transition(_: &str, _: &Transition) {}
}
