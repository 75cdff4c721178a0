//! Synchronization: which epochs are open.
#![allow(unsafe_code)]

use super::{locks, moment, recorded};
use crate::interpose::frame::Call;
use crate::record::objects::tables::{self, WINDOWS};
use crate::record::objects::{Site, arena, facts, freed, recorder, succeeded};
use crate::record::traffic::faults;
use mpi_abi::{Abi, Handle};
use mpiscope_image::Writer;
use mpiscope_image::derive::epochs::Use;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Epoch, LOCK_EXCLUSIVE, LOCK_OF_ALL, Window};
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

/// The ABI's `MPI_MODE_NOPRECEDE` and `MPI_MODE_NOSUCCEED`.
static NOPRECEDE: AtomicI32 = AtomicI32::new(0);
static NOSUCCEED: AtomicI32 = AtomicI32::new(0);

/// Learns the ABI's constants.
pub fn start<A: Abi>() {
    NOPRECEDE.store(A::MODE_NOPRECEDE, Ordering::Relaxed);
    NOSUCCEED.store(A::MODE_NOSUCCEED, Ordering::Relaxed);
}

/// A call on a window without a record: it may have been freed.
#[cold]
pub(super) fn no_window<A: Abi>(call: &Call<A>, win: A::Handle) {
    if freed::is_freed(&WINDOWS, win.raw()) {
        faults::freed_handle(call, SectionKind::WINDOWS);
    }
}

/// Records a synchronizing call: what it does with the epochs and for which rank (-1 for none), the epochs
/// that it opened and closed, and the `change` to the record.
fn synchronised<A: Abi>(
    call: &Call<A>,
    result: c_int,
    win: A::Handle,
    (used, target): (Use, c_int),
    (opened, closed): (u32, u32),
    change: impl FnOnce(&'static Writer, &'static Window),
) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(record) = tables::window::<A>(win) else { return no_window(call, win) };
    let site = Site::of(call);
    // Threads may lock different targets concurrently.
    let before = WINDOWS.locked(|| {
        let before = moment::open(writer, record, target);
        record.head.seq.write(|| {
            record.last_sync.set(site.function);
            record.last_sync_at.set(site.at);
            record.last_sync_from.set(site.from);
            record.epochs.set(record.epochs.get() & !closed | opened);
            change(writer, record);
        });
        before
    });
    moment::check(call, record, used, target, before);
    recorded::synchronised(call, record, used, target);
    let open = before.epochs;
    if closed & open != 0 {
        facts::epoch_closed(&record.head, closed & open);
    }
    if opened != 0 {
        facts::epoch_opened(&record.head, opened);
    }
}

/// Marks all operations of this process as complete.
fn all_complete(writer: &'static Writer, record: &'static Window) {
    record.pending.set(0);
    arena::get(writer, &record.targets).iter().for_each(|target| target.set(0));
}

/// Marks all operations on one target as complete.
fn target_complete(writer: &'static Writer, record: &'static Window, rank: c_int) {
    let target = usize::try_from(rank).ok().and_then(|r| arena::get(writer, &record.targets).get(r));
    if let Some(target) = target {
        let done = target.atomic().swap(0, Ordering::Relaxed);
        record.pending.set(record.pending.get().saturating_sub(done));
    }
}

/// `MPI_Win_fence`.
pub fn fence<A: Abi>(call: &Call<A>, result: c_int, assert: c_int, win: A::Handle) {
    let last = assert & NOSUCCEED.load(Ordering::Relaxed) != 0;
    let opened = if last { 0 } else { Epoch::FENCE.0 };
    let first = assert & NOPRECEDE.load(Ordering::Relaxed) != 0;
    let used = if first { Use::FirstFence } else { Use::Fence };
    synchronised(call, result, win, (used, -1), (opened, Epoch::FENCE.0), all_complete);
}

/// `MPI_Win_start`, which may wait for the targets: they are recorded while it does.
pub fn before_begin<A: Abi>(call: &Call<A>, group: A::Handle, win: A::Handle) {
    asked(call, win, |writer, record| {
        arena::release_words(writer, &record.start_members);
        let group = tables::group::<A>(group);
        record.start_group.set(group.map_or(0, |g| g.head.uid.get()));
        if let Some(group) = group {
            arena::share(writer, &group.members, &record.start_members);
        }
    });
}

/// `MPI_Win_start`.
pub fn begin<A: Abi>(call: &Call<A>, result: c_int, win: A::Handle) {
    if result == A::SUCCESS {
        synchronised(call, result, win, (Use::Start, -1), (Epoch::START.0, Epoch::FENCE.0), |_, _| {});
    } else {
        asked(call, win, |writer, record| {
            arena::release_words(writer, &record.start_members);
            record.start_group.set(0);
        });
    }
}

/// Changes the record of a window before a call, or after one that failed.
fn asked<A: Abi>(_: &Call<A>, win: A::Handle, change: impl FnOnce(&'static Writer, &'static Window)) {
    let (Some(writer), Some(record)) = (recorder(), tables::window::<A>(win)) else { return };
    WINDOWS.locked(|| record.head.seq.write(|| change(writer, record)));
}

