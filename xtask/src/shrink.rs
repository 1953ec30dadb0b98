//! The last cut: what travels with the page and nobody reads.
//!
//! Program and glue call each other by some hundred names, most of which end in 16 random digits that do
//! not compress; here they become short ones, in both. Texts lose their indentation. Invariant: nothing
//! but names of imports and exports changes in the program, and none that people call. Pinned by the
//! tests below, and by all browser tests.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;

/// Shrinks the page in a folder, in place.
pub fn shrink(folder: &Path) -> Result<()> {
    let failed = |error: std::io::Error| format!("cannot shrink {}: {error}", folder.display());
    let files = fs::read_dir(folder).map_err(failed)?;
    let files: Vec<PathBuf> = files.flatten().map(|it| it.path()).collect();
    let with = |ending: &'static str| {
        let has = move |it: &&PathBuf| it.extension().is_some_and(|of| of == ending);
        files.iter().filter(has)
    };
    let mut names = HashMap::new();
    for path in with("wasm") {
        let program = fs::read(path).map_err(failed)?;
        let program = shortened(&program, &mut names).ok_or_else(|| {
            format!(
                "{} is no program as wasm-bindgen makes them",
                path.display()
            )
        })?;
        fs::write(path, program).map_err(failed)?;
    }
    for path in with("js").chain(with("css")).chain(with("html")) {
        let text = fs::read_to_string(path).map_err(failed)?;
        fs::write(path, unindented(&renamed(&text, &names))).map_err(failed)?;
    }
    Ok(())
}

/// A wasm program with short names; which ones they replace is added to `names`.
fn shortened(program: &[u8], names: &mut HashMap<String, String>) -> Option<Vec<u8>> {
    const IMPORTS: u8 = 2;
    const EXPORTS: u8 = 7;
    let (head, mut rest) = program.split_at_checked(8)?;
    let mut out = head.to_vec();
    while let [kind, sections @ ..] = rest {
        let mut sections = sections;
        let mut body = sized(&mut sections)?;
        rest = sections;
        let mut section = Vec::new();
        if [IMPORTS, EXPORTS].contains(kind) {
            let count = number(&mut body)?;
            put_number(&mut section, count);
            for _ in 0..count {
                if *kind == IMPORTS {
                    put_sized(&mut section, sized(&mut body)?);
                }
                let name = std::str::from_utf8(sized(&mut body)?).ok()?;
                put_sized(&mut section, short(name, names).as_bytes());
                let described = body;
                let (what, after) = body.split_first()?;
                body = after;
                // All that is imported is functions; what else there is has a description of its own.
                if *kind == IMPORTS && *what != 0 {
                    return None;
                }
                number(&mut body)?;
                section.extend_from_slice(&described[..described.len() - body.len()]);
            }
        }
        section.extend_from_slice(body);
        out.push(*kind);
        put_sized(&mut out, &section);
    }
    Some(out)
}

/// The short form of a name that nobody calls by hand.
fn short<'a>(name: &'a str, names: &'a mut HashMap<String, String>) -> &'a str {
    if !is_random(name) {
        return name;
    }
    let n = names.len();
    names
        .entry(name.to_owned())
        .or_insert_with(|| format!("${n}"))
}

/// Whether a name ends in 16 digits of a hash, and perhaps a count.
fn is_random(name: &str) -> bool {
    let stem = match name.rsplit_once('_') {
        Some((stem, count)) if count.len() < 4 && count.bytes().all(|it| it.is_ascii_digit()) => {
            stem
        }
        _ => name,
    };
    let hash = stem.rsplit('_').next().unwrap_or_default();
    let hash = hash.strip_prefix('h').unwrap_or(hash);
    hash.len() == 16 && hash != stem && hash.bytes().all(|it| it.is_ascii_hexdigit())
}

/// A text with whole words replaced.
fn renamed(text: &str, names: &HashMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word);
        out.push_str(names.get(word).map_or(word, String::as_str));
        let gap = after.find(is_word).unwrap_or(after.len());
        out.push_str(&after[..gap]);
        rest = &after[gap..];
    }
    out
}

/// Without what is at the beginning of lines alone to be read, and without empty lines.
fn unindented(text: &str) -> String {
    let lines = text.lines().map(str::trim_start);
    let lines = lines.filter(|it| !it.is_empty());
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Takes an unsigned number in LEB128.
fn number(from: &mut &[u8]) -> Option<usize> {
    let (mut value, mut shift) = (0usize, 0);
    loop {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        value |= usize::from(byte & 0x7F).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
    }
}

/// Takes as many bytes as the number before them says.
fn sized<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let size = number(from)?;
    let (bytes, rest) = from.split_at_checked(size)?;
    *from = rest;
    Some(bytes)
}

fn put_number(to: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn put_sized(to: &mut Vec<u8>, bytes: &[u8]) {
    put_number(to, bytes.len());
    to.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLICK: &str = "__wbg_click_0123456789abcdef";

    /// Two imports, an export, and a section that is none of our business.
    fn program(first: &str, second: &str, export: &str) -> Vec<u8> {
        let mut imports = vec![2];
        for name in [first, second] {
            put_sized(&mut imports, b"./glue.js");
            put_sized(&mut imports, name.as_bytes());
            imports.extend([0, 0x80, 1]);
        }
        let mut exports = vec![1];
        put_sized(&mut exports, export.as_bytes());
        exports.extend([0, 5]);
        let mut program = b"\0asm\x01\0\0\0".to_vec();
        for (kind, body) in [
            (2, imports),
            (7, exports),
            (11, vec![7; 300]),
            (0, Vec::new()),
        ] {
            program.push(kind);
            put_sized(&mut program, &body);
        }
        program
    }

    #[test]
    fn names_are_short_in_both() {
        let mut names = HashMap::new();
        let export = "invoke__h0123456789abcdef_12";
        let short = shortened(&program(CLICK, "__wbindgen_throw", export), &mut names);
        assert_eq!(short, Some(program("$0", "__wbindgen_throw", "$1")));
        let glue = format!("  {CLICK}: () => wasm.{export}(x_{CLICK}), start\n");
        assert_eq!(
            renamed(&glue, &names),
            format!("  $0: () => wasm.$1(x_{CLICK}), start\n")
        );
    }

    #[test]
    fn only_random_names_are_changed() {
        let random = [
            CLICK,
            "__wbindgen_cast_0000000000000001",
            "invoke__h0123456789abcdef",
        ];
        assert_eq!(random.map(is_random), [true; 3]);
        let plain = ["memory", "start_engine", "__wbindgen_malloc", "a_12", ""];
        assert_eq!(plain.map(is_random), [false; 5]);
        // Nor is a hash alone, which may be a file's.
        assert!(!is_random("0123456789abcdef"));
    }

    #[test]
    fn what_is_no_program_is_refused() {
        let whole = program(CLICK, CLICK, "memory");
        for length in (0..8).chain(9..whole.len() - 2) {
            let cut = shortened(&whole[..length], &mut HashMap::new());
            assert!(
                cut.is_none() || cut.is_some_and(|it| it.len() < whole.len()),
                "{length}"
            );
        }
        assert_eq!(shortened(b"", &mut HashMap::new()), None);
        assert_eq!(
            shortened(&[&whole[..], &[2, 9, 1]].concat(), &mut HashMap::new()),
            None
        );
    }

    #[test]
    fn indentation_is_for_people() {
        assert_eq!(unindented("a {\n\n    b\n}\n"), "a {\nb\n}\n");
    }
}
