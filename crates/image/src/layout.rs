//! The records of an image, version 2, byte by byte.
//!
//! The same types serve the writer (as a view on the mapping) and the reader (as a copy). Every field is a
//! word of [`crate::cell`] or text of such bytes, so that every bit pattern is a valid value. Offsets
//! are asserted at compile time: change one, and [`VERSION`] must change too. What is added at the end of a record must be said
//! of in [`Record::LEAST`](crate::Record::LEAST).

use crate::cell::{Seq, W32, W64};
pub use crate::chars::Chars;
use std::mem::{offset_of, size_of};

/// The first eight bytes of every image.
pub const MAGIC: [u8; 8] = *b"MPISCOPE";
/// The version of the layout in this file. Since 2 the number of a function stays when its call has ended ([`Call::ended`]).
pub const VERSION: u32 = 2;
/// The oldest version that reads as this one: what was added since reads as not known.
pub const OLDEST_VERSION: u32 = 1;
/// What the byte-order word reads as when writer and reader agree.
pub const BYTE_ORDER: u32 = 0x0102_0304;
/// Size of the header, and offset of the first section.
pub const HEADER_SIZE: usize = 4096;
/// How many sections an image can have.
pub const DIRECTORY_LEN: usize = 112;
/// How many functions a thread counts; larger than the number of MPI functions with room for later standards.
pub const MAX_FUNCTIONS: usize = 768;
/// Requests of an array that a thread's record keeps.
pub const WAITED: usize = 32;
/// Longest host name, file name and so on that [`Process`] keeps, with its terminating zero.
pub const TEXT: usize = 256;

/// Declares an open set of codes: a `u32` newtype with named constants.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $value:ident = $number:expr => $text:expr,)* }) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        #[allow(missing_docs)]
        impl $name {
            $($(#[$vdoc])* pub const $value: Self = Self($number);)*

            /// All named values.
            pub const ALL: &'static [Self] = &[$(Self::$value),*];

            /// The name for people, or `None` for a value of a later version.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 { $($number => Some($text),)* _ => None }
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() { Some(n) => f.write_str(n), None => write!(f, "{}({})", stringify!($name), self.0) }
            }
        }
    };
}
pub(crate) use codes;

codes! {
    /// What the records of a section are.
    SectionKind {
        /// One [`Process`].
        PROCESS = 1 => "process",
        /// [`FunctionRecord`], by function number.
        FUNCTIONS = 2 => "functions",
        /// [`Module`]: the files mapped into the process.
        MODULES = 3 => "modules",
        /// Bytes of names and paths, referred to by [`Text`].
        STRINGS = 4 => "strings",
        /// [`Thread`].
        THREADS = 5 => "threads",
        /// [`Note`]: sentences about what the layer could not do.
        NOTES = 6 => "notes",
        /// Words of arrays that objects refer to (ranks of a group, arguments of a constructor).
        WORDS = 7 => "words",
        /// [`crate::traffic::Entry`]: messages sent and received.
        LEDGER = 8 => "ledger",
        /// [`crate::traffic::Recent`]: envelopes of the messages sent and received last.
        ENVELOPES = 9 => "recent envelopes",
        /// [`crate::faults::Fault`]: what calls were seen to do wrong.
        FAULTS = 10 => "faults",
        COMMS = 16 => "communicators",
        GROUPS = 17 => "groups",
        DATATYPES = 18 => "datatypes",
        REQUESTS = 19 => "requests",
        MESSAGES = 20 => "messages",
        OPS = 21 => "operations",
        ERRHANDLERS = 22 => "error handlers",
        INFOS = 23 => "infos",
        FILES = 24 => "files",
        WINDOWS = 25 => "windows",
        SESSIONS = 26 => "sessions",
        KEYVALS = 27 => "keyvals",
        ATTRIBUTES = 28 => "attributes",
        /// [`crate::traffic::Peer`]: messages exchanged with one rank of one communicator.
        PEERS = 29 => "peers",
        /// One [`crate::traffic::Traffic`].
        TRAFFIC = 30 => "traffic",
        /// [`crate::history::Entered`]: the last collectives of each communicator.
        COLLECTIVES = 31 => "collectives",
        /// Last values of control and performance variables.
        VARIABLES = 32 => "variables",
        /// [`crate::sites::Site`]: what each place of the program did.
        SITES = 33 => "call sites",
        /// [`crate::trace::Ring`]: where the calls of each thread are, if a trace was asked for.
        TRACE_RINGS = 34 => "rings of the trace",
        /// [`crate::trace::Called`]: the last calls of each thread.
        TRACE = 35 => "trace",
        /// [`crate::call_path::CallPath`]: calls that libraries make for the program.
        CALL_PATHS = 36 => "call paths",
    }
}

