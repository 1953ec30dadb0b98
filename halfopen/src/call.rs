//! Calls through a breaker: ask, make it, say how it went.
//!
//! Owns what becomes of a call's result: what counts as a failure and what
//! the caller gets. Invariant: a call that does not end (it panics, or its
//! future is dropped) counts nothing and gives its permit back. Cost: that of
//! an admission and a result; the call itself runs without the lock. Pinned by
//! `tests/breaker.rs`.

use std::boxed::Box;
use std::error::Error;
use std::fmt;
use std::future::Future;

use crate::breaker::Breaker;
use crate::machine::{Outcome, Rejected};
use crate::trace;

/// Why a call through a breaker gave nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallError<E> {
    /// The call was not made.
    Rejected(Rejected),
    /// The call was made, and this is its error.
    Failed(E),
}

impl<E> CallError<E> {
    /// The rejection, if the call was not made.
    pub fn rejected(&self) -> Option<&Rejected> {
        match self {
            CallError::Rejected(rejected) => Some(rejected),
            CallError::Failed(_) => None,
        }
    }

    /// The call's own error, if it was made.
    pub fn failed(self) -> Option<E> {
        match self {
            CallError::Rejected(_) => None,
            CallError::Failed(err) => Some(err),
        }
    }
}

impl<E: fmt::Display> fmt::Display for CallError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Rejected(rejected) => rejected.fmt(f),
            CallError::Failed(err) => err.fmt(f),
        }
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> CallError<E> {
    /// The rejection, or the call's own error, as a box of any error.
    ///
    /// For errors that are no [`Error`] themselves, such as boxed ones,
    /// `anyhow`'s, or texts. A `CallError` of an `Error` is one, and needs this
    /// only to be unwrapped.
    ///
    /// ```
    /// use halfopen::{Breaker, CallError, Config};
    ///
    /// type Any = Box<dyn std::error::Error + Send + Sync>;
    /// fn price(breaker: &Breaker) -> Result<u32, Any> {
    ///     let read = || -> Result<u32, Any> { Ok("3".parse()?) };
    ///     Ok(breaker.call(read).map_err(CallError::into_boxed)?)
    /// }
    /// assert_eq!(price(&Breaker::new(Config::default())).unwrap(), 3);
    /// ```
    pub fn into_boxed(self) -> Box<dyn Error + Send + Sync> {
        match self {
            CallError::Rejected(rejected) => rejected.into(),
            CallError::Failed(err) => err.into(),
        }
    }
}

// An error of any `E` that can be shown would be one for boxes too, but would
// lose the sources of all others.
/// Stands for the call's own error: its source is that error's.
impl<E: Error + 'static> Error for CallError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            CallError::Rejected(_) => None,
            CallError::Failed(err) => err.source(),
        }
    }
}

impl Breaker {
    /// Makes a call if it is admitted. An `Err` is a failure.
    ///
    /// # Errors
    ///
    /// The rejection, or the call's own error.
    #[inline]
    pub fn call<T, E>(&self, f: impl FnOnce() -> Result<T, E>) -> Result<T, CallError<E>> {
        self.call_with(f, outcome)
    }

    /// Makes a call if it is admitted; `classify` says which results are
    /// failures, and which say nothing about the callee.
    ///
    /// ```
    /// use halfopen::{Breaker, Config, Outcome};
    ///
    /// # fn get() -> Result<u16, std::io::Error> { Ok(404) }
    /// let breaker = Breaker::new(Config::default());
    /// let status = breaker.call_with(get, |result| match result {
    ///     Ok(500..) | Err(_) => Outcome::Failure,
    ///     Ok(400..500) => Outcome::Ignored,
    ///     Ok(_) => Outcome::Success,
    /// });
    /// assert_eq!(status.unwrap(), 404);
    /// assert_eq!(breaker.snapshot().ignored, 1);
    /// ```
    ///
    /// # Errors
    ///
    /// The rejection, or the call's own error.
    #[inline]
    pub fn call_with<T, E>(
        &self,
        f: impl FnOnce() -> Result<T, E>,
        classify: impl FnOnce(&Result<T, E>) -> Outcome,
    ) -> Result<T, CallError<E>> {
        let _span = trace::call_span(self).entered();
        let guard = self.acquire().map_err(CallError::Rejected)?;
        let result = f();
        guard.settle(classify(&result));
        result.map_err(CallError::Failed)
    }

