//! One process, as its image tells it: who it is, how far it came, what its threads do and did.

use crate::clock::{Moment, TickClock};
use mpiscope_image::layout::{self, LOSSES};
use mpiscope_image::layout::{
    AbiCode, Call, Counter, FunctionName, Header, Loss, Module, Note, Recording, SectionKind, State, Thread,
};
use mpiscope_image::{Error, Image, Record, Snapshot, Source};
use serde::Serialize;
use std::collections::BTreeMap;

/// More threads, notes or modules than this are not looked at: the layer never makes so many.
const MOST_RECORDS: u64 = 4096;
/// Longest path of a module that is believed.
const LONGEST_PATH: usize = 4096;

/// How a process ended, if somebody saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// It exited with this status.
    Exit(i32),
    /// It was killed by this signal.
    Signal(i32),
}

/// A process that has an image.
#[derive(Debug)]
pub struct Process {
    /// Rank in `MPI_COMM_WORLD`, if known.
    pub rank: Option<u32>,
    /// Size of `MPI_COMM_WORLD`, if known.
    pub size: Option<u32>,
    /// Process id in its own name space; zero while nobody has claimed the image.
    pub pid: u32,
    /// Host, or empty.
    pub host: String,
    /// Name of the world: the same on all its ranks.
    pub world: String,
    /// Name of the job.
    pub job: String,
    /// Path of the executable.
    pub executable: String,
    /// Arguments, separated by blanks.
    pub command: String,
    /// What the library says about itself, first line.
    pub library: String,
    /// File of the library.
    pub library_path: String,
    /// Version of the layer in the process.
    pub layer_version: String,
    /// Binary interface of the library.
    pub abi: AbiCode,
    /// Version of the standard, major and minor.
    pub mpi_version: (u32, u32),
    /// Granted level of thread support.
    pub thread_level: u32,
    /// How far it came.
    pub state: State,
    /// Whether times were recorded.
    pub times: bool,
    /// Error code given to `MPI_Abort`, if it was called.
    pub abort_code: Option<i32>,
    /// When `MPI_Init` was entered, nanoseconds of `CLOCK_MONOTONIC`; the start of the image if it never was.
    pub begin_ns: u64,
    /// When `MPI_Finalize` was left, if it was.
    pub finalized_ns: Option<u64>,
    /// Threads that called MPI.
    pub threads: Vec<ThreadFacts>,
    /// Names of functions by number.
    pub functions: Vec<String>,
    /// Executable files in the process.
    pub modules: Vec<ModuleFacts>,
    /// What the layer could not do.
    pub notes: Vec<String>,
    /// What was lost: kind and how often; also how many freed objects are no longer known.
    pub losses: BTreeMap<String, u64>,
    /// Seconds that the layer spent outside of calls.
    pub own_s: f64,
    /// Seconds that the layer adds to a call.
    pub own_s_per_call: f64,
    /// Converts the ticks of this image.
    pub clock: TickClock,
}

/// A thread that called MPI.
#[derive(Debug)]
pub struct ThreadFacts {
    /// Index in the image.
    pub index: u64,
    /// The kernel's id; zero when the thread has ended.
    pub tid: u32,
    /// Ticks in outermost calls that have ended.
    pub mpi_ticks: u64,
    /// Completed calls.
    pub calls: u64,
    /// The open call, if there is one.
    pub call: Option<Call>,
    /// Outside of MPI, the call that returned last.
    pub last: Option<Call>,
    /// The address behind the open call, or behind the last one; zero before the first.
    pub return_address: u64,
    /// The call changed while it was copied.
    pub torn: bool,
    /// When the open call began, or the last one ended, in ticks; zero if times are not recorded.
    pub since: u64,
    /// Completed calls by function number: number, count, ticks, bytes.
    pub counters: Vec<(usize, u64, u64, u64)>,
}

/// An executable file in the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleFacts {
    /// Path of the file.
    pub path: String,
    /// Address in the process minus address in the file.
    pub bias: u64,
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
}

