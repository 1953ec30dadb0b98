//! What the person looks at, and the link that says so.
//!
//! Owns the permalink: `v=1&src=...&t=...&y=...`, readable parameters after `#`. Invariant: a
//! printed view parses back to itself, and no text whatever stops the data from opening: what cannot
//! be read is left at its default and named in the notices. Pinned by `tests/it/view.rs`.

use serde::{Deserialize, Serialize};

use crate::clickhouse::{self, Asked};
use crate::parts;
use crate::percent::{escape, unescape};
use crate::supposed::Supposed;
use crate::what_if::KEYS;

/// The format of the links that this version writes.
pub const VERSION: u32 = 1;

/// A rectangle of the plot. Both ranges are half open and never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Viewport {
    /// Left edge, nanoseconds since 1970.
    pub t0: i64,
    /// Right edge, nanoseconds since 1970.
    pub t1: i64,
    /// Upper edge, in thousandths of a rank.
    pub y0: i64,
    /// Lower edge, in thousandths of a rank.
    pub y1: i64,
}

/// The thousandths of a rank that [`Viewport`] counts in.
pub const MILLI: i64 = 1000;

/// Where the data of a view comes from. In messages it is its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Source {
    /// A sample that is hosted with the page.
    Sample(String),
    /// A file at an https address, or at one of this machine.
    Url(String),
    /// A file on the person's disk, told again by its fingerprint.
    File(FileMark),
    /// What a ClickHouse was asked for.
    ClickHouse(Box<Asked>),
}

/// One file of a view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// `src`; `None` where a link cannot say it, for pasted text.
    pub source: Option<Source>,
    /// `as`, what the person says about it: text as [`Told`](crate::ingest::Told) reads it.
    pub told: Option<String>,
}

/// What tells a local file again without holding it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMark {
    /// The file's name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// [`fingerprint`] of the file.
    pub hash: u64,
}

/// What spans are coloured by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColorBy {
    /// The depth of their service in the call chain.
    #[default]
    Tier,
    /// Their service.
    Service,
}

/// The panes at the right of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pane {
    /// Recovery attempts.
    #[default]
    Herds,
    /// The breaker's settings.
    Breaker,
    /// What other settings would have done to these calls.
    WhatIf,
    /// Timeouts and pools.
    Timeouts,
    /// The part in view against the rest.
    Compare,
    /// The picked trace.
    Trace,
}

/// All that a link holds. `None` and empty mean the default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// `src` and `as` of each file, one after the other: what stands after a `src` is about that file.
    pub files: Vec<FileRef>,
    /// `t=FROM..TO` and `y=FROM..TO`; without them everything is in view.
    pub viewport: Option<Viewport>,
    /// `edge=FROM->TO`, the edge whose breaker is replayed.
    pub edge: Option<(String, String)>,
    /// `breaker`, settings text as `halfopen` reads it.
    pub breaker: Option<String>,
    /// `shared=1`: one breaker for all instances.
    pub shared: bool,
    /// `lanes=1`: the states of each instance on a line of its own.
    pub lanes: bool,
    /// `color=service`
    pub color_by: ColorBy,
    /// `hide=KEY`, once for each legend entry that is switched off.
    pub hidden: Vec<String>,
    /// `trace`, the id of the picked trace.
    pub trace: Option<String>,
    /// `pane`
    pub pane: Pane,
    /// `of=observed` or `of=replayed`, whose recovery attempts are listed; without it the replayed ones where
    /// there is a `breaker`.
    pub replayed: Option<bool>,
    /// `pool`, the number of threads in the caller's pool.
    pub pool: Option<u32>,
    /// `grid=KEY,KEY`, the settings that stand against each other: places in
    /// [`KEYS`].
    pub grid: [u8; 2],
    /// `simulate`, what is simulated, as [`Supposed`] reads it.
    pub simulate: Option<String>,
    /// `filter`, the spans that are meant, as [`Filter`](crate::filter::Filter) reads them. A text that is no filter
    /// stays, so that the person can mend it.
    pub filter: Option<String>,
    /// `rest=hide` or `rest=dim`: whether the others are hidden.
    pub rest_hidden: bool,
}

/// Against each other where nobody chooses: `fail` and `open`.
pub const GRID: [u8; 2] = [2, 6];

