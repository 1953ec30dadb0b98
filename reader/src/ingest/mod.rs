//! Bytes of a file to span rows.
//!
//! Owns everything about files: gz and encodings (`decode`), tables (`head`, `sheet`), JSON (`json`,
//! `documents`, `places`, `waiting`), which exporter wrote it ([`exporters`], `plan`), what its cells
//! mean (`intake`, `quick`, `status`, [`time`], `columns`, `attributes`), and why it cannot be read ([`Unreadable`]). A [`Reader`]
//! takes the bytes as they come and holds the rows so far; it knows neither files nor browsers, and
//! nothing of parents, traces or calls.
//!
//! Invariants: no bytes make it panic; any split of the bytes into pushes gives the same result;
//! a bad row costs that row. Memory beyond the rows is bounded by [`Limits`]. Time is one walk over the
//! bytes by `sheet` or `json`, then work on the few cells that the plan names. Pinned by
//! `tests/ingest/properties.rs` (splits, panics), `tests/ingest/exporters.rs` (what is recognised),
//! `tests/ingest/edge.rs`, `tests/ingest/json.rs` and `tests/ingest/bad_input.rs`.

mod attributes;
mod columns;
mod decode;
mod documents;
pub mod exporters;
mod gzip;
mod head;
mod ids;
mod intake;
mod json;
mod places;
mod plan;
mod quick;
pub mod row;
mod sampling;
mod sheet;
mod status;
pub mod time;
mod told;
mod unmapped;
mod unreadable;
mod waiting;

use std::sync::Arc;

use serde::Serialize;

use self::decode::Decoder;
use self::gzip::{Gunzip, Stop};
use self::row::Places;
use self::sheet::Sheet;
use self::time::Unit;
pub use self::told::{Told, ToldError};
pub use self::unmapped::Unmapped;
pub use self::unreadable::{Unreadable, UnreadableKind};
use crate::issues::{Code, Issues};
use crate::rows::SpanRows;

/// Whether columns are told by this name.
pub fn is_field(name: &str) -> bool {
    exporters::Field::named(name).is_some()
}

/// What a reader bears. Small ones let tests go where only large files go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The bytes that a row may have.
    pub longest_row: usize,
    /// The bytes that the header line may have.
    pub longest_header: usize,
    /// How many times its size a gz file may unpack to.
    pub gz_ratio: u64,
    /// Unpacked bytes below which the ratio is not judged.
    pub gz_free: u64,
    /// The first bytes of text, which the dialect and the units are told from.
    pub sniffed: usize,
    /// The bytes of what is kept of spans that wait for the process or resource that they belong to.
    pub waiting: usize,
}

impl Limits {
    /// So small that a few lines reach each of them.
    pub const TIGHT: Limits = Limits {
        longest_row: 300,
        longest_header: 200,
        gz_ratio: 3,
        gz_free: 500,
        sniffed: 64,
        waiting: 900,
    };
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            longest_row: 8 << 20,
            longest_header: 1 << 20,
            gz_ratio: 250,
            gz_free: 64 << 20,
            sniffed: 64 << 10,
            waiting: 256 << 20,
        }
    }
}

/// Reads one file, piece by piece.
pub struct Reader {
    stage: Stage,
    limits: Limits,
    bytes_in: u64,
    /// Bytes of gz that fill no block yet.
    block: Vec<u8>,
    /// How many bytes the gz decoder was given.
    unpacked: u64,
    failed: Option<Unreadable>,
}

enum Stage {
    /// Too few bytes to know whether they are gz.
    Start(Box<Decoder>, Vec<u8>),
    Plain(Box<Decoder>),
    Gz(Box<Gz>),
}

struct Gz {
    gunzip: Gunzip,
    decoder: Decoder,
    /// How many bytes came out.
    bytes_out: u64,
}

/// What a file holds.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The spans.
    pub rows: SpanRows,
    /// Who wrote it.
    pub exporter: &'static str,
    /// What the file does not say.
    pub assumed: Assumed,
    /// What a person said about it.
    pub told: Told,
    /// The head of a table whose columns a person has told, to tell them otherwise.
    pub head: Option<Box<Unmapped>>,
    /// What it takes to read rows of it again; `None` for what is no table.
    pub places: Option<Arc<Places>>,
    /// What was noticed.
    pub issues: Issues,
}

