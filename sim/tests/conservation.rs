//! What holds in every run, whatever the scenario.

use herdscope_sim::{Run, Scenario, simulate};
use proptest::prelude::*;

/// A scenario of two tiers with everything that may be on, by chance.
fn scenario() -> impl Strategy<Value = String> {
    let breaker = prop_oneof![
        Just(""),
        Just("breaker = \"window=20,min=5,open=2s,probes=3\"\n"),
        Just("breaker = \"window=5s/1s,min=5,open=1s,probes=2,ramp=10%/50%@1s\"\n"),
    ];
    let layers = prop_oneof![
        Just(""),
        Just("retry = { attempts = 3, base = \"50ms\", budget = \"aws\" }\n"),
        Just("retry = { attempts = 4, base = \"10ms\", jitter = \"none\" }\ncancel = true\n"),
        Just("bulkhead = 5\nthrottle = { k = 1.5, window = \"10s\" }\n"),
        Just("cancel = true\n"),
    ];
    let shed = prop_oneof![
        Just(""),
        Just("shed = { queue = 4 }\n"),
        Just("shed = { queue = 20, target = \"5ms\", interval = \"50ms\" }\n"),
    ];
    let scaler = prop_oneof![
        Just(""),
        Just(
            "autoscaler = { metric = \"cpu\", target = 60, min = 1, max = 6, every = \"2s\", window = \"2s\", lag = \"1s\" }\n"
        ),
        Just(
            "autoscaler = { metric = \"queue\", target = 2, max = 9, every = \"1s\", window = \"1s\", lag = \"0s\", down_after = \"3s\" }\n"
        ),
    ];
    (breaker, layers.clone(), layers, shed, scaler, 5u32..120, 1u32..4, 20u32..400).prop_map(
        |(breaker, layers, below, shed, scaler, rate, pods, timeout)| {
            let closes = match breaker {
                "" => "",
                _ => "[[hand]]\nat = \"12s\"\nclose = \"web\"\n",
            };
            format!(
                "name = \"any\"\nduration = \"20s\"\nnetwork = \"1ms\"\n\
                 [[client]]\nname = \"web\"\ninstances = 3\nrate = \"{rate}/s\"\ncalls = \"shop\"\n\
                 timeout = \"{timeout}ms\"\n{breaker}{layers}\
                 [[client]]\nname = \"status\"\nrate = \"5/s\"\ncalls = \"shop\"\nneeds = \"shop\"\n\
                 [[service]]\nname = \"shop\"\nproxy = \"edge\"\npods = {pods}\nworkers = 2\n\
                 work = {{ mean = \"10ms\" }}\nheld = {{ median = \"12ms\", sigma = 0.5 }}\n\
                 cpu = {{ quota = \"60ms\" }}\n\
                 cold = {{ factor = 3, requests = 10, warming = 20, pods = 1 }}\nslowing = \"10%\"\n\
                 start = \"1s\"\n{shed}{scaler}\
                 [service.calls]\nservice = \"stock\"\ntimeout = \"150ms\"\n{breaker}{below}\
                 [[service]]\nname = \"stock\"\npods = 2\nwork = \"8ms\"\n{shed}\
                 [[fault]]\nservice = \"stock\"\nat = \"5s\"\nlasts = \"4s\"\ntakes = \"1s\"\nfails = \"50%\"\n\
                 {closes}[[hand]]\nat = \"14s\"\nscale = \"shop\"\npods = 1\n"
            )
        },
    )
}

fn run(text: &str, seed: u64) -> (Scenario, Run) {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let run = simulate(&scenario, seed).expect("settings that are allowed");
    (scenario, run)
}

/// One worker that is asked for half as much again as it can do.
fn overloaded(more: &str) -> String {
    format!(
        "name = \"too much\"\nduration = \"30s\"\n\
         [[client]]\nname = \"web\"\nrate = \"150/s\"\ncalls = \"shop\"\ntimeout = \"50ms\"\n{more}\
         [[service]]\nname = \"shop\"\nwork = \"10ms\"\n"
    )
}

#[test]
fn who_hears_that_its_caller_has_gone_stops() {
    let (_, deaf) = run(&overloaded(""), 1);
    let (_, told) = run(&overloaded("cancel = true\n"), 1);
    // Without hearing, all it does is too late soon.
    assert!(
        deaf.summary.served * 20 < deaf.summary.requests,
        "{:?}",
        deaf.summary
    );
    assert!(
        deaf.summary.wasted_ns > 25_000_000_000,
        "{:?}",
        deaf.summary
    );
    assert!(
        told.summary.served * 3 > told.summary.requests,
        "{:?}",
        told.summary
    );
    assert_eq!(told.summary.wasted_ns, 0);

    // Nobody cuts the batch's calls: while one hangs, others come and go behind it.
    let hanging = "cancel = true\n\
        [[client]]\nname = \"batch\"\nrate = \"2/s\"\ncalls = \"shop\"\n\
        [[fault]]\nservice = \"shop\"\nat = \"5s\"\nlasts = \"2s\"\ntakes = \"3s\"\n";
    let (_, run) = run(&overloaded(hanging), 1);
    assert_eq!(run.summary.wasted_ns, 0);
}

