//! The browsers that tests drive: which there are, where they and their drivers are, how they are installed.
//!
//! A browser comes from the system, whose package manager keeps it up to date. Firefox's driver is a pinned tool:
//! no system has it as a package that could be relied on.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use crate::run::{aside, find, output, say};
use crate::{Result, tools};

/// Who made the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are names")]
pub enum Brand {
    Chromium,
    Firefox,
}

/// How tests are told which browser to drive.
pub const VARIABLE: &str = "HERDSCOPE_BROWSER";

impl Brand {
    /// All of them, the one that is meant without a word first.
    pub const ALL: [Brand; 2] = [Brand::Chromium, Brand::Firefox];

    /// The one of that name.
    pub fn named(name: &str) -> Result<Brand> {
        let found = Brand::ALL.into_iter().find(|it| it.name() == name);
        found.ok_or_else(|| {
            format!("tests drive no browser `{name}`; these are there: chromium, firefox")
        })
    }

    /// The one that `HERDSCOPE_BROWSER` names, or else Chromium.
    pub fn chosen() -> Result<Brand> {
        match env::var(VARIABLE) {
            Ok(name) if !name.is_empty() => {
                Brand::named(&name).map_err(|error| format!("{VARIABLE}: {error}"))
            }
            _ => Ok(Brand::Chromium),
        }
    }

    /// As command lines have it.
    pub fn name(self) -> &'static str {
        match self {
            Brand::Chromium => "chromium",
            Brand::Firefox => "firefox",
        }
    }

    /// The browser: the one that `$HERDSCOPE_CHROMIUM` or `$HERDSCOPE_FIREFOX` names, or one of the usual names on PATH.
    pub fn program(self) -> Option<PathBuf> {
        let (variable, names): (&str, &[&str]) = match self {
            Brand::Chromium => (
                "HERDSCOPE_CHROMIUM",
                &[
                    "chromium",
                    "chromium-browser",
                    "google-chrome",
                    "google-chrome-stable",
                ],
            ),
            Brand::Firefox => ("HERDSCOPE_FIREFOX", &["firefox-esr", "firefox"]),
        };
        named_by(variable).or_else(|| names.iter().find_map(|it| find(it)))
    }

    /// The program that drives it: the one that `$HERDSCOPE_CHROMEDRIVER` or `$HERDSCOPE_GECKODRIVER` names, or else
    /// one that is installed.
    pub fn driver(self) -> Option<PathBuf> {
        match self {
            Brand::Chromium => named_by("HERDSCOPE_CHROMEDRIVER").or_else(|| find("chromedriver")),
            Brand::Firefox => named_by("HERDSCOPE_GECKODRIVER").or_else(tools::geckodriver),
        }
    }

    /// What to do where it cannot be installed from here.
    pub fn advice(self) -> &'static str {
        match self {
            Brand::Chromium => {
                "the browser tests need Chromium (or Chrome) and the chromedriver of the same version: on Debian \
                 `apt-get install chromium chromium-driver`, on Fedora `dnf install chromium chromedriver`, on macOS \
                 `brew install --cask chromium chromedriver`; or set HERDSCOPE_CHROMIUM and HERDSCOPE_CHROMEDRIVER to \
                 the two programs"
            }
            Brand::Firefox => {
                "the browser tests need Firefox and geckodriver: on Debian `apt-get install firefox-esr`, on Fedora \
                 `dnf install firefox`, on macOS `brew install --cask firefox`, and anywhere `cargo install \
                 geckodriver`; or set HERDSCOPE_FIREFOX and HERDSCOPE_GECKODRIVER to the two programs"
            }
        }
    }

    /// Installs browser and driver if missing: what the system has, by its package manager where it may.
    pub fn ensure(self) -> Result<()> {
        let is_there = || self.program().is_some() && self.driver().is_some();
        if is_there() {
            return Ok(());
        }
        match self {
            Brand::Chromium => self.install(&["chromium", "chromium-driver"])?,
            Brand::Firefox => {
                if self.program().is_none() {
                    self.install(&["firefox-esr"])?;
                }
                if self.driver().is_none() {
                    tools::install_geckodriver()?;
                }
            }
        }
        match is_there() {
            true => Ok(()),
            false => Err(self.advice().to_owned()),
        }
    }

    fn install(self, packages: &[&str]) -> Result<()> {
        let advice = self.advice();
        let apt = find("apt-get").ok_or(advice)?;
        let prefix: &[&str] = if output(Command::new("id").arg("-u")).as_deref() == Some("0") {
            &[]
        } else if output(Command::new("sudo").args(["-n", "true"])).is_some() {
            &["sudo", "-n"]
        } else {
            return Err(advice.to_owned());
        };
        let apt_get = |options: &[&str]| {
            let mut command = Command::new("env");
            if let [first, rest @ ..] = prefix {
                command = Command::new(first);
                command.args(rest).arg("env");
            }
            command
                .arg("DEBIAN_FRONTEND=noninteractive")
                .arg(&apt)
                .args(options);
            aside(&mut command)
        };
        say(format!(
            "installing {} with apt-get",
            packages.join(" and ")
        ));
        // One package list of several that cannot be fetched fails the update, not yet the installation.
        if let Err(error) = apt_get(&["update", "-q"]) {
            say(format!(
                "{error}; trying with the package lists that are there"
            ));
        }
        let options = ["install", "-q", "-y", "--no-install-recommends"];
        apt_get(&[&options[..], packages].concat()).map_err(|error| format!("{error}; {advice}"))
    }
}

fn named_by(variable: &str) -> Option<PathBuf> {
    env::var_os(variable)
        .filter(|it| !it.is_empty())
        .map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_found_by_its_name_and_another_is_refused() {
        for brand in Brand::ALL {
            assert_eq!(Brand::named(brand.name()), Ok(brand));
            let error = Brand::named("lynx").expect_err("there is no such browser");
            assert!(
                error.contains("`lynx`") && error.contains(brand.name()),
                "{error}"
            );
        }
    }
}
