//! The commands.
//!
//! One file a command; [`input`] reads files, or what a server has, for all of them. Each command computes through the
//! library and prints either sentences or, with `--json`, the keys that scripts rely on.

mod advise;
mod clickhouse;
mod compare;
mod edge;
mod estimate;
mod herds;
mod input;
mod inspect;
mod plot;
mod remedies;
mod replay;
mod runs;
mod simulate;
mod what_if;

use std::io::{self, Write};

use clap::{Args, Parser, Subcommand, ValueEnum};
use herdscope::export::json::Json;
use herdscope::format;
use herdscope::ingest::Told;

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
    /// Finds the recovery attempts, tells what the breakers did, and which settings explain it.
    Herds(herds::Options),
    /// Tells timeouts in use and proposes some, what pools bear, and what was worked on for nobody.
    Advise(advise::Options),
    /// Says what other settings would have done to the same calls, side by side and as a grid.
    WhatIf(what_if::Options),
    /// Says what distinguishes the spans of some time (--from, --to) from all others.
    Compare(compare::Options),
    /// Draws a view as a PNG or an SVG.
    Plot(plot::Options),
    /// Tells a scenario for simulate and remedies from files: demand, pods, workers, how long they are held.
    Estimate(estimate::Options),
    /// Runs a scenario: callers with halfopen, a service on pods, an autoscaler. Says what came of it.
    Simulate(simulate::Options),
    /// Runs a scenario over many seeds, as it was and with each remedy, and says what helped.
    Remedies(remedies::Options),
}

impl Command {
    /// The spans that it reads.
    fn input(&self) -> Option<&input::Input> {
        Some(match self {
            Command::Inspect(files) => &files.input,
            Command::Replay(options) => &options.asked.files.input,
            Command::Herds(options) => &options.asked.files.input,
            Command::Advise(options) => &options.files.input,
            Command::WhatIf(options) => &options.asked.files.input,
            Command::Compare(options) => &options.asked.files.input,
            Command::Plot(options) => options.input(),
            Command::Estimate(options) => &options.asked.files.input,
            Command::Simulate(_) | Command::Remedies(_) => return None,
        })
    }
}

/// What to read, and how to answer.
#[derive(Debug, Args)]
struct Files {
    #[command(flatten)]
    input: input::Input,
    #[command(flatten)]
    told: Telling,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// What a person says about the files.
#[derive(Debug, Args)]
struct Telling {
    /// What the files do not tell: parts separated by commas, as in
    /// "trace=Trace ID,start=when@ms,duration=took@us". FIELD=COLUMN names a field's column (trace,
    /// span, parent, start, end, duration, service, operation, kind, status, error, success, http,
    /// grpc, message, instance, peer, attributes), @ns, @us, @ms or @s the unit of its numbers
    /// (start=@ms: of the column that is found). zone=+02:00: the zone of times without one.
    /// dates=day-first: 3/4/2026 is in April. failed=2s: a span of that duration or longer failed.
    /// http-failed=400: an HTTP status from there on is a failure, too. logical=yes: tries of one
    /// call count as one call. sample=8: of 8 traces one is read, as a whole.
    #[arg(long = "as", value_name = "TEXT", verbatim_doc_comment)]
    told: Option<Told>,
    /// Shorthand for logical=yes or logical=no.
    #[arg(long, value_name = "yes|no")]
    logical: Option<YesNo>,
}

impl Telling {
    fn told(&self) -> Told {
        let told = self.told.clone().unwrap_or_default();
        told.and(Told {
            logical: self.logical.map(|it| it == YesNo::Yes),
            ..Told::default()
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum YesNo {
    Yes,
    No,
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
    if let Some(input) = arguments.command.input()
        && let Some(sql) = input.clickhouse.sql()?
    {
        return print_raw(&sql);
    }
    match &arguments.command {
        Command::Inspect(files) => inspect::run(files),
        Command::Replay(options) => replay::run(options),
        Command::Herds(options) => herds::run(options),
        Command::Advise(options) => advise::run(options),
        Command::WhatIf(options) => what_if::run(options),
        Command::Compare(options) => compare::run(options),
        Command::Plot(options) => plot::run(options),
        Command::Estimate(options) => estimate::run(options),
        Command::Simulate(options) => simulate::run(options),
        Command::Remedies(options) => remedies::run(options),
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

/// Prints what the page gives, too.
fn print_known(known: impl FnOnce(&mut Json)) -> Result<(), Failure> {
    let text = Json::print(|it| serde_json::Value::from(it).to_string(), known);
    match serde_json::from_str(&text) {
        Ok(value) => print_json(&value),
        // Only a mistake in the writer gets here.
        Err(error) => Err(Failure::Input(format!(
            "the JSON cannot be written: {error}"
        ))),
    }
}

/// Nanoseconds as JSON has them here: a string, since a JSON number would lose digits.
fn ns(value: impl ToString) -> serde_json::Value {
    serde_json::Value::String(value.to_string())
}
