//! The page: what it knows, and the two ways in which that changes.
//!
//! A person changes the [`View`] ([`App::change`]), the engine answers ([`App::receive`]); everything
//! on screen follows from there. Invariants: the view alone decides what is shown, so a link brings
//! all of it back; each failure ends in [`App::report`]; spans and axes of a viewport are painted in
//! one go. Cost a frame: the painting, and text that has changed.

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::rc::{Rc, Weak};

use js_sys::ArrayBuffer;
use wasm_bindgen::prelude::*;
use web_sys::{Event, EventTarget, File, Window};

use crate::client::Client;
use crate::dom::{self, Dom};
use crate::history::{Gesture, History};
use crate::open::Wanted;
use crate::paint::Painter;
use crate::reading::{Given, Reading};
use crate::{
    assume, breaker, clickhouse, columns, commands, embedding, export, filter, header, herds,
    notices, open, overview, panes, plot, reading, row, seek, stopped, theme, tools, trace, wire,
};
use herdscope::messages::{FrameRequest, Reply, Scene, Style, Summary, TraceDetail};
use herdscope::view::{FileMark, Pane, View, Viewport};
use herdscope::viewport;

/// What the page knows.
pub struct State {
    /// What the person looks at.
    pub view: View,
    /// What is loaded.
    pub summary: Option<Rc<Summary>>,
    /// The last picture.
    pub scene: Option<Rc<Scene>>,
    /// The files of it, as they can be read again.
    pub inputs: Vec<Given>,
    /// What is being read.
    pub reading: Option<Reading>,
    /// What a link asks for and nobody has given yet.
    pub wanted: Option<Wanted>,
    /// The picked trace.
    pub detail: Option<Rc<TraceDetail>>,
    /// Files of the person's that were read, for Back and Forward to find again.
    pub files: Vec<(FileMark, File)>,
    /// The colours.
    pub style: Style,
}

/// The page's thread.
pub struct App {
    pub dom: Dom,
    state: RefCell<State>,
    pub client: Client,
    pub history: History,
    pub painter: Painter,
    pub plot: plot::Pointer,
    pub strip: overview::Strip,
    pub seek: seek::Seek,
    pub question: trace::Question,
    pub row: row::Row,
    pub panes: panes::Panes,
    pub herds: herds::Herds,
    pub clickhouse: clickhouse::Dialog,
    pub columns: columns::Columns,
    pub assume: assume::Assume,
    pub filter: filter::Field,
    pub offered: embedding::Offered,
    pub exports: export::Exports,
    /// Something changed since the last frame was asked for.
    stale: Cell<bool>,
    /// The next frame is of a view that rests.
    rests: Cell<bool>,
    frames: Cell<u32>,
    me: Weak<App>,
}

/// A view that has not moved for so many milliseconds rests.
const REST_MS: i32 = 120;

/// What is done about an event. It captures nothing, so that the listeners are one closure with a function each.
pub type Listener = fn(&Rc<App>, &Event);

