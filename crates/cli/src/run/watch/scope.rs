//! The ranks that are watched, and how ranks of other hosts are examined.

use crate::host_scope;
use crate::render::duration;
use crate::run::hosts::gather::Hosts;
use crate::run::hosts::shared::{Shared, StallNote};
use crate::run::hosts::uplink::Told;
use crate::run::hosts::{join, patience};
use mpiscope_job::hosts::other_hosts::{self, Elsewhere};
use mpiscope_job::jobs::job::Job;
use mpiscope_job::questions::live::{Progress, progress};
use mpiscope_job::questions::why::Verdict;
use mpiscope_job::sources::host_identity::HostIdentity;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long other hosts may take when the job is about to be ended.
const AT_THE_END: Duration = Duration::from_secs(2);

/// The ranks of a job that are watched.
pub enum Scope {
    /// The ranks of this host, which are all there are.
    Here,
    /// The ranks of all hosts, which report their progress and take snapshots on request.
    Heard(Hosts),
    /// The ranks of this host only.
    Part {
        /// Connection to the gatherer that hears the hosts and reports for them, if there is one.
        told: Option<Told>,
        /// The local ranks. Without a gatherer, the host with rank 0 reports: when nothing happens here, or a
        /// rank has stalled here or on a host that has noted so, it queries the other hosts as `mpiscope why`
        /// does.
        ranks: Mutex<Vec<u32>>,
        /// Without a gatherer, the note to the host with rank 0 that a rank here has stalled.
        note: Mutex<Option<StallNote>>,
    },
}

impl Scope {
    /// Returns the progress of the ranks, of which `here` are on this host.
    pub fn progress(&self, here: Option<&Job>) -> Option<Progress> {
        let here = here.and_then(progress);
        match self {
            Self::Heard(hosts) => match (here, hosts.progress()) {
                (Some(here), Some(there)) => Some(here.and(there)),
                (here, there) => here.or(there),
            },
            _ => here,
        }
    }

    /// Makes a scope of one host's ranks.
    pub fn part(told: Option<Told>) -> Self {
        Self::Part { told, ranks: Mutex::default(), note: Mutex::default() }
    }

    /// Whether this process is the one to report. If another process is, passes the progress on to it.
    pub fn is_reporter(&self, progress: Option<&Progress>) -> bool {
        let Self::Part { told, ranks, .. } = self else { return true };
        if told.as_ref().is_some_and(|told| told.progress(progress.cloned())) {
            return false;
        }
        let ranks = ranks.lock().unwrap_or_else(PoisonError::into_inner);
        ranks.is_empty() || ranks.contains(&0)
    }

    /// Sets the ranks that the launcher assigned to the processes of this host.
    pub fn ranks(&self, now: Vec<u32>) {
        if let Self::Part { ranks, .. } = self {
            *ranks.lock().unwrap_or_else(PoisonError::into_inner) = now;
        }
    }

    /// Whether the progress of all ranks is known without asking for it.
    pub fn has_all(&self) -> bool {
        matches!(self, Self::Here | Self::Heard(_))
    }

    /// Describes a stall of this length of all ranks whose progress is known without asking for it.
    pub fn stood(&self, still: Duration) -> String {
        let still = duration(still.as_secs_f64());
        match self {
            Self::Here | Self::Heard(_) => format!("no rank has completed an MPI call for {still}"),
            Self::Part { .. } => {
                let host = HostIdentity::here().name;
                format!("no rank on {host} has completed an MPI call for {still}")
            }
        }
    }

    /// Whether another host has noted that a rank of it has stalled. `worlds` returns the names of the worlds
    /// with ranks here.
    pub fn is_stall_noted(&self, out: Option<&Path>, worlds: impl FnOnce() -> BTreeSet<String>) -> bool {
        matches!(self, Self::Part { .. }) && worlds().iter().any(|world| Shared::is_stall_noted(out, world))
    }

    /// Notes for the reporting host that a rank here has stalled, or withdraws the note. If the hosts share no
    /// folder, the reporting host knows only of its own ranks.
    pub fn note_stall(&self, stalls: bool, out: Option<&Path>, worlds: impl FnOnce() -> BTreeSet<String>) {
        let Self::Part { told, note, .. } = self else { return };
        let mut note = note.lock().unwrap_or_else(PoisonError::into_inner);
        if !stalls {
            *note = None;
        } else if note.is_none() && !told.as_ref().is_some_and(Told::is_connected) {
            *note = worlds().first().and_then(|world| Shared::note_stall(out, world).ok());
        }
    }

    /// Returns the factor by which a stall must have grown since the last look before the next one, to avoid
    /// querying other hosts all the time.
    pub fn sparing(&self) -> f64 {
        match self {
            Self::Here => 1.0,
            Self::Heard(_) | Self::Part { .. } => 1.5,
        }
    }

    /// Whether the ranks of other hosts are known only when these have finally sent their data.
    pub fn ends_elsewhere(&self) -> bool {
        matches!(self, Self::Heard(_))
    }

    /// Whether this process judges a job after its end. With all ranks on this host, it gets the signal itself.
    /// Below a launcher, only the ranks may get it, and there is no later moment.
    pub fn is_judged_after_its_end(&self) -> bool {
        match self {
            Self::Here => false,
            Self::Heard(_) => true,
            Self::Part { told, .. } => told.is_none() && self.is_reporter(None),
        }
    }

    /// Whether a verdict after the end of the job rests on all of its ranks: those of other hosts may be unknown.
    pub fn suffices(&self, verdict: &Verdict) -> bool {
        !matches!(self, Self::Part { .. }) || verdict.unseen.is_empty()
    }

    /// Adds the ranks of other hosts to the local ones; each host takes two snapshots, `pause` apart. If the
    /// job is about to be ended (`ends`), hosts that can only be reached through a launcher are skipped.
    pub fn join(&self, job: &mut Job, (pause, stacks): (Duration, bool), ends: bool) -> Elsewhere {
        match self {
            Self::Heard(hosts) => {
                let limit = if ends { patience().min(AT_THE_END) } else { patience() };
                join::elsewhere(job, hosts.look(pause, stacks, limit))
            }
            Self::Part { .. } if !ends => {
                let hosts = host_scope::system().started_by(job.started_by()).scanned(job.scan.clone());
                other_hosts::join(job, &hosts, pause, stacks)
            }
            _ => Elsewhere::default(),
        }
    }
}
