//! The exporters that are known, one entry each.
//!
//! Owns the names of columns and what an exporter means by its cells. Invariant: an entry is data
//! alone, and is recognised by the set of its headers, never by their order; JSON is told by its shape
//! (`places`), and its entries name the cells of its spans. To add an exporter: one
//! entry here, one fixture in `tests/fixtures/ingest/`, one line in docs/formats.md
//! (`tests/ingest/exporters.rs` fails while one of them is missing). Pinned there.
//!
//! Headers are compared in one form (see `normal`): lower case, letters and digits alone.

use super::time::Unit;

/// What a column can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Field {
    /// The trace's id.
    Trace,
    /// The span's id.
    Span,
    /// The parent span's id.
    Parent,
    /// When the span began.
    Start,
    /// When it ended.
    End,
    /// How long it took.
    Duration,
    /// The service that recorded it.
    Service,
    /// Its name.
    Operation,
    /// Client, server, ...
    Kind,
    /// How it ended, by a word or an OpenTelemetry number; a number above 99 is one of HTTP.
    Status,
    /// Whether it failed.
    Error,
    /// Whether it went well.
    Success,
    /// The HTTP status code.
    Http,
    /// The gRPC status code.
    Grpc,
    /// The status or exception message.
    Message,
    /// The pod or process.
    Instance,
    /// The service that it calls.
    Peer,
    /// W3C trace state, where sampling is told.
    TraceState,
    /// References to other spans, of which a parent is one (Jaeger).
    References,
    /// The lower half of a trace id that is written in two columns.
    TraceLow,
    /// The nanoseconds below the second of a start.
    Nanos,
    /// The pod or process that was called, of records that hold both ends of a call.
    CalleeInstance,
    /// One of how many spans was kept, or the share that was.
    SampleRate,
    /// What a row is that is no span: an event of one, a link.
    Annotation,
    /// Attributes, all in one cell. Every such column is read.
    Attributes,
}

