//! Which windows, minimums and thresholds trip where breakers tripped, and nowhere else.
//!
//! Owns the search. For one window the rate after each result is known; for one minimum, a period is
//! explained by the thresholds above every rate before its trip and not above the highest at it. Counting
//! where those begin and end gives, for all whole per cents at once, how many periods are explained.
//! O(windows x (results + minimums x periods)). Pinned by `tests/it/fit.rs`.

use super::{Period, Range};
use crate::order;

/// A window of calls, or of seconds in so many buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    Calls(u32),
    Seconds(u32, u32),
}

/// The best choice for one kind of window, and what is as good.
#[derive(Clone, Debug)]
pub(super) struct Best {
    pub(super) window: Window,
    pub(super) min: u32,
    /// The share of bad results, per cent.
    pub(super) share: u32,
    /// Periods explained.
    pub(super) explained: u32,
    windows: (u32, u32),
    mins: (u32, u32),
    pub(super) shares: (u32, u32),
}

/// Sizes and minimums of one to two thousand calls: each at first, then in steps of a twentieth.
fn sizes() -> Vec<u32> {
    let mut sizes = Vec::new();
    let mut at = 1;
    while at <= 2_000 {
        sizes.push(at);
        at += (at / 20).max(1);
    }
    sizes.extend([100, 200, 250, 300, 400, 500, 1_000]);
    let mut sizes = order::sorted(sizes, &mut u32::cmp);
    sizes.dedup();
    sizes
}

/// Lengths of time windows that people choose, in seconds. They are counted in buckets of a tenth (Polly,
/// Hystrix) or of a second each (resilience4j).
const SECONDS: &[u32] = &[1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300];

/// The search, a window at a time.
pub(super) struct Search {
    sizes: Vec<u32>,
    /// Those of calls, then those of time.
    windows: Vec<Window>,
    done: usize,
    /// Of windows of calls, and of time.
    best: [Option<Best>; 2],
    likeliest: [Option<Likely>; 2],
}

/// Of the choices with round values that explain as much, the likeliest: people choose round values, and
/// a breaker that trips late had calls until then.
#[derive(Clone, Copy)]
struct Likely {
    choice: Choice,
    cost: f64,
}

/// Results and failures in the window after each result of a period.
type Rates = Vec<(u32, u32)>;

/// One choice, and how many periods it explains.
#[derive(Clone, Copy)]
struct Choice {
    window: Window,
    min: u32,
    fail: u32,
    explained: u32,
}

impl Search {
    pub(super) fn new() -> Search {
        let sizes = sizes();
        let calls = sizes.iter().map(|&it| Window::Calls(it));
        let seconds = SECONDS.iter().flat_map(|&length| {
            let buckets = if length == 10 {
                vec![10]
            } else {
                vec![length, 10]
            };
            buckets
                .into_iter()
                .map(move |it| Window::Seconds(length, it))
        });
        let windows = calls.chain(seconds).collect();
        Search {
            sizes,
            windows,
            done: 0,
            best: [None, None],
            likeliest: [None, None],
        }
    }

    /// Windows that have been tried, and how many there are.
    pub(super) fn progress(&self) -> (usize, usize) {
        (self.done, self.windows.len())
    }

    /// Tries the next window. O(results + minimums x periods).
    pub(super) fn step(&mut self, periods: &[Period]) {
        let Some(&window) = self.windows.get(self.done) else {
            return;
        };
        self.done += 1;
        let kind = usize::from(matches!(window, Window::Seconds(..)));
        let (best, likeliest) = (&mut self.best[kind], &mut self.likeliest[kind]);
        let mut rates: Vec<Rates> = vec![Vec::new(); periods.len()];
        let mut table = vec![[0i32; 102]; self.sizes.len()];
        for (period, rates) in periods.iter().zip(&mut rates) {
            rates_after(period, window, rates);
            count(period, rates, &self.sizes, &mut table);
        }
        for (&min, explained) in self.sizes.iter().zip(&table) {
            if matches!(window, Window::Calls(size) if min > size) {
                break;
            }
            let mut sum = 0;
            for fail in 1..=100 {
                sum += explained[fail as usize];
                let choice = Choice {
                    window,
                    min,
                    fail,
                    explained: sum.unsigned_abs(),
                };
                widen(best, choice);
                prefer(likeliest, choice, periods, &rates);
            }
        }
    }

