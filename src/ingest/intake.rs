//! One record to one span row.
//!
//! Owns what cells mean: sentinels of roots, kinds, the truth of status columns, pods. Invariant: a
//! record costs at most itself: what cannot be read becomes an issue, and nothing panics. No
//! allocation a row beyond the columns and interned texts; O(length of the record). Pinned by `tests`
//! and by `tests/ingest/edge.rs`.

use std::fmt::Write as _;
use std::ops::Range;

use super::attributes;
use super::exporters::Field;
use super::plan::{ABSENT, Plan};
use super::time::{Stamp, Told, Unit, parse_duration, parse_time};
use crate::issues::{Code, Issues};
use crate::outcome::{Evidence, outcome};
use crate::rows::{Kind, SpanRow, SpanRows};

/// When spans can start, in nanoseconds since 1970: from 1896 to 2116. With [`LONGEST`], the distance
/// of any two times of a file and some room around them is an `i64`.
const STARTS: Range<i64> = -(1 << 61)..1 << 62;

/// How long spans can last, in nanoseconds: 36 years.
const LONGEST: u64 = 1 << 60;

/// The cells of one row, one after the other.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) text: &'a str,
    pub(super) ends: &'a [usize],
}

impl<'a> Record<'a> {
    #[inline]
    pub(super) fn get(&self, column: usize) -> &'a str {
        let Some(&end) = self.ends.get(column) else {
            return "";
        };
        let start = if column == 0 {
            0
        } else {
            self.ends[column - 1]
        };
        self.text.get(start..end).unwrap_or("")
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn iter(self) -> impl Iterator<Item = &'a str> {
        (0..self.len()).map(move |column| self.get(column))
    }
}

/// How often, and where first.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    count: u64,
    first: u64,
}

impl Tally {
    fn note(&mut self, row: u64) {
        if self.count == 0 {
            self.first = row;
        }
        self.count += 1;
    }
}

/// What is read so far, and what was noticed on nearly every row.
#[derive(Debug, Default)]
pub(super) struct Intake {
    pub(super) rows: SpanRows,
    pub(super) issues: Issues,
    /// Records met, those left out included.
    pub(super) met: u64,
    unzoned: Tally,
    without_trace: Tally,
    sampled: Tally,
    coarse: Tally,
    /// Starts that are finer than seconds.
    fine: u64,
    made_up: String,
    message: String,
}

