//! Observes the processes of a job on this host without stopping them.

use super::earlier::{Earlier, PAUSES, has};
use crate::jobs::acquire::ProcessLocation;
use crate::jobs::evidence::{About, ProcessEnd, Symbols};
use crate::jobs::job::Job;
use crate::jobs::job_image::{ImageId, JobImage};
use crate::jobs::parallel_images::each_image;
use crate::jobs::silent::{self, Silent};
use crate::jobs::worlds::{self, Member};
use crate::model::locate::Locate;
use crate::model::process::Process;
use crate::model::process_end::BadEnd;
use crate::model::python;
use crate::model::rank::{Rank, SymbolContext};
use crate::observation::{Context, Observation, Stage, Thread, observe, share_names};
use crate::questions::stacks::asleep::{Asleep, Asleeps, awaits_signals};
use crate::questions::stacks::locked;
use mpiscope_image::Source;
use mpiscope_image::layout::State;
use mpiscope_target::procfs::{self, Stat, StatusLines};
use mpiscope_target::{Files, Live, Symbolizer};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// The result of observing the processes of a job on this host once.
#[derive(Debug, Default)]
pub struct Look {
    /// The observations.
    pub observations: Vec<Observation>,
    /// Processes that could not be read, and why.
    pub errors: Vec<String>,
}

/// How far the processes of a job, or those of it on one host, have got.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Number of calls they have completed, excluding those of polling loops. Meaningful only in that it
    /// changes.
    pub calls: u64,
    /// The processes that have not ended.
    pub living: BTreeSet<ImageId>,
    /// The longest time for which one of the living processes has neither begun nor completed a call, as in
    /// [`stood`].
    pub stalled: Duration,
}

impl Progress {
    /// Combines the progress of two sets of processes.
    #[must_use]
    pub fn and(mut self, mut other: Self) -> Self {
        self.living.append(&mut other.living);
        let stalled = self.stalled.max(other.stalled);
        Self { calls: self.calls.wrapping_add(other.calls), stalled, ..self }
    }
}

/// Returns the current progress; `None` if no image can be read.
pub fn progress(job: &Job) -> Option<Progress> {
    let of_one = |found: &JobImage| {
        let moment = found.moment();
        let process = Process::read(&found.open().ok()?, Some(moment)).ok()?;
        let calls = process.threads.iter().map(|thread| u64::from(process.steps(thread)));
        let living = found.alive(found.host_pid(process.pid)).then(|| found.id(&process.host)).flatten();
        let stalled = living.as_ref().and_then(|_| stalled(&process, moment.monotonic_ns));
        Some(Progress {
            calls: calls.fold(0, u64::wrapping_add),
            living: living.into_iter().collect(),
            stalled: stalled.unwrap_or_default(),
        })
    };
    job.images.iter().filter_map(of_one).reduce(Progress::and)
}

/// Returns how long none of its processes that [lived](Job::as_it_was) has begun or completed a call,
/// excluding those of polling loops; measured up to now or to the process's end.
pub fn stood(job: &Job) -> Option<Duration> {
    let of_one = |found: &JobImage| {
        let moment = found.moment();
        let process = Process::read(&found.open().ok()?, Some(moment)).ok()?;
        let ended_ns = found.end.as_ref().and_then(|end| end.ended_ns);
        stalled(&process, ended_ns.unwrap_or(moment.monotonic_ns))
    };
    job.images.iter().filter(|image| image.lived).filter_map(of_one).min()
}

/// Returns for how long, up to `now_ns`, no thread of a process has begun or completed a call, excluding those
/// of polling loops.
fn stalled(process: &Process, now_ns: u64) -> Option<Duration> {
    let last = process.threads.iter().map(|thread| process.asking_since(thread).unwrap_or(thread.since));
    let last_ns = last.filter(|ticks| *ticks != 0).map(|ticks| process.clock.ns_at(ticks)).max()?;
    Some(Duration::from_nanos(now_ns.saturating_sub(last_ns)))
}

