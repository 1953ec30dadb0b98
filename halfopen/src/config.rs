//! What a breaker is told: [`Settings`] as written, [`Config`] as checked.
//!
//! Owns the ranges, the defaults and the error that names what is wrong.
//! Invariant: a `Config` holds only values that the machine can run with, so
//! that nothing past this module has to check or can fail. Everything is an
//! integer: times in nanoseconds, rates in parts per million, the multiplier
//! of the backoff in thousandths. Cost: construction only; no field is
//! computed per call. Pinned by `tests/settings.rs`, and by the test below.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::backoff::{self, Backoff, Jitter};
use crate::check;
use crate::ramp::{Plan, Ramp};
use crate::window::Window;

/// Nanoseconds in a microsecond, a millisecond, a second.
const US: u64 = 1_000;
const MS: u64 = 1_000 * US;
const S: u64 = 1_000 * MS;

/// The longest duration a setting takes: 365 days, in nanoseconds.
pub const MAX_DURATION: u64 = 365 * 24 * 3600 * S;
/// The most calls a count window holds. Memory is a quarter byte a call.
pub const MAX_WINDOW_CALLS: u32 = 1_000_000;
/// The most buckets a time window has. Memory is twelve bytes a bucket.
pub const MAX_BUCKETS: u32 = 3_600;
/// The most probes of one half-open round. Memory is twelve bytes a probe.
pub const MAX_PROBES: u32 = 10_000;
/// The largest minimum of calls.
pub const MAX_MIN: u32 = 1_000_000_000;
/// The most steps of a ramp.
pub const MAX_RAMP_STEPS: usize = 16;

/// The numbers of `key=off` inside [`Config`]: larger than any that is allowed.
/// Added to any time, [`NEVER`] gives the end of time, which is no deadline.
pub(crate) const NEVER: u64 = u64::MAX;
pub(crate) const OFF: u32 = u32::MAX;

/// A share of calls, held in parts per million so that rates are compared in
/// integers and `33.3 %` is exactly that.
///
/// ```
/// use halfopen::Rate;
/// assert_eq!(Rate::percent(50), Rate::ppm(500_000));
/// assert_eq!(Rate::ppm(333_000).to_string(), "33.3%");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u32);

impl Rate {
    /// All calls.
    pub const ONE: Rate = Rate(1_000_000);

    /// A rate in parts per million. Values over a million are kept as they
    /// are and refused by [`Config::new`].
    pub const fn ppm(parts: u32) -> Rate {
        Rate(parts)
    }

    /// A rate in whole percent. Values over a hundred are refused by
    /// [`Config::new`].
    pub const fn percent(percent: u32) -> Rate {
        Rate(percent.saturating_mul(10_000))
    }

    /// The rate in parts per million.
    pub const fn as_ppm(self) -> u32 {
        self.0
    }
}

/// Percent, with as many decimals as it needs and at most four.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::text::write_decimal(f, u64::from(self.0), 4)?;
        f.write_str("%")
    }
}

/// When a call is slow, and how many slow calls are too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slow {
    /// Trips when the share of slow calls is at least this.
    pub rate: Rate,
    /// A call is slow when it takes longer than this (`>`), in nanoseconds.
    pub over: u64,
}

/// How a half-open round is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Judge {
    /// By the failure and slow-call rates, when the last of the `probes`
    /// results is in and never earlier. Needs `fail`: without a rate for them,
    /// failed probes would close the breaker.
    Rate,
    /// Open at the first failed or slow probe; close when `probes` of them
    /// have passed.
    FirstFailure,
}

