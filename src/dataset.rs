//! What is loaded: the table with its edges, and what the reading assumed and noticed.
//!
//! Owns the road from rows to a dataset: table, edges, timeouts told from pile-ups. Invariant: a
//! dataset is complete, and only what is said about failures and tries changes it. Building costs
//! O(n log n). Pinned by `tests/it/engine.rs` and `tests/it/files.rs`.

use crate::calls::{self, Calls, Edge};
use crate::column::Column;
use crate::files::{self, FileFacts, Files};
use crate::ingest::time::print_duration;
use crate::ingest::{Assumed, Reading, Told};
use crate::issues::{Code, Issues};
use crate::levels::Levels;
use crate::messages::{EdgeLine, Summary, issue_lines};
use crate::outcome::Outcome;
use crate::plot::look;
use crate::retries;
use crate::rows::SpanRows;
use crate::spans::SpanTable;
use crate::turns::{at_once, pause};
use crate::view::{ColorBy, MILLI, Source, View, Viewport};
use crate::viewport;

/// A loaded file, or several as one.
#[derive(Clone, Debug, Default)]
pub struct Dataset {
    /// The files' names.
    pub name: String,
    /// Who wrote them.
    pub exporter: String,
    /// What each file was read as.
    pub files: Vec<FileFacts>,
    /// What had to be assumed to read them; of several files what all of them assume.
    pub assumed: Assumed,
    /// What a person said about all of them.
    pub told: Told,
    /// The duration from which on calls evidently failed, where the file tells no failures.
    pub failed_over_proposed: Option<u64>,
    /// What was noticed.
    pub issues: Issues,
    /// Its spans.
    pub table: SpanTable,
    /// Its spans from afar.
    pub levels: Levels,
    /// Who calls whom, the edge with the most calls first.
    pub edges: Vec<Edge>,
    /// See [`look::opaque_from`].
    pub opaque_from: Vec<u64>,
    /// What was noticed in reading, whatever is said about failures.
    pub(crate) noticed: Issues,
    /// How the files say that spans ended.
    recorded: Column<Outcome>,
    /// What the overview and the rates count where there is no edge.
    arrivals: Calls,
    no_calls: Calls,
    /// See [`Dataset::home`] and [`Dataset::limits`], which every frame asks for.
    home: Option<Viewport>,
    limits: Option<Viewport>,
}

impl Dataset {
    /// Builds table and edges from what was read.
    pub fn new(name: String, source: Option<Source>, reading: Reading) -> Dataset {
        let mut files = Files::default();
        files.add(0, name, source, reading);
        files.build()
    }

    /// Several files, named, as one dataset.
    pub fn merged(readings: Vec<(String, Reading)>) -> Dataset {
        let mut files = Files::default();
        for (at, (name, reading)) in readings.into_iter().enumerate() {
            files.add(at as u32, name, None, reading);
        }
        files.build()
    }

    /// The dataset of rows alone, as they are known in the middle of a reading.
    pub fn of_rows(name: String, mut rows: SpanRows) -> Dataset {
        let told = Told::default();
        at_once(Dataset::of_told_rows(name, &mut rows, false, &told))
    }

    /// The dataset of rows about which a person has said something, in turns. The rows go, see
    /// [`SpanTable::building`], or are kept.
    pub async fn of_told_rows(
        name: String,
        rows: &mut SpanRows,
        keep: bool,
        told: &Told,
    ) -> Dataset {
        let mut dataset = Dataset::unjudged(name, rows, keep).await;
        dataset.judging(told.failed_over, told.logical).await;
        dataset
    }

    /// Without edges yet.
    pub(crate) async fn unjudged(name: String, rows: &mut SpanRows, keep: bool) -> Dataset {
        let mut noticed = Issues::default();
        let table = SpanTable::building(rows, keep, &mut noticed).await;
        pause().await;
        let extents = [table.awaited_extent(), table.extent()];
        let [home, limits] = extents.map(|it| Some(padded(&table, it)));
        pause().await;
        let opaque_from = look::opaque_from(&table);
        pause().await;
        Dataset {
            name,
            noticed,
            recorded: table.outcome.clone(),
            home,
            limits,
            opaque_from,
            table,
            ..Dataset::default()
        }
    }

