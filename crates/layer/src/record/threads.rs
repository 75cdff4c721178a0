//! The record of a thread: taken at the thread's first MPI call, given back when the thread ends.
#![allow(unsafe_code)]

use crate::base::{clock, image};
use crate::events;
use crate::interpose::interrupted::Interrupted;
use crate::interpose::tls::Tls;
use crate::record::call_path;
use crate::record::observe;
use crate::record::sites::{self, Index};
use crate::record::trace::{self, Tracer};
use mpiscope_image::derive::ThreadView;
use mpiscope_image::layout::{Loss, SectionKind, State, Thread};
use mpit::Shards;
use std::cell::{Cell, OnceCell};
use std::mem::offset_of;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Memory of a thread that readers never see. [`Tls::local`] points to its beginning.
#[repr(C, align(64))]
pub struct Local {
    // Its last word, and what follows, is what every call needs: one line of the cache.
    interrupted: Interrupted,
    /// Its call sites; none if the image had no room for the thread.
    pub sites: Cell<Option<&'static Index>>,
    /// Which changes of handles `sites` knows: see [`crate::record::sites`].
    pub handles: Cell<u64>,
    /// See [`crate::record::bytes`].
    pub sizes: crate::record::bytes::SizeCache,
    /// See [`crate::record::traffic::scratch`].
    pub traffic: crate::record::traffic::scratch::Stack,
    /// The interpreter's state of the thread, once it has been seen to be that: see [`crate::record::python_call_site`].
    pub python: Cell<u64>,
    /// Beginning and end of its stack, once they were asked for: see [`crate::record::stack_frames::bounds`].
    pub stack: Cell<(u64, u64)>,
    /// Its walks up the stack; made with the first one.
    pub walks: OnceCell<Box<call_path::Memo>>,
    /// Its ring of the trace; none without a trace, and if the image had no room.
    pub trace: Cell<Option<Tracer>>,
    /// Index of the thread's record in the image; `u64::MAX` if the image had no room.
    pub index: AtomicU64,
    /// Calls that its record had counted before it was this thread's.
    before: Cell<u64>,
}

impl Local {
    /// Made where it stays, one field after the other: as a value it would be on the stack first, and is larger than what some
    /// threads have.
    fn new() -> Box<Self> {
        let mut place = Box::<Self>::new_uninit();
        let local = place.as_mut_ptr();
        // SAFETY: the memory is ours, and every field is written once.
        unsafe {
            (&raw mut (*local).interrupted).write(Interrupted::default());
            (&raw mut (*local).handles).write(Cell::default());
            (&raw mut (*local).sizes).write(Default::default());
            (&raw mut (*local).traffic).write(Default::default());
            (&raw mut (*local).sites).write(Cell::default());
            (&raw mut (*local).python).write(Cell::default());
            (&raw mut (*local).stack).write(Cell::default());
            (&raw mut (*local).walks).write(OnceCell::new());
            (&raw mut (*local).trace).write(Cell::default());
            (&raw mut (*local).index).write(AtomicU64::default());
            (&raw mut (*local).before).write(Cell::default());
            place.assume_init()
        }
    }
}

const _: () = assert!(offset_of!(Local, sites) % 64 == 8);

/// How many records there can be that [`all`] gives.
const LISTED: usize = 4096;
/// Every record that was ever made, in the image or private.
static RECORDS: [AtomicPtr<Thread>; LISTED] = [const { AtomicPtr::new(std::ptr::null_mut()) }; LISTED];
/// How many of [`RECORDS`] are in use or about to be.
static MADE: AtomicUsize = AtomicUsize::new(0);

/// The records of all threads that ever called MPI; those in the image in the order of their indices, as long as
/// threads did not begin at the same moment. Async-signal-safe.
#[inline]
pub fn all() -> impl Iterator<Item = &'static Thread> {
    let made = MADE.load(Ordering::Acquire);
    RECORDS.iter().take(made).filter_map(|record| {
        // SAFETY: null, or a record, which lives as long as the process.
        unsafe { record.load(Ordering::Acquire).as_ref() }
    })
}

/// What is read of the threads whose records are in the image, which are those that others see. Async-signal-safe.
pub fn views() -> impl Iterator<Item = ThreadView<'static>> + Clone {
    let writer = image::writer();
    let record = move |index| writer?.record::<Thread>(SectionKind::THREADS, index);
    (0..).map_while(move |index| Some(ThreadView::of(index, record(index)?)))
}

/// How many records there are: at least as many as threads that call MPI.
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

/// The key whose destructor is called when a thread has ended; `u32::MAX` while there is none.
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// The private memory of this thread, once it has made a call.
#[inline(always)]
pub fn local(tls: &Tls) -> Option<&'static Local> {
    // SAFETY: null, or stored by `attach`; it lives until the thread has ended.
    unsafe { tls.local.get().cast::<Local>().as_ref() }
}

/// Makes the key. Called once, when the library was found.
pub fn start() {
    let mut key: libc::pthread_key_t = 0;
    // SAFETY: `key` is ours; the destructor has the right type.
    if unsafe { libc::pthread_key_create(&mut key, Some(ended)) } == 0 {
        KEY.store(key, Ordering::Release);
    }
}

