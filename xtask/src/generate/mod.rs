//! Spans that are made up, as many as wanted, in the words of any exporter: `cargo xtask generate`.
//!
//! Owns what happens in them: a shop calls a catalogue through a proxy; every few minutes the catalogue is overloaded, the
//! shop's breakers open, close and are trampled by the herd that waited. Invariants: a seed gives the same bytes
//! everywhere; memory is constant, whatever the number of spans; parents and children are in the file, in no order.
//! What an exporter makes of a span is a table of `dialects`. Pinned by `tests/it/generated.rs`, which reads every
//! dialect back.

pub mod dialects;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub use self::dialects::{DIALECTS, Dialect, dialect};

use crate::Result;

/// 26 September 2026, 08:00 UTC, in nanoseconds since 1970.
const BEGIN: i64 = 1_790_409_600_000_000_000;
const MS: u64 = 1_000_000;
/// What the shop's clients wait for at most.
const TIMEOUT: u64 = 500 * MS;
/// How many spans wait to be written: rows of a file are in the order of traces as little as exports are.
const SHUFFLED: usize = 4096;

/// Which side of a call recorded a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Who called.
    Client,
    /// Who answered.
    Server,
}

/// How a span ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Well.
    Good,
    /// With an answer that says so.
    Failed,
    /// Without an answer.
    TimedOut,
    /// With an answer that nobody waited for.
    Abandoned,
}

/// A span, before anybody has exported it.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Its trace's id.
    pub trace: [u64; 2],
    /// Its own.
    pub id: u64,
    /// Its parent's; 0 for none.
    pub parent: u64,
    /// Who recorded it.
    pub service: &'static str,
    /// Which of the service's pods.
    pub pod: u8,
    /// What it is about.
    pub operation: &'static str,
    /// Which side.
    pub kind: Kind,
    /// Whom it calls, of a client.
    pub peer: &'static str,
    /// Nanoseconds since 1970.
    pub start: i64,
    /// Nanoseconds.
    pub duration: u64,
    /// How it ended.
    pub ending: Ending,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows.
    pub spans: u64,
    /// Traces.
    pub traces: u64,
    /// Calls that timed out.
    pub timeouts: u64,
    /// Other spans that failed.
    pub failures: u64,
}

/// Writes so many spans as an exporter does.
pub fn write(dialect: &Dialect, spans: u64, seed: u64, out: &mut impl Write) -> io::Result<Counts> {
    let mut counts = Counts::default();
    let mut shop = Shop::new(seed);
    let mut waiting: Vec<Span> = Vec::with_capacity(SHUFFLED);
    let mut row = dialect.header();
    while counts.spans < spans {
        counts.traces += 1;
        let left = (spans - counts.spans).min(5) as usize;
        // Callers come before those they call: what is cut off leaves no orphans.
        for span in shop.trace().into_iter().flatten().take(left) {
            counts.spans += 1;
            counts.timeouts += u64::from(span.ending == Ending::TimedOut);
            counts.failures += u64::from(span.ending == Ending::Failed);
            if waiting.len() < SHUFFLED {
                waiting.push(span);
                continue;
            }
            let at = shop.chance.below(SHUFFLED as u64) as usize;
            let other = std::mem::replace(&mut waiting[at], span);
            dialect.row(&other, &mut row);
            if row.len() > 64 * 1024 {
                out.write_all(&row)?;
                row.clear();
            }
        }
    }
    for span in &waiting {
        dialect.row(span, &mut row);
    }
    out.write_all(&row)?;
    Ok(counts)
}

/// Writes them into a file.
pub fn file(path: &Path, dialect: &Dialect, spans: u64, seed: u64) -> Result<Counts> {
    let cannot = |error: io::Error| format!("cannot write {}: {error}", path.display());
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).map_err(cannot)?);
    write(dialect, spans, seed, &mut out)
        .and_then(|counts| out.flush().map(|()| counts))
        .map_err(cannot)
}

