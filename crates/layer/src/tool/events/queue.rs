//! Events that a thread has observed and not delivered, and their delivery.

use super::{Kind, Payload, sources, wanted};
use crate::threads::{self, Local};
use crate::tls::Tls;
use crate::tool::REGISTRY;
use crate::{clock, identity, image};
use mpiscope_image::layout::State;
use mpit::CbSafety;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// More than this is not kept: later events are lost, and counted for their registrations.
const MOST: usize = 1 << 16;
/// How long a thread waits for its turn.
const TURN: Duration = Duration::from_millis(50);

/// How often a delivery goes on with what its callbacks caused.
const ROUNDS: usize = 8;

struct Event {
    kind: Kind,
    object: u64,
    at: u64,
    payload: Payload,
}

/// The queue of a thread.
#[derive(Default)]
pub struct Pending {
    events: RefCell<VecDeque<Event>>,
    delivering: Cell<bool>,
}

/// One thread at a time has callbacks that need not be thread-safe.
static TURNS: AtomicBool = AtomicBool::new(false);

/// Puts an event into the queue of this thread; `at` 0 is now.
#[inline(never)]
pub fn add(kind: Kind, object: u64, at: u64, payload: Payload) {
    let at = if at == 0 { clock::now() } else { at };
    let tls = Tls::get();
    let Some(local) = threads::local(tls) else {
        // This thread has never called MPI: there is no hook that would deliver later.
        return deliver(u64::MAX, CbSafety::MPI_RESTRICTED, &Event { kind, object, at, payload });
    };
    if let Ok(mut events) = local.pending.events.try_borrow_mut()
        && events.len() < MOST
    {
        events.push_back(Event { kind, object, at, payload });
        return;
    }
    lose(local, kind, object);
}

#[cold]
fn lose(local: &Local, kind: Kind, object: u64) {
    let thread = local.index.load(Ordering::Relaxed);
    if let (Some(event), Some((source, _))) = (wanted(kind, object), sources::of(thread, 0))
        && let Ok(raiser) = REGISTRY.raiser(event.index(), source)
    {
        raiser.lose(object);
    }
}

fn deliver(thread: u64, context: CbSafety, event: &Event) {
    let Some(about) = wanted(event.kind, event.object) else { return };
    let Some((source, stamp)) = sources::of(thread, event.at) else { return };
    if let Ok(raiser) = REGISTRY.raiser(about.index(), source) {
        raiser.raise_at(stamp, event.object, context, || event.payload);
    }
}

/// Delivers what this thread has observed so far. To be called outside of all locks, at depth 0.
///
/// What the callbacks themselves cause comes after it, and what these callbacks cause after that; what is left after
/// some rounds waits for the next call of the program.
#[cold]
pub fn flush(tls: &Tls) {
    let Some(local) = threads::local(tls) else { return };
    let pending = &local.pending;
    if pending.events.try_borrow().is_ok_and(|events| events.is_empty()) || pending.delivering.replace(true) {
        return;
    }
    let turn = Turn::take();
    let context = context(tls, &turn);
    let thread = local.index.load(Ordering::Relaxed);
    for _ in 0..ROUNDS {
        let count = pending.events.try_borrow().map_or(0, |events| events.len());
        for _ in 0..count {
            let event = pending.events.try_borrow_mut().ok().and_then(|mut events| events.pop_front());
            let Some(event) = event else { break };
            deliver(thread, context, &event);
        }
    }
    drop(turn);
    pending.delivering.set(false);
}

/// What a callback must bear here.
fn context(tls: &Tls, turn: &Turn) -> CbSafety {
    let running = image::writer().is_some_and(|w| w.header().state.get() == State::INITIALIZED.0);
    if matches!(turn, Turn::Missed) {
        CbSafety::THREAD_SAFE
    } else if tls.nested.get() != 0 || !running {
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
    fn take() -> Self {
        let level = identity::process().map_or(0, |process| process.thread_level.get());
        if threads::count() < 2 || level < 3 {
            return Self::Needless;
        }
        if !TURNS.swap(true, Ordering::Acquire) {
            return Self::Taken;
        }
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