/// The settings of a breaker as a person writes them: plain public data, not
/// yet checked. [`Config::new`] checks them.
///
/// The defaults are those of resilience4j (`CircuitBreakerConfig`), but for
/// the lease: there a probe that never reports keeps the breaker half-open
/// for ever, here it fails after 30 s.
///
/// There will be more of them: end with `..Settings::default()`, as here.
///
/// ```
/// use halfopen::{Config, Settings, Window};
///
/// let settings = Settings {
///     window: Window::Time { length: 10_000_000_000, bucket: 1_000_000_000 },
///     min: 20,
///     ..Settings::default()
/// };
/// let config = Config::new(settings)?;
/// assert_eq!(config.to_string(), "window=10s/1s,min=20,fail=50%,open=60s,probes=10");
/// # Ok::<(), halfopen::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Which results the rates are taken over. Default: the last 100 calls.
    pub window: Window,
    /// Rates are not judged below this many results. Capped to the size of a
    /// count window. Default 100.
    pub min: u32,
    /// Trips when the share of failures is at least this; `None`: failures
    /// are not judged by rate, and probes by [`Judge::FirstFailure`] only.
    /// Default 50 %.
    pub fail: Option<Rate>,
    /// Trips on slow calls; `None`: no call is slow. Default 100 % over 60 s.
    pub slow: Option<Slow>,
    /// Trips at this many failures in a row, whatever the minimum, besides
    /// the rates. Default `None`.
    pub consecutive: Option<u32>,
    /// A call that took this long or longer (`>=`, nanoseconds) is a failure
    /// whatever it returned. Default `None`.
    ///
    /// **It interrupts nothing:** a result is judged when it comes, and a call
    /// that is dropped has none. What cuts calls off is a timeout of the caller,
    /// and that goes [inside the breaker](crate#timeouts-go-inside).
    pub timeout: Option<u64>,
    /// How long the breaker stays open the first time, in nanoseconds.
    /// Default 60 s.
    pub open: u64,
    /// What the wait is multiplied by at each re-opening, in thousandths.
    /// Default 1000: the wait stays the same.
    pub backoff: u32,
    /// The longest wait before jitter, in nanoseconds. Default `None`.
    pub max_open: Option<u64>,
    /// How the wait is spread. Default none.
    pub jitter: Jitter,
    /// Where the jitter comes from: the same seed gives the same waits.
    /// Default 0.
    pub seed: u64,
    /// How many probes a half-open round admits and judges. Default 10.
    pub probes: u32,
    /// How a half-open round is decided. Default by rate.
    pub judge: Judge,
    /// How long a probe may stay unreported, in nanoseconds, before it
    /// counts as failed. `None`: for ever, and a probe that never reports
    /// then blocks its round for ever. Default 30 s.
    pub lease: Option<u64>,
    /// Whether the breaker goes from open to half-open when the wait is over;
    /// otherwise at the first call after it. Default no.
    ///
    /// It is done when somebody tells the time: a host does so at
    /// [`next_deadline`](crate::Machine::next_deadline), with
    /// [`Breaker::advance`](crate::Breaker::advance), as there is no thread
    /// that waits.
    pub auto: bool,
    /// How the share of admitted calls grows after the probes have passed.
    /// Default off: everything is admitted at once.
    pub ramp: Ramp,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            window: Window::Calls(100),
            min: 100,
            fail: Some(Rate::percent(50)),
            slow: Some(Slow {
                rate: Rate::ONE,
                over: 60 * S,
            }),
            consecutive: None,
            timeout: None,
            open: 60 * S,
            backoff: 1_000,
            max_open: None,
            jitter: Jitter::None,
            seed: 0,
            probes: 10,
            judge: Judge::Rate,
            lease: Some(30 * S),
            auto: false,
            ramp: Ramp::Off,
        }
    }
}

/// Checked settings, in the form the machine uses.
///
/// Made from [`Settings`] by [`Config::new`], or parsed from the settings
/// text (see [`crate::text`]); printed in the canonical form of that text.
/// Equal configurations print equally and the other way round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    // Durations that are `NEVER` and counts that are `OFF` are switched off;
    // both make the comparison they stand in come out false without a branch.
    pub(crate) window: Window,
    /// Slow is `duration > slow_over`.
    pub(crate) slow_over: u64,
    /// Cut is `duration > cut_over`: the timeout less one nanosecond.
    pub(crate) cut_over: u64,
    pub(crate) min: u32,
    pub(crate) fail: u32,
    pub(crate) slow: u32,
    pub(crate) consecutive: u32,
    pub(crate) probes: u32,
    pub(crate) judge: Judge,
    pub(crate) auto: bool,
    pub(crate) lease: u64,
    pub(crate) backoff: Backoff,
    pub(crate) ramp: Option<Box<Plan>>,
}

