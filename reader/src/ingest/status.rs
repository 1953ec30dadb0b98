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

const fn says(failed: bool) -> Status {
    Status {
        failed: Some(failed),
        ..NOTHING
    }
}

const fn http(code: u16) -> Status {
    Status {
        http: Some(code),
        ..NOTHING
    }
}

const UNKNOWN: Status = Status {
    unknown: true,
    ..NOTHING
};

/// gRPC's codes by their numbers, then other spellings of the first and of the fourth.
const GRPC: &str = "ok cancelled unknown invalidargument deadlineexceeded notfound alreadyexists permissiondenied \
    resourceexhausted failedprecondition aborted outofrange unimplemented internal unavailable dataloss \
    unauthenticated canceled timeout timedout";

const WELL: &str = "unset success true succeeded successful passed completed unspecified redirection informational 2xx 3xx";

const BADLY: &str = "error failure failed fail fault false ko nok notok err exception internalerror \
    unknownerror servererror 5xx";

/// The longest known word and its prefix fit.
const LONGEST: usize = 32;

/// A status by word (`Error`, `STATUS_CODE_OK`, `failure`, `DeadlineExceeded`) or by number:
/// OpenTelemetry's 0 to 2, or HTTP's from 100.
pub(super) fn status(text: &str) -> Status {
    let text = text.trim();
    match text {
        "" => return NOTHING,
        "Unset" | "UNSET" | "Ok" | "OK" => return says(false),
        "Error" | "ERROR" => return says(true),
        _ => {}
    }
    // `504 Gateway Timeout`
    let first = || text.split(' ').next().and_then(status_number);
    match status_number(text).or_else(|| first().filter(|&it| it >= 100)) {
        Some(0 | 1) => says(false),
        Some(2) => says(true),
        Some(code @ 100..) => http(code),
        Some(_) => UNKNOWN,
        None => of_word(text),
    }
}

/// A code of gRPC, by number or name, of a column known to be gRPC's.
pub(super) fn grpc(text: &str) -> Status {
    if text.is_empty() {
        return NOTHING;
    }
    let mut normal = [0; LONGEST];
    match status_number(text).or_else(|| grpc_number(normalised(text, &mut normal))) {
        None if !is_blank(text) => UNKNOWN,
        grpc => Status { grpc, ..NOTHING },
    }
}

/// Whether something is true; other words as those of a status that stands for `well`.
pub(super) fn truth_or_status(text: &str, well: bool) -> Status {
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
    } else if is(&["true", "1", "yes", "t"]) {
        Some(true)
    } else if is(&["false", "0", "no", "f"]) {
        Some(false)
    } else {
        None
    }
}

#[inline(never)]
fn of_word(text: &str) -> Status {
    let mut normal = [0; LONGEST];
    let word = normalised(text, &mut normal);
    if place(WELL, word).is_some() {
        return says(false);
    }
    if place(BADLY, word).is_some() {
        return says(true);
    }
    match (word, grpc_number(word)) {
        (_, Some(0)) => says(false),
        // Elastic writes it for outcomes that nobody knows. gRPC's own is spelled otherwise, but so are
        // those of others who do not know.
        (_, Some(2)) if text == "unknown" => says(false),
        (_, Some(2)) => UNKNOWN,
        (_, Some(code)) => Status {
            grpc: Some(code),
            ..NOTHING
        },
        (b"4xx" | b"clienterror", _) => http(400),
        // `N/A`, `--`, `?`
        (b"" | b"na", _) => NOTHING,
        _ if is_blank(text) => NOTHING,
        _ => UNKNOWN,
    }
}

/// The one form in which words are compared: lower case without separators, and without the prefixes
/// that the specification, Python and .NET have. Longer words than any that is known are cut.
fn normalised<'a>(text: &str, buffer: &'a mut [u8; LONGEST]) -> &'a [u8] {
    let separates = |it: &u8| matches!(it, b'_' | b'-' | b' ' | b'.' | b'/' | b'?');
    let kept = text.bytes().filter(|it| !separates(it));
    let mut length = 0;
    for (to, byte) in buffer.iter_mut().zip(kept) {
        *to = byte.to_ascii_lowercase();
        length += 1;
    }
    let mut word = &buffer[..length];
    for prefix in [&b"status"[..], b"code"] {
        word = match word.strip_prefix(prefix) {
            Some(rest) if !rest.is_empty() => rest,
            _ => word,
        };
    }
    word
}

fn grpc_number(word: &[u8]) -> Option<u16> {
    match place(GRPC, word)? {
        17 => Some(1),
        18.. => Some(4),
        code => Some(code as u16),
    }
}

/// The place of a word among words.
fn place(words: &str, word: &[u8]) -> Option<usize> {
    words.split(' ').position(|it| it.as_bytes() == word)
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
        let cases = [
            (
                says(true),
                "ERROR| ERROR|2|2.0|STATUS_CODE_ERROR|StatusCode.ERROR|Status.Error|Error|failure|FAILED|KO|ko|NOK|\
                 Fault|false|INTERNAL_ERROR|unknown_error|SERVER_ERROR|5xx",
            ),
            (
                says(false),
                "OK|ok|UNSET|0|0.0|1|STATUS_CODE_UNSET|StatusCode.OK|success|True|SUCCEEDED|REDIRECTION|2xx|unknown",
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
            (http(400), "4xx|CLIENT_ERROR"),
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
        let names = GRPC.split(' ').take(17).enumerate();
        for (code, name) in names {
            let (code, number) = (Some(code as u16), code.to_string());
            for text in [name, &name.to_uppercase(), &number] {
                assert_eq!(grpc(text).grpc, code, "{text}");
            }
        }
        assert_eq!(grpc("UNKNOWN").grpc, Some(2));
        assert_eq!(grpc("StatusCode.UNKNOWN").grpc, Some(2));
        for (text, unknown) in [("", false), ("-", false), ("KAPUTT", true)] {
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
