//! What holds for any bytes.

use std::io::Write as _;

use herdscope::ingest::Limits;
use herdscope::ingest::time::{Told, Unit, parse_duration, parse_time, print_duration, print_time};
use herdscope::issues::Code;
use proptest::prelude::*;

use crate::support::{files, fixtures, print, read, read_with};

fn shown(bytes: &[u8], limits: Limits, piece: usize) -> String {
    let mut reader = herdscope::ingest::Reader::new(limits);
    for piece in bytes.chunks(piece) {
        if let Err(why) = reader.push(piece) {
            return why.to_string();
        }
    }
    match reader.finish() {
        Ok(reading) => print(&reading),
        Err(why) => why.to_string(),
    }
}

/// What a reader minds.
const SCRAPS: &[&[u8]] = &[
    b"trace_id,span_id,start_ms,duration_ms,attributes\n",
    b"Timestamp,TraceId,SpanId,SpanName,Duration\n",
    b"\"t\",\"s\",1767607200123,5,{'a':'b'}\n",
    b"2026-01-05 10:00:00.5,t,s,n,7\n",
    b"t,s,1767607200123,1,304.44ms,x\n",
    b"\xEF\xBB\xBF",
    b"\xFF\xFE",
    b"sep=;\n",
    b"\"",
    b"\\\"",
    b"\"\"",
    b",",
    b";",
    b"\r",
    b"\n",
    b"\0",
    b"\xE9",
    b"{\"k8s.pod.name\":",
    b"[object Object]",
    b"1e30",
    b"1.2E+31",
    b"-1",
    b"'=x",
    b"3/29/2026, 1:00:45.020 AM",
    b"3/4/2026 10:00:00.5,t,s,n,7\n",
    b"29/3/2026 10:00:00.5 +02:00,t,s,n,7\n",
    b"\x1F\x8B\x08",
];

/// Pieces of text that a reader minds, in any order.
fn scraps() -> impl Strategy<Value = Vec<u8>> {
    let scrap = prop::sample::select(SCRAPS);
    prop::collection::vec(scrap, 0..40).prop_map(|it| it.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_gives_the_same(bytes in scraps(), piece in 1usize..40) {
        for limits in [Limits::TIGHT, Limits::default()] {
            let whole = shown(&bytes, limits, bytes.len().max(1));
            prop_assert_eq!(&shown(&bytes, limits, piece), &whole);
            prop_assert_eq!(&shown(&bytes, limits, 1), &whole);
        }
    }

    #[test]
    fn any_split_of_gz_gives_the_same(bytes in scraps(), piece in 1usize..40) {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&bytes).unwrap();
        let gz = gz.finish().unwrap();
        let plain = shown(&bytes, Limits::default(), bytes.len().max(1));
        // A gz in a gz is not opened again.
        prop_assume!(!bytes.starts_with(b"\x1F\x8B\x08"));
        prop_assert_eq!(&shown(&gz, Limits::default(), piece), &plain);
        prop_assert_eq!(&shown(&gz, Limits::default(), gz.len()), &plain);
    }

    #[test]
    fn any_bytes_give_a_reading_or_a_refusal(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = read_with(&bytes, Limits::TIGHT, 13).map(|it| print(&it));
    }

    #[test]
    fn any_row_after_a_header_is_survived(row in "[ -~\u{80}-\u{ff}\n\"]{0,200}") {
        let header = "Timestamp,TraceId,SpanId,SpanName,SpanAttributes,Duration\n";
        let csv = format!("{header}{row}");
        prop_assert!(read(csv.as_bytes()).is_ok());
    }

    #[test]
    fn times_are_printed_as_they_are_read(ns in any::<i64>()) {
        let text = print_time(ns);
        // Of the 20-digit range of i64, all but the years before 1970 that it cannot reach.
        prop_assert_eq!(parse_time(&text, None).map(|it| it.ns), Some(ns), "{}", text);
        let number = ns.to_string();
        prop_assert_eq!(parse_time(&number, Some(Unit::Ns)).map(|it| it.ns), Some(ns).filter(|it| *it != i64::MIN));
    }

    #[test]
    fn durations_are_printed_as_they_are_read(ns in 0u64..u64::MAX) {
        prop_assert_eq!(parse_duration(&print_duration(ns), Unit::Ms, false), Told::Ns(ns));
        prop_assert_eq!(parse_duration(&ns.to_string(), Unit::Ns, false), Told::Ns(ns));
    }

    #[test]
    fn any_text_is_a_time_or_none(text in "\\PC{0,40}", comma in any::<bool>()) {
        let _ = parse_time(&text, None);
        let _ = parse_duration(&text, Unit::S, comma);
    }

    #[test]
    fn any_digits_are_a_time_or_none(text in "[-+0-9.,:eETZ PmsuhD/@]{0,30}", comma in any::<bool>()) {
        let _ = parse_time(&text, None);
        let _ = parse_duration(&text, Unit::S, comma);
    }
}

