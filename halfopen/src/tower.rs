//! The feature `tower`: the breaker around a [`Service`].
//!
//! # Order
//!
//! **The timeout goes inside the breaker**, nearer to the service:
//!
//! ```text
//! ServiceBuilder::new()
//!     .map_err(CallError::into_boxed)      // one type of error for what is outside
//!     .layer(BreakerLayer::new(breaker))   // sees a timeout as the failure it is
//!     .timeout(Duration::from_secs(1))
//!     .service(client)
//! ```
//!
//! The other way round, the timeout drops the breaker's future, and a future
//! that is dropped counts nothing: a callee that hangs would never open the
//! breaker, and one that is half-open would stay so, as each probe is given
//! back, until one reports.
//!
//! # Readiness
//!
//! While the breaker rejects, the service is ready whether or not the inner one
//! is: callers are to be rejected at once, not to wait for a callee that they
//! are not going to call. Whether it does is only looked at: readiness takes
//! no probe's slot and no share of a ramp. Otherwise it is the inner service's
//! readiness.
//!
//! The inner service is called only if it said that it is ready. A call that
//! found the breaker rejecting, and would be admitted by now, is rejected with
//! `retry_at` of this moment, and takes nothing: poll again. A call without
//! `poll_ready`, which tower does not allow, is answered in the same way.
//!
//! What the inner service reserved when it said that it is ready (a place in
//! tower's concurrency limit, say) it keeps when the breaker then rejects the
//! call, until the next call or until the service is dropped: tower has no way
//! to give it back. Where that matters, give each request a clone of the
//! service, as tower's `oneshot` does.
//!
//! # For maintainers
//!
//! Owns the permit of each call in flight, which is in the call's future:
//! dropping that gives it back; and whether the inner service is ready, which a
//! clone is not. Invariants: those of readiness above. Cost: that of an
//! admission and a result, one load more to be ready, and no allocation.
//! Pinned by `tests/tower.rs`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::breaker::Breaker;
use crate::call::{self, CallError};
use crate::guard::Guard;
use crate::machine::{Outcome, Rejected};
use crate::trace;

/// Says what the result of a call counts as. Closures do:
/// `|result: &Result<Response, Error>| Outcome::Success`.
pub trait Classify<T, E> {
    /// What this result counts as.
    fn classify(&self, result: &Result<T, E>) -> Outcome;
}

impl<T, E, F: Fn(&Result<T, E>) -> Outcome> Classify<T, E> for F {
    fn classify(&self, result: &Result<T, E>) -> Outcome {
        self(result)
    }
}

/// Errors are failures, and responses successes whatever they say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorsFail;

impl<T, E> Classify<T, E> for ErrorsFail {
    fn classify(&self, result: &Result<T, E>) -> Outcome {
        call::outcome(result)
    }
}

/// Puts a breaker around a service. All services of one layer share it.
/// Timeouts go [inside](self#order).
///
/// ```
/// use halfopen::tower::BreakerLayer;
/// use halfopen::{Breaker, Config, Outcome};
/// use tower_layer::Layer;
///
/// # struct Client;
/// # struct Response { status: u16 }
/// # struct Error;
/// let breaker = Breaker::new(Config::default());
/// let layer = BreakerLayer::new(breaker).classify(|result: &Result<Response, Error>| match result {
///     Ok(it) if it.status == 429 => Outcome::Ignored,
///     Ok(it) if it.status < 500 => Outcome::Success,
///     _ => Outcome::Failure,
/// });
/// let client = layer.layer(Client);
/// ```
#[derive(Clone, Debug)]
pub struct BreakerLayer<C = ErrorsFail> {
    breaker: Breaker,
    classify: C,
}

impl BreakerLayer {
    /// A layer for which errors are failures, and every response a success.
    ///
    /// **A response with status 500 is a success here**, as the layer does not
    /// know what a response says: [`classify`](BreakerLayer::classify) tells
    /// it, and an HTTP client without that never opens the breaker unless
    /// connections fail.
    pub fn new(breaker: Breaker) -> BreakerLayer {
        BreakerLayer {
            breaker,
            classify: ErrorsFail,
        }
    }
}

