//! Keeps the calls that user callbacks interrupt, which MPI calls of the callbacks would overwrite.
#![allow(unsafe_code)]

use super::{close, count};
use crate::interpose::interrupted::Interrupted;
use crate::interpose::tls::Tls;
use crate::interpose::upcalls::upcalls;
use mpi_abi::FunctionId;
use mpiscope_image::layout::{Call as Current, Thread};

/// Takes the number of bytes of messages received by the call that is about to end.
#[inline(always)]
pub fn take_received(tls: &Tls) -> u64 {
    // SAFETY: as in `kept`.
    unsafe { tls.local.get().as_ref() }.map_or(0, Interrupted::take_received)
}

/// The location at which the call below the innermost user callback is kept.
fn kept(tls: &Tls) -> Option<&Current> {
    // SAFETY: null, or the start of the private memory, which lives until the thread has ended.
    unsafe { tls.local.get().as_ref() }?.calls.get(tls.nested.get() as usize)
}

/// Whether the innermost user callback was left by longjmp or an exception, so that its frames are gone and
/// the program runs again. If so, ends the calls that led to it.
pub(super) fn is_callback_left(tls: &'static Tls) -> bool {
    tls.stack_pointer.get() > tls.callback_stack.get() && (upcalls().callback_left)(tls)
}

/// Keeps the call below the innermost user callback, if that callback is still running.
#[cold]
pub(super) fn interrupted(tls: &'static Tls, thread: &Thread) {
    if !is_callback_left(tls)
        && let Some(place) = kept(tls)
    {
        copy(&thread.call, place);
    }
}

/// Closes the frame of a call that the program has left, so that it never returns. If a user callback made
/// it, the call that the callback interrupted becomes the current one again.
pub fn abandon(tls: &Tls, thread: &Thread, function: FunctionId, (since, until): (u64, u64)) {
    if tls.nested.get() == 0 {
        return close(tls, thread, function, since, until, 0);
    }
    count(thread, function, since, until, 0);
    resume(tls, thread);
    tls.leave();
}

/// Restores the call that a user callback interrupted.
#[cold]
pub(super) fn resume(tls: &Tls, thread: &Thread) {
    let current = &thread.call;
    current.seq.begin();
    current.completed.add_mine(1);
    if let Some(place) = kept(tls) {
        copy(place, current);
    }
    current.seq.end();
}

/// Copies everything that describes one call, but neither the sequence number nor the count of completed
/// calls.
fn copy(from: &Current, to: &Current) {
    to.as_in(from);
    to.nested.set(from.nested.get());
    to.since.set(from.since.get());
    to.return_address.set(from.return_address.get());
    to.stack_pointer.set(from.stack_pointer.get());
    to.object.set(from.object.get());
    to.datatype.set(from.datatype.get());
    to.count.set(from.count.get());
    to.peer.set(from.peer.get());
    to.tag.set(from.tag.get());
    to.request.set(from.request.get());
    for (to, from) in to.extra.iter().zip(&from.extra) {
        to.set(from.get());
    }
}
