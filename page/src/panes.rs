//! The answers that are worked out: asked for when a pane needs them, laid out when they come.
//!
//! Owns the questions under way. Invariant: what is shown answers the view as it is, or is dimmed and cannot
//! be pressed while the answer is on its way. A press on a figure leads to its spans, or puts settings into the breaker.

use std::cell::{Ref, RefCell, RefMut};
use std::rc::Rc;

use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, HtmlSelectElement};

use crate::history::Gesture;
use crate::page::App;
use crate::{breaker, dom, filter, header, herds, supposed, trace};
use herdscope::format;
use herdscope::messages::{Answer, Question, Request, Topic};
use herdscope::panes::{Act, Block, Cell};
use herdscope::view::{GRID, Pane, View};
use herdscope::viewport::{self, Axes};
use herdscope::what_if::KEYS;

/// What was asked and answered, a place for each topic.
#[derive(Default)]
pub struct Panes {
    asked: RefCell<AllAsked>,
}

type AllAsked = [Option<Asked>; 6];

impl Panes {
    #[inline(never)]
    fn asked(&self) -> Ref<'_, AllAsked> {
        self.asked.borrow()
    }

    #[inline(never)]
    fn asked_mut(&self) -> RefMut<'_, AllAsked> {
        self.asked.borrow_mut()
    }
}

/// A question, and its answer once it is here.
struct Asked {
    id: u32,
    question: Question,
    answer: Option<Rc<Answer>>,
    /// Until it is, the answer to an earlier question is shown, dimmed.
    replaces: bool,
}

/// The topics, and the element that their blocks fill.
const TOPICS: [(Topic, &str); 6] = [
    (Topic::Happened, "happened"),
    (Topic::WhatIf, "what-if"),
    (Topic::Timeouts, "timeouts"),
    (Topic::Compare, "compare"),
    (Topic::Simulated, "simulated"),
    (Topic::Standing, "standing"),
];

fn place(topic: Topic) -> usize {
    TOPICS.iter().position(|it| it.0 == topic).unwrap_or(0)
}

pub fn install(app: &Rc<App>) {
    supposed::install(app);
    for (_, id) in TOPICS {
        app.on(id, "click", |app, event| {
            let id = dom::listening(event).id();
            let at = dom::pressed(event, "data-act").and_then(|it| it.parse().ok());
            let act = at.and_then(|at: usize| {
                let (topic, _) = TOPICS.into_iter().find(|it| it.1 == id)?;
                let answer = answer(app, topic)?;
                acts(&answer.blocks).nth(at).cloned()
            });
            if let Some(act) = act {
                press(app, act);
            }
        });
    }
    app.on("pool", "change", |app, _| {
        let pool = app.dom.input("pool").value();
        let pool = pool.trim().parse().ok().filter(|&it: &u32| it > 0);
        app.change(Gesture::Step, |view| view.pool = pool);
        render_pool(app);
    });
    for id in GRID_IDS {
        let select = app.dom.select(id);
        for key in KEYS {
            app.dom.add(&select, "option", "", key);
        }
        app.on(id, "change", |app, event| {
            let select: HtmlSelectElement = dom::listening(event).unchecked_into();
            let place = usize::from(select.id() == GRID_IDS[1]);
            let chosen = select.selected_index() as u8;
            app.change(Gesture::Step, |view| {
                // One that is chosen twice takes the other's place.
                if view.grid[1 - place] == chosen {
                    view.grid[1 - place] = view.grid[place];
                }
                view.grid[place] = chosen;
            });
        });
    }
}

/// The selects of the two settings that stand against each other.
const GRID_IDS: [&str; 2] = ["grid-x", "grid-y"];

fn render_grid(app: &App) {
    let grid = app.state().view.grid;
    for (id, place) in GRID_IDS.into_iter().zip(grid) {
        app.dom.select(id).set_selected_index(place.into());
    }
}

