//! Events that a thread has observed and not delivered, and their delivery.

use super::{Kind, Payload, event_type, sources, wanted};
use crate::threads::{self, Local};
use crate::tls::Tls;
use crate::tool::REGISTRY;
use crate::{clock, identity, image};
use mpiscope_image::layout::State;
use mpit::CbSafety;
use mpit::event::{self, Frames};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How many events a thread keeps unless the control variable says otherwise.
pub const DEFAULT_LIMIT: usize = 1 << 16;
/// The largest limit.
pub const LARGEST_LIMIT: usize = 1 << 26;
/// How long a thread waits for its turn.
const TURN: Duration = Duration::from_millis(50);
/// How often a delivery goes on with what its callbacks caused.
const ROUNDS: usize = 8;

/// More events than this are not kept: they are lost, and counted for their registrations.
static LIMIT: AtomicUsize = AtomicUsize::new(DEFAULT_LIMIT);

/// How many events a thread keeps.
pub fn limit() -> usize {
    LIMIT.load(Ordering::Relaxed)
}

/// Changes how many events a thread keeps.
pub fn set_limit(events: usize) {
    LIMIT.store(events.min(LARGEST_LIMIT), Ordering::Relaxed);
}

struct Event {
    what: What,
    payload: Payload,
}

/// An event without what it says.
#[derive(Clone, Copy)]
struct What {
    kind: Kind,
    object: u64,
    at: u64,
}

/// The queue of a thread: two lists that take turns, so that an event stays where it was put until it is delivered.
#[derive(Default)]
pub struct Pending {
    events: RefCell<Vec<Event>>,
    /// The other one, empty; it keeps its memory.
    spare: Cell<Vec<Event>>,
    /// There may be events.
    some: Cell<bool>,
    delivering: Cell<bool>,
}

impl Pending {
    /// What there is, with the other list in its place; `None` for a signal handler that interrupted [`add`].
    fn take(&self) -> Option<Vec<Event>> {
        let mut events = self.events.try_borrow_mut().ok()?;
        self.some.set(false);
        Some(std::mem::replace(&mut *events, self.spare.take()))
    }
}

/// One thread at a time has callbacks that need not be thread-safe.
static TURNS: AtomicBool = AtomicBool::new(false);

/// Times are not recorded in a call that began before anybody was registered.
#[inline(always)]
fn or_now(at: u64) -> u64 {
    if at == 0 { clock::now() } else { at }
}

/// Puts an event into the queue of this thread; `at` 0 is now.
#[inline(never)]
pub fn add(kind: Kind, object: u64, at: u64, payload: Payload) {
    let at = or_now(at);
    let what = What { kind, object, at };
    let Some(local) = threads::local(Tls::get()) else {
        // This thread has never called MPI: there is no hook that would deliver later.
        return event::with_frames(|frames| {
            deliver(frames, u64::MAX, CbSafety::MPI_RESTRICTED, what, &payload);
        });
    };
    if let Ok(mut events) = local.pending.events.try_borrow_mut()
        && events.len() < limit()
    {
        events.push(Event { what, payload });
        local.pending.some.set(true);
        return;
    }
    lose(local, what);
}

/// The event counts as dropped for all who would have heard it.
#[cold]
fn lose(local: &Local, event: What) {
    let thread = local.index.load(Ordering::Relaxed);
    if let (Some(about), Some((source, _))) = (wanted(event.kind, event.object), sources::of(thread, 0)) {
        REGISTRY.raiser_of(about, source).lose(event.object);
    }
}

#[inline]
fn deliver(frames: &Frames, thread: u64, context: CbSafety, event: What, payload: &Payload) {
    if let (Some(about), Some((source, stamp))) = (event_type(event.kind), sources::of(thread, event.at)) {
        let raiser = REGISTRY.raiser_of(about, source);
        raiser.raise_in(frames, stamp, event.object, context, || payload);
    }
}

