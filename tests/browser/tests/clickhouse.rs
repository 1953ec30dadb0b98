//! Opening from a ClickHouse: the dialog, what it sends, what comes, and what is said when nothing does.
//!
//! The server is that of the command line's tests, once for pages of other origins and once not; without one
//! (`cargo xtask test --only browser` brings it) the tests say that they are not run.

use std::path::PathBuf;
use std::sync::LazyLock;

use herdscope::clickhouse::{Asked, Query};
use herdscope::view::{FileRef, Source, View};
use herdscope_browser_tests::{Failure, Page, Point, Result, suite};
use serde_json::{Value, json};
use xtask::clickhouse::{Options, Server, python};

suite!(
    a_table_is_drawn_as_its_file_is,
    a_link_asks_again_and_holds_no_password,
    the_query_on_screen_is_the_one_that_is_sent,
    more_than_the_page_takes_is_sampled,
    what_is_wrong_is_said_in_the_dialog,
    a_server_without_cors_is_told,
    an_answer_that_breaks_off_leaves_what_was_there,
    cancel_brings_the_old_picture_back,
    the_dialog_holds_the_focus_and_gives_it_back,
    a_window_of_time_ends_at_the_last_whole_second,
);

const USER: &str = "reader";
const PASSWORD: &str = "s3cret: it's ü\\";

/// The settings of the breakers in the file, which made 20 transitions.
const BREAKER: &str = "window=5,min=5,fail=100%,open=10s,probes=2,judge=first-failure";

fn fixture() -> PathBuf {
    xtask::workspace().join("tests/fixtures/herd/twins.csv.gz")
}

fn start(cors: bool) -> Option<Server> {
    let options = Options {
        spans: &fixture(),
        many: 100,
        user: USER,
        password: PASSWORD,
        cors,
    };
    let server = python().map(|python| Server::start(&python, &options));
    server.map(|it| it.unwrap_or_else(|error| panic!("{error}")))
}

/// The server of all tests but one; it ends with this process.
fn server() -> Option<&'static Server> {
    static SERVER: LazyLock<Option<Server>> = LazyLock::new(|| start(true));
    said_if_none(SERVER.as_ref())
}

fn said_if_none(server: Option<&Server>) -> Option<&Server> {
    if server.is_none() {
        eprintln!("not run: `cargo xtask test --only browser` brings a ClickHouse");
    }
    server
}

/// All spans of a table, asked of that server.
fn asked(url: &str, table: &str) -> Asked {
    Asked {
        url: url.to_owned(),
        user: USER.to_owned(),
        query: Query {
            table: table.to_owned(),
            // 00:59 to 01:30 on 29 March 2026, UTC.
            from: Some(1_774_745_940_000_000_000),
            to: Some(1_774_747_800_000_000_000),
            ..Query::default()
        },
    }
}

fn link(view: View, asked: &Asked) -> String {
    let source = Some(Source::ClickHouse(Box::new(asked.clone())));
    let files = vec![FileRef { source, told: None }];
    let view = View { files, ..view };
    format!("/#{}", view.to_hash())
}

/// Opens the dialog by its button, and fills it in.
fn fill(page: &Page, url: &str, table: &str, password: &str) -> Result<()> {
    page.click("#clickhouse")?;
    page.wait_for("document.getElementById('ch-dialog').open")?;
    for (field, value) in [
        ("url", url),
        ("user", USER),
        ("password", password),
        ("table", table),
        ("from", "2026-03-29T00:59:00Z"),
        ("to", "2026-03-29 03:30:00 +02:00"),
    ] {
        page.write(&format!("#ch-{field}"), value)?;
    }
    Ok(())
}

/// Presses the button, and waits until something is said about what was counted.
fn count(page: &Page) -> Result<String> {
    page.click("#ch-go")?;
    page.wait_for(
        "document.getElementById('ch-says').textContent || !document.getElementById('ch-problem').hidden",
    )?;
    match page.is_shown("#ch-problem")? {
        true => page.text("#ch-problem"),
        false => page.text("#ch-says"),
    }
}

fn take_at_most(page: &Page, spans: u32) -> Result<()> {
    page.run(
        "document.getElementById('ch-dialog').dataset.most = arguments[0]",
        vec![json!(spans)],
    )?;
    Ok(())
}

