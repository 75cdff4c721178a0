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
}

const _: () = {
    assert!(offset_of!(Window, flavour) == 128);
    assert!(offset_of!(Window, name) == 168);
    assert!(offset_of!(Window, epochs) == 192);
    assert!(offset_of!(Window, locks) == 264);
    assert!(offset_of!(Window, puts) == 296);
    assert!(size_of::<Window>() == 368);
};
