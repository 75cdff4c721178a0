//! A trace as an archive of OTF2, which Vampir, Scalasca and `otf2-print` read: a folder, written by the library of that format.
//!
//! ```text
//! JobTrace ──► Plan: definitions and events as OTF2 has them ──► write: the library, if the system has it
//! ```
//!
//! * A rank is a location group, a thread of it a location. All are below a node for their host.
//! * A call is `Enter` and `Leave` of a region with the function's name; the line of the program is the attribute `call site` of `Enter`.
//! * A message is `MpiSend` where it was sent and `MpiRecv` at the end of the call by which the receiver had it; where the request is completed
//!   by another call, `MpiIsend` and `MpiIsendComplete`, `MpiIrecvRequest` and `MpiIrecv`.
//! * A blocking collective is `MpiCollectiveBegin` and `MpiCollectiveEnd` too. Bytes are those that the process moved, as `sizeSent`.
//! * A communicator has as members the processes that still know it in the end, or that used it.

mod comms;
mod error;
mod functions;
mod library;
mod plan;
#[cfg(test)]
mod tests;
mod write;

pub use error::Error;
pub use write::write;

use super::JobTrace;

/// Bytes of an event and of the definitions of a location, about: for predictions.
const EVENT: u64 = 15;
const LOCATION: u64 = 512;

/// Bytes that the archive will have, about.
#[must_use]
pub fn predicted(trace: &JobTrace) -> u64 {
    // A call has two, a message two or four.
    let events = (2 * trace.calls()).saturating_add(2 * trace.messages.len() as u64);
    EVENT.saturating_mul(events).saturating_add(LOCATION.saturating_mul(trace.threads().count() as u64))
}
