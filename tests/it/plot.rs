//! The span plot: exact pictures, a naive renderer, looks and hits.

use std::collections::BTreeMap;
use std::ops::Range;

use herdscope::dataset::Dataset;
use herdscope::filter::Bits;
use herdscope::levels::Levels;
use herdscope::messages::Style;
use herdscope::outcome::Outcome;
use herdscope::plot::look::{self, Look};
use herdscope::plot::panned::{Painted, Panned};
use herdscope::plot::pixels::Pixels;
use herdscope::plot::scale::Scale;
use herdscope::plot::{hit, overview, picture, raster};
use herdscope::spans::SpanIdx;
use herdscope::view::{ColorBy, Viewport};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::given::{dataset, herd};
use crate::golden::check_pixels;

const MS: i64 = 1_000_000;

fn look_of(dataset: &Dataset, hidden: &[&str]) -> Look {
    let hidden: Vec<String> = hidden.iter().map(|&it| it.to_owned()).collect();
    Look::new(
        &dataset.table,
        &picture::light(),
        ColorBy::Tier,
        &hidden,
        &dataset.opaque_from,
    )
}

fn painted(dataset: &Dataset) -> Painted<'_> {
    Painted {
        table: &dataset.table,
        levels: &dataset.levels,
        below: None,
    }
}

fn draw(dataset: &Dataset, viewport: Viewport, size: [u32; 2], hidden: &[&str]) -> Pixels {
    raster::spans(
        &dataset.table,
        &dataset.levels,
        &look_of(dataset, hidden),
        viewport,
        size,
    )
}

fn viewport(ms: Range<i64>, ranks: Range<i64>) -> Viewport {
    Viewport {
        t0: ms.start * MS,
        t1: ms.end * MS,
        y0: ranks.start * 1000,
        y1: ranks.end * 1000,
    }
}

fn pixel(pixels: &Pixels, x: u32, y: u32) -> [u8; 4] {
    let at = (y * pixels.width + x) as usize * 4;
    pixels.rgba[at..at + 4].try_into().expect("a pixel")
}

/// One trace of three tiers, one that timed out, one that failed otherwise.
const THREE: &str = "
    a 1 - web client 0+60
    a 2 1 proxy server 10+40
    a 3 2 api server 30+10
    b 1 - web client 20+50 timed_out
    b 2 1 proxy server 30+60
    b 3 2 api server 80+10
    c 1 - web client 40+30 failed";

#[test]
fn golden_pictures() {
    let three = dataset(THREE);
    let all = viewport(-5..95, 0..3);
    check_pixels("spans-nested", &draw(&three, all, [200, 60], &[]));
    check_pixels("spans-thin", &draw(&three, all, [200, 9], &[]));
    check_pixels(
        "spans-cut",
        &draw(&three, viewport(25..55, 1..2), [200, 40], &[]),
    );
    let sample = herd();
    let herd = Viewport {
        t0: 1_790_409_661_500_000_000,
        t1: 1_790_409_664_500_000_000,
        y0: 330_000,
        y1: 740_000,
    };
    check_pixels("spans-herd", &draw(&sample, herd, [600, 300], &[]));
    check_pixels("spans-all", &draw(&sample, sample.home(), [600, 300], &[]));
    let home = sample.home();
    let strip = overview::overview(
        &sample.edges[0].calls,
        &picture::light(),
        [home.t0, home.t1],
        [600, 46],
    );
    check_pixels("overview", &strip);
}

#[test]
fn a_failing_span_shows_however_many_share_its_pixel() {
    let well = |at: usize| format!("w{at:04} 1 - web client 0+100\n");
    let mut text: String = (0..2000).map(well).collect();
    text.push_str("w1000x 1 - web client 0+100 timed_out\n");
    text.push_str("w1500x 1 - web client 0+100 failed\n");
    let dataset = dataset(&text);
    let pixels = draw(&dataset, viewport(0..100, 0..2002), [10, 20], &[]);
    let style = picture::light();
    let rows_of = |color: [u8; 3]| {
        (0..20)
            .filter(|&y| pixel(&pixels, 5, y)[..3] == color)
            .count()
    };
    assert_eq!((rows_of(style.timed_out), rows_of(style.failed)), (1, 1));
}

#[test]
fn short_spans_are_a_pixel_and_hidden_ones_none() {
    let dataset = dataset("a 1 - web client 50+0\n b 1 - web client 50+0 timed_out");
    let all = viewport(0..1000, 0..2);
    let painted = |hidden: &[&str]| {
        let pixels = draw(&dataset, all, [100, 2], hidden);
        pixels.rgba.chunks(4).filter(|pixel| pixel[3] > 0).count()
    };
    assert_eq!(painted(&[]), 2);
    assert_eq!(painted(&["timed_out"]), 1);
    assert_eq!(painted(&["tier:0"]), 1);
    assert_eq!(painted(&["tier:0", "timed_out"]), 0);
}