impl Config {
    /// Checks settings.
    ///
    /// # Errors
    ///
    /// The first setting, in the order of the settings text, that is out of
    /// its range or does not go with another; the error names it.
    pub fn new(settings: Settings) -> Result<Config, ConfigError> {
        let s = settings;
        check_window(s.window)?;
        check::count("min", s.min, 1, MAX_MIN)?;
        if let Some(rate) = s.fail {
            check::share("fail", rate)?;
        }
        if let Some(slow) = s.slow {
            check::share("slow", slow.rate)?;
            check::duration("slow", slow.over)?;
        }
        if let Some(n) = s.consecutive {
            check::count("consecutive", n, 1, MAX_MIN)?;
        }
        if s.fail.is_none() && s.slow.is_none() && s.consecutive.is_none() {
            return Err(check::conflict(
                "fail",
                "off",
                "on, or slow or consecutive on: one must be able to trip",
            ));
        }
        if let Some(timeout) = s.timeout {
            check::duration("timeout", timeout)?;
        }
        check::duration("open", s.open)?;
        if s.backoff < 1_000 || s.backoff > backoff::MAX_MULTIPLIER {
            let got = crate::text::multiplier(s.backoff);
            return Err(check::out_of_range("backoff", got, "1x to 100x"));
        }
        if let Some(max) = s.max_open {
            check::duration("max-open", max)?;
            if max < s.open {
                let got = crate::text::duration(max);
                return Err(check::conflict(
                    "max-open",
                    &got,
                    "off, or at least the value of open",
                ));
            }
        }
        check::count("probes", s.probes, 1, MAX_PROBES)?;
        if s.judge == Judge::Rate && s.fail.is_none() {
            return Err(check::conflict(
                "judge",
                "rate",
                "first-failure while fail is off: judge=rate, the default, has no rate then by which failed \
                 probes would be too many",
            ));
        }
        if let Some(lease) = s.lease {
            check::duration("lease", lease)?;
        }
        check_ramp(&s.ramp)?;

        let min = match s.window {
            Window::Calls(size) => s.min.min(size),
            Window::Time { .. } => s.min,
        };
        Ok(Config {
            window: s.window,
            slow_over: s.slow.map_or(NEVER, |it| it.over),
            cut_over: s.timeout.map_or(NEVER, |it| it - 1),
            min,
            fail: s.fail.map_or(OFF, Rate::as_ppm),
            slow: s.slow.map_or(OFF, |it| it.rate.as_ppm()),
            consecutive: s.consecutive.unwrap_or(OFF),
            probes: s.probes,
            judge: s.judge,
            auto: s.auto,
            lease: s.lease.unwrap_or(NEVER),
            backoff: Backoff {
                first: s.open,
                max: s.max_open.unwrap_or(NEVER),
                seed: s.seed,
                multiplier: s.backoff,
                jitter: s.jitter,
            },
            ramp: Plan::new(s.ramp).map(Box::new),
        })
    }

    /// The settings this was made from, the minimum capped as it is used.
    pub fn settings(&self) -> Settings {
        let on = |it: u64| (it != NEVER).then_some(it);
        Settings {
            window: self.window,
            min: self.min,
            fail: (self.fail != OFF).then_some(Rate(self.fail)),
            slow: (self.slow != OFF).then_some(Slow {
                rate: Rate(self.slow),
                over: self.slow_over,
            }),
            consecutive: (self.consecutive != OFF).then_some(self.consecutive),
            timeout: on(self.cut_over).map(|it| it + 1),
            open: self.backoff.first,
            backoff: self.backoff.multiplier,
            max_open: on(self.backoff.max),
            jitter: self.backoff.jitter,
            seed: self.backoff.seed,
            probes: self.probes,
            judge: self.judge,
            lease: on(self.lease),
            auto: self.auto,
            ramp: self.ramp.as_deref().map_or(Ramp::Off, Plan::ramp),
        }
    }

    /// The same configuration with the name of an instance hashed into the
    /// seed, so that the waits of many instances spread and each can still be
    /// replayed from its name. The hash is FNV-1a, 64 bits: it stays the same
    /// over versions and platforms. O(length of the name).
    #[must_use]
    pub fn for_instance(mut self, name: &str) -> Config {
        self.backoff.seed ^= backoff::fnv1a(name.as_bytes());
        self
    }
}

impl Default for Config {
    fn default() -> Config {
        // The defaults are in range; `defaults_are_valid` holds that.
        match Config::new(Settings::default()) {
            Ok(config) => config,
            Err(_) => unreachable!("the default settings are valid"),
        }
    }
}

impl TryFrom<Settings> for Config {
    type Error = ConfigError;

    fn try_from(settings: Settings) -> Result<Config, ConfigError> {
        Config::new(settings)
    }
}

