//! The records of an image, version 2, byte by byte.
//!
//! The writer (as a view of the mapping) and the reader (as a copy) use the same types. Every field is a word
//! of [`crate::cell`] or text made of such bytes, so that every bit pattern is a valid value. Offsets are
//! asserted at compile time: if one changes, [`VERSION`] must change too. Fields added at the end of a record
//! must be accounted for in [`Record::LEAST`](crate::Record::LEAST).

use crate::cell::{Seq, W32, W64};
pub use crate::chars::Chars;
use std::mem::{offset_of, size_of};

/// The first eight bytes of every image.
pub const MAGIC: [u8; 8] = *b"MPISCOPE";
/// The version of the layout in this file. Since version 2 a function's number stays when its call has ended
/// ([`Call::ended`]).
pub const VERSION: u32 = 2;
/// The oldest version that can be read as this one: fields added since read as unknown.
pub const OLDEST_VERSION: u32 = 1;
/// Value of the byte-order word if writer and reader agree.
pub const BYTE_ORDER: u32 = 0x0102_0304;
/// Size of the header, and offset of the first section.
pub const HEADER_SIZE: usize = 4096;
/// Maximum number of sections in an image.
pub const DIRECTORY_LEN: usize = 112;
/// Number of functions that a thread counts: more than there are MPI functions, with room for later
/// standards.
pub const MAX_FUNCTIONS: usize = 768;
/// Number of an array's requests that a thread's record keeps.
pub const WAITED: usize = 32;
/// Size of the longest host name, file name and so on that [`Process`] keeps, including the terminating zero.
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

            /// The human-readable name, or `None` for a value of a later version.
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
    /// The kind of a section's records.
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
        /// [`Note`]: what the preload library could not do.
        NOTES = 6 => "notes",
        /// Words of arrays that objects refer to (ranks of a group, arguments of a constructor).
        WORDS = 7 => "words",
        /// [`crate::traffic::Entry`]: messages sent and received.
        LEDGER = 8 => "ledger",
        /// [`crate::traffic::Recent`]: envelopes of the most recently sent and received messages.
        ENVELOPES = 9 => "recent envelopes",
        /// [`crate::faults::Fault`]: errors observed in calls.
        FAULTS = 10 => "faults",
        /// [`crate::one_sided::OneSided`]: one-sided operations and the calls that synchronize them.
        ONE_SIDED = 11 => "one-sided operations",
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
        /// [`crate::traffic::Peer`]: traffic with one rank of one communicator.
        PEERS = 29 => "peers",
        /// One [`crate::traffic::Traffic`].
        TRAFFIC = 30 => "traffic",
        /// [`crate::history::Entered`]: the last collectives of each communicator.
        COLLECTIVES = 31 => "collectives",
        /// Latest values of control and performance variables.
        VARIABLES = 32 => "variables",
        /// [`crate::sites::Site`]: activity of each call site.
        SITES = 33 => "call sites",
        /// [`crate::trace::Ring`]: where each thread's calls are stored, if a trace was requested.
        TRACE_RINGS = 34 => "rings of the trace",
        /// [`crate::trace::Called`]: the last calls of each thread.
        TRACE = 35 => "trace",
        /// [`crate::call_path::CallPath`]: calls that libraries make for the program.
        CALL_PATHS = 36 => "call paths",
    }
}

