//! Remedies: what each changes, and what the runs of each have in common.

use std::fs;

use halfopen::Ramp;
use herdscope_sim::{
    Act, HORIZON, Hand, Metric, Remedy, Scenario, Shedding, Simulation, Variant, simulate, variants,
};

const S: u64 = 1_000_000_000;

fn scenario(name: &str) -> Scenario {
    let path = format!("{}/../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).expect("a scenario file");
    Scenario::from_toml(&text).expect("a scenario")
}

fn with(told: &Scenario, remedies: &[Remedy]) -> Variant {
    Variant::new(told, remedies).expect("settings")
}

#[test]
fn as_it_was_is_without_the_hands_that_ended_it() {
    let mut told = scenario("thundering-herd");
    let act = |at, act| Hand { at: at * S, act };
    // People made it, by fewer pods and open breakers, and ended it, by more pods and closed breakers.
    let made_it = [
        act(
            10,
            Act::Scale {
                service: 0,
                pods: 2,
            },
        ),
        act(20, Act::Open { group: 0 }),
    ];
    told.hands.splice(0..0, made_it);
    told.hands.push(act(500, Act::Close { group: 1 }));
    let it = with(&told, &[Remedy::AsItWas]);
    assert_eq!(it.name, "as_it_was");
    assert_eq!(it.scenario.hands, made_it);
    assert_eq!(it.scenario.duration, HORIZON);
}

#[test]
fn who_closes_what_hands_had_opened_ends_no_incident() {
    let hands = "[[hand]]\nat = \"1m\"\nopen = \"web\"\n[[hand]]\nat = \"2m\"\nclose = \"web\"\n";
    let text = format!(
        "name = \"by hand\"\nduration = \"10m\"\n\
         [[client]]\nname = \"web\"\nrate = \"20/s\"\ncalls = \"shop\"\nbreaker = \"fail=100%\"\n\
         [[service]]\nname = \"shop\"\nwork = \"1ms\"\n{hands}"
    );
    let told = Scenario::from_toml(&text).expect("a scenario");
    let it = with(&told, &[Remedy::AsItWas]);
    assert_eq!(it.scenario.hands, told.hands);
    let run = it.run(1).expect("a run");
    assert_eq!(
        (run.bad_at, run.recovered_at),
        (Some(60 * S), Some(120 * S)),
        "{run:?}"
    );
    // What is closed before it is opened was closed for another reason.
    let mut turned = told.clone();
    turned
        .hands
        .iter_mut()
        .for_each(|it| it.at = 180 * S - it.at);
    let it = with(&turned, &[Remedy::AsItWas]);
    assert_eq!(it.scenario.hands, turned.hands[..1]);
}

#[test]
fn each_remedy_changes_what_it_is_named_for() {
    let mut told = scenario("thundering-herd");
    let retrying = "name = \"x\"\nduration = \"1s\"\n[[client]]\nname = \"a\"\nrate = \"1/s\"\ncalls = \"b\"\n\
        retry = { attempts = 3 }\n[[service]]\nname = \"b\"\nwork = \"1ms\"\n";
    let retrying = Scenario::from_toml(retrying).expect("a scenario");
    told.groups[0].policy.retries = retrying.groups[0].policy.retries;
    let was = with(&told, &[Remedy::AsItWas]).scenario;
    let settings = |it: &Scenario| it.groups[0].policy.breaker.as_ref().map(|it| it.settings());
    let metric = |it: &Scenario| {
        it.services[0]
            .autoscaler
            .as_ref()
            .map(|it| (it.metric, it.window / S))
    };
    type Check<'a> = &'a dyn Fn(&Scenario) -> bool;
    let ramps = |seconds: u64| {
        move |it: &Scenario| {
            settings(it).is_some_and(|it| it.ramp == Ramp::Curve { over: seconds * S })
        }
    };
    let hands = |expected: &'static [Act]| {
        move |it: &Scenario| {
            it.hands.iter().all(|it| it.at == 220 * S)
                && it
                    .hands
                    .iter()
                    .map(|it| it.act)
                    .eq(expected.iter().copied())
        }
    };
    let checks: [(Remedy, Check<'_>); 17] = [
        (Remedy::Ramp20s, &ramps(20)),
        (Remedy::Ramp2m, &ramps(120)),
        (Remedy::Ramp10m, &ramps(600)),
        (Remedy::HalfOpenHeavier, &|it| {
            settings(it).is_some_and(|it| it.probes == 100)
        }),
        (Remedy::ScaleOnQueue, &|it| {
            metric(it) == Some((Metric::Queue { target: 1.0 }, 15))
        }),
        (Remedy::ScaleOnConcurrency, &|it| {
            metric(it) == Some((Metric::Concurrency { target: 1.0 }, 15))
        }),
        (Remedy::HpaFast, &|it| {
            metric(it) == Some((Metric::Cpu { target: 80.0 }, 15))
        }),
        (Remedy::ScaleNever, &|it| {
            it.services[0].autoscaler.is_none()
        }),
        (
            Remedy::PreScale,
            &hands(&[Act::Scale {
                service: 0,
                pods: 12,
            }]),
        ),
        (
            Remedy::ForceClose,
            &hands(&[Act::Close { group: 0 }, Act::Close { group: 1 }]),
        ),
        (Remedy::Shed, &|it| {
            matches!(it.services[0].shedding, Some(Shedding::Age(_)))
        }),
        (Remedy::Cancel, &|it| {
            it.groups.iter().all(|it| it.policy.cancel)
        }),
        (Remedy::TimeoutShorter, &|it| {
            it.groups[0].policy.timeout == Some(S / 10)
        }),
        (Remedy::RetryBudget, &|it| {
            it.groups[0]
                .policy
                .retries
                .is_some_and(|it| it.budget.is_some())
        }),
        (Remedy::AdaptiveThrottle, &|it| {
            let policy = &it.groups[0].policy;
            policy.breaker.is_none()
                && policy.throttle.is_some()
                && it.groups[1].policy.throttle.is_none()
        }),
        (Remedy::JitteredWait, &|it| {
            settings(it).is_some_and(|it| it.jitter == halfopen::Jitter::Full)
        }),
        // 141/s of four, 15 ms each (5 of work, four ways of 2.5): 0.53 at a time, so two at most.
        (Remedy::Bulkhead, &|it| {
            it.groups[0].policy.max_concurrent == Some(2)
        }),
    ];
    for (remedy, changed) in checks {
        assert!(!changed(&was), "{} is there already", remedy.name());
        let it = with(&told, &[remedy]);
        assert!(
            changed(&it.scenario),
            "{}: {:?}",
            remedy.name(),
            it.scenario
        );
        assert_eq!(Remedy::of_name(remedy.name()), Some(remedy));
    }
    assert_eq!(checks.len() + 1, Remedy::all().count());
}

#[test]
fn pairs_change_both_and_stand_behind_their_parts() {
    let told = scenario("thundering-herd");
    let all = variants(&told).expect("settings");
    let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names[0], "as_it_was");
    assert!(names[..17].iter().all(|it| !it.contains('+')), "{names:?}");
    let pair = all
        .iter()
        .find(|it| it.name == "ramp_2m+scale_on_queue")
        .expect("the pair");
    let both = with(&told, &[Remedy::Ramp2m, Remedy::ScaleOnQueue]);
    assert_eq!(pair.scenario, both.scenario);
    // Without an autoscaler, not to scale changes nothing, and neither does a faster one.
    let herd = variants(&scenario("herd")).expect("settings");
    assert!(!herd.iter().any(|it| it.name.contains("scale_never")));
    assert!(herd.iter().any(|it| it.name == "hpa_fast"));
    assert!(herd.iter().any(|it| it.name == "ramp_20s+scale_on_queue"));
}

