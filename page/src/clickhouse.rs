//! The dialog that asks a ClickHouse for spans: what to ask, how many there are, and then the reading.
//!
//! Invariants: the query on screen is the one that is sent; nothing is read that was not counted, nor
//! more than the page takes; the password stays in its field, is never kept, and never meets an address
//! that a link brought. Pinned by `tests/browser/tests/clickhouse.rs`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::Date;
use web_sys::{AbortController, HtmlDialogElement, HtmlTextAreaElement, Url};

use crate::ask::{self, Refusal};
use crate::page::App;
use crate::{dom, header, open, theme};
use herdscope::clickhouse::{Asked, Counts, Query, refused};
use herdscope::format;
use herdscope::ingest::time::{parse_time, print_time};
use herdscope::messages::{Input, Password};

/// What the dialog knows besides its fields.
#[derive(Default)]
pub struct Dialog {
    /// How much there is of what the fields ask for, unsampled.
    counted: Cell<Option<Counts>>,
    /// The count that is under way.
    counting: RefCell<Option<AbortController>>,
}

/// Where the address, the user and the table are remembered.
const KEY: &str = "herdscope-clickhouse";
/// Until another time is asked for.
const FIRST_MINUTES: u32 = 15;
const MS: i64 = 1_000_000;

/// What cannot be asked, and the field that says it.
type Wrong = (&'static str, &'static str);

pub fn install(app: &Rc<App>) {
    app.on("clickhouse", "click", |app, _| show(app, None));
    app.on("ch-form", "input", |app, event| {
        // A sample needs no other count.
        match dom::closest(event, "#ch-sample") {
            Some(_) => wrong(app, None),
            None => forget(app),
        }
        render(app);
    });
    app.on("ch-form", "click", |app, event| {
        let minutes = dom::pressed(event, "data-minutes");
        if let Some(minutes) = minutes.and_then(|it| it.parse().ok()) {
            last(app, minutes);
            forget(app);
            render(app);
        }
    });
    app.on("ch-offer", "click", |app, _| {
        if let Some(rate) = offered(app) {
            app.dom.input("ch-sample").set_value(&rate.to_string());
            render(app);
            // An element that cannot be focused stays as it is.
            let _ = app.dom.html("ch-go").focus();
        }
    });
    app.on("ch-form", "submit", |app, event| {
        event.prevent_default();
        go(app);
    });
    app.on("ch-close", "click", |app, _| dialog(app).close());
    app.on("ch-dialog", "close", |app, _| forget(app));
}

/// Opens the dialog: as it was left, or with what a link asks for.
pub fn show(app: &App, asked: Option<&Asked>) {
    let input = |id: &str| app.dom.input(id);
    let kept = theme::storage(&app.dom).and_then(|it| it.get_item(KEY).ok()?);
    let kept = kept.and_then(|it| Asked::parse(&it));
    match asked {
        Some(asked) => {
            fill(app, asked);
            let times = [("ch-from", asked.query.from), ("ch-to", asked.query.to)];
            for (id, ns) in times {
                input(id).set_value(&ns.map(print_short).unwrap_or_default());
            }
            services(app).set_value(&asked.query.services.join("\n"));
            input("ch-sample").set_value(&asked.query.sample.unwrap_or(1).to_string());
        }
        None if input("ch-url").value().is_empty() => {
            if let Some(kept) = &kept {
                fill(app, kept);
            }
            last(app, FIRST_MINUTES);
        }
        None => {}
    }
    forget(app);
    render(app);
    let dialog = dialog(app);
    if !dialog.open() {
        app.report(dialog.show_modal());
    }
    let unknown = asked.is_some_and(|it| kept.is_none_or(|kept| kept.url != it.url));
    if unknown {
        let text = "The address comes from the link: look at it before you give a password.";
        app.dom.text("ch-says", text);
    }
    let first = match unknown || input("ch-url").value().is_empty() {
        true => "ch-url",
        false => "ch-password",
    };
    // An element that cannot be focused stays as it is.
    let _ = input(first).focus();
}

fn dialog(app: &App) -> HtmlDialogElement {
    app.dom.get("ch-dialog")
}

fn services(app: &App) -> HtmlTextAreaElement {
    app.dom.get("ch-services")
}

/// More spans than this are not read.
fn most(app: &App) -> u64 {
    let most = dialog(app).get_attribute("data-most");
    most.and_then(|it| it.parse().ok()).unwrap_or(0)
}

fn fill(app: &App, asked: &Asked) {
    for (id, value) in [
        ("ch-url", asked.url.as_str()),
        ("ch-user", &asked.user),
        ("ch-table", &asked.query.table),
        // It was meant for another server, perhaps.
        ("ch-password", ""),
    ] {
        app.dom.input(id).set_value(value);
    }
}

