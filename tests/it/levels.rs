//! Levels of detail, against lists of spans.

use std::ops::Range;

use herdscope::filter::Bits;
use herdscope::levels::{LEAF, Levels, Part, Visitor, kind};
use herdscope::plot::look::Look;
use herdscope::plot::scale::Scale;
use herdscope::plot::{hit, picture, raster};
use herdscope::scene;
use herdscope::spans::SpanIdx;
use herdscope::view::{ColorBy, Viewport};
use proptest::prelude::*;

use crate::given::dataset;

const MS: i64 = 1_000_000;

/// Takes every `nth` whole block as enough.
struct Taking<'a> {
    table: &'a herdscope::spans::SpanTable,
    nth: usize,
    met: usize,
    seen: Vec<usize>,
}

impl Visitor for Taking<'_> {
    fn block(&mut self, spans: Range<usize>, whole: bool, parts: &[Part]) -> bool {
        if whole {
            check_parts(self.table, spans.clone(), parts);
        }
        self.met += 1;
        let taken = whole && self.met.is_multiple_of(self.nth);
        if taken {
            self.seen.extend(spans);
        }
        taken
    }

    fn spans(&mut self, spans: Range<usize>) {
        assert!(spans.len() <= LEAF);
        self.seen.extend(spans);
    }
}

/// Takes no block as enough.
struct Told {
    /// Parts of the last block.
    n_parts: usize,
    seen: Vec<usize>,
}

impl Visitor for Told {
    fn block(&mut self, _: Range<usize>, _: bool, parts: &[Part]) -> bool {
        self.n_parts = parts.len();
        false
    }

    fn spans(&mut self, spans: Range<usize>) {
        self.seen.extend(spans);
    }
}

/// A block's parts are those of its spans, each told once.
fn check_parts(table: &herdscope::spans::SpanTable, spans: Range<usize>, parts: &[Part]) {
    for part in parts {
        let its = |at: &usize| {
            let of = Part::of(table, *at);
            kind(of.service, of.outcome) == kind(part.service, part.outcome)
        };
        let same: Vec<Part> = spans
            .clone()
            .filter(its)
            .map(|at| Part::of(table, at))
            .collect();
        let told = [
            same.iter().map(|it| it.first_start).min(),
            same.iter().map(|it| it.first_start).max(),
            same.iter().map(|it| it.last_end).max(),
        ];
        assert_eq!(
            told,
            [part.first_start, part.last_start, part.last_end].map(Some)
        );
        assert_eq!(same.iter().map(|it| it.longest).max(), Some(part.longest));
    }
    let kinds = |it: &mut dyn Iterator<Item = Part>| {
        let mut kinds: Vec<usize> = it.map(|it| kind(it.service, it.outcome)).collect();
        kinds.sort_unstable();
        kinds
    };
    let told = kinds(&mut parts.iter().copied());
    let mut there = kinds(&mut spans.map(|at| Part::of(table, at)));
    there.dedup();
    assert_eq!(told, there);
}

fn text(spans: &[(u16, u8, i64, u64, u8)]) -> String {
    let line = |(at, &(trace, service, start, duration, luck)): (usize, &_)| {
        let outcome = match luck {
            0 => "timed_out",
            1 => "failed",
            2 => "rejected",
            _ => "",
        };
        format!("t{trace} {at} - s{service} client {start}+{duration} {outcome}\n")
    };
    spans.iter().enumerate().map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_walk_meets_every_span_once(
        spans in prop::collection::vec((0..90u16, 0..4u8, 0..900i64, 0..60u64, 0..9u8), 1..600),
        (from, to) in (0..600usize, 0..700usize),
        nth in 1..6usize,
    ) {
        let dataset = dataset(&text(&spans));
        let table = &dataset.table;
        let range = from.min(table.len())..to.min(table.len());
        let mut taking = Taking { table, nth, met: 0, seen: Vec::new() };
        Levels::of(table).walk(range.clone(), &mut taking);
        prop_assert_eq!(taking.seen, range.collect::<Vec<_>>());
    }

    #[test]
    fn levels_of_some_spans_tell_those_alone(
        spans in prop::collection::vec((0..90u16, 0..4u8, 0..900i64, 0..60u64, 0..9u8), 1..600),
        (from, to) in (0..600usize, 0..700usize),
        nth in 1..9usize,
    ) {
        let dataset = dataset(&text(&spans));
        let table = &dataset.table;
        let range = from.min(table.len())..to.min(table.len());
        let is_one = |at: &usize| at.is_multiple_of(nth);
        let mut told = Told { n_parts: 0, seen: Vec::new() };
        Levels::of_some(table, Bits::of(table.len(), &|at| is_one(&at))).walk(range.clone(), &mut told);
        prop_assert_eq!(told.seen.clone(), range.filter(is_one).collect::<Vec<_>>());
        Levels::of_some(table, Bits::of(table.len(), &|_| false)).walk(0..table.len(), &mut told);
        prop_assert_eq!(told.n_parts, 0);
    }

    #[test]
    fn spans_in_view_are_counted_and_found_as_in_a_list(
        spans in prop::collection::vec((0..90u16, 0..4u8, 0..900i64, 0..60u64, 0..9u8), 1..600),
        (from, width) in (-50..900i64, 1..900i64),
        (top, ranks) in (-3..90i64, 1..100i64),
        (x, y) in (0..200u32, 0..100u32),
    ) {
        let dataset = dataset(&text(&spans));
        let (table, levels) = (&dataset.table, &dataset.levels);
        let view = Viewport { t0: from * MS, t1: (from + width) * MS, y0: top * 1000, y1: (top + ranks) * 1000 };
        let in_view = (0..table.len()).filter(|&at| {
            let rank = i64::from(table.rank[at].0);
            table.start[at] < view.t1
                && table.end(SpanIdx(at as u32)) >= view.t0
                && (top..top + ranks).contains(&rank)
        });
        prop_assert_eq!(scene::n_spans(table, levels, view), in_view.count() as u64);

        let look = Look::new(table, &picture::light(), ColorBy::Tier, &[], &dataset.opaque_from);
        let (size, reach) = ([200, 100], 6.0);
        let [x, y] = [x, y].map(|it| f64::from(it) + 0.5);
        let scale = Scale::new(view, size);
        let nested = scale.row_height() >= raster::NESTED_FROM;
        let off = |at: f64, from: f64, to: f64| (from - at).max(at - to).max(0.0);
        let nearest = (0..table.len()).filter_map(|at| {
            let (service, span) = (table.service[at], SpanIdx(at as u32));
            let tier = table.tier(service);
            let rows = raster::rows(&scale, table.rank[at].0, tier);
            let (from, to) = (scale.x(table.start[at]), scale.x(table.end(span)));
            let off = off(x, from, to.max(from + 1.0)).max(off(y, rows.start.into(), rows.end.into()));
            let layer = if nested { tier } else { look.paint(service, table.outcome[at])?.layer };
            (off <= reach).then_some((off, std::cmp::Reverse((layer, at)), span))
        });
        let nearest = nearest.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let found = hit::span_at(table, levels, &look, view, size, [x, y], reach);
        prop_assert_eq!(found, nearest.map(|it| it.2));
    }
}
