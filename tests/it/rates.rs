//! Requests and failure rates over time, against counts of all calls and samples.

use herdscope::calls::{CallOutcome, Calls};
use herdscope::messages::{NO_RATE, RateLine};
use herdscope::plot::scale::Scale;
use herdscope::rates::Rates;
use herdscope::replay::{Breaker, RateSample, Replay};
use herdscope::spans::SpanIdx;
use herdscope::view::Viewport;
use proptest::prelude::*;

const OUTCOMES: [CallOutcome; 5] = [
    CallOutcome::Success,
    CallOutcome::Failure,
    CallOutcome::TimedOut,
    CallOutcome::Rejected,
    CallOutcome::Unknown,
];

/// Calls of that start, duration, outcome, in order, and whether the replay refuses them.
fn calls(given: &[(i64, i64, usize, bool)]) -> (Calls, Vec<bool>) {
    let mut given = given.to_vec();
    given.sort_unstable();
    let end = |it: &(i64, i64, usize, bool)| it.0 + it.1;
    let mut by_end: Vec<u32> = (0..given.len() as u32).collect();
    by_end.sort_by_key(|&at| end(&given[at as usize]));
    let calls = Calls {
        span: (0..given.len() as u32).map(SpanIdx).collect(),
        start: given.iter().map(|it| it.0).collect(),
        end: given.iter().map(end).collect(),
        outcome: given.iter().map(|it| OUTCOMES[it.2]).collect(),
        instance: given.iter().map(|_| 0).collect(),
        by_end: by_end.into(),
        instances: vec![None],
    };
    (calls, given.iter().map(|it| it.3).collect())
}

fn replay(rejected: Vec<bool>, rates: Vec<RateSample>) -> Replay {
    let breaker = || Breaker {
        instance: None,
        transitions: Vec::new(),
    };
    Replay {
        breakers: vec![breaker(), breaker(), breaker()],
        per_instance: true,
        from: 0,
        to: 0,
        rejected: rejected.into(),
        withheld: 0,
        outcome_unknown: 0,
        rates,
    }
}

/// For each pixel column the highest and the last rate, and what held before the first.
fn naive_line(samples: &[RateSample], viewport: Viewport, width: u32) -> RateLine {
    let scale = Scale::new(viewport, [width, 1]);
    let mut of_breaker = [None; 3];
    let mut told: Vec<(i64, Option<u32>)> = Vec::new();
    for sample in samples {
        of_breaker[sample.breaker as usize] = sample.rate;
        told.push((sample.at, of_breaker.iter().copied().max().flatten()));
    }
    let mut points = Vec::new();
    let held = told.iter().rfind(|it| it.0 < viewport.t0);
    points.extend(held.map(|it| (viewport.t0, it.1)));
    for x in 0..width {
        let in_column = |it: &&(i64, _)| {
            (viewport.t0..viewport.t1).contains(&it.0) && scale.x(it.0).floor() == f64::from(x)
        };
        let column: Vec<_> = told.iter().filter(in_column).copied().collect();
        let highest = column.iter().map(|it| it.1).max();
        points.extend(column.iter().find(|it| Some(it.1) == highest));
        points.extend(column.last());
    }
    let mut line = RateLine::default();
    for (at, rate) in &points {
        let rate = rate.unwrap_or(NO_RATE);
        if line.rate.last() != Some(&rate) {
            line.at.push(*at);
            line.rate.push(rate);
        }
    }
    if let Some(&(at, rate)) = points.last()
        && line.at.last() != Some(&at)
    {
        line.at.push(at);
        line.rate.push(rate.unwrap_or(NO_RATE));
    }
    line
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn requests_are_counted_as_in_a_list(
        given in prop::collection::vec((0..5_000i64, 0..900i64, 0..5usize, any::<bool>()), 0..300),
        (from, span) in (-1_000..5_000i64, 1..9_000i64),
        width in 1..400u32,
    ) {
        const MS: i64 = 1_000_000;
        let given: Vec<_> = given.iter().map(|it| (it.0 * MS, it.1 * MS, it.2, it.3)).collect();
        let (calls, rejected) = calls(&given);
        let viewport = Viewport { t0: from * MS, t1: (from + span) * MS, y0: 0, y1: 1 };
        let scene = Rates::new(&calls, &mut replay(rejected.clone(), Vec::new())).requests(&calls, viewport, width);
        let n = scene.sent.len();
        prop_assert!(scene.from <= viewport.t0 && scene.from + scene.step * n as i64 >= viewport.t1);
        let counted = |of: &dyn Fn(usize) -> Option<i64>| {
            let mut bins = vec![0u32; n];
            for at in (0..calls.len()).filter_map(of) {
                if let Some(bin) = usize::try_from((at - scene.from).div_euclid(scene.step)).ok().and_then(|bin| bins.get_mut(bin)) {
                    *bin += 1;
                }
            }
            bins
        };
        let ended = |outcome| counted(&|at| (calls.outcome[at] == outcome && !rejected[at]).then(|| calls.end[at]));
        prop_assert_eq!(&scene.sent, &counted(&|at| (!rejected[at]).then(|| calls.start[at])));
        prop_assert_eq!(&scene.withheld, &counted(&|at| rejected[at].then(|| calls.start[at])));
        prop_assert_eq!(&scene.timed_out, &ended(CallOutcome::TimedOut));
        prop_assert_eq!(&scene.failed, &ended(CallOutcome::Failure));
    }

    #[test]
    fn the_failure_rate_is_that_of_a_list(
        samples in prop::collection::vec((0..9_000i64, 0..3u32, prop::option::of(0..20u32)), 0..600),
        (from, span) in (-1_000..9_000i64, 1..12_000i64),
        width in 1..90u32,
    ) {
        let mut samples: Vec<RateSample> = samples
            .iter()
            .map(|&(at, breaker, rate)| RateSample { at, breaker, rate })
            .collect();
        samples.sort_by_key(|it| it.at);
        let viewport = Viewport { t0: from, t1: from + span, y0: 0, y1: 1 };
        let rates = Rates::new(&calls(&[]).0, &mut replay(Vec::new(), samples.clone()));
        prop_assert_eq!(rates.failure_rate(viewport, width), naive_line(&samples, viewport, width));
    }
}
