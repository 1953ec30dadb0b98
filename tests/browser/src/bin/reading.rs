//! How quick files are read in the browser, beside what a person would use instead: `cargo xtask bench reading`.
//!
//! All contenders read the same bytes, from memory, on the page's thread, in turns: ours to an indexed table and to
//! rows, the crate `csv` alone in the same module, and three readers in JavaScript to rows of texts with the duration
//! as a column of numbers. Ratios are within a round, since machines differ and are noisy; the median of the rounds
//! counts, with the lowest and the highest beside it. It never fails because something is slow.

use std::process::ExitCode;

use herdscope_browser_tests::files;
use herdscope_browser_tests::{Browser, Page, Result, Site};
use serde_json::{Value, json};

const HELP: &str = "\
Usage: reading [--rounds N] [--times N] [--json]

  --rounds N   rounds of all contenders (7)
  --times N    the recorded herd so many times (3)
  --json       rows of {what, ours, peer, ratio, target, met}
";

/// The contenders: a name, and the expression that reads `bytes` and gives how many rows there were.
const CONTENDERS: [(&str, &str); 6] = [
    ("ours", "ours.table(bytes)"),
    ("ours, rows without order", "ours.rows(bytes)"),
    ("csv", "ours.records(bytes)"),
    (
        "PapaParse",
        "numbers(Papa.parse(text(bytes), { skipEmptyLines: true }).data, 1)",
    ),
    (
        "uDSV",
        "(() => { const it = text(bytes); \
          return numbers(uDSV.initParser(uDSV.inferSchema(it)).stringArrs(it), 0); })()",
    ),
    ("d3-dsv", "numbers(d3.csvParseRows(text(bytes)), 1)"),
];

/// What ours is held against, and how many times its speed is aimed at.
const AIMS: [(&str, Option<f64>); 4] = [
    ("csv", Some(0.5)),
    ("PapaParse", Some(4.0)),
    ("uDSV", None),
    ("d3-dsv", None),
];

/// The page: scripts of the peers, then our module, and what turns rows of texts into a column of numbers.
const INDEX: &str = "<!doctype html><meta charset=utf-8><title>reading</title><link rel=icon href=data:,>\
    <script src=papaparse.js></script><script src=udsv.js></script><script src=d3-dsv.js></script>\
    <script type=module>import init, * as ours from './bench.js'; await init(); window.ours = ours; \
    window.text = (bytes) => new TextDecoder().decode(bytes); \
    window.numbers = (rows, from) => { const column = new Float64Array(rows.length - from); \
      for (let at = from; at < rows.length; at++) column[at - from] = rows[at][window.duration]; \
      return column.length; }; \
    document.documentElement.dataset.state = 'idle';</script>";

/// One round: the milliseconds and the rows of each contender, in turn.
const ROUND: &str = "\
    const bytes = window.bytes, run = arguments[0].map((it) => new Function('bytes', 'return ' + it)); \
    return run.map((it) => { const begun = performance.now(), rows = it(bytes); \
      return [performance.now() - begun, rows]; })";

/// Fetches a file whole; its bytes.
const FETCH: &str = "\
    const [path, duration] = arguments; window.duration = duration; \
    return fetch(path).then((it) => it.arrayBuffer()) \
      .then((it) => { window.bytes = new Uint8Array(it); return it.byteLength; })";

struct Options {
    rounds: usize,
    times: u8,
    json: bool,
}

fn main() -> ExitCode {
    match options(std::env::args().skip(1)).and_then(|it| measure(&it)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("reading: {error}");
            ExitCode::FAILURE
        }
    }
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options {
        rounds: 7,
        times: 3,
        json: false,
    };
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|it| it.parse::<u8>().ok());
        match word.as_str() {
            "--json" => options.json = true,
            "--rounds" => match number() {
                Some(n) if n > 0 => options.rounds = n.into(),
                _ => return Err(HELP.into()),
            },
            "--times" => match number() {
                Some(n @ 1..=15) => options.times = n,
                _ => return Err(HELP.into()),
            },
            _ => return Err(HELP.into()),
        }
    }
    Ok(options)
}

fn measure(options: &Options) -> Result<()> {
    let folder =
        std::env::var_os("HERDSCOPE_PKG").ok_or("run it by `cargo xtask bench reading`")?;
    let folder = std::path::PathBuf::from(folder);
    let herd = files::repeated(options.times)?;
    let nezha = files::as_nezha(&herd)?;
    let files = [("herd.csv", &herd), ("nezha.csv", &nezha)];
    let write = |name: &str, content: &str| {
        std::fs::write(folder.join(name), content).map_err(|error| error.to_string())
    };
    write("index.html", INDEX)?;
    let site = Site::of(&folder)?;
    let browser = Browser::start()?;
    let mut rows = Vec::new();
    for (file, content) in files {
        write(file, content)?;
        let header = content.lines().next().unwrap_or_default();
        let duration = header.split(',').position(|it| it == "Duration");
        let page = Page::new(&browser, Some(&site));
        page.open("/")?;
        page.wait_for("document.documentElement.dataset.state == 'idle'")?;
        let bytes = page.run(FETCH, vec![json!(file), json!(duration)])?;
        let bytes = bytes.as_f64().ok_or("no bytes came")?;
        let expressions: Vec<&str> = CONTENDERS.iter().map(|it| it.1).collect();
        // The first round warms up.
        let mut rounds = Vec::new();
        for round in 0..=options.rounds {
            let took = page.run(ROUND, vec![json!(expressions)])?;
            let took: Vec<f64> = CONTENDERS
                .iter()
                .enumerate()
                .map(|(at, _)| took[at][0].as_f64().unwrap_or(f64::NAN))
                .collect();
            if round > 0 {
                rounds.push(took);
            }
        }
        rows.extend(report(file, bytes, &rounds, options.json));
    }
    if options.json {
        println!("{}", Value::from(rows));
    }
    Ok(())
}

/// Prints the speeds of one file; the rows of its ratios.
fn report(file: &str, bytes: f64, rounds: &[Vec<f64>], json: bool) -> Vec<Value> {
    if !json {
        println!("\n{file}: {:.1} MB", bytes / 1e6);
        for (at, (name, _)) in CONTENDERS.iter().enumerate() {
            let (low, median, high) = spread(rounds.iter().map(|it| bytes / it[at] / 1e3));
            println!("  {name:<26} {median:6.0} MB/s  ({low:.0} to {high:.0})");
        }
    }
    let place = |name: &str| CONTENDERS.iter().position(|it| it.0 == name).unwrap_or(0);
    let mut rows = Vec::new();
    for (peer, aim) in AIMS {
        let at = place(peer);
        let (low, ratio, high) = spread(rounds.iter().map(|it| it[at] / it[0]));
        let met = aim.map(|aim| ratio >= aim);
        if !json {
            let aim = aim.map_or(String::new(), |aim| format!(", {aim} is the aim"));
            println!("  {ratio:.2} times the speed of {peer} ({low:.2} to {high:.2}){aim}");
        }
        let speed = |at: usize| spread(rounds.iter().map(|it| bytes / it[at] / 1e3)).1;
        rows.push(json!({
            "what": format!("reading {file}, MB/s"), "ours": speed(0), "peer": speed(at), "of": peer,
            "ratio": ratio, "spread": [low, high], "target": aim, "met": met,
        }));
    }
    rows
}

/// Lowest, median, highest.
fn spread(values: impl Iterator<Item = f64>) -> (f64, f64, f64) {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
    (
        at(0),
        at(values.len() / 2),
        at(values.len().saturating_sub(1)),
    )
}