/// Asks for what the panes need and do not have.
pub fn update(app: &App) {
    supposed::render(app);
    render_pool(app);
    render_grid(app);
    let view = {
        let state = app.state();
        if state.summary.is_none() {
            return;
        }
        state.view.clone()
    };
    for (at, (topic, id)) in TOPICS.into_iter().enumerate() {
        let begun = app.panes.asked()[at].is_some();
        let Some(question) = wanted(&view, topic, begun) else {
            continue;
        };
        let replaces = match &app.panes.asked()[at] {
            Some(it) if it.question == question => continue,
            before => before
                .as_ref()
                .is_some_and(|it| it.replaces || it.answer.is_some()),
        };
        let request = Request::Ask(Box::new(question.clone()));
        if let Some(sent) = app.report(app.client.send(&request)) {
            let it = Asked {
                id: sent,
                question,
                answer: None,
                replaces,
            };
            app.panes.asked_mut()[at] = Some(it);
            if !replaces {
                render(app, id, &[Block::Note("Working it out\u{2026}".to_owned())]);
            }
            dom::flag(&app.dom.html(id), "aria-busy", true);
        }
    }
}

/// Other data: what was worked out is void.
pub fn forget(app: &App) {
    app.panes.asked.replace(Default::default());
}

/// Whether an answer is on its way.
pub fn is_waiting(app: &App) -> bool {
    let asked = app.panes.asked();
    asked.iter().flatten().any(|it| it.answer.is_none())
}

/// What was answered on a topic.
pub fn answer(app: &App, topic: Topic) -> Option<Rc<Answer>> {
    app.panes.asked()[place(topic)].as_ref()?.answer.clone()
}

/// The question of a topic, as far as the topic depends on the view; `None` where no pane shows it. What was begun and
/// is not wanted any more is asked for nothing, which ends the work.
fn wanted(view: &View, topic: Topic, begun: bool) -> Option<Question> {
    let all = Question::of(view, topic);
    let edge = Question {
        breaker: None,
        pool: None,
        viewport: None,
        grid: GRID,
        simulate: None,
        trace: None,
        ..all.clone()
    };
    let shown = |pane: Pane, question: Question| (view.pane == pane).then_some(question);
    match topic {
        Topic::Happened => Some(edge),
        Topic::WhatIf => shown(
            Pane::WhatIf,
            Question {
                breaker: all.breaker,
                grid: all.grid,
                ..edge
            },
        ),
        Topic::Timeouts => shown(
            Pane::Timeouts,
            Question {
                pool: all.pool,
                breaker: all.breaker,
                shared: false,
                ..edge
            },
        ),
        Topic::Compare => shown(
            Pane::Compare,
            Question {
                viewport: all.viewport,
                shared: false,
                ..edge
            },
        ),
        Topic::Simulated => (begun || all.simulate.is_some()).then_some(Question {
            breaker: all.breaker,
            simulate: all.simulate,
            shared: false,
            ..edge
        }),
        // What was begun for a trace that is let go ends.
        Topic::Standing => (begun || all.trace.is_some()).then_some(Question {
            trace: all.trace.filter(|_| view.pane == Pane::Trace),
            edge: None,
            shared: false,
            ..edge
        }),
    }
}

fn render_pool(app: &App) {
    let pool = app.state().view.pool;
    let input = app.dom.input("pool");
    let text = pool.map_or_else(String::new, |it| it.to_string());
    if input.value() != text {
        input.set_value(&text);
    }
}

/// How far the work is.
pub fn working(app: &App, id: u32, topic: Topic, [done, of]: [u32; 2]) {
    let asked = app.panes.asked();
    let current = asked[place(topic)].as_ref().filter(|it| it.id == id);
    if current.is_some_and(|it| !it.replaces && it.answer.is_none()) {
        let share = format::share(done.into(), of.into());
        let text = ["Working it out: ", &share].concat();
        render(app, TOPICS[place(topic)].1, &[Block::Note(text)]);
    }
}

