//! What has started a job, as far as it says how the job's other hosts are reached: where its launcher came, a look comes too.
//!
//! Slurm leaves its number in the environment of each rank. Other launchers say by which command they reach hosts on the command
//! lines of the daemons that they start there, or in variables that ranks inherit.

mod reach;

pub use reach::Reach;

use crate::jobs::scheduler::SlurmId;
use crate::sources::process_tree::Families;
use mpiscope_target::procfs;
use rustix::process::geteuid;

/// Longer chains of parents are not believed.
const MOST_PARENTS: usize = 16;
/// So many processes of a job are asked: all of a host have the same to say.
const MOST_ASKED: usize = 8;

/// What has started a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StartedBy {
    /// The job of Slurm's that it runs in.
    pub slurm: Option<SlurmId>,
    /// How its launcher reaches hosts, if that is not what everybody does.
    pub reach: Option<Reach>,
}

impl StartedBy {
    /// That of processes of a job on this host.
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

    /// That, or the other if it is not known.
    #[must_use]
    pub fn or_else(self, other: impl FnOnce() -> Self) -> Self {
        if self == Self::default() { other() } else { self }
    }

    /// That of the processes which one has started that has started the job.
    #[must_use]
    pub fn below(pid: u32) -> Self {
        let below = Families::now().descendants(pid);
        Self { slurm: None, reach: reach::among(below.into_iter().take(MOST_PARENTS).filter_map(process)) }
    }
}

/// A process and its parents, nearest first.
fn line_of(pid: u32) -> impl Iterator<Item = u32> {
    let parent = |pid: &u32| procfs::stat(*pid).ok().map(|stat| stat.parent).filter(|pid| *pid > 1);
    std::iter::successors(Some(pid), parent).take(MOST_PARENTS)
}

/// What a process was started with, of a process of the user who looks: nobody runs a command because another user's process has
/// its name.
fn process(pid: u32) -> Option<reach::Started> {
    procfs::user(pid).ok().filter(|user| *user == geteuid().as_raw())?;
    let words = procfs::command_line(pid).unwrap_or_default().into_iter().filter(|word| !word.is_empty());
    let words = words.map(|word| word.to_string_lossy().into_owned()).collect();
    Some(reach::Started { words, environment: procfs::environment(pid).unwrap_or_default() })
}
