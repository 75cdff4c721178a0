//! Reads the memory of a process through the kernel: a bad address is an error, never a signal.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Why the kernel did not fill the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing readable is mapped there.
    Address,
    /// The process no longer exists.
    Gone,
    /// The caller lacks permission.
    Forbidden,
}

/// Fills `buf` from the memory of the process, with `process_vm_readv`, or through `/proc/PID/mem` where the
/// system call is blocked or does not exist, as in many containers.
pub fn read(pid: u32, address: u64, buf: &mut [u8]) -> Result<(), Refusal> {
    let mut done = 0;
    while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
        let at = address.checked_add(done as u64).ok_or(Refusal::Address)?;
        done += match once(pid, at, rest) {
            Ok(0) => return Err(Refusal::Address),
            Ok(read) => read,
            Err(error) => match error.raw_os_error() {
                Some(libc::EFAULT | libc::EINVAL | libc::EIO) => return Err(Refusal::Address),
                Some(libc::ESRCH) => return Err(Refusal::Gone),
                Some(libc::EINTR) => 0,
                _ => return through_file(pid, at, rest),
            },
        };
    }
    Ok(())
}

fn once(pid: u32, address: u64, buf: &mut [u8]) -> io::Result<usize> {
    let bad = || io::Error::from_raw_os_error(libc::EFAULT);
    let base = usize::try_from(address).map_err(|_| bad())? as *mut libc::c_void;
    let local = libc::iovec { iov_base: buf.as_mut_ptr().cast(), iov_len: buf.len() };
    let remote = libc::iovec { iov_base: base, iov_len: buf.len() };
    // SAFETY: the local vector describes `buf`, which is borrowed for the call; the remote one is only a
    // number to the kernel, which checks it.
    let read = unsafe { libc::process_vm_readv(pid as libc::pid_t, &local, 1, &remote, 1, 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

fn through_file(pid: u32, address: u64, buf: &mut [u8]) -> Result<(), Refusal> {
    let refusal = |error: io::Error| match error.raw_os_error() {
        Some(libc::ENOENT | libc::ESRCH) => Refusal::Gone,
        Some(libc::EACCES | libc::EPERM) => Refusal::Forbidden,
        _ => Refusal::Address,
    };
    let memory = File::open(format!("/proc/{pid}/mem")).map_err(refusal)?;
    memory.read_exact_at(buf, address).map_err(refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_methods_read_this_processs_memory_and_handle_a_bad_address() {
        let (pid, secret) = (std::process::id(), *b"sixteen bytes ok");
        for way in [read, through_file] {
            let mut buf = [0; 16];
            assert_eq!(way(pid, secret.as_ptr() as u64, &mut buf), Ok(()));
            assert_eq!(buf, secret);
            for address in [0, 8, u64::MAX, u64::MAX - 7, 1 << 63] {
                assert_eq!(way(pid, address, &mut buf), Err(Refusal::Address), "{address:#x}");
            }
        }
    }
}
