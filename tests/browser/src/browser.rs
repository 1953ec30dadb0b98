//! The browser: its session, and the commands that all else is made of.
//!
//! Calls block: a test is one thing after another. What WebDriver has a word for is said to every browser alike;
//! what it has none for, each does in its own way ([`crate::chromium`], [`crate::firefox`]). Dropping the value ends
//! the browser and its driver and removes their folder.

use std::time::Duration;

use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use url::{ParseError, Url};
use xtask::browsers::Brand;

use crate::driver::Driver;
use crate::page::{Held, Point, Touch};
use crate::{Failure, Result, chromium, firefox};

/// One browser with a profile of its own.
pub struct Browser {
    brand: Brand,
    runtime: Runtime,
    /// `None` only while being dropped.
    client: Option<Client>,
    // Declared after the client: ended after it.
    _driver: Driver,
}

impl Browser {
    /// Starts the browser that `HERDSCOPE_BROWSER` names, or else Chromium.
    pub fn start() -> Result<Browser> {
        Browser::of(Brand::chosen()?)
    }

    /// Starts a browser, by its driver on a free port.
    pub fn of(brand: Brand) -> Result<Browser> {
        let program = brand.program().ok_or(brand.advice())?;
        let driver = Driver::start(brand)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::new(format!("cannot wait for the browser: {error}")))?;

        let mut capabilities = match brand {
            Brand::Chromium => chromium::capabilities(&program, driver.folder.path()),
            Brand::Firefox => firefox::capabilities(&program),
        };
        capabilities["timeouts"] = json!({ "script": 60_000, "pageLoad": 60_000 });
        let Value::Object(capabilities) = capabilities else {
            return Err("capabilities are an object".into());
        };
        let client = runtime
            .block_on(async {
                let mut builder = ClientBuilder::new(HttpConnector::new());
                builder
                    .capabilities(capabilities)
                    .connect(&driver.address)
                    .await
            })
            .map_err(|error| {
                Failure::new(format!(
                    "{} did not start under its driver: {error}",
                    program.display()
                ))
            })?;
        let browser = Browser {
            brand,
            runtime,
            client: Some(client),
            _driver: driver,
        };
        if brand == Brand::Firefox {
            firefox::set_up(&browser)?;
        }
        Ok(browser)
    }

    /// Which one it is.
    pub fn brand(&self) -> Brand {
        self.brand
    }

    /// The session; all its calls go through [`Browser::block_on`].
    pub(crate) fn client(&self) -> Result<&Client> {
        self.client
            .as_ref()
            .ok_or_else(|| Failure::new("the browser was closed"))
    }

    /// Waits for one call.
    pub(crate) fn block_on<T, E: Into<Failure>>(
        &self,
        call: impl Future<Output = std::result::Result<T, E>>,
    ) -> Result<T> {
        self.runtime.block_on(call).map_err(Into::into)
    }

    /// Runs statements in the page; what they `return` (or the promise's value) comes back.
    pub(crate) fn run(&self, statements: &str, arguments: Vec<Value>) -> Result<Value> {
        self.block_on(self.client()?.execute(statements, arguments))
            .map_err(|error| Failure::new(format!("in the page, `{statements}`: {error}")))
    }

    /// Has statements run in every page of this tab, before its own.
    pub(crate) fn run_first(&self, statements: &str) -> Result<()> {
        match self.brand {
            Brand::Chromium => chromium::run_first(self, statements),
            Brand::Firefox => firefox::run_first(self, statements),
        }
    }

    /// What was logged as an error since the last call, by page and workers alike.
    pub(crate) fn errors(&self) -> Result<Vec<String>> {
        match self.brand {
            Brand::Chromium => chromium::errors(self),
            Brand::Firefox => firefox::errors(self),
        }
    }

    /// Leaves the current tab for a new one, whose log and settings are its own.
    pub fn fresh_tab(&self) -> Result<()> {
        let client = self.client()?;
        self.block_on(async {
            let tab = client.new_window(true).await?;
            client.close_window().await?;
            client.switch_to_window(tab.handle).await
        })?;
        if self.brand == Brand::Firefox {
            // What was asked of the old tab.
            firefox::prefer(self, &[])?;
            firefox::run_first(self, "")?;
        }
        self.errors().map(|_| ())
    }

    /// Forgets what pages of an origin have stored.
    pub(crate) fn forget(&self, origin: &str) -> Result<()> {
        match self.brand {
            Brand::Chromium => chromium::forget(self, origin),
            Brand::Firefox => firefox::forget(self),
        }
    }

    /// Sets the size of the window's inside, and how many device pixels one CSS pixel is.
    pub(crate) fn resize(&self, width: u32, height: u32, device_pixels: f64) -> Result<()> {
        match self.brand {
            Brand::Chromium => chromium::resize(self, width, height, device_pixels),
            Brand::Firefox => firefox::resize(self, width, height, device_pixels),
        }
    }

    /// Sets media features of the current tab.
    pub(crate) fn prefer(&self, features: &[(&str, &str)]) -> Result<()> {
        match self.brand {
            Brand::Chromium => chromium::prefer(self, features),
            Brand::Firefox => firefox::prefer(self, features),
        }
    }

    /// Has events happen to files that are dragged from the desktop.
    pub(crate) fn drag(&self, events: &[&str], files: &[String], at: Point) -> Result<()> {
        match self.brand {
            Brand::Chromium => chromium::drag(self, events, files, at),
            Brand::Firefox => firefox::drag(self, events, files, at),
        }
    }

    /// Presses a key of any keyboard, by its place and what it writes.
    pub(crate) fn strike(&self, code: &str, key: &str, held: Held) -> Result<()> {
        match self.brand {
            Brand::Chromium => chromium::strike(self, code, key, held),
            Brand::Firefox => firefox::strike(self, code, key, held),
        }
    }

    /// Has fingers do something: the last of them comes, all of them move, all of them go.
    pub(crate) fn touch(&self, what: Touch, fingers: &[Point]) -> Result<()> {
        match self.brand {
            Brand::Chromium => chromium::touch(self, what, fingers),
            Brand::Firefox => firefox::touch(self, what, fingers),
        }
    }

    /// Lets the page write to the clipboard and read it.
    pub(crate) fn allow_clipboard(&self) -> Result<()> {
        match self.brand {
            Brand::Chromium => chromium::allow_clipboard(self),
            // By a preference that it was started with.
            Brand::Firefox => Ok(()),
        }
    }

    /// A command that WebDriver's own list lacks.
    pub(crate) fn post(&self, path: &'static str, body: Value) -> Result<Value> {
        self.block_on(self.client()?.issue_cmd(SessionPost { path, body }))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            // The browser ends with its session; if it does not answer, it ends with its driver.
            let _ = self.runtime.block_on(async {
                tokio::time::timeout(Duration::from_secs(5), client.close()).await
            });
        }
    }
}

/// A command that WebDriver's own list lacks: a POST under the session.
#[derive(Debug)]
struct SessionPost {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for SessionPost {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> std::result::Result<Url, ParseError> {
        base.join(&format!(
            "session/{}/{}",
            session.unwrap_or_default(),
            self.path
        ))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}
