//! The outside tools: which versions, where they are kept, how they are installed when missing.
//!
//! Each pinned tool lives in its own folder `NAME-VERSION` of a cache shared by all clones of a user, so a
//! new version never disturbs an old clone. A tool on PATH that has exactly the pinned version is used as
//! it is. Nothing is printed about what is already there.
//!
//! To change a version: the table below; for wasm-opt also `[tools]` in Trunk.toml (a test compares them);
//! for wasm-bindgen Cargo.toml alone.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::run::{aside, cargo, find, output, path_with, say};
use crate::{Result, workspace};

const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// One outside tool.
struct Pin {
    /// Its name in the cache and in messages.
    name: &'static str,
    version: Version,
    /// The program that must be there, and that knows its own `--version`.
    program: &'static str,
    source: Source,
    /// What cannot be done without it.
    lacking: &'static str,
}

enum Version {
    Is(&'static str),
    /// Whatever Cargo.lock has of this package.
    AsLocked(&'static str),
}

enum Source {
    Cargo {
        package: &'static str,
        options: &'static [&'static str],
        minutes: &'static str,
    },
    Npm {
        package: &'static str,
    },
}

const TRUNK: Pin = Pin {
    name: "trunk",
    version: Version::Is("0.21.14"),
    program: "trunk",
    source: Source::Cargo {
        package: "trunk",
        options: &["--locked"],
        minutes: "5 to 10",
    },
    lacking: NO_PAGE,
};

/// Its command line and its library must be of one version.
const WASM_BINDGEN: Pin = Pin {
    name: "wasm-bindgen",
    version: Version::AsLocked("wasm-bindgen"),
    program: "wasm-bindgen",
    // Not `--locked`: the lock file it is published with can name crates that were withdrawn since.
    source: Source::Cargo {
        package: "wasm-bindgen-cli",
        options: &["--no-default-features"],
        minutes: "2 to 5",
    },
    lacking: NO_PAGE,
};

const BINARYEN: Pin = Pin {
    name: "binaryen",
    version: Version::Is("132"),
    program: "wasm-opt",
    source: Source::Npm {
        package: "binaryen",
    },
    lacking: NO_PAGE,
};

/// It makes the page smaller and is not needed.
const ESBUILD: Pin = Pin {
    name: "esbuild",
    version: Version::Is("0.25.12"),
    program: "esbuild",
    source: Source::Npm { package: "esbuild" },
    lacking: NO_PAGE,
};

const CARGO_DENY: Pin = Pin {
    name: "cargo-deny",
    version: Version::Is("0.20.2"),
    program: "cargo-deny",
    source: Source::Cargo {
        package: "cargo-deny",
        options: &["--locked"],
        minutes: "2 to 4",
    },
    lacking: "dependencies cannot be checked",
};

const CARGO_FUZZ: Pin = Pin {
    name: "cargo-fuzz",
    version: Version::Is("0.13.2"),
    program: "cargo-fuzz",
    source: Source::Cargo {
        package: "cargo-fuzz",
        options: &["--locked"],
        minutes: "1 to 2",
    },
    lacking: "nothing can be fuzzed",
};

/// It drives Firefox.
const GECKODRIVER: Pin = Pin {
    name: "geckodriver",
    version: Version::Is("0.37.1"),
    program: "geckodriver",
    source: Source::Cargo {
        package: "geckodriver",
        options: &["--locked"],
        minutes: "1 to 3",
    },
    lacking: "the page cannot be tested in Firefox",
};

const NO_PAGE: &str = "the page cannot be built";

impl Version {
    fn resolve(&self) -> Result<String> {
        match self {
            Version::Is(version) => Ok((*version).to_owned()),
            Version::AsLocked(package) => {
                let lock = workspace().join("Cargo.lock");
                let text = fs::read_to_string(&lock)
                    .map_err(|error| format!("cannot read {}: {error}", lock.display()))?;
                locked_version(&text, package).ok_or_else(|| {
                    format!("Cargo.lock names no package {package}; `cargo update --workspace` writes it anew")
                })
            }
        }
    }
}

/// The version of a package in the text of a Cargo.lock.
fn locked_version(lock: &str, package: &str) -> Option<String> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    let version = lines
        .nth(1)?
        .strip_prefix("version = \"")?
        .strip_suffix('"')?;
    Some(version.to_owned())
}