/// Builds the page.
pub fn start(window: Window) -> Result<(), JsValue> {
    let dom = Dom::new(window)?;
    install_panic_hook(&dom);
    let style = theme::style(&dom)?;
    let painter = Painter::new(&dom)?;
    let app = Rc::new_cyclic(|me: &Weak<App>| App {
        state: RefCell::new(State {
            view: View::default(),
            summary: None,
            scene: None,
            inputs: Vec::new(),
            reading: None,
            wanted: None,
            detail: None,
            files: Vec::new(),
            style,
        }),
        client: Client::default(),
        history: History::new(&dom),
        painter,
        plot: plot::Pointer::default(),
        strip: overview::Strip::default(),
        seek: seek::Seek::default(),
        question: trace::Question::default(),
        row: row::Row::default(),
        panes: panes::Panes::default(),
        herds: herds::Herds::default(),
        clickhouse: clickhouse::Dialog::default(),
        columns: columns::Columns::default(),
        assume: assume::Assume::default(),
        filter: filter::Field::default(),
        offered: embedding::Offered::default(),
        exports: export::Exports::default(),
        stale: Cell::new(false),
        rests: Cell::new(false),
        frames: Cell::new(0),
        me: me.clone(),
        dom,
    });
    app.client.start(&app.dom, &app.me)?;
    theme::install(&app);
    app.restyle();
    header::install(&app);
    tools::install(&app);
    filter::install(&app);
    plot::install(&app);
    overview::install(&app);
    breaker::install(&app);
    herds::install(&app);
    panes::install(&app);
    trace::install(&app);
    row::install(&app);
    open::install(&app);
    columns::install(&app);
    assume::install(&app);
    clickhouse::install(&app);
    export::install(&app);
    commands::install(&app);
    stopped::install(&app);
    embedding::install(&app);
    app.painter.install(&app);
    open::start(&app);
    Ok(())
}

/// A panic of the page's own thread: nothing runs any more, so the person is told at once.
fn install_panic_hook(dom: &Dom) {
    let dom = dom.clone();
    std::panic::set_hook(Box::new(move |info| stopped::page(&dom, &info.to_string())));
}

