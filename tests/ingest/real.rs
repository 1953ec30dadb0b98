//! Files of the folder that `HERDSCOPE_TRACES` names: the herds, the twins of one incident, and real
//! files, which are not ours to ship.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use herdscope::ingest::Reading;
use herdscope::issues::Code;
use herdscope::rows::NO_PARENT;

use crate::support::read;

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("HERDSCOPE_TRACES").map(PathBuf::from);
    if folder.is_none() {
        println!("HERDSCOPE_TRACES is not set: the tests over real files were not run");
    }
    folder
}

#[track_caller]
fn open(file: PathBuf) -> Reading {
    let bytes = std::fs::read(&file).unwrap_or_else(|why| panic!("{file:?}: {why}"));
    read(&bytes).unwrap_or_else(|why| panic!("{file:?}: {why}"))
}

/// Spans, traces, roots.
fn counts(reading: &Reading) -> [usize; 3] {
    let rows = &reading.rows;
    let roots = rows.parent.iter().filter(|&&it| it == NO_PARENT).count();
    [rows.len(), rows.trace_ids.len(), roots]
}

fn codes(reading: &Reading) -> Vec<&'static str> {
    reading.issues.iter().map(|it| it.code.as_str()).collect()
}

#[test]
fn herds() {
    let Some(folder) = folder() else { return };
    for (name, expected) in [
        ("four", [48_711, 16_237, 16_237]),
        ("one", [35_280, 11_760, 11_760]),
    ] {
        let reading = open(folder.join(format!("herd/{name}.csv.gz")));
        assert_eq!(reading.exporter, "clickhouse");
        assert_eq!(counts(&reading), expected);
        assert_eq!(codes(&reading), ["zone_assumed"]);
    }
}

/// File, exporter, roots, issues.
const TWINS: &[(&str, &str, usize, &[&str])] = &[
    (
        "clickhouse_CSVWithNames",
        "clickhouse",
        553,
        &["zone_assumed"],
    ),
    (
        "clickhouse_CSV_headerless",
        "clickhouse",
        553,
        &["zone_assumed"],
    ),
    ("dash0_cli_spans_query", "dash0", 553, &[]),
    ("dash0_cli_traces_get", "dash0", 553, &[]),
    ("skywalking_deeptralog", "skywalking", 553, &[]),
    ("nezha", "nezha", 553, &["no_status"]),
    (
        "appinsights_union_requests_dependencies",
        "appinsights",
        553,
        &[],
    ),
    ("dynatrace_dql", "dynatrace", 553, &[]),
    ("grafana_explore_inspector", "grafana", 553, &[]),
    ("grafana_explore_semicolon", "grafana", 553, &[]),
    (
        "grafana_v8_objectObject",
        "grafana",
        553,
        &["lost_objects", "lost_objects", "no_status"],
    ),
    ("kibana_discover", "elastic", 553, &["zone_assumed"]),
    (
        "openrca_bank_aiops2021",
        "openrca-bank",
        553,
        &["no_status"],
    ),
    ("openrca_telecom_aiops2020", "openrca-telecom", 553, &[]),
    ("rcaeval_re2", "rcaeval", 553, &[]),
    // The default columns hold no parent.
    ("signoz_export_default", "signoz", 1_904, &["no_parents"]),
];

