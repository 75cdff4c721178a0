//! The trait implemented by all sources of bytes.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{Error, Result};

/// Strings are read in pieces that do not cross a multiple of this many bytes, so that a string at the end of
/// a mapping can be read without touching what follows. No supported machine has smaller pages.
const PIECE: u64 = 256;

/// The byte order of numbers in the target's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first (x86-64, aarch64).
    Little,
    /// Most significant byte first (s390x, older POWER).
    Big,
}

impl ByteOrder {
    /// The byte order of the machine that runs this code.
    pub const HOST: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };

    /// Determines the target's byte order from a function that converts target bytes to host bytes, which is
    /// all that debuggers offer (`mqs_target_to_host_fp`): the pattern comes back unchanged or reversed.
    pub fn of_conversion(to_host: impl FnOnce([u8; 4]) -> [u8; 4]) -> Self {
        let pattern = [1, 2, 3, 4];
        match (to_host(pattern) == pattern, Self::HOST) {
            (true, order) => order,
            (false, Self::Little) => Self::Big,
            (false, Self::Big) => Self::Little,
        }
    }

    /// Decodes a number from up to eight bytes.
    pub fn number(self, bytes: &[u8]) -> u64 {
        let push = |sum: u64, byte: &u8| (sum << 8) | u64::from(*byte);
        let bytes = bytes.get(..8).unwrap_or(bytes);
        match self {
            Self::Big => bytes.iter().fold(0, push),
            Self::Little => bytes.iter().rev().fold(0, push),
        }
    }
}

/// An executable or shared library in the target's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// The file as the target names it; in the reader's mount namespace this may be another file or none.
    pub path: PathBuf,
    /// Address in memory minus address in the file.
    pub bias: u64,
    /// First address of the module.
    pub start: u64,
    /// First address past the module.
    pub end: u64,
    /// Addresses of its machine code; empty when no part is executable.
    pub executable: Range<u64>,
}

impl Module {
    /// Whether the address is in the module.
    pub fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// Converts an address to that used by the file's own tables and debug information.
    pub fn address_in_file(&self, address: u64) -> u64 {
        address.wrapping_sub(self.bias)
    }
}

/// A program that can be read: running, dead or simulated.
pub trait Target: Send + Sync {
    /// Fills `buf` with the bytes at `address`; fails unless all can be read.
    fn read(&self, address: u64, buf: &mut [u8]) -> Result<()>;

    /// Size of an address in the target, in bytes: 4 or 8.
    fn width(&self) -> usize;

    /// The target's byte order.
    fn byte_order(&self) -> ByteOrder;

    /// The executable and the libraries in memory, the executable first if known. A live target may load more
    /// at any time, so the list is not cached.
    fn modules(&self) -> Result<Vec<Module>>;

    /// Returns the address of a symbol, searching the dynamic symbol tables of all modules in order, then
    /// their full tables. `None` if it is in none of the readable tables.
    fn symbol(&self, name: &str) -> Result<Option<u64>>;

    /// The process id in the reader's PID namespace (for a core file, the id on its host).
    fn pid(&self) -> Option<u32>;

    /// The program's path as the target names it.
    fn executable(&self) -> Option<PathBuf>;

    /// Reads a number of `size` bytes (1 to 8) in the target's byte order.
    fn read_number(&self, address: u64, size: usize) -> Result<u64> {
        let mut buf = [0; 8];
        let limit = buf.len();
        let too_long = Error::TooLong { address, len: size as u64, limit: limit as u64 };
        let bytes = buf.get_mut(..size).ok_or(too_long)?;
        self.read(address, bytes)?;
        Ok(self.byte_order().number(bytes))
    }

    /// Reads one byte.
    fn read_u8(&self, address: u64) -> Result<u8> {
        Ok(self.read_number(address, 1)? as u8)
    }

    /// Reads two bytes in the target's byte order.
    fn read_u16(&self, address: u64) -> Result<u16> {
        Ok(self.read_number(address, 2)? as u16)
    }

    /// Reads four bytes in the target's byte order.
    fn read_u32(&self, address: u64) -> Result<u32> {
        Ok(self.read_number(address, 4)? as u32)
    }

    /// Reads four bytes in the target's byte order, a C `int`.
    fn read_i32(&self, address: u64) -> Result<i32> {
        Ok(self.read_number(address, 4)? as i32)
    }

    /// Reads eight bytes in the target's byte order.
    fn read_u64(&self, address: u64) -> Result<u64> {
        self.read_number(address, 8)
    }

