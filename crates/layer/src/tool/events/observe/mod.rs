//! What hooks tell: one function for each kind of observation. Nobody registered: one load and one branch.

mod calls;
mod messages;
mod objects;
mod senders;

pub use calls::{OF_SUBJECT, call_ended, call_started, failed, subject_ended, thread_seen};
pub use messages::{
    collective_entered, collective_left, message, partition_arrived, partitions_ready, received, request,
    watermark,
};
pub use objects::{attached, committed, created, epoch, freed, named};

use super::kinds::Kind;
use super::payload::Payload;
use super::{queue, wanted, wanted_kinds};
use crate::threads;
use crate::tls::Tls;
use mpi_abi::FunctionId;

/// Queues an event if anybody wants it; `at` 0 is now.
#[inline(always)]
fn note(kind: Kind, object: u64, at: u64, payload: impl FnOnce() -> Payload) {
    if wanted_kinds() & kind.bit() != 0 && wanted(kind, object).is_some() {
        queue::add(kind, object, at, payload());
    }
}

/// A function as an element.
fn number(function: FunctionId) -> i32 {
    i32::from(function.0.cast_signed())
}

/// A control variable was written, by its index.
pub fn cvar_written(index: usize) {
    note(Kind::CVAR_WRITTEN, 0, 0, || Payload::new().int(i32::try_from(index).unwrap_or(-1)));
    let tls = Tls::get();
    // Inside of a call the hook will deliver.
    if tls.depth.get() == 0 && threads::local(tls).is_some() {
        queue::flush(tls);
    }
}
