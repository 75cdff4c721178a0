//! The records of MPI objects.
//!
//! Every record begins with the same [`Head`]: the handle, the state, and which calls created and freed the
//! object. A freed object stays as a tombstone until its record is needed again. Data that is large or can be
//! computed (the type map of a datatype, the members of a group) is left to the reader, which has the
//! constructor's arguments.

mod attribute;
mod datatype;
mod error_handler;
mod file;
mod group;
mod info;
mod operation;
mod session;
mod window;

pub use attribute::*;
pub use datatype::*;
pub use error_handler::*;
pub use file::*;
pub use group::*;
pub use info::*;
pub use operation::*;
pub use session::*;
pub use window::*;

use crate::cell::{Seq, W16, W32, W64};
use crate::layout::{Chars, SectionKind, Text, Words, codes};
use mpi_abi::ObjectKind;
use std::mem::{offset_of, size_of};

macro_rules! kinds {
    ($($name:ident $number:literal $type:ident $section:ident $word:literal $noun:literal $c_type:literal;)*) => {
        impl SectionKind {
            /// The section that contains the records of a kind of object.
            #[must_use]
            pub const fn of(kind: ObjectKind) -> Option<Self> {
                match kind {
                    $(ObjectKind::$name => Some(Self::$section),)*
                    _ => None,
                }
            }

            /// The kind of the objects whose records are in this section; `None` if it contains something
            /// else.
            #[must_use]
            pub const fn object_kind(self) -> Option<ObjectKind> {
                match self {
                    $(Self::$section => Some(ObjectKind::$name),)*
                    _ => None,
                }
            }
        }
    };
}
mpi_abi::object_kinds!(kinds);

codes! {
    /// State of an object.
    Life {
        EMPTY = 0 => "unused record",
        LIVE = 1 => "live",
        /// A call that frees it is in progress. For a request: freed by the program before its completion was
        /// seen.
        MARKED = 2 => "marked for freeing",
        /// The program has freed it. Whether MPI still uses it follows from other records.
        FREED = 3 => "freed",
    }
}

codes! {
    /// Bits of [`Head::flags`].
    Flag {
        PREDEFINED = 1 => "predefined",
        COMMITTED = 2 => "committed",
        PERSISTENT = 4 => "persistent",
        STARTED = 8 => "started",
        COMPLETE = 16 => "complete",
        INTER = 32 => "intercommunicator",
        COMMUTATIVE = 64 => "commutative",
        FORTRAN = 128 => "made by Fortran",
        /// The library returned the same handle for several objects (requests that are complete at start).
        SHARED_HANDLE = 256 => "shared handle",
        /// For readers: a debugger has set [`Head::pinned`]. The preload library never writes it.
        PINNED = 512 => "kept for a debugger",
        CANCELLED = 1024 => "cancelled",
        ACTIVE = 2048 => "active",
        /// A call that completes requests has been entered with it.
        WAITED = 4096 => "being waited for",
        /// Its handle was reused for another request before its end was recorded.
        DISPLACED = 8192 => "displaced",
        /// While it was active, a call stored another request in a variable that held its handle, which may
        /// have been copied before.
        OVERWRITTEN = 16384 => "overwritten",
        /// Its latest start was by `MPI_Startall`.
        STARTED_BY_ALL = 32768 => "started by MPI_Startall",
    }
}

/// The start of every object's record.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Head {
    /// Guards the record.
    pub seq: Seq,
    /// The handle in C, zero-extended to 64 bits.
    pub handle: W64,
    /// Identifies the object within the process and is never reused: a count per kind in the upper 56 bits,
    /// the `SectionKind` of its table in the lower 8; see [`uid`].
    pub uid: W64,
    /// A [`Life`].
    pub life: W32,
    /// Bits of [`Flag`].
    pub flags: W32,
    /// Function number plus one of the call that created the object; zero for predefined objects.
    pub made_by: W16,
    /// Written by a debugger in the stopped process: if nonzero, the record is kept after its object was
    /// freed. It has a separate word, so that no thread can be stopped between reading it and writing it
    /// back.
    pub pinned: W16,
    /// Function number plus one of the call that freed it.
    pub freed_by: W32,
    /// When it was created, in ticks.
    pub made_at: W64,
    /// Return address of the call that created it.
    pub made_from: W64,
    /// When it was freed, in ticks.
    pub freed_at: W64,
    /// Return address of the call that freed it.
    pub freed_from: W64,
    /// Uid of the object that this one was derived from (parent communicator, old datatype).
    pub parent: W64,
    /// The same value for the same object on every process that shares it, and for no other object.
    pub identity: W64,
    /// For the writer's tables: offset of the next record in a chain.
    pub link: W64,
}

/// The uid of the `serial`th object (counting from 1) of a kind.
pub const fn uid(kind: SectionKind, serial: u64) -> u64 {
    serial << 8 | kind.0 as u64
}

