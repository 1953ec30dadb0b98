//! The settings that explain what was seen.
//!
//! A breaker's window, minimum and threshold decide at which result it trips. For each closed period
//! the calls say between which results it did, or that it did not; so each choice of window and minimum
//! leaves a range of thresholds for each period, and the best choice is in the most ranges. Owns that
//! search, and the ranges of each setting that explain the calls as well. Invariant: what is said to
//! explain is replayed by the breaker itself, and its agreement is that of the replay. Cost: O(windows x
//! (calls + minimums x periods)). Pinned by `tests/it/fit.rs`.

mod grid;

use halfopen::Config;

use self::grid::{Best, Search, Trips};
use super::{Observed, Phase, Seen, Traffic, silence};
use crate::calls::Calls;
use crate::column::Column;
use crate::order;
use crate::replay::{self, Options, Replay};

/// Settings that explain what was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// As text, to be put into a breaker.
    pub settings: Config,
    /// The share of the observed transitions that a replay makes within 50 ms; those that it makes
    /// besides count against it. 0 to 1.
    pub agreement: f64,
    /// For each setting, the values that explain the calls as well.
    pub ranges: Vec<Range>,
}

/// The values of a setting between which one is as good as another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The setting's key in the text.
    pub setting: &'static str,
    /// The smallest, as it stands in the text.
    pub low: String,
    /// The largest.
    pub high: String,
}

/// How far a replayed transition may be from an observed one.
const WITHIN_NS: i64 = 50_000_000;

/// Settings that agree as well with what was seen tell what was not.
const EXPLAINED: f64 = 0.9;

/// How many explanations are given at most.
const MOST: usize = 3;

/// The search for the settings that explain what was seen, in steps: others may have their turn between
/// them, and it can be dropped after any.
pub struct Fitting {
    periods: Vec<Period>,
    search: Search,
}

impl Fitting {
    /// `None` where no breaker opened: there is nothing to explain.
    pub fn new(observed: &Observed) -> Option<Fitting> {
        Some(Fitting {
            periods: periods(observed)?,
            search: Search::new(),
        })
    }

    /// Steps done, and steps in all.
    pub fn progress(&self) -> (usize, usize) {
        self.search.progress()
    }

    /// Does a step. O(calls).
    pub fn step(&mut self) {
        self.search.step(&self.periods);
    }

    /// The settings that explain best what was seen, the best first. `observed` gets its re-openings where
    /// the best of them has it. What they do not explain takes from how sure the states are.
    pub fn finish(self, observed: &mut Observed, calls: &Calls) -> Vec<Fit> {
        let mut fits: Vec<(Fit, Replay)> = Vec::new();
        let found = self.search.finish();
        let explained = found.iter().map(|it| it.explained).max().unwrap_or(0);
        observed.weigh(f64::from(explained) / self.periods.len().max(1) as f64);
        let states = || observed.breakers.iter().flat_map(|it| &it.states);
        if states().all(|it| it.state != Seen::Open) {
            return Vec::new();
        }
        for best in found {
            let Some((settings, ranges)) = complete(observed, &self.periods, &best) else {
                continue;
            };
            let options = Options {
                config: settings.clone(),
                shared: !observed.per_instance,
            };
            let fit = Fit {
                settings,
                agreement: 0.0,
                ranges,
            };
            fits.push((fit, replay::replay(calls, &options)));
        }
        // Re-openings are only known to lie in a stretch of time: where in it, the best fit says.
        for (fit, replay) in &mut fits {
            let mut refined = observed.clone();
            refined.refine(replay);
            fit.agreement = agreement(&refined, replay);
        }
        let mut fits = order::sorted(fits, &mut |a, b| b.0.agreement.total_cmp(&a.0.agreement));
        fits.truncate(MOST);
        if let Some((best, replay)) = fits.first() {
            observed.refine(replay);
            if best.agreement >= EXPLAINED {
                observed.complete(replay);
            }
        }
        fits.into_iter().map(|(fit, _)| fit).collect()
    }
}

/// All steps of a [`Fitting`] at once; no settings where no breaker opened.
pub fn fit(observed: &mut Observed, calls: &Calls) -> Vec<Fit> {
    let Some(mut fitting) = Fitting::new(observed) else {
        return Vec::new();
    };
    while fitting.progress().0 < fitting.progress().1 {
        fitting.step();
    }
    fitting.finish(observed, calls)
}