impl Reading {
    /// What is left of it when nothing after the first `n_rows` rows is to be held.
    pub fn cut(&mut self, n_rows: usize) {
        self.rows.truncate(n_rows);
        let last = self.rows.row.last().map(|&it| it.into());
        // The end was not the file's.
        for code in [Code::RowTruncated, Code::QuoteOpen, Code::JsonBroken] {
            self.issues.forget(code);
        }
        self.issues.note(Code::MemoryFull, last, None, None);
    }
}

/// What was assumed; `None` where the file says it itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Assumed {
    /// The zone of times without one.
    pub zone: Option<&'static str>,
    /// The unit of starts that are plain numbers.
    pub start_unit: Option<Unit>,
    /// The unit of durations that are plain numbers.
    pub duration_unit: Option<Unit>,
    /// What comes first in dates like 3/4/2026.
    pub dates: Option<&'static str>,
}

/// Gz is unpacked in blocks of this size, however the bytes come: how much comes out of a damaged block
/// depends on where it was cut.
const GZ_BLOCK: usize = 4 << 10;

impl Reader {
    /// A reader that has seen nothing yet.
    pub fn new(limits: Limits) -> Reader {
        let decoder = Box::new(Decoder::new(Sheet::new(limits)));
        Reader {
            stage: Stage::Start(decoder, Vec::new()),
            limits,
            bytes_in: 0,
            block: Vec::new(),
            unpacked: 0,
            failed: None,
        }
    }

    /// A reader that heeds what a person says about the file; to be told before the first bytes.
    pub fn telling(mut self, told: Told) -> Reader {
        if let Stage::Start(decoder, _) = &mut self.stage {
            decoder.sheet.told = told;
        }
        self
    }

    /// What a person says about the file.
    pub fn told(&self) -> &Told {
        &self.decoder().sheet.told
    }

