//! What other settings would have done to the same calls: replays side by side, and grids of two
//! settings.
//!
//! Owns the figures of a replay that people compare, the settings that are tried, and the values of a
//! setting around the present one. Invariant: open loop. The calls stay as they were recorded, so that
//! what callers and service would have done otherwise is in no figure; what cannot be known is `None`,
//! never zero. Cost: each step is one replay, O(calls), so that a worker can tell how far it is and
//! stop. Pinned by `tests/it/what_if.rs`.

use halfopen::{Config, Settings, State, Window};

use crate::calls::{CallOutcome, Calls};
use crate::order;
use crate::replay::{self, Options, Replay};

/// What came of the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Calls that the breakers refuse. As it was: those whose refusals were recorded, and `None` where none
    /// was, as what was withheld then is not among the calls.
    pub withheld: Option<u64>,
    /// Calls that were let through and whose outcome the file does not tell; they are in no other figure.
    pub without_outcome: u64,
    /// Calls that were let through and failed, or were cut: what callers had to deal with.
    pub failed: u64,
    /// Of those, the ones that went well in the end, which the timeout in the settings cuts.
    pub cut: u64,
    /// How long callers' threads were held in all, nanoseconds: each call for its duration or the timeout
    /// in the settings, whichever is shorter; a refused one not at all.
    pub held_ns: u64,
    /// How often a breaker opened. `None` as it was.
    pub trips: Option<u64>,
    /// When the first of them opened, nanoseconds since 1970; `None` where none did, and as it was.
    pub opened: Option<i64>,
    /// How long that took from the start of the first call that counted as bad with that breaker.
    pub to_trip_ns: Option<u64>,
    /// Nanoseconds that the breakers spent closed, open, half-open and ramping, in all. `None` as it was.
    pub time_in: Option<[i64; 4]>,
}

/// Settings that are tried, and what came of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What is tried: `as_it_was`, `present`, one of the proposals, `asked`, or a `cell` of a grid.
    pub name: &'static str,
    /// The settings; `None` as it was, and for a cell whose two values do not go together.
    pub settings: Option<Config>,
    /// The figures, once they are there.
    pub figures: Option<Figures>,
}

/// Cases that are replayed one after the other.
#[derive(Clone, Debug)]
pub struct Cases {
    /// All of them, in order.
    pub cases: Vec<Case>,
    shared: bool,
    next: usize,
}

/// Two settings against each other.
#[derive(Clone, Debug)]
pub struct Grid {
    /// From left to right, and from top to bottom.
    pub axes: [Axis; 2],
    /// The cells, row by row.
    pub cells: Cases,
}

/// The values of one setting, around the present one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The setting's key in the settings text, one of [`KEYS`].
    pub key: &'static str,
    /// Its values as they stand in the settings text, the smallest first, `off` after them.
    pub values: Vec<String>,
    /// Which of them is the present one.
    pub present: Option<usize>,
}

/// The settings that a grid can vary.
pub const KEYS: [&str; 9] = [
    "window",
    "min",
    "fail",
    "slow",
    "consecutive",
    "timeout",
    "open",
    "probes",
    "ramp",
];

/// In parts of [`WHOLE`], how far the values of an axis are from the present one.
const FACTORS: [u64; 5] = [1, 2, 4, 8, 16];
const WHOLE: u64 = 4;

/// The default of `slow`.
const DEFAULT_SLOW: &str = "100%@60s";

/// What is tried where nothing better is known.
const SOME_TIMEOUT: u64 = 1_000_000_000;

impl Cases {
    /// As it was, with the present settings, with those that a person asks about, and with proposals that
    /// differ from the present ones in one way each. `timeout` is the one that [`crate::advise`] proposes.
    pub fn side_by_side(
        calls: &Calls,
        present: &Config,
        asked: &[Config],
        timeout: Option<u64>,
        shared: bool,
    ) -> Cases {
        let case = |name, settings: &Config| Case {
            name,
            settings: Some(settings.clone()),
            figures: None,
        };
        let mut cases = vec![
            Case {
                name: "as_it_was",
                settings: None,
                figures: Some(as_it_was(calls)),
            },
            case("present", present),
        ];
        cases.extend(asked.iter().map(|it| case("asked", it)));
        for (name, changes) in proposals(&present.settings(), timeout) {
            let settings = with(present, &changes).filter(|it| it != present);
            cases.extend(settings.map(|it| case(name, &it)));
        }
        Cases {
            cases,
            shared,
            next: 0,
        }
    }

    /// Replays the next case; `false` once there is none left. The calls have to be the same each time.
    pub fn step(&mut self, calls: &Calls) -> bool {
        while let Some(case) = self.cases.get_mut(self.next) {
            self.next += 1;
            if let Some(settings) = &case.settings {
                let options = Options {
                    config: settings.clone(),
                    shared: self.shared,
                };
                let replay = replay::replay(calls, &options);
                case.figures = Some(figures(calls, settings, &replay));
                return true;
            }
        }
        false
    }

