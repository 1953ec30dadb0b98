//! A link and a file, drawn.
//!
//! Holds: whatever a link says, the data opens. The first line of an input is a link, the rest a file;
//! what is in view, its replay, its attempts, the picked trace and what is under the pointer are asked
//! for as the page asks, and zoomed and panned; nothing panics, and pictures have the size that was
//! asked for. Every eighth input is also written as a whole picture, axes and all.

use herdscope::dataset::Dataset;
use herdscope::engine::Engine;
use herdscope::ingest::{Limits, Reader, Told};
use herdscope::messages::{FrameRequest, PointRequest, Style};
use herdscope::plot::picture;
use herdscope::view::View;
use herdscope::viewport::{self, Axes};

use crate::draw::Random;

/// Device pixels: few, so that time goes into the paths and not into the pixels.
const PLOT: [u32; 2] = [40, 24];
const OVERVIEW: [u32; 2] = [30, 6];

/// Panics where it does not hold.
pub fn check(bytes: &[u8]) {
    let end = bytes.iter().position(|&it| it == b'\n');
    let (link, file) = match end {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[][..]),
    };
    let (mut view, mut notices) = View::parse(&String::from_utf8_lossy(link));
    let told = view.files.first().and_then(|it| it.told.as_deref());
    let told = told.map_or(Ok(Told::default()), str::parse);
    let told = told.expect("a link's word on a file is read as it is checked");
    let mut reader = Reader::new(Limits::default()).telling(told);
    if reader.push(file).is_err() {
        return;
    }
    let Ok(reading) = reader.finish() else {
        return;
    };
    let dataset = Dataset::new("file".to_owned(), None, reading);
    let asked = view.clone();
    view = dataset.settle(view, &mut notices);
    let (home, limits) = (dataset.home(), dataset.limits());
    let mut engine = Engine::with(dataset);

    // As the link says, fitting or not; as it was settled; and from there on at random.
    let mut random = Random::of(bytes);
    let mut part = view.viewport.unwrap_or(home);
    draw(&mut engine, &asked);
    if random.below(8) == 0 {
        chart(&mut engine, &view);
    }
    for _ in 0..4 {
        view.viewport = Some(part);
        draw(&mut engine, &view);
        let at = |random: &mut Random| [0, 1].map(|_| random.below(101) as f64 / 100.0);
        let [from, to] = [0, 1].map(|_| at(&mut random));
        part = match random.below(3) {
            0 => {
                let factor = [1e-9, 0.5, 2.0, 1e9][random.below(4)];
                viewport::zoom(part, from, factor, Axes::Both, limits)
            }
            1 => viewport::pan(part, from.map(|it| 100.0 * (it - 0.5)), limits),
            _ => viewport::select(part, from, to, limits),
        };
        assert!(part.t0 < part.t1 && part.y0 < part.y1, "{part:?}");
    }
}

fn draw(engine: &mut Engine, view: &View) {
    let request = FrameRequest::of(view, PLOT, OVERVIEW, Style::default());
    let frame = engine.frame(&request);
    let bytes = |[width, height]: [u32; 2]| (width * height * 4) as usize;
    assert_eq!(frame.plot.rgba.len(), bytes(PLOT));
    assert_eq!(frame.overview.len(), bytes(OVERVIEW));
    for at in [[0.0, 0.0], [20.0, 12.0], [39.9, 23.9]] {
        let point = PointRequest {
            viewport: frame.scene.viewport,
            plot: PLOT,
            at,
            reach: 4.0,
            hidden: view.hidden.clone(),
            color_by: view.color_by,
        };
        let hovered = engine.hover(&point);
        let picked = engine.pick(&point);
        assert_eq!(
            hovered.map(|it| it.trace_id),
            picked.map(|it| it.trace_id),
            "{point:?}"
        );
    }
    if let Some(trace) = view.trace.as_deref().and_then(|it| engine.trace(it)) {
        assert!(!trace.spans.is_empty());
    }
    for attempt in &frame.scene.replay.attempts {
        let to = attempt.reopen_last_ns.or(attempt.close_last_ns);
        engine.ranks(attempt.half_open_ns, to.unwrap_or(attempt.half_open_ns));
    }
}

/// The smallest picture with everything around the plot, as the command line writes it.
fn chart(engine: &mut Engine, view: &View) {
    let options = picture::Options {
        size: [200, 300],
        scale: 1.0,
        style: picture::light(),
    };
    let svg = picture::svg(engine, view, &options);
    assert!(svg.is_ok_and(|it| it.trim_end().ends_with("</svg>")));
}

/// Links before files.
pub fn seeds() -> Vec<Vec<u8>> {
    let links = crate::view::seeds();
    let close = "t=1767607200000000000..1767607201000000000&y=0..2&breaker=window=4,min=1,open=1ms,probes=1";
    let links = links.iter().map(Vec::as_slice).chain([close.as_bytes()]);
    let mut files = crate::reader::seeds();
    files.push(calls_of_one_instant());
    let pairs = files
        .iter()
        .zip(links.collect::<Vec<_>>().into_iter().cycle());
    pairs
        .map(|(file, link)| [link, b"\n", file].concat())
        .collect()
}

/// Failed calls that a coarse clock puts in one place, so that no time passes between them.
fn calls_of_one_instant() -> Vec<u8> {
    let mut csv = b"trace_id,span_id,start_ms,duration_ms,kind,service,peer,status\n".to_vec();
    for at in 0..40 {
        csv.extend(format!("t{at},a,1767607200123,0,client,web,api,ERROR\n").bytes());
    }
    csv
}