    /// The best choice with a window of calls and the best with one of time, if they explain anything.
    pub(super) fn finish(self) -> Vec<Best> {
        let choose = |(best, likeliest): (Option<Best>, Option<Likely>)| {
            let mut best = best.filter(|it| it.explained > 0)?;
            let likely = likeliest.filter(|it| it.choice.explained == best.explained);
            if let Some(Likely { choice, .. }) = likely {
                (best.window, best.min, best.share) = (choice.window, choice.min, choice.fail);
            }
            Some(best)
        };
        let found = self.best.into_iter().zip(self.likeliest);
        found.filter_map(choose).collect()
    }
}

/// Takes a choice of round values if it explains more, or as much and is likelier.
fn prefer(likeliest: &mut Option<Likely>, it: Choice, periods: &[Period], rates: &[Rates]) {
    let explained = likeliest.map_or(1, |it| it.choice.explained);
    let round = it.window.is_round() && is_round(it.min) && it.fail.is_multiple_of(5);
    if it.explained < explained || !round {
        return;
    }
    let cost = oddness(it) + lateness(periods, rates, it);
    if likeliest.is_none_or(|best| it.explained > explained || cost < best.cost) {
        *likeliest = Some(Likely { choice: it, cost });
    }
}

/// Takes a choice if it explains more; if as much, widens the ranges by its values.
fn widen(best: &mut Option<Best>, it: Choice) {
    let size = it.window.size();
    match best {
        Some(best) if best.explained > it.explained => {}
        Some(best) if best.explained == it.explained => {
            let wider = |range: &mut (u32, u32), value: u32| {
                *range = (range.0.min(value), range.1.max(value));
            };
            wider(&mut best.windows, size);
            wider(&mut best.mins, it.min);
            wider(&mut best.shares, it.fail);
        }
        _ => {
            *best = Some(Best {
                window: it.window,
                min: it.min,
                share: it.fail,
                explained: it.explained,
                windows: (size, size),
                mins: (it.min, it.min),
                shares: (it.fail, it.fail),
            });
        }
    }
}

impl Window {
    fn size(self) -> u32 {
        match self {
            Window::Calls(size) | Window::Seconds(size, _) => size,
        }
    }

    fn is_round(&self) -> bool {
        matches!(self, Window::Seconds(..)) || is_round(self.size())
    }
}

fn is_round(size: u32) -> bool {
    size < 10 || size.is_multiple_of(5) && (size < 100 || size.is_multiple_of(50))
}

/// How unusual settings are, in natural logarithms of their odds: most keep the defaults.
fn oddness(it: Choice) -> f64 {
    let of = |value: u32, usual: &[u32]| {
        if usual.contains(&value) {
            1.0
        } else if value.is_multiple_of(10) {
            2.0
        } else {
            3.0
        }
    };
    let size = match it.window {
        Window::Calls(100) => 0.0,
        Window::Calls(size) => of(size, &[10, 20, 50, 200]),
        Window::Seconds(size, _) => of(size, &[10, 60]),
    };
    let whole = matches!(it.window, Window::Calls(size) if size == it.min);
    let min = match it.min {
        20 => 0.0,
        _ if whole => 0.5,
        min => of(min, &[5, 10, 50, 100]),
    };
    let fail = if it.fail == 50 { 0.0 } else { of(it.fail, &[]) };
    size + min + fail
}

/// How unlikely it is that no call came between the last one that was made and the trip, in natural
/// logarithms.
fn lateness(periods: &[Period], rates: &[Rates], it: Choice) -> f64 {
    let late = |(period, rates): (&Period, &Rates)| {
        let trip = period
            .trips
            .clone()
            .find(|&at| trips(rates[at], it.min, it.fail))?;
        Some((period.end[trip] - period.last).max(0) as f64 * period.rate)
    };
    periods.iter().zip(rates).filter_map(late).sum()
}

fn trips((results, failures): (u32, u32), min: u32, fail: u32) -> bool {
    results >= min && u64::from(failures) * 100 >= u64::from(fail) * u64::from(results)
}