impl Intake {
    /// Takes one record: as many cells as the header has, then attributes, a key and a value each.
    pub(super) fn take(&mut self, plan: &Plan, record: Record<'_>, row: u64) {
        let cell = |field| cell(plan, record, field);
        let text = cell(Field::Start);
        let start = parse_time(text, plan.start_unit).filter(|it| STARTS.contains(&it.ns));
        let Some(start) = start else {
            let column = plan.header(Field::Start);
            self.issues
                .note(Code::BadTime, Some(row), column, Some(text));
            return;
        };
        self.note_stamp(start, plan, row);
        let duration = self.duration(plan, record, start.ns, row);

        let (mut trace, mut span, mut parent) =
            (cell(Field::Trace), cell(Field::Span), cell(Field::Parent));
        if of_spreadsheet(trace) || of_spreadsheet(span) {
            let (field, got) = if of_spreadsheet(trace) {
                (Field::Trace, trace)
            } else {
                (Field::Span, span)
            };
            let column = plan.header(field);
            let issues = &mut self.issues;
            issues.note(Code::SpreadsheetIds, Some(row), column, Some(got));
            (trace, span, parent) = ("", "", "");
        } else if trace.is_empty() {
            self.without_trace.note(row);
            parent = "";
        }
        let mut made_up = std::mem::take(&mut self.made_up);
        if trace.is_empty() || span.is_empty() {
            made_up.clear();
            let _ = write!(made_up, "row:{row}");
        }
        trace = if trace.is_empty() { &made_up } else { trace };
        span = if span.is_empty() { &made_up } else { span };
        if is_no_parent(parent) {
            let references = cell(Field::References);
            parent = parent_of_references(references);
        }
        let of_root = is_no_parent(parent)
            || parent == span
            || plan.exporter.roots_name_their_trace && parent == trace;
        let parent = (!of_root).then_some(parent);

        let mut found = Found::default();
        self.look_into_attributes(plan, record, row, &mut found);
        let kind = match kind(cell(Field::Kind)) {
            Kind::Unset => kind(found.kind),
            told => told,
        };
        let http = status_number(cell(Field::Http)).or(found.http);
        let grpc = status_number(cell(Field::Grpc)).or(found.grpc);
        // A column of gRPC codes may hold HTTP's too: those begin where gRPC's have long ended.
        let http = http.or(grpc.filter(|&it| it >= 100));
        let grpc = grpc.filter(|&it| it <= 16);
        let status = status(cell(Field::Status));
        let failed = [
            status.failed,
            truth(cell(Field::Error)),
            truth(cell(Field::Success)).map(|it| !it),
            found.error,
            found.failed,
        ];
        let failed = if failed.contains(&Some(true)) {
            Some(true)
        } else {
            failed.into_iter().flatten().next()
        };
        let mut message = cell(Field::Message);
        if message.is_empty() {
            message = found.message.1;
            // Only cells of attributes hold texts with their backslashes.
            if !plan.attributes.is_empty() {
                message = attributes::unescape(message, &mut self.message);
            }
        }
        let evidence = Evidence {
            failed,
            message,
            http: http.or(status.http),
            grpc,
        };

        let mut service = cell(Field::Service);
        let mut instance = cell(Field::Instance);
        if service.is_empty() {
            service = found.service;
        }
        if plan.exporter.services_are_pods {
            (service, instance) = (service_of_pod(service), service);
        }
        if instance.is_empty() {
            instance = found.instance.1;
        }
        let mut peer = cell(Field::Peer);
        if peer.is_empty() {
            peer = found.peer.1;
        }
        // What a server span names as its address is itself.
        let calls = matches!(kind, Kind::Client | Kind::Producer | Kind::Unset);
        self.rows.push(SpanRow {
            trace,
            span,
            parent,
            start: start.ns,
            duration,
            service,
            operation: cell(Field::Operation),
            kind,
            outcome: outcome(evidence),
            instance: (!instance.is_empty()).then_some(instance),
            peer: (calls && !peer.is_empty()).then_some(peer),
            message,
            row: u32::try_from(row).unwrap_or(u32::MAX),
        });
        self.made_up = made_up;
        let mut state = cell(Field::TraceState);
        if state.is_empty() {
            state = found.state;
        }
        if !state.is_empty()
            && state.contains("th:")
            && !state.contains("th:0;")
            && !state.ends_with("th:0")
        {
            self.sampled.note(row);
        }
    }

    fn note_stamp(&mut self, stamp: Stamp, plan: &Plan, row: u64) {
        if !stamp.zoned && !plan.zone_told {
            self.unzoned.note(row);
        }
        if stamp.fine {
            self.fine += 1;
        } else {
            self.coarse.note(row);
        }
    }

    fn duration(&mut self, plan: &Plan, record: Record<'_>, start: i64, row: u64) -> Option<u64> {
        let text = cell(plan, record, Field::Duration);
        let end = || parse_time(cell(plan, record, Field::End), plan.end_unit).map(|it| it.ns);
        let (told, field) = match plan.duration_from_end().then(end).flatten() {
            Some(end) => (extent(start, end), Field::End),
            None => match parse_duration(text, plan.duration_unit, plan.decimal_comma) {
                Told::Nothing if plan.has(Field::End) => (
                    end().map_or(Told::Nothing, |end| extent(start, end)),
                    Field::End,
                ),
                told => (told, Field::Duration),
            },
        };
        let code = match told {
            Told::Ns(ns) if ns <= LONGEST => return Some(ns),
            Told::Ns(_) => Code::BadDuration,
            Told::Negative => Code::NegativeDuration,
            Told::Nothing => Code::BadDuration,
        };
        let got = if field == Field::Duration {
            text
        } else {
            cell(plan, record, field)
        };
        let got = (!got.is_empty()).then_some(got);
        self.issues.note(code, Some(row), plan.header(field), got);
        None
    }

