//! The command line as a person and a script use it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::given::fixture;

const HERD: &str = "window=100,min=20,fail=50%,open=60s,probes=10";

pub fn herd() -> String {
    fixture("herd/four.csv.gz").display().to_string()
}

pub fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_herdscope"))
        .args(arguments)
        .output()
        .expect("it runs")
}

pub fn run_with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_herdscope"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    // It may stop reading early, when it has seen enough to refuse.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    child.wait_with_output().expect("it ends")
}

pub fn json(output: &Output) -> Value {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// A folder of this test's own.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn inspect_tells_what_a_file_is() {
    let it = json(&run(&["inspect", &herd(), "--json"]));
    assert_eq!(
        (&it["exporter"], &it["spans"], &it["traces"]),
        (&"clickhouse".into(), &48_711.into(), &16_237.into())
    );
    assert_eq!((&it["roots"], &it["orphans"]), (&16_237.into(), &0.into()));
    assert_eq!(it["start_ns"], "1790409600124960664");
    let edge = &it["edges"][0];
    assert_eq!(
        (&edge["from"], &edge["to"]),
        (&"shop-web".into(), &"catalog".into())
    );
    assert_eq!(edge["via"], serde_json::json!(["edge-proxy"]));
    assert_eq!(
        (&edge["calls"], &edge["failed"], &edge["timed_out"]),
        (&16_237.into(), &695.into(), &695.into())
    );
    assert_eq!(edge["instances"], 4);
    assert_eq!(it["assumed"]["zone"], "UTC");
    assert_eq!(it["issues"][0]["code"], "zone_assumed");
    let text = String::from_utf8(run(&["inspect", &herd()]).stdout).expect("text");
    assert!(
        text.contains("48,711 spans in 16,237 traces") && text.contains("via edge-proxy"),
        "{text}"
    );
}

#[test]
fn herds_are_found_with_settings_and_without() {
    let truth: Value = crate::given::json("herd/four.truth.json");
    let with = json(&run(&["herds", &herd(), "--breaker", HERD, "--json"]));
    let attempts = with["attempts"].as_array().expect("attempts");
    for (found, expected) in attempts
        .iter()
        .zip(truth["attempts"].as_array().expect("those"))
    {
        for (key, expected) in expected.as_object().expect("an attempt") {
            // Times and sums of times are text: JSON numbers would lose digits.
            let expected = match expected.as_i64().filter(|_| key.ends_with("_ns")) {
                Some(ns) => ns.to_string().into(),
                None => expected.clone(),
            };
            let found = match found[key].as_array() {
                Some(instances) => instances.len().into(),
                None => found[key].clone(),
            };
            assert_eq!(found, expected, "{key}");
        }
    }
    assert_eq!((attempts.len(), &with["agreement"]), (3, &1.0.into()));
    assert_eq!(
        with["observed"][0]["states"][1]["from_ns"],
        "1790409601935313866"
    );

    let without = json(&run(&["herds", &herd(), "--json"]));
    let results: Vec<&Value> = without["attempts"]
        .as_array()
        .expect("attempts")
        .iter()
        .map(|it| &it["result"])
        .collect();
    assert_eq!(results, ["trampled", "trampled", "held"]);
    assert_eq!(without["observed"].as_array().map(Vec::len), Some(4));
    let best = &without["fitted"][0];
    assert_eq!(
        best["breaker"],
        "window=100,min=20,fail=50%,open=60s,probes=10"
    );
    assert_eq!(best["ranges"]["probes"]["low"], "10");
    let share = &without["withheld_share"];
    let [low, mid, high] = ["low", "mid", "high"].map(|it| share[it].as_f64().expect("a share"));
    assert!(
        low < mid && mid < high && low < 0.689 && 0.688 < high,
        "{share}"
    );

    let text = String::from_utf8(run(&["herds", &herd()]).stdout).expect("text");
    assert!(
        text.contains("told from the calls alone")
            && text.contains("attempt 3 at 2026-09-26 08:03:05.653")
            && text.contains("explained by window=100,min=20"),
        "{text}"
    );
}