impl Process {
    /// Reads everything that is not an object. `now` is the present moment if the image may belong to this host.
    pub fn read<S: Source>(image: &Image<S>, now: Option<Moment>) -> Result<Self, Error> {
        let header = image.header()?;
        let clock = TickClock::new(&header.clock, now);
        let state = State(header.state.get());
        let facts = first::<_, layout::Process>(image, SectionKind::PROCESS)?;
        let functions = some::<_, FunctionName>(image, SectionKind::FUNCTIONS)?;
        let mut process = Self {
            state,
            pid: header.pid.get(),
            begin_ns: clock.start_ns(),
            functions: functions.iter().map(|f| f.value.name.text().into_owned()).collect(),
            threads: threads(image)?,
            modules: modules(image)?,
            notes: notes(image)?,
            losses: losses(&header),
            own_s: clock.seconds(header.own_ticks.get()),
            own_s_per_call: header.own_ps_per_call.get() as f64 / 1e12,
            ..Self::unknown(clock)
        };
        if let Some(facts) = facts {
            process.know(&facts.value);
        }
        Ok(process)
    }

    /// A process that was started under the layer and never touched its image.
    pub fn untouched() -> Self {
        Self::unknown(TickClock::new(&layout::Clock::default(), None))
    }

    fn unknown(clock: TickClock) -> Self {
        Self {
            rank: None,
            size: None,
            pid: 0,
            host: String::new(),
            world: String::new(),
            job: String::new(),
            executable: String::new(),
            command: String::new(),
            library: String::new(),
            library_path: String::new(),
            layer_version: String::new(),
            abi: AbiCode::UNKNOWN,
            mpi_version: (0, 0),
            thread_level: 0,
            state: State::UNCLAIMED,
            times: false,
            abort_code: None,
            begin_ns: 0,
            finalized_ns: None,
            threads: Vec::new(),
            functions: Vec::new(),
            modules: Vec::new(),
            notes: Vec::new(),
            losses: BTreeMap::new(),
            own_s: 0.0,
            own_s_per_call: 0.0,
            clock,
        }
    }

    fn know(&mut self, facts: &layout::Process) {
        let size = facts.size.get();
        self.rank = Some(facts.rank.get()).filter(|rank| *rank != u32::MAX && (size != 0 || *rank != 0));
        self.size = Some(size).filter(|size| *size != 0);
        self.host = facts.host.text().into_owned();
        self.world = facts.world.text().into_owned();
        self.job = facts.job.text().into_owned();
        self.executable = facts.executable.text().into_owned();
        self.command = facts.command.text().into_owned();
        self.library = facts.library.text().trim().to_owned();
        self.library_path = facts.library_path.text().into_owned();
        self.layer_version = facts.layer.text().into_owned();
        self.abi = AbiCode(facts.abi.get());
        let version = facts.mpi_version.get();
        self.mpi_version = (version >> 16, version & 0xffff);
        self.thread_level = facts.thread_level.get();
        self.times = facts.recording.get() & Recording::TIMES.0 != 0;
        self.abort_code = (self.state == State::ABORTED).then_some(facts.abort_code.get() as i32);
        if facts.pid.get() != 0 {
            self.pid = facts.pid.get();
        }
        if facts.init_enter.get() != 0 {
            self.begin_ns = self.clock.ns_at(facts.init_enter.get());
        }
        let left = facts.finalize_leave.get();
        self.finalized_ns = (left != 0).then(|| self.clock.ns_at(left));
    }

    /// Whether the process ever called MPI.
    pub fn called_mpi(&self) -> bool {
        self.state != State::UNCLAIMED && self.pid != 0
    }

    /// Whether `MPI_Finalize` has returned.
    pub fn finalized(&self) -> bool {
        self.state == State::FINALIZED
    }

    /// The name of the function that a thread is in, or was in last.
    pub fn called(&self, call: &Call) -> String {
        call.open().or(call.ended()).map_or_else(String::new, |number| self.function(number as usize))
    }