#[test]
fn all_remedies_meet_the_same_requests() {
    let told = scenario("thundering-herd");
    let requests = |remedy| with(&told, &[remedy]).run(7).expect("a run").requests;
    let was = requests(Remedy::AsItWas);
    assert!(was > 80_000);
    // Those that last as long.
    for remedy in [
        Remedy::Ramp20s,
        Remedy::HalfOpenHeavier,
        Remedy::JitteredWait,
        Remedy::TimeoutShorter,
    ] {
        assert_eq!(requests(remedy), was, "{}", remedy.name());
    }
}

#[test]
fn a_run_ends_a_minute_after_recovery() {
    let told = scenario("thundering-herd");
    let it = with(&told, &[Remedy::PreScale]).run(1).expect("a run");
    let recovered = it.recovered_at.expect("it recovers");
    // 148.8 requests a second came until then.
    let lasted = it.requests as f64 / 148.8 * S as f64;
    let expected = (recovered + 60 * S) as f64;
    assert!((lasted / expected - 1.0).abs() < 0.02, "{it:?}");
}

#[test]
fn the_thundering_herd_goes_on_unless_there_is_room() {
    let told = scenario("thundering-herd");
    use Remedy::{AsItWas, ForceClose, PreScale, Ramp2m, Ramp20s, ScaleNever};
    for (remedies, recovers) in [
        (&[AsItWas][..], false),
        (&[Ramp20s, ScaleNever], false),
        (&[Ramp2m, ScaleNever], false),
        (&[PreScale], true),
        (&[ForceClose], true),
    ] {
        let variant = with(&told, remedies);
        for seed in 1..=3 {
            let it = variant.run(seed).expect("a run");
            assert_eq!(
                it.recovery().is_some(),
                recovers,
                "{}, seed {seed}: {it:?}",
                variant.name
            );
        }
    }
}

