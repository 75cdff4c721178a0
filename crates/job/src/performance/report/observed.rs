//! A process and what its observer saw of it, the input of a report.

use super::facts::Facts;
use crate::jobs::worlds;
use crate::model::process::{Ending, Process};
use crate::model::process_end::began_to_end;
use crate::observation::{LastLook, Observation};
use crate::questions::leaks::Site;
use std::path::PathBuf;

/// A process and what its observer saw of it.
#[derive(Debug)]
pub struct Observed {
    /// Facts read from the image.
    pub process: Process,
    /// Rank assigned by the launcher, for processes that never reached `MPI_Init`.
    pub launcher_rank: Option<u32>,
    /// Process id in the observer's namespace.
    pub pid: u32,
    /// When the process ended, in nanoseconds of `CLOCK_MONOTONIC`; `None` while it is alive.
    pub ended_ns: Option<u64>,
    /// How far the reporting host's clock is ahead of that, in nanoseconds.
    pub later_ns: i64,
    /// Whether this is an earlier snapshot, and nothing is known of its end.
    pub end_unseen: bool,
    /// How it ended.
    pub ending: Option<Ending>,
    /// The core file it left.
    pub core: Option<PathBuf>,
    /// Objects not freed when `MPI_Finalize` returned, by the place that created them.
    pub leaks: Vec<Site>,
    /// The observation from its records, for findings.
    pub observation: Option<Observation>,
    /// Other facts from its records, for the sections.
    pub facts: Facts,
}

impl Observed {
    /// Takes its observation, with the time at which it was made and how it ended: there will be no other.
    pub(super) fn last(&mut self) -> Option<Observation> {
        let mut seen = self.observation.take()?;
        seen.left = self.ending == Some(Ending::Exit(0)) && !self.process.finalized();
        let looked_ns = self.process.clock.end_ns();
        // The clock of another host is known for the time at which its processes end.
        let known = self.ended_ns.is_some() || seen.clock_error_ns.is_none();
        let ours = |ns: u64| self.ours(ns.min(looked_ns));
        let ended_ns = self.ended_ns.unwrap_or(looked_ns);
        seen.last = known.then(|| LastLook {
            looked_ns: ours(looked_ns),
            ended_ns: ours(ended_ns),
            began_to_end_ns: ours(self.began_to_end_ns().unwrap_or(ended_ns)),
        });
        Some(seen)
    }

    /// Returns when the process began to end; `None` while it is alive.
    pub(super) fn began_to_end_ns(&self) -> Option<u64> {
        Some(began_to_end(&self.process, self.ended_ns?))
    }

    /// Returns a time by the clock of the reporting host.
    pub(super) fn ours(&self, ns: u64) -> u64 {
        ns.saturating_add_signed(self.later_ns)
    }
}

/// Assigns processes that did not pass `MPI_Init` to the world they would have belonged to.
pub(crate) fn settle(observed: &mut [Observed]) {
    worlds::settle(&mut observed.iter_mut().map(|one| &mut one.process).collect::<Vec<_>>());
    for one in observed {
        one.observation.iter_mut().for_each(|seen| seen.world.clone_from(&one.process.world));
    }
}
