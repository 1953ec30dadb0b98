//! Moving and scaling a viewport: what a wheel, a drag or a key does to it.
//!
//! Owns the arithmetic between fractions of the plot (0 is its left or upper edge, 1 its right or
//! lower one) and times and ranks. Invariant: an edge is an integer from beginning to end; only
//! fractions and factors are floating-point, so a viewport that no gesture touched stays as it was.
//! Constant time. Pinned by the tests below.

use crate::view::{MILLI, Viewport};

/// The shortest time that a viewport shows: a hundred nanoseconds.
pub const SHORTEST: i64 = 100;
/// The fewest thousandths of a rank that a viewport shows.
pub const THINNEST: i64 = MILLI;
/// Two places on the plot that are closer than this, in CSS pixels, are a click and not a drag.
pub const CLICK_PX: f64 = 5.0;

/// The directions that a gesture acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axes {
    /// Time and traces.
    Both,
    /// Time alone.
    Time,
    /// Traces alone.
    Traces,
}

impl Axes {
    fn time(self) -> bool {
        self != Axes::Traces
    }

    fn traces(self) -> bool {
        self != Axes::Time
    }
}

/// The time at a fraction of the width.
pub fn time_at(view: Viewport, x: f64) -> i64 {
    view.t0.saturating_add(part(view.t1 - view.t0, x))
}

/// The thousandths of a rank at a fraction of the height.
pub fn rank_at(view: Viewport, y: f64) -> i64 {
    view.y0.saturating_add(part(view.y1 - view.y0, y))
}

/// Where a time is, as a fraction of the width.
pub fn x_of(view: Viewport, time: i64) -> f64 {
    time.saturating_sub(view.t0) as f64 / (view.t1 - view.t0).max(1) as f64
}

/// Where a rank in thousandths is, as a fraction of the height.
pub fn y_of(view: Viewport, rank: i64) -> f64 {
    rank.saturating_sub(view.y0) as f64 / (view.y1 - view.y0).max(1) as f64
}

/// Scales by `factor` (below 1 shows less) around a place, which stays where it is.
pub fn zoom(view: Viewport, at: [f64; 2], factor: f64, axes: Axes, limits: Viewport) -> Viewport {
    let mut zoomed = view;
    if axes.time() {
        let shortest = SHORTEST.min(limits.t1 - limits.t0);
        let (t0, t1) = (view.t0, view.t1);
        (zoomed.t0, zoomed.t1) = scale((t0, t1), at[0], factor, shortest, limits.t1 - limits.t0);
    }
    if axes.traces() {
        let thinnest = THINNEST.min(limits.y1 - limits.y0);
        let (y0, y1) = (view.y0, view.y1);
        (zoomed.y0, zoomed.y1) = scale((y0, y1), at[1], factor, thinnest, limits.y1 - limits.y0);
    }
    clamp(zoomed, limits)
}

/// Moves by fractions of the width and the height; positive is to later times and higher ranks.
pub fn pan(view: Viewport, by: [f64; 2], limits: Viewport) -> Viewport {
    let dt = part(view.t1 - view.t0, by[0]);
    let dy = part(view.y1 - view.y0, by[1]);
    // The sizes are taken before moving: edges that reach the end of time stay apart.
    let (t0, t1) = into(
        view.t0.saturating_add(dt),
        view.t1 - view.t0,
        (limits.t0, limits.t1),
    );
    let (y0, y1) = into(
        view.y0.saturating_add(dy),
        view.y1 - view.y0,
        (limits.y0, limits.y1),
    );
    Viewport { t0, t1, y0, y1 }
}

/// Scales by `factor` and moves, so that what was at one place comes to another: two fingers on a screen.
pub fn pinch(
    view: Viewport,
    from: [f64; 2],
    to: [f64; 2],
    factor: f64,
    limits: Viewport,
) -> Viewport {
    let zoomed = zoom(view, from, factor, Axes::Both, limits);
    pan(zoomed, [from[0] - to[0], from[1] - to[1]], limits)
}

