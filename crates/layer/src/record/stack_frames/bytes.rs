//! Reads the bytes of an unwind table; `None` beyond their end.

/// The bytes that have not been read yet.
#[derive(Clone, Copy)]
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// Returns the next `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// Reads a byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    /// Reads two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_ne_bytes)
    }

    /// Reads four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_ne_bytes)
    }

    /// Reads an unsigned number of variable length (LEB128).
    pub fn unsigned(&mut self) -> Option<u64> {
        self.long().map(|(value, ..)| value)
    }

    /// Reads a signed number of variable length.
    pub fn signed(&mut self) -> Option<i64> {
        let (value, bits, last) = self.long()?;
        let negative = last & 0x40 != 0 && bits < 64;
        Some((if negative { value | u64::MAX << bits } else { value }).cast_signed())
    }

    /// Returns the number, its number of bits, and its last byte.
    fn long(&mut self) -> Option<(u64, u32, u8)> {
        let (mut value, mut bits) = (0, 0);
        while bits < 64 {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << bits;
            bits += 7;
            if byte & 0x80 == 0 {
                return Some((value, bits, byte));
            }
        }
        None
    }

    /// Skips a pointer, whose size is given by its encoding.
    pub fn skip_pointer(&mut self, encoding: u8) -> Option<()> {
        match encoding & 0x0f {
            0x00 => self.take(size_of::<usize>())?,
            0x02 | 0x0a => self.take(2)?,
            0x03 | 0x0b => self.take(4)?,
            0x04 | 0x0c => self.take(8)?,
            _ => return None,
        };
        Some(())
    }
}
