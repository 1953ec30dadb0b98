//! The page as herdscope's: how to tell that it has drawn, what it shows, what it says.
//!
//! The page tells its state in `data-state` of the root element (`loading`, `reading`, `idle`), the number of
//! pictures painted in `data-frames`, and its view in the address, which may lag behind by a moment.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use herdscope::view::{View, Viewport};
use serde_json::{Value, json};

use crate::{Failure, Page, Pixels, Point, Rect, Result};

/// How long reading and drawing may take on a slow and busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// True when the last picture is painted and nothing is being read.
const IDLE: &str = "document.documentElement.dataset.state == 'idle' && document.documentElement.dataset.frames > 0";

/// True when a message is on screen.
const SAYS_SOMETHING: &str = "document.querySelector('#notices > .notice') != null";

/// Every canvas of the page.
pub const CANVASES: [&str; 5] = [
    "#overview-canvas",
    "#states-canvas",
    "#chart-canvas",
    "#span-canvas",
    "#rates-canvas",
];

/// All canvases at one moment.
pub struct Picture(Vec<(&'static str, Pixels)>);

impl Picture {
    /// The canvases that differ from those of another moment, and by how many pixels.
    pub fn differing(&self, other: &Picture) -> Vec<(&'static str, usize)> {
        let pairs = self.0.iter().zip(&other.0);
        pairs
            .map(|((name, a), (_, b))| (*name, a.differing(b)))
            .filter(|&(_, n)| n > 0)
            .collect()
    }

    /// Fails unless all pixels are those of another moment.
    pub fn must_be(&self, other: &Picture, when: &str) -> Result<()> {
        let differing = self.differing(other);
        if differing.is_empty() {
            return Ok(());
        }
        let size = |it: &Picture| {
            it.0.iter()
                .map(|(_, pixels)| format!("{pixels:?}"))
                .collect::<Vec<String>>()
                .join(" ")
        };
        Err(format!(
            "{when}, the picture is another one; pixels that differ: {differing:?}, of {} and {}",
            size(self),
            size(other)
        )
        .into())
    }

    /// One of [`CANVASES`].
    pub fn canvas(&self, selector: &str) -> Result<&Pixels> {
        let found = self.0.iter().find(|(name, _)| *name == selector);
        found
            .map(|(_, pixels)| pixels)
            .ok_or_else(|| Failure::new(format!("`{selector}` is none of the canvases")))
    }

    /// The spans.
    pub fn spans(&self) -> Result<&Pixels> {
        self.canvas("#span-canvas")
    }
}

impl Page<'_> {
    /// Opens an address, and waits until what it names is drawn.
    pub fn show(&self, path: &str) -> Result<()> {
        self.open(path)?;
        self.wait_until_still()
    }

    /// Waits until nothing is read or drawn any more, layout included.
    pub fn wait_until_still(&self) -> Result<()> {
        loop {
            self.wait_at_most(PATIENCE, IDLE)?;
            let before = self.frames()?;
            // Sizes that have changed are noticed between two frames.
            self.wait_for_frame()?;
            if self.value(IDLE)? == Value::Bool(true) && self.frames()? == before {
                return Ok(());
            }
        }
    }

    /// Waits until a file of this name is open and drawn.
    pub fn wait_for_file(&self, name: &str) -> Result<()> {
        let open = format!(
            "{IDLE} && document.getElementById('file-name').textContent == {}",
            json!(name)
        );
        self.wait_at_most(PATIENCE, &open)
            .map_err(|error| match self.messages() {
                Ok(messages) => Failure::new(format!("{error}; the page says {messages:?}")),
                Err(_) => error,
            })?;
        self.wait_until_still()
    }

    /// How many pictures were painted.
    pub fn frames(&self) -> Result<f64> {
        self.number("Number(document.documentElement.dataset.frames)")
    }

    /// How many spans are loaded, or read so far.
    pub fn spans(&self) -> Result<f64> {
        self.number("Number(document.documentElement.dataset.spans)")
    }

    /// All canvases, when nothing is drawn any more.
    pub fn picture(&self) -> Result<Picture> {
        self.wait_until_still()?;
        let read = "return arguments[0].map((name) => { \
                      const canvas = document.querySelector(name); \
                      return canvas.width * canvas.height ? canvas.toDataURL('image/png') : null })";
        let found = self.run(read, vec![json!(CANVASES)])?;
        let urls = found.as_array().ok_or("the page gave no pictures")?;
        let read_one = |(&name, url): (&&'static str, &Value)| {
            let data = url
                .as_str()
                .and_then(|it| it.strip_prefix("data:image/png;base64,"))
                .ok_or_else(|| Failure::new(format!("the canvas `{name}` is empty")))?;
            let png = BASE64_STANDARD
                .decode(data)
                .map_err(|error| Failure::new(format!("`{name}` came back garbled: {error}")))?;
            Ok((name, Pixels::from_png(&png)?))
        };
        let canvases = CANVASES.iter().zip(urls).map(read_one);
        Ok(Picture(canvases.collect::<Result<Vec<_>>>()?))
    }

    /// The view that the address holds.
    pub fn view(&self) -> Result<View> {
        let (view, problems) = View::parse(&self.string("location.hash")?);
        match problems.is_empty() {
            true => Ok(view),
            false => {
                Err(format!("the page wrote an address that it cannot read: {problems:?}").into())
            }
        }
    }

    /// Waits until the address holds a view like that.
    pub fn wait_for_view(&self, what: &str, is_there: impl Fn(&View) -> bool) -> Result<View> {
        let start = Instant::now();
        loop {
            let view = self.view()?;
            if is_there(&view) {
                return Ok(view);
            }
            if start.elapsed() > Duration::from_secs(10) {
                return Err(format!("waited in vain for {what}: the address is {view:?}").into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the address holds this part of the plot, give or take a rounding of fractions.
    pub fn wait_for_viewport(&self, what: &str, expected: Viewport) -> Result<()> {
        let near = |view: &View| view.viewport.is_some_and(|it| is_near(it, expected));
        self.wait_for_view(&format!("{what}, which is {expected:?}"), near)?;
        self.wait_until_still()
    }

    /// The plot area, without axes.
    pub fn plot(&self) -> Result<Rect> {
        self.rect("#plot-over")
    }

    /// What the bar below the header says: one sentence or more a message.
    pub fn messages(&self) -> Result<Vec<String>> {
        let found = self.value(
            "[...document.querySelectorAll('#notices > .notice > span')].map((it) => it.textContent)",
        )?;
        let texts = found.as_array().into_iter().flatten();
        Ok(texts
            .filter_map(|it| it.as_str().map(str::to_owned))
            .collect())
    }

    /// Waits for the message about something that was just done: that there is one and no more, and that it has
    /// all of these words.
    pub fn wait_for_message(&self, words: &[&str]) -> Result<String> {
        self.wait_at_most(PATIENCE, SAYS_SOMETHING)
            .map_err(|error| Failure::new(format!("{words:?} is not said: {error}")))?;
        let messages = self.messages()?;
        let [message] = messages.as_slice() else {
            return Err(format!("one message is enough: {messages:?}").into());
        };
        match words.iter().find(|word| !message.contains(**word)) {
            None => Ok(message.clone()),
            Some(word) => Err(format!("`{word}` is not in the message `{message}`").into()),
        }
    }

    /// Presses the × of every message.
    pub fn dismiss_messages(&self) -> Result<()> {
        while self.value(SAYS_SOMETHING)? == Value::Bool(true) {
            let n = self.messages()?.len();
            self.click("#notices > .notice > .close")?;
            self.wait_for(&format!(
                "document.querySelectorAll('#notices > .notice').length < {n}"
            ))?;
        }
        Ok(())
    }

    /// Fails if the page says anything.
    pub fn must_be_silent(&self) -> Result<()> {
        let messages = self.messages()?;
        match messages.is_empty() {
            true => Ok(()),
            false => Err(format!("the page need not say {messages:?}").into()),
        }
    }

    /// Whether an element is there to be seen.
    pub fn is_shown(&self, selector: &str) -> Result<bool> {
        let rect = self.rect(selector)?;
        Ok(rect.width > 0.0 && rect.height > 0.0)
    }

    /// A custom property of the page's colours, such as `--timed-out`, as pixels have it.
    pub fn color(&self, property: &str) -> Result<[u8; 4]> {
        let read = "const probe = document.createElement('i'); probe.style.color = `var(${arguments[0]})`; \
                    document.body.append(probe); const color = getComputedStyle(probe).color; probe.remove(); \
                    return color.match(/\\d+/g).slice(0, 3).map(Number)";
        let found = self.run(read, vec![json!(property)])?;
        let part = |at: usize| found[at].as_u64().and_then(|it| u8::try_from(it).ok());
        match (part(0), part(1), part(2)) {
            (Some(red), Some(green), Some(blue)) => Ok([red, green, blue, 255]),
            _ => Err(format!("`{property}` is no colour, but {found}").into()),
        }
    }

    /// Leaves the tab for a new one of the same size, after making sure that nothing went wrong in the old one.
    pub fn new_tab(&self) -> Result<()> {
        let errors = self.take_errors()?;
        if !errors.is_empty() {
            return Err(format!("the page logged errors: {errors:?}").into());
        }
        self.browser().fresh_tab()?;
        self.resize(1200, 800, 1.0)
    }

    /// Writes into a field as a person does, without leaving it.
    pub fn write(&self, selector: &str, text: &str) -> Result<()> {
        let write = "const it = document.querySelector(arguments[0]); it.focus(); it.value = arguments[1]; \
                     it.dispatchEvent(new InputEvent('input', { bubbles: true }))";
        self.run(write, vec![json!(selector), json!(text)])
            .map(|_| ())
    }
}

impl Rect {
    /// Like [`Rect::at`], on whole CSS pixels, which is where mice are.
    pub fn pixel(&self, across: f64, down: f64) -> Point {
        let Point { x, y } = self.at(across, down);
        Point {
            x: x.round(),
            y: y.round(),
        }
    }

    /// How far a point is from left to right and from top to bottom, as fractions.
    pub fn fractions(&self, point: Point) -> [f64; 2] {
        [
            (point.x - self.x) / self.width,
            (point.y - self.y) / self.height,
        ]
    }
}

/// Whether two viewports are the same but for the last digits of a fraction.
pub fn is_near(a: Viewport, b: Viewport) -> bool {
    let time = (b.t1 - b.t0) / 1_000_000 + 1;
    let ranks = 2;
    a.t0.abs_diff(b.t0) as i64 <= time
        && a.t1.abs_diff(b.t1) as i64 <= time
        && a.y0.abs_diff(b.y0) <= ranks
        && a.y1.abs_diff(b.y1) <= ranks
}
