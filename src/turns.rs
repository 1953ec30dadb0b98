//! Work in turns: what takes long on large data, with places where something else may come first.
//!
//! Owns how an `async` function is run without a runtime: it names its places by [`pause`], and whoever holds the
//! [`Work`] goes from one to the next, draws a picture in between, or drops it. Invariant: what comes out does not
//! depend on the turns. A turn takes at most some tenths of a second for ten million spans. Pinned by `tests`, and by
//! `tests/it/engine.rs`.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// Work that is not done yet.
pub struct Work<T>(Pin<Box<dyn Future<Output = T> + Send>>);

impl<T> Work<T> {
    /// Work of which nothing is done.
    pub fn new(work: impl Future<Output = T> + Send + 'static) -> Work<T> {
        Work(Box::pin(work))
    }

    /// Goes on to the next pause; what came of it at the end, after which there is nothing to be done.
    pub fn turn(&mut self) -> Option<T> {
        turn(self.0.as_mut())
    }
}

/// All turns at once.
pub fn at_once<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        if let Some(done) = turn(work.as_mut()) {
            return done;
        }
    }
}

fn turn<T>(work: Pin<&mut (dyn Future<Output = T> + '_)>) -> Option<T> {
    match work.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Some(done),
        Poll::Pending => None,
    }
}

/// Something else may come first.
pub fn pause() -> Pause {
    Pause(false)
}

/// The end of a turn.
pub struct Pause(bool);

impl Future for Pause {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.0, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sum(of: Vec<u32>) -> u32 {
        let mut sum = 0;
        for it in of {
            sum += it;
            pause().await;
        }
        sum
    }

    #[test]
    fn work_goes_on_turn_by_turn() {
        let mut work = Work::new(sum(vec![1, 2, 3]));
        let turns: Vec<Option<u32>> = (0..4).map(|_| work.turn()).collect();
        assert_eq!(turns, [None, None, None, Some(6)]);
        assert_eq!(at_once(sum(vec![4, 5])), 9);
    }
}
