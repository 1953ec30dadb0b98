//! nopanic's breaker, which is Python, beside ours: 32 threads of 100,000
//! calls each, of which every third fails below the threshold, and what the
//! memory of both does meanwhile.
//!
//! Owns the other process. Invariant: rounds alternate, as in the other
//! tables, but are five, since one of its takes a quarter of a minute.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use xtask::bench::row::{Better, Row, Target};

use crate::peers::Contender;
use crate::{Rounds, threads};

const ROUNDS: usize = 5;
const THREADS: u32 = 32;
const CALLS: u32 = 100_000;

/// Prints all beside each other, or why not.
pub fn beside(title: &str, ours: &[Contender]) {
    let without = |why: &str| Row::without(title, "nopanic", why).print();
    let Some(python) = std::env::var_os("HALFOPEN_PYTHON") else {
        return without("left out, as HALFOPEN_PYTHON names no Python that has it");
    };
    let run = |mut it: Nopanic| run(title, ours, &mut it);
    if let Err(error) = Nopanic::start(python.as_ref()).and_then(run) {
        without(&format!("left out: {error}"));
    }
}

fn run(title: &str, ours: &[Contender], nopanic: &mut Nopanic) -> std::io::Result<()> {
    for it in ours {
        threads(it, THREADS, CALLS);
    }
    let own_before = resident_kb();
    let (_, other_before) = nopanic.round(THREADS, 1_000)?;
    let mut other_after = other_before;
    let mut own = vec![Rounds::new(); ours.len()];
    let mut other = Rounds::new();
    for _ in 0..ROUNDS {
        for (it, rounds) in ours.iter().zip(&mut own) {
            rounds.push(threads(it, THREADS, CALLS));
        }
        let (took, kb) = nopanic.round(THREADS, CALLS)?;
        other.push(took as f64 / f64::from(THREADS * CALLS));
        other_after = kb;
    }
    for (it, rounds) in ours.iter().zip(&own) {
        let title = format!("{title}: {}", it.name);
        Row::beside(title, rounds, "nopanic", &other, Better::Less)
            .aim(Target::AtLeast(50.0))
            .or_because("threads wait for each other's turn")
            .print();
    }
    let grown = |before: u64, after: u64| after as f64 - before as f64;
    Row::beside(
        "What those calls leave behind, resident kB",
        &[grown(own_before, resident_kb())],
        "nopanic",
        &[grown(other_before, other_after)],
        Better::Less,
    )
    .print();
    Ok(())
}

struct Nopanic {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Nopanic {
    fn start(python: &Path) -> std::io::Result<Nopanic> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/nopanic_rounds.py");
        let mut child = Command::new(python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let missing = || std::io::Error::other("its pipes are missing");
        Ok(Nopanic {
            asks: child.stdin.take().ok_or_else(missing)?,
            answers: BufReader::new(child.stdout.take().ok_or_else(missing)?),
            child,
        })
    }

    /// The nanoseconds of a round, and the process's resident kilobytes.
    fn round(&mut self, threads: u32, calls: u32) -> std::io::Result<(u64, u64)> {
        writeln!(self.asks, "{threads} {calls}")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let mut numbers = line.split_whitespace().map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(took)), Some(Ok(kb))) => Ok((took, kb)),
            _ => Err(std::io::Error::other(format!(
                "it answered `{}` instead of two numbers",
                line.trim()
            ))),
        }
    }
}

impl Drop for Nopanic {
    fn drop(&mut self) {
        // It ends by itself at the end of its input; a round may be running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// This process's resident kilobytes; 0 where the system does not say.
fn resident_kb() -> u64 {
    std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok())
        .map_or(0, |pages| pages * 4)
}
