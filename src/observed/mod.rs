//! What the breakers evidently did, told from the calls alone, without any settings.
//!
//! A breaker that opens leaves a silence where calls used to be, or refusals if they were recorded
//! (`silence`) or evident (`refused`), after results that were bad, or only slow (`slow`). After it a few
//! probes pass, nothing more until their results are in, then everything or the next silence (`probes`).
//! A share that grows instead of everything at once is a ramp (`ramp`). Where spans record the breaker's
//! state it is read, not guessed (`told`). Owns the states and how sure they are. Invariant: the stretches of
//! a breaker follow each other without gaps from the first call of the edge to its last end, or to the last
//! trace's start if that is later; what the calls cannot tell is [`Seen::Unknown`], never a guess. Cost:
//! O(spans + calls log calls + calls x phases). Pinned by
//! `tests/it/observed.rs` against breakers whose transitions are known to the nanosecond.

mod fit;
mod probes;
mod ramp;
mod refused;
mod silence;
mod slow;
mod told;
mod withheld;

use halfopen::State;
use serde::{Deserialize, Serialize};

pub use self::fit::{Fit, Fitting, Range, agreement, fit};
use self::probes::Probes;
use self::silence::Silence;
use self::slow::Slow;
pub use self::withheld::{Withheld, withheld};
use crate::calls::{CallOutcome, Calls};
use crate::column::Column;
use crate::replay::Replay;
use crate::spans::SpanTable;

/// What was seen of all breakers of an edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// One an instance, in the order of `Calls::instances`; a single one where the file does not tell
    /// them apart.
    pub breakers: Vec<ObservedBreaker>,
    /// Whether there is one an instance.
    pub per_instance: bool,
    /// How many probes a half-open breaker evidently lets through; `None` where nothing tells.
    pub probes: Option<u32>,
    /// For each call, whether a breaker refused it in production.
    pub refused: Vec<bool>,
    /// From the first call's start to the last call's end, or to the last trace's start if that is later.
    pub from: i64,
    /// See `from`.
    pub to: i64,
    evidence: Evidence,
}

/// What the states were told from.
#[derive(Clone, Debug, PartialEq)]
struct Evidence {
    traffic: Vec<Traffic>,
    phases: Vec<Vec<Phase>>,
    probes: Option<Probes>,
    /// Set where slow calls count as bad: only they explain the silences.
    slow: Option<Slow>,
    /// Of each breaker, whether its states or its refusals were recorded.
    recorded: Vec<bool>,
}

/// What was seen of one breaker.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedBreaker {
    /// Whose it is; `None` where the file does not tell instances apart.
    pub instance: Option<String>,
    /// Its states, one after the other.
    pub states: Vec<Stretch>,
}

/// A state for a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Nanoseconds since 1970.
    pub from: i64,
    /// Nanoseconds since 1970; where the next one begins.
    pub to: i64,
    /// It began this late at most, as far as the calls tell; `from` is where it most likely did.
    pub latest: i64,
    /// What it evidently was.
    pub state: Seen,
    /// How sure that is: the share of such evidence that is not chance, 0 to 1.
    pub sure: f64,
}

/// A state as it can be seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    /// Calls come as they please.
    Closed,
    /// None comes, or all are refused.
    Open,
    /// A few come, and then none until they have ended.
    HalfOpen,
    /// Fewer come than are asked for, and ever more.
    Ramping,
    /// The calls do not tell.
    Unknown,
}

impl Seen {
    /// The name in JSON and on the page.
    pub fn as_str(self) -> &'static str {
        match self {
            Seen::Closed => "closed",
            Seen::Open => "open",
            Seen::HalfOpen => "half_open",
            Seen::Ramping => "ramping",
            Seen::Unknown => "unknown",
        }
    }
}

/// The calls of one instance, those refused in production apart.
#[derive(Clone, Debug, PartialEq)]
struct Traffic {
    /// Starts of the calls that were made, ascending.
    start: Column<i64>,
    /// Their ends.
    end: Column<i64>,
    /// Whether they failed.
    bad: Column<bool>,
    /// The refused ones.
    refused: Column<i64>,
}