    /// The name of the function with this number.
    pub fn function(&self, number: usize) -> String {
        match self.functions.get(number) {
            Some(name) if !name.is_empty() => name.clone(),
            _ => format!("function #{number}"),
        }
    }

    /// All lost records together. Freed objects that are no longer known are none: as many are kept as
    /// `MPISCOPE_TOMBSTONES` says.
    pub fn lost(&self) -> u64 {
        let lost = self.losses.iter().filter(|(kind, _)| Some(kind.as_str()) != Loss::TOMBSTONES.name());
        lost.fold(0, |sum, (_, n)| sum.saturating_add(*n))
    }
}

/// The first record of a kind.
fn first<S: Source, T: Record>(image: &Image<S>, kind: SectionKind) -> Result<Option<Snapshot<T>>, Error> {
    let table = image.table::<T>(kind)?;
    if table.is_empty() { Ok(None) } else { image.get(&table, 0).map(Some) }
}

/// The first [`MOST_RECORDS`] records of a kind.
fn some<S: Source, T: Record>(image: &Image<S>, kind: SectionKind) -> Result<Vec<Snapshot<T>>, Error> {
    let table = image.table::<T>(kind)?;
    // A table that continues in a further section may have left room behind: those indices do not exist.
    Ok((0..table.len().min(MOST_RECORDS)).filter_map(|i| image.get(&table, i).ok()).collect())
}

pub(crate) fn threads<S: Source>(image: &Image<S>) -> Result<Vec<ThreadFacts>, Error> {
    let table = image.table::<Thread>(SectionKind::THREADS)?;
    let mut threads = Vec::new();
    for index in 0..table.len().min(MOST_RECORDS) {
        let Ok(thread) = image.get::<Thread>(&table, index) else { continue };
        let call = image.call(&table, index)?;
        let (since, return_address) = (call.value.since.get(), call.value.return_address.get());
        let (open, ended) = (call.value.open().is_some(), call.value.ended().is_some());
        let value = Some(call.value);
        let (call_now, last) = if open { (value, None) } else { (None, value.filter(|_| ended)) };
        threads.push(ThreadFacts {
            index,
            tid: thread.value.tid.get(),
            mpi_ticks: thread.value.mpi_ticks.get(),
            calls: thread.value.call.completed.get(),
            torn: call.torn,
            since,
            return_address,
            call: call_now,
            last,
            counters: counters(&thread.value.counters),
        });
    }
    Ok(threads)
}

fn counters(counters: &[Counter]) -> Vec<(usize, u64, u64, u64)> {
    let plain = counters.iter().map(|c| (c.count.get(), c.ticks.get(), c.bytes.get()));
    plain.enumerate().filter(|(_, c)| *c != (0, 0, 0)).map(|(i, (n, t, b))| (i, n, t, b)).collect()
}

fn modules<S: Source>(image: &Image<S>) -> Result<Vec<ModuleFacts>, Error> {
    let modules = some::<_, Module>(image, SectionKind::MODULES)?;
    let facts = modules.iter().map(|m| &m.value).map(|m| ModuleFacts {
        path: image.text(&m.path, LONGEST_PATH).unwrap_or_default(),
        bias: m.bias.get(),
        start: m.start.get(),
        end: m.end.get(),
    });
    Ok(facts.collect())
}

fn notes<S: Source>(image: &Image<S>) -> Result<Vec<String>, Error> {
    let notes = some::<_, Note>(image, SectionKind::NOTES)?;
    let sentences = notes.iter().map(|n| n.value.text.text().trim().to_owned());
    Ok(sentences.filter(|text| !text.is_empty()).collect())
}

fn losses(header: &Header) -> BTreeMap<String, u64> {
    let kinds = (0..LOSSES as u32).map(|i| Loss(i).name().map_or_else(|| format!("kind {i}"), str::to_owned));
    kinds.zip(header.lost.iter().map(|w| w.get())).filter(|(_, n)| *n != 0).collect()
}
