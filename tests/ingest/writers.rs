//! Any table of spans, written as an exporter writes it, reads back the same, up to what its dialect holds.

use herdscope::ingest::time::{print_duration, print_time};
use herdscope::ingest::{Limits, Reader};
use herdscope::rows::{Kind, NONE};
use proptest::prelude::*;

/// A span as a dialect can hold it: `None` and `Unset` stand for what it cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Made {
    trace: String,
    span: String,
    parent: Option<String>,
    start: i64,
    duration: u64,
    service: String,
    operation: String,
    kind: Kind,
    failed: bool,
    pod: Option<String>,
}

struct Dialect {
    name: &'static str,
    header: &'static str,
    /// What starts are multiples of.
    start: i64,
    duration: fn(u64) -> u64,
    /// What it holds: p parent, k kind (c: client or server), f failure, s service, o operation, i pod.
    holds: &'static str,
    row: fn(&Made) -> Vec<String>,
}

fn ns(it: u64) -> u64 {
    it
}

fn us(it: u64) -> u64 {
    it / 1_000 * 1_000
}

fn ms(it: u64) -> u64 {
    it / 1_000_000 * 1_000_000
}

/// Dash0's texts: two digits of seconds, one of all others.
fn dash0(it: u64) -> u64 {
    let step = match it {
        0..1_000_000 => 100,
        1_000_000..1_000_000_000 => 100_000,
        _ => 10_000_000,
    };
    it / step * step
}

fn iso(ns: i64) -> String {
    print_time(ns)
}

/// `2026-01-05T10:00:00.123Z`
fn iso_ms(ns: i64) -> String {
    let text = print_time(ns);
    format!("{}Z", &text[..23])
}

/// `2026-01-05 10:00:00.123456`
fn local_us(ns: i64) -> String {
    print_time(ns)[..26].replace('T', " ")
}

/// A number of nanoseconds in milliseconds, exactly.
fn in_ms(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000)
}

fn date(ns: i64) -> [u32; 3] {
    let text = print_time(ns);
    [&text[..4], &text[5..7], &text[8..10]].map(|it| it.parse().expect("a number"))
}

/// `3/29/2026, 1:00:45.020 AM`
fn azure(ns: i64) -> String {
    let ([year, month, day], text) = (date(ns), print_time(ns));
    let hour: u32 = text[11..13].parse().expect("a number");
    let half = if hour < 12 { "AM" } else { "PM" };
    let hour = if hour.is_multiple_of(12) {
        12
    } else {
        hour % 12
    };
    format!("{month}/{day}/{year}, {hour}:{} {half}", &text[14..23])
}

/// `Mar 29, 2026 @ 01:00:45.020`
fn kibana(ns: i64) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let ([year, month, day], text) = (date(ns), print_time(ns));
    let month = MONTHS[month as usize - 1];
    format!("{month} {day}, {year} @ {}", &text[11..23])
}

fn kind(it: &Made, names: [&str; 3]) -> String {
    let name = match it.kind {
        Kind::Server => names[0],
        Kind::Client => names[1],
        _ => names[2],
    };
    name.to_owned()
}

fn or(it: &Made, root: &str) -> String {
    it.parent.clone().unwrap_or_else(|| root.to_owned())
}

fn if_failed(it: &Made, yes: &str, no: &str) -> String {
    if it.failed { yes } else { no }.to_owned()
}

fn pod(it: &Made) -> String {
    it.pod.clone().unwrap_or_default()
}

fn end(it: &Made) -> i64 {
    it.start + it.duration as i64
}

/// Cells of any kind.
macro_rules! cells {
    ($($cell:expr),* $(,)?) => { vec![$($cell.to_string()),*] };
}

const WORDS: [&str; 3] = ["Server", "Client", "Internal"];

