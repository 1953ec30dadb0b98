//! Everything that opens data: the address, a drop, the chooser, a paste.
//!
//! Invariants: a link to files never opens others without saying so; files are read beside those that
//! are there only where the person says so. The reading itself is in [`reading`].

use std::rc::Rc;

use js_sys::{Array, Reflect};
use wasm_bindgen::JsCast;
use web_sys::{ClipboardEvent, DataTransfer, DragEvent, File, HtmlInputElement, Url};

use crate::page::App;
use crate::reading::{self, Given, Plan, told_of};
use crate::{clickhouse, dom, header, leave, notices, plot};
use herdscope::clickhouse::Asked;
use herdscope::files::{self, needs_reading};
use herdscope::format;
use herdscope::messages::Input;
use herdscope::samples::{SAMPLES, Sample};
use herdscope::view::{FileMark, FileRef, Pane, Source, View};

/// What a link asks for and the page cannot fetch by itself.
pub struct Wanted {
    view: View,
    /// One of each file of the view, those that are there.
    given: Vec<Option<Given>>,
}

pub fn install(app: &Rc<App>) {
    for id in ["open", "hint-open", "add"] {
        app.on(id, "click", |app, event| {
            let chooser = app.dom.input("chooser");
            dom::set(&chooser, "data-for", &dom::listening(event).id());
            chooser.click();
        });
    }
    app.on("chooser", "change", |app, _| {
        let chooser: HtmlInputElement = app.dom.input("chooser");
        let files = listed(chooser.files());
        let adds = chooser.get_attribute("data-for").as_deref() == Some("add");
        // The same file can be chosen again.
        chooser.set_value("");
        if !files.is_empty() {
            read_files(app, files, adds);
        }
    });
    app.on("cancel", "click", |app, _| {
        reading::cancel(app);
    });
    app.listen(&app.dom.document, "paste", |app, event| {
        paste(app, event.unchecked_ref())
    });
    install_drop(app);
    for event in ["popstate", "hashchange"] {
        app.listen(&app.dom.window, event, |app, _| {
            if !app.history.is_written() {
                follow_address(app);
            }
        });
    }
}

/// Opens what the address names, the sample if it names nothing.
pub fn start(app: &App) {
    follow_address(app);
}

fn listed(files: Option<web_sys::FileList>) -> Vec<File> {
    let n_files = files.as_ref().map_or(0, |it| it.length());
    let files = files.as_ref();
    (0..n_files).filter_map(|at| files?.get(at)).collect()
}

fn install_drop(app: &Rc<App>) {
    for event in ["dragenter", "dragover"] {
        app.listen(&app.dom.window, event, |app, event| {
            let event: &DragEvent = event.unchecked_ref();
            if event.data_transfer().is_some_and(|it| holds_files(&it)) {
                event.prevent_default();
                app.dom.show("drop", true);
                app.dom.show("drop-add", !own_inputs(app).is_empty());
                let over = if adds(app, event) { "add" } else { "open" };
                dom::set(&app.dom.html("drop"), "data-over", over);
            }
        });
    }
    app.listen(&app.dom.window, "dragleave", |app, event| {
        let event: &DragEvent = event.unchecked_ref();
        if event.related_target().is_none() {
            app.dom.show("drop", false);
        }
    });
    app.listen(&app.dom.window, "drop", |app, event| {
        let event: &DragEvent = event.unchecked_ref();
        app.dom.show("drop", false);
        let Some(transfer) = event.data_transfer().filter(holds_files) else {
            return;
        };
        event.prevent_default();
        dropped(app, &transfer, adds(app, event));
    });
}

/// Whether files that are let go there come beside those that are open: on the right-hand half.
fn adds(app: &App, event: &DragEvent) -> bool {
    let width = app.dom.root().client_width();
    event.client_x() * 2 > width && !own_inputs(app).is_empty()
}

/// What is open or being opened, unless it is a sample.
#[inline(never)]
fn own_inputs(app: &App) -> Vec<Given> {
    let state = app.state();
    let inputs = match &state.reading {
        Some(reading) => &reading.plan.inputs,
        None => &state.inputs,
    };
    let own = |it: &&Given| !matches!(it.input, Input::Sample(_));
    inputs.iter().filter(own).cloned().collect()
}