codes! {
    /// The process's progress.
    State {
        /// Created by `mpiscope run`; not claimed by an MPI process yet.
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
    /// Kinds of loss: indices into [`Header::lost`].
    Loss {
        /// Calls of threads for which there was no thread record left.
        CALLS = 0 => "calls of threads beyond the limit",
        /// Objects dropped for lack of space.
        OBJECTS = 1 => "objects",
        /// Freed objects whose tombstone was reused.
        TOMBSTONES = 2 => "tombstones of freed objects",
        /// Message ledger entries.
        MESSAGES = 3 => "messages",
        /// User callbacks called without a fresh depth, so that MPI calls inside them were not seen.
        CALLBACKS = 4 => "user callbacks",
        /// Names and arrays dropped for lack of space.
        STRINGS = 5 => "names and arrays",
        /// Events that no callback received.
        EVENTS = 6 => "events",
        /// Requests that could not be followed.
        REQUESTS = 7 => "requests",
        /// Notes beyond the limit.
        NOTES = 8 => "notes",
        /// Calls from places for which there was no record left: they are counted only for their function.
        SITES = 9 => "calls without a call site",
        /// Threads for which the trace had no room.
        TRACE = 10 => "threads that are not in the trace",
        /// Calls by a library for which there was no call path left: they are counted for the library's
        /// place.
        CALL_PATHS = 11 => "calls by a library without the caller's line",
        /// Records of one-sided operations and of the calls that synchronize them.
        ONE_SIDED = 12 => "one-sided operations",
        /// Records of the buffers of collectives.
        BUFFERS = 13 => "buffers of collectives",
    }
}

impl Loss {
    /// The cause of the loss, and a remedy; empty for a kind of a later version.
    pub const fn why(self) -> &'static str {
        match self {
            Self::CALLS => "more threads called MPI than an image has room for",
            Self::OBJECTS | Self::STRINGS | Self::REQUESTS => {
                "the image could not grow: a limit of memory (`ulimit`, the batch system) or a full /dev/shm"
            }
            Self::TOMBSTONES => "set MPISCOPE_TOMBSTONES=N before the start to keep more",
            Self::MESSAGES => "the newest messages overwrite the oldest ones",
            Self::ONE_SIDED => "the newest operations overwrite the oldest ones",
            Self::BUFFERS => "the newest buffers overwrite the oldest ones",
            Self::CALLBACKS => "more user functions than an image has room for",
            Self::EVENTS => "no callback took them in time",
            Self::SITES => "set MPISCOPE_SITES=N before the start to keep more call sites",
            Self::TRACE => "a smaller MPISCOPE_TRACE=SIZE needs less room for each thread",
            Self::NOTES => "more sentences than are kept",
            Self::CALL_PATHS => "the program calls MPI through libraries in more ways than are kept",
            _ => "",
        }
    }
}

/// Number of kinds of loss that the header has room for.
pub const LOSSES: usize = 16;

codes! {
    /// The unit of the image's clock.
    ClockKind {
        /// The processor's time stamp counter; [`Clock`] contains the two points needed to convert it.
        COUNTER = 1 => "time stamp counter",
        /// Nanoseconds of `CLOCK_MONOTONIC`.
        MONOTONIC = 2 => "CLOCK_MONOTONIC",
    }
}

/// Conversion of the image's ticks to seconds.
///
/// Two points in time, each in ticks and in nanoseconds of `CLOCK_MONOTONIC`. The second point is moved
/// forward on slow paths; a reader on the same host may use the current time instead.
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

/// An entry of the directory: the location of one section's records.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Section {
    /// A [`SectionKind`]. Written last: an entry whose kind is zero does not exist yet.
    pub kind: W32,
    /// Bytes from one record to the next.
    pub record_size: W32,
    /// Offset of the first record.
    pub offset: W64,
    /// Number of records that fit.
    pub capacity: W64,
    /// Number of records ever used (bytes, for strings; words, for words).
    pub used: W64,
}

