//! A job: all processes of one user whose memory files have the same name, or the content of an evidence
//! file.

use crate::jobs::acquire::{Entry, ProcessLocation};
use crate::jobs::evidence::Symbols;
use crate::jobs::job_image::{ImageId, JobImage};
use crate::jobs::other_worlds::{Connected, Spawned};
use crate::jobs::scan::{Found, Scan};
use crate::jobs::scheduler::SlurmId;
use crate::jobs::silent::Silent;
use crate::jobs::started_by::StartedBy;
use crate::jobs::symbols::{FileSymbols, SeveralHosts};
use crate::model::locate::Locate;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A job: all processes of one user whose memory files have the same name, or the content of an evidence
/// file.
#[derive(Debug, Default)]
pub struct Job {
    /// Name of the job.
    pub name: String,
    /// User id of the owner.
    pub owner: u32,
    /// Its images.
    pub images: Vec<JobImage>,
    /// Ranks that had not called MPI, according to another host or an evidence file; those on this host are
    /// searched for.
    pub silent: Vec<Silent>,
    /// Messages about what could not be read when the job was saved, if it comes from an evidence file.
    pub not_seen: Vec<String>,
    /// Names for addresses, if the job does not run here.
    pub symbols: Option<Arc<Symbols>>,
    /// The job's location, if none of its processes is on this host.
    pub parts: Option<Parts>,
    /// Its hosts, as announced by the process that started the job from this host or gathers it: ranks in
    /// `MPI_Init` know of no others.
    pub announced: Vec<String>,
    /// Names for the addresses of ranks on other hosts.
    pub elsewhere: Vec<Arc<Symbols>>,
    /// Worlds spawned by its processes on other hosts or in an evidence file; those of processes on this host
    /// are searched for.
    pub spawned: BTreeSet<Spawned>,
    /// Other jobs that its processes on other hosts or in an evidence file are connected with; those of
    /// processes on this host are searched for.
    pub connected: BTreeSet<Connected>,
    /// The processes whose images have already been taken in.
    pub known: Known,
    /// The scheduler's id by which the job was named; the scheduler may run other jobs on other hosts.
    pub named: Option<SlurmId>,
    /// The scan of this host that found it, and what else that found.
    pub scan: Option<Arc<Scan>>,
    /// How long nothing had happened when the job began to be terminated: see [`Job::as_it_was`].
    pub stood: Option<Duration>,
}

/// The processes among the first N images, by world, rank and place: avoids reading the images once per host.
#[derive(Debug, Default)]
pub struct Known(usize, BTreeSet<(String, Option<u32>, ProcessLocation)>);

/// Returns the names of jobs.
pub fn names(jobs: &[Job]) -> impl Iterator<Item = &str> {
    jobs.iter().map(|job| job.name.as_str())
}

impl Job {
    /// Presents the job as it was before it began to be terminated, when the processes of the images in
    /// `lived` were alive. `stood` returns how long nothing had happened in the job with these processes;
    /// analyses that usually take two samples then take one.
    #[must_use]
    pub fn as_it_was(mut self, lived: &BTreeSet<ImageId>, stood: impl Fn(&Self) -> Option<Duration>) -> Self {
        for image in &mut self.images {
            let id = image.who().and_then(|who| image.id(&who.entry.place.host));
            image.lived = id.is_some_and(|id| lived.contains(&id));
        }
        self.stood = stood(&self);
        self
    }

    /// Returns the source of names for addresses of its processes.
    pub fn symbols(&self) -> Box<dyn Locate> {
        match &self.symbols {
            Some(kept) => Box::new(Arc::clone(kept)),
            None if self.elsewhere.is_empty() => Box::new(FileSymbols::default()),
            None => Box::new(SeveralHosts { kept: self.elsewhere.clone(), files: FileSymbols::default() }),
        }
    }

    /// Returns a copy to be taken in elsewhere. Data in memory or in a file is shared.
    #[must_use]
    pub fn part(&self) -> Self {
        Self {
            name: self.name.clone(),
            owner: self.owner,
            images: self.images.clone(),
            silent: self.silent.clone(),
            not_seen: self.not_seen.clone(),
            symbols: self.symbols.clone(),
            elsewhere: self.elsewhere.clone(),
            spawned: self.spawned.clone(),
            connected: self.connected.clone(),
            ..Self::default()
        }
    }

    /// Takes in those processes of another part of the job that are `wanted` and not yet known.
    pub fn take_in(&mut self, other: Job, wanted: impl Fn(&ProcessLocation) -> bool) {
        let Known(count, mut known) = std::mem::take(&mut self.known);
        let key = |entry: Entry| (entry.world, entry.rank, entry.place);
        let here = self.images.iter().skip(count).filter_map(JobImage::who);
        known.extend(here.map(|who| key(who.entry)));
        for image in other.images {
            let is_new = match image.who() {
                Some(who) => wanted(&who.entry.place) && known.insert(key(who.entry)),
                // It has not called MPI, so its image does not identify it.
                None => image.about().is_some_and(|about| about.silent),
            };
            if is_new {
                self.images.push(image);
            }
        }
        self.known = Known(self.images.len(), known);
        for silent in other.silent {
            let place = ProcessLocation { host: silent.host.clone(), pid: silent.pid };
            if wanted(&place) && !self.silent.contains(&silent) {
                self.silent.push(silent);
            }
        }
        self.spawned.extend(other.spawned);
        self.connected.extend(other.connected);
        self.elsewhere.extend(other.symbols);
    }

    /// The Slurm job that started the processes on this host, if any.
    pub fn slurm(&self) -> Option<SlurmId> {
        let ours = || self.holders().into_iter().find_map(SlurmId::of_process);
        self.parts.as_ref().and_then(|parts| parts.slurm.clone()).or_else(ours)
    }

    /// What started the job, as far as that is known here.
    pub fn started_by(&self) -> StartedBy {
        let parts = self.parts.as_ref();
        if let Some(id) = parts.and_then(|parts| parts.slurm.clone()) {
            return StartedBy { slurm: Some(id), reach: None };
        }
        let starter = parts.and_then(|parts| parts.starter.as_ref()).filter(|_| self.images.is_empty());
        match starter {
            Some(Starter { slurm: Some(id), .. }) => StartedBy { slurm: Some(id.clone()), reach: None },
            Some(Starter { pid, .. }) => StartedBy::below(*pid),
            None => StartedBy::of_processes(self.holders()),
        }
    }

    /// Its images in the scan of this host that found it; none if it was not found on this host.
    pub(crate) fn found_here(&self) -> impl Iterator<Item = &Found> {
        self.scan.iter().flat_map(|scan| scan.of_job(self.owner, &self.name))
    }

    /// Processes of this host that hold its images.
    fn holders(&self) -> BTreeSet<u32> {
        self.images.iter().flat_map(|image| &image.holders).map(|holder| holder.pid).collect()
    }

    /// Whether the job is on this host rather than in an evidence file.
    pub fn runs_here(&self) -> bool {
        self.symbols.is_none()
    }
}

/// A job whose ranks are all on other hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// Its hosts.
    pub hosts: Vec<String>,
    /// Its name on those hosts.
    pub name: String,
    /// The Slurm job that started it, if any.
    pub slurm: Option<SlurmId>,
    /// The process that started it from this host, if any.
    pub starter: Option<Starter>,
}

/// The process of this host that has started a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Starter {
    /// Its process id.
    pub pid: u32,
    /// The Slurm job that contains the ranks, according to their hosts, if any.
    pub slurm: Option<SlurmId>,
}