fn a_table_is_drawn_as_its_file_is(page: &mut Page) -> Result<()> {
    let Some(server) = server() else {
        return Ok(());
    };
    page.show("/")?;
    page.drop_file(&fixture(), Point { x: 500.0, y: 450.0 })?;
    page.wait_for_file("twins.csv.gz")?;
    let of_file = page.picture()?;
    let facts = |page: &Page| -> Result<[String; 4]> {
        Ok([
            page.text("#file-facts")?,
            page.text("#edge")?,
            page.text("#breaker-figures")?,
            page.text("#herds-list")?,
        ])
    };
    let facts_of_file = facts(page)?;
    page.click("[data-key='tier:1']")?;
    page.picture()?;

    fill(page, server.url(), "otel.otel_traces", PASSWORD)?;
    assert_eq!(page.text("#ch-go")?, "Count spans");
    assert_eq!(count(page)?, "1,904 spans in about 553 traces.");
    assert_eq!(page.text("#ch-go")?, "Read 1,904 spans");
    page.click("#ch-go")?;
    let host = server.url().trim_start_matches("http://");
    page.wait_for_file(&format!("otel.otel_traces at {host}"))?;
    page.must_be_silent()?;
    assert!(!page.is_shown("#ch-dialog")?);
    assert_eq!(page.spans()?, 1904.0);
    assert_eq!(facts(page)?, facts_of_file);
    page.picture()?.must_be(&of_file, "straight from the table")
}

fn a_link_asks_again_and_holds_no_password(page: &mut Page) -> Result<()> {
    let Some(server) = server() else {
        return Ok(());
    };
    let mut asked = asked(server.url(), "otel.otel_traces");
    asked.query.services = vec!["inventory".to_owned(), "it's, no service".to_owned()];
    let view = View {
        edge: Some(("checkout".to_owned(), "inventory".to_owned())),
        breaker: Some(BREAKER.to_owned()),
        hidden: vec!["tier:1".to_owned()],
        ..View::default()
    };
    // What the link says of the cells and of failures holds for the answer.
    let told = "&as=failed=30s";
    page.open(&[&link(view.clone(), &asked), told].concat())?;
    page.wait_for("document.getElementById('ch-dialog').open")?;
    let message = page.wait_for_message(&["This link", "otel.otel_traces", "127.0.0.1"])?;
    assert!(!message.contains("http"), "{message}");
    let fields = page.value(
        "['url', 'user', 'password', 'table', 'from', 'to', 'services', 'sample'] \
         .map((it) => document.getElementById(`ch-${it}`).value)",
    )?;
    let expected = json!([
        server.url(),
        USER,
        "",
        "otel.otel_traces",
        "2026-03-29T00:59:00Z",
        "2026-03-29T01:30:00Z",
        "inventory\nit's, no service",
        "1"
    ]);
    assert_eq!(fields, expected);

    let says = page.text("#ch-says")?;
    assert!(says.contains("comes from the link"), "{says}");
    page.wait_for("document.activeElement.id == 'ch-url'")?;

    // Another time: what the link asks for is still there to be asked.
    page.press("Escape")?;
    page.wait_for("!document.getElementById('ch-dialog').open")?;
    page.click("#notices button:not(.close)")?;
    page.wait_for("document.getElementById('ch-dialog').open")?;
    page.write("#ch-password", PASSWORD)?;
    count(page)?;
    page.click("#ch-go")?;
    page.wait_for("document.documentElement.dataset.frames > 0")?;
    page.wait_until_still()?;
    page.must_be_silent()?;
    let shown = page.view()?;
    assert_eq!(
        shown.files[0].source,
        Some(Source::ClickHouse(Box::new(asked)))
    );
    assert_eq!(shown.files[0].told.as_deref(), Some("failed=30s"));
    assert_eq!((shown.edge, shown.hidden), (view.edge, view.hidden));
    // As the file's truth has them: to the nanosecond, the test of the command line shows.
    let figures = page.text("#breaker-figures")?;
    assert!(figures.contains("transitions20"), "{figures}");

    // It is nowhere but in its field.
    let kept = page.value(
        "JSON.stringify([location.href, {...localStorage}, {...sessionStorage}, document.cookie])",
    )?;
    let kept = kept.as_str().unwrap_or_default();
    assert!(
        kept.contains("reader") && !kept.contains("s3cret"),
        "{kept}"
    );
    // What is remembered is no link's.
    page.new_tab()?;
    page.show("/")?;
    page.click("#clickhouse")?;
    let remembered = page.value(
        "['url', 'user', 'password', 'table', 'services'].map((it) => document.getElementById(`ch-${it}`).value)",
    )?;
    assert_eq!(
        remembered,
        json!([server.url(), USER, "", "otel.otel_traces", ""])
    );
    page.wait_for("document.activeElement.id == 'ch-password'")?;
    Ok(())
}