impl<C> BreakerLayer<C> {
    /// The same breaker with a classifier of results.
    pub fn classify<D>(self, classify: D) -> BreakerLayer<D> {
        BreakerLayer {
            breaker: self.breaker,
            classify,
        }
    }
}

impl<S, C: Clone> Layer<S> for BreakerLayer<C> {
    type Service = BreakerService<S, C>;

    fn layer(&self, inner: S) -> Self::Service {
        BreakerService {
            inner,
            breaker: self.breaker.clone(),
            classify: self.classify.clone(),
            ready: false,
        }
    }
}

/// A service behind a breaker; see [`BreakerLayer`].
///
/// An error of the inner service's `poll_ready` is passed on and not counted:
/// no call was made.
#[derive(Debug)]
pub struct BreakerService<S, C = ErrorsFail> {
    inner: S,
    breaker: Breaker,
    classify: C,
    /// Whether the inner service has said so and was not called since.
    ready: bool,
}

/// As with every service, a clone is not ready because this one is.
impl<S: Clone, C: Clone> Clone for BreakerService<S, C> {
    fn clone(&self) -> Self {
        BreakerService {
            inner: self.inner.clone(),
            breaker: self.breaker.clone(),
            classify: self.classify.clone(),
            ready: false,
        }
    }
}

impl<S, C> BreakerService<S, C> {
    /// The breaker.
    pub fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    /// The service behind it.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// The service behind it.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// The service behind it, without the breaker.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<R, S, C> Service<R> for BreakerService<S, C>
where
    S: Service<R>,
    C: Classify<S::Response, S::Error> + Clone,
{
    type Response = S::Response;
    type Error = CallError<S::Error>;
    type Future = ResponseFuture<S::Future, C>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        // Then the call will be rejected, and needs no one else to be ready.
        if self.breaker.rejects() {
            return Poll::Ready(Ok(()));
        }
        self.ready = false;
        ready!(self.inner.poll_ready(cx)).map_err(CallError::Failed)?;
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    /// Asks the breaker at once, not when the future is first polled: what is
    /// rejected does not reach the inner service.
    fn call(&mut self, request: R) -> Self::Future {
        let span = trace::call_span(&self.breaker);
        let state = trace::within(&span, || {
            if !self.ready {
                let rejected = self.breaker.turn_away();
                return State::Rejected { rejected };
            }
            match self.breaker.acquire_owned() {
                Ok(guard) => {
                    self.ready = false;
                    State::InFlight {
                        call: self.inner.call(request),
                        guard: Some(guard),
                        classify: self.classify.clone(),
                    }
                }
                Err(rejected) => State::Rejected { rejected },
            }
        });
        ResponseFuture { state, span }
    }
}

pin_project! {
    /// The answer to a call behind a breaker. **Dropping it before it is done
    /// counts nothing** and gives the permit back: see the [order](self#order)
    /// of timeouts.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, C> {
        #[pin]
        state: State<F, C>,
        span: trace::Span,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, C> {
        InFlight {
            #[pin]
            call: F,
            guard: Option<Guard>,
            classify: C,
        },
        Rejected {
            rejected: Rejected,
        },
    }
}

impl<F, C, T, E> Future for ResponseFuture<F, C>
where
    F: Future<Output = Result<T, E>>,
    C: Classify<T, E>,
{
    type Output = Result<T, CallError<E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let state = this.state;
        trace::within(this.span, || match state.project() {
            StateProj::InFlight {
                call,
                guard,
                classify,
            } => {
                let result = ready!(call.poll(cx));
                if let Some(guard) = guard.take() {
                    guard.settle(classify.classify(&result));
                }
                Poll::Ready(result.map_err(CallError::Failed))
            }
            StateProj::Rejected { rejected } => Poll::Ready(Err(CallError::Rejected(*rejected))),
        })
    }
}

impl<F, C> fmt::Debug for ResponseFuture<F, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rejected = matches!(self.state, State::Rejected { .. });
        f.debug_struct("ResponseFuture")
            .field("rejected", &rejected)
            .finish_non_exhaustive()
    }
}
