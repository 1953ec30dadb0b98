//! Short names between the page's wasm and its glue.
//!
//! wasm-bindgen calls what the wasm imports by long names with a hash, some three hundred of them, each in
//! both files: a fortieth of the page's weight. `pack` calls this. Owns the renaming; the order of
//! functions is `reorder`'s. Invariant: a name is given up in both files or in none; what the wasm exports keeps its
//! name. Pinned by `tests` below, and by every browser test.

use std::collections::HashMap;

use crate::reorder;
use crate::wasm::{self, Bytes};

/// Names shorter than this are kept.
const LONG: usize = 6;

/// The module and its glue with short names; `None` if it is no module.
pub fn shorten(module: &[u8], glue: &str) -> Option<(Vec<u8>, String)> {
    let short = short_names(module)?;
    let module = reorder::reordered(&renamed(module, &short)?)?;
    Some((module, glued(glue, &short)))
}

type Names = HashMap<String, String>;

/// A short name for each long one that is imported and not exported.
fn short_names(module: &[u8]) -> Option<Names> {
    let mut exported = Vec::new();
    let mut imported: Vec<String> = Vec::new();
    for (id, content) in wasm::sections(module)? {
        let mut bytes = Bytes(content);
        match id {
            wasm::EXPORTS => {
                for _ in 0..bytes.number()? {
                    exported.push(bytes.name()?.to_owned());
                    bytes.byte()?;
                    bytes.number()?;
                }
            }
            wasm::IMPORTS => {
                for _ in 0..bytes.number()? {
                    bytes.name()?;
                    imported.push(bytes.name()?.to_owned());
                    bytes.kind()?;
                }
            }
            _ => {}
        }
    }
    imported.sort();
    imported.dedup();
    let long = imported
        .into_iter()
        .filter(|it| it.len() >= LONG && !exported.contains(it));
    Some(
        long.enumerate()
            .map(|(at, it)| (it, format!("${at:x}")))
            .collect(),
    )
}

/// The module with other names for what it imports.
fn renamed(module: &[u8], short: &Names) -> Option<Vec<u8>> {
    let mut out = wasm::HEAD.to_vec();
    for (id, content) in wasm::sections(module)? {
        let mut section = Vec::new();
        if id == wasm::IMPORTS {
            let mut bytes = Bytes(content);
            let n_imports = bytes.number()?;
            wasm::push_number(&mut section, n_imports);
            for _ in 0..n_imports {
                for _ in 0..2 {
                    let name = bytes.name()?;
                    let name = short.get(name).map_or(name, String::as_str);
                    wasm::push_sized(&mut section, name.as_bytes());
                }
                section.extend_from_slice(bytes.kind()?);
            }
        } else {
            section.extend_from_slice(content);
        }
        wasm::push_section(&mut out, id, &section);
    }
    Some(out)
}

/// The glue with the same names.
fn glued(text: &str, short: &Names) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        out.push_str(short.get(word).map_or(word, String::as_str));
        let between = after.find(is_word).unwrap_or(after.len());
        out.push_str(&after[..between]);
        rest = &after[between..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module that imports two functions and a table, and exports one of the imports again.
    fn module() -> Vec<u8> {
        let name = |it: &str| [&[it.len() as u8], it.as_bytes()].concat();
        let imports = [
            vec![3],
            [name("./glue.js"), name("__wbg_alert_0123"), vec![0, 0]].concat(),
            [name("./glue.js"), name("__wbg_kept_4567"), vec![0, 0]].concat(),
            [name("./glue.js"), name("tab"), vec![1, 0x70, 1, 1, 9]].concat(),
        ]
        .concat();
        let exports = [vec![1], name("__wbg_kept_4567"), vec![0, 1]].concat();
        let section = |id: u8, content: Vec<u8>| [vec![id, content.len() as u8], content].concat();
        [
            b"\0asm\x01\0\0\0".to_vec(),
            section(1, vec![1, 0x60, 0, 0]),
            section(wasm::IMPORTS, imports),
            section(wasm::EXPORTS, exports),
        ]
        .concat()
    }

    #[test]
    fn a_long_import_is_renamed_in_both_files_and_an_export_is_not() {
        let module = module();
        let short = short_names(&module).expect("a module");
        assert_eq!(short.len(), 1);
        let renamed = renamed(&module, &short).expect("a module");
        let text = String::from_utf8_lossy(&renamed);
        assert!(text.contains("$0") && text.contains("__wbg_kept_4567") && text.contains("tab"));
        assert!(!text.contains("alert"));
        assert_eq!(renamed.len(), module.len() - "__wbg_alert_0123".len() + 2);

        let glue = "{ __wbg_alert_0123() { say(`it's __wbg_alert_01234`) }, __wbg_kept_4567: 1 }";
        assert_eq!(
            glued(glue, &short),
            "{ $0() { say(`it's __wbg_alert_01234`) }, __wbg_kept_4567: 1 }"
        );
    }

    #[test]
    fn what_is_no_module_is_refused() {
        let whole = module();
        for cut in 0..whole.len() {
            // A module may end after any section: without its exports it has one more.
            let names = short_names(&whole[..cut]);
            assert!(names.is_none_or(|it| it.len() <= 2), "{cut}");
        }
        assert!(short_names(b"<!doctype html>").is_none());
    }
}
