//! One figure, or a peer beside ours: what every benchmark yields, and all that is printed of it.
//!
//! Owns the ratio: how many times better ours is, taken within a round before its median is, since what disturbs one
//! round disturbs all of its contenders. Whoever measures prints rows as lines of JSON; `cargo xtask bench` collects
//! them, whatever else is said on standard error.

use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What was measured, with its unit.
    pub what: String,
    /// The median of ours; nothing where it could not be had.
    pub ours: Option<f64>,
    /// Whom ours is held against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The median of theirs.
    pub peer: Option<f64>,
    /// How many times better ours is.
    pub ratio: Option<f64>,
    /// The lowest and the highest of what counts: of the ratio, or of ours where there is no peer.
    pub spread: Option<[f64; 2]>,
    /// What the ratio, or ours where there is no peer, is to be.
    pub target: Option<Target>,
    /// Whether it is.
    pub met: Option<bool>,
    /// What there is to say: why a target is missed, or a figure is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The place of ours in the chart of scaling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<Point>,
}

/// A bound, which itself is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// No less.
    AtLeast(f64),
    /// No more.
    AtMost(f64),
}

/// A point of the chart: which line, and over how many spans.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// What the line shows, with its unit.
    pub line: String,
    /// The size of the input.
    pub spans: u64,
}

/// Which way figures are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Speeds.
    More,
    /// Times and sizes.
    Less,
}

impl Row {
    /// Rounds of ours alone.
    pub fn of(what: impl Into<String>, rounds: &[f64]) -> Row {
        let [low, median, high] = spread(rounds);
        Row {
            what: what.into(),
            ours: number(median),
            spread: number(low).zip(number(high)).map(|(low, high)| [low, high]),
            ..Row::default()
        }
    }

    /// The same rounds beside a peer's.
    pub fn beside(
        what: impl Into<String>,
        ours: &[f64],
        of: &str,
        peer: &[f64],
        better: Better,
    ) -> Row {
        let ratios: Vec<f64> = ours
            .iter()
            .zip(peer)
            .map(|(ours, peer)| match better {
                Better::More => ours / peer,
                Better::Less => peer / ours,
            })
            .collect();
        let ratios = Row::of("", &ratios);
        Row {
            of: Some(of.to_owned()),
            peer: number(spread(peer)[1]),
            ratio: ratios.ours,
            spread: ratios.spread,
            ..Row::of(what, ours)
        }
    }

    /// A peer that gave no figure.
    pub fn without(what: impl Into<String>, of: &str, why: impl Into<String>) -> Row {
        Row {
            what: what.into(),
            of: Some(of.to_owned()),
            why: Some(why.into()),
            ..Row::default()
        }
    }

    /// What it is held against. A figure that is not there does not meet it.
    pub fn aim(mut self, target: Target) -> Row {
        self.target = Some(target);
        self.met = Some(self.counts().is_some_and(|it| target.is_met_by(it)));
        self
    }

    /// What to say if the target is missed.
    pub fn or_because(mut self, why: &str) -> Row {
        if self.met == Some(false) && self.why.is_none() {
            self.why = Some(why.to_owned());
        }
        self
    }

    /// What to say anyway.
    pub fn noting(mut self, why: impl Into<String>) -> Row {
        self.why = Some(why.into());
        self
    }

    /// What to say if nothing else is said.
    pub fn or_noting(mut self, what: impl Into<String>) -> Row {
        self.why = self.why.or(Some(what.into()));
        self
    }

    /// Its place in the chart.
    pub fn at(mut self, line: &str, spans: u64) -> Row {
        let line = line.to_owned();
        self.point = Some(Point { line, spans });
        self
    }

    /// What a target is about.
    pub fn counts(&self) -> Option<f64> {
        match self.of {
            Some(_) => self.ratio,
            None => self.ours,
        }
    }

    /// By how much the target is missed, as a share of it.
    pub fn missed_by(&self) -> Option<f64> {
        match (self.target?, self.counts()?) {
            (target, it) if target.is_met_by(it) => None,
            (Target::AtLeast(bound), it) => Some(1.0 - it / bound),
            (Target::AtMost(bound), it) => Some(it / bound - 1.0),
        }
    }

    /// Prints it for who collects.
    pub fn print(&self) {
        match serde_json::to_string(self) {
            Ok(line) => println!("{line}"),
            Err(error) => eprintln!("{}: {error}", self.what),
        }
    }
}

impl Target {
    fn is_met_by(self, it: f64) -> bool {
        match self {
            Target::AtLeast(bound) => it >= bound,
            Target::AtMost(bound) => it <= bound,
        }
    }
}

/// Lowest, median, highest; no numbers of nothing.
pub fn spread(values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
    [
        at(0),
        at(sorted.len() / 2),
        at(sorted.len().saturating_sub(1)),
    ]
}

/// The value that so many per cent do not exceed.
pub fn percentile(values: &[f64], percent: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1) as f64;
    let at = (last * percent / 100.0).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

/// JSON has no other numbers.
fn number(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_a_round() {
        let row = Row::beside(
            "x, ms",
            &[1.0, 10.0, 2.0],
            "peer",
            &[4.0, 20.0, 6.0],
            Better::Less,
        );
        assert_eq!((row.ours, row.peer), (Some(2.0), Some(6.0)));
        assert_eq!((row.ratio, row.spread), (Some(3.0), Some([2.0, 4.0])));
        let row = Row::beside("x, MB/s", &[4.0], "peer", &[8.0], Better::More);
        assert_eq!(row.ratio, Some(0.5));
    }

    #[test]
    fn a_target_is_about_the_ratio_where_there_is_a_peer() {
        let row = Row::beside("x", &[4.0], "peer", &[8.0], Better::More);
        assert_eq!(row.clone().aim(Target::AtLeast(0.5)).met, Some(true));
        let missed = row.aim(Target::AtLeast(1.0)).or_because("so it is");
        assert_eq!((missed.met, missed.missed_by()), (Some(false), Some(0.5)));
        assert_eq!(missed.why.as_deref(), Some("so it is"));
        let alone = Row::of("x", &[9.0]).aim(Target::AtMost(6.0));
        assert_eq!((alone.met, alone.missed_by()), (Some(false), Some(0.5)));
        let absent = Row::of("x", &[]).aim(Target::AtMost(6.0));
        assert_eq!(
            (absent.ours, absent.met, absent.missed_by()),
            (None, Some(false), None)
        );
    }

    #[test]
    fn a_row_survives_the_way_to_who_collects() {
        let row = Row::beside("x", &[1.0, 2.0], "y", &[3.0, 4.0], Better::Less)
            .aim(Target::AtLeast(9.0))
            .or_because("z")
            .at("line", 10);
        let line = serde_json::to_string(&row).expect("text");
        assert_eq!(serde_json::from_str::<Row>(&line).expect("a row"), row);
        let without = Row::without("x", "y", "z");
        let line = serde_json::to_string(&without).expect("text");
        assert_eq!(serde_json::from_str::<Row>(&line).expect("a row"), without);
    }

    #[test]
    fn percentiles_are_values_that_occur() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(
            [0.0, 50.0, 95.0, 100.0].map(|it| percentile(&values, it)),
            [1.0, 51.0, 95.0, 100.0]
        );
    }
}
