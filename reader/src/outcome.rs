//! How a span ended, told from what exporters write about it.
//!
//! Owns the rules that turn status, message and codes into one [`Outcome`]. Invariant: a rule looks
//! at one span alone; what needs its neighbours (a pile-up of errors just above a timeout) is in
//! the calls. O(length of the message). Pinned by `tests::the_truth_table`.

/// How a span ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Outcome {
    /// Nothing says that it failed.
    Success,
    /// It failed, and nothing says why or it was no timeout.
    Failure,
    /// It failed because its time was up.
    TimedOut,
    /// A breaker, or a sidecar in its place, refused the call: the span is an arrival, no outcome.
    Rejected,
}

impl Outcome {
    /// The name in JSON and on the page.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Success => "success",
            Outcome::Failure => "failure",
            Outcome::TimedOut => "timed_out",
            Outcome::Rejected => "rejected",
        }
    }

    /// Whether a breaker counts it as a failure.
    pub fn is_failure(self) -> bool {
        matches!(self, Outcome::Failure | Outcome::TimedOut)
    }
}

/// What an exporter says about how a span ended; `None` where it says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence<'a> {
    /// The status or error columns agree that it failed (`Some(true)`) or did not.
    pub failed: Option<bool>,
    /// The status message, exception message or response flags.
    pub message: &'a str,
    /// The HTTP status code.
    pub http: Option<u16>,
    /// The gRPC status code, of a column known to be gRPC.
    pub grpc: Option<u16>,
}

/// The outcome of one span.
pub fn outcome(evidence: Evidence<'_>) -> Outcome {
    let http_failed = evidence.http.is_some_and(|code| code >= 500);
    let grpc_failed = evidence.grpc.is_some_and(|code| code != 0);
    let failed = evidence.failed.unwrap_or(false) || http_failed || grpc_failed;
    if !failed {
        return Outcome::Success;
    }
    let says = |phrases: &[&str]| phrases.iter().any(|it| contains(evidence.message, it));
    if says(REJECTED) {
        Outcome::Rejected
    } else if TIMED_OUT.iter().any(|it| is_meant(evidence.message, it))
        || evidence.http == Some(504)
        || evidence.grpc == Some(4)
        || evidence.message.split([',', ' ']).any(|flag| flag == "UT")
    {
        Outcome::TimedOut
    } else {
        Outcome::Failure
    }
}

/// What breakers say when they refuse a call (resilience4j, Hystrix, Polly, gobreaker, opossum,
/// Envoy), in lower case.
const REJECTED: &[&str] = &[
    "open and does not permit further calls",
    "callnotpermitted",
    "circuit breaker is open",
    "circuit is open",
    "circuit is now open",
    "circuit open",
    "short-circuited",
    "brokencircuit",
    "breaker is open",
    "upstream overflow",
    "reset reason: overflow",
];

/// What clients and proxies say when the time is up, in lower case.
const TIMED_OUT: &[&str] = &[
    "timed out",
    "timeout",
    "time-out",
    "deadline exceeded",
    "deadline_exceeded",
    "etimedout",
];

/// Whether `text` holds `phrase`, which is in lower case, in any case of letters.
#[inline(never)]
fn contains(text: &str, phrase: &str) -> bool {
    let (text, phrase) = (text.as_bytes(), phrase.as_bytes());
    text.windows(phrase.len())
        .any(|window| window.eq_ignore_ascii_case(phrase))
}

/// Whether `text` says `phrase`, which is in lower case, somewhere without taking it back (`not a
/// timeout`) and other than as the name of a setting (`timeout=5s`, `"timeoutMs": 5000`).
#[inline(never)]
fn is_meant(text: &str, phrase: &str) -> bool {
    let bytes = text.as_bytes();
    let mut places = bytes.windows(phrase.len()).enumerate();
    places.any(|(at, window)| {
        window.eq_ignore_ascii_case(phrase.as_bytes())
            && !ends_with_denial(&bytes[..at])
            && !is_setting(&bytes[at + phrase.len()..])
    })
}

/// Whether what stands before a phrase denies it.
fn ends_with_denial(before: &[u8]) -> bool {
    let mut words = before.rsplit(|b| b.is_ascii_whitespace() || *b == b'-');
    // What stands before the phrase without a space belongs to its own word.
    if words.next().is_some_and(|own| !own.is_empty()) {
        return false;
    }
    let mut words = words.filter(|word| !word.is_empty());
    let mut word = words.next().unwrap_or_default();
    if [&b"a"[..], b"any"]
        .iter()
        .any(|it| word.eq_ignore_ascii_case(it))
    {
        word = words.next().unwrap_or_default();
    }
    const DENIALS: [&[u8]; 5] = [b"no", b"not", b"non", b"never", b"without"];
    DENIALS.iter().any(|it| word.eq_ignore_ascii_case(it)) || word.ends_with(b"n't")
}

