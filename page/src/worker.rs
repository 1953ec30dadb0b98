//! The engine's thread: one message after the other, and a reading that lets them in between.
//!
//! Owns the [`Engine`]. Invariants: a reading never holds the engine while it waits; it gives way
//! every few milliseconds, by a message to itself, so that frames are drawn and a cancel is heard
//! while it goes on; a new reading ends the one before. Pinned by the browser tests.

mod export;
mod rows;

use std::cell::{Cell, RefCell, RefMut};
use std::collections::VecDeque;
use std::rc::Rc;

use js_sys::{Array, ArrayBuffer, Function, Promise, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, DedicatedWorkerGlobalScope, File, MessageChannel, MessageEvent};

use crate::stream::{self, Bytes};
use crate::{dom, wire};
use herdscope::clickhouse::Query;
use herdscope::engine::{Engine, Step, Task, Turn};
use herdscope::ingest::Told;
use herdscope::messages::{FrameRequest, Input, Opening, Progress, Question, Reply, Request};
use herdscope::samples::Sampling;
use herdscope::view::Source;

/// How long the engine reads before it lets messages in, in milliseconds.
const TURN_MS: f64 = 8.0;

/// The bytes that spans may take. WebAssembly has 4 GiB; what grows needs the old and the new for a moment.
const ROOM: u64 = 3 << 30;
/// How many bytes it takes at a time: a fraction of a turn.
const SLICE: usize = 128 * 1024;
/// How often it says how far it is, in milliseconds, when there is nothing new to draw.
const REPORT_MS: f64 = 50.0;

struct Thread {
    scope: DedicatedWorkerGlobalScope,
    engine: RefCell<Engine>,
    /// The reading that goes on, by the id of its request.
    reading: Cell<Option<u32>>,
    /// Ends a question to a server, and its work, when the reading is given up.
    abort: RefCell<Option<AbortController>>,
    turns: Turns,
    /// The questions that are being worked out, the first one first, by the ids of their requests.
    tasks: RefCell<VecDeque<(u32, Task)>>,
    /// The work on them has turns of its own.
    task_turns: Turns,
    /// The row that is being read again, by the id of its request.
    row: Cell<u32>,
    /// What is being taken away, by the id of its request; it has turns of its own.
    exporting: Cell<u32>,
    export_turns: Turns,
    /// When the page was last told how far the work is.
    reported: Cell<f64>,
}

/// A reading, and where in it the file is that is being read.
struct Part {
    id: u32,
    /// When it began.
    start: f64,
    /// The file's place among several, and how many there are.
    of: Option<(usize, usize)>,
    /// Bytes so far, and in all where that is known.
    before: u64,
    total: Option<u64>,
}

/// Starts listening, and says so.
pub fn start() -> Result<(), JsValue> {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().dyn_into()?;
    install_panic_hook(&scope);
    let thread = Rc::new(Thread {
        scope: scope.clone(),
        engine: RefCell::new(Engine::with_room(ROOM)),
        reading: Cell::new(None),
        abort: RefCell::new(None),
        turns: Turns::new()?,
        tasks: RefCell::default(),
        task_turns: Turns::new()?,
        row: Cell::new(0),
        exporting: Cell::new(0),
        export_turns: Turns::new()?,
        reported: Cell::new(0.0),
    });
    let listener = thread.clone();
    let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        listener.receive(&event.data());
    });
    scope.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    on_message.forget();
    thread.reply(0, &Reply::Ready);
    Ok(())
}

/// The page is told why before the thread ends.
fn install_panic_hook(scope: &DedicatedWorkerGlobalScope) {
    let scope = scope.clone();
    std::panic::set_hook(Box::new(move |info| {
        let crash = js_sys::Object::new();
        // Without it the page hears of the end alone.
        let _ = Reflect::set(&crash, &"crash".into(), &info.to_string().into());
        let _ = scope.post_message(&crash);
    }));
}

