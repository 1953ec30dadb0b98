//! What the page and the engine say to each other: one closed enum each way.
//!
//! Invariant: plain data, no handles of the browser; what cannot be data (a `File`, the bytes of
//! pixels) travels beside a message, and the message says so. Times are integers all the way. Each
//! message has an id; a reply carries that of its request.

use serde::{Deserialize, Serialize};

use crate::clickhouse::Asked;
use crate::herds::Attempt;
use crate::ingest::Unmapped;
use crate::issues::Issues;
use crate::panes::Block;
use crate::view::{ColorBy, Source, View, Viewport};

/// From the page to the engine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Read these, as one, instead of what is loaded. Answered by [`Reply::Progress`] again and again, then
    /// by one of [`Reply::Opened`], [`Reply::Failed`], [`Reply::Cancelled`]; until `Opened` what was
    /// loaded before is kept and comes back when the reading fails or is cancelled.
    Open(Vec<Opening>),
    /// Take spans that lasted so many nanoseconds as failed, and tries of one call as one, in what is
    /// loaded. Answered by [`Reply::Opened`] at once.
    Judge {
        /// See [`Told::failed_over`](crate::ingest::Told::failed_over).
        failed_over: Option<u64>,
        /// See [`Told::logical`](crate::ingest::Told::logical).
        logical: Option<bool>,
    },
    /// Stop the reading that is going on.
    Cancel,
    /// Draw this. Answered by [`Reply::Frame`], with the pixels beside it.
    Frame(FrameRequest),
    /// Which span is at this place? Answered by [`Reply::Hover`].
    Hover(PointRequest),
    /// The trace at this place. Answered by [`Reply::Trace`].
    Pick(PointRequest),
    /// The trace of this id. Answered by [`Reply::Trace`].
    Trace(String),
    /// The trace of this rank. Answered by [`Reply::Trace`].
    Rank(u32),
    /// What the row of this span says, the place of which a [`SpanLabel`] tells; its file travels beside the
    /// message, where there is one. Answered by [`Reply::Row`], unless another is asked for, or none, before.
    Row(Option<u32>),
    /// The trace of the next span that the filter of the last picture means, or of the one before. Answered by
    /// [`Reply::Trace`].
    Step {
        /// Before.
        back: bool,
    },
    /// What may follow in a filter, up to where the person writes. Answered by [`Reply::Completion`].
    Complete(String),
    /// Which traces began from the one time to the other, exclusive? Answered by [`Reply::Ranks`].
    Ranks([i64; 2]),
    /// Give what a view shows, told by what its link says, as a file. Answered by [`Reply::Exported`], with the file
    /// beside it, unless other data, or a newer request, comes before.
    Export(String, Export),
    /// Work this out. Answered by [`Reply::Working`] now and then, and by [`Reply::Answer`] unless a newer
    /// question on the same topic, or other data, comes before.
    Ask(Box<Question>),
}

/// What can be taken away of what is loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Export {
    /// The spans in view that the filter means, as CSV.
    Spans,
    /// The spans of the trace of this id, as CSV.
    Trace(String),
    /// What the file is, its attempts and the replay, as JSON.
    Json,
}

/// What a pane wants to know, of what is loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// What about.
    pub topic: Topic,
    /// Of which edge; the one with the most calls by default.
    pub edge: Option<(String, String)>,
    /// One breaker for all instances.
    pub shared: bool,
    /// The breaker's settings; the default's by default.
    pub breaker: Option<String>,
    /// Threads in the caller's pool, as the person says.
    pub pool: Option<u32>,
    /// The part of the plot that is meant.
    pub viewport: Option<Viewport>,
    /// The two settings of a grid; places in [`KEYS`](crate::what_if::KEYS).
    pub grid: [u8; 2],
    /// See [`View::simulate`].
    pub simulate: Option<String>,
    /// The id of the trace that is meant.
    pub trace: Option<String>,
}

impl Question {
    /// What a view asks about.
    pub fn of(view: &View, topic: Topic) -> Question {
        Question {
            topic,
            edge: view.edge.clone(),
            shared: view.shared,
            breaker: view.breaker.clone(),
            pool: view.pool,
            viewport: view.viewport,
            grid: view.grid,
            simulate: view.simulate.clone(),
            trace: view.trace.clone(),
        }
    }
}

