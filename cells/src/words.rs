//! Bytes, eight at a time.
//!
//! Owns the arithmetic on words that the other loops are made of. Invariant: each function says of a word what
//! it says of its bytes one by one, the first byte being the lowest. Pinned by `tests`.

/// So many bytes are a word.
pub const WIDTH: usize = 8;

const ONES: u64 = u64::from_ne_bytes([1; WIDTH]);
const TOPS: u64 = u64::from_ne_bytes([0x80; WIDTH]);

/// The word that begins at a place, if a whole one does.
#[inline(always)]
pub fn at(text: &[u8], at: usize) -> Option<u64> {
    let bytes = text.get(at..)?.first_chunk::<WIDTH>()?;
    Some(u64::from_le_bytes(*bytes))
}

/// A word of one byte.
#[inline(always)]
pub const fn of(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; WIDTH])
}

/// Marks the highest bit of each byte that is that of `wanted` ([`of`]). The lowest mark is right, those above
/// it may not be: they are to be looked at one by one.
#[inline(always)]
pub const fn equal(word: u64, wanted: u64) -> u64 {
    let differences = word ^ wanted;
    differences.wrapping_sub(ONES) & !differences & TOPS
}

/// The place in its word of the lowest mark.
#[inline(always)]
pub const fn first(marks: u64) -> usize {
    (marks.trailing_zeros() / 8) as usize
}

/// Whether no byte is beyond ASCII.
#[inline(always)]
pub const fn is_ascii(word: u64) -> bool {
    word & TOPS == 0
}

/// The number that eight digits are, the first being the highest.
#[inline(always)]
pub const fn digits(word: u64) -> Option<u64> {
    let values = word ^ of(b'0');
    // Above nine, six more reach the high half of the byte; what has a high half is none at once.
    if (values.wrapping_add(of(6)) | values) & of(0xF0) != 0 {
        return None;
    }
    let pairs = (values * 10 + (values >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    Some((fours * 10_000 + (fours >> 32)) & 0xFFFF_FFFF)
}

/// The number that eight hexadecimal digits in lower case are.
#[inline(never)]
pub const fn hex(word: u64) -> Option<u32> {
    // Letters are told by the bit that digits do not have there: 0x61..=0x66 beside 0x30..=0x39.
    let letters = (word >> 6) & ONES;
    let values = (word & of(0x0F)) + letters * 9;
    // Each byte again as it must have been written.
    let written = values + of(b'0') + letters * 39;
    let in_range = values & of(0xF0) == 0 && !has_ten_below_letters(values, letters);
    if written != word || !in_range {
        return None;
    }
    let pairs = ((values << 4) | (values >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = ((pairs << 8) | (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    Some(((fours << 16) | (fours >> 32)) as u32)
}

/// Whether a byte without a letter stands for more than nine, or one with a letter for less than ten.
const fn has_ten_below_letters(values: u64, letters: u64) -> bool {
    // Six more carry into the high half from ten on.
    let tens = ((values + of(6)) >> 4) & ONES;
    tens != letters
}

/// Whether two texts are the same.
#[inline]
pub fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let (a_words, a_rest) = a.as_chunks::<WIDTH>();
    let (b_words, b_rest) = b.as_chunks::<WIDTH>();
    let words = |pair: (&[u8; WIDTH], &[u8; WIDTH])| {
        u64::from_le_bytes(*pair.0) == u64::from_le_bytes(*pair.1)
    };
    a_words.iter().zip(b_words).all(words) && a_rest.iter().zip(b_rest).all(|(a, b)| a == b)
}

/// Mixes a text into a hash.
#[inline]
pub fn mix(mut hash: u64, text: &[u8]) -> u64 {
    let (words, rest) = text.as_chunks::<WIDTH>();
    for word in words {
        hash = mix_word(hash, u64::from_le_bytes(*word));
    }
    let last = rest
        .iter()
        .fold(0, |word, &byte| word << 8 | u64::from(byte));
    // The length tells a text from one with zeros before its last bytes.
    mix_word(hash, last) ^ text.len() as u64
}

/// Mixes a number into a hash.
#[inline(always)]
pub const fn mix_word(hash: u64, word: u64) -> u64 {
    // An odd number without a pattern: 2^64 divided by the golden ratio.
    (hash.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// A hash whose high bits and low bits all depend on every byte, as tables want it.
#[inline(always)]
pub const fn finished(hash: u64) -> u64 {
    (hash ^ (hash >> 32))
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .rotate_left(20)
}

/// The hash of a text.
#[inline]
pub fn hash(text: &[u8]) -> u64 {
    finished(mix(0, text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_word_says_what_its_bytes_say(bytes: [u8; 8], few in proptest::collection::vec(0x2Fu8..0x68, 8)) {
            let few: [u8; 8] = few.try_into().unwrap();
            for bytes in [bytes, few] {
                let word = u64::from_le_bytes(bytes);
                prop_assert_eq!(is_ascii(word), bytes.is_ascii());
                for wanted in [bytes[3], b',', b'\n'] {
                    let found = bytes.iter().position(|&it| it == wanted);
                    let marks = equal(word, of(wanted));
                    prop_assert_eq!((marks != 0).then(|| first(marks)), found);
                }
                let text = String::from_utf8_lossy(&bytes);
                let is_number = bytes.iter().all(u8::is_ascii_digit);
                prop_assert_eq!(digits(word), is_number.then(|| text.parse().unwrap()));
                let is_hex = bytes.iter().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
                let number = u32::from_str_radix(&text, 16).ok();
                prop_assert_eq!(hex(word), number.filter(|_| is_hex));
            }
        }

        #[test]
        fn digits_and_hex_are_read(number in 0u64..100_000_000, hexed: u32) {
            let text = format!("{number:08}");
            prop_assert_eq!(digits(at(text.as_bytes(), 0).unwrap()), Some(number));
            let text = format!("{hexed:08x}");
            prop_assert_eq!(hex(at(text.as_bytes(), 0).unwrap()), Some(hexed));
        }

        #[test]
        fn texts_are_the_same_when_their_bytes_are(a: Vec<u8>, mut b: Vec<u8>, at: usize, bit in 0u8..8) {
            prop_assert_eq!(same(&a, &b), a == b);
            b.clone_from(&a);
            prop_assert!(same(&a, &b) && hash(&a) == hash(&b));
            if !a.is_empty() {
                b[at % a.len()] ^= 1 << bit;
                prop_assert!(!same(&a, &b) && hash(&a) != hash(&b));
            }
        }
    }
}
