//! Whether it is well, second by second.
//!
//! Owns what recovery means: a second is bad when less than 99 % of the requests that came in it were served, and
//! it has recovered when all seconds after the last bad one were well, for a minute and a hundred requests at
//! least. Invariant: a request is counted in the second in which it came, whenever its fate is known. O(1) a
//! request and a second. Pinned by the tests below.

/// So much of a second's requests is served when it is well.
const WELL: f64 = 0.99;

/// It has recovered after so many such seconds.
const MINUTE: usize = 60;

/// A request without an answer for so many seconds hangs.
const HANGING: usize = 10;

/// Of fewer requests nobody can say that 99 % are served.
const ENOUGH: u64 = 100;

const SECOND: i64 = 1_000_000_000;

/// The requests of the groups by the second in which they came.
#[derive(Debug, Default)]
pub(crate) struct Health {
    seconds: Vec<Second>,
    /// The seconds before this one have no request without a fate.
    settled: usize,
    /// Among those that are settled.
    last_bad: Option<usize>,
    /// Requests that were served since.
    well: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Second {
    in_flight: u32,
    served: u32,
    others: u32,
}

impl Second {
    /// So many of those that are in flight count as not served.
    fn is_bad(self, hanging: u32) -> bool {
        f64::from(self.served) < WELL * f64::from(self.served + self.others + hanging)
    }
}

impl Health {
    /// A request has come.
    pub(crate) fn came(&mut self, at: i64) {
        let second = (at / SECOND) as usize;
        if self.seconds.len() <= second {
            self.seconds.resize(second + 1, Second::default());
        }
        self.seconds[second].in_flight += 1;
    }

    /// The fate of a request that came then is known.
    pub(crate) fn ended(&mut self, came: i64, served: bool) {
        let second = &mut self.seconds[(came / SECOND) as usize];
        second.in_flight -= 1;
        match served {
            true => second.served += 1,
            false => second.others += 1,
        }
    }

    /// Whether a minute has been well after it had been bad.
    pub(crate) fn has_recovered(&mut self, now: i64) -> bool {
        let past = (now / SECOND) as usize;
        while self.settled < past {
            let second = self.seconds.get(self.settled).copied();
            let second = second.unwrap_or_default();
            if second.in_flight > 0 {
                break;
            }
            if second.is_bad(0) {
                (self.last_bad, self.well) = (Some(self.settled), 0);
            } else {
                self.well += u64::from(second.served);
            }
            self.settled += 1;
        }
        let minute = |it| self.settled - (it + 1) >= MINUTE;
        self.last_bad.is_some_and(minute) && self.well >= ENOUGH
    }

    /// The first bad second, and the one from which on it was well until the end: nanoseconds. A request that
    /// has been in flight for ten seconds at the end is not served; younger ones are not counted.
    pub(crate) fn verdict(&self, end: i64) -> (Option<u64>, Option<u64>) {
        let n_seconds = (end as u64).div_ceil(SECOND as u64) as usize;
        let is_bad = |at: usize| {
            let it = self.seconds[at];
            it.is_bad(if at + HANGING < n_seconds {
                it.in_flight
            } else {
                0
            })
        };
        let first = (0..self.seconds.len()).find(|&at| is_bad(at));
        let last = (0..self.seconds.len()).rev().find(|&at| is_bad(at));
        let well_from = last.map_or(0, |it| it + 1);
        let after = self.seconds.iter().skip(well_from);
        let served: u64 = after.map(|it| u64::from(it.served)).sum();
        let enough = last.is_none() || served >= ENOUGH;
        let well = enough && n_seconds - well_from >= MINUTE.min(n_seconds);
        let ns = |second: usize| second as u64 * SECOND as u64;
        (first.map(ns), well.then(|| ns(well_from)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each second has a hundred requests, so many of which are served.
    fn health(served: impl IntoIterator<Item = u32>) -> Health {
        let mut health = Health::default();
        for (second, served) in served.into_iter().enumerate() {
            for nth in 0..100 {
                let at = second as i64 * SECOND + i64::from(nth);
                health.came(at);
                health.ended(at, nth < served);
            }
        }
        health
    }

    /// What was served in each second; the first bad one, and the one since which it was well; whether a run may
    /// stop at its end.
    type Case = (&'static str, Vec<u32>, Option<u64>, Option<u64>, bool);

    #[test]
    fn it_has_recovered_when_a_minute_after_the_last_bad_second_was_well() {
        let well = |n| std::iter::repeat_n(99, n);
        let cases: [Case; 7] = [
            ("always well", well(70).collect(), None, Some(0), false),
            ("short and well", well(5).collect(), None, Some(0), false),
            ("short and bad", vec![99, 98, 99], Some(1), None, false),
            (
                "a minute",
                well(3).chain([98, 0]).chain(well(60)).collect(),
                Some(3),
                Some(5),
                true,
            ),
            (
                "a second less",
                [98].into_iter().chain(well(59)).collect(),
                Some(0),
                None,
                false,
            ),
            (
                "a relapse",
                [0].into_iter()
                    .chain(well(40))
                    .chain([98])
                    .chain(well(60))
                    .collect(),
                Some(0),
                Some(42),
                true,
            ),
            ("never", vec![50; 100], Some(0), None, false),
        ];
        for (name, served, first_bad, well_from, stops) in cases {
            let end = served.len() as i64 * SECOND;
            let mut health = health(served);
            let seconds = |it: Option<u64>| it.map(|it| it * SECOND as u64);
            let expected = (seconds(first_bad), seconds(well_from));
            assert_eq!(health.verdict(end), expected, "{name}");
            assert_eq!(health.has_recovered(end), stops, "{name}");
        }
    }

    #[test]
    fn what_hangs_at_the_end_is_not_served() {
        for (hanging, well_from) in [(0, Some(0)), (1, Some(0)), (2, None)] {
            let mut health = health([100; 90]);
            for second in 0..90 {
                for _ in 0..hanging {
                    health.came(second * SECOND);
                }
            }
            assert_eq!(health.verdict(90 * SECOND).1, well_from, "{hanging}");
        }
        // What has just come is no sign of anything.
        let mut health = health([100; 90]);
        for second in 80..90 {
            health.came(second * SECOND);
            health.came(second * SECOND);
        }
        assert_eq!(health.verdict(90 * SECOND), (None, Some(0)));
    }

    #[test]
    fn a_second_whose_requests_still_hang_is_not_well_yet() {
        let mut health = health([0].into_iter().chain([100; 61]));
        health.came(5 * SECOND);
        assert!(!health.has_recovered(62 * SECOND));
        health.ended(5 * SECOND, true);
        assert!(health.has_recovered(62 * SECOND));
    }
}
