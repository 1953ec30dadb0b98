//! How spans look: the colour and the layer of each service, what is hidden, and the legend.
//!
//! Owns the choice of colours. Services next to each other in the call chain differ: they take the
//! series in the order of tier, then of name. Invariant: the key of a legend entry hides exactly the
//! spans that have its colour. Pinned by `tests/it/plot.rs`.

use crate::messages::{LegendEntry, Rgb, Style, Swatch};
use crate::order::{self, sorted_indices};
use crate::outcome::Outcome;
use crate::spans::{ServiceIdx, SpanTable};
use crate::view::ColorBy;

const FAILED: &str = "failed";
const TIMED_OUT: &str = "timed_out";

/// What a span is painted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    /// Its colour.
    pub color: Rgb,
    /// Painted in this order; failures and timeouts come after every tier.
    pub layer: u8,
}

/// The layer of failures; timeouts have the next, tiers are below.
pub const FAILED_LAYER: u8 = 33;

/// The layer of timeouts, on top of all.
pub const TIMED_OUT_LAYER: u8 = 34;

/// The look of a table in one style.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    series: Vec<Option<Paint>>,
    failed: Option<Paint>,
    timed_out: Option<Paint>,
    /// See [`opaque_from`].
    opaque_from: Vec<u64>,
    /// See [`Look::faint`].
    faint: bool,
}

impl Look {
    /// Works the look out. O(services + spans).
    pub fn new(
        table: &SpanTable,
        style: &Style,
        color_by: ColorBy,
        hidden: &[String],
        opaque_from: &[u64],
    ) -> Look {
        let shown = |key: &str| !hidden.iter().any(|it| it == key);
        let numbers = series_numbers(table, color_by);
        let paint = |(service, name): (ServiceIdx, &str)| {
            let tier = table.tier(service);
            shown(&key(color_by, tier, name)).then(|| Paint {
                color: style.series[numbers[service.0 as usize] as usize],
                layer: tier.min(FAILED_LAYER - 1),
            })
        };
        let failure =
            |key: &str, color: Rgb, layer: u8| shown(key).then_some(Paint { color, layer });
        Look {
            series: table.services().map(paint).collect(),
            failed: failure(FAILED, style.failed, FAILED_LAYER),
            timed_out: failure(TIMED_OUT, style.timed_out, TIMED_OUT_LAYER),
            opaque_from: opaque_from.to_vec(),
            faint: false,
        }
    }

    /// The same for spans that are to be passed over: all of them faint.
    pub fn faint(&self) -> Look {
        Look {
            faint: true,
            ..self.clone()
        }
    }

    /// Whether it is that.
    pub fn is_faint(&self) -> bool {
        self.faint
    }

    /// How the span is painted; `None` when it is hidden.
    pub fn paint(&self, service: ServiceIdx, outcome: Outcome) -> Option<Paint> {
        match outcome {
            Outcome::Success => self.series[service.0 as usize],
            Outcome::Failure | Outcome::Rejected => self.failed,
            Outcome::TimedOut => self.timed_out,
        }
    }

    /// A span's opacity: its duration against [`opaque_from`] its service, from a quarter up.
    /// Failures are always seen, however short.
    pub fn alpha(&self, service: ServiceIdx, duration: u64, outcome: Outcome) -> u8 {
        const FAINTEST: u64 = 64;
        if outcome != Outcome::Success {
            return 255;
        }
        let whole = self
            .opaque_from
            .get(service.0 as usize)
            .copied()
            .unwrap_or(1)
            .max(1);
        let share = duration.min(whole);
        // 64 bits hold the product of all but absurd durations, which lose their last digits.
        let shift = if whole >> 56 == 0 { 0 } else { 8 };
        let scaled = (255 - FAINTEST) * (share >> shift) / (whole >> shift);
        (FAINTEST + scaled) as u8
    }
}

/// For each service, the duration in nanoseconds from which on its spans are opaque: its 99th
/// percentile. Of its own, because a service behind a queue is a hundred times quicker than its
/// client and would not be seen; and not the longest, because one stuck span would make all others
/// pale. O(spans).
#[inline(never)]
pub fn opaque_from(table: &SpanTable) -> Vec<u64> {
    let mut known: Vec<Vec<u64>> = vec![Vec::new(); table.services().count()];
    for (service, &duration) in table.service.iter().zip(&table.duration) {
        if duration != crate::rows::UNKNOWN_DURATION {
            known[service.0 as usize].push(duration);
        }
    }
    let percentile = |durations: &mut Vec<u64>| {
        let last = durations.len().checked_sub(1)?;
        order::nth(durations, last * 99 / 100)
    };
    known
        .iter_mut()
        .map(|it| percentile(it).unwrap_or(1))
        .collect()
}

