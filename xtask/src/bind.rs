//! The page's files bound to each other: what index.html lets the browser do and load, and what the service worker keeps.
//!
//! Owns the Content-Security-Policy, the hashes that each file is checked against, and the version, which is the hash
//! of all files. Invariants: an inline script runs only if it was there when the page was built; a file is used only if
//! it is the very one; two builds of the same files have the same version. Pinned by `tests` below, and in the browser
//! by `tests/browser/tests/host.rs`. Cost: a hash of half a megabyte.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};

/// The service worker, as `www/` and the page have it. No hash of its own: it is asked for by this name for good.
pub const WORKER: &str = "sw.js";

/// What the page may do, but for its inline scripts. Data come from itself, over https, or from this machine; the
/// engine's thread starts from a `blob:`, so that all this holds there, too.
const POLICY: [&str; 10] = [
    "default-src 'none'",
    "script-src 'self' 'wasm-unsafe-eval'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self' https: http://localhost:* http://127.0.0.1:*",
    "worker-src 'self' blob:",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "object-src 'none'",
];

/// What a file hashes to, as `integrity` and policies have it.
pub fn hash(content: &[u8]) -> String {
    ["sha256-", &BASE64_STANDARD.encode(Sha256::digest(content))].concat()
}

/// The page with its policy, its version, and a hash at each of these files that it loads; and the line that tells the
/// service worker what to keep. `None` for a page that is none.
pub fn bind(page: &str, hashes: &BTreeMap<String, String>) -> Option<(String, String)> {
    let mut page = page.to_owned();
    for (file, hash) in hashes {
        page = with_hash(&page, file, hash);
    }
    // A module's own imports are checked by no element.
    let scripts = hashes.iter().filter(|(file, _)| file.ends_with(".js"));
    let scripts: Vec<String> = scripts
        .map(|(file, hash)| format!("\"./{file}\":\"{hash}\""))
        .collect();
    let map = format!("{{\"integrity\":{{{}}}}}", scripts.join(","));
    // What the version is of has to be there before it, policy and map included: both follow from the rest.
    let version: String = hashes.values().map(String::as_str).collect();
    let version = hash([&page, &map, &*version].concat().as_bytes());
    let version: String = version
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .skip(6)
        .take(12)
        .collect();
    page = after(&page, "<html", &format!(" data-version={version}"))?;
    let policy = policy(
        &inline(&page)
            .chain([&*map])
            .map(|it| hash(it.as_bytes()))
            .collect::<Vec<_>>(),
    );
    let meta = format!(
        "<meta http-equiv=Content-Security-Policy content=\"{policy}\"><script type=importmap>{map}</script>"
    );
    let charset = page.find("<meta charset")?;
    let end = charset + page[charset..].find('>')? + 1;
    page.insert_str(end, &meta);

    let mut kept = hashes.clone();
    kept.insert("index.html".to_owned(), hash(page.as_bytes()));
    let kept: Vec<String> = kept
        .iter()
        .map(|(file, hash)| format!("\"{file}\":\"{hash}\""))
        .collect();
    let list = format!(
        "const version=\"{version}\",files={{{}}};\n",
        kept.join(",")
    );
    Some((page, list))
}

fn policy(scripts: &[String]) -> String {
    let scripts: String = scripts.iter().map(|it| format!(" '{it}'")).collect();
    let parts = POLICY.map(|it| match it.starts_with("script-src") {
        true => [it, &scripts].concat(),
        false => it.to_owned(),
    });
    parts.join("; ")
}

/// The texts of the page's inline scripts.
pub fn inline(page: &str) -> impl Iterator<Item = &str> {
    page.split("<script").skip(1).filter_map(|it| {
        let (_, rest) = it.split_once('>')?;
        rest.split_once("</script>").map(|it| it.0)
    })
}

/// The page with a hash at each element that loads this file. Icons and the manifest have none: browsers look at none.
fn with_hash(page: &str, file: &str, hash: &str) -> String {
    let mut parts = page.split("<link").map(str::to_owned);
    let mut page = parts.next().unwrap_or_default();
    for part in parts {
        let tag = part.split('>').next().unwrap_or_default();
        let loads = ["stylesheet", "preload"].iter().any(|it| tag.contains(it));
        page.push_str("<link");
        if loads && tag.contains(file) {
            page.push_str(&format!(" integrity=\"{hash}\""));
        }
        page.push_str(&part);
    }
    page
}

fn after(page: &str, before: &str, text: &str) -> Option<String> {
    let at = page.find(before)? + before.len();
    let (head, tail) = page.split_at(at);
    Some([head, text, tail].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<!doctype html><html lang=en><head><meta charset=utf-8><link rel=icon href=icon.svg>\
                        <link rel=stylesheet href=./a-1.css><link rel=modulepreload href=./b-2.js crossorigin>\
                        <script type=module>start()</script></head></html>";

    fn hashes(files: &[(&str, &str)]) -> BTreeMap<String, String> {
        let of = |it: &(&str, &str)| (it.0.to_owned(), hash(it.1.as_bytes()));
        files.iter().map(of).collect()
    }

    fn bound(files: &[(&str, &str)]) -> (String, String) {
        bind(PAGE, &hashes(files)).expect("a page")
    }

    const FILES: [(&str, &str); 3] = [("a-1.css", "a"), ("b-2.js", "b"), ("icon.svg", "c")];

    #[test]
    fn what_is_loaded_is_checked() {
        let (page, list) = bound(&FILES);
        let of = |file: &str| hashes(&FILES)[file].clone();
        for (tag, file) in [
            ("rel=stylesheet href=./a-1.css", "a-1.css"),
            ("rel=modulepreload href=./b-2.js", "b-2.js"),
        ] {
            let expected = format!("<link integrity=\"{}\" {tag}", of(file));
            assert!(page.contains(&expected), "{expected} in {page}");
        }
        assert!(page.contains("<link rel=icon href=icon.svg>"), "{page}");
        assert!(page.contains(&format!(
            "{{\"integrity\":{{\"./b-2.js\":\"{}\"}}}}",
            of("b-2.js")
        )));
        assert!(
            list.contains(&format!("\"icon.svg\":\"{}\"", of("icon.svg"))),
            "{list}"
        );
        assert!(
            list.contains(&format!("\"index.html\":\"{}\"", hash(page.as_bytes()))),
            "{list}"
        );
    }

    #[test]
    fn the_policy_comes_first_and_names_each_inline_script() {
        let (page, _) = bound(&FILES);
        let policy = page.find("http-equiv").expect("a policy");
        for later in ["<link", "<script"] {
            assert!(page.find(later).is_some_and(|at| at > policy), "{page}");
        }
        let scripts: Vec<&str> = inline(&page).collect();
        assert_eq!(scripts.len(), 2);
        for script in scripts {
            let source = format!("'{}'", hash(script.as_bytes()));
            assert!(page.contains(&source), "{source} in {page}");
        }
        assert!(!page.contains("'unsafe-"));
    }

    #[test]
    fn the_version_is_that_of_all_files() {
        let version = |files: &[(&str, &str)]| bound(files).1.split(',').next().map(str::to_owned);
        assert_eq!(version(&FILES), version(&FILES));
        let mut others = FILES;
        others[2].1 = "d";
        assert_ne!(version(&FILES), version(&others));
        assert!(bind("no page", &hashes(&FILES)).is_none());
    }
}
