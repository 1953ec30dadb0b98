//! One tab with the page in it, and what a person does to a page.
//!
//! Positions are CSS pixels from the top left of the window, unless a method says otherwise. Mouse and drops go
//! through the DevTools protocol, keys through WebDriver: the page gets trusted events from all of them.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fantoccini::Locator;
use fantoccini::actions::{InputSource, KeyAction, KeyActions};
use fantoccini::key::Key;
use serde_json::{Value, json};

use crate::{Browser, Failure, Pixels, Result, Site};

/// How long the page may take for anything, unless a test says otherwise.
const PATIENCE: Duration = Duration::from_secs(10);

/// A tab of the browser, and the server that its page comes from.
pub struct Page<'a> {
    browser: &'a Browser,
    site: Option<&'a Site>,
}

/// A place in the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
}

/// An element's box in the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// Left edge.
    pub x: f64,
    /// Top edge.
    pub y: f64,
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
}

impl Rect {
    /// The point at these shares of width and height: `at(0.5, 0.5)` is the middle.
    pub fn at(&self, across: f64, down: f64) -> Point {
        Point {
            x: self.x + self.width * across,
            y: self.y + self.height * down,
        }
    }
}

/// A button of the mouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are the buttons of a mouse")]
pub enum Button {
    Left,
    Middle,
    Right,
}

impl Button {
    fn name(self) -> &'static str {
        match self {
            Button::Left => "left",
            Button::Middle => "middle",
            Button::Right => "right",
        }
    }

    /// Its bit in the set of buttons that are down.
    fn bit(self) -> u32 {
        match self {
            Button::Left => 1,
            Button::Right => 2,
            Button::Middle => 4,
        }
    }
}

/// Keys held while the mouse is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are the keys of a keyboard")]
pub struct Held {
    pub shift: bool,
    pub ctrl: bool,
    pub alt: bool,
}

impl Held {
    /// No key at all.
    pub const NOTHING: Held = Held {
        shift: false,
        ctrl: false,
        alt: false,
    };
    /// Shift alone.
    pub const SHIFT: Held = Held {
        shift: true,
        ctrl: false,
        alt: false,
    };
    /// Control alone.
    pub const CTRL: Held = Held {
        shift: false,
        ctrl: true,
        alt: false,
    };

    fn bits(self) -> u32 {
        u32::from(self.alt) | u32::from(self.ctrl) << 1 | u32::from(self.shift) << 3
    }
}

// ---- Opening and looking

