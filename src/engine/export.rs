//! What is taken away of what is loaded, in pieces.
//!
//! Invariant: an export is about the data that was loaded when it began; about other data it is void. Each step is a
//! share of the work, as those of [`tasks`](super::tasks) are. Pinned by `tests/it/export.rs`.

use super::{Engine, config};
use crate::calls::Edge;
use crate::dataset::Dataset;
use crate::export::csv::Writing;
use crate::export::json::{self, Json, Known};
use crate::messages::Export;
use crate::observed::{self, Fit, Fitting, Observed};
use crate::replay;
use crate::view::View;

/// What is being taken away.
pub struct Exporting {
    epoch: u32,
    stage: Stage,
    /// See [`Json::print`].
    number: fn(f64) -> String,
}

enum Stage {
    Csv(Writing),
    Json(Box<View>),
    Fitting(Box<(View, Observed, Fitting)>),
    Done,
}

impl Engine {
    /// Begins to take away what a view shows.
    pub fn export(&self, view: View, what: &Export, number: fn(f64) -> String) -> Exporting {
        let data = &self.loaded;
        let csv = |trace| Stage::Csv(Writing::new(&data.table, &view, data.home(), trace));
        let stage = match what {
            Export::Spans => csv(None),
            Export::Trace(id) => csv(Some(id)),
            Export::Json => Stage::Json(Box::new(view)),
        };
        Exporting {
            epoch: self.epoch,
            stage,
            number,
        }
    }

    /// Adds the next piece to a text. Whether there is more; `None` where other data is loaded by now.
    pub fn step_export(&self, it: &mut Exporting, to: &mut String) -> Option<bool> {
        if it.epoch != self.epoch {
            return None;
        }
        let data = &self.loaded;
        it.stage = match std::mem::replace(&mut it.stage, Stage::Done) {
            Stage::Csv(mut writing) => match writing.step(&data.table, to) {
                true => Stage::Csv(writing),
                false => Stage::Done,
            },
            Stage::Json(view) => {
                let edge = data.edge_or_first(view.edge.as_ref());
                let observed =
                    edge.map(|it| observed::observe(&data.table, &it.calls, view.shared));
                let fitting = observed.as_ref().and_then(Fitting::new);
                match (observed, fitting) {
                    (Some(observed), Some(fitting)) => {
                        Stage::Fitting(Box::new((*view, observed, fitting)))
                    }
                    (observed, _) => {
                        let told = edge.zip(observed.map(|it| (it, Vec::new())));
                        to.push_str(&all(data, &view, told, it.number));
                        Stage::Done
                    }
                }
            }
            Stage::Fitting(mut work) if work.2.progress().0 < work.2.progress().1 => {
                work.2.step();
                Stage::Fitting(work)
            }
            Stage::Fitting(work) => {
                let (view, mut observed, fitting) = *work;
                let told = data.edge_or_first(view.edge.as_ref()).map(|edge| {
                    let fits = fitting.finish(&mut observed, &edge.calls);
                    (edge, (observed, fits))
                });
                to.push_str(&all(data, &view, told, it.number));
                Stage::Done
            }
            Stage::Done => Stage::Done,
        };
        Some(!matches!(it.stage, Stage::Done))
    }
}

/// What `inspect`, `herds` and `replay` say, each under its name; an edge has what was observed of it, and the settings
/// that explain it.
fn all(
    data: &Dataset,
    view: &View,
    told: Option<(&Edge, (Observed, Vec<Fit>))>,
    number: fn(f64) -> String,
) -> String {
    let how = replay::Options {
        config: config(view.breaker.as_deref()).0,
        shared: view.shared,
    };
    let replay = told
        .as_ref()
        .map(|(edge, _)| replay::replay(&edge.calls, &how));
    Json::print(number, |to| {
        to.object("inspect", |to| json::inspect(to, data));
        to.object("replay", |to| {
            let edge = told.as_ref().map(|it| it.0);
            json::replay(to, data, &how.config, edge.zip(replay.as_ref()));
        });
        let known = told.zip(replay).map(|((edge, (observed, fits)), replay)| {
            // Settings that nobody has chosen stand for nothing that was observed.
            let chosen = view.breaker.is_some().then_some((how.config, replay));
            Known::new(data, edge, chosen, observed, fits)
        });
        to.object("herds", |to| json::herds(to, data, known.as_ref()));
    })
}
