//! Reads this process's own memory through the kernel, so that an address that may have been overwritten
//! cannot cause a crash. Each read is a system call: only for rare paths.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

/// Why memory could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// Not all of it is mapped and readable.
    Unmapped,
    /// The kernel does not allow reading in this way.
    Refused,
}

/// Fills `to` from an address. The program's `errno` stays as it was.
fn read(from: usize, to: *mut c_void, len: usize) -> Result<(), Unread> {
    let local = libc::iovec { iov_base: to, iov_len: len };
    let remote = libc::iovec { iov_base: from as *mut c_void, iov_len: len };
    // SAFETY: the callers pass their own memory of this length; the kernel checks the other address. The
    // location of errno is valid in every thread.
    let (read, error) = unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let read = libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0);
        (read, std::mem::replace(&mut *errno, before))
    };
    match usize::try_from(read) {
        Ok(read) if read == len => Ok(()),
        Ok(_) => Err(Unread::Unmapped),
        Err(_) if error == libc::EFAULT => Err(Unread::Unmapped),
        Err(_) => Err(Unread::Refused),
    }
}

/// Fills `to` from an address.
pub fn fill(from: u64, to: &mut [u8]) -> Result<(), Unread> {
    let from = usize::try_from(from).map_err(|_| Unread::Unmapped)?;
    read(from, to.as_mut_ptr().cast(), to.len())
}

/// Reads a word at an address.
pub fn word(from: usize) -> Option<u64> {
    let mut value = 0u64;
    read(from, (&raw mut value).cast(), size_of::<u64>()).ok().map(|()| value)
}

/// Reads `len` bytes at an address.
pub fn bytes(from: u64, len: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len).ok()?];
    fill(from, &mut bytes).ok().map(|()| bytes)
}

/// Reads a C `int` at an address.
pub fn int(from: usize) -> Option<c_int> {
    let mut value = 0;
    read(from, (&raw mut value).cast(), size_of::<c_int>()).ok().map(|()| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_memory_is_read_and_unmapped_memory_yields_nothing() {
        let there = 0x0102_0304_0506_0708_u64;
        let place = (&raw const there).addr();
        assert_eq!((word(place), int(place)), (Some(there), Some(0x0506_0708)));
        assert_eq!((word(8), int(usize::MAX), bytes(8, 4)), (None, None, None));
        assert_eq!(bytes(place as u64, 3), Some(vec![8, 7, 6]));
        assert_eq!(fill(8, &mut [0; 4]), Err(Unread::Unmapped));
    }
}
