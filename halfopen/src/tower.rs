//! The feature `tower`: the breaker around a [`Service`].
//!
//! Owns nothing but the permit of each call in flight, which is in the call's
//! future: dropping that gives it back. Invariants: `poll_ready` reserves
//! nothing, so that a service that is ready and then not called takes no
//! probe's slot; it is ready whenever the inner service is, as an open breaker
//! rejects calls and does not make callers wait. Cost: that of an admission
//! and a result, and no allocation. Pinned by `tests/tower.rs`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::breaker::{Breaker, Guard};
use crate::call::{self, CallError};
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
    /// A layer for which errors are failures.
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
        }
    }
}

/// A service behind a breaker; see [`BreakerLayer`].
///
/// An error of the inner service's `poll_ready` is passed on and not counted:
/// no call was made.
#[derive(Clone, Debug)]
pub struct BreakerService<S, C = ErrorsFail> {
    inner: S,
    breaker: Breaker,
    classify: C,
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
        self.inner.poll_ready(cx).map_err(CallError::Failed)
    }

    /// Asks the breaker at once, not when the future is first polled: what is
    /// rejected does not reach the inner service.
    fn call(&mut self, request: R) -> Self::Future {
        let span = trace::call_span(&self.breaker);
        let state = trace::within(&span, || match self.breaker.acquire_owned() {
            Ok(guard) => State::InFlight {
                call: self.inner.call(request),
                guard: Some(guard),
                classify: self.classify.clone(),
            },
            Err(rejected) => State::Rejected { rejected },
        });
        ResponseFuture { state, span }
    }
}

pin_project! {
    /// The answer to a call behind a breaker. Dropping it before it is done
    /// counts nothing and gives the permit back.
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
