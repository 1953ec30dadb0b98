//! How somebody calls, as TOML.
//!
//! Owns the keys that `[[client]]` and `[service.calls]` share, which are those of [`Policy`]. Invariant: what can be
//! read is taken by `halfopen`. O(keys). Pinned by `tests/scenario.rs`.

use halfopen::companions::{BudgetSettings, RetrySettings, ThrottleSettings};
use halfopen::{Config, Jitter, presets};
use herdscope_reader::format;

use super::{HOUR, SECOND, one_of};
use crate::keys::{Keys, Place, Result};
use crate::scenario::{Policy, Retries};

/// How somebody calls.
pub(super) fn policy(keys: &mut Keys<'_>) -> Result<Policy> {
    let breaker = |it: Place<'_>| -> Result<Config> {
        let config = presets::read(it.text()?);
        config.map_err(|error| it.wrong(format!("settings of a breaker: {error}")))
    };
    Ok(Policy {
        timeout: keys.get("timeout").map(|it| it.some_time()).transpose()?,
        breaker: keys.get("breaker").map(breaker).transpose()?,
        retries: keys.get("retry").map(retries).transpose()?,
        max_concurrent: keys
            .get("bulkhead")
            .map(|it| it.count(1..=1_000_000))
            .transpose()?,
        throttle: keys.get("throttle").map(throttle).transpose()?,
        cancel: keys.get("cancel").map_or(Ok(false), |it| it.yes())?,
    })
}

fn retries(place: Place<'_>) -> Result<Retries> {
    let mut keys = place.table()?;
    let usual = RetrySettings::default();
    let jitter = |it: Place<'_>| -> Result<Jitter> {
        Ok([Jitter::None, Jitter::Equal, Jitter::Full][one_of(&it, &["none", "equal", "full"])?])
    };
    let budget = |it: Place<'_>| -> Result<BudgetSettings> {
        let all = [
            BudgetSettings::AWS,
            BudgetSettings::GRPC,
            BudgetSettings::FINAGLE,
            BudgetSettings::ENVOY,
        ];
        Ok(all[one_of(&it, &["aws", "grpc", "finagle", "envoy"])?])
    };
    let (base, cap) = two_times(
        ("base", keys.get("base"), usual.base),
        ("cap", keys.get("cap"), usual.cap),
        0,
    )?;
    let settings = RetrySettings {
        attempts: keys
            .get("attempts")
            .map_or(Ok(usual.attempts), |it| it.count(2..=100))?,
        base,
        cap,
        jitter: keys.get("jitter").map_or(Ok(usual.jitter), jitter)?,
        ..usual
    };
    let budget = keys.get("budget").map(budget).transpose()?;
    keys.finish()?;
    Ok(Retries { settings, budget })
}

fn throttle(place: Place<'_>) -> Result<ThrottleSettings> {
    let mut keys = place.table()?;
    let usual = ThrottleSettings::default();
    let k = keys
        .get("k")
        .map(|it| it.number(1.0..=1_000.0))
        .transpose()?;
    let window = |it: Place<'_>| match it.time()? {
        // It is counted in buckets of a second.
        time if (SECOND..=HOUR).contains(&time) && time.is_multiple_of(SECOND) => Ok(time),
        _ => Err(it.wrong("a time of whole seconds, from \"1s\" to \"1h\"")),
    };
    let settings = ThrottleSettings {
        k: k.map_or(usual.k, |it| (it * 1_000.0) as u32),
        window: keys.get("window").map_or(Ok(usual.window), window)?,
        ..usual
    };
    keys.finish()?;
    Ok(settings)
}

/// Two times of which the second is as long as the first and `by` at least, each with its key and what it usually is.
pub(super) fn two_times(
    (short, at_short, usually_short): (&str, Option<Place<'_>>, u64),
    (long, at_long, usually_long): (&str, Option<Place<'_>>, u64),
    by: u64,
) -> Result<(u64, u64)> {
    let time = |at: &Option<Place<'_>>, usually| at.as_ref().map_or(Ok(usually), Place::some_time);
    let times = (
        time(&at_short, usually_short)?,
        time(&at_long, usually_long)?,
    );
    let off = times.0 + by > times.1;
    match at_long.or(at_short).filter(|_| off) {
        None => Ok(times),
        Some(place) => Err(place.wrong(format!(
            "{long} to be {} than {short}: here they are {} and {}",
            if by > 0 { "longer" } else { "no shorter" },
            format::duration(times.1),
            format::duration(times.0)
        ))),
    }
}
