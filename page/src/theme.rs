//! Light, dark or as the system; and the colours that canvases take from the stylesheet.
//!
//! Invariant: a colour is written down in `www/style.css` and nowhere else.

use std::rc::Rc;

use wasm_bindgen::prelude::*;

use crate::dom::{self, Dom};
use crate::page::App;
use herdscope::messages::{Rgb, Style};

const KEY: &str = "herdscope-theme";

pub fn install(app: &Rc<App>) {
    let saved = storage(&app.dom).and_then(|it| it.get_item(KEY).ok()?);
    set(&app.dom, saved.as_deref().unwrap_or("system"));
    app.on("theme", "click", |app, _| {
        let next = match app.dom.root().get_attribute("data-theme").as_deref() {
            None => "light",
            Some("light") => "dark",
            Some(_) => "system",
        };
        set(&app.dom, next);
        if let Some(storage) = storage(&app.dom) {
            // A browser that keeps nothing begins with the system's theme next time.
            let _ = storage.set_item(KEY, next);
        }
        app.restyle();
    });
    for query in ["(prefers-color-scheme: dark)", "(prefers-contrast: more)"] {
        if let Ok(Some(media)) = app.dom.window.match_media(query) {
            app.listen(&media, "change", |app, _| app.restyle());
        }
    }
}

fn set(dom: &Dom, theme: &str) {
    let root = dom.root();
    let (icon, label) = match theme {
        "light" => ("☀", "Light; press for dark"),
        "dark" => ("☾", "Dark; press for the system's choice"),
        _ => ("◐", "As the system; press for light"),
    };
    match theme {
        "light" | "dark" => dom::set(&root, "data-theme", theme),
        _ => {
            // Removing an attribute that is not there is no failure.
            let _ = root.remove_attribute("data-theme");
        }
    }
    dom.text("theme", icon);
    dom::set(&dom.html("theme"), "title", label);
    dom::set(&dom.html("theme"), "aria-label", label);
}

/// What is kept on this device; `None` where the browser keeps nothing.
pub fn storage(dom: &Dom) -> Option<web_sys::Storage> {
    dom.window.local_storage().ok()?
}

/// Reads the colours as they are now.
pub fn style(dom: &Dom) -> Result<Style, JsValue> {
    let probe = dom.new_element("span", "", "");
    probe.set_hidden(true);
    let body = dom.document.body().ok_or("the document has no body")?;
    body.append_child(&probe)?;
    let computed = dom
        .window
        .get_computed_style(&probe)?
        .ok_or("no computed style")?;
    let color = |name: &str| -> Result<Rgb, JsValue> {
        dom::style(&probe, "color", &format!("var(--{name})"));
        let text = computed.get_property_value("color")?;
        parse(&text).ok_or_else(|| format!("the colour --{name} is {text}").into())
    };
    let mut series = [[0; 3]; 8];
    for (at, it) in series.iter_mut().enumerate() {
        *it = color(&format!("series-{at}"))?;
    }
    let style = Style {
        series,
        failed: color("failed")?,
        timed_out: color("timed-out")?,
        closed: color("closed")?,
        open: color("open")?,
        half_open: color("half-open")?,
        ramping: color("ramping")?,
        plot: color("plot")?,
        grid: color("grid")?,
        ink: color("ink")?,
        ink_2: color("ink-2")?,
        ink_3: color("ink-3")?,
    };
    probe.remove();
    Ok(style)
}

/// `rgb(1, 2, 3)`
fn parse(text: &str) -> Option<Rgb> {
    let inside = text.strip_prefix("rgb(")?.strip_suffix(')')?;
    let mut numbers = inside.split(',').map(|it| it.trim().parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}
