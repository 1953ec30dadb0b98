//! The benchmarks: they print figures beside their targets and never fail on one, since machines differ and are noisy.
//!
//! Owns what there is, the building of what each needs, and the collecting of [`Row`]s: whoever measures is a program
//! that prints them. Everything else that is said goes to standard error. Inputs are made by `generate`.

pub mod input;
mod module;
mod report;
pub mod row;
mod table;

use std::cell::OnceCell;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use self::row::{Row, Target};
use crate::browsers::Brand;
use crate::run::{cargo, say};
use crate::tools::Toolbox;
use crate::{Result, page, python, size, workspace};

/// One benchmark: how `cargo xtask bench` calls it, what it is for, and what it does.
struct Benchmark {
    name: &'static str,
    about: &'static str,
    run: fn(&Bench) -> Result<Vec<Row>>,
    /// Whether `--quick` does without it.
    long: bool,
}

const fn benchmark(
    name: &'static str,
    about: &'static str,
    run: fn(&Bench) -> Result<Vec<Row>>,
) -> Benchmark {
    Benchmark {
        name,
        about,
        run,
        long: false,
    }
}

const BENCHMARKS: &[Benchmark] = &[
    benchmark("weight", "what a visitor downloads", weight),
    benchmark(
        "reading",
        "bytes to an indexed table, natively and in Chromium, beside csv alone, three readers in JavaScript and DuckDB",
        |bench| Ok([bench.native("reading")?, bench.beside_peers("reading")?].concat()),
    ),
    benchmark(
        "drawing",
        "the same spans drawn by ours, uPlot, plotters-canvas alone and plain fillRect",
        |bench| bench.beside_peers("drawing"),
    ),
    benchmark(
        "opening",
        "the page: start, first spans after a drop, the whole file, memory, tasks over 50 ms",
        |bench| Ok([bench.native("memory")?, bench.of_the_page("opening")?].concat()),
    ),
    benchmark(
        "frames",
        "the page: frames of a scripted pan and zoom, hover, click",
        |bench| bench.of_the_page("frames"),
    ),
    benchmark(
        "replay",
        "calls that are replayed a second, natively and in Chromium; a slider's answer",
        |bench| {
            let alone = [bench.native("replay")?, bench.beside_peers("replay")?].concat();
            Ok([alone, bench.of_the_page("slider")?].concat())
        },
    ),
    benchmark(
        "breaker",
        "halfopen's shared breaker beside other breakers",
        breaker,
    ),
    benchmark(
        "simulator",
        "requests that are simulated a second, natively and by the page; a million are the aim",
        |bench| Ok([simulator()?, bench.of_the_page("simulator")?].concat()),
    ),
    Benchmark {
        long: true,
        ..benchmark(
            "huge",
            "a CSV of over 2 GB: opens with progress, can be cancelled, pans",
            |bench| bench.of_the_page("huge"),
        )
    },
];

/// The benchmarks by name, a line each.
pub fn list() -> String {
    let line = |it: &Benchmark| format!("  {:<12} {}\n", it.name, it.about);
    BENCHMARKS.iter().map(line).collect()
}

/// What is asked for.
#[derive(Debug, PartialEq)]
struct Options {
    names: Vec<String>,
    json: Json,
    /// The report to write.
    into: Option<PathBuf>,
    quick: bool,
    /// The largest input.
    spans: u64,
}

#[derive(Debug, PartialEq)]
enum Json {
    No,
    Printed,
    Into(PathBuf),
}

/// The largest input by default, and of a quick run.
const SPANS: u64 = 10_000_000;
const QUICK_SPANS: u64 = 100_000;

impl Options {
    fn parse(args: &[&str]) -> Result<Options> {
        let mut options = Options {
            names: Vec::new(),
            json: Json::No,
            into: None,
            quick: false,
            spans: SPANS,
        };
        let mut spans = None;
        let is_name = |word: &str| BENCHMARKS.iter().any(|it| it.name == word);
        let mut words = args.iter().copied().peekable();
        while let Some(word) = words.next() {
            match word {
                "--quick" => options.quick = true,
                "--json" => {
                    let file = words.next_if(|it| !it.starts_with("--") && !is_name(it));
                    options.json = file.map_or(Json::Printed, |it| Json::Into(it.into()));
                }
                "--into" => {
                    let file = words
                        .next()
                        .ok_or("--into wants a file, such as docs/benchmarks.md")?;
                    options.into = Some(file.into());
                }
                "--spans" => {
                    let number = words.next().and_then(|it| it.replace('_', "").parse().ok());
                    spans = Some(
                        number.ok_or("--spans wants the number of spans of the largest input")?,
                    );
                }
                name if is_name(name) => options.names.push(name.to_owned()),
                _ => {
                    return Err(format!(
                        "there is no benchmark `{word}`; there are\n{}",
                        list()
                    ));
                }
            }
        }
        options.spans = spans.unwrap_or(if options.quick { QUICK_SPANS } else { SPANS });
        Ok(options)
    }

