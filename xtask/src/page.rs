//! The page: from sources to `pkg/`, the folder that any static host can serve.

use std::fs;
use std::path::PathBuf;

use crate::run::{aside, cargo, say};
use crate::tools::Toolbox;
use crate::{Result, workspace};

/// Where the built page is; the same as `dist` in Trunk.toml.
pub fn folder() -> PathBuf {
    workspace().join("pkg")
}

/// What index.html has wasm-opt do.
pub fn wasm_opt_options() -> Result<Vec<String>> {
    let path = workspace().join("index.html");
    let text = fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let options = text
        .split_once("data-wasm-opt-params=\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .ok_or_else(|| format!("{} has no data-wasm-opt-params", path.display()))?;
    Ok(options.0.split_whitespace().map(str::to_owned).collect())
}

/// Builds the page for release.
pub fn build(tools: &Toolbox) -> Result<()> {
    say("building the page for release");
    // Trunk works offline, so that it takes the tools it is given and asks no network about its own version.
    aside(cargo().args(["fetch", "--quiet"]))?;
    aside(tools.trunk().args(["build", "--release", "--offline"])).map_err(|error| {
        format!("{error}; what it said above tells why the page could not be built")
    })
}
