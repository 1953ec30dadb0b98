//! The header and the footer: what is loaded, what was noticed, help, Copy link, figures.

use std::rc::Rc;

use wasm_bindgen_futures::JsFuture;

use crate::dom;
use crate::notices;
use crate::open;
use crate::page::{App, State};
use crate::{assume, trace};
use herdscope::format;
use herdscope::messages::{Latency, Scene, Summary, Swatch};
use herdscope::view::Source;

/// The issues that make a replayed breaker do what the real one did not.
const MISLEADING: [&str; 3] = ["all_failed", "sampled", "capped"];

pub fn install(app: &Rc<App>) {
    app.on("copy", "click", |app, _| copy_link(app));
    app.on("hint-close", "click", |app, _| {
        dom::set(&app.dom.html("hint"), "data-closed", "");
        app.dom.show("hint", false);
    });
    // A click beside the open list of issues closes it.
    app.listen(&app.dom.document, "pointerdown", |app, event| {
        for id in ["issues", "files"] {
            if dom::closest(event, &["#", id].concat()).is_none() {
                // Removing an attribute that is not there is no failure.
                let _ = app.dom.html(id).remove_attribute("open");
            }
        }
    });
    app.on("files-list", "click", |app, event| {
        let at = dom::pressed(event, "data-file");
        if let Some(at) = at.and_then(|it| it.parse().ok()) {
            open::remove(app, at);
        }
    });
}

/// Closes the lists that are open in the header, and gives the focus back to what opens them; whether one was.
pub fn close_lists(app: &App) -> bool {
    let mut closed = false;
    for id in ["issues", "files"] {
        let list = app.dom.html(id);
        if list.has_attribute("open") {
            closed = true;
            // It is there.
            let _ = list.remove_attribute("open");
            // An element that cannot be focused stays as it is.
            let _ = app.dom.html(&[id, "-count"].concat()).focus();
        }
    }
    closed
}

fn copy_link(app: &Rc<App>) {
    let Some(address) = app.report(app.history.address()) else {
        return;
    };
    let pasted = app
        .state()
        .summary
        .as_ref()
        .is_some_and(|it| it.files.iter().any(|it| it.source.is_none()));
    if pasted {
        notices::tell(
            &app.dom,
            notices::COPY,
            "Pasted text is not in the link: save it as a file and drop that, and the link can ask for it.",
        );
    }
    copy(
        app,
        "copy",
        &address,
        "The browser does not let this page copy: here is the link.",
    );
}

/// Copies a text and says so on the button; where the browser does not let it, offers the text.
pub fn copy(app: &Rc<App>, button: &'static str, text: &str, otherwise: &'static str) {
    if !open::has_clipboard(app) {
        return notices::offer(&app.dom, notices::OTHER, otherwise, text);
    }
    let copied = app.dom.window.navigator().clipboard().write_text(text);
    let (app, text) = (app.clone(), text.to_owned());
    dom::spawn(Box::pin(async move {
        match JsFuture::from(copied).await {
            Ok(_) => confirm(&app, button),
            Err(_) => notices::offer(&app.dom, notices::OTHER, otherwise, &text),
        }
    }));
}

fn confirm(app: &Rc<App>, button: &'static str) {
    let element = app.dom.html(button);
    if element.has_attribute("data-label") {
        return;
    }
    let label = element.text_content().unwrap_or_default();
    dom::set(&element, "data-label", &label);
    dom::set(&element, "aria-live", "polite");
    element.set_text_content(Some("Copied ✓"));
    app.dom.later(1600, move || {
        element.set_text_content(Some(&label));
        // It was set above.
        let _ = element.remove_attribute("data-label");
    });
}

pub fn render(app: &App) {
    let state = app.state();
    app.dom.show("file", state.summary.is_some());
    render_hint(app, &state);
    if let Some(summary) = &state.summary {
        render_file(app, summary);
    }
}