/// Notes what is fetched, and answers nothing.
const NOTE_FETCHES: &str = "\
    window.sent = []; \
    window.fetch = (url, init) => { \
      window.sent.push({ url, method: init.method, body: init.body, headers: init.headers }); \
      return window.Promise.resolve(new Response('12\\t3\\n')); }";

fn the_query_on_screen_is_the_one_that_is_sent(page: &mut Page) -> Result<()> {
    page.show("/")?;
    page.run(NOTE_FETCHES, Vec::new())?;
    fill(
        page,
        "https://clickhouse.example:8443/?a=b",
        "otel.`x",
        "pass",
    )?;
    page.write("#ch-services", "it's\n\n  other ")?;
    page.write("#ch-sample", "3")?;
    take_at_most(page, 1000)?;
    let query = Query {
        table: "otel.`x".to_owned(),
        services: vec!["it's".to_owned(), "other".to_owned()],
        sample: Some(3),
        max_rows: 1000,
        ..asked("", "").query
    };
    page.write("#ch-user", "somebody")?;
    let whole = Query {
        sample: None,
        ..query.clone()
    };
    let shown = page.text("#ch-sql")?;
    for sql in [query.spans(), whole.how_many()] {
        assert!(shown.contains(&sql), "{shown}\nhas not\n{sql}");
    }
    assert_eq!(
        count(page)?,
        "12 spans in about 3 traces; 1 whole trace in 3 is taken, chosen by its id. Rates will be 3 times as \
         high as they look."
    );
    let sent = page.value("window.sent")?;
    let sent = sent.as_array().ok_or("nothing was sent")?;
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0]["method"], "POST");
    assert_eq!(sent[0]["body"], Value::String(whole.how_many()));
    assert_eq!(
        sent[0]["headers"],
        json!({ "X-ClickHouse-User": "somebody", "X-ClickHouse-Key": "pass" })
    );
    let url = sent[0]["url"].as_str().unwrap_or_default();
    assert!(
        url.starts_with("https://clickhouse.example:8443/?a=b&"),
        "{url}"
    );
    assert!(
        !url.contains("pass") && url.contains("add_http_cors_header=1"),
        "{url}"
    );

    // What was counted is about what is asked, and about nothing else.
    page.write("#ch-table", "otel.y")?;
    assert_eq!(page.text("#ch-go")?, "Count spans");
    assert_eq!(page.text("#ch-says")?, "");
    for (field, value, words) in [
        (
            "url",
            "clickhouse.example",
            "https://clickhouse.example:8443",
        ),
        ("url", "ftp://clickhouse.example", "http://"),
        ("url", "https://me:pw@clickhouse.example", "own fields"),
        (
            "url",
            "https://clickhouse.example/?password=pw",
            "own fields",
        ),
        ("table", "otel.", "DATABASE.TABLE"),
        ("from", "yesterday", "2026-03-29T01:00:00Z"),
        ("to", "2026-03-29T00:58:00Z", "not after"),
        ("sample", "0", "1 or more"),
    ] {
        let field = format!("#ch-{field}");
        let before = page.string(&format!("document.querySelector('{field}').value"))?;
        page.write(&field, value)?;
        page.click("#ch-go")?;
        page.wait_for("!document.getElementById('ch-problem').hidden")?;
        let problem = page.text("#ch-problem")?;
        assert!(problem.contains(words), "{value}: {problem}");
        let marked = "[aria-invalid=true]:focus";
        page.wait_for(&format!(
            "document.querySelector('{field}').matches('{marked}')"
        ))?;
        page.write(&field, &before)?;
        assert!(!page.is_shown("#ch-problem")?);
    }
    assert_eq!(page.number("window.sent.length")?, 1.0);
    Ok(())
}

