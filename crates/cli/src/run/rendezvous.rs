//! Where the collector of a job listens: a socket in a folder that only this user may enter.
//!
//! The wrappers of one job on one host must find the same place, and everything they have in common is
//! visible to anyone who can list processes. So the place is not secret but private: other users can neither
//! take it first nor connect to it. Both sides check each other's credentials nevertheless. A lock in the
//! folder selects the one process that becomes the collector; names left behind by killed collectors are
//! removed under the lock.

use crate::render::complain;
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

/// The lock of the folder. While it is held, no other process of this user takes or gives up a place.
/// Unlocked on drop.
#[derive(Debug)]
pub struct Turn(OwnedFd);

impl Drop for Turn {
    fn drop(&mut self) {
        // Closing would not unlock it: a child forked meanwhile has the file open as well.
        let _unlocked = flock(&self.0, FlockOperation::Unlock);
    }
}

impl Folder {
    /// Applies `used` to the folder named by `MPISCOPE_RUNTIME_DIR`, or else to the first folder that is
    /// private to this user. If the named folder is unusable, another one is used, since that must not end
    /// the program; the error is returned with the result.
    ///
    /// # Errors
    /// If no folder is usable because other users have taken all of them.
    pub fn first<T>(used: impl Fn(&Self) -> io::Result<T>) -> io::Result<(T, Option<io::Error>)> {
        let named = std::env::var_os(runtime::VARIABLE).filter(|name| !name.is_empty());
        Self::first_of(named.as_deref().map(Path::new), used)
    }

    fn first_of<T>(
        named: Option<&Path>,
        used: impl Fn(&Self) -> io::Result<T>,
    ) -> io::Result<(T, Option<io::Error>)> {
        let user = geteuid().as_raw();
        let of = |named| runtime::folder(user, named).map(Self).and_then(|folder| used(&folder));
        match named.map(|named| of(Some(named))) {
            None => Ok((of(None)?, None)),
            Some(Ok(found)) => Ok((found, None)),
            Some(Err(why)) => Ok((of(None)?, Some(why))),
        }
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of a job's socket on this host. The name includes the host, since the folder may be
    /// on a shared file system.
    pub fn place(&self, job: &str) -> PathBuf {
        self.0.join(name(job))
    }

    /// Waits until no other process takes or gives up a place.
    ///
    /// # Errors
    /// If the lock file cannot be opened or locked.
    pub fn turn(&self) -> io::Result<Turn> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let path = self.0.join("lock");
        let lock = open(&path, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|why| io::Error::new(why.kind(), format!("{}: {why}", path.display())))?;
        while let Err(why) = flock(&lock, FlockOperation::LockExclusive) {
            if why != rustix::io::Errno::INTR {
                return Err(why.into());
            }
        }
        Ok(Turn(lock))
    }

    /// Listens at a place, which may have been left behind by a dead collector.
    ///
    /// # Errors
    /// `AddrInUse` if another collector listens there.
    pub fn listen(&self, place: &Path, _turn: &Turn) -> io::Result<UnixListener> {
        self.sweep();
        let listener = UnixListener::bind(place)
            .map_err(|why| io::Error::new(why.kind(), format!("{}: {why}", place.display())))?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }

    /// Removes sockets on which no process listens any more.
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

/// Reports that the folder named by the user is not used.
pub fn report_unused(why: &io::Error) {
    complain("run", &format!("{}: {why}; using another folder", runtime::VARIABLE));
}

/// Returns the socket's file name for a job on this host.
pub fn name(job: &str) -> String {
    runtime::collector_name(rustix::system::uname().nodename().to_bytes(), job.as_bytes())
}

/// Whether no process listens there. A listener that is too busy to answer counts as alive.
fn dead(path: &Path) -> bool {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let (Ok(socket), Ok(address)) = (socket, SocketAddrUnix::new(path)) else { return false };
    connect(&socket, &address) == Err(rustix::io::Errno::CONNREFUSED)
}

/// Connects to the collector at a place, but only if it belongs to this user.
///
/// # Errors
/// `ConnectionRefused` or `NotFound` if there is none; `PermissionDenied` if it belongs to another user.
pub fn reach(place: &Path) -> io::Result<UnixStream> {
    let socket = UnixStream::connect(place)?;
    let listener = socket_peercred(&socket)?.uid;
    if listener != geteuid() {
        let why = format!("user {} owns the listener at {}", listener.as_raw(), place.display());
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
    fn one_of_many_listens_and_leftovers_of_a_killed_one_do_no_harm() {
        let (_dir, folder) = folder();
        let turn = folder.turn().unwrap();
        let (one, other) = (folder.place("a"), folder.place("b"));
        let listener = folder.listen(&one, &turn).unwrap();
        assert_eq!(folder.listen(&one, &turn).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert!(reach(&one).is_ok() && reach(&other).is_err());
        // Acts as if all holders were gone: a child that another test is just starting holds the listener for
        // a moment.
        shutdown(&listener, Shutdown::Both).unwrap();
        drop(listener);
        let _again = folder.listen(&other, &turn).unwrap();
        assert!(!one.exists() && other.exists());
    }

    #[test]
    fn a_turn_ends_even_if_a_child_also_holds_the_lock() {
        let (_dir, folder) = folder();
        let turn = folder.turn().unwrap();
        let _child = turn.0.try_clone().unwrap();
        drop(turn);
        folder.turn().unwrap();
    }

    #[test]
    fn an_unusable_folder_is_reported_and_another_one_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let listens = |folder: &Folder| {
            let place = folder.place(&format!("named-{}", std::process::id()));
            let listener = folder.listen(&place, &folder.turn()?)?;
            fs::remove_file(&place)?;
            Ok((place, listener))
        };
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        // Socket names have a small length limit.
        for useless in [file, dir.path().join("d".repeat(100))] {
            let ((place, _listener), why) = Folder::first_of(Some(&useless), listens).unwrap();
            assert!(!place.starts_with(dir.path()));
            assert!(why.unwrap().to_string().contains(useless.to_str().unwrap()));
        }
        let good = dir.path().join("good");
        let ((place, _listener), why) = Folder::first_of(Some(&good), listens).unwrap();
        assert!(place.starts_with(good) && why.is_none());
    }
}
