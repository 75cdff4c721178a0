//! Evidence files: a job at one moment, in one file that can be sent to somebody else.
//!
//! ```text
//! running job, or one whose processes are dead ──► save ──► job.mpiscope ──► open ──► job::Job ──► ps, why, inspect, …
//! ```
//!
//! A file is a ZIP archive, so that any tool unpacks it:
//!
//! * `evidence.json`: a [`Manifest`]: what was saved, when and by which version, what could not be read, and an earlier look
//!   at every process, so that [`why`](crate::questions::why) can compare two;
//! * `process/N.image`: the image of a process, as it was in memory;
//! * `process/N.json`: [`About`] it: what only the host knew (whether it lived, what its threads did) and the clocks, so that
//!   open calls keep their ages;
//! * `symbols.json`: source lines and names of every address that a view shows ([`Symbols`]): the program is not needed.
//!
//! The environment of the processes is not saved; the command line is, as it is part of the image.
//!
//! Opened, a file is a [`Job`](crate::jobs::job::Job) like one that runs: every command reads it by the code that reads living
//! processes, and nothing is computed another time.

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

/// What names the form of the files.
pub const SCHEMA: &str = "mpiscope.evidence/1";

pub(crate) const MANIFEST: &str = "evidence.json";
pub(crate) const SYMBOLS: &str = "symbols.json";
/// What was seen of the processes while they ran: only in what one host sends to another at the end of a run.
pub(crate) const FOLLOWED: &str = "followed.json";

/// An image longer than this is neither saved nor believed: some millions of objects.
pub(crate) const LONGEST_IMAGE: u64 = 4 << 30;

/// Where what is known of a job that hangs is saved by `mpiscope run` without `--out`.
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

/// What was saved.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote it.
    pub version: String,
    /// Name of the job.
    pub job: String,
    /// The user, by number.
    pub owner: u32,
    /// When it was saved, in seconds since 1970.
    pub saved_unix_s: u64,
    /// Seconds from the earlier look to what is saved.
    pub seconds: f64,
    /// The host that it was saved on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostIdentity>,
    /// Processes.
    pub processes: usize,
    /// What the earlier look saw.
    pub before: Vec<Observation>,
    /// Ranks that had not called MPI.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<Silent>,
    /// What its processes had started that were still connected to it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub spawned: BTreeSet<Spawned>,
    /// The other jobs that its processes were connected with.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub connected: BTreeSet<Connected>,
    /// What could not be read.
    pub not_seen: Vec<String>,
}

/// What only the host knew of a process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct About {
    /// Process id, as the host knew it.
    pub pid: u32,
    /// The host; empty in older files.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// The number of its image's memory file there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inode: Option<u64>,
    /// It had not touched its image.
    pub silent: bool,
    /// Whether it was there.
    pub alive: bool,
    /// When it was looked at.
    pub moment: Moment,
    /// What its threads did outside of MPI, by their ids.
    pub doing: BTreeMap<u32, String>,
    /// Where in the user's code those were that slept, by the same ids.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub at: BTreeMap<u32, String>,
    /// Their stacks, by the same ids, if they were asked for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stacks: BTreeMap<u32, ThreadStack>,
    /// Where the program called from, if a binding for another language made the call: by index of the thread.
    pub callers: BTreeMap<u64, u64>,
    /// The numbers of its threads on its host, by those that they have for themselves, where these are others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tids: BTreeMap<u32, u32>,
    /// Its memory and where it ran, if it was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Box<Placement>>,
    /// How it ended, if the one who saved it waited for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<ProcessEnd>,
}

/// What the one who started a process saw of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessEnd {
    /// Rank that the launcher gave.
    pub launcher_rank: Option<u32>,
    /// Process id, as its host knew it.
    pub pid: u32,
    /// When it ended, nanoseconds of the host's `CLOCK_MONOTONIC`; none while it lives.
    pub ended_ns: Option<u64>,
    /// How it ended.
    pub ending: Option<Ending>,
    /// The core file that it left.
    pub core: Option<PathBuf>,
    /// What its host said of it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Box<Placement>>,
    /// By which its ticks were made seconds when it had ended: with another moment every time would be a little different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_at: Option<Moment>,
}
