//! What the dependencies may be: cargo-deny with the rules of `deny.toml`.
//!
//! Owns which of them can be checked here. Licences, versions and sources are told from the lock file and
//! the crates that are there; known weaknesses from a database that has to be fetched. Where that cannot
//! be done the check passes without it, and says so.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::run::run;
use crate::{Result, tools, workspace};

/// How long fetching the database may take, and checking by it.
const PATIENCE: Duration = Duration::from_secs(120);

/// Checks what can be checked, known weaknesses only by a database that is here.
pub fn check(advisories: bool) -> Result<()> {
    run(deny()?.args(["check", "bans", "licenses", "sources"]))
        .map_err(|error| format!("{error}; the rules are in deny.toml, each with its reason"))?;
    if !advisories {
        return Ok(());
    }
    run(deny()?.args(["--offline", "check", "advisories"]))
}

/// cargo-deny over the whole workspace, as it is locked.
fn deny() -> Result<Command> {
    let mut command = Command::new("cargo-deny");
    command
        .env("PATH", tools::path_for_deny()?)
        .args(["--workspace", "--locked"])
        .current_dir(workspace());
    Ok(command)
}

/// Fetches the database; whether it is here, as of now.
pub fn fetch_advisories() -> Result<bool> {
    let mut fetch = deny()?
        .args(["--log-level", "off", "fetch", "db"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("could not start cargo-deny: {error}"))?;
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Ok(Some(status)) = fetch.try_wait() {
            return Ok(status.success());
        }
        thread::sleep(Duration::from_millis(50));
    }
    // It may have ended by itself in this moment.
    let _ = fetch.kill();
    let _ = fetch.wait();
    Ok(false)
}
