//! The command line against a ClickHouse: `cargo xtask test --only clickhouse`.
//!
//! The server holds the spans of `tests/fixtures/herd/twins.csv.gz`, whose breakers are known to the
//! nanosecond, and generated ones; its zone is not UTC.

use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::thread;

use herdscope::ingest::{Limits, Reader};
use serde_json::Value;
use xtask::clickhouse::{Options, Server, python};

const USER: &str = "reader";
const PASSWORD: &str = "s3cret: it's\\";

/// The window that holds all spans of the file.
const ALL: [&str; 4] = [
    "--from",
    "2026-03-29T00:59:00Z",
    "--to",
    "2026-03-29T01:02:00Z",
];

fn fixture(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    folder.join(name)
}

/// The server of all tests; it ends with this process.
fn server() -> Option<&'static Server> {
    static SERVER: LazyLock<Option<Server>> = LazyLock::new(|| {
        let options = Options {
            spans: &fixture("herd/twins.csv.gz"),
            many: 100,
            user: USER,
            password: PASSWORD,
            cors: false,
        };
        python().map(|python| Server::start(&python, &options).expect("a ClickHouse"))
    });
    if SERVER.is_none() {
        eprintln!("not run: `cargo xtask test --only clickhouse` brings a ClickHouse");
    }
    SERVER.as_ref()
}

fn run_as(password: Option<&str>, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_herdscope"));
    command.args(arguments);
    match password {
        Some(password) => command.env("HERDSCOPE_CLICKHOUSE_PASSWORD", password),
        None => command.env_remove("HERDSCOPE_CLICKHOUSE_PASSWORD"),
    };
    command.output().expect("it runs")
}

/// `COMMAND --clickhouse URL --user USER ...`.
fn ask(server: &Server, command: &str, table: &str, more: &[&str]) -> Output {
    let mut arguments = vec![command, "--clickhouse", server.url(), "--user", USER];
    arguments.extend(["--table", table]);
    arguments.extend(more);
    run_as(Some(PASSWORD), &arguments)
}

#[track_caller]
fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", said(output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The one sentence of a refusal.
#[track_caller]
fn refusal(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{}", said(output));
    assert!(output.stdout.is_empty());
    let sentence = said(output);
    assert_eq!(sentence.lines().count(), 1, "{sentence}");
    assert!(!sentence.contains("s3cret"), "{sentence}");
    sentence
}

/// Trace, service and start of each span of the file.
fn spans() -> Vec<(String, String, i64)> {
    let bytes = std::fs::read(fixture("herd/twins.csv.gz")).expect("the file");
    let mut reader = Reader::new(Limits::default());
    reader.push(&bytes).expect("spans");
    let rows = reader.finish().expect("spans").rows;
    let of = |at: usize| {
        let trace = rows.trace_id(at);
        let service = rows.names.get(rows.label_set(at).service);
        (trace.to_owned(), service.to_owned(), rows.start[at])
    };
    (0..rows.start.len()).map(of).collect()
}

/// How many spans the traces have that have one which fits.
fn whole_traces(fits: impl Fn(&str, i64) -> bool) -> (usize, usize) {
    let all = spans();
    let fitting = all.iter().filter(|it| fits(&it.1, it.2));
    let traces: HashSet<&str> = fitting.map(|it| it.0.as_str()).collect();
    let spans = all.iter().filter(|it| traces.contains(it.0.as_str()));
    (spans.count(), traces.len())
}

#[track_caller]
fn assert_counts(it: &Value, spans: usize, traces: usize) {
    assert_eq!(
        (&it["spans"], &it["traces"]),
        (&spans.into(), &traces.into())
    );
    assert_eq!(it["orphans"], 0);
}

#[test]
fn a_table_is_read_as_its_export_is() {
    let Some(server) = server() else { return };
    let file = fixture("herd/twins.csv.gz");
    let file = json(&run_as(
        None,
        &["inspect", &file.display().to_string(), "--json"],
    ));
    let arguments = [&ALL[..], &["--json"]].concat();
    let table = json(&ask(server, "inspect", "otel.otel_traces", &arguments));
    assert_counts(&table, 1904, 553);
    for key in [
        "exporter", "services", "edges", "start_ns", "end_ns", "roots",
    ] {
        assert_eq!(table[key], file[key], "{key}");
    }
    // The times come with their zone; nothing else was noticed.
    assert_eq!(table["assumed"]["zone"], Value::Null);
    assert_eq!(table["issues"], serde_json::json!([]));
}

