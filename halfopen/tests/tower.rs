//! The tower service: permits, readiness, classification, allocations.
#![cfg(feature = "tower")]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use allocation_counter::measure;
use halfopen::tower::{BreakerLayer, BreakerService};
use halfopen::{Breaker, CallError, ManualClock, Outcome, State};
use tower_layer::Layer;
use tower_service::Service;

const S: i64 = 1_000_000_000;
const TWO: &str = "window=2 min=2 open=5s probes=1 lease=off";

type Answer = Poll<Result<u16, &'static str>>;
type Ready = Poll<Result<(), &'static str>>;
type Queue<T> = Rc<RefCell<VecDeque<T>>>;

/// A service that answers from a list, and counts what it is asked.
#[derive(Clone, Default)]
struct Script {
    ready: Queue<Ready>,
    answers: Queue<Answer>,
    calls: Rc<RefCell<u32>>,
}

struct Reply(Answer);

impl Future for Reply {
    type Output = Result<u16, &'static str>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Answer {
        self.0
    }
}

impl Service<u8> for Script {
    type Response = u16;
    type Error = &'static str;
    type Future = Reply;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Ready {
        self.ready
            .borrow_mut()
            .pop_front()
            .unwrap_or(Poll::Ready(Ok(())))
    }

    fn call(&mut self, _: u8) -> Reply {
        *self.calls.borrow_mut() += 1;
        Reply(
            self.answers
                .borrow_mut()
                .pop_front()
                .unwrap_or(Poll::Ready(Ok(200))),
        )
    }
}

fn script(answers: &[Answer]) -> Script {
    Script {
        answers: Rc::new(RefCell::new(answers.iter().copied().collect())),
        ..Script::default()
    }
}

fn breaker(settings: &str) -> (Breaker, ManualClock) {
    let clock = ManualClock::new(0);
    let config = settings.parse().unwrap();
    (Breaker::with_clock(config, clock.clone()), clock)
}

fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

fn call<C>(service: &mut BreakerService<Script, C>) -> Poll<Result<u16, CallError<&'static str>>>
where
    C: halfopen::tower::Classify<u16, &'static str> + Clone,
{
    assert_eq!(service.poll_ready(&mut context()), Poll::Ready(Ok(())));
    pin!(service.call(0)).poll(&mut context())
}

#[test]
fn errors_are_failures_and_rejections_do_not_reach_the_service() {
    let (breaker, clock) = breaker(TWO);
    let inner = script(&[Poll::Ready(Err("down")), Poll::Ready(Err("down"))]);
    let calls = Rc::clone(&inner.calls);
    let mut service = BreakerLayer::new(breaker.clone()).layer(inner);
    for _ in 0..2 {
        assert_eq!(
            call(&mut service),
            Poll::Ready(Err(CallError::Failed("down")))
        );
    }
    assert_eq!(breaker.state(), State::Open);
    let Poll::Ready(Err(CallError::Rejected(rejected))) = call(&mut service) else {
        panic!("open");
    };
    assert_eq!(rejected.retry_at, Some(5 * S));
    assert_eq!(*calls.borrow(), 2);
    clock.set(5 * S);
    assert_eq!(call(&mut service), Poll::Ready(Ok(200)));
    assert_eq!(service.breaker().state(), State::Closed);
}

#[test]
fn a_classifier_reads_responses() {
    let (breaker, _) = breaker("window=10 min=10");
    let inner = script(&[
        Poll::Ready(Ok(200)),
        Poll::Ready(Ok(429)),
        Poll::Ready(Ok(503)),
        Poll::Ready(Err("reset")),
    ]);
    let classify = |result: &Result<u16, &'static str>| match result {
        Ok(429) => Outcome::Ignored,
        Ok(status) if *status < 500 => Outcome::Success,
        _ => Outcome::Failure,
    };
    let mut service = BreakerLayer::new(breaker.clone())
        .classify(classify)
        .layer(inner);
    for _ in 0..4 {
        assert!(call(&mut service).is_ready());
    }
    let seen = breaker.snapshot();
    assert_eq!((seen.calls, seen.failures, seen.ignored), (3, 2, 1));
}

#[test]
fn ready_reserves_nothing() {
    let (breaker, clock) = breaker(TWO);
    breaker.open().unwrap();
    clock.set(5 * S);
    let inner = Script::default();
    let ready = Rc::clone(&inner.ready);
    let mut services: Vec<_> = (0..3)
        .map(|_| BreakerLayer::new(breaker.clone()).layer(inner.clone()))
        .collect();
    for service in &mut services {
        for _ in 0..3 {
            assert_eq!(service.poll_ready(&mut context()), Poll::Ready(Ok(())));
        }
    }
    assert_eq!(breaker.state(), State::Open);
    // The one that is called has the probe.
    assert_eq!(call(&mut services[2]), Poll::Ready(Ok(200)));
    assert_eq!(breaker.state(), State::Closed);

    ready
        .borrow_mut()
        .extend([Poll::Pending, Poll::Ready(Err("gone"))]);
    assert!(services[0].poll_ready(&mut context()).is_pending());
    let gone = services[0].poll_ready(&mut context());
    assert_eq!(gone, Poll::Ready(Err(CallError::Failed("gone"))));
    assert_eq!(breaker.snapshot().calls, 0);
}

#[test]
fn dropping_the_future_gives_the_permit_back() {
    let (breaker, clock) = breaker(TWO);
    breaker.open().unwrap();
    clock.set(5 * S);
    let inner = script(&[Poll::Pending, Poll::Pending]);
    let mut service = BreakerLayer::new(breaker.clone()).layer(inner);
    for polled in [false, true] {
        assert!(service.poll_ready(&mut context()).is_ready());
        let mut future = Box::pin(service.call(0));
        if polled {
            assert!(future.as_mut().poll(&mut context()).is_pending());
        }
        assert!(breaker.acquire().is_err(), "the probe is out");
        drop(future);
    }
    assert_eq!(call(&mut service), Poll::Ready(Ok(200)));
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn a_call_allocates_nothing() {
    let (breaker, _) = breaker("window=10s/1s min=20");
    let mut service = BreakerLayer::new(breaker.clone()).layer(Script::default());
    let counted = measure(|| {
        for _ in 0..1_000 {
            assert_eq!(call(&mut service), Poll::Ready(Ok(200)));
        }
        breaker.force_open();
        for _ in 0..1_000 {
            assert!(call(&mut service).is_ready());
        }
    });
    assert_eq!(counted.count_total, 0);
    assert_eq!(breaker.snapshot().not_permitted, 1_000);
}
