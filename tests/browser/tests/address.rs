//! Data at an address: leave is asked before another host is, nothing of the person goes there, and a refusal is
//! said in words.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use herdscope::view::Source;
use herdscope_browser_tests::files;
use herdscope_browser_tests::{Page, Result, Truth, suite};

suite!(
    the_pages_own_host_is_read_at_once,
    another_host_is_asked_with_leave_and_told_nothing,
    a_host_that_is_refused_is_not_asked,
    a_row_is_fetched_again_and_nothing_told,
    what_is_refused_is_said,
    a_stream_fills_the_plot_and_can_be_stopped,
);

/// A host of somebody else's: `/open/` lets every page read, `/closed/` none, `/slow/` never ends.
struct Host {
    address: String,
    /// The requests, as they came.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Host {
    fn start() -> Result<Host> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|it| it.to_string())?;
        let address = listener.local_addr().map_err(|it| it.to_string())?;
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let note = asked.clone();
        let (rows, many) = (files::first_rows(300)?, files::first_rows(20_000)?);
        // The thread ends with the tests.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (note, rows, many) = (note.clone(), rows.clone(), many.clone());
                std::thread::spawn(move || answer(stream, &note, &rows, &many));
            }
        });
        let address = format!("http://{address}");
        Ok(Host { address, asked })
    }

    fn asked(&self) -> Vec<String> {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// One request a connection; who breaks off has seen enough.
fn answer(mut stream: TcpStream, asked: &Mutex<Vec<String>>, rows: &str, many: &str) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n > 0) {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    asked
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(head);
    let closed = path.starts_with("/closed/");
    let leave = if closed {
        ""
    } else {
        "Access-Control-Allow-Origin: *\r\n"
    };
    let slow = path.starts_with("/slow/");
    let (status, body) = match path.as_str() {
        "/open/gone.csv" => ("404 Not Found", ""),
        "/open/page.csv" => ("200 OK", "<!doctype html><title>Sign in</title>"),
        _ if slow => ("200 OK", many),
        _ => ("200 OK", rows),
    };
    let length = if slow { body.len() * 4 } else { body.len() };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\nSet-Cookie: who=me\r\n{leave}\r\n"
    );
    // How far a reading is, is said every now and then: the last rows trickle, so that it is said of them.
    let trickle = if slow { 10_000 } else { 0 };
    let (first, last) = body.as_bytes().split_at(body.len() - trickle);
    let mut sent = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(first));
    for drop in last.chunks(1_000) {
        std::thread::sleep(Duration::from_millis(70));
        sent = sent.and_then(|()| stream.write_all(drop));
    }
    if slow && sent.is_ok() {
        // Until the other end has gone.
        let _ = stream.read(&mut byte);
    }
}

fn the_pages_own_host_is_read_at_once(page: &mut Page) -> Result<()> {
    let url = page.url("/fixtures/herd/twins.csv.gz")?;
    page.show(&format!("/#v=1&src={url}"))?;
    page.wait_for_file("twins.csv.gz")?;
    page.must_be_silent()?;
    assert_eq!(page.view()?.files[0].source, Some(Source::Url(url)));
    page.new_tab()?;
    page.open(&format!("/#v=1&src={}", page.url("/nothing.csv")?))?;
    page.wait_for_message(&["nothing.csv", "404", "download"])?;
    page.take_errors()?;
    Ok(())
}

fn another_host_is_asked_with_leave_and_told_nothing(page: &mut Page) -> Result<()> {
    let host = Host::start()?;
    let url = format!("{}/open/spans.csv", host.address);
    page.show("/")?;
    page.run("document.cookie = 'who=me'", Vec::new())?;
    page.open(&format!("/#v=1&src={url}&pane=breaker"))?;
    page.wait_for_message(&["reads its data from", &url])?;
    assert_eq!(host.asked(), Vec::<String>::new());
    assert_eq!(page.frames()?, 0.0);
    page.click("#notices button:not(.close)")?;
    page.wait_for_file("spans.csv")?;
    page.must_be_silent()?;
    assert_eq!(page.spans()?, 300.0);
    let asked = host.asked();
    assert_eq!(asked.len(), 1);
    let head = asked[0].to_ascii_lowercase();
    assert!(
        !head.contains("cookie:") && !head.contains("referer:"),
        "{head}"
    );
    // Once more there is no question, and the cookie that came with the answer does not go back.
    let link = page.address()?;
    page.new_tab()?;
    page.open(&link)?;
    page.wait_for_file("spans.csv")?;
    page.must_be_silent()?;
    assert_eq!(host.asked().len(), 2);
    assert!(
        host.asked()
            .iter()
            .all(|it| !it.to_ascii_lowercase().contains("cookie:"))
    );
    Ok(())
}

