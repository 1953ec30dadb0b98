//! The breaker, whatever its settings and whatever happens to it.
//!
//! An input is settings (a line of text, or choices) and events: admissions, results, permits given
//! back, changes by hand, and time that jumps, stands still and goes back. Holds: the shared breaker
//! does what the machine does, answer by answer, figure by figure; every generation has its
//! transition, which starts where the one before ended, no earlier than it and no later than now, and
//! is one that the states have; admissions go by the state, and no round sends more probes than it
//! may; figures are within their window, and no deadline is in the past. Permits of another machine
//! do no more than count.

use std::sync::{Arc, Mutex, PoisonError};

use halfopen::{
    Breaker, Builder, Cause, Config, Guard, Jitter, Judge, Machine, ManualClock, Outcome, Permit,
    Ramp, Rate, Settings, Slow, State, Transition, Window,
};

use crate::draw::{Draw, Random};

/// Panics where it does not hold.
pub fn check(bytes: &[u8]) {
    let Some((config, events)) = settings(bytes) else {
        return;
    };
    let mut pair = Pair::new(config);
    let mut draw = Draw(events);
    while !draw.is_done() {
        pair.event(&mut draw);
        pair.compare();
    }
    pair.hand_elsewhere();
}

/// The settings at the beginning of an input, and the rest. Bytes that begin no text are choices.
fn settings(bytes: &[u8]) -> Option<(Config, &[u8])> {
    if bytes.first().is_some_and(|it| *it >= 0x80) {
        let mut draw = Draw(&bytes[1..]);
        return Some((Config::new(chosen(&mut draw)).ok()?, draw.0));
    }
    let end = bytes.iter().position(|&it| it == b'\n')?;
    let text = str::from_utf8(&bytes[..end]).ok()?;
    Some((text.parse().ok()?, &bytes[end + 1..]))
}

/// Small numbers, in single nanoseconds, so that every edge is near.
fn chosen(draw: &mut Draw) -> Settings {
    let rate = |draw: &mut Draw| Rate::percent(10 * draw.one_to(10) as u32);
    let maybe = |draw: &mut Draw, most: usize| match draw.below(most + 1) {
        0 => None,
        n => Some(n as u64),
    };
    let window = match draw.below(3) {
        0 => {
            let bucket = draw.one_to(12) as u64;
            let length = bucket * draw.one_to(6) as u64;
            Window::Time { length, bucket }
        }
        _ => Window::Calls(draw.one_to(40) as u32),
    };
    let ramp = match draw.below(4) {
        0 => Ramp::Off,
        1 => Ramp::Curve {
            over: draw.one_to(60) as u64,
        },
        _ => {
            let mut share = 0;
            let mut next = |draw: &mut Draw| {
                share += draw.one_to(25) as u32;
                Rate::percent(share)
            };
            let shares = (0..draw.one_to(4)).map(|_| next(draw)).collect();
            let hold = draw.one_to(30) as u64;
            Ramp::Steps { shares, hold }
        }
    };
    Settings {
        window,
        ramp,
        min: draw.one_to(12) as u32,
        fail: (draw.below(4) > 0).then(|| rate(draw)),
        slow: (draw.below(2) > 0).then(|| Slow {
            rate: rate(draw),
            over: draw.one_to(12) as u64,
        }),
        consecutive: maybe(draw, 5).map(|it| it as u32),
        timeout: maybe(draw, 12),
        open: draw.one_to(60) as u64,
        backoff: draw.one_of(&[1_000, 1_500, 2_000, 100_000]),
        max_open: maybe(draw, 200),
        jitter: draw.one_of(&[Jitter::None, Jitter::Equal, Jitter::Full]),
        seed: draw.word(),
        probes: draw.one_to(5) as u32,
        judge: draw.one_of(&[Judge::Rate, Judge::FirstFailure]),
        lease: maybe(draw, 40),
        auto: draw.below(2) > 0,
    }
}

/// The machine and the breaker side by side, and what they have to be.
struct Pair {
    settings: Settings,
    machine: Machine,
    breaker: Breaker,
    clock: ManualClock,
    told: Arc<Mutex<Vec<Transition>>>,
    out: Vec<(Permit, Guard)>,
    now: i64,
    /// The largest time seen.
    seen: i64,
    /// The last transition.
    last: Option<Transition>,
    /// The generation of the last admission, and those of it, less what was given back.
    round: u64,
    admitted: u32,
}

