//! One record to one span row.
//!
//! Owns what cells mean: sentinels of roots, kinds, pods. Invariant: a
//! record costs at most itself: what cannot be read becomes an issue, and nothing panics. No
//! allocation a row beyond the columns and interned texts; O(length of the record). Pinned by `tests`,
//! by `tests/ingest/edge.rs` and, what a column tells as a whole, by `tests/ingest/times.rs`.

use std::fmt::Write as _;
use std::ops::Range;

use herdscope_cells::cut::{Cut, REWRITTEN};

use super::attributes;
use super::columns::{Commas, DAY, Dates};
use super::exporters::{Field, GENERIC};
use super::ids::{
    is_broken, is_no_parent, of_number, of_spreadsheet, padded, parent_of_path,
    parent_of_references,
};
use super::plan::{ABSENT, Plan};
use super::quick::Quick;
use super::sampling::{self, Rates};
use super::status::{Status, grpc, status, status_number, truth, truth_or_status};
use super::time::{Mark, Stamp, Told, Unit, parse_duration};
use crate::issues::{Code, Issues};
use crate::outcome::{Evidence, Outcome, outcome};
use crate::recorded;
use crate::rows::{Kind, NO_PARENT, SpanRow, SpanRows};
use crate::strings::Strings;

/// When spans can start, in nanoseconds since 1970: from 1896 to 2116. With [`LONGEST`], the distance
/// of any two times of a file and some room around them is an `i64`.
pub(super) const STARTS: Range<i64> = -(1 << 61)..1 << 62;

/// How long spans can last, in nanoseconds: 36 years.
pub(super) const LONGEST: u64 = 1 << 60;

/// The cells of one row.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) text: &'a str,
    /// The text of cells that do not stand in it as they are.
    pub(super) rewritten: &'a str,
    pub(super) cuts: &'a [Cut],
}

impl<'a> Record<'a> {
    #[inline]
    pub(super) fn get(&self, column: usize) -> &'a str {
        let Some(cut) = self.cuts.get(column) else {
            return "";
        };
        let (text, from) = match cut.from & REWRITTEN {
            0 => (self.text, cut.from),
            _ => (self.rewritten, cut.from & !REWRITTEN),
        };
        text.get(from as usize..cut.to as usize).unwrap_or("")
    }

    pub(super) fn len(&self) -> usize {
        self.cuts.len()
    }

    pub(super) fn iter(self) -> impl Iterator<Item = &'a str> {
        (0..self.len()).map(move |column| self.get(column))
    }
}

/// How often, and where first.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    count: u64,
    first: u64,
}

impl Tally {
    fn note(&mut self, row: u64) {
        if self.count == 0 {
            self.first = row;
        }
        self.count += 1;
    }
}

/// What is read so far, and what was noticed on nearly every row.
#[derive(Debug, Default)]
pub(super) struct Intake {
    pub(super) rows: SpanRows,
    pub(super) issues: Issues,
    /// Records met, those left out included.
    pub(super) met: u64,
    unzoned: Tally,
    without_trace: Tally,
    sampled: Tally,
    rates: Rates,
    /// Rows of traces that were not to be read.
    pub(super) left_out: u64,
    coarse: Tally,
    /// Starts that are finer than seconds.
    fine: u64,
    pub(super) dates: Dates,
    commas: Commas,
    /// Something told how a span ended, or could have: attributes name failures alone.
    outcome_told: bool,
    made_up: String,
    joined: String,
    message: String,
    breaker: String,
    /// The cells of a row that is read again.
    pub(super) kept: Option<Vec<String>>,
    /// What is known of the rows so far, where rows can be taken by it.
    pub(super) quick: Option<Quick>,
}

