//! The page as it is hosted: its wasm packed with xz, and its files bound to each other.
//!
//! Trunk calls this when the page is made. Many hosts send `.wasm` as it is, and gzip leaves a fifth more than
//! xz does. Owns what the packed file is, and what index.html and the service worker say of the files; the names
//! between wasm and glue are `shorten`'s, the policy and the hashes `bind`'s, the unpacking in the browser
//! `www/start.js`'s. Invariant: index.html names each file that is there, with what it hashes to, and a file's name
//! changes with what is in it. Where there is no npm, the wasm stays as it is. Pinned by `tests` below, by
//! `tests/browser/tests/host.rs`, and by every browser test. Cost: two seconds, in the build.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lzma_rust2::{CheckType, LzmaOptions, XzOptions, XzWriter};

use crate::run::{find, run, say};
use crate::{Result, bind, shorten, tools, workspace};

/// What minifies scripts and styles, on PATH.
const ESBUILD: &str = "esbuild";

/// What makes the unpacker smaller, on PATH.
const WASM_OPT: &str = "wasm-opt";

/// How trunk names the wasm.
const WASM: &str = "_bg.wasm";

/// How index.html begins the call of `www/start.js`.
const CALL: &str = "start(";

/// What wasm files are written as, in a script.
const DATA: &str = "data:application/wasm;base64,";

/// Packs the page that trunk has made in this folder.
pub fn pack(folder: &Path) -> Result<()> {
    let files = listed(folder)?;
    let wasm = files
        .iter()
        .find(|it| it.to_string_lossy().ends_with(WASM))
        .ok_or_else(|| format!("{} holds no page's wasm", folder.display()))?;
    let glue = PathBuf::from(wasm.to_string_lossy().replace(WASM, ".js"));
    let (module, text) = shorten::shorten(&read(wasm)?, &read_text(&glue)?)
        .ok_or_else(|| format!("{} is no wasm module", wasm.display()))?;
    write(wasm, &module)?;
    write(&glue, text.as_bytes())?;

    let [start, worker] = ["start.js", bind::WORKER].map(|it| folder.join(it));
    for file in [&start, &worker] {
        let source = workspace().join("www").join(name(file));
        write(file, &read(&source)?)?;
    }
    let of = |kind: &'static str| files.iter().filter(move |it| has_ending(it, kind));
    minify(of("js").chain(of("css")).chain([&start, &worker]))?;
    let script = read_text(&start)?;
    remove(&start)?;

    let index = folder.join("index.html");
    let mut page = read_text(&index)?;
    let mut started = vec![name(&glue), name(wasm)];
    for file in of("js").chain(of("css")) {
        let content = read(file)?;
        let (before, ending) = (
            name(file),
            if has_ending(file, "js") { "js" } else { "css" },
        );
        let after = named(
            before.trim_end_matches(&[".", ending].concat()),
            &content,
            ending,
        );
        remove(file)?;
        write(&folder.join(&after), &content)?;
        page = page.replace(&before, &after);
        if started[0] == before {
            started[0] = after;
        }
    }
    let unpacker = unpacker(folder)?;
    let (content, ending) = match &unpacker {
        Some(_) => {
            let packed = packed(&module);
            let cannot = |error| format!("cannot pack {}: {error}", wasm.display());
            (packed.map_err(cannot)?, "wasm.xz")
        }
        None => (module, "wasm"),
    };
    let engine = named("engine", &content, ending);
    write(&folder.join(&engine), &content)?;
    remove(wasm)?;
    page = page.replace(&started[1], &engine);
    started[1] = engine;
    if let Some(unpacker) = unpacker {
        let unpacker_name = named("unpack", &unpacker, "wasm");
        write(&folder.join(&unpacker_name), &unpacker)?;
        page = with_early(&page, &unpacker_name).ok_or_else(|| no_call(&index))?;
        started.push(unpacker_name);
    }
    let hashes = hashes(folder)?;
    let page = with_script(&page, &script, &started, &hashes).ok_or_else(|| no_call(&index))?;
    let (page, list) = bind::bind(&page, &hashes).ok_or_else(|| no_call(&index))?;
    write(&index, page.as_bytes())?;
    write(&worker, (list + &read_text(&worker)?).as_bytes())
}

/// What each file hashes to that index.html may name.
fn hashes(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut hashes = BTreeMap::new();
    for file in listed(folder)? {
        if !["index.html", bind::WORKER].contains(&&*name(&file)) {
            hashes.insert(name(&file), bind::hash(&read(&file)?));
        }
    }
    Ok(hashes)
}

fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)
        .map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
    let paths = entries.flatten().map(|it| it.path());
    Ok(paths.filter(|it| it.is_file()).collect())
}

fn no_call(index: &Path) -> String {
    format!(
        "{} should call `{CALL}…)` in a script: see pattern_script in Trunk.toml",
        index.display()
    )
}

/// These bytes as an xz file that is unpacked in one block, with no more memory than they take themselves.
pub fn packed(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut options = XzOptions::with_preset(9);
    options.set_check_sum_type(CheckType::Crc32);
    options.lzma_options.dict_size = bytes.len().max(1 << 12) as u32;
    // Wasm is not aligned to anything, and the byte before tells much.
    options.lzma_options.lc = 4;
    options.lzma_options.pb = 0;
    options.lzma_options.nice_len = LzmaOptions::NICE_LEN_MAX;
    options.lzma_options.depth_limit = 512;
    let mut writer = XzWriter::new(Vec::new(), options)?;
    writer.write_all(bytes)?;
    writer.finish()
}