#[test]
fn jitter_is_another_with_each_seed() {
    let told = scenario("thundering-herd");
    let variant = with(&told, &[Remedy::JitteredWait]);
    let runs: Vec<_> = (1..=2)
        .map(|seed| variant.run(seed).expect("a run"))
        .collect();
    let share = |it: &herdscope_sim::Summary| it.withheld as f64 / it.requests as f64;
    // As it was, seeds differ by less than that.
    assert!(
        (share(&runs[0]) - share(&runs[1])).abs() > 0.002,
        "{runs:?}"
    );
    assert_eq!(variant.run(1).expect("a run"), runs[0]);
}

/// One client and one service with a worker of 1 ms.
fn simple(rate: &str, duration: &str, more: &str) -> Scenario {
    let text = format!(
        "name = \"simple\"\nduration = \"{duration}\"\n\
         [[client]]\nname = \"web\"\nrate = \"{rate}\"\ncalls = \"shop\"\ntimeout = \"100ms\"\n\
         [[service]]\nname = \"shop\"\nwork = \"1ms\"\n{more}"
    );
    Scenario::from_toml(&text).expect("a scenario")
}

fn fault(at: &str, lasts: &str) -> String {
    format!("[[fault]]\nservice = \"shop\"\nat = \"{at}\"\nlasts = \"{lasts}\"\nfails = true\n")
}

#[test]
fn a_run_does_not_end_before_what_is_to_come() {
    // A small fault, and a minute and more later the real one.
    let two = fault("5s", "1s") + &fault("3m", "6m");
    let it = with(&simple("20/s", "10m", &two), &[Remedy::AsItWas]);
    let run = it.run(1).expect("a run");
    assert!(run.failed > 7_000, "{run:?}");
    assert!(run.recovered_at >= Some(540 * S), "{run:?}");
    // One that is later than all runs last by themselves.
    let late = with(
        &simple("20/s", "30m", &fault("15m", "5m")),
        &[Remedy::AsItWas],
    );
    let run = late.run(1).expect("a run");
    assert!(run.failed > 5_000, "{run:?}");
    assert!(run.recovered_at >= Some(1_200 * S), "{run:?}");
}

#[test]
fn a_fault_that_is_never_over_prolongs_nothing() {
    for (lasts, expected) in [("118m", 7_200 * S), ("119m", HORIZON), ("5h", HORIZON)] {
        let told = simple("20/s", "2h", &fault("1m", lasts));
        let it = with(&told, &[Remedy::AsItWas]);
        assert_eq!(it.scenario.duration, expected, "{lasts}");
    }
}

