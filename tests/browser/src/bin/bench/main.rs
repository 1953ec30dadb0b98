//! What is measured in headless Chromium: `cargo xtask bench` builds what it needs, runs it and collects the rows that it
//! prints.
//!
//! All clocks are the browser's. Nothing fails because it is slow.

mod drawing;
mod frames;
mod huge;
mod opening;
mod page;
mod peers;
mod reading;
mod replay;
mod simulator;
mod slider;

use std::process::ExitCode;

use herdscope_browser_tests::Result;
use xtask::bench::input::Options;

/// Measures, and prints rows.
type Measure = fn(&Options) -> Result<()>;

const BENCHMARKS: [(&str, Measure); 8] = [
    ("reading", reading::measure),
    ("drawing", drawing::measure),
    ("replay", replay::measure),
    ("opening", opening::measure),
    ("frames", frames::measure),
    ("slider", slider::measure),
    ("simulator", simulator::measure),
    ("huge", huge::measure),
];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_default();
    let known = BENCHMARKS.iter().find(|it| it.0 == name);
    let done = match (known, Options::parse(words)) {
        (Some((_, measure)), Ok(options)) => measure(&options),
        (None, _) => {
            Err(format!("there is no benchmark `{name}` here: `cargo xtask bench` has all").into())
        }
        (_, Err(why)) => Err(why.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench {name}: {error}");
            ExitCode::FAILURE
        }
    }
}