impl Intake {
    /// Takes one record: as many cells as the header has, then attributes, a key and a value each.
    pub(super) fn take(&mut self, plan: &Plan, record: Record<'_>, row: u64) {
        if let Some(kept) = &mut self.kept {
            kept.extend(record.iter().map(str::to_owned));
        }
        let cell = |field| cell(plan, record, field);
        // Cells that few files have, through one call: what is inlined at each place weighs on the page.
        let rare = |field| match plan.has(field) {
            true => rare_cell(plan, record, field),
            false => "",
        };
        let annotation = rare(Field::Annotation);
        if matches!(annotation, "span_event" | "link") {
            return self.note_cell(plan, Code::NotASpan, Field::Annotation, row, annotation);
        }
        let text = cell(Field::Start);
        let start = plan.time(Field::Start, text, self.dates.day_first);
        let start = start.and_then(|it| with_nanos(it, rare(Field::Nanos)));
        let Some(mut start) = start.filter(|it| STARTS.contains(&it.ns)) else {
            return self.note_cell(plan, Code::BadTime, Field::Start, row, text);
        };
        self.note_stamp(start, plan, row);
        let duration = match start.mark {
            Mark::None => self.duration(plan, record, start, row),
            _ => self.settle_mark(plan, record, &mut start, row),
        };

        let exporter = plan.exporter;
        let (mut trace, mut span, mut parent) = (
            cell(Field::Trace),
            cell(Field::Span),
            of_number(cell(Field::Parent)),
        );
        for (field, id) in [
            (Field::Trace, &mut trace),
            (Field::Span, &mut span),
            (Field::Parent, &mut parent),
        ] {
            if is_broken(id) {
                self.note_cell(plan, Code::BadId, field, row, id);
                *id = "";
            }
        }
        let mut joined = std::mem::take(&mut self.joined);
        if !trace.is_empty() && plan.has(Field::TraceLow) {
            joined.clear();
            joined.extend([trace, ":", rare(Field::TraceLow)]);
            trace = &joined;
        }
        let rewritten = [(Field::Trace, trace), (Field::Span, span)];
        if let Some(&(field, id)) = rewritten.iter().find(|it| of_spreadsheet(it.1)) {
            self.note_cell(plan, Code::SpreadsheetIds, field, row, id);
            (trace, span, parent) = ("", "", "");
        } else if trace.is_empty() {
            self.without_trace.note(row);
            parent = "";
        }
        let mut made_up = std::mem::take(&mut self.made_up);
        if trace.is_empty() || span.is_empty() {
            made_up.clear();
            let _ = write!(made_up, "row:{row}");
        }
        trace = if trace.is_empty() { &made_up } else { trace };
        span = if span.is_empty() { &made_up } else { span };
        let mut buffers = [[0; 16]; 3];
        if exporter.ids_lost_zeros {
            let [a, b, c] = &mut buffers;
            (trace, span, parent) = (padded(trace, a), padded(span, b), padded(parent, c));
        }
        if sampling::is_left_out(trace.as_bytes(), plan.told.sample) {
            self.left_out += 1;
            (self.made_up, self.joined) = (made_up, joined);
            return;
        }
        if is_no_parent(parent) {
            let references = rare(Field::References);
            parent = parent_of_references(references);
        }
        let of_root = is_no_parent(parent)
            || parent == span
            || exporter.roots_name_their_trace && parent == trace;
        let mut parent = (!of_root).then_some(parent);
        if exporter.rows_are_ends_of_calls {
            parent = parent_of_path(span);
        }

        let mut found = Found::default();
        self.look_into_attributes(plan, record, row, &mut found);
        let mut kind = match kind(cell(Field::Kind)) {
            Kind::Unset => kind(found.kind),
            told => told,
        };
        let told = of_statuses(plan, record)
            .or(truth_or_status(rare(Field::Error), false))
            .or(truth_or_status(rare(Field::Success), true))
            .or(grpc(rare(Field::Grpc)));
        let unknown = told.unknown;
        let told = told.or(found.status);
        let (failed, grpc) = (told.failed, told.grpc);
        let http = status_number(rare(Field::Http))
            .or(found.http)
            .or(told.http);
        let is_told = failed.is_some() || http.is_some() || grpc.is_some();
        self.outcome_told |= found.any || is_told;
        if unknown && !is_told {
            self.note_unknown_status(plan, record, row);
        }
        let mut message = rare(Field::Message);
        if message.is_empty() {
            message = found.message.1;
            // Only cells of attributes hold texts with their backslashes.
            if !plan.attributes.is_empty() {
                message = attributes::unescape(message, &mut self.message);
            }
        }
        let from_told = plan.told.http_failed;
        let http_failed = http.is_some_and(|it| from_told.is_some_and(|from| it >= from));
        let evidence = Evidence {
            failed: if http_failed { Some(true) } else { failed },
            message,
            http,
            grpc,
        };

        let mut service = cell(Field::Service);
        let mut instance = rare(Field::Instance);
        if service.is_empty() {
            service = found.service;
        }
        if plan.exporter.services_are_pods {
            (service, instance) = (service_of_pod(service), service);
        }
        if instance.is_empty() {
            instance = found.instance.1;
        }
        let mut peer = rare(Field::Peer);
        if peer.is_empty() {
            peer = found.peer.1;
        }
        let mut operation = cell(Field::Operation);
        if exporter.operations_are_addresses {
            operation = operation.split('?').next().unwrap_or(operation);
        }
        if exporter.rows_are_ends_of_calls {
            let called = if peer == "(?)" { "" } else { peer };
            let of_callee = rare(Field::Duration).starts_with('-');
            (kind, service, instance, peer) = match of_callee {
                true => (Kind::Server, called, rare(Field::CalleeInstance), ""),
                // Databases and queues have no name, but tell what they are.
                false if called.is_empty() => (Kind::Client, service, instance, rare(Field::Kind)),
                false => (Kind::Client, service, instance, called),
            };
        }
        let [state, generation, refused, name] = found.breaker;
        let refused = truth(refused) == Some(true);
        let told = refused || !state.is_empty();
        if told {
            self.breaker.clear();
            recorded::write(&mut self.breaker, state, generation, refused, name);
        }
        // What a server span names as its address is itself.
        let calls = matches!(kind, Kind::Client | Kind::Producer | Kind::Unset);
        self.rows.push(SpanRow {
            trace,
            span,
            parent,
            start: start.ns,
            duration,
            service,
            operation,
            kind,
            outcome: match refused {
                true => Outcome::Rejected,
                false => outcome(evidence),
            },
            instance: (!instance.is_empty()).then_some(instance),
            peer: (calls && !peer.is_empty()).then_some(peer),
            message,
            breaker: told.then_some(self.breaker.as_str()),
            row: u32::try_from(row).unwrap_or(u32::MAX),
        });
        (self.made_up, self.joined) = (made_up, joined);
        let mut state = rare(Field::TraceState);
        if state.is_empty() {
            state = found.state;
        }
        let rate = sampling::of_trace_state(state);
        if let Some(rate) = rate.or_else(|| sampling::of_cell(rare(Field::SampleRate))) {
            self.sampled.note(row);
            self.rates.note(rate);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_cell(&mut self, plan: &Plan, code: Code, field: Field, row: u64, got: &str) {
        let column = plan.header(field);
        self.issues.note(code, Some(row), column, Some(got));
    }

    #[cold]
    #[inline(never)]
    fn note_unknown_status(&mut self, plan: &Plan, record: Record<'_>, row: u64) {
        for field in [Field::Status, Field::Error, Field::Success, Field::Grpc] {
            let text = rare_cell(plan, record, field);
            if !text.is_empty() {
                return self.note_cell(plan, Code::UnknownStatus, field, row, text);
            }
        }
    }

    /// How much was noticed of rows so far, other than of the ids and times of all.
    pub(super) fn noticed(&self) -> u64 {
        let issues = self.issues.iter().map(|it| it.count);
        issues.sum::<u64>() + self.sampled.count
    }

    pub(super) fn note_stamp(&mut self, stamp: Stamp, plan: &Plan, row: u64) {
        if !stamp.zoned && !plan.zone_told {
            self.unzoned.note(row);
        }
        if stamp.fine {
            self.fine += 1;
        } else if stamp.mark != Mark::Rounded {
            self.coarse.note(row);
        }
    }

    /// Heeds what a start tells of the file, and reads the row's duration.
    #[cold]
    #[inline(never)]
    fn settle_mark(
        &mut self,
        plan: &Plan,
        record: Record<'_>,
        start: &mut Stamp,
        row: u64,
    ) -> Option<u64> {
        let end = rare_cell(plan, record, Field::End);
        let end = plan.time(Field::End, end, self.dates.day_first);
        let end = end.map_or(Mark::None, |it| it.mark);
        self.dates.day_first = plan.told.day_first.or(self.dates.day_first);
        for (field, mark) in [(Field::Start, start.mark), (Field::End, end)] {
            let code = match mark {
                Mark::Rounded => Code::SpreadsheetTimes,
                Mark::OtherUnit => Code::UnitAssumed,
                Mark::None | Mark::Either(_) => continue,
                Mark::DayFirst | Mark::MonthFirst => {
                    let day_first = mark == Mark::DayFirst;
                    if self.dates.day_first.is_none() {
                        self.dates.settle(day_first, &mut self.rows);
                    }
                    if self.dates.day_first == Some(day_first) {
                        continue;
                    }
                    self.dates.mixed = true;
                    Code::MixedDates
                }
            };
            self.note_cell(plan, code, field, row, rare_cell(plan, record, field));
        }
        if let Mark::Either(later) = start.mark {
            if self.dates.day_first.is_none() {
                let longer = match end {
                    _ if !plan.duration_from_end() => 0,
                    Mark::Either(end) => end - later,
                    _ => -later,
                };
                let turn = (self.rows.len() as u32, later, longer);
                self.dates.turns.push(turn);
            } else {
                start.ns += i64::from(later) * DAY;
            }
        }
        self.duration(plan, record, *start, row)
    }

    #[inline(never)]
    fn duration(&mut self, plan: &Plan, record: Record<'_>, start: Stamp, row: u64) -> Option<u64> {
        let mut text = cell(plan, record, Field::Duration);
        if plan.exporter.rows_are_ends_of_calls {
            text = text.strip_prefix('-').unwrap_or(text);
        }
        let day_first = self.dates.day_first;
        let end = || {
            // What rewrote the starts rewrote the ends.
            if start.mark == Mark::Rounded {
                return None;
            }
            let text = cell(plan, record, Field::End);
            let end = plan.time(Field::End, text, day_first)?;
            Some(end.ns)
        };
        let start = start.ns;
        let (told, field) = match plan.duration_from_end().then(end).flatten() {
            Some(end) => (extent(start, end), Field::End),
            None => match self.parsed(text, plan) {
                Told::Nothing if plan.has(Field::End) => (
                    end().map_or(Told::Nothing, |end| extent(start, end)),
                    Field::End,
                ),
                told => (told, Field::Duration),
            },
        };
        let code = match told {
            Told::Ns(ns) if ns <= LONGEST => return Some(ns),
            Told::Ns(_) => Code::BadDuration,
            Told::Negative => Code::NegativeDuration,
            Told::Nothing => Code::BadDuration,
        };
        let got = if field == Field::Duration {
            text
        } else {
            cell(plan, record, field)
        };
        let got = (!got.is_empty()).then_some(got);
        self.issues.note(code, Some(row), plan.header(field), got);
        None
    }

    fn parsed(&mut self, text: &str, plan: &Plan) -> Told {
        match plan.decimal_comma || !text.as_bytes().contains(&b',') {
            true => parse_duration(text, plan.duration_unit, plan.decimal_comma),
            false => self.commas.read(text, plan.duration_unit, &mut self.rows),
        }
    }

    fn look_into_attributes<'a>(
        &mut self,
        plan: &Plan,
        record: Record<'a>,
        row: u64,
        found: &mut Found<'a>,
    ) {
        for &column in &plan.attributes {
            let text = record.get(column as usize);
            if text.len() < 3 {
                continue;
            }
            if text.starts_with("[object ") {
                let header = plan.headers.get(column as usize).map(String::as_str);
                self.issues
                    .note(Code::LostObjects, Some(row), header, Some(text));
                continue;
            }
            attributes::scan(text, &mut |key, value| {
                found.any = true;
                found.note(key, value);
            });
        }
        for &column in &plan.breaker {
            found.note(
                plan.headers[column as usize].trim(),
                record.get(column as usize),
            );
        }
        for at in (plan.headers.len()..record.len()).step_by(2) {
            found.any = true;
            found.note(record.get(at), record.get(at + 1));
        }
    }

    /// What can be said about the whole only at its end.
    pub(super) fn finish(&mut self, plan: &Plan) {
        // Now and then a time has few digits of its own.
        if self.issues.count(Code::SpreadsheetTimes) * 2 <= self.rows.len() as u64 {
            self.issues.forget(Code::SpreadsheetTimes);
        }
        let rates = self.rates.words();
        let told = plan.told.sample.map(|of| format!("1 in {of}, as told"));
        let mut add = |code, tally: Tally, field, got| {
            if tally.count > 0 {
                let column = plan.header(field);
                self.issues
                    .add(code, tally.count, Some(tally.first), column, got);
            }
        };
        add(Code::MissingId, self.without_trace, Field::Trace, None);
        add(Code::ZoneAssumed, self.unzoned, Field::Start, None);
        let of_state = plan.has(Field::TraceState) || !plan.has(Field::SampleRate);
        let field = if of_state {
            Field::TraceState
        } else {
            Field::SampleRate
        };
        add(Code::Sampled, self.sampled, field, Some(&rates));
        let left_out = Tally {
            count: self.left_out,
            first: 2,
        };
        add(Code::Sampled, left_out, Field::Trace, told.as_deref());
        if self.fine == 0 {
            add(Code::CoarseTimes, self.coarse, Field::Start, None);
        }
        let first = self.rows.row.first().copied();
        let once = Tally {
            count: u64::from(first.is_some()),
            first: u64::from(first.unwrap_or(0)),
        };
        if plan.start_guessed {
            add(
                Code::UnitAssumed,
                once,
                Field::Start,
                plan.start_unit.map(Unit::as_str),
            );
        }
        if plan.duration_guessed {
            add(
                Code::UnitAssumed,
                once,
                Field::Duration,
                Some(plan.duration_unit.as_str()),
            );
        }
        if plan.exporter.caps.contains(&self.met) {
            self.issues.add(Code::Capped, self.met, None, None, None);
        }
        for (field, name) in &plan.missing {
            let (column, field) = (Some(name.as_str()), Some(field.as_str()));
            self.issues.note(Code::ToldMissing, None, column, field);
        }
        let many = self.rows.len() >= MANY;
        let named = plan.exporter.name != GENERIC.name;
        let linked = [Field::Parent, Field::References]
            .iter()
            .any(|&it| plan.has(it))
            || plan.exporter.rows_are_ends_of_calls;
        // Traces of one span lose nothing.
        let shared = self.rows.len() > self.rows.trace_ids.len();
        if plan.has(Field::Trace) && !linked && shared && (many || named) {
            self.issues.note(Code::NoParents, None, None, None);
        }
        if many && !self.outcome_told {
            self.issues.note(Code::NoStatus, None, None, None);
        }
        let mut sets = self.rows.label_sets.all().iter();
        if many && sets.all(|it| it.service == Strings::EMPTY) {
            self.issues.note(Code::NoService, None, None, None);
        }
        if plan.exporter.rows_are_ends_of_calls {
            self.settle_first_calls();
        }
    }

    /// Calls of the outermost service name a call from outside as their parent, which most files leave
    /// out.
    fn settle_first_calls(&mut self) {
        let rows = &mut self.rows;
        let Some(outside) = rows.span_ids.find("0") else {
            return;
        };
        let mut recorded = vec![false; rows.trace_ids.end()];
        for (&span, &trace) in rows.span.iter().zip(&rows.trace) {
            recorded[trace as usize] |= span == outside;
        }
        for (parent, &trace) in rows.parent.iter_mut().zip(&rows.trace) {
            if *parent == outside && !recorded[trace as usize] {
                *parent = NO_PARENT;
            }
        }
    }

    /// What dates were read as beginning with for want of better knowledge.
    pub(super) fn assumed_dates(&self) -> Option<&'static str> {
        let dates = &self.dates;
        let open = dates.turns.iter().any(|it| (it.1, it.2) != (0, 0));
        match dates.day_first {
            Some(true) if dates.mixed => Some("day_first"),
            _ if open || dates.mixed => Some("month_first"),
            _ => None,
        }
    }

