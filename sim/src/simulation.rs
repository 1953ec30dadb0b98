//! A run, a second at a time.
//!
//! Owns when it ends. Invariant: however it is stepped, the run is the same. The cost of a step is that of the
//! events of a second. Pinned by `tests/conservation.rs` and `tests/remedies.rs`.

use halfopen::ConfigError;

use crate::scenario::Scenario;
use crate::world::{Event, Run, World};

/// A run under way.
#[derive(Debug)]
pub struct Simulation {
    world: World,
    seed: u64,
    end: i64,
    until_recovered: bool,
}

impl Simulation {
    /// A run of a scenario to its end.
    ///
    /// # Errors
    ///
    /// Settings that `halfopen` refuses.
    pub fn new(scenario: Scenario, seed: u64) -> Result<Simulation, ConfigError> {
        Ok(Simulation {
            end: i64::try_from(scenario.duration).unwrap_or(i64::MAX),
            world: World::new(scenario, seed)?,
            seed,
            until_recovered: false,
        })
    }

    /// The same until a minute has been well after it had been bad, if that is earlier.
    pub fn until_recovered(self) -> Simulation {
        Simulation {
            until_recovered: true,
            ..self
        }
    }

    /// Runs on, for a second of the scenario at most; whether there is more.
    ///
    /// # Errors
    ///
    /// Settings that `halfopen` refuses.
    pub fn step(&mut self) -> Result<bool, ConfigError> {
        let world = &mut self.world;
        while let Some((now, event)) = world.events.next_before(self.end) {
            world.now = now;
            world.happen(event)?;
            if event == Event::Sample {
                return Ok(!(self.until_recovered && world.health.has_recovered(now)));
            }
        }
        world.now = self.end;
        Ok(false)
    }

    /// How much of it has passed, and how much there is at most, nanoseconds.
    pub fn progress(&self) -> [i64; 2] {
        [self.world.now, self.end]
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