/// The first page of an image.
#[repr(C)]
#[derive(Debug)]
pub struct Header {
    /// [`MAGIC`], in memory order.
    pub magic: W64,
    /// [`VERSION`].
    pub version: W32,
    /// [`BYTE_ORDER`], in the byte order of the writer's processor.
    pub byte_order: W32,
    /// [`HEADER_SIZE`].
    pub header_size: W32,
    /// Size of a pointer in the process, in bytes.
    pub pointer_size: W32,
    /// Number of bytes of the file in use.
    pub len: W64,
    /// A [`State`].
    pub state: W32,
    /// Number of directory entries in use.
    pub sections: W32,
    /// ID of the process that claimed the image, or zero.
    pub pid: W32,
    /// Size of a directory entry.
    pub section_size: W32,
    /// Address at which the process has mapped the image (for debuggers; readers never need it).
    pub address: W64,
    /// See [`Clock`].
    pub clock: Clock,
    _reserved: [W64; 2],
    /// Number of losses, by [`Loss`].
    pub lost: [W64; LOSSES],
    _further: [W64; 32],
    /// The sections, in the order of their creation.
    pub directory: [Section; DIRECTORY_LEN],
}

/// The process's identity. Strings are written once, before [`State::INITIALIZED`] is.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Process {
    /// Guards the record.
    pub seq: Seq,
    /// Process ID, in the process's own PID namespace.
    pub pid: W32,
    /// The parent's process ID.
    pub ppid: W32,
    /// Rank in `MPI_COMM_WORLD`; `u32::MAX` while unknown.
    pub rank: W32,
    /// Size of `MPI_COMM_WORLD`; zero while unknown.
    pub size: W32,
    /// Binary interface of the MPI library: an [`mpi_abi::AbiKind`].
    pub abi: W32,
    /// Version and subversion of the MPI standard that the library implements: `major << 16 | minor`.
    pub mpi_version: W32,
    /// Granted level of thread support, from 0 (`MPI_THREAD_SINGLE`) to 3 (`MPI_THREAD_MULTIPLE`) on every
    /// ABI.
    pub thread_level: W32,
    /// What is recorded, as bits: see [`Recording`].
    pub recording: W32,
    /// When `MPI_Init` was entered and left, and `MPI_Finalize` entered and left, in ticks; zero if not yet.
    pub init_enter: W64,
    #[allow(missing_docs)]
    pub init_leave: W64,
    #[allow(missing_docs)]
    pub finalize_enter: W64,
    #[allow(missing_docs)]
    pub finalize_leave: W64,
    /// Error code passed to `MPI_Abort`.
    pub abort_code: W64,
    /// Index of the thread that called `MPI_Init`.
    pub main_thread: W64,
    /// Name of the world: the same on all its ranks, and different from that of every other world.
    pub world: Chars<64>,
    /// The host's name.
    pub host: Chars<TEXT>,
    /// Path of the executable.
    pub executable: Chars<TEXT>,
    /// Arguments, separated by spaces.
    pub command: Chars<TEXT>,
    /// First line of the result of `MPI_Get_library_version`.
    pub library: Chars<TEXT>,
    /// File from which the MPI library was loaded.
    pub library_path: Chars<TEXT>,
    /// Name of the job, shared by all processes started by one `mpiscope run` or one launcher.
    pub job: Chars<64>,
    /// Version of the preload library that writes the image.
    pub layer: Chars<64>,
    /// Number of calls of `MPI_Pcontrol` with a level of 2 or more, which mark the program's iterations. This
    /// and all following fields are zero in older images.
    pub marks: W64,
    /// When the last such call was made, in ticks.
    pub marked_at: W64,
    /// The [rank assigned by the launcher](crate::launcher::rank), plus one; zero if there is none. It may
    /// differ from `rank`: the launcher of a different library makes each process a world of its own.
    pub launcher_rank: W64,
    /// When `MPI_Abort` was first called, in ticks; zero if it was not.
    pub aborted_at: W64,
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
        /// The time of each nonblocking call that starts an operation, rather than of one in sixteen.
        STARTS = 64 => "starts",
        /// Whether the buffers of nonblocking sends and of one-sided operations stay unchanged until these are
        /// complete.
        CONTENTS = 128 => "contents",
    }
}