    /// Whether times were read as UTC for want of a zone.
    pub(super) fn assumed_utc(&self) -> bool {
        self.unzoned.count > 0
    }
}

/// Below as many rows, what a whole file lacks may be chance.
const MANY: usize = 20;

/// A start whose nanoseconds stand in a column of their own.
fn with_nanos(stamp: Stamp, nanos: &str) -> Option<Stamp> {
    if nanos.is_empty() {
        return Some(stamp);
    }
    let nanos: u32 = nanos.parse().ok().filter(|&it| it < 1_000_000_000)?;
    Some(Stamp {
        ns: stamp.ns.checked_add(nanos.into())?,
        fine: true,
        ..stamp
    })
}

fn extent(start: i64, end: i64) -> Told {
    match i128::from(end) - i128::from(start) {
        ns @ 0.. => u64::try_from(ns).map_or(Told::Nothing, Told::Ns),
        _ => Told::Negative,
    }
}

/// The first cell of a field that is not blank.
#[inline(always)]
fn cell<'a>(plan: &Plan, record: Record<'a>, field: Field) -> &'a str {
    let tried = plan.tried(field);
    if tried[0] == ABSENT {
        return "";
    }
    let text = bare(plan, record.get(tried[0] as usize));
    if !is_blank(text) {
        return text;
    }
    if tried[1] == ABSENT {
        return "";
    }
    next_cell(plan, record, &tried[1..])
}

