//! The page: from sources to `pkg/`, the folder that any static host can serve.

use std::path::PathBuf;

use crate::run::{cargo, run, say};
use crate::tools::Toolbox;
use crate::{Result, workspace};

/// Where the built page is; the same as `dist` in Trunk.toml.
pub fn folder() -> PathBuf {
    workspace().join("pkg")
}

/// Builds the page for release.
pub fn build(tools: &Toolbox) -> Result<()> {
    say("building the page for release");
    // Trunk works offline, so that it takes the tools it is given and asks no network about its own version.
    run(cargo().args(["fetch", "--quiet"]))?;
    run(tools.trunk().args(["build", "--release", "--offline"])).map_err(|error| {
        format!("{error}; what it said above tells why the page could not be built")
    })
}
