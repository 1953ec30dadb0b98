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
# #[cfg(feature = "std")] {
use halfopen::{Breaker, CallError, Config};

# fn fetch(_: u32) -> Result<String, std::io::Error> { Ok("price list".to_string()) }
// Judge the last 10 s from the 20th call on; call 500 ms slow; stay open for
// 5 s, longer each time; then 5 probes; then a growing share of calls for 30 s.
let config: Config = "window=10s/1s min=20 fail=50% slow=80%@500ms open=5s backoff=2x max-open=1m \
                      probes=5 ramp=30s".parse()?;
let catalog = Breaker::new(config);

// From any thread; the handle is cheap to clone.
let prices = catalog.call_or_else(|| fetch(7), |err| match err {
    CallError::Rejected(rejected) => format!("yesterday's ({rejected})"),
    CallError::Failed(err) => format!("yesterday's ({err})"),
});
assert_eq!(prices, "price list");
# }
# Ok::<(), halfopen::ConfigError>(())
```

The same breaker without a clock and without threads, for replays, simulations
and hosts that have their own of both:

```
use halfopen::{Cause, Config, Machine, Outcome, State};

const S: i64 = 1_000_000_000;

let config: Config = "window=20 min=10 open=5s probes=3 ramp=10%/50%/100%@5s".parse()?;
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

# Timeouts go inside

A breaker learns from results, and **a call that is dropped has none**: neither
a [`Guard`] that is dropped counts anything, nor the future of
[`call_async`](Breaker::call_async) or of the tower service. The setting
`timeout` interrupts nothing, either: it judges a result when that comes. So the
timeout that cuts calls off belongs *inside* the breaker, where it is an error:

```
# #[cfg(feature = "std")] {
# use halfopen::Breaker;
# use std::{future::Future, io, time::Duration};
# const SECOND: Duration = Duration::from_secs(1);
# async fn timeout<F: Future>(_: Duration, call: F) -> Result<F::Output, io::Error> { Ok(call.await) }
# async fn fetch() -> Result<String, io::Error> { Ok("price list".to_string()) }
# async fn example(catalog: Breaker) {
// Right: the breaker sees that the call timed out.
let prices = catalog.call_async(async || timeout(SECOND, fetch()).await?).await;

// Wrong: the timeout drops the call, and the breaker sees nothing.
let prices = timeout(SECOND, catalog.call_async(fetch)).await;
# }
# }
```

The wrong way round, a callee that hangs never opens the breaker. A breaker that
is half-open stays so: a probe that is dropped gives its slot back and the next
caller has it, so that at most `probes` calls at a time wait for a callee that
hangs, for as long as none reports. Where callers go away by themselves, let the
call run on without them, or cut it off inside before they do. With tower:
`.layer(BreakerLayer::new(breaker))` comes before, outside of, `.timeout(..)`.

# Where to start

* [`Config`]: the settings, as text (the table is in [`text`]) or as
  [`Settings`]. [`presets`] has those of well-known breakers.
* [`Breaker`]: what threads share. [`call`](Breaker::call),
  [`call_async`](Breaker::call_async), [`call_or_else`](Breaker::call_or_else),
  or [`acquire`](Breaker::acquire) and a [`Guard`]. [`Builder`] gives it a name,
  a [`Clock`] and listeners. The feature `tower` puts it around a service, the
  feature `tracing` puts its state on each call's span and its transitions into
  the trace.
* [`Machine`]: the breaker without clock, lock and threads.
  [`drain_transitions`](Machine::drain_transitions) and
  [`snapshot`](Machine::snapshot) say what happened.
* [`companions`]: timeouts, retries and their budgets, bulkhead, limits, load
  shedding, throttling, outlier ejection, rate limits, each a machine of its
  own.
* [`Stack`](companions::Stack) puts several of them around a breaker, in the
  right order. It is for hosts without such layers: blocking services, by way of
  [`SharedStack`](companions::SharedStack), event loops, simulations. Who has
  tower or a client that retries needs the breaker alone.
