//! The report: `cargo xtask bench --into docs/benchmarks.md` writes the rows with machine, date and versions, and beside
//! it, with the project's own plotting, the chart of how things grow with the number of spans.

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use super::module::PEERS;
use super::row::Row;
use super::table;
use crate::browsers::Brand;
use crate::generate::dialects;
use crate::run::output;
use crate::{Result, workspace};

const HOW: &str = "\
Ratios are what to look at: contenders take turns, the ratio is taken within a round, and the median of the rounds counts,
with the lowest and the highest beside it. *Times better* is how many times better ours is than the peer: above 1, ours
is faster or smaller. A target is one for the ratio where there is a peer, else for ours. Inputs are made by `cargo xtask
generate`: `herd` is ClickHouse's table at 270 bytes a row, `nezha` has 150. The browser is headless and has no GPU.

- **Reading** starts with the bytes in memory and ends with an indexed table (ours), with records (`csv`), with rows of
  texts and the duration as numbers (PapaParse, uDSV, d3-dsv), with a table of typed columns (DuckDB, which is given
  the bytes before its clock starts).
- **Drawing** has all contenders draw the same spans of the same part on a canvas of 1600 x 1000, opacity by duration,
  failures in their colours; each is done when a pixel can be read back. Ours is the page's engine and one
  `putImageData`: states, rates and percentiles are worked out in that time, too. plotters-canvas draws a chart of
  rectangles. uPlot gets a path builder that puts spans into one `Path2D` a colour, as the boxes of its own demos are
  drawn: the visualiser that this page would replace drew its spans with uPlot, its source is not public. Peers skip
  what is out of sight.
- **Frames** are those of the page as it is served: from the request for a view to the last canvas call, 200 a pan. Beside
  them stands what is the browser's alone: a worker hands over as many pixels, untouched, and they are put on a canvas.
- **Memory** is the worker's whole wasm memory, which never shrinks, after one file was opened; natively what the
  dataset holds.
";

/// Writes report and chart.
pub fn write(file: &Path, asked: &str, parts: &[(&str, &str, Vec<Row>)]) -> Result<()> {
    let cannot = |error: std::io::Error| format!("cannot write {}: {error}", file.display());
    let chart = file.with_extension("svg");
    let has_chart = draw_chart(&chart, parts)?;
    let mut text = "# Benchmarks\n\n".to_owned();
    text += &format!("Written by `cargo xtask bench{asked}` on {}.\n\n", today());
    for (what, value) in machine() {
        text += &format!("- {what}: {value}\n");
    }
    text += &format!("\n{HOW}");
    if let Some(name) = chart.file_name().filter(|_| has_chart) {
        let name = name.to_string_lossy();
        text += &format!("\n![Reading, frames and memory by the number of spans]({name})\n");
    }
    for (name, about, rows) in parts {
        text += &format!("\n## {name}\n\n{about}\n\n{}", table::markdown(rows));
    }
    fs::write(file, text).map_err(cannot)
}

/// Hands the points to who can plot; whether there are any.
fn draw_chart(chart: &Path, parts: &[(&str, &str, Vec<Row>)]) -> Result<bool> {
    let rows = parts.iter().flat_map(|it| &it.2);
    let points: Vec<&Row> = rows.filter(|it| it.point.is_some()).collect();
    if points.is_empty() {
        return Ok(false);
    }
    let cannot = |error: std::io::Error| format!("the chart cannot be drawn: {error}");
    let chart = std::path::absolute(chart).map_err(cannot)?;
    let mut child = super::native_program()
        .args(["chart", "--into"])
        .arg(chart)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(cannot)?;
    let json = serde_json::to_vec(&points).map_err(|error| error.to_string())?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(&json).map_err(cannot)?;
    }
    match child.wait().map_err(cannot)?.success() {
        true => Ok(true),
        false => Err("the chart cannot be drawn: see above".to_owned()),
    }
}

fn today() -> String {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let mut date = Vec::new();
    dialects::day(&mut date, since.as_nanos() as i64);
    String::from_utf8_lossy(&date).into_owned()
}

/// What it ran on and with, as far as the system tells.
fn machine() -> Vec<(&'static str, String)> {
    let line_of = |file: &str, key: &str| {
        let text = fs::read_to_string(file).ok()?;
        let line = text.lines().find(|it| it.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let processor =
        line_of("/proc/cpuinfo", "model name").unwrap_or_else(|| env::consts::ARCH.to_owned());
    let memory = line_of("/proc/meminfo", "MemTotal")
        .and_then(|it| it.split(' ').next()?.parse::<f64>().ok());
    let version = |command: &mut Command| output(command.arg("--version"));
    let browser = Brand::Chromium
        .program()
        .and_then(|it| version(&mut Command::new(it)));
    let rust = version(Command::new("rustc").current_dir(workspace()));
    let system =
        output(Command::new("uname").arg("-sr")).unwrap_or_else(|| env::consts::OS.to_owned());
    let peers: Vec<String> = PEERS
        .iter()
        .map(|it| format!("{} {}", it.package, it.version))
        .collect();
    [
        ("Processor", Some(format!("{processor}, {cores} cores"))),
        ("Memory", memory.map(|kb| format!("{:.0} GB", kb / 1e6))),
        ("System", Some(system)),
        ("Browser", browser),
        ("Compiler", rust),
        ("Peers", Some(peers.join(", "))),
    ]
    .into_iter()
    .filter_map(|(what, value)| Some((what, value?)))
    .collect()
}
