//! A trace as an OTF2 archive, which Vampir, Scalasca and `otf2-print` can read: a directory, written by the
//! library of that format.
//!
//! ```text
//! JobTrace ──► Plan: definitions and events in OTF2's terms ──► write: the library, if installed
//! ```
//!
//! * A rank is a location group, and a thread is a location in it. All are below a node for their host.
//! * A call is the `Enter` and `Leave` of a region named after the function; the source line is the attribute
//!   `call site` of `Enter`.
//! * A message is an `MpiSend` where it was sent and an `MpiRecv` at the end of the call through which the
//!   receiver got it; if another call completes the request, `MpiIsend` and `MpiIsendComplete`, or
//!   `MpiIrecvRequest` and `MpiIrecv`.
//! * A blocking collective also has an `MpiCollectiveBegin` and `MpiCollectiveEnd`. Bytes are those moved by
//!   the process, as `sizeSent`.
//! * The members of a communicator are the processes that still know it at the end, or that used it.

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

/// Approximate size in bytes of an event and of the definitions of a location, for predictions.
const EVENT: u64 = 15;
const LOCATION: u64 = 512;

/// Returns the approximate number of bytes of the archive.
#[must_use]
pub fn predicted(trace: &JobTrace) -> u64 {
    // A call has two events, a message two or four.
    let events = (2 * trace.calls()).saturating_add(2 * trace.messages.len() as u64);
    EVENT.saturating_mul(events).saturating_add(LOCATION.saturating_mul(trace.threads().count() as u64))
}