#[test]
fn breakers_are_replayed_to_the_nanosecond() {
    let Some(server) = server() else { return };
    let settings = "window=5,min=5,fail=100%,open=10s,probes=2,judge=first-failure";
    let how = [
        "--edge",
        "checkout->inventory",
        "--breaker",
        settings,
        "--json",
    ];
    let replay = json(&ask(
        server,
        "replay",
        "otel.otel_traces",
        &[&ALL[..], &how].concat(),
    ));
    let mut found = HashSet::new();
    for breaker in replay["breakers"].as_array().expect("breakers") {
        for it in breaker["transitions"].as_array().expect("transitions") {
            let word = |value: &Value| value.as_str().expect("a word").to_owned();
            let ns: i64 = word(&it["t_ns"]).parse().expect("a time");
            found.insert((
                word(&breaker["instance"]),
                ns,
                word(&it["from"]),
                word(&it["to"]),
            ));
        }
    }
    let truth = std::fs::read_to_string(fixture("herd/twins.truth.json")).expect("the truth");
    let truth: Value = serde_json::from_str(&truth).expect("JSON");
    let transitions = truth["transitions"].as_array().expect("transitions");
    let expected: HashSet<_> = transitions
        .iter()
        .map(|it| {
            let word = |key: &str| it[key].as_str().expect("a word").to_owned();
            let state = |key: &str| word(key).to_ascii_lowercase();
            let ns = it["t_ns"].as_i64().expect("a time");
            (word("pod"), ns, state("from_"), state("to"))
        })
        .collect();
    assert_eq!(expected.len(), 20);
    assert_eq!(found, expected);
}

#[test]
fn a_view_is_drawn() {
    let Some(server) = server() else { return };
    let picture = Path::new(env!("CARGO_TARGET_TMPDIR")).join("of-clickhouse.png");
    let path = picture.display().to_string();
    let output = ask(
        server,
        "plot",
        "otel.otel_traces",
        &[&ALL[..], &["-o", &path]].concat(),
    );
    assert!(output.status.success(), "{}", said(&output));
    assert!(
        std::fs::read(picture)
            .expect("a picture")
            .starts_with(b"\x89PNG")
    );
}

#[test]
fn a_window_takes_whole_traces_by_the_nanosecond() {
    let Some(server) = server() else { return };
    let all = spans();
    let ask = |from: i64, to: i64| {
        let (from, to) = (from.to_string(), to.to_string());
        let more = ["--from", &from, "--to", &to, "--json"];
        json(&ask(server, "inspect", "otel.otel_traces", &more))
    };
    // From one span's start up to another's, which is not in it.
    let (from, to) = (all[200].2.min(all[1500].2), all[200].2.max(all[1500].2));
    let (spans, traces) = whole_traces(|_, start| (from..to).contains(&start));
    assert!(spans > 0 && spans < all.len());
    assert_counts(&ask(from, to), spans, traces);
    // A single span brings its trace along.
    let alone = all
        .iter()
        .find(|it| all.iter().filter(|other| other.2 == it.2).count() == 1);
    let (trace, _, start) = alone.expect("a start of one span");
    let spans = all.iter().filter(|it| it.0 == *trace).count();
    assert_counts(&ask(*start, start + 1), spans, 1);
    // Where nothing starts, nothing is.
    let nothing = ask(start - 3_600_000_000_000, start - 3_599_000_000_000);
    assert_counts(&nothing, 0, 0);
    assert_eq!(nothing["issues"][0]["code"], "no_rows");
}

#[test]
fn services_choose_whole_traces() {
    let Some(server) = server() else { return };
    let ask = |names: &[&str]| {
        let mut more = [&ALL[..], &["--json"]].concat();
        more.extend(names.iter().flat_map(|name| ["--service", name]));
        json(&ask(server, "inspect", "otel.otel_traces", &more))
    };
    let (spans, traces) = whole_traces(|service, _| service == "inventory");
    assert!(traces < 553);
    assert_counts(&ask(&["inventory"]), spans, traces);
    assert_counts(&ask(&["inventory", "checkout"]), 1904, 553);
    // Whatever a name holds, it is a name.
    for name in [
        "it's",
        "\\",
        "') OR 1 -- ",
        "*/",
        "`\"\n\r\t\0".trim_end_matches('\0'),
    ] {
        assert_counts(&ask(&[name]), 0, 0);
    }
}

