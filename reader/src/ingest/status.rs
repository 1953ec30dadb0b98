//! What columns of statuses say about how a span ended.
//!
//! Owns the words and numbers. Invariant: only what evidently tells is taken for good or bad; any other
//! word is `unknown`, for somebody to say so. O(length of the word, at most [`LONGEST`]). Pinned by
//! `tests`.

use super::intake::is_blank;

/// What one cell says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) failed: Option<bool>,
    pub(super) http: Option<u16>,
    pub(super) grpc: Option<u16>,
    /// Something stands there that is none of the known words.
    pub(super) unknown: bool,
}

impl Status {
    /// What both say: a failure before all else, then what the first says.
    pub(super) fn or(self, other: Status) -> Status {
        Status {
            failed: match other.failed {
                Some(true) => other.failed,
                _ => self.failed.or(other.failed),
            },
            http: self.http.or(other.http),
            grpc: self.grpc.or(other.grpc),
            unknown: self.unknown || other.unknown,
        }
    }
}

const NOTHING: Status = Status {
    failed: None,
    http: None,
    grpc: None,
    unknown: false,
};

const UNKNOWN: Status = Status {
    unknown: true,
    ..NOTHING
};

fn says(failed: bool) -> Status {
    Status {
        failed: Some(failed),
        ..NOTHING
    }
}

/// gRPC's codes by their numbers, other spellings of the first and the fourth, then words that tell
/// failures, then words that tell none.
const WORDS: &str = "ok cancelled unknown invalidargument deadlineexceeded notfound alreadyexists permissiondenied \
    resourceexhausted failedprecondition aborted outofrange unimplemented internal unavailable dataloss \
    unauthenticated canceled timeout timedout \
    error failure failed fail fault false ko nok exception internalerror unknownerror servererror 5xx \
    unset success true succeeded successful completed redirection informational clienterror 2xx 3xx 4xx";

/// The place of the last word that tells a failure.
const LAST_FAILURE: usize = 32;

/// The longest known word and its prefix fit.
const LONGEST: usize = 32;

/// A status by word (`Error`, `STATUS_CODE_OK`, `failure`, `DeadlineExceeded`) or by number:
/// OpenTelemetry's 0 to 2, or HTTP's from 100.
pub(super) fn status(text: &str) -> Status {
    match text {
        "" => return NOTHING,
        "Unset" | "UNSET" | "Ok" | "OK" => return says(false),
        "Error" | "ERROR" => return says(true),
        _ => {}
    }
    of_text(text, false)
}

/// The same of a column that is known to be gRPC's.
pub(super) fn grpc(text: &str) -> Status {
    match text {
        "" => NOTHING,
        _ => of_text(text, true),
    }
}

/// Whether something is `well`, or is not; other words as those of a status.
pub(super) fn truth_or_status(text: &str, well: bool) -> Status {
    if text.is_empty() {
        return NOTHING;
    }
    match truth(text) {
        Some(it) => says(it != well),
        None => status(text),
    }
}

/// A code, written `504` or `504.0`.
pub(super) fn status_number(text: &str) -> Option<u16> {
    let bytes = text.as_bytes();
    let end = bytes.iter().position(|&b| b == b'.').unwrap_or(bytes.len());
    let whole = &bytes[..end];
    let valid = matches!(whole.len(), 1..=4) && whole.iter().all(u8::is_ascii_digit);
    valid.then(|| whole.iter().fold(0, |n, b| n * 10 + u16::from(b - b'0')))
}

pub(super) fn truth(text: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|it| it.eq_ignore_ascii_case(text));
    if text.is_empty() {
        None
    } else if is(&["true", "1", "yes", "t", "1.0"]) {
        Some(true)
    } else if is(&["false", "0", "no", "f", "0.0"]) {
        Some(false)
    } else {
        None
    }
}

