//! What is expected of each of the small awkward files, a row each of the table beside the traces.

use herdscope::dataset::Dataset;
use herdscope::ids::Id;
use herdscope::ingest::time::print_time;
use herdscope::ingest::{Reading, Unreadable, UnreadableKind};
use herdscope::issues::Code;
use herdscope::rows::UNKNOWN_DURATION;
use herdscope::spans::{Parent, SpanIdx};

use crate::support::{fixtures, read};

/// What was read, in the few words that the rows below are checked with.
struct Read(Result<Reading, Unreadable>);

impl Read {
    fn reading(&self) -> &Reading {
        self.0.as_ref().expect("a readable file")
    }

    fn spans(&self) -> usize {
        self.reading().rows.len()
    }

    fn traces(&self) -> usize {
        self.reading().rows.trace_ids.len()
    }

    fn count(&self, code: Code) -> u64 {
        self.reading().issues.count(code)
    }

    fn trace(&self, at: usize) -> Id<'_> {
        self.reading().rows.trace_id(at)
    }

    fn span(&self, at: usize) -> Id<'_> {
        self.reading().rows.span_id(at)
    }

    fn parent(&self, at: usize) -> Option<Id<'_>> {
        self.reading().rows.parent_id(at)
    }

    fn name(&self, at: usize) -> &str {
        let rows = &self.reading().rows;
        rows.names.get(rows.label_set(at).operation)
    }

    fn start(&self, at: usize) -> String {
        print_time(self.reading().rows.start[at])
    }

    /// Nanoseconds; -1 where unknown.
    fn durations(&self) -> Vec<i64> {
        let durations = self.reading().rows.duration.iter();
        let known = |&it: &u64| {
            if it == UNKNOWN_DURATION {
                -1
            } else {
                it as i64
            }
        };
        durations.map(known).collect()
    }

    fn dataset(&self) -> Dataset {
        Dataset::new("edge".to_owned(), None, self.reading().clone())
    }

    fn refusal(&self) -> &UnreadableKind {
        &self.0.as_ref().expect_err("no table").kind
    }
}

const MS: i64 = 1_000_000;

type Check = fn(&Read) -> bool;

