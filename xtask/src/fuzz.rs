//! Fuzzing: the properties in `fuzz/`, by libFuzzer for as long as one likes, and on their seeds in the
//! tests.
//!
//! Owns how targets are found, run and reported. A target is a file in `fuzz/targets`. What libFuzzer
//! makes stays in `fuzz/corpus` for the next run, and what it finds in `fuzz/artifacts`; git sees neither.
//! A finding can be looked at without it: `again` runs the property once, on the Rust in use.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::run::{cargo, output, run, say};
use crate::tools;
use crate::{Result, workspace};

/// Beyond this a single input is a finding, too.
const SLOW_SECONDS: u32 = 10;

/// What to do where libFuzzer cannot be had.
const ADVICE: &str = "libFuzzer needs a nightly Rust beside the one in use (`rustup toolchain install nightly \
     --profile minimal`) and a C++ compiler; without them, `cargo xtask test --only fuzz` checks the same \
     properties on their seeds";

/// What one target's run came to.
struct Outcome {
    runs: String,
    pace: String,
    finding: Option<Finding>,
}

struct Finding {
    input: String,
    /// What the property said.
    said: String,
}

/// The targets, a line each.
pub fn list() -> Result<String> {
    let line = |name: String| format!("  {name}\n");
    Ok(targets()?.into_iter().map(line).collect())
}

/// `cargo xtask fuzz` with these arguments.
pub fn fuzz(args: &[&str]) -> Result<()> {
    let (minutes, targets) = chosen(args, &targets()?)?;
    let fuzzer = Fuzzer::find()?;
    run(cargo_of_fuzz("run").args(["--quiet", "--example", "seeds", "--", "fuzz/corpus"]))?;
    run(fuzzer.cargo("build").args(OPTIONS))?;
    let mut found = Vec::new();
    for target in &targets {
        say(format!("fuzzing {target} for {minutes} min"));
        let outcome = fuzzer.run(target, minutes * 60)?;
        let said = match &outcome.finding {
            Some(_) => "A FINDING",
            None => "nothing found",
        };
        let Outcome { runs, pace, .. } = &outcome;
        println!("{target:<12} {runs:>12} runs {pace:>8}/s  {said}");
        found.extend(outcome.finding.map(|it| (target, it)));
    }
    if found.is_empty() {
        return Ok(());
    }
    let told = found.iter().map(|(target, Finding { input, said })| {
        format!("\n{target}: {said}\n  the input: {input}\n  to run it again: cargo run --manifest-path fuzz/Cargo.toml --example again -- {target} {input}")
    });
    Err(format!(
        "properties do not hold:{}",
        told.collect::<String>()
    ))
}

/// The properties on their seeds, as ordinary tests.
pub fn seeds_hold() -> Result<()> {
    run(cargo_of_fuzz("test").arg("--lib"))
}

/// Whether that workspace is formatted, too.
pub fn formatted() -> Result<()> {
    run(cargo_of_fuzz("fmt").arg("--check"))
        .map_err(|error| format!("{error}; `cargo fmt --manifest-path fuzz/Cargo.toml` formats it"))
}

/// A cargo for the workspace of the properties, which shares its target folder with this one.
fn cargo_of_fuzz(command: &str) -> Command {
    let mut cargo = cargo();
    cargo
        .args([command, "--manifest-path", "fuzz/Cargo.toml"])
        .env("CARGO_TARGET_DIR", target_folder());
    cargo
}

fn target_folder() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from)
}

