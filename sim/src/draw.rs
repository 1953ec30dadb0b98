//! Random numbers by name: the n-th draw of a stream is a function of the seed, the stream and n.
//!
//! Owns all chance of a simulation. Invariant: what one part of a scenario draws never moves what another
//! draws, so that a remedy is measured on the very arrivals and service times of the run without it (common
//! random numbers). The generator is SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
//! generators, 2014), whose n-th value needs no other. O(1) a draw. Pinned by `tests`.

use crate::scenario::Spread;

/// What is drawn. Each is a stream of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Gaps between the requests of a client, by its number among all.
    Arrival(u32),
    /// How long a service works on a request, by the service.
    Work(u32),
    /// How long its worker is held, by the service.
    Held(u32),
    /// Which pods a request may go to, by the service.
    Balance(u32),
    /// How long a pod takes to start.
    Start(u32),
    /// Which requests of a service fail, by the service.
    Fails(u32),
    /// What a request draws that another one makes.
    Nested,
    /// The ids of traces and spans.
    Id,
}

impl Stream {
    fn number(self) -> u64 {
        let (kind, of) = match self {
            Stream::Arrival(of) => (1, of),
            Stream::Work(of) => (2, of),
            Stream::Held(of) => (3, of),
            Stream::Balance(of) => (4, of),
            Stream::Start(of) => (5, of),
            Stream::Nested => (6, 0),
            Stream::Id => (7, 0),
            Stream::Fails(of) => (8, of),
        };
        kind << 32 | u64::from(of)
    }
}

/// More than that many tries fail once in 10^21.
const TRIES: u64 = 32;

/// All draws of a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    seed: u64,
}

/// The odd number nearest to 2^64 by the golden ratio, SplitMix64's step.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Draws {
    pub(crate) fn new(seed: u64) -> Draws {
        Draws {
            seed: mix(seed.wrapping_add(STEP)),
        }
    }

    /// The `at`-th number of a stream.
    pub(crate) fn bits(self, stream: Stream, at: u64) -> u64 {
        number(self.of(stream), at)
    }

    /// What all numbers of a stream have in common.
    fn of(self, stream: Stream) -> u64 {
        mix(self.seed ^ stream.number().wrapping_mul(STEP))
    }

    /// Between 0 and 1, neither included.
    pub(crate) fn unit(self, stream: Stream, at: u64) -> f64 {
        share(self.bits(stream, at))
    }

    /// A whole number below `n`; 0 where that is 0.
    pub(crate) fn below(self, stream: Stream, at: u64, n: u64) -> u64 {
        ((u128::from(self.bits(stream, at)) * u128::from(n)) >> 64) as u64
    }

    /// Exponential, with a mean of 1: what a rate adds up to until the next of events that come
    /// independently.
    pub(crate) fn exponential(self, stream: Stream, at: u64) -> f64 {
        -libm::log(self.unit(stream, at))
    }

    /// A time, nanoseconds.
    pub(crate) fn time(self, stream: Stream, at: u64, spread: Spread) -> u64 {
        match spread {
            Spread::LogNormal { median, sigma: 0.0 } => median,
            Spread::LogNormal { median, sigma } => {
                whole(median as f64 * libm::exp(sigma * self.normal(stream, at)))
            }
            Spread::Exponential { mean } => whole(mean as f64 * self.exponential(stream, at)),
        }
    }

    /// Normal, with a mean of 0 and a deviation of 1: the polar method (Marsaglia and Bray, 1964). A try succeeds
    /// in 79 of a hundred.
    fn normal(self, stream: Stream, at: u64) -> f64 {
        let (of, first) = (self.of(stream), at.wrapping_mul(2 * TRIES));
        for nth in (0..2 * TRIES).step_by(2) {
            let side = |nth| 2.0 * share(number(of, first.wrapping_add(nth))) - 1.0;
            let (x, y) = (side(nth), side(nth + 1));
            let square = x * x + y * y;
            if square < 1.0 && square > 0.0 {
                return x * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
        0.0
    }
}

/// The `at`-th number of a stream.
fn number(of_stream: u64, at: u64) -> u64 {
    mix(of_stream.wrapping_add(at.wrapping_add(1).wrapping_mul(STEP)))
}

/// Between 0 and 1, neither included.
fn share(bits: u64) -> f64 {
    ((bits >> 12) as f64 + 0.5) / (1u64 << 52) as f64
}

/// SplitMix64's finaliser.
pub(crate) fn mix(it: u64) -> u64 {
    let it = (it ^ it >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let it = (it ^ it >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    it ^ it >> 31
}

/// Whole nanoseconds; what is beyond a year is a year.
fn whole(ns: f64) -> u64 {
    const YEAR: f64 = 365.0 * 86_400.0 * 1e9;
    ns.clamp(0.0, YEAR) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_is_a_function_of_seed_stream_and_place() {
        let draws = Draws::new(7);
        let first = draws.bits(Stream::Arrival(0), 0);
        assert_eq!(first, Draws::new(7).bits(Stream::Arrival(0), 0));
        for other in [
            Draws::new(8).bits(Stream::Arrival(0), 0),
            draws.bits(Stream::Arrival(1), 0),
            draws.bits(Stream::Arrival(0), 1),
            draws.bits(Stream::Work(0), 0),
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn the_draws_have_their_means() {
        const N: u64 = 100_000;
        let draws = Draws::new(1);
        let mean = |it: &dyn Fn(u64) -> f64| (0..N).map(it).sum::<f64>() / N as f64;
        // Five standard deviations of the mean of so many at either side.
        let near = |got: f64, expected: f64, deviation: f64| {
            let off = (got - expected).abs() / (deviation / (N as f64).sqrt());
            assert!(off < 5.0, "{got} is not {expected}");
        };
        near(
            mean(&|at| draws.unit(Stream::Id, at)),
            0.5,
            12f64.sqrt().recip(),
        );
        near(
            mean(&|at| draws.exponential(Stream::Arrival(3), at)),
            1.0,
            1.0,
        );
        let time = |stream, spread| mean(&|at| draws.time(stream, at, spread) as f64);
        // exp(sigma squared / 2) medians, and a deviation of sqrt(exp(sigma squared) - 1) means.
        let of_mean = libm::exp(0.125) * 1e6;
        let spread = Spread::LogNormal {
            median: 1_000_000,
            sigma: 0.5,
        };
        near(
            time(Stream::Work(1), spread),
            of_mean,
            of_mean * libm::expm1(0.25).sqrt(),
        );
        near(
            time(Stream::Held(0), Spread::Exponential { mean: 1_000_000 }),
            1e6,
            1e6,
        );
        assert_eq!(draws.time(Stream::Work(1), 5, Spread::same(7)), 7);
    }
}
