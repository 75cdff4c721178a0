//! One process as described by its image: identity, progress, and what its threads do and did.

use crate::base::clock::{Moment, TickClock};
use crate::base::modules::Modules;
use mpi_abi::{AbiKind, Flags, Moves, Properties};
use mpiscope_image::derive::polling::Several;
use mpiscope_image::derive::{self, Activity, Moved, Polling, Share, ThreadView, Window};
use mpiscope_image::layout;
use mpiscope_image::layout::{Call, Header, Loss, Note, Raised, Recording, SectionKind, State, Thread};
use mpiscope_image::{Error, Function, Functions, Image, Record, Snapshot, Source};
use mpiscope_target::signal_name;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Maximum number of threads or notes read: the layer never creates more.
const MOST_RECORDS: u64 = 4096;

/// How a process ended, if that was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// It exited with this status.
    Exit(i32),
    /// It was killed by this signal.
    Signal(i32),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Exit(code) => write!(f, "exit status {code}"),
            Self::Signal(signal) => {
                write!(f, "killed by signal {signal}")?;
                let Some(name) = signal_name(signal) else { return Ok(()) };
                let why = if signal == libc::SIGXCPU { ", out of CPU time" } else { "" };
                write!(f, " ({name}{why})")
            }
        }
    }
}

/// A process that has an image.
#[derive(Debug)]
pub struct Process {
    /// Rank in `MPI_COMM_WORLD`, if known.
    pub rank: Option<u32>,
    /// Size of `MPI_COMM_WORLD`, if known.
    pub size: Option<u32>,
    /// The rank assigned by the launcher, if known. It differs from `rank` if the launcher belongs to another
    /// library.
    pub launcher_rank: Option<u32>,
    /// Process id in its own namespace; zero while no process has claimed the image.
    pub pid: u32,
    /// Host name, or empty.
    pub host: String,
    /// Name of the world, equal on all its ranks.
    pub world: String,
    /// Name of the job.
    pub job: String,
    /// Path of the executable.
    pub executable: String,
    /// Arguments, separated by spaces.
    pub command: String,
    /// First line of the library's version string.
    pub library: String,
    /// Path of the library.
    pub library_path: String,
    /// Version of the layer in the process.
    pub layer_version: String,
    /// Binary interface of the library.
    pub abi: AbiKind,
    /// Version of the standard, major and minor.
    pub mpi_version: (u32, u32),
    /// Granted level of thread support.
    pub thread_level: u32,
    /// How far it has come.
    pub state: State,
    /// Whether `MPI_Finalize` has returned; the process may still use sessions.
    pub left_world: bool,
    /// Whether times were recorded.
    pub times: bool,
    /// Error code passed to `MPI_Abort`, if it was called.
    pub abort_code: Option<i32>,
    /// When it called that, in nanoseconds of `CLOCK_MONOTONIC`; unknown in images of older layers.
    pub aborted_ns: Option<u64>,
    /// When `MPI_Init` was entered, in nanoseconds of `CLOCK_MONOTONIC`; the start of the image if it was
    /// not.
    pub begin_ns: u64,
    /// When `MPI_Finalize` returned, if it did.
    pub finalized_ns: Option<u64>,
    /// Threads that have called MPI.
    pub threads: Vec<ThreadFacts>,
    /// The functions, by number.
    pub functions: Functions,
    /// Executable files in the process.
    pub modules: Modules,
    /// Messages about what the layer could not do.
    pub notes: Vec<String>,
    /// Index of the thread that called `MPI_Init`; `u64::MAX` before that call.
    pub main_thread: u64,
    /// When `MPI_Init` was entered, in ticks of the image; zero if it was not.
    pub init_enter: u64,
    /// Where the process has mapped its image.
    pub address: u64,
    /// Lost records: number by kind, including freed objects that were forgotten.
    pub losses: BTreeMap<String, u64>,
    /// Total number of lost records.
    lost: u64,
    /// The time span of the process in ticks, as if it ended now.
    window: Window,
    /// Converts the ticks of this image.
    pub clock: TickClock,
}