fn holds_files(transfer: &DataTransfer) -> bool {
    transfer.types().iter().any(|it| it == "Files")
}

fn dropped(app: &App, transfer: &DataTransfer, adds: bool) {
    if has_folder(transfer) {
        return refuse(
            app,
            "A folder cannot be read: drop the span files that are in it.",
        );
    }
    match listed(transfer.files()) {
        files if files.is_empty() => refuse(
            app,
            "Nothing that can be read was dropped: drop span files, CSV or JSON, plain or .gz.",
        ),
        files => read_files(app, files, adds),
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
        return dropped(app, &transfer, false);
    }
    let text = transfer.get_data("text/plain").unwrap_or_default();
    if text.trim().is_empty() {
        return refuse(
            app,
            "There is no text in the clipboard: copy the rows of a span CSV, with their header.",
        );
    }
    // As a file, it is kept once, and can be read again.
    let parts = Array::of1(&text.into());
    let Some(file) = app.report(File::new_with_str_sequence(&parts, "pasted text")) else {
        return;
    };
    let plan = Plan::new(vec![Given::file(file, true)], fresh_view(app));
    reading::read_given(app, plan);
}

/// Reads files that the person gave: those that the link asked for, or others, or more.
fn read_files(app: &App, files: Vec<File>, adds: bool) {
    notices::dismiss(&app.dom, notices::SOURCE);
    let wanted = app.state_mut().wanted.take();
    notices::dismiss(&app.dom, notices::WANTED);
    let files: Vec<Given> = files.into_iter().map(|it| Given::file(it, false)).collect();
    let waits = |wanted: &Wanted| wanted.missing().any(|it| matches!(it, Source::File(_)));
    match wanted {
        Some(mut wanted) if waits(&wanted) => {
            for file in files {
                wanted.take(file);
            }
            go_on(app, wanted);
        }
        _ if adds => {
            let mut inputs = own_inputs(app);
            inputs.extend(files);
            read_others(app, inputs);
        }
        _ => {
            let plan = Plan::new(files, fresh_view(app));
            reading::read_given(app, plan);
        }
    }
}

/// Reads a file that another page sent, looked at as the text says that is a link's after its `#`.
#[inline(never)]
pub fn read_sent(app: &App, mut given: Given, hash: Option<&str>) {
    let mut view = match hash {
        None => fresh_view(app),
        Some(hash) => linked(app, hash),
    };
    // The data are those that came; what the link says about them holds.
    let said = std::mem::take(&mut view.files).into_iter().next();
    given.told = said.and_then(|it| it.told).unwrap_or_default();
    app.state_mut().wanted = None;
    let given = vec![Some(given)];
    go_on(app, Wanted { view, given });
}

/// Reads other files as what is looked at: it stays the same, but for the part of the plot.
#[inline(never)]
fn read_others(app: &App, inputs: Vec<Given>) {
    let view = match &app.state().reading {
        Some(reading) => reading.plan.view.clone(),
        None => app.view(),
    };
    let plan = Plan::new(
        inputs,
        View {
            viewport: None,
            ..view
        },
    );
    reading::read_given(app, plan);
}

/// Takes one of the files away: the others are read again.
pub fn remove(app: &App, at: usize) {
    let mut inputs = app.state().inputs.clone();
    if at < inputs.len() && inputs.len() > 1 {
        inputs.remove(at);
        read_others(app, inputs);
    }
}

/// Reads what a ClickHouse was asked for in the dialog, about so many spans; a link that waits for such an
/// answer has it.
pub fn read_asked(app: &App, input: Input, asked: &Asked, spans: u64) {
    notices::dismiss(&app.dom, notices::SOURCE);
    let wanted = app.state_mut().wanted.take();
    let given = Given {
        input,
        file: None,
        told: String::new(),
    };
    let named = |it: &Source| matches!(it, Source::ClickHouse(it) if **it == *asked);
    match wanted {
        Some(mut wanted) if wanted.missing().any(named) => {
            wanted.take(given);
            go_on(app, wanted);
        }
        _ => {
            let plan = Plan::new(vec![given], fresh_view(app));
            reading::read_given(app, plan);
        }
    }
    if let Some(reading) = app.state_mut().reading.as_mut()
        && reading.plan.inputs.len() == 1
    {
        reading.plan.expected = Some(spans);
    }
}