#[test]
fn twins_are_one_incident() {
    let Some(folder) = folder() else { return };
    let best = open(folder.join("twins/clickhouse_CSVWithNames.csv"));
    let spans = |reading: &Reading| -> BTreeMap<(String, String), (i64, u64, Option<String>)> {
        let rows = &reading.rows;
        let one = |i: usize| {
            let id = (rows.trace_id(i).to_owned(), rows.span_id(i).to_owned());
            let parent = rows.parent_id(i).map(|it| it.to_owned());
            (id, (rows.start[i], rows.duration[i], parent))
        };
        (0..rows.len()).map(one).collect()
    };
    let expected = spans(&best);
    for &(name, exporter, roots, issues) in TWINS {
        let reading = open(folder.join(format!("twins/{name}.csv")));
        assert_eq!(reading.exporter, exporter, "{name}");
        assert_eq!(counts(&reading), [1_904, 553, roots], "{name}");
        assert_eq!(codes(&reading), issues, "{name}");
        let got = spans(&reading);
        for (id, (start, duration, parent)) in &expected {
            let twin = &got[id];
            // The coarsest tell milliseconds, and durations to 10 ms above a second.
            assert!(
                (twin.0 - start).abs() <= 1_000_000,
                "{name} {id:?} {twin:?} {start}"
            );
            assert!(
                twin.1.abs_diff(*duration) <= 10_000_000,
                "{name} {id:?} {twin:?} {duration}"
            );
            assert!(roots != 553 || twin.2 == *parent, "{name} {id:?}");
        }
    }
    let datadog = open(folder.join("twins/datadog_spans.csv"));
    assert_eq!(counts(&datadog), [1_904, 1_904, 1_904]);
    assert_eq!(codes(&datadog), ["missing_id"]);
}

/// File, exporter, spans, traces, roots.
const REAL: &[(&str, &str, [usize; 3])] = &[
    ("clickhouse-headerless", "clickhouse", [20, 5, 5]),
    ("jaeger-cassandra", "jaeger-cassandra", [925, 117, 117]),
    ("nezha-shop-0519", "nezha", [6_712, 147, 147]),
    ("nezha-shop-1329", "nezha", [6_656, 142, 142]),
    ("nezha-train-1020", "nezha", [604, 26, 26]),
    ("nezha-train-1207", "nezha", [2_441, 40, 40]),
    ("skywalking-F05-01-error", "skywalking", [1_080, 333, 333]),
    ("skywalking-F05-02-error", "skywalking", [766, 383, 383]),
    ("skywalking-F05-03-error", "skywalking", [10_333, 250, 250]),
    (
        "skywalking-F08-01-success-header-only",
        "skywalking",
        [0, 0, 0],
    ),
    ("skywalking-F08-05-error", "skywalking", [2_000, 250, 250]),
    ("skywalking-F08-05-success", "skywalking", [6_500, 750, 750]),
    ("skywalking-F23-01-error", "skywalking", [3_600, 300, 300]),
    ("tracevae", "tracevae", [21, 7, 7]),
];

#[test]
fn real_files() {
    let Some(folder) = folder() else { return };
    for &(name, exporter, expected) in REAL {
        let reading = open(folder.join(format!("real/{name}.csv")));
        assert_eq!(reading.exporter, exporter, "{name}");
        assert_eq!(counts(&reading), expected, "{name}");
        let issues: &[&str] = match name {
            "clickhouse-headerless" => &["zone_assumed"],
            "skywalking-F08-01-success-header-only" => &["no_rows"],
            "tracevae" => &["zone_assumed"],
            _ if exporter == "nezha" => &["no_status"],
            _ => &[],
        };
        assert_eq!(codes(&reading), issues, "{name}");
        assert_eq!(reading.issues.count(Code::RowShort), 0, "{name}");
    }
}

/// The counts above, by Python's csv module.
#[test]
fn real_files_count_the_same_by_other_means() {
    let Some(folder) = folder() else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts/count_spans.py");
    let files = REAL
        .iter()
        .map(|it| folder.join(format!("real/{}.csv", it.0)));
    let counted = Command::new("python3").arg(script).args(files).output();
    let Ok(counted) = counted else {
        println!("python3 is not there: the counts were not confirmed by other means");
        return;
    };
    assert!(
        counted.status.success(),
        "{}",
        String::from_utf8_lossy(&counted.stderr)
    );
    let lines: String = REAL
        .iter()
        .map(|(name, _, [spans, traces, roots])| format!("{name}.csv {spans} {traces} {roots}\n"))
        .collect();
    assert_eq!(String::from_utf8_lossy(&counted.stdout), lines);
}
