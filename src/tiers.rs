//! Tiers: how deep each service stands in the call chain.
//!
//! A span's depth is the number of changes of service between it and its root; a service's tier is
//! the median over the traces that it appears in, so that traces with missing spans do not move it.
//! O(spans). Pinned by `tests/it/table.rs`.

use crate::column::Column;
use crate::spans::{Parent, SpanIdx, SpanTable};

/// Deeper chains are drawn as if they ended here.
const DEEPEST: u8 = 31;

/// The tier of each service, by its number.
#[inline(never)]
pub fn tiers(table: &SpanTable) -> Column<u8> {
    let n_services = table.services().count();
    let depth = depths(table);
    // How many traces see the service at each depth.
    let mut seen = Column::of([0u32; DEEPEST as usize + 1], n_services);
    let mut last = Column::of((u32::MAX, 0u8), n_services);
    for at in 0..table.len() {
        let (service, rank) = (table.service[at].0 as usize, table.rank[at].0);
        let depth = depth[at];
        // Once a trace and depth: a service called twice in a trace has no more to say.
        if last[service] != (rank, depth) {
            last[service] = (rank, depth);
            seen[service][depth as usize] += 1;
        }
    }
    seen.iter().map(median).collect()
}

/// The number of changes of service above each span.
fn depths(table: &SpanTable) -> Column<u8> {
    const UNKNOWN: u8 = u8::MAX;
    let mut depth = Column::of(UNKNOWN, table.len());
    let mut path = Vec::new();
    for first in 0..table.len() {
        let mut at = first;
        while depth[at] == UNKNOWN {
            path.push(at);
            match table.parent(SpanIdx(at as u32)) {
                Parent::Span(parent) => at = parent.0 as usize,
                Parent::Root | Parent::Missing => {
                    depth[at] = 0;
                    path.pop();
                }
            }
        }
        let mut above = at;
        for at in path.drain(..).rev() {
            let step = u8::from(table.service[at] != table.service[above]);
            depth[at] = (depth[above] + step).min(DEEPEST);
            above = at;
        }
    }
    depth
}

fn median(seen: &[u32; DEEPEST as usize + 1]) -> u8 {
    let total: u32 = seen.iter().sum();
    let mut below = 0;
    for (depth, &count) in seen.iter().enumerate() {
        below += count;
        if 2 * below >= total {
            return depth as u8;
        }
    }
    0
}