/// The view of other data: how things are shown stays, what is shown begins anew.
#[inline(never)]
fn fresh_view(app: &App) -> View {
    let state = app.state();
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

/// The view of a link; what is wrong with it is said.
#[inline(never)]
fn linked(app: &App, hash: &str) -> View {
    let (view, problems) = View::parse(hash);
    notices::dismiss(&app.dom, notices::SOURCE);
    match problems.is_empty() {
        true => notices::dismiss(&app.dom, notices::LINK),
        false => notices::error(&app.dom, notices::LINK, &problems.join(" ")),
    }
    view
}

fn follow_address(app: &App) {
    let view = linked(app, &app.history.hash());
    app.history.accept();
    let summary = app.state().summary.clone();
    let refs = summary.map(|it| files::refs(&it.files));
    match refs {
        // What is loaded: the pasted text of before, too.
        Some(refs) if refs == view.files => {
            reading::cancel(app);
            reading::settle(app, view, true);
        }
        Some(refs) if is_judged(app, &refs, &view) => {}
        _ if view.files.iter().all(|it| it.source.is_none()) => {
            if view.viewport.is_some() || view.trace.is_some() {
                notices::tell(
                    &app.dom,
                    notices::SOURCE,
                    "This link does not say which data it shows (it was pasted text, perhaps): the sample is shown instead.",
                );
            }
            let view = View {
                viewport: None,
                trace: None,
                ..view
            };
            open_sample(app, view);
        }
        _ => open_named(app, view, false),
    }
}

/// Whether the link differs from what is loaded in what is said about failures and tries alone; then
/// it is followed without reading.
fn is_judged(app: &App, refs: &[FileRef], view: &View) -> bool {
    let told = |it: &FileRef| told_of(it.told.as_deref().unwrap_or_default());
    let files = &view.files;
    let mut pairs = refs.iter().zip(files);
    let same = refs.len() == files.len()
        && !files.is_empty()
        && app.state().inputs.len() == files.len()
        && pairs.all(|(a, b)| a.source == b.source && !needs_reading(&told(a), &told(b)));
    if same {
        let mut plan = Plan::new(app.state().inputs.clone(), view.clone());
        plan.from_address = true;
        for (input, file) in plan.inputs.iter_mut().zip(files) {
            input.told = file.told.clone().unwrap_or_default();
        }
        reading::judge(app, plan);
    }
    same
}

fn open_sample(app: &App, view: View) {
    let source = Source::Sample(SAMPLES[0].name.to_owned());
    let files = vec![FileRef {
        source: Some(source),
        told: None,
    }];
    open_named(app, View { files, ..view }, true);
}

/// Opens what a link names, after asking for leave to read from another host unless it `may`.
#[inline(never)]
fn open_named(app: &App, mut view: View, may: bool) {
    let mut foreign: Vec<(Url, String)> = Vec::new();
    let mut given = Vec::new();
    let files = std::mem::take(&mut view.files);
    for mut file in files {
        let input = match &mut file.source {
            None => continue,
            Some(Source::Sample(name)) => {
                let sample = sample(app, name);
                *name = sample.name.to_owned();
                view.breaker
                    .get_or_insert_with(|| sample.breaker.to_owned());
                Some((Input::Sample(name.clone()), None))
            }
            Some(Source::Url(url)) => {
                let Some(parsed) = app.report(Url::new(url)) else {
                    return;
                };
                let path = parsed.pathname();
                if leave::has(app, leave::FETCH, &parsed.origin()).is_none() {
                    foreign.push((parsed, url.clone()));
                }
                let name = path.rsplit('/').find(|it| !it.is_empty());
                let input = Input::Fetch {
                    name: name.unwrap_or("data").to_owned(),
                    url: url.clone(),
                };
                Some((input, None))
            }
            // One that this page has read before.
            Some(Source::File(mark)) => {
                let state = app.state();
                let known = state.files.iter().find(|(it, _)| it == mark);
                known.map(|(_, file)| {
                    let given = Given::file(file.clone(), false);
                    (given.input, given.file)
                })
            }
            Some(Source::ClickHouse(asked)) => {
                let asked_so = |it: &&Given| matches!(&it.input, Input::ClickHouse { asked: it, .. } if it == asked);
                let state = app.state();
                let known = state.inputs.iter().find(asked_so);
                known.map(|it| (it.input.clone(), None))
            }
        };
        let told = file.told.clone().unwrap_or_default();
        given.push(input.map(|(input, file)| Given { input, file, told }));
        view.files.push(file);
    }
    let wanted = Wanted { view, given };
    match may || foreign.is_empty() {
        true => go_on(app, wanted),
        false => ask_leave(app, wanted, foreign),
    }
}

/// Asks once for each host whether links may have it asked.
#[inline(never)]
fn ask_leave(app: &App, wanted: Wanted, foreign: Vec<(Url, String)>) {
    let mut text = "This link reads its data".to_owned();
    let mut before = " from ";
    for (parsed, url) in &foreign {
        for part in [before, &parsed.host(), " (", url, ")"] {
            text.push_str(part);
        }
        before = " and ";
    }
    text.push_str(
        ". Nothing has been fetched yet. If you read it, that address is asked for there, without cookies and without a \
         word about this page; links to that host are not asked about again.",
    );
    let app = app.rc();
    let read: notices::Action = (
        "Read it",
        Box::new({
            let app = app.clone();
            move || {
                for (parsed, _) in &foreign {
                    leave::keep(&app, leave::FETCH, &parsed.origin(), true);
                }
                go_on(&app, wanted)
            }
        }),
    );
    let (label, sample) = sample_instead(&app);
    let refuse: notices::Action = (
        label,
        Box::new({
            let app = app.clone();
            move || {
                sample();
                let text = "Nothing was fetched from the link\u{2019}s host.";
                notices::tell(&app.dom, notices::SOURCE, text);
            }
        }),
    );
    let actions = vec![read, refuse];
    notices::ask(&app.dom, notices::WANTED, false, &text, actions);
    app.show_state();
    render_empty(&app);
}

/// The sample of that name, or the first one.
fn sample(app: &App, name: &str) -> &'static Sample {
    let [first, ..] = &SAMPLES;
    let known = SAMPLES.iter().find(|it| it.name == name);
    known.unwrap_or_else(|| {
        let text = [
            "This page has no sample \u{201c}",
            name,
            "\u{201d}: the sample \u{201c}",
            first.name,
            "\u{201d} is shown.",
        ];
        notices::tell(&app.dom, notices::SOURCE, &text.concat());
        first
    })
}