/// Observes all processes of a job on this host.
pub fn look(job: &Job, symbols: &dyn Locate) -> Look {
    let places = &Places::default();
    let mut look = Look::default();
    let kept = |found: &JobImage, own: &Symbols| one(found, own, &Places::default());
    let seen = each_image(job, kept, |found| one(found, symbols, places));
    for (found, seen) in job.images.iter().zip(seen) {
        match seen {
            Ok(observation) => look.observations.push(observation),
            // It has ended since the list was made.
            Err(_) if !found.held() => {}
            Err(error) => look.errors.push(error.to_string()),
        }
    }
    look.add_silent(job, places);
    settle(&mut look.observations);
    look
}

impl Look {
    /// Adds the ranks on this host that have not called MPI, if ranks are missing.
    fn add_silent(&mut self, job: &Job, places: &Places) {
        if !self.lacks_ranks() {
            return;
        }
        let called = |one: &&Observation| one.stage != Stage::Silent;
        let is_it = |one: &Observation, host: &str, rank, pid| {
            one.rank == Some(rank) || (one.pid == pid && one.host == host)
        };
        let has_called = |host: &str, rank, pid| {
            self.observations.iter().filter(called).any(|one| is_it(one, host, rank, pid))
        };
        let silent = silent_ranks(job, places, has_called);
        // All that was known of these is that they exist.
        let place = |one: &Observation| ProcessLocation { host: one.host.clone(), pid: one.pid };
        self.observations
            .retain(|one| one.rank.is_some() || !silent.iter().any(|silent| silent.is(&place(one))));
        self.observations.extend(silent.into_iter().map(|silent| Observation {
            job: job.name.clone(),
            rank: Some(silent.rank),
            host: silent.host,
            pid: silent.pid,
            threads: vec![Thread { doing: silent.doing, at: silent.at, ..Thread::default() }],
            ..Observation::default()
        }));
    }

    /// Whether a world has more ranks than were observed.
    fn lacks_ranks(&self) -> bool {
        let mut worlds: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        for one in &self.observations {
            let (seen, size) = worlds.entry(&one.world).or_default();
            *seen += u32::from(one.rank.is_some());
            *size = (*size).max(one.size.unwrap_or(u32::MAX));
        }
        worlds.values().any(|(seen, size)| seen < size)
    }
}

/// Assigns processes that have not passed `MPI_Init` to the world they will belong to, and gives shared objects the
/// same label everywhere.
pub fn settle(observations: &mut [Observation]) {
    worlds::settle(&mut observations.iter_mut().collect::<Vec<_>>());
    share_names(observations);
}

impl Member for Observation {
    fn world(&mut self) -> &mut String {
        &mut self.world
    }

    fn rank(&self) -> Option<u32> {
        self.rank
    }

    fn size(&self) -> Option<u32> {
        self.size
    }

    fn stage(&self) -> Stage {
        self.stage
    }
}

fn one(found: &JobImage, symbols: &dyn Locate, places: &Places) -> Result<Observation, crate::Error> {
    let Some((image, process)) = found.read(&places.files)? else {
        let ProcessLocation { host, pid } = found.untouched();
        return Ok(Observation { stage: Stage::Silent, host, pid, ..Observation::default() });
    };
    let context = SymbolContext::new(&process, symbols);
    let rank = Rank::new(&image, &process, &context);
    let mut seen = match found.about() {
        Some(about) => observe_kept(&rank, about, found.alive(process.pid)),
        None => observe(&rank, &System::of(found, &process, places)),
    };
    let erred = seen.erred();
    seen.bad_end =
        found.end.as_ref().and_then(|end| BadEnd::observed(&process, erred, end.ending, end.ended_ns));
    Ok(seen)
}

