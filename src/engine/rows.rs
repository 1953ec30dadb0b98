//! The row of a span, read once more from the file that it stands in.
//!
//! Owns which file, from where on, and why there is no row to show. Invariant: cells are those of the span that was
//! asked for, or there are none but a sentence. Costs nothing until it is fed. Pinned by `tests/it/row.rs`.

use super::Engine;
use crate::dataset::Dataset;
use crate::files::FileFacts;
use crate::filter::{self, Field};
use crate::ingest::row::{Again, Places};
use crate::panes::{self, Block};
use crate::rows::NONE;
use crate::spans::{Rank, SpanIdx};
use crate::view::Source;

/// A row that is being read again.
pub struct Row {
    again: Again,
    trace: String,
    span: String,
    /// What the table keeps of the span.
    kept: Vec<(Field, String)>,
    name: String,
    /// Where its file is, if it is at an address.
    pub url: Option<String>,
    /// From which byte of it on bytes are wanted.
    pub from: u64,
}

impl Engine {
    /// Begins to read the row of a span again; why there is none is a sentence for the person.
    #[inline(never)]
    pub fn row(&self, span: u32) -> Result<Row, String> {
        let data = &self.loaded;
        let facts = file(data, span).filter(|_| self.reading.is_none());
        let (Some(facts), Some(&row)) = (facts, data.table.row.get(span as usize)) else {
            return Err("Rows are read again when all of the file has been read.".to_owned());
        };
        let why = match (&facts.source, &facts.places) {
            (Some(Source::Sample(_)), _) => "is simulated: its spans stand in no file",
            (Some(Source::ClickHouse(_)), _) => {
                "is an answer that is not kept: ask the ClickHouse for the attributes of this span"
            }
            (_, None) => "is no table: rows are read again of CSV and other tables only",
            (source, Some(places)) => {
                let url = match source {
                    Some(Source::Url(url)) => Some(url.clone()),
                    _ => None,
                };
                // What comes from an address comes from its beginning.
                let again = Again::new(places.clone(), row, url.is_some());
                return Ok(Row {
                    from: again.from,
                    again,
                    trace: String::from(&*data.table.trace_id(rank(data, span))),
                    span: String::from(&*data.table.span_id(SpanIdx(span))),
                    kept: kept(data, span),
                    name: facts.name.clone(),
                    url,
                });
            }
        };
        Err([&facts.name, " ", why, "."].concat())
    }

    /// Whether the row of a span costs what stands near it alone.
    pub(super) fn is_at_hand(&self, span: SpanIdx) -> bool {
        let facts = file(self.dataset(), span.0);
        let told = facts.filter(|it| matches!(it.source, None | Some(Source::File(_))));
        let places = told.and_then(|it| it.places.as_deref());
        places.is_some_and(Places::are_direct)
    }
}

fn rank(data: &Dataset, span: u32) -> Rank {
    data.table.rank[span as usize]
}

fn kept(data: &Dataset, span: u32) -> Vec<(Field, String)> {
    let table = &data.table;
    let set = table.label_sets.get(table.labels[span as usize]);
    let texts = filter::FIELDS.iter().map(|&(_, field)| {
        let text = filter::matches::text_of(set, field);
        (field, text)
    });
    let texts = texts.filter(|it| it.1 != NONE);
    texts
        .map(|(field, text)| (field, table.names.get(text).to_owned()))
        .collect()
}

/// Which of the files a span stands in.
pub(super) fn file_of(data: &Dataset, span: u32) -> u16 {
    data.table.file.get(span as usize).copied().unwrap_or(0)
}

fn file(data: &Dataset, span: u32) -> Option<&FileFacts> {
    data.files.get(usize::from(file_of(data, span)))
}

impl Row {
    /// Takes the next bytes. Whether no more are needed.
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        // What cannot be read is not the row, which is said at the end.
        self.again.push(bytes).unwrap_or(true)
    }

    /// What the row says.
    #[inline(never)]
    pub fn finish(self) -> Result<Vec<Block>, String> {
        match self.again.finish(&self.trace, &self.span) {
            Some(cells) => Ok(panes::row(cells, &self.kept)),
            None => Err([
                &self.name,
                " has changed since it was read: the row of this span is not where it was. Open it again.",
            ]
            .concat()),
        }
    }
}
