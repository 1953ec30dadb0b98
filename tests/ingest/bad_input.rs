//! What is no file of spans, each with its one sentence.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use herdscope::ingest::{Limits, Reader, UnreadableKind};
use herdscope::issues::Code;

use crate::support::{check, read, read_with};

const CSV: &str = "trace_id,span_id,start_ms,duration_ms\nt,a,1767607200123,5\n";

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::best());
    gz.write_all(bytes).unwrap();
    gz.finish().unwrap()
}

#[track_caller]
fn kind(bytes: &[u8]) -> UnreadableKind {
    let why = read(bytes).expect_err("this is not to be read");
    let sentence = why.to_string();
    assert!(
        sentence.len() < 400 && !sentence.contains('\n'),
        "{sentence}"
    );
    why.kind
}

#[test]
fn each_kind_is_named() {
    assert_eq!(kind(b""), UnreadableKind::Empty);
    assert_eq!(kind(b" \r\n\n"), UnreadableKind::Empty);
    assert_eq!(kind(&gz(b"")), UnreadableKind::Empty);
    assert_eq!(kind(b"\xEF\xBB\xBF"), UnreadableKind::Empty);
    assert_eq!(kind(b"<!DOCTYPE html><html>"), UnreadableKind::Html);
    assert_eq!(kind(b"\n  <html>"), UnreadableKind::Html);
    assert_eq!(kind(b"{\"resourceMetrics\":[]}"), UnreadableKind::Json);
    assert_eq!(
        kind(b"\x89PNG\r\n\x1a\n\0\0"),
        UnreadableKind::Binary("a picture (PNG)")
    );
    assert_eq!(
        kind(b"\xFF\xD8\xFF\xE0\0\x10JFIF"),
        UnreadableKind::Binary("a picture (JPEG)")
    );
    assert_eq!(kind(b"%PDF-1.7\n"), UnreadableKind::Binary("a PDF"));
    let zip = UnreadableKind::Binary("an Excel workbook or another zip archive");
    assert_eq!(kind(b"PK\x03\x04\x14\0\x06\0"), zip);
    assert_eq!(
        kind(b"ab\x01\x02\x03c,d\n"),
        UnreadableKind::Binary("a file of binary data")
    );
    for table in [
        "name,age\nx,1\n",
        "date,price\n2026-01-05,1\n",
        "some words",
    ] {
        let kind = kind(table.as_bytes());
        assert!(matches!(kind, UnreadableKind::UnknownColumns(_)), "{table}");
    }
    assert_eq!(kind(&vec![b'x'; 10_000_000]), UnreadableKind::HeaderTooLong);
    let mut damaged = gz(CSV.repeat(5).as_bytes());
    damaged[20] ^= 0x55;
    assert_eq!(kind(&damaged), UnreadableKind::GzBroken);
}

#[test]
fn the_sentences() {
    check(
        "name,age\nx,1\n",
        "line 1: this table has no columns of spans, but name, age; expected a start time, a duration \
         or an end time, and ids, services or names (such as start_time, duration, trace_id, span_id, \
         parent_id, service.name, name): tell which columns hold them (trace=COLUMN,start=COLUMN@ms,\u{2026}), \
         or export the spans themselves, with a header line",
    );
    check(
        "<html>",
        "this is an HTML page, not a CSV; expected a table of spans (CSV): the link probably led to a \
         login or preview page, download the file itself",
    );
    check(
        "",
        "the file is empty; expected a table of spans (CSV): export the spans again",
    );
}

/// Lines and what is read of them, with rows of at most 40 bytes.
fn with_short_rows(csv: &str) -> (Vec<String>, Vec<String>) {
    let limits = Limits {
        longest_row: 40,
        sniffed: 50,
        ..Limits::default()
    };
    let mut seen = None;
    for piece in [1, 2, 3, 7, 41, usize::MAX] {
        let reading = read_with(csv.as_bytes(), limits, piece).unwrap();
        let spans = 0..reading.rows.len();
        let spans: Vec<String> = spans
            .map(|at| reading.rows.span_id(at).to_owned())
            .collect();
        let issue = |it: &herdscope::issues::Issue| {
            let row = it.first_row.unwrap_or(0);
            let got = it.got.as_deref().unwrap_or("-");
            format!("{} x{} row {row} {got}", it.code.as_str(), it.count)
        };
        let issues: Vec<String> = reading.issues.iter().map(issue).collect();
        let told = (spans, issues);
        assert_eq!(*seen.get_or_insert_with(|| told.clone()), told, "{piece}");
    }
    seen.unwrap()
}

