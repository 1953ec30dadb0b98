//! The strip above the plot: how many calls started in each pixel column, and how many timed out.
//!
//! Heights grow with the square root, so that a trickle of probes is seen beside a flood. Cost:
//! O(calls + pixels). Pinned by `tests/it/plot.rs`.

use crate::calls::{CallOutcome, Calls};
use crate::messages::Style;
use crate::plot::pixels::Pixels;
use crate::plot::scale::Scale;
use crate::view::Viewport;

/// Paints the calls of an edge over `time` on a transparent image of that many device pixels.
pub fn overview(calls: &Calls, style: &Style, time: [i64; 2], size: [u32; 2]) -> Pixels {
    let [width, height] = size;
    let mut pixels = Pixels::transparent(width, height);
    let viewport = Viewport {
        t0: time[0],
        t1: time[1],
        y0: 0,
        y1: 1,
    };
    let scale = Scale::new(viewport, size);
    let mut started = vec![0u32; width as usize];
    let (mut timed_out, mut failed) = (started.clone(), started.clone());
    let count = |bins: &mut Vec<u32>, at: i64| {
        let column = scale.x(at).floor();
        if column >= 0.0
            && let Some(bin) = bins.get_mut(column as usize)
        {
            *bin += 1;
        }
    };
    for at in 0..calls.len() {
        count(&mut started, calls.start[at]);
        match calls.outcome[at] {
            CallOutcome::TimedOut => count(&mut timed_out, calls.end[at]),
            CallOutcome::Failure => count(&mut failed, calls.end[at]),
            CallOutcome::Success | CallOutcome::Rejected | CallOutcome::Unknown => {}
        }
    }
    let most = started.iter().max().copied().unwrap_or(0).max(1);
    let room = f64::from(height) * 0.8;
    let layers = [
        (&started, style.series[0], 190),
        (&failed, style.failed, 255),
        (&timed_out, style.timed_out, 255),
    ];
    for (bins, color, alpha) in layers {
        for (x, &bin) in bins.iter().enumerate().filter(|(_, bin)| **bin > 0) {
            let share = (f64::from(bin) / f64::from(most)).sqrt().min(1.0);
            let bar = ((share * room).round() as i32).max(1);
            let (x, height) = (x as i32, height as i32);
            pixels.fill(x..x + 1, height - bar..height, color, alpha);
        }
    }
    pixels
}
