//! Windows: memory, epochs, one-sided operations.

use super::Head;
use crate::cell::{W32, W64};
use crate::layout::{Text, Words, codes};
use std::mem::{offset_of, size_of};

codes! {
    /// How a window obtained its memory: [`Window::flavour`].
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
    /// Bits of [`Window::epochs`]: the epochs open in this process.
    Epoch {
        /// Between two calls of `MPI_Win_fence`, the first without `MPI_MODE_NOSUCCEED`.
        FENCE = 1 => "fence",
        /// `MPI_Win_start` without `MPI_Win_complete`.
        START = 2 => "start",
        /// `MPI_Win_post` without `MPI_Win_wait` or an `MPI_Win_test` that returned true.
        POST = 4 => "post",
        /// `MPI_Win_lock` without `MPI_Win_unlock`, for at least one target: see [`Window::locks`].
        LOCK = 8 => "lock",
        /// `MPI_Win_lock_all` without `MPI_Win_unlock_all`.
        LOCK_ALL = 16 => "lock_all",
    }
}

/// Set in an entry of [`Window::locks`] if the lock is exclusive; the rank is in the lower 32 bits.
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
    /// Size of this memory in bytes.
    pub size: W64,
    /// Displacement unit.
    pub unit: W64,
    /// A [`Flavour`].
    pub flavour: W32,
    /// A [`Model`].
    pub model: W32,
    /// Handle of the info object that was last set, zero if none.
    pub info: W64,
    /// Uid of `info`.
    pub info_uid: W64,
    /// Handle of the error handler that was last attached, zero if none.
    pub errhandler: W64,
    /// Uid of `errhandler`.
    pub errhandler_uid: W64,
    /// The name set by the program.
    pub name: Text,
    /// Offset of the first [`Attribute`](super::Attribute); zero if there is none.
    pub attributes: W64,
    /// Bits of [`Epoch`].
    pub epochs: W32,
    /// Function number plus one of the last synchronization call; zero if there was none.
    pub last_sync: W32,
    /// When that call returned (or began, if it is in progress), in ticks.
    pub last_sync_at: W64,
    /// Return address of that call.
    pub last_sync_from: W64,
    /// Uid of the group passed to `MPI_Win_start`, set when the call begins; zero after `MPI_Win_complete`.
    pub start_group: W64,
    /// The group's members as ranks in MPI_COMM_WORLD; empty if they are those of the world.
    pub start_members: Words,
    /// Uid of the group passed to `MPI_Win_post`; zero once the epoch has ended.
    pub post_group: W64,
    /// The group's members as ranks in MPI_COMM_WORLD; empty if they are those of the world.
    pub post_members: Words,
    /// Locks held, in no particular order: the target, and [`LOCK_EXCLUSIVE`].
    pub locks: Words,
    /// Memory attached to a dynamic window: address, bytes, address, bytes…
    pub attached: Words,
    /// Number of `MPI_Put`, `MPI_Rput` calls.
    pub puts: W64,
    /// Number of `MPI_Get`, `MPI_Rget` calls.
    pub gets: W64,
    /// Number of accumulating operations.
    pub accumulates: W64,
    /// Number of operations since the last call that completed all of them.
    pub pending: W64,
    /// Number of operations on each target that are not known to be complete, by rank; empty for large
    /// groups.
    pub targets: Words,
    /// The pairs of the info object that was last set, as of that time: see [`pairs`](super::pairs).
    pub hints: Text,
    /// Number of collective calls on it that this process has entered and the library has not rejected.
    pub collectives: W64,
    /// The last [`LOCK_RING`] locks of the window's memory as consecutive [`LockEpoch`]s: number `n` is at `n
    /// % LOCK_RING`. This and all following fields are zero in older images, and if times are not recorded.
    pub lock_epochs: Words,
    /// Number of locks ever made.
    pub locked: W64,
    /// Index plus one of the first of its [`RING`](crate::history::RING) [`Entered`](crate::history::Entered)
    /// records: its last collective calls. Zero if there were none, and in older images.
    pub history: W64,
}

/// Number of a window's locks that are kept.
pub const LOCK_RING: usize = 32;
/// Number of words of each lock: the fields of [`LockEpoch`] in order.
pub const LOCK_WORDS: usize = 8;
/// [`LockEpoch::target`] of `MPI_Win_lock_all`.
pub const LOCK_OF_ALL: u64 = 0xffff_ffff;

/// A lock of a member's memory, from the request until the release.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LockEpoch {
    /// Number of the lock among those of this process in this window, counting from 1; zero while the words
    /// are being written.
    pub number: u64,
    /// The rank, or [`LOCK_OF_ALL`], combined with [`LOCK_EXCLUSIVE`].
    pub target: u64,
    /// When the call began, in ticks.
    pub asked: u64,
    /// When the call returned.
    pub granted: u64,
    /// Return address of the call.
    pub from: u64,
    /// When the call that releases the lock began, in ticks; zero if there was none yet.
    pub releasing: u64,
    /// When that call returned.
    pub released: u64,
    /// Return address of that call.
    pub released_from: u64,
}

impl LockEpoch {
    /// The locks in the words of [`Window::lock_epochs`], in no particular order. The caller must read the
    /// words again and check that the first word of each lock is unchanged.
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