#[test]
fn demand_that_goes_on_changing_prolongs_nothing() {
    let mut told = simple("20/s", "3h", &fault("1m", "1m"));
    told.groups[0].demand.0 = (0..1_000)
        .map(|at| herdscope_sim::Point {
            at: at * 10 * S,
            rate: 20.0,
            ramp: false,
        })
        .collect();
    let it = with(&told, &[Remedy::AsItWas]);
    assert_eq!(it.scenario.duration, HORIZON);
}

#[test]
fn what_hangs_or_hardly_comes_has_not_recovered() {
    // Nobody cuts the calls, and none is ever answered.
    let mut hangs = simple(
        "1/s",
        "10m",
        "[[fault]]\nservice = \"shop\"\nat = \"0s\"\nlasts = \"1m\"\ntakes = \"1h\"\n",
    );
    hangs.groups[0].policy.timeout = None;
    let run = with(&hangs, &[Remedy::AsItWas]).run(1).expect("a run");
    assert_eq!((run.served, run.recovered_at), (0, None), "{run:?}");
    assert!(run.bad_at.is_some());
    // All of some few fail: the empty seconds between them are no recovery.
    let sparse = simple("0.02/s", "10m", &fault("0s", "10m"));
    for seed in 1..=5 {
        let run = with(&sparse, &[Remedy::AsItWas]).run(seed).expect("a run");
        assert!(
            run.recovered_at.is_none() || run.failed == 0,
            "seed {seed}: {run:?}"
        );
    }
}

#[test]
fn a_step_is_never_long() {
    let mut told = simple("20/s", "2s", "");
    told.groups[0].demand = herdscope_sim::Demand::steady(50_000.0);
    let mut run = Simulation::new(told.clone(), 1).expect("settings");
    let mut steps = 1;
    while run.step().expect("settings") {
        steps += 1;
    }
    // Four events a request that is cut: it comes, reaches, is worked on or cut, and is answered.
    assert!(steps > 20, "{steps}");
    let run = run.finish();
    assert_eq!(run.summary, simulate(&told, 1).expect("a run").summary);
    assert_eq!(run.end, 2 * S as i64);
}

#[test]
fn every_remedy_of_what_can_be_read_can_be_run() {
    let service = "name = \"shop\"\nwork = \"365d\"\nworkers = 10000\npods = 10000\ncold = { factor = 1000, pods = 10000 }\n";
    let text = format!(
        "name = \"x\"\nduration = \"1ms\"\n[[client]]\nname = \"web\"\nrate = \"1000000/s\"\ncalls = \"shop\"\n\
         timeout = \"1ns\"\nretry = {{ base = \"1ns\", cap = \"1ns\" }}\n\
         breaker = \"window=1000000,min=1000000,consecutive=1,open=1ns,probes=10000\"\n[[service]]\n{service}"
    );
    let told = Scenario::from_toml(&text).expect("a scenario");
    for mut variant in variants(&told).expect("settings") {
        variant.scenario.duration = 20_000;
        let run = variant
            .run(1)
            .unwrap_or_else(|error| panic!("{}: {error}", variant.name));
        assert_eq!(run.served, 0, "{}", variant.name);
    }
}

#[test]
fn figures_that_are_too_large_stay_so() {
    let mut told = simple("1000/s", "1m", "");
    told.duration = 31_536_000 * S;
    told.groups[0].demand.0.push(herdscope_sim::Point {
        at: S,
        rate: 0.0,
        ramp: false,
    });
    let service = &mut told.services[0];
    (service.pods, service.workers) = (3, 1_000_000_000);
    service.work = herdscope_sim::Spread::same(31_536_000 * S);
    let mut run = Simulation::new(told.clone(), 1).expect("settings");
    for _ in 0..50 {
        run.step().expect("settings");
    }
    let run = run.finish();
    assert!(
        run.summary.worker_ns >= run.summary.idle_ns,
        "{:?}",
        run.summary
    );
    assert_eq!(run.summary.served, 0);
}
