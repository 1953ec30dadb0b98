//! The benchmarks without a browser, a function each.

mod chart;

use std::fs;
use std::hint::black_box;
use std::io::Read as _;
use std::path::Path;
use std::time::Instant;

use herdscope::dataset::Dataset;
use herdscope::ingest::{Limits, Reader};
use herdscope_bench::{Loaded, SLICE, records, rows, table};
use xtask::bench::input::{Input, Options};
use xtask::bench::row::{Better, Row, Target};

type Result<T> = std::result::Result<T, String>;

/// Runs the benchmark that the first argument names.
pub fn run(mut words: impl Iterator<Item = String>) -> Result<()> {
    let name = words.next().unwrap_or_default();
    if name == "chart" {
        return chart::run(words);
    }
    let options = Options::parse(words)?;
    match name.as_str() {
        "reading" => reading(&options),
        "memory" => memory(&options),
        "replay" => replay(&options),
        _ => Err(format!(
            "there is no benchmark `{name}` here: `cargo xtask bench` has all"
        )),
    }
}

/// Nanoseconds of one call.
fn took(call: impl FnOnce() -> Result<usize>) -> Result<f64> {
    let begun = Instant::now();
    black_box(call()?);
    Ok(begun.elapsed().as_nanos() as f64)
}

/// Hands a file on, as much at a time as the page takes.
fn each_slice(path: &Path, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let cannot = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let mut file = fs::File::open(path).map_err(cannot)?;
    let mut slice = vec![0; SLICE];
    loop {
        match file.read(&mut slice).map_err(cannot)? {
            0 => return Ok(()),
            n => take(&slice[..n])?,
        }
    }
}

fn dataset_of(path: &Path) -> Result<Dataset> {
    let mut reader = Reader::new(Limits::default());
    each_slice(path, |slice| {
        reader.push(slice).map_err(|error| error.to_string())
    })?;
    let reading = reader.finish().map_err(|error| error.to_string())?;
    Ok(Dataset::new("bench".to_owned(), None, reading))
}

/// What reads a file; how much it found.
type Reading = fn(&[u8]) -> Result<usize>;

const CONTENDERS: [Reading; 3] = [table, rows, records];

/// Bytes to table, and csv alone, in turns.
fn reading(options: &Options) -> Result<()> {
    for dialect in ["herd", "nezha"] {
        let input = Input::of(options, dialect, options.spans.min(150_000))?;
        let bytes = fs::read(&input.path).map_err(|error| error.to_string())?;
        let mut rounds = [const { Vec::new() }; 3];
        // The first round warms up.
        for round in 0..=options.rounds {
            for (it, rounds) in CONTENDERS.iter().zip(&mut rounds) {
                let ns = took(|| it(&bytes))?;
                if round > 0 {
                    rounds.push(bytes.len() as f64 * 1e3 / ns);
                }
            }
        }
        let [ours, rows, csv] = rounds;
        let what = format!("{dialect}, natively, MB/s");
        Row::beside(&what, &ours, "csv", &csv, Better::More).print();
        Row::beside(
            format!("{what}, rows without order"),
            &rows,
            "csv",
            &csv,
            Better::More,
        )
        .print();
    }
    Ok(())
}

/// What a dataset holds, by size: bytes a span.
fn memory(options: &Options) -> Result<()> {
    // A span, and two attributes of it: pod and message.
    let target = 64.0 + 2.0 * 4.0;
    for spans in options.sizes() {
        let input = Input::of(options, "herd", spans)?;
        let mut made = Ok(Dataset::default());
        let held = allocation_counter::measure(|| made = dataset_of(&input.path));
        let dataset = made?;
        let a_span = |bytes: f64| bytes / dataset.table.len() as f64;
        let row = Row::of(
            format!("memory natively, {}, bytes a span", input.size()),
            &[a_span(held.bytes_current as f64)],
        );
        row.aim(Target::AtMost(target))
            .or_because("beside the table, a call takes 29 bytes in the columns of its edge, and blocks of spans some 5 a span")
            .print();
        Row::of(
            format!(
                "memory natively at its peak, {}, bytes a span",
                input.size()
            ),
            &[a_span(held.bytes_max as f64)],
        )
        .print();
    }
    Ok(())
}

/// Calls a second.
fn replay(options: &Options) -> Result<()> {
    let input = Input::of(options, "herd", options.spans.min(3_500_000))?;
    let mut loaded = Loaded::default();
    each_slice(&input.path, |slice| loaded.push(slice))?;
    loaded.finish(false)?;
    let calls = loaded.calls() as f64;
    let mut paces = Vec::new();
    for round in 0..=options.rounds {
        let ns = took(|| Ok(loaded.replay()))?;
        if round > 0 {
            paces.push(calls * 1e3 / ns);
        }
    }
    Row::of(
        format!("replay natively, {calls:.0} calls, M calls/s"),
        &paces,
    )
    .aim(Target::AtLeast(25.0))
    .or_because(
        "a call is an acquire, a settle, a place in the order of ends and a sample of the rate",
    )
    .print();
    Ok(())
}
