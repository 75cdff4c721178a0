//! Events that hooks report. Without a listener each costs one load and one branch.
//!
//! There is one file each for events known from a call alone, for messages and requests, and for objects.
//! Events that take a single line are raised where they happen.

mod calls;
mod messages;
mod objects;

pub use calls::{
    begin_look_up, call_started, end_look_up, file_read, file_written, leave, leave_rare, leave_shared, left,
    look_ups_are_counted_only, looked_up, started_rare, thread_seen,
};
pub use messages::{
    Collective, collective_entered, collective_left, partition_arrived, partitions_ready, receive_cancelled,
    receive_matched, receive_posted, received, request_completed, request_freed, request_started,
    send_cancelled, send_completed, send_posted,
};
pub use objects::{attached, committed, created, freed, named};

use mpi_abi::FunctionId;

/// Returns a function as the element of an event.
fn number(function: FunctionId) -> i32 {
    i32::from(function.0.cast_signed())
}
