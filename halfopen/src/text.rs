//! Settings as text: one line that a person can write, a link can carry and a
//! log can show.
//!
//! `key=value` pairs, separated by commas or white space, in any order; what
//! is left out has its default, so the empty text is the default breaker.
//!
//! | key | values | default |
//! |---|---|---|
//! | `window` | `100` calls, or `10s/1s`: time and bucket; `10s` has buckets of a second | `100` |
//! | `min` | results below which no rate is judged; capped to a count window | `100` |
//! | `fail` | `50%`, or `off`, with `judge=first-failure` | `50%` |
//! | `slow` | `50%@2s`: share, and the duration above which a call is slow; or `off` | `100%@60s` |
//! | `consecutive` | `5` failures in a row, or `off` | `off` |
//! | `timeout` | `500ms`, or `off`: a call that took as long is a failure. Interrupts nothing, see [Timeouts go inside](crate#timeouts-go-inside) | `off` |
//! | `open` | `60s` | `60s` |
//! | `backoff` | `2x`, `1.5x`: the wait's growth at each re-opening | `1x` |
//! | `max-open` | `5m`, or `off` | `off` |
//! | `jitter` | `none`, `equal`, `full` | `none` |
//! | `seed` | `1` | `0` |
//! | `probes` | `10` | `10` |
//! | `judge` | `rate`, `first-failure` | `rate` |
//! | `lease` | `30s`, or `off` | `30s` |
//! | `auto` | `no`, `yes`: half-open at the end of the wait, whenever the time is told | `no` |
//! | `ramp` | `10%/25%/50%/100%@5s`: steps and how long each is held; `30s`: Envoy's curve from 10 %; or `off` | `off` |
//!
//! Durations are a number and `ns`, `us`, `ms`, `s`, `m` or `h`; numbers may
//! have decimals as long as they come out whole in the setting's own unit
//! (nanoseconds, parts per million, thousandths).
//!
//! Owns this grammar, which is an interface apart from the types: a text
//! written today is read by later versions. Invariant: printing gives one
//! canonical form, which parses to the same configuration. It has `window`,
//! `min`, `fail`, `open` and `probes` always, the other keys where they differ
//! from the default, in the order of the table; commas; durations in the
//! largest of `s`, `ms`, `us`, `ns` that is whole. Cost: one pass. Pinned by
//! `tests/settings.rs`.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::backoff::Jitter;
use crate::config::{Config, ConfigError, ConfigErrorKind, Judge, Rate, Settings, Slow};
use crate::ramp::Ramp;
use crate::window::Window;

/// The buckets of a time window that names none.
const DEFAULT_BUCKET: u64 = 1_000_000_000;

/// Units of time, in nanoseconds.
const UNITS: [(&str, u64); 6] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

const KEYS: [&str; 16] = [
    "window",
    "min",
    "fail",
    "slow",
    "consecutive",
    "timeout",
    "open",
    "backoff",
    "max-open",
    "jitter",
    "seed",
    "probes",
    "judge",
    "lease",
    "auto",
    "ramp",
];

impl FromStr for Config {
    type Err = ConfigError;

    /// Parses the settings text.
    ///
    /// # Errors
    ///
    /// The first pair that cannot be read; when all can, the first setting
    /// that [`Config::new`] refuses, with its value as it stands in the text.
    fn from_str(text: &str) -> Result<Config, ConfigError> {
        Config::new(parse(text)?).map_err(|err| {
            match pairs(text).find(|(key, _)| *key == err.key()) {
                Some((_, value)) => err.with_got(value),
                None => err,
            }
        })
    }
}

