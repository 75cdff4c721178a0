//! Events from the viewpoint of the code that raises them: types and their elements, which of them are
//! wanted, and their sink.
//!
//! ```text
//!   raise(event) ──► is this type wanted? ──no──► (one load, one branch)
//!                           │ yes
//!                           ▼
//!                      the sink: keeps the event, and delivers it on request
//! ```
//!
//! The sink is the tool interface, a floor above this one. Until it has installed itself, no events are
//! wanted.

mod payload;
pub mod types;

pub use payload::Payload;
pub use types::{Event, EventKind};

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A bit for each wanted [`EventKind`].
static WANTED: AtomicU64 = AtomicU64::new(0);
static SINK: OnceLock<&'static dyn Sink> = OnceLock::new();

/// The receiver of all events.
pub trait Sink: Sync {
    /// Whether events of this type about this object are wanted.
    fn wants(&self, kind: EventKind, object: u64) -> bool;

    /// Keeps an event of this thread until it can be delivered; `at` 0 means now.
    fn keep(&self, kind: EventKind, object: u64, at: u64, payload: &Payload);

    /// Delivers the kept events of this thread. Must be called without any lock, at depth 0.
    fn deliver(&self);

    /// Like [`deliver`](Self::deliver), but at the start of a call, before the library knows of it: at depth
    /// 1.
    fn deliver_inside(&self);

    /// Delivers the kept events of this thread, and then this event, which is about no object.
    fn deliver_with(&self, kind: EventKind, at: u64, payload: &Payload);

    /// Handles a received message. Called only while the types that this raises are wanted.
    fn received(&self, message: &Received);

    /// Called when this thread ends: its kept events are lost.
    fn thread_ended(&self);
}

/// A message as its receiver knows it. Only its sender knows what shows whether it was late or unexpected.
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
    /// Number of this message among all from this sender on the communicator, counting from 1.
    pub nth: u64,
    /// When the receive was posted, in ticks.
    pub posted: u64,
    /// When the receive completed, in ticks.
    pub at: u64,
    /// Identifies the two ends.
    pub sides: Sides,
}

/// Values by which the two ends of a message are identified; the event elements have the same names.
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

/// Installs the sink. Only the first one takes effect.
pub fn install(sink: &'static dyn Sink) {
    // A second sink is ignored.
    let _ = SINK.set(sink);
}

/// Sets which types are wanted.
pub fn want(kinds: u64) {
    WANTED.store(kinds, Ordering::SeqCst);
}

/// The wanted types, one bit each. A single load.
#[inline(always)]
pub fn wanted() -> u64 {
    WANTED.load(Ordering::Relaxed)
}

/// Whether any events may be wanted. A single load.
#[inline(always)]
pub fn anybody() -> bool {
    wanted() != 0
}

/// The sink, if events of this type about this object are wanted.
#[inline]
fn sink_for(kind: EventKind, object: u64) -> Option<&'static dyn Sink> {
    SINK.get().copied().filter(|sink| sink.wants(kind, object))
}

/// Whether events of this type about this object are wanted.
#[inline(always)]
pub fn is_wanted<E: Event>(object: u64) -> bool {
    wanted() & E::KIND.bit() != 0 && sink_for(E::KIND, object).is_some()
}

/// Raises an event if it is wanted; `at` 0 means now.
#[inline(always)]
pub fn raise<E: Event>(object: u64, at: u64, event: impl FnOnce() -> E) {
    if wanted() & E::KIND.bit() != 0
        && let Some(sink) = sink_for(E::KIND, object)
    {
        sink.keep(E::KIND, object, at, &event().payload());
    }
}

/// Delivers the kept events of this thread. Must be called without any lock, at depth 0.
pub fn deliver() {
    if let Some(sink) = SINK.get() {
        sink.deliver();
    }
}

/// Like [`deliver`], but at the start of a call, before the library knows of it: at depth 1.
pub fn deliver_inside() {
    if let Some(sink) = SINK.get() {
        sink.deliver_inside();
    }
}

/// Delivers the kept events of this thread, and then this event, which is about no object.
pub fn deliver_with<E: Event>(at: u64, event: impl FnOnce() -> E) {
    match sink_for(E::KIND, 0) {
        Some(sink) => sink.deliver_with(E::KIND, at, &event().payload()),
        None => deliver(),
    }
}

/// Reports a received message, for events about late and unexpected messages.
#[inline(always)]
pub fn received(message: impl FnOnce() -> Received) {
    if wanted() & OF_RECEIVED != 0
        && let Some(sink) = SINK.get()
    {
        sink.received(&message());
    }
}

/// Reports that this thread is ending.
pub fn thread_ended() {
    if let Some(sink) = SINK.get() {
        sink.thread_ended();
    }
}
