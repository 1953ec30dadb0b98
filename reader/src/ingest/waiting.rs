//! Spans that wait until what they belong to has been read: a process of the trace, a resource.
//!
//! Owns the order: a span goes on to the intake as soon as its group is settled, whichever of the two
//! came first. Invariants: spans go on in the order in which they came; a group that ends without
//! what a span belongs to costs the span its service, not the span. Memory is what is kept of the
//! spans and owners of one group ([`Queue::size`]). O(text kept). Pinned by `tests/ingest/json.rs`.

use std::ops::Range;

use super::exporters::{Exporter, JAEGER_JSON, OTLP_JSON};
use super::intake::{Intake, Record};
use super::plan::{self, Plan};
use super::told::Told;
use crate::strings::Strings;
use herdscope_cells::cut::Cut;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Jaeger,
    Otlp,
}

impl Format {
    fn exporter(self) -> &'static Exporter {
        match self {
            Format::Jaeger => &JAEGER_JSON,
            Format::Otlp => &OTLP_JSON,
        }
    }

    fn plan(self, told: &Told) -> Option<Plan> {
        let exporter = self.exporter();
        let layout = *exporter.layouts.first()?;
        plan::plan(Some(exporter), plan::owned(layout), &[], false, told)
    }
}

/// The spans and the owners of one trace or resource.
#[derive(Default)]
pub(super) struct Queue {
    told: Told,
    /// Of the formats met. A file hardly has two.
    plans: Vec<(Format, Plan)>,
    /// All owners are known: no span has to wait.
    settled: bool,
    ids: Strings,
    id_bytes: usize,
    /// Service and attributes of each owner, and where they are, by the index of its id.
    owners: Texts,
    owner_cells: Vec<Range<usize>>,
    cells: Texts,
    spans: Vec<Waiting>,
    record: Texts,
}

struct Waiting {
    /// Which of the plans.
    plan: usize,
    row: u64,
    owner: u32,
    /// Where its cells and attributes end among those of all.
    end: usize,
}

impl Queue {
    pub(super) fn new(told: Told) -> Queue {
        Queue {
            told,
            ..Queue::default()
        }
    }

    /// What the spans of a format are taken by.
    pub(super) fn plan(&mut self, format: Format) -> Option<Plan> {
        self.plan_at(format)?;
        let mut plans = std::mem::take(&mut self.plans).into_iter();
        plans.find(|it| it.0 == format).map(|it| it.1)
    }

    fn plan_at(&mut self, format: Format) -> Option<usize> {
        let at = self.plans.iter().position(|it| it.0 == format);
        if at.is_some() {
            return at;
        }
        let mut plan = format.plan(&self.told);
        if plan.is_none() {
            // The columns that were told leave no start: they are not about documents.
            let columns = std::mem::take(&mut self.told.columns);
            plan = format.plan(&self.told);
            plan.as_mut()?.missing = columns;
        }
        self.plans.push((format, plan?));
        Some(self.plans.len() - 1)
    }

    /// A trace or a resource begins.
    pub(super) fn begin(&mut self, intake: &mut Intake) {
        self.settle(intake);
        self.settled = false;
        self.owners.clear();
        self.owner_cells.clear();
        if self.id_bytes > 0 {
            self.ids = Strings::default();
            self.id_bytes = 0;
        }
    }

    /// Where the cells and attributes of a span go before [`Queue::span`] is called.
    pub(super) fn cells(&mut self) -> &mut Texts {
        &mut self.cells
    }

    /// Takes the span whose cells were written last.
    pub(super) fn span(&mut self, format: Format, owner: &str, row: u64, intake: &mut Intake) {
        let Some(plan) = self.plan_at(format) else {
            return;
        };
        let owner = self.id(owner);
        self.spans.push(Waiting {
            plan,
            row,
            owner,
            end: self.cells.cuts.len(),
        });
        if self.settled {
            self.settle(intake);
        }
    }

    /// Takes what the spans of an id belong to.
    pub(super) fn owner(&mut self, id: &str, service: &str, attributes: &Texts) {
        let at = self.id(id) as usize;
        let start = self.owners.len();
        self.owners.push(service);
        self.owners.append(attributes, 0..attributes.len());
        if self.owner_cells.len() <= at {
            self.owner_cells.resize(at + 1, 0..0);
        }
        self.owner_cells[at] = start..self.owners.len();
    }

    /// No more owners come.
    pub(super) fn settle(&mut self, intake: &mut Intake) {
        self.settled = true;
        let mut start = 0;
        for span in &self.spans {
            let plan = &self.plans[span.plan].1;
            // The last column is the service, which its owner tells.
            let attributes = start + plan.headers.len() - 1;
            self.record.clear();
            self.record.append(&self.cells, start..attributes);
            match self.owner_cells.get(span.owner as usize) {
                Some(cells) if !cells.is_empty() => self.record.append(&self.owners, cells.clone()),
                _ => self.record.push(""),
            }
            self.record.append(&self.cells, attributes..span.end);
            start = span.end;
            let record = Record {
                text: &self.record.text,
                rewritten: "",
                cuts: &self.record.cuts,
            };
            intake.take(plan, record, span.row);
        }
        self.spans.clear();
        self.cells.clear();
    }

    pub(super) fn size(&self) -> usize {
        let spans = self.spans.len() * size_of::<Waiting>();
        self.cells.size() + spans + self.owners.size() + self.id_bytes
    }

    fn id(&mut self, id: &str) -> u32 {
        let before = self.ids.len();
        let index = self.ids.intern(id);
        if self.ids.len() > before {
            self.id_bytes += id.len() + 16;
        }
        index
    }
}

/// Texts one after the other.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) text: String,
    pub(super) cuts: Vec<Cut>,
}

impl Texts {
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.end_cell();
    }

    /// A cell ends where the text does.
    pub(super) fn end_cell(&mut self) {
        let to = self.text.len() as u32;
        let from = self.cuts.last().map_or(0, |it| it.to);
        self.cuts.push(Cut { from, to, end: to });
    }

    fn start(&self, at: usize) -> usize {
        let before = at.checked_sub(1).and_then(|at| self.cuts.get(at));
        before.map_or(0, |it| it.to as usize)
    }

    pub(super) fn get(&self, at: usize) -> &str {
        self.text
            .get(self.start(at)..self.start(at + 1))
            .unwrap_or("")
    }

    pub(super) fn append(&mut self, from: &Texts, cells: Range<usize>) {
        for at in cells {
            self.push(from.get(at));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.cuts.len()
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.cuts.clear();
    }

    pub(super) fn size(&self) -> usize {
        self.text.len() + self.cuts.len() * size_of::<Cut>()
    }
}
