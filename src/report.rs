//! What is told of an engine, or a page, that has stopped: enough to find out why, and nothing of the data.
//!
//! Owns the text. Invariant: no name of a file, a service or an operation gets into it, whatever a panic says: what
//! stands in quotes is left out, for that is where a panic has the values that it met. Cost: the length of the text.
//! Pinned by `tests/it/report.rs`.

use crate::filter::holds;

/// What is known of an end: a line each, by its name.
pub fn report(known: &[[&str; 2]], why: &str) -> String {
    let mut text = ["herdscope ", env!("CARGO_PKG_VERSION")].concat();
    for [name, value] in known {
        for part in ["\n", name, ": ", value] {
            text.push_str(part);
        }
    }
    text.push_str("\nended: ");
    push_without_quoted(&mut text, why);
    text
}

/// Whether it ended without a word, as it does where there is no memory left.
pub fn is_mute(why: &str) -> bool {
    !holds(why, "panicked")
}

/// Adds a text with `…` for all that stands in quotes or backticks. A quote that is not closed takes the rest along; an
/// apostrophe within a word is no quote.
fn push_without_quoted(to: &mut String, text: &str) {
    let (mut within, mut before) = (None, ' ');
    for it in text.chars() {
        let escaped = before == '\\';
        match within {
            Some(quote) if it == quote && !escaped => within = None,
            // A backslash that is escaped escapes nothing.
            Some(_) => {
                before = if escaped { ' ' } else { it };
                continue;
            }
            None if matches!(it, '"' | '`') || it == '\'' && !before.is_ascii_alphanumeric() => {
                to.push(it);
                within = Some(it);
                before = ' ';
                to.push('…');
                continue;
            }
            None => {}
        }
        to.push(it);
        before = it;
    }
}
