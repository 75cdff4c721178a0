//! Resource limits, which we must neither hit nor use up.
#![allow(unsafe_code)]

use std::mem::zeroed;
use std::ptr;

/// Runs `write`, which writes to a file. If it would exceed the process's file size limit (`ulimit -f`) or
/// writes to a pipe without a reader, it fails with an ordinary error: the signal, which would end the
/// program, is consumed.
pub fn without_signals<R>(write: impl FnOnce() -> R) -> R {
    // SAFETY: all sets are ours; the mask is this thread's and is restored; the kernel sends both signals to
    // the thread that writes, and one that was already pending is left alone.
    unsafe {
        let (mut deadly, mut before, mut pending): (libc::sigset_t, libc::sigset_t, libc::sigset_t) =
            (zeroed(), zeroed(), zeroed());
        libc::sigemptyset(&mut deadly);
        libc::sigpending(&mut pending);
        for signal in [libc::SIGXFSZ, libc::SIGPIPE] {
            if libc::sigismember(&pending, signal) == 0 {
                libc::sigaddset(&mut deadly, signal);
            }
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &deadly, &mut before);
        let result = write();
        let errno = *libc::__errno_location();
        let at_once: libc::timespec = zeroed();
        while libc::sigtimedwait(&deadly, ptr::null_mut(), &at_once) > 0 {}
        *libc::__errno_location() = errno;
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
        result
    }
}

/// How many bytes of address space may be reserved: a sixteenth if it is limited (`ulimit -v`).
pub fn spare_addresses() -> usize {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` is ours to fill.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) };
    if limit.rlim_cur == libc::RLIM_INFINITY { usize::MAX } else { limit.rlim_cur as usize / 16 }
}

#[cfg(test)]
mod tests {
    use super::without_signals;
    use std::io;

    /// Writes to a pipe without a reader.
    fn write_to_nobody() -> io::Result<()> {
        let mut ends = [0; 2];
        // SAFETY: our own pipe, and one byte of ours.
        unsafe {
            libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC);
            libc::close(ends[0]);
            let written = without_signals(|| libc::write(ends[1], c"x".as_ptr().cast(), 1));
            let error = io::Error::last_os_error();
            libc::close(ends[1]);
            if written < 0 { Err(error) } else { Ok(()) }
        }
    }

    #[test]
    fn a_write_that_would_end_the_program_is_an_error() {
        // SAFETY: restores the default action, since the test harness ignores the signal.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        assert_eq!(write_to_nobody().unwrap_err().raw_os_error(), Some(libc::EPIPE));
        // No signal is left to arrive later.
        // SAFETY: the sets are ours.
        unsafe {
            let mut pending = std::mem::zeroed();
            libc::sigpending(&mut pending);
            assert_eq!(libc::sigismember(&pending, libc::SIGPIPE), 0);
        }
    }
}
