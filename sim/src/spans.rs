//! What a tracer would have recorded.
//!
//! Owns the spans of a run: a client span for each attempt that has ended, the proxy's and the service's where
//! they have. Invariant: a trace is one request of a group with all that was done for it, also after its
//! caller had gone; times are those of the run, to the nanosecond. O(attempts). Pinned by
//! `tests/it/simulate.rs` of the workspace.

use herdscope_reader::outcome::Outcome;
use herdscope_reader::rows::{Kind, SpanRow, SpanRows};

use crate::calls::{Answer, NEVER, NONE, Of};
use crate::draw::{Draws, Stream};
use crate::run::Run;
use crate::scenario::Scenario;
use crate::world::instance_name;

/// What clients say when the time is up.
const TIMED_OUT: &str = "context deadline exceeded";

impl Run {
    /// The spans, in the order in which their attempts were made.
    pub fn rows(&self, scenario: &Scenario) -> SpanRows {
        let ids = Ids(Draws::new(self.summary.seed));
        let mut rows = SpanRows::default();
        for at in 0..self.attempts.len() {
            self.add(scenario, ids, at as u32, &mut rows);
        }
        rows
    }

    fn add(&self, scenario: &Scenario, ids: Ids, at: u32, rows: &mut SpanRows) {
        let attempt = &self.attempts[at as usize];
        if attempt.end == NEVER {
            return;
        }
        let request = &self.requests[attempt.request as usize];
        let caller = &self.callers[request.caller as usize];
        let service = &scenario.services[caller.service as usize];
        let trace = ids.trace(self.top(attempt.request));
        let (client, proxy, server) = (ids.span(at, 0), ids.span(at, 1), ids.span(at, 2));
        let parent = (request.parent != NONE).then(|| ids.span(request.parent, 2));
        let from = match caller.of {
            Of::Group(group) => &scenario.groups[group as usize].name,
            Of::Service(service) => &scenario.services[service as usize].name,
        };
        let mut span = |row: SpanRow<'_>, from: i64, to: i64| {
            let number = u32::try_from(rows.len() + 2).unwrap_or(u32::MAX);
            rows.push(SpanRow {
                trace: &trace,
                start: scenario.starts_at.saturating_add(from),
                duration: Some(to.abs_diff(from)),
                row: number,
                ..row
            });
        };
        let operation = format!("GET /{}", service.name);
        let plain = SpanRow {
            trace: "",
            span: "",
            parent: None,
            start: 0,
            duration: None,
            service: "",
            operation: &operation,
            kind: Kind::Server,
            outcome: Outcome::Success,
            instance: None,
            peer: None,
            message: "",
            breaker: None,
            row: 0,
        };
        let (outcome, message) = told(attempt.answer);
        let instance = instance_name(from, caller.instance);
        span(
            SpanRow {
                span: &client,
                parent: parent.as_deref(),
                service: from,
                kind: Kind::Client,
                outcome,
                instance: Some(&instance),
                message,
                ..plain
            },
            attempt.start,
            attempt.end,
        );
        let network = scenario.network as i64;
        let served = attempt.work_end < self.end && attempt.taken != NEVER;
        let mut above = client;
        if let Some(name) = &service.proxy {
            let back = attempt.work_end.saturating_add(network);
            // Of what is still at the service, no proxy has recorded the end.
            if !served || back >= self.end {
                return;
            }
            let instance = instance_name(name, 0);
            span(
                SpanRow {
                    span: &proxy,
                    parent: Some(&above),
                    service: name,
                    instance: Some(&instance),
                    ..plain
                },
                attempt.start + network,
                back,
            );
            above = proxy;
        }
        if served {
            let pod = &self.pods[attempt.pod as usize];
            let instance = instance_name(&service.name, pod.number);
            span(
                SpanRow {
                    span: &server,
                    parent: Some(&above),
                    service: &service.name,
                    instance: Some(&instance),
                    ..plain
                },
                attempt.work_start,
                attempt.work_end,
            );
        }
    }

    /// The request of a group that a request was made for.
    fn top(&self, mut request: u32) -> u32 {
        loop {
            match self.requests[request as usize].parent {
                NONE => return request,
                attempt => request = self.attempts[attempt as usize].request,
            }
        }
    }
}

fn told(answer: Answer) -> (Outcome, &'static str) {
    match answer {
        Answer::Good | Answer::Waiting => (Outcome::Success, ""),
        Answer::TimedOut => (Outcome::TimedOut, TIMED_OUT),
        Answer::Bad => (Outcome::Failure, "HTTP 500"),
        Answer::Shed => (Outcome::Failure, "HTTP 503"),
        Answer::Cancelled => (Outcome::Failure, "context canceled"),
    }
}

/// The names of traces and spans.
#[derive(Clone, Copy)]
struct Ids(Draws);

impl Ids {
    fn trace(self, request: u32) -> String {
        let half = |at: u64| self.0.bits(Stream::Id, at);
        let at = u64::from(request) * 8;
        format!("{:016x}{:016x}", half(at), half(at + 1))
    }

    fn span(self, attempt: u32, part: u64) -> String {
        format!(
            "{:016x}",
            self.0.bits(Stream::Id, u64::from(attempt) * 8 + part + 2)
        )
    }
}
