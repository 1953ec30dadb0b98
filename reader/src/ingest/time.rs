//! Times and durations as exporters write them, to the nanosecond.
//!
//! Owns the grammars: epochs in any unit, ISO 8601 and its relatives, the stamps of Kibana and of the
//! Azure portal; durations as numbers, as people write them, as ISO 8601 and as clocks. Invariant:
//! integers throughout, digit by digit, never a float; digits below the nanosecond are cut; what
//! overflows is no time. O(length of the text), no allocation. Pinned by the tables in `tests` and
//! by the round trips in `tests/ingest/properties.rs`.

use herdscope_cells::clock::days;

use crate::format;

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl Unit {
    /// How many nanoseconds one is.
    pub fn ns(self) -> u64 {
        match self {
            Unit::Ns => 1,
            Unit::Us => 1_000,
            Unit::Ms => 1_000_000,
            Unit::S => 1_000_000_000,
        }
    }

    /// The name in JSON and on the page.
    pub fn as_str(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Us => "us",
            Unit::Ms => "ms",
            Unit::S => "s",
        }
    }

    /// The unit of that name.
    pub fn named(name: &str) -> Option<Unit> {
        let mut all = [Unit::Ns, Unit::Us, Unit::Ms, Unit::S].into_iter();
        all.find(|it| it.as_str() == name)
    }

    /// The unit in which a number of this size is a time of our days: 10 digits are seconds, 13
    /// milliseconds, 16 microseconds, 19 nanoseconds. `None`: too small to be since 1970.
    pub fn of_epoch(number: u128) -> Option<Unit> {
        match number {
            0..100_000_000 => None,
            100_000_000..100_000_000_000 => Some(Unit::S),
            100_000_000_000..100_000_000_000_000 => Some(Unit::Ms),
            100_000_000_000_000..100_000_000_000_000_000 => Some(Unit::Us),
            _ => Some(Unit::Ns),
        }
    }
}

impl serde::Serialize for Unit {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

/// A time, and how it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Nanoseconds since 1970, UTC; of a time without a zone, as if it were UTC.
    pub ns: i64,
    /// Whether the text tells its zone (an epoch does).
    pub zoned: bool,
    /// Whether the text is finer than seconds.
    pub fine: bool,
    /// What else is to be said about it.
    pub mark: Mark,
}

/// What the text of a time tells of the file that it stands in. Nearly all tell nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing.
    None,
    /// A date that can only begin with the day, like 29/3/2026.
    DayFirst,
    /// A date that can only begin with the month, like 3/29/2026.
    MonthFirst,
    /// A date like 3/4/2026, read as beginning with the month: this many days later otherwise.
    Either(i16),
    /// A number with an exponent whose digits end above the second: 1.77475E+12 milliseconds.
    Rounded,
    /// A number whose digits tell another unit than that of its column, and were heeded.
    OtherUnit,
}

/// Reads a time. `unit` is that of a plain number; without one, its digits tell.
pub fn parse_time(text: &str, unit: Option<Unit>) -> Option<Stamp> {
    parse_time_in(text, unit, false, None)
}

/// Reads a time of a file. Where nobody told the `unit`, the digits of a number are heeded over it;
/// `day_first` is the order of dates like 3/4/2026, where it is known.
pub(super) fn parse_time_in(
    text: &str,
    unit: Option<Unit>,
    by_digits: bool,
    day_first: Option<bool>,
) -> Option<Stamp> {
    let bytes = text.as_bytes();
    if let Some(stamp) = fixed_shape(bytes) {
        return Some(stamp);
    }
    let bytes = bytes.trim_ascii();
    if let Some(stamp) = fixed_shape(bytes) {
        return Some(stamp);
    }
    match number(bytes, false) {
        Some(number) => epoch(number, unit, by_digits),
        None => loose_shape(bytes, day_first),
    }
}

