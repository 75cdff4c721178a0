//! Events: MPI 5.0, section "Events".
//!
//! A [`Source`] is an origin of events with a clock; an event type ([`EventSpec`]) describes an event's
//! payload. A tool allocates a registration for an event type and an object, and sets callbacks by safety
//! level. An observer raises an event with [`Raiser::raise`]; while no registration is interested in its
//! object, that costs one load and a predictable branch. Threads that raise events at the same time run
//! thread-safe callbacks concurrently and write to no shared memory. For events caused by callbacks
//! themselves, see [`Origin`].

mod dropped;
mod handles;
mod hints;
mod instance;
mod published;
mod raise;
mod registration;
mod registrations;
mod source;
mod types;

#[cfg(test)]
mod tests;

pub use hints::Hints;
pub use instance::{
    Frames, MAX_DEPTH, Origin, copy, copy_raw, event_index, frames, read, read_raw, source_index, timestamp,
    with_frames,
};
pub use raise::{Observed, Raiser};
pub(crate) use registrations::Registrations;
pub use registration::{Delivery, DroppedHandler, Drops, EventCallback, FreeCallback, Freed};
pub use source::{Source, SourceSpec};
pub use types::{Element, EventInfo, EventSpec, EventType, MAX_EXTENT};
