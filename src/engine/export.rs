//! What is taken away of what is loaded, in pieces.
//!
//! Invariant: an export is about the data that was loaded when it began; about other data it is void. Each step is a
//! share of the work, as those of [`tasks`](super::tasks) are. Pinned by `tests/it/export.rs`.

use halfopen::Config;

use super::{Engine, config};
use crate::calls::Edge;
use crate::dataset::Dataset;
use crate::export::csv::Writing;
use crate::export::json::{self, Json, Known};
use crate::messages::Export;
use crate::observed::{self, Fitting, Observed};
use crate::replay::{self, Replay};
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
                let fitting = observed.and_then(|it| Fitting::new(&it).map(|of| (it, of)));
                match fitting {
                    Some((observed, fitting)) => {
                        Stage::Fitting(Box::new((*view, observed, fitting)))
                    }
                    None => {
                        to.push_str(&all(data, &view, None, it.number));
                        Stage::Done
                    }
                }
            }
            Stage::Fitting(mut work) if work.2.progress().0 < work.2.progress().1 => {
                work.2.step();
                Stage::Fitting(work)
            }
            Stage::Fitting(work) => {
                let (view, observed, fitting) = *work;
                to.push_str(&all(data, &view, Some((observed, fitting)), it.number));
                Stage::Done
            }
            Stage::Done => Stage::Done,
        };
        Some(!matches!(it.stage, Stage::Done))
    }
}

/// What `inspect`, `herds` and `replay` say, each under its name.
fn all(
    data: &Dataset,
    view: &View,
    fitting: Option<(Observed, Fitting)>,
    number: fn(f64) -> String,
) -> String {
    let edge = data.edge_or_first(view.edge.as_ref());
    let how = replay::Options {
        config: config(view.breaker.as_deref()).0,
        shared: view.shared,
    };
    let replay = edge.map(|edge| (edge, replay::replay(&edge.calls, &how)));
    Json::print(number, |to| {
        to.object("inspect", |to| json::inspect(to, data));
        to.object("replay", |to| {
            let of = replay.as_ref().map(|(edge, replay)| (*edge, replay));
            json::replay(to, data, &how.config, of);
        });
        // Settings that nobody has chosen stand for nothing that was observed.
        let chosen = |it: Replay| view.breaker.is_some().then_some((how.config, it));
        let known = replay.map(|(edge, it)| known(data, edge, view.shared, chosen(it), fitting));
        to.object("herds", |to| json::herds(to, data, known.as_ref()));
    })
}

fn known<'a>(
    data: &Dataset,
    edge: &'a Edge,
    shared: bool,
    replayed: Option<(Config, Replay)>,
    fitting: Option<(Observed, Fitting)>,
) -> Known<'a> {
    match fitting {
        Some((mut observed, fitting)) => {
            let fits = fitting.finish(&mut observed, &edge.calls);
            Known::new(data, edge, replayed, observed, fits)
        }
        None => {
            let observed = observed::observe(&data.table, &edge.calls, shared);
            Known::new(data, edge, replayed, observed, Vec::new())
        }
    }
}
