//! Everything that descends from one process.
//!
//! Ranks that are killed cannot remove the shared memory through which they spoke, and a launcher that is killed does not
//! do it for them: some megabytes a job, which are the machine's memory until it is started again. So what the processes had
//! mapped of it goes with them.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Where shared memory has names.
const SHARED_MEMORY: &str = "/dev/shm";

/// The leader of a process group and all that descended from it when it was looked at.
pub struct Family {
    leader: u32,
    descendants: Vec<u32>,
}

impl Family {
    /// As it is now.
    #[must_use]
    pub fn of(leader: u32) -> Self {
        Self { leader, descendants: descendants(leader) }
    }

    /// Signals the leader's group, and each descendant that has left it.
    pub fn signal(&self, which: Signal) {
        // A process that is already gone is what we want, so failures do not matter.
        if let Some(pid) = to_pid(self.leader) {
            let _ = kill_process_group(pid, which);
        }
        for pid in self.descendants.iter().copied().filter_map(to_pid) {
            let _ = kill_process(pid, which);
        }
    }

    /// Kills all of them and removes the shared memory that they leave.
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

/// The file of shared memory in one line of the map.
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
    // The name in parentheses may hold anything, so count from its end.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
