//! The checks of `cargo xtask test`: one table, run from the cheap to the dear, stopped at the first failure.
//!
//! All of them use the development profile (the page and the bare module aside); lint, documentation and
//! tests share a target folder and select the same packages, so that no dependency is built twice for them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::browsers::{self, Brand};
use crate::run::{cargo, run, say};
use crate::tools::{self, Toolbox};
use crate::{Result, bare, clickhouse as chdb, deny, fuzz, page, size, workspace};

/// One check: how `--only` calls it, what it is for, and what it does.
struct Check {
    name: &'static str,
    about: &'static str,
    run: fn(&Machine) -> Result<()>,
}

const BROWSER_TESTS: &str = "herdscope-browser-tests";

/// What is optional in the packages, switched on for lints, tests and documentation alike, so that
/// nothing is built twice for them.
const FEATURES: [&str; 2] = [
    "--features",
    "halfopen/serde,halfopen/tower,halfopen/tracing",
];

const CHECKS: &[Check] = &[
    Check {
        name: "fmt",
        about: "formatting",
        run: fmt,
    },
    Check {
        name: "deny",
        about: "licences, versions and sources of the dependencies",
        run: deny,
    },
    Check {
        name: "clippy",
        about: "lints of everything native, warnings as errors",
        run: clippy,
    },
    Check {
        name: "clippy-wasm",
        about: "lints of the library as the page has it, of what its benchmarks call, and of the bare module",
        run: clippy_wasm,
    },
    Check {
        name: "bare",
        about: "halfopen linked without std, as a module that imports nothing",
        run: bare,
    },
    Check {
        name: "unit",
        about: "unit, property and command line tests",
        run: unit,
    },
    Check {
        name: "fuzz",
        about: "what is fuzzed, on its seeds",
        run: fuzz,
    },
    Check {
        name: "clickhouse",
        about: "the command line against a ClickHouse",
        run: clickhouse,
    },
    Check {
        name: "doctest",
        about: "examples in the documentation",
        run: doctest,
    },
    Check {
        name: "doc",
        about: "documentation, warnings as errors",
        run: doc,
    },
    Check {
        name: "loom",
        about: "every interleaving of the shared breaker",
        run: loom,
    },
    Check {
        name: "package",
        about: "halfopen as it is published, unpacked elsewhere and tested",
        run: package,
    },
    Check {
        name: "page",
        about: "release build of the page with trunk",
        run: build_page,
    },
    Check {
        name: "size",
        about: "size budget of the built page",
        run: page_size,
    },
    Check {
        name: "browser",
        about: "tests of the built page in a headless browser: Chromium, or those that --browser names",
        run: browser,
    },
];

/// The checks with tests that read real files.
const READ_TRACES: &[&str] = &["unit", "browser"];

/// The checks with tests that ask a ClickHouse.
const ASK_CLICKHOUSE: &[&str] = &["clickhouse", "browser"];

/// What the checks found or installed on this machine.
struct Machine {
    tools: Option<Toolbox>,
    traces: Option<PathBuf>,
    chdb: Option<PathBuf>,
    /// Those that run the tests of the page, one after the other.
    browsers: Vec<Brand>,
    /// Whether the known weaknesses of dependencies can be looked up.
    advisories: bool,
}

/// The checks by name, a line each.
pub fn list() -> String {
    CHECKS
        .iter()
        .map(|check| format!("  {:<12} {}\n", check.name, check.about))
        .collect()
}

/// `cargo xtask test` with these arguments.
pub fn test(args: &[&str]) -> Result<()> {
    let Chosen { checks, browsers } = chosen(args)?;
    let mut report = Report::new(&checks);
    let mut failed = None;

    match report.time("set-up", || set_up(&checks, browsers)) {
        Err(error) => failed = Some(error),
        Ok(machine) => {
            for check in &checks {
                println!("\n== {} - {}", check.name, check.about);
                if let Err(error) = report.time(check.name, || (check.run)(&machine)) {
                    failed = Some(format!(
                        "the check `{}` failed: {error}\nto run it alone: cargo xtask test --only {}",
                        check.name, check.name
                    ));
                    break;
                }
            }
            if machine.traces.is_none()
                && checks.iter().any(|check| READ_TRACES.contains(&check.name))
            {
                report.remarks.push(
                    "Tests over real files were not run: HERDSCOPE_TRACES names no folder of them.",
                );
            }
            if !machine.advisories && checks.iter().any(|check| check.name == "deny") {
                report.remarks.push(
                    "Known weaknesses of dependencies were not looked up: their database could not be fetched.",
                );
            }
            if machine.chdb.is_none()
                && checks
                    .iter()
                    .any(|check| ASK_CLICKHOUSE.contains(&check.name))
            {
                report.remarks.push(
                    "Nothing was read from a ClickHouse: that takes Python 3 with its venv module (on Debian \
                     `apt-get install python3-venv`) and the package index.",
                );
            }
        }
    }
    report.print();
    failed.map_or(Ok(()), Err)
}

