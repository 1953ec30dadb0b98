//! A run, step by step.
//!
//! Owns when it ends. Invariant: however it is stepped, the run is the same. The cost of a step is that of the
//! events of a second, of 10,000 at most. Pinned by `tests/conservation.rs` and `tests/remedies.rs`.

use halfopen::ConfigError;

use crate::run::Run;
use crate::scenario::Scenario;
use crate::world::{Event, World};

/// A step has no more: whoever runs it can end it between two of them.
const MOST_EVENTS: u32 = 10_000;

/// A run under way.
#[derive(Debug)]
pub struct Simulation {
    world: World,
    seed: u64,
    end: i64,
    until_recovered: bool,
    /// Until then something is still to come.
    changes_until: i64,
}

impl Simulation {
    /// A run of a scenario to its end.
    ///
    /// # Errors
    ///
    /// Settings that `halfopen` refuses.
    pub fn new(mut scenario: Scenario, seed: u64) -> Result<Simulation, ConfigError> {
        // The first seed leaves those of the file, so that its breakers can be replayed with their settings.
        let more = seed.wrapping_sub(1);
        scenario.each_breaker(&|it| it.seed = it.seed.wrapping_add(more))?;
        for retries in scenario.policies().filter_map(|it| it.retries.as_mut()) {
            retries.settings.seed = retries.settings.seed.wrapping_add(more);
        }
        Ok(Simulation {
            changes_until: scenario.changes_until() as i64,
            end: i64::try_from(scenario.duration).unwrap_or(i64::MAX),
            world: World::new(scenario, seed)?,
            seed,
            until_recovered: false,
        })
    }

    /// The same until a minute has been well after it had been bad and nothing is to come any more, if that is
    /// earlier.
    pub fn until_recovered(self) -> Simulation {
        Simulation {
            until_recovered: true,
            ..self
        }
    }

    /// Runs on, for a second of the scenario at most, and not long; whether there is more.
    ///
    /// # Errors
    ///
    /// Settings that `halfopen` refuses.
    pub fn step(&mut self) -> Result<bool, ConfigError> {
        let world = &mut self.world;
        for _ in 0..MOST_EVENTS {
            let Some((now, event)) = world.events.next_before(self.end) else {
                world.now = self.end;
                return Ok(false);
            };
            world.now = now;
            world.happen(event)?;
            if event == Event::Sample {
                let over = self.until_recovered && now >= self.changes_until;
                return Ok(!(over && world.health.has_recovered(now)));
            }
        }
        Ok(true)
    }

    /// How much it holds so far: requests, attempts, and changes of breakers.
    pub fn kept(&self) -> usize {
        self.world.kept()
    }

    /// Where it is, nanoseconds since the beginning.
    pub fn now(&self) -> i64 {
        self.world.now
    }

    /// What happened until now.
    pub fn finish(self) -> Run {
        self.world.finish(self.seed)
    }
}

/// Runs a scenario.
///
/// # Errors
///
/// Settings that `halfopen` refuses.
pub fn simulate(scenario: &Scenario, seed: u64) -> Result<Run, ConfigError> {
    let mut simulation = Simulation::new(scenario.clone(), seed)?;
    while simulation.step()? {}
    Ok(simulation.finish())
}