* To run: `examples/basic.rs` (a service's call in thirty lines),
  `examples/stack.rs` (a blocking client with all layers), `examples/herd.rs`
  (what a ramp does, over real connections).

A dashboard calls [`advance`](Breaker::advance) and then
[`snapshot`](Breaker::snapshot): looking changes nothing, and with little
traffic the state may be one that is over. With `auto`, or where a listener is
to hear of a change when it is due, a task calls `advance` at
[`next_deadline`](Breaker::next_deadline); its five lines are at
[`advance`](Breaker::advance).

# What holds

* **No clock, thread, timer, lock or random source** in the state machines.
  Time comes in as nanoseconds from any epoch, randomness as a seed. What a
  service did can be replayed from a log of its calls, to the nanosecond, and
  the shared [`Breaker`] makes the transitions of a [`Machine`] exactly.
* **Constant work.** No allocation after construction, O(1) time per call. A
  shared breaker at defaults takes 508 bytes on 64 bits, with all it points to.
* **The lock is not held during calls**, nor while listeners run. State,
  generation and deadline of an answer are always of one moment.
* **Integers only.** Rates are compared in integers, and 29 of 100 is 29 %.
* **A clock that goes back undoes nothing.** State goes by the largest time seen,
  durations by the clock as it was read.
* **Boundaries.** Rates trip at `>=`; the wait is over at `>=`; a call is slow
  when it takes longer (`>`) than its threshold and over its timeout at `>=`.
  A deadline acts at its due time, before what else happens at that time.
* **Results belong to the state that admitted them.** One that comes later is
  dropped and counted.
* **A probe that never reports wedges nothing:** its lease runs out, and it
  counts as failed.
* **Nothing panics**, on any sequence of calls, permits or times.

# Features

| feature | adds |
|---|---|
| `std` (default) | [`Breaker`], its clocks; needs 64-bit atomics. Without it the crate is `no_std` and needs `alloc` |
| `serde` | [`Config`] as its settings text, [`Snapshot`], [`Transition`] and [`Figures`] as structs |
| `tower` | a `Layer` and a `Service`, with a classifier of responses |
| `tracing` | a span `breaker.call` around each call, with `breaker.name`, `breaker.state`, `breaker.generation` and `breaker.rejected`, and an event for each transition: all names are on the module's page; some 450 bytes more a breaker |

Rust 1.95 or later, which is what all its tests run with. Older ones from 1.88
on (edition 2024, let chains) may do, but nobody has tried.

# Coming from another breaker

[`presets`] has the defaults of each; these are the settings by name.

| here | resilience4j | Hystrix | Polly v8 | gobreaker v2 |
|---|---|---|---|---|
| `window=100` | `slidingWindowSize`, `COUNT_BASED` | - | - | counts, `Interval` 0 |
| `window=10s/1s` | `slidingWindowSize`, `TIME_BASED` | `metrics.rollingStats` `.timeInMilliseconds` / `.numBuckets` | `SamplingDuration`, in ten buckets | `Interval` / `BucketPeriod` |
| `min=20` | `minimumNumberOfCalls` | `requestVolumeThreshold` | `MinimumThroughput` | in `ReadyToTrip` |
| `fail=50%` | `failureRateThreshold` | `errorThresholdPercentage` | `FailureRatio` | in `ReadyToTrip` |
| `slow=80%@2s` | `slowCallRateThreshold`, `slowCallDurationThreshold` | - | - | - |
| `consecutive=5` | - | - | - | `ReadyToTrip`; its default is 6 |
| `timeout=1s` | a `TimeLimiter` before it | `execution.isolation.thread` `.timeoutInMilliseconds` | a timeout strategy within it | - |
| `open=60s` | `waitDurationInOpenState` | `sleepWindowInMilliseconds` | `BreakDuration` | `Timeout` |
| `backoff`, `max-open`, `jitter` | `waitIntervalFunctionInOpenState` | - | `BreakDurationGenerator` | - |
| `probes=10` | `permittedNumberOfCalls` `InHalfOpenState` | 1 | 1 | `MaxRequests` |
| `judge=rate` | always, there when `minimumNumberOfCalls` are in if those are fewer, here when all `probes` are | - | - | - |
| `judge=first-failure` | - | always | always | always |
| `lease=30s` | `maxWaitDurationInHalfOpenState`, default for ever: there the whole round has it, here each probe | - | - | - |
| `auto=yes` and a task that calls `advance` | `automaticTransitionFromOpen` `ToHalfOpenEnabled` | - | - | - |
| `ramp` | - | - | - | - |
| [`call_with`](Breaker::call_with), [`call_or_else_with`](Breaker::call_or_else_with), `Outcome::Ignored` | `recordResult`, `ignoreExceptions` | `HystrixBadRequestException` | `ShouldHandle` | `IsSuccessful`, `IsExcluded` |
| [`force_open`](Breaker::force_open), [`disable`](Breaker::disable) | `FORCED_OPEN`, `DISABLED` | `forceOpen`, `forceClosed` | `Isolate` | - |
| [`metrics_only`](Breaker::metrics_only) | `METRICS_ONLY` | - | - | - |
| [`on_transition`](Builder::on_transition) | event publisher | event notifier | `OnOpened` and others | `OnStateChange`, under its lock |

For example, this configuration of resilience4j,

```yaml
resilience4j.circuitbreaker.instances.catalog:
  slidingWindowType: TIME_BASED
  slidingWindowSize: 10
  minimumNumberOfCalls: 20
  failureRateThreshold: 50
  slowCallRateThreshold: 80
  slowCallDurationThreshold: 2s
  waitDurationInOpenState: 10s
  permittedNumberOfCallsInHalfOpenState: 5
  ignoreExceptions: [com.example.NotFoundException]
```

is this:

```
# #[cfg(feature = "std")] {
# use halfopen::{Builder, Outcome};
# enum Error { NotFound, Down }
# fn find() -> Result<u32, Error> { Err(Error::NotFound) }
let settings = "window=10s/1s min=20 fail=50% slow=80%@2s open=10s probes=5";
let catalog = Builder::new(settings.parse()?).name("catalog").build();

let price = catalog.call_with(find, |result| match result {
    Ok(_) => Outcome::Success,
    Err(Error::NotFound) => Outcome::Ignored,
    Err(_) => Outcome::Failure,
});
# assert!(price.is_err());
# }
# Ok::<(), halfopen::ConfigError>(())
```

What will feel different:

* Late results are dropped. resilience4j, Hystrix and Polly count them in
  whatever state they meet.
* A call that is cancelled or panics counts nothing, as nobody knows what would
  have come of it. In resilience4j an exception is an error, which here is an
  `Err`; where a panic is the callee's doing, `catch_unwind` inside makes it one.
  A cancelled probe decides nothing; in Polly it closes the breaker.
* Rates trip on successes too, as they may complete the minimum.
* There is no background thread, and no state changes by being looked at: until
  a call or [`advance`](Breaker::advance) comes by, a breaker whose wait is over
  still says that it is open.
* There is no registry. A breaker is a handle that is cheap to clone: keep it
  beside the client that it guards, or in a map of your own.

# Choosing values

* **What to guard.** One breaker for what fails together: an edge from a caller
  to a callee, or one operation of it. A breaker over shards, of which one is
  down, makes a partial failure total.
* **`timeout`, `slow`.** A callee that hangs is not seen by its errors: its
  calls end late. Neither interrupts a call: see [Timeouts go inside]. Take the
  timeout from the latency that still is of use to the
  caller, the slow threshold a little above the callee's usual 99th percentile,
  `slow=50%` to `80%`. resilience4j's default of 60 s is one that no caller waits
  for.
* **`window`, `min`.** The window is how long the breaker takes to notice: with
  `window=10s/1s` and `fail=50%`, a callee that fails altogether trips it after
  half a window of traffic. A count window of 100 at 10 calls a second looks back
  10 s, at 1000 a tenth of one, so take time where traffic varies. With `min=20`
  a callee that fails one call in ten is taken for one at 50 % about once in
  140,000 windows; with `min=5` about once in 117.
* **`consecutive`.** For callers with little traffic, where 20 calls take minutes.
* **`open`, `backoff`, `jitter`.** As long as a restart of the callee takes, 5 s
  to 30 s; `backoff=2x max-open=5m` for longer outages. With many instances
  `jitter=equal` and [`Config::for_instance`], or they probe and close together.
* **`probes`, `judge`.** `probes=5` to `10` by rate tolerate a bad answer or two;
  one probe by `first-failure` decides fastest and errs most. They are per instance:
  50 instances with 10 probes are 500 calls.
* **`lease`.** Longer than any call that still counts: above the timeout.
* **`auto`.** On if something routes around a breaker that is open: it never
  gets the call that would make it half-open. Somebody has to call
  [`advance`](Breaker::advance) then.
* **`fail=off`.** For callers that want `consecutive` or `slow` alone. Probes are
  then judged by `first-failure`, as a failed one may not close the breaker.

## When a ramp helps, and when not

A ramp gives the callee time in which it carries part of its load. Let `C` be
what it carries after the probes, `D` the demand, and `g` by how much the
capacity grows a second under load.

* **It helps when `C + g * ramp >= D`:** caches and connection pools that warm
  up, an autoscaler that looks at the queue. A service that carries 100 of 180
  calls a second and gains 10 each second needs 8 s; with `ramp=30s` it is asked
  for 6 more each second and is never short. Without a ramp the 180 arrive at
  once, and what it does for calls that have timed out meanwhile is wasted.
  In the example `herd`, over real connections, such a service with a cold cache
  gave some 290 answers (290 to 294 in three runs) and 245 failures (243 to 246)
  in ten seconds without a ramp, and was down nine times; with one it gave 1160
  answers and 30 failures in each run, and was never down.
* **It helps when the callee is near its limit** and only the burst is too much:
  everything withheld that clients retry arrives in the first second after a
  close, from each instance. There a ramp of some seconds does.
* **It does not help when `g` is 0 and `C < D`.** At the share `C / D` the ramp is
  too much, the step is judged bad, and the breaker opens again: fewer calls were
  hurt than by closing (90 and not 245 in the same example), but the service stays
  too small. Shed load or add capacity. A [`Cause::RampFailed`], or a trip while
  ramping, again and again says that it is so.
* **It does harm, a little, when the outage was no overload** (a deployment, a
  network): for its length it rejects calls that would have been answered, half
  of them on average along Envoy's curve.
* **An autoscaler that sees only the load that was admitted** scales to that.
  Ramp slower than it reacts: some minutes for a Kubernetes autoscaler, whose
  metrics are a minute old, and seconds for one that looks at the queue.
* **The share is of the calls that ask,** whatever becomes of them.

[Timeouts go inside]: #timeouts-go-inside
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
mod check;
#[cfg(feature = "std")]
mod clock;
pub mod companions;
mod config;
#[cfg(feature = "std")]
mod gate;
#[cfg(feature = "std")]
mod guard;
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
#[cfg(feature = "tracing")]
pub mod tracing;
mod window;

pub use backoff::Jitter;
#[cfg(feature = "std")]
pub use breaker::{Breaker, Builder};
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
#[cfg(feature = "std")]
pub use guard::Guard;
pub use machine::{
    Cause, Machine, NotAllowed, Outcome, Permit, Rejected, Snapshot, State, Transition,
};
pub use ramp::Ramp;
pub use window::{Figures, Window};
