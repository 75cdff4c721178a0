//! The results of acquisition.

use crate::jobs::other_worlds::Connected;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A job: its owner's user id and its name.
pub type JobKey = (u32, String);

/// Where a process runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessLocation {
    /// Name or address of the host.
    pub host: String,
    /// Process id on that host.
    pub pid: u32,
}

/// The spawn that created a world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spawned {
    /// Name of the parent's world.
    pub world: String,
    /// Rank of the spawn's root in that world.
    pub rank: i32,
    /// Number of the spawn among those of that root, from 0.
    pub sequence: i32,
}

/// One process of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    /// Name of its world, equal on all ranks of the world. Empty if only MPIR knows the process.
    pub world: String,
    /// Rank in it.
    pub rank: Option<u32>,
    /// Where it runs.
    #[serde(flatten)]
    pub place: ProcessLocation,
    /// Path of its program.
    pub executable: PathBuf,
    /// The spawn that created its world; `None` if a launcher started it.
    pub spawned: Option<Spawned>,
    /// Whether the process ended before the job did.
    pub gone: bool,
    /// Whether it has not called MPI: the rank is the one that the launcher assigned, the world is unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
}

/// Everything that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Acquired {
    /// The processes, by world (in the order in which they were spawned) and rank.
    pub processes: Vec<Entry>,
    /// Processes on other hosts that were not asked.
    pub elsewhere: Vec<ProcessLocation>,
    /// Messages about what could not be read.
    pub problems: Vec<String>,
    /// The other jobs that the processes are connected with.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub connected: BTreeSet<Connected>,
    /// The answering host's own name: processes under that name are its own, whatever other hosts call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl Acquired {
    /// Sorts the processes: worlds that a launcher started first, then by parent and number of the spawn.
    pub fn sort(&mut self) {
        let key = |entry: &Entry| {
            let parent = entry.spawned.as_ref().map(|s| (s.world.clone(), s.rank, s.sequence));
            (parent, entry.world.clone(), entry.rank.is_none(), entry.rank, entry.place.clone())
        };
        self.processes.sort_by_cached_key(key);
    }
}
