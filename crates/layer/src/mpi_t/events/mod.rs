//! Delivers our own events to tools: registrations, and the queues from which callbacks are called.
//!
//! An event raised by a hook ([`crate::events`]) is put into its thread's queue with its time, and delivered
//! when the MPI call has returned to this library and all its locks are released. The callback runs where the
//! program itself would run next, so it may call any MPI function, and an operation whose start it is
//! notified of is in progress. Only the start of a call is delivered immediately, because the call may never
//! return. A full queue loses events; every registration that would have received them learns how many.
//!
//! # MPI calls of callbacks
//!
//! An MPI call made by a callback raises no event for that callback's registration. Other registrations
//! receive it, after the events in progress; calls made by *their* callbacks then raise no events at all. So
//! no tool observes itself, and a tool's cost is proportional to the program's calls, however many of its
//! callbacks call MPI.
//!
//! # Sources
//!
//! Each thread is a separate source, in which timestamps never decrease. Threads beyond [`sources::MOST`]
//! share one that guarantees nothing.
//!
//! # Safety levels of callbacks
//!
//! `MPI_T_CB_REQUIRE_NONE` between `MPI_Init` and `MPI_Finalize`, as long as only one thread calls MPI. If
//! several do, registrations whose callbacks are all thread-safe are called by them concurrently, with
//! `MPI_T_CB_REQUIRE_THREAD_SAFE`; for an event type with a callback of a lower level the threads take turns,
//! with `MPI_T_CB_REQUIRE_NONE`, and if a turn takes too long, the next thread's callbacks run at the same
//! time, with `MPI_T_CB_REQUIRE_THREAD_SAFE`. Inside user functions that MPI calls, and outside of `MPI_Init`
//! and `MPI_Finalize`: `MPI_T_CB_REQUIRE_MPI_RESTRICTED`.
#![allow(unsafe_code)]

pub mod queue;
mod senders;
mod sources;

use super::own_categories::{Categories, publish_one};
use super::{REGISTRY, bound, recording};
use crate::events::types::{EVENT_TYPES, EventDescription};
use crate::events::{self, EventKind, Payload, Received, Sink};
use crate::interpose::tls::Tls;
use crate::record::traffic;
use mpiscope_image::traffic::RequestKind;
use mpit::event::{EventSpec, EventType};
use mpit::{Bind, Enumeration, Member, Verbosity};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

static ALLOWED: AtomicBool = AtomicBool::new(true);
/// Number of registrations, by [`EventKind`].
static REGISTERED: Mutex<[u32; EVENT_TYPES.len()]> = Mutex::new([0; EVENT_TYPES.len()]);
/// Types by [`EventKind`]; set once.
type Types = [AtomicPtr<EventType>; EVENT_TYPES.len()];

/// The event types.
static TYPES: Types = [const { AtomicPtr::new(ptr::null_mut()) }; EVENT_TYPES.len()];
/// The unbound twins of types that are bound to an object.
static TWINS: Types = [const { AtomicPtr::new(ptr::null_mut()) }; EVENT_TYPES.len()];

/// The sink for events raised by the floors below.
struct Registrations;

impl Sink for Registrations {
    #[inline]
    fn wants(&self, kind: EventKind, object: u64) -> bool {
        types_of(kind, object).any(|(event, object)| event.is_wanted(object))
    }

    fn keep(&self, kind: EventKind, object: u64, at: u64, payload: &Payload) {
        queue::add(kind, object, at, payload);
    }

    fn deliver(&self) {
        queue::flush(Tls::get());
    }

    fn deliver_inside(&self) {
        queue::flush_inside(Tls::get());
    }

    fn deliver_with(&self, kind: EventKind, at: u64, payload: &Payload) {
        queue::flush_with(Tls::get(), kind, at, payload);
    }

    fn received(&self, message: &Received) {
        senders::compare(message);
    }

    fn thread_ended(&self) {
        queue::end(Tls::get());
    }
}

/// Switches the delivery of events on or off.
pub fn allow(on: bool) {
    let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    ALLOWED.store(on, Ordering::SeqCst);
    refresh(&*registered);
}

/// Whether events are delivered.
pub fn is_allowed() -> bool {
    ALLOWED.load(Ordering::SeqCst)
}

fn refresh(registered: &[u32]) {
    let bits = registered.iter().enumerate().filter(|(_, count)| **count != 0);
    let bits = bits.fold(0, |all, (kind, _)| all | EventKind(kind).bit());
    events::want(if is_allowed() { bits } else { 0 });
    traffic::state::reconsider();
}

/// Looks up the type of a kind in one of the two tables.
#[inline(always)]
fn event_type(types: &Types, kind: EventKind) -> Option<&'static EventType> {
    // SAFETY: null, or a type in `REGISTRY`, which only grows and lives as long as the process.
    unsafe { types.get(kind.0)?.load(Ordering::Acquire).as_ref() }
}

/// The types of a kind, each with the word that identifies the object to it.
#[inline(always)]
fn types_of(kind: EventKind, object: u64) -> impl Iterator<Item = (&'static EventType, u64)> {
    let bound = event_type(&TYPES, kind).map(|event| (event, object));
    bound.into_iter().chain(event_type(&TWINS, kind).map(|event| (event, 0)))
}

/// Records that a registration was added (`came`) or removed.
fn interest(kind: EventKind, needed: u32, came: bool) {
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
    events::install(&Registrations);
    sources::publish();
    let names = (0..).map_while(|kind| match RequestKind(kind).name() {
        None if kind == 0 => Some("none"),
        name => name,
    });
    let names = Enumeration::new("mpiscope_request_kind").items(names);
    publish_one("the requests' names", REGISTRY.add_enumeration(names));
    let kinds = || EVENT_TYPES.iter().enumerate().zip(TYPES.iter().zip(&TWINS));
    for ((at, described), (place, _)) in kinds() {
        publish_kind(EventKind(at), described, categories, place);
    }
    for ((at, described), (_, place)) in kinds().filter(|((_, about), _)| about.bind != Bind::NO_OBJECT) {
        publish_kind(EventKind(at), &described.twin(), categories, place);
    }
}

fn publish_kind(
    kind: EventKind,
    described: &EventDescription,
    categories: &Categories,
    place: &AtomicPtr<EventType>,
) {
    let mut spec =
        EventSpec::new(described.name).desc(described.full_desc()).verbosity(Verbosity::USER_BASIC);
    for element in described.elements {
        spec = spec.element(element.name, element.datatype);
    }
    if described.bind != Bind::NO_OBJECT {
        // Objects are checked and resolved together with the handle, before the engine is called.
        spec = spec.bind(described.bind, |_| Ok(()));
    }
    let needed = described.recording;
    let index = REGISTRY.add_event(spec.on_interest(move |_, came| interest(kind, needed, came)));
    let Some(index) = publish_one(described.name, index) else { return };
    categories.add(described.topic, Member::Event(index));
    if let Ok(event) = REGISTRY.event(index) {
        place.store(ptr::from_ref(event).cast_mut(), Ordering::Release);
    }
}

/// The word that identifies an object to events of a type: its uid, or for the library's own types its
/// handle.
///
/// # Errors
/// As for [`bound::uid`] and [`bound::check`].
pub fn token(event: i32, bind: Bind, object: u64) -> mpit::Result<u64> {
    let ours = |first: &EventType| {
        usize::try_from(event).is_ok_and(|event| event < first.index() + EVENT_TYPES.len())
    };
    if event_type(&TYPES, EventKind(0)).is_some_and(ours) {
        bound::uid(bind, object)
    } else {
        bound::check(bind, object)
    }
}
