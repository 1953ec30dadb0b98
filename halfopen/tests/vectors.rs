//! Runs event sequences with their expectations: the behaviour of
//! resilience4j, and the bugs of other breakers.
//!
//! Every `*.json` of `tests/vectors`, or of the folder that the variable
//! `HALFOPEN_VECTORS` names. A file has `vectors` (what a peer does, with
//! `divergence.recommended` where it should do something else) or `cases`
//! (what is right). What a vector says that this crate does not do is skipped
//! by the field that says it, counted, and printed; see [`Skip`].

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::Write;
use std::path::PathBuf;

use halfopen::{
    Cause, Config, Machine, Outcome, Permit, Rate, Settings, Slow, State, Transition, Window,
};
use serde_json::Value;

const MS: u64 = 1_000_000;

/// Why a field was not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Skip {
    /// `after_max_half_open_wait` = CLOSED: an expired lease is a failure.
    ClosingAfterTheLease,
    /// `permitted` at exactly the end of the wait: here it is over at `>=`.
    EndOfTheWait,
    /// Figures after a result that arrived while open: here it is dropped.
    ResultsWhileOpen,
    /// No `max_half_open_wait_ms`, and a probe that takes longer than the
    /// default lease: the vector is run without a lease.
    DefaultLease,
    /// A half-open verdict at `minimum_calls` below `permitted_half_open`:
    /// here the last probe decides.
    EarlyVerdict,
}

#[test]
fn vectors_hold() {
    let folder = std::env::var_os("HALFOPEN_VECTORS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors")),
        PathBuf::from,
    );
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|err| panic!("{}: {err}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no vectors in {}", folder.display());

    let (mut failed, mut run, mut events) = (Vec::new(), 0, 0);
    let mut skipped: BTreeMap<Skip, Vec<String>> = BTreeMap::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        let peer = file.get("vectors").is_some();
        let vectors = file
            .get("vectors")
            .or(file.get("cases"))
            .and_then(Value::as_array);
        for vector in vectors.expect("`vectors` or `cases`") {
            let id = vector["id"].as_str().unwrap();
            let mut runner = Runner::default();
            let mut result = runner.run(vector, peer, settings(&vector["config"]));
            let leaseless = vector["config"]["max_half_open_wait_ms"]
                .as_u64()
                .unwrap_or(0)
                == 0;
            if peer && leaseless && runner.lease_expired {
                runner = Runner {
                    skipped: vec![Skip::DefaultLease],
                    ..Runner::default()
                };
                let settings = settings(&vector["config"]).map(|it| Settings { lease: None, ..it });
                result = runner.run(vector, peer, settings);
            }
            if let Err(message) = result {
                failed.push(format!("{id}: {message}"));
            }
            for skip in runner.skipped {
                skipped.entry(skip).or_default().push(id.to_string());
            }
            run += 1;
            events += runner.events;
        }
    }
    // Past the test harness, which keeps the output of tests that pass.
    let mut aloud = std::io::stderr();
    writeln!(aloud, "{run} vectors, {events} events").unwrap();
    for (skip, ids) in &skipped {
        writeln!(
            aloud,
            "skipped {} times, {skip:?}: {}",
            ids.len(),
            ids.join(" ")
        )
        .unwrap();
    }
    assert!(
        failed.is_empty(),
        "{} of {run} fail:\n{}",
        failed.len(),
        failed.join("\n")
    );
}

#[derive(Default)]
struct Runner {
    /// Permits by the id of their call; `None` once reported or rejected.
    named: HashMap<String, Option<Permit>>,
    /// Permits of calls without an id, oldest first.
    unnamed: VecDeque<Permit>,
    skipped: Vec<Skip>,
    events: usize,
    /// Where the transitions so far lead.
    last: Option<State>,
    lease_expired: bool,
}

impl Runner {
    fn run(
        &mut self,
        vector: &Value,
        peer: bool,
        settings: Result<Settings, String>,
    ) -> Result<(), String> {
        let config = match settings.and_then(|it| Config::new(it).map_err(|err| err.to_string())) {
            Ok(_) if vector["expect_config_error"] == true => {
                return Err("the configuration is accepted".into());
            }
            Err(_) if vector["expect_config_error"] == true => return Ok(()),
            result => result?,
        };
        if vector["config"]["after_max_half_open_wait"] == "CLOSED" {
            self.skipped.push(Skip::ClosingAfterTheLease);
            return Ok(());
        }
        let mut machine = Machine::new(config);
        match vector["config"]["initial_state"].as_str() {
            None | Some("CLOSED") => {}
            Some("OPEN") => machine.open(0).unwrap(),
            Some("HALF_OPEN") => {
                machine.force_open(0);
                machine.half_open(0).unwrap();
            }
            Some("FORCED_OPEN") => machine.force_open(0),
            Some("DISABLED") => machine.disable(0),
            Some("METRICS_ONLY") => machine.metrics_only(0),
            Some(other) => return Err(format!("initial_state {other}")),
        }
        self.check_chain(machine.drain_transitions(), State::Closed)?;
        for event in events(vector) {
            for _ in 0..event["repeat"].as_u64().unwrap_or(1) {
                self.events += 1;
                match self.event(&mut machine, &event, vector, peer) {
                    Ok(true) => {}
                    Ok(false) => return Ok(()),
                    Err(message) => return Err(format!("{event}: {message}")),
                }
            }
        }
        Ok(())
    }