impl App {
    /// What is known now. Asked for in a hundred places, so not inlined there.
    #[inline(never)]
    pub fn state(&self) -> Ref<'_, State> {
        self.state.borrow()
    }

    /// The same, to change it.
    #[inline(never)]
    pub fn state_mut(&self) -> RefMut<'_, State> {
        self.state.borrow_mut()
    }

    /// What the person looks at now.
    #[inline(never)]
    pub fn view(&self) -> View {
        self.state().view.clone()
    }

    /// Itself, for listeners.
    pub fn rc(&self) -> Rc<App> {
        match self.me.upgrade() {
            Some(app) => app,
            None => unreachable!("the page outlives its listeners"),
        }
    }

    /// Listens to the element of that id for as long as the page lives.
    pub fn on(self: &Rc<Self>, id: &str, event: &str, run: Listener) {
        self.listen(&self.dom.html(id), event, run);
    }

    /// The same, to anything that has events.
    #[inline(never)]
    pub fn listen(self: &Rc<Self>, target: &EventTarget, event: &str, run: Listener) {
        let app = self.clone();
        dom::on(target, event, move |event: Event| run(&app, &event));
    }

    /// Says that something went wrong which the person can do nothing about.
    pub fn report<T>(&self, result: Result<T, JsValue>) -> Option<T> {
        match result {
            Ok(it) => Some(it),
            Err(error) => {
                let text = format!("The browser refused something: {}.", dom::reason(&error));
                notices::error(&self.dom, notices::OTHER, &text);
                None
            }
        }
    }

    /// Changes what the person looks at.
    pub fn change(&self, gesture: Gesture, edit: impl FnOnce(&mut View)) {
        let mut after = self.view();
        edit(&mut after);
        self.changed_to(after, gesture);
    }

    #[inline(never)]
    fn changed_to(&self, after: View, gesture: Gesture) {
        let before = self.view();
        if before == after {
            return;
        }
        open::give_up_wanted(self);
        self.state_mut().view = after.clone();
        self.report(self.history.note(&after, gesture));
        self.view_changed(&before, &after);
    }

    /// Looks at something else without writing it into the address.
    pub fn set_view(&self, view: View) {
        let before = std::mem::replace(&mut self.state_mut().view, view.clone());
        self.view_changed(&before, &view);
    }

    fn view_changed(&self, before: &View, after: &View) {
        let without_viewport = |view: &View| View {
            viewport: None,
            ..view.clone()
        };
        // First: the panes show what is picked now.
        if before.trace != after.trace {
            trace::picked(self);
        }
        if without_viewport(before) != without_viewport(after) {
            self.render_controls();
        } else if after.pane == Pane::Compare {
            panes::update(self);
        }
        self.request_frame();
    }

    /// Everything that shows the view or the summary and no picture.
    pub fn render_controls(&self) {
        header::render(self);
        tools::render(self);
        filter::render(self);
        breaker::render(self);
        trace::render(self);
        panes::update(self);
        herds::update(self);
    }

    /// The part of the plot in view, of what is loaded.
    pub fn viewport(&self) -> Option<Viewport> {
        let state = self.state();
        let summary = state.summary.as_ref()?;
        Some(state.view.viewport.unwrap_or(summary.home))
    }

    /// How far a viewport may go; `None` while there is nothing to move about in.
    pub fn limits(&self) -> Option<Viewport> {
        let state = self.state();
        let previewing = state
            .reading
            .as_ref()
            .is_some_and(|it| it.preview.is_some());
        if previewing {
            return None;
        }
        state.summary.as_ref().map(|it| it.limits)
    }

    /// Moves to another part of the plot.
    pub fn look_at(&self, gesture: Gesture, viewport: Viewport) {
        let home = self.state().summary.as_ref().map(|it| it.home);
        let viewport = Some(viewport).filter(|it| Some(*it) != home);
        self.change(gesture, |view| view.viewport = viewport);
    }

    /// Moves within the limits: `step` gets the viewport and how far it may go.
    pub fn move_by(&self, gesture: Gesture, step: impl FnOnce(Viewport, Viewport) -> Viewport) {
        if let Some([viewport, limits]) = self.room() {
            self.look_at(gesture, step(viewport, limits));
        }
    }

    /// What is in view, and how far a step may go.
    #[inline(never)]
    fn room(&self) -> Option<[Viewport; 2]> {
        let viewport = self.viewport()?;
        // A link may show more than the limits: a step never jumps back by more than it moves.
        Some([viewport, widened(self.limits()?, viewport)])
    }

    /// Everything in view again.
    pub fn home(&self) {
        self.change(Gesture::Step, |view| view.viewport = None);
    }

    /// The colours have changed.
    pub fn restyle(&self) {
        if let Some(style) = self.report(theme::style(&self.dom)) {
            self.state_mut().style = style;
        }
        self.request_frame();
    }

    /// Asks for a picture of what is in view now, at once or as soon as the one before is there.
    pub fn request_frame(&self) {
        self.stale.set(true);
        self.pump();
    }

    fn pump(&self) {
        if self.stale.get()
            && self.client.is_free()
            && let Some(request) = self.frame_request()
        {
            self.stale.set(false);
            self.report(self.client.frame(request));
        }
        self.show_state();
    }

    fn frame_request(&self) -> Option<FrameRequest> {
        let sizes = self.painter.sizes()?;
        let state = self.state();
        let view = &state.view;
        let preview = state.reading.as_ref().and_then(|it| it.preview);
        let request = FrameRequest {
            simulated: sizes.simulated,
            rests: self.rests.take(),
            ..FrameRequest::of(view, sizes.plot, sizes.overview, state.style.clone())
        };
        match preview {
            // What is half read has its own extent, and neither legend nor edges yet.
            Some(_) => Some(FrameRequest {
                viewport: preview,
                hidden: Vec::new(),
                edge: None,
                trace: None,
                filter: None,
                ..request
            }),
            None => state.summary.is_some().then_some(request),
        }
    }

    /// An answer of the engine.
    pub fn receive(&self, message: &JsValue) {
        if let Some(crash) = wire::beside::<js_sys::JsString>(message, "crash") {
            return self.crashed(&String::from(crash));
        }
        let Some((id, reply)) = self.report(wire::unpack::<Reply>(message)) else {
            return;
        };
        match reply {
            Reply::Ready => {
                self.report(self.client.ready());
                self.pump();
            }
            Reply::Progress(progress) => reading::progress(self, id, progress),
            Reply::Opened(summary) => reading::opened(self, id, *summary),
            Reply::Failed(refused) => reading::failed(self, id, &refused),
            Reply::Cancelled => reading::cancelled(self, id),
            Reply::Frame(scene) => {
                if self.client.frame_arrived(id) {
                    self.paint(*scene, wire::listed(message, "pixels"));
                }
            }
            Reply::Hover(label) => {
                if self.report(self.client.hover_arrived(id)) == Some(true) {
                    plot::hovered(self, label);
                }
            }
            Reply::Trace(detail) => trace::arrived(self, id, detail.map(|it| *it)),
            Reply::Row(blocks) => row::arrived(self, id, blocks),
            Reply::Completion(from, proposed) => filter::completed(self, id, from, proposed),
            Reply::Ranks(ranks) => seek::arrived(self, id, ranks),
            Reply::Exported => export::arrived(self, id, wire::beside(message, "file")),
            Reply::Working(topic, progress) => panes::working(self, id, topic, progress),
            Reply::Answer(answer) => panes::arrived(self, id, *answer),
        }
    }

    /// The next one is asked for first, so that the engine works while this one is painted. It is painted at once,
    /// all of it: the browser shows it with its next frame.
    fn paint(&self, scene: Scene, pixels: Vec<ArrayBuffer>) {
        self.pump();
        let scene = Rc::new(scene);
        let (style, lanes) = {
            let state = self.state();
            (state.style.clone(), state.view.lanes)
        };
        self.report(self.painter.paint(&scene, &pixels, &style, lanes));
        self.client.recycle(pixels);
        let before = self.state_mut().scene.replace(scene.clone());
        overview::render(self, &scene);
        plot::render(self, &scene);
        breaker::render_figures(self, &scene);
        herds::render(self, &scene, before.as_deref());
        header::render_footer(self, &scene);
        filter::render_count(self);
        let n_frames = self.frames.get() + 1;
        self.frames.set(n_frames);
        dom::set(&self.dom.root(), "data-frames", &n_frames.to_string());
        if scene.passing {
            let app = self.rc();
            self.dom.later(REST_MS, move || {
                if app.frames.get() == n_frames {
                    app.rests.set(true);
                    app.request_frame();
                }
            });
        }
        self.show_state();
    }

    /// What tests wait for: `idle` when the last picture is painted, nothing is being read, and the panes
    /// have their answers.
    pub fn show_state(&self) {
        let state = self.state();
        let painting = self.client.is_drawing();
        let passing = state.scene.as_ref().is_some_and(|it| it.passing);
        let waiting = self.stale.get() || passing;
        let waiting = waiting && state.summary.is_some();
        let text = match () {
            () if state.reading.is_some() => "reading",
            () if painting || waiting || panes::is_waiting(self) => "loading",
            () => "idle",
        };
        let root = self.dom.root();
        if root.get_attribute("data-state").as_deref() != Some(text) {
            dom::set(&root, "data-state", text);
        }
    }

    /// The engine is gone: another is started, and what it held can be read again.
    pub fn crashed(&self, why: &str) {
        stopped::engine(self, why);
        {
            let mut state = self.state_mut();
            state.reading = None;
            state.summary = None;
            state.inputs.clear();
            panes::forget(self);
        }
        self.stale.set(false);
        self.report(self.history.flush());
        // One that did not even begin would not do so a second time.
        if self.client.is_ready() {
            self.report(self.client.start(&self.dom, &self.me));
        } else {
            self.client.end();
        }
        reading::render_reading(self);
        self.show_state();
    }
}

/// Limits that hold a viewport as it is.
fn widened(limits: Viewport, viewport: Viewport) -> Viewport {
    if !viewport::overlap(limits, viewport) {
        return limits;
    }
    Viewport {
        t0: limits.t0.min(viewport.t0),
        t1: limits.t1.max(viewport.t1),
        y0: limits.y0.min(viewport.y0),
        y1: limits.y1.max(viewport.y1),
    }
}
