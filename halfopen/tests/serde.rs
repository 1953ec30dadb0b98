//! What the feature `serde` writes and reads.
#![cfg(feature = "serde")]

use halfopen::{Config, Machine, Outcome, Snapshot, Transition, presets};

#[test]
fn a_config_is_its_settings_text() {
    for preset in presets::ALL {
        let json = serde_json::to_string(&preset.config()).unwrap();
        assert_eq!(json, format!("\"{}\"", preset.text));
        assert_eq!(
            serde_json::from_str::<Config>(&json).unwrap(),
            preset.config()
        );
    }
    let err = serde_json::from_str::<Config>("\"probes=0\"").unwrap_err();
    assert!(err.to_string().contains("probes cannot be `0`"), "{err}");
    let err = serde_json::from_str::<Config>("3").unwrap_err();
    assert!(err.to_string().contains("the settings text"), "{err}");
}

#[test]
fn snapshots_and_transitions_are_structs() {
    let mut machine = Machine::new("window=2 min=2 open=5s".parse().unwrap());
    for now in [7, 8] {
        let permit = machine.acquire(now).unwrap();
        machine.settle(now, permit, Outcome::Failure, 0);
    }
    let snapshot = machine.snapshot();
    let json = serde_json::to_string(&snapshot).unwrap();
    assert!(json.contains(r#""state":"open""#), "{json}");
    assert!(json.contains(r#""failure_rate":1000000"#), "{json}");
    assert_eq!(serde_json::from_str::<Snapshot>(&json).unwrap(), snapshot);

    let transition = machine.drain_transitions().next().unwrap();
    let json = serde_json::to_string(&transition).unwrap();
    assert_eq!(
        json,
        r#"{"at":8,"generation":1,"from":"closed","to":"open","cause":"failure_rate","figures":{"calls":2,"failures":2,"slow":0}}"#
    );
    assert_eq!(
        serde_json::from_str::<Transition>(&json).unwrap(),
        transition
    );
}

#[test]
fn names_are_those_of_logs() {
    use halfopen::{Cause, State};
    for it in State::ALL {
        assert_eq!(serde_json::to_value(it).unwrap(), it.as_str());
    }
    for it in [
        Cause::FailureRate,
        Cause::SlowRate,
        Cause::Consecutive,
        Cause::ProbesPassed,
        Cause::ProbesFailed,
        Cause::LeaseExpired,
        Cause::WaitOver,
        Cause::RampDone,
        Cause::RampFailed,
        Cause::Manual,
    ] {
        assert_eq!(serde_json::to_value(it).unwrap(), it.as_str());
    }
}