/// What is worked out for the panes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Topic {
    /// The observed states, their attempts and the settings that explain them.
    Happened,
    /// What other settings would have done to the calls of an edge.
    WhatIf,
    /// Timeouts, calls in flight and pools of all edges.
    Timeouts,
    /// What distinguishes the part in view from the rest.
    Compare,
    /// What would have helped: runs of a scenario, as it was and with remedies.
    Simulated,
    /// Where the picked trace stands among all.
    Standing,
}

/// What was worked out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What about.
    pub topic: Topic,
    /// Of [`Topic::Happened`].
    pub attempts: Vec<Attempt>,
    /// What the pane says.
    pub blocks: Vec<Block>,
    /// More is on its way.
    pub more: bool,
}

/// One of the files that make a dataset.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Opening {
    /// Where its bytes come from.
    pub input: Input,
    /// What the person says about it, as [`Told`](crate::ingest::Told) reads it; empty for nothing.
    pub told: String,
}

/// Where bytes come from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Input {
    /// A file of the person's, which travels beside the message.
    File {
        /// Its name.
        name: String,
        /// Bytes.
        size: u64,
        /// It is text that was pasted: no link can ask for it.
        pasted: bool,
    },
    /// A sample, which the engine simulates: one of [`SAMPLES`](crate::samples::SAMPLES), by its name.
    Sample(String),
    /// An address that the engine fetches: an https URL.
    Fetch {
        /// What to call it.
        name: String,
        /// Absolute.
        url: String,
    },
    /// Spans that the engine asks a ClickHouse for.
    ClickHouse {
        /// What is asked, and where.
        asked: Box<Asked>,
        /// More spans than this are refused.
        most: u64,
        /// Empty where there is none.
        password: Password,
    },
}

impl Input {
    /// What it is called.
    pub fn name(&self) -> String {
        match self {
            Input::File { name, .. } | Input::Fetch { name, .. } => name.clone(),
            Input::Sample(name) => ["sample ", name].concat(),
            Input::ClickHouse { asked, .. } => asked.name(),
        }
    }
}

/// A password: kept as long as the reading, and never shown.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Password(pub String);

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// From the engine to the page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// The engine has started. Not an answer to anything.
    Ready,
    /// How far the reading is.
    Progress(Progress),
    /// The reading is done; everything from now on is about this data.
    Opened(Box<Summary>),
    /// None of the files could be read; what was loaded before is back.
    Failed(Vec<Refused>),
    /// The reading was cancelled; what was loaded before is back.
    Cancelled,
    /// A picture, with the pixels beside the message: first the plot's, then the overview's, then those of what is
    /// simulated.
    Frame(Box<Scene>),
    /// The span at a place, if there is one.
    Hover(Option<SpanLabel>),
    /// A trace, if there is one.
    Trace(Option<Box<TraceDetail>>),
    /// What a row says, or why that cannot be known.
    Row(Vec<Block>),
    /// From which byte on what is written may be replaced, and by what.
    Completion(u32, Vec<String>),
    /// The rank of the first of the traces, and the one after the last.
    Ranks([u32; 2]),
    /// What was asked for as a file, which travels beside the message.
    Exported,
    /// How far the work on a question is: steps done, and steps in all.
    Working(Topic, [u32; 2]),
    /// What was worked out.
    Answer(Box<Answer>),
}

/// How far a reading is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The name of what is read.
    pub name: String,
    /// Bytes read so far, as they stand in the file.
    pub bytes: u64,
    /// Bytes in all, where known.
    pub total: Option<u64>,
    /// Spans so far.
    pub spans: u64,
    /// Milliseconds since the reading began.
    pub elapsed_ms: f64,
    /// There is more to draw than at the last progress with `Some`: what is read so far, as a
    /// viewport that holds all of it.
    pub preview: Option<Viewport>,
}

