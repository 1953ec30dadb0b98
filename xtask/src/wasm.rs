//! The bytes of a wasm module, as far as the tools here look into it.
//!
//! Reading stops with `None` where the bytes are no module, or one with more than Rust makes for the page.

pub const IMPORTS: u8 = 2;
pub const FUNCTIONS: u8 = 3;
pub const EXPORTS: u8 = 7;
pub const START: u8 = 8;
pub const ELEMENTS: u8 = 9;
pub const CODE: u8 = 10;

/// What every module begins with.
pub const HEAD: &[u8] = b"\0asm\x01\0\0\0";

/// The sections of a module, each with its number.
pub fn sections(module: &[u8]) -> Option<Vec<(u8, &[u8])>> {
    let mut bytes = Bytes(module.strip_prefix(HEAD)?);
    let mut found = Vec::new();
    while !bytes.0.is_empty() {
        let id = bytes.byte()?;
        found.push((id, bytes.sized()?));
    }
    Some(found)
}

/// Appends a section to a module.
pub fn push_section(module: &mut Vec<u8>, id: u8, content: &[u8]) {
    module.push(id);
    push_sized(module, content);
}

/// Appends bytes and, before them, how many there are.
pub fn push_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    push_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a number in the form LEB128.
pub fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 & 0x7f | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// What is left of some bytes.
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub fn take(&mut self, n: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n.try_into().ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn byte(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    /// A number in the form LEB128.
    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..35).step_by(7) {
            let byte = u64::from(self.byte()?);
            number |= (byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// Passes over numbers, which may be signed and of 64 bits.
    pub fn skip_numbers(&mut self, n: u64) -> Option<()> {
        for _ in 0..n {
            while self.byte()? >= 0x80 {}
        }
        Some(())
    }

    /// As many bytes as the number before them says.
    pub fn sized(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(length)
    }

    pub fn name(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.sized()?).ok()
    }

    /// What kind of thing is imported, and of what type.
    pub fn kind(&mut self) -> Option<&'a [u8]> {
        let whole = self.0;
        match self.byte()? {
            0 => self.skip_numbers(1)?,
            1 => {
                self.byte()?;
                self.limits()?;
            }
            2 => self.limits()?,
            3 => {
                self.take(2)?;
            }
            _ => return None,
        }
        Some(&whole[..whole.len() - self.0.len()])
    }

    fn limits(&mut self) -> Option<()> {
        let flags = self.byte()?;
        self.skip_numbers(1 + u64::from(flags & 1))
    }
}
