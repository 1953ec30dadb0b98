//! What is an id and what stands in its place.
//!
//! Owns the marks of roots, what spreadsheets and careless exporters make of ids, and ids that tell
//! their parent. Invariant: an id is text and stays as it is written. O(length). Pinned by `tests` and
//! `tests/ingest/edge.rs`.

use super::attributes;
use super::intake::is_blank;

/// Marks that stand for no parent.
#[inline]
pub(super) fn is_no_parent(text: &str) -> bool {
    // `0000000000000000`, `0x0`, a UUID of zeros.
    let zeros = || text.bytes().all(|b| matches!(b, b'0' | b'x' | b'-'));
    is_blank(text)
        || text.starts_with('0') && zeros()
        || text.len() <= 6
            && ["-1", "root", "nil", "<nil>", "(null)", "n/a", "[]"]
                .iter()
                .any(|it| text.eq_ignore_ascii_case(it))
}

/// The span that Jaeger's references name as the parent: the first one that this is a child of.
pub(super) fn parent_of_references(text: &str) -> &str {
    if text.len() < 3 {
        return "";
    }
    let (mut child, mut parent) = (false, "");
    attributes::scan(text, &mut |key, value| match key {
        "ref_type" | "refType" => child = matches!(value, "child-of" | "CHILD_OF" | "child_of"),
        "span_id" | "spanID" if child && parent.is_empty() => parent = value,
        _ => {}
    });
    parent
}

/// The parent of a call whose id is a path of numbers: that of 0.1.2 is 0.1.
pub(super) fn parent_of_path(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(parent, _)| parent)
}

/// Whether a spreadsheet turned this id into a number: `1.23457E+31`.
pub(super) fn of_spreadsheet(id: &str) -> bool {
    let Some((mantissa, exponent)) = id.split_once('+') else {
        return false;
    };
    let Some(mantissa) = mantissa.strip_suffix('E') else {
        return false;
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mut parts = mantissa.splitn(2, ['.', ',']);
    digits(exponent) && parts.next().is_some_and(digits) && parts.next().is_none_or(digits)
}

/// Whether this stands where an id was lost: `[object Object]`, or a spreadsheet's `#REF!`.
#[inline]
pub(super) fn is_broken(id: &str) -> bool {
    match id.as_bytes() {
        [b'[', ..] => id.starts_with("[object "),
        [b'#', .., b'!' | b'?'] => true,
        [b'#', ..] => id == "#N/A",
        _ => false,
    }
}

/// A parent's id without what a table with blanks in its column of numbers makes of them: `12.0`.
#[inline]
pub(super) fn of_number(id: &str) -> &str {
    match id.strip_suffix(".0") {
        Some(number) if number.bytes().all(|b| b.is_ascii_digit()) => number,
        _ => id,
    }
}

/// An id of 16 hex digits that may have lost its leading zeros, with them.
pub(super) fn padded<'a>(id: &'a str, buffer: &'a mut [u8; 16]) -> &'a str {
    let hex = id.bytes().all(|b| b.is_ascii_hexdigit());
    if id.is_empty() || id.len() >= buffer.len() || !hex {
        return id;
    }
    *buffer = [b'0'; 16];
    buffer[16 - id.len()..].copy_from_slice(id.as_bytes());
    std::str::from_utf8(buffer).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_parent() {
        for text in ["00f067aa0ba902b7", "1", "rooted", "-2"] {
            assert!(!is_no_parent(text), "{text}");
        }
    }

    #[test]
    fn ids_of_spreadsheets() {
        for id in ["1.23457E+31", "4,687E+11", "1E+10"] {
            assert!(of_spreadsheet(id), "{id}");
        }
        for id in [
            "1e10",
            "1E10",
            "0000000000000e10",
            "aE+1",
            "1.2.3E+1",
            "E+1",
        ] {
            assert!(!of_spreadsheet(id), "{id}");
        }
    }

    #[test]
    fn broken_ids() {
        for id in ["[object Object]", "#REF!", "#NAME?", "#N/A"] {
            assert!(is_broken(id), "{id}");
        }
        for id in [
            "",
            "#",
            "#17",
            "[1]",
            "369-bcou-dle-way1-c514cf30-43410@0824",
        ] {
            assert!(!is_broken(id), "{id}");
        }
    }

    #[test]
    fn lost_zeros_come_back() {
        let padded = |id: &str| padded(id, &mut [0; 16]).to_owned();
        assert_eq!(padded("fc80cb49734064c"), "0fc80cb49734064c");
        assert_eq!(padded("bf8f0b5ac0800698"), "bf8f0b5ac0800698");
        assert_eq!(padded(""), "");
        assert_eq!(padded("row:7"), "row:7");
    }

    #[test]
    fn paths() {
        assert_eq!(parent_of_path("0.1.2"), Some("0.1"));
        assert_eq!(parent_of_path("0.1"), Some("0"));
        assert_eq!(parent_of_path("0"), None);
    }
}