    /// How many cases are done, of how many.
    pub fn progress(&self) -> (usize, usize) {
        (self.next, self.cases.len())
    }
}

impl Grid {
    /// The present settings with each pair of values of two of the [`KEYS`]; `None` for another key, or
    /// the same one twice.
    pub fn new(
        present: &Config,
        keys: [&str; 2],
        timeout: Option<u64>,
        shared: bool,
    ) -> Option<Grid> {
        if keys[0] == keys[1] {
            return None;
        }
        let axes = [
            axis(present, keys[0], timeout)?,
            axis(present, keys[1], timeout)?,
        ];
        let mut cases = Vec::new();
        for y in &axes[1].values {
            for x in &axes[0].values {
                cases.push(Case {
                    name: "cell",
                    settings: with(present, &[(axes[0].key, x), (axes[1].key, y)]),
                    figures: None,
                });
            }
        }
        let next = 0;
        Some(Grid {
            axes,
            cells: Cases {
                cases,
                shared,
                next,
            },
        })
    }
}

/// The recorded calls, nothing more withheld.
pub fn as_it_was(calls: &Calls) -> Figures {
    let mut sum = Figures {
        withheld: None,
        without_outcome: 0,
        failed: 0,
        cut: 0,
        held_ns: 0,
        trips: None,
        opened: None,
        to_trip_ns: None,
        time_in: None,
    };
    let refused = |at: &usize| calls.outcome[*at] == CallOutcome::Rejected;
    let made = (0..calls.len()).filter(|at| !refused(at));
    made.for_each(|at| sum.add(calls, at, u64::MAX));
    let refused = (0..calls.len()).filter(refused).count() as u64;
    sum.withheld = (refused > 0).then_some(refused);
    sum
}

/// The figures of a replay of these calls with these settings.
pub fn figures(calls: &Calls, settings: &Config, replay: &Replay) -> Figures {
    let settings = settings.settings();
    let timeout = settings.timeout.unwrap_or(u64::MAX);
    let mut sum = Figures {
        withheld: Some(replay.withheld),
        ..as_it_was(&Calls::default())
    };
    let admitted = (0..calls.len()).filter(|&at| !replay.rejected[at]);
    admitted.for_each(|at| sum.add(calls, at, timeout));
    let mut time_in = [0; 4];
    let mut trips = 0;
    let mut first: Option<(i64, usize)> = None;
    for (place, breaker) in replay.breakers.iter().enumerate() {
        let spent = replay::time_in(breaker, replay);
        time_in.iter_mut().zip(spent).for_each(|(it, ns)| *it += ns);
        let opened = || breaker.transitions.iter().filter(|it| it.to == State::Open);
        trips += opened().count() as u64;
        let at = opened().next().map(|it| (it.at, place));
        first = first.into_iter().chain(at).min();
    }
    sum.time_in = Some(time_in);
    sum.trips = Some(trips);
    if let Some((opened, place)) = first {
        sum.opened = Some(opened);
        let own = |at: usize| !replay.per_instance || calls.instance[at] as usize == place;
        sum.to_trip_ns = (0..calls.len())
            .find(|&at| own(at) && is_bad(calls, at, &settings))
            .map(|at| opened.saturating_sub(calls.start[at]).max(0) as u64);
    }
    sum
}

impl Figures {
    /// Counts a call that was let through.
    fn add(&mut self, calls: &Calls, at: usize, timeout: u64) {
        let duration = calls.duration(at);
        match calls.outcome[at] {
            CallOutcome::Rejected | CallOutcome::Unknown => {
                self.without_outcome += 1;
                return;
            }
            CallOutcome::Success if duration < timeout => {}
            CallOutcome::Success => {
                self.cut += 1;
                self.failed += 1;
            }
            CallOutcome::Failure | CallOutcome::TimedOut => self.failed += 1,
        }
        self.held_ns = self.held_ns.saturating_add(duration.min(timeout));
    }
}

/// Whether a breaker with these settings counts the call against the callee.
fn is_bad(calls: &Calls, at: usize, settings: &Settings) -> bool {
    let timeout = settings.timeout.unwrap_or(u64::MAX);
    let duration = calls.duration(at);
    let slow = settings
        .slow
        .is_some_and(|it| duration.min(timeout) > it.over);
    match calls.outcome[at] {
        CallOutcome::Rejected | CallOutcome::Unknown => false,
        CallOutcome::Success => slow || duration >= timeout,
        CallOutcome::Failure | CallOutcome::TimedOut => true,
    }
}