/// A function; its number is its index in the section. Read through [`crate::Functions`].
#[repr(C)]
#[derive(Debug, Clone)]
pub struct FunctionRecord {
    /// The name in the C binding.
    pub name: Chars<48>,
    /// What its calls do: [`mpi_abi::Properties::word`]. This and all following fields are zero in older
    /// images.
    pub properties: W64,
    /// The fields of [`Call`] that it sets: [`mpi_abi::Fields::word`].
    pub fields: W64,
    /// Number plus one of the function with counts of type `int`: for most, the function itself.
    pub base: W32,
    /// Number plus one of the function that does the same and waits for completion: for most, the function
    /// itself.
    pub operation: W32,
}

/// Start of the addresses of source files, which no process has mapped: above all addresses of code.
const SOURCES: u64 = 1 << 63;
/// Size of a source file's module: line number `n` has the address `n` after the module's start.
pub const SOURCE_SIZE: u64 = 1 << 24;

/// Start of the module of the source file with this index.
pub const fn source_start(index: u64) -> u64 {
    SOURCES + index * SOURCE_SIZE
}

/// The line that an address represents; `None` for an address of code.
pub const fn source_line(address: u64) -> Option<u64> {
    if address < SOURCES { None } else { Some(address % SOURCE_SIZE) }
}

/// A file mapped executable into the process, or a source file whose addresses are its lines
/// ([`source_line`]), for languages that are not compiled to machine code.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Module {
    /// Guards the record.
    pub seq: Seq,
    /// Difference between an address in the process and the one in the file.
    pub bias: W64,
    /// First mapped address.
    pub start: W64,
    /// First address after the mapping.
    pub end: W64,
    /// Path of the file.
    pub path: Text,
}

/// Text in the strings sections.
#[repr(C)]
#[derive(Debug, Clone, Default)]
pub struct Text {
    /// Offset of the first byte from the start of the image; zero if there is no text.
    pub offset: W64,
    /// Length in bytes.
    pub len: W64,
}

/// An array in the words sections.
#[repr(C)]
#[derive(Debug, Clone, Default)]
pub struct Words {
    /// Offset of the first word from the start of the image; zero if there is no array.
    pub offset: W64,
    /// Length in 64-bit words.
    pub len: W64,
}

/// A message about something that the preload library could not do or had to leave out.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Note {
    /// Guards the record.
    pub seq: Seq,
    /// Time of the first occurrence, in ticks.
    pub ticks: W64,
    /// Number of occurrences.
    pub count: W64,
    /// The message.
    pub text: Chars<232>,
}

/// The call that a thread is in, or was in last. The function's parameters determine which fields have a
/// meaning.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Call {
    /// Guards the record.
    pub seq: Seq,
    /// Function number plus one, with a bit set once the call has ended; zero before the first call. Read and
    /// written only by [`Call::open`] and its siblings.
    pub(crate) function: W32,
    /// Number of the thread's open calls below this one (calls made by user callbacks).
    pub nested: W32,
    /// When the call began, or when it ended, in ticks (zero while times are not recorded). For a start that
    /// was not timed ([`estimate`](crate::sites::estimate)), when it began.
    pub since: W64,
    /// The call's return address in the program.
    pub return_address: W64,
    /// Stack pointer of the caller, just after the return address has been popped.
    pub stack_pointer: W64,
    /// The communicator, window, file or session.
    pub object: W64,
    /// The datatype.
    pub datatype: W64,
    /// Number of elements, requests, …
    pub count: W64,
    /// Destination, source or root, as passed by the program (sign-extended).
    pub peer: W64,
    /// The tag, as passed by the program (sign-extended).
    pub tag: W64,
    /// The request or message being waited for.
    pub request: W64,
    /// Number of calls that this thread has completed, outermost and nested ones together.
    pub completed: W64,
    /// Function-specific values. Send and receive: source and tag of the receive; with a second object: its
    /// handle, then the leader of the local group; with an operation: its handle in the third; a collective:
    /// its number in the last.
    pub extra: [W64; 4],
}