/// Where the tools of this user are kept.
pub fn cache() -> Result<PathBuf> {
    if let Some(folder) = env::var_os("HERDSCOPE_TOOLS").filter(|it| !it.is_empty()) {
        return std::path::absolute(&folder).map_err(|error| {
            format!(
                "HERDSCOPE_TOOLS names no folder ({}): {error}",
                folder.to_string_lossy()
            )
        });
    }
    let caches = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|it| it.is_absolute())
        .or_else(|| env::home_dir().map(|home| home.join(".cache")))
        .ok_or(
            "no home folder to keep tools in: set HERDSCOPE_TOOLS to a folder that may be written",
        )?;
    Ok(caches.join("herdscope").join("tools"))
}

impl Pin {
    /// Where it is kept, whether or not it is there yet.
    fn root(&self, version: &str) -> Result<PathBuf> {
        Ok(cache()?.join(format!("{}-{version}", self.name)))
    }

    /// The folder of its program, and that.
    fn program_in(&self, root: &Path) -> (PathBuf, PathBuf) {
        let folder = match self.source {
            Source::Cargo { .. } => root.join("bin"),
            Source::Npm { .. } => root.join("node_modules").join(".bin"),
        };
        let program = folder.join(format!("{}{}", self.program, env::consts::EXE_SUFFIX));
        (folder, program)
    }

    /// The folder to put on PATH; `None` if the tool on PATH is the right one already.
    fn ensure(&self) -> Result<Option<PathBuf>> {
        let version = self.version.resolve()?;
        let root = self.root(&version)?;
        let (folder, program) = self.program_in(&root);
        if program.exists() {
            return Ok(Some(folder));
        }
        if find(self.program).is_some_and(|it| has_version(&it, &version)) {
            return Ok(None);
        }
        fs::create_dir_all(&root)
            .map_err(|error| format!("cannot make {} to keep tools in: {error}", root.display()))?;
        self.install(&version, &root)?;
        if program.exists() {
            Ok(Some(folder))
        } else {
            Err(format!(
                "{} {version} was installed, but {} is not there: remove {} and try again",
                self.name,
                program.display(),
                root.display()
            ))
        }
    }

    fn install(&self, version: &str, root: &Path) -> Result<()> {
        match self.source {
            Source::Cargo {
                package,
                options,
                minutes,
            } => {
                say(format!(
                    "installing {} {version} into {} (once for all clones, {minutes} minutes)",
                    self.name,
                    root.display()
                ));
                let mut command = cargo();
                command
                    .args([
                        "install",
                        package,
                        "--version",
                        version,
                        "--quiet",
                        "--root",
                    ])
                    .arg(root)
                    .args(options)
                    // As released they optimise for minutes longer than all their runs here would save.
                    .env("CARGO_PROFILE_RELEASE_LTO", "off")
                    .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
                    .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
                    // A temporary folder, removed afterwards, instead of the workspace's.
                    .env_remove("CARGO_TARGET_DIR")
                    .env_remove("CARGO_BUILD_TARGET_DIR");
                aside(&mut command)
            }
            Source::Npm { package } => npm_install(package, version, root),
        }
        .map_err(|error| {
            let Pin { name, lacking, .. } = self;
            format!("{error}; without {name} {version} {lacking}")
        })
    }
}

fn npm_install(package: &str, version: &str, root: &Path) -> Result<()> {
    say(format!(
        "installing {package} {version} into {}",
        root.display()
    ));
    aside(
        Command::new("npm")
            .args([
                "install",
                "--no-audit",
                "--no-fund",
                "--loglevel=error",
                "--prefix",
            ])
            .arg(root)
            .arg(format!("{package}@{version}")),
    )
}

