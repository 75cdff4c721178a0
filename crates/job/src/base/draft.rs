//! Files that appear only when they are complete.
//!
//! Until then a draft has no name, so nothing of it remains if its writer is killed. File systems that know
//! only named files get a temporary one, which is removed unless the writer is killed.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempPath};

/// A file that is being written and will appear at a path.
#[derive(Debug)]
pub struct Draft {
    file: File,
    /// The temporary name, where a file cannot be without one.
    name: Option<TempPath>,
    path: PathBuf,
}

impl Draft {
    /// Begins a file that only its owner may read.
    ///
    /// # Errors
    /// When no file can be made in the folder of `path`.
    pub fn private(path: &Path) -> io::Result<Self> {
        Self::new(path, 0o600)
    }

    /// Begins a file with the permissions that files have by default (umask).
    ///
    /// # Errors
    /// When no file can be made in the folder of `path`.
    pub fn shared(path: &Path) -> io::Result<Self> {
        Self::new(path, 0o666)
    }

    fn new(path: &Path, mode: u32) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let (file, name) = match open(folder(path), flags, Mode::from_raw_mode(mode)) {
            Ok(file) => (File::from(file), None),
            // Which error says that the file system cannot do this depends on it and on the kernel.
            Err(why) => {
                let named =
                    Builder::new().permissions(Permissions::from_mode(mode)).tempfile_in(folder(path));
                let named = named.map_err(|named| without_name(why.into(), named))?;
                let (file, name) = named.into_parts();
                (file, Some(name))
            }
        };
        Ok(Self { file, name, path: path.to_owned() })
    }

    /// Returns the file, to be written to.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Makes the file appear, in place of an earlier one.
    ///
    /// # Errors
    /// When it cannot be named so, for instance because that is a folder.
    pub fn publish(self) -> io::Result<()> {
        let name = match self.name {
            Some(name) => name,
            None => link(&self.file, folder(&self.path))?,
        };
        name.persist(&self.path).map_err(|why| why.error)
    }
}

/// Gives a file without a name a temporary one: a link cannot replace another file, but renaming can.
fn link(file: &File, folder: &Path) -> io::Result<TempPath> {
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    let named = Builder::new().make_in(folder, |name| {
        linkat(CWD, unnamed.as_str(), CWD, name, AtFlags::SYMLINK_FOLLOW).map_err(io::Error::from)
    })?;
    Ok(named.into_temp_path())
}

/// Returns the error for a file without a name if it says the same: errors of temporary files name the file, which
/// nobody has asked for.
fn without_name(unnamed: io::Error, named: io::Error) -> io::Error {
    if unnamed.kind() == named.kind() { unnamed } else { named }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_error_for_a_folder_that_does_not_exist_names_no_temporary_file() {
        let dir = tempfile::tempdir().unwrap();
        let why = Draft::shared(&dir.path().join("no/page.html")).unwrap_err();
        assert_eq!(why.to_string(), io::Error::from_raw_os_error(2).to_string());
    }
    use std::io::Write;

    fn names(folder: &Path) -> Vec<String> {
        let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        all.map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn a_draft_whose_writer_is_killed_leaves_nothing() {
        // Every kernel since 3.11 can do this there.
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let draft = Draft::private(&dir.path().join("file")).unwrap();
        draft.file().write_all(b"half").unwrap();
        std::mem::forget(draft);
        assert_eq!(names(dir.path()), [""; 0]);
    }

    #[test]
    fn a_published_draft_replaces_the_earlier_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "old and long").unwrap();
        for text in ["new", "newer"] {
            let draft = Draft::private(&path).unwrap();
            draft.file().write_all(text.as_bytes()).unwrap();
            draft.publish().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(names(dir.path()), ["file"]);
        }
    }

    #[test]
    fn a_draft_that_cannot_be_published_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("folder");
        fs::create_dir_all(path.join("with")).unwrap();
        assert!(Draft::shared(&path).unwrap().publish().is_err());
        assert_eq!(names(dir.path()), ["folder"]);
        assert!(Draft::shared(&dir.path().join("missing/file")).is_err());
    }

    #[test]
    fn a_file_system_that_knows_only_named_files_gets_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let (file, name) = Builder::new().tempfile_in(dir.path()).unwrap().into_parts();
        let draft = Draft { file, name: Some(name), path: path.clone() };
        draft.file().write_all(b"all").unwrap();
        draft.publish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "all");
        assert_eq!(names(dir.path()), ["file"]);
    }
}
