//! The shared breaker beside its peers, in one run:
//!
//! ```sh
//! cargo run --release --manifest-path halfopen/bench/Cargo.toml [PART-OF-A-TITLE]
//! ```
//!
//! Every contender makes the same calls, which do nothing, in rounds that
//! alternate: what disturbs one round disturbs all. The median of seven rounds
//! counts, with the fastest and slowest beside it, and the ratio to ours is
//! taken within each round before its median is. One thread is quiet; with
//! eight the spread is as large as the differences, so read it with its range.
//! Allocations are counted in a round of its own, which is not timed.
//!
//! nopanic is Python: `HALFOPEN_PYTHON` names a Python that has it (`cargo
//! xtask bench breaker` makes one), otherwise its table says that it was left
//! out.

mod nopanic;
mod peers;

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use peers::Contender;

const ROUNDS: usize = 7;
const CALLS: u32 = 1_000_000;
const THREADS: u32 = 8;

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let wanted = |title: &str| title.to_lowercase().contains(&wanted.to_lowercase());

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
        nopanic::beside(&all[..2]);
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
        let (low, middle, high) = spread(&overheads);
        println!(
            "  the layer adds {middle:.1} ns ({low:.1}..{high:.1}), most of it two readings of the clock"
        );
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
    println!("\n{title}");
    println!(
        "  {:<36} {:>8} {:>17} {:>12} {:>7} {:>7}",
        "", "median", "range", "times ours", "allocs", "bytes"
    );
    for ((it, rounds), allocations) in contenders.iter().zip(&results).zip(allocations) {
        let ratios: Rounds = rounds
            .iter()
            .zip(&results[0])
            .map(|(it, ours)| it / ours)
            .collect();
        let (low, middle, high) = spread(rounds);
        println!(
            "  {:<36} {middle:>8.1} {:>17} {:>11.2}x {allocations:>7.1} {:>7}",
            it.name,
            format!("{low:.1}..{high:.1}"),
            spread(&ratios).1,
            it.bytes.map(|it| it.to_string()).unwrap_or_default(),
        );
    }
    results
}

fn spread(rounds: &[f64]) -> (f64, f64, f64) {
    let mut sorted = rounds.to_vec();
    sorted.sort_by(f64::total_cmp);
    (
        sorted[0],
        sorted[sorted.len() / 2],
        sorted[sorted.len() - 1],
    )
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
