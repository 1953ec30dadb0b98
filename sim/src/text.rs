//! Scenarios as TOML.
//!
//! Owns the keys, which are those of the structs in `scenario.rs`, and their units: times as `"500ms"` or
//! `"1m30s"`, rates as `"200/s"`, shares as `"50%"`. Invariant: what can be parsed can be run; whatever else is
//! an error that says line, key, what was got and what is expected. O(length of the text). Pinned by
//! `tests/scenario.rs`, which also reads all scenarios that come with the project.

use halfopen::companions::{
    BudgetSettings, Priority, RetrySettings, ShedderSettings, ThrottleSettings,
};
use halfopen::{Config, Jitter};
use herdscope_reader::format;

use crate::autoscaler::{Hpa, Metric};
use crate::keys::{Keys, Place, Result};
use crate::scenario::{
    Act, Cold, Demand, Fault, Group, Hand, Point, Policy, Quota, Retries, STARTS_AT, Scenario,
    Service, Shedding, Spread,
};

/// More instances, pods or workers than this are no small model.
const MANY: u32 = 10_000;

/// Of each second of each service there is a sample.
const MANY_SAMPLES: u64 = 40_000_000;

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3_600 * SECOND;

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    ///
    /// The first key that cannot be understood.
    pub fn from_toml(text: &str) -> Result<Scenario> {
        let mut keys = Keys::parse(text)?;
        let name = keys.need("name", "a text")?.text()?.to_owned();
        let lasts = keys.need("duration", "a time such as \"10m\"")?;
        let duration = lasts.time()?;
        let network = keys.get("network").map_or(Ok(0), |it| it.time())?;
        let (groups, services) = (keys.tables("client")?, keys.tables("service")?);
        let (faults, hands) = (keys.tables("fault")?, keys.tables("hand")?);
        keys.finish()?;
        let most = MANY_SAMPLES / services.len().max(1) as u64;
        if duration / SECOND > most {
            let most = format::duration(most * SECOND);
            return Err(lasts.wrong(format!("a time up to {most} with so many services")));
        }

        let mut named: Vec<(Keys<'_>, String)> = Vec::new();
        for mut service in services {
            let name = service.need("name", "a text")?.text()?.to_owned();
            named.push((service, name));
        }
        let names: Vec<String> = named.iter().map(|it| it.1.clone()).collect();
        let mut scenario = Scenario {
            name,
            starts_at: STARTS_AT,
            duration,
            network,
            groups: Vec::new(),
            services: Vec::new(),
            faults: Vec::new(),
            hands: Vec::new(),
        };
        for (at, (keys, name)) in named.into_iter().enumerate() {
            // Services call those that stand below them, so that calls never go round in circles.
            scenario.services.push(service(keys, name, &names, at)?);
        }
        for keys in groups {
            let group = group(keys, &names, &scenario.services)?;
            scenario.groups.push(group);
        }
        let groups: Vec<String> = scenario.groups.iter().map(|it| it.name.clone()).collect();
        for keys in faults {
            scenario.faults.push(fault(keys, &names)?);
        }
        for keys in hands {
            scenario.hands.push(hand(keys, &groups, &names)?);
        }
        Ok(scenario)
    }
}

fn group(mut keys: Keys<'_>, names: &[String], services: &[Service]) -> Result<Group> {
    let calls = one_of(&keys.need("calls", "the name of a service")?, names)?;
    let needs = |it: Place<'_>| -> Result<usize> {
        let next = |&at: &usize| services[at].calls.as_ref().map(|it| it.0);
        let reached: Vec<usize> = std::iter::successors(Some(calls), next).collect();
        let names: Vec<&String> = reached.iter().map(|&it| &names[it]).collect();
        Ok(reached[one_of(&it, &names)?])
    };
    let group = Group {
        name: keys.need("name", "a text")?.text()?.to_owned(),
        instances: keys
            .get("instances")
            .map_or(Ok(1), |it| it.count(1..=MANY))?,
        demand: demand(keys.need("rate", "a rate such as \"200/s\"")?)?,
        calls,
        needs: keys.get("needs").map(needs).transpose()?,
        policy: policy(&mut keys)?,
        priority: keys.get("priority").map_or(Ok(Priority::Critical), |it| {
            Ok([
                Priority::CriticalPlus,
                Priority::Critical,
                Priority::SheddablePlus,
                Priority::Sheddable,
            ][one_of(
                &it,
                &["critical-plus", "critical", "sheddable-plus", "sheddable"],
            )?])
        })?,
    };
    keys.finish()?;
    Ok(group)
}

