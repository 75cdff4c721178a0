//! Ranks of a job on this host that have not called MPI. They have recorded nothing, so they are found by the
//! environment that the launcher and `mpiscope run` set. Evidence files store what was found.

use crate::jobs::acquire::{JobKey, ProcessLocation};
use crate::jobs::launcher_environment;
use mpiscope_target::procfs;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

/// The variable with the job's name.
const JOB: &str = "MPISCOPE_JOB";

/// A rank that has not called MPI.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silent {
    /// Its rank according to the launcher.
    pub rank: u32,
    /// Its process id.
    pub pid: u32,
    /// Its host.
    pub host: String,
    /// Its program.
    pub executable: PathBuf,
    /// What its first thread is doing, if requested.
    pub doing: String,
    /// Where in the user's code it sleeps, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

impl Silent {
    /// Whether it is this process. Older evidence files do not record the host of a silent process.
    #[must_use]
    pub fn is(&self, place: &ProcessLocation) -> bool {
        self.pid == place.pid && (place.host.is_empty() || self.host == place.host)
    }

    fn of(rank: u32, pid: u32, host: &str) -> Self {
        let executable = procfs::executable(pid).unwrap_or_default();
        Self { rank, pid, host: host.to_owned(), executable, doing: String::new(), at: None }
    }
}

/// Returns the ranks of a user's job on this host that have not called MPI. `has_called` returns whether a
/// rank with the given process has.
#[must_use]
pub fn ranks(owner: u32, job: &str, has_called: impl Fn(u32, u32) -> bool) -> Vec<Silent> {
    let mut found: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut called = BTreeSet::new();
    for pid in procfs::list().unwrap_or_default() {
        let Some(rank) = rank_in(job, pid) else { continue };
        if has_called(rank, pid) {
            called.insert(rank);
        } else if procfs::user(pid).is_ok_and(|user| user == owner) && has_layer(pid) {
            found.entry(rank).or_default().push(pid);
        }
    }
    found.retain(|rank, _| !called.contains(rank));
    let host = procfs::hostname().unwrap_or_default();
    found.iter().filter_map(|(rank, pids)| Some(Silent::of(*rank, innermost(pids)?, &host))).collect()
}

/// Returns the job in which `mpiscope run` started a process: its owner and name.
#[must_use]
pub fn job_of(pid: u32) -> Option<JobKey> {
    Some((procfs::user(pid).ok()?, procfs::environment(pid).ok()?.text(JOB)?))
}

/// Returns the process that an untouched image was made for: wrapper and collector hold it as well.
#[must_use]
pub fn process(holders: &[u32]) -> Option<u32> {
    let with_layer: Vec<u32> = holders.iter().copied().filter(|pid| has_layer(*pid)).collect();
    innermost(&with_layer).or_else(|| holders.first().copied())
}

fn has_layer(pid: u32) -> bool {
    let layer = b"libmpiscope.so";
    procfs::maps(pid).is_ok_and(|maps| maps.windows(layer.len()).any(|window| window == layer))
}

/// Returns the rank as which a process of the job was started, according to its environment.
fn rank_in(job: &str, pid: u32) -> Option<u32> {
    let environment = procfs::environment(pid).ok()?;
    if environment.get(JOB)? != job {
        return None;
    }
    launcher_environment::place(|name| environment.text(name))?.rank
}

/// A shell and the program that it started both have the rank's environment; this returns the program.
fn innermost(pids: &[u32]) -> Option<u32> {
    let parents: HashSet<u32> = pids.iter().filter_map(|pid| Some(procfs::stat(*pid).ok()?.parent)).collect();
    pids.iter().copied().rfind(|pid| !parents.contains(pid))
}