/// The calls between two silences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Phase {
    /// Its calls: places in [`Traffic`].
    first: usize,
    end: usize,
    /// A silence came before it, so that it begins with probes.
    probed: bool,
    /// A silence comes after it: no call was made from this time on, or it was refused. Nothing where
    /// the calls end.
    cut: Option<i64>,
}

/// Fewer calls than this tell nothing of an instance, unless refusals were recorded.
const FEWEST_CALLS: usize = 30;

/// As many calls after a silence may be probes, where nothing tells how many there are: the default of
/// resilience4j.
const USUAL_PROBES: usize = 10;

/// Fewer calls than this between two silences that may be chance tell nothing.
const FEWEST_BETWEEN: usize = 10;

/// Tells the states of each instance's breaker from the calls of an edge; of one breaker for all
/// instances where they are not told apart, or with `shared`.
pub fn observe(table: &SpanTable, calls: &Calls, shared: bool) -> Observed {
    let per_instance = !shared && calls.instances.iter().any(Option::is_some);
    let refused = refused::refused(table, calls, per_instance);
    let mut traffic = split(calls, &refused, per_instance);
    let from = calls.start.first().copied().unwrap_or(0);
    // Others went on calling: that this edge's calls stopped tells something, too.
    let last_start = calls.start.last().copied().unwrap_or(from);
    let until = table.last_arrival().unwrap_or(from).max(last_start);
    let last_end = calls.by_end.last().map(|&at| calls.end[at as usize]);
    let to = last_end.unwrap_or(from).max(until);
    // Several processes in one have no states in common.
    let alone = per_instance || calls.instances.len() == 1;
    let told = match alone {
        true => told::told(table, calls),
        false => Vec::new(),
    };
    let told: Vec<Vec<Stretch>> = (0..traffic.len())
        .map(|it| {
            told.get(it)
                .map_or(Vec::new(), |it| told::states(it, from..to))
        })
        .collect();
    let recorded = calls.outcome.contains(&CallOutcome::Rejected);
    let recorded: Vec<bool> = traffic
        .iter()
        .zip(&told)
        .map(|(traffic, told)| !told.is_empty() || recorded && !traffic.refused.is_empty())
        .collect();
    let read = |traffic: &[Traffic]| -> (Vec<Vec<Silence>>, Vec<Vec<Phase>>) {
        let silences = traffic.iter().zip(&told).map(|(traffic, told)| {
            let silences = match told.is_empty() {
                true => silence::silences(traffic, until),
                false => told::silences(told, traffic),
            };
            let phases = phases(traffic, &silences);
            (silences, phases)
        });
        silences.unzip()
    };
    let (mut silences, mut phases) = read(&traffic);
    let opened = |phases: &[Vec<Phase>]| phases.iter().flatten().any(|it| it.cut.is_some());
    let mut slow = None;
    if !opened(&phases)
        && !recorded.contains(&true)
        && let Some(low) = slow::suspected(&traffic)
    {
        let marked = slow::mark(&traffic, low);
        let suspected = read(&marked).1;
        if opened(&suspected) {
            let it = slow::between(&traffic, &suspected, low);
            traffic = slow::mark(&traffic, it.over);
            (silences, phases) = read(&traffic);
            slow = Some(it);
        }
    }
    let probes = probes::infer(&traffic, &phases);
    let breakers = traffic
        .iter()
        .enumerate()
        .map(|(place, it)| ObservedBreaker {
            instance: per_instance
                .then(|| calls.instances[place].clone())
                .flatten(),
            states: match told[place].is_empty() {
                true => states(it, &silences[place], &phases[place], probes, from..to),
                false => told[place].clone(),
            },
        })
        .collect();
    Observed {
        breakers,
        per_instance,
        probes: probes.map(|it| it.count),
        refused,
        from,
        to,
        evidence: Evidence {
            traffic,
            phases,
            probes,
            slow,
            recorded,
        },
    }
}

