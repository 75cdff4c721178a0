//! Which ranks of a job are watched, and by which way those of other hosts are looked at.

use crate::host_scope;
use crate::run::hosts::gather::Hosts;
use crate::run::hosts::uplink::Told;
use crate::run::hosts::{join, patience};
use mpiscope_job::hosts::other_hosts::{self, Elsewhere};
use mpiscope_job::jobs::job::Job;
use mpiscope_job::questions::live::{Progress, progress};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long other hosts may take when somebody is about to end the job.
const AT_THE_END: Duration = Duration::from_secs(2);

/// Which ranks of a job are watched.
pub enum Scope {
    /// Those of this host, which are all there are.
    Here,
    /// Those of all hosts: these say how far their ranks are, and look when they are asked.
    Heard(Hosts),
    /// Those of this host.
    Part {
        /// Who hears the hosts and speaks for them, if somebody does.
        told: Option<Told>,
        /// If nobody does and rank 0 is among these ranks of this host, the other hosts are asked when nothing happens here, as
        /// `mpiscope why` does; else the host of rank 0 speaks.
        ranks: Mutex<Vec<u32>>,
    },
}

impl Scope {
    /// How far the ranks are, of whom `here` are on this host.
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

    /// The ranks of one host.
    pub fn part(told: Option<Told>) -> Self {
        Self::Part { told, ranks: Mutex::default() }
    }

    /// Whether it is for this process to say what is wrong. Whoever else does is told how far the ranks are.
    pub fn speaks(&self, progress: Option<&Progress>) -> bool {
        let Self::Part { told, ranks } = self else { return true };
        if told.as_ref().is_some_and(|told| told.progress(progress.cloned())) {
            return false;
        }
        let ranks = ranks.lock().unwrap_or_else(PoisonError::into_inner);
        ranks.is_empty() || ranks.contains(&0)
    }

    /// The launcher has given these ranks to the processes here.
    pub fn ranks(&self, now: Vec<u32>) {
        if let Self::Part { ranks, .. } = self {
            *ranks.lock().unwrap_or_else(PoisonError::into_inner) = now;
        }
    }

    /// Whether all ranks are on this host.
    pub fn is_here(&self) -> bool {
        match self {
            Self::Here => true,
            Self::Heard(hosts) => hosts.progress().is_none(),
            Self::Part { .. } => false,
        }
    }

    /// How much longer than when they were looked at last they must stand still, to be looked at again: other hosts are not asked all
    /// the time.
    pub fn sparing(&self) -> f64 {
        match self {
            Self::Here => 1.0,
            Self::Heard(_) | Self::Part { .. } => 1.5,
        }
    }

    /// Whether ranks of other hosts are known when these have sent what they know, in the end.
    pub fn ends_elsewhere(&self) -> bool {
        matches!(self, Self::Heard(_))
    }

    /// Adds the ranks of other hosts to those that are here; each host looks twice, `pause` apart. `ends` says that somebody is about to
    /// end the job: then nobody is waited for who can only be reached by a launcher.
    pub fn join(&self, job: &mut Job, (pause, stacks): (Duration, bool), ends: bool) -> Elsewhere {
        match self {
            Self::Heard(hosts) => {
                let limit = if ends { patience().min(AT_THE_END) } else { patience() };
                join::elsewhere(job, hosts.look(pause, stacks, limit))
            }
            Self::Part { .. } if !ends => {
                other_hosts::join(job, &host_scope::system().started_by(job.started_by()), pause, stacks)
            }
            _ => Elsewhere::default(),
        }
    }
}
