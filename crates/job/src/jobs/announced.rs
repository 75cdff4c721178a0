//! Jobs that `mpiscope run` has started from this host on other hosts: it records the hosts in use in its
//! user's runtime directory.

use crate::base::draft::Draft;
use crate::base::json;
use crate::jobs::job::{Job, Parts, Starter};
use crate::jobs::scheduler::SlurmId;
use crate::runtime;
use crate::sources::host_identity::HostIdentity;
use mpiscope_target::procfs;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const SUFFIX: &str = ".hosts";
/// Longer files are ignored.
const LONGEST: u64 = 1 << 20;

/// A job and its hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announced {
    job: String,
    /// The process that started the job, and its start time, because the pid may be reused.
    pid: u32,
    began: String,
    hosts: Vec<String>,
    /// The Slurm job that contains the ranks, if any.
    #[serde(default)]
    slurm: Option<String>,
}

/// The announcement of a job; its file is removed on drop.
#[derive(Debug)]
pub struct Announcement(PathBuf);

impl Drop for Announcement {
    fn drop(&mut self) {
        let _gone = fs::remove_file(&self.0);
    }
}

fn folder() -> io::Result<PathBuf> {
    let named = std::env::var_os(runtime::VARIABLE).filter(|name| !name.is_empty());
    runtime::folder(geteuid().as_raw(), named.as_ref().map(Path::new))
}

/// Announces that this process has started a job on these hosts.
///
/// # Errors
/// When the user has no runtime directory.
pub fn announce(job: &str, hosts: &[String], slurm: Option<String>) -> io::Result<Announcement> {
    announce_in(&folder()?, job, hosts, slurm)
}

/// Replaces the previous announcement of this process. Without a runtime directory the job cannot be found by
/// its hosts.
pub fn announce_again(before: &mut Option<Announcement>, job: &str, hosts: &[String], slurm: Option<String>) {
    // The file has been replaced: the old announcement has the same path and must not remove it.
    let Ok(now) = announce(job, hosts, slurm) else { return };
    before.replace(now).map(std::mem::forget).unwrap_or_default();
}

fn announce_in(
    folder: &Path,
    job: &str,
    hosts: &[String],
    slurm: Option<String>,
) -> io::Result<Announcement> {
    let pid = std::process::id();
    let began = began(pid).unwrap_or_default();
    let here = HostIdentity::here();
    remove_stale(folder, &here);
    let path = place(folder, &here, pid);
    let what = Announced { job: job.to_owned(), pid, began, hosts: hosts.to_vec(), slurm };
    let draft = Draft::private(&path)?;
    draft.file().write_all(&json::text(&what)?)?;
    draft.publish()?;
    Ok(Announcement(path))
}

/// Returns the file for the announcement of a process. The folder may be shared by hosts, or by containers with
/// process numbers of their own.
fn place(folder: &Path, host: &HostIdentity, pid: u32) -> PathBuf {
    folder.join(format!("{}{pid}{SUFFIX}", prefix(host)))
}

fn prefix(host: &HostIdentity) -> String {
    format!("{:016x}-", runtime::hash(host.key().as_bytes()))
}

/// Removes the announcements of this host's processes that no longer exist: they were killed.
fn remove_stale(folder: &Path, here: &HostIdentity) {
    let prefix = prefix(here);
    for path in files(folder) {
        let name = path.file_name().and_then(|name| name.to_str());
        let pid = name.and_then(|name| name.strip_prefix(&prefix)?.strip_suffix(SUFFIX)?.parse().ok());
        if pid.is_some_and(|pid: u32| began(pid).is_none()) {
            let _gone = fs::remove_file(path);
        }
    }
}

/// Returns the announcements in the folder.
fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.to_string_lossy().ends_with(SUFFIX))
}

/// Returns the jobs announced by processes that still exist.
#[must_use]
pub fn all() -> Vec<Job> {
    folder().map_or_else(|_| Vec::new(), |folder| all_in(&folder))
}

fn all_in(folder: &Path) -> Vec<Job> {
    let read = |path: PathBuf| {
        let about = fs::symlink_metadata(&path).ok()?;
        let text = (about.is_file() && about.len() <= LONGEST).then(|| fs::read(&path).ok())??;
        serde_json::from_slice::<Announced>(&text).ok()
    };
    let lives = |one: &Announced| began(one.pid).is_some_and(|began| began == one.began);
    let job = |one: Announced| {
        let slurm = one.slurm.and_then(|id| SlurmId::parse(&id));
        let starter = Some(Starter { pid: one.pid, slurm });
        let parts = Parts { hosts: one.hosts, name: one.job.clone(), slurm: None, starter };
        Job { name: one.job, owner: geteuid().as_raw(), parts: Some(parts), ..Job::default() }
    };
    files(folder).filter_map(read).filter(lives).map(job).collect()
}

/// Returns the start time of a process, in kernel ticks since boot.
fn began(pid: u32) -> Option<String> {
    Some(procfs::stat(pid).ok()?.start_ticks.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_with_the_same_number_on_two_hosts_have_files_of_their_own() {
        let host = |pids: &str| HostIdentity { pids: pids.into(), ..HostIdentity::here() };
        let file = |pids: &str, pid: u32| place(Path::new("/"), &host(pids), pid);
        assert_ne!(file("pid:[1]", 7), file("pid:[2]", 7));
        assert_ne!(file("pid:[1]", 7), file("pid:[1]", 8));
        assert_eq!(file("pid:[1]", 7), file("pid:[1]", 7), "a process replaces its own");
    }

    #[test]
    fn the_announcement_of_a_killed_process_is_removed_by_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        // Process ids are smaller than that.
        let killed = place(dir.path(), &HostIdentity::here(), u32::MAX);
        let elsewhere = HostIdentity { pids: "pid:[1]".into(), ..HostIdentity::here() };
        let other = place(dir.path(), &elsewhere, u32::MAX);
        fs::write(&killed, "{}").unwrap();
        fs::write(&other, "{}").unwrap();
        let now = announce_in(dir.path(), "job", &[], None).unwrap();
        assert!(!killed.exists() && now.0.exists());
        assert!(other.exists(), "processes of another namespace are not ours to judge");
    }

    #[test]
    fn a_job_is_known_while_its_starter_lives() {
        let dir = tempfile::tempdir().unwrap();
        let hosts = ["n1", "n2"].map(str::to_owned);
        let announcement = announce_in(dir.path(), "j", &hosts, Some("slurm:7.0".to_owned())).unwrap();
        let found = all_in(dir.path());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), &found[0].parts.as_ref().unwrap().hosts[..]), ("j", &hosts[..]));
        assert_eq!(found[0].started_by().slurm, SlurmId::parse("slurm:7.0"));
        let (pid, began) = (std::process::id(), "0".to_owned());
        let other = Announced { job: "k".into(), pid, began, hosts: hosts.to_vec(), slurm: None };
        fs::write(dir.path().join("1.hosts"), serde_json::to_vec(&other).unwrap()).unwrap();
        fs::write(dir.path().join("2.hosts"), "nonsense").unwrap();
        assert_eq!(all_in(dir.path()).len(), 1, "another process has its number now");
        drop(announcement);
        assert!(all_in(dir.path()).is_empty());
    }
}