/// The canonical settings text.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.settings();
        let default = Settings::default();
        write!(
            f,
            "window={},min={},fail={}",
            window(s.window),
            s.min,
            or_off(s.fail.as_ref())
        )?;
        if s.slow != default.slow {
            match s.slow {
                Some(slow) => write!(f, ",slow={}@{}", slow.rate, duration(slow.over))?,
                None => f.write_str(",slow=off")?,
            }
        }
        if let Some(n) = s.consecutive {
            write!(f, ",consecutive={n}")?;
        }
        if let Some(timeout) = s.timeout {
            write!(f, ",timeout={}", duration(timeout))?;
        }
        write!(f, ",open={}", duration(s.open))?;
        if s.backoff != default.backoff {
            write!(f, ",backoff={}", multiplier(s.backoff))?;
        }
        if let Some(max) = s.max_open {
            write!(f, ",max-open={}", duration(max))?;
        }
        match s.jitter {
            Jitter::None => {}
            Jitter::Equal => f.write_str(",jitter=equal")?,
            Jitter::Full => f.write_str(",jitter=full")?,
        }
        if s.seed != default.seed {
            write!(f, ",seed={}", s.seed)?;
        }
        write!(f, ",probes={}", s.probes)?;
        if s.judge == Judge::FirstFailure {
            f.write_str(",judge=first-failure")?;
        }
        if s.lease != default.lease {
            write!(f, ",lease={}", or_off(s.lease.map(duration).as_ref()))?;
        }
        if s.auto {
            f.write_str(",auto=yes")?;
        }
        match s.ramp {
            Ramp::Off => Ok(()),
            Ramp::Curve { over } => write!(f, ",ramp={}", duration(over)),
            Ramp::Steps { shares, hold } => {
                for (nth, share) in shares.iter().enumerate() {
                    write!(f, "{}{share}", if nth == 0 { ",ramp=" } else { "/" })?;
                }
                write!(f, "@{}", duration(hold))
            }
        }
    }
}

/// A duration as it is printed: `1500ms`.
pub(crate) fn duration(ns: u64) -> String {
    let fits = UNITS[..4]
        .iter()
        .rev()
        .find(|(_, unit)| ns.is_multiple_of(*unit));
    let (name, unit) = fits.unwrap_or(&UNITS[0]);
    alloc::format!("{}{name}", ns / unit)
}

/// A multiplier in thousandths as it is printed: `1.5x`.
pub(crate) fn multiplier(thousandths: u32) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_decimal(&mut text, u64::from(thousandths), 3);
    text.push('x');
    text
}

/// A window as it is printed: `100`, `10s/1s`.
pub(crate) fn window(kind: Window) -> String {
    match kind {
        Window::Calls(size) => alloc::format!("{size}"),
        Window::Time { length, bucket } => {
            alloc::format!("{}/{}", duration(length), duration(bucket))
        }
    }
}

/// Writes `value / 10^decimals` without trailing zeros.
pub(crate) fn write_decimal(out: &mut impl fmt::Write, value: u64, decimals: u32) -> fmt::Result {
    let one = 10u64.pow(decimals);
    write!(out, "{}", value / one)?;
    let (mut rest, mut width) = (value % one, decimals as usize);
    if rest == 0 {
        return Ok(());
    }
    while rest.is_multiple_of(10) {
        rest /= 10;
        width -= 1;
    }
    write!(out, ".{rest:0width$}")
}

fn or_off(value: Option<&impl fmt::Display>) -> String {
    value.map_or_else(|| "off".into(), |it| alloc::format!("{it}"))
}

/// Keys and values; what has no `=` is a key without a value.
fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = text
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|it| !it.is_empty());
    pairs.map(|it| it.split_once('=').unwrap_or((it, "")))
}

fn parse(text: &str) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    let mut seen = [false; KEYS.len()];
    for (key, value) in pairs(text) {
        let Some(nth) = KEYS.iter().position(|&it| it == key) else {
            let keys = KEYS.join(", ");
            let allowed = match nearest(key) {
                Some(near) => alloc::format!("{near}, perhaps, of {keys}"),
                None => keys,
            };
            let kind = ConfigErrorKind::UnknownKey;
            return Err(ConfigError::new(kind, key, value, &allowed));
        };
        if core::mem::replace(&mut seen[nth], true) {
            return Err(ConfigError::new(
                ConfigErrorKind::Repeated,
                key,
                value,
                "one value",
            ));
        }
        set(&mut settings, key, value)?;
    }
    Ok(settings)
}

