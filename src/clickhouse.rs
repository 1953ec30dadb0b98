//! Questions to a ClickHouse that holds the table of OpenTelemetry's collector, and what its answers mean.
//!
//! Owns the SQL, how a link says it ([`Asked`]) and the words for refusals; who sends it and reads the
//! answer is the command line or the page. Invariants: whatever a person names (tables, services) stays inside its quotes; a trace is asked
//! for whole or not at all, sampled or not; times are exact nanoseconds in UTC whatever the server's zone
//! is; an answer that ended early is told from a whole one. O(length of the text). Pinned by
//! `tests/it/clickhouse.rs` and, against a real ClickHouse, by `tests/clickhouse/`.

mod asked;

pub use asked::{Asked, SCHEME};

use crate::format;
use crate::parts;

/// The spans that are asked for.
///
/// A trace is taken when one of its spans starts in the window (and belongs to one of the services), and
/// then with all its spans from [`MARGIN_NS`] before the window to as long after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The table, or `database.table`.
    pub table: String,
    /// When the window begins, in nanoseconds since 1970.
    pub from: Option<i64>,
    /// When it has ended.
    pub to: Option<i64>,
    /// Traces without a span of one of these are left out; empty: none is.
    pub services: Vec<String>,
    /// Takes one whole trace in so many.
    pub sample: Option<u32>,
    /// More rows than this the server refuses to send.
    pub max_rows: u64,
    /// Longer than this it does not work.
    pub max_seconds: u32,
}

/// How far outside of the window the spans of a trace are looked for: five minutes.
pub const MARGIN_NS: i64 = 300 * 1_000_000_000;

/// What the address of a query asks of the server: an answer that is packed, where the client says that
/// it can unpack.
pub const PARAMETERS: &str = "enable_http_compression=1";

/// What a page asks besides: leave to see the answer, and that work ends for which nobody waits.
pub const PARAMETERS_OF_PAGES: &str =
    "add_http_cors_header=1&cancel_http_readonly_queries_on_client_close=1";

/// How many spans one reading natively bears.
pub const MOST_ROWS: u64 = 20_000_000;

impl Default for Query {
    fn default() -> Query {
        Query {
            table: "otel_traces".to_owned(),
            from: None,
            to: None,
            services: Vec::new(),
            sample: None,
            max_rows: MOST_ROWS,
            max_seconds: 300,
        }
    }
}

/// The attributes that a reader takes notice of. The rest stays where it is: statements and stack traces
/// would be most of the bytes.
const ATTRIBUTES: &[&str] = &[
    "k8s.pod.name",
    "kubernetes.pod.name",
    "kube_pod_name",
    "service.instance.id",
    "container.id",
    "client-uuid",
    "service.node.name",
    "host.name",
    "hostname",
    "peer.service",
    "server.address",
    "net.peer.name",
    "db.system",
    "db.system.name",
    "exception.message",
    "http.response.status_code",
    "http.status_code",
    "rpc.grpc.status_code",
    "rpc.response.status_code",
    "service.name",
    "service_name",
    "span.kind",
    "error",
    "breaker.state",
    "breaker.generation",
    "breaker.rejected",
    "breaker.name",
];

/// The header of the last column. It is the same number in every row, so that a whole answer is known by
/// its end.
const RATE: &str = "SampleRate";

