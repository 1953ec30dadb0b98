//! The samples that the page shows until something else is opened: simulated, so that nothing is hosted.
//!
//! Owns the road from a scenario to what a file would have held. Invariant: a sample is the first
//! seed of its scenario, span by span what `herdscope simulate` writes of it. Costs a run. Pinned by
//! `tests/it/samples.rs`.

use halfopen::ConfigError;
pub use herdscope_sim::samples::{SAMPLES, Sample};
use herdscope_sim::{Scenario, Simulation};

use crate::dataset::Dataset;
use crate::ingest::{Assumed, Reading, Told};
use crate::issues::Issues;
use crate::view::Source;

/// A sample on its way.
pub struct Sampling {
    name: String,
    scenario: Scenario,
    run: Simulation,
}

impl Sampling {
    /// Begins with the sample of that name; why it cannot be had, as a sentence.
    pub fn new(name: &str) -> Result<Sampling, String> {
        let scenario = herdscope_sim::samples::sample(name).ok_or("There is no such sample.")?;
        Ok(Sampling {
            name: name.to_owned(),
            run: Simulation::new(scenario.clone(), 1).map_err(refused)?,
            scenario,
        })
    }

    /// Runs on, for a second of the scenario; whether there is more.
    pub fn step(&mut self) -> Result<bool, String> {
        self.run.step().map_err(refused)
    }

    /// What the page calls it.
    pub fn title(&self) -> String {
        ["sample ", &self.name].concat()
    }

    /// What a link to it says, and what a file of it would have held.
    pub fn finish(self) -> (Source, Reading) {
        let reading = Reading {
            rows: self.run.finish().rows(&self.scenario),
            exporter: "simulated",
            assumed: Assumed::default(),
            told: Told::default(),
            head: None,
            places: None,
            issues: Issues::default(),
        };
        (Source::Sample(self.name), reading)
    }
}

/// The sample of that name.
pub fn dataset(name: &str) -> Result<Dataset, String> {
    let mut sampling = Sampling::new(name)?;
    while sampling.step()? {}
    let title = sampling.title();
    let (source, reading) = sampling.finish();
    Ok(Dataset::new(title, Some(source), reading))
}

fn refused(error: ConfigError) -> String {
    error.to_string()
}