fn sample_instead(app: &Rc<App>) -> notices::Action {
    let app = app.clone();
    let show = move || {
        app.state_mut().wanted = None;
        open_sample(&app, View::default());
    };
    ("Show the sample", Box::new(show))
}

impl Wanted {
    /// What is not there yet.
    fn missing(&self) -> impl Iterator<Item = &Source> {
        let files = self.view.files.iter().zip(&self.given);
        files.filter_map(|(file, given)| match given {
            None => file.source.as_ref(),
            Some(_) => None,
        })
    }

    /// Puts what was given where it fits best: by name and size, by either of them, or where there
    /// is still room; beside all of them where there is none. Whether it is the very file shows when it has been read.
    fn take(&mut self, mut given: Given) {
        let fits = |at: &usize| -> u8 {
            if self.given[*at].is_some() {
                return 0;
            }
            match (&self.view.files[*at].source, &given.input) {
                (Some(Source::File(mark)), Input::File { name, size, .. }) => {
                    1 + u8::from(mark.name == *name) + u8::from(mark.size == *size)
                }
                (Some(Source::ClickHouse(_)), Input::ClickHouse { .. }) => 1,
                _ => 0,
            }
        };
        let best = (0..self.given.len()).rev().max_by_key(fits);
        match best.filter(|at| fits(at) > 0) {
            Some(at) => {
                given.told = self.view.files[at].told.clone().unwrap_or_default();
                self.given[at] = Some(given);
            }
            None => self.given.push(Some(given)),
        }
    }
}

