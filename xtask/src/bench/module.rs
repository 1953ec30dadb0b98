//! The page on which ours and its peers are side by side: `bench/` as a wasm module, made as the page's is (same
//! profile, same optimiser, same options), and what a person would use instead, from npm, a file each in `bench/peers/`.

use std::fs;
use std::path::{Path, PathBuf};

use super::folder;
use crate::run::{aside, cargo, say};
use crate::tools::{self, Toolbox};
use crate::{Result, page, workspace};

/// A peer: package, version, and the files that the page takes of it. `bench/peers/` has a file of the package's last
/// name, which calls it.
pub struct Peer {
    pub package: &'static str,
    pub version: &'static str,
    files: &'static [&'static str],
}

pub const PEERS: [Peer; 5] = [
    Peer {
        package: "papaparse",
        version: "5.7.1",
        files: &["papaparse.min.js"],
    },
    Peer {
        package: "udsv",
        version: "0.7.3",
        files: &["dist/uDSV.iife.min.js"],
    },
    Peer {
        package: "d3-dsv",
        version: "3.0.1",
        files: &["dist/d3-dsv.min.js"],
    },
    Peer {
        package: "uplot",
        version: "1.6.32",
        files: &["dist/uPlot.iife.min.js"],
    },
    // Without threads, as a static host serves it. Its library is bundled, below.
    Peer {
        package: DUCKDB,
        version: "1.32.0",
        files: &["dist/duckdb-eh.wasm", "dist/duckdb-browser-eh.worker.js"],
    },
];

const DUCKDB: &str = "@duckdb/duckdb-wasm";

/// Builds the page; its folder.
pub fn build(tools: &Toolbox) -> Result<PathBuf> {
    let page = folder().join("page");
    fs::create_dir_all(&page)
        .map_err(|error| format!("cannot make {}: {error}", page.display()))?;
    say("building what is measured in the browser");
    let target = workspace().join("target/bench-wasm");
    aside(
        cargo()
            .args(["build", "--quiet", "--package", "herdscope-bench", "--lib"])
            .args(["--profile", "small", "--target", "wasm32-unknown-unknown"])
            .arg("--target-dir")
            .arg(&target),
    )?;
    let module = target.join("wasm32-unknown-unknown/small/herdscope_bench.wasm");
    aside(
        tools
            .command("wasm-bindgen")
            .args([
                "--target",
                "web",
                "--no-typescript",
                "--out-name",
                "bench",
                "--out-dir",
            ])
            .arg(&page)
            .arg(module),
    )?;
    let module = page.join("bench_bg.wasm");
    aside(
        tools
            .command("wasm-opt")
            .args(page::wasm_opt_options()?)
            .arg(&module)
            .arg("-o")
            .arg(&module),
    )?;
    let ours = workspace().join("bench");
    copy(&ours.join("index.html"), &page.join("index.html"))?;
    copy(&ours.join("peers/ours.js"), &page.join("ours.js"))?;
    // One file: a page that asks for many at once outruns a plain server.
    let mut scripts = read(&ours.join("peers/fillrect.js"))?;
    for peer in &PEERS {
        // The page says who is not there, and the table, too.
        match put(tools, peer, &page) {
            Ok(script) => scripts += &script,
            Err(why) => say(format!("{} is left out: {why}", peer.package)),
        }
    }
    let to = page.join("peers.js");
    fs::write(&to, scripts).map_err(|error| format!("cannot write {}: {error}", to.display()))?;
    Ok(page)
}

/// Puts what a peer needs into the page's folder; its own script, and the one that calls it.
fn put(tools: &Toolbox, peer: &Peer, page: &Path) -> Result<String> {
    let name = last_name(peer.package);
    let caller = workspace().join("bench/peers").join(format!("{name}.js"));
    if peer.package != DUCKDB {
        let script = |file: &&str| read(&tools::npm_file(peer.package, peer.version, file)?);
        let scripts: Result<String> = peer.files.iter().map(script).collect();
        return Ok([scripts?, read(&caller)?].join("\n"));
    }
    let bundle = page.join(format!("{name}.js"));
    let _ = fs::remove_file(&bundle);
    for file in peer.files {
        let from = tools::npm_file(peer.package, peer.version, file)?;
        copy(&from, &page.join(last_name(file)))?;
    }
    let library = tools::npm_file(peer.package, peer.version, "dist/duckdb-browser.mjs")?;
    let modules = library.ancestors().find(|it| it.ends_with("node_modules"));
    aside(
        tools
            .command("esbuild")
            .args(["--bundle", "--format=esm", "--log-level=warning"])
            .arg(format!("--outfile={}", bundle.display()))
            .arg(caller)
            .env("NODE_PATH", modules.unwrap_or(&library)),
    )?;
    Ok(String::new())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map(|_| ()).map_err(|error| {
        format!(
            "cannot copy {} to {}: {error}",
            from.display(),
            to.display()
        )
    })
}