/// Returns the ranks of a job that have not called MPI, with their activity. `has_called` takes host, rank
/// and process id and returns whether that rank has called MPI; processes on two hosts may share a process
/// id.
pub fn silent_ranks(job: &Job, places: &Places, has_called: impl Fn(&str, u32, u32) -> bool) -> Vec<Silent> {
    let kept = job.silent.iter().filter(|kept| !has_called(&kept.host, kept.rank, kept.pid));
    let mut found: Vec<Silent> = kept.cloned().collect();
    if job.runs_here() {
        let process = Process::untouched();
        let host = procfs::hostname().unwrap_or_default();
        let here = silent::ranks(job.owner, &job.name, |rank, pid| has_called(&host, rank, pid));
        found.extend(here.into_iter().map(|silent| {
            let system = System { pid: silent.pid, ended: None, process: &process, places };
            Silent { doing: system.doing(silent.pid), at: system.at(silent.pid), ..silent }
        }));
    }
    found
}

/// Observes a process stored in an evidence file.
pub fn observe_kept<S: Source>(rank: &Rank<'_, S>, about: &About, alive: bool) -> Observation {
    let ended = (!alive).then(|| gone(rank.process(), about.end.as_ref()));
    observe(rank, &Earlier { about, process: rank.process(), ended })
}

/// Returns what a thread does outside MPI.
pub fn doing(found: &JobImage, process: &Process, places: &Places, tid: u32) -> String {
    if let Some(about) = found.about() {
        return about.doing.get(&tid).cloned().unwrap_or_default();
    }
    let system = System::of(found, process, places);
    let asking =
        process.threads.iter().any(|thread| thread.tid == tid && process.asking_since(thread).is_some());
    if asking && system.pauses(tid) { PAUSES.to_owned() } else { system.doing(tid) }
}

/// Returns what has stopped a thread, inside or outside MPI; `None` if nothing has.
pub fn stopped(found: &JobImage, process: &Process, places: &Places, tid: u32) -> Option<String> {
    match found.about() {
        Some(about) => Earlier { about, process, ended: None }.stopped(tid),
        None => System::of(found, process, places).stopped(tid),
    }
}

/// Returns the threads of a process that have never called MPI but could do so without being woken, or if a
/// thread inside MPI released a lock.
pub fn others(found: &JobImage, process: &Process, places: &Places) -> Vec<u32> {
    match found.about() {
        Some(about) => Earlier { about, process, ended: None }.others(),
        None => System::of(found, process, places).others(),
    }
}

/// Returns where in user code a thread sleeps, if it does and the place is known.
pub fn at(found: &JobImage, process: &Process, places: &Places, tid: u32) -> Option<String> {
    if let Some(about) = found.about() {
        return about.at.get(&tid).cloned();
    }
    System::of(found, process, places).at(tid)
}

/// Resources for resolving places, shared by all processes of one observation.
pub struct Places {
    /// The program files.
    pub files: Arc<Files>,
    /// Resolves addresses.
    pub words: Symbolizer,
    /// Number of further places to resolve: each takes milliseconds.
    left: Cell<u32>,
    /// Number of further threads to wait for that might pause.
    patience: Cell<u32>,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            files: Arc::default(),
            words: Symbolizer::new(),
            left: Cell::new(MOST_PLACES),
            patience: Cell::new(PATIENCE),
        }
    }
}

/// Maximum number of threads outside MPI whose place is resolved.
const MOST_PLACES: u32 = 64;

/// Describes the end of a process that no longer exists, of which its starter knew this.
fn gone(process: &Process, end: Option<&ProcessEnd>) -> String {
    match (process.state, process.abort_code, end.and_then(|end| end.ending)) {
        (State::ABORTED, Some(code), _) => format!("it called MPI_Abort with {code}"),
        (_, _, Some(ending)) => format!("it ended without MPI_Finalize: {ending}"),
        _ => "it ended without MPI_Finalize".to_owned(),
    }
}