/// A file of an npm package, installed when it is missing.
pub fn npm_file(package: &str, version: &str, file: &str) -> Result<PathBuf> {
    let root = cache()?.join(format!("{package}-{version}"));
    let path = root.join("node_modules").join(package).join(file);
    if !path.exists() {
        fs::create_dir_all(&root)
            .map_err(|error| format!("cannot make {}: {error}", root.display()))?;
        npm_install(package, version, &root)?;
    }
    match path.exists() {
        true => Ok(path),
        false => Err(format!("{package} {version} has no {file}")),
    }
}

/// The script that holds the unpacker of the page's wasm; `None` where there is no npm.
pub fn unpacker() -> Result<Option<PathBuf>> {
    find("npm")
        .map(|_| npm_file("xz-decompress", "0.2.3", "dist/package/xz-decompress.js"))
        .transpose()
}

fn has_version(program: &Path, version: &str) -> bool {
    output(Command::new(program).arg("--version"))
        .is_some_and(|text| text.split_whitespace().any(|word| word == version))
}

/// What building the page needs, found or installed.
pub struct Toolbox {
    path: OsString,
}

impl Toolbox {
    /// Finds or installs the wasm target, trunk, wasm-bindgen, wasm-opt, esbuild and the unpacker.
    pub fn for_page() -> Result<Toolbox> {
        ensure_wasm_target()?;
        let mut folders = Vec::new();
        folders.extend(TRUNK.ensure()?);
        folders.extend(WASM_BINDGEN.ensure()?);
        folders.extend(ensure_wasm_opt()?);
        if find("npm").is_some() {
            folders.extend(ESBUILD.ensure()?);
            unpacker()?;
        }
        Ok(Toolbox {
            path: path_with(&folders)?,
        })
    }

    /// The command that runs one of the tools, with the others on its PATH.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(workspace()).env("PATH", &self.path);
        command
    }

    /// The command that runs trunk.
    pub fn trunk(&self) -> Command {
        let mut command = self.command("trunk");
        // This trunk takes NO_COLOR for a switch that wants `true` or `false` and refuses `1`.
        if env::var_os("NO_COLOR").is_some() {
            command.env("NO_COLOR", "true");
        }
        command
    }
}

/// PATH with cargo-deny on it, installed if missing.
pub fn path_for_deny() -> Result<OsString> {
    path_with(CARGO_DENY.ensure()?.as_slice())
}

/// PATH with cargo-fuzz on it, installed if missing.
pub fn path_for_fuzz() -> Result<OsString> {
    path_with(CARGO_FUZZ.ensure()?.as_slice())
}

/// Firefox's driver as it is kept here, or else whichever is on PATH.
pub fn geckodriver() -> Option<PathBuf> {
    let root = GECKODRIVER
        .version
        .resolve()
        .and_then(|it| GECKODRIVER.root(&it))
        .ok()?;
    let (_, program) = GECKODRIVER.program_in(&root);
    program
        .exists()
        .then_some(program)
        .or_else(|| find(GECKODRIVER.program))
}

/// Installs Firefox's driver.
pub fn install_geckodriver() -> Result<()> {
    GECKODRIVER.ensure().map(|_| ())
}

/// wasm-opt makes the page smaller and faster but is not needed: without npm there is a stand-in.
fn ensure_wasm_opt() -> Result<Option<PathBuf>> {
    let version = BINARYEN.version.resolve()?;
    let here = find(BINARYEN.program).is_some_and(|it| has_version(&it, &version));
    if here || find("npm").is_some() {
        return BINARYEN.ensure();
    }
    say("no npm here: the page is built without wasm-opt, larger and slower");
    stand_in_for_wasm_opt(&version).map(Some)
}

/// Trunk stops without wasm-opt; this one hands the module through as it is.
fn stand_in_for_wasm_opt(version: &str) -> Result<PathBuf> {
    let folder = cache()?.join("without-wasm-opt");
    let program = folder.join("wasm-opt");
    let script = format!(
        r#"#!/bin/sh
for word; do
  case $word in
    --version) echo 'wasm-opt version {version}'; exit ;;
    --output=*) to=${{word#--output=}} ;;
    -*) ;;
    *) from=$word ;;
  esac