/// Whether what follows a phrase makes it the name of a setting: `=`, or `:` and a number.
fn is_setting(after: &[u8]) -> bool {
    let word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.');
    let (name, rest) = after.split_at(after.iter().take_while(|it| word(it)).count());
    let rest = rest.strip_prefix(b"\\").unwrap_or(rest);
    // The quote that ends a key in JSON and its relatives.
    let rest = match rest {
        [b'"' | b'\'', rest @ ..] | rest => rest.trim_ascii_start(),
    };
    let tail = &name[name.len().saturating_sub(5)..];
    let exception = [&b"error"[..], b"ption"]
        .iter()
        .any(|it| tail.eq_ignore_ascii_case(it));
    match rest {
        [b'=', ..] => true,
        [b':', rest @ ..] if !exception => rest
            .trim_ascii_start()
            .first()
            .is_some_and(u8::is_ascii_digit),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_truth_table() {
        let failed = Evidence {
            failed: Some(true),
            ..Evidence::default()
        };
        let http = |code| Evidence {
            http: Some(code),
            ..Evidence::default()
        };
        let says = |message| Evidence { message, ..failed };
        let cases = [
            (Evidence::default(), Outcome::Success),
            (
                Evidence {
                    failed: Some(false),
                    ..Evidence::default()
                },
                Outcome::Success,
            ),
            (failed, Outcome::Failure),
            (http(200), Outcome::Success),
            (http(404), Outcome::Success),
            (http(499), Outcome::Success),
            (http(500), Outcome::Failure),
            (http(504), Outcome::TimedOut),
            (
                Evidence {
                    grpc: Some(4),
                    ..Evidence::default()
                },
                Outcome::TimedOut,
            ),
            (
                Evidence {
                    grpc: Some(14),
                    ..Evidence::default()
                },
                Outcome::Failure,
            ),
            (says("context deadline exceeded"), Outcome::TimedOut),
            (says("Read timed out, \"executing\" GET"), Outcome::TimedOut),
            (says("java.net.SocketTimeoutException"), Outcome::TimedOut),
            (says("UT"), Outcome::TimedOut),
            (says("UTF-8 expected"), Outcome::Failure),
            (says("HTTP 500"), Outcome::Failure),
            (says("not a timeout"), Outcome::Failure),
            (says("no timeout, the peer hung up"), Outcome::Failure),
            (says("Non-timeout error"), Outcome::Failure),
            (says("the call hasn't timed out"), Outcome::Failure),
            (says("refused (timeout=5s, retries=3)"), Outcome::Failure),
            (says("refused {\"timeout\": 5000}"), Outcome::Failure),
            (
                says("refused {'connectTimeoutMs' : 5000}"),
                Outcome::Failure,
            ),
            (says("refused timeoutMillis: 5000"), Outcome::Failure),
            (says("timeout"), Outcome::TimedOut),
            (says("timeout of 3000ms exceeded"), Outcome::TimedOut),
            (says("Timeout: the peer is slow"), Outcome::TimedOut),
            (says("timeout=5s: request timed out"), Outcome::TimedOut),
            (says("ReadTimeoutException: 3000 ms"), Outcome::TimedOut),
            (says("no answer, timeout"), Outcome::TimedOut),
            (says("piano timeout"), Outcome::TimedOut),
            (
                says("CircuitBreaker 'inventory' is OPEN and does not permit further calls"),
                Outcome::Rejected,
            ),
            // Not everything that permits no calls is a breaker.
            (
                says("Bulkhead 'inventory' is full and does not permit further calls"),
                Outcome::Failure,
            ),
            (
                says("RateLimiter 'inventory' does not permit further calls"),
                Outcome::Failure,
            ),
            (
                says(
                    "upstream connect error or disconnect/reset before headers. reset reason: overflow",
                ),
                Outcome::Rejected,
            ),
            // Words about timeouts in a call that went well change nothing.
            (
                Evidence {
                    message: "timeout=3s",
                    ..Evidence::default()
                },
                Outcome::Success,
            ),
        ];
        for (evidence, expected) in cases {
            assert_eq!(outcome(evidence), expected, "{evidence:?}");
        }
    }
}