impl Thread {
    /// The engine, for one call of it.
    #[inline(never)]
    fn engine(&self) -> RefMut<'_, Engine> {
        self.engine.borrow_mut()
    }

    fn receive(self: &Rc<Self>, message: &JsValue) {
        let (id, request) = match wire::unpack::<Request>(message) {
            Ok(it) => it,
            Err(error) => wasm_bindgen::throw_val(error),
        };
        match request {
            Request::Open(openings) => self.open(id, openings, wire::listed(message, "files")),
            Request::Judge {
                failed_over,
                logical,
            } => {
                self.cancel();
                let summary = self.engine().judge(failed_over, logical);
                self.reply(id, &Reply::Opened(Box::new(summary)));
            }
            Request::Cancel => self.cancel(),
            Request::Frame(request) => self.frame(id, &request, wire::listed(message, "buffers")),
            Request::Hover(point) => {
                let label = self.engine().hover(&point);
                self.reply(id, &Reply::Hover(label));
            }
            Request::Pick(point) => {
                let detail = self.engine().pick(&point);
                self.reply(id, &Reply::Trace(detail.map(Box::new)));
            }
            Request::Trace(trace) => {
                let detail = self.engine().trace(&trace);
                self.reply(id, &Reply::Trace(detail.map(Box::new)));
            }
            Request::Rank(rank) => {
                let detail = self.engine().trace_of_rank(rank);
                self.reply(id, &Reply::Trace(detail.map(Box::new)));
            }
            Request::Step { back } => {
                let detail = self.engine().step_match(back);
                self.reply(id, &Reply::Trace(detail.map(Box::new)));
            }
            Request::Complete(text) => {
                let (from, proposed) = self.engine().complete(&text);
                self.reply(id, &Reply::Completion(from as u32, proposed));
            }
            Request::Row(span) => self.row(id, span, wire::listed(message, "files").pop()),
            Request::Ranks([from, to]) => {
                let ranks = self.engine().ranks(from, to);
                self.reply(id, &Reply::Ranks([ranks.start, ranks.end]));
            }
            Request::Export(view, what) => self.export(id, &view, &what),
            Request::Ask(question) => self.ask(id, *question),
        }
    }

    /// Begins to work a question out; one on the same topic that was asked before is dropped.
    fn ask(self: &Rc<Self>, id: u32, question: Question) {
        let topic = question.topic;
        let task = self.engine().task(question);
        let mut tasks = self.tasks.borrow_mut();
        let idle = tasks.is_empty();
        tasks.retain(|(_, it)| it.question.topic != topic);
        tasks.push_back((id, task));
        if idle {
            let thread = self.clone();
            dom::spawn(Box::pin(async move { thread.work().await }));
        }
    }

    async fn work(&self) {
        while !self.tasks.borrow().is_empty() {
            // What was asked with it comes first: a picture does not wait.
            self.task_turns.give_way().await;
            let turn = self.now();
            while self.step() && self.now() - turn < TURN_MS {}
        }
    }

    /// A step of the first task; whether there is more to do in this turn.
    fn step(&self) -> bool {
        let mut tasks = self.tasks.borrow_mut();
        let Some((id, task)) = tasks.front_mut() else {
            return false;
        };
        let reply = match self.engine().step(task) {
            Step::More(progress) => Some(Reply::Working(task.question.topic, progress)),
            Step::Done(answer) => Some(Reply::Answer(answer)),
            Step::Void => None,
        };
        let goes_on = match &reply {
            Some(Reply::Working(..)) => true,
            Some(Reply::Answer(it)) => it.more,
            _ => false,
        };
        let id = *id;
        if let Some(reply) = reply.filter(|it| self.is_news(it)) {
            self.reply(id, &reply);
        }
        // The others have their turn: a long one keeps nobody waiting.
        match goes_on {
            true => tasks.rotate_left(1),
            false => drop(tasks.pop_front()),
        }
        goes_on
    }

    /// How far work is, the page is told now and then, all else at once.
    fn is_news(&self, reply: &Reply) -> bool {
        if !matches!(reply, Reply::Working(..)) {
            return true;
        }
        let now = self.now();
        let due = now - self.reported.get() >= REPORT_MS;
        if due {
            self.reported.set(now);
        }
        due
    }

    fn cancel(&self) {
        if let Some(reading) = self.reading.take() {
            self.engine().cancel();
            self.reply(reading, &Reply::Cancelled);
        }
        if let Some(controller) = self.abort.take() {
            controller.abort();
        }
    }

    fn open(self: &Rc<Self>, id: u32, openings: Vec<Opening>, files: Vec<File>) {
        self.cancel();
        self.reading.set(Some(id));
        self.row.set(0);
        self.engine().start();
        let thread = self.clone();
        dom::spawn(Box::pin(async move {
            thread.read(id, openings, files).await;
            // Cancelled, or another reading has taken over: that has been answered already.
            if thread.reading.get() != Some(id) {
                return;
            }
            let finished = thread.engine().finish();
            let reply = match finished {
                Err(refused) => Some(Reply::Failed(refused)),
                Ok(()) => match thread.turns_of(id).await {
                    Turn::Loaded(summary) => Some(Reply::Opened(summary)),
                    _ => None,
                },
            };
            if let Some(reply) = reply {
                thread.reading.set(None);
                thread.reply(id, &reply);
            }
        }));
    }

    /// The turns of what the engine makes of a reading, other work in between; how they ended, or [`Turn::More`] where
    /// the reading did.
    async fn turns_of(&self, id: u32) -> Turn {
        let mut turn = self.now();
        loop {
            if self.now() - turn >= TURN_MS {
                self.turns.give_way().await;
                turn = self.now();
            }
            if self.reading.get() != Some(id) {
                return Turn::More;
            }
            let came = self.engine().turn();
            if !matches!(came, Turn::More) {
                return came;
            }
        }
    }

    /// Reads one file after the other; what cannot be read is the engine's to tell at the end.
    async fn read(&self, id: u32, openings: Vec<Opening>, files: Vec<File>) {
        let mut files = files.into_iter();
        let n_files = openings.len();
        let size = |it: &Opening| match it.input {
            Input::File { size, .. } => Some(size),
            _ => None,
        };
        let mut part = Part {
            id,
            start: self.now(),
            of: (n_files > 1).then_some((0, n_files)),
            before: 0,
            total: openings.iter().map(size).sum(),
        };
        for (at, opening) in openings.into_iter().enumerate() {
            if self.engine().is_full() {
                let why = ": the memory for spans is full, so nothing of it was read.";
                let why = [&opening.input.name(), why].concat();
                self.engine().skip(false, why);
                continue;
            }
            let file = match opening.input {
                Input::File { .. } => files.next(),
                _ => None,
            };
            part.of = part.of.map(|(_, n)| (at + 1, n));
            let begun = self.begin(id, opening, file).await;
            if self.reading.get() != Some(id) {
                return;
            }
            let why = match begun {
                Err(why) => Some((false, why)),
                Ok(None) => None,
                Ok(Some(bytes)) => self
                    .read_file(&mut part, bytes)
                    .await
                    .err()
                    .map(|it| (true, it)),
            };
            if self.reading.get() != Some(id) {
                return;
            }
            if let Some((begun, why)) = why {
                self.engine().skip(begun, why);
            }
        }
    }

    /// A sample is not read.
    async fn simulate(&self, id: u32, name: &str) -> Result<(), String> {
        let mut sampling = Sampling::new(name)?;
        let mut turn = self.now();
        while sampling.step()? {
            if self.now() - turn >= TURN_MS {
                self.turns.give_way().await;
                turn = self.now();
            }
            if self.reading.get() != Some(id) {
                return Ok(());
            }
        }
        let title = sampling.title();
        let (source, reading) = sampling.finish();
        self.engine().add(title, source, reading);
        Ok(())
    }

    async fn read_file(&self, part: &mut Part, mut bytes: Bytes) -> Result<(), String> {
        let mut turn = self.now();
        let mut reported = turn;
        let before = part.before;
        while let Some(piece) = bytes.next().await? {
            for slice in piece.chunks(SLICE) {
                if self.reading.get() != Some(part.id) {
                    bytes.close();
                    return Ok(());
                }
                let pushed = self.engine().push(slice, self.now() - part.start);
                let Ok(mut progress) = pushed else {
                    let objection = bytes.objection();
                    bytes.close();
                    return objection.map_or(Ok(()), Err);
                };
                if self.engine().is_full() {
                    bytes.close();
                    return Ok(());
                }
                progress.bytes += before;
                part.before = progress.bytes;
                if let Some((at, n_files)) = part.of {
                    progress.name = format!("{} ({at} of {n_files})", progress.name);
                    progress.total = part.total;
                }
                if let Turn::Preview(viewport) = self.turns_of(part.id).await {
                    progress.preview = Some(viewport);
                }
                let now = self.now();
                if progress.preview.is_some() || now - reported >= REPORT_MS {
                    reported = now;
                    self.progress(part.id, progress);
                }
                if now - turn >= TURN_MS {
                    self.turns.give_way().await;
                    turn = self.now();
                }
            }
        }
        Ok(())
    }

    /// Where the bytes come from, for which the engine is ready; `None` where there are none to be read.
    async fn begin(
        &self,
        id: u32,
        opening: Opening,
        file: Option<File>,
    ) -> Result<Option<Bytes>, String> {
        let told: Told = opening.told.parse().unwrap_or_default();
        let begin = |name: String, source: Option<Source>, total: Option<u64>| {
            // Another reading may have begun while this one waited for its first bytes.
            if self.reading.get() == Some(id) {
                self.engine().next_file(name, source, total, told);
            }
        };
        let bytes = match opening.input {
            Input::File { name, size, pasted } => {
                let file = file.ok_or("No file came with the request to open one.")?;
                let mark = match pasted {
                    true => None,
                    false => Some(Source::File(stream::mark(&file).await?)),
                };
                let bytes = stream::of_file(&file, 0)?;
                begin(name, mark, Some(size));
                bytes
            }
            Input::Sample(name) => {
                self.simulate(id, &name).await?;
                return Ok(None);
            }
            Input::Fetch { name, url } => {
                let (bytes, total) = stream::of_address(&self.scope, &url).await?;
                begin(name, Some(Source::Url(url)), total);
                bytes
            }
            Input::ClickHouse {
                asked,
                most,
                password,
            } => {
                let controller = AbortController::new().map_err(|error| dom::reason(&error))?;
                let signal = controller.signal();
                self.abort.replace(Some(controller));
                let query = Query {
                    max_rows: most,
                    ..asked.query.clone()
                };
                let bytes = stream::of_clickhouse(&asked, query, &password.0, &signal).await?;
                begin(asked.name(), Some(Source::ClickHouse(asked)), None);
                bytes
            }
        };
        Ok(Some(bytes))
    }

    fn progress(&self, id: u32, progress: Progress) {
        if self.reading.get() == Some(id) {
            self.reply(id, &Reply::Progress(progress));
        }
    }

    fn frame(&self, id: u32, request: &FrameRequest, buffers: Vec<ArrayBuffer>) {
        let frame = self.engine().frame(request);
        let mut buffers = buffers.into_iter();
        let pixels: Array = [&frame.plot.rgba, &frame.overview, &frame.simulated]
            .map(|rgba| into_buffer(rgba, buffers.next()))
            .iter()
            .collect();
        let reply = Reply::Frame(Box::new(frame.scene));
        let message = wire::pack(id, &reply, &[("pixels", &pixels)]);
        let sent = message.and_then(|it| self.scope.post_message_with_transfer(&it, &pixels));
        or_throw(sent);
    }

    fn reply(&self, id: u32, reply: &Reply) {
        let sent = wire::pack(id, reply, &[]).and_then(|message| self.scope.post_message(&message));
        or_throw(sent);
    }

    fn now(&self) -> f64 {
        self.scope.performance().map_or(0.0, |it| it.now())
    }
}