/// Reads what a link names once all of it is there, and asks for the rest before.
#[inline(never)]
fn go_on(app: &App, wanted: Wanted) {
    let missing: Vec<Source> = wanted.missing().cloned().collect();
    if missing.is_empty() {
        let marks = wanted.view.files.iter().filter_map(|it| match &it.source {
            Some(Source::File(mark)) => Some(mark.clone()),
            _ => None,
        });
        let plan = Plan {
            wanted: marks.collect(),
            inputs: wanted.given.into_iter().flatten().collect(),
            view: wanted.view,
            from_address: true,
            ..Plan::default()
        };
        let by_hand = plan.inputs.iter().any(|it| it.file.is_some());
        return match by_hand {
            true => reading::read_given(app, plan),
            false => reading::read(app, plan),
        };
    }
    reading::cancel(app);
    app.state_mut().wanted = Some(wanted);
    let asked = missing.iter().find_map(|it| match it {
        Source::ClickHouse(asked) => Some((**asked).clone()),
        _ => None,
    });
    if let Some(asked) = &asked {
        clickhouse::show(app, Some(asked));
    }
    ask_for(app, &missing, asked);
}

#[inline(never)]
fn ask_for(app: &App, missing: &[Source], asked: Option<Asked>) {
    let files: Vec<&FileMark> = missing
        .iter()
        .filter_map(|it| match it {
            Source::File(mark) => Some(mark),
            _ => None,
        })
        .collect();
    let named = |it: &&FileMark| format!("{} ({})", it.name, format::bytes(it.size));
    let names = files.iter().map(named).collect::<Vec<_>>().join(" and ");
    let (label, text) = match (&asked, files.len()) {
        (Some(asked), _) => (
            "Ask the server…",
            format!(
                "This link shows spans of {}, which are not in the link: ask the server for them, with your own password.",
                asked.name()
            ),
        ),
        (None, 1) => (
            "Choose the file…",
            format!(
                "This link shows {names}, which is not in the link but on a disk: choose that file, or drop it here."
            ),
        ),
        _ => (
            "Choose the files…",
            format!(
                "This link shows {names}, which are not in the link but on a disk: choose them, or drop them here, in any order."
            ),
        ),
    };
    let app = app.rc();
    let get: notices::Action = (
        label,
        Box::new({
            let (app, missing) = (app.clone(), missing.to_vec());
            move || {
                // The message is gone with the press; the wish stays until it is there.
                ask_for(&app, &missing, asked.clone());
                match &asked {
                    Some(asked) => clickhouse::show(&app, Some(asked)),
                    None => app.dom.html("open").click(),
                }
            }
        }),
    );
    let actions = vec![get, sample_instead(&app)];
    notices::ask(&app.dom, notices::WANTED, false, &text, actions);
    app.show_state();
    render_empty(&app);
}

/// The person goes on with what is on screen: the link's file is not waited for any more.
pub fn give_up_wanted(app: &App) {
    let mut state = app.state_mut();
    if state.summary.is_some() && state.wanted.take().is_some() {
        notices::dismiss(&app.dom, notices::WANTED);
    }
}

/// Reads what the address names once more.
pub fn again(app: &App) {
    app.history.accept();
    follow_address(app);
}

/// What to do where nothing is drawn.
#[inline(never)]
pub fn render_empty(app: &App) {
    let state = app.state();
    let empty = state.summary.is_none() && state.reading.is_none();
    app.dom.show("empty", empty);
    let wanted = state.wanted.as_ref().map(|it| it.missing());
    let names: Vec<&str> = wanted
        .into_iter()
        .flatten()
        .filter_map(|it| match it {
            Source::File(mark) => Some(mark.name.as_str()),
            _ => None,
        })
        .collect();
    let text = match names.is_empty() {
        false => format!("Drop {} here.", names.join(" and ")),
        true => "Drop span files here, CSV or JSON, plain or .gz, or paste their text.".to_owned(),
    };
    app.dom.text("empty-text", &text);
    header::render_hint(app, &state);
}

/// What a browser calls secure enough to use its clipboard.
pub fn has_clipboard(app: &App) -> bool {
    let navigator = app.dom.window.navigator();
    Reflect::get(&navigator, &"clipboard".into()).is_ok_and(|it| it.is_object())
}