/// Number of times a polling thread that may pause is sampled: at any one moment it may be in a call or
/// waiting for a processor.
const SAMPLES: u32 = 20;
const SAMPLE_INTERVAL: Duration = Duration::from_millis(2);
/// Maximum number of polling threads watched for a pause without success; for further threads only the present moment
/// counts.
const PATIENCE: u32 = 8;

/// Returns how often a thread has gone to sleep voluntarily.
fn voluntary_switches(pid: u32, tid: u32) -> Option<u64> {
    StatusLines::of_thread(pid, tid).ok()?.get("voluntary_ctxt_switches")?.parse().ok()
}

/// What this host's kernel reports about a process.
struct System<'a> {
    pid: u32,
    ended: Option<String>,
    process: &'a Process,
    places: &'a Places,
}

impl<'a> System<'a> {
    fn of(found: &JobImage, process: &'a Process, places: &'a Places) -> Self {
        let pid = found.outer_pid(process.pid).unwrap_or(process.pid);
        let ended = (!found.alive(process.pid)).then(|| gone(process, found.end.as_ref()));
        Self { pid, ended, process, places }
    }

    fn task(&self, tid: u32) -> String {
        format!("/proc/{}/task/{tid}", self.pid)
    }

    /// Where the threads of the process sleep, and whether signals may wake them.
    fn sleeping_threads(&self) -> Asleeps {
        let threads = procfs::threads(self.pid).unwrap_or_default();
        let status = procfs::status_lines(self.pid).unwrap_or_default();
        Asleeps {
            threads: threads.into_iter().map(|tid| (tid, Asleep::of(&self.task(tid)))).collect(),
            signals: awaits_signals(&status),
        }
    }

    /// Whether a thread waits for a lock that a thread inside MPI holds.
    fn is_locked_by_mpi(&self, asleep: &Asleep) -> bool {
        let memory = || Live::open_among(self.pid, Arc::clone(&self.places.files)).ok();
        locked::by_mpi(memory, self.process, asleep)
    }

    /// Describes what a sleeping thread does.
    fn sleeping(&self, task: &str) -> String {
        let serves_mpi = |_, asleep: &Asleep| asleep.serves_mpi(self.pid, &self.places.files);
        let only_mpi_could_wake =
            |asleep: &Asleep| self.sleeping_threads().only_mpi_could_wake(self.process, asleep, serves_mpi);
        let said = |asleep: Asleep| asleep.said(|asleep| self.is_locked_by_mpi(asleep), only_mpi_could_wake);
        Asleep::of(task).map_or_else(|| "sleeping".to_owned(), said)
    }
}

/// Describes what has stopped a thread in this state.
fn what_stops(state: char) -> Option<&'static str> {
    match state {
        'T' => Some("stopped by a signal"),
        't' => Some("stopped by a debugger"),
        _ => None,
    }
}