impl Pair {
    fn new(config: Config) -> Pair {
        let told = Arc::new(Mutex::new(Vec::new()));
        let listener = Arc::clone(&told);
        let clock = ManualClock::new(0);
        let breaker = Builder::with_clock(config.clone(), clock.clone())
            .on_transition(move |_, it| locked(&listener).push(*it))
            .build();
        Pair {
            settings: config.settings(),
            machine: Machine::new(config),
            breaker,
            clock,
            told,
            out: Vec::new(),
            now: 0,
            seen: i64::MIN,
            last: None,
            round: 0,
            admitted: 0,
        }
    }

    fn event(&mut self, draw: &mut Draw) {
        self.now = match draw.byte() {
            it @ 0..128 => self.now.saturating_add(i64::from(it % 8)),
            it @ 128..224 => self.now.saturating_add(i64::from(it - 128)),
            it @ 224..246 => self.now.saturating_sub(i64::from(it - 223)),
            it @ 246..254 => {
                let steps = [1_000, 1_000_000, 1_000_000_000, 30_000_000_000];
                let step = steps[usize::from(it - 246) / 2];
                let sign = if it % 2 == 0 { 1 } else { -1 };
                self.now.saturating_add(sign * step)
            }
            254 => i64::MIN,
            255 => i64::MAX,
        };
        self.seen = self.seen.max(self.now);
        self.clock.set(self.now);
        let (machine, breaker, now) = (&mut self.machine, &self.breaker, self.now);
        match draw.byte() {
            0..100 => self.acquire(),
            what @ 100..220 => self.settle(usize::from(what), draw),
            220..235 => {
                machine.advance(now);
                breaker.advance();
            }
            235..239 => assert_eq!(machine.open(now), breaker.open()),
            239..241 => {
                let wait = draw.one_of(&[0, 1, 20, 1_000_000_000, u64::MAX]);
                assert_eq!(machine.open_for(now, wait), breaker.open_for(wait));
            }
            241..247 => assert_eq!(machine.half_open(now), breaker.half_open()),
            247..249 => {
                machine.close(now);
                breaker.close();
            }
            249..251 => {
                machine.reset(now);
                breaker.reset();
            }
            251 => {
                machine.force_open(now);
                breaker.force_open();
            }
            252 => {
                machine.disable(now);
                breaker.disable();
            }
            253.. => {
                machine.metrics_only(now);
                breaker.metrics_only();
            }
        }
    }

    fn acquire(&mut self) {
        let answers = (self.machine.acquire(self.now), self.breaker.acquire_owned());
        let state = self.machine.state();
        match answers {
            (Ok(permit), Ok(guard)) => {
                assert!(!matches!(state, State::Open | State::ForcedOpen));
                assert_eq!(permit.generation(), self.machine.generation());
                assert_eq!(guard.generation(), permit.generation());
                assert_eq!((guard.state(), guard.since()), (state, self.now));
                if permit.generation() != self.round {
                    (self.round, self.admitted) = (permit.generation(), 0);
                }
                self.admitted += 1;
                let most = self.settings.probes;
                assert!(state != State::HalfOpen || self.admitted <= most);
                self.out.push((permit, guard));
            }
            (Err(rejected), Err(shared)) => {
                assert_eq!(rejected, shared);
                let all = [State::Closed, State::Disabled, State::MetricsOnly];
                assert!(!all.contains(&state));
                assert_eq!((rejected.state, rejected.at), (state, self.seen));
                assert_eq!(rejected.generation, self.machine.generation());
                let later = rejected.retry_at.map(|it| it > self.seen);
                assert_eq!(later, (state == State::Open).then_some(true));
            }
            (machine, shared) => panic!("{machine:?}, the shared breaker {shared:?}"),
        }
    }

    /// A result, or a permit given back by word or by dropping it.
    fn settle(&mut self, what: usize, draw: &mut Draw) {
        // Most calls end in order, and the oldest is the first.
        let nth = if what.is_multiple_of(4) {
            draw.byte()
        } else {
            0
        };
        if self.out.is_empty() {
            self.machine.advance(self.now);
            self.breaker.advance();
            return;
        }
        let (permit, guard) = self.out.remove(usize::from(nth) % self.out.len());
        let duration = self.now.max(guard.since()).abs_diff(guard.since());
        let cut = self.settings.timeout.is_some_and(|it| duration >= it);
        let back = what < 110 || what >= 205 && !cut;
        self.admitted -= u32::from(back && permit.generation() == self.round);
        match what {
            100..105 => {
                self.machine.cancel(self.now, permit);
                drop(guard);
            }
            105..110 => {
                self.machine.cancel(self.now, permit);
                guard.cancel_at(self.now);
            }
            _ => {
                let outcome = match what {
                    110..160 => Outcome::Success,
                    160..205 => Outcome::Failure,
                    _ => Outcome::Ignored,
                };
                self.machine.settle(self.now, permit, outcome, duration);
                guard.settle(outcome);
            }
        }
    }