    /// Takes spans that lasted so long as failed, and tries as calls of their own or as one. Nothing
    /// is read again: the table has how the files say that spans ended. O(n log n).
    pub fn judge(&mut self, failed_over: Option<u64>, logical: Option<bool>) {
        at_once(self.judging(failed_over, logical));
    }

    /// [`Dataset::judge`] in turns.
    pub(crate) async fn judging(&mut self, failed_over: Option<u64>, logical: Option<bool>) {
        self.fail(failed_over, logical);
        self.edges = calls::finding_edges(&self.table).await;
        calls::mark_timeouts(&mut self.table, &mut self.edges).await;
        self.levels = Levels::building(&self.table, None).await;
        self.arrivals = match self.edges.is_empty() {
            true => calls::arrivals(&self.table).await,
            false => Calls::default(),
        };
        self.count_tries();
    }

    /// Heeds what is said in the table's outcomes.
    #[inline(never)]
    fn fail(&mut self, failed_over: Option<u64>, logical: Option<bool>) {
        let of_files = self.files.iter_mut().map(|it| &mut it.told);
        for told in of_files.chain([&mut self.told]) {
            (told.failed_over, told.logical) = (failed_over, logical);
        }
        self.issues = self.noticed.clone();
        self.table.outcome.clone_from(&self.recorded);
        if let Some(ns) = failed_over {
            self.issues.forget(Code::NoStatus);
            self.table.fail_from(ns, &mut self.issues);
        }
    }

    /// Heeds what is said in the edges' calls.
    #[inline(never)]
    fn count_tries(&mut self) {
        self.failed_over_proposed = match self.told.failed_over {
            None if self.tells_no_failures() => calls::proposed_failed_over(&self.edges),
            _ => None,
        };
        if self.told.logical == Some(true) {
            for edge in &mut self.edges {
                edge.calls = retries::logical(&self.table, &edge.calls);
            }
        }
    }

    /// How many bytes it takes, nearly: of calls and blocks of spans half of what the table takes.
    pub fn bytes(&self) -> usize {
        self.table.bytes() / 2 * 3
    }

    /// Whether a file has no column that tells failures.
    pub(crate) fn tells_no_failures(&self) -> bool {
        self.noticed.count(Code::NoStatus) > 0
    }

    /// The edge that a person names, or the one with the most calls.
    pub fn edge(&self, named: Option<&(String, String)>) -> Option<&Edge> {
        match named {
            Some((from, to)) => self.edges.iter().find(|edge| edge.is_named(from, to)),
            None => self.edges.first(),
        }
    }

    /// The edge that a person names if there is such a one, else the one with the most calls.
    pub fn edge_or_first(&self, named: Option<&(String, String)>) -> Option<&Edge> {
        self.edge(named).or(self.edges.first())
    }

    /// The calls of an edge; none for no edge.
    pub fn calls<'a>(&'a self, edge: Option<&'a Edge>) -> &'a Calls {
        edge.map_or(&self.no_calls, |edge| &edge.calls)
    }

    /// A view as this data can show it. What does not fit is left out and said in `notices`.
    pub fn settle(&self, mut view: View, notices: &mut Vec<String>) -> View {
        if let Some(part) = view.viewport
            && !viewport::overlap(part, self.limits())
        {
            view.viewport = None;
            notices.push(
                "The link's part of the plot lies outside of this data, so everything is shown."
                    .to_owned(),
            );
        }
        if let Some((from, to)) = &view.edge
            && self.edge(view.edge.as_ref()).is_none()
        {
            notices.push(format!(
                "The link's edge {from}->{to} is not in this data, so the one with the most calls is shown."
            ));
            view.edge = None;
        }
        if let Some(trace) = &view.trace
            && self.table.find_trace(trace).is_none()
        {
            notices.push(format!("The link's trace {trace} is not in this data."));
            view.trace = None;
        }
        view
    }

