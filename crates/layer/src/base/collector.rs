//! Hands the image to `mpiscope run`: one message with the memory file over a Unix socket. Only the same user
//! receives it, and only with read access.
#![allow(unsafe_code)]

use crate::base::companion;
use crate::base::meeting_place;
use crate::base::settings::variable;
use crate::base::unix_socket::Socket;
use std::ffi::{CStr, c_void};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Version of the messages.
pub const VERSION: u32 = 1;

/// Why an image was not handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// There is no collector.
    Nobody,
    /// Another user's process is listening.
    Stranger,
}

/// How long a collector that this process started may take to come up, and how often to try to connect.
const STARTS: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

/// Hands `file` to the job's collector: the one named by `named`, otherwise the one that collects on this
/// host (for a process that was spawned onto another host), otherwise a newly started one.
pub fn hand_over(named: &CStr, file: i32, pid: u32) -> Result<(), Refused> {
    let sent = send(named.to_bytes(), file, pid);
    if sent != Err(Refused::Nobody) {
        return sent;
    }
    let place = place_here().ok_or(Refused::Nobody)?;
    let sent = send(&place, file, pid);
    if sent != Err(Refused::Nobody) || !companion::start() {
        return sent;
    }
    let until = Instant::now() + STARTS;
    loop {
        match send(&place, file, pid) {
            Err(Refused::Nobody) if Instant::now() < until => sleep(LOOK),
            sent => return sent,
        }
    }
}

/// Returns the address at which this job's collector listens on this host.
fn place_here() -> Option<Vec<u8>> {
    let job = variable(c"MPISCOPE_JOB")?;
    Some(
        meeting_place::folder()
            .ok()?
            .join(meeting_place::collector_name(&job))
            .as_os_str()
            .as_bytes()
            .to_vec(),
    )
}

/// Connects to the job's collector on this host, if it has one.
pub fn reach() -> Option<Socket> {
    let named = variable(c"MPISCOPE_COLLECTOR").and_then(|name| connect(name.to_bytes()).ok());
    named.or_else(|| connect(&place_here()?).ok())
}

fn connect(name: &[u8]) -> Result<Socket, Refused> {
    let socket = Socket::new(0).filter(|socket| socket.connect(name)).ok_or(Refused::Nobody)?;
    if socket.is_ours() { Ok(socket) } else { Err(Refused::Stranger) }
}

/// Sends `file` to the socket called `name`.
fn send(name: &[u8], file: i32, pid: u32) -> Result<(), Refused> {
    let socket = connect(name)?;
    let copy = read_only(file).ok_or(Refused::Nobody)?;
    // SAFETY: our own socket and file.
    let sent = unsafe { send_file(socket.descriptor(), copy.as_raw_fd(), pid) };
    if sent { Ok(()) } else { Err(Refused::Nobody) }
}

/// Opens the same file read-only.
fn read_only(file: i32) -> Option<File> {
    File::open(format!("/proc/self/fd/{file}")).ok()
}

/// The bytes of a message to the collector: its kind and three words.
pub fn message(kind: &[u8; 4], words: [u32; 3]) -> [u8; 16] {
    let mut message = [0u8; 16];
    let bytes = kind.iter().copied().chain(words.into_iter().flat_map(u32::to_ne_bytes));
    message.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    message
}

/// Sends the first message, with the file as ancillary data.
unsafe fn send_file(socket: i32, file: i32, pid: u32) -> bool {
    let mut body = message(b"MPSC", [VERSION, pid, 0]);
    let mut control = [0u64; 8];
    let mut part = libc::iovec { iov_base: body.as_mut_ptr().cast::<c_void>(), iov_len: body.len() };
    // SAFETY: all zero is a valid message; its parts live until the call returns; the control buffer is aligned and
    // large enough for one descriptor.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<i32>() as u32) as _;
        let head = libc::CMSG_FIRSTHDR(&message);
        if head.is_null() {
            return false;
        }
        (*head).cmsg_level = libc::SOL_SOCKET;
        (*head).cmsg_type = libc::SCM_RIGHTS;
        (*head).cmsg_len = libc::CMSG_LEN(size_of::<i32>() as u32) as _;
        libc::CMSG_DATA(head).cast::<i32>().write_unaligned(file);
        libc::sendmsg(socket, &message, libc::MSG_NOSIGNAL) == body.len() as isize
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    /// Returns how many bytes a listener run by `user` receives, and the sender's result.
    fn listened(user: u32) -> (isize, Result<(), Refused>) {
        let dir: PathBuf =
            std::env::temp_dir().join(format!("mpiscope-listen-{}-{user}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o777)).unwrap();
        let place = dir.join("s");
        let mut said = [0; 2];
        // SAFETY: the child makes only system calls, on its own memory, and never returns.
        let child = unsafe {
            assert_eq!(libc::pipe(said.as_mut_ptr()), 0);
            let child = libc::fork();
            if child == 0 {
                let socket = Socket::new(0).filter(|_| libc::setuid(user) == 0);
                let listens =
                    socket.as_ref().is_some_and(|socket| socket.listen(place.as_os_str().as_bytes(), 1));
                libc::write(said[1], b"x".as_ptr().cast(), 1);
                let mut bytes = [0u8; 16];
                let other = socket
                    .map_or(-1, |s| libc::accept(s.descriptor(), std::ptr::null_mut(), std::ptr::null_mut()));
                let got = libc::recv(other, bytes.as_mut_ptr().cast(), bytes.len(), 0);
                libc::_exit(if listens { got as i32 } else { 100 });
            }
            libc::read(said[0], [0u8; 1].as_mut_ptr().cast(), 1);
            child
        };
        let heard = send(place.as_os_str().as_bytes(), File::open("/dev/null").unwrap().as_raw_fd(), 1);
        let mut status = 0;
        // SAFETY: waits for the child made above.
        unsafe { libc::waitpid(child, &mut status, 0) };
        std::fs::remove_dir_all(&dir).unwrap();
        (libc::WEXITSTATUS(status) as isize, heard)
    }

    #[test]
    fn a_listener_of_another_user_gets_nothing() {
        // SAFETY: no arguments, always succeeds.
        let user = unsafe { libc::geteuid() };
        assert_eq!(listened(user), (16, Ok(())));
        if user == 0 {
            assert_eq!(listened(65534), (0, Err(Refused::Stranger)));
        }
        assert_eq!(send(b"/nobody/listens/here", 0, 1), Err(Refused::Nobody));
    }

    #[test]
    fn a_descriptor_that_is_passed_on_is_read_only() {
        // SAFETY: a new descriptor, which is ours; asks for its flags.
        let (file, flags) = unsafe {
            let file = libc::memfd_create(c"x".as_ptr(), libc::MFD_CLOEXEC);
            (file, libc::fcntl(read_only(file).unwrap().as_raw_fd(), libc::F_GETFL))
        };
        assert!(file >= 0);
        assert_eq!(flags & libc::O_ACCMODE, libc::O_RDONLY);
    }
}