/// `MPI_Win_complete`.
pub fn complete<A: Abi>(call: &Call<A>, result: c_int, win: A::Handle) {
    synchronised(call, result, win, (Use::Complete, -1), (0, Epoch::START.0), |writer, record| {
        all_complete(writer, record);
        arena::release_words(writer, &record.start_members);
        record.start_group.set(0);
    });
}

/// `MPI_Win_post`.
pub fn post<A: Abi>(call: &Call<A>, result: c_int, group: A::Handle, _: c_int, win: A::Handle) {
    synchronised(call, result, win, (Use::Post, -1), (Epoch::POST.0, Epoch::FENCE.0), |writer, record| {
        arena::release_words(writer, &record.post_members);
        let group = tables::group::<A>(group);
        record.post_group.set(group.map_or(0, |g| g.head.uid.get()));
        if let Some(group) = group {
            arena::share(writer, &group.members, &record.post_members);
        }
    });
}

/// `MPI_Win_wait`.
pub fn wait<A: Abi>(call: &Call<A>, result: c_int, win: A::Handle) {
    synchronised(call, result, win, (Use::Wait, -1), (0, Epoch::POST.0), |writer, record| {
        arena::release_words(writer, &record.post_members);
        record.post_group.set(0);
    });
}

/// `MPI_Win_test`.
pub fn test<A: Abi>(call: &Call<A>, result: c_int, win: A::Handle, flag: *mut c_int) {
    // SAFETY: the call succeeded, so it wrote the flag; null is checked.
    if result == A::SUCCESS && unsafe { flag.as_ref() }.is_some_and(|flag| *flag != 0) {
        wait(call, result, win);
    }
}

/// `MPI_Win_lock`.
pub fn lock<A: Abi>(call: &Call<A>, result: c_int, kind: c_int, rank: c_int, _: c_int, win: A::Handle) {
    let Ok(target) = u32::try_from(rank) else { return };
    synchronised(call, result, win, (Use::Lock, rank), (Epoch::LOCK.0, Epoch::FENCE.0), |writer, record| {
        let exclusive = if kind == A::LOCK_EXCLUSIVE { LOCK_EXCLUSIVE } else { 0 };
        arena::push(writer, &record.locks, u64::from(target) | exclusive);
        locks::granted(writer, record, call, u64::from(target) | exclusive);
    });
}

/// `MPI_Win_unlock`.
pub fn unlock<A: Abi>(call: &Call<A>, result: c_int, rank: c_int, win: A::Handle) {
    let Ok(target) = u32::try_from(rank) else { return };
    synchronised(call, result, win, (Use::Unlock, rank), (0, 0), |writer, record| {
        locks::released(writer, record, call, u64::from(target));
        let held = arena::get(writer, &record.locks);
        if let Some(place) = held.iter().position(|lock| lock.get() as u32 == target) {
            arena::swap_remove(writer, &record.locks, place);
        }
        if record.locks.len.get() == 0 {
            record.epochs.set(record.epochs.get() & !Epoch::LOCK.0);
        }
        target_complete(writer, record, rank);
    });
    if let (Some(_), Some(record)) = (succeeded::<A>(result), tables::window::<A>(win)) {
        facts::epoch_closed(&record.head, Epoch::LOCK.0);
    }
}

/// `MPI_Win_lock_all`.
pub fn lock_all<A: Abi>(call: &Call<A>, result: c_int, _: c_int, win: A::Handle) {
    synchronised(
        call,
        result,
        win,
        (Use::LockAll, -1),
        (Epoch::LOCK_ALL.0, Epoch::FENCE.0),
        |writer, record| {
            locks::granted(writer, record, call, LOCK_OF_ALL);
        },
    );
}

/// `MPI_Win_unlock_all`.
pub fn unlock_all<A: Abi>(call: &Call<A>, result: c_int, win: A::Handle) {
    synchronised(call, result, win, (Use::UnlockAll, -1), (0, Epoch::LOCK_ALL.0), |writer, record| {
        locks::released(writer, record, call, LOCK_OF_ALL);
        all_complete(writer, record);
    });
}

/// `MPI_Win_flush`: completes operations, but opens and closes nothing.
pub fn flush<A: Abi>(call: &Call<A>, result: c_int, rank: c_int, win: A::Handle) {
    flushed(call, result, win, (Use::Flush, rank), |writer, record| target_complete(writer, record, rank));
}

/// `MPI_Win_flush_all`.
pub fn flush_all<A: Abi>(call: &Call<A>, result: c_int, win: A::Handle) {
    flushed(call, result, win, (Use::FlushAll, -1), all_complete);
}

fn flushed<A: Abi>(
    call: &Call<A>,
    result: c_int,
    win: A::Handle,
    (used, target): (Use, c_int),
    completed: impl FnOnce(&'static Writer, &'static Window),
) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(record) = tables::window::<A>(win) else { return no_window(call, win) };
    let before = WINDOWS.locked(|| {
        let before = moment::open(writer, record, target);
        completed(writer, record);
        before
    });
    moment::check(call, record, used, target, before);
    recorded::synchronised(call, record, used, target);
}
