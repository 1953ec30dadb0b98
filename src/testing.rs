//! Small span tables written by hand, for tests.

use crate::issues::Issues;
use crate::outcome::Outcome;
use crate::rows::{Kind, SpanRow, SpanRows};
use crate::spans::SpanTable;

/// Spans being written down. A span's id is the name of its service, so a trace has one a service
/// unless [`Spans::push`] says otherwise. Times are milliseconds.
#[derive(Clone, Default)]
pub struct Spans {
    pub rows: SpanRows,
    parent: Option<String>,
    instance: Option<String>,
}

impl Spans {
    /// The next span hangs under the span of that id.
    pub fn under(&mut self, parent: &str) -> &mut Spans {
        self.parent = Some(parent.to_owned());
        self
    }

    /// The next span was recorded by that process.
    pub fn on(&mut self, instance: &str) -> &mut Spans {
        self.instance = Some(instance.to_owned());
        self
    }

    pub fn client(&mut self, trace: &str, service: &str, start: i64, duration: u64) -> &mut Spans {
        self.push(
            trace,
            service,
            service,
            Kind::Client,
            start,
            duration,
            Outcome::Success,
        )
    }

    pub fn server(&mut self, trace: &str, service: &str, start: i64, duration: u64) -> &mut Spans {
        self.push(
            trace,
            service,
            service,
            Kind::Server,
            start,
            duration,
            Outcome::Success,
        )
    }

    #[allow(clippy::too_many_arguments, reason = "a row has that many cells")]
    pub fn push(
        &mut self,
        trace: &str,
        span: &str,
        service: &str,
        kind: Kind,
        start: i64,
        duration: u64,
        outcome: Outcome,
    ) -> &mut Spans {
        let (parent, instance) = (self.parent.take(), self.instance.take());
        self.rows.push(SpanRow {
            trace,
            span,
            parent: parent.as_deref(),
            start: start * 1_000_000,
            duration: Some(duration * 1_000_000),
            service,
            operation: "op",
            kind,
            outcome,
            instance: instance.as_deref(),
            peer: None,
            message: "",
            row: self.rows.len() as u32 + 2,
        });
        self
    }
}

pub fn table(spans: &Spans) -> SpanTable {
    SpanTable::build(&spans.rows, &mut Issues::default())
}
