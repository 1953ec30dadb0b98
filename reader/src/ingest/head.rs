//! What the first bytes of a text tell: whether it is a table at all, and in which dialect.
//!
//! Owns the sniffing. Invariant: each answer is a function of the head alone, the first
//! [`Limits::sniffed`](super::Limits) bytes. One or two walks over it. Pinned by
//! `tests/ingest/bad_input.rs` and the dialects of `tests/ingest/edge.rs`.

use super::unreadable::Unreadable;

/// Whether this is JSON. No table of spans has a header that begins so.
pub(super) fn is_json(head: &[u8]) -> bool {
    matches!(head.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// Refuses what is no table.
pub(super) fn refuse_foreign(head: &[u8]) -> Result<(), Unreadable> {
    const MAGICS: &[(&[u8], &str)] = &[
        (b"\x89PNG", "a picture (PNG)"),
        (b"\xFF\xD8\xFF", "a picture (JPEG)"),
        (b"GIF8", "a picture (GIF)"),
        (b"RIFF", "a RIFF file (a WebP picture or a sound)"),
        (b"%PDF", "a PDF"),
        (b"PK\x03\x04", "an Excel workbook or another zip archive"),
        (b"PK\x05\x06", "an Excel workbook or another zip archive"),
        (b"\xD0\xCF\x11\xE0", "an old Excel workbook"),
        (b"\x28\xB5\x2F\xFD", "a zstd file"),
        (b"BZh", "a bzip2 file"),
        (b"\xFD7zXZ", "an xz file"),
        (b"7z\xBC\xAF", "a 7z archive"),
        (b"PAR1", "a Parquet file"),
        (b"SQLite format 3", "a SQLite database"),
        (b"\x7FELF", "a program"),
        (b"\0asm", "a WebAssembly module"),
    ];
    if let Some((_, name)) = MAGICS.iter().find(|it| head.starts_with(it.0)) {
        return Err(Unreadable::binary(name));
    }
    let text = head.trim_ascii_start();
    let line = text
        .split(|b| matches!(b, b'\n' | b'\r'))
        .next()
        .unwrap_or_default();
    let controls = line
        .iter()
        .take(1024)
        .filter(|&&b| b < 0x20 && b != b'\t')
        .count();
    match text.first() {
        None => Err(Unreadable::empty()),
        Some(b'<') => Err(Unreadable::html()),
        Some(_) if controls > 0 => Err(Unreadable::binary("a file of binary data")),
        Some(_) => Ok(()),
    }
}

/// Excel's `sep=;` line: its length and the separator that it names.
pub(super) fn separator_line(head: &[u8]) -> (usize, Option<u8>) {
    let line = head
        .split(|b| matches!(b, b'\n' | b'\r'))
        .next()
        .unwrap_or_default();
    let bare = line.strip_prefix(b"\"").unwrap_or(line);
    match bare {
        [
            b's' | b'S',
            b'e' | b'E',
            b'p' | b'P',
            b'=',
            separator,
            rest @ ..,
        ] if matches!(rest, [] | [b'"']) && separator.is_ascii() && *separator != b'"' => {
            (line.len(), Some(*separator))
        }
        _ => (0, None),
    }
}

/// The delimiter that occurs most often on the first line outside quotes.
pub(super) fn delimiter(body: &[u8]) -> u8 {
    const CANDIDATES: [u8; 4] = [b',', b';', b'\t', b'|'];
    let mut counts = [0usize; 4];
    let (mut quoted, mut begun) = (false, false);
    for &b in body {
        match b {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted && begun => break,
            b'\n' | b'\r' => continue,
            _ if !quoted => {
                if let Some(at) = CANDIDATES.iter().position(|&it| it == b) {
                    counts[at] += 1;
                }
            }
            _ => {}
        }
        begun = true;
    }
    // The first of equals: comma.
    let most = counts.iter().copied().max().unwrap_or(0);
    let at = counts.iter().position(|&it| it == most).unwrap_or(0);
    CANDIDATES[at]
}

/// Whether quotes inside cells are written `\"`: there is one where, were quotes doubled, the cell
/// would have ended in the middle of a text.
pub(super) fn escapes_by_backslash(body: &[u8], delimiter: u8) -> bool {
    let mut at = 0;
    let mut begins = true;
    while at < body.len() {
        if !(begins && body[at] == b'"') {
            begins = body[at] == delimiter || matches!(body[at], b'\n' | b'\r');
            at += 1;
            continue;
        }
        begins = false;
        at += 1;
        while let Some(found) = memchr::memchr(b'"', &body[at..]) {
            let quote = at + found;
            let next = body.get(quote + 1);
            at = quote + 1;
            match next {
                Some(b'"') => at += 1,
                Some(&b) if b != delimiter && !matches!(b, b'\n' | b'\r') => {
                    if quote > 0 && body[quote - 1] == b'\\' {
                        return true;
                    }
                    break;
                }
                _ => break,
            }
        }
    }
    false
}
