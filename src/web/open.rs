//! Everything that opens data: the address, a drop, the chooser, a paste; and the reading itself.
//!
//! Invariants: until something has been read to its end, what was on screen stays and comes back, or
//! what was on its way to be the first thing there is read again; a view becomes the page's only together with the data it is about; a link to a file never opens
//! another one without saying so.

use std::rc::Rc;

use js_sys::Reflect;
use web_sys::{ClipboardEvent, DataTransfer, DragEvent, Event, File, HtmlInputElement, Url};

use crate::clickhouse::Asked;
use crate::format;
use crate::messages::{Input, Progress, Request, Summary};
use crate::view::{FileMark, Pane, Source, View, Viewport};
use crate::viewport;
use crate::web::clickhouse;
use crate::web::dom;
use crate::web::history::Gesture;
use crate::web::notices;
use crate::web::page::App;
use crate::web::{header, plot, seek, tools};

/// What is being read.
pub struct Reading {
    id: u32,
    name: String,
    /// What will be looked at.
    view: View,
    /// Whether the address already says so.
    from_address: bool,
    /// The file that a link asked for.
    wanted: Option<FileMark>,
    file: Option<File>,
    /// To read it once more; pasted text is not kept twice.
    input: Option<Input>,
    /// Whether the person gave it, rather than the address.
    given: bool,
    /// The first reading of the page, which this one has interrupted.
    before: Option<Box<Reading>>,
    /// What has been read so far, once there is something to draw.
    pub preview: Option<Viewport>,
    progress: Option<Progress>,
    /// How many spans will come, nearly, where that was asked before.
    expected: Option<u64>,
}

/// What a link asks for and the page cannot fetch by itself.
pub struct Wanted {
    /// A file or what a ClickHouse is asked for.
    source: Source,
    view: View,
}

/// A sample that is hosted with the page.
struct Sample {
    name: &'static str,
    file: &'static str,
    /// The settings of the breaker that was in it.
    breaker: &'static str,
}

const SAMPLES: [Sample; 1] = [Sample {
    name: "incident",
    file: "samples/incident.csv.gz",
    breaker: "window=100,min=20,fail=50%,open=60s,probes=10",
}];

pub fn install(app: &Rc<App>) {
    for id in ["open", "hint-open"] {
        let it = app.clone();
        app.dom
            .on(id, "click", move |_: Event| it.dom.input("chooser").click());
    }
    let it = app.clone();
    app.dom.on("chooser", "change", move |_: Event| {
        let chooser: HtmlInputElement = it.dom.input("chooser");
        let file = chooser.files().and_then(|files| files.get(0));
        // The same file can be chosen again.
        chooser.set_value("");
        if let Some(file) = file {
            read_file(&it, file);
        }
    });
    let it = app.clone();
    app.dom.on("cancel", "click", move |_: Event| {
        cancel(&it);
    });
    let it = app.clone();
    dom::on(&app.dom.document, "paste", move |event: ClipboardEvent| {
        paste(&it, &event)
    });
    install_drop(app);
    for event in ["popstate", "hashchange"] {
        let it = app.clone();
        dom::on(&app.dom.window, event, move |_: Event| {
            if !it.history.is_written() {
                follow_address(&it);
            }
        });
    }
}

/// Opens what the address names, the sample if it names nothing.
pub fn start(app: &App) {
    follow_address(app);
}

fn install_drop(app: &Rc<App>) {
    for event in ["dragenter", "dragover"] {
        let it = app.clone();
        dom::on(&app.dom.window, event, move |event: DragEvent| {
            if event.data_transfer().is_some_and(|it| holds_files(&it)) {
                event.prevent_default();
                it.dom.show("drop", true);
            }
        });
    }
    let it = app.clone();
    dom::on(&app.dom.window, "dragleave", move |event: DragEvent| {
        if event.related_target().is_none() {
            it.dom.show("drop", false);
        }
    });
    let it = app.clone();
    dom::on(&app.dom.window, "drop", move |event: DragEvent| {
        it.dom.show("drop", false);
        let Some(transfer) = event.data_transfer().filter(holds_files) else {
            return;
        };
        event.prevent_default();
        dropped(&it, &transfer);
    });
}

fn holds_files(transfer: &DataTransfer) -> bool {
    transfer.types().iter().any(|it| it == "Files")
}

