//! How exporters write spans: one table of columns each, and how they write cells.
//!
//! Invariant: a dialect is data alone. Cost: no allocation per row.

use super::{Ending, Kind, Span};

/// What writes a cell.
type Cell = fn(&Span, &mut Vec<u8>);

/// A column.
#[derive(Debug)]
pub struct Column {
    header: &'static str,
    cell: Cell,
    /// Whether the exporter puts quotes around it, whatever is in it.
    quoted: bool,
}

/// How one exporter writes spans as CSV.
#[derive(Debug)]
pub struct Dialect {
    /// As the reader calls the exporter, but `herd`: ClickHouse's table as the recorded herd has it.
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
    /// Whether rows say which trace they are of.
    pub tells_traces: bool,
    /// Whether a call that timed out can be told from others.
    pub tells_timeouts: bool,
}

impl Dialect {
    /// The line of headers.
    pub(super) fn header(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(1 << 17);
        self.line(&mut out, |column, out| {
            out.extend_from_slice(column.header.as_bytes());
        });
        out
    }

    /// Appends a span's row.
    pub(super) fn row(&self, span: &Span, out: &mut Vec<u8>) {
        self.line(out, |column, out| (column.cell)(span, out));
    }

    fn line(&self, out: &mut Vec<u8>, cell: impl Fn(&Column, &mut Vec<u8>)) {
        for (at, column) in self.columns.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            if column.quoted {
                out.push(b'"');
            }
            cell(column, out);
            if column.quoted {
                out.push(b'"');
            }
        }
        out.push(b'\n');
    }
}

/// The dialect of that name.
pub fn dialect(name: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().find(|it| it.name == name)
}

const fn col(header: &'static str, cell: Cell) -> Column {
    Column {
        header,
        cell,
        quoted: false,
    }
}

const fn quoted(header: &'static str, cell: Cell) -> Column {
    Column {
        header,
        cell,
        quoted: true,
    }
}

const fn dialect_of(name: &'static str, columns: &'static [Column]) -> Dialect {
    Dialect {
        name,
        columns,
        tells_traces: true,
        tells_timeouts: true,
    }
}

