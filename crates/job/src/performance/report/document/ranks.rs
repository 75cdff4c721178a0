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
    /// Host name.
    pub host: String,
    /// Process id.
    pub pid: u32,
    /// Name of its world.
    pub world: String,
    /// Index of that world in `JobReport::worlds`.
    #[serde(skip)]
    pub world_number: usize,
    /// How far the process got.
    pub state: String,
    /// Whether `MPI_Finalize` returned.
    pub finalized: bool,
    /// How the process ended, if observed.
    pub ending: Option<Ending>,
    /// When it began to end, in nanoseconds of the reporting host's `CLOCK_MONOTONIC`.
    #[serde(skip)]
    pub began_to_end_ns: Option<u64>,
    /// The core file it left, if found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<PathBuf>,
    /// Whether the process still existed when the report was made or, if its end was not seen, when it was last
    /// seen.
    pub alive: bool,
    /// Whether its end was not seen: its host sent nothing at the end, and what is shown is from an earlier
    /// snapshot.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub end_unseen: bool,
    /// Whether it ended in a call with an error, as the findings have it.
    #[serde(skip)]
    pub erred: bool,
    /// Error code passed to `MPI_Abort`.
    pub abort_code: Option<i32>,
    /// Source line of its call of `MPI_Abort`, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abort_place: Option<String>,
    /// The call that was open at the end: the main thread's, otherwise that of the first thread that was in
    /// one.
    pub in_call: Option<String>,
    /// If no call was open, the last one that had returned; none after `MPI_Finalize`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_call: Option<String>,
    /// Source line of that call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_place: Option<String>,
    /// Seconds in the open call; included in `mpi_s` but not in `calls`, which covers completed calls.
    pub in_call_s: f64,
    /// Time from entering `MPI_Init` to leaving `MPI_Finalize`, or to the end of the process, or to the last
    /// known moment.
    pub wall_s: f64,
    /// Time in outermost calls of all threads, including calls still open at the end.
    pub mpi_s: f64,
    /// MPI time of the thread with the most.
    pub main_mpi_s: f64,
    /// Time of all threads that called MPI, each from its first call on.
    pub thread_s: f64,
    /// MPI time as a fraction of that.
    pub mpi_share: f64,
    /// Time between the calls of polling loops, as a fraction of that.
    pub polling_share: f64,
    /// The remaining time, as a fraction of that.
    pub useful_share: f64,
    /// Number of threads that called MPI.
    pub threads: usize,
    /// The individual threads.
    pub by_thread: Vec<ThreadReport>,
    /// Total number of dropped records.
    pub lost: u64,
    /// Dropped records by kind; also how many freed objects are no longer recorded.
    pub losses: BTreeMap<String, u64>,
    /// Bytes moved by all calls.
    pub bytes: u64,
    /// The part of them that left the process.
    pub sent: u64,
    /// The part of them that entered the process.
    pub received: u64,
    /// Completed calls by function name.
    pub calls: BTreeMap<String, Calls>,
    /// Problems of the layer.
    pub notes: Vec<String>,
}

/// A thread that called MPI.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadReport {
    /// Number of the thread, counted from zero in the order of first MPI calls. Threads that exist one after
    /// the other may share a number.
    pub thread: u64,
    /// Thread id; zero if it has ended.
    pub tid: u32,
    /// Whether it is the main thread.
    pub main: bool,
    /// Time since its first call.
    pub time_s: f64,
    /// Time in MPI as a fraction of that.
    pub mpi_share: f64,
    /// Time between the calls of polling loops, as a fraction of that.
    pub polling_share: f64,
    /// Number of completed calls.
    pub calls: u64,
    /// The call that was open at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_call: Option<String>,
    /// Seconds in that call.
    pub in_call_s: f64,
    /// If no call was open, the last one that had returned.
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
    /// Number of completed calls.
    pub count: u64,
    /// Seconds in them; none if they were not timed.
    pub time_s: Option<f64>,
    /// Bytes moved by them.
    pub bytes: u64,
    /// The part that left the process: messages, and data written to windows and files.
    pub sent: u64,
    /// The part that entered the process. Bytes of collectives count in neither part.
    pub received: u64,
    /// Number of calls whose time is estimated: of short calls that start a message, only one in sixteen is
    /// timed.
    pub estimated: u64,
}

impl Calls {
    /// Returns the seconds known to have been spent in them.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.time_s.unwrap_or(0.0)
    }
}

/// Adds two times; `None` if neither was measured.
#[must_use]
pub fn both_times(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

impl RankReport {
    /// Returns the calls of all threads that were open at the end.
    pub fn open_calls(&self) -> impl Iterator<Item = &String> {
        self.open_threads().filter_map(|thread| thread.in_call.as_ref())
    }

    /// Returns the threads that were in a call at the end.
    pub fn open_threads(&self) -> impl Iterator<Item = &ThreadReport> {
        self.by_thread.iter().filter(|thread| thread.in_call.is_some())
    }

    /// Returns the seconds in a function, including calls open at the end; `None` if its calls were not
    /// timed.
    pub fn time_in(&self, function: &str) -> Option<f64> {
        let calls = self.calls.get(function).copied().unwrap_or_default();
        let uncalled = (calls.count == 0).then_some(0.0);
        both_times(both_times(calls.time_s, self.time_open_in(function)), uncalled)
    }

    /// Returns the seconds in its calls that were open at the end; `None` if there were none.
    pub(in crate::performance::report) fn time_open_in(&self, function: &str) -> Option<f64> {
        let inside = self.by_thread.iter().filter(|thread| thread.in_call.as_deref() == Some(function));
        inside.map(|thread| Some(thread.in_call_s)).fold(None, both_times)
    }

    /// Returns the functions it called or was in at the end; one may occur twice.
    pub fn functions(&self) -> impl Iterator<Item = &String> {
        self.calls.keys().chain(self.open_calls())
    }
}