impl Query {
    /// The query for the spans, as a CSV for the [`Reader`](crate::ingest::Reader).
    pub fn spans(&self) -> String {
        let keys: Vec<String> = ATTRIBUTES.iter().map(|key| literal(key)).collect();
        let keys = keys.join(", ");
        let (table, rate) = (quoted_table(&self.table), self.rate());
        let mut traces = String::new();
        if self.from.is_some() || self.to.is_some() || !self.services.is_empty() {
            let chosen = conditions(&[self.window(0), self.of_services(), self.sampled()]);
            // GLOBAL: a Distributed table refuses a plain IN.
            traces = format!("TraceId GLOBAL IN (SELECT TraceId FROM {table}{chosen})");
        }
        let rows = conditions(&[self.window(MARGIN_NS), self.sampled(), traces]);
        // The inner names keep the conditions from meaning what the outer columns make of them.
        format!(
            "\
SELECT
    concat(toString(at, 'UTC'), 'Z') AS Timestamp,
    TraceId, SpanId, ParentSpanId, TraceState, SpanName, SpanKind, ServiceName,
    mapFilter((k, v) -> k IN ({keys}), resource) AS ResourceAttributes,
    mapFilter((k, v) -> k IN ({keys}), attributes) AS SpanAttributes,
    arrayMap(event -> mapFilter((k, v) -> k = 'exception.message', event), events) AS `Events.Attributes`,
    Duration, StatusCode, StatusMessage,
    {rate} AS {RATE}
FROM (
    SELECT
        Timestamp AS at, TraceId, SpanId, ParentSpanId, TraceState, SpanName, SpanKind, ServiceName,
        ResourceAttributes AS resource, SpanAttributes AS attributes, `Events.Attributes` AS events,
        Duration, StatusCode, StatusMessage
    FROM {table}{rows}
)
SETTINGS {}
FORMAT CSVWithNames
",
            self.settings()
        )
    }

    /// The query for the number of spans and traces in the window. Of the services' traces every span
    /// counts, as in the answer to [`Query::spans`].
    pub fn how_many(&self) -> String {
        let table = quoted_table(&self.table);
        let mut traces = String::new();
        if !self.services.is_empty() {
            let chosen = conditions(&[self.window(0), self.of_services(), self.sampled()]);
            traces = format!("TraceId GLOBAL IN (SELECT TraceId FROM {table}{chosen})");
        }
        let rows = conditions(&[self.window(0), self.sampled(), traces]);
        format!(
            "SELECT count(), uniq(TraceId)\nFROM {table}{rows}\nSETTINGS {}\nFORMAT TabSeparated\n",
            self.settings()
        )
    }

    fn rate(&self) -> u32 {
        self.sample.unwrap_or(1).max(1)
    }

    fn window(&self, margin: i64) -> String {
        let time = |op, ns| format!("Timestamp {op} fromUnixTimestamp64Nano(toInt64({ns}))");
        let from = self.from.map(|ns| time(">=", ns.saturating_sub(margin)));
        let to = self.to.map(|ns| time("<", ns.saturating_add(margin)));
        let both: Vec<String> = from.into_iter().chain(to).collect();
        both.join(" AND ")
    }

    fn of_services(&self) -> String {
        let names: Vec<String> = self.services.iter().map(|name| literal(name)).collect();
        match names.is_empty() {
            true => String::new(),
            false => format!("ServiceName IN ({})", names.join(", ")),
        }
    }

    fn sampled(&self) -> String {
        match self.rate() {
            1 => String::new(),
            rate => format!("cityHash64(TraceId) % {rate} = 0"),
        }
    }

    /// With `readonly = 2` nothing can be written, and users of whom the server asks it may set the rest.
    /// An index of trace ids costs more than it saves for as many ids as a window has.
    fn settings(&self) -> String {
        format!(
            "readonly = 2, max_result_rows = {}, result_overflow_mode = 'throw', \
             max_execution_time = {}, timeout_overflow_mode = 'throw', use_index_for_in_with_subqueries = 0",
            self.max_rows, self.max_seconds
        )
    }
}

fn conditions(all: &[String]) -> String {
    let some: Vec<&str> = all.iter().map(String::as_str).collect();
    let some: Vec<&str> = some.into_iter().filter(|it| !it.is_empty()).collect();
    match some.is_empty() {
        true => String::new(),
        false => format!("\n    WHERE {}", some.join("\n    AND ")),
    }
}

fn literal(text: &str) -> String {
    quoted(text, '\'')
}

fn quoted_table(name: &str) -> String {
    match name.split_once('.') {
        Some((database, table)) => format!("{}.{}", quoted(database, '`'), quoted(table, '`')),
        None => quoted(name, '`'),
    }
}

fn quoted(text: &str, quote: char) -> String {
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c => {
                if c == '\\' || c == quote {
                    out.push('\\');
                }
                out.push(c);
            }
        }
    }
    out.push(quote);
    out
}