/// What is wrong with a configuration: which setting, what it was given and
/// what it takes. Its `Display` is one sentence.
///
/// ```
/// let err = "probes=0".parse::<halfopen::Config>().unwrap_err();
/// assert_eq!(err.key(), "probes");
/// assert_eq!(err.to_string(), "probes cannot be `0`: allowed is 1 to 10000");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(Box<Parts>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    kind: ConfigErrorKind,
    key: String,
    got: String,
    allowed: String,
}

/// The kinds of [`ConfigError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConfigErrorKind {
    /// No setting has this name.
    UnknownKey,
    /// The setting is written twice.
    Repeated,
    /// The value cannot be read at all: no number, no unit, no such word.
    Malformed,
    /// The value can be read but is too small or too large.
    OutOfRange,
    /// The value does not go with that of another setting.
    Conflict,
}

impl ConfigError {
    /// What sort of mistake it is.
    pub fn kind(&self) -> ConfigErrorKind {
        self.0.kind
    }

    /// The setting, by its name in the settings text; for an unknown key,
    /// that key.
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// The value that was given, as text.
    pub fn got(&self) -> &str {
        &self.0.got
    }

    /// What is allowed instead.
    pub fn allowed(&self) -> &str {
        &self.0.allowed
    }

    pub(crate) fn new(kind: ConfigErrorKind, key: &str, got: &str, allowed: &str) -> ConfigError {
        ConfigError(Box::new(Parts {
            kind,
            key: key.to_string(),
            got: got.to_string(),
            allowed: allowed.to_string(),
        }))
    }

    /// The same error for the value as somebody wrote it.
    pub(crate) fn with_got(mut self, got: &str) -> ConfigError {
        self.0.got = got.to_string();
        self
    }

    /// The same error where more is allowed.
    pub(crate) fn or_allowed(mut self, more: &str) -> ConfigError {
        self.0.allowed.push_str(more);
        self
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts {
            kind,
            key,
            got,
            allowed,
        } = &*self.0;
        match kind {
            ConfigErrorKind::UnknownKey => {
                write!(f, "there is no setting `{key}`: allowed is {allowed}")
            }
            ConfigErrorKind::Repeated => write!(
                f,
                "{key} is set twice, again to `{got}`: allowed is {allowed}"
            ),
            ConfigErrorKind::Malformed if got.is_empty() => write!(
                f,
                "{key} has no value, written {key}=... without spaces around =: allowed is {allowed}"
            ),
            ConfigErrorKind::Malformed => {
                write!(f, "{key} cannot be read from `{got}`: allowed is {allowed}")
            }
            _ => write!(f, "{key} cannot be `{got}`: allowed is {allowed}"),
        }
    }
}

impl core::error::Error for ConfigError {}

fn check_window(window: Window) -> Result<(), ConfigError> {
    match window {
        Window::Calls(size) => check::count("window", size, 1, MAX_WINDOW_CALLS),
        Window::Time { length, bucket } => {
            let refused = |allowed| {
                let got = crate::text::window(window);
                Err(check::out_of_range("window", got, allowed))
            };
            if !(1..=MAX_DURATION).contains(&length) {
                return refused("a length of 1ns to 365 days (31536000s)");
            }
            if !(1..=MAX_DURATION).contains(&bucket) {
                return refused("a bucket of 1ns to 365 days (31536000s)");
            }
            if length % bucket != 0 || length / bucket > u64::from(MAX_BUCKETS) {
                return refused(
                    "1 to 3600 whole buckets; one is 1s if none is named, as in 500ms/100ms",
                );
            }
            Ok(())
        }
    }
}

fn check_ramp(ramp: &Ramp) -> Result<(), ConfigError> {
    match ramp {
        Ramp::Off => Ok(()),
        Ramp::Curve { over } => check::duration("ramp", *over),
        Ramp::Steps { shares, hold } => {
            check::duration("ramp", *hold)?;
            if shares.is_empty() || shares.len() > MAX_RAMP_STEPS {
                let got = alloc::format!("{} steps", shares.len());
                return Err(check::out_of_range("ramp", got, "1 to 16 steps"));
            }
            for &share in shares {
                check::share("ramp", share)?;
            }
            if !shares.windows(2).all(|pair| pair[0] < pair[1]) {
                let shares: Vec<String> = shares.iter().map(Rate::to_string).collect();
                return Err(check::out_of_range(
                    "ramp",
                    shares.join("/"),
                    "shares that grow from step to step",
                ));
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_ends_with_time() {
        for now in [i64::MIN, -1, 0, 1, i64::MAX] {
            assert_eq!(now.saturating_add_unsigned(NEVER), i64::MAX);
        }
    }
}
