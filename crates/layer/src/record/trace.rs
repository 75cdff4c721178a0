//! The trace: every call of a thread, in a per-thread ring, if `MPISCOPE_TRACE` asks for it. See
//! `mpiscope_image::trace`.
//!
//! A call is written where it is counted for its call site ([`sites`](crate::record::sites)), where its other
//! properties are known. Messages are paired by the ledger, which is always kept when there is a trace.
#![allow(unsafe_code)]

use crate::base::{clock, complaint::complain, image, settings};
use crate::interpose::tls::Tls;
use crate::record::local;
use crate::record::tracer::Tracer;
use libc::c_int;
use mpi_abi::{Flags, FunctionId};
use mpiscope_image::layout::{Clock, Loss, SectionKind, Thread};
use mpiscope_image::trace::{self, Called, MOST_CALLS, MOST_RINGS, Ring};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Number of calls in each ring, a power of two; zero while there is no trace.
static CAPACITY: AtomicUsize = AtomicUsize::new(0);
/// Set if the trace is limited to a time window, or once `MPI_Pcontrol` was called.
static LIMITED: AtomicBool = AtomicBool::new(false);
/// Whether the last `MPI_Pcontrol` call had level 0.
static PAUSED: AtomicBool = AtomicBool::new(false);
/// The time window to trace, in nanoseconds since the clock was started.
static FROM_NS: AtomicU64 = AtomicU64::new(0);
static UNTIL_NS: AtomicU64 = AtomicU64::new(u64::MAX);
/// Nanoseconds per tick, as the bits of an `f64`, and the number of ticks up to which that is accurate
/// enough.
static TICK: AtomicU64 = AtomicU64::new(0);
static KNOWN: AtomicU64 = AtomicU64::new(0);
/// Minimum number of calls in a ring; fewer are not worth it.
const LEAST: u64 = 64;

/// Reads from the settings whether a trace is wanted. Called when the library was found.
pub fn start() {
    let Some(text) = settings::variable(c"MPISCOPE_TRACE") else { return };
    match trace::size(&text.to_string_lossy()) {
        Some(0) => {}
        Some(bytes) => {
            let calls = (bytes / size_of::<Called>() as u64).clamp(LEAST, MOST_CALLS) as usize;
            CAPACITY.store(1 << calls.ilog2(), Ordering::Relaxed);
        }
        None => complain("MPISCOPE_TRACE: expected a size such as 16M; tracing is off"),
    }
    let Some(text) = settings::variable(c"MPISCOPE_TRACE_WINDOW") else { return };
    match trace::window(&text.to_string_lossy()) {
        Some(window) => {
            FROM_NS.store(window.start, Ordering::Relaxed);
            UNTIL_NS.store(window.end, Ordering::Relaxed);
            LIMITED.store(true, Ordering::Relaxed);
        }
        None => complain(
            "MPISCOPE_TRACE_WINDOW: expected two times in milliseconds, such as 2000,5000; tracing the whole run",
        ),
    }
}

/// `MPI_Pcontrol`: level 0 pauses the trace, any other level resumes it.
pub fn control(level: c_int) {
    if is_on() {
        PAUSED.store(level == 0, Ordering::Relaxed);
        LIMITED.store(true, Ordering::Relaxed);
    }
}

/// Whether a call with these times belongs in the trace.
#[cold]
#[inline(never)]
fn wanted(since: u64, until: u64) -> bool {
    let (from_ns, until_ns) = (FROM_NS.load(Ordering::Relaxed), UNTIL_NS.load(Ordering::Relaxed));
    if PAUSED.load(Ordering::Relaxed) {
        return false;
    }
    let Some(writer) = image::writer().filter(|_| (from_ns, until_ns) != (0, u64::MAX)) else { return true };
    let clock = &writer.header().clock;
    let (began, ended) = (ns(clock, since), ns(clock, until));
    ended >= from_ns && began < until_ns
}

