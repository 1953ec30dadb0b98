//! A row that is read again says what it said: from any table, packed or not, in any pieces.

use std::io::Write as _;
use std::path::PathBuf;

use herdscope::ingest::row::{Again, EVERY, Said};
use herdscope::ingest::{Limits, Reading};
use proptest::prelude::*;

use crate::support::{files, fixtures, read, read_with};

/// What one row says, fed in pieces of that size; `None` where it is not the span's.
fn again(reading: &Reading, at: usize, bytes: &[u8], piece: usize) -> Option<Vec<Said>> {
    let rows = &reading.rows;
    let places = reading.places.clone().expect("a table");
    let mut again = Again::new(places, rows.row[at], false);
    for piece in bytes[again.from as usize..].chunks(piece) {
        if again.push(piece).expect("what was read before") {
            break;
        }
    }
    again.finish(&rows.trace_id(at), &rows.span_id(at))
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(bytes).unwrap();
    gz.finish().unwrap()
}

/// As `column=text` and `column.key=text`.
fn print(said: &[Said]) -> Vec<String> {
    let line = |[of, name, text]: &Said| match of.as_str() {
        "" => format!("{name}={text}"),
        column => format!("{column}.{name}={text}"),
    };
    said.iter().map(line).collect()
}

/// The row of the only span.
#[track_caller]
fn check(csv: &str, expected: &[&str]) {
    let reading = read(csv.as_bytes()).unwrap();
    assert_eq!(reading.rows.len(), 1, "{csv}");
    let cells = again(&reading, 0, csv.as_bytes(), 7).expect("the row");
    assert_eq!(print(&cells), expected, "{csv}");
}

#[test]
fn a_row_is_all_that_its_cells_say() {
    check(
        "trace_id,span_id,start_ms,duration_ms,note\nt,s,1767607200123,5,\"a \"\"long\"\"\nnote, of lines\"\n",
        &[
            "trace_id=t",
            "span_id=s",
            "start_ms=1767607200123",
            "duration_ms=5",
            "note=a \"long\"\nnote, of lines",
        ],
    );
    // Blank cells say nothing; quotes of spreadsheets and separators of thousands are as they stand.
    check(
        "trace_id,span_id,start_ms,duration,empty,list,map\nt,s,1767607200123,1,304.44ms, ,[],{}\n",
        &[
            "trace_id=t",
            "span_id=s",
            "start_ms=1767607200123",
            "duration=1,304.44ms",
        ],
    );
    // What is too much belongs to the last column.
    check(
        "trace_id;span_id;start_ms;duration_ms;note\nt;s;1767607200123;5;a;b\n",
        &[
            "trace_id=t",
            "span_id=s",
            "start_ms=1767607200123",
            "duration_ms=5",
            "note=a;b",
        ],
    );
}

#[test]
fn attributes_are_said_one_by_one() {
    let head = "trace_id,span_id,start_ms,duration_ms,attributes\nt,s,1767607200123,5,";
    for (cell, expected) in [
        (
            r#""{'db.statement':'sku = \'A;B\' AND note <> ""x""','n':'1'}""#,
            &["db.statement=sku = 'A;B' AND note <> \"x\"", "n=1"][..],
        ),
        (
            r#""{""a"":""b\u00e9\n"",""code"":200,""at"":12:30,""x"":{""deep"":[1,""}""]},""l"":[1,2]}""#,
            &[
                "a=b\u{e9}\n",
                "code=200",
                "at=12:30",
                "x={\"deep\":[1,\"}\"]}",
                "l=[1,2]",
            ],
        ),
        (
            r#""[{""value"":""GET"",""key"":""http.method""},{""key"":""code"",""value"":200}]""#,
            &["http.method=GET", "code=200"],
        ),
        (
            r#""[{key: 'a', value_type: 'float64', value_string: '', value_double: 0.5, value_binary: }, {key: 'b', value_type: 'string', value_string: 'x', value_binary: }]""#,
            &["a=0.5", "b=x"],
        ),
        ("a=b;c = d=e", &["a=b", "c=d=e"]),
        // A smiley as two halves, and a half, which stands for nothing.
        (
            r#""{""a"":""\ud83d\ude00\ud83d.\u12""}""#,
            &["a=\u{1f600}.u12"],
        ),
    ] {
        let mut all = vec![
            "trace_id=t".to_owned(),
            "span_id=s".to_owned(),
            "start_ms=1767607200123".to_owned(),
            "duration_ms=5".to_owned(),
        ];
        all.extend(expected.iter().map(|it| format!("attributes.{it}")));
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        check(&format!("{head}{cell}\n"), &all);
    }
    // What is broken, or no pairs, stays as it is.
    for cell in [
        "{'a':'b','c",
        "[object Object]",
        "plain",
        "[1;2]",
        "a=b;c",
        "{'a' 'b'}",
        "{]:1}",
    ] {
        let attributes = format!("attributes={cell}");
        check(
            &format!("{head}{cell}\n"),
            &[
                "trace_id=t",
                "span_id=s",
                "start_ms=1767607200123",
                "duration_ms=5",
                &attributes,
            ],
        );
    }
    // Pairs of other columns need brackets.
    check(
        "trace_id,span_id,start_ms,duration_ms,note,events\nt,s,1767607200123,5,a=b,{'a':'b'}",
        &[
            "trace_id=t",
            "span_id=s",
            "start_ms=1767607200123",
            "duration_ms=5",
            "note=a=b",
            "events.a=b",
        ],
    );
}

