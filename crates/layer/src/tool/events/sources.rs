//! The sources: one for each thread, and one for all threads beyond.

use crate::clock;
use crate::tool::own::publish_one;
use crate::tool::{REGISTRY, ticks};
use mpit::SourceOrder;
use mpit::event::SourceSpec;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How many threads have a source of their own.
pub const MOST: usize = 32;

/// How many there are from the beginning, for tools that ask only once.
const FIRST: usize = 8;

/// Index of a thread's source; [`NONE`] while it has none.
static SOURCES: [AtomicUsize; MOST] = [const { AtomicUsize::new(NONE) }; MOST];
/// The last timestamp of each.
static LAST: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];
static SHARED: AtomicUsize = AtomicUsize::new(NONE);
static ADDING: Mutex<()> = Mutex::new(());

const NONE: usize = usize::MAX;

/// The first threads' sources, and the one for those that have none of their own.
pub fn publish() {
    for thread in 0..FIRST {
        add(thread);
    }
    let shared = SourceSpec::new("mpiscope.threads", ticks::per_second(), clock::now).desc(
        "Threads beyond the first 32 that called MPI, one after the other or at the same time. Ticks of the processor's \
         time stamp counter",
    );
    if let Some(index) = publish_one("a source of events", REGISTRY.add_source(shared)) {
        SHARED.store(index, Ordering::Release);
    }
}

fn add(thread: usize) -> usize {
    let _adding = ADDING.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(slot) = SOURCES.get(thread) else { return NONE };
    let known = slot.load(Ordering::Acquire);
    if known != NONE {
        return known;
    }
    let desc = format!(
        "What thread {thread} does, counted in the order in which threads called MPI first (a thread that begins after \
         another has ended may get its number). Ticks of the processor's time stamp counter"
    );
    let spec = SourceSpec::new(format!("mpiscope.thread{thread}"), ticks::per_second(), clock::now)
        .desc(desc)
        .order(SourceOrder::ORDERED);
    let index = publish_one("a source of events", REGISTRY.add_source(spec)).unwrap_or(NONE);
    slot.store(index, Ordering::Release);
    index
}

/// The source of a thread by the index of its record, and the timestamp to give: later than its last.
pub fn of(thread: u64, at: u64) -> Option<(usize, u64)> {
    let own = usize::try_from(thread).ok().filter(|thread| *thread < MOST);
    let Some((thread, last)) = own.and_then(|thread| Some((thread, LAST.get(thread)?))) else {
        let shared = SHARED.load(Ordering::Acquire);
        return (shared != NONE).then_some((shared, at));
    };
    let known = SOURCES.get(thread).map_or(NONE, |source| source.load(Ordering::Acquire));
    let source = if known == NONE { add(thread) } else { known };
    // One thread at a time has this record.
    let stamp = at.max(last.load(Ordering::Relaxed).wrapping_add(1));
    last.store(stamp, Ordering::Relaxed);
    (source != NONE).then_some((source, stamp))
}