/// What [`Query::how_many`] is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Spans.
    pub spans: u64,
    /// Traces, nearly.
    pub traces: u64,
}

impl Counts {
    /// Reads the answer; `None` when it is none.
    pub fn parse(answer: &str) -> Option<Counts> {
        let (spans, traces) = answer.trim_end().split_once('\t')?;
        Some(Counts {
            spans: spans.parse().ok()?,
            traces: traces.parse().ok()?,
        })
    }

    /// One whole trace in how many to take so that no more than `most` spans come; `None`: all fit.
    pub fn sampling(self, most: u64) -> Option<u32> {
        if self.spans <= most {
            return None;
        }
        // Some room: traces differ in length, and those at the window's ends have spans outside of it.
        let room = (most - most / 10).max(1);
        Some(u32::try_from(self.spans.div_ceil(room)).unwrap_or(u32::MAX))
    }
}

/// The end of an answer, which tells whether it is whole.
#[derive(Debug, Default)]
pub struct Ending {
    held: Vec<u8>,
}

/// More than any refusal has.
const HELD: usize = 16 << 10;

impl Ending {
    /// Takes the bytes as they come.
    pub fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(HELD)..];
        if self.held.len() + bytes.len() > 2 * HELD {
            self.held.drain(..self.held.len() - HELD);
        }
        self.held.extend_from_slice(bytes);
    }

    /// Why the answer to [`Query::spans`] is not whole, as a sentence.
    pub fn check(&self, query: &Query) -> Result<(), String> {
        let text = String::from_utf8_lossy(&self.held);
        let text = text.trim_end();
        let last = text.trim_end_matches(|c: char| c.is_ascii_digit());
        let rate = text.get(last.len()..).unwrap_or_default();
        let header = text.ends_with(&format!("\"{RATE}\"")) || text.ends_with(RATE);
        if header || last.ends_with([',', ';', '\t']) && rate == query.rate().to_string() {
            return Ok(());
        }
        Err(self.refusal().unwrap_or_else(|| {
            "ClickHouse's answer ends in the middle: the connection was cut; try again, or take a shorter \
             time"
                .to_owned()
        }))
    }

    /// What ClickHouse has said instead of the rest of its answer, as a sentence.
    pub fn refusal(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.held);
        let said = match parts::split(&text, "__exception__") {
            Some((_, marked)) => parts::split(marked, "__exception__").map_or(marked, |it| it.0),
            None => {
                let begin = parts::find_last(&text, "\nCode: ");
                begin.and_then(|at| text.get(at..)).unwrap_or_default()
            }
        };
        Refusal::find(said)
            .map(|it| format!("ClickHouse stopped in the middle of its answer: {it}"))
    }
}

/// What ClickHouse says instead of an answer.
struct Refusal<'a> {
    code: u32,
    words: &'a str,
}

impl<'a> Refusal<'a> {
    /// `Code: 60. DB::Exception: Table ... (UNKNOWN_TABLE) (version 25.8.1.1 (official build))`
    fn find(text: &'a str) -> Option<Refusal<'a>> {
        let (_, rest) = parts::split(text, "Code: ")?;
        let code = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        let code = code.parse().ok()?;
        let (_, words) = parts::split(rest, "DB::Exception: ")?;
        // Then follow the query, its plan and the version.
        let ends = [
            "\n",
            "\r",
            " (version ",
            ". In scope ",
            "? In scope ",
            ": while executing ",
        ];
        let end = ends.iter().filter_map(|it| parts::find(words, it)).min();
        Some(Refusal {
            code,
            words: end.and_then(|it| words.get(..it)).unwrap_or(words),
        })
    }

    fn remedy(&self) -> &'static str {
        match self.code {
            60 | 81 => "name the table as DATABASE.TABLE",
            192..=194 | 516 => "check the user and the password",
            497 => "have the user granted SELECT on the table",
            164 => {
                "the user may not set limits: have `readonly = 2` in its profile instead of 1, which \
                 forbids writing all the same"
            }
            452 => {
                "the user's profile forbids a limit that the query sets: have that constraint widened"
            }
            158..=160 | 241 | 307 | 396 => {
                "take a shorter time or only some services, or sample whole traces"
            }
            43 | 47 | 53 | 386 => {
                "the table is not laid out as the collector's otel_traces, with attributes in Map columns"
            }
            46 | 62 | 115 => "this server is too old for the query, or none of ClickHouse's",
            202 => "the server is busy: try again",
            _ => "try the query (--sql prints it) in clickhouse-client",
        }
    }
}