#[test]
fn a_sample_holds_whole_traces_and_says_so() {
    let Some(server) = server() else { return };
    let from = ["--from", "2026-03-29T00:00:00Z", "--json"];
    let ask = |more: &[&str]| {
        json(&ask(
            server,
            "inspect",
            "otel.many",
            &[&from[..], more].concat(),
        ))
    };
    let all = ask(&[]);
    assert_counts(&all, 300_000, 100_000);
    assert_eq!(all["issues"], serde_json::json!([]));
    let some = ask(&["--sample", "7"]);
    let traces = some["traces"].as_u64().expect("a count");
    assert!((13_000..15_600).contains(&traces), "{traces}");
    let traces = usize::try_from(traces).expect("a count");
    assert_counts(&some, 3 * traces, traces);
    let issue = &some["issues"][0];
    assert_eq!(issue["code"], "sampled");
    assert!(
        issue["message"]
            .as_str()
            .is_some_and(|it| it.contains("1 in 7")),
        "{issue}"
    );
}

#[test]
fn more_than_can_be_read_is_refused_with_a_sample_that_fits() {
    let Some(server) = server() else { return };
    let ask = |more: &[&str]| {
        let from = [
            "--from",
            "2026-03-29T00:00:00Z",
            "--max-rows",
            "100000",
            "--json",
        ];
        ask(server, "inspect", "otel.many", &[&from[..], more].concat())
    };
    let sentence = refusal(&ask(&[]));
    assert!(
        sentence.contains("300,000 spans") && sentence.contains("1 whole trace in 4"),
        "{sentence}"
    );
    assert!(json(&ask(&["--sample", "4"]))["spans"].as_u64() > Some(60_000));
    let sentence = refusal(&ask(&["--sample", "2"]));
    assert!(
        sentence.contains("(1 in 2 taken)") && sentence.contains("1 whole trace in 4"),
        "{sentence}"
    );
}

