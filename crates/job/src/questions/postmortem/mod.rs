//! The postmortem of a job from its core files: which process failed first and why, and why the others could
//! not go on.
//!
//! ```text
//! core file ──► Death (one process: signal, stack, open call) ─┐
//! core file ──► Death ─────────────────────────────────────────┼──► Postmortem: first to fail, verdict
//! core file ──► Death ─────────────────────────────────────────┘
//! ```
//!
//! The *first* failure is determined by the times of the core files, among the processes that caused their
//! own death (a fault, `abort`, `MPI_Abort`): a launcher kills the others later. Which processes waited for
//! which is the [`Verdict`] that `mpiscope why` gives for the same files. The schema is `mpiscope.core/2`;
//! fields may be added, and existing ones never change their meaning.

mod communication;
mod death;
mod first;

pub use communication::{LastMessage, PendingRequest};
pub use death::{Death, FrameText};
pub use first::FirstFailure;

use crate::jobs::job::Job;
use crate::jobs::symbols::FileSymbols;
use crate::model::process::Process;
use crate::model::rank_status::share_names;
use crate::observation::Observation;
use crate::questions::why::{self, Verdict};
use mpiscope_target::Symbolizer;
use serde::Serialize;
use std::path::PathBuf;

/// Name and version of the schema of `mpiscope core --json`.
pub const SCHEMA: &str = "mpiscope.core/2";

/// What the core files of a job show together.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Postmortem {
    /// Name and version of this schema. Fields may be added; existing ones never change their meaning.
    pub schema: &'static str,
    /// Names of the jobs the files belong to: one, unless files of several jobs were given.
    pub jobs: Vec<String>,
    /// The command that was started.
    pub command: String,
    /// The MPI library's description of itself.
    pub library: String,
    /// Size of the world.
    pub size: Option<u32>,
    /// The process that failed first, if any failed.
    pub first: Option<FirstFailure>,
    /// Why the ranks could not go on: the verdict of `mpiscope why` on the same files.
    pub why: Verdict,
    /// The processes that left core files, by world and rank.
    pub deaths: Vec<Death>,
    /// Files that could not be read, and why.
    pub errors: Vec<String>,
}

impl Postmortem {
    /// Reads core files and joins their contents; files that cannot be read are listed in `errors`.
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

    /// Joins the deaths read from files.
    fn new(mut deaths: Vec<Death>, errors: Vec<String>) -> Self {
        let mut observations: Vec<Observation> =
            deaths.iter_mut().map(|death| std::mem::take(&mut death.observation)).collect();
        why::one_world(&mut observations);
        for (death, observation) in deaths.iter_mut().zip(&observations) {
            death.now.world.clone_from(&observation.world);
        }
        let names = share_names(deaths.iter_mut().map(|death| &mut death.now));
        deaths.iter_mut().for_each(|death| death.call_by(&names));
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

    /// Builds the postmortem of a job from an evidence file. Its ranks may be alive: no deaths are listed,
    /// and the verdict is based on both looks stored in the file.
    pub fn of_evidence(job: &Job, why: Verdict) -> Self {
        let process = job.images.iter().find_map(|found| Process::read(&found.open().ok()?, None).ok());
        let known = process.map(|process| (process.command, process.library, process.size));
        let (command, library, size) = known.unwrap_or_default();
        let jobs = vec![job.name.clone()];
        Self { jobs, command, library, size, why, ..Self::new(Vec::new(), Vec::new()) }
    }

    /// Returns whether something is wrong: a process died of a signal or aborted, the ranks could not have
    /// gone on, or a part could not be read.
    pub fn problem(&self) -> bool {
        self.why.problem
            || self.why.partial
            || self.deaths.iter().any(|d| d.now.problem)
            || !self.errors.is_empty()
    }
}