impl std::fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = brief(self.words);
        write!(f, "{words} [code {}]; {}", self.code, self.remedy())
    }
}

/// At most 200 characters, on one line.
fn brief(text: &str) -> String {
    const LONGEST: usize = 200;
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = format::printable(&line.join(" "));
    let cut = line.char_indices().nth(LONGEST);
    match cut.and_then(|(at, _)| line.get(..at)) {
        Some(begin) => format!("{begin}\u{2026}"),
        None => line,
    }
}

/// An answer that is not one, as a sentence: what was said, and what to do.
pub fn refused(status: u16, body: &str) -> String {
    match Refusal::find(body) {
        Some(refusal) => format!("ClickHouse refused: {refusal}"),
        None => format!(
            "the server answered with HTTP {status}{}; ClickHouse listens for HTTP on port 8123, or 8443 \
             with TLS: check the address",
            match brief(body.trim()) {
                nothing if nothing.is_empty() => nothing,
                said => format!(" (\u{201c}{said}\u{201d})"),
            }
        ),
    }
}

/// Why a page sees no answer at all. A browser says only that there is none; the rest shows when it asks
/// in other ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// The server lets the page ask, but the answer has no leave to be seen: it was given before the
    /// server knew the user.
    Unknown,
    /// It lets no page of another origin ask.
    Cors,
    /// Nothing answers.
    Unreached,
}

impl Unanswered {
    /// A sentence: what is wrong, and what to do.
    pub fn as_str(self) -> &'static str {
        match self {
            Unanswered::Unknown => {
                "the server refuses this user: check the user and the password, and that its profile has \
                 readonly = 2"
            }
            Unanswered::Cors => {
                "the server does not let pages of another origin ask (CORS): set add_http_cors_header = 1 in \
                 the user's profile and http_options_response in the server's configuration"
            }
            Unanswered::Unreached => {
                "the server cannot be reached: check the address and the way there; ClickHouse listens for \
                 HTTP on port 8123, or 8443 with TLS, and a page from https asks only servers with TLS"
            }
        }
    }
}

/// That there is more than can be read, and what to do.
pub fn too_many(counts: Counts, query: &Query) -> Option<String> {
    let rate = counts
        .sampling(query.max_rows)?
        .saturating_mul(query.rate());
    let of = match query.rate() {
        1 => String::new(),
        rate => format!(" (1 in {rate} taken)"),
    };
    Some(format!(
        "there are {} in about {}{of}, more than the {} that are read at once: take a shorter time or \
         only some services, or sample 1 whole trace in {rate}",
        format::counted(counts.spans, "span"),
        format::counted(counts.traces, "trace"),
        format::count(query.max_rows),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attribute_that_is_read_is_asked_for() {
        let source = include_str!("../reader/src/ingest/intake.rs");
        let arms = source
            .split_once("\"k8s.pod.name\"")
            .expect("the first arm")
            .1;
        let arms = arms.split_once("_ =>").expect("the last arm").0;
        let arms = arms.lines().filter_map(|line| line.split_once("=>"));
        let names = arms.flat_map(|(names, _)| names.split('"').skip(1).step_by(2));
        // Those stand in columns of their own here.
        let own = [
            "otel.status_description",
            "otel.status_code",
            "w3c.tracestate",
        ];
        let mut found = 1;
        for name in names.filter(|it| !own.contains(it)) {
            assert!(ATTRIBUTES.contains(&name), "{name}");
            found += 1;
        }
        assert_eq!(found, ATTRIBUTES.len());
    }
}
