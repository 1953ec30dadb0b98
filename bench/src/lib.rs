//! What the benchmarks measure of the library, for `main.rs` natively and as exports for a page in a browser, beside
//! what a person would use instead: `cargo xtask bench`.
//!
//! Owns no clock: who calls has one. Each function says how much it found, so that nothing is optimised away and
//! contenders can be seen to have done the same.

mod loaded;
#[cfg(target_arch = "wasm32")]
mod web;

pub use loaded::Loaded;

use csv::{ByteRecord, Reader};
use herdscope::dataset::Dataset;
use herdscope::ingest::{self, Limits, Reading};

/// As many bytes at a time as the page's worker takes.
pub const SLICE: usize = 128 * 1024;

/// Reads a file to an indexed table, as the page does; its spans.
pub fn table(bytes: &[u8]) -> Result<usize, String> {
    let dataset = Dataset::new("bench".to_owned(), None, read(bytes)?);
    Ok(dataset.table.len())
}

/// Reads a file to spans without an order, as they are before a table is made of them; how many there are.
pub fn rows(bytes: &[u8]) -> Result<usize, String> {
    Ok(read(bytes)?.rows.len())
}

/// Reads a file with the crate `csv` alone, a record after the other into the same room; its records.
pub fn records(bytes: &[u8]) -> Result<usize, String> {
    let mut reader = Reader::from_reader(bytes);
    let mut record = ByteRecord::new();
    let mut n_records = 0;
    while reader
        .read_byte_record(&mut record)
        .map_err(|error| error.to_string())?
    {
        n_records += 1;
    }
    Ok(n_records)
}

fn read(bytes: &[u8]) -> Result<Reading, String> {
    let mut reader = ingest::Reader::new(Limits::default());
    for slice in bytes.chunks(SLICE) {
        reader.push(slice).map_err(|error| error.to_string())?;
    }
    reader.finish().map_err(|error| error.to_string())
}