fn more_than_the_page_takes_is_sampled(page: &mut Page) -> Result<()> {
    let Some(server) = server() else {
        return Ok(());
    };
    page.show("/")?;
    take_at_most(page, 100_000)?;
    fill(page, server.url(), "otel.many", PASSWORD)?;
    let says = count(page)?;
    for words in ["300,000 spans in about", "100,000 that this page takes"] {
        assert!(says.contains(words), "{says}");
    }
    assert_eq!(page.text("#ch-go")?, "Count again");
    assert_eq!(page.text("#ch-offer")?, "Take 1 whole trace in 4");
    page.click("#ch-offer")?;
    assert!(!page.is_shown("#ch-offer")?);
    assert_eq!(page.text("#ch-go")?, "Read 75,000 spans");
    let (says, sql) = (page.text("#ch-says")?, page.text("#ch-sql")?);
    assert!(says.contains("1 whole trace in 4"), "{says}");
    assert!(sql.contains("cityHash64(TraceId) % 4 = 0"), "{sql}");

    // Less would be too much again.
    page.write("#ch-sample", "2")?;
    assert_eq!(page.text("#ch-go")?, "Count again");
    page.write("#ch-sample", "4")?;
    page.click("#ch-go")?;
    page.wait_for("document.getElementById('file-name').textContent.startsWith('otel.many')")?;
    page.wait_until_still()?;
    page.must_be_silent()?;
    let spans = page.spans()?;
    assert!(
        (70_000.0..80_000.0).contains(&spans) && spans % 3.0 == 0.0,
        "{spans}"
    );
    let caution = page.text("#herds-cautions [data-code=sampled]")?;
    assert!(caution.contains("1 in 4"), "{caution}");
    let Some(Source::ClickHouse(asked)) = page.view()?.files[0].source.clone() else {
        return Err("the address does not say what was asked".into());
    };
    assert_eq!(asked.query.sample, Some(4));
    Ok(())
}

fn what_is_wrong_is_said_in_the_dialog(page: &mut Page) -> Result<()> {
    let Some(server) = server() else {
        return Ok(());
    };
    page.show("/")?;
    let picture = page.picture()?;
    let nowhere = "http://127.0.0.1:9";
    for (url, table, password, words) in [
        (
            server.url(),
            "otel.otel_traces",
            "wrong",
            ["check the user and the password", "refuses"],
        ),
        (
            server.url(),
            "otel.none",
            PASSWORD,
            ["otel.none", "DATABASE.TABLE"],
        ),
        (
            nowhere,
            "otel.otel_traces",
            PASSWORD,
            ["cannot be reached", "8123"],
        ),
        (
            "http://clickhouse.example:8123",
            "otel.otel_traces",
            PASSWORD,
            ["over https:// alone", "command line"],
        ),
    ] {
        fill(page, url, table, password)?;
        let problem = count(page)?;
        for word in words {
            assert!(problem.contains(word), "{problem}");
        }
        assert!(!page.is_shown("#ch-cors")?);
        assert_eq!(page.text("#ch-go")?, "Count spans");
        page.press("Escape")?;
        page.wait_for("!document.getElementById('ch-dialog').open")?;
    }
    page.must_be_silent()?;
    page.picture()?.must_be(&picture, "after refusals")?;
    // The browser logs what it does not let the page see.
    page.take_errors()?;
    Ok(())
}

fn a_server_without_cors_is_told(page: &mut Page) -> Result<()> {
    static SERVER: LazyLock<Option<Server>> = LazyLock::new(|| start(false));
    let Some(server) = said_if_none(SERVER.as_ref()) else {
        return Ok(());
    };
    page.show("/")?;
    fill(page, server.url(), "otel.otel_traces", PASSWORD)?;
    let problem = count(page)?;
    for word in ["CORS", "add_http_cors_header = 1", "http_options_response"] {
        assert!(problem.contains(word), "{problem}");
    }
    assert!(page.is_shown("#ch-cors")?);
    page.click("#ch-cors summary")?;
    let shown = page.text("#ch-cors")?;
    let docs = std::fs::read_to_string(xtask::workspace().join("docs/clickhouse.md"));
    let docs = docs.map_err(|error| Failure::new(error.to_string()))?;
    for words in [
        "/etc/clickhouse-server/config.d/cors.xml",
        "Access-Control-Allow-Origin",
        "POST, GET, OPTIONS",
    ] {
        assert!(shown.contains(words) && docs.contains(words), "{words}");
    }
    page.take_errors()?;
    Ok(())
}