fn epoch(number: Number, unit: Option<Unit>, by_digits: bool) -> Option<Stamp> {
    if by_digits && let Some(stamp) = serial_date(number) {
        return Some(stamp);
    }
    let mut mark = Mark::None;
    let unit = match (unit, by_digits) {
        (Some(unit), false) => unit,
        (of_column, _) => {
            let of_digits = Unit::of_epoch(number.whole()).or(of_column);
            if by_digits && of_digits != of_column {
                mark = Mark::OtherUnit;
            }
            of_digits.unwrap_or(Unit::Ms)
        }
    };
    let ns = i64::try_from(number.times(unit.ns())?).ok()?;
    let rounded = number.scale < 0 && number.scale.unsigned_abs() + unit.ns().ilog10() >= 9;
    Some(Stamp {
        ns: if number.negative { -ns } else { ns },
        zoned: true,
        fine: (unit != Unit::S || number.scale > 0) && !rounded,
        mark: if rounded { Mark::Rounded } else { mark },
    })
}

/// A time as spreadsheets hold it: days since 30 December 1899, from 1970 to 2119, and a fraction.
#[cold]
#[inline(never)]
fn serial_date(number: Number) -> Option<Stamp> {
    const DAY: u64 = 86_400_000_000_000;
    const OF_1970: u128 = 25_569;
    let days = number.whole();
    if number.scale <= 0 || number.negative || !(OF_1970..80_000).contains(&days) {
        return None;
    }
    let ns = number.times(DAY)? - OF_1970 * u128::from(DAY);
    Some(Stamp {
        ns: i64::try_from(ns).ok()?,
        zoned: false,
        fine: number.scale > 5,
        // Seven digits of a fraction are milliseconds.
        mark: if number.scale < 7 {
            Mark::Rounded
        } else {
            Mark::OtherUnit
        },
    })
}

/// `YYYY-MM-DDThh:mm:ss[.fraction][zone]`, the shape nearly all files have.
fn fixed_shape(b: &[u8]) -> Option<Stamp> {
    if b.len() < 19
        || b[4] != b'-'
        || b[7] != b'-'
        || !matches!(b[10], b' ' | b'T' | b't')
        || b[13] != b':'
        || b[16] != b':'
    {
        return None;
    }
    let two = |at: usize| -> Option<u32> {
        let (tens, ones) = (b[at].wrapping_sub(b'0'), b[at + 1].wrapping_sub(b'0'));
        (tens < 10 && ones < 10).then_some(u32::from(tens) * 10 + u32::from(ones))
    };
    let year = two(0)? * 100 + two(2)?;
    let clock = Clock {
        hour: two(11)?,
        minute: two(14)?,
        second: two(17)?,
    };
    let (fraction, fine, rest) = fraction(&b[19..]);
    finish(
        days(year as i32, two(5)?, two(8)?)?,
        clock,
        fraction,
        fine,
        rest,
    )
}

#[derive(Clone, Copy)]
struct Clock {
    hour: u32,
    minute: u32,
    second: u32,
}

/// Puts a day, a clock and a zone together.
fn finish(day: i64, clock: Clock, fraction: u32, fine: bool, rest: &[u8]) -> Option<Stamp> {
    // 60 is a leap second: the next minute, as POSIX has it.
    if clock.hour > 23 || clock.minute > 59 || clock.second > 60 {
        return None;
    }
    let offset = zone(rest)?;
    let of_day = i64::from(clock.hour * 3600 + clock.minute * 60 + clock.second);
    let seconds = day * 86_400 + of_day - offset.unwrap_or(0);
    let ns = seconds
        .checked_mul(1_000_000_000)?
        .checked_add(i64::from(fraction))?;
    Some(Stamp {
        ns,
        zoned: offset.is_some(),
        fine,
        mark: Mark::None,
    })
}

