//! The samples of the page: what `herdscope simulate` writes of their scenarios.

use herdscope::herds::{self, AttemptResult};
use herdscope::observed::{self, observe};
use herdscope::samples::{self, SAMPLES};
use herdscope::spans::SpanIdx;
use herdscope::view::Source;

use crate::cli::{run, scratch};
use crate::given::read;

#[test]
fn a_sample_is_what_is_written_of_its_scenario() {
    for sample in &SAMPLES {
        let csv = scratch("samples").join(format!("{}.csv", sample.name));
        let scenario = format!(
            "{}/scenarios/{}.toml",
            env!("CARGO_MANIFEST_DIR"),
            sample.name
        );
        let written = run(&["simulate", &scenario, "--csv", &csv.display().to_string()]);
        assert!(written.status.success(), "{written:?}");
        let given = samples::dataset(sample.name).expect("a sample");
        let source = Source::Sample(sample.name.to_owned());
        assert_eq!(given.files[0].source, Some(source));
        let read = read(&csv);
        let (given, read) = (&given.table, &read.table);
        assert!(given.start == read.start && given.duration == read.duration);
        assert!(given.outcome == read.outcome && given.row == read.row);
        for at in (0..given.len() as u32).step_by(997).map(SpanIdx) {
            assert_eq!(given.span_id(at), read.span_id(at), "{}", sample.name);
        }
    }
}

#[test]
fn the_first_one_is_trampled_three_times_and_holds_when_scaled_out() {
    let dataset = samples::dataset(SAMPLES[0].name).expect("a sample");
    let calls = &dataset.edges[0].calls;
    let mut observed = observe(&dataset.table, calls, false);
    observed::fit(&mut observed, calls);
    let attempts = herds::attempts(&dataset.table, calls, &(&observed).into());
    use AttemptResult::{Held, Trampled};
    let expected = [Trampled, Trampled, Trampled, Held];
    assert_eq!(attempts.len(), expected.len());
    for (attempt, result) in attempts.iter().zip(expected) {
        assert_eq!((attempt.result, attempt.instances.len()), (result, 4));
        let timed_out = if result == Held { 0..1 } else { 200..300 };
        assert!(timed_out.contains(&attempt.timed_out), "{attempt:?}");
    }
}

#[test]
fn there_is_no_sample_of_another_name() {
    assert!(samples::dataset("herd").is_err());
}
