//! The breaker without a system, in a browser: the same logs of events give what they give natively, on
//! `Machine` and on `Breaker`, byte for byte.
//!
//! The module is built from the sources as they are, and the page lends it nothing: it is a blank one.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use halfopen_bare::events::{self, draw, shared};
use herdscope_browser_tests::{Page, Result, Test, run_on};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let tests: &[(&str, Test)] = &[
        (
            "a_log_gives_the_same_in_a_browser_as_natively",
            a_log_gives_the_same_in_a_browser_as_natively,
        ),
        (
            "large_figures_are_judged_as_natively",
            large_figures_are_judged_as_natively,
        ),
        (
            "what_is_no_log_is_told_and_ends_nothing",
            what_is_no_log_is_told_and_ends_nothing,
        ),
    ];
    run_on(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("fixture"),
        tests,
    )
}

/// Sets up `replay(log)` in the page as any host would: with no import, and no more room than it takes.
const SET_UP: &str = "\
    const bytes = Uint8Array.from(atob(arguments[0]), (it) => it.charCodeAt(0)); \
    return WebAssembly.instantiate(bytes, {}).then(({ module, instance }) => { \
      const { memory, halfopen_alloc, halfopen_free, halfopen_replay } = instance.exports; \
      window.memory = memory; \
      window.replay = (log) => { \
        const text = new TextEncoder().encode(log); \
        const from = halfopen_alloc(text.length); \
        new Uint8Array(memory.buffer).set(text, from); \
        let room = 64, to = halfopen_alloc(room), len; \
        while ((len = halfopen_replay(from, text.length, to, room)) > room) { \
          halfopen_free(to, room); \
          room = len; \
          to = halfopen_alloc(room); \
        } \
        const told = new TextDecoder().decode(new Uint8Array(memory.buffer, to, len)); \
        halfopen_free(from, text.length); \
        halfopen_free(to, room); \
        return told; \
      }; \
      return WebAssembly.Module.imports(module).length; \
    })";

fn load(page: &Page) -> Result<()> {
    let path = xtask::bare::build()?;
    let module =
        fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    page.open("/")?;
    let imports = page.run(SET_UP, vec![json!(BASE64_STANDARD.encode(module))])?;
    assert_eq!(imports, json!(0));
    Ok(())
}

/// What the module says to each log.
fn replayed(page: &Page, logs: &[String]) -> Result<Vec<String>> {
    let told = page.run("return arguments[0].map(replay)", vec![json!(logs)])?;
    let told = told.as_array().ok_or("an answer to each log is a list")?;
    let text = |it: &Value| it.as_str().map(str::to_owned);
    let told: Option<_> = told.iter().map(text).collect();
    Ok(told.ok_or("an answer is a text")?)
}

fn a_log_gives_the_same_in_a_browser_as_natively(page: &mut Page) -> Result<()> {
    const AT_ONCE: u64 = 250;
    load(page)?;
    let mut transitions = 0;
    for first in (0..2_000).step_by(AT_ONCE as usize) {
        let seeds = first..first + AT_ONCE;
        let logs: Vec<_> = seeds.clone().map(draw::log).collect();
        let texts: Vec<_> = logs.iter().map(ToString::to_string).collect();
        let told = replayed(page, &texts)?;
        assert_eq!(told.len(), logs.len());
        for (((seed, log), text), browser) in seeds.zip(&logs).zip(&texts).zip(told) {
            let machine = events::replay(text)?;
            let breaker = shared::replay(log, seed);
            assert_eq!(browser, machine, "seed {seed}, on a machine:\n{text}");
            assert_eq!(browser, breaker, "seed {seed}, on a breaker:\n{text}");
            transitions += browser.lines().count() - 1;
        }
    }
    assert!(transitions > 10_000, "{transitions} transitions say little");
    // It keeps nothing of a log: two megabytes have passed through.
    let memory = page.number("memory.buffer.byteLength")?;
    assert!(memory <= 2.0 * 1024.0 * 1024.0, "{memory} bytes of memory");
    Ok(())
}

/// A rate of so many calls is a product that no integer of 32 bits holds.
fn large_figures_are_judged_as_natively(page: &mut Page) -> Result<()> {
    load(page)?;
    let log = |window: &str| {
        let mut text = format!("window={window} min=9000 fail=40%\n");
        for call in 0..9_000 {
            let how = ["success", "failure"][call % 2];
            text.push_str(&format!("{call} acquire\n{call} {how} {call}\n"));
        }
        text
    };
    let texts = ["9000", "9us/3us"].map(log);
    for (text, browser) in texts.iter().zip(replayed(page, &texts)?) {
        assert_eq!(browser, events::replay(text)?);
        assert!(
            browser.starts_with("8999 1 closed open failure_rate 9000 4500 0\n"),
            "{browser}"
        );
    }
    Ok(())
}

fn what_is_no_log_is_told_and_ends_nothing(page: &mut Page) -> Result<()> {
    load(page)?;
    let texts = ["", "open=soon", "\n1 aquire", "\n\u{221e} acquire", "\n\n"];
    let told = replayed(page, &texts.map(str::to_owned))?;
    for (text, browser) in texts.into_iter().zip(told) {
        let natively = events::replay(text).unwrap_or_else(|wrong| format!("error: {wrong}\n"));
        assert_eq!(browser, natively);
    }
    Ok(())
}