impl Observed {
    /// Takes into account that settings explain only this share of what silences alone told: if it is less
    /// than half, they were no breaker's, or the results in the file are not those that the breaker saw.
    /// Without probes after them they may as well be restarts; and where never more calls came than are
    /// probes, a job's.
    fn weigh(&mut self, explained: f64) {
        let Evidence {
            phases, recorded, ..
        } = &self.evidence;
        let all = self.breakers.iter_mut().zip(phases).zip(recorded);
        for ((seen, phases), recorded) in all {
            let probes = self.probes.unwrap_or(u32::MAX) as usize;
            let closed = phases.iter().any(|it| it.end - it.first > probes);
            let most = if closed { 1.0 } else { 0.5 };
            let told = seen.states.iter_mut();
            for stretch in told.filter(|it| it.state != Seen::Closed && !recorded) {
                stretch.sure = stretch.sure.min(explained).min(most);
                if explained < 0.5 {
                    (stretch.state, stretch.sure) = (Seen::Unknown, 0.0);
                }
            }
            seen.states.dedup_by(|next, it| {
                let same = it.state == Seen::Unknown && next.state == it.state;
                if same {
                    it.to = next.to;
                }
                same
            });
        }
    }

    /// Moves re-openings, which the calls alone only tell to a stretch of time, to where a breaker with
    /// settings that explain them opened within it.
    fn refine(&mut self, replay: &Replay) {
        for (seen, replayed) in self.breakers.iter_mut().zip(&replay.breakers) {
            for at in 1..seen.states.len() {
                let open = seen.states[at];
                let possible = open.from.min(seen.states[at - 1].to)..=open.latest;
                let opened = replayed
                    .transitions
                    .iter()
                    .find(|it| it.to == State::Open && possible.contains(&it.at));
                if let Some(opened) = opened.filter(|_| open.state == Seen::Open) {
                    seen.states[at].from = opened.at;
                    seen.states[at].latest = opened.at;
                    seen.states[at - 1].to = opened.at;
                }
            }
        }
    }

    /// Adds the openings after a breaker's last call, which no silence tells: by settings that explain all
    /// else, the results that came after that call opened it.
    fn complete(&mut self, replay: &Replay) {
        let all = self.breakers.iter_mut().zip(&replay.breakers);
        for ((seen, replayed), traffic) in all.zip(&self.evidence.traffic) {
            let (Some(&call), Some(last)) = (traffic.start.last(), seen.states.last()) else {
                continue;
            };
            let to = last.to;
            let opened = replayed.transitions.last();
            let opened = opened.filter(|it| it.to == State::Open && it.at > call && it.at < to);
            let Some(opened) = opened.filter(|_| last.state != Seen::Open) else {
                continue;
            };
            // What nobody called to see is known now.
            let unseen = |it: &mut Stretch| it.state == Seen::Unknown && it.from >= call;
            seen.states.pop_if(unseen);
            let known = |it: &&mut Stretch| it.state != Seen::Unknown && it.from < opened.at;
            if let Some(before) = seen.states.last_mut().filter(known) {
                before.to = opened.at;
                let sure = before.sure.min(0.5);
                seen.states.push(Stretch {
                    from: opened.at,
                    to,
                    latest: opened.at,
                    state: Seen::Open,
                    sure,
                });
            }
        }
    }
}

fn split(calls: &Calls, refused: &[bool], per_instance: bool) -> Vec<Traffic> {
    let n = if per_instance {
        calls.instances.len()
    } else {
        1
    };
    let nothing = || Traffic {
        start: Column::default(),
        end: Column::default(),
        bad: Column::default(),
        refused: Column::default(),
    };
    let mut traffic: Vec<Traffic> = (0..n).map(|_| nothing()).collect();
    for at in 0..calls.len() {
        let it = &mut traffic[if per_instance {
            calls.instance[at] as usize
        } else {
            0
        }];
        if refused[at] {
            it.refused.push(calls.start[at]);
        } else {
            let outcome = calls.outcome[at];
            it.start.push(calls.start[at]);
            it.end.push(calls.end[at]);
            it.bad.push(outcome.is_failure());
        }
    }
    traffic
}

/// The runs of calls between silences in which a breaker was open.
fn phases(traffic: &Traffic, silences: &[Silence]) -> Vec<Phase> {
    let mut phases = Vec::new();
    let mut first = 0;
    let mut probed = false;
    for silence in silences.iter().filter(|it| it.seen == Seen::Open) {
        let end = silence.after + 1;
        phases.push(Phase {
            first,
            end,
            probed,
            cut: Some(silence.before),
        });
        (first, probed) = (end, true);
    }
    if first < traffic.start.len() || first == 0 {
        phases.push(Phase {
            first,
            end: traffic.start.len(),
            probed,
            cut: None,
        });
    }
    phases
}