/// What may help, each in one way: a name, and what it changes in the text.
fn proposals(
    present: &Settings,
    timeout: Option<u64>,
) -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let mut proposals = Vec::new();
    if let Some(timeout) = timeout {
        proposals.push(("timeout", vec![("timeout", exact(timeout))]));
        proposals.push(("slow", vec![("slow", slow(timeout))]));
    }
    let other = match present.window {
        Window::Calls(_) => ("time_window", vec![("window", "10s/1s".to_owned())]),
        _ => ("count_window", vec![("window", "100".to_owned())]),
    };
    proposals.push(other);
    let shorter = vec![
        ("window", window(present.window, 1)),
        ("min", scaled(present.min.into(), 1).to_string()),
    ];
    proposals.push(("shorter_window", shorter));
    proposals.push(("ramp", vec![("ramp", "30s".to_owned())]));
    proposals.push(("consecutive", vec![("consecutive", "5".to_owned())]));
    proposals
}

/// Half the calls longer than nearly every good one takes: a proposed timeout has half as much again.
/// To two digits.
fn slow(timeout: u64) -> String {
    let over = (timeout - timeout / 3).max(1);
    let mut unit = 1;
    while over / unit >= 100 {
        unit *= 10;
    }
    ["50%@", &exact(over.div_ceil(unit) * unit)].concat()
}

fn axis(present: &Config, key: &str, timeout: Option<u64>) -> Option<Axis> {
    let key = KEYS.into_iter().find(|&it| it == key)?;
    let settings = present.settings();
    let around = |it: u64, text: &dyn Fn(u64) -> String| -> Vec<String> {
        FACTORS.iter().map(|&by| text(scaled(it, by))).collect()
    };
    let count = |it: u32| around(it.into(), &|it| it.to_string());
    let or_off = |mut values: Vec<String>| {
        values.push("off".to_owned());
        values
    };
    let some_timeout = timeout.unwrap_or(SOME_TIMEOUT);
    let mut values = match key {
        "window" => FACTORS
            .iter()
            .map(|&by| window(settings.window, by))
            .collect(),
        "min" => count(settings.min),
        "fail" => shares(settings.fail.map(halfopen::Rate::as_ppm)),
        "slow" => or_off(match settings.slow {
            Some(it) if settings.slow != Settings::default().slow => {
                let rate = it.rate.to_string();
                around(it.over, &|over| [&rate, "@", &exact(over)].concat())
            }
            _ => around(some_timeout, &slow),
        }),
        "consecutive" => or_off(count(settings.consecutive.unwrap_or(5))),
        "timeout" => or_off(around(settings.timeout.unwrap_or(some_timeout), &exact)),
        "open" => around(settings.open, &exact),
        "probes" => count(settings.probes),
        _ => or_off(["10s", "30s", "120s", "600s"].map(str::to_owned).into()),
    };
    // What no breaker can be set to is left out, and so is what comes to the same.
    let mut tried: Vec<Config> = Vec::new();
    values.retain(|value| match with(present, &[(key, value)]) {
        Some(it) if !tried.contains(&it) => {
            tried.push(it);
            true
        }
        _ => false,
    });
    if !tried.contains(present) {
        // Steps of a ramp, or slow calls by default, which the text leaves out.
        let all = present.to_string();
        let mut pairs = all.split(',').filter_map(|it| it.split_once('='));
        let text = pairs.find(|it| it.0 == key).map(|it| it.1);
        values.push(text.unwrap_or(DEFAULT_SLOW).to_owned());
        tried.push(present.clone());
    }
    let present = tried.iter().position(|it| it == present);
    Some(Axis {
        key,
        values,
        present,
    })
}

/// Round shares of failures, and the present one among them.
fn shares(present: Option<u32>) -> Vec<String> {
    let mut shares = vec![100_000, 250_000, 500_000, 750_000, 900_000, 1_000_000];
    shares.extend(present);
    let shares = order::sorted(shares, &mut u32::cmp);
    let text = |it: u32| halfopen::Rate::ppm(it).to_string();
    shares.into_iter().map(text).collect()
}

fn scaled(it: u64, by: u64) -> u64 {
    (it.saturating_mul(by) / WHOLE).max(1)
}

/// A window of another length, with as many buckets.
fn window(present: Window, by: u64) -> String {
    match present {
        Window::Calls(calls) => scaled(calls.into(), by).to_string(),
        Window::Time { length, bucket } => {
            let scaled = scaled(bucket, by);
            let length = scaled.saturating_mul(length / bucket);
            [&exact(length), "/", &exact(scaled)].concat()
        }
        // A kind that is not known here is not varied: no settings have this text.
        _ => String::new(),
    }
}

/// The settings with other values of some keys; `None` where these do not go together.
fn with(settings: &Config, changes: &[(&'static str, impl AsRef<str>)]) -> Option<Config> {
    let mut text = String::new();
    for pair in settings.to_string().split(',') {
        let key = pair.split('=').next();
        if changes.iter().all(|it| Some(it.0) != key) {
            text.extend([pair, ","]);
        }
    }
    for (key, value) in changes {
        text.extend([key, "=", value.as_ref(), ","]);
    }
    text.parse().ok()
}

/// A duration as the settings text has it.
fn exact(ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let whole = units.into_iter().find(|it| ns.is_multiple_of(it.1));
    let (name, unit) = whole.unwrap_or(("ns", 1));
    [&(ns / unit).to_string(), name].concat()
}
