//! JSON text to events, piece by piece.
//!
//! Owns the grammar: objects, lists, texts with their escapes, bare values, and several documents
//! one after the other, as files of lines hold them. Invariants: the events do not depend on how the
//! text is cut; what a [`Visitor`] does not want is walked over and not kept; nesting costs no stack.
//! Memory is the longest text that is wanted. O(bytes). Pinned by `tests` and by
//! `tests/ingest/json.rs`.
//!
//! How broken text is survived: the document in which it breaks is given up, and reading goes on
//! where a line begins with `{` or `[`. In a file whose first document has a line of its own such
//! a line always begins a document, so that one that was cut costs no other.

/// Who is told what the text holds.
pub(super) trait Visitor {
    /// An object or a list begins. `false`: nothing in it is wanted, and no more is told of it.
    fn begin(&mut self, object: bool) -> bool;
    /// The object or list that began last ends. `false`: no more can be taken.
    fn end(&mut self) -> bool;
    /// The key of the value that comes next.
    fn key(&mut self, key: &[u8]);
    /// How many bytes of the plain value that comes next are wanted.
    fn wanted(&self) -> usize;
    /// A plain value, as many bytes as are wanted. `null` is none.
    fn value(&mut self, value: &[u8]);
    /// The document is no JSON here and is given up.
    fn broken(&mut self, byte: u64);
}

/// A JSON text, as far as it was pushed.
pub(super) struct Tokens {
    state: State,
    /// How many values are open, and which of them are objects: the last one is the lowest bit.
    depth: u32,
    objects: u64,
    /// How deep in a value that is not wanted.
    skipped: u64,
    text: Vec<u8>,
    wanted: usize,
    is_key: bool,
    /// The digits of an escape so far, and how many; the first half of a pair.
    unit: u16,
    digits: u8,
    high: Option<u16>,
    /// The bytes before this piece, and the last one of them.
    before: u64,
    last: u8,
    /// Whether the document goes over several lines, and whether the first one did.
    spread: bool,
    first_spread: Option<bool>,
    /// The visitor can take no more.
    full: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Between documents.
    Document,
    /// A value comes, or the end of the list.
    First,
    Value,
    /// A key comes, or the end of the object.
    FirstKey,
    Key,
    Colon,
    /// A comma comes, or the end.
    Next,
    Text,
    Escape,
    Hex,
    Bare,
    /// In a value that is not wanted.
    Skip,
    /// In what is no JSON, and at the beginning of a line after it.
    Lost,
    Line,
}

/// Deeper than this nothing is wanted.
const DEEPEST: u32 = 64;

/// Of longer keys the beginning is told.
const LONGEST_KEY: usize = 256;

impl Tokens {
    pub(super) fn new() -> Tokens {
        Tokens {
            state: State::Document,
            depth: 0,
            objects: 0,
            skipped: 0,
            text: Vec::new(),
            wanted: 0,
            is_key: false,
            unit: 0,
            digits: 0,
            high: None,
            before: 0,
            last: b'\n',
            spread: false,
            first_spread: None,
            full: false,
        }
    }