#[test]
fn who_may_not_ask_is_told() {
    let Some(server) = server() else { return };
    let ask = |user: &str, password: Option<&str>| {
        let more = ["inspect", "--clickhouse", server.url(), "--user", user];
        refusal(&run_as(password, &[&more[..], &ALL[..]].concat()))
    };
    for (user, password) in [
        (USER, Some("s3cretly")),
        (USER, None),
        ("nobody", Some(PASSWORD)),
    ] {
        let sentence = ask(user, password);
        assert!(
            sentence.ends_with("[code 516]; check the user and the password\n"),
            "{sentence}"
        );
    }
    // The variable may have another name.
    let arguments = [
        &["inspect", "--clickhouse", server.url(), "--user", USER][..],
        &[
            "--table",
            "otel.otel_traces",
            "--password-env",
            "OF_CLICKHOUSE",
        ],
        &ALL,
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_herdscope"));
    command.args(arguments.concat());
    let refused = command.output().expect("it runs");
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        said(&refused).contains("no OF_CLICKHOUSE"),
        "{}",
        said(&refused)
    );
    let output = command
        .env("OF_CLICKHOUSE", PASSWORD)
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn a_table_that_is_not_there_or_another_is_told() {
    let Some(server) = server() else { return };
    let sentence = |table: &str| refusal(&ask(server, "inspect", table, &ALL));
    let missing = sentence("otel_traces");
    assert!(
        missing.contains("otel_traces") && missing.contains("DATABASE.TABLE"),
        "{missing}"
    );
    let hostile = sentence("otel.`; DROP TABLE otel.otel_traces -- '");
    assert!(hostile.contains("DATABASE.TABLE"), "{hostile}");
    let other = sentence("system.one");
    assert!(other.contains("laid out"), "{other}");
}

#[test]
fn what_breaks_in_the_middle_is_no_answer() {
    let Some(server) = server() else { return };
    let sentence = refusal(&ask(
        server,
        "inspect",
        "otel.broken",
        &["--from", "2026-03-29T00:00:00Z"],
    ));
    assert!(
        sentence.contains("stopped in the middle of its answer: a broken part"),
        "{sentence}"
    );
}

#[test]
fn another_server_is_told_from_a_clickhouse() {
    let site = xtask::files::Server::start(&[("/", fixture("herd"))]).expect("a server");
    let url = site.url("/");
    let sentence = refusal(&run_as(
        None,
        &[&["inspect", "--clickhouse", &url][..], &ALL[..]].concat(),
    ));
    assert!(
        sentence.contains("HTTP 405") && sentence.contains("port 8123"),
        "{sentence}"
    );
    // A port that was free a moment ago.
    let free = listener().local_addr();
    let url = format!("http://{}", free.expect("an address"));
    let sentence = refusal(&run_as(
        None,
        &[&["inspect", "--clickhouse", &url][..], &ALL[..]].concat(),
    ));
    assert!(sentence.contains("nothing listens there"), "{sentence}");
}

#[test]
fn the_password_is_a_header_and_follows_no_redirect() {
    let (first, second) = (listener(), listener());
    let address = |it: &TcpListener| it.local_addr().expect("an address");
    let (url, elsewhere) = (address(&first), address(&second));
    let asked = thread::spawn(move || {
        let (mut stream, _) = first.accept().expect("a request");
        let mut bytes = vec![0; 64 << 10];
        let n = stream.read(&mut bytes).expect("a request");
        let answer = format!(
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{elsewhere}/\r\nContent-Length: 0\r\n\r\n"
        );
        stream.write_all(answer.as_bytes()).expect("an answer");
        String::from_utf8_lossy(&bytes[..n]).into_owned()
    });
    let url = format!("http://{url}/");
    let arguments = ["inspect", "--clickhouse", &url, "--user", USER];
    let sentence = refusal(&run_as(
        Some(PASSWORD),
        &[&arguments[..], &ALL[..]].concat(),
    ));
    assert!(sentence.contains("HTTP 307"), "{sentence}");
    let asked = asked.join().expect("a request");
    let with_it: Vec<&str> = asked.lines().filter(|it| it.contains("s3cret")).collect();
    assert_eq!(with_it, [format!("x-clickhouse-key: {PASSWORD}")]);
    second.set_nonblocking(true).expect("a listener");
    assert!(second.accept().is_err(), "the redirect was followed");
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").expect("a port")
}

#[test]
fn the_query_is_printed_and_not_sent() {
    let commands: HashMap<&str, &[&str]> = [
        ("inspect", &[][..]),
        ("replay", &[]),
        ("plot", &["-o", "never.png"]),
    ]
    .into();
    for (command, more) in commands {
        let asked = [&[command, "--sql", "--service", "it's"][..], &ALL[..], more].concat();
        let output = run_as(None, &asked);
        assert!(output.status.success(), "{}", said(&output));
        let sql = String::from_utf8(output.stdout).expect("text");
        assert!(
            sql.starts_with("SELECT")
                && sql.contains("'it\\'s'")
                && sql.contains("FORMAT CSVWithNames"),
            "{sql}"
        );
    }
}

#[test]
fn wrong_usage_is_told_before_anything_is_sent() {
    let url = "http://127.0.0.1:9";
    let cases: [(&[&str], &str); 9] = [
        (&["--clickhouse", url], "--from"),
        (&["--clickhouse", url, "--from", "soon"], "expected a time"),
        (&["--clickhouse", url, "--from", "-15w"], "expected a time"),
        (
            &["--clickhouse", url, "--from", "now", "--to", "-5m"],
            "the earlier time first",
        ),
        (
            &["--clickhouse", url, "--from", "-5m", "--table", "otel."],
            "DATABASE.TABLE",
        ),
        (
            &["--clickhouse", "http://reader:s3cret@h", "--from", "-5m"],
            "--user",
        ),
        (
            &["--clickhouse", "http://h/?password=s3cret", "--from", "-5m"],
            "--user",
        ),
        (&["--clickhouse", "ftp://h", "--from", "-5m"], "http://"),
        (
            &["--clickhouse", url, "--from", "-5m", "file.csv"],
            "cannot be used with",
        ),
    ];
    for (arguments, words) in cases {
        let output = run_as(None, &[&["inspect"][..], arguments].concat());
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            said(&output)
        );
        let said = said(&output);
        assert!(
            said.contains(words) && !said.contains("s3cret"),
            "{arguments:?}: {said}"
        );
    }
}
