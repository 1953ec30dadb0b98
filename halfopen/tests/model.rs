//! The machine against a naive model, on random settings and events.
//!
//! The model keeps every record and every event and computes everything anew
//! from them, by the words of the documentation: no totals, no ring, no lists,
//! no deadline that is carried along. Events are admissions, results, permits
//! given back, changes by hand, and time that jumps, stands still, goes back,
//! or reaches the end of its type. After each event everything that can be
//! seen must be the same, transitions and their figures included.
//!
//! `PROPTEST_CASES` sets the number of cases.

use std::cell::RefCell;
use std::collections::BTreeMap;

use halfopen::{
    Cause, Config, Figures, Jitter, Judge, Machine, Outcome, Permit, Ramp, Rate, Settings, Slow,
    State, Window,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

#[test]
fn machine_is_the_model() {
    let mut config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 10_000;
    }
    let cases = config.cases;
    let seen = RefCell::new(BTreeMap::<&str, usize>::new());
    let strategy = (settings(), any_start(), vec(event(), 1..200));
    let result = TestRunner::new(config).run(&strategy, |(settings, start, events)| {
        let causes = compare(settings, start, &events)?;
        for cause in causes {
            *seen.borrow_mut().entry(cause.as_str()).or_default() += 1;
        }
        Ok(())
    });
    if let Err(err) = result {
        panic!("{err}");
    }
    // The generators reach every edge, or the test says nothing about it.
    let seen = seen.into_inner();
    println!("{cases} cases, transitions by cause: {seen:?}");
    if cases >= 1_000 {
        assert_eq!(seen.len(), 10, "causes not reached: {seen:?}");
    }
}

/// Runs the events on both; gives the causes of all transitions.
fn compare(settings: Settings, start: i64, events: &[Event]) -> Result<Vec<Cause>, TestCaseError> {
    let config = Config::new(settings).expect("the generated settings are valid");
    let mut model = Model::new(config.settings());
    let mut machine = Machine::new(config);
    let mut permits: Vec<(Permit, Ticket)> = Vec::new();
    let mut causes = Vec::new();
    let mut now = start;
    for event in events {
        now = now.saturating_add(event.step);
        match event.what {
            What::Acquire => {
                let got = machine.acquire(now);
                let wanted = model.acquire(now);
                match (got, wanted) {
                    (Ok(permit), Ok(ticket)) => permits.push((permit, ticket)),
                    (Err(rejected), Err((state, retry_at))) => {
                        prop_assert_eq!((rejected.state, rejected.retry_at), (state, retry_at));
                    }
                    (got, wanted) => prop_assert!(false, "{event:?}: {got:?}, wanted {wanted:?}"),
                }
            }
            What::Settle {
                nth,
                outcome,
                duration,
            } => {
                if !permits.is_empty() {
                    let (permit, ticket) = permits.remove(nth % permits.len());
                    machine.settle(now, permit, outcome, duration);
                    model.settle(now, ticket, outcome, duration);
                }
            }
            What::Cancel { nth } => {
                if !permits.is_empty() {
                    let (permit, ticket) = permits.remove(nth % permits.len());
                    machine.cancel(now, permit);
                    model.cancel(now, ticket);
                }
            }
            What::Advance => {
                machine.advance(now);
                model.see(now);
            }
            What::Open => prop_assert_eq!(
                machine.open(now).is_ok(),
                model.by_hand(now, State::Open, None)
            ),
            What::OpenFor(wait) => {
                prop_assert_eq!(
                    machine.open_for(now, wait).is_ok(),
                    model.by_hand(now, State::Open, Some(wait))
                );
            }
            What::HalfOpen => {
                prop_assert_eq!(
                    machine.half_open(now).is_ok(),
                    model.by_hand(now, State::HalfOpen, None)
                );
            }
            What::Close => {
                machine.close(now);
                model.by_hand(now, State::Closed, None);
            }
            What::Reset => {
                machine.reset(now);
                model.by_hand(now, State::Closed, None);
                (model.late, model.ignored) = (0, 0);
            }
            What::ForceOpen => {
                machine.force_open(now);
                model.by_hand(now, State::ForcedOpen, None);
            }
            What::Disable => {
                machine.disable(now);
                model.by_hand(now, State::Disabled, None);
            }
            What::MetricsOnly => {
                machine.metrics_only(now);
                model.by_hand(now, State::MetricsOnly, None);
            }
        }

        let got: Vec<Change> = machine
            .drain_transitions()
            .map(|it| (it.at, it.from, it.to, it.cause, it.figures))
            .collect();
        prop_assert_eq!(&got, &model.changes, "{:?}", event);
        causes.extend(model.changes.drain(..).map(|it| it.3));

        let seen = machine.snapshot();
        let figures = model.figures();
        let got = (
            seen.state,
            seen.generation,
            Figures {
                calls: seen.calls,
                failures: seen.failures,
                slow: seen.slow,
            },
        );
        prop_assert_eq!(got, (model.state, model.generation, figures), "{:?}", event);
        let got = (seen.failure_rate, seen.slow_rate);
        prop_assert_eq!(
            got,
            (model.rate(figures.failures), model.rate(figures.slow)),
            "{:?}",
            event
        );
        let got = (
            seen.not_permitted,
            seen.late_results,
            seen.ignored,
            seen.openings,
            seen.transitions_lost,
        );
        prop_assert_eq!(
            got,
            (
                model.not_permitted,
                model.late,
                model.ignored,
                model.waits as u32,
                0
            ),
            "{:?}",
            event
        );
        prop_assert_eq!(machine.next_deadline(), model.deadline(), "{:?}", event);
        prop_assert_eq!(machine.retry_at(), model.retry_at(), "{:?}", event);
    }
    Ok(causes)
}

