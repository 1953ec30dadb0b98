//! Files of real systems: what is in them, as counted by other means.
//!
//! They are read from the folder that HERDSCOPE_TRACES names and are not part of the project.

use std::path::{Path, PathBuf};

use crate::given::read;

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("HERDSCOPE_TRACES");
    if folder.is_none() {
        eprintln!("not run: HERDSCOPE_TRACES names no folder of traces");
    }
    folder.map(|it| Path::new(&it).join("real"))
}

/// File, exporter, spans, traces, roots, orphans, issue codes.
type Expected = (
    &'static str,
    &'static str,
    usize,
    u32,
    usize,
    usize,
    &'static [&'static str],
);

const FILES: &[Expected] = &[
    (
        "clickhouse-headerless",
        "clickhouse",
        20,
        5,
        5,
        0,
        &["zone_assumed"],
    ),
    (
        "jaeger-cassandra",
        "jaeger-cassandra",
        925,
        117,
        117,
        0,
        &[],
    ),
    (
        "nezha-shop-0519",
        "nezha",
        6712,
        147,
        147,
        0,
        &["no_status"],
    ),
    (
        "nezha-shop-1329",
        "nezha",
        6656,
        142,
        142,
        0,
        &["no_status"],
    ),
    ("nezha-train-1020", "nezha", 604, 26, 26, 0, &["no_status"]),
    ("nezha-train-1207", "nezha", 2441, 40, 40, 0, &["no_status"]),
    (
        "skywalking-F05-01-error",
        "skywalking",
        1080,
        333,
        333,
        0,
        &["all_failed"],
    ),
    (
        "skywalking-F05-02-error",
        "skywalking",
        766,
        383,
        383,
        0,
        &["all_failed"],
    ),
    (
        "skywalking-F05-03-error",
        "skywalking",
        10333,
        250,
        250,
        0,
        &["all_failed"],
    ),
    (
        "skywalking-F08-01-success-header-only",
        "skywalking",
        0,
        0,
        0,
        0,
        &["no_rows"],
    ),
    (
        "skywalking-F08-05-error",
        "skywalking",
        2000,
        250,
        250,
        0,
        &["all_failed"],
    ),
    (
        "skywalking-F08-05-success",
        "skywalking",
        6500,
        750,
        750,
        0,
        &[],
    ),
    (
        "skywalking-F23-01-error",
        "skywalking",
        3600,
        300,
        300,
        0,
        &["all_failed"],
    ),
    ("tracevae", "tracevae", 21, 7, 7, 0, &["zone_assumed"]),
];

#[test]
fn real_files_hold_what_was_counted() {
    let Some(folder) = folder() else { return };
    for &(file, exporter, spans, traces, roots, orphans, issues) in FILES {
        let dataset = read(&folder.join(format!("{file}.csv")));
        let table = &dataset.table;
        assert_eq!(dataset.exporter, exporter, "{file}");
        assert_eq!((table.len(), table.n_traces()), (spans, traces), "{file}");
        assert_eq!(table.roots_and_orphans(), (roots, orphans), "{file}");
        let codes: Vec<&str> = dataset
            .issues
            .iter()
            .map(|issue| issue.code.as_str())
            .collect();
        assert_eq!(codes, issues, "{file}");
    }
}

/// Files that only say "error" show their timeouts by the pile-up above a round time.
#[test]
fn timeouts_are_told_from_their_pile_up() {
    let Some(folder) = folder() else { return };
    let cases = [
        (
            "skywalking-F05-01-error",
            "ts-travel-service",
            "ts-ticketinfo-service",
            333,
        ),
        (
            "skywalking-F05-02-error",
            "ts-travel-service",
            "ts-ticketinfo-service",
            383,
        ),
        (
            "skywalking-F23-01-error",
            "ts-basic-service",
            "ts-station-service",
            300,
        ),
    ];
    for (file, from, to, expected) in cases {
        let dataset = read(&folder.join(format!("{file}.csv")));
        let edge = dataset
            .edges
            .iter()
            .find(|edge| edge.is_named(from, to))
            .expect("the edge");
        let timed_out = edge.calls.count(herdscope::calls::CallOutcome::TimedOut);
        assert_eq!(timed_out, expected, "{file}");
    }
}
