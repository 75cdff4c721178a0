//! The records of MPI objects.
//!
//! Every record begins with the same [`Head`]: which handle, whether it lives, who made and freed it and where.
//! A freed object stays as a tombstone until its record is needed again. What is large or can be worked out
//! (the type map of a datatype, the members of a group) is left to the reader, which has the constructor's
//! arguments.

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
            /// The section that has the records of a kind of objects.
            #[must_use]
            pub const fn of(kind: ObjectKind) -> Option<Self> {
                match kind {
                    $(ObjectKind::$name => Some(Self::$section),)*
                    _ => None,
                }
            }

            /// The kind of the objects whose records stand in this section; none for sections of something else.
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
    /// Life of an object.
    Life {
        EMPTY = 0 => "unused record",
        LIVE = 1 => "live",
        /// A call that frees it is under way; a request: freed by the program before its completion was seen.
        MARKED = 2 => "marked for freeing",
        /// The program has freed it. Whether MPI still holds it follows from the other records.
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
        /// The library handed out the same handle for several objects (requests complete at start).
        SHARED_HANDLE = 256 => "shared handle",
        /// For readers: a debugger has set [`Head::pinned`]. The layer never writes it.
        PINNED = 512 => "kept for a debugger",
        CANCELLED = 1024 => "cancelled",
        ACTIVE = 2048 => "active",
        /// A call that completes requests has been entered with it.
        WAITED = 4096 => "being waited for",
        /// Its handle has been given to another request before its end was noted.
        DISPLACED = 8192 => "displaced",
        /// While it was active, a call made another request in a variable that held its handle. It may have been copied before.
        OVERWRITTEN = 16384 => "overwritten",
        /// It was `MPI_Startall` that started it last.
        STARTED_BY_ALL = 32768 => "started by MPI_Startall",
    }
}

/// What every object's record begins with.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Head {
    /// Guards the record.
    pub seq: Seq,
    /// The handle in C, zero-extended to 64 bits.
    pub handle: W64,
    /// Names the object within the process and is never used twice: a count per kind in the upper 56 bits, the
    /// [`SectionKind`](crate::layout::SectionKind) of its table in the lower 8; see [`uid`].
    pub uid: W64,
    /// A [`Life`].
    pub life: W32,
    /// Bits of [`Flag`].
    pub flags: W32,
    /// Function number plus one of the call that made the object; zero for predefined ones.
    pub made_by: W16,
    /// Written by a debugger, in the stopped process: not zero keeps the record after its object was freed. It has a word of
    /// its own, so that no thread can be stopped between reading it and writing it back.
    pub pinned: W16,
    /// Function number plus one of the call that freed it.
    pub freed_by: W32,
    /// When it was made, in ticks.
    pub made_at: W64,
    /// The address behind the call that made it.
    pub made_from: W64,
    /// When it was freed, in ticks.
    pub freed_at: W64,
    /// The address behind the call that freed it.
    pub freed_from: W64,
    /// Uid of the object that this one was made from (parent communicator, old datatype).
    pub parent: W64,
    /// The same object has the same value on every process that shares it, and no other object has it.
    pub identity: W64,
    /// For the layer's tables: offset of the next record of a chain.
    pub link: W64,
}

/// The uid of the `serial`th object (from 1) of a kind.
pub const fn uid(kind: SectionKind, serial: u64) -> u64 {
    serial << 8 | kind.0 as u64
}

/// Which object of its kind it is, from 1.
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
    /// Communicators made from this one so far, by any operation: part of the identity of the next.
    pub children: W32,
    /// Calls so far that make windows and files on it, whether they succeeded or not: part of the identity of the next.
    pub made_on: W32,
    /// Collectives entered on this communicator.
    pub collectives: W64,
    /// Ranks in MPI_COMM_WORLD of the (local) group, in order; `u64::MAX` for a process outside of it. Empty if
    /// the members are those of the world, in its order. Duplicates share the array.
    pub members: Words,
    /// The same for the remote group of an intercommunicator.
    pub remote: Words,
    /// As the library states it for the new communicator. Cartesian: ndims, dims…, periods…; graph: nnodes,
    /// index…, edges… (index[nnodes-1] of them); distributed graph: indegree, outdegree, weighted, sources…,
    /// [source weights…,] destinations…, [destination weights…].
    pub topology_args: Words,
    /// Handle of the error handler last attached, zero if never (that of the parent holds, see `head.parent`).
    pub errhandler: W64,
    /// Handle of the info last given, zero if never.
    pub info: W64,
    /// First of the [`Peer`](crate::traffic::Peer) records of this communicator plus one, `size` (or remote size) of them; zero if
    /// there are none yet.
    pub peers: W64,
    /// See `MPI_Comm_set_name`; empty if the program gave no name.
    pub name: Chars<128>,
    /// Uid of `errhandler`, zero if it is predefined or was never attached.
    pub errhandler_uid: W64,
    /// Uid of `info`, zero if there is none.
    pub info_uid: W64,
    /// Uid of the second communicator that it was made from: the peer communicator of `MPI_Intercomm_create`.
    pub other_parent: W64,
    /// The number that set siblings apart when it was made: colour, split type, tag; zero without one.
    pub colour: W64,
    /// Offset of the first [`Attribute`]; zero for none.
    pub attributes: W64,
    /// The pairs of the info last given, as they were then: see [`pairs`].
    pub hints: Text,
    /// Starts of persistent collectives, less their initialisations: with [`collectives`](Self::collectives), which these have
    /// a number of, the operations that were performed. Modulo 2^64.
    pub restarts: W64,
    /// How often each of `mpi_abi::COUNTED` was entered on it.
    pub entered: [W32; 16],
    /// Messages received on it of which the library did not say who had sent them (see
    /// [`EntryFlag::UNTOLD`](crate::traffic::EntryFlag::UNTOLD)): no [`Peer`](crate::traffic::Peer) counts them.
    pub untold_sources: W32,
    /// Messages received on it whose tag the library did not say: [`Peer::received_tags`](crate::traffic::Peer::received_tags)
    /// is without them.
    pub untold_tags: W32,
    /// First of the records of its last collectives plus one (see [`history`](crate::history)); zero if there are none.
    pub history: W64,
}

impl Comm {
    /// Messages received on it whose sender is not known, if the library did not say everything of all of them.
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
