//! The page on its host: what its own policy lets it do, that it opens without a network, and that it takes a new
//! version as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use herdscope_browser_tests::files::Folder;
use herdscope_browser_tests::{Page, Result, Site, suite};
use serde_json::{Value, json};
use xtask::bind::{hash, inline};
use xtask::browsers::Brand;
use xtask::files::Server;

suite!(
    names_change_with_what_is_in_files,
    the_policy_is_there_and_holds,
    the_engines_thread_is_under_it_too,
    it_opens_without_its_host,
    a_new_version_is_taken_as_a_whole,
    on_this_machine_it_is_seen_at_once,
    a_version_that_is_not_whole_is_not_taken,
    it_may_be_installed,
);

/// Where the page is: below the root, as on most hosts.
const AT: &str = "/some/where/";

/// A service worker keeps the page and has taken it over.
const IS_KEPT: &str = "navigator.serviceWorker.controller?.state == 'activated'";

/// All names of files that the page has asked for, and what keeps them.
const CACHES: &str = "return (async () => { const all = {}; for (const name of await caches.keys()) \
    all[name] = (await (await caches.open(name)).keys()).map((it) => it.url); return all })()";

/// Puts the built page into a folder, in the place of what is there.
fn put(folder: &Folder, files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    for entry in fs::read_dir(folder.path()).map_err(|it| it.to_string())? {
        let entry = entry.map_err(|it| it.to_string())?;
        fs::remove_file(entry.path()).map_err(|it| it.to_string())?;
    }
    files
        .iter()
        .try_for_each(|(name, content)| folder.write(name, content).map(|_| ()))
}

/// The files of the built page.
fn built() -> Result<BTreeMap<String, Vec<u8>>> {
    let entries = fs::read_dir(Site::built()).map_err(|it| it.to_string())?;
    let mut files = BTreeMap::new();
    for entry in entries.flatten() {
        let content = fs::read(entry.path()).map_err(|it| it.to_string())?;
        files.insert(entry.file_name().to_string_lossy().into_owned(), content);
    }
    Ok(files)
}

/// The same page as another version: all files whose names say what is in them have others, as after a change of all.
fn another() -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = built()?;
    let text = |files: &BTreeMap<String, Vec<u8>>, name: &str| {
        let content = files.get(name).cloned().unwrap_or_default();
        String::from_utf8(content).map_err(|it| it.to_string())
    };
    let (mut page, mut worker) = (text(&files, "index.html")?, text(&files, "sw.js")?);
    let before = [page.clone(), worker.clone()];
    let mut change = |from: &str, to: &str| {
        page = page.replace(from, to);
        worker = worker.replace(from, to);
    };
    let version = before[0]
        .split("data-version=")
        .nth(1)
        .and_then(|it| it.get(..12));
    change(version.ok_or("the page has no version")?, "anotherOne12");
    for name in files.keys().cloned().collect::<Vec<_>>() {
        let Some((stem, rest)) = name.rsplit_once('-') else {
            continue;
        };
        let (_, ending) = rest.split_once('.').ok_or("a name without an ending")?;
        let new = format!("{stem}-0123456789abcdef.{ending}");
        let mut content = files.remove(&name).unwrap_or_default();
        if ending == "css" {
            let old = hash(&content);
            content.extend_from_slice(b" ");
            change(&old, &hash(&content));
        }
        change(&name, &new);
        files.insert(new, content);
    }
    let [old, new] =
        [&before[0], &page].map(|it| inline(it).map(|it| hash(it.as_bytes())).collect::<Vec<_>>());
    let page = old
        .iter()
        .zip(&new)
        .fold(page.clone(), |page, (old, new)| page.replace(old, new));
    let worker = worker.replace(&hash(before[0].as_bytes()), &hash(page.as_bytes()));
    files.insert("index.html".to_owned(), page.into_bytes());
    files.insert("sw.js".to_owned(), worker.into_bytes());
    Ok(files)
}

fn serve(folder: &Folder) -> Result<Server> {
    Ok(Server::start(&[(AT, folder.path().to_owned())])?)
}

/// The built page in a folder that can be changed, and its server.
fn hosted() -> Result<(Folder, Server)> {
    let folder = Folder::new()?;
    put(&folder, &built()?)?;
    let server = serve(&folder)?;
    Ok((folder, server))
}

/// Where the page is, by a name that stands for any host: on this machine's own names it behaves otherwise.
fn elsewhere(server: &Server) -> String {
    server.url(AT).replace("127.0.0.1", "herdscope.localhost")
}