type Change = (i64, State, State, Cause, Figures);

/// The model's permit: which generation admitted it, and its place there.
#[derive(Debug)]
struct Ticket {
    generation: u64,
    nth: usize,
}

/// A result, when it came in and, while ramping, in which step.
#[derive(Clone, Copy)]
struct Record {
    at: i64,
    failed: bool,
    slow: bool,
    step: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Probe {
    Out { since: i64 },
    GivenBack,
    Done,
}

struct Model {
    s: Settings,
    now: i64,
    state: State,
    generation: u64,
    changes: Vec<Change>,

    // Of the current state, all begun anew with it.
    records: Vec<Record>,
    probes: Vec<Probe>,
    /// Calls that asked while ramping: when, and in which step.
    asked: Vec<(i64, usize)>,
    step: usize,
    step_began: i64,
    not_permitted: u64,

    // While open: what opened it, by which minimum, and until when.
    opened_by: (Figures, u32),
    open_until: i64,
    /// Openings since the last close, and ever.
    waits: usize,
    all_waits: usize,

    late: u64,
    ignored: u64,
}

impl Model {
    fn new(s: Settings) -> Model {
        Model {
            s,
            now: i64::MIN,
            state: State::Closed,
            generation: 0,
            changes: Vec::new(),
            records: Vec::new(),
            probes: Vec::new(),
            asked: Vec::new(),
            step: 0,
            step_began: 0,
            not_permitted: 0,
            opened_by: (Figures::default(), 0),
            open_until: 0,
            waits: 0,
            all_waits: 0,
            late: 0,
            ignored: 0,
        }
    }

    fn see(&mut self, now: i64) {
        self.now = self.now.max(now);
        while let Some(at) = self.deadline().filter(|&at| at <= self.now) {
            match self.state {
                State::Open => self.change(at, State::HalfOpen, Cause::WaitOver),
                State::HalfOpen => {
                    let out = self
                        .probes
                        .iter()
                        .position(|it| matches!(it, Probe::Out { .. }));
                    self.probe_result(at, out.unwrap(), true, false, Cause::LeaseExpired);
                }
                State::Ramping => self.end_step(at),
                _ => unreachable!("no deadline in {}", self.state),
            }
        }
    }