#[test]
fn longer_spans_of_a_service_are_more_opaque() {
    let dataset = dataset("a 1 - web client 0+10\n b 1 - web client 0+50\n c 1 - web client 0+100");
    let look = look_of(&dataset, &[]);
    let service = dataset.table.find_service("web").expect("a service");
    let alpha = |ms: u64| look.alpha(service, ms * MS as u64, Outcome::Success);
    assert_eq!(
        (alpha(0), alpha(25), alpha(50), alpha(5000)),
        (64, 159, 255, 255)
    );
    assert_eq!(look.alpha(service, 0, Outcome::TimedOut), 255);
    let absurd = Look::new(
        &dataset.table,
        &picture::light(),
        ColorBy::Tier,
        &[],
        &[u64::MAX],
    );
    assert_eq!(absurd.alpha(service, u64::MAX / 2, Outcome::Success), 159);
}

#[test]
fn legends_name_what_is_there() {
    let labels = |dataset: &Dataset, by| -> Vec<(String, String)> {
        let entries = look::legend(&dataset.table, by);
        entries.into_iter().map(|it| (it.key, it.label)).collect()
    };
    let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|&(key, label)| (key.to_owned(), label.to_owned()))
            .collect()
    };
    let three = dataset(THREE);
    let failures = [("failed", "failed"), ("timed_out", "timed out")];
    let tiers = [("tier:0", "web"), ("tier:1", "proxy"), ("tier:2", "api")];
    assert_eq!(
        labels(&three, ColorBy::Tier),
        owned(&[&tiers[..], &failures].concat())
    );
    let services = [
        ("service:web", "web"),
        ("service:proxy", "proxy"),
        ("service:api", "api"),
    ];
    assert_eq!(
        labels(&three, ColorBy::Service),
        owned(&[&services[..], &failures].concat())
    );
    // A tier of several is called after the one with the most spans.
    let two = dataset(
        "
        a 1 - batch client 0+60
        b 1 - shop client 20+50
        c 1 - shop client 40+30",
    );
    assert_eq!(labels(&two, ColorBy::Tier), owned(&[("tier:0", "shop +1")]));
}

#[test]
fn the_pointer_finds_what_is_painted() {
    let three = dataset(THREE);
    let (all, size) = (viewport(0..100, 0..3), [100, 60]);
    let found = |x: f64, y: f64, hidden: &[&str]| {
        let look = look_of(&three, hidden);
        hit::span_at(&three.table, &three.levels, &look, all, size, [x, y], 2.0).map(|span| {
            let at = span.0 as usize;
            let service = three.table.service_name(three.table.service[at]);
            format!("{}:{service}", three.table.trace_id(three.table.rank[at]))
        })
    };
    let cases = [
        (5.0, 4.0, Some("a:web")),
        (35.0, 10.0, Some("a:api")),
        (20.0, 10.0, Some("a:proxy")),
        (25.0, 24.0, Some("b:web")),
        (85.0, 30.0, Some("b:api")),
        (61.5, 5.0, Some("a:web")),
        (95.0, 50.0, None),
    ];
    for (x, y, expected) in cases {
        assert_eq!(found(x, y, &[]).as_deref(), expected, "at {x}, {y}");
    }
    assert_eq!(found(25.0, 24.0, &["timed_out"]), None);
}

/// Paints each pixel by asking every span, ink by ink: slow, and nothing to get wrong.
fn naive(dataset: &Dataset, look: &Look, view: Viewport, size: [u32; 2]) -> Pixels {
    let mut pixels = Pixels::transparent(size[0], size[1]);
    naive_over(dataset, look, view, &|_| true, &mut pixels);
    pixels
}

/// The same of some of the spans, over what is painted.
fn naive_over(
    dataset: &Dataset,
    look: &Look,
    view: Viewport,
    shows: &dyn Fn(usize) -> bool,
    pixels: &mut Pixels,
) {
    let size = [pixels.width, pixels.height];
    let scale = Scale::new(view, size);
    let nested = scale.row_height() >= raster::NESTED_FROM;
    // What covers each pixel: of an ink the most opaque alone.
    let mut inks: BTreeMap<_, BTreeMap<(i32, i32), u8>> = BTreeMap::new();
    for at in (0..dataset.table.len()).filter(|&at| shows(at)) {
        let (service, outcome) = (dataset.table.service[at], dataset.table.outcome[at]);
        let tier = dataset.table.tier(service);
        let Some(paint) = look.paint(service, outcome) else {
            continue;
        };
        let (start, end) = (
            dataset.table.start[at],
            dataset.table.end(SpanIdx(at as u32)),
        );
        if start >= view.t1 || end < view.t0 {
            continue;
        }
        let layer = if nested { tier } else { paint.layer };
        let ink = inks.entry((layer, outcome, paint.color)).or_default();
        let from = scale.x(start).floor() as i32;
        let to = (scale.x(end).ceil() as i32).max(from + 1);
        let alpha = match nested && tier > 0 {
            true => 255,
            false => look.alpha(service, end.abs_diff(start), outcome),
        };
        let alpha = if look.is_faint() { alpha / 6 } else { alpha };
        for y in raster::rows(&scale, dataset.table.rank[at].0, tier) {
            for x in from..to {
                let most = ink.entry((x, y)).or_default();
                *most = alpha.max(*most);
            }
        }
    }
    for ((.., color), ink) in inks {
        for ((x, y), alpha) in ink {
            pixels.fill(x..x + 1, y..y + 1, color, alpha);
        }
    }
}

