//! What was: the report of a job after (or during) its run.
//!
//! The schema of `report.json` is `mpiscope.report/1`; fields may be added, none changes its meaning.
//!
//! * `wall_s` of a rank: from entering `MPI_Init` to leaving `MPI_Finalize`, or to the end of the process, or to
//!   the last moment that is known.
//! * `mpi_s`: time in outermost calls, all threads together, with the calls that were still open at the end.
//! * Shares, of a thread, a rank and the job, are those of [`mpiscope_image::derive::shares`]: of the time of the threads
//!   that call MPI, never above 1.
//! * Efficiencies after the POP project: *useful* time of a rank is its wall time times the share that is neither MPI nor
//!   polling; load balance is mean over maximum of the useful times, communication efficiency the maximum over the run
//!   time of the world, parallel efficiency their product. Communication efficiency is the product of transfer efficiency, the greatest sum of
//!   useful time and waiting for others over the run time, and serialisation efficiency, the greatest useful time over that sum: waiting
//!   inside of MPI that late partners explain is serialisation, all other time in MPI is transfer.

mod crowded;
pub mod facts;
mod functions;
pub mod of_job;
mod peers;
pub mod sections;

use crate::base::rankset::RankSet;
use crate::base::total::total;
use crate::jobs::spawned;
use crate::jobs::worlds::{self, Members, Worlds};
use crate::model::locate::Locate;
use crate::model::process::{Ending, Process, ThreadFacts};
use crate::observation::{LastLook, Observation};
use crate::performance::monitor::Followed;
use crate::performance::monitor::windows::Windows;
use crate::performance::report::facts::Facts;
pub use crate::performance::report::functions::{Extreme, FunctionReport};
use crate::performance::report::functions::{calls, functions};
use crate::performance::report::sections::{Part, Sections};
use crate::performance::sites::{self, JobSites};
use crate::performance::waits::{self, Waits};
use crate::questions::findings::{self, Finding};
use crate::questions::leaks::{self, Leak, Site};
use mpi_abi::AbiKind;
use mpiscope_image::derive::{Share, Window, shares};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

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
    /// What the clock of the one who reports is ahead of that, in nanoseconds.
    pub later_ns: i64,
    /// How it ended.
    pub ending: Option<Ending>,
    /// The core file that it left.
    pub core: Option<PathBuf>,
    /// Objects that were not freed when `MPI_Finalize` returned, by the place that made them.
    pub leaks: Vec<Site>,
    /// What its records say, for findings.
    pub observation: Option<Observation>,
    /// What they say beside, for sections.
    pub facts: Facts,
}

impl Observed {
    /// Takes what was observed of it, with when that was: nobody will look again.
    fn last(&mut self) -> Option<Observation> {
        let mut seen = self.observation.take()?;
        let looked_ns = self.process.clock.end_ns();
        // The clock of another host is known at the end of its processes.
        let known = self.ended_ns.is_some() || seen.clock_error_ns.is_none();
        let ours = |ns: u64| ns.saturating_add_signed(self.later_ns);
        let ended_ns = self.ended_ns.unwrap_or(looked_ns).min(looked_ns);
        seen.last = known.then(|| LastLook { looked_ns: ours(looked_ns), ended_ns: ours(ended_ns) });
        Some(seen)
    }
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
    /// See the module.
    pub wall_s: f64,
    /// See the module.
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
    /// See [`RankReport`].
    pub mpi_share: f64,
    /// See [`RankReport`].
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
    /// See the module.
    pub load_balance: Option<f64>,
    /// See the module.
    pub communication_efficiency: Option<f64>,
    /// See the module.
    pub parallel_efficiency: Option<f64>,
    /// See the module; none of a job that was not followed while it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serialisation_efficiency: Option<f64>,
    /// See the module.
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

impl RankReport {
    /// The calls that were open at the end, of all threads.
    pub fn open_calls(&self) -> impl Iterator<Item = &String> {
        self.open_threads().filter_map(|thread| thread.in_call.as_ref())
    }