impl Default for View {
    fn default() -> View {
        View {
            files: Vec::new(),
            viewport: None,
            edge: None,
            breaker: None,
            shared: false,
            lanes: false,
            color_by: ColorBy::default(),
            hidden: Vec::new(),
            trace: None,
            pane: Pane::default(),
            replayed: None,
            pool: None,
            grid: GRID,
            simulate: None,
            filter: None,
            rest_hidden: false,
        }
    }
}

impl View {
    /// Reads what stands after `#`. The notices are sentences for the person, one a parameter that
    /// could not be used; parameters that this version does not know are passed over.
    pub fn parse(hash: &str) -> (View, Vec<String>) {
        let mut view = View::default();
        let mut notices = Vec::new();
        let (mut time, mut ranks) = (None, None);
        let hash = hash.strip_prefix('#').unwrap_or(hash);
        for pair in hash.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = unescape(value);
            let read = match key {
                "v" => read_version(&value, &mut notices),
                "src" => read_source(&value).map(|it| view.add_source(it)),
                "t" => read_range(&value, 0).map(|it| time = Some(it)),
                "y" => read_range(&value, 3).map(|it| ranks = Some(it)),
                "as" => read_told(&value).map(|it| view.add_told(it)),
                "edge" => read_edge(&value).map(|it| view.edge = Some(it)),
                "breaker" => read_breaker(&value).map(|it| view.breaker = Some(it)),
                "shared" => read_switch(&value).map(|it| view.shared = it),
                "lanes" => read_switch(&value).map(|it| view.lanes = it),
                "color" => read_color(&value).map(|it| view.color_by = it),
                "hide" => {
                    view.hidden.push(value.clone());
                    Some(())
                }
                "trace" => {
                    view.trace = Some(value.clone()).filter(|it| !it.is_empty());
                    Some(())
                }
                "pane" => read_pane(&value).map(|it| view.pane = it),
                "of" => read_of(&value).map(|it| view.replayed = Some(it)),
                "pool" => read_pool(&value).map(|it| view.pool = Some(it)),
                "grid" => read_grid(&value).map(|it| view.grid = it),
                "filter" => {
                    view.filter = Some(value.clone()).filter(|it| !it.trim().is_empty());
                    Some(())
                }
                "rest" => read_rest(&value).map(|it| view.rest_hidden = it),
                "simulate" => read_supposed(&value).map(|it| view.simulate = Some(it)),
                _ => Some(()),
            };
            if read.is_none() {
                let got = crate::issues::shortened(&value);
                notices.push(format!(
                    "The link's {key}=\u{201c}{got}\u{201d} cannot be read, so its default is used; expected {}.",
                    expected(key)
                ));
            }
        }
        view.viewport = match (time, ranks) {
            (Some((t0, t1)), Some((y0, y1))) => Some(Viewport { t0, t1, y0, y1 }),
            (None, None) => None,
            _ => {
                notices.push(
                    "The link has only one of t and y, so everything is shown; both make a view."
                        .to_owned(),
                );
                None
            }
        };
        (view, notices)
    }

    /// The link's part after `#`, without the `#`.
    pub fn to_hash(&self) -> String {
        let mut pairs = vec![format!("v={VERSION}")];
        let mut add = |key: &str, value: &str| pairs.push(format!("{key}={}", escape(value)));
        for file in &self.files {
            if let Some(source) = &file.source {
                add("src", &source.to_string());
            }
            if let Some(told) = &file.told {
                add("as", told);
            }
        }
        if let Some(it) = self.viewport {
            add("t", &format!("{}..{}", it.t0, it.t1));
            add("y", &format!("{}..{}", Millis(it.y0), Millis(it.y1)));
        }
        if let Some((from, to)) = &self.edge {
            add("edge", &format!("{from}->{to}"));
        }
        if let Some(breaker) = &self.breaker {
            add("breaker", breaker);
        }
        if self.shared {
            add("shared", "1");
        }
        if self.lanes {
            add("lanes", "1");
        }
        if self.color_by == ColorBy::Service {
            add("color", "service");
        }
        for key in &self.hidden {
            add("hide", key);
        }
        if let Some(trace) = &self.trace {
            add("trace", trace);
        }
        match self.pane {
            Pane::Herds => {}
            Pane::Breaker => add("pane", "breaker"),
            Pane::WhatIf => add("pane", "what-if"),
            Pane::Timeouts => add("pane", "timeouts"),
            Pane::Compare => add("pane", "compare"),
            Pane::Trace => add("pane", "trace"),
        }
        if let Some(replayed) = self.replayed {
            add("of", OF[usize::from(replayed)]);
        }
        if let Some(pool) = self.pool {
            add("pool", &pool.to_string());
        }
        if self.grid != GRID {
            let keys = self.grid.map(|it| KEYS.get(usize::from(it)).copied());
            add("grid", &keys.map(Option::unwrap_or_default).join(","));
        }
        if let Some(simulate) = &self.simulate {
            add("simulate", simulate);
        }
        if let Some(filter) = &self.filter {
            add("filter", filter);
        }
        if self.rest_hidden {
            add("rest", REST[1]);
        }
        pairs.join("&")
    }

    fn add_source(&mut self, source: Source) {
        let source = Some(source);
        match self.files.last_mut() {
            // Said before any `src`.
            Some(last) if last.source.is_none() => last.source = source,
            _ => self.files.push(FileRef { source, told: None }),
        }
    }

    fn add_told(&mut self, told: Option<String>) {
        match self.files.last_mut() {
            // Neither where it is nor what it is: that is no file.
            Some(last) if last.source.is_none() && told.is_none() => {
                self.files.pop();
            }
            Some(last) => last.told = told,
            None if told.is_some() => self.files.push(FileRef { source: None, told }),
            None => {}
        }
    }
}