/// What all columns of statuses say.
#[inline]
fn of_statuses(plan: &Plan, record: Record<'_>) -> Status {
    let tried = plan.tried(Field::Status);
    match tried[1] {
        ABSENT => status(cell(plan, record, Field::Status)),
        _ => of_several(plan, record, tried),
    }
}

#[inline(never)]
fn of_several(plan: &Plan, record: Record<'_>, tried: &[u32]) -> Status {
    let tried = tried.iter().take_while(|&&column| column != ABSENT);
    let cells = tried.map(|&column| status(bare(plan, record.get(column as usize))));
    cells.fold(Status::default(), Status::or)
}

#[inline(never)]
fn next_cell<'a>(plan: &Plan, record: Record<'a>, tried: &[u32]) -> &'a str {
    let tried = tried.iter().take_while(|&&column| column != ABSENT);
    let mut cells = tried.map(|&column| bare(plan, record.get(column as usize)));
    cells.find(|text| !is_blank(text)).unwrap_or("")
}

#[inline(never)]
fn rare_cell<'a>(plan: &Plan, record: Record<'a>, field: Field) -> &'a str {
    cell(plan, record, field)
}

/// A cell without what exporters and people put around its text.
#[inline]
pub(super) fn bare<'a>(plan: &Plan, text: &'a str) -> &'a str {
    match text.as_bytes() {
        [b'\'' | b'[' | ..=b' ', ..] | [.., ..=b' '] => stripped(plan, text),
        _ => text,
    }
}

