/*!
A circuit breaker as a state machine: time passed in, constant work per call,
ramp-up after recovery.

# The problem

A service goes slow. Its callers wait for it with all their threads, until
those fail who never needed it. A circuit breaker cuts that short: it counts
results, *opens* when too many are bad, and rejects calls at once until a wait
is over. Then it is *half-open*: a few probes may pass, and their results close
it or open it again.

That last step has a flaw. The probes find a service without load, which
answers well; the breaker closes; and the traffic that it withheld arrives at
once, from every instance whose breaker closed in the same second. The service
falls over again and the breaker opens again, for as long as the load lasts.
This breaker can be *ramping* instead: after the probes it admits a growing
share of calls, and goes back to open as soon as that is too much.

# An example

```
use halfopen::{Cause, Config, Machine, Outcome, State};

const S: i64 = 1_000_000_000;

// Judge the last 20 calls from the tenth on; call 2 s slow; stay open for 5 s,
// longer each time; then 3 probes; then 10 %, 50 % and all calls, 5 s each.
let config: Config = "window=20 min=10 fail=50% slow=80%@2s open=5s backoff=2x max-open=5m \
                      probes=3 ramp=10%/50%/100%@5s".parse()?;
let mut breaker = Machine::new(config);

// For each call: ask, make it, say how it went. The time is yours.
for n in 0..10 {
    if let Ok(permit) = breaker.acquire(n * S) {
        breaker.settle(n * S + S / 10, permit, Outcome::Failure, 100_000_000);
    }
}
assert_eq!(breaker.state(), State::Open);

// The wait is over: three probes pass, and the ramp begins.
for _ in 0..3 {
    let probe = breaker.acquire(20 * S).expect("a probe");
    breaker.settle(20 * S, probe, Outcome::Success, 1_000_000);
}
assert_eq!(breaker.state(), State::Ramping);
let admitted = (0..100).filter(|_| breaker.acquire(21 * S).is_ok()).count();
assert_eq!(admitted, 10);

// Every change has its time, its cause and the figures that led to it.
breaker.advance(35 * S);
let last = breaker.drain_transitions().last().expect("a transition");
assert_eq!((last.at, last.to, last.cause), (35 * S, State::Closed, Cause::RampDone));
# Ok::<(), halfopen::ConfigError>(())
```

# Where to start

* [`Config`]: the settings, as text (the table is in [`text`]) or as
  [`Settings`]. [`presets`] has those of well-known breakers.
* [`Machine`]: the breaker. [`acquire`](Machine::acquire),
  [`settle`](Machine::settle), [`cancel`](Machine::cancel).
* [`Machine::drain_transitions`] and [`Machine::snapshot`]: what happened.
* [`companions`]: timeouts, retries and their budgets, bulkhead, limits, load
  shedding, throttling, outlier ejection, rate limits, each a machine of its
  own; a [`Stack`](companions::Stack) puts several around a breaker.

# What holds

* **No clock, thread, timer, lock or random source.** Time comes in as
  nanoseconds from any epoch, randomness as a seed. What a service did can be
  replayed from a log of its calls, to the nanosecond.
* **Constant work.** No allocation after construction, O(1) time per call.
* **Integers only.** Rates are compared in integers, and 29 of 100 is 29 %.
* **Boundaries.** Rates trip at `>=`; the wait is over at `>=`; a call is slow
  when it takes longer (`>`) than its threshold and over its timeout at `>=`.
  A deadline acts at its due time, before what else happens at that time.
* **Results belong to the state that admitted them.** One that comes later is
  dropped and counted.
* **Nothing panics**, on any sequence of calls, permits or times.

# When a ramp helps

Where capacity grows while the load does: caches and connection pools that warm
up, an autoscaler that sees the queue, a service close to its limit that needs
time to drain. It does not help a service that stays too small for its load:
there the ramp fails at the share that is too much, and the breaker opens
again, having hurt fewer calls.
*/
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

#[cfg(all(feature = "std", not(target_has_atomic = "64")))]
compile_error!("the feature `std` needs atomic words of 64 bits; the state machines do without it");

mod backoff;
#[cfg(feature = "std")]
mod breaker;
#[cfg(feature = "std")]
mod call;
#[cfg(feature = "std")]
mod clock;
pub mod companions;
mod config;
#[cfg(feature = "std")]
mod gate;
mod machine;
pub mod presets;
mod probes;
mod ramp;
#[cfg(feature = "serde")]
mod serial;
#[cfg(feature = "std")]
mod sync;
pub mod text;
#[cfg(feature = "tower")]
pub mod tower;
#[cfg(feature = "std")]
mod trace;
mod window;

pub use backoff::Jitter;
#[cfg(feature = "std")]
pub use breaker::{Breaker, Builder, Guard};
#[cfg(feature = "std")]
pub use call::CallError;
#[cfg(all(
    feature = "std",
    not(all(target_family = "wasm", target_os = "unknown"))
))]
pub use clock::SystemClock;
#[cfg(feature = "std")]
pub use clock::{Clock, ManualClock};
pub use config::{
    Config, ConfigError, ConfigErrorKind, Judge, MAX_BUCKETS, MAX_DURATION, MAX_MIN, MAX_PROBES,
    MAX_RAMP_STEPS, MAX_WINDOW_CALLS, Rate, Settings, Slow,
};
pub use machine::{
    Cause, Machine, NotAllowed, Outcome, Permit, Rejected, Snapshot, State, Transition,
};
pub use ramp::Ramp;
pub use window::{Figures, Window};
