//! Unix sockets. A name that begins with a slash is a file's; any other name is abstract: it needs no file
//! and disappears with the socket's owner. Any user on the host may use either, so check the peer before
//! sending anything ([`Socket::is_ours`]).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::time::{Duration, Instant};

/// A stream socket, closed when dropped.
pub struct Socket(c_int);

impl Socket {
    /// Creates a socket; `flags` such as `SOCK_NONBLOCK`. It is closed on exec.
    pub fn new(flags: c_int) -> Option<Self> {
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | flags;
        // SAFETY: makes a descriptor, which is ours.
        Self::of(unsafe { libc::socket(libc::AF_UNIX, kind, 0) })
    }

    /// Takes ownership of a descriptor; `None` if it is negative.
    pub fn of(descriptor: c_int) -> Option<Self> {
        (descriptor >= 0).then_some(Self(descriptor))
    }

    /// Its descriptor.
    pub fn descriptor(&self) -> c_int {
        self.0
    }

    /// Connects to the listener of this name. Returns false if there is none.
    pub fn connect(&self, name: &[u8]) -> bool {
        address(name).is_some_and(|(address, len)| {
            // SAFETY: an address of that length.
            unsafe { libc::connect(self.0, (&raw const address).cast(), len) == 0 }
        })
    }

    /// Whether the peer runs as the same user.
    pub fn is_ours(&self) -> bool {
        let mut who = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
        let mut len = size_of::<libc::ucred>() as libc::socklen_t;
        let place = (&raw mut who).cast::<c_void>();
        // SAFETY: the buffer is as long as `len` says.
        let known = unsafe { libc::getsockopt(self.0, libc::SOL_SOCKET, libc::SO_PEERCRED, place, &mut len) };
        // SAFETY: no arguments, always succeeds.
        known == 0 && who.uid == unsafe { libc::geteuid() }
    }

    /// Waits until there is something to read or to accept. Returns false if the time is up first.
    pub fn readable(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            // Rounded up: the time is not up before it is.
            let milliseconds = left.as_nanos().div_ceil(1_000_000) as c_int;
            let mut poll = libc::pollfd { fd: self.0, events: libc::POLLIN, revents: 0 };
            // SAFETY: one entry, which is ours.
            let ready = unsafe { libc::poll(&mut poll, 1, milliseconds) };
            if ready > 0 {
                return true;
            }
            // Signals may interrupt the wait any number of times.
            let interrupted = std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted;
            if ready == 0 || !interrupted || left.is_zero() {
                return false;
            }
        }
    }

    /// Sends a few bytes. A closed connection causes a failure, not a signal.
    pub fn send(&self, bytes: &[u8]) -> bool {
        // SAFETY: the buffer is as long as stated.
        let sent = unsafe { libc::send(self.0, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
        usize::try_from(sent) == Ok(bytes.len())
    }

    /// Receives one byte; `None` if the peer closes the connection or the time is up first.
    pub fn byte(&self, limit: Duration) -> Option<u8> {
        let mut byte = 0u8;
        // SAFETY: room for one byte.
        let received =
            self.readable(limit) && unsafe { libc::recv(self.0, (&raw mut byte).cast(), 1, 0) } == 1;
        received.then_some(byte)
    }

    /// Accepts a connection; `None` if there is none.
    pub fn accept(&self) -> Option<Self> {
        let nowhere = std::ptr::null_mut();
        // SAFETY: no address is requested.
        Self::of(unsafe { libc::accept4(self.0, nowhere, std::ptr::null_mut(), libc::SOCK_CLOEXEC) })
    }

    /// Listens under this name. Returns false if it is taken.
    pub fn listen(&self, name: &[u8], backlog: c_int) -> bool {
        address(name).is_some_and(|(address, len)| {
            // SAFETY: an address of that length; our own descriptor.
            unsafe {
                libc::bind(self.0, (&raw const address).cast(), len) == 0
                    && libc::listen(self.0, backlog) == 0
            }
        })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // SAFETY: our own descriptor.
        unsafe { libc::close(self.0) };
    }
}

/// Returns the address of a name and its length; `None` if the name is too long.
fn address(name: &[u8]) -> Option<(libc::sockaddr_un, libc::socklen_t)> {
    // SAFETY: all zero is a valid address.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // An abstract name has a leading zero byte, a path a trailing one.
    let abstracted = usize::from(name.first() != Some(&b'/'));
    let room = address.sun_path.get_mut(abstracted..)?.get_mut(..name.len())?;
    for (to, from) in room.iter_mut().zip(name) {
        *to = *from as libc::c_char;
    }
    let len = offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    if len > size_of::<libc::sockaddr_un>() {
        return None;
    }
    Some((address, len as libc::socklen_t))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_found_by_name_only_while_it_exists() {
        let name = format!("mpiscope/test/{}", std::process::id());
        let (one, other) = (Socket::new(0).unwrap(), Socket::new(0).unwrap());
        assert!(one.listen(name.as_bytes(), 1));
        assert!(!Socket::new(0).unwrap().listen(name.as_bytes(), 1), "the name is taken");
        assert!(!other.connect(format!("{name}x").as_bytes()));
        assert!(other.connect(name.as_bytes()));
        drop(one);
        assert!(!Socket::new(0).unwrap().connect(name.as_bytes()));
    }

    #[test]
    fn a_name_that_is_too_long_is_rejected() {
        assert!(address(&[b'x'; 107]).is_some() && address(&[b'x'; 108]).is_none());
    }
}
