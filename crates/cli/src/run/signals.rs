//! Signals to `mpiscope run`, as events of a poll loop.
//!
//! Signals sent to us by a process are forwarded to the program. Signals from the terminal (Ctrl-C) reach the
//! program directly, since it is in the same process group; a second copy would make a launcher abort
//! immediately.
#![allow(unsafe_code)]

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Signals that are forwarded.
const PASSED: &[libc::c_int] =
    &[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM];

/// Whether schedulers and users send this signal to end a job or to announce its end.
pub fn ends_jobs(signal: libc::c_int) -> bool {
    [libc::SIGTERM, libc::SIGINT, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2].contains(&signal)
}

/// Whether a scheduler that sends this signal to all processes of a job kills them soon.
pub fn kills_jobs(signal: libc::c_int) -> bool {
    [libc::SIGTERM, libc::SIGINT, libc::SIGQUIT].contains(&signal)
}

/// A signal that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A child changed state.
    Child,
    /// A process sent this signal to us.
    Sent(libc::c_int),
    /// The terminal sent this signal to us and to the program.
    Terminal(libc::c_int),
}

/// A signal mask.
#[derive(Clone, Copy)]
pub struct Mask(libc::sigset_t);

impl Mask {
    /// Installs it as the mask of this thread. Async-signal-safe, so it may be called between fork and exec.
    pub fn restore(&self) {
        // SAFETY: the set was filled in by `sigprocmask`.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}

/// Blocked signals, readable from a descriptor.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
    before: libc::sigset_t,
}

impl Signals {
    /// Blocks the signals in this thread and opens the descriptor.
    pub fn block() -> io::Result<Self> {
        // Our parent may have ignored `SIGCHLD`; then the kernel would discard the program's exit status.
        // SAFETY: restores the default action of a signal, which is harmless.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: the sets are local; a zeroed set is valid, and `sigemptyset` initializes it anyway.
        let fd = unsafe {
            let mut set = MaybeUninit::<libc::sigset_t>::zeroed().assume_init();
            libc::sigemptyset(&mut set);
            for signal in PASSED.iter().chain([&libc::SIGCHLD]) {
                libc::sigaddset(&mut set, *signal);
            }
            if libc::sigprocmask(libc::SIG_BLOCK, &set, before.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        // SAFETY: it was filled by `sigprocmask`.
        let before = unsafe { before.assume_init() };
        if fd < 0 {
            let error = io::Error::last_os_error();
            Mask(before).restore();
            return Err(error);
        }
        // SAFETY: a new descriptor without another owner.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) }, before })
    }

    /// Returns the mask that was in effect before.
    pub fn mask(&self) -> Mask {
        Mask(self.before)
    }

    /// Returns the next pending signal, if any.
    pub fn next(&self) -> Option<Event> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the buffer has room for one record; the kernel writes whole records or nothing.
        let read = unsafe { libc::read(self.fd.as_raw_fd(), info.as_mut_ptr().cast(), size) };
        if read != size as isize {
            return None;
        }
        // SAFETY: a whole record was read; every bit pattern is valid.
        let info = unsafe { info.assume_init() };
        let signal = info.ssi_signo as libc::c_int;
        Some(match signal {
            libc::SIGCHLD => Event::Child,
            _ if info.ssi_code == libc::SI_KERNEL => Event::Terminal(signal),
            _ => Event::Sent(signal),
        })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