    /// Takes the next piece, unless the visitor can take no more.
    pub(super) fn push(&mut self, bytes: &[u8], to: &mut impl Visitor) -> bool {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let rest = &bytes[at..];
            let begins_line = || {
                let before = if at == 0 { self.last } else { bytes[at - 1] };
                before == b'\n' && matches!(byte, b'{' | b'[')
            };
            match self.state {
                State::Text => {
                    let end = memchr::memchr3(b'"', b'\\', b'\n', rest).unwrap_or(rest.len());
                    self.keep(&rest[..end]);
                    at += end;
                    match rest.get(end) {
                        None => {}
                        Some(b'"') => {
                            at += 1;
                            self.text_ends(to);
                        }
                        Some(b'\\') => {
                            at += 1;
                            self.state = State::Escape;
                        }
                        Some(_) => self.broken(at, false, to),
                    }
                }
                State::Escape => {
                    const WRITTEN: &[u8; 8] = b"ntrbf\"\\/";
                    const MEANT: &[u8; 8] = b"\n\t\r\x08\x0C\"\\/";
                    if byte == b'u' {
                        (self.unit, self.digits) = (0, 0);
                        self.state = State::Hex;
                        at += 1;
                    } else if let Some(nth) = WRITTEN.iter().position(|&it| it == byte) {
                        self.keep(&MEANT[nth..=nth]);
                        self.state = State::Text;
                        at += 1;
                    } else {
                        self.broken(at, false, to);
                    }
                }
                State::Hex => match char::from(byte).to_digit(16) {
                    Some(digit) => {
                        self.unit = self.unit << 4 | digit as u16;
                        self.digits += 1;
                        at += 1;
                        if self.digits == 4 {
                            self.keep_unit();
                            self.state = State::Text;
                        }
                    }
                    None => self.broken(at, false, to),
                },
                State::Bare => {
                    let end = rest.iter().position(|&b| !is_bare(b));
                    let end = end.unwrap_or(rest.len());
                    self.keep(&rest[..end]);
                    at += end;
                    if end < rest.len() {
                        if self.text != b"null" {
                            to.value(&self.text);
                        }
                        self.state = State::Next;
                    }
                }
                State::Skip => {
                    let plain = |b: &&u8| !matches!(b, b'"' | b'{' | b'}' | b'[' | b']' | b'\n');
                    let skipped = rest.iter().take_while(plain).count();
                    if skipped > 0 {
                        at += skipped;
                        continue;
                    }
                    match byte {
                        b'"' => {
                            self.wanted = 0;
                            self.text_begins();
                        }
                        b'\n' => self.spread = true,
                        b'{' | b'[' if self.first_spread == Some(false) && begins_line() => {
                            self.broken(at, true, to);
                            continue;
                        }
                        b'{' | b'[' => self.skipped += 1,
                        _ => {
                            self.skipped -= 1;
                            if self.skipped == 0 {
                                self.state = State::Next;
                            }
                        }
                    }
                    at += 1;
                }
                State::Lost => {
                    let end = memchr::memchr(b'\n', rest);
                    at += end.map_or(rest.len(), |end| end + 1);
                    if end.is_some() {
                        self.state = State::Line;
                    }
                }
                State::Line => {
                    let begins = matches!(byte, b'{' | b'[');
                    self.state = if begins { State::Document } else { State::Lost };
                }
                _ if matches!(byte, b' ' | b'\t' | b'\r') => at += 1,
                _ if byte == b'\n' => {
                    self.spread = true;
                    at += 1;
                }
                State::Document if matches!(byte, 0xEF | 0xBB | 0xBF) => at += 1,
                state => {
                    let begins_line = begins_line();
                    let cut = self.depth > 0 && self.first_spread == Some(false) && begins_line;
                    if cut || !self.structure(state, byte, to) {
                        self.broken(at, begins_line, to);
                    } else if self.state != State::Bare {
                        at += 1;
                    }
                    if self.full {
                        return false;
                    }
                }
            }
        }
        if let Some(&last) = bytes.last() {
            self.last = last;
        }
        self.before += bytes.len() as u64;
        true
    }

    /// Whether the text may end here.
    pub(super) fn is_whole(&self) -> bool {
        self.depth == 0
    }

    /// Takes one byte outside of texts, or tells that it cannot stand there.
    fn structure(&mut self, state: State, byte: u8, to: &mut impl Visitor) -> bool {
        let in_object = self.objects & 1 != 0;
        match (state, byte) {
            (State::Document | State::First | State::Value, b'{' | b'[') => {
                if state == State::Document {
                    self.spread = false;
                }
                let object = byte == b'{';
                if self.depth < DEEPEST && to.begin(object) {
                    self.depth += 1;
                    self.objects = self.objects << 1 | u64::from(object);
                    self.state = if object {
                        State::FirstKey
                    } else {
                        State::First
                    };
                } else {
                    self.skipped = 1;
                    self.state = State::Skip;
                }
            }
            (State::First | State::Value, b'"') => {
                self.wanted = to.wanted();
                self.is_key = false;
                self.text_begins();
            }
            (State::FirstKey | State::Key, b'"') => {
                self.wanted = LONGEST_KEY;
                self.is_key = true;
                self.text_begins();
            }
            (State::First | State::Value, _) if is_bare(byte) => {
                self.wanted = to.wanted().max(b"null?".len());
                self.text.clear();
                self.state = State::Bare;
            }
            (State::Colon, b':') => self.state = State::Value,
            (State::Next, b',') if in_object => self.state = State::Key,
            (State::Next, b',') => self.state = State::Value,
            (State::FirstKey, b'}') | (State::First, b']') => self.end(to),
            (State::Next, b'}') if in_object => self.end(to),
            (State::Next, b']') if !in_object => self.end(to),
            _ => return false,
        }
        true
    }

    fn end(&mut self, to: &mut impl Visitor) {
        self.depth -= 1;
        self.objects >>= 1;
        self.state = State::Next;
        if self.depth == 0 {
            self.state = State::Document;
            self.first_spread.get_or_insert(self.spread);
        }
        self.full = !to.end();
    }

    fn broken(&mut self, at: usize, begins_line: bool, to: &mut impl Visitor) {
        (self.depth, self.objects, self.skipped) = (0, 0, 0);
        self.state = if begins_line {
            State::Document
        } else {
            State::Lost
        };
        to.broken(self.before + at as u64);
    }

    fn text_begins(&mut self) {
        self.text.clear();
        self.high = None;
        self.state = State::Text;
    }

    fn text_ends(&mut self, to: &mut impl Visitor) {
        self.lone_half();
        self.state = if self.skipped > 0 {
            State::Skip
        } else if self.is_key {
            to.key(&self.text);
            State::Colon
        } else {
            to.value(&self.text);
            State::Next
        };
    }

    fn keep(&mut self, piece: &[u8]) {
        if !piece.is_empty() {
            self.lone_half();
            let room = self.wanted.saturating_sub(self.text.len());
            self.text.extend_from_slice(&piece[..piece.len().min(room)]);
        }
    }

    /// A first half without its second.
    fn lone_half(&mut self) {
        if self.high.take().is_some() {
            self.keep("\u{fffd}".as_bytes());
        }
    }

    /// The unit of UTF-16 that an escape stands for.
    fn keep_unit(&mut self) {
        let unit = self.unit;
        let decoded = match (self.high.take(), unit) {
            (Some(high), 0xDC00..=0xDFFF) => {
                let pair = (u32::from(high) & 0x3FF) << 10 | u32::from(unit) & 0x3FF;
                char::from_u32(0x1_0000 + pair)
            }
            (high, _) => {
                self.high = high;
                self.lone_half();
                if matches!(unit, 0xD800..=0xDBFF) {
                    self.high = Some(unit);
                    return;
                }
                char::from_u32(u32::from(unit))
            }
        };
        let decoded = decoded.unwrap_or('\u{fffd}');
        self.keep(decoded.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// What numbers, `true`, `false` and `null` are made of.
fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tells all, but for what stands under `skip`, and of texts 8 bytes.
    #[derive(Default)]
    struct Script {
        events: String,
        skip: bool,
    }

    impl Visitor for Script {
        fn begin(&mut self, object: bool) -> bool {
            let skipped = std::mem::take(&mut self.skip);
            if !skipped {
                self.events.push(if object { '{' } else { '[' });
            }
            !skipped
        }

        fn end(&mut self) -> bool {
            self.events.push('.');
            true
        }

        fn key(&mut self, key: &[u8]) {
            self.skip = key == b"skip";
            self.events.push_str(&String::from_utf8_lossy(key));
            self.events.push(':');
        }

        fn wanted(&self) -> usize {
            8
        }

        fn value(&mut self, value: &[u8]) {
            self.events.push_str(&String::from_utf8_lossy(value));
            self.events.push(' ');
        }

        fn broken(&mut self, byte: u64) {
            self.skip = false;
            self.events.push_str(&format!("!{byte} "));
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        for piece in [1, 2, 3, text.len().max(1)] {
            let (mut tokens, mut script) = (Tokens::new(), Script::default());
            for piece in text.as_bytes().chunks(piece) {
                assert!(tokens.push(piece, &mut script));
            }
            if !tokens.is_whole() {
                script.events.push('~');
            }
            assert_eq!(script.events, expected, "{text} in pieces of {piece}");
        }
    }

    #[test]
    fn values() {
        check(" {} ", "{.");
        check("[[],{}]", "[[.{..");
        check(
            r#"{"a":1,"b":[true,null,-1.5e3,"x"],"c":{"d":""}}"#,
            "{a:1 b:[true -1.5e3 x .c:{d: ..",
        );
        check("[1770000000123456789]", "[17700000 .");
        check("[\"0123456789\"]", "[01234567 .");
        check("\u{feff}{}\u{feff}[]", "{.[.");
    }

    #[test]
    fn escapes() {
        check(
            r#"["\"\\\/\n","\u00e9\u20AC","\ud83d\ude00"]"#,
            "[\"\\/\n é€ 😀 .",
        );
        check(
            r#"["\ud83d","\ud83dx","\ude00","\ud83d\ud83d"]"#,
            "[\u{fffd} \u{fffd}x \u{fffd} \u{fffd}\u{fffd} .",
        );
        check(r#"["\x"]"#, "[!3 ");
        check(r#"["\u12g4"]"#, "[!6 ");
    }

    #[test]
    fn what_is_not_wanted_is_walked_over() {
        check(
            r#"{"skip":{"a":["}","\"]",{}],"b":1},"c":2}"#,
            "{skip:c:2 .",
        );
        check(r#"{"skip":1,"c":2}"#, "{skip:1 c:2 .");
        let deep = "[".repeat(100_000);
        check(&deep, &format!("{}~", "[".repeat(64)));
        check(
            &format!("{deep}{}", "]".repeat(100_000)),
            &format!("{}{}", "[".repeat(64), ".".repeat(64)),
        );
    }

    #[test]
    fn what_breaks_costs_its_document() {
        check("{\"a\" 1}\n{\"b\":2}", "{a:!5 {b:2 .");
        check("{\"a\":[1,]}  {}\n\n x\n{}", "{a:[1 !8 {.");
        check("[1}\n[2]", "[1 !2 [2 .");
        check("{\"a\n\":1}\n[2]", "{!3 [2 .");
        check("x", "!0 ");
        check("{} x {}\n{}", "{.!3 {.");
        check("{\"a\":", "{a:~");
    }

    #[test]
    fn lines_that_were_cut() {
        let line = "{\"k\":[{\"skip\":[0]}]}\n";
        let told = "{k:[{skip:...";
        for end in 1..line.len() - 2 {
            let text = format!("\n{line}{}\n{line}", &line[..end]);
            let (mut tokens, mut script) = (Tokens::new(), Script::default());
            assert!(tokens.push(text.as_bytes(), &mut script));
            let events = &script.events;
            assert!(
                events.starts_with(told) && events.ends_with(told),
                "{events}"
            );
            assert_eq!(events.matches('!').count(), 1, "{text} {events}");
        }
        // Documents over several lines may follow: their inner lines are indented.
        check("{}\n{\n  \"a\": [\n    {}\n  ]\n}\n", "{.{a:[{...");
        // Without a first line of its own, a bracket that begins a line is one like any other.
        check("[\n[1],\n[2]\n]", "[[1 .[2 ..");
    }
}
