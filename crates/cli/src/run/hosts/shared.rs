//! Hosts without a connection: each puts its evidence file into a shared folder, from which the reporting
//! host takes it.
//!
//! The folder is private to the user. Files are complete when they appear.

use super::FromHost;
use mpiscope_job::base::draft::Draft;
use mpiscope_job::jobs::evidence;
use mpiscope_job::sources::host_identity::HostIdentity;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

const SUFFIX: &str = ".part";
/// What a part is called from the time it is taken until the report with it is printed.
const TAKEN: &str = "taken";
/// The extension of a host's note that a rank of it has stalled while the job runs.
const STALLED: &str = "stalled";
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The folder of one job.
#[derive(Debug)]
pub struct Shared {
    folder: PathBuf,
    file: PathBuf,
}

impl Shared {
    /// Finds the folder: in the directory of `--out`, or else in the user's cache, since home directories are
    /// usually shared. `key` is common to all hosts of the job.
    ///
    /// # Errors
    /// If there is no such place, or if it is not private to the user.
    pub fn find(out: Option<&Path>, key: &str) -> io::Result<Self> {
        let (base, job) = place(out, key)?;
        if out.is_none() {
            fs::create_dir_all(base.parent().unwrap_or(&base))?;
        }
        own(base).and_then(|base| own(base.join(job))).map(Self::of)
    }

    /// Like [`find`](Self::find), but creates nothing.
    fn existing(out: Option<&Path>, key: &str) -> io::Result<Self> {
        let (base, job) = place(out, key)?;
        private(base).and_then(|base| private(base.join(job))).map(Self::of)
    }

    fn of(folder: PathBuf) -> Self {
        let here = HostIdentity::here();
        let file =
            folder.join(format!("{:016x}{SUFFIX}", mpiscope_job::runtime::hash(here.key().as_bytes())));
        Self { folder, file }
    }

    /// Notes that a rank of this host has stalled, for the host that reports hangs.
    ///
    /// # Errors
    /// If there is no such folder, or it cannot be written to.
    pub fn note_stall(out: Option<&Path>, key: &str) -> io::Result<StallNote> {
        let shared = Self::find(out, key)?;
        File::create(shared.file.with_extension(STALLED))?;
        Ok(StallNote(shared))
    }

    /// Whether another host has noted that a rank of it has stalled.
    pub fn is_stall_noted(out: Option<&Path>, key: &str) -> bool {
        Self::existing(out, key).is_ok_and(|shared| {
            let mine = shared.file.with_extension(STALLED);
            shared.files().any(|path| is_note(&path) && path != mine)
        })
    }

    /// Returns the folder, for display.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the file of this host's part.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Puts the part of this host into the folder.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put(&self, mut evidence: &File) -> io::Result<()> {
        // A host that withdrew its part may have removed them.
        self.folder.parent().map(|base| own(base.to_owned())).transpose()?;
        own(self.folder.clone())?;
        let draft = Draft::private(&self.file)?;
        io::Seek::rewind(&mut evidence)?;
        io::copy(&mut evidence, &mut draft.file())?;
        draft.file().sync_all()?;
        draft.publish()
    }

    /// Waits until the part has been taken. If that does not happen in time, removes it again and returns
    /// false.
    pub fn taken(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        while self.file.exists() && Instant::now() < until {
            thread::sleep(POLL_INTERVAL);
        }
        // Either side can win this race: the removal fails if the part was taken after all.
        let withdrawn = fs::remove_file(&self.file).is_ok();
        if withdrawn {
            self.leave();
        }
        !withdrawn
    }

    /// Waits until the report that contains the part, which has been taken, is printed.
    pub fn reported(&self, limit: Duration) {
        let (until, mine) = (Instant::now() + limit, self.file.with_extension(TAKEN));
        while mine.exists() && Instant::now() < until {
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Takes the parts of other hosts until `enough` are present or none has arrived for `pause`.
    pub fn take(&self, pause: Duration, enough: impl Fn(&[FromHost]) -> bool) -> Vec<FromHost> {
        let (mut all, mut known) = (Vec::new(), BTreeSet::new());
        let mut since = Instant::now();
        loop {
            let new = self.parts(&known);
            let came = !new.is_empty();
            for part in new {
                known.insert(part.clone());
                all.extend(open(&part));
            }
            if came {
                since = Instant::now();
            }
            // Look at least once, even without patience.
            if enough(&all) || (!came && since.elapsed() >= pause) {
                break;
            }
            thread::sleep(POLL_INTERVAL);
        }
        all
    }

    /// Tells the hosts whose parts were taken that the report is printed. Notes of hosts that were killed are
    /// removed as well.
    pub fn done(&self) {
        let taken = |path: &PathBuf| path.extension().is_some_and(|end| end == TAKEN);
        for part in self.files().filter(|path| taken(path) || is_note(path)) {
            let _open = fs::remove_file(part);
        }
        self.leave();
    }

    /// Removes the folders, unless another host still uses them.
    fn leave(&self) {
        let _gone = fs::remove_dir(&self.folder);
        let _empty = self.folder.parent().map(fs::remove_dir);
    }

    fn files(&self) -> impl Iterator<Item = PathBuf> {
        fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path())
    }

    fn parts(&self, known: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
        let part = |path: &PathBuf| path.to_string_lossy().ends_with(SUFFIX) && *path != self.file;
        self.files().filter(|path| part(path) && !known.contains(path)).collect()
    }
}

