//! The engine: all that the page asks for, as plain calls on plain data.
//!
//! Owns what is loaded, what is being read, and the last replay. Invariant: it does no I/O and knows
//! no browser, and whatever is asked, what is loaded stays until something else has been read to its
//! end. A frame costs what its picture costs; a replay is done again only when edge or settings
//! change. Pinned by `tests/it/engine.rs`.

mod export;
mod rows;
mod simulating;
mod tasks;

use std::ops::Range;
use std::sync::Arc;

use halfopen::Config;

use crate::advise::abandoned_ns;
use crate::calls::{Calls, Edge};
use crate::dataset::Dataset;
use crate::files::Files;
use crate::filter::{Filter, Matches, complete};
use crate::herds::{self, Attempt, late_ns};
use crate::ingest::{Limits, Reader, Reading, Told, Unmapped, Unreadable, UnreadableKind};
use crate::levels::Levels;
use crate::messages::{
    Beside, FrameRequest, Lane, Latency, PointRequest, Progress, Refused, ReplayScene, Scene,
    SpanLabel, Style, Summary, Swatch, TraceDetail,
};
use crate::order;
use crate::plot::look::Look;
use crate::plot::panned::{Painted, Panned};
use crate::plot::pixels::Pixels;
use crate::plot::scale::Scale;
use crate::plot::{hit, overview, raster};
use crate::rates::Rates;
use crate::replay::{self, Replay};
use crate::rows::{Kind, NONE, SpanRows, UNKNOWN_DURATION};
use crate::scene;
use crate::spans::{Parent, Rank, SpanIdx, SpanTable};
use crate::turns::Work;
use crate::view::{ColorBy, MILLI, Source, Viewport};

pub use self::export::Exporting;
pub use self::rows::Row;
pub use self::simulating::RUNS;
use self::simulating::Simulated;
pub use self::tasks::{Step, Task};

/// See the module.
pub struct Engine {
    loaded: Dataset,
    /// The bytes that spans may take.
    room: u64,
    /// Counts what was loaded, and what was said about it.
    epoch: u32,
    happened: Option<Happened>,
    reading: Option<Underway>,
    replayed: Option<Replayed>,
    strip: Option<Strip>,
    /// The trace that was marked last, and its rank if it is there.
    marked: Option<(String, Option<Rank>)>,
    panned: Panned,
    /// The spans that the last picture's filter means.
    sifted: Option<Sifted>,
    simulated: Option<Simulated>,
}

/// A picture: the scene and the pixels (red, green, blue, alpha) of the plot and the overview.
pub struct Frame {
    /// Everything else.
    pub scene: Scene,
    /// Pixels of the plot area.
    pub plot: Arc<Pixels>,
    /// Pixels of the overview strip.
    pub overview: Vec<u8>,
    /// Pixels of what is simulated; empty where nothing is.
    pub simulated: Vec<u8>,
}

/// A reading in progress, of one file or several.
#[derive(Default)]
struct Underway {
    /// How many of the files have begun.
    begun: u32,
    current: Option<Current>,
    /// The files that are read.
    read: Files,
    refused: Vec<Refused>,
    /// What is read so far, drawn meanwhile.
    preview: Dataset,
    /// The number of rows at which the preview is made anew.
    next_preview: usize,
    /// What is made of the rows at present.
    making: Option<Making>,
    /// No more can be held: of how many traces one could be.
    full: Option<u32>,
}

/// What is made of rows, which are lent to it, as are the files before.
enum Making {
    Preview(Work<(Dataset, SpanRows, Files)>),
    /// All that was read.
    Whole(Work<Dataset>),
}

/// What a turn of the work on what is read has come to.
#[derive(Debug)]
pub enum Turn {
    /// There is nothing to be done.
    Idle,
    /// There is more to be done.
    More,
    /// There is more to draw, in this viewport.
    Preview(Viewport),
    /// It is loaded.
    Loaded(Box<Summary>),
}

/// The file whose bytes come.
struct Current {
    name: String,
    source: Option<Source>,
    total: Option<u64>,
    reader: Reader,
}