fn dropped(app: &App, transfer: &DataTransfer) {
    let files = transfer.files();
    let n_files = files.as_ref().map_or(0, |it| it.length());
    if has_folder(transfer) {
        return refuse(
            app,
            "A folder cannot be read: drop the span CSV that is in it.",
        );
    }
    match (n_files, files.and_then(|it| it.get(0))) {
        (1, Some(file)) => read_file(app, file),
        (0, _) | (_, None) => refuse(
            app,
            "Nothing that can be read was dropped: drop one span CSV, plain or .gz.",
        ),
        (n, _) => refuse(
            app,
            &format!("{n} files were dropped: drop one file at a time."),
        ),
    }
}

fn has_folder(transfer: &DataTransfer) -> bool {
    let items = transfer.items();
    (0..items.length())
        .filter_map(|at| items.get(at))
        .any(|item| {
            let entry = item.webkit_get_as_entry().ok().flatten();
            entry.is_some_and(|it| it.is_directory())
        })
}

fn refuse(app: &App, text: &str) {
    notices::error(&app.dom, notices::READING, text);
}

fn paste(app: &App, event: &ClipboardEvent) {
    if dom::closest(event, "input, textarea, select").is_some() || plot::is_middle_paste(app) {
        return;
    }
    let Some(transfer) = event.clipboard_data() else {
        return;
    };
    event.prevent_default();
    if holds_files(&transfer) {
        return dropped(app, &transfer);
    }
    let text = transfer.get_data("text/plain").unwrap_or_default();
    if text.trim().is_empty() {
        return refuse(
            app,
            "There is no text in the clipboard: copy the rows of a span CSV, with their header.",
        );
    }
    let view = fresh_view(app);
    read_given(app, |app| {
        read(
            app,
            Input::Text(text),
            "pasted text".to_owned(),
            None,
            view,
            false,
            None,
        );
    });
}

/// Reads a file that the person gave: the one that the link asked for, or another.
fn read_file(app: &App, file: File) {
    notices::dismiss(&app.dom, notices::SOURCE);
    let wanted = app.state.borrow_mut().wanted.take();
    notices::dismiss(&app.dom, notices::WANTED);
    let (view, mark) = match wanted {
        Some(Wanted {
            source: Source::File(mark),
            view,
        }) => (view, Some(mark)),
        _ => (fresh_view(app), None),
    };
    let (name, size) = (file.name(), file.size() as u64);
    let from_address = mark.is_some();
    let input = Input::File {
        name: name.clone(),
        size,
    };
    read_given(app, |app| {
        read(app, input, name, Some(file), view, from_address, mark);
    });
}

/// Reads what a ClickHouse was asked for in the dialog, about so many spans; a link that waits for such an
/// answer has it.
pub fn read_asked(app: &App, input: Input, asked: &Asked, spans: u64) {
    notices::dismiss(&app.dom, notices::SOURCE);
    let wanted = app.state.borrow_mut().wanted.take();
    let (view, from_address) = match wanted {
        Some(Wanted {
            source: Source::ClickHouse(named),
            view,
        }) => (view, *named == *asked),
        _ => (fresh_view(app), false),
    };
    read_given(app, |app| {
        read(app, input, asked.name(), None, view, from_address, None);
        if let Some(reading) = app.state.borrow_mut().reading.as_mut() {
            reading.expected = Some(spans);
        }
    });
}

/// Reads what the person gave. Where nothing has been read yet, what it interrupts comes back if it
/// cannot be read.
fn read_given(app: &App, read: impl FnOnce(&App)) {
    let before = {
        let mut state = app.state.borrow_mut();
        let first = state.summary.is_none();
        state.reading.take().filter(|_| first).map(Box::new)
    };
    read(app);
    if let Some(reading) = app.state.borrow_mut().reading.as_mut() {
        reading.given = true;
        reading.before = before;
    }
}

/// The view of other data: how things are shown stays, what is shown begins anew.
fn fresh_view(app: &App) -> View {
    let state = app.state.borrow();
    let view = &state.view;
    let from_sample = |text: &str| SAMPLES.iter().any(|sample| sample.breaker == text);
    View {
        color_by: view.color_by,
        lanes: view.lanes,
        shared: view.shared,
        breaker: view.breaker.clone().filter(|text| !from_sample(text)),
        pane: if view.pane == Pane::Trace {
            Pane::Herds
        } else {
            view.pane
        },
        ..View::default()
    }
}