/// What is loaded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// The files' names.
    pub name: String,
    /// Who wrote them.
    pub exporter: String,
    /// The files.
    pub files: Vec<FileLine>,
    /// See [`Dataset::offered`](crate::dataset::Dataset::offered).
    pub offered: String,
    /// The files that could not be read beside them.
    pub refused: Vec<Refused>,
    /// The memory is full and not all was read: of how many traces one can be held, nearly.
    pub full: Option<u32>,
    /// What was noticed, one sentence each.
    pub issues: Vec<IssueLine>,
    /// Spans in all.
    pub spans: u64,
    /// Traces in all.
    pub traces: u64,
    /// First start and last end, nanoseconds since 1970.
    pub extent: [i64; 2],
    /// The viewport that holds everything that somebody waited for.
    pub home: Viewport,
    /// The furthest that a viewport goes: late work after the last caller had gone, too.
    pub limits: Viewport,
    /// The edges, the one with the most calls first.
    pub edges: Vec<EdgeLine>,
    /// The legend when coloured by tier, and when coloured by service.
    pub legend_by_tier: Vec<LegendEntry>,
    /// See `legend_by_tier`.
    pub legend_by_service: Vec<LegendEntry>,
}

/// One of the files for the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileLine {
    /// Its name.
    pub name: String,
    /// What a link to it says; `None` for pasted text.
    pub source: Option<Source>,
    /// Who wrote it.
    pub exporter: String,
    /// Its place among what was asked to be read.
    pub input: u32,
    /// Spans that it brings.
    pub spans: u64,
    /// Rows that say what another row has said.
    pub duplicates: u64,
    /// What the person says about it, as text.
    pub told: String,
    /// What was assumed to read it, in the same form.
    pub assumed: String,
    /// Its head, where the person has told its columns.
    pub head: Option<Box<Unmapped>>,
}

/// A file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Its place among what was asked to be read.
    pub input: u32,
    /// A sentence: which file, why, and what to do.
    pub text: String,
    /// A table whose columns the person can tell.
    pub unmapped: Option<Box<Unmapped>>,
}

/// One kind of issue for the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueLine {
    /// Its code, as in the command line's JSON.
    pub code: String,
    /// How often.
    pub count: u64,
    /// One sentence.
    pub message: String,
}

/// The lines of all issues.
pub fn issue_lines(issues: &Issues) -> Vec<IssueLine> {
    let line = |issue: &crate::issues::Issue| IssueLine {
        code: issue.code.as_str().to_owned(),
        count: issue.count,
        message: issue.message(),
    };
    issues.iter().map(line).collect()
}

/// One edge for the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeLine {
    /// The calling service.
    pub from: String,
    /// The called service.
    pub to: String,
    /// The pass-through services between them.
    pub via: Vec<String>,
    /// Client spans on it.
    pub calls: u64,
    /// The caller's processes; 0 where the file does not tell them apart.
    pub instances: u64,
}

/// One entry of the legend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegendEntry {
    /// What [`FrameRequest::hidden`] and the link call it: `tier:0`, `service:NAME`, `failed`,
    /// `timed_out`.
    pub key: String,
    /// What the person reads.
    pub label: String,
    /// More, on hover.
    pub title: String,
    /// Which of the style's colours it has.
    pub color: Swatch,
}

/// A colour of the style, by its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Swatch {
    /// `Style::series[i]`
    Series(u8),
    /// `Style::failed`
    Failed,
    /// `Style::timed_out`
    TimedOut,
}

/// Red, green, blue.
pub type Rgb = [u8; 3];

/// The colours of a picture. The page reads them from its stylesheet once a theme change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(
    missing_docs,
    reason = "named as the custom properties of the stylesheet"
)]
pub struct Style {
    /// Spans, by tier or service: `--series-0` to `--series-7`.
    pub series: [Rgb; 8],
    pub failed: Rgb,
    pub timed_out: Rgb,
    pub closed: Rgb,
    pub open: Rgb,
    pub half_open: Rgb,
    pub ramping: Rgb,
    /// The plot's background.
    pub plot: Rgb,
    pub grid: Rgb,
    pub ink: Rgb,
    /// Second and third degree of emphasis.
    pub ink_2: Rgb,
    pub ink_3: Rgb,
}

