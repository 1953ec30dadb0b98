//! Runs the tests of one file in one browser, one after another, and ends the browser at the end (which the
//! standard test runner, with no end of its own, could not). The command line is that of `cargo test`.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::{Browser, Failure, Page, Result, Site};

/// A test: it gets a fresh tab, 1200 x 800 CSS pixels, one device pixel each.
pub type Test = fn(&mut Page) -> Result<()>;

/// Makes a test file's `main` of the names of its tests.
#[macro_export]
macro_rules! suite {
    ($($test:ident),+ $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            $crate::run(&[$((stringify!($test), $test as $crate::Test)),+])
        }
    };
}

/// What the tests of a file share; started by the first that runs.
struct Shared {
    site: Site,
    browser: Browser,
}

/// Runs named tests of the built page as `cargo test` would.
pub fn run(tests: &[(&'static str, Test)]) -> ExitCode {
    run_with(Site::start, tests)
}

/// The same with the page in a folder of the test's own.
pub fn run_on(folder: &Path, tests: &[(&'static str, Test)]) -> ExitCode {
    let folder = folder.to_owned();
    run_with(move || Site::of(&folder), tests)
}

fn run_with(
    site: impl Fn() -> Result<Site> + Send + Sync + 'static,
    tests: &[(&'static str, Test)],
) -> ExitCode {
    let site = Arc::new(site);
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let shared: Arc<Mutex<Option<Result<Shared>>>> = Arc::default();
    let trials = tests
        .iter()
        .map(|&(name, test)| {
            let (shared, site) = (Arc::clone(&shared), Arc::clone(&site));
            Trial::ignorable_test(name, move || {
                let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                match shared.get_or_insert_with(|| Shared::start(&*site)) {
                    Ok(shared) => shared.run(name, test).map_err(Failed::from),
                    Err(error) => Err(Failed::from(error.to_string())),
                }
            })
        })
        .collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    // Ends the browser before the process does.
    shared.lock().unwrap_or_else(PoisonError::into_inner).take();
    conclusion.exit_code()
}

impl Shared {
    fn start(site: &dyn Fn() -> Result<Site>) -> Result<Shared> {
        Ok(Shared {
            site: site()?,
            browser: Browser::start()?,
        })
    }

    fn run(&self, name: &str, test: Test) -> Result<Completion> {
        self.browser.fresh_tab()?;
        self.browser.forget(&self.site.url(""))?;
        let mut page = Page::new(&self.browser, Some(&self.site));
        page.resize(1200, 800, 1.0)?;

        let outcome = catch_unwind(AssertUnwindSafe(|| test(&mut page)));
        let errors = page.take_errors().unwrap_or_default();
        match outcome {
            Ok(Ok(())) if errors.is_empty() => Ok(Completion::Completed),
            Ok(Ok(())) => Err(self.told(name, "the page logged errors", &errors)),
            Ok(Err(error)) if error.is_skip => Ok(Completion::ignored_with(error)),
            Ok(Err(error)) => Err(self.told(name, &error.to_string(), &errors)),
            Err(panic) => {
                eprintln!("{}", self.told(name, "panicked", &errors));
                resume_unwind(panic)
            }
        }
    }

    /// The failure with all that may explain it: the page's own errors, and where the picture is.
    fn told(&self, name: &str, sentence: &str, errors: &[String]) -> Failure {
        let mut text = sentence.to_owned();
        for error in errors {
            text.push_str("\n  logged by the page: ");
            text.push_str(error);
        }
        let picture = pictures().join(format!("{name}.png"));
        let kept = Page::new(&self.browser, None)
            .screenshot()
            .and_then(|screen| screen.save(&picture));
        match kept {
            Ok(()) => text.push_str(&format!("\n  the screen: {}", picture.display())),
            Err(error) => text.push_str(&format!("\n  no picture of the screen: {error}")),
        }
        Failure::new(text)
    }
}

/// Where pictures of failures go.
fn pictures() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| xtask::workspace().join("target"), PathBuf::from);
    target.join("browser-failures")
}