    /// Takes the next bytes. After an error every call gives the same one.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        if let Some(why) = &self.failed {
            return Err(why.clone());
        }
        self.bytes_in += bytes.len() as u64;
        let result = self.read(bytes);
        self.failed = result.as_ref().err().cloned();
        result
    }

    /// The end of the file.
    pub fn finish(mut self) -> Result<Reading, Unreadable> {
        if let Some(why) = self.failed {
            return Err(why);
        }
        self.end()?;
        let (mut cut, mut rest, mut direct) = (false, false, true);
        let decoder = match self.stage {
            Stage::Start(decoder, _) | Stage::Plain(decoder) => decoder,
            Stage::Gz(gz) => {
                cut = !gz.gunzip.is_whole();
                rest = gz.gunzip.has_rest();
                direct = false;
                Box::new(gz.decoder)
            }
        };
        direct &= decoder.is_plain();
        let mut sheet = decoder.sheet;
        let Some(plan) = sheet.take_plan() else {
            return Err(Unreadable::empty());
        };
        let places = sheet.places(plan.clone(), direct);
        let mut intake = sheet.intake;
        if cut && intake.issues.count(Code::RowTruncated) == 0 {
            intake.issues.note(Code::RowTruncated, None, None, None);
        }
        if rest {
            intake.issues.note(Code::GzRest, None, None, None);
        }
        let zone = intake.assumed_utc().then_some("UTC");
        let dates = intake.assumed_dates();
        let dates = dates.filter(|_| plan.told.day_first.is_none());
        let start_unit = plan.start_unit.filter(|_| plan.start_unit_assumed);
        let duration_unit = plan.duration_unit_assumed.then_some(plan.duration_unit);
        Ok(Reading {
            assumed: Assumed {
                zone,
                start_unit,
                duration_unit,
                dates,
            },
            head: (!plan.told.columns.is_empty() && !sheet.first_rows.is_empty()).then(|| {
                let headers = plan.headers.iter().map(String::as_str);
                Box::new(Unmapped::new(headers, &sheet.first_rows))
            }),
            told: plan.told.clone(),
            places,
            exporter: plan.exporter.name,
            rows: intake.rows,
            issues: intake.issues,
        })
    }

    /// Reads what is held back.
    #[inline(never)]
    fn end(&mut self) -> Result<(), Unreadable> {
        if let Stage::Start(..) = self.stage {
            self.begin()?;
        }
        let block = std::mem::take(&mut self.block);
        if !block.is_empty() {
            self.unpack_block(&block)?;
        }
        match &mut self.stage {
            Stage::Start(decoder, _) | Stage::Plain(decoder) => decoder.finish(),
            Stage::Gz(gz) if gz.bytes_out == 0 && !gz.gunzip.is_whole() => {
                Err(Unreadable::gz_broken(self.unpacked))
            }
            Stage::Gz(gz) => gz.decoder.finish(),
        }
    }

    /// What is read so far.
    pub fn rows(&self) -> &SpanRows {
        &self.decoder().sheet.intake.rows
    }

    /// What is read so far. Rows that are taken out are to be put back before the next bytes come.
    pub fn rows_mut(&mut self) -> &mut SpanRows {
        let decoder = match &mut self.stage {
            Stage::Start(decoder, _) | Stage::Plain(decoder) => decoder,
            Stage::Gz(gz) => &mut gz.decoder,
        };
        &mut decoder.sheet.intake.rows
    }

    fn decoder(&self) -> &Decoder {
        match &self.stage {
            Stage::Start(decoder, _) | Stage::Plain(decoder) => decoder,
            Stage::Gz(gz) => &gz.decoder,
        }
    }

    /// How many bytes were pushed.
    pub fn bytes_in(&self) -> u64 {
        self.bytes_in
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        match &mut self.stage {
            Stage::Plain(decoder) => decoder.push(bytes),
            Stage::Gz(_) => self.unpack(bytes),
            Stage::Start(_, held) => {
                let wanted = 3usize.saturating_sub(held.len()).min(bytes.len());
                let (now, later) = bytes.split_at(wanted);
                held.extend_from_slice(now);
                if held.len() < 3 {
                    return Ok(());
                }
                self.begin()?;
                self.read(later)
            }
        }
    }

    /// Looks at the first bytes.
    fn begin(&mut self) -> Result<(), Unreadable> {
        let placeholder = Stage::Plain(Box::new(Decoder::new(Sheet::new(self.limits))));
        let Stage::Start(decoder, held) = std::mem::replace(&mut self.stage, placeholder) else {
            return Ok(());
        };
        self.stage = match held[..] {
            [0x1F, 0x8B, 8] => Stage::Gz(Box::new(Gz {
                gunzip: Gunzip::new(),
                decoder: *decoder,
                bytes_out: 0,
            })),
            _ => Stage::Plain(decoder),
        };
        self.read(&held)
    }

    fn unpack(&mut self, mut bytes: &[u8]) -> Result<(), Unreadable> {
        let mut block = std::mem::take(&mut self.block);
        if !block.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(GZ_BLOCK - block.len()));
            block.extend_from_slice(now);
            bytes = later;
            if block.len() == GZ_BLOCK {
                self.unpack_block(&block)?;
                block.clear();
            }
        }
        let (blocks, rest) = bytes.as_chunks::<GZ_BLOCK>();
        for block in blocks {
            self.unpack_block(block)?;
        }
        block.extend_from_slice(rest);
        self.block = block;
        Ok(())
    }

    fn unpack_block(&mut self, block: &[u8]) -> Result<(), Unreadable> {
        let Stage::Gz(gz) = &mut self.stage else {
            return Ok(());
        };
        let Limits {
            gz_ratio, gz_free, ..
        } = self.limits;
        let most = (self.unpacked + GZ_BLOCK as u64).saturating_mul(gz_ratio);
        let most = most.max(gz_free);
        let Gz {
            gunzip,
            decoder,
            bytes_out,
        } = &mut **gz;
        let pushed = gunzip.push(block, &mut |bytes| {
            *bytes_out += bytes.len() as u64;
            if *bytes_out > most {
                return Err(Unreadable::gz_bomb(gz_ratio));
            }
            decoder.push(bytes)
        });
        pushed.map_err(|stop| match stop {
            Stop::Damaged => Unreadable::gz_broken(self.unpacked),
            Stop::Refused(why) => why,
        })?;
        self.unpacked += block.len() as u64;
        Ok(())
    }
}
