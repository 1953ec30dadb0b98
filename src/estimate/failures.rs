//! What failed by itself.
//!
//! Owns the fault that a file shows: calls that were answered, and badly. What timed out or was withheld is what the
//! simulation is about, and comes of itself. Invariant: of the calls within the fault such a share failed. O(calls). Pinned
//! by `tests/it/estimate.rs`.

use std::ops::Range;

use herdscope_sim::Fault;

use crate::calls::{CallOutcome, Calls};

const MS: u64 = 1_000_000;

/// From the first call that failed to the last one, of the only service; `None` where none did. Of what went on until
/// the end nobody knows that it was over.
pub(super) fn fault(calls: &Calls, time: &Range<i64>) -> Option<Fault> {
    let failed = |at: &usize| calls.outcome[*at] == CallOutcome::Failure;
    let good = |at: &usize| calls.outcome[*at] == CallOutcome::Success;
    let first = (0..calls.len()).find(failed)?;
    let last = (first..calls.len()).rfind(failed)?;
    let n_failed = (first..=last).filter(failed).count();
    let n_good = (first..=last).filter(good).count();
    let since = |at: i64| at.abs_diff(time.start) / MS;
    let (from, to) = (since(calls.start[first]), since(calls.start[last]) + 1);
    let end = since(time.end) + 1;
    let over = (end - to) * 10 > to - from;
    Some(Fault {
        at: from * MS,
        lasts: (if over { to } else { end } - from) * MS,
        service: 0,
        takes: None,
        fails: (n_failed * 1_000).div_ceil(n_failed + n_good) as f64 / 1e3,
    })
}