const DIALECTS: &[Dialect] = &[
    Dialect {
        name: "clickhouse",
        header: "Timestamp,TraceId,SpanId,ParentSpanId,SpanName,SpanKind,ServiceName,ResourceAttributes,Duration,StatusCode",
        start: 1,
        duration: ns,
        holds: "pkfsoi",
        row: |it| {
            cells![
                iso(it.start).replace('T', " ").trim_end_matches('Z'),
                it.trace,
                it.span,
                or(it, ""),
                it.operation,
                kind(it, WORDS),
                it.service,
                format!(
                    "{{'service.name':'{}','k8s.pod.name':'{}'}}",
                    it.service,
                    pod(it)
                ),
                it.duration,
                if_failed(it, "Error", "Unset"),
            ]
        },
    },
    Dialect {
        name: "dash0",
        header: "otel.span.start_time,otel.span.duration,otel.trace.id,otel.span.id,otel.parent.id,otel.span.name,otel.span.status.code,otel.span.kind,service.name,k8s.pod.name",
        start: 1_000_000,
        duration: dash0,
        holds: "pkfsoi",
        row: |it| {
            let text = match it.duration {
                0 => "0ms".to_owned(),
                ns @ ..1_000_000 => format!("{}.{}us", ns / 1_000, ns % 1_000 / 100),
                ns @ ..1_000_000_000 => {
                    format!("{}.{}ms", ns / 1_000_000, ns % 1_000_000 / 100_000)
                }
                ns => format!(
                    "{}.{:02}s",
                    ns / 1_000_000_000,
                    ns % 1_000_000_000 / 10_000_000
                ),
            };
            cells![
                iso_ms(it.start),
                text,
                it.trace,
                it.span,
                or(it, ""),
                it.operation,
                if_failed(it, "ERROR", "UNSET"),
                kind(it, ["SERVER", "CLIENT", "INTERNAL"]),
                it.service,
                pod(it),
            ]
        },
    },
    Dialect {
        name: "signoz",
        header: "timestamp,duration_nano,has_error,kind_string,name,service.name,span_id,trace_id",
        start: 1,
        duration: ns,
        holds: "kfso",
        row: |it| {
            cells![
                iso(it.start),
                it.duration,
                it.failed,
                kind(it, WORDS),
                it.operation,
                it.service,
                it.span,
                it.trace,
            ]
        },
    },
    Dialect {
        name: "grafana",
        header: "traceID,spanID,parentSpanID,operationName,serviceName,kind,statusCode,serviceTags,startTime,duration",
        start: 1,
        duration: ns,
        holds: "pkfsoi",
        row: |it| {
            cells![
                it.trace,
                it.span,
                or(it, ""),
                it.operation,
                it.service,
                kind(it, ["server", "client", "internal"]),
                if_failed(it, "2", "0"),
                format!("[{{\"value\":\"{}\",\"key\":\"k8s.pod.name\"}}]", pod(it)),
                in_ms(it.start as u64),
                in_ms(it.duration),
            ]
        },
    },
    Dialect {
        name: "rcaeval",
        header: "time,traceID,spanID,serviceName,methodName,operationName,startTimeMillis,startTime,duration,statusCode,parentSpanID",
        start: 1_000,
        duration: us,
        holds: "pfso",
        row: |it| {
            cells![
                &iso(it.start)[11..16],
                it.trace,
                it.span,
                it.service,
                "",
                it.operation,
                it.start / 1_000_000,
                it.start / 1_000,
                it.duration / 1_000,
                if_failed(it, "2.0", "0.0"),
                or(it, ""),
            ]
        },
    },
    Dialect {
        name: "nezha",
        header: "TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration",
        start: 1,
        duration: ns,
        holds: "psoi",
        row: |it| {
            cells![
                it.trace,
                it.span,
                or(it, "root"),
                pod(it),
                it.operation,
                it.start,
                end(it),
                it.duration / 1_000,
            ]
        },
    },
    Dialect {
        name: "skywalking",
        header: "StartTime,EndTime,URL,SpanType,Service,SpanId,TraceId,Peer,ParentSpan,Component,IsError",
        start: 1_000_000,
        duration: ms,
        holds: "pkfso",
        row: |it| {
            cells![
                it.start / 1_000_000,
                end(it) / 1_000_000,
                it.operation,
                kind(it, ["Entry", "Exit", "Local"]),
                it.service,
                it.span,
                it.trace,
                "",
                or(it, "-1"),
                "SpringMVC",
                if_failed(it, "True", "False"),
            ]
        },
    },
    Dialect {
        name: "datadog",
        header: "Date,Service,Resource,Duration,Method,Status Code",
        start: 1_000_000,
        duration: us,
        holds: "fso-",
        row: |it| {
            let duration = format!(
                "{}.{:03}ms",
                it.duration / 1_000_000,
                it.duration % 1_000_000 / 1_000
            );
            cells![
                iso_ms(it.start),
                it.service,
                it.operation,
                duration,
                "GET",
                if_failed(it, "500", "200"),
            ]
        },
    },
    Dialect {
        name: "dynatrace",
        header: "start_time,end_time,duration,trace.id,span.id,span.parent_id,span.name,span.kind,service.name,request.is_failed",
        start: 1,
        duration: ns,
        holds: "pkfso",
        row: |it| {
            cells![
                iso(it.start),
                iso(end(it)),
                it.duration,
                it.trace,
                it.span,
                or(it, "null"),
                it.operation,
                kind(it, ["server", "client", "internal"]),
                it.service,
                it.failed,
            ]
        },
    },
    Dialect {
        name: "appinsights",
        header: "timestamp [UTC],itemType,id,name,success,resultCode,duration,operation_Id,operation_ParentId,cloud_RoleName,cloud_RoleInstance",
        start: 1_000_000,
        duration: ns,
        holds: "pcfsoi",
        row: |it| {
            cells![
                azure(it.start),
                kind(it, ["request", "dependency", "dependency"]),
                it.span,
                it.operation,
                if_failed(it, "False", "True"),
                "",
                in_ms(it.duration),
                it.trace,
                or(it, &it.trace),
                it.service,
                pod(it),
            ]
        },
    },
    Dialect {
        name: "elastic",
        header: "@timestamp,service.name,transaction.name,transaction.duration.us,span.name,span.duration.us,event.outcome,trace.id,transaction.id,span.id,parent.id",
        start: 1_000_000,
        duration: us,
        holds: "pfso",
        row: |it| {
            let transaction = it.kind == Kind::Server;
            let [of_transaction, of_span] = [transaction, !transaction].map(|here| {
                move |text: &str| {
                    if here {
                        text.to_owned()
                    } else {
                        "-".to_owned()
                    }
                }
            });
            let duration = (it.duration / 1_000).to_string();
            cells![
                kibana(it.start),
                it.service,
                of_transaction(&it.operation),
                of_transaction(&duration),
                of_span(&it.operation),
                of_span(&duration),
                if_failed(it, "failure", "success"),
                it.trace,
                of_transaction(&it.span),
                of_span(&it.span),
                or(it, "-"),
            ]
        },
    },
    Dialect {
        name: "openrca-telecom",
        header: "callType,startTime,elapsedTime,success,traceId,id,pid,cmdb_id,dsName,serviceName",
        start: 1_000_000,
        duration: ms,
        holds: "pfsoi",
        row: |it| {
            cells![
                it.operation,
                it.start / 1_000_000,
                format!("{}.0", it.duration / 1_000_000),
                if_failed(it, "False", "TRUE"),
                it.trace,
                it.span,
                or(it, "None"),
                pod(it),
                "",
                it.service,
            ]
        },
    },
    Dialect {
        name: "openrca-bank",
        header: "timestamp,cmdb_id,parent_id,span_id,trace_id,duration",
        start: 1_000_000,
        duration: ms,
        holds: "psi",
        row: |it| {
            cells![
                it.start / 1_000_000,
                pod(it),
                or(it, ""),
                it.span,
                it.trace,
                it.duration / 1_000_000,
            ]
        },
    },
    Dialect {
        name: "openrca-market",
        header: "timestamp,cmdb_id,span_id,trace_id,duration,type,status_code,operation_name,parent_span",
        start: 1_000_000,
        duration: us,
        holds: "pfsoi",
        row: |it| {
            cells![
                it.start / 1_000_000,
                pod(it),
                it.span,
                it.trace,
                it.duration / 1_000,
                "rpc",
                if_failed(it, "13", "0"),
                it.operation,
                or(it, ""),
            ]
        },
    },
    Dialect {
        name: "jaeger-cassandra",
        header: "trace_id,span_id,span_hash,duration,flags,logs,operation_name,parent_id,process,refs,start_time,tags,write_time",
        start: 1_000,
        duration: us,
        holds: "pfso",
        row: |it| {
            let refs = it.parent.as_ref().map_or_else(String::new, |parent| {
                format!(
                    "[{{ref_type: 'child-of', trace_id: {}, span_id: {parent}}}]",
                    it.trace
                )
            });
            let tags = if_failed(
                it,
                "[{key: 'error', value_type: 'bool', value_bool: True, value_string: 'true'}]",
                "[]",
            );
            cells![
                it.trace,
                it.span,
                "-1",
                it.duration / 1_000,
                "1",
                "",
                it.operation,
                "0",
                format!("{{service_name: '{}', tags: []}}", it.service),
                refs,
                it.start / 1_000,
                tags,
                "1",
            ]
        },
    },
    Dialect {
        name: "honeycomb",
        header: "Timestamp,trace.trace_id,trace.span_id,trace.parent_id,name,service.name,duration_ms,span.kind,error,meta.annotation_type,SampleRate",
        start: 1,
        duration: ns,
        holds: "pkfso",
        row: |it| {
            cells![
                iso(it.start),
                it.trace,
                it.span,
                or(it, ""),
                it.operation,
                it.service,
                in_ms(it.duration),
                kind(it, ["server", "client", "internal"]),
                if_failed(it, "true", ""),
                "",
                "1",
            ]
        },
    },
    Dialect {
        name: "newrelic",
        header: "timestamp,trace.id,id,parent.id,name,service.name,duration.ms,span.kind,error,entity.name",
        start: 1_000_000,
        duration: ns,
        holds: "pkfso",
        row: |it| {
            cells![
                it.start / 1_000_000,
                it.trace,
                it.span,
                or(it, ""),
                it.operation,
                it.service,
                in_ms(it.duration),
                kind(it, ["server", "client", "internal"]),
                it.failed,
                it.service,
            ]
        },
    },
    Dialect {
        name: "gaia",
        header: "timestamp,host_ip,service_name,trace_id,span_id,parent_id,start_time,end_time,url,status_code,message",
        start: 1_000,
        duration: us,
        holds: "pfsoi",
        row: |it| {
            // Whatever wrote these files lost the zeros in front.
            let lost = |id: &str| id.trim_start_matches('0').to_owned();
            cells![
                &local_us(end(it))[..19],
                pod(it),
                it.service,
                it.trace,
                lost(&it.span),
                lost(&or(it, "0")),
                local_us(it.start),
                local_us(end(it)),
                format!("{}?uuid=1", it.operation),
                if_failed(it, "500", "200"),
                "",
            ]
        },
    },
    Dialect {
        name: "tracevae",
        header: "traceIdHigh,traceIdLow,parentSpanId,spanId,startTime,duration,nanosecond,DBhash,status,operationName,serviceName",
        start: 1,
        duration: ms,
        holds: "pso",
        row: |it| {
            let (high, low) = it.trace.split_once(':').expect("two halves");
            cells![
                high,
                low,
                or(it, "0"),
                it.span,
                &local_us(it.start)[..19],
                it.duration / 1_000_000,
                it.start.rem_euclid(1_000_000_000),
                "0",
                "0",
                it.operation,
                it.service,
            ]
        },
    },
    Dialect {
        name: "generic",
        header: "trace_id,span_id,parent_id,service,operation,kind,start_us,took,duration,status,pod",
        start: 1_000,
        duration: ns,
        holds: "pkfsoi",
        row: |it| {
            cells![
                it.trace,
                it.span,
                or(it, "\\N"),
                it.service,
                it.operation,
                kind(it, WORDS),
                it.start / 1_000,
                "",
                print_duration(it.duration),
                if_failed(it, "failed", "success"),
                pod(it),
            ]
        },
    },
];