impl From<Source> for String {
    fn from(source: Source) -> String {
        source.to_string()
    }
}

impl TryFrom<String> for Source {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Source, &'static str> {
        read_source(&text).ok_or("this says no source")
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Sample(name) => write!(to, "sample:{name}"),
            Source::Url(url) => to.write_str(url),
            Source::File(it) => write!(to, "file:{}:{}:{:016x}", it.name, it.size, it.hash),
            Source::ClickHouse(it) => it.fmt(to),
        }
    }
}

/// How much of a file's head and tail [`fingerprint`] looks at, in bytes.
pub const MARK_BYTES: usize = 64 * 1024;

/// A 64-bit hash (FNV-1a) of a file's size and its first and last 64 KiB (`head` and `tail`, which
/// overlap or are the same for a small file). It tells files apart, it does not secure anything.
pub fn fingerprint(size: u64, head: &[u8], tail: &[u8]) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let bytes = size.to_le_bytes();
    let all = bytes.iter().chain(head).chain(tail);
    all.fold(OFFSET, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    })
}

/// Thousandths, printed as the shortest decimal.
struct Millis(i64);

impl std::fmt::Display for Millis {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, rest) = (self.0.unsigned_abs() / 1000, self.0.unsigned_abs() % 1000);
        let decimals = format!("{rest:03}");
        match decimals.trim_end_matches('0') {
            "" => write!(to, "{sign}{whole}"),
            decimals => write!(to, "{sign}{whole}.{decimals}"),
        }
    }
}

fn expected(key: &str) -> &'static str {
    match key {
        "v" => "a whole number",
        "src" => "sample:NAME, file:NAME:SIZE:HASH, clickhouse:URL,table=T or an https address",
        "t" => "FROM..TO in nanoseconds since 1970",
        "y" => "FROM..TO in traces",
        "as" => "parts like trace=COLUMN, start=COLUMN@ms, zone=+02:00, failed=2s",
        "edge" => "CALLER->CALLEE",
        "breaker" => "settings like window=100,min=20,fail=50%,open=60s,probes=10",
        "color" => "tier or service",
        "pane" => "herds, breaker, what-if, timeouts, compare or trace",
        "of" => "observed or replayed",
        "rest" => "hide or dim",
        "pool" => "a number of threads",
        "grid" => "two settings, like fail,open",
        "simulate" => {
            "file, incident or thundering-herd, and what is done, like file,with=ramp_2m+shed,pods=4"
        }
        _ => "1 or 0",
    }
}

fn read_version(value: &str, notices: &mut Vec<String>) -> Option<()> {
    let version: u32 = value.parse().ok()?;
    if version > VERSION {
        notices.push(format!(
            "This link was made by a newer herdscope (version {version} of the link format, this \
             page reads {VERSION}): what this page does not know is left out."
        ));
    }
    Some(())
}

