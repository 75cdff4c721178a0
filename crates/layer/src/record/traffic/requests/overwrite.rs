//! Detects that a request is about to be stored in a variable that still holds the handle of another one.
//!
//! It is only noted, since the program may have copied the old handle. If that request is never completed,
//! the note explains how it was lost.

use crate::interpose::frame::Call;
use crate::record::fortran_call_site::{self, bindings};
use crate::record::traffic::scratch;
use crate::record::traffic::state::{self, hold};
use mpi_abi::Abi;
use mpiscope_image::objects::{Flag, Life};

/// Before a call that makes a request: checks what its variable holds. Usually that is the null handle.
#[inline(always)]
pub fn watch<A: Abi>(call: &Call<A>, request: *const A::Handle) {
    let Some(state) = state::get() else { return };
    let old = scratch::pointed(request);
    if state.looks_at_variables && old != state.null_request {
        look(old, call.return_address(), call.stack_pointer());
    }
}

/// The variable may hold anything: it need not be initialized.
#[cold]
#[inline(never)]
fn look(old: u64, from: u64, stack: u64) {
    let Some(held) = hold() else { return };
    let Some(request) = held.requests.find(old) else { return };
    let lives = request.head.life.get() == Life::LIVE.0 && request.is(Flag::ACTIVE);
    // A Fortran binding may pass a variable of its own, in which an old handle was left.
    if !lives || request.is(Flag::SHARED_HANDLE) || bindings::hold(from) {
        return;
    }
    let at = fortran_call_site::of(from, || stack);
    request.head.seq.write(|| {
        request.head.flags.set(request.head.flags.get() | Flag::OVERWRITTEN.0);
        request.completed_from.set(at);
    });
}