impl Dialect {
    /// The span as this dialect can hold it, and as it is written.
    fn held(&self, it: &Made) -> Made {
        let holds = |what: char| self.holds.contains(what);
        let mut it = it.clone();
        it.start = it.start / self.start * self.start;
        it.duration = (self.duration)(it.duration);
        if self.name == "tracevae" {
            it.trace = format!("17:{}", it.trace);
        }
        if !holds('f') {
            it.failed = false;
        }
        if holds('c') && it.kind == Kind::Internal {
            it.kind = Kind::Client;
        }
        it
    }

    /// What is read of it; the number of its row stands for ids where there are none.
    fn expected(&self, it: &Made, row: usize) -> Made {
        let holds = |what: char| self.holds.contains(what);
        let mut it = it.clone();
        if holds('-') {
            (it.trace, it.span) = (format!("row:{row}"), format!("row:{row}"));
        }
        if !holds('p') {
            it.parent = None;
        }
        if !holds('k') && !holds('c') {
            it.kind = Kind::Unset;
        }
        if !holds('o') {
            it.operation = String::new();
        }
        if !holds('i') {
            it.pod = None;
        }
        it
    }

    fn write(&self, spans: &[Made]) -> Vec<u8> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(self.header.split(',')).expect("a header");
        for it in spans {
            csv.write_record((self.row)(it)).expect("a row");
        }
        csv.into_inner().expect("a file")
    }
}