/// `cargo xtask generate` with these arguments.
pub fn generate(args: &[&str]) -> Result<()> {
    let (mut spans, mut seed, mut name, mut into) = (None, 1, "herd", None);
    let number = |name: &str, text: &str| {
        text.replace('_', "")
            .parse::<u64>()
            .map_err(|_| format!("{name} wants a whole number, not `{text}`"))
    };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let value = words
            .next()
            .ok_or_else(|| format!("nothing comes after {word}; see `cargo xtask help`"))?;
        match *word {
            "--spans" => spans = Some(number(word, value)?),
            "--seed" => seed = number(word, value)?,
            "--dialect" => name = value,
            "--into" => into = Some(PathBuf::from(value)),
            _ => return Err(format!("generate knows no {word}; see `cargo xtask help`")),
        }
    }
    let spans = spans.ok_or("how many? `cargo xtask generate --spans N`")?;
    let dialect = dialect(name).ok_or_else(|| {
        let names: Vec<&str> = DIALECTS.iter().map(|it| it.name).collect();
        format!(
            "no dialect is called `{name}`; there are {}",
            names.join(", ")
        )
    })?;
    let counts = match into {
        Some(path) => file(&path, dialect, spans, seed)?,
        None => {
            let mut out = io::stdout().lock();
            match write(dialect, spans, seed, &mut out).and_then(|it| out.flush().map(|()| it)) {
                // Who reads has seen enough.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                counts => counts.map_err(|error| format!("cannot write: {error}"))?,
            }
        }
    };
    crate::run::say(format!(
        "{} spans of {} traces, {} of them timed out",
        counts.spans, counts.traces, counts.timeouts
    ));
    Ok(())
}

/// Chance, by a seed: SplitMix64.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        it ^ (it >> 31)
    }

    /// From 0 up to `end`, exclusive.
    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// An id, which is never 0.
    fn id(&mut self) -> u64 {
        self.next().max(1)
    }
}

/// What goes on up to a second of the cycle: calls a second, and how many of a hundred time out.
struct Phase {
    until: u64,
    rate: u64,
    timed_out: u64,
}

const fn phase(until: u64, rate: u64, timed_out: u64) -> Phase {
    Phase {
        until,
        rate,
        timed_out,
    }
}

/// Steady, overloaded, open, trampled by the herd, open again. With the usual settings, a replayed breaker is closed
/// for most of it.
const CYCLE: [Phase; 5] = [
    phase(155, 300, 0),
    phase(158, 300, 90),
    phase(168, 10, 2),
    phase(171, 1200, 95),
    phase(SECONDS, 10, 2),
];
const SECONDS: u64 = 180;

/// Files begin here in it, so that small ones have a herd, too.
const FIRST_SECOND: u64 = 151;

/// What the catalogue asks in some of its calls.
const BELOW: [(&str, &str); 3] = [
    ("stock", "GET /stock"),
    ("prices", "GET /prices"),
    ("reviews", "GET /reviews"),
];

/// Who lives through it, trace after trace.
struct Shop {
    chance: Chance,
    now: i64,
}

impl Shop {
    fn new(seed: u64) -> Shop {
        Shop {
            chance: Chance(seed),
            now: BEGIN,
        }
    }

