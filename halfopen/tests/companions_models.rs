//! The companions against naive models, on random settings and events.
//!
//! A model keeps every record and computes everything anew from them, by the
//! words of the documentation: no totals, no lists, no closed formulas. Time
//! jumps, stands still, goes back, and reaches the end of its type.
//!
//! `PROPTEST_CASES` sets the number of cases.

use halfopen::companions::*;
use halfopen::{Config, Machine, Outcome, Rate};
use proptest::collection::vec;
use proptest::prelude::*;

/// Steps of time around `unit`.
fn step(unit: i64) -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => Just(0),
        8 => 0..=unit,
        2 => Just(unit),
        2 => unit..=unit * 12,
        1 => -unit * 3..0,
        1 => Just(unit * 1_000_003),
    ]
}

fn start() -> impl Strategy<Value = i64> {
    prop_oneof![
        Just(0),
        -1_000_000..1_000_000i64,
        Just(i64::MIN),
        Just(i64::MAX - 100),
    ]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        3 => Just(Outcome::Failure),
        3 => Just(Outcome::Success),
        1 => Just(Outcome::Ignored),
    ]
}

/// A clock that does not go back.
struct Clock(i64, i64);

impl Clock {
    /// Nobody has seen the time yet.
    fn new(at: i64) -> Clock {
        Clock(at, i64::MIN)
    }