impl<'a> Page<'a> {
    /// The current tab of a browser; paths are those of the site.
    pub fn new(browser: &'a Browser, site: Option<&'a Site>) -> Page<'a> {
        Page { browser, site }
    }

    /// The browser, for what this type has no method for.
    pub fn browser(&self) -> &'a Browser {
        self.browser
    }

    /// The full address of a path of the site; a full address stays as it is.
    pub fn url(&self, path: &str) -> Result<String> {
        match self.site {
            Some(site) if path.starts_with('/') => Ok(site.url(path)),
            _ if path.contains("://") => Ok(path.to_owned()),
            _ => Err(format!(
                "`{path}` is neither a full address nor a path of the site, which starts with /"
            )
            .into()),
        }
    }

    /// Loads an address anew, even if only what follows the `#` differs from the current one.
    pub fn open(&self, path: &str) -> Result<()> {
        let (url, client) = (self.url(path)?, self.browser.client()?);
        self.browser.block_on(client.goto("about:blank"))?;
        self.browser.block_on(client.goto(&url))
    }

    /// The address as the page left it.
    pub fn address(&self) -> Result<String> {
        self.string("location.href")
    }

    /// The browser's Back.
    pub fn back(&self) -> Result<()> {
        self.browser.block_on(self.browser.client()?.back())
    }

    /// The browser's Forward.
    pub fn forward(&self) -> Result<()> {
        self.browser.block_on(self.browser.client()?.forward())
    }

    /// Goes into a frame: what is asked for from then on is asked there. The mouse stays the window's.
    pub fn enter_frame(&self, selector: &str) -> Result<()> {
        let client = self.browser.client()?;
        self.browser.block_on(async {
            let frame = client.find(Locator::Css(selector)).await?;
            frame.enter_frame().await
        })
    }

    /// Goes back to what the frame is in.
    pub fn leave_frame(&self) -> Result<()> {
        self.browser
            .block_on(self.browser.client()?.enter_parent_frame())
    }

    /// Goes to the other one of two windows.
    pub fn enter_other_window(&self) -> Result<()> {
        let client = self.browser.client()?;
        let found = self.browser.block_on(async {
            let here = client.window().await?;
            let all = client.windows().await?;
            let other = all.into_iter().find(|it| *it != here);
            if let Some(it) = &other {
                client.switch_to_window(it.clone()).await?;
            }
            Ok::<_, fantoccini::error::CmdError>(other)
        })?;
        found
            .map(|_| ())
            .ok_or_else(|| "there is no other window".into())
    }

    /// Sets the size of the window's inside, in CSS pixels, and how many device pixels one of them is.
    pub fn resize(&self, width: u32, height: u32, device_pixels: f64) -> Result<()> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": device_pixels, "mobile": false });
        self.browser
            .devtools("Emulation.setDeviceMetricsOverride", size)
            .map(|_| ())
    }

    /// Sets media features, such as `("prefers-color-scheme", "dark")`.
    pub fn prefer(&self, features: &[(&str, &str)]) -> Result<()> {
        let features: Vec<Value> = features
            .iter()
            .map(|(name, value)| json!({ "name": name, "value": value }))
            .collect();
        self.browser
            .devtools(
                "Emulation.setEmulatedMedia",
                json!({ "features": features }),
            )
            .map(|_| ())
    }

    /// Runs statements in the page; what they `return` (or the promise's value) comes back.
    pub fn run(&self, statements: &str, arguments: Vec<Value>) -> Result<Value> {
        self.browser
            .block_on(self.browser.client()?.execute(statements, arguments))
            .map_err(|error| Failure::new(format!("in the page, `{statements}`: {error}")))
    }

    /// The value of an expression in the page.
    pub fn value(&self, expression: &str) -> Result<Value> {
        self.run(&format!("return ({expression})"), Vec::new())
    }

    /// The value of an expression that gives a string.
    pub fn string(&self, expression: &str) -> Result<String> {
        match self.value(expression)? {
            Value::String(text) => Ok(text),
            other => {
                Err(format!("`{expression}` should be a string in the page, but is {other}").into())
            }
        }
    }

    /// The value of an expression that gives a number.
    pub fn number(&self, expression: &str) -> Result<f64> {
        let value = self.value(expression)?;
        value.as_f64().ok_or_else(|| {
            Failure::new(format!(
                "`{expression}` should be a number in the page, but is {value}"
            ))
        })
    }

    /// The text that an element shows.
    pub fn text(&self, selector: &str) -> Result<String> {
        match self.run(
            "return document.querySelector(arguments[0])?.innerText ?? null",
            vec![json!(selector)],
        )? {
            Value::String(text) => Ok(text),
            _ => Err(no_element(selector)),
        }
    }

    /// An element's box, in the window.
    pub fn rect(&self, selector: &str) -> Result<Rect> {
        let find = "const box = document.querySelector(arguments[0])?.getBoundingClientRect(); \
                    return box ? [box.x, box.y, box.width, box.height] : null";
        let found = self.run(find, vec![json!(selector)])?;
        let numbers: Vec<f64> = found
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_f64)
            .collect();
        match numbers[..] {
            [x, y, width, height] => Ok(Rect {
                x,
                y,
                width,
                height,
            }),
            _ => Err(no_element(selector)),
        }
    }

    /// Waits until an expression is true in the page.
    pub fn wait_for(&self, condition: &str) -> Result<()> {
        self.wait_at_most(PATIENCE, condition)
    }

    /// The same with a time of one's own.
    pub fn wait_at_most(&self, patience: Duration, condition: &str) -> Result<()> {
        let start = Instant::now();
        loop {
            let value = self.value(condition)?;
            match value {
                Value::Null | Value::Bool(false) => {}
                _ => return Ok(()),
            }
            if start.elapsed() > patience {
                let seconds = patience.as_secs_f32();
                return Err(format!(
                    "waited {seconds} s in vain for `{condition}`, which is still {value}"
                )
                .into());
            }
            sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the page has drawn what was asked of it before: two animation frames.
    pub fn wait_for_frame(&self) -> Result<()> {
        let frames = "return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(null))))";
        self.run(frames, Vec::new()).map(|_| ())
    }

    /// The window as a picture, in device pixels.
    pub fn screenshot(&self) -> Result<Pixels> {
        Pixels::from_png(&self.browser.block_on(self.browser.client()?.screenshot())?)
    }

    /// The content of a canvas, in its own pixels, whatever draws it.
    pub fn canvas(&self, selector: &str) -> Result<Pixels> {
        let copy = "const canvas = document.querySelector(arguments[0]); \
                    if (!(canvas instanceof HTMLCanvasElement)) return null; \
                    const copy = document.createElement('canvas'); \
                    copy.width = canvas.width; copy.height = canvas.height; \
                    copy.getContext('2d').drawImage(canvas, 0, 0); \
                    return copy.toDataURL('image/png')";
        let found = self.run(copy, vec![json!(selector)])?;
        let data = found
            .as_str()
            .and_then(|url| url.strip_prefix("data:image/png;base64,"))
            .ok_or_else(|| Failure::new(format!("`{selector}` is no canvas with pixels in it")))?;
        let png = BASE64_STANDARD.decode(data).map_err(|error| {
            Failure::new(format!(
                "the canvas `{selector}` came back garbled: {error}"
            ))
        })?;
        Pixels::from_png(&png)
    }

    /// What page and workers logged as errors since the last call: console, uncaught errors, files not found.
    /// A test that provokes errors takes them; what is left at its end fails it.
    pub fn take_errors(&self) -> Result<Vec<String>> {
        let log = self.browser.log()?;
        Ok(log
            .into_iter()
            .filter(|(level, _)| level == "SEVERE")
            .map(|(_, message)| message)
            .collect())
    }
}

// ---- Files and the clipboard

impl Page<'_> {
    /// Drops a file from the desktop at a place in the window.
    pub fn drop_file(&self, path: &Path, at: Point) -> Result<()> {
        self.drop_files(&[path], at)
    }

    /// Drops files, or folders, together.
    pub fn drop_files(&self, paths: &[&Path], at: Point) -> Result<()> {
        self.drag_files(paths, at)?;
        self.drag_event("drop", paths, at)
    }

    /// Drags files over the window without letting go. (They cannot be dragged out again: the browser's
    /// `dragCancel` gives the page no `dragleave`.)
    pub fn drag_files(&self, paths: &[&Path], at: Point) -> Result<()> {
        self.drag_event("dragEnter", paths, at)?;
        self.drag_event("dragOver", paths, at)
    }

    fn drag_event(&self, kind: &str, paths: &[&Path], at: Point) -> Result<()> {
        let files = paths
            .iter()
            .map(|path| absolute(path))
            .collect::<Result<Vec<String>>>()?;
        let data = json!({ "items": [], "files": files, "dragOperationsMask": 1 });
        let event = json!({ "type": kind, "x": at.x, "y": at.y, "data": data });
        self.browser
            .devtools("Input.dispatchDragEvent", event)
            .map(|_| ())
    }

    /// Chooses a file in the dialog of a file input.
    pub fn choose_file(&self, selector: &str, path: &Path) -> Result<()> {
        self.choose_files(selector, &[path])
    }

    /// Chooses files in the dialog of a file input that takes several.
    pub fn choose_files(&self, selector: &str, paths: &[&Path]) -> Result<()> {
        let client = self.browser.client()?;
        let paths = paths.iter().map(|path| absolute(path));
        let path = paths.collect::<Result<Vec<String>>>()?.join("\n");
        self.browser.block_on(async {
            client
                .find(Locator::Css(selector))
                .await?
                .send_keys(&path)
                .await
        })
    }

    /// Pastes a text with Ctrl+V, wherever the focus is.
    pub fn paste(&self, text: &str) -> Result<()> {
        self.allow_clipboard()?;
        self.run(
            "return navigator.clipboard.writeText(arguments[0])",
            vec![json!(text)],
        )?;
        let key = |kind: &str| {
            json!({ "type": kind, "modifiers": 2, "key": "v", "code": "KeyV", "windowsVirtualKeyCode": 86,
                    "commands": if kind == "rawKeyDown" { vec!["paste"] } else { vec![] } })
        };
        self.browser
            .devtools("Input.dispatchKeyEvent", key("rawKeyDown"))?;
        self.browser
            .devtools("Input.dispatchKeyEvent", key("keyUp"))
            .map(|_| ())
    }

    /// The text on the clipboard.
    pub fn clipboard(&self) -> Result<String> {
        self.allow_clipboard()?;
        self.string("navigator.clipboard.readText()")
    }

    /// Lets the page write to the clipboard, as it may in a window that has the focus.
    pub fn allow_clipboard(&self) -> Result<()> {
        let permissions =
            json!({ "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"] });
        self.browser
            .devtools("Browser.grantPermissions", permissions)?;
        self.browser
            .devtools(
                "Emulation.setFocusEmulationEnabled",
                json!({ "enabled": true }),
            )
            .map(|_| ())
    }
}