    /// What had to be assumed and a person can tell better.
    pub fn assumptions(&self) -> Vec<Assumption> {
        let assumption = |(part, value)| Assumption {
            what: match part {
                "zone" => "times in",
                "dates" => "dates",
                "start" => "starts in",
                "duration" => "durations in",
                _ => "failed from",
            },
            part,
            value,
            choices: files::choices(part),
        };
        let mut parts = files::assumed_parts(&self.assumed);
        if self.told.failed_over.is_none() && self.tells_no_failures() {
            let proposed = self.failed_over_proposed.map(print_duration);
            parts.push(("failed", proposed.unwrap_or_default()));
        }
        parts.into_iter().map(assumption).collect()
    }

    /// What had to be assumed, in one line; empty when nothing had.
    pub fn assumed_line(&self) -> String {
        let mut said: Vec<String> = Vec::new();
        for it in self.assumptions() {
            if it.part != "failed" {
                said.push([it.what, " ", it.value.trim_start_matches('@')].concat());
            }
        }
        let mut line = match said.is_empty() {
            true => String::new(),
            false => ["assumed: ", &said.join(", ")].concat(),
        };
        if let Some(ns) = self.failed_over_proposed {
            let semicolon = if line.is_empty() { "" } else { "; " };
            line.push_str(semicolon);
            line.push_str("calls pile up just above ");
            line.push_str(&print_duration(ns));
            line.push_str(", a timeout probably: tell that they failed (failed=");
            line.push_str(&print_duration(ns));
            line.push(')');
        }
        line
    }

    /// What arrived, to be counted over time: the calls of the edge, or all traces where there is none.
    pub fn traffic<'a>(&'a self, edge: Option<&'a Edge>) -> &'a Calls {
        edge.map_or(&self.arrivals, |edge| &edge.calls)
    }

    /// The viewport that holds everything that somebody waited for.
    pub fn home(&self) -> Viewport {
        self.home.unwrap_or(NOTHING)
    }

    /// The furthest that a viewport goes.
    pub fn limits(&self) -> Viewport {
        self.limits.unwrap_or(NOTHING)
    }

    /// The dataset in figures and words, for the page.
    pub fn summary(&self) -> Summary {
        let line = |edge: &Edge| EdgeLine {
            from: edge.from.clone(),
            to: edge.to.clone(),
            via: edge.via.clone(),
            calls: edge.calls.len() as u64,
            instances: edge.n_instances().unwrap_or(0) as u64,
        };
        Summary {
            name: self.name.clone(),
            exporter: self.exporter.clone(),
            files: self.file_lines(),
            offered: self.offered(),
            refused: Vec::new(),
            full: None,
            issues: issue_lines(&self.issues),
            spans: self.table.len() as u64,
            traces: self.table.n_traces().into(),
            extent: self.table.extent().map_or([0, 0], |it| [it.start, it.end]),
            home: self.home(),
            limits: self.limits(),
            edges: self.edges.iter().map(line).collect(),
            legend_by_tier: look::legend(&self.table, ColorBy::Tier),
            legend_by_service: look::legend(&self.table, ColorBy::Service),
        }
    }
}

/// Something that was assumed, to be told better: `PART=VALUE` is a part of [`Told`]'s text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// What it is about, as in "times in".
    pub what: &'static str,
    /// Its key in the text.
    pub part: &'static str,
    /// What was assumed, or is proposed; empty for neither.
    pub value: String,
    /// Other values. Of zones and durations any may be told.
    pub choices: &'static [&'static str],
}

const SECOND: i64 = 1_000_000_000;

/// What is looked at where nothing is loaded.
const NOTHING: Viewport = Viewport {
    t0: 0,
    t1: SECOND,
    y0: 0,
    y1: MILLI,
};

/// All ranks over a time, with a hundredth of it free at either side.
fn padded(table: &SpanTable, extent: Option<std::ops::Range<i64>>) -> Viewport {
    let extent = extent.unwrap_or(0..SECOND);
    let pad = (extent.end.saturating_sub(extent.start) / 100).max(1_000);
    Viewport {
        t0: extent.start.saturating_sub(pad),
        t1: extent.end.saturating_add(pad),
        y0: 0,
        y1: i64::from(table.n_traces().max(1)) * MILLI,
    }
}
