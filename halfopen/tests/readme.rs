//! The README is the crate's page: what `src/lib.rs` says, without links into
//! the documentation and without the hidden lines of its examples.
//!
//! `UPDATE_README=1` writes it.

use std::fs;

#[test]
fn the_readme_is_the_crates_page() {
    let folder = env!("CARGO_MANIFEST_DIR");
    let source = fs::read_to_string(format!("{folder}/src/lib.rs")).unwrap();
    let page = source.strip_prefix("/*!\n").expect("the page comes first");
    let wanted = readme(page.split_once("\n*/\n").expect("its end").0);
    let path = format!("{folder}/README.md");
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    let got = fs::read_to_string(&path)
        .unwrap_or_default()
        .replace("\r\n", "\n");
    assert!(
        got == wanted,
        "README.md is not the crate's page: UPDATE_README=1 writes it"
    );
}

fn readme(page: &str) -> String {
    let mut out = String::from("# halfopen\n\n");
    let mut code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            code = !code;
            out += if code && line == "```" {
                "```rust"
            } else {
                line
            };
        } else if code {
            if line.starts_with("# ") {
                continue;
            }
            out += line;
        } else if line.starts_with('#') {
            out += "#";
            out += line;
        } else {
            out += &without_links(line);
        }
        out.push('\n');
    }
    out
}

/// Code that links (``[`Config`]``, ``[`acquire`](Machine::acquire)``) becomes
/// code.
fn without_links(line: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some((before, after)) = rest.split_once("[`") {
        let (name, after) = after.split_once("`]").expect("a link on one line");
        out += &format!("{before}`{name}`");
        rest = match after.strip_prefix('(') {
            Some(target) => target.split_once(')').expect("a target on one line").1,
            None => after,
        };
    }
    out + rest
}
