//! Looks values up in the attributes that exporters write into one cell.
//!
//! Owns the shapes: ClickHouse's map literals (`{'k':'v','it':'it\'s'}`), JSON objects, lists of
//! `{"key":..,"value":..}` (Grafana), UDTs with bare keys (Cassandra) and `k=v;k=v`. Invariant: a cell
//! is walked once, nothing is allocated, and a broken cell ends the walk. O(length of the cell).
//! Pinned by `tests`.

/// Calls `visit` with each key and value of `text`. Values are given as they stand, without their
/// quotes; what they escape with backslashes stays escaped. Nested objects and lists are entered.
pub(crate) fn scan<'a>(text: &'a str, visit: &mut impl FnMut(&'a str, &'a str)) {
    let first = text.trim_ascii_start();
    if first.starts_with(['{', '[']) {
        let mut walk = Walk {
            text,
            at: text.len() - first.len(),
        };
        walk.value(0, visit);
    } else if first.contains('=') {
        for pair in first.split([';', '\n']) {
            if let Some((key, value)) = pair.split_once('=') {
                visit(key.trim_ascii(), value.trim_ascii());
            }
        }
    }
}

/// The pairs of a cell that consists of them, keys and values as they stand, with what is nested in them; `None` for
/// any other. `loose` ones, `k=v;k=v`, are pairs where it is known that a cell holds attributes.
#[inline(never)]
pub(crate) fn pairs(text: &str, loose: bool) -> Option<Vec<[&str; 2]>> {
    let mut pairs = Vec::new();
    let mut walk = Walk { text, at: 0 };
    let is_map = matches!(walk.peek()?, b'{' | b'[');
    if is_map {
        while let Some(byte) = walk.peek() {
            match byte {
                b'[' | b']' | b',' => walk.at += 1,
                b'{' => walk.pairs_of(&mut pairs)?,
                _ => return None,
            }
        }
    } else if loose {
        for pair in text.split([';', '\n']) {
            if let Some((key, value)) = pair.split_once('=') {
                pairs.push([key.trim_ascii(), value.trim_ascii()]);
            } else if !pair.trim_ascii().is_empty() {
                return None;
            }
        }
    }
    (!pairs.is_empty()).then_some(pairs)
}

/// The text of a key or a value that may stand in quotes.
#[inline(never)]
pub(crate) fn bare(token: &str) -> String {
    let text = inside(token);
    match text.len() < token.len() {
        true => unescape(text, &mut String::new()).to_owned(),
        false => text.to_owned(),
    }
}

/// What stands in the quotes, if it does.
fn inside(token: &str) -> &str {
    match token.as_bytes() {
        [b'"' | b'\'', .., _] => token.get(1..token.len() - 1).unwrap_or(token),
        _ => token,
    }
}

/// Undoes the backslashes of a value into `scratch`.
pub(crate) fn unescape<'a>(value: &'a str, scratch: &'a mut String) -> &'a str {
    if !value.contains('\\') {
        return value;
    }
    scratch.clear();
    let mut chars = value.chars();
    let mut high = 0;
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('n')) => scratch.push('\n'),
            ('\\', Some('t')) => scratch.push('\t'),
            ('\\', Some('r')) => scratch.push('\r'),
            ('\\', Some('u')) => {
                let digits = chars.as_str().get(..4).unwrap_or("none");
                let unit = |unit: u32, digit: char| Some(unit << 4 | digit.to_digit(16)?);
                let Some(unit) = digits.chars().try_fold(0, unit) else {
                    scratch.push('u');
                    continue;
                };
                chars.nth(3);
                // One of UTF-16, of which two can be a character.
                let code = match unit & 0xFC00 {
                    0xD800 => {
                        high = (unit & 0x3FF) << 10;
                        continue;
                    }
                    0xDC00 => 0x1_0000 + (high | unit & 0x3FF),
                    _ => unit,
                };
                scratch.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            ('\\', Some(escaped)) => scratch.push(escaped),
            (c, _) => scratch.push(c),
        }
    }
    scratch
}

