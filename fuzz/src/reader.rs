//! Files, whatever the bytes.
//!
//! Holds: bytes are a reading or one sentence; any split of them gives the same; each span is of
//! another row, of those that the bytes have; times, durations and texts are within what the columns
//! promise; and the table built of the rows has no span more, in its order, under parents that are in
//! its trace. They are read with other limits than the page's, too, so that short inputs
//! reach them, and with what a person may say about a file.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use herdscope::ingest::{Limits, Reader, Reading, Told, Unreadable};
use herdscope::issues::Issues;
use herdscope::rows::{NONE, SpanRows, UNKNOWN_DURATION};
use herdscope::spans::{Parent, SpanIdx, SpanTable};

use crate::draw::Random;

/// What a person says about a file: mostly nothing.
const TOLD: [&str; 5] = [
    "",
    "",
    "",
    "start=@us,duration=@s,zone=+02:00,failed=1ms,http-failed=400,logical=yes",
    "trace=trace_id,attributes=a,attributes=b,start=Timestamp@ms,parent=,dates=day-first,zone=-18:00",
];

/// Panics where it does not hold.
pub fn check(bytes: &[u8]) {
    // An input decides itself how it is read: every way for each would take the time of other inputs.
    let mut random = Random::of(bytes);
    let limits = [Limits::TIGHT, Limits::default()][random.below(2)];
    let told = &TOLD[random.below(TOLD.len())].parse().unwrap_or_default();
    let whole = read([bytes], limits, told);
    let (shown, split) = (
        show(&whole),
        show(&read(pieces(bytes, random), limits, told)),
    );
    assert!(split == shown, "in pieces:\n{split}\nas a whole:\n{shown}");
    match whole {
        Ok(reading) => check_rows(&reading.rows, bytes),
        Err(why) => assert_eq!(why.to_string().lines().count(), 1, "{why}"),
    }
}

/// The bytes in pieces at random, short ones or long ones, also of one byte each.
fn pieces(mut bytes: &[u8], mut random: Random) -> impl Iterator<Item = &[u8]> {
    let longest = 1 << random.below(11);
    std::iter::from_fn(move || {
        let length = 1 + random.below(longest);
        let (piece, rest) = bytes.split_at(length.min(bytes.len()));
        bytes = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

fn read<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    limits: Limits,
    told: &Told,
) -> Result<Reading, Unreadable> {
    let mut reader = Reader::new(limits).telling(told.clone());
    for piece in pieces {
        reader.push(piece)?;
    }
    reader.finish()
}

/// All that can be seen of a reading.
fn show(read: &Result<Reading, Unreadable>) -> String {
    let reading = match read {
        Ok(reading) => reading,
        Err(why) => return why.to_string(),
    };
    let mut text = format!("{} {:?}\n", reading.exporter, reading.assumed);
    for issue in reading.issues.iter() {
        let _ = writeln!(text, "{issue:?}");
    }
    let rows = &reading.rows;
    for at in 0..rows.len() {
        let parent = rows.parent_id(at);
        let ids = [&*rows.span_id(at), parent.as_deref().unwrap_or("")];
        let set = rows.label_set(at);
        let _ = writeln!(
            text,
            "{} {:?} {} {ids:?} {} {} {:?} {:?} {:?}",
            rows.row[at],
            rows.trace_id(at),
            parent.is_none(),
            rows.start[at],
            rows.duration[at],
            set.kind,
            set.outcome,
            set.texts().map(|it| rows.names.get(it)),
        );
    }
    text
}

fn check_rows(rows: &SpanRows, bytes: &[u8]) {
    let is_gz = bytes.starts_with(b"\x1F\x8B\x08");
    if !is_gz {
        // A row of a table is a line, or one of a document an object.
        let ends = bytes.iter().filter(|it| matches!(it, b'\n' | b'\r' | b'{'));
        let most = ends.count() + 1;
        assert!(
            rows.row
                .iter()
                .all(|&it| (1..=most).contains(&(it as usize)))
        );
    }
    assert!(rows.row.is_sorted_by(|a, b| a < b), "a row gives one span");
    for at in 0..rows.len() {
        let (start, duration) = (rows.start[at], rows.duration[at]);
        assert!((-(1 << 61)..1 << 62).contains(&start), "{start}");
        assert!(duration <= 1 << 60 || duration == UNKNOWN_DURATION);
        assert!((rows.trace[at] as usize) < rows.trace_ids.end());
        for id in [Some(rows.span_id(at)), rows.parent_id(at)] {
            assert!(id.is_none_or(|it| !it.is_empty()));
        }
        for name in rows.label_set(at).texts() {
            assert!(name == NONE || (name as usize) < rows.names.len());
        }
    }

    let table = SpanTable::build(rows.clone(), &mut Issues::default());
    assert!(table.len() <= rows.len() && table.is_empty() == rows.is_empty());
    assert!(table.rank.is_sorted());
    for span in (0..table.len() as u32).map(SpanIdx) {
        if let Parent::Span(parent) = table.parent(span) {
            let rank = |it: SpanIdx| table.rank[it.0 as usize];
            assert!(parent != span && rank(parent) == rank(span));
        }
    }
}

/// The files that the reader's tests read, plain and in gz, and first pieces of them.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = crate::owned(&["", "a", "trace_id\n"]);
    for folder in ["../tests/fixtures/ingest", "../tests/fixtures/ingest/edge"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|why| panic!("{folder:?}: {why}"));
        let mut files: Vec<_> = entries.map(|it| it.expect("an entry").path()).collect();
        files.retain(|it| it.extension().is_some_and(|it| it == "csv" || it == "json"));
        files.sort();
        for file in files {
            let bytes = std::fs::read(&file).unwrap_or_else(|why| panic!("{file:?}: {why}"));
            // Long ones cost runs and add rows like those before.
            let bytes = &bytes[..bytes.len().min(2_000)];
            if seeds.len().is_multiple_of(8) {
                seeds.push(gz(bytes));
            }
            seeds.push(bytes.to_vec());
        }
    }
    seeds
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail.
    let _ = gz.write_all(bytes);
    gz.finish().unwrap_or_default()
}
