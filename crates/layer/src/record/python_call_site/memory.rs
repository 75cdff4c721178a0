//! Reads the interpreter's structures, which are in this process.
#![allow(unsafe_code)]

use crate::base::own_memory;
use mpiscope_python_frames::Memory;

/// How memory is read.
#[derive(Debug, Clone, Copy)]
pub struct OwnMemory {
    /// Directly, since this thread's structures have been validated; otherwise through the kernel.
    pub trusted: bool,
}

impl Memory for OwnMemory {
    #[inline(always)]
    fn word(&self, at: u64) -> Option<u64> {
        match self.trusted {
            // SAFETY: aligned, and in a structure referred to by the thread's own frames, which it cannot
            // free during the call.
            true => Some(unsafe { std::ptr::read(at as *const u64) }),
            false => own_memory::word(at as usize),
        }
    }

    fn bytes(&self, at: u64, len: u64) -> Option<Vec<u8>> {
        own_memory::bytes(at, len)
    }
}