/// A thread's activity in one function.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Counter {
    /// Number of completed calls.
    pub count: W64,
    /// Ticks spent in them.
    pub ticks: W64,
    /// Bytes that this process moved by these calls, sent or received. A request's message is counted for the
    /// call that created the request, or that started it if it is persistent; bytes of a persistent
    /// collective are counted for the call that initialized it. For a function that fetches, both directions
    /// are counted. [`Moved`](crate::derive::Moved) splits them by direction.
    pub bytes: W64,
}

/// What a thread is doing, and what it did in all functions together. The sequence number of the call also
/// guards the polling fields.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct ThreadHead {
    /// The kernel's thread ID; zero once the thread has ended and the record may be reused by another one.
    pub tid: W32,
    /// Number of threads that have used this record.
    pub generation: W32,
    /// Ticks spent in outermost calls.
    pub mpi_ticks: W64,
    /// When the thread made its first call, in ticks; zero in older images.
    pub attached: W64,
    /// Total lifetime, from their first calls on, of former threads with this record, in ticks.
    pub lived: W64,
    /// For [`crate::derive::Polling`]: ticks between polls, start of the current run, return of its latest
    /// poll.
    pub polling_ticks: W64,
    #[allow(missing_docs)]
    pub polling_since: W64,
    #[allow(missing_docs)]
    pub polling_latest: W64,
    /// Likewise: number of polls in the current run, and of completed calls at the latest of them.
    pub polls: W32,
    #[allow(missing_docs)]
    pub polled: W32,
    /// The call that the thread is in.
    pub call: Call,
}

/// An error that the library has found in a call of the program, and for which it calls an error handler: one
/// that ends the process, or the program's own, never returns.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Raised {
    /// Function number plus one of the call; zero while no handler is open.
    pub function: W32,
    /// The class of the error.
    pub class: W32,
    /// Address behind the call in the program.
    pub from: W64,
    /// When, in ticks.
    pub at: W64,
    /// Calls that the thread had completed.
    pub completed: W64,
}

/// A thread that called MPI: a [`ThreadHead`], to which it dereferences, and counters.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Thread {
    #[allow(missing_docs)]
    pub head: ThreadHead,
    /// Activity by function number.
    pub counters: [Counter; MAX_FUNCTIONS],
    /// The first requests of the array passed to the last call that completes several (`MPI_Waitall`,
    /// `MPI_Testany`, …); zero for `MPI_REQUEST_NULL`. Their number is the call's count.
    pub waited: [W64; WAITED],
    /// Bytes of received messages, by the function for which [`Counter::bytes`] counts them; zero in older
    /// images.
    pub received: [W64; MAX_FUNCTIONS],
    /// Address of the thread's state in a Python interpreter, a `PyThreadState`; zero if it has none or it is
    /// unknown.
    pub interpreter: W64,
    /// The interpreter's version, `3.python`.
    pub python: W32,
    /// Nonzero if not all polls of the current run asked for the same thing.
    pub asks_several: W32,
    /// Number of calls, by function, whose time is an [estimate](crate::sites::estimate); zero in older
    /// images.
    pub estimated: [W64; MAX_FUNCTIONS],
    /// The longest run of polls that was ended by something else, in ticks; zero in older images.
    pub longest_run: W64,
    /// What the latest poll asked for, as a hash.
    pub asked: W64,
    /// The program's return address of a poll in the current run that asked for the same as the latest one,
    /// if the function may have been called through a binding; zero in older images.
    pub polled_from: W64,
    /// For [`crate::derive::Polling`]: ticks between polls of the current run that are not polling time, plus
    /// one; zero in older images.
    pub polling_paused: W64,
    /// The error that the library has found in a call, while its error handler has not returned; all zero in
    /// images from before.
    pub raised: Raised,
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
    assert!(offset_of!(Thread, raised) == 240 + 40 * MAX_FUNCTIONS + 8 * WAITED);
    assert!(size_of::<Raised>() == 32);
    assert!(offset_of!(Process, world) == 88);
    assert!(size_of::<Module>() == 48);
    assert!(size_of::<Note>() == 256);
};