/// Number of the object among those of its kind, counting from 1.
pub const fn serial_of(uid: u64) -> u64 {
    uid >> 8
}

/// The kind of the object with this uid.
pub const fn kind_of(uid: u64) -> SectionKind {
    SectionKind((uid & 0xff) as u32)
}

codes! {
    /// Topology of a communicator: [`Comm::topology`].
    Topology {
        NONE = 0 => "none",
        CART = 1 => "Cartesian",
        GRAPH = 2 => "graph",
        DIST_GRAPH = 3 => "distributed graph",
    }
}

/// A communicator.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Comm {
    #[allow(missing_docs)]
    pub head: Head,
    /// This process's rank in the (local) group.
    pub rank: W32,
    /// Size of the (local) group.
    pub size: W32,
    /// Size of the remote group; zero for an intracommunicator.
    pub remote_size: W32,
    /// A [`Topology`].
    pub topology: W32,
    /// Number of communicators created from this one, by any operation: part of the identity of the next.
    pub children: W32,
    /// Number of calls that create windows and files on it, successful or not, except for those whose arguments
    /// the library rejected: part of the identity of the next.
    pub made_on: W32,
    /// Number of collectives entered on this communicator; without those whose arguments the library rejected.
    pub collectives: W64,
    /// Ranks in MPI_COMM_WORLD of the (local) group, in order; `u64::MAX` for a process outside it. Empty if
    /// the members are those of the world, in its order. Duplicates share the array.
    pub members: Words,
    /// The same for the remote group of an intercommunicator.
    pub remote: Words,
    /// As reported by the library for the new communicator. Cartesian: ndims, dims…, periods…; graph: nnodes,
    /// index…, edges… (index[nnodes-1] of them); distributed graph: indegree, outdegree, weighted, sources…,
    /// [source weights…,] destinations…, [destination weights…].
    pub topology_args: Words,
    /// Handle of the error handler that was last attached, zero if none (the parent's applies, see
    /// `head.parent`).
    pub errhandler: W64,
    /// Handle of the info object that was last set, zero if none.
    pub info: W64,
    /// Index plus one of the first of this communicator's `size` (or remote size)
    /// [`Peer`](crate::traffic::Peer) records; zero if there are none yet.
    pub peers: W64,
    /// See `MPI_Comm_set_name`; empty if the program set no name.
    pub name: Chars<128>,
    /// Uid of `errhandler`, zero if it is predefined or was never attached.
    pub errhandler_uid: W64,
    /// Uid of `info`, zero if there is none.
    pub info_uid: W64,
    /// Uid of the second communicator it was created from: the peer communicator of `MPI_Intercomm_create`.
    pub other_parent: W64,
    /// The number that distinguished siblings at creation: color, split type, tag; zero if there was none.
    pub colour: W64,
    /// Offset of the first [`Attribute`]; zero if there is none.
    pub attributes: W64,
    /// The pairs of the info object that was last set, as of that time: see [`pairs`].
    pub hints: Text,
    /// Number of starts of persistent collectives minus the number of their initializations. Added to
    /// [`collectives`](Self::collectives), which counts the latter, this is the number of operations
    /// performed. Modulo 2^64.
    pub restarts: W64,
    /// Number of times each of `mpi_abi::COUNTED` was entered on it.
    pub entered: [W32; 16],
    /// Number of messages received on it for which the library did not report the sender (see
    /// [`EntryFlag::UNTOLD`](crate::traffic::EntryFlag::UNTOLD)): no [`Peer`](crate::traffic::Peer) counts
    /// them.
    pub untold_sources: W32,
    /// Number of messages received on it for which the library did not report the tag, which
    /// [`Peer::received_tags`](crate::traffic::Peer::received_tags) does not include.
    pub untold_tags: W32,
    /// Index plus one of the first record of its last collectives (see [`history`](crate::history)); zero if
    /// there are none.
    pub history: W64,
}

impl Comm {
    /// Number of messages received on it from an unknown sender; `None` if the library reported sender and
    /// tag of every message.
    pub fn untold(&self) -> Option<u64> {
        let (sources, tags) = (self.untold_sources.get(), self.untold_tags.get());
        (sources | tags != 0).then(|| u64::from(sources))
    }
}

const _: () = {
    assert!(size_of::<Head>() == 96);
    assert!(offset_of!(Head, made_by) == 32);
    assert!(offset_of!(Head, pinned) == 34);
    assert!(offset_of!(Head, made_at) == 40);
    assert!(offset_of!(Comm, members) == 128);
    assert!(offset_of!(Comm, name) == 200);
    assert!(offset_of!(Comm, errhandler_uid) == 328);
    assert!(offset_of!(Comm, restarts) == 384);
    assert!(offset_of!(Comm, entered) == 392);
    assert!(offset_of!(Comm, untold_sources) == 456);
    assert!(offset_of!(Comm, history) == 464);
    assert!(size_of::<Comm>() == 472);
};