fn absolute(path: &Path) -> Result<String> {
    let full = std::path::absolute(path)
        .map_err(|error| Failure::new(format!("{} is no path: {error}", path.display())))?;
    if !full.exists() {
        return Err(format!("there is no file {}", full.display()).into());
    }
    full.into_os_string()
        .into_string()
        .map_err(|it| Failure::new(format!("{} is no text", it.display())))
}

fn no_element(selector: &str) -> Failure {
    Failure::new(format!("the page has no element `{selector}`"))
}

// ---- The mouse

impl Page<'_> {
    /// Moves the mouse somewhere, no button down.
    pub fn hover(&self, at: Point) -> Result<()> {
        self.mouse("mouseMoved", at, None, 0, 0, Held::NOTHING)
    }

    /// Clicks a place with the left button.
    pub fn click_at(&self, at: Point, held: Held) -> Result<()> {
        self.hover(at)?;
        self.press_and_release(at, 1, held)
    }

    /// Clicks the middle of an element, after scrolling it into sight.
    pub fn click(&self, selector: &str) -> Result<()> {
        let scroll = "document.querySelector(arguments[0])?.scrollIntoView({ block: 'nearest', behavior: 'instant' })";
        self.run(scroll, vec![json!(selector)])?;
        self.click_at(self.rect(selector)?.at(0.5, 0.5), Held::NOTHING)
    }

    /// Clicks twice.
    pub fn double_click(&self, at: Point) -> Result<()> {
        self.hover(at)?;
        self.press_and_release(at, 1, Held::NOTHING)?;
        self.press_and_release(at, 2, Held::NOTHING)
    }

    /// Presses a button, moves in ten steps, lets go.
    pub fn drag(&self, from: Point, to: Point, button: Button, held: Held) -> Result<()> {
        const STEPS: u32 = 10;
        self.hover(from)?;
        self.mouse("mousePressed", from, Some(button), button.bit(), 1, held)?;
        for step in 1..=STEPS {
            let share = f64::from(step) / f64::from(STEPS);
            let at = Point {
                x: from.x + (to.x - from.x) * share,
                y: from.y + (to.y - from.y) * share,
            };
            self.mouse("mouseMoved", at, Some(button), button.bit(), 0, held)?;
        }
        self.mouse("mouseReleased", to, Some(button), 0, 1, held)
    }

    /// Turns the wheel: `dy` above 0 towards oneself, which is down the page.
    pub fn wheel(&self, at: Point, dx: f64, dy: f64, held: Held) -> Result<()> {
        let event = json!({ "type": "mouseWheel", "x": at.x, "y": at.y, "deltaX": dx, "deltaY": dy,
                            "modifiers": held.bits() });
        self.browser
            .devtools("Input.dispatchMouseEvent", event)
            .map(|_| ())
    }

    fn press_and_release(&self, at: Point, nth: u32, held: Held) -> Result<()> {
        self.mouse(
            "mousePressed",
            at,
            Some(Button::Left),
            Button::Left.bit(),
            nth,
            held,
        )?;
        self.mouse("mouseReleased", at, Some(Button::Left), 0, nth, held)
    }

    fn mouse(
        &self,
        kind: &str,
        at: Point,
        button: Option<Button>,
        down: u32,
        nth: u32,
        held: Held,
    ) -> Result<()> {
        let event = json!({ "type": kind, "x": at.x, "y": at.y, "button": button.map_or("none", Button::name),
                            "buttons": down, "clickCount": nth, "modifiers": held.bits() });
        self.browser
            .devtools("Input.dispatchMouseEvent", event)
            .map(|_| ())
    }
}

