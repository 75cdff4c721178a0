//! What the targets share.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Bytes as a file with a path, which is gone with this.
pub struct Named {
    _file: File,
    path: PathBuf,
}

impl Named {
    /// A file with these bytes.
    ///
    /// # Panics
    /// When the system has no memory for it.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let mut file = File::from(memfd_create("fuzz", MemfdFlags::CLOEXEC).expect("a memory file"));
        file.write_all(bytes).expect("room for the file");
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        Self { _file: file, path }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Longest image that a target makes of its input.
const LONGEST: u64 = 16 << 20;

/// An image with its zeros, from the form in which images are kept: its length, then words, each behind the number of words
/// from the one before. None if it is longer than an input should be.
#[must_use]
pub fn unpacked(packed: &[u8]) -> Option<Vec<u8>> {
    let (len, words) = packed.split_first_chunk::<8>()?;
    let len = u64::from_le_bytes(*len);
    if len > LONGEST {
        return None;
    }
    let (mut bytes, mut at) = (vec![0; len as usize], 0_usize);
    for entry in words.chunks_exact(12) {
        let (skip, word) = entry.split_first_chunk::<4>()?;
        at = at.checked_add(8 * u32::from_le_bytes(*skip) as usize)?;
        bytes.get_mut(at..at.checked_add(8)?)?.copy_from_slice(word);
    }
    Some(bytes)
}