/// The overview strip as it was last painted: panning and zooming leave it as it is.
struct Strip {
    of: StripKey,
    pixels: Pixels,
}

/// What a filter means of what is drawn. Whatever else is drawn is forgotten with it.
struct Sifted {
    of: String,
    matches: Matches,
    levels: Levels,
    /// The spans that it does not mean, where they are drawn.
    rest: Option<Levels>,
    /// The match that was gone to last.
    at: Option<SpanIdx>,
}

#[derive(PartialEq)]
struct StripKey {
    edge: Option<(String, String)>,
    size: [u32; 2],
    style: Style,
}

struct Replayed {
    of: ReplayKey,
    /// Without its samples of failure rates, which are in `rates`.
    replay: Replay,
    rates: Rates,
    lanes: Vec<Lane>,
    attempts: Vec<Attempt>,
}

/// What was observed of what is loaded.
struct Happened {
    edge: (String, String),
    shared: bool,
    lanes: Vec<Lane>,
}

#[derive(PartialEq)]
struct ReplayKey {
    edge: Option<(String, String)>,
    options: replay::Options,
}

/// The first preview comes after so many rows, each further one after half as many again: the cost
/// of all previews stays a small multiple of the last one's.
const FIRST_PREVIEW: usize = 500;

/// Of more rows than that there is none: it would take longer than it is worth, and the memory that rows need.
const LARGEST_PREVIEW: usize = 3_000_000;

/// So many rows at most come with one push, nearly.
const ROWS_A_PUSH: usize = 1 << 16;

impl Default for Engine {
    fn default() -> Engine {
        Engine {
            loaded: Dataset::default(),
            room: u64::MAX,
            epoch: 0,
            happened: None,
            reading: None,
            replayed: None,
            strip: None,
            marked: None,
            simulated: None,
            panned: Panned::default(),
            sifted: None,
        }
    }
}

impl Engine {
    /// An engine with nothing loaded.
    pub fn new() -> Engine {
        Engine::default()
    }

    /// An engine with that loaded.
    pub fn with(dataset: Dataset) -> Engine {
        Engine {
            loaded: dataset,
            ..Engine::default()
        }
    }

    /// An engine whose spans take so many bytes at most, nearly. What does not fit is not read.
    pub fn with_room(bytes: u64) -> Engine {
        Engine {
            room: bytes,
            ..Engine::default()
        }
    }

    /// Whether no more can be held of what is being read.
    pub fn is_full(&self) -> bool {
        self.reading.as_ref().is_some_and(|it| it.full.is_some())
    }

    /// What is loaded, in figures and words.
    pub fn summary(&self) -> Summary {
        self.loaded.summary()
    }

    /// The loaded edge that a person names, or the one with the most calls.
    pub fn edge(&self, named: Option<&(String, String)>) -> Option<&Edge> {
        self.loaded.edge_or_first(named)
    }

    /// Starts a reading; one that was going on is dropped.
    pub fn start(&mut self) {
        self.forget();
        self.reading = Some(Underway {
            next_preview: FIRST_PREVIEW,
            ..Underway::default()
        });
    }

    /// Starts a reading of this file; `total` is its size in bytes, if known.
    pub fn begin(&mut self, name: String, source: Option<Source>, total: Option<u64>) {
        self.start();
        self.next_file(name, source, total, Told::default());
    }

    /// The file before is at its end, and this one comes next; what is said about it is heeded.
    pub fn next_file(
        &mut self,
        name: String,
        source: Option<Source>,
        total: Option<u64>,
        told: Told,
    ) {
        let Some(reading) = self.undisturbed() else {
            return;
        };
        reading.close();
        reading.begun += 1;
        reading.current = Some(Current {
            name,
            source,
            total,
            reader: Reader::new(Limits::default()).telling(told),
        });
    }