/// A thread that has called MPI.
#[derive(Debug)]
pub struct ThreadFacts {
    /// Index in the image.
    pub index: u64,
    /// The kernel's id; zero after the thread has ended.
    pub tid: u32,
    /// Ticks spent in outermost calls that have returned.
    pub mpi_ticks: u64,
    /// Number of completed calls.
    pub calls: u64,
    /// The open call, if any.
    pub call: Option<Call>,
    /// The last call to return, if the thread is outside of MPI.
    pub last: Option<Call>,
    /// Return address of the open call, otherwise of the last one; zero before the first.
    pub return_address: u64,
    /// When the thread made its first call, in ticks.
    pub attached: u64,
    /// Total lifetime, in ticks, of former threads with this record, measured from their first calls.
    pub lived: u64,
    /// Its loops over functions that poll without waiting.
    pub polling: Polling,
    /// The longest of these loops that another call has ended, in ticks.
    pub longest_run: u64,
    /// Return address in the program of the polls in the current loop; zero if unknown.
    pub polled_from: u64,
    /// How many things the current loop polls for.
    pub asks: Several,
    /// Whether the call changed while it was copied.
    pub torn: bool,
    /// When the open call began, or the last one ended, in ticks; zero if times are not recorded.
    pub since: u64,
    /// Totals by function.
    pub counters: Vec<Counted>,
    /// The first requests in the array passed to the last call that completes several; zero for none.
    pub waited: Vec<u64>,
    /// Address of its Python thread state, and the minor version of that interpreter; zero for none.
    pub interpreter: (u64, u32),
    /// The error that the library detected in a call of the thread that has not returned.
    pub raised: Option<Raised>,
}

/// Totals of a thread in one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// The function's number in the image.
    pub function: usize,
    /// Number of completed calls.
    pub count: u64,
    /// Ticks spent in them.
    pub ticks: u64,
    /// Bytes that they transferred.
    pub bytes: u64,
    /// Bytes of these that were received in messages.
    pub received: u64,
    /// Number of these calls whose time is estimated.
    pub estimated: u64,
}

impl Process {
    /// Reads everything except objects. `now` is the current time if the image may belong to this host.
    pub fn read<S: Source>(image: &Image<S>, now: Option<Moment>) -> Result<Self, Error> {
        let header = image.header()?;
        let clock = TickClock::new(&header.clock, now);
        let state = State(header.state.get());
        let facts = first::<_, layout::Process>(image, SectionKind::PROCESS)?;
        let mut process = Self {
            state,
            pid: header.pid.get(),
            address: header.address.get(),
            begin_ns: clock.start_ns(),
            functions: Functions::read(image)?,
            threads: threads(image)?,
            modules: Modules::read(image)?,
            notes: notes(image)?,
            losses: losses(&header),
            lost: derive::losses::total(&header.lost),
            window: Window::of(
                facts.as_ref().map(|f| &f.value),
                &header.clock,
                clock.ticks_at(clock.end_ns()),
            ),
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
            launcher_rank: None,
            pid: 0,
            host: String::new(),
            world: String::new(),
            job: String::new(),
            executable: String::new(),
            command: String::new(),
            library: String::new(),
            library_path: String::new(),
            layer_version: String::new(),
            abi: AbiKind::UNKNOWN,
            mpi_version: (0, 0),
            thread_level: 0,
            state: State::UNCLAIMED,
            left_world: false,
            times: false,
            abort_code: None,
            aborted_ns: None,
            begin_ns: 0,
            finalized_ns: None,
            threads: Vec::new(),
            functions: Functions::default(),
            modules: Modules::default(),
            notes: Vec::new(),
            main_thread: u64::MAX,
            init_enter: 0,
            address: 0,
            losses: BTreeMap::new(),
            lost: 0,
            window: Window::default(),
            clock,
        }
    }

    fn know(&mut self, facts: &layout::Process) {
        let size = facts.size.get();
        self.rank = derive::members::own_rank(facts);
        self.size = Some(size).filter(|size| *size != 0);
        self.launcher_rank =
            facts.launcher_rank.get().checked_sub(1).and_then(|rank| u32::try_from(rank).ok());
        self.host = facts.host.text().into_owned();
        self.world = facts.world.text().into_owned();
        self.job = facts.job.text().into_owned();
        self.executable = facts.executable.text().into_owned();
        self.command = facts.command.text().into_owned();
        self.library = facts.library.text().trim().to_owned();
        self.library_path = facts.library_path.text().into_owned();
        self.layer_version = facts.layer.text().into_owned();
        self.abi = AbiKind::from_word(facts.abi.get());
        let version = facts.mpi_version.get();
        self.mpi_version = (version >> 16, version & 0xffff);
        self.thread_level = facts.thread_level.get();
        self.left_world = derive::status::left_world(facts, self.state);
        self.main_thread = facts.main_thread.get();
        self.init_enter = facts.init_enter.get();
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
        let aborted_at = Some(facts.aborted_at.get()).filter(|at| *at != 0 && self.abort_code.is_some());
        self.aborted_ns = aborted_at.map(|at| self.clock.ns_at(at));
    }

    /// Whether the process has called MPI.
    pub fn called_mpi(&self) -> bool {
        self.state != State::UNCLAIMED && self.pid != 0
    }