/// Ends a server, and waits until nobody is there any more.
fn end(server: Server) -> Result<()> {
    let address = server.url("").replace("http://", "");
    drop(server);
    let start = Instant::now();
    while TcpStream::connect(&address).is_ok() {
        if start.elapsed() > Duration::from_secs(10) {
            return Err("the server does not end".into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// As docs/hosting.md has it, for hosts that let files be kept for ever.
fn names_change_with_what_is_in_files(page: &mut Page) -> Result<()> {
    let path = xtask::workspace().join("docs/hosting.md");
    let docs = fs::read_to_string(path).map_err(|it| it.to_string())?;
    let files = built()?;
    for name in files.keys() {
        let (stem, ending) = name.split_once('.').ok_or("a name without an ending")?;
        let number = stem.rsplit_once('-').map_or("", |it| it.1);
        let named = number.len() == 16 && number.chars().all(|it| it.is_ascii_hexdigit());
        let listed = docs.contains(&format!("`{name}`"));
        assert!(named != listed, "{name}, a file .{ending}");
    }
    // And the page loads those.
    page.show("/")?;
    page.must_be_silent()
}

fn the_policy_is_there_and_holds(page: &mut Page) -> Result<()> {
    page.show("/")?;
    let policy =
        page.string("document.querySelector('meta[http-equiv=Content-Security-Policy]').content")?;
    for part in [
        "default-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "style-src 'self'",
    ] {
        assert!(policy.contains(part), "{part} is not in {policy}");
    }
    assert!(!policy.contains("'unsafe-"), "{policy}");
    page.must_be_silent()?;
    let violated = "return new Promise((done) => { \
        document.addEventListener('securitypolicyviolation', (it) => done(it.effectiveDirective), { once: true }); \
        eval_this(); })";
    for (attempt, directive) in [
        (
            "const it = document.createElement('script'); it.textContent = 'window.injected = 1'; document.body.append(it)",
            "script-src-elem",
        ),
        (
            "const it = document.createElement('p'); it.innerHTML = '<img src=x onerror=\"window.injected = 1\">'; \
             it.firstChild.dispatchEvent(new Event('error')); document.body.append(it)",
            "script-src-attr",
        ),
        (
            "const it = document.createElement('style'); it.textContent = 'p { color: red }'; document.body.append(it)",
            "style-src-elem",
        ),
        ("fetch('http://example.com/').catch(() => 0)", "connect-src"),
        (
            "const it = new Image(); it.src = 'https://example.com/a.png'",
            "img-src",
        ),
        (
            "const it = document.createElement('iframe'); it.src = 'https://example.com/'; document.body.append(it)",
            "frame-src",
        ),
    ] {
        let said = page.run(&violated.replace("eval_this()", attempt), Vec::new())?;
        assert_eq!(said, json!(directive), "{attempt}");
    }
    assert_eq!(page.value("window.injected === undefined")?, json!(true));
    // The browser logs what it has refused.
    page.take_errors()?;
    Ok(())
}

/// It fetches what links name; a host that the page may not ask, it may not either.
fn the_engines_thread_is_under_it_too(page: &mut Page) -> Result<()> {
    page.show("/")?;
    let blobs = "return new Promise((done, fail) => { \
        const text = \"fetch('http://example.com/').then(() => postMessage('asked'), () => 0); \
                       addEventListener('securitypolicyviolation', (it) => postMessage(it.effectiveDirective))\"; \
        const worker = new Worker(URL.createObjectURL(new Blob([text], { type: 'text/javascript' })), { type: 'module' }); \
        worker.onmessage = ({ data }) => done(data); worker.onerror = fail })";
    assert_eq!(page.run(blobs, Vec::new())?, json!("connect-src"));
    // And such a worker is what the engine's is.
    page.run_first(
        "const Of = Worker; window.workers = []; \
         window.Worker = function (...it) { window.workers.push(String(it[0])); return new Of(...it) }",
    )?;
    page.show("/")?;
    let workers = page.value("window.workers.map((it) => it.split(':')[0])")?;
    assert_eq!(workers, json!(["blob"]));
    page.take_errors()?;
    Ok(())
}

fn it_opens_without_its_host(page: &mut Page) -> Result<()> {
    for of in [elsewhere, |server: &Server| server.url(AT)] {
        let folder = Folder::new()?;
        put(&folder, &built()?)?;
        let server = serve(&folder)?;
        let url = of(&server);
        page.show(&url)?;
        page.wait_for(IS_KEPT)?;
        let picture = page.picture()?;
        end(server)?;
        page.show(&url)?;
        page.picture()?.must_be(&picture, "without its host")?;
        // By the name of its file, and with a view, too.
        page.show(&format!("{url}index.html#v=1&pane=breaker"))?;
        assert!(page.is_shown("#pane-breaker")?);
        page.must_be_silent()?;
        page.take_errors()?;
    }
    Ok(())
}

fn on_this_machine_it_is_seen_at_once(page: &mut Page) -> Result<()> {
    let (folder, server) = hosted()?;
    let url = server.url(AT);
    page.show(&url)?;
    page.wait_for(IS_KEPT)?;
    put(&folder, &another()?)?;
    page.show(&url)?;
    let version = page.string("document.documentElement.dataset.version")?;
    assert_eq!(version, "anotherOne12");
    page.must_be_silent()
}

fn a_new_version_is_taken_as_a_whole(page: &mut Page) -> Result<()> {
    let (folder, server) = hosted()?;
    let url = elsewhere(&server);
    page.show(&url)?;
    page.wait_for(IS_KEPT)?;
    let version = "document.documentElement.dataset.version";
    let first = page.string(version)?;
    assert!(!page.is_shown("#update")?);

    // The host has another one, with none of the files of the first.
    put(&folder, &another()?)?;
    page.show(&url)?;
    assert_eq!(page.string(version)?, first);
    page.must_be_silent()?;
    page.wait_for("!document.getElementById('update').hidden")?;
    // It is said, and the page goes on as it is.
    assert_eq!(page.string(version)?, first);

    page.click("#update")?;
    page.wait_for(&format!("{version} != {}", json!(first)))?;
    page.wait_until_still()?;
    assert!(!page.is_shown("#update")?);
    let got = page
        .value("performance.getEntriesByType('resource').map((it) => it.name.split('/').pop())")?;
    let got: BTreeSet<&str> = got
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for name in &got {
        assert!(
            folder.path().join(name).is_file(),
            "{name} is of no file of the new version: {got:?}"
        );
    }
    assert!(
        got.iter()
            .any(|it| it.ends_with(".wasm.xz") || it.ends_with(".wasm")),
        "{got:?}"
    );
    // Of the old one nothing is left.
    page.wait_for("caches.keys().then((it) => it.length == 1)")?;
    let kept = page.run(CACHES, Vec::new())?;
    let second = page.string(version)?;
    assert!(
        kept.as_object()
            .is_some_and(|it| it.keys().all(|name| name.ends_with(&second))),
        "{kept}"
    );
    Ok(())
}

/// As in the middle of an upload: the old one stays.
fn a_version_that_is_not_whole_is_not_taken(page: &mut Page) -> Result<()> {
    let (folder, server) = hosted()?;
    let url = elsewhere(&server);
    page.show(&url)?;
    page.wait_for(IS_KEPT)?;
    let version = page.string("document.documentElement.dataset.version")?;
    let other = another()?;
    for name in ["sw.js", "index.html"] {
        folder.write(name, &other[name])?;
    }
    let failed = "return (async () => { const it = await navigator.serviceWorker.getRegistration(); \
        const found = new Promise((done) => { it.onupdatefound = () => { const worker = it.installing; \
          worker.onstatechange = () => done(worker.state) } }); \
        await it.update(); return found })()";
    assert_eq!(page.run(failed, Vec::new())?, json!("redundant"));
    page.show(&url)?;
    assert_eq!(
        page.string("document.documentElement.dataset.version")?,
        version
    );
    assert!(!page.is_shown("#update")?);
    page.take_errors()?;
    Ok(())
}

fn it_may_be_installed(page: &mut Page) -> Result<()> {
    page.not_in(
        Brand::Firefox,
        "it installs no pages, and tells nobody whether one could be",
    )?;
    page.show("/any/sub/path/")?;
    page.wait_for(IS_KEPT)?;
    let manifest = page.browser().devtools("Page.getAppManifest", json!({}))?;
    assert_eq!(manifest["errors"], json!([]), "{manifest}");
    let url = manifest["url"].as_str().unwrap_or_default();
    assert!(url.ends_with("/any/sub/path/manifest.webmanifest"), "{url}");
    let refused = page
        .browser()
        .devtools("Page.getInstallabilityErrors", json!({}))?;
    let refused: Vec<&str> = refused["installabilityErrors"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it["errorId"].as_str())
        // Tests run in a window without a profile of somebody's.
        .filter(|it| *it != "in-incognito")
        .collect();
    assert!(refused.is_empty(), "{refused:?}");
    Ok(())
}
