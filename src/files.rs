//! The files of a dataset: what each was read as, and several as one.
//!
//! Owns the merging. Invariants: files may be of any mix of exporters; a row that two files have is
//! the earlier file's; what is known of a single file is known of each of several. Adding costs
//! O(rows of the file). Pinned by `tests/it/files.rs`.

use std::sync::Arc;

use crate::dataset::Dataset;
use crate::ingest::row::Places;
use crate::ingest::time::print_duration;
use crate::ingest::{Assumed, Reading, Told, Unmapped};
use crate::issues::Issues;
use crate::messages::FileLine;
use crate::rows::SpanRows;
use crate::turns::{at_once, pause};
use crate::twins;
use crate::view::{FileRef, Source};

/// What one file was read as.
#[derive(Clone, Debug)]
pub struct FileFacts {
    /// Its name.
    pub name: String,
    /// What a link to it says; `None` for pasted text.
    pub source: Option<Source>,
    /// Who wrote it.
    pub exporter: &'static str,
    /// What had to be assumed to read it.
    pub assumed: Assumed,
    /// What a person said about it.
    pub told: Told,
    /// See [`Reading::head`].
    pub head: Option<Box<Unmapped>>,
    /// See [`Reading::places`].
    pub places: Option<Arc<Places>>,
    /// Its place among all that were to be read.
    pub input: u32,
    /// Rows that are spans.
    pub rows: u64,
    /// Spans of them in the table: without those that another row said already.
    pub spans: u64,
}

/// Files on their way to a dataset.
#[derive(Default)]
pub struct Files {
    facts: Vec<FileFacts>,
    rows: SpanRows,
    /// Rows of files after the first that are not among `rows` yet.
    later: Vec<SpanRows>,
    issues: Vec<Issues>,
}

impl Files {
    /// One file more.
    pub fn add(&mut self, input: u32, name: String, source: Option<Source>, reading: Reading) {
        self.facts.push(FileFacts {
            name,
            source,
            exporter: reading.exporter,
            assumed: reading.assumed,
            told: reading.told,
            head: reading.head,
            places: reading.places,
            input,
            rows: reading.rows.len() as u64,
            spans: 0,
        });
        self.issues.push(reading.issues);
        match self.facts.len() {
            1 => self.rows = reading.rows,
            _ => self.later.push(reading.rows),
        }
    }

    /// How many rows all files have.
    pub fn n_rows(&self) -> usize {
        self.rows.len() + self.later.iter().map(SpanRows::len).sum::<usize>()
    }

    /// How many bytes their rows take.
    pub fn bytes(&self) -> usize {
        self.rows.bytes() + self.later.iter().map(SpanRows::bytes).sum::<usize>()
    }

    /// These files and what is read of the next one, drawn meanwhile, in turns. `rows` are kept.
    pub async fn preview(&mut self, name: String, rows: &mut SpanRows, told: &Told) -> Dataset {
        if self.is_empty() {
            return Dataset::of_told_rows(name, rows, true, told).await;
        }
        self.join().await;
        let mut all = self.rows.clone();
        append(&mut all, rows).await;
        Dataset::of_told_rows(name, &mut all, false, told).await
    }

    /// All rows as one.
    async fn join(&mut self) {
        for later in std::mem::take(&mut self.later) {
            append(&mut self.rows, &later).await;
        }
    }

    /// Whether there is no file.
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// All files as one dataset.
    pub fn build(self) -> Dataset {
        at_once(self.building())
    }

    /// [`Files::build`] in turns.
    pub async fn building(mut self) -> Dataset {
        self.join().await;
        if self.facts.len() > 1 {
            twins::join(&mut self.rows);
        }
        pause().await;
        let name = joined(self.facts.iter().map(|it| it.name.as_str()));
        let mut dataset = Dataset::unjudged(name, &mut self.rows, false).await;
        self.describe(&mut dataset);
        let (failed_over, logical) = (dataset.told.failed_over, dataset.told.logical);
        dataset.judging(failed_over, logical).await;
        dataset
    }

