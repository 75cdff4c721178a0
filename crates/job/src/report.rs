//! What was: the report of a job after (or during) its run.
//!
//! The schema of `report.json` is `mpiscope.report/1`; fields may be added, none changes its meaning.
//!
//! * `wall_s` of a rank: from entering `MPI_Init` to leaving `MPI_Finalize`, or to the end of the process, or to
//!   the last moment that is known.
//! * `mpi_s`: time in outermost calls, all threads together, with the call that was still open at the end.
//! * Efficiencies after the POP project: *useful* time of a rank is its wall time without the MPI time of its
//!   busiest thread; load balance is mean over maximum of the useful times, communication efficiency the maximum
//!   over the run time of the world, parallel efficiency their product.

use crate::leaks::{self, Leak, Site};
use crate::process::{Ending, Process, ThreadFacts};
use crate::rankset::RankSet;
use crate::worlds::{Members, Worlds};
use mpiscope_image::layout::AbiCode;
use serde::Serialize;
use std::collections::BTreeMap;

/// Name and version of the schema of `report.json`.
pub const SCHEMA: &str = "mpiscope.report/1";

/// A process, and what the one who started it saw of it.
#[derive(Debug)]
pub struct Observed {
    /// What the image says.
    pub process: Process,
    /// Rank that the launcher gave, for processes that never got as far as `MPI_Init`.
    pub launcher_rank: Option<u32>,
    /// Process id in the name space of the observer.
    pub pid: u32,
    /// When the process ended, nanoseconds of `CLOCK_MONOTONIC`; `None` while it lives.
    pub ended_ns: Option<u64>,
    /// How it ended.
    pub ending: Option<Ending>,
    /// Objects that were not freed when `MPI_Finalize` returned, by the place that made them.
    pub leaks: Vec<Site>,
}

/// Calls of one function on one rank.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize)]
pub struct Calls {
    /// Completed calls.
    pub count: u64,
    /// Seconds in them.
    pub time_s: f64,
    /// Bytes that the arguments named.
    pub bytes: u64,
}

/// One rank.
#[derive(Debug, Clone, Serialize)]
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
    /// Whether the process was still there when the report was made.
    pub alive: bool,
    /// Error code of `MPI_Abort`.
    pub abort_code: Option<i32>,
    /// The call that was open at the end.
    pub in_call: Option<String>,
    /// If none was open, the call that had returned last; none after `MPI_Finalize`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_call: Option<String>,
    /// Seconds in the open call; part of `mpi_s`, not of `calls`, which are completed calls.
    pub in_call_s: f64,
    /// See the module.
    pub wall_s: f64,
    /// See the module.
    pub mpi_s: f64,
    /// MPI time of the thread that had most.
    pub main_mpi_s: f64,
    /// Threads that called MPI.
    pub threads: usize,
    /// All lost records.
    pub lost: u64,
    /// Lost records by kind; also how many freed objects are no longer known.
    pub losses: BTreeMap<String, u64>,
    /// What the layer cost, in seconds.
    pub own_s: f64,
    /// Bytes of all calls.
    pub bytes: u64,
    /// By name of the function.
    pub calls: BTreeMap<String, Calls>,
    /// What the layer could not do.
    pub notes: Vec<String>,
}

/// A process that never called MPI.
#[derive(Debug, Clone, Serialize)]
pub struct Silent {
    /// Rank that the launcher gave.
    pub rank: Option<u32>,
    /// Process id.
    pub pid: u32,
    /// How it ended, if seen.
    pub ending: Option<Ending>,
}

/// One function over all ranks.
#[derive(Debug, Clone, Serialize)]
pub struct FunctionReport {
    /// Its name.
    pub name: String,
    /// Sums over the ranks; the time includes calls that were open at the end.
    pub total: Calls,
    /// Least time on a rank.
    pub min: Extreme,
    /// Most time on a rank.
    pub max: Extreme,
}

/// The time of one rank.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize)]
pub struct Extreme {
    /// Seconds.
    pub time_s: f64,
    /// Which of [`JobReport::worlds`].
    pub world: usize,
    /// The rank there, if known.
    pub rank: Option<u32>,
}

/// A world: the ranks that began together.
#[derive(Debug, Clone, Serialize)]
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
pub struct HostReport {
    /// Name.
    pub host: String,
    /// Ranks there.
    pub ranks: Members,
}

/// A job.
#[derive(Debug, Clone, Serialize)]
pub struct JobReport {
    /// [`SCHEMA`].
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
    /// MPI time over wall time, over all ranks, 0 to 1.
    pub mpi_share: Option<f64>,
    /// See the module.
    pub load_balance: Option<f64>,
    /// See the module.
    pub communication_efficiency: Option<f64>,
    /// See the module.
    pub parallel_efficiency: Option<f64>,
    /// Bytes that the arguments of all calls named.
    pub bytes: u64,
    /// Lost records of all ranks.
    pub lost: u64,
    /// Cost of the layer, summed over the ranks, in seconds.
    pub own_s: f64,
    /// By world and rank.
    pub ranks: Vec<RankReport>,
    /// By time (by count when times were not recorded), most first.
    pub functions: Vec<FunctionReport>,
    /// Processes that were started under the layer and never called MPI.
    pub silent: Vec<Silent>,
    /// What the layers could not do: sentence and the ranks that said so.
    pub notes: Vec<(String, Members)>,
    /// Objects that were not freed when `MPI_Finalize` returned, by the place that made them, most first.
    pub leaks: Vec<Leak>,
}