#[inline(never)]
fn of_text(text: &str, is_grpc: bool) -> Status {
    let text = text.trim_ascii();
    let code = |code| Status {
        grpc: Some(code),
        ..NOTHING
    };
    // `504 Gateway Timeout`
    let first = text.split(' ').next().unwrap_or(text);
    match status_number(first) {
        Some(http @ 100..) => {
            return Status {
                http: Some(http),
                ..NOTHING
            };
        }
        Some(number @ ..=16) if is_grpc => return code(number),
        Some(number @ ..=2) if first.len() == text.len() => return says(number == 2),
        Some(_) => return UNKNOWN,
        None => {}
    }
    // The one form in which words are compared: lower case without separators, and without the prefixes
    // that the specification, Python and .NET have. Longer words than any that is known are cut.
    let mut normal = [0; LONGEST];
    let mut length = 0;
    for byte in text.bytes() {
        if !matches!(byte, b'_' | b'-' | b' ' | b'.' | b'/' | b'?') && length < LONGEST {
            normal[length] = byte.to_ascii_lowercase();
            length += 1;
        }
    }
    let mut word = &normal[..length];
    for prefix in [&b"status"[..], b"code"] {
        word = word.strip_prefix(prefix).unwrap_or(word);
    }
    match WORDS.split(' ').position(|it| it.as_bytes() == word) {
        Some(0) => says(false),
        // Elastic writes it for outcomes that nobody knows. gRPC's own is spelled otherwise, but so are
        // those of others who do not know.
        Some(2) if text == "unknown" && !is_grpc => says(false),
        Some(2) if !is_grpc => UNKNOWN,
        Some(number @ ..17) => code(number as u16),
        Some(17) => code(1),
        Some(18 | 19) => code(4),
        Some(place) => says(place <= LAST_FAILURE),
        // `N/A`, `--`, `?`
        None if length == 0 || word == b"na" || is_blank(text) => NOTHING,
        None => UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_of_a_status() {
        let grpc = |code| Status {
            grpc: Some(code),
            ..NOTHING
        };
        let http = |code| Status {
            http: Some(code),
            ..NOTHING
        };
        let cases = [
            (
                says(true),
                "ERROR| ERROR|2|2.0|STATUS_CODE_ERROR|StatusCode.ERROR|Status.Error|Error|failure|FAILED|KO|ko|NOK|\
                 Fault|false|INTERNAL_ERROR|unknown_error|SERVER_ERROR|5xx",
            ),
            (
                says(false),
                "OK|ok|UNSET|0|0.0|1|STATUS_CODE_UNSET|StatusCode.OK|success|True|SUCCEEDED|REDIRECTION|2xx|4xx|CLIENT_ERROR|unknown",
            ),
            (NOTHING, "|-|null|None|N/A|n/a|?|--|undefined|\\N"),
            (grpc(1), "CANCELLED|Canceled|cancelled|StatusCode.CANCELLED"),
            (grpc(3), "INVALID_ARGUMENT|InvalidArgument"),
            (
                grpc(4),
                "DEADLINE_EXCEEDED|DeadlineExceeded|deadline exceeded|STATUS_CODE_DEADLINE_EXCEEDED|TIMEOUT|timed_out",
            ),
            (grpc(5), "NOT_FOUND|NotFound"),
            (grpc(9), "STATUS_CODE_FAILED_PRECONDITION"),
            (grpc(14), "UNAVAILABLE|unavailable"),
            (grpc(16), "UNAUTHENTICATED"),
            (http(504), "504|504.0|504 Gateway Timeout"),
            (http(200), "200|200 OK"),
            (
                UNKNOWN,
                "whatever|UNKNOWN|Unknown|3|14|-1|1 error|status|ошибка|0x2|okay then, this went well as far as we know",
            ),
        ];
        for (expected, texts) in cases {
            for text in texts.split('|') {
                assert_eq!(status(text), expected, "{text}");
            }
        }
    }

    #[test]
    fn codes_of_grpc() {
        for (code, name) in WORDS.split(' ').take(17).enumerate() {
            let number = code.to_string();
            for text in [name, &name.to_uppercase(), &number] {
                let told = grpc(text);
                let well = told == says(false) || told.grpc == Some(0);
                assert_eq!(well, code == 0, "{text}");
                assert!(well || told.grpc == Some(code as u16), "{text}");
            }
        }
        assert_eq!(WORDS.split(' ').nth(LAST_FAILURE), Some("5xx"));
        assert_eq!(grpc("UNKNOWN").grpc, Some(2));
        assert_eq!(grpc("StatusCode.UNKNOWN").grpc, Some(2));
        for (text, unknown) in [("", false), ("-", false), ("KAPUTT", true), ("99", true)] {
            let expected = Status { unknown, ..NOTHING };
            assert_eq!(grpc(text), expected, "{text}");
        }
    }

    #[test]
    fn columns_of_errors_and_of_successes() {
        let cases = [
            ("true", true, Some(false)),
            ("FALSE", true, Some(true)),
            ("1", false, Some(true)),
            ("0", false, Some(false)),
            ("1.0", false, Some(true)),
            ("0.0", true, Some(true)),
            ("", false, None),
            ("FAILED", true, Some(true)),
            ("ERROR", false, Some(true)),
            ("OK", false, Some(false)),
            ("why not", false, None),
        ];
        for (text, well, failed) in cases {
            assert_eq!(truth_or_status(text, well).failed, failed, "{text}");
        }
    }
}
