//! Ranks, their threads, and the calls of each.

use crate::model::process::Ending;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One rank.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankReport {
    /// Rank in `MPI_COMM_WORLD`; `None` if it never became known.
    pub rank: Option<u32>,
    /// Host.
    pub host: String,
    /// Process id.
    pub pid: u32,
    /// Name of the world.
    pub world: String,
    /// Which of [`JobReport::worlds`] that is.
    #[serde(skip)]
    pub world_number: usize,
    /// How far the process came.
    pub state: String,
    /// Whether `MPI_Finalize` returned.
    pub finalized: bool,
    /// How the process ended, if seen.
    pub ending: Option<Ending>,
    /// When, in nanoseconds of `CLOCK_MONOTONIC` of the one who reports.
    #[serde(skip)]
    pub ended_ns: Option<u64>,
    /// The core file that it left, if it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<PathBuf>,
    /// Whether the process was still there when the report was made.
    pub alive: bool,
    /// Error code of `MPI_Abort`.
    pub abort_code: Option<i32>,
    /// The call that was open at the end: the main thread's, else the first thread's that was in one.
    pub in_call: Option<String>,
    /// If none was open, the call that had returned last; none after `MPI_Finalize`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_call: Option<String>,
    /// Source line of that call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_place: Option<String>,
    /// Seconds in the open call; part of `mpi_s`, not of `calls`, which are completed calls.
    pub in_call_s: f64,
    /// From entering `MPI_Init` to leaving `MPI_Finalize`, or to the end of the process, or to the last moment that is known.
    pub wall_s: f64,
    /// Time in outermost calls, all threads together, with the calls that were still open at the end.
    pub mpi_s: f64,
    /// MPI time of the thread that had most.
    pub main_mpi_s: f64,
    /// Time of all threads that called MPI together, each from its first call on.
    pub thread_s: f64,
    /// MPI time as a part of that.
    pub mpi_share: f64,
    /// Time between calls of loops over functions that ask and do not wait, as a part of that.
    pub polling_share: f64,
    /// What is neither, as a part of that.
    pub useful_share: f64,
    /// Threads that called MPI.
    pub threads: usize,
    /// Each of them.
    pub by_thread: Vec<ThreadReport>,
    /// All lost records.
    pub lost: u64,
    /// Lost records by kind; also how many freed objects are no longer known.
    pub losses: BTreeMap<String, u64>,
    /// Bytes of all calls.
    pub bytes: u64,
    /// Of these, out of the process.
    pub sent: u64,
    /// Into the process.
    pub received: u64,
    /// By name of the function.
    pub calls: BTreeMap<String, Calls>,
    /// What the layer could not do.
    pub notes: Vec<String>,
}

/// A thread that called MPI.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadReport {
    /// Number of the thread, from zero in the order of first MPI calls. Threads that follow each other may share one.
    pub thread: u64,
    /// The kernel's id; zero if it has ended.
    pub tid: u32,
    /// Whether it is the main thread.
    pub main: bool,
    /// Its time, from its first call on.
    pub time_s: f64,
    /// Time in MPI as a part of that.
    pub mpi_share: f64,
    /// Time between calls of loops over functions that ask and do not wait, as a part of that.
    pub polling_share: f64,
    /// Completed calls.
    pub calls: u64,
    /// The call that was open at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_call: Option<String>,
    /// Seconds in it.
    pub in_call_s: f64,
    /// If none was open, the call that had returned last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_call: Option<String>,
    /// Source line of that call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_place: Option<String>,
}

/// Calls of one function on one rank.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Calls {
    /// Completed calls.
    pub count: u64,
    /// Seconds in them; none if they were not timed.
    pub time_s: Option<f64>,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Of these, out of the process: messages, into windows and files.
    pub sent: u64,
    /// Into the process. Neither are those of collectives.
    pub received: u64,
    /// Of the calls, those whose time is an estimate: of calls that start a message and are short, one in sixteen is timed.
    pub estimated: u64,
}

impl Calls {
    /// Seconds that are known to have been spent in them.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.time_s.unwrap_or(0.0)
    }
}

/// The times of both; none if neither was timed.
#[must_use]
pub fn both_times(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

impl RankReport {
    /// The calls that were open at the end, of all threads.
    pub fn open_calls(&self) -> impl Iterator<Item = &String> {
        self.open_threads().filter_map(|thread| thread.in_call.as_ref())
    }

    /// The threads that were in a call at the end.
    pub fn open_threads(&self) -> impl Iterator<Item = &ThreadReport> {
        self.by_thread.iter().filter(|thread| thread.in_call.is_some())
    }

    /// Seconds in a function, with the calls of it that were open at the end; none if its calls were not timed.
    pub fn time_in(&self, function: &str) -> Option<f64> {
        let calls = self.calls.get(function).copied().unwrap_or_default();
        let uncalled = (calls.count == 0).then_some(0.0);
        both_times(both_times(calls.time_s, self.time_open_in(function)), uncalled)
    }

    /// Seconds in calls of it that were open at the end; none if there were none.
    pub(in crate::performance::report) fn time_open_in(&self, function: &str) -> Option<f64> {
        let inside = self.by_thread.iter().filter(|thread| thread.in_call.as_deref() == Some(function));
        inside.map(|thread| Some(thread.in_call_s)).fold(None, both_times)
    }

    /// The functions that it called or was in at the end, each once or twice.
    pub fn functions(&self) -> impl Iterator<Item = &String> {
        self.calls.keys().chain(self.open_calls())
    }
}