#[test]
fn replay_prints_each_transition() {
    let it = json(&run(&["replay", &herd(), "--breaker", HERD, "--json"]));
    let breakers = it["breakers"].as_array().expect("breakers");
    let transitions = breakers
        .iter()
        .map(|it| it["transitions"].as_array().expect("transitions").len());
    assert_eq!((breakers.len(), transitions.sum::<usize>()), (4, 36));
    assert_eq!(breakers[0]["transitions"][0]["t_ns"], "1790409601935313866");
    assert_eq!(breakers[0]["transitions"][0]["cause"], "failure_rate");
    assert_eq!(breakers[0]["transitions"][1]["cause"], "wait_over");
    assert_eq!(breakers[0]["transitions"][2]["cause"], "probes_passed");
    let total: i64 = ["closed", "open", "half_open", "ramping"]
        .iter()
        .map(|state| {
            breakers[0]["time_in"][state]
                .as_str()
                .expect("ns")
                .parse::<i64>()
                .expect("ns")
        })
        .sum();
    assert_eq!(total, 1_790_409_860_120_127_363 - 1_790_409_600_124_960_664);
    assert_eq!(
        (&it["calls"], &it["withheld"], &it["per_instance"]),
        (&16_237.into(), &0.into(), &true.into())
    );

    let shared = json(&run(&[
        "replay",
        &herd(),
        "--breaker",
        HERD,
        "--per-instance",
        "no",
        "--json",
    ]));
    assert_eq!(
        (&shared["per_instance"], &shared["breakers"][0]["instance"]),
        (&false.into(), &Value::Null)
    );
    let named = json(&run(&[
        "replay",
        &herd(),
        "--edge",
        "shop-web->edge-proxy",
        "--json",
    ]));
    assert_eq!(named["edge"]["to"], "catalog");
}

#[test]
fn plot_writes_pictures() {
    let folder = scratch("plot");
    for (name, start) in [("a.png", &b"\x89PNG"[..]), ("a.svg", b"<svg")] {
        let out = folder.join(name);
        let output = run(&[
            "plot",
            &herd(),
            "--size",
            "400x400",
            "-o",
            &out.display().to_string(),
        ]);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(
            fs::read(&out).expect("a picture").starts_with(start),
            "{name}"
        );
    }
}

#[test]
fn standard_input_and_several_files_are_read() {
    let row = |id: &str| format!("{id},s,,web,GET,2026-01-05T10:00:00.000Z,30,OK\n");
    let head = "trace_id,span_id,parent_span_id,service.name,name,start_time,duration_ms,status\n";
    let a = format!("{head}{}", row("a"));
    let it = json(&run_with_input(&["inspect", "-", "--json"], a.as_bytes()));
    assert_eq!((&it["spans"], &it["traces"]), (&1.into(), &1.into()));
    let folder = scratch("several");
    let b = folder.join("b.csv");
    fs::write(&b, format!("{head}{}{}", row("a"), row("b"))).expect("a file");
    let it = json(&run_with_input(
        &["inspect", "-", &b.display().to_string(), "--json"],
        a.as_bytes(),
    ));
    assert_eq!(
        (&it["spans"], &it["issues"][0]["code"]),
        (&2.into(), &"duplicate_row".into())
    );
}

#[test]
fn files_of_different_exporters_are_read_as_one() {
    let folder = scratch("different");
    let dash0 = folder.join("dash0.csv");
    let head = "otel.span.start_time,otel.span.duration,otel.trace.id,otel.span.id,service.name\n";
    let row = "2026-02-16T09:12:03.456Z,150ms,t,s,web\n";
    fs::write(&dash0, format!("{head}{row}")).expect("a file");
    let dash0 = dash0.display().to_string();
    let it = json(&run(&["inspect", &herd(), &dash0, "--json"]));
    assert_eq!(it["exporter"], "clickhouse + dash0");
    assert_eq!(it["spans"], 48_712);
    let file = |name: &str, exporter: &str, spans: u64| serde_json::json!({ "name": name, "exporter": exporter, "spans": spans, "duplicates": 0 });
    let files = [
        file("four.csv.gz", "clickhouse", 48_711),
        file("dash0.csv", "dash0", 1),
    ];
    assert_eq!(it["files"], serde_json::json!(files));
    // Of the same rows twice the second file brings nothing.
    let it = json(&run(&["inspect", &dash0, &dash0, "--json"]));
    let spans = |at: usize| (&it["files"][at]["spans"], &it["files"][at]["duplicates"]);
    assert_eq!(spans(0), (&1.into(), &0.into()));
    assert_eq!(spans(1), (&0.into(), &1.into()));
    let text = run(&["inspect", &herd(), &dash0]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        text.contains("four.csv.gz + dash0.csv: clickhouse + dash0"),
        "{text}"
    );
    assert!(text.contains("  dash0.csv: dash0, 1 span\n"), "{text}");
}