/// Delivers what this thread has observed so far. To be called outside of all locks, at depth 0.
///
/// What the callbacks themselves cause comes after it, and what these callbacks cause after that; what is left after
/// some rounds waits for the next call of the program.
#[inline]
pub fn flush(tls: &Tls) {
    if let Some(local) = threads::local(tls)
        && local.pending.some.get()
    {
        run(local, tls.nested.get(), &[State::INITIALIZED]);
    }
}

/// [`flush`] at the beginning of a call, of which the library knows nothing yet. The callbacks run as functions of the
/// program that the library calls would, so that the record of the call is put back after MPI calls that they make.
#[inline]
pub fn flush_inside(tls: &Tls) {
    if let Some(local) = threads::local(tls)
        && local.pending.some.get()
    {
        run_inside(tls, local);
    }
}

#[inline(never)]
fn run_inside(tls: &Tls, local: &Local) {
    // Whatever the callbacks call lies below it.
    let here = 0u8;
    let (nested, stack) = (tls.nested.get(), tls.callback_stack.get());
    tls.nested.set(nested + 1);
    tls.callback_stack.set((&raw const here).addr() as u64);
    tls.depth.set(0);
    // In MPI_Finalize the library still works.
    run(local, nested, &[State::INITIALIZED, State::FINALIZING]);
    tls.depth.set(1);
    tls.callback_stack.set(stack);
    tls.nested.set(nested);
}

/// [`flush`] with one more event behind those in the queue, which need not be put there if that is empty.
#[inline]
pub fn flush_with(tls: &Tls, kind: Kind, at: u64, payload: &Payload) {
    let Some(local) = threads::local(tls) else { return };
    let at = or_now(at);
    if local.pending.some.get() || local.pending.delivering.get() {
        add(kind, 0, at, *payload);
    } else {
        let what = What { kind, object: 0, at };
        in_turn(local, tls.nested.get(), &[State::INITIALIZED], |thread, context| {
            deliver(local.frames(), thread, context, what, payload);
        });
    }
    // Also what the callback caused.
    flush(tls);
}

/// Delivers; `nested` user functions are open, and MPI can be called in the states of `running`.
#[inline(never)]
fn run(local: &Local, nested: u32, running: &[State]) {
    in_turn(local, nested, running, |thread, context| {
        for _ in 0..ROUNDS {
            let Some(mut events) = local.pending.take() else { break };
            for event in &events {
                deliver(local.frames(), thread, context, event.what, &event.payload);
            }
            events.clear();
            local.pending.spare.set(events);
            // What the callbacks caused.
            if !local.pending.some.get() {
                break;
            }
        }
    });
}

/// Runs a delivery, when it is this thread's turn, with the index of its record and what callbacks must bear. Not at all
/// while another delivery of the thread is under way.
#[inline(always)]
fn in_turn(local: &Local, nested: u32, running: &[State], delivery: impl FnOnce(u64, CbSafety)) {
    if local.pending.delivering.replace(true) {
        return;
    }
    let turn = Turn::take();
    delivery(local.index.load(Ordering::Relaxed), context(nested, running, &turn));
    drop(turn);
    local.pending.delivering.set(false);
}

/// The thread is at its end: what it still has is lost.
pub fn abandon(local: &Local) {
    let left = local.pending.take();
    left.iter().flatten().for_each(|event| lose(local, event.what));
}

/// What a callback must bear here.
fn context(nested: u32, running: &[State], turn: &Turn) -> CbSafety {
    let state = image::writer().map(|writer| writer.header().state.get());
    if matches!(turn, Turn::Missed) {
        CbSafety::THREAD_SAFE
    } else if nested != 0 || !running.iter().any(|running| state == Some(running.0)) {
        CbSafety::MPI_RESTRICTED
    } else {
        CbSafety::NONE
    }
}

enum Turn {
    /// There is only one thread.
    Needless,
    Taken,
    /// Another thread's callbacks take too long.
    Missed,
}

impl Turn {
    #[inline]
    fn take() -> Self {
        if threads::count() < 2 || identity::process().is_none_or(|process| process.thread_level.get() < 3) {
            return Self::Needless;
        }
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