    fn look_into_attributes<'a>(
        &mut self,
        plan: &Plan,
        record: Record<'a>,
        row: u64,
        found: &mut Found<'a>,
    ) {
        for &column in &plan.attributes {
            let text = record.get(column as usize);
            if text.len() < 3 {
                continue;
            }
            if text.starts_with("[object ") {
                let header = plan.headers.get(column as usize).map(String::as_str);
                self.issues
                    .note(Code::LostObjects, Some(row), header, Some(text));
                continue;
            }
            attributes::scan(text, &mut |key, value| found.note(key, value));
        }
        for at in (plan.headers.len()..record.len()).step_by(2) {
            found.note(record.get(at), record.get(at + 1));
        }
    }

    /// What can be said about the whole only at its end.
    pub(super) fn finish(&mut self, plan: &Plan) {
        let mut add = |code, tally: Tally, field, got| {
            if tally.count > 0 {
                let column = plan.header(field);
                self.issues
                    .add(code, tally.count, Some(tally.first), column, got);
            }
        };
        add(Code::MissingId, self.without_trace, Field::Trace, None);
        add(Code::ZoneAssumed, self.unzoned, Field::Start, None);
        add(Code::Sampled, self.sampled, Field::TraceState, None);
        if self.fine == 0 {
            add(Code::CoarseTimes, self.coarse, Field::Start, None);
        }
        let first = self.rows.row.first().copied();
        let once = Tally {
            count: u64::from(first.is_some()),
            first: u64::from(first.unwrap_or(0)),
        };
        if plan.start_guessed {
            add(
                Code::UnitAssumed,
                once,
                Field::Start,
                plan.start_unit.map(Unit::as_str),
            );
        }
        if plan.duration_guessed {
            add(
                Code::UnitAssumed,
                once,
                Field::Duration,
                Some(plan.duration_unit.as_str()),
            );
        }
        if plan.exporter.caps.contains(&self.met) {
            self.issues.add(Code::Capped, self.met, None, None, None);
        }
    }

    /// Whether times were read as UTC for want of a zone.
    pub(super) fn assumed_utc(&self) -> bool {
        self.unzoned.count > 0
    }
}

fn extent(start: i64, end: i64) -> Told {
    match i128::from(end) - i128::from(start) {
        ns @ 0.. => u64::try_from(ns).map_or(Told::Nothing, Told::Ns),
        _ => Told::Negative,
    }
}

/// The first cell of a field that is not blank.
#[inline(always)]
fn cell<'a>(plan: &Plan, record: Record<'a>, field: Field) -> &'a str {
    let tried = plan.tried(field);
    if tried[0] == ABSENT {
        return "";
    }
    let text = unguarded(record.get(tried[0] as usize));
    if !is_blank(text) {
        return text;
    }
    if tried[1] == ABSENT {
        return "";
    }
    let others = tried[1..].iter().take_while(|&&column| column != ABSENT);
    let mut others = others.map(|&column| unguarded(record.get(column as usize)));
    others.find(|text| !is_blank(text)).unwrap_or("")
}

/// Exporters put an apostrophe before what a spreadsheet would take for a formula.
#[inline]
fn unguarded(text: &str) -> &str {
    match text.as_bytes() {
        [b'\'', b'=' | b'+' | b'-' | b'@', ..] => &text[1..],
        _ => text,
    }
}

