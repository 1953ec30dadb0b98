//! A breaker's life as text: a log of events goes in, what came of it comes
//! out.
//!
//! Owns both texts and how a log is played on a `Machine`; `shared` plays it
//! on a `Breaker`, `draw` makes logs from a seed. Needs `core` and `alloc`
//! alone, as it is also a part of `bare`, the module for hosts without a
//! system: there is one reader and one writer for all of them. Invariant:
//! whatever the text, nothing panics; what is no log is told by its line.
//! Cost: O(events), memory for each call of the log. Pinned by
//! `tests/identical.rs` and, in a browser, by the browser tests' `bare`.
//!
//! # The log
//!
//! Its first line are the settings, which may be empty. Then a line an event:
//! the time in nanoseconds, what happened, and what that needs. Times may go
//! back, as clocks do.
//!
//! ```text
//! window=4 min=2 open=20ns probes=1
//! 0 acquire
//! 0 acquire
//! 5 failure 0
//! 7 failure 1
//! 27 advance
//! ```
//!
//! The calls are numbered from 0 in the order in which they were asked for,
//! and `success`, `failure`, `ignored` and `cancel` name theirs: it has taken
//! the time since then. Of a call that was rejected or has reported they say
//! nothing. `open_for` needs its nanoseconds; `advance`, `open`, `half_open`,
//! `close`, `force_open`, `disable`, `metrics_only` and `reset` need nothing.
//!
//! # What came of it
//!
//! A line a transition, in order: the time, the generation, from, to, the
//! cause, and the figures (results, failures, slow ones). The last line is
//! the state at the end and its counters.
//!
//! ```text
//! 7 1 closed open failure_rate 2 2 0
//! end open 1 2 2 0 1000000 0 0 0 0 1 0
//! ```

pub mod draw;
#[cfg(feature = "std")]
pub mod shared;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use halfopen::{
    Config, Machine, NotAllowed, Outcome, Permit, Rejected, Snapshot, State, Transition,
};

/// What happens to one breaker.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// Its settings.
    pub config: Config,
    /// What happens, in order.
    pub events: Vec<Event>,
}

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in nanoseconds.
    pub at: i64,
    /// What.
    pub what: What,
}

/// What happens. Calls go by the order in which they were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are the methods of the machine")]
pub enum What {
    Acquire,
    Settle(usize, Outcome),
    Cancel(usize),
    Advance,
    Open,
    OpenFor(u64),
    HalfOpen,
    Close,
    ForceOpen,
    Disable,
    MetricsOnly,
    Reset,
}

/// What the breaker says to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing, or that it is done.
    Done,
    /// The call may be made: the state and the generation that admit it.
    Admitted(State, u64),
    /// The call may not be made.
    Rejected(Rejected),
    /// The change by hand makes no sense.
    NotAllowed(NotAllowed),
}

impl From<Result<(), NotAllowed>> for Answer {
    fn from(result: Result<(), NotAllowed>) -> Answer {
        result.map_or_else(Answer::NotAllowed, |()| Answer::Done)
    }
}

impl Log {
    /// Reads a log.
    ///
    /// # Errors
    ///
    /// The line that is none, and what was expected there.
    pub fn parse(text: &str) -> Result<Log, String> {
        let mut lines = text.lines();
        let settings = lines.next().unwrap_or_default();
        let config = settings.parse().map_err(|it| format!("line 1: {it}"))?;
        let event = |(nth, line)| {
            let expected = "a time, an event and what it needs, such as `12 success 0`";
            read(line).ok_or_else(|| format!("line {}: `{line}` is not {expected}", nth + 2))
        };
        Ok(Log {
            config,
            events: lines.enumerate().map(event).collect::<Result<_, _>>()?,
        })
    }
}

fn read(line: &str) -> Option<Event> {
    let mut words = line.split(' ');
    let at = words.next()?.parse().ok()?;
    let name = words.next()?;
    let mut number = || words.next()?.parse::<u64>().ok();
    let mut call = || number()?.try_into().ok();
    let what = match name {
        "acquire" => What::Acquire,
        "success" => What::Settle(call()?, Outcome::Success),
        "failure" => What::Settle(call()?, Outcome::Failure),
        "ignored" => What::Settle(call()?, Outcome::Ignored),
        "cancel" => What::Cancel(call()?),
        "advance" => What::Advance,
        "open" => What::Open,
        "open_for" => What::OpenFor(number()?),
        "half_open" => What::HalfOpen,
        "close" => What::Close,
        "force_open" => What::ForceOpen,
        "disable" => What::Disable,
        "metrics_only" => What::MetricsOnly,
        "reset" => What::Reset,
        _ => return None,
    };
    words.next().is_none().then_some(Event { at, what })
}

impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.config)?;
        self.events.iter().try_for_each(|it| writeln!(f, "{it}"))
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.at)?;
        match self.what {
            What::Acquire => f.write_str("acquire"),
            What::Settle(call, Outcome::Success) => write!(f, "success {call}"),
            What::Settle(call, Outcome::Failure) => write!(f, "failure {call}"),
            What::Settle(call, Outcome::Ignored) => write!(f, "ignored {call}"),
            What::Cancel(call) => write!(f, "cancel {call}"),
            What::Advance => f.write_str("advance"),
            What::Open => f.write_str("open"),
            What::OpenFor(wait) => write!(f, "open_for {wait}"),
            What::HalfOpen => f.write_str("half_open"),
            What::Close => f.write_str("close"),
            What::ForceOpen => f.write_str("force_open"),
            What::Disable => f.write_str("disable"),
            What::MetricsOnly => f.write_str("metrics_only"),
            What::Reset => f.write_str("reset"),
        }
    }
}

/// Plays a log as text on a machine; gives what came of it as text.
///
/// # Errors
///
/// As [`Log::parse`].
pub fn replay(log: &str) -> Result<String, String> {
    let Log { config, events } = Log::parse(log)?;
    let mut machine = OnMachine::new(config);
    for event in events {
        machine.step(event);
    }
    Ok(machine.end())
}

/// A machine that is played a log.
pub struct OnMachine {
    /// The machine.
    pub machine: Machine,
    /// What has come of it so far.
    pub told: Told,
    /// Permits that are out, and since when.
    calls: Vec<Option<(Permit, i64)>>,
    /// The largest time seen.
    seen: i64,
}

impl OnMachine {
    /// A machine at the beginning of a log.
    pub fn new(config: Config) -> OnMachine {
        OnMachine {
            machine: Machine::new(config),
            told: Told::default(),
            calls: Vec::new(),
            seen: i64::MIN,
        }
    }

    /// The calls that are out, by number.
    pub fn out(&self) -> impl Iterator<Item = usize> + '_ {
        let calls = self.calls.iter().enumerate();
        calls.filter_map(|(nth, it)| it.as_ref().map(|_| nth))
    }

    /// Lets one event happen.
    pub fn step(&mut self, event: Event) -> Answer {
        let Event { at, what } = event;
        let machine = &mut self.machine;
        let mut take = |call| self.calls.get_mut(call).and_then(Option::take);
        let mut answer = Answer::Done;
        match what {
            What::Settle(call, outcome) => {
                let Some((permit, since)) = take(call) else {
                    return answer;
                };
                machine.settle(at, permit, outcome, at.max(since).abs_diff(since));
            }
            What::Cancel(call) => {
                let Some((permit, _)) = take(call) else {
                    return answer;
                };
                machine.cancel(at, permit);
            }
            What::Acquire => {
                let (permit, said) = match machine.acquire(at) {
                    Ok(it) => {
                        let said = Answer::Admitted(machine.state(), it.generation());
                        (Some((it, at)), said)
                    }
                    Err(rejected) => (None, Answer::Rejected(rejected)),
                };
                self.calls.push(permit);
                answer = said;
            }
            What::Advance => machine.advance(at),
            What::Open => answer = machine.open(at).into(),
            What::OpenFor(wait) => answer = machine.open_for(at, wait).into(),
            What::HalfOpen => answer = machine.half_open(at).into(),
            What::Close => machine.close(at),
            What::ForceOpen => machine.force_open(at),
            What::Disable => machine.disable(at),
            What::MetricsOnly => machine.metrics_only(at),
            What::Reset => machine.reset(at),
        }
        self.seen = self.seen.max(at);
        self.listen();
        answer
    }

    /// Lets happen what is due by the largest time seen.
    pub fn look(&mut self) {
        self.machine.advance(self.seen);
        self.listen();
    }

    /// What came of the log, at its end.
    pub fn end(mut self) -> String {
        self.look();
        self.told.end(&self.machine.snapshot())
    }

    fn listen(&mut self) {
        for transition in self.machine.drain_transitions() {
            self.told.transition(&transition);
        }
    }
}

/// What came of a log, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told(String);

impl Told {
    /// Adds a transition.
    fn transition(&mut self, it: &Transition) {
        // Writing to a string does not fail.
        let _ = writeln!(
            self.0,
            "{} {} {} {} {} {} {} {}",
            it.at,
            it.generation,
            it.from,
            it.to,
            it.cause,
            it.figures.calls,
            it.figures.failures,
            it.figures.slow
        );
    }

    /// Adds the end, with a `-` for a rate that is not judged.
    fn end(self, it: &Snapshot) -> String {
        let mut text = self.0;
        let _ = write!(
            text,
            "end {} {} {} {} {}",
            it.state, it.generation, it.calls, it.failures, it.slow
        );
        for rate in [it.failure_rate, it.slow_rate] {
            let _ = match rate {
                Some(ppm) => write!(text, " {ppm}"),
                None => write!(text, " -"),
            };
        }
        let _ = writeln!(
            text,
            " {} {} {} {} {}",
            it.not_permitted, it.late_results, it.ignored, it.openings, it.transitions_lost
        );
        text
    }
}
