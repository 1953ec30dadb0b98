//! From a text to a filter.
//!
//! Owns the grammar: `or` binds least, then what stands side by side, then `-`. Invariant: goes over the text once, and
//! no deeper than [`DEEPEST`].

use std::ops::Range;
use std::str::FromStr;

use super::{COMPARES, Compare, Error, ErrorKind, FIELDS, Filter, KINDS, STATUSES, Status, Test};
use crate::ingest::time::{self, Unit, parse_duration};

/// What is no word of its own: the first two join, the others are tests.
pub(super) const WORDS: [&str; 4] = ["and", "or", "timeout", "failed"];

/// So many parentheses and signs may stand within each other.
const DEEPEST: usize = 50;

const TEST: &str =
    "a word, \"quoted text\", or a test like service=NAME, duration>200ms, status=error";
const KEPT: &str = "service, operation (name), instance, peer, message, kind, status, duration, tier or trace; all else that a row says is shown by a click on its span";

impl FromStr for Filter {
    type Err = Error;

    fn from_str(text: &str) -> Result<Filter, Error> {
        let mut read = Read {
            text,
            at: 0,
            depth: 0,
        };
        let filter = read.any()?;
        match read.peek() {
            None => Ok(filter),
            // What goes on is only ever ended by this.
            Some(_) => Err(read.unexpected("a parenthesis that is open, or nothing")),
        }
    }
}

