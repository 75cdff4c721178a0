//! Events that a thread has observed but not delivered, and their delivery.
#![allow(unsafe_code)]

use super::{sources, types_of};
use crate::base::{clock, image};
use crate::events::{EventKind, Payload};
use crate::interpose::tls::Tls;
use crate::mpi_t::REGISTRY;
use crate::record::local;
use crate::record::process;
use crate::record::threads;
use mpiscope_image::layout::State;
use mpit::CbSafety;
use mpit::event::{self, EventType, Frames, Observed, Origin};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Default maximum number of events that a thread keeps.
pub const DEFAULT_LIMIT: usize = 1 << 16;
/// Largest value for that maximum.
pub const LARGEST_LIMIT: usize = 1 << 26;
/// How long a thread waits for its turn.
const TURN: Duration = Duration::from_millis(50);

/// Events beyond this number are lost, and counted for their registrations.
static LIMIT: AtomicUsize = AtomicUsize::new(DEFAULT_LIMIT);

/// Maximum number of events that a thread keeps.
pub fn limit() -> usize {
    LIMIT.load(Ordering::Relaxed)
}

/// Sets the maximum number of events that a thread keeps.
pub fn set_limit(events: usize) {
    LIMIT.store(events.min(LARGEST_LIMIT), Ordering::Relaxed);
}

struct Event {
    what: Occurrence,
    payload: Payload,
}

/// An event without its payload.
#[derive(Clone, Copy)]
struct Occurrence {
    kind: EventKind,
    object: u64,
    at: u64,
    origin: Origin,
}

/// A thread's queue: two lists that alternate, so that an event stays in place until it is delivered.
struct Queue {
    events: RefCell<Vec<Event>>,
    /// The other list, empty; it keeps its memory.
    spare: Cell<Vec<Event>>,
    /// Whether there may be events.
    some: Cell<bool>,
    delivering: Cell<bool>,
    /// This thread's state in [`mpit::event`].
    frames: *const Frames,
}

impl Queue {
    fn new() -> Self {
        Self {
            events: RefCell::default(),
            spare: Cell::default(),
            some: Cell::new(false),
            delivering: Cell::new(false),
            frames: event::frames(),
        }
    }

    /// Takes all events, leaving the other list in their place; `None` for a signal handler that interrupted
    /// [`add`].
    fn take(&self) -> Option<Vec<Event>> {
        let mut events = self.events.try_borrow_mut().ok()?;
        self.some.set(false);
        Some(std::mem::replace(&mut *events, self.spare.take()))
    }

    /// The events that the thread is delivering, accessed through the thread's own memory: that is faster
    /// than the thread-local storage of a loaded library.
    #[inline(always)]
    fn frames(&self) -> &Frames {
        // SAFETY: memory that only this thread accesses and that outlives its queue.
        unsafe { &*self.frames }
    }
}

/// This thread's queue, if it has one.
#[inline(always)]
fn queue(tls: &Tls) -> Option<&'static Queue> {
    // SAFETY: null, or made by `queue_or_new`; it lives until the thread has ended.
    unsafe { tls.events.get().cast::<Queue>().as_ref() }
}

/// This thread's queue, created if necessary; `None` if the thread has never called MPI, so that no hook
/// would deliver later.
#[inline]
fn queue_or_new(tls: &Tls) -> Option<&'static Queue> {
    if tls.events.get().is_null() && !tls.thread.get().is_null() {
        tls.events.set(Box::into_raw(Box::new(Queue::new())).cast());
    }
    queue(tls)
}

/// The events this thread is delivering, if they are available without thread-local storage.
#[inline(always)]
pub fn frames() -> Option<&'static Frames> {
    queue(Tls::get()).map(Queue::frames)
}

/// Held by the one thread that may run callbacks which are not thread-safe.
static TURNS: AtomicBool = AtomicBool::new(false);

/// Substitutes the current time for 0: times are not recorded in a call that began before there were
/// registrations.
#[inline(always)]
fn or_now(at: u64) -> u64 {
    if at == 0 { clock::now() } else { at }
}