impl JobReport {
    /// Joins the processes of a job. `command` is what the user typed.
    pub fn new(command: String, mut observed: Vec<Observed>) -> Self {
        let silent = observed.extract_if(.., |o| !o.process.called_mpi()).map(|o| Silent {
            rank: o.launcher_rank,
            pid: o.pid,
            ending: o.ending,
        });
        let silent: Vec<Silent> = silent.collect();
        let worlds = Worlds::of(observed.iter().map(|o| &o.process));
        observed.sort_by_key(|o| {
            let p = &o.process;
            (worlds.number(&p.world), p.rank.is_none(), p.rank, p.begin_ns)
        });
        let ranks: Vec<RankReport> = observed.iter().map(|o| rank_report(o, &worlds)).collect();
        let first = observed.first().map(|o| &o.process);
        let times = observed.iter().any(|o| o.process.times);
        let mut report = Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            command,
            library: first.map_or_else(String::new, |p| p.library.clone()),
            abi: first.map_or(AbiCode::UNKNOWN, |p| p.abi).name().unwrap_or("unknown").to_owned(),
            mpi_version: first
                .map_or_else(String::new, |p| format!("{}.{}", p.mpi_version.0, p.mpi_version.1)),
            size: first.and_then(|p| p.size).unwrap_or(0),
            worlds: world_reports(&observed),
            hosts: hosts(&ranks),
            wall_s: ranks.iter().map(|r| r.wall_s).fold(0.0, f64::max),
            times,
            mpi_share: None,
            load_balance: None,
            communication_efficiency: None,
            parallel_efficiency: None,
            bytes: ranks.iter().fold(0, |sum, r| sum.saturating_add(r.bytes)),
            lost: ranks.iter().fold(0, |sum, r| sum.saturating_add(r.lost)),
            own_s: ranks.iter().map(|r| r.own_s).sum(),
            functions: functions(&ranks, times),
            silent,
            notes: joined_notes(&ranks),
            leaks: leaks::join(
                observed
                    .iter()
                    .map(|o| (worlds.number(&o.process.world), o.process.rank, o.leaks.as_slice())),
            ),
            ranks,
        };
        if times {
            report.rate();
        }
        report
    }

    /// Share and efficiencies.
    fn rate(&mut self) {
        let wall: f64 = self.ranks.iter().map(|r| r.wall_s).sum();
        let thread_mpi: f64 = self.ranks.iter().map(|r| r.main_mpi_s).sum();
        let useful: Vec<f64> = self.ranks.iter().map(|r| (r.wall_s - r.main_mpi_s).max(0.0)).collect();
        let most = useful.iter().copied().fold(0.0, f64::max);
        if wall <= 0.0 {
            return;
        }
        self.mpi_share = Some((thread_mpi / wall).min(1.0));
        // A job that was in MPI all the time did nothing that could be balanced.
        if most <= 0.0 {
            return;
        }
        let balance = useful.iter().sum::<f64>() / useful.len() as f64 / most;
        let communication = (most / self.wall_s).min(1.0);
        self.load_balance = Some(balance);
        self.communication_efficiency = Some(communication);
        self.parallel_efficiency = Some(balance * communication);
    }
}

/// Of processes that are sorted by world.
fn world_reports(observed: &[Observed]) -> Vec<WorldReport> {
    let same = |a: &Observed, b: &Observed| a.process.world == b.process.world;
    let world = |members: &[Observed]| WorldReport {
        name: members.first().map_or_else(String::new, |o| o.process.world.clone()),
        size: members.iter().find_map(|o| o.process.size).unwrap_or(0),
        ranks: members.iter().filter_map(|o| o.process.rank).collect(),
    };
    observed.chunk_by(same).map(world).collect()
}

