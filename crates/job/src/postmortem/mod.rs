//! The postmortem of a job from its core files: who failed first and of what, and who was waiting for whom.
//!
//! ```text
//! core file ──► Death (one process: signal, stack, open call) ─┐
//! core file ──► Death ─────────────────────────────────────────┼──► Postmortem: first to fail, waits, who is missing
//! core file ──► Death ─────────────────────────────────────────┘
//! ```
//!
//! Who was *first* follows from the time of the core files, among the processes whose death was their own doing (a
//! fault, `abort`, `MPI_Abort`): a launcher kills the others, later. The schema is `mpiscope.core/1`; fields may be
//! added, none changes its meaning.

mod analysis;
mod communication;
mod cycles;
pub(crate) mod death;
mod signal;
mod stack;
mod waiting;

pub use analysis::{Awaited, FirstFailure, Wait};
pub use communication::{LastMessage, PendingRequest};
pub use death::{Death, Place, as_of_core};
pub use signal::Signal;
pub use stack::{Frame, Stack, walk};
pub use waiting::{WaitFor, Waiting};

use crate::rankset::RankSet;
use serde::Serialize;

/// Name and version of the schema of `mpiscope core --json`.
pub const SCHEMA: &str = "mpiscope.core/1";

/// What the core files of a job tell together.
#[derive(Debug, Serialize)]
pub struct Postmortem {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Names of the jobs that the files belong to: one, unless files of several were given.
    pub jobs: Vec<String>,
    /// What was started.
    pub command: String,
    /// What the MPI library says about itself.
    pub library: String,
    /// Size of the world.
    pub size: Option<u32>,
    /// Who failed first, if anybody failed.
    pub first: Option<FirstFailure>,
    /// By world and rank.
    pub deaths: Vec<Death>,
    /// Who waited for whom.
    pub waits: Vec<Wait>,
    /// Ranks that waited, directly or through others, for the one that failed first.
    pub held_up: RankSet,
    /// Ranks that waited for each other: in each list every rank for the next one, and the last for the first.
    #[serde(rename = "circles")]
    pub cycles: Vec<Vec<u32>>,
    /// Ranks of the world without a core file.
    pub absent: RankSet,
    /// Files that could not be read, and why.
    pub errors: Vec<String>,
}

impl Postmortem {
    /// Joins what was read.
    pub fn new(mut deaths: Vec<Death>, errors: Vec<String>) -> Self {
        analysis::one_world(&mut deaths);
        deaths.sort_by_cached_key(|d| (d.now.world.clone(), d.now.rank.is_none(), d.now.rank, d.now.pid));
        let mut jobs: Vec<String> = deaths.iter().map(|d| d.job.clone()).collect();
        jobs.sort();
        jobs.dedup();
        let one = deaths.first();
        let (command, library) = one.map(|d| (d.command.clone(), d.library.clone())).unwrap_or_default();
        let size = one.and_then(|d| d.now.size);
        let first = analysis::first(&deaths);
        let waits = analysis::waits(&deaths);
        let held_up = first.as_ref().and_then(|f| f.rank).map(|rank| analysis::held_up(&waits, rank));
        Self {
            schema: SCHEMA,
            jobs,
            command,
            library,
            size,
            absent: analysis::absent(&deaths),
            held_up: held_up.unwrap_or_default(),
            cycles: cycles::cycles(&waits),
            waits,
            first,
            deaths,
            errors,
        }
    }

    /// Whether something is wrong: somebody died of a signal or aborted.
    pub fn problem(&self) -> bool {
        self.deaths.iter().any(|d| d.now.problem) || !self.errors.is_empty()
    }
}