/// Puts an event into this thread's queue; `at` 0 means now.
#[inline(never)]
pub fn add(kind: EventKind, object: u64, at: u64, payload: &Payload) {
    let at = or_now(at);
    let tls = Tls::get();
    let Some(queue) = queue_or_new(tls) else {
        return event::with_frames(|frames| {
            let Some(origin) = frames.origin() else { return };
            for (event, object) in types_of(kind, object) {
                let what = Occurrence { kind, object, at, origin };
                deliver(frames, u64::MAX, CbSafety::MPI_RESTRICTED, event, what, payload);
            }
        });
    };
    let Some(origin) = queue.frames().origin() else { return };
    let what = Occurrence { kind, object, at, origin };
    if let Ok(mut events) = queue.events.try_borrow_mut()
        && events.len() < limit()
    {
        events.push(Event { what, payload: *payload });
        queue.some.set(true);
        return;
    }
    lose(tls, queue, what);
}

/// Counts the event as dropped for all registrations that would have received it.
#[cold]
fn lose(tls: &Tls, queue: &Queue, event: Occurrence) {
    let Some((source, _)) = sources::of(local::index(tls), 0) else { return };
    for (wanted, object) in types_of(event.kind, event.object) {
        REGISTRY.raiser_of(wanted, source).lose_in(queue.frames(), object, event.origin, 1);
    }
}

#[inline]
fn deliver(
    frames: &Frames,
    thread: u64,
    context: CbSafety,
    event: &'static EventType,
    what: Occurrence,
    payload: &Payload,
) {
    if let Some((source, stamp)) = sources::of(thread, what.at) {
        let (timestamp, object, origin) = (Some(stamp), what.object, what.origin);
        let observed = Observed { timestamp, object, context, origin };
        REGISTRY.raiser_of(event, source).raise_in(frames, &observed, || payload);
    }
}

/// Delivers what this thread has observed so far. Must be called without any lock, at depth 0.
///
/// Events caused by the callbacks themselves follow; those caused by *their* callbacks are not raised
/// ([`Origin`]).
#[inline]
pub fn flush(tls: &Tls) {
    if let Some(queue) = queue(tls)
        && queue.some.get()
    {
        run(tls, queue, tls.nested.get(), &[State::INITIALIZED]);
    }
}

/// [`flush`] at the start of a call, before the library knows of it. The callbacks run like user functions
/// called by the library, so that the record of the call is restored after MPI calls that they make.
#[inline]
pub fn flush_inside(tls: &Tls) {
    if let Some(queue) = queue(tls)
        && queue.some.get()
    {
        run_inside(tls, queue);
    }
}

#[inline(never)]
fn run_inside(tls: &Tls, queue: &Queue) {
    // The frames of everything that the callbacks call are at lower addresses.
    let here = 0u8;
    let (nested, stack) = (tls.nested.get(), tls.callback_stack.get());
    let (from, at) = (tls.return_address.get(), tls.stack_pointer.get());
    tls.nested.set(nested + 1);
    tls.callback_stack.set((&raw const here).addr() as u64);
    tls.depth.set(0);
    // In MPI_Finalize the library still works.
    run(tls, queue, nested, &[State::INITIALIZED, State::FINALIZING]);
    tls.depth.set(1);
    tls.callback_stack.set(stack);
    tls.nested.set(nested);
    tls.return_address.set(from);
    tls.stack_pointer.set(at);
}

/// [`flush`] with one more event after those in the queue, which bypasses the queue if that is empty.
#[inline]
pub fn flush_with(tls: &Tls, kind: EventKind, at: u64, payload: &Payload) {
    let Some(queue) = queue_or_new(tls) else { return };
    let at = or_now(at);
    if queue.some.get() || queue.delivering.get() {
        add(kind, 0, at, payload);
    } else {
        let what = Occurrence { kind, object: 0, at, origin: Origin::PROGRAM };
        in_turn(tls, queue, tls.nested.get(), &[State::INITIALIZED], |stage| stage.deliver(what, payload));
    }
    // Also delivers what the callback caused.
    flush(tls);
}