/// Gives this thread a record. The record always exists: without room in the image it is private memory whose
/// calls are counted as lost when the thread ends.
#[cold]
pub fn attach(tls: &Tls) -> &'static Thread {
    crate::record::objects::lock::attached();
    let (index, thread) = take().unwrap_or_else(|| (u64::MAX, private()));
    let local: &'static Local = Box::leak(Local::new());
    local.index.store(index, Ordering::Relaxed);
    local.before.set(thread.call.completed.get());
    local.sites.set((index != u64::MAX).then(|| sites::of_thread(index)));
    if index != u64::MAX {
        local.trace.set(trace::of_thread(index));
    }
    // SAFETY: no arguments; the kernel always answers.
    let tid = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
    thread.tid.set(tid);
    thread.generation.add_mine(1);
    thread.attached.set(clock::now());
    thread.polls.set(0);
    thread.longest_run.set(0);
    thread.interpreter.set(0);
    thread.call.seq.write(|| {
        thread.call.forget();
        thread.call.since.set(clock::now());
    });
    tls.local.set(&raw const local.interrupted);
    tls.thread.set(thread);
    let key = KEY.load(Ordering::Acquire);
    if key != u32::MAX {
        // SAFETY: the key was created by `start`; the value is the record, which is never freed.
        unsafe { libc::pthread_setspecific(key, std::ptr::from_ref(thread).cast()) };
    }
    observe::thread_seen(tid);
    thread
}

/// A record and its index in the image.
type Found = (u64, &'static Thread);

/// A record of a thread that has ended, or a new one.
fn take() -> Option<Found> {
    let writer = image::writer()?;
    let record = |index| Some((index, writer.record::<Thread>(SectionKind::THREADS, index)?));
    let new = || {
        let (index, thread) = writer.new_record::<Thread>(SectionKind::THREADS, 4)?;
        list(thread);
        Some((index, thread))
    };
    take_of(|| (0..).map_while(record), new)
}

/// One of the records that there are, or a new one. A new one may be taken by another thread before its maker can, since it looks like
/// one of a thread that has ended: then its maker looks on.
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

/// Takes a record that belongs to no thread.
fn is_taken_by_me(thread: &Thread) -> bool {
    thread.tid.atomic().compare_exchange(0, u32::MAX, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Private records whose threads have ended. They keep what they have counted, which is part of [`CALLS`].
static SPARE: Mutex<Vec<&'static Thread>> = Mutex::new(Vec::new());

fn spare() -> MutexGuard<'static, Vec<&'static Thread>> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A record outside of the image: one of a thread that has ended, or a new one.
fn private() -> &'static Thread {
    if let Some(thread) = spare().pop() {
        return thread;
    }
    // SAFETY: a thread's record is words only: all zero is a valid value.
    let thread = Box::leak(unsafe { Box::<Thread>::new_zeroed().assume_init() });
    list(thread);
    thread
}

/// The thread of `record` has ended: what it counted stays, the record may be taken by another.
unsafe extern "C" fn ended(record: *mut libc::c_void) {
    let tls = Tls::get();
    let in_image = index(tls) != u64::MAX;
    if let Some(sites) = local(tls).and_then(|local| local.sites.take()) {
        sites::give_back(index(tls), sites);
    }
    events::thread_ended();
    let before = local(tls).map_or(0, |local| local.before.get());
    tls.thread.set(std::ptr::null());
    let local = tls.local.replace(std::ptr::null());
    if !local.is_null() {
        // SAFETY: made by `attach` with a box; only this thread, which is at its end, ever refers to it.
        drop(unsafe { Box::from_raw(local.cast::<Local>().cast_mut()) });
    }
    // SAFETY: `attach` stored a record that is never freed.
    let Some(thread) = (unsafe { record.cast::<Thread>().as_ref() }) else { return };
    if !in_image {
        if let Some(writer) = image::writer() {
            writer.lose(Loss::CALLS, thread.call.completed.get().saturating_sub(before));
        }
        spare().push(thread);
    } else if let Some(writer) = image::writer()
        && writer.header().state.get() < State::FINALIZED.0
    {
        thread.lived.add_mine(clock::now().saturating_sub(thread.attached.get()));
        thread.tid.atomic().store(0, Ordering::Release);
    }
}

/// Index of this thread's record in the image.
pub fn index(tls: &Tls) -> u64 {
    local(tls).map_or(u64::MAX, |l| l.index.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn a_private_record_is_used_again_and_a_thread_has_only_its_own_calls() {
        let first = private();
        first.call.completed.add_mine(7);
        spare().push(first);
        let again = private();
        assert!(std::ptr::eq(first, again));
        assert_eq!(again.call.completed.get(), 7, "what was counted stays counted");
    }

    #[test]
    fn a_new_record_that_another_thread_has_taken_is_left_to_it() {
        let made: RefCell<Vec<&'static Thread>> = RefCell::default();
        let zero = || -> &'static Thread {
            // SAFETY: a thread's record is words only: all zero is a valid value.
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
