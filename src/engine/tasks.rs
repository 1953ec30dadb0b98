//! What takes longer than a frame: the questions of the panes, worked out in steps.
//!
//! Invariant: a task is about the data that was loaded when it began; about other data it is void. Each
//! step is a share of the work between which a cancel is heard. Pinned by `tests/it/panes.rs`.

use halfopen::Config;

use super::simulating::{Simulated, Simulating, Stepped};
use super::{Engine, Happened, config};
use crate::advise::{self, EdgeAdvice};
use crate::calls::Edge;
use crate::compare;
use crate::herds;
use crate::messages::{Answer, Question, Topic};
use crate::observed::{self, Fitting, Observed};
use crate::panes::{self, Block, Callers};
use crate::scene;
use crate::standing::Counting;
use crate::what_if::{Cases, Grid, KEYS};

/// A question, and how far the work on it is.
pub struct Task {
    /// What is asked.
    pub question: Question,
    epoch: u32,
    stage: Stage,
}

enum Stage {
    Begun,
    Fitting(Box<(Observed, Fitting)>),
    Edges(Vec<EdgeAdvice>),
    Cases(Box<(Cases, Option<Grid>)>),
    Simulating(Box<Simulating>),
    Counting(Box<Counting>),
}

/// What a step came to.
pub enum Step {
    /// Steps done, and steps in all.
    More([u32; 2]),
    /// This is the answer, or what there is of it.
    Done(Box<Answer>),
    /// Other data is loaded.
    Void,
}

impl Engine {
    /// Begins to work out a question on what is loaded.
    pub fn task(&self, question: Question) -> Task {
        Task {
            question,
            epoch: self.epoch,
            stage: Stage::Begun,
        }
    }

    /// A step of a task. O(calls).
    pub fn step(&mut self, task: &mut Task) -> Step {
        if task.epoch != self.epoch {
            return Step::Void;
        }
        match task.question.topic {
            Topic::Happened => self.step_happened(task),
            Topic::Timeouts => self.step_timeouts(task),
            Topic::WhatIf => self.step_what_if(task),
            Topic::Compare => self.compare(task),
            Topic::Simulated => self.step_simulated(task),
            Topic::Standing => self.step_standing(task),
        }
    }

    /// All steps at once.
    pub fn answer(&mut self, question: Question) -> Option<Answer> {
        let mut task = self.task(question);
        loop {
            match self.step(&mut task) {
                Step::More(_) => {}
                Step::Done(answer) if answer.more => {}
                Step::Done(answer) => return Some(*answer),
                Step::Void => return None,
            }
        }
    }

    fn step_happened(&mut self, task: &mut Task) -> Step {
        let Question { edge, shared, .. } = &task.question;
        let Some(edge) = self.loaded.edge_or_first(edge.as_ref()) else {
            self.happened = None;
            return done(Topic::Happened, Vec::new(), Vec::new());
        };
        let (observed, fits) = match std::mem::replace(&mut task.stage, Stage::Begun) {
            Stage::Fitting(mut work) if work.1.progress().0 < work.1.progress().1 => {
                work.1.step();
                let (done, of) = work.1.progress();
                task.stage = Stage::Fitting(work);
                return Step::More([done as u32, of as u32]);
            }
            Stage::Fitting(work) => {
                let (mut observed, fitting) = *work;
                let fits = fitting.finish(&mut observed, &edge.calls);
                (observed, fits)
            }
            _ => {
                let observed = observed::observe(&self.loaded.table, &edge.calls, *shared);
                match Fitting::new(&observed) {
                    Some(fitting) => {
                        let of = fitting.progress().1;
                        task.stage = Stage::Fitting(Box::new((observed, fitting)));
                        return Step::More([0, of as u32]);
                    }
                    None => (observed, Vec::new()),
                }
            }
        };
        let attempts = herds::attempts(&self.loaded.table, &edge.calls, &(&observed).into());
        let blocks = panes::happened(&observed, &fits);
        self.happened = Some(Happened {
            edge: (edge.from.clone(), edge.to.clone()),
            shared: *shared,
            lanes: scene::observed_lanes(&observed),
        });
        done(Topic::Happened, attempts, blocks)
    }

    fn step_what_if(&mut self, task: &mut Task) -> Step {
        let Question { shared, grid, .. } = task.question;
        let Some(edge) = self.loaded.edge_or_first(task.question.edge.as_ref()) else {
            return done(Topic::WhatIf, Vec::new(), Vec::new());
        };
        let present = config(task.question.breaker.as_deref()).0;
        let mut tried = match std::mem::replace(&mut task.stage, Stage::Begun) {
            Stage::Cases(tried) => tried,
            _ => {
                let timeout = advise::proposed_timeout(&edge.calls);
                let keys = grid.map(|it| KEYS.get(usize::from(it)).copied().unwrap_or(KEYS[0]));
                Box::new((
                    Cases::side_by_side(&edge.calls, &present, &[], timeout, shared),
                    Grid::new(&present, keys, timeout, shared),
                ))
            }
        };
        let (cases, grid) = &mut *tried;
        let more =
            cases.step(&edge.calls) || grid.as_mut().is_some_and(|it| it.cells.step(&edge.calls));
        if !more {
            let blocks = panes::what_if(&edge.calls, &present, &cases.cases, grid.as_ref());
            return done(Topic::WhatIf, Vec::new(), blocks);
        }
        let cells = grid.as_ref().map_or((0, 0), |it| it.cells.progress());
        let progress = cases.progress();
        task.stage = Stage::Cases(tried);
        Step::More([(progress.0 + cells.0) as u32, (progress.1 + cells.1) as u32])
    }

