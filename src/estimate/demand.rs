//! How many requests came, by time.
//!
//! Owns the steps of demand, whether it is steady, and what was tried again. Invariant: as many come as came, tries of one
//! once. O(calls). Pinned by
//! `tests/it/estimate.rs`.

use std::ops::Range;

use halfopen::companions::RetrySettings;
use herdscope_sim::{Demand, Point, Retries};

use super::key::{DAY, MOST_A_SECOND, round_rate};
use super::{S, STEP};
use crate::calls::{Calls, Edge};
use crate::dataset::Dataset;
use crate::observed::{observe, withheld};
use crate::retries;

/// Nobody means to try more often.
const MOST_TRIES: u32 = 100;

/// Of a longer file the steps would be more than anybody looks at, nanoseconds.
const LONGEST: u64 = DAY;

/// The calls of an edge with all tries of one as one, and how they are tried again, if they are.
pub(super) fn requests(dataset: &Dataset, edge: &Edge) -> (Calls, Option<Retries>) {
    let (table, calls) = (&dataset.table, &edge.calls);
    let attempts = retries::most_tries(table, calls).min(MOST_TRIES);
    let settings = RetrySettings {
        attempts,
        ..RetrySettings::default()
    };
    let retries = Retries {
        settings,
        budget: None,
    };
    (
        retries::logical(table, calls),
        (attempts > 1).then_some(retries),
    )
}

/// The arrivals as they were, step by step, and as many as on average after them.
pub(super) fn steps(calls: &Calls, time: &Range<i64>) -> Demand {
    let length = time.end.abs_diff(time.start).max(1);
    let mean = calls.len() as f64 * S / length as f64;
    if length > LONGEST {
        return Demand::steady(round_rate(mean));
    }
    let mut counts = vec![0u32; length.div_ceil(STEP) as usize];
    for at in &calls.start {
        let step = (at.abs_diff(time.start) / STEP) as usize;
        if let Some(count) = counts.get_mut(step) {
            *count += 1;
        }
    }
    // What varies no more than independent calls do is steady: the variance of their counts is the mean, and twice that
    // comes by chance once in thousands. The last step may be cut short.
    let (last, whole) = counts.split_last().unwrap_or((&0, &[]));
    let n = whole.len() as f64;
    let usual = whole.iter().map(|&it| f64::from(it)).sum::<f64>() / n;
    let squares = whole.iter().map(|&it| (f64::from(it) - usual).powi(2));
    if whole.len() < 2 || squares.sum::<f64>() / n < 2.0 * usual {
        return Demand::steady(round_rate(mean));
    }
    let point = |at: u64, rate: f64| Point {
        at,
        rate: rate.min(MOST_A_SECOND),
        ramp: false,
    };
    let begins = whole.len() as u64 * STEP;
    let mut points: Vec<_> = (0..)
        .zip(whole)
        .map(|(step, &count)| point(step * STEP, f64::from(count) * S / STEP as f64))
        .collect();
    let rest = length - begins;
    points.push(point(
        begins,
        f64::from(*last) * S / rest.max(STEP / 10) as f64,
    ));
    points.push(point(length, round_rate(mean)));
    Demand(points)
}

/// Calls that breakers withheld, estimated.
pub(super) fn withheld_calls(dataset: &Dataset, edge: &Edge) -> f64 {
    let observed = observe(&dataset.table, &edge.calls, false);
    withheld(&observed).map_or(0.0, |it| it.calls[1])
}