codes! {
    /// How far the process has come.
    State {
        /// Made by `mpiscope run`; no MPI process has taken it yet.
        UNCLAIMED = 0 => "not an MPI process yet",
        /// The process called an MPI function.
        STARTED = 1 => "before MPI_Init",
        /// `MPI_Init` (or `MPI_Session_init`) has returned.
        INITIALIZED = 2 => "running",
        /// `MPI_Finalize` has been entered.
        FINALIZING = 3 => "in MPI_Finalize",
        /// `MPI_Finalize` has returned.
        FINALIZED = 4 => "finalized",
        /// The process called `MPI_Abort`.
        ABORTED = 5 => "aborted",
    }
}

codes! {
    /// What was lost: index into [`Header::lost`].
    Loss {
        /// Calls of threads for which no thread record was left.
        CALLS = 0 => "calls of threads beyond the limit",
        /// Objects that no longer found room.
        OBJECTS = 1 => "objects",
        /// Freed objects whose tombstone was reused.
        TOMBSTONES = 2 => "tombstones of freed objects",
        /// Message ledger entries.
        MESSAGES = 3 => "messages",
        /// User callbacks called without a fresh depth, so that MPI calls inside them were not seen.
        CALLBACKS = 4 => "user callbacks",
        /// Names and arrays that no longer found room.
        STRINGS = 5 => "names and arrays",
        /// Events that no callback received.
        EVENTS = 6 => "events",
        /// Requests that could not be followed.
        REQUESTS = 7 => "requests",
        /// Notes beyond the limit.
        NOTES = 8 => "notes",
        /// Calls from places for which no record was left: they count for their function only.
        SITES = 9 => "calls without a call site",
        /// Threads for which the trace had no room.
        TRACE = 10 => "threads that are not in the trace",
        /// Calls by a library for which no call path was left: they count for the library's place.
        CALL_PATHS = 11 => "calls by a library without the caller's line",
    }
}

impl Loss {
    /// Why it is lost, and what helps; empty for a kind of a later version.
    pub const fn why(self) -> &'static str {
        match self {
            Self::CALLS => "more threads called MPI than an image has room for",
            Self::OBJECTS | Self::STRINGS | Self::REQUESTS => {
                "the image could not grow: a limit of memory (`ulimit`, the batch system) or a full /dev/shm"
            }
            Self::TOMBSTONES => "MPISCOPE_TOMBSTONES=N before the start keeps more",
            Self::MESSAGES => "the newest messages overwrite the oldest ones",
            Self::CALLBACKS => "more user functions than an image has room for",
            Self::EVENTS => "no callback took them in time",
            Self::SITES => "MPISCOPE_SITES=N before the start keeps more call sites",
            Self::TRACE => "a smaller MPISCOPE_TRACE=SIZE needs less room for each thread",
            Self::NOTES => "more sentences than are kept",
            Self::CALL_PATHS => "the program calls MPI through libraries in more ways than are kept",
            _ => "",
        }
    }
}

/// How many kinds of loss the header has room for.
pub const LOSSES: usize = 16;

codes! {
    /// What a tick of the image's clock is.
    ClockKind {
        /// The processor's time stamp counter; [`Clock`] has the two points needed to convert it.
        COUNTER = 1 => "time stamp counter",
        /// Nanoseconds of `CLOCK_MONOTONIC`.
        MONOTONIC = 2 => "CLOCK_MONOTONIC",
    }
}

/// How the ticks of the image become seconds.
///
/// Two points in time, each in ticks and in nanoseconds of `CLOCK_MONOTONIC`. The second point is moved forward
/// on slow paths; a reader on the same host may use the present moment instead.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Clock {
    /// A [`ClockKind`].
    pub kind: W32,
    _pad: W32,
    /// First point, in ticks.
    pub start_ticks: W64,
    /// First point, in nanoseconds of `CLOCK_MONOTONIC`.
    pub start_ns: W64,
    /// First point, in nanoseconds since 1970.
    pub start_unix_ns: W64,
    /// Guards the second point.
    pub seq: Seq,
    /// Second point, in ticks.
    pub latest_ticks: W64,
    /// Second point, in nanoseconds of `CLOCK_MONOTONIC`.
    pub latest_ns: W64,
}

/// An entry of the directory: where the records of one section are.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Section {
    /// A [`SectionKind`]. Written last: an entry whose kind is zero is not there yet.
    pub kind: W32,
    /// Bytes from one record to the next.
    pub record_size: W32,
    /// Where the first record begins.
    pub offset: W64,
    /// How many records fit.
    pub capacity: W64,
    /// How many records were ever used (bytes, for strings; words, for words).
    pub used: W64,
}