/// Results and failures in the window after each result.
fn rates_after(period: &Period, window: Window, rates: &mut Rates) {
    rates.clear();
    let (mut oldest, mut failures) = (0, 0u32);
    for at in 0..period.end.len() {
        failures += u32::from(period.bad[at]);
        let leaves = |oldest: usize| match window {
            Window::Calls(size) => at + 1 - oldest > size as usize,
            Window::Seconds(seconds, buckets) => {
                let bucket = i64::from(seconds) * 1_000_000_000 / i64::from(buckets);
                let number = |time: i64| time.div_euclid(bucket);
                number(period.end[at]) - number(period.end[oldest]) >= i64::from(buckets)
            }
        };
        while leaves(oldest) {
            failures -= u32::from(period.bad[oldest]);
            oldest += 1;
        }
        rates.push(((at + 1 - oldest) as u32, failures));
    }
}

/// A share in per cent: the lowest whole threshold above it, and the highest that it reaches.
fn above(failures: u32, results: u32) -> u32 {
    reached(failures, results) + 1
}

fn reached(failures: u32, results: u32) -> u32 {
    (u64::from(failures) * 100 / u64::from(results.max(1))) as u32
}

/// For each minimum, adds one where the thresholds begin that explain the period, and takes it back where
/// they end.
fn count(period: &Period, rates: &[(u32, u32)], sizes: &[u32], table: &mut [[i32; 102]]) {
    // The highest rates before the trip and at it, with at least so many results in the window: for
    // falling minimums ever more rates count.
    let mut order: Vec<(u32, u32, bool)> = Vec::with_capacity(rates.len());
    let tripped = !period.trips.is_empty();
    let end = if tripped {
        period.trips.end
    } else {
        rates.len()
    };
    for (at, &(results, failures)) in rates[..end].iter().enumerate() {
        order.push((results, failures, tripped && at >= period.trips.start));
    }
    let (mut before, mut at_trip) = (vec![0u32; sizes.len()], vec![0u32; sizes.len()]);
    for (results, failures, trips) in order {
        // The largest minimum that this many results satisfy.
        let place = sizes.partition_point(|&it| it <= results);
        if place == 0 {
            continue;
        }
        let highest = if trips { &mut at_trip } else { &mut before };
        let value = if trips {
            reached(failures, results)
        } else {
            above(failures, results)
        };
        highest[place - 1] = highest[place - 1].max(value);
    }
    let (mut least, mut most) = (1, 0);
    for place in (0..sizes.len()).rev() {
        least = least.max(before[place]);
        most = most.max(at_trip[place]);
        let last = if tripped { most.min(100) } else { 100 };
        if least <= last {
            table[place][least as usize] += 1;
            table[place][last as usize + 1] -= 1;
        }
    }
}

/// Where a choice trips in a period.
pub(super) struct Trips {
    /// The end of the first result at which it does.
    pub(super) first: Option<i64>,
}

impl Trips {
    pub(super) fn new(period: &Period, best: &Best) -> Trips {
        let mut rates = Vec::new();
        rates_after(period, best.window, &mut rates);
        let first = rates.iter().position(|&it| trips(it, best.min, best.share));
        let first = first.map(|at| period.end[at]);
        Trips { first }
    }
}

impl Best {
    /// Window and minimum as settings text.
    pub(super) fn window_text(&self) -> String {
        let window = match self.window {
            Window::Calls(size) => size.to_string(),
            Window::Seconds(seconds, buckets) => {
                format!("{seconds}s/{}ms", seconds * 1_000 / buckets)
            }
        };
        format!("window={window},min={}", self.min)
    }

    /// The ranges of the two.
    pub(super) fn ranges(&self) -> Vec<Range> {
        let unit = match self.window {
            Window::Calls(_) => "",
            Window::Seconds(..) => "s",
        };
        let range = |setting, (low, high): (u32, u32), unit: &str| Range {
            setting,
            low: format!("{low}{unit}"),
            high: format!("{high}{unit}"),
        };
        vec![
            range("window", self.windows, unit),
            range("min", self.mins, ""),
        ]
    }
}