#[test]
fn what_misleads_a_replay_is_said_beside_it() {
    let head = "trace_id,span_id,parent_span_id,service.name,name,kind,start_time,duration_ms,status,peer.service\n";
    let row = |at: usize| {
        format!(
            "t{at},s,,web,GET,client,2026-01-05T10:00:{:02}.000Z,30,ERROR,api\n",
            at % 60
        )
    };
    let text: String = std::iter::once(head.to_owned())
        .chain((0..30).map(row))
        .collect();
    let output = run_with_input(&["replay", "-"], text.as_bytes());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success() && said.contains("every trace failed"),
        "{said}"
    );
}

#[test]
fn names_do_not_reach_the_terminal_as_commands() {
    let text = "trace_id,span_id,service.name,name,start_time,duration_ms\n\
                t,s,\u{1b}[31mweb,GET,2026-01-05T10:00:00.000Z,30\n";
    let output = run_with_input(&["inspect", "-"], text.as_bytes());
    assert!(output.status.success() && !output.stdout.contains(&0x1b));
}

#[test]
fn times_that_cannot_be_compared_cost_their_row() {
    let text = "trace_id,span_id,service.name,name,start_time,duration_ms\n\
                t,s,web,GET,2026-01-05T10:00:00.000Z,30\n\
                u,s,web,GET,2261-01-05T10:00:00.000Z,30\n";
    let it = json(&run_with_input(
        &["inspect", "-", "--json"],
        text.as_bytes(),
    ));
    assert_eq!(
        (&it["spans"], &it["issues"][0]["code"]),
        (&1.into(), &"bad_time".into())
    );
}

#[test]
fn a_header_without_rows_is_done() {
    let head = b"trace_id,span_id,parent_span_id,service.name,name,start_time,duration_ms,status\n";
    let it = json(&run_with_input(&["inspect", "-", "--json"], head));
    assert_eq!((&it["spans"], &it["start_ns"]), (&0.into(), &Value::Null));
    assert_eq!(it["issues"][0]["code"], "no_rows");
    let it = json(&run_with_input(&["replay", "-", "--json"], head));
    assert_eq!((&it["edge"], &it["calls"]), (&Value::Null, &0.into()));
}

