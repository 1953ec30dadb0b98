//! Which column tells what: the exporter recognised, the flat plan that each row is read by.
//!
//! Owns recognition. Invariant: a plan is made once, from the headers and a sample of rows, and does
//! not depend on the order of columns nor on how the bytes came. O(headers x names). Pinned by
//! `tests/ingest/exporters.rs` and `tests/ingest/times.rs`.

use super::exporters::{
    COMMON, EXPORTERS, Exporter, FIELDS, Field, GENERIC, UNITS, Words, normal, unit_of_header,
};
use super::intake::{Attribute, attribute};
use super::time::{
    self, Stamp, Unit, parse_duration, parse_time, parse_time_in, tells_decimal_comma,
};
use super::told::Told;
use crate::order::median;
use crate::parts;

/// No column.
pub(super) const ABSENT: u32 = u32::MAX;

/// Columns tried for one field: the first that is not blank counts.
const TRIED: usize = 4;

/// Cells of one row, as a sample holds them.
pub(super) type Cells = Vec<String>;

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) exporter: &'static Exporter,
    pub(super) headers: Cells,
    columns: [[u32; TRIED]; FIELDS],
    pub(super) attributes: Vec<u32>,
    /// Columns that are attributes of breakers themselves.
    pub(super) breaker: Vec<u32>,
    /// What the header of the start says of its unit, else the exporter, else the sample.
    pub(super) start_unit: Option<Unit>,
    pub(super) end_unit: Option<Unit>,
    /// Nobody told the unit of starts, of ends: a number's own digits are right.
    start_by_digits: bool,
    end_by_digits: bool,
    pub(super) duration_unit: Unit,
    /// The zone stands in the header.
    pub(super) zone_told: bool,
    pub(super) decimal_comma: bool,
    /// Whether starts, durations are plain numbers without a unit in their header.
    pub(super) start_unit_assumed: bool,
    pub(super) duration_unit_assumed: bool,
    /// The units were guessed from the numbers.
    pub(super) start_guessed: bool,
    pub(super) duration_guessed: bool,
    /// What a person says, which has been heeded as far as it is about columns and units.
    pub(super) told: Told,
    /// The columns that a person names and that are not there.
    pub(super) missing: Vec<(Field, String)>,
}

impl Plan {
    /// The columns of a field, the preferred one first.
    #[inline]
    pub(super) fn tried(&self, field: Field) -> &[u32; TRIED] {
        &self.columns[field as usize]
    }

    /// The preferred column of a field.
    #[inline]
    pub(super) fn column(&self, field: Field) -> u32 {
        self.columns[field as usize][0]
    }

    /// The unit of plain numbers among starts or ends, where one is known.
    pub(super) fn unit_of_numbers(&self, field: Field) -> Option<Unit> {
        match field {
            Field::End => self.end_unit,
            _ => self.start_unit,
        }
    }

    /// Whether, of starts or ends, a number's own digits are right.
    pub(super) fn by_digits(&self, field: Field) -> bool {
        match field {
            Field::End => self.end_by_digits,
            _ => self.start_by_digits,
        }
    }

    pub(super) fn has(&self, field: Field) -> bool {
        self.column(field) != ABSENT
    }

    /// A start or an end of this file, the dates of which begin as told, else as `day_first` says.
    #[inline]
    pub(super) fn time(&self, field: Field, text: &str, day_first: Option<bool>) -> Option<Stamp> {
        let (unit, by_digits) = (self.unit_of_numbers(field), self.by_digits(field));
        let day_first = self.told.day_first.or(day_first);
        let stamp = parse_time_in(text, unit, by_digits, day_first)?;
        match self.told.zone {
            Some(seconds) if !stamp.zoned => Some(Stamp {
                ns: stamp.ns.checked_sub(i64::from(seconds) * 1_000_000_000)?,
                zoned: true,
                ..stamp
            }),
            _ => Some(stamp),
        }
    }

    /// Whether the end tells a duration more exactly than the column of durations.
    pub(super) fn duration_from_end(&self) -> bool {
        let told = |field| self.told.columns.iter().any(|it| it.0 == field);
        if told(Field::Duration) && !told(Field::End) {
            return false;
        }
        let finer = match (self.start_unit, self.duration_unit) {
            (Some(start), duration) => start.ns() <= duration.ns(),
            (None, duration) => duration != Unit::Ns,
        };
        self.has(Field::End) && (finer || !self.has(Field::Duration))
    }

