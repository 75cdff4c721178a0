//! All descendants of a process.
//!
//! Killed ranks cannot remove the shared memory through which they communicated, and a killed launcher does
//! not remove it for them. It would occupy some megabytes per job until the machine is rebooted, so the
//! shared memory that the processes had mapped is removed with them.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// The folder of named shared memory.
const SHARED_MEMORY: &str = "/dev/shm";

/// A snapshot of the leader of a process group and all its descendants.
pub struct Family {
    leader: u32,
    descendants: Vec<u32>,
}

impl Family {
    /// Takes a snapshot.
    #[must_use]
    pub fn of(leader: u32) -> Self {
        Self { leader, descendants: descendants(leader) }
    }

    /// Signals the leader's group, and each descendant that has left it.
    pub fn signal(&self, which: Signal) {
        // Failures do not matter: a process that is already gone is the desired result.
        if let Some(pid) = to_pid(self.leader) {
            let _ = kill_process_group(pid, which);
        }
        for pid in self.descendants.iter().copied().filter_map(to_pid) {
            let _ = kill_process(pid, which);
        }
    }

    /// Kills all of them and removes their shared memory.
    pub fn kill(&self) {
        let left = self.shared_memory();
        self.signal(Signal::KILL);
        for file in left {
            let _ = fs::remove_file(file);
        }
    }

    /// The files of shared memory that any of them has mapped and that still have a name.
    fn shared_memory(&self) -> Vec<PathBuf> {
        let maps = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/maps")).ok();
        let mut files: Vec<PathBuf> = [self.leader]
            .iter()
            .chain(&self.descendants)
            .filter_map(maps)
            .flat_map(|maps| maps.lines().filter_map(named).collect::<Vec<_>>())
            .collect();
        files.sort_unstable();
        files.dedup();
        files
    }
}

/// The file of shared memory in a line of `/proc/PID/maps`, if any.
fn named(line: &str) -> Option<PathBuf> {
    let path = Path::new(line.get(line.find('/')?..)?);
    (path.starts_with(SHARED_MEMORY) && !line.ends_with(" (deleted)")).then(|| path.to_owned())
}

fn to_pid(raw: u32) -> Option<Pid> {
    i32::try_from(raw).ok().and_then(Pid::from_raw)
}

/// All processes below `root`, parents first.
fn descendants(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, parent_of(pid)?)))
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|(_, p)| *p == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found.remove(0);
    found
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything, so parse from its end.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
