//! What tests are given: small tables written as text, and the fixtures.

use std::fs;
use std::path::Path;

use herdscope::dataset::Dataset;
use herdscope::engine::{Engine, Turn};
use herdscope::ingest::{Limits, Reader};
use herdscope::issues::Issues;
use herdscope::messages::{Refused, Summary};
use herdscope::outcome::Outcome;
use herdscope::rows::{Kind, SpanRow, SpanRows};
use herdscope::spans::SpanTable;

/// Spans written one a line, times in milliseconds:
///
/// ```text
/// TRACE SPAN PARENT|- SERVICE KIND START+DURATION [OUTCOME] [@INSTANCE] [>PEER] [:OPERATION]
///     [%STATE/GENERATION/REJECTED/NAME]
/// ```
pub fn rows(text: &str) -> SpanRows {
    let mut rows = SpanRows::default();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    for (at, line) in lines.enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [trace, span, parent, service, kind, times, rest @ ..] = words.as_slice() else {
            panic!("a span needs six words: {line}");
        };
        let (start, duration) = times.split_once('+').expect("START+DURATION");
        let ms = |text: &str| (text.parse::<f64>().expect("milliseconds") * 1e6).round() as i64;
        let tagged = |tag: char| rest.iter().find_map(|word| word.strip_prefix(tag));
        rows.push(SpanRow {
            trace,
            span,
            parent: Some(*parent).filter(|parent| *parent != "-"),
            start: ms(start),
            duration: (duration != "?").then(|| ms(duration) as u64),
            service,
            operation: tagged(':').unwrap_or("op"),
            kind: kind_of(kind),
            outcome: rest
                .iter()
                .find_map(|word| outcome_of(word))
                .unwrap_or(Outcome::Success),
            instance: tagged('@'),
            peer: tagged('>'),
            message: "",
            breaker: tagged('%'),
            row: at as u32 + 2,
        });
    }
    rows
}

pub fn table(text: &str) -> SpanTable {
    SpanTable::build(rows(text), &mut Issues::default())
}

pub fn dataset(text: &str) -> Dataset {
    Dataset::of_rows("given".to_owned(), rows(text))
}

/// Goes through the turns of what an engine is reading; how they ended.
pub fn turns(engine: &mut Engine) -> Turn {
    loop {
        match engine.turn() {
            Turn::More => {}
            ended => return ended,
        }
    }
}

/// Ends what an engine is reading.
pub fn loaded(engine: &mut Engine) -> Result<Summary, Vec<Refused>> {
    engine.finish()?;
    match turns(engine) {
        Turn::Loaded(summary) => Ok(*summary),
        other => panic!("{other:?}"),
    }
}

/// A recorded herd: four instances, three attempts.
pub fn herd() -> Dataset {
    read(&fixture("herd/four.csv.gz"))
}

/// The other recorded herd, of one instance, and its truth. It is large; it is read where the traces are at
/// hand.
pub fn other_herd() -> Option<(Dataset, serde_json::Value)> {
    let Some(folder) = std::env::var_os("HERDSCOPE_TRACES") else {
        eprintln!("not run: HERDSCOPE_TRACES names no folder of traces");
        return None;
    };
    let folder = Path::new(&folder).join("herd");
    let text = fs::read_to_string(folder.join("one.truth.json")).expect("one.truth.json");
    let truth = serde_json::from_str(&text).expect("JSON");
    Some((read(&folder.join("one.csv.gz")), truth))
}

pub fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

pub fn read(path: &Path) -> Dataset {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader = Reader::new(Limits::default());
    reader.push(&bytes).expect("a readable file");
    Dataset::new(
        "given".to_owned(),
        None,
        reader.finish().expect("a readable file"),
    )
}

/// A JSON fixture.
pub fn json(name: &str) -> serde_json::Value {
    let text = fs::read_to_string(fixture(name)).expect("a fixture");
    serde_json::from_str(&text).expect("a JSON fixture")
}

fn kind_of(word: &str) -> Kind {
    match word {
        "client" => Kind::Client,
        "server" => Kind::Server,
        "internal" => Kind::Internal,
        "producer" => Kind::Producer,
        "consumer" => Kind::Consumer,
        "unset" => Kind::Unset,
        _ => panic!("no kind: {word}"),
    }
}

fn outcome_of(word: &str) -> Option<Outcome> {
    match word {
        "failed" => Some(Outcome::Failure),
        "timed_out" => Some(Outcome::TimedOut),
        "rejected" => Some(Outcome::Rejected),
        _ => None,
    }
}
