//! The settings of well-known breakers, as near as this one comes.
//!
//! Owns the translations; each is the documented default of its peer, in
//! canonical settings text, with a sentence on what that leaves out.
//! Invariant: every text parses and is canonical, and is what its page shows.
//! Cost: none. Pinned by the tests below.

use alloc::vec::Vec;

use crate::config::{Config, ConfigError};

/// A named breaker: its settings and what they cannot say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preset {
    /// A short name, lower case, for a link or a command line.
    pub name: &'static str,
    /// The name a person knows.
    pub title: &'static str,
    /// The canonical settings text.
    pub text: &'static str,
    /// What these settings cannot express of the peer.
    pub note: &'static str,
}

impl Preset {
    /// The settings, parsed.
    pub fn config(&self) -> Config {
        // `presets_are_canonical` holds that every text parses.
        self.text.parse().unwrap_or_default()
    }
}

/// All presets.
pub const ALL: [Preset; 5] = [RESILIENCE4J, HYSTRIX, POLLY, GOBREAKER, ENVOY];

/// Constants whose pages show their texts and notes.
macro_rules! presets {
    ($($(#[$doc:meta])* $preset:ident, $name:literal, $title:literal, $text:literal, $note:literal;)*) => {$(
        $(#[$doc])*
        #[doc = concat!("\n```text\n", $text, "\n```\n\n", $note)]
        pub const $preset: Preset = Preset {
            name: $name,
            title: $title,
            text: $text,
            note: $note,
        };
    )*};
}

presets! {
    /// Resilience4j, `CircuitBreakerConfig`.
    RESILIENCE4J, "resilience4j", "Resilience4j",
    "window=100,min=100,fail=50%,open=60s,probes=10",
    "There a probe that never reports blocks for ever and late results count in whatever state they meet; \
     here probes have a lease and late results are dropped.";

    /// Hystrix, `HystrixCommandProperties`.
    HYSTRIX, "hystrix", "Hystrix",
    "window=10s/1s,min=20,fail=50%,slow=off,timeout=1s,open=5s,probes=1,judge=first-failure",
    "There the rate is looked at every 500 ms and cut to whole percent; here after every result and exactly.";

    /// Polly v8, `CircuitBreakerStrategyOptions`.
    POLLY, "polly", "Polly v8",
    "window=30s/3s,min=100,fail=10%,slow=off,open=5s,probes=1,judge=first-failure",
    "There only failures are judged and a cancelled probe closes the breaker; here every result is judged and \
     a cancelled probe decides nothing.";

    /// gobreaker v2, `Settings`.
    GOBREAKER, "gobreaker", "gobreaker v2",
    "window=100,min=100,fail=off,slow=off,consecutive=6,open=60s,probes=1,judge=first-failure",
    "There a function of all counts decides and its default trips at more than five failures in a row; here \
     only that default is expressed.";

    /// Envoy's outlier detection, `outlier_detection.proto`.
    ENVOY, "envoy", "Envoy outlier detection (approximation)",
    "window=10s/1s,min=100,fail=off,slow=off,consecutive=5,open=30s,backoff=2x,max-open=300s,probes=1,\
     judge=first-failure",
    "There one host of many is ejected, for 30 s longer each time, and comes back at full weight without \
     half-open; here the wait doubles and one probe decides, and hosts are not compared.";
}

/// The preset of that name.
pub fn find(name: &str) -> Option<&'static Preset> {
    const PRESETS: &[Preset] = &ALL;
    PRESETS.iter().find(|it| it.name == name)
}

/// The settings of the preset that a text names, or those that it says.
///
/// ```
/// assert_eq!(halfopen::presets::read("envoy")?, halfopen::presets::ENVOY.config());
/// assert_eq!(halfopen::presets::read("open=5s")?.settings().open, 5_000_000_000);
/// # Ok::<(), halfopen::ConfigError>(())
/// ```
///
/// # Errors
///
/// Those of the settings; where a word stands alone, with the names that it might have been.
pub fn read(text: &str) -> Result<Config, ConfigError> {
    if let Some(preset) = find(text.trim()) {
        return Ok(preset.config());
    }
    text.parse()
        .map_err(|error: ConfigError| match text.contains('=') {
            true => error,
            false => {
                let names: Vec<&str> = ALL.iter().map(|it| it.name).collect();
                error.or_allowed(&alloc::format!("; or a preset: {}", names.join(", ")))
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_word_alone_was_meant_to_be_a_preset() {
        let error = |text: &str| read(text).expect_err(text).to_string();
        assert!(
            error("envoyy")
                .ends_with("; or a preset: resilience4j, hystrix, polly, gobreaker, envoy")
        );
        assert!(!error("windwo=5").contains("preset"));
        assert_eq!(read(" polly "), Ok(POLLY.config()));
    }

    #[test]
    fn presets_are_canonical() {
        for preset in ALL {
            let config: Config = preset.text.parse().expect(preset.name);
            assert_eq!(config.to_string(), preset.text);
            assert_eq!(config, preset.config());
            assert_eq!(find(preset.name), Some(&preset));
        }
        assert_eq!(find("none"), None);
    }

    #[test]
    fn resilience4j_is_the_default() {
        assert_eq!(RESILIENCE4J.config(), Config::default());
    }
}
