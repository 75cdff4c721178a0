//! Reads this process's own memory through the kernel, so that an address that may have been overwritten
//! cannot cause a crash. Each read is a system call: only for rare paths.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

/// Fills `to` from an address. Returns false unless all of it is readable.
fn read(from: usize, to: *mut c_void, len: usize) -> bool {
    let local = libc::iovec { iov_base: to, iov_len: len };
    let remote = libc::iovec { iov_base: from as *mut c_void, iov_len: len };
    // SAFETY: the callers pass their own memory of this length; the kernel checks the other address.
    unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) == len as isize }
}

/// Reads a word at an address.
pub fn word(from: usize) -> Option<u64> {
    let mut value = 0u64;
    read(from, (&raw mut value).cast(), size_of::<u64>()).then_some(value)
}

/// Reads `len` bytes at an address.
pub fn bytes(from: u64, len: u64) -> Option<Vec<u8>> {
    let (from, len) = (usize::try_from(from).ok()?, usize::try_from(len).ok()?);
    let mut bytes = vec![0; len];
    read(from, bytes.as_mut_ptr().cast(), len).then_some(bytes)
}

/// Reads a C `int` at an address.
pub fn int(from: usize) -> Option<c_int> {
    let mut value = 0;
    read(from, (&raw mut value).cast(), size_of::<c_int>()).then_some(value)
}

/// Whether the processor can read the word at an address: costs less than copying it.
pub fn is_readable(at: usize) -> bool {
    // Not all emulators look at the word.
    static TELLS: OnceLock<bool> = OnceLock::new();
    *TELLS.get_or_init(|| probe(0) == Some(false)) && probe(at) == Some(true)
}

/// Passes the word as a signal set with an operation that does not exist: the kernel reads the set before it
/// rejects the operation. The program's `errno` stays as it was. `None` if the kernel answers otherwise.
fn probe(at: usize) -> Option<bool> {
    const NO_OPERATION: c_int = !0;
    // Null would mean no set.
    let set = (at & !(size_of::<u64>() - 1)).max(size_of::<u64>()) as *const u64;
    // SAFETY: the kernel checks the address and changes nothing; the location of errno is valid in every thread.
    let error = unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        libc::syscall(libc::SYS_rt_sigprocmask, NO_OPERATION, set, ptr::null_mut::<u64>(), size_of::<u64>());
        std::mem::replace(&mut *errno, before)
    };
    match error {
        libc::EINVAL => Some(true),
        libc::EFAULT => Some(false),
        _ => None,
    }
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
        assert!(is_readable(place) && is_readable(place + 7) && !is_readable(8) && !is_readable(usize::MAX));
    }
}