    /// Runs and checks one event; `false` when the vector ends here.
    fn event(
        &mut self,
        machine: &mut Machine,
        event: &Value,
        vector: &Value,
        peer: bool,
    ) -> Result<bool, String> {
        let now = (event["t"].as_u64().unwrap() * MS) as i64;
        let duration = event["duration_ms"].as_u64().unwrap_or(0) * MS;
        let op = event["op"].as_str().unwrap();
        let expect = &event["expect"];

        let before = machine.state();
        let wait_ends = machine.retry_at() == Some(now);
        let mut refused = false;
        let mut permitted = None;
        match op {
            "acquire" => {
                let permit = machine.acquire(now).ok();
                permitted = Some(permit.is_some());
                if peer && wait_ends && permit.is_some() && expect["permitted"] == false {
                    // The vector goes on as if nobody had asked.
                    self.skipped.push(Skip::EndOfTheWait);
                    permit.into_iter().for_each(|it| machine.cancel(now, it));
                    return self
                        .check_chain(machine.drain_transitions(), before)
                        .map(|()| true);
                }
                match event["call"].as_str() {
                    Some(id) => {
                        self.named.insert(id.to_string(), permit);
                    }
                    None => self.unnamed.extend(permit),
                }
            }
            "success" => self.settle(machine, now, event, Outcome::Success, duration),
            "failure" => self.settle(machine, now, event, Outcome::Failure, duration),
            "ignored" => self.settle(machine, now, event, Outcome::Ignored, duration),
            "release" => {
                if let Some(permit) = self.permit(machine, now, event) {
                    machine.cancel(now, permit);
                }
            }
            "tick" => machine.advance(now),
            "to_open" => refused = machine.open(now).is_err(),
            "to_open_for" => refused = machine.open_for(now, duration).is_err(),
            "to_half_open" => refused = machine.half_open(now).is_err(),
            "to_closed" => machine.close(now),
            "to_forced_open" => machine.force_open(now),
            "to_disabled" => machine.disable(now),
            "to_metrics_only" => machine.metrics_only(now),
            "reset" => machine.reset(now),
            _ => return Err("unknown op".into()),
        }
        self.check_chain(machine.drain_transitions(), before)?;

        let seen = machine.snapshot();
        let result = matches!(op, "success" | "failure");
        let minimum = vector["config"]["minimum_calls"].as_u64().unwrap_or(100);
        if peer
            && result
            && seen.state == State::HalfOpen
            && u64::from(seen.calls) >= minimum
            && expect["state"].as_str().is_some_and(|it| it != "HALF_OPEN")
        {
            self.skipped.push(Skip::EarlyVerdict);
            return Ok(false);
        }
        let while_open = peer && result && before == State::Open && seen.state == State::Open;
        for (field, wanted) in expect.as_object().into_iter().flatten() {
            let is_figure = ["buffered", "failed", "slow", "failure_rate", "slow_rate"]
                .contains(&field.as_str());
            if while_open && is_figure {
                self.skipped.push(Skip::ResultsWhileOpen);
                continue;
            }
            let holds = match field.as_str() {
                "state" => *wanted == *seen.state.as_str().to_uppercase(),
                "permitted" => wanted.as_bool() == permitted,
                "buffered" => *wanted == seen.calls,
                "failed" => *wanted == seen.failures,
                "slow" => *wanted == seen.slow,
                "failure_rate" => is_rate(wanted, seen.failure_rate),
                "slow_rate" => is_rate(wanted, seen.slow_rate),
                "not_permitted" => *wanted == seen.not_permitted,
                "late_dropped" => *wanted == seen.late_results,
                "error" => refused,
                "note" => true,
                _ => return Err(format!("unknown expectation {field}")),
            };
            if !holds {
                return Err(format!(
                    "{field} is wrong, permitted {permitted:?}, {seen:?}"
                ));
            }
        }
        if refused && expect.get("error").is_none() {
            return Err("refused".into());
        }
        Ok(true)
    }

    fn settle(
        &mut self,
        machine: &mut Machine,
        now: i64,
        event: &Value,
        outcome: Outcome,
        duration: u64,
    ) {
        if let Some(permit) = self.permit(machine, now, event) {
            machine.settle(now, permit, outcome, duration);
        }
    }