/// What to draw, and how large.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrameRequest {
    /// The part of the plot; `None` for everything.
    pub viewport: Option<Viewport>,
    /// Device pixels of the plot area (without axes): width, height.
    pub plot: [u32; 2],
    /// Device pixels of the overview strip. 0 for no overview.
    pub overview: [u32; 2],
    /// The colours.
    pub style: Style,
    /// What spans are coloured by.
    pub color_by: ColorBy,
    /// The legend entries that are switched off.
    pub hidden: Vec<String>,
    /// The edge whose breaker is replayed; the one with the most calls by default.
    pub edge: Option<(String, String)>,
    /// The breaker's settings; the preset `resilience4j` by default.
    pub breaker: Option<String>,
    /// One breaker for all instances.
    pub shared: bool,
    /// The picked trace, which is drawn marked.
    pub trace: Option<String>,
    /// The choice whose run is drawn beside it, see [`View::simulate`].
    pub simulate: Option<String>,
    /// Device pixels of that.
    pub simulated: [u32; 2],
    /// See [`View::filter`].
    pub filter: Option<String>,
    /// See [`View::rest_hidden`].
    pub rest_hidden: bool,
    /// The view rests: what takes longer than a picture may is worked out, and nothing kept that was painted.
    pub rests: bool,
}

impl FrameRequest {
    /// The picture of a view, with that many device pixels for the plot and for the overview.
    pub fn of(view: &View, plot: [u32; 2], overview: [u32; 2], style: Style) -> FrameRequest {
        FrameRequest {
            viewport: view.viewport,
            plot,
            overview,
            style,
            color_by: view.color_by,
            hidden: view.hidden.clone(),
            edge: view.edge.clone(),
            breaker: view.breaker.clone(),
            shared: view.shared,
            trace: view.trace.clone(),
            simulate: view.simulate.clone(),
            simulated: [0, 0],
            filter: view.filter.clone(),
            rest_hidden: view.rest_hidden,
            rests: false,
        }
    }
}

/// How long calls took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Latency {
    /// There are none.
    OfNone,
    /// There are too many to go through them while the view moves: see [`FrameRequest::rests`].
    NotYet,
    /// Nanoseconds.
    Known {
        /// The median.
        p50_ns: u64,
        /// The 99.9th percentile.
        p999_ns: u64,
    },
}

/// Everything of a picture that is not pixels: axes, states and rates of one viewport.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scene {
    /// What it shows.
    pub viewport: Viewport,
    /// Device pixels of the plot's image and of the overview's.
    pub plot: [u32; 2],
    /// See `plot`.
    pub overview: [u32; 2],
    /// What the overview spans, in nanoseconds since 1970: left and right edge.
    pub overview_time: [i64; 2],
    /// The replayed breaker.
    pub replay: ReplayScene,
    /// The strip below the plot.
    pub rates: RatesScene,
    /// Spans in the viewport.
    pub spans: u64,
    /// How long the calls of the edge took that start in the viewport.
    pub latency: Latency,
    /// Some of it is of use while the view moves alone: when it rests, there is more to say, or to paint anew.
    pub passing: bool,
    /// The rank of the marked trace.
    pub marked: Option<u32>,
    /// The simulated run that is drawn beside it.
    pub simulated: Option<Beside>,
    /// How many spans the filter means, and in how many traces; `None` without one that can be read.
    pub matches: Option<[u64; 2]>,
}

/// The part of the simulated run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// What it shows.
    pub viewport: Viewport,
    /// Device pixels.
    pub size: [u32; 2],
}

/// The replayed breaker of one edge, the bands cut to the viewport.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayScene {
    /// The edge, if the file has one.
    pub edge: Option<(String, String)>,
    /// The settings in their canonical form.
    pub breaker: String,
    /// Why the settings could not be used, if so; then those of `breaker` were.
    pub problem: Option<String>,
    /// One breaker was shared by all instances (asked for, or the file does not tell them apart).
    pub shared: bool,
    /// One an instance.
    pub lanes: Vec<Lane>,
    /// What was observed, one an instance; none while it is not worked out.
    pub observed: Vec<Lane>,
    /// The share of the time, where the observed state is known, in which the replayed one is the same, in
    /// millionths; `None` where nothing was observed.
    pub agree: Option<u32>,
    /// Calls on the edge, in the whole file.
    pub calls: u64,
    /// Calls that the replayed breakers reject, in the whole file.
    pub withheld: u64,
    /// Transitions, in the whole file.
    pub transitions: u64,
    /// The share of failures over time.
    pub failure_rate: RateLine,
    /// The threshold in millionths; `None` when the settings do not trip on it.
    pub threshold: Option<u32>,
    /// The attempts in the whole file.
    pub attempts: Vec<Attempt>,
}

