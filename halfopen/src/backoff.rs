//! How long the breaker stays open: exponential backoff, its cap, its jitter.
//!
//! Owns the only randomness of the crate, which is none: the jitter of an
//! opening is a function of the seed and of how many openings there have been,
//! so that a log of calls replayed gives the same waits. Invariant: a wait
//! never exceeds the cap and nothing overflows. Cost: a multiplication per
//! opening, nothing per call. Sources: equal and full jitter as AWS and
//! Finagle define them. Pinned by the tests below.

/// The largest multiplier, in thousandths: 100x.
pub(crate) const MAX_MULTIPLIER: u32 = 100_000;

/// How the wait of an opening is spread, so that many breakers that opened
/// together do not probe together. `d` is the wait after backoff and cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Jitter {
    /// Exactly `d`.
    None,
    /// Uniform between `d/2` and `d`.
    Equal,
    /// Uniform between nothing and `d`.
    Full,
}

/// The part of the configuration that says how long to stay open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backoff {
    pub(crate) first: u64,
    pub(crate) max: u64,
    pub(crate) seed: u64,
    pub(crate) multiplier: u32,
    pub(crate) jitter: Jitter,
}

impl Backoff {
    /// The wait before jitter that follows `wait` at a re-opening: multiplied,
    /// rounded down to a nanosecond, capped.
    pub(crate) fn after(&self, wait: u64) -> u64 {
        let grown = u128::from(wait) * u128::from(self.multiplier) / 1_000;
        u64::try_from(grown).unwrap_or(u64::MAX).min(self.max)
    }

    /// `wait` with the jitter of the `opening`-th opening of this breaker.
    pub(crate) fn spread(&self, wait: u64, opening: u64) -> u64 {
        let draw = || splitmix64(self.seed, opening);
        match self.jitter {
            Jitter::None => wait,
            Jitter::Equal => wait - wait / 2 + scale(draw(), wait / 2),
            Jitter::Full => scale(draw(), wait),
        }
    }
}

/// The `n`-th number of the splitmix64 sequence that starts at `seed`
/// (Steele, Lea and Flood, 2014), reached without the ones before it.
pub(crate) fn splitmix64(seed: u64, n: u64) -> u64 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut z = seed.wrapping_add(n.wrapping_add(1).wrapping_mul(GOLDEN));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// FNV-1a, 64 bits.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Maps a random word onto `0..=limit` without division.
pub(crate) fn scale(random: u64, limit: u64) -> u64 {
    ((u128::from(random) * (u128::from(limit) + 1)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backoff(jitter: Jitter) -> Backoff {
        Backoff {
            first: 1_000,
            max: 60_000,
            seed: 7,
            multiplier: 2_000,
            jitter,
        }
    }

    #[test]
    fn grows_to_the_cap_and_saturates() {
        let b = backoff(Jitter::None);
        let mut wait = b.first;
        let mut seen = [0; 8];
        for slot in &mut seen {
            *slot = wait;
            wait = b.after(wait);
        }
        assert_eq!(
            seen,
            [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]
        );

        let unlimited = Backoff {
            max: u64::MAX,
            multiplier: MAX_MULTIPLIER,
            ..b
        };
        assert_eq!(unlimited.after(u64::MAX), u64::MAX);
    }

    #[test]
    fn fractions_round_down() {
        let b = Backoff {
            multiplier: 1_500,
            ..backoff(Jitter::None)
        };
        assert_eq!(b.after(1_001), 1_501);
    }

    #[test]
    fn jitter_stays_in_its_range_and_fills_it() {
        for (jitter, low) in [(Jitter::Equal, 500), (Jitter::Full, 0)] {
            let b = backoff(jitter);
            let (mut min, mut max) = (u64::MAX, 0);
            for opening in 0..10_000 {
                let wait = b.spread(1_000, opening);
                assert_eq!(wait, b.spread(1_000, opening));
                min = min.min(wait);
                max = max.max(wait);
            }
            assert!(min >= low && min < low + 5, "{jitter:?} {min}");
            assert!(max <= 1_000 && max > 995, "{jitter:?} {max}");
        }
        assert_eq!(backoff(Jitter::Equal).spread(u64::MAX, 1) >> 63, 1);
        assert_eq!(backoff(Jitter::Full).spread(0, 1), 0);
    }

    #[test]
    fn generators_give_their_published_values() {
        // The first outputs of the reference implementation for seed 0.
        assert_eq!(splitmix64(0, 0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(splitmix64(0, 1), 0x6e78_9e6a_a1b9_65f4);
        // From the table of the FNV authors.
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