/// The nanoseconds of a fraction (`.5`, `,5`), whether there is one, and what follows.
fn fraction(b: &[u8]) -> (u32, bool, &[u8]) {
    if !matches!(b.first(), Some(b'.' | b',')) {
        return (0, false, b);
    }
    let (mut ns, mut digits, mut at) = (0u32, 0, 1);
    while let Some(digit) = b.get(at).map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
        if digits < 9 {
            ns = ns * 10 + u32::from(digit);
            digits += 1;
        }
        at += 1;
    }
    for _ in digits..9 {
        ns *= 10;
    }
    (ns, digits > 0, &b[at..])
}

/// The offset in seconds that a zone stands for: `Some(None)` for no zone, `None` for none that
/// is known.
pub(super) fn zone(b: &[u8]) -> Option<Option<i64>> {
    let b = b.trim_ascii();
    let (&sign, rest) = match b.split_first() {
        None => return Some(None),
        Some((b'Z' | b'z', [])) => return Some(Some(0)),
        Some(it) => it,
    };
    if b.eq_ignore_ascii_case(b"UTC") || b.eq_ignore_ascii_case(b"GMT") {
        return Some(Some(0));
    }
    let sign = match sign {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    // Go prints `+0000 UTC`: what follows the offset repeats it.
    let end = rest.iter().position(|&b| b == b' ').unwrap_or(rest.len());
    let mut digits = [0u8; 4];
    let mut count = 0;
    for &b in &rest[..end] {
        match b {
            b'0'..=b'9' if count < 4 => {
                digits[count] = b - b'0';
                count += 1;
            }
            b':' if count == 2 => {}
            _ => return None,
        }
    }
    let [a, b, c, d] = digits.map(i64::from);
    let (hours, minutes) = (a * 10 + b, c * 10 + d);
    let valid = matches!(count, 2 | 4) && hours <= 18 && minutes <= 59;
    valid.then_some(Some(sign * (hours * 3600 + minutes * 60)))
}

/// The shapes with an unpadded hour, other orders of the date, names of months, AM and PM.
fn loose_shape(b: &[u8], day_first: Option<bool>) -> Option<Stamp> {
    let mut at = Cursor(b);
    let mut mark = Mark::None;
    // Thu, 05 Mar 2026 13:04:05 GMT (RFC 9110)
    if let [_, _, _, b',', rest @ ..] = at.0 {
        at.0 = rest.trim_ascii_start();
    }
    let (year, month, day) = if at.0.first()?.is_ascii_alphabetic() {
        // Mar 29, 2026 @ 01:00:45.020
        let month = at.month()?;
        at.skip(b" .");
        let day = at.digits(2)?;
        at.skip(b", ");
        (at.digits(4)?, month, day)
    } else {
        let first = at.digits(4)?;
        let separator = at.take(b"-/. ")?;
        let second = match at.0.first()?.is_ascii_alphabetic() {
            true => at.month()?,
            false => at.digits(2)?,
        };
        let named = !b[..b.len() - at.0.len()].last()?.is_ascii_digit();
        at.0.first().filter(|&&b| b == separator)?;
        at.0 = &at.0[1..];
        let third = at.digits(4)?;
        match separator {
            // 05-Mar-2026, 5 March 2026
            _ if named => (third, second, first),
            _ if first > 31 => (first, second, third),
            b' ' => return None,
            b'.' => (third, second, first),
            // 3/29/2026 is American, 29/3/2026 cannot be.
            _ if first > 12 => {
                mark = Mark::DayFirst;
                (third, second, first)
            }
            _ if second > 12 => {
                mark = Mark::MonthFirst;
                (third, first, second)
            }
            _ if day_first == Some(true) => (third, second, first),
            _ => {
                if day_first.is_none() {
                    mark = Mark::Either(0);
                }
                (third, first, second)
            }
        }
    };
    at.skip(b" ,@Tt");
    let mut clock = Clock {
        hour: 0,
        minute: 0,
        second: 0,
    };
    let (mut ns, mut fine) = (0, false);
    if at.0.first().is_some_and(u8::is_ascii_digit) {
        clock.hour = at.digits(2)?;
        at.take(b":")?;
        clock.minute = at.digits(2)?;
        if at.take(b":").is_some() {
            clock.second = at.digits(2)?;
            (ns, fine, at.0) = fraction(at.0);
        }
        // Browsers print a narrow space that does not break before AM and PM.
        at.0 = at.0.strip_prefix("\u{202f}".as_bytes()).unwrap_or(at.0);
        at.skip(b" ");
        if let [half @ (b'A' | b'P' | b'a' | b'p'), b'M' | b'm', rest @ ..] = at.0 {
            if clock.hour == 0 || clock.hour > 12 {
                return None;
            }
            clock.hour %= 12;
            if half.eq_ignore_ascii_case(&b'p') {
                clock.hour += 12;
            }
            at.0 = rest;
        }
    }
    let year = i32::try_from(year).ok().filter(|&year| year >= 1000)?;
    let date = days(year, month, day)?;
    if let Mark::Either(later) = &mut mark {
        *later = i16::try_from(days(year, day, month)? - date).ok()?;
    }
    let stamp = finish(date, clock, ns, fine, at.0)?;
    Some(Stamp { mark, ..stamp })
}

/// What is left of a text.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn digits(&mut self, most: usize) -> Option<u32> {
        let count = self
            .0
            .iter()
            .take(most)
            .take_while(|b| b.is_ascii_digit())
            .count();
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        let value = digits.iter().fold(0, |n, b| n * 10 + u32::from(b - b'0'));
        (count > 0).then_some(value)
    }

    fn take(&mut self, any: &[u8]) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        any.contains(&first).then(|| {
            self.0 = rest;
            first
        })
    }

    fn skip(&mut self, any: &[u8]) {
        while self.take(any).is_some() {}
    }

    fn month(&mut self) -> Option<u32> {
        const NAMES: &[u8; 36] = b"janfebmaraprmayjunjulaugsepoctnovdec";
        let name = self.0.get(..3)?.to_ascii_lowercase();
        let at = NAMES.chunks(3).position(|it| it == name)?;
        let letters = self
            .0
            .iter()
            .take_while(|b| b.is_ascii_alphabetic())
            .count();
        self.0 = &self.0[letters..];
        Some(at as u32 + 1)
    }
}

