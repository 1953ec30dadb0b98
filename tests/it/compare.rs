//! A selection of the plot beside the rest.

use herdscope::calls::Calls;
use herdscope::compare::{Attribute, Comparison, MOST_VALUES, compare};
use herdscope::dataset::Dataset;
use herdscope::view::{MILLI, Viewport};

use crate::cli;
use crate::given::{dataset, herd};

const MS: i64 = 1_000_000;

fn viewport(ms: [i64; 2], ranks: [i64; 2]) -> Viewport {
    Viewport {
        t0: ms[0] * MS,
        t1: ms[1] * MS,
        y0: ranks[0] * MILLI,
        y1: ranks[1] * MILLI,
    }
}

fn compared(dataset: &Dataset, selected: Viewport) -> Comparison {
    compare(
        &dataset.table,
        dataset.calls(dataset.edges.first()),
        selected,
    )
}

/// A thousand calls, one each 10 ms; the pod `bad` makes every tenth, and its calls fail from 5 s on.
fn a_bad_pod() -> Dataset {
    let line = |at: u32| {
        let pod = if at % 10 == 3 { "bad" } else { "good" };
        let failed = if at % 10 == 3 && at >= 500 {
            "failed"
        } else {
            ""
        };
        let start = at * 10;
        format!(
            "t{at:04} 1 - web client {start}+5 @w {failed}\nt{at:04} 2 1 api server {start}+4 @{pod} {failed}\n"
        )
    };
    dataset(&(0..1000).map(line).collect::<String>())
}

fn attribute<'a>(it: &'a Comparison, name: &str) -> &'a Attribute {
    let found = it.attributes.iter().find(|it| it.name == name);
    found.unwrap_or_else(|| panic!("no {name}: {it:#?}"))
}

#[test]
fn counts_rates_and_percentiles_of_either_side() {
    let dataset = dataset(
        "a 1 - web client 0+10 >api
         b 1 - web client 1000+2000 failed >api
         c 1 - web client 2000+3000 timed_out >api
         d 1 - web client 3000+1 rejected >api
         e 1 - web client 4000+40 >api",
    );
    let it = compared(&dataset, viewport([1000, 3001], [0, 5]));
    let counts = |side: &herdscope::compare::Side| {
        [
            side.spans,
            side.traces,
            side.failed_spans,
            side.calls,
            side.failed,
            side.timed_out,
            side.without_outcome,
        ]
    };
    assert_eq!(counts(&it.inside), [3, 3, 2, 3, 2, 1, 1]);
    assert_eq!(counts(&it.outside), [2, 2, 0, 2, 0, 0, 0]);
    let rates = [it.inside.rate, it.outside.rate].map(|it| it.expect("a rate"));
    assert!((rates[0] - 3.0 / 2.001).abs() < 1e-9, "{rates:?}");
    assert!((rates[1] - 2.0 / 1.999).abs() < 1e-9, "{rates:?}");
    let medians = [&it.inside, &it.outside].map(|it| it.percentiles[0].ns);
    assert_eq!(medians, [Some(2_000_000_000), Some(10_000_000)]);
    // A selection of traces: the others have no time of their own.
    let it = compared(&dataset, viewport([0, 9000], [1, 3]));
    assert_eq!((it.inside.calls, it.outside.calls), (2, 3));
    assert_eq!((it.inside.rate, it.outside.rate), (Some(0.5), None));
    // The end is not in it, nor is the next rank; a part of a rank is all of it.
    let part = Viewport {
        y0: 500,
        y1: 1001,
        ..viewport([0, 1000], [0, 0])
    };
    assert_eq!(compared(&dataset, part).inside.calls, 1);
}

#[test]
fn the_most_telling_value_comes_first() {
    let dataset = a_bad_pod();
    let all = compared(&dataset, viewport([5000, 10_000], [0, 1000]));
    let outcome = &all.attributes[0];
    assert_eq!(outcome.name, "outcome", "{all:#?}");
    let told: Vec<_> = outcome
        .values
        .iter()
        .map(|it| (it.value.as_str(), it.spans))
        .collect();
    assert_eq!(told, [("failure", [100, 0]), ("success", [900, 1000])]);
    let failure = &outcome.values[0];
    assert_eq!(failure.share, [Some(0.1), Some(0.0)]);
    assert!((0.03..0.1).contains(&failure.telling), "{failure:?}");
    // What is as frequent on either side tells nothing.
    for name in ["service", "instance", "operation", "kind", "tier"] {
        let telling: Vec<f64> = attribute(&all, name)
            .values
            .iter()
            .map(|it| it.telling)
            .collect();
        assert!(telling.iter().all(|&it| it == 0.0), "{name}: {telling:?}");
    }
    let instance = attribute(&all, "instance");
    assert_eq!((instance.n_values, instance.values.len()), (3, 3));
    assert!(
        all.attributes
            .iter()
            .all(|it| it.name != "peer" && it.name != "message")
    );
}

