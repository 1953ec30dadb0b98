//! The shared breaker beside its peers, in one run:
//!
//! ```sh
//! cargo run --release --manifest-path halfopen/bench/Cargo.toml [PART-OF-A-TITLE]
//! ```
//!
//! Every contender makes the same calls, which do nothing, in rounds that
//! alternate: what disturbs one round disturbs all. It prints rows, which
//! `cargo xtask bench breaker` collects: the median of the rounds, and how many
//! times quicker ours is, taken within a round. One thread is quiet; with eight
//! the spread is as large as the differences. Allocations are counted in a
//! round of its own, which is not timed.
//!
//! nopanic is Python: `HALFOPEN_PYTHON` names a Python that has it (`cargo
//! xtask bench breaker` makes one), otherwise its row says that it was left
//! out.

mod nopanic;
mod peers;

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use peers::Contender;
use xtask::bench::row::{Better, Row, Target};

const ROUNDS: usize = 7;
const CALLS: u32 = 1_000_000;
const THREADS: u32 = 8;

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let wanted = |title: &str| title.to_lowercase().contains(&wanted.to_lowercase());

    let title = "A new breaker, bytes";
    if wanted(title) {
        weights(title, &peers::all(false));
    }
    let title = "One thread, a call that succeeds, ns";
    if wanted(title) {
        table(title, &peers::all(false), |it| {
            one_thread(it, CALLS / it.slowness)
        });
    }
    let title = "One thread, every third call fails below the threshold, ns";
    if wanted(title) {
        table(title, &peers::all(true), |it| {
            one_thread(it, CALLS / it.slowness)
        });
    }
    let title = "Eight threads, a call that succeeds, ns a call in all";
    if wanted(title) {
        table(title, &peers::all(false), |it| {
            threads(it, THREADS, CALLS / 4 / it.slowness)
        });
    }
    let title = "32 threads, every third call fails below the threshold, ns a call in all";
    if wanted(title) {
        let all = peers::all(true);
        table(title, &all[..4], |it| threads(it, 32, 100_000));
        nopanic::beside(title, &all[..2]);
    }
    let title = "Rejected while open, one thread, ns";
    if wanted(title) {
        table(title, &peers::rejecting(), |it| {
            one_thread(it, CALLS / it.slowness)
        });
    }
    let title = "Tower service, a ready call, ns";
    if wanted(title) {
        let results = table(title, &peers::tower(), |it| {
            one_thread(it, CALLS / it.slowness)
        });
        let overheads: Rounds = results[0]
            .iter()
            .zip(&results[1])
            .map(|(with, without)| with - without)
            .collect();
        Row::of("What the layer adds to a ready call, ns", &overheads)
            .noting("most of it two readings of the clock")
            .print();
    }
}

/// One contender's nanoseconds a call, round by round.
type Rounds = Vec<f64>;

fn table(title: &str, contenders: &[Contender], run: impl Fn(&Contender) -> f64) -> Vec<Rounds> {
    let mut results: Vec<Rounds> = vec![Vec::new(); contenders.len()];
    let mut allocations = Vec::new();
    for it in contenders {
        run(it);
        let counted = 10_000;
        let heap = allocation_counter::measure(|| (it.calls)(0, counted));
        allocations.push(heap.count_total as f64 / f64::from(counted));
    }
    for _ in 0..ROUNDS {
        for (it, rounds) in contenders.iter().zip(&mut results) {
            rounds.push(run(it));
        }
    }
    for (nth, it) in contenders.iter().enumerate().skip(1) {
        let mut row = Row::beside(title, &results[0], it.name, &results[nth], Better::Less);
        if it.name == "recloser" && title.starts_with("One thread") {
            row = row
                .aim(Target::AtLeast(0.9))
                .or_because("ours settles by generation and keeps a window of outcomes");
        }
        if let Some(allocations) = Some(allocations[nth]).filter(|&it| it > 0.0) {
            row = row.or_noting(format!("it allocates {allocations:.1} times a call"));
        }
        row.print();
    }
    results
}

/// What breakers take when new, handle and heap.
fn weights(title: &str, contenders: &[Contender]) {
    let bytes = |it: &Contender| it.bytes.map(|it| it as f64);
    let Some(ours) = bytes(&contenders[0]) else {
        return;
    };
    Row::of(title, &[ours])
        .aim(Target::AtMost(512.0))
        .or_because("a window of outcomes")
        .print();
    for it in &contenders[1..] {
        if let Some(bytes) = bytes(it) {
            Row::beside(title, &[ours], it.name, &[bytes], Better::Less).print();
        }
    }
}

fn one_thread(it: &Contender, calls: u32) -> f64 {
    let begun = Instant::now();
    (it.calls)(0, calls);
    begun.elapsed().as_nanos() as f64 / f64::from(calls)
}

fn threads(it: &Contender, threads: u32, calls: u32) -> f64 {
    let start = Barrier::new(threads as usize + 1);
    let begun = thread::scope(|scope| {
        for nth in 0..threads {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                (it.calls)(nth, calls);
            });
        }
        // Taken before the barrier, which the threads may pass first.
        let begun = Instant::now();
        start.wait();
        begun
    });
    begun.elapsed().as_nanos() as f64 / f64::from(threads * calls)
}
