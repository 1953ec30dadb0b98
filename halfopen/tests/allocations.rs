//! Memory: what a breaker takes at defaults, and that a call allocates none.
#![cfg(feature = "std")]

use std::hint::black_box;

use allocation_counter::measure;
use halfopen::{Breaker, Builder, Config, Machine, ManualClock, Outcome, State};

/// Bytes of a value and of all that it has allocated.
fn bytes<T>(make: impl FnOnce() -> T) -> usize {
    let mut made = None;
    let heap = measure(|| made = Some(make()));
    drop(made);
    assert_eq!(
        heap.bytes_current as u64, heap.bytes_total,
        "nothing temporary"
    );
    size_of::<T>() + heap.bytes_total as usize
}

/// The machine: itself, two bits a call, twelve bytes a probe, three
/// transitions. The breaker: its handle, two reference counts, the lock, the
/// gate, a pointer to what it does without; and no transitions.
#[cfg(all(target_pointer_width = "64", target_os = "linux"))]
#[test]
fn a_breaker_at_defaults_takes_at_most_512_bytes() {
    const RING: usize = 7 * 4;
    const PROBES: usize = 10 * 12;
    const LOG: usize = 3 * 24;
    let machine = bytes(|| Machine::new(Config::default()));
    assert_eq!(machine, size_of::<Machine>() + RING + PROBES + LOG);
    assert!(machine <= 512, "{machine}");

    let breaker = bytes(|| Breaker::new(Config::default()));
    println!("machine {machine}, breaker {breaker} bytes");
    if cfg!(feature = "tracing") {
        // Sixteen transitions may wait, and somebody has to know whose turn it is.
        assert!(breaker <= 512 + 16 * 24 + 72, "{breaker}");
        return;
    }
    const HANDLE: usize = 8;
    const COUNTS: usize = 2 * 8;
    const LOCK: usize = 8;
    const GATE: usize = 5 * 8;
    const EXTRAS: usize = 8;
    let shared = HANDLE + COUNTS + LOCK + GATE + EXTRAS;
    assert_eq!(breaker, size_of::<Machine>() + RING + PROBES + shared);
    assert!(breaker <= 512, "{breaker}");
}

#[test]
fn calls_allocate_nothing_in_any_state() {
    for settings in [
        "window=100 min=10 open=5s probes=3 lease=30s ramp=10%/50%/100%@5s",
        "window=10s/1s min=10 open=5s backoff=2x jitter=full probes=3 ramp=30s auto=yes",
    ] {
        let clock = ManualClock::new(0);
        let config: Config = settings.parse().unwrap();
        let breaker = Builder::with_clock(config, clock.clone())
            .on_transition(|_, it| {
                black_box(it);
            })
            .build();
        let mut states = [0u32; 7];
        let counted = measure(|| {
            for n in 0..200_000u32 {
                clock.advance(1_000_000);
                if n % 50_000 == 49_999 {
                    breaker.force_open();
                    breaker.reset();
                }
                // Every second minute the callee is down.
                let down = n / 60_000 % 2 == 1;
                states[breaker.state() as usize] += 1;
                if n % 7 == 0 {
                    drop(breaker.acquire_owned());
                } else if down {
                    let _ = black_box(breaker.call(|| Err::<(), _>(())));
                } else {
                    let _ = black_box(breaker.call(|| Ok::<_, ()>(())));
                }
            }
            black_box(breaker.snapshot());
        });
        assert_eq!(counted.count_total, 0, "{settings}");
        for state in [State::Closed, State::Open, State::HalfOpen, State::Ramping] {
            assert!(states[state as usize] > 0, "{settings}: never {state}");
        }
    }
}

#[test]
fn nothing_is_allocated_however_many_calls_are_in_the_window() {
    for settings in ["window=1h/1s min=2000000", "window=1000000 min=2"] {
        for calls in [1_000, 1_000_000] {
            let config: Config = settings.parse().unwrap();
            let mut machine = Machine::new(config.clone());
            let breaker = Breaker::with_clock(config, ManualClock::new(0));
            let counted = measure(|| {
                for n in 0..calls {
                    let permit = machine.acquire(n).expect("closed");
                    machine.settle(n, permit, Outcome::Success, 1);
                    breaker.acquire_at(n).expect("closed").success_at(n);
                }
            });
            let seen = [machine.snapshot(), breaker.snapshot()];
            assert!(
                seen.iter().all(|it| i64::from(it.calls) == calls),
                "{settings}"
            );
            assert_eq!(counted.count_total, 0, "{settings}");
        }
    }
}