fn follow_address(app: &App) {
    let (view, problems) = View::parse(&app.history.hash());
    app.history.accept();
    notices::dismiss(&app.dom, notices::SOURCE);
    match problems.is_empty() {
        true => notices::dismiss(&app.dom, notices::LINK),
        false => notices::error(&app.dom, notices::LINK, &problems.join(" ")),
    }
    let (source, here) = {
        let state = app.state.borrow();
        let here = state
            .summary
            .as_ref()
            .is_some_and(|it| it.source == view.source);
        (view.source.clone(), here)
    };
    match source {
        // What is loaded: the pasted text of before, too.
        _ if here => {
            cancel(app);
            settle(app, view, true);
        }
        Some(Source::File(mark)) => open_marked(app, mark, view),
        Some(Source::Url(url)) => open_address(app, url, view),
        Some(Source::Sample(name)) => open_sample(app, &name, view),
        Some(Source::ClickHouse(asked)) => {
            wait_for_asked(app, &asked, view);
            clickhouse::show(app, Some(&asked));
        }
        None => {
            if view.viewport.is_some() || view.trace.is_some() {
                notices::tell(
                    &app.dom,
                    notices::SOURCE,
                    "This link does not say which data it shows (it was pasted text, perhaps): the sample is shown instead.",
                );
            }
            open_sample(
                app,
                SAMPLES[0].name,
                View {
                    viewport: None,
                    trace: None,
                    ..view
                },
            );
        }
    }
}

fn open_sample(app: &App, name: &str, mut view: View) {
    let sample = SAMPLES.iter().find(|it| it.name == name).unwrap_or_else(|| {
        let text = format!("This page has no sample \u{201c}{name}\u{201d}: the sample \u{201c}{}\u{201d} is shown.", SAMPLES[0].name);
        notices::tell(&app.dom, notices::SOURCE, &text);
        &SAMPLES[0]
    });
    let source = Source::Sample(sample.name.to_owned());
    view.source = Some(source.clone());
    view.breaker
        .get_or_insert_with(|| sample.breaker.to_owned());
    let base = app
        .dom
        .document
        .base_uri()
        .ok()
        .flatten()
        .unwrap_or_default();
    let Some(url) = app.report(Url::new_with_base(sample.file, &base)) else {
        return;
    };
    let name = format!("sample {}", sample.name);
    let input = Input::Fetch {
        name: name.clone(),
        url: url.href(),
        source,
    };
    read(app, input, name, None, view, true, None);
}

fn open_address(app: &App, url: String, view: View) {
    let Some(parsed) = app.report(Url::new(&url)) else {
        return;
    };
    let own = app.dom.window.location().host().unwrap_or_default();
    let app = app.rc();
    let name = parsed
        .pathname()
        .rsplit('/')
        .find(|it| !it.is_empty())
        .unwrap_or("data")
        .to_owned();
    let fetch = {
        let app = app.clone();
        let url = url.clone();
        move || {
            let source = Source::Url(url.clone());
            read(
                &app,
                Input::Fetch {
                    name: name.clone(),
                    url,
                    source,
                },
                name,
                None,
                view,
                true,
                None,
            );
        }
    };
    if parsed.host() == own {
        return fetch();
    }
    let text = format!("This link reads its data from {}: {url}", parsed.host());
    let dom = app.dom.clone();
    let sample: notices::Action = (
        "Show the sample",
        Box::new({
            let app = app.clone();
            move || open_sample(&app, SAMPLES[0].name, View::default())
        }),
    );
    notices::ask(
        &dom,
        notices::WANTED,
        false,
        &text,
        vec![("Read it", Box::new(fetch)), sample],
    );
    app.show_state();
    render_empty(&app);
}

/// A link to a file of somebody's disk: it may be one that this page has read before.
fn open_marked(app: &App, mark: FileMark, view: View) {
    let known = app
        .state
        .borrow()
        .files
        .iter()
        .find(|(it, _)| *it == mark)
        .map(|(_, file)| file.clone());
    if let Some(file) = known {
        let input = Input::File {
            name: mark.name.clone(),
            size: mark.size,
        };
        return read(
            app,
            input,
            mark.name.clone(),
            Some(file),
            view,
            true,
            Some(mark),
        );
    }
    cancel(app);
    let text = format!(
        "This link shows {} ({}), which is not in the link but on a disk: choose that file, or drop it here.",
        mark.name,
        format::bytes(mark.size)
    );
    let choose = |app: &App| app.dom.input("chooser").click();
    want(
        app,
        Source::File(mark),
        view,
        &text,
        ("Choose the file…", choose),
    );
}

