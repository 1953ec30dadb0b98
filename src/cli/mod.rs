//! The commands.
//!
//! One file a command; [`input`] reads files for all of them. Each command computes through the
//! library and prints either sentences or, with `--json`, the keys that scripts rely on.

mod input;
mod inspect;
mod plot;
mod replay;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use herdscope::format;

/// Every trace of an incident at once, and the circuit breaker replayed over it.
#[derive(Debug, Parser)]
#[command(version)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Says what the files are: exporter, units, spans, traces, services, edges, issues.
    Inspect(Files),
    /// Runs a breaker over the calls of an edge and says what it would have done.
    Replay(replay::Options),
    /// Draws a view as a PNG or an SVG.
    Plot(plot::Options),
}

/// The files to read, as one.
#[derive(Debug, Args)]
struct Files {
    /// Span CSVs, plain or .gz; - reads standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Why a command did not do its work.
#[derive(Debug)]
pub enum Failure {
    /// The input cannot be used: a sentence.
    Input(String),
    /// The arguments are wrong: a sentence.
    Usage(String),
    /// Nobody reads the output any more.
    ReaderGone,
}

/// Runs the command that was asked for.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Inspect(files) => inspect::run(files),
        Command::Replay(options) => replay::run(options),
        Command::Plot(options) => plot::run(options),
    }
}

/// Prints sentences, which may hold names out of a file.
fn print(text: &str) -> Result<(), Failure> {
    print_raw(&format::printable(text))
}

fn print_raw(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::Input(format!("the output cannot be written: {error}")),
    })
}

fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print_raw(&format!("{value:#}\n"))
}

/// Nanoseconds as JSON has them here: a string, since a JSON number would lose digits.
fn ns(value: impl ToString) -> serde_json::Value {
    serde_json::Value::String(value.to_string())
}