/// The sample instead, nothing is asked, and the question comes again.
fn a_host_that_is_refused_is_not_asked(page: &mut Page) -> Result<()> {
    let [host, second] = [Host::start()?, Host::start()?];
    let url = |host: &Host| format!("{}/open/spans.csv", host.address);
    let link = format!("/#v=1&src={}&src={}", url(&host), url(&second));
    for _ in 0..2 {
        page.open(&link)?;
        // Both are named.
        page.wait_for_message(&[
            "reads its data from",
            &url(&host),
            &url(&second),
            "Nothing has been fetched",
        ])?;
        page.click("#notices button:nth-of-type(2)")?;
        page.wait_for_file("sample incident")?;
        page.wait_for_message(&["Nothing was fetched from"])?;
    }
    assert_eq!(host.asked(), Vec::<String>::new());
    assert_eq!(second.asked(), Vec::<String>::new());
    // One of them is agreed to: the other is asked about, not both.
    page.open(&format!("/#v=1&src={}", url(&host)))?;
    page.wait_for_message(&["reads its data from"])?;
    page.click("#notices button:not(.close)")?;
    page.wait_for_file("spans.csv")?;
    page.open(&link)?;
    let said = page.wait_for_message(&["reads its data from", &url(&second)])?;
    assert!(!said.contains(&url(&host)), "{said}");
    assert_eq!(second.asked(), Vec::<String>::new());
    Ok(())
}

fn what_is_refused_is_said(page: &mut Page) -> Result<()> {
    let host = Host::start()?;
    let nobody = TcpListener::bind("127.0.0.1:0").map_err(|it| it.to_string())?;
    let nobody_at = nobody.local_addr().map_err(|it| it.to_string())?;
    drop(nobody);
    page.show("/")?;
    let mut agreed = std::collections::BTreeSet::new();
    for (url, words) in [
        (
            format!("{}/open/gone.csv", host.address),
            vec!["gone.csv", "404", "drop it here"],
        ),
        (
            format!("{}/closed/spans.csv", host.address),
            vec![
                "cannot be fetched",
                "does not let other pages read it",
                "drop it here",
            ],
        ),
        (
            format!("http://{nobody_at}/spans.csv"),
            vec!["cannot be fetched", "no connection"],
        ),
        (
            format!("{}/open/page.csv", host.address),
            vec!["page.csv", "HTML"],
        ),
    ] {
        page.run(
            "location.hash = arguments[0]",
            vec![format!("v=1&src={url}").into()],
        )?;
        let origin = url.split('/').nth(2).map(str::to_owned);
        if agreed.insert(origin) {
            page.wait_for_message(&["reads its data from"])?;
            page.click("#notices button:not(.close)")?;
        }
        page.wait_for("document.querySelector('#notices > .error') != null")?;
        page.wait_for_message(&words)?;
        page.wait_until_still()?;
        assert_eq!(page.text("#file-name")?, "sample incident", "{url}");
        page.dismiss_messages()?;
    }
    // The browser logs what it could not fetch.
    page.take_errors()?;
    Ok(())
}

fn a_stream_fills_the_plot_and_can_be_stopped(page: &mut Page) -> Result<()> {
    let host = Host::start()?;
    page.show("/")?;
    let sample = page.picture()?;
    let hash = format!("v=1&src={}/slow/spans.csv", host.address);
    page.run("location.hash = arguments[0]", vec![hash.into()])?;
    page.wait_for_message(&["reads its data from"])?;
    page.click("#notices button:not(.close)")?;
    // A quarter of it is there, and drawn.
    page.wait_for(
        "Number(document.getElementById('reading-bar').getAttribute('aria-valuenow')) >= 20",
    )?;
    page.wait_for("!document.getElementById('foot-spans').textContent.includes(' of ')")?;
    page.click("#cancel")?;
    page.wait_for_message(&["spans.csv", "was stopped"])?;
    page.dismiss_messages()?;
    page.picture()?
        .must_be(&sample, "after the stream was stopped")
}

fn a_row_is_fetched_again_and_nothing_told(page: &mut Page) -> Result<()> {
    let host = Host::start()?;
    let truth = Truth::of(files::first_rows(300)?.as_bytes())?;
    let trace = truth.trace_of_rank(40).ok_or("no trace")?;
    let label = trace.spans.first().ok_or("no span")?;
    page.show("/")?;
    page.run("document.cookie = 'who=me'", Vec::new())?;
    page.open(&format!(
        "/#v=1&src={}/open/spans.csv&trace={}&pane=trace",
        host.address, trace.trace_id
    ))?;
    page.wait_for_message(&["reads its data from"])?;
    page.click("#notices button:not(.close)")?;
    page.wait_for_file("spans.csv")?;
    page.wait_for("document.querySelector('#trace-spans .open')")?;
    page.click("#trace-spans .open")?;
    page.wait_for("document.querySelector('#cells td, #cells p')")?;
    let said = page.text("#cells")?;
    assert!(said.contains(&label.span_id), "{said}");
    let asked = host.asked();
    assert_eq!(asked.len(), 2);
    let head = asked[1].to_ascii_lowercase();
    assert!(
        !head.contains("cookie:") && !head.contains("referer:"),
        "{head}"
    );
    page.must_be_silent()
}
