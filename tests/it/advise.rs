//! Timeouts in use and proposed, pools, and work for nobody.

use std::path::Path;

use herdscope::advise::{self, EdgeAdvice, abandoned, advise};
use herdscope::dataset::Dataset;

use crate::given::{dataset, herd, read};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

fn real(name: &str) -> Option<Dataset> {
    let Some(folder) = std::env::var_os("HERDSCOPE_TRACES") else {
        eprintln!("not run: HERDSCOPE_TRACES names no folder of traces");
        return None;
    };
    Some(read(&Path::new(&folder).join("real").join(name)))
}

fn edge(dataset: &Dataset, from: &str, to: &str) -> EdgeAdvice {
    let edge = dataset.edges.iter().find(|it| it.is_named(from, to));
    advise(
        dataset,
        edge.unwrap_or_else(|| panic!("no edge {from}->{to}")),
    )
}

#[test]
fn timeouts_and_pools_of_real_files() {
    let cases = [
        (
            "F05-01",
            "ts-travel-service",
            "ts-ticketinfo-service",
            20,
            Some(9),
            333,
        ),
        (
            "F05-03",
            "ts-admin-travel-service",
            "ts-travel2-service",
            5,
            None,
            250,
        ),
        (
            "F23-01",
            "ts-travel-plan-service",
            "ts-route-plan-service",
            30,
            Some(10),
            300,
        ),
    ];
    for (file, from, to, timeout, pool, calls) in cases {
        let Some(dataset) = real(&format!("skywalking-{file}-error.csv")) else {
            return;
        };
        let advice = edge(&dataset, from, to);
        assert_eq!(advice.timeouts_in_use, [(timeout * S, calls)], "{file}");
        assert_eq!(advice.pool.map(|it| it.size), pool, "{file}: {advice:?}");
        // Nothing went well, so nothing tells what a good call would bear.
        assert_eq!(
            (advice.proposed_timeout_ns, advice.cut_share),
            (None, None),
            "{file}"
        );
        let (counted, law) = (advice.in_flight.mean, advice.in_flight.littles_law);
        assert!(
            (counted - law).abs() < 0.01 * law,
            "{file}: {counted} {law}"
        );
    }
}

#[test]
fn work_for_nobody_went_on_for_a_hundred_minutes() {
    let Some(dataset) = real("skywalking-F05-01-error.csv") else {
        return;
    };
    let longest = abandoned(&dataset.table)
        .iter()
        .map(|it| it.longest_ns)
        .max();
    let minutes = longest.expect("some") as f64 / (60 * S) as f64;
    assert!((99.0..101.0).contains(&minutes), "{minutes}");
}

#[test]
fn a_call_that_its_callers_outlive_is_not_abandoned() {
    let dataset = dataset(
        "a 1 - web client 0+100 timed_out
         a 2 1 api server 10+300
         a 3 2 api client 20+280
         a 4 3 db server 30+260
         a 5 2 api producer 40+1
         a 6 5 mail consumer 400+100
         b 1 - web client 1000+100
         b 2 1 api server 1010+80
         c 1 - web client 2000+100
         c 2 1 api server 2080+80",
    );
    let found: Vec<_> = abandoned(&dataset.table)
        .into_iter()
        .map(|it| (it.service, it.calls, it.total_ns / MS, it.longest_ns / MS))
        .collect();
    let expected = [("api", 1, 210, 210), ("db", 1, 190, 190)];
    assert_eq!(
        found,
        expected.map(|it| (it.0.to_owned(), it.1, it.2, it.3))
    );
}

#[test]
fn the_sample_has_one_timeout_and_a_proposal() {
    let dataset = herd();
    let advice = edge(&dataset, "shop-web", "catalog");
    assert_eq!(advice.timeouts_in_use, [(500 * MS, 695)]);
    let proposed = advice.proposed_timeout_ns.expect("enough calls went well");
    assert!((500 * MS..800 * MS).contains(&proposed), "{proposed}");
    assert_eq!(advice.cut_share, Some(0.0));
    assert!(advice.pool.is_none(), "{:?}", advice.pool);
}

