//! The frame around compressed bytes (RFC 1952): headers, checks, members one after the other.
//!
//! flate2 inflates; the frame is ours because its table of check sums is 16 kB that no page can compress,
//! while ours is made at the first use. Invariants: any split of the bytes into pushes gives the same
//! bytes out; nothing is given for a damaged block, and an end without its checks is no end. Cost: one
//! walk over what comes out besides inflating. Pinned by the tests below and `tests/ingest/properties.rs`.

use flate2::{Decompress, FlushDecompress, Status};

/// Unpacks one file.
pub(super) struct Gunzip {
    part: Part,
    /// The bytes of a header or a trailer that is not whole yet.
    held: Vec<u8>,
    inflate: Decompress,
    /// What one step of inflating gives.
    out: Box<[u8]>,
    check: Check,
    size: u32,
    /// There was a whole member.
    any: bool,
}

/// Where in a member the next byte lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Header,
    Body,
    Trailer,
    /// After a member: another one, or zeros and line breaks that tapes and editors pad files with.
    Between,
    /// Something else after the last member, of which nothing is read.
    Rest,
}

/// Why no more can be unpacked.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop<E> {
    /// These are no bytes of a gz file.
    Damaged,
    /// Whoever took the bytes wants no more.
    Refused(E),
}

const OUT: usize = 32 << 10;
const TRAILER: usize = 8;
/// Names and comments longer than that are damage.
const LONGEST_HEADER: usize = 128 << 10;

impl Gunzip {
    pub(super) fn new() -> Gunzip {
        Gunzip {
            part: Part::Header,
            held: Vec::new(),
            inflate: Decompress::new(false),
            out: vec![0; OUT].into_boxed_slice(),
            check: Check::new(),
            size: 0,
            any: false,
        }
    }

    /// Takes the next bytes, gives on what they unpack to.
    pub(super) fn push<E>(
        &mut self,
        mut bytes: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), Stop<E>> {
        while !bytes.is_empty() {
            bytes = match self.part {
                Part::Body => self.body(bytes, sink)?,
                Part::Header => {
                    let before = self.held.len();
                    self.held.extend_from_slice(bytes);
                    match header(&self.held, &mut self.check) {
                        Header::Whole(size) => {
                            self.begin(Part::Body);
                            &bytes[size - before..]
                        }
                        Header::Begun if self.held.len() < LONGEST_HEADER => &[],
                        _ if self.any => {
                            self.begin(Part::Rest);
                            &[]
                        }
                        _ => return Err(Stop::Damaged),
                    }
                }
                Part::Trailer => {
                    let wanted = (TRAILER - self.held.len()).min(bytes.len());
                    let (now, later) = bytes.split_at(wanted);
                    self.held.extend_from_slice(now);
                    if self.held.len() == TRAILER {
                        let expected = [self.check.value.to_le_bytes(), self.size.to_le_bytes()];
                        if self.held != expected.as_flattened() {
                            return Err(Stop::Damaged);
                        }
                        self.begin(Part::Between);
                        self.any = true;
                    }
                    later
                }
                Part::Between => {
                    let pads = |it: &&u8| matches!(it, 0 | b'\r' | b'\n');
                    let padding = bytes.iter().take_while(pads).count();
                    if padding < bytes.len() {
                        self.begin(Part::Header);
                    }
                    &bytes[padding..]
                }
                Part::Rest => &[],
            };
        }
        Ok(())
    }

    /// Whether the bytes so far are whole members.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.part, Part::Header | Part::Between | Part::Rest) && self.held.is_empty()
    }

    /// Whether something stands after the last member that is none.
    pub(super) fn has_rest(&self) -> bool {
        self.part == Part::Rest
    }

    fn begin(&mut self, part: Part) {
        self.part = part;
        self.held.clear();
        if part == Part::Body {
            self.inflate.reset(false);
            self.check.value = 0;
            self.size = 0;
        }
    }

    /// Inflates; what is left belongs to the trailer.
    fn body<'a, E>(
        &mut self,
        mut bytes: &'a [u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<&'a [u8], Stop<E>> {
        loop {
            let before = (self.inflate.total_in(), self.inflate.total_out());
            let status = self
                .inflate
                .decompress(bytes, &mut self.out, FlushDecompress::None)
                .map_err(|_| Stop::Damaged)?;
            let taken = (self.inflate.total_in() - before.0) as usize;
            let given = (self.inflate.total_out() - before.1) as usize;
            bytes = &bytes[taken..];
            if given > 0 {
                let out = &self.out[..given];
                self.check.add(out);
                self.size = self.size.wrapping_add(given as u32);
                sink(out).map_err(Stop::Refused)?;
            }
            if status == Status::StreamEnd {
                self.begin(Part::Trailer);
                return Ok(bytes);
            }
            // A full buffer may have left something behind.
            if given < OUT && bytes.is_empty() {
                return Ok(bytes);
            }
            if given == 0 && taken == 0 {
                return Err(Stop::Damaged);
            }
        }
    }
}

