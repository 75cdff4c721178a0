//! Events: MPI 5.0, section "Events".
//!
//! A [`Source`] says where events come from and with which clock; an event type ([`EventSpec`]) what an event
//! tells. A tool allocates a registration for an event type and an object, and sets callbacks by safety level.
//! Whoever observes something raises an event ([`Raiser::raise`]): while no registration is
//! interested in its object, that is one load and a predictable branch. Threads that raise at the same time run thread-safe
//! callbacks side by side and write nothing in common. What callbacks themselves cause: see [`Origin`].

mod dropped;
mod hints;
mod instance;
mod raise;
mod registration;
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
pub(crate) use registration::Registrations;
pub use registration::{Delivery, DroppedHandler, Drops, EventCallback, FreeCallback, Freed};
pub use source::{Source, SourceSpec};
pub use types::{Element, EventInfo, EventSpec, EventType, MAX_EXTENT};
