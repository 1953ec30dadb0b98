//! Rows that say what rows before them said, but for their ids and times.
//!
//! Owns which label set each such part of a row gave: service, operation, kind, outcome and whatever else cells and
//! attributes tell. Invariant: a row taken here gives what [`Intake::take`] gives of it; a row with anything
//! unusual in its ids or times is left to that, and so is one about which something is noticed. Memory is that of
//! [`Known`]. Costs one walk over the cells. Pinned by `tests` and by `tests/ingest/properties.rs`.

use herdscope_cells::clock::{self, Today};
use herdscope_cells::cut::{Cut, Cutter};
use herdscope_cells::ids;
use herdscope_cells::known::Known;

use super::exporters::Field;
use super::ids::is_no_parent;
use super::intake::{Intake, LONGEST, Record, STARTS, bare};
use super::plan::{ABSENT, Plan};
use super::sampling;
use super::time::{Mark, Stamp, Told, Unit, parse_duration};

/// What is known of the rows so far.
#[derive(Debug)]
pub(super) struct Quick {
    known: Known,
    /// The label set that each has, in `SpanRows::label_sets`.
    labels: Vec<u32>,
    start: Clock,
    end: Clock,
    ends_tell: bool,
}

/// How starts or ends are written.
#[derive(Debug)]
struct Clock {
    field: Field,
    column: usize,
    unit: Option<Unit>,
    today: Today,
}

/// What became of a row.
pub(super) enum Taken {
    Yes,
    /// It is to be taken otherwise.
    No,
    /// The same, and what is made of it can be remembered under this hash.
    Unknown(u64),
}

/// Fields whose cells tell nothing but what is remembered.
const REPEATING: &[Field] = &[
    Field::Service,
    Field::Operation,
    Field::Kind,
    Field::Status,
    Field::Error,
    Field::Success,
    Field::Http,
    Field::Grpc,
    Field::Message,
    Field::Instance,
    Field::Peer,
    Field::TraceState,
    Field::SampleRate,
    Field::Annotation,
];

impl Quick {
    /// `None` where each row tells something that is in no column of its own.
    pub(super) fn new(plan: &Plan) -> Option<Quick> {
        let odd = [Field::References, Field::TraceLow, Field::Nanos];
        let needed = [Field::Trace, Field::Span, Field::Start];
        if plan.exporter.rows_are_ends_of_calls
            || odd.iter().any(|&it| plan.has(it))
            || !needed.iter().all(|&it| plan.has(it))
        {
            return None;
        }
        let fields = REPEATING.iter().flat_map(|&it| plan.tried(it));
        let others = plan.attributes.iter().chain(&plan.breaker);
        let columns = fields.chain(others).copied();
        let mut columns: Vec<u32> = columns.filter(|&it| it != ABSENT).collect();
        crate::order::sort(&mut columns, &mut |a, b| a.cmp(&b));
        let clock = |field, unit| Clock {
            field,
            column: plan.column(field) as usize,
            unit,
            today: Today::default(),
        };
        Some(Quick {
            known: Known::new(&columns),
            labels: Vec::new(),
            start: clock(Field::Start, plan.unit_of_numbers(Field::Start)),
            end: clock(Field::End, plan.unit_of_numbers(Field::End)),
            ends_tell: plan.duration_from_end(),
        })
    }
}

impl Clock {
    fn read(&mut self, plan: &Plan, cell: &[u8], day_first: Option<bool>) -> Option<Stamp> {
        if let Some(time) = clock::time(cell, &mut self.today) {
            let offset = plan.told.zone.filter(|_| !time.zoned);
            return Some(Stamp {
                ns: time
                    .ns
                    .checked_sub(i64::from(offset.unwrap_or(0)) * 1_000_000_000)?,
                zoned: time.zoned || offset.is_some(),
                fine: time.fine,
                mark: Mark::None,
            });
        }
        if let Some(unit) = self.unit
            && let Some(number) = clock::number(cell)
            && (!plan.by_digits(self.field) || Unit::of_epoch(number.into()) == Some(unit))
        {
            return Some(Stamp {
                ns: i64::try_from(number.checked_mul(unit.ns())?).ok()?,
                zoned: true,
                fine: unit != Unit::S,
                mark: Mark::None,
            });
        }
        self.read_patiently(plan, cell, day_first)
    }

    #[inline(never)]
    fn read_patiently(&self, plan: &Plan, cell: &[u8], day_first: Option<bool>) -> Option<Stamp> {
        let text = bare(plan, std::str::from_utf8(cell).ok()?);
        let stamp = plan.time(self.field, text, day_first)?;
        Some(stamp).filter(|it| it.mark == Mark::None)
    }
}

