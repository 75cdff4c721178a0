//! Words of the interpreter's structures. The machines that this is for have the lowest byte first.
#![allow(unsafe_code)]

use super::layout::Offset;
use crate::base::own_memory;

/// How memory is read.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// Plainly: the structures of this thread have been seen to be what they are thought to be. Else through the kernel.
    pub trusted: bool,
}

impl Memory {
    /// A word of a structure.
    #[inline(always)]
    pub fn word(self, structure: u64, offset: Offset) -> Option<u64> {
        let at = structure.wrapping_add(offset);
        if structure == 0 || !at.is_multiple_of(8) {
            return None;
        }
        match self.trusted {
            // SAFETY: aligned, and in a structure that the thread's own frames refer to, which it cannot free during the call.
            true => Some(unsafe { std::ptr::read(at as *const u64) }),
            false => own_memory::word(at as usize),
        }
    }

    /// Half a word.
    #[inline(always)]
    pub fn half(self, structure: u64, offset: Offset) -> Option<u32> {
        let word = self.word(structure, offset & !7)?;
        Some((word >> (8 * (offset & 4))) as u32)
    }

    /// A byte.
    #[inline(always)]
    pub fn byte(self, structure: u64, offset: Offset) -> Option<u8> {
        Some((self.word(structure, offset & !7)? >> (8 * (offset & 7))) as u8)
    }
}