/// Marks that stand for no value.
#[inline]
fn is_blank(text: &str) -> bool {
    match text.len() {
        0 => true,
        1 => text == "-" || text == " ",
        2 => text == "\\N",
        3 => text.eq_ignore_ascii_case("nan"),
        4 => text.eq_ignore_ascii_case("null") || text.eq_ignore_ascii_case("none"),
        9 => text == "undefined",
        _ => false,
    }
}

/// Marks that stand for no parent.
#[inline]
fn is_no_parent(text: &str) -> bool {
    let zeros = || text.bytes().all(|b| b == b'0');
    is_blank(text)
        || text.starts_with('0') && zeros()
        || text == "-1"
        || text.eq_ignore_ascii_case("root")
}

/// The span that Jaeger's references name as the parent: the first one that this is a child of.
fn parent_of_references(text: &str) -> &str {
    if text.len() < 3 {
        return "";
    }
    let (mut child, mut parent) = (false, "");
    attributes::scan(text, &mut |key, value| match key {
        "ref_type" | "refType" => child = matches!(value, "child-of" | "CHILD_OF" | "child_of"),
        "span_id" | "spanID" if child && parent.is_empty() => parent = value,
        _ => {}
    });
    parent
}

/// Whether a spreadsheet turned this id into a number: `1.23457E+31`.
fn of_spreadsheet(id: &str) -> bool {
    let Some(plus) = memchr::memchr(b'+', id.as_bytes()) else {
        return false;
    };
    let Some(mantissa) = id[..plus].strip_suffix('E') else {
        return false;
    };
    let exponent = &id[plus + 1..];
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mut parts = mantissa.splitn(2, ['.', ',']);
    digits(exponent) && parts.next().is_some_and(digits) && parts.next().is_none_or(digits)
}

fn kind(text: &str) -> Kind {
    // The spellings of nearly all files, before the patient search.
    match text {
        "" => return Kind::Unset,
        "Server" | "SERVER" | "server" => return Kind::Server,
        "Client" | "CLIENT" | "client" => return Kind::Client,
        "Internal" | "INTERNAL" | "internal" => return Kind::Internal,
        _ => {}
    }
    let prefixed = text
        .get(..10)
        .is_some_and(|it| it.eq_ignore_ascii_case("span_kind_"));
    let name = if prefixed { &text[10..] } else { text };
    const NAMES: &[(&str, Kind)] = &[
        ("server", Kind::Server),
        ("client", Kind::Client),
        ("internal", Kind::Internal),
        ("producer", Kind::Producer),
        ("consumer", Kind::Consumer),
        // SkyWalking
        ("entry", Kind::Server),
        ("exit", Kind::Client),
        ("local", Kind::Internal),
        // Application Insights
        ("request", Kind::Server),
        ("dependency", Kind::Client),
        // OTLP's numbers
        ("1", Kind::Internal),
        ("2", Kind::Server),
        ("3", Kind::Client),
        ("4", Kind::Producer),
        ("5", Kind::Consumer),
    ];
    let found = NAMES.iter().find(|it| it.0.eq_ignore_ascii_case(name));
    found.map_or(Kind::Unset, |it| it.1)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Status {
    failed: Option<bool>,
    http: Option<u16>,
}

/// A status by word (`Error`, `STATUS_CODE_OK`, `failure`) or by number: OpenTelemetry's 0 to 2, or
/// HTTP's from 100.
fn status(text: &str) -> Status {
    let says = |failed| Status { failed, http: None };
    match text {
        "" => return Status::default(),
        "Unset" | "UNSET" | "Ok" | "OK" => return says(Some(false)),
        _ => {}
    }
    if text.as_bytes()[0].is_ascii_digit() {
        return match status_number(text) {
            Some(0 | 1) => says(Some(false)),
            Some(2) => says(Some(true)),
            Some(http @ 100..) => Status {
                failed: None,
                http: Some(http),
            },
            _ => Status::default(),
        };
    }
    let prefixed = text
        .get(..12)
        .is_some_and(|it| it.eq_ignore_ascii_case("status_code_"));
    let word = if prefixed { &text[12..] } else { text };
    let is = |words: &[&str]| words.iter().any(|it| it.eq_ignore_ascii_case(word));
    if is(&["ok", "unset", "success", "unknown", "true"]) {
        says(Some(false))
    } else if is(&["error", "failure", "failed", "fail", "fault", "false"]) {
        says(Some(true))
    } else {
        Status::default()
    }
}

/// A code, written `504` or `504.0`.
fn status_number(text: &str) -> Option<u16> {
    let bytes = text.as_bytes();
    let end = bytes.iter().position(|&b| b == b'.').unwrap_or(bytes.len());
    let whole = &bytes[..end];
    let valid = matches!(whole.len(), 1..=4) && whole.iter().all(u8::is_ascii_digit);
    valid.then(|| whole.iter().fold(0, |n, b| n * 10 + u16::from(b - b'0')))
}

fn truth(text: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|it| it.eq_ignore_ascii_case(text));
    if text.is_empty() {
        None
    } else if is(&["true", "1", "yes", "t"]) {
        Some(true)
    } else if is(&["false", "0", "no", "f"]) {
        Some(false)
    } else {
        None
    }
}

