//! The page on which ours and its peers are side by side, which `cargo xtask bench` has put together.

use std::path::PathBuf;
use std::time::Duration;

use herdscope_browser_tests::{Browser, Page, Result, Site};
use serde_json::{Value, json};
use xtask::bench::input::{Input, Options};

/// Where the page is, and the inputs beside it.
pub fn site(options: &Options) -> Result<Site> {
    let folder = std::env::var_os("HERDSCOPE_PKG").ok_or("run it by `cargo xtask bench`")?;
    Site::with(&PathBuf::from(folder), &[("/data/", options.data.clone())])
}

/// The page, ready, in a new tab.
pub fn open<'a>(browser: &'a Browser, site: &'a Site) -> Result<Page<'a>> {
    browser.fresh_tab()?;
    let page = Page::new(browser, Some(site));
    page.open("/")?;
    page.wait_at_most(
        Duration::from_secs(60),
        "document.documentElement.dataset.state == 'idle'",
    )?;
    Ok(page)
}

/// Opens an input, also one that takes longer than scripts may.
pub fn load(page: &Page, input: &Input, bars: bool) -> Result<()> {
    let load = "window.loaded = null; \
                load(...arguments).then(() => { window.loaded = 'yes'; }, (why) => { window.loaded = String(why); })";
    page.run(
        load,
        vec![json!(format!("/data/{}", input.name)), json!(bars)],
    )?;
    page.wait_at_most(Duration::from_secs(600), "window.loaded")?;
    match page.value("window.loaded")? {
        Value::String(it) if it == "yes" => Ok(()),
        why => Err(format!("{} cannot be opened: {why}", input.name).into()),
    }
}
