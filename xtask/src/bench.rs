//! The benchmarks: they print figures and never fail on one, since machines differ and are noisy.

use std::fs;

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
        name: "reading",
        about: "bytes to an indexed table in headless Chromium, beside csv alone and three readers in JavaScript",
        run: bench_reading,
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

/// What reads CSV in a page otherwise: package, version, and the file that defines its global.
const PEERS: [(&str, &str, &str); 3] = [
    ("papaparse", "5.7.1", "papaparse.min.js"),
    ("udsv", "0.7.3", "dist/uDSV.iife.min.js"),
    ("d3-dsv", "3.0.1", "dist/d3-dsv.min.js"),
];

/// The module is made as the page's is: same profile, same optimiser, same options.
fn bench_reading() -> Result<()> {
    tools::ensure_browser()?;
    let tools = Toolbox::for_page()?;
    let folder = workspace().join("target").join("bench");
    fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    say("building the reader for the browser");
    let target = workspace().join("target/bench-wasm");
    run(cargo()
        .args(["build", "--quiet", "--package", "herdscope-bench"])
        .args(["--profile", "small", "--target", "wasm32-unknown-unknown"])
        .arg("--target-dir")
        .arg(&target))?;
    let module = target.join("wasm32-unknown-unknown/small/herdscope_bench.wasm");
    run(tools
        .command("wasm-bindgen")
        .args([
            "--target",
            "web",
            "--no-typescript",
            "--out-name",
            "bench",
            "--out-dir",
        ])
        .arg(&folder)
        .arg(module))?;
    let module = folder.join("bench_bg.wasm");
    run(tools
        .command("wasm-opt")
        .args(page::wasm_opt_options()?)
        .arg(&module)
        .arg("-o")
        .arg(&module))?;
    for (package, version, file) in PEERS {
        let from = tools::npm_file(package, version, file)?;
        let to = folder.join(format!("{package}.js"));
        fs::copy(&from, &to).map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
    }
    let package = ["--package", "herdscope-browser-tests", "--bin", "reading"];
    run(cargo()
        .args(["run", "--release", "--quiet"])
        .args(package)
        .env("HERDSCOPE_PKG", &folder))
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