    /// Makes a call if it is admitted. Otherwise, or when it fails, `fallback`
    /// has the answer: a cached value, a 503.
    #[inline]
    pub fn call_or_else<T, E>(
        &self,
        f: impl FnOnce() -> Result<T, E>,
        fallback: impl FnOnce(CallError<E>) -> T,
    ) -> T {
        self.call(f).unwrap_or_else(fallback)
    }

    /// As [`call_or_else`](Breaker::call_or_else); `classify` says which
    /// results are failures, and which say nothing about the callee. The
    /// fallback stands in for errors, whatever they count as; an `Ok` is the
    /// answer, even if it counts as a failure.
    ///
    /// ```
    /// use halfopen::{Breaker, CallError, Config, Outcome};
    ///
    /// # #[derive(PartialEq)] enum Error { NotFound, Down }
    /// # fn find() -> Result<u32, Error> { Err(Error::NotFound) }
    /// let breaker = Breaker::new(Config::default());
    /// let classify = |result: &Result<u32, Error>| match result {
    ///     Ok(_) => Outcome::Success,
    ///     Err(Error::NotFound) => Outcome::Ignored,
    ///     Err(Error::Down) => Outcome::Failure,
    /// };
    /// let price = breaker.call_or_else_with(find, classify, |_| 0);
    /// assert_eq!((price, breaker.snapshot().failures), (0, 0));
    /// ```
    #[inline]
    pub fn call_or_else_with<T, E>(
        &self,
        f: impl FnOnce() -> Result<T, E>,
        classify: impl FnOnce(&Result<T, E>) -> Outcome,
        fallback: impl FnOnce(CallError<E>) -> T,
    ) -> T {
        self.call_with(f, classify).unwrap_or_else(fallback)
    }

    /// Makes an asynchronous call if it is admitted, which is asked when the
    /// future is first polled. An `Err` is a failure.
    ///
    /// **Dropping the future counts nothing** and gives the permit back, so
    /// the timeout belongs inside, where it is an error, and not around this:
    ///
    /// ```
    /// # use std::{future::Future, io, time::Duration};
    /// # async fn timeout<F: Future>(_: Duration, call: F) -> Result<F::Output, io::Error> { Ok(call.await) }
    /// # async fn fetch() -> Result<u32, io::Error> { Ok(3) }
    /// # async fn example(breaker: halfopen::Breaker) -> Result<(), Box<dyn std::error::Error>> {
    /// // `timeout` is your runtime's.
    /// let price = breaker.call_async(async || timeout(Duration::from_secs(1), fetch()).await?).await?;
    /// // And with a fallback, as `call_or_else` has one.
    /// let call = breaker.call_async(async || timeout(Duration::from_secs(1), fetch()).await?);
    /// let price = call.await.unwrap_or_else(|_| 0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// The rejection, or the call's own error.
    pub async fn call_async<T, E, F>(&self, f: impl FnOnce() -> F) -> Result<T, CallError<E>>
    where
        F: Future<Output = Result<T, E>>,
    {
        self.call_async_with(f, outcome).await
    }

    /// As [`call_async`](Breaker::call_async); `classify` says which results
    /// are failures, and which say nothing about the callee.
    ///
    /// # Errors
    ///
    /// The rejection, or the call's own error.
    pub async fn call_async_with<T, E, F>(
        &self,
        f: impl FnOnce() -> F,
        classify: impl FnOnce(&Result<T, E>) -> Outcome,
    ) -> Result<T, CallError<E>>
    where
        F: Future<Output = Result<T, E>>,
    {
        let call = async {
            let guard = self.acquire().map_err(CallError::Rejected)?;
            let result = f().await;
            guard.settle(classify(&result));
            result.map_err(CallError::Failed)
        };
        trace::in_span(trace::call_span(self), call).await
    }
}

/// What a result counts as where nobody says otherwise.
pub(crate) fn outcome<T, E>(result: &Result<T, E>) -> Outcome {
    match result {
        Ok(_) => Outcome::Success,
        Err(_) => Outcome::Failure,
    }
}
