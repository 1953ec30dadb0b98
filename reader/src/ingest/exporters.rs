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

/// How many fields have a column of their own; attributes can have many.
pub(crate) const FIELDS: usize = Field::Attributes as usize;

/// An exporter: how to tell it, and what its columns mean.
#[derive(Debug)]
pub struct Exporter {
    /// The name in JSON and on the page.
    pub name: &'static str,
    /// Headers that are all there.
    pub signature: &'static [&'static str],
    /// Headers of which at least `at_least` are there.
    pub any: &'static [&'static str],
    /// How many of `any` it takes.
    pub at_least: usize,
    /// Headers that count as some of `any` when they are spelled exactly so: other exporters write the
    /// same words with other capitals or with separators.
    pub spelled: &'static [&'static str],
    /// Columns by header, the preferred one first: a blank cell gives way to the next one. A field
    /// that is not listed is looked up among the common names.
    pub columns: &'static [(Field, &'static [&'static str])],
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
    pub layouts: &'static [&'static [&'static str]],
}

/// An exporter with nothing special about it.
const PLAIN: Exporter = Exporter {
    name: "generic",
    signature: &[],
    any: &[],
    at_least: 0,
    spelled: &[],
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
    any: &["rpctype", "interface"],
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
    layouts: &[&[
        "traceID",
        "spanID",
        "parentSpanID",
        "operationName",
        "startTime",
        "duration",
        "refs",
        "serviceName",
    ]],
    ..PLAIN
};

/// OTLP's JSON, of the collector's file exporter or of Tempo's API. The layout is the record of each
/// span.
pub static OTLP_JSON: Exporter = Exporter {
    name: "otlp-json",
    layouts: &[&[
        "traceId",
        "spanId",
        "parentSpanId",
        "name",
        "startTimeUnixNano",
        "endTimeUnixNano",
        "kind",
        "traceState",
        "status.code",
        "status.message",
        "service.name",
    ]],
    ..PLAIN
};

/// All entries of tables. The one with the most headers in a file is taken.
pub static EXPORTERS: &[Exporter] = &[
    Exporter {
        name: "dash0",
        any: &[
            "otelspanstarttime",
            "otelspanduration",
            "otelspanname",
            "otelspanid",
            "otelparentid",
            "oteltraceid",
            "otelspanstatuscode",
        ],
        at_least: 2,
        caps: &[5_000],
        layouts: &[
            &[
                "otel.span.start_time",
                "otel.span.duration",
                "otel.span.name",
                "otel.span.status.code",
                "service.name",
                "otel.parent.id",
                "otel.trace.id",
                "otel.span.id",
                "otel.span.links",
            ],
            &[
                "otel.span.start_time",
                "otel.span.duration",
                "otel.trace.id",
                "otel.span.id",
                "otel.parent.id",
                "otel.span.name",
                "otel.span.status.code",
                "service.name",
                "otel.span.links",
            ],
        ],
        ..PLAIN
    },
    Exporter {
        name: "clickhouse",
        signature: &["timestamp", "duration"],
        at_least: 1,
        spelled: &[
            "TraceId",
            "SpanId",
            "ParentSpanId",
            "SpanName",
            "SpanKind",
            "ServiceName",
            "ResourceAttributes",
            "ScopeName",
            "SpanAttributes",
            "StatusCode",
            "Events.Name",
        ],
        duration_unit: Some(Unit::Ns),
        layouts: &[
            &[
                "Timestamp",
                "TraceId",
                "SpanId",
                "ParentSpanId",
                "TraceState",
                "SpanName",
                "SpanKind",
                "ServiceName",
                "ResourceAttributes",
                "ScopeName",
                "ScopeVersion",
                "SpanAttributes",
                "Duration",
                "StatusCode",
                "StatusMessage",
                "Events.Timestamp",
                "Events.Name",
                "Events.Attributes",
                "Links.TraceId",
                "Links.SpanId",
                "Links.TraceState",
                "Links.Attributes",
            ],
            // As the real file has it: a map more before the attributes, two texts after the message.
            &[
                "Timestamp",
                "TraceId",
                "SpanId",
                "ParentSpanId",
                "TraceState",
                "SpanName",
                "SpanKind",
                "ServiceName",
                "ResourceAttributes",
                "ScopeName",
                "ScopeVersion",
                "ScopeAttributes",
                "SpanAttributes",
                "Duration",
                "StatusCode",
                "StatusMessage",
                "SpanEvents",
                "SpanLinks",
                "Events.Timestamp",
                "Events.Name",
                "Events.Attributes",
                "Links.TraceId",
                "Links.SpanId",
                "Links.TraceState",
                "Links.Attributes",
            ],
        ],
        ..PLAIN
    },
    Exporter {
        name: "skywalking",
        signature: &[
            "starttime",
            "endtime",
            "spantype",
            "service",
            "spanid",
            "traceid",
            "parentspan",
        ],
        any: &["url", "peer", "component", "iserror"],
        at_least: 1,
        start_unit: Some(Unit::Ms),
        columns: &[(Field::Operation, &["url"])],
        ..PLAIN
    },
    Exporter {
        name: "nezha",
        signature: &[
            "traceid",
            "spanid",
            "parentid",
            "podname",
            "operationname",
            "starttimeunixnano",
        ],
        duration_unit: Some(Unit::Us),
        columns: &[(Field::Service, &["podname"])],
        services_are_pods: true,
        ..PLAIN
    },
    Exporter {
        name: "signoz",
        signature: &["timestamp", "durationnano", "traceid", "spanid"],
        caps: &[10_000, 30_000, 50_000],
        ..PLAIN
    },
    Exporter {
        name: "grafana",
        signature: &[
            "traceid",
            "spanid",
            "parentspanid",
            "operationname",
            "servicename",
            "starttime",
            "duration",
        ],
        start_unit: Some(Unit::Ms),
        duration_unit: Some(Unit::Ms),
        ..PLAIN
    },
    Exporter {
        name: "rcaeval",
        signature: &[
            "traceid",
            "spanid",
            "parentspanid",
            "operationname",
            "servicename",
            "starttimemillis",
            "starttime",
            "duration",
        ],
        start_unit: Some(Unit::Us),
        duration_unit: Some(Unit::Us),
        ..PLAIN
    },
    Exporter {
        name: "datadog",
        signature: &["date", "service", "resource", "duration"],
        any: &["method", "statuscode"],
        at_least: 1,
        columns: &[(Field::Operation, &["resource"])],
        ..PLAIN
    },
    Exporter {
        name: "dynatrace",
        signature: &["starttime", "duration", "traceid", "spanid", "spanparentid"],
        any: &["endtime", "spanname", "requestisfailed", "dtentityservice"],
        at_least: 1,
        columns: &[(Field::Service, &["servicename", "dtentityservice"])],
        duration_unit: Some(Unit::Ns),
        ..PLAIN
    },
    Exporter {
        name: "appinsights",
        signature: &["timestamp", "operationid", "operationparentid", "duration"],
        any: &["itemtype", "cloudrolename", "name", "resultcode"],
        at_least: 1,
        columns: &[
            (Field::Trace, &["operationid"]),
            (Field::Span, &["id"]),
            (Field::Parent, &["operationparentid"]),
            (Field::Operation, &["name"]),
            (Field::Kind, &["itemtype"]),
        ],
        duration_unit: Some(Unit::Ms),
        roots_name_their_trace: true,
        ..PLAIN
    },
    Exporter {
        name: "elastic",
        signature: &["timestamp", "traceid"],
        any: &[
            "transactionid",
            "transactionname",
            "transactiondurationus",
            "spandurationus",
        ],
        at_least: 2,
        columns: &[
            (Field::Span, &["spanid", "transactionid"]),
            (Field::Operation, &["spanname", "transactionname"]),
            (Field::Duration, &["spanduration", "transactionduration"]),
        ],
        cells_are_lists: true,
        ..PLAIN
    },
    Exporter {
        name: "openrca-telecom",
        signature: &[
            "calltype",
            "starttime",
            "elapsedtime",
            "traceid",
            "id",
            "pid",
            "cmdbid",
        ],
        columns: &[
            (Field::Span, &["id"]),
            (Field::Parent, &["pid"]),
            (Field::Service, &["servicename", "dsname"]),
            (Field::Operation, &["calltype"]),
            (Field::Instance, &["cmdbid"]),
        ],
        start_unit: Some(Unit::Ms),
        duration_unit: Some(Unit::Ms),
        ..PLAIN
    },
    Exporter {
        name: "openrca-bank",
        signature: &[
            "timestamp",
            "cmdbid",
            "parentid",
            "spanid",
            "traceid",
            "duration",
        ],
        columns: &[(Field::Service, &["cmdbid"])],
        start_unit: Some(Unit::Ms),
        duration_unit: Some(Unit::Ms),
        services_are_pods: true,
        ..PLAIN
    },
    Exporter {
        name: "openrca-market",
        signature: &[
            "timestamp",
            "cmdbid",
            "spanid",
            "traceid",
            "duration",
            "type",
            "operationname",
            "parentspan",
        ],
        // Mixed units in one row. The status is gRPC's for rpc spans and HTTP's for others.
        columns: &[
            (Field::Service, &["cmdbid"]),
            (Field::Status, &[]),
            (Field::Grpc, &["statuscode"]),
        ],
        start_unit: Some(Unit::Ms),
        duration_unit: Some(Unit::Us),
        services_are_pods: true,
        ..PLAIN
    },
    Exporter {
        name: "jaeger-cassandra",
        signature: &[
            "traceid",
            "spanid",
            "spanhash",
            "refs",
            "starttime",
            "duration",
            "process",
        ],
        start_unit: Some(Unit::Us),
        duration_unit: Some(Unit::Us),
        ..PLAIN
    },
    Exporter {
        name: "alibaba-2021",
        signature: &["traceid", "timestamp", "rpcid", "um", "dm", "rt"],
        columns: &[
            (Field::Span, &["rpcid"]),
            (Field::Duration, &["rt"]),
            (Field::Service, &["um"]),
            (Field::Peer, &["dm"]),
            (Field::Operation, &["interface"]),
            (Field::Kind, &["rpctype"]),
        ],
        ..ALIBABA
    },
    Exporter {
        name: "alibaba-2022",
        signature: &[
            "traceid",
            "timestamp",
            "rpcid",
            "um",
            "uminstanceid",
            "dm",
            "dminstanceid",
            "rt",
        ],
        // The column `service` tells what the user asked for, not who recorded the span.
        columns: &[
            (Field::Span, &["rpcid"]),
            (Field::Duration, &["rt"]),
            (Field::Service, &["um"]),
            (Field::Instance, &["uminstanceid"]),
            (Field::Peer, &["dm"]),
            (Field::CalleeInstance, &["dminstanceid"]),
            (Field::Operation, &["interface"]),
            (Field::Kind, &["rpctype"]),
        ],
        ..ALIBABA
    },
    Exporter {
        name: "tracevae",
        signature: &[
            "traceidhigh",
            "traceidlow",
            "spanid",
            "starttime",
            "duration",
            "nanosecond",
        ],
        columns: &[
            (Field::Trace, &["traceidhigh"]),
            (Field::TraceLow, &["traceidlow"]),
            (Field::Nanos, &["nanosecond"]),
        ],
        start_unit: Some(Unit::S),
        duration_unit: Some(Unit::Ms),
        ..PLAIN
    },
    Exporter {
        name: "gaia",
        signature: &[
            "hostip",
            "servicename",
            "traceid",
            "spanid",
            "parentid",
            "starttime",
            "endtime",
        ],
        any: &["timestamp", "url", "statuscode", "message"],
        at_least: 1,
        columns: &[(Field::Instance, &["hostip"]), (Field::Operation, &["url"])],
        ids_lost_zeros: true,
        operations_are_addresses: true,
        ..PLAIN
    },
    Exporter {
        name: "honeycomb",
        signature: &["tracetraceid", "tracespanid", "durationms"],
        any: &[
            "traceparentid",
            "timestamp",
            "samplerate",
            "metaannotationtype",
        ],
        at_least: 1,
        ..PLAIN
    },
    Exporter {
        name: "newrelic",
        signature: &["traceid", "timestamp", "id"],
        any: &[
            "durationms",
            "appname",
            "entityname",
            "entityguid",
            "guid",
            "nrguid",
        ],
        at_least: 2,
        spelled: &["trace.id", "parent.id", "duration.ms"],
        columns: &[
            (Field::Span, &["id", "guid"]),
            (Field::Duration, &["durationms", "duration"]),
            (Field::Service, &["servicename", "appname", "entityname"]),
        ],
        start_unit: Some(Unit::Ms),
        duration_unit: Some(Unit::S),
        ..PLAIN
    },
];

/// The common names of each field's columns, the preferred one first. Times and durations may carry
/// a suffix that tells their unit.
pub(crate) static COMMON: &[(Field, &[&str])] = &[
    (
        Field::Trace,
        &["traceid", "oteltraceid", "tracetraceid", "trace"],
    ),
    (
        Field::Span,
        &["spanid", "otelspanid", "tracespanid", "span", "id"],
    ),
    (
        Field::Parent,
        &[
            "parentspanid",
            "spanparentid",
            "parentid",
            "otelparentid",
            "otelspanparentid",
            "traceparentid",
            "parentspan",
            "referenceparentspanid",
            "parent",
        ],
    ),
    (
        Field::Start,
        &[
            "starttime",
            "start",
            "spanstarttime",
            "otelspanstarttime",
            "starttimestamp",
            "startts",
            "timestamp",
            "time",
            "ts",
            "date",
            "datetime",
            "begin",
            "begintime",
        ],
    ),
    (
        Field::End,
        &[
            "endtime",
            "end",
            "spanendtime",
            "otelspanendtime",
            "endtimestamp",
            "endts",
            "finishtime",
        ],
    ),
    (
        Field::Duration,
        &[
            "duration",
            "spanduration",
            "otelspanduration",
            "elapsedtime",
            "elapsed",
            "latency",
            "durationtime",
        ],
    ),
    (
        Field::Service,
        &[
            "servicename",
            "service",
            "otelservicename",
            "resourceservicename",
            "resourceattributesservicename",
            "resourcestringservicename",
            "processservicename",
            "localendpointservicename",
            "applicationname",
            "cloudrolename",
            "appname",
            "application",
            "app",
        ],
    ),
    (
        Field::Operation,
        &[
            "spanname",
            "operationname",
            "otelspanname",
            "name",
            "operation",
            "spandescription",
            "resource",
            "endpoint",
            "url",
        ],
    ),
    (
        Field::Kind,
        &[
            "spankind",
            "kind",
            "otelspankind",
            "kindstring",
            "spankindstring",
            "spantype",
        ],
    ),
    (
        Field::Status,
        &[
            "statuscode",
            "status",
            "otelspanstatuscode",
            "spanstatuscode",
            "spanstatus",
            "statuscodestring",
            "otelstatuscode",
            "eventoutcome",
            "outcome",
        ],
    ),
    (
        Field::Error,
        &[
            "error",
            "iserror",
            "haserror",
            "failed",
            "isfailed",
            "requestisfailed",
        ],
    ),
    (Field::Success, &["success", "issuccess", "succeeded"]),
    (
        Field::Http,
        &[
            "httpresponsestatuscode",
            "httpstatuscode",
            "responsestatuscode",
            "httpstatus",
            "resultcode",
        ],
    ),
    (
        Field::Grpc,
        &[
            "rpcgrpcstatuscode",
            "rpcresponsestatuscode",
            "grpcstatuscode",
            "grpcstatus",
        ],
    ),
    (
        Field::Message,
        &[
            "statusmessage",
            "otelspanstatusmessage",
            "spanstatusmessage",
            "otelstatusdescription",
            "exceptionmessage",
            "errormessage",
            "message",
        ],
    ),
    (
        Field::Instance,
        &[
            "k8spodname",
            "kubernetespodname",
            "kubepodname",
            "resourcek8spodname",
            "resourceattributesk8spodname",
            "podname",
            "pod",
            "serviceinstanceid",
            "instanceid",
            "instance",
            "cloudroleinstance",
            "containerid",
            "servicenodename",
            "hostname",
            "host",
        ],
    ),
    (
        Field::Peer,
        &[
            "peerservice",
            "serveraddress",
            "netpeername",
            "peer",
            "target",
        ],
    ),
    (Field::TraceState, &["tracestate", "oteltracestate"]),
    (Field::References, &["refs"]),
    (Field::TraceLow, &[]),
    (Field::Nanos, &[]),
    (Field::CalleeInstance, &[]),
    (Field::SampleRate, &["samplerate", "metasamplerate"]),
    (Field::Annotation, &["metaannotationtype"]),
    (
        Field::Attributes,
        &[
            "resourceattributes",
            "spanattributes",
            "eventsattributes",
            "attributes",
            "attributesjson",
            "attributesstring",
            "tags",
            "servicetags",
            "customdimensions",
            "resourcetags",
            "process",
            "events",
            "logs",
        ],
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
    let (_, word) = header.rsplit_once(|c: char| !c.is_alphanumeric())?;
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
    let kept = header.chars().filter(|c| c.is_alphanumeric());
    kept.map(|c| c.to_ascii_lowercase()).collect()
}