/// A link to spans of a ClickHouse, which the person has to ask for.
fn wait_for_asked(app: &App, asked: &Asked, view: View) {
    cancel(app);
    let text = format!(
        "This link shows spans of {}, which are not in the link: ask the server for them, with your own password.",
        asked.name()
    );
    let source = Source::ClickHouse(Box::new(asked.clone()));
    let ask = |app: &App| {
        let named = match &app.state.borrow().wanted {
            Some(Wanted {
                source: Source::ClickHouse(it),
                ..
            }) => Some(it.clone()),
            _ => None,
        };
        clickhouse::show(app, named.as_deref());
    };
    want(app, source, view, &text, ("Ask the server…", ask));
}

/// Waits for what a link shows and the page cannot fetch by itself.
fn want(app: &App, source: Source, view: View, text: &str, (label, get): (&'static str, fn(&App))) {
    app.state.borrow_mut().wanted = Some(Wanted { source, view });
    let app = app.rc();
    let get: notices::Action = (
        label,
        Box::new({
            let (app, text) = (app.clone(), text.to_owned());
            move || {
                // The message is gone with the press; the wish stays until it is there.
                let wanted = app.state.borrow_mut().wanted.take();
                if let Some(Wanted { source, view }) = wanted {
                    want(&app, source, view, &text, (label, get));
                }
                get(&app);
            }
        }),
    );
    let sample: notices::Action = (
        "Show the sample",
        Box::new({
            let app = app.clone();
            move || {
                app.state.borrow_mut().wanted = None;
                open_sample(&app, SAMPLES[0].name, View::default());
            }
        }),
    );
    notices::ask(&app.dom, notices::WANTED, false, text, vec![get, sample]);
    app.show_state();
    render_empty(&app);
}

/// The person goes on with what is on screen: the link's file is not waited for any more.
pub fn give_up_wanted(app: &App) {
    let mut state = app.state.borrow_mut();
    if state.summary.is_some() && state.wanted.take().is_some() {
        notices::dismiss(&app.dom, notices::WANTED);
    }
}

/// Reads what the address names once more.
pub fn again(app: &App) {
    app.history.accept();
    follow_address(app);
}

#[allow(
    clippy::too_many_arguments,
    reason = "each is a different fact about one reading"
)]
fn read(
    app: &App,
    input: Input,
    name: String,
    file: Option<File>,
    view: View,
    from_address: bool,
    wanted: Option<FileMark>,
) {
    for key in [notices::READING, notices::ENGINE, notices::WANTED] {
        notices::dismiss(&app.dom, key);
    }
    let kept = match &input {
        Input::Text(_) => None,
        other => Some(other.clone()),
    };
    let Some(id) = app.report(app.client.open(input, file.as_ref())) else {
        return;
    };
    app.state.borrow_mut().reading = Some(Reading {
        id,
        name,
        view,
        from_address,
        wanted,
        file,
        input: kept,
        given: false,
        before: None,
        preview: None,
        progress: None,
        expected: None,
    });
    seek::forget(app);
    render_reading(app);
    app.show_state();
}

/// Stops the reading, if there is one.
pub fn cancel(app: &App) -> bool {
    let reading = app.state.borrow().reading.is_some();
    if reading {
        app.report(app.client.send(&Request::Cancel));
    }
    reading
}

fn is_current(app: &App, id: u32) -> bool {
    app.state
        .borrow()
        .reading
        .as_ref()
        .is_some_and(|it| it.id == id)
}

/// How far the reading is.
pub fn progress(app: &App, id: u32, progress: Progress) {
    if !is_current(app, id) {
        return;
    }
    let preview = progress.preview;
    dom::set(&app.dom.root(), "data-spans", &progress.spans.to_string());
    if let Some(reading) = app.state.borrow_mut().reading.as_mut() {
        reading.preview = preview.or(reading.preview);
        reading.progress = Some(progress);
    }
    render_reading(app);
    if preview.is_some() {
        app.request_frame();
    }
}