#[test]
fn small_samples_tell_nothing() {
    let dataset = a_bad_pod();
    // One trace of the bad pod: all of its spans failed, and there are two.
    let it = compared(&dataset, viewport([5030, 5031], [0, 1000]));
    assert_eq!((it.inside.spans, it.inside.failed_spans), (2, 2));
    assert!(
        attribute(&it, "outcome").values[0].telling == 0.0,
        "{it:#?}"
    );
    // Many spans of two traces are no more than two witnesses.
    let line = |at: u32| {
        let trace = at / 50;
        let failed = if trace < 2 { "failed" } else { "" };
        format!("t{trace:02} {at} - web client {trace}0+1 {failed} >api\n")
    };
    let dense = crate::given::dataset(&(0..2500).map(line).collect::<String>());
    let two = compared(&dense, viewport([0, 20], [0, 50]));
    assert_eq!(
        (two.inside.failed_spans, two.outside.failed_spans),
        (100, 0)
    );
    assert!(
        attribute(&two, "outcome").values[0].telling == 0.0,
        "{two:#?}"
    );
    // None at all has no shares, and everything has no rest.
    let none = compared(&dataset, viewport([20_000, 30_000], [0, 1000]));
    let all = compared(&dataset, viewport([0, 30_000], [0, 1000]));
    for (it, empty) in [(&none, 0), (&all, 1)] {
        let values = it.attributes.iter().flat_map(|it| &it.values);
        for value in values {
            assert_eq!(value.share[empty], None, "{value:?}");
            assert!(
                value.share[1 - empty].is_some() && value.telling == 0.0,
                "{value:?}"
            );
        }
    }
    assert_eq!((none.inside.rate, all.outside.rate), (None, None));
    assert_eq!(none.inside.percentiles[0].ns, None);
}

#[test]
fn what_one_span_of_each_trace_has_is_counted_by_traces() {
    // Of the first thousand calls 5 % fail, of five thousand others 2 %: a span of two each.
    let line = |at: u32| {
        let failed = at.is_multiple_of(if at < 1000 { 20 } else { 50 });
        let failed = if failed { "failed" } else { "" };
        format!("t{at:04} 1 - web client {at}+5 {failed}\nt{at:04} 2 1 api server {at}+4\n")
    };
    let dataset = dataset(&(0..6000).map(line).collect::<String>());
    let it = compared(&dataset, viewport([0, 1000], [0, 6000]));
    assert_eq!((it.inside.failed, it.outside.failed), (50, 100));
    assert_eq!(it.attributes[0].name, "outcome", "{it:#?}");
    assert!(it.attributes[0].values[0].telling > 0.0, "{it:#?}");
}

#[test]
fn only_the_most_telling_values_are_given() {
    let line = |at: u32| {
        format!(
            "t{at} 1 - web client {at}+1 :op{} >api\n",
            at % 20 * (at / 500)
        )
    };
    let dataset = dataset(&(0..1000).map(line).collect::<String>());
    let it = compared(&dataset, viewport([0, 500], [0, 1000]));
    let operation = attribute(&it, "operation");
    assert_eq!(
        (operation.n_values, operation.values.len()),
        (20, MOST_VALUES)
    );
    assert_eq!(
        (
            operation.values[0].value.as_str(),
            operation.values[0].spans
        ),
        ("op0", [500, 25])
    );
    assert_eq!(it.attributes[0].name, "operation");
    let telling: Vec<f64> = operation.values.iter().map(|it| it.telling).collect();
    assert!(telling.is_sorted_by(|a, b| a >= b), "{telling:?}");
}

#[test]
fn nothing_compares_to_nothing() {
    let nothing = Dataset::default();
    let it = compare(&nothing.table, &Calls::default(), viewport([0, 1], [0, 1]));
    assert_eq!((it.inside.spans, it.outside.spans), (0, 0));
    assert!(it.attributes.is_empty() && it.inside.rate.is_none());
}

#[test]
fn the_command_line_compares_a_time_with_the_rest() {
    let dataset = herd();
    // The first herd.
    let (from, to) = (1_790_409_661_951_772_522i64, 1_790_409_664_200_000_000i64);
    let file = cli::herd();
    let arguments = [
        "compare",
        &file,
        "--from",
        &from.to_string(),
        "--to",
        &to.to_string(),
        "--json",
    ];
    let told = cli::json(&cli::run(&arguments));
    let it = compared(
        &dataset,
        Viewport {
            t0: from,
            t1: to,
            y0: 0,
            y1: i64::from(dataset.table.n_traces()) * MILLI,
        },
    );
    assert_eq!(told["inside"]["timed_out"], it.inside.timed_out);
    assert!(
        it.inside.timed_out > 100 && it.outside.timed_out > 100,
        "{it:#?}"
    );
    assert_eq!(told["attributes"][0]["name"], "outcome");
    let p50 = it.inside.percentiles[0].ns.expect("calls").to_string();
    assert_eq!(told["inside"]["p50_ns"], p50);
    let both = told["inside"]["spans"]
        .as_u64()
        .zip(told["outside"]["spans"].as_u64());
    assert_eq!(both.map(|it| it.0 + it.1), Some(dataset.table.len() as u64));
}

#[test]
fn a_comparison_without_a_time_is_wrong_usage() {
    let file = cli::herd();
    let cases: [(&[&str], &str); 3] = [
        (&["compare", &file], "--from"),
        (&["compare", &file, "--from", "soon"], "soon"),
        (
            &[
                "compare",
                "--clickhouse",
                "http://localhost:1",
                "--from",
                "-1m",
            ],
            "--clickhouse",
        ),
    ];
    for (arguments, named) in cases {
        let output = cli::run(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2) && error.contains(named),
            "{error}"
        );
    }
}
