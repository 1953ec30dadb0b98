//! Python packages that checks and benchmarks run beside ours, each in an environment of its own in the
//! tool cache.

use std::path::PathBuf;
use std::process::Command;

use crate::Result;
use crate::run::{find, run, say};
use crate::tools::cache;

/// A Python that has this version of this package, installed with these options of pip when it is missing.
pub fn with(package: &str, version: &str, options: &[&str]) -> Result<PathBuf> {
    let root = cache()?.join(format!("{package}-{version}"));
    let python = root.join("bin").join("python");
    // Written last, so that an installation that was interrupted is begun anew.
    let done = root.join("installed");
    if done.exists() && python.exists() {
        return Ok(python);
    }
    let system = find("python3").ok_or("there is no python3 on PATH")?;
    say(format!("installing {package} {version} for Python"));
    run(Command::new(system)
        .args(["-m", "venv", "--clear"])
        .arg(&root))?;
    run(Command::new(&python)
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .args(options)
        .arg(format!("{package}=={version}")))?;
    std::fs::write(&done, "")
        .map_err(|error| format!("cannot write {}: {error}", done.display()))?;
    Ok(python)
}
