//! A job: everything of one user whose memory files have the same name, or what an evidence file holds.

use crate::jobs::acquire::{Entry, ProcessLocation};
use crate::jobs::evidence::Symbols;
use crate::jobs::job_image::{ImageId, JobImage};
use crate::jobs::other_worlds::{Connected, Spawned};
use crate::jobs::scheduler::SlurmId;
use crate::jobs::silent::Silent;
use crate::jobs::started_by::StartedBy;
use crate::jobs::symbols::{FileSymbols, SeveralHosts};
use crate::model::locate::Locate;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A job: everything of one user whose memory files have the same name, or what an evidence file holds.
#[derive(Debug, Default)]
pub struct Job {
    /// Name of the job.
    pub name: String,
    /// The user.
    pub owner: u32,
    /// Its images.
    pub images: Vec<JobImage>,
    /// Ranks that had not called MPI, as another host or an evidence file says; those that are here are looked for.
    pub silent: Vec<Silent>,
    /// What could not be read of it when it was saved, of a job in an evidence file.
    pub not_seen: Vec<String>,
    /// Words for addresses, of a job that does not run here.
    pub symbols: Option<Arc<Symbols>>,
    /// Where it is, if no process of it is on this host.
    pub parts: Option<Parts>,
    /// Its hosts, as the one says who has started it from this host or gathers it: ranks in `MPI_Init` know of no others.
    pub announced: Vec<String>,
    /// Words for the addresses of ranks on other hosts.
    pub elsewhere: Vec<Arc<Symbols>>,
    /// What its processes on other hosts, or in an evidence file, have started; that of those here is looked for.
    pub spawned: BTreeSet<Spawned>,
    /// The other jobs that its processes on other hosts, or in an evidence file, are connected with; those of the ones here are
    /// looked for.
    pub connected: BTreeSet<Connected>,
    /// Whose images have been taken in.
    pub known: Known,
    /// What of a scheduler it was named by, which may run other jobs on other hosts.
    pub named: Option<SlurmId>,
    /// Nothing had happened for so long when somebody began to end it: see [`Job::as_it_was`].
    pub stood: Option<Duration>,
}

/// Which processes are among the first so many images, by world, rank and place: of a thousand hosts no image is read a thousand
/// times.
#[derive(Debug, Default)]
pub struct Known(usize, BTreeSet<(String, Option<u32>, ProcessLocation)>);

/// What jobs are called.
pub fn names(jobs: &[Job]) -> impl Iterator<Item = &str> {
    jobs.iter().map(|job| job.name.as_str())
}

impl Job {
    /// Has it looked at as it was before somebody began to end it: the processes of these images lived. `stood` says for how long
    /// nothing had happened, of the job with these processes; what would take two looks takes one then.
    #[must_use]
    pub fn as_it_was(mut self, lived: &BTreeSet<ImageId>, stood: impl Fn(&Self) -> Option<Duration>) -> Self {
        for image in &mut self.images {
            let id = image.who().and_then(|who| image.id(&who.entry.place.host));
            image.lived = id.is_some_and(|id| lived.contains(&id));
        }
        self.stood = stood(&self);
        self
    }

    /// What turns addresses of its processes into words.
    pub fn symbols(&self) -> Box<dyn Locate> {
        match &self.symbols {
            Some(kept) => Box::new(Arc::clone(kept)),
            None if self.elsewhere.is_empty() => Box::new(FileSymbols::default()),
            None => Box::new(SeveralHosts { kept: self.elsewhere.clone(), files: FileSymbols::default() }),
        }
    }

    /// The same processes once more, to be taken in elsewhere: what they have in memory or in a file is not copied.
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

    /// Takes in those processes of another part of the job that are `wanted`, and that are not in it already.
    pub fn take_in(&mut self, other: Job, wanted: impl Fn(&ProcessLocation) -> bool) {
        let Known(count, mut known) = std::mem::take(&mut self.known);
        let key = |entry: Entry| (entry.world, entry.rank, entry.place);
        let here = self.images.iter().skip(count).filter_map(JobImage::who);
        known.extend(here.map(|who| key(who.entry)));
        for image in other.images {
            let is_new = match image.who() {
                Some(who) => wanted(&who.entry.place) && known.insert(key(who.entry)),
                // It has not called MPI, and says nothing of itself.
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

    /// That of Slurm, if it has started the processes that are here.
    pub fn slurm(&self) -> Option<SlurmId> {
        let ours = || self.holders().find_map(SlurmId::of_process);
        self.parts.as_ref().and_then(|parts| parts.slurm.clone()).or_else(ours)
    }

    /// What has started it, as far as that can be known here.
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

    /// Processes of this host that hold its images.
    fn holders(&self) -> impl Iterator<Item = u32> {
        self.images.iter().flat_map(|image| &image.holders).map(|(pid, _)| *pid)
    }

    /// Whether it is on this host; else it is in an evidence file.
    pub fn runs_here(&self) -> bool {
        self.symbols.is_none()
    }
}

/// A job all of whose ranks are on other hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// Its hosts.
    pub hosts: Vec<String>,
    /// What it is called there.
    pub name: String,
    /// Whether Slurm has started it.
    pub slurm: Option<SlurmId>,
    /// Who has started it from this host, if somebody has.
    pub starter: Option<Starter>,
}

/// The process of this host that has started a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Starter {
    /// Its number.
    pub pid: u32,
    /// What the ranks run in, as their hosts say, if that is a job of Slurm's.
    pub slurm: Option<SlurmId>,
}