/// Reads the value of one known key.
fn set(settings: &mut Settings, key: &str, value: &str) -> Result<(), ConfigError> {
    let s = settings;
    let (read, allowed) = match key {
        "window" => (
            read_window(value).map(|it| s.window = it),
            "calls (100), or time and bucket, their unit ns, us, ms, s, m or h (10s/1s)",
        ),
        "min" => (count(value).map(|it| s.min = it), "a whole number of calls"),
        "fail" => (
            off_or(value, rate).map(|it| s.fail = it),
            "a share of at most four decimals (50%, 33.3333%) or off",
        ),
        "slow" => (
            off_or(value, slow).map(|it| s.slow = it),
            "a share and a duration, its unit ns, us, ms, s, m or h (50%@2s), or off",
        ),
        "consecutive" => (
            off_or(value, count).map(|it| s.consecutive = it),
            "a whole number of failures or off",
        ),
        "timeout" => (
            off_or(value, read_duration).map(|it| s.timeout = it),
            "a duration in ns, us, ms, s, m or h (500ms), or off",
        ),
        "open" => (
            read_duration(value).map(|it| s.open = it),
            "a duration in ns, us, ms, s, m or h (60s)",
        ),
        "backoff" => (
            read_multiplier(value).map(|it| s.backoff = it),
            "a multiplier (2x)",
        ),
        "max-open" => (
            off_or(value, read_duration).map(|it| s.max_open = it),
            "a duration in ns, us, ms, s, m or h (5m), or off",
        ),
        "jitter" => (jitter(value).map(|it| s.jitter = it), "none, equal or full"),
        "seed" => (
            seed(value).map(|it| s.seed = it),
            "a whole number below 2^64",
        ),
        "probes" => (
            count(value).map(|it| s.probes = it),
            "a whole number of probes",
        ),
        "judge" => (judge(value).map(|it| s.judge = it), "rate or first-failure"),
        "lease" => (
            off_or(value, read_duration).map(|it| s.lease = it),
            "a duration in ns, us, ms, s, m or h (30s), or off",
        ),
        "auto" => (yes_or_no(value).map(|it| s.auto = it), "yes or no"),
        _ => (
            ramp(value).map(|it| s.ramp = it),
            "steps (10%/50%/100%@5s), a duration in ns, us, ms, s, m or h (30s), or off",
        ),
    };
    read.ok_or_else(|| ConfigError::new(ConfigErrorKind::Malformed, key, value, allowed))
}

/// The key that somebody may have meant: one that begins alike, or that two
/// letters make of theirs.
fn nearest(key: &str) -> Option<&'static str> {
    let key = key.to_ascii_lowercase();
    let near = |it: &&&str| key.starts_with(**it) || key.len() > 2 && it.starts_with(key.as_str());
    let close = KEYS
        .iter()
        .map(|it| (distance(key.as_bytes(), it.as_bytes()), it));
    let closest = close.min().filter(|&(n, it)| n <= 2 && n < it.len());
    KEYS.iter().find(near).or(closest.map(|it| it.1)).copied()
}

/// How many letters to add, drop or replace (Levenshtein). Nothing is as far
/// as what is much longer than a key.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: [usize; 16] = core::array::from_fn(|it| it);
    if a.len() >= row.len() || b.len() >= row.len() {
        return usize::MAX;
    }
    for (n, x) in a.iter().enumerate() {
        let mut corner = core::mem::replace(&mut row[0], n + 1);
        for (m, y) in b.iter().enumerate() {
            let replaced = corner + usize::from(x != y);
            corner = row[m + 1];
            row[m + 1] = replaced.min(corner + 1).min(row[m] + 1);
        }
    }
    row[b.len()]
}

