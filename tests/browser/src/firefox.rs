//! What Firefox does that WebDriver has no word for: by scripts that run as the browser's own, in its window
//! (`chrome` to WebDriver) or beside the page in the page's process.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use fantoccini::actions::{Actions, InputSource, TouchActions};
use serde_json::{Value, json};

use crate::page::{Button, Held, Point, Touch, move_to, press_and_release};
use crate::{Browser, Failure, Result};

/// The colour scheme that nobody has set.
const AS_IN_THE_SYSTEM: u32 = 2;

/// What its driver is asked for.
pub(crate) fn capabilities(program: &Path) -> Value {
    let preferences = json!({
        // Any page may write to the clipboard and read it.
        "dom.events.testing.asyncClipboard": true,
        // The scripts beside a page make files of paths.
        "dom.file.createInChild": true,
        // As in Chromium with `--hide-scrollbars`: they take no room.
        "ui.useOverlayScrollbars": 1,
        // Colours are what the page says.
        "gfx.color_management.mode": 0,
        // The scripts in its window add one for the processes of pages.
        "security.allow_parent_unrestricted_js_loads": true,
    });
    json!({
        "browserName": "firefox",
        "moz:firefoxOptions": { "binary": program, "args": ["-headless"], "prefs": preferences },
    })
}

/// What pages and workers log as errors is heard: consoles in their own processes, uncaught errors and files that are
/// not found in the browser's. And statements are run in every page before its own: a policy of the page, which would
/// forbid it, is not read yet.
const SET_UP: &str = "\
    window.heard = []; \
    const beside = () => { \
      if (Services.appinfo.processType != Services.appinfo.PROCESS_TYPE_CONTENT) return; \
      const storage = Cc['@mozilla.org/consoleAPI-storage;1'].getService(Ci.nsIConsoleAPIStorage); \
      storage.addLogEventListener((said) => { \
        if (typeof said.innerID == 'number' && ['assert', 'error'].includes(said.level)) \
          sendAsyncMessage('herdscope:heard', Array.from(said.arguments, String).join(' ')); \
      }, Cc['@mozilla.org/systemprincipal;1'].createInstance(Ci.nsIPrincipal)); \
      Services.obs.addObserver((page) => { \
        const first = Services.cpmm.sharedData.get('herdscope:first'); \
        if (first && /^https?:$/.test(page.location.protocol)) page.wrappedJSObject.eval(first); \
      }, 'content-document-global-created'); \
    }; \
    Services.ppmm.addMessageListener('herdscope:heard', ({ data }) => void window.heard.push(data)); \
    Services.ppmm.loadProcessScript(`data:,(${encodeURIComponent(beside)})()`, true); \
    Services.console.registerListener({ observe(said) { \
      if (said instanceof Ci.nsIScriptError && !(said.flags & Ci.nsIScriptError.warningFlag) \
          && /^(https?|blob|data):/.test(said.sourceName)) \
        window.heard.push(`${said.sourceName}:${said.lineNumber} ${said.errorMessage}`); \
    } }); \
    Services.obs.addObserver((channel) => { \
      channel.QueryInterface(Ci.nsIHttpChannel); \
      if (channel.responseStatus >= 400 && channel.loadInfo.loadingPrincipal?.isContentPrincipal) \
        window.heard.push(`${channel.URI.spec} ${channel.responseStatus}`); \
    }, 'http-on-examine-response')";

/// To be called once, before the first page.
pub(crate) fn set_up(browser: &Browser) -> Result<()> {
    in_window(browser, SET_UP, Vec::new()).map(|_| ())
}

/// Has statements run in every page from now on, before its own.
pub(crate) fn run_first(browser: &Browser, statements: &str) -> Result<()> {
    let set = "const { sharedData } = Services.ppmm; \
               sharedData.set('herdscope:first', arguments[0]); sharedData.flush()";
    in_window(browser, set, vec![json!(statements)]).map(|_| ())
}

/// What page and workers logged as errors since the last call.
pub(crate) fn errors(browser: &Browser) -> Result<Vec<String>> {
    let heard = in_window(browser, "return window.heard.splice(0)", Vec::new())?;
    let heard = heard.as_array().into_iter().flatten();
    Ok(heard
        .filter_map(|it| it.as_str().map(str::to_owned))
        .collect())
}

/// Forgets what pages have stored.
pub(crate) fn forget(browser: &Browser) -> Result<()> {
    let forget = "return new Promise((done) => Services.clearData.deleteData( \
                    Ci.nsIClearDataService.CLEAR_COOKIES_AND_SITE_DATA, { onDataDeleted: () => done() }))";
    in_window(browser, forget, Vec::new()).map(|_| ())
}

/// The tab gets the size, whatever the window's least one is; the ratio is that of all windows.
pub(crate) fn resize(browser: &Browser, width: u32, height: u32, device_pixels: f64) -> Result<()> {
    let set = "\
        const [width, height, ratio] = arguments; \
        Services.prefs.setStringPref('layout.css.devPixelsPerPx', `${ratio}`); \
        const { style } = gBrowser.selectedBrowser; \
        for (const name of ['width', 'min-width']) style.setProperty(name, `${width}px`); \
        for (const name of ['height', 'min-height']) style.setProperty(name, `${height}px`); \
        const [w, h] = [Math.max(width, 500) + 20, height + 150]; \
        if (outerWidth != w || outerHeight != h) window.resizeTo(w, h)";
    let size = vec![json!(width), json!(height), json!(device_pixels)];
    in_window(browser, set, size.clone())?;
    let is_so = "return innerWidth == arguments[0] && innerHeight == arguments[1] && \
                 Math.abs(devicePixelRatio - arguments[2]) < 0.01";
    wait_for(browser, is_so, size)
        .map_err(|error| Failure::new(format!("{width} x {height} at {device_pixels}: {error}")))
}