done
exec cp "$from" "$to"
"#
    );
    let write = || -> std::io::Result<()> {
        fs::create_dir_all(&folder)?;
        fs::write(&program, script)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        }
        Ok(())
    };
    write().map_err(|error| format!("cannot write {}: {error}", program.display()))?;
    Ok(folder)
}

/// The folder of the toolchain in use.
fn sysroot() -> Result<PathBuf> {
    output(
        Command::new("rustc")
            .args(["--print", "sysroot"])
            .current_dir(workspace()),
    )
    .map(PathBuf::from)
    .ok_or_else(|| {
        "`rustc --print sysroot` failed: install Rust with rustup, and the toolchain that \
             rust-toolchain.toml names (`rustup toolchain install`)"
            .to_owned()
    })
}

/// Installs the standard library for the browser if the toolchain lacks it.
pub fn ensure_wasm_target() -> Result<()> {
    if has_target(WASM_TARGET)? {
        return Ok(());
    }
    say(format!("installing the target {WASM_TARGET}"));
    aside(&mut add_target(WASM_TARGET)).map_err(|error| {
        format!("{error}; the Rust in use has no {WASM_TARGET}: install it, or use rustup's Rust")
    })
}

/// Installs a target that is good to have, if that takes no longer than `patience`; an error says why it
/// is not there.
pub fn try_target(target: &str, patience: Duration) -> Result<()> {
    if has_target(target)? {
        return Ok(());
    }
    say(format!("trying to install the target {target}"));
    let mut rustup = add_target(target)
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| format!("could not start rustup: {error}"))?;
    let start = Instant::now();
    while start.elapsed() < patience {
        match rustup.try_wait() {
            Ok(Some(status)) if status.success() && has_target(target)? => return Ok(()),
            Ok(Some(_)) => return Err("rustup could not install the target".to_owned()),
            _ => thread::sleep(Duration::from_millis(50)),
        }
    }
    // It may have ended by itself in this moment.
    let _ = rustup.kill();
    let _ = rustup.wait();
    let seconds = patience.as_secs();
    Err(format!(
        "rustup did not install the target within {seconds} s"
    ))
}

fn has_target(target: &str) -> Result<bool> {
    let folder = sysroot()?.join("lib/rustlib").join(target).join("lib");
    Ok(folder.is_dir())
}

fn add_target(target: &str) -> Command {
    let mut command = Command::new("rustup");
    command
        .args(["target", "add", target])
        .current_dir(workspace());
    command
}

/// Installs the formatter and the linter if the toolchain lacks them.
pub fn ensure_components() -> Result<()> {
    let bin = sysroot()?.join("bin");
    let missing: Vec<&str> = [("rustfmt", "cargo-fmt"), ("clippy", "cargo-clippy")]
        .into_iter()
        .filter(|(_, program)| {
            !bin.join(format!("{program}{}", env::consts::EXE_SUFFIX))
                .exists()
                && find(program).is_none()
        })
        .map(|(component, _)| component)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    say(format!("installing {}", missing.join(" and ")));
    aside(
        Command::new("rustup")
            .args(["component", "add"])
            .args(&missing)
            .current_dir(workspace()),
    )
    .map_err(|error| {
        format!(
            "{error}; the checks need {}: install them with your Rust",
            missing.join(" and ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_lock_file() {
        let lock = "[[package]]\nname = \"wasm-bindgen-shared\"\nversion = \"0.2.1\"\n\n\
                    [[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.2\"\nsource = \"x\"\n";
        assert_eq!(
            locked_version(lock, "wasm-bindgen").as_deref(),
            Some("0.2.2")
        );
        assert_eq!(locked_version(lock, "wasm"), None);
        assert!(WASM_BINDGEN.version.resolve().is_ok());
    }

    #[test]
    fn trunk_is_told_the_same_wasm_opt() {
        let Ok(text) = fs::read_to_string(workspace().join("Trunk.toml")) else {
            panic!("Trunk.toml cannot be read");
        };
        let Version::Is(version) = BINARYEN.version else {
            panic!("binaryen is pinned here")
        };
        let line = format!("wasm_opt = \"version_{version}\"");
        assert!(
            text.lines().any(|it| it == line),
            "Trunk.toml should say {line}"
        );
    }
}