enum Header {
    /// It has that many bytes.
    Whole(usize),
    Begun,
    Damaged,
}

/// Looks for the end of the header that `bytes` begin with.
fn header(bytes: &[u8], check: &mut Check) -> Header {
    const MAGIC: [u8; 3] = [0x1F, 0x8B, 8];
    const FIXED: usize = 10;
    let [checked, extra, name, comment, unknown] = [2, 4, 8, 16, 0xE0];
    if bytes.iter().zip(&MAGIC).any(|(a, b)| a != b) {
        return Header::Damaged;
    }
    let has = |flags: u8| bytes.get(3).is_some_and(|it| it & flags != 0);
    if has(unknown) {
        return Header::Damaged;
    }
    let mut end = FIXED;
    if has(extra) {
        let Some(size) = bytes.get(end..end + 2) else {
            return Header::Begun;
        };
        end += 2 + usize::from(u16::from_le_bytes([size[0], size[1]]));
    }
    for text in [name, comment] {
        if has(text) {
            let rest = bytes.get(end..).unwrap_or_default();
            let Some(length) = memchr::memchr(0, rest) else {
                return Header::Begun;
            };
            end += length + 1;
        }
    }
    if has(checked) {
        let Some(expected) = bytes.get(end..end + 2) else {
            return Header::Begun;
        };
        check.value = 0;
        check.add(&bytes[..end]);
        if check.value.to_le_bytes()[..2] != *expected {
            return Header::Damaged;
        }
        end += 2;
    }
    if bytes.len() < end {
        return Header::Begun;
    }
    Header::Whole(end)
}

/// The CRC-32 of what was added so far, sixteen bytes at a time.
struct Check {
    value: u32,
    /// What each of sixteen bytes does to the sum, the last one first.
    tables: Box<[[[u32; 256]; 4]; 4]>,
}

impl Check {
    fn new() -> Check {
        let mut tables = Box::new([[[0u32; 256]; 4]; 4]);
        let flat = tables.as_flattened_mut();
        for byte in 0..=255u8 {
            let mut sum = u32::from(byte);
            for _ in 0..8 {
                sum = (sum >> 1) ^ (0xEDB8_8320 * (sum & 1));
            }
            flat[0][usize::from(byte)] = sum;
        }
        for at in 1..flat.len() {
            for byte in 0..256 {
                let before = flat[at - 1][byte];
                flat[at][byte] = (before >> 8) ^ flat[0][(before & 0xFF) as usize];
            }
        }
        Check { value: 0, tables }
    }

    fn add(&mut self, bytes: &[u8]) {
        let (blocks, rest) = bytes.as_chunks::<16>();
        let [last, third, second, first] = &*self.tables;
        let mut sum = !self.value;
        for block in blocks {
            let word = |at: usize| {
                u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
            };
            sum = of_word(first, word(0) ^ sum)
                ^ of_word(second, word(4))
                ^ of_word(third, word(8))
                ^ of_word(last, word(12));
        }
        for &byte in rest {
            sum = (sum >> 8) ^ last[0][usize::from(sum as u8 ^ byte)];
        }
        self.value = !sum;
    }
}

