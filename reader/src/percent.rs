//! Percent-encoding, as links and what a person tells of a file have it.
//!
//! Invariant: [`unescape`] undoes [`escape`], whatever the text. O(length). Pinned by `tests/it/view.rs`.

/// Percent-encodes what would end a parameter or not survive in an address; the rest stays readable.
#[inline(never)]
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => escaped.push(byte.into()),
            b'-' | b'.' | b'_' | b'~' | b':' | b'/' | b'@' | b',' | b'=' | b'>' | b'*' => {
                escaped.push(byte.into());
            }
            _ => escape_byte(&mut escaped, byte),
        }
    }
    escaped
}

/// Appends `%` and the two digits of a byte.
pub fn escape_byte(to: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digits = [byte >> 4, byte & 15].map(|it| char::from(DIGITS[usize::from(it)]));
    to.push('%');
    to.extend(digits);
}

/// Undoes [`escape`]; a `%` that is no escape stays, and bytes that are not UTF-8 are replaced.
pub fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'%').then(|| after.get(..2)).flatten();
        let byte = escaped
            .filter(|hex| hex.iter().all(u8::is_ascii_hexdigit))
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