    /// The threads that were in a call at the end.
    pub fn open_threads(&self) -> impl Iterator<Item = &ThreadReport> {
        self.by_thread.iter().filter(|thread| thread.in_call.is_some())
    }
}

/// Gives processes that did not pass `MPI_Init` the name of the world that they would have been in.
pub(crate) fn settle(observed: &mut [Observed]) {
    worlds::settle(&mut observed.iter_mut().map(|one| &mut one.process).collect::<Vec<_>>());
    for one in observed {
        one.observation.iter_mut().for_each(|seen| seen.world.clone_from(&one.process.world));
    }
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

    /// Joins the processes of a job. `command` is what the user typed.
    pub fn new(command: String, observed: Vec<Observed>) -> Self {
        Self::followed(command, observed, None)
    }

    /// The same of a job that was followed while it ran; the symbols are for what was noted then.
    pub fn followed(
        command: String,
        mut observed: Vec<Observed>,
        seen: Option<(&Followed, &dyn Locate)>,
    ) -> Self {
        let silent = observed.extract_if(.., |o| !o.process.called_mpi()).map(|o| Silent {
            rank: o.launcher_rank,
            host: Some(o.process.host).filter(|host| !host.is_empty()),
            pid: o.pid,
            ending: o.ending,
        });
        let mut silent: Vec<Silent> = silent.collect();
        silent.sort_by_key(|one| (one.rank.is_none(), one.rank, one.pid));
        settle(&mut observed);
        let worlds = Worlds::of(observed.iter().map(|o| &o.process));
        observed.sort_by_key(|o| {
            let p = &o.process;
            (worlds.number(&p.world), p.rank.is_none(), p.rank, p.begin_ns)
        });
        let observations: Vec<Observation> = observed.iter_mut().filter_map(Observed::last).collect();
        let sites =
            observed.iter().map(|o| (worlds.number(&o.process.world), o.process.rank, o.leaks.as_slice()));
        let leaks = leaks::join(sites);
        let sites =
            observed.iter().map(|o| (worlds.number(&o.process.world), o.process.rank, &o.facts.call_sites));
        let call_sites = sites::join(sites);
        let ranks: Vec<RankReport> = observed.iter().map(|o| rank_report(o, &worlds)).collect();
        // What a process called its world while it was in MPI_Init is not what the world is called.
        let by_process: BTreeMap<(&str, u32), &str> = observed
            .iter()
            .map(|o| ((o.process.host.as_str(), o.process.pid), o.process.world.as_str()))
            .collect();
        let number = |world: &str, host: &str, pid: u32| match worlds.number(world) {
            number if worlds.has(number) => number,
            _ => worlds.number(by_process.get(&(host, pid)).copied().unwrap_or(world)),
        };
        let first = observed.first().map(|o| &o.process);
        let times = observed.iter().any(|o| o.process.times);
        let mut report = Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            command,
            library: first.map_or_else(String::new, |p| p.library.clone()),
            abi: first.map_or(AbiKind::UNKNOWN, |p| p.abi).name().to_owned(),
            mpi_version: first
                .map_or_else(String::new, |p| format!("{}.{}", p.mpi_version.0, p.mpi_version.1)),
            size: first.and_then(|p| p.size).unwrap_or(0),
            worlds: world_reports(&observed),
            hosts: hosts(&ranks),
            wall_s: ranks.iter().map(|r| r.wall_s).fold(0.0, f64::max),
            times,
            thread_s: total(ranks.iter().map(|r| r.thread_s)),
            mpi_share: None,
            polling_share: None,
            load_balance: None,
            communication_efficiency: None,
            parallel_efficiency: None,
            serialisation_efficiency: None,
            transfer_efficiency: None,
            bytes: ranks.iter().fold(0, |sum, r| sum.saturating_add(r.bytes)),
            sent: ranks.iter().fold(0, |sum, r| sum.saturating_add(r.sent)),
            received: ranks.iter().fold(0, |sum, r| sum.saturating_add(r.received)),
            lost: ranks.iter().fold(0, |sum, r| sum.saturating_add(r.lost)),
            functions: functions(&ranks, times),
            call_sites,
            waits: match seen {
                Some((seen, symbols)) => seen.waits(&observations, time(&ranks), symbols),
                None => waits::of(&observations, time(&ranks)),
            },
            windows: seen.and_then(|(seen, _)| seen.windows(|world, host, pid| number(world, host, pid))),
            not_followed: None,
            silent,
            first_end: first_end(&ranks),
            notes: joined_notes(&ranks),
            findings: findings::findings(&observations, &leaks),
            leaks,
            sections: Sections::new(&observations, &parts(&observed, &worlds), &worlds),
            ranks,
        };
        if times {
            report.rate();
        }
        let spawned = observed.iter().flat_map(|o| o.facts.spawned.iter().cloned()).collect();
        let seen = observed.iter().map(|o| o.process.world.as_str());
        let nobody = std::iter::repeat_n("", report.silent.len());
        let unseen = spawned::unseen(&spawned, seen.chain(nobody));
        report.notes.extend(unseen.map(|text| (text, Members::default())));
        report
    }