fn states(
    traffic: &Traffic,
    silences: &[Silence],
    phases: &[Phase],
    probes: Option<Probes>,
    span: std::ops::Range<i64>,
) -> Vec<Stretch> {
    let mut line = Line {
        states: Vec::new(),
        at: span.start,
    };
    if traffic.start.len() < FEWEST_CALLS && traffic.refused.is_empty() {
        line.until(span.end, Seen::Unknown, 0.0);
        return line.states;
    }
    if let Some(&first) = traffic.start.first()
        && !silence::is_chance(traffic, first.saturating_sub(span.start))
    {
        // It was not there yet.
        line.unknown_until(first);
    }
    let mut opens = silences.iter().filter(|it| it.seen == Seen::Open);
    for phase in phases {
        if phase.first == phase.end {
            break;
        }
        if phase.probed {
            // The first call after the wait is what makes a breaker half-open.
            let began = traffic.start[phase.first];
            match probes {
                Some(probes) => {
                    // The file may end before the verdict.
                    let verdict = probes.verdict(traffic, phase);
                    let verdict = verdict.map_or(span.end, |it| it.max(began + 1));
                    line.until(verdict, Seen::HalfOpen, probes.sure);
                }
                None => line.unknown_until(judged(traffic, phase)),
            }
        }
        let open = phase.cut.and_then(|_| opens.next());
        let closed_until = open.map_or(span.end, |it| it.trip);
        line.closed(traffic, silences, phase, closed_until);
        if let Some(open) = open {
            let resumes = traffic.start.get(phase.end).copied().unwrap_or(span.end);
            line.until(resumes, Seen::Open, open.sure);
            line.opened_by(open.before);
        }
    }
    line.until(span.end, Seen::Unknown, 0.0);
    line.states
}

/// When a round was judged at the latest, where nothing tells how many probes it had.
fn judged(traffic: &Traffic, phase: &Phase) -> i64 {
    let probes = phase.end.min(phase.first + USUAL_PROBES);
    let ends = (phase.first..probes).map(|at| traffic.end[at]);
    ends.max().unwrap_or(traffic.start[phase.first])
}

/// The states so far, and where they end.
struct Line {
    states: Vec<Stretch>,
    at: i64,
}

impl Line {
    fn until(&mut self, to: i64, state: Seen, sure: f64) {
        if to <= self.at {
            return;
        }
        match self.states.last_mut() {
            Some(last) if last.state == state => {
                last.to = to;
                last.sure = last.sure.min(sure);
            }
            _ => self.states.push(Stretch {
                from: self.at,
                to,
                latest: self.at,
                state,
                sure,
            }),
        }
        self.at = to;
    }

    /// The state that was just added began so late at most.
    fn opened_by(&mut self, latest: i64) {
        if let Some(last) = self.states.last_mut().filter(|it| it.state == Seen::Open) {
            last.latest = last.latest.max(latest);
        }
    }

    fn unknown_until(&mut self, to: i64) {
        self.until(to, Seen::Unknown, 0.0);
    }

    /// From where the line is to `until`: closed, or ramping first, with what is unclear between.
    fn closed(&mut self, traffic: &Traffic, silences: &[Silence], phase: &Phase, until: i64) {
        if let Some((ramped, sure)) = ramp::end(traffic, phase, self.at).filter(|_| phase.probed) {
            self.until(ramped.min(until), Seen::Ramping, sure);
        }
        let unclear = silences
            .iter()
            .filter(|it| it.seen == Seen::Unknown && (phase.first..phase.end).contains(&it.after));
        let mut last = None;
        for silence in unclear {
            let few = last.is_some_and(|last| silence.after - last < FEWEST_BETWEEN);
            let state = if few { Seen::Unknown } else { Seen::Closed };
            last = Some(silence.after);
            self.until(
                traffic.start[silence.after].min(until),
                state,
                if few { 0.0 } else { 0.99 },
            );
            let resumes = traffic.start.get(silence.after + 1);
            self.unknown_until(resumes.map_or(until, |&it| it.min(until)));
        }
        self.until(until, Seen::Closed, 0.99);
    }
}