/// What a cell says about a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// This many nanoseconds.
    Ns(u64),
    /// Less than nothing.
    Negative,
    /// Nothing, by a mark that stands for it, or nothing that can be read.
    Nothing,
}

/// Reads a duration. `unit` is that of a plain number; `decimal_comma` says what a comma without
/// a point is: in files that separate by `;`, and in columns where one can be nothing else, a decimal point.
pub fn parse_duration(text: &str, unit: Unit, decimal_comma: bool) -> Told {
    let bytes = text.as_bytes().trim_ascii();
    if let Some(number) = number(bytes, decimal_comma) {
        return told(number.negative, number.times(unit.ns()));
    }
    let (negative, bytes) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, bytes),
    };
    told(negative, human(bytes, decimal_comma))
}

fn told(negative: bool, ns: Option<u128>) -> Told {
    match ns.and_then(|ns| u64::try_from(ns).ok()) {
        // The largest number stands for an unknown duration in the columns.
        None | Some(u64::MAX) => Told::Nothing,
        Some(0) => Told::Ns(0),
        Some(_) if negative => Told::Negative,
        Some(ns) => Told::Ns(ns),
    }
}

const HOUR: u64 = 3_600_000_000_000;
const MINUTE: u64 = 60_000_000_000;

fn human(b: &[u8], decimal_comma: bool) -> Option<u128> {
    match b.first()? {
        b'P' | b'p' => iso(&b[1..]),
        b'0'..=b'9' | b'.' if b.contains(&b':') => clock(b),
        _ => units(b, decimal_comma),
    }
}