/// The share of the observed transitions that the replay makes within 50 ms; what it makes besides
/// counts against it. 0 to 1; 1 where neither has any.
pub fn agreement(observed: &Observed, replay: &Replay) -> f64 {
    let (mut found, mut all) = (0usize, 0usize);
    for (place, (seen, replayed)) in observed.breakers.iter().zip(&replay.breakers).enumerate() {
        let mut left: Vec<(i64, &str)> = replayed
            .transitions
            .iter()
            .map(|it| (it.at, it.to.as_str()))
            .collect();
        let mut last = Seen::Closed;
        let known = seen.states.iter().filter(|it| it.state != Seen::Unknown);
        for stretch in known {
            if std::mem::replace(&mut last, stretch.state) == stretch.state {
                continue;
            }
            all += 1;
            let same = |it: &(i64, &str)| {
                it.1 == stretch.state.as_str() && (it.0 - stretch.from).abs() <= WITHIN_NS
            };
            if let Some(place) = left.iter().position(same) {
                left.swap_remove(place);
                found += 1;
            }
        }
        // After its last call nobody sees what a breaker does.
        let last = observed.evidence.traffic[place].start.last();
        all += left.iter().filter(|it| Some(&it.0) <= last).count();
    }
    if all == 0 {
        1.0
    } else {
        found as f64 / all as f64
    }
}

/// The results of one closed period, and where among them the breaker tripped.
struct Period {
    /// Ends of the calls, ascending.
    end: Column<i64>,
    /// Whether they failed.
    bad: Column<bool>,
    /// It tripped at one of these results; an empty range where it did not.
    trips: std::ops::Range<usize>,
    /// When the last call began before it tripped: each later trip lacks the calls in between.
    last: i64,
    /// How many calls come a nanosecond.
    rate: f64,
}

/// The closed periods of all breakers; `None` where none opened.
fn periods(observed: &Observed) -> Option<Vec<Period>> {
    let evidence = &observed.evidence;
    let mut periods = Vec::new();
    let mut opened = false;
    for (traffic, phases) in evidence.traffic.iter().zip(&evidence.phases) {
        for phase in phases {
            opened |= phase.cut.is_some();
            let closed = match evidence.probes.filter(|_| phase.probed) {
                Some(probes) => probes.closing(traffic, phase),
                // Where nothing tells the probes apart, they count among the results.
                None => Some(i64::MIN),
            };
            periods.extend(closed.map(|closed| period(traffic, phase, closed)));
        }
    }
    opened.then_some(periods)
}

fn period(traffic: &Traffic, phase: &Phase, closed: i64) -> Period {
    let calls: Vec<usize> = (phase.first..phase.end)
        .filter(|&at| traffic.start[at] >= closed)
        .collect();
    let by_end = order::sorted_indices(calls.len(), &mut |a, b| {
        traffic.end[calls[a as usize]].cmp(&traffic.end[calls[b as usize]])
    });
    let results = || by_end.iter().map(|&at| calls[at as usize]);
    let mut end: Column<i64> = results().map(|at| traffic.end[at]).collect();
    let trips = match phase.cut {
        None => {
            // The results after the last call may have tripped it: nobody called to see.
            let last = traffic.start[..phase.end].last();
            let called = end.partition_point(|it| last.is_some_and(|last| it <= last));
            end.truncate(called);
            0..0
        }
        Some(before) => {
            let last = traffic.start[phase.end - 1];
            let from = end.partition_point(|&it| it <= last);
            from..end.partition_point(|&it| it <= before)
        }
    };
    let last = phase.end.saturating_sub(1);
    let mean = silence::mean_gap(&traffic.start[..phase.end], last);
    Period {
        bad: results()
            .take(end.len())
            .map(|at| traffic.bad[at])
            .collect(),
        end,
        trips,
        last: traffic.start.get(last).copied().unwrap_or(0),
        rate: 1.0 / mean.max(1.0),
    }
}