/// All of them.
pub static DIALECTS: &[Dialect] = &[
    dialect_of(
        "herd",
        &[
            col("Timestamp", clock),
            col("TraceId", trace),
            col("SpanId", span),
            col("ParentSpanId", parent),
            col("TraceState", nothing),
            col("SpanName", operation),
            col("SpanKind", kind_title),
            col("ServiceName", service),
            quoted("ResourceAttributes", resource_map),
            col("ScopeName", |_, out| text(out, "herd")),
            col("ScopeVersion", |_, out| text(out, "1")),
            quoted("SpanAttributes", attribute_map),
            col("Duration", duration_ns),
            col("StatusCode", status_title),
            col("StatusMessage", message),
        ],
    ),
    dialect_of(
        "clickhouse",
        &[
            quoted("Timestamp", clock),
            quoted("TraceId", trace),
            quoted("SpanId", span),
            quoted("ParentSpanId", parent),
            quoted("TraceState", nothing),
            quoted("SpanName", operation),
            quoted("SpanKind", kind_title),
            quoted("ServiceName", service),
            quoted("ResourceAttributes", resource_map),
            quoted("ScopeName", |_, out| text(out, "io.otel")),
            quoted("ScopeVersion", |_, out| text(out, "1.0")),
            quoted("SpanAttributes", attribute_map),
            col("Duration", duration_ns),
            quoted("StatusCode", status_title),
            quoted("StatusMessage", message),
            quoted("Events.Timestamp", empty_list),
            quoted("Events.Name", empty_list),
            quoted("Events.Attributes", empty_list),
            quoted("Links.TraceId", empty_list),
            quoted("Links.SpanId", empty_list),
            quoted("Links.TraceState", empty_list),
            quoted("Links.Attributes", empty_list),
        ],
    ),
    Dialect {
        // No status: how a span ended is not told.
        tells_timeouts: false,
        ..dialect_of(
            "nezha",
            &[
                col("TraceID", trace),
                col("SpanID", span),
                col("ParentID", parent_or_root),
                col("PodName", pod),
                col("OperationName", operation),
                col("StartTimeUnixNano", start_ns),
                col("EndTimeUnixNano", end_ns),
                col("Duration", duration_us),
            ],
        )
    },
    dialect_of(
        "dash0",
        &[
            col("otel.span.start_time", iso_ms),
            col("otel.span.duration", duration_words),
            col("otel.span.name", operation),
            col("otel.span.status.code", status_upper),
            col("service.name", service),
            col("otel.parent.id", parent),
            col("otel.trace.id", trace),
            col("otel.span.id", span),
            col("otel.span.status.message", message),
            col("otel.span.kind", kind_upper),
            col("k8s.pod.name", pod),
            col("otel.span.links", nothing),
        ],
    ),
    dialect_of(
        "grafana",
        &[
            col("traceID", trace),
            col("spanID", span),
            col("parentSpanID", parent),
            col("operationName", operation),
            col("serviceName", service),
            col("kind", kind),
            col("statusCode", status_number),
            col("statusMessage", message),
            col("instrumentationLibraryName", |_, out| text(out, "io.otel")),
            col("instrumentationLibraryVersion", |_, out| text(out, "1.0")),
            col("traceState", nothing),
            col("serviceTags", service_tags),
            col("startTime", start_ms),
            col("duration", duration_ms),
            col("logs", |_, out| text(out, "null")),
            col("references", |_, out| text(out, "null")),
            col("tags", tags),
        ],
    ),
    dialect_of(
        "signoz",
        &[
            col("timestamp", iso_ns),
            col("duration_nano", duration_ns),
            col("name", operation),
            col("response_status_code", http),
            col("service.name", service),
            col("span_id", span),
            col("trace_id", trace),
            col("parent_span_id", parent),
            col("kind_string", kind_title),
            col("has_error", has_failed),
            col("k8s.pod.name", pod),
        ],
    ),
    Dialect {
        // No ids: each row is a trace.
        tells_traces: false,
        tells_timeouts: false,
        ..dialect_of(
            "datadog",
            &[
                col("Date", iso_ms),
                col("Service", service),
                col("Resource", operation),
                col("Duration", duration_short),
                col("Method", method),
                col("Status Code", http),
            ],
        )
    },
    dialect_of(
        "dynatrace",
        &[
            col("start_time", iso_ns),
            col("end_time", iso_ns_end),
            col("duration", duration_ns),
            col("trace.id", trace),
            col("span.id", span),
            col("span.parent_id", parent),
            col("span.name", operation),
            col("span.kind", kind),
            col("span.status_code", |span, out| {
                text(out, if is_failed(span) { "error" } else { "ok" });
            }),
            col("service.name", service),
            col("request.is_failed", has_failed),
        ],
    ),
    dialect_of(
        "rcaeval",
        &[
            col("time", |span, out| {
                let second = span.start.div_euclid(1_000_000_000);
                digits(out, (second.rem_euclid(86_400) / 3600) as u64, 2);
                out.push(b':');
                digits(out, (second.rem_euclid(3600) / 60) as u64, 2);
            }),
            col("traceID", trace),
            col("spanID", span),
            col("serviceName", service),
            col("methodName", operation),
            col("operationName", operation),
            col("startTimeMillis", |span, out| {
                number(out, span.start as u64 / 1_000_000)
            }),
            col("startTime", start_us),
            col("duration", duration_us),
            col("statusCode", |span, out| {
                text(out, if is_failed(span) { "2.0" } else { "0.0" });
            }),
            col("parentSpanID", parent),
        ],
    ),
    dialect_of(
        "skywalking",
        &[
            col("StartTime", |span, out| {
                number(out, span.start as u64 / 1_000_000)
            }),
            col("EndTime", |span, out| number(out, end(span) / 1_000_000)),
            col("URL", operation),
            col("SpanType", |span, out| {
                text(
                    out,
                    if span.kind == Kind::Client {
                        "Exit"
                    } else {
                        "Entry"
                    },
                );
            }),
            col("Service", service),
            col("SpanId", span),
            col("TraceId", trace),
            col("Peer", |span, out| text(out, span.peer)),
            col("ParentSpan", |span, out| match span.parent {
                0 => text(out, "-1"),
                _ => parent(span, out),
            }),
            col("Component", |_, out| text(out, "SpringRestTemplate")),
            col("IsError", |span, out| {
                text(out, if is_failed(span) { "True" } else { "False" })
            }),
        ],
    ),
    dialect_of(
        "elastic",
        &[
            quoted("@timestamp", kibana_clock),
            quoted("service.name", service),
            quoted("transaction.name", |span, out| match span.kind {
                Kind::Client => out.push(b'-'),
                Kind::Server => operation(span, out),
            }),
            quoted("transaction.duration.us", |span, out| match span.kind {
                Kind::Client => out.push(b'-'),
                Kind::Server => duration_us(span, out),
            }),
            quoted("span.name", |span, out| match span.kind {
                Kind::Client => operation(span, out),
                Kind::Server => out.push(b'-'),
            }),
            quoted("span.duration.us", |span, out| match span.kind {
                Kind::Client => duration_us(span, out),
                Kind::Server => out.push(b'-'),
            }),
            quoted("event.outcome", |span, out| {
                text(
                    out,
                    if is_failed(span) {
                        "failure"
                    } else {
                        "success"
                    },
                );
            }),
            quoted("trace.id", trace),
            quoted("transaction.id", |it, out| match it.kind {
                Kind::Client => out.push(b'-'),
                Kind::Server => span(it, out),
            }),
            quoted("span.id", |it, out| match it.kind {
                Kind::Client => span(it, out),
                Kind::Server => out.push(b'-'),
            }),
            quoted("parent.id", |span, out| match span.parent {
                0 => out.push(b'-'),
                _ => parent(span, out),
            }),
        ],
    ),
    dialect_of(
        "honeycomb",
        &[
            col("Timestamp", iso_ns),
            col("trace.trace_id", trace),
            col("trace.span_id", span),
            col("trace.parent_id", parent),
            col("name", operation),
            col("service.name", service),
            col("duration_ms", duration_ms),
            col("span.kind", kind),
            col("status_code", status_number),
            col("error", has_failed),
            col("status_message", message),
            col("meta.annotation_type", nothing),
            col("SampleRate", |_, out| text(out, "1")),
            col("k8s.pod.name", pod),
        ],
    ),
    dialect_of(
        "newrelic",
        &[
            col("timestamp", |span, out| {
                number(out, span.start as u64 / 1_000_000)
            }),
            col("trace.id", trace),
            col("id", span),
            col("parent.id", parent),
            col("name", operation),
            col("service.name", service),
            col("duration.ms", duration_ms),
            col("span.kind", kind),
            col("error", |span, out| {
                text(out, if is_failed(span) { "true" } else { "" })
            }),
            col("otel.status_code", |span, out| {
                text(out, if is_failed(span) { "ERROR" } else { "" })
            }),
            col("otel.status_description", message),
            col("http.statusCode", http),
            col("host", pod),
        ],
    ),
];

