//! The reading: what is asked of the engine, how far it is, and what comes of it.
//!
//! Invariants: until files have been read to their end, what was on screen stays and comes back, or
//! what was on its way to be the first thing there is read again; a view becomes the page's only
//! together with the data it is about. The files that are open are [`State::inputs`]: a list that can
//! be read again with one more, one less, or something else said about one.
//!
//! [`State::inputs`]: crate::page::State

use std::rc::Rc;

use web_sys::File;

use crate::history::Gesture;
use crate::open::{self, render_empty};
use crate::page::App;
use crate::{columns, dom, notices, panes, row, seek, tools};
use herdscope::ingest::{Told, Unmapped};
use herdscope::messages::{Input, Opening, Progress, Refused, Request, Summary};
use herdscope::view::{FileMark, Source, View, Viewport};
use herdscope::viewport;
use herdscope::{files, format};

/// One of the files, as it can be read again.
#[derive(Clone)]
pub struct Given {
    pub input: Input,
    pub file: Option<File>,
    /// What the person says about it, as text.
    pub told: String,
}

/// What is to be read, and how it will be looked at.
#[derive(Clone, Default)]
pub struct Plan {
    pub inputs: Vec<Given>,
    pub view: View,
    /// Whether the address already says so.
    pub from_address: bool,
    /// The files that a link asked for.
    pub wanted: Vec<FileMark>,
    /// How many spans will come, nearly, where that was asked before.
    pub expected: Option<u64>,
    /// Files whose columns were told another time, on this device.
    pub recalled: Vec<String>,
}

/// What is being read.
pub struct Reading {
    id: u32,
    pub plan: Plan,
    /// Whether the person gave it, rather than the address.
    given: bool,
    /// The first reading of the page, which this one has interrupted.
    before: Option<Box<Reading>>,
    /// What has been read so far, once there is something to draw.
    pub preview: Option<Viewport>,
    progress: Option<Progress>,
}

impl Given {
    /// A file of the person's.
    pub fn file(file: File, pasted: bool) -> Given {
        Given {
            input: Input::File {
                name: file.name(),
                size: file.size() as u64,
                pasted,
            },
            file: Some(file),
            told: String::new(),
        }
    }

    /// What it is called.
    pub fn name(&self) -> String {
        self.input.name()
    }
}

impl Plan {
    /// To read these, and look at them so.
    #[inline(never)]
    pub fn new(inputs: Vec<Given>, view: View) -> Plan {
        Plan {
            inputs,
            view,
            ..Plan::default()
        }
    }
}

/// What a text says about a file; texts that were not checked do not get here.
#[inline(never)]
pub fn told_of(text: &str) -> Told {
    text.parse().unwrap_or_default()
}

impl Reading {
    fn name(&self) -> String {
        let names: Vec<String> = self.plan.inputs.iter().map(Given::name).collect();
        names.join(" + ")
    }
}

/// Reads what the person gave. Where nothing has been read yet, what it interrupts comes back if it
/// cannot be read.
#[inline(never)]
pub fn read_given(app: &App, plan: Plan) {
    let before = {
        let mut state = app.state_mut();
        let first = state.summary.is_none();
        state.reading.take().filter(|_| first).map(Box::new)
    };
    read(app, plan);
    if let Some(reading) = app.state_mut().reading.as_mut() {
        reading.given = true;
        reading.before = before;
    }
}

/// Reads.
#[inline(never)]
pub fn read(app: &App, plan: Plan) {
    let opening = |it: &Given| Opening {
        input: it.input.clone(),
        told: it.told.clone(),
    };
    let files: Vec<File> = plan
        .inputs
        .iter()
        .filter_map(|it| it.file.clone())
        .collect();
    let request = Request::Open(plan.inputs.iter().map(opening).collect());
    begin(app, plan, &request, &files);
}

/// Takes what is said about failures and tries as it is in the plan's files, of which nothing else
/// has changed: that is told from the table, and nothing is read again.
#[inline(never)]
pub fn judge(app: &App, plan: Plan) {
    let told: Told = match plan.inputs.first() {
        Some(it) => told_of(&it.told),
        None => return,
    };
    let request = Request::Judge {
        failed_over: told.failed_over,
        logical: told.logical,
    };
    begin(app, plan, &request, &[]);
}

