//! Whether a call on a window is made at the right time: the epoch that it needs is open, and none that
//! excludes it.
//!
//! Libraries need not check this: some end the job in such a call, others let it pass.

use crate::objects::Epoch;

/// What a call does with the epochs of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Accesses the memory of a rank: `MPI_Put`, `MPI_Get`, `MPI_Accumulate`, …
    Access,
    /// The same with a request, which is allowed only under a lock: `MPI_Rput`, …
    RequestedAccess,
    /// `MPI_Win_lock`.
    Lock,
    /// `MPI_Win_lock_all`.
    LockAll,
    /// `MPI_Win_unlock`.
    Unlock,
    /// `MPI_Win_unlock_all`.
    UnlockAll,
    /// `MPI_Win_flush`, `MPI_Win_flush_local`.
    Flush,
    /// `MPI_Win_flush_all`, `MPI_Win_flush_local_all`.
    FlushAll,
    /// `MPI_Win_start`.
    Start,
    /// `MPI_Win_complete`.
    Complete,
    /// `MPI_Win_post`.
    Post,
    /// `MPI_Win_wait`, `MPI_Win_test`.
    Wait,
    /// `MPI_Win_fence`.
    Fence,
    /// `MPI_Win_fence` with `MPI_MODE_NOPRECEDE`: it completes no operations of the caller.
    FirstFence,
    /// `MPI_Win_free`.
    Free,
}

/// What a process has open on a window when it makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open {
    /// Bits of [`Epoch`].
    pub epochs: u32,
    /// Whether it has locked the memory of the rank that the call refers to, or refers to no rank.
    pub locked: bool,
    /// Whether operations are not known to be complete.
    pub pending: bool,
}

/// Why a call is made at the wrong time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untimely {
    /// No epoch is open in which it may access the memory of others.
    NoAccess,
    /// Locks are held, but not on the memory that it accesses, or it needs a lock and none is held.
    NotLocked,
    /// The lock that it asks for is held already.
    Locked,
    /// Nothing has begun what it ends, which would have been this epoch.
    NotBegun(Epoch),
    /// These epochs (bits of [`Epoch`]) must have ended.
    NotEnded(u32),
    /// Operations between two fences are not complete.
    NotFenced,
}

/// A lock of one member or of all.
const LOCKS: u32 = Epoch::LOCK.0 | Epoch::LOCK_ALL.0;
/// Epochs that a dedicated call ends.
const ENDED: u32 = Epoch::START.0 | Epoch::POST.0 | LOCKS;