fn off_or<T>(text: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
    if text == "off" {
        Some(None)
    } else {
        read(text).map(Some)
    }
}

/// A count that is too large for its type becomes the largest, which is out
/// of range and reported as such.
fn count(text: &str) -> Option<u32> {
    Some(decimal(text, 0)?.try_into().unwrap_or(u32::MAX))
}

fn rate(text: &str) -> Option<Rate> {
    let parts = decimal(text.strip_suffix('%')?, 4)?;
    Some(Rate::ppm(parts.try_into().unwrap_or(u32::MAX)))
}

fn read_multiplier(text: &str) -> Option<u32> {
    let thousandths = decimal(text.strip_suffix('x')?, 3)?;
    Some(thousandths.try_into().unwrap_or(u32::MAX))
}

fn slow(text: &str) -> Option<Slow> {
    let (share, over) = text.split_once('@')?;
    Some(Slow {
        rate: rate(share)?,
        over: read_duration(over)?,
    })
}

fn read_window(text: &str) -> Option<Window> {
    if let Some((length, bucket)) = text.split_once('/') {
        return Some(Window::Time {
            length: read_duration(length)?,
            bucket: read_duration(bucket)?,
        });
    }
    if let Some(calls) = count(text) {
        return Some(Window::Calls(calls));
    }
    Some(Window::Time {
        length: read_duration(text)?,
        bucket: DEFAULT_BUCKET,
    })
}

/// Digits alone: the type's own reader takes a `+`.
fn seed(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|it| it.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

fn jitter(text: &str) -> Option<Jitter> {
    match text {
        "none" => Some(Jitter::None),
        "equal" => Some(Jitter::Equal),
        "full" => Some(Jitter::Full),
        _ => None,
    }
}

fn judge(text: &str) -> Option<Judge> {
    match text {
        "rate" => Some(Judge::Rate),
        "first-failure" => Some(Judge::FirstFailure),
        _ => None,
    }
}

fn yes_or_no(text: &str) -> Option<bool> {
    match text {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

fn ramp(text: &str) -> Option<Ramp> {
    if text == "off" {
        return Some(Ramp::Off);
    }
    let Some((shares, hold)) = text.split_once('@') else {
        return Some(Ramp::Curve {
            over: read_duration(text)?,
        });
    };
    let shares: Option<Vec<Rate>> = shares.split('/').map(rate).collect();
    Some(Ramp::Steps {
        shares: shares?,
        hold: read_duration(hold)?,
    })
}

fn read_duration(text: &str) -> Option<u64> {
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, name) = text.split_at_checked(split)?;
    let (_, unit) = UNITS.iter().find(|(it, _)| *it == name)?;
    // Nine decimals are enough for a nanosecond of a second. The number is
    // read in units of 10^-9, and has to come out whole in nanoseconds.
    const ONE: u128 = 1_000_000_000;
    let scaled = decimal(number, 9)? * u128::from(*unit);
    if !scaled.is_multiple_of(ONE) {
        return None;
    }
    Some((scaled / ONE).try_into().unwrap_or(u64::MAX))
}

/// A decimal number times `10^decimals`; nothing when it has more decimals
/// than that or is no number. Saturates above all that is allowed: at more
/// than a year of nanoseconds with nine decimals, and low enough that hours do
/// not overflow.
fn decimal(text: &str, decimals: usize) -> Option<u128> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return None,
        None => (text, ""),
    };
    if whole.is_empty() || fraction.len() > decimals {
        return None;
    }
    const LIMIT: u128 = 50_000_000_000_000_000_000_000_000;
    let padding = core::iter::repeat_n(b'0', decimals - fraction.len());
    let mut value = 0u128;
    for digit in whole.bytes().chain(fraction.bytes()).chain(padding) {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = (value * 10 + u128::from(digit - b'0')).min(LIMIT);
    }
    Some(value)
}
