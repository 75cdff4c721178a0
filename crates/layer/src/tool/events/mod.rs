//! The event types of our own, and how they are raised.
//!
//! ```text
//!   hook ──► observe ──► anybody? ──no──► (one load, one branch)
//!                           │ yes, for this type and object
//!                           ▼
//!                        queue of the thread ──► when the call is over: callbacks
//! ```
//!
//! What a hook observes is put into a queue of its thread with its time, and delivered when the MPI call has
//! returned to this library and all its locks are free: the callback runs where the program itself would run next, so
//! that it may call any MPI function. Events that MPI calls of a callback cause come after those under way: they never
//! nest, and a chain of them is cut off after some rounds, to go on after the program's next MPI call.
//!
//! # Sources
//!
//! Each thread is a source of its own, in which timestamps strictly increase. Threads beyond [`sources::MOST`]
//! share one that promises nothing.
//!
//! # What a callback must bear
//!
//! `MPI_T_CB_REQUIRE_NONE` between `MPI_Init` and `MPI_Finalize`: if there are several threads, they take turns. If a
//! turn takes too long, the next thread's callbacks run at the same time, with `MPI_T_CB_REQUIRE_THREAD_SAFE`. Inside of
//! user functions that MPI calls, and outside of `MPI_Init` and `MPI_Finalize`: `MPI_T_CB_REQUIRE_MPI_RESTRICTED`.

pub mod kinds;
pub mod observe;
mod payload;
mod queue;
mod sources;

use super::own::Categories;
use super::{REGISTRY, bound, recording};
use kinds::{KINDS, Kind};
use mpit::event::{EventSpec, EventType};
use mpit::{Bind, Member, Verbosity};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

pub use payload::Payload;
pub use queue::{Pending, flush};

static ALLOWED: AtomicBool = AtomicBool::new(true);
/// Registrations of our event types.
static REGISTERED: AtomicU32 = AtomicU32::new(0);
/// Somebody is registered, and delivery is allowed.
static ANYBODY: AtomicBool = AtomicBool::new(false);
/// The types, by [`Kind`].
static TYPES: OnceLock<Vec<Option<&'static EventType>>> = OnceLock::new();

/// Might anybody want to hear of anything? One load.
#[inline(always)]
pub fn anybody() -> bool {
    ANYBODY.load(Ordering::Relaxed)
}

/// Switches the delivery of events on or off.
pub fn allow(on: bool) {
    ALLOWED.store(on, Ordering::SeqCst);
    refresh();
}

/// Are events delivered?
pub fn is_allowed() -> bool {
    ALLOWED.load(Ordering::SeqCst)
}

fn refresh() {
    let registered = REGISTERED.load(Ordering::SeqCst) != 0;
    ANYBODY.store(registered && ALLOWED.load(Ordering::SeqCst), Ordering::SeqCst);
}

/// The type of a kind, if anybody wants to hear of this object.
#[inline]
fn wanted(kind: Kind, object: u64) -> Option<&'static EventType> {
    let event = TYPES.get()?.get(kind.0).copied().flatten()?;
    event.is_wanted(object).then_some(event)
}

/// A registration came (`true`) or went.
fn interest(recording: u32, came: bool) {
    if came {
        REGISTERED.fetch_add(1, Ordering::SeqCst);
    } else {
        REGISTERED.fetch_sub(1, Ordering::SeqCst);
    }
    refresh();
    recording::want(recording, came);
}

/// Registers sources and event types.
pub fn publish(categories: &Categories) {
    sources::publish();
    let types = KINDS.iter().map(|kind| {
        let mut spec = EventSpec::new(kind.name).desc(kind.desc).verbosity(Verbosity::USER_BASIC);
        for (name, datatype) in kind.elements {
            spec = spec.element(*name, *datatype);
        }
        if kind.bind != Bind::NO_OBJECT {
            // Objects are checked and named when the handle is looked at, before the engine.
            spec = spec.bind(kind.bind, |_| Ok(()));
        }
        let wants = kind.recording;
        let index = REGISTRY.add_event(spec.on_interest(move |_, came| interest(wants, came)));
        let index = super::own::publish_one(kind.name, index)?;
        categories.add(kind.place, Member::Event(index));
        REGISTRY.event(index).ok()
    });
    let _ = TYPES.set(types.collect());
}

/// The word by which events know an object.
///
/// # Errors
/// As [`bound::uid`].
pub fn token(bind: Bind, object: u64) -> mpit::Result<u64> {
    bound::uid(bind, object)
}
