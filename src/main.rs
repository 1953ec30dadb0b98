//! The command line: files in, words or JSON or pictures out.
//!
//! Owns files, standard streams and exit codes; everything else is the library's. Exit codes: 0
//! done, 1 the input cannot be used (one line says why and what to do), 2 wrong usage.

mod cli;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = cli::Arguments::parse();
    match cli::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cli::Failure::Input(sentence)) => {
            eprintln!("herdscope: {sentence}");
            ExitCode::from(1)
        }
        Err(cli::Failure::Usage(sentence)) => {
            eprintln!("herdscope: {sentence}");
            ExitCode::from(2)
        }
        // Whoever read the output has seen enough, as in `herdscope inspect FILE | head`.
        Err(cli::Failure::ReaderGone) => ExitCode::SUCCESS,
    }
}