    fn step_simulated(&mut self, task: &mut Task) -> Step {
        let Question {
            edge,
            breaker,
            simulate,
            ..
        } = &task.question;
        let mut work = match std::mem::replace(&mut task.stage, Stage::Begun) {
            Stage::Simulating(work) => work,
            _ => {
                let edge = self.loaded.edge_or_first(edge.as_ref());
                let supposed = simulate.as_deref().unwrap_or_default().parse();
                let Ok(supposed) = supposed else {
                    return done(Topic::Simulated, Vec::new(), Vec::new());
                };
                let breaker = self.supposed_breaker(edge, breaker.as_deref());
                match Simulating::new(&self.loaded, edge, breaker.as_ref(), &supposed) {
                    Ok(work) => Box::new(work),
                    Err(why) => return done(Topic::Simulated, Vec::new(), vec![Block::Text(why)]),
                }
            }
        };
        let more = match work.step() {
            Err(why) => return done(Topic::Simulated, Vec::new(), vec![Block::Text(why)]),
            Ok(Stepped::More) => {
                let progress = work.progress();
                task.stage = Stage::Simulating(work);
                return Step::More(progress);
            }
            Ok(Stepped::Drawn(dataset)) => {
                let of = simulate.clone().unwrap_or_default();
                self.simulated = Some(Simulated {
                    of,
                    dataset: *dataset,
                });
                true
            }
            Ok(Stepped::Row) => true,
            Ok(Stepped::Done) => false,
        };
        let answer = Answer {
            topic: Topic::Simulated,
            attempts: Vec::new(),
            blocks: work.blocks(),
            more,
        };
        task.stage = Stage::Simulating(work);
        Step::Done(Box::new(answer))
    }

    /// The breaker that callers are supposed to have: the one that is set, or where breakers opened the usual one.
    fn supposed_breaker(&self, edge: Option<&Edge>, set: Option<&str>) -> Option<Config> {
        let opened = |edge: &Edge| {
            let observed = observed::observe(&self.loaded.table, &edge.calls, false);
            observed::withheld(&observed).is_some()
        };
        let has_one = set.is_some() || edge.is_some_and(opened);
        has_one.then(|| config(set).0)
    }

    fn compare(&self, task: &Task) -> Step {
        let Question { edge, viewport, .. } = &task.question;
        let calls = self.loaded.calls(self.loaded.edge_or_first(edge.as_ref()));
        let selected = viewport.unwrap_or(self.loaded.limits());
        let comparison = compare::compare(&self.loaded.table, calls, selected);
        let blocks = panes::compare(&comparison, comparison.outside.spans == 0);
        done(Topic::Compare, Vec::new(), blocks)
    }

    fn step_standing(&self, task: &mut Task) -> Step {
        let table = &self.loaded.table;
        let mut counting = match std::mem::replace(&mut task.stage, Stage::Begun) {
            Stage::Counting(counting) => counting,
            _ => {
                let trace = task.question.trace.as_deref();
                match trace.and_then(|it| table.find_trace(it)) {
                    Some(rank) => Box::new(Counting::new(table, rank)),
                    None => return done(Topic::Standing, Vec::new(), Vec::new()),
                }
            }
        };
        if counting.step(table) {
            let progress = counting.progress(table);
            task.stage = Stage::Counting(counting);
            return Step::More(progress);
        }
        let blocks = panes::standing(table, &counting.finish(table));
        done(Topic::Standing, Vec::new(), blocks)
    }

    fn step_timeouts(&mut self, task: &mut Task) -> Step {
        let mut advice = match std::mem::replace(&mut task.stage, Stage::Begun) {
            Stage::Edges(advice) => advice,
            _ => Vec::new(),
        };
        let of = self.loaded.edges.len().min(panes::MOST_EDGES);
        if let Some(edge) = self
            .loaded
            .edges
            .get(advice.len())
            .filter(|_| advice.len() < of)
        {
            advice.push(advise::advise(&self.loaded, edge));
            let done = advice.len() as u32;
            task.stage = Stage::Edges(advice);
            return Step::More([done, of as u32 + 1]);
        }
        let abandoned = advise::abandoned(&self.loaded.table);
        let Question {
            edge,
            breaker,
            pool,
            ..
        } = &task.question;
        let timeout = config(breaker.as_deref()).0.settings().timeout;
        let callers = Callers {
            pool: *pool,
            timeout: self.loaded.edge_or_first(edge.as_ref()).zip(timeout),
        };
        let blocks = panes::timeouts(&self.loaded, &advice, &abandoned, callers);
        done(Topic::Timeouts, Vec::new(), blocks)
    }
}

fn done(topic: Topic, attempts: Vec<herds::Attempt>, blocks: Vec<panes::Block>) -> Step {
    Step::Done(Box::new(Answer {
        topic,
        attempts,
        blocks,
        more: false,
    }))
}
