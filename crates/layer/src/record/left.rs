//! Calls that the program has left: by `longjmp` out of a signal handler, by an exception, or since the thread has ended in them.
//! Nobody says so. The next call of the thread shows it, because it does not lie below the open one in the stack, or below the user
//! callback that the library called in it; until then the thread is seen in it, and its time is counted till then.
#![allow(unsafe_code)]

use crate::base::clock;
use crate::interpose::frame;
use crate::interpose::tls::Tls;
use crate::record::stack_frames::bounds;
use crate::record::{observe, sites, traffic};
use mpi_abi::FunctionId;

/// The open call is over if the thread is at this place of the stack. Says whether it is.
#[cold]
pub fn left(tls: &'static Tls, stack_pointer: u64) -> bool {
    let comparable = are_on_one_stack(tls, [stack_pointer, tls.stack_pointer.get()]);
    if comparable {
        end_from(tls, stack_pointer);
    }
    comparable
}

/// The next call is being made, and does not lie below the user callback that is open: whether that was left in the same way, and with it
/// the call that it was called by.
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

/// The thread has ended.
pub fn ended(tls: &'static Tls) {
    if tls.depth.get() != 0 {
        end_from(tls, u64::MAX);
    } else if tls.nested.get() != 0 {
        end_callback(tls);
    }
}

/// Whoever notices it is at this place of the stack: perhaps the user callback is left too in which the call was made.
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
    // Of a function that looks something up the record says nothing.
    let Some((thread, function)) = open else { return tls.leave() };
    let since = thread.call.since.get();
    let until = if since == 0 { 0 } else { clock::now() };
    traffic::left(tls, &thread.call);
    // Behind bindings of other languages, which are not in the stack any more.
    tls.return_address.set(thread.call.return_address.get());
    sites::count_rarely(tls, thread, function, since, until, 0);
    observe::left(thread, function, since, until);
    frame::abandon(tls, thread, function, (since, until));
}

/// Which of two places is deeper says something only if both are on the stack that the C library gave the thread: not those on the
/// stack of a signal handler, or of a coroutine, which the thread will leave for the other.
fn are_on_one_stack(tls: &Tls, places: [u64; 2]) -> bool {
    // Asking is not for signal handlers that come before the gate knows where the call stands.
    let known = places.iter().all(|place| *place != 0);
    known && places.into_iter().all(|place| bounds::end(tls, place).is_some()) && !is_on_signal_stack()
}

fn is_on_signal_stack() -> bool {
    // SAFETY: a structure of the C library that may be all zero.
    let mut stack: libc::stack_t = unsafe { std::mem::zeroed() };
    // SAFETY: asks only, and `stack` is ours.
    let known = unsafe { libc::sigaltstack(std::ptr::null(), &raw mut stack) } == 0;
    known && stack.ss_flags & libc::SS_ONSTACK != 0
}