/// Whether a picture has what the other has, none of it further off than a pixel along X: neither coverage nor
/// failures are lost, and what is painted is as opaque as there.
fn is_within_a_pixel(some: &Pixels, other: &Pixels, style: &Style) -> Result<(), TestCaseError> {
    for y in 0..some.height {
        for x in 0..some.width {
            let near: Vec<[u8; 4]> = (x.saturating_sub(1)..(x + 2).min(other.width))
                .map(|x| pixel(other, x, y))
                .collect();
            let [r, g, b, alpha] = pixel(some, x, y);
            let alphas = || near.iter().map(|it| it[3]);
            let [least, most] = [alphas().min(), alphas().max()].map(|it| it.unwrap_or(0));
            prop_assert!(
                (least..=most).contains(&alpha),
                "{alpha} at {x}, {y}, not {least} to {most}"
            );
            if [style.failed, style.timed_out].contains(&[r, g, b]) {
                prop_assert!(
                    near.iter().any(|it| it[..3] == [r, g, b]),
                    "a failure is lost at {x}, {y}"
                );
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_raster_is_the_naive_one(
        spans in prop::collection::vec((0..12u8, 0..3u8, 0..90i64, 0..60u64, any::<bool>()), 1..40),
        (from, width) in (-20..80i64, 1..120i64),
        (top, ranks) in (0..8i64, 1..12i64),
        height in 4..40u32,
    ) {
        let line = |(at, &(trace, service, start, duration, failed)): (usize, &(u8, u8, i64, u64, bool))| {
            let outcome = if failed { "failed" } else { "" };
            format!("t{trace} {at} - s{service} server {start}+{duration} {outcome}\n")
        };
        let dataset = dataset(&spans.iter().enumerate().map(line).collect::<String>());
        let look = look_of(&dataset, &[]);
        let (view, size) = (viewport(from..from + width, top..top + ranks), [50, height]);
        prop_assert_eq!(raster::spans(&dataset.table, &dataset.levels, &look, view, size), naive(&dataset, &look, view, size));
    }

    /// Of what is not meant nothing is seen, or all of it faintly below what is meant; of that, nothing is lost.
    #[test]
    fn spans_that_are_not_meant_are_hidden_or_faint(
        spans in prop::collection::vec((0..12u8, 0..3u8, 0..90i64, 0..60u64, any::<bool>(), any::<bool>()), 1..200),
        (from, width) in (-20..80i64, 1..120i64),
        (top, ranks) in (0..8i64, 1..12i64),
        height in 4..40u32,
    ) {
        let line = |(at, &(trace, service, start, duration, failed, _)): (usize, &(u8, u8, i64, u64, bool, bool))| {
            let outcome = if failed { "failed" } else { "" };
            format!("t{trace} {at} - s{service} server {start}+{duration} {outcome}\n")
        };
        let dataset = dataset(&spans.iter().enumerate().map(line).collect::<String>());
        let table = &dataset.table;
        let meant = Bits::of(table.len(), &|at| spans[at % spans.len()].5);
        let rest = Levels::of_some(table, meant.inverted());
        let levels = Levels::of_some(table, meant.clone());
        let look = look_of(&dataset, &[]);
        let (view, size) = (viewport(from..from + width, top..top + ranks), [50, height]);

        let mut expected = Pixels::transparent(size[0], size[1]);
        naive_over(&dataset, &look, view, &|at| meant.has(at), &mut expected);
        let hidden = Painted { table, levels: &levels, below: None };
        let (ours, _) = Panned::default().paint(hidden, look.clone(), view, size, false);
        prop_assert_eq!(&*ours, &expected);

        let mut expected = Pixels::transparent(size[0], size[1]);
        naive_over(&dataset, &look.faint(), view, &|at| !meant.has(at), &mut expected);
        naive_over(&dataset, &look, view, &|at| meant.has(at), &mut expected);
        let dimmed = Painted { below: Some(&rest), ..hidden };
        let (ours, _) = Panned::default().paint(dimmed, look, view, size, false);
        prop_assert_eq!(&*ours, &expected);
    }

    /// Hundreds of traces a row of pixels: blocks of spans are drawn as one.
    #[test]
    fn from_afar_the_raster_is_within_a_pixel_of_the_naive_one(
        traces in prop::collection::vec((0..40u64, 0..60u64, 0..60u64, 0..30u8), 200..900),
        step_us in prop::sample::select(vec![0u64, 7, 90, 1_000]),
        (from, to) in (0..90u64, 10..120u64),
        (top, ranks) in (0..400i64, 100..900i64),
        height in 1..12u32,
    ) {
        let mut text = String::new();
        for (at, (gap, served, waited, luck)) in traces.iter().enumerate() {
            let start = at as f64 * step_us as f64 / 1e3;
            let outcome = match luck { 0 => "timed_out", 1 => "failed", _ => "" };
            text += &format!("t{at:03} 1 - web client {start}+{} {outcome}\n", served + waited);
            text += &format!("t{at:03} 2 1 api server {}+{served}\n", start + *gap as f64);
        }
        let dataset = dataset(&text);
        let look = look_of(&dataset, &[]);
        let home = dataset.home();
        let part = |of: u64| home.t0 + (home.t1 - home.t0) / 120 * of as i64;
        let view = Viewport {
            t0: part(from),
            t1: part(from + to).max(part(from) + 1),
            y0: top * 1000,
            y1: (top + ranks) * 1000,
        };
        let size = [50, height];
        let (ours, naive) = (
            raster::spans(&dataset.table, &dataset.levels, &look, view, size),
            naive(&dataset, &look, view, size),
        );
        is_within_a_pixel(&ours, &naive, &picture::light())?;
        is_within_a_pixel(&naive, &ours, &picture::light())?;
    }

    /// What panning keeps is what would be painted anew, and it is painted anew where nothing can be kept.
    #[test]
    fn a_panned_picture_is_within_a_pixel_of_one_painted_anew(
        gaps in prop::collection::vec((0..900u64, 1..90u64, 0..30u8), 600..900),
        // The fewer a pixel has, the fewer are drawn as one.
        dense in prop::sample::select(vec![1u64, 3, 8]),
        moves in prop::collection::vec((-60..60i64, -20..20i64), 1..6),
    ) {
        let mut text = String::new();
        let mut start = 0;
        for (at, (gap, served, luck)) in gaps.iter().enumerate() {
            start += gap / dense;
            let outcome = if *luck == 0 { "timed_out" } else { "" };
            let (ms, us) = (start / 1_000, start % 1_000);
            text += &format!("t{at:03} 1 - web client {ms}.{us:03}+{served} {outcome}\n");
        }
        let dataset = dataset(&text);
        let look = look_of(&dataset, &[]);
        let size = [50, 12];
        // A pixel is a whole number of nanoseconds and of thousandths of a rank.
        let mut view = Viewport { t0: 0, t1: 50 * 4 * MS, y0: 0, y1: 12 * 20_000 };
        let mut panned = Panned::default();
        panned.paint(painted(&dataset), look.clone(), view, size, false);
        let mut carried = false;
        for (x, y) in moves {
            let (t, rank) = (x * 4 * MS, y * 20_000);
            view = Viewport { t0: view.t0 + t, t1: view.t1 + t, y0: view.y0 + rank, y1: view.y1 + rank };
            let (ours, kept) = panned.paint(painted(&dataset), look.clone(), view, size, false);
            carried = x.abs() < 50 && y.abs() < 12 && (carried || (x, y) != (0, 0));
            prop_assert_eq!(kept, carried);
            let anew = raster::spans(&dataset.table, &dataset.levels, &look, view, size);
            prop_assert_eq!(&*ours, &anew);
        }
        view.t1 += MS;
        let changed = panned.paint(painted(&dataset), look.clone(), view, size, false);
        prop_assert!(!changed.1);
        let again = panned.paint(painted(&dataset), look_of(&dataset, &["timed_out"]), view, size, false);
        prop_assert!(!again.1);
    }

    /// Whatever the viewport, no span in it is lost: something is painted in its rows.
    #[test]
    fn no_viewport_is_too_much(t0 in any::<i64>(), width in 1..i64::MAX, y0 in -9_999_999..9_999_999i64, n in 1..9_999_999i64) {
        let three = dataset(THREE);
        let view = Viewport { t0, t1: t0.saturating_add(width).max(t0.saturating_add(1)), y0, y1: y0 + n };
        prop_assume!(view.t0 < view.t1);
        draw(&three, view, [20, 20], &[]);
    }
}