fn an_answer_that_breaks_off_leaves_what_was_there(page: &mut Page) -> Result<()> {
    let Some(server) = server() else {
        return Ok(());
    };
    page.show("/")?;
    let (picture, view) = (page.picture()?, page.view()?);
    fill(page, server.url(), "otel.broken", PASSWORD)?;
    assert!(count(page)?.contains("300,000 spans"));
    page.click("#ch-go")?;
    let message =
        page.wait_for_message(&["otel.broken", "stopped in the middle", "a broken part"])?;
    assert_eq!(message.matches(". ").count(), 0, "one sentence: {message}");
    page.wait_until_still()?;
    assert_eq!(page.view()?, view);
    page.dismiss_messages()?;
    page.picture()?.must_be(&picture, "after half an answer")
}

fn cancel_brings_the_old_picture_back(page: &mut Page) -> Result<()> {
    let Some(server) = server() else {
        return Ok(());
    };
    page.show("/")?;
    let (picture, view, spans) = (page.picture()?, page.view()?, page.spans()?);
    fill(page, server.url(), "otel.many", PASSWORD)?;
    count(page)?;
    let frames = page.frames()?;
    page.click("#ch-go")?;
    page.wait_for(&format!(
        "document.documentElement.dataset.state == 'reading' && \
         document.documentElement.dataset.frames > {frames} && \
         Number(document.querySelector('#reading-bar').getAttribute('aria-valuenow')) > 0"
    ))?;
    page.click("#cancel")?;
    page.wait_for_message(&["otel.many", "stopped"])?;
    page.wait_until_still()?;
    assert_eq!((page.view()?, page.spans()?), (view, spans));
    page.dismiss_messages()?;
    page.picture()?.must_be(&picture, "after a cancel")?;
    // The server has let go of it: another question is answered.
    fill(page, server.url(), "otel.otel_traces", PASSWORD)?;
    assert_eq!(count(page)?, "1,904 spans in about 553 traces.");
    Ok(())
}

fn the_dialog_holds_the_focus_and_gives_it_back(page: &mut Page) -> Result<()> {
    page.show("/")?;
    page.run("document.getElementById('clickhouse').focus()", Vec::new())?;
    page.press("Enter")?;
    page.wait_for("document.activeElement.id == 'ch-url'")?;
    let unnamed = page.value(
        "[...document.querySelectorAll('#ch-dialog :is(input, textarea)')].filter((it) => !it.labels.length).length",
    )?;
    assert_eq!(unnamed, json!(0));
    for _ in 0..20 {
        page.press("Tab")?;
        let inside = "document.activeElement == document.body || document.activeElement.closest('#ch-dialog') != null";
        assert_eq!(page.value(inside)?, Value::Bool(true));
    }
    page.press("Escape")?;
    page.wait_for("!document.getElementById('ch-dialog').open")?;
    page.wait_for("document.activeElement.id == 'clickhouse'")?;
    Ok(())
}

fn a_window_of_time_ends_at_the_last_whole_second(page: &mut Page) -> Result<()> {
    page.show("/")?;
    // The page's clock stands still, so that it cannot tick between a press and a look.
    page.run("window.Date.now = () => 1774747800999", Vec::new())?;
    page.click("#clickhouse")?;
    page.wait_for("document.getElementById('ch-dialog').open")?;
    for (press, from) in [
        (None, "2026-03-29T01:15:00Z"),
        (Some(60), "2026-03-29T00:30:00Z"),
        (Some(15), "2026-03-29T01:15:00Z"),
    ] {
        if let Some(minutes) = press {
            page.click(&format!("[data-minutes='{minutes}']"))?;
        }
        let window = "['from', 'to'].map((it) => document.getElementById(`ch-${it}`).value)";
        assert_eq!(page.value(window)?, json!([from, "2026-03-29T01:30:00Z"]));
    }
    Ok(())
}