/// What a row may have in each of its columns, of some thousands of spans.
const CELLS: [&[&str]; 9] = [
    &[
        "4bf92f3577b34da6a3ce929d0e0e4736",
        "4BF92F3577B34DA6A3CE929D0E0E4736",
        "trace-12345678.9",
        "a trace that has blanks",
        "7",
        "",
        "undefined",
        "[object Object]",
        "1.23457E+31",
        "00000000000000000000000000000000",
    ],
    &[
        "00f067aa0ba902b7",
        "00f067aa0ba902b8",
        "span-1234567890",
        "1",
        "",
        "-",
        "#REF!",
    ],
    &[
        "",
        "root",
        "00f067aa0ba902b7",
        "0000000000000000",
        "0000-0000-0000",
        "0af067aa0ba902b8",
        "1234567890.0",
        "undefined",
        "[]",
        "NaN",
        "#N/A",
    ],
    &[
        "2026-01-05 10:00:00.123456789",
        "2026-01-05T10:00:01Z",
        "2026-01-06 10:00:02",
        "2026-01-06 10:00:02+01:00",
        "2026-02-30 10:00:02",
        "Jan 5, 2026 @ 10:00:00.020",
        "\"'=2026-01-05 10:00:01Z\"",
        "1767607200123456789",
        "17676072001234567",
        "1.767607200123456789E18",
        "2300-01-01 00:00:00",
        "",
    ],
    &[
        "5000000",
        "0",
        "-5",
        "",
        "7.5",
        "1304.44ms",
        "soon",
        "9999999999999999999",
        "18446744073709551615",
    ],
    &["web", "web-579b9bff58-t2dbm", "\"we\"\"b\"", "w\u{e9}b", ""],
    &["Client", "Server", "", "odd"],
    &["Ok", "Error", "", "weird", "503"],
    &[
        "{}",
        "\"{'peer.service':'db','http.status_code':'503'}\"",
        "\"{'exception.message':'timed out','breaker.state':'open'}\"",
        "[object Object]",
        "\"{'service.name':'api','w3c.tracestate':'ot=th:8'}\"",
    ],
];

/// A reading without what whole files alone tell, and without the numbers of rows.
fn rows_of(bytes: &[u8]) -> (Vec<String>, Vec<u64>) {
    let reading = read(bytes).expect("a table of spans");
    let text = print(&reading);
    let spans = text.lines().skip(1).filter(|it| !it.starts_with('!'));
    let mut spans: Vec<String> = spans.map(str::to_owned).collect();
    for (at, span) in spans.iter_mut().enumerate() {
        let row = reading.rows.row[at];
        *span = span
            .replace(&format!("#{row}"), "")
            .replace(&format!("row:{row}"), "row");
    }
    let codes = [
        Code::BadTime,
        Code::BadDuration,
        Code::NegativeDuration,
        Code::BadId,
        Code::MissingId,
        Code::SpreadsheetIds,
        Code::UnknownStatus,
        Code::LostObjects,
        Code::ZoneAssumed,
        Code::Sampled,
        Code::Encoding,
    ];
    (spans, codes.map(|it| reading.issues.count(it)).to_vec())
}

proptest! {
    /// What was met before is taken another way than what is met for the first time.
    #[test]
    fn a_row_gives_the_same_whatever_was_before_it(
        rows in prop::collection::vec(
            prop::collection::vec(any::<prop::sample::Index>(), CELLS.len()), 1..12),
        usual in prop::collection::vec(any::<bool>(), CELLS.len() * 12),
    ) {
        let header = "trace_id,span_id,parent_id,start_time,duration_ns,service.name,kind,status_code,attributes\n";
        let mut usual = usual.into_iter();
        let mut row = |places: &Vec<prop::sample::Index>| {
            let cell = |(cells, at): (&&[&'static str], &prop::sample::Index)| {
                if usual.next() == Some(true) { cells[0] } else { *at.get(cells) }
            };
            let cells: Vec<&str> = CELLS.iter().zip(places).map(cell).collect();
            cells.join(",") + "\n"
        };
        let rows: Vec<String> = rows.iter().map(&mut row).collect();
        let (mut spans, mut counts) = (Vec::new(), vec![0; 11]);
        for row in &rows {
            let (of_row, noticed) = rows_of(format!("{header}{row}").as_bytes());
            spans.extend(of_row);
            counts.iter_mut().zip(noticed).for_each(|(sum, it)| *sum += it);
        }
        let (all, noticed) = rows_of((header.to_owned() + &rows.concat()).as_bytes());
        prop_assert_eq!((all, noticed), (spans, counts), "{}", rows.concat());
    }
}

#[test]
fn half_a_pair_of_utf16_is_noted_at_the_same_place_in_any_pieces() {
    let row = "a,b,1767607200123,5\n";
    let text = format!("trace_id,span_id,start_ms,duration_ms\na,b\n{row}{row}a,?{row}");
    let mut units: Vec<u16> = text.encode_utf16().collect();
    let at = units.iter().position(|&it| it == u16::from(b'?')).unwrap();
    units[at] = 0xD800;
    let bytes: Vec<u8> = units.iter().flat_map(|it| it.to_le_bytes()).collect();
    let whole = shown(&bytes, Limits::TIGHT, bytes.len());
    assert!(
        whole.contains("row_short") && whole.contains("encoding"),
        "{whole}"
    );
    for piece in 1..bytes.len() {
        assert_eq!(
            shown(&bytes, Limits::TIGHT, piece),
            whole,
            "in pieces of {piece}"
        );
    }
}

#[test]
fn fixtures_read_the_same_in_any_pieces() {
    let all = [
        files(fixtures(), "csv"),
        files(fixtures().join("edge"), "csv"),
        files(fixtures(), "json"),
    ]
    .concat();
    assert!(all.len() > 40);
    for file in all {
        let bytes = std::fs::read(&file).unwrap();
        let limits = Limits {
            sniffed: 2_000,
            ..Limits::default()
        };
        let whole = shown(&bytes, limits, bytes.len().max(1));
        for piece in [1, 2, 3, 7, 64, 1_000] {
            assert_eq!(
                shown(&bytes, limits, piece),
                whole,
                "{file:?} in pieces of {piece}"
            );
        }
    }
}
