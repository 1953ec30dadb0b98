//! The program that drives a browser, and the folder that both may write to.
//!
//! It listens on a free port of its own choice, and says in its first words on which. Dropping the value ends it
//! and then removes the folder.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use xtask::browsers::Brand;

use crate::files::Folder;
use crate::{Failure, Result};

/// A driver that runs.
pub(crate) struct Driver {
    process: Child,
    /// Where it takes commands.
    pub address: String,
    /// For the browser's profile; gone with the value, after the process.
    pub folder: Folder,
}

impl Driver {
    /// Starts the driver of a browser on a free port.
    pub fn start(brand: Brand) -> Result<Driver> {
        let program = brand.driver().ok_or(brand.advice())?;
        let folder = Folder::new()?;
        let mut process = Command::new(&program)
            .arg("--port=0")
            .args(options(brand, folder.path()))
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
        let port = port.ok_or_else(|| {
            Failure::new(format!(
                "{} did not say within 20 seconds on which port it listens",
                program.display()
            ))
        })?;
        driver.address = format!("http://127.0.0.1:{port}");
        Ok(driver)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn options(brand: Brand, folder: &Path) -> Vec<String> {
    match brand {
        Brand::Chromium => vec![format!(
            "--log-path={}",
            folder.join("chromedriver.log").display()
        )],
        Brand::Firefox => vec![
            // What WebDriver lacks is done by scripts of the browser's own.
            "--allow-system-access".to_owned(),
            format!("--profile-root={}", folder.display()),
            "--websocket-port=0".to_owned(),
        ],
    }
}

/// Reads the port from the driver's greeting, and goes on reading so that it never blocks on a full pipe.
fn port_said_by(process: &mut Child) -> Option<u16> {
    let lines = BufReader::new(process.stdout.take()?).lines();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for line in lines.map_while(std::result::Result::ok) {
            let chromedriver = line.split_once("started successfully on port ");
            let geckodriver = line.split_once("Listening on 127.0.0.1:");
            if let Some((_, port)) = chromedriver.or(geckodriver) {
                let _ = tell.send(port.trim_end_matches('.').trim().parse().ok());
            }
        }
    });
    told.recv_timeout(Duration::from_secs(20)).ok().flatten()
}