/// Converts to nanoseconds since the clock was started. The length of a tick is measured again whenever twice
/// as many ticks have passed as at the last measurement: the error is at most twice that of one measurement,
/// and measurements are rare.
fn ns(clock: &Clock, ticks: u64) -> u64 {
    let since_start = ticks.saturating_sub(clock.start_ticks.get());
    if since_start >= KNOWN.load(Ordering::Acquire) {
        let (now, now_ns) = clock::point();
        let passed = now.saturating_sub(clock.start_ticks.get()).max(1);
        let tick = now_ns.saturating_sub(clock.start_ns.get()) as f64 / passed as f64;
        TICK.store(tick.to_bits(), Ordering::Relaxed);
        KNOWN.store(passed.saturating_mul(2), Ordering::Release);
    }
    (since_start as f64 * f64::from_bits(TICK.load(Ordering::Relaxed))) as u64
}

/// Returns the number of calls that each ring has room for; zero without a trace.
#[inline(always)]
pub fn capacity() -> usize {
    CAPACITY.load(Ordering::Relaxed)
}

/// Whether there is a trace.
#[inline(always)]
pub fn is_on() -> bool {
    capacity() != 0
}

/// Returns the ring for a thread that has just got this record: that of the record's previous thread, or a
/// new one.
pub fn of_thread(record: u64) -> Option<Tracer> {
    let capacity = capacity();
    let writer = image::writer().filter(|_| capacity != 0)?;
    let rings = (0..MOST_RINGS).map_while(|index| writer.record::<Ring>(SectionKind::TRACE_RINGS, index));
    let former = rings.clone().find(|ring| ring.thread.get() == record.wrapping_add(1));
    let (ring, first) = match former {
        Some(ring) => (ring, writer.record::<Called>(SectionKind::TRACE, ring.first.get())),
        None => (rings.clone().count() < MOST_RINGS as usize)
            .then(|| new_ring(record, capacity))
            .flatten()
            .or_else(|| {
            writer.lose(Loss::TRACE, 1);
            None
        })?,
    };
    // SAFETY: the writer allocated this many contiguous records, all zero, for the lifetime of the process.
    let calls = unsafe { std::slice::from_raw_parts(first?, capacity) };
    Some(Tracer { ring, calls })
}

fn new_ring(record: u64, capacity: usize) -> Option<(&'static Ring, Option<&'static Called>)> {
    let writer = image::writer()?;
    let (index, first) = writer.new_array::<Called>(SectionKind::TRACE, capacity, capacity)?;
    let (_, ring) = writer.new_record::<Ring>(SectionKind::TRACE_RINGS, 64)?;
    ring.first.set(index);
    ring.capacity.set(capacity as u64);
    ring.thread.atomic().store(record.wrapping_add(1), Ordering::Release);
    Some((ring, Some(first)))
}

/// Writes a call that has ended. `from` is the program's return address, `object` the uid of the call's
/// object. Look-up calls are left out: they would make up most of a trace and say the least.
#[inline(never)]
pub fn write(
    tls: &'static Tls,
    thread: &'static Thread,
    function: FunctionId,
    (since, until): (u64, u64),
    bytes: u64,
    (from, object): (u64, u64),
) {
    let Some(tracer) = local::of(tls).and_then(|local| local.trace.get()) else { return };
    if since == 0 || function.properties().flags.has(Flags::LOOKUP) {
        return;
    }
    if LIMITED.load(Ordering::Relaxed) && !wanted(since, until) {
        return;
    }
    let noted = &thread.call;
    let [.., collective] = &noted.extra;
    tracer.ring.write(tracer.calls, |call| {
        call.from.set(from);
        call.began.set(since);
        call.ended.set(until);
        call.object.set(object);
        call.bytes.set(local::all_moved(tls, function, bytes));
        call.peer.set(noted.peer.get() as u32);
        call.tag.set(noted.tag.get() as u32);
        call.collective.set(collective.get() as u32);
        call.function.set(function.0 + 1);
        call.nested.set(tls.nested.get() as u16);
    });
}