/// A timed-out call has failed for who called; who answers it never heard of that.
fn is_failed(span: &Span) -> bool {
    matches!(span.ending, Ending::Failed | Ending::TimedOut)
}

fn end(span: &Span) -> u64 {
    span.start as u64 + span.duration
}

// ---- Cells: names

fn nothing(_: &Span, _: &mut Vec<u8>) {}

fn empty_list(_: &Span, out: &mut Vec<u8>) {
    text(out, "[]");
}

fn trace(span: &Span, out: &mut Vec<u8>) {
    span.trace.iter().for_each(|&half| hex(out, half));
}

fn span(span: &Span, out: &mut Vec<u8>) {
    hex(out, span.id);
}

fn parent(span: &Span, out: &mut Vec<u8>) {
    if span.parent != 0 {
        hex(out, span.parent);
    }
}

fn parent_or_root(span: &Span, out: &mut Vec<u8>) {
    match span.parent {
        0 => text(out, "root"),
        _ => parent(span, out),
    }
}

fn service(span: &Span, out: &mut Vec<u8>) {
    text(out, span.service);
}

/// As a deployment names them: `catalog-5c6d7e8f9-xxxx0`.
fn pod(span: &Span, out: &mut Vec<u8>) {
    text(out, span.service);
    text(out, "-5c6d7e8f9-xxxx");
    number(out, u64::from(span.pod));
}

fn operation(span: &Span, out: &mut Vec<u8>) {
    text(out, span.operation);
}

fn method(_: &Span, out: &mut Vec<u8>) {
    text(out, "GET");
}

fn kind(span: &Span, out: &mut Vec<u8>) {
    kind_as(["client", "server"], span, out);
}

fn kind_title(span: &Span, out: &mut Vec<u8>) {
    kind_as(["Client", "Server"], span, out);
}