#[test]
fn timeouts_in_use_stand_out_of_what_ends_around_them() {
    // Failures and successes in milliseconds: how many, from where, and how far apart.
    let spread =
        |(n, from, step): (u64, u64, u64)| (0..n).map(move |at| (from + at * step) * MS / 10);
    type Spread = (u64, u64, u64);
    type Case = (
        &'static str,
        &'static [Spread],
        &'static [Spread],
        &'static [u64],
    );
    let cases: [Case; 8] = [
        ("a pile", &[(20, 10_000, 1)], &[(100, 100, 50)], &[1_000]),
        // Tenths of milliseconds: of two callers, one bears more.
        (
            "two, and successes between them",
            &[(20, 10_000, 1), (20, 25_000, 1)],
            &[(100, 100, 200)],
            &[1_000, 2_500],
        ),
        ("short ones", &[(20, 3_500, 1)], &[(100, 100, 10)], &[350]),
        ("not round", &[(20, 7_300, 1)], &[(100, 100, 10)], &[]),
        ("all over", &[(200, 100, 100)], &[(100, 100, 10)], &[]),
        ("too few", &[(4, 10_000, 1)], &[(100, 100, 10)], &[]),
        (
            "successes pile up, too",
            &[(20, 10_000, 1)],
            &[(100, 10_000, 1), (9, 20_000, 1)],
            &[],
        ),
        (
            "noticed late",
            &[(60, 10_010, 30)],
            &[(100, 100, 10)],
            &[1_000],
        ),
    ];
    for (what, failures, successes, expected) in cases {
        let all = |of: &[Spread]| -> Vec<u64> {
            let mut all: Vec<u64> = of.iter().copied().flat_map(spread).collect();
            all.sort_unstable();
            all
        };
        let found = herdscope::calls::timeouts_in_use(&all(failures), &all(successes));
        let expected: Vec<u64> = expected.iter().map(|it| it * MS).collect();
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn timeouts_below_a_tenth_of_a_second_are_those_that_are_told() {
    let line =
        |at: u64, took: u64, how: &str| format!("t{at} 1 - web client {at}+{took} {how} >api\n");
    let of = |how: &str| -> String {
        let cut = (0..20).map(|at| line(at, 90 + at % 3, how));
        cut.chain((20..200).map(|at| line(at, 10, ""))).collect()
    };
    let in_use = |how: &str| edge(&dataset(&of(how)), "web", "api").timeouts_in_use;
    assert_eq!(in_use("timed_out"), [(90 * MS, 20)]);
    assert_eq!(in_use("failed"), []);
}

#[test]
fn the_busiest_second_is_what_a_pool_has_to_bear() {
    // Ten calls within a second, ten seconds later another.
    let starts = (0..10).map(|at| at * 90).chain([10_000]);
    let lines: String = starts
        .map(|at| format!("t{at} 1 - web client {at}+5 >api\n"))
        .collect();
    let advice = edge(&dataset(&lines), "web", "api");
    assert_eq!(advice.busiest, Some(10.0));
    assert!(advice.rate.is_some_and(|it| it < 2.0));
}

#[test]
fn who_is_refused_holds_no_thread_and_one_call_is_no_rate() {
    let refused = "a 1 - web client 0+1000 >api
         b 1 - web client 1000+1000 >api
         c 1 - web client 1500+0 rejected >api
         d 1 - web client 9000+0 rejected >api";
    let all = dataset(refused);
    let advice = edge(&all, "web", "api");
    assert_eq!((advice.rate, advice.calls), (Some(1.0), 2));
    assert_eq!((advice.in_flight.mean, advice.in_flight.max), (1.0, 1));
    let one = dataset("a 1 - web client 0+0 >api");
    assert_eq!(edge(&one, "web", "api").rate, None);
}

#[test]
fn percentiles_know_what_their_sample_tells() {
    let durations: Vec<u64> = (1..=1_000).collect();
    let told = |thousandths| {
        let it = advise::percentile(&durations, thousandths);
        (it.ns, it.low, it.high)
    };
    // Ranks of a binomial count: 500 +- 31, 990 +- 6.2; of the 99.9th the upper end is beyond the sample.
    assert_eq!(told(500), (Some(500), Some(469), Some(532)));
    assert_eq!(told(990), (Some(990), Some(983), Some(998)));
    assert_eq!(told(999), (Some(999), Some(997), None));
    assert_eq!(advise::percentile(&[], 500), advise::Percentile::default());
    assert_eq!(advise::percentile(&[7], 999).ns, Some(7));
}

/// 200 threads, 1,000 requests a second.
#[test]
fn when_a_pool_is_dry() {
    let dry = |duration| advise::dry_after(200, 1_000.0, duration);
    assert_eq!(dry(5 * S), Some(0.2));
    assert_eq!((dry(MS), advise::threads_taken(1_000.0, MS)), (None, 1.0));
    assert_eq!(
        (dry(150 * MS), advise::threads_taken(1_000.0, 150 * MS)),
        (None, 150.0)
    );
    assert_eq!(dry(200 * MS), None);
}

#[test]
fn connecting_is_told_apart_where_spans_do() {
    let dataset = dataset(
        "a 1 - web client 0+100 >api
         a 2 1 web internal 1+4 :dns.lookup
         a 3 1 web internal 5+6 :tcp.connect
         b 1 - web client 200+50 >api",
    );
    let advice = advise(&dataset, &dataset.edges[0]);
    assert_eq!(advice.connect, Some([10 * MS, 10 * MS]));
    assert_eq!(advice.proposed_timeout_ns, None);
}

#[test]
fn a_proposal_drifts_by_a_quarter() {
    assert!(!advise::drifted(100, 120) && advise::drifted(100, 125) && advise::drifted(100, 75));
}
