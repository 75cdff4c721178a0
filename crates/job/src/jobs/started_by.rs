//! What started a job, as far as it tells how to reach the job's other hosts: the launcher's way works for
//! mpiscope, too.
//!
//! Slurm stores its job number in the environment of each rank. With other launchers, the command by which
//! they reach hosts is on the command lines of their daemons or in variables that ranks inherit.

mod reach;

pub use reach::Reach;

use crate::jobs::scheduler::SlurmId;
use crate::sources::process_tree::Families;
use mpiscope_target::procfs;
use rustix::process::geteuid;

/// Longer chains of parents are ignored.
const MOST_PARENTS: usize = 16;
/// Number of processes of a job that are examined: all on one host have the same information.
const MOST_ASKED: usize = 8;

/// What started a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StartedBy {
    /// The Slurm job that it runs in.
    pub slurm: Option<SlurmId>,
    /// How its launcher reaches hosts, if not the usual way.
    pub reach: Option<Reach>,
}

impl StartedBy {
    /// Determines what started these processes of a job on this host.
    pub fn of_processes(pids: impl IntoIterator<Item = u32>) -> Self {
        let mut found = Self::default();
        for (number, pid) in pids.into_iter().enumerate() {
            found.slurm = SlurmId::of_process(pid);
            if found.slurm.is_some() {
                break;
            }
            if found.reach.is_none() && number < MOST_ASKED {
                found.reach = reach::among(line_of(pid).filter_map(process));
            }
        }
        found
    }

    /// Returns `self`, or the other if nothing is known.
    #[must_use]
    pub fn or_else(self, other: impl FnOnce() -> Self) -> Self {
        if self == Self::default() { other() } else { self }
    }

    /// Examines the descendants of the process that started the job.
    #[must_use]
    pub fn below(pid: u32) -> Self {
        let below = Families::now().descendants(pid);
        Self { slurm: None, reach: reach::among(below.into_iter().take(MOST_PARENTS).filter_map(process)) }
    }
}

/// A process and its ancestors, nearest first.
fn line_of(pid: u32) -> impl Iterator<Item = u32> {
    let parent = |pid: &u32| procfs::stat(*pid).ok().map(|stat| stat.parent).filter(|pid| *pid > 1);
    std::iter::successors(Some(pid), parent).take(MOST_PARENTS)
}

/// Returns the command line and environment of a process of this user; a command must never be run because
/// another user's process mentions it.
fn process(pid: u32) -> Option<reach::Started> {
    procfs::user(pid).ok().filter(|user| *user == geteuid().as_raw())?;
    let words = procfs::command_line(pid).unwrap_or_default().into_iter().filter(|word| !word.is_empty());
    let words = words.map(|word| word.to_string_lossy().into_owned()).collect();
    Some(reach::Started { words, environment: procfs::environment(pid).unwrap_or_default() })
}
