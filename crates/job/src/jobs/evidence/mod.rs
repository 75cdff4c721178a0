//! Evidence files: the state of a job at one moment, in one file that can be sent to another person.
//!
//! ```text
//! running job, or one whose processes are dead ──► save ──► job.mpiscope ──► open ──► job::Job ──► ps, why, inspect, …
//! ```
//!
//! A file is a ZIP archive that any tool can unpack:
//!
//! * `evidence.json`: a [`Manifest`]: what was saved, when and by which version, what could not be read, and
//!   an earlier sample of every process, because [`why`](crate::questions::why) compares two;
//! * `process/N.image`: the image of a process, as in memory;
//! * `process/N.json`: [`About`] the process: what only the host knew (whether it was alive, what its threads
//!   did) and the clocks, so that open calls keep their ages;
//! * `symbols.json`: source lines and names of every address that any view shows ([`Symbols`]), so that the
//!   program is not needed.
//!
//! The environment of the processes is not saved; the command line is, as it is part of the image.
//!
//! An open file is a [`Job`](crate::jobs::job::Job) like a running one: every command reads it with the same
//! code, and there is no second implementation.

mod kept;
mod read;
mod symbols;
mod unpacked;
mod whole;

pub use kept::{Kept, Seekable};
pub use read::{Evidence, is_evidence, open, read};
pub use symbols::{Recorder, Symbols};
pub use whole::{HANG, files, hang_in, open_all};

use crate::base::clock::Moment;
use crate::jobs::other_worlds::{Connected, Spawned};
use crate::jobs::placement::Placement;
use crate::jobs::silent::Silent;
use crate::model::process::Ending;
use crate::model::thread_stack::ThreadStack;
use crate::observation::Observation;
use crate::sources::host_identity::HostIdentity;
use mpiscope_image::Source;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Identifies the file format.
pub const SCHEMA: &str = "mpiscope.evidence/1";

pub(crate) const MANIFEST: &str = "evidence.json";
pub(crate) const SYMBOLS: &str = "symbols.json";
/// What was observed of the processes while they ran: only in what one host sends to another at the end of a
/// run.
pub(crate) const FOLLOWED: &str = "followed.json";

/// Longer images (some millions of objects) are neither saved nor read.
pub(crate) const LONGEST_IMAGE: u64 = 4 << 30;

/// Where `mpiscope run` without `--out` saves the state of a job that hangs.
#[must_use]
pub fn hang_file(job: &str) -> PathBuf {
    PathBuf::from(format!("mpiscope-hang-{job}.mpiscope"))
}

pub(crate) fn image_name(number: usize) -> String {
    format!("process/{number}.image")
}

pub(crate) fn about_name(number: usize) -> String {
    format!("process/{number}.json")
}

/// A copy of an image.
pub(crate) struct InMemory(pub(crate) Vec<u8>);

impl Source for InMemory {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), String> {
        Source::read(self.0.as_slice(), offset, buf)
    }

    fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

/// Describes what was saved.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// The format, [`SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote it.
    pub version: String,
    /// Name of the job.
    pub job: String,
    /// User id of the owner.
    pub owner: u32,
    /// When it was saved, in seconds since the Unix epoch.
    pub saved_unix_s: u64,
    /// Seconds between the earlier sample and the saved state.
    pub seconds: f64,
    /// The host that saved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostIdentity>,
    /// Number of processes.
    pub processes: usize,
    /// The earlier sample.
    pub before: Vec<Observation>,
    /// Ranks that had not called MPI.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<Silent>,
    /// Worlds that its processes had spawned and that were still connected to it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub spawned: BTreeSet<Spawned>,
    /// The other jobs that its processes were connected with.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub connected: BTreeSet<Connected>,
    /// Messages about what could not be read.
    pub not_seen: Vec<String>,
}

/// What only the host knew of a process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct About {
    /// Process id on its host.
    pub pid: u32,
    /// The host; empty in older files.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Inode of its image's memory file there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inode: Option<u64>,
    /// Whether it had not touched its image.
    pub silent: bool,
    /// Whether it was alive.
    pub alive: bool,
    /// When it was sampled.
    pub moment: Moment,
    /// What its threads were doing outside of MPI, by thread id.
    pub doing: BTreeMap<u32, String>,
    /// Where in the user's code sleeping threads were, by thread id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub at: BTreeMap<u32, String>,
    /// Stacks by thread id, if requested.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stacks: BTreeMap<u32, ThreadStack>,
    /// Where the program made the call, if it went through a binding for another language: by index of the
    /// thread.
    pub callers: BTreeMap<u64, u64>,
    /// Thread ids on its host by the ids in the process's own namespace, where they differ.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tids: BTreeMap<u32, u32>,
    /// Its memory and its placement, if it was alive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Box<Placement>>,
    /// How it ended, if the saving process waited for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<ProcessEnd>,
}

/// What the process's starter observed of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessEnd {
    /// Rank assigned by the launcher.
    pub launcher_rank: Option<u32>,
    /// Process id on its host.
    pub pid: u32,
    /// When it ended, in nanoseconds of the host's `CLOCK_MONOTONIC`; `None` while it lives.
    pub ended_ns: Option<u64>,
    /// How it ended.
    pub ending: Option<Ending>,
    /// The core file that it left.
    pub core: Option<PathBuf>,
    /// What its host last reported about its placement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Box<Placement>>,
    /// The moment used to convert its ticks to seconds after it ended: with another moment all times would
    /// differ slightly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_at: Option<Moment>,
}
