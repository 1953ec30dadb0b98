//! Files and standard input as one dataset.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use herdscope::dataset::Dataset;
use herdscope::ingest::{Limits, Reader, Reading};

use super::Failure;

const CHUNK: usize = 1 << 20;

/// Reads all files; several are merged into one dataset.
pub fn read(files: &[PathBuf]) -> Result<Dataset, Failure> {
    let readings = files
        .iter()
        .map(|path| read_one(path))
        .collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = files.iter().map(|path| name(path)).collect();
    Ok(Dataset::merged(names.join(" + "), readings))
}

fn read_one(path: &Path) -> Result<Reading, Failure> {
    let name = name(path);
    let fail = |why: String| Failure::Input(format!("{name}: {why}"));
    if path.is_dir() {
        return Err(fail(
            "this is a directory; name the CSV files in it".to_owned(),
        ));
    }
    let mut bytes: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(|error| fail(unopened(&error)))?)
    };
    let mut reader = Reader::new(Limits::default());
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

fn name(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

fn unopened(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file; check the path".to_owned(),
        io::ErrorKind::PermissionDenied => "you may not read it; check its permissions".to_owned(),
        _ => format!("it cannot be opened: {error}"),
    }
}