    fn compare(&mut self) {
        let mut logged: Vec<Transition> = self.machine.drain_transitions().collect();
        // Opened for no time at all, what is due now acts when the time is told again.
        if self.machine.next_deadline() == Some(self.seen) {
            self.machine.advance(self.seen);
            self.breaker.advance();
            logged.extend(self.machine.drain_transitions());
        }
        assert_eq!(std::mem::take(&mut *locked(&self.told)), logged);
        for it in logged {
            let generation = self.last.map_or(0, |it| it.generation);
            let (from, at) = self
                .last
                .map_or((State::Closed, i64::MIN), |it| (it.to, it.at));
            assert_eq!((it.from, it.generation), (from, generation + 1), "{it:?}");
            assert!((at..=self.seen).contains(&it.at), "{it:?} after {at}");
            assert!(is_one(&it), "{it:?}");
            self.last = Some(it);
        }

        let snapshot = self.machine.snapshot();
        assert_eq!(snapshot, self.breaker.snapshot());
        let is = self
            .last
            .map_or((State::Closed, 0), |it| (it.to, it.generation));
        assert_eq!((snapshot.state, snapshot.generation), is);
        assert_eq!(snapshot.transitions_lost, 0);
        assert!(snapshot.failures.max(snapshot.slow) <= snapshot.calls);
        let rates = [snapshot.failure_rate, snapshot.slow_rate];
        assert!(
            rates.iter().flatten().all(|&it| it <= 1_000_000),
            "{rates:?}"
        );
        let most = match (snapshot.state, self.settings.window) {
            (State::HalfOpen, _) => self.settings.probes,
            (State::Closed | State::Ramping | State::MetricsOnly, Window::Calls(size)) => size,
            _ => u32::MAX,
        };
        assert!(snapshot.calls <= most, "{snapshot:?}");

        let deadline = self.machine.next_deadline();
        assert_eq!(deadline, self.breaker.next_deadline());
        assert!(deadline.is_none_or(|it| it > self.seen), "{deadline:?}");
        assert_eq!(self.machine.retry_at(), self.breaker.retry_at());
    }

    /// Gives what is left to a machine that never issued it, in a state in which it matters.
    fn hand_elsewhere(self) {
        let Ok(config) = "window=3,min=1,probes=1,open=1ns,ramp=50%@5ns".parse() else {
            return;
        };
        let mut other = Machine::new(config);
        for (nth, (permit, guard)) in self.out.into_iter().enumerate() {
            guard.ignore();
            for _ in other.generation()..permit.generation().min(64) {
                // In turn, so that the permit meets a round of probes more often than not.
                if other.half_open(0).is_err() {
                    let _ = other.open(0);
                }
            }
            match nth % 3 {
                0 => other.settle(0, permit, Outcome::Success, 1),
                1 => other.settle(0, permit, Outcome::Ignored, 1),
                _ => other.cancel(0, permit),
            }
            let _ = other.acquire(0);
        }
        let snapshot = other.snapshot();
        assert!(snapshot.failures.max(snapshot.slow) <= snapshot.calls);
    }
}

fn locked<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the states have such a transition.
fn is_one(it: &Transition) -> bool {
    let trips = matches!(
        it.cause,
        Cause::FailureRate | Cause::SlowRate | Cause::Consecutive
    );
    match (it.from, it.to) {
        _ if it.cause == Cause::Manual => true,
        (State::Closed, State::Open) => trips,
        (State::Open, State::HalfOpen) => it.cause == Cause::WaitOver,
        (State::HalfOpen, State::Open) => {
            matches!(it.cause, Cause::ProbesFailed | Cause::LeaseExpired)
        }
        (State::HalfOpen, State::Closed | State::Ramping) => it.cause == Cause::ProbesPassed,
        (State::Ramping, State::Open) => trips || it.cause == Cause::RampFailed,
        (State::Ramping, State::Closed) => it.cause == Cause::RampDone,
        _ => false,
    }
}

/// Settings as text and by choice, with events drawn from a number.
pub fn seeds() -> Vec<Vec<u8>> {
    const TEXTS: &str = include_str!("../../halfopen/tests/events/settings.txt");
    const SCALE: &str = "window=10s/1s min=2 fail=50% open=30s probes=2 ramp=30s";
    let mut random = Random(7);
    let mut seeds = Vec::new();
    for (nth, text) in TEXTS.lines().chain([SCALE]).enumerate() {
        let events = random.bytes(60 * (nth + 1));
        seeds.push([text.as_bytes(), b"\n", &events].concat());
        seeds.push([&[0x80], random.bytes(40 + 60 * nth).as_slice()].concat());
    }
    seeds
}
