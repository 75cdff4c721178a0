//! Thread records. A thread takes one at its first MPI call and returns it when it ends.
#![allow(unsafe_code)]

use crate::base::image;
use mpiscope_image::derive::ThreadView;
use mpiscope_image::layout::{SectionKind, Thread};
use mpit::Shards;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of records that [`all`] returns.
const LISTED: usize = 4096;
/// Every record ever created, in the image or private.
static RECORDS: [AtomicPtr<Thread>; LISTED] = [const { AtomicPtr::new(std::ptr::null_mut()) }; LISTED];
/// Number of [`RECORDS`] that are in use or about to be.
static MADE: AtomicUsize = AtomicUsize::new(0);

/// Returns the records of all threads that ever called MPI. Those in the image are in index order, except for
/// threads that started at the same moment. Async-signal-safe.
#[inline]
pub fn all() -> impl Iterator<Item = &'static Thread> {
    let made = MADE.load(Ordering::Acquire);
    RECORDS.iter().take(made).filter_map(|record| {
        // SAFETY: null, or a record, which lives as long as the process.
        unsafe { record.load(Ordering::Acquire).as_ref() }
    })
}

/// Returns views of the threads with records in the image, which are the ones that other processes see.
/// Async-signal-safe.
pub fn views() -> impl Iterator<Item = ThreadView<'static>> + Clone {
    let writer = image::writer();
    let record = move |index| writer?.record::<Thread>(SectionKind::THREADS, index);
    (0..).map_while(move |index| Some(ThreadView::of(index, record(index)?)))
}

/// Returns the number of records, which is at least the number of threads that call MPI.
#[inline]
pub fn count() -> usize {
    MADE.load(Ordering::Acquire)
}

/// Completed calls of all threads that ever called MPI.
pub static CALLS: Shards = Shards::new();

/// Lists a new record.
fn list(thread: &'static Thread) {
    CALLS.add(thread.call.completed.atomic());
    if let Some(record) = RECORDS.get(MADE.fetch_add(1, Ordering::AcqRel)) {
        record.store(std::ptr::from_ref(thread).cast_mut(), Ordering::Release);
    }
}

/// A record with its index in the image.
type Found = (u64, &'static Thread);

/// Takes the record of a thread that has ended, or a new one.
pub(super) fn take() -> Option<Found> {
    let writer = image::writer()?;
    let record = |index| Some((index, writer.record::<Thread>(SectionKind::THREADS, index)?));
    let new = || {
        let (index, thread) = writer.new_record::<Thread>(SectionKind::THREADS, 4)?;
        list(thread);
        Some((index, thread))
    };
    take_of(|| (0..).map_while(record), new)
}

/// Takes one of the existing records, or a new one. A new record looks like that of an ended thread, so
/// another thread may take it before its creator does; the creator then tries again.
fn take_of<R: Iterator<Item = Found>>(
    records: impl Fn() -> R,
    new: impl Fn() -> Option<Found>,
) -> Option<Found> {
    loop {
        if let Some(found) = records().find(|(_, thread)| is_taken_by_me(thread)) {
            return Some(found);
        }
        let made = new()?;
        if is_taken_by_me(made.1) {
            return Some(made);
        }
    }
}

/// Tries to take a record that belongs to no thread.
fn is_taken_by_me(thread: &Thread) -> bool {
    thread.tid.atomic().compare_exchange(0, u32::MAX, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Private records whose threads have ended. They keep their counts, which are part of [`CALLS`].
static SPARE: Mutex<Vec<&'static Thread>> = Mutex::new(Vec::new());

/// Keeps a private record, whose thread has ended, for reuse.
pub(super) fn spare(thread: &'static Thread) {
    spares().push(thread);
}

fn spares() -> MutexGuard<'static, Vec<&'static Thread>> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a private record: that of a thread that has ended, or a new one.
pub(super) fn private() -> &'static Thread {
    if let Some(thread) = spares().pop() {
        return thread;
    }
    // SAFETY: a thread's record consists of words, so all zero is a valid value.
    let thread = Box::leak(unsafe { Box::<Thread>::new_zeroed().assume_init() });
    list(thread);
    thread
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn a_private_record_is_reused_and_a_thread_has_only_its_own_calls() {
        let first = private();
        first.call.completed.add_mine(7);
        spare(first);
        let again = private();
        assert!(std::ptr::eq(first, again));
        assert_eq!(again.call.completed.get(), 7, "counts are kept");
    }

    #[test]
    fn a_new_record_taken_by_another_thread_is_left_to_that_thread() {
        let made: RefCell<Vec<&'static Thread>> = RefCell::default();
        let zero = || -> &'static Thread {
            // SAFETY: a thread's record consists of words, so all zero is a valid value.
            Box::leak(unsafe { Box::<Thread>::new_zeroed().assume_init() })
        };
        let new = || {
            let thread = zero();
            let index = made.borrow().len() as u64;
            if index == 0 {
                thread.tid.set(77);
            }
            made.borrow_mut().push(thread);
            Some((index, thread))
        };
        let records = || (0..).zip(made.borrow().clone());
        assert_eq!(take_of(records, new).map(|(index, _)| index), Some(1));
        assert_eq!(take_of(records, new).map(|(index, _)| index), Some(2));
        let tids: Vec<u32> = made.borrow().iter().map(|thread| thread.tid.get()).collect();
        assert_eq!(tids, [77, u32::MAX, u32::MAX]);
        made.borrow()[1].tid.set(0);
        assert_eq!(take_of(records, new).map(|(index, _)| index), Some(1), "its thread has ended");
    }
}
