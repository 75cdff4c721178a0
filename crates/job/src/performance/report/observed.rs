//! A process, and what the one who started it saw of it: what a report is made of.

use super::facts::Facts;
use crate::jobs::worlds;
use crate::model::process::{Ending, Process};
use crate::observation::{LastLook, Observation};
use crate::questions::leaks::Site;
use mpi_abi::AbiKind;
use mpi_abi::constant::{self, Category};
use std::path::PathBuf;

/// A process, and what the one who started it saw of it.
#[derive(Debug)]
pub struct Observed {
    /// What the image says.
    pub process: Process,
    /// Rank that the launcher gave, for processes that never got as far as `MPI_Init`.
    pub launcher_rank: Option<u32>,
    /// Process id in the namespace of the observer.
    pub pid: u32,
    /// When the process ended, nanoseconds of `CLOCK_MONOTONIC`; `None` while it lives.
    pub ended_ns: Option<u64>,
    /// What the clock of the one who reports is ahead of that, in nanoseconds.
    pub later_ns: i64,
    /// How it ended.
    pub ending: Option<Ending>,
    /// The core file that it left.
    pub core: Option<PathBuf>,
    /// Objects that were not freed when `MPI_Finalize` returned, by the place that made them.
    pub leaks: Vec<Site>,
    /// What its records say, for findings.
    pub observation: Option<Observation>,
    /// What they say beside, for sections.
    pub facts: Facts,
}

impl Observed {
    /// Open MPI ends a process in which a call fails with the class of the error, where errors are fatal. With 1 programs end by themselves.
    fn exit_error(&self) -> Option<(i32, &'static str)> {
        let Some(Ending::Exit(status @ 2..)) = self.ending else { return None };
        let process = &self.process;
        if process.abi != AbiKind::OPENMPI || process.finalized() || process.abort_code.is_some() {
            return None;
        }
        Some((status, constant::name_of(process.abi, Category::ERROR, i64::from(status))?))
    }

    /// Takes what was observed of it, with when that was: nobody will look again.
    pub(super) fn last(&mut self) -> Option<Observation> {
        let mut seen = self.observation.take()?;
        let looked_ns = self.process.clock.end_ns();
        // The clock of another host is known at the end of its processes.
        let known = self.ended_ns.is_some() || seen.clock_error_ns.is_none();
        let ours = |ns: u64| ns.saturating_add_signed(self.later_ns);
        let ended_ns = self.ended_ns.unwrap_or(looked_ns).min(looked_ns);
        seen.exit_error = self.exit_error();
        seen.last = known.then(|| LastLook { looked_ns: ours(looked_ns), ended_ns: ours(ended_ns) });
        Some(seen)
    }
}

/// Gives processes that did not pass `MPI_Init` the name of the world that they would have been in.
pub(crate) fn settle(observed: &mut [Observed]) {
    worlds::settle(&mut observed.iter_mut().map(|one| &mut one.process).collect::<Vec<_>>());
    for one in observed {
        one.observation.iter_mut().for_each(|seen| seen.world.clone_from(&one.process.world));
    }
}
