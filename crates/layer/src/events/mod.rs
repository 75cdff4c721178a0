//! Events, as those know them who raise them: types with their elements, what is asked for, and where events go.
//!
//! ```text
//!   raise(event) ──► does anybody want this type? ──no──► (one load, one branch)
//!                           │ yes
//!                           ▼
//!                      the sink: keeps the event, and delivers it when it is asked to
//! ```
//!
//! The sink is whoever receives events: the tool interface, which lies above. Until it has installed itself nobody wants
//! anything.

mod payload;
pub mod types;

pub use payload::Payload;
pub use types::{Event, EventKind};

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A bit for each [`EventKind`] that somebody wants.
static WANTED: AtomicU64 = AtomicU64::new(0);
static SINK: OnceLock<&'static dyn Sink> = OnceLock::new();

/// Where events go.
pub trait Sink: Sync {
    /// Does anybody want events of this type about this object?
    fn wants(&self, kind: EventKind, object: u64) -> bool;

    /// Keeps an event of this thread until it can be delivered; `at` 0 is now.
    fn keep(&self, kind: EventKind, object: u64, at: u64, payload: &Payload);

    /// Delivers what this thread has kept. Outside of all locks, at depth 0.
    fn deliver(&self);

    /// The same at the beginning of a call, of which the library knows nothing yet: at depth 1.
    fn deliver_inside(&self);

    /// Delivers what this thread has kept, and then this event, about no object.
    fn deliver_with(&self, kind: EventKind, at: u64, payload: &Payload);

    /// A message was received. Only called while somebody wants the types that this raises.
    fn received(&self, message: &Received);

    /// This thread is at its end: what it has kept is lost.
    fn thread_ended(&self);
}

/// A message as its receiver knows it: what says whether it was late or unexpected is known to its sender.
#[derive(Clone, Copy)]
pub struct Received {
    /// Uid of the communicator.
    pub comm: u64,
    /// Rank of the sender.
    pub from: i32,
    #[allow(missing_docs)]
    pub tag: i32,
    #[allow(missing_docs)]
    pub bytes: u64,
    /// Which it is of all messages from this sender on the communicator, from 1.
    pub nth: u64,
    /// When the receive was posted, in ticks.
    pub posted: u64,
    /// When it was complete, in ticks.
    pub at: u64,
    /// What the two ends are found by.
    pub sides: Sides,
}

/// What the two ends of a message are found by: elements of the same names.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Sides {
    pub comm_id: u64,
    pub id: u64,
    pub world_peer: i32,
    pub partitions: i32,
}

/// The types that [`Sink::received`] raises.
const OF_RECEIVED: u64 = types::ReceiveUnexpected::KIND.bit() | types::ReceiveLate::KIND.bit();

/// Says where events go. Once; the first one stays.
pub fn install(sink: &'static dyn Sink) {
    // Nothing is to be done about a second one.
    let _ = SINK.set(sink);
}

/// Says which types are wanted.
pub fn want(kinds: u64) {
    WANTED.store(kinds, Ordering::SeqCst);
}

/// The types that somebody wants, a bit each. One load.
#[inline(always)]
pub fn wanted() -> u64 {
    WANTED.load(Ordering::Relaxed)
}

/// Might anybody want any event? One load.
#[inline(always)]
pub fn anybody() -> bool {
    wanted() != 0
}

/// The sink, if somebody wants events of this type about this object.
#[inline]
fn sink_for(kind: EventKind, object: u64) -> Option<&'static dyn Sink> {
    SINK.get().copied().filter(|sink| sink.wants(kind, object))
}

/// Does somebody want events of this type about this object?
#[inline(always)]
pub fn is_wanted<E: Event>(object: u64) -> bool {
    wanted() & E::KIND.bit() != 0 && sink_for(E::KIND, object).is_some()
}

/// Raises an event if anybody wants it; `at` 0 is now.
#[inline(always)]
pub fn raise<E: Event>(object: u64, at: u64, event: impl FnOnce() -> E) {
    if wanted() & E::KIND.bit() != 0
        && let Some(sink) = sink_for(E::KIND, object)
    {
        sink.keep(E::KIND, object, at, &event().payload());
    }
}

/// Delivers what this thread has kept. Outside of all locks, at depth 0.
pub fn deliver() {
    if let Some(sink) = SINK.get() {
        sink.deliver();
    }
}

/// The same at the beginning of a call, of which the library knows nothing yet: at depth 1.
pub fn deliver_inside() {
    if let Some(sink) = SINK.get() {
        sink.deliver_inside();
    }
}

/// Delivers what this thread has kept, and then this event, about no object.
pub fn deliver_with<E: Event>(at: u64, event: impl FnOnce() -> E) {
    match sink_for(E::KIND, 0) {
        Some(sink) => sink.deliver_with(E::KIND, at, &event().payload()),
        None => deliver(),
    }
}

/// A message was received: for those who want to know whether it was late or unexpected.
#[inline(always)]
pub fn received(message: impl FnOnce() -> Received) {
    if wanted() & OF_RECEIVED != 0
        && let Some(sink) = SINK.get()
    {
        sink.received(&message());
    }
}

/// This thread is at its end.
pub fn thread_ended() {
    if let Some(sink) = SINK.get() {
        sink.thread_ended();
    }
}