/// The attributes that are read. Ranks: of several the highest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attribute {
    Instance(u8),
    Peer(u8),
    Message(u8),
    Http,
    Grpc,
    Service,
    Kind,
    Error,
    Status,
    TraceState,
}

/// What an attribute of this name tells.
pub(super) fn attribute(key: &str) -> Option<Attribute> {
    Some(match key {
        "k8s.pod.name" => Attribute::Instance(5),
        "service.instance.id" => Attribute::Instance(4),
        "container.id" => Attribute::Instance(3),
        "client-uuid" => Attribute::Instance(2),
        "host.name" | "hostname" => Attribute::Instance(1),
        "peer.service" => Attribute::Peer(4),
        "server.address" => Attribute::Peer(3),
        "net.peer.name" => Attribute::Peer(2),
        "db.system" | "db.system.name" => Attribute::Peer(1),
        // What OpenTelemetry's own fields become where there are only attributes.
        "otel.status_description" => Attribute::Message(2),
        "exception.message" => Attribute::Message(1),
        "otel.status_code" => Attribute::Status,
        "w3c.tracestate" => Attribute::TraceState,
        "http.response.status_code" | "http.status_code" => Attribute::Http,
        "rpc.grpc.status_code" => Attribute::Grpc,
        "service.name" | "service_name" => Attribute::Service,
        "span.kind" => Attribute::Kind,
        "error" => Attribute::Error,
        _ => return None,
    })
}