/// A window that ends now.
#[inline(never)]
fn last(app: &App, minutes: u32) {
    let now = Date::now();
    for (id, ms) in [("ch-from", now - f64::from(minutes) * 60e3), ("ch-to", now)] {
        app.dom
            .input(id)
            .set_value(&print_short(ms as i64 / 1000 * 1000 * MS));
    }
}

/// A time without the zeros of its fraction.
fn print_short(ns: i64) -> String {
    let text = print_time(ns);
    let text = text.trim_end_matches('Z').trim_end_matches('0');
    [text.trim_end_matches('.'), "Z"].concat()
}

/// What the fields ask for.
#[inline(never)]
fn read(app: &App) -> Result<Asked, Wrong> {
    let value = |id: &str| -> String { app.dom.input(id).value().trim().to_owned() };
    let url = value("ch-url");
    let Ok(parsed) = Url::new(&url) else {
        return Err((
            "ch-url",
            "the address is none: expected one as https://clickhouse.example:8443",
        ));
    };
    if !matches!(parsed.protocol().as_str(), "http:" | "https:") {
        return Err((
            "ch-url",
            "the address begins with neither http:// nor https://",
        ));
    }
    let local = ["localhost", "127.0.0.1"].contains(&&*parsed.hostname());
    let own = app.dom.window.location().origin();
    if parsed.protocol() == "http:" && !local && own.is_ok_and(|it| it != parsed.origin()) {
        return Err((
            "ch-url",
            "a page asks other machines over https:// alone, http:// is for this one: give the server TLS, or use the \
             command line",
        ));
    }
    let parameters = parsed.search_params();
    let holds_user = parameters.has("user") || parameters.has("password");
    if holds_user || !(parsed.username() + &parsed.password()).is_empty() {
        return Err((
            "ch-url",
            "the address holds a user or a password: give them in their own fields",
        ));
    }
    let table = value("ch-table");
    if table.split('.').any(str::is_empty) {
        return Err((
            "ch-table",
            "the table is to be named as TABLE or DATABASE.TABLE",
        ));
    }
    let time = |id: &'static str| match parse_time(&value(id), None) {
        Some(it) => Ok(it.ns),
        None => Err((
            id,
            "a time is missing: expected one as 2026-03-29T01:00:00Z, in UTC without a zone",
        )),
    };
    let (from, to) = (time("ch-from")?, time("ch-to")?);
    if from >= to {
        return Err(("ch-to", "the end is not after the beginning"));
    }
    let sample = match value("ch-sample").as_str() {
        "" => Some(1),
        text => text.parse().ok(),
    };
    let Some(sample @ 1..) = sample else {
        return Err(("ch-sample", "the sample is one whole trace in 1 or more"));
    };
    let services = services(app).value();
    let services = services.lines().map(str::trim).filter(|it| !it.is_empty());
    Ok(Asked {
        url,
        user: value("ch-user"),
        query: Query {
            table,
            from: Some(from),
            to: Some(to),
            services: services.map(str::to_owned).collect(),
            sample: Some(sample).filter(|&it| it > 1),
            ..Query::default()
        },
    })
}

/// Something else is asked for: what was counted is not about it.
#[inline(never)]
fn forget(app: &App) {
    let dialog = &app.clickhouse;
    dialog.counted.set(None);
    if let Some(counting) = dialog.counting.take() {
        counting.abort();
    }
    wrong(app, None);
}

/// Says what is wrong, at its field.
#[inline(never)]
fn wrong(app: &App, problem: Option<(&str, &str)>) {
    for id in ["ch-url", "ch-table", "ch-from", "ch-to", "ch-sample"] {
        let is_wrong = problem.is_some_and(|it| it.0 == id);
        dom::flag(&app.dom.html(id), "aria-invalid", is_wrong);
    }
    app.dom.show("ch-cors", false);
    app.dom.show("ch-problem", problem.is_some());
    let text = problem.map_or("", |it| it.1);
    app.dom.text("ch-problem", &header::sentence(text));
}

/// Counts, or reads what was counted.
fn go(app: &Rc<App>) {
    match read(app) {
        Err((field, text)) => {
            wrong(app, Some((field, text)));
            // An element that cannot be focused stays as it is.
            let _ = app.dom.html(field).focus();
        }
        Ok(asked) => match app.clickhouse.counted.get() {
            Some(counts) if fits(app, counts, &asked) => open(app, asked, counts),
            _ => count(app, asked),
        },
    }
}

