//! Files for the tests, all made from one recorded herd: nothing random, nothing from outside.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::{Failure, Result};

/// A recorded herd of four instances.
pub fn herd_path() -> PathBuf {
    xtask::workspace().join("tests/fixtures/herd/four.csv.gz")
}

/// The herd as text, unpacked: 13 MB.
pub fn herd_csv() -> Result<&'static str> {
    static TEXT: OnceLock<std::result::Result<String, String>> = OnceLock::new();
    let unpack = || {
        let path = herd_path();
        let cannot = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
        let mut text = String::new();
        let packed = fs::File::open(&path).map_err(cannot)?;
        MultiGzDecoder::new(packed)
            .read_to_string(&mut text)
            .map_err(cannot)?;
        Ok(text)
    };
    match TEXT.get_or_init(unpack) {
        Ok(text) => Ok(text),
        Err(error) => Err(Failure::new(error.clone())),
    }
}

/// The header and the first rows of the herd.
pub fn first_rows(n: usize) -> Result<String> {
    Ok(herd_csv()?.split_inclusive('\n').take(n + 1).collect())
}

/// The herd so many times, an hour apart, with other ids: large, and as plausible as the herd.
pub fn repeated(times: u8) -> Result<String> {
    let herd = herd_csv()?;
    let (header, rows) = herd.split_once('\n').ok_or("the herd is one line")?;
    let mut csv = String::with_capacity(herd.len() * usize::from(times));
    csv.push_str(header);
    csv.push('\n');
    for copy in 0..times {
        for row in rows.lines() {
            repeat_row(&mut csv, row, copy)?;
        }
    }
    Ok(csv)
}

/// Timestamp, trace, span and parent come first and are not quoted; the rest stays as it is.
fn repeat_row(csv: &mut String, row: &str, copy: u8) -> Result<()> {
    let mut cells = row.splitn(5, ',');
    let mut cell = || cells.next().ok_or("a row of the sample is too short");
    let (time, ids, rest) = (cell()?, [cell()?, cell()?, cell()?], cell()?);
    let (hour, minutes) = time
        .strip_prefix("2026-09-26 ")
        .and_then(|clock| clock.split_once(':'))
        .ok_or("the sample is of another day")?;
    let hour = hour.parse::<u8>().map_err(|error| error.to_string())? + copy;
    csv.push_str(&format!("2026-09-26 {hour:02}:{minutes}"));
    for id in ids {
        csv.push(',');
        let mut digits = id.chars();
        if let Some(first) = digits.next().and_then(|it| it.to_digit(16)) {
            let other = (first + u32::from(copy)) % 16;
            csv.extend(char::from_digit(other, 16));
        }
        csv.push_str(digits.as_str());
    }
    csv.push(',');
    csv.push_str(rest);
    csv.push('\n');
    Ok(())
}

/// Packed as gz.
pub fn gz(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer
        .write_all(bytes)
        .and_then(|()| packer.finish())
        .map_err(|error| Failure::new(format!("cannot pack: {error}")))
}

/// A folder that is there as long as the value is.
pub struct Folder(PathBuf);

impl Folder {
    /// A new, empty one.
    pub fn new() -> Result<Folder> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "herdscope-files-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path)
            .map_err(|error| Failure::new(format!("cannot make {}: {error}", path.display())))?;
        Ok(Folder(path))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file into it.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<PathBuf> {
        let path = self.0.join(name);
        fs::write(&path, content)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
