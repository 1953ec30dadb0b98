//! A ClickHouse for tests: chDB, which is ClickHouse as a Python module, behind its HTTP interface
//! (`tests/clickhouse/server.py`), on 127.0.0.1 alone and for as long as the value lives.
//!
//! The module is installed once, in the tool cache, by [`ensure`]; [`python()`] tells whether a test was
//! given it.

use std::env;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::{Result, python, workspace};

/// The module and its version.
const CHDB: (&str, &str) = ("chdb-core", "26.9.0");

/// The variable that hands the Python with chDB to tests. Without it, they do not run.
pub const VARIABLE: &str = "HERDSCOPE_CHDB_PYTHON";

/// A Python with chDB, installed when it is missing.
pub fn ensure() -> Result<PathBuf> {
    // What it depends on is for data frames, and half a gigabyte.
    python::with(CHDB.0, CHDB.1, &["--no-deps"])
}

/// The Python with chDB that this test was given; `None`: the test says that it is not run.
pub fn python() -> Option<PathBuf> {
    env::var_os(VARIABLE)
        .filter(|it| !it.is_empty())
        .map(PathBuf::from)
}

/// What the server holds and whom it answers.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// A CSV of the collector's columns, also in gz, for the table otel.otel_traces.
    pub spans: &'a Path,
    /// How many thousand generated traces otel.many has.
    pub many: u32,
    /// Who may ask.
    pub user: &'a str,
    /// With which password.
    pub password: &'a str,
    /// Whether pages of other origins may ask, as `add_http_cors_header` and `http_options_response` have it.
    pub cors: bool,
}

/// A running server.
pub struct Server {
    child: Child,
    url: String,
}

impl Server {
    /// Starts one on a free port, and waits until it answers.
    pub fn start(python: &Path, options: &Options<'_>) -> Result<Server> {
        let mut words: Vec<OsString> = vec!["--spans".into(), options.spans.into()];
        words.extend(["--many".into(), options.many.to_string().into()]);
        words.extend(["--user".into(), options.user.into()]);
        words.extend(["--password".into(), options.password.into()]);
        words.extend(options.cors.then(|| "--cors".into()));
        let mut child = Command::new(python)
            .arg(workspace().join("tests/clickhouse/server.py"))
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("could not start {}: {error}", python.display()))?;
        let mut url = String::new();
        if let Some(out) = child.stdout.take() {
            // Nothing: it ended, and what it said stands above.
            let _ = BufReader::new(out).read_line(&mut url);
        }
        let url = url.trim_end().to_owned();
        let server = Server { child, url };
        match server.url.is_empty() {
            false => Ok(server),
            true => Err("ClickHouse's stand-in did not start; its words stand above".to_owned()),
        }
    }

    /// Its address, as in `http://127.0.0.1:40123`.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends with its input, and takes its data along; a hanging query would keep it.
        drop(self.child.stdin.take());
        for _ in 0..50 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
