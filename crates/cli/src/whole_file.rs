//! Files that appear only when complete: readers never see part of a file, and a write that fails or is
//! interrupted leaves nothing behind.
//!
//! An evidence file is not replaced by anything else: it may be all that is left of a job, and the input.
//! Anything that is not a regular file (a device, a pipe, a `/dev/stdout` opened by the shell) is written to
//! and never replaced, if the user named it. Names that mpiscope chooses in a folder are its own.

use anyhow::{Context, Result, bail};
use mpiscope_job::base::draft::Draft;
use mpiscope_job::jobs::evidence::is_evidence;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// How to write to a path.
#[derive(Debug, PartialEq, Eq)]
pub enum Way {
    /// Write a [`Draft`] and let it replace this file.
    Whole(PathBuf),
    /// Write to the existing file.
    Into(PathBuf),
}

impl Way {
    /// Chooses the way for a path. A symbolic link is followed, not replaced.
    pub fn to(path: &Path) -> Self {
        let file = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        // Files that are already open. Files in `/dev/shm`, in contrast, are ordinary files.
        let opened = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];
        let opened = opened.iter().any(|place| path.starts_with(place));
        match fs::metadata(path) {
            Ok(about) if opened || !(about.is_file() || about.is_dir()) => Self::Into(path.to_owned()),
            _ => Self::Whole(file),
        }
    }
}

/// Fails if the path is an evidence file, which an output of another kind would destroy.
pub fn spare_evidence(path: &Path) -> Result<()> {
    if is_evidence(path) {
        bail!("{}: an evidence file, which is not replaced; name another file", path.display());
    }
    Ok(())
}

/// Writes or replaces a regular file, or writes to anything else.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    stream(path, |out| out.write_all(bytes))
}

/// Writes a file whose name mpiscope has chosen, in place of whatever has this name: where others can write to the
/// folder too, they may have planted a pipe or a link there.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let done = Draft::shared(path).and_then(|draft| {
        draft.file().write_all(bytes)?;
        draft.publish()
    });
    done.with_context(|| path.display().to_string())
}

/// Like [`write`], for content that is produced piece by piece.
pub fn stream(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    spare_evidence(path)?;
    let all = |file: &File| {
        let mut out = BufWriter::new(file);
        content(&mut out)?;
        out.flush()
    };
    let done = match Way::to(path) {
        Way::Into(path) => open(&path).and_then(|file| all(&file)),
        Way::Whole(file) => Draft::shared(&file).and_then(|draft| {
            all(draft.file())?;
            draft.publish()
        }),
    };
    done.with_context(|| path.display().to_string())
}

/// Opens something that is not a regular file, appending to earlier output.
pub fn open(path: &Path) -> io::Result<File> {
    File::options().append(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::{FileTypeExt, symlink};
    use std::process::Command;

    #[test]
    fn a_failed_write_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let there = dir.path().join("there");
        fs::create_dir(&there).unwrap();
        assert!(write(&there, b"x").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        write(&dir.path().join("file"), b"x").unwrap();
        assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"x");
    }

    #[test]
    fn pipes_and_links_in_the_place_of_a_file_of_our_own_are_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (pipe, link, file) = (dir.path().join("pipe"), dir.path().join("link"), dir.path().join("file"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        fs::write(&file, "of another user").unwrap();
        symlink(&file, &link).unwrap();
        for planted in [&pipe, &link] {
            replace(planted, b"report").unwrap();
            assert!(fs::symlink_metadata(planted).unwrap().is_file());
            assert_eq!(fs::read(planted).unwrap(), b"report");
        }
        assert_eq!(fs::read(&file).unwrap(), b"of another user");
    }

    #[test]
    fn pipes_devices_and_links_are_written_to_and_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (pipe, link, file) = (dir.path().join("pipe"), dir.path().join("link"), dir.path().join("file"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = {
            let pipe = pipe.clone();
            std::thread::spawn(move || {
                let mut all = Vec::new();
                File::open(pipe).and_then(|mut pipe| pipe.read_to_end(&mut all)).map(|_| all)
            })
        };
        write(&pipe, b"numbers").unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), b"numbers");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
        write(Path::new("/dev/null"), b"x").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        fs::write(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        write(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(Way::to(Path::new("/dev/stdout")), Way::Into("/dev/stdout".into()));
        let shared = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
        assert_eq!(Way::to(shared.path()), Way::Whole(shared.path().to_owned()), "is replaced, not added to");
    }
}