    /// The next trace, callers before those they call.
    fn trace(&mut self) -> [Option<Span>; 5] {
        let second = (FIRST_SECOND + self.now.abs_diff(BEGIN) / (1_000 * MS)) % SECONDS;
        let phase = CYCLE
            .iter()
            .find(|it| second < it.until)
            .unwrap_or(&CYCLE[0]);
        let chance = &mut self.chance;
        // Between none and twice the mean.
        self.now += chance.below(2_000 * MS / phase.rate) as i64;
        let timed_out = chance.below(100) < phase.timed_out;
        let failed = !timed_out && chance.one_in(100);
        let work = match timed_out {
            true => TIMEOUT + 20 * MS + chance.below(1_300 * MS),
            false if chance.one_in(20) => 60 * MS + chance.below(200 * MS),
            false => 6 * MS + chance.below(20 * MS),
        };
        let (way, more) = (300_000 + chance.below(400_000), chance.below(200_000));
        let ending = match (timed_out, failed) {
            (true, _) => Ending::Abandoned,
            (_, true) => Ending::Failed,
            _ => Ending::Good,
        };
        let client = Span {
            trace: [chance.id(), chance.next()],
            id: chance.id(),
            parent: 0,
            service: "shop-web",
            pod: chance.below(4) as u8,
            operation: "GET /catalog/items",
            kind: Kind::Client,
            peer: "edge-proxy",
            start: self.now,
            duration: match timed_out {
                true => TIMEOUT + chance.below(MS),
                false => work + 2 * way + 2 * more,
            },
            ending: if timed_out { Ending::TimedOut } else { ending },
        };
        let proxy = Span {
            id: chance.id(),
            parent: client.id,
            service: "edge-proxy",
            pod: chance.below(2) as u8,
            operation: "proxy catalog",
            kind: Kind::Server,
            peer: "",
            start: client.start + way as i64,
            duration: work + 2 * more,
            ending,
            ..client
        };
        let catalog = Span {
            id: chance.id(),
            parent: proxy.id,
            service: "catalog",
            pod: chance.below(6) as u8,
            operation: "GET /items",
            start: proxy.start + more as i64,
            duration: work,
            ending: if timed_out { Ending::Good } else { ending },
            ..proxy
        };
        let mut trace = [Some(client), Some(proxy), Some(catalog), None, None];
        if chance.one_in(4) {
            let (service, operation) = BELOW[chance.below(3) as usize];
            let asks = Span {
                id: chance.id(),
                parent: catalog.id,
                operation,
                kind: Kind::Client,
                peer: service,
                start: catalog.start + MS as i64,
                duration: work / 2,
                ending: Ending::Good,
                ..catalog
            };
            let answers = Span {
                id: chance.id(),
                parent: asks.id,
                service,
                pod: chance.below(2) as u8,
                kind: Kind::Server,
                peer: "",
                start: asks.start + 200_000,
                duration: work / 2 - 400_000,
                ..asks
            };
            trace[3] = Some(asks);
            trace[4] = Some(answers);
        }
        trace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(dialect: &str, spans: u64, seed: u64) -> (Vec<u8>, Counts) {
        let dialect = super::dialect(dialect).expect("a dialect");
        let mut out = Vec::new();
        let counts = write(dialect, spans, seed, &mut out).expect("a vector takes everything");
        (out, counts)
    }

    #[test]
    fn a_seed_gives_the_same_bytes_and_another_seed_others() {
        let (first, counts) = written("herd", 20_000, 7);
        assert_eq!(first, written("herd", 20_000, 7).0);
        assert_ne!(first, written("herd", 20_000, 8).0);
        assert_eq!(counts.spans, 20_000);
        assert!(counts.timeouts > 500, "{counts:?}");
        assert!(counts.failures > 10, "{counts:?}");
        let lines = first.split(|&it| it == b'\n').count();
        assert_eq!(lines, 20_000 + 2);
    }

    #[test]
    fn every_row_has_the_cells_of_its_header() {
        for dialect in DIALECTS {
            let (bytes, _) = written(dialect.name, 500, 1);
            let text = String::from_utf8(bytes).expect("text");
            for line in text.lines() {
                let mut quoted = false;
                let commas = line.bytes().filter(|&it| {
                    quoted ^= it == b'"';
                    it == b',' && !quoted
                });
                assert_eq!(
                    commas.count() + 1,
                    dialect.columns.len(),
                    "{}: {line}",
                    dialect.name
                );
            }
        }
    }
}