/// The legend of a table: tiers or services, then failures and timeouts where there are any.
pub fn legend(table: &SpanTable, color_by: ColorBy) -> Vec<LegendEntry> {
    let numbers = series_numbers(table, color_by);
    let swatch = |service: ServiceIdx| Swatch::Series(numbers[service.0 as usize]);
    let services: Vec<(ServiceIdx, &str)> = by_tier(table)
        .map(|service| (service, table.service_name(service)))
        .collect();
    let mut spans = vec![0; numbers.len()];
    for service in table.service.iter() {
        spans[service.0 as usize] += 1;
    }
    let mut entries = match color_by {
        ColorBy::Tier => services
            .chunk_by(|(a, _), (b, _)| table.tier(*a) == table.tier(*b))
            .map(|tier| {
                let names: Vec<&str> = tier.iter().map(|&(_, name)| name).collect();
                let depth = table.tier(tier[0].0);
                LegendEntry {
                    key: key(color_by, depth, ""),
                    label: tier_label(tier, &spans),
                    title: format!("Tier {depth}: {}", names.join(", ")),
                    color: swatch(tier[0].0),
                }
            })
            .collect::<Vec<_>>(),
        ColorBy::Service => services
            .iter()
            .map(|&(service, name)| LegendEntry {
                key: key(color_by, 0, name),
                label: name.to_owned(),
                title: format!("Service {name}, tier {}", table.tier(service)),
                color: swatch(service),
            })
            .collect(),
    };
    let has = |outcomes: &[Outcome]| table.outcome.iter().any(|it| outcomes.contains(it));
    let mut add = |key: &str, label: &str, title: &str, color: Swatch| {
        let (key, label, title) = (key.to_owned(), label.to_owned(), title.to_owned());
        entries.push(LegendEntry {
            key,
            label,
            title,
            color,
        });
    };
    if has(&[Outcome::Failure, Outcome::Rejected]) {
        let title = "Spans that failed for another reason than a timeout, or were rejected";
        add(FAILED, "failed", title, Swatch::Failed);
    }
    if has(&[Outcome::TimedOut]) {
        add(
            TIMED_OUT,
            "timed out",
            "Spans whose time was up",
            Swatch::TimedOut,
        );
    }
    entries
}

fn key(color_by: ColorBy, tier: u8, name: &str) -> String {
    match color_by {
        ColorBy::Tier => format!("tier:{tier}"),
        ColorBy::Service => format!("service:{name}"),
    }
}

/// The service with the most spans, and how many others the tier has.
fn tier_label(tier: &[(ServiceIdx, &str)], spans: &[u32]) -> String {
    let most = tier
        .iter()
        .max_by_key(|(service, _)| spans[service.0 as usize]);
    let name = most.map_or("", |&(_, name)| name);
    match tier.len() {
        0 | 1 => name.to_owned(),
        n => format!("{name} +{}", n - 1),
    }
}

/// The services by tier, of one tier by name.
fn by_tier(table: &SpanTable) -> impl Iterator<Item = ServiceIdx> {
    let tier = |service: u32| table.tier(ServiceIdx(service as u16));
    let n_services = table.services().count();
    let order = sorted_indices(n_services, &mut |a, b| tier(a).cmp(&tier(b)));
    order.into_iter().map(|service| ServiceIdx(service as u16))
}

/// The number of the series that each service is painted with.
fn series_numbers(table: &SpanTable, color_by: ColorBy) -> Vec<u8> {
    let mut numbers = vec![0; table.services().count()];
    for (place, service) in by_tier(table).enumerate() {
        let series = match color_by {
            ColorBy::Tier => table.tier(service) as usize,
            ColorBy::Service => place,
        };
        numbers[service.0 as usize] = (series % SERIES) as u8;
    }
    numbers
}

/// Colours in [`Style::series`].
const SERIES: usize = 8;