    /// The first time at which something happens by itself.
    fn deadline(&self) -> Option<i64> {
        let at = match self.state {
            State::Open if self.s.auto => i128::from(self.open_until),
            State::HalfOpen => {
                let lease = self.s.lease?;
                let since = |it: &Probe| match it {
                    Probe::Out { since } => Some(i128::from(*since)),
                    _ => None,
                };
                self.probes.iter().filter_map(since).min()? + i128::from(lease)
            }
            State::Ramping => i128::from(self.step_began) + i128::from(self.hold()),
            _ => return None,
        };
        // What is past the end of time does not come.
        i64::try_from(at).ok().filter(|&at| at != i64::MAX)
    }

    fn retry_at(&self) -> Option<i64> {
        (self.state == State::Open).then_some(self.open_until)
    }

    fn acquire(&mut self, now: i64) -> Result<Ticket, (State, Option<i64>)> {
        self.see(now);
        if self.state == State::Open && self.now >= self.open_until {
            self.change(self.now, State::HalfOpen, Cause::WaitOver);
        }
        let admitted = match self.state {
            State::Closed | State::Disabled | State::MetricsOnly => true,
            State::Open | State::ForcedOpen => false,
            State::HalfOpen => {
                let taken = self
                    .probes
                    .iter()
                    .filter(|it| **it != Probe::GivenBack)
                    .count();
                taken < self.s.probes as usize
            }
            State::Ramping => {
                let before = self.admitted();
                self.asked.push((self.now, self.step));
                self.admitted() > before
            }
        };
        if !admitted {
            self.not_permitted += 1;
            return Err((self.state, self.retry_at()));
        }
        // For a probe this is its place; for others it means nothing.
        let nth = self.probes.len();
        self.probes.push(Probe::Out { since: self.now });
        Ok(Ticket {
            generation: self.generation,
            nth,
        })
    }

    /// How many calls the ramp has admitted, by counting through them all.
    fn admitted(&self) -> usize {
        let (mut credit, mut admitted) = (0, 0);
        for &(at, step) in &self.asked {
            credit += self.share(step, at);
            if credit >= 1_000_000 {
                credit -= 1_000_000;
                admitted += 1;
            }
        }
        admitted
    }

    fn share(&self, step: usize, at: i64) -> u128 {
        match &self.s.ramp {
            Ramp::Steps { shares, .. } => shares[step].as_ppm().into(),
            Ramp::Curve { over } => {
                let elapsed = i128::from(at) - i128::from(self.step_began);
                (elapsed as u128 * 1_000_000 / u128::from(*over)).clamp(100_000, 1_000_000)
            }
            _ => unreachable!(),
        }
    }

    fn settle(&mut self, now: i64, ticket: Ticket, outcome: Outcome, duration: u64) {
        self.see(now);
        let is_current = ticket.generation == self.generation
            && (self.state != State::HalfOpen
                || matches!(self.probes[ticket.nth], Probe::Out { .. }));
        if !is_current {
            self.late += 1;
            return;
        }
        let cut = self.s.timeout.is_some_and(|it| duration >= it);
        if outcome == Outcome::Ignored && !cut {
            self.ignored += u64::from(self.state != State::Disabled);
            return self.give_back(ticket);
        }
        let failed = cut || outcome == Outcome::Failure;
        let slow = self.s.slow.is_some_and(|it| duration > it.over);
        match self.state {
            State::HalfOpen => {
                self.probe_result(self.now, ticket.nth, failed, slow, Cause::ProbesFailed)
            }
            State::Closed | State::Ramping | State::MetricsOnly => {
                self.records.push(Record {
                    at: self.now,
                    failed,
                    slow,
                    step: self.step,
                });
                if self.state != State::MetricsOnly {
                    self.judge();
                }
            }
            _ => {}
        }
    }

    fn cancel(&mut self, now: i64, ticket: Ticket) {
        self.see(now);
        if ticket.generation == self.generation {
            self.give_back(ticket);
        }
    }

