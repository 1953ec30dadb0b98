//! The log on the breaker that threads share.
//!
//! Owns how an event is told to it: by a manual clock, or with the time
//! passed in, when the clock shows nonsense instead. Pinned by
//! `tests/identical.rs`.

use std::string::String;
use std::sync::{Arc, Mutex, PoisonError};
use std::vec::Vec;

use halfopen::{Breaker, Builder, Config, Guard, ManualClock, Outcome};

use super::draw::Draw;
use super::{Answer, Event, Log, Told, What};

/// A breaker that is played a log.
pub struct OnBreaker {
    /// The breaker.
    pub breaker: Breaker,
    clock: ManualClock,
    told: Arc<Mutex<Told>>,
    calls: Vec<Option<Guard>>,
}

/// Plays a log on a breaker, told the time by its clock or passed in as the
/// seed has it; gives what came of it as text.
pub fn replay(log: &Log, seed: u64) -> String {
    let mut breaker = OnBreaker::new(log.config.clone());
    let mut draw = Draw(seed);
    for &event in &log.events {
        breaker.step(event, draw.one_in(2));
    }
    breaker.look();
    let snapshot = breaker.breaker.snapshot();
    breaker.told().end(&snapshot)
}

impl OnBreaker {
    /// A breaker at the beginning of a log.
    pub fn new(config: Config) -> OnBreaker {
        let told = Arc::new(Mutex::new(Told::default()));
        let listener = Arc::clone(&told);
        let clock = ManualClock::new(0);
        let breaker = Builder::with_clock(config, clock.clone())
            .on_transition(move |_, it| {
                let mut told = listener.lock().unwrap_or_else(PoisonError::into_inner);
                told.transition(it);
            })
            .build();
        OnBreaker {
            breaker,
            clock,
            told,
            calls: Vec::new(),
        }
    }

    /// Lets happen what is due by the largest time seen.
    pub fn look(&self) {
        self.breaker.advance_at(i64::MIN);
    }

    /// What its listener has heard.
    pub fn told(&self) -> Told {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.clone()
    }

    /// Lets one event happen, with the time passed in or by the clock.
    pub fn step(&mut self, event: Event, passed_in: bool) -> Answer {
        let Event { at, what } = event;
        // What is passed in counts, and the clock is not read.
        self.clock.set(if passed_in { i64::MIN } else { at });
        let breaker = &self.breaker;
        let mut take = |call| self.calls.get_mut(call).and_then(Option::take);
        let mut answer = Answer::Done;
        match (what, passed_in) {
            (What::Settle(call, outcome), _) => {
                let Some(guard) = take(call) else {
                    return answer;
                };
                match (passed_in, outcome) {
                    (true, Outcome::Success) => guard.success_at(at),
                    (true, Outcome::Failure) => guard.failure_at(at),
                    (true, Outcome::Ignored) => guard.ignore_at(at),
                    (false, Outcome::Success) => guard.success(),
                    (false, Outcome::Failure) => guard.failure(),
                    (false, Outcome::Ignored) => guard.ignore(),
                }
            }
            (What::Cancel(call), true) => {
                if let Some(guard) = take(call) {
                    guard.cancel_at(at);
                }
            }
            (What::Cancel(call), false) => drop(take(call)),
            (What::Acquire, _) => {
                let acquired = match passed_in {
                    true => breaker.acquire_owned_at(at),
                    false => breaker.acquire_owned(),
                };
                answer = match &acquired {
                    Ok(guard) => Answer::Admitted(guard.state(), guard.generation()),
                    Err(rejected) => Answer::Rejected(*rejected),
                };
                self.calls.push(acquired.ok());
            }
            (What::Advance, true) => breaker.advance_at(at),
            (What::Open, true) => answer = breaker.open_at(at).into(),
            (What::OpenFor(wait), true) => answer = breaker.open_for_at(at, wait).into(),
            (What::HalfOpen, true) => answer = breaker.half_open_at(at).into(),
            (What::Close, true) => breaker.close_at(at),
            (What::ForceOpen, true) => breaker.force_open_at(at),
            (What::Disable, true) => breaker.disable_at(at),
            (What::MetricsOnly, true) => breaker.metrics_only_at(at),
            (What::Reset, true) => breaker.reset_at(at),
            (What::Advance, false) => breaker.advance(),
            (What::Open, false) => answer = breaker.open().into(),
            (What::OpenFor(wait), false) => answer = breaker.open_for(wait).into(),
            (What::HalfOpen, false) => answer = breaker.half_open().into(),
            (What::Close, false) => breaker.close(),
            (What::ForceOpen, false) => breaker.force_open(),
            (What::Disable, false) => breaker.disable(),
            (What::MetricsOnly, false) => breaker.metrics_only(),
            (What::Reset, false) => breaker.reset(),
        }
        answer
    }
}