/// What the arguments ask for.
struct Chosen {
    /// In the order of the table.
    checks: Vec<&'static Check>,
    browsers: Vec<Brand>,
}

/// The checks that `--only A,B` names (all without it), and the browsers that `--browser A,B` names (or else Chromium).
fn chosen(args: &[&str]) -> Result<Chosen> {
    let (mut names, mut browsers): (Vec<&str>, Vec<Brand>) = Default::default();
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) => (option, value),
            None => (*word, rest.next().copied().unwrap_or_default()),
        };
        match option {
            "--only" => names.extend(value.split(',')),
            "--browser" => {
                for name in value.split(',') {
                    browsers.push(Brand::named(name)?);
                }
            }
            _ => {
                return Err(format!(
                    "test takes only --only NAME[,NAME] and --browser NAME[,NAME], not `{word}`"
                ));
            }
        }
    }
    for name in &names {
        if !CHECKS.iter().any(|check| check.name == *name) {
            return Err(format!(
                "no check is called `{name}`; these are there:\n{}",
                list_names()
            ));
        }
    }
    if browsers.is_empty() {
        browsers.push(Brand::Chromium);
    }
    let checks = CHECKS
        .iter()
        .filter(|check| names.is_empty() || names.contains(&check.name))
        .collect();
    Ok(Chosen { checks, browsers })
}