struct Read<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Read<'a> {
    fn any(&mut self) -> Result<Filter, Error> {
        let mut of = vec![self.all()?];
        while self.takes_word("or") {
            of.push(self.all()?);
        }
        Ok(joined(of, Filter::Any))
    }

    fn all(&mut self) -> Result<Filter, Error> {
        let mut of = vec![self.one()?];
        loop {
            let ends = matches!(self.peek(), None | Some(')'));
            if ends || self.is_word("or") {
                return Ok(joined(of, Filter::All));
            }
            self.takes_word("and");
            of.push(self.one()?);
        }
    }

    fn one(&mut self) -> Result<Filter, Error> {
        let first = self.peek();
        let from = self.at;
        let nested = matches!(first, Some('-' | '('));
        if nested {
            self.at += 1;
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(self.error(ErrorKind::Deep, from..self.at, "fewer of them"));
            }
        }
        let read = match first {
            Some('-') => Filter::Not(Box::new(self.one()?)),
            Some('(') => {
                let within = self.any()?;
                if self.peek() != Some(')') {
                    return Err(self.error(
                        ErrorKind::Open,
                        from..from + 1,
                        ") at the end of the group",
                    ));
                }
                self.at += 1;
                within
            }
            _ => self.test()?,
        };
        self.depth -= usize::from(nested);
        Ok(read)
    }

    fn test(&mut self) -> Result<Filter, Error> {
        if self.peek() == Some('"') {
            return Ok(Filter::Test(Test::Word(self.quoted()?)));
        }
        let key = self.take_while(|c| !ends_word(c));
        let word = self.part(&key);
        let joins = WORDS[..2].iter().any(|it| it.eq_ignore_ascii_case(word));
        if word.is_empty() || joins {
            self.at = key.start;
            return Err(self.unexpected(TEST));
        }
        let with = match self.peek() {
            Some('=' | '~' | '<' | '>') => self.operator(),
            _ => {
                self.at = key.end;
                let known = match word {
                    _ if word.eq_ignore_ascii_case("timeout") => Test::Status(Status::Timeout),
                    _ if word.eq_ignore_ascii_case("failed") => Test::Status(Status::Error),
                    _ => Test::Word(word.to_owned()),
                };
                return Ok(Filter::Test(known));
            }
        };
        match word.strip_suffix('!').filter(|_| self.part(&with) == "=") {
            Some(word) => {
                let of = Filter::Test(self.keyed(key.start..key.end - 1, word, with)?);
                Ok(Filter::Not(Box::new(of)))
            }
            None => Ok(Filter::Test(self.keyed(key, word, with)?)),
        }
    }

    /// The test of a key, at its operator's end.
    fn keyed(&mut self, at: Range<usize>, key: &str, with: Range<usize>) -> Result<Test, Error> {
        let with_text = self.part(&with);
        let compare = COMPARES.iter().find(|it| it.0 == with_text);
        let compare = compare.map(|it| it.1);
        let is = |name: &str| key.eq_ignore_ascii_case(name);
        let field = FIELDS.iter().find(|it| is(it.0)).map(|it| it.1);
        let numbers = is("duration") || is("tier");
        let others = is("status") || is("kind") || is("trace");
        let expected = match (field, compare) {
            (None, _) if !numbers && !others => {
                return Err(self.error(ErrorKind::NotKept, at, KEPT));
            }
            (Some(_), None | Some(Compare::Equal)) => "",
            (Some(_), Some(_)) => "= or ~",
            (None, None) if numbers => "=, <, <=, > or >=",
            (None, Some(_)) if numbers => "",
            (None, Some(Compare::Equal)) => "",
            (None, _) => "=",
        };
        if !expected.is_empty() {
            return Err(self.error(ErrorKind::Unexpected, with, expected));
        }
        let (value, at) = self.value()?;
        let (test, expected) = match field {
            Some(field) if compare.is_some() => (Some(Test::Is(field, value)), ""),
            Some(field) => (Some(Test::Like(field, value)), ""),
            None if is("trace") => (Some(Test::Trace(value)), ""),
            None if is("status") => {
                let status = STATUSES.iter().find(|it| value.eq_ignore_ascii_case(it.0));
                (
                    status.map(|it| Test::Status(it.1)),
                    "ok, error, timeout or rejected",
                )
            }
            None if is("kind") => {
                let kind = KINDS
                    .iter()
                    .find(|it| value.eq_ignore_ascii_case(it.as_str()));
                (
                    kind.map(|&it| Test::Kind(it)),
                    "client, server, internal, producer, consumer or unset",
                )
            }
            None if is("tier") => {
                let tier = value.parse().ok();
                (
                    compare.zip(tier).map(|(it, tier)| Test::Tier(it, tier)),
                    "a whole number: 0 for the outermost callers",
                )
            }
            None => (
                compare
                    .zip(duration(&value))
                    .map(|(it, ns)| Test::Duration(it, ns)),
                "a number and ns, us, ms, s or m, as in 200ms",
            ),
        };
        test.ok_or_else(|| self.error(ErrorKind::Value, at, expected))
    }

    fn operator(&mut self) -> Range<usize> {
        let from = self.at;
        self.at += 1;
        let rest = self.part(&(from..self.text.len()));
        if rest.starts_with(">=") || rest.starts_with("<=") {
            self.at += 1;
        }
        from..self.at
    }

    /// A value, and where it stands.
    fn value(&mut self) -> Result<(String, Range<usize>), Error> {
        if self.peek() == Some('"') {
            let from = self.at;
            let value = self.quoted()?;
            return Ok((value, from..self.at));
        }
        let at = self.take_while(|c| !is_space(c) && !matches!(c, '(' | ')' | '"'));
        if at.is_empty() {
            return Err(self.unexpected("a value, in quotes if there are spaces in it"));
        }
        Ok((self.part(&at).to_owned(), at))
    }

    /// A quoted text, at its quote.
    fn quoted(&mut self) -> Result<String, Error> {
        let from = self.at;
        let mut text = String::new();
        let mut chars = self.part(&(from + 1..self.text.len())).char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.at = from + 1 + at + 1;
                    return Ok(text);
                }
                '\\' => text.extend(chars.next().map(|it| it.1)),
                _ => text.push(c),
            }
        }
        Err(self.error(ErrorKind::Open, from..from + 1, "\" at the end of the text"))
    }

    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        self.take_while(is_space);
        self.part(&(self.at..self.text.len())).chars().next()
    }

    fn is_word(&mut self, word: &str) -> bool {
        let before = self.at;
        let is_it = self.takes_word(word);
        self.at = before;
        is_it
    }

    /// Goes past a word, if it is there.
    fn takes_word(&mut self, word: &str) -> bool {
        self.peek();
        let before = self.at;
        let at = self.take_while(|c| !ends_word(c));
        let is_it = self.part(&at).eq_ignore_ascii_case(word);
        if !is_it {
            self.at = before;
        }
        is_it
    }

    fn take_while(&mut self, takes: fn(char) -> bool) -> Range<usize> {
        let from = self.at;
        let rest = self.part(&(from..self.text.len()));
        self.at += rest.find(|c| !takes(c)).unwrap_or(rest.len());
        from..self.at
    }

    /// Something else stands here: a word, or a sign.
    fn unexpected(&mut self, expected: &'static str) -> Error {
        let first = self.peek().map_or(0, char::len_utf8);
        let from = self.at;
        let word = self.take_while(|c| !ends_word(c));
        self.error(
            ErrorKind::Unexpected,
            from..word.end.max(from + first),
            expected,
        )
    }

    /// A part of the text, which begins and ends between characters.
    fn part(&self, at: &Range<usize>) -> &'a str {
        self.text.get(at.clone()).unwrap_or_default()
    }

    fn error(&self, kind: ErrorKind, at: Range<usize>, expected: &'static str) -> Error {
        Error {
            kind,
            got: self.part(&at).to_owned(),
            at,
            expected,
        }
    }
}

fn joined(mut of: Vec<Filter>, join: fn(Vec<Filter>) -> Filter) -> Filter {
    match of.len() {
        1 => of.remove(0),
        _ => join(of),
    }
}

/// What no word has in it.
fn ends_word(c: char) -> bool {
    is_space(c) || matches!(c, '(' | ')' | '"' | '=' | '~' | '<' | '>')
}

fn is_space(c: char) -> bool {
    c.is_whitespace()
}

/// Nanoseconds of a number with its unit.
fn duration(text: &str) -> Option<u64> {
    let starts = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let has_unit = text.ends_with(|c: char| c.is_ascii_alphabetic());
    if !starts || !has_unit || text.contains(':') {
        return None;
    }
    match parse_duration(text, Unit::Ns, false) {
        time::Told::Ns(ns) => Some(ns),
        _ => None,
    }
}
