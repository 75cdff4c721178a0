//! Memory protection, changed without the C library: its `mprotect` may be replaced, and with linkers that
//! put our own relocations first (LLVM's and Zig's on AArch64) none of its functions can be called yet.

use crate::interpose::arch;

/// Possible page sizes, smallest first: the kernel refuses an address that is not page-aligned.
#[cfg(target_arch = "x86_64")]
const SIZES: [usize; 1] = [4 << 10];
#[cfg(not(target_arch = "x86_64"))]
const SIZES: [usize; 3] = [4 << 10, 16 << 10, 64 << 10];

/// The pages of a range of bytes.
pub struct Pages {
    start: usize,
    end: usize,
}

impl Pages {
    /// The pages that contain the bytes from `start` up to, but not including, `end`.
    pub fn around(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Sets the protection (`PROT_…`). Returns false if the kernel refuses.
    pub fn allow(&self, rights: i32) -> bool {
        SIZES.iter().any(|size| {
            let first = self.start & !(size - 1);
            arch::mprotect(first, self.end.wrapping_sub(first), rights)
        })
    }
}