    /// The permit of the call that `event` ends. A call that was not begun
    /// begins now; while open there is none, and no result either.
    fn permit(&mut self, machine: &mut Machine, now: i64, event: &Value) -> Option<Permit> {
        if let Some(id) = event["call"].as_str() {
            return match self.named.get_mut(id) {
                Some(permit) => permit.take(),
                None => begin(machine, now),
            };
        }
        let current = |it: &Permit| it.generation() == machine.generation();
        match self.unnamed.iter().position(current) {
            Some(nth) => self.unnamed.remove(nth),
            None => begin(machine, now),
        }
    }

    /// Transitions follow from each other, without a gap.
    fn check_chain(
        &mut self,
        transitions: impl Iterator<Item = Transition>,
        mut before: State,
    ) -> Result<(), String> {
        if let Some(last) = self.last
            && last != before
        {
            return Err(format!(
                "{before} although the last transition led to {last}"
            ));
        }
        for transition in transitions {
            if transition.from != before {
                return Err(format!("{transition:?} does not start at {before}"));
            }
            before = transition.to;
            self.last = Some(before);
            self.lease_expired |= transition.cause == Cause::LeaseExpired;
        }
        Ok(())
    }
}

fn begin(machine: &mut Machine, now: i64) -> Option<Permit> {
    if matches!(machine.state(), State::Open | State::ForcedOpen) {
        machine.advance(now);
        return None;
    }
    machine.acquire(now).ok()
}

/// The events of a vector with its recommendations: one replaces the event of
/// the same time, operation and call, or is put where its time belongs.
fn events(vector: &Value) -> Vec<Value> {
    let mut events = vector["events"].as_array().cloned().unwrap_or_default();
    let recommended = vector["divergence"]["recommended"].as_array();
    for better in recommended.into_iter().flatten() {
        let same = |it: &&mut Value| {
            ["t", "op", "call"]
                .iter()
                .all(|&key| it.get(key) == better.get(key))
        };
        match events.iter_mut().rev().find(same) {
            Some(event) => *event = better.clone(),
            None => events.push(better.clone()),
        }
    }
    events
}

fn settings(config: &Value) -> Result<Settings, String> {
    let default = Settings::default();
    let mut s = default.clone();
    let mut wait = (s.open, s.backoff, s.max_open);
    let (mut slow_rate, mut slow_over) = default.slow.map(|it| (it.rate, it.over)).unwrap();
    let mut size = 100;
    for (key, value) in config.as_object().unwrap() {
        let ns = || {
            value
                .as_u64()
                .map(|it| it * MS)
                .ok_or(format!("{key} {value}"))
        };
        let number = || {
            value
                .as_u64()
                .map(|it| it as u32)
                .ok_or(format!("{key} {value}"))
        };
        match key.as_str() {
            "window" | "initial_state" | "after_max_half_open_wait" | "lock" => {}
            "window_size" => size = number()?,
            "minimum_calls" => s.min = number()?,
            "failure_rate_threshold" => s.fail = Some(percent(value)),
            "slow_call_rate_threshold" => slow_rate = percent(value),
            "slow_call_duration_ms" => slow_over = ns()?,
            "permitted_half_open" => s.probes = number()?,
            "open_wait_ms" => wait.0 = ns()?,
            "open_wait_exponential" => {
                let multiplier = value["multiplier"].as_f64().unwrap();
                wait = (
                    value["initial_ms"].as_u64().unwrap() * MS,
                    (multiplier * 1_000.0).round() as u32,
                    value["max_ms"].as_u64().map(|it| it * MS),
                );
            }
            "probe_lease_ms" | "max_half_open_wait_ms" => match ns()? {
                0 => {}
                lease => s.lease = Some(lease),
            },
            "automatic_half_open" => s.auto = value.as_bool().unwrap(),
            _ => return Err(format!("unknown setting {key}")),
        }
    }
    s.window = match config["window"].as_str() {
        Some("time") => Window::Time {
            length: u64::from(size) * 1_000 * MS,
            bucket: 1_000 * MS,
        },
        _ => Window::Calls(size),
    };
    s.slow = Some(Slow {
        rate: slow_rate,
        over: slow_over,
    });
    (s.open, s.backoff, s.max_open) = wait;
    Ok(s)
}

fn percent(value: &Value) -> Rate {
    Rate::ppm((value.as_f64().unwrap() * 10_000.0).round() as u32)
}

/// Whether a rate is the wanted percentage, which is -1 below the minimum and
/// otherwise a 32-bit float.
fn is_rate(wanted: &Value, seen: Option<u32>) -> bool {
    let wanted = wanted.as_f64().unwrap();
    match seen {
        None => wanted == -1.0,
        Some(ppm) => (f64::from(ppm) / 10_000.0 - wanted).abs() < 0.0002,
    }
}
