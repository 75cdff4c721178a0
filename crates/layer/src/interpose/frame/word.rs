//! Parameters as words of the image.

use mpi_abi::Handle;

/// A parameter as the 64-bit word that the image keeps.
pub trait Word {
    /// Integers are sign-extended, handles zero-extended.
    fn word(self) -> u64;
}

impl Word for i32 {
    #[inline(always)]
    fn word(self) -> u64 {
        i64::from(self) as u64
    }
}

impl Word for i64 {
    #[inline(always)]
    fn word(self) -> u64 {
        self as u64
    }
}

impl Word for usize {
    #[inline(always)]
    fn word(self) -> u64 {
        self as u64
    }
}

/// A handle as the word that the image keeps.
#[inline(always)]
pub fn handle_word(handle: impl Handle) -> u64 {
    handle.raw()
}