    /// The file before is at its end, and this one comes next, read as a whole.
    pub fn add(&mut self, name: String, source: Source, read: Reading) {
        let Some(reading) = self.undisturbed() else {
            return;
        };
        reading.close();
        reading.begun += 1;
        reading
            .read
            .add(reading.begun - 1, name, Some(source), read);
    }

    /// The next file cannot be had at all, or the current one no further.
    pub fn skip(&mut self, is_current: bool, why: String) {
        let Some(reading) = self.undisturbed() else {
            return;
        };
        if is_current {
            if reading.current.take().is_none() {
                // What its bytes were not has been said; this is why.
                reading.refused.pop();
            }
        } else {
            reading.close();
            reading.begun += 1;
        }
        reading.refuse(why, None);
    }

    /// Reads on, when the turns of what was pushed before are done. `elapsed_ms` is the time since the reading began
    /// and is passed through. An error ends this file, and is a sentence for the person; others may follow.
    pub fn push(&mut self, bytes: &[u8], elapsed_ms: f64) -> Result<Progress, String> {
        let room = self.room.saturating_sub(self.loaded.bytes() as u64);
        let Some(reading) = self.undisturbed() else {
            return Err("Nothing is being read.".to_owned());
        };
        let Some(current) = &mut reading.current else {
            return Err("Nothing is being read.".to_owned());
        };
        if let Err(unreadable) = current.reader.push(bytes) {
            let why = reading.refuse_current(unreadable);
            reading.preview = Dataset::default();
            self.forget();
            return Err(why);
        }
        let n_rows = reading.read.n_rows() + current.reader.rows().len();
        let progress = Progress {
            name: current.name.clone(),
            bytes: current.reader.bytes_in(),
            total: current.total,
            spans: n_rows as u64,
            elapsed_ms,
            preview: None,
        };
        let held = (reading.preview.bytes() + reading.read.bytes()) as u64;
        if held + current.reader.rows().bytes_ahead(ROWS_A_PUSH) > room {
            reading.full = Some(reading.sample());
        } else if n_rows >= reading.next_preview && n_rows < LARGEST_PREVIEW {
            reading.next_preview = n_rows + n_rows / 2;
            let name = current.name.clone();
            let told = current.reader.told().clone();
            let mut rows = std::mem::take(current.reader.rows_mut());
            let mut read = std::mem::take(&mut reading.read);
            reading.making = Some(Making::Preview(Work::new(async move {
                let dataset = read.preview(name, &mut rows, &told).await;
                (dataset, rows, read)
            })));
        }
        Ok(progress)
    }

    /// A turn of the work on what was pushed, or on all of it: whoever holds the engine may draw or cancel between
    /// two of them.
    pub fn turn(&mut self) -> Turn {
        let Some(reading) = &mut self.reading else {
            return Turn::Idle;
        };
        match &mut reading.making {
            None => Turn::Idle,
            Some(Making::Preview(work)) => {
                let Some((dataset, rows, read)) = work.turn() else {
                    return Turn::More;
                };
                reading.making = None;
                reading.read = read;
                if let Some(current) = &mut reading.current {
                    *current.reader.rows_mut() = rows;
                }
                reading.preview = dataset;
                let home = reading.preview.home();
                self.forget();
                Turn::Preview(home)
            }
            Some(Making::Whole(work)) => {
                let Some(dataset) = work.turn() else {
                    return Turn::More;
                };
                let refused = std::mem::take(&mut reading.refused);
                let full = reading.full;
                self.reading = None;
                self.loaded = dataset;
                self.forget();
                self.renew();
                Turn::Loaded(Box::new(Summary {
                    refused,
                    full,
                    ..self.loaded.summary()
                }))
            }
        }
    }

    /// Ends the reading: turns follow until it is loaded. Without a file that could be read, what was loaded stays,
    /// and the reasons are sentences for the person.
    pub fn finish(&mut self) -> Result<(), Vec<Refused>> {
        self.undisturbed();
        let Some(mut reading) = self.reading.take() else {
            return Err(Vec::new());
        };
        reading.close();
        if reading.read.is_empty() {
            self.forget();
            return Err(reading.refused);
        }
        let read = std::mem::take(&mut reading.read);
        reading.making = Some(Making::Whole(Work::new(read.building())));
        self.reading = Some(reading);
        Ok(())
    }

