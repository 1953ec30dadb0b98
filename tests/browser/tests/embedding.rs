//! Another page that sends spans: in a frame or by a window, asked about once, and never without a name. The page is the
//! example of docs/embedding.md.

use std::fs;

use herdscope_browser_tests::files::Folder;
use herdscope_browser_tests::{Page, Result, Site, suite};
use serde_json::json;
use xtask::files::Server;

suite!(
    the_example_of_the_docs_works,
    an_origin_that_is_remembered_is_not_asked_about,
    a_window_that_it_opens_is_answered_too,
    its_own_origin_needs_no_question,
    what_cannot_be_opened_is_said_to_both,
);

/// The page of somebody else, on an origin of its own.
struct Other {
    server: Server,
    explorer: Site,
    folder: Folder,
}

impl Other {
    /// The example of the docs, changed so.
    fn start(from: &str, to: &str) -> Result<Other> {
        let path = xtask::workspace().join("docs/embedding.md");
        let docs = fs::read_to_string(path).map_err(|it| it.to_string())?;
        let example = docs
            .split("```html\n")
            .nth(1)
            .and_then(|it| it.split("```").next());
        let example = example.ok_or("the docs have no example")?;
        let explorer = Site::start()?;
        let home = "https://herdscope.example/";
        assert!(example.contains(home) && example.contains(from));
        let example = example.replace(home, &explorer.url("/")).replace(from, to);
        let folder = Folder::new()?;
        folder.write("index.html", example)?;
        let server = Server::start(&[("/", folder.path().to_owned())])?;
        Ok(Other {
            server,
            explorer,
            folder,
        })
    }

    fn origin(&self) -> String {
        self.server.url("")
    }

    fn open(&self, page: &Page) -> Result<()> {
        page.resize(1400, 1000, 1.0)?;
        page.open(&self.server.url("/"))
    }
}

/// What the browser logs and neither page can help: it says so of each dialog in a frame of another origin, and asks the
/// other page for an icon.
fn only_known_errors(page: &Page) -> Result<()> {
    let known = |it: &String| it.contains("Blocked autofocusing") || it.contains("favicon.ico");
    let errors = page.take_errors()?;
    assert!(errors.iter().all(known), "{errors:?}");
    Ok(())
}

/// The words that the other page shows.
const SAID: &str = "document.getElementById('said').textContent";

fn wait_for_answer(page: &Page, words: &str) -> Result<()> {
    page.wait_for(&format!("{SAID}.includes({})", json!(words)))
}

fn the_example_of_the_docs_works(page: &mut Page) -> Result<()> {
    let other = Other::start("", "")?;
    other.open(page)?;
    page.enter_frame("#explorer")?;
    let dialog = "document.getElementById('sent-dialog')?.open";
    page.wait_for(dialog)?;
    let title = page.text("#sent-title")?;
    assert!(
        title.starts_with("Open 1")
            && title.contains(" B from ")
            && title.contains(&other.origin()),
        "{title}"
    );
    assert_eq!(page.text("#sent-what")?, "the alert of 08:00");
    page.wait_for_file("sample incident")?;
    // The mouse is the window's, not the frame's.
    page.run(
        "document.querySelector('#sent-dialog [value=open]').click()",
        Vec::new(),
    )?;
    page.wait_for_file("alert.csv")?;
    assert_eq!(page.spans()?, 3.0);
    assert!(page.is_shown("#pane-trace")?);
    let link = page.view()?;
    assert_eq!(link.files.len(), 1);
    page.must_be_silent()?;
    page.leave_frame()?;
    wait_for_answer(page, "has the spans")?;
    only_known_errors(page)
}

fn an_origin_that_is_remembered_is_not_asked_about(page: &mut Page) -> Result<()> {
    let other = Other::start("", "")?;
    let press = |remember: bool, button: &str| {
        format!(
            "document.getElementById('sent-always').checked = {remember}; \
             document.querySelector('#sent-dialog button{button}').click()"
        )
    };
    let dialog = "document.getElementById('sent-dialog')?.open";
    for (remember, button, answer) in [
        (false, "[autofocus]", "declined"),
        (false, "[value=open]", "has the spans"),
        (true, "[value=open]", "has the spans"),
    ] {
        other.open(page)?;
        page.enter_frame("#explorer")?;
        page.wait_for(dialog)?;
        page.run(&press(remember, button), Vec::new())?;
        page.leave_frame()?;
        wait_for_answer(page, answer)?;
    }
    other.open(page)?;
    wait_for_answer(page, "has the spans")?;
    page.enter_frame("#explorer")?;
    page.wait_for_file("alert.csv")?;
    assert_eq!(page.value(dialog)?, json!(false));
    page.leave_frame()?;
    // So is one that the person wants nothing of.
    let other = Other::start("", "")?;
    for asks in [true, false] {
        other.open(page)?;
        page.enter_frame("#explorer")?;
        if asks {
            page.wait_for(dialog)?;
            page.run(&press(true, "[autofocus]"), Vec::new())?;
        }
        page.wait_for_message(&["declined", &other.origin()])?;
        assert_eq!(page.value(dialog)?, json!(false));
        page.leave_frame()?;
        wait_for_answer(page, "declined")?;
    }
    only_known_errors(page)
}

