//! What is in `report.json`: the form that text, JSON and the page have in common. The fields are described where the
//! [report](super) is.

mod functions;
mod ranks;
mod sections;

pub use self::functions::{Extreme, FunctionReport};
pub use self::ranks::{Calls, RankReport, ThreadReport, both_times};
pub use self::sections::{
    Collectives, Crowd, Exchange, FileUse, Memory, Messages, Most, OfFunction, Pair, Recent, Sections,
    SizeClass,
};
use crate::base::rankset::RankSet;
use crate::base::total::total;
use crate::jobs::worlds::Members;
use crate::model::process::Ending;
use crate::performance::monitor::windows::Windows;
use crate::performance::sites::JobSites;
use crate::performance::waits::Waits;
use crate::questions::findings::Finding;
use crate::questions::leaks::Leak;
use serde::Serialize;

/// Name and version of the schema of `report.json`.
pub const SCHEMA: &str = "mpiscope.report/1";

/// A job.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobReport {
    /// Name and version of this form: fields may be added to it, none changes its meaning.
    pub schema: &'static str,
    /// Version of this program.
    pub version: &'static str,
    /// What was started.
    pub command: String,
    /// What the library says about itself; empty if no process called MPI.
    pub library: String,
    /// `mpich`, `openmpi`, `standard` or `unknown`.
    pub abi: String,
    /// Version of the MPI standard.
    pub mpi_version: String,
    /// Size of (the first) `MPI_COMM_WORLD`.
    pub size: u32,
    /// In the order in which they began: one, unless the program spawned or several ran one after the other.
    pub worlds: Vec<WorldReport>,
    /// Where the ranks that were seen are.
    pub hosts: Vec<HostReport>,
    /// Longest wall time of a rank.
    pub wall_s: f64,
    /// Whether the ranks recorded times.
    pub times: bool,
    /// Time of all threads that called MPI, over all ranks.
    pub thread_s: f64,
    /// MPI time as a part of that, 0 to 1.
    pub mpi_share: Option<f64>,
    /// Polling time as a part of that.
    pub polling_share: Option<f64>,
    /// Mean over maximum of the useful times of ranks, each its wall time times the share that is neither MPI nor polling.
    pub load_balance: Option<f64>,
    /// The greatest useful time over the run time.
    pub communication_efficiency: Option<f64>,
    /// The product of both.
    pub parallel_efficiency: Option<f64>,
    /// The greatest useful time over the greatest sum of it and waiting for others; none of a job that was not followed while it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serialisation_efficiency: Option<f64>,
    /// The greatest sum of useful time and waiting for others over the run time; none of a job that was not followed while it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_efficiency: Option<f64>,
    /// Bytes that all calls moved.
    pub bytes: u64,
    /// Of these, out of a process.
    pub sent: u64,
    /// Into one.
    pub received: u64,
    /// Lost records of all ranks.
    pub lost: u64,
    /// By world and rank.
    pub ranks: Vec<RankReport>,
    /// By time (by count when times were not recorded), most first.
    pub functions: Vec<FunctionReport>,
    /// Where the program called them from, most time first, and what belongs to no place.
    #[serde(flatten)]
    pub call_sites: JobSites,
    /// Who waited for whom, as far as it was seen.
    pub waits: Waits,
    /// The run in windows of time, if it was followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<Windows>,
    /// Of a running job: why its ranks, or some of them, were not looked at from the beginning, so that the waits are those that they
    /// still remember.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_followed: Option<String>,
    /// Processes that were started under the layer and never called MPI.
    pub silent: Vec<Silent>,
    /// Who ended badly first, if several did and the order was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_end: Option<FirstEnd>,
    /// What the layers could not do: sentence and the ranks that said so.
    pub notes: Vec<(String, Members)>,
    /// Objects that were not freed when `MPI_Finalize` returned, by the place that made them, most first.
    pub leaks: Vec<Leak>,
    /// What was wrong with the run.
    pub findings: Vec<Finding>,
    /// Who talked to whom, collectives, messages, files, memory.
    pub sections: Sections,
}

/// A world: the ranks that began together.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorldReport {
    /// Its name, unique over all jobs.
    pub name: String,
    /// Size of its `MPI_COMM_WORLD`.
    pub size: u32,
    /// Ranks of it that were seen.
    pub ranks: RankSet,
}

/// Ranks of one host.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostReport {
    /// Name.
    pub host: String,
    /// Ranks there.
    pub ranks: Members,
    /// What the clock of the one who reports is ahead of its own, in seconds, at the end; none of the host that reports, and where it is
    /// not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_later_s: Option<f64>,
    /// The error of that is no greater.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_error_s: Option<f64>,
}

/// A process that never called MPI.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Silent {
    /// Rank that the launcher gave.
    pub rank: Option<u32>,
    /// The host that it was on, if it was another than that of who reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Process id.
    pub pid: u32,
    /// How it ended, if seen.
    pub ending: Option<Ending>,
}

/// The first of several ranks that ended before they should have.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirstEnd {
    /// Its rank, if known.
    pub rank: Option<u32>,
    /// Number of its world.
    #[serde(skip)]
    pub world_number: usize,
    /// Seconds until the next one ended; none if the others were killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before_s: Option<f64>,
}

impl JobReport {
    /// Time in MPI of all threads of all ranks, in seconds: that of their outermost calls.
    #[must_use]
    pub fn mpi_s(&self) -> f64 {
        total(self.ranks.iter().map(|rank| rank.mpi_s))
    }

    /// Seconds in calls beyond the time of their ranks in MPI: in calls that callbacks made inside of other calls, which those of both
    /// functions count, and in calls before `MPI_Init`, such as those of sessions.
    #[must_use]
    pub fn nested_s(&self) -> f64 {
        let of_rank = |rank: &RankReport| {
            let functions = total(rank.calls.values().filter_map(|calls| calls.time_s));
            (functions - rank.mpi_s).max(0.0)
        };
        total(self.ranks.iter().map(of_rank))
    }

    /// How many calls of a function were open at the end, over all threads of all ranks.
    pub fn open_calls_of(&self, function: &str) -> usize {
        self.ranks.iter().flat_map(RankReport::open_calls).filter(|call| **call == function).count()
    }
}
