//! What Chromium does that WebDriver has no word for: by its DevTools protocol.

use serde_json::{Value, json};

use crate::page::{Held, Point, Touch};
use crate::{Browser, Failure, Result};

/// Quiet, without the network, and in containers too (root has no sandbox, /dev/shm may be tiny).
const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
];

/// What its driver is asked for.
pub(crate) fn capabilities(program: &std::path::Path, folder: &std::path::Path) -> Value {
    let mut flags: Vec<String> = FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
    flags.push(format!(
        "--user-data-dir={}",
        folder.join("profile").display()
    ));
    json!({
        "browserName": "chrome",
        "goog:loggingPrefs": { "browser": "ALL" },
        "goog:chromeOptions": { "binary": program, "args": flags },
    })
}

impl Browser {
    /// A command of the DevTools protocol to the current tab. Chromium alone has it.
    pub fn devtools(&self, command: &str, parameters: Value) -> Result<Value> {
        let body = json!({ "cmd": command, "params": parameters });
        self.post("goog/cdp/execute", body)
            .map_err(|error| Failure::new(format!("{command}: {error}")))
    }
}

/// Has statements run in every page of this tab from now on, before its own.
pub(crate) fn run_first(browser: &Browser, statements: &str) -> Result<()> {
    let script = json!({ "source": statements });
    browser
        .devtools("Page.addScriptToEvaluateOnNewDocument", script)
        .map(|_| ())
}

/// What page and workers logged as errors since the last call.
pub(crate) fn errors(browser: &Browser) -> Result<Vec<String>> {
    let entries = browser.post("se/log", json!({ "type": "browser" }))?;
    let entries = entries.as_array().into_iter().flatten();
    Ok(entries
        .filter(|it| it["level"] == "SEVERE")
        .filter_map(|it| it["message"].as_str().map(str::to_owned))
        .collect())
}

/// Forgets what pages of an origin have stored.
pub(crate) fn forget(browser: &Browser, origin: &str) -> Result<()> {
    let what = json!({ "origin": origin, "storageTypes": "all" });
    browser
        .devtools("Storage.clearDataForOrigin", what)
        .map(|_| ())
}

pub(crate) fn resize(browser: &Browser, width: u32, height: u32, device_pixels: f64) -> Result<()> {
    let size = json!({ "width": width, "height": height, "deviceScaleFactor": device_pixels, "mobile": false });
    browser
        .devtools("Emulation.setDeviceMetricsOverride", size)
        .map(|_| ())
}

pub(crate) fn prefer(browser: &Browser, features: &[(&str, &str)]) -> Result<()> {
    let features: Vec<Value> = features
        .iter()
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect();
    browser
        .devtools(
            "Emulation.setEmulatedMedia",
            json!({ "features": features }),
        )
        .map(|_| ())
}

/// Has files dragged: `dragenter`, `dragover` and `drop` are what may happen to them.
pub(crate) fn drag(browser: &Browser, events: &[&str], files: &[String], at: Point) -> Result<()> {
    let data = json!({ "items": [], "files": files, "dragOperationsMask": 1 });
    for event in events {
        let kind = match *event {
            "dragenter" => "dragEnter",
            "dragover" => "dragOver",
            other => other,
        };
        let event = json!({ "type": kind, "x": at.x, "y": at.y, "data": data });
        browser.devtools("Input.dispatchDragEvent", event)?;
    }
    Ok(())
}

/// Presses a key of any keyboard: its place, what it writes, what is held with it.
pub(crate) fn strike(browser: &Browser, code: &str, key: &str, held: Held) -> Result<()> {
    let bits = [
        (held.alt, 1),
        (held.ctrl, 2),
        (held.meta, 4),
        (held.shift, 8),
    ];
    let modifiers: u32 = bits.iter().filter(|it| it.0).map(|it| it.1).sum();
    for kind in ["rawKeyDown", "keyUp"] {
        let event = json!({ "type": kind, "code": code, "key": key, "modifiers": modifiers });
        browser.devtools("Input.dispatchKeyEvent", event)?;
    }
    Ok(())
}

/// Its driver takes a second finger, put down later than the first, for a move.
pub(crate) fn touch(browser: &Browser, what: Touch, fingers: &[Point]) -> Result<()> {
    let (kind, down) = match what {
        Touch::Start => ("touchStart", fingers),
        Touch::Move => ("touchMove", fingers),
        Touch::End => ("touchEnd", &[][..]),
    };
    let points: Vec<Value> = down
        .iter()
        .enumerate()
        .map(|(id, at)| json!({ "x": at.x, "y": at.y, "id": id }))
        .collect();
    let event = json!({ "type": kind, "touchPoints": points });
    browser
        .devtools("Input.dispatchTouchEvent", event)
        .map(|_| ())
}

pub(crate) fn allow_clipboard(browser: &Browser) -> Result<()> {
    let permissions = json!({ "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"] });
    browser.devtools("Browser.grantPermissions", permissions)?;
    let focused = json!({ "enabled": true });
    browser
        .devtools("Emulation.setFocusEmulationEnabled", focused)
        .map(|_| ())
}