    /// Share and efficiencies.
    fn rate(&mut self) {
        let wall: f64 = self.ranks.iter().map(|r| r.wall_s).sum();
        let threads: f64 = self.ranks.iter().map(|r| r.thread_s).sum();
        let part = |share: fn(&RankReport) -> f64| {
            (self.ranks.iter().map(|r| share(r) * r.thread_s).sum::<f64>() / threads).min(1.0)
        };
        let useful: Vec<f64> = self.ranks.iter().map(|r| r.wall_s * r.useful_share).collect();
        if wall <= 0.0 || threads <= 0.0 {
            return;
        }
        (self.mpi_share, self.polling_share) = (Some(part(|r| r.mpi_share)), Some(part(|r| r.polling_share)));
        if let Some(found) = Efficiencies::of(&useful, self.wall_s) {
            self.load_balance = Some(found.load_balance);
            self.communication_efficiency = Some(found.communication);
            self.parallel_efficiency = Some(found.parallel);
            let split = self.waited().and_then(|waits| found.split(&useful, &waits, self.wall_s));
            self.serialisation_efficiency = split.map(|(serialisation, _)| serialisation);
            self.transfer_efficiency = split.map(|(_, transfer)| transfer);
        }
    }

    /// How long each rank waited for others, if all were looked at while they ran.
    fn waited(&self) -> Option<Vec<f64>> {
        let windows = self.windows.as_ref()?;
        let known: BTreeMap<&str, f64> =
            windows.ranks.iter().map(String::as_str).zip(windows.waited_s.iter().copied()).collect();
        let name = |rank: &RankReport| Members::from_iter([(rank.world_number, rank.rank)]).to_string();
        self.ranks.iter().map(|rank| known.get(name(rank).as_str()).copied()).collect()
    }
}

/// How well ranks worked together, after the POP project: see the module.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Efficiencies {
    /// Mean over maximum of the useful times.
    pub load_balance: f64,
    /// The maximum over the time that passed.
    pub communication: f64,
    /// The product.
    pub parallel: f64,
}

impl Efficiencies {
    /// From the useful time of every rank and the time that passed. A job that was in MPI all the time did nothing that could be
    /// balanced.
    #[must_use]
    pub fn of(useful: &[f64], wall_s: f64) -> Option<Self> {
        let most = useful.iter().copied().fold(0.0, f64::max);
        if most <= 0.0 || wall_s <= 0.0 {
            return None;
        }
        let load_balance = useful.iter().sum::<f64>() / useful.len() as f64 / most;
        let communication = (most / wall_s).min(1.0);
        Some(Self { load_balance, communication, parallel: load_balance * communication })
    }

    /// What the communication efficiency is made of, given how long each rank waited for others inside of MPI: serialisation, the
    /// part that is left if nothing but that waiting is lost, and transfer, the rest.
    #[must_use]
    pub fn split(&self, useful: &[f64], waits: &[f64], wall_s: f64) -> Option<(f64, f64)> {
        // On an ideal network nothing is transferred: what is left is work, and waiting for the work of others.
        let ideal = useful.iter().zip(waits).map(|(useful, waits)| useful + waits).fold(0.0, f64::max);
        let transfer = (ideal / wall_s).min(1.0);
        (useful.len() == waits.len() && transfer > 0.0)
            .then(|| ((self.communication / transfer).min(1.0), transfer))
    }
}

fn parts<'a>(observed: &'a [Observed], worlds: &Worlds) -> Vec<Part<'a>> {
    let part = |one: &'a Observed| {
        let process = &one.process;
        let world = worlds.number(&process.world);
        Part { world, rank: process.rank.or(one.launcher_rank), host: &process.host, facts: &one.facts }
    };
    observed.iter().map(part).collect()
}

