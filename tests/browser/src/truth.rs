//! What the library says when it is called directly: the page must show the same.

use std::sync::{Mutex, OnceLock};

use herdscope::dataset::Dataset;
use herdscope::engine::Engine;
use herdscope::ingest::{Limits, Reader};
use herdscope::messages::{
    Answer, FrameRequest, PointRequest, Question, Scene, Style, Summary, Topic, TraceDetail,
};
use herdscope::samples;
use herdscope::view::{ColorBy, MILLI, View, Viewport};

use crate::{Failure, Result};

/// The library with one file in it.
pub struct Truth {
    engine: Mutex<Engine>,
    /// What is loaded.
    pub summary: Summary,
}

impl Truth {
    /// The page's sample; simulated once a test file.
    pub fn of_sample() -> Result<&'static Truth> {
        static SAMPLE: OnceLock<std::result::Result<Truth, String>> = OnceLock::new();
        match SAMPLE.get_or_init(|| samples::dataset("incident").map(Truth::of_dataset)) {
            Ok(truth) => Ok(truth),
            Err(error) => Err(Failure::new(error.clone())),
        }
    }

    /// Reads a file.
    pub fn of(bytes: &[u8]) -> Result<Truth> {
        let mut reader = Reader::new(Limits::default());
        let reading = reader
            .push(bytes)
            .and_then(|()| reader.finish())
            .map_err(|error| Failure::new(error.to_string()))?;
        Ok(Truth::of_dataset(Dataset::new(
            "given".to_owned(),
            None,
            reading,
        )))
    }

    fn of_dataset(dataset: Dataset) -> Truth {
        let engine = Engine::with(dataset);
        Truth {
            summary: engine.summary(),
            engine: Mutex::new(engine),
        }
    }

    /// Asks the engine.
    pub fn ask<T>(&self, question: impl FnOnce(&mut Engine) -> T) -> T {
        let mut engine = self
            .engine
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        question(&mut engine)
    }

    /// The trace that stands there in the plot.
    pub fn trace_of_rank(&self, rank: i64) -> Option<TraceDetail> {
        let limits = self.summary.limits;
        let width = limits.t1 - limits.t0;
        // All of the time is one pixel, which any span of the row hits.
        let viewport = Viewport {
            t0: limits.t0 - width,
            t1: limits.t1 + width,
            y0: rank * MILLI,
            y1: (rank + 1) * MILLI,
        };
        let point = PointRequest {
            viewport,
            plot: [1, 1],
            at: [0.5, 0.5],
            reach: 0.4,
            hidden: Vec::new(),
            color_by: ColorBy::Tier,
        };
        self.ask(|engine| engine.pick(&point))
    }

    /// The part of the plot that a view shows.
    pub fn viewport(&self, view: &View) -> Viewport {
        view.viewport.unwrap_or(self.summary.home)
    }

    /// The scene of a view, whose numbers do not depend on the size of the picture.
    pub fn scene(&self, view: &View) -> Scene {
        let request = FrameRequest::of(view, [1, 1], [0, 0], Style::default());
        self.ask(|engine| engine.frame(&request).scene)
    }

    /// What a pane says of a view.
    pub fn answer(&self, view: &View, topic: Topic) -> Result<Answer> {
        self.ask(|engine| engine.answer(Question::of(view, topic)))
            .ok_or_else(|| Failure::new(format!("{topic:?} has no answer")))
    }
}
