//! One way to read, one way to print what was read.

use std::fmt::Write as _;
use std::path::PathBuf;

use herdscope::ingest::time::{print_duration, print_time};
use herdscope::ingest::{Limits, Reader, Reading, Unreadable};
use herdscope::rows::{NONE, UNKNOWN_DURATION};

/// Reads bytes in one piece.
pub fn read(bytes: &[u8]) -> Result<Reading, Unreadable> {
    read_with(bytes, Limits::default(), usize::MAX)
}

/// Reads bytes in pieces of a size.
pub fn read_with(bytes: &[u8], limits: Limits, piece: usize) -> Result<Reading, Unreadable> {
    let mut reader = Reader::new(limits);
    for piece in bytes.chunks(piece.max(1)) {
        reader.push(piece)?;
    }
    assert_eq!(reader.bytes_in(), bytes.len() as u64);
    reader.finish()
}

/// Checks what is read from a CSV: `print` of the reading, or the one sentence of the refusal.
#[track_caller]
pub fn check(csv: impl AsRef<[u8]>, expect: &str) {
    let got = match read(csv.as_ref()) {
        Ok(reading) => print(&reading),
        Err(why) => why.to_string(),
    };
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|it| it.trim().to_owned());
        lines.filter(|it| !it.is_empty()).collect()
    };
    assert_eq!(lines(&got), lines(expect), "\n{got}");
}

/// A reading as text: a line for what it is, one an issue, one a span.
pub fn print(reading: &Reading) -> String {
    let mut text = reading.exporter.to_owned();
    let assumed = &reading.assumed;
    if let Some(zone) = assumed.zone {
        let _ = write!(text, " zone={zone}");
    }
    if let Some(unit) = assumed.start_unit {
        let _ = write!(text, " start={}", unit.as_str());
    }
    if let Some(unit) = assumed.duration_unit {
        let _ = write!(text, " duration={}", unit.as_str());
    }
    if let Some(dates) = assumed.dates {
        let _ = write!(text, " dates={dates}");
    }
    text.push('\n');
    for issue in reading.issues.iter() {
        let _ = write!(text, "! {} x{}", issue.code.as_str(), issue.count);
        if let Some(row) = issue.first_row {
            let _ = write!(text, " row {row}");
        }
        if let Some(column) = &issue.column {
            let _ = write!(text, " {column}");
        }
        if let Some(got) = &issue.got {
            let _ = write!(text, " {got:?}");
        }
        text.push('\n');
    }
    let rows = &reading.rows;
    let or_dash = |index: u32| match index {
        NONE => "-",
        index => rows.names.get(index),
    };
    for i in 0..rows.len() {
        let parent = rows.parent_id(i);
        let parent = parent.as_deref().unwrap_or("-");
        let duration = match rows.duration[i] {
            UNKNOWN_DURATION => "?".to_owned(),
            ns => print_duration(ns),
        };
        let _ = writeln!(
            text,
            "{}/{}<{parent} {} {duration} {} {:?} {} {} @{} >{} {:?} #{}",
            rows.trace_id(i),
            rows.span_id(i),
            print_time(rows.start[i]),
            rows.names.get(rows.label_set(i).service),
            rows.names.get(rows.label_set(i).operation),
            rows.label_set(i).kind.as_str(),
            rows.label_set(i).outcome.as_str(),
            or_dash(rows.label_set(i).instance),
            or_dash(rows.label_set(i).peer),
            rows.names.get(rows.label_set(i).message),
            rows.row[i],
        );
    }
    text
}

/// Where the fixtures are.
pub fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ingest")
}

/// The files of a folder with an ending, by name.
pub fn files(folder: PathBuf, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|why| panic!("{folder:?}: {why}"));
    let mut files: Vec<PathBuf> = entries.map(|it| it.unwrap().path()).collect();
    files.retain(|it| it.extension().is_some_and(|it| it == ending));
    files.sort();
    files
}