    fn give_back(&mut self, ticket: Ticket) {
        if let Probe::Out { .. } = self.probes[ticket.nth] {
            self.probes[ticket.nth] = Probe::GivenBack;
        }
    }

    fn judge(&mut self) {
        let figures = self.figures();
        let streak = self.records.iter().rev().take_while(|it| it.failed).count();
        let cause = match self.too_many(figures, self.s.min) {
            Some(cause) => cause,
            None if self.s.consecutive.is_some_and(|it| streak >= it as usize) => {
                Cause::Consecutive
            }
            None => return,
        };
        self.change(self.now, State::Open, cause);
    }

    /// Whether the rates are reached, as a comparison of fractions.
    fn too_many(&self, figures: Figures, min: u32) -> Option<Cause> {
        let reached = |part: u32, rate: Rate| {
            u128::from(part) * 1_000_000 >= u128::from(rate.as_ppm()) * u128::from(figures.calls)
        };
        if figures.calls < min {
            None
        } else if self.s.fail.is_some_and(|it| reached(figures.failures, it)) {
            Some(Cause::FailureRate)
        } else if self.s.slow.is_some_and(|it| reached(figures.slow, it.rate)) {
            Some(Cause::SlowRate)
        } else {
            None
        }
    }

    fn probe_result(&mut self, at: i64, nth: usize, failed: bool, slow: bool, bad: Cause) {
        self.probes[nth] = Probe::Done;
        self.records.push(Record {
            at,
            failed,
            slow,
            step: 0,
        });
        let complete = self.records.len() == self.s.probes as usize;
        let opens = match self.s.judge {
            Judge::FirstFailure => failed || slow,
            _ => complete && self.too_many(self.figures(), 1).is_some(),
        };
        if opens {
            self.change(at, State::Open, bad);
        } else if complete {
            let to = if self.s.ramp == Ramp::Off {
                State::Closed
            } else {
                State::Ramping
            };
            self.change(at, to, Cause::ProbesPassed);
        }
    }

    fn end_step(&mut self, at: i64) {
        let results = count(self.records.iter().filter(|it| it.step == self.step));
        let steps = match &self.s.ramp {
            Ramp::Steps { shares, .. } => shares.len(),
            _ => 1,
        };
        let half_failed = results.calls > 0 && 2 * results.failures >= results.calls;
        let failed = self.s.fail.is_none() && half_failed;
        if failed || self.too_many(results, self.s.probes).is_some() {
            self.change_with(at, State::Open, Cause::RampFailed, results);
            self.opened_by = (results, self.s.probes);
        } else if self.step + 1 < steps {
            self.step += 1;
            self.step_began = at;
        } else {
            self.change_with(at, State::Closed, Cause::RampDone, results);
        }
    }

    fn hold(&self) -> u64 {
        match self.s.ramp {
            Ramp::Steps { hold, .. } => hold,
            Ramp::Curve { over } => over,
            _ => unreachable!(),
        }
    }

    /// The figures of the current state now.
    fn figures(&self) -> Figures {
        match self.state {
            State::Open => self.opened_by.0,
            State::HalfOpen => count(&self.records),
            _ => match self.s.window {
                Window::Calls(n) => count(self.records.iter().rev().take(n as usize)),
                Window::Time { length, bucket } => {
                    let number = |at: i64| at.div_euclid(bucket as i64);
                    let oldest = i128::from(number(self.now)) - i128::from(length / bucket);
                    count(
                        self.records
                            .iter()
                            .filter(|it| i128::from(number(it.at)) > oldest),
                    )
                }
                other => panic!("the model has no {other:?}"),
            },
        }
    }

    fn minimum(&self) -> u32 {
        match self.state {
            State::Open => self.opened_by.1,
            State::HalfOpen => self.s.probes,
            _ => self.s.min,
        }
    }

    fn rate(&self, part: u32) -> Option<u32> {
        let calls = self.figures().calls;
        (calls >= self.minimum()).then(|| (u128::from(part) * 1_000_000 / u128::from(calls)) as u32)
    }

