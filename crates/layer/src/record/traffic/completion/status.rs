//! Requests that are queried and stay with the program: `MPI_Request_get_status` and similar functions.

use crate::interpose::frame::Call;
use crate::record::traffic::facts;
use crate::record::traffic::requests::finish;
use crate::record::traffic::scratch::{self, given, lend, lend_many, nth};
use crate::record::traffic::state::{Held, hold};
use mpi_abi::{Abi, Handle};
use mpiscope_image::objects::Flag;
use std::ffi::{c_int, c_void};

/// `MPI_Request_get_status`.
pub fn before_status<A: Abi>(
    call: &Call<A>,
    _: &mut A::Handle,
    _: &mut *mut c_int,
    status: &mut *mut c_void,
) {
    if let (Some(_), Some(scratch)) = (hold(), scratch::of(call)) {
        lend::<A>(scratch, status);
    }
}

/// A request is complete and stays with the program.
fn seen<A: Abi>(held: Held<false>, call: &Call<A>, handle: u64, status: *const c_void) {
    if handle == held.null_request {
        return;
    }
    let Some(request) = held.requests.find(handle) else { return };
    if request.is(Flag::ACTIVE) {
        finish(held, call, request, status, A::SUCCESS);
    } else if request.is(Flag::SHARED_HANDLE) {
        // The call that frees one of these requests no longer shows when its send is known to be complete.
        request.entry.set(0);
        facts::origins_free(&held, request, call);
    }
}

/// `MPI_Request_get_status`: complete, but not freed.
pub fn after_status<A: Abi>(
    call: &Call<A>,
    result: c_int,
    request: A::Handle,
    flag: *mut c_int,
    status: *mut c_void,
) {
    if result == A::SUCCESS
        && scratch::int(flag) != 0
        && let Some(held) = hold()
    {
        seen(*held, call, request.raw(), given::<A>(status));
    }
}

/// `MPI_Request_get_status_all`, `_any`, `_some`: `statuses` is an array of `count` statuses, or a single
/// one.
pub fn before_statuses<A: Abi>(call: &Call<A>, count: c_int, statuses: &mut *mut c_void) {
    if let (Some(_), Some(scratch)) = (hold(), scratch::of(call)) {
        lend_many::<A>(scratch, statuses, usize::try_from(count).unwrap_or(0));
    }
}

/// `MPI_Request_get_status_all`.
pub fn after_status_all<A: Abi>(
    call: &Call<A>,
    result: c_int,
    count: c_int,
    array: *const A::Handle,
    flag: *mut c_int,
    statuses: *mut c_void,
) {
    if result != A::SUCCESS || scratch::int(flag) == 0 {
        return;
    }
    let Some(held) = hold() else { return };
    for index in 0..usize::try_from(count).unwrap_or(0) {
        seen(*held, call, scratch::element(array, index), nth::<A>(statuses, index));
    }
}

/// `MPI_Request_get_status_any`.
pub fn after_status_any<A: Abi>(
    call: &Call<A>,
    result: c_int,
    _: c_int,
    array: *const A::Handle,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut c_void,
) {
    if result == A::SUCCESS
        && scratch::int(flag) != 0
        && let (Ok(index), Some(held)) = (usize::try_from(scratch::int(index)), hold())
    {
        seen(*held, call, scratch::element(array, index), given::<A>(status));
    }
}

/// `MPI_Request_get_status_some`.
pub fn after_status_some<A: Abi>(
    call: &Call<A>,
    result: c_int,
    _: c_int,
    array: *const A::Handle,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut c_void,
) {
    let (true, Some(held)) = (result == A::SUCCESS, hold()) else { return };
    for place in 0..usize::try_from(scratch::int(outcount)).unwrap_or(0) {
        if let Ok(index) = usize::try_from(scratch::int_at(indices, place)) {
            seen(*held, call, scratch::element(array, index), nth::<A>(statuses, place));
        }
    }
}