#[inline(never)]
fn stripped<'a>(plan: &Plan, text: &'a str) -> &'a str {
    let text = text.trim_ascii();
    match text.as_bytes() {
        // Before what a spreadsheet would take for a formula.
        [b'\'', b'=' | b'+' | b'-' | b'@', ..] => text.get(1..).unwrap_or(text),
        [b'[', ..] if plan.exporter.cells_are_lists => {
            let only = text
                .strip_prefix("[\"")
                .and_then(|it| it.strip_suffix("\"]"));
            only.filter(|it| !it.contains('"')).unwrap_or(text)
        }
        _ => text,
    }
}

/// Marks that stand for no value.
#[inline]
pub(super) fn is_blank(text: &str) -> bool {
    match text.len() {
        0 => true,
        1 => text == "-" || text == " ",
        2 => text == "\\N",
        3 => text.eq_ignore_ascii_case("nan"),
        4 => text.eq_ignore_ascii_case("null") || text.eq_ignore_ascii_case("none"),
        9 => text == "undefined",
        _ => false,
    }
}

fn kind(text: &str) -> Kind {
    // The spellings of nearly all files, before the patient search.
    match text {
        "" => return Kind::Unset,
        "Server" | "SERVER" | "server" => return Kind::Server,
        "Client" | "CLIENT" | "client" => return Kind::Client,
        "Internal" | "INTERNAL" | "internal" => return Kind::Internal,
        _ => {}
    }
    let prefixed = text.split_at_checked(10);
    let bare = prefixed.filter(|it| it.0.eq_ignore_ascii_case("span_kind_"));
    let name = bare.map_or(text, |it| it.1);
    const NAMES: &[(&str, Kind)] = &[
        ("server", Kind::Server),
        ("client", Kind::Client),
        ("internal", Kind::Internal),
        ("producer", Kind::Producer),
        ("consumer", Kind::Consumer),
        // SkyWalking
        ("entry", Kind::Server),
        ("exit", Kind::Client),
        ("local", Kind::Internal),
        // Application Insights
        ("request", Kind::Server),
        ("dependency", Kind::Client),
        // OTLP's numbers
        ("1", Kind::Internal),
        ("2", Kind::Server),
        ("3", Kind::Client),
        ("4", Kind::Producer),
        ("5", Kind::Consumer),
    ];
    let found = NAMES.iter().find(|it| it.0.eq_ignore_ascii_case(name));
    found.map_or(Kind::Unset, |it| it.1)
}