/// The reading is done.
pub fn opened(app: &App, id: u32, summary: Summary) {
    if !is_current(app, id) {
        return;
    }
    let Some(reading) = app.state.borrow_mut().reading.take() else {
        return;
    };
    let mut view = reading.view;
    if let (Some(wanted), Some(Source::File(given))) = (&reading.wanted, &summary.source)
        && wanted != given
    {
        notices::add(&app.dom, notices::LINK, &differs(wanted, given));
    }
    if let (Some(Source::File(mark)), Some(file)) = (&summary.source, reading.file) {
        let mut state = app.state.borrow_mut();
        state.files.retain(|(it, _)| it != mark);
        state.files.push((mark.clone(), file));
    }
    view.source = summary.source.clone();
    dom::set(&app.dom.root(), "data-spans", &summary.spans.to_string());
    {
        let mut state = app.state.borrow_mut();
        state.summary = Some(Rc::new(summary));
        state.detail = None;
    }
    seek::forget(app);
    settle(app, view, reading.from_address);
    render_reading(app);
    app.render_controls();
    app.request_frame();
}

fn differs(wanted: &FileMark, given: &FileMark) -> String {
    let how = match () {
        () if wanted.size != given.size => {
            format!(
                "it has {}, not {}",
                format::bytes(given.size),
                format::bytes(wanted.size)
            )
        }
        () => "its contents are others".to_owned(),
    };
    format!(
        "{} is not the file that the link was made from ({}): {how}. It is shown where the link's view fits.",
        given.name, wanted.name
    )
}

/// Looks at a view of what is loaded, without what does not fit, and brings the address in line.
fn settle(app: &App, mut view: View, from_address: bool) {
    let summary = app.state.borrow().summary.clone();
    if let (Some(summary), Some(part)) = (&summary, view.viewport)
        && !viewport::overlap(part, summary.limits)
    {
        view.viewport = None;
        let text = "The link's part of the plot lies outside of this data, so everything is shown.";
        notices::add(&app.dom, notices::LINK, text);
    }
    if let Some(summary) = &summary {
        for text in drop_unknown(&mut view, summary) {
            notices::add(&app.dom, notices::LINK, &text);
        }
    }
    let gesture = if from_address {
        Gesture::Settle
    } else {
        Gesture::Step
    };
    app.state.borrow_mut().detail = None;
    app.set_view(View {
        trace: None,
        ..view.clone()
    });
    app.set_view(view.clone());
    app.report(app.history.note(&view, gesture));
    app.report(app.history.flush());
}

/// Takes out of a link's view what this data does not have; a sentence for each.
fn drop_unknown(view: &mut View, summary: &Summary) -> Vec<String> {
    let mut said = Vec::new();
    let known = |(from, to): &(String, String)| {
        summary.edges.iter().any(|it| tools::is_named(it, from, to))
    };
    if let Some((from, to)) = view.edge.take_if(|edge| !known(edge)) {
        let instead = summary.edges.first().map_or_else(String::new, |it| {
            format!("; the breaker is replayed on {} → {}", it.from, it.to)
        });
        said.push(format!(
            "The link's edge {from} → {to} is not in this file{instead}."
        ));
    }
    let legends = [&summary.legend_by_tier, &summary.legend_by_service];
    // Failures and timeouts are entries of every file that has them: a file without is no surprise.
    let has = |key: &String| {
        matches!(key.as_str(), "failed" | "timed_out")
            || legends.into_iter().flatten().any(|it| it.key == *key)
    };
    let (kept, unknown): (Vec<String>, Vec<String>) =
        std::mem::take(&mut view.hidden).into_iter().partition(has);
    view.hidden = kept;
    if !unknown.is_empty() {
        said.push(format!(
            "The link hides what the legend of this file does not have: {}.",
            unknown.join(", ")
        ));
    }
    said
}

/// The reading failed; what was there before is back.
pub fn failed(app: &App, id: u32, text: &str) {
    if is_current(app, id) {
        end(app);
        refuse(app, text);
    }
}

/// The reading was stopped; what was there before is back.
pub fn cancelled(app: &App, id: u32) {
    if is_current(app, id) {
        let name = app
            .state
            .borrow()
            .reading
            .as_ref()
            .map(|it| it.name.clone())
            .unwrap_or_default();
        end(app);
        notices::tell(
            &app.dom,
            notices::READING,
            &format!("Reading {name} was stopped."),
        );
    }
}

