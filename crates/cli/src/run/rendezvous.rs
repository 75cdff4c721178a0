//! Where the collector of a job listens: a socket in a folder that only this user may enter.
//!
//! The ranks' parents of one job on one host must find the same place, and what they have in common is known to everybody
//! who can list processes. So the place is not secret but private: other users can neither take it first nor connect to it.
//! Both sides look at the other's credentials all the same. A lock in the folder lets one of many become the collector;
//! names that collectors left behind which were killed are removed under it.

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::geteuid;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Where folders of users may be, best first: memory that every process of the host shares, then what every host has.
const PARENTS: [&str; 2] = ["/dev/shm", "/tmp"];
/// Names another folder, to be made if it is not there.
const VARIABLE: &str = "MPISCOPE_RUNTIME_DIR";
/// What names of sockets end with.
const SUFFIX: &str = ".collector";

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
        if let Some(named) = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()) {
            return private(std::path::absolute(named)?).map(Self);
        }
        let name = format!("mpiscope-{}", geteuid().as_raw());
        let mut last = None;
        for parent in PARENTS.map(Path::new).into_iter().filter(|parent| safe_parent(parent)) {
            match private(parent.join(&name)) {
                Ok(folder) => return Ok(Self(folder)),
                Err(why) => last = Some(why),
            }
        }
        Err(last
            .unwrap_or_else(|| io::Error::other(format!("no folder for sockets; name one by {VARIABLE}"))))
    }

    /// The place of a job on this host: the folder may be on a disk that hosts share.
    pub fn place(&self, job: &str) -> PathBuf {
        let host = rustix::system::uname();
        let key = [host.nodename().to_bytes(), b"/", job.as_bytes()].concat();
        self.0.join(format!("{:016x}{SUFFIX}", super::hash(&key)))
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
        for path in sockets.filter(|path| path.to_string_lossy().ends_with(SUFFIX)) {
            if dead(&path) {
                let _removed = fs::remove_file(&path);
            }
        }
    }
}

/// Whether nobody listens there. One who is too busy to answer is there.
fn dead(path: &Path) -> bool {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let (Ok(socket), Ok(address)) = (socket, SocketAddrUnix::new(path)) else { return false };
    connect(&socket, &address) == Err(rustix::io::Errno::CONNREFUSED)
}

/// In a folder that everybody may write to, names must stay what they are.
fn safe_parent(parent: &Path) -> bool {
    fs::symlink_metadata(parent).is_ok_and(|about| {
        let (others_write, sticky) = (about.mode() & 0o022 != 0, about.mode() & 0o1000 != 0);
        about.is_dir() && [0, geteuid().as_raw()].contains(&about.uid()) && (sticky || !others_write)
    })
}

/// Makes the folder, unless it is there and this user's alone.
fn private(folder: PathBuf) -> io::Result<PathBuf> {
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(why) if why.kind() != io::ErrorKind::AlreadyExists => {
            return Err(io::Error::new(why.kind(), format!("{}: {why}", folder.display())));
        }
        _ => {}
    }
    let about = fs::symlink_metadata(&folder)?;
    let refuse = |why: String| {
        let advice = format!("name a folder of your own by {VARIABLE}");
        Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{}: {why}; {advice}", folder.display())))
    };
    match (about.is_dir(), about.uid() == geteuid().as_raw(), about.mode() & 0o077) {
        (false, ..) => refuse("not a folder".into()),
        (_, false, _) => refuse(format!("it belongs to user {}", about.uid())),
        (.., 1..) => refuse(format!("others may enter it (mode {:o})", about.mode() & 0o777)),
        _ => Ok(folder),
    }
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
    use std::os::unix::fs::PermissionsExt;

    fn folder() -> (tempfile::TempDir, Folder) {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder(private(dir.path().join("x")).unwrap());
        (dir, folder)
    }

    #[test]
    fn a_folder_that_others_may_enter_or_that_is_none_is_refused_with_a_way_out() {
        let dir = tempfile::tempdir().unwrap();
        let open = dir.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        for (path, what) in [(open, "mode 755"), (link, "not a folder")] {
            let why = private(path).unwrap_err().to_string();
            assert!(why.contains(what) && why.contains(VARIABLE), "{why}");
        }
    }

    #[test]
    fn one_of_many_listens_and_what_a_killed_one_left_is_no_obstacle() {
        let (_dir, folder) = folder();
        let turn = folder.turn().unwrap();
        let (one, other) = (folder.place("a"), folder.place("b"));
        let listener = folder.listen(&one, &turn).unwrap();
        assert_eq!(folder.listen(&one, &turn).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert!(reach(&one).is_ok() && reach(&other).is_err());
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