fn kind_upper(span: &Span, out: &mut Vec<u8>) {
    kind_as(["CLIENT", "SERVER"], span, out);
}

fn kind_as([client, server]: [&str; 2], span: &Span, out: &mut Vec<u8>) {
    text(
        out,
        if span.kind == Kind::Client {
            client
        } else {
            server
        },
    );
}

// ---- Cells: endings

fn status_title(span: &Span, out: &mut Vec<u8>) {
    text(out, if is_failed(span) { "Error" } else { "Unset" });
}

fn status_upper(span: &Span, out: &mut Vec<u8>) {
    text(out, if is_failed(span) { "ERROR" } else { "UNSET" });
}

fn status_number(span: &Span, out: &mut Vec<u8>) {
    out.push(if is_failed(span) { b'2' } else { b'0' });
}

fn has_failed(span: &Span, out: &mut Vec<u8>) {
    text(out, if is_failed(span) { "true" } else { "false" });
}

fn message(span: &Span, out: &mut Vec<u8>) {
    text(
        out,
        match span.ending {
            Ending::TimedOut => "context deadline exceeded",
            Ending::Failed => "HTTP 500",
            Ending::Good | Ending::Abandoned => "",
        },
    );
}

/// The status of HTTP; who waited in vain has none.
fn http(span: &Span, out: &mut Vec<u8>) {
    text(
        out,
        match span.ending {
            Ending::Good => "200",
            Ending::Failed => "500",
            Ending::Abandoned => "499",
            Ending::TimedOut => "",
        },
    );
}

// ---- Cells: attributes

fn resource_map(span: &Span, out: &mut Vec<u8>) {
    text(out, "{'k8s.pod.name':'");
    text(out, span.service);
    out.push(b'-');
    number(out, u64::from(span.pod));
    text(out, "','service.name':'");
    text(out, span.service);
    text(out, "'}");
}

fn attribute_map(span: &Span, out: &mut Vec<u8>) {
    text(out, "{'http.request.method':'GET'");
    if span.ending != Ending::TimedOut {
        text(out, ",'http.response.status_code':'");
        http(span, out);
        out.push(b'\'');
    }
    out.push(b'}');
}

