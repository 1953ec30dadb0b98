//! What is loaded: the table with its edges, and what the reading assumed and noticed.
//!
//! Owns the road from rows to a dataset: table, edges, timeouts told from pile-ups. Invariant: a
//! dataset is complete and never changes. Building costs O(n log n). Pinned by `tests/it/engine.rs`.

use crate::calls::{self, Calls, Edge};
use crate::ingest::time::print_duration;
use crate::ingest::{Assumed, Reading, Told};
use crate::issues::{Code, Issues};
use crate::messages::{EdgeLine, Summary, issue_lines};
use crate::plot::look;
use crate::retries;
use crate::rows::SpanRows;
use crate::spans::SpanTable;
use crate::view::{ColorBy, MILLI, Source, View, Viewport};
use crate::viewport;

/// A loaded file, or several as one.
#[derive(Clone, Debug, Default)]
pub struct Dataset {
    /// The file's name.
    pub name: String,
    /// What a link to it says; `None` for pasted text.
    pub source: Option<Source>,
    /// Who wrote it.
    pub exporter: String,
    /// What had to be assumed to read it.
    pub assumed: Assumed,
    /// What a person said about it.
    pub told: Told,
    /// The duration from which on calls evidently failed, where the file tells no failures.
    pub failed_over_proposed: Option<u64>,
    /// What was noticed in reading it.
    pub issues: Issues,
    /// Its spans.
    pub table: SpanTable,
    /// Who calls whom, the edge with the most calls first.
    pub edges: Vec<Edge>,
    /// See [`look::opaque_from`].
    pub opaque_from: Vec<u64>,
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
        let mut dataset = Dataset::of_told_rows(name, &reading.rows, &reading.told);
        let mut issues = reading.issues;
        issues.extend(std::mem::take(&mut dataset.issues));
        let untold = issues.count(Code::NoStatus) > 0;
        Dataset {
            source,
            exporter: reading.exporter.to_owned(),
            assumed: reading.assumed,
            told: reading.told,
            failed_over_proposed: untold
                .then(|| calls::proposed_failed_over(&dataset.edges))
                .flatten(),
            issues,
            ..dataset
        }
    }

    /// Several files of one exporter as one dataset. What only some of them assume, none is said to.
    pub fn merged(name: String, readings: Vec<Reading>) -> Dataset {
        let mut readings = readings.into_iter();
        let Some(mut all) = readings.next() else {
            return Dataset::default();
        };
        fn if_same<T: PartialEq>(a: Option<T>, b: Option<T>) -> Option<T> {
            if a == b { a } else { None }
        }
        for reading in readings {
            all.rows.append(&reading.rows);
            all.issues.extend(reading.issues);
            let (all, it) = (&mut all.assumed, reading.assumed);
            all.zone = if_same(all.zone, it.zone);
            all.start_unit = if_same(all.start_unit, it.start_unit);
            all.duration_unit = if_same(all.duration_unit, it.duration_unit);
            all.dates = if_same(all.dates, it.dates);
        }
        Dataset::new(name, None, all)
    }

    /// The dataset of rows alone, as they are known in the middle of a reading.
    pub fn of_rows(name: String, rows: &SpanRows) -> Dataset {
        Dataset::of_told_rows(name, rows, &Told::default())
    }

    /// The dataset of rows about which a person has said something.
    pub fn of_told_rows(name: String, rows: &SpanRows, told: &Told) -> Dataset {
        let mut issues = Issues::default();
        let mut table = SpanTable::build(rows, &mut issues);
        if let Some(ns) = told.failed_over {
            table.fail_from(ns, &mut issues);
        }
        let mut edges = calls::edges(&table);
        calls::mark_timeouts(&mut table, &mut edges);
        if told.logical == Some(true) {
            for edge in &mut edges {
                edge.calls = retries::logical(&table, &edge.calls);
            }
        }
        let opaque_from = look::opaque_from(&table);
        let arrivals = match edges.is_empty() {
            true => calls::arrivals(&table),
            false => Calls::default(),
        };
        Dataset {
            name,
            issues,
            home: Some(padded(&table, table.awaited_extent())),
            limits: Some(padded(&table, table.extent())),
            table,
            edges,
            opaque_from,
            arrivals,
            no_calls: Calls::default(),
            source: None,
            exporter: String::new(),
            assumed: Assumed::default(),
            told: Told::default(),
            failed_over_proposed: None,
        }
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
        const UNITS: &[&str] = &["@ns", "@us", "@ms", "@s"];
        let mut all = Vec::new();
        let mut add = |what, part, value: String, choices| {
            all.push(Assumption {
                what,
                part,
                value,
                choices,
            });
        };
        if let Some(zone) = self.assumed.zone {
            add(
                "times in",
                "zone",
                zone.to_owned(),
                &["UTC", "+01:00", "+02:00"],
            );
        }
        if self.assumed.dates.is_some() {
            let choices = &["month-first", "day-first"];
            add("dates", "dates", "month-first".to_owned(), choices);
        }
        for (what, part, unit) in [
            ("starts in", "start", self.assumed.start_unit),
            ("durations in", "duration", self.assumed.duration_unit),
        ] {
            if let Some(unit) = unit {
                add(what, part, ["@", unit.as_str()].concat(), UNITS);
            }
        }
        if self.issues.count(Code::NoStatus) > 0 {
            let proposed = self.failed_over_proposed.map(print_duration);
            add("failed from", "failed", proposed.unwrap_or_default(), &[]);
        }
        all
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
            source: self.source.clone(),
            exporter: self.exporter.clone(),
            assumed: self.assumed_line(),
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