/// Delivers the queue; `nested` user functions are open, and MPI can be called in the states of `running`.
#[inline(never)]
fn run(tls: &Tls, queue: &Queue, nested: u32, running: &[State]) {
    in_turn(tls, queue, nested, running, |stage| {
        // The second iteration delivers what the callbacks caused.
        while queue.some.get() {
            let Some(mut events) = queue.take() else { break };
            for event in &events {
                stage.deliver(event.what, &event.payload);
            }
            events.clear();
            queue.spare.set(events);
        }
    });
}

/// Runs a delivery, unless another delivery of the thread is in progress.
#[inline(always)]
fn in_turn(tls: &Tls, queue: &Queue, nested: u32, running: &[State], delivery: impl FnOnce(&mut Stage<'_>)) {
    if queue.delivering.replace(true) {
        return;
    }
    let thread = local::index(tls);
    let alone = threads::count() < 2 || !is_multiple();
    delivery(&mut Stage { queue, thread, alone, context: context(nested, running), turn: None });
    queue.delivering.set(false);
}

/// A delivery: its thread, and the safety level for callbacks.
struct Stage<'a> {
    queue: &'a Queue,
    /// Index of the thread's record.
    thread: u64,
    /// Whether no other thread can deliver at the same time.
    alone: bool,
    /// The safety level for callbacks that need not be thread-safe.
    context: CbSafety,
    /// Taken for the first event that needs it, and held until the end.
    turn: Option<Turn>,
}

impl Stage<'_> {
    #[inline]
    fn deliver(&mut self, what: Occurrence, payload: &Payload) {
        for (event, object) in types_of(what.kind, what.object) {
            if event.is_wanted(object) {
                let context = self.context_of(event);
                deliver(
                    self.queue.frames(),
                    self.thread,
                    context,
                    event,
                    Occurrence { object, ..what },
                    payload,
                );
            }
        }
    }

    #[inline]
    fn context_of(&mut self, event: &EventType) -> CbSafety {
        if self.alone {
            return self.context;
        }
        if !event.is_in_turn() {
            return CbSafety::THREAD_SAFE;
        }
        match self.turn.get_or_insert_with(Turn::take) {
            Turn::Taken => self.context,
            Turn::Missed => CbSafety::THREAD_SAFE,
        }
    }
}

/// Ends the thread's queue: events still in it are lost.
pub fn end(tls: &Tls) {
    let Some(queue) = queue(tls) else { return };
    queue.take().iter().flatten().for_each(|event| lose(tls, queue, event.what));
    let ended = tls.events.replace(std::ptr::null()).cast_mut().cast::<Queue>();
    // SAFETY: made by `queue_or_new` from a box; only this thread, which is ending, ever refers to it.
    drop(unsafe { Box::from_raw(ended) });
}

/// The safety level for callbacks here, if no others run at the same time.
fn context(nested: u32, running: &[State]) -> CbSafety {
    let state = image::writer().map(|writer| writer.header().state.get());
    if nested != 0 || !running.iter().any(|running| state == Some(running.0)) {
        CbSafety::MPI_RESTRICTED
    } else {
        CbSafety::NONE
    }
}

/// Whether several threads may call MPI at once.
fn is_multiple() -> bool {
    process::record().is_some_and(|process| process.thread_level.get() >= 3)
}

enum Turn {
    Taken,
    /// Another thread's callbacks take too long.
    Missed,
}

impl Turn {
    #[inline]
    fn take() -> Self {
        if !TURNS.swap(true, Ordering::Acquire) {
            return Self::Taken;
        }
        Self::wait()
    }

    #[cold]
    fn wait() -> Self {
        let begun = Instant::now();
        while begun.elapsed() < TURN {
            std::thread::yield_now();
            if !TURNS.swap(true, Ordering::Acquire) {
                return Self::Taken;
            }
        }
        Self::Missed
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if matches!(self, Self::Taken) {
            TURNS.store(false, Ordering::Release);
        }
    }
}
