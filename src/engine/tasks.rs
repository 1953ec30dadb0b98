//! What takes longer than a frame: the questions of the panes, worked out in steps.
//!
//! Invariant: a task is about the data that was loaded when it began; about other data it is void. Each
//! step is a share of the work between which a cancel is heard. Pinned by `tests/it/panes.rs`.

use super::{Engine, Happened};
use crate::advise::{self, EdgeAdvice};
use crate::herds;
use crate::messages::{Answer, Question, Topic};
use crate::observed::{self, Fitting, Observed};
use crate::panes;
use crate::scene;

/// A question, and how far the work on it is.
pub struct Task {
    /// What is asked.
    pub question: Question,
    epoch: u32,
    stage: Stage,
}

enum Stage {
    Begun,
    Fitting(Box<Observed>, Fitting),
    Edges(Vec<EdgeAdvice>),
}

/// What a step came to.
pub enum Step {
    /// Steps done, and steps in all.
    More([u32; 2]),
    /// This is the answer.
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
        }
    }

    /// All steps at once.
    pub fn answer(&mut self, question: Question) -> Option<Answer> {
        let mut task = self.task(question);
        loop {
            match self.step(&mut task) {
                Step::More(_) => {}
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
            Stage::Fitting(observed, mut fitting)
                if fitting.progress().0 < fitting.progress().1 =>
            {
                fitting.step();
                let (done, of) = fitting.progress();
                task.stage = Stage::Fitting(observed, fitting);
                return Step::More([done as u32, of as u32]);
            }
            Stage::Fitting(mut observed, fitting) => {
                let fits = fitting.finish(&mut observed, &edge.calls);
                (observed, fits)
            }
            _ => {
                let observed = observed::observe(&self.loaded.table, &edge.calls, *shared);
                match Fitting::new(&observed) {
                    Some(fitting) => {
                        let of = fitting.progress().1;
                        task.stage = Stage::Fitting(Box::new(observed), fitting);
                        return Step::More([0, of as u32]);
                    }
                    None => (Box::new(observed), Vec::new()),
                }
            }
        };
        let attempts = herds::attempts(&self.loaded.table, &edge.calls, &(&*observed).into());
        let blocks = panes::happened(&observed, &fits);
        self.happened = Some(Happened {
            edge: (edge.from.clone(), edge.to.clone()),
            shared: *shared,
            lanes: scene::observed_lanes(&observed),
        });
        done(Topic::Happened, attempts, blocks)
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
        let blocks = panes::timeouts(&self.loaded, &advice, &abandoned, task.question.pool);
        done(Topic::Timeouts, Vec::new(), blocks)
    }
}

fn done(topic: Topic, attempts: Vec<herds::Attempt>, blocks: Vec<panes::Block>) -> Step {
    Step::Done(Box::new(Answer {
        topic,
        attempts,
        blocks,
    }))
}
