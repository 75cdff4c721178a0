//! What may be done with memory, changed without the C library's `mprotect`, which may be somebody else's.
#![allow(unsafe_code)]

use crate::interpose::arch;

/// Whole pages.
pub struct Pages {
    start: usize,
    len: usize,
}

impl Pages {
    /// Those that have the bytes from `start` to before `end`.
    pub fn around(start: usize, end: usize) -> Self {
        // SAFETY: reads what the kernel said when the program started.
        let size = unsafe { libc::getauxval(libc::AT_PAGESZ) } as usize;
        let size = if size.is_power_of_two() { size } else { 4096 };
        let first = start & !(size - 1);
        Self { start: first, len: (end.wrapping_sub(first).wrapping_add(size - 1)) & !(size - 1) }
    }

    /// Sets the rights (`PROT_…`); false if the kernel refuses.
    pub fn allow(&self, rights: i32) -> bool {
        arch::mprotect(self.start, self.len, rights)
    }
}