fn end(app: &App) {
    let (ended, spans, view) = {
        let mut state = app.state.borrow_mut();
        (
            state.reading.take(),
            state.summary.as_ref().map_or(0, |it| it.spans),
            state.view.clone(),
        )
    };
    dom::set(&app.dom.root(), "data-spans", &spans.to_string());
    // The address goes back to what is shown, unless it asks for a file that may come yet.
    let asks = app.state.borrow().wanted.is_some();
    if app.state.borrow().summary.is_some() && !asks {
        app.report(app.history.note(&view, Gesture::Settle));
        app.report(app.history.flush());
    }
    if let Some(ended) = ended.filter(|_| app.state.borrow().summary.is_none()) {
        resume(app, ended);
    }
    render_reading(app);
    app.request_frame();
}

/// Nothing is there to come back to: what the reading that ended has interrupted begins anew, or the
/// link asks for its data again.
fn resume(app: &App, ended: Reading) {
    let given = ended.given;
    let mut next = ended.before;
    while let Some(mut reading) = next {
        next = reading.before.take();
        if let Some(input) = reading.input {
            let Reading {
                name,
                file,
                view,
                from_address,
                wanted,
                given,
                ..
            } = *reading;
            read(app, input, name, file, view, from_address, wanted);
            if let Some(reading) = app.state.borrow_mut().reading.as_mut() {
                reading.given = given;
                reading.before = next;
            }
            return;
        }
    }
    let (named, _) = View::parse(&app.history.hash());
    match &named.source {
        _ if !given => {}
        Some(Source::File(_) | Source::Url(_)) => again(app),
        Some(Source::ClickHouse(asked)) => wait_for_asked(app, &asked.clone(), named),
        _ => {}
    }
}

/// The bar.
pub fn render_reading(app: &App) {
    render_empty(app);
    let dom = &app.dom;
    let state = app.state.borrow();
    let Some(reading) = &state.reading else {
        return dom.show("reading", false);
    };
    dom.show("reading", true);
    let bar = dom.html("reading-bar");
    let (percent, text) = match &reading.progress {
        None => (None, format!("{} …", reading.name)),
        Some(it) => {
            let percent = it
                .total
                .filter(|&total| total > 0)
                .map(|total| (it.bytes as f64 * 100.0 / total as f64).clamp(0.0, 100.0))
                .or_else(|| {
                    let spans = reading.expected?;
                    Some((it.spans as f64 * 100.0 / spans as f64).clamp(0.0, 100.0))
                });
            let done = percent.map_or_else(
                || format::bytes(it.bytes),
                |it| format!("{} %", format::fixed(it, 0)),
            );
            let speed = format::speed(it.bytes, it.elapsed_ms);
            let spans = format::counted(it.spans, "span");
            (
                percent,
                format!("{} · {done} · {speed} · {spans}", reading.name),
            )
        }
    };
    dom.text("reading-text", &text);
    bar.set_class_name(if percent.is_some() {
        "bar"
    } else {
        "bar unknown"
    });
    match percent {
        Some(percent) => {
            dom::style(&bar, "--done", &dom::percent(percent / 100.0));
            dom::set(&bar, "aria-valuenow", &format::fixed(percent, 0));
        }
        None => {
            // Removing an attribute that is not there is no failure.
            let _ = bar.remove_attribute("aria-valuenow");
        }
    }
    dom::set(&bar, "aria-valuetext", &text);
}

fn render_empty(app: &App) {
    let state = app.state.borrow();
    let empty = state.summary.is_none() && state.reading.is_none();
    app.dom.show("empty", empty);
    let text = match &state.wanted {
        Some(Wanted {
            source: Source::File(mark),
            ..
        }) => format!("Drop {} here.", mark.name),
        _ => "Drop a span CSV here, plain or .gz, or paste one.".to_owned(),
    };
    app.dom.text("empty-text", &text);
    header::render_hint(app, &state);
}

/// What a browser calls secure enough to use its clipboard.
pub fn has_clipboard(app: &App) -> bool {
    let navigator = app.dom.window.navigator();
    Reflect::get(&navigator, &"clipboard".into()).is_ok_and(|it| it.is_object())
}
