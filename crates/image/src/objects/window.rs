//! Windows: memory, epochs, one-sided operations.

use super::Head;
use crate::cell::{W32, W64};
use crate::layout::{Text, Words, codes};
use std::mem::{offset_of, size_of};

codes! {
    /// How a window got its memory: [`Window::flavour`].
    Flavour {
        UNKNOWN = 0 => "unknown",
        CREATE = 1 => "create",
        ALLOCATE = 2 => "allocate",
        DYNAMIC = 3 => "dynamic",
        SHARED = 4 => "shared",
    }
}

codes! {
    /// Memory model of a window: [`Window::model`].
    Model {
        UNKNOWN = 0 => "unknown",
        SEPARATE = 1 => "separate",
        UNIFIED = 2 => "unified",
    }
}

codes! {
    /// Bits of [`Window::epochs`]: what is open in this process.
    Epoch {
        /// Between two `MPI_Win_fence`, the first without `MPI_MODE_NOSUCCEED`.
        FENCE = 1 => "fence",
        /// `MPI_Win_start` without `MPI_Win_complete`.
        START = 2 => "start",
        /// `MPI_Win_post` without `MPI_Win_wait` or a `MPI_Win_test` that said true.
        POST = 4 => "post",
        /// `MPI_Win_lock` without `MPI_Win_unlock`, for at least one target: see [`Window::locks`].
        LOCK = 8 => "lock",
        /// `MPI_Win_lock_all` without `MPI_Win_unlock_all`.
        LOCK_ALL = 16 => "lock_all",
    }
}

/// Bit of an entry of [`Window::locks`] that says that the lock is exclusive; the rank is in the lower 32 bits.
pub const LOCK_EXCLUSIVE: u64 = 1 << 32;

/// A window. `head.parent` is the uid of the communicator.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Window {
    #[allow(missing_docs)]
    pub head: Head,
    /// Handle of the communicator.
    pub comm: W64,
    /// First byte of this process's memory; zero for a dynamic window.
    pub base: W64,
    /// Its bytes.
    pub size: W64,
    /// Displacement unit.
    pub unit: W64,
    /// A [`Flavour`].
    pub flavour: W32,
    /// A [`Model`].
    pub model: W32,
    /// Handle of the info last given, zero if never.
    pub info: W64,
    /// Its uid.
    pub info_uid: W64,
    /// Handle of the error handler last attached, zero if never.
    pub errhandler: W64,
    /// Its uid.
    pub errhandler_uid: W64,
    /// The name that the program gave.
    pub name: Text,
    /// Offset of the first [`Attribute`](super::Attribute); zero for none.
    pub attributes: W64,
    /// Bits of [`Epoch`].
    pub epochs: W32,
    /// Function number plus one of the last call that synchronised; zero if there was none.
    pub last_sync: W32,
    /// When it returned (began, for one that is under way), in ticks.
    pub last_sync_at: W64,
    /// The address behind it.
    pub last_sync_from: W64,
    /// Uid of the group given to `MPI_Win_start`, from its beginning; zero after `MPI_Win_complete`.
    pub start_group: W64,
    /// Its members as ranks of MPI_COMM_WORLD; empty if they are those of the world.
    pub start_members: Words,
    /// Uid of the group given to `MPI_Win_post`; zero when the epoch has ended.
    pub post_group: W64,
    /// Its members as ranks of MPI_COMM_WORLD; empty if they are those of the world.
    pub post_members: Words,
    /// Locks held, in no order: the target, and [`LOCK_EXCLUSIVE`].
    pub locks: Words,
    /// Memory attached to a dynamic window: address, bytes, address, bytes…
    pub attached: Words,
    /// `MPI_Put`, `MPI_Rput` so far.
    pub puts: W64,
    /// `MPI_Get`, `MPI_Rget` so far.
    pub gets: W64,
    /// Accumulating operations so far.
    pub accumulates: W64,
    /// Operations since the last call that completed all of them.
    pub pending: W64,
    /// Operations to each target that are not known to be complete, by rank; empty for large groups.
    pub targets: Words,
    /// The pairs of the info last given, as they were then: see [`pairs`](super::pairs).
    pub hints: Text,
    /// Collective calls on it that this process has entered.
    pub collectives: W64,
    /// Its last [`LOCK_RING`] locks of a window's memory, [`LockEpoch`] by [`LockEpoch`]: the one with number `n` is at `n %
    /// LOCK_RING`. This and what follows is zero in images from before, and where times are not recorded.
    pub lock_epochs: Words,
    /// How many there were.
    pub locked: W64,
    /// Index of the first of its [`RING`](crate::history::RING) [`Entered`](crate::history::Entered) records, plus one: its last
    /// collective calls. Zero if there were none, and in images from before.
    pub history: W64,
}

/// Locks of a window that are remembered.
pub const LOCK_RING: usize = 32;
/// Words of each: the fields of [`LockEpoch`] in their order.
pub const LOCK_WORDS: usize = 8;
/// [`LockEpoch::target`] of `MPI_Win_lock_all`.
pub const LOCK_OF_ALL: u64 = 0xffff_ffff;

/// A lock of a member's memory, from asking for it until it was released.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LockEpoch {
    /// Counts the locks of this process in this window, from 1; zero while the words are being written.
    pub number: u64,
    /// The rank, [`LOCK_OF_ALL`], and [`LOCK_EXCLUSIVE`].
    pub target: u64,
    /// When the call began, in ticks.
    pub asked: u64,
    /// When it returned.
    pub granted: u64,
    /// The address behind it.
    pub from: u64,
    /// When the call began that releases it, in ticks; zero while nothing has.
    pub releasing: u64,
    /// When that returned.
    pub released: u64,
    /// The address behind it.
    pub released_from: u64,
}

impl LockEpoch {
    /// The locks in the words of [`Window::lock_epochs`], in no order. Read again afterwards, the first word of each must be the
    /// same.
    pub fn all(words: &[u64]) -> impl Iterator<Item = Self> + '_ {
        words.chunks_exact(LOCK_WORDS).filter_map(|words| match *words {
            [number, target, asked, granted, from, releasing, released, released_from] if number != 0 => {
                Some(Self { number, target, asked, granted, from, releasing, released, released_from })
            }
            _ => None,
        })
    }
}

const _: () = {
    assert!(offset_of!(Window, flavour) == 128);
    assert!(offset_of!(Window, name) == 168);
    assert!(offset_of!(Window, epochs) == 192);
    assert!(offset_of!(Window, locks) == 264);
    assert!(offset_of!(Window, puts) == 296);
    assert!(offset_of!(Window, lock_epochs) == 368);
    assert!(size_of::<Window>() == 400);
};