/// The attributes that are read. Ranks: of several the highest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attribute {
    Instance(u8),
    Peer(u8),
    Message(u8),
    Http,
    Grpc,
    Service,
    Kind,
    Error,
    Status,
    TraceState,
    /// A place in `Found::breaker`.
    Breaker(u8),
}

/// What an attribute of this name tells.
pub(super) fn attribute(key: &str) -> Option<Attribute> {
    Some(match key {
        "k8s.pod.name" | "kubernetes.pod.name" | "kube_pod_name" => Attribute::Instance(5),
        "service.instance.id" => Attribute::Instance(4),
        "container.id" => Attribute::Instance(3),
        "client-uuid" => Attribute::Instance(2),
        "service.node.name" | "host.name" | "hostname" => Attribute::Instance(1),
        "peer.service" => Attribute::Peer(4),
        "server.address" => Attribute::Peer(3),
        "net.peer.name" => Attribute::Peer(2),
        "db.system" | "db.system.name" => Attribute::Peer(1),
        // What OpenTelemetry's own fields become where there are only attributes.
        "otel.status_description" => Attribute::Message(2),
        "exception.message" => Attribute::Message(1),
        "otel.status_code" => Attribute::Status,
        "w3c.tracestate" => Attribute::TraceState,
        "http.response.status_code" | "http.status_code" => Attribute::Http,
        "rpc.grpc.status_code" | "rpc.response.status_code" => Attribute::Grpc,
        "service.name" | "service_name" => Attribute::Service,
        "span.kind" => Attribute::Kind,
        "error" => Attribute::Error,
        "breaker.state" => Attribute::Breaker(0),
        "breaker.generation" => Attribute::Breaker(1),
        "breaker.rejected" => Attribute::Breaker(2),
        "breaker.name" => Attribute::Breaker(3),
        _ => return None,
    })
}