    /// Tells a dataset of these files what they were read as.
    #[inline(never)]
    fn describe(self, dataset: &mut Dataset) {
        let Files {
            mut facts, issues, ..
        } = self;
        let (mut all, mut told) = (None, Told::default());
        for it in &facts {
            all = Some(all.map_or(it.assumed, |all| both(all, it.assumed)));
            told = it.told.clone().and(told);
        }
        // Of columns and units each file is told its own.
        if facts.iter().any(|it| it.told != told) {
            told = Told {
                failed_over: told.failed_over,
                logical: told.logical,
                ..Told::default()
            };
        }
        let mut noticed = Issues::default();
        for (it, facts_of) in issues.into_iter().zip(&facts) {
            match facts.len() {
                1 => noticed = it,
                _ => noticed.extend_of(it, &facts_of.name),
            }
        }
        noticed.extend(std::mem::take(&mut dataset.noticed));
        dataset.noticed = noticed;
        count_spans(&mut facts, &dataset.table.file, dataset.table.len());
        let mut exporters: Vec<&str> = Vec::new();
        for it in &facts {
            if !exporters.contains(&it.exporter) {
                exporters.push(it.exporter);
            }
        }
        dataset.exporter = joined(exporters.into_iter());
        dataset.assumed = all.unwrap_or_default();
        dataset.files = facts;
        dataset.told = told;
    }
}

/// Appends another file's rows, in turns.
async fn append(all: &mut SpanRows, rows: &SpanRows) {
    const A_TURN: usize = 1 << 17;
    all.begin_file();
    for from in (0..rows.len()).step_by(A_TURN) {
        all.append_part(rows, from..rows.len().min(from + A_TURN));
        pause().await;
    }
}

fn joined<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(" + ")
}

/// What only some of the files assume, none is said to.
fn both(a: Assumed, b: Assumed) -> Assumed {
    fn if_same<T: PartialEq>(a: Option<T>, b: Option<T>) -> Option<T> {
        if a == b { a } else { None }
    }
    Assumed {
        zone: if_same(a.zone, b.zone),
        start_unit: if_same(a.start_unit, b.start_unit),
        duration_unit: if_same(a.duration_unit, b.duration_unit),
        dates: if_same(a.dates, b.dates),
    }
}

fn count_spans(facts: &mut [FileFacts], file: &[u16], spans: usize) {
    if let [only] = facts {
        only.spans = spans as u64;
    }
    for &at in file {
        if let Some(it) = facts.get_mut(usize::from(at)) {
            it.spans += 1;
        }
    }
}

/// Other values of a part of [`Told`]'s text. Of zones and durations any may be told.
pub fn choices(part: &str) -> &'static [&'static str] {
    match part {
        "zone" => &["UTC", "+01:00", "+02:00"],
        "dates" => &["month-first", "day-first"],
        "start" | "end" | "duration" => &["@ns", "@us", "@ms", "@s"],
        "logical" => &["no", "yes"],
        _ => &[],
    }
}

/// What was assumed and can be told, by its part and with the value.
pub fn assumed_parts(assumed: &Assumed) -> Vec<(&'static str, String)> {
    let unit = |it: crate::ingest::time::Unit| ["@", it.as_str()].concat();
    let order = |it| match it {
        "day_first" => "day-first".to_owned(),
        _ => "month-first".to_owned(),
    };
    [
        ("zone", assumed.zone.map(str::to_owned)),
        ("dates", assumed.dates.map(order)),
        ("start", assumed.start_unit.map(unit)),
        ("duration", assumed.duration_unit.map(unit)),
    ]
    .into_iter()
    .filter_map(|(part, value)| Some((part, value?)))
    .collect()
}

/// What was said without one part; `columns` stands for all of them.
pub fn without(mut told: Told, part: &str) -> Told {
    match part {
        "zone" => told.zone = None,
        "dates" => told.day_first = None,
        "start" => told.start_unit = None,
        "end" => told.end_unit = None,
        "duration" => told.duration_unit = None,
        "failed" => told.failed_over = None,
        "http-failed" => told.http_failed = None,
        "logical" => told.logical = None,
        "sample" => told.sample = None,
        "columns" => told.columns.clear(),
        _ => {}
    }
    told
}

