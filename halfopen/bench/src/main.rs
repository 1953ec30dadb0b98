//! The shared breaker beside its peers, in one run:
//!
//! ```sh
//! cargo run --release --manifest-path halfopen/bench/Cargo.toml
//! ```
//!
//! Every contender makes the same calls, which do nothing, in rounds that
//! alternate: what disturbs one round disturbs all. The median of seven rounds
//! counts, with the fastest and slowest beside it, and the ratio to ours is
//! taken within each round before its median is. One thread is quiet; with
//! eight the spread is as large as the differences, so read it with its range.

mod peers;

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use peers::Contender;

const ROUNDS: usize = 7;
const CALLS: u32 = 1_000_000;
const THREADS: u32 = 8;

fn main() {
    table(
        "One thread, a call that succeeds, ns",
        &peers::all(false),
        |it| one_thread(it, CALLS / it.slowness),
    );
    table(
        "One thread, every third call fails below the threshold, ns",
        &peers::all(true),
        |it| one_thread(it, CALLS / it.slowness),
    );
    table(
        "Eight threads, a call that succeeds, ns a call in all",
        &peers::all(false),
        |it| threads(it, THREADS, CALLS / 4 / it.slowness),
    );
    table(
        "32 threads, every third call fails below the threshold, ns a call in all",
        &peers::all(true)[..4],
        |it| threads(it, 32, 100_000),
    );
    table(
        "Rejected while open, one thread, ns",
        &peers::rejecting(),
        |it| one_thread(it, CALLS / it.slowness),
    );
    table("Tower service, a ready call, ns", &peers::tower(), |it| {
        one_thread(it, CALLS / it.slowness)
    });
    bytes();
}

/// One contender's nanoseconds a call, round by round.
type Rounds = Vec<f64>;

fn table(title: &str, contenders: &[Contender], run: impl Fn(&Contender) -> f64) {
    let mut results: Vec<Rounds> = vec![Vec::new(); contenders.len()];
    for it in contenders {
        run(it);
    }
    for _ in 0..ROUNDS {
        for (it, rounds) in contenders.iter().zip(&mut results) {
            rounds.push(run(it));
        }
    }
    println!("\n{title}");
    println!(
        "  {:<36} {:>8} {:>17} {:>12}",
        "", "median", "range", "times ours"
    );
    for (it, rounds) in contenders.iter().zip(&results) {
        let ratios: Rounds = rounds
            .iter()
            .zip(&results[0])
            .map(|(it, ours)| it / ours)
            .collect();
        let (low, middle, high) = spread(rounds);
        println!(
            "  {:<36} {middle:>8.1} {:>17} {:>11.2}x",
            it.name,
            format!("{low:.1}..{high:.1}"),
            spread(&ratios).1,
        );
    }
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

/// Measured by the tests of the crate, where allocations can be counted.
fn bytes() {
    println!(
        "\nBytes a breaker at defaults, handle and heap: halfopen 508 (tests/allocations.rs);"
    );
    println!(
        "measured apart: recloser 228, failsafe 384, circuitbreaker-rs 392, tower-resilience 473."
    );
}
