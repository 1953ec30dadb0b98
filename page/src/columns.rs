//! The dialog that asks which column of a table is what, for headers that nobody knows.
//!
//! Invariants: what was chosen is a [`Told`], the same that a link carries; it is kept on this device
//! for the next file with these headers, in whatever order, only once it has been read so.

use std::cell::RefCell;
use std::rc::Rc;

use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlDialogElement, HtmlSelectElement};

use crate::page::App;
use crate::reading::{self, Given, Plan, told_of};
use crate::{dom, notices, theme};
use herdscope::ingest::exporters::Field;
use herdscope::ingest::{Told, Unmapped};
use herdscope::messages::Refused;
use herdscope::order;

/// What the dialog asks about.
#[derive(Default)]
pub struct Columns(RefCell<Option<Question>>);

struct Question {
    plan: Plan,
    /// The place of the file in the plan.
    at: usize,
    table: Unmapped,
}

const FIELDS: [(&str, &str); 19] = [
    ("", "—"),
    ("trace", "trace id"),
    ("span", "span id"),
    ("parent", "parent's span id"),
    ("start", "start"),
    ("end", "end"),
    ("duration", "duration"),
    ("service", "service"),
    ("operation", "operation"),
    ("kind", "kind"),
    ("status", "status"),
    ("error", "error"),
    ("success", "success"),
    ("http", "HTTP status"),
    ("grpc", "gRPC status"),
    ("message", "message"),
    ("instance", "instance (pod)"),
    ("peer", "called service"),
    ("attributes", "attributes"),
];

const UNITS: [(&str, &str); 5] = [
    ("", "unit: guess"),
    ("ns", "ns"),
    ("us", "us"),
    ("ms", "ms"),
    ("s", "s"),
];

pub fn install(app: &Rc<App>) {
    app.on("columns-draw", "click", |app, event| {
        event.prevent_default();
        draw(app);
    });
}

fn dialog(app: &App) -> HtmlDialogElement {
    app.dom.get("columns-dialog")
}

/// The columns of a file are not known: they are as told before on this device, or the person is asked.
pub fn ask(app: &App, mut plan: Plan, hopeless: &[u32], refused: &Refused) {
    let (Some(table), at) = (&refused.unmapped, refused.input as usize) else {
        return;
    };
    // Those that cannot be read are left out from now on.
    let mut place = 0;
    plan.inputs.retain(|_| {
        place += 1;
        !hopeless.contains(&(place - 1))
    });
    let at = at - hopeless.iter().filter(|&&it| (it as usize) < at).count();
    let Some(given) = plan.inputs.get_mut(at) else {
        return;
    };
    let told: Told = told_of(&given.told);
    let tried = !told.columns.is_empty();
    match kept(app, &table.headers).filter(|_| !tried) {
        Some(kept) => {
            given.told = told.and(kept).to_string();
            plan.recalled.push(given.name());
            reading::read_given(app, plan);
        }
        None => {
            let problem = if tried { refused.text.as_str() } else { "" };
            open(app, plan, at, table, problem);
        }
    }
}

/// Asks anew about a file that was read as the person has told.
pub fn change(app: &App, file: usize) {
    let Some(summary) = app.state().summary.clone() else {
        return;
    };
    let head = summary.files.get(file).and_then(|it| it.head.as_ref());
    if let Some(head) = head {
        let plan = Plan::new(app.state().inputs.clone(), app.view());
        open(app, plan, file, head, "");
    }
}

fn open(app: &App, plan: Plan, at: usize, table: &Unmapped, problem: &str) {
    let given = &plan.inputs[at];
    let told = told_of(&given.told);
    render(app, &given.name(), table, &told);
    say(app, problem);
    let table = table.clone();
    app.columns.0.replace(Some(Question { plan, at, table }));
    let dialog = dialog(app);
    if !dialog.open() {
        app.report(dialog.show_modal());
    }
}

/// A plan was read: what the person chose for it is kept, what was chosen another time is said.
pub fn was_read(app: &App, plan: &Plan) {
    if let Some(question) = app.columns.0.take()
        && let Some(given) = question.given(plan)
        && let Some(storage) = theme::storage(&app.dom)
    {
        // A browser that keeps nothing asks again next time.
        let _ = storage.set_item(&key(&question.table.headers), &given.told);
    }
    let Some(name) = plan.recalled.first() else {
        return;
    };
    let file = plan.inputs.iter().position(|it| it.name() == *name);
    let text = format!("The columns of {name} are as you have told on this device.");
    let app = app.rc();
    let dom = app.dom.clone();
    let again = move || change(&app, file.unwrap_or_default());
    let actions: Vec<notices::Action> = vec![("Change…", Box::new(again))];
    notices::ask(&dom, notices::COLUMNS, false, &text, actions);
}

impl Question {
    /// The file as it was read, if it was read as the person chose here.
    fn given<'a>(&self, plan: &'a Plan) -> Option<&'a Given> {
        let told = &self.plan.inputs.get(self.at)?.told;
        plan.inputs.get(self.at).filter(|it| it.told == *told)
    }
}

