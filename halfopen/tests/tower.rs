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

/// A service that answers from a list, and counts what it is asked. It panics
/// when it is called without having said that it is ready.
#[derive(Default)]
struct Script {
    ready: Queue<Ready>,
    answers: Queue<Answer>,
    calls: Rc<RefCell<u32>>,
    polls: Rc<RefCell<u32>>,
    said_ready: bool,
}

impl Clone for Script {
    fn clone(&self) -> Script {
        Script {
            ready: Rc::clone(&self.ready),
            answers: Rc::clone(&self.answers),
            calls: Rc::clone(&self.calls),
            polls: Rc::clone(&self.polls),
            said_ready: false,
        }
    }
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
        *self.polls.borrow_mut() += 1;
        let next = self.ready.borrow_mut().pop_front();
        let ready = next.unwrap_or(Poll::Ready(Ok(())));
        self.said_ready = ready == Poll::Ready(Ok(()));
        ready
    }

    fn call(&mut self, _: u8) -> Reply {
        assert!(std::mem::take(&mut self.said_ready), "called unready");
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
fn who_is_rejected_does_not_wait_for_the_inner_service() {
    let ready = |it: &mut BreakerService<Script>| it.poll_ready(&mut context());
    let (breaker, clock) = breaker("window=2 min=2 open=5s probes=1 lease=off ramp=50%@9s");
    let inner = Script::default();
    let (polls, calls) = (Rc::clone(&inner.polls), Rc::clone(&inner.calls));
    // It is never ready.
    let never = Rc::clone(&inner.ready);
    never.borrow_mut().extend([Poll::Pending; 100]);
    let mut service = BreakerLayer::new(breaker.clone()).layer(inner);
    assert!(ready(&mut service).is_pending());
    let rejects = |service: &mut BreakerService<Script>, state, retry_at| {
        let before = breaker.snapshot();
        let polled = *polls.borrow();
        assert_eq!(service.poll_ready(&mut context()), Poll::Ready(Ok(())));
        // Only looked at.
        assert_eq!(breaker.snapshot(), before);
        assert_eq!(*polls.borrow(), polled);
        let Poll::Ready(Err(CallError::Rejected(rejected))) =
            pin!(service.call(0)).poll(&mut context())
        else {
            panic!("{state}");
        };
        assert_eq!((rejected.state, rejected.retry_at), (state, retry_at));
        assert_eq!(breaker.snapshot().not_permitted, before.not_permitted + 1);
    };

    breaker.force_open();
    rejects(&mut service, State::ForcedOpen, None);
    breaker.open().unwrap();
    rejects(&mut service, State::Open, Some(5 * S));
    // The wait is over between the two: it may ask again at once, when the
    // inner service is asked first.
    assert!(ready(&mut service).is_ready());
    clock.set(5 * S);
    let now = pin!(service.call(0)).poll(&mut context());
    let Poll::Ready(Err(CallError::Rejected(now))) = now else {
        panic!("the inner service is not ready");
    };
    assert_eq!((now.at, now.retry_at), (5 * S, Some(5 * S)));
    assert!(ready(&mut service).is_pending());

    // The probe is out, and comes back between the two.
    let probe = breaker.acquire().unwrap();
    rejects(&mut service, State::HalfOpen, None);
    assert!(ready(&mut service).is_ready());
    drop(probe);
    assert!(pin!(service.call(0)).poll(&mut context()).is_ready());
    assert!(ready(&mut service).is_pending());
    // Nothing was taken.
    breaker.acquire().unwrap().success();

    // Every other call, and this one is as good as another.
    assert_eq!(breaker.state(), State::Ramping);
    rejects(&mut service, State::Ramping, None);
    assert!(ready(&mut service).is_pending());
    assert!(pin!(service.call(0)).poll(&mut context()).is_ready());
    breaker.acquire().unwrap().success();
    rejects(&mut service, State::Ramping, None);

    assert_eq!(*calls.borrow(), 0);
    never.borrow_mut().clear();
    assert_eq!(call(&mut service), Poll::Ready(Ok(200)));
    breaker.close();
    assert_eq!(call(&mut service), Poll::Ready(Ok(200)));
    // A clone is not ready because this one is.
    assert!(ready(&mut service).is_ready());
    let mut clone = service.clone();
    let unready = pin!(clone.call(0)).poll(&mut context());
    assert!(matches!(unready, Poll::Ready(Err(CallError::Rejected(_)))));
    assert_eq!(*calls.borrow(), 2);
    assert!(pin!(service.call(0)).poll(&mut context()).is_ready());
    assert_eq!(*calls.borrow(), 3);
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