fn count(app: &Rc<App>, asked: Asked) {
    forget(app);
    let Some(controller) = app.report(AbortController::new()) else {
        return;
    };
    let signal = controller.signal();
    app.clickhouse.counting.replace(Some(controller));
    render(app);
    let app = app.clone();
    let password = app.dom.input("ch-password").value();
    dom::spawn(Box::pin(async move {
        let sql = counting(app.as_ref(), &asked).how_many();
        let counted = match ask::ask(&asked, &password, &sql, &signal).await {
            Err(refusal) => Err(refusal),
            Ok(response) => {
                let text = ask::text(&response).await;
                Counts::parse(&text).ok_or_else(|| Refusal {
                    text: refused(response.status(), &text),
                    cors: false,
                })
            }
        };
        // Something else is asked for by now, or nothing.
        if signal.aborted() {
            return;
        }
        app.clickhouse.counting.take();
        match counted {
            Ok(counts) => app.clickhouse.counted.set(Some(counts)),
            Err(refusal) => {
                wrong(&app, Some(("", &refusal.text)));
                app.dom.show("ch-cors", refusal.cors);
            }
        }
        render(&app);
    }));
}

/// The query as it is counted: whole, so that a sample can be chosen by it.
fn counting(app: &App, asked: &Asked) -> Query {
    Query {
        sample: None,
        ..reading(app, asked)
    }
}

fn reading(app: &App, asked: &Asked) -> Query {
    Query {
        max_rows: most(app),
        ..asked.query.clone()
    }
}

/// Of so many spans, those that a query takes.
fn taken(counts: Counts, asked: &Asked) -> u64 {
    counts.spans / u64::from(asked.query.sample.unwrap_or(1))
}

fn fits(app: &App, counts: Counts, asked: &Asked) -> bool {
    (1..=most(app)).contains(&taken(counts, asked))
}

/// The sample that would fit.
fn offered(app: &App) -> Option<u32> {
    app.clickhouse.counted.get()?.sampling(most(app))
}

fn open(app: &App, asked: Asked, counts: Counts) {
    if let Some(storage) = theme::storage(&app.dom) {
        let kept = Asked {
            query: Query {
                table: asked.query.table.clone(),
                ..Query::default()
            },
            ..asked.clone()
        };
        // A browser that keeps nothing has the fields filled in next time.
        let _ = storage.set_item(KEY, &kept.to_string());
    }
    let input = Input::ClickHouse {
        asked: Box::new(asked.clone()),
        most: most(app),
        password: Password(app.dom.input("ch-password").value()),
    };
    dialog(app).close();
    open::read_asked(app, input, &asked, taken(counts, &asked));
}

#[inline(never)]
fn render(app: &App) {
    let dom = &app.dom;
    let asked = read(app);
    let busy = app.clickhouse.counting.borrow().is_some();
    let counts = app.clickhouse.counted.get();
    let fitting = match (counts, &asked) {
        (Some(counts), Ok(asked)) => fits(app, counts, asked).then(|| taken(counts, asked)),
        _ => None,
    };
    let sql = match &asked {
        Ok(asked) if fitting.is_some() => reading(app, asked).spans(),
        Ok(asked) => [
            "-- first, to count\n",
            &counting(app, asked).how_many(),
            "\n-- then\n",
            &reading(app, asked).spans(),
        ]
        .concat(),
        Err((_, why)) => ["-- ", why].concat(),
    };
    dom.text("ch-sql", &sql);
    let label = match (busy, fitting) {
        (true, _) => "Counting…".to_owned(),
        (_, Some(spans)) => ["Read ", &format::counted(spans, "span")].concat(),
        _ if counts.is_some() => "Count again".to_owned(),
        _ => "Count spans".to_owned(),
    };
    dom.text("ch-go", &label);
    let rate = offered(app).filter(|_| fitting.is_none());
    dom.show("ch-offer", rate.is_some());
    if let Some(rate) = rate {
        dom.text("ch-offer", &format!("Take 1 whole trace in {rate}"));
    }
    let says = match (counts, &asked) {
        (Some(counts), Ok(asked)) => says(app, counts, asked),
        _ => String::new(),
    };
    dom.text("ch-says", &says);
}

/// What was found, and what will come of it.
fn says(app: &App, counts: Counts, asked: &Asked) -> String {
    if counts.spans == 0 {
        return "No span starts in that time: check it, its zone and the services.".to_owned();
    }
    let spans = format::counted(counts.spans, "span");
    let found = format!(
        "{spans} in about {}",
        format::counted(counts.traces, "trace")
    );
    if !fits(app, counts, asked) {
        return format!(
            "{found}, more than the {} that this page takes: take a shorter time or only some services, or \
             sample whole traces.",
            format::count(most(app))
        );
    }
    match asked.query.sample {
        None => format!("{found}."),
        Some(rate) => format!(
            "{found}; 1 whole trace in {rate} is taken, chosen by its id. Rates will be {rate} times as high as \
             they look."
        ),
    }
}