/// The first page of an image.
#[repr(C)]
#[derive(Debug)]
pub struct Header {
    /// [`MAGIC`], as it lies in memory.
    pub magic: W64,
    /// [`VERSION`].
    pub version: W32,
    /// [`BYTE_ORDER`], as the writer's processor stores it.
    pub byte_order: W32,
    /// [`HEADER_SIZE`].
    pub header_size: W32,
    /// Bytes of a pointer in the process.
    pub pointer_size: W32,
    /// How much of the file is in use.
    pub len: W64,
    /// A [`State`].
    pub state: W32,
    /// How many entries of the directory are in use.
    pub sections: W32,
    /// The process that claimed the image, or zero.
    pub pid: W32,
    /// Size of a directory entry.
    pub section_size: W32,
    /// Where the process has mapped the image (for debuggers; readers never need it).
    pub address: W64,
    /// See [`Clock`].
    pub clock: Clock,
    _reserved: [W64; 2],
    /// What was lost, by [`Loss`].
    pub lost: [W64; LOSSES],
    _further: [W64; 32],
    /// The sections, in the order in which they were made.
    pub directory: [Section; DIRECTORY_LEN],
}

/// Who the process is. Strings are written once, before [`State::INITIALIZED`] is.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Process {
    /// Guards the record.
    pub seq: Seq,
    /// Process id, in the process's own PID namespace.
    pub pid: W32,
    /// The parent's process id.
    pub ppid: W32,
    /// Rank in `MPI_COMM_WORLD`; `u32::MAX` while it is not known.
    pub rank: W32,
    /// Size of `MPI_COMM_WORLD`; zero while it is not known.
    pub size: W32,
    /// Which binary interface the MPI library has: an [`mpi_abi::AbiKind`].
    pub abi: W32,
    /// Version and subversion of the MPI standard that the library follows: `major << 16 | minor`.
    pub mpi_version: W32,
    /// Granted level of thread support, 0 (`MPI_THREAD_SINGLE`) to 3 (`MPI_THREAD_MULTIPLE`) on every ABI.
    pub thread_level: W32,
    /// Bits of what is recorded: see [`Recording`].
    pub recording: W32,
    /// When `MPI_Init` was entered and left, `MPI_Finalize` entered and left, in ticks; zero if not yet.
    pub init_enter: W64,
    #[allow(missing_docs)]
    pub init_leave: W64,
    #[allow(missing_docs)]
    pub finalize_enter: W64,
    #[allow(missing_docs)]
    pub finalize_leave: W64,
    /// Error code given to `MPI_Abort`.
    pub abort_code: W64,
    /// Index of the thread that called `MPI_Init`.
    pub main_thread: W64,
    /// Name of the world: the same on all its ranks, different from every other world's.
    pub world: Chars<64>,
    /// The host's name.
    pub host: Chars<TEXT>,
    /// Path of the executable.
    pub executable: Chars<TEXT>,
    /// Arguments, separated by blanks.
    pub command: Chars<TEXT>,
    /// What `MPI_Get_library_version` says, first line.
    pub library: Chars<TEXT>,
    /// File that the MPI library was loaded from.
    pub library_path: Chars<TEXT>,
    /// Name of the job, shared by all processes that one `mpiscope run` or one launcher started.
    pub job: Chars<64>,
    /// Version of the layer that writes the image.
    pub layer: Chars<64>,
    /// How often the program called `MPI_Pcontrol` with a level of 2 or more: it marks its iterations so. This and what follows is
    /// zero in images from before.
    pub marks: W64,
    /// When it did so last, in ticks.
    pub marked_at: W64,
    /// The [rank that the launcher meant](crate::launcher::rank) the process to have, plus one; zero if it gave none. It may differ
    /// from `rank`: a launcher of another library makes each process a world of its own.
    pub launcher_rank: W64,
}

codes! {
    /// What a process records: bits of [`Process::recording`].
    Recording {
        CALLS = 1 => "calls",
        TIMES = 2 => "times",
        MESSAGES = 4 => "messages",
        OBJECTS = 8 => "objects",
        EVENTS = 16 => "events",
        /// Also the times of functions that only look something up.
        LOOKUPS = 32 => "lookups",
        /// The time of each call that starts something and does not block, not of one in sixteen.
        STARTS = 64 => "starts",
    }
}

