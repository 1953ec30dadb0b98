//! The shared breaker against the machine: the same log of events gives the
//! same answers, figures and transitions, to the nanosecond.
//!
//! The log is drawn from a seed: admissions, results, permits given back by
//! word or by dropping, changes by hand, and time that passes, stands still or
//! goes back. The breaker gets it from a manual clock or passed in, in turn.
#![cfg(feature = "std")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use halfopen::{Builder, Config, Guard, Machine, ManualClock, Outcome, Permit, Transition};

/// All parts of the settings that keep time or permits.
const SETTINGS: [&str; 8] = [
    "window=5 min=3 open=20ns probes=2 lease=30ns",
    "window=5 min=3 open=20ns probes=2 lease=15ns auto=yes",
    "window=40ns/10ns min=2 fail=40% open=10ns probes=3 lease=off judge=first-failure",
    "window=4 min=4 slow=50%@5ns timeout=12ns open=5ns backoff=2x max-open=60ns probes=1",
    "window=4 min=2 open=10ns jitter=full seed=7 probes=1 ramp=10%/50%/100%@20ns",
    "window=40ns/20ns min=2 open=10ns jitter=equal auto=yes probes=2 ramp=50ns",
    "window=9 min=9 fail=off slow=off consecutive=2 judge=first-failure open=1ns probes=4 ramp=50%@9ns",
    "",
];

#[test]
fn the_breaker_is_the_machine() {
    let mut causes = BTreeMap::<&str, usize>::new();
    for seed in 0..4_000 {
        let settings = SETTINGS[seed as usize % SETTINGS.len()];
        for it in compare(settings.parse().unwrap(), Draw(seed)) {
            *causes.entry(it.cause.as_str()).or_default() += 1;
        }
    }
    // The log reaches every edge, or this says nothing about it.
    assert_eq!(causes.len(), 10, "causes not reached: {causes:?}");
    assert!(causes.values().all(|&n| n >= 20), "{causes:?}");
}

/// Runs one log on both; gives its transitions.
fn compare(config: Config, mut draw: Draw) -> Vec<Transition> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&told);
    let clock = ManualClock::new(0);
    let breaker = Builder::with_clock(config.clone(), clock.clone())
        .on_transition(move |_, it| listener.lock().unwrap().push(*it))
        .build();
    let mut machine = Machine::new(config);
    let mut logged = Vec::new();
    let mut permits: Vec<(Permit, i64, Guard)> = Vec::new();
    let mut now = 0;

    for _ in 0..120 {
        now += draw.step();
        let passed_in = draw.one_in(2);
        // What is passed in counts, and the clock is not read.
        clock.set(if passed_in { i64::MIN } else { now });
        let what = draw.below(40);
        match what {
            0..=17 => {
                let guard = match passed_in {
                    true => breaker.acquire_owned_at(now),
                    false => breaker.acquire_owned(),
                };
                match (machine.acquire(now), guard) {
                    (Ok(permit), Ok(guard)) => {
                        assert_eq!(guard.generation(), permit.generation());
                        assert_eq!(guard.state(), machine.state());
                        permits.push((permit, guard.since(), guard));
                    }
                    (machine, guard) => assert_eq!(machine.unwrap_err(), guard.unwrap_err()),
                }
            }
            18..=35 if !permits.is_empty() => {
                let (permit, since, guard) = permits.swap_remove(draw.below(permits.len()));
                match what {
                    18 => {
                        machine.cancel(now, permit);
                        clock.set(now);
                        drop(guard);
                    }
                    19 => {
                        machine.cancel(now, permit);
                        guard.cancel_at(now);
                    }
                    _ => {
                        let outcome = match what {
                            20..=28 => Outcome::Failure,
                            29..=34 => Outcome::Success,
                            _ => Outcome::Ignored,
                        };
                        machine.settle(now, permit, outcome, (now - since).max(0) as u64);
                        match (passed_in, outcome) {
                            (true, Outcome::Success) => guard.success_at(now),
                            (true, Outcome::Failure) => guard.failure_at(now),
                            (true, Outcome::Ignored) => guard.ignore_at(now),
                            (false, Outcome::Success) => guard.success(),
                            (false, Outcome::Failure) => guard.failure(),
                            (false, Outcome::Ignored) => guard.ignore(),
                        }
                    }
                }
            }
            36 => {
                machine.advance(now);
                if passed_in {
                    breaker.advance_at(now)
                } else {
                    breaker.advance()
                }
            }
            37 if draw.one_in(4) => {
                by_hand(&mut draw, &mut machine, &breaker, now, passed_in, &clock)
            }
            _ => {}
        }

        logged.extend(machine.drain_transitions());
        assert_eq!(*told.lock().unwrap(), logged);
        assert_eq!(breaker.snapshot(), machine.snapshot());
        assert_eq!(breaker.state(), machine.state());
        assert_eq!(breaker.retry_at(), machine.retry_at());
        assert_eq!(breaker.next_deadline(), machine.next_deadline());
    }
    logged
}

fn by_hand(
    draw: &mut Draw,
    machine: &mut Machine,
    breaker: &halfopen::Breaker,
    now: i64,
    passed_in: bool,
    clock: &ManualClock,
) {
    if passed_in {
        match draw.below(8) {
            0 => assert_eq!(breaker.open_at(now), machine.open(now)),
            1 => assert_eq!(breaker.open_for_at(now, 7), machine.open_for(now, 7)),
            2 => assert_eq!(breaker.half_open_at(now), machine.half_open(now)),
            3 => (breaker.close_at(now), machine.close(now)).1,
            4 => (breaker.force_open_at(now), machine.force_open(now)).1,
            5 => (breaker.disable_at(now), machine.disable(now)).1,
            6 => (breaker.metrics_only_at(now), machine.metrics_only(now)).1,
            _ => (breaker.reset_at(now), machine.reset(now)).1,
        }
    } else {
        clock.set(now);
        match draw.below(8) {
            0 => assert_eq!(breaker.open(), machine.open(now)),
            1 => assert_eq!(breaker.open_for(7), machine.open_for(now, 7)),
            2 => assert_eq!(breaker.half_open(), machine.half_open(now)),
            3 => (breaker.close(), machine.close(now)).1,
            4 => (breaker.force_open(), machine.force_open(now)).1,
            5 => (breaker.disable(), machine.disable(now)).1,
            6 => (breaker.metrics_only(), machine.metrics_only(now)).1,
            _ => (breaker.reset(), machine.reset(now)).1,
        }
    }
}

/// A sequence of numbers from a seed (xorshift64*).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
        let mut x = self.0;
        x ^= x >> 32;
        x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
        x ^ (x >> 32)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn step(&mut self) -> i64 {
        match self.below(20) {
            0 => -(self.below(50) as i64),
            1 => self.below(200) as i64,
            2..=10 => 0,
            _ => self.below(8) as i64,
        }
    }
}