/// Every row of a file, or some hundreds of them, plain and packed.
fn check_file(bytes: &[u8], name: &str) -> usize {
    let Ok(reading) = read(bytes) else { return 0 };
    if reading.places.is_none() {
        return 0;
    }
    let n_rows = reading.rows.len();
    let step = (n_rows / 300).max(1);
    for at in (0..n_rows).step_by(step).chain(n_rows.checked_sub(1)) {
        let cells = again(&reading, at, bytes, 1 << 17);
        assert!(
            cells.is_some_and(|it| !it.is_empty()),
            "row of span {at} in {name}"
        );
    }
    if !reading.places.as_ref().is_some_and(|it| it.are_direct()) {
        return n_rows;
    }
    let gz = packed(bytes);
    let of_gz = read(&gz).unwrap();
    for at in [0, n_rows / 2, n_rows.saturating_sub(1)] {
        if at < n_rows {
            let plain = again(&reading, at, bytes, 1 << 17);
            assert_eq!(again(&of_gz, at, &gz, 1_000), plain, "{name}");
        }
    }
    n_rows
}

#[test]
fn rows_of_fixtures_are_found_again() {
    let all = [
        files(fixtures(), "csv"),
        files(fixtures().join("edge"), "csv"),
    ]
    .concat();
    let mut n_rows = 0;
    for file in all {
        n_rows += check_file(&std::fs::read(&file).unwrap(), &format!("{file:?}"));
    }
    assert!(n_rows > 300, "{n_rows}");
}

/// The files at hand, where they are.
#[test]
fn rows_of_real_files_are_found_again() {
    let Some(folder) = std::env::var_os("HERDSCOPE_TRACES").map(PathBuf::from) else {
        return;
    };
    for (part, ending) in [
        ("real", "csv"),
        ("twins", "csv"),
        ("edge", "csv"),
        ("herd", "gz"),
    ] {
        for file in files(folder.join(part), ending) {
            check_file(&std::fs::read(&file).unwrap(), &format!("{file:?}"));
        }
    }
}

#[test]
fn a_place_is_noted_for_64_rows_of_a_table_and_none_of_documents() {
    let head = "trace_id,span_id,start_ms,duration_ms\n";
    for (n_rows, kb) in [(0, 8), (63, 8), (64, 16), (1_000, 8 * 16)] {
        let row = |at: usize| format!("t{at},s,1767607200123,5\n");
        let text: String = (0..n_rows).map(row).collect();
        let reading = read((head.to_owned() + &text).as_bytes()).unwrap();
        let places = reading.places.unwrap();
        assert!(
            (kb..=2 * kb.max(16)).contains(&places.bytes()),
            "{n_rows}: {}",
            places.bytes()
        );
    }
    let json = br#"{"data":[{"traceID":"t","spans":[{"traceID":"t","spanID":"s","operationName":"o","startTime":1767607200123000,"duration":5}]}]}"#;
    let reading = read(json).unwrap();
    assert_eq!(reading.rows.len(), 1);
    assert!(reading.places.is_none());
}