/// A function; its number is its index in the section. Read by [`crate::Functions`].
#[repr(C)]
#[derive(Debug, Clone)]
pub struct FunctionRecord {
    /// The name in the C binding.
    pub name: Chars<48>,
    /// What its calls do: [`mpi_abi::Properties::word`]. This and what follows is zero in an image from before.
    pub properties: W64,
    /// Which fields of [`Call`] it sets: [`mpi_abi::Fields::word`].
    pub fields: W64,
    /// Number plus one of the function with counts of type `int`: itself for most.
    pub base: W32,
    /// Number plus one of the function that does the same and waits until it is done: itself for most.
    pub operation: W32,
}

/// Where source files stand that no process has mapped: above all addresses of programs.
const SOURCES: u64 = 1 << 63;
/// How far their modules reach: the line with the number `n` has the address `n` behind the beginning.
pub const SOURCE_SIZE: u64 = 1 << 24;

/// Where the module of the source file with this index begins.
pub const fn source_start(index: u64) -> u64 {
    SOURCES + index * SOURCE_SIZE
}

/// The line that an address stands for; none for an address of a program.
pub const fn source_line(address: u64) -> Option<u64> {
    if address < SOURCES { None } else { Some(address % SOURCE_SIZE) }
}

/// A file mapped executable into the process, or a source file whose lines are the addresses ([`source_line`]): programs of
/// languages that have no code of the machine call from lines.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Module {
    /// Guards the record.
    pub seq: Seq,
    /// What must be added to an address in the file to get one in the process.
    pub bias: W64,
    /// First mapped address.
    pub start: W64,
    /// First address behind the mapping.
    pub end: W64,
    /// Path of the file.
    pub path: Text,
}

/// Text in the strings sections.
#[repr(C)]
#[derive(Debug, Clone, Default)]
pub struct Text {
    /// Offset of the first byte from the start of the image; zero for no text.
    pub offset: W64,
    /// Bytes.
    pub len: W64,
}

/// An array in the words sections.
#[repr(C)]
#[derive(Debug, Clone, Default)]
pub struct Words {
    /// Offset of the first word from the start of the image; zero for no array.
    pub offset: W64,
    /// 64-bit words.
    pub len: W64,
}

/// A sentence about something that the layer could not do or had to leave out.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Note {
    /// Guards the record.
    pub seq: Seq,
    /// When, in ticks.
    pub ticks: W64,
    /// How often.
    pub count: W64,
    /// The sentence.
    pub text: Chars<232>,
}

/// The call that a thread is in, or was in last. Which fields mean something follows from the function's parameters.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Call {
    /// Guards the record.
    pub seq: Seq,
    /// Function number plus one, with a bit once the call has ended; zero before the first. Read and written by [`Call::open`] and
    /// its like alone.
    pub(crate) function: W32,
    /// How many calls of the thread are open below this one (calls made by user callbacks).
    pub nested: W32,
    /// When the call began, or when it ended, in ticks (zero while times are not recorded). Of a start whose end was not looked at
    /// ([`estimate`](crate::sites::estimate)), when it began.
    pub since: W64,
    /// Address behind the call in the program.
    pub return_address: W64,
    /// Stack pointer of the caller, just after the return address was popped.
    pub stack_pointer: W64,
    /// The communicator, window, file or session.
    pub object: W64,
    /// The datatype.
    pub datatype: W64,
    /// How many elements, requests, …
    pub count: W64,
    /// Destination, source or root, as the program gave it (sign-extended).
    pub peer: W64,
    /// The tag, as the program gave it (sign-extended).
    pub tag: W64,
    /// The request or message that is waited for.
    pub request: W64,
    /// Calls that this thread has completed, outermost and nested ones together.
    pub completed: W64,
    /// What follows from the function. Send and receive: source and tag of the receive; one with a second object: its handle, then
    /// the leader of the local group; a function with an operation: its handle in the third; a collective: its number in the last.
    pub extra: [W64; 4],
}

/// What a thread did in one function.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Counter {
    /// Completed calls.
    pub count: W64,
    /// Ticks spent in them.
    pub ticks: W64,
    /// Bytes that this process moved by them, sent or received: a message that a request gets counts for what made the request,
    /// or started it if it is persistent; what a persistent collective moves, for what initialised it. Of a function that fetches, both ways.
    /// [`Moved`](crate::derive::Moved) says which way they went.
    pub bytes: W64,
}