/// `1m 2.5s`, `1,304.44ms`, `850.4µs`: numbers with units, added up.
fn units(mut b: &[u8], decimal_comma: bool) -> Option<u128> {
    let mut sum = 0u128;
    while !b.is_empty() {
        let digits = b
            .iter()
            .position(|b| !matches!(b, b'0'..=b'9' | b'.' | b','))?;
        let (amount, rest) = b.split_at(digits);
        let rest = rest.trim_ascii_start();
        let end = rest
            .iter()
            .position(|b| b.is_ascii_digit() || *b == b' ')
            .unwrap_or(rest.len());
        let (unit, rest) = rest.split_at(end);
        let unit = match unit {
            b"ns" => 1,
            b"us" | b"\xC2\xB5s" | b"\xCE\xBCs" => 1_000,
            b"ms" => 1_000_000,
            b"s" | b"sec" | b"secs" => 1_000_000_000,
            b"m" | b"min" | b"mins" => MINUTE,
            b"h" => HOUR,
            b"d" => 24 * HOUR,
            _ => return None,
        };
        sum = sum.checked_add(number(amount, decimal_comma)?.times(unit)?)?;
        b = rest.trim_ascii_start();
    }
    Some(sum)
}

/// What follows the P of `PT1.5S`. Months and years have no fixed length: none that is known.
fn iso(mut b: &[u8]) -> Option<u128> {
    let (mut sum, mut of_day, mut any) = (0u128, false, false);
    loop {
        match b.first() {
            None => return any.then_some(sum),
            Some(b'T' | b't') if !of_day => {
                of_day = true;
                b = &b[1..];
                continue;
            }
            Some(_) => {}
        }
        let digits = b.iter().position(u8::is_ascii_alphabetic)?;
        let unit = match (b[digits].to_ascii_uppercase(), of_day) {
            (b'W', false) => 168 * HOUR,
            (b'D', false) => 24 * HOUR,
            (b'H', true) => HOUR,
            (b'M', true) => MINUTE,
            (b'S', true) => 1_000_000_000,
            _ => return None,
        };
        sum = sum.checked_add(number(&b[..digits], true)?.times(unit)?)?;
        any = true;
        b = &b[digits + 1..];
    }
}

/// `[d.]hh:mm:ss[.fraction]`, as .NET writes it, or `mm:ss`.
fn clock(b: &[u8]) -> Option<u128> {
    let mut parts = b.rsplit(|&b| b == b':');
    let mut sum = number(parts.next()?, true)?.times(1_000_000_000)?;
    let minutes = number(parts.next()?, true).filter(|n| n.scale == 0)?;
    sum = sum.checked_add(minutes.times(MINUTE)?)?;
    if let Some(hours) = parts.next() {
        let (days, hours) = match hours.iter().position(|&b| b == b'.') {
            Some(at) => (
                number(&hours[..at], false)?.times(24 * HOUR)?,
                &hours[at + 1..],
            ),
            None => (0, hours),
        };
        let hours = number(hours, true).filter(|n| n.scale == 0)?;
        sum = sum.checked_add(days)?.checked_add(hours.times(HOUR)?)?;
    }
    parts.next().is_none().then_some(sum)
}

/// A decimal number: `digits` divided by ten to the power of `scale`.
#[derive(Clone, Copy, Debug)]
struct Number {
    negative: bool,
    digits: u128,
    scale: i32,
}

impl Number {
    /// The number times `unit`, what is below one cut off.
    fn times(self, unit: u64) -> Option<u128> {
        let all = self.digits.checked_mul(u128::from(unit))?;
        match self.scale {
            0 => Some(all),
            scale @ 1..=38 => Some(all / 10u128.pow(scale as u32)),
            scale if scale > 38 => Some(0),
            scale if scale >= -38 => all.checked_mul(10u128.pow(-scale as u32)),
            _ => (all == 0).then_some(0),
        }
    }