/// A rate, or a list of `[time, rate]` and `[time, rate, "ramp"]`.
fn demand(place: Place<'_>) -> Result<Demand> {
    if !place.is_list() {
        return Ok(Demand::steady(place.rate()?));
    }
    const POINTS: &str =
        "points such as [\"0s\", \"20/s\"] or [\"1m\", \"50/s\", \"ramp\"], by time";
    let wrong = place.wrong(POINTS);
    let mut points: Vec<Point> = Vec::new();
    for point in place.list()? {
        let off = point.wrong(POINTS);
        let values = point.list()?;
        let [at, rate, how @ ..] = &values[..] else {
            return Err(off);
        };
        let ramp = match how {
            [] => false,
            [how] if how.text()? == "ramp" => true,
            _ => return Err(off),
        };
        let point = Point {
            at: at.time()?,
            rate: rate.rate()?,
            ramp,
        };
        if points.last().is_some_and(|it| it.at >= point.at) {
            return Err(off);
        }
        points.push(point);
    }
    match points.is_empty() {
        true => Err(wrong),
        false => Ok(Demand(points)),
    }
}

fn policy(keys: &mut Keys<'_>) -> Result<Policy> {
    let breaker = |it: Place<'_>| -> Result<Config> {
        let config = it.text()?.parse::<Config>();
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

fn service(mut keys: Keys<'_>, name: String, services: &[String], at: usize) -> Result<Service> {
    let below = &services[at + 1..];
    let calls = |it: Place<'_>| -> Result<(usize, Policy)> {
        let mut keys = it.table()?;
        let called = one_of(&keys.need("service", "the name of a service")?, below)?;
        let policy = policy(&mut keys)?;
        keys.finish()?;
        Ok((at + 1 + called, policy))
    };
    let service = Service {
        proxy: keys
            .get("proxy")
            .map(|it| it.text().map(str::to_owned))
            .transpose()?,
        pods: keys.get("pods").map_or(Ok(1), |it| it.count(0..=MANY))?,
        workers: keys.get("workers").map_or(Ok(1), |it| it.count(1..=MANY))?,
        work: spread(keys.need("work", "a time such as \"3ms\"")?)?,
        held: keys.get("held").map(spread).transpose()?,
        cpu: keys.get("cpu").map(quota).transpose()?,
        cold: keys.get("cold").map(cold).transpose()?,
        slowing: keys.get("slowing").map_or(Ok(0.0), |it| it.share())?,
        start: keys.get("start").map_or(Ok(Spread::same(0)), spread)?,
        least_loaded: keys.get("least_loaded").map_or(Ok(1.0), |it| it.share())?,
        shedding: keys.get("shed").map(shedding).transpose()?,
        calls: keys.get("calls").map(calls).transpose()?,
        autoscaler: keys.get("autoscaler").map(autoscaler).transpose()?,
        name,
    };
    keys.finish()?;
    Ok(service)
}

/// A time; or its median and the deviation of its logarithm; or the mean of an exponential one.
fn spread(place: Place<'_>) -> Result<Spread> {
    if !place.is_table() {
        return Ok(Spread::same(place.time()?));
    }
    let mut keys = place.table()?;
    let mean = keys.get("mean").map(|it| it.time()).transpose()?;
    let spread = match mean {
        Some(mean) => Spread::Exponential { mean },
        None => Spread::LogNormal {
            median: keys
                .need("median", "a time such as \"3ms\", or mean with one")?
                .time()?,
            sigma: keys
                .get("sigma")
                .map_or(Ok(0.0), |it| it.number(0.0..=5.0))?,
        },
    };
    keys.finish()?;
    Ok(spread)
}

fn quota(place: Place<'_>) -> Result<Quota> {
    let mut keys = place.table()?;
    let place = keys.need("quota", "a time such as \"20ms\"")?;
    let quota = Quota {
        quota: place.time()?,
        period: keys.get("period").map_or(Ok(100_000_000), |it| it.time())?,
    };
    keys.finish()?;
    match quota.quota > 0 && quota.period > 0 {
        true => Ok(quota),
        false => Err(place.wrong("a quota and a period of some length")),
    }
}

fn cold(place: Place<'_>) -> Result<Cold> {
    let mut keys = place.table()?;
    let cold = Cold {
        factor: keys
            .need("factor", "a number, 3 for three times as long")?
            .number(1.0..=1_000.0)?,
        requests: keys
            .get("requests")
            .map_or(Ok(0), |it| it.count(0..=1_000_000))?,
        warming: keys
            .get("warming")
            .map_or(Ok(0), |it| it.count(0..=1_000_000))?,
        pods: keys.get("pods").map_or(Ok(0), |it| it.count(0..=MANY))?,
    };
    keys.finish()?;
    Ok(cold)
}

