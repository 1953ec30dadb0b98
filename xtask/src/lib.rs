//! Set-up, build and test tooling. Owns the versions of the outside tools, the road from sources to
//! `pkg/`, the list of checks, the static file server that `serve` and the browser tests share,
//! the ClickHouse of tests, and the spans that benchmarks are fed.
//! It knows nothing of the library.
//!
//! Errors are sentences for a person: what happened, and what to do about it.

pub mod bare;
pub mod bench;
pub mod bind;
pub mod browsers;
pub mod checks;
pub mod clickhouse;
pub mod deny;
pub mod files;
pub mod fuzz;
pub mod generate;
pub mod pack;
pub mod page;
pub mod python;
mod reorder;
pub mod run;
mod shorten;
pub mod size;
pub mod tools;
mod wasm;

use std::path::{Path, PathBuf};

/// A result whose error is a sentence to print.
pub type Result<T> = std::result::Result<T, String>;

/// The folder of the workspace, wherever the command was called from.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map_or_else(PathBuf::new, Path::to_path_buf)
}