fn list_names() -> String {
    CHECKS
        .iter()
        .map(|check| check.name)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Installs what the chosen checks need and nothing else.
fn set_up(checks: &[&Check], browsers: Vec<Brand>) -> Result<Machine> {
    let needs = |names: &[&str]| checks.iter().any(|check| names.contains(&check.name));
    if needs(&["fmt", "clippy", "clippy-wasm"]) {
        tools::ensure_components()?;
    }
    if needs(&["clippy-wasm", "bare", "browser"]) {
        tools::ensure_wasm_target()?;
    }
    if needs(&["browser"]) {
        browsers.iter().try_for_each(|it| it.ensure())?;
    }
    let tools = if needs(&["page"]) {
        Some(Toolbox::for_page()?)
    } else {
        None
    };
    let traces = traces()?;
    if needs(READ_TRACES) {
        match &traces {
            Some(folder) => say(format!("tests over real files read {}", folder.display())),
            None => say("HERDSCOPE_TRACES is not set: tests over real files will not be run"),
        }
    }
    let chdb = if needs(ASK_CLICKHOUSE) {
        python_with_chdb()?
    } else {
        None
    };
    let advisories = needs(&["deny"]) && deny::fetch_advisories()?;
    Ok(Machine {
        tools,
        traces,
        chdb,
        browsers,
        advisories,
    })
}

/// In CI it has to be there; elsewhere there may be no Python, or none that chDB is made for.
fn python_with_chdb() -> Result<Option<PathBuf>> {
    match chdb::ensure() {
        Ok(python) => Ok(Some(python)),
        Err(error) if env::var_os("CI").is_none() => {
            say(format!("nothing will be read from a ClickHouse: {error}"));
            Ok(None)
        }
        Err(error) => Err(format!(
            "{error}; the checks `clickhouse` and `browser` need it"
        )),
    }
}

/// The folder of real files, as an absolute path: tests do not run in the folder this was called from.
fn traces() -> Result<Option<PathBuf>> {
    let Some(named) = env::var_os("HERDSCOPE_TRACES").filter(|it| !it.is_empty()) else {
        return Ok(None);
    };
    let folder = PathBuf::from(&named);
    if !folder.is_dir() {
        return Err(format!(
            "HERDSCOPE_TRACES names {}, which is no folder: correct it, or unset it to leave those tests out",
            folder.display()
        ));
    }
    std::path::absolute(&folder)
        .map(Some)
        .map_err(|error| format!("cannot find {}: {error}", folder.display()))
}

impl Machine {
    /// A cargo whose tests find the folder of real files, or know that there is none.
    fn cargo_test(&self) -> Command {
        let mut command = cargo();
        match &self.traces {
            Some(folder) => command.env("HERDSCOPE_TRACES", folder),
            None => command.env_remove("HERDSCOPE_TRACES"),
        };
        command.arg("test");
        command
    }
}

fn fmt(_: &Machine) -> Result<()> {
    run(cargo().args(["fmt", "--all", "--check"]))
        .map_err(|error| format!("{error}; `cargo fmt --all` formats it"))?;
    fuzz::formatted()
}

fn deny(machine: &Machine) -> Result<()> {
    deny::check(machine.advisories)
}

fn clippy(_: &Machine) -> Result<()> {
    run(cargo()
        .args(["clippy", "--workspace", "--all-targets"])
        .args(FEATURES)
        .args(["--", "-D", "warnings"]))
}

fn clippy_wasm(_: &Machine) -> Result<()> {
    // One after the other: together, the features of the one would be those of the other.
    let page = ["--package", "herdscope-page"].as_slice();
    let bench = ["--package", "herdscope-bench"].as_slice();
    let module = ["--package", "halfopen-bare"].as_slice();
    for package in [page, bench, module] {
        run(cargo().args(["clippy", "--lib"]).args(package).args([
            "--target",
            "wasm32-unknown-unknown",
            "--",
            "-D",
            "warnings",
        ]))?;
    }
    Ok(())
}

fn bare(_: &Machine) -> Result<()> {
    bare::check()
}

fn unit(machine: &Machine) -> Result<()> {
    let everything = [
        "--workspace",
        "--exclude",
        BROWSER_TESTS,
        "--lib",
        "--bins",
        "--tests",
        "--examples",
    ];
    run(machine.cargo_test().args(everything).args(FEATURES))
}

fn fuzz(_: &Machine) -> Result<()> {
    fuzz::seeds_hold()
}

/// Without a Python that chDB is made for it does nothing; the report says so.
fn clickhouse(machine: &Machine) -> Result<()> {
    let Some(python) = &machine.chdb else {
        return Ok(());
    };
    run(machine
        .cargo_test()
        .args(["--workspace", "--exclude", BROWSER_TESTS])
        .args(["--test", "clickhouse"])
        .args(FEATURES)
        .env(chdb::VARIABLE, python))
}

fn doctest(machine: &Machine) -> Result<()> {
    run(machine
        .cargo_test()
        .args(["--doc", "--workspace", "--exclude", BROWSER_TESTS])
        .args(FEATURES))
}

fn doc(_: &Machine) -> Result<()> {
    run(cargo()
        .args(["doc", "--workspace", "--no-deps", "--quiet"])
        .args(FEATURES)
        .env("RUSTDOCFLAGS", "-D warnings"))
}

/// In a target folder of its own: its flag would have everything else built anew.
fn loom(_: &Machine) -> Result<()> {
    run(cargo()
        .args([
            "test",
            "--package",
            "halfopen",
            "--test",
            "loom",
            "--release",
        ])
        .env("RUSTFLAGS", "--cfg loom")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_TARGET_DIR", workspace().join("target/loom")))
}

fn package(_: &Machine) -> Result<()> {
    let folder = workspace().join("target/package");
    run(cargo()
        .args([
            "package",
            "--package",
            "halfopen",
            "--no-verify",
            "--allow-dirty",
            "--quiet",
        ])
        .env("CARGO_TARGET_DIR", workspace().join("target")))?;
    // Elsewhere: below this folder cargo would take it for a part of the workspace.
    let unpacked = env::temp_dir().join("herdscope-package");
    // What an earlier version left there is no part of this one.
    let _ = fs::remove_dir_all(&unpacked);
    fs::create_dir_all(&unpacked)
        .map_err(|error| format!("cannot make {}: {error}", unpacked.display()))?;
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("halfopen-{version}");
    unpack(&folder.join(format!("{name}.crate")), &unpacked)?;
    run(cargo()
        .current_dir(unpacked.join(name))
        .args(["test", "--quiet", "--all-features"])
        // The packaged crate has no profile of its own, and its models take minutes unoptimised.
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .env("CARGO_TARGET_DIR", workspace().join("target")))
}

/// Unpacks a packaged crate, a tar in gz.
fn unpack(file: &Path, to: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    run(tar.arg("-xzf").arg(file).arg("-C").arg(to))
}

fn build_page(machine: &Machine) -> Result<()> {
    let tools = machine
        .tools
        .as_ref()
        .ok_or("the tools for the page were not set up")?;
    page::build(tools)
}

fn page_size(_: &Machine) -> Result<()> {
    size::check(&page::folder(), size::LIMIT)
}

fn browser(machine: &Machine) -> Result<()> {
    for brand in &machine.browsers {
        say(format!("the page is tested in {}", brand.name()));
        let mut tests = machine.cargo_test();
        match &machine.chdb {
            Some(python) => tests.env(chdb::VARIABLE, python),
            None => tests.env_remove(chdb::VARIABLE),
        };
        tests.env(browsers::VARIABLE, brand.name());
        run(tests.args(["--package", BROWSER_TESTS]))
            .map_err(|error| format!("in {}: {error}", brand.name()))?;
    }
    Ok(())
}

/// How each check went and how long it took.
struct Report {
    rows: Vec<(&'static str, Outcome)>,
    remarks: Vec<&'static str>,
}

enum Outcome {
    NotRun,
    Passed(Duration),
    Failed(Duration),
}

impl Report {
    fn new(checks: &[&'static Check]) -> Report {
        let names = std::iter::once("set-up").chain(checks.iter().map(|check| check.name));
        Report {
            rows: names.map(|name| (name, Outcome::NotRun)).collect(),
            remarks: Vec::new(),
        }
    }

    fn time<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let start = Instant::now();
        let result = work();
        let took = start.elapsed();
        if let Some((_, outcome)) = self.rows.iter_mut().find(|(row, _)| *row == name) {
            *outcome = if result.is_ok() {
                Outcome::Passed(took)
            } else {
                Outcome::Failed(took)
            };
        }
        result
    }

    fn print(&self) {
        println!("\n{:<12} {:>8}", "check", "seconds");
        for (name, outcome) in &self.rows {
            match outcome {
                Outcome::NotRun => println!("{name:<12} {:>8}  not run", "-"),
                Outcome::Passed(took) => println!("{name:<12} {:>8.1}  passed", took.as_secs_f64()),
                Outcome::Failed(took) => println!("{name:<12} {:>8.1}  FAILED", took.as_secs_f64()),
            }
        }
        for remark in &self.remarks {
            println!("{remark}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(args: &[&str]) -> Result<Vec<&'static str>> {
        chosen(args).map(|it| it.checks.iter().map(|check| check.name).collect())
    }

    #[test]
    fn only_the_named_checks_run_in_the_order_of_the_table() {
        assert_eq!(names(&["--only", "unit,fmt"]), Ok(vec!["fmt", "unit"]));
        assert_eq!(
            names(&["--only=doc", "--only", "page"]),
            Ok(vec!["doc", "page"])
        );
        assert_eq!(names(&[]).map(|all| all.len()), Ok(CHECKS.len()));
    }

    #[test]
    fn an_unknown_check_is_named() {
        let error = names(&["--only", "fmt,lint"]).expect_err("there is no such check");
        assert!(
            error.contains("`lint`") && error.contains("clippy"),
            "{error}"
        );
        assert!(names(&["--only"]).is_err());
        assert!(names(&["--fast"]).is_err());
    }

    #[test]
    fn the_page_is_tested_in_the_named_browsers_or_in_chromium() {
        let browsers = |args: &[&str]| chosen(args).map(|it| it.browsers);
        assert_eq!(browsers(&[]), Ok(vec![Brand::Chromium]));
        assert_eq!(
            browsers(&["--only", "browser", "--browser", "firefox"]),
            Ok(vec![Brand::Firefox])
        );
        assert_eq!(
            browsers(&["--browser=chromium,firefox"]),
            Ok(vec![Brand::Chromium, Brand::Firefox])
        );
        assert!(browsers(&["--browser"]).is_err());
    }
}