    fn by_hand(&mut self, now: i64, to: State, wait: Option<u64>) -> bool {
        self.see(now);
        let refused = match to {
            State::Open => self.state == State::MetricsOnly,
            State::HalfOpen => matches!(self.state, State::Closed | State::MetricsOnly),
            _ => false,
        };
        if refused {
            return false;
        }
        let (waits, all_waits) = (self.waits, self.all_waits);
        self.change(self.now, to, Cause::Manual);
        if let Some(wait) = wait {
            (self.waits, self.all_waits) = (waits, all_waits);
            self.open_until = self.now.saturating_add_unsigned(wait);
        }
        true
    }

    fn change(&mut self, at: i64, to: State, cause: Cause) {
        self.change_with(at, to, cause, self.figures());
    }

    fn change_with(&mut self, at: i64, to: State, cause: Cause, figures: Figures) {
        let (from, minimum) = (self.state, self.minimum());
        self.changes.push((at, from, to, cause, figures));
        match to {
            State::Open => {
                self.opened_by = (figures, minimum);
                self.waits += usize::from(from != State::Open);
                self.open_until = at.saturating_add_unsigned(self.wait());
                self.all_waits += 1;
            }
            State::Closed => self.waits = 0,
            _ => {}
        }
        self.state = to;
        self.generation += 1;
        self.records.clear();
        self.probes.clear();
        self.asked.clear();
        self.step = 0;
        self.step_began = at;
        self.not_permitted = 0;
    }

    /// The wait of an opening, by multiplying from the first on and drawing
    /// from the generator's beginning.
    fn wait(&self) -> u64 {
        let cap = u128::from(self.s.max_open.unwrap_or(u64::MAX));
        let mut wait = u128::from(self.s.open);
        for _ in 1..self.waits.max(1) {
            wait = (wait * u128::from(self.s.backoff) / 1_000).min(cap);
        }
        let mut state = self.s.seed;
        let mut draw = 0u128;
        for _ in 0..=self.all_waits {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            draw = u128::from(z ^ (z >> 31));
        }
        let spread = match self.s.jitter {
            Jitter::Equal => wait / 2,
            Jitter::Full => wait,
            _ => 0,
        };
        (wait - spread + ((draw * (spread + 1)) >> 64)) as u64
    }
}

fn count<'a>(records: impl IntoIterator<Item = &'a Record>) -> Figures {
    let mut figures = Figures::default();
    for it in records {
        figures.calls += 1;
        figures.failures += u32::from(it.failed);
        figures.slow += u32::from(it.slow);
    }
    figures
}

#[derive(Clone, Debug)]
struct Event {
    /// How far time goes before it.
    step: i64,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Acquire,
    Settle {
        nth: usize,
        outcome: Outcome,
        duration: u64,
    },
    Cancel {
        nth: usize,
    },
    Advance,
    Open,
    OpenFor(u64),
    HalfOpen,
    Close,
    Reset,
    ForceOpen,
    Disable,
    MetricsOnly,
}

// Times are in single nanoseconds, so that boundaries are hit often.

fn event() -> impl Strategy<Value = Event> {
    // A word for each event: strategies for its parts would take most of the
    // time of the test. A word of zero is a call admitted at the same time.
    any::<u64>().prop_map(|mut word| {
        let mut draw = |n: u64| {
            let it = word % n;
            word /= n;
            it
        };
        let step = match draw(16) {
            0..=5 => 0,
            6..=11 => 1 + draw(4) as i64,
            12..=13 => 5 + draw(55) as i64,
            14 => -1 - draw(20) as i64,
            _ => [1_000_000, -1_000_000, i64::MAX / 2][draw(3) as usize],
        };
        let what = draw(200);
        // Small places are the oldest permits: most calls end in order.
        let nth = if draw(4) == 0 { draw(100) as usize } else { 0 };
        let what = match what {
            0..=87 => What::Acquire,
            88..=175 => What::Settle {
                nth,
                outcome: match draw(8) {
                    0..=3 => Outcome::Success,
                    4..=6 => Outcome::Failure,
                    _ => Outcome::Ignored,
                },
                duration: if draw(10) == 0 { u64::MAX } else { draw(12) },
            },
            176..=185 => What::Cancel { nth },
            186..=196 => What::Advance,
            _ => match draw(14) {
                0..=3 => What::Open,
                4..=7 => What::HalfOpen,
                8 => What::OpenFor(if draw(2) == 0 { u64::MAX } else { draw(50) }),
                9 => What::Close,
                10 => What::Reset,
                11 => What::ForceOpen,
                12 => What::Disable,
                _ => What::MetricsOnly,
            },
        };
        Event { step, what }
    })
}

