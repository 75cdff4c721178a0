//! Code shared by the fuzz targets.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// A file with a path in memory, deleted when this is dropped.
pub struct Named {
    _file: File,
    path: PathBuf,
}

impl Named {
    /// Creates a file with these bytes.
    ///
    /// # Panics
    /// If the system has no memory for it.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let mut file = File::from(memfd_create("fuzz", MemfdFlags::CLOEXEC).expect("cannot create a memory file"));
        file.write_all(bytes).expect("no memory for the file");
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        Self { _file: file, path }
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Maximum size of an image that a target makes from its input.
const LONGEST: u64 = 16 << 20;

/// Expands an image from its stored form: its length, then words, each preceded by the number of words since the
/// last one. `None` if it is too long for an input.
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
