//! The browser: its processes, its session, and the commands that all else is made of.
//!
//! Calls block: a test is one thing after another. Dropping the value ends chromedriver and Chromium and
//! removes their folder.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use url::{ParseError, Url};
use xtask::tools;

use crate::{Failure, Result};

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

/// One Chromium with a profile of its own.
pub struct Browser {
    runtime: Runtime,
    /// `None` only while being dropped.
    client: Option<Client>,
    // Declared after the client: ended after it.
    driver: Driver,
}

impl Browser {
    /// Starts chromedriver on a free port, and Chromium by it.
    pub fn start() -> Result<Browser> {
        let chromium = tools::chromium().ok_or(tools::BROWSER_ADVICE)?;
        let driver = Driver::start()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::new(format!("cannot wait for the browser: {error}")))?;

        let mut flags: Vec<String> = FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
        flags.push(format!(
            "--user-data-dir={}",
            driver.folder.join("profile").display()
        ));
        let capabilities = json!({
            "browserName": "chrome",
            "goog:loggingPrefs": { "browser": "ALL" },
            "goog:chromeOptions": { "binary": chromium, "args": flags },
            "timeouts": { "script": 60_000, "pageLoad": 60_000 },
        });
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
                    "{} did not start under chromedriver: {error}",
                    chromium.display()
                ))
            })?;
        Ok(Browser {
            runtime,
            client: Some(client),
            driver,
        })
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

    /// A command of the DevTools protocol to the current tab.
    pub fn devtools(&self, command: &str, parameters: Value) -> Result<Value> {
        let body = json!({ "cmd": command, "params": parameters });
        self.post("goog/cdp/execute", body)
            .map_err(|error| Failure::new(format!("{command}: {error}")))
    }

    /// What was logged since the last call, page and workers alike: (level, message).
    pub fn log(&self) -> Result<Vec<(String, String)>> {
        let entries = self.post("se/log", json!({ "type": "browser" }))?;
        let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        Ok(entries
            .as_array()
            .map(|entries| {
                entries
                    .iter()
                    .map(|it| (text(it, "level"), text(it, "message")))
                    .collect()
            })
            .unwrap_or_default())
    }

    /// Leaves the current tab for a new one, whose log and settings are its own.
    pub fn fresh_tab(&self) -> Result<()> {
        let client = self.client()?;
        self.block_on(async {
            let tab = client.new_window(true).await?;
            client.close_window().await?;
            client.switch_to_window(tab.handle).await
        })?;
        self.log().map(|_| ())
    }

    fn post(&self, path: &'static str, body: Value) -> Result<Value> {
        self.block_on(self.client()?.issue_cmd(SessionPost { path, body }))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            // Chromium ends with its session; if it does not answer, it ends with chromedriver.
            let _ = self.runtime.block_on(async {
                tokio::time::timeout(Duration::from_secs(5), client.close()).await
            });
        }
        self.driver.end();
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

/// The chromedriver process, and the folder of its profile.
struct Driver {
    process: Child,
    address: String,
    folder: PathBuf,
}

impl Driver {
    fn start() -> Result<Driver> {
        let program = tools::chromedriver().ok_or(tools::BROWSER_ADVICE)?;
        let folder = folder_of_its_own()?;
        let mut process = Command::new(&program)
            .arg("--port=0")
            .arg(format!(
                "--log-path={}",
                folder.join("chromedriver.log").display()
            ))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| {
                Failure::new(format!("could not start {}: {error}", program.display()))
            })?;
        let port = port_said_by(&mut process);
        let mut driver = Driver {
            process,
            address: String::new(),
            folder,
        };
        match port {
            Some(port) => {
                driver.address = format!("http://127.0.0.1:{port}");
                Ok(driver)
            }
            None => {
                driver.end();
                Err(format!(
                    "{} did not say within 20 seconds on which port it listens",
                    program.display()
                )
                .into())
            }
        }
    }

    fn end(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn folder_of_its_own() -> Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!(
        "herdscope-browser-{}-{}",
        std::process::id(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    );
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).map_err(|error| {
        Failure::new(format!(
            "cannot make {} for the browser: {error}",
            folder.display()
        ))
    })?;
    Ok(folder)
}

/// Reads the port from chromedriver's greeting, and goes on reading so that it never blocks on a full pipe.
fn port_said_by(process: &mut Child) -> Option<u16> {
    let lines = BufReader::new(process.stdout.take()?).lines();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for line in lines.map_while(std::result::Result::ok) {
            if let Some(port) = line.split("started successfully on port ").nth(1) {
                let _ = tell.send(port.trim_end_matches('.').trim().parse().ok());
            }
        }
    });
    told.recv_timeout(Duration::from_secs(20)).ok().flatten()
}
