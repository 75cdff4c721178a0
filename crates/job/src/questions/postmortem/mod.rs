//! The postmortem of a job from its core files: who failed first and of what, and why the others could not go on.
//!
//! ```text
//! core file ──► Death (one process: signal, stack, open call) ─┐
//! core file ──► Death ─────────────────────────────────────────┼──► Postmortem: first to fail, verdict
//! core file ──► Death ─────────────────────────────────────────┘
//! ```
//!
//! Who was *first* follows from the time of the core files, among the processes whose death was their own doing (a
//! fault, `abort`, `MPI_Abort`): a launcher kills the others, later. Who waited for whom is the [`Verdict`] that `mpiscope why`
//! gives on the same files. The schema is `mpiscope.core/2`; fields may be added, none changes its meaning.

mod communication;
mod death;
mod first;

pub use communication::{LastMessage, PendingRequest};
pub use death::{Death, FrameText};
pub use first::FirstFailure;

use crate::jobs::job::Job;
use crate::jobs::symbols::FileSymbols;
use crate::model::process::Process;
use crate::observation::Observation;
use crate::questions::why::{self, Verdict};
use mpiscope_target::Symbolizer;
use serde::Serialize;
use std::path::PathBuf;

/// Name and version of the schema of `mpiscope core --json`.
pub const SCHEMA: &str = "mpiscope.core/2";

/// What the core files of a job tell together.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Postmortem {
    /// Name and version of this form: fields may be added to it, none changes its meaning.
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
    /// Why the ranks could not go on: what `mpiscope why` says of the same files.
    pub why: Verdict,
    /// By world and rank.
    pub deaths: Vec<Death>,
    /// Files that could not be read, and why.
    pub errors: Vec<String>,
}

impl Postmortem {
    /// Reads core files and joins what they say; files that cannot be read are among the errors.
    pub fn open(files: &[PathBuf]) -> Self {
        let (symbols, symbolizer) = (FileSymbols::default(), Symbolizer::new());
        let (mut deaths, mut errors) = (Vec::new(), Vec::new());
        for file in files {
            match Death::open(file, &symbols, &symbolizer) {
                Ok(death) => deaths.push(death),
                Err(error) => errors.push(error.to_string()),
            }
        }
        Self::new(deaths, errors)
    }

    /// Joins what was read.
    fn new(mut deaths: Vec<Death>, errors: Vec<String>) -> Self {
        let mut observations: Vec<Observation> =
            deaths.iter_mut().map(|death| std::mem::take(&mut death.observation)).collect();
        why::one_world(&mut observations);
        for (death, observation) in deaths.iter_mut().zip(&observations) {
            death.now.world.clone_from(&observation.world);
        }
        let worlds = why::worlds(&observations);
        deaths.iter_mut().for_each(|death| death.now.world_number = worlds.number(&death.now.world));
        let why = why::of_files(observations, &errors);
        deaths.sort_by_key(|d| (d.now.world_number, d.now.rank.is_none(), d.now.rank, d.now.pid));
        let mut jobs: Vec<String> = deaths.iter().map(|d| d.job.clone()).collect();
        jobs.sort();
        jobs.dedup();
        let one = deaths.first();
        let (command, library) = one.map(|d| (d.command.clone(), d.library.clone())).unwrap_or_default();
        let size = one.and_then(|d| d.now.size);
        let first = first::first(&deaths);
        Self { schema: SCHEMA, jobs, command, library, size, first, why, deaths, errors }
    }

    /// What an evidence file says of a job, whose ranks may live: nobody died, and the verdict is the one on both looks that it has kept.
    pub fn of_evidence(job: &Job, why: Verdict) -> Self {
        let process = job.images.iter().find_map(|found| Process::read(&found.open().ok()?, None).ok());
        let known = process.map(|process| (process.command, process.library, process.size));
        let (command, library, size) = known.unwrap_or_default();
        let jobs = vec![job.name.clone()];
        Self { jobs, command, library, size, why, ..Self::new(Vec::new(), Vec::new()) }
    }

    /// Whether something is wrong: somebody died of a signal or aborted, the ranks could not have gone on, or a part could not be read.
    pub fn problem(&self) -> bool {
        self.why.problem
            || self.why.partial
            || self.deaths.iter().any(|d| d.now.problem)
            || !self.errors.is_empty()
    }
}