/// What the attributes of one span tell.
#[derive(Default)]
struct Found<'a> {
    /// With their ranks.
    instance: (u8, &'a str),
    peer: (u8, &'a str),
    message: (u8, &'a str),
    http: Option<u16>,
    grpc: Option<u16>,
    service: &'a str,
    kind: &'a str,
    state: &'a str,
    error: Option<bool>,
    failed: Option<bool>,
}

impl<'a> Found<'a> {
    fn note(&mut self, key: &str, value: &'a str) {
        if value.is_empty() {
            return;
        }
        let better = |held: &mut (u8, &'a str), rank| {
            if held.0 < rank {
                *held = (rank, value);
            }
        };
        match attribute(key) {
            Some(Attribute::Instance(rank)) => better(&mut self.instance, rank),
            Some(Attribute::Peer(rank)) => better(&mut self.peer, rank),
            // The last exception is the one that ended the span.
            Some(Attribute::Message(rank)) if rank >= self.message.0 => {
                self.message = (rank, value);
            }
            Some(Attribute::Http) => self.http = status_number(value),
            Some(Attribute::Grpc) => self.grpc = status_number(value),
            Some(Attribute::Service) => self.service = value,
            Some(Attribute::Kind) => self.kind = value,
            Some(Attribute::TraceState) => self.state = value,
            Some(Attribute::Error) => self.error = truth(value),
            Some(Attribute::Status) => self.failed = status(value).failed,
            Some(Attribute::Message(_)) | None => {}
        }
    }
}

/// The service of a pod: without the hash of its ReplicaSet and its own suffix, or without its
/// ordinal in a StatefulSet.
pub(super) fn service_of_pod(pod: &str) -> &str {
    // Kubernetes draws suffixes from letters and digits that spell no words.
    let suffix = |part: &str| {
        part.len() == 5
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    let hash = |part: &str| {
        matches!(part.len(), 6..=10)
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            && part.bytes().any(|b| b.is_ascii_digit())
    };
    let Some((rest, last)) = pod.rsplit_once('-') else {
        return pod;
    };
    let service = match rest.rsplit_once('-') {
        Some((service, middle)) if suffix(last) && hash(middle) => service,
        _ if !last.is_empty() && last.len() <= 4 && last.bytes().all(|b| b.is_ascii_digit()) => {
            rest
        }
        _ => pod,
    };
    if service.is_empty() { pod } else { service }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_belong_to_services() {
        let cases = [
            ("frontend-579b9bff58-t2dbm", "frontend"),
            ("ts-gateway-service-6f6cfc45b-h5m2n", "ts-gateway-service"),
            ("inventory-5c6d7e8f9-xxxxx", "inventory"),
            ("mysql-0", "mysql"),
            ("ts-order-mongo", "ts-order-mongo"),
            ("ts-order-service", "ts-order-service"),
            ("frontend", "frontend"),
            ("-0", "-0"),
            ("", ""),
        ];
        for (pod, service) in cases {
            assert_eq!(service_of_pod(pod), service, "{pod}");
        }
    }

    #[test]
    fn no_parent() {
        for text in [
            "",
            "root",
            "-1",
            "0",
            "0000000000000000",
            "None",
            "null",
            "nan",
            "-",
            "undefined",
            "\\N",
            "NULL",
        ] {
            assert!(is_no_parent(text), "{text}");
        }
        for text in ["00f067aa0ba902b7", "1", "rooted", "-2"] {
            assert!(!is_no_parent(text), "{text}");
        }
    }

    #[test]
    fn ids_of_spreadsheets() {
        for id in ["1.23457E+31", "4,687E+11", "1E+10"] {
            assert!(of_spreadsheet(id), "{id}");
        }
        for id in [
            "1e10",
            "1E10",
            "0000000000000e10",
            "aE+1",
            "1.2.3E+1",
            "E+1",
        ] {
            assert!(!of_spreadsheet(id), "{id}");
        }
    }

    #[test]
    fn truth_of_a_status() {
        for text in ["ERROR", "2", "2.0", "STATUS_CODE_ERROR", "Error", "failure"] {
            assert_eq!(status(text).failed, Some(true), "{text}");
        }
        for text in [
            "OK",
            "UNSET",
            "0",
            "0.0",
            "1",
            "STATUS_CODE_UNSET",
            "success",
        ] {
            assert_eq!(status(text).failed, Some(false), "{text}");
        }
        assert_eq!(status("504").http, Some(504));
        assert_eq!(status("whatever"), Status::default());
    }

    #[test]
    fn kinds() {
        let cases = [
            ("Server", Kind::Server),
            ("SPAN_KIND_SERVER", Kind::Server),
            ("Entry", Kind::Server),
            ("Exit", Kind::Client),
            ("client", Kind::Client),
            ("Local", Kind::Internal),
            ("PRODUCER", Kind::Producer),
            ("UNSPECIFIED", Kind::Unset),
            ("", Kind::Unset),
        ];
        for (text, expected) in cases {
            assert_eq!(kind(text), expected, "{text}");
        }
    }
}