/// The page with the script, and the call of it for these files, each with its hash; `None` if it has no call.
fn with_script(
    page: &str,
    script: &str,
    files: &[String],
    hashes: &BTreeMap<String, String>,
) -> Option<String> {
    let (before, after) = page.split_once(CALL)?;
    let (_, after) = after.split_once("</script>")?;
    let of = |it: &String| Some(format!("[\"./{it}\",\"{}\"]", hashes.get(it)?));
    let files: Option<Vec<String>> = files.iter().map(of).collect();
    let call = format!("{CALL}{})", files?.join(","));
    Some(format!(
        "{before}{}\n{call}</script>{after}",
        script.trim_end()
    ))
}

/// The page with the link that fetches this file early.
fn with_early(page: &str, file: &str) -> Option<String> {
    let at = page.find("<script")?;
    let (before, after) = page.split_at(at);
    Some(format!(
        "{before}<link rel=preload href=./{file} as=fetch crossorigin>{after}"
    ))
}

/// The unpacker's wasm, out of the script that it is published in; `None` where there is no npm.
fn unpacker(folder: &Path) -> Result<Option<Vec<u8>>> {
    let Some(script) = tools::unpacker()? else {
        say("no npm here: the page's wasm is not packed");
        return Ok(None);
    };
    let text = read_text(&script)?;
    let encoded = text
        .split_once(DATA)
        .and_then(|(_, rest)| rest.split_once('"'))
        .ok_or_else(|| format!("{} holds no {DATA}", script.display()))?;
    let module = BASE64_STANDARD
        .decode(encoded.0)
        .map_err(|error| format!("the wasm in {} is garbled: {error}", script.display()))?;
    let file = folder.join("unpack.wasm");
    write(&file, &module)?;
    if find(WASM_OPT).is_some() {
        run(Command::new(WASM_OPT)
            .args(["-Oz", "--strip-debug", "--strip-producers"])
            .arg("--enable-bulk-memory")
            .arg(&file)
            .arg("-o")
            .arg(&file))?;
    }
    let module = read(&file)?;
    remove(&file)?;
    Ok(Some(module))
}

/// A file's name, with a number of what is in it.
fn named(stem: &str, content: &[u8], ending: &str) -> String {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    // Trunk's own number of what the file was made of says nothing more.
    let stem = match stem.rsplit_once('-') {
        Some((stem, number))
            if number.len() > 8 && number.chars().all(|it| it.is_ascii_hexdigit()) =>
        {
            stem
        }
        _ => stem,
    };
    format!("{stem}-{:016x}.{ending}", hasher.finish())
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|it| it == ending)
}

/// The scripts and styles without what is for readers alone, where esbuild is at hand.
fn minify<'a>(files: impl Iterator<Item = &'a PathBuf>) -> Result<()> {
    let Some(esbuild) = find(ESBUILD) else {
        say("no esbuild here: the page's scripts and styles stay as they are, a little larger");
        return Ok(());
    };
    for file in files {
        let mut out = OsString::from("--outfile=");
        out.push(file);
        run(Command::new(&esbuild)
            .args(["--minify", "--charset=utf8", "--log-level=warning"])
            .arg("--allow-overwrite")
            .arg(out)
            .arg(file))?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read(path)?).map_err(|_| format!("{} is no UTF-8 text", path.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn remove(path: &Path) -> Result<()> {
    fs::remove_file(path).map_err(|error| format!("cannot remove {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn what_is_packed_unpacks_to_the_same() {
        let long: Vec<u8> = (0..300_000u32)
            .flat_map(|it| (it.wrapping_mul(it) >> 7).to_le_bytes())
            .collect();
        for bytes in [b"".as_slice(), b"\0asm", &[7; 100_000], &long] {
            let packed = packed(bytes).expect("nothing that could fail");
            let mut unpacked = Vec::new();
            lzma_rust2::XzReader::new(&packed[..], false)
                .read_to_end(&mut unpacked)
                .expect("an xz file");
            assert!(unpacked == bytes, "{} bytes", bytes.len());
            // Its check is CRC32, which is what the unpacker knows.
            assert_eq!(packed[..8], *b"\xfd7zXZ\0\0\x01");
        }
    }

    #[test]
    fn the_page_begins_with_the_script_and_the_files_that_are_there() {
        let page = "<head><script type=module>start(`./a.js`,`./b.wasm`)</script></head>";
        let files = ["a.js", "c.wasm.xz", "d.wasm"].map(str::to_owned);
        let hashes = files.iter().map(|it| (it.clone(), it.to_uppercase()));
        let hashes = hashes.collect();
        let page = with_script(page, "const start = 1;\n", &files, &hashes);
        let page = with_early(&page.expect("a call"), "d.wasm").expect("a script");
        assert_eq!(
            page,
            "<head><link rel=preload href=./d.wasm as=fetch crossorigin><script type=module>const start = 1;\n\
             start([\"./a.js\",\"A.JS\"],[\"./c.wasm.xz\",\"C.WASM.XZ\"],[\"./d.wasm\",\"D.WASM\"])</script></head>"
        );
        assert!(with_script("<head></head>", "", &[], &hashes).is_none());
        assert!(with_early("<head></head>", "d.wasm").is_none());
    }

    #[test]
    fn a_name_tells_what_is_in_the_file() {
        let a = named("page-0123456789abcdef", b"a", "wasm.xz");
        assert!(a.starts_with("page-") && a.ends_with(".wasm.xz") && !a.contains("0123456789"));
        assert_eq!(a, named("page", b"a", "wasm.xz"));
        assert_ne!(a, named("page", b"b", "wasm.xz"));
    }
}
