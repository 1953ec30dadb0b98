//! A harness that drives the built page in a headless browser, as a person would: it drops files, turns the
//! wheel, presses keys, and looks at the pixels. The browser is Chromium, or the one that `HERDSCOPE_BROWSER` names:
//! `firefox`.
//!
//! The page comes from `pkg/` of the workspace (or the folder that `HERDSCOPE_PKG` names), over a plain static
//! server on 127.0.0.1: at `/` and, to show that it works from anywhere, at `/any/sub/path/`. If
//! `HERDSCOPE_TRACES` names a folder of real files, it is at `/traces/`.
//!
//! A test file is a list of functions that take a [`Page`], each a fresh tab of one shared browser:
//!
//! ```no_run
//! use herdscope_browser_tests::{Page, Result, suite};
//!
//! fn the_page_has_a_title(page: &mut Page) -> Result<()> {
//!     page.open("/")?;
//!     page.wait_for("document.title == 'Herdscope'")
//! }
//!
//! suite!(the_page_has_a_title);
//! ```
//!
//! The file is also listed in Cargo.toml with `harness = false`, since [`suite!`] makes its `main`.
//!
//! A test fails by an error, by a panic, or by anything that the page or its worker logged as an error and
//! the test did not ask for with [`Page::take_errors`]. Then the screen is kept as a picture. What one browser cannot
//! do at all is a test of its own, which says so with [`Page::not_in`] and is counted as ignored there.
//!
//! On top of hands and eyes for any page stands what only herdscope's has ([`Page::show`], [`Page::picture`],
//! [`Page::view`], [`Page::wait_for_message`] and more), [`files`] to give it, and [`Truth`]: what the library
//! says about the same file when it is called directly.

mod browser;
mod chromium;
mod driver;
mod explorer;
pub mod files;
mod firefox;
mod page;
mod pixels;
mod site;
mod suite;
mod truth;

pub use browser::Browser;
pub use explorer::{CANVASES, Picture, is_near};
pub use page::{Button, Held, Page, Point, Rect};
pub use pixels::Pixels;
pub use site::Site;
pub use suite::{Test, run, run_on};
pub use truth::Truth;
pub use xtask::browsers::Brand;

use std::fmt;

/// A result whose error is a sentence for the person who reads the test's output.
pub type Result<T> = std::result::Result<T, Failure>;

/// What went wrong, and what to do where something can be done.
pub struct Failure {
    sentence: String,
    /// Nothing went wrong: the browser cannot do what the test is about.
    is_skip: bool,
}

impl Failure {
    /// A failure in these words.
    pub fn new(sentence: impl Into<String>) -> Failure {
        Failure {
            sentence: sentence.into(),
            is_skip: false,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

// As it is shown when a `Result` is unwrapped.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Failure {}

impl From<String> for Failure {
    fn from(sentence: String) -> Failure {
        Failure::new(sentence)
    }
}

impl From<&str> for Failure {
    fn from(sentence: &str) -> Failure {
        Failure::new(sentence)
    }
}

impl From<fantoccini::error::CmdError> for Failure {
    fn from(error: fantoccini::error::CmdError) -> Failure {
        Failure::new(format!("the browser refused: {error}"))
    }
}
