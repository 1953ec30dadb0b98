//! What a span records of the breaker that its call passed: `breaker.*` attributes, as `halfopen` writes
//! them.
//!
//! Owns the short text in which rows hold them, once for all spans that say the same. Invariant: what is
//! written is read back. O(length of the name). Pinned by `tests::what_is_written_is_read` and
//! `tests/it/recorded.rs`.

use halfopen::State;

/// The attributes of one span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded<'a> {
    /// The state that admitted or rejected the call, if the span tells one that there is.
    pub state: Option<State>,
    /// How many times the state had changed.
    pub generation: Option<u64>,
    /// The call was not made.
    pub rejected: bool,
    /// What the breaker guards; empty where it has no name.
    pub name: &'a str,
}

/// Writes the values of `breaker.state`, `breaker.generation`, `breaker.rejected` (whether it is true) and
/// `breaker.name`, empty where there is none.
#[inline(never)]
pub fn write(text: &mut String, state: &str, generation: &str, rejected: bool, name: &str) {
    let rejected = if rejected { "1" } else { "0" };
    let state = State::ALL.iter().find(|it| it.as_str() == state);
    let digits = !generation.is_empty() && generation.bytes().all(|it| it.is_ascii_digit());
    text.extend([
        state.map_or("", |it| it.as_str()),
        "/",
        if digits { generation } else { "" },
        "/",
        rejected,
        "/",
        name,
    ]);
}

/// Reads what [`write()`] wrote.
#[inline(never)]
pub fn read(text: &str) -> Recorded<'_> {
    let mut parts = text.splitn(4, '/');
    let mut part = || parts.next().unwrap_or("");
    let state = part();
    Recorded {
        state: State::ALL.into_iter().find(|it| it.as_str() == state),
        generation: part().parse().ok(),
        rejected: part() == "1",
        name: part(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let cases = [
            (
                ("half_open", "12", true, "a/b"),
                (Some(State::HalfOpen), Some(12), true, "a/b"),
            ),
            (
                ("closed", "0", false, ""),
                (Some(State::Closed), Some(0), false, ""),
            ),
            (("ajar", "-1", false, "x"), (None, None, false, "x")),
            (
                ("", "99999999999999999999", true, ""),
                (None, None, true, ""),
            ),
        ];
        for ((state, generation, rejected, name), expected) in cases {
            let mut text = String::new();
            write(&mut text, state, generation, rejected, name);
            let it = read(&text);
            assert_eq!(
                (it.state, it.generation, it.rejected, it.name),
                expected,
                "{text}"
            );
        }
    }
}