/// What a thread does, and what it did in all functions together. The sequence number of the call also guards what is known of
/// its polls.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct ThreadHead {
    /// The kernel's thread id; zero once the thread has ended and the record may be taken by another.
    pub tid: W32,
    /// How many threads have used this record.
    pub generation: W32,
    /// Ticks spent in outermost calls.
    pub mpi_ticks: W64,
    /// When the thread made its first call, in ticks; zero in images from before.
    pub attached: W64,
    /// Ticks that former threads with this record lived after their first calls.
    pub lived: W64,
    /// Of [`crate::derive::Polling`]: ticks between polls, begin of the present run, return of its latest poll.
    pub polling_ticks: W64,
    #[allow(missing_docs)]
    pub polling_since: W64,
    #[allow(missing_docs)]
    pub polling_latest: W64,
    /// Of the same: polls of the present run, and completed calls with the latest of them.
    pub polls: W32,
    #[allow(missing_docs)]
    pub polled: W32,
    /// The call that the thread is in.
    pub call: Call,
}

/// A thread that called MPI: a [`ThreadHead`], which it is used as, and counters.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Thread {
    #[allow(missing_docs)]
    pub head: ThreadHead,
    /// By function number.
    pub counters: [Counter; MAX_FUNCTIONS],
    /// The first requests of the array that the last call was given that completes several (`MPI_Waitall`, `MPI_Testany`, …);
    /// zero for `MPI_REQUEST_NULL`. How many there are is the call's count.
    pub waited: [W64; WAITED],
    /// Bytes of messages that came in, by the function that [`Counter::bytes`] counts them for; zero in images from before.
    pub received: [W64; MAX_FUNCTIONS],
    /// Address of its state in an interpreter of Python, a `PyThreadState`; zero if it has none, or that is not known.
    pub interpreter: W64,
    /// The interpreter's version, `3.python`.
    pub python: W32,
    /// Not zero if not all polls of the present run asked for the same thing.
    pub asks_several: W32,
    /// Of the calls of each function, those whose time is an [estimate](crate::sites::estimate); zero in images from before.
    pub estimated: [W64; MAX_FUNCTIONS],
    /// The longest run of polls that something else has ended, in ticks; zero in images from before.
    pub longest_run: W64,
    /// What the latest poll asked for, as a number that differs where that does.
    pub asked: W64,
    /// The address of the program behind a poll of the present run that has asked for the same as its latest, where the function
    /// may have been called by a binding; zero in images from before.
    pub polled_from: W64,
    /// Of [`crate::derive::Polling`]: ticks between polls of the present run that are no polling time, plus one; zero in images from before.
    pub polling_paused: W64,
}

impl std::ops::Deref for Thread {
    type Target = ThreadHead;

    #[inline(always)]
    fn deref(&self) -> &ThreadHead {
        &self.head
    }
}

const _: () = {
    assert!(size_of::<Section>() == 32);
    assert!(size_of::<Clock>() == 56);
    assert!(size_of::<Header>() == HEADER_SIZE);
    assert!(offset_of!(Header, len) == 24);
    assert!(offset_of!(Header, state) == 32);
    assert!(offset_of!(Header, sections) == 36);
    assert!(offset_of!(Header, address) == 48);
    assert!(offset_of!(Header, clock) == 56);
    assert!(offset_of!(Header, _reserved) == 112);
    assert!(offset_of!(Header, lost) == 128);
    assert!(offset_of!(Header, directory) == 512);
    assert!(size_of::<Call>() == 128);
    assert!(offset_of!(Call, return_address) == 24);
    assert!(size_of::<Counter>() == 24);
    assert!(offset_of!(FunctionRecord, properties) == 48);
    assert!(size_of::<FunctionRecord>() == 72);
    assert!(offset_of!(ThreadHead, attached) == 16);
    assert!(offset_of!(ThreadHead, polls) == 56);
    assert!(offset_of!(ThreadHead, call) == 64);
    assert!(size_of::<ThreadHead>() == 192);
    assert!(offset_of!(Thread, counters) == 192);
    assert!(offset_of!(Thread, waited) == 192 + 24 * MAX_FUNCTIONS);
    assert!(offset_of!(Thread, received) == 192 + 24 * MAX_FUNCTIONS + 8 * WAITED);
    assert!(offset_of!(Thread, interpreter) == 192 + 32 * MAX_FUNCTIONS + 8 * WAITED);
    assert!(offset_of!(Thread, estimated) == 208 + 32 * MAX_FUNCTIONS + 8 * WAITED);
    assert!(offset_of!(Thread, longest_run) == 208 + 40 * MAX_FUNCTIONS + 8 * WAITED);
    assert!(offset_of!(Thread, polling_paused) == 232 + 40 * MAX_FUNCTIONS + 8 * WAITED);
    assert!(offset_of!(Process, world) == 88);
    assert!(size_of::<Module>() == 48);
    assert!(size_of::<Note>() == 256);
};
