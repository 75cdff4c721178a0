//! Some requests of an array: `MPI_Waitany`, `MPI_Testany`, `MPI_Waitsome`, `MPI_Testsome`.

use super::{drop_all, fail, recall, remember, waited_for_nothing};
use crate::interpose::frame::Call;
use crate::record::traffic::requests::complete;
use crate::record::traffic::scratch::{self, given, lend, nth};
use crate::record::traffic::state::hold;
use crate::record::traffic::status;
use mpi_abi::Abi;
use std::ffi::{c_int, c_void};

/// `MPI_Waitany`.
#[inline(always)]
pub fn before_waitany<A: Abi>(
    call: &Call<A>,
    count: &mut c_int,
    array: &mut *mut A::Handle,
    _: &mut *mut c_int,
    status: &mut *mut c_void,
) {
    remember(call, *count, *array, None);
    if let Some(scratch) = scratch::of(call) {
        lend::<A>(scratch, status);
    }
}

/// `MPI_Waitany`.
#[inline(never)]
pub fn after_waitany<A: Abi>(
    call: &Call<A>,
    result: c_int,
    _: c_int,
    array: *mut A::Handle,
    index: *mut c_int,
    status: *mut c_void,
) {
    let (Some(held), Some(scratch)) = (hold(), scratch::of(call)) else { return };
    if let Ok(index) = usize::try_from(scratch::int(index))
        && let Some(request) = recall(&held, scratch, index)
    {
        if result == A::SUCCESS {
            complete(*held, call, request, given::<A>(status), A::SUCCESS);
        } else {
            fail(*held, &call.aside(), request, scratch::element(array, index), given::<A>(status), result);
        }
    } else if scratch::int(index) < 0 {
        waited_for_nothing(&call.aside(), result);
    }
    drop_all(scratch);
}

/// `MPI_Testany`.
#[inline(always)]
pub fn before_testany<A: Abi>(
    call: &Call<A>,
    count: &mut c_int,
    array: &mut *mut A::Handle,
    index: &mut *mut c_int,
    _: &mut *mut c_int,
    status: &mut *mut c_void,
) {
    before_waitany(call, count, array, index, status);
}

/// `MPI_Testany`.
#[inline(always)]
pub fn after_testany<A: Abi>(
    call: &Call<A>,
    result: c_int,
    count: c_int,
    array: *mut A::Handle,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut c_void,
) {
    if result == A::SUCCESS && scratch::int(flag) == 0 {
        if let Some(scratch) = scratch::of(call) {
            drop_all(scratch);
        }
        return;
    }
    after_waitany(call, result, count, array, index, status);
}

/// `MPI_Waitsome`, `MPI_Testsome`.
#[inline(always)]
pub fn before_some<A: Abi>(
    call: &Call<A>,
    count: &mut c_int,
    array: &mut *mut A::Handle,
    _: &mut *mut c_int,
    _: &mut *mut c_int,
    statuses: &mut *mut c_void,
) {
    remember(call, *count, *array, Some(statuses));
}

/// `MPI_Waitsome`, `MPI_Testsome`.
#[inline(never)]
pub fn after_some<A: Abi>(
    call: &Call<A>,
    result: c_int,
    _: c_int,
    array: *mut A::Handle,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut c_void,
) {
    let (Some(held), Some(scratch)) = (hold(), scratch::of(call)) else { return };
    let each = result == A::SUCCESS || status::class(result) == A::ERR_IN_STATUS;
    let complete_now = if each { usize::try_from(scratch::int(outcount)).unwrap_or(0) } else { 0 };
    if complete_now == 0 {
        waited_for_nothing(&call.aside(), result);
    }
    for place in 0..complete_now {
        let Ok(index) = usize::try_from(scratch::int_at(indices, place)) else { continue };
        let Some(request) = recall(&held, scratch, index) else { continue };
        let status = nth::<A>(statuses, place);
        let error =
            if result == A::SUCCESS || status.is_null() { A::SUCCESS } else { status::error::<A>(status) };
        if error == A::SUCCESS {
            complete(*held, call, request, status, error);
        } else {
            fail(*held, &call.aside(), request, scratch::element(array, index), status, error);
        }
    }
    drop_all(scratch);
}
