//! Other settings over the same calls, to be compared.

use halfopen::Config;
use herdscope::calls::Calls;
use herdscope::dataset::Dataset;
use herdscope::replay::{self, Options};
use herdscope::what_if::{Case, Cases, Figures, Grid, KEYS};

use crate::cli;
use crate::given::{dataset, herd};

const S: u64 = 1_000_000_000;

fn settings(text: &str) -> Config {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// The figures of the settings over the calls of the first edge, one breaker for all.
fn figures(dataset: &Dataset, text: &str) -> Figures {
    let calls = &dataset.edges[0].calls;
    let mut cases = Cases::side_by_side(calls, &settings(text), &[], None, true);
    assert!(cases.step(calls));
    cases.cases[1].figures.expect("it was replayed")
}

/// Three callers, each with one call after the other that hangs for 25 to 28 s; then nothing.
fn hanging(outcome: &str) -> Dataset {
    let calls = [
        (0, 25),
        (8, 26),
        (16, 27),
        (25, 28),
        (34, 27),
        (43, 26),
        (53, 25),
        (61, 26),
    ];
    let line = |(at, (start, took)): (usize, (u32, u32))| {
        format!("t{at} 1 - web client {start}000+{took}000 {outcome} >api\n")
    };
    dataset(&calls.into_iter().enumerate().map(line).collect::<String>())
}

#[test]
fn five_failures_that_hang_block_threads_for_a_minute() {
    let five = "fail=off,judge=first-failure,consecutive=5";
    let cut = "fail=off,judge=first-failure,consecutive=5,timeout=2s";
    let well = hanging("");
    let badly = hanging("failed");
    // Settings, how long until it opens, failures and seconds of threads.
    let cases = [
        (&badly, five, Some(61), 7, 25 + 26 + 27 + 28 + 27 + 26 + 25),
        (&well, five, None, 0, 210),
        (&badly, cut, Some(36), 5, 10),
        (&well, cut, Some(36), 5, 10),
    ];
    for (dataset, text, to_trip, failed, held) in cases {
        let it = figures(dataset, text);
        let told = format!("{text}: {it:?}");
        assert_eq!(it.to_trip_ns, to_trip.map(|s| s * S), "{told}");
        assert_eq!(it.trips, Some(u64::from(to_trip.is_some())), "{told}");
        assert_eq!((it.failed, it.held_ns), (failed, held * S), "{told}");
    }
    assert_eq!(figures(&well, cut).cut, 5);
    assert_eq!(figures(&badly, cut).cut, 0);
}

#[test]
fn a_timeout_ends_calls_at_its_age() {
    // Settings, and when the breaker opened, in milliseconds: the calls end well after 3 s, and fail
    // after 3 s or 1.02 s.
    let long = "a 1 - web client 0+3000 >api\n b 1 - web client 100+3000 >api";
    let fails = "a 1 - web client 0+3000 failed >api\n b 1 - web client 100+3000 failed >api";
    let just_above =
        "a 1 - web client 0+1020 timed_out >api\n b 1 - web client 100+1020 failed >api";
    let shorter = "a 1 - web client 0+900 failed >api\n b 1 - web client 100+900 failed >api";
    let cases = [
        (long, "1s", Some(1_100)),
        (long, "3s", Some(3_100)),
        (long, "3001ms", None),
        (fails, "1s", Some(1_100)),
        (fails, "off", Some(3_100)),
        // It was this timeout that cut them.
        (just_above, "1s", Some(1_120)),
        (just_above, "500ms", Some(600)),
        (shorter, "1s", Some(1_000)),
    ];
    for (spans, timeout, opened) in cases {
        let text = format!("window=2,min=2,fail=50%,open=60s,probes=1,timeout={timeout}");
        let text = text.replace(",timeout=off", "");
        let it = figures(&dataset(spans), &text);
        let opened = opened.map(|ms| ms * 1_000_000);
        assert_eq!(it.opened, opened, "{timeout}: {spans}");
    }
}

/// Calls that a timeout cuts settle among those that it does not, all by time.
#[test]
fn results_come_in_the_order_of_their_ends() {
    let spans = "a 1 - web client 0+9000 >api
         b 1 - web client 10+500 failed >api
         c 1 - web client 20+2000 >api
         d 1 - web client 30+970 >api
         e 1 - web client 1005+5 >api";
    let dataset = dataset(spans);
    let options = Options {
        config: settings("window=4,min=4,fail=100%,timeout=1s,open=60s"),
        shared: true,
    };
    let replay = replay::replay(&dataset.edges[0].calls, &options);
    let told: Vec<i64> = replay.rates.iter().map(|it| it.at / 1_000_000).collect();
    assert_eq!(told, [510, 1_000, 1_000, 1_010, 1_020]);
}

#[test]
fn slow_calls_are_bad_only_beyond_their_threshold() {
    let spans = "a 1 - web client 0+100 >api
         b 1 - web client 1000+2000 >api
         c 1 - web client 2000+2500 >api";
    let dataset = dataset(spans);
    let it = figures(&dataset, "window=3,min=3,fail=50%,slow=60%@1s,open=60s");
    // From the start of the first slow call; all of them are passed on as good ones.
    assert_eq!((it.to_trip_ns, it.failed), (Some(3_500_000_000), 0));
    let shortened = figures(
        &dataset,
        "window=3,min=3,fail=100%,slow=60%@1s,timeout=1s,open=60s",
    );
    assert_eq!((shortened.trips, shortened.cut), (Some(0), 2));
}

#[test]
fn refused_calls_hold_no_thread_and_unknown_ones_count_nowhere() {
    let spans = "a 1 - web client 0+1000 failed >api
         b 1 - web client 2000+1000 failed >api
         c 1 - web client 3000+1 rejected >api
         d 1 - web client 70000+5 rejected >api";
    let dataset = dataset(spans);
    let as_it_was = herdscope::what_if::as_it_was(&dataset.edges[0].calls);
    assert_eq!(
        (as_it_was.withheld, as_it_was.trips, as_it_was.time_in),
        (Some(2), None, None)
    );
    assert_eq!((as_it_was.failed, as_it_was.without_outcome), (2, 0));
    assert_eq!(as_it_was.held_ns, 2 * S);
    let it = figures(&dataset, "window=1,min=1,fail=50%,open=60s,probes=1");
    assert_eq!(
        (it.withheld, it.failed, it.without_outcome),
        (Some(2), 1, 1)
    );
    assert_eq!(it.held_ns, S);
    let time: i64 = it.time_in.expect("replayed").iter().sum();
    assert_eq!(time, 70_005_000_000);
}

#[test]
fn each_proposal_differs_in_its_own_way() {
    let dataset = herd();
    let calls = &dataset.edges[0].calls;
    let present = settings("window=100,min=20,fail=50%,open=60s,probes=10");
    let asked = [settings("consecutive=3")];
    let mut cases = Cases::side_by_side(calls, &present, &asked, Some(3 * S), false);
    let mut steps = 0;
    while cases.step(calls) {
        steps += 1;
    }
    let told: Vec<(&str, String)> = cases
        .cases
        .iter()
        .map(|it| {
            (
                it.name,
                it.settings
                    .as_ref()
                    .map_or(String::new(), Config::to_string),
            )
        })
        .collect();
    let expected = [
        ("as_it_was", ""),
        ("present", "window=100,min=20,fail=50%,open=60s,probes=10"),
        (
            "asked",
            "window=100,min=100,fail=50%,consecutive=3,open=60s,probes=10",
        ),
        (
            "timeout",
            "window=100,min=20,fail=50%,timeout=3s,open=60s,probes=10",
        ),
        (
            "slow",
            "window=100,min=20,fail=50%,slow=50%@2s,open=60s,probes=10",
        ),
        (
            "time_window",
            "window=10s/1s,min=20,fail=50%,open=60s,probes=10",
        ),
        (
            "shorter_window",
            "window=25,min=5,fail=50%,open=60s,probes=10",
        ),
        (
            "ramp",
            "window=100,min=20,fail=50%,open=60s,probes=10,ramp=30s",
        ),
        (
            "consecutive",
            "window=100,min=20,fail=50%,consecutive=5,open=60s,probes=10",
        ),
    ];
    assert_eq!(told, expected.map(|(name, text)| (name, text.to_owned())));
    assert_eq!((steps, cases.progress()), (8, (9, 9)));
    let of = |at: usize| cases.cases[at].figures.expect("figures");
    // With its own settings nothing of what was recorded is withheld.
    assert_eq!((of(1).withheld, of(1).failed), (Some(0), of(0).failed));
    assert_eq!((of(1).held_ns, of(1).trips), (of(0).held_ns, Some(12)));
    assert!(of(8).to_trip_ns < of(1).to_trip_ns, "{cases:#?}");
}

#[test]
fn a_grid_has_the_present_settings_in_it() {
    let dataset = herd();
    let calls = &dataset.edges[0].calls;
    let texts = [
        "",
        "window=10s/1s,min=20,fail=60%,slow=50%@2s,consecutive=7,timeout=5s,open=10s,probes=1,ramp=10%/50%@5s",
    ];
    for text in texts {
        let present = settings(text);
        for (at, x) in KEYS.into_iter().enumerate() {
            let y = KEYS[(at + 1) % KEYS.len()];
            let grid = Grid::new(&present, [x, y], Some(3 * S), false).expect("a grid");
            let told = format!("{present}: {:?}", grid.axes);
            let [across, down] = &grid.axes;
            assert!(across.values.len() >= 3, "{told}");
            let all = across.values.len() * down.values.len();
            assert_eq!(grid.cells.cases.len(), all, "{told}");
            let place = across.present.zip(down.present);
            let (across_at, down_at) = place.unwrap_or_else(|| panic!("{told}"));
            let cell = &grid.cells.cases[down_at * across.values.len() + across_at];
            assert_eq!(cell.settings.as_ref(), Some(&present), "{told}");
        }
    }
    let mut grid = Grid::new(&settings(""), ["fail", "window"], None, false).expect("a grid");
    while grid.cells.step(calls) {}
    assert!(
        grid.cells
            .cases
            .iter()
            .all(|it: &Case| it.figures.is_some())
    );
    // The higher the share that trips, the more failures are passed on.
    let row: Vec<u64> = grid.cells.cases[..6]
        .iter()
        .map(|it| it.figures.expect("replayed").failed)
        .collect();
    assert!(row.is_sorted() && row[0] < row[5], "{row:?}");
}

#[test]
fn what_does_not_go_together_is_no_cell() {
    let present = settings("fail=off,consecutive=5,judge=first-failure");
    let grid = Grid::new(&present, ["consecutive", "slow"], None, false).expect("a grid");
    let missing = grid.cells.cases.iter().filter(|it| it.settings.is_none());
    // Neither consecutive failures nor slow calls nor a rate: nothing could trip.
    assert_eq!(missing.count(), 1);
    for keys in [["fail", "fail"], ["fail", "seed"], ["", "fail"]] {
        assert!(Grid::new(&present, keys, None, false).is_none(), "{keys:?}");
    }
}

#[test]
fn no_calls_give_no_trips() {
    let mut cases = Cases::side_by_side(&Calls::default(), &settings(""), &[], None, false);
    while cases.step(&Calls::default()) {}
    assert!(cases.cases.iter().all(|it| it.figures.is_some()));
}

#[test]
fn the_command_line_tells_the_same() {
    let breaker = "window=100,min=20,fail=50%,open=60s,probes=10";
    let file = cli::herd();
    let arguments = [
        "what-if",
        &file,
        "--breaker",
        breaker,
        "--grid",
        "fail,slow",
        "--json",
    ];
    let it = cli::json(&cli::run(&arguments));
    let dataset = herd();
    let calls = &dataset.edges[0].calls;
    let mut cases = Cases::side_by_side(calls, &settings(breaker), &[], None, false);
    cases.step(calls);
    let present = cases.cases[1].figures.expect("replayed");
    let told = &it["cases"][1];
    assert_eq!(
        (&told["name"], &told["breaker"]),
        (&"present".into(), &breaker.into())
    );
    assert_eq!(told["held_ns"], present.held_ns.to_string());
    assert_eq!(
        told["to_trip_ns"],
        present.to_trip_ns.expect("it opens").to_string()
    );
    assert_eq!((&told["trips"], &told["withheld"]), (&12.into(), &0.into()));
    let as_it_was = &it["cases"][0];
    assert!(as_it_was["withheld"].is_null() && as_it_was["time_in"].is_null());
    assert!(
        it["open_loop"]
            .as_str()
            .is_some_and(|it| it.starts_with("open loop"))
    );
    let (x, y) = (&it["grid"]["x"], &it["grid"]["y"]);
    let [across, down] = [x, y].map(|it| it["present"].as_u64().expect("a place") as usize);
    assert_eq!(
        (&x["values"][across], &y["values"][down]),
        (&"50%".into(), &"100%@60s".into())
    );
    assert_eq!(it["grid"]["rows"][down][across]["held_ns"], told["held_ns"]);
}

#[test]
fn wrong_grids_are_wrong_usage() {
    for keys in ["fail", "fail,fail", "fail,seed", "fail,open,min"] {
        let output = cli::run(&["what-if", &cli::herd(), "--grid", keys]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2) && error.contains(keys),
            "{error}"
        );
    }
}
