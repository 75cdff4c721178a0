//! Calls that the program left without returning: by `longjmp` out of a signal handler, by an exception, or
//! because the thread ended inside them.
//!
//! Nothing reports this. The thread's next call reveals it, because its stack pointer is not below that of
//! the open call, or not below that of the user callback that the library invoked in it. Until then the
//! thread appears to be in the open call, and the time up to then is charged to it.
#![allow(unsafe_code)]

use crate::base::clock;
use crate::interpose::frame;
use crate::interpose::tls::Tls;
use crate::record::stack_frames::bounds;
use crate::record::{observe, sites, traffic};
use mpi_abi::FunctionId;

/// Ends the open call if `stack_pointer` can be compared with the call's. Returns whether it did.
#[cold]
pub fn left(tls: &'static Tls, stack_pointer: u64) -> bool {
    let comparable = are_on_one_stack(tls, [stack_pointer, tls.stack_pointer.get()]);
    if comparable {
        end_from(tls, stack_pointer);
    }
    comparable
}

/// Handles a new call made from a place that is not below the open user callback: if the two places can be
/// compared, the callback was left in the same way, and with it the call that invoked it. Returns whether it
/// was.
#[cold]
pub fn callback_left(tls: &'static Tls) -> bool {
    let comparable = are_on_one_stack(tls, [tls.stack_pointer.get(), tls.callback_stack.get()]);
    if comparable {
        end_callback(tls);
    }
    comparable
}

fn end_callback(tls: &'static Tls) {
    let (from, depth) = (tls.return_address.get(), tls.depth.get());
    tls.nested.set(0);
    end(tls);
    tls.return_address.set(from);
    tls.depth.set(depth);
}

/// The thread has ended: ends its open call.
pub fn ended(tls: &'static Tls) {
    if tls.depth.get() != 0 {
        end_from(tls, u64::MAX);
    } else if tls.nested.get() != 0 {
        end_callback(tls);
    }
}

/// Ends the open call, and with it the user callback that made the call if `stack_pointer` is above that too.
fn end_from(tls: &'static Tls, stack_pointer: u64) {
    let inside = tls.nested.get() != 0;
    end(tls);
    if inside && stack_pointer > tls.callback_stack.get() {
        end_callback(tls);
    }
}

fn end(tls: &'static Tls) {
    // SAFETY: null, or a record that lives as long as the process.
    let thread = unsafe { tls.thread.get().as_ref() };
    let open = thread.and_then(|thread| Some((thread, FunctionId(u16::try_from(thread.call.open()?).ok()?))));
    // Look-up functions are not entered in the record.
    let Some((thread, function)) = open else { return tls.leave() };
    let since = thread.call.since.get();
    let until = if since == 0 { 0 } else { clock::now() };
    traffic::left(tls, &thread.call);
    // The recorded address is already past bindings of other languages, whose frames are no longer on the
    // stack.
    tls.return_address.set(thread.call.return_address.get());
    sites::count_rarely(tls, thread, function, since, until, 0);
    observe::left(thread, function, since, until);
    frame::abandon(tls, thread, function, (since, until));
}

/// Comparing two places is meaningful only if both are on the stack that the C library gave the thread, not
/// on that of a signal handler or coroutine, from which the thread switches back.
fn are_on_one_stack(tls: &Tls, places: [u64; 2]) -> bool {
    // `bounds::end` allocates, so it must not be called in a signal handler: on an alternate stack, or (zero) in
    // one that interrupted the gate before it stored the stack pointer.
    let may_ask = places.iter().all(|place| *place != 0) && !is_on_signal_stack();
    may_ask && places.into_iter().all(|place| bounds::end(tls, place).is_some())
}

fn is_on_signal_stack() -> bool {
    // SAFETY: a C structure for which all zero is valid.
    let mut stack: libc::stack_t = unsafe { std::mem::zeroed() };
    // SAFETY: only queries, and `stack` is ours.
    let known = unsafe { libc::sigaltstack(std::ptr::null(), &raw mut stack) } == 0;
    known && stack.ss_flags & libc::SS_ONSTACK != 0
}