/// Under which name the columns of such a table are kept.
fn key(headers: &[String]) -> String {
    let headers = order::sorted(headers.to_vec(), &mut Ord::cmp);
    ["columns:", &headers.join("\n")].concat()
}

fn kept(app: &App, headers: &[String]) -> Option<Told> {
    let text = theme::storage(&app.dom)?.get_item(&key(headers)).ok()??;
    text.parse().ok()
}

fn render(app: &App, name: &str, table: &Unmapped, before: &Told) {
    let dom = &app.dom;
    dom.text("columns-name", name);
    let body = dom.html("columns-table");
    dom::clear(&body);
    let row = |tag: &str, cells: &[String]| {
        let row = dom.add(&body, "tr", "", "");
        for cell in cells {
            dom.add(&row, tag, "", cell);
        }
        row
    };
    row("th", &table.headers);
    let choices = row("td", &[]);
    for (at, header) in table.headers.iter().enumerate() {
        let mut field = "";
        let mut unit = "";
        for (of, name) in &before.columns {
            if name == header {
                field = of.as_str();
                unit = before.unit(*of).map_or("", |it| it.as_str());
            }
        }
        for (of, column) in &table.guesses {
            if *column as usize == at && before.columns.is_empty() {
                field = of;
            }
        }
        let cell = dom.add(&choices, "td", "", "");
        let what = select(app, "What is ", header, &FIELDS, field);
        let unit = select(app, "Unit of ", header, &UNITS, unit);
        dom::fill(&cell, &[&what, &unit]);
    }
    for cells in &table.rows {
        row("td", cells);
    }
}

/// A choice of values and their labels; the stylesheet shows units of times alone.
#[inline(never)]
fn select(app: &App, label: &str, of: &str, options: &[(&str, &str)], chosen: &str) -> Element {
    let select = app.dom.new_element("select", "", "");
    dom::set(&select, "aria-label", &[label, of].concat());
    for (value, label) in options {
        let option = app.dom.add(&select, "option", "", label);
        dom::set(&option, "value", value);
        if *value == chosen {
            dom::set(&option, "selected", "");
        }
    }
    select.into()
}

/// The values of the selects: what each column is, and its unit.
fn chosen(app: &App) -> Vec<String> {
    let all = app
        .dom
        .html("columns-table")
        .get_elements_by_tag_name("select");
    let mut values = Vec::new();
    for at in 0..all.length() {
        let select = all.item(at).and_then(|it| it.dyn_into().ok());
        values.push(select.map_or_else(String::new, |it: HtmlSelectElement| it.value()));
    }
    values
}

fn say(app: &App, problem: &str) {
    app.dom.text("columns-problem", problem);
    app.dom.show("columns-problem", !problem.is_empty());
}

fn draw(app: &App) {
    let chosen = match app.columns.0.borrow().as_ref() {
        Some(question) => read(app, &question.table),
        None => return,
    };
    let told = match chosen {
        Ok(told) => told,
        Err(problem) => return say(app, &problem),
    };
    let plan = match app.columns.0.borrow_mut().as_mut() {
        Some(question) => {
            let given = &mut question.plan.inputs[question.at];
            let before: Told = told_of(&given.told);
            let before = Told {
                columns: Vec::new(),
                ..before
            };
            given.told = before.and(told).to_string();
            question.plan.clone()
        }
        None => return,
    };
    app.state_mut().wanted = None;
    dialog(app).close();
    reading::read_given(app, plan);
}

/// What was chosen, or why it is not enough.
fn read(app: &App, table: &Unmapped) -> Result<Told, String> {
    let mut told = Told::default();
    let chosen = chosen(app);
    for (at, header) in table.headers.iter().enumerate() {
        let Some(field) = Field::named(&chosen[2 * at]) else {
            continue;
        };
        if field != Field::Attributes && has(&told, field) {
            let name = field.as_str();
            return Err(["Two columns cannot both be the ", name, ": choose one."].concat());
        }
        told.columns.push((field, header.clone()));
        let unit = &chosen[2 * at + 1];
        if !unit.is_empty() {
            // Of what is no time, none can be told.
            told = told.and(told_of(&[field.as_str(), "=@", unit].concat()));
        }
    }
    let extent = has(&told, Field::Duration) || has(&told, Field::End);
    let trace = has(&told, Field::Trace);
    let named = [Field::Span, Field::Service, Field::Operation];
    let named = trace || named.iter().any(|it| has(&told, *it));
    let enough = extent && named || trace && has(&told, Field::Span);
    if !has(&told, Field::Start) || !enough {
        let text = "Say which column is the start, which the duration or the end, and which a trace, a span, a service or an operation.";
        return Err(text.to_owned());
    }
    // A guess that was taken back is not guessed again.
    for (field, _) in &table.guesses {
        if let Some(field) = Field::named(field)
            && !has(&told, field)
        {
            told.columns.push((field, String::new()));
        }
    }
    Ok(told)
}

fn has(told: &Told, field: Field) -> bool {
    told.columns.iter().any(|it| it.0 == field)
}