fn service_tags(span: &Span, out: &mut Vec<u8>) {
    text(out, r#""[{""value"":"""#);
    text(out, span.service);
    text(out, r#""",""key"":""service.name""},{""value"":"""#);
    pod(span, out);
    text(out, r#""",""key"":""k8s.pod.name""}]""#);
}

fn tags(span: &Span, out: &mut Vec<u8>) {
    text(
        out,
        r#""[{""value"":""GET"",""key"":""http.request.method""}"#,
    );
    if span.ending != Ending::TimedOut {
        text(out, r#",{""value"":"#);
        http(span, out);
        text(out, r#",""key"":""http.response.status_code""}"#);
    }
    text(out, r#"]""#);
}

// ---- Cells: times

fn start_ns(span: &Span, out: &mut Vec<u8>) {
    number(out, span.start as u64);
}

fn end_ns(span: &Span, out: &mut Vec<u8>) {
    number(out, end(span));
}

fn start_us(span: &Span, out: &mut Vec<u8>) {
    number(out, span.start as u64 / 1000);
}

/// With four digits below the millisecond.
fn start_ms(span: &Span, out: &mut Vec<u8>) {
    fraction(out, span.start as u64 / 100, 4);
}

fn duration_ns(span: &Span, out: &mut Vec<u8>) {
    number(out, span.duration);
}

fn duration_us(span: &Span, out: &mut Vec<u8>) {
    number(out, span.duration / 1000);
}

fn duration_ms(span: &Span, out: &mut Vec<u8>) {
    fraction(out, span.duration, 6);
}

/// `25.3ms`, `2.50s`.
fn duration_words(span: &Span, out: &mut Vec<u8>) {
    if span.duration < 1_000_000_000 {
        fraction(out, span.duration / 100_000, 1);
        text(out, "ms");
    } else {
        fraction(out, span.duration / 10_000_000, 2);
        text(out, "s");
    }
}

/// `25.30ms`, `2.50s`.
fn duration_short(span: &Span, out: &mut Vec<u8>) {
    if span.duration < 1_000_000_000 {
        fraction(out, span.duration / 10_000, 2);
        text(out, "ms");
    } else {
        fraction(out, span.duration / 10_000_000, 2);
        text(out, "s");
    }
}

/// `2026-09-26 08:00:00.123456789`.
fn clock(span: &Span, out: &mut Vec<u8>) {
    date_and_time(out, span.start, b' ', 9);
}

fn iso_ms(span: &Span, out: &mut Vec<u8>) {
    date_and_time(out, span.start, b'T', 3);
    out.push(b'Z');
}

fn iso_ns(span: &Span, out: &mut Vec<u8>) {
    date_and_time(out, span.start, b'T', 9);
    out.push(b'Z');
}

fn iso_ns_end(span: &Span, out: &mut Vec<u8>) {
    date_and_time(out, end(span) as i64, b'T', 9);
    out.push(b'Z');
}

/// `Mar 29, 2026 @ 01:00:45.020`.
fn kibana_clock(span: &Span, out: &mut Vec<u8>) {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let [year, month, day] = date(span.start);
    text(out, MONTHS[month as usize - 1]);
    out.push(b' ');
    number(out, day);
    text(out, ", ");
    number(out, year);
    text(out, " @ ");
    time(out, span.start, 3);
}

// ---- Their parts

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn hex(out: &mut Vec<u8>, value: u64) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut cell = [0; 16];
    for (at, digit) in cell.iter_mut().enumerate() {
        *digit = DIGITS[(value >> (60 - 4 * at)) as usize & 15];
    }
    out.extend_from_slice(&cell);
}

fn number(out: &mut Vec<u8>, value: u64) {
    let n_digits = value.checked_ilog10().map_or(1, |it| it as usize + 1);
    digits(out, value, n_digits);
}

/// The last so many digits.
fn digits(out: &mut Vec<u8>, mut value: u64, n_digits: usize) {
    let from = out.len();
    out.resize(from + n_digits, b'0');
    for digit in out[from..].iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

/// With so many digits behind the point.
fn fraction(out: &mut Vec<u8>, value: u64, behind: usize) {
    let whole = 10_u64.pow(behind as u32);
    number(out, value / whole);
    out.push(b'.');
    digits(out, value % whole, behind);
}

/// `2026-09-26`.
pub(crate) fn day(out: &mut Vec<u8>, at: i64) {
    let [year, month, day] = date(at);
    digits(out, year, 4);
    for value in [month, day] {
        out.push(b'-');
        digits(out, value, 2);
    }
}

fn date_and_time(out: &mut Vec<u8>, at: i64, between: u8, behind: usize) {
    day(out, at);
    out.push(between);
    time(out, at, behind);
}

fn time(out: &mut Vec<u8>, at: i64, behind: usize) {
    let second = at.div_euclid(1_000_000_000).rem_euclid(86_400) as u64;
    for (value, after) in [
        (second / 3600, b':'),
        (second / 60 % 60, b':'),
        (second % 60, b'.'),
    ] {
        digits(out, value, 2);
        out.push(after);
    }
    let nanosecond = at.rem_euclid(1_000_000_000) as u64;
    digits(out, nanosecond / 10_u64.pow(9 - behind as u32), behind);
}

/// Year, month and day: counted in eras of 400 years that begin in March, so that leap days come last.
fn date(at: i64) -> [u64; 3] {
    let day = (at.div_euclid(86_400_000_000_000) + 719_468) as u64;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    [era * 400 + year + u64::from(month <= 2), month, day]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        const DAY: i64 = 86_400_000_000_000;
        for (days, expected) in [
            (0, [1970, 1, 1]),
            (59, [1970, 3, 1]),
            (11_016, [2000, 2, 29]),
            (20_722, [2026, 9, 26]),
            (20_818, [2026, 12, 31]),
            (20_819, [2027, 1, 1]),
        ] {
            assert_eq!(date(days * DAY + 5), expected, "{days}");
        }
    }

    #[test]
    fn numbers_are_written_with_their_digits() {
        let written = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            String::from_utf8(out).expect("digits")
        };
        assert_eq!(written(&|out| number(out, 0)), "0");
        assert_eq!(written(&|out| number(out, 1_000)), "1000");
        assert_eq!(written(&|out| fraction(out, 1_050, 2)), "10.50");
        assert_eq!(written(&|out| hex(out, 0xabc)), "0000000000000abc");
    }
}