fn targets() -> Result<Vec<String>> {
    let folder = workspace().join("fuzz/targets");
    let entries = fs::read_dir(&folder)
        .map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|it| Some(it.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// The minutes and the targets that the arguments name: one minute, and all, where they do not.
fn chosen(args: &[&str], all: &[String]) -> Result<(u32, Vec<String>)> {
    let (mut minutes, mut named) = (1, Vec::new());
    let mut rest = args.iter();
    while let Some(&word) = rest.next() {
        if word == "--minutes" {
            let number = rest.next().copied().unwrap_or_default();
            minutes = number
                .parse()
                .ok()
                .filter(|it| (1..=10_000).contains(it))
                .ok_or_else(|| format!("--minutes wants a whole number, not `{number}`"))?;
        } else if all.iter().any(|it| it == word) {
            named.push(word.to_owned());
        } else {
            return Err(format!(
                "fuzz takes --minutes N and targets, not `{word}`; targets are {}",
                all.join(", ")
            ));
        }
    }
    let targets = if named.is_empty() {
        all.to_vec()
    } else {
        named
    };
    Ok((minutes, targets))
}

/// Our crates and most of what is below them are safe Rust, in which a sanitizer finds nothing and costs
/// half the runs. Overflows and the library's own assertions are on.
const OPTIONS: [&str; 6] = [
    "--fuzz-dir",
    "fuzz",
    "--sanitizer",
    "none",
    "--features",
    "libfuzzer",
];

struct Fuzzer {
    path: OsString,
}

impl Fuzzer {
    fn find() -> Result<Fuzzer> {
        let nightly = ["run", "nightly", "rustc", "--version"];
        if output(Command::new("rustup").args(nightly)).is_none() {
            return Err(ADVICE.to_owned());
        }
        let path = tools::path_for_fuzz()?;
        Ok(Fuzzer { path })
    }

    fn cargo(&self, command: &str) -> Command {
        let mut cargo = Command::new("rustup");
        cargo
            .args(["run", "nightly", "cargo", "fuzz", command])
            .current_dir(workspace())
            .env("PATH", &self.path)
            .env("CARGO_TARGET_DIR", target_folder())
            // Of the cargo that runs this tool, which is not nightly's.
            .env_remove("CARGO");
        cargo
    }

    fn run(&self, target: &str, seconds: u32) -> Result<Outcome> {
        let output = self
            .cargo("run")
            .args(OPTIONS)
            .args([target, "--", "-print_final_stats=1"])
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-timeout={SLOW_SECONDS}"))
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("could not start the fuzzer: {error}"))?;
        let text = String::from_utf8_lossy(&output.stderr);
        told(&text, output.status.success())
            .ok_or_else(|| format!("{target} did not run; {ADVICE}; the fuzzer said:\n{text}"))
    }
}

/// What the fuzzer's output says; `None` if it did not get to fuzzing.
fn told(text: &str, well: bool) -> Option<Outcome> {
    let after = |mark: &str| {
        let line = text.lines().find_map(|it| it.split_once(mark));
        line.map(|(_, rest)| rest.trim().to_owned())
    };
    let finding = if well {
        None
    } else {
        let mut lines = text.lines();
        let panic = lines.find_map(|it| it.split_once("panicked at "));
        let cause = lines.next().filter(|_| panic.is_some());
        let error = || text.lines().find(|it| it.contains("ERROR: libFuzzer"));
        Some(Finding {
            input: after("Test unit written to ")?,
            said: match (panic, cause) {
                (Some((_, place)), Some(cause)) => format!("{place} {cause}"),
                _ => error().unwrap_or("it ended").trim().to_owned(),
            },
        })
    };
    Some(Outcome {
        runs: after("stat::number_of_executed_units:")?,
        pace: after("stat::average_exec_per_sec:")?,
        finding,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_and_targets_are_read_in_any_order() {
        let all = ["machine", "reader", "view"].map(str::to_owned);
        let named = |it: &[&str]| it.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
        assert_eq!(chosen(&[], &all), Ok((1, all.to_vec())));
        assert_eq!(
            chosen(&["view", "--minutes", "3", "machine"], &all),
            Ok((3, named(&["view", "machine"])))
        );
        for wrong in [&["--minutes"][..], &["--minutes", "0"], &["parser"]] {
            assert!(chosen(wrong, &all).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_fuzzers_figures_and_findings_are_read() {
        let stats = "stat::number_of_executed_units: 1234\nstat::average_exec_per_sec:     61\n";
        let outcome = told(stats, true).expect("it ran");
        assert_eq!((&*outcome.runs, &*outcome.pace), ("1234", "61"));
        assert!(outcome.finding.is_none());

        let crash = format!(
            "thread '<unnamed>' panicked at src/view.rs:29:9:\nnot the same\n{stats}\
             artifact_prefix='fuzz/'; Test unit written to fuzz/artifacts/view/crash-1\n"
        );
        let finding = told(&crash, false).and_then(|it| it.finding);
        let finding = finding.expect("it found something");
        assert_eq!(finding.input, "fuzz/artifacts/view/crash-1");
        assert_eq!(finding.said, "src/view.rs:29:9: not the same");
        assert!(told("error: could not compile", false).is_none());
    }
}
