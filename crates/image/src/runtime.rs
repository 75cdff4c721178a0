//! The folder in which one user's processes meet. Sockets and files in it have names derived from public
//! facts, so it is the folder that keeps other users from taking these names first. `mpiscope run` finds it
//! by the same rule (`run/rendezvous.rs` of `cli`).

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The 64-bit FNV-1a hash.
#[must_use]
pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

/// Identifies something on a host in the folder, which may be on a disk shared by several hosts.
#[must_use]
pub fn key(host: &[u8], what: &[u8]) -> u64 {
    hash(&[host, b"/", what].concat())
}

/// Suffix of the names of collectors' sockets.
pub const COLLECTOR_SUFFIX: &str = ".collector";

/// The name of the socket on which a job's collector listens on a host.
#[must_use]
pub fn collector_name(host: &[u8], job: &[u8]) -> String {
    format!("{:016x}{COLLECTOR_SUFFIX}", key(host, job))
}

/// Possible parents of users' folders, best first: memory shared by all processes of the host, then a
/// directory that every host has.
const PARENTS: [&str; 2] = ["/dev/shm", "/tmp"];
/// Environment variable that selects a different folder, which is created if necessary.
pub const VARIABLE: &str = "MPISCOPE_RUNTIME_DIR";

/// The folder of this user (an effective user ID): `named` if given, otherwise the first that belongs to this
/// user alone.
///
/// # Errors
/// If there is none: another user has taken all of them.
pub fn folder(user: u32, named: Option<&Path>) -> io::Result<PathBuf> {
    if let Some(named) = named {
        return private(std::path::absolute(named)?, user);
    }
    first_of(PARENTS.iter().map(Path::new), user)
}

fn first_of<'a>(parents: impl Iterator<Item = &'a Path>, user: u32) -> io::Result<PathBuf> {
    let mut last = None;
    for parent in parents.filter(|parent| safe_parent(parent, user)) {
        match private(parent.join(format!("mpiscope-{user}")), user) {
            Ok(folder) => return Ok(folder),
            Err(why) => last = Some(why),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::other(format!("no directory for sockets; set {VARIABLE} to one"))))
}

/// Whether entries of a folder are safe from other users: if it is writable for all, it must be sticky.
fn safe_parent(parent: &Path, user: u32) -> bool {
    fs::symlink_metadata(parent).is_ok_and(|about| {
        let (others_write, sticky) = (about.mode() & 0o022 != 0, about.mode() & 0o1000 != 0);
        about.is_dir() && [0, user].contains(&about.uid()) && (sticky || !others_write)
    })
}

/// Creates the folder unless it exists, and checks that it belongs to this user alone.
fn private(folder: PathBuf, user: u32) -> io::Result<PathBuf> {
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(why) if why.kind() != io::ErrorKind::AlreadyExists => {
            return Err(io::Error::new(why.kind(), format!("{}: {why}", folder.display())));
        }
        _ => {}
    }
    let about = fs::symlink_metadata(&folder)?;
    let refuse = |why: String| {
        let advice = format!("set {VARIABLE} to a directory of your own");
        Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{}: {why}; {advice}", folder.display())))
    };
    match (about.is_dir(), about.uid() == user, about.mode() & 0o077) {
        (false, ..) => refuse("not a directory".into()),
        (_, false, _) => refuse(format!("it belongs to user {}", about.uid())),
        (.., 1..) => refuse(format!("other users have access to it (mode {:o})", about.mode() & 0o777)),
        _ => writable(folder, &about),
    }
}

/// Checks that an existing folder is not on a file system that is mounted read-only, as in containers: there
/// its mode cannot be set either.
fn writable(folder: PathBuf, about: &fs::Metadata) -> io::Result<PathBuf> {
    match fs::set_permissions(&folder, about.permissions()) {
        Err(why) if why.kind() == io::ErrorKind::ReadOnlyFilesystem => {
            Err(io::Error::new(why.kind(), format!("{}: {why}", folder.display())))
        }
        _ => Ok(folder),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A folder for this test, and its owner.
    fn scratch(name: &str) -> (PathBuf, u32) {
        let dir = std::env::temp_dir().join(format!("mpiscope-runtime-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let user = fs::metadata(&dir).unwrap().uid();
        (dir, user)
    }

    #[test]
    fn a_folder_open_to_others_or_a_file_is_rejected_with_a_remedy() {
        let (dir, user) = scratch("refused");
        let (open, link) = (dir.join("open"), dir.join("link"));
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        symlink(&dir, &link).unwrap();
        for (path, what) in [(open, "mode 755"), (link, "not a directory")] {
            let why = private(path, user).unwrap_err().to_string();
            assert!(why.contains(what) && why.contains(VARIABLE), "{why}");
        }
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_folder_that_another_user_created_first_is_skipped() {
        let (dir, user) = scratch("taken");
        let parents = ["first", "second"].map(|name| dir.join(name));
        let find = || first_of(parents.iter().map(PathBuf::as_path), user);
        for parent in &parents {
            DirBuilder::new().mode(0o755).create(parent).unwrap();
        }
        let name = format!("mpiscope-{user}");
        // A file is in the way, just as something made by another user would be.
        fs::write(parents[0].join(&name), "").unwrap();
        assert_eq!(find().unwrap(), parents[1].join(&name));
        fs::remove_dir(parents[1].join(&name)).unwrap();
        fs::write(parents[1].join(&name), "").unwrap();
        assert_eq!(find().unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        fs::remove_dir_all(&dir).unwrap();
    }
}