/// Moved, if it has to be, until a time and a row of thousandths of a rank are in view, a tenth off the edge.
pub fn reveal(view: Viewport, time: i64, rank: i64, limits: Viewport) -> Viewport {
    let t0 = reach((view.t0, view.t1), time, 1);
    let y0 = reach((view.y0, view.y1), rank, MILLI);
    let moved = Viewport {
        t0,
        t1: t0.saturating_add(view.t1 - view.t0),
        y0,
        y1: y0.saturating_add(view.y1 - view.y0),
    };
    clamp(moved, limits)
}

/// The part between two opposite corners, in any order.
pub fn select(view: Viewport, from: [f64; 2], to: [f64; 2], limits: Viewport) -> Viewport {
    let (left, right) = (from[0].min(to[0]), from[0].max(to[0]));
    let (top, bottom) = (from[1].min(to[1]), from[1].max(to[1]));
    let t0 = time_at(view, left).min(i64::MAX - SHORTEST);
    let y0 = rank_at(view, top).min(i64::MAX - THINNEST);
    let selected = Viewport {
        t0,
        t1: time_at(view, right).max(t0 + SHORTEST),
        y0,
        y1: rank_at(view, bottom).max(y0 + THINNEST),
    };
    clamp(selected, limits)
}

/// The same ranks over another time.
pub fn with_time(view: Viewport, t0: i64, t1: i64, limits: Viewport) -> Viewport {
    let t1 = t1.max(t0.saturating_add(SHORTEST));
    clamp(Viewport { t0, t1, ..view }, limits)
}

/// A time and the ranks of the traces that began in it, with room above and below as a share of their
/// number.
pub fn around(t0: i64, t1: i64, ranks: [u32; 2], room: f64, limits: Viewport) -> Viewport {
    let (first, end) = (i64::from(ranks[0]), i64::from(ranks[1]));
    let (y0, y1) = (first * MILLI, end.max(first + 1) * MILLI);
    let room = part(y1 - y0, room);
    let (y0, y1) = ((y0 - room).max(limits.y0), (y1 + room).min(limits.y1));
    clamp(Viewport { t0, t1, y0, y1 }, limits)
}

/// Moved into the limits, and cut to them where it is larger.
pub fn clamp(view: Viewport, limits: Viewport) -> Viewport {
    let width = view.t1.saturating_sub(view.t0);
    let height = view.y1.saturating_sub(view.y0);
    let (t0, t1) = into(view.t0, width, (limits.t0, limits.t1));
    let (y0, y1) = into(view.y0, height, (limits.y0, limits.y1));
    Viewport { t0, t1, y0, y1 }
}

/// Whether two viewports have a place in common.
pub fn overlap(a: Viewport, b: Viewport) -> bool {
    a.t0 < b.t1 && b.t0 < a.t1 && a.y0 < b.y1 && b.y0 < a.y1
}

fn into(from: i64, width: i64, (low, high): (i64, i64)) -> (i64, i64) {
    let width = width.min(high - low);
    let from = from.clamp(low, high - width);
    (from, from + width)
}

/// Where a range has to begin for `at`, and what follows it, to be in it.
fn reach((from, to): (i64, i64), at: i64, extent: i64) -> i64 {
    let width = to - from;
    let extent = extent.min(width);
    let margin = (width / 10).min((width - extent) / 2);
    if at < from {
        at.saturating_sub(margin)
    } else if at > to.saturating_sub(extent) {
        at.saturating_add(extent + margin).saturating_sub(width)
    } else {
        from
    }
}

fn scale(range: (i64, i64), at: f64, factor: f64, least: i64, most: i64) -> (i64, i64) {
    let (from, to) = range;
    let width = to - from;
    let scaled = part(width, factor).clamp(least, most.max(least));
    let from = from
        .saturating_add(part(width, at))
        .saturating_sub(part(scaled, at));
    (from, from.saturating_add(scaled))
}

