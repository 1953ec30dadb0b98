//! Outlier ejection: leave out one bad host of many.
//!
//! A breaker around a whole service cannot tell one bad host from a bad
//! service, and opens for all or for none. This watches hosts one by one,
//! leaves out those that stand out, and never more than a share of them.
//!
//! Owns which hosts are ejected and until when. A host is ejected
//!
//! * at once, after so many failures in a row;
//! * at the end of an interval, when its success rate was below
//!   `mean - factor * stdev` of all hosts with enough requests;
//! * at the end of an interval, when it failed at least so large a share.
//!
//! It stays out for `min(base * n, max)` and a jitter, where `n` counts its
//! ejections and falls by one for each interval in which it stayed in; it
//! comes back at the end of an interval. Invariants: the share of hosts that
//! are ejected never exceeds `max_ejected` (but for `always_eject_one`);
//! intervals end at their due time, even when noticed late. Cost: a result is
//! O(1); the end of an interval is one pass over the hosts, and any number of
//! intervals that were slept through is one more. 56 bytes a host. The rates
//! are compared in integers: `(sum - n*x)^2 > factor^2 * (n * sum of squares -
//! sum^2)`, with success rates in parts per million, rounded down.
//!
//! Source: Envoy, `outlier_detection.proto` and its detector, with these
//! differences: a host that was ejected for one reason is not ejected for
//! another at the same time; hosts are looked at in their order, which
//! decides who is ejected when not all may be. Pinned by
//! `tests/companions/` and `tests/companions_models.rs`.

use alloc::boxed::Box;
use alloc::vec;

use super::{Latest, check};
use crate::backoff::{scale, splitmix64};
use crate::config::{ConfigError, Rate};
use crate::machine::{Outcome, PPM, reached};

/// The most hosts.
pub const MAX_HOSTS: u32 = 10_000;

/// Ejection by comparison with the other hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuccessRate {
    /// The factor of the standard deviation, in thousandths, 1 to 100000.
    /// Envoy: 1900.
    pub stdev_factor: u32,
    /// Hosts with enough requests below which nothing is compared. Envoy: 5.
    pub minimum_hosts: u32,
    /// Requests in an interval below which a host is not compared. Envoy: 100.
    pub request_volume: u32,
}

/// Ejection by share of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailurePercentage {
    /// Ejected when at least this share failed. Envoy: 85 %.
    pub threshold: Rate,
    /// Hosts with enough requests below which none is judged. Envoy: 5.
    pub minimum_hosts: u32,
    /// Requests in an interval below which a host is not judged. Envoy: 50.
    pub request_volume: u32,
}

/// Ejection as a person writes it. The defaults are Envoy's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutlierSettings {
    /// Failures in a row; `None`: not judged. Default 5.
    pub consecutive: Option<u32>,
    /// By comparison; `None`: not judged. Default 1.9 standard deviations, 5
    /// hosts, 100 requests.
    pub success_rate: Option<SuccessRate>,
    /// By share of failures; `None`: not judged. Default `None`, as Envoy
    /// enforces 0 % of these.
    pub failure_percentage: Option<FailurePercentage>,
    /// The length of an interval, in nanoseconds. Default 10 s.
    pub interval: u64,
    /// How long the first ejection lasts, in nanoseconds. Default 30 s.
    pub base_ejection: u64,
    /// How long an ejection lasts at most, before jitter, in nanoseconds.
    /// Default 300 s.
    pub max_ejection: u64,
    /// The most jitter that is added, in nanoseconds. Default 0.
    pub jitter: u64,
    /// The largest share of hosts that is ejected. Default 10 %.
    pub max_ejected: Rate,
    /// Whether one host can be ejected even if that exceeds the share: with
    /// fewer than ten hosts and 10 %, none can otherwise. Default no.
    pub always_eject_one: bool,
    /// Where the jitter comes from. Default 0.
    pub seed: u64,
}

impl Default for OutlierSettings {
    fn default() -> OutlierSettings {
        OutlierSettings {
            consecutive: Some(5),
            success_rate: Some(SuccessRate {
                stdev_factor: 1_900,
                minimum_hosts: 5,
                request_volume: 100,
            }),
            failure_percentage: None,
            interval: 10_000_000_000,
            base_ejection: 30_000_000_000,
            max_ejection: 300_000_000_000,
            jitter: 0,
            max_ejected: Rate::percent(10),
            always_eject_one: false,
            seed: 0,
        }
    }
}