/// Deeper than this nobody nests attributes; it keeps the stack small on hostile cells.
const DEEPEST: u32 = 16;

struct Walk<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Walk<'a> {
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or("")
    }

    /// Walks one value and gives back its text when it is a plain one. `None` ends the walk.
    fn value(&mut self, depth: u32, visit: &mut impl FnMut(&'a str, &'a str)) -> Option<&'a str> {
        match self.peek()? {
            b'{' if depth < DEEPEST => self.object(depth, visit).map(|()| ""),
            b'[' if depth < DEEPEST => self.list(depth, visit).map(|()| ""),
            b'{' | b'[' => None,
            quote @ (b'"' | b'\'') => self.quoted(quote),
            // Nothing stands where a value would.
            b',' | b'}' | b']' => Some(""),
            _ => Some(self.bare(b",}]")),
        }
    }

    fn list(&mut self, depth: u32, visit: &mut impl FnMut(&'a str, &'a str)) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek()? {
                b']' => break,
                b',' => self.at += 1,
                b'}' => return None,
                _ => {
                    self.value(depth + 1, visit)?;
                }
            }
        }
        self.at += 1;
        Some(())
    }

    fn object(&mut self, depth: u32, visit: &mut impl FnMut(&'a str, &'a str)) -> Option<()> {
        self.at += 1;
        // `{"key": k, "value": v}` stands for the pair (k, v).
        let (mut named, mut held) = (None, None);
        loop {
            let key = match self.peek()? {
                b'}' => break,
                b',' => {
                    self.at += 1;
                    continue;
                }
                quote @ (b'"' | b'\'') => self.quoted(quote)?,
                _ => self.bare(b":,}"),
            };
            match self.peek()? {
                b':' => self.at += 1,
                _ => return None,
            }
            let value = self.value(depth + 1, visit)?;
            match key {
                "key" => named = Some(value),
                "value" | "value_string" | "stringValue" => held = Some(value),
                _ => visit(key, value),
            }
        }
        self.at += 1;
        match (named, held) {
            (Some(key), Some(value)) => visit(key, value),
            (Some(value), None) => visit("key", value),
            (None, Some(value)) => visit("value", value),
            (None, None) => {}
        }
        Some(())
    }

    /// The pairs of one object.
    #[inline(never)]
    fn pairs_of(&mut self, pairs: &mut Vec<[&'a str; 2]>) -> Option<()> {
        let n_before = pairs.len();
        // `{"key": k, "value": v}` stands for the pair (k, v). Cassandra has a value of each type and tells which.
        let (mut named, mut of_type) = (None, "value");
        self.at += 1;
        loop {
            let key = match self.peek()? {
                b'}' => break,
                b',' => {
                    self.at += 1;
                    continue;
                }
                _ => self.whole(b":,}]")?,
            };
            if self.peek()? != b':' {
                return None;
            }
            self.at += 1;
            let value = self.whole(b",}]")?;
            match (inside(key), inside(value)) {
                ("key", _) => named = Some(value),
                ("value_type", of) => {
                    of_type = match of.as_bytes() {
                        [b'b', b'o', ..] => "value_bool",
                        [b'i', ..] => "value_long",
                        [b'f', ..] => "value_double",
                        _ => "value_string",
                    }
                }
                _ => {}
            }
            pairs.push([key, value]);
        }
        self.at += 1;
        let of_pair = pairs
            .iter()
            .skip(n_before)
            .find(|it| inside(it[0]) == of_type);
        if let (Some(key), Some(&[_, value])) = (named, of_pair) {
            pairs.truncate(n_before);
            pairs.push([key, value]);
        }
        Some(())
    }

    /// A key or a value as it stands, with its quotes and whatever is nested in it; without quotes, up to one of `ends`.
    fn whole(&mut self, ends: &[u8]) -> Option<&'a str> {
        self.peek()?;
        let from = self.at;
        let mut depth = 0;
        loop {
            let byte = self.peek()?;
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth > 0 => depth -= 1,
                b'}' | b']' | b',' if depth == 0 => return Some(""),
                b'"' | b'\'' => {
                    self.quoted(byte)?;
                    self.at -= 1;
                }
                _ if depth == 0 => return Some(self.bare(ends)),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(self.slice(from, self.at));
            }
        }
    }

    fn quoted(&mut self, quote: u8) -> Option<&'a str> {
        let from = self.at + 1;
        let mut at = from;
        loop {
            let rest = self.text.as_bytes().get(at..)?;
            let found = at + memchr::memchr2(quote, b'\\', rest)?;
            if self.text.as_bytes()[found] == quote {
                self.at = found + 1;
                return Some(self.slice(from, found));
            }
            at = found + 2;
        }
    }

    /// A token without quotes, up to one of `ends`.
    fn bare(&mut self, ends: &[u8]) -> &'a str {
        let from = self.at;
        let rest = &self.text.as_bytes()[from..];
        let length = rest
            .iter()
            .position(|b| ends.contains(b))
            .unwrap_or(rest.len());
        // A token is never empty, so that a walk always moves on.
        self.at = from + length.max(usize::from(!rest.is_empty()));
        self.slice(from, from + length).trim_ascii_end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let mut pairs = Vec::new();
        scan(text, &mut |key, value| pairs.push((key, value)));
        assert_eq!(pairs, expected, "{text}");
    }

    #[test]
    fn shapes() {
        check("{}", &[]);
        check("", &[]);
        check("[]", &[]);
        check("plain", &[]);
        check(
            "{'k8s.pod.name':'x','a':'it\\'s'}",
            &[("k8s.pod.name", "x"), ("a", "it\\'s")],
        );
        check(
            "{'db.statement':'sku = \\'A;B\\' AND note <> \"x\"','n':'1'}",
            &[
                ("db.statement", "sku = \\'A;B\\' AND note <> \"x\""),
                ("n", "1"),
            ],
        );
        check(
            r#"{"a":"b", "code":200,"x":{"deep":true},"l":[1,2],"z":null}"#,
            &[
                ("a", "b"),
                ("code", "200"),
                ("deep", "true"),
                ("x", ""),
                ("l", ""),
                ("z", "null"),
            ],
        );
        check(
            r#"[{"value":"GET","key":"http.method"},{"value":200,"key":"code"}]"#,
            &[("http.method", "GET"), ("code", "200")],
        );
        check(
            "{service_name: 'x', tags: [{key: 'ip', value_type: 'string', value_string: '1.2.3.4'}]}",
            &[
                ("service_name", "x"),
                ("value_type", "string"),
                ("ip", "1.2.3.4"),
                ("tags", ""),
            ],
        );
        check(
            "[{key: 'a', value_type: 'string', value_string: '1', value_binary: }, {key: 'b', value_string: '2'}]",
            &[
                ("value_type", "string"),
                ("value_binary", ""),
                ("a", "1"),
                ("b", "2"),
            ],
        );
        check("{a: , b: 1}", &[("a", ""), ("b", "1")]);
        check("a=b;c = d", &[("a", "b"), ("c", "d")]);
        check(
            "[{'exception.message':'no'}]",
            &[("exception.message", "no")],
        );
    }

    #[test]
    fn broken_cells_end_the_walk() {
        check("{'a':'b','c", &[("a", "b")]);
        check("{'a' 'b'}", &[]);
        check("{\"a\":\"b\\", &[]);
        check(&"[".repeat(100_000), &[]);
        check("{:::}", &[("", ":")]);
        check("[object Object],[object Object]", &[]);
        check("[}]", &[]);
        check("[1}, {'a': 'b'}]", &[]);
    }

    #[test]
    fn backslashes_are_undone() {
        let mut scratch = String::new();
        assert_eq!(unescape("it\\'s\\n\\\\", &mut scratch), "it's\n\\");
        assert_eq!(unescape("plain", &mut scratch), "plain");
    }
}