/// Whether a file would have to be read again for what is said now: which spans failed for being
/// slow and which calls are tries of one is told from the table, all else from the file's cells.
pub fn needs_reading(was: &Told, now: &Told) -> bool {
    let of_cells = |told: &Told| without(without(told.clone(), "failed"), "logical");
    of_cells(was) != of_cells(now)
}

impl Dataset {
    /// Its files, for the page.
    pub fn file_lines(&self) -> Vec<FileLine> {
        let assumed = |it: &FileFacts| {
            let parts = assumed_parts(&it.assumed).into_iter();
            let parts: Vec<String> = parts.map(|it| [it.0, "=", &it.1].concat()).collect();
            parts.join(",")
        };
        let line = |it: &FileFacts| FileLine {
            name: it.name.clone(),
            source: it.source.clone(),
            exporter: it.exporter.to_owned(),
            input: it.input,
            spans: it.spans,
            duplicates: it.rows - it.spans,
            told: it.told.to_string(),
            assumed: assumed(it),
            head: it.head.clone(),
        };
        self.files.iter().map(line).collect()
    }

    /// What could be told about all spans and is not, as text: `failed=` with what is proposed, where
    /// no file tells failures; `logical=no` where calls were tried again.
    pub fn offered(&self) -> String {
        let mut text = String::new();
        if self.told.failed_over.is_none() && self.tells_no_failures() {
            text.push_str("failed=");
            let proposed = self.failed_over_proposed.map(print_duration);
            text.push_str(&proposed.unwrap_or_default());
        }
        let mut retries = self.edges.iter().map(|it| it.retries);
        if self.told.logical.is_none() && retries.any(|it| it.tries != it.logical) {
            text.push_str(",logical=no");
        }
        text
    }
}

/// What a link says of files. Text that was pasted beside others cannot be in one.
pub fn refs(files: &[FileLine]) -> Vec<FileRef> {
    let mut refs = Vec::new();
    for it in files {
        let told = (!it.told.is_empty()).then(|| it.told.clone());
        if it.source.is_some() || told.is_some() && files.len() == 1 {
            let source = it.source.clone();
            refs.push(FileRef { source, told });
        }
    }
    refs
}

/// Something that was assumed or told, to be told otherwise: `PART=VALUE` is a part of [`Told`]'s
/// text, but for the part `columns`, which stands for all columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The files that it is about, by their place.
    pub files: Vec<usize>,
    /// Its key in the text.
    pub part: String,
    /// What was assumed or told; what is proposed where nothing is assumed; empty for none of them.
    pub value: String,
    /// The person has told it.
    pub told: bool,
}

/// What was assumed or told about files, and what is `offered` about all of them.
pub fn said(files: &[FileLine], offered: &str) -> Vec<Said> {
    let mut all: Vec<Said> = Vec::new();
    for (at, file) in files.iter().enumerate() {
        for (text, told) in [
            (&*file.told, true),
            (&*file.assumed, false),
            (offered, false),
        ] {
            // Names of columns have no comma, and an @ only before a unit.
            for it in text.split(',') {
                let (part, value) = it.split_once('=').unwrap_or_default();
                let timed = matches!(part, "start" | "end" | "duration");
                let unit = value
                    .rfind('@')
                    .filter(|_| timed)
                    .and_then(|at| value.get(at..));
                let is_column = value != unit.unwrap_or_default() && crate::ingest::is_field(part);
                let column = (is_column && file.head.is_some()).then_some(("columns", ""));
                let other = (!is_column && !part.is_empty()).then_some((part, value));
                let unit = unit.filter(|_| is_column).map(|it| (part, it));
                for (part, value) in [column, other, unit].into_iter().flatten() {
                    let same =
                        |it: &&mut Said| (&*it.part, &*it.value, it.told) == (part, value, told);
                    match all.iter_mut().find(same) {
                        Some(it) if it.files.last() == Some(&at) => {}
                        Some(it) => it.files.push(at),
                        None => all.push(Said {
                            files: vec![at],
                            part: part.to_owned(),
                            value: value.to_owned(),
                            told,
                        }),
                    }
                }
            }
        }
    }
    all
}