    /// Whether threads other than the main one may call MPI.
    pub fn other_threads_may_call(&self) -> bool {
        const MPI_THREAD_SERIALIZED: u32 = 2;
        self.thread_level >= MPI_THREAD_SERIALIZED
    }

    /// Whether `MPI_Finalize` has returned.
    pub fn finalized(&self) -> bool {
        self.state == State::FINALIZED
    }

    /// Returns the name of the function that a thread is in, or was in last.
    pub fn called(&self, call: &Call) -> String {
        call.open().or(call.ended()).map_or_else(String::new, |number| self.function(number as usize))
    }

    /// Returns the name of the function with this number.
    pub fn function(&self, number: usize) -> String {
        let known = u32::try_from(number).ok().and_then(|number| self.functions.get(number));
        known.map_or_else(|| format!("function #{number}"), |function| function.name.clone())
    }

    /// Returns the properties of the function that a thread is in, or was in last.
    pub fn facts(&self, call: &Call) -> Option<&Function> {
        self.functions.get(call.open().or(call.ended())?)
    }

    /// Total number of lost records.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns the threads in the form that [`derive`](mod@mpiscope_image::derive) uses.
    pub fn views(&self) -> impl Iterator<Item = ThreadView<'_>> + Clone {
        self.threads.iter().map(ThreadFacts::view)
    }

    /// The main thread; `None` before the first call.
    pub fn main(&self) -> Option<&ThreadFacts> {
        let main = derive::threads::main(self.main_thread, self.views())?;
        self.threads.iter().find(|thread| thread.index == main.index)
    }

    /// The thread that made the last call of the process, if no thread is in MPI.
    pub fn last(&self) -> Option<&ThreadFacts> {
        let last = derive::threads::last(self.main_thread, self.views())?;
        self.threads.iter().find(|thread| thread.index == last.index)
    }

    /// What the main thread is doing.
    pub fn activity(&self) -> Activity {
        derive::status::activity(self.state, self.main().map(ThreadFacts::view), self.moment(), |f| {
            self.class(f)
        })
    }

    /// Describes how far the process has come.
    pub fn stage(&self) -> String {
        derive::status::stage(self.state, self.init_enter)
            .map_or_else(|| format!("{:?}", self.state), str::to_owned)
    }

    /// When a thread began to poll, in ticks, if it is polling.
    pub fn polling_since(&self, thread: &ThreadFacts) -> Option<u64> {
        derive::status::polling_since(thread.view(), self.moment(), |function| self.class(function))
    }

    /// When a thread began to poll repeatedly, in ticks, regardless of pauses and computation in between.
    pub fn asking_since(&self, thread: &ThreadFacts) -> Option<u64> {
        thread.view().polling.asking_since(|function| self.class(function).may_find_nothing())
    }

    /// Number of calls that a thread has completed, without those of the polling loop that it is in,
    /// truncated to 32 bits: while this number does not change, the thread is in that loop or blocked.
    pub fn steps(&self, thread: &ThreadFacts) -> u32 {
        thread.view().polling.steps(|function| self.class(function).may_find_nothing())
    }

    /// Number of a thread's completed calls that only polled.
    pub fn polls(&self, thread: &ThreadFacts) -> u64 {
        let asks =
            |number: usize| u32::try_from(number).is_ok_and(|n| self.class(n).flags.has(Flags::POLLING));
        let counts = thread.counters.iter().filter(|counted| asks(counted.function));
        counts.fold(0, |sum, counted| sum.saturating_add(counted.count))
    }

    /// Returns the time in the calls of a function, in seconds; `None` if they were not timed.
    pub fn seconds_in(&self, function: u32, count: u64, ticks: u64) -> Option<f64> {
        derive::timed::ticks(self.class(function), count, ticks).map(|ticks| self.clock.seconds(ticks))
    }

    /// Returns the bytes that a thread transferred in one function, by direction.
    pub fn moved(&self, counted: &Counted) -> Moved {
        let moves = u32::try_from(counted.function).map_or(Moves::NONE, |number| self.class(number).moves);
        Moved::of(moves, counted.bytes, counted.received)
    }

    /// The time span of the process in ticks, if it ended at `end_ns`.
    pub fn window(&self, end_ns: u64) -> Window {
        let end = self.finalized_ns.map_or_else(|| self.clock.ticks_at(end_ns), |_| self.window.end);
        Window { end, ..self.window }
    }

    /// Returns how the time of all threads is divided up to now.
    pub fn share(&self) -> Share {
        Share::of_rank(self.views(), self.window)
    }

    /// Returns the current time, and the maximum distance between two polls, in ticks.
    fn moment(&self) -> (u64, u64) {
        (self.clock.ticks_at(self.clock.end_ns()), self.clock.ticks(derive::polling::SPACING_NS))
    }

    /// Returns the properties of the function with this number.
    fn class(&self, function: u32) -> Properties {
        self.functions.get(function).map(|function| function.properties).unwrap_or_default()
    }
}

