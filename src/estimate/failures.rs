//! What failed by itself.
//!
//! Owns the fault that a file shows: calls that were answered, and badly. What timed out or was withheld is what the
//! simulation is about, and comes of itself. Invariant: of the calls within the fault such a share failed. O(calls). Pinned
//! by `tests/it/estimate.rs`.

use herdscope_sim::Fault;

use crate::calls::{CallOutcome, Calls};

const MS: u64 = 1_000_000;

/// From the first call that failed to the last one, of the only service; `None` where none did.
pub(super) fn fault(calls: &Calls, beginning: i64) -> Option<Fault> {
    let failed = |at: &usize| calls.outcome[*at] == CallOutcome::Failure;
    let good = |at: &usize| calls.outcome[*at] == CallOutcome::Success;
    let first = (0..calls.len()).find(failed)?;
    let last = (first..calls.len()).rfind(failed)?;
    let n_failed = (first..=last).filter(failed).count();
    let n_good = (first..=last).filter(good).count();
    let since = |at: usize| calls.start[at].abs_diff(beginning) / MS;
    let (from, to) = (since(first), since(last) + 1);
    Some(Fault {
        at: from * MS,
        lasts: (to - from) * MS,
        service: 0,
        takes: None,
        fails: (n_failed * 1_000).div_ceil(n_failed + n_good) as f64 / 1e3,
    })
}