/// What the attributes of one span tell.
#[derive(Default)]
struct Found<'a> {
    /// Whether there are any.
    any: bool,
    /// With their ranks.
    instance: (u8, &'a str),
    peer: (u8, &'a str),
    message: (u8, &'a str),
    http: Option<u16>,
    status: Status,
    service: &'a str,
    kind: &'a str,
    state: &'a str,
    /// State, generation, whether it refused, name.
    breaker: [&'a str; 4],
}

impl<'a> Found<'a> {
    fn note(&mut self, key: &str, value: &'a str) {
        if value.is_empty() {
            return;
        }
        let better = |held: &mut (u8, &'a str), rank| {
            if held.0 < rank {
                *held = (rank, value);
            }
        };
        match attribute(key) {
            Some(Attribute::Instance(rank)) => better(&mut self.instance, rank),
            Some(Attribute::Peer(rank)) => better(&mut self.peer, rank),
            // The last exception is the one that ended the span.
            Some(Attribute::Message(rank)) if rank >= self.message.0 => {
                self.message = (rank, value);
            }
            Some(Attribute::Http) => self.http = status_number(value),
            Some(Attribute::Grpc) => self.status = grpc(value).or(self.status),
            Some(Attribute::Service) => self.service = value,
            Some(Attribute::Kind) => self.kind = value,
            Some(Attribute::TraceState) => self.state = value,
            Some(Attribute::Error) => {
                let failed = truth(value);
                self.status = self.status.or(Status {
                    failed,
                    ..Status::default()
                });
            }
            Some(Attribute::Breaker(place)) => self.breaker[usize::from(place)] = value,
            Some(Attribute::Status) => self.status = self.status.or(status(value)),
            Some(Attribute::Message(_)) | None => {}
        }
    }
}

/// The service of a pod: without the hash of its ReplicaSet and its own suffix, or without its
/// ordinal in a StatefulSet.
pub(super) fn service_of_pod(pod: &str) -> &str {
    // Kubernetes draws suffixes from letters and digits that spell no words.
    let suffix = |part: &str| {
        part.len() == 5
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    let hash = |part: &str| {
        matches!(part.len(), 6..=10)
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            && part.bytes().any(|b| b.is_ascii_digit())
    };
    let Some((rest, last)) = pod.rsplit_once('-') else {
        return pod;
    };
    let service = match rest.rsplit_once('-') {
        Some((service, middle)) if suffix(last) && hash(middle) => service,
        _ if !last.is_empty() && last.len() <= 4 && last.bytes().all(|b| b.is_ascii_digit()) => {
            rest
        }
        _ => pod,
    };
    if service.is_empty() { pod } else { service }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_belong_to_services() {
        let cases = [
            ("frontend-579b9bff58-t2dbm", "frontend"),
            ("ts-gateway-service-6f6cfc45b-h5m2n", "ts-gateway-service"),
            ("inventory-5c6d7e8f9-xxxxx", "inventory"),
            ("mysql-0", "mysql"),
            ("ts-order-mongo", "ts-order-mongo"),
            ("ts-order-service", "ts-order-service"),
            ("frontend", "frontend"),
            ("-0", "-0"),
            ("", ""),
        ];
        for (pod, service) in cases {
            assert_eq!(service_of_pod(pod), service, "{pod}");
        }
    }

    #[test]
    fn kinds() {
        let cases = [
            ("Server", Kind::Server),
            ("SPAN_KIND_SERVER", Kind::Server),
            ("Entry", Kind::Server),
            ("Exit", Kind::Client),
            ("client", Kind::Client),
            ("Local", Kind::Internal),
            ("PRODUCER", Kind::Producer),
            ("UNSPECIFIED", Kind::Unset),
            ("", Kind::Unset),
        ];
        for (text, expected) in cases {
            assert_eq!(kind(text), expected, "{text}");
        }
    }
}
