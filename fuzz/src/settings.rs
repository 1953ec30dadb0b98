//! Settings as text, whatever the text.
//!
//! Holds: a text is a configuration or an error, and the error is one line that names a setting or
//! what was taken for one. What is printed parses to the same configuration and prints the same; so
//! does a configuration made from its own settings; the order of the pairs decides nothing.

use halfopen::{Config, ConfigErrorKind, presets};

/// Panics where it does not hold.
pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match text.parse::<Config>() {
        Ok(config) => {
            let printed = config.to_string();
            assert_eq!(printed.parse().as_ref(), Ok(&config), "{printed}");
            let again = Config::new(config.settings());
            assert_eq!(again.as_ref(), Ok(&config), "{printed}");
            assert_eq!(again.map(|it| it.to_string()), Ok(printed));
            let mut pairs: Vec<&str> = text.split([',', ' ']).collect();
            pairs.reverse();
            assert_eq!(pairs.join(" , ").parse().as_ref(), Ok(&config), "{text}");
        }
        Err(error) => {
            let sentence = error.to_string();
            assert!(sentence.contains(error.key()), "{sentence}");
            assert_eq!(sentence.lines().count(), 1, "{sentence}");
            let known = format!("{}=", error.key())
                .parse::<Config>()
                .is_err_and(|it| it.kind() != ConfigErrorKind::UnknownKey);
            if error.kind() == ConfigErrorKind::UnknownKey {
                assert!(text.contains(error.key()) && !known, "{sentence}");
            } else {
                assert!(known, "{sentence}");
            }
        }
    }
}

/// Every key with every kind of value, right and wrong.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = crate::owned(&[
        "",
        "window=100,min=20,fail=50%,open=60s,probes=10",
        "window=10s/1s min=20 fail=50% slow=80%@500ms open=5s backoff=2x max-open=1m probes=5 ramp=30s",
        "window=10s consecutive=5 timeout=500ms backoff=1.5x jitter=equal seed=7 lease=off auto=yes",
        "window=40ns/10ns min=2 fail=off slow=off consecutive=2 judge=first-failure jitter=full",
        "ramp=10%/25%/50%/100%@5s,lease=1.5h,open=0.000000001s,auto=no,judge=rate,jitter=none",
        "window=1000000,min=1000000000,probes=10000,seed=18446744073709551615,fail=0.0001%",
        "max-open=8760h,open=365.5us,slow=33.3333%@2m,timeout=off,consecutive=off,max-open=off",
        "probes=0",
        "window=10s/3s",
        "fail=101%,fail=1%",
        "fail=off,slow=off,judge=rate",
        "ramp=50%/10%@1s",
        "windows=5",
        "open=1.0000000001s",
    ]);
    let presets = presets::ALL.iter().map(|it| it.config().to_string());
    seeds.extend(presets.map(String::into_bytes));
    seeds
}