/// Why a host was ejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EjectionCause {
    /// Failures in a row.
    Consecutive,
    /// Its success rate stood out.
    SuccessRate,
    /// Its share of failures was too large.
    FailurePercentage,
}

/// A host is ejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ejection {
    /// Since when.
    pub at: i64,
    /// Until when at least; it comes back at the end of the interval after.
    pub until: i64,
    /// Why.
    pub cause: EjectionCause,
}

#[derive(Clone, Copy, Debug)]
struct Host {
    ejected: Option<Ejection>,
    /// When it last came back.
    returned: Option<i64>,
    /// Ejections, less the intervals it stayed in since.
    times: u32,
    streak: u32,
    /// Of the current interval.
    calls: u32,
    failures: u32,
}

impl Host {
    const NEW: Host = Host {
        ejected: None,
        returned: None,
        times: 0,
        streak: 0,
        calls: 0,
        failures: 0,
    };

    /// In parts per million, rounded down. There is a call.
    fn success_ppm(&self) -> u64 {
        u64::from(self.calls - self.failures) * PPM / u64::from(self.calls)
    }

    fn comes_back(&mut self, at: i64) {
        self.ejected = None;
        self.returned = Some(at);
        self.streak = 0;
    }
}

/// Watches the hosts of one service, which are numbered from 0.
///
/// ```
/// use halfopen::companions::{OutlierDetector, OutlierSettings};
/// use halfopen::Outcome;
///
/// const S: i64 = 1_000_000_000;
/// let mut hosts = OutlierDetector::new(OutlierSettings::default(), 10)?;
/// hosts.advance(0); // intervals end at 10 s, 20 s, ...
/// for _ in 0..4 {
///     assert_eq!(hosts.settle(S, 3, Outcome::Failure), None);
/// }
/// let ejection = hosts.settle(S, 3, Outcome::Failure).expect("the fifth in a row");
/// assert_eq!(ejection.until, 31 * S);
/// assert!(hosts.is_ejected(2 * S, 3));
/// // Back at the first end of an interval from 31 s on.
/// assert!(hosts.is_ejected(39 * S, 3) && !hosts.is_ejected(40 * S, 3));
/// # Ok::<(), halfopen::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct OutlierDetector {
    now: Latest,
    settings: OutlierSettings,
    hosts: Box<[Host]>,
    /// The end of the current interval; the first begins with the first time
    /// that is passed in.
    interval_end: Option<i64>,
    ejected: u32,
    ejections: u64,
    refused: u64,
}

impl OutlierDetector {
    /// Checks settings, for so many hosts.
    ///
    /// # Errors
    ///
    /// The first setting that is out of its range, no hosts or more than
    /// [`MAX_HOSTS`], a longest ejection below the first, or nothing to judge
    /// by.
    pub fn new(settings: OutlierSettings, hosts: u32) -> Result<OutlierDetector, ConfigError> {
        let s = settings;
        check::count("hosts", hosts, 1, MAX_HOSTS)?;
        let max = check::MAX_COUNT;
        if let Some(n) = s.consecutive {
            check::count("consecutive", n, 1, max)?;
        }
        if let Some(it) = s.success_rate {
            check::count("success_rate.stdev_factor", it.stdev_factor, 1, 100_000)?;
            check::count("success_rate.minimum_hosts", it.minimum_hosts, 1, MAX_HOSTS)?;
            check::count("success_rate.request_volume", it.request_volume, 1, max)?;
        }
        if let Some(it) = s.failure_percentage {
            check::share("failure_percentage.threshold", it.threshold)?;
            let (hosts, volume) = (it.minimum_hosts, it.request_volume);
            check::count("failure_percentage.minimum_hosts", hosts, 1, MAX_HOSTS)?;
            check::count("failure_percentage.request_volume", volume, 1, max)?;
        }
        if s.consecutive.is_none() && s.success_rate.is_none() && s.failure_percentage.is_none() {
            let allowed = "on, or success_rate or failure_percentage on: one must be able to eject";
            return Err(check::conflict("consecutive", "off", allowed));
        }
        check::duration("interval", s.interval)?;
        check::duration("base_ejection", s.base_ejection)?;
        check::duration("max_ejection", s.max_ejection)?;
        if s.max_ejection < s.base_ejection {
            let got = crate::text::duration(s.max_ejection);
            let allowed = "at least the value of base_ejection";
            return Err(check::conflict("max_ejection", got, allowed));
        }
        check::span("jitter", s.jitter)?;
        check::share("max_ejected", s.max_ejected)?;
        Ok(OutlierDetector {
            now: Latest::NONE,
            settings,
            hosts: vec![Host::NEW; hosts as usize].into_boxed_slice(),
            interval_end: None,
            ejected: 0,
            ejections: 0,
            refused: 0,
        })
    }

