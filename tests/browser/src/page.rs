//! One tab with the page in it, and what a person does to a page.
//!
//! Positions are CSS pixels from the top left of the window, unless a method says otherwise. The page gets trusted
//! events: of mouse, fingers and keys by WebDriver, of dragged files in each browser's own way.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fantoccini::Locator;
use fantoccini::actions::{
    Actions, InputSource, KeyAction, KeyActions, MouseActions, PointerAction, WheelAction,
    WheelActions,
};
use fantoccini::key::Key;
use serde_json::{Value, json};

use crate::{Brand, Browser, Failure, Pixels, Result, Site};

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
    /// As events number it.
    fn number(self) -> u64 {
        match self {
            Button::Left => 0,
            Button::Middle => 1,
            Button::Right => 2,
        }
    }
}

/// What fingers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    Start,
    Move,
    End,
}

/// Keys held while the mouse, or another key, is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are the keys of a keyboard")]
pub struct Held {
    pub shift: bool,
    pub ctrl: bool,
    pub alt: bool,
    pub meta: bool,
}

impl Held {
    /// No key at all.
    pub const NOTHING: Held = Held {
        shift: false,
        ctrl: false,
        alt: false,
        meta: false,
    };
    /// Shift alone.
    pub const SHIFT: Held = Held {
        shift: true,
        ..Held::NOTHING
    };
    /// Control alone.
    pub const CTRL: Held = Held {
        ctrl: true,
        ..Held::NOTHING
    };
    /// Alt alone.
    pub const ALT: Held = Held {
        alt: true,
        ..Held::NOTHING
    };
    /// The command key alone.
    pub const META: Held = Held {
        meta: true,
        ..Held::NOTHING
    };