    /// See [`Dataset::judge`].
    pub fn judge(&mut self, failed_over: Option<u64>, logical: Option<bool>) -> Summary {
        self.loaded.judge(failed_over, logical);
        self.forget();
        self.renew();
        self.loaded.summary()
    }

    /// The reading, when what is made of its rows is made.
    fn undisturbed(&mut self) -> Option<&mut Underway> {
        while matches!(self.turn(), Turn::More) {}
        self.reading.as_mut()
    }

    /// Gives the reading up; what was loaded before is back.
    pub fn cancel(&mut self) {
        if self.reading.take().is_some() {
            self.forget();
        }
    }

    /// Draws.
    pub fn frame(&mut self, request: &FrameRequest) -> Frame {
        self.replay(request);
        self.mark(request);
        self.sift(request);
        let strip = self.strip(request);
        let mut panned = std::mem::take(&mut self.panned);
        let dataset = self.dataset();
        let viewport = request.viewport.unwrap_or_else(|| dataset.home());
        let home = dataset.home();
        let overview_time = [home.t0, home.t1];
        let edge = dataset.edge_or_first(request.edge.as_ref());
        let calls = dataset.traffic(edge);
        let look = look(dataset, &request.style, request.color_by, &request.hidden);
        let (plot, kept) =
            panned.paint(self.painted(), look, viewport, request.plot, request.rests);
        let latency = latency(dataset, calls, viewport, request.rests);
        let marked = self
            .marked
            .as_ref()
            .filter(|it| Some(&it.0) == request.trace.as_ref());
        let marked = marked.and_then(|it| it.1);
        let replayed = self.replayed.as_ref();
        let (simulated, beside) = self.beside(request, viewport).unzip();
        let scene = Scene {
            viewport,
            plot: request.plot,
            overview: request.overview,
            overview_time,
            rates: replayed.map_or_else(Default::default, |it| {
                it.rates.requests(calls, viewport, request.plot[0])
            }),
            replay: self.replay_scene(request, viewport),
            spans: scene::n_spans(&dataset.table, &dataset.levels, viewport),
            passing: kept || latency == Latency::NotYet,
            latency,
            marked: marked.map(|rank| rank.0),
            simulated,
            matches: self
                .sifted
                .as_ref()
                .map(|it| [it.matches.spans, it.matches.traces]),
        };
        self.panned = panned;
        Frame {
            scene,
            plot,
            overview: strip,
            simulated: beside.unwrap_or_default(),
        }
    }

    /// The simulated run at the same time: its traces that began in it, and the pixels.
    fn beside(&self, request: &FrameRequest, viewport: Viewport) -> Option<(Beside, Vec<u8>)> {
        let simulated = self.simulated.as_ref();
        let it = simulated.filter(|it| request.simulate.as_ref() == Some(&it.of))?;
        let table = &it.dataset.table;
        let ranks = table.began_between(viewport.t0, viewport.t1);
        let viewport = Viewport {
            y0: i64::from(ranks.start) * MILLI,
            y1: i64::from(ranks.end.max(ranks.start + 1)) * MILLI,
            ..viewport
        };
        let look = look(
            &it.dataset,
            &request.style,
            request.color_by,
            &request.hidden,
        );
        let pixels = raster::spans(
            table,
            &it.dataset.levels,
            &look,
            viewport,
            request.simulated,
        );
        let beside = Beside {
            viewport,
            size: request.simulated,
        };
        Some((beside, pixels.rgba))
    }

    /// The span at a place of the plot.
    pub fn hover(&self, point: &PointRequest) -> Option<SpanLabel> {
        let span = self.span_at(point)?;
        Some(self.label(span, 0))
    }

    /// The trace at a place of the plot.
    pub fn pick(&mut self, point: &PointRequest) -> Option<TraceDetail> {
        let span = self.span_at(point)?;
        if let Some(sifted) = &mut self.sifted {
            sifted.at = Some(span);
        }
        Some(self.detail_at(span))
    }