fn shedding(place: Place<'_>) -> Result<Shedding> {
    let mut keys = place.table()?;
    let usual = ShedderSettings::default();
    let (queue, target, interval) = (keys.get("queue"), keys.get("target"), keys.get("interval"));
    keys.finish()?;
    if target.is_none() && interval.is_none() {
        let queue = queue.map(|it| it.count(0..=1_000_000)).transpose()?;
        return Ok(Shedding::Length(queue.unwrap_or(usual.max_queue)));
    }
    let (target, interval) = two_times(
        ("target", target, usual.target),
        ("interval", interval, usual.interval),
        1,
    )?;
    Ok(Shedding::Age(ShedderSettings {
        // By age, none is refused before it has waited.
        max_queue: queue.map_or(Ok(usual.max_queue), |it| it.count(1..=1_000_000))?,
        target,
        interval,
    }))
}

/// Two times of which the second is as long as the first and `by` at least, each with its key and what it usually is.
fn two_times(
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

fn autoscaler(place: Place<'_>) -> Result<Hpa> {
    let mut keys = place.table()?;
    let metric = one_of(
        &keys.need("metric", "cpu, queue or concurrency")?,
        &["cpu", "queue", "concurrency"],
    )?;
    let target = keys
        .need("target", "a number, per cent for cpu")?
        .number(0.001..=1e6)?;
    let metric = [
        Metric::Cpu { target },
        Metric::Queue { target },
        Metric::Concurrency { target },
    ][metric];
    let min = keys.get("min").map_or(Ok(1), |it| it.count(0..=MANY))?;
    let max = keys
        .need("max", "the most pods")?
        .count(min.max(1)..=MANY)?;
    let usual = Hpa::new(metric, min, max);
    let every = match keys.get("every") {
        None => usual.every,
        Some(place) => match place.time()? {
            time if time < SECOND => return Err(place.wrong("a time from \"1s\"")),
            time => time,
        },
    };
    let mut time = |key, usual| match keys.get(key) {
        None => Ok(usual),
        Some(place) => match place.time()? {
            time if time > HOUR => Err(place.wrong("a time up to \"1h\"")),
            time => Ok(time),
        },
    };
    let hpa = Hpa {
        every,
        window: time("window", usual.window)?,
        lag: time("lag", usual.lag)?,
        up_after: time("up_after", usual.up_after)?,
        down_after: time("down_after", usual.down_after)?,
        tolerance: keys
            .get("tolerance")
            .map_or(Ok(usual.tolerance), |it| it.share())?,
        up_pods: keys
            .get("up_pods")
            .map_or(Ok(usual.up_pods), |it| it.count(0..=MANY))?,
        up_percent: keys
            .get("up_percent")
            .map_or(Ok(usual.up_percent), |it| it.count(0..=10_000))?,
        down_percent: keys
            .get("down_percent")
            .map_or(Ok(usual.down_percent), |it| it.count(0..=100))?,
        ..usual
    };
    keys.finish()?;
    Ok(hpa)
}

fn fault(mut keys: Keys<'_>, services: &[String]) -> Result<Fault> {
    let fails = |it: Place<'_>| -> Result<f64> {
        let all = it.yes().map(|yes| f64::from(u8::from(yes)));
        let share = all.or_else(|_| it.share());
        share.map_err(|_| it.wrong("true, or a share such as \"50%\""))
    };
    let fails = keys.get("fails").map_or(Ok(0.0), fails)?;
    let takes = match fails > 0.0 {
        true => keys.get("takes"),
        false => Some(keys.need("takes", "a time such as \"5s\", or fails")?),
    };
    let fault = Fault {
        at: keys.need("at", "a time such as \"1m\"")?.time()?,
        lasts: keys.need("lasts", "a time such as \"2m\"")?.time()?,
        service: one_of(&keys.need("service", "the name of a service")?, services)?,
        takes: takes.map(|it| it.time()).transpose()?,
        fails,
    };
    keys.finish()?;
    Ok(fault)
}

fn hand(mut keys: Keys<'_>, groups: &[String], services: &[String]) -> Result<Hand> {
    let at = keys.need("at", "a time such as \"3m\"")?.time()?;
    let close = keys
        .get("close")
        .map(|it| one_of(&it, groups))
        .transpose()?;
    let open = keys.get("open").map(|it| one_of(&it, groups)).transpose()?;
    let act = match (close, open) {
        (Some(group), _) => Act::Close { group },
        (_, Some(group)) => Act::Open { group },
        (None, None) => Act::Scale {
            service: one_of(
                &keys.need(
                    "scale",
                    "close or open with a client, or scale with a service and pods",
                )?,
                services,
            )?,
            pods: keys.need("pods", "how many")?.count(0..=MANY)?,
        },
    };
    keys.finish()?;
    Ok(Hand { at, act })
}

/// The place of a name among those that are allowed.
fn one_of(place: &Place<'_>, names: &[impl AsRef<str>]) -> Result<usize> {
    let name = place.text()?;
    let known = names.iter().position(|it| it.as_ref() == name);
    known.ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        place.wrong(match names.is_empty() {
            true => "nothing: there is none that it may be here".to_owned(),
            false => format!("one of {}", names.join(", ")),
        })
    })
}