#[test]
fn a_row_that_is_too_long_costs_itself() {
    let row = |id: &str| format!("t,{id},1767607200123,5\n");
    let long = "x".repeat(100);
    let cases = [
        // A long line, one of exactly the limit, and one at the end of the file.
        (
            format!("{CSV}{}{}{}", row("b"), row(&long), row("c")),
            vec!["a", "b", "c"],
            vec!["row_too_long x1 row 4 the row that begins in line 4"],
        ),
        (
            format!("{CSV}{}{}", row(&"y".repeat(21)), row("c")),
            vec!["a", "yyyyyyyyyyyyyyyyyyyyy", "c"],
            Vec::new(),
        ),
        (
            format!("{CSV}{}{}", row(&"y".repeat(22)), row("c")),
            vec!["a", "c"],
            vec!["row_too_long x1 row 3 the row that begins in line 3"],
        ),
        (
            format!("{CSV}{long}"),
            vec!["a"],
            vec!["row_too_long x1 row 3 the row that begins in line 3"],
        ),
        // A quote that is never closed swallows what fits, and no more.
        (
            format!(
                "{CSV}t,\"b,1767607200123,5\n{}{}{}",
                row("c"),
                row("d"),
                row("e")
            ),
            vec!["a", "d", "e"],
            vec!["row_too_long x1 row 3 the row that begins in line 3"],
        ),
    ];
    for (csv, spans, issues) in cases {
        let (read, noticed) = with_short_rows(&csv);
        assert_eq!(read, spans, "{csv}");
        assert_eq!(noticed, issues, "{csv}");
    }
}

/// A line without end is passed over, however long it is, in the memory of the longest row.
#[test]
fn a_line_without_end_is_not_held() {
    let mut reader = Reader::new(Limits {
        longest_row: 1 << 16,
        ..Limits::default()
    });
    reader.push(CSV.as_bytes()).unwrap();
    let piece = vec![b'x'; 1 << 20];
    let before = resident();
    for _ in 0..200 {
        reader.push(&piece).unwrap();
    }
    if let (Some(before), Some(after)) = (before, resident()) {
        assert!(after < before + (20 << 20), "{before} {after}");
    }
    reader.push(b"\nt,z,1767607200123,5\n").unwrap();
    let reading = reader.finish().unwrap();
    assert_eq!(reading.rows.len(), 2);
    assert_eq!(reading.issues.count(Code::RowTooLong), 1);
}

/// Bytes of this process in memory, where the system tells.
fn resident() -> Option<usize> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = pages.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

#[test]
fn a_header_alone_is_no_refusal() {
    let reading = read(b"trace_id,span_id,start_ms,duration_ms").unwrap();
    assert_eq!(reading.rows.len(), 0);
    assert_eq!(reading.issues.count(Code::NoRows), 1);
    // In words that are true of JSON, too.
    let reading = read(b"{\"resourceSpans\": []}").unwrap();
    let issue = reading.issues.iter().next().unwrap();
    assert_eq!(
        issue.message(),
        "the file has no spans (of a table a header and no rows, of JSON an empty list): check the query's time \
         range and export again"
    );
}

#[test]
fn gz_is_unpacked_members_and_all() {
    let (header, row) = CSV.split_at(CSV.find('\n').unwrap() + 1);
    let mut bytes = gz(header.as_bytes());
    bytes.extend(gz(row.as_bytes()));
    bytes.extend(gz(row.replace("t,a", "t,b").as_bytes()));
    for piece in [1, 2, 3, 50, usize::MAX] {
        let reading = read_with(&bytes, Limits::default(), piece).unwrap();
        assert_eq!(reading.rows.len(), 2, "in pieces of {piece}");
        assert!(reading.issues.is_empty());
    }
}