    /// The trace of the next span that the last picture's filter means, or of the one before. The first time it goes on
    /// from the marked trace.
    pub fn step_match(&mut self, back: bool) -> Option<TraceDetail> {
        let marked = self.marked.as_ref().and_then(|it| it.1);
        let trace = marked.map(|rank| self.dataset().table.trace(rank));
        let sifted = self.sifted.as_mut()?;
        let before = sifted.at.or_else(|| {
            let trace = trace?;
            let at = if back {
                trace.end
            } else {
                trace.start.checked_sub(1)?
            };
            Some(SpanIdx(at as u32))
        });
        sifted.at = sifted.matches.step(before, back);
        sifted.at.map(|span| self.detail_at(span))
    }

    /// What may follow in a filter, see [`complete`].
    pub fn complete(&self, text: &str) -> (usize, Vec<String>) {
        complete::complete(&self.dataset().table, text)
    }

    /// The trace of a span, which is its picked one.
    fn detail_at(&self, span: SpanIdx) -> TraceDetail {
        let mut detail = self.detail(self.dataset().table.rank[span.0 as usize]);
        let nth = detail.spans.iter().position(|it| it.at == span.0);
        detail.picked = nth.map(|it| it as u32);
        detail.at_hand = self.is_at_hand(span);
        detail
    }

    /// The trace of that id.
    pub fn trace(&self, id: &str) -> Option<TraceDetail> {
        let rank = self.dataset().table.find_trace(id)?;
        Some(self.detail(rank))
    }

    /// The trace of that rank.
    pub fn trace_of_rank(&self, rank: u32) -> Option<TraceDetail> {
        let is_there = rank < self.dataset().table.n_traces();
        is_there.then(|| self.detail(Rank(rank)))
    }

    /// The ranks of the traces that began from `from` to `to`, exclusive.
    pub fn ranks(&self, from: i64, to: i64) -> Range<u32> {
        self.dataset().table.began_between(from, to)
    }

    /// What is drawn: what is being read, once there is something of it, else what is loaded.
    fn dataset(&self) -> &Dataset {
        match &self.reading {
            Some(reading) if !reading.preview.table.is_empty() => &reading.preview,
            _ => &self.loaded,
        }
    }

    /// Makes sure that `self.replayed` is of the edge and the settings asked for.
    fn replay(&mut self, request: &FrameRequest) {
        let dataset = self.dataset();
        let edge = dataset.edge_or_first(request.edge.as_ref());
        let options = replay::Options {
            config: config(request.breaker.as_deref()).0,
            shared: request.shared,
        };
        let of = ReplayKey {
            edge: edge.map(|it| (it.from.clone(), it.to.clone())),
            options,
        };
        if self.replayed.as_ref().is_some_and(|it| it.of == of) {
            return;
        }
        let calls = dataset.calls(edge);
        let mut replay = replay::replay(calls, &of.options);
        let rates = Rates::new(dataset.traffic(edge), &mut replay);
        let attempts = herds::attempts(&dataset.table, calls, &(&replay).into());
        self.replayed = Some(Replayed {
            of,
            lanes: scene::lanes(&replay),
            replay,
            rates,
            attempts,
        });
    }

    /// Makes sure that `self.marked` is of the trace asked for.
    fn mark(&mut self, request: &FrameRequest) {
        if self.marked.as_ref().map(|it| &it.0) != request.trace.as_ref() {
            let rank = |id: &String| self.dataset().table.find_trace(id);
            self.marked = request.trace.as_ref().map(|id| (id.clone(), rank(id)));
        }
    }

