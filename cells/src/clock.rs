//! Times and numbers in the shapes that nearly all files have.
//!
//! Owns those shapes alone: what is written otherwise is `None` here, not wrong. Invariant: what is read is what
//! the patient grammar of the reader reads. Constant time. Pinned by `tests` and by the reader's properties.

use crate::words;

/// The date that was read last, which the next time mostly has too.
#[derive(Clone, Copy, Debug, Default)]
pub struct Today {
    text: [u64; 2],
    days: i64,
}

/// A time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// Nanoseconds since 1970, as if it were UTC.
    pub ns: i64,
    /// It ends with a `Z`.
    pub zoned: bool,
    /// It has a fraction.
    pub fine: bool,
}

/// `YYYY-MM-DDThh:mm:ss`, with up to nine digits of a fraction and with or without a `Z`.
#[inline(never)]
pub fn time(text: &[u8], today: &mut Today) -> Option<Time> {
    let date = [words::at(text, 0)?, words::at(text, 2)?];
    if date != today.text {
        *today = Today {
            text: date,
            days: date_of(text)?,
        };
    }
    if !matches!(text.get(10)?, b' ' | b'T' | b't') {
        return None;
    }
    let clock = words::at(text, 11)? ^ u64::from_le_bytes(*b"00:00:00");
    const COLONS: u64 = u64::from_le_bytes([0, 0, 255, 0, 0, 255, 0, 0]);
    if (clock.wrapping_add(words::of(6)) | clock) & words::of(0xF0) != 0 || clock & COLONS != 0 {
        return None;
    }
    let pairs = (clock * 10 + (clock >> 8)).to_le_bytes();
    let [hour, minute, second] = [pairs[0], pairs[3], pairs[6]].map(i64::from);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (mut fraction, mut digits, mut at) = (0, 0, 19);
    if matches!(text.get(at), Some(b'.' | b',')) {
        at += 1;
        if let Some(eight) = words::at(text, at).and_then(words::digits) {
            (fraction, digits, at) = (eight as i64, 8, at + 8);
        }
        while digits < 9
            && let Some(digit) = text
                .get(at)
                .map(|it| it.wrapping_sub(b'0'))
                .filter(|&it| it < 10)
        {
            (fraction, digits, at) = (fraction * 10 + i64::from(digit), digits + 1, at + 1);
        }
        if digits == 0 {
            return None;
        }
        for _ in digits..9 {
            fraction *= 10;
        }
    }
    let zoned = match text.get(at..)? {
        [] => false,
        [b'Z' | b'z'] => true,
        _ => return None,
    };
    // As many days as nanoseconds can tell.
    let days = Some(today.days).filter(|it| it.abs() < 106_000)?;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    Some(Time {
        ns: seconds * 1_000_000_000 + fraction,
        zoned,
        fine: digits > 0,
    })
}

/// The days since 1970 of a text that begins with `YYYY-MM-DD`.
fn date_of(text: &[u8]) -> Option<i64> {
    let date = text.first_chunk::<10>()?;
    let number = |from: usize, to: usize| {
        let digits = date.get(from..to)?.iter();
        digits.into_iter().try_fold(0, |number, byte| {
            let digit = byte.wrapping_sub(b'0');
            (digit < 10).then_some(number * 10 + u32::from(digit))
        })
    };
    if date[4] != b'-' || date[7] != b'-' {
        return None;
    }
    days(number(0, 4)? as i32, number(5, 7)?, number(8, 10)?)
}

/// Days since 1970 of a date, when there is such a date.
pub fn days(year: i32, month: u32, day: u32) -> Option<i64> {
    const LENGTHS: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *LENGTHS.get(month.checked_sub(1)? as usize)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if day == 0 || day > length || (month == 2 && day == 29 && !leap) {
        return None;
    }
    // Years that begin in March put the leap day last (the usual civil-from-days arithmetic).
    let year = i64::from(if month <= 2 { year - 1 } else { year });
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * i64::from((month + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// A whole number of at most 19 digits and nothing else.
#[inline(never)]
pub fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    let (mut number, mut at) = (0, 0);
    while let Some(word) = words::at(text, at) {
        number = number * 100_000_000 + words::digits(word)?;
        at += words::WIDTH;
    }
    text.get(at..)?.iter().try_fold(number, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then_some(number * 10 + u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn times_are_read(
            days in -70_000i64..70_000,
            of_day in 0i64..86_400,
            fraction in 0i64..1_000_000_000,
            digits in 0usize..10,
            zoned: bool,
        ) {
            let mut date = (1700, 1, 1);
            // The other way round is a search.
            while super::days(date.0 + 1, 1, 1).unwrap() <= days {
                date.0 += 1;
            }
            while date.1 < 12 && super::days(date.0, date.1 + 1, 1).unwrap() <= days {
                date.1 += 1;
            }
            date.2 += (days - super::days(date.0, date.1, 1).unwrap()) as u32;
            let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
            let mut text = format!("{}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}", date.0, date.1, date.2);
            let shown = format!("{fraction:09}");
            if digits > 0 {
                text += &format!(".{}", &shown[..digits]);
            }
            if zoned {
                text += "Z";
            }
            let part = 10i64.pow(9 - digits as u32);
            let expected = Time {
                ns: (days * 86_400 + of_day) * 1_000_000_000 + fraction / part * part,
                zoned,
                fine: digits > 0,
            };
            let mut today = Today::default();
            prop_assert_eq!(time(text.as_bytes(), &mut today), Some(expected));
            prop_assert_eq!(time(text.as_bytes(), &mut today), Some(expected));
            for at in 0..text.len() {
                let mut broken = text.clone().into_bytes();
                broken[at] = b'?';
                prop_assert_eq!(time(&broken, &mut today), None);
            }
        }

        #[test]
        fn numbers_are_read(number_: u64, text in "[0-9]{0,18}[0-9a-z:/]?") {
            let shown = number_.to_string();
            prop_assert_eq!(number(shown.as_bytes()), Some(number_).filter(|_| shown.len() < 20));
            let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
            prop_assert_eq!(number(text.as_bytes()), is_number.then(|| text.parse().unwrap()));
        }
    }

    #[test]
    fn what_is_no_time_or_of_another_shape_is_left_to_others() {
        for text in [
            "",
            "2026-02-29 00:00:00",
            "2026-01-01 24:00:00",
            "2026-01-01 00:60:00",
            "2026-01-01 23:59:60",
            "2026-01-01 00:00:00.",
            "2026-01-01 00:00:00.1234567890",
            "2026-01-01 00:00:00+01:00",
            "2026-01-01 00:00:00 Z",
            "9999-01-01 00:00:00",
            "2026-01-01 00:0:000",
            "2026-1-01 00:00:00.00",
            " 2026-01-01 00:00:00",
            "2026-01-01_00:00:00",
            "2026-01-01 00;00:00",
            "2026-01-01 00:00:0:",
        ] {
            assert_eq!(time(text.as_bytes(), &mut Today::default()), None, "{text}");
        }
    }
}
