//! The form of a breaker's settings: one field a key of the settings text.
//!
//! Owns which control each key has. Invariant: the text is the settings; a field shows the value that
//! the text has for its key, and writes it. What a value means only the `halfopen` crate knows.

use halfopen::Config;

/// What a field is set with.
pub enum Control {
    /// A slider beside the text, in a unit, from and to.
    Slider {
        unit: &'static str,
        from: u32,
        to: u32,
    },
    /// One of these.
    Choice(&'static [&'static str]),
    /// A text, with examples.
    Text(&'static [&'static str]),
}

/// A field of the form.
pub struct Field {
    pub key: &'static str,
    pub label: &'static str,
    pub title: &'static str,
    /// What it is where the canonical text does not say.
    pub default: &'static str,
    pub control: Control,
}

const fn field(
    key: &'static str,
    label: &'static str,
    default: &'static str,
    control: Control,
    title: &'static str,
) -> Field {
    Field {
        key,
        label,
        title,
        default,
        control,
    }
}

use Control::{Choice, Slider, Text};

/// In the order of the settings text.
pub const FIELDS: [Field; 15] = [
    field(
        "window",
        "window",
        "100",
        Text(&["100", "20", "10s/1s", "60s/1s"]),
        "Calls (100), or a time and the width of its buckets (10s/1s), over which rates are taken",
    ),
    field(
        "min",
        "min. calls",
        "100",
        Slider {
            unit: "",
            from: 1,
            to: 200,
        },
        "Rates are not judged below this many results",
    ),
    field(
        "fail",
        "failure rate",
        "50%",
        Slider {
            unit: "%",
            from: 1,
            to: 100,
        },
        "Opens at this share of failures, or off",
    ),
    field(
        "slow",
        "slow calls",
        "100%@60s",
        Text(&["off", "50%@200ms", "100%@60s"]),
        "Opens at this share of calls that take longer than a time, or off",
    ),
    field(
        "consecutive",
        "in a row",
        "off",
        Text(&["off", "5"]),
        "Opens at this many failures in a row, or off",
    ),
    field(
        "timeout",
        "timeout",
        "off",
        Text(&["off", "500ms", "1s"]),
        "A call that takes this long counts as failed, or off",
    ),
    field(
        "open",
        "open for",
        "60s",
        Slider {
            unit: "s",
            from: 1,
            to: 180,
        },
        "The wait before the first probe",
    ),
    field(
        "backoff",
        "backoff",
        "1x",
        Text(&["1x", "1.5x", "2x"]),
        "What the wait is multiplied by at each re-opening",
    ),
    field(
        "max-open",
        "at most",
        "off",
        Text(&["off", "5m"]),
        "The longest wait, or off",
    ),
    field(
        "jitter",
        "jitter",
        "none",
        Choice(&["none", "equal", "full"]),
        "How the waits of instances are spread",
    ),
    field(
        "probes",
        "probes",
        "10",
        Slider {
            unit: "",
            from: 1,
            to: 100,
        },
        "Calls that are let through while half-open",
    ),
    field(
        "judge",
        "judged by",
        "rate",
        Choice(&["rate", "first-failure"]),
        "By the rates when all probes are back, or by the first failed probe",
    ),
    field(
        "lease",
        "lease",
        "30s",
        Text(&["off", "30s"]),
        "A probe that is not back after this time has failed, or off",
    ),
    field(
        "auto",
        "by itself",
        "no",
        Choice(&["no", "yes"]),
        "Whether it leaves open by itself when the wait is over, or at the next call",
    ),
    field(
        "ramp",
        "ramp",
        "off",
        Text(&["off", "10%/25%/50%/100%@5s", "30s", "2m"]),
        "How the admitted share grows after the probes: steps, a curve over a time, or off",
    ),
];

/// The value of a key in a canonical text.
pub fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split(',')
        .find_map(|pair| pair.split_once('=').filter(|(it, _)| *it == key))
        .map(|(_, value)| value)
}

/// The text with another value for a key, canonical; or why it cannot be.
pub fn with(text: &str, key: &str, value: &str) -> Result<String, halfopen::ConfigError> {
    let others = text
        .split(',')
        .filter(|pair| pair.split_once('=').is_some_and(|(it, _)| it != key));
    let changed: Vec<String> = others
        .map(str::to_owned)
        .chain([format!("{key}={}", value.trim())])
        .collect();
    changed.join(",").parse().map(|it: Config| it.to_string())
}

/// Where a slider stands for a value: in whole units. It does not show what is after the point.
pub fn position(value: &str, unit: &str) -> Option<u64> {
    const SECOND: u64 = 1_000_000_000;
    if unit == "s" {
        let waits: Config = ["open=", value].concat().parse().ok()?;
        return Some(waits.settings().open / SECOND);
    }
    let digits = value
        .strip_suffix(unit)
        .unwrap_or(value)
        .split('.')
        .next()?;
    digits.parse().ok()
}