    /// Makes sure that `self.sifted` is of the filter asked for. O(spans) where it is another one.
    fn sift(&mut self, request: &FrameRequest) {
        let known = self.sifted.as_ref().map(|it| (&it.of, it.rest.is_none()));
        let asked = request.filter.as_ref().map(|it| (it, request.rest_hidden));
        if known == asked {
            return;
        }
        let filter = request.filter.as_ref();
        let filter = filter.and_then(|it| it.parse::<Filter>().ok());
        if filter.is_some() || self.sifted.is_some() {
            self.panned = Panned::default();
        }
        let before = self.sifted.take();
        let table = &self.dataset().table;
        self.sifted = filter.map(|filter| {
            let matches = Matches::of(&filter, table);
            let bits = &matches.bits;
            Sifted {
                of: request.filter.clone().unwrap_or_default(),
                levels: Levels::of_some(table, bits.clone()),
                rest: (!request.rest_hidden).then(|| Levels::of_some(table, bits.inverted())),
                at: before
                    .filter(|it| it.matches == matches)
                    .and_then(|it| it.at),
                matches,
            }
        });
    }

    /// What is drawn of the spans.
    fn painted(&self) -> Painted<'_> {
        let dataset = self.dataset();
        let sifted = self.sifted.as_ref();
        Painted {
            table: &dataset.table,
            levels: sifted.map_or(&dataset.levels, |it| &it.levels),
            below: sifted.and_then(|it| it.rest.as_ref()),
        }
    }

    /// The pixels of the overview.
    fn strip(&mut self, request: &FrameRequest) -> Vec<u8> {
        let dataset = self.dataset();
        let edge = dataset.edge_or_first(request.edge.as_ref());
        let of = StripKey {
            edge: edge.map(|it| (it.from.clone(), it.to.clone())),
            size: request.overview,
            style: request.style.clone(),
        };
        if let Some(strip) = self.strip.as_ref().filter(|it| it.of == of) {
            return strip.pixels.rgba.clone();
        }
        let home = dataset.home();
        let pixels = overview::overview(
            dataset.traffic(edge),
            &request.style,
            [home.t0, home.t1],
            request.overview,
        );
        let rgba = pixels.rgba.clone();
        self.strip = Some(Strip { of, pixels });
        rgba
    }

    /// Other data is loaded: what was worked out of the old is void, and so is what goes on.
    fn renew(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        (self.happened, self.simulated) = (None, None);
    }

    /// Other data is drawn: what was worked out for it is void.
    fn forget(&mut self) {
        (self.replayed, self.strip, self.marked) = (None, None, None);
        self.panned = Panned::default();
        self.sifted = None;
    }

    fn replay_scene(&self, request: &FrameRequest, viewport: Viewport) -> ReplayScene {
        let Some(Replayed {
            of,
            replay,
            rates,
            lanes,
            attempts,
        }) = &self.replayed
        else {
            return ReplayScene::default();
        };
        let transitions = replay
            .breakers
            .iter()
            .map(|it| it.transitions.len() as u64)
            .sum();
        let (_, problem) = config(request.breaker.as_deref());
        let threshold = of.options.config.settings().fail;
        let asked = request.edge.as_ref().filter(|_| of.edge.is_some());
        let found = asked.is_none_or(|it| self.dataset().edge(Some(it)).is_some());
        let no_edge = || {
            let (from, to) = request.edge.clone().unwrap_or_default();
            let instead = of.edge.as_ref().map_or("", |(_, to)| to);
            format!("This file has no calls from {from} to {to}; the edge to {instead} is shown.")
        };
        let happened = self.happened.as_ref().filter(|it| {
            let previewing = self
                .reading
                .as_ref()
                .is_some_and(|it| !it.preview.table.is_empty());
            !previewing && Some(&it.edge) == of.edge.as_ref() && it.shared == of.options.shared
        });
        let observed = happened.map_or(&[][..], |it| &it.lanes);
        ReplayScene {
            edge: of.edge.clone(),
            breaker: of.options.config.to_string(),
            problem: problem.or_else(|| (!found).then(no_edge)),
            shared: !replay.per_instance,
            lanes: scene::cut(lanes, viewport),
            observed: scene::cut(observed, viewport),
            agree: scene::agree(observed, lanes),
            calls: replay.rejected.len() as u64,
            withheld: replay.withheld,
            transitions,
            failure_rate: rates.failure_rate(viewport, request.plot[0]),
            threshold: threshold.map(|rate| rate.as_ppm()),
            attempts: attempts.clone(),
        }
    }

    fn span_at(&self, point: &PointRequest) -> Option<SpanIdx> {
        let dataset = self.dataset();
        // Colours do not matter here, only what is hidden.
        let look = look(dataset, &Style::default(), point.color_by, &point.hidden);
        let painted = self.painted();
        // What is meant first: it lies above the rest.
        [Some(painted.levels), painted.below]
            .into_iter()
            .flatten()
            .find_map(|levels| {
                hit::span_at(
                    painted.table,
                    levels,
                    &look,
                    point.viewport,
                    point.plot,
                    point.at,
                    point.reach,
                )
            })
    }

    fn label(&self, span: SpanIdx, depth: u32) -> SpanLabel {
        let table = &self.dataset().table;
        let at = span.0 as usize;
        let name = |index: u32| table.names.get(index).to_owned();
        let rank = table.rank[at];
        let served = (table.kind[at] == Kind::Client).then(|| late_ns(table, span));
        SpanLabel {
            at: span.0,
            file: rows::file_of(self.dataset(), span.0),
            span_id: table.span_id(span).to_owned(),
            trace_id: table.trace_id(rank).to_owned(),
            rank: rank.0,
            service: table.service_name(table.service[at]).to_owned(),
            operation: name(table.operation(at)),
            kind: table.kind[at].as_str().to_owned(),
            outcome: table.outcome[at].as_str().to_owned(),
            instance: (table.instance(at) != NONE).then(|| name(table.instance(at))),
            message: name(table.message(at)),
            start: table.start[at],
            duration: Some(table.duration[at]).filter(|&it| it != UNKNOWN_DURATION),
            late_ns: served.filter(|&late| late > 0),
            waited_ns: waited_ns(table, span),
            abandoned_ns: abandoned_ns(table, span),
            row: table.row[at],
            depth,
            orphan: table.parent(span) == Parent::Missing,
            swatch: Swatch::Series(table.tier(table.service[at]) % 8),
        }
    }

    /// The trace, parents before children, children by start.
    fn detail(&self, rank: Rank) -> TraceDetail {
        let table = &self.dataset().table;
        let spans: Vec<SpanIdx> = table.trace(rank).map(|at| SpanIdx(at as u32)).collect();
        let mut detail = TraceDetail {
            trace_id: table.trace_id(rank).to_owned(),
            rank: rank.0,
            start: spans
                .iter()
                .map(|&it| table.start[it.0 as usize])
                .min()
                .unwrap_or(0),
            end: spans.iter().map(|&it| table.end(it)).max().unwrap_or(0),
            spans: Vec::with_capacity(spans.len()),
            picked: None,
            at_hand: false,
        };
        // Spans stand by start; pushed in reverse, the earliest comes off the stack first.
        let top = |span: &&SpanIdx| !matches!(table.parent(**span), Parent::Span(_));
        let mut stack: Vec<(SpanIdx, u32)> =
            spans.iter().rev().filter(top).map(|&it| (it, 0)).collect();
        while let Some((span, depth)) = stack.pop() {
            detail.spans.push(self.label(span, depth));
            let children = spans
                .iter()
                .rev()
                .filter(|&&it| table.parent(it) == Parent::Span(span));
            stack.extend(children.map(|&it| (it, depth + 1)));
        }
        detail
    }
}