fn read_source(value: &str) -> Option<Source> {
    if let Some(name) = value.strip_prefix("sample:") {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let known = !name.is_empty() && name.chars().all(plain);
        return known.then(|| Source::Sample(name.to_owned()));
    }
    if is_address(value) {
        return Some(Source::Url(value.to_owned()));
    }
    if value.starts_with(clickhouse::SCHEME) {
        return Asked::parse(value).map(|it| Source::ClickHouse(Box::new(it)));
    }
    let mut parts = value.strip_prefix("file:")?.rsplitn(3, ':');
    let hash = u64::from_str_radix(parts.next()?, 16).ok()?;
    let size = parts.next()?.parse().ok()?;
    let name = parts.next().filter(|name| !name.is_empty())?.to_owned();
    Some(Source::File(FileMark { name, size, hash }))
}

/// An address whose data nobody can change on the way: of https, or of this machine.
fn is_address(value: &str) -> bool {
    const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
    let host = value.strip_prefix("http://");
    let local = |host: &str| {
        let mut rests = LOCAL.iter().filter_map(|it| host.strip_prefix(it));
        rests.any(|it| it.starts_with([':', '/']))
    };
    let https = value.strip_prefix("https://");
    https.is_some_and(|it| !it.is_empty()) || host.is_some_and(local)
}

/// `FROM..TO` with that many decimals, as integers of the last one; `None` when empty or reversed.
fn read_range(value: &str, decimals: usize) -> Option<(i64, i64)> {
    let (from, to) = parts::split(value, "..")?;
    let (from, to) = (read_decimal(from, decimals)?, read_decimal(to, decimals)?);
    let width = to.checked_sub(from)?;
    (width > 0 && (-FURTHEST..FURTHEST).contains(&from)).then_some((from, to))
}

/// No viewport begins further from 0: two centuries of time, and room to move.
const FURTHEST: i64 = 3 << 61;

fn read_decimal(text: &str, decimals: usize) -> Option<i64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if digits.is_empty() || !all_digits(digits) || !all_digits(rest) || rest.len() > decimals {
        return None;
    }
    format!("{whole}{rest:0<decimals$}").parse().ok()
}

fn read_edge(value: &str) -> Option<(String, String)> {
    let (from, to) = parts::split(value, "->")?;
    let full = !from.trim().is_empty() && !to.trim().is_empty();
    full.then(|| (from.trim().to_owned(), to.trim().to_owned()))
}

fn read_told(value: &str) -> Option<Option<String>> {
    let told: crate::ingest::Told = value.parse().ok()?;
    Some((!told.is_empty()).then(|| told.to_string()))
}

fn read_breaker(value: &str) -> Option<String> {
    let config: halfopen::Config = value.parse().ok()?;
    Some(config.to_string())
}

fn read_supposed(value: &str) -> Option<String> {
    let supposed: Supposed = value.parse().ok()?;
    Some(supposed.to_string())
}

fn read_switch(value: &str) -> Option<bool> {
    match value {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

/// Whose attempts: of breakers that were observed, or of those of a replay.
const OF: [&str; 2] = ["observed", "replayed"];

fn read_of(value: &str) -> Option<bool> {
    Some(OF.iter().position(|it| *it == value)? == 1)
}

/// What becomes of spans that a filter does not mean.
const REST: [&str; 2] = ["dim", "hide"];

fn read_rest(value: &str) -> Option<bool> {
    Some(REST.iter().position(|it| *it == value)? == 1)
}

fn read_pool(value: &str) -> Option<u32> {
    value.parse().ok().filter(|&it| it > 0)
}

fn read_grid(value: &str) -> Option<[u8; 2]> {
    let place = |key: &str| Some(KEYS.iter().position(|it| *it == key)? as u8);
    let (x, y) = value.split_once(',')?;
    (x != y).then_some([place(x)?, place(y)?])
}

fn read_color(value: &str) -> Option<ColorBy> {
    match value {
        "tier" => Some(ColorBy::Tier),
        "service" => Some(ColorBy::Service),
        _ => None,
    }
}

fn read_pane(value: &str) -> Option<Pane> {
    match value {
        "herds" => Some(Pane::Herds),
        "breaker" => Some(Pane::Breaker),
        "what-if" => Some(Pane::WhatIf),
        "timeouts" => Some(Pane::Timeouts),
        "compare" => Some(Pane::Compare),
        "trace" => Some(Pane::Trace),
        _ => None,
    }
}
