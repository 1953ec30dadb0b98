//! Ids: numbers as long as all of a file are written as OpenTelemetry writes them, else texts.
//!
//! Owns the two forms. Invariants: an id is printed as it was written; two of one file are equal exactly when
//! their values are; values compare as the texts do ([`SpanIds::compare`], [`TraceIds::compare`]). A number costs
//! its own bytes, a text what [`Strings`] says. Pinned by `tests`.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;

use crate::index::Index;
use crate::strings::Strings;
use crate::words;

/// An id, as it is written.
#[derive(Debug)]
pub enum Id<'a> {
    /// A text.
    Text(&'a str),
    /// Hexadecimal digits, so many of them.
    Hex([u8; 32], usize),
}

impl Deref for Id<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Id::Text(text) => text,
            Id::Hex(digits, n) => {
                let digits = digits.get(..*n).unwrap_or_default();
                std::str::from_utf8(digits).unwrap_or_default()
            }
        }
    }
}

impl fmt::Display for Id<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.pad(self)
    }
}

impl PartialEq for Id<'_> {
    fn eq(&self, other: &Id<'_>) -> bool {
        **self == **other
    }
}

impl PartialEq<&str> for Id<'_> {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

/// The id of that many hexadecimal digits.
#[inline(never)]
fn written(value: u128, n_digits: usize) -> Id<'static> {
    let mut digits = [0; 32];
    for (at, digit) in digits.iter_mut().take(n_digits).enumerate() {
        let value = (value >> (4 * (n_digits - 1 - at))) as u8 & 15;
        *digit = value + if value < 10 { b'0' } else { b'a' - 10 };
    }
    Id::Hex(digits, n_digits)
}

/// The number that 16 hexadecimal digits in lower case are.
#[inline]
pub fn hex_of_16(text: &[u8]) -> Option<u64> {
    if text.len() != 16 {
        return None;
    }
    let (high, low) = (
        words::hex(words::at(text, 0)?)?,
        words::hex(words::at(text, 8)?)?,
    );
    Some(u64::from(high) << 32 | u64::from(low))
}

/// The number that 32 hexadecimal digits in lower case are.
#[inline]
pub fn hex_of_32(text: &[u8]) -> Option<u128> {
    let (high, low) = text.split_at_checked(16)?;
    Some(u128::from(hex_of_16(high)?) << 64 | u128::from(hex_of_16(low)?))
}

/// Whether an id holds nothing but ASCII letters, digits and what stands between parts of ids.
#[inline(never)]
pub fn is_plain(text: &[u8]) -> bool {
    let mut at = 0;
    while let Some(it) = text.get(at) {
        let hex = words::at(text, at).and_then(words::hex);
        let is_plain = it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b':' | b'.');
        at += match hex {
            Some(_) => words::WIDTH,
            None if is_plain => 1,
            None => return false,
        };
    }
    true
}

/// The ids of spans: what the values are that columns hold, of which 0 is no id where one may be missing.
#[derive(Clone, Debug, Default)]
pub struct SpanIds {
    /// Texts, once not all are numbers: a value is the index of one.
    texts: Option<Strings>,
}

impl SpanIds {
    /// Whether the values are the ids themselves.
    pub fn are_numbers(&self) -> bool {
        self.texts.is_none()
    }

    /// The value of a number, as long as all are.
    #[inline]
    pub fn of_number(&self, text: &[u8]) -> Option<u64> {
        hex_of_16(text).filter(|_| self.are_numbers())
    }

    /// From now on ids are texts; changes the values in these columns.
    #[cold]
    #[inline(never)]
    pub fn turn_to_texts(&mut self, columns: [&mut [u64]; 2]) {
        let mut texts = Strings::default();
        let [spans, parents] = columns;
        for value in spans {
            *value = texts.intern(&written((*value).into(), 16)).into();
        }
        for value in parents.iter_mut().filter(|it| **it != 0) {
            *value = texts.intern(&written((*value).into(), 16)).into();
        }
        self.texts = Some(texts);
    }