impl Underway {
    /// The current file is at its end.
    fn close(&mut self) {
        let Some(current) = self.current.take() else {
            return;
        };
        let Current {
            name,
            source,
            reader,
            ..
        } = current;
        let n_rows = reader.rows().len();
        let mut read = match reader.finish() {
            Ok(read) => read,
            Err(unreadable) => return self.refuse_as(&name, unreadable),
        };
        if self.full.is_some() {
            read.cut(n_rows);
        }
        if read.rows.is_empty() {
            let noticed = read.issues.iter().next().map(|issue| issue.message());
            let why = noticed.unwrap_or_else(|| "it holds no spans".to_owned());
            return self.refuse(format!("{name} has no spans to draw: {why}."), None);
        }
        self.read.add(self.begun - 1, name, source, read);
    }

    /// Of how many traces of all files one can be held where this is as much as can be.
    fn sample(&self) -> u32 {
        let Some(current) = &self.current else {
            return 2;
        };
        let bytes = current.reader.bytes_in().max(1);
        // Some more than fits.
        let share = current
            .total
            .map_or(4, |it| it.saturating_mul(4) / bytes / 3);
        let of = current.reader.told().sample.unwrap_or(1);
        let all = u64::from(of).saturating_mul((share + 1).next_power_of_two().max(2));
        u32::try_from(all).unwrap_or(u32::MAX)
    }