    /// The time that is passed in, and the time that counts.
    fn step(&mut self, step: i64) -> (i64, i64) {
        self.0 = self.0.saturating_add(step);
        self.1 = self.1.max(self.0);
        (self.0, self.1)
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(2_000)
    })]

    /// GCRA is a token bucket: tokens in units of `1/per`, filled with `calls`
    /// of these a nanosecond.
    #[test]
    fn the_rate_limiter_is_a_token_bucket(
        calls in 1..20u32,
        per in 1..200u64,
        burst in 1..10u32,
        start in start(),
        events in vec((step(20), 0..12u32), 1..200),
    ) {
        let mut it = RateLimiter::new(RateSettings { calls, per, burst }).unwrap();
        let full = i128::from(burst) * i128::from(per);
        let (mut tokens, mut last) = (full, i64::MIN);
        let mut clock = Clock::new(start);
        for (step, n) in events {
            let (now, seen) = clock.step(step);
            tokens += (i128::from(seen) - i128::from(last)) * i128::from(calls);
            tokens = tokens.min(full);
            last = seen;
            let price = i128::from(n) * i128::from(per);
            prop_assert_eq!(it.available(now), (tokens / i128::from(per)) as u32);
            match it.acquire_many(now, n) {
                Ok(()) => {
                    prop_assert!(price <= tokens);
                    tokens -= price;
                }
                Err(limited) => {
                    prop_assert!(price > tokens);
                    let at_least = |time: i64| {
                        tokens + (i128::from(time) - i128::from(seen)) * i128::from(calls) >= price
                    };
                    // The first time at which there are enough, if there is one.
                    match limited.retry_at {
                        Some(at) => prop_assert!(n <= burst && at_least(at) && !at_least(at - 1)),
                        None => prop_assert!(n > burst || !at_least(i64::MAX)),
                    }
                }
            }
        }
    }

    /// Places and a queue as lists.
    #[test]
    fn the_bulkhead_is_a_list(
        max in 1..4u32,
        max_waiting in 0..4u32,
        max_wait in prop_oneof![Just(None), (1..60u64).prop_map(Some)],
        start in start(),
        events in vec((step(10), 0..5u8, any::<usize>()), 1..200),
    ) {
        let settings = BulkheadSettings { max_concurrent: max, max_waiting, max_wait };
        let mut it = Bulkhead::new(settings).unwrap();
        let (mut places, mut tickets) = (Vec::new(), Vec::new());
        // Those that wait, in order, with the time since when; those that were
        // given a place.
        let (mut waiting, mut granted): (Vec<(u64, i64)>, Vec<u64>) = (Vec::new(), Vec::new());
        let mut clock = Clock::new(start);
        for (step, what, nth) in events {
            let (now, seen) = clock.step(step);
            waiting.retain(|&(_, since)| {
                let due = since.saturating_add_unsigned(max_wait.unwrap_or(u64::MAX));
                max_wait.is_none() || due > seen || due == i64::MAX
            });
            let taken = |places: &Vec<Place>, granted: &Vec<u64>| (places.len() + granted.len()) as u32;
            let pass_on = |waiting: &mut Vec<(u64, i64)>, granted: &mut Vec<u64>| {
                let next = (!waiting.is_empty()).then(|| waiting.remove(0).0);
                granted.extend(next);
                next
            };
            match what {
                0 | 1 => {
                    let entry = if what == 0 {
                        it.acquire(now)
                    } else {
                        it.try_acquire(now).map(Entry::Admitted)
                    };
                    let free = taken(&places, &granted) < max;
                    let room = what == 0 && (waiting.len() as u32) < max_waiting;
                    match entry {
                        Ok(Entry::Admitted(place)) => {
                            prop_assert!(free);
                            places.push(place);
                        }
                        Ok(Entry::Waiting(ticket)) => {
                            prop_assert!(!free && room);
                            waiting.push((ticket.id(), seen));
                            tickets.push(ticket);
                        }
                        Err(BulkheadFull) => prop_assert!(!free && !room),
                    }
                }
                2 if !places.is_empty() => {
                    let place = places.remove(nth % places.len());
                    let next = it.release(now, place);
                    prop_assert_eq!(next, pass_on(&mut waiting, &mut granted));
                }
                3 if !tickets.is_empty() => {
                    let ticket = tickets.remove(nth % tickets.len());
                    let id = ticket.id();
                    let was_granted = granted.contains(&id);
                    granted.retain(|&it| it != id);
                    match it.claim(now, ticket) {
                        Claim::Admitted(place) => {
                            prop_assert!(was_granted);
                            places.push(place);
                        }
                        Claim::Waiting(ticket) => {
                            prop_assert!(waiting.iter().any(|it| it.0 == id));
                            tickets.push(ticket);
                        }
                        Claim::TimedOut => {
                            prop_assert!(!was_granted && waiting.iter().all(|it| it.0 != id));
                        }
                    }
                }
                4 if !tickets.is_empty() => {
                    let ticket = tickets.remove(nth % tickets.len());
                    let id = ticket.id();
                    let was_granted = granted.contains(&id);
                    granted.retain(|&it| it != id);
                    waiting.retain(|it| it.0 != id);
                    let next = if was_granted { pass_on(&mut waiting, &mut granted) } else { None };
                    prop_assert_eq!(it.leave(now, ticket), next);
                }
                _ => places.extend(it.try_acquire(now).ok()),
            }
            prop_assert_eq!(it.active(), taken(&places, &granted));
            prop_assert_eq!(it.waiting() as usize, waiting.len());
            prop_assert!(it.active() <= max && it.waiting() <= max_waiting);
        }
    }

    /// A queue as one list that is searched.
    #[test]
    fn the_shedder_is_a_list(
        max_queue in 1..8u32,
        target in 1..10u64,
        start in start(),
        events in vec((step(10), 0..8usize), 1..300),
    ) {
        const ALL: [Priority; 4] = [
            Priority::CriticalPlus, Priority::Critical, Priority::SheddablePlus, Priority::Sheddable,
        ];
        let interval = 40;
        let settings = ShedderSettings { max_queue, target, interval };
        let mut it = Shedder::new(settings).unwrap();
        let mut queue: Vec<(Priority, i64, QueueId)> = Vec::new();
        // The current interval: its end, and the waits seen.
        let mut current: Option<(i64, Vec<u64>)> = None;
        let mut overloaded = false;
        let mut clock = Clock::new(start);
        for (step, what) in events {
            let (now, seen) = clock.step(step);
            if let Some(&priority) = ALL.get(what) {
                let worst = queue.iter().map(|it| it.0).max();
                match it.offer(now, priority) {
                    Ok(offered) => {
                        prop_assert_eq!(offered.shed.is_some(), queue.len() as u32 == max_queue);
                        if let Some(shed) = offered.shed {
                            // The first of the least important.
                            prop_assert!(worst > Some(priority));
                            let nth = queue.iter().position(|it| Some(it.0) == worst).unwrap();
                            prop_assert_eq!(queue.remove(nth).2, shed);
                        }
                        queue.push((priority, seen, offered.id));
                    }
                    Err(QueueFull) => {
                        prop_assert_eq!(queue.len() as u32, max_queue);
                        prop_assert!(worst <= Some(priority));
                    }
                }
            } else {
                let wait = queue.iter().map(|it| seen.abs_diff(it.1)).max().unwrap_or(0);
                let fresh = current.as_ref().is_none_or(|it| seen > it.0);
                if fresh {
                    if let Some((_, waits)) = &current {
                        overloaded = waits.iter().all(|&it| it > target);
                    }
                    current = Some((seen.saturating_add_unsigned(interval), Vec::new()));
                }
                if let Some((_, waits)) = &mut current {
                    waits.push(wait);
                }
                let old = |it: &&(Priority, i64, QueueId)| seen.abs_diff(it.1) > 2 * target;
                let shed = queue.iter().filter(old).map(|it| it.0).max();
                let shed = shed.filter(|_| overloaded && !fresh);
                let served = queue.iter().map(|it| it.0).min();
                let wanted = match shed.or(served) {
                    None => Next::Empty,
                    Some(priority) => {
                        let nth = queue.iter().position(|it| it.0 == priority).unwrap();
                        let (_, _, id) = queue.remove(nth);
                        if shed.is_some() { Next::Shed(id) } else { Next::Serve(id) }
                    }
                };
                prop_assert_eq!(it.take(now), wanted);
            }
            prop_assert_eq!(it.len() as usize, queue.len());
            prop_assert_eq!(it.is_overloaded(), overloaded);
        }
    }

    /// Every request and accept with its time; the window is counted anew.
    #[test]
    fn the_throttle_is_its_formula(
        k in 1_000..4_000u32,
        buckets in 1..6i64,
        cap in 1..=100u32,
        start in start(),
        events in vec((step(10), outcome()), 1..300),
    ) {
        let bucket = 10;
        let settings = ThrottleSettings {
            window: (buckets * bucket) as u64,
            bucket: bucket as u64,
            k,
            max_reject: Rate::percent(cap),
            draw: Draw::Credit,
        };
        let mut it = Throttle::new(settings).unwrap();
        let mut requests: Vec<(i64, i128)> = Vec::new();
        let mut accepts: Vec<(i64, i128)> = Vec::new();
        let mut credit = 0u128;
        let mut clock = Clock::new(start);
        for (step, outcome) in events {
            let (now, seen) = clock.step(step);
            let here = seen.div_euclid(bucket);
            let count = |records: &[(i64, i128)]| {
                let live = records.iter().filter(|it| here - it.0.div_euclid(bucket) < buckets);
                live.map(|it| it.1).sum::<i128>().max(0)
            };
            let (n, a) = (count(&requests), count(&accepts));
            let over = (n * 1_000 - i128::from(k) * a).max(0) as u128;
            let p = (over << 32) / ((n as u128 + 1) * 1_000);
            let p = p.min(u128::from(cap) * 10_000 * (1 << 32) / 1_000_000);
            credit += p;
            requests.push((seen, 1));
            match it.acquire(now) {
                Ok(permit) => {
                    prop_assert!(credit < 1 << 32);
                    it.settle(now, permit, outcome);
                    match outcome {
                        Outcome::Success => accepts.push((seen, 1)),
                        Outcome::Ignored => requests.push((seen, -1)),
                        Outcome::Failure => {}
                    }
                }
                Err(Throttled) => {
                    prop_assert!(credit >= 1 << 32);
                    credit -= 1 << 32;
                }
            }
        }
    }

    /// Finagle's budget with every deposit and withdrawal kept.
    #[test]
    fn finagles_budget_is_its_formula(
        ttl in 1..=60u64,
        min in 0..5u32,
        percent in 1..=1_000u32,
        start in start(),
        events in vec((step(1_000_000_000), any::<bool>()), 1..200),
    ) {
        const S: u64 = 1_000_000_000;
        let settings = BudgetSettings::Finagle {
            ttl: ttl * S,
            min_retries_per_sec: min,
            percent_can_retry: Rate::percent(percent),
        };
        let mut it = RetryBudget::new(settings).unwrap();
        let withdrawal = i64::from(1_000 * 100 / percent);
        let reserve = i64::from(min) * ttl as i64 * withdrawal;
        let slice = (ttl * S / 10) as i64;
        let mut records: Vec<(i64, i64)> = Vec::new();
        let mut clock = Clock::new(start);
        for (step, retry) in events {
            let (now, seen) = clock.step(step);
            let here = seen.div_euclid(slice);
            let live = records.iter().filter(|it| here - it.0 < 10);
            let balance = reserve + live.map(|it| it.1).sum::<i64>();
            if retry {
                let granted = it.retry(now, Failure::Transient).is_ok();
                prop_assert_eq!(granted, balance >= withdrawal);
                if granted {
                    records.push((here, -withdrawal));
                }
            } else {
                let _ = it.begin(now);
                records.push((here, 1_000));
            }
        }
    }

    /// One interval after the other, variance by its definition.
    #[test]
    fn outliers_are_the_naive_ones(
        hosts in 1..8usize,
        consecutive in prop_oneof![Just(None), (1..4u32).prop_map(Some)],
        factor in 1..2_500u32,
        volume in 1..4u32,
        percentage in prop_oneof![Just(None), (1..=100u32).prop_map(Some)],
        longest in 1..5u64,
        share in 1..=100u32,
        always_eject_one: bool,
        start in -1_000_000..1_000_000i64,
        events in vec((prop_oneof![20 => 0..=7i64, 1 => 50..300i64, 1 => -20..0i64], any::<u32>(), outcome()), 1..300),
    ) {
        const INTERVAL: i64 = 10;
        const BASE: i64 = 15;
        let settings = OutlierSettings {
            consecutive,
            success_rate: Some(SuccessRate {
                stdev_factor: factor, minimum_hosts: 2, request_volume: volume,
            }),
            failure_percentage: percentage.map(|it| FailurePercentage {
                threshold: Rate::percent(it), minimum_hosts: 2, request_volume: volume,
            }),
            interval: INTERVAL as u64,
            base_ejection: BASE as u64,
            max_ejection: BASE as u64 * longest,
            jitter: 0,
            max_ejected: Rate::percent(share),
            always_eject_one,
            seed: 0,
        };
        #[derive(Clone, Default)]
        struct Host {
            until: Option<i64>,
            back: Option<i64>,
            times: i64,
            row: u32,
            results: Vec<bool>,
        }
        let mut all = vec![Host::default(); hosts];
        let eject = |all: &mut Vec<Host>, nth: usize, at: i64| {
            let out = all.iter().filter(|it| it.until.is_some()).count();
            let allowed = (out + 1) * 100 <= share as usize * hosts || (always_eject_one && out == 0);
            let host = &mut all[nth];
            if host.until.is_none() && allowed {
                if host.times * BASE < (longest as i64 + 1) * BASE {
                    host.times += 1;
                }
                host.until = Some(at + BASE * host.times.min(longest as i64));
            }
        };
        let mut it = OutlierDetector::new(settings, hosts as u32).unwrap();
        it.advance(start);
        let mut end = start + INTERVAL;
        let mut clock = Clock(start, start);
        for (step, nth, outcome) in events {
            let (now, seen) = clock.step(step);
            while end <= seen {
                for host in &mut all {
                    if host.until.is_some_and(|it| it <= end) {
                        (host.until, host.back, host.row) = (None, Some(end), 0);
                    }
                }
                let judged = |all: &[Host]| -> Vec<(usize, i128, i128)> {
                    all.iter().enumerate()
                        .filter(|(_, it)| it.until.is_none() && it.results.len() >= volume as usize)
                        .map(|(nth, it)| {
                            let good = it.results.iter().filter(|it| **it).count() as i128;
                            (nth, good, it.results.len() as i128)
                        })
                        .collect()
                };
                let rates = judged(&all);
                let n = rates.len() as i128;
                let x = |good: i128, calls: i128| good * 1_000_000 / calls;
                let sum: i128 = rates.iter().map(|it| x(it.1, it.2)).sum();
                // n^3 times the variance.
                let spread: i128 = rates.iter().map(|it| (n * x(it.1, it.2) - sum).pow(2)).sum();
                for (nth, good, calls) in rates {
                    let below = sum - n * x(good, calls);
                    let factor = i128::from(factor);
                    if n >= 2 && below > 0 && below.pow(2) * 1_000_000 * n > factor * factor * spread {
                        eject(&mut all, nth, end);
                    }
                }
                if let Some(percent) = percentage {
                    let rates = judged(&all);
                    if rates.len() >= 2 {
                        for (nth, good, calls) in rates {
                            if (calls - good) * 100 >= i128::from(percent) * calls {
                                eject(&mut all, nth, end);
                            }
                        }
                    }
                }
                for host in &mut all {
                    if host.until.is_none() && host.back.is_some_and(|it| end - it >= INTERVAL) {
                        host.times = (host.times - 1).max(0);
                    }
                    host.results.clear();
                }
                end += INTERVAL;
            }
            let nth = nth as usize % hosts;
            let before = all[nth].until;
            let got = it.settle(now, nth as u32, outcome);
            if outcome != Outcome::Ignored {
                let failed = outcome == Outcome::Failure;
                all[nth].results.push(!failed);
                all[nth].row = if failed { all[nth].row + 1 } else { 0 };
                if consecutive.is_some_and(|it| all[nth].row >= it) {
                    all[nth].row = 0;
                    eject(&mut all, nth, seen);
                }
            }
            let wanted = all[nth].until.filter(|_| before.is_none());
            prop_assert_eq!(got.map(|it| it.until), wanted);
            for (nth, host) in all.iter().enumerate() {
                let ejection = it.ejection(nth as u32);
                prop_assert_eq!(ejection.map(|it| it.until), host.until, "host {}", nth);
            }
            prop_assert_eq!(it.next_deadline(), Some(end));
        }
    }

    /// No operation makes a deadline later, and what is left is what is left.
    #[test]
    fn deadlines_only_shrink(
        budget: u64,
        start in start(),
        events in vec((step(1_000), any::<bool>(), prop_oneof![0..3_000u64, any::<u64>()]), 1..50),
    ) {
        let mut deadline = Deadline::after(start, budget);
        let mut now = start;
        for (step, reserve, amount) in events {
            now = now.saturating_add(step);
            let next = if reserve { deadline.reserving(amount) } else { deadline.within(now, amount) };
            prop_assert!(next <= deadline);
            if !reserve {
                prop_assert!(next.remaining(now).is_none_or(|it| it <= amount));
            }
            if let Some(left) = next.remaining(now) {
                prop_assert_eq!(left == 0, next.is_over(now));
                prop_assert!(next.is_over(now.saturating_add_unsigned(left)) || left > i64::MAX as u64);
            }
            deadline = next;
        }
    }

    /// A stack is its parts, asked in their order and given back in full.
    #[test]
    fn a_stack_is_its_parts(
        max in prop_oneof![Just(None), (1..4u32).prop_map(Some)],
        start in start(),
        events in vec((step(10), 0..4u8, any::<usize>(), outcome()), 1..300),
    ) {
        let config: Config = "window=6 min=3 fail=50% slow=50%@15ns open=30ns backoff=2x probes=2 \
                              lease=40ns ramp=25%/50%/100%@40ns".parse().unwrap();
        let limit = 40;
        let mut stack = Stack::new(StackSettings {
            timeout: TimeoutSettings { connect: Some(limit), read: None },
            breaker: config.clone(),
            max_concurrent: max,
            ..StackSettings::default()
        }).unwrap();
        let mut machine = Machine::new(config);
        let mut out = Vec::new();
        let mut clock = Clock::new(start);
        for (step, what, nth, outcome) in events {
            let (now, _) = clock.step(step);
            let mut call = Call::new(Request::NotIdempotent, Deadline::NEVER);
            match what {
                0 | 1 => {
                    let full = max.is_some_and(|it| out.len() as u32 >= it);
                    match (stack.acquire(now, &call), machine.acquire(now)) {
                        (Ok(permit), Ok(alone)) => {
                            prop_assert!(!full);
                            out.push((permit, alone, now));
                        }
                        (Err(StackRejected::Bulkhead), Ok(alone)) => {
                            prop_assert!(full);
                            machine.cancel(now, alone);
                        }
                        (Err(StackRejected::Breaker(got)), Err(wanted)) => {
                            prop_assert_eq!(got, wanted);
                        }
                        other => prop_assert!(false, "{other:?}"),
                    }
                }
                2 if !out.is_empty() => {
                    let (permit, alone, since) = out.remove(nth % out.len());
                    let ended = match outcome {
                        Outcome::Success => Ended::Success,
                        Outcome::Failure => Ended::Failed(Failure::Transient),
                        Outcome::Ignored => Ended::Ignored,
                    };
                    let took = now.max(since).abs_diff(since);
                    let due = since.saturating_add_unsigned(limit);
                    let cut = now >= due && due != i64::MAX;
                    stack.settle(now, permit, &mut call, ended);
                    machine.settle(now, alone, if cut { Outcome::Failure } else { outcome }, took);
                }
                3 if !out.is_empty() => {
                    let (permit, alone, _) = out.remove(nth % out.len());
                    stack.cancel(now, permit);
                    machine.cancel(now, alone);
                }
                _ => {
                    stack.advance(now);
                    machine.advance(now);
                }
            }
            prop_assert_eq!(stack.breaker().snapshot(), machine.snapshot());
            let changes: Vec<_> = stack.breaker_mut().drain_transitions().collect();
            prop_assert_eq!(changes, machine.drain_transitions().collect::<Vec<_>>());
            if let Some(bulkhead) = stack.bulkhead() {
                prop_assert_eq!(bulkhead.active() as usize, out.len());
            }
        }
    }
}
