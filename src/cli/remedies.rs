//! `herdscope remedies`: as it was, and each remedy, over many seeds.
//!
//! Owns the threads, the progress and the end by Ctrl-C; what the remedies are is the simulator's. The runs go seed
//! by seed, so that whenever they end, all remedies have seen the same seeds.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::{process, thread};

use clap::Args;
use herdscope_sim::{Figures, Remedy, Scenario, Summary, Tally, Variant, fingerprint, variants};
use serde_json::{Value, json};

use super::{Failure, input, ns, print, print_json, runs, simulate};

#[derive(Debug, Args)]
pub struct Options {
    /// A scenario: a TOML file, as in scenarios/; - reads standard input.
    scenario: PathBuf,
    /// How many runs of each, with the seeds from 1 on.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: u32,
    /// Only these, separated by commas; several at once are joined by +, as in
    /// as_it_was,ramp_2m+shed.
    #[arg(long, value_name = "NAMES")]
    only: Option<String>,
    /// Writes the table into a Markdown file, between the two lines that begin and end it there.
    #[arg(long, value_name = "FILE.md")]
    into: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// What begins and ends the table in a Markdown file.
const BEGIN: &str = "<!-- herdscope remedies -->";
const END: &str = "<!-- end -->";

pub fn run(options: &Options) -> Result<(), Failure> {
    let scenario = simulate::read(&options.scenario)?;
    let fail = |why: String| Failure::Input(format!("{}: {why}", input::name(&options.scenario)));
    let variants = match &options.only {
        Some(names) => only(&scenario, names)?,
        None => variants(&scenario).map_err(|error| fail(error.to_string()))?,
    };
    for variant in &variants {
        runs::can_be_kept(&variant.scenario).map_err(fail)?;
    }
    let document = options.into.as_deref().map(Document::read).transpose()?;
    let measured = measure(&variants, options.runs).map_err(fail)?;
    if measured.runs == 0 {
        let why = "ended by hand before each remedy had had a run";
        return Err(Failure::Input(why.to_owned()));
    }
    // A table of fewer runs than were asked for takes no other one's place.
    let whole = document.filter(|_| measured.runs == options.runs);
    let written = whole.map(|it| it.write(&markdown(options, &variants, &measured)));
    match options.json {
        true => print_json(&as_json(&variants, &measured)),
        false => print(&as_text(&scenario, options.runs, &variants, &measured)),
    }?;
    written.unwrap_or(Ok(()))
}

/// The variants of these names.
fn only(scenario: &Scenario, names: &str) -> Result<Vec<Variant>, Failure> {
    let variant = |names: &str| {
        let remedies = names.split('+').map(|name| {
            Remedy::of_name(name.trim()).ok_or_else(|| {
                let known: Vec<&str> = Remedy::all().map(Remedy::name).collect();
                let known = known.join(", ");
                Failure::Usage(format!(
                    "--only: got \u{201c}{name}\u{201d}, expected some of {known}, joined by + or separated by commas"
                ))
            })
        });
        let remedies: Vec<Remedy> = remedies.collect::<Result<_, _>>()?;
        let again = |(at, it)| remedies[..at].contains(it) || *it == Remedy::AsItWas;
        if remedies.len() > 1 && remedies.iter().enumerate().any(again) {
            return Err(Failure::Usage(format!(
                "--only: got \u{201c}{names}\u{201d}, expected different remedies joined by +, as_it_was alone"
            )));
        }
        Variant::new(scenario, &remedies)
            .map_err(|error| Failure::Usage(format!("--only {names}: {error}")))
    };
    let mut variants: Vec<Variant> = Vec::new();
    for names in names.split(',') {
        let variant = variant(names)?;
        if variants.iter().any(|it| it.name == variant.name) {
            return Err(Failure::Usage(format!(
                "--only: got {} twice, expected each once",
                variant.name
            )));
        }
        variants.push(variant);
    }
    Ok(variants)
}

/// What came of so many runs of each variant.
struct Measured {
    runs: u32,
    figures: Vec<Figures>,
    /// What the runs with the first seed come to.
    seal: u64,
    /// The variant that is the same as this one, and stands before it.
    same_as: Vec<Option<usize>>,
}

/// Runs all of them with the seeds from 1 on, on all processors. Ctrl-C ends it with the seeds that all have had.
fn measure(variants: &[Variant], runs: u32) -> Result<Measured, String> {
    let same_as = |at: usize| {
        let scenario = &variants[at].scenario;
        variants[..at]
            .iter()
            .position(|it| it.scenario == *scenario)
    };
    let same_as: Vec<Option<usize>> = (0..variants.len()).map(same_as).collect();
    let different: Vec<usize> = (0..variants.len())
        .filter(|&it| same_as[it].is_none())
        .collect();
    let jobs = different.len() * runs as usize;
    let stopped = stopped_by_hand();
    let next = AtomicUsize::new(0);
    let work = |done: Sender<(usize, Result<Summary, String>)>| {
        while !stopped.load(Ordering::Relaxed) {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= jobs {
                return;
            }
            let variant = &variants[different[job % different.len()]];
            let seed = (job / different.len()) as u64 + 1;
            let goes_on = || !stopped.load(Ordering::Relaxed);
            let Some(summary) = run_while(variant, seed, goes_on).transpose() else {
                return;
            };
            if done.send((job, summary)).is_err() {
                return;
            }
        }
    };
    let mut summaries: Vec<Option<Summary>> = vec![None; jobs];
    thread::scope(|scope| {
        let (done, results) = mpsc::channel();
        for _ in 0..threads(variants) {
            let done = done.clone();
            scope.spawn(|| work(done));
        }
        drop(done);
        for (nth, (job, summary)) in results.into_iter().enumerate() {
            // The others need not be awaited where one cannot be run.
            summaries[job] = Some(summary.inspect_err(|_| stopped.store(true, Ordering::Relaxed))?);
            show_progress(nth + 1, jobs);
        }
        Ok::<(), String>(())
    })?;
    let firsts = (0..variants.len()).filter_map(|at| {
        let at = different
            .iter()
            .position(|&it| it == same_as[at].unwrap_or(at));
        summaries[at?].as_ref()
    });
    let names = variants.iter().map(|it| it.name.as_str());
    let seal = fingerprint(names.zip(firsts));
    let whole = summaries.iter().take_while(|it| it.is_some()).count() / different.len();
    let mut tallies = vec![Tally::default(); variants.len()];
    for (job, summary) in summaries
        .into_iter()
        .take(whole * different.len())
        .enumerate()
    {
        summary
            .into_iter()
            .for_each(|it| tallies[different[job % different.len()]].add(it));
    }
    let figures = |at: usize| tallies[same_as[at].unwrap_or(at)].figures();
    Ok(Measured {
        runs: whole as u32,
        figures: (0..variants.len()).filter_map(figures).collect(),
        seal,
        same_as,
    })
}

/// As many runs at once as there are processors, and memory for.
fn threads(variants: &[Variant]) -> usize {
    let expected = variants.iter().map(|it| runs::expected(&it.scenario));
    let largest = 2.0 * expected.fold(1.0, f64::max);
    let held = (runs::MOST_KEPT as f64 / largest) as usize;
    let processors = thread::available_parallelism().map_or(1, Into::into);
    processors.min(held).max(1)
}

/// What came of a run, unless it is not to go on any more.
fn run_while(
    variant: &Variant,
    seed: u64,
    goes_on: impl Fn() -> bool,
) -> Result<Option<Summary>, String> {
    let run = variant.start(seed).map_err(|error| error.to_string());
    let ended = runs::to_end(run?, &variant.scenario, runs::MOST_KEPT, goes_on);
    let run = ended.map_err(|why| format!("with {}, {why}", variant.name))?;
    Ok(run.map(|it| it.summary))
}

/// Becomes true with the first Ctrl-C; the second one ends the process.
fn stopped_by_hand() -> Arc<AtomicBool> {
    let stopped = Arc::new(AtomicBool::new(false));
    let by_hand = stopped.clone();
    // Where there can be no handler, Ctrl-C ends the process at once, as it does everywhere else.
    let _ = ctrlc::set_handler(move || {
        if by_hand.swap(true, Ordering::Relaxed) {
            process::exit(130);
        }
    });
    stopped
}

/// On a terminal, how much is done.
fn show_progress(done: usize, of: usize) {
    let mut out = io::stderr();
    if out.is_terminal() {
        let end = if done == of { "\r\x1b[K" } else { "" };
        let share = 100 * done / of;
        // A terminal that has gone needs no progress.
        let _ = write!(
            out,
            "\r{share:3} % of {of} runs; Ctrl-C ends with what is there{end}"
        );
        let _ = out.flush();
    }
}

fn as_json(variants: &[Variant], measured: &Measured) -> Value {
    let rows = variants
        .iter()
        .zip(&measured.figures)
        .zip(&measured.same_as);
    let row = |((variant, it), same): ((&Variant, &Figures), &Option<usize>)| {
        json!({
            "name": variant.name,
            "same_as": same.map(|it| &variants[it].name),
            "recovered": it.recovered,
            "interval": it.interval,
            "recover_s": { "median": recovery(it, 0), "p90": recovery(it, 1) },
            "requests": it.requests,
            "served": it.served,
            "withheld": it.withheld,
            "failed": it.failed,
            "shed": it.shed,
            "wasted": it.wasted,
            "wasted_ns": ns(it.wasted_ns),
            "pod_minutes": it.pod_ns as f64 / MINUTE,
            "idle_share": it.idle_ppm as f64 / 1e6,
        })
    };
    json!({ "runs": measured.runs, "remedies": rows.map(row).collect::<Vec<_>>() })
}

const SECOND: f64 = 1e9;
const MINUTE: f64 = 60.0 * SECOND;

/// The median or the 90th percentile of the times to recover, seconds.
fn recovery(it: &Figures, at: usize) -> Option<f64> {
    it.recovery_ns.map(|it| it[at] as f64 / SECOND)
}

/// The columns of the table.
const COLUMNS: [&str; 11] = [
    "remedy",
    "recovered",
    "95 %",
    "median",
    "p90",
    "served",
    "withheld",
    "failed",
    "wasted",
    "pod min",
    "idle",
];

/// The rows of the table, as text.
fn rows(variants: &[Variant], measured: &Measured) -> Vec<[String; 11]> {
    let rows = variants.iter().zip(&measured.figures);
    let row = |(variant, it): (&Variant, &Figures)| {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let share = |n: u64| format!("{:.1} %", 100.0 * n as f64 / it.requests.max(1) as f64);
        let seconds =
            |at: usize| recovery(it, at).map_or_else(|| "-".to_owned(), |it| format!("{it:.0} s"));
        let [low, high] = it.interval;
        [
            variant.name.clone(),
            percent(it.recovered),
            format!("{:.0}..{:.0} %", 100.0 * low, 100.0 * high),
            seconds(0),
            seconds(1),
            share(it.served),
            share(it.withheld),
            share(it.failed + it.shed),
            format!("{:.0} s", it.wasted_ns as f64 / SECOND),
            format!("{:.0}", it.pod_ns as f64 / MINUTE),
            percent(it.idle_ppm as f64 / 1e6),
        ]
    };
    rows.map(row).collect()
}

fn as_text(scenario: &Scenario, asked: u32, variants: &[Variant], measured: &Measured) -> String {
    let rows = rows(variants, measured);
    let widest = rows.iter().map(|it| it[0].len()).max().unwrap_or(0);
    let mut text = format!("{}, {} runs of each", scenario.name, measured.runs);
    if measured.runs < asked {
        text += &format!(" (ended by hand, {asked} were asked for)");
    }
    text += ", ten minutes or until a minute after recovery\n\n";
    for row in [COLUMNS.map(str::to_owned)].iter().chain(&rows) {
        let [name, cells @ ..] = row;
        let cells: String = cells.iter().map(|it| format!("{it:>11}")).collect();
        text += &format!("  {name:<widest$}{cells}\n");
    }
    let same = measured.same_as.iter().zip(variants);
    for (same, variant) in same.filter_map(|(same, it)| same.map(|same| (same, it))) {
        let other = &variants[same].name;
        text += &format!("\n{} changes nothing here: it is {other}.", variant.name);
    }
    text + EXPLAINED
}

/// What the columns mean.
const EXPLAINED: &str = "
recovered: the share of the runs that recovered, and where its probability is; median, p90: how long those
took that did. The rest are medians of all runs: served; withheld by callers; failed or refused; workers held for
callers that had given up; pods times minutes; and how much of the workers' time was not needed.
";

/// A Markdown file with a place for the table.
struct Document {
    path: PathBuf,
    before: String,
    after: String,
    /// How its lines end.
    newline: &'static str,
}

impl Document {
    fn read(path: &Path) -> Result<Document, Failure> {
        let fail = |why: String| Failure::Input(format!("{}: {why}", input::name(path)));
        // That it may not be written is said before hours of runs.
        let opened = fs::OpenOptions::new().append(true).open(path);
        opened.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => fail(input::unopened(&error)),
            _ => fail(format!("the table cannot be written: {error}")),
        })?;
        let text = fs::read_to_string(path).map_err(|error| fail(input::unopened(&error)))?;
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let parts = text.split_once(BEGIN).and_then(|(before, rest)| {
            let (_, after) = rest.split_once(END)?;
            Some((before.to_owned(), after.to_owned()))
        });
        let (before, after) = parts.ok_or_else(|| {
            fail(format!(
                "got no place for the table, expected the lines {BEGIN} and {END}"
            ))
        })?;
        Ok(Document {
            path: path.to_owned(),
            before,
            after,
            newline,
        })
    }

    fn write(self, table: &str) -> Result<(), Failure> {
        let Document {
            path,
            before,
            after,
            newline,
        } = self;
        let table = format!("\n{table}").replace('\n', newline);
        let text = format!("{before}{BEGIN}{table}{END}{after}");
        fs::write(&path, text).map_err(|error| {
            let why = format!("the table cannot be written: {error}");
            Failure::Input(format!("{}: {why}", input::name(&path)))
        })
    }
}

/// The table in Markdown, and what its first run comes to, by which a test finds out that it is stale.
fn markdown(options: &Options, variants: &[Variant], measured: &Measured) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = format!(
        "`herdscope remedies {} --runs {}`, the first run comes to `{:016x}`:\n\n",
        options.scenario.display(),
        measured.runs,
        measured.seal
    );
    text += &line(&COLUMNS.map(str::to_owned));
    text += &line(&COLUMNS.map(|it| if it == COLUMNS[0] { "---" } else { "--:" }.to_owned()));
    for row in rows(variants, measured) {
        text += &line(&row);
    }
    text
}