#[test]
fn cancelled_work_gives_its_share_of_the_processor_back() {
    let served = |workers: u32, cancel: bool| {
        let text = format!(
            "name = \"hangs\"\nduration = \"2m\"\n\
             [[client]]\nname = \"web\"\nrate = \"20/s\"\ncalls = \"shop\"\ntimeout = \"500ms\"\ncancel = {cancel}\n\
             [[service]]\nname = \"shop\"\nwork = \"10ms\"\nworkers = {workers}\ncpu = {{ quota = \"50ms\" }}\n\
             [[fault]]\nservice = \"shop\"\nat = \"10s\"\nlasts = \"30s\"\ntakes = \"10s\"\n"
        );
        let (_, run) = run(&text, 1);
        (
            run.summary.served as f64 / run.summary.requests as f64,
            run.summary.recovered_at,
        )
    };
    for workers in [1, 2, 4, 8] {
        let (told, well_from) = served(workers, true);
        // All but those of the half minute, and it is well as soon as that is over.
        assert!((0.70..0.80).contains(&told), "{workers}: {told}");
        let well_from = well_from.expect("it recovers");
        assert!(well_from <= 42_000_000_000, "{workers}: {well_from}");
        assert!(told >= served(workers, false).0, "{workers}");
    }
}

#[test]
fn a_fault_is_that_of_what_begins_in_it() {
    // What is begun in the three seconds takes five, and fails though they are over then.
    let text = "name = \"short\"\nduration = \"60s\"\n\
        [[client]]\nname = \"web\"\nrate = \"10/s\"\ncalls = \"shop\"\n\
        [[service]]\nname = \"shop\"\nwork = \"1ms\"\nworkers = 100\n\
        [[fault]]\nservice = \"shop\"\nat = \"30s\"\nlasts = \"3s\"\ntakes = \"5s\"\nfails = true\n";
    let (_, run) = run(text, 1);
    let it = &run.summary;
    assert!((15..50).contains(&it.failed), "{it:?}");
    assert_eq!(it.bad_at, Some(30_000_000_000));
    assert_eq!(it.recovered_at, None, "less than a minute is left");
}

#[test]
fn faults_at_the_same_time_all_happen() {
    let text = "name = \"two\"\nduration = \"60s\"\n\
        [[client]]\nname = \"web\"\nrate = \"50/s\"\ncalls = \"shop\"\n\
        [[service]]\nname = \"shop\"\nwork = \"1ms\"\nworkers = 100\n\
        [[fault]]\nservice = \"shop\"\nat = \"0s\"\nlasts = \"60s\"\ntakes = \"100ms\"\n\
        [[fault]]\nservice = \"shop\"\nat = \"20s\"\nlasts = \"20s\"\nfails = true\n";
    let (scenario, run) = run(text, 1);
    let it = &run.summary;
    assert!(
        (0.30..0.37).contains(&(it.failed as f64 / it.requests as f64)),
        "{it:?}"
    );
    let rows = run.rows(&scenario);
    assert!(
        rows.duration.iter().all(|&it| it >= 100_000_000),
        "all take their time"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn each_request_has_one_fate(text in scenario(), seed in 0u64..1_000) {
        let (_, run) = run(&text, seed);
        let it = &run.summary;
        prop_assert!(it.requests > 0);
        prop_assert_eq!(it.requests, it.served + it.failed + it.withheld + it.shed + it.in_flight_at_end);
    }

    #[test]
    fn the_same_seed_gives_the_same_run(text in scenario(), seed in 0u64..1_000) {
        let ((scenario, one), (_, other)) = (run(&text, seed), run(&text, seed));
        prop_assert_eq!(&one.summary, &other.summary);
        prop_assert_eq!(&one.states, &other.states);
        prop_assert_eq!(&one.samples, &other.samples);
        let (one, other) = (one.rows(&scenario), other.rows(&scenario));
        prop_assert_eq!(one.start, other.start);
        prop_assert_eq!(one.duration, other.duration);
    }

    #[test]
    fn at_every_pod_as_much_time_passes_as_with_its_requests(text in scenario(), seed in 0u64..1_000) {
        let (_, run) = run(&text, seed);
        prop_assert_eq!(run.time_at_pods(), run.time_of_attempts());
    }
}
