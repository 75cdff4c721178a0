//! Parameters as words of the image.

use mpi_abi::Handle;

/// A parameter that converts to the 64-bit word stored in the image.
pub trait Word {
    /// The word: integers are sign-extended, handles zero-extended.
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

/// A handle as the word stored in the image.
#[inline(always)]
pub fn handle_word(handle: impl Handle) -> u64 {
    handle.raw()
}