impl Context for System<'_> {
    fn doing(&self, tid: u32) -> String {
        let text = match Stat::of_thread(self.pid, tid).ok().map(|stat| stat.state) {
            Some('R') => "computing",
            Some('D') => "waiting for a device or file system",
            Some('S') => return self.sleeping(&self.task(tid)),
            other => other.and_then(what_stops).unwrap_or(""),
        };
        text.to_owned()
    }

    fn stopped(&self, tid: u32) -> Option<String> {
        let state = Stat::of_thread(self.pid, tid).ok()?.state;
        what_stops(state).map(str::to_owned)
    }

    fn at(&self, tid: u32) -> Option<String> {
        let thread =
            self.process.threads.iter().find(|thread| thread.tid == tid && thread.interpreter.0 != 0);
        let asleep = Asleep::of(&self.task(tid));
        if thread.is_none() && asleep.is_none() {
            return None;
        }
        self.places.left.set(self.places.left.get().checked_sub(1)?);
        let of_python = |thread| {
            python::innermost(&Live::open_among(self.pid, Arc::clone(&self.places.files)).ok()?, thread)
        };
        if let Some(place) = thread.and_then(of_python) {
            return Some(place);
        }
        let asleep = asleep?;
        asleep.frame(self.pid, self.process, &self.places.files, &self.places.words)
    }

    fn pauses(&self, tid: u32) -> bool {
        let task = self.task(tid);
        let now = || Asleep::of(&task).is_some_and(|asleep| asleep.pauses());
        let patience = &self.places.patience;
        let Some(before) = voluntary_switches(self.pid, tid).filter(|_| !now() && patience.get() > 0) else {
            return now();
        };
        let later = (0..SAMPLES).any(|_| {
            std::thread::sleep(SAMPLE_INTERVAL);
            now() || voluntary_switches(self.pid, tid).is_some_and(|times| times >= before + 2)
        });
        if !later {
            patience.set(patience.get() - 1);
        }
        later
    }

    fn others(&self) -> Vec<u32> {
        let threads = procfs::threads(self.pid).unwrap_or_default();
        let strange = threads.iter().copied().filter(|tid| !has(self.process, *tid));
        // A thread waiting for another one can only be woken by it, and threads that serve MPI's connections
        // belong to the library. One that waits for a lock held across a call explains why the call does not
        // return.
        let serves_mpi = |asleep: &Asleep| asleep.serves_mpi(self.pid, &self.places.files);
        let waits = |asleep: Asleep| asleep.waits_for_a_thread(&threads) || serves_mpi(&asleep);
        let shown = |asleep: Asleep| !waits(asleep) || self.is_locked_by_mpi(&asleep);
        strange.filter(|tid| Asleep::of(&self.task(*tid)).is_none_or(shown)).collect()
    }

    fn ended(&self) -> Option<String> {
        self.ended.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::discover::discover;
    use crate::model::locate::NoSymbols;
    use crate::test_image::TestImage;
    use std::time::Instant;

    #[test]
    fn a_rank_that_has_not_called_mpi_is_seen_even_if_another_host_has_the_same_pid() {
        let name = "same-numbers";
        let _rank = TestImage::new(name, 0, 2);
        let mut job = discover().into_iter().find(|job| job.name == name).unwrap();
        job.silent.push(Silent {
            rank: 1,
            pid: std::process::id(),
            host: "elsewhere".to_owned(),
            executable: "late".into(),
            doing: "sleeping".to_owned(),
            at: None,
        });
        let seen = look(&job, &NoSymbols).observations;
        let places: Vec<_> = seen.iter().map(|one| (one.rank, one.host.as_str(), one.stage)).collect();
        assert_eq!(places, [(Some(0), "samplehost", Stage::Running), (Some(1), "elsewhere", Stage::Silent)]);
    }

    #[test]
    fn a_job_has_stalled_for_as_long_as_its_most_silent_rank_although_others_make_calls() {
        const SILENT: Duration = Duration::from_millis(30);
        let name = "one-is-silent";
        let [busy, silent] = [0, 1].map(|rank| TestImage::new(name, rank, 2));
        busy.enters("MPI_Barrier", [1, 0, 0], 0, 0);
        silent.enters("MPI_Recv", [1, 0, 1], 0, 7);
        std::thread::sleep(SILENT);
        let left = Instant::now();
        busy.leaves();
        let job = discover().into_iter().find(|job| job.name == name).unwrap();
        let before = progress(&job).unwrap();
        assert_eq!(before.calls, 1);
        assert!(before.stalled >= SILENT, "{before:?}");
        silent.leaves();
        let after = progress(&job).unwrap();
        assert!(after.stalled <= left.elapsed(), "{after:?}, before {before:?}");
        let elsewhere = Progress { stalled: Duration::from_secs(9), ..Progress::default() };
        assert_eq!(after.and(elsewhere).stalled, Duration::from_secs(9));
    }
}
