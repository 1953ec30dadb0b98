//! Scenarios as TOML.
//!
//! Owns the keys, which are those of the structs in `scenario.rs` (`policy`: how somebody calls), and their units:
//! times as `"500ms"` or `"1m30s"`, rates as `"200/s"`, shares as `"50%"`. Invariant: what can be parsed can be run;
//! whatever else is an error that says line, key, what was got and what is expected. O(length of the text). Pinned
//! by `tests/scenario.rs`, which also reads all scenarios that come with the project.

mod policy;

use halfopen::companions::{Priority, ShedderSettings};
use herdscope_reader::format;

use crate::autoscaler::{Hpa, Metric};
use crate::keys::{Keys, Place, Result};
use crate::scenario::{
    Act, Cold, Demand, Fault, Group, Hand, Point, Policy, Quota, STARTS_AT, Scenario, Service,
    Shedding, Spread,
};
use policy::{policy, two_times};

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
            let place = service.need("name", "a text")?;
            let name = place.text()?.to_owned();
            if named.iter().any(|it| it.1 == name) {
                return Err(place.wrong("a name that no other service has"));
            }
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
            let group = group(keys, &names, &scenario)?;
            scenario.groups.push(group);
        }
        for keys in faults {
            scenario.faults.push(fault(keys, &names, duration)?);
        }
        for keys in hands {
            scenario
                .hands
                .push(hand(keys, &scenario.groups, &names, duration)?);
        }
        Ok(scenario)
    }
}

fn group(mut keys: Keys<'_>, names: &[String], scenario: &Scenario) -> Result<Group> {
    let services = &scenario.services;
    let name = keys.need("name", "a text")?;
    let named = |it: &str| name.text().is_ok_and(|name| name == it);
    if scenario.groups.iter().any(|it| named(&it.name)) {
        return Err(name.wrong("a name that no other client has"));
    }
    if services.iter().flat_map(|it| &it.proxy).any(|it| named(it)) {
        return Err(name.wrong("a name that no proxy has"));
    }
    let calls = one_of(&keys.need("calls", "the name of a service")?, names)?;
    let needs = |it: Place<'_>| -> Result<usize> {
        let next = |&at: &usize| services[at].calls.as_ref().map(|it| it.0);
        let reached: Vec<usize> = std::iter::successors(Some(calls), next).collect();
        let names: Vec<&String> = reached.iter().map(|&it| &names[it]).collect();
        Ok(reached[one_of(&it, &names)?])
    };
    let group = Group {
        name: name.text()?.to_owned(),
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
        if let (true, [how, ..]) = (points.is_empty(), how) {
            return Err(how.wrong("no ramp to the first point: there is no rate before it"));
        }
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

fn service(mut keys: Keys<'_>, name: String, services: &[String], at: usize) -> Result<Service> {
    let below = &services[at + 1..];
    let proxy = |it: Place<'_>| match it.text()? {
        name if services.iter().any(|it| it == name) => Err(it.wrong("a name that no service has")),
        name => Ok(name.to_owned()),
    };
    let calls = |it: Place<'_>| -> Result<(usize, Policy)> {
        let mut keys = it.table()?;
        let place = keys.need("service", "the name of a service")?;
        let called = one_of(&place, below).map_err(|_| {
            let names = match below.is_empty() {
                true => "there is none".to_owned(),
                false => below.join(", "),
            };
            place.wrong(format!("a service that stands below this one: {names}"))
        })?;
        let policy = policy(&mut keys)?;
        keys.finish()?;
        Ok((at + 1 + called, policy))
    };
    let service = Service {
        proxy: keys.get("proxy").map(proxy).transpose()?,
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
    let (mean, median) = (keys.get("mean"), keys.get("median"));
    let spread = match (mean, median) {
        (Some(_), Some(median)) => {
            return Err(median.wrong("either median, with sigma, or mean: not both"));
        }
        (Some(mean), None) => Spread::Exponential { mean: mean.time()? },
        (None, Some(median)) => Spread::LogNormal {
            median: median.time()?,
            sigma: keys
                .get("sigma")
                .map_or(Ok(0.0), |it| it.number(0.0..=5.0))?,
        },
        (None, None) => {
            return Err(keys.missing("median", "a time such as \"3ms\", or mean with one"));
        }
    };
    keys.finish()?;
    Ok(spread)
}

fn quota(place: Place<'_>) -> Result<Quota> {
    let mut keys = place.table()?;
    let quota = Quota {
        quota: keys.need("quota", "a time such as \"20ms\"")?.some_time()?,
        period: keys
            .get("period")
            .map_or(Ok(100_000_000), |it| it.some_time())?,
    };
    keys.finish()?;
    Ok(quota)
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

fn fault(mut keys: Keys<'_>, services: &[String], end: u64) -> Result<Fault> {
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
        at: before(&keys.need("at", "a time such as \"1m\"")?, end)?,
        lasts: keys.need("lasts", "a time such as \"2m\"")?.time()?,
        service: one_of(&keys.need("service", "the name of a service")?, services)?,
        takes: takes.map(|it| it.time()).transpose()?,
        fails,
    };
    keys.finish()?;
    Ok(fault)
}

fn hand(mut keys: Keys<'_>, groups: &[Group], services: &[String], end: u64) -> Result<Hand> {
    const ACTS: &str = "close or open with a client, or scale with a service and pods";
    let at = before(&keys.need("at", "a time such as \"3m\"")?, end)?;
    let (close, open, scale) = (keys.get("close"), keys.get("open"), keys.get("scale"));
    let with_breaker = |it: Place<'_>| {
        let names: Vec<&String> = groups.iter().map(|it| &it.name).collect();
        let group = one_of(&it, &names)?;
        match groups[group].policy.breaker {
            Some(_) => Ok(group),
            None => Err(it.wrong("a client that has a breaker")),
        }
    };
    let act = match (close, open, scale) {
        (Some(it), None, None) => Act::Close {
            group: with_breaker(it)?,
        },
        (None, Some(it), None) => Act::Open {
            group: with_breaker(it)?,
        },
        (None, None, Some(it)) => Act::Scale {
            service: one_of(&it, services)?,
            pods: keys.need("pods", "how many")?.count(0..=MANY)?,
        },
        (None, None, None) => return Err(keys.missing("scale", ACTS)),
        (_, Some(it), _) | (_, _, Some(it)) => {
            return Err(it.wrong(format!("one thing: {ACTS}; each hand does one")));
        }
    };
    keys.finish()?;
    Ok(Hand { at, act })
}

/// A time before the end, or nothing would come of it.
fn before(place: &Place<'_>, end: u64) -> Result<u64> {
    match place.time()? {
        time if time < end => Ok(time),
        _ => Err(place.wrong(format!("a time before the end, {}", format::duration(end)))),
    }
}

/// The place of a name among those that are allowed.
fn one_of(place: &Place<'_>, names: &[impl AsRef<str>]) -> Result<usize> {
    let name = place.text()?;
    let known = names.iter().position(|it| it.as_ref() == name);
    known.ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        place.wrong(match names.is_empty() {
            true => "one that is there: there is none".to_owned(),
            false => format!("one of {}", names.join(", ")),
        })
    })
}