// ---- The keyboard

impl Page<'_> {
    /// Presses a key, or keys together: `0`, `w`, `Escape`, `Shift+ArrowLeft`, `Ctrl+Shift+z`.
    pub fn press(&self, keys: &str) -> Result<()> {
        self.hold(keys, Duration::ZERO)
    }

    /// The same, kept down for a while.
    pub fn hold(&self, keys: &str, time: Duration) -> Result<()> {
        let values = keys
            .split('+')
            .map(key_value)
            .collect::<Result<Vec<char>>>()?;
        let mut actions = KeyActions::new("keys".to_owned());
        for &value in &values {
            actions = actions.then(KeyAction::Down { value });
        }
        actions = actions.then(KeyAction::Pause { duration: time });
        for &value in values.iter().rev() {
            actions = actions.then(KeyAction::Up { value });
        }
        self.browser
            .block_on(self.browser.client()?.perform_actions(actions))
    }

    /// Types into an element after what is in it.
    pub fn type_into(&self, selector: &str, text: &str) -> Result<()> {
        let client = self.browser.client()?;
        self.browser.block_on(async {
            client
                .find(Locator::Css(selector))
                .await?
                .send_keys(text)
                .await
        })
    }

    /// Sets an input, slider or list to a value, with the events of a person doing it.
    pub fn set(&self, selector: &str, value: &str) -> Result<()> {
        let set = "const it = document.querySelector(arguments[0]); if (!it) return false; \
                   it.value = arguments[1]; \
                   for (const name of ['input', 'change']) it.dispatchEvent(new Event(name, { bubbles: true })); \
                   return true";
        match self.run(set, vec![json!(selector), json!(value)])? {
            Value::Bool(true) => Ok(()),
            _ => Err(no_element(selector)),
        }
    }
}

/// A key by the name that events give it.
fn key_value(name: &str) -> Result<char> {
    let key = match name {
        "Shift" => Key::Shift,
        "Ctrl" | "Control" => Key::Control,
        "Alt" => Key::Alt,
        "ArrowLeft" => Key::Left,
        "ArrowRight" => Key::Right,
        "ArrowUp" => Key::Up,
        "ArrowDown" => Key::Down,
        "PageUp" => Key::PageUp,
        "PageDown" => Key::PageDown,
        "Home" => Key::Home,
        "End" => Key::End,
        "Enter" => Key::Enter,
        "Escape" => Key::Escape,
        "Tab" => Key::Tab,
        "Backspace" => Key::Backspace,
        "Delete" => Key::Delete,
        "Space" => return Ok(' '),
        "Plus" => return Ok('+'),
        _ => {
            let mut chars = name.chars();
            return match (chars.next(), chars.next()) {
                (Some(value), None) => Ok(value),
                _ => Err(format!("no key is called `{name}`").into()),
            };
        }
    };
    Ok(key.into())
}
