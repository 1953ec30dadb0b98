//! What is told of an end tells nothing of the data.

use herdscope::report::{is_mute, report};

#[test]
fn what_a_panic_quotes_is_left_out() {
    for (text, expected) in [
        (
            "panicked at src/a.rs:1:2:\nindex out of bounds: the len is 3 but the index is 9",
            "panicked at src/a.rs:1:2:\nindex out of bounds: the len is 3 but the index is 9",
        ),
        (
            "byte index 2 is not a char boundary; it is inside 'é' (bytes 1..3) of `café-service`",
            "byte index 2 is not a char boundary; it is inside '…' (bytes 1..3) of `…`",
        ),
        (
            r#"called `Result::unwrap()` on an `Err` value: Bad("shop \"web\" secret", 7)"#,
            r#"called `…` on an `…` value: Bad("…", 7)"#,
        ),
        (r#"Bad("a\\", "secret")"#, r#"Bad("…", "…")"#),
        ("it can't be: \"never closed secret", "it can't be: \"…"),
        ("", ""),
    ] {
        let report = report(&[], text);
        let (_, ended) = report.split_once("ended: ").expect("how it ended");
        assert_eq!(ended, expected);
    }
}

#[test]
fn a_report_is_a_line_for_each_thing() {
    let why = "panicked at a.rs:1:2:\n`secret`";
    let report = report(&[["build", "abc"], ["files", "3.2 MB"]], why);
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        "herdscope {version}\nbuild: abc\nfiles: 3.2 MB\nended: panicked at a.rs:1:2:\n`…`"
    );
    assert_eq!(report, expected);
    assert!(!is_mute(why) && is_mute("RuntimeError: unreachable"));
}
