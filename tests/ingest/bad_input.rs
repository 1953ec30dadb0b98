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
    assert_eq!(kind(b"{\"resourceSpans\":[]}"), UnreadableKind::Json);
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
    assert_eq!(kind(b"name,age\nx,1\n"), UnreadableKind::NotSpans);
    assert_eq!(
        kind(b"date,price\n2026-01-05,1\n"),
        UnreadableKind::NotSpans
    );
    assert_eq!(kind(b"some words"), UnreadableKind::NotSpans);
    assert_eq!(kind(&vec![b'x'; 10_000_000]), UnreadableKind::HeaderTooLong);
    let mut endless = CSV.as_bytes().to_vec();
    endless.resize(10_000_000, b'x');
    assert_eq!(kind(&endless), UnreadableKind::RowTooLong);
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
         parent_id, service.name, name): export the spans themselves, with a header line",
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

#[test]
fn a_long_row_names_its_line() {
    let limits = Limits {
        longest_row: 100,
        ..Limits::default()
    };
    let csv = format!("{CSV}t,\"b{}", "\n1,2,3,4".repeat(50));
    let why = read_with(csv.as_bytes(), limits, 7).unwrap_err();
    assert_eq!(why.kind, UnreadableKind::RowTooLong);
    assert_eq!(why.place.as_deref(), Some("line 3"));
}

#[test]
fn a_header_alone_is_no_refusal() {
    let reading = read(b"trace_id,span_id,start_ms,duration_ms").unwrap();
    assert_eq!(reading.rows.len(), 0);
    assert_eq!(reading.issues.count(Code::NoRows), 1);
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
    // The endless row of a gz is refused for its length before its ratio counts.
    let row = gz(&[CSV.as_bytes(), &vec![b'x'; 20_000_000]].concat());
    assert_eq!(kind(&row), UnreadableKind::RowTooLong);
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