    /// What a report says that it was asked for: all that its figures depend on.
    fn asked(&self, into: &Path) -> String {
        let names: String = self.names.iter().map(|it| format!(" {it}")).collect();
        let quick = if self.quick { " --quick" } else { "" };
        let file = into.file_name().unwrap_or_default().to_string_lossy();
        format!("{names}{quick} --spans {} --into docs/{file}", self.spans)
    }

    fn wants(&self, benchmark: &Benchmark) -> bool {
        match self.names.is_empty() {
            true => !(benchmark.long && self.quick),
            false => self.names.iter().any(|it| it == benchmark.name),
        }
    }
}

/// `cargo xtask bench` with these arguments.
pub fn bench(args: &[&str]) -> Result<()> {
    let bench = Bench {
        options: Options::parse(args)?,
        tools: OnceCell::new(),
        page: OnceCell::new(),
        module: OnceCell::new(),
    };
    let mut parts: Vec<(&str, &str, Vec<Row>)> = Vec::new();
    let mut failed = Vec::new();
    for benchmark in BENCHMARKS.iter().filter(|it| bench.options.wants(it)) {
        say(format!("{}: {}", benchmark.name, benchmark.about));
        let rows = (benchmark.run)(&bench).unwrap_or_else(|why| {
            say(&why);
            failed.push(benchmark.name);
            vec![Row::of(benchmark.name, &[]).noting(why)]
        });
        parts.push((benchmark.name, benchmark.about, rows));
    }
    // Generated inputs are made again in seconds, and large.
    let _ = fs::remove_dir_all(data());
    let rows: Vec<Row> = parts.iter().flat_map(|it| it.2.iter().cloned()).collect();
    let json = || {
        let lines: serde_json::Result<Vec<String>> =
            rows.iter().map(serde_json::to_string).collect();
        let lines = lines.map_err(|error| format!("rows cannot be written: {error}"))?;
        Ok::<_, String>(format!("[\n{}\n]\n", lines.join(",\n")))
    };
    match &bench.options.json {
        Json::Printed => print!("{}", json()?),
        Json::Into(file) => {
            fs::write(file, json()?)
                .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        }
        Json::No => {}
    }
    if bench.options.json != Json::Printed {
        print!("{}", table::text(&rows));
    }
    if let Some(file) = &bench.options.into {
        report::write(file, &bench.options.asked(file), &parts)?;
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("could not be measured: {}", failed.join(", "))),
    }
}

/// What the benchmarks need, each built when it is needed first.
struct Bench {
    options: Options,
    tools: OnceCell<Toolbox>,
    page: OnceCell<()>,
    module: OnceCell<PathBuf>,
}

/// The folder of what benchmarks make.
fn folder() -> PathBuf {
    workspace().join("target/bench")
}

/// The folder of generated inputs.
fn data() -> PathBuf {
    folder().join("data")
}

impl Bench {
    /// How large, how often, and where inputs are kept.
    fn arguments(&self, command: &mut Command, name: &str) {
        let rounds = if self.options.quick { "2" } else { "5" };
        command
            .args([
                name,
                "--spans",
                &self.options.spans.to_string(),
                "--rounds",
                rounds,
                "--data",
            ])
            .arg(data());
    }

    fn tools(&self) -> Result<&Toolbox> {
        if self.tools.get().is_none() {
            let _ = self.tools.set(Toolbox::for_page()?);
        }
        self.tools
            .get()
            .ok_or_else(|| "there are no tools".to_owned())
    }

    /// The built page.
    fn page(&self) -> Result<()> {
        if self.page.get().is_none() {
            page::build(self.tools()?)?;
            let _ = self.page.set(());
        }
        Ok(())
    }

    /// The folder of the page that has ours and its peers.
    fn module(&self) -> Result<&PathBuf> {
        if self.module.get().is_none() {
            let _ = self.module.set(module::build(self.tools()?)?);
        }
        self.module
            .get()
            .ok_or_else(|| "there is no module".to_owned())
    }

    /// What `bench/src/main.rs` measures.
    fn native(&self, name: &str) -> Result<Vec<Row>> {
        let mut command = native_program();
        self.arguments(&mut command, name);
        rows_of(&mut command)
    }

    /// What the browser measures of the module and its peers.
    fn beside_peers(&self, name: &str) -> Result<Vec<Row>> {
        let module = self.module()?.clone();
        let mut command = self.browser(name)?;
        rows_of(command.env("HERDSCOPE_PKG", module))
    }

