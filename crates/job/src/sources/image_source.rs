//! Where the bytes of an image come from.
//!
//! A memory file that can no longer shrink is mapped: words are read one by one with relaxed atomic loads
//! while the process writes them. Any other file is read with `pread`, because a mapping of a file that
//! shrinks kills the reader.
#![allow(unsafe_code)]

use crate::Error;
use mpiscope_image::{Image, Source};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// The bytes of an image, from any source.
pub type Bytes = Box<dyn Source + Send>;

/// Opens an image in a memory file, given its descriptor.
pub fn open_fd(fd: OwnedFd, what: &str) -> Result<Image<Bytes>, Error> {
    let bytes: Bytes = match Mapping::new(&fd) {
        Some(mapping) => Box::new(mapping),
        None => Box::new(Plain::new(File::from(fd))),
    };
    Image::open(bytes).map_err(|why| Error::Image { what: what.to_owned(), why })
}

/// Whether this is a memory file that can no longer shrink, as every image is.
pub(crate) fn sealed(file: &impl AsRawFd) -> bool {
    // SAFETY: asks for the seals of a descriptor that the caller owns.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    seals >= 0 && seals & libc::F_SEAL_SHRINK != 0
}

/// A file read with `pread`.
pub(super) struct Plain {
    file: File,
}

impl Plain {
    pub fn new(file: File) -> Self {
        Self { file }
    }
}

impl Source for Plain {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), String> {
        self.file.read_exact_at(buf, offset).map_err(|e| e.to_string())
    }

    fn len(&self) -> u64 {
        self.file.metadata().map_or(0, |m| m.len())
    }
}

/// A read-only mapping of a memory file that cannot shrink.
///
/// The mapping has the length of the file at the time of mapping; anything the process adds later is read
/// through the file.
struct Mapping {
    base: *const u8,
    mapped: usize,
    rest: Plain,
}

// SAFETY: the mapping is only read, by atomic loads, and is unmapped by its only owner.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(fd: &OwnedFd) -> Option<Self> {
        if !sealed(fd) {
            return None;
        }
        let rest = Plain::new(File::from(fd.try_clone().ok()?));
        let mapped = usize::try_from(rest.len()).ok().filter(|len| *len > 0)?;
        // SAFETY: a new mapping at an address that the kernel chooses, of a file that never becomes shorter.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), mapped, libc::PROT_READ, libc::MAP_SHARED, fd.as_raw_fd(), 0)
        };
        (base != libc::MAP_FAILED).then_some(Self { base: base.cast(), mapped, rest })
    }

    /// Copies whole words with atomic loads, and the rest byte by byte.
    fn copy(&self, start: usize, buf: &mut [u8]) {
        let head = start.next_multiple_of(8).min(start + buf.len()) - start;
        let (head, words) = buf.split_at_mut(head);
        self.copy_bytes(start, head);
        let mut at = start + head.len();
        let mut chunks = words.chunks_exact_mut(8);
        for chunk in &mut chunks {
            // SAFETY: `read` checked the bounds, `at` is a multiple of eight; the memory is shared and stays mapped.
            let word = unsafe { &*self.base.add(at).cast::<AtomicU64>() }.load(Ordering::Relaxed);
            chunk.copy_from_slice(&word.to_ne_bytes());
            at += 8;
        }
        self.copy_bytes(at, chunks.into_remainder());
    }

    fn copy_bytes(&self, start: usize, buf: &mut [u8]) {
        for (i, byte) in buf.iter_mut().enumerate() {
            // SAFETY: `read` checked the bounds; the memory is shared and stays mapped.
            *byte = unsafe { &*self.base.add(start + i).cast::<AtomicU8>() }.load(Ordering::Relaxed);
        }
    }
}

impl Source for Mapping {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), String> {
        let start = usize::try_from(offset).map_err(|e| e.to_string())?;
        if start.checked_add(buf.len()).is_none_or(|end| end > self.mapped) {
            return self.rest.read(offset, buf);
        }
        self.copy(start, buf);
        Ok(())
    }

    fn len(&self) -> u64 {
        self.rest.len()
    }

    fn reaches(&self, end: u64) -> bool {
        end <= self.mapped as u64 || end <= self.len()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `new` made, which nothing refers to any more.
        unsafe { libc::munmap(self.base.cast_mut().cast(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::FromRawFd;

    fn memfd(bytes: &[u8]) -> OwnedFd {
        // SAFETY: a new descriptor, owned from here on.
        let fd = unsafe {
            OwnedFd::from_raw_fd(libc::memfd_create(
                c"test".as_ptr(),
                libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING,
            ))
        };
        File::from(fd.try_clone().unwrap()).write_all(bytes).unwrap();
        fd
    }

    #[test]
    fn a_memory_file_that_may_shrink_is_not_mapped() {
        assert!(Mapping::new(&memfd(&[1; 100])).is_none());
    }

    #[test]
    fn a_mapping_yields_every_byte_at_every_alignment_and_later_additions() {
        let bytes: Vec<u8> = (0..100).collect();
        let fd = memfd(&bytes);
        // SAFETY: seals a descriptor that we own.
        assert_eq!(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) }, 0);
        let mapping = Mapping::new(&fd).unwrap();
        for start in 0..100 {
            for end in start..=100 {
                let mut buf = vec![0; end - start];
                mapping.read(start as u64, &mut buf).unwrap();
                assert_eq!(buf, bytes[start..end]);
            }
        }
        assert!(mapping.read(99, &mut [0; 2]).is_err());
        File::from(fd).write_all_at(&[200, 201], 100).unwrap();
        let mut buf = [0; 3];
        mapping.read(99, &mut buf).unwrap();
        assert_eq!(buf, [99, 200, 201]);
    }
}
