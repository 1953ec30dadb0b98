//! Texts within texts: names and sentences, not files.
//!
//! What `str` has for it is made for long texts, and tells a slice outside of its text in many words: with the
//! tables of Unicode that they need, a fiftieth of the page. Here the search is plain, and what is not there
//! is `None`. Cost: the product of both lengths at worst.

/// Where `part` stands in `text` first.
#[inline(never)]
pub fn find(text: &str, part: &str) -> Option<usize> {
    (0..=text.len()).find(|&at| is_at(text, at, part))
}

/// Where `part` stands in `text` last.
pub fn find_last(text: &str, part: &str) -> Option<usize> {
    (0..=text.len()).rfind(|&at| is_at(text, at, part))
}

fn is_at(text: &str, at: usize, part: &str) -> bool {
    let rest = text.as_bytes().get(at..);
    rest.is_some_and(|it| it.starts_with(part.as_bytes()))
}

/// Whether `part` stands in `text`.
pub fn holds(text: &str, part: &str) -> bool {
    find(text, part).is_some()
}

/// What stands before the first `part` in `text`, and what after it.
#[inline(never)]
pub fn split<'a>(text: &'a str, part: &str) -> Option<(&'a str, &'a str)> {
    let at = find(text, part)?;
    Some((text.get(..at)?, text.get(at + part.len()..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_found_where_it_stands_first() {
        assert_eq!(find("a->b->c", "->"), Some(1));
        assert_eq!(find_last("a->b->c", "->"), Some(4));
        assert_eq!(find("ab", "abc"), None);
        assert_eq!(find("ab", ""), Some(0));
        assert!(holds("über", "be") && !holds("", "x") && holds("", ""));
        assert_eq!(split("a->b->c", "->"), Some(("a", "b->c")));
        assert_eq!(split("ü..", ".."), Some(("ü", "")));
        assert_eq!(split("a-b", "->"), None);
    }
}