    /// What the browser measures of the page.
    fn of_the_page(&self, name: &str) -> Result<Vec<Row>> {
        self.page()?;
        rows_of(&mut self.browser(name)?)
    }

    fn browser(&self, name: &str) -> Result<Command> {
        Brand::Chromium.ensure()?;
        // All clocks are the browser's: who drives it need not be quick.
        let mut command = cargo();
        let package = [
            "--package",
            "herdscope-browser-tests",
            "--bin",
            "bench",
            "--",
        ];
        command.args(["run", "--quiet"]).args(package);
        self.arguments(&mut command, name);
        Ok(command)
    }
}

/// `bench/src/main.rs`, to be given what it is to do.
fn native_program() -> Command {
    let mut command = cargo();
    let package = ["--package", "herdscope-bench", "--"];
    command.args(["run", "--quiet", "--release"]).args(package);
    command
}

/// Runs a program that prints rows.
fn rows_of(command: &mut Command) -> Result<Vec<Row>> {
    let cannot = |error: std::io::Error| format!("cannot measure: {error}");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(cannot)?;
    let mut rows = Vec::new();
    let lines = child
        .stdout
        .take()
        .map(BufReader::new)
        .into_iter()
        .flat_map(BufRead::lines);
    for line in lines {
        let line = line.map_err(cannot)?;
        match serde_json::from_str(&line) {
            Ok(row) => rows.push(row),
            Err(_) => eprintln!("{line}"),
        }
    }
    let status = child.wait().map_err(cannot)?;
    if !status.success() {
        let why =
            format!("the program that measures this ended before its end ({status}): see above");
        // What it measured before is as good as ever.
        rows.push(Row::of("the rest", &[]).noting(why));
    }
    Ok(rows)
}

fn weight(bench: &Bench) -> Result<Vec<Row>> {
    bench.page()?;
    let bytes = size::total(&page::folder())? as f64;
    let row = Row::of("code and styles, kB gzip", &[bytes / 1e3]);
    Ok(vec![row.aim(Target::AtMost(size::LIMIT as f64 / 1e3))])
}

fn simulator() -> Result<Vec<Row>> {
    let example = ["--package", "herdscope-sim", "--example", "pace"];
    rows_of(cargo().args(["run", "--release", "--quiet"]).args(example))
}

fn breaker(_: &Bench) -> Result<Vec<Row>> {
    let manifest = workspace().join("halfopen/bench/Cargo.toml");
    let mut bench = cargo();
    bench
        .args(["run", "--release", "--quiet", "--manifest-path"])
        .arg(manifest);
    let absent = match python::with("nopanic", "0.3.0", &[]) {
        Ok(python) => {
            bench.env("HALFOPEN_PYTHON", python);
            None
        }
        Err(error) => Some(Row::without("32 threads", "nopanic", error)),
    };
    let mut rows = rows_of(&mut bench)?;
    rows.extend(absent);
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_what_they_look_like() {
        let parse = |text: &str| {
            let words: Vec<&str> = text.split(' ').filter(|it| !it.is_empty()).collect();
            Options::parse(&words)
        };
        let plain = parse("").expect("all of them");
        assert_eq!(
            (plain.spans, plain.quick, &plain.json),
            (SPANS, false, &Json::No)
        );
        assert_eq!(parse("--quick").expect("quick").spans, QUICK_SPANS);
        assert_eq!(parse("--quick --spans 1_000").expect("small").spans, 1000);
        assert_eq!(
            parse("--json reading").expect("printed").json,
            Json::Printed
        );
        let both = parse("--json out.json reading frames").expect("into a file");
        assert_eq!(both.json, Json::Into("out.json".into()));
        assert_eq!(both.names, ["reading", "frames"]);
        let asked = both.asked(Path::new("/somewhere/benchmarks.md"));
        assert_eq!(
            asked,
            " reading frames --spans 10000000 --into docs/benchmarks.md"
        );
        assert!(parse("riding").is_err_and(|it| it.contains("`riding`") && it.contains("reading")));
        assert!(parse("--spans many").is_err());
    }

    #[test]
    fn a_quick_run_leaves_out_what_is_long_unless_it_is_named() {
        let wanted = |args: &[&str]| -> Vec<&str> {
            let options = Options::parse(args).expect("options");
            BENCHMARKS
                .iter()
                .filter(|it| options.wants(it))
                .map(|it| it.name)
                .collect()
        };
        assert_eq!(wanted(&[]).len(), BENCHMARKS.len());
        assert!(!wanted(&["--quick"]).contains(&"huge"));
        assert_eq!(wanted(&["huge", "--quick"]), ["huge"]);
    }
}
