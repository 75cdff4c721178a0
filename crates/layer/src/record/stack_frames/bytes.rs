//! Reading an unwind table: numbers in a run of bytes, `None` behind its end.

/// What is still to be read.
#[derive(Clone, Copy)]
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// A byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_ne_bytes)
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_ne_bytes)
    }

    /// A number of any length (LEB128).
    pub fn unsigned(&mut self) -> Option<u64> {
        self.long().map(|(value, ..)| value)
    }

    /// A number of any length with a sign.
    pub fn signed(&mut self) -> Option<i64> {
        let (value, bits, last) = self.long()?;
        let negative = last & 0x40 != 0 && bits < 64;
        Some((if negative { value | u64::MAX << bits } else { value }).cast_signed())
    }

    /// The number, how many bits it had, its last byte.
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

    /// A pointer's number of bytes by its encoding, passed over.
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