#[test]
fn a_row_of_another_span_is_not_said() {
    let head = "trace_id,span_id,start_ms,duration_ms\n";
    let row = |id: &str| format!("{head}t,{id},1767607200123,5\n");
    let (first, other) = (row("s"), row("r"));
    let reading = read(first.as_bytes()).unwrap();
    assert!(again(&reading, 0, first.as_bytes(), 9).is_some());
    for changed in [
        other.as_str(),
        head,
        "",
        "trace_id,span_id\nt\n",
        &first[..50],
    ] {
        let mut again = Again::new(reading.places.clone().unwrap(), 2, false);
        again.push(changed.as_bytes()).unwrap();
        assert_eq!(again.finish("t", "s"), None, "{changed:?}");
    }
}

/// A table of any cells, its own reader for the rest.
fn table(cells: &[[String; 3]], line: &str, mark: &str) -> (String, Vec<Vec<String>>) {
    let quote = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut text = format!("{mark}trace_id,span_id,start_ms,duration_ms,a,b,c{line}");
    for (at, row) in cells.iter().enumerate() {
        let row = row.each_ref().map(|it| quote(it)).join(",");
        text += &format!("t{at},s{at},1767607200123,5,{row}{line}");
        if at % 50 == 49 {
            // The header again, and line breaks that belong to no row.
            text += &format!("{line}trace_id,span_id,start_ms,duration_ms,a,b,c{line}{line}");
        }
    }
    let mut csv = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(&text.as_bytes()[mark.len()..]);
    let records = csv
        .records()
        .map(|it| it.unwrap().iter().map(str::to_owned).collect());
    let records: Vec<Vec<String>> = records.collect();
    (text, records)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_are_what_a_reader_of_csv_says(
        cells in prop::collection::vec(
            ["[a-z\"\n\r,; \u{e9}]{0,12}", "[a-z\"\n,]{0,4}", "(x\ny){0,3}"], 1..300),
        line in prop::sample::select(&["\n", "\r\n", "\r"][..]),
        mark in prop::sample::select(&["", "\u{feff}"][..]),
        pieces in (1usize..400, 1usize..400),
        gz in any::<bool>(),
    ) {
        let (text, records) = table(&cells, line, mark);
        let bytes = if gz { packed(text.as_bytes()) } else { text.into_bytes() };
        let reading = read_with(&bytes, Limits::default(), pieces.0).unwrap();
        prop_assert_eq!(reading.rows.len(), cells.len());
        for at in (0..cells.len()).step_by(7).chain([cells.len() - 1]) {
            let said = again(&reading, at, &bytes, pieces.1).expect("the row");
            let row = &records[reading.rows.row[at] as usize - 1];
            prop_assert_eq!(&row[0], &format!("t{at}"));
            let header = ["trace_id", "span_id", "start_ms", "duration_ms", "a", "b", "c"];
            let told = header.iter().zip(row).filter(|it| !it.1.trim_ascii().is_empty());
            let told: Vec<String> = told.map(|(name, cell)| format!("{name}={cell}")).collect();
            prop_assert_eq!(print(&said), told);
        }
        let n_places = records.len() as u64 / EVERY;
        prop_assert!(reading.places.unwrap().bytes() as u64 >= 8 * n_places);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300), row in 0u32..200) {
        let head = "trace_id,span_id,start_ms,duration_ms\nt,s,1767607200123,5\n".repeat(90);
        for file in [head.as_bytes().to_vec(), packed(head.as_bytes())] {
            let places = read(&file).unwrap().places.unwrap();
            let mut again = Again::new(places, row, false);
            if again.push(&bytes).is_ok() {
                let _ = again.finish("t", "s");
            }
        }
    }

    #[test]
    fn any_cell_is_said(cell in "[-{}\\[\\]:,'\"\\\\ua0=;\n ]{0,30}") {
        let quoted = cell.replace('"', "\"\"");
        let text = format!("trace_id,span_id,start_ms,duration_ms,attributes\nt,s,1767607200123,5,\"{quoted}\"\n");
        if let Ok(reading) = read(text.as_bytes()) && reading.rows.len() == 1 {
            prop_assert!(again(&reading, 0, text.as_bytes(), 1_000).is_some());
        }
    }
}