impl ThreadFacts {
    /// Returns the thread in the form that [`derive`](mod@mpiscope_image::derive) uses.
    pub fn view(&self) -> ThreadView<'_> {
        ThreadView {
            index: self.index,
            tid: self.tid,
            mpi_ticks: self.mpi_ticks,
            attached: self.attached,
            lived: self.lived,
            polling: self.polling,
            call: self.call.as_ref().or(self.last.as_ref()),
        }
    }
}

/// Reads the first record of a kind.
fn first<S: Source, T: Record>(image: &Image<S>, kind: SectionKind) -> Result<Option<Snapshot<T>>, Error> {
    let table = image.table::<T>(kind)?;
    if table.is_empty() { Ok(None) } else { image.get(&table, 0).map(Some) }
}

/// Reads the first [`MOST_RECORDS`] records of a kind.
fn some<S: Source, T: Record>(image: &Image<S>, kind: SectionKind) -> Result<Vec<Snapshot<T>>, Error> {
    let table = image.table::<T>(kind)?;
    // A table that continues in another section may have unused room at the end of the first: those indices
    // do not exist.
    Ok((0..table.len().min(MOST_RECORDS)).filter_map(|i| image.get(&table, i).ok()).collect())
}

pub(crate) fn threads<S: Source>(image: &Image<S>) -> Result<Vec<ThreadFacts>, Error> {
    let table = image.table::<Thread>(SectionKind::THREADS)?;
    let mut threads = Vec::new();
    for index in 0..table.len().min(MOST_RECORDS) {
        let Ok(thread) = image.get::<Thread>(&table, index) else { continue };
        let Snapshot { value: head, torn, .. } = image.thread(&table, index)?;
        let polling = Polling::of(&head, thread.value.polling_paused.get());
        let (since, return_address) = (head.call.since.get(), head.call.return_address.get());
        let calls = head.call.completed.get();
        let raised = raised(&thread.value.raised, &head.call);
        let (open, ended) = (head.call.open().is_some(), head.call.ended().is_some());
        let value = Some(head.call);
        let (call, last) = if open { (value, None) } else { (None, value.filter(|_| ended)) };
        threads.push(ThreadFacts {
            index,
            tid: head.tid.get(),
            mpi_ticks: head.mpi_ticks.get(),
            attached: head.attached.get(),
            lived: head.lived.get(),
            polling,
            longest_run: thread.value.longest_run.get(),
            polled_from: thread.value.polled_from.get(),
            asks: Several(thread.value.asks_several.get()),
            calls,
            torn,
            since,
            return_address,
            call,
            last,
            counters: counters(&thread.value),
            waited: thread.value.waited.iter().map(|handle| handle.get()).collect(),
            interpreter: (thread.value.interpreter.get(), thread.value.python.get()),
            raised,
        });
    }
    Ok(threads)
}

/// An error in a call that is still open, which may be one below the call that the record names, or a
/// look-up, of which it says nothing. Else the program has jumped out of its error handler.
fn raised(raised: &Raised, call: &Call) -> Option<Raised> {
    let (is_in_call, at) = (call.open().is_some(), raised.at.get());
    let below = is_in_call && (call.nested.get() > 0 || call.since.get() <= at);
    let is_open = below || raised.completed.get() == call.completed.get();
    (raised.function.get() != 0 && is_open).then(|| raised.clone())
}

fn counters(thread: &Thread) -> Vec<Counted> {
    let further = thread.received.iter().zip(&thread.estimated);
    let all = thread.counters.iter().zip(further).enumerate();
    let counted = all.map(|(function, (counter, (received, estimated)))| Counted {
        function,
        count: counter.count.get(),
        ticks: counter.ticks.get(),
        bytes: counter.bytes.get(),
        received: received.get(),
        estimated: estimated.get(),
    });
    counted.filter(|counted| (counted.count, counted.ticks, counted.bytes) != (0, 0, 0)).collect()
}

fn notes<S: Source>(image: &Image<S>) -> Result<Vec<String>, Error> {
    let notes = some::<_, Note>(image, SectionKind::NOTES)?;
    let sentences = notes.iter().map(|n| n.value.text.text().trim().to_owned());
    Ok(sentences.filter(|text| !text.is_empty()).collect())
}

fn losses(header: &Header) -> BTreeMap<String, u64> {
    let name = |kind: Loss| kind.name().map_or_else(|| format!("kind {}", kind.0), str::to_owned);
    derive::losses::by_kind(&header.lost).map(|(kind, count)| (name(kind), count)).collect()
}
