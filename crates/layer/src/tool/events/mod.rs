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
//! that it may call any MPI function, and an operation whose start it hears of is under way. Only the start of a call
//! is told at once, because the call may never return. Events that MPI calls of a callback cause come after those under way: they never nest, and a chain of
//! them is cut off after some rounds, to go on after the program's next MPI call. A queue that is full loses events;
//! every registration that would have heard them is told how many.
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
#![allow(unsafe_code)]

pub mod kinds;
pub mod observe;
mod payload;
pub mod queue;
mod sources;

use super::own::{Categories, publish_one};
use super::{REGISTRY, bound, recording};
use crate::traffic;
use kinds::{About, KINDS, Kind};
use mpiscope_image::traffic::RequestKind;
use mpit::event::{EventSpec, EventType};
use mpit::{Bind, Enumeration, Member, Verbosity};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

pub use payload::Payload;
pub use queue::{Pending, flush, flush_inside};

static ALLOWED: AtomicBool = AtomicBool::new(true);
/// Registrations, by [`Kind`].
static REGISTERED: Mutex<[u32; KINDS.len()]> = Mutex::new([0; KINDS.len()]);
/// A bit for each [`Kind`] that somebody is registered for; none while delivery is not allowed.
static WANTED: AtomicU64 = AtomicU64::new(0);
/// The types, by [`Kind`]; set once.
static TYPES: [AtomicPtr<EventType>; KINDS.len()] = [const { AtomicPtr::new(ptr::null_mut()) }; KINDS.len()];

/// The types that somebody is registered for, a bit each. One load.
#[inline(always)]
pub fn wanted_kinds() -> u64 {
    WANTED.load(Ordering::Relaxed)
}

/// Might anybody want to hear of anything? One load.
#[inline(always)]
pub fn anybody() -> bool {
    wanted_kinds() != 0
}

/// Switches the delivery of events on or off.
pub fn allow(on: bool) {
    let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    ALLOWED.store(on, Ordering::SeqCst);
    refresh(&*registered);
}

/// Are events delivered?
pub fn is_allowed() -> bool {
    ALLOWED.load(Ordering::SeqCst)
}

fn refresh(registered: &[u32]) {
    let bits = registered.iter().enumerate().filter(|(_, count)| **count != 0);
    let bits = bits.fold(0, |all, (kind, _)| all | Kind(kind).bit());
    WANTED.store(if is_allowed() { bits } else { 0 }, Ordering::SeqCst);
    traffic::state::reconsider();
}

/// The type of a kind.
#[inline(always)]
fn event_type(kind: Kind) -> Option<&'static EventType> {
    // SAFETY: null, or a type in `REGISTRY`, which only grows and lives as long as the process.
    unsafe { TYPES.get(kind.0)?.load(Ordering::Acquire).as_ref() }
}

/// The type of a kind, if anybody wants to hear of this object.
#[inline(always)]
fn wanted(kind: Kind, object: u64) -> Option<&'static EventType> {
    let event = event_type(kind)?;
    (wanted_kinds() & kind.bit() != 0 && event.is_wanted(object)).then_some(event)
}

/// A registration came (`true`) or went.
fn interest(kind: Kind, needed: u32, came: bool) {
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(count) = registered.get_mut(kind.0) {
        *count = if came { *count + 1 } else { count.saturating_sub(1) };
    }
    refresh(&*registered);
    drop(registered);
    recording::want(needed, came);
}

/// Registers sources and event types.
pub fn publish(categories: &Categories) {
    sources::publish();
    let names = (0..).map_while(|kind| match RequestKind(kind).name() {
        None if kind == 0 => Some("none"),
        name => name,
    });
    let names = Enumeration::new("mpiscope_request_kind").items(names);
    publish_one("the requests' names", REGISTRY.add_enumeration(names));
    for (at, about) in KINDS.iter().enumerate() {
        if let Some(event) = publish_kind(Kind(at), about, categories)
            && let Some(place) = TYPES.get(at)
        {
            place.store(ptr::from_ref(event).cast_mut(), Ordering::Release);
        }
    }
}

fn publish_kind(kind: Kind, about: &About, categories: &Categories) -> Option<&'static EventType> {
    let mut spec = EventSpec::new(about.name).desc(about.full_desc()).verbosity(Verbosity::USER_BASIC);
    for (name, datatype) in about.elements {
        spec = spec.element(*name, *datatype);
    }
    if about.bind != Bind::NO_OBJECT {
        // Objects are checked and named when the handle is looked at, before the engine.
        spec = spec.bind(about.bind, |_| Ok(()));
    }
    let needed = about.recording;
    let index = REGISTRY.add_event(spec.on_interest(move |_, came| interest(kind, needed, came)));
    let index = publish_one(about.name, index)?;
    categories.add(about.place, Member::Event(index));
    REGISTRY.event(index).ok()
}

/// The word by which events of a type know an object: its number, or for types of the library its handle.
///
/// # Errors
/// As [`bound::uid`] and [`bound::check`].
pub fn token(event: i32, bind: Bind, object: u64) -> mpit::Result<u64> {
    let ours =
        |first: &EventType| usize::try_from(event).is_ok_and(|event| event < first.index() + KINDS.len());
    if event_type(Kind(0)).is_some_and(ours) { bound::uid(bind, object) } else { bound::check(bind, object) }
}
