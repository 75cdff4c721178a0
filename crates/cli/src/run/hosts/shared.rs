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
        let base = match out {
            Some(dir) => dir.join(".mpiscope-hosts"),
            None => cache()?.join("mpiscope-hosts"),
        };
        let job = format!("{:016x}", mpiscope_job::runtime::hash(key.as_bytes()));
        let folder = own(base).and_then(|base| own(base.join(job)))?;
        let here = HostIdentity::here();
        let file =
            folder.join(format!("{:016x}{SUFFIX}", mpiscope_job::runtime::hash(here.key().as_bytes())));
        Ok(Self { folder, file })
    }

    /// Returns the folder, for display.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Puts the part of this host into the folder.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put(&self, evidence: &Path) -> io::Result<()> {
        // A host that withdrew its part may have removed them.
        self.folder.parent().map(|base| own(base.to_owned())).transpose()?;
        own(self.folder.clone())?;
        let draft = Draft::private(&self.file)?;
        io::copy(&mut File::open(evidence)?, &mut draft.file())?;
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

    /// Tells the hosts whose parts were taken that the report is printed.
    pub fn done(&self) {
        let taken = |path: &PathBuf| path.extension().is_some_and(|end| end == TAKEN);
        for part in self.files().filter(taken) {
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

/// Takes a part by renaming it, which tells its host that it was taken. The file remains until the report is
/// [printed](Shared::done).
fn open(part: &Path) -> Option<FromHost> {
    let mine = part.with_extension(TAKEN);
    fs::rename(part, &mine).ok()?;
    let evidence = evidence::open(&mine).map_err(|why| why.to_string());
    let host = evidence.as_ref().ok().and_then(|evidence| evidence.manifest.host.clone());
    let host = host.map_or_else(|| "another host".to_owned(), |host| host.name);
    Some(FromHost { host, ranks: Vec::new(), clock: None, evidence })
}

fn cache() -> io::Result<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    let cache = cache.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no home directory"))?;
    fs::create_dir_all(&cache)?;
    Ok(cache)
}

/// Makes sure that the folder exists and is private to this user.
fn own(folder: PathBuf) -> io::Result<PathBuf> {
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(why) if why.kind() != io::ErrorKind::AlreadyExists => return Err(why),
        _ => {}
    }
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
        let evidence = dir.path().join("evidence");
        fs::write(&evidence, "none").unwrap();
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
        let evidence = dir.path().join("evidence");
        fs::write(&evidence, "none").unwrap();
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
