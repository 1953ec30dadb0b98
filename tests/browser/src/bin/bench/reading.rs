//! How quick files are read in the browser, beside what a person would use instead.
//!
//! All contenders read the same bytes, from memory, called from the page's thread, in turns: ours to an indexed table
//! and to rows, the crate `csv` alone in the same module, three readers in JavaScript to rows of texts with the duration
//! as a column of numbers, DuckDB (in its worker) to a table of typed columns.

use herdscope_browser_tests::{Brand, Browser, Page, Result};
use serde_json::{Value, json};
use xtask::bench::input::{Input, Options};
use xtask::bench::row::{Better, Row, Target};

use crate::peers;

/// Ours first.
const CONTENDERS: [&str; 7] = [
    "ours",
    "ours, rows without order",
    "csv",
    "PapaParse",
    "uDSV",
    "d3-dsv",
    "DuckDB",
];

/// How many times their speed is aimed at.
const AIMS: [(&str, f64); 2] = [("csv", 0.5), ("PapaParse", 4.0)];

/// Why an aim can be missed.
const BECAUSE: &str = "beside its cells a row costs its time, its trace's hash and its place in the order, in a page built to be small";

/// Fetches a file whole, keeps its bytes and the place of its durations.
const FETCH: &str = "\
    const [path, duration] = arguments; window.duration = duration; \
    return fetch(path).then((it) => it.arrayBuffer()) \
      .then((it) => { window.bytes = new Uint8Array(it); return it.byteLength; })";

/// A contender's turn: its milliseconds and rows, or why not.
const TURN: &str = "\
    return (async (it) => { \
      if (!it) return 'it could not be had'; \
      try { \
        await it.ready?.(bytes); \
        const begun = performance.now(), rows = await it.read(bytes); \
        return [performance.now() - begun, rows]; \
      } catch (why) { return String(why); } \
    })(readers[arguments[0]])";

pub fn measure(options: &Options) -> Result<()> {
    let site = peers::site(options)?;
    let browser = Browser::of(Brand::Chromium)?;
    for dialect in ["herd", "nezha"] {
        let input = Input::of(options, dialect, options.spans.min(150_000))?;
        let text = std::fs::read_to_string(&input.path).map_err(|error| error.to_string())?;
        let header = text.lines().next().unwrap_or_default();
        let duration = header.split(',').position(|it| it == "Duration");
        let page = peers::open(&browser, &site)?;
        page.run(
            FETCH,
            vec![json!(format!("/data/{}", input.name)), json!(duration)],
        )?;
        let mut rounds: Vec<std::result::Result<Vec<f64>, String>> =
            CONTENDERS.iter().map(|_| Ok(Vec::new())).collect();
        // The first round warms up.
        for round in 0..=options.rounds {
            for (name, rounds) in CONTENDERS.iter().zip(&mut rounds) {
                let Ok(speeds) = rounds else { continue };
                match turn(&page, name, &input) {
                    Ok(speed) if round > 0 => speeds.push(speed),
                    Ok(_) => {}
                    Err(why) => *rounds = Err(why.to_string()),
                }
            }
        }
        let ours = rounds[0].clone()?;
        let what = format!("{dialect} in the browser, MB/s");
        for (name, rounds) in CONTENDERS.iter().zip(&rounds).skip(1) {
            let row = match rounds {
                Ok(rounds) => Row::beside(&what, &ours, name, rounds, Better::More),
                Err(why) => Row::without(&what, name, why.as_str()),
            };
            let aim = AIMS.iter().find(|it| it.0 == *name);
            match aim {
                Some((_, aim)) => row.aim(Target::AtLeast(*aim)).or_because(BECAUSE).print(),
                None => row.print(),
            }
        }
    }
    Ok(())
}

/// Megabytes a second.
fn turn(page: &Page, name: &str, input: &Input) -> Result<f64> {
    let answer = page.run(TURN, vec![json!(name)])?;
    match (answer[0].as_f64(), answer[1].as_u64()) {
        (Some(ms), Some(rows)) if rows == input.spans => Ok(input.bytes as f64 / ms / 1e3),
        (_, Some(rows)) => Err(format!("it found {rows} rows of {}", input.spans).into()),
        _ => match answer {
            Value::String(why) => Err(why.into()),
            other => Err(format!("it answered {other}").into()),
        },
    }
}
