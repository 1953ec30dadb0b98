//! How a span ended, told from what exporters write about it.
//!
//! Owns the rules that turn status, message and codes into one [`Outcome`]. Invariant: a rule looks
//! at one span alone; what needs its neighbours (a pile-up of errors just above a timeout) is in
//! [`crate::calls`]. O(length of the message). Pinned by `tests::the_truth_table`.

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
    } else if says(TIMED_OUT)
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
    "does not permit further calls",
    "callnotpermitted",
    "circuit breaker is open",
    "circuit is open",
    "circuit is now open",
    "circuit open",
    "short-circuited",
    "brokencircuit",
    "breaker is open",
    "upstream overflow",
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
            (
                says("CircuitBreaker 'inventory' is OPEN and does not permit further calls"),
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