    fn keys(self) -> Vec<char> {
        let all = [
            (self.ctrl, Key::Control),
            (self.alt, Key::Alt),
            (self.meta, Key::Meta),
            (self.shift, Key::Shift),
        ];
        let held = all.into_iter().filter(|it| it.0);
        held.map(|(_, key)| key.into()).collect()
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

    /// Leaves a test out in a browser that cannot do what it is about, and why.
    pub fn not_in(&self, brand: Brand, why: &str) -> Result<()> {
        if self.browser.brand() != brand {
            return Ok(());
        }
        Err(Failure {
            sentence: format!("skipped in {}: {why}", brand.name()),
            is_skip: true,
        })
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
        self.browser.resize(width, height, device_pixels)
    }

    /// Sets media features, such as `("prefers-color-scheme", "dark")`.
    pub fn prefer(&self, features: &[(&str, &str)]) -> Result<()> {
        self.browser.prefer(features)
    }

    /// Runs statements in the page; what they `return` (or the promise's value) comes back. Firefox gives them a
    /// `Date` and a `Promise` of their own: the page's are `window.Date` and `window.Promise`.
    pub fn run(&self, statements: &str, arguments: Vec<Value>) -> Result<Value> {
        self.browser.run(statements, arguments)
    }

    /// Has statements run in every page that this tab opens from now on, before any script of the page; once a tab.
    pub fn run_first(&self, statements: &str) -> Result<()> {
        self.browser.run_first(statements)
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
        self.browser.errors()
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
        self.browser.drag(&["drop"], &absolutes(paths)?, at)
    }

    /// Drags files over the window without letting go. (They cannot be dragged out again: Chromium's `dragCancel`
    /// gives the page no `dragleave`.)
    pub fn drag_files(&self, paths: &[&Path], at: Point) -> Result<()> {
        let events = ["dragenter", "dragover"];
        self.browser.drag(&events, &absolutes(paths)?, at)
    }

    /// Chooses a file in the dialog of a file input.
    pub fn choose_file(&self, selector: &str, path: &Path) -> Result<()> {
        self.choose_files(selector, &[path])
    }

    /// Chooses files in the dialog of a file input that takes several.
    pub fn choose_files(&self, selector: &str, paths: &[&Path]) -> Result<()> {
        let client = self.browser.client()?;
        let path = absolutes(paths)?.join("\n");
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
        self.press("Ctrl+v")
    }

    /// The text on the clipboard.
    pub fn clipboard(&self) -> Result<String> {
        self.allow_clipboard()?;
        self.string("navigator.clipboard.readText()")
    }

    /// Lets the page write to the clipboard, as it may in a window that has the focus.
    pub fn allow_clipboard(&self) -> Result<()> {
        self.browser.allow_clipboard()
    }
}

fn absolutes(paths: &[&Path]) -> Result<Vec<String>> {
    paths.iter().map(|path| absolute(path)).collect()
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

// ---- The mouse and fingers

impl Page<'_> {
    /// Moves the mouse somewhere, no button down.
    pub fn hover(&self, at: Point) -> Result<()> {
        self.mouse([move_to(at)], Held::NOTHING)
    }

    /// Clicks a place with the left button.
    pub fn click_at(&self, at: Point, held: Held) -> Result<()> {
        let [down, up] = press_and_release(Button::Left);
        self.mouse([move_to(at), down, up], held)
    }

    /// Clicks the middle of an element, after scrolling it into sight.
    pub fn click(&self, selector: &str) -> Result<()> {
        let scroll = "document.querySelector(arguments[0])?.scrollIntoView({ block: 'nearest', behavior: 'instant' })";
        self.run(scroll, vec![json!(selector)])?;
        self.click_at(self.rect(selector)?.at(0.5, 0.5), Held::NOTHING)
    }

    /// Clicks twice.
    pub fn double_click(&self, at: Point) -> Result<()> {
        let once = press_and_release(Button::Left);
        let actions = [move_to(at)].into_iter().chain(once.clone()).chain(once);
        self.mouse(actions, Held::NOTHING)
    }

    /// Presses a button, moves in ten steps, lets go.
    pub fn drag(&self, from: Point, to: Point, button: Button, held: Held) -> Result<()> {
        const STEPS: u32 = 10;
        let step = |step: u32| {
            let share = f64::from(step) / f64::from(STEPS);
            move_to(Point {
                x: from.x + (to.x - from.x) * share,
                y: from.y + (to.y - from.y) * share,
            })
        };
        let [down, up] = press_and_release(button);
        let actions = [move_to(from), down]
            .into_iter()
            .chain((1..=STEPS).map(step));
        self.mouse(actions.chain([up]), held)
    }

    /// Turns the wheel: `dy` above 0 towards oneself, which is down the page. Whole pixels.
    pub fn wheel(&self, at: Point, dx: f64, dy: f64, held: Held) -> Result<()> {
        let turn = WheelAction::Scroll {
            duration: Some(Duration::ZERO),
            x: at.x as i64,
            y: at.y as i64,
            delta_x: dx as i64,
            delta_y: dy as i64,
        };
        let actions = WheelActions::new("wheel".to_owned()).then(turn);
        self.while_held(held, || self.perform(actions))
    }

    fn mouse(&self, actions: impl IntoIterator<Item = PointerAction>, held: Held) -> Result<()> {
        let mouse = MouseActions::new("mouse".to_owned());
        let actions = actions.into_iter().fold(mouse, |all, it| all.then(it));
        self.while_held(held, || self.perform(actions))
    }

    /// Puts the last of these fingers down; the others are down already.
    pub fn finger_down(&self, fingers: &[Point]) -> Result<()> {
        self.browser.touch(Touch::Start, fingers)
    }

    /// Moves the fingers that are down, each to its place.
    pub fn fingers_move(&self, to: &[Point]) -> Result<()> {
        self.browser.touch(Touch::Move, to)
    }

    /// Lifts fingers from where they are.
    pub fn fingers_up(&self, fingers: &[Point]) -> Result<()> {
        self.browser.touch(Touch::End, fingers)
    }

    fn while_held(&self, held: Held, act: impl FnOnce() -> Result<()>) -> Result<()> {
        let keys = held.keys();
        if keys.is_empty() {
            return act();
        }
        let all = |to: fn(char) -> KeyAction| {
            let hand = KeyActions::new("keys".to_owned());
            keys.iter().fold(hand, |hand, &it| hand.then(to(it)))
        };
        self.perform(all(|value| KeyAction::Down { value }))?;
        act()?;
        self.perform(all(|value| KeyAction::Up { value }))
    }

    fn perform(&self, actions: impl Into<Actions>) -> Result<()> {
        self.browser
            .block_on(self.browser.client()?.perform_actions(actions))
    }
}

pub(crate) fn move_to(Point { x, y }: Point) -> PointerAction {
    let duration = Some(Duration::ZERO);
    PointerAction::MoveTo { duration, x, y }
}

pub(crate) fn press_and_release(button: Button) -> [PointerAction; 2] {
    let button = button.number();
    [PointerAction::Down { button }, PointerAction::Up { button }]
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
        self.perform(actions)
    }

    /// Presses a key of any keyboard: its place on it, such as `KeyW`, and what it writes there.
    pub fn strike(&self, code: &str, key: &str, held: Held) -> Result<()> {
        self.browser.strike(code, key, held)
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
