//! The benchmarks: they print figures and never fail on one, since machines differ and are noisy.

use crate::run::{cargo, run, say};
use crate::tools::{self, Toolbox};
use crate::{Result, page, python, workspace};

/// One benchmark: how `cargo xtask bench` calls it, what it is for, and what it does.
struct Benchmark {
    name: &'static str,
    about: &'static str,
    run: fn() -> Result<()>,
}

const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "page",
        about: "from a drop to the first spans, and the pace of panning, in headless Chromium",
        run: bench_page,
    },
    Benchmark {
        name: "breaker",
        about: "halfopen's shared breaker beside other breakers, as ratios",
        run: bench_breaker,
    },
    Benchmark {
        name: "simulator",
        about: "requests that are simulated a second, natively; a million are the aim",
        run: bench_simulator,
    },
];

/// The benchmarks by name, a line each.
pub fn list() -> String {
    let line = |it: &Benchmark| format!("  {:<12} {}\n", it.name, it.about);
    BENCHMARKS.iter().map(line).collect()
}

/// `cargo xtask bench` with these arguments: all, or the named ones.
pub fn bench(names: &[&str]) -> Result<()> {
    for name in names {
        if !BENCHMARKS.iter().any(|it| it.name == *name) {
            return Err(format!(
                "there is no benchmark `{name}`; there are\n{}",
                list()
            ));
        }
    }
    for benchmark in BENCHMARKS {
        if names.is_empty() || names.contains(&benchmark.name) {
            say(format!("{}: {}", benchmark.name, benchmark.about));
            (benchmark.run)()?;
        }
    }
    Ok(())
}

fn bench_page() -> Result<()> {
    tools::ensure_browser()?;
    page::build(&Toolbox::for_page()?)?;
    let package = ["--package", "herdscope-browser-tests", "--bin", "pace"];
    run(cargo().args(["run", "--quiet"]).args(package))
}

fn bench_simulator() -> Result<()> {
    let example = ["--package", "herdscope-sim", "--example", "pace"];
    run(cargo().args(["run", "--release", "--quiet"]).args(example))
}

fn bench_breaker() -> Result<()> {
    let manifest = workspace().join("halfopen/bench/Cargo.toml");
    let mut bench = cargo();
    bench
        .args(["run", "--release", "--quiet", "--manifest-path"])
        .arg(manifest);
    match python::with("nopanic", "0.3.0", &[]) {
        Ok(python) => {
            bench.env("HALFOPEN_PYTHON", python);
        }
        Err(error) => say(format!(
            "nopanic, a breaker in Python, is left out: {error}"
        )),
    }
    run(&mut bench)
}