/// Adds to a choice of window, minimum and threshold what the rounds and the silences tell: probes,
/// verdict and wait.
fn complete(observed: &Observed, periods: &[Period], best: &Best) -> Option<(Config, Vec<Range>)> {
    let evidence = &observed.evidence;
    let probes = evidence.probes;
    let count = probes.map_or(10, |it| it.count);
    let judge = if probes.is_some_and(|it| it.first_failure) {
        "first-failure"
    } else {
        "rate"
    };
    let (shortest, longest_refused) = waits(observed, periods, best);
    let open = shortest.unwrap_or(60_000_000_000).max(1);
    let threshold = match evidence.slow {
        Some(slow) => format!("slow={}%@{}ns", best.share, slow.over),
        None => format!("fail={}%", best.share),
    };
    let ramps = ramps(observed);
    let ramp = order::median(&ramps).map_or(String::new(), |it| {
        // How long one takes is only told roughly: the roundest within a twentieth.
        format!(",ramp={}ns", round((it + it / 20) as i64, 10))
    });
    let text = format!(
        "{},{threshold},open={}ns,probes={count},judge={judge}{ramp}",
        best.window_text(),
        round(open, 50)
    );
    let settings: Config = text.parse().ok()?;
    let mut ranges = best.ranges();
    ranges.push(match evidence.slow {
        Some(slow) => Range {
            setting: "slow",
            low: format!("{}%@{}ns", best.shares.0, slow.low),
            high: format!("{}%@{}ns", best.shares.1, slow.high),
        },
        None => Range {
            setting: "fail",
            low: format!("{}%", best.shares.0),
            high: format!("{}%", best.shares.1),
        },
    });
    let ns = |ns: i64| format!("{ns}ns");
    // Where nobody called after a wait, any is as good.
    ranges.extend(shortest.map(|_| Range {
        setting: "open",
        low: ns(longest_refused.unwrap_or(0).min(open)),
        high: ns(open),
    }));
    if let Some((low, high)) = probes.map(|it| it.range) {
        ranges.push(Range {
            setting: "probes",
            low: low.to_string(),
            high: high.to_string(),
        });
    }
    if let (Some(low), Some(high)) = (ramps.iter().min(), ramps.iter().max()) {
        ranges.push(Range {
            setting: "ramp",
            low: format!("{low}ns"),
            high: format!("{high}ns"),
        });
    }
    Some((settings, ranges))
}

/// How long the ramps were that were seen to their end, nanoseconds.
fn ramps(observed: &Observed) -> Vec<u64> {
    let states = observed.breakers.iter().flat_map(|it| it.states.windows(2));
    let ramps = states.filter(|it| it[0].state == Seen::Ramping && it[1].state == Seen::Closed);
    ramps.map(|it| it[0].to.abs_diff(it[0].from)).collect()
}

/// The roundest time that is at most one part in so many shorter.
fn round(wait: i64, parts: i64) -> i64 {
    const MS: i64 = 1_000_000;
    const ROUND_MS: [i64; 9] = [60_000, 30_000, 10_000, 5_000, 1_000, 500, 100, 10, 1];
    let rounds = ROUND_MS.iter().map(|ms| wait / (ms * MS) * (ms * MS));
    let near = |round: &i64| wait - round <= wait / parts;
    rounds.into_iter().find(near).unwrap_or(wait)
}

/// The shortest time from a trip to the next call, and the longest from a trip to a refused one.
fn waits(observed: &Observed, periods: &[Period], best: &Best) -> (Option<i64>, Option<i64>) {
    let evidence = &observed.evidence;
    let mut periods = periods.iter();
    let (mut shortest, mut longest): (Option<i64>, Option<i64>) = (None, None);
    for (traffic, phases) in evidence.traffic.iter().zip(&evidence.phases) {
        for phase in phases {
            let round = evidence.probes.filter(|_| phase.probed);
            let closed = round.is_none_or(|it| it.closing(traffic, phase).is_some());
            let tripped = if closed {
                periods.next().and_then(|it| Trips::new(it, best).first)
            } else {
                round.and_then(|it| it.verdict(traffic, phase))
            };
            let Some((tripped, before)) = tripped.zip(phase.cut) else {
                continue;
            };
            let Some(&next) = traffic.start.get(phase.end) else {
                continue;
            };
            if tripped > before {
                continue;
            }
            let wait = next - tripped;
            shortest = Some(shortest.map_or(wait, |it| it.min(wait)));
            let refused = traffic.refused[..traffic.refused.partition_point(|&it| it < next)]
                .last()
                .filter(|&&it| it > tripped)
                .map(|it| it - tripped);
            longest = longest.max(refused);
        }
    }
    (shortest, longest)
}