const EXPECTED: &[(&str, Check)] = &[
    ("01_bom_first_column", |it| {
        it.spans() == 2 && it.traces() == 1 && it.trace(0).starts_with("0af7")
    }),
    ("02_bom_quoted_header", |it| {
        it.spans() == 2 && it.traces() == 1 && it.trace(0).starts_with("0af7")
    }),
    ("03_semicolon_decimal_comma", |it| {
        it.durations() == [30_250_000, 20_500_000]
    }),
    ("04_tab_utf16le_bom", |it| {
        it.spans() == 2 && it.name(0) == "GET /a"
    }),
    ("05_sep_line", |it| {
        it.spans() == 2 && it.name(1) == "SELECT"
    }),
    ("07_embedded_newline_quote_json", |it| {
        it.spans() == 2 && it.name(0) == "GET \"/a\", v2" && it.reading().issues.is_empty()
    }),
    ("08_unescaped_json_extra_columns", |it| {
        it.spans() == 2 && it.count(Code::RowLong) == 1
    }),
    ("09_backslash_escaped_quotes", |it| {
        it.spans() == 1 && it.count(Code::RowLong) == 0
    }),
    ("11_clickhouse_headerless", |it| {
        it.spans() == 1 && it.reading().exporter == "clickhouse" && it.reading().rows.row == [1]
    }),
    ("12_ns_precision", |it| it.durations() == [1, 0]),
    ("13_epoch_units_one_each", |it| {
        it.start(0) == "2026-01-05T10:00:00.000000000Z"
    }),
    ("14_epoch_ms_float", |it| {
        it.spans() == 2
            && it.trace(0) == it.span(0)
            && it.parent(0).is_none()
            && it.start(1).ends_with("08.251002200Z")
    }),
    ("15_ts_ms_but_duration_us", |it| {
        it.durations() == [49_877_000, 7_614_000, 12_000_000]
    }),
    ("16_scientific_notation", |it| {
        let times = it.count(Code::SpreadsheetTimes);
        it.count(Code::SpreadsheetIds) == 2
            && times == 2
            && it.traces() == 2
            && it.parent(1).is_none()
    }),
    ("17_hex_id_like_number", |it| {
        it.traces() == 2 && it.trace(1) == "123" && it.span(1) == "1e10"
    }),
    ("18_parent_all_zero", |it| it.parent(0).is_none()),
    ("20_orphan_and_no_root", |it| {
        let dataset = it.dataset();
        dataset.table.roots_and_orphans() == (0, 1)
            && dataset.issues.count(Code::ParentMissing) == 1
    }),
    ("22_duplicate_span_id", |it| {
        let dataset = it.dataset();
        dataset.table.len() == 2 && dataset.issues.count(Code::DuplicateRow) == 1
    }),
    ("23_same_span_id_two_traces", |it| {
        let table = it.dataset().table;
        let a2 = (0..3u32)
            .find(|&at| table.span_id(SpanIdx(at)) == "a2")
            .expect("a2");
        match table.parent(SpanIdx(a2)) {
            Parent::Span(parent) => {
                let rank = |at: u32| table.rank[at as usize];
                rank(parent.0) == rank(a2) && table.trace_id(rank(a2)).starts_with("4bf9")
            }
            _ => false,
        }
    }),
    ("24_child_outside_parent", |it| {
        let table = it.dataset().table;
        let extent = table.extent().expect("an extent");
        it.durations() == [3_000 * MS, 20_000 * MS] && extent.end - extent.start == 20_000 * MS
    }),
    ("25_late_server_span_100min", |it| {
        let table = it.dataset().table;
        let long = |it: Option<std::ops::Range<i64>>| it.map_or(0, |it| it.end - it.start);
        long(table.awaited_extent()) == 20_021 * MS && long(table.extent()) > 6_000_000 * MS
    }),
    ("27_alibaba_index_column", |it| {
        it.spans() == 5
            && [2, 3, 4]
                .iter()
                .all(|&at| it.parent(at).is_some_and(|it| it == "0.1"))
            && it.durations() == [52 * MS, 50 * MS, 13 * MS, 11 * MS, -1]
            && it.start(0).starts_with("1970-01-01")
            && it
                .dataset()
                .edges
                .iter()
                .map(|it| it.calls.len())
                .sum::<usize>()
                == 3
    }),
    ("28_human_durations", |it| {
        let us = [
            150_000,
            12_300,
            850,
            850,
            850,
            2_500_000,
            62_500_000,
            3_723_000_000,
            0,
            -1,
            1_304_440,
            1_500_000,
            1_234_567,
            250,
        ];
        let cut = |ns: i64| if ns < 0 { ns } else { ns / 1_000 };
        it.durations().into_iter().map(cut).eq(us)
    }),
    ("30_ambiguous_dst_local", |it| {
        it.start(0).contains("02:30:00.000")
            && it.start(1).contains("02:10:00.000")
            && it.count(Code::ZoneAssumed) == 2
    }),
    ("31_object_object", |it| {
        it.spans() == 1 && it.count(Code::LostObjects) == 2
    }),
    ("32_html_saved_as", |it| {
        *it.refusal() == UnreadableKind::Html
    }),
    ("33_header_only", |it| {
        it.spans() == 0 && it.count(Code::NoRows) == 1
    }),
    ("34_empty", |it| *it.refusal() == UnreadableKind::Empty),
    ("35_truncated_mid_row", |it| {
        it.spans() == 2 && it.count(Code::RowTruncated) == 1
    }),
    ("37_formula_guard_quote", |it| {
        it.name(0) == "@Transactional save"
            && it.name(1) == "=cmd"
            && it.durations() == [5 * MS, -1]
    }),
    ("39_repeated_header_inside", |it| {
        it.spans() == 3 && it.count(Code::RepeatedHeader) == 1
    }),
    ("40_latin1", |it| {
        it.spans() == 1 && it.name(0) == "GET /\u{fc}" && it.count(Code::Encoding) == 1
    }),
    ("41_nul_and_huge_cell", |it| {
        it.spans() == 1 && it.name(0).len() > 900_000
    }),
    ("43_requests_only_no_ids", |it| {
        it.spans() == 2 && it.traces() == 2 && it.reading().rows.label_set(1).outcome.is_failure()
    }),
    ("44_jaeger_cassandra_refs", |it| {
        it.parent(0).is_none() && it.parent(1) == Some(it.span(0))
    }),
];

#[test]
fn each_awkward_file_is_read_as_expected() {
    let folder = std::env::var_os("HERDSCOPE_TRACES").map(std::path::PathBuf::from);
    for (name, check) in EXPECTED {
        let here = fixtures().join("edge").join(format!("{name}.csv"));
        let there = folder
            .as_ref()
            .map(|it| it.join(format!("edge/{name}.csv")));
        let file = if here.exists() { Some(here) } else { there };
        let Some(file) = file else {
            println!("HERDSCOPE_TRACES is not set: {name} was not read");
            continue;
        };
        let bytes = std::fs::read(&file).unwrap_or_else(|why| panic!("{file:?}: {why}"));
        assert!(check(&Read(read(&bytes))), "{name}");
    }
}

#[test]
fn every_row_of_the_table_of_expectations_is_checked() {
    let Some(folder) = std::env::var_os("HERDSCOPE_TRACES") else {
        println!("HERDSCOPE_TRACES is not set: the table of expectations was not read");
        return;
    };
    let table = std::path::Path::new(&folder).join("edge/EXPECT.md");
    let table = std::fs::read_to_string(&table).unwrap_or_else(|why| panic!("{table:?}: {why}"));
    let file = |line: &str| {
        let (name, _) = line.strip_prefix("| ")?.split_once(" |")?;
        name.strip_suffix(".csv").map(str::to_owned)
    };
    let rows: Vec<String> = table.lines().filter_map(file).collect();
    let checked: Vec<&str> = EXPECTED.iter().map(|it| it.0).collect();
    assert_eq!(rows, checked);
}
