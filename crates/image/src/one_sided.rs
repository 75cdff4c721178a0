//! One-sided operations of a process and the calls that synchronize them, one by one.
//!
//! Written only while messages are recorded: a ring of the newest records, created with the first one, with
//! as many records as a ring of the ledger. What an operation means at its target (which bytes, and which
//! other operations it conflicts with) is left to the reader, which has the images of all processes.

use crate::cell::{W32, W64};
use crate::layout::{SectionKind, codes};
use crate::{Error, Image, Source};
use std::mem::{offset_of, size_of};
use std::sync::atomic::{Ordering, fence};

codes! {
    /// The kind of a [`OneSided`] call.
    OneSidedKind {
        /// `MPI_Put`, `MPI_Rput`.
        PUT = 1 => "put",
        /// `MPI_Get`, `MPI_Rget`.
        GET = 2 => "get",
        /// `MPI_Accumulate`, `MPI_Raccumulate`.
        ACCUMULATE = 3 => "accumulate",
        /// `MPI_Get_accumulate`, `MPI_Rget_accumulate`, `MPI_Fetch_and_op`.
        FETCH = 4 => "fetch",
        /// `MPI_Compare_and_swap`.
        SWAP = 5 => "compare and swap",
        /// `MPI_Win_fence`.
        FENCE = 16 => "fence",
        /// `MPI_Win_start`: one record for each member of the group.
        START = 17 => "start",
        /// `MPI_Win_complete`.
        COMPLETE = 18 => "complete",
        /// `MPI_Win_post`: one record for each member of the group.
        POST = 19 => "post",
        /// `MPI_Win_wait`, or `MPI_Win_test` that returned true.
        WAIT = 20 => "wait",
        /// `MPI_Win_lock`.
        LOCK = 21 => "lock",
        /// `MPI_Win_unlock`.
        UNLOCK = 22 => "unlock",
        /// `MPI_Win_lock_all`.
        LOCK_ALL = 23 => "lock_all",
        /// `MPI_Win_unlock_all`.
        UNLOCK_ALL = 24 => "unlock_all",
        /// `MPI_Win_flush`.
        FLUSH = 25 => "flush",
        /// `MPI_Win_flush_all`.
        FLUSH_ALL = 26 => "flush_all",
        /// `MPI_Win_flush_local`.
        FLUSH_LOCAL = 27 => "flush_local",
        /// `MPI_Win_flush_local_all`.
        FLUSH_LOCAL_ALL = 28 => "flush_local_all",
        /// `MPI_Win_attach`.
        ATTACH = 29 => "attach",
        /// `MPI_Win_detach`.
        DETACH = 30 => "detach",
    }
}

impl OneSidedKind {
    /// Whether it is an operation on the memory of the target.
    #[must_use]
    pub const fn is_operation(self) -> bool {
        self.0 != 0 && self.0 < Self::FENCE.0
    }

    /// Whether it only reads the origin's buffer.
    #[must_use]
    pub const fn gives(self) -> bool {
        matches!(self, Self::PUT | Self::ACCUMULATE)
    }

    /// The operations that such a call completes at the origin: all, those on its target, or none.
    #[must_use]
    pub const fn completes(self) -> Completes {
        match self {
            Self::FENCE | Self::COMPLETE | Self::UNLOCK_ALL | Self::FLUSH_ALL | Self::FLUSH_LOCAL_ALL => {
                Completes::All
            }
            Self::UNLOCK | Self::FLUSH | Self::FLUSH_LOCAL => Completes::OnTarget,
            _ => Completes::None,
        }
    }

    /// Whether the operations that such a call completes may still be under way at the target.
    #[must_use]
    pub const fn is_local(self) -> bool {
        matches!(self, Self::FLUSH_LOCAL | Self::FLUSH_LOCAL_ALL)
    }
}

/// Which operations of a process a call completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completes {
    #[allow(missing_docs)]
    None,
    /// Those on the target of the call.
    OnTarget,
    /// Those on all members of the window.
    All,
}

codes! {
    /// Bits of [`OneSided::flags`].
    OneSidedFlag {
        /// The lock of the target is exclusive.
        EXCLUSIVE = 1 => "exclusive",
        /// The operation has a request.
        REQUEST = 2 => "with a request",
        /// `MPI_Win_start`, `MPI_Win_post`: a further member of the group of the call before.
        FURTHER = 4 => "further member",
        /// The contents of the origin's buffer changed before a call completed the operation at the origin.
        CHANGED = 8 => "changed",
        /// That buffer could no longer be read then.
        RELEASED = 16 => "released",
        /// The operation's request was complete when the call returned, and has a handle that it shares with others.
        AT_START = 32 => "complete at start",
        /// The origin's buffer has no gaps, and as many bytes as are accessed at the target.
        GAPLESS = 64 => "gapless",
        /// The operation writes bytes twice: elements of a datatype overlap.
        OVERLAPPING = 128 => "overlapping",
    }
}