    /// Whether to leave `host` out. A host that does not exist is left out.
    pub fn is_ejected(&mut self, now: i64, host: u32) -> bool {
        self.see(now);
        let host = self.hosts.get(host as usize);
        host.is_none_or(|it| it.ejected.is_some())
    }

    /// How a call to `host` went; the ejection if that was its last straw.
    pub fn settle(&mut self, now: i64, host: u32, outcome: Outcome) -> Option<Ejection> {
        let now = self.see(now);
        let nth = host as usize;
        let it = self.hosts.get_mut(nth)?;
        let failed = match outcome {
            Outcome::Success => false,
            Outcome::Failure => true,
            Outcome::Ignored => return None,
        };
        if it.calls < u32::MAX {
            it.calls += 1;
            it.failures += u32::from(failed);
        }
        it.streak = if failed {
            it.streak.saturating_add(1)
        } else {
            0
        };
        if it.streak < self.settings.consecutive? {
            return None;
        }
        // Counted anew even where it is not ejected, as in Envoy.
        it.streak = 0;
        self.eject(nth, now, EjectionCause::Consecutive)
    }

    /// Lets the intervals end that are over by now. The other methods do so
    /// too.
    pub fn advance(&mut self, now: i64) {
        self.see(now);
    }

    /// When the current interval ends. `None` before the first time.
    pub fn next_deadline(&self) -> Option<i64> {
        self.interval_end.filter(|&end| end != i64::MAX)
    }

    /// The ejection of a host that is out, as of the last time passed in.
    pub fn ejection(&self, host: u32) -> Option<Ejection> {
        self.hosts.get(host as usize)?.ejected
    }

    /// How many hosts are out, as of the last time passed in.
    pub fn ejected(&self) -> u32 {
        self.ejected
    }

    /// Ejections. Since construction.
    pub fn ejections(&self) -> u64 {
        self.ejections
    }

