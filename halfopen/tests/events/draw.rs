//! Logs from a seed: admissions, results, permits given back, late results,
//! changes by hand, and time that passes, stands still or goes back.
//!
//! Owns the sequence of numbers and what is made of it. Invariant: a seed
//! gives the same log everywhere. Cost: that of playing the log, as a machine
//! goes along to tell which calls are out. That the logs reach every edge is
//! pinned by `tests/identical.rs`.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use halfopen::{Config, Outcome};

use super::{Event, Log, OnMachine, What};

/// All parts of the settings that keep time or permits, a line each.
const SETTINGS: &str = include_str!("settings.txt");

/// The lines, and the defaults.
const CHOICES: u64 = 8;

/// Of each line, one at a time: settings that nobody thought of.
const PARTS: [&[&str]; 14] = [
    &[
        "window=2",
        "window=7",
        "window=64",
        "window=30ns/5ns",
        "window=9us/3us",
    ],
    &["min=1", "min=2", "min=5"],
    &["fail=off", "fail=33.3%", "fail=50%", "fail=100%"],
    &["slow=off", "slow=1%@1ns", "slow=60%@7ns"],
    &["consecutive=off", "consecutive=1", "consecutive=4"],
    &["timeout=off", "timeout=4ns", "timeout=1us"],
    &["open=1ns", "open=9ns", "open=50ns"],
    &["backoff=1x", "backoff=1.5x", "backoff=3x"],
    &["max-open=off", "max-open=80ns"],
    &[
        "jitter=none",
        "jitter=equal seed=11",
        "jitter=full seed=18446744073709551615",
    ],
    &["probes=1", "probes=3", "probes=6"],
    &[
        "judge=rate lease=off",
        "judge=rate lease=12ns",
        "judge=first-failure lease=40ns",
    ],
    &["auto=no", "auto=yes"],
    &[
        "ramp=off",
        "ramp=1%/99%@8ns",
        "ramp=20%/40%/60%/80%@15ns",
        "ramp=33ns",
        "ramp=1us",
    ],
];

/// Where the clocks of hosts start: anywhere, since 1970, and at both ends.
const STARTS: [i64; 4] = [0, 1_764_453_600_000_000_000, i64::MIN, i64::MAX - 400];

/// The log of a seed.
pub fn log(seed: u64) -> Log {
    let mut draw = Draw(seed);
    // In nanoseconds time fits any integer: in seconds it does not.
    let unit = if draw.one_in(3) { 1_000_000_000 } else { 1 };
    let config = draw.config(seed, unit);
    let mut now = match draw.below(8) {
        nth @ 0..4 => STARTS[nth],
        _ => 0,
    };
    let mut events = Vec::new();
    let mut machine = OnMachine::new(config.clone());
    for _ in 0..120 {
        now = now.saturating_add(draw.step() * unit);
        let Some(what) = draw.what(&machine, unit) else {
            continue;
        };
        let event = Event { at: now, what };
        machine.step(event);
        events.push(event);
    }
    Log { config, events }
}

/// Reads settings; with another unit than 1, what they have in nanoseconds is
/// in seconds.
fn read(text: &str, unit: i64) -> Option<Config> {
    let seconds = |text: String, digit| text.replace(&format!("{digit}ns"), &format!("{digit}s"));
    let text = match unit {
        1 => text.into(),
        _ => (0..10).fold(text.into(), seconds),
    };
    text.parse().ok()
}

/// A sequence of numbers from a seed (xorshift64*).
pub struct Draw(pub u64);

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

    /// Yes, once in so many times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Every other seed has settings of the list, in turn.
    fn config(&mut self, seed: u64, unit: i64) -> Config {
        if seed.is_multiple_of(2) {
            let nth = (seed / 2 % CHOICES) as usize;
            let text = SETTINGS.lines().nth(nth).unwrap_or_default();
            return read(text, unit).unwrap_or_default();
        }
        // Not all go together: then others are drawn.
        for _ in 0..100 {
            let mut text = String::new();
            for part in PARTS {
                text.push_str(part[self.below(part.len())]);
                text.push(' ');
            }
            if let Some(config) = read(&text, unit) {
                return config;
            }
        }
        Config::default()
    }

    fn step(&mut self) -> i64 {
        match self.below(20) {
            0 => -(self.below(50) as i64),
            1 => self.below(200) as i64,
            2..=10 => 0,
            _ => self.below(8) as i64,
        }
    }

    fn what(&mut self, machine: &OnMachine, unit: i64) -> Option<What> {
        let kind = self.below(40);
        match kind {
            0..=17 => Some(What::Acquire),
            18..=35 => {
                let n = machine.out().count();
                let call = (n > 0).then(|| machine.out().nth(self.below(n)))??;
                Some(match kind {
                    18 | 19 => What::Cancel(call),
                    20..=28 => What::Settle(call, Outcome::Failure),
                    29..=34 => What::Settle(call, Outcome::Success),
                    _ => What::Settle(call, Outcome::Ignored),
                })
            }
            36 => Some(What::Advance),
            37 if self.one_in(4) => Some(match self.below(8) {
                0 => What::Open,
                1 => What::OpenFor(7 * unit as u64),
                2 => What::HalfOpen,
                3 => What::Close,
                4 => What::ForceOpen,
                5 => What::Disable,
                6 => What::MetricsOnly,
                _ => What::Reset,
            }),
            _ => None,
        }
    }
}