    fn refuse_current(&mut self, why: Unreadable) -> String {
        let name = self.current.take().map(|it| it.name).unwrap_or_default();
        self.refuse_as(&name, why);
        let said = self.refused.last().map(|it| it.text.clone());
        said.unwrap_or_default()
    }

    fn refuse_as(&mut self, name: &str, why: Unreadable) {
        let text = format!("{name}: {why}");
        let unmapped = match why.kind {
            UnreadableKind::UnknownColumns(table) => Some(table),
            _ => None,
        };
        self.refuse(text, unmapped);
    }

    fn refuse(&mut self, text: String, unmapped: Option<Box<Unmapped>>) {
        let input = self.begun.saturating_sub(1);
        self.refused.push(Refused {
            input,
            text,
            unmapped,
        });
    }
}

/// How long after its call a span of another service began, where clocks agree.
fn waited_ns(table: &SpanTable, span: SpanIdx) -> Option<u64> {
    let at = span.0 as usize;
    match table.parent(span) {
        Parent::Span(call)
            if table.service[call.0 as usize] != table.service[at]
                && table.kind[call.0 as usize] != Kind::Producer =>
        {
            let waited = table.start[at].saturating_sub(table.start[call.0 as usize]);
            u64::try_from(waited).ok().filter(|&it| it > 0)
        }
        _ => None,
    }
}

fn look(dataset: &Dataset, style: &Style, color_by: ColorBy, hidden: &[String]) -> Look {
    Look::new(
        &dataset.table,
        style,
        color_by,
        hidden,
        &dataset.opaque_from,
    )
}

/// So many calls are gone through in passing.
const FEW_CALLS: usize = 1 << 15;

/// How long the calls took that start in the viewport. O(calls in its time), unless they are many and it does not
/// rest.
fn latency(dataset: &Dataset, calls: &Calls, viewport: Viewport, rests: bool) -> Latency {
    let before = |time: i64| calls.start.partition_point(|&it| it < time);
    let started = before(viewport.t0)..before(viewport.t1);
    if started.len() > FEW_CALLS && !rests {
        return Latency::NotYet;
    }
    let ranks = Scale::new(viewport, [1, 1]).ranks();
    let shown = started.filter(|&at| {
        let rank = dataset.table.rank[calls.span[at].0 as usize].0;
        calls.outcome[at].is_known() && ranks.contains(&rank)
    });
    let durations = shown.map(|at| calls.end[at].abs_diff(calls.start[at]));
    let durations: Vec<u64> = durations.collect();
    let last = durations.len().saturating_sub(1);
    let per_mille = |share: usize| order::nth(&durations, last * share / 1000);
    match (per_mille(500), per_mille(999)) {
        (Some(p50_ns), Some(p999_ns)) => Latency::Known { p50_ns, p999_ns },
        _ => Latency::OfNone,
    }
}

/// The settings, and why they are the defaults if the text cannot be used.
fn config(text: Option<&str>) -> (Config, Option<String>) {
    match text.map(str::parse) {
        None => (Config::default(), None),
        Some(Ok(config)) => (config, None),
        Some(Err(error)) => (
            Config::default(),
            Some(halfopen::ConfigError::to_string(&error)),
        ),
    }
}