    /// The header of a field's column.
    pub(super) fn header(&self, field: Field) -> Option<&str> {
        self.headers
            .get(self.column(field) as usize)
            .map(String::as_str)
    }
}

/// The exporter whose headers these are.
pub(super) fn recognise(headers: &[String], normals: &[String]) -> &'static Exporter {
    let has = |name: &&str| normals.iter().any(|it| it == name);
    let spelled = |name: &&str| headers.iter().any(|it| it == name);
    let mut best = (0, &GENERIC);
    for exporter in EXPORTERS {
        let any = exporter.any.iter().filter(has).count();
        let any = any + exporter.spelled.iter().filter(spelled).count();
        let all = exporter.signature.iter().filter(has).count();
        let fits = all == exporter.signature.iter().count() && any >= exporter.at_least;
        if fits && all + any > best.0 {
            best = (all + any, exporter);
        }
    }
    best.1
}

/// The exporter that writes such rows without a header, and its columns.
pub(super) fn recognise_headerless(cells: &[String]) -> Option<Cells> {
    let layouts = EXPORTERS.iter().flat_map(|it| it.layouts);
    for &layout in layouts.filter(|it| it.iter().count() == cells.len()) {
        let normals: Vec<String> = layout.iter().map(normal).collect();
        let at = |field: Field| {
            let mut names = COMMON
                .iter()
                .filter(|it| it.0 == field)
                .flat_map(|it| it.1.iter());
            names.find_map(|name| normals.iter().position(|it| it == name))
        };
        let cell = |field| {
            at(field)
                .and_then(|at| cells.get(at))
                .map_or("", String::as_str)
        };
        let timed = parse_time(cell(Field::Start), None).is_some()
            && parse_duration(cell(Field::Duration), Unit::Ns, false) != time::Told::Nothing;
        let id = cell(Field::Trace);
        if timed && id.len() >= 2 && id.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Some(owned(layout));
        }
    }
    None
}

/// A layout as the headers of a file.
pub(super) fn owned(layout: Words) -> Cells {
    layout.iter().map(str::to_owned).collect()
}

/// The column that bears `name`, with the unit that its suffix tells: none before any, and the
/// finest unit first, so that the order of the columns does not matter.
fn find(normals: &[String], name: &str, timed: bool) -> Option<(u32, Option<Unit>)> {
    let suffixes = UNITS.iter().map(|&(suffix, unit)| (suffix, Some(unit)));
    let suffixes = std::iter::once(("", None)).chain(suffixes.filter(|_| timed));
    suffixes.into_iter().find_map(|(suffix, unit)| {
        let same = |it: &String| it.strip_prefix(name) == Some(suffix);
        Some((normals.iter().position(same)? as u32, unit))
    })
}