/// [`OneSided::target`] of `MPI_Win_start` and `MPI_Win_post` whose group consists of all processes of the
/// world, or of none: see [`Group::members`](crate::objects::Group::members).
pub const WHOLE_WORLD: u32 = u32::MAX;
/// The same for groups too large to record.
pub const MANY: u32 = u32::MAX - 1;

/// A one-sided operation, or a call that synchronizes them.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct OneSided {
    /// Number of the record, counting from 1; zero while it is being written.
    pub number: W64,
    /// Identity of the window.
    pub window: W64,
    /// A [`OneSidedKind`].
    pub kind: W32,
    /// Function number plus one of the call.
    pub function: W32,
    /// Rank of the target in the window; in a start and a post: rank in MPI_COMM_WORLD of a member of the
    /// group, [`WHOLE_WORLD`] or [`MANY`].
    pub target: W32,
    /// Bits of [`OneSidedFlag`].
    pub flags: W32,
    /// The call's return address.
    pub from: W64,
    /// When the call began, in ticks; zero without times.
    pub since: W64,
    /// When it returned.
    pub until: W64,
    /// Number of collective calls on the window that this process had entered: the same in all processes
    /// between the same two fences.
    pub collectives: W64,
    /// The epochs that were open, as far as they concern the target: bits of
    /// [`Epoch`](crate::objects::Epoch). This and the following fields have a meaning only for operations,
    /// except where noted.
    pub epochs: W32,
    /// Kind of the target's elements, if they are of one kind: see
    /// [`Mixture::stored`](crate::mixture::Mixture::stored).
    pub element: W32,
    /// Displacement in the target's memory, as passed by the program. Attach and detach: the address. Start
    /// and post: uid of the group.
    pub disp: W64,
    /// First byte, relative to the displacement (signed).
    pub low: W64,
    /// Byte after the last one, likewise. Attach: number of bytes.
    pub high: W64,
    /// Number of bytes that the operation accesses: fewer than from the first to the last if there are gaps.
    pub bytes: W64,
    /// Handle of the reduction operation; zero if there is none.
    pub op: W64,
    /// Handle of the target's datatype.
    pub datatype: W64,
    /// Number of elements of that datatype.
    pub count: W64,
    /// Address of the origin's buffer, which a get writes and others read; zero if unknown.
    pub buffer: W64,
    /// A hash of the contents of that buffer, until the operation is complete at the origin; zero if it was not
    /// computed, as in older images.
    pub digest: W64,
    /// With a request: return address of the call that completed the request, if it was the first to complete the
    /// operation at the origin while there was a hash.
    pub waited_from: W64,
    /// Number plus one of that call's function; zero if there is none, as in older images.
    pub waited_in: W64,
    /// Address of a buffer without gaps at the origin into which values are fetched beside the one that is combined;
    /// zero if there is none, as in older images.
    pub result: W64,
    /// With a request: when the call that completed the request returned; zero if it did not, or is not known.
    pub waited_at: W64,
}

impl OneSided {
    /// Writes the record.
    pub fn write(&self, number: u64, fill: impl FnOnce(&Self)) {
        self.number.set(0);
        fence(Ordering::Release);
        fill(self);
        self.number.atomic().store(number, Ordering::Release);
    }

    /// Whether a flag is set.
    #[must_use]
    pub fn is(&self, flag: OneSidedFlag) -> bool {
        self.flags.get() & flag.0 != 0
    }
}

/// Maximum number of records read.
const MOST: u64 = 1 << 20;

/// Reads the records that are still kept, oldest first, and whether older ones have been overwritten.
///
/// # Errors
/// If the image is damaged or cannot be read.
pub fn read<S: Source>(image: &Image<S>) -> Result<(Vec<OneSided>, bool), Error> {
    let table = image.table::<OneSided>(SectionKind::ONE_SIDED)?;
    let kept = table.len();
    let record = |index: u64| {
        let before = image.get::<OneSided>(&table, index).ok()?.value;
        let after = image.get::<OneSided>(&table, index).ok()?.value.number.get();
        (after != 0 && before.number.get() == after).then_some(before)
    };
    let mut found: Vec<OneSided> = (0..kept.min(MOST)).filter_map(record).collect();
    found.sort_by_key(|record| record.number.get());
    let newest = found.last().map_or(0, |record| record.number.get());
    let complete = newest == found.len() as u64;
    Ok((found, !complete))
}

const _: () = {
    assert!(offset_of!(OneSided, from) == 32);
    assert!(offset_of!(OneSided, epochs) == 64);
    assert!(offset_of!(OneSided, low) == 80);
    assert!(offset_of!(OneSided, count) == 120);
    assert!(offset_of!(OneSided, digest) == 136);
    assert!(offset_of!(OneSided, waited_in) == 152);
    assert!(offset_of!(OneSided, result) == 160);
    assert!(offset_of!(OneSided, waited_at) == 168);
    assert!(size_of::<OneSided>() == 176);
};