/// What sends a span to the window `it`, and keeps what comes back in `heard`.
const SEND: &str = "window.heard = []; \
    const text = 'trace_id,span_id,service,start_ms,duration_ms\\n01,a1,shop,1790409600000,5\\n'; \
    const knock = setInterval(() => it.postMessage('PING', '*'), 100); \
    addEventListener('message', ({ data }) => { \
      if (data != 'PONG') return data == 'PING' || data.herdscope?.buffer || heard.push(Object.keys(data.herdscope ?? {})[0]); \
      clearInterval(knock); \
      if (!heard.length) { \
        const { buffer } = new TextEncoder().encode(text); \
        it.postMessage({ herdscope: { buffer } }, '*', [buffer]) } \
      heard.push('PONG') })";

fn a_window_that_it_opens_is_answered_too(page: &mut Page) -> Result<()> {
    let other = Other::start("", "")?;
    other
        .folder
        .write("opener.html", "<title>An opener</title>")?;
    page.open(&other.server.url("/opener.html"))?;
    let open = format!(
        "window.it = open({}); {SEND}",
        json!(other.explorer.url("/"))
    );
    page.run(&open, Vec::new())?;
    page.enter_other_window()?;
    page.wait_for("document.getElementById('sent-dialog')?.open")?;
    assert!(page.text("#sent-title")?.contains(&other.origin()));
    page.click("#sent-dialog [value=open]")?;
    page.wait_for_file(&format!("data of {}", other.origin()))?;
    assert_eq!(page.spans()?, 1.0);
    page.must_be_silent()?;
    page.enter_other_window()?;
    page.wait_for("heard.includes('accepted')")?;
    page.run("it.close()", Vec::new())?;
    only_known_errors(page)
}

/// And without a name of a file, no link can ask for it.
fn its_own_origin_needs_no_question(page: &mut Page) -> Result<()> {
    page.show("/")?;
    page.run(&format!("window.it = window; {SEND}"), Vec::new())?;
    page.wait_for("heard.includes('accepted')")?;
    let origin = page.string("location.origin")?;
    page.wait_for_file(&format!("data of {origin}"))?;
    page.click("#copy")?;
    page.wait_for_message(&["not in the link"])?;
    page.take_errors()?;
    Ok(())
}

fn what_cannot_be_opened_is_said_to_both(page: &mut Page) -> Result<()> {
    for (from, to, words) in [
        (
            "buffer, fileName",
            "buffer: csv, fileName",
            "no ArrayBuffer",
        ),
        (
            "new TextEncoder().encode(csv)",
            "new Uint8Array(512_000_001)",
            "at most 512.0 MB",
        ),
    ] {
        let other = Other::start(from, to)?;
        other.open(page)?;
        wait_for_answer(page, words)?;
        page.enter_frame("#explorer")?;
        page.wait_for_message(&["was not opened", words, &other.origin()])?;
        page.wait_for_file("sample incident")?;
        page.leave_frame()?;
        only_known_errors(page)?;
        page.new_tab()?;
    }
    // A page without an origin, beside it in a sandbox: it is nobody's.
    let other = Other::start("", "")?;
    let outer = format!(
        "<p id=said></p><iframe id=explorer src={} width=1200 height=800></iframe><iframe sandbox=allow-scripts srcdoc=\"{}\">\
         </iframe><script>addEventListener('message', (it) => (said.textContent = it.data))</script>",
        other.explorer.url("/"),
        "<script>const it = parent.frames[0]; const knock = setInterval(() => it.postMessage('PING', '*'), 100); \
         addEventListener('message', ({ data }) => { clearInterval(knock); \
         if (data == 'PONG') it.postMessage({ herdscope: { buffer: new ArrayBuffer(9) } }, '*'); \
         else parent.postMessage(data.herdscope.refused ?? 'accepted', '*') })</script>"
    );
    other.folder.write("outer.html", outer)?;
    page.open(&other.server.url("/outer.html"))?;
    wait_for_answer(page, "has no origin")?;
    page.enter_frame("#explorer")?;
    page.wait_for_message(&["null", "has no origin"])?;
    let dialog = page.value("document.getElementById('sent-dialog').open")?;
    assert_eq!(dialog, json!(false));
    page.leave_frame()?;
    only_known_errors(page)
}
