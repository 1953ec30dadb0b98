//! When the next request comes.
//!
//! Owns arrivals that are independent of each other at a rate that changes: the integral of the rate between
//! two of them is exponential, and the rate is a chain of straight lines, so that the time is a root of a
//! quadratic. Invariant: at the same rates, one more request never moves an earlier one. O(points). Pinned by
//! `tests`.

use crate::scenario::{Demand, Point};

const SECOND: f64 = 1e9;

/// A line of the rate.
struct Line {
    from: u64,
    to: u64,
    rate: f64,
    /// Requests a second, a second later more.
    slope: f64,
}

impl Demand {
    /// The same rate all the time, requests a second.
    pub fn steady(rate: f64) -> Demand {
        Demand(vec![Point {
            at: 0,
            rate,
            ramp: false,
        }])
    }

    /// When the next request of one of `share` equal callers comes after `now`, nanoseconds: where the
    /// integral of its rate reaches `amount`. `None`: never.
    pub(crate) fn next(&self, now: u64, share: u32, amount: f64) -> Option<u64> {
        let mut left = amount * f64::from(share.max(1));
        for line in self.lines().filter(|it| it.to > now) {
            let since = line.from.max(now);
            let rate = line.rate + line.slope * (since - line.from) as f64 / SECOND;
            let length = (line.to - since) as f64 / SECOND;
            let all = (rate + line.slope * length / 2.0) * length;
            if left < all {
                // left = rate t + slope t^2 / 2, in the form that cancels nothing.
                let root = (rate * rate + 2.0 * line.slope * left).max(0.0).sqrt();
                let seconds = 2.0 * left / (rate + root);
                return Some(since + (seconds * SECOND) as u64);
            }
            left -= all;
        }
        None
    }

    /// Requests a second at a time.
    pub fn rate(&self, at: u64) -> f64 {
        let line = self.lines().find(|it| it.to > at && it.from <= at);
        line.map_or(0.0, |it| {
            it.rate + it.slope * (at - it.from) as f64 / SECOND
        })
    }

    /// How many requests are to be expected within a time from the beginning on: the integral of the rate.
    pub fn expected(&self, time: u64) -> f64 {
        let lines = self.lines().filter(|it| it.from < time);
        let requests = lines.map(|it| {
            let length = (it.to.min(time) - it.from) as f64 / SECOND;
            (it.rate + it.slope * length / 2.0) * length
        });
        requests.sum()
    }

    fn lines(&self) -> impl Iterator<Item = Line> + '_ {
        const FOR_EVER: u64 = u64::MAX / 2;
        self.0.iter().enumerate().map(|(at, point)| {
            let next = self.0.get(at + 1);
            let to = next.map_or(FOR_EVER, |it| it.at);
            let seconds = (to - point.at) as f64 / SECOND;
            let slope = match next {
                Some(next) if next.ramp && to > point.at => (next.rate - point.rate) / seconds,
                _ => 0.0,
            };
            Line {
                from: point.at,
                to,
                rate: point.rate,
                slope,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn point(at: u64, rate: f64, ramp: bool) -> Point {
        Point {
            at: at * S,
            rate,
            ramp,
        }
    }

    #[test]
    fn the_integral_of_the_rate_is_what_was_asked_for() {
        let ramp = Demand(vec![
            point(0, 0.0, false),
            point(10, 20.0, true),
            point(20, 5.0, false),
        ]);
        let cases = [
            ("at once", Demand::steady(10.0), 0, 1, 5.0, Some(S / 2)),
            ("of one of two", Demand::steady(10.0), 0, 2, 5.0, Some(S)),
            // rate = 2 t: after 5 s 25 have come.
            ("on a ramp", ramp.clone(), 0, 1, 25.0, Some(5 * S)),
            // 100 until 10 s, then 20 a second.
            ("beyond it", ramp.clone(), 0, 1, 120.0, Some(11 * S)),
            ("after a jump", ramp.clone(), 20 * S, 1, 5.0, Some(21 * S)),
            ("in the middle", ramp, 5 * S, 1, 75.0, Some(10 * S)),
            ("never", Demand::steady(0.0), 0, 1, 1.0, None),
            (
                "no longer",
                Demand(vec![point(0, 1.0, false), point(1, 0.0, false)]),
                0,
                1,
                2.0,
                None,
            ),
            (
                "not before",
                Demand(vec![point(5, 1.0, false)]),
                0,
                1,
                1.0,
                Some(6 * S),
            ),
        ];
        for (name, demand, now, share, amount, expected) in cases {
            assert_eq!(demand.next(now, share, amount), expected, "{name}");
        }
    }

    #[test]
    fn as_many_are_expected_as_the_rate_brings() {
        let ramp = Demand(vec![
            point(5, 0.0, false),
            point(15, 20.0, true),
            point(25, 5.0, false),
        ]);
        for (until, expected) in [
            (0, 0.0),
            (5, 0.0),
            (10, 25.0),
            (15, 100.0),
            (25, 300.0),
            (35, 350.0),
        ] {
            assert_eq!(ramp.expected(until * S), expected, "until {until} s");
        }
    }

    #[test]
    fn the_rate_is_linear_between_points() {
        let demand = Demand(vec![
            point(0, 10.0, false),
            point(10, 20.0, true),
            point(20, 0.0, false),
        ]);
        for (at, expected) in [(0, 10.0), (5, 15.0), (15, 20.0), (20, 0.0)] {
            assert_eq!(demand.rate(at * S), expected, "at {at} s");
        }
    }
}