fn render_file(app: &App, summary: &Summary) {
    let dom = &app.dom;
    dom.text("file-name", &summary.name);
    dom::set(&dom.html("file-name"), "title", &summary.name);
    let [start, end] = summary.extent;
    let took = u64::try_from(end.saturating_sub(start)).unwrap_or(0);
    let facts = [
        summary.exporter.clone(),
        format::counted(summary.spans, "span"),
        format::counted(summary.traces, "trace"),
        format::duration(took),
    ];
    dom.text("file-facts", &facts.join(" · "));
    dom::set(&dom.html("file"), "title", &facts.join(" · "));
    dom.document
        .set_title(&format!("{} — herdscope", summary.name));
    let noticed = !summary.issues.is_empty();
    dom.show("issues", noticed);
    let count = format::counted(summary.issues.len() as u64, "issue");
    dom.text("issues-count", &count);
    render_files(app, summary);
    assume::render(app, summary);
    render_cautions(app, summary);
    let list = dom.html("issues-list");
    dom::clear(&list);
    for issue in &summary.issues {
        let line = dom.add(&list, "li", "", &sentence(&issue.message));
        dom::set(&line, "data-code", &issue.code);
    }
}

/// The files, each with its colour, and what takes it away again.
fn render_files(app: &App, summary: &Summary) {
    let dom = &app.dom;
    let n_files = summary.files.len();
    dom.text("files-count", &format::counted(n_files as u64, "file"));
    let list = dom.html("files-list");
    dom::clear(&list);
    for (at, file) in summary.files.iter().enumerate() {
        let line = dom.add(&list, "li", "", "");
        let chip = dom.new_element("i", "", "");
        let color = trace::color(Swatch::Series((at % 8) as u8));
        dom::style(&chip, "--swatch", &color);
        let mut about = [&file.exporter, " · ", &format::counted(file.spans, "span")].concat();
        if file.duplicates > 0 {
            let rows = format::counted(file.duplicates, "row");
            about.push_str(&[" · ", &rows, " dropped, which others say already"].concat());
        }
        let text = dom.new_element("span", "", "");
        dom::fill(
            &text,
            &[
                &dom.new_element("b", "", &file.name),
                &dom.new_element("small", "", &about),
            ],
        );
        dom::fill(&line, &[&chip, &text]);
        if n_files > 1 {
            let remove = dom.button("close", "×", "data-file", &at.to_string());
            dom::set(&remove, "aria-label", &["Take away ", &file.name].concat());
            dom::fill(&line, &[&remove]);
        }
    }
}

/// What would mislead a reader of the replay stands with it, too.
fn render_cautions(app: &App, summary: &Summary) {
    for id in ["herds-cautions", "breaker-cautions"] {
        let list = app.dom.html(id);
        dom::clear(&list);
        let misleading = summary
            .issues
            .iter()
            .filter(|it| MISLEADING.contains(&it.code.as_str()));
        for issue in misleading {
            let line = app
                .dom
                .new_element("p", "caution", &sentence(&issue.message));
            dom::set(&line, "data-code", &issue.code);
            dom::fill(&list, &[&line]);
        }
    }
}

/// The line that tells where to drop a file, as long as the sample is on screen.
pub fn render_hint(app: &App, state: &State) {
    let sample = state.summary.as_ref().is_some_and(
        |it| matches!(&it.files[..], [file] if matches!(file.source, Some(Source::Sample(_)))),
    );
    let whole = state.view.viewport.is_none();
    let hint = app.dom.html("hint");
    let closed = hint.has_attribute("data-closed");
    hint.set_hidden(!sample || !whole || closed || state.reading.is_some());
}

/// After a picture.
pub fn render_footer(app: &App, scene: &Scene) {
    let dom = &app.dom;
    let viewport = scene.viewport;
    dom.text("foot-time", &format::time_range(viewport.t0, viewport.t1));
    let state = app.state();
    let total = match (&state.reading, &state.summary) {
        (Some(reading), _) if reading.preview.is_some() => None,
        (_, summary) => summary.as_ref().map(|it| it.spans),
    };
    let spans = match total {
        Some(total) => format!(
            "{} of {}",
            format::count(scene.spans),
            format::counted(total, "span")
        ),
        None => format::counted(scene.spans, "span"),
    };
    dom.text("foot-spans", &spans);
    let latency = match scene.latency {
        Latency::OfNone => String::new(),
        // What it says is not of what is in view.
        Latency::NotYet => "p50 …".to_owned(),
        Latency::Known { p50_ns, p999_ns } => format!(
            "p50 {} · p99.9 {}",
            format::duration(p50_ns),
            format::duration(p999_ns)
        ),
    };
    dom.text("foot-latency", &latency);
    render_hint(app, &state);
}

/// A text with a capital letter and a full stop.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|it| it.to_ascii_uppercase());
    let text: String = first.into_iter().chain(chars).collect();
    format!("{}.", text.trim_end_matches('.'))
}