fn any_start() -> impl Strategy<Value = i64> {
    prop_oneof![4 => Just(0i64), 2 => -100..100i64, 1 => Just(i64::MIN), 1 => Just(i64::MAX - 100)]
}

fn settings() -> impl Strategy<Value = Settings> {
    let window = prop_oneof![
        (1..8u32).prop_map(Window::Calls),
        Just(Window::Calls(40)),
        (1..6u64, 1..12u64).prop_map(|(n, bucket)| Window::Time {
            length: n * bucket,
            bucket
        }),
    ];
    // A large minimum leaves the verdict to the steps of the ramp.
    let min = prop_oneof![2 => 1..10u32, 1 => Just(50)];
    let rate = || (1..=10u32).prop_map(|it| Rate::percent(it * 10));
    let fail = prop_oneof![4 => rate().prop_map(Some), 1 => Just(None)];
    let slow = prop_oneof![2 => (rate(), 1..12u64).prop_map(|(rate, over)| Some(Slow { rate, over })), 1 => Just(None)];
    let consecutive = prop_oneof![1 => (1..5u32).prop_map(Some), 2 => Just(None)];
    let timeout = prop_oneof![1 => (1..12u64).prop_map(Some), 1 => Just(None)];
    let jitter = prop_oneof![Just(Jitter::None), Just(Jitter::Equal), Just(Jitter::Full)];
    let backoff = prop_oneof![Just(1_000u32), Just(1_500), Just(2_000), Just(100_000)];
    let max_open = prop_oneof![Just(None), (50..200u64).prop_map(Some)];
    let lease = prop_oneof![4 => (1..40u64).prop_map(Some), 1 => Just(None)];
    let ramp = prop_oneof![
        2 => Just(Ramp::Off),
        3 => (vec(1..10u32, 1..4), 1..20u64).prop_map(|(gaps, hold)| {
            let mut at = 0;
            let shares = gaps.into_iter().map(|gap| { at += gap; Rate::percent(at * 3) }).collect();
            Ramp::Steps { shares, hold }
        }),
        4 => (30..90u64).prop_map(|hold| Ramp::Steps { shares: vec![Rate::percent(50), Rate::ONE], hold }),
        2 => (1..40u64).prop_map(|over| Ramp::Curve { over }),
    ];
    (
        (window, min, fail, slow, consecutive, timeout),
        (1..50u64, backoff, max_open, jitter, any::<u64>()),
        (1..5u32, any::<bool>(), lease, any::<bool>(), ramp),
    )
        .prop_filter_map("a breaker that can trip", |(closed, open, half)| {
            let (window, min, fail, slow, consecutive, timeout) = closed;
            let (open, backoff, max_open, jitter, seed) = open;
            let (probes, by_rate, lease, auto, ramp) = half;
            let has_rate = fail.is_some() || slow.is_some();
            let judge = if by_rate && fail.is_some() {
                Judge::Rate
            } else {
                Judge::FirstFailure
            };
            (has_rate || consecutive.is_some()).then_some(Settings {
                window,
                min,
                fail,
                slow,
                consecutive,
                timeout,
                open,
                backoff,
                max_open,
                jitter,
                seed,
                probes,
                judge,
                lease,
                auto,
                ramp,
            })
        })
}