impl Field {
    /// The name in [`Told`](super::Told)'s text and on the page.
    pub fn as_str(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// The field of that name.
    pub fn named(name: &str) -> Option<Field> {
        NAMES.iter().find(|it| it.1 == name).map(|it| it.0)
    }

    /// All fields, in their order.
    pub fn all() -> impl Iterator<Item = Field> {
        NAMES.iter().map(|it| it.0)
    }
}

static NAMES: [(Field, &str); FIELDS + 1] = [
    (Field::Trace, "trace"),
    (Field::Span, "span"),
    (Field::Parent, "parent"),
    (Field::Start, "start"),
    (Field::End, "end"),
    (Field::Duration, "duration"),
    (Field::Service, "service"),
    (Field::Operation, "operation"),
    (Field::Kind, "kind"),
    (Field::Status, "status"),
    (Field::Error, "error"),
    (Field::Success, "success"),
    (Field::Http, "http"),
    (Field::Grpc, "grpc"),
    (Field::Message, "message"),
    (Field::Instance, "instance"),
    (Field::Peer, "peer"),
    (Field::TraceState, "trace-state"),
    (Field::References, "references"),
    (Field::TraceLow, "trace-low"),
    (Field::Nanos, "nanos"),
    (Field::CalleeInstance, "callee-instance"),
    (Field::SampleRate, "sample-rate"),
    (Field::Annotation, "annotation"),
    (Field::Attributes, "attributes"),
];

/// Words with a space between each two: as a list of texts, their places would weigh in the page what they weigh
/// themselves.
#[derive(Clone, Copy, Debug)]
pub struct Words(pub &'static str);

impl Words {
    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = &'static str> {
        self.0.split_ascii_whitespace()
    }
}

/// How many fields have a column of their own; attributes can have many.
pub(crate) const FIELDS: usize = Field::Attributes as usize;

/// An exporter: how to tell it, and what its columns mean.
#[derive(Debug)]
pub struct Exporter {
    /// The name in JSON and on the page.
    pub name: &'static str,
    /// Headers that are all there.
    pub signature: Words,
    /// Headers of which at least `at_least` are there.
    pub any: Words,
    /// How many of `any` it takes.
    pub at_least: usize,
    /// Headers that count as some of `any` when they are spelled exactly so: other exporters write the
    /// same words with other capitals or with separators.
    pub spelled: Words,
    /// Columns by header, the preferred one first: a blank cell gives way to the next one. A field
    /// that is not listed is looked up among the common names.
    pub columns: &'static [(Field, Words)],
    /// The unit of a start or an end that is a plain number.
    pub start_unit: Option<Unit>,
    /// The unit of a duration that is a plain number.
    pub duration_unit: Option<Unit>,
    /// The parent of a root is the trace.
    pub roots_name_their_trace: bool,
    /// The service's column holds pods: `frontend-579b9bff58-t2dbm` is one of `frontend`.
    pub services_are_pods: bool,
    /// A row is one end of a call: the caller's, or, with a negative duration, the callee's. Both have
    /// the same id, whose parent is what stands before its last point.
    pub rows_are_ends_of_calls: bool,
    /// Ids of 16 hex digits lost their leading zeros.
    pub ids_lost_zeros: bool,
    /// The operation's column holds addresses, of which what follows `?` is left out.
    pub operations_are_addresses: bool,
    /// A cell may be a list of its one text: `["x"]`.
    pub cells_are_lists: bool,
    /// Row counts at which the exporter stops.
    pub caps: &'static [u64],
    /// The columns of files without a header, in order.
    pub layouts: &'static [Words],
}

/// An exporter with nothing special about it.
const PLAIN: Exporter = Exporter {
    name: "generic",
    signature: Words(""),
    any: Words(""),
    at_least: 0,
    spelled: Words(""),
    columns: &[],
    start_unit: None,
    duration_unit: None,
    roots_name_their_trace: false,
    services_are_pods: false,
    rows_are_ends_of_calls: false,
    ids_lost_zeros: false,
    operations_are_addresses: false,
    cells_are_lists: false,
    caps: &[],
    layouts: &[],
};

/// What both of Alibaba's call graphs have.
const ALIBABA: Exporter = Exporter {
    any: Words("rpctype interface"),
    at_least: 1,
    start_unit: Some(Unit::Ms),
    duration_unit: Some(Unit::Ms),
    rows_are_ends_of_calls: true,
    ..PLAIN
};

/// What files are read as that no entry fits: columns by their common names.
pub static GENERIC: Exporter = PLAIN;

/// Jaeger's JSON, of its API or its page. The layout is the record of each span.
pub static JAEGER_JSON: Exporter = Exporter {
    name: "jaeger-json",
    start_unit: Some(Unit::Us),
    duration_unit: Some(Unit::Us),
    layouts: &[Words(
        "traceID spanID parentSpanID operationName startTime duration refs serviceName",
    )],
    ..PLAIN
};

/// OTLP's JSON, of the collector's file exporter or of Tempo's API. The layout is the record of each
/// span.
pub static OTLP_JSON: Exporter = Exporter {
    name: "otlp-json",
    layouts: &[Words(
        "traceId spanId parentSpanId name startTimeUnixNano endTimeUnixNano kind traceState \
    status.code status.message service.name",
    )],
    ..PLAIN
};

/// All entries of tables. The one with the most headers in a file is taken.
pub static EXPORTERS: &[Exporter] = &[
    Exporter {
        name: "dash0",
        any: Words(
            "otelspanstarttime otelspanduration otelspanname otelspanid otelparentid oteltraceid \
    otelspanstatuscode",
        ),
        at_least: 2,
        caps: &[5_000],
        layouts: &[
            Words(
                "otel.span.start_time otel.span.duration otel.span.name otel.span.status.code \
    service.name otel.parent.id otel.trace.id otel.span.id otel.span.links",
            ),
            Words(
                "otel.span.start_time otel.span.duration otel.trace.id otel.span.id otel.parent.id \
    otel.span.name otel.span.status.code service.name otel.span.links",
            ),
        ],
        ..PLAIN
    },
    Exporter {
        name: "clickhouse",
        signature: Words("timestamp duration"),
        at_least: 1,
        spelled: Words(
            "TraceId SpanId ParentSpanId SpanName SpanKind ServiceName ResourceAttributes \
    ScopeName SpanAttributes StatusCode Events.Name",
        ),
        duration_unit: Some(Unit::Ns),
        layouts: &[
            Words(
                "Timestamp TraceId SpanId ParentSpanId TraceState SpanName SpanKind ServiceName \
    ResourceAttributes ScopeName ScopeVersion SpanAttributes Duration StatusCode \
    StatusMessage Events.Timestamp Events.Name Events.Attributes Links.TraceId \
    Links.SpanId Links.TraceState Links.Attributes",
            ),
            // As the real file has it: a map more before the attributes, two texts after the message.
            Words(
                "Timestamp TraceId SpanId ParentSpanId TraceState SpanName SpanKind ServiceName \
    ResourceAttributes ScopeName ScopeVersion ScopeAttributes SpanAttributes Duration \
    StatusCode StatusMessage SpanEvents SpanLinks Events.Timestamp Events.Name \
    Events.Attributes Links.TraceId Links.SpanId Links.TraceState Links.Attributes",
            ),
        ],
        ..PLAIN
    },
    Exporter {
        name: "skywalking",
        signature: Words("starttime endtime spantype service spanid traceid parentspan"),
        any: Words("url peer component iserror"),
        at_least: 1,
        start_unit: Some(Unit::Ms),
        columns: &[(Field::Operation, Words("url"))],
        ..PLAIN
    },
    Exporter {
        name: "nezha",
        signature: Words("traceid spanid parentid podname operationname starttimeunixnano"),
        duration_unit: Some(Unit::Us),
        columns: &[(Field::Service, Words("podname"))],
        services_are_pods: true,
        ..PLAIN
    },
    Exporter {
        name: "signoz",
        signature: Words("timestamp durationnano traceid spanid"),
        caps: &[10_000, 30_000, 50_000],
        ..PLAIN
    },
    Exporter {
        name: "grafana",
        signature: Words(
            "traceid spanid parentspanid operationname servicename starttime duration",
        ),
        start_unit: Some(Unit::Ms),
        duration_unit: Some(Unit::Ms),
        ..PLAIN
    },
    Exporter {
        name: "rcaeval",
        signature: Words(
            "traceid spanid parentspanid operationname servicename starttimemillis starttime \
    duration",
        ),
        start_unit: Some(Unit::Us),
        duration_unit: Some(Unit::Us),
        ..PLAIN
    },
    Exporter {
        name: "datadog",
        signature: Words("date service resource duration"),
        any: Words("method statuscode"),
        at_least: 1,
        columns: &[(Field::Operation, Words("resource"))],
        ..PLAIN
    },
    Exporter {
        name: "dynatrace",
        signature: Words("starttime duration traceid spanid spanparentid"),
        any: Words("endtime spanname requestisfailed dtentityservice"),
        at_least: 1,
        columns: &[(Field::Service, Words("servicename dtentityservice"))],
        duration_unit: Some(Unit::Ns),
        ..PLAIN
    },
    Exporter {
        name: "appinsights",
        signature: Words("timestamp operationid operationparentid duration"),
        any: Words("itemtype cloudrolename name resultcode"),
        at_least: 1,
        columns: &[
            (Field::Trace, Words("operationid")),
            (Field::Span, Words("id")),
            (Field::Parent, Words("operationparentid")),
            (Field::Operation, Words("name")),
            (Field::Kind, Words("itemtype")),
        ],
        duration_unit: Some(Unit::Ms),
        roots_name_their_trace: true,
        ..PLAIN
    },
    Exporter {
        name: "elastic",
        signature: Words("timestamp traceid"),
        any: Words("transactionid transactionname transactiondurationus spandurationus"),
        at_least: 2,
        columns: &[
            (Field::Span, Words("spanid transactionid")),
            (Field::Operation, Words("spanname transactionname")),
            (Field::Duration, Words("spanduration transactionduration")),
        ],
        cells_are_lists: true,
        ..PLAIN
    },
    Exporter {
        name: "openrca-telecom",
        signature: Words("calltype starttime elapsedtime traceid id pid cmdbid"),
        columns: &[
            (Field::Span, Words("id")),
            (Field::Parent, Words("pid")),
            (Field::Service, Words("servicename dsname")),
            (Field::Operation, Words("calltype")),
            (Field::Instance, Words("cmdbid")),
        ],
        start_unit: Some(Unit::Ms),
        duration_unit: Some(Unit::Ms),
        ..PLAIN
    },
    Exporter {
        name: "openrca-bank",
        signature: Words("timestamp cmdbid parentid spanid traceid duration"),
        columns: &[(Field::Service, Words("cmdbid"))],
        start_unit: Some(Unit::Ms),
        duration_unit: Some(Unit::Ms),
        services_are_pods: true,
        ..PLAIN
    },
    Exporter {
        name: "openrca-market",
        signature: Words("timestamp cmdbid spanid traceid duration type operationname parentspan"),
        // Mixed units in one row. The status is gRPC's for rpc spans and HTTP's for others.
        columns: &[
            (Field::Service, Words("cmdbid")),
            (Field::Status, Words("")),
            (Field::Grpc, Words("statuscode")),
        ],
        start_unit: Some(Unit::Ms),
        duration_unit: Some(Unit::Us),
        services_are_pods: true,
        ..PLAIN
    },
    Exporter {
        name: "jaeger-cassandra",
        signature: Words("traceid spanid spanhash refs starttime duration process"),
        start_unit: Some(Unit::Us),
        duration_unit: Some(Unit::Us),
        ..PLAIN
    },
    Exporter {
        name: "alibaba-2021",
        signature: Words("traceid timestamp rpcid um dm rt"),
        columns: &[
            (Field::Span, Words("rpcid")),
            (Field::Duration, Words("rt")),
            (Field::Service, Words("um")),
            (Field::Peer, Words("dm")),
            (Field::Operation, Words("interface")),
            (Field::Kind, Words("rpctype")),
        ],
        ..ALIBABA
    },
    Exporter {
        name: "alibaba-2022",
        signature: Words("traceid timestamp rpcid um uminstanceid dm dminstanceid rt"),
        // The column `service` tells what the user asked for, not who recorded the span.
        columns: &[
            (Field::Span, Words("rpcid")),
            (Field::Duration, Words("rt")),
            (Field::Service, Words("um")),
            (Field::Instance, Words("uminstanceid")),
            (Field::Peer, Words("dm")),
            (Field::CalleeInstance, Words("dminstanceid")),
            (Field::Operation, Words("interface")),
            (Field::Kind, Words("rpctype")),
        ],
        ..ALIBABA
    },
    Exporter {
        name: "tracevae",
        signature: Words("traceidhigh traceidlow spanid starttime duration nanosecond"),
        columns: &[
            (Field::Trace, Words("traceidhigh")),
            (Field::TraceLow, Words("traceidlow")),
            (Field::Nanos, Words("nanosecond")),
        ],
        start_unit: Some(Unit::S),
        duration_unit: Some(Unit::Ms),
        ..PLAIN
    },
    Exporter {
        name: "gaia",
        signature: Words("hostip servicename traceid spanid parentid starttime endtime"),
        any: Words("timestamp url statuscode message"),
        at_least: 1,
        columns: &[
            (Field::Instance, Words("hostip")),
            (Field::Operation, Words("url")),
        ],
        ids_lost_zeros: true,
        operations_are_addresses: true,
        ..PLAIN
    },
    Exporter {
        name: "honeycomb",
        signature: Words("tracetraceid tracespanid durationms"),
        any: Words("traceparentid timestamp samplerate metaannotationtype"),
        at_least: 1,
        ..PLAIN
    },
    Exporter {
        name: "newrelic",
        signature: Words("traceid timestamp id"),
        any: Words("durationms appname entityname entityguid guid nrguid"),
        at_least: 2,
        spelled: Words("trace.id parent.id duration.ms"),
        columns: &[
            (Field::Span, Words("id guid")),
            (Field::Duration, Words("durationms duration")),
            (Field::Service, Words("servicename appname entityname")),
        ],
        start_unit: Some(Unit::Ms),
        duration_unit: Some(Unit::S),
        ..PLAIN
    },
];

/// The common names of each field's columns, the preferred one first. Times and durations may carry
/// a suffix that tells their unit.
pub(crate) static COMMON: &[(Field, Words)] = &[
    (
        Field::Trace,
        Words("traceid oteltraceid tracetraceid trace"),
    ),
    (Field::Span, Words("spanid otelspanid tracespanid span id")),
    (
        Field::Parent,
        Words(
            "parentspanid spanparentid parentid otelparentid otelspanparentid traceparentid \
    parentspan referenceparentspanid parent",
        ),
    ),
    (
        Field::Start,
        Words(
            "starttime start spanstarttime otelspanstarttime starttimestamp startts timestamp \
    time ts date datetime begin begintime",
        ),
    ),
    (
        Field::End,
        Words("endtime end spanendtime otelspanendtime endtimestamp endts finishtime"),
    ),
    (
        Field::Duration,
        Words("duration spanduration otelspanduration elapsedtime elapsed latency durationtime"),
    ),
    (
        Field::Service,
        Words(
            "servicename service otelservicename resourceservicename \
    resourceattributesservicename resourcestringservicename processservicename \
    localendpointservicename applicationname cloudrolename appname application app",
        ),
    ),
    (
        Field::Operation,
        Words(
            "spanname operationname otelspanname name operation spandescription resource endpoint \
    url",
        ),
    ),
    (
        Field::Kind,
        Words("spankind kind otelspankind kindstring spankindstring spantype"),
    ),
    (
        Field::Status,
        Words(
            "statuscode status otelspanstatuscode spanstatuscode spanstatus statuscodestring \
    otelstatuscode eventoutcome outcome",
        ),
    ),
    (
        Field::Error,
        Words("error iserror haserror failed isfailed requestisfailed"),
    ),
    (Field::Success, Words("success issuccess succeeded")),
    (
        Field::Http,
        Words("httpresponsestatuscode httpstatuscode responsestatuscode httpstatus resultcode"),
    ),
    (
        Field::Grpc,
        Words("rpcgrpcstatuscode rpcresponsestatuscode grpcstatuscode grpcstatus"),
    ),
    (
        Field::Message,
        Words(
            "statusmessage otelspanstatusmessage spanstatusmessage otelstatusdescription \
    exceptionmessage errormessage message",
        ),
    ),
    (
        Field::Instance,
        Words(
            "k8spodname kubernetespodname kubepodname resourcek8spodname \
    resourceattributesk8spodname podname pod serviceinstanceid instanceid instance \
    cloudroleinstance containerid servicenodename hostname host",
        ),
    ),
    (
        Field::Peer,
        Words("peerservice serveraddress netpeername peer target"),
    ),
    (Field::TraceState, Words("tracestate oteltracestate")),
    (Field::References, Words("refs")),
    (Field::TraceLow, Words("")),
    (Field::Nanos, Words("")),
    (Field::CalleeInstance, Words("")),
    (Field::SampleRate, Words("samplerate metasamplerate")),
    (Field::Annotation, Words("metaannotationtype")),
    (
        Field::Attributes,
        Words(
            "resourceattributes spanattributes eventsattributes attributes attributesjson \
    attributesstring tags servicetags customdimensions resourcetags process events logs",
        ),
    ),
];

/// The suffixes of a header that tell a unit.
pub(crate) static UNITS: &[(&str, Unit)] = &[
    ("unixnano", Unit::Ns),
    ("nanoseconds", Unit::Ns),
    ("nanos", Unit::Ns),
    ("nano", Unit::Ns),
    ("ns", Unit::Ns),
    ("microseconds", Unit::Us),
    ("micros", Unit::Us),
    ("us", Unit::Us),
    ("milliseconds", Unit::Ms),
    ("millis", Unit::Ms),
    ("ms", Unit::Ms),
    ("seconds", Unit::S),
    ("secs", Unit::S),
    ("sec", Unit::S),
    ("s", Unit::S),
];

/// The unit that the last word of a header tells: `took_ms`, `duration.ms`.
pub(crate) fn unit_of_header(header: &str) -> Option<Unit> {
    let (_, word) = header.rsplit_once(|c: char| !is_of_word(c))?;
    let same = |it: &&(&str, Unit)| it.0.eq_ignore_ascii_case(word);
    UNITS.iter().find(same).map(|it| it.1)
}

/// The one form in which headers are compared.
pub(crate) fn normal(header: &str) -> String {
    let mut header = header.trim();
    // The Azure portal writes the zone into the header.
    if let Some((name, zone)) = header.split_once('[')
        && zone.trim_end_matches(']').eq_ignore_ascii_case("utc")
    {
        header = name;
    }
    let kept = header.chars().filter(|&c| is_of_word(c));
    kept.map(|c| c.to_ascii_lowercase()).collect()
}

/// Letters and digits; all that is not ASCII counts as such, or the tables of Unicode would be in the page.
fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || !c.is_ascii()
}