/// An error that only the page can show becomes the worker's, which the page hears.
fn or_throw<T>(result: Result<T, JsValue>) -> T {
    match result {
        Ok(it) => it,
        Err(error) => wasm_bindgen::throw_val(error),
    }
}

/// The pixels in a buffer that can be handed over: the one that came back if it has the size.
fn into_buffer(rgba: &[u8], used: Option<ArrayBuffer>) -> ArrayBuffer {
    let size = rgba.len() as u32;
    let buffer = used
        .filter(|it| it.byte_length() == size)
        .unwrap_or_else(|| ArrayBuffer::new(size));
    Uint8Array::new(&buffer).copy_from(rgba);
    buffer
}

/// Ends a turn of the event loop: what waits in the queue comes first.
struct Turns {
    channel: MessageChannel,
    resume: Rc<RefCell<Option<Function>>>,
}

impl Turns {
    fn new() -> Result<Turns, JsValue> {
        let channel = MessageChannel::new()?;
        let resume: Rc<RefCell<Option<Function>>> = Rc::default();
        let resumed = resume.clone();
        let on_message = Closure::<dyn FnMut()>::new(move || {
            if let Some(resume) = resumed.take() {
                // A promise's own function does not fail.
                let _ = resume.call0(&JsValue::NULL);
            }
        });
        channel
            .port1()
            .set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        on_message.forget();
        Ok(Turns { channel, resume })
    }

    async fn give_way(&self) {
        let promise = Promise::new(&mut |resolve, _| {
            // Two readings can only wait here at once when the first has been cancelled: it is
            // let go by the second's turn.
            if let Some(before) = self.resume.replace(Some(resolve)) {
                let _ = before.call0(&JsValue::NULL);
            }
        });
        or_throw(self.channel.port2().post_message(&JsValue::NULL));
        // Never rejected.
        let _ = JsFuture::from(promise).await;
    }
}
