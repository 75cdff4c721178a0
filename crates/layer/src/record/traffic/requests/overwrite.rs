//! A request is about to be made in a variable that still holds the handle of another one.
//!
//! Only noted: who has copied the handle elsewhere does nothing wrong. What was noted of a request that is never completed says how it
//! was lost.

use crate::interpose::frame::Call;
use crate::record::fortran_call_site::{self, bindings};
use crate::record::traffic::scratch;
use crate::record::traffic::state::{self, hold};
use mpi_abi::Abi;
use mpiscope_image::objects::{Flag, Life};

/// Before a call that makes a request: looks at what its variable holds. Mostly that is the null handle.
#[inline(always)]
pub fn watch<A: Abi>(call: &Call<A>, request: *const A::Handle) {
    let Some(state) = state::get() else { return };
    let old = scratch::pointed(request);
    if state.looks_at_variables && old != state.null_request {
        look(old, call.return_address(), call.stack_pointer());
    }
}

/// What the variable holds may be anything: it need not have a value.
#[cold]
#[inline(never)]
fn look(old: u64, from: u64, stack: u64) {
    let Some(held) = hold() else { return };
    let Some(request) = held.requests.find(old) else { return };
    let lives = request.head.life.get() == Life::LIVE.0 && request.is(Flag::ACTIVE);
    // A binding of Fortran may give a variable of its own, in which an old handle was left.
    if !lives || request.is(Flag::SHARED_HANDLE) || bindings::hold(from) {
        return;
    }
    let at = fortran_call_site::of(from, || stack);
    request.head.seq.write(|| {
        request.head.flags.set(request.head.flags.get() | Flag::OVERWRITTEN.0);
        request.completed_from.set(at);
    });
}
