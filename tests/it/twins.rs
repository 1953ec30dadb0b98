//! One incident in many dialects: what is left of it in each, and where the replayed breakers do what the
//! real ones did. docs/twins.md is written from what is read; `UPDATE_EXPECT=1` writes it anew.
//!
//! They are read from the folder that HERDSCOPE_TRACES names.

use std::path::{Path, PathBuf};

use halfopen::Config;
use herdscope::dataset::Dataset;
use herdscope::format;
use herdscope::replay::{self, Options};
use herdscope::rows::UNKNOWN_DURATION;

use crate::given::{json, read};

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("HERDSCOPE_TRACES");
    if folder.is_none() {
        eprintln!("not run: HERDSCOPE_TRACES names no folder of traces");
    }
    folder.map(|it| Path::new(&it).join("twins"))
}

/// How exactly the replayed breakers do what the real ones did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    /// To the nanosecond.
    Exact,
    /// The same transitions, each less than so many steps of the file's clock away.
    Within(u64),
    /// Nothing is claimed, for what the dialect loses.
    None,
}

use Claim::{Exact, None as Nothing, Within};

/// File, claim, what the dialect loses.
const TWINS: &[(&str, Claim, &str)] = &[
    ("clickhouse_CSVWithNames", Exact, "nothing"),
    ("clickhouse_CSV_headerless", Exact, "nothing"),
    (
        "openrca_telecom_aiops2020",
        Within(2),
        "kinds, messages, refused calls, time below 1 ms",
    ),
    (
        "appinsights_union_requests_dependencies",
        Nothing,
        "messages, so that refused calls are failures; starts below 1 ms",
    ),
    (
        "grafana_explore_inspector",
        Nothing,
        "pods; time below 100 ns, by floating point",
    ),
    (
        "grafana_explore_semicolon",
        Nothing,
        "pods; time below 100 ns, by floating point",
    ),
    ("dynatrace_dql", Nothing, "pods, messages, peers"),
    (
        "skywalking_deeptralog",
        Nothing,
        "pods, messages, time below 1 ms",
    ),
    (
        "rcaeval_re2",
        Nothing,
        "pods, kinds, messages, refused calls, time below 1 us",
    ),
    (
        "kibana_discover",
        Nothing,
        "pods, kinds, messages, refused calls, starts below 1 ms",
    ),
    (
        "dash0_cli_spans_query",
        Nothing,
        "pods, kinds, messages, refused calls, starts below 1 ms, durations of seconds below 10 ms",
    ),
    (
        "dash0_cli_traces_get",
        Nothing,
        "pods, kinds, messages, refused calls, starts below 1 ms, durations of seconds below 10 ms",
    ),
    ("nezha", Nothing, "status, kinds, messages, refused calls"),
    (
        "openrca_bank_aiops2021",
        Nothing,
        "status, kinds, messages, operations, refused calls, time below 1 ms",
    ),
    (
        "grafana_v8_objectObject",
        Nothing,
        "status, kinds, pods, messages, refused calls; time below 100 ns, by floating point",
    ),
    (
        "alibaba_v2021_callgraph",
        Nothing,
        "the spans of checkout's own callers, status, pods, dates, time below 1 ms",
    ),
    (
        "signoz_export_default",
        Nothing,
        "parents, so that nobody calls anybody",
    ),
    (
        "datadog_spans",
        Nothing,
        "ids, so that nobody calls anybody",
    ),
];

/// Instance, state left, state entered, time.
type Step = (String, String, String, i64);

fn truth() -> Vec<Step> {
    let json = json("herd/twins.truth.json");
    let steps = json["transitions"].as_array().expect("transitions").iter();
    let mut steps: Vec<Step> = steps
        .map(|it| {
            let text = |key: &str| it[key].as_str().expect("a text").to_lowercase();
            (
                text("pod"),
                text("from_"),
                text("to"),
                it["t_ns"].as_i64().expect("a time"),
            )
        })
        .collect();
    steps.sort_by(|a, b| (&a.0, a.3).cmp(&(&b.0, b.3)));
    steps
}

fn replayed(dataset: &Dataset) -> Vec<Step> {
    let named = ("checkout".to_owned(), "inventory".to_owned());
    let Some(edge) = dataset.edge(Some(&named)) else {
        return Vec::new();
    };
    let settings = "window=5,min=5,fail=100%,open=10s,probes=2,judge=first-failure";
    let config: Config = settings.parse().expect("settings");
    let replay = replay::replay(
        &edge.calls,
        &Options {
            config,
            shared: false,
        },
    );
    let mut steps = Vec::new();
    for breaker in &replay.breakers {
        let instance = breaker.instance.clone().unwrap_or_default();
        for it in &breaker.transitions {
            let (from, to) = (it.from.as_str().to_owned(), it.to.as_str().to_owned());
            steps.push((instance.clone(), from, to, it.at));
        }
    }
    steps.sort_by(|a, b| (&a.0, a.3).cmp(&(&b.0, b.3)));
    steps
}