/// A preference of all tabs, since a tab of its own would lose it when its process changes.
pub(crate) fn prefer(browser: &Browser, features: &[(&str, &str)]) -> Result<()> {
    let mut scheme = AS_IN_THE_SYSTEM;
    for feature in features {
        scheme = match feature {
            ("prefers-color-scheme", "dark") => 0,
            ("prefers-color-scheme", "light") => 1,
            _ => return Err(format!("in Firefox, tests cannot set {feature:?} yet").into()),
        };
    }
    let set = "Services.prefs.setIntPref('layout.css.prefers-color-scheme.content-override', arguments[0])";
    in_window(browser, set, vec![json!(scheme)])?;
    let is_so = "return arguments[0] == matchMedia('(prefers-color-scheme: dark)').matches";
    wait_for(browser, is_so, vec![json!(scheme == 0)])
        .map_err(|error| Failure::new(format!("{features:?}: {error}")))
}

/// Has files dragged: `dragenter`, `dragover` and `drop` are what may happen to them.
///
/// What is dragged is the page's to read, so the page's own powers make it.
pub(crate) fn drag(browser: &Browser, events: &[&str], files: &[String], at: Point) -> Result<()> {
    let drag = "\
        const [events, paths, x, y] = arguments; \
        return Promise.all(paths.map((path) => File.createFromFileName(path, { existenceCheck: false }))).then((files) => { \
          const page = new Cu.Sandbox(window, { sandboxPrototype: window }); \
          const give = Cu.evalInSandbox('(data, file) => data.items.add(file)', page); \
          const dataTransfer = Cu.evalInSandbox('new DataTransfer()', page); \
          for (const file of files) give(dataTransfer, file); \
          const screenX = (mozInnerScreenX + x) * devicePixelRatio, screenY = (mozInnerScreenY + y) * devicePixelRatio; \
          for (const type of events) { \
            const event = new DragEvent(type, { \
              bubbles: true, cancelable: true, composed: true, view: window, screenX, screenY, dataTransfer }); \
            windowUtils.dispatchDOMEventViaPresShellForTesting(document.elementFromPoint(x, y), event); \
          } \
        })";
    let arguments = vec![json!(events), json!(files), json!(at.x), json!(at.y)];
    beside_page(browser, drag, arguments).map(|_| ())
}

/// Presses a key of any keyboard: its place, what it writes, what is held with it.
pub(crate) fn strike(browser: &Browser, code: &str, key: &str, held: Held) -> Result<()> {
    let strike = "\
        const [code, key, held] = arguments; \
        const keys = Cc['@mozilla.org/text-input-processor;1'].createInstance(Ci.nsITextInputProcessor); \
        if (!keys.beginInputTransactionForTests(window)) throw new Error('the keyboard is in use'); \
        const events = [...held.map((it) => ({ key: it, code: `${it}Left` })), { key, code }] \
          .map((it) => new KeyboardEvent('', it)); \
        for (const it of events) keys.keydown(it); \
        for (const it of events.reverse()) keys.keyup(it)";
    let modifiers = [
        (held.ctrl, "Control"),
        (held.alt, "Alt"),
        (held.meta, "Meta"),
        (held.shift, "Shift"),
    ];
    let held: Vec<&str> = modifiers.iter().filter(|it| it.0).map(|it| it.1).collect();
    let arguments = vec![json!(code), json!(key), json!(held)];
    beside_page(browser, strike, arguments).map(|_| ())
}

/// By WebDriver itself, each finger a device of its own.
pub(crate) fn touch(browser: &Browser, what: Touch, fingers: &[Point]) -> Result<()> {
    let [down, up] = press_and_release(Button::Left);
    let first = match what {
        Touch::Start => fingers.len().saturating_sub(1),
        Touch::Move | Touch::End => 0,
    };
    let moving = fingers.iter().enumerate().skip(first).map(|(n, &at)| {
        let finger = TouchActions::new(format!("finger {n}"));
        match what {
            Touch::Start => finger.then(move_to(at)).then(down.clone()),
            Touch::Move => finger.then(move_to(at)),
            Touch::End => finger.then(up.clone()),
        }
    });
    let together = moving.fold(Actions::default(), Actions::and);
    browser.block_on(browser.client()?.perform_actions(together))
}

/// Waits until something that was asked of the browser has reached the page.
fn wait_for(browser: &Browser, is_so: &str, arguments: Vec<Value>) -> Result<()> {
    let start = Instant::now();
    while browser.run(is_so, arguments.clone())? != Value::Bool(true) {
        if start.elapsed() > Duration::from_secs(10) {
            return Err("Firefox did not set it within 10 seconds".into());
        }
        sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Runs statements as the browser's own in the page's process, where `window` is the page's.
fn beside_page(browser: &Browser, statements: &str, arguments: Vec<Value>) -> Result<Value> {
    let run = "\
        const { currentWindowGlobal } = gBrowser.selectedBrowser.browsingContext; \
        const hands = currentWindowGlobal.getActor('MarionetteCommands'); \
        return hands.executeScript(arguments[0], arguments[1], { sandboxName: 'system' })";
    in_window(browser, run, vec![json!(statements), json!(arguments)])
}

/// Runs statements as the browser's own in its window.
fn in_window(browser: &Browser, statements: &str, arguments: Vec<Value>) -> Result<Value> {
    let context = |name: &str| browser.post("moz/context", json!({ "context": name }));
    context("chrome")?;
    let value = browser.run(statements, arguments);
    context("content")?;
    value.map_err(|error| Failure::new(format!("in Firefox's own window, {error}")))
}
