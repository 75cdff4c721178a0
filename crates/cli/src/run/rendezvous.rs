//! Where the collector of a job listens: a socket in a folder that only this user may enter.
//!
//! The ranks' parents of one job on one host must find the same place, and what they have in common is known to everybody
//! who can list processes. So the place is not secret but private: other users can neither take it first nor connect to it.
//! Both sides look at the other's credentials all the same. A lock in the folder lets one of many become the collector;
//! names that collectors left behind which were killed are removed under it.

use mpiscope_job::runtime;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::geteuid;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The folder of this user's collectors.
#[derive(Debug)]
pub struct Folder(PathBuf);

/// As long as it is there, nobody else of this user takes or gives up a place. Unlocks itself in the end.
#[derive(Debug)]
pub struct Turn(OwnedFd);

impl Drop for Turn {
    fn drop(&mut self) {
        // Closing would not do: a child that was forked meanwhile has it open as well.
        let _unlocked = flock(&self.0, FlockOperation::Unlock);
    }
}

impl Folder {
    /// The folder that `MPISCOPE_RUNTIME_DIR` names, else the first that is this user's alone.
    ///
    /// # Errors
    /// When there is none: somebody else has taken all of them.
    pub fn find() -> io::Result<Self> {
        let named = std::env::var_os(runtime::VARIABLE).filter(|name| !name.is_empty());
        runtime::folder(geteuid().as_raw(), named.as_ref().map(Path::new)).map(Self)
    }

    /// The place of a job on this host: the folder may be on a disk that hosts share.
    pub fn place(&self, job: &str) -> PathBuf {
        self.0.join(name(job))
    }

    /// Waits until nobody else takes or gives up a place.
    ///
    /// # Errors
    /// When the lock cannot be made.
    pub fn turn(&self) -> io::Result<Turn> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let lock = open(self.0.join("lock"), flags, Mode::RUSR | Mode::WUSR)?;
        while let Err(why) = flock(&lock, FlockOperation::LockExclusive) {
            if why != rustix::io::Errno::INTR {
                return Err(why.into());
            }
        }
        Ok(Turn(lock))
    }

    /// Listens at a place; whoever listened there before is gone.
    ///
    /// # Errors
    /// `AddrInUse` if another collector is there.
    pub fn listen(&self, place: &Path, _turn: &Turn) -> io::Result<UnixListener> {
        self.sweep();
        let listener = UnixListener::bind(place)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }

    /// Removes names under which nobody listens any more.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.0) else { return };
        let sockets = entries.flatten().map(|entry| entry.path());
        for path in sockets.filter(|path| path.to_string_lossy().ends_with(runtime::COLLECTOR_SUFFIX)) {
            if dead(&path) {
                let _removed = fs::remove_file(&path);
            }
        }
    }
}

/// The name of the place of a job on this host.
pub fn name(job: &str) -> String {
    runtime::collector_name(rustix::system::uname().nodename().to_bytes(), job.as_bytes())
}

/// Whether nobody listens there. One who is too busy to answer is there.
fn dead(path: &Path) -> bool {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let (Ok(socket), Ok(address)) = (socket, SocketAddrUnix::new(path)) else { return false };
    connect(&socket, &address) == Err(rustix::io::Errno::CONNREFUSED)
}

/// Connects to the collector at a place; nothing is sent to anybody but this user.
///
/// # Errors
/// `ConnectionRefused` or `NotFound` if there is none; `PermissionDenied` if it is somebody else's.
pub fn reach(place: &Path) -> io::Result<UnixStream> {
    let socket = UnixStream::connect(place)?;
    let listener = socket_peercred(&socket)?.uid;
    if listener != geteuid() {
        let why = format!("user {} listens at {}", listener.as_raw(), place.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{Shutdown, shutdown};

    fn folder() -> (tempfile::TempDir, Folder) {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder(runtime::folder(geteuid().as_raw(), Some(&dir.path().join("x"))).unwrap());
        (dir, folder)
    }

    #[test]
    fn one_of_many_listens_and_what_a_killed_one_left_is_no_obstacle() {
        let (_dir, folder) = folder();
        let turn = folder.turn().unwrap();
        let (one, other) = (folder.place("a"), folder.place("b"));
        let listener = folder.listen(&one, &turn).unwrap();
        assert_eq!(folder.listen(&one, &turn).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert!(reach(&one).is_ok() && reach(&other).is_err());
        // As if every process that has it open were gone: a child that another test is just starting has it for a moment.
        shutdown(&listener, Shutdown::Both).unwrap();
        drop(listener);
        let _again = folder.listen(&other, &turn).unwrap();
        assert!(!one.exists() && other.exists());
    }

    #[test]
    fn a_turn_ends_although_a_child_holds_the_lock_as_well() {
        let (_dir, folder) = folder();
        let turn = folder.turn().unwrap();
        let _child = turn.0.try_clone().unwrap();
        drop(turn);
        folder.turn().unwrap();
    }
}