/// The longest time between a real transition and its replayed one, if they are the same.
fn distance(truth: &[Step], replayed: &[Step]) -> Option<u64> {
    let same = |(a, b): (&Step, &Step)| (&a.0, &a.1, &a.2) == (&b.0, &b.1, &b.2);
    let all = truth.len() == replayed.len() && truth.iter().zip(replayed).all(same);
    let apart = truth.iter().zip(replayed).map(|(a, b)| a.3.abs_diff(b.3));
    all.then(|| apart.max().unwrap_or(0))
}

/// The largest power of ten that divides all numbers.
fn step(numbers: impl Iterator<Item = u64>) -> u64 {
    let mut step = 1_000_000_000;
    for number in numbers {
        while !number.is_multiple_of(step) {
            step /= 10;
        }
    }
    step
}

fn steps(dataset: &Dataset) -> [u64; 2] {
    let table = &dataset.table;
    let known = table
        .duration
        .iter()
        .copied()
        .filter(|&it| it != UNKNOWN_DURATION);
    [
        step(table.start.iter().map(|it| it.unsigned_abs())),
        step(known),
    ]
}

#[test]
fn breakers_do_what_the_real_ones_did_where_pods_survive() {
    let Some(folder) = folder() else { return };
    let truth = truth();
    assert_eq!(truth.len(), 20);
    for &(name, claim, _) in TWINS {
        let dataset = read(&folder.join(format!("{name}.csv")));
        let apart = distance(&truth, &replayed(&dataset));
        let [step, _] = steps(&dataset);
        match claim {
            Exact => assert_eq!(apart, Some(0), "{name}"),
            Within(steps) => {
                assert!(
                    apart.is_some_and(|it| it > 0 && it < steps * step),
                    "{name}: {apart:?}"
                );
            }
            Nothing => assert_eq!(apart, None, "{name} could be claimed"),
        }
    }
}

/// A file without status can be told from where on a call failed; who was refused, it cannot.
#[test]
fn told_timeouts_open_the_breakers_of_a_file_without_status() {
    let Some(folder) = folder() else { return };
    for name in [
        "nezha",
        "openrca_bank_aiops2021",
        "grafana_v8_objectObject",
        "alibaba_v2021_callgraph",
    ] {
        let dataset = read(&folder.join(format!("{name}.csv")));
        assert_eq!(dataset.failed_over_proposed, Some(3_000_000_000), "{name}");
    }
}

#[test]
fn every_twin_is_here_and_in_the_docs() {
    let Some(folder) = folder() else { return };
    let files = std::fs::read_dir(&folder).expect("the twins");
    let mut files: Vec<String> = files
        .filter_map(|it| it.ok()?.file_name().into_string().ok())
        .filter_map(|it| it.strip_suffix(".csv").map(str::to_owned))
        .collect();
    files.sort();
    let mut listed: Vec<&str> = TWINS.iter().map(|it| it.0).collect();
    listed.sort();
    assert_eq!(files, listed);

    let mut text = String::from(HEAD);
    for &(name, claim, loses) in TWINS {
        let dataset = read(&folder.join(format!("{name}.csv")));
        let table = &dataset.table;
        let edge = ["", "MS_"].iter().find_map(|prefix| {
            let named = ["checkout", "inventory"].map(|it| format!("{prefix}{it}"));
            dataset.edge(Some(&named.into()))
        });
        let (calls, instances) = edge.map_or((0, None), |it| (it.calls.len(), it.n_instances()));
        let [start, duration] = steps(&dataset).map(format::duration);
        let transitions = match claim {
            Exact => "20 of 20, to the ns".to_owned(),
            Within(_) => format!(
                "20 of 20, within {}",
                format::duration(steps(&dataset)[0] * 2)
            ),
            Nothing => "\u{2013}".to_owned(),
        };
        text.push_str(&format!(
            "| `{name}` | {} | {} | {} | {} | {calls} | {} | {start}, {duration} | {transitions} | {loses} |\n",
            dataset.exporter,
            format::count(table.len() as u64),
            format::count(table.n_traces().into()),
            dataset.edges.len(),
            instances.map_or("\u{2013}".to_owned(), |it| it.to_string()),
        ));
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/twins.md");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&docs, &text).expect("docs/twins.md");
    }
    assert_eq!(std::fs::read_to_string(&docs).expect("docs/twins.md"), text);
}

const HEAD: &str = "\
# One incident in many dialects

A recorded incident of four pods (checkout calls inventory; 553 traces, 1,904 spans, 154 calls refused by
breakers) as each exporter would write it, and what this reader makes of it. A step is the largest power of
ten that divides every start and every duration. The last but one column is the replay of the pods' own
settings against what their breakers did. A test writes this table from what is read.

| file | read as | spans | traces | edges | calls of checkout->inventory | instances | step of starts, durations | transitions | what the dialect loses |
|---|---|---|---|---|---|---|---|---|---|
";