/// What waits are parts of.
fn time(ranks: &[RankReport]) -> waits::Time {
    let waiting =
        |(name, calls): (&String, &Calls)| if waits::can_wait(name) { calls.seconds() } else { 0.0 };
    let collective = |(name, calls): (&String, &Calls)| {
        if waits::is_collective_that_waits(name) { calls.seconds() } else { 0.0 }
    };
    waits::Time {
        threads: total(ranks.iter().map(|rank| rank.thread_s)),
        waiting: total(ranks.iter().flat_map(|rank| rank.calls.iter().map(waiting))),
        collectives: total(ranks.iter().flat_map(|rank| rank.calls.iter().map(collective))),
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
    let window = p.window(end_ns);
    let share = Share::of_rank(p.views(), window);
    let place = |at: usize| observed.facts.places.get(at).cloned().flatten();
    let threads = p.threads.iter().enumerate();
    let by_thread: Vec<ThreadReport> =
        threads.map(|(at, t)| thread_report(p, t, window, place(at))).collect();
    let times = by_thread.iter().map(|t| t.mpi_share * t.time_s);
    let calls = calls(p);
    let wall_s = end_ns.saturating_sub(p.begin_ns) as f64 / 1e9;
    let open = by_thread.iter().filter(|t| t.in_call.is_some()).max_by_key(|t| t.main);
    let last = p.last().filter(|t| t.last.is_some() && !p.finalized());
    let last_report = last.and_then(|last| by_thread.iter().find(|t| t.thread == last.index));
    RankReport {
        rank: p.rank.or(observed.launcher_rank),
        host: p.host.clone(),
        pid: p.pid,
        world: p.world.clone(),
        world_number: worlds.number(&p.world),
        state: format!("{:?}", p.state),
        finalized: p.finalized(),
        ending: observed.ending,
        ended_ns: observed.ended_ns.map(|ns| ns.saturating_add_signed(observed.later_ns)),
        core: observed.core.clone(),
        alive: observed.ended_ns.is_none(),
        abort_code: p.abort_code,
        in_call: open.and_then(|t| t.in_call.clone()),
        last_call: last_report.and_then(|t| t.last_call.clone()),
        call_place: open.or(last_report).and_then(|t| t.call_place.clone()),
        in_call_s: open.map_or(0.0, |t| t.in_call_s),
        wall_s,
        mpi_s: p.clock.seconds(share.mpi),
        main_mpi_s: times.fold(0.0, f64::max).min(wall_s),
        thread_s: p.clock.seconds(share.time),
        mpi_share: share.mpi_share(),
        polling_share: share.polling_share(),
        useful_share: share.useful_share(),
        threads: p.threads.len(),
        by_thread,
        lost: p.lost(),
        losses: p.losses.clone(),
        bytes: calls.values().fold(0, |sum, c| sum.saturating_add(c.bytes)),
        sent: calls.values().fold(0, |sum, c| sum.saturating_add(c.sent)),
        received: calls.values().fold(0, |sum, c| sum.saturating_add(c.received)),
        calls,
        notes: p.notes.clone(),
    }
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

/// Ends that are nearer than this were seen at once: their order is chance.
const AT_ONCE_NS: u64 = 500_000;

fn first_end(ranks: &[RankReport]) -> Option<FirstEnd> {
    let bad = |rank: &&RankReport| !rank.finalized || rank.ending.is_some_and(|end| end != Ending::Exit(0));
    let ended = ranks.iter().filter(bad).filter_map(|rank| Some((rank.ended_ns?, rank)));
    let mut ended: Vec<(u64, &RankReport)> = ended.collect();
    if ended.len() < 2 {
        return None;
    }
    // A launcher kills the others, and may be seen to before the kernel has done with the one that began.
    if ended.iter().any(|(_, rank)| rank.failed_itself()) {
        ended.retain(|(_, rank)| rank.failed_itself());
    }
    ended.sort_by_key(|(at, _)| *at);
    let (first, rank) = ended.first()?;
    let before = ended.get(1).map(|(second, _)| second.saturating_sub(*first));
    before.is_none_or(|ns| ns >= AT_ONCE_NS).then(|| FirstEnd {
        rank: rank.rank,
        world_number: rank.world_number,
        before_s: before.map(|ns| ns as f64 / 1e9),
    })
}

impl RankReport {
    /// Its end was its own doing: no signal that others send.
    fn failed_itself(&self) -> bool {
        let from_outside =
            [libc::SIGKILL, libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGPIPE].map(Ending::Signal);
        self.abort_code.is_some() || self.ending.is_some_and(|ending| !from_outside.contains(&ending))
    }
}

fn thread_report(
    process: &Process,
    thread: &ThreadFacts,
    window: Window,
    place: Option<String>,
) -> ThreadReport {
    let share = Share::of_thread(thread.view(), window);
    let open = thread.call.as_ref().filter(|_| !process.finalized());
    let last = thread.last.as_ref().filter(|_| !process.finalized());
    ThreadReport {
        thread: thread.index,
        tid: thread.tid,
        main: process.main().is_some_and(|main| main.index == thread.index),
        time_s: process.clock.seconds(share.time),
        mpi_share: share.mpi_share(),
        polling_share: share.polling_share(),
        calls: thread.calls,
        in_call: open.map(|call| process.called(call)),
        in_call_s: open.map_or(0.0, |_| process.clock.seconds(shares::open(thread.view(), window.end))),
        last_call: last.map(|call| process.called(call)),
        call_place: place.filter(|_| open.or(last).is_some()),
    }
}

fn hosts(ranks: &[RankReport]) -> Vec<HostReport> {
    let mut hosts: BTreeMap<&str, Members> = BTreeMap::new();
    for rank in ranks {
        hosts.entry(&rank.host).or_default().add(rank.world_number, rank.rank);
    }
    let mut hosts: Vec<HostReport> = hosts
        .into_iter()
        .map(|(host, ranks)| HostReport {
            host: host.to_owned(),
            ranks,
            clock_later_s: None,
            clock_error_s: None,
        })
        .collect();
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
