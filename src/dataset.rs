//! What is loaded: the table with its edges, and what the reading assumed and noticed.
//!
//! Owns the road from rows to a dataset: table, edges, timeouts told from pile-ups. Invariant: a
//! dataset is complete and never changes. Building costs O(n log n). Pinned by `tests/it/engine.rs`.

use crate::calls::{self, Calls, Edge};
use crate::ingest::{Assumed, Reading};
use crate::issues::Issues;
use crate::messages::{EdgeLine, Summary, issue_lines};
use crate::plot::look;
use crate::rows::SpanRows;
use crate::spans::SpanTable;
use crate::view::{ColorBy, MILLI, Source, Viewport};

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
    /// What was noticed in reading it.
    pub issues: Issues,
    /// Its spans.
    pub table: SpanTable,
    /// Who calls whom, the edge with the most calls first.
    pub edges: Vec<Edge>,
    /// See [`look::opaque_from`].
    pub opaque_from: Vec<u64>,
    no_calls: Calls,
}

impl Dataset {
    /// Builds table and edges from what was read.
    pub fn new(name: String, source: Option<Source>, reading: Reading) -> Dataset {
        let mut dataset = Dataset::of_rows(name, &reading.rows);
        let mut issues = reading.issues;
        issues.extend(std::mem::take(&mut dataset.issues));
        Dataset {
            source,
            exporter: reading.exporter.to_owned(),
            assumed: reading.assumed,
            issues,
            ..dataset
        }
    }

    /// Several files as one dataset. What is assumed of any of them is assumed of all.
    pub fn merged(name: String, readings: Vec<Reading>) -> Dataset {
        let mut readings = readings.into_iter();
        let Some(mut all) = readings.next() else {
            return Dataset::default();
        };
        let mut exporters = vec![all.exporter];
        for reading in readings {
            all.rows.append(&reading.rows);
            all.issues.extend(reading.issues);
            all.assumed.zone = all.assumed.zone.or(reading.assumed.zone);
            all.assumed.start_unit = all.assumed.start_unit.or(reading.assumed.start_unit);
            all.assumed.duration_unit = all.assumed.duration_unit.or(reading.assumed.duration_unit);
            if !exporters.contains(&reading.exporter) {
                exporters.push(reading.exporter);
            }
        }
        Dataset {
            exporter: exporters.join(" + "),
            ..Dataset::new(name, None, all)
        }
    }

    /// The dataset of rows alone, as they are known in the middle of a reading.
    pub fn of_rows(name: String, rows: &SpanRows) -> Dataset {
        let mut issues = Issues::default();
        let mut table = SpanTable::build(rows, &mut issues);
        let mut edges = calls::edges(&table);
        calls::mark_timeouts(&mut table, &mut edges);
        let opaque_from = look::opaque_from(&table);
        Dataset {
            name,
            issues,
            table,
            edges,
            opaque_from,
            ..Dataset::default()
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

    /// The viewport that holds everything that somebody waited for.
    pub fn home(&self) -> Viewport {
        self.padded(self.table.awaited_extent())
    }

    /// The furthest that a viewport goes.
    pub fn limits(&self) -> Viewport {
        self.padded(self.table.extent())
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
            assumed: assumed_line(self.assumed),
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

    /// All ranks over a time, with a hundredth of it free at either side.
    fn padded(&self, extent: Option<std::ops::Range<i64>>) -> Viewport {
        const SECOND: i64 = 1_000_000_000;
        let extent = extent.unwrap_or(0..SECOND);
        let pad = (extent.end.saturating_sub(extent.start) / 100).max(1_000);
        let ranks = i64::from(self.table.n_traces().max(1));
        Viewport {
            t0: extent.start.saturating_sub(pad),
            t1: extent.end.saturating_add(pad),
            y0: 0,
            y1: ranks * MILLI,
        }
    }
}

/// What had to be assumed, in one line; empty when nothing had.
pub fn assumed_line(assumed: Assumed) -> String {
    let parts = [
        assumed.zone.map(|zone| format!("times in {zone}")),
        assumed
            .start_unit
            .map(|unit| format!("starts in {}", unit.as_str())),
        assumed
            .duration_unit
            .map(|unit| format!("durations in {}", unit.as_str())),
    ];
    let said: Vec<String> = parts.into_iter().flatten().collect();
    if said.is_empty() {
        String::new()
    } else {
        format!("assumed: {}", said.join(", "))
    }
}
