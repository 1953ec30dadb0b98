//! `herdscope remedies`, and the document that it writes.

use std::fs;

use herdscope_sim::{Scenario, fingerprint, variants};

use crate::cli::{self, json, scratch};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The incident, with less in it.
fn small() -> String {
    let path = scratch("remedies").join("small.toml");
    let text =
        fs::read_to_string(format!("{ROOT}/scenarios/thundering-herd.toml")).expect("the scenario");
    let text = text.replace("141/s", "20/s").replace("7.8/s", "1/s");
    fs::write(&path, text).expect("a file");
    path.display().to_string()
}

#[test]
fn it_tells_how_many_runs_recovered_and_what_it_cost() {
    let only = "as_it_was,force_close,retry_budget,cancel+timeout_shorter";
    let told = json(&cli::run(&[
        "remedies",
        &small(),
        "--runs",
        "3",
        "--only",
        only,
        "--json",
    ]));
    assert_eq!(told["runs"], 3);
    let rows = told["remedies"].as_array().expect("rows");
    let names: Vec<&str> = rows.iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names.join(","), only);
    for row in rows {
        for key in [
            "recovered",
            "withheld",
            "failed",
            "shed",
            "served",
            "wasted",
            "pod_minutes",
            "idle_share",
        ] {
            assert!(row[key].is_number(), "{key} of {row}");
        }
        assert_eq!(row["interval"].as_array().map(Vec::len), Some(2), "{row}");
    }
    // There are no retries.
    assert_eq!(rows[2]["same_as"], "as_it_was");
    assert_eq!(rows[2]["withheld"], rows[0]["withheld"]);
    assert!(rows[0]["same_as"].is_null());
    // So little load is no incident.
    assert_eq!(
        (&rows[0]["recovered"], &rows[0]["recover_s"]["median"]),
        (&1.0.into(), &0.0.into())
    );
}

#[test]
fn what_cannot_be_run_is_said() {
    let small = small();
    let no_place = scratch("remedies").join("no-place.md");
    fs::write(&no_place, "# A text\n").expect("a file");
    let no_place = no_place.display().to_string();
    let folder = scratch("remedies").display().to_string();
    let cases: [(&[&str], i32, &[&str]); 9] = [
        (&["nowhere.toml"], 1, &["nowhere.toml"]),
        (
            &[&small, "--only", "ramp_2m+hope"],
            2,
            &["hope", "ramp_20s", "scale_never"],
        ),
        (&[&small, "--runs", "0"], 2, &["--runs", "1"]),
        (
            &[&small, "--into", &no_place],
            1,
            &["no-place.md", "<!-- herdscope remedies -->"],
        ),
        (
            &[&small, "--into", "no/such.md"],
            1,
            &["such.md: there is no such file"],
        ),
        // Before the runs, of which these would be too many.
        (
            &[&small, "--runs", "100000", "--into", &folder],
            1,
            &["remedies: the table cannot be written"],
        ),
        (
            &[&small, "--only", "shed+cancel,as_it_was, shed + cancel"],
            2,
            &["--only: got shed+cancel twice"],
        ),
        (
            &[&small, "--only", "shed,cancel+cancel"],
            2,
            &["cancel+cancel", "expected different remedies"],
        ),
        (
            &[&small, "--only", "as_it_was+shed"],
            2,
            &["as_it_was+shed", "as_it_was alone"],
        ),
    ];
    for (arguments, code, words) in cases {
        let output = cli::run(&[&["remedies"], arguments].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        for word in words {
            assert!(error.contains(word), "{word} in {error}");
        }
    }
}

#[test]
fn a_document_gets_the_table_and_keeps_its_text() {
    let path = scratch("remedies").join("table.md");
    let old = "# Before\n\n<!-- herdscope remedies -->\nold\n<!-- end -->\n\nAfter.\n";
    let file = path.display().to_string();
    let only = ["--runs", "1", "--only", "as_it_was", "--into", &file];
    for newline in ["\n", "\r\n"] {
        fs::write(&path, old.replace('\n', newline)).expect("a file");
        let output = cli::run(&[&["remedies", &small()][..], &only].concat());
        assert!(output.status.success());
        let text = fs::read_to_string(&path).expect("the file");
        assert_eq!(text.matches('\n').count(), text.matches(newline).count());
        let text = text.replace(newline, "\n");
        assert!(
            text.starts_with("# Before\n") && text.ends_with("\n\nAfter.\n"),
            "{text}"
        );
        assert!(
            text.contains("\n| as_it_was | 100 % |") && !text.contains("old"),
            "{text}"
        );
    }
}

#[test]
fn the_document_of_the_incident_is_up_to_date() {
    let text =
        fs::read_to_string(format!("{ROOT}/scenarios/thundering-herd.toml")).expect("the scenario");
    let variants = variants(&Scenario::from_toml(&text).expect("a scenario")).expect("settings");
    let document = fs::read_to_string(format!("{ROOT}/docs/remedies.md")).expect("the document");
    let names = document
        .lines()
        .filter_map(|it| it.strip_prefix("| ")?.split(" | ").next());
    let names: Vec<&str> = names.filter(|it| !["remedy", "---"].contains(it)).collect();
    assert_eq!(
        names,
        variants
            .iter()
            .map(|it| it.name.as_str())
            .collect::<Vec<_>>()
    );
    let runs: Vec<_> = variants
        .iter()
        .map(|it| it.run(1).expect("a run"))
        .collect();
    let runs = variants.iter().map(|it| it.name.as_str()).zip(&runs);
    let print = format!("`{:016x}`", fingerprint(runs));
    assert!(
        document.contains(&print),
        "docs/remedies.md is stale: write it with herdscope remedies scenarios/thundering-herd.toml --runs 200 \
         --into docs/remedies.md, and see whether its text still holds ({print})"
    );
}
