//! The size budget: what a visitor downloads before the page works - code and styles, gzipped as hosts do.
//! Samples and pictures do not count: they are fetched afterwards.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::{Compression, write::GzEncoder};

use crate::Result;

/// What the page may weigh, in bytes after gzip.
pub const LIMIT: u64 = 350_000;

/// One file of the page.
struct Weight {
    name: String,
    bytes: u64,
    gzip: u64,
}

/// Prints what each file of the page in `folder` weighs; an error if together they weigh over `limit`.
pub fn check(folder: &Path, limit: u64) -> Result<()> {
    let weights = weigh(folder)?;
    if weights.is_empty() {
        return Err(format!(
            "no page in {}: `cargo xtask dist` builds it",
            folder.display()
        ));
    }
    let total: u64 = weights.iter().map(|it| it.gzip).sum();
    println!("{:>10} {:>10}  file", "bytes", "gzip");
    for Weight { name, bytes, gzip } in &weights {
        println!("{bytes:>10} {gzip:>10}  {name}");
    }
    println!("{:>10} {total:>10}  of {limit} allowed", "");
    if total <= limit {
        Ok(())
    } else {
        Err(format!(
            "the page weighs {total} bytes gzipped, {} over its limit of {limit}: find what grew, or raise the \
             limit on purpose (LIMIT in xtask/src/size.rs)",
            total - limit
        ))
    }
}

/// What the page in `folder` weighs, in bytes after gzip.
pub fn total(folder: &Path) -> Result<u64> {
    Ok(weigh(folder)?.iter().map(|it| it.gzip).sum())
}

/// The code and styles at the top of the folder, heaviest first.
fn weigh(folder: &Path) -> Result<Vec<Weight>> {
    let unreadable = |error: std::io::Error| {
        format!(
            "cannot read {}: {error}; `cargo xtask dist` builds the page",
            folder.display()
        )
    };
    let mut weights = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let counts = path.extension().is_some_and(|it| {
            ["wasm", "xz", "js", "css", "html"]
                .iter()
                .any(|counted| it == *counted)
        });
        if !counts || !path.is_file() {
            continue;
        }
        let content = fs::read(&path).map_err(unreadable)?;
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let gzip = gzipped(&content).map_err(unreadable)?;
        weights.push(Weight {
            name,
            bytes: content.len() as u64,
            gzip,
        });
    }
    weights.sort_by(|a, b| b.gzip.cmp(&a.gzip).then_with(|| a.name.cmp(&b.name)));
    Ok(weights)
}

fn gzipped(content: &[u8]) -> std::io::Result<u64> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content)?;
    Ok(encoder.finish()?.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own, removed afterwards.
    struct Folder(std::path::PathBuf);

    impl Folder {
        fn with(name: &str, files: &[(&str, &str)]) -> Folder {
            let folder =
                std::env::temp_dir().join(format!("herdscope-size-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).expect("a temporary folder");
            for (name, content) in files {
                fs::write(folder.join(name), content).expect("a file in it");
            }
            Folder(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_limit_is_the_last_size_that_passes() {
        let page = Folder::with(
            "limit",
            &[
                ("index.html", "<p>"),
                ("a.js", "let a"),
                ("sample.csv", "not counted"),
            ],
        );
        let total: u64 = weigh(&page.0)
            .expect("a page")
            .iter()
            .map(|it| it.gzip)
            .sum();
        assert!(check(&page.0, total).is_ok());
        let error = check(&page.0, total - 1).expect_err("one byte over");
        assert!(error.contains("1 over its limit"), "{error}");
    }

    #[test]
    fn only_code_and_styles_count() {
        let files = [
            ("a.wasm.xz", ""),
            ("b.css", ""),
            ("c.csv", ""),
            ("d.png", ""),
            ("e.js", ""),
        ];
        let page = Folder::with("kinds", &files);
        let mut names: Vec<_> = weigh(&page.0)
            .expect("a page")
            .into_iter()
            .map(|it| it.name)
            .collect();
        names.sort();
        assert_eq!(names, ["a.wasm.xz", "b.css", "e.js"]);
    }

    #[test]
    fn no_page_is_not_a_light_page() {
        let page = Folder::with("none", &[]);
        assert!(check(&page.0, 1).is_err());
        assert!(check(&page.0.join("absent"), 1).is_err());
    }
}
