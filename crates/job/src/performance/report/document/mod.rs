//! The contents of `report.json`, shared by text, JSON and HTML output. The fields are described in the
//! [report](super) module.

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
#[derive(Debug, Default, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobReport {
    /// Name and version of this schema. Fields may be added; existing ones never change their meaning.
    pub schema: &'static str,
    /// Version of mpiscope.
    pub version: &'static str,
    /// The command that was started.
    pub command: String,
    /// The MPI library's description of itself; empty if no process called MPI.
    pub library: String,
    /// `mpich`, `openmpi`, `standard` or `unknown`.
    pub abi: String,
    /// Version of the MPI standard.
    pub mpi_version: String,
    /// Size of the (first) `MPI_COMM_WORLD`.
    pub size: u32,
    /// Worlds in the order in which they started: one, unless the program spawned processes or several
    /// programs ran in succession.
    pub worlds: Vec<WorldReport>,
    /// Hosts of the observed ranks.
    pub hosts: Vec<HostReport>,
    /// Longest wall time of a rank.
    pub wall_s: f64,
    /// Whether the ranks recorded times.
    pub times: bool,
    /// Time of all threads that called MPI, over all ranks.
    pub thread_s: f64,
    /// MPI time as a fraction of that, 0 to 1.
    pub mpi_share: Option<f64>,
    /// Polling time as a fraction of that.
    pub polling_share: Option<f64>,
    /// Mean divided by maximum of the ranks' useful times; a rank's useful time is its wall time multiplied
    /// by the share that is neither MPI nor polling.
    pub load_balance: Option<f64>,
    /// Maximum useful time divided by run time.
    pub communication_efficiency: Option<f64>,
    /// The product of both.
    pub parallel_efficiency: Option<f64>,
    /// Maximum useful time divided by the maximum sum of useful time and time waiting for others; none if the
    /// job was not monitored while running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serialisation_efficiency: Option<f64>,
    /// Maximum sum of useful time and time waiting for others, divided by run time; none if the job was not
    /// monitored while running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_efficiency: Option<f64>,
    /// Bytes moved by all calls.
    pub bytes: u64,
    /// The part of them that left a process.
    pub sent: u64,
    /// The part of them that entered a process.
    pub received: u64,
    /// Number of records dropped by all ranks.
    pub lost: u64,
    /// The ranks, ordered by world and rank.
    pub ranks: Vec<RankReport>,
    /// The functions by time (by count if times were not recorded), in descending order.
    pub functions: Vec<FunctionReport>,
    /// Where the program called them from, in descending order of time, and calls that cannot be attributed
    /// to a place.
    #[serde(flatten)]
    pub call_sites: JobSites,
    /// Which ranks waited for which, as far as observed.
    pub waits: Waits,
    /// The run divided into time windows, if it was monitored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<Windows>,
    /// For a running job: why some or all of its ranks were not monitored from the beginning, so that waits
    /// are limited to what the ranks still remember.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_followed: Option<String>,
    /// Processes that were started under the layer and never called MPI.
    pub silent: Vec<Silent>,
    /// The first rank that ended abnormally, if several did and their order was observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_end: Option<FirstEnd>,
    /// Problems of the layers: a sentence and the ranks that reported it.
    pub notes: Vec<(String, Members)>,
    /// Objects not freed when `MPI_Finalize` returned, by the place that created them, in descending order of
    /// number.
    pub leaks: Vec<Leak>,
    /// What went wrong in the run.
    pub findings: Vec<Finding>,
    /// Communication between ranks, collectives, messages, files, memory.
    pub sections: Sections,
}

/// A world: ranks that started together.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorldReport {
    /// Name of the world, unique across all jobs.
    pub name: String,
    /// Size of its `MPI_COMM_WORLD`.
    pub size: u32,
    /// Observed ranks of this world.
    pub ranks: RankSet,
}

/// The ranks on one host.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostReport {
    /// Name of the host.
    pub host: String,
    /// Ranks on this host.
    pub ranks: Members,
    /// Offset of the reporting host's clock from this host's clock at the end, in seconds (positive if the
    /// former is ahead); none for the reporting host itself and if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_later_s: Option<f64>,
    /// Maximum error of that offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_error_s: Option<f64>,
}

/// A process that never called MPI.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Silent {
    /// Rank assigned by the launcher.
    pub rank: Option<u32>,
    /// Its host, if other than the reporting host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Process id.
    pub pid: u32,
    /// How it ended, if observed.
    pub ending: Option<Ending>,
}

/// The first of several ranks that ended prematurely.
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
    /// Returns the time of all threads of all ranks in MPI, in seconds: that of their outermost calls.
    #[must_use]
    pub fn mpi_s(&self) -> f64 {
        total(self.ranks.iter().map(|rank| rank.mpi_s))
    }

    /// Returns the seconds in calls beyond the time of their ranks in MPI: calls made by callbacks inside
    /// other calls, which count for both functions, and calls before `MPI_Init`, such as those of sessions.
    #[must_use]
    pub fn nested_s(&self) -> f64 {
        let of_rank = |rank: &RankReport| {
            let functions = total(rank.calls.values().filter_map(|calls| calls.time_s));
            (functions - rank.mpi_s).max(0.0)
        };
        total(self.ranks.iter().map(of_rank))
    }
}