    /// The value of a text, which is added when it is new; 0 for the empty one.
    pub fn intern(&mut self, text: &str) -> u64 {
        self.texts.get_or_insert_default().intern(text).into()
    }

    /// The value of `text`, if there may be such an id.
    pub fn find(&self, text: &str) -> Option<u64> {
        match &self.texts {
            Some(texts) => texts.find(text).map(u64::from),
            None => hex_of_16(text.as_bytes()),
        }
    }

    /// The id as it is written.
    pub fn get(&self, value: u64) -> Id<'_> {
        match &self.texts {
            Some(texts) => Id::Text(texts.get(u32::try_from(value).unwrap_or(u32::MAX))),
            None => written(value.into(), 16),
        }
    }

    /// In which order the texts of two values stand.
    #[inline]
    pub fn compare(&self, a: u64, b: u64) -> Ordering {
        match &self.texts {
            Some(texts) if a != b => texts.get(a as u32).cmp(texts.get(b as u32)),
            _ => a.cmp(&b),
        }
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.texts.as_ref().map_or(0, Strings::bytes)
    }
}

/// The ids of traces, each once.
#[derive(Clone, Debug)]
pub struct TraceIds(Form);

#[derive(Clone, Debug)]
enum Form {
    Numbers(Vec<u128>, Index),
    Texts(Strings),
}

impl Default for TraceIds {
    fn default() -> TraceIds {
        TraceIds(Form::Numbers(Vec::new(), Index::default()))
    }
}

#[inline(always)]
fn hash(value: u128) -> u64 {
    words::finished(words::mix_word(value as u64, (value >> 64) as u64))
}

impl TraceIds {
    /// Texts begin with as many of their own.
    const OWN: usize = 2;

    /// The index of an id that is a number, as long as all are; it is added when it is new.
    #[inline(never)]
    pub fn of_number(&mut self, text: &[u8]) -> Option<u32> {
        let Form::Numbers(values, table) = &mut self.0 else {
            return None;
        };
        let value = hex_of_32(text)?;
        // Files are mostly written trace by trace.
        if values.last() == Some(&value) {
            return Some(values.len() as u32 - 1);
        }
        let hashed = hash(value);
        let found = table.find(hashed, |it| values.get(it as usize) == Some(&value));
        if found.is_some() {
            return found;
        }
        let index = values.len() as u32;
        values.push(value);
        table.add(hashed, index);
        Some(index)
    }

    /// The index of an id, which is added when it is new. When it is the first that is no number, indices in
    /// this column change.
    pub fn intern(&mut self, text: &str, column: &mut [u32]) -> u32 {
        if let Some(index) = self.of_number(text.as_bytes()) {
            return index;
        }
        if let Form::Numbers(values, _) = &self.0 {
            let mut texts = Strings::default();
            for &value in values {
                texts.intern(&written(value, 32));
            }
            for index in column {
                *index += Self::OWN as u32;
            }
            self.0 = Form::Texts(texts);
        }
        match &mut self.0 {
            Form::Texts(texts) => texts.intern(text),
            Form::Numbers(..) => 0,
        }
    }