#[test]
fn padding_after_a_gz_member_is_no_damage() {
    let (header, row) = CSV.split_at(CSV.find('\n').unwrap() + 1);
    let zeros = vec![0; 10_000];
    for padding in [&b"\0"[..], &zeros, b"\n", b"\r\n"] {
        let alone = [&gz(CSV.as_bytes()), padding].concat();
        let between = [
            &gz(header.as_bytes()),
            padding,
            &gz(row.as_bytes()),
            padding,
        ]
        .concat();
        for bytes in [alone, between] {
            for piece in [1, 3, 4096, usize::MAX] {
                let reading = read_with(&bytes, Limits::default(), piece).unwrap();
                assert_eq!(reading.rows.len(), 1, "in pieces of {piece}");
                assert!(reading.issues.is_empty());
            }
        }
    }
}

#[test]
fn what_follows_the_last_gz_member_costs_itself() {
    for rest in [&b"more"[..], b"\0\x1F\x8Bx", &[b'x'; 10_000]] {
        let bytes = [&gz(CSV.as_bytes())[..], rest].concat();
        for piece in [1, 3, 4096, usize::MAX] {
            let reading = read_with(&bytes, Limits::default(), piece).unwrap();
            assert_eq!(reading.rows.len(), 1, "in pieces of {piece}");
            assert_eq!(reading.issues.count(Code::GzRest), 1);
            assert_eq!(reading.issues.iter().count(), 1);
        }
    }
    assert_eq!(
        kind(&[b"\x1F\x8B\x08\xFF", &gz(CSV.as_bytes())[..]].concat()),
        UnreadableKind::GzBroken
    );
}

/// However much of the trailer is missing, the rows are there and the cut is told.
#[test]
fn a_gz_cut_in_its_trailer_gives_all_rows() {
    let bytes = gz(CSV.as_bytes());
    for missing in 1..=8 {
        let reading = read(&bytes[..bytes.len() - missing]).unwrap();
        assert_eq!(reading.rows.len(), 1);
        assert_eq!(reading.issues.count(Code::RowTruncated), 1);
    }
}

#[test]
fn a_cut_gz_gives_what_it_holds() {
    let mut csv = CSV.to_owned();
    let mut state = 1u64;
    for _ in 0..5_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        csv.push_str(&format!("t,{state:016x},1767607200123,5\n"));
    }
    let bytes = gz(csv.as_bytes());
    let reading = read(&bytes[..bytes.len() / 2]).unwrap();
    assert!(
        (500..5_000).contains(&reading.rows.len()),
        "{}",
        reading.rows.len()
    );
    assert_eq!(reading.issues.count(Code::RowTruncated), 1);
}

#[test]
fn gz_bombs_of_one_row_and_of_many() {
    let limits = Limits {
        gz_free: 100_000,
        gz_ratio: 20,
        ..Limits::default()
    };
    let rows = gz(format!("{CSV}{}", "t,a,1767607200123,5\n".repeat(100_000)).as_bytes());
    let row = gz(&[CSV.as_bytes(), &vec![b'x'; 2_000_000]].concat());
    for bomb in [rows, row] {
        for piece in [1, 100, usize::MAX] {
            let why = read_with(&bomb, limits, piece).unwrap_err();
            assert_eq!(why.kind, UnreadableKind::GzBomb, "in pieces of {piece}");
        }
    }
}

#[test]
fn an_error_stays_one() {
    let mut reader = Reader::new(Limits::default());
    let first = reader.push(&vec![b'x'; 2_000_000]).unwrap_err();
    assert_eq!(reader.push(b"more").unwrap_err(), first);
    assert_eq!(reader.finish().unwrap_err(), first);
}

#[test]
fn rows_are_there_while_reading() {
    let mut reader = Reader::new(Limits {
        sniffed: 10,
        ..Limits::default()
    });
    reader.push(CSV.as_bytes()).unwrap();
    assert_eq!(reader.rows().len(), 1);
    reader.push(b"t,b,1767607200123,5\nt,c,17676").unwrap();
    assert_eq!(reader.rows().len(), 2);
}
