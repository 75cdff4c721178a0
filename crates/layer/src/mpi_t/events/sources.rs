//! The event sources: one for each thread, and one shared by all threads beyond the limit.
#![allow(unsafe_code)]

use crate::base::clock;
use crate::mpi_t::own_categories::publish_one;
use crate::mpi_t::{REGISTRY, ticks};
use mpit::SourceOrder;
use mpit::event::{Source, SourceSpec};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Number of threads that have a separate source.
pub const MOST: usize = 32;

/// Number of sources that exist from the start, for tools that ask only once.
const FIRST: usize = 8;

/// A source of the registry; null if not registered yet.
struct Slot(AtomicPtr<Source>);

impl Slot {
    const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    #[inline]
    fn get(&self) -> Option<&'static Source> {
        // SAFETY: null, or a source in `REGISTRY`, which only grows and lives as long as the process.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Registers a source for the slot.
    fn fill(&self, spec: SourceSpec) -> Option<&'static Source> {
        let index = publish_one("a source of events", REGISTRY.add_source(spec))?;
        let source = REGISTRY.source(index).ok()?;
        self.0.store(ptr::from_ref(source).cast_mut(), Ordering::Release);
        Some(source)
    }
}

/// Two cache lines, because processors prefetch the adjacent line.
#[repr(align(128))]
struct Last(AtomicU64);

/// The threads' sources.
static SOURCES: [Slot; MOST] = [const { Slot::new() }; MOST];
/// The last timestamp of each thread, written by every event.
static LAST: [Last; MOST] = [const { Last(AtomicU64::new(0)) }; MOST];
static SHARED: Slot = Slot::new();
static ADDING: Mutex<()> = Mutex::new(());

/// Registers the first threads' sources and the shared one.
pub fn publish() {
    for thread in 0..FIRST {
        add(thread);
    }
    let shared = SourceSpec::new("mpiscope.threads", ticks::per_second(), clock::now).desc(
        "Threads beyond the first 32 that called MPI, one after the other or at the same time. Ticks of the processor's \
         time stamp counter",
    );
    SHARED.fill(shared);
}

#[cold]
fn add(thread: usize) -> Option<&'static Source> {
    let _adding = ADDING.lock().unwrap_or_else(PoisonError::into_inner);
    let slot = SOURCES.get(thread)?;
    if let Some(known) = slot.get() {
        return Some(known);
    }
    let desc = format!(
        "What thread {thread} does, counted in the order in which threads called MPI first (a thread that begins after \
         another has ended may get its number). Ticks of the processor's time stamp counter"
    );
    let spec = SourceSpec::new(format!("mpiscope.thread{thread}"), ticks::per_second(), clock::now);
    slot.fill(spec.desc(desc).order(SourceOrder::ORDERED))
}

/// Returns the source of a thread, given the index of its record, and the timestamp to use: not before its
/// last one.
#[inline]
pub fn of(thread: u64, at: u64) -> Option<(&'static Source, u64)> {
    let own = usize::try_from(thread).ok().filter(|thread| *thread < MOST);
    let Some((thread, Last(last))) = own.and_then(|thread| Some((thread, LAST.get(thread)?))) else {
        return Some((SHARED.get()?, at));
    };
    let source = SOURCES.get(thread).and_then(Slot::get).or_else(|| add(thread))?;
    // Only one thread at a time has this record.
    let stamp = at.max(last.load(Ordering::Relaxed));
    last.store(stamp, Ordering::Relaxed);
    Some((source, stamp))
}
