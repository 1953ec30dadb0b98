//! What would have helped: a scenario that is run for the plot, and then over many seeds for the table.
//!
//! Invariant: what is drawn is the run of the choice that is asked for, or nothing. A step is some milliseconds of
//! work. Pinned by `tests/it/supposed.rs`.

use halfopen::{Config, ConfigError};
use herdscope_sim::{HORIZON, Remedy, Scenario, Simulation, Tally, Variant};

use crate::calls::Edge;
use crate::dataset::Dataset;
use crate::estimate::{Fact, estimate};
use crate::panes::{self, Block};
use crate::supposed::Supposed;

/// So many seeds stand behind the table.
pub const RUNS: usize = 50;

/// No run has more requests than this, or it would not be there soon, unless within the horizon of remedies.
const MOST_REQUESTS: f64 = 500_000.0;

/// No run is longer: each second of it has its samples.
const LONGEST: u64 = 86_400_000_000_000;

/// Seconds of a scenario that are run in a step.
const SECONDS_A_STEP: u32 = 8;

/// A run that can be drawn.
pub struct Simulated {
    /// The choice that it is of.
    pub of: String,
    /// Its spans.
    pub dataset: Dataset,
}

/// Runs under way.
pub struct Simulating {
    facts: Vec<Fact>,
    variants: Vec<Variant>,
    tallies: Vec<Tally>,
    plot: Scenario,
    /// The run under way; `None` before the first.
    run: Option<Simulation>,
    drawn: bool,
}

/// What a step came to.
pub enum Stepped {
    /// A run goes on.
    More,
    /// The run for the plot is over.
    Drawn(Box<Dataset>),
    /// All variants have had another seed.
    Row,
    /// All seeds have been had.
    Done,
}

impl Simulating {
    /// Begins to simulate a choice; why it cannot be, as a sentence.
    pub fn new(
        dataset: &Dataset,
        edge: Option<&Edge>,
        breaker: Option<&Config>,
        supposed: &Supposed,
    ) -> Result<Simulating, String> {
        let extent = dataset.table.extent();
        let (told, facts) = match &supposed.scenario {
            Some(name) => {
                let scenario =
                    herdscope_sim::samples::sample(name).ok_or("There is no such scenario.")?;
                (scenario, Vec::new())
            }
            None => {
                let edge =
                    edge.ok_or("This file has no calls between services to tell a scenario from.")?;
                let it = estimate(dataset, edge, breaker, &supposed.given);
                (it.scenario, it.facts)
            }
        };
        let refused = |error: ConfigError| error.to_string();
        let mut sets = vec![vec![Remedy::AsItWas]];
        if supposed.remedies.len() > 1 {
            sets.push(supposed.remedies.clone());
        }
        sets.extend(supposed.remedies.iter().map(|&it| vec![it]));
        let variants = sets.iter().map(|it| Variant::new(&told, it));
        let mut variants: Vec<Variant> = variants.collect::<Result<_, _>>().map_err(refused)?;
        let mut plot = variants
            .get(1)
            .or(variants.first())
            .map_or_else(|| told.clone(), |it| it.scenario.clone());
        // On the file's own axis of time.
        if let Some(extent) = extent {
            plot.starts_at = extent.start;
            plot.duration = extent.end.abs_diff(extent.start).max(1);
        }
        let rate: f64 = plot
            .groups
            .iter()
            .map(|it| it.demand.0.iter().map(|it| it.rate).fold(0.0, f64::max))
            .sum();
        let most = ((MOST_REQUESTS / rate.max(1e-3) * 1e9) as u64).min(LONGEST);
        plot.duration = plot.duration.min(most);
        // What a file has late makes the runs of remedies long.
        for it in &mut variants {
            it.scenario.duration = it.scenario.duration.min(most.max(HORIZON));
        }
        Ok(Simulating {
            facts,
            tallies: vec![Tally::default(); variants.len()],
            variants,
            plot,
            run: None,
            drawn: false,
        })
    }

    /// Runs on.
    pub fn step(&mut self) -> Result<Stepped, String> {
        let refused = |error: ConfigError| error.to_string();
        let at = self.next();
        let mut run = match (self.run.take(), self.drawn) {
            (Some(run), _) => run,
            (None, false) => Simulation::new(self.plot.clone(), 1).map_err(refused)?,
            (None, true) => {
                let seed = self.tallies[at].runs() as u64 + 1;
                self.variants[at].start(seed).map_err(refused)?
            }
        };
        for _ in 0..SECONDS_A_STEP {
            if run.step().map_err(refused)? {
                continue;
            }
            let run = run.finish();
            if !self.drawn {
                self.drawn = true;
                let dataset = Dataset::of_rows(String::new(), run.rows(&self.plot));
                return Ok(Stepped::Drawn(Box::new(dataset)));
            }
            self.tallies[at].add(run.summary);
            return Ok(match self.tallies[at].runs() {
                _ if at + 1 < self.tallies.len() => Stepped::More,
                RUNS => Stepped::Done,
                _ => Stepped::Row,
            });
        }
        self.run = Some(run);
        Ok(Stepped::More)
    }

    /// The variant that has had the fewest seeds.
    fn next(&self) -> usize {
        let first = self.tallies.first().map_or(0, Tally::runs);
        let behind = self.tallies.iter().position(|it| it.runs() < first);
        behind.unwrap_or(0)
    }

    /// Runs done, and runs in all.
    pub fn progress(&self) -> [u32; 2] {
        let done: usize = self.tallies.iter().map(Tally::runs).sum();
        [done, RUNS * self.tallies.len()].map(|it| it as u32)
    }

    /// What there is to say so far.
    pub fn blocks(&self) -> Vec<Block> {
        let names = self.variants.iter().map(|it| it.name.as_str());
        let figures = self.tallies.iter().map(Tally::figures);
        let rows: Vec<_> = names.zip(figures).collect();
        panes::simulated(&self.facts, &rows, RUNS)
    }
}