fn of_word(tables: &[[u32; 256]; 4], word: u32) -> u32 {
    let [a, b, c, d] = word.to_le_bytes().map(usize::from);
    tables[3][a] ^ tables[2][b] ^ tables[1][c] ^ tables[0][d]
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, GzBuilder};

    use super::*;

    fn unpacked(bytes: &[u8], piece: usize) -> Result<Vec<u8>, Stop<()>> {
        let (mut gunzip, mut out) = (Gunzip::new(), Vec::new());
        for piece in bytes.chunks(piece) {
            gunzip.push(piece, &mut |bytes| {
                out.extend_from_slice(bytes);
                Ok(())
            })?;
        }
        if gunzip.is_whole() {
            Ok(out)
        } else {
            Err(Stop::Refused(()))
        }
    }

    /// A member with every field that flate2 writes.
    fn member(content: &[u8]) -> Vec<u8> {
        let builder = GzBuilder::new().extra(vec![7; 300]).filename("spans.csv");
        let mut gz = builder
            .comment("caf\u{e9}")
            .write(Vec::new(), Compression::fast());
        gz.write_all(content).expect("memory");
        gz.finish().expect("memory")
    }

    /// Text that is no multiple of anything.
    fn text() -> Vec<u8> {
        (0..40_003u32)
            .flat_map(|it| it.wrapping_mul(2_654_435_761).to_string().into_bytes())
            .collect()
    }

    #[test]
    fn the_sum_is_the_standard_one() {
        let mut check = Check::new();
        check.add(b"123456789");
        assert_eq!(check.value, 0xCBF4_3926);
        // In one and in two, over and under sixteen bytes.
        let text = text();
        for cut in [0, 1, 15, 16, 17, 1_000] {
            let (mut whole, mut cuts) = (Check::new(), Check::new());
            whole.add(&text);
            cuts.add(&text[..cut]);
            cuts.add(&text[cut..]);
            assert_eq!(whole.value, cuts.value);
            let mut reference = flate2::Crc::new();
            reference.update(&text);
            assert_eq!(whole.value, reference.sum());
        }
    }

    #[test]
    fn members_with_every_field_however_cut() {
        let text = text();
        let bytes = [member(&text), member(b""), member(b"end")].concat();
        let expected = [&text[..], b"end"].concat();
        for piece in [1, 7, 4096, bytes.len()] {
            assert!(unpacked(&bytes, piece) == Ok(expected.clone()), "{piece}");
        }
    }

    #[test]
    fn a_header_may_have_a_sum_of_its_own() {
        let mut bytes = member(b"text");
        bytes[3] |= 2;
        let end = match header(&member(b"text"), &mut Check::new()) {
            Header::Whole(end) => end,
            _ => panic!("a whole header"),
        };
        let mut check = Check::new();
        check.add(&bytes[..end]);
        let [low, high, ..] = check.value.to_le_bytes();
        bytes.splice(end..end, [low, high]);
        assert_eq!(unpacked(&bytes, 5), Ok(b"text".to_vec()));
        bytes[end] ^= 1;
        assert_eq!(unpacked(&bytes, 5), Err(Stop::Damaged));
    }

    #[test]
    fn damage_is_noticed() {
        let text = b"some text, some text, some text";
        let good = member(text);
        let start = match header(&good, &mut Check::new()) {
            Header::Whole(end) => end,
            _ => panic!("a whole header"),
        };
        // Nobody checks times, systems and names in the header.
        for at in (0..4).chain(start..good.len()) {
            let mut bytes = good.clone();
            bytes[at] ^= 0xE4;
            let it = unpacked(&bytes, 4096);
            // The last bits before the trailer may be anything.
            let harmless = at == good.len() - TRAILER - 1 && it == Ok(text.to_vec());
            assert!(it.is_err() || harmless, "{at}");
        }
        for length in 1..good.len() {
            assert_eq!(unpacked(&good[..length], 4096), Err(Stop::Refused(())));
        }
        for padding in [&b"\0\0\0"[..], b"\n", b"\r\n"] {
            let padded = [&good[..], padding].concat();
            assert_eq!(unpacked(&padded, 4096), Ok(text.to_vec()));
        }
        for rest in [&b"more"[..], b"\0more", b"\x1F\x8Bx", b"\x1F\x8B\x08\xFF"] {
            let trailing = [&good[..], rest].concat();
            for piece in [1, 4096] {
                assert_eq!(unpacked(&trailing, piece), Ok(text.to_vec()));
            }
        }
    }
}