fn part(width: i64, fraction: f64) -> i64 {
    (width as f64 * fraction).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: i64 = 1_790_409_600_123_456_789;

    fn viewport(t: (i64, i64), y: (i64, i64)) -> Viewport {
        Viewport {
            t0: T + t.0,
            t1: T + t.1,
            y0: y.0,
            y1: y.1,
        }
    }

    fn everything() -> Viewport {
        viewport((0, 1_000_000_000), (0, 500_000))
    }

    #[test]
    fn zooming_keeps_the_place_under_the_cursor() {
        let view = viewport((200_000_000, 600_000_000), (100_000, 300_000));
        for (at, factor) in [
            ([0.0, 0.0], 0.5),
            ([0.25, 0.75], 0.8),
            ([1.0, 1.0], 0.1),
            ([0.5, 0.5], 1.2),
        ] {
            let zoomed = zoom(view, at, factor, Axes::Both, everything());
            let moved_t = time_at(zoomed, at[0]) - time_at(view, at[0]);
            let moved_y = rank_at(zoomed, at[1]) - rank_at(view, at[1]);
            assert!(
                moved_t.abs() <= 1 && moved_y.abs() <= 1,
                "{at:?} {factor}: {moved_t} {moved_y}"
            );
        }
    }

    #[test]
    fn a_pinch_takes_what_is_under_it_along() {
        let view = viewport((200_000_000, 600_000_000), (100_000, 300_000));
        for (from, to, factor) in [
            ([0.5, 0.5], [0.5, 0.5], 0.5),
            ([0.3, 0.6], [0.4, 0.5], 0.7),
            ([0.6, 0.4], [0.5, 0.5], 1.2),
            ([0.5, 0.5], [0.6, 0.4], 1.0),
        ] {
            let after = pinch(view, from, to, factor, everything());
            let moved_t = time_at(after, to[0]) - time_at(view, from[0]);
            let moved_y = rank_at(after, to[1]) - rank_at(view, from[1]);
            assert!(
                moved_t.abs() <= 2 && moved_y.abs() <= 2,
                "{from:?} {to:?} {factor}: {moved_t} {moved_y}"
            );
            let width = part(view.t1 - view.t0, factor);
            assert_eq!(after.t1 - after.t0, width);
        }
    }

    #[test]
    fn what_is_revealed_is_in_view_and_nothing_moves_otherwise() {
        let view = viewport((200, 600), (10_000, 30_000));
        for (time, rank, expected) in [
            (200, 10_000, view),
            (599, 29_000, view),
            (100, 20_000, viewport((60, 460), (10_000, 30_000))),
            (600, 20_000, viewport((241, 641), (10_000, 30_000))),
            (300, 29_001, viewport((200, 600), (12_001, 32_001))),
            (300, 9_000, viewport((200, 600), (7_000, 27_000))),
            (0, 0, viewport((0, 400), (0, 20_000))),
        ] {
            let limits = everything();
            assert_eq!(reveal(view, T + time, rank, limits), expected);
        }
        // One row is all that is in view.
        let row = viewport((0, 400), (5_000, 6_000));
        let next = viewport((0, 400), (6_000, 7_000));
        assert_eq!(reveal(row, T + 10, 6_000, everything()), next);
    }

    #[test]
    fn zooming_in_and_out_again_comes_back() {
        let view = viewport((200_000_000, 600_000_000), (100_000, 300_000));
        let near = zoom(view, [0.3, 0.7], 0.5, Axes::Both, everything());
        assert_eq!(zoom(near, [0.3, 0.7], 2.0, Axes::Both, everything()), view);
    }

    #[test]
    fn one_axis_leaves_the_other_alone() {
        let view = viewport((200_000_000, 600_000_000), (100_000, 300_000));
        let time = zoom(view, [0.5, 0.5], 0.5, Axes::Time, everything());
        assert_eq!((time.y0, time.y1), (view.y0, view.y1));
        assert_eq!(time.t1 - time.t0, 200_000_000);
        let traces = zoom(view, [0.5, 0.5], 0.5, Axes::Traces, everything());
        assert_eq!((traces.t0, traces.t1), (view.t0, view.t1));
        assert_eq!(traces.y1 - traces.y0, 100_000);
    }

    #[test]
    fn nothing_goes_beyond_the_limits_or_below_the_least() {
        let mut view = everything();
        for _ in 0..200 {
            view = zoom(view, [0.4, 0.6], 0.5, Axes::Both, everything());
        }
        assert_eq!((view.t1 - view.t0, view.y1 - view.y0), (SHORTEST, THINNEST));
        for _ in 0..200 {
            view = zoom(view, [0.4, 0.6], 2.0, Axes::Both, everything());
        }
        assert_eq!(view, everything());
        assert_eq!(pan(view, [0.5, -3.0], everything()), everything());
    }

    #[test]
    fn panning_stops_at_the_edge_with_its_size() {
        let view = viewport((200_000_000, 600_000_000), (100_000, 300_000));
        let cases = [
            (
                [0.5, 0.0],
                viewport((400_000_000, 800_000_000), (100_000, 300_000)),
            ),
            ([-2.0, 0.25], viewport((0, 400_000_000), (150_000, 350_000))),
            (
                [0.0, 9.0],
                viewport((200_000_000, 600_000_000), (300_000, 500_000)),
            ),
        ];
        for (by, expected) in cases {
            assert_eq!(pan(view, by, everything()), expected, "{by:?}");
        }
    }

    #[test]
    fn a_selection_is_the_same_from_any_corner() {
        let view = everything();
        let expected = viewport((250_000_000, 500_000_000), (50_000, 100_000));
        for (from, to) in [
            ([0.25, 0.1], [0.5, 0.2]),
            ([0.5, 0.2], [0.25, 0.1]),
            ([0.5, 0.1], [0.25, 0.2]),
        ] {
            assert_eq!(select(view, from, to, everything()), expected);
        }
        let thin = select(view, [0.5, 0.5], [0.5, 0.5], everything());
        assert_eq!((thin.t1 - thin.t0, thin.y1 - thin.y0), (SHORTEST, THINNEST));
    }

    #[test]
    fn ranks_get_room_within_the_limits() {
        let (t0, t1) = (T + 100_000_000, T + 200_000_000);
        let cases = [
            ([100, 200], (95_000, 205_000)),
            ([0, 100], (0, 105_000)),
            ([450, 500], (447_500, 500_000)),
            ([20, 20], (19_950, 21_050)),
        ];
        for (ranks, y) in cases {
            let there = around(t0, t1, ranks, 0.05, everything());
            assert_eq!(there, viewport((100_000_000, 200_000_000), y), "{ranks:?}");
        }
    }

    #[test]
    fn limits_smaller_than_the_least_size_are_kept() {
        let dot = viewport((0, 10), (0, 400));
        assert_eq!(zoom(dot, [0.5, 0.5], 0.5, Axes::Both, dot), dot);
        assert_eq!(zoom(dot, [0.5, 0.5], 2.0, Axes::Both, dot), dot);
    }

    #[test]
    fn the_widest_view_that_a_link_can_say_is_moved_like_any_other() {
        const MAX: i64 = i64::MAX;
        for (t, y) in [
            ((1, MAX), (1, MAX)),
            ((-6 << 60, 1 << 60), (-6 << 60, 1 << 60)),
        ] {
            let view = Viewport {
                t0: t.0,
                t1: t.1,
                y0: y.0,
                y1: y.1,
            };
            let limits = everything();
            for by in [-100.0, -1.0, 0.5, 1.0, 100.0] {
                assert_eq!(pan(view, [by, by], limits), limits, "{by}");
                let part = select(view, [by, by], [1.0, 1.0], limits);
                assert!(part.t0 < part.t1 && part.y0 < part.y1, "{by}: {part:?}");
            }
            for time in [i64::MIN, T, MAX] {
                assert_eq!(x_of(view, time) > 0.0, time > view.t0);
                assert_eq!(y_of(view, time) > 0.0, time > view.y0);
            }
        }
    }

    #[test]
    fn places_go_there_and_back() {
        let view = viewport((200_000_000, 600_000_000), (100_000, 300_000));
        assert_eq!(time_at(view, x_of(view, T + 300_000_000)), T + 300_000_000);
        assert_eq!(rank_at(view, y_of(view, 123_000)), 123_000);
    }
}