    /// Reads an address, which has the size of the target's pointers.
    fn read_pointer(&self, address: u64) -> Result<u64> {
        self.read_number(address, self.width())
    }

    /// Reads `len` bytes; fails for more than `limit` before allocating memory.
    fn read_bytes(&self, address: u64, len: u64, limit: u64) -> Result<Vec<u8>> {
        if len > limit {
            return Err(Error::TooLong { address, len, limit });
        }
        let mut bytes = vec![0; len as usize];
        self.read(address, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads a string up to its NUL, which is not included. `limit` counts the bytes before the NUL.
    ///
    /// # Errors
    /// [`Error::Unterminated`] when there is no NUL within the limit.
    fn read_c_string(&self, address: u64, limit: usize) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        let mut piece = [0; PIECE as usize];
        while text.len() <= limit {
            let from = address.wrapping_add(text.len() as u64);
            let len = (PIECE - from % PIECE) as usize;
            let piece = &mut piece[..len];
            self.read(from, piece)?;
            let end = piece.iter().position(|byte| *byte == 0);
            text.extend_from_slice(&piece[..end.unwrap_or(len)]);
            if end.is_some() && text.len() <= limit {
                return Ok(text);
            }
        }
        Err(Error::Unterminated { address, limit })
    }
}

macro_rules! forward {
    ($($holder:ty),*) => {$(
        impl<T: Target + ?Sized> Target for $holder {
            fn read(&self, address: u64, buf: &mut [u8]) -> Result<()> { (**self).read(address, buf) }
            fn width(&self) -> usize { (**self).width() }
            fn byte_order(&self) -> ByteOrder { (**self).byte_order() }
            fn modules(&self) -> Result<Vec<Module>> { (**self).modules() }
            fn symbol(&self, name: &str) -> Result<Option<u64>> { (**self).symbol(name) }
            fn pid(&self) -> Option<u32> { (**self).pid() }
            fn executable(&self) -> Option<PathBuf> { (**self).executable() }
        }
    )*};
}
forward!(&T, Box<T>, Arc<T>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InMemory;

    #[test]
    fn numbers_are_read_in_the_byte_order_and_width_of_the_target() {
        let bytes = vec![0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88];
        let big = InMemory::new(4, ByteOrder::Big).segment(0x100, bytes.clone());
        let little = InMemory::new(8, ByteOrder::Little).segment(0x100, bytes);
        assert_eq!(big.read_pointer(0x100).unwrap(), 0x1122_3344);
        assert_eq!(little.read_pointer(0x100).unwrap(), 0x8877_6655_4433_2211);
        assert_eq!((big.read_u16(0x100).unwrap(), little.read_u16(0x100).unwrap()), (0x1122, 0x2211));
        assert_eq!(big.read_u64(0x100).unwrap(), 0x1122_3344_5566_7788);
        assert!(matches!(big.read_number(0x100, 9), Err(Error::TooLong { .. })));
    }

    #[test]
    fn a_string_that_ends_with_its_mapping_is_read() {
        let target = InMemory::new(8, ByteOrder::Little).segment(0x1ffc, b"abc\0".to_vec());
        assert_eq!(target.read_c_string(0x1ffc, 3).unwrap(), b"abc");
        assert!(matches!(target.read_c_string(0x1ffc, 2), Err(Error::Unterminated { limit: 2, .. })));
        assert!(target.read_c_string(0x2000, 3).unwrap_err().is_bad_address());
    }

    #[test]
    fn a_string_without_an_end_stops_at_the_limit() {
        let target = InMemory::new(8, ByteOrder::Little).segment(0, vec![b'x'; 1 << 16]);
        assert!(matches!(target.read_c_string(5, 1000), Err(Error::Unterminated { .. })));
    }

    #[test]
    fn the_byte_order_is_determined_from_the_debuggers_conversion() {
        assert_eq!(ByteOrder::of_conversion(|bytes| bytes), ByteOrder::HOST);
        let turned = ByteOrder::of_conversion(|mut bytes| {
            bytes.reverse();
            bytes
        });
        assert_ne!(turned, ByteOrder::HOST);
    }

    #[test]
    fn a_huge_length_is_rejected_before_memory_is_allocated() {
        let target = InMemory::new(8, ByteOrder::Little);
        assert!(matches!(target.read_bytes(0, u64::MAX, 1 << 20), Err(Error::TooLong { .. })));
    }
}