fn read(bytes: &[u8]) -> (&'static str, Vec<Made>) {
    let mut reader = Reader::new(Limits::default());
    reader.push(bytes).expect("a readable file");
    let reading = reader.finish().expect("a readable file");
    let rows = &reading.rows;
    let name = |id: u32| rows.names.get(id).to_owned();
    let made = |at: usize| Made {
        trace: rows.trace_id(at).to_owned(),
        span: rows.span_id(at).to_owned(),
        parent: rows.parent_id(at).map(|it| it.to_owned()),
        start: rows.start[at],
        duration: rows.duration[at],
        service: name(rows.label_set(at).service),
        operation: name(rows.label_set(at).operation),
        kind: rows.label_set(at).kind,
        failed: rows.label_set(at).outcome.is_failure(),
        pod: (rows.label_set(at).instance != NONE).then(|| name(rows.label_set(at).instance)),
    };
    (reading.exporter, (0..rows.len()).map(made).collect())
}

fn spans() -> impl Strategy<Value = Vec<Made>> {
    let kinds = prop::sample::select(vec![Kind::Server, Kind::Client, Kind::Internal]);
    let one = (
        (0..3u8, any::<prop::sample::Index>(), any::<bool>()),
        (0..4_000_000_000_000i64, 0..20_000_000_000u64, 0..4u32),
        (
            0..3usize,
            "op[a-z ,;\"'|=\\n\t<>é-]{0,9}x",
            kinds,
            any::<bool>(),
            0..3u8,
        ),
    );
    prop::collection::vec(one, 1..12).prop_map(|all| {
        let mut made: Vec<Made> = Vec::new();
        for (at, ((trace, parent, root), (start, duration, shorter), rest)) in
            all.into_iter().enumerate()
        {
            let (service, operation, kind, failed, pod) = rest;
            let trace = format!("0{trace}c80cb49734064c");
            let earlier: Vec<&Made> = made.iter().filter(|it| it.trace == trace).collect();
            let parent = (!root && !earlier.is_empty()).then(|| parent.get(&earlier).span.clone());
            let service = ["web", "stock-service", "db"][service];
            made.push(Made {
                span: format!("{:016x}", 0x0a6a_c0cf_b325_b700u64 + at as u64),
                trace,
                parent,
                // From the first of January 2026, before and after noon.
                start: 1_767_225_600_000_000_000 + start * 20,
                duration: duration / 1_000u64.pow(shorter),
                service: service.to_owned(),
                operation,
                kind,
                failed,
                pod: Some(format!("{service}-579b9bff58-t2db{pod}")),
            });
        }
        made
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_an_exporter_writes_reads_back(spans in spans()) {
        for dialect in DIALECTS {
            let held: Vec<Made> = spans.iter().map(|it| dialect.held(it)).collect();
            let bytes = dialect.write(&held);
            let (exporter, got) = read(&bytes);
            let text = String::from_utf8_lossy(&bytes);
            prop_assert_eq!(exporter, dialect.name, "{}", text);
            let rows = held.iter().enumerate();
            let expected: Vec<Made> = rows.map(|(at, it)| dialect.expected(it, at + 2)).collect();
            prop_assert_eq!(got, expected, "{}", text);
        }
    }
}
