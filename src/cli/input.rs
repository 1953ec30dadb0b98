//! Files, standard input, or what a ClickHouse has, as one dataset.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use herdscope::dataset::Dataset;
use herdscope::format;
use herdscope::ingest::{Limits, Reader, Reading, Told};
use herdscope::issues::Code;

use super::Failure;
use super::clickhouse::ClickHouse;

const CHUNK: usize = 1 << 20;

/// What to read.
#[derive(Debug, Args)]
pub struct Input {
    /// Files of spans (CSV or JSON), plain or .gz; - reads standard input.
    #[arg(required_unless_present_any = ["url", "sql"], value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    pub clickhouse: ClickHouse,
}

/// Reads it; several files are merged into one dataset.
pub fn read(input: &Input, told: &Told) -> Result<Dataset, Failure> {
    read_each(input, &[], told)
}

/// Reads it, with what is said of each file by its place; what is said about all is right over that.
pub fn read_each(input: &Input, of_each: &[Told], told: &Told) -> Result<Dataset, Failure> {
    if let Some(dataset) = input.clickhouse.read(told) {
        return dataset;
    }
    let readings = input.files.iter().enumerate().map(|(at, path)| {
        let of_it = of_each.get(at).cloned().unwrap_or_default();
        Ok((name(path), read_one(path, &of_it.and(told.clone()))?))
    });
    Ok(Dataset::merged(readings.collect::<Result<_, Failure>>()?))
}

/// Says on standard error what would mislead whoever reads a replay or a picture.
pub fn warn(dataset: &Dataset) {
    let misleading = [
        Code::AllFailed,
        Code::Capped,
        Code::Sampled,
        Code::ParentMissing,
        Code::CoarseTimes,
        Code::SpreadsheetIds,
        Code::SpreadsheetTimes,
        Code::MixedDates,
        Code::NoParents,
        Code::NoStatus,
        Code::ToldMissing,
        Code::UnknownStatus,
    ];
    for issue in dataset
        .issues
        .iter()
        .filter(|issue| misleading.contains(&issue.code))
    {
        eprintln!("herdscope: note: {}", format::printable(&issue.message()));
    }
}

fn read_one(path: &Path, told: &Told) -> Result<Reading, Failure> {
    let name = name(path);
    let fail = |why: String| Failure::Input(format!("{name}: {why}"));
    if path.is_dir() {
        return Err(fail("this is a directory; name the files in it".to_owned()));
    }
    let mut bytes: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(|error| fail(unopened(&error)))?)
    };
    let mut reader = Reader::new(Limits::default()).telling(told.clone());
    let mut chunk = vec![0; CHUNK];
    loop {
        let n = match bytes.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(fail(format!("it cannot be read any further: {error}"))),
        };
        reader
            .push(&chunk[..n])
            .map_err(|unreadable| fail(unreadable.to_string()))?;
    }
    reader
        .finish()
        .map_err(|unreadable| fail(unreadable.to_string()))
}

/// What a file is called in what is printed.
pub fn name(path: &Path) -> String {
    if path == Path::new("-") {
        return "standard input".to_owned();
    }
    // The name alone: pictures are made to be shown, and a path says more than that.
    let name = path.file_name().unwrap_or(path.as_os_str());
    format::printable(&name.to_string_lossy())
}

/// Why a file could not be opened.
pub fn unopened(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file; check the path".to_owned(),
        io::ErrorKind::PermissionDenied => "you may not read it; check its permissions".to_owned(),
        _ => format!("it cannot be opened: {error}"),
    }
}