    fn whole(self) -> u128 {
        self.times(1).unwrap_or(u128::MAX)
    }
}

/// Reads a number with an optional sign, separators of thousands, fraction and exponent.
fn number(b: &[u8], decimal_comma: bool) -> Option<Number> {
    let (negative, b) = match b {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, b),
    };
    // Nearly every number: up to 19 digits and nothing else.
    if b.len() <= 19 && !b.is_empty() && b.iter().all(u8::is_ascii_digit) {
        let digits = b.iter().fold(0u64, |n, b| n * 10 + u64::from(b - b'0'));
        return Some(Number {
            negative,
            digits: u128::from(digits),
            scale: 0,
        });
    }
    let end = b
        .iter()
        .position(|b| matches!(b, b'e' | b'E'))
        .unwrap_or(b.len());
    let exponent = match &b[end..] {
        [] => 0,
        [_, b'-', digits @ ..] => -exponent(digits)?,
        [_, b'+', digits @ ..] | [_, digits @ ..] => exponent(digits)?,
    };
    let b = &b[..end];
    let point = decimal_point(b, decimal_comma);
    let (mut digits, mut scale, mut any) = (0u128, 0i32, false);
    for (at, &byte) in b.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                any = true;
                let fractional = point.is_some_and(|point| at > point);
                // Beyond what fits, a fraction is cut; a whole number overflows.
                if fractional && digits >= u128::pow(10, 30) {
                    continue;
                }
                digits = digits
                    .checked_mul(10)?
                    .checked_add(u128::from(byte - b'0'))?;
                scale += i32::from(fractional);
            }
            b'.' | b',' if point == Some(at) => {}
            // Thousands: a digit before, three after.
            b'.' | b',' if point.is_none_or(|point| at < point) => {
                let three = b.get(at + 1..at + 4)?.iter().all(u8::is_ascii_digit);
                let ends = !b.get(at + 4).is_some_and(u8::is_ascii_digit);
                if !any || !three || !ends {
                    return None;
                }
            }
            _ => return None,
        }
    }
    any.then_some(Number {
        negative,
        digits,
        scale: scale.checked_sub(exponent)?,
    })
}

fn exponent(digits: &[u8]) -> Option<i32> {
    let valid = matches!(digits.len(), 1..=3) && digits.iter().all(u8::is_ascii_digit);
    valid.then(|| digits.iter().fold(0, |n, b| n * 10 + i32::from(b - b'0')))
}

/// Where the decimal point is, if there is one: of `.` and `,` the one that comes last and only
/// once. A lone comma is one in files with decimal commas, and where no thousands could be meant.
fn decimal_point(b: &[u8], decimal_comma: bool) -> Option<usize> {
    let (point, comma) = (memchr::memrchr(b'.', b), memchr::memrchr(b',', b));
    match (point, comma) {
        (None, None) => None,
        (Some(point), None) => Some(point),
        (Some(point), Some(comma)) => Some(point.max(comma)),
        (None, Some(comma)) => {
            // Before the first separator of thousands stand three digits at most.
            let lone = memchr::memchr(b',', b) == Some(comma);
            let thousands = b.len() == comma + 4 && comma <= 3;
            (lone && (decimal_comma || !thousands)).then_some(comma)
        }
    }
}

/// Whether a cell has a comma that can only be a decimal one: not three digits follow it, or more than
/// three come before.
pub(super) fn tells_decimal_comma(text: &str) -> bool {
    let amounts = text.split(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','));
    let point = |it: &str| decimal_point(it.as_bytes(), false).map(|at| it.as_bytes()[at]);
    amounts.into_iter().any(|it| point(it) == Some(b','))
}

/// Prints a time as RFC 3339 in UTC with nine digits: `2026-01-05T10:00:00.000000000Z`.
pub fn print_time(ns: i64) -> String {
    format!("{}T{}Z", format::date(ns), format::time_of_day(ns, 9))
}

