//! What `cargo xtask generate` makes up, read back: benchmarks are worth what they are fed.

use herdscope::dataset::Dataset;
use herdscope::ingest::{Limits, Reader};
use herdscope::outcome::Outcome;
use xtask::generate::{self, DIALECTS, Dialect};

const SPANS: u64 = 12_000;

fn read_back(dialect: &Dialect) -> (generate::Counts, Dataset) {
    let mut csv = Vec::new();
    let counts = generate::write(dialect, SPANS, 3, &mut csv).expect("a vector takes everything");
    let mut reader = Reader::new(Limits::default());
    let reading = reader
        .push(&csv)
        .and_then(|()| reader.finish())
        .unwrap_or_else(|why| panic!("{}: {why}", dialect.name));
    (counts, Dataset::new(dialect.name.to_owned(), None, reading))
}

fn how_many(dataset: &Dataset, outcome: Outcome) -> u64 {
    dataset
        .table
        .outcome
        .iter()
        .filter(|&&it| it == outcome)
        .count() as u64
}

#[test]
fn every_dialect_is_read_as_its_exporters_with_all_spans_traces_and_timeouts() {
    for dialect in DIALECTS {
        let (counts, dataset) = read_back(dialect);
        let name = dialect.name;
        let exporter = if name == "herd" { "clickhouse" } else { name };
        assert_eq!(dataset.exporter, exporter);
        assert_eq!(dataset.table.len() as u64, counts.spans, "{name}");
        if dialect.tells_traces {
            assert_eq!(u64::from(dataset.table.n_traces()), counts.traces, "{name}");
            let (roots, orphans) = dataset.table.roots_and_orphans();
            assert_eq!((roots as u64, orphans), (counts.traces, 0), "{name}");
        }
        if dialect.tells_timeouts {
            let found = [Outcome::TimedOut, Outcome::Failure].map(|it| how_many(&dataset, it));
            assert_eq!(found, [counts.timeouts, counts.failures], "{name}");
        }
    }
}

#[test]
fn a_herds_file_is_as_the_recorded_one() {
    let (_, dataset) = read_back(&DIALECTS[0]);
    let edge = dataset.edge(None).expect("calls");
    assert_eq!(
        (edge.from.as_str(), edge.to.as_str()),
        ("shop-web", "catalog")
    );
    assert_eq!(edge.n_instances(), Some(4));
    let span_bytes = |spans: u64| {
        let mut csv = Vec::new();
        generate::write(&DIALECTS[0], spans, 3, &mut csv).expect("a vector takes everything");
        csv.len() as u64 / spans
    };
    assert!(
        (255..=285).contains(&span_bytes(SPANS)),
        "{}",
        span_bytes(SPANS)
    );
}