    /// The id of an index, as it is written; empty for an index of another table.
    pub fn get(&self, index: u32) -> Id<'_> {
        match &self.0 {
            Form::Texts(texts) => Id::Text(texts.get(index)),
            Form::Numbers(values, _) => match values.get(index as usize) {
                Some(&value) => written(value, 32),
                None => Id::Text(""),
            },
        }
    }

    /// The index of `text`, if it is there. O(ids) among numbers.
    pub fn find(&self, text: &str) -> Option<u32> {
        match &self.0 {
            Form::Texts(texts) => texts.find(text),
            Form::Numbers(values, _) => {
                let value = hex_of_32(text.as_bytes())?;
                let at = values.iter().position(|&it| it == value)?;
                Some(at as u32)
            }
        }
    }

    /// The same ids, to which none is added any more.
    pub fn settled(&self) -> TraceIds {
        TraceIds(match &self.0 {
            Form::Texts(texts) => Form::Texts(texts.clone()),
            Form::Numbers(values, _) => Form::Numbers(values.clone(), Index::default()),
        })
    }

    /// In which order the texts of two indices stand.
    pub fn compare(&self, a: u32, b: u32) -> Ordering {
        match &self.0 {
            Form::Texts(texts) => texts.get(a).cmp(texts.get(b)),
            Form::Numbers(values, _) => {
                let value = |index: u32| values.get(index as usize).copied().unwrap_or(0);
                value(a).cmp(&value(b))
            }
        }
    }

    /// How many ids there are.
    pub fn len(&self) -> usize {
        self.end()
            - if let Form::Texts(_) = &self.0 {
                Self::OWN
            } else {
                0
            }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Above all indices.
    pub fn end(&self) -> usize {
        match &self.0 {
            Form::Texts(texts) => texts.len(),
            Form::Numbers(values, _) => values.len(),
        }
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Form::Texts(texts) => texts.bytes(),
            Form::Numbers(values, table) => values.capacity() * size_of::<u128>() + table.bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn id(n_digits: usize) -> impl Strategy<Value = String> {
        prop_oneof![
            20 => any::<u128>().prop_map(move |it| written(it, n_digits).to_owned()),
            1 => Just("root".to_owned()),
            1 => Just("0".repeat(n_digits)),
            1 => any::<u128>().prop_map(move |it| written(it, n_digits).to_uppercase()),
        ]
    }

    #[test]
    fn plain_ids() {
        for id in [
            "00f067aa0ba902b7",
            "0F067AA0BA902B7",
            "a-b_c:d.e",
            "00f067aa0ba902b7-x",
            "",
        ] {
            assert!(is_plain(id.as_bytes()), "{id}");
        }
        for id in [
            "00f067aa0ba902b7 ",
            "#REF!",
            "1.2E+31",
            "00f067aa0ba902\u{e9}",
            "'1",
        ] {
            assert!(!is_plain(id.as_bytes()), "{id}");
        }
    }

    proptest! {
        #[test]
        fn ids_are_printed_as_they_were_written(
            traces in vec(id(32), 0..30),
            spans in vec(id(16), 0..30),
        ) {
            let (mut trace_ids, mut trace) = (TraceIds::default(), Vec::new());
            for text in traces.iter().chain(&traces) {
                let index = trace_ids.intern(text, &mut trace);
                trace.push(index);
            }
            let (mut span_ids, mut span) = (SpanIds::default(), Vec::new());
            for text in &spans {
                if span_ids.of_number(text.as_bytes()).is_none() && span_ids.are_numbers() {
                    span_ids.turn_to_texts([&mut span, &mut []]);
                }
                let number = span_ids.of_number(text.as_bytes());
                span.push(number.unwrap_or_else(|| span_ids.intern(text)));
            }
            for (at, (text, &index)) in traces.iter().chain(&traces).zip(&trace).enumerate() {
                prop_assert_eq!(&*trace_ids.get(index), text);
                prop_assert_eq!(trace_ids.find(text), Some(index));
                prop_assert_eq!(trace_ids.compare(index, trace[0]), text.cmp(&traces[0]));
                prop_assert_eq!(index, trace[at % traces.len()]);
            }
            let mut distinct = traces.clone();
            distinct.sort();
            distinct.dedup();
            prop_assert_eq!(trace_ids.len(), distinct.len());
            prop_assert_eq!(trace_ids.is_empty(), distinct.is_empty());
            for (text, &value) in spans.iter().zip(&span) {
                prop_assert_eq!(&*span_ids.get(value), text);
                prop_assert_eq!(span_ids.find(text), Some(value));
                prop_assert_eq!(span_ids.compare(value, span[0]), text.cmp(&spans[0]));
            }
        }
    }
}