impl Intake {
    /// Takes a record that is like one before.
    pub(super) fn take_known(
        &mut self,
        plan: &Plan,
        text: &[u8],
        cutter: &Cutter,
        row: u64,
    ) -> Taken {
        let Some(quick) = &mut self.quick else {
            return Taken::No;
        };
        if !quick.known.is_of_use() {
            return Taken::No;
        }
        let is_text = |text: &[u8]| std::str::from_utf8(text).is_ok();
        if !(cutter.is_ascii() || is_text(text) && is_text(cutter.rewritten())) {
            return Taken::No;
        }
        let labels = match quick.known.find(text, cutter.cuts()) {
            Ok(number) => quick.labels.get(number as usize).copied(),
            Err(hash) => return Taken::Unknown(hash),
        };
        let day_first = self.dates.day_first;
        let cell = |column: usize| {
            let cut = cutter.cuts().get(column);
            cut.map_or(&[][..], |it: &Cut| it.of(text, cutter.rewritten()))
        };
        let start = cell(quick.start.column);
        let start = quick.start.read(plan, start, day_first);
        let (Some(labels), Some(start)) = (labels, start.filter(|it| STARTS.contains(&it.ns)))
        else {
            return Taken::No;
        };
        let duration = match quick.ends_tell {
            true => {
                let end = quick.end.read(plan, cell(quick.end.column), day_first);
                end.and_then(|it| u64::try_from(it.ns.checked_sub(start.ns)?).ok())
            }
            false => duration(plan, cell(plan.column(Field::Duration) as usize)),
        };
        let Some(duration) = duration.filter(|&it| it <= LONGEST) else {
            return Taken::No;
        };
        let [trace, span, parent] = [Field::Trace, Field::Span, Field::Parent]
            .map(|field| cell(plan.column(field) as usize));
        let Some(is_root) = is_root(plan, trace, span, parent) else {
            return Taken::No;
        };
        if sampling::is_left_out(trace, plan.told.sample) {
            self.left_out += 1;
            return Taken::Yes;
        }
        self.note_stamp(start, plan, row);
        let ids = [trace, span, if is_root { b"" } else { parent }];
        let row = u32::try_from(row).unwrap_or(u32::MAX);
        self.rows
            .push_labelled(ids, start.ns, duration, labels, row);
        Taken::Yes
    }

    /// Takes a record the patient way, and remembers what was made of it if nothing was noticed.
    #[inline(never)]
    pub(super) fn learn(&mut self, plan: &Plan, record: Record<'_>, row: u64, hash: u64) {
        let before = self.noticed();
        let n_rows = self.rows.len();
        self.take(plan, record, row);
        if self.noticed() != before || self.rows.len() != n_rows + 1 {
            return;
        }
        let labels = self.rows.labels[n_rows];
        if let Some(quick) = &mut self.quick
            && quick
                .known
                .add(hash, record.text.as_bytes(), record.cuts)
                .is_some()
        {
            quick.labels.push(labels);
        }
    }
}

/// The nanoseconds of a duration that is written as most are.
fn duration(plan: &Plan, cell: &[u8]) -> Option<u64> {
    if let Some(number) = clock::number(cell) {
        return number.checked_mul(plan.duration_unit.ns());
    }
    let text = bare(plan, std::str::from_utf8(cell).ok()?);
    if !plan.decimal_comma && cell.contains(&b',') {
        return None;
    }
    match parse_duration(text, plan.duration_unit, plan.decimal_comma) {
        Told::Ns(ns) => Some(ns),
        _ => None,
    }
}

/// Whether a span has no parent; `None` where an id is anything but one that is taken as it is.
fn is_root(plan: &Plan, trace: &[u8], span: &[u8], parent: &[u8]) -> Option<bool> {
    let exporter = plan.exporter;
    // Shorter ones may be words for nothing, or have lost zeros.
    let least = if exporter.ids_lost_zeros { 16 } else { 10 };
    let is_plain = |id: &[u8]| id.len() >= least && ids::is_plain(id);
    if !is_plain(trace) || !is_plain(span) {
        return None;
    }
    let is_none = || std::str::from_utf8(parent).is_ok_and(is_no_parent);
    if !is_plain(parent) || parent.first() == Some(&b'0') && is_none() {
        // Another column may tell it.
        let only = plan.tried(Field::Parent)[1] == ABSENT;
        return (only && is_none()).then_some(true);
    }
    if let [number @ .., b'.', b'0'] = parent
        && number.iter().all(u8::is_ascii_digit)
    {
        return None;
    }
    Some(parent == span || exporter.roots_name_their_trace && parent == trace)
}
