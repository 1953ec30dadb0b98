//! A file that is open: what it is drawn from, ours and its peers alike, and what is replayed.

use halfopen::Config;
use herdscope::dataset::Dataset;
use herdscope::engine::Engine;
use herdscope::ingest::{self, Limits};
use herdscope::messages::FrameRequest;
use herdscope::plot::look::Look;
use herdscope::plot::theme;
use herdscope::replay::{self, Options};
use herdscope::view::{ColorBy, View, Viewport};

/// A file, from its first bytes on.
pub struct Loaded {
    reader: Option<ingest::Reader>,
    engine: Engine,
    home: Viewport,
}

/// A span as a drawing library is given it.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// Milliseconds since everything began.
    pub from: f64,
    /// See `from`.
    pub to: f64,
    /// The row of its trace, from the top.
    pub row: u32,
    /// Red, green, blue, from the highest byte but one.
    pub color: u32,
    /// From 0 to 255.
    pub alpha: u8,
}

impl Default for Loaded {
    fn default() -> Loaded {
        Loaded {
            reader: Some(ingest::Reader::new(Limits::default())),
            engine: Engine::default(),
            home: Viewport {
                t0: 0,
                t1: 1,
                y0: 0,
                y1: 1,
            },
        }
    }
}

impl Loaded {
    /// The next bytes of the file.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), String> {
        match &mut self.reader {
            Some(reader) => reader.push(bytes).map_err(|error| error.to_string()),
            None => Err("the file has ended".to_owned()),
        }
    }

    /// The file's end: its spans as a peer would draw them. The engine has the dataset from here on.
    pub fn finish(&mut self, bars: bool) -> Result<Vec<Bar>, String> {
        let reader = self.reader.take().ok_or("the file has ended")?;
        let reading = reader.finish().map_err(|error| error.to_string())?;
        let dataset = Dataset::new("bench".to_owned(), None, reading);
        self.home = dataset.home();
        let bars = if bars { bars_of(&dataset) } else { Vec::new() };
        self.engine = Engine::with(dataset);
        Ok(bars)
    }

    /// How many calls are replayed.
    pub fn calls(&self) -> usize {
        self.engine.edge(None).map_or(0, |it| it.calls.len())
    }

    /// Replays all of them, causes included; the transitions.
    pub fn replay(&self) -> usize {
        let options = Options {
            config: Config::default(),
            shared: false,
        };
        let transitions = |edge: &herdscope::calls::Edge| {
            let replay = replay::replay(&edge.calls, &options);
            replay.breakers.iter().map(|it| it.transitions.len()).sum()
        };
        self.engine.edge(None).map_or(0, transitions)
    }

    /// A part of everything: from and to in milliseconds since it began, and the rows, first and last.
    pub fn view(&self, [x0, x1, y0, y1]: [f64; 4]) -> [f64; 4] {
        let part = self.part([x0, x1, y0, y1]);
        let ms = |at: i64| (at - self.home.t0) as f64 / 1e6;
        let row = |y: i64| y as f64 / 1e3;
        [ms(part.t0), ms(part.t1), row(part.y0), row(part.y1)]
    }

    /// The pixels of that part: red, green, blue, alpha.
    pub fn frame(&mut self, part: [f64; 4], size: [u32; 2]) -> Vec<u8> {
        let view = View {
            viewport: Some(self.part(part)),
            ..View::default()
        };
        let request = FrameRequest {
            // Nothing is kept of the picture before, everything is worked out.
            rests: true,
            ..FrameRequest::of(&view, size, [0, 0], theme::light())
        };
        self.engine.frame(&request).plot.rgba.clone()
    }

    fn part(&self, [x0, x1, y0, y1]: [f64; 4]) -> Viewport {
        let home = self.home;
        let between = |from: i64, to: i64, share: f64| from + ((to - from) as f64 * share) as i64;
        Viewport {
            t0: between(home.t0, home.t1, x0),
            t1: between(home.t0, home.t1, x1),
            y0: between(home.y0, home.y1, y0),
            y1: between(home.y0, home.y1, y1),
        }
    }
}

/// Whom the page would show it to sees the same colours.
fn bars_of(dataset: &Dataset) -> Vec<Bar> {
    let table = &dataset.table;
    let look = Look::new(
        table,
        &theme::light(),
        ColorBy::Tier,
        &[],
        &dataset.opaque_from,
    );
    let began = dataset.home().t0;
    let bar = |at: usize| {
        let (service, outcome) = (table.service[at], table.outcome[at]);
        let [red, green, blue] = look.paint(service, outcome).map_or([0; 3], |it| it.color);
        let from = (table.start[at] - began) as f64 / 1e6;
        Bar {
            from,
            to: from + table.duration[at] as f64 / 1e6,
            row: table.rank[at].0,
            color: u32::from_be_bytes([0, red, green, blue]),
            alpha: look.alpha(service, table.duration[at], outcome),
        }
    };
    (0..table.len()).map(bar).collect()
}
