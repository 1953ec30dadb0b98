//! Takes a picture of a page: `cargo run -p herdscope-browser-tests --bin shot -- / page.png --dark`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use herdscope_browser_tests::{Browser, Failure, Page, Point, Result, Site};

const HELP: &str = "\
Usage: shot ADDRESS OUT.png [options]

ADDRESS is a full address, or a path of the built page such as / or '/#v=1&src=sample:four'.

  --width N, --height N   the window's inside in CSS pixels (1440 x 900)
  --dpr N                 device pixels per CSS pixel (1)
  --dark                  as with the system set to dark
  --drop FILE             drop a file on the middle of the window first
  --wait EXPRESSION       wait until it is true in the page (document.readyState == 'complete')
  --after MILLISECONDS    then wait this long (300)
";

struct Options {
    address: String,
    out: String,
    width: u32,
    height: u32,
    device_pixels: f64,
    dark: bool,
    drop: Option<String>,
    wait: String,
    after: Duration,
}

fn main() -> ExitCode {
    match options(std::env::args().skip(1)).and_then(|options| shoot(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("shot: {error}");
            ExitCode::FAILURE
        }
    }
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options {
        address: String::new(),
        out: String::new(),
        width: 1440,
        height: 900,
        device_pixels: 1.0,
        dark: false,
        drop: None,
        wait: "document.readyState == 'complete'".to_owned(),
        after: Duration::from_millis(300),
    };
    let mut places = Vec::new();
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .ok_or_else(|| Failure::new(format!("{word} wants a value\n\n{HELP}")))
        };
        match word.as_str() {
            "--width" => options.width = number(&value()?)?,
            "--height" => options.height = number(&value()?)?,
            "--dpr" => options.device_pixels = number(&value()?)?,
            "--dark" => options.dark = true,
            "--drop" => options.drop = Some(value()?),
            "--wait" => options.wait = value()?,
            "--after" => options.after = Duration::from_millis(number(&value()?)?),
            _ if word.starts_with('-') => {
                return Err(format!("no option is called {word}\n\n{HELP}").into());
            }
            _ => places.push(word),
        }
    }
    match <[String; 2]>::try_from(places) {
        Ok([address, out]) => Ok(Options {
            address,
            out,
            ..options
        }),
        Err(_) => Err(HELP.into()),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T> {
    text.parse()
        .map_err(|_| Failure::new(format!("`{text}` is no number that fits here\n\n{HELP}")))
}

fn shoot(options: &Options) -> Result<()> {
    let site = if options.address.starts_with('/') {
        Some(Site::start()?)
    } else {
        None
    };
    let browser = Browser::start()?;
    let page = Page::new(&browser, site.as_ref());
    page.resize(options.width, options.height, options.device_pixels)?;
    page.prefer(&[(
        "prefers-color-scheme",
        if options.dark { "dark" } else { "light" },
    )])?;
    page.open(&options.address)?;
    if let Some(file) = &options.drop {
        let middle = Point {
            x: f64::from(options.width) / 2.0,
            y: f64::from(options.height) / 2.0,
        };
        page.drop_file(Path::new(file), middle)?;
    }
    page.wait_for(&options.wait)?;
    std::thread::sleep(options.after);
    page.screenshot()?.save(Path::new(&options.out))?;
    for error in page.take_errors()? {
        eprintln!("shot: the page logged an error: {error}");
    }
    Ok(())
}