/// Prints a duration in the largest unit that is not above it, exactly: `27.9964ms`, `3.5s`.
pub fn print_duration(ns: u64) -> String {
    let unit = match ns {
        0..1_000 => Unit::Ns,
        1_000..1_000_000 => Unit::Us,
        1_000_000..1_000_000_000 => Unit::Ms,
        _ => Unit::S,
    };
    let (whole, rest) = (ns / unit.ns(), ns % unit.ns());
    let digits = unit.ns().ilog10() as usize;
    let fraction = format!("{rest:0digits$}");
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{whole}{point}{fraction}{}", unit.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let ns = |text| parse_time(text, None).map(|it| it.ns);
        let base = 1_767_607_200_000_000_000; // 2026-01-05T10:00:00Z
        let same = [
            "2026-01-05T10:00:00Z",
            "2026-01-05 10:00:00",
            "2026-01-05T10:00:00.000000000Z",
            "2026-01-05T12:00:00+02:00",
            "2026-01-05T04:30:00.0-0530",
            "2026-01-05 10:00:00 UTC",
            "2026-01-05 10:00:00 +0000 UTC",
            "1767607200",
            "1767607200000",
            "1767607200000.0",
            "1767607200000000",
            "1767607200000000000",
            "1.7676072E+12",
            "1/5/2026, 10:00:00.000 AM",
            "Jan 5, 2026 @ 10:00:00.000",
            "5.1.2026 10:00",
            "2026/01/05 10:00:00",
            "05-Jan-2026 10:00:00",
            "5 January 2026 10:00",
            "Mon, 05 Jan 2026 10:00:00 GMT",
            " 2026-01-05T10:00:00Z ",
        ];
        for text in same {
            assert_eq!(ns(text), Some(base), "{text}");
        }
        let others = [
            ("2026-01-05T10:00:00.1Z", base + 100_000_000),
            ("2026-01-05 10:00:00.123456789", base + 123_456_789),
            ("2026-01-05 10:00:00.1234567899", base + 123_456_789),
            ("2023-11-23 4:42:33", 1_700_714_553_000_000_000),
            ("1631187548250.929", 1_631_187_548_250_929_000),
            ("1631187548251.0022", 1_631_187_548_251_002_200),
            ("1786000000123456789", 1_786_000_000_123_456_789),
            ("1969-12-31T23:59:59.999999999Z", -1),
            ("2024-02-29T00:00:00Z", 1_709_164_800_000_000_000),
            ("3/29/2026, 12:00:45.020 AM", 1_774_742_445_020_000_000),
            ("3/29/2026, 1:00:45.020 PM", 1_774_789_245_020_000_000),
            ("29/3/2026 13:00:45.020", 1_774_789_245_020_000_000),
        ];
        for (text, expected) in others {
            assert_eq!(ns(text), Some(expected), "{text}");
        }
        let none = [
            "",
            "?",
            "yesterday",
            "5 1 2026 10:00:00",
            "Mon, 2026",
            "5-Jan",
            "2026-13-05T10:00:00Z",
            "2025-02-29T00:00:00Z",
            "2026-01-05T25:00:00Z",
            "9999999999999999999999",
            "2026-01-05T10:00:00Mars",
            "9999-01-05T10:00:00Z",
            "1e400",
            "--1",
            ".",
            "13/13/2026 10:00",
            "01:00",
        ];
        for text in none {
            assert_eq!(ns(text), None, "{text}");
        }
    }

    #[test]
    fn what_a_time_tells_of_itself() {
        let told = |text| parse_time(text, None).map(|it| (it.zoned, it.fine));
        assert_eq!(told("2026-01-05T10:00:00Z"), Some((true, false)));
        assert_eq!(told("2026-01-05T10:00:00.5+01:00"), Some((true, true)));
        assert_eq!(told("2026-01-05 10:00:00.500"), Some((false, true)));
        assert_eq!(told("1767607200"), Some((true, false)));
        assert_eq!(told("1767607200000"), Some((true, true)));
        let mark = |text| parse_time(text, None).map(|it| it.mark);
        let rounded = ["1.77475E+18", "1.77475E+12", "1.77E12", "1.774746E+15"];
        for text in rounded {
            assert_eq!(mark(text), Some(Mark::Rounded), "{text}");
        }
        let exact = [
            "1.774746045020290255E18",
            "1.77474604502029E+018",
            "1.774746045E+9",
            "1.774746045020E+12",
            "1774746045020000000",
        ];
        for text in exact {
            assert_eq!(mark(text), Some(Mark::None), "{text}");
        }
    }

    #[test]
    fn durations() {
        let cases = [
            ("150ms", 150_000_000),
            ("12.3ms", 12_300_000),
            ("850.4us", 850_400),
            ("850.4\u{b5}s", 850_400),
            ("850.4\u{3bc}s", 850_400),
            ("2.50s", 2_500_000_000),
            ("1m 2.5s", 62_500_000_000),
            ("1h2m3s", 3_723_000_000_000),
            ("0ms", 0),
            ("1,304.44ms", 1_304_440_000),
            ("1304.44ms", 1_304_440_000),
            ("PT1.5S", 1_500_000_000),
            ("PT1H2M", 3_720_000_000_000),
            ("P1DT1S", 86_401_000_000_000),
            ("00:00:01.2345678", 1_234_567_800),
            ("1.02:03:04", 93_784_000_000_000),
            ("250000ns", 250_000),
            ("3 s", 3_000_000_000),
            ("30", 30_000_000),
            ("30.25", 30_250_000),
            ("30,25", 30_250_000),
            ("1,000", 1_000_000_000),
            ("1000,250", 1_000_250_000),
            ("0.0000019", 1),
            ("4.99E+04", 49_900_000_000),
            ("-0", 0),
        ];
        for (text, ns) in cases {
            assert_eq!(
                parse_duration(text, Unit::Ms, false),
                Told::Ns(ns),
                "{text}"
            );
        }
        assert_eq!(
            parse_duration("30,250", Unit::Ms, true),
            Told::Ns(30_250_000)
        );
        assert_eq!(
            parse_duration("1,304,000", Unit::Ms, true),
            Told::Ns(1_304_000_000_000)
        );
        assert_eq!(
            parse_duration("1.304,44", Unit::Ms, true),
            Told::Ns(1_304_440_000)
        );
        for text in ["-1", "-1ms", "-0.5"] {
            assert_eq!(
                parse_duration(text, Unit::Ms, false),
                Told::Negative,
                "{text}"
            );
        }
        let none = [
            "",
            "?",
            "NaN",
            "null",
            "-",
            "P",
            "PT",
            "1x",
            "s",
            "1m2",
            "99999999999999999999",
            "18446744073709551615s",
            "1:2:3:4",
            "P1M",
            "1..2",
            ",5,5",
            "ms",
            "1e9999",
        ];
        for text in none {
            assert_eq!(
                parse_duration(text, Unit::Ms, false),
                Told::Nothing,
                "{text}"
            );
        }
    }

    #[test]
    fn decimal_commas() {
        for text in [
            "25,29",
            "1000,250",
            "1.304,44ms",
            "0,5 s",
            "1m 2,5s",
            "-3,1",
        ] {
            assert!(tells_decimal_comma(text), "{text}");
        }
        for text in [
            "25,296",
            "1,304.44ms",
            "1,000,000",
            "1,000 ms",
            "25.29",
            "25",
            "",
        ] {
            assert!(!tells_decimal_comma(text), "{text}");
        }
    }

    #[test]
    fn printed_for_people() {
        assert_eq!(print_time(0), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(print_time(-1), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(print_duration(27_996_404), "27.996404ms");
        assert_eq!(print_duration(3_000_000_000), "3s");
    }
}