/// Makes the plan, or `None` when these are no columns of spans. The exporter is recognised by the
/// headers unless it is `known`; what a person says is right.
pub(super) fn plan(
    known: Option<&'static Exporter>,
    headers: Cells,
    sample: &[Cells],
    decimal_comma: bool,
    told: &Told,
) -> Option<Plan> {
    let normals: Vec<String> = headers.iter().map(|it| normal(it)).collect();
    let exporter = known.unwrap_or_else(|| recognise(&headers, &normals));
    let mut columns = [[ABSENT; TRIED]; FIELDS];
    let mut attributes = Vec::new();
    let mut units = [None; FIELDS];
    let mut of_exporter = [
        exporter.start_unit,
        exporter.start_unit,
        exporter.duration_unit,
    ];
    for &(field, common) in COMMON {
        let own = exporter.columns.iter().find(|it| it.0 == field);
        let names = own.map_or(common, |it| it.1);
        let timed = timed(field).is_some();
        let mut found = 0;
        for name in names.iter() {
            let Some((at, mut unit)) = find(&normals, name, timed) else {
                continue;
            };
            if timed && own.is_some() && unit.is_none() {
                unit = unit_of_header(&headers[at as usize]);
            }
            if field == Field::Attributes {
                attributes.push(at);
            } else if found < TRIED && !columns[field as usize].contains(&at) {
                if found == 0 {
                    units[field as usize] = unit;
                } else if timed && unit != units[field as usize] {
                    continue;
                }
                columns[field as usize][found] = at;
                found += 1;
            }
        }
    }
    let mut missing = Vec::new();
    for (field, name) in &told.columns {
        let at = told_column(&headers, &normals, name);
        match (at, columns.get_mut(*field as usize)) {
            (None, _) if !name.is_empty() => missing.push((*field, name.clone())),
            (Some(at), None) if !attributes.contains(&at) => attributes.push(at),
            (_, None) => {}
            (at, Some(tried)) => {
                *tried = [at.unwrap_or(ABSENT), ABSENT, ABSENT, ABSENT];
                if let Some(timed) = timed(*field) {
                    units[*field as usize] = unit_of_header(name);
                    of_exporter[timed] = None;
                }
            }
        }
    }
    // Who counts nanoseconds counts whole ones.
    let column = columns[Field::Duration as usize][0] as usize;
    let mut cells = sample.iter().filter_map(|row| row.get(column));
    let decimal_comma = decimal_comma || cells.clone().any(|it| tells_decimal_comma(it));
    if of_exporter[2] == Some(Unit::Ns) && cells.any(|it| has_fraction(it, decimal_comma)) {
        return plan(Some(&GENERIC), headers, sample, decimal_comma, told);
    }
    for field in [Field::Start, Field::End, Field::Duration] {
        let unit = &mut units[field as usize];
        // A unit that was told of a column that is not there is not that of another.
        let is_there = !missing.iter().any(|it| it.0 == field);
        *unit = told.unit(field).filter(|_| is_there).or(*unit);
    }
    let mut plan = Plan {
        exporter,
        columns,
        attributes,
        breaker: (0..headers.len() as u32)
            .filter(|&at| {
                let told = attribute(headers[at as usize].trim());
                matches!(told, Some(Attribute::Breaker(_)))
            })
            .collect(),
        start_unit: units[Field::Start as usize].or(of_exporter[0]),
        end_unit: units[Field::End as usize]
            .or(told.start_unit)
            .or(of_exporter[1]),
        start_by_digits: false,
        end_by_digits: false,
        duration_unit: Unit::Ms,
        zone_told: false,
        decimal_comma,
        start_unit_assumed: false,
        duration_unit_assumed: false,
        start_guessed: false,
        duration_guessed: false,
        told: told.clone(),
        missing,
        headers,
    };
    let extent = plan.has(Field::Duration) || plan.has(Field::End);
    let identity = [Field::Trace, Field::Span, Field::Service, Field::Operation];
    let spans = plan.has(Field::Start)
        && (plan.has(Field::Trace) && (extent || plan.has(Field::Span))
            || extent && identity.iter().any(|&it| plan.has(it)));
    if !spans {
        return None;
    }
    plan.zone_told = plan
        .header(Field::Start)
        .is_some_and(|it| parts::holds(&it.to_ascii_lowercase(), "[utc]"));
    let duration = units[Field::Duration as usize].or(of_exporter[2]);
    plan.settle_units(units, duration, sample);
    Some(plan)
}

/// The place of a field among those that are times.
fn timed(field: Field) -> Option<usize> {
    match field {
        Field::Start => Some(0),
        Field::End => Some(1),
        Field::Duration => Some(2),
        _ => None,
    }
}

/// The column that a person means: spelled exactly so, else in any spelling.
fn told_column(headers: &[String], normals: &[String], name: &str) -> Option<u32> {
    let exact = headers.iter().position(|it| !name.is_empty() && it == name);
    let loose = || {
        let name = normal(name);
        normals
            .iter()
            .position(|it| !name.is_empty() && *it == name)
    };
    exact.or_else(loose).map(|at| at as u32)
}

/// In days.
const A_MONTH: u64 = 31;

