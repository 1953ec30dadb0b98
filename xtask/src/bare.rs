//! The module without a system: halfopen linked of `core` and `alloc` alone.
//!
//! Owns how it is built and what it may not have: an import, or many bytes. That it has no `std` is the
//! linker's to say: the module brings a panic handler, and a second one fails the build. What it does is
//! the browser tests' to say (`tests/browser/tests/bare.rs`).

use std::env;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::run::{cargo, run, say};
use crate::{Result, tools, workspace};

const PACKAGE: &str = "halfopen-bare";
/// The profile of what has a budget, as the page.
const SMALL: &str = "small";
const WASM: &str = "wasm32-unknown-unknown";

/// A target that has no `std` at all, and no atomic words of 64 bits.
const MICROCONTROLLER: &str = "thumbv7em-none-eabi";
/// How long its installation may take: most people have no use for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the module may weigh, in bytes. It needs seven eighths of it; a `std` would need more.
const LIMIT: usize = 60_000;

/// Builds the module and looks at it; builds the crate for a microcontroller where that can be done.
pub fn check() -> Result<()> {
    let path = build()?;
    let module =
        fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let imports = imports(&module).ok_or_else(|| format!("{} is no module", path.display()))?;
    if !imports.is_empty() {
        return Err(format!(
            "the module asks its host for {}: find what brought that in",
            imports.join(", ")
        ));
    }
    let weight = module.len();
    if weight > LIMIT {
        return Err(format!(
            "the module weighs {weight} bytes, {} over its limit of {LIMIT}: find what grew, or raise the \
             limit on purpose (LIMIT in xtask/src/bare.rs)",
            weight - LIMIT
        ));
    }
    say(format!(
        "{WASM}: {weight} bytes of {LIMIT} allowed, no imports"
    ));

    if let Err(why) = tools::try_target(MICROCONTROLLER, PATIENCE) {
        say(format!(
            "NOT built for {MICROCONTROLLER}: {why}. The module above has shown the same; to build this too: \
             rustup target add {MICROCONTROLLER}"
        ));
        return Ok(());
    }
    run(cargo()
        .args(["build", "--quiet", "--package", PACKAGE])
        .args(["--profile", SMALL, "--target", MICROCONTROLLER]))?;
    say(format!("{MICROCONTROLLER}: builds"));
    Ok(())
}

/// Builds the module, unless it is there as it is now; gives its path.
pub fn build() -> Result<PathBuf> {
    tools::ensure_wasm_target()?;
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let target = workspace().join(target);
    run(cargo()
        .args(["rustc", "--quiet", "--package", PACKAGE, "--lib"])
        .args([
            "--crate-type",
            "cdylib",
            "--profile",
            SMALL,
            "--target",
            WASM,
        ])
        .arg("--target-dir")
        .arg(&target)
        .args(["--", "-C", "strip=symbols"]))?;
    Ok(target.join(WASM).join(SMALL).join("halfopen_bare.wasm"))
}

/// What a module imports, as `module.name`; `None` if it is none.
fn imports(module: &[u8]) -> Option<Vec<String>> {
    const IMPORTS: u8 = 2;

    let mut rest = Bytes(module.strip_prefix(b"\0asm\x01\0\0\0")?);
    while let Some(id) = rest.byte() {
        let mut section = Bytes(rest.block()?);
        if id != IMPORTS {
            continue;
        }
        let mut found = Vec::new();
        for _ in 0..section.number()? {
            let module = String::from_utf8_lossy(section.block()?);
            let name = String::from_utf8_lossy(section.block()?);
            found.push(format!("{module}.{name}"));
            match section.byte()? {
                // A function's type.
                0 => drop(section.number()?),
                // Tables, memories and globals are not looked into: what comes after is not named.
                _ => break,
            }
        }
        return Some(found);
    }
    Some(Vec::new())
}

/// What is left of a module.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// A number of 32 bits, seven to a byte.
    fn number(&mut self) -> Option<usize> {
        let mut number = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return usize::try_from(number).ok();
            }
        }
        None
    }

    /// A length and so many bytes.
    fn block(&mut self) -> Option<&'a [u8]> {
        let len = self.number()?;
        let (block, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_behind_other_sections() {
        let begin = b"\0asm\x01\0\0\0".as_slice();
        let types = b"\x01\x04\x01\x60\0\0";
        let import = b"\x02\x14\x02\x03env\x03now\0\0\x03env\x01m\x02\0\x01";
        let found = |parts: &[&[u8]]| imports(&parts.concat());
        assert_eq!(found(&[begin]), Some(Vec::new()));
        assert_eq!(found(&[begin, types]), Some(Vec::new()));
        assert_eq!(
            found(&[begin, types, import]),
            Some(vec!["env.now".to_owned(), "env.m".to_owned()])
        );
        assert_eq!(found(&[b"no module"]), None);
        assert_eq!(found(&[begin, b"\x02\xff\xff\x7f"]), None);
    }
}