/// The note of this host that a rank of it has stalled; withdrawn on drop.
#[derive(Debug)]
pub struct StallNote(Shared);

impl Drop for StallNote {
    fn drop(&mut self) {
        let _gone = fs::remove_file(self.0.file.with_extension(STALLED));
        self.0.leave();
    }
}

fn is_note(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == STALLED)
}

/// Takes a part by renaming it, which tells its host that it was taken. The file remains until the report is
/// [printed](Shared::done).
fn open(part: &Path) -> Option<FromHost> {
    let mine = part.with_extension(TAKEN);
    fs::rename(part, &mine).ok()?;
    let evidence = evidence::open(&mine).map_err(|why| why.to_string());
    let host = evidence.as_ref().ok().and_then(|evidence| evidence.manifest.host.clone());
    let host = host.map_or_else(|| "another host".to_owned(), |host| host.name);
    Some(FromHost { host, ranks: Vec::new(), clock: None, evidence, earlier: None, is_snapshot: false })
}

/// Returns the folder of all jobs, and the name of this job's folder in it.
fn place(out: Option<&Path>, key: &str) -> io::Result<(PathBuf, String)> {
    let base = match out {
        Some(dir) => dir.join(".mpiscope-hosts"),
        None => cache()?.join("mpiscope-hosts"),
    };
    Ok((base, format!("{:016x}", mpiscope_job::runtime::hash(key.as_bytes()))))
}

fn cache() -> io::Result<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    cache.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no home directory"))
}

/// Makes sure that the folder exists and is private to this user.
fn own(folder: PathBuf) -> io::Result<PathBuf> {
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(why) if why.kind() != io::ErrorKind::AlreadyExists => Err(why),
        _ => private(folder),
    }
}

/// Makes sure that an existing folder is private to this user.
fn private(folder: PathBuf) -> io::Result<PathBuf> {
    let about = fs::symlink_metadata(&folder)?;
    let ours =
        about.is_dir() && about.uid() == rustix::process::geteuid().as_raw() && about.mode() & 0o077 == 0;
    if ours {
        return Ok(folder);
    }
    let why = format!("{} is not this user's alone", folder.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_part_is_either_taken_or_withdrawn() {
        let dir = tempfile::tempdir().unwrap();
        let shared = Shared::find(Some(dir.path()), "job").unwrap();
        let mut evidence = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut evidence, b"none").unwrap();
        shared.put(&evidence).unwrap();
        assert!(!shared.taken(Duration::ZERO), "nobody was there");
        shared.put(&evidence).unwrap();
        let other = Shared { folder: shared.folder.clone(), file: shared.folder.join("other.part") };
        let taken = other.take(Duration::ZERO, |all| !all.is_empty());
        assert!(taken.len() == 1 && taken[0].evidence.is_err(), "it is no evidence file");
        assert!(shared.taken(Duration::ZERO));
        other.done();
        assert!(!dir.path().join(".mpiscope-hosts").exists(), "nothing is left");
    }

    #[test]
    fn a_host_can_wait_for_the_report_that_contains_its_part() {
        let dir = tempfile::tempdir().unwrap();
        let shared = Shared::find(Some(dir.path()), "job").unwrap();
        let mut evidence = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut evidence, b"none").unwrap();
        shared.put(&evidence).unwrap();
        let other = Shared { folder: shared.folder.clone(), file: shared.folder.join("other.part") };
        assert_eq!(other.take(Duration::ZERO, |all| !all.is_empty()).len(), 1);
        assert!(shared.taken(Duration::ZERO));
        let (began, short) = (Instant::now(), Duration::from_millis(120));
        shared.reported(short);
        assert!(began.elapsed() >= short, "it is not printed yet");
        other.done();
        let began = Instant::now();
        shared.reported(Duration::from_secs(60));
        assert!(began.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_stall_is_noted_for_other_hosts_until_the_note_is_withdrawn() {
        let dir = tempfile::tempdir().unwrap();
        let is_noted = || Shared::is_stall_noted(Some(dir.path()), "job");
        assert!(!is_noted() && fs::read_dir(dir.path()).unwrap().next().is_none(), "nothing is created");
        let note = Shared::note_stall(Some(dir.path()), "job").unwrap();
        assert!(!is_noted(), "it is the note of this host");
        let other = note.0.folder.join("other.stalled");
        fs::write(&other, "").unwrap();
        assert!(is_noted());
        fs::remove_file(other).unwrap();
        drop(note);
        assert!(fs::read_dir(dir.path()).unwrap().next().is_none(), "nothing is left");
    }

    #[test]
    fn a_folder_open_to_others_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join(".mpiscope-hosts");
        fs::create_dir(&base).unwrap();
        fs::set_permissions(&base, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(
            Shared::find(Some(dir.path()), "job").unwrap_err().kind(),
            io::ErrorKind::PermissionDenied
        );
    }
}