impl Plan {
    fn settle_units(
        &mut self,
        told: [Option<Unit>; FIELDS],
        mut known: Option<Unit>,
        sample: &[Cells],
    ) {
        let width = self.headers.len();
        let numbers = |field: Field| {
            let column = self.column(field);
            let mut numbers = Vec::new();
            for row in sample.iter().filter(|row| row.len() == width) {
                let cell = row.get(column as usize).map_or("", |it| it.trim());
                match parse_duration(cell, Unit::Ns, self.decimal_comma) {
                    time::Told::Ns(number) if is_bare(cell) => numbers.push(number),
                    time::Told::Negative if is_bare(cell) => numbers.push(0),
                    _ => {}
                }
            }
            numbers
        };
        let duration = median(&numbers(Field::Duration));
        let starts = numbers(Field::Start);
        let usual = median(&starts);
        self.start_unit_assumed = told[Field::Start as usize].is_none() && usual.is_some();
        // Alibaba counts from when the recording began.
        let relative = self.exporter.rows_are_ends_of_calls && self.start_unit.is_some();
        if let (true, false, Some(usual)) = (self.start_unit_assumed, relative, usual) {
            let near = starts.iter().all(|it| it.abs_diff(usual) < A_MONTH);
            let (of_exporter, unit) = (self.start_unit, Unit::of_epoch(usual.into()));
            // Days of a spreadsheet are close to each other, numbers of anything finer hardly are.
            self.start_by_digits = unit.is_some() || near;
            self.start_unit = unit.or(of_exporter).or(Some(Unit::Ms));
            self.start_guessed = match of_exporter {
                None => unit.is_none(),
                Some(_) => self.start_unit != of_exporter,
            };
            // Who counts starts finer than the exporter is none that writes as it does.
            let finer = self.start_unit.map(Unit::ns) < of_exporter.map(Unit::ns);
            known = known.filter(|_| !finer || told[Field::Duration as usize].is_some());
            if told[Field::End as usize].is_none() {
                (self.end_unit, self.end_by_digits) = (self.start_unit, self.start_by_digits);
            }
        }
        let plain = duration.is_some();
        self.duration_unit_assumed = told[Field::Duration as usize].is_none() && plain;
        self.duration_guessed = plain && known.is_none() && !self.has(Field::End);
        let told = known.or_else(|| plain.then(|| self.containing(sample))?);
        // A clock that counts in a unit mostly counts spans in it too.
        let of_start = usual.and(self.start_unit);
        self.duration_unit = told.or(of_start).unwrap_or(match duration {
            // Most spans last between a tenth of a millisecond and ten seconds.
            Some(1_000_000..) => Unit::Ns,
            Some(20_000..) => Unit::Us,
            _ => Unit::Ms,
        });
    }

    /// The finest unit in which spans of the sample mostly last until their children have ended, of those
    /// whose children begin later; `None` for few of them. O(rows^2), and the sample is small.
    #[inline(never)]
    fn containing(&self, sample: &[Cells]) -> Option<Unit> {
        const FEW: usize = 3;
        let cell = |row: usize, field| -> &str {
            let cell = sample[row].get(self.column(field) as usize);
            cell.map_or("", |it| it.trim())
        };
        // Each span's row, its start, and its duration in thousandths of whatever the unit is.
        let mut spans: Vec<(usize, i64, u64)> = Vec::new();
        for row in 0..sample.len() {
            let start = self.time(Field::Start, cell(row, Field::Start), None);
            let took = parse_duration(cell(row, Field::Duration), Unit::Us, self.decimal_comma);
            if let (Some(start), time::Told::Ns(took)) = (start, took) {
                spans.push((row, start.ns, took));
            }
        }
        // How much later a child begins, and how much shorter it is.
        let mut pairs: Vec<(u64, u64)> = Vec::new();
        for &(row, start, took) in &spans {
            let is_parent = |it: &&(usize, i64, u64)| {
                cell(it.0, Field::Span) == cell(row, Field::Parent)
                    && cell(it.0, Field::Trace) == cell(row, Field::Trace)
            };
            if let Some(&(_, began, lasted)) = spans.iter().find(is_parent)
                && start > began
            {
                pairs.push((start.abs_diff(began), lasted.saturating_sub(took)));
            }
        }
        let contains = |unit: &Unit| {
            let fits = |&&(later, shorter): &&(u64, u64)| {
                later.saturating_mul(1_000) <= shorter.saturating_mul(unit.ns())
            };
            4 * pairs.iter().filter(fits).count() >= 3 * pairs.len()
        };
        let units = [Unit::Ns, Unit::Us, Unit::Ms, Unit::S];
        units
            .into_iter()
            .find(contains)
            .filter(|_| pairs.len() >= FEW)
    }
}

/// Whether it is a number without a unit.
fn is_bare(text: &str) -> bool {
    let digits = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'-' | b'+' | b'E' | b'e');
    text.bytes().all(digits)
}

/// Whether a number has digits other than zeros behind its point.
fn has_fraction(text: &str, decimal_comma: bool) -> bool {
    let thousandths = parse_duration(text, Unit::Us, decimal_comma);
    is_bare(text) && matches!(thousandths, time::Told::Ns(it) if it % 1_000 > 0)
}