/// Returns why a call is made at the wrong time, if so.
#[must_use]
#[inline]
pub fn untimely(call: Use, open: Open) -> Option<Untimely> {
    let has = |epochs: u32| open.epochs & epochs != 0;
    let left = |epochs: u32| match open.epochs & epochs {
        0 => None,
        left => Some(Untimely::NotEnded(left)),
    };
    let lacks = |epoch: Epoch| (!has(epoch.0)).then_some(Untimely::NotBegun(epoch));
    // Operations that only MPI_Win_fence can complete.
    let fenced = || (open.pending && has(Epoch::FENCE.0)).then_some(Untimely::NotFenced);
    let covered = has(Epoch::LOCK_ALL.0) || (has(Epoch::LOCK.0) && open.locked);
    match call {
        Use::Access if covered || has(Epoch::FENCE.0 | Epoch::START.0) => None,
        Use::Access if !has(Epoch::LOCK.0) => Some(Untimely::NoAccess),
        Use::RequestedAccess | Use::Flush if covered => None,
        Use::Access | Use::RequestedAccess | Use::Flush => Some(Untimely::NotLocked),
        Use::FlushAll => (!has(LOCKS)).then_some(Untimely::NotLocked),
        Use::Lock if has(Epoch::LOCK.0) && open.locked => Some(Untimely::Locked),
        Use::Lock => left(Epoch::START.0 | Epoch::LOCK_ALL.0).or_else(fenced),
        Use::LockAll | Use::Start => left(Epoch::START.0 | LOCKS).or_else(fenced),
        Use::Unlock => (!open.locked).then_some(Untimely::NotLocked),
        Use::UnlockAll => lacks(Epoch::LOCK_ALL),
        Use::Complete => lacks(Epoch::START),
        Use::Wait => lacks(Epoch::POST),
        Use::Post => left(Epoch::POST.0),
        Use::Fence => left(ENDED),
        Use::FirstFence | Use::Free => left(ENDED).or_else(fenced),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FENCE: u32 = Epoch::FENCE.0;
    const START: u32 = Epoch::START.0;
    const POST: u32 = Epoch::POST.0;
    const LOCK: u32 = Epoch::LOCK.0;
    const ALL: u32 = Epoch::LOCK_ALL.0;

    fn of(call: Use, epochs: u32, locked: bool) -> Option<Untimely> {
        untimely(call, Open { epochs, locked, pending: false })
    }

    #[test]
    fn calls_within_their_epochs_are_valid() {
        for (call, epochs, locked) in [
            (Use::Access, FENCE, false),
            (Use::Access, START | POST, false),
            (Use::Access, ALL, false),
            (Use::Access, LOCK, true),
            (Use::RequestedAccess, LOCK, true),
            (Use::RequestedAccess, ALL, false),
            (Use::Flush, LOCK, true),
            (Use::FlushAll, LOCK, false),
            (Use::Unlock, LOCK, true),
            (Use::UnlockAll, ALL, false),
            (Use::Lock, LOCK, false),
            (Use::Lock, POST | FENCE, false),
            (Use::LockAll, FENCE, false),
            (Use::Complete, START, false),
            (Use::Wait, POST, false),
            (Use::Start, POST, false),
            (Use::Start, 0, false),
            (Use::Post, START, false),
            (Use::Fence, FENCE, false),
            (Use::Fence, 0, false),
            (Use::Free, FENCE, false),
        ] {
            assert_eq!(of(call, epochs, locked), None, "{call:?} {epochs}");
        }
    }

    #[test]
    fn calls_outside_their_epoch_or_inside_another_one_are_untimely() {
        assert_eq!(of(Use::Access, POST, false), Some(Untimely::NoAccess));
        assert_eq!(of(Use::Access, LOCK, false), Some(Untimely::NotLocked), "locked another rank");
        assert_eq!(of(Use::RequestedAccess, FENCE, false), Some(Untimely::NotLocked));
        assert_eq!(of(Use::Flush, LOCK, false), Some(Untimely::NotLocked));
        assert_eq!(of(Use::FlushAll, FENCE, false), Some(Untimely::NotLocked));
        assert_eq!(of(Use::Unlock, 0, false), Some(Untimely::NotLocked));
        assert_eq!(of(Use::Lock, LOCK, true), Some(Untimely::Locked));
        assert_eq!(of(Use::Lock, ALL, false), Some(Untimely::NotEnded(ALL)));
        assert_eq!(of(Use::LockAll, LOCK, false), Some(Untimely::NotEnded(LOCK)));
        assert_eq!(of(Use::UnlockAll, LOCK, true), Some(Untimely::NotBegun(Epoch::LOCK_ALL)));
        assert_eq!(of(Use::Complete, POST, false), Some(Untimely::NotBegun(Epoch::START)));
        assert_eq!(of(Use::Wait, START, false), Some(Untimely::NotBegun(Epoch::POST)));
        assert_eq!(of(Use::Post, POST, false), Some(Untimely::NotEnded(POST)));
        assert_eq!(of(Use::Free, FENCE | ALL, false), Some(Untimely::NotEnded(ALL)));
    }

    #[test]
    fn operations_between_fences_must_be_completed_by_a_fence() {
        let open = Open { epochs: FENCE, locked: false, pending: true };
        assert_eq!(untimely(Use::Free, open), Some(Untimely::NotFenced));
        assert_eq!(untimely(Use::Lock, open), Some(Untimely::NotFenced));
        assert_eq!(untimely(Use::FirstFence, open), Some(Untimely::NotFenced));
        assert_eq!(untimely(Use::Fence, open), None);
        assert_eq!(untimely(Use::Access, open), None);
        let under_a_lock = Open { epochs: LOCK, locked: false, pending: true };
        assert_eq!(untimely(Use::Lock, under_a_lock), None, "of another rank");
    }
}