fn rank_report(observed: &Observed, worlds: &Worlds) -> RankReport {
    let p = &observed.process;
    let end_ns = p.finalized_ns.or(observed.ended_ns).unwrap_or(p.clock.end_ns());
    let times: Vec<f64> = p.threads.iter().map(|t| mpi_seconds(p, t, end_ns)).collect();
    let calls = calls(p);
    let count: u64 = p.threads.iter().map(|t| t.calls).fold(0, u64::saturating_add);
    let wall_s = end_ns.saturating_sub(p.begin_ns) as f64 / 1e9;
    let open = p.threads.iter().filter(|_| !p.finalized()).find_map(|t| Some((t, t.call.as_ref()?)));
    let last = p.threads.iter().filter(|t| t.last.is_some()).max_by_key(|t| t.since);
    let last = last.and_then(|t| t.last.as_ref());
    RankReport {
        rank: p.rank.or(observed.launcher_rank),
        host: p.host.clone(),
        pid: p.pid,
        world: p.world.clone(),
        world_number: worlds.number(&p.world),
        state: format!("{:?}", p.state),
        finalized: p.finalized(),
        ending: observed.ending,
        alive: observed.ended_ns.is_none(),
        abort_code: p.abort_code,
        in_call: open.map(|(_, c)| p.called(c)),
        last_call: last.filter(|_| open.is_none() && !p.finalized()).map(|c| p.called(c)),
        in_call_s: open.map_or(0.0, |(t, _)| open_seconds(p, t, end_ns)),
        wall_s,
        mpi_s: times.iter().sum(),
        main_mpi_s: times.iter().copied().fold(0.0, f64::max).min(wall_s),
        threads: p.threads.len(),
        lost: p.lost(),
        losses: p.losses.clone(),
        own_s: p.own_s + count as f64 * p.own_s_per_call,
        bytes: calls.values().fold(0, |sum, c| sum.saturating_add(c.bytes)),
        calls,
        notes: p.notes.clone(),
    }
}

/// Seconds of a thread in outermost calls, with the call that is open at `end_ns`.
fn mpi_seconds(process: &Process, thread: &ThreadFacts, end_ns: u64) -> f64 {
    process.clock.seconds(thread.mpi_ticks) + open_seconds(process, thread, end_ns)
}

fn open_seconds(process: &Process, thread: &ThreadFacts, end_ns: u64) -> f64 {
    if thread.call.is_none() || thread.since == 0 || process.finalized() {
        return 0.0;
    }
    end_ns.saturating_sub(process.clock.ns_at(thread.since)) as f64 / 1e9
}

fn calls(process: &Process) -> BTreeMap<String, Calls> {
    let mut calls: BTreeMap<String, Calls> = BTreeMap::new();
    for (number, count, ticks, bytes) in process.threads.iter().flat_map(|t| &t.counters) {
        let entry = calls.entry(process.function(*number)).or_default();
        entry.count = entry.count.saturating_add(*count);
        entry.time_s += process.clock.seconds(*ticks);
        entry.bytes = entry.bytes.saturating_add(*bytes);
    }
    calls
}

fn functions(ranks: &[RankReport], times: bool) -> Vec<FunctionReport> {
    let mut names: Vec<&String> = ranks.iter().flat_map(|r| r.calls.keys().chain(&r.in_call)).collect();
    names.sort();
    names.dedup();
    let mut functions: Vec<FunctionReport> = names.into_iter().map(|name| function(name, ranks)).collect();
    functions.sort_by(|a, b| {
        let by_time =
            if times { b.total.time_s.total_cmp(&a.total.time_s) } else { std::cmp::Ordering::Equal };
        by_time.then(b.total.count.cmp(&a.total.count))
    });
    functions
}

/// A rank that never called the function spent no time in it, and counts as such.
fn function(name: &str, ranks: &[RankReport]) -> FunctionReport {
    let mut total = Calls::default();
    let mut per_rank = Vec::new();
    for rank in ranks {
        let calls = rank.calls.get(name).copied().unwrap_or_default();
        let open = if rank.in_call.as_deref() == Some(name) { rank.in_call_s } else { 0.0 };
        let time_s = calls.time_s + open;
        total.count = total.count.saturating_add(calls.count);
        total.time_s += time_s;
        total.bytes = total.bytes.saturating_add(calls.bytes);
        per_rank.push(Extreme { time_s, world: rank.world_number, rank: rank.rank });
    }
    let min = per_rank.iter().copied().min_by(|a, b| a.time_s.total_cmp(&b.time_s)).unwrap_or_default();
    let max = per_rank.iter().rev().copied().max_by(|a, b| a.time_s.total_cmp(&b.time_s)).unwrap_or_default();
    FunctionReport { name: name.to_owned(), total, min, max }
}

fn hosts(ranks: &[RankReport]) -> Vec<HostReport> {
    let mut hosts: BTreeMap<&str, Members> = BTreeMap::new();
    for rank in ranks {
        hosts.entry(&rank.host).or_default().add(rank.world_number, rank.rank);
    }
    let mut hosts: Vec<HostReport> =
        hosts.into_iter().map(|(host, ranks)| HostReport { host: host.to_owned(), ranks }).collect();
    hosts.sort_by_key(|h| h.ranks.first());
    hosts
}

fn joined_notes(ranks: &[RankReport]) -> Vec<(String, Members)> {
    let mut notes: BTreeMap<&String, Members> = BTreeMap::new();
    for rank in ranks {
        for note in &rank.notes {
            notes.entry(note).or_default().add(rank.world_number, rank.rank);
        }
    }
    notes.into_iter().map(|(text, ranks)| (text.clone(), ranks)).collect()
}