#[inline(never)]
fn begin(app: &App, plan: Plan, request: &Request, files: &[File]) {
    for key in [
        notices::READING,
        notices::SENT,
        notices::WANTED,
        notices::COLUMNS,
    ] {
        notices::dismiss(&app.dom, key);
    }
    let Some(id) = app.report(app.client.open(request, files)) else {
        return;
    };
    app.state_mut().reading = Some(Reading {
        id,
        plan,
        given: false,
        before: None,
        preview: None,
        progress: None,
    });
    seek::forget(app);
    row::close(app);
    render_reading(app);
    app.show_state();
}

/// Stops the reading, if there is one.
pub fn cancel(app: &App) -> bool {
    let reading = app.state().reading.is_some();
    if reading {
        app.report(app.client.send(&Request::Cancel));
    }
    reading
}

fn is_current(app: &App, id: u32) -> bool {
    app.state().reading.as_ref().is_some_and(|it| it.id == id)
}

/// How far the reading is.
pub fn progress(app: &App, id: u32, progress: Progress) {
    if !is_current(app, id) {
        return;
    }
    let preview = progress.preview;
    dom::set(&app.dom.root(), "data-spans", &progress.spans.to_string());
    if let Some(reading) = app.state_mut().reading.as_mut() {
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
    let Some(reading) = app.state_mut().reading.take() else {
        return;
    };
    let mut plan = reading.plan;
    say_differing(app, &plan, &summary);
    let read = |line: &herdscope::messages::FileLine| {
        let given = plan.inputs.get(line.input as usize)?;
        Some(Given {
            told: line.told.clone(),
            ..given.clone()
        })
    };
    let inputs: Vec<Given> = summary.files.iter().filter_map(read).collect();
    plan.view.files = files::refs(&summary.files);
    dom::set(&app.dom.root(), "data-spans", &summary.spans.to_string());
    {
        let mut state = app.state_mut();
        for (line, given) in summary.files.iter().zip(&inputs) {
            if let (Some(Source::File(mark)), Some(file)) = (&line.source, &given.file) {
                state.files.retain(|(it, _)| it != mark);
                state.files.push((mark.clone(), file.clone()));
            }
        }
        state.inputs = inputs;
        state.detail = None;
    }
    let (refused, full) = (summary.refused.clone(), summary.full);
    app.state_mut().summary = Some(Rc::new(summary));
    seek::forget(app);
    panes::forget(app);
    settle(app, plan.view.clone(), plan.from_address);
    render_reading(app);
    app.render_controls();
    app.request_frame();
    columns::was_read(app, &plan);
    if let Some(of) = full {
        offer_sample(app, of);
    }
    refuse(app, plan, &refused);
}

/// Says that not all could be read, and offers to read some traces of all of it.
fn offer_sample(app: &App, of: u32) {
    let text = format!(
        "The memory that a page may take is full, so the rest was not read. Of the whole, one of {of} traces would fit."
    );
    let app = app.rc();
    let read = Box::new({
        let app = app.clone();
        move || {
            let mut plan = Plan::new(app.state().inputs.clone(), app.view());
            for it in &mut plan.inputs {
                let mut told = told_of(&it.told);
                told.sample = Some(of);
                it.told = told.to_string();
            }
            read_given(&app, plan);
        }
    });
    let action: notices::Action = ("Read these", read);
    notices::ask(&app.dom, notices::READING, false, &text, vec![action]);
}

/// Says of each file that a link asked for that another was given instead; a name makes no other.
fn say_differing(app: &App, plan: &Plan, summary: &Summary) {
    let same = |a: &FileMark, b: &FileMark| (a.size, a.hash) == (b.size, b.hash);
    let mut others: Vec<&FileMark> = summary
        .files
        .iter()
        .filter_map(|it| match &it.source {
            Some(Source::File(mark)) => Some(mark),
            _ => None,
        })
        .collect();
    let mut missed: Vec<&FileMark> = plan.wanted.iter().collect();
    missed.retain(
        |wanted| match others.iter().position(|it| same(it, wanted)) {
            Some(at) => {
                others.remove(at);
                false
            }
            None => true,
        },
    );
    for (wanted, other) in missed.into_iter().zip(others) {
        notices::add(&app.dom, notices::LINK, &differs(wanted, other));
    }
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
pub fn settle(app: &App, mut view: View, from_address: bool) {
    let summary = app.state().summary.clone();
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
    app.state_mut().detail = None;
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

/// None of the files could be read; what was there before is back.
pub fn failed(app: &App, id: u32, refused: &[Refused]) {
    if is_current(app, id)
        && let Some(reading) = end(app)
    {
        refuse(app, reading, refused);
    }
}

/// Says which files could not be read, or asks what their columns are.
fn refuse(app: &App, plan: Plan, refused: &[Refused]) {
    // Spans take three columns at the least: what began when, for how long.
    let could_be = |table: &Unmapped| table.headers.len() > 2 && !table.rows.is_empty();
    let asks = |it: &&Refused| it.unmapped.as_deref().is_some_and(could_be);
    let (unknown, others): (Vec<_>, Vec<_>) = refused.iter().partition(asks);
    let hopeless: Vec<u32> = others.iter().map(|it| it.input).collect();
    if !others.is_empty() {
        let texts: Vec<&str> = others.iter().map(|it| it.text.as_str()).collect();
        notices::error(&app.dom, notices::READING, &texts.join(" "));
    }
    if let Some(first) = unknown.first() {
        columns::ask(app, plan, &hopeless, first);
    }
}

/// The reading was stopped; what was there before is back.
pub fn cancelled(app: &App, id: u32) {
    if is_current(app, id) {
        let name = app.state().reading.as_ref().map(Reading::name);
        end(app);
        let text = format!("Reading {} was stopped.", name.unwrap_or_default());
        notices::tell(&app.dom, notices::READING, &text);
    }
}

/// Ends the reading; what was planned comes back.
fn end(app: &App) -> Option<Plan> {
    let (ended, spans, view) = {
        let mut state = app.state_mut();
        (
            state.reading.take(),
            state.summary.as_ref().map_or(0, |it| it.spans),
            state.view.clone(),
        )
    };
    dom::set(&app.dom.root(), "data-spans", &spans.to_string());
    // The address goes back to what is shown, unless it asks for a file that may come yet.
    let asks = app.state().wanted.is_some();
    if app.state().summary.is_some() && !asks {
        app.report(app.history.note(&view, Gesture::Settle));
        app.report(app.history.flush());
    }
    let ended = ended?;
    if app.state().summary.is_none() {
        resume(app, ended.given, ended.before);
    }
    render_reading(app);
    app.request_frame();
    Some(ended.plan)
}

/// Nothing is there to come back to: what the reading that ended has interrupted begins anew, or the
/// link asks for its data again.
fn resume(app: &App, given: bool, mut next: Option<Box<Reading>>) {
    if let Some(reading) = next.take() {
        read(app, reading.plan);
        if let Some(begun) = app.state_mut().reading.as_mut() {
            begun.given = reading.given;
            begun.before = reading.before;
        }
        return;
    }
    let (named, _) = View::parse(&app.history.hash());
    let is_sample =
        |it: &herdscope::view::FileRef| matches!(it.source, None | Some(Source::Sample(_)));
    if given && !named.files.iter().all(is_sample) {
        open::again(app);
    }
}

/// The bar.
pub fn render_reading(app: &App) {
    render_empty(app);
    let dom = &app.dom;
    let state = app.state();
    let Some(reading) = &state.reading else {
        return dom.show("reading", false);
    };
    dom.show("reading", true);
    let bar = dom.html("reading-bar");
    let (percent, text) = match &reading.progress {
        None => (None, [&reading.name(), " …"].concat()),
        Some(it) => {
            let percent = it
                .total
                .filter(|&total| total > 0)
                .map(|total| (it.bytes as f64 * 100.0 / total as f64).clamp(0.0, 100.0))
                .or_else(|| {
                    let spans = reading.plan.expected?;
                    Some((it.spans as f64 * 100.0 / spans as f64).clamp(0.0, 100.0))
                });
            let done = percent.map_or_else(
                || format::bytes(it.bytes),
                |it| [&format::fixed(it, 0), " %"].concat(),
            );
            let speed = format::speed(it.bytes, it.elapsed_ms);
            let spans = format::counted(it.spans, "span");
            (
                percent,
                [&it.name, " · ", &done, " · ", &speed, " · ", &spans].concat(),
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