/// Each input that cannot be used: exit code 1, nothing on standard output, one line that says what
/// is wrong.
#[test]
fn unusable_input_is_refused_in_one_line() {
    let endless = vec![b'x'; 10 << 20];
    let gz = |rows: usize| {
        use flate2::{Compression, write::GzEncoder};
        let mut gz = GzEncoder::new(Vec::new(), Compression::best());
        gz.write_all(b"trace_id,span_id,service.name,name,start_time,duration_ms\n")
            .expect("memory");
        let thousand = b"t,s,web,GET,2026-01-05T10:00:00.000Z,30\n".repeat(1000);
        for _ in 0..rows / 1000 {
            gz.write_all(&thousand).expect("memory");
        }
        gz.finish().expect("memory")
    };
    let (bomb, mut damaged) = (gz(8_000_000), gz(1_000));
    let crc = damaged.len() - 5;
    damaged[crc] ^= 0xff;
    let cases: [(&str, &[u8], &str); 8] = [
        ("empty", b"", "empty"),
        (
            "html",
            b"<!DOCTYPE html><html><body>Sign in</body></html>",
            "HTML",
        ),
        ("picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "PNG"),
        ("spreadsheet", b"PK\x03\x04rest", "zip"),
        ("other", b"name,price\napple,3\n", "columns"),
        ("endless", &endless, "line"),
        ("damaged", &damaged, "gz"),
        ("bomb", &bomb, "250 times"),
    ];
    for (name, input, word) in cases {
        let output = run_with_input(&["inspect", "-", "--json"], input);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{name}: {said}");
        assert_eq!(
            (said.lines().count(), output.stdout.len()),
            (1, 0),
            "{name}: {said}"
        );
        assert!(
            said.to_lowercase().contains(&word.to_lowercase()),
            "{name}: {said}"
        );
        assert!(!said.contains("panicked"), "{name}: {said}");
    }
}

#[test]
fn a_file_cut_in_mid_row_is_read_and_said() {
    let text = b"trace_id,span_id,service.name,name,start_time,duration_ms\n\
        t,s,web,GET,2026-01-05T10:00:00.000Z,30\n\
        t,s2,web,GE";
    let it = json(&run_with_input(&["inspect", "-", "--json"], text));
    assert_eq!(
        (&it["spans"], &it["issues"][0]["code"]),
        (&1.into(), &"row_truncated".into())
    );
}

#[test]
fn paths_and_arguments_that_are_wrong_are_named() {
    let folder = scratch("wrong").display().to_string();
    let sample = herd();
    let cases: [(&[&str], i32, &str); 9] = [
        (&["inspect", &folder], 1, "directory"),
        (&["inspect", "no-such-file.csv"], 1, "no such file"),
        (&["inspect"], 2, "FILE"),
        (&["replay", &sample, "--breaker", "probes=0"], 2, "probes"),
        (&["replay", &sample, "--breaker", "colour=red"], 2, "colour"),
        (
            &["replay", &sample, "--edge", "shop-web"],
            2,
            "CALLER->CALLEE",
        ),
        (
            &["replay", &sample, "--edge", "a->b"],
            1,
            "shop-web->catalog",
        ),
        (&["plot", &sample, "-o", "picture.jpg"], 2, ".png"),
        (
            &["plot", &sample, "-o", "a.png", "--size", "9x9"],
            2,
            "200x300",
        ),
    ];
    for (arguments, code, word) in cases {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
}

#[test]
fn nonsense_in_a_view_is_said_and_the_rest_is_drawn() {
    let out = scratch("nonsense").join("a.png");
    let (view, out) = ("v=1&t=soon&pane=9&filter=web)", out.display().to_string());
    let output = run(&[
        "plot",
        &herd(),
        "--view",
        view,
        "--size",
        "400x400",
        "-o",
        &out,
    ]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success()
            && ["t=", "pane=", "filter cannot"]
                .iter()
                .all(|it| said.contains(it)),
        "{said}"
    );
}

#[test]
fn what_a_person_says_about_a_file_is_heeded_and_said() {
    let csv = "Korrelation,Schritt,wann,dauer,Wer\nt,a,1767607200123,5,web\n";
    let refused = run_with_input(&["inspect", "-"], csv.as_bytes());
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("tell which columns hold them"), "{said}");

    let told = "trace=Korrelation,start=wann@ms,duration=dauer@us,service=Wer";
    let it = json(&run_with_input(
        &["inspect", "-", "--as", told, "--json"],
        csv.as_bytes(),
    ));
    assert_eq!((&it["spans"], &it["told"]), (&1.into(), &told.into()));
    assert_eq!(it["end_ns"], "1767607200123005000");
    assert_eq!(it["assumed"]["duration_unit"], Value::Null);
    assert_eq!(it["assumed"]["failed_over_proposed"], Value::Null);

    let wrong = run(&["inspect", &herd(), "--as", "start=wann@min"]);
    let said = String::from_utf8_lossy(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        said.contains("start=wann@min") && said.contains("ns, us, ms or s"),
        "{said}"
    );
}

#[test]
fn retries_are_counted_and_can_be_taken_as_one() {
    let csv = "trace_id,span_id,parent_id,service,kind,peer_service,start_ms,duration_ms,status\n\
               t,r,,web,server,,1767607200000,900,OK\n\
               t,1,r,web,client,stock,1767607200010,100,ERROR\n\
               t,2,r,web,client,stock,1767607200200,50,OK\n";
    let edge = |more: &[&str]| {
        let arguments = [&["inspect", "-", "--json"], more].concat();
        json(&run_with_input(&arguments, csv.as_bytes()))["edges"][0].clone()
    };
    let it = edge(&[]);
    let expected = serde_json::json!({ "attempts": 2, "logical_calls": 1, "amplification": 2.0 });
    assert_eq!((&it["retries"], &it["calls"]), (&expected, &2.into()));
    let it = edge(&["--logical", "yes"]);
    assert_eq!(
        (&it["retries"], &it["calls"], &it["failed"]),
        (&expected, &1.into(), &0.into())
    );
}

#[test]
fn count_windows_over_sampled_spans_are_called_unreliable() {
    let csv = "trace_id,span_id,service,kind,peer_service,start_ms,duration_ms,status,SampleRate\n\
               t,1,web,client,stock,1767607200010,100,OK,10\n";
    let replay = |breaker: &str| {
        let arguments = ["replay", "-", "--json", "--breaker", breaker];
        let output = run_with_input(&arguments, csv.as_bytes());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (json(&output)["count_window_unreliable"].clone(), said)
    };
    let (unreliable, said) = replay("window=100");
    assert_eq!(unreliable, true);
    assert!(
        said.contains("1 in 10") && said.contains("the window counts calls"),
        "{said}"
    );
    let (unreliable, said) = replay("window=10s/1s");
    assert_eq!(unreliable, false);
    assert!(
        said.contains("1 in 10") && !said.contains("the window counts calls"),
        "{said}"
    );
}