/// The highest failure rate of all windows over time, as steps: each rate holds until the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RateLine {
    /// When, nanoseconds since 1970; at most two points a pixel column, its peak and its last.
    pub at: Vec<i64>,
    /// Millionths; [`NO_RATE`] where no window is full enough to be judged.
    pub rate: Vec<u32>,
}

/// See [`RateLine::rate`].
pub const NO_RATE: u32 = u32::MAX;

/// One breaker over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// The instance; `None` for a shared breaker.
    pub instance: Option<String>,
    /// In order and without gaps.
    pub bands: Vec<Band>,
}

/// A state and how long it lasted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Band {
    /// Nanoseconds since 1970.
    pub from: i64,
    /// Nanoseconds since 1970.
    pub to: i64,
    /// What it was.
    pub state: BandState,
}

/// The states that a replay goes through, or that were observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(
    missing_docs,
    reason = "the states of halfopen::State by the same names"
)]
pub enum BandState {
    Closed,
    Open,
    HalfOpen,
    Ramping,
    /// Of observed states: the calls do not tell.
    Unknown,
}

/// Requests over time, in bins of one width.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RatesScene {
    /// Left edge of the first bin.
    pub from: i64,
    /// Width of a bin in nanoseconds.
    pub step: i64,
    /// Calls that started in each bin.
    pub sent: Vec<u32>,
    /// Calls that timed out in each bin, by their end.
    pub timed_out: Vec<u32>,
    /// Calls that failed otherwise, by their end.
    pub failed: Vec<u32>,
    /// Calls that the replayed breaker rejects.
    pub withheld: Vec<u32>,
    /// What a dashboard shows: calls sent per second, averaged over the clock minute of the bin.
    pub minute_average: Vec<f32>,
    /// What an autoscaler has read last: the average over the minute before its reading.
    pub autoscaler: Vec<f32>,
}

/// A place on the plot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointRequest {
    /// What the plot shows.
    pub viewport: Viewport,
    /// Device pixels of the plot area.
    pub plot: [u32; 2],
    /// Device pixels from its left and upper edge.
    pub at: [f64; 2],
    /// How far off a span may be, device pixels.
    pub reach: f64,
    /// See [`FrameRequest::hidden`].
    pub hidden: Vec<String>,
    /// See [`FrameRequest::color_by`].
    pub color_by: ColorBy,
}

/// A span in words and figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanLabel {
    /// Its place in the table.
    pub at: u32,
    /// Which of the files it stands in.
    pub file: u16,
    /// The span's id.
    pub span_id: String,
    /// The id of its trace.
    pub trace_id: String,
    /// The rank of its trace.
    pub rank: u32,
    /// The service that recorded it.
    pub service: String,
    /// Its name.
    pub operation: String,
    /// Client, server, ...
    pub kind: String,
    /// `success`, `failure`, `timed_out`, `rejected`
    pub outcome: String,
    /// The process that recorded it.
    pub instance: Option<String>,
    /// Its status message.
    pub message: String,
    /// Nanoseconds since 1970.
    pub start: i64,
    /// Nanoseconds; `None` where the file does not tell.
    pub duration: Option<u64>,
    /// How much of the deepest server span below this client span lies after its end: work for nobody.
    /// `None` when it does not, or this is no client span.
    pub late_ns: Option<u64>,
    /// How long after its call a span of another service began, on its way and in queues: nanoseconds.
    pub waited_ns: Option<u64>,
    /// How much of it lies after the end of the first of its callers that gave up, nanoseconds: see
    /// [`abandoned_ns`](crate::advise::abandoned_ns).
    pub abandoned_ns: Option<u64>,
    /// The row in its file.
    pub row: u32,
    /// Levels below the root of its trace.
    pub depth: u32,
    /// It names a parent that the file does not have.
    pub orphan: bool,
    /// Its legend entry when coloured by tier.
    pub swatch: Swatch,
}

/// A trace with all of its spans, parents before children.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceDetail {
    /// Its id.
    pub trace_id: String,
    /// Its rank.
    pub rank: u32,
    /// First start.
    pub start: i64,
    /// Last end.
    pub end: i64,
    /// Its spans.
    pub spans: Vec<SpanLabel>,
    /// Which of them was picked, or is meant by the filter.
    pub picked: Option<u32>,
    /// Whether its row is quickly had.
    pub at_hand: bool,
}