pub fn arrived(app: &App, id: u32, answer: Answer) {
    let at = place(answer.topic);
    let answer = Rc::new(answer);
    {
        let mut asked = app.panes.asked_mut();
        match &mut asked[at] {
            Some(it) if it.id == id => it.answer = Some(answer.clone()),
            _ => return,
        }
    }
    render(app, TOPICS[at].1, &answer.blocks);
    dom::flag(&app.dom.html(TOPICS[at].1), "aria-busy", false);
    match answer.topic {
        Topic::Happened => {
            herds::update(app);
            // The picture shows the observed states.
            app.request_frame();
        }
        Topic::Simulated => {
            supposed::render_figures(app, &answer.blocks);
            app.request_frame();
        }
        _ => {}
    }
    app.show_state();
}

/// Does what a press on a figure does.
pub fn press(app: &Rc<App>, act: Act) {
    match act {
        Act::Settings(text) => app.change(Gesture::Step, |view| {
            view.breaker = Some(text);
            // Who compares settings goes on comparing.
            if view.pane != Pane::WhatIf {
                view.pane = Pane::Breaker;
            }
        }),
        Act::Setting(key, value) => breaker::set(app, &key, &value),
        Act::Look(it) => app.move_by(Gesture::Step, |_, limits| {
            viewport::zoom(it, [0.5, 0.5], 1.1, Axes::Both, limits)
        }),
        Act::Trace(id) => trace::go_to(app, id),
        Act::Filter(test) => filter::narrow(app, &test),
        Act::Copy(text) => header::copy(app, "trace-copy", &text, "What it says, to copy:"),
    }
}

/// The acts of blocks, in the order in which they are laid out.
pub fn acts(blocks: &[Block]) -> impl Iterator<Item = &Act> {
    let rows = blocks.iter().flat_map(|it| match it {
        Block::Table { rows, .. } => rows.as_slice(),
        _ => &[],
    });
    rows.flatten().filter_map(|it| it.act.as_ref())
}

/// Fills an element with blocks.
pub fn render(app: &App, id: &str, blocks: &[Block]) {
    let dom = &app.dom;
    let pane = dom.html(id);
    dom::clear(&pane);
    let mut n_acts = 0;
    for block in blocks {
        let element = match block {
            Block::Heading(text) => dom.new_element("h3", "", text),
            Block::Text(text) => dom.new_element("p", "", text),
            Block::Note(text) => dom.new_element("p", "note", text),
            Block::Table { head, rows } => table(app, head, rows, &mut n_acts),
            // They stand apart, to be typed in.
            Block::Field { .. } => continue,
        };
        dom::fill(&pane, &[&element]);
    }
}

fn table(app: &App, head: &[String], rows: &[Vec<Cell>], n_acts: &mut usize) -> HtmlElement {
    let dom = &app.dom;
    let table = dom.new_element("table", "answer", "");
    let row = |cells: &[HtmlElement]| -> Element {
        let row = dom.new_element("tr", "", "");
        for cell in cells {
            dom::fill(&row, &[cell]);
        }
        row.into()
    };
    let cells: Vec<HtmlElement> = head
        .iter()
        .map(|it| dom.new_element("th", "", it))
        .collect();
    dom::fill(&table, &[&row(&cells)]);
    for it in rows {
        let mut cells = Vec::new();
        for (at, it) in it.iter().enumerate() {
            let tag = if at == 0 { "th" } else { "td" };
            let cell = match it.act {
                None => dom.new_element(tag, "", &it.text),
                Some(_) => {
                    let cell = dom.new_element(tag, "", "");
                    let button = dom.button("link", &it.text, "data-act", &n_acts.to_string());
                    *n_acts += 1;
                    dom::fill(&cell, &[&button]);
                    cell
                }
            };
            if let Some(shade) = it.shade {
                dom::style(&cell, "--shade", &dom::percent(f64::from(shade) / 100.0));
                cell.set_class_name("shaded");
            }
            if it.present {
                dom::set(&cell, "aria-current", "true");
            }
            cells.push(cell);
        }
        dom::fill(&table, &[&row(&cells)]);
    }
    table
}