    /// Outliers that stayed in because too many hosts were out. Since
    /// construction.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn see(&mut self, now: i64) -> i64 {
        let now = self.now.see(now);
        let interval = self.settings.interval;
        match self.interval_end {
            None => self.interval_end = Some(now.saturating_add_unsigned(interval)),
            Some(end) if now >= end && end != i64::MAX => {
                self.end_interval(end);
                // Nothing has happened in those that follow.
                let missed = now.abs_diff(end) / interval;
                self.end_empty_intervals(end, missed);
                let last = i128::from(end) + i128::from(missed + 1) * i128::from(interval);
                self.interval_end = Some(i64::try_from(last).unwrap_or(i64::MAX));
            }
            Some(_) => {}
        }
        now
    }

    fn end_interval(&mut self, at: i64) {
        for host in &mut self.hosts {
            if host.ejected.is_some_and(|it| it.until <= at) {
                host.comes_back(at);
                self.ejected -= 1;
            }
        }
        self.compare(at);
        self.judge_failures(at);
        let interval = self.settings.interval;
        for host in &mut self.hosts {
            if host.ejected.is_none() && host.returned.is_some_and(|it| at.abs_diff(it) >= interval)
            {
                host.times = host.times.saturating_sub(1);
            }
            (host.calls, host.failures) = (0, 0);
        }
    }

    /// The `missed` intervals after `end`, in which no call was made: hosts
    /// come back, and their ejections are forgotten.
    fn end_empty_intervals(&mut self, end: i64, missed: u64) {
        if missed == 0 {
            return;
        }
        let interval = self.settings.interval;
        for host in &mut self.hosts {
            let mut good = missed;
            if let Some(ejection) = host.ejected {
                // In the first interval whose end is not before `until`.
                let wait = ejection.until.max(end).abs_diff(end);
                let nth = wait.div_ceil(interval).max(1);
                if nth > missed {
                    continue;
                }
                good = missed - nth;
                // At most the current time.
                let at = i128::from(end) + i128::from(nth) * i128::from(interval);
                host.comes_back(i64::try_from(at).unwrap_or(i64::MAX));
                self.ejected -= 1;
            }
            let good = u32::try_from(good).unwrap_or(u32::MAX);
            host.times = host.times.saturating_sub(good);
        }
    }

    fn compare(&mut self, at: i64) {
        let Some(rule) = self.settings.success_rate else {
            return;
        };
        let judged = |it: &Host| it.ejected.is_none() && it.calls >= rule.request_volume;
        let (mut n, mut sum, mut squares) = (0u128, 0u128, 0u128);
        for host in self.hosts.iter().filter(|it| judged(it)) {
            let x = u128::from(host.success_ppm());
            n += 1;
            sum += x;
            squares += x * x;
        }
        if n < u128::from(rule.minimum_hosts) {
            return;
        }
        // n^2 times the variance; with at most 10^4 hosts below 10^20, and
        // what is compared below 10^30.
        let spread = n * squares - sum * sum;
        let factor = u128::from(rule.stdev_factor);
        for nth in 0..self.hosts.len() {
            let host = self.hosts[nth];
            if !judged(&host) {
                continue;
            }
            let below = sum.saturating_sub(n * u128::from(host.success_ppm()));
            if below * below * 1_000_000 > factor * factor * spread {
                self.eject(nth, at, EjectionCause::SuccessRate);
            }
        }
    }

    fn judge_failures(&mut self, at: i64) {
        let Some(rule) = self.settings.failure_percentage else {
            return;
        };
        let judged = |it: &Host| it.ejected.is_none() && it.calls >= rule.request_volume;
        let n = self.hosts.iter().filter(|it| judged(it)).count();
        if n < rule.minimum_hosts as usize {
            return;
        }
        for nth in 0..self.hosts.len() {
            let host = self.hosts[nth];
            if judged(&host) && reached(host.failures, host.calls, rule.threshold.as_ppm()) {
                self.eject(nth, at, EjectionCause::FailurePercentage);
            }
        }
    }

    fn eject(&mut self, nth: usize, at: i64, cause: EjectionCause) -> Option<Ejection> {
        let s = &self.settings;
        let hosts = self.hosts.len() as u64;
        let host = self.hosts.get_mut(nth)?;
        if host.ejected.is_some() {
            return None;
        }
        let share = (u64::from(self.ejected) + 1) * PPM;
        let allowed = share <= u64::from(s.max_ejected.as_ppm()) * hosts;
        let only = s.always_eject_one && self.ejected == 0;
        if !allowed && !only {
            self.refused = self.refused.saturating_add(1);
            return None;
        }
        // As in Envoy, the count stops one past the longest ejection.
        let lasts = s.base_ejection.saturating_mul(u64::from(host.times));
        if lasts < s.max_ejection + s.base_ejection {
            host.times = host.times.saturating_add(1);
        }
        let lasts = s.base_ejection.saturating_mul(u64::from(host.times));
        let lasts = lasts.min(s.max_ejection) + spread(s, self.ejections);
        let ejection = Ejection {
            at,
            until: at.saturating_add_unsigned(lasts),
            cause,
        };
        host.ejected = Some(ejection);
        self.ejected += 1;
        self.ejections = self.ejections.wrapping_add(1);
        Some(ejection)
    }
}

/// The jitter of the `nth` ejection: uniform in `0..=jitter`.
fn spread(settings: &OutlierSettings, nth: u64) -> u64 {
    // Apart from other sequences of the same seed.
    let seed = splitmix64(settings.seed, u64::MAX);
    scale(splitmix64(seed, nth), settings.jitter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_as_small_as_it_says() {
        assert_eq!(size_of::<Host>(), 56);
    }
}
